/*
  Solves for hardcompare.h.
*/
#include "hardcompare.h"
#include "../../src/ksp/pc/impls/gamg/gamg.h"

#define RTOL           (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-8)
#define LARGEST        ((PetscReal)1.1 * RTOL) // true residual over the right-hand side
#define MAX_ITERATIONS 500

/* The finest level has masked diagonals, small as it is. */
static PetscErrorCode AskForDiagonals(Mat P)
{
  Mat diagonal;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonalBlock(P, &diagonal));
  MatSeqAIJCUDAGet(diagonal)->options.storage_format = HISPARSE_DIAGONALS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const HardGenerated *g, Mat A, Mat P, const char values[], KSP *ksp)
{
  PetscBool left;
  PC        pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_level_values", values));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_preset", g->robust ? "robust" : "none"));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, P));
  PetscCall(KSPSetType(*ksp, g->ksp_type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*ksp, &left, KSPCG, KSPMINRES, ""));
  PetscCall(KSPSetPCSide(*ksp, left ? PC_LEFT : PC_RIGHT));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, RTOL, 0, (PetscReal)1e10, MAX_ITERATIONS));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetPrecision(KSP ksp, HardOutcome *outcome)
{
  GAMGContext *context;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, &context));
  outcome->bits  = context->half ? 16 : context->single ? 32 : 64;
  outcome->guard = context->guards.reason != NULL ? context->guards.reason : context->guards.half_reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const HardGenerated *g, Mat A, Mat P, Vec b, const char values[], HardOutcome *outcome)
{
  KSPConvergedReason reason;
  PetscReal          norm;
  Vec                x, r;
  KSP                ksp;

  PetscFunctionBegin;
  if (g->system.nu == 0) PetscCall(AskForDiagonals(P));
  PetscCall(CreateSolver(g, A, P, values, &ksp));
  PetscCall(MatCreateVecs(A, &x, &r));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &outcome->its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &outcome->residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  outcome->residual /= norm;
  outcome->solved = (PetscBool)(reason > 0 && outcome->residual <= LARGEST);
  outcome->end    = KSPConvergedReasons[reason];
  PetscCall(GetPrecision(ksp, outcome));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardCompareSolve - see hardcompare.h */
PetscErrorCode HardCompareSolve(const HardGenerated *g, Mat A, Mat P, Vec b, const char values[], HardOutcome *outcome)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *outcome = (HardOutcome){.end = "an error"};
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Solve(g, A, P, b, values, outcome);
  PetscCall(PetscPopErrorHandler());
  if (ierr) outcome->solved = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
