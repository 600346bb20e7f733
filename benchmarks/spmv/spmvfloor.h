#pragma once
/*
  The gather bound of irregular matrices: values and columns streamed with the gathers of x that they imply, rows ignored; the best of many launch shapes.
*/
#include "../common/benchmatrix.h"
#include "../common/benchtime.h"

PETSC_INTERN PetscErrorCode SpMVFloorGather(BenchTimer *, PetscBool, DCSRView, const PetscScalar[], PetscReal *); /* timer, cold, matrix, x, microseconds */
PETSC_INTERN PetscErrorCode SpMVFloorBytes(DCSRView, PetscCount *, PetscCount *);                                 /* bytes of the matrix without row offsets; of row offsets and vectors, each counted once */
