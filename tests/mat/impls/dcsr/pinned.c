static char help[] = "Pinned host memory of the caller, overwritten right after the call while the stream is busy: vectors, dense matrices, lists and values.\n\n";

#include "testmat.h"
#include <petscdevice_cuda.h>

#define SIZE          200000 /* rows of the matrices; what is copied from the host must be large, since the driver reads small arrays at once */
#define PER_ROW       3
#define BUSY_PRODUCTS 200 /* several milliseconds, in which a copy that nobody waits for does not begin */
#define REPEATS       10
#define COLUMNS       3 /* of dense matrices */
#define GAP           8 /* between their columns */

static TestBusy busy;

static PetscErrorCode CheckPinned(const void *array, const char what[])
{
  struct cudaPointerAttributes attributes;

  PetscFunctionBegin;
  PetscCallCUDA(cudaPointerGetAttributes(&attributes, array));
  PetscCheck(attributes.type == cudaMemoryTypeHost, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the host array is not pinned", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector for the right or left side of A, bound to the CPU if asked for. */
static PetscErrorCode CreateVec(Mat A, PetscBool right, PetscBool bound, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, right ? v : NULL, right ? NULL : v));
  if (bound) PetscCall(VecBindToCPU(*v, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation that reads x and z and writes to y or changes A; all matrices are square. */
typedef struct {
  const char *name;
  PetscErrorCode (*run)(Mat A, Vec x, Vec z, Vec y);
  PetscBool changes;
} Operation;

static PetscErrorCode Mult(Mat A, Vec x, PETSC_UNUSED Vec z, Vec y)
{
  return MatMult(A, x, y);
}

static PetscErrorCode MultTranspose(Mat A, Vec x, PETSC_UNUSED Vec z, Vec y)
{
  return MatMultTranspose(A, x, y);
}

static PetscErrorCode MultHermitianTranspose(Mat A, Vec x, PETSC_UNUSED Vec z, Vec y)
{
  return MatMultHermitianTranspose(A, x, y);
}

static PetscErrorCode DiagonalScale(Mat A, Vec x, Vec z, PETSC_UNUSED Vec y)
{
  return MatDiagonalScale(A, x, z);
}

static PetscErrorCode DiagonalScaleLeft(Mat A, Vec x, PETSC_UNUSED Vec z, PETSC_UNUSED Vec y)
{
  return MatDiagonalScale(A, x, NULL);
}

static PetscErrorCode DiagonalInsert(Mat A, Vec x, PETSC_UNUSED Vec z, PETSC_UNUSED Vec y)
{
  return MatDiagonalSet(A, x, INSERT_VALUES);
}

static PetscErrorCode DiagonalAdd(Mat A, PETSC_UNUSED Vec x, Vec z, PETSC_UNUSED Vec y)
{
  return MatDiagonalSet(A, z, ADD_VALUES);
}

static const Operation operations[] = {{"MatMult", Mult, PETSC_FALSE},
                                       {"MatMultAdd", MatMultAdd, PETSC_FALSE},
                                       {"MatMultTranspose", MultTranspose, PETSC_FALSE},
                                       {"MatMultTransposeAdd", MatMultTransposeAdd, PETSC_FALSE},
                                       {"MatMultHermitianTranspose", MultHermitianTranspose, PETSC_FALSE},
                                       {"MatDiagonalScale", DiagonalScale, PETSC_TRUE},
                                       {"MatDiagonalScale, left", DiagonalScaleLeft, PETSC_TRUE},
                                       {"MatDiagonalSet with INSERT_VALUES", DiagonalInsert, PETSC_TRUE},
                                       {"MatDiagonalSet with ADD_VALUES", DiagonalAdd, PETSC_TRUE}};

/* y: the result, or with a matrix that was changed its product with a vector. When vectors are bound the stream is busy, and they are set to zero after the operation. */
static PetscErrorCode RunOperation(const Operation *op, Mat A, PetscBool bound, Vec y)
{
  const PetscScalar *array;
  Mat                D = A;
  Vec                x, z, u;

  PetscFunctionBegin;
  PetscCall(CreateVec(A, PETSC_TRUE, bound, &x));
  PetscCall(CreateVec(A, PETSC_FALSE, bound, &z));
  PetscCall(CreateVec(A, PETSC_TRUE, PETSC_FALSE, &u));
  PetscCall(TestFill(x, 2));
  PetscCall(TestFill(z, 3));
  PetscCall(TestFill(u, 4));
  if (op->changes) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  if (bound) {
    PetscCall(VecGetArrayRead(x, &array));
    PetscCall(CheckPinned(array, op->name));
    PetscCall(VecRestoreArrayRead(x, &array));
    PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  }
  PetscCall((*op->run)(D, x, z, y));
  if (bound) {
    PetscCall(VecSet(x, 0));
    PetscCall(VecSet(z, 0));
  }
  if (op->changes) {
    PetscCall(MatMult(D, u, y));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestVectors(Mat R, Mat A)
{
  Vec expected, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(R, NULL, &expected));
  PetscCall(MatCreateVecs(A, NULL, &y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operations); k++) {
    PetscCall(RunOperation(&operations[k], R, PETSC_FALSE, expected));
    PetscCall(RunOperation(&operations[k], A, PETSC_FALSE, y)); // makes plans, which waits for the stream
    PetscCall(TestCompareVec(expected, y, operations[k].name));
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      PetscCall(RunOperation(&operations[k], A, PETSC_TRUE, y));
      PetscCall(TestCompareVec(expected, y, operations[k].name));
    }
  }
  PetscCall(VecDestroy(&expected));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column k of a dense matrix as values that TestFill() would give it; zero: zeros instead. */
static PetscErrorCode FillDense(Mat B, PetscBool zero)
{
  PetscScalar *array;
  PetscInt     lda;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &lda));
  PetscCall(MatDenseGetArrayWrite(B, &array));
  for (PetscInt k = 0; k < COLUMNS; k++)
    for (PetscInt i = 0; i < SIZE; i++) array[i + k * lda] = zero ? 0 : (PetscScalar)((i + 3 * k) % 17 - 8);
  PetscCall(MatDenseRestoreArrayWrite(B, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareDense(Mat expected, Mat C, const char what[])
{
  const PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayRead(expected, &a));
  PetscCall(MatDenseGetArrayRead(C, &b));
  for (PetscInt k = 0; k < SIZE * COLUMNS; k++)
    PetscCheck(PetscAbsScalar(a[k] - b[k]) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(a[k])), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: entry %" PetscInt_FMT " is %g and should be %g", what, k, (double)PetscRealPart(b[k]), (double)PetscRealPart(a[k]));
  PetscCall(MatDenseRestoreArrayRead(expected, &a));
  PetscCall(MatDenseRestoreArrayRead(C, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result stays on the device, so that nothing else waits. */
static PetscErrorCode TestDense(Mat R, Mat A, Mat B, const char what[])
{
  Mat expected, C, host;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, SIZE, COLUMNS, NULL, &host));
  PetscCall(FillDense(host, PETSC_FALSE));
  PetscCall(MatMatMult(R, host, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &expected));
  PetscCall(MatDestroy(&host));
  PetscCall(FillDense(B, PETSC_FALSE));
  PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, SIZE, COLUMNS, NULL, &C));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C)); // makes a plan, which waits for the stream
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    PetscCall(FillDense(B, PETSC_FALSE));
    PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
    PetscCall(MatProductNumeric(C));
    PetscCall(FillDense(B, PETSC_TRUE));
    PetscCall(CompareDense(expected, C, what));
  }
  PetscCall(MatDestroy(&expected));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDenseMatrices(Mat R, Mat A)
{
  PetscScalar *array;
  Mat          B;

  PetscFunctionBegin;
  for (PetscInt gap = 0; gap <= GAP; gap += GAP) {
    PetscCallCUDA(cudaMallocHost((void **)&array, sizeof(*array) * (SIZE + GAP) * COLUMNS));
    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetSizes(B, SIZE, COLUMNS, SIZE, COLUMNS));
    PetscCall(MatSetType(B, MATSEQDENSE));
    PetscCall(MatDenseSetLDA(B, SIZE + gap));
    PetscCall(MatSeqDenseSetPreallocation(B, array));
    PetscCall(TestDense(R, A, B, gap ? "MatMatMult, pinned columns with gaps" : "MatMatMult, pinned columns"));
    PetscCall(MatDestroy(&B));
    PetscCallCUDA(cudaFreeHost(array));
  }
  PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, SIZE, COLUMNS, NULL, &B));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(TestDense(R, A, B, "MatMatMult, bound to the CPU"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in a pinned list, which is all zeros when the call has returned. */
static PetscErrorCode ZeroRows(Mat A, PetscBool columns, PetscInt n, PetscInt rows[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) rows[k] = SIZE - 1 - 3 * k;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  if (columns) PetscCall(MatZeroRowsColumns(A, n, rows, 0, NULL, NULL));
  else PetscCall(MatZeroRows(A, n, rows, 0, NULL, NULL));
  PetscCall(PetscArrayzero(rows, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRowLists(Mat R, Mat A)
{
  const PetscInt n = SIZE / 3;
  PetscInt      *rows;
  Mat            X[2];

  PetscFunctionBegin;
  PetscCallCUDA(cudaMallocHost((void **)&rows, sizeof(*rows) * n));
  for (int columns = 0; columns < 2; columns++)
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      PetscCall(MatDuplicate(R, MAT_COPY_VALUES, &X[0]));
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &X[1]));
      PetscCall(ZeroRows(X[0], (PetscBool)columns, n, rows));
      PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
      PetscCall(ZeroRows(X[1], (PetscBool)columns, n, rows));
      PetscCall(TestCompareProducts(X[0], X[1], columns ? "MatZeroRowsColumns" : "MatZeroRows"));
      for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
    }
  PetscCallCUDA(cudaFreeHost(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is written into pinned memory is there when the call returns. */
static PetscErrorCode TestRowMaxima(Mat R, Mat A)
{
  PetscInt *positions, *expected;
  Vec       v[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(SIZE, &expected));
  PetscCallCUDA(cudaMallocHost((void **)&positions, sizeof(*positions) * SIZE));
  PetscCall(MatCreateVecs(R, NULL, &v[0]));
  PetscCall(MatCreateVecs(A, NULL, &v[1]));
  PetscCall(MatGetRowMaxAbs(R, v[0], expected));
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    PetscCall(PetscArrayzero(positions, SIZE));
    PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
    PetscCall(MatGetRowMaxAbs(A, v[1], positions));
    for (PetscInt k = 0; k < SIZE; k++)
      PetscCheck(positions[k] == expected[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatGetRowMaxAbs: the column of row %" PetscInt_FMT " is %" PetscInt_FMT " and should be %" PetscInt_FMT, k,
                 positions[k], expected[k]);
    PetscCall(TestCompareVec(v[0], v[1], "MatGetRowMaxAbs"));
  }
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&v[k]));
  PetscCallCUDA(cudaFreeHost(positions));
  PetscCall(PetscFree(expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a list in pinned memory, which are all zeros when the calls have returned. */
typedef struct {
  PetscInt     n;
  PetscInt    *i, *j; /* [n] */
  PetscScalar *v;     /* [n] */
} List;

static PetscErrorCode ListFill(List *list)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < list->n; k++) {
    list->i[k] = k / PER_ROW;
    list->j[k] = (k / PER_ROW + 101 * (PER_ROW - k % PER_ROW)) % SIZE;
    list->v[k] = (PetscScalar)(k % 23 - 11);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertCoordinates(Mat A, List *list, PetscBool keep_busy)
{
  PetscFunctionBegin;
  PetscCall(ListFill(list));
  if (keep_busy) PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCall(MatSetPreallocationCOO(A, list->n, list->i, list->j));
  PetscCall(PetscArrayzero(list->i, list->n));
  PetscCall(PetscArrayzero(list->j, list->n));
  for (int mode = 0; mode < 2; mode++) {
    PetscCall(ListFill(list));
    if (keep_busy) PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
    PetscCall(MatSetValuesCOO(A, list->v, mode ? ADD_VALUES : INSERT_VALUES));
    PetscCall(PetscArrayzero(list->v, list->n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertValues(Mat A, List *list, PetscBool keep_busy)
{
  PetscFunctionBegin;
  PetscCall(ListFill(list));
  if (keep_busy) PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  for (PetscInt k = 0; k < list->n; k += PER_ROW) {
    PetscCall(MatSetValues(A, 1, &list->i[k], PER_ROW, &list->j[k], &list->v[k], INSERT_VALUES));
    PetscCall(PetscArrayzero(&list->v[k], PER_ROW));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestInsertion(const char type[], PetscErrorCode (*insert)(Mat, List *, PetscBool), const char what[])
{
  List list = {.n = SIZE * PER_ROW};
  Mat  X[2];

  PetscFunctionBegin;
  PetscCallCUDA(cudaMallocHost((void **)&list.i, sizeof(*list.i) * (size_t)list.n));
  PetscCallCUDA(cudaMallocHost((void **)&list.j, sizeof(*list.j) * (size_t)list.n));
  PetscCallCUDA(cudaMallocHost((void **)&list.v, sizeof(*list.v) * (size_t)list.n));
  for (int repeat = 0; repeat <= REPEATS; repeat++) { // the first time for MATAIJ
    Mat *const A = &X[repeat > 0];

    PetscCall(MatCreate(PETSC_COMM_SELF, A));
    PetscCall(MatSetSizes(*A, SIZE, SIZE, SIZE, SIZE));
    PetscCall(MatSetType(*A, repeat > 0 ? type : MATAIJ));
    PetscCall((*insert)(*A, &list, (PetscBool)(repeat > 0)));
    if (repeat == 0) continue;
    PetscCall(TestCompareProducts(X[0], X[1], what));
    PetscCall(MatDestroy(&X[1]));
  }
  PetscCall(MatDestroy(&X[0]));
  PetscCallCUDA(cudaFreeHost(list.i));
  PetscCallCUDA(cudaFreeHost(list.j));
  PetscCallCUDA(cudaFreeHost(list.v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   R, A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestBusyCreate(&busy));
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, PER_ROW, 1, &R, &A));
  PetscCall(TestVectors(R, A));
  PetscCall(TestDenseMatrices(R, A));
  PetscCall(TestRowLists(R, A));
  PetscCall(TestRowMaxima(R, A));
  PetscCall(TestInsertion(type, InsertCoordinates, "COO"));
  PetscCall(TestInsertion(type, InsertValues, "MatSetValues"));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&A));
  PetscCall(TestBusyDestroy(&busy));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      output_file: output/empty.out
      test:
         suffix: default
      test:
         suffix: nonblocking
         args: -root_device_context_stream_type nonblocking

TEST*/
