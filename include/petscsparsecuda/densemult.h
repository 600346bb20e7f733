#pragma once
/* Products with small dense matrices, such as inverses; device arrays. */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode DCSRDenseMult(PetscInt m, PetscInt n, const PetscScalar B[], const PetscScalar x[], PetscScalar y[], cudaStream_t stream); /* B [m][n] */
