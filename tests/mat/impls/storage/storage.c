static char help[] = "Types with a storage of their own behind the interface of device storage, against MATAIJ.\n\n";

#include "../dcsr/testmat.h"
#include <petscksp.h>
#include "../../../../src/petsc/sys.h"
#include <petscsparsecuda/sys.h>
#include "ell.h"

static PetscBool device; /* the storage is in use */

#define CHECK_COUNT(what, n) \
  PetscCheck(!device || ell_counts.what == (n), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: ell_counts." #what " is %" PetscInt_FMT " and should be %" PetscInt_FMT, type, ell_counts.what, (PetscInt)(n))

static PetscErrorCode CompareScalars(PetscReal a, PetscReal b, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(a - b) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + PetscAbsReal(a)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g and should be %g", what, (double)b, (double)a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z in all its forms. */
static PetscErrorCode CompareAdds(Mat A, Mat B)
{
  Mat mats[2] = {A, B};
  Vec right[2][3], left[2][3]; /* of each matrix: x, z, y */

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], &right[k][0], &left[k][0]));
    for (int i = 1; i < 3; i++) {
      PetscCall(VecDuplicate(right[k][0], &right[k][i]));
      PetscCall(VecDuplicate(left[k][0], &left[k][i]));
    }
    for (int i = 0; i < 3; i++) {
      PetscCall(TestFill(right[k][i], i));
      PetscCall(TestFill(left[k][i], 3 + i));
    }
    PetscCall(MatMultAdd(mats[k], right[k][0], left[k][1], left[k][2]));
    PetscCall(MatMultAdd(mats[k], right[k][0], left[k][1], left[k][1]));
    PetscCall(MatMultTransposeAdd(mats[k], left[k][0], right[k][1], right[k][2]));
    PetscCall(MatMultTransposeAdd(mats[k], left[k][0], right[k][1], right[k][1]));
    PetscCall(MatMultHermitianTransposeAdd(mats[k], left[k][0], right[k][1], right[k][1]));
    PetscCall(MatMultHermitianTranspose(mats[k], left[k][2], right[k][0]));
    PetscCall(MatResidual(mats[k], left[k][1], right[k][1], left[k][0]));
    if (k == 1 && device) PetscCall(MatResidual(B, left[k][1], right[k][1], left[k][1])); // into its right-hand side, which MATAIJ would lose
    else PetscCall(VecCopy(left[k][0], left[k][1]));
  }
  for (int i = 0; i < 3; i++) {
    PetscCall(TestCompareVec(right[0][i], right[1][i], "products that add, columns"));
    PetscCall(TestCompareVec(left[0][i], left[1][i], "products that add, rows"));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&right[k][i]));
      PetscCall(VecDestroy(&left[k][i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms, diagonal, sums of rows: what reads values. */
static PetscErrorCode CompareReductions(Mat A, Mat B)
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      a, b;
  Vec            x, y;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(MatNorm(A, types[k], &a));
    PetscCall(MatNorm(B, types[k], &b));
    PetscCall(CompareScalars(a, b, NormTypes[types[k]]));
  }
  PetscCall(MatCreateVecs(A, NULL, &x));
  PetscCall(MatCreateVecs(B, NULL, &y));
  PetscCall(MatGetDiagonal(A, x));
  PetscCall(MatGetDiagonal(B, y));
  PetscCall(TestCompareVec(x, y, "MatGetDiagonal"));
  PetscCall(MatGetRowSumAbs(A, x));
  PetscCall(MatGetRowSumAbs(B, y));
  PetscCall(TestCompareVec(x, y, "MatGetRowSumAbs"));
  PetscCall(MatGetRowMaxAbs(A, x, NULL));
  PetscCall(MatGetRowMaxAbs(B, y, NULL));
  PetscCall(TestCompareVec(x, y, "MatGetRowMaxAbs"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes of values, by the storage, by CSR and by the host, in turn. */
static PetscErrorCode ChangeValues(Mat A, Mat B)
{
  Mat mats[2] = {A, B};
  Vec l, r;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatScale(mats[k], 3));
  PetscCall(CompareReductions(A, B)); /* CSR gets what the storage changed */
  PetscCall(TestCompareProducts(A, B, "MatScale"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], &r, &l));
    PetscCall(TestFill(l, 1));
    PetscCall(TestFill(r, 2));
    PetscCall(MatConjugate(mats[k])); /* CSR changes */
    PetscCall(MatDiagonalScale(mats[k], l, r));
    PetscCall(MatDiagonalScale(mats[k], NULL, r));
    PetscCall(MatDiagonalScale(mats[k], l, NULL));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(TestCompare(A, B, "MatDiagonalScale"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(mats[k], 2));
    PetscCall(MatRealPart(mats[k]));
  }
  PetscCall(TestCompare(A, B, "MatRealPart"));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(mats[k], -1));
  PetscCall(TestCompareRows(A, B, "MatScale, and then the host")); /* the host copy gets what the storage changed */
  PetscCall(TestEnter(A, 5, 3));
  PetscCall(TestEnter(B, 5, 3));
  PetscCall(TestCompareProducts(A, B, "MatSetValues() of all values"));
  PetscCall(CompareReductions(A, B));
  for (int k = 0; k < 2; k++) PetscCall(MatZeroEntries(mats[k]));
  PetscCall(TestCompare(A, B, "MatZeroEntries"));
  PetscCall(TestEnter(A, 5, 4));
  PetscCall(TestEnter(B, 5, 4));
  PetscCall(TestCompare(A, B, "MatSetValues() after MatZeroEntries"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host writes values through an array. */
static PetscErrorCode WriteArray(Mat A, Mat B)
{
  Mat          mats[2] = {A, B};
  PetscScalar *a;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(mats[k], 2));
    PetscCall(MatSeqAIJGetArray(mats[k], &a));
    a[0] += 5;
    PetscCall(MatSeqAIJRestoreArray(mats[k], &a));
  }
  PetscCall(TestCompareProducts(A, B, "MatSeqAIJGetArray"));
  PetscCall(TestCompareRows(A, B, "MatSeqAIJGetArray"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, new entries, fewer entries. */
static PetscErrorCode ChangeStructure(Mat A, Mat B)
{
  Mat      mats[2] = {A, B};
  PetscInt m, n, rows[2] = {3, 7};
  Vec      d;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(mats[k], 2)); /* newer than CSR */
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt i = 0; i < m; i += 4) {
      PetscCall(MatSetValue(mats[k], i, i, 1, ADD_VALUES));
      PetscCall(MatSetValue(mats[k], i, (i * 7 + 5) % n, 2, ADD_VALUES));
    }
    PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestCompareProducts(A, B, "new entries"));
  PetscCall(TestCompareRows(A, B, "new entries"));
  PetscCall(MatSetValue(A, 1, 1, 7, INSERT_VALUES));
  PetscCall(MatSetValue(B, 1, 1, 7, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestAssemble(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompareProducts(A, B, "a new value"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(mats[k], 2));
    PetscCall(MatZeroRows(mats[k], 2, rows, 9, NULL, NULL));
  }
  PetscCall(TestCompare(A, B, "MatZeroRows"));
  if (m == n) {
    for (int k = 0; k < 2; k++) {
      PetscCall(MatCreateVecs(mats[k], &d, NULL));
      PetscCall(TestFill(d, 8));
      PetscCall(MatScale(mats[k], 2));
      PetscCall(MatShift(mats[k], 1.5));
      PetscCall(MatDiagonalSet(mats[k], d, ADD_VALUES));
      PetscCall(VecDestroy(&d));
    }
    PetscCall(TestCompare(A, B, "MatShift"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(MatType type, Mat A, Mat B)
{
  const MatDuplicateOption options[] = {MAT_COPY_VALUES, MAT_DO_NOT_COPY_VALUES};
  Mat                      C, D;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCompareProducts(A, B, "before MatDuplicate"));
    PetscCall(MatDuplicate(A, options[k], &C));
    PetscCall(MatDuplicate(B, options[k], &D));
    PetscCall(TestHasType(D, type, "MatDuplicate"));
    PetscCall(TestCompareProducts(C, D, "MatDuplicate"));
    PetscCall(TestCompareRows(C, D, "MatDuplicate"));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(B, 2));
    PetscCall(MatCopy(A, C, SAME_NONZERO_PATTERN));
    PetscCall(MatCopy(B, D, SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(C, D, "MatCopy"));
    PetscCall(MatAXPY(C, 2, A, SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(D, 2, B, SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(C, D, "MatAXPY"));
    PetscCall(TestCompare(A, B, "the original"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposes and products of matrices, again with other values. */
static PetscErrorCode Products(MatType type, Mat A, Mat B)
{
  Mat At, Bt, C, D, E, F;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &Bt));
  PetscCall(TestHasType(Bt, type, "MatTranspose"));
  PetscCall(TestCompare(At, Bt, "MatTranspose"));
  PetscCall(MatMatMult(A, At, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(B, Bt, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatPtAP(C, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &E));
  PetscCall(MatPtAP(D, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &F));
  for (int k = 0; k < 3; k++) {
    PetscCall(TestCompare(C, D, "MatMatMult"));
    PetscCall(TestCompareProducts(E, F, "MatPtAP"));
    PetscCall(MatScale(A, 0.5));
    PetscCall(MatScale(B, 0.5));
    PetscCall(MatScale(C, 0.5));
    PetscCall(MatScale(D, 0.5));
    PetscCall(MatPtAP(C, A, MAT_REUSE_MATRIX, PETSC_DETERMINE, &E));
    PetscCall(MatPtAP(D, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &F));
    PetscCall(TestCompareProducts(E, F, "MatPtAP again"));
    PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &At));
    PetscCall(MatTranspose(B, MAT_REUSE_MATRIX, &Bt));
    PetscCall(TestCompareProducts(At, Bt, "MatTranspose again"));
    PetscCall(MatMatMult(A, At, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatMatMult(B, Bt, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
  }
  PetscCall(TestHasType(F, type, "MatPtAP"));
  PetscCall(MatDestroy(&At));
  PetscCall(MatDestroy(&Bt));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values on the device that somebody holds: what is written there counts at once, also after products. */
static PetscErrorCode Lend(Mat A, Mat B)
{
  PetscScalar *values;
  PetscMemType mtype;
  MatInfo      info;
  size_t       bytes;
  Mat          copy;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  bytes = (size_t)info.nz_used * sizeof(PetscScalar);
  PetscCall(TestCompareProducts(A, B, "before MatSeqAIJGetCSRAndMemType()"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &copy));
  PetscCall(MatSeqAIJGetCSRAndMemType(B, NULL, NULL, &values, &mtype));
  PetscCall(TestCompareProducts(A, B, "MatSeqAIJGetCSRAndMemType()"));
  if (PetscMemTypeDevice(mtype)) PetscCallCUDA(cudaMemset(values, 0, bytes));
  else PetscCall(PetscMemzero(values, bytes));
  PetscCall(PetscObjectStateIncrease((PetscObject)B));
  PetscCall(MatZeroEntries(A));
  if (PetscMemTypeDevice(mtype)) PetscCall(TestCompareProducts(A, B, "zeros written to values that are held"));
  PetscCall(MatCopy(copy, A, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(copy, B, SAME_NONZERO_PATTERN));
  PetscCall(TestCompare(A, B, "new values afterwards"));
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound to the CPU and back, a stored transpose, and the matrix itself transposed twice. */
static PetscErrorCode OtherStates(Mat A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(TestCompareProducts(A, B, "before MatBindToCPU()"));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(TestCompare(A, B, "bound to the CPU"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(TestCompare(A, B, "no longer bound"));
  PetscCall(MatSetOption(B, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCompareProducts(A, B, "MAT_FORM_EXPLICIT_TRANSPOSE"));
    PetscCall(MatScale(A, 0.5));
    PetscCall(MatScale(B, 0.5));
  }
  PetscCall(MatSetOption(B, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_FALSE));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));
    PetscCall(MatTranspose(B, MAT_INPLACE_MATRIX, &B));
    PetscCall(TestCompare(A, B, "MatTranspose in place"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To MATAIJ, MATDCSRCUDA and MATDENSE, and back. */
static PetscErrorCode Convert(MatType type, Mat A, Mat B)
{
  const MatType others[] = {MATAIJ, MATDCSRCUDA, MATDENSE};
  Mat           C, D;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others); k++) {
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(B, 2));
    PetscCall(MatConvert(B, others[k], MAT_INITIAL_MATRIX, &C));
    PetscCall(TestCompareProducts(A, C, others[k]));
    PetscCall(MatConvert(C, type, MAT_INITIAL_MATRIX, &D));
    PetscCall(TestHasType(D, type, others[k]));
    PetscCall(TestCompareProducts(A, D, type));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(B, 2));
    PetscCall(MatConvert(B, others[k], MAT_REUSE_MATRIX, &C));
    PetscCall(TestCompareProducts(A, C, "MAT_REUSE_MATRIX"));
    PetscCall(MatConvert(D, others[k], MAT_INPLACE_MATRIX, &D));
    PetscCall(MatConvert(D, type, MAT_INPLACE_MATRIX, &D));
    PetscCall(TestHasType(D, type, "MAT_INPLACE_MATRIX"));
    PetscCall(MatScale(D, 2));
    PetscCall(TestCompareProducts(A, D, "MAT_INPLACE_MATRIX"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_view ::ascii_info says of the storage contains what is expected. */
static PetscErrorCode View(Mat B, const char expected[])
{
  char *text = NULL, *found;

  PetscFunctionBegin;
  PetscCall(TestGetInfo(B, &text));
  PetscCall(PetscStrstr(text, expected, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" is not in: %s", expected, text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddRow(Mat A, Mat B, PetscInt row)
{
  Mat mats[2] = {A, B};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt j = 10; j < 30; j++) PetscCall(MatSetValue(mats[k], row, j, 1, ADD_VALUES));
    PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second structure gets the storage when products have lost its cost, which is that of 20; with a hint that more will come the third has it at once. */
static PetscErrorCode CountStructures(MatType type, Mat A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(AddRow(A, B, 40));
  for (int k = 0; k < 10; k++) PetscCall(TestCompareProducts(A, B, "new entries, counted"));
  CHECK_COUNT(created, 1);
  PetscCall(View(B, device ? "ell: not made yet" : "ell: no device copy"));
  PetscCall(TestCompareProducts(A, B, "new entries, and more products than the storage costs"));
  CHECK_COUNT(created, 2);
  PetscCall(AddRow(A, B, 39));
  PetscCall(MatAutoCUDASetProducts(B, 1000, 0));
  PetscCall(TestCompareProducts(A, B, "new entries with a hint"));
  CHECK_COUNT(created, 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who worked, and how often the storage was made, and gave and got values. */
static PetscErrorCode Count(MatType type, PetscBool replaces)
{
  Mat        A, B;
  PetscReal  norm;
  PetscCount bytes;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 41, 41, TEST_EVEN, 5, 1, &A, &B));
  PetscCall(View(B, device ? "ell: not made yet" : "ell: no device copy"));
  PetscCall(PetscArrayzero(&ell_counts, 1));
  for (int k = 0; k < 3; k++) PetscCall(TestCompareProducts(A, B, "counted"));
  CHECK_COUNT(created, 1);
  CHECK_COUNT(mults, 6);
  PetscCall(View(B, !device ? "ell: no device copy" : replaces ? "released" : "compact"));
  PetscCall(MatDCSRCUDAGetMemoryUsed(B, &bytes));
  PetscCheck(!device || bytes > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The storage takes no memory");
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(TestCompareProducts(A, B, "MatScale, counted"));
  CHECK_COUNT(scaled, 1);
  CHECK_COUNT(values_set, 0);
  CHECK_COUNT(csr_given, 0);
  for (int k = 0; k < 2; k++) PetscCall(MatNorm(B, NORM_1, &norm));
  CHECK_COUNT(csr_given, 1);
  CHECK_COUNT(structure_given, replaces ? 1 : 0);
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(MatNorm(B, NORM_1, &norm)); /* the CSR that was asked for stays, and gets values */
  CHECK_COUNT(csr_given, 2);
  CHECK_COUNT(structure_given, replaces ? 1 : 0);
  PetscCall(MatShift(A, 1));
  PetscCall(MatShift(B, 1));
  PetscCall(TestCompareProducts(A, B, "MatShift, counted"));
  CHECK_COUNT(values_set, 1);
  CHECK_COUNT(created, 1);
  PetscCall(View(B, device ? "slots a row" : "ell: no device copy"));
  PetscCall(CountStructures(type, A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One long row: the storage does not pay. Without that row it does. */
static PetscErrorCode Decline(MatType type)
{
  Mat      mats[2];
  PetscInt row = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ell_counts, 1));
  PetscCall(TestCreatePair(type, 400, 400, TEST_EVEN, 0, 1, &mats[0], &mats[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt j = 0; j < 400; j++) PetscCall(MatSetValue(mats[k], 0, j, (PetscScalar)(j + 1), INSERT_VALUES));
    PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
  }
  for (int k = 0; k < 2; k++) PetscCall(TestCompareProducts(mats[0], mats[1], "a long row"));
  CHECK_COUNT(declined, 1);
  CHECK_COUNT(created, 0);
  PetscCall(View(mats[1], device ? "ell: does not pay" : "ell: no device copy"));
  PetscCall(MatScale(mats[0], 2));
  PetscCall(MatScale(mats[1], 2));
  PetscCall(TestCompare(mats[0], mats[1], "a long row, scaled"));
  CHECK_COUNT(declined, 1);
  for (int k = 0; k < 2; k++) PetscCall(MatZeroRows(mats[k], 1, &row, 1, NULL, NULL));
  PetscCall(TestCompare(mats[0], mats[1], "the long row removed"));
  CHECK_COUNT(created, 1);
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists of coordinates: values come to CSR, and the storage gets them. */
static PetscErrorCode Coordinates(MatType type)
{
  const PetscInt i[] = {0, 1, 2, 3, 4, 0, 4, 2}, j[] = {0, 1, 2, 3, 4, 4, 0, 2};
  const MatType  two[] = {MATAIJ, type};
  PetscScalar    v[8];
  PetscInt       ci[8], cj[8];
  Mat            mats[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscArraycpy(ci, i, 8));
    PetscCall(PetscArraycpy(cj, j, 8));
    PetscCall(MatCreate(PETSC_COMM_SELF, &mats[k]));
    PetscCall(MatSetSizes(mats[k], 5, 5, 5, 5));
    PetscCall(MatSetType(mats[k], two[k]));
    PetscCall(MatSetPreallocationCOO(mats[k], 8, ci, cj));
  }
  for (int pass = 0; pass < 3; pass++) {
    for (int k = 0; k < 8; k++) v[k] = (PetscScalar)(k + 1 + pass);
    for (int k = 0; k < 2; k++) PetscCall(MatSetValuesCOO(mats[k], v, pass < 2 ? INSERT_VALUES : ADD_VALUES));
    PetscCall(TestCompareProducts(mats[0], mats[1], "MatSetValuesCOO"));
    for (int k = 0; k < 2; k++) PetscCall(MatScale(mats[k], 2));
  }
  PetscCall(TestCompare(mats[0], mats[1], "MatSetValuesCOO"));
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of KSP tutorial ex2: 5-point Laplacian on a square. */
static PetscErrorCode Laplacian(MatType type, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n * n, n * n, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  for (PetscInt row = 0; row < n * n; row++) {
    if (row >= n) PetscCall(MatSetValue(*A, row, row - n, -1, ADD_VALUES));
    if (row < n * (n - 1)) PetscCall(MatSetValue(*A, row, row + n, -1, ADD_VALUES));
    if (row % n > 0) PetscCall(MatSetValue(*A, row, row - 1, -1, ADD_VALUES));
    if (row % n < n - 1) PetscCall(MatSetValue(*A, row, row + 1, -1, ADD_VALUES));
    PetscCall(MatSetValue(*A, row, row, 4, ADD_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GMRES or CG with PCGAMG twice, with other values the second time: iterations, and the error. */
static PetscErrorCode Solve(Mat A, KSPType ksp_type, PetscInt its[2])
{
  KSP       ksp;
  PC        pc;
  PetscReal error;
  Vec       x, b, u;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecSet(u, 1));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, ksp_type));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatMult(A, u, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(VecAXPY(x, -1, u));
    PetscCall(VecNorm(x, NORM_INFINITY, &error));
    PetscCheck(error < (PetscReal)0.1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "solve %d: error %g", k + 1, (double)error);
    PetscCall(MatScale(A, 3));
    PetscCall(MatShift(A, (PetscScalar)0.1));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSolves(MatType type)
{
  const KSPType types[]   = {KSPCG, KSPGMRES};
  const MatType two[]     = {MATAIJ, type};
  PetscInt      its[2][2] = {{0, 0}, {0, 0}};
  Mat           A;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ell_counts, 1));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(Laplacian(two[k], 40, &A));
      PetscCall(Solve(A, types[t], its[k]));
      PetscCall(MatDestroy(&A));
    }
    for (int k = 0; k < 2; k++)
      PetscCheck(PetscAbsInt(its[0][k] - its[1][k]) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "solve %d by %s: %" PetscInt_FMT " iterations with MATAIJ, %" PetscInt_FMT " with %s", k + 1, types[t],
                 its[0][k], its[1][k], type);
  }
  PetscCheck(!device || ell_counts.mults > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no product by the storage", type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(MatType type, PetscBool replaces)
{
  const PetscInt m[] = {41, 30}, n[] = {41, 45};
  Mat            A, B;

  PetscFunctionBegin;
  PetscCall(Count(type, replaces));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCreatePair(type, m[k], n[k], TEST_EVEN, 5, 1, &A, &B));
    PetscCall(TestHasType(B, type, "MatSetType"));
    PetscCall(TestCompare(A, B, "MatSetValues"));
    PetscCall(CompareAdds(A, B));
    PetscCall(CompareReductions(A, B));
    PetscCall(ChangeValues(A, B));
    PetscCall(WriteArray(A, B));
    PetscCall(Duplicate(type, A, B));
    PetscCall(ChangeStructure(A, B));
    PetscCall(Products(type, A, B));
    PetscCall(Lend(A, B));
    PetscCall(OtherStates(A, B));
    PetscCall(Convert(type, A, B));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(Decline(type));
  PetscCall(Coordinates(type));
  PetscCall(CompareSolves(type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether matrices of the types compute on the device here. */
static PetscErrorCode FindDevice(void)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(MATSEQAIJELLCUDA, 3, 3, TEST_EVEN, 1, 1, &A, &B));
  PetscCall(TestUsesDevice(B, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char  *type;
  size_t before, now;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(ELLRegister());
  PetscCall(FindDevice());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, NULL));
  PetscCall(Run(MATSEQAIJELLCUDA, PETSC_TRUE));
  PetscCall(Run(MATSEQAIJELLBESIDECUDA, PETSC_FALSE));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, NULL));
  PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory in use, and %zu before", now, before);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_dcsr_require_device

TEST*/
