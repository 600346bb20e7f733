#pragma once
/*
  Launch configurations of the forward product and the rule that picks one from structure facts.
*/
#include <petscsparsecuda/spmv.h>

/* One launch shape. The fields that a kernel does not have are 0. */
typedef struct {
  DCSRSpMVKind kind;
  int          lanes;   /* lanes that sum one row: 1, 2, 4, 8, 16, 32 */
  int          threads; /* of a block */
  int          items;   /* split: nonzeros of a thread */
  int          vec;     /* split: consecutive nonzeros of one load */
  int          load;    /* how values and columns are loaded: SPMV_LOAD_* */
  int          resident; /* split: threads that a multiprocessor holds at least, which limits the registers */
} SpMVConfig;

/* Cache hints of the loads that stream the matrix. */
#define SPMV_LOAD_CACHED 0 /* through L1 */
#define SPMV_LOAD_STREAM 1 /* evict first */
#define SPMV_LOAD_ONCE   2 /* no line in L1, evict first in L2 */

/*
  The split kernels that exist: threads, items, vec, load, resident, each with lanes 1 to 32. A block covers threads x items nonzeros, in shared memory.
  The second group is for the sweep of the benchmark only.
*/
#define SPMV_SPLIT_SHAPES(X) \
  X(128, 8, 2, SPMV_LOAD_ONCE, 1024) \
  X(256, 8, 2, SPMV_LOAD_ONCE, 1024) \
  X(256, 4, 2, SPMV_LOAD_ONCE, 1536)
#define SPMV_SPLIT_SWEEP_SHAPES(X) \
  X(128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(128, 8, 4, SPMV_LOAD_ONCE, 1024) \
  X(128, 16, 2, SPMV_LOAD_ONCE, 640) \
  X(256, 4, 2, SPMV_LOAD_ONCE, 2048) \
  X(256, 8, 1, SPMV_LOAD_ONCE, 1024) \
  X(256, 8, 2, SPMV_LOAD_CACHED, 1024) \
  X(256, 8, 2, SPMV_LOAD_STREAM, 1024) \
  X(256, 8, 2, SPMV_LOAD_ONCE, 1280) \
  X(256, 8, 2, SPMV_LOAD_ONCE, 1536) \
  X(512, 4, 2, SPMV_LOAD_ONCE, 1536)

/* The kernels with a group of lanes a row that exist: threads, load, each with lanes 1 to 32. */
#define SPMV_VECTOR_SHAPES(X) \
  X(128, SPMV_LOAD_CACHED) \
  X(256, SPMV_LOAD_CACHED)
#define SPMV_VECTOR_SWEEP_SHAPES(X) \
  X(128, SPMV_LOAD_STREAM) \
  X(256, SPMV_LOAD_STREAM)

/* A row this many times longer than its lanes is summed by whole blocks (vector, fragmented). */
#define SPMV_LONG_ROW_FACTOR 64
/* Entries of a long row that one block sums (vector, fragmented). */
#define SPMV_LONG_ROW_CHUNK 4096
/* Block size at which DCSRFacts.max_block_rows is counted. */
#define SPMV_BLOCK_NONZEROS 2048

PETSC_INTERN PetscErrorCode SpMVRuleApply(DCSRView, const DCSRFacts *, DCSRSpMVKind, SpMVConfig *);
PETSC_INTERN PetscBool      SpMVRuleCompressRows(DCSRView, const DCSRFacts *);
/* Every configuration there is for a view in the state given, for sweeps: their number and the i-th. */
PETSC_INTERN PetscErrorCode SpMVConfigGetCount(PetscBool, PetscInt *);
PETSC_INTERN PetscErrorCode SpMVConfigGet(PetscBool, PetscInt, SpMVConfig *);
/* A plan with a configuration of the caller's choice. */
PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreateWithConfig(DCSRView, const SpMVConfig *, cudaStream_t, DCSRSpMVPlan *);
