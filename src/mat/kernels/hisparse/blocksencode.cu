/*
  Compact CSR becomes lists of dense blocks. All blocks are full, so that offsets and columns of blocks are read from one row of b, and nothing is counted.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/select.h"
#include "blocksimpl.h"
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/transpose.h>
#include "../common/preload.cuh"

namespace
{

#define ENCODE_THREADS 256
#define ENCODE_WARPS   (ENCODE_THREADS / 32)

/* Whether the rows of block row I have the same blocks, all of them full; the same answer in all lanes. */
__device__ bool RowIsFull(Offsets offsets, const int32_t *columns, PetscCount I, int size, int lane)
{
  const PetscCount   begin = offsets(I * size);
  const unsigned int n     = (unsigned int)(offsets(I * size + 1) - begin); // less than 2^31
  bool               full  = n % size == 0;

  for (int r = 1; r < size; r++) full = full && offsets(I * size + r + 1) - offsets(I * size + r) == n;
  for (unsigned int t = lane; full && t < n; t += 32) {
    const int     j     = (int)(t % size);
    const int32_t first = columns[begin + (t - j)];

    full = first % size == 0;
    for (int r = 0; r < size; r++) full = full && columns[begin + (PetscCount)r * n + t] == first + j;
  }
  return __all_sync(0xffffffffu, full);
}

/* A warp takes a block row of the samples, which are spread evenly over all. */
__global__ void __launch_bounds__(ENCODE_THREADS) AreFullKernel(Offsets offsets, const int32_t *columns, PetscCount num_rows, PetscCount num_samples, int size, int *not_full)
{
  const int lane = threadIdx.x % 32;

  for (PetscCount s = (PetscCount)blockIdx.x * ENCODE_WARPS + threadIdx.x / 32; s < num_samples; s += (PetscCount)gridDim.x * ENCODE_WARPS) {
    const int known = __shfl_sync(0xffffffffu, *(volatile int *)not_full, 0);

    if (known) return;
    if (!RowIsFull(offsets, columns, s * num_rows / num_samples, size, lane)) {
      if (lane == 0) *not_full = 1;
      return;
    }
  }
}

/* First block of a row. */
struct WriteOffset {
  Offsets         offsets;
  int             size;
  int32_t        *blocks;
  __device__ void operator()(PetscInt I) const { blocks[I] = (int32_t)(offsets((PetscCount)I * size) / (size * size)); }
};

/* A warp writes the columns of a block row. */
__global__ void __launch_bounds__(ENCODE_THREADS) ColumnsKernel(Offsets offsets, const int32_t *columns, PetscCount num_rows, int size, int32_t *blocks)
{
  const int lane = threadIdx.x % 32;

  for (PetscCount I = (PetscCount)blockIdx.x * ENCODE_WARPS + threadIdx.x / 32; I < num_rows; I += (PetscCount)gridDim.x * ENCODE_WARPS) {
    const PetscCount begin = offsets(I * size), first = begin / (size * size), n = (offsets(I * size + 1) - begin) / size;

    for (PetscCount k = lane; k < n; k += 32) blocks[first + k] = columns[begin + k * size] / size;
  }
}

} // namespace

/* BlocksMayBe - whether the sizes of a matrix allow blocks of this size alone */
PetscBool BlocksMayBe(DCSRView csr, int size)
{
  return (PetscBool)(csr.num_rows % size == 0 && csr.num_columns % size == 0 && csr.num_nonzeros % (size * size) == 0 && csr.num_nonzeros / (size * size) < BLOCKS_MAX_NUMBER);
}

/*
  BlocksSamplingQueue - notes whether one of so many rows of blocks, 0: of all, has a block that is not full: not_full on the device, 0 before, becomes 1 then. BlocksMayBe() has been asked.
  Asynchronous
*/
PetscErrorCode BlocksSamplingQueue(DCSRView csr, int size, PetscInt num_samples, int *not_full, cudaStream_t stream)
{
  const PetscInt num_rows = csr.num_rows / size;
  unsigned int   grid;

  PetscFunctionBegin;
  if (num_samples == 0 || num_samples > num_rows) num_samples = num_rows;
  PetscCall(DCSRGetGrid(((PetscCount)num_samples + ENCODE_WARPS - 1) / ENCODE_WARPS, DCSR_LOOP_BLOCKS, &grid));
  AreFullKernel<<<grid, ENCODE_THREADS, 0, stream>>>(Offsets(csr), csr.columns, num_rows, num_samples, size, not_full);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksAreFull - whether a matrix has full blocks of a size alone; csr is compact, with sorted columns and at least one entry

  Synchronizes. Cost: a read of the columns; much less when there are rows that have no full blocks. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode BlocksAreFull(DCSRView csr, int size, cudaStream_t stream, PetscBool *full)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  int           *device = NULL, not_full = 1;

  PetscFunctionBegin;
  *full = PETSC_FALSE;
  if (!BlocksMayBe(csr, size)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "whether blocks are full", stream, &device));
  PetscCallCUDAGoto(ierr, done, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, done, BlocksSamplingQueue(csr, size, 0, device, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(&not_full, device, sizeof(not_full), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
  *full = (PetscBool)(not_full == 0);
done:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a list that are a thread block's: the list has its offsets, and num_blocks in all rows. Synchronizes when rows may be long. What was allocated stays with the list. */
static PetscErrorCode FindLongRows(BlocksList *list, PetscCount num_blocks, cudaStream_t stream)
{
  const PetscCount most     = PetscMin(num_blocks / (BLOCKS_LONG + 1), (PetscCount)list->num_rows);
  int32_t          num_long = 0, *count = NULL;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (most == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "number of long rows of blocks", stream, &count));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(most, "long rows of blocks", stream, &list->long_rows));
  PetscCallGoto(ierr, done, DCSRSelectLongRows("workspace to find long rows of blocks", list->num_rows, list->offsets, BLOCKS_LONG, list->long_rows, count, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(&num_long, count, sizeof(num_long), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
  list->num_long = num_long;
  if (num_long == 0) PetscCallGoto(ierr, done, PetscSparseCUDAFree(&list->long_rows, stream));
done:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksEncode - the list of blocks of compact CSR with sorted columns and full blocks alone

  The sizes of blocks are set, all else is 0. Synchronizes when rows may be long. Errors: PETSC_ERR_MEM; what was allocated stays with blocks.

  Cost: a read of the columns of a row of b, a write of as many numbers over b.
*/
PetscErrorCode BlocksEncode(DCSRView csr, cudaStream_t stream, Blocks *blocks)
{
  BlocksList  *list = &blocks->list;
  unsigned int grid;

  PetscFunctionBegin;
  list->num_rows = blocks->num_rows / blocks->size;
  PetscCall(DCSRGetGrid(((PetscCount)list->num_rows + ENCODE_WARPS - 1) / ENCODE_WARPS, DCSR_LOOP_BLOCKS, &grid));
  PetscCall(PetscSparseCUDAMalloc((size_t)list->num_rows + 1, "offsets of rows of blocks", stream, &list->offsets));
  PetscCall(PetscSparseCUDAMalloc(blocks->num_blocks, "columns of blocks", stream, &list->columns));
  PetscCallCUDA(DCSRForEach((PetscCount)list->num_rows + 1, WriteOffset{Offsets(csr), blocks->size, list->offsets}, stream));
  ColumnsKernel<<<grid, ENCODE_THREADS, 0, stream>>>(Offsets(csr), csr.columns, list->num_rows, blocks->size, list->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(FindLongRows(list, blocks->num_blocks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksTransposeCreate - the list by columns of blocks, when it is not there: the transpose of a matrix with an entry for each block. Synchronizes. Errors: PETSC_ERR_MEM; blocks is as it was */
PetscErrorCode BlocksTransposeCreate(Blocks *blocks, cudaStream_t stream)
{
  BlocksList     list = {0};
  DCSRView       A = {0}, T = {0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (blocks->transpose.offsets != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  A.num_rows     = blocks->list.num_rows;
  A.num_columns  = blocks->num_columns / blocks->size;
  A.num_nonzeros = A.capacity = A.used = blocks->num_blocks;
  A.row_offsets                        = blocks->list.offsets;
  A.columns                            = blocks->list.columns;
  PetscCall(DCSRViewAllocateStructure(A.num_columns, A.num_rows, A.num_nonzeros, PETSC_FALSE, stream, &T));
  list.num_rows = A.num_columns;
  list.offsets  = (int32_t *)T.row_offsets;
  list.columns  = T.columns;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(blocks->num_blocks, "positions of blocks of a transpose", stream, &list.positions));
  PetscCallGoto(ierr, failed, DCSRTransposeSymbolic(A, T, list.positions, stream));
  PetscCallGoto(ierr, failed, FindLongRows(&list, blocks->num_blocks, stream));
  blocks->transpose = list;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(BlocksListDestroy(&list, stream));
  PetscFunctionReturn(ierr);
}

/* BlocksListDestroy - frees the arrays of a list; all 0 is fine, and *list is so afterwards */
PetscErrorCode BlocksListDestroy(BlocksList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&list->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&list->columns, stream));
  PetscCall(PetscSparseCUDAFree(&list->positions, stream));
  PetscCall(PetscSparseCUDAFree(&list->long_rows, stream));
  PetscCall(PetscArrayzero(list, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(AreFullKernel);
HiSparsePreload(ColumnsKernel);
