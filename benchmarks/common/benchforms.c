/*
  Other forms of the matrices; see benchmatrix.h.
*/
#include "benchmatrix.h"
#include <petscsparsecuda/transpose.h>

/* BenchMatrixPrint - see benchmatrix.h */
PetscErrorCode BenchMatrixPrint(const BenchMatrix *matrix)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s; %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros\n", matrix->name, matrix->what, matrix->view.num_rows, matrix->view.num_columns,
                        matrix->view.num_nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCreateTranspose - see benchmatrix.h */
PetscErrorCode BenchCreateTranspose(DCSRView A, cudaStream_t stream, DCSRView *T)
{
  int32_t *permutation;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, T));
  PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation", stream, &permutation));
  PetscCall(DCSRTransposeSymbolic(A, *T, permutation, stream));
  PetscCall(DCSRTransposeNumeric(A, permutation, PETSC_FALSE, T->values, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
