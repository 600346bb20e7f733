#pragma once
/*
  Operations that go entry by entry: scaling, diagonals, norms.
*/
#include "../core/core.h"

/* mpientries.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetEntriesOps(struct _MatOps *);

/* entries.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetEntriesOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACountMissingDiagonal(Mat, PetscCount *);
PETSC_INTERN PetscErrorCode MatColumnSumsAbs_SeqAIJCUDA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatAIJCUDAShowRowSums(Vec);
