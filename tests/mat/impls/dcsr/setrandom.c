static char help[] = "MatSetRandom() fills what was preallocated as MATAIJ does, and gives an assembled matrix new values.\n\n";

#include "testmat.h"

/* A matrix that was preallocated with the same number for all rows, with numbers by row, or as MATAIJ does by itself, and is random now. */
static PetscErrorCode CreateRandom(MatType type, PetscInt m, PetscInt n, int how, Mat *A)
{
  PetscInt    rows = PETSC_DECIDE, *diagonal, *others;
  PetscRandom r;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &m));
  PetscCall(PetscMalloc2(rows, &diagonal, rows, &others));
  for (PetscInt i = 0; i < rows; i++) {
    diagonal[i] = i % 3;
    others[i]   = i % 2;
  }
  PetscCall(MatSeqAIJSetPreallocation(*A, how == 0 ? 3 : PETSC_DEFAULT, how == 1 ? diagonal : NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, how == 0 ? 3 : PETSC_DEFAULT, how == 1 ? diagonal : NULL, how == 0 ? 2 : PETSC_DEFAULT, how == 1 ? others : NULL));
  PetscCall(PetscFree2(diagonal, others));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &r));
  PetscCall(PetscRandomSetType(r, PETSCRAND48));
  PetscCall(MatSetRandom(*A, r));
  PetscCall(PetscRandomDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(MatType type, PetscInt m, PetscInt n, int how)
{
  Mat         mats[2];
  PetscRandom r;

  PetscFunctionBegin;
  PetscCall(CreateRandom(MATAIJ, m, n, how, &mats[0]));
  PetscCall(CreateRandom(type, m, n, how, &mats[1]));
  PetscCall(TestIsValid(mats[1], "MatSetRandom() of a preallocated matrix"));
  PetscCall(TestCompare(mats[0], mats[1], "MatSetRandom() of a preallocated matrix"));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &r));
    PetscCall(PetscRandomSetType(r, PETSCRAND48));
    PetscCall(MatScale(mats[k], 2.0));
    PetscCall(MatSetRandom(mats[k], r));
    PetscCall(PetscRandomDestroy(&r));
  }
  PetscCall(TestCompare(mats[0], mats[1], "MatSetRandom() of an assembled matrix"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a preallocation it is an error, as for MATAIJ. */
static PetscErrorCode CheckError(MatType type)
{
  Mat            A;
  PetscRandom    r;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &r));
  PetscCall(PetscRandomSetType(r, PETSCRAND48));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 10, 10));
  PetscCall(MatSetType(A, type));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetRandom(A, r);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSetRandom() without a preallocation gave error %d", (int)ierr);
  PetscCall(PetscRandomDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int how = 0; how < 3; how++) {
    PetscCall(Compare(type, 31, 31, how));
    PetscCall(Compare(type, 50, 17, how));
    PetscCall(Compare(type, 6, 40, how));
  }
  PetscCall(CheckError(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
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
