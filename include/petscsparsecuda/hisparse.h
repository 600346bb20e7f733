#pragma once
/*
  HiSparse on the device: a second way to store a sequential matrix, smaller than CSR, for products in both directions.

  A HiSparse is made of compact CSR and knows no Mat. Two formats stand behind one table of functions (hisparseimpl.h):
  masked diagonals of slices of rows (diagonals), and masked diagonals of dense blocks of b x b entries (blockdiagonals).
  A matrix for which none saves enough has none, and stays CSR. It is for products, transposes, factors and sums; all else is done in CSR.
*/
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/spmv.h>

/* -mat_hisparse_format; HISPARSE_AUTO lets the rule select (rule.c). */
typedef enum {
  HISPARSE_AUTO,
  HISPARSE_DIAGONALS,       /* masked diagonals of slices of rows */
  HISPARSE_BLOCK_DIAGONALS, /* masked diagonals of dense blocks of 2 x 2, 3 x 3, 4 x 4 or 6 x 6 entries */
  HISPARSE_CSR              /* no HiSparse at all */
} HiSparseFormat;
PETSC_INTERN const char *const HiSparseFormats[]; /* for PetscOptionsEnum(): names, type name, prefix, NULL */

/* Stored values. Those of the CSR remainder, vectors and sums are PetscScalar always. */
typedef enum {
  HISPARSE_VALUES_SCALAR, /* PetscScalar */
  HISPARSE_VALUES_SINGLE, /* single precision, real or complex as PetscScalar is; HiSparseRound() makes this and the next one */
  HISPARSE_VALUES_HALF    /* FP16 with a power of two a slice; the diagonal entry of a row has in single precision what rounding took from the sum of the row */
} HiSparsePrecision;

typedef struct _n_HiSparse *HiSparse;

/* What a matrix became; on the host. */
typedef struct {
  HiSparseFormat    format;
  PetscCount        num_nonzeros;
  HiSparsePrecision precision;       /* of the stored values */
  size_t            bytes;           /* device memory, everything that exists now; what is shared counts in each matrix */
  size_t            values_bytes;    /* the part of it that are values, of both directions */
  size_t            transpose_bytes; /* the part of it that only the transpose product reads */
  PetscCount        num_segments;    /* masked segments of diagonals (diagonal segments) */
  PetscCount        num_others;      /* diagonals: entries of the CSR remainder; block diagonals: 0 */
  PetscBool         transposed;      /* the matrix is the transpose of what is stored, which all of the above is about */
  PetscInt          block_size;      /* block diagonals: rows of a block; 0 otherwise */
} HiSparseInfo;

/* What a sum did to the first term. */
typedef enum {
  HISPARSE_SUM_NONE,   /* nothing: CSR has to do it */
  HISPARSE_SUM_SAME,   /* the patterns are the same, values alone were added */
  HISPARSE_SUM_SUBSET, /* it has all entries of the other term, values alone were added */
  HISPARSE_SUM_GROWN   /* it has got the other term's entries */
} HiSparseSum;

/* What the rule counts (sample.cu): in slices of 128 rows that are spread evenly over the matrix; all of them when there are few. */
typedef struct {
  unsigned long long rows;        /* in the slices */
  unsigned long long entries;     /* in these rows */
  unsigned long long in_segments; /* of these, on diagonals that have enough entries in the slice to be a segment */
  unsigned long long segments;    /* such diagonals */
  int                not_full[4]; /* whether a row of dense blocks of each size that the format knows has one that is not full; of sizes that do not divide the matrix 0 */
  int                block_size;  /* the largest size without; 0: none */
} HiSparseSample;

/* A sample that is being taken (sample.cu): the device counts, and nobody waits. */
typedef struct _n_DCSRPost *HiSparseSampling;

PETSC_INTERN PetscErrorCode HiSparseSamplingQueue(DCSRView csr, int size, cudaStream_t stream, HiSparseSampling *sampling); /* *sampling NULL: too many are under way, or there is no pinned memory */
PETSC_INTERN PetscBool      HiSparseSamplingIsThere(HiSparseSampling sampling);
PETSC_INTERN PetscErrorCode HiSparseSamplingTake(DCSRView csr, int size, HiSparseSampling *sampling, HiSparseSample *sample); /* when it is there */
PETSC_INTERN void           HiSparseSamplingDestroy(HiSparseSampling *sampling);                                              /* at any time */

/* Before anything is made: which format, and what its products are predicted to take (rule.c) */
PETSC_INTERN PetscBool      HiSparseMayPay(PetscInt num_rows, PetscCount num_nonzeros);
PETSC_INTERN PetscInt       HiSparseIndexEntries(DCSRView csr, int block_size);
PETSC_INTERN PetscErrorCode HiSparsePredict(DCSRView csr, const HiSparseSample samples[], cudaStream_t stream, HiSparseFormat *format,
                                            double *ratio); /* of time over that of CSR; waits without samples */

/* All functions queue their work on stream; arrays are on the device unless they are said to be on the host. A function that fails leaves its HiSparse as it was. */
PETSC_INTERN PetscErrorCode HiSparseCreate(DCSRView csr, HiSparseFormat format, cudaStream_t stream,
                                           HiSparse *hisparse); /* *hisparse NULL: CSR is as good. csr is compact with sorted columns; synchronizes */
PETSC_INTERN PetscErrorCode HiSparseDestroy(HiSparse *hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDuplicate(HiSparse hisparse, cudaStream_t stream, HiSparse *copy); /* shares structure and, until one of the two changes them, values */
PETSC_INTERN PetscErrorCode HiSparseRound(HiSparse hisparse, HiSparsePrecision precision, cudaStream_t stream,
                                          HiSparse *rounded); /* values of less precision beside those that are there, for products alone */
PETSC_INTERN PetscErrorCode HiSparseCreateRounded(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, HiSparse *rounded);
PETSC_INTERN PetscErrorCode HiSparseSetRounded(HiSparse rounded, DCSRView csr, cudaStream_t stream);        /* the same from compact CSR, where nothing but rounded values is there */
PETSC_INTERN PetscErrorCode HiSparseGetRounding(HiSparse rounded, cudaStream_t stream, PetscReal *error);   /* of FP16; waits */
PETSC_INTERN PetscErrorCode HiSparseTranspose(HiSparse hisparse, cudaStream_t stream, HiSparse *transpose); /* the same for a copy that is the transpose: a flag in the header */
PETSC_INTERN PetscErrorCode HiSparseTransposeValues(HiSparse hisparse, HiSparse transpose, cudaStream_t stream, PetscBool *done); /* again, into the transpose of a matrix with the same structure */
PETSC_INTERN PetscErrorCode HiSparseGetInfo(HiSparse hisparse, HiSparseInfo *info);
PETSC_INTERN PetscErrorCode HiSparseSetValues(HiSparse hisparse, DCSRView csr, cudaStream_t stream);                                     /* values of compact CSR of the same structure */
PETSC_INTERN PetscErrorCode HiSparseGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream); /* into the arrays of compact CSR that the caller allocated */
PETSC_INTERN PetscErrorCode HiSparseCopyValues(HiSparse from, HiSparse to, cudaStream_t stream, PetscBool *done); /* of the same structure; synchronizes when that is not shared yet */

PETSC_INTERN PetscErrorCode HiSparseAXPY(HiSparse Y, PetscScalar a, HiSparse X, PetscCount max_nonzeros, cudaStream_t stream, HiSparseSum *sum); /* Y += a X, where the format can */

/* Products with vectors. HiSparsePrepare() makes what the first product of a direction needs. z == NULL means none; z == y is allowed. The same bits every time. */
PETSC_INTERN PetscErrorCode HiSparsePrepare(HiSparse hisparse, PetscBool transpose, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseMult(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseMultEpilogue(HiSparse hisparse, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode HiSparseMultTranspose(HiSparse hisparse, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);

PETSC_INTERN PetscErrorCode HiSparseScale(HiSparse hisparse, PetscScalar alpha, cudaStream_t stream);            /* a factor in the header, and no entry is touched, unless it would be extreme */
PETSC_INTERN PetscErrorCode HiSparseGetDiagonal(HiSparse hisparse, PetscScalar diagonal[], cudaStream_t stream); /* [min(rows, columns)], 0 where a row has no such entry */
