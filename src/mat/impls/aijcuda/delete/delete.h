#pragma once
/*
  Entries, rows and columns that go.
*/
#include "../core/core.h"

/* delete.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetDeletionOps(struct _MatOps *);

/* mpidelete.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetDeletionOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatZeroRows_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatEliminateZeros_MPIAIJCUDA(Mat, PetscBool);

/* zerorowscolumns.c */
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
