#pragma once
/*
  Graphs of matrices for coarsening. A node of a graph is a row, or as many consecutive rows as a block of the matrix has.
*/
#include "../core/core.h"

/* graph.c */
PETSC_INTERN PetscErrorCode MatCreateGraph_AIJCUDA(Mat, PetscBool, PetscBool, PetscReal, PetscInt, PetscInt[], Mat *);
PETSC_INTERN PetscErrorCode
MatAIJCUDACreateWeights(Mat, PetscBool, int, PetscBool, PetscInt, const PetscInt[],
                        Mat *); /* absolute values, sign of couplings that count as zero, whether the transpose is added; how many rows and columns of a block count, and which */

/* collapse.c */
PETSC_INTERN PetscErrorCode MatAIJCUDACollapse(Mat, PetscBool, PetscInt, const PetscInt[], Mat *); /* with values; how many rows and columns of a block count, 0: all, and which */

/* symmetrize.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAIsSymmetricKnown(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDAHasSymmetricPattern(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDACreateSymmetricPattern(Mat, Mat *);

/* strong.c */
PETSC_INTERN PetscErrorCode MatAIJCUDACreateStrong(Mat, PetscReal, int, PetscBool, Mat *); /* threshold; sign of couplings that count as zero */
