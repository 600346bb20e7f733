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

PETSC_INTERN PetscErrorCode DCSRGetSliceBounds(DCSRView, PetscInt, PetscInt[], PetscCount[], cudaStream_t);  /* n, first row and first entry of each slice and what is behind the last [n + 1] host; synchronizes */
PETSC_INTERN PetscErrorCode DCSRSliceMarksCreate(PetscInt, cudaStream_t, DCSRSliceMarks *);                  /* columns of the matrix */
PETSC_INTERN PetscErrorCode DCSRSliceMarksCount(PetscInt, const DCSRSliceMarks *, cudaStream_t, PetscInt *); /* how many columns occurred in slices; synchronizes */
PETSC_INTERN PetscErrorCode DCSRSliceMarksDestroy(DCSRSliceMarks *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSliceCreate(DCSRView, const PetscInt[], const PetscCount[], int32_t, const DCSRSliceMarks *, cudaStream_t, DCSRSlice *); /* matrix, its bounds [2] and [2] host, its number from 1, marks, slice; synchronizes */
PETSC_INTERN PetscErrorCode DCSRSliceDestroy(DCSRSlice *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRCopyRows(DCSRView, PetscInt, PetscCount, DCSRWrite, cudaStream_t, DCSRView); /* rows, where they go: first row and first entry, what, a matrix with allocated arrays */
PETSC_INTERN PetscErrorCode DCSRIdentityCreate(PetscInt, cudaStream_t, DCSRView *);                          /* rows, compact with values; the caller owns its arrays */
