#include "oracle.h"

/* Matrices on both sides of the sizes where kernels and launch rules change. */

#define ROWS_OF_PRODUCTS 5 /* entries in a row of a factor */

/* Rows of products: samples begin at 50,000, a thread takes a row from 65,536 on (kernels/spgemm). */
static const PetscInt product_rows[] = {50000, 50001, 65535, 65536, 65537};

/* Entries: storage of hisparsecuda begins at 200,000, tiles of transpose products at 300,000 and 500,000 (kernels/spmvtranspose). */
static const PetscInt entries[] = {199999, 200001, 299999, 300000, 499999, 500000, 500001};

/* N x N with so many entries, as many as fit in each row but the last ones: near the diagonal, or spread by a step that rows draw. */
static PetscErrorCode Create(Oracle o, MatType type, PetscInt N, PetscInt nonzeros, PetscBool spread, Mat *A)
{
  const PetscInt per_row = (nonzeros + N - 1) / N;
  PetscInt       begin, end, columns[64];
  PetscScalar    values[64];

  PetscFunctionBegin;
  PetscCall(MatCreate(o->comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, per_row, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, per_row, NULL, per_row, NULL));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt step = spread ? 1 + (PetscInt)(OracleHash(o->fill, (uint64_t)i, 1) % (uint64_t)(N / per_row)) : 1;
    PetscInt       n    = 0;

    for (PetscInt k = 0; k < per_row && (PetscCount)k * N + i < nonzeros; k++, n++) {
      columns[n] = (i + k * step) % N;
      values[n]  = OracleReal(o->fill, (uint64_t)i, (uint64_t)k);
    }
    PetscCall(MatSetValues(*A, 1, &i, n, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBoth(Oracle o, PetscInt N, PetscInt nonzeros, Mat X[2])
{
  const PetscBool spread = OracleFlip(o, 2);

  PetscFunctionBegin;
  o->fill++;
  for (int k = 0; k < 2; k++) PetscCall(Create(o, k ? o->type : MATAIJ, N, nonzeros, spread, &X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^2 or A^T A, and again with other values. */
static PetscErrorCode LargeProduct(Oracle o)
{
  const PetscInt N = product_rows[OracleShared(o, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(product_rows))], which = OracleShared(o, 2);
  Mat            X[2], C[2];

  PetscFunctionBegin;
  PetscCall(CreateBoth(o, N, ROWS_OF_PRODUCTS * N - OracleShared(o, 2), X));
  for (int pass = 0; pass < 2; pass++) {
    for (int k = 0; k < 2; k++) {
      if (pass) PetscCall(MatScale(X[k], 0.5));
      if (which) PetscCall(MatTransposeMatMult(X[k], X[k], pass ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
      else PetscCall(MatMatMult(X[k], X[k], pass ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
    }
    PetscCall(OracleCompareMult(o, C[0], C[1], ROWS_OF_PRODUCTS * ROWS_OF_PRODUCTS));
  }
  PetscCall(OracleCompareMat(o, C[0], C[1], PETSC_TRUE, ROWS_OF_PRODUCTS));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&X[k]));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with vectors in both directions, several times since plans are made after the first, and an explicit transpose. */
static PetscErrorCode LargeTranspose(Oracle o)
{
  const PetscInt  nonzeros = entries[OracleShared(o, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(entries))], per_row = 1 + OracleShared(o, 40);
  const PetscInt  N     = (nonzeros + per_row - 1) / per_row;
  const PetscReal scale = 64;
  Vec             x[2], y[2];
  Mat             X[2], T[2];

  PetscFunctionBegin;
  PetscCall(CreateBoth(o, N, nonzeros, X));
  for (int pass = 0; pass < 3; pass++) {
    PetscCall(OracleCreateVec(o, X[1], PETSC_TRUE, &x[0], &x[1]));
    PetscCall(OracleCreateVec(o, X[1], PETSC_FALSE, &y[0], &y[1]));
    OracleBoth(MatMultTranspose(X[0], x[0], y[0]), MatMultTranspose(X[1], x[1], y[1]));
    PetscCall(OracleCompareVec(o, y[0], y[1], scale));
    PetscCall(OracleCompareMult(o, X[0], X[1], scale));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&x[k]));
      PetscCall(VecDestroy(&y[k]));
    }
  }
  OracleBoth(MatTranspose(X[0], MAT_INITIAL_MATRIX, &T[0]), MatTranspose(X[1], MAT_INITIAL_MATRIX, &T[1]));
  PetscCall(OracleCompareMat(o, T[0], T[1], PETSC_TRUE, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&X[k]));
    PetscCall(MatDestroy(&T[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half of the times, so that a run stays short. */
static PetscErrorCode Large(Oracle o)
{
  if (!OracleFlip(o, 2)) return PETSC_SUCCESS;
  return OracleFlip(o, 2) ? LargeProduct(o) : LargeTranspose(o);
}

const OracleOperation OracleLargeOperations[] = {{"large products and transposes", 1, Large, PETSC_FALSE, 0}, {NULL, 0, NULL, PETSC_FALSE, 0}};
