#pragma once
#include <petscsparsecuda/aijcuda.h>

PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatDCSRCUDAFragment_Private(Mat, PetscInt, PetscInt);
