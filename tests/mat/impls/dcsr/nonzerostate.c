static char help[] = "The nonzerostate grows whenever the pattern of a matrix may have changed, for as long as the matrix lives, and stays where it has not.\n\n";

#include "testmat.h"

#define SIZE 24

/* Another pattern for each shift, with as many entries. */
static PetscErrorCode Fill(Mat A, PetscInt shift)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, 10 + i, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, (i + 1 + shift % (SIZE - 1)) % SIZE, 1 + i + 100 * shift, INSERT_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResetHash(Mat A, PetscInt shift)
{
  PetscFunctionBegin;
  PetscCall(MatResetHash(A));
  PetscCall(Fill(A, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocate(Mat A, PetscInt shift)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
  PetscCall(Fill(A, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the last process alone. */
static PetscErrorCode FillRow(Mat A)
{
  PetscMPIInt      rank, size;
  PetscInt         begin;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (rank == size - 1)
    for (PetscInt j = 0; j < SIZE; j++) PetscCall(MatSetValue(A, begin, j, 1, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "New entries on a process: the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, (PetscInt64)before, (PetscInt64)after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertNew(Mat A, PetscInt shift)
{
  PetscFunctionBegin;
  PetscCall(Preallocate(A, shift));
  PetscCall(FillRow(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of one that is not filled. */
static PetscErrorCode ResetPreallocation(Mat A, PetscInt shift)
{
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(Preallocate(A, shift));
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatResetPreallocation(A));
  PetscCall(Fill(A, shift + 1));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatResetPreallocation(): the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, (PetscInt64)before, (PetscInt64)after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocateCOO(Mat A, PetscInt shift)
{
  PetscInt         begin, end, n = 0, i[2 * SIZE], j[2 * SIZE];
  PetscScalar      v[2 * SIZE];
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    for (PetscInt k = 0; k < 2; k++, n++) {
      i[n] = row;
      j[n] = (row + k * (1 + shift % (SIZE - 1))) % SIZE;
      v[n] = 1 + row;
    }
  }
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCheck(after >= before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSetValuesCOO(): the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, (PetscInt64)before, (PetscInt64)after);
  PetscCall(FillRow(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RemoveRow(Mat A, PetscInt shift)
{
  PetscInt begin, row;

  PetscFunctionBegin;
  PetscCall(Preallocate(A, shift));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  row = begin + shift % 3;
  PetscCall(MatZeroRows(A, 1, &row, 2, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATMPIAIJ does not count that. */
static PetscErrorCode EliminateZero(Mat A, PetscInt shift)
{
  PetscInt         begin;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(Preallocate(A, shift));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatSetValue(A, begin, begin, 0, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatEliminateZeros(A, PETSC_FALSE));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatEliminateZeros(): the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, (PetscInt64)before, (PetscInt64)after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeInPlace(Mat A, PETSC_UNUSED PetscInt shift)
{
  return MatTranspose(A, MAT_INPLACE_MATRIX, &A);
}

static PetscErrorCode Add(Mat A, PetscInt shift)
{
  MatType type;
  Mat     B;

  PetscFunctionBegin;
  PetscCall(Preallocate(A, shift));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(B, type));
  PetscCall(Preallocate(B, shift + 5));
  PetscCall(MatAXPY(A, 2, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type in between, which leaves nothing but the header. */
static PetscErrorCode ChangeType(Mat A, PetscInt shift)
{
  MatType old;
  char    type[128];

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &old));
  PetscCall(PetscStrncpy(type, old, sizeof(type)));
  PetscCall(MatSetType(A, MATDENSE));
  PetscCall(MatSetType(A, type));
  PetscCall(Preallocate(A, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*run)(Mat, PetscInt);
} changes[] = {{"MatResetPreallocation", ResetPreallocation},
               {"MatResetHash", ResetHash},
               {"MatXAIJSetPreallocation", Preallocate},
               {"MatSetPreallocationCOO", PreallocateCOO},
               {"new entries", InsertNew},
               {"MatZeroRows", RemoveRow},
               {"MatEliminateZeros", EliminateZero},
               {"MatTranspose in place", TransposeInPlace},
               {"MatAXPY", Add},
               {"MatSetType", ChangeType}};

static PetscErrorCode Change(Mat A, size_t c, PetscInt shift, PetscObjectState *last)
{
  PetscObjectState now;

  PetscFunctionBegin;
  PetscCall((*changes[c].run)(A, shift));
  PetscCall(MatGetNonzeroState(A, &now));
  PetscCheck(now > *last && now < 1000000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, changes[c].name, (PetscInt64)*last,
             (PetscInt64)now);
  *last = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each change three times, and after each other one: shifts make each pattern another one than the last. */
static PetscErrorCode TestGrows(MatType type, PetscBool bind)
{
  Mat              A;
  PetscObjectState state;
  PetscInt         shift = 0;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(A, type));
  PetscCall(Preallocate(A, shift));
  PetscCall(MatGetNonzeroState(A, &state));
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(changes); a++) {
    for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(changes); b++) {
      if (bind) PetscCall(MatBindToCPU(A, (PetscBool)((a + b) % 2)));
      if (b == a) PetscCall(Change(A, a, ++shift, &state));
      PetscCall(Change(A, a, ++shift, &state));
      PetscCall(Change(A, b, ++shift, &state));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transpose of the old pattern is not taken for one of the new pattern: refused, or made anew as with MATSEQAIJ. */
static PetscErrorCode TestTranspose(MatType type)
{
  Mat            A, T, fresh;
  PetscErrorCode error;

  PetscFunctionBegin;
  for (int reset = 0; reset < 2; reset++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
    PetscCall(MatSetType(A, type));
    PetscCall(Preallocate(A, 0));
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
    if (reset) PetscCall(ResetHash(A, 3));
    else PetscCall(Preallocate(A, 3));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    error = MatTranspose(A, MAT_REUSE_MATRIX, &T);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatTranspose() into that of another pattern: error %d", (int)error);
    if (error == PETSC_SUCCESS) {
      PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &fresh));
      PetscCall(TestCompare(fresh, T, "MatTranspose() into that of another pattern"));
      PetscCall(MatDestroy(&fresh));
    }
    PetscCall(MatDestroy(&T));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leaves the pattern what it is leaves the nonzerostate, of copies, too. */
static PetscErrorCode TestStays(MatType type)
{
  Mat              mats[2];
  PetscObjectState states[2];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[0]));
  PetscCall(MatSetSizes(mats[0], PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(mats[0], type));
  PetscCall(ResetPreallocation(mats[0], 2));
  PetscCall(MatDuplicate(mats[0], MAT_COPY_VALUES, &mats[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetNonzeroState(mats[k], &states[0]));
    PetscCall(Fill(mats[k], 3)); // the entries that are there
    PetscCall(MatScale(mats[k], 2));
    PetscCall(MatShift(mats[k], 1));
    PetscCall(MatEliminateZeros(mats[k], PETSC_FALSE));
    PetscCall(MatGetNonzeroState(mats[k], &states[1]));
    PetscCheck(states[0] == states[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the same pattern, and the nonzerostate was %" PetscInt64_FMT " and is %" PetscInt64_FMT, k ? "a copy" : "a matrix",
               (PetscInt64)states[0], (PetscInt64)states[1]);
  }
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestGrows(type, PETSC_FALSE));
  PetscCall(TestGrows(type, PETSC_TRUE));
  PetscCall(TestStays(type));
  PetscCall(TestTranspose(type));
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
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: host
         args: -device_enable none

TEST*/
