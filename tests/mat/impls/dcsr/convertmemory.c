static char help[] = "A matrix that has become MATAIJ in place, and is destroyed then, leaves no memory on the device behind.\n\n";

#include "testmat.h"

/* Products with vectors of the host, for which a matrix keeps scratch. */
static PetscErrorCode UseAndConvert(MatType type)
{
  PetscInt n;
  Mat      A;
  Vec      x, y;

  PetscFunctionBegin;
  PetscCall(TestCreate(type, 40, 40, TEST_EVEN, 4, 1, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, n, 40));
  PetscCall(VecSetType(x, VECSTANDARD));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(TestFill(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(MatMultTranspose(A, x, y));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  size_t    before, after;
  PetscBool device;
  Mat       A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreate(type, 40, 40, TEST_EVEN, 4, 1, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  if (device) {
    PetscCall(UseAndConvert(type)); // what stays for the life of the process is there afterwards
    PetscCall(TestLibMemoryInUse(&before));
    PetscCall(UseAndConvert(type));
    PetscCall(TestLibMemoryInUse(&after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes on the device are left of a matrix that had become MATAIJ", after - before);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      nsize: {{1 2}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda

TEST*/
