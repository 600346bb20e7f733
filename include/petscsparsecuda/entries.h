#pragma once
#include <petscsparsecuda/dcsr.h>

/*
  Operations entry by entry, on compact and fragmented storage, asynchronous on the stream unless a host result is named.
  Scaling and conversions run over the pool [0, used): unused slack entries hold zero or stale values that nobody reads.
*/
PETSC_INTERN PetscErrorCode DCSRScale(DCSRView, PetscScalar, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRZero(DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRConjugate(DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRRealPart(DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRImaginaryPart(DCSRView, cudaStream_t); /* imaginary part as the new real value, as MatImaginaryPart() */
PETSC_INTERN PetscErrorCode DCSRAbsolute(DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRDiagonalScale(DCSRView, const PetscScalar[], const PetscScalar[], cudaStream_t);  /* left [num_rows] or NULL, right [num_columns] or NULL, device */
PETSC_INTERN PetscErrorCode DCSRGetDiagonal(DCSRView, PetscScalar[], cudaStream_t);                               /* d [min(num_rows, num_columns)] device; 0 where missing */
PETSC_INTERN PetscErrorCode DCSRCountMissingDiagonal(DCSRView, PetscCount, cudaStream_t, PetscCount *);           /* how many of the first n rows lack a diagonal entry; synchronizes */
PETSC_INTERN PetscErrorCode DCSRDiagonalAdd(DCSRView, const PetscScalar[], PetscScalar, PetscBool, cudaStream_t); /* a_ii (+)= d[i] (or the scalar when d == NULL); insert replaces; rows that lack one are left alone */
PETSC_INTERN PetscErrorCode DCSRNormFrobeniusSquared(DCSRView, cudaStream_t, PetscReal *);                        /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRNormOne(DCSRView, cudaStream_t, PetscReal *);                                     /* largest column sum of absolute values; synchronizes */
PETSC_INTERN PetscErrorCode DCSRNormInfinity(DCSRView, cudaStream_t, PetscReal *);                                /* largest row sum of absolute values; synchronizes */
PETSC_INTERN PetscErrorCode DCSRColumnSumsAbs(DCSRView, PetscReal[], cudaStream_t);                               /* [num_columns] device: sums of absolute values, for the parallel one-norm */
PETSC_INTERN PetscErrorCode DCSRRowMaxAbs(DCSRView, PetscScalar[], PetscInt[], cudaStream_t); /* device [num_rows]; first largest |a_ij| by column; index array may be NULL; an empty row gives 0 and index 0... as MatGetRowMaxAbs_SeqAIJ() */
PETSC_INTERN PetscErrorCode DCSRRowSumAbs(DCSRView, PetscScalar[], cudaStream_t);
