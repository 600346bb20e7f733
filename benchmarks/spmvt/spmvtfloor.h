#pragma once
/*
  What a transpose product cannot do without.
*/
#include "../common/benchmatrix.h"
#include "../common/benchtime.h"

/*
  The scatter bound of irregular matrices: values and columns streamed with the additions to y that they imply, rows and x ignored: timer, cold, matrix, y [num_columns].
  us[0]: one atomic a nonzero. us[1]: the better one of this and of one atomic for each distinct column of a tile of nonzeros, known beforehand, as if a thread block had summed the others for nothing.
  Both are the best of several launch shapes.
*/
PETSC_INTERN PetscErrorCode SpMVTScatterBound(BenchTimer *, PetscBool, DCSRView, PetscScalar[], PetscReal[2]);
