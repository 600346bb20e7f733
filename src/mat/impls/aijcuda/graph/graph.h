#pragma once
/*
  Graphs of matrices for coarsening.
*/
#include "../core/core.h"

/* graph.c */
PETSC_INTERN PetscErrorCode MatCreateGraph_AIJCUDA(Mat, PetscBool, PetscBool, PetscReal, PetscInt, PetscInt[], Mat *);
