static char help[] = "MatBindToCPU(): on and off between operations, before the assembly, and what it does to matrices and vectors made from a bound one.\n\n";

#include "testmat.h"

int main(int argc, char **argv)
{
  char     *type;
  PetscBool bound;
  Vec       x, y, z;
  Mat       A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, 43, 43, TEST_EVEN, 4, 1, &A, &B));
  for (int k = 0; k < 4; k++) { /* off, on, off, on; an operation that writes on each side */
    PetscCall(MatBindToCPU(B, (PetscBool)(k % 2)));
    PetscCall(TestCompareProducts(A, B, "a product after MatBindToCPU"));
    PetscCall(MatScale(A, 1.5));
    PetscCall(MatScale(B, 1.5));
    if (k < 2) {
      PetscCall(MatBindToCPU(B, (PetscBool)(k % 2))); /* again the same: nothing must happen */
      PetscCall(MatShift(A, 1));
      PetscCall(MatShift(B, 1));
    }
    PetscCall(TestCompare(A, B, "MatScale after MatBindToCPU"));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
    PetscCall(MatScale(C, 2));
    PetscCall(MatScale(C, 0.5));
    PetscCall(TestCompare(A, C, "a duplicate of a bound matrix"));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatBoundToCPU(B, &bound));
  PetscCheck(bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatBoundToCPU: false after MatBindToCPU");
  PetscCall(MatDestroy(&B));

  /* bound while it is entered, as DMDA does */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, 43, 43));
  PetscCall(MatSetType(B, type));
  PetscCall(MatSetOptionsPrefix(B, "small_"));
  PetscCall(MatSetFromOptions(B)); /* -small_mat_bind_below */
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatSetUp(B));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(TestEnter(B, 4, 1));
  PetscCall(MatDestroy(&A));
  PetscCall(TestCreate(MATAIJ, 43, 43, TEST_EVEN, 4, 1, &A));
  PetscCall(TestCompare(A, B, "a matrix bound before its assembly"));

  /* what is made from it */
  PetscCall(MatSetBindingPropagates(B, PETSC_TRUE));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(TestFill(x, 3));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(MatMult(B, x, z));
  PetscCall(TestCompareVec(y, z, "MatMult bound and not"));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatCopy(B, C, SAME_NONZERO_PATTERN));
  PetscCall(MatBindToCPU(C, PETSC_FALSE));
  PetscCall(TestCompare(A, C, "a copy of a bound matrix"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda -mat_hisparse_format {{diagonals windows}}
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: option
         args: -small_mat_bind_below 1000

TEST*/
