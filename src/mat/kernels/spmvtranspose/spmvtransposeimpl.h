#pragma once
/*
  What the plan of MultTranspose holds, and the launch rule.
*/
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/spmvtranspose.h>

/*
  Mark w is for nonzeros 32 w to 32 w + 31. Bit b says that nonzero 32 w + b is the first of its row. num_starts counts the first nonzeros before them. The row of a nonzero is
  num_starts + popc(bits up to and with it) - 1, counting only rows that are not empty. A quarter byte a nonzero replaces row offsets, and no search is needed.
*/
typedef struct {
  uint32_t bits;
  uint32_t num_starts;
} SpMVTransposeMark;

/* The distinct columns of one tile are entries list_begin ... list_begin + list_size - 1 of the plan's lists. */
typedef struct {
  int64_t list_begin;
  int32_t list_size;
  int32_t has_heavy; /* a column has more nonzeros than one thread sums: it is in the list several times, one after the other */
} SpMVTransposeTile;

/* One thread sums so many nonzeros of a column in a tile at most. Longer runs are cut, and a warp puts them together again. */
#define SPMVT_MAX_RUN 32

/*
  Instantiations of the tile kernel: nonzeros of a tile, threads, thread blocks on a multiprocessor, nonzeros in a load, lists brought into L2 ahead of their use or not.
  Shared memory of a thread block is nonzeros * sizeof(PetscScalar). A rule names the first group. The SWEEP group is for the sweep of the benchmark, and is compiled with SPMV_SWEEP alone.
*/
#define SPMVT_TILE_KERNELS(f)       f(2048, 256, 8, 2, true) f(8192, 1024, 2, 2, true)
#define SPMVT_TILE_SWEEP_KERNELS(f) f(2048, 256, 8, 2, false) f(4096, 512, 4, 2, false) f(4096, 512, 4, 2, true) f(8192, 512, 3, 2, false) f(8192, 1024, 2, 1, false) f(8192, 1024, 2, 2, false)

/* Instantiations of the kernel with one atomic a nonzero: threads, and nonzeros in flight a thread; groups as above. */
#define SPMVT_ATOMIC_KERNELS(f)       f(256, 2)
#define SPMVT_ATOMIC_SWEEP_KERNELS(f) f(256, 1) f(256, 4)

/*
  Launch rule of DCSR_SPMVT_AUTO: the first line whose min_nonzeros the matrix has. TILE is chosen when distinct columns of tiles / nonzeros <= max_ratio, or when columns are heavy, otherwise ATOMIC,
  which reads fewer bytes when there is nothing to combine. Small matrices do not have the tiles to fill the device. The second line is for devices and scalars for which the tile of the first is too large.

  Measured on an NVIDIA H200 (compute capability 9.0), 2026-11-21, cold L2, two nonzeros a load, in microseconds: one atomic a nonzero; 8192 nonzeros a tile, 1024 threads, with lists ahead and without;
  4096, 512, ahead; 2048, 256, ahead and without:
    2d5-4096   84 M nonzeros   541   486   482   475   476   463   ratio 0.60
    3d7-256   117 M            783   598   601   628   683   645
    3d27-200  214 M           1562   807   839   881   882   831
    elast3-80 121 M            679   367   410   362   372   408
    rmat20     16 M            308   196   196   223   251   249   ratio 0.84 with 8192 nonzeros, 0.95 with 2048
    band4      23 M            161   134   133   133   132   130
    tall       12 M           8480   111   112   140   237   238
    uniform4m  64 M            845  1041   964  1044  1049   971   ratio 1.00
    3d7-128    15 M            102    78    78    78    79    80
    2d5-1024  5.2 M           37.6  33.7  34.5  35.8  35.3  33.6
    3d7-64    1.8 M           17.8  14.0  14.9  14.2  14.5  14.8
    3d27-32   0.8 M           12.7   9.2  11.4   9.9   9.1  11.0
    3d27-16   0.1 M            5.8   9.4  11.2   8.4   7.3  10.1
*/
typedef struct {
  PetscCount min_nonzeros;
  int        tile_nonzeros, tile_threads, tile_width;
  bool       tile_ahead;
  double     max_ratio;
} SpMVTransposeRule;

#define SPMVT_RULES_H200 {500000, 8192, 1024, 2, true, 0.90}, {500000, 2048, 256, 2, true, 0.85}, {300000, 2048, 256, 2, true, 0.45},

/*
  TILE is also chosen when more than this share of the tiles looked at has a column with more than SPMVT_MAX_RUN nonzeros, whatever the ratio. Atomics on one entry of y wait for each other, about 2.7 ns each, and such
  a column has many. Of the matrices of benchmarks/spmv/shapes with an even number whose ratio is too large, 22 have 0.00 to 0.05, and 3 have 0.30 to 1.00. With one atomic a nonzero these take 1.3 to 3.3 times as long as
  with tiles, the others 0.65 to 1.11 times.

  The same matrices, offline: geometric mean of cuSPARSE's best over the rule's choice 1.615, with 1.5 million as the smallest matrix for 8192 nonzeros, 0.5 million for tiles and without this 1.493, with the best kernel each
  1.653; on those with an odd number 1.679, 1.534 and 1.735.
*/
#define SPMVT_MAX_HEAVY 0.125

/* The line of SPMVT_ATOMIC_KERNELS for at least so many nonzeros, first match; measured as above, they differ by a few percent. */
typedef struct {
  PetscCount min_nonzeros;
  int        kernel;
} SpMVTransposeAtomicRule;

#define SPMVT_ATOMIC_RULES_H200 {0, 0},

/* The rules of one compute capability. */
typedef struct {
  const SpMVTransposeRule       *tile;
  size_t                         num_tile;
  const SpMVTransposeAtomicRule *atomic;
  size_t                         num_atomic;
} SpMVTransposeRules;

/* From so many nonzeros on, so many tiles are looked at before all are built: they tell how much memory the lists take, and whether to build at all. Fewer tiles take no longer to build than to look at. */
#define SPMVT_SAMPLE_NONZEROS 8000000
#define SPMVT_SAMPLE_TILES    256

PETSC_INTERN PetscErrorCode SpMVTransposeCountStarts(PetscCount num_marks, const SpMVTransposeMark marks[], uint32_t num_starts[], cudaStream_t stream);

/* For benchmarks and tests: plans with one instantiation. Tile kernels come first, then those with one atomic a nonzero. kernel counts from 0; name is NULL past the last. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeGetKernel_Private(int kernel, const char **name);
PETSC_INTERN PetscErrorCode DCSRSpMVTransposePlanCreateKernel_Private(DCSRView view, int kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan);
/* Whether the device has the shared memory for it. */
PETSC_INTERN PetscErrorCode DCSRSpMVTransposeKernelFits_Private(int kernel, PetscBool *fits);
