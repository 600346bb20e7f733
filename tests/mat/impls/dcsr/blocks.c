static char help
  [] = "Products by full blocks: with the block sizes of the matrix, in both directions, while blocks stop being full and become it again; one list of blocks for all products with a structure.\n\n";

#include "testmat.h"
#include <petscsparsecuda/blocklist.h>

static PetscBool device; /* the type is on the device */

/* A band of full blocks of br rows and bc columns, MATAIJ's and the type's; late: the block sizes come after the assembly. */
static PetscErrorCode Create(MatType type, PetscInt num_rows, PetscInt num_columns, PetscInt br, PetscInt bc, PetscBool late, Mat A[2])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscMPIInt rank, size;
    PetscInt    m = PETSC_DECIDE, n = PETSC_DECIDE;

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &m, &num_rows));
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &n, &num_columns));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
    PetscCall(MatSetSizes(A[k], m * br, n * bc, PETSC_DETERMINE, PETSC_DETERMINE));
    if (!late) PetscCall(MatSetBlockSizes(A[k], br, bc));
    PetscCall(MatSetType(A[k], k ? type : MATAIJ));
    PetscCall(MatSetFromOptions(A[k]));
    PetscCall(MatGetOwnershipRange(A[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      for (PetscInt b = -3; b <= 3; b++) {
        const PetscInt column = i / br * num_columns / num_rows + b * b * b;

        for (PetscInt c = 0; c < bc && column >= 0 && column < num_columns; c++) PetscCall(MatSetValue(A[k], i, column * bc + c, (PetscReal)((i * 3 + c * 5 + b + 7) % 13) / 4 - 1, INSERT_VALUES));
      }
    }
    PetscCall(TestAssemble(A[k], MAT_FINAL_ASSEMBLY));
    if (late) PetscCall(MatSetBlockSizes(A[k], br, bc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products of a process's diagonal block go by blocks, as its view says. */
static PetscErrorCode CheckKernel(Mat A, PetscBool expected, const char what[])
{
  char     *text;
  PetscBool by_blocks;
  PetscInt  n;
  Mat       blocks[2];

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestBlocks(A, &n, blocks));
  PetscCall(TestGetInfo(blocks[0], &text));
  by_blocks = (PetscBool)(strstr(text, "SpMV kernel blocks") != NULL);
  PetscCheck(by_blocks == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: products go%s by blocks:\n%s", what, by_blocks ? "" : " not", text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of A, or of its transpose, with a dense matrix of five columns. */
static PetscErrorCode CompareDense(Mat A[2], PetscBool transpose, const char what[])
{
  PetscInt m, n;
  Vec      y[2];
  Mat      X, Y[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetLocalSize(A[k], &m, &n));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, transpose ? m : n, PETSC_DECIDE, PETSC_DETERMINE, 5, NULL, &X));
    for (PetscInt j = 0; j < 5; j++) {
      PetscCall(MatDenseGetColumnVecWrite(X, j, &y[0]));
      PetscCall(TestFill(y[0], j));
      PetscCall(MatDenseRestoreColumnVecWrite(X, j, &y[0]));
    }
    if (transpose) PetscCall(MatTransposeMatMult(A[k], X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Y[k]));
    else PetscCall(MatMatMult(A[k], X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Y[k]));
    PetscCall(MatDestroy(&X));
  }
  for (PetscInt j = 0; j < 5; j++) {
    for (int k = 0; k < 2; k++) PetscCall(MatDenseGetColumnVecRead(Y[k], j, &y[k]));
    PetscCall(TestCompareVec(y[0], y[1], what));
    for (int k = 0; k < 2; k++) PetscCall(MatDenseRestoreColumnVecRead(Y[k], j, &y[k]));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&Y[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of both kinds, sums and residuals. */
static PetscErrorCode CompareAll(Mat A[2], PetscBool expected, const char what[])
{
  Vec x[2], y[2], z[2];

  PetscFunctionBegin;
  PetscCall(TestCompareProducts(A[0], A[1], what));
  for (int transpose = 0; transpose < 2; transpose++) PetscCall(CompareDense(A, (PetscBool)transpose, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A[k], &x[k], &y[k]));
    PetscCall(VecDuplicate(y[k], &z[k]));
    PetscCall(TestFill(x[k], 2));
    PetscCall(TestFill(z[k], 3));
    PetscCall(MatMultAdd(A[k], x[k], z[k], y[k]));
    PetscCall(MatResidual(A[k], y[k], x[k], z[k]));
    PetscCall(MatMultAdd(A[k], x[k], z[k], z[k]));
  }
  PetscCall(TestCompareVec(y[0], y[1], what));
  PetscCall(TestCompareVec(z[0], z[1], what));
  PetscCall(CheckKernel(A[1], expected, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
    PetscCall(VecDestroy(&z[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of this process, as many as the call asks for. */
static PetscErrorCode ZeroRow(Mat A, PetscBool keep)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, keep));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatZeroRows(A, 1, &begin, 2.0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry outside of all blocks. */
static PetscErrorCode Insert(Mat A)
{
  PetscInt begin, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, begin + 1, (begin + n / 3) % n, 3.5, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChanges(MatType type, PetscInt bs)
{
  Mat A[2], B[2];

  PetscFunctionBegin;
  PetscCall(Create(type, 300, 300, bs, bs, PETSC_FALSE, A));
  PetscCall(CompareAll(A, PETSC_TRUE, "New"));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(A[k], 0.5));
  PetscCall(CompareAll(A, PETSC_TRUE, "Other values"));
  for (int k = 0; k < 2; k++) PetscCall(ZeroRow(A[k], PETSC_TRUE));
  PetscCall(CompareAll(A, PETSC_TRUE, "A row of zeros"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(A[k], MAT_COPY_VALUES, &B[k]));
    PetscCall(ZeroRow(A[k], PETSC_FALSE));
  }
  PetscCall(CompareAll(A, PETSC_FALSE, "A row of one entry"));
  PetscCall(CompareAll(B, PETSC_TRUE, "A copy"));
  for (int k = 0; k < 2; k++) PetscCall(Insert(B[k]));
  PetscCall(TestCompareProducts(B[0], B[1], "An entry outside of blocks"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatTranspose(B[k], MAT_INITIAL_MATRIX, &A[k]));
    PetscCall(MatDestroy(&B[k]));
  }
  PetscCall(TestCompareProducts(A[0], A[1], "The transpose"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A structure is gone through once for the list of all its products. A product keeps the list when its operand goes, and others keep it when the product goes; with another structure there is another one. */
static PetscErrorCode TestShared(MatType type)
{
  const PetscInt before = DCSRBlockListSearches;
  PetscMPIInt    size;
  Mat            A[2], B[2], P[2], C[2], other;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(type, 200, 200, 3, 3, PETSC_FALSE, A));
  PetscCall(Create(type, 200, 100, 3, 6, PETSC_FALSE, P));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatPtAP(A[k], P[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
    PetscCall(MatSetBlockSizes(C[k], 6, 6));
  }
  PetscCall(MatMatMult(A[1], P[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &other));
  PetscCall(MatDestroy(&other));
  PetscCall(MatCreateGraph(A[1], PETSC_FALSE, PETSC_FALSE, -1, 0, NULL, &other));
  PetscCall(MatDestroy(&other));
  PetscCall(CompareAll(A, PETSC_TRUE, "A with other products"));
  PetscCall(CompareAll(P, PETSC_TRUE, "P with other products"));
  PetscCall(CompareAll(C, PETSC_TRUE, "P^T A P"));
  PetscCheck(!device || size > 1 || DCSRBlockListSearches == before + 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " searches for lists of two structures", DCSRBlockListSearches - before);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(A[k], MAT_COPY_VALUES, &B[k]));
    PetscCall(MatScale(B[k], 3));
    PetscCall(MatProductReplaceMats(B[k], NULL, NULL, C[k]));
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatProductNumeric(C[k]));
  }
  PetscCall(TestCompareProducts(C[0], C[1], "P^T A P without the first A"));
  for (int k = 0; k < 2; k++) {
    PetscCall(Insert(B[k]));
    if (device && k == 1) PetscCall(MatProductNumeric(C[k])); // MATAIJ's does not notice
    else {
      PetscCall(MatDestroy(&C[k]));
      PetscCall(MatPtAP(B[k], P[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
    }
  }
  PetscCall(TestCompareProducts(C[0], C[1], "P^T A P with an entry outside of blocks"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&C[k]));
    PetscCall(MatDestroy(&B[k]));
    PetscCall(MatDestroy(&P[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {2, 3}, {3, 2}, {3, 6}, {6, 3}, {7, 7}, {1, 6}};
  char                 *type;
  Mat                   A[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreate(type, 10, 10, TEST_EVEN, 3, 1, &A[0]));
  PetscCall(TestUsesDevice(A[0], &device));
  PetscCall(MatDestroy(&A[0]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (int late = 0; late < 2; late++) {
      PetscCall(Create(type, 200, 150, sizes[k][0], sizes[k][1], (PetscBool)late, A));
      PetscCall(CompareAll(A, (PetscBool)(sizes[k][0] > 1 && sizes[k][0] < 7), "Rectangular"));
      for (int i = 0; i < 2; i++) PetscCall(MatSetOption(A[i], MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
      PetscCall(TestCompareProducts(A[0], A[1], "With a stored transpose"));
      for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&A[i]));
    }
  }
  PetscCall(TestChanges(type, 3));
  PetscCall(TestChanges(type, 4));
  PetscCall(TestShared(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: tile
         args: -mat_dcsr_spmv_transpose tile
      test:
         suffix: host
         args: -device_enable none

TEST*/
