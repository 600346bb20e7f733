static char help[] = "-pc_gamg_level_values auto: cycles read full precision again where single precision does not serve, and solve what these solve.\n\
  -single: on the device there are values in single precision\n\n";

#include "problem.h"
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
  PetscCall(ProblemCreateKSP(&o, A, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (kind == DAMPED || kind == STAGNATES) {
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(ksp, kind == DAMPED ? 0.005 : 0.25));
  }
  if (kind == STAGNATES) {
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(GAMGGetContext(pc, &context));
    context->guards.finite = context->guards.compare = PETSC_FALSE;
  }
  for (PetscInt step = 0; step < 3; step++) { // of which the last two have new values and the interpolations of the first
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
  PetscCall(KSPSetUp(ksp)); // PCMGSetLevels() forgets the number of cycles
  PetscCall(KSPGetPC(ksp, &pc));
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

int main(int argc, char **argv)
{
  PetscBool single = PETSC_FALSE;
  PetscInt  n      = 12;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
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
         suffix: device
         requires: cuda
         nsize: {{1 2 3}}
         args: -use_gpu_aware_mpi 0 -single -pc_gamg_coarse_cycle {{graph petsc}}
      test:
         suffix: device_norms
         requires: cuda
         args: -use_gpu_aware_mpi 0 -single -mg_levels_ksp_type gmres -ksp_type fgmres

TEST*/
