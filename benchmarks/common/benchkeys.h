#pragma once
/*
  Lists of keys in device memory. The key of an entry is its row in the upper 32 bits and its column in the lower ones, so that sorted keys are the order of CSR.
*/
#include <petscsparsecuda/sys.h>

/* Sorts *num keys and drops duplicates: *num are left, in *keys, which may be another array then. Synchronizes. */
PETSC_INTERN PetscErrorCode BenchKeysSort(unsigned long long **, PetscCount *, cudaStream_t);
