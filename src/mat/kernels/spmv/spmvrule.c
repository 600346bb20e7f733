/*
  The launch rule of Mult, y = A x + z. A table is read from the top, and the first row that fits is taken. Each compute capability that was measured has a table for compact storage and one for fragmented storage.
*/
#include "spmvsingle.h"

// clang-format off
#define SPMV_ANY                                    PETSC_COUNT_MAX
#define SPMV_INF                                    PETSC_MAX_REAL
#define SPLIT(lanes, threads, items, vec, resident) {DCSR_SPMV_SPLIT, lanes, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define SCAN(threads, items, vec, resident)         {DCSR_SPMV_SCAN, 1, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define WARP(items, waves, resident)                {DCSR_SPMV_WARP, 32, 128, items, waves, SPMV_LOAD_ONCE, resident}
#define VECTOR(lanes)                               {DCSR_SPMV_VECTOR, lanes, 256, 4, 0, SPMV_LOAD_CACHED, 0}
#define FRAGMENTED(lanes, threads, eager)           {DCSR_SPMV_FRAGMENTED, lanes, threads, 4, eager, SPMV_LOAD_CACHED, 0}
// clang-format on

int SpMVCarveout = SPMV_CARVEOUT_FIT;

typedef struct {
  PetscCount num_nonzeros; /* The rule is for at most so many nonzeros. */
  PetscCount row_size;     /* Nonempty rows have at most so many nonzeros on average. */
  PetscReal  skew;         /* The largest row has at most so many times the mean. */
  PetscCount max_row_size; /* The largest row has at most so many nonzeros. */
  SpMVConfig config;
} SpMVRule;

// clang-format off
/*
  Compact storage. Figures with "us" are microseconds, cold / warm, on an NVIDIA H200 (compute capability 9.0), 2026-11-21; names are cases of benchmarks/spmv. Other figures are times, cold, over that of the fastest
  kernel, the geometric mean of the matrices of benchmarks/spmv/shapes with an even number, 0.3 to 4 M nonzeros, for which the row is, 2026-11-24; those with "in select" are of matrices of benchmarks/select. Rows without a figure fill the gaps between measured ones.

  What decides:
  - Without shared memory, a warp takes as long as its largest row. That is fast where rows are alike and one wave of threads holds all of them.
  - Through shared memory, a warp takes rows of more than 32 + 8 lanes nonzeros one after the other. So many lanes a row that few are as large.
  - A row that more than one thread block sums and that has more nonzeros than a thread block has threads makes its thread blocks wait for each other. 512 threads where such rows are many and not very large.
  - Up to 2 M nonzeros thread blocks are but one or two waves. More loads under way in each, then.
*/
static const SpMVRule SpMVRulesH200[] = {
  /* Small: the launch and one chain of loads, so no table to read first and no barrier. */
  {200000,   64,       16,       SPMV_ANY, VECTOR(8)}, /* 3d27-16: 5.1 / 2.9 us, split 5.1 / 3.2, cuSPARSE 9.1 / 7.0 */
  {200000,   64,       64,       SPMV_ANY, SPLIT(2, 128, 4, 2, 1536)},
  /* Rows alike, one wave: no table and no barrier either. */
  {2000000,  8,        1.25,     SPMV_ANY, VECTOR(1)}, /* 3d7-64: 12.0 / 7.3 us, 2 lanes 13.5 / 7.9, split 12.3 / 10.0, cuSPARSE 19.9 / 16.3 */
  {1000000,  12,       1.25,     SPMV_ANY, VECTOR(2)},
  {1000000,  40,       1.25,     SPMV_ANY, VECTOR(4)}, /* 3d27-32: 7.6 / 5.0 us, 8 lanes 8.5 / 5.2, split 8.6 / 6.0, cuSPARSE 11.7 / 9.2 */
  /* Rows of a few nonzeros, and with long ones. */
  {6000000,  12,       SPMV_INF, 128,      SPLIT(1, 128, 4, 2, 1536)}, /* 17 matrices: 1.01; split 1 lane 512 x 4 1.03, split 2 lanes 128 x 4 1.04, vector 2 1.39 */
  {6000000,  20,       SPMV_INF, 128,      SPLIT(1, 512, 4, 2, 1536)}, /* 9 matrices: 1.00; split 2 lanes 128 x 4 1.01, split 1 lane 128 x 4 1.02, vector 2 1.18 */
  {6000000,  28,       SPMV_INF, 128,      SPLIT(2, 128, 4, 2, 1536)}, /* 4 matrices: 1.01; split 2 lanes 128 x 8 1.06, split 8 lanes 128 x 4 1.09, vector 4 1.25 */
  {6000000,  28,       SPMV_INF, 1024,     SPLIT(1, 512, 4, 2, 1536)}, /* 9 matrices: 1.01; scan 1.07, split 2 lanes 128 x 4 1.15, vector 8 2.13 */
  {6000000,  12,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* 22 shapes in select: 1.02; split 1 lane 512 x 4 1.04, split 2 lanes 128 x 4 1.06, scan 1.10 */
  {6000000,  28,       SPMV_INF, 20000,    SPLIT(1, 512, 4, 2, 1536)}, /* R-MAT in select, 10 even: 1.03; scan 1.03, split 1 lane 128 x 4 1.13; 4 odd: 1.01, 1.02, 1.15; 4 shapes: 1.00, 1.08, 1.03 */
  {6000000,  28,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* power laws in select, 10 even: 1.00; split 2 lanes 128 x 4 1.01, scan 1.06, split 1 lane 512 x 4 1.13; 10 odd: 1.00, 1.01, 1.08, 1.16 */
  /* Larger rows. */
  {6000000,  40,       SPMV_INF, 48,       SPLIT(2, 128, 4, 2, 1536)}, /* 3 matrices: 1.00; split 2 lanes 128 x 8 1.03, split 8 lanes 128 x 4 1.04, vector 4 1.15 */
  {6000000,  40,       300,      SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)}, /* 5 matrices: 1.01; split 2 lanes 128 x 4 1.03, split 8 lanes 256 x 8 1.04, vector 4 1.36 */
  {6000000,  40,       SPMV_INF, 24000,    SCAN(512, 4, 1, 1536)}, /* R-MAT in select, 4 even: 1.00; split 1 lane 512 x 4 1.08, 128 x 4 1.15, 8 lanes 128 x 4 2.38; 4 odd: 1.00, 1.05, 1.09, 2.49 */
  {6000000,  40,       SPMV_INF, SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)},
  {2000000,  200,      1.25,     SPMV_ANY, VECTOR(8)}, /* 3 matrices: 1.00; split 8 lanes 256 x 8 1.05, vector 16 1.11 */
  {2000000,  96,       SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 8 matrices: 1.02; split 8 lanes 128 x 4 1.08, scan 1.11, vector 16 1.45 */
  {1000000,  200,      SPMV_INF, SPMV_ANY, SCAN(512, 4, 1, 1536)}, /* 4 matrices: 1.01; split 8 lanes 256 x 8 1.07, split 8 lanes 128 x 4 1.11, vector 32 1.14 */
  {6000000,  96,       SPMV_INF, 384,      SPLIT(8, 128, 4, 2, 1536)}, /* 10 matrices: 1.01; split 8 lanes 256 x 8 1.04, split 2 lanes 128 x 4 1.14, vector 8 1.18 */
  {6000000,  200,      SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 6 matrices: 1.03; split 8 lanes 128 x 4 1.05, scan 1.05, vector 16 1.37 */
  {6000000,  SPMV_ANY, 1.5,      SPMV_ANY, VECTOR(32)}, /* 2 matrices: 1.01; vector 16 1.09, vector 8 1.14 */
  {6000000,  SPMV_ANY, SPMV_INF, SPMV_ANY, WARP(8, 1, 1024)}, /* 11 of the 200 shapes: 0.95 of cuSPARSE's best, 0.97 by the best of ours for each; thread blocks of split wait about 1.5 us for each row that several of them sum, and there are 10 to 15 such blocks one after the other */
  {6000000,  SPMV_ANY, SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 4 matrices: 1.01; scan 1.08, split 2 lanes 128 x 8 1.08, vector 32 1.17 */
  /* Many waves. Rows alike: small thread blocks, and lanes so that a warp's rows are summed in few steps. */
  {SPMV_ANY, 12,       64,       SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* 2d5-4096: 313 / 314 us, 128 x 8: 335, cuSPARSE 504; 3d7-256: 413 / 414, 128 x 8: 432, cuSPARSE 635; tall: 99 / 101, 1 lane without shared memory 112, cuSPARSE 166 */
  {SPMV_ANY, 20,       1.25,     SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)}, /* uniform4m: 576 / 572 us, all shapes within 3 %, cuSPARSE 588 */
  {SPMV_ANY, 20,       64,       128,      SPLIT(2, 128, 4, 2, 1536)}, /* rgg15-2M: 1 lane, 512 x 4: 132 us, the fastest split kernel 108 */
  {SPMV_ANY, 20,       64,       SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, 40,       64,       SPMV_ANY, SPLIT(2, 128, 8, 2, 1280)}, /* 3d27-200: 656 / 656 us, 128 x 16 with 1 lane 659 / 668, 128 x 4: 693 / 698, cuSPARSE 930 */
  {SPMV_ANY, 200,      8,        SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)}, /* elast3-80: 378 / 382 us, 128 x 12: 391 / 389, cuSPARSE 464 */
  /* Long rows, all alike: many loads under way in a thread block, and eight lanes a row. */
  {SPMV_ANY, SPMV_ANY, 2,        SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* wide: 103 / 98 us, 32 lanes without shared memory 105 / 103, cuSPARSE 99 / 94 */
  /* Short rows and a few long ones. */
  {SPMV_ANY, 4,        SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* longrow: 224 / 225 us, cuSPARSE 293 */
  {SPMV_ANY, 12,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 8, 2, 1280)}, /* band4: 95 / 93 us, 128 x 16: 100 / 97, cuSPARSE 151 */
  /* Skewed: the time must not depend on the rows of a thread block. */
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, SCAN(512, 4, 1, 1536)}, /* rmat20: 127 / 119 us, 256 x 8: 142 / 131, products in registers only 147 / 140, cuSPARSE 137 / 125; powerlaw: 139 / 134, cuSPARSE 141 / 136 */
  /* Where split was asked for. */
  {SPMV_ANY, 64,       SPMV_INF, SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)},
  /* Where warp was asked for. */
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, WARP(8, 1, 1024)}
};

/*
  Fragmented storage: one lane a row as long as the next rows' segments are near, as insertion leaves them. Figures are microseconds as above. 4 lanes of 256 threads take 1045 on 2d5-4096 and 919 on 3d27-200.
*/
static const SpMVRule SpMVFragmentedRulesH200[] = {
  {3000000,  3,        SPMV_INF, SPMV_ANY, FRAGMENTED(1, 128, 0)},
  {3000000,  64,       SPMV_INF, SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* 3d27-32: 8.8 / 5.4, 8 lanes 10.8 / 6.6 */
  {SPMV_ANY, 12,       SPMV_INF, SPMV_ANY, FRAGMENTED(1, 128, 0)}, /* 2d5-4096: 532, 2 lanes 658; band4: 170, 2 lanes 188 */
  {SPMV_ANY, 24,       SPMV_INF, SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* uniform4m: 698, 1 lane 739 */
  {SPMV_ANY, 40,       16,       SPMV_ANY, FRAGMENTED(1, 256, 0)}, /* 3d27-200: 757, 128 threads 774, 2 lanes 821 */
  {SPMV_ANY, 40,       SPMV_INF, SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* rmat20: 200, 8 lanes 208 */
  {SPMV_ANY, 128,      SPMV_INF, SPMV_ANY, FRAGMENTED(4, 256, 1)}, /* elast3-80: 449, pairs one after the other 456, 8 lanes 465 */
  {SPMV_ANY, 512,      SPMV_INF, SPMV_ANY, FRAGMENTED(16, 256, 0)},
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, FRAGMENTED(32, 256, 0)}
};
// clang-format on

/* The rules of one compute capability. What they name has to be among the kernels that exist (spmvrule.h). */
typedef struct {
  const SpMVRule *compact;
  size_t          num_compact;
  const SpMVRule *fragmented;
  size_t          num_fragmented;
} SpMVRules;

static const SpMVRules     SpMVH200     = {SpMVRulesH200, PETSC_STATIC_ARRAY_LENGTH(SpMVRulesH200), SpMVFragmentedRulesH200, PETSC_STATIC_ARRAY_LENGTH(SpMVFragmentedRulesH200)};
static const DCSRRuleTable SpMVTables[] = {{90, &SpMVH200}};

/* The largest row over the mean. */
static inline PetscReal SpMVRuleSkew(const DCSRFacts *facts, PetscCount mean)
{
  return (PetscReal)facts->max_row_size / (PetscReal)mean;
}

/*
  SpMVRuleApply - picks the launch configuration of a matrix with at least one nonzero

  kind other than DCSR_SPMV_AUTO limits the choice to rows of that kind where storage allows it: fragmented storage has one kernel, and DCSR_SPMV_FRAGMENTED says nothing about compact storage.
*/
PetscErrorCode SpMVRuleApply(DCSRView view, const DCSRFacts *facts, DCSRSpMVKind kind, SpMVConfig *config)
{
  const PetscBool  compact = view.row_offsets != NULL ? PETSC_TRUE : PETSC_FALSE;
  const PetscCount mean    = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const SpMVRules *table   = NULL;
  const SpMVRule  *rules;
  size_t           n, found;

  PetscFunctionBegin;
  PetscCall(DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(SpMVTables), SpMVTables, (const void **)&table));
  rules = compact ? table->compact : table->fragmented;
  found = n = compact ? table->num_compact : table->num_fragmented;
  for (size_t i = 0; i < n && found == n; i++) {
    if (compact && kind != DCSR_SPMV_AUTO && kind != DCSR_SPMV_FRAGMENTED && rules[i].config.kind != kind) continue;
    if (view.num_nonzeros <= rules[i].num_nonzeros && mean <= rules[i].row_size && SpMVRuleSkew(facts, mean) <= rules[i].skew && facts->max_row_size <= rules[i].max_row_size) found = i;
  }
  if (found < n) *config = rules[found].config;
  else {
    /* VECTOR was asked for and the table would rather not. */
    const SpMVConfig vector = VECTOR(1);

    *config = vector;
    while (config->lanes < 32 && config->lanes * 4 < mean) config->lanes *= 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpMVRuleCompressRows - whether a list of nonempty rows pays: very few rows have entries, or one thread block would have to write very many empty ones

  An empty row costs 4 bytes of offset and 8 of y where the kernel passes over it, 8 where y is set first; a nonempty one then costs 8 more to find and a memory sector of y that is written in part. That is
  one in 10 for y = A x and one in 4 for y += A x.
*/
PetscBool SpMVRuleCompressRows(DCSRView view, const DCSRFacts *facts)
{
  if (view.row_offsets == NULL) return PETSC_FALSE;
  return (6 * facts->num_nonempty_rows < (PetscCount)view.num_rows || facts->max_block_rows > 8 * SPMV_BLOCK_NONZEROS) ? PETSC_TRUE : PETSC_FALSE;
}

#define SPMV_SPLIT_CONFIG(lanes, t, i, v, l, r)      {DCSR_SPMV_SPLIT, lanes, t, i, v, l, r},
#define SPMV_SCAN_CONFIG(lanes, t, i, v, l, r)       {DCSR_SPMV_SCAN, lanes, t, i, v, l, r},
#define SPMV_WARP_CONFIG(lanes, t, i, v, l, r)       {DCSR_SPMV_WARP, lanes, t, i, v, l, r},
#define SPMV_VECTOR_CONFIG(lanes, t, i, v, l, r)     {DCSR_SPMV_VECTOR, lanes, t, i, v, l, r},
#define SPMV_FRAGMENTED_CONFIG(lanes, t, i, v, l, r) {DCSR_SPMV_FRAGMENTED, lanes, t, i, v, l, r},

// clang-format off
static const SpMVConfig SpMVCompactConfigs[] = {
  SPMV_SPLIT_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_CONFIGS(SPMV_SCAN_CONFIG) SPMV_WARP_CONFIGS(SPMV_WARP_CONFIG) SPMV_VECTOR_CONFIGS(SPMV_VECTOR_CONFIG)
#if defined(SPMV_SWEEP)
  SPMV_SPLIT_SWEEP_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_SWEEP_CONFIGS(SPMV_SCAN_CONFIG) SPMV_WARP_SWEEP_CONFIGS(SPMV_WARP_CONFIG) SPMV_VECTOR_SWEEP_CONFIGS(SPMV_VECTOR_CONFIG)
#endif
#if defined(SPMV_SINGLE_SWEEP)
  SPMV_SPLIT_SINGLE_SWEEP_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_VECTOR_SINGLE_SWEEP_CONFIGS(SPMV_VECTOR_CONFIG)
#endif
};
static const SpMVConfig SpMVFragmentedConfigs[] = {
  SPMV_FRAGMENTED_CONFIGS(SPMV_FRAGMENTED_CONFIG)
#if defined(SPMV_SWEEP)
  SPMV_FRAGMENTED_SWEEP_CONFIGS(SPMV_FRAGMENTED_CONFIG)
#endif
};
// clang-format on

/* SpMVConfigGetCount - how many configurations there are for compact or fragmented storage */
PetscErrorCode SpMVConfigGetCount(PetscBool compact, PetscInt *n)
{
  PetscFunctionBegin;
  *n = compact ? (PetscInt)PETSC_STATIC_ARRAY_LENGTH(SpMVCompactConfigs) : (PetscInt)PETSC_STATIC_ARRAY_LENGTH(SpMVFragmentedConfigs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVConfigGet - the i-th of them */
PetscErrorCode SpMVConfigGet(PetscBool compact, PetscInt i, SpMVConfig *config)
{
  PetscFunctionBegin;
  *config = compact ? SpMVCompactConfigs[i] : SpMVFragmentedConfigs[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}
