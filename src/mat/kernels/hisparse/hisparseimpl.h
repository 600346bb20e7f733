#pragma once
/*
  What the files of this folder share: the object, the table that each format fills, and what the files of the diagonals' format know of its arrays.

  A HiSparse has a structure and values, two objects of its format, each with a reference count: copies share both until one of them changes its values. A scale factor stands beside them.
*/
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/spmv.h>
#include "../insert/insertimpl.h"

/* Entries that leave the pattern: of listed rows, or those that are zero. */
typedef struct {
  PetscBool       zeros;         /* entries that are zero; PETSC_FALSE: all of the rows */
  PetscInt        n;             /* of the list */
  const PetscInt *rows;          /* [n] device, may repeat */
  PetscBool       keep_diagonal; /* but for those on the diagonal */
} HiSparseRemoval;

/*
  The functions of a format. structure and values are what create() made; work is queued on stream, arrays are on the device. A function that fails leaves both as they were.

  The scale factor of the matrix is alpha where a function takes it: the matrix is alpha times the values. The other functions work on the values as they are, and hisparse.c sees to the factor.
  Functions that write values are called when nobody else has them (hisparse.c copies first).
*/
typedef struct {
  /* *structure and *values NULL: the format does not fit the matrix. csr is compact, has values, rows sorted by column, and at least one entry. precision is of the values, where the format has a choice. May synchronize */
  PetscErrorCode (*create)(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values);
  PetscErrorCode (*structuredestroy)(void **structure, cudaStream_t stream);                      /* *structure is NULL afterwards, and may be before */
  PetscErrorCode (*valuescreate)(void *structure, cudaStream_t stream, void **values);            /* not initialized; *values NULL after an error */
  PetscErrorCode (*valuescopy)(void *structure, const void *from, void *to, cudaStream_t stream); /* all values; both are values of this structure */
  PetscErrorCode (*round)(void *structure, const void *from, cudaStream_t stream, void **to);     /* all values, which are PetscScalar, in single precision, of pieces at least; *to NULL: made, and NULL after an error */
  PetscErrorCode (*valuesdestroy)(void **values, cudaStream_t stream);                            /* *values is NULL afterwards, and may be before */
  PetscErrorCode (*getinfo)(void *structure, void *values, HiSparseInfo *info);                   /* bytes, values_bytes and numbers of pieces and others; precision is HISPARSE_VALUES_SCALAR, block_size 0 before */
  PetscErrorCode (*setvalues)(void *structure, void *values, DCSRView csr, cudaStream_t stream);  /* all values, from compact CSR of the same structure */
  PetscErrorCode (*getcsr)(void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream);

  /* Products with vectors: y = alpha op(A) x + z, z may be NULL or y. prepare() is called before each product of its direction and does nothing when all is there; Hermitian products are of the transpose direction. */
  PetscErrorCode (*prepare)(void *structure, void *values, PetscBool transpose, cudaStream_t stream);
  PetscErrorCode (*mult)(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
  PetscErrorCode (*multtranspose)(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
  PetscErrorCode (*multepilogue)(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream,
                                 PetscBool *done); /* of alpha A x; *done PETSC_FALSE: no kernel does that, nothing was done */

  /* Single entries: where those of a batch are, in positions that setfound() understands; their values; and whether another structure of the same sizes is the same in every array, which synchronizes */
  PetscErrorCode (*lookup)(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup);
  PetscErrorCode (*setfound)(void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream);
  /* New ones: a structure that somebody else has is copied first. grow() is called when nobody else has structure and values, and with new entries in the lookup; *done PETSC_FALSE: the structure has to be made again */
  PetscErrorCode (*structurecopy)(void *structure, cudaStream_t stream, void **copy); /* without what products made; the values fit both. *copy NULL after an error */
  PetscErrorCode (*grow)(void *structure, void *values, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done);
  /* All values, in the order of CSR: its row offsets, where setvalues() and getcsr() of values alone read them; NULL: they read nothing of CSR but its values */
  PetscErrorCode (*rowoffsets)(void *structure, DCSRView csr, cudaStream_t stream);
  /* All values from a list that has the entries of the matrix, without an array between them, where csr has row offsets alone; NULL: setvalues() does it. Not called for lists with long runs */
  PetscErrorCode (*setlist)(void *structure, void *values, DCSRView csr, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, PetscBool add, cudaStream_t stream);
  /* Deletion. How many listed rows lack the diagonal entry that they could have, which synchronizes; values of listed rows, and of flagged columns in rows without a flag: b -= A_flagged x, where x and b are not NULL */
  PetscErrorCode (*countwithoutdiagonal)(void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count);
  PetscErrorCode (*zerorows)(void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream);
  PetscErrorCode (*zerocolumns)(void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream);
  /* Called when nobody else has structure and values; *done PETSC_FALSE: the structure has to be made again, nothing was done. Synchronizes. May be NULL */
  PetscErrorCode (*shrink)(void *structure, void *values, const HiSparseRemoval *removal, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done);
  PetscErrorCode (*samestructure)(const void *structure, const void *other, cudaStream_t stream, PetscBool *same);

  /* Entry by entry, as the functions of entries.h. Those that write values */
  PetscErrorCode (*scale)(void *structure, void *values, PetscScalar alpha, cudaStream_t stream); /* multiplies all values */
  PetscErrorCode (*zero)(void *structure, void *values, cudaStream_t stream);                     /* also of values that were never initialized */
  PetscErrorCode (*conjugate)(void *structure, void *values, cudaStream_t stream);                /* complex scalars only, as the next two */
  PetscErrorCode (*realpart)(void *structure, void *values, cudaStream_t stream);
  PetscErrorCode (*imaginarypart)(void *structure, void *values, cudaStream_t stream);
  PetscErrorCode (*diagonalscale)(void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream); /* left [rows] and right [columns], or NULL */
  PetscErrorCode (*diagonaladd)(void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream);
  /* and those that read them */
  PetscErrorCode (*getdiagonal)(void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream); /* [min(rows, columns)], 0 where a row has none */
  PetscErrorCode (*countmissingdiagonal)(void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing);              /* of the first n rows; synchronizes */
  PetscErrorCode (*normfrobeniussquared)(void *structure, void *values, cudaStream_t stream, PetscReal *norm2);                 /* of the values, without the scale factor, as the next two; synchronizes */
  PetscErrorCode (*normone)(void *structure, void *values, cudaStream_t stream, PetscReal *norm);
  PetscErrorCode (*norminfinity)(void *structure, void *values, cudaStream_t stream, PetscReal *norm);
  PetscErrorCode (*rowsumabs)(void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream);                        /* alpha: absolute value of the scale factor, also in the next one; sums [rows] */
  PetscErrorCode (*columnsumsabs)(void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream);                      /* sums [columns] */
  PetscErrorCode (*rowmaxabs)(void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream); /* as DCSRRowMaxAbs(), with a factor above 0: largest [rows], indices [rows] or NULL */

  /* Sums; unite may be NULL */
  PetscErrorCode (*addvalues)(const void *structure, PetscScalar alpha, const void *values, PetscScalar beta, const void *others, void *sum, cudaStream_t stream); /* sum = alpha values + beta others; may be one of them */
  /* alpha (structure, values) + beta (other, other_values); num_nonzeros -1: cannot be done. When the sum has the structure of the first term, that is *sum_structure, and with overwrite its values may be *sum_values. Synchronizes */
  PetscErrorCode (*unite)(void *structure, void *values, PetscScalar alpha, const void *other, const void *other_values, PetscScalar beta, PetscCount max_nonzeros, PetscBool overwrite, cudaStream_t stream, void **sum_structure, void **sum_values,
                          PetscCount *num_nonzeros);
} HiSparseFormatOps;

PETSC_INTERN const HiSparseFormatOps HiSparseFormatDiagonals;      /* diagonals.c */
PETSC_INTERN const HiSparseFormatOps HiSparseFormatBlocks;         /* blocks.c */
PETSC_INTERN const HiSparseFormatOps HiSparseFormatBlockDiagonals; /* blockdiagonals.c */

/* The format that pays, HISPARSE_CSR when none does (rule.c). csr as in HiSparseCreate(), with at least one entry; synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseRuleApply(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, HiSparseFormat *format);
PETSC_INTERN double         HiSparseRuleWaves(PetscCount num_slices, int num_multiprocessors, int resident);

/* The sample that the rule counts (sample.cu). size: 1, or that of blocks; synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseSampleTake(DCSRView csr, int size, cudaStream_t stream, HiSparseSample *sample);

/* Structure or values of a format with the number of HiSparse that have it; goes when that is 0. */
typedef struct {
  PetscInt references;
  void    *data; /* of the format; owned */
} HiSparseShared;

struct _n_HiSparse {
  HiSparseFormat           format;    /* neither HISPARSE_AUTO nor HISPARSE_CSR */
  HiSparsePrecision        precision; /* that was asked for; a format that does not know it stores PetscScalar */
  const HiSparseFormatOps *ops;       /* of the format */
  PetscInt                 num_rows;  /* of the matrix, as num_columns: with transposed, those of the structure the other way round */
  PetscInt                 num_columns;
  PetscCount               num_nonzeros;
  AlignedScalar            scale;      /* the matrix is scale times the values */
  PetscBool                transposed; /* and the transpose of what structure and values say */
  HiSparseShared          *structure;
  HiSparseShared          *values;
};

/* hisparse.c */
PETSC_INTERN PetscErrorCode HiSparseChangeScaledValues(HiSparse hisparse, cudaStream_t stream);
typedef PetscErrorCode      HiSparseWrite(HiSparse hisparse, void *values, const void *from, cudaStream_t stream); /* writes all values of the format */
PETSC_INTERN PetscErrorCode HiSparseWriteValues(HiSparse hisparse, HiSparseWrite *write, const void *from, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseChangeStructure(HiSparse hisparse, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseShare(HiSparse from, HiSparse to, cudaStream_t stream);

/* Arrays on the device that are compared (samearrays.cu): num pairs of so many bytes, a multiple of 2 each; *same is on the host. Synchronizes. */
typedef struct {
  const void *a, *b;
  size_t      bytes;
} HiSparseArrays;
PETSC_INTERN PetscErrorCode HiSparseSameArrays(int num, const HiSparseArrays arrays[], cudaStream_t stream, PetscBool *same);

/* A transposed matrix: what takes more than the other function of the format (transposed.c, transposed.cu). Arrays are on the device, work is queued on stream. */
PETSC_INTERN PetscErrorCode HiSparseTransposedGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseTransposedMultHermitian(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseTransposedRowSumAbs(HiSparse hisparse, PetscScalar sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseTransposedColumnSumsAbs(HiSparse hisparse, PetscReal sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseTransposedRowMaxAbs(HiSparse hisparse, PetscScalar largest[], PetscInt indices[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseConjugateVector(PetscCount n, const PetscScalar x[], PetscScalar y[], cudaStream_t stream); /* y = conj(x), x may be y */
PETSC_INTERN PetscErrorCode HiSparseScalarsFromReals(PetscCount n, const PetscReal x[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseRealsFromScalars(PetscCount n, const PetscScalar x[], PetscReal y[], cudaStream_t stream); /* the real parts */

/*
  The format of masked diagonals.

  A slice is 128 rows, a piece is the part of a diagonal that lies in a slice: a bit for each of the 128 rows says which of its entries exist. The entry of row i of the slice is in column c0 + i. The values of
  a piece are packed, by ascending row: that of row i is the popcount(bits below i)-th. The pieces of a slice ascend by c0, and so do the columns of a row from piece to piece.

  A diagonal with fewer entries in a slice than an eighth of its rows is no piece: its entries lie in the overflow, a CSR matrix of the rows that have such entries. When the whole matrix has very few of them, they are pieces.

  Values of pieces are PetscScalar or, on request, single precision. Those of the overflow are always PetscScalar, since DCSR's kernels work on them.
*/
#define HISPARSE_SLICE_ROWS  128
#define HISPARSE_SLICE_WORDS 4 /* 32-bit words of a mask */

typedef struct {
  uint32_t mask[HISPARSE_SLICE_WORDS]; /* bit i % 32 of word i / 32 is set when row i of the slice has an entry; not all 0 */
  int32_t  c0;                         /* column of the entry of row 0, also when it is outside of the matrix: from -127 */
  uint32_t values;                     /* place of the first value behind that of the slice */
} HiSparsePiece;

typedef struct {
  int64_t  values;      /* place of the slice's first value */
  uint32_t first_piece; /* pieces [first_piece, first_piece + num_pieces) */
  uint32_t num_pieces;
} HiSparseSlice;

/*
  A piece of a diagonal in a slice of 128 columns, for A^T x: the entry of column j of the slice is in row r0 + j. Its rows lie in two slices of rows, so that its values are in two places. That of column j is the
  popcount(bits below j)-th behind first when row r0 + j is in the first of the two slices of rows, behind second otherwise; bits below j count also when they are of the first of the two.
*/
typedef struct {
  uint32_t mask[HISPARSE_SLICE_WORDS];
  int32_t  r0;    /* from -127 */
  uint32_t first; /* low 32 bits of a place of 48 bits */
  uint32_t second;
  uint32_t high; /* their high 16 bits: of first in bits 0 to 15, of second in bits 16 to 31 */
} HiSparseTransposedPiece;

/* Entries outside of pieces, or their transpose: a CSR matrix of the rows that have any. All arrays NULL and all sizes 0 when there are none. */
typedef struct {
  DCSRView     view; /* compact, structure only: num_rows is the number of rows that have entries, num_columns that of the whole matrix; owned */
  int32_t     *rows; /* [view.num_rows] row of the whole matrix, ascending; owned */
  DCSRSpMVPlan plan; /* of view; NULL before the first product; owned */
  PetscScalar *sums; /* [view.num_rows] products of the rows, used inside one call; NULL before the first product; owned */
} HiSparseOverflow;

/* A launch shape of the products with diagonals (diagonalsmult.cu has the table). */
typedef struct {
  int threads;  /* of a thread block; a warp takes a slice */
  int batch;    /* pieces whose values and parts of x are all loaded before the first is used */
  int resident; /* threads that a multiprocessor holds at least, which limits the registers */
} HiSparseConfig;

/* Structure. */
typedef struct {
  HiSparsePrecision precision; /* of all values that are made for this structure; HISPARSE_VALUES_SCALAR with PETSc in single precision */
  PetscInt          num_rows;
  PetscInt          num_columns;
  PetscCount        num_nonzeros;     /* in pieces and in the overflow */
  PetscCount        num_piece_values; /* in pieces */
  PetscCount        used_values;      /* places of values that slices got: num_piece_values, and those that insertion gave up, whose values are 0 */
  PetscCount        values_capacity;  /* used_values, and room for insertion: length of the array of values */
  PetscInt          num_slices;       /* of rows */
  PetscInt          num_column_slices;
  PetscCount        num_pieces;
  PetscCount        used_pieces;     /* places of pieces that slices got: num_pieces, and those that insertion gave up */
  PetscCount        pieces_capacity; /* used_pieces, and room for insertion */
  PetscCount        num_thin_pieces; /* pieces with few entries: of a matrix that has very few such, and those that insertion has made */
  PetscCount        max_quarter;     /* most entries in a quarter of a slice, 32 rows, overflow included, when the structure was made */
  HiSparseSlice    *slices;          /* [num_slices]; owned */
  HiSparsePiece    *pieces;          /* [pieces_capacity] those of a slice behind each other, by c0; owned */
  HiSparseOverflow  overflow;
  int32_t          *overflow_slices; /* [num_slices + 1] first row of the overflow that is in this slice or behind it; NULL without overflow; owned */

  /* For A^T x; NULL and 0 before the first such product */
  PetscCount               num_transposed_pieces;
  HiSparseTransposedPiece *transposed_pieces;      /* [num_transposed_pieces] by slice of columns, then by r0; owned */
  uint32_t                *transposed_slices;      /* [num_column_slices + 1] first piece of each slice of columns; owned */
  PetscInt                 num_transposed_parts;   /* a slice of columns with very many pieces is summed in parts: of all slices, one at least of each; 0 when no slice has so many, and the next three are NULL */
  uint32_t                *transposed_parts;       /* [num_transposed_parts + 1] first piece of each part, the parts of a slice behind each other; owned */
  int32_t                 *transposed_slice_parts; /* [num_column_slices + 1] first part of each slice of columns; owned */
  PetscScalar             *part_sums;              /* [128 * num_transposed_parts] used inside one call; owned */
  HiSparseOverflow         transposed_overflow;    /* num_columns of its view is num_rows of the matrix */
  void                    *permutation;            /* [entries of the overflow] of int32_t, or int64_t when the overflow's view is wide: entry k of transposed_overflow is entry permutation[k] of overflow; NULL without overflow; owned */

  HiSparseConfig config; /* of the products */
} HiSparseDiagonals;

/* What the transposed overflow's values are. */
typedef enum {
  HISPARSE_TRANSPOSED_STALE,
  HISPARSE_TRANSPOSED_PLAIN,
  HISPARSE_TRANSPOSED_CONJUGATE
} HiSparseTransposedState;

/* Values. Whoever writes them sets transposed_state to HISPARSE_TRANSPOSED_STALE. */
typedef struct {
  HiSparsePrecision       precision;         /* of values: PetscScalar, or single precision (storedvalues.cuh) */
  void                   *values;            /* [values_capacity] of the pieces, those of a slice behind each other; what belongs to no slice is 0; owned */
  PetscScalar            *overflow_values;   /* [entries of the overflow] in CSR's order; NULL without overflow; owned */
  PetscScalar            *transposed_values; /* [entries of the overflow] of transposed_overflow; NULL before the first product with the transpose, and without overflow; owned */
  HiSparseTransposedState transposed_state;
} HiSparseDiagonalsValues;

/* The diagonals' functions, in the table under the names of their operations. structure is a HiSparseDiagonals *, values a HiSparseDiagonalsValues *. */

/* diagonals.c */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsCreate(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values);
/* A diagonal with fewer entries in a slice than one in so many of its rows is no piece: 24 bytes for it and loads that few lanes take part in cost more than 4 bytes an entry. */
#define HISPARSE_MIN_PART 8
/* diagonalsencode.cu: the structure of csr into *d, which is all 0 before; on an error, and when it does not fit, the caller frees what is there. Synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsEncode(DCSRView csr, int min_part, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits);
/* diagonalsoverflow.cu: csr, structure only, without its empty rows. On success overflow owns the columns of csr, whose row offsets the caller frees. Synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseOverflowCreate(DCSRView csr, cudaStream_t stream, HiSparseOverflow *overflow);
PETSC_INTERN PetscErrorCode HiSparseOverflowFindSlices(const HiSparseOverflow *overflow, PetscInt num_slices, cudaStream_t stream, int32_t **slices);
PETSC_INTERN PetscErrorCode HiSparseOverflowDestroy(HiSparseOverflow *overflow, cudaStream_t stream);
/* diagonalsvalues.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsSetValues(void *structure, void *values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGetCSR(void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsSetList(void *structure, void *values, DCSRView csr, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, PetscBool add, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRowOffsets(void *structure, DCSRView csr, cudaStream_t stream);
/* diagonalsvalid.cu */
/* diagonalsinsert.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsLookup(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsSetFound(void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream);
/* New entries, as a part of all: with more, the structure is made again, since the rule may choose otherwise. */
#define HISPARSE_MAX_NEW_PART 4
/* newblocks.cu: the new entries of a batch as whole blocks */
typedef struct {
  PetscCount n;    /* how many; 0: some new entries are of no whole block */
  uint64_t  *keys; /* [n] device: row << column_bits | column, of blocks, ascending; column_bits are those of the batch; owned */
} HiSparseNewBlocks;
PETSC_INTERN PetscErrorCode HiSparseNewBlocksCreate(int size, const DCSRBatch *batch, DCSRLookup *lookup, cudaStream_t stream, HiSparseNewBlocks *blocks);
PETSC_INTERN PetscErrorCode HiSparseNewBlocksDestroy(HiSparseNewBlocks *blocks, cudaStream_t stream);
/* diagonalsgrow.cu: entries, or blocks, that are not there yet, and entries that are */
typedef struct {
  int                size;   /* of blocks; 1 for entries */
  PetscCount         n;      /* how many */
  const PetscCount  *list;   /* [n] device: which of the keys, ascending; NULL: all */
  const uint64_t    *keys;   /* device: row << column_bits | column, ascending */
  const PetscScalar *values; /* device: by the numbers of the list; NULL for blocks */
  int                column_bits;
} HiSparseNewEntries;
typedef struct {
  const DCSRBatch  *batch;
  const DCSRLookup *lookup;
  InsertMode        mode;
} HiSparseFoundEntries;
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGrowSlices(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, const HiSparseNewEntries *fresh, const HiSparseFoundEntries *found, cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGrow(void *structure, void *values, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done);
/* diagonalsdelete.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsCountWithoutDiagonal(void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsZeroRows(void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsZeroColumns(void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream);
/* diagonalsshrink.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsShrink(void *structure, void *values, const HiSparseRemoval *removal, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done);
/* diagonals.c: bytes of the value of an entry in a piece */
PETSC_INTERN size_t HiSparseDiagonalsValueBytes(const HiSparseDiagonals *diagonals);
PETSC_INTERN size_t HiSparseDiagonalsPieceBytes(const void *values, PetscCount n);
/* diagonals.c: an array of the device again; *to stays NULL after an error. */
PETSC_INTERN PetscErrorCode HiSparseCopyArray(const void *from, size_t bytes, const char what[], cudaStream_t stream, void *to);
/* diagonals.c: the values, which those of blocks and of diagonals of blocks are, too */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsValuesCreate(void *structure, cudaStream_t stream, void **values);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsValuesCopy(void *structure, const void *from, void *to, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsValuesDestroy(void **values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRound(void *structure, const void *from, cudaStream_t stream, void **to);
/* diagonals.c: forgets what products with the transpose read. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsTransposeDestroy(HiSparseDiagonals *diagonals, cudaStream_t stream);
/* diagonalstranspose.cu: the lists of A^T x, when they are not there. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsTransposeCreate(HiSparseDiagonals *diagonals, cudaStream_t stream);
/* diagonalsmult.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsPrepare(void *structure, void *values, PetscBool transpose, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsMult(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsMultEpilogue(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsMultTranspose(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
/* diagonalsentries.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsScale(void *structure, void *values, PetscScalar alpha, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsZero(void *structure, void *values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsConjugate(void *structure, void *values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRealPart(void *structure, void *values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsImaginaryPart(void *structure, void *values, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsDiagonalScale(void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsDiagonalAdd(void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGetDiagonal(void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsCountMissingDiagonal(void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing);
/* diagonalsnorms.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsNormFrobeniusSquared(void *structure, void *values, cudaStream_t stream, PetscReal *norm2);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsNormOne(void *structure, void *values, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsNormInfinity(void *structure, void *values, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRowSumAbs(void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsColumnSumsAbs(void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream);
/* diagonalslargest.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRowMaxAbs(void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream);
/* diagonalssum.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsAddValues(const void *structure, PetscScalar alpha, const void *values, PetscScalar beta, const void *others, void *sum, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsUnite(void *structure, void *values, PetscScalar alpha, const void *other, const void *other_values, PetscScalar beta, PetscCount max_nonzeros, PetscBool overwrite, cudaStream_t stream,
                                                   void **sum_structure, void **sum_values, PetscCount *num_nonzeros);

/* Every configuration there is, for sweeps and tests: their number, the i-th, and its use by the products of a HiSparse and of all its copies. */
PETSC_INTERN PetscErrorCode HiSparseConfigGetCount(PetscInt *n);
PETSC_INTERN PetscErrorCode HiSparseConfigGet(PetscInt i, HiSparseConfig *config);
PETSC_INTERN PetscErrorCode HiSparseSetConfig(HiSparse hisparse, const HiSparseConfig *config);
