#pragma once
/* Vectors that smoothing and smoothers need; device arrays. */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode DCSRSetNoise(PetscInt n, PetscInt begin, PetscScalar x[], cudaStream_t stream);                          /* x [n] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscScalar x[], cudaStream_t stream, PetscBool *found); /* x [n] on the device; synchronizes */
