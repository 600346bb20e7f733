/*
  The launch rule of Mult for values in single precision, where it differs from the one of spmvrule.c: a nonzero has 8 bytes in place of 12, so that the work in shared memory weighs more. The first row that fits counts. No row
  fits: the configuration of full precision serves.
*/
#include "spmvimpl.h"
#include "spmvsingle.h"

typedef struct {
  PetscCount num_nonzeros[2]; /* The rule is for so many nonzeros, at least and at most, */
  PetscCount row_size[2];     /* for nonempty rows that have so many on average, */
  PetscReal  skew;            /* and when the largest row has at most so many times the mean. */
  SpMVConfig config;
} SpMVSingleRule;

/*
  NVIDIA H200: what a cycle of PCGAMG multiplies with, for 27 points on 200^3 (spmvkernels -sweep -levels 200 -single), cold, us with the row and with the configuration of full precision. Other matrices were not measured, so
  ranges are narrow.
*/
// clang-format off
static const SpMVSingleRule SpMVSingleRulesH200[] = {
  {{50000000, PETSC_COUNT_MAX}, {24,  32},  2, {DCSR_SPMV_SPLIT,  1,  128, 8, 2, SPMV_LOAD_ONCE,   1280}}, /* step of a smoother, 8 M rows of 27: 609, 691 */
  {{3000000,  50000000},        {40,  64},  2, {DCSR_SPMV_VECTOR, 4,  256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* the same of the next level, 169,377 rows of 44: 36.8, 39.6 */
  {{1000000,  3000000},         {128, 256}, 4, {DCSR_SPMV_VECTOR, 32, 256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* transposed prolongator, 10,788 rows of 146: 12.6, 15.6 */
  {{10000000, PETSC_COUNT_MAX}, {128, 256}, 4, {DCSR_SPMV_VECTOR, 16, 256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* that of the finest level, 169,377 rows of 196: 117, 169 */
};
// clang-format on

typedef struct {
  const SpMVSingleRule *rules;
  size_t                num_rules;
} SpMVSingleRules;

static const SpMVSingleRules SpMVSingleH200     = {SpMVSingleRulesH200, PETSC_STATIC_ARRAY_LENGTH(SpMVSingleRulesH200)};
static const DCSRRuleTable   SpMVSingleTables[] = {{90, &SpMVSingleH200}};

/* SpMVRuleSingle - The configuration of a compact matrix with at least one nonzero and values in single precision; PETSC_FALSE: the one of full precision. */
PetscBool SpMVRuleSingle(DCSRView view, const DCSRFacts *facts, SpMVConfig *config)
{
  const PetscCount       mean  = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const PetscReal        skew  = (PetscReal)facts->max_row_size / (PetscReal)mean;
  const SpMVSingleRules *table = NULL;

  if (DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(SpMVSingleTables), SpMVSingleTables, (const void **)&table) != PETSC_SUCCESS) return PETSC_FALSE;
  for (size_t i = 0; i < table->num_rules; i++) {
    const SpMVSingleRule *rule = table->rules + i;

    if (view.num_nonzeros < rule->num_nonzeros[0] || view.num_nonzeros > rule->num_nonzeros[1] || mean < rule->row_size[0] || mean > rule->row_size[1] || skew > rule->skew) continue;
    *config = rule->config;
    return PETSC_TRUE;
  }
  return PETSC_FALSE;
}
