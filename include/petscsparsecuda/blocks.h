#pragma once
/*
  Blocks of parallel matrices as one matrix: joined, sent to other processes, stacked and split again. All storage is compact with sorted rows.
*/
#include <petscsparsecuda/dcsr.h>

/*
  Columns of a joined matrix: those of this process, numbered first, and ghost columns in the order of their global numbers. Renumbering ghost columns for more of
  them keeps rows sorted.
*/
typedef struct {
  PetscInt       begin; /* global number of the first own column */
  PetscInt       num_own;
  PetscInt       num_ghosts;
  PetscInt       num_below; /* ghosts with global numbers below begin */
  const int32_t *ghosts;    /* [num_ghosts] device: global numbers, ascending */
} DCSRColumns;

/* What is to be written; views without the other part are fine then. */
typedef enum {
  DCSR_WRITE_STRUCTURE,
  DCSR_WRITE_VALUES,
  DCSR_WRITE_ALL
} DCSRWrite;

/* left, right, what, joined: rows of the left one followed by those of the right one, whose columns come behind all columns of the left one; arrays allocated by the caller */
PETSC_INTERN PetscErrorCode DCSRJoinColumns(DCSRView, DCSRView, DCSRWrite, cudaStream_t, DCSRView);
/* n, rows [n] device, sizes [n] device */
PETSC_INTERN PetscErrorCode DCSRGetRowSizes(DCSRView, PetscInt, const int32_t[], int32_t[], cudaStream_t);
/* matrix, its columns, rows [packed.num_rows] device or NULL for all, what, packed: those rows with global columns, ascending; its offsets are set */
PETSC_INTERN PetscErrorCode DCSRPackRows(DCSRView, DCSRColumns, const int32_t[], DCSRWrite, cudaStream_t, DCSRView);
/* matrix, where its ghost columns went [ghosts] device or NULL, packed rows that follow, the new columns, stacked: structure; arrays allocated by the caller */
PETSC_INTERN PetscErrorCode DCSRStackRows(DCSRView, const int32_t[], DCSRView, DCSRColumns, cudaStream_t, DCSRView);
/* packed rows with values, columns and number of the first row of the stacked matrix that gets their values, which it has allocated */
PETSC_INTERN PetscErrorCode DCSRUnpackValues(DCSRView, DCSRColumns, PetscInt, cudaStream_t, DCSRView);
/* matrix, its columns, structures of own columns and of ghost columns, the latter with global numbers; allocated here. Synchronizes. */
PETSC_INTERN PetscErrorCode DCSRSplitColumns(DCSRView, DCSRColumns, cudaStream_t, DCSRView *, DCSRView *);
PETSC_INTERN PetscErrorCode DCSRSplitValues(DCSRView, DCSRView, DCSRView, cudaStream_t);
