#define _POSIX_C_SOURCE 200809L /* open_memstream() */
static char help[] = "Transposes of hisparsecuda, which share what is stored, against MATAIJ: all ways to make them, operations on them, and changes of one of the two.\n\n";

#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>

static const char *type, *format; /* under test; -mat_hisparse_format, "auto" */
static PetscBool   shares;        /* transposes are made of the storage alone */

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
      if (HasEntry(kind, transposed ? j : i, transposed ? i : j)) PetscCall(MatSetValue(A, i, j, PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4), INSERT_VALUES));
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
    PetscCheck(PetscAbsReal(a - b) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + a), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s is %g and should be %g", what, NormTypes[types[k]], (double)b, (double)a);
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
  char       *view = NULL, *found;
  size_t      length;
  FILE       *file = open_memstream(&view, &length);
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() failed");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(B, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(file);
  PetscCall(PetscStrstr(view, text, &found));
  PetscCheck((found != NULL) == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" is %sin: %s", text, expected ? "not " : "", view);
  free(view);
  PetscFunctionReturn(PETSC_SUCCESS);
}
