#pragma once
/*
  The competitor: sums by cuSPARSE csrgeam2.
*/
#include <petscsparsecuda/dcsr.h>
#include <cusparse.h>

typedef struct {
  cusparseHandle_t   handle;
  cusparseMatDescr_t descr;
  DCSRView           a, b, c; /* c: its arrays are owned */
  PetscScalar        alpha, beta;
  char              *buffer; /* NULL but during a sum and between Create and Destroy of numeric ones */
} SpAddCusparse;

PETSC_INTERN PetscErrorCode SpAddCusparseCreate(PetscScalar, DCSRView, PetscScalar, DCSRView, cudaStream_t, SpAddCusparse *); /* alpha, A, beta, B: with one sum made */
PETSC_INTERN PetscErrorCode SpAddCusparseDestroy(SpAddCusparse *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpAddCusparseRun(void *, cudaStream_t); /* buffer, structure, allocation of C and values, in place of the C before */
