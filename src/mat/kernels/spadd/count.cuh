#pragma once
/*
  The merged order of a tile: which of its entries are A's, and which are B's that A has, too. In shared memory each entry of the matrix that has fewer of them is looked
  up in its row of the other one; its place in the merged order is its own place and that.
*/
#include "tile.cuh"

namespace
{

/* What a block has in shared memory. The searching matrix is the one with fewer entries in the tile. */
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
  const Summand &searching, &other;
  PetscCount     begin_searching, begin_other;
  int            num_searching, num_other;
  bool           from_a;
};

/* Marks the rows of the searching matrix. A head at each word makes that a warp finds all its heads in one. */
__device__ __forceinline__ void MarkRows(const CountTile &t, PetscCount first, PetscCount end, CountStorage &s)
{
  for (PetscCount row = first + threadIdx.x; row < end; row += ADD_THREADS) {
    const PetscCount own_begin = t.searching.Offset(row) - t.begin_searching, own_end = t.searching.Offset(row + 1) - t.begin_searching;
    const PetscCount other_begin = t.other.Offset(row) - t.begin_other, other_end = t.other.Offset(row + 1) - t.begin_other;
    const int        i = (int)(own_begin < 0 ? 0 : own_begin), n = (int)(own_end < t.num_searching ? own_end : t.num_searching);
    const ushort2    range = make_ushort2((unsigned short)(other_begin < 0 ? 0 : other_begin < t.num_other ? other_begin : t.num_other), (unsigned short)(other_end < 0 ? 0 : other_end < t.num_other ? other_end : t.num_other));

    for (int head = i; head < n; head = (head / 32 + 1) * 32) {
      s.heads[head]  = 1;
      s.others[head] = range;
    }
  }
}

/* Looks up entry i, of a whole warp's 32, and marks where it is in the merged order. */
__device__ __forceinline__ void SearchEntry(const CountTile &t, int i, CountStorage &s)
{
  const int          lane  = (int)threadIdx.x % 32;
  const unsigned int heads = __ballot_sync(0xffffffffu, i < t.num_searching && s.heads[i]);
  const int32_t     *other = s.columns + t.num_searching;

  if (i < t.num_searching) {
    const ushort2 range  = s.others[i - lane + 31 - __clz((int)(heads & (0xffffffffu >> (31 - lane))))];
    const int32_t column = s.columns[i];
    int           place = range.x, n = range.y - range.x;
    bool          found;

    while (n > 0) {
      const int  half  = n / 2;
      const bool below = other[place + half] < column;

      place += below ? half + 1 : 0;
      n = below ? n - half - 1 : half;
    }
    found = place < range.y && other[place] == column;
    if (t.from_a) {
      s.marks[i + place] = MARK_SEARCHING;
      if (found) s.marks[i + place + 1] = MARK_MATCHED;
    } else s.marks[i + place + found] = found ? MARK_SEARCHING | MARK_MATCHED : MARK_SEARCHING;
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

__global__ void __launch_bounds__(ADD_THREADS, 8) CountKernel(AddPlanArrays p)
{
  __shared__ CountStorage s;
  const Tile              tile(p.splits);
  const bool              from_a = tile.num_a <= tile.num_b;
  const CountTile         t      = from_a ? CountTile{p.a, p.b, tile.begin.a, tile.begin.b, tile.num_a, tile.num_b, true} : CountTile{p.b, p.a, tile.begin.b, tile.begin.a, tile.num_b, tile.num_a, false};
  int32_t                 column[ADD_ITEMS];

#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int i = (int)threadIdx.x + k * ADD_THREADS;

    column[k] = i < t.num_searching ? t.searching.Column(t.begin_searching + i) : i < tile.num ? t.other.Column(t.begin_other + (i - t.num_searching)) : 0;
  }
  for (int w = threadIdx.x; w < ADD_TILE / 4; w += ADD_THREADS) s.head_words[w] = s.mark_words[w] = 0;
  if (threadIdx.x == 0) s.num_matched = 0;
  __syncthreads();
  MarkRows(t, tile.begin.row > 0 ? tile.begin.row - 1 : 0, tile.end.row, s);
#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) s.columns[(int)threadIdx.x + k * ADD_THREADS] = column[k];
  __syncthreads();
  for (int k = 0; k < t.num_searching; k += ADD_THREADS) SearchEntry(t, k + (int)threadIdx.x, s);
  __syncthreads();
  WriteBits(from_a, s, p.bits + 2 * ADD_WORDS * (PetscCount)blockIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) p.matched[blockIdx.x] = s.num_matched;
}

} // namespace
