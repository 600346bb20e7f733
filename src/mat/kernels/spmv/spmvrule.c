/*
  The launch rule of the forward product: one table, read from the top, the first row that fits is taken.
*/
#include "spmvrule.h"

// clang-format off
#define SPMV_ANY                                    PETSC_COUNT_MAX
#define SPLIT(lanes, threads, items, vec, resident) {DCSR_SPMV_SPLIT, lanes, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define SCAN(threads, items, resident)              {DCSR_SPMV_SCAN, 1, threads, items, 1, SPMV_LOAD_ONCE, resident}
#define VECTOR(lanes)                               {DCSR_SPMV_VECTOR, lanes, 256, 4, 0, SPMV_LOAD_CACHED, 0}
#define STREAM(lanes)                               {DCSR_SPMV_VECTOR, lanes, 128, 4, 0, SPMV_LOAD_STREAM, 0}
#define FRAGMENTED(lanes, threads)                  {DCSR_SPMV_FRAGMENTED, lanes, threads, 4, 0, SPMV_LOAD_CACHED, 0}
// clang-format on

int SpMVCarveout = SPMV_CARVEOUT_FIT;

typedef struct {
  PetscCount num_nonzeros; /* fits up to this many nonzeros, */
  PetscCount row_size;     /* this mean number of nonzeros of a nonempty row, */
  PetscCount skew;         /* and a largest row this many times the mean */
  SpMVConfig config;
} SpMVRule;

// clang-format off
/*
  Microseconds, cold / warm, on an NVIDIA H200, 2026-11-21; names are cases of benchmarks/spmv. Rows without a figure fill the gaps between measured ones.
*/
static const SpMVRule SpMVRules[] = {
  /* Tiny: the launch and one chain of loads. 3d27-16: 5.0 / 3.0, vector with 8 lanes 6.7 / 3.7, cuSPARSE 9.0 / 6.7. */
  {200000,   64,       64,       SPLIT(2, 128, 4, 2, 1536)},
  /* Small, rows alike: bound by the longest chain of dependent loads, so no table to read first and no barrier. */
  {3000000,  1,        32,       VECTOR(1)},
  {3000000,  12,       32,       VECTOR(2)}, /* 3d7-64: 12.9 / 8.0, split 12.1 / 9.9, cuSPARSE 20.0 / 16.0 */
  {3000000,  40,       16,       VECTOR(8)}, /* 3d27-32: 8.2 / 5.0, split 8.5 / 6.1, cuSPARSE 11.3 / 9.1 */
  {3000000,  96,       16,       VECTOR(16)},
  {3000000,  SPMV_ANY, 16,       VECTOR(32)},
  /* Rows so short that neighboring lanes read the same lines anyway. tall: 93 / 94, split 100 / 101, cuSPARSE 166. */
  {SPMV_ANY, 3,        2,        VECTOR(1)},
  /* Rows alike: small blocks, and lanes so that a warp's rows are summed in few steps. */
  {SPMV_ANY, 12,       64,       SPLIT(1, 128, 4, 2, 1536)}, /* 2d5-4096: 312 / 313, 256 x 8: 339; 3d7-256: 412 / 414, 256 x 8: 442; cuSPARSE 503, 635 */
  {SPMV_ANY, 20,       64,       SPLIT(2, 256, 8, 1, 1024)}, /* uniform4m: 574 / 570; all shapes within 3 % */
  {SPMV_ANY, 40,       64,       SPLIT(1, 128, 16, 2, 640)}, /* 3d27-200: 655 / 667, 128 x 8 with 2 lanes 669 / 673, 256 x 8 with 2 lanes 714 / 733; cuSPARSE 930 */
  {SPMV_ANY, 200,      8,        SPLIT(8, 128, 4, 2, 1536)}, /* elast3-80: 380 / 382, 256 x 8: 437 / 444; cuSPARSE 466 */
  /* Long rows, all alike: a group of lanes is always full, and no product goes through shared memory. wide: 97 / 96, through L1 112, cuSPARSE 99 / 94. */
  {SPMV_ANY, SPMV_ANY, 2,        STREAM(32)},
  /* Short rows and a few long ones. longrow: 191 / 192; band4: 101 / 101, 128 x 4: 104 / 102; cuSPARSE 294, 150. */
  {SPMV_ANY, 4,        SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)},
  {SPMV_ANY, 12,       SPMV_ANY, SPLIT(1, 128, 16, 2, 640)},
  /* Skewed: the time must not depend on the rows of a block. By split, rmat20: 144 / 138 at best (512 x 4) and 425 with 32 lanes, powerlaw: 139 / 135; cuSPARSE 136 / 125, 141 / 136. */
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, SCAN(256, 8, 1024)},
  /* Where split was asked for. */
  {SPMV_ANY, 64,       SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}
};

/*
  Fragmented storage: one lane a row as long as the next rows' segments are near, as insertion leaves them; microseconds as above. 4 lanes of 256 threads take 1045 on 2d5-4096 and 919 on 3d27-200.
*/
static const SpMVRule SpMVFragmentedRules[] = {
  {3000000,  3,        SPMV_ANY, FRAGMENTED(1, 128)},
  {3000000,  64,       SPMV_ANY, FRAGMENTED(4, 128)}, /* 3d27-32: 8.8 / 5.4, 8 lanes 10.8 / 6.6 */
  {SPMV_ANY, 12,       SPMV_ANY, FRAGMENTED(1, 128)}, /* 2d5-4096: 532, 2 lanes 658; band4: 170, 2 lanes 188 */
  {SPMV_ANY, 24,       SPMV_ANY, FRAGMENTED(4, 128)}, /* uniform4m: 698, 1 lane 739 */
  {SPMV_ANY, 40,       16,       FRAGMENTED(1, 256)}, /* 3d27-200: 781, 2 lanes 826 */
  {SPMV_ANY, 40,       SPMV_ANY, FRAGMENTED(4, 128)}, /* rmat20: 200, 8 lanes 208 */
  {SPMV_ANY, 128,      SPMV_ANY, FRAGMENTED(4, 256)}, /* elast3-80: 444, 8 lanes 450, 16 lanes 572 */
  {SPMV_ANY, 512,      SPMV_ANY, FRAGMENTED(16, 256)},
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, FRAGMENTED(32, 256)}
};
// clang-format on

/*
  SpMVRuleApply - picks the launch configuration of a matrix with at least one nonzero

  kind other than DCSR_SPMV_AUTO limits the choice to rows of that kind where storage allows it: fragmented storage has one kernel, and DCSR_SPMV_FRAGMENTED says nothing about compact storage.
*/
PetscErrorCode SpMVRuleApply(DCSRView view, const DCSRFacts *facts, DCSRSpMVKind kind, SpMVConfig *config)
{
  const PetscBool  compact = view.row_offsets != NULL ? PETSC_TRUE : PETSC_FALSE;
  const SpMVRule  *rules   = compact ? SpMVRules : SpMVFragmentedRules;
  const size_t     n       = compact ? PETSC_STATIC_ARRAY_LENGTH(SpMVRules) : PETSC_STATIC_ARRAY_LENGTH(SpMVFragmentedRules);
  const PetscCount mean    = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  size_t           found   = n;

  PetscFunctionBegin;
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

/* SpMVRuleCompressRows - whether a list of nonempty rows pays: most rows are empty, or one block would have to write very many of them */
PetscBool SpMVRuleCompressRows(DCSRView view, const DCSRFacts *facts)
{
  if (view.row_offsets == NULL) return PETSC_FALSE;
  return (2 * facts->num_nonempty_rows < (PetscCount)view.num_rows || facts->max_block_rows > 8 * SPMV_BLOCK_NONZEROS) ? PETSC_TRUE : PETSC_FALSE;
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
