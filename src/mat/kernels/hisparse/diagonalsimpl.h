#pragma once
/*
  The formats of masked diagonals, of entries and of dense blocks.

  A slice is 128 rows, a diagonal segment is the part of a diagonal that lies in a slice: a bit for each of the 128 rows says which of its entries exist. The entry of row i of the slice is in column
  c0 + i. The values of a segment are packed, by ascending row: that of row i is the popcount(bits below i)-th. The segments of a slice ascend by c0, and so do the columns of a row from segment to
  segment.

  A diagonal with fewer entries in a slice than an eighth of its rows is no segment: its entries lie in the CSR remainder, a CSR matrix of the rows that have such entries. When the whole matrix has
  very few of them, they are segments.

  Diagonals of b x b blocks, for matrices of several unknowns a point on a grid, have the structure of the collapsed matrix, which has an entry for each block: a row of blocks is a row there. All
  blocks are full, and all of them are in segments, since one block makes a segment. A matrix whose segments have few blocks on average does not fit.

  A group of a segment is the part of it that 32 rows of blocks have, those of a word of its mask. The values of a group lie behind each other: b * b planes, one for each entry of a block, by row, and
  in a plane the values of the group's blocks by ascending row. So the first value of a group is at b * b times the position of its first block, the plane of entry (a, c) of blocks begins (a * b + c)
  * n behind it when the group has n blocks,
  and 32 lanes that have a row of blocks each read consecutive values. A^T x reads the same values.
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/blocklist.h>

#define HISPARSE_SLICE_ROWS  128
#define HISPARSE_SLICE_WORDS 4 /* 32-bit words in the mask of a segment */

typedef struct {
  uint32_t mask[HISPARSE_SLICE_WORDS]; /* bit i % 32 of word i / 32 is set when row i of the slice has an entry; not all 0 */
  int32_t  c0;                         /* column of the entry of row 0, also when it is outside of the matrix: from -127 */
  uint32_t values;                     /* position of the first value behind that of the slice */
} HiSparseSegment;

typedef struct {
  int64_t  values;        /* position of the slice's first value */
  uint32_t first_segment; /* segments [first_segment, first_segment + num_segments) */
  uint32_t num_segments;
} HiSparseSlice;

/*
  A segment of a diagonal in a slice of 128 columns, for A^T x: the entry of column j of the slice is in row r0 + j. Its rows lie in two slices of rows, so that its values are in two positions. That
  of column j is the popcount(bits below j)-th behind first when row r0 + j is in the first of the two slices of rows, behind second otherwise; bits below j count also when they are of the first of
  the two.
*/
typedef struct {
  uint32_t mask[HISPARSE_SLICE_WORDS];
  int32_t  r0;    /* from -127 */
  uint32_t first; /* low 32 bits of a position of 48 bits */
  uint32_t second;
  uint32_t high; /* their high 16 bits: of first in bits 0 to 15, of second in bits 16 to 31 */
} HiSparseTransposedSegment;

/* The CSR remainder, or its transpose: a CSR matrix of the rows that have any. All arrays NULL and all sizes 0 when there are none. */
typedef struct {
  DCSRView     view; /* compact, structure only: num_rows is the number of rows that have entries, num_columns that of the whole matrix; owned */
  int32_t     *rows; /* [view.num_rows] row of the whole matrix, ascending; owned */
  DCSRSpMVPlan plan; /* of view; NULL before the first product; owned */
  PetscScalar *sums; /* [view.num_rows] products of the rows, used inside one call; NULL before the first product; owned */
} HiSparseRemainder;

/* Threads that a multiprocessor holds at least of the products with diagonals, and of those with blocks of a size; they limit the registers. */
#if PetscDefined(USE_COMPLEX)
  #define HISPARSE_RESIDENT 768
#elif PetscDefined(USE_REAL_SINGLE)
  #define HISPARSE_RESIDENT 1024
#else
  #define HISPARSE_RESIDENT 896
#endif
#define BLOCK_DIAGONALS_RESIDENT(size) ((size) == 2 ? 896 : (size) == 4 ? 768 : 640)

#define BLOCK_DIAGONALS_WORDS 5 /* of rows, that the 128 columns of a segment of the transpose have rows in */

/*
  The same for blocks. The masks are those of rows, whole, so that they give how many blocks a group has: group q has the rows 32 * (floor(r0 / 32) + q) and on. Bits of rows whose blocks are in other
  slices of columns count in it, and are not of this segment.
*/
typedef struct {
  uint32_t mask[BLOCK_DIAGONALS_WORDS];
  int32_t  r0; /* from -127 */
  int64_t
    position[2]; /* of the first block of group q, less the number of bits of the groups before q: position[0] for groups of the slice of rows that r0 is in, position[1] for those of the next one */
} BlockDiagonalsTransposedSegment;

/* Structure. With blocks all numbers are those of the collapsed matrix. */
typedef struct {
  int               size;     /* b; 1: entries */
  PetscInt          num_rows; /* of blocks, and so on */
  PetscInt          num_columns;
  PetscCount        num_nonzeros;       /* in segments and in the remainder */
  PetscCount        num_segment_values; /* in segments */
  PetscInt          num_slices;         /* of rows */
  PetscInt          num_column_slices;
  PetscCount        num_segments;
  PetscCount        max_quarter; /* most entries in a quarter of a slice, 32 rows, remainder included */
  HiSparseSlice    *slices;      /* [num_slices]; owned */
  HiSparseSegment  *segments;    /* [num_segments] those of a slice behind each other, by c0; owned */
  HiSparseRemainder remainder;
  int32_t          *remainder_slices; /* [num_slices + 1] first row of the remainder that is in this slice or behind it; NULL without remainder; owned */

  /* For A^T x; NULL and 0 before the first such product */
  PetscCount                       num_transposed_segments;
  HiSparseTransposedSegment       *transposed_segments; /* [num_transposed_segments] by slice of columns, then by r0; NULL with blocks; owned */
  BlockDiagonalsTransposedSegment *transposed_blocks;   /* the same with blocks; otherwise NULL; owned */
  uint32_t                        *transposed_slices;   /* [num_column_slices + 1] first segment of each slice of columns; owned */
  PetscInt     num_transposed_parts; /* a slice of columns with very many segments is summed in parts: of all slices, one at least of each; 0 when no slice has so many, and the next three are NULL */
  uint32_t    *transposed_parts;     /* [num_transposed_parts + 1] first segment of each part, the parts of a slice behind each other; owned */
  int32_t     *transposed_slice_parts;    /* [num_column_slices + 1] first part of each slice of columns; owned */
  PetscScalar *part_sums;                 /* [128 * num_transposed_parts] used inside one call; owned */
  HiSparseRemainder transposed_remainder; /* num_columns of its view is num_rows of the matrix */
  void *permutation; /* [entries of the remainder] of int32_t, or int64_t when the remainder's view is wide: entry k of transposed_remainder is entry permutation[k] of remainder; NULL without
                    remainder; owned */
} HiSparseDiagonals;

/* The functions of the two tables are called as in HiSparseFormatOps; structure is a HiSparseDiagonals *. */

/* A diagonal with fewer entries in a slice than one in so many of its rows is no segment: 24 bytes for it and loads that few lanes take part in cost more than 4 bytes an entry. */
#define HISPARSE_MIN_PART 8

/* diagonalsencode.cu: the structure of csr into *d, which is all 0 before; on an error, and when it does not fit, the caller frees what is there. Synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsEncode(DCSRView csr, int min_part, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits);
/* diagonalsremainder.cu: csr, structure only, without its empty rows. On success remainder owns the columns of csr, whose row offsets the caller frees. Synchronizes. */
PETSC_INTERN PetscErrorCode HiSparseRemainderCreate(DCSRView csr, cudaStream_t stream, HiSparseRemainder *remainder);
PETSC_INTERN PetscErrorCode HiSparseRemainderFindSlices(const HiSparseRemainder *remainder, PetscInt num_slices, cudaStream_t stream, int32_t **slices);
PETSC_INTERN PetscErrorCode HiSparseRemainderDestroy(HiSparseRemainder *remainder, cudaStream_t stream);
/* diagonals.c: for both; the lists of A^T x go alone. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsDestroy(void **structure, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsTransposeDestroy(HiSparseDiagonals *d, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGetInfo(const void *structure, HiSparseInfo *info);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsSameStructure(const void *structure, const void *other, cudaStream_t stream, PetscBool *same);
/* blockdiagonals.c: sizes of blocks */
#define BLOCK_DIAGONALS_NUM_SIZES 4
PETSC_INTERN const int BlockDiagonalsSizes[BLOCK_DIAGONALS_NUM_SIZES]; /* those that exist, the largest first */
/* diagonalstranspose.cu, blockdiagonalstranspose.cu: the lists of A^T x, when they are not there. */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsTransposeCreate(HiSparseDiagonals *d, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsTransposeCreate(HiSparseDiagonals *d, cudaStream_t stream);

/* diagonalsvalues.cu, blockdiagonalsvalues.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsSetValues(const void *structure, HiSparseValues *values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGetCSR(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr,
                                                    cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsRoundHalf(const void *structure, const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsSetValues(const void *structure, HiSparseValues *values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsGetCSR(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr,
                                                 cudaStream_t stream);

/* diagonalsmult.cu, blockdiagonalsmult.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsPrepare(void *structure, HiSparseValues *values, PetscBool transpose, cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsMult(const void *structure, HiSparseValues *values, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[],
                                                  PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode HiSparseDiagonalsMultEpilogue(const void *structure, const HiSparseValues *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue,
                                                          PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsMult(const void *structure, HiSparseValues *values, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[],
                                               PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsMultEpilogue(const void *structure, const HiSparseValues *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                                       cudaStream_t stream);

/* diagonalsentries.cu, blockdiagonalsentries.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsGetDiagonal(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsGetDiagonal(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);

/* diagonalssum.cu */
PETSC_INTERN PetscErrorCode HiSparseDiagonalsUnite(void *structure, HiSparseValues *values, PetscScalar alpha, const void *other, const HiSparseValues *other_values, PetscScalar beta,
                                                   PetscCount max_nonzeros, PetscBool overwrite, cudaStream_t stream, void **sum_structure, HiSparseValues **sum_values, PetscCount *num_nonzeros);
