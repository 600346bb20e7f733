/*
  The cases; see outofmemorycases.h.
*/
#include "outofmemorycases.h"
#include "../../../../../src/petsc/sys.h"
#include <petscsparsecuda/sys.h>

#define MAX_ENTRIES   13000 /* of a matrix */
#define PARALLEL_SIZE 300   /* rows and columns of parallel matrices */

PetscMPIInt TestAlone = -1;

static const PetscInt sizes[] = {900, 3000, 2100}; /* rows of each kind of matrix */

/* Entries, none twice, on the host. */
static struct {
  PetscInt    n, i[MAX_ENTRIES], j[MAX_ENTRIES];
  PetscScalar v[MAX_ENTRIES];
} list;

/* How they get into a matrix. */
typedef enum {
  BY_VALUES,
  BY_DEVICE_LIST,
  BY_INSERTER,
  BY_COO,
  BY_DEVICE_COO
} Way;

static void Append(PetscInt row, PetscInt column, PetscScalar v)
{
  list.i[list.n]   = row;
  list.j[list.n]   = column;
  list.v[list.n++] = v;
}

static PetscErrorCode ListEntries(Kind kind)
{
  const PetscInt width = 30, n = sizes[kind];

  PetscFunctionBegin;
  list.n = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt columns[] = {i, i - 1, i + 1, i - width, i + width};

    if (kind == EMPTY_ROWS && i % 7) continue;
    if (kind == LONG_ROWS && (i == 0 || i == n / 2))
      for (PetscInt j = 0; j < n; j++) Append(i, j, 1 + (PetscReal)(j % 9) / 4);
    else
      for (PetscInt k = 0; k < (kind == STENCIL ? 5 : 2); k++)
        if (columns[k] >= 0 && columns[k] < n) Append(i, columns[k], k == 0 ? 4 : k == 1 && i % 3 == 0 ? 0 : -1 - (PetscReal)(i % 5) / 8);
  }
  PetscCheck(list.n <= MAX_ENTRIES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries are too many", list.n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyList(PetscInt i[], PetscInt j[], PetscScalar v[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToDevice(i, list.i, (size_t)list.n * sizeof(*i), stream));
  PetscCall(PetscSparseCUDACopyToDevice(j, list.j, (size_t)list.n * sizeof(*j), stream));
  PetscCall(PetscSparseCUDACopyToDevice(v, list.v, (size_t)list.n * sizeof(*v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list in device memory, as a batch or as lists of MatSetPreallocationCOO(). */
static PetscErrorCode InsertDeviceList(Mat A, PetscBool coo, InsertMode mode)
{
  cudaStream_t   stream;
  PetscInt      *i = NULL, *j = NULL;
  PetscScalar   *v    = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list.n, "a test's rows", stream, &i));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list.n, "a test's columns", stream, &j));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list.n, "a test's values", stream, &v));
  PetscCallGoto(ierr, cleanup, CopyList(i, j, v, stream));
  if (coo) PetscCallGoto(ierr, cleanup, MatSetPreallocationCOO(A, list.n, i, j));
  if (coo) PetscCallGoto(ierr, cleanup, MatSetValuesCOO(A, v, mode));
  if (!coo) PetscCallGoto(ierr, cleanup, MatDCSRCUDASetValuesDevice(A, list.n, i, j, v, mode));
cleanup:
  PetscCall(PetscSparseCUDAFree(&i, stream));
  PetscCall(PetscSparseCUDAFree(&j, stream));
  PetscCall(PetscSparseCUDAFree(&v, stream));
  PetscFunctionReturn(ierr);
}

/* The list as kernels would leave it behind. */
static PetscErrorCode InsertByInserter(Mat A, InsertMode mode)
{
  const unsigned long long count = (unsigned long long)list.n;
  cudaStream_t             stream;
  MatDCSRCUDAInserter      ins;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatDCSRCUDAGetInserter(A, list.n, mode, &ins));
  PetscCall(CopyList(ins.rows, ins.columns, ins.values, stream));
  PetscCall(PetscSparseCUDACopyToDevice(ins.count, &count, sizeof(count), stream));
  PetscCall(MatDCSRCUDARestoreInserter(A, &ins)); // frees the buffers, also after an error
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list; with COO the matrix is assembled afterwards. */
static PetscErrorCode Insert(Mat A, Way way, InsertMode mode)
{
  PetscFunctionBegin;
  switch (way) {
  case BY_VALUES:
    for (PetscInt k = 0; k < list.n; k++) PetscCall(MatSetValue(A, list.i[k], list.j[k], list.v[k], mode));
    break;
  case BY_INSERTER:
    PetscCall(InsertByInserter(A, mode));
    break;
  case BY_COO:
    PetscCall(MatSetPreallocationCOO(A, list.n, list.i, list.j));
    PetscCall(MatSetValuesCOO(A, list.v, mode));
    break;
  default:
    PetscCall(InsertDeviceList(A, (PetscBool)(way == BY_DEVICE_COO), mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DataDestroy - all that there is */
PetscErrorCode DataDestroy(Data *d)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&d->right));
  PetscCall(VecDestroy(&d->left));
  PetscCall(VecDestroy(&d->scale_left));
  PetscCall(VecDestroy(&d->scale_right));
  PetscCall(VecDestroy(&d->out));
  PetscCall(ISDestroy(&d->rows));
  PetscCall(ISDestroy(&d->columns));
  PetscCall(PetscFree(d->idx));
  PetscCall(MatDestroy(&d->X));
  PetscCall(MatDestroy(&d->T));
  PetscCall(MatDestroy(&d->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_OPERATION(name, ...) \
  static PetscErrorCode name(Mat A, Data *d) \
  { \
    PetscFunctionBegin; \
    (void)A; \
    (void)d; \
    __VA_ARGS__ \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* Operations of one process. */

/* A product with one option as -mat_... on the command line would set it; others than ours do not know it. */
static PetscErrorCode ProductWith(Mat A, Data *d, const char name[], const char value[], PetscErrorCode (*product)(Mat, Vec, Vec))
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, name, value));
  ierr = MatSetFromOptions(A);
  PetscCall(PetscOptionsClearValue(NULL, name));
  PetscCall(ierr);
  PetscCall((*product)(A, d->right, d->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns in descending order. */
static PetscErrorCode CreateSets(MPI_Comm comm, PetscInt n, PetscInt first, Data *d)
{
  PetscFunctionBegin;
  PetscCall(ISCreateStride(comm, n, first, -1, &d->rows));
  PetscCall(PetscObjectReference((PetscObject)d->rows));
  d->columns = d->rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Submatrix(Mat A, Data *d, MatReuse reuse)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSubMatrix(A, d->rows, d->columns, reuse, &d->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries and old ones, all zero but for MatSetValues(), which MATAIJ has, too. After an error the matrix is assembled, without any of them. */
static PetscErrorCode AddSome(Mat A, Way way)
{
  PetscInt       n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  list.n = 0;
  for (PetscInt k = 0; k < 200; k++) Append(7 * (k % 40), (7 * (k % 40) + 31 * (k / 40)) % n, way == BY_VALUES ? 1 + (PetscReal)k / 64 : 0);
  ierr = Insert(A, way, ADD_VALUES);
  if (ierr == PETSC_SUCCESS) ierr = TestAssemble(A, MAT_FINAL_ASSEMBLY);
  if (ierr != PETSC_SUCCESS) PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with other entries, made by each of the types alike, and no result. */
static PetscErrorCode CreateOther(Mat A, Mat *X)
{
  MatType  type;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2, NULL, X));
  for (PetscInt i = 0; i < n; i += 2) PetscCall(MatSetValue(*X, i, (i * 5 + 2) % n, 1 + (PetscReal)(i % 3), INSERT_VALUES));
  PetscCall(TestAssemble(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*X, type, MAT_INPLACE_MATRIX, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix, which becomes equal to A. */
static PetscErrorCode CreateEqual(Mat A, Data *d, Way way)
{
  PetscInt n;
  Kind     kind = STENCIL;
  MatType  type;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetType(A, &type));
  while (sizes[kind] != n) kind++;
  PetscCall(ListEntries(kind));
  PetscCall(MatCreate(PETSC_COMM_SELF, &d->C));
  PetscCall(MatSetSizes(d->C, n, n, n, n));
  PetscCall(MatSetType(d->C, type));
  PetscCall(Insert(d->C, way, way == BY_INSERTER ? ADD_VALUES : INSERT_VALUES));
  if (way < BY_COO) PetscCall(TestAssemble(d->C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that have a diagonal entry in matrices of all kinds; a long one, and one given twice. */
static const PetscInt deleted_rows[] = {0, 7, 420, 7};

/* CASE(function, name, what MATAIJ has to do with it, what is done with A and d): the order says which part of the tests runs it, see TestSequential(). */
#define SEQUENTIAL_CASES(CASE) \
  CASE(Mult, "MatMult", BOTH, PetscCall(MatMult(A, d->right, d->out));) \
  CASE(MultSplit, "MatMult, split", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_spmv", "split", MatMult));) \
  CASE(MultScan, "MatMult, scan", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_spmv", "scan", MatMult));) \
  CASE(MultVector, "MatMult, vector", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_spmv", "vector", MatMult));) \
  CASE(MultAdd, "MatMultAdd", BOTH, PetscCall(MatMultAdd(A, d->right, d->left, d->out));) \
  CASE(MultTranspose, "MatMultTranspose", BOTH, PetscCall(MatMultTranspose(A, d->right, d->out));) \
  CASE(MultTransposeAtomic, "MatMultTranspose, atomic", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_spmv_transpose", "atomic", MatMultTranspose));) \
  CASE(MultTransposeTile, "MatMultTranspose, tile", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_spmv_transpose", "tile", MatMultTranspose));) \
  CASE(MultTransposeDeterministic, "MatMultTranspose, deterministic", BOTH, PetscCall(ProductWith(A, d, "-mat_dcsr_deterministic", "true", MatMultTranspose));) \
  CASE(MultTransposeExplicit, "MatMultTransposeAdd, explicit", BOTH, PetscCall(MatSetOption(A, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE)); \
       PetscCall(MatMultTransposeAdd(A, d->right, d->left, d->out));) \
  CASE(NormOne, "MatNorm, 1", BOTH, PetscCall(MatNorm(A, NORM_1, &d->norm));) \
  CASE(NormFrobenius, "MatNorm, Frobenius", BOTH, PetscCall(MatNorm(A, NORM_FROBENIUS, &d->norm));) \
  CASE(NormInfinity, "MatNorm, infinity", BOTH, PetscCall(MatNorm(A, NORM_INFINITY, &d->norm));) \
  CASE(GetDiagonal, "MatGetDiagonal", BOTH, PetscCall(MatGetDiagonal(A, d->out));) \
  CASE(GetRowMaxAbs, "MatGetRowMaxAbs", BOTH, PetscCall(MatGetRowMaxAbs(A, d->out, d->idx));) \
  CASE(GetRowSumAbs, "MatGetRowSumAbs", BOTH, PetscCall(MatGetRowSumAbs(A, d->out));) \
  CASE(Duplicate, "MatDuplicate", BOTH, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C));) \
  CASE(Copy, "MatCopy", BOTH, PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &d->C)); PetscCall(MatCopy(A, d->C, SAME_NONZERO_PATTERN));) \
  CASE(Transpose, "MatTranspose", BOTH, PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &d->T)); PetscCall(PetscObjectStateIncrease((PetscObject)A)); \
       PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &d->T)); PetscCall(MatTranspose(d->T, MAT_INITIAL_MATRIX, &d->C));) \
  CASE(TransposeInPlace, "MatTranspose, in place", BOTH, PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));) \
  CASE(IsSymmetric, "MatIsTranspose", BOTH, PetscBool is; PetscCall(MatIsTranspose(A, A, 0, &is)); d->norm = is;) \
  CASE(Reverse, "MatPermute and MatCreateSubMatrix", BOTH, PetscCall(MatPermute(A, d->rows, d->columns, &d->T)); PetscCall(Submatrix(d->T, d, MAT_INITIAL_MATRIX)); \
       PetscCall(Submatrix(d->T, d, MAT_REUSE_MATRIX));) \
  CASE(Scale, "MatScale", BOTH, PetscCall(MatScale(A, 3));) \
  CASE(DiagonalScale, "MatDiagonalScale", BOTH, PetscCall(MatDiagonalScale(A, d->scale_left, d->scale_right));) \
  CASE(Shift, "MatShift", BOTH, PetscCall(MatShift(A, 2));) \
  CASE(DiagonalSet, "MatDiagonalSet", BOTH, PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); PetscCall(MatDiagonalSet(A, d->left, ADD_VALUES));) \
  CASE(AXPYSame, "MatAXPY, same pattern", BOTH, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C)); PetscCall(MatAXPY(A, 2, d->C, SAME_NONZERO_PATTERN)); PetscCall(MatScale(d->C, 3));) \
  CASE(AXPYSubset, "MatAXPY, subset", BOTH, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C)); PetscCall(MatAXPY(A, 2, d->C, SUBSET_NONZERO_PATTERN)); PetscCall(MatScale(d->C, 3));) \
  CASE(AXPYOther, "MatAXPY, other pattern", BOTH, PetscCall(CreateOther(A, &d->X)); PetscCall(MatAXPY(A, -2, d->X, DIFFERENT_NONZERO_PATTERN));) \
  CASE(ZeroRows, "MatZeroRows", BOTH, PetscCall(MatZeroRows(A, 4, deleted_rows, 3, d->right, d->out));) \
  CASE(ZeroRowsKept, "MatZeroRows, pattern kept", BOTH, PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE)); PetscCall(MatZeroRows(A, 4, deleted_rows, 3, d->right, d->out));) \
  CASE(ZeroRowsColumns, "MatZeroRowsColumns", BOTH, PetscCall(MatZeroRowsColumns(A, 4, deleted_rows, 3, d->right, d->out));) \
  CASE(EliminateZeros, "MatEliminateZeros", BOTH, PetscCall(MatEliminateZeros(A, PETSC_TRUE));) \
  CASE(SetValues, "MatSetValues", BOTH, PetscCall(AddSome(A, BY_VALUES));) \
  CASE(NewByValues, "MatSetValues into a new matrix", NEW, PetscCall(CreateEqual(A, d, BY_VALUES));) \
  CASE(AddDeviceList, "MatDCSRCUDASetValuesDevice", OURS, PetscCall(AddSome(A, BY_DEVICE_LIST));) \
  CASE(NewByDeviceList, "MatDCSRCUDASetValuesDevice into a new matrix", NEW, PetscCall(CreateEqual(A, d, BY_DEVICE_LIST));) \
  CASE(AddByInserter, "MatDCSRCUDARestoreInserter", OURS, PetscCall(AddSome(A, BY_INSERTER));) \
  CASE(NewByInserter, "MatDCSRCUDARestoreInserter into a new matrix", NEW, PetscCall(CreateEqual(A, d, BY_INSERTER));) \
  CASE(NewByCOO, "MatSetValuesCOO", NEW, PetscCall(CreateEqual(A, d, BY_COO));) \
  CASE(NewByDeviceCOO, "MatSetValuesCOO, lists on the device", NEW, PetscCall(CreateEqual(A, d, BY_DEVICE_COO));) \
  CASE(ConvertToAIJ, "MatConvert to MATAIJ", BOTH, PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &d->C));) \
  CASE(ConvertFromAny, "MatConvert to MATDCSRCUDA", BOTH, PetscCall(MatConvert(A, "seqaijdcsrcuda", MAT_INITIAL_MATRIX, &d->C)); PetscCall(MatMult(d->C, d->right, d->out));) \
  CASE(GetRow, "MatGetRow", BOTH, PetscCall(MatGetRow(A, 0, NULL, NULL, NULL)); PetscCall(MatRestoreRow(A, 0, NULL, NULL, NULL));) \
  CASE(Defragment, "MatDCSRCUDADefragment", OURS, PetscCall(MatDCSRCUDADefragment(A));) \
  CASE(Fragment, "TestLibFragment", OURS, PetscCall(TestFragment(A, 1));)

#define DEFINE_SEQUENTIAL(function, name, meaning, ...) DEFINE_OPERATION(function, __VA_ARGS__)
#define SEQUENTIAL_CASE(function, name, meaning, ...)   {name, function, meaning},

SEQUENTIAL_CASES(DEFINE_SEQUENTIAL)
static const Case sequential_cases[] = {SEQUENTIAL_CASES(SEQUENTIAL_CASE)};

/* The type comes after the entries, which therefore are on the host only. */
static PetscErrorCode CreateMatrix(MatType type, Kind kind, State state, Mat *A)
{
  PetscReal norm;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(ListEntries(kind));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, sizes[kind], sizes[kind], sizes[kind], sizes[kind]));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(Insert(*A, BY_VALUES, INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  if (state == FRESH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNorm(*A, NORM_FROBENIUS, &norm));
  if (state == ALONE) {
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &B));
    PetscCall(MatDestroy(A));
    *A = B;
  }
  if (state >= FRAGMENTED) PetscCall(TestFragment(*A, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DataCreate(Mat A, Data *d)
{
  PetscInt n;
  Vec     *vectors[] = {&d->right, &d->left, &d->scale_left, &d->scale_right, &d->out};

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(vectors); k++) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, vectors[k]));
    PetscCall(TestFill(*vectors[k], k));
  }
  PetscCall(VecSet(d->out, 0));
  PetscCall(PetscCalloc1(n, &d->idx));
  PetscCall(CreateSets(PETSC_COMM_SELF, n, n - 1, d));
  PetscCall(ISToGeneral(d->rows));
  PetscCall(ISSetPermutation(d->rows));
  d->norm = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSequential(PETSC_UNUSED const Case *c, Kind kind, State state, Trial *t)
{
  PetscFunctionBegin;
  PetscCall(CreateMatrix(MATSEQAIJ, kind, FRESH, &t->R));
  PetscCall(CreateMatrix("seqaijdcsrcuda", kind, state, &t->A));
  PetscCall(DataCreate(t->R, &t->got));
  PetscCall(DataCreate(t->R, &t->expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMatrix(Mat R, Mat A, const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestIsValid(A, what));
  PetscCall(TestCompareProducts(R, A, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSequential(const Case *c, Trial *t, PetscBool failed, const char what[])
{
  PetscFunctionBegin;
  if (!failed && c->meaning == BOTH) PetscCall((*c->run)(t->R, &t->expected));
  PetscCall(CheckMatrix(t->R, t->A, what));
  if (failed) {
    PetscCall(DataDestroy(&t->got));
    PetscCall(DataCreate(t->R, &t->got));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(TestCompareVec(t->expected.out, t->got.out, what));
  PetscCheck(PetscAbsReal(t->expected.norm - t->got.norm) <= 1e3 * PETSC_MACHINE_EPSILON * (1 + t->expected.norm), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %g should be %g", what,
             (double)t->got.norm, (double)t->expected.norm);
  if (t->got.C != NULL) PetscCall(TestCompareProducts(t->R, t->got.C, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Suite SequentialSuite = {sequential_cases, PETSC_STATIC_ARRAY_LENGTH(sequential_cases), CreateSequential, CheckSequential, PETSC_FALSE};

/* Operations on parallel matrices that do not communicate: a process that runs out does not leave the others waiting. */

/* Changes no entry, unless one block is scaled and the other is not. */
DEFINE_OPERATION(ScaleThereAndBack, PetscCall(MatScale(A, 2)); PetscCall(MatScale(A, 0.5));)

/* New entries of both blocks, all zero, so that it does not matter how far an insertion comes; no communication: an option has them merged. */
static PetscErrorCode InsertLocal(Mat A, Way way)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  list.n = 0;
  for (PetscInt k = 0; k < 60 && k < end - begin; k++) Append(begin + k, (begin + k * k + 3) % N, 0);
  PetscCall(Insert(A, way, ADD_VALUES));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE)); // what waits is merged into the matrix first
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_OPERATION(InsertLocalValues, PetscCall(InsertLocal(A, BY_VALUES));)
DEFINE_OPERATION(InsertLocalDeviceList, PetscCall(InsertLocal(A, BY_DEVICE_LIST));)

static const Case local_cases[] = {
  {"MatGetDiagonal", GetDiagonal},     {"MatScale", ScaleThereAndBack},
  {"TestLibFragment", Fragment},       {"MatDCSRCUDADefragment", Defragment, .prepare = Fragment},
  {"MatSetValues", InsertLocalValues}, {"MatDCSRCUDASetValuesDevice", InsertLocalDeviceList},
};

static PetscErrorCode CreateLocal(const Case *c, PETSC_UNUSED Kind kind, PETSC_UNUSED State state, Trial *t)
{
  PetscFunctionBegin;
  PetscCall(TestCreatePair("dcsrcuda", PARALLEL_SIZE, PARALLEL_SIZE, TEST_EVEN, 6, 1, &t->R, &t->A));
  if (c->prepare != NULL) PetscCall((*c->prepare)(t->A, &t->got));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &t->got.out));
  PetscCall(VecSetSizes(t->got.out, PETSC_DECIDE, PARALLEL_SIZE));
  PetscCall(VecSetType(t->got.out, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* These operations change nothing, however often they are done. What is inserted is merged into the matrix at the assembly, also after a failure. */
static PetscErrorCode CheckLocal(const Case *c, Trial *t, PetscBool failed, const char what[])
{
  PetscFunctionBegin;
  for (int k = 0; k < (failed ? 1 : 2); k++) {
    if (k > 0) PetscCall((*c->run)(t->A, &t->got));
    PetscCall(TestAssemble(t->A, MAT_FINAL_ASSEMBLY));
    PetscCall(CheckMatrix(t->R, t->A, what));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Suite LocalSuite = {local_cases, PETSC_STATIC_ARRAY_LENGTH(local_cases), CreateLocal, CheckLocal, PETSC_TRUE};

/* Operations on parallel matrices that communicate. On two processes both do the same: what fails here fails there, too, unless it is to fail on one alone. */

/* Each row has 2 in this process's columns and 3 in the other's, which the other process inserts; COO lists are not inserted yet. */
static PetscErrorCode InsertList(Mat A, Way way)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end)); /* sets up the matrix */
  PetscCall(MatGetSize(A, NULL, &N));
  list.n = 0;
  for (PetscInt row = begin; row < end; row++) {
    Append(row, row, 2);
    Append((row + N / 2) % N, row, 3);
  }
  if (way != BY_COO) PetscCall(Insert(A, way, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Insertion, and the setup that it implies, is not collective: with -alone all processes see here that it failed on one, as a program must that goes on after errors. */
static PetscErrorCode InsertAlike(Mat A, Way way)
{
  int code = (int)InsertList(A, way);

  PetscFunctionBegin;
  if (TestAlone >= 0) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall((PetscErrorCode)code);
  if (way == BY_COO) PetscCall(Insert(A, way, INSERT_VALUES));
  else PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A second operand, whose rows and columns add up to 4, on two processes. */
static PetscErrorCode InsertOperand(Mat X)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(X, &begin, &end));
  PetscCall(MatGetSize(X, NULL, &N));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt next = begin + (row - begin + 1) % (end - begin);

    PetscCall(MatSetValue(X, row, row, 1, INSERT_VALUES));
    PetscCall(MatSetValue(X, row, next, 2, INSERT_VALUES));
    PetscCall(MatSetValue(X, row, (next + N / 2) % N, 1, INSERT_VALUES));
  }
  PetscCall(TestAssemble(X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OwnRowsBackwards(Mat A, Data *d)
{
  PetscInt begin, end, column_begin, column_end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &column_begin, &column_end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, end - 1, -1, &d->rows));
  PetscCall(ISToGeneral(d->rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, column_end - column_begin, column_begin, 1, &d->columns)); // for NULL in its place PETSc makes a set that it loses when the operation fails
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns change processes: the other half is fetched. */
static PetscErrorCode RowsOfOthers(Mat A, Data *d)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(CreateSets(PETSC_COMM_WORLD, end - begin, N - 1 - begin, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of them on every process; descending, so that both processes sort and allocate alike. */
DEFINE_OPERATION(AllRows, PetscCall(CreateSets(PETSC_COMM_SELF, PARALLEL_SIZE, PARALLEL_SIZE - 1, d));)

/* Used again at once; without a result when that fails. */
static PetscErrorCode SubmatrixTwice(Mat A, Data *d)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Submatrix(A, d, MAT_INITIAL_MATRIX));
  ierr = Submatrix(A, d, MAT_REUSE_MATRIX);
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(&d->C));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubmatricesTwice(Mat A, Data *d)
{
  Mat           *submatrices = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateSubMatrices(A, 1, &d->rows, &d->columns, MAT_INITIAL_MATRIX, &submatrices));
  ierr = MatCreateSubMatrices(A, 1, &d->rows, &d->columns, MAT_REUSE_MATRIX, &submatrices);
  if (ierr == PETSC_SUCCESS) {
    d->C = submatrices[0];
    PetscCall(PetscObjectReference((PetscObject)d->C));
  }
  PetscCall(MatDestroySubMatrices(1, &submatrices));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode ProductFn(Mat, Mat, MatReuse, PetscReal, Mat *);

/* A product that fails leaves an unfinished matrix when it was to make one. */
static PetscErrorCode Product(ProductFn *product, Mat A, MatReuse reuse, Data *d)
{
  const PetscErrorCode ierr = (*product)(A, d->X, reuse, PETSC_DETERMINE, &d->C);

  PetscFunctionBegin;
  if (ierr != PETSC_SUCCESS && reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(&d->C));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What happens to the operands between a product and its repetition: A becomes 2 A, or X becomes X + A. */
DEFINE_OPERATION(OtherValues, PetscCall(MatScale(A, 2));)
DEFINE_OPERATION(OtherPattern, PetscCall(MatAXPY(d->X, 1, A, DIFFERENT_NONZERO_PATTERN));)

DEFINE_OPERATION(NewAB, PetscCall(Product(MatMatMult, A, MAT_INITIAL_MATRIX, d));)
DEFINE_OPERATION(NewAtB, PetscCall(Product(MatTransposeMatMult, A, MAT_INITIAL_MATRIX, d));)
DEFINE_OPERATION(NewPtAP, PetscCall(Product(MatPtAP, A, MAT_INITIAL_MATRIX, d));)
DEFINE_OPERATION(AgainAB, PetscCall(Product(MatMatMult, A, MAT_REUSE_MATRIX, d));)
DEFINE_OPERATION(AgainAtB, PetscCall(Product(MatTransposeMatMult, A, MAT_REUSE_MATRIX, d));)
DEFINE_OPERATION(AgainPtAP, PetscCall(Product(MatPtAP, A, MAT_REUSE_MATRIX, d));)
DEFINE_OPERATION(Sum, PetscCall(MatAXPY(A, 2, d->X, DIFFERENT_NONZERO_PATTERN));)
DEFINE_OPERATION(InsertAlikeValues, PetscCall(InsertAlike(A, BY_VALUES));)
DEFINE_OPERATION(InsertAlikeDeviceList, PetscCall(InsertAlike(A, BY_DEVICE_LIST));)
DEFINE_OPERATION(InsertAlikeCOO, PetscCall(InsertAlike(A, BY_COO));)
DEFINE_OPERATION(NewTranspose, PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &d->C));)
DEFINE_OPERATION(NewSubmatrix, PetscCall(Submatrix(A, d, MAT_INITIAL_MATRIX));)

static const Case collective_cases[] = {
  {"MatTranspose", NewTranspose, .makes = PETSC_TRUE, .sums = {5, 5, 0, 0, 5}},
  {"MatCreateSubMatrix", NewSubmatrix, .makes = PETSC_TRUE, .prepare = OwnRowsBackwards, .sums = {5, 5, 0, 0, 5}},
  {"MatCreateSubMatrix, rows of others", NewSubmatrix, .makes = PETSC_TRUE, .prepare = RowsOfOthers, .sums = {5, 5, 0, 0, 5}},
  {"MatCreateSubMatrix, rows of others, again", SubmatrixTwice, .makes = PETSC_TRUE, .prepare = RowsOfOthers, .sums = {5, 5, 0, 0, 5}},
  {"MatCreateSubMatrices", SubmatricesTwice, .makes = PETSC_TRUE, .prepare = AllRows, .sums = {5, 5, 0, 0, 5}},
  {"MatAXPY", Sum, .sums = {5, 13, 4, 0, 0}},
  {"MatMatMult", NewAB, .sums = {5, 5, 4, 0, 20}},
  {"MatTransposeMatMult", NewAtB, .sums = {5, 5, 4, 0, 20}},
  {"MatPtAP", NewPtAP, .sums = {5, 5, 4, 0, 80}},
  {"MatMatMult, other values", AgainAB, .prepare = NewAB, .change = OtherValues, .sums = {10, 10, 4, 20, 40}},
  {"MatTransposeMatMult, other values", AgainAtB, .prepare = NewAtB, .change = OtherValues, .sums = {10, 10, 4, 20, 40}},
  {"MatPtAP, other values", AgainPtAP, .prepare = NewPtAP, .change = OtherValues, .sums = {10, 10, 4, 80, 160}},
  {"MatMatMult, other pattern", AgainAB, .prepare = NewAB, .change = OtherPattern, .sums = {5, 5, 9, 20, 45}},
  {"MatTransposeMatMult, other pattern", AgainAtB, .prepare = NewAtB, .change = OtherPattern, .sums = {5, 5, 9, 20, 45}},
  {"MatPtAP, other pattern", AgainPtAP, .prepare = NewPtAP, .change = OtherPattern, .sums = {5, 5, 9, 80, 405}},
  {"MatSetValues into a new matrix", InsertAlikeValues, .sums = {0, 5, 0, 0, 0}},
  {"MatDCSRCUDASetValuesDevice into a new matrix", InsertAlikeDeviceList, .sums = {0, 5, 0, 0, 0}},
  {"MatSetValuesCOO", InsertAlikeCOO, .sums = {0, 5, 0, 0, 0}},
};

static PetscErrorCode CreateCollective(const Case *c, PETSC_UNUSED Kind kind, PETSC_UNUSED State state, Trial *t)
{
  PetscFunctionBegin;
  for (int k = 0; k < (c->sums.operand != 0 ? 2 : 1); k++) {
    Mat *M = k ? &t->got.X : &t->A;

    PetscCall(MatCreate(PETSC_COMM_WORLD, M));
    PetscCall(MatSetSizes(*M, PETSC_DECIDE, PETSC_DECIDE, PARALLEL_SIZE, PARALLEL_SIZE));
    PetscCall(MatSetType(*M, "dcsrcuda"));
  }
  if (c->sums.before != 0) PetscCall(InsertAlike(t->A, BY_VALUES));
  if (c->sums.operand != 0) PetscCall(InsertOperand(t->got.X));
  if (c->prepare != NULL) PetscCall((*c->prepare)(t->A, &t->got));
  if (c->change != NULL) PetscCall((*c->change)(t->A, &t->got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRowSums(Mat A, PetscReal sum, const char what[])
{
  PetscReal least, most;
  Vec       x, y;

  PetscFunctionBegin;
  PetscCall(TestIsValid(A, what));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecMin(y, NULL, &least));
  PetscCall(VecMax(y, NULL, &most));
  PetscCheck(least == sum && most == sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: rows add up to %g to %g and should to %g", what, (double)least, (double)most, (double)sum);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCollective(const Case *c, Trial *t, PetscBool failed, const char what[])
{
  const PetscReal sum = failed ? c->sums.before : c->sums.after, result = failed ? c->sums.old : c->sums.result;

  PetscFunctionBegin;
  PetscCheck((t->got.C != NULL) == (result != 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there should be %s result", what, result != 0 ? "a" : "no");
  if (sum != 0) PetscCall(CheckRowSums(t->A, sum, what));
  if (t->got.X != NULL) PetscCall(CheckRowSums(t->got.X, c->sums.operand, what));
  if (t->got.C != NULL) PetscCall(CheckRowSums(t->got.C, result, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Suite CollectiveSuite = {collective_cases, PETSC_STATIC_ARRAY_LENGTH(collective_cases), CreateCollective, CheckCollective, PETSC_FALSE};
