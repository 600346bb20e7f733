static char help[] = "MatSeqAIJKron() of a matrix of ours with a MATAIJ and with another one of ours, against MATAIJ.\n\n";

#include "testmat.h"

int main(int argc, char **argv)
{
  char *type;
  Mat   A[2], B[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, 9, 7, TEST_EVEN, 3, 1, &A[0], &A[1]));
  PetscCall(TestCreatePair(type, 5, 6, TEST_EVEN, 2, 2, &B[0], &B[1]));
  for (int k = 1; k < 4; k += 2) { // A is ours, and B, too; PETSc refuses a MATAIJ with one of ours
    Mat expected, C;

    PetscCall(MatSeqAIJKron(A[0], B[0], MAT_INITIAL_MATRIX, &expected));
    PetscCall(MatSeqAIJKron(A[k & 1], B[k >> 1], MAT_INITIAL_MATRIX, &C));
    PetscCall(TestCompare(expected, C, "a new product"));
    for (int m = 0; m < 2; m++) {
      PetscCall(MatScale(A[m], 2));
      PetscCall(MatScale(B[m], -3));
    }
    PetscCall(MatSeqAIJKron(A[0], B[0], MAT_REUSE_MATRIX, &expected));
    PetscCall(MatSeqAIJKron(A[k & 1], B[k >> 1], MAT_REUSE_MATRIX, &C));
    PetscCall(TestCompare(expected, C, "new values"));
    PetscCall(MatDestroy(&expected));
    PetscCall(MatDestroy(&C));
  }
  for (int m = 0; m < 2; m++) {
    PetscCall(MatDestroy(&A[m]));
    PetscCall(MatDestroy(&B[m]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         args: -mat_type {{dcsrcuda hisparsecuda}}
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
