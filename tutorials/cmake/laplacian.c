static char help[] = "Solves with the 1D Laplacian as a matrix of type dcsrcuda; CMakeLists.txt builds it.\n\
  -n <100> rows\n\n";

#include <petscksp.h>
#include <petscsparsecuda.h>
#if !PETSCSPARSECUDA_VERSION_GE(0, 3, 0)
  #error "This program needs petscsparsecuda 0.3 or newer"
#endif

int main(int argc, char **argv)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PetscInt           n = 100, start, end;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATDCSRCUDA));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "petscsparsecuda %d.%d.%d: %s\n", PETSCSPARSECUDA_VERSION_MAJOR, PETSCSPARSECUDA_VERSION_MINOR, PETSCSPARSECUDA_VERSION_SUBMINOR, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 2}}
      args: -pc_type jacobi -ksp_type cg
      filter: sed "s/ [0-9.]*:/:/; s/ATOL/RTOL/"
      output_file: output/laplacian.out

TEST*/
