#pragma once
/* A fingerprint of the structure of compact storage, by which a matrix that is gone is compared with another one. */
#include <petscsparsecuda/dcsr.h>

#define DCSR_PATTERN_WORDS 2

PETSC_INTERN PetscErrorCode DCSRPatternHash(DCSRView A, cudaStream_t stream, uint64_t hash[]);                                   /* hash [DCSR_PATTERN_WORDS] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRPatternHashEqual(const uint64_t a[], const uint64_t b[], cudaStream_t stream, PetscBool *equal); /* hashes on the device; synchronizes */
