static char help[] = "A sequential matrix and one of a parallel type on one process in operations with both: what MATAIJ computes, or an error where MATAIJ has one.\n\
  -triple : products of three matrices alone, which PETSc leaves memory behind of\n\n";

#include "testmat.h"

#define SIZE 30

typedef enum {
  OP_AB,
  OP_ATB,
  OP_ABT,
  OP_REPLACE,
  OP_PTAP,
  OP_RART,
  OP_ABA,
  OP_ABB,
  OP_AXPY,
  OP_AYPX,
  OP_COPY,
  OP_COPY_SAME,
  OP_EQUAL,
  OP_IS_TRANSPOSE,
  OP_TRANSPOSE_REUSE,
  OP_SUBMATRIX_REUSE,
  OP_CONVERT_REUSE,
  OP_CONVERT_AIJ_REUSE,
  NUM_OPS
} Op;

static const char *const names[] = {"A B",
                                    "A^T B",
                                    "A B^T",
                                    "MatProductReplaceMats()",
                                    "P^T A P",
                                    "R A R^T",
                                    "A B A",
                                    "A B B",
                                    "MatAXPY()",
                                    "MatAYPX()",
                                    "MatCopy()",
                                    "MatCopy() with SAME_NONZERO_PATTERN",
                                    "MatEqual()",
                                    "MatIsTranspose()",
                                    "MatTranspose() again",
                                    "MatCreateSubMatrix() again",
                                    "MatConvert() again",
                                    "MatConvert() to MATAIJ again"};

static PetscBool IsTriple(Op op)
{
  return (PetscBool)(op >= OP_PTAP && op <= OP_ABB);
}

/* A new product with A, in which B then takes the place of the second factor. */
static PetscErrorCode ReplaceSecond(Mat A, Mat B, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  PetscCall(MatProductReplaceMats(NULL, B, NULL, *C));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The submatrix that is used again is MATAIJ meanwhile. */
static PetscErrorCode ReuseSubmatrix(Mat A, Mat *C)
{
  IS rows;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, SIZE, SIZE - 1, -1, &rows));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, C));
  PetscCall(MatConvert(*C, MATAIJ, MAT_INPLACE_MATRIX, C));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_REUSE_MATRIX, C));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(Op op, MatType type, Mat A, Mat B, Mat *C, PetscBool *flag)
{
  PetscFunctionBegin;
  if (op == OP_AB) PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_ATB) PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_ABT) PetscCall(MatMatTransposeMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_REPLACE) PetscCall(ReplaceSecond(A, B, C));
  else if (op == OP_PTAP) PetscCall(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_RART) PetscCall(MatRARt(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_ABA) PetscCall(MatMatMatMult(A, B, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_ABB) PetscCall(MatMatMatMult(A, B, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, C));
  else if (op == OP_AXPY) PetscCall(MatAXPY(A, 2, B, DIFFERENT_NONZERO_PATTERN));
  else if (op == OP_AYPX) PetscCall(MatAYPX(A, 2, B, DIFFERENT_NONZERO_PATTERN));
  else if (op == OP_COPY) PetscCall(MatCopy(A, B, DIFFERENT_NONZERO_PATTERN));
  else if (op == OP_COPY_SAME) PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
  else if (op == OP_EQUAL) PetscCall(MatEqual(A, B, flag));
  else if (op == OP_IS_TRANSPOSE) PetscCall(MatIsTranspose(A, B, 0, flag));
  else if (op == OP_TRANSPOSE_REUSE) PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &B));
  else if (op == OP_SUBMATRIX_REUSE) PetscCall(ReuseSubmatrix(A, C));
  else if (op == OP_CONVERT_REUSE) PetscCall(MatConvert(A, type, MAT_REUSE_MATRIX, &B));
  else PetscCall(MatConvert(A, MATAIJ, MAT_REUSE_MATRIX, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of the same entries, the first one parallel. */
static PetscErrorCode CreateBoth(MatType parallel, MatType sequential, PetscInt seed, Mat m[2])
{
  PetscInt    i[SIZE + 1], j[2 * SIZE];
  PetscScalar a[2 * SIZE];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < SIZE; r++) {
    i[r]         = 2 * r;
    j[2 * r]     = PetscMin(r, (r + 1) % SIZE);
    j[2 * r + 1] = PetscMax(r, (r + 1) % SIZE);
    a[2 * r]     = seed + 1;
    a[2 * r + 1] = -1;
  }
  i[SIZE] = 2 * SIZE;
  PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_SELF, SIZE, SIZE, SIZE, SIZE, i, j, a, &m[0]));
  PetscCall(MatConvert(m[0], parallel, MAT_INPLACE_MATRIX, &m[0]));
  PetscCall(MatCreate(PETSC_COMM_SELF, &m[1]));
  PetscCall(MatSetSizes(m[1], SIZE, SIZE, SIZE, SIZE));
  PetscCall(MatSetType(m[1], sequential));
  PetscCall(MatSeqAIJSetPreallocationCSR(m[1], i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareAll(Mat m[2][2], Mat C[2], const char what[])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(TestCompareProducts(m[0][k], m[1][k], what));
  PetscCheck((C[0] == NULL) == (C[1] == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a result, and should be none, or none", what);
  if (C[0] != NULL) PetscCall(TestCompareProducts(C[0], C[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which says the two types: 0 both are that under test, 1 the parallel matrix is MATAIJ, 2 the sequential one. */
static PetscErrorCode Test(Op op, MatType type, int which, int first)
{
  Mat            m[2][2], C[2] = {NULL, NULL};
  PetscBool      flags[2] = {PETSC_FALSE, PETSC_FALSE};
  PetscErrorCode ierr[2];
  char           what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, the %s matrix first, %s", names[op], first ? "sequential" : "parallel",
                          which == 0   ? "both of the type"
                          : which == 1 ? "the parallel one MATAIJ"
                                       : "the sequential one MATAIJ"));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateBoth(k && which != 1 ? type : MATAIJ, k && which != 2 ? type : MATAIJ, 1, m[k]));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr[k] = Apply(op, k ? type : MATAIJ, m[k][first], m[k][1 - first], &C[k], &flags[k]);
    PetscCall(PetscPopErrorHandler());
  }
  PetscCheck(ierr[0] != PETSC_SUCCESS || ierr[1] == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, MATAIJ has none", what, (int)ierr[1]);
  if (ierr[0] == PETSC_SUCCESS) PetscCall(CompareAll(m, C, what));
  PetscCheck(flags[0] == flags[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d, and MATAIJ's answer is %d", what, flags[1], flags[0]);
  for (int k = 0; k < 2; k++) {
    if (IsTriple(op) && ierr[k] != PETSC_SUCCESS) continue; // PETSc's product is not in order after an error
    PetscCall(MatDestroy(&C[k]));
    for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&m[k][i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool triple = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-triple", &triple, NULL));
  for (Op op = 0; op < NUM_OPS; op++)
    for (int k = 0; k < 6 && IsTriple(op) == triple; k++) PetscCall(Test(op, type, k / 2, k % 2));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: triple
         args: -triple -malloc_dump no

TEST*/
