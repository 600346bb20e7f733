#pragma once
/*
  The competitor: products by cuSPARSE CSR, each of its algorithms with preprocessing.
*/
#include "benchmatrix.h"
#include <cusparse.h>

typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y;
  cusparseOperation_t  operation; /* CUSPARSE_OPERATION_NON_TRANSPOSE or CUSPARSE_OPERATION_TRANSPOSE */
  cusparseSpMVAlg_t    algorithm;
  char                *buffer;
} BenchCusparse;

#define BENCH_CUSPARSE_ALGORITHMS 3
PETSC_INTERN const char *const BenchCusparseNames[BENCH_CUSPARSE_ALGORITHMS];

PETSC_INTERN PetscErrorCode BenchCusparseCreate(DCSRView, cusparseOperation_t, PetscInt, PetscScalar[], PetscScalar[], cudaStream_t, BenchCusparse *);
PETSC_INTERN PetscErrorCode BenchCusparseDestroy(BenchCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode BenchCusparseRun(void *, cudaStream_t);
