#pragma once
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spmm.h>
#include <petscsparsecuda/tuning.h>

#define SPMM_MAX_WIDTH        32   /* columns at most of a tile that is staged */
#define SPMM_MAX_DIRECT_WIDTH 16   /* columns at most of a tile that is read where it is */
#define SPMM_CHUNK            2048 /* entries of a long row that a thread block sums */

#define SPMM_MAX_SLOTS 8 /* entries of a row that a group of lanes reads at once */

#define SPMM_MAX_BLOCK_ROWS 6 /* rows of a block at most that a group of lanes takes at once */

/*
  Lanes over the columns of a tile. Staged tiles: loads of 16 bytes, up to 128 contiguous bytes together. Tiles that are read where they are: few lanes, so that the rows of a warp read whole sectors.
*/
#define SPMM_VECTOR(width)       ((int)sizeof(PetscScalar) * (width) < 16 ? (width) : 16 / (int)sizeof(PetscScalar))
#define SPMM_STAGED_LANES(width) ((width) / SPMM_VECTOR(width) < 8 ? (width) / SPMM_VECTOR(width) : 8)
#define SPMM_DIRECT_LANES(width) ((width) < 4 ? (width) : 4)

/* What a pass over the rows counts. */
typedef struct {
  unsigned long long long_rows, long_chunks; /* long rows, and their chunks */
  unsigned long long samples, neighbors;     /* sampled rows, and those of them that read what their neighbors read */
} SpMMFacts;

/* Rows that many thread blocks sum, each a chunk. The order of the lists differs from run to run. The sums do not depend on it. */
typedef struct {
  PetscCount  num_rows;
  PetscCount  num_chunks;
  PetscInt   *rows;        /* [num_rows] device */
  PetscCount *first_chunk; /* [num_rows] device; the chunks of a row are consecutive */
  PetscCount *chunk_row;   /* [num_chunks] device: which of the long rows */
} SpMMLongRows;

struct _n_DCSRSpMMPlan {
  const SpMMRules *rules;
  DCSRSpMMKind     kind;
  double           mean;      /* entries of a row */
  PetscCount       long_size; /* rows with more entries are long */
  SpMMLongRows     long_rows;
  DCSRBlockList    list;   /* of the blocks that the matrix consists of, a reference; NULL: rows are taken one by one */
  DCSRSpMVPlan     column; /* for single columns; NULL until the first */
  PetscInt         slots;  /* entries of a row that are read at once, 0 for the rule's choice */
  PetscInt         width;  /* columns of a tile at most, 0 for the rule's choice */
};

/* Some columns of the dense factors. */
typedef struct {
  int                width;   /* columns of the tile, a power of two */
  int                columns; /* of them in use */
  int                slots;   /* entries of a row that are read at once */
  PetscBool          staged;  /* x is row-major with width entries a row, the unused ones zero */
  const PetscScalar *x;
  PetscInt           ldx; /* of a tile that is not staged */
  PetscScalar       *y;
  PetscInt           ldy;
} SpMMTile;

PETSC_INTERN PetscErrorCode SpMMGetFacts(DCSRView view, PetscCount long_size, cudaStream_t stream, SpMMFacts *facts);
PETSC_INTERN PetscErrorCode SpMMLongRowsCreate(DCSRView view, PetscCount long_size, const SpMMFacts *facts, cudaStream_t stream, SpMMLongRows *l);
PETSC_INTERN PetscErrorCode SpMMLongRowsDestroy(SpMMLongRows *l, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpMMStage(PetscInt num_rows, const SpMMTile *tile, PetscScalar to[], cudaStream_t stream); /* rows of X, tile as it is, copy [rows x width] */
PETSC_INTERN PetscErrorCode SpMMRowsStaged(DCSRSpMMPlan plan, DCSRView view, const SpMMTile *tile, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpMMRowsDirect(DCSRSpMMPlan plan, DCSRView view, const SpMMTile *tile, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpMMLong(DCSRView view, const SpMMLongRows *l, const SpMMTile *tile, PetscScalar parts[], cudaStream_t stream);
