/*
  The launch rule of Mult for values in single precision, where it differs from the one of spmvrule.c: a nonzero has 8 bytes in place of 12, so that the work in shared memory weighs more.
*/
#include "spmvimpl.h"

/* SpMVRuleSingle - The configuration of a compact matrix with at least one nonzero and values in single precision; PETSC_FALSE: the one of full precision. */
PetscBool SpMVRuleSingle(DCSRView view, const DCSRFacts *facts, SpMVConfig *config)
{
  const PetscCount             mean   = (view.num_nonzeros + facts->num_nonempty_rows - 1) / facts->num_nonempty_rows;
  const PetscReal              skew   = (PetscReal)facts->max_row_size / (PetscReal)mean;
  const PetscSparseCUDATuning *tuning = NULL;
  const SpMVSingleRule        *rule;

  if (PetscSparseCUDAGetTuning(&tuning) != PETSC_SUCCESS) return PETSC_FALSE;
  rule = tuning->spmv.single;
  while (view.num_nonzeros < rule->num_nonzeros[0] || view.num_nonzeros > rule->num_nonzeros[1] || mean < rule->row_size[0] || mean > rule->row_size[1] || skew > rule->skew ||
         !SpMVConfigIsHeld(&rule->config, tuning))
    rule++;
  *config = rule->config;
  return (PetscBool)(config->kind != DCSR_SPMV_AUTO);
}
