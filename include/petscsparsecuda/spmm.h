#pragma once
#include <petscsparsecuda/dcsr.h>

/* The ways to read the dense factor; DCSR_SPMM_AUTO lets a sample of the structure choose. */
typedef enum {
  DCSR_SPMM_AUTO,
  DCSR_SPMM_DIRECT, /* column by column, from where it is: for rows that read what their neighbors read */
  DCSR_SPMM_STAGED  /* from a transposed copy of some columns, in which a row is contiguous */
} DCSRSpMMKind;
PETSC_INTERN const char *const DCSRSpMMKinds[]; /* names, type name, prefix, NULL */

typedef struct _n_DCSRSpMMPlan *DCSRSpMMPlan; /* everything cached from structure: kind, lanes, long rows, and the plan of single columns */

PETSC_INTERN PetscErrorCode DCSRSpMMPlanCreate(DCSRView, DCSRSpMMKind, cudaStream_t, DCSRSpMMPlan *);
PETSC_INTERN PetscErrorCode DCSRSpMMPlanDestroy(DCSRSpMMPlan *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSpMMPlanGetInfo(DCSRSpMMPlan, DCSRSpMMKind *, PetscCount *); /* kind, number of long rows */
PETSC_INTERN PetscErrorCode DCSRSpMMPlanSetConfig(DCSRSpMMPlan, PetscInt, PetscInt);         /* columns of a tile, entries of a row that are read at once */
/* Y = A X; columns; X [num_columns x columns] and its leading dimension, Y [num_rows x columns] and its leading dimension, both column-major, device. Bitwise reproducible. */
PETSC_INTERN PetscErrorCode DCSRSpMMApply(DCSRSpMMPlan, DCSRView, PetscInt, const PetscScalar[], PetscInt, PetscScalar[], PetscInt, cudaStream_t);
