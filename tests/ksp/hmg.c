static char help[] = "PCHMG with coarsening of one unknown: its interpolations are MATMAIJ of those that PCGAMG makes, of our type. Iterations with our type and with MATAIJ agree within one.\n\n";

#include <petscsparsecuda.h>
#include <petscksp.h>

/* Two unknowns a point of an n x n grid, coupled in the point; entered anew, the coupling may change. */
static PetscErrorCode Enter(Mat A, PetscInt n, PetscReal coupling)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt i = row / 2, c = row % 2, neighbours[] = {i % n > 0 ? i - 1 : -1, i % n < n - 1 ? i + 1 : -1, i - n, i + n < n * n ? i + n : -1};

    PetscCall(MatSetValue(A, row, row, 4.0 + coupling, INSERT_VALUES));
    PetscCall(MatSetValue(A, row, 2 * i + 1 - c, -coupling, INSERT_VALUES));
    for (int k = 0; k < 4; k++)
      if (neighbours[k] >= 0) PetscCall(MatSetValue(A, row, 2 * neighbours[k] + c, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves twice, with other values the second time. */
static PetscErrorCode Solve(MatType type, PetscInt n, PetscInt iterations[2])
{
  PetscInt           local = PETSC_DECIDE, size = 2 * n * n;
  KSPConvergedReason reason;
  KSP                ksp;
  PC                 pc;
  Mat                A;
  Vec                x, b;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnershipBlock(PETSC_COMM_WORLD, 2, &local, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, local, local, size, size));
  PetscCall(MatSetBlockSize(A, 2));
  PetscCall(MatSetType(A, type));
  PetscCall(Enter(A, n, 0.25));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHMG));
  PetscCall(PCHMGSetInnerPCType(pc, PCGAMG));
  PetscCall(PCHMGSetUseSubspaceCoarsening(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    if (k == 1) PetscCall(Enter(A, n, 0.5));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s does not converge: %s", type, KSPConvergedReasons[reason]);
    PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt expected[2], found[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(Solve(MATAIJ, 24, expected));
  PetscCall(Solve(MATDCSRCUDA, 24, found));
  for (int k = 0; k < 2; k++)
    PetscCheck(PetscAbs(expected[k] - found[k]) <= 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations where MATAIJ takes %" PetscInt_FMT, found[k], expected[k]);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: reuse
         args: -pc_hmg_reuse_interpolation
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
