#pragma once
/*
  The competitor: products with column-major dense matrices by cuSPARSE CSR, each of its algorithms with preprocessing.
*/
#include "../common/benchmatrix.h"
#include <cusparse.h>

typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnMatDescr_t x, y;
  cusparseSpMMAlg_t    algorithm;
  char                *buffer;
} SpMMCusparse;

#define SPMM_CUSPARSE_ALGORITHMS 4
PETSC_INTERN const char *const SpMMCusparseNames[SPMM_CUSPARSE_ALGORITHMS];

/* view, algorithm, columns, x and y with the smallest leading dimensions, stream; output: whether cuSPARSE has the algorithm for this, and the object, to be destroyed in any case */
PETSC_INTERN PetscErrorCode SpMMCusparseCreate(DCSRView, PetscInt, PetscInt, PetscScalar[], PetscScalar[], cudaStream_t, PetscBool *, SpMMCusparse *);
PETSC_INTERN PetscErrorCode SpMMCusparseDestroy(SpMMCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpMMCusparseRun(void *, cudaStream_t); /* a BenchFn */
