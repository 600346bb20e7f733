#include "oracle.h"

/* Sums in another order, and what a few dozen operations since the last new matrix add to that. */
static const PetscReal tolerance = (PetscReal)1e5 * PETSC_MACHINE_EPSILON;

PetscErrorCode OracleCompareReal(Oracle o, PetscReal a, PetscReal b, PetscReal scale)
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(a - b) <= tolerance * (PetscAbsReal(a) + scale), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %.16g with MATAIJ, %.16g with %s (scale %g)", o->operation, (double)a, (double)b,
             o->type, (double)scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCompareVec(Oracle o, Vec x, Vec y, PetscReal scale)
{
  PetscInt           n, ny;
  const PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetLocalSize(y, &ny));
  PetscCheck(n == ny, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " local entries with MATAIJ, %" PetscInt_FMT " with %s", o->operation, n, ny, o->type);
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(a[i] - b[i]) <= tolerance * (PetscAbsScalar(a[i]) + scale), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: local entry %" PetscInt_FMT " of %" PetscInt_FMT " is %.16g with MATAIJ, %.16g with %s (scale %g)", o->operation, i, n, (double)PetscRealPart(a[i]), (double)PetscRealPart(b[i]),
               o->type, (double)scale);
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row of both; entries that only one of them has must be zeros unless exact. */
static PetscErrorCode OracleCompareRow(Oracle o, PetscInt row, PetscInt na, const PetscInt ca[], const PetscScalar va[], PetscInt nb, const PetscInt cb[], const PetscScalar vb[], PetscBool exact,
                                       PetscReal scale)
{
  PetscFunctionBegin;
  for (PetscInt i = 0, j = 0; i < na || j < nb;) {
    const PetscInt    a = i < na ? ca[i] : PETSC_INT_MAX, b = j < nb ? cb[j] : PETSC_INT_MAX, c = PetscMin(a, b);
    const PetscScalar x = a == c ? va[i] : 0, y = b == c ? vb[j] : 0;

    PetscCheck(j == 0 || j >= nb || cb[j] > cb[j - 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " of %s is not sorted: column %" PetscInt_FMT " after %" PetscInt_FMT, o->operation,
               row, o->type, cb[j], cb[j - 1]);
    PetscCheck(!exact || a == b, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: row %" PetscInt_FMT " has entry %" PetscInt_FMT " of %" PetscInt_FMT " in column %" PetscInt_FMT " with MATAIJ (%g), entry %" PetscInt_FMT " of %" PetscInt_FMT
               " in column %" PetscInt_FMT " with %s (%g)",
               o->operation, row, i, na, a, (double)PetscRealPart(x), j, nb, b, o->type, (double)PetscRealPart(y));
    PetscCheck(PetscAbsScalar(x - y) <= tolerance * (PetscAbsScalar(x) + scale), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT ", %" PetscInt_FMT " is %.16g with MATAIJ, %.16g with %s",
               o->operation, row, c, (double)PetscRealPart(x), (double)PetscRealPart(y), o->type);
    if (a == c) i++;
    if (b == c) j++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCompareMat(Oracle o, Mat A, Mat B, PetscBool exact, PetscReal scale)
{
  PetscInt           M[2], N[2], m[2], n[2], begin, end, na, nb;
  const PetscInt    *ca, *cb;
  const PetscScalar *va, *vb;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M[0], &N[0]));
  PetscCall(MatGetSize(B, &M[1], &N[1]));
  PetscCall(MatGetLocalSize(A, &m[0], &n[0]));
  PetscCall(MatGetLocalSize(B, &m[1], &n[1]));
  PetscCheck(M[0] == M[1] && N[0] == N[1] && m[0] == m[1] && n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: sizes differ: %" PetscInt_FMT " x %" PetscInt_FMT " with MATAIJ, %" PetscInt_FMT " x %" PetscInt_FMT " with %s", o->operation, M[0], N[0], M[1], N[1], o->type);
  if (exact) PetscCall(OracleComparePattern(o, A, B));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatGetRow(A, i, &na, &ca, &va));
    PetscCall(MatGetRow(B, i, &nb, &cb, &vb));
    PetscCall(OracleCompareRow(o, i, na, ca, va, nb, cb, vb, exact, scale));
    PetscCall(MatRestoreRow(A, i, &na, &ca, &va));
    PetscCall(MatRestoreRow(B, i, &nb, &cb, &vb));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What can be known of patterns without the host's copy of the matrix: numbers of entries and block sizes. */
PetscErrorCode OracleComparePattern(Oracle o, Mat A, Mat B)
{
  PetscInt bs[4];
  MatInfo  a, b;

  PetscFunctionBegin;
  OracleBoth(MatGetInfo(A, MAT_LOCAL, &a), MatGetInfo(B, MAT_LOCAL, &b));
  PetscCheck(a.nz_used == b.nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g local entries with MATAIJ, %g with %s", o->operation, (double)a.nz_used, (double)b.nz_used, o->type);
  OracleBoth(MatGetBlockSizes(A, &bs[0], &bs[1]), MatGetBlockSizes(B, &bs[2], &bs[3]));
  PetscCheck(bs[0] == bs[2] && bs[1] == bs[3], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: block sizes are %" PetscInt_FMT " and %" PetscInt_FMT " with MATAIJ, %" PetscInt_FMT " and %" PetscInt_FMT " with %s", o->operation, bs[0], bs[1], bs[2], bs[3], o->type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A comparison that does not ask for the host's copy of the matrix. */
PetscErrorCode OracleCompareMult(Oracle o, Mat A, Mat B, PetscReal scale)
{
  Vec xa, xb, ya, yb;

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, B, PETSC_FALSE, &xa, &xb));
  PetscCall(OracleCreateVec(o, B, PETSC_TRUE, &ya, &yb));
  PetscCall(MatMult(A, xa, ya));
  PetscCall(MatMult(B, xb, yb));
  PetscCall(OracleCompareVec(o, ya, yb, scale));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCompareAndDestroy(Oracle o, Mat *A, Mat *B, PetscBool exact, PetscReal scale)
{
  PetscFunctionBegin;
  if (OracleFlip(o, 2)) PetscCall(OracleCompareMult(o, *A, *B, scale));
  PetscCall(OracleCompareMat(o, *A, *B, exact, scale));
  PetscCall(MatDestroy(A));
  PetscCall(MatDestroy(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
