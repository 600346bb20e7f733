/*
  The launch rule of Mult, y = A x + z. A table is read from the top, and the first row that fits is taken. Each compute capability that was measured has a table for compact storage and one for fragmented storage.
*/
#include "spmvrule.h"

// clang-format off
#define SPMV_ANY                                    PETSC_COUNT_MAX
#define SPLIT(lanes, threads, items, vec, resident) {DCSR_SPMV_SPLIT, lanes, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define SCAN(threads, items, vec, resident)         {DCSR_SPMV_SCAN, 1, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define VECTOR(lanes)                               {DCSR_SPMV_VECTOR, lanes, 256, 4, 0, SPMV_LOAD_CACHED, 0}
#define FRAGMENTED(lanes, threads, eager)           {DCSR_SPMV_FRAGMENTED, lanes, threads, 4, eager, SPMV_LOAD_CACHED, 0}
// clang-format on

int SpMVCarveout = SPMV_CARVEOUT_FIT;

typedef struct {
  PetscCount num_nonzeros; /* The rule is for at most so many nonzeros. */
  PetscCount row_size;     /* Nonempty rows have at most so many nonzeros on average. */
  PetscCount skew;         /* The largest row has at most so many times the mean. */
  SpMVConfig config;
} SpMVRule;

// clang-format off
/*
  Compact storage. Figures are microseconds, cold / warm, on an NVIDIA H200 (compute capability 9.0), 2026-11-21. Names are cases of benchmarks/spmv. Rows without a figure fill the gaps between measured ones.
*/
static const SpMVRule SpMVRulesH200[] = {
  /* Small: the launch and one chain of loads, so no table to read first and no barrier. */
  {200000,   64,       16,       VECTOR(8)}, /* 3d27-16: 5.1 / 2.9, split 5.1 / 3.2, cuSPARSE 9.1 / 7.0 */
  {200000,   64,       64,       SPLIT(2, 128, 4, 2, 1536)},
  {3000000,  8,        32,       VECTOR(1)}, /* 3d7-64: 12.0 / 7.3, 2 lanes 13.5 / 7.9, split 12.3 / 10.0, cuSPARSE 19.9 / 16.3 */
  {3000000,  12,       32,       VECTOR(2)},
  {3000000,  40,       16,       VECTOR(4)}, /* 3d27-32: 7.6 / 5.0, 8 lanes 8.5 / 5.2, split 8.6 / 6.0, cuSPARSE 11.7 / 9.2 */
  {3000000,  96,       16,       VECTOR(16)},
  {3000000,  SPMV_ANY, 16,       VECTOR(32)},
  /* Rows alike: small thread blocks, and lanes so that a warp's rows are summed in few steps. */
  {SPMV_ANY, 12,       64,       SPLIT(1, 128, 4, 2, 1536)}, /* 2d5-4096: 313 / 314, 128 x 8: 335, cuSPARSE 504; 3d7-256: 413 / 414, 128 x 8: 432, cuSPARSE 635; tall: 99 / 101, 1 lane without shared memory 112, cuSPARSE 166 */
  {SPMV_ANY, 20,       64,       SPLIT(1, 512, 4, 2, 1536)}, /* uniform4m: 576 / 572, all shapes within 3 %, cuSPARSE 588 */
  {SPMV_ANY, 40,       64,       SPLIT(2, 128, 8, 2, 1280)}, /* 3d27-200: 656 / 656, 128 x 16 with 1 lane 659 / 668, 128 x 4: 693 / 698, cuSPARSE 930 */
  {SPMV_ANY, 200,      8,        SPLIT(8, 128, 4, 2, 1536)}, /* elast3-80: 378 / 382, 128 x 12: 391 / 389, cuSPARSE 464 */
  /* Long rows, all alike: many loads under way in a thread block, and eight lanes a row. */
  {SPMV_ANY, SPMV_ANY, 2,        SPLIT(8, 256, 8, 1, 1024)}, /* wide: 103 / 98, 32 lanes without shared memory 105 / 103, cuSPARSE 99 / 94 */
  /* Short rows and a few long ones. */
  {SPMV_ANY, 4,        SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* longrow: 224 / 225, cuSPARSE 293 */
  {SPMV_ANY, 12,       SPMV_ANY, SPLIT(1, 128, 8, 2, 1280)}, /* band4: 95 / 93, 128 x 16: 100 / 97, cuSPARSE 151 */
  /* Skewed: the time must not depend on the rows of a thread block. */
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, SCAN(512, 4, 1, 1536)}, /* rmat20: 127 / 119, 256 x 8: 142 / 131, products in registers only 147 / 140, cuSPARSE 137 / 125; powerlaw: 139 / 134, cuSPARSE 141 / 136 */
  /* Where split was asked for. */
  {SPMV_ANY, 64,       SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}
};

/*
  Fragmented storage: one lane a row as long as the next rows' segments are near, as insertion leaves them. Figures are microseconds as above. 4 lanes of 256 threads take 1045 on 2d5-4096 and 919 on 3d27-200.
*/
static const SpMVRule SpMVFragmentedRulesH200[] = {
  {3000000,  3,        SPMV_ANY, FRAGMENTED(1, 128, 0)},
  {3000000,  64,       SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* 3d27-32: 8.8 / 5.4, 8 lanes 10.8 / 6.6 */
  {SPMV_ANY, 12,       SPMV_ANY, FRAGMENTED(1, 128, 0)}, /* 2d5-4096: 532, 2 lanes 658; band4: 170, 2 lanes 188 */
  {SPMV_ANY, 24,       SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* uniform4m: 698, 1 lane 739 */
  {SPMV_ANY, 40,       16,       FRAGMENTED(1, 256, 0)}, /* 3d27-200: 757, 128 threads 774, 2 lanes 821 */
  {SPMV_ANY, 40,       SPMV_ANY, FRAGMENTED(4, 128, 0)}, /* rmat20: 200, 8 lanes 208 */
  {SPMV_ANY, 128,      SPMV_ANY, FRAGMENTED(4, 256, 1)}, /* elast3-80: 449, pairs one after the other 456, 8 lanes 465 */
  {SPMV_ANY, 512,      SPMV_ANY, FRAGMENTED(16, 256, 0)},
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, FRAGMENTED(32, 256, 0)}
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
    if (view.num_nonzeros <= rules[i].num_nonzeros && mean <= rules[i].row_size && facts->max_row_size / mean <= rules[i].skew) found = i;
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
#define SPMV_VECTOR_CONFIG(lanes, t, i, v, l, r)     {DCSR_SPMV_VECTOR, lanes, t, i, v, l, r},
#define SPMV_FRAGMENTED_CONFIG(lanes, t, i, v, l, r) {DCSR_SPMV_FRAGMENTED, lanes, t, i, v, l, r},

// clang-format off
static const SpMVConfig SpMVCompactConfigs[] = {
  SPMV_SPLIT_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_CONFIGS(SPMV_SCAN_CONFIG) SPMV_VECTOR_CONFIGS(SPMV_VECTOR_CONFIG)
#if defined(SPMV_SWEEP)
  SPMV_SPLIT_SWEEP_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_SWEEP_CONFIGS(SPMV_SCAN_CONFIG) SPMV_VECTOR_SWEEP_CONFIGS(SPMV_VECTOR_CONFIG)
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
