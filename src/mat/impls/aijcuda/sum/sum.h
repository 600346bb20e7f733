#pragma once
/*
  Sums of matrices.
*/
#include "../core/core.h"

/* axpy.c */
PETSC_INTERN PetscErrorCode MatAXPY_SeqAIJCUDA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatAXPY_MPIAIJCUDA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompleteDiagonal(Mat);
