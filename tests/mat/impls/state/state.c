static char help[] = "All states of a matrix (src/mat/impls/aijcuda/core/state.c) x all operations that change it, against MATAIJ.\n\n";

#include "../dcsr/testmat.h"
#include "../../../../src/mat/impls/aijcuda/core/core.h"

#define SIZE 24

static const char *type;     /* under test */
static PetscBool   device;   /* it computes there */
static PetscBool   hisparse; /* it has a storage beside CSR */
static PetscMPIInt num_ranks;

/* What operations say that give no matrix: of MATAIJ and of ours. */
static PetscReal said[2][3];

/* A matrix is brought into a state by what MATAIJ does likewise. */
typedef struct {
  const char *name;
  PetscErrorCode (*enter)(Mat);
  int       expected; /* MatSeqAIJCUDAState on one process with a device, -1: it depends */
  PetscBool storage;  /* for types with a storage alone */
} State;

static PetscBool IsOurs(Mat X)
{
  PetscBool ours;

  return TestLibIsOurs(X, &ours) == PETSC_SUCCESS ? ours : PETSC_FALSE;
}

static PetscErrorCode Product(Mat X)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(X, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(X, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadRows(Mat X)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(X, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    PetscCall(MatGetRow(X, row, NULL, NULL, NULL));
    PetscCall(MatRestoreRow(X, row, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadArray(Mat X)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  if (num_ranks > 1) {
    PetscCall(ReadRows(X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJGetArrayRead(X, &a));
  PetscCall(MatSeqAIJRestoreArrayRead(X, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteArray(Mat X)
{
  PetscScalar *a;

  PetscFunctionBegin;
  if (num_ranks > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJGetArray(X, &a));
  a[0] += 3;
  PetscCall(MatSeqAIJRestoreArray(X, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Unbind(Mat X)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(X, PETSC_TRUE));
  PetscCall(MatBindToCPU(X, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterNothing(PETSC_UNUSED Mat X)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterHostNewer(Mat X)
{
  PetscFunctionBegin;
  PetscCall(Product(X));
  PetscCall(WriteArray(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterStorage(Mat X)
{
  PetscFunctionBegin;
  PetscCall(Product(X));
  PetscCall(MatScale(X, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterEqualStorage(Mat X)
{
  PetscFunctionBegin;
  PetscCall(Product(X));
  PetscCall(ReadArray(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CSR is kept beside the storage, which is stale. */
static PetscErrorCode EnterBoth(Mat X)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(Product(X));
  PetscCall(MatNorm(X, NORM_1, &norm));
  PetscCall(MatShift(X, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterFragmented(Mat X)
{
  PetscFunctionBegin;
  if (IsOurs(X)) PetscCall(TestFragment(X, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Somebody holds the values of the CSR. */
static PetscErrorCode EnterBorrowed(Mat X)
{
  PetscScalar *values;
  PetscMemType mtype;

  PetscFunctionBegin;
  if (num_ranks == 1) PetscCall(MatSeqAIJGetCSRAndMemType(X, NULL, NULL, &values, &mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EnterBound(Mat X)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(X, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const State states[] = {
  {"CSR", EnterNothing, STATE_CSR, PETSC_FALSE},
  {"CSR, fragmented", EnterFragmented, STATE_CSR, PETSC_FALSE},
  {"CSR, borrowed", EnterBorrowed, STATE_CSR, PETSC_FALSE},
  {"equal", ReadArray, STATE_EQUAL, PETSC_FALSE},
  {"host newer", EnterHostNewer, STATE_HOST_NEWER, PETSC_FALSE},
  {"host", Unbind, STATE_HOST, PETSC_FALSE},
  {"bound", EnterBound, STATE_HOST, PETSC_FALSE},
  {"CSR and storage", Product, STATE_CSR_STORAGE, PETSC_TRUE},
  {"storage", EnterStorage, STATE_STORAGE, PETSC_TRUE},
  {"equal, storage", EnterEqualStorage, STATE_EQUAL_STORAGE, PETSC_TRUE},
  {"CSR newer than storage", EnterBoth, STATE_CSR, PETSC_TRUE},
};

/* Some rows of this process get an entry in a column that may be of another one. */
static PetscErrorCode SetSome(Mat X, PetscInt step, PetscInt shift, InsertMode mode)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetOption(X, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(X, &begin, &end));
  for (PetscInt row = begin; row < end; row += step) PetscCall(MatSetValue(X, row, (row + shift) % SIZE, (PetscScalar)(1 + row), mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Diagonal(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(SetSome(*X, 1, 0, INSERT_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewEntries(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(SetSome(*X, 2, 11, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FLUSH_ASSEMBLY));
  PetscCall(SetSome(*X, 3, 7, INSERT_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IgnoredEntries(Mat *X)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*X, &begin, &end));
  PetscCall(SetSome(*X, 5, 0, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*X, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  for (PetscInt row = begin; row < end; row++) PetscCall(MatSetValue(*X, row, (row + 13) % SIZE, 4, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*X, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound to the CPU and free again in the middle of an assembly. */
static PetscErrorCode BoundWithin(Mat *X)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(*X, &bound));
  PetscCall(SetSome(*X, 2, 0, ADD_VALUES));
  PetscCall(MatBindToCPU(*X, PETSC_TRUE));
  PetscCall(SetSome(*X, 3, 0, ADD_VALUES));
  PetscCall(MatBindToCPU(*X, bound));
  PetscCall(SetSome(*X, 4, 0, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Coordinates(Mat *X)
{
  PetscInt    begin, end, n = 0, i[3 * SIZE], j[3 * SIZE];
  PetscScalar v[3 * SIZE];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*X, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    for (PetscInt k = 0; k < 3; k++, n++) {
      i[n] = row;
      j[n] = (row + 5 * k) % SIZE;
      v[n] = (PetscScalar)(n + 1);
    }
  }
  PetscCall(TestPreallocateCOO(*X, n, i, j));
  PetscCall(MatSetValuesCOO(*X, v, INSERT_VALUES));
  PetscCall(Product(*X));
  PetscCall(MatSetValuesCOO(*X, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that wait are not those of the new list. */
static PetscErrorCode CoordinatesWithin(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(SetSome(*X, 2, 0, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FLUSH_ASSEMBLY));
  PetscCall(Coordinates(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocate(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(*X, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*X, 4, NULL, 4, NULL));
  PetscCall(SetSome(*X, 1, 1, ADD_VALUES));
  PetscCall(SetSome(*X, 1, 9, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroEntries(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(*X));
  PetscCall(SetSome(*X, 2, 0, ADD_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatScale(*X, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleByZero(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatScale(*X, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatShift(*X, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat *X)
{
  Vec l, r;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*X, &r, &l));
  PetscCall(TestFill(l, 1));
  PetscCall(TestFill(r, 2));
  PetscCall(MatDiagonalScale(*X, l, r));
  PetscCall(MatDiagonalSet(*X, l, ADD_VALUES));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealPart(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatConjugate(*X));
  PetscCall(MatRealPart(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Mat *X)
{
  const PetscInt rows[] = {1, 5, 17};

  PetscFunctionBegin;
  PetscCall(MatZeroRows(*X, 3, rows, 7, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRowsColumns(Mat *X)
{
  const PetscInt rows[] = {2, 9};

  PetscFunctionBegin;
  PetscCall(SetSome(*X, 1, 0, ADD_VALUES)); // MATAIJ wants the diagonal entries
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*X, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(*X, 2, rows, 7, NULL, NULL));
  PetscCall(MatZeroRowsColumns(*X, 2, rows, 3, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminateZeros(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatScale(*X, 0));
  PetscCall(SetSome(*X, 3, 0, INSERT_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatEliminateZeros(*X, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArrayWrite(Mat *X)
{
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  if (num_ranks > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(*X, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArrayWrite(*X, &a));
  for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = (PetscScalar)(k + 1);
  PetscCall(MatSeqAIJRestoreArrayWrite(*X, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another matrix of the type of X, with the same entries or others. */
static PetscErrorCode CreateOther(Mat X, PetscBool same, Mat *Y)
{
  PetscFunctionBegin;
  if (same) {
    PetscCall(MatDuplicate(X, MAT_COPY_VALUES, Y));
    PetscCall(MatScale(*Y, 0.5));
  } else PetscCall(TestCreate(IsOurs(X) ? type : MATAIJ, SIZE, SIZE, TEST_EVEN, 3, 8, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyFrom(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(CreateOther(*X, PETSC_TRUE, &Y));
  PetscCall(MatScale(*X, 7));
  PetscCall(MatCopy(Y, *X, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddSame(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(CreateOther(*X, PETSC_TRUE, &Y));
  PetscCall(MatAXPY(*X, 2, Y, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddOther(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(CreateOther(*X, PETSC_FALSE, &Y));
  PetscCall(MatAXPY(*X, 2, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X becomes the result. */
static PetscErrorCode Replace(Mat *X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(X));
  *X = Y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatTranspose(*X, MAT_INITIAL_MATRIX, &Y));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatTranspose(*X, MAT_REUSE_MATRIX, &Y));
  PetscCall(Replace(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeInPlace(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatTranspose(*X, MAT_INPLACE_MATRIX, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*X, MAT_COPY_VALUES, &Y));
  PetscCall(MatScale(*X, 2));
  PetscCall(Replace(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DuplicateStructure(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(Replace(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Square(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatMatMult(*X, *X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Y));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatMatMult(*X, *X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &Y));
  PetscCall(Replace(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubMatrix(Mat *X)
{
  PetscInt begin, end;
  IS       is;
  Mat      Y;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*X, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, begin, 1, &is));
  PetscCall(MatCreateSubMatrix(*X, is, is, MAT_INITIAL_MATRIX, &Y));
  PetscCall(ISDestroy(&is));
  PetscCall(Replace(X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoundOperation(Mat *X)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(*X, &bound));
  PetscCall(MatBindToCPU(*X, PETSC_TRUE));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatBindToCPU(*X, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertAndBack(Mat *X)
{
  PetscFunctionBegin;
  if (!IsOurs(*X)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(*X, MATAIJ, MAT_INPLACE_MATRIX, X));
  PetscCall(MatConvert(*X, type, MAT_INPLACE_MATRIX, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Say(Mat *X)
{
  PetscReal *s = said[IsOurs(*X)];
  Vec        d;

  PetscFunctionBegin;
  PetscCall(MatNorm(*X, NORM_1, &s[0]));
  PetscCall(MatNorm(*X, NORM_FROBENIUS, &s[1]));
  PetscCall(MatCreateVecs(*X, NULL, &d));
  PetscCall(MatGetDiagonal(*X, d));
  PetscCall(VecNorm(d, NORM_2, &s[2]));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define OPERATION(name) \
  { \
    #name, name \
  }
static const struct {
  const char *name;
  PetscErrorCode (*apply)(Mat *);
} operations[] = {OPERATION(Diagonal),    OPERATION(NewEntries),  OPERATION(IgnoredEntries),  OPERATION(BoundWithin),      OPERATION(Coordinates), OPERATION(CoordinatesWithin),
                  OPERATION(Preallocate), OPERATION(ZeroEntries), OPERATION(Scale),           OPERATION(ScaleByZero),      OPERATION(Shift),       OPERATION(DiagonalScale),
                  OPERATION(RealPart),    OPERATION(ZeroRows),    OPERATION(ZeroRowsColumns), OPERATION(EliminateZeros),   OPERATION(ArrayWrite),  OPERATION(CopyFrom),
                  OPERATION(AddSame),     OPERATION(AddOther),    OPERATION(Transpose),       OPERATION(TransposeInPlace), OPERATION(Duplicate),   OPERATION(DuplicateStructure),
                  OPERATION(Square),      OPERATION(SubMatrix),   OPERATION(BoundOperation),  OPERATION(ConvertAndBack),   OPERATION(Say)};

static PetscErrorCode CheckState(Mat B, const State *state)
{
  PetscFunctionBegin;
  if (num_ranks > 1 || !device || state->expected < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck((int)MatSeqAIJCUDAGetState(B) == state->expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the state is \"%s\" and should be \"%s\"", type, state->name,
             MatSeqAIJCUDAStates[MatSeqAIJCUDAGetState(B)], MatSeqAIJCUDAStates[state->expected]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation in one state, and another one on what it leaves. */
static PetscErrorCode Traverse(const State *state, size_t first, size_t second)
{
  const size_t ops[] = {first, second};
  Mat          A, B;
  char         what[256];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 5, 1, &A, &B));
  PetscCall((*state->enter)(A));
  PetscCall((*state->enter)(B));
  PetscCall(CheckState(B, state));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s: %s, %s%s%s", type, state->name, operations[first].name, k ? ", " : "", k ? operations[second].name : ""));
    PetscCall((*operations[ops[k]].apply)(&A));
    PetscCall((*operations[ops[k]].apply)(&B));
    PetscCall(TestIsValid(B, what));
  }
  for (int k = 0; k < 3; k++)
    PetscCheck(PetscAbsReal(said[0][k] - said[1][k]) <= 1000 * PETSC_MACHINE_EPSILON * said[0][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %d is %g and should be %g", what, k, (double)said[1][k],
               (double)said[0][k]);
  PetscCall(TestCompare(A, B, what));
  PetscCall(TestIsValid(B, what));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const size_t num = PETSC_STATIC_ARRAY_LENGTH(operations);
  Mat          A, B;
  char        *given;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &given));
  type = given;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &num_ranks));
  PetscCall(PetscStrcmp(type, MATHISPARSECUDA, &hisparse));
  PetscCall(TestCreatePair(type, 3, 3, TEST_EVEN, 1, 1, &A, &B));
  PetscCall(TestUsesDevice(B, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(states); s++) {
    if (states[s].storage && !hisparse) continue;
    for (size_t i = 0; i < num; i++)
      for (size_t j = 0; j < num; j += 1 + (i + s) % 3) PetscCall(Traverse(&states[s], i, j));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      output_file: output/empty.out
      nsize: {{1 3}}
      test:
         suffix: 1
         args: -options_left no -mat_type {{dcsrcuda hisparsecuda}} -mat_hisparse_format diagonals
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_type {{dcsrcuda hisparsecuda}} -mat_hisparse_format diagonals -mat_dcsr_require_device

TEST*/
