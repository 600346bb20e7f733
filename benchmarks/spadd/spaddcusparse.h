#pragma once
/*
  The competitor: sums by cuSPARSE's csrgeam2 or SpGEAM.
*/
#include "../common/benchcusparse.h"

typedef struct {
  const BenchCusparseLibrary *library;
  cusparseMatDescr_t          descr;       /* of csrgeam2, else NULL */
  BenchSpGEAMDescr            sum;         /* of SpGEAM, else NULL */
  cusparseSpMatDescr_t        summands[2]; /* likewise */
  DCSRView                    a, b, c;     /* c: its arrays are owned */
  PetscScalar                 alpha, beta;
  char                       *buffer; /* NULL but during a sum and between Create and Destroy of numeric ones */
} SpAddCusparse;

/* Library, PETSC_TRUE for SpGEAM, alpha, A, beta, B: with one sum made. */
PETSC_INTERN PetscErrorCode SpAddCusparseCreate(const BenchCusparseLibrary *, PetscBool, PetscScalar, DCSRView, PetscScalar, DCSRView, cudaStream_t, SpAddCusparse *);
PETSC_INTERN PetscErrorCode SpAddCusparseDestroy(SpAddCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpAddCusparseRun(void *, cudaStream_t); /* buffer, structure, allocation of C and values, in place of the C before */
