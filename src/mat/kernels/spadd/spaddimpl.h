#pragma once
#include <petscsparsecuda/spadd.h>

/* Equal patterns (same.cu): alpha, A, beta, B, with values, stream, C, whether the patterns are equal and C is the sum; otherwise C is empty */
PETSC_INTERN PetscErrorCode DCSRAddEqualPatterns(PetscScalar, DCSRView, PetscScalar, DCSRView, PetscBool, cudaStream_t, DCSRView *, PetscBool *);
/* n, alpha, a, beta, b, c: c = alpha a + beta b */
PETSC_INTERN PetscErrorCode DCSRAddValues(PetscCount, PetscScalar, const PetscScalar[], PetscScalar, const PetscScalar[], PetscScalar[], cudaStream_t);
