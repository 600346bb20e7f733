#pragma once
/*
  The small form of tests that are too large for compute-sanitizer, under which launches of kernels and accesses of memory take many times as long.

  It keeps every kernel, format, size of blocks and precision, and sizes that cross each boundary, but with the fewest matrices. What tells of the host alone is left to the whole test: allocations
  that fail, and the same operation again in another order.
*/
#include <petscsys.h>
#include <stdlib.h>

/* TestIsSmall - Whether a run is small: -small, or TEST_SMALL in the environment, which conf/run-tests sets for the tools of compute-sanitizer; after PetscInitialize(). */
static inline PetscErrorCode TestIsSmall(PetscBool *small)
{
  PetscFunctionBegin;
  *small = (PetscBool)(getenv("TEST_SMALL") != NULL);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", small, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
