/*
  Cycles in single precision that guard themselves (-pc_gamg_level_values auto): they read rounded values until something says that these do not serve, and the full ones from then on; where the finest
  level has FP16, single precision comes first.

  After a setup: the first cycle must be finite; with new interpolations or values of another size it is compared with the one in full precision, too. During a solve whose cycles are given residuals:
  where ten cycles do not halve these, a cycle is compared again. After a solve: a breakdown, or far fewer digits an iteration than in the best one. Cycles in full precision stay until interpolations
  are made anew: a time step does not try again what has failed.
*/
#include "gamg.h"

#define LARGEST_DIFFERENCE 0.02 /* of two cycles; from about 0.03 on iterations increase, in experiments with operators that were rounded */
#define LARGEST_CHANGE     1e3  /* of what a cycle makes of the size of a vector, until it is compared again: coarse levels may have become zero in single precision */
#define GUARD_CYCLES       10   /* in which residuals are to become GUARD_FACTOR times smaller */
#define GUARD_FACTOR       2

/* Whether the cycles of a PC are guarded now. */
static PetscBool IsGuarded(const GAMGContext *context)
{
  return (PetscBool)(context->single && context->level_values == GAMG_VALUES_AUTO && !context->guards.off);
}

/* GAMGGuardsBegin - After a setup: what the next cycle has to show. makes: interpolations are new */
PetscErrorCode GAMGGuardsBegin(GAMGContext *context, PetscBool makes)
{
  GAMGGuards *g = &context->guards;

  PetscFunctionBegin;
  if (makes || context->level_values != GAMG_VALUES_AUTO) PetscCall(PetscMemzero(g, sizeof(*g)));
  if (context->level_values != GAMG_VALUES_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  g->finite = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char too_large[] = "values are too large for single precision"; /* of coarse levels: FP16 is scaled */

/* More precision from now on; that the cycle failed, which PETSc would remember for good, is forgotten. Collective */
static PetscErrorCode Raise(PC pc, GAMGContext *context, PCFailedReason failed, const char reason[])
{
  PetscFunctionBegin;
  if (context->half && reason != too_large) {
    pc->failedreason        = failed;
    context->guards.compare = PETSC_TRUE;
    context->guards.finite  = PETSC_TRUE;
    PetscCall(GAMGLeaveHalf(pc, context, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: cycles read full precision from now on: %s\n", reason));
  pc->failedreason        = failed;
  context->guards.reason  = reason;
  context->guards.compare = PETSC_FALSE;
  context->guards.finite  = PETSC_FALSE;
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGReleaseSingle(pc));
  PetscCall(GAMGSetUpCycle(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two vectors with the values of y; NULL where a process lacks memory for them. Collective */
static PetscErrorCode CopyTwice(PC pc, Vec y, Vec copies[])
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  copies[0] = copies[1] = NULL;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) {
    ierr = VecDuplicate(y, &copies[k]);
    if (ierr == PETSC_SUCCESS) ierr = VecCopy(y, copies[k]); // allocates
  }
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_SUCCESS) (void)cudaGetLastError(); // a later check must not find this one
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)pc), ierr, &ierr));
  for (int k = 0; k < 2 && ierr != PETSC_SUCCESS; k++) PetscCall(VecDestroy(&copies[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the result y of a cycle is near enough to that of a cycle in full precision: in the 2-norm, or in the energy norm, which decides about the iterations of KSPCG; *reason says why not. PETSc's
  smoothers keep the vectors that they are given: y and x. Collective
*/
static PetscErrorCode Compare(PC pc, PCApplyFn *full, Vec x, Vec y, PetscBool energy, const char differs[], const char **reason)
{
  PetscReal   norm, size, difference;
  PetscScalar dot[2];
  Vec         copies[2], single, d;

  PetscFunctionBegin;
  PetscCall(CopyTwice(pc, y, copies));
  single = copies[0];
  d      = copies[1];
  if (single == NULL) *reason = "there was no memory to compare a cycle";
  if (single == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*full)(pc, x, y));
  PetscCall(VecNorm(y, NORM_2, &size));
  PetscCall(VecDot(x, y, &dot[0])); // the energy, as far as the cycle is an inverse
  PetscCall(VecWAXPY(d, -1.0, single, y));
  PetscCall(VecNorm(d, NORM_2, &norm));
  if (energy) {
    PetscCall(MatMult(pc->mat, d, y));
    PetscCall(VecDot(d, y, &dot[1]));
    size = PetscSqrtReal(PetscAbsScalar(dot[0]));
    norm = PetscSqrtReal(PetscAbsScalar(dot[1]));
  }
  PetscCall(VecCopy(single, y));
  PetscCall(VecDestroy(&copies[0]));
  PetscCall(VecDestroy(&copies[1]));
  difference = size > 0 ? norm / size : PETSC_INFINITY;
  PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: a cycle differs by %g from the one in full precision\n", (double)difference));
  if (!(difference <= LARGEST_DIFFERENCE)) *reason = differs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first cycle after a setup. A zero tells nothing; then the next one is looked at. Collective */
static PetscErrorCode GuardFirst(PC pc, GAMGContext *context, PCApplyFn *full, Vec x, Vec y, const char **reason)
{
  GAMGGuards *g = &context->guards;
  PetscReal   size, norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_2, &size));
  if (PetscIsInfOrNanReal(size)) *reason = too_large;
  if (size == 0 || *reason != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &norm));
  if (!(size <= LARGEST_CHANGE * g->gain * norm && LARGEST_CHANGE * size >= g->gain * norm)) g->compare = PETSC_TRUE;
  g->gain = size / norm;
  if (g->compare) PetscCall(Compare(pc, full, x, y, PETSC_FALSE, "a cycle differs too much from the one in full precision", reason));
  g->compare = PETSC_FALSE;
  g->finite  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residuals, which the cycles of this solve are given, now and then; another preconditioner costs KSPCG its conjugate directions, so that it must be the rounding that makes them stagnate. Collective */
static PetscErrorCode GuardResidual(PC pc, GAMGGuards *g, PCApplyFn *full, Vec x, Vec y, const char **reason)
{
  PetscReal norm;

  PetscFunctionBegin;
  if (!g->residuals || g->num_cycles++ % g->interval != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &norm));
  if (g->num_cycles > 1 && !(GUARD_FACTOR * norm <= g->norm)) {
    PetscCall(Compare(pc, full, x, y, PETSC_TRUE, "residuals stagnate", reason));
    g->interval *= 2;
  }
  g->norm = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGGuardCycle - Looks at a cycle y of x; full is PETSc's operation, which reads full precision here; failed: what pc->failedreason was before. *again: the cycle has to be done again, in the precision
  that the PC has now. Collective
  Cost: two norms in the first cycle after a setup, one in every tenth cycle; a cycle in full precision with new interpolations or values of another size, and where residuals stagnate, less and less
  often.
*/
PetscErrorCode GAMGGuardCycle(PC pc, GAMGContext *context, PCApplyFn *full, PCFailedReason failed, Vec x, Vec y, PetscBool *again)
{
  const char *reason = NULL;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!IsGuarded(context)) PetscFunctionReturn(PETSC_SUCCESS);
  if (context->guards.finite || context->guards.compare) PetscCall(GuardFirst(pc, context, full, x, y, &reason));
  if (reason == NULL) PetscCall(GuardResidual(pc, &context->guards, full, x, y, &reason));
  if (reason == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Raise(pc, context, failed, reason));
  *again = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGGuardsPreSolve - A solve begins. */
PetscErrorCode GAMGGuardsPreSolve(GAMGContext *context, KSP ksp)
{
  PetscFunctionBegin;
  context->guards.num_cycles = 0;
  context->guards.interval   = GUARD_CYCLES;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &context->guards.residuals, KSPCG, KSPFCG, KSPRICHARDSON, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGGuardsPostSolve - A solve has ended: with as many iterations as the user allows, it may be what he wants. Collective */
PetscErrorCode GAMGGuardsPostSolve(PC pc, GAMGContext *context, KSP ksp)
{
  GAMGGuards *g      = &context->guards;
  const char *reason = NULL;
  PetscReal   digits;

  PetscFunctionBegin;
  g->residuals = PETSC_FALSE;
  if (!IsGuarded(context)) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->reason == KSP_DIVERGED_ITS) g->finite = g->compare = PETSC_TRUE; // when there is another solve
  else if (ksp->reason < 0) reason = "a solve failed";
  else if (GAMGTuneGetDigits(ksp, &digits)) {
    if (digits < GAMG_SLOW * g->digits) reason = "a solve converged slowly";
    g->digits = PetscMax(g->digits, digits);
  }
  if (reason != NULL) PetscCall(Raise(pc, context, pc->failedreason, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}
