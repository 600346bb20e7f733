static char help[] = "MAT_FORM_EXPLICIT_TRANSPOSE: the cached transpose must follow values and pattern.\n\n";

#include "testmat.h"

#define Both(call) \
  do { \
    for (int k_ = 0; k_ < 2; k_++) { \
      const Mat M = k_ ? B : A; \
\
      PetscCall(call); \
    } \
    PetscCall(TestCompareProducts(A, B, #call)); \
    PetscCall(TestCompareProducts(A, B, #call " again")); \
  } while (0)

static PetscErrorCode WriteArrays(Mat M)
{
  PetscInt     n;
  PetscScalar *array;
  Mat          blocks[2];
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(TestBlocks(M, &n, blocks));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[k], &array));
    for (PetscInt i = 0; i < (PetscInt)info.nz_used; i++) array[i] += 1;
    PetscCall(MatSeqAIJRestoreArray(blocks[k], &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++)
    for (int rectangular = 0; rectangular < 2; rectangular++) {
      PetscCall(TestCreatePair(type, 45, rectangular ? 22 : 45, layout, 5, 1, &A, &B));
      PetscCall(MatSetOption(B, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
      PetscCall(TestCompareProducts(A, B, "MAT_FORM_EXPLICIT_TRANSPOSE"));
      Both(MatScale(M, 3));
      if (!rectangular) Both(MatShift(M, -2));
      Both(TestEnter(M, 5, 2)); /* other values */
      Both(WriteArrays(M));
      Both(MatSetOption(M, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
      Both(MatSetOption(M, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      Both(TestEnter(M, 8, 3)); /* another pattern */
      Both(MatEliminateZeros(M, PETSC_FALSE));
      PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
      PetscCall(TestCompareProducts(A, C, "a duplicate"));
      PetscCall(MatDestroy(&C));
      PetscCall(MatBindToCPU(B, PETSC_TRUE));
      Both(MatScale(M, -1));
      PetscCall(MatBindToCPU(B, PETSC_FALSE));
      PetscCall(TestCompareProducts(A, B, "MatBindToCPU"));
      PetscCall(MatSetOption(B, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_FALSE));
      Both(MatScale(M, 0.5));
      PetscCall(TestCompare(A, B, "without the explicit transpose"));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
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
