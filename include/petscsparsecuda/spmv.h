#pragma once
#include <petscsparsecuda/dcsr.h>

/* The forward kernels; -mat_dcsr_spmv chooses, DCSR_SPMV_AUTO lets the launch rule choose. */
typedef enum {
  DCSR_SPMV_AUTO,
  DCSR_SPMV_SPLIT,     /* strict nonzero splitting (Hola), a group of lanes sums a row, compact storage */
  DCSR_SPMV_SCAN,      /* strict nonzero splitting, rows summed by a segmented scan, compact storage */
  DCSR_SPMV_VECTOR,    /* a group of lanes a row, compact storage */
  DCSR_SPMV_FRAGMENTED /* a group of lanes a row over its segments */
} DCSRSpMVKind;
PETSC_INTERN const char *const DCSRSpMVKinds[]; /* for PetscOptionsEnum(): names, type name, prefix, NULL */

typedef struct _n_DCSRSpMVPlan *DCSRSpMVPlan; /* everything cached from structure: facts, block-to-row table, long rows, launch configuration */

PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreate(DCSRView, DCSRSpMVKind, cudaStream_t, DCSRSpMVPlan *);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanDestroy(DCSRSpMVPlan *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanGetInfo(DCSRSpMVPlan, DCSRSpMVKind *, DCSRFacts *, size_t *, const char **);
/* y = A x + z; z == NULL means y = A x; z == y is allowed. x [num_columns], y and z [num_rows], device. Bitwise reproducible. */
PETSC_INTERN PetscErrorCode DCSRSpMVApply(DCSRSpMVPlan, DCSRView, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
