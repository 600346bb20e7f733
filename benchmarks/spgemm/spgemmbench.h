#pragma once
/* Parts of the benchmark of sparse products that launch or compare on the device. */
#include "../common/benchmatrix.h"

/* Prolongators (aggregates of 3 points in every direction, one smoothing step) of a grid of nx x ny x nz points: the tentative one, whose values are 1. */
PETSC_INTERN PetscErrorCode SpGEMMBenchTentative(PetscInt, PetscInt, PetscInt, cudaStream_t, DCSRView *);
/* Whether two compact matrices have the same structure, and the largest difference of their values, which may be NULL in both; the width of offsets may differ. */
PETSC_INTERN PetscErrorCode SpGEMMBenchCompare(DCSRView, DCSRView, cudaStream_t, PetscBool *, PetscReal *);
/* C = A B by cuSPARSE with algorithm 1, 2 or 3; C's arrays are allocated, *workspace is the most it held. An error of cuSPARSE is returned as PETSC_ERR_GPU without a message. */
PETSC_INTERN PetscErrorCode SpGEMMBenchCusparse(DCSRView, DCSRView, PetscInt, cudaStream_t, DCSRView *, size_t *);
