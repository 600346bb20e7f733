/*
  Rows of C with more windows than a warp's table holds. A block puts the windows of a row into a larger table and sorts them; beyond that the columns are taken in
  slices, with one bit for each column of a slice in shared memory: any row fits, however long.
*/
#include "table.cuh"
#include "../entries/search.cuh"
#include "../entries/temporary.cuh"
#include <petscsparsecuda/insert.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace
{

constexpr int MAX_BLOCKS    = 132 * 8;
constexpr int SLICE_THREADS = 512;
constexpr int SLICE_COLUMNS = SPGEMM_SLICE_WORDS * 32;
constexpr int BLOCK_SLOTS   = 1 << SPGEMM_BLOCK_SLOTS;
constexpr int SORT_ITEMS    = SPGEMM_BLOCK_WINDOWS / SPGEMM_THREADS;
constexpr int MAX_PROBES    = 256; // after so many slots of others a block's table counts as full

/* How a block shares a row of A: groups of this many threads take a row of B each. */
inline int BlockLanes(const DCSRView &B)
{
  const PetscCount mean  = B.num_nonzeros / PetscMax(B.num_rows, 1);
  int              lanes = 4;

  while (lanes < 32 && lanes < mean) lanes *= 2;
  return lanes;
}

/* Calls visit(column) for the columns [first, last) of the products of a row, by all threads of the block, in no order. */
template <typename Offset, typename Visit>
__device__ inline void VisitProducts(const Factors<Offset> &f, int32_t row, int lanes, PetscCount first, PetscCount last, Visit visit)
{
  const PetscCount end  = f.a_offsets(row + 1);
  const int        lane = threadIdx.x % lanes;

  for (PetscCount k = f.a_offsets(row) + threadIdx.x / lanes; k < end; k += blockDim.x / lanes) {
    const int32_t column = f.a_columns[k];
    const Offset  b_end  = f.b_offsets[column + 1];
    Offset        b      = f.b_offsets[column];

    if (first > 0) b = LowerBound(f.b_columns, b, b_end, (int32_t)first);
    for (b += lane; b < b_end; b += lanes) {
      const int32_t c = f.b_columns[b];

      if (c >= last) break;
      visit(c);
    }
  }
}

template <typename Offset>
__device__ inline unsigned long long CountProducts(const Factors<Offset> &f, int32_t row)
{
  const PetscCount   end = f.a_offsets(row + 1);
  unsigned long long sum = 0;

  for (PetscCount k = f.a_offsets(row) + threadIdx.x; k < end; k += blockDim.x) sum += f.b_offsets[f.a_columns[k] + 1] - f.b_offsets[f.a_columns[k]];
  return sum;
}

/* Fills the table of a block with a row; returns whether it was large enough. Starts and ends synchronized. */
template <typename Offset>
__device__ inline bool FillBlockTable(const Factors<Offset> &f, int32_t row, int lanes, const WindowTable &table)
{
  bool full = false;

  __syncthreads();
  for (int slot = threadIdx.x; slot < BLOCK_SLOTS; slot += SPGEMM_THREADS) table.slots[slot] = WindowTable::EMPTY;
  __syncthreads();
  VisitProducts(f, row, lanes, 0, (PetscCount)INT32_MAX + 1, [&](int32_t column) { full = full || !table.Set(WindowOf(column), BitOf(column), MAX_PROBES); });
  return !__syncthreads_or(full);
}

/* Moves the windows to the front of the table, a round of slots at a time: a slot is read before its place can be written. Starts and ends synchronized. */
__device__ inline void CompactBlockTable(unsigned long long *slots, int *num)
{
  if (threadIdx.x == 0) *num = 0;
  for (int first = 0; first < BLOCK_SLOTS; first += SPGEMM_THREADS) {
    const unsigned long long word = slots[first + threadIdx.x];

    __syncthreads();
    if ((unsigned)word != SPGEMM_NO_WINDOW) slots[atomicAdd(num, 1)] = word;
  }
  __syncthreads();
}

/* Rows that wait for the third level, a tile at a time: long rows are often neighbours, so who is free takes the next tile. */
struct WaitingRows {
  int      num, rows[SPGEMM_THREADS];
  unsigned tile;

  /* The waiting rows of the next tile of so many rows; false when there is none. Starts and ends synchronized. */
  __device__ bool Next(const SpGEMMPool &pool, PetscCount num_rows, int size)
  {
    __syncthreads();
    if (threadIdx.x == 0) {
      num  = 0;
      tile = atomicAdd(&pool.stats->tiles, 1u);
    }
    __syncthreads();
    const PetscCount first = (PetscCount)tile * size, mine = first + threadIdx.x;

    if (first >= num_rows) return false;
    if ((int)threadIdx.x < size && mine < num_rows && pool.bins[mine] == SPGEMM_BIN_PENDING - 2) rows[atomicAdd(&num, 1)] = (int)mine;
    __syncthreads();
    return true;
  }
};

/* Room in the pool for a row; starts in any state of the block, ends synchronized. */
__device__ inline unsigned long long TakeBlockRoom(unsigned long long *start, const SpGEMMPool &pool, int32_t row, int total)
{
  if (threadIdx.x == 0) {
    *start = atomicAdd(&pool.stats->pool_used, (unsigned long long)total);
    SetStart(pool, row, *start);
    if (*start + total > (unsigned long long)pool.capacity) pool.stats->no_room = 1;
  }
  __syncthreads();
  return *start;
}

/* Puts the columns of a bitmap of so many words into the pool, a word a thread and round; returns how many there are. Starts and ends synchronized. */
template <typename Scan>
__device__ inline int KeepBitmap(typename Scan::TempStorage &temporary, unsigned long long *start, const unsigned *bitmap, int num_words, const SpGEMMPool &pool, int32_t row)
{
  const int share = (num_words + SPGEMM_THREADS - 1) / SPGEMM_THREADS, begin = threadIdx.x * share, end = begin + share < num_words ? begin + share : num_words;
  int       sum = 0, before, total;

  for (int k = begin; k < end; k++) sum += __popc(bitmap[k]);
  Scan(temporary).ExclusiveSum(sum, before, total);
  if (TakeBlockRoom(start, pool, row, total) + total > (unsigned long long)pool.capacity) return total;
  int32_t *columns = pool.columns + *start + before;

  for (int k = begin; k < end; k++)
    for (unsigned mask = bitmap[k]; mask; mask &= mask - 1) *columns++ = k * 32 + __ffs(mask) - 1;
  __syncthreads();
  return total;
}

/* The third level of a product with few columns: a bit for each of them, nothing to sort. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, 6) DenseKernel(Factors<Offset> f, PetscCount num_rows, int tile, int lanes, int num_words, SpGEMMPool pool)
{
  using Scan = cub::BlockScan<int, SPGEMM_THREADS>;
  extern __shared__ unsigned            bitmap[];
  __shared__ typename Scan::TempStorage temporary;
  __shared__ WaitingRows                waiting;
  __shared__ BlockStats                 stats;
  __shared__ unsigned long long         start;
  unsigned long long                    num_nonzeros = 0, num_products = 0;

  if (pool.stats->level_rows[2] == 0) return;
  stats.Begin();
  while (waiting.Next(pool, num_rows, tile)) {
    for (int r = 0; r < waiting.num; r++) {
      const int32_t row = waiting.rows[r];

      for (int k = threadIdx.x; k < num_words; k += SPGEMM_THREADS) bitmap[k] = 0;
      __syncthreads();
      VisitProducts(f, row, lanes, 0, (PetscCount)INT32_MAX + 1, [&](int32_t column) {
        if (!(*(volatile unsigned *)&bitmap[column / 32] & 1u << column % 32)) atomicOr(&bitmap[column / 32], 1u << column % 32);
        num_products++;
      });
      __syncthreads();
      const int entries = KeepBitmap<Scan>(temporary, &start, bitmap, num_words, pool, row);

      if (threadIdx.x == 0) {
        pool.bins[row]   = SPGEMM_BIN_BLOCK;
        pool.counts[row] = entries;
        stats.AddRow(SPGEMM_BIN_BLOCK);
        num_nonzeros += entries;
      }
    }
  }
  stats.End(pool.stats, num_nonzeros, num_products);
}

/* Shared memory of a block that takes a row. */
struct BlockShared {
  using Sort = cub::BlockRadixSort<unsigned, SPGEMM_THREADS, SORT_ITEMS, unsigned>;
  using Scan = cub::BlockScan<int, SPGEMM_THREADS>;

  union {
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
  } temporary;
  BlockStats         stats;
  WaitingRows        waiting;
  int                num_windows;
  unsigned long long start;
  unsigned long long slots[BLOCK_SLOTS];
};

/* Sorts the windows at the front of the table, puts the row's columns into the pool; returns how many there are. */
__device__ inline int SortBlockRow(BlockShared &s, int window_bits, const SpGEMMPool &pool, int32_t row)
{
  unsigned window[SORT_ITEMS], mask[SORT_ITEMS];
  int      sum = 0, before, total;

  for (int k = 0; k < SORT_ITEMS; k++) {
    const int                place = threadIdx.x * SORT_ITEMS + k;
    const unsigned long long word  = place < s.num_windows ? s.slots[place] : WindowTable::EMPTY;

    window[k] = (unsigned)word;
    mask[k]   = (unsigned)(word >> 32);
  }
  BlockShared::Sort(s.temporary.sort).Sort(window, mask, 0, window_bits);
  for (int k = 0; k < SORT_ITEMS; k++) sum += __popc(mask[k]);
  __syncthreads();
  BlockShared::Scan(s.temporary.scan).ExclusiveSum(sum, before, total);
  if (TakeBlockRoom(&s.start, pool, row, total) + total > (unsigned long long)pool.capacity) return total;
  int32_t *columns = pool.columns + s.start + before;

  for (int k = 0; k < SORT_ITEMS; k++)
    for (; mask[k]; mask[k] &= mask[k] - 1) *columns++ = (int32_t)(window[k] << SPGEMM_WINDOW_BITS | (__ffs(mask[k]) - 1));
  return total;
}

/* One row; returns its entries to thread 0. */
template <typename Offset>
__device__ inline int DoBlockRow(const Factors<Offset> &f, int32_t row, int lanes, int window_bits, const SpGEMMBinLimits &limits, const SpGEMMPool &pool, BlockShared &s)
{
  const bool fits    = FillBlockTable(f, row, lanes, {s.slots, SPGEMM_BLOCK_SLOTS});
  int        entries = 0, bin = SPGEMM_BIN_LONG;

  CompactBlockTable(s.slots, &s.num_windows);
  if (fits && s.num_windows <= SPGEMM_BLOCK_WINDOWS) {
    entries = SortBlockRow(s, window_bits, pool, row);
    bin     = BinOf(limits, s.num_windows, entries);
  }
  if (threadIdx.x == 0) {
    pool.bins[row]   = (unsigned char)bin;
    pool.counts[row] = entries;
    s.stats.AddRow(bin);
    if (bin == SPGEMM_BIN_LONG) pool.long_rows[atomicAdd(&pool.stats->level_rows[3], 1u)] = row;
  }
  return threadIdx.x == 0 ? entries : 0;
}

/* The third level: a block a row, of those that wait for it. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) BlockKernel(Factors<Offset> f, PetscCount num_rows, int tile, int lanes, int window_bits, SpGEMMBinLimits limits, SpGEMMPool pool)
{
  extern __shared__ char shared[];
  BlockShared           &s            = *(BlockShared *)shared;
  unsigned long long     num_nonzeros = 0, num_products = 0;

  if (pool.stats->level_rows[2] == 0) return;
  s.stats.Begin();
  while (s.waiting.Next(pool, num_rows, tile)) {
    for (int k = 0; k < s.waiting.num; k++) {
      num_nonzeros += DoBlockRow(f, s.waiting.rows[k], lanes, window_bits, limits, pool, s);
      num_products += CountProducts(f, s.waiting.rows[k]);
    }
  }
  s.stats.End(pool.stats, num_nonzeros, num_products);
}

/* The bitmap of a slice of the columns of a row. Starts and ends synchronized. */
template <typename Offset>
__device__ inline void FillBitmap(const Factors<Offset> &f, int32_t row, int lanes, PetscCount first, unsigned *bitmap)
{
  __syncthreads();
  for (int k = threadIdx.x; k < SPGEMM_SLICE_WORDS; k += blockDim.x) bitmap[k] = 0;
  __syncthreads();
  VisitProducts(f, row, lanes, first, first + SLICE_COLUMNS, [&](int32_t column) {
    unsigned      *word = &bitmap[(column - first) / 32];
    const unsigned bit  = 1u << (column - first) % 32;

    if (!(*(volatile unsigned *)word & bit)) atomicOr(word, bit);
  });
  __syncthreads();
}

/* Entries of the bitmap in each thread's share of it, which are consecutive words. */
__device__ inline int CountShare(const unsigned *bitmap)
{
  constexpr int share = SPGEMM_SLICE_WORDS / SLICE_THREADS;
  int           sum   = 0;

  for (int k = 0; k < share; k++) sum += __popc(bitmap[threadIdx.x * share + k]);
  return sum;
}

/* One item: a slice of a row. slice_counts == NULL: the counts of the rows; otherwise those of the slices. */
template <typename Offset>
__global__ void __launch_bounds__(SLICE_THREADS) CountSliceKernel(Factors<Offset> f, int lanes, PetscCount num_slices, const unsigned int *n, const int32_t *list, int32_t *counts, unsigned long long *num_nonzeros, int32_t *slice_counts)
{
  extern __shared__ unsigned bitmap[];
  using Reduce = cub::BlockReduce<int, SLICE_THREADS>;
  __shared__ typename Reduce::TempStorage temporary;

  for (PetscCount item = blockIdx.x; item < (PetscCount)*n * num_slices; item += gridDim.x) {
    const int32_t row = list[item / num_slices];

    FillBitmap(f, row, lanes, item % num_slices * SLICE_COLUMNS, bitmap);
    const int sum = Reduce(temporary).Sum(CountShare(bitmap));

    if (threadIdx.x == 0 && slice_counts) slice_counts[item] = sum;
    if (threadIdx.x == 0 && !slice_counts && sum) {
      atomicAdd(&counts[row], sum);
      atomicAdd(num_nonzeros, (unsigned long long)sum);
    }
  }
}

template <typename Offset>
__global__ void __launch_bounds__(SLICE_THREADS) FillSliceKernel(Factors<Offset> f, int lanes, PetscCount num_slices, PetscCount num_items, const int32_t *list, const PetscCount *places, Offsets c_offsets, int32_t *c_columns)
{
  extern __shared__ unsigned bitmap[];
  constexpr int              share = SPGEMM_SLICE_WORDS / SLICE_THREADS;
  using Scan                       = cub::BlockScan<int, SLICE_THREADS>;
  __shared__ typename Scan::TempStorage temporary;

  for (PetscCount item = blockIdx.x; item < num_items; item += gridDim.x) {
    const int32_t    row   = list[item / num_slices];
    const PetscCount first = item % num_slices * SLICE_COLUMNS;
    int              before;

    FillBitmap(f, row, lanes, first, bitmap);
    Scan(temporary).ExclusiveSum(CountShare(bitmap), before);
    int32_t *columns = c_columns + c_offsets(row) + (places[item] - places[item - item % num_slices]) + before;

    for (int k = 0; k < share; k++) {
      unsigned mask = bitmap[threadIdx.x * share + k];

      for (; mask; mask &= mask - 1) *columns++ = (int32_t)(first + (threadIdx.x * share + k) * 32 + __ffs(mask) - 1);
    }
  }
}

PetscCount NumSlices(const DCSRView &B)
{
  return PetscMax(((PetscCount)B.num_columns + SLICE_COLUMNS - 1) / SLICE_COLUMNS, 1);
}

template <typename Offset>
PetscErrorCode SymbolicBlocks(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  const PetscCount   num_rows  = (PetscCount)A.num_rows;
  const int          tile      = (int)PetscMax(1, PetscMin(num_rows / (MAX_BLOCKS * 8), (PetscCount)SPGEMM_THREADS));
  const unsigned int blocks    = (unsigned int)PetscMin((num_rows + tile - 1) / tile, (PetscCount)MAX_BLOCKS);
  const int          num_words = (int)((B.num_columns + 31) / 32);
  size_t             bytes     = (size_t)num_words * sizeof(unsigned);

  PetscFunctionBegin;
  if (B.num_columns <= SLICE_COLUMNS) { // all columns in one bitmap
    PetscCallCUDA(cudaFuncSetAttribute(DenseKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    DenseKernel<Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), num_rows, tile, lanes, num_words, *pool);
  } else {
    bytes = sizeof(BlockShared);
    PetscCallCUDA(cudaFuncSetAttribute(BlockKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    // one number more than there are windows: the bits of SPGEMM_NO_WINDOW, which comes last in the sort
    BlockKernel<Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), num_rows, tile, lanes, DCSRKeyBits((B.num_columns >> SPGEMM_WINDOW_BITS) + 2), *limits, *pool);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode CountSlices(DCSRView A, DCSRView B, PetscCount max_items, const unsigned int *n, const int32_t *list, int32_t *counts, unsigned long long *num_nonzeros, int32_t *slice_counts, cudaStream_t stream)
{
  const size_t       bytes  = SPGEMM_SLICE_WORDS * sizeof(unsigned);
  const unsigned int blocks = (unsigned int)PetscMax(PetscMin(max_items, (PetscCount)MAX_BLOCKS), 1);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(CountSliceKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  CountSliceKernel<Offset><<<blocks, SLICE_THREADS, bytes, stream>>>(Factors<Offset>(A, B), BlockLanes(B), NumSlices(B), n, list, counts, num_nonzeros, slice_counts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode FillSlices(DCSRView A, DCSRView B, DCSRView C, PetscCount num_items, const int32_t *list, const PetscCount *places, cudaStream_t stream)
{
  const size_t bytes = SPGEMM_SLICE_WORDS * sizeof(unsigned);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(FillSliceKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  FillSliceKernel<Offset><<<(unsigned int)PetscMin(num_items, (PetscCount)MAX_BLOCKS), SLICE_THREADS, bytes, stream>>>(Factors<Offset>(A, B), BlockLanes(B), NumSlices(B), num_items, list, places, Offsets(C), C.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpGEMMSymbolicBlocks - The third level: a block a row, tables of 4096 windows. See SpGEMMSymbolicGroups(). */
PetscErrorCode SpGEMMSymbolicBlocks(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(SymbolicBlocks<int64_t>(A, B, lanes, limits, pool, stream));
  else PetscCall(SymbolicBlocks<int32_t>(A, B, lanes, limits, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMCountSlices - The last level, which only counts: a block takes a slice of the columns of a row, with a bit for each of them. See SpGEMMSymbolicGroups(). */
PetscErrorCode SpGEMMCountSlices(DCSRView A, DCSRView B, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(CountSlices<int64_t>(A, B, MAX_BLOCKS, &pool->stats->level_rows[3], pool->long_rows, pool->counts, &pool->stats->num_nonzeros, NULL, stream));
  else PetscCall(CountSlices<int32_t>(A, B, MAX_BLOCKS, &pool->stats->level_rows[3], pool->long_rows, pool->counts, &pool->stats->num_nonzeros, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMFillSlices - Columns of n rows of any length. 

  Workspace: 12 bytes for each slice of 524,288 columns of each row.
*/
PetscErrorCode SpGEMMFillSlices(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  const PetscCount   num_items = n * NumSlices(B);
  const unsigned int num       = (unsigned int)n;
  PetscErrorCode     ierr      = PETSC_SUCCESS;
  int32_t           *counts    = NULL;
  PetscCount        *places    = NULL;
  unsigned int      *device_n  = NULL;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_items, "entries of slices of long rows", stream, &counts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_items, "places of slices of long rows", stream, &places));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "number of long rows", stream, &device_n));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(device_n, &num, sizeof(num), cudaMemcpyHostToDevice, stream));
  if (B.wide) PetscCallGoto(ierr, cleanup, CountSlices<int64_t>(A, B, num_items, device_n, list, NULL, NULL, counts, stream));
  else PetscCallGoto(ierr, cleanup, CountSlices<int32_t>(A, B, num_items, device_n, list, NULL, NULL, counts, stream));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sum slices of long rows", stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceScan::ExclusiveSum(storage, bytes, thrust::make_transform_iterator(counts, WidenCount()), places, num_items, stream);
                }));
  if (B.wide) PetscCallGoto(ierr, cleanup, FillSlices<int64_t>(A, B, C, num_items, list, places, stream));
  else PetscCallGoto(ierr, cleanup, FillSlices<int32_t>(A, B, C, num_items, list, places, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscCall(PetscSparseCUDAFree(&places, stream));
  PetscCall(PetscSparseCUDAFree(&device_n, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
