#pragma once
#include <petscsparsecuda/dcsr.h>

/*
  Operations entry by entry, on compact and fragmented storage, asynchronous on the stream unless a host result is named.
  Scaling and conversions run over the pool [0, used): unused slack entries hold zero or stale values that nobody reads.
*/
PETSC_INTERN PetscErrorCode DCSRScale(DCSRView view, PetscScalar alpha, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRZero(DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRConjugate(DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRRealPart(DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRImaginaryPart(DCSRView view, cudaStream_t stream); /* the imaginary part becomes the real value, as in MatImaginaryPart() */
PETSC_INTERN PetscErrorCode DCSRAbsolute(DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRDiagonalScale(DCSRView view, const PetscScalar left[], const PetscScalar right[],
                                              cudaStream_t stream);                                                          /* left [num_rows] and right [num_columns] on the device, or NULL */
PETSC_INTERN PetscErrorCode DCSRGetDiagonal(DCSRView view, PetscScalar d[], cudaStream_t stream);                            /* d [min(num_rows, num_columns)] on the device; 0 where a row has none */
PETSC_INTERN PetscErrorCode DCSRCountMissingDiagonal(DCSRView view, PetscCount n, cudaStream_t stream, PetscCount *missing); /* how many of the first n rows lack a diagonal entry; synchronizes */
PETSC_INTERN PetscErrorCode DCSRDiagonalAdd(DCSRView view, const PetscScalar d[], PetscScalar scalar, PetscBool insert,
                                            cudaStream_t stream); /* d or, when it is NULL, scalar is added, or replaces with insert; rows without diagonal entry are left alone */
PETSC_INTERN PetscErrorCode DCSRNormFrobeniusSquared(DCSRView view, cudaStream_t stream, PetscReal *norm2); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRNormOne(DCSRView view, cudaStream_t stream, PetscReal *norm);               /* largest column sum of absolute values; synchronizes */
PETSC_INTERN PetscErrorCode DCSRNormInfinity(DCSRView view, cudaStream_t stream, PetscReal *norm);          /* largest row sum of absolute values; synchronizes */
PETSC_INTERN PetscErrorCode DCSRColumnSumsAbs(DCSRView view, PetscReal sums[], cudaStream_t stream);        /* sums [num_columns] on the device, for the parallel one-norm */
PETSC_INTERN PetscErrorCode DCSRRowMaxAbs(DCSRView view, PetscScalar largest[], PetscInt indices[],
                                          cudaStream_t stream); /* arrays [num_rows] on the device; indices may be NULL; an empty row gives 0 and index 0, as in MatGetRowMaxAbs_SeqAIJ() */
PETSC_INTERN PetscErrorCode DCSRRowSumAbs(DCSRView view, PetscScalar sums[], cudaStream_t stream);
/* Single precision (round.cu): bytes of a value, real or complex as PetscScalar is, and to [n] = from [n], rounded */
#define DCSR_SINGLE_BYTES (sizeof(PetscScalar) / sizeof(PetscReal) * sizeof(float))
PETSC_INTERN PetscErrorCode DCSRRoundValues(PetscCount n, const PetscScalar from[], void *to, cudaStream_t stream);
