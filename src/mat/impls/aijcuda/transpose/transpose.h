#pragma once
/*
  Transposes on the device.
*/
#include "../core/core.h"

/* transpose.c */
PETSC_INTERN PetscErrorCode MatIsTransposeDevice_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetTransposeOps(struct _MatOps *);

/* istranspose.c */
PETSC_INTERN PetscErrorCode MatIsTranspose_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsHermitianTranspose_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool *);

/* mpitranspose.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetTransposeOps(struct _MatOps *);
