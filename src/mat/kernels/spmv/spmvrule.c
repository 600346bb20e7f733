/*
  The launch rule of the forward product: one table, read from the top, the first row that fits is taken.
*/
#include "spmvrule.h"

#define SPMV_ANY    PETSC_COUNT_MAX
#define SPLIT4(lanes)              {DCSR_SPMV_SPLIT, lanes, 256, 4, 2, SPMV_LOAD_ONCE, 1536}
#define SPLIT8(lanes)              {DCSR_SPMV_SPLIT, lanes, 256, 8, 2, SPMV_LOAD_ONCE, 1024}
#define VECTOR(lanes, threads)     {DCSR_SPMV_VECTOR, lanes, threads, 0, 0, SPMV_LOAD_CACHED, 0}
#define FRAGMENTED(lanes, threads) {DCSR_SPMV_FRAGMENTED, lanes, threads, 0, 0, SPMV_LOAD_CACHED, 0}

typedef struct {
  PetscCount num_nonzeros; /* fits up to this many nonzeros, */
  PetscCount row_size;     /* this mean number of nonzeros of a nonempty row, */
  PetscCount skew;         /* and a largest row this many times the mean */
  SpMVConfig config;
} SpMVRule;

static const SpMVRule SpMVRules[] = {
  /* Small matrices are bound by the longest chain of dependent loads: no table to read first, no barrier. */
  {2000000,  1,        32,       VECTOR(1, 128) },
  {2000000,  3,        32,       VECTOR(2, 128) },
  {2000000,  11,       32,       VECTOR(4, 128) },
  {2000000,  40,       16,       VECTOR(8, 128) },
  {2000000,  96,       16,       VECTOR(16, 128)},
  {2000000,  SPMV_ANY, 16,       VECTOR(32, 128)},
  /* Small and skewed: small blocks, so that all multiprocessors have some. */
  {2000000,  12,       SPMV_ANY, SPLIT4(2)      },
  {2000000,  SPMV_ANY, SPMV_ANY, SPLIT4(8)      },
  /* Large, rows of similar sizes: lanes so that a warp's rows are summed in few steps. */
  {SPMV_ANY, 12,       64,       SPLIT8(1)      },
  {SPMV_ANY, 24,       64,       SPLIT4(4)      },
  {SPMV_ANY, 48,       64,       SPLIT8(2)      },
  {SPMV_ANY, 200,      2,        SPLIT8(8)      },
  /* Long rows, all alike: a group of lanes is always full, and no product goes through shared memory. */
  {SPMV_ANY, SPMV_ANY, 2,        VECTOR(32, 256)},
  /* Skewed: gathers want L1, so shared memory is kept small. */
  {SPMV_ANY, 6,        SPMV_ANY, SPLIT4(1)      },
  {SPMV_ANY, 32,       SPMV_ANY, SPLIT4(4)      },
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, SPLIT8(16)     }
};

/* Fragmented storage: lanes by mean row size, as each group walks its row. */
static const SpMVRule SpMVFragmentedRules[] = {
  {SPMV_ANY, 3,        SPMV_ANY, FRAGMENTED(1, 256)},
  {SPMV_ANY, 6,        SPMV_ANY, FRAGMENTED(2, 256)},
  {SPMV_ANY, 20,       SPMV_ANY, FRAGMENTED(4, 256)},
  {SPMV_ANY, 48,       SPMV_ANY, FRAGMENTED(8, 256)},
  {SPMV_ANY, 128,      SPMV_ANY, FRAGMENTED(16, 256)},
  {SPMV_ANY, SPMV_ANY, SPMV_ANY, FRAGMENTED(32, 256)}
};

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
    if (compact && (kind == DCSR_SPMV_SPLIT || kind == DCSR_SPMV_VECTOR) && rules[i].config.kind != kind) continue;
    if (view.num_nonzeros <= rules[i].num_nonzeros && mean <= rules[i].row_size && facts->max_row_size / mean <= rules[i].skew) found = i;
  }
  if (found < n) *config = rules[found].config;
  else {
    /* VECTOR was asked for and the table would rather not. */
    const SpMVConfig vector = VECTOR(1, 256);

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

#define SPMV_SPLIT_CONFIGS(t, i, v, l, r) \
  {DCSR_SPMV_SPLIT, 1, t, i, v, l, r}, {DCSR_SPMV_SPLIT, 2, t, i, v, l, r}, {DCSR_SPMV_SPLIT, 4, t, i, v, l, r}, {DCSR_SPMV_SPLIT, 8, t, i, v, l, r}, {DCSR_SPMV_SPLIT, 16, t, i, v, l, r}, {DCSR_SPMV_SPLIT, 32, t, i, v, l, r},
#define SPMV_ROWS_CONFIGS(kind, t, l)   {kind, 1, t, 0, 0, l, 0}, {kind, 2, t, 0, 0, l, 0}, {kind, 4, t, 0, 0, l, 0}, {kind, 8, t, 0, 0, l, 0}, {kind, 16, t, 0, 0, l, 0}, {kind, 32, t, 0, 0, l, 0},
#define SPMV_VECTOR_CONFIGS(t, l)       SPMV_ROWS_CONFIGS(DCSR_SPMV_VECTOR, t, l)
#define SPMV_FRAGMENTED_CONFIGS(t, l)   SPMV_ROWS_CONFIGS(DCSR_SPMV_FRAGMENTED, t, l)

static const SpMVConfig SpMVCompactConfigs[] = {
  SPMV_SPLIT_SHAPES(SPMV_SPLIT_CONFIGS) SPMV_VECTOR_SHAPES(SPMV_VECTOR_CONFIGS)
#if defined(SPMV_SWEEP)
    SPMV_SPLIT_SWEEP_SHAPES(SPMV_SPLIT_CONFIGS) SPMV_VECTOR_SWEEP_SHAPES(SPMV_VECTOR_CONFIGS)
#endif
};
static const SpMVConfig SpMVFragmentedConfigs[] = {
  SPMV_VECTOR_SHAPES(SPMV_FRAGMENTED_CONFIGS)
#if defined(SPMV_SWEEP)
    SPMV_VECTOR_SWEEP_SHAPES(SPMV_FRAGMENTED_CONFIGS)
#endif
};

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
