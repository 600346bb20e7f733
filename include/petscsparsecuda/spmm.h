#pragma once
#include <petscsparsecuda/dcsr.h>

/* The ways to read the dense factor; DCSR_SPMM_AUTO lets a sample of the structure choose. */
typedef enum {
  DCSR_SPMM_AUTO,
  DCSR_SPMM_DIRECT, /* column by column, from where it is: for rows that read what their neighbors read */
  DCSR_SPMM_STAGED  /* from a transposed copy of some columns, in which a row is contiguous */
} DCSRSpMMKind;

typedef struct _n_DCSRSpMMPlan *DCSRSpMMPlan; /* everything cached from structure: kind, lanes, long rows, and the plan of single columns */

PETSC_INTERN PetscErrorCode DCSRSpMMPlanCreate(DCSRView view, DCSRSpMMKind kind, cudaStream_t stream, DCSRSpMMPlan *plan);
PETSC_INTERN PetscErrorCode DCSRSpMMPlanDestroy(DCSRSpMMPlan *plan, cudaStream_t stream);
/* Y = A X with x [num_columns x columns] and y [num_rows x columns], column-major with leading dimensions ldx and ldy, on the device. Bitwise reproducible. */
PETSC_INTERN PetscErrorCode DCSRSpMMApply(DCSRSpMMPlan plan, DCSRView view, PetscInt columns, const PetscScalar x[], PetscInt ldx, PetscScalar y[], PetscInt ldy, cudaStream_t stream);
