#pragma once
/*
  The competitor: cuSPARSE's transpose product, each of its algorithms with preprocessing, and its explicit transpose.
*/
#include "../common/benchmatrix.h"
#include <cusparse.h>

typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y;
  cusparseSpMVAlg_t    algorithm;
  char                *buffer;
} SpMVTCusparse;

#define SPMVT_CUSPARSE_ALGORITHMS 3
PETSC_INTERN const char *const SpMVTCusparseNames[SPMVT_CUSPARSE_ALGORITHMS];

PETSC_INTERN PetscErrorCode SpMVTCusparseCreate(DCSRView, PetscInt, PetscScalar[], PetscScalar[], cudaStream_t, SpMVTCusparse *); /* A, algorithm, x [num_rows], y [num_columns] */
PETSC_INTERN PetscErrorCode SpMVTCusparseDestroy(SpMVTCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpMVTCusparseRun(void *, cudaStream_t);

typedef struct {
  cusparseHandle_t handle;
  cusparseAction_t action; /* CUSPARSE_ACTION_SYMBOLIC or CUSPARSE_ACTION_NUMERIC, which does both */
  DCSRView         from, to;
  char            *buffer;
} SpMVTCsr2csc;

PETSC_INTERN PetscErrorCode SpMVTCsr2cscCreate(DCSRView, DCSRView, cusparseAction_t, cudaStream_t, SpMVTCsr2csc *);
PETSC_INTERN PetscErrorCode SpMVTCsr2cscDestroy(SpMVTCsr2csc *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpMVTCsr2cscRun(void *, cudaStream_t);
