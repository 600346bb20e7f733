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
  for (PetscInt k = 0; k < n; k++) PetscCall(TestBlockHasType(blocks[k], k, type, "a block of MatCreateSubMatrix"));
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

/* All of a matrix with blocks on every process, as PCREDUNDANT wants it: the blocks of the matrix count, not those of the index set. */
static PetscErrorCode Whole(const char type[])
{
  PetscInt N, begin, end, bs[2][2];
  IS       all;
  Mat      M[2], *C[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
    PetscCall(MatSetSizes(M[k], 12, 12, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSizes(M[k], 3, 2));
    PetscCall(MatSetType(M[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(M[k]));
    PetscCall(MatGetSize(M[k], &N, NULL));
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    for (PetscInt row = begin; row < end; row++) {
      PetscCall(MatSetValue(M[k], row, row, 1 + row, INSERT_VALUES));
      PetscCall(MatSetValue(M[k], row, (5 * row + 1) % N, 2, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(M[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M[k], MAT_FINAL_ASSEMBLY));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &all));
    PetscCall(MatCreateSubMatrices(M[k], 1, &all, &all, MAT_INITIAL_MATRIX, &C[k]));
    PetscCall(MatGetBlockSizes(C[k][0], &bs[k][0], &bs[k][1]));
    PetscCall(ISDestroy(&all));
  }
  PetscCheck(bs[0][0] == bs[1][0] && bs[0][1] == bs[1][1], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "All of a matrix has blocks of %" PetscInt_FMT " x %" PetscInt_FMT " and should have %" PetscInt_FMT " x %" PetscInt_FMT, bs[1][0], bs[1][1], bs[0][0], bs[0][1]);
  PetscCall(TestCompare(C[0][0], C[1][0], "all of a matrix"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroySubMatrices(1, &C[k]));
    PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Index sets of all kinds: descending, mixed up, with rows more than once, empty. */
static PetscErrorCode CreateIndices(PetscInt which, PetscBool rows, PetscInt n, IS *is)
{
  PetscInt *indices, num = n;

  PetscFunctionBegin;
  if (which == 0) PetscCall(ISCreateStride(PETSC_COMM_SELF, n, n - 1, -1, is));
  else if (which == 1) PetscCall(ISCreateStride(PETSC_COMM_SELF, 0, 0, 1, is));
  else if (which == 2) PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, is));
  else {
    if (which == 4) num = n / 2;
    if (which == 5 && rows) num = 2 * n;
    PetscCall(PetscMalloc1(num, &indices));
    for (PetscInt k = 0; k < num; k++) indices[k] = which == 4 ? 2 * k : (which == 5 && rows) ? (7 * k) % n : n - 1 - (k + 3) % n;
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, num, indices, PETSC_OWN_POINTER, is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define NUM_INDEX_SETS 6

static PetscErrorCode GeneralPair(Mat A, Mat B, IS rows, IS columns)
{
  Mat *C, *D;

  PetscFunctionBegin;
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrices(B, 1, &rows, &columns, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 2; pass++) {
    PetscCall(TestCompare(C[0], D[0], "MatCreateSubMatrices, general indices"));
    PetscCall(MatScale(A, -1.5));
    PetscCall(MatScale(B, -1.5));
    PetscCall(MatCreateSubMatrices(A, 1, &rows, &columns, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrices(B, 1, &rows, &columns, MAT_REUSE_MATRIX, &D));
  }
  PetscCall(TestCompare(C[0], D[0], "MatCreateSubMatrices, general indices, reuse"));
  PetscCall(MatDestroySubMatrices(1, &C));
  PetscCall(MatDestroySubMatrices(1, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every kind of rows with every kind of columns, of a rectangular matrix on one process. */
static PetscErrorCode General(const char type[], PetscInt m, PetscInt n)
{
  Mat         A, B;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePair(type, m, n, TEST_EVEN, 7, 1, &A, &B));
  for (PetscInt i = 0; i < NUM_INDEX_SETS; i++)
    for (PetscInt j = 0; j < NUM_INDEX_SETS; j++) {
      IS rows, columns;

      PetscCall(CreateIndices(i, PETSC_TRUE, m, &rows));
      PetscCall(CreateIndices(j, PETSC_FALSE, n, &columns));
      PetscCall(GeneralPair(A, B, rows, columns));
      PetscCall(ISDestroy(&rows));
      PetscCall(ISDestroy(&columns));
    }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns of this process, some of them or none; columns of others. */
static PetscErrorCode Columns(Mat A, Mat B, PetscInt which)
{
  PetscInt    begin, end, cbegin, cend, N;
  PetscMPIInt rank;
  IS          rows, columns;
  Mat         C, D;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &cbegin, &cend));
  if (which == 0) PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, end - 1, -1, &rows));
  else PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin + 1) / 2, begin, 2, &rows));
  if (which == 2) PetscCall(ISCreateStride(PETSC_COMM_WORLD, cend - cbegin, N - cend, 1, &columns)); // of others
  else PetscCall(ISCreateStride(PETSC_COMM_WORLD, rank % 2 && which == 1 ? 0 : (cend - cbegin + 2) / 3, cbegin, 3, &columns));
  PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 2; pass++) {
    PetscCall(TestCompare(C, D, "MatCreateSubMatrix, rows and columns"));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(B, 2));
    PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_REUSE_MATRIX, &D));
  }
  PetscCall(TestCompare(C, D, "MatCreateSubMatrix, rows and columns, reuse"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
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
    for (PetscInt which = 0; which < 3; which++) PetscCall(Columns(A, B, which));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(General(type, 40, 25));
  PetscCall(General(type, 25, 40));
  PetscCall(Whole(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3 4}}
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
         suffix: eager
         args: -mat_dcsr_host_structure eager
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 60

TEST*/
