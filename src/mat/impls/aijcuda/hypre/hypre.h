#pragma once
/*
  hypre, when PETSc has it.
*/
#include "../core/core.h"

/* hypre.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAComposeHYPRE(Mat, MatType, PetscBool);
