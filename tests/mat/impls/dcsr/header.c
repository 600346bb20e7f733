static char help[] = "MatHeaderMerge() and MatHeaderReplace() into and out of our type.\n\n";

#include "testmat.h"

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B, C, D;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int k = 0; k < 6; k++) {
    PetscCall(TestCreatePair(type, 31, 31, TEST_EVEN, 4, 1, &A, &B));
    PetscCall(TestCreatePair(type, 31, 31, TEST_EVEN, 7, 2, &C, &D));
    PetscCall(TestCompare(A, B, "before")); /* so that everything cached exists */
    PetscCall(TestCompare(C, D, "before"));
    switch (k) {
    case 0:
      PetscCall(MatHeaderMerge(B, &D));
      break;
    case 1:
      PetscCall(MatHeaderReplace(B, &D));
      break;
    case 2: /* ours becomes a plain one */
      PetscCall(MatDestroy(&D));
      PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
      PetscCall(MatHeaderReplace(B, &D));
      break;
    case 3: /* a plain one becomes ours */
      PetscCall(MatDestroy(&B));
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
      PetscCall(MatHeaderReplace(B, &D));
      break;
    case 4:
      PetscCall(MatTranspose(B, MAT_INPLACE_MATRIX, &B));
      PetscCall(MatDestroy(&C));
      PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
      PetscCall(MatDestroy(&D));
      break;
    default:
      PetscCall(MatConvert(B, MATDENSE, MAT_INPLACE_MATRIX, &B));
      PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&D));
      PetscCall(TestCompareProducts(A, B, "MatConvert in place through MATDENSE"));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
      continue;
    }
    PetscCall(TestCompare(C, B, "the new header"));
    PetscCall(MatScale(B, 2));
    PetscCall(MatScale(C, 2));
    PetscCall(TestCompare(C, B, "the new header, scaled"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
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
