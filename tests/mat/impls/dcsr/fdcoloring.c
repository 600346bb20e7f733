static char help[] = "MatFDColoringSetValues() and MatFDColoringApply() write through addresses of host arrays, wherever the newest values are.\n\n";

#include "testmat.h"

#define NUM_COLORS 3

/* A tridiagonal matrix of values by seed. */
static PetscScalar Entry(PetscInt row, PetscInt column, PetscInt seed)
{
  return (PetscScalar)(1 + row % 7 + 10 * (column % 5) + 100 * seed);
}

static PetscErrorCode EnterTridiagonal(Mat A, PetscInt seed)
{
  PetscInt n, begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++)
    for (PetscInt column = PetscMax(row - 1, 0); column <= PetscMin(row + 1, n - 1); column++) PetscCall(MatSetValue(A, row, column, Entry(row, column, seed), INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateTridiagonal(MatType type, PetscInt n, PetscInt seed, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(EnterTridiagonal(*A, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column j has color j % 3; bcols colors are written together. */
static PetscErrorCode CreateColoring(Mat A, const char type[], PetscInt bcols, MatFDColoring *c)
{
  PetscInt         begin, end;
  ISColoringValue *values;
  ISColoring       colors;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRangeColumn(A, &begin, &end));
  PetscCall(PetscMalloc1(end - begin, &values));
  for (PetscInt j = begin; j < end; j++) values[j - begin] = (ISColoringValue)(j % NUM_COLORS);
  PetscCall(ISColoringCreate(PETSC_COMM_WORLD, NUM_COLORS, end - begin, values, PETSC_OWN_POINTER, &colors));
  PetscCall(ISColoringSetType(colors, IS_COLORING_GLOBAL));
  PetscCall(MatFDColoringCreate(A, colors, c));
  PetscCall(MatFDColoringSetType(*c, type));
  PetscCall(MatFDColoringSetBlockSize(*c, PETSC_DEFAULT, bcols));
  PetscCall(MatFDColoringSetUp(A, colors, *c));
  PetscCall(ISColoringDestroy(&colors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values by seed in compressed form, one column for each color. */
static PetscErrorCode SetValues(Mat A, MatFDColoring c, PetscInt seed)
{
  PetscInt       n, m, begin;
  PetscScalar   *y;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(PetscCalloc1(NUM_COLORS * m, &y));
  for (PetscInt i = 0; i < m; i++) {
    const PetscInt row = begin + i;

    for (PetscInt column = PetscMax(row - 1, 0); column <= PetscMin(row + 1, n - 1); column++) y[i + m * (column % NUM_COLORS)] = Entry(row, column, seed);
  }
  ierr = MatFDColoringSetValues(A, c, y);
  PetscCall(PetscFree(y));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSeed(Mat A, PetscInt seed, PetscScalar scale, const char what[])
{
  PetscInt n;
  Mat      reference;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(CreateTridiagonal(MATAIJ, n, seed, &reference));
  PetscCall(MatScale(reference, scale));
  PetscCall(TestCompare(reference, A, what));
  PetscCall(MatDestroy(&reference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The newest values are on the device, on both sides, and on the host, when new ones come. */
static PetscErrorCode TestSetValues(MatType type, PetscInt n, PetscInt bcols)
{
  Mat           A;
  Vec           x, y;
  MatFDColoring c, other;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(type, n, 0, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(CreateColoring(A, MATMFFD_WP, bcols, &c));
  PetscCall(MatScale(A, 2.0));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CompareSeed(A, 0, 2.0, "an assembly without new values"));
  PetscCall(MatScale(A, 2.0));
  PetscCall(SetValues(A, c, 1));
  PetscCall(CompareSeed(A, 1, 1.0, "MatFDColoringSetValues() after values on the device"));
  PetscCall(SetValues(A, c, 2));
  PetscCall(CompareSeed(A, 2, 1.0, "MatFDColoringSetValues() after values on both sides"));
  PetscCall(MatMult(A, x, y));
  PetscCall(SetValues(A, c, 3));
  PetscCall(SetValues(A, c, 4));
  PetscCall(CompareSeed(A, 4, 1.0, "MatFDColoringSetValues() twice"));
  PetscCall(CreateColoring(A, MATMFFD_WP, 1, &other));
  PetscCall(MatScale(A, 2.0));
  PetscCall(SetValues(A, other, 5));
  PetscCall(CompareSeed(A, 5, 1.0, "MatFDColoringSetValues() with the second of two colorings"));
  PetscCall(MatFDColoringDestroy(&other));
  PetscCall(EnterTridiagonal(A, 6));
  PetscCall(CompareSeed(A, 6, 1.0, "MatSetValues() of a matrix with a coloring"));
  PetscCall(SetValues(A, c, 7));
  PetscCall(CompareSeed(A, 7, 1.0, "MatFDColoringSetValues() when one of two colorings is gone"));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(SetValues(A, c, 8));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(CompareSeed(A, 8, 1.0, "MatFDColoringSetValues() of a matrix on the host"));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(SetValues(A, c, 9));
  PetscCall(CompareSeed(A, 9, 1.0, "MatFDColoringSetValues() after a conversion to MATAIJ"));
  PetscCall(MatFDColoringDestroy(&c));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(PETSC_UNUSED void *unused, Vec x, Vec y, void *A)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Jacobian of a linear function, which finite differences get but for roundoff; the coloring outlives the matrix. */
static PetscErrorCode TestApply(MatType type, PetscInt n, const char fdtype[], PetscInt bcols)
{
  Mat           A, B;
  Vec           x;
  MatFDColoring c;
  PetscReal     norms[2];

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(MATAIJ, n, 1, &B));
  PetscCall(CreateTridiagonal(type, n, 0, &A));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 1.0));
  PetscCall(CreateColoring(A, fdtype, bcols, &c));
  PetscCall(MatFDColoringSetFunction(c, (MatFDColoringFn *)Multiply, B));
  for (int k = 0; k < 2; k++) {
    Mat D;

    PetscCall(MatScale(A, 3.0));
    PetscCall(MatFDColoringApply(A, c, x, NULL));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatNorm(B, NORM_FROBENIUS, &norms[0]));
    PetscCall(MatAXPY(D, -1.0, B, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(D, NORM_FROBENIUS, &norms[1]));
    PetscCall(MatDestroy(&D));
    PetscCheck(norms[1] <= 100 * PETSC_SQRT_MACHINE_EPSILON * norms[0], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "MatFDColoringApply(), %s, blocks of %" PetscInt_FMT ": the norm of the error is %g of that of the matrix", fdtype, bcols, (double)(norms[1] / norms[0]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(MatFDColoringDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values for a pattern that the matrix does not have any more are an error on the device, where MATAIJ writes anywhere. */
static PetscErrorCode TestPattern(MatType type)
{
  Mat            A;
  MatFDColoring  c;
  PetscInt       begin;
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(type, 12, 0, &A));
  PetscCall(TestUsesDevice(A, &device));
  if (device) {
    PetscCall(CreateColoring(A, MATMFFD_WP, 1, &c));
    PetscCall(MatGetOwnershipRange(A, &begin, NULL));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, begin, begin + 2, 1.0, INSERT_VALUES));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = SetValues(A, c, 1);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatFDColoringSetValues() with another pattern gave error %d", (int)ierr);
    PetscCall(MatFDColoringDestroy(&c));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may be done to a matrix whose row has a diagonal entry alone, so that its pattern is what it was. */
typedef enum {
  REMOVE_NO_ROW,
  REMOVE_NOTHING,
  ELIMINATE_NOTHING,
  ZERO_ROWS_AND_COLUMNS,
  FILTER_NOTHING,
  PUT_BACK, /* what has gone; MATAIJ would write into arrays that are not there any more */
  NUM_HARMLESS
} Harmless;

static PetscErrorCode DoHarmless(Mat A, Harmless what, PetscInt row)
{
  PetscInt begin, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  n = end > begin;
  switch (what) {
  case REMOVE_NO_ROW:
    PetscCall(MatZeroRows(A, 0, NULL, 2.0, NULL, NULL));
    break;
  case REMOVE_NOTHING:
    PetscCall(MatZeroRows(A, n, &row, 2.0, NULL, NULL));
    break;
  case ELIMINATE_NOTHING:
    PetscCall(MatEliminateZeros(A, PETSC_FALSE));
    break;
  case ZERO_ROWS_AND_COLUMNS:
    PetscCall(MatZeroRowsColumns(A, n, &row, 2.0, NULL, NULL));
    break;
  case FILTER_NOTHING:
    PetscCall(MatFilter(A, 0.0, PETSC_FALSE, PETSC_FALSE)); // removing zeros it would make another object of the matrix
    break;
  default:
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    if (n > 0) PetscCall(MatSetValue(A, row, row, 0.0, INSERT_VALUES));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatEliminateZeros(A, PETSC_FALSE));
    if (n > 0) PetscCall(MatSetValue(A, row, row, 3.0, INSERT_VALUES));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coloring goes on with a matrix whose pattern is what it was, and the nonzerostate says so, too, where nothing has been removed. */
static PetscErrorCode TestSamePattern(MatType type, PetscInt n)
{
  Mat              A, reference;
  MatFDColoring    c;
  PetscInt         row, end;
  PetscBool        device;
  PetscObjectState states[2];

  PetscFunctionBegin;
  for (int what = 0; what < NUM_HARMLESS; what++) {
    PetscCall(CreateTridiagonal(type, n, 1, &A));
    PetscCall(TestUsesDevice(A, &device));
    PetscCall(MatGetOwnershipRange(A, &row, &end));
    PetscCall(MatZeroRows(A, end > row, &row, 1.0, NULL, NULL));
    PetscCall(CreateColoring(A, MATMFFD_WP, 1, &c));
    for (PetscInt seed = 2; seed < 5 && (what != PUT_BACK || device); seed++) {
      PetscCall(MatGetNonzeroState(A, &states[0]));
      PetscCall(DoHarmless(A, (Harmless)what, row));
      PetscCall(MatGetNonzeroState(A, &states[1]));
      PetscCheck(!device || (what == PUT_BACK ? states[1] > states[0] : states[1] == states[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "change %d of nothing: the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, what, (PetscInt64)states[0], (PetscInt64)states[1]);
      PetscCall(SetValues(A, c, seed));
      PetscCall(CreateTridiagonal(MATAIJ, n, seed, &reference));
      PetscCall(MatZeroRows(reference, end > row, &row, Entry(row, row, seed), NULL, NULL));
      PetscCall(TestCompare(reference, A, "MatFDColoringSetValues() after a change of nothing"));
      PetscCall(MatDestroy(&reference));
    }
    PetscCall(MatFDColoringDestroy(&c));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {1, 2, 17, 40};
  char          *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    PetscCall(TestSetValues(type, sizes[k], 1));
    PetscCall(TestSetValues(type, sizes[k], NUM_COLORS));
    for (PetscInt bcols = 1; bcols <= NUM_COLORS; bcols++) PetscCall(TestApply(type, sizes[k], MATMFFD_WP, bcols));
    PetscCall(TestApply(type, sizes[k], MATMFFD_DS, 2));
    PetscCall(TestSamePattern(type, sizes[k]));
  }
  PetscCall(TestPattern(type));
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
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
