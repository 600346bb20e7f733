static char help[] =
  "KSPCG whose steps are kernels of the library takes the steps of PETSc's: iterates, norms, monitors, histories, reasons, eigenvalues and objective, for all norms, guesses and what ends a solve.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/ksp/impls/fused/fused.h"

#define MAX_STEPS 60

/* What a system is. */
typedef enum {
  DEFINITE,
  INDEFINITE_PC, /* diagonal entries of both signs */
  INDEFINITE,    /* the matrix is, its diagonal is not */
  NOT_FINITE,
  SOLVED, /* the right-hand side is zero */
  NUM_SYSTEMS
} System;
static const char *const systems[NUM_SYSTEMS] = {"definite", "indefinite preconditioner", "indefinite matrix", "NaN in the matrix", "zero right-hand side"};

/* Applied by kernels of the steps, and by PCApply(). */
static const PCType pcs[] = {PCJACOBI, PCPBJACOBI};
#define NUM_PCS 2

static const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
#define NUM_NORMS 4

/* What a solve shows. */
typedef struct {
  PetscInt           its, num_told, num_history;
  KSPConvergedReason reason;
  PetscReal          norm, told[MAX_STEPS + 2], history[MAX_STEPS + 2], largest, smallest, objective;
} Outcome;

static PetscErrorCode CreateMatrix(MatType type, PetscInt n, System system, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscReal diagonal = (PetscReal)2.1 + i % 5;

    if (system == INDEFINITE_PC && i > n / 2) diagonal = -diagonal;
    if (system == INDEFINITE && i > n / 2) diagonal = 0.5;
    if (system == NOT_FINITE && i == n / 3) diagonal = PETSC_INFINITY;
    PetscCall(MatSetValue(*A, i, i, diagonal, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Hear(KSP ksp, PetscInt it, PetscReal norm, PetscCtx context)
{
  Outcome  *o = (Outcome *)context;
  PetscReal now;

  PetscFunctionBegin;
  PetscCall(KSPGetResidualNorm(ksp, &now));
  PetscCheck(it == 0 || now == norm || PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The norm is %g where a monitor hears %g", (double)now, (double)norm);
  if (it <= MAX_STEPS) o->told[it] = norm;
  o->num_told++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, PCType type, KSPNormType norm, PetscBool guess, PetscInt max_it, System system, Vec *x, PetscBool *fused, Outcome *o)
{
  KSPFusedContext *context;
  const PetscReal *history;
  KSP              ksp;
  PC               pc;
  Vec              b;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(o, 1));
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(TestFill(b, 1));
  if (system == SOLVED) PetscCall(VecSet(b, 0));
  PetscCall(VecSet(*x, guess ? 0.25 : 0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetNormType(ksp, norm));
  if (norm == KSP_NORM_NONE) PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, max_it));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
  PetscCall(KSPSetResidualHistory(ksp, NULL, MAX_STEPS + 2, PETSC_TRUE));
  PetscCall(KSPMonitorSet(ksp, Hear, o, NULL));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPGetIterationNumber(ksp, &o->its));
  PetscCall(KSPGetConvergedReason(ksp, &o->reason));
  PetscCall(KSPGetResidualNorm(ksp, &o->norm));
  PetscCall(KSPGetResidualHistory(ksp, &history, &o->num_history));
  PetscCall(PetscArraycpy(o->history, history, PetscMin(o->num_history, MAX_STEPS + 2)));
  if ((o->reason == KSP_CONVERGED_RTOL || o->reason == KSP_DIVERGED_INDEFINITE_MAT) && o->its > 0) PetscCall(KSPComputeExtremeSingularValues(ksp, &o->largest, &o->smallest));
  PetscCall(KSPCGGetObjFcn(ksp, &o->objective));
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  *fused = PETSC_FALSE;
  if (context != NULL && context->said != NULL) PetscCall(PetscStrcmp(context->said, KSP_FUSED, fused));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNear(PetscReal got, PetscReal expected, const char what[], const char which[])
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-9;

  PetscFunctionBegin;
  PetscCheck(PetscIsInfOrNanReal(expected) == PetscIsInfOrNanReal(got) && !(PetscAbsReal(got - expected) > tolerance * (1 + PetscAbsReal(expected))), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: %s is %g and should be %g", which, what, (double)got, (double)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Outcome *got, const Outcome *expected, const char which[])
{
  PetscFunctionBegin;
  PetscCheck(got->its == expected->its && got->reason == expected->reason, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s after %" PetscInt_FMT " iterations, should be %s after %" PetscInt_FMT, which,
             KSPConvergedReasons[got->reason], got->its, KSPConvergedReasons[expected->reason], expected->its);
  PetscCheck(got->num_told == expected->num_told && got->num_history == expected->num_history, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: monitors are called %" PetscInt_FMT " times, not %" PetscInt_FMT,
             which, got->num_told, expected->num_told);
  PetscCall(CheckNear(got->norm, expected->norm, "the norm", which));
  PetscCall(CheckNear(got->largest, expected->largest, "the largest eigenvalue", which));
  PetscCall(CheckNear(got->smallest, expected->smallest, "the smallest eigenvalue", which));
  PetscCall(CheckNear(got->objective, expected->objective, "the objective", which));
  for (PetscInt k = 0; k < PetscMin(expected->num_told, MAX_STEPS); k++) PetscCall(CheckNear(got->told[k], expected->told[k], "what a monitor hears", which));
  for (PetscInt k = 0; k < PetscMin(expected->num_history, MAX_STEPS); k++) PetscCall(CheckNear(got->history[k], expected->history[k], "the history", which));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, PCType pc, PetscInt n, System system, PetscBool usable)
{
  const PetscInt steps[] = {MAX_STEPS, 3, 1};
  Mat            A[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(CreateMatrix(k ? type : MATAIJ, n, system, &A[k]));
  for (int norm = 0; norm < NUM_NORMS; norm++)
    for (int guess = 0; guess < 2; guess++)
      for (int s = norms[norm] == KSP_NORM_NONE; s < 3; s++) { // without a norm nothing ends a solve whose residual is rounding errors
        char      which[128];
        Outcome   o[2];
        PetscBool fused[2];
        Vec       x[2];

        PetscCall(PetscSNPrintf(which, sizeof(which), "%s, %s, %" PetscInt_FMT " rows, norm %s, %s guess, %" PetscInt_FMT " steps", systems[system], pc, n, KSPNormTypes[norms[norm]],
                                guess ? "a" : "no", steps[s]));
        for (int k = 0; k < 2; k++) PetscCall(Solve(A[k], pc, norms[norm], (PetscBool)guess, steps[s], system, &x[k], &fused[k], &o[k]));
        PetscCheck(fused[1] == usable && !fused[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: steps are %s", which, fused[1] ? "kernels of the library" : "PETSc's");
        PetscCall(Compare(&o[1], &o[0], which));
        if (system != NOT_FINITE) PetscCall(TestCompareVec(x[0], x[1], which));
        for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
      }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  for (System system = DEFINITE; system < NUM_SYSTEMS; system++)
    for (int pc = 0; pc < NUM_PCS; pc++) {
      PetscCall(Test(type, pcs[pc], 40, system, usable));
      PetscCall(Test(type, pcs[pc], 1000, system, usable));
    }
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_fused", "false"));
  PetscCall(Test(type, PCJACOBI, 40, DEFINITE, PETSC_FALSE));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 3}}
      requires: !complex
      output_file: output/empty.out
      args: -mat_type {{dcsrcuda hisparsecuda}}

TEST*/
