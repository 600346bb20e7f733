static char help[] = "MatGetInfo(): what was preallocated, used and is unneeded, before and after assemblies, against MATAIJ; errors for room that is missing or unused.\n\n";

#include "testmat.h"

#define SIZE 30

/* How much room is asked for. */
typedef enum {
  A_ROW,       /* one number for all rows, more than is used */
  ALL_ROWS,    /* more than there are columns */
  EACH_ROW,    /* arrays, just what is used */
  DEFAULT_ROW, /* negative numbers */
  NUM_ROOMS
} Room;

/* Entries a row in pass 0, on and off the diagonal block: a diagonal, and one more in even rows. */
static PetscErrorCode Preallocate(Mat A, Room room)
{
  const PetscInt per_row[] = {3, SIZE + 5, 0, PETSC_DEFAULT};
  PetscInt       begin, end, column_begin, column_end, *d_nnz = NULL, *o_nnz = NULL;
  PetscLayout    rows, columns;

  PetscFunctionBegin;
  if (room == EACH_ROW) {
    PetscCall(MatGetLayouts(A, &rows, &columns));
    PetscCall(PetscLayoutSetUp(rows));
    PetscCall(PetscLayoutSetUp(columns));
    PetscCall(PetscLayoutGetRange(rows, &begin, &end));
    PetscCall(PetscLayoutGetRange(columns, &column_begin, &column_end));
    PetscCall(PetscCalloc2(end - begin, &d_nnz, end - begin, &o_nnz));
    for (PetscInt i = begin; i < end; i++) {
      const PetscInt other = (i + SIZE / 2) % SIZE;

      d_nnz[i - begin] = 1;
      if (i % 2 == 0) (other >= column_begin && other < column_end ? d_nnz : o_nnz)[i - begin]++;
    }
  }
  PetscCall(MatSeqAIJSetPreallocation(A, per_row[room], d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(A, per_row[room], d_nnz, per_row[room], o_nnz));
  PetscCall(PetscFree2(d_nnz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Enter(Mat A, PetscInt pass, MatAssemblyType type)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, (PetscReal)(2 + pass), ADD_VALUES));
    if (i % 2 == 0) PetscCall(MatSetValue(A, i, (i + SIZE / 2) % SIZE, 1, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, type));
  PetscCall(MatAssemblyEnd(A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareInfo(const Mat X[2], const char what[])
{
  const MatInfoType types[] = {MAT_LOCAL, MAT_GLOBAL_MAX, MAT_GLOBAL_SUM};

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    MatInfo info[2];

    for (int k = 0; k < 2; k++) PetscCall(MatGetInfo(X[k], types[t], &info[k]));
    PetscCheck(info[0].nz_allocated == info[1].nz_allocated && info[0].nz_used == info[1].nz_used && info[0].nz_unneeded == info[1].nz_unneeded && info[0].mallocs == info[1].mallocs &&
                 info[0].block_size == info[1].block_size && info[0].memory == info[1].memory,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatGetInfo(%d) %s: allocated %g, used %g, unneeded %g, mallocs %g, block size %g, memory %g and should be %g, %g, %g, %g, %g, %g", (int)types[t], what,
               info[1].nz_allocated, info[1].nz_used, info[1].nz_unneeded, info[1].mallocs, info[1].block_size, info[1].memory, info[0].nz_allocated, info[0].nz_used, info[0].nz_unneeded,
               info[0].mallocs, info[0].block_size, info[0].memory);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRoom(MatType type, Room room)
{
  const PetscInt row = SIZE / 2;
  Mat            X[2], Y[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, &X[k]));
    PetscCall(Preallocate(X[k], room));
  }
  PetscCall(CompareInfo(X, "after the preallocation"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(X[k], 0, MAT_FLUSH_ASSEMBLY));
  PetscCall(CompareInfo(X, "after a flush assembly"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(X[k], 0, MAT_FINAL_ASSEMBLY));
  PetscCall(CompareInfo(X, "after the assembly"));
  for (int k = 0; k < 2; k++) PetscCall(MatDuplicate(X[k], MAT_COPY_VALUES, &Y[k]));
  PetscCall(CompareInfo(Y, "of a copy"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&Y[k]));
  for (int k = 0; k < 2; k++) PetscCall(Enter(X[k], 1, MAT_FINAL_ASSEMBLY));
  PetscCall(CompareInfo(X, "after another assembly"));
  PetscCall(TestCompare(X[0], X[1], "the matrix"));
  PetscCall(CompareInfo(X, "after it was read"));
  for (int k = 0; k < 2; k++) PetscCall(MatZeroEntries(X[k]));
  PetscCall(CompareInfo(X, "after MatZeroEntries()"));
  for (int k = 0; k < 2; k++) PetscCall(MatResetPreallocation(X[k]));
  PetscCall(CompareInfo(X, "after MatResetPreallocation()"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(X[k], 2, MAT_FINAL_ASSEMBLY));
  PetscCall(CompareInfo(X, "after the assembly that followed it"));
  PetscCall(TestCompare(X[0], X[1], "the matrix after MatResetPreallocation()"));
  for (int k = 0; k < 2; k++) PetscCall(Preallocate(X[k], A_ROW));
  PetscCall(CompareInfo(X, "after another preallocation"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(X[k], 2, MAT_FINAL_ASSEMBLY));
  PetscCall(CompareInfo(X, "after the assembly that followed that"));
  for (int k = 0; k < 2; k++) PetscCall(MatZeroRows(X[k], 1, &row, 2, NULL, NULL));
  PetscCall(CompareInfo(X, "after MatZeroRows()"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatZeroEntries(X[k]));
    PetscCall(MatShift(X[k], 3));
    PetscCall(MatEliminateZeros(X[k], PETSC_TRUE));
  }
  PetscCall(CompareInfo(X, "after MatEliminateZeros()"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a preallocation there is nothing unneeded after an assembly. */
static PetscErrorCode TestSetUp(MatType type)
{
  Mat X[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, &X[k]));
    PetscCall(MatSetUp(X[k]));
    PetscCall(Enter(X[k], 0, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(CompareInfo(X, "without a preallocation"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* num entries in each local row of the diagonal block; the error of what went wrong first */
static PetscErrorCode EnterRows(Mat A, PetscInt num)
{
  PetscInt       begin, end, column_begin, column_end;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &column_begin, &column_end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < num && ierr == PETSC_SUCCESS; k++) ierr = MatSetValue(A, i, column_begin + (i + k) % (column_end - column_begin), 1, INSERT_VALUES);
  if (ierr == PETSC_SUCCESS) ierr = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  if (ierr == PETSC_SUCCESS) ierr = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  PetscFunctionReturn(ierr);
}

/* Entries a row that are preallocated, entered, and entered after MatResetPreallocation() (0: no more), and an option. */
static PetscErrorCode TestErrors(MatType type, PetscInt room, PetscInt first, PetscInt second, MatOption option)
{
  PetscErrorCode ierr[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Mat A;

    PetscCall(Create(k ? type : MATAIJ, &A));
    PetscCall(MatSeqAIJSetPreallocation(A, room, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, room, NULL, 0, NULL));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE)); /* ours forgets it with the preallocation, which it does not need */
    PetscCall(MatSetOption(A, option, PETSC_TRUE));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr[k] = EnterRows(A, first);
    if (ierr[k] == PETSC_SUCCESS && second > 0) ierr[k] = MatResetPreallocation(A);
    if (ierr[k] == PETSC_SUCCESS && second > 0) ierr[k] = EnterRows(A, second);
    PetscCall(PetscPopErrorHandler());
    PetscCall(MatDestroy(&A));
  }
  PetscCheck(ierr[0] == ierr[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " entries a row, then %" PetscInt_FMT ", room for %" PetscInt_FMT ": error %d and should be %d",
             MatOptions[option], first, second, room, (int)ierr[1], (int)ierr[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatOption options[] = {MAT_NEW_NONZERO_ALLOCATION_ERR, MAT_UNUSED_NONZERO_LOCATION_ERR};
  char           *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int room = 0; room < NUM_ROOMS; room++) PetscCall(TestRoom(type, (Room)room));
  PetscCall(TestSetUp(type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
    for (PetscInt first = 2; first <= 4; first++) {
      for (PetscInt second = 0; second <= 4; second++) PetscCall(TestErrors(type, 3, first, second, options[k]));
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
