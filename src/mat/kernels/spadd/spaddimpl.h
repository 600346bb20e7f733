#pragma once
#include <petscsparsecuda/spadd.h>

/* Equal patterns (same.cu): alpha, A, beta, B, with values, stream, C, whether the patterns are equal and C is the sum; otherwise C is empty */
PETSC_INTERN PetscErrorCode DCSRAddEqualPatterns(PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, PetscBool *done);
