#pragma once
/*
  Times of device work by CUDA events: medians of many, with a cold or a warm L2 cache. The calls are queued behind a kernel that spins, so that the time of the host's launches is not measured.
*/
#include <petscsparsecuda/sys.h>

/* What a timer begins with. */
#define BENCH_SAMPLES   51
#define BENCH_BUDGET_US 20000

typedef PetscErrorCode BenchFn(void *, cudaStream_t);

typedef struct {
  cudaStream_t stream;
  cudaEvent_t  begin, end;
  PetscInt     samples;    /* most samples of one measurement */
  PetscReal    budget_us;  /* a measurement of long calls takes fewer samples: about this much time, at least 5 */
  PetscScalar *flush;      /* buffer larger than any L2 cache, read between cold samples */
  PetscCount   flush_size; /* its entries */
} BenchTimer;

PETSC_INTERN PetscErrorCode BenchTimerCreate(cudaStream_t, BenchTimer *);
PETSC_INTERN PetscErrorCode BenchTimerDestroy(BenchTimer *);
/* Median microseconds of one call fn(ctx, stream). cold: the L2 cache holds nothing of the operands; warm: calls back to back. */
PETSC_INTERN PetscErrorCode BenchTimerMeasure(BenchTimer *, PetscBool, BenchFn *, void *, PetscReal *);
