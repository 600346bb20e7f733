#pragma once
/*
  The tile form of y += A^T x. A tile is a fixed number of consecutive nonzeros. When the plan is made, the nonzeros of a tile are sorted by column on chip. The plan keeps where each nonzero goes
  (2 bytes that replace its column index) and the tile's distinct columns with their first position (6 bytes each). MultTranspose then reads values and positions in order, puts the terms in column
  order into shared memory, sums each run, and adds it to y with one atomic per distinct column of the tile. Neighboring lanes have neighboring columns.

  The idea that equal columns of a thread block must be combined before they meet in memory is of Steinberger, Zayer, Seidel: Globally homogeneous, locally adaptive sparse matrix-vector
  multiplication on the GPU (ICS 2017), section 3.4. They sort at each call. Sorting when the plan is made, and keeping the order instead of the column indices, is ours.
*/
#include "device.cuh"
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

namespace
{

struct TileLists {
  const SpMVTransposeTile *tiles;     // [num_tiles]
  const uint16_t          *positions; // [num_nonzeros] place in the tile's column order
  const int32_t           *columns;   // [list size] distinct columns, ascending in a tile
  const uint16_t          *begins;    // [list size] first position of the column; it ends where the next begins
};

/* One line of 128 bytes a thread into L2. */
template <typename T>
__device__ inline void PrefetchList(const T *p, int n)
{
  const int stride = 128 / (int)sizeof(T);

  for (int i = threadIdx.x * stride; i < n; i += blockDim.x * stride) asm volatile("prefetch.global.L2 [%0];" ::"l"(p + i));
}

/* An entry of a tile's list: terms begin ... end - 1 are of column; -1 and none past the list. */
struct TileColumn {
  int column, begin, end;
};

__device__ inline TileColumn LoadTileColumn(const int32_t *columns, const uint16_t *begins, int list_size, int count, int j)
{
  if (j >= list_size) return {-1, 0, 0};
  return {__ldcs(columns + j), __ldcs(begins + j), j + 1 < list_size ? __ldcs(begins + j + 1) : count};
}

/* Equal columns are neighbors: sums each group to its first lane, where column stays. */
__device__ inline void CombineHeavy(int &column, PetscScalar &sum)
{
  const int lane = threadIdx.x & 31, before = __shfl_up_sync(0xffffffffu, column, 1);

#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const PetscScalar other        = ShuffleDown(sum, delta);
    const int         other_column = __shfl_down_sync(0xffffffffu, column, delta);

    if (lane + delta < 32 && other_column == column) sum += other;
  }
  if (lane > 0 && before == column) column = -1;
}

/* Puts the terms of a full tile into column order; meanwhile() runs while the first values are on their way. */
template <int Nonzeros, int Threads, int MinBlocks, int Width, bool Conjugate, bool EmptyRows, typename Meanwhile>
__device__ inline void MultiplyTile(const PetscScalar *__restrict__ values, const uint16_t *__restrict__ places, const SpMVTransposeMark *__restrict__ marks, const int32_t *__restrict__ nonempty_rows, const PetscScalar *__restrict__ x,
                                    PetscScalar *terms, Meanwhile meanwhile)
{
  // loads in flight a thread, as its registers allow
  constexpr int loads = Nonzeros / Threads / Width;
  constexpr int limit = (Width == 1 ? (EmptyRows ? 4 : 8) : (Threads * MinBlocks < 2048 ? 4 : 2)) / (sizeof(PetscScalar) > 8 ? 2 : 1);
  constexpr int batch = loads < limit ? loads : limit;

#pragma unroll 1
  for (int k0 = threadIdx.x * Width; k0 < Nonzeros; k0 += batch * Threads * Width) {
    PetscScalar value[batch][Width];
    uint32_t    place[batch]; // Width of them, 16 bits each
    int32_t     row[batch][Width];

#pragma unroll
    for (int b = 0; b < batch; b++) {
      const int               k    = k0 + b * Threads * Width;
      const SpMVTransposeMark mark = LoadMark(marks, k);

      LoadStreaming<Width>(values + k, value[b]);
      if constexpr (Width == 2) place[b] = __ldcs((const uint32_t *)(places + k));
      else place[b] = __ldcs(places + k);
#pragma unroll
      for (int w = 0; w < Width; w++) row[b][w] = RowOfNonzero<EmptyRows>(mark, k + w, nonempty_rows);
    }
    if (k0 < batch * Threads * Width) meanwhile();
#pragma unroll
    for (int b = 0; b < batch; b++) {
#pragma unroll
      for (int w = 0; w < Width; w++) terms[place[b] >> (16 * w) & 0xffffu] = Times<Conjugate>(value[b][w], x[row[b][w]]);
    }
  }
}

/*
  Ahead: the lists are brought into L2 while the terms are made, and the first entries are loaded before the thread block meets.
*/
template <int Nonzeros, int Threads, int MinBlocks, int Width, bool Ahead, bool Conjugate>
__global__ static void __launch_bounds__(Threads, MinBlocks)
  TileKernel(PetscCount num_nonzeros, const PetscScalar *__restrict__ values, const SpMVTransposeMark *__restrict__ marks, const int32_t *__restrict__ nonempty_rows, TileLists lists, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  extern __shared__ __align__(16) char storage[];
  PetscScalar *const                   terms   = (PetscScalar *)storage;
  const SpMVTransposeTile              tile    = lists.tiles[blockIdx.x];
  const PetscCount                     first   = (PetscCount)blockIdx.x * Nonzeros;
  const int                            count   = (int)(num_nonzeros - first < Nonzeros ? num_nonzeros - first : Nonzeros);
  const uint16_t *const                places  = lists.positions + first;
  const int32_t *const                 columns = lists.columns + tile.list_begin;
  const uint16_t *const                begins  = lists.begins + tile.list_begin;
  TileColumn                           next;
  const auto                           prefetch = [&]() {
    if constexpr (Ahead) {
      PrefetchList(columns, tile.list_size);
      PrefetchList(begins, tile.list_size);
    }
  };

  values += first;
  marks += first / 32;
  if (count < Nonzeros)
    for (int k = threadIdx.x; k < count; k += Threads) terms[places[k]] = Times<Conjugate>(values[k], x[RowOfNonzero(LoadMark(marks, k), k, nonempty_rows)]);
  else if (nonempty_rows) MultiplyTile<Nonzeros, Threads, MinBlocks, Width, Conjugate, true>(values, places, marks, nonempty_rows, x, terms, prefetch);
  else MultiplyTile<Nonzeros, Threads, MinBlocks, Width, Conjugate, false>(values, places, marks, nonempty_rows, x, terms, prefetch);
  if constexpr (Ahead) next = LoadTileColumn(columns, begins, tile.list_size, count, threadIdx.x);
  __syncthreads();
  WaitForPreviousKernel();

  // sums of equal columns; all lanes of a warp go round together because heavy columns shuffle
  for (int j0 = threadIdx.x & ~31; j0 < tile.list_size; j0 += Threads) {
    const int   j       = j0 + (threadIdx.x & 31);
    TileColumn  current = Ahead ? next : LoadTileColumn(columns, begins, tile.list_size, count, j);
    PetscScalar sum     = 0;

    if constexpr (Ahead) next = LoadTileColumn(columns, begins, tile.list_size, count, j + Threads);
    for (int p = current.begin; p < current.end; p++) sum += terms[p];
    if (tile.has_heavy) CombineHeavy(current.column, sum);
    if (current.column >= 0) AddAtomically(y + current.column, sum);
  }
}

/*
  Building. The sorted columns of a tile lie in shared memory; each thread has a consecutive piece of them. A list entry starts where the column changes and at every
  SPMVT_MAX_RUN-th nonzero of a long run.
*/
constexpr int TILE_BUILD_ITEMS = 16;

template <int Nonzeros>
struct TileBuild {
  static constexpr int threads = Nonzeros / TILE_BUILD_ITEMS;

  using Sort = cub::BlockRadixSort<uint32_t, threads, TILE_BUILD_ITEMS, uint16_t>;
  using Scan = cub::BlockScan<int, threads>;

  struct Storage {
    union {
      typename Sort::TempStorage sort;
      typename Scan::TempStorage scan;
      uint16_t                   positions[Nonzeros];
    };
    uint32_t columns[Nonzeros];
  };

  struct Larger {
    __device__ int operator()(int a, int b) const { return a < b ? b : a; }
  };

  /* Which of the thread's sorted nonzeros start a list entry, as bits; index is the number of list entries before them. */
  static __device__ uint32_t FindStarts(Storage &storage, int count, int &index, int &total, bool &heavy)
  {
    const int base    = threadIdx.x * TILE_BUILD_ITEMS;
    uint32_t  changes = 0, starts = 0;
    int       last = -1, run;

    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const int r = base + i;

      if (r < count && (r == 0 || storage.columns[r] != storage.columns[r - 1])) {
        changes |= 1u << i;
        last = r;
      }
    }
    __syncthreads();
    Scan(storage.scan).ExclusiveScan(last, run, -1, Larger());
    heavy = false;
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const int r = base + i;

      if (changes >> i & 1) run = r;
      if (r < count && (r - run) % SPMVT_MAX_RUN == 0) starts |= 1u << i;
      if (r < count && r - run >= SPMVT_MAX_RUN) heavy = true;
    }
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(__popc(starts), index, total);
    return starts;
  }
};

/* Sorts tile blockIdx.x * stride, and writes its size of list; positions are written when not NULL. */
template <int Nonzeros>
__global__ static void __launch_bounds__(TileBuild<Nonzeros>::threads) TileSortKernel(PetscCount num_nonzeros, const int32_t *columns, int num_bits, PetscCount stride, SpMVTransposeTile *tiles, uint16_t *positions)
{
  using Build = TileBuild<Nonzeros>;
  extern __shared__ __align__(16) char shared[];
  typename Build::Storage             &storage = *(typename Build::Storage *)shared;
  const PetscCount                     first   = (PetscCount)blockIdx.x * stride * Nonzeros;
  const int                            count   = (int)(num_nonzeros - first < Nonzeros ? num_nonzeros - first : Nonzeros);
  const int                            base    = threadIdx.x * TILE_BUILD_ITEMS;
  uint32_t                             keys[TILE_BUILD_ITEMS];
  uint16_t                             indices[TILE_BUILD_ITEMS];
  int                                  index, total;
  bool                                 heavy;

#pragma unroll
  for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
    // the sort is stable: padding stays behind, even when the last column has all bits set
    keys[i]    = base + i < count ? (uint32_t)columns[first + base + i] : 0xffffffffu;
    indices[i] = (uint16_t)(base + i);
  }
  typename Build::Sort(storage.sort).Sort(keys, indices, 0, num_bits);
#pragma unroll
  for (int i = 0; i < TILE_BUILD_ITEMS; i++) storage.columns[base + i] = keys[i];
  __syncthreads();
  if (positions) {
#pragma unroll
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) storage.positions[indices[i]] = (uint16_t)(base + i);
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += Build::threads) positions[first + i] = storage.positions[i];
    __syncthreads();
  }
  (void)Build::FindStarts(storage, count, index, total, heavy);
  heavy = __syncthreads_or(heavy);
  if (threadIdx.x == 0) tiles[blockIdx.x] = {0, total, heavy};
}

/* Writes the list of tile blockIdx.x from the positions of its nonzeros: no second sort. */
template <int Nonzeros>
__global__ static void __launch_bounds__(TileBuild<Nonzeros>::threads)
  TileListKernel(PetscCount num_nonzeros, const int32_t *columns, const uint16_t *positions, SpMVTransposeTile *tiles, const int64_t *list_begins, int32_t *list_columns, uint16_t *list_starts)
{
  using Build = TileBuild<Nonzeros>;
  extern __shared__ __align__(16) char shared[];
  typename Build::Storage             &storage = *(typename Build::Storage *)shared;
  const PetscCount                     first   = (PetscCount)blockIdx.x * Nonzeros;
  const int                            count   = (int)(num_nonzeros - first < Nonzeros ? num_nonzeros - first : Nonzeros);
  const int64_t                        begin   = list_begins[blockIdx.x];
  int                                  index, total;
  bool                                 heavy;
  uint32_t                             starts;

  for (int i = threadIdx.x; i < count; i += Build::threads) storage.columns[positions[first + i]] = (uint32_t)columns[first + i];
  __syncthreads();
  starts = Build::FindStarts(storage, count, index, total, heavy);
  for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
    if (starts >> i & 1) {
      const int r = threadIdx.x * TILE_BUILD_ITEMS + i;

      list_columns[begin + index] = (int32_t)storage.columns[r];
      list_starts[begin + index]  = (uint16_t)r;
      index++;
    }
  }
  if (threadIdx.x == 0) tiles[blockIdx.x].list_begin = begin;
}

} // namespace
