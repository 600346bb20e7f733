#pragma once
/*
  Launch configurations of Mult and the rule that picks one from structure facts.
*/
#include <petscsparsecuda/tuning.h>

/*
  The kernels that exist: lanes, threads, items, vec, load, resident. Rules name them (petscsparsecuda/tuning.h). The SWEEP groups are for the sweep of the benchmark, and are compiled with SPMV_SWEEP
  alone.
  A thread block of split and scan covers threads x items nonzeros.
*/
#define SPMV_SPLIT_CONFIGS(X) \
  X(1, 128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(2, 128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(8, 128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(2, 128, 8, 2, SPMV_LOAD_ONCE, 1280) \
  X(1, 128, 8, 2, SPMV_LOAD_ONCE, 1280) \
  X(1, 512, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(8, 256, 8, 1, SPMV_LOAD_ONCE, 1024)
#define SPMV_SPLIT_SWEEP_CONFIGS(X) \
  X(1, 64, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(8, 64, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(1, 64, 8, 2, SPMV_LOAD_ONCE, 1024) \
  X(4, 128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(8, 128, 4, 4, SPMV_LOAD_ONCE, 1536) \
  X(8, 128, 4, 2, SPMV_LOAD_ONCE, 1792) \
  X(16, 128, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(8, 128, 6, 2, SPMV_LOAD_ONCE, 1280) \
  X(8, 128, 8, 2, SPMV_LOAD_ONCE, 1280) \
  X(1, 128, 16, 2, SPMV_LOAD_ONCE, 640) \
  X(1, 128, 12, 4, SPMV_LOAD_ONCE, 768) \
  X(8, 128, 12, 4, SPMV_LOAD_ONCE, 768) \
  X(16, 128, 12, 4, SPMV_LOAD_ONCE, 768) \
  X(1, 192, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(1, 256, 4, 2, SPMV_LOAD_ONCE, 1536) \
  X(2, 256, 8, 1, SPMV_LOAD_ONCE, 1024)
#define SPMV_SCAN_CONFIGS(X) X(1, 512, 4, 1, SPMV_LOAD_ONCE, 1536)
#define SPMV_SCAN_SWEEP_CONFIGS(X) \
  X(1, 128, 4, 1, SPMV_LOAD_ONCE, 1536) \
  X(1, 128, 16, 2, SPMV_LOAD_ONCE, 640) \
  X(1, 256, 4, 1, SPMV_LOAD_ONCE, 1536) \
  X(1, 256, 8, 1, SPMV_LOAD_ONCE, 1024) \
  X(1, 512, 4, 1, SPMV_LOAD_STREAM, 1536) \
  X(1, 512, 4, 1, SPMV_LOAD_ONCE, 2048) \
  X(1, 512, 8, 1, SPMV_LOAD_ONCE, 1024) \
  X(1, 1024, 4, 1, SPMV_LOAD_ONCE, 1024)
#define SPMV_WARP_CONFIGS(X) X(32, 128, 8, 1, SPMV_LOAD_ONCE, 1024)
#define SPMV_WARP_SWEEP_CONFIGS(X) \
  X(32, 128, 8, 2, SPMV_LOAD_ONCE, 1024) \
  X(32, 128, 4, 1, SPMV_LOAD_ONCE, 1280) \
  X(32, 128, 4, 2, SPMV_LOAD_ONCE, 1280) \
  X(32, 128, 8, 4, SPMV_LOAD_ONCE, 1024) \
  X(32, 128, 4, 4, SPMV_LOAD_ONCE, 1280) \
  X(32, 256, 4, 1, SPMV_LOAD_ONCE, 1280)
#define SPMV_VECTOR_CONFIGS(X) \
  X(1, 256, 4, 0, SPMV_LOAD_CACHED, 0) \
  X(2, 256, 4, 0, SPMV_LOAD_CACHED, 0) \
  X(4, 256, 4, 0, SPMV_LOAD_CACHED, 0) \
  X(8, 256, 4, 0, SPMV_LOAD_CACHED, 0) \
  X(16, 256, 4, 0, SPMV_LOAD_CACHED, 0) \
  X(32, 256, 4, 0, SPMV_LOAD_CACHED, 0)
/* 1280 threads on a multiprocessor: for 2048 the compiler has 32 registers and spills. */
#define SPMV_VECTOR_SWEEP_CONFIGS(X) \
  X(8, 128, 4, 0, SPMV_LOAD_STREAM, 1280) \
  X(32, 128, 4, 0, SPMV_LOAD_ONCE, 1280)
/* A row this many times longer than its lanes is summed by whole thread blocks (vector). */
#define SPMV_LONG_ROW_FACTOR 64
/* Entries of a long row that one thread block sums (vector). */
#define SPMV_LONG_ROW_CHUNK 4096
/* Thread block size at which DCSRFacts.max_block_rows is counted. */
#define SPMV_BLOCK_NONZEROS 2048

static inline PetscBool SpMVConfigSame(const SpMVConfig *a, const SpMVConfig *b)
{
  return a->kind == b->kind && a->lanes == b->lanes && a->threads == b->threads && a->items == b->items && a->vec == b->vec && a->load == b->load && a->resident == b->resident ? PETSC_TRUE
                                                                                                                                                                                : PETSC_FALSE;
}

PETSC_INTERN PetscBool      SpMVConfigIsHeld(const SpMVConfig *config, const PetscSparseCUDATuning *tuning);
PETSC_INTERN PetscErrorCode SpMVRuleApply(DCSRView view, const DCSRFacts *facts, DCSRSpMVKind kind, SpMVConfig *config);
PETSC_INTERN PetscBool      SpMVRuleSingle(DCSRView view, const DCSRFacts *facts, SpMVConfig *config);
PETSC_INTERN PetscBool      SpMVRuleBlocks(DCSRView view, const DCSRFacts *facts, int br, int bc, SpMVConfig *config);
PETSC_INTERN PetscBool      SpMVRuleCompressRows(DCSRView view, const DCSRFacts *facts);
