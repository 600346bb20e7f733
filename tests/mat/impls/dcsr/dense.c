static char help[] = "Products with dense matrices on host and device, A B and A^T B, made once and again after changes, against MATAIJ.\n\n";

#include "testmat.h"
#include <petscsparsecuda/sys.h>

#define SIZE 70

/* The matrix of MATAIJ and of the type, dense factors and results that belong to them. */
typedef struct {
  MatProductType kind;
  PetscBool      api; /* by MatMatMult() and MatTransposeMatMult(), not by MatProductCreate() */
  Mat            A[2], B[2], C[2];
} Products;

/* Entries by global indices and seed. */
static PetscErrorCode FillDense(Mat B, PetscInt seed)
{
  PetscInt     begin, end, N, lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(MatDenseGetLDA(B, &lda));
  PetscCall(MatDenseGetArrayWrite(B, &b));
  for (PetscInt j = 0; j < N; j++)
    for (PetscInt i = begin; i < end; i++) b[(size_t)j * (size_t)lda + (size_t)(i - begin)] = (PetscReal)((i * 13 + j * 7 + seed * 5) % 17) / 8 - 1;
  PetscCall(MatDenseRestoreArrayWrite(B, &b));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor for A on the left, or for its transpose, with room behind its columns. */
static PetscErrorCode CreateDense(Mat A, PetscBool transpose, MatType type, PetscInt columns, PetscInt room, Mat *B)
{
  PetscInt m, n, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, transpose ? m : n, PETSC_DECIDE, transpose ? M : N, columns));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatDenseSetLDA(*B, (transpose ? m : n) + room));
  PetscCall(MatSetUp(*B));
  PetscCall(FillDense(*B, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareDense(Mat expected, Mat got, const char what[])
{
  const PetscScalar *x, *y;
  PetscInt           m, N, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(expected, &m, NULL));
  PetscCall(MatGetSize(expected, NULL, &N));
  PetscCall(MatDenseGetLDA(expected, &ldx));
  PetscCall(MatDenseGetLDA(got, &ldy));
  PetscCall(MatDenseGetArrayRead(expected, &x));
  PetscCall(MatDenseGetArrayRead(got, &y));
  for (PetscInt j = 0; j < N; j++)
    for (PetscInt i = 0; i < m; i++) {
      const PetscScalar a = x[(size_t)j * (size_t)ldx + (size_t)i], b = y[(size_t)j * (size_t)ldy + (size_t)i];

      PetscCheck(PetscAbsScalar(a - b) <= 1e3 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(a)), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s: local entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is %g, not %g", what, i, j, (double)PetscRealPart(b), (double)PetscRealPart(a));
    }
  PetscCall(MatDenseRestoreArrayRead(expected, &x));
  PetscCall(MatDenseRestoreArrayRead(got, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Products *p, MatReuse reuse)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (p->api && p->kind == MATPRODUCT_AB) PetscCall(MatMatMult(p->A[k], p->B[k], reuse, PETSC_DETERMINE, &p->C[k]));
    else if (p->api) PetscCall(MatTransposeMatMult(p->A[k], p->B[k], reuse, PETSC_DETERMINE, &p->C[k]));
    else {
      if (reuse == MAT_INITIAL_MATRIX) {
        PetscCall(MatProductCreate(p->A[k], p->B[k], NULL, &p->C[k]));
        PetscCall(MatProductSetType(p->C[k], p->kind));
        PetscCall(MatProductSetFromOptions(p->C[k]));
        PetscCall(MatProductSymbolic(p->C[k]));
      }
      PetscCall(MatProductNumeric(p->C[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Again with other values of A and of B, with a factor that is bound to the CPU for a while, and on one process with another pattern. */
static PetscErrorCode TestReuse(Products *p, const char what[])
{
  PetscMPIInt size;
  char        name[256];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int round = 0; round < 5; round++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s, again %d", what, round));
    for (int k = 0; k < 2; k++) {
      if (round == 0 || round == 4) PetscCall(TestEnter(p->A[k], 5, 20 + round));
      if (round == 1) PetscCall(FillDense(p->B[k], 3));
      if (round == 3 && size == 1) {
        PetscCall(MatSetOption(p->A[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(TestEnter(p->A[k], 9, 3));
      }
    }
    if (round == 2) PetscCall(MatBindToCPU(p->A[1], PETSC_TRUE));
    if (round == 3 && size == 1) PetscCall(MatBindToCPU(p->B[1], PETSC_TRUE));
    PetscCall(Multiply(p, MAT_REUSE_MATRIX));
    if (round == 2) PetscCall(MatBindToCPU(p->A[1], PETSC_FALSE));
    if (round == 3 && size == 1) PetscCall(MatBindToCPU(p->B[1], PETSC_FALSE));
    PetscCall(CompareDense(p->C[0], p->C[1], name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result is dense, and on one process with a matrix on the device it has B's type. */
static PetscErrorCode CheckType(const Products *p, const char what[])
{
  PetscBool   is, device;
  PetscMPIInt size;
  MatType     type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)p->C[1], &is, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCall(TestUsesDevice(p->A[1], &device));
  PetscCall(MatGetType(p->B[1], &type));
  if (is && device && size == 1) PetscCall(PetscObjectTypeCompare((PetscObject)p->C[1], type, &is));
  PetscCheck(is, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the result has another type", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(const char type[], PetscInt M, PetscInt N, TestLayout layout, MatType dense, PetscInt columns, MatProductType kind, PetscBool api)
{
  Products p = {.kind = kind, .api = api};
  char     what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s of %" PetscInt_FMT " x %" PetscInt_FMT ", layout %d, %" PetscInt_FMT " columns of %s", MatProductTypes[kind], M, N, (int)layout, columns, dense));
  PetscCall(TestCreatePair(type, M, N, layout, 5, 1, &p.A[0], &p.A[1]));
  for (int k = 0; k < 2; k++) PetscCall(CreateDense(p.A[k], (PetscBool)(kind == MATPRODUCT_AtB), k ? dense : MATDENSE, columns, columns % 3, &p.B[k]));
  PetscCall(Multiply(&p, MAT_INITIAL_MATRIX));
  PetscCall(CheckType(&p, what));
  PetscCall(CompareDense(p.C[0], p.C[1], what));
  PetscCall(TestReuse(&p, what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&p.A[k]));
    PetscCall(MatDestroy(&p.B[k]));
    PetscCall(MatDestroy(&p.C[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDenseType(const char type[], MatType dense)
{
  static const PetscInt columns[] = {1, 2, 7, 33};

  PetscFunctionBegin;
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++)
    for (int shape = 0; shape < 3; shape++)
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++)
        for (int api = 0; api < 2; api++) {
          const PetscInt M = shape == 2 ? 9 : SIZE, N = shape == 1 ? 11 : SIZE;

          PetscCall(TestProduct(type, M, N, layout, dense, columns[k], MATPRODUCT_AB, (PetscBool)api));
          PetscCall(TestProduct(type, M, N, layout, dense, columns[k], MATPRODUCT_AtB, (PetscBool)api));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of three with a dense matrix, which PETSc does one after the other by the functions for two. */
static PetscErrorCode TestTriple(const char type[])
{
  Mat         A[2], D, E, C[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePair(type, SIZE, 13, TEST_EVEN, 5, 1, &A[0], &A[1]));
  PetscCall(CreateDense(A[0], PETSC_TRUE, MATDENSE, SIZE, 0, &D)); /* SIZE x SIZE */
  PetscCall(CreateDense(A[0], PETSC_FALSE, MATDENSE, 7, 0, &E));   /* 13 x 7 */
  for (int k = 0; k < 2; k++) PetscCall(MatPtAP(D, A[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
  PetscCall(CompareDense(C[0], C[1], "MatPtAP with a dense matrix in the middle"));
  PetscCall(MatScale(D, -2));
  for (int k = 0; k < 2; k++) PetscCall(MatPtAP(D, A[k], MAT_REUSE_MATRIX, PETSC_DETERMINE, &C[k]));
  PetscCall(CompareDense(C[0], C[1], "MatPtAP with a dense matrix in the middle, again"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&C[k]));
    PetscCall(MatMatMatMult(D, A[k], E, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
  }
  PetscCall(CompareDense(C[0], C[1], "MatMatMatMult with two dense matrices"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&C[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One allocation after the other fails: the result is as it was, and the next product is right. Every time with another pattern, so that everything is made again. */
static PetscErrorCode TestOutOfMemory(const char type[], MatType dense, MatProductType kind, PetscInt columns)
{
  Products p = {.kind = kind, .api = PETSC_TRUE};

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 5, 1, &p.A[0], &p.A[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateDense(p.A[k], PETSC_FALSE, k ? dense : MATDENSE, columns, 0, &p.B[k]));
    PetscCall(MatSetOption(p.A[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscCall(Multiply(&p, MAT_INITIAL_MATRIX));
  for (PetscInt n = 1; n <= 16; n++) {
    PetscErrorCode ierr;

    for (int k = 0; k < 2; k++) PetscCall(TestEnter(p.A[k], 5 + n, n));
    PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    if (kind == MATPRODUCT_AB) ierr = MatMatMult(p.A[1], p.B[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &p.C[1]);
    else ierr = MatTransposeMatMult(p.A[1], p.B[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &p.C[1]);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d instead of that there is no memory", (int)ierr);
    if (ierr != PETSC_SUCCESS) PetscCall(CompareDense(p.C[0], p.C[1], "the result after an error"));
    PetscCall(Multiply(&p, MAT_REUSE_MATRIX));
    PetscCall(CompareDense(p.C[0], p.C[1], "the product after an error"));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&p.A[k]));
    PetscCall(MatDestroy(&p.B[k]));
    PetscCall(MatDestroy(&p.C[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(const char type[])
{
  static const PetscInt columns[] = {1, 3, 33};
  PetscMPIInt           size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++)
    for (int host = 0; host < 2; host++) {
      PetscCall(TestOutOfMemory(type, host ? MATDENSE : MATDENSECUDA, MATPRODUCT_AB, columns[k]));
      PetscCall(TestOutOfMemory(type, host ? MATDENSE : MATDENSECUDA, MATPRODUCT_AtB, columns[k]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  Mat       A;
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreate(type, 4, 4, TEST_EVEN, 1, 1, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(TestDenseType(type, MATDENSE));
  if (device) PetscCall(TestDenseType(type, MATDENSECUDA));
  PetscCall(TestTriple(type));
  if (device) PetscCall(TestErrors(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         nsize: {{1 3}}
         args: -mat_dcsr_test_hide_host
      test:
         suffix: explicittranspose
         nsize: {{1 3}}
         args: -mat_dcsr_deterministic
      test:
         suffix: wide
         nsize: {{1 3}}
         args: -mat_dcsr_test_wide_from 100

TEST*/
