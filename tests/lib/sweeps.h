#pragma once
/* Launch configurations that the rules do not choose, for sweeps and tests. -DSPMV_SWEEP compiles more of them. */
#include "../../src/mat/kernels/spmv/spmvrule.h"
#include "../../src/mat/kernels/spmvtranspose/spmvtransposeimpl.h"
#include <petscsparsecuda/spmm.h>

/* Every configuration of products with vectors, their number and the i-th, and a plan with one of them. */
PETSC_INTERN PetscErrorCode SpMVConfigGetCount(PetscInt *n);
PETSC_INTERN PetscErrorCode SpMVConfigGet(PetscInt i, SpMVConfig *config);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreateWithConfig(DCSRView view, const SpMVConfig *config, cudaStream_t stream, DCSRSpMVPlan *plan);

/* Instances of A^T x, tiles first, then those with one atomic a nonzero: the name, NULL past the last; whether the device has the shared memory for it; a plan with it. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeGetKernel(int kernel, const char **name);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeKernelFits(int kernel, PetscBool *fits);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreateKernel(DCSRView view, int kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan);

/*
  Names by DCSRSpMMKind, and another launch configuration than the rule's; 0 for the rule's choice.
  width: columns of a tile at most, a power of two from 2 to 32 (a tile that is read where it is: 16). slots: entries of a row that are read at once, a power of two from 1 to 8, fewer where a warp has
  no room for them.
*/
PETSC_INTERN const char *const DCSRSpMMKinds[];
PETSC_INTERN PetscErrorCode    DCSRSpMMPlanSetConfig(DCSRSpMMPlan plan, PetscInt width, PetscInt slots);
