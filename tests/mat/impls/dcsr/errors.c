static char help[] = "Wrong arguments give an error with words, on every rank, and leave the matrix usable.\n\n";

#include "testmat.h"

/* Runs call with errors returned, and expects one. */
#define Fails(what, call) \
  do { \
    PetscErrorCode ierr_; \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr_ = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCheck(ierr_ != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no error from %s", what); \
  } while (0)

int main(int argc, char **argv)
{
  char       *type;
  PetscInt    begin, end, n = 25, row, col = 0;
  PetscReal   norm;
  PetscScalar value = 1;
  Vec         x, y;
  Mat         A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, n, n, TEST_EVEN, 4, 1, &A, &B));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  row = begin;

  /* indices beyond the matrix */
  if (begin < end) {
    col = n;
    Fails("MatSetValues with a column too large", MatSetValues(B, 1, &row, 1, &col, &value, INSERT_VALUES));
    Fails("MatGetValues with a column too large", MatGetValues(B, 1, &row, 1, &col, &value));
  }
  row = n;
  col = 0;
  Fails("MatSetValues with a row too large", MatSetValues(B, 1, &row, 1, &col, &value, INSERT_VALUES));
  Fails("MatGetRow of a row too large", MatGetRow(B, n, NULL, NULL, NULL));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompare(A, B, "the matrix after refused indices"));

  /* sizes that do not fit */
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, PETSC_DECIDE, n + 30));
  PetscCall(VecSetType(x, VECSTANDARD));
  PetscCall(MatCreateVecs(B, NULL, &y));
  Fails("MatMult with x too long", MatMult(B, x, y));
  Fails("MatMultTranspose with x too long", MatMultTranspose(B, x, y));
  Fails("MatGetDiagonal with a vector too long", MatGetDiagonal(B, x));
  Fails("MatDiagonalScale with a vector too long", MatDiagonalScale(B, x, NULL));
  Fails("MatMult with x = y", MatMult(B, y, y));
  PetscCall(TestCreate(type, n + 30, n + 30, TEST_EVEN, 1, 1, &C));
  Fails("MatAXPY with another size", MatAXPY(B, 1, C, DIFFERENT_NONZERO_PATTERN));
  Fails("MatCopy with another size", MatCopy(C, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&C));
  PetscCall(TestCompare(A, B, "the matrix after refused sizes"));

  /* before the assembly */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetSizes(C, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(C, type));
  Fails("MatMult before the assembly", MatMult(C, y, x));
  Fails("MatNorm before the assembly", MatNorm(C, NORM_1, &norm));
  Fails("MatGetRow before the assembly", MatGetRow(C, begin, NULL, NULL, NULL));
  PetscCall(TestEnter(C, 4, 1));
  PetscCall(TestCompare(A, C, "a matrix that was asked too early"));
  PetscCall(MatDestroy(&C));

  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      nsize: {{1 2 3}}
      output_file: output/empty.out

TEST*/
