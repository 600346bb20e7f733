/*
  Sparse times dense: what the plan needs to know about rows, and the long rows. Thread blocks sum the chunks of a long row in a first pass. A second pass adds the sums in a
  fixed order.
*/
#include "spmmimpl.h"
#include "../spmv/spmvdevice.cuh"

#define THREADS 256
#define SAMPLES 4096 /* rows at most that are compared with the next one */

/* Whether a row and the next one read X near each other. Their entries at the middle of the first row are compared: that of the next row is in the same column, or up to two columns behind. */
template <typename Offset>
__device__ static bool ReadsWithNeighbor(const Offset *row_offsets, const int32_t *columns, PetscInt row)
{
  const Offset begin = row_offsets[row], end = row_offsets[row + 1], after = row_offsets[row + 2], middle = (end - begin) / 2;

  if (end == begin || after <= end + middle) return false;
  return columns[end + middle] >= columns[begin + middle] && columns[end + middle] - columns[begin + middle] <= 2;
}

/* Counts are of integers: their order does not matter. */
template <typename Offset>
__global__ static void __launch_bounds__(THREADS) FactsKernel(DCSRView view, PetscCount long_size, PetscInt stride, SpMMFacts *facts)
{
  const Offset    *row_offsets = (const Offset *)view.row_offsets;
  const PetscCount row         = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (row >= view.num_rows) return;
  if (row_offsets[row + 1] - row_offsets[row] > long_size) {
    atomicAdd(&facts->long_rows, 1ull);
    atomicAdd(&facts->long_chunks, (unsigned long long)((row_offsets[row + 1] - row_offsets[row] + SPMM_CHUNK - 1) / SPMM_CHUNK));
  }
  if (row % stride == 0 && row + 1 < view.num_rows && row_offsets[row + 1] > row_offsets[row]) {
    atomicAdd(&facts->samples, 1ull);
    if (ReadsWithNeighbor(row_offsets, view.columns, (PetscInt)row)) atomicAdd(&facts->neighbors, 1ull);
  }
}

static PetscErrorCode CountFacts(const DCSRView &view, PetscCount long_size, cudaStream_t stream, SpMMFacts *device)
{
  const PetscInt stride = view.num_rows / SAMPLES + 1;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  if (view.wide) FactsKernel<int64_t><<<DCSRNumBlocks(view.num_rows, THREADS), THREADS, 0, stream>>>(view, long_size, stride, device);
  else FactsKernel<int32_t><<<DCSRNumBlocks(view.num_rows, THREADS), THREADS, 0, stream>>>(view, long_size, stride, device);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMMGetFacts - what the plan of a compact matrix with rows depends on; waits for the work. A row with more than long_size entries is long. Cost: one pass over the row offsets. */
PetscErrorCode SpMMGetFacts(DCSRView view, PetscCount long_size, cudaStream_t stream, SpMMFacts *facts)
{
  SpMMFacts     *device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "facts about rows", stream, &device));
  PetscCallGoto(ierr, cleanup, CountFacts(view, long_size, stream, device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(facts, device, sizeof(*facts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
__global__ static void __launch_bounds__(THREADS) ListKernel(DCSRView view, PetscCount long_size, SpMMLongRows l, unsigned long long *counts)
{
  const Offset    *row_offsets = (const Offset *)view.row_offsets;
  const PetscCount row         = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  const PetscCount size        = row < view.num_rows ? (PetscCount)(row_offsets[row + 1] - row_offsets[row]) : 0;

  if (size > long_size) {
    const PetscCount chunks = (size + SPMM_CHUNK - 1) / SPMM_CHUNK, k = (PetscCount)atomicAdd(counts, 1ull), first = (PetscCount)atomicAdd(counts + 1, (unsigned long long)chunks);

    l.rows[k]        = (PetscInt)row;
    l.first_chunk[k] = first;
    for (PetscCount c = 0; c < chunks; c++) l.chunk_row[first + c] = k;
  }
}

static PetscErrorCode List(const DCSRView &view, PetscCount long_size, const SpMMLongRows &l, unsigned long long *counts, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(counts, 0, 2 * sizeof(*counts), stream));
  if (view.wide) ListKernel<int64_t><<<DCSRNumBlocks(view.num_rows, THREADS), THREADS, 0, stream>>>(view, long_size, l, counts);
  else ListKernel<int32_t><<<DCSRNumBlocks(view.num_rows, THREADS), THREADS, 0, stream>>>(view, long_size, l, counts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpMMLongRowsCreate - lists the long rows (more than long_size entries) and their chunks, of a compact matrix with rows. Asynchronous
  facts are from SpMMGetFacts() with the same size. l is to be freed with SpMMLongRowsDestroy(); nothing is allocated when there are none or after an error.
*/
PetscErrorCode SpMMLongRowsCreate(DCSRView view, PetscCount long_size, const SpMMFacts *facts, cudaStream_t stream, SpMMLongRows *l)
{
  unsigned long long *counts = NULL;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  memset(l, 0, sizeof(*l));
  if (facts->long_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  l->num_rows   = (PetscCount)facts->long_rows;
  l->num_chunks = (PetscCount)facts->long_chunks;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(2, "counts of long rows", stream, &counts));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(l->num_rows, "long rows", stream, &l->rows));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(l->num_rows, "first chunks of long rows", stream, &l->first_chunk));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(l->num_chunks, "chunks of long rows", stream, &l->chunk_row));
  PetscCallGoto(ierr, failed, List(view, long_size, *l, counts, stream));
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscCall(SpMMLongRowsDestroy(l, stream));
  PetscFunctionReturn(ierr);
}

/* SpMMLongRowsDestroy - frees the lists; they are empty afterwards */
PetscErrorCode SpMMLongRowsDestroy(SpMMLongRows *l, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&l->rows, stream));
  PetscCall(PetscSparseCUDAFree(&l->first_chunk, stream));
  PetscCall(PetscSparseCUDAFree(&l->chunk_row, stream));
  memset(l, 0, sizeof(*l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums what the threads of one column have, which are width apart. The first width threads get the sums. */
__device__ static PetscScalar SumColumn(PetscScalar sum, int width, PetscScalar *sums)
{
  sums[threadIdx.x] = sum;
  for (int d = THREADS / 2; d >= width; d /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
  }
  __syncthreads();
  return sums[threadIdx.x];
}

/* A thread block takes a chunk. Of width neighboring threads each has a column of the tile. */
template <typename Offset>
__global__ static void __launch_bounds__(THREADS) ChunkKernel(DCSRView view, SpMMLongRows l, SpMMTile tile, PetscScalar *parts)
{
  __shared__ __align__(16) unsigned char scratch[THREADS * sizeof(PetscScalar)];
  const int                              c = threadIdx.x % tile.width, used = c < tile.columns ? c : tile.columns - 1;
  const PetscCount                       k     = l.chunk_row[blockIdx.x];
  const PetscCount                       begin = (PetscCount)((const Offset *)view.row_offsets)[l.rows[k]] + (blockIdx.x - l.first_chunk[k]) * SPMM_CHUNK,
                   last                        = (PetscCount)((const Offset *)view.row_offsets)[l.rows[k] + 1];
  const PetscCount   end                       = begin + SPMM_CHUNK < last ? begin + SPMM_CHUNK : last;
  const PetscScalar *x                         = tile.staged ? tile.x + c : tile.x + (size_t)used * tile.ldx;
  const size_t       ldx                       = tile.staged ? tile.width : 1;
  PetscScalar        sum                       = PetscScalar(0.0);

#pragma unroll 4
  for (PetscCount e = begin + threadIdx.x / tile.width; e < end; e += THREADS / tile.width) sum += view.values[e] * x[(size_t)view.columns[e] * ldx];
  sum = SumColumn(sum, tile.width, (PetscScalar *)scratch);
  if ((int)threadIdx.x < tile.width) parts[(size_t)blockIdx.x * tile.width + threadIdx.x] = sum;
}

/* A thread block adds the sums of a long row's chunks. */
template <typename Offset>
__global__ static void __launch_bounds__(THREADS) FinishKernel(DCSRView view, SpMMLongRows l, SpMMTile tile, const PetscScalar *parts)
{
  __shared__ __align__(16) unsigned char scratch[THREADS * sizeof(PetscScalar)];
  const PetscInt                         row   = l.rows[blockIdx.x];
  const PetscCount                       size  = (PetscCount)(((const Offset *)view.row_offsets)[row + 1] - ((const Offset *)view.row_offsets)[row]);
  const PetscCount                       first = l.first_chunk[blockIdx.x], end = first + (size + SPMM_CHUNK - 1) / SPMM_CHUNK;
  PetscScalar                            sum = PetscScalar(0.0);

  for (PetscCount e = first + threadIdx.x / tile.width; e < end; e += THREADS / tile.width) sum += parts[(size_t)e * tile.width + threadIdx.x % tile.width];
  sum = SumColumn(sum, tile.width, (PetscScalar *)scratch);
  if ((int)threadIdx.x < tile.columns) tile.y[(size_t)threadIdx.x * tile.ldy + row] = sum;
}

template <typename Offset>
static PetscErrorCode Long(const DCSRView &view, const SpMMLongRows &l, const SpMMTile &tile, PetscScalar parts[], cudaStream_t stream)
{
  PetscFunctionBegin;
  ChunkKernel<Offset><<<(unsigned int)l.num_chunks, THREADS, 0, stream>>>(view, l, tile, parts);
  PetscCallCUDA(cudaGetLastError());
  FinishKernel<Offset><<<(unsigned int)l.num_rows, THREADS, 0, stream>>>(view, l, tile, parts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMMLong - the long rows of a tile, at least one. Asynchronous tile is as for SpMMRowsStaged() or SpMMRowsDirect(), which wrote all other rows. parts [num_chunks x width]: scratch, device. */
PetscErrorCode SpMMLong(DCSRView view, const SpMMLongRows *l, const SpMMTile *tile, PetscScalar parts[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.wide) PetscCall(Long<int64_t>(view, *l, *tile, parts, stream));
  else PetscCall(Long<int32_t>(view, *l, *tile, parts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
