#pragma once
/*
  What the plan of a transpose product holds, and the launch rule.
*/
#include <petscsparsecuda/spmvtranspose.h>

/*
  32 consecutive nonzeros: bit b says that nonzero 32 w + b is the first of its row; num_starts counts the first nonzeros before them. The row of a nonzero,
  counting only rows that are not empty, is num_starts + popc(bits up to and with it) - 1: a quarter byte a nonzero replaces row offsets, and no search is needed.
*/
typedef struct {
  uint32_t bits;
  uint32_t num_starts;
} SpMVTransposeMark;

/* The distinct columns of one tile are entries list_begin ... list_begin + list_size - 1 of the plan's lists. */
typedef struct {
  int64_t list_begin;
  int32_t list_size;
  int32_t has_heavy; /* a column has more nonzeros than one thread sums: it is in the list several times */
} SpMVTransposeTile;

/* Nonzeros of a column in a tile that one thread sums; longer runs are cut and put together again by a warp. */
#define SPMVT_MAX_RUN 32

/*
  Instantiations of the tile kernel. num_nonzeros * sizeof(PetscScalar) is the shared memory of a block; all have two or more blocks on a multiprocessor except the last.
*/
#define SPMVT_TILE_KERNELS(f) f(2048, 256, 6) f(2048, 512, 3) f(4096, 256, 6) f(4096, 512, 3) f(4096, 1024, 1) f(8192, 512, 3) f(8192, 1024, 2) f(16384, 1024, 1)

/*
  Launch rule of DCSR_SPMVT_AUTO: the first line whose min_nonzeros the matrix has. TILE is chosen when distinct columns of tiles / nonzeros <= max_ratio, otherwise ATOMIC,
  which reads fewer bytes when there is nothing to combine. Small matrices do not have the tiles to fill the device.
*/
typedef struct {
  PetscCount min_nonzeros;
  int        tile_nonzeros, tile_threads;
  double     max_ratio;
} SpMVTransposeRule;

#define SPMVT_RULES {16000000, 8192, 512, 0.85}, {1500000, 4096, 512, 0.85}, {500000, 2048, 256, 0.85},

/* Tiles that are looked at to estimate the ratio before all are built. */
#define SPMVT_SAMPLE_TILES 256

/* For benchmarks: the plan with one instantiation; kernel runs from 0, name is NULL past the last. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeGetTileKernel_Private(int, const char **);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreateTile_Private(DCSRView, int, cudaStream_t, DCSRSpMVTransposePlan *);
/* Entries in the lists of distinct columns; 0 without tiles. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanGetListSize_Private(DCSRSpMVTransposePlan, PetscCount *);
