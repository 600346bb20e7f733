#pragma once
/*
  Whether two device arrays hold the same bits.
*/
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode TransposeCountDifferences(const void *, const void *, size_t, cudaStream_t, PetscCount *); /* bytes, a multiple of 4; synchronizes */
