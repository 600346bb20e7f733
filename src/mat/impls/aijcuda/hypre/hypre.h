#pragma once
/*
  hypre, when PETSc has it.
*/
#include "../core/core.h"

/* hypre.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAComposeHYPRE(Mat, MatType, PetscBool);
/* hypredevice.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAConvertHYPREDevice(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatAIJCUDARefillHYPREDevice(Mat, Mat, PetscBool *, PetscBool *);
