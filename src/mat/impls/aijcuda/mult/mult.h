#pragma once
/*
  Products with vectors.
*/
#include "../core/core.h"

/* mpimult.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetMultOps(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatAIJCUDAPrepareMult(Mat, PetscBool);

/* mult.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetMultOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAPrepareMult(Mat, PetscBool);
PETSC_INTERN void           MatAIJCUDATakeProducts(struct _MatOps *, const struct _MatOps *, struct _MatOps *);
PETSC_INTERN void           MatAIJCUDAPutProducts(struct _MatOps *, const struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAPrepareTable(Mat, cudaStream_t, const MatDeviceStorageOps **);

/* epilogue.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAMultiplies(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDACanSmooth(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDASmooth(Mat, PetscScalar, Vec, Vec, PetscScalar, Vec, PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatResidual_AIJCUDA(Mat, Vec, Vec, Vec);
