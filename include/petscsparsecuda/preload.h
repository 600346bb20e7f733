#pragma once
/*
  Kernels that are loaded before they are wanted.

  CUDA loads a kernel at its first launch, and cuBLAS its own when a handle is made; that is half of the time of a small first setup of PCGAMG. A thread does it while the program still assembles.
*/
#include <petscsys.h>

/* Who wants a kernel: one thread loads those of a group. */
typedef enum {
  PETSCSPARSECUDA_PRELOAD_SETUP,    /* nearly every setup of PCGAMG, and cuBLAS; wanted by itself */
  PETSCSPARSECUDA_PRELOAD_HISPARSE, /* what makes HiSparse, and multiplies with it; wanted when a matrix is of a type that has it */
  PETSCSPARSECUDA_PRELOAD_NUM_GROUPS
} PetscSparseCUDAPreloadGroup;

/* A kernel that is worth it, in the list of its group. */
typedef struct _n_PetscSparseCUDAKernel PetscSparseCUDAKernel;
struct _n_PetscSparseCUDAKernel {
  const void            *function; /* the host's name of the kernel */
  PetscSparseCUDAKernel *next;     /* NULL: the last one */
};

/* preload.c; called before main(), by the constructors of preload.cuh. */
PETSC_INTERN void PetscSparseCUDAPreloadAdd(PetscSparseCUDAPreloadGroup, PetscSparseCUDAKernel *);

PETSC_INTERN PetscErrorCode PetscSparseCUDAPreloadInitialize(int cores);
PETSC_INTERN PetscErrorCode PetscSparseCUDAPreloadBegin(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDAPreloadAsk(PetscSparseCUDAPreloadGroup);
