/* Host code during which a matrix counts as bound to the CPU. */
#include "core.h"

/* A matrix of ours and, when it is parallel, its blocks; absent ones, and those of other types, are NULL. */
static PetscErrorCode GetMatrices(Mat A, Mat matrices[3])
{
  PetscBool ours;

  PetscFunctionBegin;
  matrices[0] = matrices[1] = matrices[2] = NULL;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (ours) matrices[0] = A;
  PetscCall(MatIsMPIAIJCUDA(A, &ours));
  if (ours) {
    matrices[0] = A;
    matrices[1] = ((Mat_MPIAIJ *)A->data)->A;
    matrices[2] = ((Mat_MPIAIJ *)A->data)->B;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDABoundBegin - From here to MatAIJCUDABoundEnd() a matrix counts as bound to the CPU, for host code that would otherwise ask for arrays on the device.

  A is any matrix or NULL; others than ours are left alone, parallel ones are treated block by block. bound is what was bound before.
  Nothing is copied and the device copy is kept, unlike with MatBindToCPU().
*/
PetscErrorCode MatAIJCUDABoundBegin(Mat A, PetscBool bound[3])
{
  Mat matrices[3];

  PetscFunctionBegin;
  PetscCall(GetMatrices(A, matrices));
  for (int k = 0; k < 3; k++) {
    if (matrices[k] == NULL) continue;
    bound[k]                = matrices[k]->boundtocpu;
    matrices[k]->boundtocpu = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDABoundEnd - The other end of MatAIJCUDABoundBegin(); a matrix that host code has replaced by one of another type meanwhile stays as it is. */
PetscErrorCode MatAIJCUDABoundEnd(Mat A, const PetscBool bound[3])
{
  Mat matrices[3];

  PetscFunctionBegin;
  PetscCall(GetMatrices(A, matrices));
  for (int k = 0; k < 3; k++) {
    if (matrices[k] != NULL) matrices[k]->boundtocpu = bound[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
