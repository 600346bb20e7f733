#pragma once
/*
  The blocks of a parallel matrix as one matrix: joined, packed for other processes, stacked and split again. All storage is compact with sorted rows.
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

/* A row of joined is the row of left followed by that of right. Columns of right come behind all columns of left. The caller allocates the arrays of joined. */
PETSC_INTERN PetscErrorCode DCSRJoinColumns(DCSRView left, DCSRView right, DCSRWrite write, cudaStream_t stream, DCSRView joined);
/* rows [n] and sizes [n] are on the device; rows are NULL for the first n. */
PETSC_INTERN PetscErrorCode DCSRGetRowSizes(DCSRView view, PetscInt n, const int32_t rows[], int32_t sizes[], cudaStream_t stream);
/* packed has rows [packed.num_rows] of view, which are on the device, or all rows when these are NULL. Its columns are global and ascend. Its row offsets are set by the caller. */
PETSC_INTERN PetscErrorCode DCSRPackRows(DCSRView view, DCSRColumns columns, const int32_t rows[], DCSRWrite write, cudaStream_t stream, DCSRView packed);
/*
  stacked has the rows of view and below them those of packed. map [ghosts of view] on the device says what the ghosts of view become; NULL: they stay. The caller allocates the structure of stacked.
*/
PETSC_INTERN PetscErrorCode DCSRStackRows(DCSRView view, const int32_t map[], DCSRView packed, DCSRColumns columns, cudaStream_t stream, DCSRView stacked);
/* The values of packed go to the rows of stacked from first on, whose values are allocated. */
PETSC_INTERN PetscErrorCode DCSRUnpackValues(DCSRView packed, DCSRColumns columns, PetscInt first, cudaStream_t stream, DCSRView stacked);
/* The rows of part, a compact matrix with the columns of whole, go to whole from its row and its entry on; the caller allocates the arrays of whole. */
PETSC_INTERN PetscErrorCode DCSRPlaceRows(DCSRView part, PetscCount first_row, PetscCount first_entry, cudaStream_t stream, DCSRView whole);
/* own and ghost are the structures of the own and of the ghost columns, the latter with global numbers. They are allocated here. It synchronizes. */
PETSC_INTERN PetscErrorCode DCSRSplitColumns(DCSRView view, DCSRColumns columns, cudaStream_t stream, DCSRView *own, DCSRView *ghost);
PETSC_INTERN PetscErrorCode DCSRSplitValues(DCSRView view, DCSRView own, DCSRView ghost, cudaStream_t stream);
