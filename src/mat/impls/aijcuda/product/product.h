#pragma once
/*
  Products of matrices: what the types install.
*/
#include "../core/core.h"

/* productslices.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAEstimatePtAP(Mat, Mat, PetscReal *);

/* product.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJCUDA_Mixed(Mat);
PETSC_INTERN PetscErrorCode MatProductWrapSymbolic_AIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatProductWrapNumeric_AIJCUDA(Mat);
PETSC_INTERN void           MatProductKeepOps_AIJCUDA(Mat, struct _MatOps *);
