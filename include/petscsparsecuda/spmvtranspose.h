#pragma once
#include <petscsparsecuda/dcsr.h>

typedef enum {
  DCSR_SPMVT_AUTO,
  DCSR_SPMVT_ATOMIC, /* one atomic a nonzero */
  DCSR_SPMVT_TILE    /* equal columns of a tile of rows are summed on chip first, then one atomic per distinct column of the tile */
} DCSRSpMVTransposeKind;
PETSC_INTERN const char *const DCSRSpMVTransposeKinds[];

typedef struct _n_DCSRSpMVTransposePlan *DCSRSpMVTransposePlan;

PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreate(DCSRView, DCSRSpMVTransposeKind, cudaStream_t, DCSRSpMVTransposePlan *);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanDestroy(DCSRSpMVTransposePlan *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanGetInfo(DCSRSpMVTransposePlan, DCSRSpMVTransposeKind *, size_t *, const char **);
/* y = op(A) x + z with op the transpose or, with conjugate, the Hermitian transpose; z == NULL means y = op(A) x; z == y is allowed. x [num_rows], y and z [num_columns], device. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeApply(DCSRSpMVTransposePlan, DCSRView, PetscBool, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
