#pragma once
/* Layer 1: work of the library on a side stream, another one than that of the current PetscDeviceContext (aside.c). */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode PetscSparseCUDAFollow(cudaStream_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAAsideBegin(cudaStream_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAAsideFollow(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDAAsideEnd(void);
PETSC_INTERN cudaStream_t   PetscSparseCUDAGetAside(void);
