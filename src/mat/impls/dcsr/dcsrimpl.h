#pragma once
#include "../aijcuda/core/core.h"

PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatDCSRCUDAFragment_Private(Mat, PetscInt, PetscInt);

/* Composed functions (composed.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDACompose(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDARemoveComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDARestoreComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDACompose(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDARemoveComposed(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDARestoreComposed(Mat);
