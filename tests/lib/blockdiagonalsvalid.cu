/*
  The invariants of masked diagonals of blocks, for tests and debugging: those of masked diagonals for the collapsed matrix, and each block of the list of A^T x has the position of its values.
*/
#include "../../src/mat/kernels/hisparse/blockdiagonals.cuh"
#include "valid.cuh"

namespace
{

typedef enum {
  BAD_SLICES,
  BAD_POSITION
} Violation;

const char *const VIOLATIONS[] = {"slices of columns of the transpose whose segments are not in the list, slice",
                                  "a block of the transpose whose values are those of another one, or of none, column of blocks"};

struct CheckSlices {
  const uint32_t *slices;
  PetscInt        num_slices;
  PetscCount      num_segments;
  FirstViolation  found;

  __device__ void operator()(PetscInt slice) const
  {
    if ((slice == 0 && slices[0] != 0) || (slice < num_slices ? slices[slice] > slices[slice + 1] : (PetscCount)slices[slice] != num_segments)) found.Set(slice, BAD_SLICES);
  }
};

/* Counts the blocks of a column, which the segments of rows have in the same positions. */
struct CheckBlocks {
  struct Result {
    unsigned long long count;
    PetscCount         last; // row before
  };
  int                    size;
  const HiSparseSlice   *slices;
  const HiSparseSegment *segments;
  PetscInt               num_rows; // of blocks
  unsigned long long    *total;
  FirstViolation         found;

  __device__ void Visit(PetscCount row, PetscCount column, BlockPosition position, Result &result) const
  {
    BlockPosition own = {-1, 0};

    if (row > result.last && row < num_rows) own = FindBlock(slices, segments, row, column, size);
    if (own.first < 0 || own.first != position.first || own.stride != position.stride) found.Set(column, BAD_POSITION);
    result.count++;
    result.last = row;
  }
};

/* A thread block a slice of columns, a thread a column, with the list of A^T x: blocks by ascending row. */
__global__ void __launch_bounds__(HISPARSE_SLICE_ROWS) CheckColumnsKernel(PetscInt num_columns, const uint32_t *slices, const BlockDiagonalsTransposedSegment *segments, CheckBlocks check)
{
  const int           bit = (int)threadIdx.x, w = bit >> BLOCK_DIAGONALS_WORD_SHIFT, lane = bit & (HISPARSE_WARP - 1);
  const PetscCount    column = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS + bit;
  CheckBlocks::Result result = {0, -1};

  for (uint32_t p = slices[blockIdx.x]; p < slices[blockIdx.x + 1]; p++) {
    const BlockGroups groups(segments[p], w);
    const int         t = lane + groups.shift, q = t >> BLOCK_DIAGONALS_WORD_SHIFT;

    if (groups.Columns() >> lane & 1) check.Visit((PetscCount)segments[p].r0 + bit, column, BlockPositionInGroup(groups.mask[q], t & (HISPARSE_WARP - 1), groups.position[q], check.size), result);
  }
  if (column < num_columns) atomicAdd(check.total, result.count);
}

/* The collapsed matrix is valid. */
PetscErrorCode CheckTransposed(const HiSparseDiagonals *d, FirstViolation found, unsigned long long *total, cudaStream_t stream, HiSparseViolation *violation)
{
  unsigned long long count = 0;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscInt)(d->num_column_slices + 1), CheckSlices{d->transposed_slices, d->num_column_slices, d->num_transposed_segments, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(total, 0, sizeof(*total), stream));
  CheckColumnsKernel<<<(unsigned int)d->num_column_slices, HISPARSE_SLICE_ROWS, 0, stream>>>(d->num_columns, d->transposed_slices, d->transposed_blocks,
                                                                                             CheckBlocks{d->size, d->slices, d->segments, d->num_rows, total, found});
  PetscCallCUDA(cudaGetLastError());
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(&count, total, sizeof(count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if ((PetscCount)count != d->num_nonzeros) violation->what = "the transpose has not as many blocks as the matrix, number";
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlockDiagonalsIsValid - checks the invariants of the structure

  Input Parameters:
+ d      - the structure
- stream - synchronizes with it

  Output Parameter:
. violation - the first one that was found; as it was, which is NULL, when there is none

  Errors: PETSC_ERR_MEM.

  Cost: as HiSparseDiagonalsIsValid() for the collapsed matrix.
*/
PetscErrorCode BlockDiagonalsIsValid(const void *structure, cudaStream_t stream, HiSparseViolation *violation)
{
  const HiSparseDiagonals *d     = (const HiSparseDiagonals *)structure;
  FirstViolation           found = {NULL};
  unsigned long long      *total = NULL;
  PetscErrorCode           ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (d->size < 2 || d->transposed_segments != NULL) violation->what = "not diagonals of blocks, number";
  else if (d->num_segment_values != d->num_nonzeros) violation->what = "blocks outside of segments, number";
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseDiagonalsIsValid(d, stream, violation));
  if (violation->what != NULL || d->transposed_slices == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FirstViolationCreate(stream, &found));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "number of blocks of a transpose", stream, &total));
  PetscCallGoto(ierr, cleanup, CheckTransposed(d, found, total, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&found.first, stream));
  PetscCall(PetscSparseCUDAFree(&total, stream));
  PetscFunctionReturn(ierr);
}
