#pragma once
/*
  Slices of compact storage: consecutive rows with those columns alone that occur in them, and rows put together again. For products that are done slice by slice.
*/
#include <petscsparsecuda/blocks.h>

/* What the slices of one matrix share; on the device, owned. */
typedef struct {
  int32_t *marks;   /* [num_columns] the last slice that a column occurs in, counted from 1; 0: none */
  int32_t *numbers; /* [num_columns + 1] number of a column in the slice that was made last */
} DCSRSliceMarks;

typedef struct {
  DCSRView  view;    /* the rows with columns renumbered; its values are the matrix's own */
  PetscInt *columns; /* [view.num_columns] device, owned: columns of the matrix, ascending */
} DCSRSlice;

/*
  Slice s has rows[s] to rows[s + 1] - 1 and entries[s] to entries[s + 1] - 1 of A, and right_entries[s] to right_entries[s + 1] - 1 of right, which stands beside it; the arrays [n + 1] are on the
  host. right and its array are NULL when there is none. Rows of a block of A stay together. It synchronizes.
*/
PETSC_INTERN PetscErrorCode DCSRGetSliceBounds(DCSRView A, const DCSRView *right, PetscInt n, PetscInt rows[], PetscCount entries[], PetscCount right_entries[], cudaStream_t stream);

PETSC_INTERN PetscErrorCode DCSRSliceMarksCreate(PetscInt num_columns, cudaStream_t stream, DCSRSliceMarks *marks);
PETSC_INTERN PetscErrorCode DCSRSliceMarksCount(PetscInt num_columns, const DCSRSliceMarks *marks, cudaStream_t stream, PetscInt *n); /* how many columns occurred in slices; synchronizes */
PETSC_INTERN PetscErrorCode DCSRSliceMarksDestroy(DCSRSliceMarks *marks, cudaStream_t stream);

/* rows [2] and entries [2] on the host are the bounds of the slice, number is its number from 1. It synchronizes. */
PETSC_INTERN PetscErrorCode DCSRSliceCreate(DCSRView A, const PetscInt rows[], const PetscCount entries[], int32_t number, const DCSRSliceMarks *marks, cudaStream_t stream, DCSRSlice *slice);
PETSC_INTERN PetscErrorCode DCSRSliceDestroy(DCSRSlice *slice, cudaStream_t stream);

/* The rows of chunk become rows first_row, ... of to, whose arrays are allocated, and their entries its entries first_entry, ... */
PETSC_INTERN PetscErrorCode DCSRCopyRows(DCSRView chunk, PetscInt first_row, PetscCount first_entry, DCSRWrite what, cudaStream_t stream, DCSRView to);
PETSC_INTERN PetscErrorCode DCSRIdentityCreate(PetscInt n, cudaStream_t stream, DCSRView *view); /* compact with values; the caller owns its arrays */
