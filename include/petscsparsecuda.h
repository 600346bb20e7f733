#pragma once
/*
  Sparse matrix types for PETSc on NVIDIA GPUs, as an add-on to an unmodified PETSc.

  Load with -dll_append libpetscsparsecuda.so, or link the library and call PetscSparseCUDAInitialize() after PetscInitialize().
*/
#include <petscmat.h>

/* SUBMANSEC = Mat */

#define MATDCSRCUDA       "dcsrcuda"
#define MATAIJDCSRCUDA    "aijdcsrcuda"
#define MATSEQAIJDCSRCUDA "seqaijdcsrcuda"
#define MATMPIAIJDCSRCUDA "mpiaijdcsrcuda"

PETSC_EXTERN PetscErrorCode PetscSparseCUDAInitialize(void);

PETSC_EXTERN PetscErrorCode MatDCSRCUDAIsValid(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatDCSRCUDADefragment(Mat);
PETSC_EXTERN PetscErrorCode MatDCSRCUDAGetMemoryUsed(Mat, PetscCount *);
