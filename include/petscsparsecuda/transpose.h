#pragma once
/*
  The explicit transpose of compact storage, with or without values, and with or without the permutation that renews its values later.
*/
#include <petscsparsecuda/dcsr.h>

/* How entries find their places. Both give the same result, bit for bit. */
typedef enum {
  DCSR_TRANSPOSE_AUTO, /* by searching when the pattern is symmetric, otherwise by sorting */
  DCSR_TRANSPOSE_SORT  /* a stable radix sort of the column indices that carries the entry index */
} DCSRTransposeKind;

/*
  The target has the shape of the transpose; its row_offsets [num_columns + 1] and columns [nnz] are allocated by the caller, and values [nnz] when they are wanted.
  Entry k of the transpose is entry permutation[k] of A (int32_t, or int64_t when wide, [nnz]); NULL: not wanted.
*/
PETSC_INTERN PetscErrorCode DCSRTranspose(DCSRView, PetscBool, DCSRView, void *, cudaStream_t);                                       /* A, conjugate, transpose, permutation */
PETSC_INTERN PetscErrorCode DCSRTransposeWith(DCSRView, DCSRTransposeKind, PetscBool, DCSRView, void *, cudaStream_t);                /* the same by one method, for tests and benchmarks */
PETSC_INTERN PetscErrorCode DCSRTransposeSymbolic(DCSRView, DCSRView, void *, cudaStream_t);                                          /* A, transpose, permutation: structure alone */
PETSC_INTERN PetscErrorCode DCSRTransposeNumeric(DCSRView, const void *, PetscBool, PetscScalar *, cudaStream_t);                     /* A, permutation, conjugate, values of the transpose */
PETSC_INTERN PetscErrorCode DCSRTransposeCreate(DCSRView, PetscBool, PetscBool, cudaStream_t, DCSRView *);                            /* A, with values, conjugate; the caller owns the result */
PETSC_INTERN PetscErrorCode DCSRSortRows(DCSRView, cudaStream_t, DCSRView *);                                                         /* compact storage but for the order of columns, the same sorted; the caller owns the result */
PETSC_INTERN PetscErrorCode DCSRIsTranspose(DCSRView, DCSRView, PetscReal, PetscBool, cudaStream_t, PetscBool *, PetscBool *);        /* A, B, tolerance, conjugate, whether it can tell, whether B is the transpose */
PETSC_INTERN PetscErrorCode DCSRGetTransposedCoordinates(DCSRView, PetscInt, const PetscInt[], PetscInt[], PetscInt[], cudaStream_t); /* block, its first row, global columns, global rows and columns of the transpose's entries */
