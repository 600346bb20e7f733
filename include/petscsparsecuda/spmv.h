#pragma once
#include <petscsparsecuda/dcsr.h>

/* The kernels of Mult. -mat_dcsr_spmv chooses; DCSR_SPMV_AUTO lets the launch rule choose. */
typedef enum {
  DCSR_SPMV_AUTO,
  DCSR_SPMV_SPLIT,     /* strict nonzero splitting (Hola), a group of lanes sums a row, compact storage */
  DCSR_SPMV_SCAN,      /* strict nonzero splitting, rows summed by a segmented scan, compact storage */
  DCSR_SPMV_VECTOR,    /* a group of lanes a row, compact storage */
  DCSR_SPMV_FRAGMENTED /* a group of lanes a row over its segments */
} DCSRSpMVKind;
PETSC_INTERN const char *const DCSRSpMVKinds[]; /* for PetscOptionsEnum(): names, type name, prefix, NULL */

typedef struct _n_DCSRSpMVPlan *DCSRSpMVPlan; /* everything cached from structure: facts, block-to-row table, long rows, launch configuration */

PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreate(DCSRView view, DCSRSpMVKind kind, cudaStream_t stream, DCSRSpMVPlan *plan);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanDestroy(DCSRSpMVPlan *plan, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanGetInfo(DCSRSpMVPlan plan, DCSRSpMVKind *kind, DCSRFacts *facts, size_t *bytes, const char **info);
/* y = A x + z; z == NULL means y = A x; z == y is allowed. x [num_columns], y and z [num_rows], device. Bitwise reproducible. */
PETSC_INTERN PetscErrorCode DCSRSpMVApply(DCSRSpMVPlan plan, DCSRView view, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
