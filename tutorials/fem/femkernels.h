#pragma once
/*
  Assembly by kernels (femkernels.cu); kernel_time is what the kernels that compute element matrices take, in milliseconds.
*/
#include "fem.h"

typedef PetscErrorCode AssembleFn(Mesh *, Mat, float *kernel_time);

PETSC_EXTERN PetscErrorCode AssembleInserter(Mesh *, Mat, float *);
PETSC_EXTERN PetscErrorCode AssembleCOO(Mesh *, Mat, float *);
PETSC_EXTERN PetscErrorCode MeshFreeDevice(Mesh *);
