/*
  The invariants of 16-bit columns in windows, for tests and debugging. Columns are checked as CSR, when it is known that they can be decoded.
*/
#include "valid.cuh"
#include "windows.cuh"

namespace
{

typedef enum {
  BAD_OFFSETS,
  BAD_WINDOW,
  BAD_WIDE,
  BAD_PERMUTATION
} Violation;

const char *const VIOLATIONS[] = {"row offsets that do not ascend from 0 to the number of nonzeros, row", "a window outside of the matrix, block",
                                  "a block with 32-bit columns whose number is not in the list of such blocks, or is that of another one, block", "an entry of the transpose that the permutation does not give, its number there is"};

struct CheckOffsets {
  Offsets        row_offsets;
  PetscInt       num_rows;
  PetscCount     num_nonzeros;
  FirstViolation found;

  __device__ void operator()(PetscInt row) const
  {
    const PetscCount offset = row_offsets(row);

    if ((row == 0 && offset != 0) || (row < num_rows ? offset > row_offsets((PetscCount)row + 1) : offset != num_nonzeros)) found.Set(row, BAD_OFFSETS);
  }
};

/* The windows of a block, or its number among those with 32-bit columns, which nobody else has. */
struct CheckBlock {
  const int32_t *windows;
  int32_t       *owners; // [num_wide] 1 + block that has the number; 0: none so far
  PetscCount     num_wide;
  PetscInt       num_columns;
  FirstViolation found;

  __device__ void operator()(PetscCount block) const
  {
    const int32_t *mine = windows + block * WINDOWS_COUNT;

    if (mine[0] < 0) {
      const PetscCount number = -1 - (PetscCount)mine[0];

      if (number >= num_wide || atomicCAS(&owners[number], 0, 1) != 0) found.Set(block, BAD_WIDE);
      return;
    }
    for (int w = 0; w < WINDOWS_COUNT; w++) {
      const int64_t first = (int64_t)mine[w] + ((int64_t)w << WINDOWS_BITS);

      if (first < 0 || first >= (int64_t)num_columns) found.Set(block, BAD_WINDOW);
    }
  }
};

/* Each number is some block's. */
struct CheckOwner {
  const int32_t  *owners;
  FirstViolation  found;
  __device__ void operator()(PetscCount number) const
  {
    if (owners[number] == 0) found.Set(number, BAD_WIDE);
  }
};

PetscErrorCode CheckBlocks(Windows w, FirstViolation found, cudaStream_t stream)
{
  int32_t       *owners = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(w->num_wide + 1, "owners of 32-bit columns", stream, &owners));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(owners, 0, ((size_t)w->num_wide + 1) * sizeof(*owners), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(w->num_blocks, CheckBlock{w->windows, owners, w->num_wide, w->num_columns, found}, stream));
  if (w->num_wide > 0) PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(w->num_wide, CheckOwner{owners, found}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&owners, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/*
  WindowsIsValid - checks what has to hold so that columns can be decoded

  Input Parameters:
+ w      - the structure
- stream - synchronizes with it

  Output Parameter:
. violation - the first one that was found; as it was, which is NULL, when there is none

  Errors: PETSC_ERR_MEM.

  Cost: a pass over row offsets and windows.
*/
PetscErrorCode WindowsIsValid(Windows w, cudaStream_t stream, HiSparseViolation *violation)
{
  Offsets        row_offsets;
  FirstViolation found = {NULL};
  PetscErrorCode ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (w->num_blocks != (w->num_nonzeros + WINDOWS_BLOCK - 1) / WINDOWS_BLOCK || w->num_wide < 0 || w->num_wide > w->num_blocks || (w->num_wide > 0) != (w->upper != NULL)) {
    violation->what = "blocks are not as many as the nonzeros need, number";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  row_offsets.offsets = w->row_offsets;
  row_offsets.wide    = w->wide;
  PetscCall(FirstViolationCreate(stream, &found));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)w->num_rows + 1, CheckOffsets{row_offsets, w->num_rows, w->num_nonzeros, found}, stream));
  PetscCallGoto(ierr, cleanup, CheckBlocks(w, found, stream));
  PetscCallGoto(ierr, cleanup, FirstViolationGet(found, VIOLATIONS, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&found.first, stream));
  PetscFunctionReturn(ierr);
}

/*
  WindowsPermutationIsValid - checks that a permutation takes the entries of a matrix to those of its transpose

  Input Parameters:
+ A           - valid compact CSR
. T           - valid compact CSR of the transpose, with as many entries
. permutation - [entries] of the width of the offsets of A; entry k of T is entry permutation[k] of A
- stream      - synchronizes with it

  Output Parameter:
. violation - the first one that was found; as it was, which is NULL, when there is none
*/
PetscErrorCode WindowsPermutationIsValid(DCSRView A, DCSRView T, void *permutation, cudaStream_t stream, HiSparseViolation *violation)
{
  CheckPermutation check = {{Offsets(A), A.num_rows, NULL, A.columns}, {Offsets(T), T.num_rows, NULL, T.columns}, Offsets(A), A.num_nonzeros, {NULL}, BAD_PERMUTATION};
  PetscErrorCode   ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (A.num_nonzeros != T.num_nonzeros || A.num_rows != T.num_columns || A.num_columns != T.num_rows) {
    violation->what = "the transpose has other sizes than the matrix, number";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  check.permutation.offsets = permutation;
  PetscCall(FirstViolationCreate(stream, &check.found));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(A.num_nonzeros, check, stream));
  PetscCallGoto(ierr, cleanup, FirstViolationGet(check.found, VIOLATIONS, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&check.found.first, stream));
  PetscFunctionReturn(ierr);
}
