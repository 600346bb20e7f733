/*
  What PETSc's estimates of eigenvalues need, made where it is used: those of the prolongator's smoothing in PCGAMG, and those of KSPCHEBYSHEV.
*/
#include "fused.h"
#include <petscsparsecuda/smooth.h>

/*
  KSPSetNoise_AIJCUDA - The vector that estimates start from: the entries that KSPSetNoisy_Private() gives, with the null space of the matrix removed

  Collective

  Input Parameter:
. A - of any type; its null space alone is read

  Output Parameter:
. v - of any type; made on the device when that is where its entries are

  Cost: one write of v. Nothing of the size of v goes between host and device.
*/
PetscErrorCode KSPSetNoise_AIJCUDA(Mat A, Vec v)
{
  PetscInt       n, begin;
  PetscScalar   *x;
  PetscMemType   memory;
  MatNullSpace   null_space;
  cudaStream_t   stream;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &begin, NULL));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayWriteAndMemType(v, &x, &memory));
  if (PetscMemTypeDevice(memory)) {
    PetscCallGoto(ierr, restore, PetscSparseCUDAGetStream(&stream));
    PetscCallGoto(ierr, restore, DCSRSetNoise(n, begin, x, stream));
  } else {
    for (PetscInt i = 0; i < n; i++) x[i] = KSPNoisyHash_Private(i + begin);
  }
restore:
  PetscCall(VecRestoreArrayWriteAndMemType(v, &x));
  PetscCall(ierr);
  PetscCall(MatGetNullSpace(A, &null_space));
  if (null_space != NULL) PetscCall(MatNullSpaceRemove(null_space, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
