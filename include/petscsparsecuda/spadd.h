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
  A and B are compact with as many rows each. C = alpha A + beta B is compact with sorted rows, and is allocated by DCSRAddPlanAllocate(); DCSRAddFill() writes its
  structure and, when it has values, these. DCSRAddRefill() writes the values alone, for other values of A and B. DCSRAddUpdate() is for patterns of B that are part of
  A's: num_matched is B's number of nonzeros. Only Create and Allocate allocate, and only Create synchronizes. All is bitwise reproducible.
*/
PETSC_INTERN PetscErrorCode DCSRAddPlanCreate(DCSRView, DCSRView, const int32_t[], const int32_t[], cudaStream_t, DCSRAddPlan *); /* A, B, map of A or NULL, map of B or NULL */
PETSC_INTERN PetscErrorCode DCSRAddPlanDestroy(DCSRAddPlan *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAddPlanAllocate(const DCSRAddPlan *, PetscInt, PetscInt, PetscBool, cudaStream_t, DCSRView *);        /* rows, columns, values */
PETSC_INTERN PetscErrorCode DCSRAddFill(const DCSRAddPlan *, PetscScalar, DCSRView, PetscScalar, DCSRView, DCSRView, cudaStream_t);   /* alpha, A, beta, B, C */
PETSC_INTERN PetscErrorCode DCSRAddRefill(const DCSRAddPlan *, PetscScalar, DCSRView, PetscScalar, DCSRView, DCSRView, cudaStream_t); /* the same */
PETSC_INTERN PetscErrorCode DCSRAddUpdate(const DCSRAddPlan *, DCSRView, PetscScalar, DCSRView, cudaStream_t);                        /* A += beta B */

/* The same in one call, and the values of such a C once more, without a plan. */
PETSC_INTERN PetscErrorCode DCSRAdd(PetscScalar, DCSRView, PetscScalar, DCSRView, cudaStream_t, DCSRView *);      /* alpha, A, beta, B; C's arrays are the caller's */
PETSC_INTERN PetscErrorCode DCSRAddNumeric(PetscScalar, DCSRView, PetscScalar, DCSRView, DCSRView, cudaStream_t); /* alpha, A, beta, B, C */

/* Equal patterns. */
PETSC_INTERN PetscErrorCode DCSRSamePattern(DCSRView, DCSRView, cudaStream_t, PetscBool *);                            /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRAXPYValues(PetscCount, PetscScalar, const PetscScalar[], PetscScalar[], cudaStream_t); /* n, alpha, x, y: y += alpha x */

/* alpha A as a batch that joins any storage (insert.h), with so many column bits; a diagonal matrix, of d [min(rows, columns)] device, or of one number when d is NULL */
PETSC_INTERN PetscErrorCode DCSRBatchCreateFromView(PetscScalar, DCSRView, cudaStream_t, DCSRBatch *);
PETSC_INTERN PetscErrorCode DCSRViewCreateDiagonal(PetscInt, PetscInt, const PetscScalar[], PetscScalar, cudaStream_t, DCSRView *); /* rows, columns, d, number */
