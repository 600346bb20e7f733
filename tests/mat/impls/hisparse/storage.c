static char help[] = "hisparsecuda with matrices that have diagonals, against MATAIJ: products, values, copies that share, new entries, and what storage there is.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"
#include "../../../../src/petsc/sys.h"
#include <petscsparsecuda/sys.h>
#include "../../../../src/petsc/sys.h"

static const char *type, *format; /* under test; -mat_hisparse_format, "auto" */
static PetscBool   small;         /* few kinds of matrices, one of which has its entries on the host after each operation */
static PetscBool   device;        /* the storage is in use */

/* What the matrices look like. */
typedef enum {
  STENCIL,   /* five points of a grid */
  UNKNOWNS,  /* the same with three unknowns a point */
  BAND,      /* diagonals near the main one, some rows without any entry, single entries far away */
  WIDE,      /* more columns than rows */
  TALL,      /* and the other way round */
  UNCOUPLED, /* diagonals, of which the outer ones reach into few rows */
  SCATTERED, /* random */
  BLOCKS,    /* full blocks of two unknowns */
  NUM_KINDS
} Kind;
static const char *const Kinds[] = {"stencil", "unknowns", "band", "wide", "tall", "uncoupled", "scattered", "blocks"};

/* Whether the matrix of a kind has an entry (i, j); n is its width. */
static PetscBool HasEntry(Kind kind, PetscInt i, PetscInt j, PetscInt n)
{
  const PetscInt p = i / 3, q = j / 3, r = i / 2, s = j / 2;

  switch (kind) {
  case STENCIL:
    return (PetscBool)(i == j || PetscAbsInt(i - j) == n || (PetscAbsInt(i - j) == 1 && i / n == j / n));
  case UNKNOWNS:
    return (PetscBool)((p == q || PetscAbsInt(p - q) == n || (PetscAbsInt(p - q) == 1 && p / n == q / n)) && (i + 2 * j) % 7 != 1);
  case BAND:
    return (PetscBool)(i % 17 != 5 && (PetscAbsInt(i - j) < 4 || (7 * i + 3) % 401 == j));
  case WIDE:
    return (PetscBool)(j - i == 3 || j - i == 150 || j - 2 * i == 5);
  case TALL:
    return (PetscBool)(i - j == 3 || i - j == 150 || i - 2 * j == 5);
  case UNCOUPLED:
    return (PetscBool)(i == j || PetscAbsInt(i - j) == 331);
  case BLOCKS:
    return (PetscBool)(r == s || PetscAbsInt(r - s) == n || (PetscAbsInt(r - s) == 1 && r / n == s / n));
  default:
    return (PetscBool)((i * 7919 + j * 104729 + (i * j) % 31) % 97 == 0);
  }
}

static void GetSizes(Kind kind, PetscInt *M, PetscInt *N, PetscInt *n)
{
  *n = kind == UNKNOWNS ? 9 : 19;
  *M = kind == TALL ? 700 : kind == WIDE ? 300 : kind == BLOCKS ? 408 : 400; // 408: each of three ranks has whole blocks
  *N = kind == WIDE ? 700 : kind == TALL ? 300 : kind == BLOCKS ? 408 : 400;
}

static PetscErrorCode Enter(Mat A, Kind kind, PetscInt seed)
{
  PetscInt begin, end, M, N, n;

  PetscFunctionBegin;
  GetSizes(kind, &M, &N, &n);
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if (HasEntry(kind, i, j, n))
        PetscCall(MatSetValue(A, i, j, i == j ? (PetscScalar)5 : PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4), INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePair(Kind kind, PetscInt seed, Mat *A, Mat *B)
{
  PetscInt M, N, n;

  PetscFunctionBegin;
  GetSizes(kind, &M, &N, &n);
  for (int k = 0; k < 2; k++) {
    Mat *C = k ? B : A;

    PetscCall(MatCreate(PETSC_COMM_WORLD, C));
    PetscCall(MatSetSizes(*C, PETSC_DECIDE, PETSC_DECIDE, M, N));
    PetscCall(MatSetType(*C, k ? type : MATAIJ));
    PetscCall(Enter(*C, kind, seed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z in all its forms. */
static PetscErrorCode CompareAdds(Mat A, Mat B, const char what[])
{
  Vec right[2][3], left[2][3]; /* of each matrix: x, z, y */

  PetscFunctionBegin;
  PetscCall(TestIsValid(B, what));
  for (int k = 0; k < 2; k++) {
    const Mat C = k ? B : A;

    PetscCall(MatCreateVecs(C, &right[k][0], &left[k][0]));
    for (int i = 1; i < 3; i++) {
      PetscCall(VecDuplicate(right[k][0], &right[k][i]));
      PetscCall(VecDuplicate(left[k][0], &left[k][i]));
    }
    for (int i = 0; i < 3; i++) {
      PetscCall(TestFill(right[k][i], i));
      PetscCall(TestFill(left[k][i], 3 + i));
    }
    PetscCall(MatMultAdd(C, right[k][0], left[k][1], left[k][2]));
    PetscCall(MatMultAdd(C, right[k][0], left[k][1], left[k][1]));
    PetscCall(MatMultTransposeAdd(C, left[k][0], right[k][1], right[k][2]));
    PetscCall(MatMultTransposeAdd(C, left[k][0], right[k][1], right[k][1]));
    PetscCall(MatMultHermitianTransposeAdd(C, left[k][0], right[k][1], right[k][1]));
    PetscCall(MatMultHermitianTranspose(C, left[k][2], right[k][0]));
  }
  for (int i = 0; i < 3; i++) {
    PetscCall(TestCompareVec(right[0][i], right[1][i], what));
    PetscCall(TestCompareVec(left[0][i], left[1][i], what));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&right[k][i]));
      PetscCall(VecDestroy(&left[k][i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms, diagonal, sums and largest entries of rows: what reads values. */
static PetscErrorCode CompareReductions(Mat A, Mat B, const char what[])
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      a, b;
  PetscInt       M, N;
  PetscMPIInt    size;
  Vec            x[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(MatNorm(A, types[k], &a));
    PetscCall(MatNorm(B, types[k], &b));
    PetscCheck(PetscAbsReal(a - b) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + a), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s is %g and should be %g", what, NormTypes[types[k]], (double)b,
               (double)a);
  }
  PetscCall(MatCreateVecs(A, NULL, &x[0]));
  PetscCall(MatCreateVecs(B, NULL, &x[1]));
  for (int operation = M == N || size == 1 ? 0 : 1; operation < 3; operation++) { /* MATMPIAIJ gives diagonals of square matrices alone */
    for (int k = 0; k < 2; k++) {
      const Mat C = k ? B : A;

      if (operation == 0) PetscCall(MatGetDiagonal(C, x[k]));
      else if (operation == 1) PetscCall(MatGetRowSumAbs(C, x[k]));
      else PetscCall(MatGetRowMaxAbs(C, x[k], NULL));
    }
    PetscCall(TestCompareVec(x[0], x[1], what));
  }
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The largest entries of rows with their columns, and again with rows of zeros; values are multiples of 1/8, many of them equal or equal but for their sign. Those of complex numbers may be rounded in
  another way.
*/
static PetscErrorCode CompareLargest(Mat A, Mat B, const char what[])
{
  PetscInt begin, end, *columns[2];
  Mat      C[2];
  Vec      x[2], left;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscMalloc2(end - begin, &columns[0], end - begin, &columns[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(k ? B : A, MAT_COPY_VALUES, &C[k]));
    PetscCall(MatCreateVecs(C[k], NULL, &x[k]));
  }
  for (int zeros = 0; zeros < 2; zeros++) {
    for (int k = 0; k < 2; k++) {
      if (zeros) {
        PetscCall(VecDuplicate(x[k], &left));
        for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(left, i, i % 5 == 2 ? 0.0 : -2.0, INSERT_VALUES));
        PetscCall(VecAssemblyBegin(left));
        PetscCall(VecAssemblyEnd(left));
        PetscCall(MatDiagonalScale(C[k], left, NULL));
        PetscCall(VecDestroy(&left));
      }
      PetscCall(MatGetRowMaxAbs(C[k], x[k], columns[k]));
    }
    PetscCall(TestCompareVec(x[0], x[1], what));
    for (PetscInt i = 0; i < end - begin; i++)
      PetscCheck(PetscDefined(USE_COMPLEX) || columns[0][i] == columns[1][i], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s: the largest entry of row %" PetscInt_FMT " is in column %" PetscInt_FMT " and should be in %" PetscInt_FMT, what, begin + i, columns[1][i], columns[0][i]);
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscCall(PetscFree2(columns[0], columns[1]));
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

/* X(what, call with the matrix C) for each operation that changes values; square ones come last. */
#define OPERATIONS(X) \
  X("MatScale", MatScale(C, 3)) \
  X("MatScale again", MatScale(C, -0.5)) \
  X("MatDiagonalScale", DiagonalScale(C, PETSC_TRUE, PETSC_TRUE)) \
  X("MatScale after MatDiagonalScale", MatScale(C, 4)) \
  X("MatDiagonalScale, left", DiagonalScale(C, PETSC_TRUE, PETSC_FALSE)) \
  X("MatDiagonalScale, right", DiagonalScale(C, PETSC_FALSE, PETSC_TRUE)) \
  X("values", Enter(C, kind, 5)) \
  X("MatScale by a complex number", MatScale(C, PetscCMPLX(0.5, 0.25))) \
  X("MatConjugate", MatConjugate(C)) \
  X("MatScale after MatConjugate", MatScale(C, 2)) \
  X("MatImaginaryPart", MatImaginaryPart(C)) \
  X("MatZeroEntries", MatZeroEntries(C)) \
  X("values after zeros", Enter(C, kind, 6)) \
  X("MatScale by zero", MatScale(C, 0)) \
  X("values after a scale by zero", Enter(C, kind, 7)) \
  X("MatRealPart", MatRealPart(C)) \
  X("MatShift", square ? MatShift(C, 0.5) : PETSC_SUCCESS) \
  X("MatDiagonalSet, add", square ? DiagonalSet(C, ADD_VALUES) : PETSC_SUCCESS) \
  X("MatScale after MatDiagonalSet", MatScale(C, 3)) \
  X("MatDiagonalSet, insert", square ? DiagonalSet(C, INSERT_VALUES) : PETSC_SUCCESS)

/* After each one products, then reductions, in turn with the entries on the host: CSR, storage and host copy give each other the values. */
static PetscErrorCode TestValues(Kind kind, PetscBool host)
{
  const PetscBool square = (PetscBool)(kind != WIDE && kind != TALL);
  Mat             A, B, C;

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 1, &A, &B));
  PetscCall(TestCompareProducts(A, B, Kinds[kind]));
  PetscCall(CompareAdds(A, B, Kinds[kind]));
  PetscCall(CompareReductions(A, B, Kinds[kind]));
  PetscCall(CompareLargest(A, B, Kinds[kind]));
#define APPLY(what, call) \
  C = A; \
  PetscCall(call); \
  C = B; \
  PetscCall(call); \
  PetscCall(TestCompareProducts(A, B, what)); \
  PetscCall(CompareAdds(A, B, what)); \
  PetscCall(CompareReductions(A, B, what)); \
  if (host) PetscCall(TestCompareRows(A, B, what));
  OPERATIONS(APPLY)
#undef APPLY
  PetscCall(TestCompare(A, B, Kinds[kind]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies share structure and values until one of the two changes. */
static PetscErrorCode TestCopies(Kind kind)
{
  Mat A, B, a[3], b[3];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 2, &A, &B));
  PetscCall(TestCompareProducts(A, B, Kinds[kind]));
  for (int k = 0; k < 3; k++) {
    const MatDuplicateOption option = k == 2 ? MAT_DO_NOT_COPY_VALUES : MAT_COPY_VALUES;

    PetscCall(MatDuplicate(A, option, &a[k]));
    PetscCall(MatDuplicate(B, option, &b[k]));
    PetscCall(TestCompareProducts(a[k], b[k], "MatDuplicate"));
  }
  PetscCall(MatScale(a[0], 2));
  PetscCall(MatScale(b[0], 2));
  PetscCall(DiagonalScale(a[1], PETSC_TRUE, PETSC_FALSE));
  PetscCall(DiagonalScale(b[1], PETSC_TRUE, PETSC_FALSE));
  PetscCall(Enter(a[2], kind, 3));
  PetscCall(Enter(b[2], kind, 3));
  PetscCall(TestCompareProducts(A, B, "the original after changes of its copies"));
  for (int k = 0; k < 3; k++) PetscCall(TestCompareProducts(a[k], b[k], "changed copies"));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(B));
  for (int k = 0; k < 3; k++) PetscCall(TestCompare(a[k], b[k], "copies after a change of the original"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  for (int k = 0; k < 3; k++) {
    PetscCall(DiagonalScale(a[k], PETSC_FALSE, PETSC_TRUE));
    PetscCall(DiagonalScale(b[k], PETSC_FALSE, PETSC_TRUE));
    PetscCall(TestCompare(a[k], b[k], "copies without their original"));
    PetscCall(MatDestroy(&a[k]));
    PetscCall(MatDestroy(&b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertNew(Mat A)
{
  PetscInt begin, end, M, N;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i += 3) PetscCall(MatSetValue(A, i, (i * 13 + 50) % N, 2.5, ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc 3.26's host code writes beyond the end of an array in MATMPIAIJ with other layouts, and into freed memory behind a diagonal entry that it enters into an empty row of a block: no diagonal
  entries there.
*/
static PetscErrorCode ZeroRows(Mat A, Kind kind)
{
  PetscInt    begin, end, rows[3];
  PetscMPIInt size;
  PetscBool   congruent;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatHasCongruentLayouts(A, &congruent));
  for (PetscInt k = 0; k < 3; k++) rows[k] = PetscMin(begin + 2 + 11 * k, end - 1);
  PetscCall(MatZeroRows(A, 3, rows, size == 1 || (congruent && kind != BAND && kind != SCATTERED) ? 1.5 : 0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(what, call with the matrix C) for each operation that changes the structure, or uses it. */
#define STRUCTURE_OPERATIONS(X) \
  X("new entries", InsertNew(C)) \
  X("MatScale after new entries", MatScale(C, 0.5)) \
  X("MatZeroRows", ZeroRows(C, kind)) \
  X("MatFilter", MatFilter(C, 0.3, PETSC_TRUE, PETSC_FALSE)) \
  X("MatConvert to dcsrcuda and back", k == 0 ? PETSC_SUCCESS : ConvertAndBack(&C, MATDCSRCUDA)) \
  X("MatConvert to MATAIJ and back", k == 0 ? PETSC_SUCCESS : ConvertAndBack(&C, MATAIJ)) \
  X("MatBindToCPU", k == 0 ? PETSC_SUCCESS : Bind(C)) \
  X("MatTranspose", MatTranspose(C, MAT_INPLACE_MATRIX, &C))

static PetscErrorCode ConvertAndBack(Mat *A, MatType other)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(*A, other, MAT_INPLACE_MATRIX, A));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bind(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatScale(A, 2));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(MatScale(A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStructure(Kind kind)
{
  Mat mats[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 4, &mats[0], &mats[1]));
  PetscCall(TestCompareProducts(mats[0], mats[1], Kinds[kind]));
#define APPLY(what, call) \
  for (int k = 0; k < 2; k++) { \
    Mat C = mats[k]; \
\
    PetscCall(call); \
    mats[k] = C; \
  } \
  PetscCall(TestCompareProducts(mats[0], mats[1], what)); \
  PetscCall(CompareReductions(mats[0], mats[1], what)); \
  PetscCall(TestHasType(mats[1], type, what));
  STRUCTURE_OPERATIONS(APPLY)
#undef APPLY
  PetscCall(TestCompare(mats[0], mats[1], Kinds[kind]));
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list of coordinates: its values come again and again, to a matrix that multiplies in between. */
static PetscErrorCode TestCOO(Kind kind)
{
  PetscInt     begin, end, M, N, n, count = 0, *i, *j;
  PetscScalar *v;
  Mat          mats[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 1, &mats[0], &mats[1]));
  GetSizes(kind, &M, &N, &n);
  PetscCall(MatGetOwnershipRange(mats[0], &begin, &end));
  PetscCall(PetscMalloc3((end - begin) * N, &i, (end - begin) * N, &j, (end - begin) * N, &v));
  for (PetscInt r = begin; r < end; r++)
    for (PetscInt c = 0; c < N; c++) {
      if (!HasEntry(kind, r, c, n)) continue;
      i[count]   = r;
      j[count++] = c;
    }
  for (int k = 0; k < 2; k++) PetscCall(TestPreallocateCOO(mats[k], count, i, j));
  for (PetscInt pass = 0; pass < 4; pass++) {
    for (PetscInt e = 0; e < count; e++) v[e] = (PetscReal)((e * 5 + pass * 3) % 13 - 6) / 3;
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetValuesCOO(mats[k], v, pass % 2 ? ADD_VALUES : INSERT_VALUES));
      PetscCall(MatScale(mats[k], 0.5));
    }
    PetscCall(TestCompareProducts(mats[0], mats[1], "MatSetValuesCOO"));
  }
  PetscCall(TestCompare(mats[0], mats[1], "MatSetValuesCOO"));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_view ::ascii_info says of a sequential matrix; to be freed. */
static PetscErrorCode GetView(Mat B, char **text)
{
  PetscFunctionBegin;
  PetscCall(TestGetInfo(B, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckView(Mat B, const char expected[])
{
  char *text = NULL, *found;

  PetscFunctionBegin;
  PetscCall(GetView(B, &text));
  PetscCall(PetscStrstr(text, expected, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" is not in: %s", expected, text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor, the diagonal, copies and transposes need no rows; a norm does, and rows stay then. */
static PetscErrorCode TestReleased(Mat A, Mat B)
{
  Vec   d[2];
  Mat   C[2];
  char *text, *found;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(k ? B : A, 0.5));
    PetscCall(MatCreateVecs(k ? B : A, NULL, &d[k]));
    PetscCall(MatGetDiagonal(k ? B : A, d[k]));
    PetscCall(MatTranspose(k ? B : A, MAT_INITIAL_MATRIX, &C[k]));
    PetscCall(MatAXPY(C[k], 2, C[k], SAME_NONZERO_PATTERN));
  }
  PetscCall(TestCompareVec(d[0], d[1], "the diagonal"));
  PetscCall(TestCompareProducts(C[0], C[1], "the transpose"));
  PetscCall(TestCompareProducts(A, B, "a factor"));
  PetscCall(CheckView(B, "dcsrcuda: released"));
  PetscCall(CheckView(C[1], "dcsrcuda: released"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&d[k]));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscCall(CompareReductions(A, B, "reductions"));
  PetscCall(TestCompareProducts(A, B, "after reductions"));
  PetscCall(GetView(B, &text));
  PetscCall(PetscStrstr(text, "dcsrcuda: released", &found));
  PetscCheck(found == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows that norms read are not there: %s", text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The format that was asked for is made, is smaller than rows, and goes when another one is asked for. */
static PetscErrorCode TestFormat(void)
{
  Mat        A, B, C, blocks[2];
  PetscInt   n;
  PetscCount bytes, bytes_csr;
  PetscBool  is_auto, is_csr, is_diagonals, is_block_diagonals;
  char       expected[64];

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(format, "auto", &is_auto));
  PetscCall(PetscStrcmp(format, "csr", &is_csr));
  PetscCall(PetscStrcmp(format, "diagonals", &is_diagonals));
  PetscCall(PetscStrcmp(format, "blockdiagonals", &is_block_diagonals));
  PetscCall(PetscSNPrintf(expected, sizeof(expected), "%s: %s", MATHISPARSECUDA, is_csr ? "does not pay" : format));
  PetscCall(CreatePair(is_block_diagonals ? BLOCKS : STENCIL, 1, &A, &B));
  PetscCall(TestBlocks(B, &n, blocks));
  PetscCall(CheckView(blocks[0], device ? "hisparsecuda: not made yet" : "hisparsecuda: no device copy"));
  PetscCall(TestCompareProducts(A, B, "before the view"));
  PetscCall(MatConvert(A, MATDCSRCUDA, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestCompareProducts(A, C, "dcsrcuda"));
  if (device && !is_auto) {
    PetscCall(CheckView(blocks[0], expected));
    if (is_block_diagonals) PetscCall(CheckView(blocks[0], " diagonal segments of 2 x 2 blocks, 0 entries outside of them"));
    PetscCall(MatDCSRCUDAGetMemoryUsed(B, &bytes));
    PetscCall(MatDCSRCUDAGetMemoryUsed(C, &bytes_csr));
    PetscCheck(!is_diagonals || n > 1 || bytes < bytes_csr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " bytes with %s, %" PetscCount_FMT " in CSR", bytes, format, bytes_csr);
    if (!is_csr) PetscCall(CheckView(blocks[0], "dcsrcuda: released"));
  }
  if (device && n == 1 && !is_auto && !is_csr) PetscCall(TestReleased(A, B));
  PetscCall(CompareReductions(A, B, "reductions of a format"));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_hisparse_format", "csr"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(MatSetFromOptions(B));
  PetscCall(TestCompareProducts(A, B, "-mat_hisparse_format csr"));
  if (device) PetscCall(CheckView(blocks[0], "hisparsecuda: does not pay"));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_hisparse_format", format));
  PetscCall(MatSetFromOptions(B));
  PetscCall(TestCompareProducts(A, B, "the format again"));
  if (device && !is_auto) PetscCall(CheckView(blocks[0], expected));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full blocks of three unknowns a point, whose neighbors are anywhere. */
static PetscErrorCode CreateUnstructured(MatType of_type, PetscInt points, Mat *A)
{
  PetscInt    begin, end;
  PetscScalar v[9];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 3 * points, 3 * points));
  PetscCall(MatSetBlockSize(*A, 3));
  PetscCall(MatSetType(*A, of_type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt p = begin / 3; p < end / 3; p++) {
    const PetscInt neighbors[] = {p, (7 * p + 3) % points, (13 * p + points / 2) % points, (31 * p + 11) % points};

    for (PetscInt k = 0; k < 4; k++) {
      for (PetscInt e = 0; e < 9; e++) v[e] = (PetscReal)((p * 5 + e * 3 + k) % 17 - 8) / 8;
      PetscCall(MatSetValuesBlocked(*A, 1, &p, 1, &neighbors[k], v, INSERT_VALUES));
    }
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No format is for such a matrix, be it so large that the rule samples it: products go by CSR with one column a block. */
static PetscErrorCode TestUnstructured(void)
{
  Mat       A, B, blocks[2];
  PetscInt  n;
  PetscBool is_auto;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(format, "auto", &is_auto));
  PetscCall(CreateUnstructured(MATAIJ, is_auto && !small ? 44000 : 500, &A));
  PetscCall(CreateUnstructured(type, is_auto && !small ? 44000 : 500, &B));
  PetscCall(TestCompareProducts(A, B, "blocks on an unstructured mesh"));
  PetscCall(TestBlocks(B, &n, blocks));
  if (device) PetscCall(CheckView(blocks[0], "hisparsecuda: does not pay"));
  if (device && n == 1) PetscCall(CheckView(blocks[0], "SpMV kernel blocks of 3 x 3"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Twice the values of a block by the pointer that somebody holds. */
static PetscErrorCode DoubleBorrowed(Mat block, PetscScalar *values, PetscMemType mtype)
{
  PetscScalar     *host;
  MatInfo          info;
  size_t           bytes;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(block, MAT_LOCAL, &info));
  bytes = (size_t)info.nz_used * sizeof(*values);
  PetscCall(PetscMalloc1((size_t)info.nz_used, &host));
  if (PetscMemTypeCUDA(mtype)) PetscCallCUDA(cudaMemcpy(host, values, bytes, cudaMemcpyDeviceToHost));
  else PetscCall(PetscMemcpy(host, values, bytes));
  for (size_t k = 0; k < (size_t)info.nz_used; k++) host[k] *= 2;
  if (PetscMemTypeCUDA(mtype)) PetscCallCUDA(cudaMemcpy(values, host, bytes, cudaMemcpyHostToDevice));
  else PetscCall(PetscMemcpy(values, host, bytes));
  PetscCall(PetscFree(host));
  PetscCall(PetscObjectStateGet((PetscObject)block, &state));
  PetscCall(PetscObjectStateSet((PetscObject)block, state + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whoever holds the arrays of CSR keeps them, and the storage is not used meanwhile, nor when the matrix has become one of another type in place; from: the type that it has first. */
static PetscErrorCode TestBorrowedValues(MatType from)
{
  Mat          A, B, blocks[2];
  PetscInt     n;
  PetscScalar *values[2];
  PetscMemType mtype[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(STENCIL, 1, &A, &B));
  PetscCall(MatConvert(B, from, MAT_INPLACE_MATRIX, &B));
  PetscCall(TestCompareProducts(A, B, "before values are borrowed"));
  PetscCall(TestBlocks(B, &n, blocks));
  for (PetscInt k = 0; k < n; k++) PetscCall(MatSeqAIJGetCSRAndMemType(blocks[k], NULL, NULL, &values[k], &mtype[k]));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(TestCompareProducts(A, B, "while values are borrowed"));
  PetscCall(MatConvert(B, MATDCSRCUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatConvert(B, MATHISPARSECUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(TestCompareProducts(A, B, "after the type has changed"));
  PetscCall(TestBlocks(B, &n, blocks));
  PetscCall(MatScale(A, 2));
  for (PetscInt k = 0; k < n; k++) PetscCall(DoubleBorrowed(blocks[k], values[k], mtype[k]));
  PetscCall(TestCompareProducts(A, B, "after somebody wrote values, when the type had changed"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  PetscFunctionBegin;
  for (Kind kind = STENCIL; kind < NUM_KINDS; kind++) {
    if (small && kind != WIDE && kind != SCATTERED && kind != BLOCKS) continue;
    if (!small || kind != SCATTERED) PetscCall(TestValues(kind, PETSC_FALSE));
    if (!small || kind == SCATTERED) PetscCall(TestValues(kind, PETSC_TRUE));
    PetscCall(TestCopies(kind));
    if (kind != WIDE && kind != TALL) PetscCall(TestStructure(kind));
    PetscCall(TestCOO(kind));
  }
  PetscCall(TestFormat());
  PetscCall(TestUnstructured());
  PetscCall(TestBorrowedValues(MATHISPARSECUDA));
  PetscCall(TestBorrowedValues(MATDCSRCUDA));
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
  PetscCall(PetscSparseCUDADeviceUsable(&device));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Run());
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
         args: -mat_hisparse_format {{auto diagonals blockdiagonals csr}}
      test:
         suffix: hidden
         nsize: {{1 2}}
         args: -mat_dcsr_test_hide_host -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager -mat_hisparse_format diagonals
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 300 -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: deterministic
         args: -mat_dcsr_deterministic -mat_hisparse_format diagonals
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_hisparse_format {{diagonals blockdiagonals}}

TEST*/
