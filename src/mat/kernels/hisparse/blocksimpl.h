#pragma once
/*
  Dense blocks of b x b entries, for matrices of several unknowns a point: a list of blocks for each row of blocks, values of a block contiguous and by row.

  Only full blocks are stored. So the entries of block row I are b * b * (blocks before it) and on, here as in CSR, and the position of any entry follows from the number of its block: there is no map.
  A^T x has a list of its own, by column of blocks, that names the same blocks; values are stored once.
*/
#include "hisparseimpl.h"

#define BLOCKS_MAX_NUMBER (PETSC_INT32_MAX - (1 << 20)) /* of blocks, so that a loop may step over the last one */
#define BLOCKS_LONG       256                           /* a row of more blocks is a thread block's */

/* Blocks of rows, or of columns, which are called rows here too. */
typedef struct {
  PetscInt num_rows;  /* rows of blocks */
  int32_t *offsets;   /* [num_rows + 1] first block of each row; owned */
  int32_t *columns;   /* [blocks] column of blocks, ascending in a row; owned */
  int32_t *positions; /* [blocks] number of the block whose values these are; NULL: its own; owned */
  PetscInt num_long;  /* rows with more than BLOCKS_LONG blocks */
  int32_t *long_rows; /* [num_long] ascending; NULL when there are none; owned */
} BlocksList;

/* A launch shape of the products. */
typedef struct {
  int size;     /* b */
  int step;     /* blocks of one row that a group of lanes takes at a time */
  int batch;    /* steps whose values and parts of x are all loaded before the first is used */
  int ahead;    /* 1: the list of a batch is loaded with the batch before it */
  int threads;  /* of a thread block */
  int resident; /* threads that a multiprocessor holds at least, which limits the registers */
} BlocksConfig;

/* Structure. Values are [b * b * blocks], blocks by row of blocks and column, entries of a block by row; there are no others. */
typedef struct {
  PetscInt     num_rows, num_columns; /* of entries */
  int          size;                  /* b */
  PetscCount   num_blocks;            /* less than BLOCKS_MAX_NUMBER */
  BlocksList   list;
  BlocksList   transpose; /* by columns of blocks; all 0 before the first product with A^T */
  BlocksConfig config[2]; /* of A x, of A^T x */
} Blocks;

/*
  The kernels that exist: size, step, batch, ahead, threads, resident. Rules name them (petscsparsecuda/tuning.h). Those of the SWEEP group are for the sweep of the benchmark, and are compiled with
  SPMV_SWEEP alone.
  A group has size * size lanes, 12 for a size of 6, times step, and a warp as many groups as it has lanes for.
*/
#define BLOCKS_CONFIGS(X) \
  X(2, 1, 4, 1, 128, 1280) \
  X(2, 4, 4, 1, 128, 1280) \
  X(3, 1, 4, 1, 128, 1152) \
  X(3, 3, 4, 1, 128, 1152) \
  X(4, 1, 4, 1, 128, 1280) \
  X(4, 2, 4, 1, 128, 1280) \
  X(6, 1, 2, 1, 128, 1024) \
  X(6, 2, 2, 1, 128, 1024)
#define BLOCKS_SWEEP_CONFIGS(X) \
  X(2, 1, 4, 0, 128, 1536) \
  X(2, 1, 8, 1, 128, 896) \
  X(2, 2, 4, 1, 128, 1280) \
  X(2, 8, 4, 0, 128, 1536) \
  X(3, 1, 2, 1, 128, 1280) \
  X(3, 1, 4, 0, 128, 1536) \
  X(3, 1, 4, 1, 256, 1024) \
  X(3, 1, 6, 1, 128, 1024) \
  X(3, 1, 8, 0, 128, 1024) \
  X(3, 1, 8, 1, 128, 896) \
  X(3, 3, 4, 0, 128, 1536) \
  X(3, 3, 6, 0, 128, 1024) \
  X(4, 1, 4, 0, 128, 1536) \
  X(4, 1, 8, 1, 128, 896) \
  X(4, 2, 4, 0, 128, 1536) \
  X(4, 2, 8, 0, 128, 1024) \
  X(6, 1, 2, 0, 128, 1024) \
  X(6, 1, 4, 1, 128, 768) \
  X(6, 2, 2, 0, 128, 1024) \
  X(6, 2, 4, 0, 128, 768)

/* blocksencode.cu */
PETSC_INTERN PetscBool      BlocksMayBe(DCSRView csr, int size);
PETSC_INTERN PetscErrorCode BlocksSamplingQueue(DCSRView csr, int size, PetscInt num_samples, int *not_full, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlocksAreFull(DCSRView csr, int size, cudaStream_t stream, PetscBool *full);
PETSC_INTERN PetscErrorCode BlocksEncode(DCSRView csr, cudaStream_t stream, Blocks *blocks);
PETSC_INTERN PetscErrorCode BlocksTransposeCreate(Blocks *blocks, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlocksListDestroy(BlocksList *list, cudaStream_t stream);

/* blocksmult.cu, and the next two: as in HiSparseFormatOps; structure is a Blocks *. */
PETSC_INTERN PetscErrorCode BlocksMult(const void *structure, HiSparseValues *values, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                                       cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlocksMultEpilogue(const void *structure, const HiSparseValues *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                               cudaStream_t stream);
/* blocksvalues.cu */
PETSC_INTERN PetscErrorCode BlocksSetValues(const void *structure, HiSparseValues *values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlocksGetCSR(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream);
PETSC_INTERN PetscErrorCode BlocksGetStructure(const Blocks *blocks, DCSRView csr, cudaStream_t stream);
/* blocksentries.cu */
PETSC_INTERN PetscErrorCode BlocksGetDiagonal(const void *structure, const HiSparseValues *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);

/* blocksrule.c */
#define BLOCKS_NUM_SIZES 4
PETSC_INTERN const int      BlocksSizes[BLOCKS_NUM_SIZES]; /* those that exist, the largest first */
PETSC_INTERN PetscErrorCode BlocksFindSize(DCSRView csr, cudaStream_t stream, int *size);
PETSC_INTERN PetscErrorCode BlocksRuleApply(int size, PetscCount num_blocks, PetscInt num_rows, BlocksConfig *config);
PETSC_INTERN PetscErrorCode HiSparseSetBlocksConfig(HiSparse hisparse, const BlocksConfig *config);
