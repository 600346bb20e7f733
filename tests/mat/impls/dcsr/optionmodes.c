static char help[] = "All options of MatSetOption() that concern insertion, together and with both insertion modes, against a MATAIJ with enough room.\n\n";

#include "testmat.h"

#define SIZE   21
#define ZEROED 7 /* the row of MatZeroRows(); its diagonal entry is there, and entered as zero */

/* Options of a run, as bits. */
enum {
  IGNORE_ZERO     = 1,
  IGNORE_OFF_PROC = 2,
  BY_COLUMNS      = 4,
  SUBSET          = 8,
  ZERO_ROW        = 16, /* a row is zeroed between the assemblies, and its pattern kept */
  NUM_RUNS        = 32
};

/* What the options say of new entries in the second assembly. */
typedef enum {
  NEW_ALLOWED,
  NEW_IGNORED,   /* MAT_NEW_NONZERO_LOCATIONS */
  NEW_FORBIDDEN, /* MAT_NEW_NONZERO_LOCATION_ERR; there are none, but perhaps new zeros that are ignored */
  NEW_ROOM,      /* MAT_NEW_NONZERO_ALLOCATION_ERR; the same */
  NUM_NEW
} NewEntries;

/* One number in seven is zero, in both assemblies. */
static PetscScalar Value(PetscInt i, PetscInt j, PetscInt pass)
{
  return (i + 3 * j) % 7 == 0 ? 0 : (PetscReal)(1 + (5 * i + j + 2 * pass) % 11);
}

/* Blocks of two rows and three columns with negative ones between them, anywhere in the matrix; extra: one more entry in each local row. */
static PetscErrorCode Enter(Mat A, int run, PetscInt pass, InsertMode mode, PetscBool extra)
{
  PetscInt    begin, end;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt b = 0; b < 12; b++) {
    const PetscInt row = (4 * b + 7 * rank) % SIZE, column = (5 * b + 2 * rank) % SIZE;
    const PetscInt rows[] = {row, (row + SIZE / 2) % SIZE}, columns[] = {column, b % 3 ? (column + 6) % SIZE : -1, (column + SIZE / 3 + 1) % SIZE};
    PetscScalar    v[6];

    for (PetscInt i = 0; i < 2; i++)
      for (PetscInt j = 0; j < 3; j++) v[run & BY_COLUMNS ? i + 2 * j : 3 * i + j] = columns[j] < 0 ? 1 : Value(rows[i], columns[j], pass);
    PetscCall(MatSetValues(A, 2, rows, 3, columns, v, mode));
  }
  if (begin <= ZEROED && ZEROED < end) PetscCall(MatSetValue(A, ZEROED, ZEROED, Value(ZEROED, ZEROED, pass), mode));
  for (PetscInt i = begin; extra && i < end; i++) PetscCall(MatSetValue(A, i, (i * i + 1) % SIZE, Value(i, (i * i + 1) % SIZE, pass), mode));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetNewEntries(Mat A, NewEntries new_entries)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (new_entries == NEW_IGNORED) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  if (new_entries == NEW_FORBIDDEN) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  if (new_entries == NEW_ROOM) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, int run, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, SIZE, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, SIZE, NULL, SIZE, NULL));
  PetscCall(MatSetOption(*A, MAT_IGNORE_ZERO_ENTRIES, (PetscBool)((run & IGNORE_ZERO) != 0)));
  PetscCall(MatSetOption(*A, MAT_IGNORE_OFF_PROC_ENTRIES, (PetscBool)((run & IGNORE_OFF_PROC) != 0)));
  PetscCall(MatSetOption(*A, MAT_ROW_ORIENTED, (PetscBool) !(run & BY_COLUMNS)));
  if (run & SUBSET) PetscCall(MatSetOption(*A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_KEEP_NONZERO_PATTERN, (PetscBool)((run & ZERO_ROW) != 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatType type, int run, InsertMode mode, NewEntries new_entries)
{
  const PetscBool extra = (PetscBool)(new_entries == NEW_ALLOWED || new_entries == NEW_IGNORED);
  const PetscInt  row   = ZEROED;
  char            what[128];
  Mat             X[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "options %d, new entries %d, %s", run, (int)new_entries, mode == ADD_VALUES ? "ADD_VALUES" : "INSERT_VALUES"));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, run, &X[k]));
    PetscCall(Enter(X[k], run, 0, mode, PETSC_FALSE));
  }
  PetscCall(TestCompareRows(X[0], X[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(SetNewEntries(X[k], new_entries));
    if (run & ZERO_ROW) PetscCall(MatZeroRows(X[k], 1, &row, 3, NULL, NULL));
    PetscCall(Enter(X[k], run, 1, mode, extra));
  }
  PetscCall(TestCompare(X[0], X[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int run = 0; run < NUM_RUNS; run++) {
    for (int new_entries = 0; new_entries < NUM_NEW; new_entries++) {
      PetscCall(Test(type, run, INSERT_VALUES, (NewEntries)new_entries));
      PetscCall(Test(type, run, ADD_VALUES, (NewEntries)new_entries));
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

TEST*/
