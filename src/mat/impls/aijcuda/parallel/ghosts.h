#pragma once
/*
  Ghost columns: the columns of the off-diagonal block of a parallel matrix, numbered in the order of their global numbers, and what belongs to them.

  While such a matrix is built the block may have global columns still; they become ghost columns at the latest when its assembly ends.
*/
#include "../core/core.h"

PETSC_INTERN PetscBool      MatMPIAIJCUDAGhostsAscend(Mat);
PETSC_INTERN PetscBool      MatMPIAIJCUDAHasGlobalColumns(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetGhosts(Mat, PetscInt, PetscInt **);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAExtendGhosts(Mat, PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetUpMultiply(Mat);
PETSC_INTERN PetscErrorCode GhostColumnsUnite(PetscInt, const PetscInt[], PetscInt, const PetscInt[], cudaStream_t, PetscInt *, PetscInt **, int32_t **, int32_t **);
