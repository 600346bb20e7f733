#pragma once
/*
  The explicit transpose of compact storage, with or without values, and with or without the permutation that renews its values later.
*/
#include <petscsparsecuda/dcsr.h>

/* How entries find their positions. Both give the same result, bit for bit. */
typedef enum {
  DCSR_TRANSPOSE_AUTO, /* by searching when the pattern is symmetric, otherwise by sorting */
  DCSR_TRANSPOSE_SORT  /* a stable radix sort of the column indices that carries the entry index */
} DCSRTransposeKind;

/*
  The target has the shape of the transpose; its row_offsets [num_columns + 1] and columns [nnz] are allocated by the caller, and values [nnz] when they are wanted.
  Entry k of the transpose is entry permutation[k] of A (int32_t, or int64_t when wide, [nnz]); NULL: not wanted. Where the target has a list and A consists of full blocks, the list is filled, and block
  k of it is block permutation[k] of A (int32_t, [blocks]).
*/
PETSC_INTERN PetscErrorCode DCSRTranspose(DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRTransposeWith(DCSRView A, DCSRTransposeKind kind, PetscBool conjugate, DCSRView T, void *permutation,
                                              cudaStream_t stream); /* by one method, for tests and benchmarks */
PETSC_INTERN PetscErrorCode DCSRTransposeNumeric(DCSRView A, const void *permutation, PetscBool conjugate, PetscScalar *values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRTransposeCreate(DCSRView A, PetscBool with_values, PetscBool conjugate, cudaStream_t stream, DCSRView *T); /* the caller owns T */
PETSC_INTERN PetscErrorCode DCSRTransposeKeep(DCSRView A, PetscBool with_values, cudaStream_t stream, DCSRView *T, void **permutation);
PETSC_INTERN PetscErrorCode DCSRTransposeRenew(DCSRView A, const void *permutation, DCSRView T, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSortRows(DCSRView A, cudaStream_t stream, DCSRView *B); /* columns of a row of A need no order; the caller owns B */
PETSC_INTERN PetscErrorCode DCSRIsTranspose(DCSRView A, DCSRView B, PetscReal tol, PetscBool conjugate, cudaStream_t stream, PetscBool *decided,
                                            PetscBool *is); /* whether B is the transpose, if decided */
/* A is a block of a parallel matrix, whose rows begin at row_begin and whose columns are column_map. Entry k of A is in row i[k] and column j[k] of the transpose. */
PETSC_INTERN PetscErrorCode DCSRGetTransposedCoordinates(DCSRView A, PetscInt row_begin, const PetscInt column_map[], PetscInt i[], PetscInt j[], cudaStream_t stream);
