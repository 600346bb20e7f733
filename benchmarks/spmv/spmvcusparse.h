#pragma once
/*
  The competitor: cuSPARSE CSR, each of its algorithms with preprocessing.
*/
#include "../common/benchmatrix.h"
#include <cusparse.h>

typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y;
  cusparseSpMVAlg_t    algorithm;
  char                *buffer;
} SpMVCusparse;

#define SPMV_CUSPARSE_ALGORITHMS 3
PETSC_INTERN const char *const SpMVCusparseNames[SPMV_CUSPARSE_ALGORITHMS];

PETSC_INTERN PetscErrorCode SpMVCusparseCreate(DCSRView, PetscInt, PetscScalar[], PetscScalar[], cudaStream_t, SpMVCusparse *);
PETSC_INTERN PetscErrorCode SpMVCusparseDestroy(SpMVCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpMVCusparseRun(void *, cudaStream_t);
