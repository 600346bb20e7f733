static char help[] = "QR factorizations, and factorizations of matrices that contain ours, by packages that read host arrays directly.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

/* Stand-ins for MATSOLVERSPQR and MATSOLVERMUMPS, which few configurations have: what their phases read is summed up. */
static PetscScalar what_was_read;

static void ReadArrays(Mat A, PetscScalar weight)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;

  for (PetscInt i = 0; i < A->rmap->n; i++)
    for (PetscInt k = a->i[i]; k < a->i[i + 1]; k++) what_was_read += weight * a->a[k] * (PetscReal)(1 + i + 3 * a->j[k]);
}

/* As MATSOLVERSPQR: the transpose is made and its arrays are read. */
static PetscErrorCode ReadNormal(Mat A)
{
  PetscBool is;
  Mat       T;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNORMAL, &is));
  if (is) PetscCall(MatNormalGetMat(A, &A));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNORMALHERMITIAN, &is));
  if (is) PetscCall(MatNormalHermitianGetMat(A, &A));
  what_was_read = 0;
  ReadArrays(A, 1);
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  ReadArrays(T, 2);
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As MATSOLVERMUMPS. */
static PetscErrorCode ReadNest(Mat A)
{
  PetscInt m, n;
  Mat    **mats;

  PetscFunctionBegin;
  what_was_read = 0;
  PetscCall(MatNestGetSubMats(A, &m, &n, &mats));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) {
      Mat       M = mats[i][j];
      PetscBool is_mpi, is_transpose;

      if (M == NULL) continue;
      PetscCall(PetscObjectTypeCompare((PetscObject)M, MATTRANSPOSEVIRTUAL, &is_transpose));
      if (is_transpose) PetscCall(MatTransposeGetMat(M, &M));
      PetscCall(PetscObjectBaseTypeCompare((PetscObject)M, MATMPIAIJ, &is_mpi));
      ReadArrays(is_mpi ? ((Mat_MPIAIJ *)M->data)->A : M, (PetscReal)(1 + i + 2 * j));
      if (is_mpi) ReadArrays(((Mat_MPIAIJ *)M->data)->B, (PetscReal)(7 + i + 2 * j));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode QRNumeric(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)F;
  (void)info;
  PetscCall(ReadNormal(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode QRSymbolic(Mat F, Mat A, IS columns, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)columns;
  (void)info;
  PetscCall(ReadNormal(A));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatQRFactorNumeric_C", QRNumeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LUNumeric(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)F;
  (void)info;
  PetscCall(ReadNest(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LUSymbolic(Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)rows;
  (void)columns;
  (void)info;
  PetscCall(ReadNest(A));
  F->ops->lufactornumeric = LUNumeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyFactor(Mat F)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatQRFactorSymbolic_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatQRFactorNumeric_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateFactor(Mat A, MatFactorType type, Mat *F)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), F));
  PetscCall(MatSetSizes(*F, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)*F, "factor"));
  PetscCall(MatSetUp(*F));
  (*F)->ops->destroy = DestroyFactor;
  (*F)->factortype   = type;
  (*F)->preallocated = (*F)->assembled = PETSC_TRUE;
  if (type == MAT_FACTOR_QR) PetscCall(PetscObjectComposeFunction((PetscObject)*F, "MatQRFactorSymbolic_C", QRSymbolic));
  else (*F)->ops->lufactorsymbolic = LUSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateNest(const Mat M[3], Mat *A)
{
  Mat mats[4] = {M[0], NULL, NULL, M[2]};

  PetscFunctionBegin;
  PetscCall(MatCreateTranspose(M[1], &mats[1]));
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, mats, A));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Phase(Mat F, Mat A, MatFactorType type, PetscBool symbolic)
{
  const MatFactorInfo info = {.fill = 1};

  PetscFunctionBegin;
  if (symbolic && type == MAT_FACTOR_QR) PetscCall(MatQRFactorSymbolic(F, A, NULL, &info));
  else if (symbolic) PetscCall(MatLUFactorSymbolic(F, A, NULL, NULL, &info));
  else if (type == MAT_FACTOR_QR) PetscCall(MatQRFactorNumeric(F, A, &info));
  else PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Symbolic, and numeric twice with other values; kind 0: the matrix itself, 1 and 2: its normal matrices, 3: a nest of three. */
static PetscErrorCode Test(MatType type, int kind)
{
  const MatFactorType factor_type = kind == 3 ? MAT_FACTOR_LU : MAT_FACTOR_QR;
  Mat                 M[2][3], A[2], F[2];

  PetscFunctionBegin;
  for (int r = 0; r < 2; r++) {
    for (int k = 0; k < 3; k++) PetscCall(TestCreate(r ? type : MATAIJ, 20, 20, TEST_EVEN, 3, k + 1, &M[r][k]));
    A[r] = M[r][0];
    if (kind == 0) PetscCall(PetscObjectReference((PetscObject)A[r]));
    else if (kind == 1) PetscCall(MatCreateNormal(M[r][0], &A[r]));
    else if (kind == 2) PetscCall(MatCreateNormalHermitian(M[r][0], &A[r]));
    else PetscCall(CreateNest(M[r], &A[r]));
    PetscCall(MatGetFactor(A[r], kind == 3 ? MATSOLVERMUMPS : kind == 0 ? NULL : MATSOLVERSPQR, factor_type, &F[r]));
  }
  for (int step = 0; step < 3; step++) {
    PetscScalar read[2];

    for (int r = 0; r < 2; r++) {
      for (int k = 0; step > 0 && k < 3; k++) {
        PetscCall(MatScale(M[r][k], 2));
        PetscCall(MatShift(M[r][k], step));
      }
      PetscCall(Phase(F[r], A[r], factor_type, (PetscBool)(step == 0)));
      read[r] = what_was_read;
    }
    PetscCheck(PetscAbsScalar(read[0] - read[1]) <= 1e4 * PETSC_MACHINE_EPSILON * PetscAbsScalar(read[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Kind %d, step %d: what was read sums up to %g and should to %g", kind, step, (double)PetscRealPart(read[1]), (double)PetscRealPart(read[0]));
  }
  for (int r = 0; r < 2; r++) {
    PetscCall(MatDestroy(&F[r]));
    PetscCall(MatDestroy(&A[r]));
    for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&M[r][k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A package that takes subclasses of MATSEQAIJ for parallel matrices. */
static PetscErrorCode TestRefused(MatType type)
{
  Mat            A[2], F = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 20, 20, TEST_EVEN, 3, 1, &A[0], &A[1]));
  PetscCall(MatGetFactor(A[0], MATSOLVERMKL_CPARDISO, MAT_FACTOR_LU, &F));
  PetscCall(MatDestroy(&F));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatGetFactor(A[1], MATSOLVERMKL_CPARDISO, MAT_FACTOR_LU, &F);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_SUP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_SUP", MATSOLVERMKL_CPARDISO, (int)ierr);
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MatInitializePackage()); /* otherwise the first registration forgets PETSc's own */
  PetscCall(MatSolverTypeRegister(MATSOLVERSPQR, MATSEQAIJ, MAT_FACTOR_QR, CreateFactor));
  PetscCall(MatSolverTypeRegister(MATSOLVERSPQR, MATNORMAL, MAT_FACTOR_QR, CreateFactor));
  PetscCall(MatSolverTypeRegister(MATSOLVERSPQR, MATNORMALHERMITIAN, MAT_FACTOR_QR, CreateFactor));
  PetscCall(MatSolverTypeRegister(MATSOLVERMUMPS, MATNEST, MAT_FACTOR_LU, CreateFactor));
  PetscCall(MatSolverTypeRegister(MATSOLVERMKL_CPARDISO, MATSEQAIJ, MAT_FACTOR_LU, CreateFactor));
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int kind = size > 1 ? 3 : 0; kind < 4; kind++) PetscCall(Test(type, kind));
  if (size == 1) PetscCall(TestRefused(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
