#pragma once
/*
  What a transpose product cannot do without.
*/
#include "../common/benchmatrix.h"
#include "../common/benchtime.h"

PETSC_INTERN PetscErrorCode SpMVTFloorBytes(DCSRView, PetscCount *); /* bytes of the matrix in CSR and of the vectors, each counted once */
/* Values and columns streamed with one atomic a nonzero, rows ignored; the best of several launch shapes: timer, cold, matrix, y [num_columns], microseconds */
PETSC_INTERN PetscErrorCode SpMVTAtomicBound(BenchTimer *, PetscBool, DCSRView, PetscScalar[], PetscReal *);
