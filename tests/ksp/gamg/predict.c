static char help[] = "Device memory that PCGAMGCUDAPredictMemory() tells is what a setup and a solve take, to 15 percent.\n\n";

#include "problem.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include "../../../src/mat/kernels/spgemm/spgemmimpl.h"
#include "../../lib/sys.h"

#define TOLERANCE 0.15 /* without the workspace of products, which hides everything else of a small problem */

static PetscErrorCode TestProblem(Problem problem, PetscInt n, PetscInt bs, PetscInt dim)
{
  ProblemOptions o = {.problem = problem, .near_null = bs > 1 ? NEAR_NULL_HOST : NEAR_NULL_NONE, .n = n};
  PetscLogDouble most, told, workspace;
  PetscCount     max_warps;
  PetscInt       rows;
  size_t         now, peak;
  MatInfo        info;
  Solution       solution;
  Mat            A;
  KSP            ksp;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&o, MATDCSRCUDA, &A));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(ProblemCreateKSP(&o, A, &ksp));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscSparseCUDATestResetPeak());
  PetscCall(ProblemSolve(A, ksp, &solution));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  most = (PetscLogDouble)peak;
  PetscCall(SpGEMMGetMaxWarps(&max_warps));
  PetscCall(GAMGPredictMemory(rows, (PetscCount)info.nz_used, bs, dim, PETSC_FALSE, max_warps, &told, &workspace));
  PetscCheck(PetscAbsReal((PetscReal)(told - most)) <= TOLERANCE * (most - workspace), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s with %" PetscInt_FMT " rows and %g nonzeros: %g MB of device memory, and not %g, beside %g of a workspace", Problems[problem], rows, info.nz_used, (most - workspace) * 1e-6,
             (told - workspace) * 1e-6, workspace * 1e-6);
  PetscCall(SolutionDestroy(&solution));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that no matrix has are errors, and no matrix needs nothing. */
static PetscErrorCode TestArguments(void)
{
  const PetscInt wrong[][4] = {{-1, 0, 1, 2}, {4, -1, 1, 2}, {4, 16, 3, 3}, {4, 16, 0, 3}, {4, 16, 1, 1}};
  PetscLogDouble bytes, mean, sum = 0;

  PetscFunctionBegin;
  PetscCall(PCGAMGCUDAPredictMemory(0, 0, 1, 0, &bytes));
  PetscCheck(bytes == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes for no matrix", bytes);
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(PCGAMGCUDAPredictMemory(1000000, 7000000, 1, dim, &bytes));
    sum += bytes;
  }
  PetscCall(PCGAMGCUDAPredictMemory(1000000, 7000000, 1, 0, &mean));
  PetscCheck(PetscAbsReal((PetscReal)(mean - sum / 2)) <= 1e-6 * mean, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes, which is not the mean of two and three dimensions, %g", mean, sum / 2);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(wrong); k++) {
    if (PCGAMGCUDAPredictMemory(wrong[k][0], wrong[k][1], wrong[k][2], wrong[k][3], &bytes) == PETSC_SUCCESS) {
      PetscCall(PetscPopErrorHandler());
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "No error for wrong numbers %d", (int)k);
    }
  }
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  scale  = 1;
  PetscBool solves = PETSC_FALSE, usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &scale, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(TestArguments());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable && solves) {
    PetscCall(TestProblem(PROBLEM_5POINT, 300 * scale, 1, 2));
    PetscCall(TestProblem(PROBLEM_7POINT, 50 * scale, 1, 3));
    PetscCall(TestProblem(PROBLEM_27POINT, 40 * scale, 1, 3));
    PetscCall(TestProblem(PROBLEM_ELASTICITY, 30 * scale, 3, 3));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: host
      requires: double !complex
      args: -pc_gamg_predict_memory 8e6,213e6,1,3

   test:
      suffix: device
      requires: cuda
      args: -solves
      output_file: output/empty.out

TEST*/
