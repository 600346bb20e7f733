#pragma once
/*
  Tiles of the merged entries of two compact matrices. In the order of rows and columns, A's entry before B's where both have one, the entries of both are cut into
  pieces of equal size, whatever the rows are (merge path: Green, McColl, Bader, GPU Merge Path, ICS 2012). An entry that both have is in one tile. In shared memory
  a block then finds for each entry of one matrix where it belongs in the same row of the other.
*/
#include <petscsparsecuda/spadd.h>

namespace
{

constexpr int ADD_THREADS = 256;
constexpr int ADD_ITEMS   = 8;                       // entries of a thread
constexpr int ADD_TILE    = ADD_THREADS * ADD_ITEMS; // entries of a block, one less unless an entry of both is at its end
constexpr int ADD_WARPS   = ADD_THREADS / 32;

/* One of the two matrices. */
struct Summand {
  const void        *row_offsets;
  const int32_t     *columns, *map;
  const PetscScalar *values;
  bool               wide;

  __device__ PetscCount Offset(PetscCount row) const { return wide ? (PetscCount)((const int64_t *)row_offsets)[row] : (PetscCount)((const int32_t *)row_offsets)[row]; }
  __device__ int32_t    Column(PetscCount k) const
  {
    const int32_t column = columns[k];

    return map ? map[column] : column;
  }
};

inline Summand MakeSummand(DCSRView view, const int32_t map[])
{
  return Summand{view.row_offsets, view.columns, map, view.values, view.wide == PETSC_TRUE};
}

/* alpha a + beta b; a factor of one is none, also for infinite complex numbers. */
struct Weights {
  PetscScalar alpha, beta;
  bool        unit_alpha, unit_beta;

  __device__ PetscScalar A(PetscScalar a) const { return unit_alpha ? a : alpha * a; }
  __device__ PetscScalar B(PetscScalar b) const { return unit_beta ? b : beta * b; }
};

inline Weights MakeWeights(PetscScalar alpha, PetscScalar beta)
{
  return Weights{alpha, beta, alpha == PetscScalar(1.0), beta == PetscScalar(1.0)};
}

/* First of columns [begin, end) that is not smaller. */
template <typename Index>
__device__ __forceinline__ Index FirstNotBelow(const int32_t *columns, Index begin, Index end, int32_t column)
{
  while (begin < end) {
    const Index middle = begin + (end - begin) / 2;

    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* What a block has in shared memory. */
struct TileStorage {
  int32_t columns[ADD_TILE];  // A's, then B's
  ushort2 rows[ADD_TILE + 2]; // where rows begin among A's and B's entries of the tile; after the last one their numbers
  int     warp_counts[ADD_WARPS];
};

/* Loads a tile: all threads of a block. */
struct Tile {
  TileStorage &s;
  DCSRAddSplit begin, end;
  int          num_a, num_b, num_rows;

  __device__ Tile(TileStorage &storage, const DCSRAddSplit splits[]) : s(storage), begin(splits[blockIdx.x]), end(splits[blockIdx.x + 1]), num_a((int)(end.a - begin.a)), num_b((int)(end.b - begin.b)), num_rows(0) { }

  __device__ ushort2 RowStart(const Summand &a, const Summand &b, PetscCount row) const
  {
    const PetscCount at_a = a.Offset(row) - begin.a, at_b = b.Offset(row) - begin.b;

    return make_ushort2((unsigned short)(at_a < 0 ? 0 : at_a < num_a ? at_a : num_a), (unsigned short)(at_b < 0 ? 0 : at_b < num_b ? at_b : num_b));
  }

  __device__ void LoadColumns(const Summand &a, const Summand &b)
  {
    int32_t column[ADD_ITEMS];

#pragma unroll
    for (int k = 0; k < ADD_ITEMS; k++) {
      const int i = (int)threadIdx.x + k * ADD_THREADS;

      column[k] = i < num_a ? a.Column(begin.a + i) : i < num_a + num_b ? b.Column(begin.b + (i - num_a)) : 0;
    }
#pragma unroll
    for (int k = 0; k < ADD_ITEMS; k++) s.columns[(int)threadIdx.x + k * ADD_THREADS] = column[k];
  }

  /* More rows than there can be entries: those without any here are left out. */
  __device__ void LoadNonemptyRows(const Summand &a, const Summand &b, PetscCount first, PetscCount n)
  {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;

    for (PetscCount chunk = 0; chunk < n; chunk += ADD_THREADS) {
      const PetscCount row   = first + chunk + threadIdx.x;
      ushort2          start = make_ushort2(0, 0), next = make_ushort2(0, 0);
      unsigned int     nonempty;
      int              before = 0;
      bool             here;

      if (chunk + threadIdx.x < n) {
        start = RowStart(a, b, row);
        next  = RowStart(a, b, row + 1);
      }
      here     = next.x > start.x || next.y > start.y;
      nonempty = __ballot_sync(0xffffffffu, here);
      if (lane == 0) s.warp_counts[warp] = __popc(nonempty);
      __syncthreads();
      for (int w = 0; w < ADD_WARPS; w++) before += w < warp ? s.warp_counts[w] : 0;
      if (here) s.rows[num_rows + before + __popc(nonempty & ((1u << lane) - 1))] = start;
      for (int w = 0; w < ADD_WARPS; w++) num_rows += s.warp_counts[w];
      __syncthreads();
    }
    if (threadIdx.x == 0) s.rows[num_rows] = make_ushort2((unsigned short)num_a, (unsigned short)num_b);
  }

  __device__ void LoadRows(const Summand &a, const Summand &b)
  {
    const PetscCount first = begin.row > 0 ? begin.row - 1 : 0, n = end.row - first;

    if (n > ADD_TILE) LoadNonemptyRows(a, b, first, n);
    else {
      num_rows = (int)n;
      for (int r = threadIdx.x; r <= num_rows; r += ADD_THREADS) s.rows[r] = RowStart(a, b, first + r);
    }
  }

  __device__ void Load(const Summand &a, const Summand &b)
  {
    LoadColumns(a, b);
    LoadRows(a, b);
    __syncthreads();
  }

  /* The row of A's entry i, or with OF_B of B's. */
  template <bool OF_B>
  __device__ __forceinline__ int RowOf(int i) const
  {
    int first = 0, last = num_rows;

    while (last - first > 1) {
      const int     middle = (first + last) / 2;
      const ushort2 row    = s.rows[middle];

      if ((int)(OF_B ? row.y : row.x) <= i) first = middle;
      else last = middle;
    }
    return first;
  }

  /* Where A's entry i belongs among B's; found: it is there. */
  __device__ __forceinline__ int PlaceInB(int i, bool *found) const
  {
    const int     row = RowOf<false>(i), end_b = s.rows[row + 1].y;
    const int32_t column = s.columns[i];
    const int     j      = FirstNotBelow(s.columns + num_a, (int)s.rows[row].y, end_b, column);

    *found = j < end_b && s.columns[num_a + j] == column;
    return j;
  }

  /* The same the other way round. */
  __device__ __forceinline__ int PlaceInA(int j, bool *found) const
  {
    const int     row = RowOf<true>(j), end_a = s.rows[row + 1].x;
    const int32_t column = s.columns[num_a + j];
    const int     i      = FirstNotBelow(s.columns, (int)s.rows[row].x, end_a, column);

    *found = i < end_a && s.columns[i] == column;
    return i;
  }
};

} // namespace
