/*
  The invariants of masked diagonals of blocks, for tests and debugging: those of masked diagonals for the collapsed matrix, and each block of the list of A^T x has the place of its values.
*/
#include "../../src/mat/kernels/hisparse/blockdiagonals.cuh"
#include "valid.cuh"

namespace
{

typedef enum {
  BAD_SLICES,
  BAD_PLACE
} Violation;

const char *const VIOLATIONS[] = {"slices of columns of the transpose whose pieces are not in the list, slice", "a block of the transpose whose values are those of another one, or of none, column of blocks"};

struct CheckSlices {
  const uint32_t *slices;
  PetscInt        num_slices;
  PetscCount      num_pieces;
  FirstViolation  found;

  __device__ void operator()(PetscInt slice) const
  {
    if ((slice == 0 && slices[0] != 0) || (slice < num_slices ? slices[slice] > slices[slice + 1] : (PetscCount)slices[slice] != num_pieces)) found.Set(slice, BAD_SLICES);
  }
};

/* Counts the blocks of a column, which the pieces of rows have in the same places. */
struct CheckBlocks {
  struct Result {
    unsigned long long count;
    PetscCount         last; // row before
  };
  int                  size;
  const HiSparseSlice *slices;
  const HiSparsePiece *pieces;
  PetscInt             num_rows; // of blocks
  unsigned long long  *total;
  FirstViolation       found;

  __device__ Result Begin() const { return {0, -1}; }
  __device__ void   Visit(PetscCount row, PetscCount column, BlockPlace place, Result &result) const
  {
    BlockPlace own = {-1, 0};

    if (row > result.last && row < num_rows) own = FindBlock(slices, pieces, row, column, size);
    if (own.first < 0 || own.first != place.first || own.stride != place.stride) found.Set(column, BAD_PLACE);
    result.count++;
    result.last = row;
  }
  __device__ void Store(PetscCount, const Result &result) const { atomicAdd(total, result.count); }
};

/* The collapsed matrix is valid. */
PetscErrorCode CheckTransposed(const BlockDiagonals *d, FirstViolation found, unsigned long long *total, cudaStream_t stream, HiSparseViolation *violation)
{
  const HiSparseDiagonals *blocks = d->blocks;
  unsigned long long       count  = 0;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscInt)(blocks->num_column_slices + 1), CheckSlices{d->transposed_slices, blocks->num_column_slices, d->num_transposed_pieces, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(total, 0, sizeof(*total), stream));
  PetscCall(VisitBlockColumns(d, CheckBlocks{d->size, blocks->slices, blocks->pieces, blocks->num_rows, total, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(&count, total, sizeof(count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if ((PetscCount)count != blocks->num_nonzeros) violation->what = "the transpose has not as many blocks as the matrix, number";
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
PetscErrorCode BlockDiagonalsIsValid(void *structure, cudaStream_t stream, HiSparseViolation *violation)
{
  const BlockDiagonals    *d      = (const BlockDiagonals *)structure;
  const HiSparseDiagonals *blocks = d->blocks;
  const PetscCount         square = (PetscCount)d->size * d->size;
  FirstViolation           found  = {NULL};
  unsigned long long      *total  = NULL;
  PetscErrorCode           ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (d->size < 2 || (PetscCount)d->all.num_rows != (PetscCount)blocks->num_rows * d->size || (PetscCount)d->all.num_columns != (PetscCount)blocks->num_columns * d->size || d->all.num_nonzeros != blocks->num_nonzeros * square ||
      d->all.used_values != blocks->used_values * square || d->all.values_capacity != blocks->values_capacity * square)
    violation->what = "sizes that are no multiples of the size of blocks, number";
  else if (blocks->num_piece_values != blocks->num_nonzeros) violation->what = "blocks outside of pieces, number";
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseDiagonalsIsValid(d->blocks, stream, violation));
  if (violation->what != NULL || d->transposed_slices == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FirstViolationCreate(stream, &found));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "number of blocks of a transpose", stream, &total));
  PetscCallGoto(ierr, cleanup, CheckTransposed(d, found, total, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&found.first, stream));
  PetscCall(PetscSparseCUDAFree(&total, stream));
  PetscFunctionReturn(ierr);
}
