#pragma once
/*
  Lists of entries (row, column, value) in device memory, generated there; values are random in [-1, 1] but for those of element matrices. The same call gives
  the same list in every run.
*/
#include <petscsparsecuda/sys.h>

typedef struct {
  PetscInt     num_rows, num_columns;
  PetscCount   n;     /* entries, repeated ones counted each time */
  PetscInt    *i, *j; /* [n] */
  PetscScalar *v;     /* [n] */
} InsertList;

/* 27-point stencil on n^3 points, n >= 2, row by row; in each row corners, edges, faces and center one after the other, as PETSc's bench_kspsolve has them */
PETSC_INTERN PetscErrorCode InsertListStencil27(PetscInt, cudaStream_t, InsertList *);
/* 2 or 3 dimensions, points of a side, at least 3: each point with its 4 or 6 neighbors on a torus, row by row */
PETSC_INTERN PetscErrorCode InsertListTorus(int, PetscInt, cudaStream_t, InsertList *);
/* n, stream, [8 * n^3] nodes of n^3 hexahedra, numbered at random, as tutorials/fem has them; free them with PetscSparseCUDAFree() */
PETSC_INTERN PetscErrorCode InsertMeshHexahedra(PetscInt, cudaStream_t, PetscInt **);
/* n and the nodes of that mesh: the tutorial's 8x8 element matrices, one after the other */
PETSC_INTERN PetscErrorCode InsertListHexahedra(PetscInt, const PetscInt[], cudaStream_t, InsertList *);
/* levels, first entry, number of entries: a part of the R-MAT stream on 2^levels rows; the first 16 * 2^20 entries of 20 levels are the case rmat20 */
PETSC_INTERN PetscErrorCode InsertListRMAT(int, PetscCount, PetscCount, cudaStream_t, InsertList *);
/* rows, columns, first entry, number of entries: entries at random positions */
PETSC_INTERN PetscErrorCode InsertListUniform(PetscInt, PetscInt, PetscCount, PetscCount, cudaStream_t, InsertList *);
/* rows, columns, entries a row, whether they descend in each row: without repeats, columns at random in equal parts of the row */
PETSC_INTERN PetscErrorCode InsertListRows(PetscInt, PetscInt, PetscInt, PetscBool, cudaStream_t, InsertList *);
PETSC_INTERN PetscErrorCode InsertListDestroy(InsertList *, cudaStream_t);
