#pragma once
/* A fingerprint of the structure of compact storage, by which a matrix that is gone is compared with another one. */
#include <petscsparsecuda/dcsr.h>

#define DCSR_PATTERN_WORDS 2

/* What distinguishes a structure from others with the same numbers of rows and columns; on the host. */
typedef struct {
  PetscCount num_nonzeros;
  uint64_t   hash[DCSR_PATTERN_WORDS];
} DCSRPattern;

PETSC_INTERN PetscErrorCode DCSRPatternHash(DCSRView A, cudaStream_t stream, uint64_t hash[]);                                   /* hash [DCSR_PATTERN_WORDS] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRPatternHashEqual(const uint64_t a[], const uint64_t b[], cudaStream_t stream, PetscBool *equal); /* hashes on the device; synchronizes */
PETSC_INTERN PetscErrorCode DCSRPatternGet(DCSRView A, cudaStream_t stream, DCSRPattern *pattern);                               /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRPatternGetHost(PetscInt num_rows, const PetscInt row_offsets[], const PetscInt columns[], DCSRPattern *pattern);
PETSC_INTERN PetscBool      DCSRPatternEqual(const DCSRPattern *a, const DCSRPattern *b);
/*
  What a block of a matrix adds to the skewness of the structure, on the host: its rows begin at row_begin, and its column c is number ghosts[c], on the device, or column_begin + c when ghosts is
  NULL. Sums over all blocks, modulo 2^64, are zero when the structure is symmetric. It synchronizes.
*/
PETSC_INTERN PetscErrorCode DCSRPatternSkewness(DCSRView A, PetscInt row_begin, PetscInt column_begin, const int32_t ghosts[], cudaStream_t stream, uint64_t skewness[]);
