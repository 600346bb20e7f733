#pragma once
/* Layer 1: work of the library on a side stream, another one than that of the current PetscDeviceContext (sidestream.c). */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode PetscSparseCUDAFollow(cudaStream_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDASideStreamBegin(cudaStream_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDASideStreamFollow(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDASideStreamEnd(void);
PETSC_INTERN cudaStream_t   PetscSparseCUDAGetSideStream(void);
