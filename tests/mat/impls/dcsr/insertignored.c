static char help[] = "Entries that options ignore make neither entries nor ghost columns nor errors, and the pattern stays what it was.\n\n";

#include "testmat.h"

#define LOCAL 8 /* rows and columns of a process */

/* What the options say, and when. */
typedef enum {
  ZEROS_FIRST,     /* zeros are ignored, in the first assembly */
  ZEROS_LATER,     /* the same in the second one, where new entries are welcome, */
  ZEROS_FORBIDDEN, /* or errors */
  ZEROS_ROOM,      /* the same by MAT_NEW_NONZERO_ALLOCATION_ERR */
  NEW_IGNORED,     /* new entries are ignored */
  NUM_CASES
} Case;

/* One ghost column. */
static PetscErrorCode Begin(MatType type, Case which, Mat *A)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, LOCAL, LOCAL, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 4, NULL, 4, NULL));
  PetscCall(MatSetOption(*A, MAT_IGNORE_ZERO_ENTRIES, (PetscBool)(which != NEW_IGNORED)));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatGetSize(*A, NULL, &N));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(*A, i, i, 2, INSERT_VALUES));
  PetscCall(MatSetValue(*A, begin, end % N, 1, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOptions(Mat A, Case which)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (which == ZEROS_FORBIDDEN) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  if (which == ZEROS_ROOM) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  if (which == NEW_IGNORED) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that are to be ignored, between others that are there; rows of the next process, too. */
static PetscErrorCode Enter(Mat A, Case which, InsertMode mode)
{
  const PetscScalar value = which == NEW_IGNORED ? 3 : 0;
  PetscInt          begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, NULL, &N));
  for (PetscInt k = 1; k < 5; k++) {
    PetscCall(MatSetValue(A, begin + k, (end + k) % N, value, mode));
    PetscCall(MatSetValue(A, begin + k, begin + k, 7, mode));
    PetscCall(MatSetValue(A, (end + k) % N, (begin + k + 2) % N, value, mode));
  }
  PetscCall(MatSetValue(A, begin + 1, end % N, value, mode)); /* in a column that is there */
  PetscCall(MatSetValue(A, begin, end % N, 5, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareGhosts(Mat A, Mat B, const char what[])
{
  PetscInt        n[2];
  const PetscInt *ghosts[2];

  PetscFunctionBegin;
  PetscCall(MatGetGhosts(A, &n[0], &ghosts[0]));
  PetscCall(MatGetGhosts(B, &n[1], &ghosts[1]));
  PetscCheck(n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " ghost columns, MATAIJ has %" PetscInt_FMT, what, n[1], n[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, Case which, InsertMode mode)
{
  char             what[64];
  Mat              X[2];
  PetscObjectState before, after;
  PetscBool        rises[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "case %d, %s", (int)which, mode == ADD_VALUES ? "ADD_VALUES" : "INSERT_VALUES"));
  for (int k = 0; k < 2; k++) {
    PetscCall(Begin(k ? type : MATAIJ, which, &X[k]));
    if (which != ZEROS_FIRST) PetscCall(TestAssemble(X[k], MAT_FINAL_ASSEMBLY));
    else if (mode != INSERT_VALUES) PetscCall(TestAssemble(X[k], MAT_FLUSH_ASSEMBLY));
    PetscCall(SetOptions(X[k], which));
    PetscCall(MatGetNonzeroState(X[k], &before));
    PetscCall(Enter(X[k], which, mode));
    PetscCall(TestAssemble(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatGetNonzeroState(X[k], &after));
    rises[k] = (PetscBool)(after != before);
  }
  PetscCheck(rises[0] || !rises[1] || which == ZEROS_FIRST, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the nonzerostate is %" PetscInt64_FMT " and was %" PetscInt64_FMT, what, (PetscInt64)after,
             (PetscInt64)before);
  PetscCall(CompareGhosts(X[0], X[1], what));
  PetscCall(TestCompare(X[0], X[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int which = 0; which < NUM_CASES; which++) {
    PetscCall(Test(type, (Case)which, INSERT_VALUES));
    PetscCall(Test(type, (Case)which, ADD_VALUES));
  }
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
         suffix: auto
         args: -mat_type autocuda

TEST*/
