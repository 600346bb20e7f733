/*
  The invariants of dense blocks, for tests and debugging.
*/
#include "../../src/mat/kernels/hisparse/blocksimpl.h"
#include "valid.cuh"

namespace
{

typedef enum {
  BAD_OFFSETS,
  BAD_COLUMN,
  BAD_POSITION,
  BAD_LONG
} Violation;

const char *const VIOLATIONS[] = {"offsets of a row of blocks that do not ascend from 0 to the number of blocks, row of blocks",
                                  "columns of blocks that do not ascend, or lie outside of the matrix, block", "a block of the transpose whose values are those of another one, its number there",
                                  "a list of long rows that are not long, or do not ascend, number in the list"};

struct CheckOffsets {
  const int32_t *offsets;
  PetscInt       num_rows;
  PetscCount     num_blocks;
  FirstViolation found;

  __device__ void operator()(PetscInt row) const
  {
    if ((row == 0 && offsets[0] != 0) || (row < num_rows ? offsets[row] > offsets[row + 1] : (PetscCount)offsets[row] != num_blocks)) found.Set(row, BAD_OFFSETS);
  }
};

/* Offsets are valid. */
struct CheckColumns {
  const int32_t *offsets, *columns;
  PetscInt       num_columns; // of blocks
  FirstViolation found;

  __device__ void operator()(PetscInt row) const
  {
    for (int32_t k = offsets[row]; k < offsets[row + 1]; k++)
      if (columns[k] < 0 || (PetscInt)columns[k] >= num_columns || (k > offsets[row] && columns[k - 1] >= columns[k])) found.Set(k, BAD_COLUMN);
  }
};

/* Block k of the transpose, in row r of it, is block positions[k] of the matrix, in its row columns[k] and column r. */
struct CheckPositions {
  const int32_t *offsets, *columns, *positions; // of the transpose
  const int32_t *list_offsets, *list_columns;
  PetscCount     num_blocks;
  FirstViolation found;

  __device__ void operator()(PetscInt row) const
  {
    for (int32_t k = offsets[row]; k < offsets[row + 1]; k++) {
      const int32_t p = positions[k], c = columns[k];

      if (p < 0 || (PetscCount)p >= num_blocks || (PetscInt)list_columns[p] != row || p < list_offsets[c] || p >= list_offsets[c + 1]) found.Set(k, BAD_POSITION);
    }
  }
};

struct CheckLong {
  const int32_t *long_rows, *offsets;
  PetscInt       num_rows;
  FirstViolation found;

  __device__ void operator()(PetscInt k) const
  {
    const int32_t row = long_rows[k];

    if (row < 0 || (PetscInt)row >= num_rows || offsets[row + 1] - offsets[row] <= BLOCKS_LONG || (k > 0 && long_rows[k - 1] >= row)) found.Set(k, BAD_LONG);
  }
};

/* A list by itself: what the next check reads is valid after it. */
PetscErrorCode CheckList(const BlocksList *list, PetscInt num_columns, PetscCount num_blocks, FirstViolation found, cudaStream_t stream, HiSparseViolation *violation)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscInt)(list->num_rows + 1), CheckOffsets{list->offsets, list->num_rows, num_blocks, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  if (violation->what != NULL || list->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(list->num_rows, CheckColumns{list->offsets, list->columns, num_columns, found}, stream));
  if (list->num_long > 0) PetscCallCUDA(DCSRForEach(list->num_long, CheckLong{list->long_rows, list->offsets, list->num_rows, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Check(const Blocks *b, FirstViolation found, cudaStream_t stream, HiSparseViolation *violation)
{
  const BlocksList *t = &b->transpose;

  PetscFunctionBegin;
  PetscCall(CheckList(&b->list, b->num_columns / b->size, b->num_blocks, found, stream, violation));
  if (violation->what != NULL || t->offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckList(t, b->num_rows / b->size, b->num_blocks, found, stream, violation));
  if (violation->what != NULL || t->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(t->num_rows, CheckPositions{t->offsets, t->columns, t->positions, b->list.offsets, b->list.columns, b->num_blocks, found}, stream));
  PetscCall(FirstViolationGet(found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlocksIsValid - checks the lists of blocks of both directions

  Input Parameters:
+ blocks - the structure
- stream - synchronizes with it

  Output Parameter:
. violation - the first one that was found; as it was, which is NULL, when there is none

  Errors: PETSC_ERR_MEM.

  Cost: a pass over the lists, a row of blocks a thread.
*/
PetscErrorCode BlocksIsValid(const void *structure, cudaStream_t stream, HiSparseViolation *violation)
{
  const Blocks  *blocks = (const Blocks *)structure;
  FirstViolation found  = {NULL};
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (blocks->size < 2 || blocks->num_rows % blocks->size != 0 || blocks->num_columns % blocks->size != 0 || blocks->num_blocks < 0 || blocks->num_blocks >= BLOCKS_MAX_NUMBER ||
      blocks->list.num_rows != blocks->num_rows / blocks->size) {
    violation->what = "sizes that are no multiples of the size of blocks, number";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FirstViolationCreate(stream, &found));
  PetscCallGoto(ierr, cleanup, Check(blocks, found, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&found.first, stream));
  PetscFunctionReturn(ierr);
}
