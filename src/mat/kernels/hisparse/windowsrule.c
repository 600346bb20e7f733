/*
  The launch rule of products with 16-bit columns. A table is read from the top, and the first row that fits is taken. Each compute capability that was measured has a table.
*/
#include "windowsimpl.h"

#define WINDOWS_ANY PETSC_COUNT_MAX
#define WINDOWS_SHAPE(lanes, threads, items, vec, resident) \
  { \
    DCSR_SPMV_SPLIT, lanes, threads, items, vec, SPMV_LOAD_ONCE, resident \
  }

typedef struct {
  PetscCount row_size; /* Nonempty rows have at most so many nonzeros on average. */
  PetscCount skew;     /* The largest row has at most so many times the mean. */
  SpMVConfig config;
} WindowsRule;

typedef struct {
  const WindowsRule *rules;
  size_t             num_rules;
} WindowsRules;

// clang-format off
/* The shapes that 32-bit columns have in ../spmv/spmvrule.c, where they were measured on an NVIDIA H200; vec is the widest load of columns that the items allow. With 8 items the registers
   of 1280 threads are too few for all gathers of a thread to be under way together. */
static const WindowsRule WindowsRulesH200[] = {
  {12,          WINDOWS_ANY, WINDOWS_SHAPE(1, 128, 4, 4, 1536)},
  {20,          WINDOWS_ANY, WINDOWS_SHAPE(1, 128, 8, 8, 1152)},
  {40,          WINDOWS_ANY, WINDOWS_SHAPE(2, 128, 8, 8, 1152)},
  {200,         WINDOWS_ANY, WINDOWS_SHAPE(8, 128, 4, 4, 1536)},
  {WINDOWS_ANY, WINDOWS_ANY, WINDOWS_SHAPE(8, 256, 8, 8, 1024)}
};
// clang-format on

static const WindowsRules  WindowsH200     = {WindowsRulesH200, PETSC_STATIC_ARRAY_LENGTH(WindowsRulesH200)};
static const DCSRRuleTable WindowsTables[] = {{90, &WindowsH200}};

/* WindowsRuleApply - the launch configuration, and with it the order of columns, of a matrix with at least one nonzero, by its facts */
PetscErrorCode WindowsRuleApply(PetscCount num_nonzeros, const DCSRFacts *facts, SpMVConfig *config)
{
  const PetscCount    mean  = (num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const WindowsRules *table = NULL;
  size_t              i     = 0;

  PetscFunctionBegin;
  PetscCall(DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(WindowsTables), WindowsTables, (const void **)&table));
  while (i + 1 < table->num_rules && (mean > table->rules[i].row_size || facts->max_row_size / mean > table->rules[i].skew)) i++;
  *config = table->rules[i].config;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define WINDOWS_CONFIG(lanes, t, i, v, r) {DCSR_SPMV_SPLIT, lanes, t, i, v, SPMV_LOAD_ONCE, r},

static const SpMVConfig WindowsConfigs[] = {WINDOWS_CONFIGS(WINDOWS_CONFIG)
#if defined(SPMV_SWEEP)
                                              WINDOWS_SWEEP_CONFIGS(WINDOWS_CONFIG)
#endif
};

/* WindowsConfigGetCount - how many configurations there are */
PetscErrorCode WindowsConfigGetCount(PetscInt *n)
{
  PetscFunctionBegin;
  *n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(WindowsConfigs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsConfigGet - the i-th of them */
PetscErrorCode WindowsConfigGet(PetscInt i, SpMVConfig *config)
{
  PetscFunctionBegin;
  *config = WindowsConfigs[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}
