static char help[] =
  "CG with PCGAMG on our type and on MATAIJ, once and again after the values changed: iterations must agree. With -mat_dcsr_test_hide_host the host arrays of a matrix are NULL outside our wrappers, so that any other reader crashes.\n\n";

#include "testmat.h"
#include <petscksp.h>

static PetscErrorCode Solve(Mat A, PetscInt its[2])
{
  KSP ksp;
  PC  pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(MatShift(A, 0.01));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char    *type;
  PetscInt n = 40, its[2][2];
  Mat      A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCreatePoisson(k ? type : MATAIJ, n, &A));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(Solve(A, its[k]));
    PetscCall(MatDestroy(&A));
  }
  for (int k = 0; k < 2; k++)
    PetscCheck(PetscAbsInt(its[0][k] - its[1][k]) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "solve %d: %" PetscInt_FMT " iterations with MATAIJ, %" PetscInt_FMT " with %s", k + 1, its[0][k], its[1][k],
               type);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 4}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: reuse
         args: -pc_gamg_reuse_interpolation
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
