static char help[] = "Products with rows that small batches have joined, the base and its overflow, compared with MATAIJ: short and long rows, rows that were empty, values that change in between.\n\
  -compact: products make the rows compact\n\n";

#include "testmat.h"
#include "../../../../src/mat/impls/aijcuda/state/state.h"
#include <petscksp.h>

typedef struct {
  const char *name;
  PetscInt    rows, columns, row_size;
  PetscInt    every;    /* rows that are not multiples of this one are empty */
  PetscInt    long_row; /* entries of row 7; 0: as the others */
} Shape;

static const Shape shapes[] = {{"short rows", 4000, 3000, 5, 1, 0},           {"rows of 40", 2000, 2000, 40, 1, 0},     {"a long row", 4000, 20000, 6, 1, 8000},
                               {"most rows are empty", 40000, 300, 9, 10, 0}, {"large batches", 20000, 20000, 8, 1, 0}, {"few long rows", 24, 30000, 0, 1, 3000}};

static uint64_t state = 1;

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

static PetscScalar RandomValue(void)
{
  return PetscDefined(USE_COMPLEX) ? PetscCMPLX((PetscReal)(1 + Random(16)) / 4, (PetscReal)Random(8) / 4) : (PetscScalar)(1 + Random(16)) / 4; // sums are exact in any order
}

static PetscErrorCode SetBoth(Mat X[2], PetscInt row, PetscInt column)
{
  const PetscScalar v = RandomValue();

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatSetValues(X[k], 1, &row, 1, &column, &v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AssembleBoth(Mat X[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(TestAssemble(X[k], MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBoth(MatType type, const Shape *shape, Mat X[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_SELF, &X[k]));
    PetscCall(MatSetSizes(X[k], shape->rows, shape->columns, shape->rows, shape->columns));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatSetFromOptions(X[k]));
    if (k == 0) PetscCall(MatSetType(X[k], MATAIJ));
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  for (PetscInt row = 0; row < shape->rows; row += shape->every) {
    const PetscInt n = shape->long_row && (row == 7 || shape->row_size == 0) ? shape->long_row : shape->row_size;

    for (PetscInt k = 0; k < n; k++) PetscCall(SetBoth(X, row, (PetscInt)(((PetscInt64)row * 7 + (PetscInt64)k * (shape->columns / n) + Random(3)) % shape->columns)));
  }
  PetscCall(AssembleBoth(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At most a 64th of the entries: anywhere, or a third of them in one row. */
static PetscErrorCode InsertSome(Mat X[2], const Shape *shape, PetscInt round)
{
  const PetscInt fixed = Random(shape->rows);
  MatInfo        info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(X[0], MAT_LOCAL, &info));
  for (PetscInt k = 0; k < (PetscInt)(info.nz_used / 64); k++) PetscCall(SetBoth(X, round % 2 && k % 3 == 0 ? fixed : Random(shape->rows), Random(shape->columns)));
  PetscCall(AssembleBoth(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z, and the same with y as z, and of the (Hermitian) transpose. */
static PetscErrorCode CompareSums(Mat X[2], const char what[])
{
  Vec x[2], y[2], sums[2];

  PetscFunctionBegin;
  for (int t = 0; t < 3; t++) {
    for (int in_place = 0; in_place < 2; in_place++) {
      for (int k = 0; k < 2; k++) {
        PetscCall(MatCreateVecs(X[k], t ? &y[k] : &x[k], t ? &x[k] : &y[k]));
        PetscCall(TestFill(x[k], 3));
        PetscCall(TestFill(y[k], 5));
        PetscCall(VecDuplicate(y[k], &sums[k]));
        PetscCall((*(t == 0 ? MatMultAdd : t == 1 ? MatMultTransposeAdd : MatMultHermitianTransposeAdd))(X[k], x[k], y[k], in_place ? y[k] : sums[k]));
      }
      PetscCall(TestCompareVec(in_place ? y[0] : sums[0], in_place ? y[1] : sums[1], what));
      for (int k = 0; k < 2; k++) {
        PetscCall(VecDestroy(&x[k]));
        PetscCall(VecDestroy(&y[k]));
        PetscCall(VecDestroy(&sums[k]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with an epilogue: steps of a smoother. */
static PetscErrorCode CompareSmoothers(Mat X[2], const char what[])
{
  PetscInt m, n;
  Vec      b[2], x[2];
  KSP      ksp;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X[0], &m, &n));
  if (m != n) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(X[k], &x[k], &b[k]));
    PetscCall(TestFill(b[k], 7));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, X[k], X[k]));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(ksp, (PetscReal)1 / 1024));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSolve(ksp, b[k], x[k]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(TestCompareVec(x[0], x[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&b[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fragmented: what the rows are to be */
static PetscErrorCode Compare(Mat X[2], PetscBool3 fragmented, const char what[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(TestCompareProducts(X[0], X[1], what));
  PetscCall(CompareSums(X, what));
  PetscCall(CompareSmoothers(X, what));
  PetscCall(TestUsesDevice(X[1], &device));
  if (device && fragmented != PETSC_BOOL3_UNKNOWN)
    PetscCheck((MatSeqAIJCUDAGet(X[1])->plans.overflow != NULL) == (fragmented == PETSC_BOOL3_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: rows are %s", what,
               fragmented == PETSC_BOOL3_TRUE ? "compact" : "fragmented");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same bits in every product. */
static PetscErrorCode CheckBits(Mat A, const char what[])
{
  Vec       x, y[2];
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(VecSetRandom(x, NULL));
  for (int k = 0; k < 2; k++) PetscCall(MatMult(A, x, y[k]));
  PetscCall(VecEqual(y[0], y[1], &equal));
  PetscCheck(equal, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: two products differ", what);
  PetscCall(VecDestroy(&x));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&y[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestShape(MatType type, const Shape *shape, PetscBool compact)
{
  const PetscBool3 expected = compact ? PETSC_BOOL3_UNKNOWN : PETSC_BOOL3_TRUE;
  char             what[128];
  Mat              X[2];

  PetscFunctionBegin;
  PetscCall(CreateBoth(type, shape, X));
  PetscCall(TestCompareProducts(X[0], X[1], shape->name));
  PetscCall(InsertSome(X, shape, 0)); // merged, with room for more
  for (PetscInt round = 1; round < 6; round++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, batch %" PetscInt_FMT, shape->name, round));
    PetscCall(InsertSome(X, shape, round));
    if (round == 3) continue; // two batches between products
    PetscCall(Compare(X, expected, what));
    PetscCall(CheckBits(X[1], what));
    for (int k = 0; k < 2; k++) PetscCall(MatScale(X[k], 2));
    PetscCall(Compare(X, expected, what));
    PetscCall(InsertSome(X, shape, round));
    PetscCall(Compare(X, expected, what));
  }
  if (compact) {
    for (PetscInt k = 0; k < 30; k++) PetscCall(TestCompareMult(X[0], X[1], what));
    PetscCall(Compare(X, PETSC_BOOL3_FALSE, what));
  }
  PetscCall(TestIsValid(X[1], shape->name));
  PetscCall(TestCompare(X[0], X[1], shape->name));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool compact = PETSC_FALSE;

  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compact", &compact, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) PetscCall(TestShape(type, &shapes[k], compact));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      timeoutfactor: 5
      output_file: output/empty.out
      test:
         suffix: 1
         args: -mat_dcsr_defragment never -mat_dcsr_spmv {{auto split}}
      test:
         suffix: compact
         args: -compact
      test:
         suffix: segments
         args: -mat_dcsr_defragment never -mat_dcsr_slack 1 -mat_dcsr_max_segments 2

TEST*/
