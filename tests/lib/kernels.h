#pragma once
/* What the tests' library has for tests and benchmarks of kernels. */
#include <petscsparsecuda/dcsr.h>

/*
  Compact storage becomes fragmented: what a matrix looks like after many insertions. Each row is cut into up to max_segments segments. Segment s of all rows lies in region s of the pool. The last segment of a row has slack
  unused entries behind it. The caller sets pitch, max_segments and capacity of to, and allocates its arrays, which are filled.
*/
PETSC_INTERN PetscErrorCode DCSRFragmentCapacity(DCSRView from, PetscInt max_segments, PetscInt slack, cudaStream_t stream, PetscCount *capacity);
PETSC_INTERN PetscErrorCode DCSRFragment(DCSRView from, PetscInt slack, DCSRView *to, cudaStream_t stream);
