static char help[] = "Factorizations of our type by PETSc, by MATSOLVERBAS and by cuSPARSE give the solutions that MATAIJ's factors give, also after values and pattern changed.\n\n";

#include "testmat.h"

/* What is factored how; the reference is MATAIJ's factor by the first package. */
static const struct {
  MatSolverType reference, package;
  MatFactorType type;
  PetscInt      levels;
} cases[] = {
  {MATSOLVERPETSC, MATSOLVERPETSC, MAT_FACTOR_LU, 0},          {MATSOLVERPETSC, MATSOLVERPETSC, MAT_FACTOR_ILU, 0},    {MATSOLVERPETSC, MATSOLVERPETSC, MAT_FACTOR_ILU, 2},
  {MATSOLVERPETSC, MATSOLVERPETSC, MAT_FACTOR_CHOLESKY, 0},    {MATSOLVERPETSC, MATSOLVERPETSC, MAT_FACTOR_ICC, 0},    {MATSOLVERBAS, MATSOLVERBAS, MAT_FACTOR_ICC, 0},
  {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_LU, 0},       {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_ILU, 0}, {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_ILU, 2},
  {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_CHOLESKY, 0}, {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_ICC, 0}, {MATSOLVERPETSC, MATSOLVERCUSPARSE, MAT_FACTOR_ICC, 1},
};

/* A 5-point stencil on n x n points with varying weights, symmetric and positive definite. */
static PetscErrorCode Create(MatType type, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n * n, n * n, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  for (PetscInt i = 0; i < n * n; i++) {
    const PetscInt columns[] = {i, i % n > 0 ? i - 1 : -1, i % n < n - 1 ? i + 1 : -1, i - n, i + n < n * n ? i + n : -1};

    for (int k = 0; k < 5; k++)
      if (columns[k] >= 0) PetscCall(MatSetValue(*A, i, columns[k], k == 0 ? 4.5 : -1 + 0.001 * (PetscReal)((i + columns[k]) % 7), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries on both sides of the diagonal. */
static PetscErrorCode ChangePattern(Mat A, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i + n + 1 < n * n; i += 3) {
    PetscCall(MatSetValue(A, i, i + n + 1, 0.05, INSERT_VALUES));
    PetscCall(MatSetValue(A, i + n + 1, i, 0.05, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symbolic(Mat A, MatSolverType package, MatFactorType type, const MatFactorInfo *info, Mat *factor)
{
  Mat F;
  IS  rows, columns;

  PetscFunctionBegin;
  PetscCall(MatGetFactor(A, package, type, factor));
  F = *factor;
  PetscCall(MatGetOrdering(A, type == MAT_FACTOR_LU || type == MAT_FACTOR_CHOLESKY ? MATORDERINGND : MATORDERINGNATURAL, &rows, &columns));
  if (type == MAT_FACTOR_LU) PetscCall(MatLUFactorSymbolic(F, A, rows, columns, info));
  else if (type == MAT_FACTOR_ILU) PetscCall(MatILUFactorSymbolic(F, A, rows, columns, info));
  else if (type == MAT_FACTOR_CHOLESKY) PetscCall(MatCholeskyFactorSymbolic(F, A, rows, info));
  else PetscCall(MatICCFactorSymbolic(F, A, rows, info));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numeric phase, and a solution. */
static PetscErrorCode Solve(Mat F, Mat A, MatFactorType type, const MatFactorInfo *info, PetscBool transpose, Vec *x)
{
  Vec b;

  PetscFunctionBegin;
  if (type == MAT_FACTOR_LU || type == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(F, A, info));
  else PetscCall(MatCholeskyFactorNumeric(F, A, info));
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(TestFill(b, 3));
  if (transpose) PetscCall(MatSolveTranspose(F, b, *x));
  else PetscCall(MatSolve(F, b, *x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three right-hand sides at once, in a dense matrix of the type of A's vectors and with more room than rows; in place: the solutions replace them. */
static PetscErrorCode SolveMany(Mat F, Mat A, PetscBool transpose, PetscBool in_place, Mat *X)
{
  VecType      type;
  PetscInt     n;
  PetscScalar *values;
  Mat          B;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, type, n, 3, n, 3, n + 2, NULL, &B));
  PetscCall(MatDenseGetArrayWrite(B, &values));
  for (PetscInt j = 0; j < 3; j++)
    for (PetscInt i = 0; i < n; i++) values[i + j * (n + 2)] = 1.0 + (PetscReal)((i * (j + 1)) % 11);
  PetscCall(MatDenseRestoreArrayWrite(B, &values));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, X));
  PetscCall(MatScale(B, 2)); /* on the device: the host arrays are not the newest ones */
  PetscCall(MatScale(*X, 3));
  if (transpose) PetscCall(MatMatSolveTranspose(F, B, *X));
  else if (!in_place) PetscCall(MatMatSolve(F, B, *X));
  else {
    PetscCall(MatCopy(B, *X, SAME_NONZERO_PATTERN));
    PetscCall(MatMatSolve(F, *X, *X));
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After Solve(): the same solutions by both factors, on the device if that is where vectors are. */
static PetscErrorCode CompareMany(Mat F[], Mat A[], PetscBool transpose, PetscBool in_place, const char what[])
{
  Mat X[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(SolveMany(F[k], A[k], transpose, in_place, &X[k]));
  for (PetscInt j = 0; j < 3; j++) {
    Vec x[2];

    for (int k = 0; k < 2; k++) PetscCall(MatDenseGetColumnVecRead(X[k], j, &x[k]));
    PetscCall(TestCompareVec(x[0], x[1], what));
    for (int k = 0; k < 2; k++) PetscCall(MatDenseRestoreColumnVecRead(X[k], j, &x[k]));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* transposed: LU solves with the transpose too; many: several right-hand sides at once, too */
static PetscErrorCode Compare(Mat F[], Mat A[], MatFactorType type, const MatFactorInfo *info, PetscBool transposed, PetscBool many, const char what[])
{
  Vec x[2];

  PetscFunctionBegin;
  for (int transpose = 0; transpose < (type == MAT_FACTOR_LU && transposed ? 2 : 1); transpose++) {
    for (int k = 0; k < 2; k++) PetscCall(Solve(F[k], A[k], type, info, (PetscBool)transpose, &x[k]));
    PetscCall(TestCompareVec(x[0], x[1], what));
    for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
    if (many) PetscCall(CompareMany(F, A, (PetscBool)transpose, PETSC_FALSE, what));
    if (many && !transpose && type == MAT_FACTOR_LU) PetscCall(CompareMany(F, A, PETSC_FALSE, PETSC_TRUE, what));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a device cuSPARSE factors; on the host PETSc stands in for it. */
static PetscErrorCode CheckPackage(Mat F, MatSolverType package, PetscBool gpu)
{
  PetscBool     cusparse, same;
  MatSolverType used;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(package, MATSOLVERCUSPARSE, &cusparse));
  PetscCall(MatFactorGetSolverType(F, &used));
  PetscCall(PetscStrcmp(used, cusparse && !gpu ? MATSOLVERPETSC : package, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Factor by %s and not by %s", used, package);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A numeric phase alone does not do for another pattern, which cuSPARSE's copy notices. */
static PetscErrorCode Refuses(Mat F, Mat A, MatFactorType type, const MatFactorInfo *info)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (type == MAT_FACTOR_LU || type == MAT_FACTOR_ILU) ierr = MatLUFactorNumeric(F, A, info);
  else ierr = MatCholeskyFactorNumeric(F, A, info);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_INCOMP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d from a numeric factorization with another pattern", (int)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorCase(size_t c, MatType type, PetscBool gpu)
{
  const PetscInt n         = 9;
  const MatType  types[]   = {MATAIJ, type};
  MatSolverType  package[] = {cases[c].reference, cases[c].package};
  char           what[64];
  PetscBool      device;
  MatFactorInfo  info;
  Mat            A[2], F[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s by %s, %" PetscInt_FMT " levels", MatFactorTypes[cases[c].type], cases[c].package, cases[c].levels));
  PetscCall(PetscStrcmp(cases[c].package, MATSOLVERCUSPARSE, &device));
  device = (PetscBool)(device && gpu); /* cuSPARSE factors, and not PETSc for it */
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill   = 3;
  info.levels = (PetscReal)cases[c].levels;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(types[k], n, &A[k]));
    PetscCall(MatScale(A[k], 2)); /* on the device, before the first factorization */
    PetscCall(Symbolic(A[k], package[k], cases[c].type, &info, &F[k]));
  }
  PetscCall(CheckPackage(F[1], cases[c].package, gpu));
  PetscCall(Compare(F, A, cases[c].type, &info, PETSC_TRUE, (PetscBool)!device, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(A[k], 0.25));
    PetscCall(MatShift(A[k], 1));
  }
  PetscCall(Compare(F, A, cases[c].type, &info, (PetscBool)!device, (PetscBool)!device, what)); /* MatSolveTranspose() of PETSc 3.26 with cuSPARSE keeps the analysis of the first factors */
  PetscCall(MatBindToCPU(A[1], PETSC_TRUE));
  PetscCall(MatScale(A[0], 3));
  PetscCall(MatScale(A[1], 3));
  if (!device) PetscCall(Compare(F, A, cases[c].type, &info, PETSC_TRUE, (PetscBool)!device, what)); /* cuSPARSE's solves want vectors on the device */
  PetscCall(MatBindToCPU(A[1], PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(ChangePattern(A[k], n));
  if (device) PetscCall(Refuses(F[1], A[1], cases[c].type, &info));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&F[k]));
    PetscCall(Symbolic(A[k], package[k], cases[c].type, &info, &F[k]));
  }
  PetscCall(Compare(F, A, cases[c].type, &info, PETSC_TRUE, (PetscBool)!device, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&F[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) PetscCall(FactorCase(c, type, gpu));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: host_hidden
         args: -device_enable none -mat_dcsr_test_hide_host
      test:
         suffix: hisparse
         args: -device_enable none -mat_type hisparsecuda
      test:
         suffix: hisparse_gpu
         requires: cuda
         args: -gpu -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: gpu
         requires: cuda
         args: -gpu -mat_dcsr_test_hide_host {{0 1}}

TEST*/
