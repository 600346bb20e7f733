static char help[] = "-pc_gamg_level_values auto: cycles read full precision again where single precision does not serve, and solve what these solve.\n\
  -single: on the device there are values in single precision; -rule: where they are read, and their memory\n\n";

#include "problem.h"
#include "../../lib/sys.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include <string.h>

#define RTOL 1e-9

typedef enum {
  SERVES,   /* nothing is wrong */
  LARGE,    /* values that single precision does not have */
  LARGER,   /* the same in the second step */
  SMALLER,  /* values that single precision takes for zero, in the second step */
  SINGULAR, /* nearly: a constant has a product that single precision does not see */
  SLOWLY,   /* many more iterations for a digit in the second solve */
  DAMPED,   /* residuals stagnate in any precision */
  STAGNATES /* single precision takes values for zero, and the first cycle was not looked at */
} Kind;

static PetscBool norms = PETSC_FALSE; /* smoothers look at norms */

static const char *const kinds[]   = {"serves", "large", "larger", "smaller", "singular", "slowly", "damped", "stagnates"};
static const char *const reasons[] = {NULL,
                                      "values are too large for single precision",
                                      "values are too large for single precision",
                                      "a cycle differs too much from the one in full precision",
                                      "a cycle differs too much from the one in full precision",
                                      "a solve converged slowly",
                                      NULL,
                                      "residuals stagnate"};

/* The diagonal entries become minus the sums of the others, and a little more. */
static PetscErrorCode MakeNearlySingular(Mat A)
{
  Vec ones, sums;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &ones, &sums));
  PetscCall(VecSet(ones, -1.0));
  PetscCall(MatMult(A, ones, sums));
  PetscCall(MatDiagonalSet(A, sums, ADD_VALUES));
  PetscCall(MatShift(A, 1e-9));
  PetscCall(VecDestroy(&ones));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for a right-hand side of the size of the matrix; the residual is that of the matrix in full precision. */
static PetscErrorCode Solve(Mat A, KSP ksp, Kind kind, PetscInt step)
{
  const PetscReal    rtol = kind >= DAMPED ? 0.9 : RTOL;
  PetscReal          norm, residual;
  PetscRandom        random;
  Vec                b, x;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)A), &random));
  PetscCall(PetscRandomSetFromOptions(random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, 1e10, 200));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s, step %" PetscInt_FMT ": %s", kinds[kind], step, KSPConvergedReasons[reason]);
  PetscCall(VecScale(b, -1.0));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &residual));
  PetscCheck(residual <= 1.01 * rtol * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ": residual %g of %g", kinds[kind], step, (double)residual, (double)norm);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the PC reads now, and why. */
static PetscErrorCode CheckPrecision(KSP ksp, Kind kind, PetscInt step, PetscBool single)
{
  const char  *expected = single && (step == 1 || (kind != LARGER && kind != SMALLER && kind != SLOWLY)) ? reasons[kind] : NULL;
  GAMGContext *context;
  PetscBool    same;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, &context));
  if (!single && kind != SLOWLY) PetscCheck(context->guards.reason == NULL, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ": %s", kinds[kind], step, context->guards.reason);
  if (!single) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(expected, context->guards.reason, &same));
  if (!same && expected && kind == SMALLER && norms) PetscCall(PetscStrcmp(reasons[LARGER], context->guards.reason, &same)); // zeros whose inverse a smoother takes
  PetscCheck(same && context->single == (expected == NULL), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ": cycles read %s precision, since '%s', not '%s'", kinds[kind], step,
             context->single ? "single" : "full", context->guards.reason ? context->guards.reason : "", expected ? expected : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKind(Kind kind, Problem problem, PetscInt n, PetscBool single)
{
  ProblemOptions o = {.problem = problem, .near_null = NEAR_NULL_NONE, .n = n};
  GAMGContext   *context;
  Mat            A;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&o, MATAIJDCSRCUDA, &A));
  if (kind == SINGULAR) PetscCall(MakeNearlySingular(A));
  if (kind == LARGE || kind == STAGNATES) PetscCall(MatScale(A, kind == LARGE ? 1e38 : 1e-50));
  if (kind == SLOWLY) PetscCall(MatShift(A, 50.0));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE)); // for KSPCG; on several processes MatShift() and MatDiagonalSet() forget it
  PetscCall(ProblemCreateKSP(&o, A, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (kind == DAMPED || kind == STAGNATES) {
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(ksp, kind == DAMPED ? 0.005 : 0.25));
  }
  if (kind == STAGNATES) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(GAMGGetContext(pc, &context));
    context->guards.known = PETSC_TRUE; // the setup makes rounded values
    PetscCall(KSPSetUp(ksp));
    context->guards.compare = PETSC_FALSE;
  }
  for (PetscInt step = 0; step < 3; step++) { // of which the last two have new values and the interpolations of the first
    if (kind == SERVES) {                     // whatever the values are, a cycle is compared
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(GAMGGetContext(pc, &context));
      PetscCheck(!single || step == 0 || context->guards.compare, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": the first cycle with new values is not compared", step);
    }
    PetscCall(Solve(A, ksp, kind, step));
    PetscCall(CheckPrecision(ksp, kind, PetscMin(step, 1), single));
    if (kind == SLOWLY && step == 0) PetscCall(MatShift(A, -50.0));
    PetscCall(MatScale(A, step == 0 && kind == LARGER ? 1e38 : step == 0 && kind == SMALLER ? 1e-50 : 1.1));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several cycles in one application converge to the solution of the matrix, not of a rounded one. */
static PetscErrorCode TestSeveralCycles(PetscInt n)
{
  ProblemOptions o = {.problem = PROBLEM_27POINT, .near_null = NEAR_NULL_NONE, .n = n};
  PetscReal      norm, residual;
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&o, MATAIJDCSRCUDA, &A));
  PetscCall(MatScale(A, 0.1)); // which single precision rounds
  PetscCall(ProblemCreateKSP(&o, A, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "single"));
  PetscCall(KSPSetUp(ksp)); // PCMGSetLevels() forgets the number of cycles
  PetscCall(PCMGMultiplicativeSetCycles(pc, 40));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  for (int k = 0; k < 2; k++) PetscCall(KSPSolve(ksp, b, x)); // the first cycle after a setup is another matter
  PetscCall(VecScale(b, -1.0));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &residual));
  PetscCheck(residual <= 1e-10 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "40 cycles leave a residual of %g of %g", (double)residual, (double)norm);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How cycles are applied, and whether they read rounded values then. */
static const struct {
  const char *options;
  PetscBool   rounded;
} uses[] = {{"-u_ksp_type cg", PETSC_TRUE},
            {"-u_ksp_type fcg", PETSC_TRUE},
            {"-u_ksp_type richardson -u_ksp_richardson_scale 0.9", PETSC_TRUE},
            {"-u_ksp_type richardson -u_ksp_richardson_self_scale", PETSC_FALSE},
            {"-u_ksp_type richardson", PETSC_FALSE},
            {"-u_ksp_type cg -u_ksp_cg_single_reduction", PETSC_FALSE},
            {"-u_ksp_type cg -u_ksp_norm_type none", PETSC_FALSE},
            {"-u_ksp_type cg -u_ksp_convergence_test skip", PETSC_FALSE},
            {"-u_ksp_type fcg -u_mg_levels_ksp_type gmres -u_mg_levels_ksp_norm_type preconditioned", PETSC_TRUE},
            {"-u_ksp_type fcg -u_mg_levels_ksp_type gmres -u_mg_levels_ksp_norm_type preconditioned -u_ksp_error_if_not_converged -u_ksp_rtol 0.1", PETSC_FALSE},
            {"-u_ksp_type gmres", PETSC_FALSE},
            {"-u_ksp_type fgmres", PETSC_FALSE},
            {"-u_ksp_type bcgs", PETSC_FALSE},
            {"-u_ksp_type minres", PETSC_FALSE},
            {"-u_ksp_type preonly", PETSC_FALSE},
            {"-u_ksp_type cg -u_pc_type composite -u_pc_composite_pcs gamg,jacobi", PETSC_FALSE},
            {"-u_ksp_type cg -u_pc_type ksp -u_ksp_ksp_type preonly -u_ksp_pc_type gamg", PETSC_FALSE}};

/* A solver without options of its own for the precision, which are those of all. */
static PetscErrorCode CreateUse(Mat A, const char options[], const char values[], KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_level_values", values));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "u_"));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, RTOL, 0.0, 1e10, 5));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ClearUse(const char options[])
{
  char **words;
  int    n;

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(options, ' ', &n, &words));
  for (int k = 0; k < n; k++)
    if (words[k][0] == '-') PetscCall(PetscOptionsClearValue(NULL, words[k]));
  PetscCall(PetscStrToArrayDestroy(n, words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other applications than the solves of some methods read full values: what they compute has the bits of -pc_gamg_level_values double. */
static PetscErrorCode TestUses(Mat A, PetscBool single)
{
  KSP       ksp[2];
  Vec       b, x[2];
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecSetRandom(b, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(uses); k++) {
    for (int l = 0; l < 2; l++) {
      PetscCall(CreateUse(A, uses[k].options, l ? "auto" : "double", &ksp[l]));
      for (int solve = 0; solve < 2; solve++) PetscCall(KSPSolve(ksp[l], b, x[l]));
      PetscCall(KSPDestroy(&ksp[l]));
    }
    PetscCall(ClearUse(uses[k].options));
    PetscCall(VecEqual(x[0], x[1], &same));
    PetscCheck(same != (PetscBool)(single && uses[k].rounded), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: cycles have %s", uses[k].options, same ? "the bits of full precision" : "other bits");
  }
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of applications without a solve, after one that reads rounded values. */
static PetscErrorCode TestApplications(Mat A)
{
  KSP       ksp[2];
  PC        pc;
  Vec       b, x, y[2][2];
  PetscBool same;
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  for (int l = 0; l < 2; l++) {
    PetscCall(CreateUse(A, "-u_ksp_type cg", l ? "auto" : "double", &ksp[l]));
    PetscCall(KSPSolve(ksp[l], b, x));
    PetscCall(KSPGetPC(ksp[l], &pc));
    for (int k = 0; k < 2; k++) PetscCall(VecDuplicate(x, &y[l][k]));
    for (int k = 0; k < 5; k++) PetscCall(PCApply(pc, b, y[l][0]));
    PetscCall(PCApplyTranspose(pc, b, y[l][1]));
    PetscCall(KSPDestroy(&ksp[l]));
  }
  PetscCall(VecEqual(y[0][0], y[1][0], &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PCApply() reads rounded values");
  PetscCall(VecNorm(y[0][1], NORM_2, &norm));
  PetscCall(VecAXPY(y[1][1], -1.0, y[0][1]));
  PetscCall(VecNorm(y[1][1], NORM_2, &difference));
  PetscCheck(difference <= 1e-12 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PCApplyTranspose() reads rounded values: a difference of %g", (double)(difference / norm)); // products have atomics
  for (int k = 0; k < 4; k++) PetscCall(VecDestroy(&y[k % 2][k / 2]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetContext(KSP ksp, GAMGContext **context)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded values are optional memory: they leave a reserve and are released before a setup, those of a former matrix, too; what fails of them ends no solve. */
static PetscErrorCode TestMemory(Mat A, PetscBool single)
{
  PetscCount         full, used[5];
  Mat                B;
  KSP                ksp;
  PC                 pc;
  Vec                b, x;
  GAMGContext       *context;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &full));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
  PetscCall(GetContext(ksp, &context));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &used[0]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &used[1]));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &used[2]));
  PetscCall(MatScale(B, 1.1));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGAMGSetReuseInterpolation(pc, PETSC_FALSE)); // a refresh keeps what it rounds again
  PetscCall(PetscSparseCUDATestFailAllocation(1));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDATestFailAllocation(0));
  PetscCall(MatDCSRCUDAGetMemoryUsed(B, &used[3]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &used[4]));
  PetscCall(KSPDestroy(&ksp));
  PetscCheck(used[0] == full && (used[1] > full) == single && used[2] == full && used[3] <= full && used[4] == full, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscCount_FMT " bytes before the first solve, %" PetscCount_FMT " after it, %" PetscCount_FMT " when there is another matrix, %" PetscCount_FMT " in a second setup, %" PetscCount_FMT
             " with another PC; %" PetscCount_FMT " without rounded values",
             used[0], used[1], used[2], used[3], used[4], full);
  PetscCall(MatDestroy(&B));
  for (PetscInt n = 0; n < 12; n++) {
    PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
    PetscCall(GetContext(ksp, &context));
    PetscCall(KSPSetTolerances(ksp, RTOL, 0.0, 1e10, 200));
    PetscCall(KSPSetUp(ksp));
    if (n == 0) PetscCall(PetscSparseCUDATestSetMemoryAvailable(1));
    else PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PetscSparseCUDATestSetMemoryAvailable(0));
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s without memory", KSPConvergedReasons[reason]);
    PetscCheck(n > 1 || !single || (context->guards.reason != NULL && !context->single), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Rounded values take the last of the memory");
    PetscCall(MatDCSRCUDAGetMemoryUsed(A, &used[0]));
    PetscCheck(context->single || used[0] == full, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rounded values that are not read stay");
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves to different tolerances take different iterations a digit, which says nothing of the cycles; to the same ones it does. */
static PetscErrorCode TestTolerances(Mat A, PetscBool single)
{
  GAMGContext *context;
  KSP          ksp;
  Vec          b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
  PetscCall(GetContext(ksp, &context));
  for (int solve = 0; solve < 4; solve++) {
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(KSPSetTolerances(ksp, solve < 2 ? 1e-4 : 1e-7, 0.0, 1e10, 200));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCheck(context->guards.reason == NULL && context->single == single, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Solve %d: %s", solve, context->guards.reason);
    if (single && solve != 2) context->guards.digits = solve == 1 ? 1e3 : 0; // the best solve was much faster, to the tolerance of before
  }
  if (single) context->guards.digits = 1e3;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCheck((context->guards.reason != NULL) == single, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A solve to the same tolerance converges slowly, and nobody notices");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The default waits until solves have had enough unknowns, whatever the setups between them. */
static PetscErrorCode TestWaits(Mat A, PetscBool single)
{
  GAMGContext *context;
  PetscMPIInt  size;
  KSP          ksp;
  PC           pc;
  Vec          b, x;
  PetscReal    unknowns;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  unknowns = (PetscReal)A->rmap->N / (PetscReal)size;
  PetscCall(PetscOptionsClearValue(NULL, "-pc_gamg_level_values"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(GetContext(ksp, &context));
  for (int solve = 0; solve < 4; solve++) {
    if (solve == 2) context->guards.solved = 1e9;
    if (solve == 3) PetscCall(KSPSetOperators(ksp, A, A));
    if (solve == 3) PetscCall(PetscObjectStateIncrease((PetscObject)A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCheck(context->single == (PetscBool)(single && solve >= 2), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Solve %d reads %s values", solve, context->single ? "rounded" : "full");
    PetscCheck(PetscAbsReal(context->guards.solved - (solve + 1 - 2 * (solve >= 2)) * unknowns - 1e9 * (solve >= 2)) <= 1e-6 * unknowns, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "After solve %d: %g unknowns", solve, (double)context->guards.solved);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option without a prefix is for all PC, with one for that PC; the setter is as good. */
static PetscErrorCode TestSetting(Mat A)
{
  GAMGContext *context;
  KSP          ksp;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(CreateUse(A, "-u_ksp_type cg", "single", &ksp));
  PetscCall(GetContext(ksp, &context));
  PetscCheck(context->level_values == GAMG_VALUES_SINGLE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The option without a prefix is not obeyed");
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "auto"));
  PetscCheck(context->level_values == GAMG_VALUES_AUTO, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The setter has no effect");
  PetscCall(PetscOptionsSetValue(NULL, "-u_pc_gamg_level_values", "double"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCheck(context->level_values == GAMG_VALUES_DOUBLE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The option with a prefix is not obeyed");
  PetscCall(PetscOptionsClearValue(NULL, "-u_pc_gamg_level_values"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_gamg_level_values"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCheck(context->level_values == GAMG_VALUES_AUTO, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The default is another one");
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Mat inside; /* multiplied in cycles alone */

static PetscErrorCode Residual(Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCall(MatMult(inside, x, r));
  PetscCall(PCMGResidualDefault(A, b, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that the setup does not know is not rounded. */
static PetscErrorCode TestInside(Mat A)
{
  PetscCount used[2];
  PetscInt   levels;
  Mat        outside;
  KSP        ksp;
  PC         pc;
  Vec        b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &inside));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &outside));
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &levels));
  PetscCall(PCMGSetResidual(pc, levels - 1, Residual, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatDCSRCUDAGetMemoryUsed(inside, &used[0]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatMult(outside, b, x));
  PetscCall(MatDCSRCUDAGetMemoryUsed(outside, &used[1])); // what products alone make of it
  PetscCall(MatDestroy(&outside));
  PetscCheck(used[0] == used[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A matrix that is multiplied inside of a cycle has %" PetscCount_FMT " bytes, not %" PetscCount_FMT, used[0], used[1]);
  PetscCall(MatDestroy(&inside));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Interrupt(KSP ksp, PetscInt its, PetscReal norm, void *ctx)
{
  (void)ksp;
  (void)norm;
  (void)ctx;
  return its < 2 ? PETSC_SUCCESS : PETSC_ERR_USER;
}

/* Solves that take all their iterations read more precision in the end, but for those of few iterations; so do solves after one that ended with an error. */
static PetscErrorCode TestEnds(Mat A, PetscBool single)
{
  GAMGContext *context;
  KSP          ksp;
  Vec          b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  for (int many = 0; many < 2; many++) {
    PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
    PetscCall(GetContext(ksp, &context));
    PetscCall(KSPSetTolerances(ksp, 1e-30, 0.0, 1e10, many ? 12 : 3));
    for (int solve = 0; solve < 4; solve++) PetscCall(KSPSolve(ksp, b, x));
    PetscCheck((context->guards.reason != NULL) == (many && single), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Four solves of %d iterations, and cycles read %s", many ? 12 : 3,
               many ? "rounded values" : "full values");
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &ksp));
  PetscCall(GetContext(ksp, &context));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 0.0, 1e10, 3));
  PetscCall(KSPMonitorSet(ksp, Interrupt, NULL, NULL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCheck((context->guards.half_reason != NULL || context->guards.reason != NULL) == single, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A solve ended with an error, and cycles read what they read before");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve within another one, with the same preconditioner, which ends with an error. */
typedef struct {
  KSP ksp;
  Vec b, x;
} Inner;

static PetscErrorCode SolveInner(KSP ksp, PetscInt its, PetscReal norm, PetscCtx ctx)
{
  const Inner *inner = (const Inner *)ctx;
  PetscInt     locks;

  PetscFunctionBegin;
  (void)ksp;
  (void)norm;
  if (its != 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)KSPSolve(inner->ksp, inner->b, inner->x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(VecLockGet(inner->b, &locks));
  while (locks-- > 0) PetscCall(VecLockReadPop(inner->b)); // which the error has left
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The outer one keeps a basis: its cycles read the same values all the time. */
static PetscErrorCode TestNested(Mat A)
{
  PetscReal norm, residual;
  Inner     inner;
  KSP       outer;
  PC        pc;
  Vec       b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MatCreateVecs(A, &inner.x, &inner.b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecCopy(b, inner.b));
  PetscCall(CreateUse(A, "-u_ksp_type cg", "auto", &inner.ksp));
  PetscCall(KSPMonitorSet(inner.ksp, Interrupt, NULL, NULL));
  PetscCall(KSPGetPC(inner.ksp, &pc));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &outer));
  PetscCall(KSPSetType(outer, KSPGMRES));
  PetscCall(KSPSetPCSide(outer, PC_RIGHT));
  PetscCall(KSPSetPC(outer, pc));
  PetscCall(KSPSetOperators(outer, A, A));
  PetscCall(KSPSetTolerances(outer, 1e-11, 0.0, PETSC_CURRENT, 50));
  PetscCall(KSPMonitorSet(outer, SolveInner, &inner, NULL));
  PetscCall(KSPSolve(outer, b, x));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(MatMult(A, x, inner.x));
  PetscCall(VecAXPY(inner.x, -1.0, b));
  PetscCall(VecNorm(inner.x, NORM_2, &residual));
  PetscCheck(residual <= 1e-9 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "After an error in a solve within it KSPGMRES ends with the residual %g of %g", (double)residual, (double)norm);
  PetscCall(KSPDestroy(&outer));
  PetscCall(KSPDestroy(&inner.ksp));
  PetscCall(VecDestroy(&inner.b));
  PetscCall(VecDestroy(&inner.x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full values everywhere where one process has the matrix on the host, and where KSP projects out a null space or collects singular values. */
static PetscErrorCode TestExceptions(Mat A, PetscInt n)
{
  ProblemOptions o = {.problem = PROBLEM_27POINT, .near_null = NEAR_NULL_NONE, .n = 2 * (n / 2) + 1}; // on two processes one has a row less
  PetscMPIInt    size;
  char           rows[32];
  MatNullSpace   constant;
  GAMGContext   *context;
  KSP            ksp;
  Mat            B;
  Vec            b, x;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(rows, sizeof(rows), "%" PetscInt_FMT, (o.n * o.n * o.n - 1) / size + 1 + (size == 1)));
  for (int what = 0; what < 3; what++) {
    if (what == 0) PetscCall(PetscOptionsSetValue(NULL, "-mat_bind_below", rows));
    if (what == 0) PetscCall(ProblemCreate(&o, MATAIJDCSRCUDA, &B));
    else PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_bind_below"));
    PetscCall(MatCreateVecs(B, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    if (what == 1) {
      PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
      PetscCall(MatSetNullSpace(B, constant));
      PetscCall(MatNullSpaceDestroy(&constant));
    }
    PetscCall(CreateUse(B, "-u_ksp_type cg", "auto", &ksp));
    PetscCall(GetContext(ksp, &context));
    if (what == 2) PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
    for (int solve = 0; solve < 2; solve++) {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCheck(!context->single, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There are rounded values for exception %d", what);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRule(PetscInt n, PetscBool single)
{
  ProblemOptions o = {.problem = PROBLEM_27POINT, .near_null = NEAR_NULL_NONE, .n = n};
  Mat            A;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&o, MATAIJDCSRCUDA, &A));
  PetscCall(MatScale(A, 0.1)); // which single precision rounds
  PetscCall(TestUses(A, single));
  PetscCall(TestApplications(A));
  PetscCall(TestMemory(A, single));
  PetscCall(TestTolerances(A, single));
  PetscCall(TestInside(A));
  PetscCall(TestEnds(A, single));
  PetscCall(TestNested(A));
  PetscCall(TestExceptions(A, n));
  PetscCall(TestWaits(A, single));
  PetscCall(TestSetting(A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool single = PETSC_FALSE, rule = PETSC_FALSE;
  PetscInt  n = 12;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rule", &rule, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  if (rule) {
    PetscCall(TestRule(n, single));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mg_levels_ksp_type", &norms)); // smoothers that look at norms fail before residuals stagnate
  for (int kind = 0; kind < (int)PETSC_STATIC_ARRAY_LENGTH(kinds) - norms; kind++) PetscCall(TestKind((Kind)kind, PROBLEM_27POINT, n, single));
  PetscCall(TestSeveralCycles(n));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   testset:
      args: -pc_gamg_level_values auto -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         nsize: {{1 3}}
         args: -device_enable none
      test:
         suffix: host_rule
         nsize: {{1 2}}
         args: -device_enable none -rule
      test:
         suffix: device_rule
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0 -single -rule -n 10 -pc_gamg_coarse_cycle {{graph petsc}}
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2 3}}
         args: -use_gpu_aware_mpi 0 -single -pc_gamg_coarse_cycle {{graph petsc}}
      test:
         suffix: device_norms
         requires: cuda
         args: -use_gpu_aware_mpi 0 -single -mg_levels_ksp_type gmres -ksp_type fcg

TEST*/
