#pragma once
/* A fingerprint of the structure of compact storage, by which a matrix that is gone is compared with another one. */
#include <petscsparsecuda/dcsr.h>

#define DCSR_PATTERN_WORDS 2

PETSC_INTERN PetscErrorCode DCSRPatternHash(DCSRView, cudaStream_t, uint64_t[]);                                 /* hash [DCSR_PATTERN_WORDS] device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRPatternHashEqual(const uint64_t[], const uint64_t[], cudaStream_t, PetscBool *); /* two of them on the device; synchronizes */
