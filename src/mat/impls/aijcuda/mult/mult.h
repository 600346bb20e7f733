#pragma once
/*
  Products with vectors.
*/
#include "../core/core.h"

/* mpimult.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetMultOps(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatAIJCUDAPrepareMult(Mat);

/* mult.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetMultOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAPrepareMult(Mat, PetscBool);
