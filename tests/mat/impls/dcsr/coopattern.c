static char help[] = "MatSetValuesCOO() after changes of the matrix: refused on all processes when the nonzero pattern is another one, and as with MATAIJ when it is the same.\n\n";

#include "testmat.h"

#define SIZE 30

/* Entries that this process sets; GHOST: the diagonal, and one in the first ghost column, which is the only one. */
typedef enum {
  MANY,
  GHOST
} Kind;

typedef struct {
  PetscInt     n, *i, *j;
  PetscScalar *v;
  PetscInt     begin, end; /* rows of this process */
} List;

static PetscErrorCode ListCreate(Kind kind, Mat A, List *list)
{
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &list->begin, &list->end));
  PetscCall(PetscMalloc3(4 * SIZE, &list->i, 4 * SIZE, &list->j, 4 * SIZE, &list->v));
  list->n = 0;
  for (PetscInt i = list->begin; i < list->end; i++) {
    const PetscInt many[4][2] = {
      {i, i},
      {i, (i + 2) % SIZE},
      {i, (i + SIZE / 2) % SIZE},
      {(i + list->end - list->begin) % SIZE, (3 * i + 1) % SIZE} // of the next process
    };
    const PetscInt ghost[2][2] = {{i, i}, {i, list->end % SIZE}};

    for (int k = 0; k < (kind == MANY ? 4 : i == list->begin ? 2 : 1); k++) {
      list->i[list->n] = kind == MANY ? many[k][0] : ghost[k][0];
      list->j[list->n] = kind == MANY ? many[k][1] : ghost[k][1];
      list->v[list->n] = (PetscScalar)(1 + list->n % 13); // never zero
      list->n++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(List *list)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(list->i, list->j, list->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries are allowed, as they are for MATAIJ only when asked for. */
static PetscErrorCode Preallocate(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(TestPreallocateCOO(A, list->n, list->i, list->j));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const char type[], Kind kind, List *list, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(ListCreate(kind, *A, list));
  PetscCall(Preallocate(*A, list));
  PetscCall(MatSetValuesCOO(*A, list->v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets one entry on the last process, or everywhere. */
static PetscErrorCode SetEntry(Mat A, PetscBool everywhere, PetscInt row, PetscInt column, PetscScalar v)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (everywhere || rank == size - 1) PetscCall(MatSetValue(A, row, column, v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Delete(Mat A, PetscBool everywhere, PetscInt row, PetscInt column)
{
  PetscFunctionBegin;
  PetscCall(SetEntry(A, everywhere, row, column, 0));
  PetscCall(MatEliminateZeros(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may be done to a matrix between its values. */
typedef PetscErrorCode Change(Mat A, const List *list);

/* Changes that leave the pattern what it is. */

static PetscErrorCode RemoveNoRow(Mat A, PETSC_UNUSED const List *list)
{
  return MatZeroRows(A, 0, NULL, 0, NULL, NULL);
}

/* Of a diagonal matrix but for one row. */
static PetscErrorCode RemoveNothing(Mat A, const List *list)
{
  const PetscInt row = list->end - 1;

  return MatZeroRows(A, list->end - list->begin > 1 ? 1 : 0, &row, 2, NULL, NULL);
}

static PetscErrorCode EliminateNothing(Mat A, PETSC_UNUSED const List *list)
{
  return MatEliminateZeros(A, PETSC_FALSE);
}

static PetscErrorCode ZeroEntries(Mat A, PETSC_UNUSED const List *list)
{
  return MatZeroEntries(A);
}

static PetscErrorCode Scale(Mat A, PETSC_UNUSED const List *list)
{
  return MatScale(A, 2);
}

static PetscErrorCode SetAnEntry(Mat A, const List *list)
{
  return SetEntry(A, PETSC_TRUE, list->begin, list->begin, 7);
}

/* MATAIJ would not mind either. The type forgets lists on the host when entries go from a parallel matrix, but not on the device. */
static PetscErrorCode DeleteAndPutBack(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(Delete(A, PETSC_TRUE, list->begin, list->begin));
  PetscCall(SetEntry(A, PETSC_TRUE, list->begin, list->begin, 7));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyOver(Mat A, PETSC_UNUSED const List *list)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatScale(B, 3));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy has the list, too, and may lose its pattern. */
static PetscErrorCode ChangeCopy(Mat A, const List *list)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetValuesCOO(B, list->v, ADD_VALUES));
  PetscCall(Delete(B, PETSC_TRUE, list->begin, list->begin));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BindAndUnbind(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatSetValuesCOO(A, list->v, ADD_VALUES));
  PetscCall(MatZeroRows(A, 0, NULL, 0, NULL, NULL));
  PetscCall(MatSetValuesCOO(A, list->v, ADD_VALUES));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocateAgain(Mat A, const List *list)
{
  return Preallocate(A, list);
}

static const struct {
  const char *name;
  Change     *run;
  Kind        kind;
} harmless[] = {{"nothing done", NULL, MANY},
                {"MatZeroRows without rows", RemoveNoRow, MANY},
                {"MatZeroRows that removes nothing", RemoveNothing, GHOST},
                {"MatEliminateZeros that removes nothing", EliminateNothing, MANY},
                {"MatZeroEntries", ZeroEntries, MANY},
                {"MatScale", Scale, MANY},
                {"MatSetValues of an entry", SetAnEntry, MANY},
                {"an entry deleted and put back", DeleteAndPutBack, MANY},
                {"MatCopy", CopyOver, MANY},
                {"a copy changed", ChangeCopy, MANY},
                {"MatBindToCPU", BindAndUnbind, MANY},
                {"MatSetPreallocationCOO", PreallocateAgain, MANY}};

static PetscErrorCode TestHarmless(const char type[])
{
  PetscBool   bound;
  PetscInt    n;
  PetscMPIInt size;
  List        list[2];
  Mat         X[2], blocks[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t h = 0; h < PETSC_STATIC_ARRAY_LENGTH(harmless); h++) {
    for (int k = 0; k < 2; k++) PetscCall(Create(k ? type : MATAIJ, harmless[h].kind, &list[k], &X[k]));
    PetscCall(TestBlocks(X[1], &n, blocks));
    PetscCall(MatBoundToCPU(blocks[0], &bound));
    for (int k = 0; k < 2 && (harmless[h].run != DeleteAndPutBack || !bound || n == 1); k++) {
      for (int repeat = 0; repeat < 3; repeat++) {
        if (harmless[h].run != NULL) PetscCall((*harmless[h].run)(X[k], &list[k]));
        PetscCall(MatSetValuesCOO(X[k], list[k].v, repeat == 1 ? INSERT_VALUES : ADD_VALUES));
      }
    }
    PetscCall(TestCompare(X[0], X[1], harmless[h].name));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDestroy(&X[k]));
      PetscCall(ListDestroy(&list[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes of the pattern, on one process or on all. */

static PetscErrorCode MoveOne(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(Delete(A, PETSC_FALSE, list->begin, list->begin));
  PetscCall(SetEntry(A, PETSC_FALSE, list->begin, (list->begin + 4) % SIZE, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MoveAll(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(Delete(A, PETSC_TRUE, list->begin, list->begin));
  PetscCall(SetEntry(A, PETSC_TRUE, list->begin, (list->begin + 4) % SIZE, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The position in the block stays what it is, its ghost column does not. */
static PetscErrorCode MoveGhost(Mat A, const List *list)
{
  PetscFunctionBegin;
  PetscCall(Delete(A, PETSC_FALSE, list->begin, list->end % SIZE));
  PetscCall(SetEntry(A, PETSC_FALSE, list->begin, (list->end + 1) % SIZE, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddOne(Mat A, const List *list)
{
  return SetEntry(A, PETSC_FALSE, list->begin, (list->begin + 4) % SIZE, 5);
}

static PetscErrorCode DeleteOne(Mat A, const List *list)
{
  return Delete(A, PETSC_FALSE, list->begin, list->begin);
}

/* Also before the assembly in which the entry would be merged. */
static PetscErrorCode AddOneUnassembled(Mat A, const List *list)
{
  return MatSetValue(A, list->begin, (list->begin + 4) % SIZE, 5, INSERT_VALUES);
}

static PetscErrorCode RemoveRow(Mat A, const List *list)
{
  return MatZeroRows(A, 1, &list->begin, 1, NULL, NULL);
}

static PetscErrorCode TransposeInPlace(Mat A, PETSC_UNUSED const List *list)
{
  return MatTranspose(A, MAT_INPLACE_MATRIX, &A);
}

static const struct {
  const char *name;
  Change     *run;
  Kind        kind;
} harmful[] = {{"an entry moved on one process", MoveOne, MANY},
               {"an entry moved on all processes", MoveAll, MANY},
               {"an entry moved to another ghost column", MoveGhost, GHOST},
               {"an entry more", AddOne, MANY},
               {"an entry less", DeleteOne, MANY},
               {"an entry more, not assembled", AddOneUnassembled, MANY},
               {"rows removed", RemoveRow, MANY},
               {"transposed in place", TransposeInPlace, MANY}};

static PetscErrorCode SetValues(Mat A, const List *list, PetscErrorCode *error)
{
  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *error = MatSetValuesCOO(A, list->v, INSERT_VALUES);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is what it was before the call, and a new list ends the matter. bind: the host looks at a list that was made on the device. */
static PetscErrorCode TestHarmful(const char type[], PetscBool bind)
{
  List           list[2];
  PetscErrorCode error;
  Mat            X[2];

  PetscFunctionBegin;
  for (size_t h = 0; h < PETSC_STATIC_ARRAY_LENGTH(harmful); h++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(Create(k ? type : MATAIJ, harmful[h].kind, &list[k], &X[k]));
      if (k && bind) PetscCall(MatBindToCPU(X[k], PETSC_TRUE));
      PetscCall((*harmful[h].run)(X[k], &list[k]));
    }
    for (int repeat = 0; repeat < 2; repeat++) {
      PetscCall(SetValues(X[1], &list[1], &error));
      PetscCheck(error == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_ARG_WRONGSTATE", harmful[h].name, (int)error);
    }
    for (int k = 0; k < 2; k++) {
      PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompare(X[0], X[1], harmful[h].name));
    for (int k = 0; k < 2; k++) {
      PetscCall(Preallocate(X[k], &list[k]));
      PetscCall(MatSetValuesCOO(X[k], list[k].v, ADD_VALUES));
    }
    PetscCall(TestCompare(X[0], X[1], harmful[h].name));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDestroy(&X[k]));
      PetscCall(ListDestroy(&list[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies share the list: the one whose pattern has changed is refused, the other one is not. */
static PetscErrorCode TestCopies(const char type[])
{
  List           list;
  PetscErrorCode error;
  Mat            A, B;

  PetscFunctionBegin;
  PetscCall(Create(type, MANY, &list, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (int repeat = 0; repeat < 2; repeat++) {
    PetscCall(MoveOne(A, &list));
    PetscCall(SetValues(A, &list, &error));
    PetscCheck(error == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a matrix with a copy: error %d is not PETSC_ERR_ARG_WRONGSTATE", (int)error);
    PetscCall(MatSetValuesCOO(B, list.v, INSERT_VALUES));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(ListDestroy(&list));
  PetscCall(Create(MATAIJ, MANY, &list, &A));
  PetscCall(TestCompare(A, B, "a copy of a matrix that was changed"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ListDestroy(&list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestHarmless(type));
  PetscCall(TestHarmful(type, PETSC_FALSE));
  PetscCall(TestHarmful(type, PETSC_TRUE));
  PetscCall(TestCopies(type));
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
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager

TEST*/
