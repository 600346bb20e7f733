#pragma once
/*
  The competitor: cuSPARSE's explicit transpose.
*/
#include "../common/benchmatrix.h"
#include <cusparse.h>

typedef struct {
  cusparseHandle_t handle;
  cusparseAction_t action; /* CUSPARSE_ACTION_SYMBOLIC or CUSPARSE_ACTION_NUMERIC, which does both */
  DCSRView         from, to;
  char            *buffer;
} SpMVTCsr2csc;

PETSC_INTERN PetscErrorCode SpMVTCsr2cscCreate(DCSRView, DCSRView, cusparseAction_t, cudaStream_t, SpMVTCsr2csc *);
PETSC_INTERN PetscErrorCode SpMVTCsr2cscDestroy(SpMVTCsr2csc *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpMVTCsr2cscRun(void *, cudaStream_t);
