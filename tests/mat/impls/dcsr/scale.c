static char help[] = "MatScale() against MATAIJ: factors that are zero, extreme or not finite, entries that are not finite, empty rows, copies that share values.\n\n";

#include "testmat.h"

#define NUM_NODES 150
#define BS        3 /* blocks of so many rows, in diagonals: all formats can store them */

static const PetscReal tiny = PetscDefined(USE_REAL_SINGLE) ? 1e-25 : 1e-200, huge = PetscDefined(USE_REAL_SINGLE) ? 1e25 : 1e200;

/* Factors one after the other; the last one of a case is followed by 1. */
typedef struct {
  const char *name;
  PetscReal   size; /* of the entries */
  PetscReal   factors[4];
} Case;

/* Where an entry is not finite, in few rows. */
static PetscScalar GetValue(PetscInt i, PetscInt j, PetscReal size, PetscBool finite)
{
  if (!finite && i % 41 == 7) return j % 2 ? INFINITY : -INFINITY;
  if (!finite && i % 41 == 9 && j % 5 == 1) return NAN;
  return size * (1 + (PetscReal)((i * 13 + j * 7) % 17) / 8);
}

static PetscErrorCode Create(MatType type, PetscReal size, PetscBool finite, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, BS * NUM_NODES, BS * NUM_NODES));
  PetscCall(MatSetBlockSize(*A, BS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt node = 0; node < NUM_NODES; node++)
      if (i / BS % 10 != 4 && (PetscAbsInt(i / BS - node) <= 1 || PetscAbsInt(i / BS - node) == 20)) // the rows of some nodes are empty
        for (PetscInt k = 0; k < BS; k++) PetscCall(MatSetValue(*A, i, BS * node + k, GetValue(i, BS * node + k, size, finite), INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both NaN, the same infinity, or nearly the same number. What products of complex infinities are is a matter of compilers. */
static PetscBool AreAlike(PetscScalar a, PetscScalar b)
{
  if (PetscDefined(USE_COMPLEX) && (PetscIsInfOrNanScalar(a) || PetscIsInfOrNanScalar(b))) return (PetscBool)(PetscIsInfOrNanScalar(a) && PetscIsInfOrNanScalar(b));
  if (PetscIsNanScalar(a) || PetscIsNanScalar(b)) return (PetscBool)(PetscIsNanScalar(a) && PetscIsNanScalar(b));
  return (PetscBool)(a == b || PetscAbsScalar(a - b) <= 100 * PETSC_MACHINE_EPSILON * PetscAbsScalar(a));
}

static PetscErrorCode CompareRows(Mat A, Mat B, const char what[])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           n[2];
    const PetscInt    *columns[2];
    const PetscScalar *values[2];

    PetscCall(MatGetRow(A, i, &n[0], &columns[0], &values[0]));
    PetscCall(MatGetRow(B, i, &n[1], &columns[1], &values[1]));
    PetscCheck(n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " entries, not %" PetscInt_FMT, what, i, n[1], n[0]);
    for (PetscInt k = 0; k < n[0]; k++)
      PetscCheck(columns[0][k] == columns[1][k] && AreAlike(values[0][k], values[1][k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of row %" PetscInt_FMT " is %g, not %g", what, k,
                 i, (double)PetscRealPart(values[1][k]), (double)PetscRealPart(values[0][k]));
    PetscCall(MatRestoreRow(B, i, &n[1], &columns[1], &values[1]));
    PetscCall(MatRestoreRow(A, i, &n[0], &columns[0], &values[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(M) x with x = 1. */
static PetscErrorCode Multiply(Mat M, PetscBool transpose, Vec *y)
{
  Vec x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(M, &x, y));
  PetscCall(VecSet(x, 1));
  PetscCall(transpose ? MatMultTranspose(M, x, *y) : MatMult(M, x, *y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareProducts(Mat A, Mat B, const char what[])
{
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    PetscInt           n;
    Vec                y[2];
    const PetscScalar *a, *b;

    PetscCall(Multiply(A, (PetscBool)t, &y[0]));
    PetscCall(Multiply(B, (PetscBool)t, &y[1]));
    PetscCall(VecGetLocalSize(y[0], &n));
    PetscCall(VecGetArrayRead(y[0], &a));
    PetscCall(VecGetArrayRead(y[1], &b));
    for (PetscInt i = 0; i < n; i++)
      PetscCheck(AreAlike(a[i], b[i]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of a %sproduct is %g, not %g", what, i, t ? "transpose " : "", (double)PetscRealPart(b[i]),
                 (double)PetscRealPart(a[i]));
    PetscCall(VecRestoreArrayRead(y[1], &b));
    PetscCall(VecRestoreArrayRead(y[0], &a));
    for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same operation on both. Some BLAS keep NaN that are multiplied by zero: zeros are what counts. */
static PetscErrorCode Scale(Mat A, Mat B, PetscReal factor)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(TestUsesDevice(B, &device));
  if (factor == 0 && device) PetscCall(MatZeroEntries(A));
  else PetscCall(MatScale(A, factor));
  PetscCall(MatScale(B, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* products: the storage beside CSR is there before; shared: and a copy, which stays as it was. */
static PetscErrorCode TestCase(MatType type, const Case *c, PetscBool finite, PetscBool products, PetscBool shared)
{
  char what[128];
  Mat  A, B, copy[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, entries %s%s%s", c->name, finite ? "finite" : "not finite", products ? ", after products" : "", shared ? ", shared" : ""));
  PetscCall(Create(MATAIJ, c->size, finite, &A));
  PetscCall(Create(type, c->size, finite, &B));
  if (products) PetscCall(CompareProducts(A, B, what));
  if (shared) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy[0]));
  if (shared) PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &copy[1]));
  for (int k = 0; c->factors[k] != 1; k++) {
    PetscCall(Scale(A, B, c->factors[k]));
    PetscCall(CompareProducts(A, B, what));
  }
  PetscCall(CompareRows(A, B, what));
  PetscCall(TestIsValid(B, what));
  if (shared) PetscCall(CompareProducts(copy[0], copy[1], what));
  if (shared) PetscCall(CompareRows(copy[0], copy[1], what));
  PetscCall(MatShift(A, 1));
  PetscCall(MatShift(B, 1));
  PetscCall(CompareProducts(A, B, what));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&copy[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero that other operations come by: A - A, and 0 A + X. */
static PetscErrorCode TestSums(MatType type)
{
  Mat A, B, X[2];

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, PETSC_FALSE, &A));
  PetscCall(Create(type, 1, PETSC_FALSE, &B));
  PetscCall(Create(MATAIJ, 2, PETSC_TRUE, &X[0]));
  PetscCall(Create(type, 2, PETSC_TRUE, &X[1]));
  PetscCall(CompareProducts(A, B, "sums"));
  PetscCall(Scale(A, B, 0));
  PetscCall(MatAXPY(A, 1, X[0], SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(B, 1, X[1], SAME_NONZERO_PATTERN));
  PetscCall(CompareProducts(A, B, "0 A + X"));
  PetscCall(CompareRows(A, B, "0 A + X"));
  PetscCall(MatAXPY(A, -1, A, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(B, -1, B, SAME_NONZERO_PATTERN));
  PetscCall(CompareRows(A, B, "A - A"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case cases[] = {{"0", 1, {0, 1}},
                        {"2 and 0", 1, {2, 0, 1}},
                        {"0 and infinity", 1, {0, 3, 1}},
                        {"tiny twice", huge, {tiny, tiny, 1}},
                        {"huge twice", tiny, {huge, huge, 1}},
                        {"huge, tiny and -2", 1, {huge, tiny, -2, 1}},
                        {"infinity", 1, {INFINITY, 1}},
                        {"NaN", 1, {NAN, 1}}};
  char      *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    if (k > 5 && (PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE))) continue; // a matter of BLAS
    for (int finite = 0; finite < 2; finite++)
      for (int before = 0; before < 3; before++) PetscCall(TestCase(type, &cases[k], (PetscBool)finite, (PetscBool)(before > 0), (PetscBool)(before > 1)));
  }
  PetscCall(TestSums(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2}}
      output_file: output/empty.out
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: 1
         requires: cuda
      test:
         suffix: hisparse
         requires: cuda
         args: -mat_type hisparsecuda -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: auto
         requires: cuda
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: hidden
         requires: cuda
         args: -mat_dcsr_test_hide_host

TEST*/
