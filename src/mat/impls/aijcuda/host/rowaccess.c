/*
  Rows one by one on the host. MatFilter() of PETSc 3.26 and the sums of matrices of different types announce it with MatGetRowUpperTriangular(): from then until
  MatRestoreRowUpperTriangular() the matrix computes on the host, so that its host copy stays current.

  MatFilter() reads each row with MatGetRow(), sets its small entries to zero with MatSetValues() and assembles, row after row. Were these zeros to go to the device, every
  one of the assemblies would make the host copy stale, and the next MatGetRow() would bring the whole matrix to the host again. Now it is brought once.
*/
#include "host.h"
#include "../core/core.h"

/* The device copy is kept, unlike with MatBindToCPU(): values may go back to it. */
static PetscErrorCode MatGetRowUpperTriangular_SeqAIJCUDA(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->host.row_access > 0 || !A->boundtocpu) d->host.row_access++;
  A->boundtocpu = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRowUpperTriangular_SeqAIJCUDA(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->host.row_access > 0 && --d->host.row_access == 0) PetscUseTypeMethod(A, bindtocpu, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not collective, so that MatBindToCPU() is not called for the matrix itself. */
static PetscErrorCode MatGetRowUpperTriangular_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJ     *a         = (Mat_MPIAIJ *)A->data;
  Mat_MPIAIJCUDA *d         = MatMPIAIJCUDAGet(A);
  Mat             blocks[2] = {a->A, a->B};
  PetscBool       ours;

  PetscFunctionBegin;
  if (d->row_access > 0 || !A->boundtocpu) d->row_access++;
  A->boundtocpu = PETSC_TRUE;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &ours));
    if (ours) blocks[k]->boundtocpu = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRowUpperTriangular_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->row_access > 0 && --d->row_access == 0) PetscUseTypeMethod(A, bindtocpu, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDASetRowAccessOps - Puts the operations around a loop over rows into the table of a matrix of ours, which is parallel or not. */
PetscErrorCode MatAIJCUDASetRowAccessOps(struct _MatOps *ops, PetscBool parallel)
{
  PetscFunctionBegin;
  ops->getrowuppertriangular     = parallel ? MatGetRowUpperTriangular_MPIAIJCUDA : MatGetRowUpperTriangular_SeqAIJCUDA;
  ops->restorerowuppertriangular = parallel ? MatRestoreRowUpperTriangular_MPIAIJCUDA : MatRestoreRowUpperTriangular_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
