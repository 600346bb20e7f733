static char help[] = "Lists of coordinates in host and device memory, sorted and not, with and without repeats, against MATAIJ; the device memory that one takes.\n\n";

#include "testmat.h"
#include <petscsparsecuda/sys.h>

#define MAX_PEAK 2.2 /* device memory during the assembly of a host list, in sizes of the finished matrix */

typedef enum {
  SORTED,   /* what this process owns */
  REPEATED, /* the same, every entry twice */
  SHUFFLED, /* sorted rows with descending columns */
  REMOTE,   /* of the next process, too, and with ignored entries */
  IGNORED,  /* all of them */
  NUM_ORDERS
} Order;

static const char *const order_names[] = {"sorted", "repeated", "shuffled", "remote", "ignored"};

/* Host arrays, or copies of them on the device. */
typedef struct {
  PetscCount   n;
  PetscInt    *i, *j;
  PetscScalar *v[3]; /* values one after the other */
} List;

static PetscErrorCode ListAppend(List *list, PetscInt i, PetscInt j)
{
  const PetscCount k = list->n++;

  PetscFunctionBegin;
  list->i[k] = i;
  list->j[k] = j;
  for (int t = 0; t < 3; t++) list->v[t][k] = (PetscScalar)((k * 7 + 5 * t) % 16 - 6) / 4; // sums are exact in any order
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A fifth of the entries of an N x N matrix, in the rows of this process. */
static PetscErrorCode ListCreate(PetscInt N, PetscInt begin, PetscInt end, Order order, List *list)
{
  const PetscInt room = order == REMOTE ? 2 * (end - begin) + N : 2 * (end - begin);

  PetscFunctionBegin;
  list->n = 0;
  PetscCall(PetscMalloc5(room * N, &list->i, room * N, &list->j, room * N, &list->v[0], room * N, &list->v[1], room * N, &list->v[2]));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < N; k++) {
      const PetscInt j = order == SHUFFLED ? N - 1 - k : k;

      if ((2 * i + 3 * j) % 5) continue;
      PetscCall(ListAppend(list, order == IGNORED && j % 2 ? -1 : i, order == IGNORED && j % 2 == 0 ? -1 : j));
      if (order == REPEATED) PetscCall(ListAppend(list, i, j));
      if (order == REMOTE && j % 7 == 0) PetscCall(ListAppend(list, (i + end - begin) % N, j % 2 ? j : -1));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(List *list)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(list->i, list->j, list->v[0], list->v[1], list->v[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array where the bits of memory say that it should be. */
static PetscErrorCode Position(PetscBool device, const void *host, size_t bytes, void **array, void **copy)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *array = (void *)host;
  *copy  = NULL;
  if (!device || bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc_Private(bytes, "a copy of a list", stream, copy));
  PetscCall(PetscSparseCUDACopyToDevice(*copy, host, bytes, stream));
  *array = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free(void **copy)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (*copy == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(copy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows, columns and values are on the device where bits 0, 1 and 2 of memory are set. The arrays of the list are not changed: MatSetPreallocationCOO() gets copies. */
static PetscErrorCode SetPattern(Mat A, const List *list, int memory)
{
  const size_t bytes = (size_t)list->n * sizeof(PetscInt);
  PetscInt    *indices[2];
  void        *arrays[2], *copies[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(list->n, &indices[0], list->n, &indices[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscMemcpy(indices[k], k ? list->j : list->i, bytes));
    PetscCall(Position((PetscBool)(memory >> k & 1), indices[k], bytes, &arrays[k], &copies[k]));
  }
  PetscCall(MatSetPreallocationCOO(A, list->n, (PetscInt *)arrays[0], (PetscInt *)arrays[1]));
  for (int k = 0; k < 2; k++) PetscCall(Free(&copies[k]));
  PetscCall(PetscFree2(indices[0], indices[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(Mat A, const List *list, int t, int memory, InsertMode mode)
{
  void *array, *copy;

  PetscFunctionBegin;
  PetscCall(Position((PetscBool)(memory >> 2 & 1), list->v[t], (size_t)list->n * sizeof(PetscScalar), &array, &copy));
  PetscCall(MatSetValuesCOO(A, (PetscScalar *)array, mode));
  PetscCall(Free(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One story told to MATAIJ and to the type, values after values and then another pattern. */
static PetscErrorCode TestList(const char type[], PetscInt N, Order order, int memory)
{
  char     what[128];
  PetscInt begin, end;
  List     list, again;
  Mat      A[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
    PetscCall(MatSetSizes(A[k], PETSC_DECIDE, PETSC_DECIDE, N, N));
    PetscCall(MatSetType(A[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(A[k]));
  }
  PetscCall(MatGetOwnershipRange(A[0], &begin, &end));
  PetscCall(ListCreate(N, begin, end, order, &list));
  PetscCall(ListCreate(N, begin, end, (Order)((order + 1) % NUM_ORDERS), &again));
  for (int step = 0; step < 5; step++) {
    const InsertMode mode = step == 2 ? ADD_VALUES : INSERT_VALUES;

    PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " rows, %s list, memory %d, step %d", N, order_names[order], memory, step));
    for (int k = 0; k < 2; k++) {
      const List *l = step < 4 ? &list : &again;
      const int   m = k ? memory : 0;

      if (step == 0 || step == 4) PetscCall(SetPattern(A[k], l, m));
      if (step == 3) PetscCall(MatScale(A[k], 2));
      PetscCall(SetValues(A[k], l, step % 3, m, mode));
    }
    PetscCall(TestCompare(A[0], A[1], what));
  }
  PetscCall(ListDestroy(&list));
  PetscCall(ListDestroy(&again));
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatDestroy(&A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first assembly in this program, since memory in use is only known as the most there ever was. */
static PetscErrorCode TestPeak(const char type[])
{
  const PetscInt num_rows = 200000, per_row = 20;
  const size_t   n = (size_t)num_rows * per_row;
  PetscInt      *i, *j;
  PetscScalar   *v;
  PetscCount     bytes;
  size_t         now, peak;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &i, n, &j, n, &v));
  for (size_t k = 0; k < n; k++) {
    i[k] = (PetscInt)(k / per_row);
    j[k] = (PetscInt)((i[k] + 7 * (per_row - k % per_row)) % num_rows);
    v[k] = 1;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, num_rows, num_rows, num_rows, num_rows));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetPreallocationCOO(A, (PetscCount)n, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &bytes));
  // indices of 64 bits and values of other sizes have another ratio
  if (sizeof(PetscInt) == 4 && sizeof(PetscScalar) == 8)
    PetscCheck((double)peak <= MAX_PEAK * (double)bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the assembly took %zu bytes of device memory for a matrix of %" PetscCount_FMT, peak, bytes);
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {1, 7, 40, 130};
  char          *type;
  PetscBool      usable;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (usable && size == 1) PetscCall(TestPeak(type));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (Order order = SORTED; order < NUM_ORDERS; order++)
      for (int memory = 0; memory < (usable ? 8 : 1); memory++) PetscCall(TestList(type, sizes[s], order, memory));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         timeoutfactor: 5
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         nsize: {{1 3}}
         timeoutfactor: 5
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: nonblocking
         requires: cuda
         args: -root_device_context_stream_type nonblocking

TEST*/
