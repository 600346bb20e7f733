#include "oracle.h"

/* Products of matrices, relaxations, factorizations. Results may differ in explicit zeros. */

typedef enum {
  AB,
  ATB,
  PTAP,
  ABT,
  RART,
  AAB,
  NUM_PRODUCTS
} Product;

static PetscErrorCode Multiply(Product which, Mat A, Mat X, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  switch (which) {
  case AB:
    PetscCall(MatMatMult(A, X, reuse, PETSC_DETERMINE, C));
    break;
  case ATB:
    PetscCall(MatTransposeMatMult(A, X, reuse, PETSC_DETERMINE, C));
    break;
  case PTAP:
    PetscCall(MatPtAP(A, X, reuse, PETSC_DETERMINE, C));
    break;
  case ABT:
    PetscCall(MatMatTransposeMult(A, X, reuse, PETSC_DETERMINE, C));
    break;
  case RART:
    PetscCall(MatRARt(A, X, reuse, PETSC_DETERMINE, C));
    break;
  default:
    PetscCall(MatMatMatMult(A, A, X, reuse, PETSC_DETERMINE, C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other entries join the factor, and the products are computed again; MATAIJ's as a new one, since it does not notice. On the host ours does not either. */
static PetscErrorCode ReuseWithOtherPattern(Oracle o, Product which, Mat X, Mat Y, Mat *C, Mat *D, PetscReal scale)
{
  const PetscInt row = OracleShared(o, 1 << 20), column = OracleShared(o, 1 << 20);
  const Mat      both[2] = {X, Y};
  PetscBool      bound;
  char          *ours;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscInt M, N, begin, end;

    PetscCall(MatGetSize(both[k], &M, &N));
    PetscCall(MatGetOwnershipRange(both[k], &begin, &end));
    PetscCall(MatSetOption(both[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(both[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt e = 0; e < 5 && M > 0 && N > 0; e++) {
      const PetscInt i = (row + 7 * e) % M, j = (column + 3 * e) % N;

      if (i >= begin && i < end) PetscCall(MatSetValue(both[k], i, j, 0.5, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(both[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(both[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatDestroy(C));
  PetscCall(Multiply(which, o->A, X, MAT_INITIAL_MATRIX, C));
  PetscCall(MatBoundToCPU(o->B, &bound));
  PetscCall(PetscStrstr(o->type, "dcsr", &ours));
  if (bound || ours == NULL || (o->size > 1 && which > PTAP)) {
    PetscCall(MatDestroy(D));
    PetscCall(Multiply(which, o->B, Y, MAT_INITIAL_MATRIX, D));
  } else PetscCall(Multiply(which, o->B, Y, MAT_REUSE_MATRIX, D));
  PetscCall(OracleCompareAndDestroy(o, C, D, PETSC_FALSE, scale * 10));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with a random sparse matrix, then again with other values. */
static PetscErrorCode MatMat(Oracle o)
{
  const Product  kinds = o->size == 1 ? NUM_PRODUCTS : ABT;
  const Product  which = (Product)OracleShared(o, (PetscInt)kinds);
  const PetscInt width = 1 + OracleShared(o, 40);
  PetscReal      scale, norm;
  PetscLayout    rmap, cmap, other;
  Mat            X, Y, C, D;

  PetscFunctionBegin;
  if (o->large || ((which == PTAP || which == RART || which == AAB) && !o->square)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLayouts(o->A, &rmap, &cmap));
  PetscCall(PetscLayoutCreateFromSizes(o->comm, PETSC_DECIDE, width, 1, &other));
  if (which == AB || which == PTAP || which == AAB) PetscCall(OracleCreatePair(o, cmap, other, 3, &X, &Y));
  else if (which == ATB) PetscCall(OracleCreatePair(o, rmap, other, 3, &X, &Y));
  else PetscCall(OracleCreatePair(o, other, cmap, 3, &X, &Y));
  PetscCall(MatNorm(X, NORM_FROBENIUS, &norm));
  scale = (o->norm + 1) * (norm + 1) * (which == AAB ? o->norm + 1 : norm + 1);
  OracleBoth(Multiply(which, o->A, X, MAT_INITIAL_MATRIX, &C), Multiply(which, o->B, Y, MAT_INITIAL_MATRIX, &D));
  PetscCall(OracleCompareMult(o, C, D, scale));
  PetscCall(OracleCompareMat(o, C, D, PETSC_FALSE, scale));
  OracleBoth(MatScale(o->A, -1), MatScale(o->B, -1));
  OracleBoth(MatScale(X, 2), MatScale(Y, 2));
  OracleBoth(Multiply(which, o->A, X, MAT_REUSE_MATRIX, &C), Multiply(which, o->B, Y, MAT_REUSE_MATRIX, &D));
  PetscCall(OracleCompareMat(o, C, D, PETSC_FALSE, scale));
  PetscCall(ReuseWithOtherPattern(o, which, X, Y, &C, &D, scale));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(PetscLayoutDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDense(Oracle o)
{
  const PetscInt  width     = 1 + OracleShared(o, 5);
  const PetscBool transpose = OracleFlip(o, 2);
  PetscInt        m, M, begin, end;
  PetscScalar    *array;
  PetscReal       norm;
  MatType         type;
  Mat             X, C, D, E;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(transpose ? MatGetLocalSize(o->A, &m, NULL) : MatGetLocalSize(o->A, NULL, &m));
  PetscCall(transpose ? MatGetSize(o->A, &M, NULL) : MatGetSize(o->A, NULL, &M));
  PetscCall(transpose ? MatGetOwnershipRange(o->A, &begin, &end) : MatGetOwnershipRangeColumn(o->A, &begin, &end));
  PetscCall(MatCreateDense(o->comm, m, PETSC_DECIDE, M, width, NULL, &X));
  PetscCall(MatDenseGetArrayWrite(X, &array));
  for (PetscInt j = 0; j < width; j++)
    for (PetscInt i = 0; i < end - begin; i++) array[i + j * (end - begin)] = OracleReal(o->fill, (uint64_t)(begin + i), (uint64_t)j);
  PetscCall(MatDenseRestoreArrayWrite(X, &array));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  OracleBoth(Multiply(transpose ? ATB : AB, o->A, X, MAT_INITIAL_MATRIX, &C), Multiply(transpose ? ATB : AB, o->B, X, MAT_INITIAL_MATRIX, &D));
  OracleBoth(MatScale(o->A, 0.5), MatScale(o->B, 0.5));
  OracleBoth(Multiply(transpose ? ATB : AB, o->A, X, MAT_REUSE_MATRIX, &C), Multiply(transpose ? ATB : AB, o->B, X, MAT_REUSE_MATRIX, &D));
  PetscCall(MatGetType(C, &type));
  PetscCall(MatConvert(D, type, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatAXPY(E, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_INFINITY, &norm));
  PetscCall(OracleCompareReal(o, norm, 0, (o->norm + 1) * (PetscReal)width));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of both, made diagonally dominant. */
static PetscErrorCode Dominant(Oracle o, Mat X[2])
{
  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &X[0]), MatDuplicate(o->B, MAT_COPY_VALUES, &X[1]));
  OracleBoth(MatShift(X[0], 2 * o->norm + 1), MatShift(X[1], 2 * o->norm + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Relax(Oracle o)
{
  const MatSORType sweep = OracleFlip(o, 2) ? SOR_LOCAL_SYMMETRIC_SWEEP : SOR_LOCAL_FORWARD_SWEEP;
  const PetscBool  zero  = OracleFlip(o, 2);
  Vec              b[2], x[2];
  Mat              X[2];

  PetscFunctionBegin;
  PetscCall(Dominant(o, X));
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

/* Factors, solves, then again with other values. */
static PetscErrorCode Factor(Oracle o)
{
  const PetscBool     complete = OracleFlip(o, 2);
  const char *const   ordering = OracleFlip(o, 2) ? MATORDERINGNATURAL : complete ? MATORDERINGND : MATORDERINGRCM;
  const MatFactorType type     = complete ? MAT_FACTOR_LU : MAT_FACTOR_ILU;
  MatFactorInfo       info;
  IS                  rows, cols;
  Vec                 b[2], x[2];
  Mat                 X[2], F[2];

  PetscFunctionBegin;
  if (o->large) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Dominant(o, X));
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &b[0], &b[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &x[0], &x[1]));
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill          = 2;
  info.levels        = (PetscReal)OracleShared(o, 2);
  info.dtcol         = 0;
  info.zeropivot     = 0;
  info.pivotinblocks = 1;
  PetscCall(MatGetOrdering(X[0], ordering, &rows, &cols)); /* MATAIJ may order its inodes, which ours does not have, and ILU depends on the order */
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetFactor(X[k], MATSOLVERPETSC, type, &F[k]));
    for (int pass = 0; pass < 2; pass++) {
      if (pass) PetscCall(MatScale(X[k], 0.75));
      if (complete && pass == 0) PetscCall(MatLUFactorSymbolic(F[k], X[k], rows, cols, &info));
      else if (pass == 0) PetscCall(MatILUFactorSymbolic(F[k], X[k], rows, cols, &info));
      PetscCall(MatLUFactorNumeric(F[k], X[k], &info));
      PetscCall(MatSolve(F[k], b[k], x[k]));
    }
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(OracleCompareVec(o, x[0], x[1], 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&b[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(MatDestroy(&X[k]));
    PetscCall(MatDestroy(&F[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleProductOperations[] = {{"MatMatMult, TransposeMatMult, PtAP, ABt, RARt, MatMatMatMult", 6, MatMat, PETSC_FALSE, 0},
                                                   {"MatMatMult and TransposeMatMult with MATDENSE", 2, MatDense, PETSC_FALSE, 0},
                                                   {"MatSOR", 2, Relax, PETSC_TRUE, 0},
                                                   {"MatILUFactor and MatLUFactor", 2, Factor, PETSC_TRUE, 1},
                                                   {NULL, 0, NULL, PETSC_FALSE, 0}};
