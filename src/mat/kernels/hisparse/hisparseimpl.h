#pragma once
/*
  What the files of this folder share: the object, the table that each format fills, and values.

  A HiSparse has a structure of its format, which never changes, and values, each with a reference count: copies share both until one of them changes its values. A scale factor stands beside them.
*/
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/spmv.h>

/* Values. Whoever writes them clears transposed_is_current. */
typedef struct {
  PetscInt          references;
  HiSparsePrecision precision;         /* of values */
  PetscCount        num_values;        /* in segments */
  PetscCount        num_others;        /* of the CSR remainder; always PetscScalar, since DCSR's kernels work on them */
  void             *values;            /* [num_values] by slice; owned */
  PetscScalar      *remainder_values;  /* [num_others] in CSR's order; NULL without any; owned */
  PetscScalar      *transposed_values; /* [num_others] of the transpose of the remainder; NULL before the first product with the transpose, and without any; owned */
  PetscBool         transposed_is_current;
  double           *scales;      /* [1 + slices] FP16: the largest error of a row (HiSparseGetRounding()), then powers of two that values of a slice are to be multiplied by; owned */
  float            *corrections; /* [rows] FP16: of diagonal entries, before they are multiplied; owned */
  size_t            half_bytes;  /* of these two */
} HiSparseValues;

/* values.c */
PETSC_INTERN PetscErrorCode HiSparseValuesCreate(PetscCount num_values, PetscCount num_others, HiSparsePrecision precision, cudaStream_t stream, HiSparseValues **values);
PETSC_INTERN PetscErrorCode HiSparseValuesDestroy(HiSparseValues **values, cudaStream_t stream);
PETSC_INTERN size_t         HiSparseValuesBytes(const HiSparseValues *v, size_t *transpose_bytes);
PETSC_INTERN PetscErrorCode HiSparseValuesCopy(const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseValuesScale(HiSparseValues *v, PetscScalar alpha, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseValuesAdd(PetscScalar alpha, const HiSparseValues *a, PetscScalar beta, const HiSparseValues *b, HiSparseValues *sum, cudaStream_t stream);

typedef enum {
  HISPARSE_FORWARD,
  HISPARSE_TRANSPOSE,
  HISPARSE_HERMITIAN /* complex scalars alone */
} HiSparseDirection;

/*
  The functions of a format. structure is what create() made; work is queued on stream, arrays are on the device. A function that fails leaves structure and values as they were.

  The matrix is alpha times the values. Rounded values come to products alone. Functions that write values are called when nobody else has them.
*/
typedef struct {
  PetscErrorCode (*create)(
    DCSRView csr, cudaStream_t stream, void **structure,
    PetscCount *num_others); /* of csr as in HiSparseCreate(), with at least one entry; *structure NULL: does not fit, or an error. Entries outside of segments. May synchronize */
  PetscErrorCode (*destroy)(void **structure, cudaStream_t stream);                                              /* *structure is NULL afterwards, and may be before */
  PetscErrorCode (*getinfo)(const void *structure, HiSparseInfo *info);                                          /* bytes without values, num_segments, block_size, which are 0 before */
  PetscErrorCode (*setvalues)(const void *structure, HiSparseValues *values, DCSRView csr, cudaStream_t stream); /* all values, from compact CSR of the same structure */
  PetscErrorCode (*getcsr)(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream);

  /* y = alpha op(A) x + z, z may be NULL or y. prepare() is called before each product of its direction and does nothing when all is there; Hermitian products are of the transpose direction. */
  PetscErrorCode (*prepare)(void *structure, HiSparseValues *values, PetscBool transpose, cudaStream_t stream);
  PetscErrorCode (*mult)(const void *structure, HiSparseValues *values, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                         cudaStream_t stream);
  PetscErrorCode (*multepilogue)(const void *structure, const HiSparseValues *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                 cudaStream_t stream); /* of alpha A x */

  PetscErrorCode (*getdiagonal)(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream); /* [min(rows, columns)], 0 where a row has none */
  PetscErrorCode (*samestructure)(const void *structure, const void *other, cudaStream_t stream,
                                  PetscBool *same); /* whether another structure of a matrix of the same sizes is the same in every array; synchronizes */
  /* alpha (structure, values) + beta (other, other_values); num_nonzeros -1: cannot be done. When the sum has the structure of the first term, that is *sum_structure, and with overwrite its values may be *sum_values.
     Synchronizes. NULL: no sums of different structures */
  PetscErrorCode (*unite)(void *structure, HiSparseValues *values, PetscScalar alpha, const void *other, const HiSparseValues *other_values, PetscScalar beta, PetscCount max_nonzeros,
                          PetscBool overwrite, cudaStream_t stream, void **sum_structure, HiSparseValues **sum_values, PetscCount *num_nonzeros);
  /* to, which is FP16, gets the values of from, which are PetscScalar, and what else it has; square matrices. NULL: the format has no FP16 */
  PetscErrorCode (*roundhalf)(const void *structure, const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream);
} HiSparseFormatOps;

PETSC_INTERN const HiSparseFormatOps HiSparseFormatDiagonals;      /* diagonals.c */
PETSC_INTERN const HiSparseFormatOps HiSparseFormatBlockDiagonals; /* blockdiagonals.c */

PETSC_INTERN PetscErrorCode HiSparseValuesRound(const HiSparseFormatOps *ops, const void *structure, const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream); /* values.c */

/* The format that pays, HISPARSE_CSR when none does (rule.c). csr as in HiSparseCreate(), with at least one entry; synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseRuleApply(DCSRView csr, cudaStream_t stream, HiSparseFormat *format);
PETSC_INTERN double         HiSparseRuleWaves(PetscCount num_slices, int num_multiprocessors, int resident);

/* The sample that the rule counts (sample.cu). size: 1, or that of blocks; synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseSampleTake(DCSRView csr, int size, cudaStream_t stream, HiSparseSample *sample);

/* The structure of a format with the number of HiSparse that have it; goes when that is 0. */
typedef struct {
  PetscInt references;
  void    *data; /* of the format; owned */
} HiSparseStructure;

struct _n_HiSparse {
  HiSparseFormat           format;   /* neither HISPARSE_AUTO nor HISPARSE_CSR */
  const HiSparseFormatOps *ops;      /* of the format */
  PetscInt                 num_rows; /* of the matrix, as num_columns: with transposed, those of the structure the other way round */
  PetscInt                 num_columns;
  PetscCount               num_nonzeros;
  AlignedScalar            scale;      /* the matrix is scale times the values */
  PetscBool                transposed; /* and the transpose of what structure and values say */
  HiSparseStructure       *structure;
  HiSparseValues          *values;
};

/* hisparse.c */
PETSC_INTERN PetscErrorCode HiSparseStructureDestroy(HiSparseStructure **structure, const HiSparseFormatOps *ops, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseCheckValues(HiSparse hisparse);
PETSC_INTERN PetscErrorCode HiSparseValuesToWrite(HiSparse h, cudaStream_t stream, HiSparseValues **values);
PETSC_INTERN PetscErrorCode HiSparseValuesWritten(HiSparse h, HiSparseValues *values, cudaStream_t stream);

/* Arrays on the device that are compared (samearrays.cu): num pairs of so many bytes, a multiple of 2 each; *same is on the host. Synchronizes. */
typedef struct {
  const void *a, *b;
  size_t      bytes;
} HiSparseArrays;
PETSC_INTERN PetscErrorCode HiSparseSameArrays(int num, const HiSparseArrays arrays[], cudaStream_t stream, PetscBool *same);

/* Transposed matrices (transposed.c, transposed.cu) */
PETSC_INTERN PetscErrorCode HiSparseTransposedGetCSR(HiSparse hisparse, PetscBool values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseTransposedMultHermitian(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseConjugateVector(PetscCount n, const PetscScalar x[], PetscScalar y[], cudaStream_t stream);
