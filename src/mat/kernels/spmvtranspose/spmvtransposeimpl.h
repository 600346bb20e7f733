#pragma once
/*
  What the plan of MultTranspose holds, and the kernels that exist. src/tuning has the launch rule.
*/
#include <petscsparsecuda/spmvtranspose.h>
#include <petscsparsecuda/tuning.h>

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
  Shared memory of a thread block is nonzeros * sizeof(PetscScalar). Rules name those of the first group. The SWEEP group is for the sweep of the benchmark, and is compiled with SPMV_SWEEP alone.
*/
#define SPMVT_TILE_KERNELS(f)       f(2048, 256, 8, 2, true) f(8192, 1024, 2, 2, true)
#define SPMVT_TILE_SWEEP_KERNELS(f) f(2048, 256, 8, 2, false) f(4096, 512, 4, 2, false) f(4096, 512, 4, 2, true) f(8192, 512, 3, 2, false) f(8192, 1024, 2, 1, false) f(8192, 1024, 2, 2, false)

/* Instantiations of the kernel with one atomic a nonzero: threads, and nonzeros in flight a thread; groups as above. */
#define SPMVT_ATOMIC_KERNELS(f)       f(256, 2)
#define SPMVT_ATOMIC_SWEEP_KERNELS(f) f(256, 1) f(256, 4)

/*
  From so many nonzeros on, so many tiles are sampled before all are built: they give how much memory the lists take, and whether to build at all. Fewer tiles take no longer to build than to sample.
*/
#define SPMVT_SAMPLE_NONZEROS 8000000
#define SPMVT_SAMPLE_TILES    256

PETSC_INTERN PetscErrorCode SpMVTransposeCountStarts(PetscCount num_marks, const SpMVTransposeMark marks[], uint32_t num_starts[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpMVTransposePlanCreate(DCSRView view, DCSRSpMVTransposeKind kind, int kernel, PetscBool one, cudaStream_t stream, DCSRSpMVTransposePlan *plan);
