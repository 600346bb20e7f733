#pragma once
/* Solutions that outlast their solver and its device. */
#include <petscvec.h>

/* A vector of the host with the values of x. */
static inline PetscErrorCode TestCopyToHost(Vec x, Vec *copy)
{
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetSize(x, &N));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)x), copy));
  PetscCall(VecSetSizes(*copy, n, N));
  PetscCall(VecSetType(*copy, VECSTANDARD));
  PetscCall(VecCopy(x, *copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
