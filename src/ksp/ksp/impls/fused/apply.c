/*
  Plain solves without KSPSolve() around them, for those who do the same solves again and again, and may record them. What KSPSolve() does beside the steps must be nothing: nobody is told of the solve, and nothing is done
  before or after it.
*/
#include "fused.h"
#include <petsc/private/pcimpl.h>

/* KSPIsSilent - Whether KSPSolve() of a KSP tells nobody of a solve, computes nothing beside, and changes neither guess nor right-hand side. Not collective. */
PetscBool KSPIsSilent(KSP ksp)
{
  const PetscBool views = (PetscBool)(ksp->view || ksp->viewPre || ksp->viewRate || ksp->viewMat || ksp->viewPMat || ksp->viewRhs || ksp->viewSol || ksp->viewMatExp || ksp->viewEV || ksp->viewSV || ksp->viewEVExp || ksp->viewFinalRes ||
                                      ksp->viewPOpExp);
  const PetscBool calls = (PetscBool)(ksp->numbermonitors > 0 || ksp->numberreasonviews > 0 || ksp->convergedreasonviewer != NULL || ksp->presolve != NULL || ksp->postsolve != NULL || ksp->presolve_ew != NULL || ksp->postsolve_ew != NULL);

  return (PetscBool)(!views && !calls && ksp->guess == NULL && !ksp->guess_knoll && !ksp->dmActive && ksp->pc != NULL && ksp->pc->ops->presolve == NULL && ksp->pc->ops->postsolve == NULL && ksp->pc->failedreason == PC_NOERROR);
}

static PetscBool GetFactors(KSP ksp, PetscReal factors[2])
{
  return (PetscBool)(KSPChebyshevGetFactors_AIJCUDA(ksp, factors) || KSPRichardsonGetFactors_AIJCUDA(ksp, factors));
}

/* Of now, whatever the last solve ended with. */
static PetscErrorCode WhyNotPlain(KSP ksp, Vec b, Vec x, const char **why)
{
  const KSPConvergedReason reason = ksp->reason;
  KSPFusedIteration        iteration;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  ksp->reason = KSP_CONVERGED_ITERATING;
  ierr        = KSPFusedWhyNot(ksp, b, x, &iteration, why);
  ksp->reason = reason;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedApplyWhyNot - Why KSPFusedApply() cannot serve a KSP

  Not Collective

  Input Parameters:
+ ksp  - set up, of any type
. b    - right-hand side
. x    - solution
- zero - whether the guess will be zero

  Output Parameter:
. why - in words, static; NULL: it can
*/
PetscErrorCode KSPFusedApplyWhyNot(KSP ksp, Vec b, Vec x, PetscBool zero, const char **why)
{
  MatNullSpace space;
  MatState     state;
  Mat          A;
  PetscBool    same;
  PetscReal    factors[2];

  PetscFunctionBegin;
  *why = NULL;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetState(A, &state));
  PetscCall(MatStateCompare(state, ksp->amatstate, &same));
  PetscCall(MatGetTransposeNullSpace(A, &space));
  if (!GetFactors(ksp, factors)) *why = "a smoother is neither KSPCHEBYSHEV of first kind nor KSPRICHARDSON";
  else if (!KSPIsSilent(ksp)) *why = "somebody looks at a smoother, or changes its guess";
  else if (ksp->setupstage != KSP_SETUP_NEWRHS || ksp->nwork < 2 || !same) *why = "a smoother is not set up";
  else if (!zero && ksp->guess_zero) *why = "a smoother ignores its guess";
  else if (space != NULL) *why = "the transpose of a matrix has a null space";
  else PetscCall(WhyNotPlain(ksp, b, x, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedApply - The steps of a solve

  Not Collective; the matrix is sequential

  Input Parameters:
+ ksp  - KSPFusedApplyWhyNot() finds nothing against it
. b    - right-hand side
- zero - the guess is zero, and x is not read

  Input/Output Parameter:
. x - guess and solution
*/
PetscErrorCode KSPFusedApply(KSP ksp, Vec b, Vec x, PetscBool zero)
{
  const Vec       rhs = ksp->vec_rhs, sol = ksp->vec_sol; // the KSP has references to them
  const PetscBool guess_zero = ksp->guess_zero;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  ksp->vec_rhs         = b;
  ksp->vec_sol         = x;
  ksp->guess_zero      = zero;
  ksp->transpose_solve = PETSC_FALSE;
  ksp->reason          = KSP_CONVERGED_ITERATING;
  ierr                 = (*ksp->ops->solve)(ksp);
  ksp->vec_rhs         = rhs;
  ksp->vec_sol         = sol;
  ksp->guess_zero      = guess_zero;
  PetscCall(ierr);
  ksp->totalits += ksp->its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt64 Bits(PetscReal value)
{
  const double d    = (double)value;
  PetscInt64   bits = 0;

  (void)memcpy(&bits, &d, sizeof(bits));
  return bits;
}

/*
  KSPFusedGetKey - What the steps of KSPFusedApply() follow from, beside matrices and vectors, and whether it can still serve the KSP: while these numbers are the same, nothing has changed

  Not Collective

  Input Parameter:
. ksp - of any type

  Output Parameters:
+ key   - the numbers
- known - whether the KSP has one of our solves

  Cost: comparisons of fields, no calls of PETSc.
*/
void KSPFusedGetKey(KSP ksp, PetscInt64 key[KSP_FUSED_KEY], PetscBool *known)
{
  PetscReal factors[2] = {0.0, 0.0};

  *known  = GetFactors(ksp, factors);
  key[0]  = (PetscInt64)((*known ? 1 : 0) | (KSPIsSilent(ksp) ? 2 : 0) | (ksp->guess_zero ? 4 : 0) | (ksp->setupstage == KSP_SETUP_NEWRHS ? 8 : 0) | (ksp->res_hist != NULL ? 16 : 0) | (ksp->err_hist != NULL ? 32 : 0) |
                        (ksp->errorifnotconverged ? 64 : 0));
  key[1]  = Bits(factors[0]);
  key[2]  = Bits(factors[1]);
  key[3]  = (PetscInt64)ksp->max_it;
  key[4]  = (PetscInt64)ksp->nwork;
  key[5]  = (PetscInt64)ksp->normtype;
  key[6]  = ((PetscObject)ksp)->id;
  key[7]  = (PetscInt64)(uintptr_t)ksp->ops->solve;
  key[8]  = (PetscInt64)(uintptr_t)ksp->converged;
  key[9]  = ksp->pc != NULL ? ((PetscObject)ksp->pc)->id : 0;
  key[10] = ksp->pc != NULL ? (PetscInt64)(uintptr_t)ksp->pc->ops->apply : 0;
  key[11] = ksp->pc != NULL ? (PetscInt64)ksp->pc->setupcalled : 0;
}
