/*
  Cycles in single precision that guard themselves (-pc_gamg_level_values auto): they read rounded values until something says that these do not serve, and the full ones from then on.

  After a setup: the first cycle must be finite; with new interpolations it is compared with the one in full precision, too. During a solve whose cycles are given residuals: ten cycles must halve these.
  After a solve: a breakdown, or many more iterations than in the last one. Cycles in full precision stay until interpolations are made anew: a time step does not try again what has failed.
*/
#include "gamg.h"

#define LARGEST_DIFFERENCE 0.02 /* of two cycles; from about 0.03 on iterations increase, in experiments with operators that were rounded */
#define GUARD_CYCLES       10   /* in which residuals are to become GUARD_FACTOR times smaller */
#define GUARD_FACTOR       2
#define MORE_ITERATIONS    1.25 /* times those of the last solve, and one: many more */

/* Whether the cycles of a PC are guarded now. */
static PetscBool IsGuarded(const GAMGContext *context)
{
  return (PetscBool)(context->single && context->level_values == GAMG_VALUES_AUTO);
}

/* GAMGGuardsBegin - After a setup: what the next cycle has to show. makes: interpolations are new */
void GAMGGuardsBegin(GAMGContext *context, PetscBool makes)
{
  GAMGGuards *g = &context->guards;

  g->finite = (PetscBool)(context->level_values == GAMG_VALUES_AUTO);
  if (!makes) return;
  g->compare        = g->finite;
  g->reason         = NULL;
  g->num_iterations = 0;
}

/* Full precision from now on. Collective */
static PetscErrorCode Raise(PC pc, GAMGContext *context, const char reason[])
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: cycles read full precision from now on: %s\n", reason));
  context->guards.reason  = reason;
  context->guards.compare = PETSC_FALSE;
  context->guards.finite  = PETSC_FALSE;
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGReleaseSingle(pc));
  PetscCall(GAMGSetUpCycle(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much a cycle differs from full_y, of length size, which this destroys. Collective */
static PetscErrorCode GetDifference(Vec y, Vec full_y, PetscReal size, PetscReal *difference)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecAXPY(full_y, -1.0, y));
  PetscCall(VecNorm(full_y, NORM_2, &norm));
  *difference = norm / size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first cycle after a setup. A zero tells nothing; then the next one is looked at. Collective */
static PetscErrorCode GuardFirst(PC pc, GAMGContext *context, PCApplyFn *full, Vec x, Vec y, const char **reason)
{
  GAMGGuards *g = &context->guards;
  PetscReal   size, difference;
  Vec         full_y;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_2, &size));
  if (PetscIsInfOrNanReal(size)) *reason = "values are too large for single precision";
  if (size == 0 || *reason != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (g->compare) {
    PetscErrorCode ierr;

    PetscCall(VecDuplicate(y, &full_y));
    PetscCallGoto(ierr, cleanup, (*full)(pc, x, full_y));
    PetscCallGoto(ierr, cleanup, VecNorm(full_y, NORM_2, &size));
    PetscCallGoto(ierr, cleanup, GetDifference(y, full_y, size, &difference));
    PetscCallGoto(ierr, cleanup, PetscInfo(pc, "-pc_gamg_level_values auto: a cycle differs by %g from the one in full precision\n", (double)difference));
    if (!(difference <= LARGEST_DIFFERENCE)) *reason = "a cycle differs too much from the one in full precision";
  cleanup:
    PetscCall(VecDestroy(&full_y));
    PetscCall(ierr);
  }
  g->compare = PETSC_FALSE;
  g->finite  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residuals, which the cycles of this solve are given, every tenth one. Collective */
static PetscErrorCode GuardResidual(GAMGGuards *g, Vec x, const char **reason)
{
  PetscReal norm;

  PetscFunctionBegin;
  if (!g->residuals || g->num_cycles++ % GUARD_CYCLES != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &norm));
  if (g->num_cycles > 1 && !(GUARD_FACTOR * norm <= g->norm)) *reason = "residuals stagnate";
  g->norm = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGGuardCycle - Looks at a cycle y of x; full is PETSc's operation, which reads full precision here. *again: the cycle has to be done again, in the precision that the PC has now. Collective
  Cost: a norm in the first cycle after a setup and in every tenth one; with new interpolations a cycle in full precision, once.
*/
PetscErrorCode GAMGGuardCycle(PC pc, GAMGContext *context, PCApplyFn *full, Vec x, Vec y, PetscBool *again)
{
  const char *reason = NULL;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!IsGuarded(context)) PetscFunctionReturn(PETSC_SUCCESS);
  if (context->guards.finite || context->guards.compare) PetscCall(GuardFirst(pc, context, full, x, y, &reason));
  if (reason == NULL) PetscCall(GuardResidual(&context->guards, x, &reason));
  if (reason == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Raise(pc, context, reason));
  *again = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGGuardsPreSolve - A solve begins. */
PetscErrorCode GAMGGuardsPreSolve(GAMGContext *context, KSP ksp)
{
  PetscFunctionBegin;
  context->guards.num_cycles = 0;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &context->guards.residuals, KSPCG, KSPFCG, KSPRICHARDSON, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGGuardsPostSolve - A solve has ended: with as many iterations as the user allows, it may be what he wants. Collective */
PetscErrorCode GAMGGuardsPostSolve(PC pc, GAMGContext *context, KSP ksp)
{
  GAMGGuards        *g      = &context->guards;
  const char        *reason = NULL;
  PetscInt           its;
  KSPConvergedReason converged;

  PetscFunctionBegin;
  if (!IsGuarded(context)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &converged));
  if (converged < 0 && converged != KSP_DIVERGED_ITS) reason = "a solve failed";
  else if (g->num_iterations > 0 && (PetscReal)its > MORE_ITERATIONS * (PetscReal)g->num_iterations + 1) reason = "a solve took more iterations";
  if (converged > 0) g->num_iterations = its;
  if (reason != NULL) PetscCall(Raise(pc, context, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}
