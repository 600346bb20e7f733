#pragma once
/*
  Deletion: rows, columns and zeros, on compact and fragmented storage. What keeps the pattern changes values in place; what does not makes new compact storage and
  leaves the old one alone. Lists of rows are in device memory, in any order and with repeats; their rows are inside the matrix.
*/
#include <petscsparsecuda/dcsr.h>

/* What a deletion that may change the pattern did, on the host. */
typedef struct {
  PetscBool  changed;           /* there is new storage; PETSC_FALSE: nothing had to go, and nothing was allocated */
  PetscCount num_nonempty_rows; /* of the new storage */
  PetscCount max_row_size;      /* of the new storage */
} DCSRDeletion;

/* Pattern kept */
PETSC_INTERN PetscErrorCode DCSRFlagIndices(PetscInt, const PetscInt[], PetscInt, unsigned char[], cudaStream_t);                                      /* n, indices [n], size, flags [size]: 1 where listed, 0 elsewhere */
PETSC_INTERN PetscErrorCode DCSRCountRowsWithoutDiagonal(DCSRView, PetscInt, const PetscInt[], cudaStream_t, PetscCount *);                            /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRZeroRows(DCSRView, PetscInt, const PetscInt[], PetscScalar, cudaStream_t);                                             /* allocates nothing */
PETSC_INTERN PetscErrorCode DCSRZeroColumns(DCSRView, const unsigned char[], const unsigned char[], const PetscScalar[], PetscScalar[], cudaStream_t); /* flags of rows that are left alone, flags of columns, x, b or NULL */
PETSC_INTERN PetscErrorCode DCSRSetRightHandSide(PetscInt, const PetscInt[], PetscInt, PetscScalar, const PetscScalar[], PetscScalar[], cudaStream_t); /* n, rows, num_columns, diagonal, x, b */

/* Pattern changed: the view is new compact storage whose arrays the caller owns, zero when nothing changed or after an error. They synchronize. */
PETSC_INTERN PetscErrorCode DCSRCountEmptyRows(DCSRView, PetscInt, const PetscInt[], cudaStream_t, PetscCount *);
PETSC_INTERN PetscErrorCode DCSRRemoveRows(DCSRView, PetscInt, const PetscInt[], PetscScalar, cudaStream_t, DCSRView *, DCSRDeletion *);
PETSC_INTERN PetscErrorCode DCSREliminateZeros(DCSRView, PetscBool, PetscReal, cudaStream_t, DCSRView *, DCSRDeletion *); /* keep zeros on the diagonal, tolerance */
