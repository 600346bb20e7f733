#pragma once
/*
  Dynamic CSR on the device (King, Gilray, Kirby, Might: Dynamic-CSR, ISC 2016, section 3), as kernels see it: plain views, no Mat.

  Two states. Compact: row_offsets != NULL; one segment a row, no gap, columns sorted: it is CSR. Fragmented: row_offsets == NULL; up to max_segments
  segments a row, anywhere in the pool; columns of one row are distinct, sorted inside each segment, and unsorted across segments.
*/
#include <petscsparsecuda/sys.h>

#define DCSR_MAX_SEGMENTS 4

/* A borrowed view of device storage: nothing here is owned, all pointers are device pointers. Passed by value to kernels. */
typedef struct {
  PetscInt     num_rows;     /* local rows */
  PetscInt     num_columns;  /* local columns, at most 2^31 - 1 */
  PetscCount   num_nonzeros; /* entries in use */
  PetscCount   capacity;     /* entries the pool holds */
  PetscCount   used;         /* allocation pointer: pool entries handed out to segments, num_nonzeros <= used <= capacity; compact: == num_nonzeros */
  PetscBool    wide;         /* offsets are int64_t; PETSC_FALSE: int32_t, possible while capacity <= DCSR_MAX_NARROW */
  PetscScalar *values;       /* [capacity] pool of values; NULL for a matrix with structure only */
  int32_t     *columns;      /* [capacity] pool of column indices, parallel to values */
  void        *row_offsets;  /* compact: [num_rows + 1] of int32_t or int64_t; NULL when fragmented */
  void        *segments;     /* fragmented: segment s of row r is the pair {begin, end} at 2 * (r + s * pitch); NULL when compact */
  int32_t     *row_sizes;    /* fragmented: [num_rows] entries in use; segments are filled in order and only the last is partly used; NULL when compact */
  PetscCount   pitch;        /* fragmented: rows between the pairs of two consecutive segments, >= num_rows */
  PetscInt     max_segments; /* fragmented: segments a row may have, 1 to DCSR_MAX_SEGMENTS; unused ones are {0, 0} */

  /* The base of fragmented storage: the compact storage that it was made of, whose entries stay where they are. The first segment of a row that is not empty there is its row there. */
  int32_t   *base_offsets;  /* [num_rows + 1]; NULL: there is none, or the storage is compact or wide */
  PetscCount base_nonzeros; /* entries of the base, the first ones of the pool */

  /* Rows and columns of a block, as the layouts of the matrix say. A hint where full blocks are looked for; 0: nothing is said. */
  PetscInt row_block, column_block;
  struct _n_DCSRBlockList
    *list; /* of these blocks, or room for it (blocklist.h): a reference that goes with the arrays; NULL: nobody keeps one. row_offsets and columns may be NULL where a list is there */
} DCSRView;

/* Entries that 32-bit offsets reach at most: a loop may step over the last one, by as many as all threads of a device. */
#define DCSR_MAX_NARROW (PETSC_INT32_MAX - (1 << 20))

/* Whether so many entries need 64-bit offsets, and whether PetscInt counts them; the one place that decides (width.c). */
PETSC_INTERN PetscErrorCode DCSRNeedsWide(PetscCount n, PetscBool *wide);
PETSC_INTERN PetscErrorCode DCSRGetMaxNonzeros(PetscCount *max_nonzeros);
PETSC_INTERN PetscErrorCode DCSRCheckNonzeros(PetscCount num_nonzeros);

/* What one pass over the structure counts for the launch rules; on the host. */
typedef struct {
  PetscCount num_nonempty_rows;
  PetscCount max_row_size;
  PetscCount max_block_rows; /* most rows that start in one thread block of SPMV_BLOCK_NONZEROS entries */
} DCSRFacts;

/* Storage that its owner allocates and frees (storage/). */
PETSC_INTERN PetscErrorCode DCSRViewAllocateCompact(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, PetscBool wide, cudaStream_t stream, DCSRView *view);
PETSC_INTERN PetscErrorCode DCSRViewAllocateStructure(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, PetscBool wide, cudaStream_t stream, DCSRView *view);
PETSC_INTERN PetscErrorCode DCSRViewAllocateValues(DCSRView *view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRViewAllocateSpare(const DCSRView *like, PetscCount num_nonzeros, PetscBool values, PetscCount spare, cudaStream_t stream, DCSRView *view);
PETSC_INTERN PetscErrorCode DCSRViewTryAllocateSpare(const DCSRView *like, PetscCount num_nonzeros, PetscBool values, PetscCount spare, cudaStream_t stream, DCSRView *view, PetscBool *done);
PETSC_INTERN PetscErrorCode DCSRViewTrySegments(DCSRView *view, PetscInt max_segments, cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode DCSRViewSetSegments(DCSRView *view, PetscInt max_segments, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRViewFree(DCSRView *view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRViewKeepBase(DCSRView *view, cudaStream_t stream);
PETSC_INTERN DCSRView       DCSRViewGetBase(DCSRView view);
