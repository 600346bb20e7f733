static char help[] = "Options that are set between insertions, those that change nothing also without an end of what waits; and errors of one process that all have.\n\n";

#include "testmat.h"

#define SIZE 24

/* Expects an error of call on every rank that runs it, with this code. */
#define Fails(what, code, call) \
  do { \
    PetscErrorCode ierr_; \
\
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr_ = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCheck(ierr_ == (code), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d and should be %d", what, (int)ierr_, (int)(code)); \
  } while (0)

/* How often entries that waited have joined a matrix. */
static PetscErrorCode NumInsertions(int *num)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("MatDCSRInsert", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *num = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, SIZE, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, SIZE, NULL, SIZE, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that stay what they are, and others that waiting values do not depend on. */
static PetscErrorCode SetOthers(Mat A, PetscBool flag)
{
  const MatOption others[] = {MAT_ROW_ORIENTED, MAT_KEEP_NONZERO_PATTERN, MAT_SYMMETRIC, MAT_SPD, MAT_USE_INODES, MAT_FORM_EXPLICIT_TRANSPOSE, MAT_SUBMAT_SINGLEIS};

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others); k++) PetscCall(MatSetOption(A, others[k], flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBlock(Mat A, PetscInt k)
{
  const PetscInt    rows[] = {k % SIZE, (k + 5) % SIZE}, columns[] = {(2 * k) % SIZE, (2 * k + 7) % SIZE};
  const PetscScalar v[] = {1, (PetscReal)k, 0, (PetscReal)(2 * k)};

  PetscFunctionBegin;
  PetscCall(MatSetValues(A, 2, rows, 2, columns, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is merged into the matrix before the assembly. */
static PetscErrorCode TestOthers(MatType type)
{
  Mat X[2];

  PetscFunctionBegin;
  for (int x = 0; x < 2; x++) {
    int before, after;

    PetscCall(Create(x ? type : MATAIJ, &X[x]));
    PetscCall(NumInsertions(&before));
    for (PetscInt k = 0; k < 3 * SIZE; k++) {
      PetscCall(SetOthers(X[x], (PetscBool)(k % 2)));
      PetscCall(SetBlock(X[x], k));
    }
    PetscCall(NumInsertions(&after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "values that waited have joined the matrix %d times at options that do not change what becomes of them", after - before);
    PetscCall(TestAssemble(X[x], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestCompare(X[0], X[1], "options that change nothing"));
  for (int x = 0; x < 2; x++) PetscCall(MatDestroy(&X[x]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What came before an option does not obey it. */
static PetscErrorCode TestChanges(MatType type)
{
  Mat X[2];

  PetscFunctionBegin;
  for (int x = 0; x < 2; x++) {
    PetscCall(Create(x ? type : MATAIJ, &X[x]));
    PetscCall(TestEnter(X[x], 2, 1));
    PetscCall(MatSetOption(X[x], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt k = 0; k < 2 * SIZE; k++) {
      PetscInt begin, end;

      PetscCall(MatSetOption(X[x], MAT_IGNORE_ZERO_ENTRIES, (PetscBool)(k / 2 % 2)));
      PetscCall(MatSetOption(X[x], MAT_NEW_NONZERO_LOCATIONS, (PetscBool)(k / 4 % 2)));
      PetscCall(MatGetOwnershipRange(X[x], &begin, &end));
      if (begin <= k % SIZE && k % SIZE < end) PetscCall(MatSetValue(X[x], k % SIZE, (5 * k + 1) % SIZE, k % 3, ADD_VALUES));
    }
    PetscCall(TestAssemble(X[x], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestCompare(X[0], X[1], "options that change"));
  for (int x = 0; x < 2; x++) PetscCall(MatDestroy(&X[x]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last process has an index set or numbers that are refused, the first one a new entry. */
static PetscErrorCode TestErrorsOfOne(MatType type)
{
  PetscInt    begin, end, *indices, *nnz;
  PetscMPIInt rank, size;
  MatInfo     info;
  IS          rows, columns;
  Mat         A, C;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(type, &A));
  PetscCall(TestEnter(A, 3, 1));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscMalloc2(end - begin, &indices, end - begin, &nnz));
  for (PetscInt k = 0; k < end - begin; k++) {
    indices[k] = end - 1 - k + (rank == size - 1 && k == 0);
    nnz[k]     = rank == size - 1 && k == 1 ? -3 : 2;
  }
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, begin, 1, &rows));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, end - begin, indices, PETSC_COPY_VALUES, &columns));
  Fails("MatCreateSubMatrix() with a column of one process that is too large", PETSC_ERR_ARG_OUTOFRANGE, MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  for (PetscInt k = 0; k < SIZE && rank == 0; k++) PetscCall(MatSetValue(A, begin, k, 1, INSERT_VALUES));
  Fails("MatGetInfo() with a forbidden entry of one process", PETSC_ERR_ARG_OUTOFRANGE, MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(A, type));
  Fails("MatMPIAIJSetPreallocation() with a negative number of one process", PETSC_ERR_ARG_OUTOFRANGE, MatMPIAIJSetPreallocation(A, 0, nnz, 0, NULL));
  PetscCall(PetscFree2(indices, nnz));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool errors = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  if (errors) PetscCall(TestErrorsOfOne(type)); /* MATAIJ has these errors on one process alone */
  else {
    PetscCall(TestOthers(type));
    PetscCall(TestChanges(type));
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
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         args: -mat_type autocuda

   test:
      suffix: errors
      nsize: {{2 3}}
      requires: cuda
      args: -errors -mat_type {{dcsrcuda hisparsecuda autocuda}}
      output_file: output/empty.out

TEST*/
