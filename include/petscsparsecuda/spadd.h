#pragma once
/*
  Sums of matrices: rows are merged, nothing is sorted.
*/
#include <petscsparsecuda/insert.h>

/* Where a tile of the merged entries of two matrices begins. */
typedef struct {
  PetscCount a, b; /* entries of A and of B in the tiles before */
  PetscInt   row;  /* first row none of whose entries is in a tile before */
} DCSRAddSplit;

/* What is known of the sum of two patterns: a quarter of a byte an entry. Device arrays are owned, the maps are the caller's. */
typedef struct {
  PetscCount     num_tiles;
  DCSRAddSplit  *splits;       /* [num_tiles + 1] device */
  uint32_t      *bits;         /* device: of each tile, in merged order, which entries are A's, and which are B's that A has, too */
  PetscCount    *matched;      /* [num_tiles + 1] device: entries that both matrices have, in the tiles before */
  PetscCount     num_matched;  /* all of them, on the host */
  PetscCount     num_nonzeros; /* of the sum */
  const int32_t *map_a;        /* device, ascending: column c of A is column map_a[c] of the sum; NULL: it is c */
  const int32_t *map_b;        /* the same for B */
} DCSRAddPlan;

/*
  A and B are compact with as many rows each. C = alpha A + beta B is compact with sorted rows, and is allocated by DCSRAddPlanAllocate(); DCSRAddFill() writes it.
  DCSRAddUpdate() is for patterns of B that are part of A's: num_matched is B's number of nonzeros. Only Create and Allocate allocate, and only Create synchronizes. All
  is bitwise reproducible.
*/
PETSC_INTERN PetscErrorCode DCSRAddPlanCreate(DCSRView A, DCSRView B, const int32_t map_a[], const int32_t map_b[], cudaStream_t stream, DCSRAddPlan *plan); /* maps or NULL */
PETSC_INTERN PetscErrorCode DCSRAddPlanDestroy(DCSRAddPlan *plan, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRAddPlanAllocate(const DCSRAddPlan *plan, PetscInt num_rows, PetscInt num_columns, cudaStream_t stream, DCSRView *C);
PETSC_INTERN PetscErrorCode DCSRAddFill(const DCSRAddPlan *plan, PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, DCSRView C, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRAddUpdate(const DCSRAddPlan *plan, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream); /* A += beta B */

/* Equal patterns. */
PETSC_INTERN PetscErrorCode DCSRSamePattern(DCSRView A, DCSRView B, cudaStream_t stream, PetscBool *same);                                /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRAXPYValues(PetscCount n, PetscScalar alpha, const PetscScalar x[], PetscScalar y[], cudaStream_t stream); /* y += alpha x */
PETSC_INTERN PetscErrorCode DCSRAddValues(PetscCount n, PetscScalar alpha, const PetscScalar a[], PetscScalar beta, const PetscScalar b[], PetscScalar c[],
                                          cudaStream_t stream); /* c = alpha a + beta b, may be one of them */

/* alpha A becomes a batch, which is inserted into any storage (insert.h). A diagonal matrix D has the entries d [min(num_rows, num_columns)], which are on the device, or number when d is NULL. */
PETSC_INTERN PetscErrorCode DCSRBatchCreateFromView(PetscScalar alpha, DCSRView A, cudaStream_t stream, DCSRBatch *batch);
PETSC_INTERN PetscErrorCode DCSRViewCreateDiagonal(PetscInt num_rows, PetscInt num_columns, const PetscScalar d[], PetscScalar number, cudaStream_t stream, DCSRView *D);
