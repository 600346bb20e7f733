static char help[] = "More nonzeros than PetscInt counts are an error on all processes, and the matrix is as it was; here -mat_dcsr_test_max_nonzeros says how many it counts.\n\n";

#include "testmat.h"

#define LIMIT   500 /* of the option */
#define N       60  /* rows of a process */
#define PER_ROW 10

/* Runs call with errors returned, and expects the one for too many nonzeros. */
#define FailsHere(what, call) \
  do { \
    PetscErrorCode ierr_; \
\
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr_ = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCheck(ierr_ == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, and %d was expected", what, (int)ierr_, (int)PETSC_ERR_ARG_OUTOFRANGE); \
  } while (0)

static PetscErrorCode BeginAndEnd(Mat A)
{
  PetscErrorCode ierr = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);

  if (ierr == PETSC_SUCCESS) ierr = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  return ierr;
}

static PetscScalar Value(PetscInt i, PetscInt j)
{
  return 1.0 + 0.125 * (PetscReal)((7 * i + 3 * j) % 11);
}

/* Three diagonals. */
static PetscErrorCode CreateTridiagonal(MPI_Comm comm, MatType type, Mat *A)
{
  PetscInt begin, end, M;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, N, N, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatGetSize(*A, &M, NULL));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(0, i - 1); j < PetscMin(M, i + 2); j++) PetscCall(MatSetValue(*A, i, j, Value(i, j), INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareInfo(Mat A, Mat B, const char what[])
{
  MatInfo a, b;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &a));
  PetscCall(MatGetInfo(B, MAT_LOCAL, &b));
  PetscCheck(a.nz_used == b.nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: MatGetInfo() says %g nonzeros where %g should be", what, b.nz_used, a.nz_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process inserts too much, into its rows and the columns of itself or of the first process; all have the error. */
static PetscErrorCode TestInsertion(MPI_Comm comm, MatType type, PetscBool diagonal, InsertMode mode)
{
  PetscInt    begin, end;
  PetscMPIInt rank, size;
  Mat         A, B;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(CreateTridiagonal(comm, MATAIJ, &A));
  PetscCall(CreateTridiagonal(comm, type, &B));
  PetscCall(TestCompareProducts(A, B, "before the insertion"));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  for (PetscInt i = begin; i < end && rank == size - 1; i++)
    for (PetscInt k = 0; k < PER_ROW; k++) PetscCall(MatSetValue(B, i, (diagonal ? begin : 0) + (i - begin + 2 + 3 * k) % N, 1.0, mode));
  FailsHere("MatSetValues()", BeginAndEnd(B));
  PetscCall(TestAssemble(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompare(A, B, "after an insertion that was refused"));
  PetscCall(CompareInfo(A, B, "after an insertion that was refused"));
  PetscCall(TestIsValid(B, "after an insertion that was refused"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exactly as many as fit; one more does not, and values of those that are there may change. */
static PetscErrorCode TestLast(MatType type)
{
  Mat mats[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_SELF, &mats[k]));
    PetscCall(MatSetSizes(mats[k], N, N, N, N));
    PetscCall(MatSetType(mats[k], k == 0 ? MATAIJ : type));
    for (PetscInt e = 0; e < LIMIT; e++) PetscCall(MatSetValue(mats[k], e / PER_ROW, (e / PER_ROW + e % PER_ROW * 3) % N, Value(e, e), INSERT_VALUES));
    PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscCall(TestCompare(mats[0], mats[1], "as many nonzeros as fit"));
  for (int repeat = 0; repeat < 2; repeat++) { /* into compact and, where it becomes that, into fragmented storage */
    PetscCall(MatSetValue(mats[1], N - 1, 3 + repeat, 1.0, ADD_VALUES));
    FailsHere("one nonzero too many", BeginAndEnd(mats[1]));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetValue(mats[k], 0, 0, 5.0, ADD_VALUES));
      PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompare(mats[0], mats[1], "one nonzero too many was refused"));
    PetscCall(CompareInfo(mats[0], mats[1], "one nonzero too many was refused"));
    PetscCall(TestFragment(mats[1], 2));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most rows with PER_ROW entries, elsewhere than those of CreateTridiagonal(), in the rows of each process. */
static PetscErrorCode CreateOther(MPI_Comm comm, MatType type, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, N, N, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end - N / 4; i++)
    for (PetscInt k = 0; k < PER_ROW; k++) PetscCall(MatSetValue(*A, i, begin + (i - begin + 2 + 4 * k) % N, 1.0, INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSum(MPI_Comm comm, MatType type)
{
  Mat A, B, X;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(comm, MATAIJ, &A));
  PetscCall(CreateTridiagonal(comm, type, &B));
  PetscCall(CreateOther(comm, type, &X));
  PetscCall(TestCompareProducts(A, B, "before the sum"));
  PetscCall(TestCompareProducts(X, X, "before the sum"));
  FailsHere("MatAXPY()", MatAXPY(B, 2.0, X, DIFFERENT_NONZERO_PATTERN));
  PetscCall(TestCompare(A, B, "after a sum that was refused"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(MPI_Comm comm, MatType type)
{
  Mat A, C;

  PetscFunctionBegin;
  PetscCall(CreateOther(comm, type, &A));
  PetscCall(MatProductCreate(A, A, NULL, &C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  FailsHere("MatProductSymbolic()", MatProductSymbolic(C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are there several times. */
static PetscErrorCode TestSubmatrix(MatType type)
{
  PetscInt indices[4 * N];
  IS       rows, columns;
  Mat      A, B;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(PETSC_COMM_SELF, type, &A));
  for (PetscInt k = 0; k < 4 * N; k++) indices[k] = k / 4;
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, 4 * N, indices, PETSC_COPY_VALUES, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &columns));
  FailsHere("MatCreateSubMatrix()", MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCOO(MPI_Comm comm, MatType type)
{
  PetscInt begin, end, i[N * PER_ROW], j[N * PER_ROW];
  Mat      A;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(comm, type, &A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = 0; k < N * PER_ROW; k++) {
    i[k] = begin + k / PER_ROW;
    j[k] = begin + (k / PER_ROW + 3 * (k % PER_ROW)) % N;
  }
  FailsHere("MatSetPreallocationCOO()", MatSetPreallocationCOO(A, N * PER_ROW, i, j));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(MPI_Comm comm, MatType type)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(TestInsertion(comm, type, PETSC_TRUE, k ? ADD_VALUES : INSERT_VALUES));
    PetscCall(TestInsertion(comm, type, PETSC_FALSE, k ? ADD_VALUES : INSERT_VALUES));
  }
  PetscCall(TestSum(comm, type));
  PetscCall(TestProduct(comm, type));
  PetscCall(TestCOO(comm, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool device;
  Mat       A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(CreateTridiagonal(PETSC_COMM_WORLD, type, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  if (device) {
    PetscCall(TestAll(PETSC_COMM_WORLD, type));
    PetscCall(TestAll(PETSC_COMM_SELF, type));
    PetscCall(TestLast(type));
    PetscCall(TestSubmatrix(type));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      nsize: {{1 2 3}}
      args: -mat_dcsr_test_max_nonzeros 500
      output_file: output/empty.out
      test:
         args: -mat_type {{dcsrcuda autocuda}}
      test:
         suffix: diagonals
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals

TEST*/
