#pragma once
/* A fingerprint of the structure of compact storage, by which a matrix that is gone is compared with another one. */
#include <petscsparsecuda/dcsr.h>

#define DCSR_PATTERN_WORDS 2

/* What tells a structure from others with the same numbers of rows and columns; on the host. */
typedef struct {
  PetscCount num_nonzeros;
  uint64_t   hash[DCSR_PATTERN_WORDS];
} DCSRPattern;

PETSC_INTERN PetscErrorCode DCSRPatternHash(DCSRView, cudaStream_t, uint64_t[]);                                 /* hash [DCSR_PATTERN_WORDS] device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRPatternHashEqual(const uint64_t[], const uint64_t[], cudaStream_t, PetscBool *); /* two of them on the device; synchronizes */
PETSC_INTERN PetscErrorCode DCSRPatternGet(DCSRView, cudaStream_t, DCSRPattern *);                               /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRPatternGetHost(PetscInt, const PetscInt[], const PetscInt[], DCSRPattern *);     /* rows, row offsets, columns */
PETSC_INTERN PetscBool      DCSRPatternEqual(const DCSRPattern *, const DCSRPattern *);
