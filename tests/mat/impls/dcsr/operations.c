static char help[] = "MatSetOperation(): products with vectors that the program sets stay when a matrix is given options or assembled again, and everybody calls them.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

/* The products of a matrix before the program sets its own, which call them: MATAIJ's and the type's. */
static struct _MatOps own[2];

#define OWN(A) (own[(A)->ops->duplicate == own[0].duplicate ? 0 : 1])

static PetscErrorCode Mult(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*OWN(A).mult)(A, x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTranspose(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*OWN(A).multtranspose)(A, x, y));
  PetscCall(VecScale(y, 3.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultAdd(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*OWN(A).multadd)(A, x, z, y));
  PetscCall(VecScale(y, 4.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposeAdd(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*OWN(A).multtransposeadd)(A, x, z, y));
  PetscCall(VecScale(y, 5.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All kinds of products with vectors of both matrices. */
static PetscErrorCode CheckProducts(Mat A[2], const char what[])
{
  Vec x[2], y[2], z[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A[k], &x[k], &y[k]));
    PetscCall(VecDuplicate(y[k], &z[k]));
    PetscCall(TestFill(x[k], 2));
    PetscCall(TestFill(z[k], 5));
    PetscCall(MatResidual(A[k], z[k], x[k], y[k]));
  }
  PetscCall(TestCompareVec(y[0], y[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatMultAdd(A[k], x[k], z[k], y[k]));
  PetscCall(TestCompareVec(y[0], y[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatMultTransposeAdd(A[k], z[k], x[k], x[k]));
  PetscCall(TestCompareVec(x[0], x[1], what));
  PetscCall(TestCompareProducts(A[0], A[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
    PetscCall(VecDestroy(&z[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOperations(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)Mult));
  PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MultTranspose));
  PetscCall(MatSetOperation(A, MATOP_MULT_ADD, (PetscErrorCodeFn *)MultAdd));
  PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE_ADD, (PetscErrorCodeFn *)MultTransposeAdd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that are there and new ones, on the host or on the device. */
static PetscErrorCode AssembleAgain(Mat A)
{
  PetscInt begin, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, (3 * i) % n, 1.5, ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, TestLayout layout)
{
  Mat A[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 41, 29, layout, 5, 1, &A[0], &A[1]));
  for (int k = 0; k < 2; k++) own[k] = *A[k]->ops;
  for (int k = 0; k < 2; k++) PetscCall(SetOperations(A[k]));
  PetscCall(CheckProducts(A, "products of the program"));
  for (int k = 0; k < 2; k++) PetscCall(MatSetOption(A[k], MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
  PetscCall(CheckProducts(A, "after an option"));
  for (int k = 0; k < 2; k++) PetscCall(AssembleAgain(A[k]));
  PetscCall(CheckProducts(A, "after an assembly"));
  PetscCall(MatBindToCPU(A[1], PETSC_TRUE));
  for (int k = 0; k < 2; k++) PetscCall(AssembleAgain(A[k]));
  PetscCall(CheckProducts(A, "after an assembly on the host"));
  PetscCall(MatBindToCPU(A[1], PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(AssembleAgain(A[k]));
  PetscCall(CheckProducts(A, "after an assembly on the device"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) PetscCall(Test(type, layout));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
         args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: host
         args: -device_enable none

TEST*/
