/* Operations on several matrices called through their host copies: one wrapper for sequential and parallel matrices of ours. */
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

/* The operations of MATSEQAIJ or MATMPIAIJ behind a matrix of ours. */
static PetscErrorCode GetParentOps(Mat A, struct _MatOps **parent)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  *parent = mpi ? &MatMPIAIJCUDAGet(A)->parent : &MatSeqAIJCUDAGet(A)->parent;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After an operation that may have merged another matrix into A, whose data and nonzerostate were these. */
static PetscErrorCode CountMerged(Mat A, const void *data, PetscObjectState nonzerostate)
{
  PetscFunctionBegin;
  if (A->data != data) PetscCall(MatAIJCUDARaiseNonzeroState(A, nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHost_AIJCUDA_axpy(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  const void            *data         = Y->data;
  const PetscObjectState nonzerostate = Y->nonzerostate;
  struct _MatOps        *parent;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  PetscCall(GetParentOps(Y, &parent));
  PetscCall(MatAIJCUDAHostBeginTwo(Y, HOST_WRITE, X != Y ? X : NULL, HOST_READ));
  ierr = (*parent->axpy)(Y, a, X, str);
  PetscCall(MatAIJCUDAHostFinishTwo(Y, HOST_WRITE, X != Y ? X : NULL, HOST_READ, ierr));
  PetscCall(CountMerged(Y, data, nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHost_AIJCUDA_transpose(Mat A, MatReuse reuse, Mat *B)
{
  const void            *data         = A->data;
  const PetscObjectState nonzerostate = A->nonzerostate;
  PetscBool              mpi;
  struct _MatOps        *parent;
  PetscErrorCode         ierr;
  int                    access;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(GetParentOps(A, &parent));
  access = reuse == MAT_INPLACE_MATRIX && !mpi ? HOST_WRITE : HOST_READ; // MATMPIAIJ builds another matrix and merges its header
  PetscCall(MatAIJCUDAHostBeginTwo(A, access, reuse == MAT_REUSE_MATRIX ? *B : NULL, HOST_WRITE));
  ierr = (*parent->transpose)(A, reuse, B);
  PetscCall(MatAIJCUDAHostFinishTwo(A, access, reuse == MAT_REUSE_MATRIX ? *B : NULL, HOST_WRITE, ierr));
  PetscCall(CountMerged(A, data, nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Submatrices that are used again. */
static PetscErrorCode BeginSubmatrices(PetscInt n, Mat B[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    ierr = MatAIJCUDAHostBegin(B[k], HOST_WRITE);
    if (ierr == PETSC_SUCCESS) continue;
    while (k-- > 0) ierr = MatAIJCUDAHostFinish(B[k], HOST_WRITE, ierr);
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACreateSubMatricesOnHost - MatCreateSubMatrices() by the parent's operation, that of MATSEQAIJ or MATMPIAIJ, which writes into submatrices that are used again. Collective.

  A is a matrix of ours, or a MATMPIAIJ whose submatrices may be ours.
*/
PetscErrorCode MatAIJCUDACreateSubMatricesOnHost(CreateSubMatricesFn parent, Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) ierr = BeginSubmatrices(n, *B);
  if (ierr == PETSC_SUCCESS) {
    ierr = (*parent)(A, n, rows, columns, reuse, B);
    if (reuse == MAT_REUSE_MATRIX)
      for (PetscInt k = 0; k < n; k++) ierr = MatAIJCUDAHostFinish((*B)[k], HOST_WRITE, ierr);
  }
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHost_AIJCUDA_createsubmatrices(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  struct _MatOps *parent;

  PetscFunctionBegin;
  PetscCall(GetParentOps(A, &parent));
  PetscCall(MatAIJCUDACreateSubMatricesOnHost(parent->createsubmatrices, A, n, rows, columns, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHost_AIJCUDA_creatempimatconcatenateseqmat(MPI_Comm comm, Mat A, PetscInt n, MatReuse reuse, Mat *B)
{
  struct _MatOps *parent;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(GetParentOps(A, &parent));
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*parent->creatempimatconcatenateseqmat)(comm, A, n, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
