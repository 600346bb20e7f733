#pragma once
#include <petscsparsecuda/dcsr.h>

/* The kernels of MultTranspose. -mat_dcsr_spmv_transpose chooses; DCSR_SPMVT_AUTO lets the launch rule choose. */
typedef enum {
  DCSR_SPMVT_AUTO,
  DCSR_SPMVT_ATOMIC, /* one atomic a nonzero */
  DCSR_SPMVT_TILE    /* equal columns of a tile of nonzeros are summed on chip, then one atomic per distinct column of the tile */
} DCSRSpMVTransposeKind;
PETSC_INTERN const char *const DCSRSpMVTransposeKinds[];

typedef struct _n_DCSRSpMVTransposePlan *DCSRSpMVTransposePlan;

PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreate(DCSRView view, DCSRSpMVTransposeKind kind, cudaStream_t stream, DCSRSpMVTransposePlan *plan);
/* A plan that leaves to the second product what one alone would not pay for: then it is completed. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreateForOne(DCSRView view, DCSRSpMVTransposeKind kind, cudaStream_t stream, DCSRSpMVTransposePlan *plan);
/* A plan for a matrix without empty rows, which stand for rows [num_rows] (device) of a longer x. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreateForRows(DCSRView view, const int32_t rows[], cudaStream_t stream, DCSRSpMVTransposePlan *plan);
PETSC_INTERN PetscBool      DCSRSpMVTransposePlanIsComplete(DCSRSpMVTransposePlan plan);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanComplete(DCSRSpMVTransposePlan plan, DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanDestroy(DCSRSpMVTransposePlan *plan, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanGetInfo(DCSRSpMVTransposePlan plan, DCSRSpMVTransposeKind *kind, size_t *bytes, const char **description);
/* y = op(A) x + z with op the transpose or, with conjugate, the Hermitian transpose; z == NULL means y = op(A) x; z == y is allowed. x [num_rows], y and z [num_columns], device. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeApply(DCSRSpMVTransposePlan plan, DCSRView view, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
