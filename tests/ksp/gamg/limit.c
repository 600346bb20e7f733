static char help[] = "Hierarchies that become too large: PCGAMG's setup stops on all processes with one error that says what to do, and the solver can be used again with other options.\n\
  -memory: the first setup does not fit into the memory of -petscsparsecuda_test_available_memory\n\
  -allocations: device memory runs out in a product\n\n";

#include "../../../src/petsc/ksp.h"
#include "problem.h"
#include <petscsparsecuda/sys.h>
#include "../../../src/mat/impls/aijcuda/core/core.h"
#include "../../../src/mat/impls/aijcuda/product/product.h"
#include "../../lib/sys.h"

#define GROWTH 1.1 /* of the number of the allocation that fails */

/* What an error handler has heard. */
typedef struct {
  PetscInt       count; /* errors that are no repetitions */
  PetscErrorCode code;  /* of the last one */
  char           text[2048];
} Heard;

static PetscErrorCode Listen(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *function, PETSC_UNUSED const char *file, PetscErrorCode code, PetscErrorType type,
                             const char *message, PetscCtx ctx)
{
  Heard *heard = (Heard *)ctx;

  if (type != PETSC_ERROR_INITIAL) return code;
  heard->count++;
  heard->code = code;
  (void)PetscStrncpy(heard->text, message, sizeof(heard->text));
  return code;
}

static PetscErrorCode SetUpListening(KSP ksp, PetscErrorCode *ierr, Heard *heard)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(heard, sizeof(*heard)));
  PetscCall(PetscPushErrorHandler(Listen, heard));
  *ierr = KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckText(const Heard *heard, const char part[])
{
  char *found;

  PetscFunctionBegin;
  PetscCall(PetscStrstr(heard->text, part, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The error message has no \"%s\": %s", part, heard->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup that fails with this code and one message, on all processes. */
static PetscErrorCode SetUpFailing(KSP ksp, PetscErrorCode code)
{
  const char *const parts[] =
    {"PCGAMG level ", " rows is too large", " nonzeros (", " GB, operator complexity ", "-pc_gamg_preset robust", "-pc_gamg_prolongator_filter 0.1 (now 0)", "-pc_gamg_aggressive_coarsening"};
  PetscErrorCode ierr;
  Heard          heard;

  PetscFunctionBegin;
  PetscCall(SetUpListening(ksp, &ierr, &heard));
  PetscCheck(ierr == code && heard.code == code && heard.count == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A setup ends with error %d and %" PetscInt_FMT " messages, not with error %d: %s", (int)ierr,
             heard.count, (int)code, heard.text);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parts); k++)
    if (k != 5 || GAMGHasFilter()) PetscCall(CheckText(&heard, parts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLimit(KSP ksp, PetscReal complexity)
{
  char value[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(value, sizeof(value), "%.9g", (double)complexity));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_max_complexity", value));
  PetscCall(KSPSetFromOptions(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver after an error does what a new one does. */
static PetscErrorCode CompareWithNew(const ProblemOptions *options, Mat A, KSP ksp, const char what[])
{
  KSP      fresh;
  Solution solution[2];

  PetscFunctionBegin;
  PetscCall(ProblemCreateKSP(options, A, &fresh));
  PetscCall(ProblemSolve(A, fresh, &solution[0]));
  PetscCall(ProblemSolve(A, ksp, &solution[1]));
  PetscCall(SolutionCompare(options, &solution[0], &solution[1], what));
  for (int k = 0; k < 2; k++) PetscCall(SolutionDestroy(&solution[k]));
  PetscCall(KSPDestroy(&fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options with which coarse operators are small. */
static PetscErrorCode Cure(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_aggressive_coarsening", "2"));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_agg_nsmooths", "1"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a sample says of the coarse operators of a hierarchy; on one process, on the device. */
static PetscErrorCode TestEstimates(PC pc)
{
  PetscInt  n;
  PetscReal entries;
  PetscBool device;
  KSP       smoother;
  Mat       A, C, P;
  MatInfo   info;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &n));
  for (PetscInt level = n - 1; level > 0; level--) {
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPGetOperators(smoother, &A, NULL));
    PetscCall(PCMGGetSmoother(pc, level - 1, &smoother));
    PetscCall(KSPGetOperators(smoother, &C, NULL));
    PetscCall(PCMGGetInterpolation(pc, level, &P));
    PetscCall(MatIsSeqAIJCUDA(A, &device));
    if (device) PetscCall(MatSeqAIJCUDAStructureOnDevice(A, &device));
    if (!device) continue;
    PetscCall(MatSeqAIJCUDAEstimatePtAP(A, P, &entries));
    PetscCall(MatGetInfo(C, MAT_LOCAL, &info));
    PetscCheck(PetscAbsReal(entries - (PetscReal)info.nz_used) <= (C->rmap->n <= 2048 ? 0.5 : 0.1 * info.nz_used), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Level %" PetscInt_FMT ": about %g entries in the coarse operator, which has %g", level, (double)entries, info.nz_used);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Limits that the first, some or the last coarse operator exceeds, and one that none does. */
static PetscErrorCode TestComplexity(const ProblemOptions *options, Mat A)
{
  PetscReal complexity, grid;
  KSP       ksp;
  PC        pc;

  PetscFunctionBegin;
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCMGGetGridComplexity(pc, &grid, &complexity));
  PetscCall(TestEstimates(pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  PetscCall(SetLimit(ksp, complexity * (1 - 1e-5)));
  PetscCall(SetUpFailing(ksp, PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(SetLimit(ksp, complexity * (1 + 1e-5)));
  PetscCall(CompareWithNew(options, A, ksp, "within the limit"));
  PetscCall(KSPReset(ksp)); // a setup after one that was well
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(SetLimit(ksp, (1 + complexity) / 2));
  PetscCall(SetUpFailing(ksp, PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(SetLimit(ksp, 1 + 1e-5));
  PetscCall(SetUpFailing(ksp, PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(SetLimit(ksp, 0));
  PetscCall(Cure(ksp));
  PetscCall(CompareWithNew(options, A, ksp, "with other options"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMemory(const ProblemOptions *options, Mat A)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(ProblemCreateKSP(options, A, &ksp));
  PetscCall(SetUpFailing(ksp, PETSC_ERR_MEM));
  PetscCall(Cure(ksp));
  PetscCall(CompareWithNew(options, A, ksp, "with other options"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MISSES 20 /* allocations in a row that are only welcome, as those of an estimate's vectors are */

/* An allocation after the other fails; those of coarse operators give the one message. */
static PetscErrorCode TestAllocations(const ProblemOptions *options, Mat A)
{
  PetscInt       misses = 0, products = 0;
  PetscErrorCode ierr;
  PetscBool      ours;
  Heard          heard;
  KSP            ksp;

  PetscFunctionBegin;
  for (PetscInt n = 1; n < 5000 && misses < MISSES; n = PetscMax(n + 1, (PetscInt)(n * GROWTH))) {
    PetscCall(ProblemCreateKSP(options, A, &ksp));
    PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(SetUpListening(ksp, &ierr, &heard));
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    misses = ierr == PETSC_SUCCESS ? misses + 1 : 0;
    PetscCall(PetscStrbeginswith(heard.text, "PCGAMG level", &ours));
    if (ours) products++;
    PetscCheck(!ours || (heard.count == 1 && ierr == PETSC_ERR_MEM), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " fails: error %d with %" PetscInt_FMT " messages", n, (int)ierr,
               heard.count);
    if (ours) PetscCall(CompareWithNew(options, A, ksp, "after an allocation that failed"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCheck(products > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No allocation of a coarse operator has failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  ProblemOptions options;
  char           type[64] = MATAIJDCSRCUDA;
  PetscBool      memory = PETSC_FALSE, allocations = PETSC_FALSE;
  Mat            A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ProblemFromOptions(&options));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-allocations", &allocations, NULL));
  PetscCall(ProblemCreate(&options, type, &A));
  if (memory) PetscCall(TestMemory(&options, A));
  else if (allocations) PetscCall(TestAllocations(&options, A));
  else PetscCall(TestComplexity(&options, A));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   # KSPCG: KSPSetUp_GMRES() of PETSc 3.26 loses its vectors when it is called again after a setup of the PC has failed.

   testset:
      args: -malloc_dump -ksp_type cg -problem 7point -n 12 -pc_gamg_aggressive_coarsening 0 -pc_gamg_agg_nsmooths 2
      output_file: output/empty.out
      test:
         suffix: complexity
         nsize: {{1 2}}
      test:
         suffix: complexity_aij
         nsize: {{1 2}}
         args: -type aij

   testset:
      requires: cuda
      args: -use_gpu_aware_mpi 0 -ksp_type cg -problem 7point -pc_gamg_aggressive_coarsening 0 -pc_gamg_agg_nsmooths 2
      output_file: output/empty.out
      test:
         suffix: device_complexity
         nsize: {{1 2 3}}
         args: -n 24 -malloc_dump
      test:
         suffix: device_memory
         args: -n 48 -malloc_dump -memory -petscsparsecuda_test_available_memory 17000000
      test:
         suffix: device_allocations
         args: -n 8 -allocations -malloc_dump 0

TEST*/
