#include <petscsparsecuda/product.h>
PetscErrorCode MatProductSetFromOptions_MPIAIJCUDA(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
