#pragma once
/* What the tests' library has for tests of kernels. */
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/hisparse.h>
#include "sys.h"

/*
  Compact storage becomes fragmented: what a matrix looks like after many insertions. Each row is cut into up to max_segments segments. Segment s of all rows lies in region s of the pool. The last
  segment of a row, with a base only if it is not the first one, has slack unused entries behind it. The caller sets pitch, max_segments and capacity of to, and allocates its arrays, which are filled.
*/
PETSC_INTERN PetscErrorCode DCSRFragmentCapacity(DCSRView from, PetscInt max_segments, PetscInt slack, cudaStream_t stream, PetscCount *capacity);
PETSC_INTERN PetscErrorCode DCSRFragment(DCSRView from, PetscInt slack, DCSRView *to, cudaStream_t stream);

/* Checks the invariants that docs/architecture.md lists; *ok, and when not ok *row and *what (a static string) say where and which. Synchronizes. */
PETSC_INTERN PetscErrorCode DCSRIsValid(DCSRView view, cudaStream_t stream, PetscBool *ok, PetscInt *row, const char **what);

/* The same of the storage of products; *where is the lowest position, and *what ends with what where counts. */
PETSC_INTERN PetscErrorCode HiSparseIsValid(HiSparse hisparse, cudaStream_t stream, PetscBool *ok, const char **what, PetscCount *where);

/* What is wrong with a matrix that is not valid. */
typedef struct {
  const char *what;  /* a static string that ends with what where counts, such as "slice"; NULL: the matrix is valid */
  PetscCount  where; /* the lowest position where it was found */
} HiSparseViolation;

/* Of a format; violation->what is NULL before. Synchronize. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsIsValid(const void *structure, cudaStream_t stream, HiSparseViolation *violation);
PETSC_INTERN PetscErrorCode BlockDiagonalsIsValid(const void *structure, cudaStream_t stream, HiSparseViolation *violation);
