#pragma once
/*
  Kernels that are loaded before they are wanted.

  CUDA loads a kernel at its first launch, and cuBLAS its own when a handle is made; that is half of the time of a small first setup of PCGAMG. A thread does it while the program still assembles.
*/
#include <petscsys.h>

/* A kernel that is worth it, in a list of all. */
typedef struct _n_PetscSparseCUDAKernel PetscSparseCUDAKernel;
struct _n_PetscSparseCUDAKernel {
  const void            *function; /* the host's name of the kernel */
  PetscSparseCUDAKernel *next;     /* NULL: the last one */
};

/* preload.c; called before main(), by the constructors of preload.cuh. */
PETSC_INTERN void PetscSparseCUDAPreloadAdd(PetscSparseCUDAKernel *);

PETSC_INTERN PetscErrorCode PetscSparseCUDAPreloadInitialize(int cores);
PETSC_INTERN PetscErrorCode PetscSparseCUDAPreloadBegin(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDATestPreloadWait(PetscInt *, PetscInt *);
