static char help[] = "Device allocation fails at every site in turn: the error is clean, the matrix is what it was, nothing leaks.\n\n";

#include "testmat.h"
#include <petsc/private/petscimpl.h>
#include <petscsparsecuda/sys.h>

#define MAX_SITES   500   /* more allocations than an operation makes */
#define MAX_ENTRIES 13000 /* of a matrix */

typedef enum {
  STENCIL,    /* five points on a square grid */
  LONG_ROWS,  /* two full rows among short ones */
  EMPTY_ROWS, /* six of seven rows */
  NUM_KINDS
} Kind;

typedef enum {
  FRESH,      /* assembled on the host, never on the device */
  UPLOADED,   /* on both sides, without plans */
  FRAGMENTED, /* on both sides */
  ALONE,      /* fragmented, without a host mirror */
  NUM_STATES
} State;

static const char *const kind_names[]  = {"stencil", "long rows", "empty rows"};
static const char *const state_names[] = {"fresh", "uploaded", "fragmented", "fragmented without mirror"};
static const PetscInt    sizes[]       = {900, 3000, 2100};

/* All entries of a matrix, none twice, on the host. */
typedef struct {
  PetscInt    n, i[MAX_ENTRIES], j[MAX_ENTRIES];
  PetscScalar v[MAX_ENTRIES];
} List;

static List list;

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

static PetscErrorCode Enter(Mat A, Kind kind)
{
  PetscFunctionBegin;
  PetscCall(ListEntries(kind));
  for (PetscInt k = 0; k < list.n; k++) PetscCall(MatSetValue(A, list.i[k], list.j[k], list.v[k], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of the list in device memory; freed also when there is no room for all of them. */
typedef struct {
  PetscInt    *i, *j;
  PetscScalar *v;
} DeviceList;

static PetscErrorCode DeviceListDestroy(DeviceList *d)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(&d->i, stream));
  PetscCall(PetscSparseCUDAFree(&d->j, stream));
  PetscCall(PetscSparseCUDAFree(&d->v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceListCreate(DeviceList *d)
{
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(d, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(list.n, "a test's rows", stream, &d->i));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(list.n, "a test's columns", stream, &d->j));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(list.n, "a test's values", stream, &d->v));
  PetscCallGoto(ierr, failed, PetscSparseCUDACopyToDevice(d->i, list.i, (size_t)list.n * sizeof(*list.i), stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDACopyToDevice(d->j, list.j, (size_t)list.n * sizeof(*list.j), stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDACopyToDevice(d->v, list.v, (size_t)list.n * sizeof(*list.v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DeviceListDestroy(d));
  PetscFunctionReturn(ierr);
}

/* A list in device memory, as a batch or as lists of MatSetPreallocationCOO(). */
static PetscErrorCode InsertDeviceList(Mat A, PetscBool coo, InsertMode mode)
{
  DeviceList     d;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DeviceListCreate(&d));
  if (coo) PetscCallGoto(ierr, cleanup, MatSetPreallocationCOO(A, list.n, d.i, d.j));
  if (coo) PetscCallGoto(ierr, cleanup, MatSetValuesCOO(A, d.v, mode));
  if (!coo) PetscCallGoto(ierr, cleanup, MatDCSRCUDASetValuesDevice(A, list.n, d.i, d.j, d.v, mode));
cleanup:
  PetscCall(DeviceListDestroy(&d));
  PetscFunctionReturn(ierr);
}

/* What kernels would leave behind. */
static PetscErrorCode FillInserter(MatDCSRCUDAInserter *ins)
{
  const unsigned long long count = (unsigned long long)list.n;
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToDevice(ins->rows, list.i, (size_t)list.n * sizeof(*list.i), stream));
  PetscCall(PetscSparseCUDACopyToDevice(ins->columns, list.j, (size_t)list.n * sizeof(*list.j), stream));
  PetscCall(PetscSparseCUDACopyToDevice(ins->values, list.v, (size_t)list.n * sizeof(*list.v), stream));
  PetscCall(PetscSparseCUDACopyToDevice(ins->count, &count, sizeof(count), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertByInserter(Mat A, InsertMode mode)
{
  MatDCSRCUDAInserter ins;

  PetscFunctionBegin;
  PetscCall(MatDCSRCUDAGetInserter(A, list.n, mode, &ins));
  PetscCall(FillInserter(&ins));
  PetscCall(MatDCSRCUDARestoreInserter(A, &ins)); // frees the buffers, also after an error
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an operation uses and gives; all vectors live on the host. */
typedef struct {
  Vec       right, left, scale_left, scale_right; /* given */
  Vec       out;                                  /* result of as many entries as there are rows; the matrices are square */
  PetscReal norm;
  PetscInt *idx;
  Mat       X, C; /* X: another operand, in parallel only */
} Data;

typedef PetscErrorCode OperationFn(Mat, Data *);

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
  d->norm = 0;
  d->X = d->C = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DataDestroy(Data *d)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&d->right));
  PetscCall(VecDestroy(&d->left));
  PetscCall(VecDestroy(&d->scale_left));
  PetscCall(VecDestroy(&d->scale_right));
  PetscCall(VecDestroy(&d->out));
  PetscCall(PetscFree(d->idx));
  PetscCall(MatDestroy(&d->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads one option as -mat_... on the command line would set it; others than ours do not know it. */
static PetscErrorCode SetOption(Mat A, const char name[], const char value[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, name, value));
  ierr = MatSetFromOptions(A);
  PetscCall(PetscOptionsClearValue(NULL, name));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_OPERATION(name, ...) \
  static PetscErrorCode name(Mat A, Data *d) \
  { \
    PetscFunctionBegin; \
    (void)d; \
    __VA_ARGS__ \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define DEFINE_PRODUCT(name, option, value, product) DEFINE_OPERATION(name, PetscCall(SetOption(A, option, value)); PetscCall(product(A, d->right, d->out));)

DEFINE_OPERATION(Mult, PetscCall(MatMult(A, d->right, d->out));)
DEFINE_PRODUCT(MultSplit, "-mat_dcsr_spmv", "split", MatMult)
DEFINE_PRODUCT(MultScan, "-mat_dcsr_spmv", "scan", MatMult)
DEFINE_PRODUCT(MultVector, "-mat_dcsr_spmv", "vector", MatMult)
DEFINE_OPERATION(MultAdd, PetscCall(MatMultAdd(A, d->right, d->left, d->out));)
DEFINE_OPERATION(MultTranspose, PetscCall(MatMultTranspose(A, d->right, d->out));)
DEFINE_PRODUCT(MultTransposeAtomic, "-mat_dcsr_spmv_transpose", "atomic", MatMultTranspose)
DEFINE_PRODUCT(MultTransposeTile, "-mat_dcsr_spmv_transpose", "tile", MatMultTranspose)
DEFINE_PRODUCT(MultTransposeDeterministic, "-mat_dcsr_deterministic", "true", MatMultTranspose)
DEFINE_OPERATION(MultTransposeExplicit, PetscCall(MatSetOption(A, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE)); PetscCall(MatMultTransposeAdd(A, d->right, d->left, d->out));)
DEFINE_OPERATION(NormOne, PetscCall(MatNorm(A, NORM_1, &d->norm));)
DEFINE_OPERATION(NormFrobenius, PetscCall(MatNorm(A, NORM_FROBENIUS, &d->norm));)
DEFINE_OPERATION(NormInfinity, PetscCall(MatNorm(A, NORM_INFINITY, &d->norm));)
DEFINE_OPERATION(GetDiagonal, PetscCall(MatGetDiagonal(A, d->out));)
DEFINE_OPERATION(GetRowMaxAbs, PetscCall(MatGetRowMaxAbs(A, d->out, d->idx));)
DEFINE_OPERATION(GetRowSumAbs, PetscCall(MatGetRowSumAbs(A, d->out));)
DEFINE_OPERATION(Duplicate, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C));)
DEFINE_OPERATION(Copy, PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &d->C)); PetscCall(MatCopy(A, d->C, SAME_NONZERO_PATTERN));)
DEFINE_OPERATION(TransposeInPlace, PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));)
DEFINE_OPERATION(IsSymmetric, PetscBool is; PetscCall(MatIsTranspose(A, A, 0, &is)); d->norm = is;)
DEFINE_OPERATION(Scale, PetscCall(MatScale(A, 3));)
DEFINE_OPERATION(DiagonalScale, PetscCall(MatDiagonalScale(A, d->scale_left, d->scale_right));)
DEFINE_OPERATION(Shift, PetscCall(MatShift(A, 2));)
DEFINE_OPERATION(DiagonalSet, PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); PetscCall(MatDiagonalSet(A, d->left, ADD_VALUES));)
DEFINE_OPERATION(AXPYSame, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C)); PetscCall(MatAXPY(A, 2, d->C, SAME_NONZERO_PATTERN)); PetscCall(MatScale(d->C, 3));)
DEFINE_OPERATION(AXPYSubset, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &d->C)); PetscCall(MatAXPY(A, 2, d->C, SUBSET_NONZERO_PATTERN)); PetscCall(MatScale(d->C, 3));)
DEFINE_OPERATION(ConvertToAIJ, PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &d->C));)
DEFINE_OPERATION(ConvertFromAny, PetscCall(MatConvert(A, "seqaijdcsrcuda", MAT_INITIAL_MATRIX, &d->C)); PetscCall(MatMult(d->C, d->right, d->out));)
DEFINE_OPERATION(Defragment, PetscCall(MatDCSRCUDADefragment(A));)
DEFINE_OPERATION(IsValid, PetscBool valid; PetscCall(MatDCSRCUDAIsValid(A, &valid)); PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "not valid");)
DEFINE_OPERATION(GetRow, PetscCall(MatGetRow(A, 0, NULL, NULL, NULL)); PetscCall(MatRestoreRow(A, 0, NULL, NULL, NULL));)

/* Rows that have a diagonal entry in matrices of all kinds; a long one, and one given twice. */
static const PetscInt deleted_rows[] = {0, 7, 420, 7};

DEFINE_OPERATION(ZeroRows, PetscCall(MatZeroRows(A, 4, deleted_rows, 3, d->right, d->out));)
DEFINE_OPERATION(ZeroRowsKept, PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE)); PetscCall(MatZeroRows(A, 4, deleted_rows, 3, d->right, d->out));)
DEFINE_OPERATION(ZeroRowsColumns, PetscCall(MatZeroRowsColumns(A, 4, deleted_rows, 3, d->right, d->out));)
DEFINE_OPERATION(EliminateZeros, PetscCall(MatEliminateZeros(A, PETSC_TRUE));)

/* There and back, the latter as a transpose that is used again. */
static PetscErrorCode TransposeTwice(Mat A, Data *d)
{
  Mat            T    = NULL;
  PetscErrorCode ierr = MatTranspose(A, MAT_INITIAL_MATRIX, &T);

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)A)); // or the transpose would count as current
  if (ierr == PETSC_SUCCESS) ierr = MatTranspose(A, MAT_REUSE_MATRIX, &T);
  if (ierr == PETSC_SUCCESS) ierr = MatTranspose(T, MAT_INITIAL_MATRIX, &d->C);
  PetscCall(MatDestroy(&T));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns in descending order, by a permutation, and from there back by submatrices, one of them used again. */
static PetscErrorCode ReverseTwice(Mat A, Data *d)
{
  Mat            P = NULL;
  PetscInt       n, *indices;
  IS             is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscMalloc1(n, &indices));
  for (PetscInt k = 0; k < n; k++) indices[k] = n - 1 - k;
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, indices, PETSC_OWN_POINTER, &is));
  ierr = ISSetPermutation(is);
  if (ierr == PETSC_SUCCESS) ierr = MatPermute(A, is, is, &P);
  if (ierr == PETSC_SUCCESS) ierr = MatCreateSubMatrix(P, is, is, MAT_INITIAL_MATRIX, &d->C);
  if (ierr == PETSC_SUCCESS) ierr = MatCreateSubMatrix(P, is, is, MAT_REUSE_MATRIX, &d->C);
  PetscCall(MatDestroy(&P));
  PetscCall(ISDestroy(&is));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fragment(Mat A, PETSC_UNUSED Data *d)
{
  PetscErrorCode (*fragment)(Mat, PetscInt, PetscInt);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatDCSRCUDAFragment_C", &fragment));
  PetscCheck(fragment != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatDCSRCUDAFragment_C is not composed");
  PetscCall((*fragment)(A, 3, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char  *name;
  OperationFn *run;
  PetscBool    ours;     /* means nothing to MATAIJ */
  PetscBool    diagonal; /* needs all diagonal entries */
} Operation;

/* New entries and old ones; after an error the matrix is assembled, without any of them. */
static PetscErrorCode SetSomeValues(Mat A)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt k = 0; k < 200; k++) PetscCall(MatSetValue(A, 7 * (k % 40), (7 * (k % 40) + 31 * (k / 40)) % n, 1 + (PetscReal)k / 64, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(Mat A, PETSC_UNUSED Data *d)
{
  const PetscErrorCode ierr = SetSomeValues(A);

  PetscFunctionBegin;
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries and old ones, all zero, in a list in device memory. */
static PetscErrorCode AddSomeEntries(Mat A, PetscBool inserter)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  list.n = 0;
  for (PetscInt k = 0; k < 200; k++) Append(7 * (k % 40), (7 * (k % 40) + 31 * (k / 40)) % n, 0);
  if (inserter) PetscCall(InsertByInserter(A, ADD_VALUES));
  else PetscCall(InsertDeviceList(A, PETSC_FALSE, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddEntries(Mat A, PetscBool inserter)
{
  const PetscErrorCode ierr = AddSomeEntries(A, inserter);

  PetscFunctionBegin;
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with other entries is added; it is made by each of the types alike, and is no result. */
static PetscErrorCode AddOther(Mat A, PETSC_UNUSED Data *d)
{
  MatType        type;
  PetscInt       n;
  Mat            X;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2, NULL, &X));
  for (PetscInt i = 0; i < n; i += 2) PetscCall(MatSetValue(X, i, (i * 5 + 2) % n, 1 + (PetscReal)(i % 3), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, cleanup, MatConvert(X, type, MAT_INPLACE_MATRIX, &X));
  PetscCallGoto(ierr, cleanup, MatAXPY(A, -2, X, DIFFERENT_NONZERO_PATTERN));
cleanup:
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(ierr);
}

/* A new matrix, which becomes equal to A. */
static PetscErrorCode CreateLike(Mat A, Data *d)
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AssembleNew(Data *d)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(d->C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(d->C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_OPERATION(AddDeviceList, PetscCall(AddEntries(A, PETSC_FALSE));)
DEFINE_OPERATION(AddByInserter, PetscCall(AddEntries(A, PETSC_TRUE));)
DEFINE_OPERATION(NewByValues, PetscCall(CreateLike(A, d)); for (PetscInt k = 0; k < list.n; k++) PetscCall(MatSetValue(d->C, list.i[k], list.j[k], list.v[k], INSERT_VALUES)); PetscCall(AssembleNew(d));)
DEFINE_OPERATION(NewByDeviceList, PetscCall(CreateLike(A, d)); PetscCall(InsertDeviceList(d->C, PETSC_FALSE, INSERT_VALUES)); PetscCall(AssembleNew(d));)
DEFINE_OPERATION(NewByInserter, PetscCall(CreateLike(A, d)); PetscCall(InsertByInserter(d->C, ADD_VALUES)); PetscCall(AssembleNew(d));)
DEFINE_OPERATION(NewByCOO, PetscCall(CreateLike(A, d)); PetscCall(MatSetPreallocationCOO(d->C, list.n, list.i, list.j)); PetscCall(MatSetValuesCOO(d->C, list.v, INSERT_VALUES));)
DEFINE_OPERATION(NewByDeviceCOO, PetscCall(CreateLike(A, d)); PetscCall(InsertDeviceList(d->C, PETSC_TRUE, INSERT_VALUES));)

static const Operation operations[] = {
  {"MatMult", Mult, PETSC_FALSE, PETSC_FALSE},
  {"MatMult, split", MultSplit, PETSC_FALSE, PETSC_FALSE},
  {"MatMult, scan", MultScan, PETSC_FALSE, PETSC_FALSE},
  {"MatMult, vector", MultVector, PETSC_FALSE, PETSC_FALSE},
  {"MatMultAdd", MultAdd, PETSC_FALSE, PETSC_FALSE},
  {"MatMultTranspose", MultTranspose, PETSC_FALSE, PETSC_FALSE},
  {"MatMultTranspose, atomic", MultTransposeAtomic, PETSC_FALSE, PETSC_FALSE},
  {"MatMultTranspose, tile", MultTransposeTile, PETSC_FALSE, PETSC_FALSE},
  {"MatMultTranspose, deterministic", MultTransposeDeterministic, PETSC_FALSE, PETSC_FALSE},
  {"MatMultTransposeAdd, explicit", MultTransposeExplicit, PETSC_FALSE, PETSC_FALSE},
  {"MatNorm, 1", NormOne, PETSC_FALSE, PETSC_FALSE},
  {"MatNorm, Frobenius", NormFrobenius, PETSC_FALSE, PETSC_FALSE},
  {"MatNorm, infinity", NormInfinity, PETSC_FALSE, PETSC_FALSE},
  {"MatGetDiagonal", GetDiagonal, PETSC_FALSE, PETSC_FALSE},
  {"MatGetRowMaxAbs", GetRowMaxAbs, PETSC_FALSE, PETSC_FALSE},
  {"MatGetRowSumAbs", GetRowSumAbs, PETSC_FALSE, PETSC_FALSE},
  {"MatDuplicate", Duplicate, PETSC_FALSE, PETSC_FALSE},
  {"MatCopy", Copy, PETSC_FALSE, PETSC_FALSE},
  {"MatTranspose", TransposeTwice, PETSC_FALSE, PETSC_FALSE},
  {"MatTranspose, in place", TransposeInPlace, PETSC_FALSE, PETSC_FALSE},
  {"MatIsTranspose", IsSymmetric, PETSC_FALSE, PETSC_FALSE},
  {"MatPermute and MatCreateSubMatrix", ReverseTwice, PETSC_FALSE, PETSC_FALSE},
  {"MatScale", Scale, PETSC_FALSE, PETSC_FALSE},
  {"MatDiagonalScale", DiagonalScale, PETSC_FALSE, PETSC_FALSE},
  {"MatShift", Shift, PETSC_FALSE, PETSC_FALSE},
  {"MatDiagonalSet", DiagonalSet, PETSC_FALSE, PETSC_FALSE},
  {"MatAXPY, same pattern", AXPYSame, PETSC_FALSE, PETSC_FALSE},
  {"MatAXPY, subset", AXPYSubset, PETSC_FALSE, PETSC_FALSE},
  {"MatAXPY, other pattern", AddOther, PETSC_FALSE, PETSC_FALSE},
  {"MatZeroRows", ZeroRows, PETSC_FALSE, PETSC_FALSE},
  {"MatZeroRows, pattern kept", ZeroRowsKept, PETSC_FALSE, PETSC_FALSE},
  {"MatZeroRowsColumns", ZeroRowsColumns, PETSC_FALSE, PETSC_FALSE},
  {"MatEliminateZeros", EliminateZeros, PETSC_FALSE, PETSC_FALSE},
  {"MatSetValues", SetValues, PETSC_FALSE, PETSC_FALSE},
  {"MatSetValues into a new matrix", NewByValues, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDASetValuesDevice", AddDeviceList, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDASetValuesDevice into a new matrix", NewByDeviceList, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDARestoreInserter", AddByInserter, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDARestoreInserter into a new matrix", NewByInserter, PETSC_TRUE, PETSC_FALSE},
  {"MatSetValuesCOO", NewByCOO, PETSC_TRUE, PETSC_FALSE},
  {"MatSetValuesCOO, lists on the device", NewByDeviceCOO, PETSC_TRUE, PETSC_FALSE},
  {"MatConvert to MATAIJ", ConvertToAIJ, PETSC_FALSE, PETSC_FALSE},
  {"MatConvert to MATDCSRCUDA", ConvertFromAny, PETSC_FALSE, PETSC_FALSE},
  {"MatGetRow", GetRow, PETSC_FALSE, PETSC_FALSE},
  {"MatDCSRCUDADefragment", Defragment, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDAIsValid", IsValid, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDAFragment_C", Fragment, PETSC_TRUE, PETSC_FALSE},
};

/* The type comes after the entries, which therefore are on the host only. */
static PetscErrorCode Create(MatType type, Kind kind, State state, Mat *A)
{
  PetscReal norm;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, sizes[kind], sizes[kind], sizes[kind], sizes[kind]));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(Enter(*A, kind));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  if (state == FRESH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNorm(*A, NORM_FROBENIUS, &norm));
  if (state == ALONE) {
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &B));
    PetscCall(MatDestroy(A));
    *A = B;
  }
  if (state >= FRAGMENTED) PetscCall(Fragment(*A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes in use when all work queued so far is done. */
static PetscErrorCode MemoryInUse(size_t *now)
{
  size_t       peak;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAGetMemoryInUse(now, &peak));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the failure that was set to come with the n-th allocation is still to come; afterwards all succeed. */
static PetscErrorCode FailurePending(PetscInt n, PetscBool *pending)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *pending = PETSC_FALSE;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (PetscInt k = 0; k < n && !*pending; k++) {
    char *memory;

    if (PetscSparseCUDAMalloc(1, "a probe", stream, &memory) != PETSC_SUCCESS) *pending = PETSC_TRUE;
    PetscCall(PetscSparseCUDAFree(&memory, stream));
  }
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDATestFailAllocation(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -alone: the process whose allocations fail, while those of the others succeed; -1: all fail alike. */
static PetscMPIInt alone = -1;

/* With -alone all processes fail, or none, and that one knows whether there was anything to fail. Collective. */
static PetscErrorCode AgreeOnFailure(const char what[], PetscErrorCode error, PetscBool *done)
{
  int codes[2] = {(int)error, -(int)error};

  PetscFunctionBegin;
  if (alone < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(done, 1, MPI_C_BOOL, alone, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(codes[0] == -codes[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on process %d alone: error %d here, between %d and %d on all", what, (int)alone, (int)error, -codes[1], codes[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs an operation whose n-th allocation fails; *error is what it returned, *pending whether it made fewer. */
static PetscErrorCode RunFailing(OperationFn *run, PetscInt n, Mat A, Data *d, PetscErrorCode *error, PetscBool *pending)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (alone >= 0 && rank != alone) n = 0;
  PetscCall(PetscSparseCUDATestFailAllocation(n));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *error = (*run)(A, d);
  PetscCall(PetscPopErrorHandler());
  PetscCall(FailurePending(n, pending));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMatrix(Mat R, Mat A, const char what[])
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(MatDCSRCUDAIsValid(A, &valid));
  PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the storage is not valid", what);
  PetscCall(TestCompareProducts(R, A, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckResults(Mat R, Data *expected, Data *got, const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestCompareVec(expected->out, got->out, what));
  PetscCheck(PetscAbsReal(expected->norm - got->norm) <= 1e3 * PETSC_MACHINE_EPSILON * (1 + expected->norm), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %g should be %g", what, (double)got->norm, (double)expected->norm);
  if (got->C != NULL) PetscCall(TestCompareProducts(R, got->C, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation on one matrix with the n-th allocation failing; *done when the operation makes fewer. */
static PetscErrorCode TestSite(const Operation *op, Kind kind, State state, PetscInt n, PetscBool *done)
{
  char           what[256];
  size_t         before, after;
  PetscErrorCode error;
  Data           d, expected;
  Mat            A, R;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, %s, allocation %" PetscInt_FMT " fails", op->name, kind_names[kind], state_names[state], n));
  PetscCall(MemoryInUse(&before));
  PetscCall(Create(MATSEQAIJ, kind, FRESH, &R));
  PetscCall(Create("seqaijdcsrcuda", kind, state, &A));
  PetscCall(DataCreate(R, &d));
  PetscCall(DataCreate(R, &expected));
  PetscCall(RunFailing(op->run, n, A, &d, &error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  /* memory that is only welcome may be missing without an error */
  PetscCheck(error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  if (error != PETSC_SUCCESS) {
    PetscCall(CheckMatrix(R, A, what));
    PetscCall(DataDestroy(&d));
    PetscCall(DataCreate(R, &d));
    PetscCall((*op->run)(A, &d));
  }
  if (!op->ours) PetscCall((*op->run)(R, &expected));
  PetscCall(CheckMatrix(R, A, what));
  PetscCall(CheckResults(R, &expected, &d, what));
  PetscCall(DataDestroy(&d));
  PetscCall(DataDestroy(&expected));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What happens to a new matrix does not depend on the state of the one that it is to be like. */
static PetscBool MakesNewMatrix(const Operation *op)
{
  return (PetscBool)(op->run == NewByValues || op->run == NewByDeviceList || op->run == NewByInserter || op->run == NewByCOO || op->run == NewByDeviceCOO);
}

/* Every fourth operation, so that four tests may run side by side. */
static PetscErrorCode TestSequential(PetscInt part)
{
  PetscFunctionBegin;
  for (size_t k = (size_t)part; k < PETSC_STATIC_ARRAY_LENGTH(operations); k += 8)
    for (Kind kind = STENCIL; kind < NUM_KINDS; kind++)
      for (State state = FRESH; state < NUM_STATES; state++) {
        PetscBool done = PETSC_FALSE;

        if (operations[k].diagonal && kind == EMPTY_ROWS) continue;
        if (MakesNewMatrix(&operations[k]) && state != FRESH) continue;
        for (PetscInt n = 1; !done; n++) {
          PetscCheck(n < MAX_SITES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s allocates without end", operations[k].name);
          PetscCall(TestSite(&operations[k], kind, state, n, &done));
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes no entry, unless one block is scaled and the other is not. */
static PetscErrorCode ScaleThereAndBack(Mat A, PETSC_UNUSED Data *d)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries of both blocks, all zero, so that it does not matter how far an insertion comes; no communication: an option makes them join the matrix. */
static PetscErrorCode InsertLocal(Mat A, PetscBool device)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  list.n = 0;
  for (PetscInt k = 0; k < 60 && k < end - begin; k++) Append(begin + k, (begin + k * k + 3) % N, 0);
  if (device) PetscCall(InsertDeviceList(A, PETSC_FALSE, ADD_VALUES));
  else
    for (PetscInt k = 0; k < list.n; k++) PetscCall(MatSetValue(A, list.i[k], list.j[k], list.v[k], ADD_VALUES));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_OPERATION(InsertLocalValues, PetscCall(InsertLocal(A, PETSC_FALSE));)
DEFINE_OPERATION(InsertLocalDeviceList, PetscCall(InsertLocal(A, PETSC_TRUE));)

/* Operations on parallel matrices that do not communicate: a process that runs out does not leave the others waiting. */
static const Operation local_operations[] = {
  {"MatGetDiagonal", GetDiagonal, PETSC_FALSE, PETSC_TRUE},       {"MatScale", ScaleThereAndBack, PETSC_FALSE, PETSC_FALSE},    {"MatDCSRCUDAFragment_C", Fragment, PETSC_TRUE, PETSC_FALSE},
  {"MatDCSRCUDADefragment", Defragment, PETSC_TRUE, PETSC_FALSE}, {"MatSetValues", InsertLocalValues, PETSC_TRUE, PETSC_FALSE}, {"MatDCSRCUDASetValuesDevice", InsertLocalDeviceList, PETSC_TRUE, PETSC_FALSE},
};

/* What an insertion that failed, or did not communicate, still needs. */
static PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLocalSite(const Operation *op, PetscInt n, PetscBool *done)
{
  char           what[256];
  size_t         before, after;
  PetscErrorCode error;
  Data           d;
  Mat            A, R;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "parallel %s, allocation %" PetscInt_FMT " fails", op->name, n));
  PetscCall(MemoryInUse(&before));
  PetscCall(TestCreatePair("dcsrcuda", 300, 300, TEST_EVEN, 6, 1, &R, &A));
  if (op->run == Defragment) PetscCall(Fragment(A, NULL));
  PetscCall(PetscMemzero(&d, sizeof(d)));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &d.out));
  PetscCall(VecSetSizes(d.out, PETSC_DECIDE, 300));
  PetscCall(VecSetType(d.out, VECSTANDARD));
  PetscCall(RunFailing(op->run, n, A, &d, &error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  /* memory that is only welcome may be missing without an error */
  PetscCheck(error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  PetscCall(Assemble(A));
  PetscCall(CheckMatrix(R, A, what));
  PetscCall((*op->run)(A, &d));
  PetscCall(Assemble(A));
  PetscCall(CheckMatrix(R, A, what));
  PetscCall(VecDestroy(&d.out));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  // the comparison is collective: all go on until the last one is done
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, done, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a parallel matrix gets its entries. */
typedef enum {
  BY_VALUES,
  BY_DEVICE_LIST,
  BY_COO,
  NUM_WAYS
} Way;

static const char *const way_names[] = {"MatSetValues", "MatDCSRCUDASetValuesDevice", "MatSetValuesCOO"};

/* Insertion, and the setup that it implies, is not collective: with -alone all processes see here that it failed on one, as a program must that goes on after errors. Collective. */
static PetscErrorCode AgreeOnInsertion(PetscErrorCode *error)
{
  int code = (int)*error;

  PetscFunctionBegin;
  if (alone < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  *error = (PetscErrorCode)code;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  if (way == BY_DEVICE_LIST) PetscCall(InsertDeviceList(A, PETSC_FALSE, INSERT_VALUES));
  else
    for (PetscInt k = 0; k < list.n && way == BY_VALUES; k++) PetscCall(MatSetValue(A, list.i[k], list.j[k], list.v[k], INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On two processes both do the same: what fails here fails there, too, unless it is to fail on one alone. */
static PetscErrorCode InsertAlike(Mat A, Way way)
{
  PetscErrorCode ierr = InsertList(A, way);

  PetscFunctionBegin;
  PetscCall(AgreeOnInsertion(&ierr));
  PetscCall(ierr);
  if (way == BY_COO) {
    PetscCall(MatSetPreallocationCOO(A, list.n, list.i, list.j));
    PetscCall(MatSetValuesCOO(A, list.v, INSERT_VALUES));
  } else PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_OPERATION(InsertAlikeValues, PetscCall(InsertAlike(A, BY_VALUES));)
DEFINE_OPERATION(InsertAlikeDeviceList, PetscCall(InsertAlike(A, BY_DEVICE_LIST));)
DEFINE_OPERATION(InsertAlikeCOO, PetscCall(InsertAlike(A, BY_COO));)

static OperationFn *const ways[] = {InsertAlikeValues, InsertAlikeDeviceList, InsertAlikeCOO};

static PetscErrorCode CheckRowSums(Mat A, PetscReal sum, const char what[])
{
  PetscReal least, most;
  PetscBool valid;
  Vec       x, y;

  PetscFunctionBegin;
  PetscCall(MatDCSRCUDAIsValid(A, &valid));
  PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the storage is not valid", what);
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

/* After the n-th allocation has failed in both processes, or one, the same calls make the matrix. */
static PetscErrorCode TestWay(Way way, PetscInt n, PetscBool *done)
{
  char           what[256];
  size_t         before, after;
  PetscErrorCode error;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "parallel %s, collective, allocation %" PetscInt_FMT " fails", way_names[way], n));
  PetscCall(MemoryInUse(&before));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 300, 300));
  PetscCall(MatSetType(A, "dcsrcuda"));
  PetscCall(RunFailing(ways[way], n, A, NULL, &error, done));
  PetscCall(AgreeOnFailure(what, error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  PetscCheck(error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  if (error != PETSC_SUCCESS) PetscCall(InsertAlike(A, way));
  PetscCall(CheckRowSums(A, 5, what));
  PetscCall(MatDestroy(&A));
  PetscCall(MemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What makes a new parallel matrix of one. */
DEFINE_OPERATION(TransposeParallel, PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &d->C));)

static PetscErrorCode SubmatrixParallel(Mat A, Data *d)
{
  PetscInt       begin, end, column_begin, column_end;
  IS             rows, columns; // for NULL in place of columns PETSc makes a set that it loses when the operation fails
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &column_begin, &column_end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, end - 1, -1, &rows));
  PetscCall(ISToGeneral(rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, column_end - column_begin, column_begin, 1, &columns));
  ierr = MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &d->C);
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns change processes: the other half is fetched. */
static PetscErrorCode SubmatrixOfOthers(Mat A, Data *d)
{
  PetscInt       begin, end, N;
  IS             rows;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, N - 1 - begin, -1, &rows));
  ierr = MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &d->C);
  PetscCall(ISDestroy(&rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Used again: the result is as it was when an allocation fails. */
static PetscErrorCode SubmatrixOfOthersAgain(Mat A, Data *d)
{
  PetscInt       begin, end, N;
  IS             rows;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, N - 1 - begin, -1, &rows));
  if (d->C == NULL) ierr = MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &d->C);
  if (ierr == PETSC_SUCCESS) {
    ierr = MatCreateSubMatrix(A, rows, rows, MAT_REUSE_MATRIX, &d->C);
    if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(&d->C));
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows and columns on every process. */
static PetscErrorCode SubmatricesOfOthers(Mat A, Data *d)
{
  PetscInt       N;
  IS             rows;
  Mat           *submatrices = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, N - 1, -1, &rows)); /* descending: both processes sort, and allocate alike */
  ierr = MatCreateSubMatrices(A, 1, &rows, &rows, MAT_INITIAL_MATRIX, &submatrices);
  if (ierr == PETSC_SUCCESS) {
    ierr = MatCreateSubMatrices(A, 1, &rows, &rows, MAT_REUSE_MATRIX, &submatrices);
    if (ierr == PETSC_SUCCESS) {
      d->C = submatrices[0];
      PetscCall(PetscObjectReference((PetscObject)d->C));
    }
    PetscCall(MatDestroySubMatrices(1, &submatrices));
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What makes a new parallel matrix, or a sequential one of it. */
static const struct {
  OperationFn *run;
  const char  *name;
} new_matrices[] = {{TransposeParallel, "MatTranspose"},
                    {SubmatrixParallel, "MatCreateSubMatrix"},
                    {SubmatrixOfOthers, "MatCreateSubMatrix, rows of others"},
                    {SubmatrixOfOthersAgain, "MatCreateSubMatrix, rows of others, again"},
                    {SubmatricesOfOthers, "MatCreateSubMatrices"}};

/* The n-th allocation fails in both processes: the matrix is as it was, and there is no new one; then it can be made. */
static PetscErrorCode TestNewParallel(OperationFn *run, const char name[], PetscInt n, PetscBool *done)
{
  char           what[256];
  size_t         before, after;
  PetscErrorCode error;
  Data           d;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "parallel %s, collective, allocation %" PetscInt_FMT " fails", name, n));
  PetscCall(MemoryInUse(&before));
  PetscCall(PetscArrayzero(&d, 1));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 300, 300));
  PetscCall(MatSetType(A, "dcsrcuda"));
  PetscCall(InsertAlike(A, BY_VALUES));
  PetscCall(RunFailing(run, n, A, &d, &error, done));
  PetscCall(AgreeOnFailure(what, error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  PetscCheck(error == PETSC_SUCCESS || d.C == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there is a result", what);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, done, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD)); /* one process may allocate more than another */
  PetscCheck(error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  if (error != PETSC_SUCCESS) PetscCall((*run)(A, &d));
  PetscCall(CheckRowSums(A, 5, what));
  PetscCall(CheckRowSums(d.C, 5, what));
  PetscCall(MatDestroy(&d.C));
  PetscCall(MatDestroy(&A));
  PetscCall(MemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A second operand, whose rows and columns add up to 4; 300 rows on two processes. */
static PetscErrorCode CreateOperand(Mat *X)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, X));
  PetscCall(MatSetSizes(*X, PETSC_DECIDE, PETSC_DECIDE, 300, 300));
  PetscCall(MatSetType(*X, "dcsrcuda"));
  PetscCall(MatGetOwnershipRange(*X, &begin, &end));
  PetscCall(MatGetSize(*X, NULL, &N));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt next = begin + (row - begin + 1) % (end - begin);

    PetscCall(MatSetValue(*X, row, row, 1, INSERT_VALUES));
    PetscCall(MatSetValue(*X, row, next, 2, INSERT_VALUES));
    PetscCall(MatSetValue(*X, row, (next + N / 2) % N, 1, INSERT_VALUES));
  }
  PetscCall(Assemble(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode ProductFn(Mat, Mat, MatReuse, PetscReal, Mat *);

/* A product that fails leaves an unfinished matrix when it was to make one. */
static PetscErrorCode NewProduct(ProductFn *product, Mat A, Data *d)
{
  const PetscErrorCode ierr = (*product)(A, d->X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &d->C);

  PetscFunctionBegin;
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(&d->C));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_OPERATION(Sum, PetscCall(MatAXPY(A, 2, d->X, DIFFERENT_NONZERO_PATTERN));)
DEFINE_OPERATION(NewAB, PetscCall(NewProduct(MatMatMult, A, d));)
DEFINE_OPERATION(NewAtB, PetscCall(NewProduct(MatTransposeMatMult, A, d));)
DEFINE_OPERATION(NewPtAP, PetscCall(NewProduct(MatPtAP, A, d));)
DEFINE_OPERATION(AgainAB, PetscCall(MatMatMult(A, d->X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &d->C));)
DEFINE_OPERATION(AgainAtB, PetscCall(MatTransposeMatMult(A, d->X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &d->C));)
DEFINE_OPERATION(AgainPtAP, PetscCall(MatPtAP(A, d->X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &d->C));)

/* What happens to the operands between a product and its repetition. */
typedef enum {
  NOTHING,
  OTHER_VALUES, /* A becomes 2 A */
  OTHER_PATTERN /* X becomes X + A */
} Change;

/* Rows of all matrices add up to the same: A's before and after, X's, and the result's, where there is one, before and after. */
typedef struct {
  const char  *name;
  OperationFn *prepare, *run;
  Change       change;
  PetscReal    before, after, operand, old_result, new_result;
} OperandTest;

static const OperandTest operand_tests[] = {
  {"MatAXPY", NULL, Sum, NOTHING, 5, 13, 4, 0, 0},
  {"MatMatMult", NULL, NewAB, NOTHING, 5, 5, 4, 0, 20},
  {"MatTransposeMatMult", NULL, NewAtB, NOTHING, 5, 5, 4, 0, 20},
  {"MatPtAP", NULL, NewPtAP, NOTHING, 5, 5, 4, 0, 80},
  {"MatMatMult, other values", NewAB, AgainAB, OTHER_VALUES, 10, 10, 4, 20, 40},
  {"MatTransposeMatMult, other values", NewAtB, AgainAtB, OTHER_VALUES, 10, 10, 4, 20, 40},
  {"MatPtAP, other values", NewPtAP, AgainPtAP, OTHER_VALUES, 10, 10, 4, 80, 160},
  {"MatMatMult, other pattern", NewAB, AgainAB, OTHER_PATTERN, 5, 5, 9, 20, 45},
  {"MatTransposeMatMult, other pattern", NewAtB, AgainAtB, OTHER_PATTERN, 5, 5, 9, 20, 45},
  {"MatPtAP, other pattern", NewPtAP, AgainPtAP, OTHER_PATTERN, 5, 5, 9, 80, 405},
};

static PetscErrorCode CheckOperands(Mat A, PetscReal sum, const Data *d, PetscReal operand, PetscReal result, const char what[])
{
  PetscFunctionBegin;
  PetscCall(CheckRowSums(A, sum, what));
  PetscCall(CheckRowSums(d->X, operand, what));
  PetscCheck((d->C != NULL) == (result != 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there should be a result, or none", what);
  if (d->C != NULL) PetscCall(CheckRowSums(d->C, result, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The n-th allocation fails in both processes: operands and an old result are as they were; then it can be made. */
static PetscErrorCode TestOperands(const OperandTest *t, PetscInt n, PetscBool *done)
{
  char           what[256];
  size_t         before, after;
  PetscErrorCode error;
  Data           d;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "parallel %s, allocation %" PetscInt_FMT " fails", t->name, n));
  PetscCall(MemoryInUse(&before));
  PetscCall(PetscArrayzero(&d, 1));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 300, 300));
  PetscCall(MatSetType(A, "dcsrcuda"));
  PetscCall(InsertAlike(A, BY_VALUES));
  PetscCall(CreateOperand(&d.X));
  if (t->prepare != NULL) PetscCall((*t->prepare)(A, &d));
  if (t->change == OTHER_VALUES) PetscCall(MatScale(A, 2));
  if (t->change == OTHER_PATTERN) PetscCall(MatAXPY(d.X, 1, A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(RunFailing(t->run, n, A, &d, &error, done));
  PetscCall(AgreeOnFailure(what, error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  PetscCheck(error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  if (error != PETSC_SUCCESS) {
    PetscCall(CheckOperands(A, t->before, &d, t->operand, t->old_result, what));
    PetscCall((*t->run)(A, &d));
  }
  PetscCall(CheckOperands(A, t->after, &d, t->operand, t->new_result, what));
  PetscCall(MatDestroy(&d.C));
  PetscCall(MatDestroy(&d.X));
  PetscCall(MatDestroy(&A));
  PetscCall(MemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestParallel(PetscInt part)
{
  PetscFunctionBegin;
  for (size_t k = 0; part == 1 && k < PETSC_STATIC_ARRAY_LENGTH(new_matrices); k++) {
    PetscBool done = PETSC_FALSE;

    for (PetscInt n = 1; !done; n++) PetscCall(TestNewParallel(new_matrices[k].run, new_matrices[k].name, n, &done));
  }
  if (part == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operand_tests); k++) {
    PetscBool done = PETSC_FALSE;

    for (PetscInt n = 1; !done; n++) {
      PetscCheck(n < MAX_SITES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s allocates without end", operand_tests[k].name);
      PetscCall(TestOperands(&operand_tests[k], n, &done));
    }
  }
  for (Way way = BY_VALUES; way < NUM_WAYS; way++) {
    PetscBool done = PETSC_FALSE;

    for (PetscInt n = 1; !done; n++) PetscCall(TestWay(way, n, &done));
  }
  for (size_t k = 0; alone < 0 && k < PETSC_STATIC_ARRAY_LENGTH(local_operations); k++) {
    PetscBool done = PETSC_FALSE;

    for (PetscInt n = 1; !done; n++) PetscCall(TestLocalSite(&local_operations[k], n, &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscBool   usable;
  PetscInt    part = 0, who = -1;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (usable) {
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-part", &part, NULL));
    PetscCheck(part >= 0 && part < 8, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-part must be 0 to 7");
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-alone", &who, NULL));
    PetscCheck(who < size, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-alone must be one of %d processes", (int)size);
    alone = (PetscMPIInt)who;
    if (size == 1) PetscCall(TestSequential(part));
    else PetscCall(TestParallel(part));
  }
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
         suffix: part0
         args: -part 0
      test:
         suffix: part1
         args: -part 1
      test:
         suffix: part2
         args: -part 2
      test:
         suffix: part3
         args: -part 3
      test:
         suffix: part4
         args: -part 4
      test:
         suffix: part5
         args: -part 5
      test:
         suffix: part6
         args: -part 6
      test:
         suffix: part7
         args: -part 7
      test:
         suffix: parallel
         nsize: 2
         args: -part {{0 1}}
      test:
         suffix: alone
         nsize: 2
         args: -part {{0 1}} -alone {{0 1}}

TEST*/
