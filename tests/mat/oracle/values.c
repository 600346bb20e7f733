#include "oracle.h"

/* Operations on values: products with vectors, scalings, norms, reductions over rows and columns. */

static PetscErrorCode Multiply(Oracle o)
{
  const PetscInt  which = OracleShared(o, 6);
  const PetscBool left = (PetscBool)(which >= 2), alias = (PetscBool)(which % 2 && OracleFlip(o, 2));
  Vec             x[2], y[2], z[2];

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, left, &x[0], &x[1]));
  PetscCall(OracleCreateVec(o, o->B, (PetscBool)!left, &y[0], &y[1]));
  PetscCall(OracleCreateVec(o, o->B, (PetscBool)!left, &z[0], &z[1]));
  for (int k = 0; k < 2; k++) {
    const Mat M = k ? o->B : o->A;
    const Vec w = alias ? z[k] : y[k];

    switch (which) {
    case 0:
      PetscCall(MatMult(M, x[k], y[k]));
      break;
    case 1:
      PetscCall(MatMultAdd(M, x[k], z[k], w));
      break;
    case 2:
      PetscCall(MatMultTranspose(M, x[k], y[k]));
      break;
    case 3:
      PetscCall(MatMultTransposeAdd(M, x[k], z[k], w));
      break;
    case 4:
      PetscCall(MatMultHermitianTranspose(M, x[k], y[k]));
      break;
    default:
      PetscCall(MatMultHermitianTransposeAdd(M, x[k], z[k], w));
    }
  }
  PetscCall(alias ? OracleCompareVec(o, z[0], z[1], o->norm) : OracleCompareVec(o, y[0], y[1], o->norm));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
    PetscCall(VecDestroy(&z[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal(Oracle o)
{
  Vec a, b;

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &a, &b));
  OracleBoth(MatGetDiagonal(o->A, a), MatGetDiagonal(o->B, b));
  PetscCall(OracleCompareVec(o, a, b, o->norm));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Oracle o)
{
  const PetscScalar factor = OracleFlip(o, 10) ? 0 : OracleReal(o->state, 1, 1) * 2;

  PetscFunctionBegin;
  OracleBoth(MatScale(o->A, factor), MatScale(o->B, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(Oracle o)
{
  const PetscScalar shift = OracleReal(o->state, 2, 1);

  PetscFunctionBegin;
  OracleBoth(MatShift(o->A, shift), MatShift(o->B, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalSet(Oracle o)
{
  const InsertMode mode = OracleFlip(o, 2) ? INSERT_VALUES : ADD_VALUES;
  Vec              a, b;

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &a, &b));
  OracleBoth(MatDiagonalSet(o->A, a, mode), MatDiagonalSet(o->B, b, mode));
  /* a parallel MATAIJ keeps the space of MatGetRow(), too small for rows with a new entry, until the next assembly */
  OracleBoth(MatAssemblyBegin(o->A, MAT_FINAL_ASSEMBLY), MatAssemblyBegin(o->B, MAT_FINAL_ASSEMBLY));
  OracleBoth(MatAssemblyEnd(o->A, MAT_FINAL_ASSEMBLY), MatAssemblyEnd(o->B, MAT_FINAL_ASSEMBLY));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Oracle o)
{
  const PetscInt which = OracleShared(o, 4);
  Vec            l[2], r[2];

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &l[0], &l[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &r[0], &r[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDiagonalScale(k ? o->B : o->A, which & 1 ? l[k] : NULL, which & 2 ? r[k] : NULL));
    PetscCall(VecDestroy(&l[k]));
    PetscCall(VecDestroy(&r[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros, then other values at the same positions, row by row. */
static PetscErrorCode ZeroAndRefill(Oracle o)
{
  PetscInt        begin, end, count;
  const PetscInt *cols;
  PetscInt       *copy;
  PetscScalar    *vals;
  Mat             pattern; /* A itself is not assembled in between */

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatDuplicate(o->A, MAT_DO_NOT_COPY_VALUES, &pattern));
  OracleBoth(MatZeroEntries(o->A), MatZeroEntries(o->B));
  PetscCall(OracleCompareMult(o, o->A, o->B, 0));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatGetRow(pattern, i, &count, &cols, NULL));
    PetscCall(PetscMalloc2(count, &copy, count, &vals));
    for (PetscInt k = 0; k < count; k++) {
      copy[k] = cols[k];
      vals[k] = OracleReal(o->fill, (uint64_t)i, (uint64_t)cols[k]);
    }
    PetscCall(MatRestoreRow(pattern, i, &count, &cols, NULL));
    OracleBoth(MatSetValues(o->A, 1, &i, count, copy, vals, ADD_VALUES), MatSetValues(o->B, 1, &i, count, copy, vals, ADD_VALUES));
    PetscCall(PetscFree2(copy, vals));
  }
  OracleBoth(MatAssemblyBegin(o->A, MAT_FINAL_ASSEMBLY), MatAssemblyBegin(o->B, MAT_FINAL_ASSEMBLY));
  OracleBoth(MatAssemblyEnd(o->A, MAT_FINAL_ASSEMBLY), MatAssemblyEnd(o->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Norm(Oracle o)
{
  const NormType    types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  const char *const names[] = {"MatNorm, one", "MatNorm, Frobenius", "MatNorm, infinity"};
  const int         k       = (int)OracleShared(o, 3);
  const NormType    type    = types[k];
  PetscReal         a, b;

  PetscFunctionBegin;
  o->operation = names[k];
  OracleBoth(MatNorm(o->A, type, &a), MatNorm(o->B, type, &b));
  PetscCall(OracleCompareReal(o, a, b, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*RowFn)(Mat, Vec, PetscInt[]);

/* Largest and smallest of rows; where the positions differ, the values there must be equal within the tolerance. */
static PetscErrorCode RowExtremes(Oracle o)
{
  static const RowFn functions[] = {MatGetRowMaxAbs, MatGetRowMaxAbs, MatGetRowMax, MatGetRowMin, MatGetRowMinAbs};
  const RowFn        function    = functions[OracleShared(o, 5)];
  const PetscBool    positions   = (PetscBool)!OracleFlip(o, 3);
  PetscInt           n, N, begin, *ia, *ib;
  Vec                a, b;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, NULL, &N));
  if (N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &a, &b));
  PetscCall(MatGetLocalSize(o->A, &n, NULL));
  PetscCall(MatGetOwnershipRange(o->A, &begin, NULL));
  PetscCall(PetscCalloc2(n, &ia, n, &ib));
  OracleBoth(function(o->A, a, positions ? ia : NULL), function(o->B, b, positions ? ib : NULL));
  PetscCall(OracleCompareVec(o, a, b, o->norm));
  for (PetscInt i = 0; positions && i < n; i++) {
    const PetscInt row = begin + i;
    PetscScalar    x, y;

    if (ia[i] == ib[i]) continue;
    PetscCheck(ib[i] >= 0 && ib[i] < N && ia[i] >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has its extreme at column %" PetscInt_FMT " with MATAIJ, %" PetscInt_FMT " with %s",
               o->operation, row, ia[i], ib[i], o->type);
    PetscCall(MatGetValues(o->A, 1, &row, 1, &ia[i], &x));
    PetscCall(MatGetValues(o->A, 1, &row, 1, &ib[i], &y));
    PetscCheck(PetscAbsReal(PetscAbsScalar(x) - PetscAbsScalar(y)) <= 1e5 * PETSC_MACHINE_EPSILON * o->norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: row %" PetscInt_FMT " has its extreme at column %" PetscInt_FMT " with MATAIJ, %" PetscInt_FMT " with %s, where another value is", o->operation, row, ia[i], ib[i], o->type);
  }
  PetscCall(PetscFree2(ia, ib));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowSums(Oracle o)
{
  const PetscBool absolute = OracleFlip(o, 2);
  Vec             a, b;

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &a, &b));
  if (absolute) OracleBoth(MatGetRowSumAbs(o->A, a), MatGetRowSumAbs(o->B, b));
  else OracleBoth(MatGetRowSum(o->A, a), MatGetRowSum(o->B, b));
  PetscCall(OracleCompareVec(o, a, b, o->norm));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ColumnNorms(Oracle o)
{
  const NormType types[] = {NORM_1, NORM_2, NORM_INFINITY};
  const NormType type    = types[OracleShared(o, 3)];
  PetscInt       N;
  PetscReal     *a, *b;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, NULL, &N));
  PetscCall(PetscMalloc2(N, &a, N, &b));
  OracleBoth(MatGetColumnNorms(o->A, type, a), MatGetColumnNorms(o->B, type, b));
  for (PetscInt j = 0; j < N; j++) PetscCall(OracleCompareReal(o, a[j], b[j], o->norm));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComplexParts(Oracle o)
{
  const PetscInt which = OracleShared(o, 3);
  Mat            A, B;

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &A), MatDuplicate(o->B, MAT_COPY_VALUES, &B));
  if (which == 0) OracleBoth(MatConjugate(A), MatConjugate(B));
  else if (which == 1) OracleBoth(MatRealPart(A), MatRealPart(B));
  else OracleBoth(MatImaginaryPart(A), MatImaginaryPart(B));
  PetscCall(OracleCompareAndDestroy(o, &A, &B, PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is added: what it has of A's pattern, and what is said about that. */
typedef enum {
  EQUAL,
  SUBSET,
  OTHER
} Addend;

static const struct {
  Addend       addend;
  MatStructure structure;
} sums[] = {{EQUAL, SAME_NONZERO_PATTERN},       {EQUAL, DIFFERENT_NONZERO_PATTERN}, {EQUAL, UNKNOWN_NONZERO_PATTERN},   {SUBSET, SUBSET_NONZERO_PATTERN},
            {SUBSET, DIFFERENT_NONZERO_PATTERN}, {SUBSET, UNKNOWN_NONZERO_PATTERN},  {OTHER, DIFFERENT_NONZERO_PATTERN}, {OTHER, UNKNOWN_NONZERO_PATTERN}};

static PetscErrorCode CreateAddend(Oracle o, Addend addend, Mat *X, Mat *Y)
{
  const PetscScalar factor = OracleReal(o->state, 4, 1);
  PetscLayout       rmap, cmap;

  PetscFunctionBegin;
  if (addend == EQUAL) {
    OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, X), MatDuplicate(o->B, MAT_COPY_VALUES, Y));
    OracleBoth(MatScale(*X, factor), MatScale(*Y, factor));
  } else if (addend == SUBSET) PetscCall(OracleCreateSubset(o, X, Y));
  else {
    PetscCall(MatGetLayouts(o->A, &rmap, &cmap));
    PetscCall(OracleCreatePair(o, rmap, cmap, 3, X, Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Axpy(Oracle o)
{
  const PetscInt     which = OracleShared(o, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sums)), mixed = OracleFlip(o, 8), y_plus = OracleFlip(o, 3);
  PetscInt           rbs, cbs;
  const MatStructure structure = sums[which].structure;
  const PetscScalar  factor    = OracleReal(o->state, 3, 1);
  Mat                X, Y;

  PetscFunctionBegin;
  PetscCall(CreateAddend(o, sums[which].addend, &X, &Y));
  PetscCall(MatGetBlockSizes(o->A, &rbs, &cbs));
  if (mixed && rbs == cbs) PetscCall(MatConvert(Y, MATAIJ, MAT_INPLACE_MATRIX, &Y)); /* PETSc 3.26 gives the columns of sums of two types the block size of the rows, or fails */
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, Y));
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  if (OracleFlip(o, 8)) PetscCall(MatBindToCPU(Y, PETSC_TRUE));
  for (PetscInt pass = 0, passes = 1 + OracleShared(o, 2); pass < passes; pass++) { /* the second time the sum's pattern contains X's */
    if (y_plus) OracleBoth(MatAYPX(o->A, factor, X, structure), MatAYPX(o->B, factor, Y, structure));
    else OracleBoth(MatAXPY(o->A, factor, X, structure), MatAXPY(o->B, factor, Y, structure));
  }
  PetscCall(OracleUpdateNorm(o));
  PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
  PetscCall(OracleCompareAndDestroy(o, &X, &Y, PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix itself is added. */
static PetscErrorCode AxpyItself(Oracle o)
{
  const PetscScalar factor = OracleReal(o->state, 5, 1);

  PetscFunctionBegin;
  OracleBoth(MatAXPY(o->A, factor, o->A, SAME_NONZERO_PATTERN), MatAXPY(o->B, factor, o->B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some rows lose all entries, their diagonal entries too, before these are added or set. */
static PetscErrorCode MissingDiagonal(Oracle o)
{
  const PetscInt which = OracleShared(o, 3), kept = 2 + OracleShared(o, 3);
  PetscInt       begin, end, n = 0, *rows;
  Vec            v[2];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(PetscMalloc1(end - begin, &rows));
  for (PetscInt i = begin; i < end; i++)
    if (OracleHash(o->fill, (uint64_t)i, 7) % (uint64_t)kept == 0) rows[n++] = i;
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &v[0], &v[1]));
  if (OracleFlip(o, 3)) PetscCall(OracleFragment(o, o->B));
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    PetscCall(MatSetOption(X, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
    PetscCall(MatZeroRows(X, n, rows, 0, NULL, NULL));
    if (which == 0) PetscCall(MatShift(X, 1.5));
    else PetscCall(MatDiagonalSet(X, v[k], which == 1 ? INSERT_VALUES : ADD_VALUES));
    PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY)); /* as after MatDiagonalSet() above */
    PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
    PetscCall(VecDestroy(&v[k]));
  }
  PetscCall(PetscFree(rows));
  PetscCall(OracleUpdateNorm(o));
  PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On copies, since MATAIJ keeps the stored values by the number of entries of the first time. */
static PetscErrorCode StoreAndRetrieve(Oracle o)
{
  Mat X[2];

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &X[0]), MatDuplicate(o->B, MAT_COPY_VALUES, &X[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(MatStoreValues(X[k]));
    PetscCall(MatScale(X[k], 3));
    PetscCall(MatRetrieveValues(X[k]));
  }
  PetscCall(OracleCompareAndDestroy(o, &X[0], &X[1], PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cached transpose must follow the values. */
static PetscErrorCode ExplicitTranspose(Oracle o)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(o->B, MAT_FORM_EXPLICIT_TRANSPOSE, (PetscBool)!OracleFlip(o, 3)));
  PetscCall(Multiply(o));
  PetscCall(Scale(o));
  PetscCall(OracleUpdateNorm(o));
  PetscCall(Multiply(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleValueOperations[] = {{"MatMult and its relatives", 12, Multiply, PETSC_FALSE, 0},
                                                 {"MatGetDiagonal", 3, GetDiagonal, PETSC_TRUE, 0},
                                                 {"MatScale", 4, Scale, PETSC_FALSE, 0},
                                                 {"MatShift", 3, Shift, PETSC_TRUE, 0},
                                                 {"MatDiagonalSet", 3, DiagonalSet, PETSC_TRUE, 0},
                                                 {"MatDiagonalScale", 4, DiagonalScale, PETSC_FALSE, 0},
                                                 {"MatZeroEntries and MatSetValues", 3, ZeroAndRefill, PETSC_FALSE, 0},
                                                 {"MatNorm", 3, Norm, PETSC_FALSE, 0},
                                                 {"MatGetRowMaxAbs and its relatives", 3, RowExtremes, PETSC_FALSE, 0},
                                                 {"MatGetRowSum(Abs)", 2, RowSums, PETSC_FALSE, 0},
                                                 {"MatGetColumnNorms", 1, ColumnNorms, PETSC_FALSE, 0},
                                                 {"MatConjugate, Real- and ImaginaryPart", 2, ComplexParts, PETSC_FALSE, 0},
                                                 {"MatAXPY and MatAYPX", 6, Axpy, PETSC_FALSE, 0},
                                                 {"MatAXPY of the matrix itself", 1, AxpyItself, PETSC_FALSE, 0},
                                                 {"MatShift and MatDiagonalSet, missing diagonal entries", 2, MissingDiagonal, PETSC_TRUE, 0},
                                                 {"MatStoreValues", 1, StoreAndRetrieve, PETSC_FALSE, 0},
                                                 {"MAT_FORM_EXPLICIT_TRANSPOSE", 3, ExplicitTranspose, PETSC_FALSE, 0},
                                                 {NULL, 0, NULL, PETSC_FALSE, 0}};
