static char help[] = "MatCreateSubMatrix() and MatCreateSubMatrices(): result, its type, its blocks, reuse after the values changed.\n\n";

#include "testmat.h"

static PetscErrorCode Parallel(Mat A, Mat B, const char type[], PetscInt stride)
{
  PetscInt begin, end, n;
  IS       rows;
  Mat      C, D, blocks[2];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin + stride - 1) / stride, begin, stride, &rows));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, rows, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestHasType(D, type, "MatCreateSubMatrix"));
  PetscCall(TestBlocks(D, &n, blocks));
  for (PetscInt k = 0; k < n; k++) PetscCall(TestHasType(blocks[k], type, "a block of MatCreateSubMatrix"));
  PetscCall(TestCompare(C, D, "MatCreateSubMatrix, initial"));
  PetscCall(MatScale(A, -0.5));
  PetscCall(MatScale(B, -0.5));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_REUSE_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, rows, MAT_REUSE_MATRIX, &D));
  PetscCall(TestCompare(C, D, "MatCreateSubMatrix, reuse"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sequential(Mat A, Mat B)
{
  PetscInt N;
  IS       rows[2];
  Mat     *C, *D;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N / 2, N / 4, 1, &rows[0]));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, (N + 2) / 3, 0, 3, &rows[1]));
  PetscCall(MatCreateSubMatrices(A, 2, rows, rows, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrices(B, 2, rows, rows, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 3; pass++) {
    for (int k = 0; k < 2; k++) PetscCall(TestCompare(C[k], D[k], "MatCreateSubMatrices"));
    PetscCall(MatScale(A, 3));
    PetscCall(MatScale(B, 3));
    PetscCall(MatCreateSubMatrices(A, 2, rows, rows, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrices(B, 2, rows, rows, MAT_REUSE_MATRIX, &D));
  }
  PetscCall(MatDestroySubMatrices(2, &C));
  PetscCall(MatDestroySubMatrices(2, &D));
  for (int k = 0; k < 2; k++) PetscCall(ISDestroy(&rows[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreatePair(type, 47, 47, layout, 5, 1, &A, &B));
    PetscCall(Parallel(A, B, type, 1));
    PetscCall(Parallel(A, B, type, 2));
    PetscCall(Sequential(A, B));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      nsize: {{1 2 3}}
      output_file: output/empty.out

TEST*/
