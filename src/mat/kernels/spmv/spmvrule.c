/*
  The launch rule of Mult, y = A x + z. src/tuning has the table.
*/
#include "spmvrule.h"

/* The largest row over the mean. */
static inline PetscReal SpMVRuleSkew(const DCSRFacts *facts, PetscCount mean)
{
  return (PetscReal)facts->max_row_size / (PetscReal)mean;
}

/* SpMVConfigIsHeld - Whether the device holds a thread block. In shared memory split and scan have terms, with gaps, and sums of warps. */
PetscBool SpMVConfigIsHeld(const SpMVConfig *config, const PetscSparseCUDATuning *tuning)
{
  const size_t scalars = config->kind == DCSR_SPMV_SPLIT || config->kind == DCSR_SPMV_SCAN ? (size_t)config->threads * (size_t)(config->items + 1) + 2 * ((size_t)config->threads / 32) : 0;

  return PetscSparseCUDATuningHolds(tuning, config->threads, scalars * sizeof(PetscScalar), 1);
}

/* SpMVRuleApply - picks the launch configuration of a matrix with at least one nonzero; kind other than DCSR_SPMV_AUTO limits the choice to rows of that kind */
PetscErrorCode SpMVRuleApply(DCSRView view, const DCSRFacts *facts, DCSRSpMVKind kind, SpMVConfig *config)
{
  const PetscCount             mean   = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const PetscSparseCUDATuning *tuning = NULL;
  const SpMVRule              *rules;
  size_t                       n, found;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  rules = tuning->spmv.rules;
  found = n = tuning->spmv.num_rules;
  for (size_t i = 0; i < n && found == n; i++) {
    if (kind != DCSR_SPMV_AUTO && rules[i].config.kind != kind) continue;
    if (view.num_nonzeros > rules[i].num_nonzeros || mean > rules[i].row_size || SpMVRuleSkew(facts, mean) > rules[i].skew || facts->max_row_size > rules[i].max_row_size) continue;
    if (SpMVConfigIsHeld(&rules[i].config, tuning)) found = i;
  }
  if (found < n) *config = rules[found].config;
  else {
    /* VECTOR was asked for and the table would rather not. */
    const SpMVConfig vector = {DCSR_SPMV_VECTOR, 1, 256, 4, 0, SPMV_LOAD_CACHED, 0};

    *config = vector;
    while (config->lanes < 32 && config->lanes * 4 < mean) config->lanes *= 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpMVRuleCompressRows - whether a list of nonempty rows pays: very few rows have entries, or one thread block would have to write very many empty ones

  An empty row costs 4 bytes of offset and 8 of y where the kernel passes over it, 8 where y is set first; a nonempty one then costs 8 more to find and a memory sector of y that is written in part.
  That is one in 10 for y = A x and one in 4 for y += A x.
*/
PetscBool SpMVRuleCompressRows(DCSRView view, const DCSRFacts *facts)
{
  return (6 * facts->num_nonempty_rows < (PetscCount)view.num_rows || facts->max_block_rows > 8 * SPMV_BLOCK_NONZEROS) ? PETSC_TRUE : PETSC_FALSE;
}

/*
  SpMVRuleBlocks - whether a structure that may consist of full blocks of so many rows and columns goes by blocks, and the configuration

  A group of lanes has a block row to itself, so that no row may be very much longer than the others, and empty rows should be few.
*/
PetscBool SpMVRuleBlocks(DCSRView view, const DCSRFacts *facts, int br, int bc, SpMVConfig *config)
{
  const PetscCount mean   = view.num_nonzeros / PetscMax(facts->num_nonempty_rows, 1);
  const int        lanes  = mean <= 24 && br <= 4 ? 4 : mean <= 64 || (mean <= 128 && br <= 4) ? 8 : 32;
  const SpMVConfig blocks = {DCSR_SPMV_BLOCKS, lanes, 256, br, bc, SPMV_LOAD_CACHED, 0};

  *config = blocks;
  return (PetscBool)(!SpMVRuleCompressRows(view, facts) && facts->max_row_size <= (PetscCount)SPMV_LONG_ROW_FACTOR * blocks.lanes);
}
