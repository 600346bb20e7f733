#pragma once
/* Plans of y = A x + z with values in single precision. */
#include <petscsparsecuda/spmv.h>

PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreateSingle(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, DCSRSpMVPlan *single); /* NULL: plan serves */
