/*
  Plain solves without KSPSolve() around them, for those who do the same solves again and again, and may record them. What KSPSolve() does beside the steps must be nothing: nobody is told of the
  solve, and nothing is done before or after it. That is decided by the key of a KSP, so that a decision holds as long as the key.
*/
#include "fused.h"
#include "../../../../petsc/mat.h"
#include "../../../../petsc/ksp.h"

/*
  KSPIsSilent - Whether KSPSolve() of a KSP tells nobody of a solve, computes nothing beside, and changes neither guess nor right-hand side nor operators, as it does after
  KSPSetUseExplicitTranspose().
*/
PetscBool KSPIsSilent(KSP ksp)
{
  const PetscBool views = (PetscBool)(ksp->view || ksp->viewPre || ksp->viewRate || ksp->viewMat || ksp->viewPMat || ksp->viewRhs || ksp->viewSol || ksp->viewMatExp || ksp->viewEV || ksp->viewSV ||
                                      ksp->viewEVExp || ksp->viewFinalRes || ksp->viewPOpExp);
  const PetscBool calls = (PetscBool)(ksp->numbermonitors > 0 || ksp->numberreasonviews > 0 || ksp->convergedreasonviewer != NULL || ksp->presolve != NULL || ksp->postsolve != NULL ||
                                      KSPHasInternalCallbacks(ksp));

  return (PetscBool)(!views && !calls && !KSPIsScaled(ksp) && ksp->guess == NULL && !ksp->guess_knoll && !ksp->dmActive && !ksp->transpose.reuse_transpose && ksp->pc != NULL &&
                     ksp->pc->ops->presolve == NULL && ksp->pc->ops->postsolve == NULL && ksp->pc->failedreason == PC_NOERROR);
}

static PetscBool GetFactors(KSP ksp, PetscReal factors[2])
{
  return (PetscBool)(KSPChebyshevGetFactors_AIJCUDA(ksp, factors) || KSPRichardsonGetFactors_AIJCUDA(ksp, factors) || KSPGMRESPolyGetFactors_AIJCUDA(ksp, factors));
}

static PetscInt64 Bits(PetscReal value)
{
  const double d    = (double)value;
  PetscInt64   bits = 0;

  (void)memcpy(&bits, &d, sizeof(bits));
  return bits;
}

/* KSPFusedGetMatKey - What products with a matrix follow from, and the null spaces that a solve with it removes. A may be NULL. All of key is written. Cost: a dozen fields are read. */
PetscErrorCode KSPFusedGetMatKey(Mat A, KSPFusedMatKey *key)
{
  MatNullSpace space, transpose;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(key, 1));
  if (A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(MatGetTransposeNullSpace(A, &transpose));
  key->id            = ((PetscObject)A)->id;
  key->state         = ((PetscObject)A)->state;
  key->nonzero_state = A->nonzerostate;
  key->flags         = (A->assembled ? KSP_FUSED_MAT_ASSEMBLED : 0) | (A->boundtocpu ? KSP_FUSED_MAT_BOUND : 0) | (space != NULL ? KSP_FUSED_MAT_NULL_SPACE : 0) |
               (transpose != NULL ? KSP_FUSED_MAT_TRANSPOSE_NULL_SPACE : 0);
  key->mult             = (PetscInt64)(uintptr_t)A->ops->mult;
  key->multadd          = (PetscInt64)(uintptr_t)A->ops->multadd;
  key->multtranspose    = (PetscInt64)(uintptr_t)A->ops->multtranspose;
  key->multtransposeadd = (PetscInt64)(uintptr_t)A->ops->multtransposeadd;
  key->residual         = (PetscInt64)(uintptr_t)A->ops->residual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFlags(KSP ksp, PetscBool ours, PetscInt64 *flags)
{
  const PetscBool no_norm = (PetscBool)(ksp->normtype == KSP_NORM_NONE && ksp->pc_side == PC_LEFT && ksp->normsupporttable[KSP_NORM_NONE][PC_LEFT] > 0);
  PetscBool       asked, is_set_up;

  PetscFunctionBegin;
  PetscCall(KSPFusedIsAsked(ksp, &asked));
  PetscCall(KSPIsSetUpFor(ksp, &is_set_up));
  *flags = (ours ? KSP_FUSED_OURS : 0) | (asked ? KSP_FUSED_ASKED : 0) | (KSPIsSilent(ksp) ? KSP_FUSED_SILENT : 0) | (is_set_up ? KSP_FUSED_SET_UP : 0) |
           (ksp->pc != NULL && ksp->pc->setupcalled ? KSP_FUSED_PC_SET_UP : 0) | (no_norm ? KSP_FUSED_NO_NORM : 0) | (ksp->guess_zero ? KSP_FUSED_GUESS_ZERO : 0) |
           (ksp->res_hist != NULL || ksp->err_hist != NULL ? KSP_FUSED_HISTORY : 0) | (ksp->errorifnotconverged ? KSP_FUSED_ERRORS : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedGetKey - What KSPFusedApply() follows from beside vectors, and whether it can serve the KSP: while the key is the same, nothing has changed
  All of key is written. Cost: some dozen fields are read, and a composed object is looked for.
*/
PetscErrorCode KSPFusedGetKey(KSP ksp, KSPFusedKey *key)
{
  PetscReal       factors[2] = {0.0, 0.0};
  const PetscBool ours       = GetFactors(ksp, factors);

  PetscFunctionBegin;
  PetscCall(KSPFusedGetMatKey(ksp->pc != NULL ? ksp->pc->mat : NULL, &key->A));
  PetscCall(GetFlags(ksp, ours, &key->flags));
  key->id         = ((PetscObject)ksp)->id;
  key->pc         = ksp->pc != NULL ? ((PetscObject)ksp->pc)->id : 0;
  key->factors[0] = Bits(factors[0]);
  key->factors[1] = Bits(factors[1]);
  key->max_it     = (PetscInt64)ksp->max_it;
  key->nwork      = (PetscInt64)ksp->nwork;
  key->solve      = (PetscInt64)(uintptr_t)ksp->ops->solve;
  key->converged  = (PetscInt64)(uintptr_t)ksp->converged;
  key->apply      = ksp->pc != NULL ? (PetscInt64)(uintptr_t)ksp->pc->ops->apply : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of now, whatever the last solve ended with, and in whichever direction it was. */
static PetscErrorCode WhyNotPlain(KSP ksp, Vec b, Vec x, const char **why)
{
  const KSPConvergedReason reason          = ksp->reason;
  const PetscBool          transpose_solve = ksp->transpose_solve;
  KSPFusedIteration        iteration;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  ksp->reason          = KSP_CONVERGED_ITERATING;
  ksp->transpose_solve = PETSC_FALSE;
  ierr                 = KSPFusedWhyNot(ksp, b, x, &iteration, why);
  ksp->reason          = reason;
  ksp->transpose_solve = transpose_solve;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedApplyWhyNot - Why KSPFusedApply() cannot serve a KSP, which may be of any type; zero: the guess will be zero
  why is a static string; NULL: it can, while KSPFusedGetKey() gives the same and the vectors are on the device.
*/
PetscErrorCode KSPFusedApplyWhyNot(KSP ksp, Vec b, Vec x, PetscBool zero, const char **why)
{
  KSPFusedKey key;

  PetscFunctionBegin;
  *why = NULL;
  PetscCall(KSPFusedGetKey(ksp, &key));
  if (!(key.flags & KSP_FUSED_OURS)) *why = "a smoother is neither KSPCHEBYSHEV of first kind nor KSPRICHARDSON nor KSPGMRESPOLY";
  else if (!(key.flags & KSP_FUSED_SILENT)) *why = "somebody looks at a smoother, or changes its guess";
  else if (!(key.flags & KSP_FUSED_SET_UP) || key.nwork < 2) *why = "a smoother is not set up";
  else if (!(key.flags & KSP_FUSED_NO_NORM)) *why = "a smoother computes norms, or has another side of its preconditioner";
  else if (!zero && (key.flags & KSP_FUSED_GUESS_ZERO)) *why = "a smoother ignores its guess";
  else if (key.A.flags & KSP_FUSED_MAT_TRANSPOSE_NULL_SPACE) *why = "the transpose of a matrix has a null space";
  else PetscCall(WhyNotPlain(ksp, b, x, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPFusedApply - The steps of a solve, when KSPFusedApplyWhyNot() finds nothing against it; the matrix is sequential x is guess and solution; zero: the guess is zero, and x is not read. */
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
