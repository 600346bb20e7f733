static char help[] = "Types of PCGAMG and of the PC change before and after setups; solvers are reset, and destroyed without a setup: iterations are those of MATAIJ.\n\
  -fail: a setup fails instead, and the next one is right\n\n";

#include "problem.h"

typedef enum {
  STEP_NONE,
  STEP_GAMG_TYPE, /* agg, classical, agg */
  STEP_PC_TYPE,   /* gamg, jacobi, gamg */
  STEP_RESET,
  STEP_TWICE, /* agg again */
  NUM_STEPS
} Step;

static PetscErrorCode Take(Step step, KSP ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  if (step == STEP_GAMG_TYPE) PetscCall(PCGAMGSetType(pc, PCGAMGCLASSICAL));
  if (step == STEP_GAMG_TYPE || step == STEP_TWICE) PetscCall(PCGAMGSetType(pc, PCGAMGAGG));
  if (step == STEP_PC_TYPE) {
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSetType(pc, PCGAMG));
  }
  if (step == STEP_RESET) PetscCall(KSPReset(ksp));
  if (step == STEP_RESET || step == STEP_PC_TYPE || step == STEP_GAMG_TYPE || step == STEP_TWICE) PetscCall(KSPSetFromOptions(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step before the first setup and one after it; all steps but the last are followed by a solve. */
static PetscErrorCode Run(const ProblemOptions *options, Mat A, const Step steps[2], Solution solutions[2])
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(Take(steps[k], ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(ProblemSolve(A, ksp, &solutions[k]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ProblemCreateKSP(options, A, &ksp)); // never set up
  PetscCall(Take(steps[0], ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup that fails when the finest prolongator is smoothed, then one that does not: the solve is that of a new solver. */
static PetscErrorCode TestFailed(const ProblemOptions *options, Mat A, const char what[])
{
  KSP            ksp[2];
  Solution       solution[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(ProblemCreateKSP(options, A, &ksp[k]));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_esteig_ksp_type", "no_such_type"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSetUp(ksp[1]);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsClearValue(NULL, "-pc_gamg_esteig_ksp_type"));
  PetscCheck(ierr == PETSC_ERR_ARG_UNKNOWN_TYPE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a setup with an unknown type of solver ends with %d", what, (int)ierr);
  for (int k = 0; k < 2; k++) PetscCall(ProblemSolve(A, ksp[k], &solution[k]));
  PetscCall(SolutionCompare(options, &solution[0], &solution[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(SolutionDestroy(&solution[k]));
    PetscCall(KSPDestroy(&ksp[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSteps(const ProblemOptions *options, const Mat A[])
{
  PetscFunctionBegin;
  for (Step s = STEP_NONE; s < NUM_STEPS; s++)
    for (Step t = STEP_NONE; t < NUM_STEPS; t++) {
      const Step steps[2] = {s, t};
      Solution   solutions[2][2];
      char       what[64];

      for (int k = 0; k < 2; k++) PetscCall(Run(options, A[k], steps, solutions[k]));
      for (int i = 0; i < 2; i++) {
        PetscCall(PetscSNPrintf(what, sizeof(what), "steps %d and %d, solve %d", (int)s, (int)t, i + 1));
        PetscCall(SolutionCompare(options, &solutions[0][i], &solutions[1][i], what));
        for (int k = 0; k < 2; k++) PetscCall(SolutionDestroy(&solutions[k][i]));
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  ProblemOptions options;
  PetscBool      fail = PETSC_FALSE;
  Mat            A[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ProblemFromOptions(&options));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fail", &fail, NULL));
  for (int k = 0; k < 2; k++) PetscCall(ProblemCreate(&options, k ? MATDCSRCUDA : MATAIJ, &A[k]));
  if (fail)
    for (int k = 0; k < 2; k++) PetscCall(TestFailed(&options, A[k], k ? "ours, after a failed setup" : "MATAIJ, after a failed setup"));
  else PetscCall(TestSteps(&options, A));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   testset:
      args: -n 6 -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      test:
         suffix: host
         nsize: {{1 2}}
         args: -device_enable none
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2}}
         args: -problem {{27point elasticity}} -use_gpu_aware_mpi 0 -pc_gamg_device_check

   # PETSc leaks what a failed setup has made
   testset:
      args: -n 6 -fail -malloc_dump 0
      output_file: output/empty.out
      nsize: {{1 2}}
      test:
         suffix: failed
         args: -problem {{27point elasticity}}
      test:
         suffix: failed_device
         requires: cuda
         args: -problem {{27point elasticity}} -use_gpu_aware_mpi 0

TEST*/
