#pragma once
/*
  Entries, rows and columns that go.
*/
#include "../core/core.h"

/* delete.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetDeletionOps(struct _MatOps *);

/* mpidelete.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetDeletionOps(struct _MatOps *);

/* zerorowscolumns.c */
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
