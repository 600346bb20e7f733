#pragma once
/*
  Deletion: rows, columns and zeros, on compact and fragmented storage. What keeps the pattern changes values in place; what does not makes new compact storage and
  leaves the old one alone. Lists of rows are in device memory, in any order and with repeats; their rows are inside the matrix.
*/
#include <petscsparsecuda/dcsr.h>

/* What a deletion that may change the pattern did, on the host. */
typedef struct {
  PetscBool  changed;           /* there is new storage; PETSC_FALSE: nothing had to go, and nothing was allocated */
  PetscCount num_nonzeros;      /* of the new storage */
  PetscCount num_nonempty_rows; /* of the new storage */
  PetscCount max_row_size;      /* of the new storage */
} DCSRDeletion;

/* Pattern kept */
PETSC_INTERN PetscErrorCode DCSRFlagIndices(PetscInt n, const PetscInt indices[], PetscInt size, unsigned char flags[], cudaStream_t stream);       /* flags [size] are 1 where listed, 0 elsewhere */
PETSC_INTERN PetscErrorCode DCSRCountRowsWithoutDiagonal(DCSRView view, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRZeroRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream);              /* allocates nothing */
PETSC_INTERN PetscErrorCode DCSRZeroColumns(DCSRView view, const unsigned char row_flags[], const unsigned char column_flags[], const PetscScalar x[], PetscScalar b[],
                                            cudaStream_t stream); /* flagged rows are left alone; x and b may be NULL */
PETSC_INTERN PetscErrorCode DCSRSetRightHandSide(PetscInt n, const PetscInt rows[], PetscInt num_columns, PetscScalar diagonal, const PetscScalar x[], PetscScalar b[], cudaStream_t stream);

/* Pattern changed: the view is new compact storage whose arrays the caller owns, zero when nothing changed or after an error. They synchronize. */
PETSC_INTERN PetscErrorCode DCSRCountEmptyRows(DCSRView view, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count);
PETSC_INTERN PetscErrorCode DCSRCountChangingRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream, PetscCount *count);
PETSC_INTERN PetscErrorCode DCSRRemoveRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion);
PETSC_INTERN PetscErrorCode DCSREliminateZeros(DCSRView view, PetscBool keep_diagonal, PetscReal tolerance, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion);
