#include "oracle.h"
#include <petscdevice_cuda.h>

/* Products with dense matrices, on the host and on the device; and what the dense matrices of solves are made and compared by. */

PetscErrorCode OracleFillDense(Oracle o, Mat X)
{
  PetscInt     begin, end, N, lda;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(X, &begin, &end));
  PetscCall(MatGetSize(X, NULL, &N));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &array));
  for (PetscInt j = 0; j < N; j++)
    for (PetscInt i = begin; i < end; i++) array[(size_t)j * (size_t)lda + (size_t)(i - begin)] = OracleReal(o->fill, (uint64_t)i, (uint64_t)j);
  PetscCall(MatDenseRestoreArrayWrite(X, &array));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCreateDense(Oracle o, PetscInt m, PetscInt M, PetscInt N, PetscBool may, Mat *X, Mat *Y)
{
  const PetscInt room = OracleShared(o, 3);
  PetscBool      device;

  PetscFunctionBegin;
  PetscCall(OracleOnDevice(o, &device));
  if (OracleFlip(o, 3) || !may) device = PETSC_FALSE;
  o->fill++;
  for (int k = 0; k < 2; k++) {
    Mat         Z;
    PetscInt    local;
    PetscLayout rmap;

    PetscCall(MatCreate(o->comm, &Z));
    PetscCall(MatSetSizes(Z, m, PETSC_DECIDE, M, N));
    PetscCall(MatSetType(Z, k && device ? MATDENSECUDA : MATDENSE));
    PetscCall(MatGetLayouts(Z, &rmap, NULL));
    PetscCall(PetscLayoutSetUp(rmap));
    PetscCall(PetscLayoutGetLocalSize(rmap, &local));
    PetscCall(MatDenseSetLDA(Z, PetscMax(local, 1) + room)); /* room behind the columns */
    PetscCall(MatSetUp(Z));
    PetscCall(OracleFillDense(o, Z));
    *(k ? Y : X) = Z;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCompareDense(Oracle o, Mat X, Mat Y, PetscReal scale)
{
  const PetscScalar *x, *y;
  PetscInt           m[2], N[2], ldx, ldy;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetLocalSize(k ? Y : X, &m[k], NULL));
    PetscCall(MatGetSize(k ? Y : X, NULL, &N[k]));
  }
  PetscCheck(m[0] == m[1] && N[0] == N[1], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: dense results have %" PetscInt_FMT " x %" PetscInt_FMT " local entries with MATAIJ, %" PetscInt_FMT " x %" PetscInt_FMT " with %s", o->operation, m[0], N[0], m[1], N[1], o->type);
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayRead(Y, &y));
  for (PetscInt j = 0; j < N[0]; j++)
    for (PetscInt i = 0; i < m[0]; i++) {
      const PetscScalar a = x[(size_t)j * (size_t)ldx + (size_t)i], b = y[(size_t)j * (size_t)ldy + (size_t)i];

      PetscCall(OracleCompareReal(o, PetscRealPart(a), PetscRealPart(b), scale));
      PetscCall(OracleCompareReal(o, PetscImaginaryPart(a), PetscImaginaryPart(b), scale));
    }
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArrayRead(Y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  AX,
  ATX,
  AXT, /* the last two on one process alone, as in PETSc */
  XA,
  NUM_PRODUCTS
} Product;

static PetscErrorCode Multiply(Product which, Mat A, Mat X, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (which == AX) PetscCall(MatMatMult(A, X, reuse, PETSC_DETERMINE, C));
  else if (which == ATX) PetscCall(MatTransposeMatMult(A, X, reuse, PETSC_DETERMINE, C));
  else if (which == AXT) PetscCall(MatMatTransposeMult(A, X, reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMult(X, A, reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random dense factor with few columns, or as many as need several tiles. */
static PetscErrorCode CreateFactor(Oracle o, Product which, PetscInt width, Mat *X, Mat *Y)
{
  PetscInt m, n, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(o->A, &m, &n));
  PetscCall(MatGetSize(o->A, &M, &N));
  if (which == AX) PetscCall(OracleCreateDense(o, n, N, width, PETSC_TRUE, X, Y));
  else if (which == ATX) PetscCall(OracleCreateDense(o, m, M, width, PETSC_TRUE, X, Y));
  else PetscCall(OracleCreateDense(o, width, width, which == AXT ? N : M, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc fails: before 3.26 MATMPIAIJ writes where a process without rows of the dense matrix has no memory. */
static PetscErrorCode ReferenceFails(Oracle o, Product which, PetscBool *fails)
{
  const PetscInt *ranges;

  PetscFunctionBegin;
  *fails = PETSC_FALSE;
  if (PETSC_VERSION_GE(3, 26, 0) || which != AX || o->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRangesColumn(o->A, &ranges));
  for (PetscMPIInt r = 0; r < o->size; r++) *fails = (PetscBool)(*fails || ranges[r] == ranges[r + 1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product, and again after changes of the values of each factor. */
static PetscErrorCode MatDense(Oracle o)
{
  const PetscInt width = OracleFlip(o, 4) ? 30 + OracleShared(o, 10) : 1 + OracleShared(o, 5);
  const Product  which = (Product)OracleShared(o, o->size == 1 ? NUM_PRODUCTS : AXT);
  PetscInt       M, N;
  PetscReal      scale;
  PetscBool      fails;
  Mat            X[2], C[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(ReferenceFails(o, which, &fails));
  if (fails || (which >= AXT && (M == 0 || N == 0))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateFactor(o, which, width, &X[0], &X[1]));
  scale = o->norm + 1;
  OracleBoth(Multiply(which, o->A, X[0], MAT_INITIAL_MATRIX, &C[0]), Multiply(which, o->B, X[1], MAT_INITIAL_MATRIX, &C[1]));
  PetscCall(OracleCompareDense(o, C[0], C[1], scale));
  OracleBoth(MatScale(o->A, 0.5), MatScale(o->B, 0.5));
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  OracleBoth(Multiply(which, o->A, X[0], MAT_REUSE_MATRIX, &C[0]), Multiply(which, o->B, X[1], MAT_REUSE_MATRIX, &C[1]));
  PetscCall(OracleCompareDense(o, C[0], C[1], scale));
  o->fill++;
  if (OracleFlip(o, 2)) OracleBoth(OracleFillDense(o, X[0]), OracleFillDense(o, X[1]));
  else OracleBoth(MatScale(X[0], -1), MatScale(X[1], -1));
  OracleBoth(Multiply(which, o->A, X[0], MAT_REUSE_MATRIX, &C[0]), Multiply(which, o->B, X[1], MAT_REUSE_MATRIX, &C[1]));
  PetscCall(OracleCompareDense(o, C[0], C[1], scale));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&X[k]));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleDenseOperations[] = {{"MatMatMult and TransposeMatMult with MATDENSE and MATDENSECUDA", 3, MatDense, PETSC_FALSE, 0}, {NULL, 0, NULL, PETSC_FALSE, 0}};
