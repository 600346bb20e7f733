#include "oracle.h"

/* Relaxations, factorizations and solves, on copies that are made diagonally dominant. */

/* Copies of both, made diagonally dominant; symmetric: with a transpose added. */
static PetscErrorCode Dominant(Oracle o, PetscBool symmetric, Mat X[2])
{
  Mat T;

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &X[0]), MatDuplicate(o->B, MAT_COPY_VALUES, &X[1]));
  for (int k = 0; symmetric && k < 2; k++) {
    PetscCall(MatTranspose(X[k], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(X[k], 1, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatScale(X[k], 0.5));
    PetscCall(MatDestroy(&T));
  }
  OracleBoth(MatShift(X[0], 2 * o->norm + 1), MatShift(X[1], 2 * o->norm + 1));
  for (int k = 0; symmetric && k < 2; k++) PetscCall(MatSetOption(X[k], MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Relax(Oracle o)
{
  const MatSORType sweep = OracleFlip(o, 2) ? SOR_LOCAL_SYMMETRIC_SWEEP : SOR_LOCAL_FORWARD_SWEEP;
  const PetscBool  zero  = OracleFlip(o, 2);
  Vec              b[2], x[2];
  Mat              X[2];

  PetscFunctionBegin;
  PetscCall(Dominant(o, PETSC_FALSE, X));
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &b[0], &b[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &x[0], &x[1]));
  for (int k = 0; k < 2; k++) PetscCall(MatSOR(X[k], b[k], 1.1, (MatSORType)(sweep | (zero ? SOR_ZERO_INITIAL_GUESS : 0)), 0, 2, 1, x[k]));
  PetscCall(OracleCompareVec(o, x[0], x[1], 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&b[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(MatDestroy(&X[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is factored, how and in which order of rows. */
typedef struct {
  MatFactorType type;
  MatFactorInfo info;
  IS            rows, columns;
} Factorization;

static PetscErrorCode FactorizationCreate(Oracle o, MatFactorType type, Mat X, Factorization *f)
{
  const PetscBool natural = OracleFlip(o, 2), complete = (PetscBool)(type == MAT_FACTOR_LU || type == MAT_FACTOR_CHOLESKY);

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&f->info));
  f->type               = type;
  f->info.fill          = 2;
  f->info.levels        = (PetscReal)OracleShared(o, 2);
  f->info.dtcol         = 0;
  f->info.zeropivot     = 0;
  f->info.pivotinblocks = 1;
  PetscCall(MatGetOrdering(X, natural || type == MAT_FACTOR_ICC ? MATORDERINGNATURAL : complete ? MATORDERINGND : MATORDERINGRCM, &f->rows, &f->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorizationDestroy(Factorization *f)
{
  PetscFunctionBegin;
  PetscCall(ISDestroy(&f->rows));
  PetscCall(ISDestroy(&f->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symbolic(const Factorization *f, Mat X, Mat *F)
{
  PetscFunctionBegin;
  PetscCall(MatGetFactor(X, MATSOLVERPETSC, f->type, F));
  if (f->type == MAT_FACTOR_LU) PetscCall(MatLUFactorSymbolic(*F, X, f->rows, f->columns, &f->info));
  else if (f->type == MAT_FACTOR_ILU) PetscCall(MatILUFactorSymbolic(*F, X, f->rows, f->columns, &f->info));
  else if (f->type == MAT_FACTOR_CHOLESKY) PetscCall(MatCholeskyFactorSymbolic(*F, X, f->rows, &f->info));
  else PetscCall(MatICCFactorSymbolic(*F, X, f->rows, &f->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Numeric(const Factorization *f, Mat X, Mat F)
{
  PetscFunctionBegin;
  if (f->type == MAT_FACTOR_LU || f->type == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(F, X, &f->info));
  else PetscCall(MatCholeskyFactorNumeric(F, X, &f->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with one right-hand side: forward, with the transpose, and with a vector that is added. */
static PetscErrorCode CompareSolves(Oracle o, const Mat F[2])
{
  const PetscInt which = OracleShared(o, 3);
  Vec            b[2], x[2], y[2];

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &b[0], &b[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &x[0], &x[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &y[0], &y[1]));
  for (int k = 0; k < 2; k++) {
    if (which == 0) PetscCall(MatSolve(F[k], b[k], x[k]));
    else if (which == 1) PetscCall(MatSolveTranspose(F[k], b[k], x[k]));
    else PetscCall(MatSolveAdd(F[k], b[k], y[k], x[k]));
  }
  PetscCall(OracleCompareVec(o, x[0], x[1], 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&b[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with several right-hand sides; transpose: of LU. */
static PetscErrorCode CompareMatSolves(Oracle o, const Mat F[2], PetscBool transpose)
{
  const PetscInt width = 1 + OracleShared(o, 6);
  PetscInt       m, M;
  Mat            B[2], X[2];

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(o->A, &m, NULL));
  PetscCall(MatGetSize(o->A, &M, NULL));
  PetscCall(OracleCreateDense(o, m, M, width, PETSC_TRUE, &B[0], &B[1]));
  PetscCall(OracleCreateDense(o, m, M, width, PETSC_TRUE, &X[0], &X[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(B[k], 2)); /* on the device: the host arrays are not the newest ones */
    if (transpose) PetscCall(MatMatSolveTranspose(F[k], B[k], X[k]));
    else PetscCall(MatMatSolve(F[k], B[k], X[k]));
  }
  PetscCall(OracleCompareDense(o, X[0], X[1], 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&B[k]));
    PetscCall(MatDestroy(&X[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors, solves, then again with other values. */
static PetscErrorCode Factor(Oracle o)
{
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_ILU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ICC};
  const PetscInt      which   = OracleShared(o, 4);
  const PetscBool     many    = OracleFlip(o, 2);
  Factorization       f;
  Mat                 X[2], F[2];

  PetscFunctionBegin;
  if (o->large) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Dominant(o, (PetscBool)(which >= 2), X));
  PetscCall(FactorizationCreate(o, types[which], X[0], &f)); /* MATAIJ may order its inodes, which ours does not have, and ILU depends on the order */
  for (int pass = 0; pass < 2; pass++) {
    for (int k = 0; k < 2; k++) {
      if (pass) PetscCall(MatScale(X[k], 0.75));
      else PetscCall(Symbolic(&f, X[k], &F[k]));
      PetscCall(Numeric(&f, X[k], F[k]));
    }
    PetscCall(CompareSolves(o, F));
    if (many) PetscCall(CompareMatSolves(o, F, (PetscBool)(types[which] == MAT_FACTOR_LU && OracleFlip(o, 2))));
  }
  PetscCall(FactorizationDestroy(&f));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&X[k]));
    PetscCall(MatDestroy(&F[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleSolveOperations[] = {{"MatSOR", 2, Relax, PETSC_TRUE, 0},
                                                 {"MatLU-, ILU-, Cholesky- and ICCFactor, MatSolve and MatMatSolve", 4, Factor, PETSC_TRUE, 1},
                                                 {NULL, 0, NULL, PETSC_FALSE, 0}};
