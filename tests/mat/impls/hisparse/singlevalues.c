#define _POSIX_C_SOURCE 200809L /* open_memstream() */
static char help[] = "hisparsecuda that stores values in single precision, against MATAIJ: products, values, copies, conversions, a preconditioning matrix, and who reads the option. On the host all digits stay.\n\n";

#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>
#include <petscksp.h>

#define PREFIX   "p_"
#define OPTION   "mat_hisparse_values"
#define SAYS     "values in single precision"
#define WIDTH    20 /* of a grid */
#define ROUNDING ((PetscReal)1e-6)
#define DIGITS   (1000 * PETSC_MACHINE_EPSILON) /* of what is not rounded to less than PetscScalar */

static PetscBool single;       /* values on the device are in less than PetscScalar */
static PetscInt  unknowns = 1; /* of a point: entries are in full blocks of this size */
static PetscInt  num_rows = WIDTH * WIDTH;

/* Five points, Hermitian and positive definite; values that single precision does not have. */
static PetscScalar Value(PetscInt i, PetscInt j, PetscInt seed)
{
  const PetscReal re = -(1 + (PetscReal)((i + j + seed) % 7) / 20) / (3 * (PetscReal)unknowns);

  if (i == j) return 2 + (PetscReal)(i % 5) / 30 + (PetscReal)(seed % 3) / 7;
  return PetscCMPLX(re, (i < j ? 1 : -1) / (30 * (PetscReal)unknowns));
}

static PetscErrorCode Enter(Mat A, PetscInt seed)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < 5; k++) {
      const PetscInt p = i / unknowns, q = p + (k == 0 ? -WIDTH : k == 4 ? WIDTH : k - 2); // points

      if (q < 0 || q >= num_rows / unknowns || ((k == 1 || k == 3) && p / WIDTH != q / WIDTH)) continue;
      for (PetscInt j = q * unknowns; j < (q + 1) * unknowns; j++) PetscCall(MatSetValue(A, i, j, Value(i, j, seed), INSERT_VALUES));
    }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, const char prefix[], PetscBool from_options, PetscInt seed, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, num_rows, num_rows));
  PetscCall(MatSetOptionsPrefix(*A, prefix));
  PetscCall(MatSetType(*A, type));
  if (from_options) PetscCall(MatSetFromOptions(*A));
  PetscCall(Enter(*A, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of two vectors, relative to the largest of the first; *error is the largest of all processes. */
static PetscErrorCode Difference(Vec x, Vec y, PetscReal *error)
{
  PetscReal          norm, mine = 0;
  PetscInt           n;
  const PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++) mine = PetscMax(mine, PetscIsInfOrNanScalar(b[i]) ? PETSC_MAX_REAL : PetscAbsScalar(a[i] - b[i]));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCallMPI(MPIU_Allreduce(&mine, error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (norm > 0) *error /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PetscReal error, PetscReal tolerance, const char what[], const char where[])
{
  PetscFunctionBegin;
  PetscCheck(error <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: relative error %g, more than %g", what, where, (double)error, (double)tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x and y = A^T x, *error of both. */
static PetscErrorCode ProductErrors(Mat A, Mat B, PetscReal errors[2])
{
  Vec x[2], y[2];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x[0], &y[0]));
  PetscCall(MatCreateVecs(B, &x[1], &y[1]));
  for (int transpose = 0; transpose < 2; transpose++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(TestFill(x[k], 5));
      PetscCall(transpose ? MatMultTranspose(k ? B : A, x[k], y[k]) : MatMult(k ? B : A, x[k], y[k]));
    }
    PetscCall(Difference(y[0], y[1], &errors[transpose]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetRowMaxAbs(Mat A, Vec v)
{
  PetscFunctionBegin;
  PetscCall(MatGetRowMaxAbs(A, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What gives a number for each row. */
static const struct {
  const char *name;
  PetscErrorCode (*get)(Mat, Vec);
} functions[] = {{"diagonal", MatGetDiagonal}, {"sums of rows", MatGetRowSumAbs}, {"largest in the rows", GetRowMaxAbs}};

/* Products, diagonal, norms, sums and largest entries of rows of B against those of A. */
static PetscErrorCode Compare(Mat A, Mat B, PetscReal tolerance, const char what[])
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      errors[2], norms[2];
  Vec            d[2];

  PetscFunctionBegin;
  PetscCall(ProductErrors(A, B, errors));
  PetscCall(Check(errors[0], tolerance, what, "A x"));
  PetscCall(Check(errors[1], tolerance, what, "A^T x"));
  for (int k = 0; k < 2; k++) PetscCall(MatCreateVecs(k ? B : A, NULL, &d[k]));
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(functions); f++) {
    for (int k = 0; k < 2; k++) PetscCall(functions[f].get(k ? B : A, d[k]));
    PetscCall(Difference(d[0], d[1], errors));
    PetscCall(Check(errors[0], tolerance, what, functions[f].name));
  }
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&d[k]));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int k = 0; k < 2; k++) PetscCall(MatNorm(k ? B : A, types[t], &norms[k]));
    PetscCall(Check(PetscAbsReal(norms[0] - norms[1]), tolerance * norms[0], what, NormTypes[types[t]]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry by entry, with the same columns. */
static PetscErrorCode CompareRows(Mat A, Mat B, PetscReal tolerance, const char what[])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           n[2];
    const PetscInt    *columns[2];
    const PetscScalar *values[2];

    for (int k = 0; k < 2; k++) PetscCall(MatGetRow(k ? B : A, i, &n[k], &columns[k], &values[k]));
    PetscCheck(n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " entries and should have %" PetscInt_FMT, what, i, n[1], n[0]);
    for (PetscInt e = 0; e < n[0]; e++) {
      PetscCheck(columns[0][e] == columns[1][e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has another column", what, i);
      PetscCall(Check(PetscAbsScalar(values[0][e] - values[1][e]), tolerance * PetscAbsScalar(values[0][e]), what, "an entry"));
    }
    for (int k = 0; k < 2; k++) PetscCall(MatRestoreRow(k ? B : A, i, &n[k], &columns[k], &values[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Tolerance(void)
{
  return single ? ROUNDING : DIGITS;
}

/* Whether -mat_view ::ascii_info of this process's diagonal block says that values are in single precision. */
static PetscErrorCode CheckView(Mat B, PetscBool expected, const char what[])
{
  size_t      length;
  char       *text = NULL, *found;
  FILE       *file = open_memstream(&text, &length);
  Mat         blocks[2];
  PetscInt    n;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() failed");
  PetscCall(TestBlocks(B, &n, blocks));
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(blocks[0], viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(file);
  PetscCall(PetscStrstr(text, SAYS, &found));
  PetscCheck((found != NULL) == (expected && single), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" is %s: %s", what, SAYS, found == NULL ? "missing in" : "in", text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some matrix has looked for an option that is there, also on the host; without its dash. */
static PetscErrorCode CheckRead(const char option[], PetscBool expected)
{
  PetscBool read;

  PetscFunctionBegin;
  PetscCall(PetscOptionsUsed(NULL, option, &read));
  PetscCheck(read == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "-%s was %sread", option, read ? "" : "not ");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat A)
{
  Vec l, r;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(TestFill(l, 1));
  PetscCall(TestFill(r, 2));
  PetscCall(MatDiagonalScale(A, l, r));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows, or rows and columns, of this process; the pattern stays. */
static PetscErrorCode ZeroRows(Mat A, PetscBool columns, PetscScalar diag)
{
  PetscInt begin, end, n = 0, *rows;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscMalloc1(end - begin, &rows));
  for (PetscInt i = begin; i < end; i++)
    if (i % 11 == (columns ? 3 : 5)) rows[n++] = i;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  if (columns) PetscCall(MatZeroRowsColumns(A, n, rows, diag, NULL, NULL));
  else PetscCall(MatZeroRows(A, n, rows, diag, NULL, NULL));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(what, call with the matrix C) */
#define OPERATIONS(X) \
  X("MatScale", MatScale(C, 1 / (PetscReal)3)) \
  X("MatDiagonalScale", DiagonalScale(C)) \
  X("new values", Enter(C, 2)) \
  X("MatScale by a complex number", MatScale(C, PetscCMPLX((PetscReal)0.3, (PetscReal)0.7))) \
  X("MatConjugate", MatConjugate(C)) \
  X("MatShift", MatShift(C, (PetscReal)0.7)) \
  X("MatZeroRows", ZeroRows(C, PETSC_FALSE, 1 / (PetscReal)3)) \
  X("MatZeroRowsColumns", ZeroRows(C, PETSC_TRUE, 2 / (PetscReal)3)) \
  X("MatRealPart", MatRealPart(C)) \
  X("MatZeroEntries", MatZeroEntries(C)) \
  X("values after zeros", Enter(C, 3))

/* Products after each operation; the rounding is there, so that the option does something. */
static PetscErrorCode TestOperations(void)
{
  Mat       A, B, C;
  PetscReal errors[2];

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, NULL, PETSC_FALSE, 1, &A));
  PetscCall(Create(MATHISPARSECUDA, PREFIX, PETSC_FALSE, 1, &B));
  PetscCall(CheckRead(PREFIX OPTION, PETSC_TRUE));
  PetscCall(Compare(A, B, Tolerance(), "new"));
  PetscCall(CheckView(B, PETSC_TRUE, "new"));
  PetscCall(ProductErrors(A, B, errors));
  for (int k = 0; k < 2; k++) PetscCheck(!single || errors[k] > 1e-11, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Values are not rounded: error %g", (double)errors[k]);
#define APPLY(what, call) \
  C = A; \
  PetscCall(call); \
  C = B; \
  PetscCall(call); \
  PetscCall(Compare(A, B, Tolerance(), what)); \
  PetscCall(CheckView(B, PETSC_TRUE, what));
  OPERATIONS(APPLY)
#undef APPLY
  PetscCall(CompareRows(A, B, Tolerance(), "rows"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies share values, and have the precision also when their storage is made again; MATAIJ gets what is stored. */
static PetscErrorCode TestCopies(void)
{
  Mat      A, B, a, b;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, NULL, PETSC_FALSE, 1, &A));
  PetscCall(Create(MATHISPARSECUDA, PREFIX, PETSC_TRUE, 1, &B));
  PetscCall(Compare(A, B, Tolerance(), "before a copy"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &a));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &b));
  PetscCall(Compare(a, b, Tolerance(), "MatDuplicate"));
  PetscCall(MatScale(a, 3));
  PetscCall(MatScale(b, 3));
  PetscCall(DiagonalScale(a));
  PetscCall(DiagonalScale(b));
  PetscCall(Compare(a, b, Tolerance(), "a copy that changed"));
  PetscCall(Compare(A, B, Tolerance(), "beside a copy that changed"));
  PetscCall(MatCopy(A, a, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(B, b, SAME_NONZERO_PATTERN));
  PetscCall(Compare(a, b, Tolerance(), "MatCopy"));
  for (int k = 0; k < 2; k++) {
    Mat C = k ? b : a;

    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(C, &begin, &end));
    for (PetscInt r = 0; r < unknowns; r++)
      for (PetscInt j = 0; j < unknowns; j++) PetscCall(MatSetValue(C, begin + r, PetscMin(begin + 7 * unknowns, end - unknowns) + j, 1 / (PetscReal)3, INSERT_VALUES));
    PetscCall(TestAssemble(C, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Compare(a, b, Tolerance(), "a copy with a new entry"));
  PetscCall(CheckView(b, PETSC_TRUE, "a copy with a new entry"));
  PetscCall(MatConvert(b, MATAIJ, MAT_INPLACE_MATRIX, &b));
  PetscCall(CompareRows(a, b, Tolerance(), "MatConvert"));
  PetscCall(MatScale(A, -1 / (PetscReal)3));
  PetscCall(MatScale(B, -1 / (PetscReal)3));
  PetscCall(MatDestroy(&b));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &b));
  PetscCall(CompareRows(A, b, Tolerance(), "MatConvert after MatScale"));
  PetscCall(Compare(A, b, Tolerance(), "MatConvert after MatScale"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option is the matrix's: not without its prefix, nor that of another one, and it changes what is there. */
static PetscErrorCode TestOption(void)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, NULL, PETSC_FALSE, 1, &A));
  PetscCall(Create(MATHISPARSECUDA, "q_", PETSC_TRUE, 1, &B));
  PetscCall(Compare(A, B, DIGITS, "another prefix"));
  PetscCall(CheckView(B, PETSC_FALSE, "another prefix"));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscOptionsSetValue(NULL, "-" OPTION, "single"));
  PetscCall(Create(MATHISPARSECUDA, "q_", PETSC_FALSE, 1, &B));
  PetscCall(CheckRead(OPTION, PETSC_FALSE));
  PetscCall(Compare(A, B, DIGITS, "the option without a prefix"));
  PetscCall(CheckView(B, PETSC_FALSE, "the option without a prefix"));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscOptionsClearValue(NULL, "-" OPTION));
  PetscCall(Create(MATHISPARSECUDA, PREFIX, PETSC_TRUE, 1, &B));
  PetscCall(Compare(A, B, Tolerance(), "the option"));
  PetscCall(CheckView(B, PETSC_TRUE, "the option"));
  PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX OPTION, "scalar"));
  PetscCall(MatSetFromOptions(B));
  PetscCall(Enter(B, 1));
  PetscCall(Compare(A, B, DIGITS, "another precision"));
  PetscCall(CheckView(B, PETSC_FALSE, "another precision"));
  PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX OPTION, "single"));
  PetscCall(MatSetFromOptions(B));
  PetscCall(Compare(A, B, Tolerance(), "the option again"));
  PetscCall(CheckView(B, PETSC_TRUE, "the option again"));
  PetscCall(MatDestroy(&B));
  /* a matrix that becomes one of the type */
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatSetOptionsPrefix(C, PREFIX));
  PetscCall(MatConvert(C, MATHISPARSECUDA, MAT_INPLACE_MATRIX, &C));
  PetscCall(Compare(A, C, Tolerance(), "MatConvert to the type"));
  PetscCall(CheckView(C, PETSC_TRUE, "MatConvert to the type"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG for A with a preconditioner of P: four steps of Chebyshev's iteration, or its diagonal. */
static PetscErrorCode Solve(Mat A, Mat P, PetscBool chebyshev, PetscInt *iterations)
{
  KSP                ksp, inner;
  PC                 pc, inner_pc;
  Vec                x, b;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestFill(b, 3));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9), PETSC_CURRENT, PETSC_CURRENT, 400));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, chebyshev ? PCKSP : PCJACOBI));
  if (chebyshev) {
    PetscCall(PCKSPGetKSP(pc, &inner));
    PetscCall(KSPSetType(inner, KSPCHEBYSHEV));
    PetscCall(KSPChebyshevSetEigenvalues(inner, (PetscReal)2.1, (PetscReal)0.2));
    PetscCall(KSPSetTolerances(inner, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 4));
    PetscCall(KSPSetNormType(inner, KSP_NORM_NONE));
    PetscCall(KSPGetPC(inner, &inner_pc));
    PetscCall(PCSetType(inner_pc, PCJACOBI));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "CG does not converge: %s", KSPConvergedReasons[reason]);
  PetscCall(KSPGetIterationNumber(ksp, iterations));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPreconditioner(void)
{
  Mat A, D, S; /* MATAIJ; the system's matrix with S as preconditioning matrix */

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, NULL, PETSC_FALSE, 1, &A));
  PetscCall(Create(MATDCSRCUDA, NULL, PETSC_FALSE, 1, &D));
  PetscCall(Create(MATHISPARSECUDA, PREFIX, PETSC_TRUE, 1, &S));
  for (int chebyshev = 0; chebyshev < 2; chebyshev++) {
    PetscInt expected, iterations;

    PetscCall(Solve(A, A, (PetscBool)chebyshev, &expected));
    PetscCall(Solve(D, S, (PetscBool)chebyshev, &iterations));
    PetscCheck(PetscAbsInt(iterations - expected) <= 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations with values in single precision, %" PetscInt_FMT " with MATAIJ", iterations, expected);
    if (chebyshev) PetscCall(CheckView(S, PETSC_TRUE, "after CG"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-unknowns", &unknowns, NULL));
  if (unknowns > 1) num_rows = 6 * unknowns * 2 * WIDTH; // whole points on up to three ranks
  PetscCall(PetscSparseCUDADeviceUsable(&single));
  single = (PetscBool)(single && !PetscDefined(USE_REAL_SINGLE));
  PetscCall(TestOperations());
  PetscCall(TestCopies());
  PetscCall(TestOption());
  PetscCall(TestPreconditioner());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      nsize: {{1 2 3}}
      args: -p_mat_hisparse_format diagonals -p_mat_hisparse_values single
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_mirror
      test:
         suffix: blocks
         args: -p_mat_hisparse_format {{blocks blockdiagonals}} -unknowns {{2 3}}
      test:
         suffix: gpu_aware
         requires: cuda
         args: -use_gpu_aware_mpi 0

TEST*/
