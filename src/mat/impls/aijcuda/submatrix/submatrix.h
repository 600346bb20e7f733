#pragma once
/*
  Submatrices and permutations.
*/
#include "../core/core.h"

/* submatrix.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAGetIndices(IS, PetscInt, const char[], cudaStream_t, DCSRIndices *, PetscInt **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetSubmatrixView(Mat, IS, IS, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetSubmatrixOps(struct _MatOps *);

/* mpisubmatrix.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetSubmatrixOps(struct _MatOps *);
