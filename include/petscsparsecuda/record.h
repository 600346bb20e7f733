#pragma once
/* Layer 1: work of the library that is captured as a CUDA graph, and whether the memory that it uses is still there. */
#include <petscsparsecuda/sys.h>

/* record.c */
PETSC_INTERN cudaStream_t   PetscSparseCUDARecorder(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDARecordBegin(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDARecordEnd(cudaGraphExec_t *, size_t *);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGraphUpload(cudaGraphExec_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGraphLaunch(cudaGraphExec_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGraphDestroy(cudaGraphExec_t *);

/* memory.c */
PETSC_INTERN PetscErrorCode PetscSparseCUDAWatchMemory(void);
PETSC_INTERN void           PetscSparseCUDAReleaseUnused(PetscBool);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGetMemoryChanges(PetscInt64 *, PetscInt64 *);
