static char help[] = "Transposes of hisparsecuda, which share what is stored, against MATAIJ: all ways to make them, operations on them, and changes of one of the two.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>

static const char *type, *format; /* under test; -mat_hisparse_format, "auto" */
static PetscBool   small;         /* few kinds of matrices, each for some of the tests, and matrices that do not change are compared at the end alone */
static PetscBool   shares;        /* transposes are made of the storage alone */
static PetscMPIInt size;

/* What the matrices look like. */
typedef enum {
  STENCIL,   /* five points of a grid */
  BAND,      /* diagonals near the main one, some rows without any entry, single entries far away */
  WIDE,      /* more columns than rows */
  TALL,      /* and the other way round */
  SCATTERED, /* random */
  EMPTY,     /* no entries */
  NUM_KINDS
} Kind;
static const char *const Kinds[] = {"stencil", "band", "wide", "tall", "scattered", "empty"};

static PetscBool HasEntry(Kind kind, PetscInt i, PetscInt j)
{
  switch (kind) {
  case STENCIL:
    return (PetscBool)(i == j || PetscAbsInt(i - j) == 19 || (PetscAbsInt(i - j) == 1 && i / 19 == j / 19));
  case BAND:
    return (PetscBool)(i % 17 != 5 && (PetscAbsInt(i - j) < 4 || (7 * i + 3) % 401 == j));
  case WIDE:
    return (PetscBool)(j - i == 3 || j - i == 150 || j - i == 390 || j == i || j - 2 * i == 5);
  case TALL:
    return (PetscBool)(i - j == 3 || i - j == 150 || i - j == 390 || j == i || i - 2 * j == 5);
  case SCATTERED:
    return (PetscBool)((i * 7919 + j * 104729 + (i * j) % 31) % 97 == 0);
  default:
    return PETSC_FALSE;
  }
}

/* Values of all entries, of the matrix of a kind or of its transpose. */
static PetscErrorCode Enter(Mat A, Kind kind, PetscInt seed, PetscBool transposed)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if (HasEntry(kind, transposed ? j : i, transposed ? i : j))
        PetscCall(MatSetValue(A, i, j, PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4), INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mats[0] is MATAIJ's, mats[1] ours. */
static PetscErrorCode CreatePair(Kind kind, PetscInt seed, Mat mats[])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[k]));
    PetscCall(MatSetSizes(mats[k], PETSC_DECIDE, PETSC_DECIDE, kind == TALL ? 700 : kind == WIDE ? 300 : 400, kind == WIDE ? 700 : kind == TALL ? 300 : 400));
    PetscCall(MatSetType(mats[k], k ? type : MATAIJ));
    PetscCall(Enter(mats[k], kind, seed, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Mat mats[])
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(call with C, x, y, z) for each product; x and y of the sizes of a product with A, then of one with its transpose. */
#define PRODUCTS(X) \
  X(right, left, MatMult(C, x, y)) \
  X(right, left, MatMultAdd(C, x, z, y)) \
  X(right, left, MatMultAdd(C, x, y, y)) \
  X(left, right, MatMultTranspose(C, x, y)) \
  X(left, right, MatMultTransposeAdd(C, x, z, y)) \
  X(left, right, MatMultTransposeAdd(C, x, y, y)) \
  X(left, right, MatMultHermitianTranspose(C, x, y)) \
  X(left, right, MatMultHermitianTransposeAdd(C, x, z, y)) \
  X(left, right, MatMultHermitianTransposeAdd(C, x, y, y))

static PetscErrorCode CompareProducts(const Mat mats[], const char what[])
{
  PetscFunctionBegin;
#define COMPARE(from, to, call) \
  { \
    Vec results[2]; \
\
    for (int k = 0; k < 2; k++) { \
      const Mat C = mats[k]; \
      Vec       left, right, x, y, z; \
\
      PetscCall(MatCreateVecs(C, &right, &left)); \
      PetscCall(VecDuplicate(from, &x)); \
      PetscCall(VecDuplicate(to, &y)); \
      PetscCall(VecDuplicate(to, &z)); \
      PetscCall(TestFill(x, 1)); \
      PetscCall(TestFill(y, 2)); \
      PetscCall(TestFill(z, 3)); \
      PetscCall(call); \
      results[k] = y; \
      PetscCall(VecDestroy(&left)); \
      PetscCall(VecDestroy(&right)); \
      PetscCall(VecDestroy(&x)); \
      PetscCall(VecDestroy(&z)); \
    } \
    PetscCall(TestCompareVec(results[0], results[1], what)); \
    PetscCall(VecDestroy(&results[0])); \
    PetscCall(VecDestroy(&results[1])); \
  }
  PRODUCTS(COMPARE)
#undef COMPARE
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms, diagonal, sums and largest entries of rows. */
static PetscErrorCode CompareReductions(const Mat mats[], const char what[])
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      a, b;
  PetscInt       M, N;
  Vec            x[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(mats[0], &M, &N));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(MatNorm(mats[0], types[k], &a));
    PetscCall(MatNorm(mats[1], types[k], &b));
    PetscCheck(PetscAbsReal(a - b) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + a), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s is %g and should be %g", what, NormTypes[types[k]], (double)b,
               (double)a);
  }
  for (int k = 0; k < 2; k++) PetscCall(MatCreateVecs(mats[k], NULL, &x[k]));
  for (int operation = M == N ? 0 : 1; operation < 3; operation++) {
    for (int k = 0; k < 2; k++) {
      if (operation == 0) PetscCall(MatGetDiagonal(mats[k], x[k]));
      else if (operation == 1) PetscCall(MatGetRowSumAbs(mats[k], x[k]));
      else PetscCall(MatGetRowMaxAbs(mats[k], x[k], NULL));
    }
    PetscCall(TestCompareVec(x[0], x[1], what));
  }
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Mat mats[], const char what[])
{
  PetscFunctionBegin;
  PetscCall(CompareProducts(mats, what));
  PetscCall(CompareReductions(mats, what));
  PetscCall(TestHasType(mats[1], type, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_view ::ascii_info says has this in it, or has it not. */
static PetscErrorCode CheckView(Mat B, const char text[], PetscBool expected)
{
  char *view = NULL, *found;

  PetscFunctionBegin;
  PetscCall(TestGetInfo(B, &view));
  PetscCall(PetscStrstr(view, text, &found));
  PetscCheck((found != NULL) == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" is %sin: %s", text, expected ? "not " : "", view);
  free(view);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat A, PetscBool left, PetscBool right)
{
  Vec l, r;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(TestFill(l, 1));
  PetscCall(TestFill(r, 2));
  PetscCall(MatDiagonalScale(A, left ? l : NULL, right ? r : NULL));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalSet(Mat A, InsertMode mode)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(TestFill(d, 3));
  PetscCall(MatDiagonalSet(A, d, mode));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertNew(Mat A)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i += 3) PetscCall(MatSetValue(A, i, (i * 13 + 50) % N, 2.5, ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is replaced by a copy of it. */
static PetscErrorCode Replace(Mat *C, PetscBool zero_first)
{
  Mat copy;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*C, zero_first ? MAT_DO_NOT_COPY_VALUES : MAT_COPY_VALUES, &copy));
  if (zero_first) PetscCall(MatCopy(*C, copy, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(C));
  *C = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X with X a scaled copy. */
static PetscErrorCode AddCopy(Mat C, MatStructure str)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &X));
  PetscCall(MatScale(X, 0.5));
  PetscCall(MatAXPY(C, -3, X, str));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(what, call with the matrix C and its kind); entered: the values of Enter() for one that is transposed. */
#define CHANGES(X) \
  X("MatScale", MatScale(C, 3)) \
  X("MatDiagonalScale", DiagonalScale(C, PETSC_TRUE, PETSC_TRUE)) \
  X("MatDiagonalScale, left", DiagonalScale(C, PETSC_TRUE, PETSC_FALSE)) \
  X("MatDuplicate", Replace(&C, PETSC_FALSE)) \
  X("MatScale by a complex number", MatScale(C, PetscCMPLX(0.5, 0.25))) \
  X("MatDiagonalScale, right", DiagonalScale(C, PETSC_FALSE, PETSC_TRUE)) \
  X("MatConjugate", MatConjugate(C)) \
  X("MatCopy", Replace(&C, PETSC_TRUE)) \
  X("MatAXPY, same", AddCopy(C, SAME_NONZERO_PATTERN)) \
  X("MatAXPY, different", AddCopy(C, DIFFERENT_NONZERO_PATTERN)) \
  X("MatShift", square ? MatShift(C, 0.5) : PETSC_SUCCESS) \
  X("MatDiagonalSet, add", square ? DiagonalSet(C, ADD_VALUES) : PETSC_SUCCESS) \
  X("MatDiagonalSet, insert", square ? DiagonalSet(C, INSERT_VALUES) : PETSC_SUCCESS) \
  X("values", Enter(C, kind, 5, transposed)) \
  X("MatScale after values", MatScale(C, 0.25)) \
  X("new entries", InsertNew(C)) \
  X("MatRealPart", MatRealPart(C)) \
  X("MatZeroEntries", MatZeroEntries(C)) \
  X("values after zeros", Enter(C, kind, 6, transposed))

/* One of a matrix and its transpose changes, the other does not. Which: 0 the transpose, 1 the matrix, 2 a transpose of the transpose. */
static PetscErrorCode TestChanges(Kind kind, int which)
{
  const PetscBool square = (PetscBool)(kind != WIDE && kind != TALL), transposed = (PetscBool)(which == 0);
  Mat             mats[3][2], *changing;

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 1, mats[1]));
  PetscCall(TestCompareProducts(mats[1][0], mats[1][1], Kinds[kind]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(mats[1][k], MAT_INITIAL_MATRIX, &mats[0][k]));
    PetscCall(MatTranspose(mats[0][k], MAT_INITIAL_MATRIX, &mats[2][k]));
  }
  changing = mats[which];
#define APPLY(what, call) \
  for (int k = 0; k < 2; k++) { \
    Mat C = changing[k]; \
\
    PetscCall(call); \
    changing[k] = C; \
  } \
  PetscCall(Compare(changing, what)); \
  if (!small) PetscCall(CompareProducts(mats[(which + 1) % 3], "another one than that which changes")); \
  if (!small) PetscCall(CompareReductions(mats[(which + 2) % 3], "another one than that which changes"));
  CHANGES(APPLY)
#undef APPLY
  for (int i = 0; i < 3; i++) PetscCall(TestCompare(mats[i][0], mats[i][1], Kinds[kind]));
  for (int i = 0; i < 3; i++) PetscCall(DestroyPair(mats[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(what, call with the matrix C): changes after which a transpose is made again; in MATMPIAIJ its structure stays. */
#define RENEWALS(X) \
  X("again", PETSC_SUCCESS) \
  X("MatScale", MatScale(C, 3)) \
  X("MatDiagonalScale", DiagonalScale(C, PETSC_TRUE, PETSC_FALSE)) \
  X("values", Enter(C, kind, 3, PETSC_FALSE)) \
  X("MatZeroEntries", MatZeroEntries(C)) \
  X("values after zeros", Enter(C, kind, 4, PETSC_FALSE)) \
  X("new entries", size == 1 ? InsertNew(C) : PETSC_SUCCESS) \
  X("MatScale after new entries", MatScale(C, 0.5))

/* The ways to make a transpose. products: between changes, which make the storage current. */
static PetscErrorCode TestReuse(Kind kind, PetscBool products)
{
  Mat mats[2], transposes[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 2, mats));
  if (products) PetscCall(TestCompareProducts(mats[0], mats[1], Kinds[kind]));
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(mats[k], MAT_INITIAL_MATRIX, &transposes[k]));
  if (products && shares && kind == STENCIL) PetscCall(CheckView(transposes[1], ", transposed,", PETSC_TRUE));
  PetscCall(Compare(transposes, Kinds[kind]));
#define APPLY(what, call) \
  for (int k = 0; k < 2; k++) { \
    PETSC_UNUSED const Mat C = mats[k]; \
\
    PetscCall(call); \
  } \
  if (products) PetscCall(TestCompareProducts(mats[0], mats[1], what)); \
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(mats[k], MAT_REUSE_MATRIX, &transposes[k])); \
  PetscCall(Compare(transposes, what)); \
  if (!products) PetscCall(TestCompareRows(transposes[0], transposes[1], what));
  RENEWALS(APPLY)
#undef APPLY
  for (int pass = 0; pass < 3; pass++) {
    for (int k = 0; k < 2; k++) PetscCall(MatTranspose(mats[k], MAT_INPLACE_MATRIX, &mats[k]));
    PetscCall(Compare(mats, "in place"));
  }
  PetscCall(TestCompare(mats[0], mats[1], "in place"));
  PetscCall(TestCompare(transposes[0], transposes[1], "at the end"));
  PetscCall(DestroyPair(mats));
  PetscCall(DestroyPair(transposes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products and sums with the matrix, which outlives it or does not. */
static PetscErrorCode TestProducts(Kind kind)
{
  Mat mats[2], transposes[2], products[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 3, mats));
  PetscCall(TestCompareProducts(mats[0], mats[1], Kinds[kind]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(mats[k], MAT_INITIAL_MATRIX, &transposes[k]));
    PetscCall(MatMatMult(transposes[k], mats[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &products[k]));
  }
  PetscCall(TestCompare(products[0], products[1], "MatMatMult"));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(transposes[k], 2));
  PetscCall(TestCompareProducts(transposes[0], transposes[1], "before MatMatMult"));
  for (int k = 0; k < 2; k++) PetscCall(MatMatMult(transposes[k], mats[k], MAT_REUSE_MATRIX, PETSC_DETERMINE, &products[k]));
  PetscCall(TestCompare(products[0], products[1], "MatMatMult again"));
  if (kind != WIDE && kind != TALL) {
    for (int k = 0; k < 2; k++) PetscCall(MatAXPY(mats[k], 0.5, transposes[k], DIFFERENT_NONZERO_PATTERN));
    PetscCall(TestCompareProducts(mats[0], mats[1], "MatAXPY with the transpose"));
  }
  PetscCall(DestroyPair(mats));
  PetscCall(TestCompare(transposes[0], transposes[1], "without the matrix"));
  PetscCall(DestroyPair(products));
  PetscCall(DestroyPair(transposes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No rows, no columns, neither. */
static PetscErrorCode TestNothing(void)
{
  Mat A, T;
  Vec x, y;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, k == 0 ? 0 : 7, k == 1 ? 0 : k == 0 ? 5 : 7));
    PetscCall(MatSetType(A, type));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    for (int pass = 0; pass < 2; pass++) {
      PetscCall(MatCreateVecs(A, &x, &y));
      PetscCall(MatMult(A, x, y));
      PetscCall(MatMultTranspose(A, y, x));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
      PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
      PetscCall(MatDestroy(&A));
      A = T;
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static char kept[32] = "auto";
  char       *name;
  size_t      before, now, peak;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &name));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_hisparse_format", kept, sizeof(kept), NULL));
  type   = MATHISPARSECUDA;
  format = kept;
  PetscCall(PetscSparseCUDADeviceUsable(&shares));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  shares = (PetscBool)(shares && size == 1 && (format[0] == 'd' || format[0] == 'w'));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  for (Kind kind = STENCIL; kind < NUM_KINDS; kind++) {
    for (int which = 0; which < 3; which++)
      if (!small || kind == (which == 0 ? BAND : which == 1 ? TALL : EMPTY)) PetscCall(TestChanges(kind, which));
    if (!small || kind == BAND) PetscCall(TestReuse(kind, PETSC_TRUE));
    if (!small || kind == WIDE) PetscCall(TestReuse(kind, PETSC_FALSE));
    if (!small || kind == SCATTERED) PetscCall(TestProducts(kind));
  }
  PetscCall(TestNothing());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory in use, and %zu before", now, before);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3}}
         args: -mat_hisparse_format {{auto diagonals csr}}
      test:
         suffix: hidden
         nsize: {{1 2}}
         args: -mat_dcsr_test_hide_host -mat_hisparse_format diagonals
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager -mat_hisparse_format diagonals
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 300 -mat_hisparse_format diagonals

TEST*/
