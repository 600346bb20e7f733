#pragma once
/*
  HiSparse on the device: a second way to store a sequential matrix, smaller than CSR, for products in both directions.

  A HiSparse is made of compact CSR and knows no Mat. Three formats stand behind one table of functions (hisparseimpl.h):
  masked diagonals of slices of rows (diagonals), CSR with 16-bit columns in windows (windows), and dense blocks of b x b entries (blocks).
  A matrix for which none saves enough has none, and stays CSR.
*/
#include <petscsparsecuda/dcsr.h>

/* -mat_hisparse_format; HISPARSE_AUTO lets the rule choose (rule.c). */
typedef enum {
  HISPARSE_AUTO,
  HISPARSE_DIAGONALS, /* masked diagonals of slices of rows */
  HISPARSE_WINDOWS,   /* CSR whose columns are 16 bits: a window of the block and a place in it */
  HISPARSE_BLOCKS,    /* dense blocks of 2 x 2, 3 x 3, 4 x 4 or 6 x 6 entries */
  HISPARSE_CSR        /* no HiSparse at all */
} HiSparseFormat;
PETSC_INTERN const char *const HiSparseFormats[]; /* for PetscOptionsEnum(): names, type name, prefix, NULL */

typedef struct _n_HiSparse *HiSparse;

/* What a matrix became; on the host. */
typedef struct {
  HiSparseFormat format;
  size_t         bytes;           /* device memory, everything that exists now; what is shared counts in each matrix */
  size_t         transpose_bytes; /* the part of it that only the transpose product reads */
  PetscCount     num_pieces;      /* diagonals: masked pieces of diagonals; windows: thread blocks with 16-bit columns; blocks: blocks */
  PetscCount     num_others;      /* diagonals: entries outside of pieces, which lie in CSR; windows: thread blocks with 32-bit columns; blocks: 0 */
  PetscInt       block_size;      /* blocks: rows of a block; 0 otherwise */
} HiSparseInfo;

/* All functions queue their work on stream; arrays are on the device unless they are said to be on the host. A function that fails leaves its HiSparse as it was. */
PETSC_INTERN PetscErrorCode HiSparseCreate(DCSRView csr, HiSparseFormat format, cudaStream_t stream, HiSparse *hisparse); /* *hisparse NULL: CSR is as good. csr is compact with sorted columns; synchronizes */
PETSC_INTERN PetscErrorCode HiSparseDestroy(HiSparse *hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDuplicate(HiSparse hisparse, cudaStream_t stream, HiSparse *copy); /* shares structure and, until one of the two changes them, values */
PETSC_INTERN PetscErrorCode HiSparseGetInfo(HiSparse hisparse, HiSparseInfo *info);
PETSC_INTERN PetscErrorCode HiSparseSetValues(HiSparse hisparse, DCSRView csr, cudaStream_t stream);                                     /* values of compact CSR of the same structure */
PETSC_INTERN PetscErrorCode HiSparseGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream); /* into the arrays of compact CSR that the caller allocated */

/* Products with vectors. HiSparsePrepare() makes what the first product of a direction needs. z == NULL means none; z == y is allowed. The same bits every time. */
PETSC_INTERN PetscErrorCode HiSparsePrepare(HiSparse hisparse, PetscBool transpose, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseMult(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseMultTranspose(HiSparse hisparse, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);

/* Entry by entry, as the functions of entries.h. */
PETSC_INTERN PetscErrorCode HiSparseScale(HiSparse hisparse, PetscScalar alpha, cudaStream_t stream); /* a factor in the header; no entry is touched */
PETSC_INTERN PetscErrorCode HiSparseZero(HiSparse hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseConjugate(HiSparse hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseRealPart(HiSparse hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseImaginaryPart(HiSparse hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalScale(HiSparse hisparse, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseGetDiagonal(HiSparse hisparse, PetscScalar diagonal[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseCountMissingDiagonal(HiSparse hisparse, PetscCount n, cudaStream_t stream, PetscCount *missing);
PETSC_INTERN PetscErrorCode HiSparseDiagonalAdd(HiSparse hisparse, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseNormFrobeniusSquared(HiSparse hisparse, cudaStream_t stream, PetscReal *norm2);
PETSC_INTERN PetscErrorCode HiSparseNormOne(HiSparse hisparse, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode HiSparseNormInfinity(HiSparse hisparse, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode HiSparseRowSumAbs(HiSparse hisparse, PetscScalar sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseColumnSumsAbs(HiSparse hisparse, PetscReal sums[], cudaStream_t stream);
