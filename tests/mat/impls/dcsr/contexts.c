static char help[] = "Operations on a matrix in two PetscDeviceContexts whose streams know nothing of each other: every operation comes after the earlier ones.\n\n";

#include "testmat.h"
#include <petscsparsecuda/sys.h>

#define SIZE          200
#define PER_ROW       5
#define BUSY_PRODUCTS 100 /* queued before the first of two operations: milliseconds, in which the second one would be done if it did not wait */
#define CHAIN         10

static PetscBool          usable; /* without a device the same operations run one after the other, without contexts */
static PetscDeviceContext contexts[2];
static TestBusy           busy;

/* Entries that each process sets, half of them in rows of the next one; device: copies in device memory. */
typedef struct {
  PetscInt     n, *i, *j, *device_i, *device_j;
  PetscScalar *v, *device_v;
} List;

/* What two operations work on: MATAIJ's, or the type's. */
typedef struct {
  Mat         A;    /* is changed */
  Mat         B;    /* is read */
  Mat         C;    /* is made; NULL at first */
  Mat         D;    /* was made of the list and keeps it */
  Vec         x, y; /* are read and written */
  Vec         d;    /* is read */
  const List *list;
  PetscBool   device; /* takes lists in device memory: not MATAIJ */
} State;

static PetscErrorCode CreateContexts(void)
{
  PetscFunctionBegin;
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscDeviceContextCreate(&contexts[k]));
    PetscCall(PetscDeviceContextSetStreamType(contexts[k], PETSC_STREAM_NONBLOCKING));
    PetscCall(PetscDeviceContextSetUp(contexts[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Use(int which)
{
  PetscFunctionBegin;
  if (usable) PetscCall(PetscDeviceContextSetCurrentContext(contexts[which]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors are PETSc's, which orders nothing: the host looks at them when all is done. */
static PetscErrorCode Synchronize(void)
{
  PetscFunctionBegin;
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) PetscCall(PetscDeviceContextSynchronize(contexts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDevice(size_t bytes, const void *host, void **device)
{
  PetscFunctionBegin;
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMalloc(device, bytes + 1));
  PetscCallCUDA(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListCreate(Mat A, List *list)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  list->n = 4 * (end - begin);
  PetscCall(PetscMalloc3(list->n, &list->i, list->n, &list->j, list->n, &list->v));
  for (PetscInt k = 0; k < list->n; k++) {
    const PetscInt row = begin + k / 4;

    list->i[k] = k % 2 ? (row + end - begin) % SIZE : row;
    list->j[k] = (row * (k % 4 + 3) + 5) % SIZE;
    list->v[k] = (PetscScalar)(1 + k % 16) / 4; // sums are exact in any order
  }
  PetscCall(ToDevice((size_t)list->n * sizeof(*list->i), list->i, (void **)&list->device_i));
  PetscCall(ToDevice((size_t)list->n * sizeof(*list->j), list->j, (void **)&list->device_j));
  PetscCall(ToDevice((size_t)list->n * sizeof(*list->v), list->v, (void **)&list->device_v));
  if (usable) PetscCallCUDA(cudaDeviceSynchronize()); // the streams of PETSc wait for no other
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(List *list)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(list->i, list->j, list->v));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(list->device_i));
  PetscCallCUDA(cudaFree(list->device_j));
  PetscCallCUDA(cudaFree(list->device_v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(State *s)
{
  return MatScale(s->A, 2);
}

static PetscErrorCode DiagonalScale(State *s)
{
  return MatDiagonalScale(s->A, s->d, s->d);
}

static PetscErrorCode Shift(State *s)
{
  return MatShift(s->A, 3);
}

static PetscErrorCode Mult(State *s)
{
  return MatMult(s->A, s->x, s->y);
}

static PetscErrorCode MultTranspose(State *s)
{
  return MatMultTranspose(s->A, s->y, s->x);
}

static PetscErrorCode MultAdd(State *s)
{
  return MatMultAdd(s->A, s->x, s->y, s->y);
}

static PetscErrorCode MultCoordinates(State *s)
{
  return MatMult(s->D, s->x, s->y);
}

static PetscErrorCode SetValues(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(s->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt k = 0; k < s->list->n; k++) PetscCall(MatSetValues(s->A, 1, &s->list->i[k], 1, &s->list->j[k], &s->list->v[k], ADD_VALUES));
  PetscCall(TestAssemble(s->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesDevice(State *s)
{
  PetscFunctionBegin;
  if (!s->device) PetscCall(SetValues(s));
  else {
    PetscCall(MatDCSRCUDASetValuesDevice(s->A, s->list->n, s->list->device_i, s->list->device_j, s->list->device_v, ADD_VALUES));
    PetscCall(TestAssemble(s->A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Coordinates(State *s)
{
  PetscFunctionBegin;
  PetscCall(TestPreallocateCOO(s->A, s->list->n, s->list->i, s->list->j));
  PetscCall(MatSetValuesCOO(s->A, s->list->v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoordinatesDevice(State *s)
{
  PetscFunctionBegin;
  if (!s->device) PetscCall(Coordinates(s));
  else {
    PetscCall(MatSetPreallocationCOO(s->A, s->list->n, s->list->device_i, s->list->device_j));
    PetscCall(MatSetValuesCOO(s->A, s->list->device_v, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoordinateValues(State *s)
{
  return MatSetValuesCOO(s->D, s->list->v, ADD_VALUES);
}

static PetscErrorCode CoordinateValuesDevice(State *s)
{
  return MatSetValuesCOO(s->D, s->device ? s->list->device_v : s->list->v, ADD_VALUES);
}

static PetscErrorCode ZeroRows(State *s)
{
  PetscInt begin, end, rows[2];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(s->A, &begin, &end));
  rows[0] = begin;
  rows[1] = end - 1;
  PetscCall(MatSetOption(s->A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(s->A, 2, rows, 0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroEntries(State *s)
{
  return MatZeroEntries(s->A);
}

static PetscErrorCode AXPY(State *s)
{
  return MatAXPY(s->A, 2, s->B, DIFFERENT_NONZERO_PATTERN);
}

static PetscErrorCode Product(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->C));
  PetscCall(MatMatMult(s->A, s->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->C));
  PetscCall(MatTranspose(s->A, MAT_INITIAL_MATRIX, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->C));
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of the old matrix becomes that of the new one. */
static PetscErrorCode Replace(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->A));
  PetscCall(MatDuplicate(s->B, MAT_COPY_VALUES, &s->A));
  PetscCall(MatScale(s->A, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*run)(State *);
} operations[] = {{"MatScale", Scale},
                  {"MatDiagonalScale", DiagonalScale},
                  {"MatShift", Shift},
                  {"MatMult", Mult},
                  {"MatMultTranspose", MultTranspose},
                  {"MatMultAdd", MultAdd},
                  {"MatMult with the matrix of COO", MultCoordinates},
                  {"MatSetValues", SetValues},
                  {"MatDCSRCUDASetValuesDevice", SetValuesDevice},
                  {"COO", Coordinates},
                  {"COO in device memory", CoordinatesDevice},
                  {"values of COO", CoordinateValues},
                  {"values of COO in device memory", CoordinateValuesDevice},
                  {"MatZeroRows", ZeroRows},
                  {"MatZeroEntries", ZeroEntries},
                  {"MatAXPY", AXPY},
                  {"MatMatMult", Product},
                  {"MatTranspose", Transpose},
                  {"MatDuplicate", Duplicate},
                  {"MatDestroy and another matrix", Replace}};

/* What both operations find is in place, with all plans, and nothing is under way. */
static PetscErrorCode Begin(const State *first, State *s)
{
  PetscFunctionBegin;
  *s = *first;
  PetscCall(MatDuplicate(first->A, MAT_COPY_VALUES, &s->A));
  PetscCall(MatDuplicate(first->D, MAT_COPY_VALUES, &s->D));
  PetscCall(TestFill(s->x, 2));
  PetscCall(TestFill(s->y, 3));
  PetscCall(MatMult(s->D, s->x, s->y));
  PetscCall(MatMult(s->A, s->x, s->y));
  PetscCall(MatMultTranspose(s->A, s->y, s->x));
  PetscCall(Synchronize());
  PetscCall(TestFill(s->x, 2));
  PetscCall(TestFill(s->y, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode End(State *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->A));
  PetscCall(MatDestroy(&s->C));
  PetscCall(MatDestroy(&s->D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const State s[2], const char what[])
{
  PetscFunctionBegin;
  PetscCall(Synchronize());
  PetscCall(TestCompareVec(s[0].x, s[1].x, what));
  PetscCall(TestCompareVec(s[0].y, s[1].y, what));
  PetscCall(TestCompare(s[0].A, s[1].A, what));
  PetscCall(TestCompare(s[0].D, s[1].D, what));
  if (s[0].C != NULL) PetscCall(TestCompare(s[0].C, s[1].C, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each operation, while much is queued before it in one context, and then each in the other one. */
static PetscErrorCode TestPairs(const State first[2])
{
  const size_t num = PETSC_STATIC_ARRAY_LENGTH(operations);
  char         what[128];
  State        s[2];

  PetscFunctionBegin;
  for (size_t a = 0; a < num; a++)
    for (size_t b = 0; b < num; b++) {
      const int which = (int)(a + b) % 2;

      PetscCall(PetscSNPrintf(what, sizeof(what), "%s and then %s", operations[a].name, operations[b].name));
      PetscCall(Use(which));
      for (int k = 0; k < 2; k++) PetscCall(Begin(&first[k], &s[k]));
      PetscCall((*operations[a].run)(&s[0]));
      PetscCall((*operations[b].run)(&s[0]));
      PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
      PetscCall((*operations[a].run)(&s[1]));
      PetscCall(Use(1 - which));
      PetscCall((*operations[b].run)(&s[1]));
      PetscCall(Compare(s, what));
      for (int k = 0; k < 2; k++) PetscCall(End(&s[k]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To and fro, without a look at what comes out until the end. */
static PetscErrorCode TestChain(const State first[2])
{
  State s[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Begin(&first[k], &s[k]));
    for (int step = 0; step < CHAIN; step++) {
      if (k) PetscCall(Use(step % 2));
      if (k) PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
      PetscCall(MatScale(s[k].A, step % 3 ? 0.125 : 0.25));
      PetscCall(MatMult(s[k].A, s[k].x, s[k].y));
      if (k) PetscCall(Use((step + 1) % 2));
      PetscCall(MatMultTranspose(s[k].A, s[k].y, s[k].x));
      if (k) PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
      PetscCall(MatShift(s[k].A, 0.5));
      PetscCall(MatSetValuesCOO(s[k].D, s[k].list->v, ADD_VALUES));
      PetscCall(MatMultAdd(s[k].D, s[k].x, s[k].y, s[k].y));
    }
  }
  PetscCall(Compare(s, "to and fro"));
  for (int k = 0; k < 2; k++) PetscCall(End(&s[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char              *type;
  PetscDeviceContext root;
  List               list;
  State              first[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(PetscDeviceContextGetCurrentContext(&root));
  PetscCall(CreateContexts());
  if (usable) PetscCall(TestBusyCreate(&busy));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscArrayzero(&first[k], 1));
    PetscCall(TestCreate(k ? type : MATAIJ, SIZE, SIZE, TEST_EVEN, PER_ROW, 1, &first[k].A));
    PetscCall(TestCreate(k ? type : MATAIJ, SIZE, SIZE, TEST_EVEN, PER_ROW + 1, 2, &first[k].B));
    if (k == 0) PetscCall(ListCreate(first[0].A, &list));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &first[k].D));
    PetscCall(MatSetSizes(first[k].D, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
    PetscCall(MatSetType(first[k].D, k ? type : MATAIJ));
    PetscCall(TestPreallocateCOO(first[k].D, list.n, list.i, list.j));
    PetscCall(MatSetValuesCOO(first[k].D, list.v, INSERT_VALUES));
    PetscCall(MatCreateVecs(first[k].A, &first[k].x, &first[k].y));
    PetscCall(VecDuplicate(first[k].x, &first[k].d));
    PetscCall(TestFill(first[k].d, 4));
    first[k].list   = &list;
    first[k].device = (PetscBool)(k && usable);
  }
  PetscCall(TestPairs(first));
  PetscCall(TestChain(first));
  if (usable) PetscCall(PetscDeviceContextSetCurrentContext(root));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&first[k].A));
    PetscCall(MatDestroy(&first[k].B));
    PetscCall(MatDestroy(&first[k].D));
    PetscCall(VecDestroy(&first[k].x));
    PetscCall(VecDestroy(&first[k].y));
    PetscCall(VecDestroy(&first[k].d));
  }
  PetscCall(TestBusyDestroy(&busy));
  PetscCall(ListDestroy(&list));
  for (int k = 0; k < 2 && usable; k++) PetscCall(PetscDeviceContextDestroy(&contexts[k]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      timeoutfactor: 3
      test:
         suffix: default
      test:
         suffix: nonblocking
         requires: cuda
         args: -root_device_context_stream_type nonblocking

TEST*/
