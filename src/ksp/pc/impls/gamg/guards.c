/*
  Cycles in single precision that guard themselves (-pc_gamg_level_values auto): they read rounded values until something says that these do not serve, and the full ones from then on; where the finest
  level has FP16, single precision comes first.

  They do so in solves of few methods alone: those whose cycles are given residuals, and which another preconditioner from some iteration on does not harm. KSPCG goes on with exact line searches then,
  so that the error falls in each iteration; its variant with a single reduction does not. Methods that keep a basis of the Krylov subspace, such as KSPGMRES, would end with a wrong residual. All other applications
  read full values: those of other preconditioners that contain this one, of PCApply(), with transposes.

  With new values: the first cycle must be finite and is compared with the one in full precision. During a solve: where ten cycles do not gain a digit, a cycle is compared again. After a solve: a
  breakdown, or far fewer digits an iteration than in the best one to the same tolerances. Cycles in full precision stay until interpolations are made anew: a time step does not try again what has
  failed.
*/
#include "gamg.h"
#include "../../../../petsc/methods.h"

#define LARGEST_DIFFERENCE 0.02 /* of two cycles; from about 0.03 on iterations increase, in experiments with operators that were rounded */
#define GUARD_CYCLES       10   /* in which residuals are to become GUARD_FACTOR times smaller: solves that go on do not take all iterations that are allowed */
#define GUARD_FACTOR       10
#define FEWEST_SOLVED      3e6 /* unknowns a process of all solves, from which on the default rounds: the first rounded solve takes 5 to 9 ms more on an H200, later ones gain 2 ms a million */
#define MOST_FAILED        2   /* hierarchies of one PC, until it rounds no more */

/* Whether the cycles of a PC are guarded now. */
static PetscBool IsGuarded(const GAMGContext *context)
{
  return (PetscBool)(context->single && context->guards.solving);
}

/* GAMGGuardsBegin - After a setup: what was known of the values before goes. makes: interpolations are new */
PetscErrorCode GAMGGuardsBegin(GAMGContext *context, PetscBool makes)
{
  GAMGGuards      *g      = &context->guards;
  const GAMGGuards before = *g;

  PetscFunctionBegin;
  if (makes || context->level_values != GAMG_VALUES_AUTO) PetscCall(PetscMemzero(g, sizeof(*g)));
  g->known      = before.known;
  g->num_failed = before.num_failed;
  g->solved     = before.solved;
  g->solving    = PETSC_FALSE;
  g->states[0]  = -1;
  if (makes && context->level_values == GAMG_VALUES_AUTO && g->num_failed >= MOST_FAILED) g->reason = "they did not serve with the hierarchies before";
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
    PetscCall(GAMGLeaveHalf(pc, context, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: cycles read full precision from now on: %s\n", reason));
  pc->failedreason        = failed;
  context->guards.reason  = reason;
  context->guards.compare = PETSC_FALSE;
  context->guards.num_failed++;
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGReleaseSingle(pc, context));
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

/* The first cycle with new values. A zero tells nothing; then the next one is looked at. Collective */
static PetscErrorCode GuardFirst(PC pc, GAMGContext *context, PCApplyFn *full, Vec x, Vec y, const char **reason)
{
  GAMGGuards *g = &context->guards;
  PetscReal   size;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_2, &size));
  if (PetscIsInfOrNanReal(size)) *reason = too_large;
  if (size == 0 || *reason != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Compare(pc, full, x, y, PETSC_FALSE, "a cycle differs too much from the one in full precision", reason));
  g->compare = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residuals, which the cycles of this solve are given, now and then; another preconditioner costs KSPCG its conjugate directions, so that it must be the rounding that makes them stagnate. Collective */
static PetscErrorCode GuardResidual(PC pc, GAMGGuards *g, PCApplyFn *full, Vec x, Vec y, const char **reason)
{
  PetscReal norm;

  PetscFunctionBegin;
  if (g->num_cycles++ % g->interval != 0) PetscFunctionReturn(PETSC_SUCCESS);
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
  Cost: a norm in every tenth cycle; a cycle in full precision with new values, and where residuals stagnate, less and less often.
*/
PetscErrorCode GAMGGuardCycle(PC pc, GAMGContext *context, PCApplyFn *full, PCFailedReason failed, Vec x, Vec y, PetscBool *again)
{
  const char *reason = NULL;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!IsGuarded(context)) PetscFunctionReturn(PETSC_SUCCESS);
  if (context->guards.compare) PetscCall(GuardFirst(pc, context, full, x, y, &reason));
  if (reason == NULL) PetscCall(GuardResidual(pc, &context->guards, full, x, y, &reason));
  if (reason == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Raise(pc, context, failed, reason));
  *again = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a method is one of those that guards look after, as it is set up, and looks at norms; with the scale factor 1 KSPRICHARDSON leaves its iterations to PETSc's PCMG. */
static PetscErrorCode Knows(KSP ksp, PetscBool *known)
{
  PetscBool cg, fcg, richardson;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCG, &cg));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPFCG, &fcg));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRICHARDSON, &richardson));
  if (cg) cg = (PetscBool) !((const KSP_CG *)ksp->data)->singlereduction;
  if (richardson) richardson = (PetscBool)(((const KSP_Richardson *)ksp->data)->scale != (PetscReal)1.0 && !((const KSP_Richardson *)ksp->data)->selfscale);
  *known = (PetscBool)((cg || fcg || richardson) && ksp->normtype != KSP_NORM_NONE && ksp->converged != KSPConvergedSkip && !ksp->transpose_solve && !ksp->calc_sings);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a smoother would end the program where rounded values overflow: it looks at norms, and has to converge. */
static PetscBool SmootherMayEnd(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  for (PetscInt level = 0; level < mg->nlevels; level++) {
    const KSP smoothers[] = {mg->levels[level]->smoothd, mg->levels[level]->smoothu};

    for (int k = 0; k < 2; k++)
      if (smoothers[k] != NULL && smoothers[k]->errorifnotconverged && smoothers[k]->normtype != KSP_NORM_NONE) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* GAMGGuardsPreSolve - A solve begins; of a KSP whose preconditioner is this PC, and not one that contains it. */
PetscErrorCode GAMGGuardsPreSolve(PC pc, GAMGContext *context, KSP ksp)
{
  GAMGGuards *g = &context->guards;
  PetscMPIInt size;
  PetscBool   space;

  PetscFunctionBegin;
  if (IsGuarded(context)) PetscCall(Raise(pc, context, pc->failedreason, "a solve ended with an error, or another one began within it"));
  g->num_cycles = 0;
  g->interval   = GUARD_CYCLES;
  g->solving    = PETSC_FALSE;
  if (context->level_values != GAMG_VALUES_AUTO || g->off) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Knows(ksp, &g->known));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(GAMGHasNullSpace(pc, &space)); // set since the setup: MatSetNullSpace() raises no state
  g->solved += (PetscReal)pc->pmat->rmap->N / (PetscReal)size;
  g->known   = (PetscBool)(g->known && ksp->pc == pc && !space && !MatDeviceStorageUsesSingle() && !SmootherMayEnd(pc)); // nor within a cycle that reads rounded values
  g->known   = (PetscBool)(g->known && (context->given.level_values || g->solved >= FEWEST_SOLVED));
  g->solving = (PetscBool)(g->known && pc->presolvedone <= 1); // not within another solve with this PC, which goes on when an error ends this one, perhaps with a method that keeps a basis
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a solve is to end as the best one so far, with which others are compared: to tolerances of its own a solve may take other iterations a digit. */
static PetscBool HasTolerancesOfBest(GAMGGuards *g, KSP ksp)
{
  const PetscBool same = (PetscBool)(g->rtol == ksp->rtol && g->abstol == ksp->abstol);

  g->rtol   = ksp->rtol;
  g->abstol = ksp->abstol;
  return same;
}

/* GAMGGuardsPostSolve - A solve has ended: with as many iterations as the user allows, it may be what he wants. Collective */
PetscErrorCode GAMGGuardsPostSolve(PC pc, GAMGContext *context, KSP ksp)
{
  GAMGGuards *g      = &context->guards;
  const char *reason = NULL;
  PetscReal   digits;

  PetscFunctionBegin;
  if (!IsGuarded(context)) g->solving = PETSC_FALSE;
  if (!g->solving) PetscFunctionReturn(PETSC_SUCCESS);
  g->solving   = PETSC_FALSE;
  g->num_ended = ksp->reason == KSP_DIVERGED_ITS ? g->num_ended + 1 : 0;
  if (g->num_ended == 1) g->compare = PETSC_TRUE; // when there is another solve
  else if (g->num_ended > 1 && ksp->max_it > GUARD_CYCLES) reason = "solves took all their iterations";
  else if (ksp->reason < 0 && g->num_ended == 0) reason = "a solve failed";
  else if (g->num_ended == 0 && GAMGTuneGetDigits(ksp, &digits)) {
    if (!HasTolerancesOfBest(g, ksp)) g->digits = 0;
    if (digits < GAMG_SLOW * g->digits) reason = "a solve converged slowly";
    g->digits = PetscMax(g->digits, digits);
  }
  if (reason != NULL) PetscCall(Raise(pc, context, pc->failedreason, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}
