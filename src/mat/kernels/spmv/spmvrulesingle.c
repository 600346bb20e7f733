/*
  The launch rule of Mult for values in single precision, where it differs from the one of spmvrule.c: a nonzero has 8 bytes in place of 12, so that the work in shared memory weighs more. Tables are read as there. No row fits:
  the configuration of full precision serves.
*/
#include "spmvimpl.h"
#include "spmvsingle.h"

typedef struct {
  PetscCount num_nonzeros; /* The rule is for at most so many nonzeros. */
  PetscCount row_size;     /* Nonempty rows have at most so many nonzeros on average. */
  PetscReal  skew;         /* The largest row has at most so many times the mean. */
  SpMVConfig config;
} SpMVSingleRule;

/* NVIDIA H200: not measured yet. The last row fits nothing. */
static const SpMVSingleRule SpMVSingleRulesH200[] = {{0, 0, 0, {DCSR_SPMV_AUTO, 0, 0, 0, 0, 0, 0}}};

typedef struct {
  const SpMVSingleRule *rules;
  size_t                num_rules;
} SpMVSingleRules;

static const SpMVSingleRules SpMVSingleH200     = {SpMVSingleRulesH200, PETSC_STATIC_ARRAY_LENGTH(SpMVSingleRulesH200)};
static const DCSRRuleTable   SpMVSingleTables[] = {{90, &SpMVSingleH200}};

/* SpMVRuleSingle - The configuration of a compact matrix with at least one nonzero and values in single precision; PETSC_FALSE: the one of full precision. Not collective. */
PetscBool SpMVRuleSingle(DCSRView view, const DCSRFacts *facts, SpMVConfig *config)
{
  const PetscCount       mean  = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const PetscReal        skew  = (PetscReal)facts->max_row_size / (PetscReal)mean;
  const SpMVSingleRules *table = NULL;

  if (DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(SpMVSingleTables), SpMVSingleTables, (const void **)&table) != PETSC_SUCCESS) return PETSC_FALSE;
  for (size_t i = 0; i < table->num_rules; i++) {
    const SpMVSingleRule *rule = table->rules + i;

    if (view.num_nonzeros > rule->num_nonzeros || mean > rule->row_size || skew > rule->skew) continue;
    *config = rule->config;
    return PETSC_TRUE;
  }
  return PETSC_FALSE;
}
