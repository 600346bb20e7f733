/* Between counting and filling: the row offsets of C, the rows of each bin, and the chunks of long rows. */
#include "table.cuh"
#include "../common/preload.cuh"
#include "../common/scan.h"

namespace
{

/* Where each bin begins in the list. Its rows come after those of the bins before it. */
struct BinPositions {
  unsigned long long begin[SPGEMM_NUM_BINS];
};

/* A thread block takes consecutive rows and reserves room in each bin once, so that neighbors in the matrix stay neighbors in the list. */
__global__ void __launch_bounds__(SPGEMM_THREADS) SortRowsKernel(PetscInt num_rows, const unsigned char *bins, BinPositions positions, unsigned long long *used, int32_t *list)
{
  __shared__ unsigned           counts[SPGEMM_NUM_BINS];
  __shared__ unsigned long long begin[SPGEMM_NUM_BINS];
  const PetscCount              row  = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x;
  const int                     bin  = row < num_rows ? bins[row] : SPGEMM_BIN_EMPTY;
  unsigned                      rank = 0;

  if (threadIdx.x < SPGEMM_NUM_BINS) counts[threadIdx.x] = 0;
  __syncthreads();
  const unsigned peers = __match_any_sync(FULL_WARP, bin), before = __popc(peers & ((1u << threadIdx.x % 32) - 1));

  if (before == 0) rank = atomicAdd(&counts[bin], (unsigned)__popc(peers));
  rank = __shfl_sync(FULL_WARP, rank, __ffs(peers) - 1) + before;
  __syncthreads();
  if (threadIdx.x < SPGEMM_NUM_BINS && threadIdx.x != SPGEMM_BIN_EMPTY && counts[threadIdx.x])
    begin[threadIdx.x] = positions.begin[threadIdx.x] + atomicAdd(&used[threadIdx.x], (unsigned long long)counts[threadIdx.x]);
  __syncthreads();
  if (bin != SPGEMM_BIN_EMPTY) list[begin[bin] + rank] = (int32_t)row;
}

/* Where a row is in the pool. */
__device__ inline const int32_t *PoolRow(const SpGEMMPool &pool, PetscCount row)
{
  return pool.columns + (pool.wide ? ((const uint64_t *)pool.starts)[row] : ((const uint32_t *)pool.starts)[row]);
}

/* Columns of finished rows go out of the pool into C. A group of lanes takes a row. */
template <int Lanes>
__global__ void __launch_bounds__(SPGEMM_THREADS) CopyColumnsKernel(PetscCount num_rows, Offsets c_offsets, int32_t *c_columns, SpGEMMPool pool)
{
  const PetscCount row  = ((PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x) / Lanes;
  const int        lane = threadIdx.x % Lanes;

  if (row >= num_rows || pool.bins[row] == SPGEMM_BIN_LONG || pool.bins[row] == SPGEMM_BIN_BLOCK) return;
  const PetscCount begin = c_offsets(row), n = c_offsets(row + 1) - begin;
  const int32_t   *from = PoolRow(pool, row);

#pragma unroll 4
  for (PetscCount k = lane; k < n; k += Lanes) c_columns[begin + k] = from[k];
}

/* The same for long rows: gridDim.x thread blocks take a row. */
__global__ void __launch_bounds__(SPGEMM_THREADS) CopyLongColumnsKernel(PetscCount num, const int32_t *list, Offsets c_offsets, int32_t *c_columns, SpGEMMPool pool)
{
  for (PetscCount item = blockIdx.y; item < num; item += gridDim.y) {
    const int32_t    row   = list[item];
    const PetscCount begin = c_offsets(row), n = c_offsets(row + 1) - begin;
    const int32_t   *from = PoolRow(pool, row);

#pragma unroll 4
    for (PetscCount k = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; k < n; k += (PetscCount)gridDim.x * SPGEMM_THREADS) c_columns[begin + k] = from[k];
  }
}

template <int Lanes>
PetscErrorCode CopyColumns(DCSRView C, const SpGEMMPool *pool, cudaStream_t stream)
{
  const unsigned int blocks = DCSRNumBlocks((PetscCount)C.num_rows * Lanes, SPGEMM_THREADS);

  PetscFunctionBegin;
  CopyColumnsKernel<Lanes><<<blocks, SPGEMM_THREADS, 0, stream>>>((PetscCount)C.num_rows, Offsets(C), C.columns, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chunks {row, number of the chunk in the row} of a row, by a warp. */
__device__ inline void AddChunks(int32_t row, PetscCount num, unsigned long long *chunks, SpGEMMChunkNumbers *numbers)
{
  unsigned long long base = 0;

  if (threadIdx.x % 32 == 0) base = atomicAdd(&numbers->chunks, (unsigned long long)num);
  base = __shfl_sync(FULL_WARP, base, 0);
  for (PetscCount k = threadIdx.x % 32; k < num; k += 32) chunks[base + k] = (unsigned long long)row << 32 | (unsigned long long)k;
}

__device__ inline PetscCount NumChunks(PetscCount num_entries)
{
  return (num_entries + SPGEMM_CHUNK_ENTRIES - 1) / SPGEMM_CHUNK_ENTRIES;
}

/* Lists the chunks of rows, in no order. Rows whose rows of A are long wait until their terms are counted. */
__global__ void __launch_bounds__(SPGEMM_THREADS)
  ListChunksKernel(Offsets a_offsets, Offsets c_offsets, PetscCount n, const int32_t *list, unsigned long long *chunks, SpGEMMChunkNumbers *numbers, SpGEMMHugeRow *huge)
{
  for (PetscCount item = (PetscCount)blockIdx.x * (SPGEMM_THREADS / 32) + threadIdx.x / 32; item < n; item += (PetscCount)gridDim.x * (SPGEMM_THREADS / 32)) {
    const int32_t    row = list[item];
    const PetscCount a = a_offsets(row), c = c_offsets(row);
    const PetscCount length = a_offsets(row + 1) - a, num_entries = c_offsets(row + 1) - c;

    if (length <= SPGEMM_HUGE_ENTRIES) AddChunks(row, NumChunks(num_entries), chunks, numbers);
    else if (threadIdx.x % 32 == 0) huge[atomicAdd(&numbers->huge, 1ull)] = {a, length, c, num_entries, 0, row, 0};
  }
}

/* Counts the terms of the rows that wait: gridDim.x thread blocks take a row. */
__global__ void __launch_bounds__(SPGEMM_THREADS) CountHugeKernel(const int32_t *a_columns, Offsets b_offsets, const SpGEMMChunkNumbers *numbers, SpGEMMHugeRow *huge)
{
  for (unsigned long long item = blockIdx.y; item < numbers->huge; item += gridDim.y) {
    const SpGEMMHugeRow row = huge[item];
    unsigned long long  sum = 0;

#pragma unroll 4
    for (PetscCount k = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; k < row.a_length; k += (PetscCount)gridDim.x * SPGEMM_THREADS) {
      const int32_t column = a_columns[row.a_begin + k];

      sum += (unsigned long long)(b_offsets(column + 1) - b_offsets(column));
    }
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(FULL_WARP, sum, k);
    if (threadIdx.x % 32 == 0 && sum) atomicAdd(&huge[item].terms, sum);
  }
}

/* Decides which of them are sorted, and lists the chunks of the others. The rule knows nothing but the row, so that it says the same in every run: sums are rounded in another way. */
__global__ void __launch_bounds__(SPGEMM_THREADS) DecideHugeKernel(unsigned long long *chunks, SpGEMMChunkNumbers *numbers, SpGEMMHugeRow *huge)
{
  for (unsigned long long item = blockIdx.x * (SPGEMM_THREADS / 32) + threadIdx.x / 32; item < numbers->huge; item += gridDim.x * (SPGEMM_THREADS / 32)) {
    const PetscCount num    = NumChunks(huge[item].c_length);
    const bool       sorted = (double)num * (double)huge[item].a_length > SPGEMM_SEARCH_RATIO * (double)huge[item].terms;

    if (threadIdx.x % 32 == 0) huge[item].sorted = sorted;
    if (!sorted) AddChunks(huge[item].row, num, chunks, numbers);
  }
}

} // namespace

/* SpGEMMScan - Row offsets [num_rows + 1] of C from counts [num_rows + 1] (device), entries of each row and 0. Asynchronous */
PetscErrorCode SpGEMMScan(PetscInt num_rows, const int32_t counts[], DCSRView C, cudaStream_t stream)
{
  const PetscCount n = (PetscCount)num_rows + 1;

  PetscFunctionBegin;
  if (C.wide) PetscCall(DCSRExclusiveSumTo("workspace to sum rows of a product", counts, n, (int64_t *)C.row_offsets, stream));
  else PetscCall(DCSRExclusiveSumTo("workspace to sum rows of a product", counts, n, (int32_t *)C.row_offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMCopyColumns - Brings the columns of all rows but those of the last two bins out of the pool, which has bins, starts and columns of all rows. The row offsets of C are there. Asynchronous */
PetscErrorCode SpGEMMCopyColumns(DCSRView C, const SpGEMMPool *pool, cudaStream_t stream)
{
  const PetscCount mean = C.num_nonzeros / PetscMax(C.num_rows, 1);

  PetscFunctionBegin;
  if (mean <= 6) PetscCall(CopyColumns<4>(C, pool, stream));
  else if (mean <= 16) PetscCall(CopyColumns<8>(C, pool, stream));
  else if (mean <= 200) PetscCall(CopyColumns<16>(C, pool, stream));
  else PetscCall(CopyColumns<32>(C, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMCopyLongColumns - Brings the columns of rows that thread blocks have found, list [n] (device), out of the pool, which has their starts and columns. The row offsets of C are there. Asynchronous
*/
PetscErrorCode SpGEMMCopyLongColumns(DCSRView C, const SpGEMMPool *pool, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  unsigned int all_blocks, rows;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetGrid(PETSC_COUNT_MAX, SPGEMM_BLOCKS * 8, &all_blocks));
  rows = (unsigned int)PetscMin(n, (PetscCount)all_blocks);
  CopyLongColumnsKernel<<<dim3(PetscMin(PetscMax(all_blocks / rows, 4u), 64u), rows), SPGEMM_THREADS, 0, stream>>>(n, list, Offsets(C), C.columns, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMSortRows - list [num_rows] (device): the rows of each bin, one bin after the other, rows without entries left out. Asynchronous bins [num_rows], device. stats, host: rows in each bin. */
PetscErrorCode SpGEMMSortRows(PetscInt num_rows, const unsigned char bins[], const SpGEMMStats *stats, int32_t list[], cudaStream_t stream)
{
  PetscErrorCode      ierr = PETSC_SUCCESS;
  BinPositions        positions;
  unsigned long long *used = NULL, sum = 0;

  PetscFunctionBegin;
  if (num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++) {
    positions.begin[bin] = sum;
    if (bin != SPGEMM_BIN_EMPTY) sum += stats->bin_rows[bin];
  }
  PetscCall(PetscSparseCUDAMalloc(SPGEMM_NUM_BINS, "numbers of rows in bins", stream, &used));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(used, 0, SPGEMM_NUM_BINS * sizeof(*used), stream));
  SortRowsKernel<<<DCSRNumBlocks(num_rows, SPGEMM_THREADS), SPGEMM_THREADS, 0, stream>>>(num_rows, bins, positions, used, list);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
cleanup:
  PetscCall(PetscSparseCUDAFree(&used, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMListChunks - Cuts rows of C, list [n] (device), into chunks of SPGEMM_CHUNK_ENTRIES entries. Asynchronous
  A and B say which rows are no work for chunks; the row offsets of C are there. chunks, device: room for C.num_nonzeros / SPGEMM_CHUNK_ENTRIES + n of them. numbers, device: how many, and how many
  rows are in the other list.
  huge [max_huge], device: rows with long rows of A; those that are marked as sorted have no chunks. max_huge: at least as many as rows of A with more than SPGEMM_HUGE_ENTRIES entries that are in the
  list.
*/
PetscErrorCode SpGEMMListChunks(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], unsigned long long chunks[], SpGEMMChunkNumbers *numbers, PetscCount max_huge,
                                SpGEMMHugeRow huge[], cudaStream_t stream)
{
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((n + SPGEMM_THREADS / 32 - 1) / (SPGEMM_THREADS / 32), SPGEMM_BLOCKS, &blocks));
  PetscCallCUDA(cudaMemsetAsync(numbers, 0, sizeof(*numbers), stream));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  ListChunksKernel<<<blocks, SPGEMM_THREADS, 0, stream>>>(Offsets(A), Offsets(C), n, list, chunks, numbers, huge);
  PetscCallCUDA(cudaGetLastError());
  if (A.num_columns <= SPGEMM_HUGE_ENTRIES || max_huge == 0) PetscFunctionReturn(PETSC_SUCCESS); // no row of A is so long
  CountHugeKernel<<<dim3(16, (unsigned int)PetscMin(max_huge, 64)), SPGEMM_THREADS, 0, stream>>>(A.columns, Offsets(B), numbers, huge);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRGetGrid(max_huge, 1, &blocks));
  DecideHugeKernel<<<blocks, SPGEMM_THREADS, 0, stream>>>(chunks, numbers, huge);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(SortRowsKernel);
