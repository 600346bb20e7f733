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
  PetscFunctionBegin;
  PetscCall(DCSRTransposeCreate(A, PETSC_TRUE, PETSC_FALSE, stream, T));
  PetscFunctionReturn(PETSC_SUCCESS);
}
