static char help[] = "MatCopyHashToXAIJ(), which assembles a copy of what was inserted so far, against MATAIJ.\n\n";

#include "testmat.h"

#define SIZE 25

/* Entries in rows of all processes, some of them zero, some set twice; further ones in a second round. */
static PetscErrorCode Enter(Mat A, InsertMode mode, PetscInt round)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt row = (i + (k % 2 ? SIZE / 2 : 0)) % SIZE, column = (3 * row + 5 * k + round) % SIZE;

      PetscCall(MatSetValue(A, row, column, (PetscReal)((row + 2 * column) % 3), mode));
      if (k < 2) PetscCall(MatSetValue(A, row, column, (PetscReal)((row + 2 * column) % 3), mode));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A and its copies of one type or two. The matrix keeps what was inserted: more can be inserted, and copied again.
*/
static PetscErrorCode CopyTwice(MatType type, MatType copy_type, InsertMode mode, PetscBool ignore, Mat X[3])
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, ignore));
  for (int round = 0; round < 2; round++) {
    PetscCall(Enter(A, mode, round));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[round]));
    PetscCall(MatSetSizes(X[round], PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
    PetscCall(MatSetType(X[round], copy_type));
    PetscCall(MatSetUp(X[round]));
    PetscCall(MatCopyHashToXAIJ(A, X[round]));
    PetscCall(Enter(X[round], mode, 2)); /* the copy takes values like any matrix */
    PetscCall(MatAssemblyBegin(X[round], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X[round], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatCopyHashToXAIJ(A, A));
  X[2] = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, MatType copy_type, InsertMode mode, PetscBool ignore)
{
  const char *const what[] = {"the first copy", "the second copy", "the matrix itself"};
  Mat               X[2][3];

  PetscFunctionBegin;
  PetscCall(CopyTwice(MATAIJ, MATAIJ, mode, ignore, X[0]));
  PetscCall(CopyTwice(type, copy_type, mode, ignore, X[1]));
  for (int k = 0; k < 3; k++) {
    PetscCall(TestCompareProducts(X[0][k], X[1][k], what[k]));
    if (!ignore) PetscCall(TestCompareRows(X[0][k], X[1][k], what[k])); /* MATAIJ's hash ignores some zeros that MATAIJ keeps */
    PetscCall(MatDestroy(&X[0][k]));
    PetscCall(MatDestroy(&X[1][k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int ignore = 0; ignore < 2; ignore++) {
    for (int add = 0; add < 2; add++) {
      PetscCall(Test(type, type, add ? ADD_VALUES : INSERT_VALUES, (PetscBool)ignore));
      PetscCall(Test(type, MATAIJ, add ? ADD_VALUES : INSERT_VALUES, (PetscBool)ignore));
      PetscCall(Test(MATAIJ, type, add ? ADD_VALUES : INSERT_VALUES, (PetscBool)ignore));
    }
  }
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
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
