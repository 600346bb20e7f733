#pragma once
/*
  The merged order of a tile: which of its entries are A's, and which are B's that A has, too. Each entry of the matrix that has fewer entries in the tile is looked up in its row of the
  other one, in shared memory. Its position in the merged order is the sum of both positions.
*/
#include "tile.cuh"

namespace
{

/* What a thread block has in shared memory. The searching matrix is the one with fewer entries in the tile. */
struct CountStorage {
  int32_t columns[ADD_TILE]; // of the searching matrix, then of the other one
  ushort2 others[ADD_TILE];  // where heads is set: entries of the other matrix in the row of this one of the searching matrix, from and up to
  union {
    unsigned char heads[ADD_TILE]; // entries of the searching matrix that are the first of their row, or of a word
    uint32_t      head_words[ADD_TILE / 4];
  };
  union {
    unsigned char marks[ADD_TILE]; // in merged order
    uint32_t      mark_words[ADD_TILE / 4];
  };
  int num_matched;
};

enum {
  MARK_SEARCHING = 1, // an entry of the searching matrix
  MARK_MATCHED   = 2  // B's, and A has it, too
};

/* A tile with its searching matrix first. */
struct CountTile {
  Summand    searching, other;
  PetscCount begin_searching, begin_other;
  int        num_searching, num_other;
  bool       from_a;

  __device__ __forceinline__ CountTile(const AddPlanArrays &p, const Tile &tile) : from_a(tile.num_a <= tile.num_b)
  {
    searching       = from_a ? p.a : p.b;
    other           = from_a ? p.b : p.a;
    begin_searching = from_a ? tile.begin.a : tile.begin.b;
    begin_other     = from_a ? tile.begin.b : tile.begin.a;
    num_searching   = from_a ? tile.num_a : tile.num_b;
    num_other       = from_a ? tile.num_b : tile.num_a;
  }
};

/* All loads come before the stores. */
__device__ __forceinline__ void LoadColumns(const CountTile &t, CountStorage &s)
{
  const int32_t *const own = t.searching.columns + t.begin_searching, *const other = t.other.columns + (t.begin_other - t.num_searching);
  const int num = t.num_searching + t.num_other;
  int32_t   column[ADD_ITEMS];

#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int i = (int)threadIdx.x + k * ADD_THREADS;

    column[k] = i < num ? (i < t.num_searching ? own : other)[i] : 0;
  }
  if (t.searching.map || t.other.map) {
    for (int k = 0; k < ADD_ITEMS; k++) {
      const int            i   = (int)threadIdx.x + k * ADD_THREADS;
      const int32_t *const map = i < t.num_searching ? t.searching.map : t.other.map;

      if (i < num && map) column[k] = map[column[k]];
    }
  }
#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) s.columns[(int)threadIdx.x + k * ADD_THREADS] = column[k];
}

__device__ __forceinline__ int ClampToTile(PetscCount k, int num)
{
  return k < 0 ? 0 : k < num ? (int)k : num;
}

/* Marks the rows of the searching matrix. A head at each word makes that a warp finds all its heads in one. */
__device__ __forceinline__ void MarkRows(const CountTile &t, PetscCount first, PetscCount end, CountStorage &s)
{
  for (PetscCount row = first + threadIdx.x; row < end; row += ADD_THREADS) {
    const int     i = ClampToTile(t.searching.Offset(row) - t.begin_searching, t.num_searching), n = ClampToTile(t.searching.Offset(row + 1) - t.begin_searching, t.num_searching);
    const ushort2 range = make_ushort2((unsigned short)ClampToTile(t.other.Offset(row) - t.begin_other, t.num_other),
                                       (unsigned short)ClampToTile(t.other.Offset(row + 1) - t.begin_other, t.num_other));

    for (int head = i; head < n; head = (head / 32 + 1) * 32) {
      s.heads[head]  = 1;
      s.others[head] = range;
    }
  }
}

/* Looks up entry i, of a whole warp's 32, and marks where it is in the merged order. */
__device__ __forceinline__ void SearchEntry(const CountTile &t, int i, CountStorage &s)
{
  const int            lane  = (int)threadIdx.x % 32;
  const unsigned int   heads = __ballot_sync(0xffffffffu, i < t.num_searching && s.heads[i]);
  const int32_t *const other = s.columns + t.num_searching;

  if (i < t.num_searching) {
    const ushort2 range    = s.others[i - lane + 31 - __clz((int)(heads & (0xffffffffu >> (31 - lane))))];
    const int32_t column   = s.columns[i];
    int           position = range.x;
    bool          found;

    for (int n = (int)range.y - position; n > 0;) { // the answer is among position, ..., position + n
      const int half = (n + 1) / 2;

      if (other[position + half - 1] < column) position += half;
      n -= half;
    }
    found = position < range.y && other[position] == column;
    if (t.from_a) {
      s.marks[i + position] = MARK_SEARCHING;
      if (found) s.marks[i + position + 1] = MARK_MATCHED;
    } else s.marks[i + position + found] = found ? MARK_SEARCHING | MARK_MATCHED : MARK_SEARCHING;
  }
}

/* Marks to bits: A's entries, then B's that A has. */
__device__ __forceinline__ void WriteBits(bool from_a, CountStorage &s, uint32_t bits[])
{
  const int lane  = (int)threadIdx.x % 32;
  int       count = 0;

#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int          m         = (int)threadIdx.x + k * ADD_THREADS;
    const unsigned int mark      = s.marks[m];
    const unsigned int searching = __ballot_sync(0xffffffffu, mark & MARK_SEARCHING), matched = __ballot_sync(0xffffffffu, mark & MARK_MATCHED);

    if (lane == 0) {
      bits[m / 32]             = from_a ? searching : ~searching;
      bits[ADD_WORDS + m / 32] = matched;
      count += __popc(matched);
    }
  }
  if (lane == 0 && count > 0) atomicAdd(&s.num_matched, count);
}

__global__ void __launch_bounds__(ADD_THREADS, 6) CountKernel(AddPlanArrays p)
{
  __shared__ CountStorage s;
  const Tile              tile(p.splits);
  const CountTile         t(p, tile);

#pragma unroll
  for (int w = threadIdx.x; w < ADD_TILE / 4; w += ADD_THREADS) s.head_words[w] = s.mark_words[w] = 0;
  if (threadIdx.x == 0) s.num_matched = 0;
  __syncthreads();
  LoadColumns(t, s);
  MarkRows(t, tile.begin.row > 0 ? tile.begin.row - 1 : 0, tile.end.row, s);
  __syncthreads();
  for (int k = 0; k < t.num_searching; k += ADD_THREADS) SearchEntry(t, k + (int)threadIdx.x, s);
  __syncthreads();
  WriteBits(t.from_a, s, p.bits + 2 * ADD_WORDS * (PetscCount)blockIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) p.matched[blockIdx.x] = s.num_matched;
}

} // namespace
