static char help[] = "MatDuplicate() and MatCopy(): what is copied, and that the copy stands by itself.\n\n";

#include "testmat.h"

static PetscErrorCode Duplicate(Mat A, Mat B, MatDuplicateOption option)
{
  Mat C, D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, option, &C));
  PetscCall(MatDuplicate(B, option, &D));
  PetscCall(TestCompare(C, D, "MatDuplicate"));
  PetscCall(MatCopy(A, C, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(B, D, SAME_NONZERO_PATTERN));
  PetscCall(TestCompare(C, D, "MatCopy to a duplicate"));
  PetscCall(MatScale(D, 7));
  PetscCall(TestCompare(A, B, "the original after MatScale of the duplicate"));
  PetscCall(MatShift(D, 1)); /* every diagonal entry exists */
  PetscCall(TestCompare(A, B, "the original after MatShift of the duplicate"));
  PetscCall(MatDestroy(&D));
  PetscCall(TestCompare(A, B, "the original after MatDestroy of the duplicate"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B, C, D;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreatePair(type, 41, 41, layout, 5, 1, &A, &B));
    PetscCall(Duplicate(A, B, MAT_COPY_VALUES));
    PetscCall(Duplicate(A, B, MAT_DO_NOT_COPY_VALUES));
    PetscCall(Duplicate(A, B, MAT_SHARE_NONZERO_PATTERN));

    /* into a larger pattern, and from a plain MATAIJ */
    PetscCall(TestCreatePair(type, 41, 41, layout, 9, 2, &C, &D));
    PetscCall(MatCopy(A, C, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatCopy(B, D, DIFFERENT_NONZERO_PATTERN));
    PetscCall(TestCompare(C, D, "MatCopy to a larger pattern"));
    PetscCall(MatScale(B, 3));
    PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(A, B, "MatCopy from MATAIJ"));
    PetscCall(MatScale(B, 3));
    PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(A, B, "MatCopy to MATAIJ"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&A));

    /* the original goes first */
    PetscCall(MatDuplicate(B, MAT_SHARE_NONZERO_PATTERN, &C));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
    PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &A));
    PetscCall(MatDestroy(&B));
    PetscCall(TestCompare(A, D, "the duplicate after MatDestroy of the original"));
    PetscCall(MatCopy(D, C, SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(A, C, "the duplicate that shares the pattern, after MatDestroy of the original"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
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
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
