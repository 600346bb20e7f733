static char help[] = "Lists in device memory, compared with MatSetValues() of MATAIJ: long rows, one entry only, descending, small ones in a row, forbidden and ignored entries.\n\n";

#include "testmat.h"
#include <petscdevice_cuda.h>

#define M 300
#define N 2000

/* How the entries of a list come. */
typedef enum {
  ANYWHERE,   /* with repeats, a fifth of them ignored */
  ONE_ROW,    /* every fourth column of the middle row of this rank */
  ONE_ENTRY,  /* all the same, the last of all */
  DESCENDING, /* strictly */
  EMPTY,
  ONE_VALUE,
  EVERY_ROW, /* one entry each */
  CORNERS,   /* first and last rows and columns */
  FEW,       /* in the same three rows */
  NUM_ORDERS
} Order;

static const char *const order_names[] = {"anywhere", "one row", "one entry", "descending", "empty", "one value", "every row", "corners", "few"};

typedef struct {
  PetscInt     n;
  PetscInt    *i, *j;
  PetscScalar *v;
} Triples;

static uint64_t state = 1;

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

/* Rows from begin to end of it; round: other columns each time. */
static PetscErrorCode TriplesCreate(Order order, PetscInt begin, PetscInt end, PetscInt round, Triples *t)
{
  const PetscInt sizes[NUM_ORDERS] = {700, N / 4, 5000, 900, 0, 1, end - begin, 9, 7};

  PetscFunctionBegin;
  t->n = end > begin ? sizes[order] : 0;
  PetscCall(PetscMalloc3(t->n, &t->i, t->n, &t->j, t->n, &t->v));
  for (PetscInt k = 0; k < t->n; k++) {
    PetscInt row = begin + Random(end - begin), column = Random(N);

    if (order == ANYWHERE && k % 5 == 0) *(k % 2 ? &row : &column) = -1 - Random(3);
    if (order == ONE_ROW) row = begin + (end - begin) / 2;
    if (order == ONE_ROW) column = 4 * k + round % 4;
    if (order == ONE_ENTRY) row = end - 1;
    if (order == ONE_ENTRY) column = N - 1;
    if (order == DESCENDING) {
      const PetscInt position = (end - begin) * N - 1 - k * PetscMax(1, (end - begin) * N / t->n) - round;

      row    = begin + position / N;
      column = position % N;
    }
    if (order == EVERY_ROW) row = round % 2 ? begin + k : end - 1 - k;
    if (order == CORNERS) {
      row    = k % 2 ? begin : end - 1;
      column = k % 3 ? round : N - 1 - round;
    }
    if (order == FEW) row = begin + (end - begin) * Random(3) / 3;
    t->i[k] = row;
    t->j[k] = column;
    t->v[k] = (PetscScalar)(1 + Random(16)) / 4; /* sums are exact in any order */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriplesDestroy(Triples *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->i, t->j, t->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDevice(size_t bytes, const void *host, void **device)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(device, bytes + 1));
  PetscCallCUDA(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device for our matrix, entry by entry for MATAIJ. *error: of our call. */
static PetscErrorCode Insert(Mat X[2], const Triples *t, InsertMode mode, PetscErrorCode *error)
{
  void *i, *j, *v;

  PetscFunctionBegin;
  for (PetscInt k = 0; X[0] != NULL && k < t->n; k++) PetscCall(MatSetValues(X[0], 1, &t->i[k], 1, &t->j[k], &t->v[k], mode));
  PetscCall(ToDevice((size_t)t->n * sizeof(*t->i), t->i, &i));
  PetscCall(ToDevice((size_t)t->n * sizeof(*t->j), t->j, &j));
  PetscCall(ToDevice((size_t)t->n * sizeof(*t->v), t->v, &v));
  PetscCallCUDA(cudaDeviceSynchronize()); /* the stream of PETSc waits for no other */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *error = MatDCSRCUDASetValuesDevice(X[1], t->n, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)v, mode);
  PetscCall(PetscPopErrorHandler());
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaFree(i));
  PetscCallCUDA(cudaFree(j));
  PetscCallCUDA(cudaFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(Mat X[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One list and an assembly; sums into rows of all ranks, insertions into those of this one. */
static PetscErrorCode InsertAndAssemble(Mat X[2], Order order, PetscInt round, InsertMode mode, const char what[])
{
  PetscInt       begin = 0, end = M;
  PetscErrorCode error = PETSC_SUCCESS;
  Triples        t;

  PetscFunctionBegin;
  if (mode == INSERT_VALUES) PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  PetscCall(TriplesCreate(order, begin, end, round, &t));
  PetscCall(Insert(X, &t, mode, &error));
  PetscCheck(error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", what, (int)error);
  PetscCall(TriplesDestroy(&t));
  PetscCall(Assemble(X));
  PetscCall(TestIsValid(X[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const char type[], Mat X[2])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  state = (uint64_t)rank + 1;
  for (int skip = 0; skip < 4; skip++) (void)Random(2);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, M, N));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(X[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat X[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists of one order, one after the other, first into an empty matrix, with nothing but products in between. */
static PetscErrorCode TestOrder(const char type[], Order order, InsertMode mode)
{
  const PetscInt rounds = order == FEW ? 40 : 12;
  char           what[128];
  Mat            X[2];

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  for (PetscInt round = 0; round < rounds; round++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, list %" PetscInt_FMT, order_names[order], mode == ADD_VALUES ? "ADD" : "INSERT", round));
    PetscCall(InsertAndAssemble(X, order, round, mode, what));
    if (round % 3 == 1) PetscCall(TestCompareProducts(X[0], X[1], what));
    if (round == rounds / 2) PetscCall(InsertAndAssemble(X, ANYWHERE, round, ADD_VALUES, what));
  }
  PetscCall(TestCompare(X[0], X[1], what));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the host refuses on one process must not keep that process from inserting on the device later, when the others do. */
static PetscErrorCode TestAfterErrorOnHost(const char type[])
{
  PetscInt       begin, end;
  PetscMPIInt    rank;
  PetscErrorCode error = PETSC_SUCCESS;
  Mat            X[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Create(type, X));
  PetscCall(InsertAndAssemble(X, FEW, 0, ADD_VALUES, "before an error on the host"));
  PetscCall(MatGetOwnershipRange(X[1], &begin, &end));
  PetscCall(MatBindToCPU(X[1], PETSC_TRUE));
  PetscCall(MatSetOption(X[1], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  if (rank == 0) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    for (PetscInt column = 0; column < N && error == PETSC_SUCCESS; column++) error = MatSetValue(X[1], begin, column, 0, ADD_VALUES);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(error == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d from new entries that are errors", (int)error);
  }
  PetscCall(MatAssemblyBegin(X[1], MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X[1], MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(X[1], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatBindToCPU(X[1], PETSC_FALSE));
  PetscCall(InsertAndAssemble(X, FEW, 1, ADD_VALUES, "after an error on the host"));
  PetscCall(TestCompare(X[0], X[1], "after an error on the host"));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After an error of a list nothing of it is in the diagonal block, nor anywhere on one process. */
static PetscErrorCode TestForbidden(const char type[], MatOption option)
{
  PetscInt       begin, end;
  PetscErrorCode error = PETSC_SUCCESS;
  Mat            X[2], ours[2] = {NULL, NULL};
  Triples        t;

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(InsertAndAssemble(X, EVERY_ROW, 1, INSERT_VALUES, "before forbidden entries"));
  for (PetscInt round = 0; round < 10; round++) PetscCall(InsertAndAssemble(X, FEW, round, ADD_VALUES, "before forbidden entries"));
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  for (int k = 0; k < 2; k++) PetscCall(MatSetOption(X[k], option, PETSC_TRUE));
  ours[1] = X[1];
  PetscCall(TriplesCreate(ONE_ROW, begin, end, 0, &t)); /* the row has few of these */
  PetscCall(Insert(ours, &t, ADD_VALUES, &error));
  PetscCheck(error == PETSC_ERR_ARG_OUTOFRANGE || t.n == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "new nonzeros are forbidden: error %d", (int)error);
  PetscCall(TriplesDestroy(&t));
  PetscCall(Assemble(X));
  PetscCall(TestIsValid(X[1], "after forbidden entries"));
  PetscCall(TestCompare(X[0], X[1], "after forbidden entries"));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries are ignored or made, zeros too, into storage that many small lists have left. */
static PetscErrorCode TestIgnored(const char type[], MatOption option, PetscBool flag)
{
  Mat X[2];

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(InsertAndAssemble(X, ANYWHERE, 0, ADD_VALUES, "before ignored entries"));
  for (PetscInt round = 0; round < 10; round++) PetscCall(InsertAndAssemble(X, FEW, round, ADD_VALUES, "before ignored entries"));
  for (InsertMode mode = INSERT_VALUES; mode <= ADD_VALUES; mode = (InsertMode)(mode + 1)) {
    PetscInt       begin, end;
    PetscErrorCode error = PETSC_SUCCESS;
    Triples        t;

    for (int k = 0; k < 2; k++) PetscCall(MatSetOption(X[k], option, flag));
    PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
    PetscCall(TriplesCreate(DESCENDING, begin, end, 0, &t));
    for (PetscInt k = 0; k < t.n; k += 2) t.v[k] = 0;
    PetscCall(Insert(X, &t, mode, &error));
    PetscCheck(error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "ignored entries: error %d", (int)error);
    PetscCall(TriplesDestroy(&t));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
      PetscCall(MatSetOption(X[k], option, (PetscBool)!flag));
    }
    PetscCall(TestIsValid(X[1], "ignored entries"));
    PetscCall(TestCompare(X[0], X[1], "ignored entries"));
    PetscCall(InsertAndAssemble(X, FEW, 20, ADD_VALUES, "after ignored entries"));
    PetscCall(TestCompare(X[0], X[1], "after ignored entries"));
  }
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small lists and deletion, scaling, copies in turn. */
static PetscErrorCode TestSequence(const char type[])
{
  PetscInt begin, end;
  Mat      X[2], Y[2];

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(InsertAndAssemble(X, ANYWHERE, 0, ADD_VALUES, "sequence"));
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  for (PetscInt round = 0; round < 16; round++) {
    PetscCall(InsertAndAssemble(X, FEW, round, round % 3 ? ADD_VALUES : INSERT_VALUES, "sequence"));
    for (int k = 0; k < 2; k++) {
      if (round == 3) PetscCall(MatZeroRows(X[k], begin < end, &begin, 0, NULL, NULL));
      if (round == 5) PetscCall(MatScale(X[k], 0.5));
      if (round == 6) PetscCall(MatFilter(X[k], 0.3, PETSC_TRUE, PETSC_FALSE));
      if (round == 8) PetscCall(MatZeroEntries(X[k]));
      if (round == 11) PetscCall(MatDuplicate(X[k], MAT_COPY_VALUES, &Y[k]));
      if (round == 13) PetscCall(MatAXPY(X[k], 2, Y[k], DIFFERENT_NONZERO_PATTERN));
      if (round == 14) PetscCall(MatCopy(Y[k], X[k], DIFFERENT_NONZERO_PATTERN));
      PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    }
    if (round == 9) PetscCall(MatDCSRCUDADefragment(X[1]));
    PetscCall(TestIsValid(X[1], "sequence"));
    PetscCall(TestCompareProducts(X[0], X[1], "sequence"));
  }
  PetscCall(TestCompare(X[0], X[1], "sequence"));
  PetscCall(TestCompareProducts(Y[0], Y[1], "a copy made in the sequence"));
  PetscCall(Destroy(X));
  PetscCall(Destroy(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n entries at positions of this rank or, in every fourth list, in one row; some of them with the positions of others. */
static PetscErrorCode ShortCreate(PetscInt begin, PetscInt end, PetscInt n, PetscInt round, Triples *t)
{
  PetscFunctionBegin;
  t->n = end > begin ? n : 0;
  PetscCall(PetscMalloc3(t->n, &t->i, t->n, &t->j, t->n, &t->v));
  for (PetscInt k = 0; k < t->n; k++) {
    t->i[k] = k % 5 == 4 ? t->i[k / 2] : round % 4 == 3 ? begin + (end - begin) / 2 : begin + Random(end - begin);
    t->j[k] = k % 5 == 4 ? t->j[k / 2] : Random(N);
    t->v[k] = (PetscScalar)(1 + Random(16)) / 4;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists that one launch may take on one process, as long as there is room, from the device and from the host in turn. */
static PetscErrorCode TestShortLists(const char type[])
{
  const PetscInt sizes[] = {1024, 0, 1, 2, 1023, 1024, 1025, 127, 128, 129, 1024, 1024};
  PetscInt       begin, end;
  PetscErrorCode error = PETSC_SUCCESS;
  Mat            X[2];
  Triples        t;

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  for (PetscInt round = 0; round < 60; round++) {
    const InsertMode mode = round % 7 == 6 ? INSERT_VALUES : ADD_VALUES;

    PetscCall(ShortCreate(begin, end, round == 0 ? 90000 : sizes[round % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes)], round, &t));
    if (round % 3 == 2)
      for (int x = 0; x < 2; x++)
        for (PetscInt k = 0; k < t.n; k++) PetscCall(MatSetValues(X[x], 1, &t.i[k], 1, &t.j[k], &t.v[k], mode));
    else PetscCall(Insert(X, &t, mode, &error));
    PetscCheck(error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "short list %" PetscInt_FMT ": error %d", round, (int)error);
    PetscCall(TriplesDestroy(&t));
    PetscCall(Assemble(X));
    PetscCall(TestIsValid(X[1], "short lists"));
    if (round % 4 == 1) PetscCall(TestCompareProducts(X[0], X[1], "short lists"));
  }
  PetscCall(TestCompare(X[0], X[1], "short lists"));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index that is too large is an error that changes nothing, wherever the list goes. */
static PetscErrorCode TestBadIndex(const char type[])
{
  PetscInt       begin, end;
  PetscErrorCode error = PETSC_SUCCESS;
  Mat            X[2], ours[2] = {NULL, NULL};
  Triples        t;

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  for (PetscInt round = 0; round < 3; round++) PetscCall(InsertAndAssemble(X, EVERY_ROW, round, INSERT_VALUES, "before a bad index"));
  ours[1] = X[1];
  for (PetscInt round = 0; round < 2; round++) {
    PetscCall(ShortCreate(begin, end, 3, round, &t));
    if (t.n > 0) *(round ? &t.i[1] : &t.j[2]) = round ? M : N;
    PetscCall(Insert(ours, &t, ADD_VALUES, &error));
    PetscCheck(error == PETSC_ERR_ARG_OUTOFRANGE || t.n == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "an index is too large: error %d", (int)error);
    PetscCall(TriplesDestroy(&t));
  }
  PetscCall(Assemble(X));
  PetscCall(TestCompare(X[0], X[1], "after a bad index"));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that were preallocated on the host, while the matrix was bound to the CPU, take no lists before the first assembly: an error on all processes. MatSetValues() goes on, and lists after it. */
static PetscErrorCode TestPreallocatedOnHost(const char type[])
{
  PetscInt       begin, end;
  PetscErrorCode error = PETSC_SUCCESS;
  Mat            X[2], ours[2] = {NULL, NULL};
  Triples        t;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, M, N));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    if (k) PetscCall(MatBindToCPU(X[k], PETSC_TRUE));
    PetscCall(MatSeqAIJSetPreallocation(X[k], 40, NULL));
    PetscCall(MatMPIAIJSetPreallocation(X[k], 40, NULL, 40, NULL));
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    if (k) PetscCall(MatBindToCPU(X[k], PETSC_FALSE));
  }
  ours[1] = X[1];
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  PetscCall(TriplesCreate(FEW, begin, end, 0, &t));
  PetscCall(Insert(ours, &t, ADD_VALUES, &error));
  PetscCheck(error == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a list into what was preallocated on the host: error %d", (int)error);
  for (int k = 0; k < 2; k++)
    for (PetscInt e = 0; e < t.n; e++) PetscCall(MatSetValues(X[k], 1, &t.i[e], 1, &t.j[e], &t.v[e], ADD_VALUES));
  PetscCall(TriplesDestroy(&t));
  PetscCall(Assemble(X));
  PetscCall(TestIsValid(X[1], "preallocated on the host"));
  PetscCall(TestCompare(X[0], X[1], "preallocated on the host"));
  PetscCall(InsertAndAssemble(X, ANYWHERE, 1, ADD_VALUES, "after the first assembly on the host"));
  PetscCall(TestCompare(X[0], X[1], "after the first assembly on the host"));
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether matrices of this type have a device. */
static PetscErrorCode HasDevice(const char type[], PetscBool *has)
{
  Mat X[2];

  PetscFunctionBegin;
  PetscCall(Create(type, X));
  PetscCall(MatBoundToCPU(X[1], has));
  *has = (PetscBool) !*has;
  PetscCall(Destroy(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscMPIInt size;
  PetscBool   usable;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(HasDevice(type, &usable));
  if (usable) {
    for (Order order = ANYWHERE; order < NUM_ORDERS; order++)
      for (InsertMode mode = INSERT_VALUES; mode <= ADD_VALUES; mode = (InsertMode)(mode + 1)) PetscCall(TestOrder(type, order, mode));
    PetscCall(TestAfterErrorOnHost(type));
    PetscCall(TestForbidden(type, MAT_NEW_NONZERO_LOCATION_ERR));
    PetscCall(TestForbidden(type, MAT_NEW_NONZERO_ALLOCATION_ERR));
    PetscCall(TestIgnored(type, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    if (PETSC_VERSION_GE(3, 26, 0) || size == 1) PetscCall(TestIgnored(type, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE)); // before, MATMPIAIJ takes numbers of ghost columns for diagonal ones
    PetscCall(TestSequence(type));
    PetscCall(TestShortLists(type));
    PetscCall(TestBadIndex(type));
    PetscCall(TestPreallocatedOnHost(type));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      timeoutfactor: 5
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3 8}}
      test:
         suffix: segments
         nsize: {{1 3}}
         args: -mat_dcsr_defragment never -mat_dcsr_slack {{0 1}} -mat_dcsr_max_segments {{2 4}}
      test:
         suffix: nonblocking
         args: -root_device_context_stream_type nonblocking
      test:
         suffix: always
         args: -mat_dcsr_defragment always
      test:
         suffix: wide
         nsize: {{1 3}}
         args: -mat_dcsr_test_wide_from {{0 800}} -mat_dcsr_defragment never

TEST*/
