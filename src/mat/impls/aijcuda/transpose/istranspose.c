/* Whether one matrix is the transpose of another, on the side that can tell. */
#include "transpose.h"
#include "../host/composed.h"

/* MatIsTranspose_SeqAIJCUDA - MatIsTranspose() */
PetscErrorCode MatIsTranspose_SeqAIJCUDA(Mat A, Mat B, PetscReal tol, PetscBool *f)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatIsTransposeDevice_SeqAIJCUDA(A, B, tol, PETSC_FALSE, f, &done));
  if (!done) PetscCall(MatHost_SeqAIJCUDA_IsTranspose(A, B, tol, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatIsHermitianTranspose_SeqAIJCUDA - MatIsHermitianTranspose() */
PetscErrorCode MatIsHermitianTranspose_SeqAIJCUDA(Mat A, Mat B, PetscReal tol, PetscBool *f)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatIsTransposeDevice_SeqAIJCUDA(A, B, tol, PETSC_TRUE, f, &done));
  if (!done) PetscCall(MatHost_SeqAIJCUDA_IsHermitianTranspose(A, B, tol, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
