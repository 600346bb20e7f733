static char help[] = "Ghost columns that do not ascend, as MATAIJ's submatrices of permuted own columns have them: insertion, sums, transposes and products.\n\n";

#include "testmat.h"

#define LOCAL 6 /* rows and columns of a process */

/* How a submatrix that the host has made becomes one of the type. */
typedef enum {
  CONVERT_IN_PLACE,
  CONVERT,
  DUPLICATE, /* of one that was converted */
  BIND,      /* it is one of the type, as its matrix, which is bound to the CPU */
  NUM_WAYS
} Way;

static const char *const way_names[] = {"MatConvert() in place", "MatConvert()", "MatDuplicate()", "MatBindToCPU()"};

static PetscErrorCode Create(MatType type, Mat *A)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, LOCAL, LOCAL, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatGetSize(*A, NULL, &N));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if ((i + j) % 3 == 0 || i == j) PetscCall(MatSetValue(*A, i, j, 1 + i + N * j, INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows, and the columns of each process in descending order. */
static PetscErrorCode GetSubmatrix(Mat A, MatReuse reuse, Mat *C)
{
  IS       rows, columns;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, LOCAL, begin, 1, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, LOCAL, end - 1, -1, &columns));
  PetscCall(MatCreateSubMatrix(A, rows, columns, reuse, C));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The submatrix of A, which has the type with BIND and is MATAIJ otherwise. */
static PetscErrorCode CreateSubmatrix(Mat A, MatType type, Way way, Mat *C)
{
  Mat S;

  PetscFunctionBegin;
  PetscCall(GetSubmatrix(A, MAT_INITIAL_MATRIX, &S));
  *C = S;
  if (way == BIND) PetscCall(MatBindToCPU(S, PETSC_FALSE));
  if (way == CONVERT_IN_PLACE || way == DUPLICATE) PetscCall(MatConvert(S, type, MAT_INPLACE_MATRIX, C));
  if (way == CONVERT) PetscCall(MatConvert(S, type, MAT_INITIAL_MATRIX, C));
  if (way == DUPLICATE) PetscCall(MatDuplicate(S, MAT_COPY_VALUES, C));
  if (way == CONVERT || way == DUPLICATE) PetscCall(MatDestroy(&S));
  PetscCall(TestHasType(*C, type, way_names[way]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds to all entries that R has. */
static PetscErrorCode AddToEntries(Mat R, Mat C)
{
  PetscInt        begin, end, n;
  const PetscInt *columns;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(R, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatGetRow(R, i, &n, &columns, NULL));
    for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(C, i, columns[k], 1 + i + 2 * columns[k], ADD_VALUES));
    PetscCall(MatRestoreRow(R, i, &n, &columns, NULL));
  }
  PetscCall(TestAssemble(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inserts entries, some of which are there. */
static PetscErrorCode InsertNew(Mat C, PetscInt seed)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(C, &begin, &end));
  PetscCall(MatGetSize(C, NULL, &N));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if ((i * 7 + j + seed) % 4 == 0) PetscCall(MatSetValue(C, i, j, 2 + j, INSERT_VALUES));
  PetscCall(TestAssemble(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareGhosts(Mat A, Mat B, const char what[])
{
  PetscInt        n[2];
  const PetscInt *ghosts[2];
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(MatGetGhosts(A, &n[0], &ghosts[0]));
  PetscCall(MatGetGhosts(B, &n[1], &ghosts[1]));
  same = (PetscBool)(n[0] == n[1]);
  if (same) PetscCall(PetscArraycmp(ghosts[0], ghosts[1], n[0], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other ghost columns than MATAIJ", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What reads ghost columns and makes another matrix; Y [2] and X [2] are MATAIJ and the type, Y with ghost columns that ascend. */
static PetscErrorCode Operations(const Mat Y[2], const Mat X[2], const char what[])
{
  Mat T[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(X[k], MAT_INITIAL_MATRIX, &T[k]));
  PetscCall(TestCompare(T[0], T[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&T[k]));
    PetscCall(MatMatMult(X[k], Y[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &T[k]));
  }
  PetscCall(TestCompare(T[0], T[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&T[k]));
    PetscCall(MatDuplicate(Y[k], MAT_COPY_VALUES, &T[k]));
    PetscCall(MatAXPY(T[k], 2, X[k], DIFFERENT_NONZERO_PATTERN));
  }
  PetscCall(TestCompare(T[0], T[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&T[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, Way way)
{
  const char *what = way_names[way];
  Mat         A[2], C[2], R, Y[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, &Y[k]));
    PetscCall(Create(k && way == BIND ? type : MATAIJ, &A[k]));
    if (k && way == BIND) PetscCall(MatBindToCPU(A[k], PETSC_TRUE));
  }
  PetscCall(GetSubmatrix(A[0], MAT_INITIAL_MATRIX, &C[0]));
  PetscCall(CreateSubmatrix(A[1], type, way, &C[1]));
  PetscCall(MatDuplicate(C[0], MAT_COPY_VALUES, &R));
  PetscCall(Operations(Y, C, what));
  for (int k = 0; k < 2; k++) PetscCall(AddToEntries(R, C[k]));
  PetscCall(CompareGhosts(C[0], C[1], what));
  PetscCall(TestCompare(C[0], C[1], what));
  for (int k = 0; k < 2 && way == BIND; k++) PetscCall(GetSubmatrix(A[k], MAT_REUSE_MATRIX, &C[k]));
  PetscCall(TestCompare(C[0], C[1], what));
  for (PetscInt seed = 0; seed < 3; seed++) {
    for (int k = 0; k < 2; k++) PetscCall(InsertNew(C[k], seed));
    PetscCall(CompareGhosts(C[0], C[1], what));
    PetscCall(TestCompare(C[0], C[1], what));
    PetscCall(TestIsValid(C[1], what));
  }
  PetscCall(Operations(Y, C, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&C[k]));
    PetscCall(MatDestroy(&Y[k]));
  }
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int way = 0; way < NUM_WAYS; way++) PetscCall(Test(type, (Way)way));
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
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         args: -mat_type autocuda

TEST*/
