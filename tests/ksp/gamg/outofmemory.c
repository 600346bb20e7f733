static char help[] = "Memory runs out in PCGAMG's setup, on all processes or on one: all have an error, and the next setup is right.\n\
  -host file: allocations of this source file on the host fail, not those on the device\n\
  -alone rank: the process that has no memory; default all\n\
  -growth g: of the number of the allocation that fails\n\
  -optional: there is a setup without memory for rounded values, which has full precision\n\n";

#include "problem.h"
#include "../../lib/sys.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include <petscsparsecuda/sys.h>
#include <string.h>

#define MISSES 20 /* allocations in a row that are only welcome, as those of an estimate's vectors are */

static char     host_file[PETSC_MAX_PATH_LEN] = "";
static PetscInt host_left                     = 0; /* allocations of this file up to the one that fails; 0: none does */
static PetscErrorCode (*allocate)(size_t, PetscBool, int, const char[], const char[], void **);

static PetscErrorCode FailingMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **result)
{
  if (bytes > 0 && host_left > 0 && strstr(file, host_file) != NULL && --host_left == 0) {
    *result = NULL;
    return PETSC_ERR_MEM;
  }
  return (*allocate)(bytes, clear, line, function, file, result);
}

/* The n-th allocation from now on fails, none with 0. */
static PetscErrorCode FailAllocation(PetscInt n)
{
  PetscFunctionBegin;
  if (host_file[0] != '\0') host_left = n;
  else PetscCall(PetscSparseCUDATestFailAllocation(n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The n-th allocation of a setup fails; *failed: all processes have an error; *full becomes true when there is none, since cycles went back to full precision. Collective. */
static PetscErrorCode SetUpFailing(const ProblemOptions *options, Mat A, PetscInt n, PetscInt alone, PetscBool *failed, PetscBool *full)
{
  KSP          ksp;
  PC           pc;
  GAMGContext *context;
  PetscMPIInt  rank;
  int          codes[2], error;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, &context));
  context->guards.known = PETSC_TRUE; // as after a solve, so that the setup makes rounded values
  PetscCall(FailAllocation(alone < 0 || alone == rank ? n : 0));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = (int)KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscCall(FailAllocation(0));
  codes[0] = error != 0;
  codes[1] = error == 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(codes[0] + codes[1] == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " fails: error %d here, other processes have %s", n, error, error ? "none" : "one");
  *failed = codes[0] ? PETSC_TRUE : PETSC_FALSE;
  if (!*failed && context->guards.reason != NULL && !context->single) *full = PETSC_TRUE;
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveOnce(const ProblemOptions *options, Mat A, Solution *solution)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  PetscCall(ProblemSolve(A, ksp, solution));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  ProblemOptions options;
  PetscInt       alone = -1, misses = 0, failures = 0;
  Mat            A;
  Solution       solution[2];
  PetscBool      failed = PETSC_TRUE, optional = PETSC_FALSE, full = PETSC_FALSE;
  PetscReal      growth = 1.5;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ProblemFromOptions(&options));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-host", host_file, sizeof(host_file), NULL));
  allocate = PetscTrMalloc;
  if (host_file[0] != '\0') PetscTrMalloc = FailingMalloc;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-alone", &alone, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-growth", &growth, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-optional", &optional, NULL));
  PetscCall(ProblemCreate(&options, MATDCSRCUDA, &A));
  PetscCall(SolveOnce(&options, A, &solution[0]));
  for (PetscInt n = 1; n < 5000 && misses < MISSES; n = PetscMax(n + 1, (PetscInt)((PetscReal)n * growth))) {
    PetscCall(SetUpFailing(&options, A, n, alone, &failed, &full));
    misses = failed ? 0 : misses + 1;
    failures += failed;
  }
  PetscTrMalloc = allocate;
  PetscCheck(failures > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No setup has failed");
  PetscCheck(full == optional, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "There was %s setup without memory for rounded values", full ? "a" : "no");
  PetscCall(SolveOnce(&options, A, &solution[1]));
  PetscCall(SolutionCompare(&options, &solution[0], &solution[1], "after setups without memory"));
  for (int k = 0; k < 2; k++) PetscCall(SolutionDestroy(&solution[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   testset:
      requires: cuda
      args: -n 8 -use_gpu_aware_mpi 0 -malloc_dump 0
      output_file: output/empty.out
      test:
         suffix: 1
         args: -problem {{27point elasticity unsymmetric}}
      test:
         suffix: alone
         nsize: 3
         args: -problem {{27point elasticity}} -alone 1
      test:
         suffix: host
         nsize: 3
         args: -problem elasticity -alone 1 -host gamg/data.c -pc_gamg_coarse_eq_limit 8 -pc_gamg_process_eq_limit {{100 1000000}}
      test:
         suffix: optional
         nsize: {{1 2}}
         requires: double
         args: -n 5 -problem 27point -growth 1.02 -pc_gamg_level_values auto -optional

TEST*/
