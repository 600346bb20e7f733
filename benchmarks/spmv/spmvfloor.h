#pragma once
/*
  The gather bound of irregular matrices: values and columns streamed with the gathers of x that they imply, rows ignored; the best of many launch shapes.
*/
#include "../common/benchmatrix.h"
#include "../common/benchtime.h"

PETSC_INTERN PetscErrorCode SpMVFloorGather(BenchTimer *, PetscBool, DCSRView, const PetscScalar[], PetscReal *); /* timer, cold, matrix, x, microseconds */
