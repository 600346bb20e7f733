/*
  Rows of C with more windows than a warp's table holds. A block puts the windows of a row into a larger table and sorts them; beyond that the columns are taken in
  slices, with one bit for each column of a slice in shared memory: any row fits, however long.
*/
#include "table.cuh"
#include "../entries/temporary.cuh"
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace
{

constexpr int MAX_BLOCKS    = 132 * 8;
constexpr int SLICE_THREADS = 512;
constexpr int COUNT_PROBES  = 256; // after so many slots of others a table counts as full
constexpr int SORT_ITEMS    = SPGEMM_BLOCK_WINDOWS / SPGEMM_THREADS;

/* First entry of a row of B that is not left of a column. */
template <typename Offset>
__device__ inline Offset LowerBound(const int32_t *columns, Offset begin, Offset end, PetscCount column)
{
  while (begin < end) {
    const Offset middle = begin + (end - begin) / 2;

    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

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

    if (first > 0) b = LowerBound(f.b_columns, b, b_end, first);
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
__device__ inline bool FillBlockTable(const Factors<Offset> &f, int32_t row, int lanes, int limit, unsigned *keys, unsigned *masks)
{
  const WindowTable table = {keys, SPGEMM_BLOCK_SLOTS};
  bool              full  = false;

  __syncthreads();
  for (int slot = threadIdx.x; slot < 1 << SPGEMM_BLOCK_SLOTS; slot += blockDim.x) {
    keys[slot]  = SPGEMM_NO_WINDOW;
    masks[slot] = 0;
  }
  __syncthreads();
  VisitProducts(f, row, lanes, 0, (PetscCount)INT32_MAX + 1, [&](int32_t column) {
    const unsigned slot = full ? SPGEMM_NO_WINDOW : table.Insert(WindowOf(column), limit);

    if (slot == SPGEMM_NO_WINDOW) full = true;
    else SetBit(&masks[slot], BitOf(column));
  });
  return !__syncthreads_or(full);
}

template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) CountBlockKernel(Factors<Offset> f, int lanes, SpGEMMBinLimits limits, SpGEMMCount count)
{
  __shared__ unsigned   keys[1 << SPGEMM_BLOCK_SLOTS], masks[1 << SPGEMM_BLOCK_SLOTS];
  __shared__ BlockStats block;
  __shared__ int        num_windows, num_entries;
  const unsigned        n            = count.stats->level_rows[2];
  unsigned long long    num_nonzeros = 0, num_products = 0;

  block.Begin();
  for (unsigned item = blockIdx.x; item < n; item += gridDim.x) {
    const int32_t row     = count.lists[1][item];
    int           windows = 0, entries = 0;
    const bool    fits = FillBlockTable(f, row, lanes, COUNT_PROBES, keys, masks);

    if (threadIdx.x == 0) num_windows = num_entries = 0;
    __syncthreads();
    for (int slot = threadIdx.x; slot < 1 << SPGEMM_BLOCK_SLOTS; slot += SPGEMM_THREADS) {
      windows += keys[slot] != SPGEMM_NO_WINDOW;
      entries += __popc(masks[slot]);
    }
    atomicAdd(&num_windows, windows);
    atomicAdd(&num_entries, entries);
    __syncthreads();
    num_products += CountProducts(f, row);
    if (threadIdx.x == 0) {
      const int bin = fits ? BinOf(limits, num_windows, num_entries) : SPGEMM_BIN_LONG;

      count.bins[row]   = (unsigned char)bin;
      count.counts[row] = bin == SPGEMM_BIN_LONG ? 0 : num_entries;
      if (bin == SPGEMM_BIN_LONG) count.lists[0][atomicAdd(&count.stats->level_rows[3], 1u)] = row;
      else num_nonzeros += num_entries;
      block.AddRow(bin);
    }
  }
  block.End(count.stats, num_nonzeros, num_products);
}

/* The bitmap of a slice of the columns of a row. Starts and ends synchronized. */
template <typename Offset>
__device__ inline void FillBitmap(const Factors<Offset> &f, int32_t row, int lanes, PetscCount first_window, unsigned *bitmap)
{
  const PetscCount first = first_window << SPGEMM_WINDOW_BITS, last = (first_window + SPGEMM_SLICE_WINDOWS) << SPGEMM_WINDOW_BITS;

  __syncthreads();
  for (int k = threadIdx.x; k < SPGEMM_SLICE_WINDOWS; k += blockDim.x) bitmap[k] = 0;
  __syncthreads();
  VisitProducts(f, row, lanes, first, last, [&](int32_t column) { SetBit(&bitmap[WindowOf(column) - first_window], BitOf(column)); });
  __syncthreads();
}

/* Entries of the bitmap in each thread's share of it, which are consecutive windows. */
__device__ inline int CountShare(const unsigned *bitmap)
{
  constexpr int share = SPGEMM_SLICE_WINDOWS / SLICE_THREADS;
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

    FillBitmap(f, row, lanes, item % num_slices * SPGEMM_SLICE_WINDOWS, bitmap);
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
  constexpr int              share = SPGEMM_SLICE_WINDOWS / SLICE_THREADS;
  using Scan                       = cub::BlockScan<int, SLICE_THREADS>;
  __shared__ typename Scan::TempStorage temporary;

  for (PetscCount item = blockIdx.x; item < num_items; item += gridDim.x) {
    const int32_t    row   = list[item / num_slices];
    const PetscCount first = item % num_slices * SPGEMM_SLICE_WINDOWS;
    int              before;

    FillBitmap(f, row, lanes, first, bitmap);
    Scan(temporary).ExclusiveSum(CountShare(bitmap), before);
    int32_t *columns = c_columns + c_offsets(row) + (places[item] - places[item - item % num_slices]) + before;

    for (int k = 0; k < share; k++) {
      unsigned mask = bitmap[threadIdx.x * share + k];

      for (; mask; mask &= mask - 1) *columns++ = (int32_t)((first + threadIdx.x * share + k) << SPGEMM_WINDOW_BITS | (__ffs(mask) - 1));
    }
  }
}

/* The windows of a row sorted by a block. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) FillBlockKernel(Factors<Offset> f, int lanes, PetscCount n, const int32_t *list, Offsets c_offsets, int32_t *c_columns)
{
  using Sort = cub::BlockRadixSort<unsigned, SPGEMM_THREADS, SORT_ITEMS, unsigned>;
  using Scan = cub::BlockScan<int, SPGEMM_THREADS>;
  __shared__ unsigned keys[1 << SPGEMM_BLOCK_SLOTS], masks[1 << SPGEMM_BLOCK_SLOTS];
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
  } temporary;
  __shared__ int num;

  for (PetscCount item = blockIdx.x; item < n; item += gridDim.x) {
    const int32_t row = list[item];
    unsigned      window[SORT_ITEMS], mask[SORT_ITEMS];
    int           sum = 0, before;

    FillBlockTable(f, row, lanes, 1 << SPGEMM_BLOCK_SLOTS, keys, masks);
    if (threadIdx.x == 0) num = 0;
    // the windows move to the front of the arrays, a round of slots at a time: a slot is read before its place can be written
    for (int first = 0; first < 1 << SPGEMM_BLOCK_SLOTS; first += SPGEMM_THREADS) {
      const unsigned k = keys[first + threadIdx.x], m = masks[first + threadIdx.x];

      __syncthreads();
      if (k != SPGEMM_NO_WINDOW) {
        const int place = atomicAdd(&num, 1);

        keys[place]  = k;
        masks[place] = m;
      }
    }
    __syncthreads();
    for (int k = 0; k < SORT_ITEMS; k++) {
      const int place = threadIdx.x * SORT_ITEMS + k;

      window[k] = place < num ? keys[place] : SPGEMM_NO_WINDOW;
      mask[k]   = place < num ? masks[place] : 0;
    }
    Sort(temporary.sort).Sort(window, mask);
    for (int k = 0; k < SORT_ITEMS; k++) sum += __popc(mask[k]);
    __syncthreads();
    Scan(temporary.scan).ExclusiveSum(sum, before);
    int32_t *columns = c_columns + c_offsets(row) + before;

    for (int k = 0; k < SORT_ITEMS; k++)
      for (; mask[k]; mask[k] &= mask[k] - 1) *columns++ = (int32_t)(window[k] << SPGEMM_WINDOW_BITS | (__ffs(mask[k]) - 1));
  }
}

PetscCount NumSlices(const DCSRView &B)
{
  const PetscCount columns = (PetscCount)SPGEMM_SLICE_WINDOWS << SPGEMM_WINDOW_BITS;

  return PetscMax(((PetscCount)B.num_columns + columns - 1) / columns, 1);
}

template <typename Offset>
PetscErrorCode CountSlices(DCSRView A, DCSRView B, PetscCount max_items, const unsigned int *n, const int32_t *list, int32_t *counts, unsigned long long *num_nonzeros, int32_t *slice_counts, cudaStream_t stream)
{
  const size_t       bytes  = SPGEMM_SLICE_WINDOWS * sizeof(unsigned);
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
  const size_t bytes = SPGEMM_SLICE_WINDOWS * sizeof(unsigned);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(FillSliceKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  FillSliceKernel<Offset><<<(unsigned int)PetscMin(num_items, (PetscCount)MAX_BLOCKS), SLICE_THREADS, bytes, stream>>>(Factors<Offset>(A, B), BlockLanes(B), NumSlices(B), num_items, list, places, Offsets(C), C.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slice counts as the scan wants them. */
struct WidenCount {
  __device__ PetscCount operator()(int32_t count) const { return (PetscCount)count; }
};

} // namespace

/* SpGEMMCountBlocks - The third level: a block a row, tables of 4096 windows. See SpGEMMCountGroups(). */
PetscErrorCode SpGEMMCountBlocks(DCSRView A, DCSRView B, const SpGEMMBinLimits *limits, const SpGEMMCount *count, cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)PetscMin((PetscCount)A.num_rows, (PetscCount)MAX_BLOCKS);

  PetscFunctionBegin;
  if (B.wide) CountBlockKernel<int64_t><<<blocks, SPGEMM_THREADS, 0, stream>>>(Factors<int64_t>(A, B), BlockLanes(B), *limits, *count);
  else CountBlockKernel<int32_t><<<blocks, SPGEMM_THREADS, 0, stream>>>(Factors<int32_t>(A, B), BlockLanes(B), *limits, *count);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMCountSlices - The last level: a block takes a slice of the columns of a row, with a bit for each of them. See SpGEMMCountGroups(). */
PetscErrorCode SpGEMMCountSlices(DCSRView A, DCSRView B, const SpGEMMCount *count, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(CountSlices<int64_t>(A, B, MAX_BLOCKS, &count->stats->level_rows[3], count->lists[0], count->counts, &count->stats->num_nonzeros, NULL, stream));
  else PetscCall(CountSlices<int32_t>(A, B, MAX_BLOCKS, &count->stats->level_rows[3], count->lists[0], count->counts, &count->stats->num_nonzeros, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMFillBlocks - Columns of n rows of at most SPGEMM_BLOCK_WINDOWS windows. See SpGEMMFillGroups(). */
PetscErrorCode SpGEMMFillBlocks(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)PetscMin(n, (PetscCount)MAX_BLOCKS * 4);

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (B.wide) FillBlockKernel<int64_t><<<blocks, SPGEMM_THREADS, 0, stream>>>(Factors<int64_t>(A, B), BlockLanes(B), n, list, Offsets(C), C.columns);
  else FillBlockKernel<int32_t><<<blocks, SPGEMM_THREADS, 0, stream>>>(Factors<int32_t>(A, B), BlockLanes(B), n, list, Offsets(C), C.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMFillSlices - Columns of n rows of any length. See SpGEMMFillGroups().

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
