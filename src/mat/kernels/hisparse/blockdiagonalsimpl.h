#pragma once
/*
  Masked diagonals of b x b blocks, for matrices of several unknowns a point on a grid.

  The structure is that of masked diagonals (hisparseimpl.h) of the collapsed matrix, which has an entry for each block: a row of blocks is a row there. All blocks are full, and all of them are in pieces, since
  one block makes a piece here. A matrix whose pieces have few blocks on average does not fit.

  A word of a piece is the part of it that 32 rows of blocks have, those of a word of its mask. The values of a word lie behind each other: b * b planes, one for each entry of a block, by row, and in a plane the
  values of the word's blocks by ascending row. So the first value of a word is at b * b times the place of its first block, the plane of entry (a, c) of blocks begins (a * b + c) * n behind it when the word has n blocks,
  and 32 lanes that have a row of blocks each read consecutive values. A^T x reads the same values.
*/
#include "hisparseimpl.h"

#define BLOCK_DIAGONALS_MAX_SIZE 6 /* 2, 3, 4, 6 exist */
#define BLOCK_DIAGONALS_WORDS    5 /* of rows, that the 128 columns of a piece of the transpose have rows in */

/*
  A piece of a diagonal in a slice of 128 columns of blocks: the block of column j of the slice is in row r0 + j of blocks. The masks are those of rows, whole, so that they tell how many blocks a word has:
  word q has the rows 32 * (floor(r0 / 32) + q) and on. Bits of rows whose blocks are in other slices of columns count in it, and are not of this piece.
*/
typedef struct {
  uint32_t mask[BLOCK_DIAGONALS_WORDS];
  int32_t  r0;       /* from -127 */
  int64_t  place[2]; /* of the first block of word q, less the number of bits of the words before q: place[0] for words of the slice of rows that r0 is in, place[1] for those of the next one */
} BlockDiagonalsTransposedPiece;

/* A launch shape of the products (blockdiagonalsmult.cu has the table). A warp takes 32 rows or columns of blocks. */
typedef struct {
  int size;     /* b */
  int batch;    /* pieces whose values and parts of x are all loaded before the first is used */
  int rows;     /* of a block that are loaded at a time; divides b */
  int threads;  /* of a thread block */
  int resident; /* threads that a multiprocessor holds at least, which limits the registers */
} BlockDiagonalsConfig;

/* Structure. Values are HiSparseDiagonalsValues without any outside of pieces. */
typedef struct {
  HiSparseDiagonals    all;    /* the numbers of values of blocks times b * b, and no arrays. First, so that what treats the values of diagonals as an array takes this structure */
  int                  size;   /* b */
  HiSparseDiagonals   *blocks; /* of the collapsed matrix; owned */
  BlockDiagonalsConfig config;

  /* For A^T x; NULL and 0 before the first such product */
  PetscCount                     num_transposed_pieces;
  BlockDiagonalsTransposedPiece *transposed_pieces; /* [num_transposed_pieces] by slice of columns, then by r0; owned */
  uint32_t                      *transposed_slices; /* [blocks->num_column_slices + 1] first piece of each slice of columns; owned */
} BlockDiagonals;

/* blockdiagonalstranspose.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsTransposeCreate(BlockDiagonals *d, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsTransposeDestroy(BlockDiagonals *d, cudaStream_t stream);

/* blockdiagonalsmult.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsMult(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsMultEpilogue(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode BlockDiagonalsMultTranspose(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
/* Every configuration there is, of all sizes, for sweeps and tests; the first of a size is the one that products use. */
PETSC_INTERN PetscErrorCode BlockDiagonalsConfigGetCount(PetscInt *n);
PETSC_INTERN PetscErrorCode BlockDiagonalsConfigGet(PetscInt i, BlockDiagonalsConfig *config);
PETSC_INTERN PetscErrorCode BlockDiagonalsConfigFind(int size, BlockDiagonalsConfig *config); /* blockdiagonals.c */
PETSC_INTERN PetscErrorCode HiSparseSetBlockDiagonalsConfig(HiSparse hisparse, const BlockDiagonalsConfig *config);

/* blockdiagonalsvalues.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsSetValues(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsGetCSR(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsRowOffsets(const BlockDiagonals *d, DCSRView csr, cudaStream_t stream);

/* blockdiagonalslist.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsSetList(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, const DCSRList *list, const PetscScalar from[], const PetscScalar more[], PetscCount split, PetscBool add, cudaStream_t stream);

/* blockdiagonalsentries.cu: as the functions of the table of formats */
PETSC_INTERN PetscErrorCode BlockDiagonalsDiagonalScale(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsDiagonalAdd(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const PetscScalar diagonal[], PetscScalar scalar, PetscBool insert, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsGetDiagonal(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsRowSumAbs(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsColumnSumsAbs(BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscReal sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsNormInfinity(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode BlockDiagonalsNormOne(BlockDiagonals *d, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm);
PETSC_INTERN PetscErrorCode BlockDiagonalsLookup(const BlockDiagonals *d, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup);

/* blockdiagonalsgrow.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsGrow(BlockDiagonals *d, HiSparseDiagonalsValues *v, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done);

/* blockdiagonalslargest.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsRowMaxAbs(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream);

/* blockdiagonalsdelete.cu */
PETSC_INTERN PetscErrorCode BlockDiagonalsCountWithoutDiagonal(const BlockDiagonals *d, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count);
PETSC_INTERN PetscErrorCode BlockDiagonalsZeroRows(const BlockDiagonals *d, HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlockDiagonalsZeroColumns(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream);

/* blockdiagonalsvalid.cu */
