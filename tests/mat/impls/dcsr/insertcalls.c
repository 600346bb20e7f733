static char help[] = "Every call that inserts and every option that changes what it does, compared with MATAIJ, into new, assembled and emptied matrices.\n\n";

#include "testmat.h"
#include <petscdmda.h>

#define SIZE 48
#define BS   3

static uint64_t state;

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

/* Sums of these are exact in any order. */
static void RandomValues(PetscInt n, PetscScalar v[])
{
  for (PetscInt k = 0; k < n; k++) v[k] = (PetscScalar)(1 + Random(16)) / 4;
}

/* New nonzeros are welcome: MATAIJ forbids them after each assembly and each preallocation. */
static PetscErrorCode AllowNew(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Expects an error of call on every rank that runs it, with this code. */
#define Fails(what, code, call) \
  do { \
    PetscErrorCode ierr_; \
\
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr_ = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCheck(ierr_ == (code), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d and should be %d", what, (int)ierr_, (int)(code)); \
  } while (0)

static PetscErrorCode Create(MatType type, Mat *A)
{
  ISLocalToGlobalMapping map;
  PetscInt               begin, end, num, *indices;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetBlockSize(*A, BS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  num = (end - begin) / BS + 2; /* and two block rows of the next rank */
  PetscCall(PetscMalloc1(num, &indices));
  for (PetscInt k = 0; k < num; k++) indices[k] = (begin / BS + k) % (SIZE / BS);
  PetscCall(ISLocalToGlobalMappingCreate(PETSC_COMM_WORLD, BS, num, indices, PETSC_OWN_POINTER, &map));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  PetscCall(ISLocalToGlobalMappingDestroy(&map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of values at rows below end; begin > 0 or end < SIZE: those of this rank, which may be inserted, too. */
static PetscErrorCode SetBlocks(Mat A, PetscInt begin, PetscInt end, InsertMode mode, PetscInt num)
{
  PetscInt    rows[4], columns[5];
  PetscScalar v[20];

  PetscFunctionBegin;
  for (PetscInt b = 0; end > begin && b < num; b++) {
    const PetscInt m = Random(5), n = Random(6); /* none of one of them, too */

    for (PetscInt i = 0; i < m; i++) rows[i] = Random(9) ? begin + Random(end - begin) : -1;
    for (PetscInt j = 0; j < n; j++) columns[j] = Random(9) ? Random(SIZE) : -2;
    RandomValues(m * n, v);
    if (Random(3) == 0) v[0] = 0;
    PetscCall(MatSetValues(A, m, rows, n, columns, v, mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOwn(Mat A, InsertMode mode, PetscInt num)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(SetBlocks(A, begin, end, mode, num));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Single(Mat A)
{
  PetscFunctionBegin;
  for (int k = 0; k < 60; k++) PetscCall(MatSetValue(A, Random(SIZE + 3) - 3, Random(SIZE + 3) - 3, (PetscScalar)Random(5), ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Local(Mat A)
{
  ISLocalToGlobalMapping map;
  PetscInt               n, rows[3], columns[4];
  PetscScalar            v[12];

  PetscFunctionBegin;
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  for (int b = 0; b < 20; b++) {
    for (int i = 0; i < 3; i++) rows[i] = Random(7) ? Random(n) : -1;
    for (int j = 0; j < 4; j++) columns[j] = Random(7) ? Random(n) : -1;
    RandomValues(12, v);
    PetscCall(MatSetValuesLocal(A, 3, rows, 4, columns, v, ADD_VALUES));
    PetscCall(MatSetValueLocal(A, rows[0], columns[0], 1, ADD_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of any rank, by rows and by columns. */
static PetscErrorCode Blocked(Mat A)
{
  PetscInt    rows[2], columns[3];
  PetscScalar v[6 * BS * BS];

  PetscFunctionBegin;
  for (int b = 0; b < 16; b++) {
    if (b % 8 == 0) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, (PetscBool)(b == 8)));
    for (int i = 0; i < 2; i++) rows[i] = Random(5) ? Random(SIZE / BS) : -1;
    for (int j = 0; j < 3; j++) columns[j] = Random(5) ? Random(SIZE / BS) : -1;
    RandomValues(6 * BS * BS, v);
    PetscCall(MatSetValuesBlocked(A, 2, rows, 3, columns, v, ADD_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockedLocal(Mat A)
{
  ISLocalToGlobalMapping map;
  PetscInt               n, rows[2], columns[2];
  PetscScalar            v[4 * BS * BS];

  PetscFunctionBegin;
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  for (int b = 0; b < 10; b++) {
    for (int i = 0; i < 2; i++) rows[i] = Random(5) ? Random(n / BS) : -1;
    for (int j = 0; j < 2; j++) columns[j] = Random(n / BS);
    RandomValues(4 * BS * BS, v);
    PetscCall(MatSetValuesBlockedLocal(A, 2, rows, 2, columns, v, ADD_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All values of a row that exists, after others that they replace. */
static PetscErrorCode Row(Mat A)
{
  PetscInt    begin, end;
  PetscScalar v[SIZE];

  PetscFunctionBegin;
  PetscCall(SetOwn(A, INSERT_VALUES, 5));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    RandomValues(SIZE, v);
    if (row == begin) PetscCall(MatSetValuesRowLocal(A, 0, v));
    else PetscCall(MatSetValuesRow(A, row, v));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes in turn, a flush between them, into what is assembled already: the hash of MATMPIAIJ fails there. */
static PetscErrorCode Flush(Mat A)
{
  PetscFunctionBegin;
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  for (int k = 0; k < 6; k++) {
    if (k % 2) PetscCall(SetOwn(A, INSERT_VALUES, 10));
    else PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 20));
    if (k == 4) PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY)); /* nothing new since the last one */
    PetscCall(TestAssemble(A, k == 5 ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlushSameMode(Mat A)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
    PetscCall(TestAssemble(A, k == 3 ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each value obeys the options that hold when it comes. */
static PetscErrorCode OptionsBetween(Mat A)
{
  PetscFunctionBegin;
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_FALSE));
  PetscCall(SetOwn(A, ADD_VALUES, 10));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(SetOwn(A, ADD_VALUES, 20));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(SetOwn(A, ADD_VALUES, 3));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros of both modes, on and off the diagonal, of this rank and of the next one. */
static PetscErrorCode IgnoreZeros(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (int k = 0; k < 4; k++) PetscCall(MatSetValue(A, k == 3 ? (i + 17) % SIZE : i, k == 0 ? i : (i + Random(SIZE)) % SIZE, Random(2), ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, (i + 5) % SIZE, 0, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is there already is not new, whatever an option says of new ones. */
static PetscErrorCode OnlyExisting(Mat A)
{
  const MatOption options[] = {MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_ALLOCATION_ERR};
  PetscInt        begin, end;
  uint64_t        before;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  before = state;
  PetscCall(SetOwn(A, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(A, options[k], PETSC_TRUE));
    state = before;
    PetscCall(SetOwn(A, k ? INSERT_VALUES : ADD_VALUES, 20));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, options[k], PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoOffProcess(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetOwn(A, ADD_VALUES, 10));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (end - begin < SIZE) Fails("MAT_NO_OFF_PROC_ENTRIES", PETSC_ERR_ARG_WRONG, MatSetValue(A, begin ? 0 : SIZE - 1, 0, 1, ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IgnoreOffProcess(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first assembly says where later ones may go. */
static PetscErrorCode SubsetOffProcess(Mat A)
{
  const uint64_t before = state;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  PetscCall(MatSetOption(A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_TRUE));
  for (int k = 0; k < 3; k++) {
    state = before;
    PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 20 - 5 * k));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  }
  if (size > 1) PetscCall(MatSetOption(A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_FALSE)); /* PETSc 3.26 frees an MPI type that one process never makes */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Too little room for some rows and too much for others. */
static PetscErrorCode Preallocate(Mat A, PetscInt most)
{
  PetscInt m, *d, *o;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(PetscMalloc2(m, &d, m, &o));
  for (PetscInt i = 0; i < m; i++) {
    d[i] = Random(1 + PetscMin(most, m));
    o[i] = Random(1 + PetscMin(most, SIZE - m));
  }
  PetscCall(MatSeqAIJSetPreallocation(A, 0, d));
  PetscCall(MatMPIAIJSetPreallocation(A, 0, d, 0, o));
  PetscCall(PetscFree2(d, o));
  PetscCall(AllowNew(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocated(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Preallocate(A, 6));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(SetOwn(A, INSERT_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocatedByBlocks(Mat A)
{
  PetscInt m, *d, *o;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(PetscMalloc2(m / BS, &d, m / BS, &o));
  for (PetscInt i = 0; i < m / BS; i++) {
    d[i] = PetscMin(2, m / BS);
    o[i] = PetscMin(1, (SIZE - m) / BS);
  }
  PetscCall(MatXAIJSetPreallocation(A, BS, d, o, NULL, NULL));
  PetscCall(PetscFree2(d, o));
  PetscCall(AllowNew(A));
  PetscCall(Blocked(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocatedCSR(Mat A)
{
  PetscInt     m, i[SIZE + 1], j[3 * SIZE], begin;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  i[0] = 0;
  for (PetscInt row = 0; row < m; row++) {
    i[row + 1] = i[row];
    for (PetscInt c = Random(SIZE / 3); c < SIZE && i[row + 1] < i[row] + 3; c += 1 + Random(SIZE / 3)) j[i[row + 1]++] = c;
  }
  PetscCall(PetscMalloc1(i[m], &v));
  RandomValues(i[m], v);
  PetscCall(MatSeqAIJSetPreallocationCSR(A, i, j, v));
  PetscCall(MatMPIAIJSetPreallocationCSR(A, i, j, v));
  PetscCall(PetscFree(v));
  PetscCall(AllowNew(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preallocator(Mat A, PetscBool fill)
{
  const uint64_t before = state;
  PetscInt       m, n;
  Mat            P;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &P));
  PetscCall(MatSetSizes(P, m, n, SIZE, SIZE));
  PetscCall(MatSetType(P, MATPREALLOCATOR));
  PetscCall(MatSetUp(P));
  PetscCall(MatSetBlockSize(P, 1));
  PetscCall(SetBlocks(P, 0, SIZE, INSERT_VALUES, 20));
  PetscCall(TestAssemble(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatPreallocatorPreallocate(P, fill, A));
  PetscCall(MatDestroy(&P));
  state = before; /* none of them is new */
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocatorFilling(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Preallocator(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocatorNotFilling(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Preallocator(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back to the preallocation, which holds fewer and more entries than there are now. */
static PetscErrorCode ResetPreallocation(Mat A)
{
  PetscFunctionBegin;
  PetscCall(Preallocate(A, 9));
  for (int k = 0; k < 3; k++) {
    PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 15));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    if (k < 2) PetscCall(MatResetPreallocation(A));
    PetscCall(AllowNew(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResetHash(Mat A)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 15));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
    if (k < 2) PetscCall(MatResetHash(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists of local indices, filled, refilled, and then other values. */
static PetscErrorCode List(Mat A)
{
  const PetscCount       num = 150;
  ISLocalToGlobalMapping map;
  PetscInt               n, i[150], j[150];
  PetscScalar            v[150];

  PetscFunctionBegin;
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  for (PetscCount k = 0; k < num; k++) {
    i[k] = Random(n);
    j[k] = Random(n);
  }
  PetscCall(MatSetPreallocationCOOLocal(A, num, i, j));
  for (int k = 0; k < 4; k++) {
    RandomValues((PetscInt)num, v);
    PetscCall(MatSetValuesCOO(A, v, k % 2 ? ADD_VALUES : INSERT_VALUES));
  }
  PetscCall(AllowNew(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody reads values that wait. */
static PetscErrorCode Unassembled(Mat A)
{
  PetscInt    begin, end;
  PetscScalar v;
  PetscBool   equal;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatSetValue(A, begin ? 0 : SIZE - 1, 0, 1, ADD_VALUES));
  Fails("MatGetValues", PETSC_ERR_ARG_WRONGSTATE, MatGetValues(A, 1, &begin, 1, &begin, &v));
  Fails("MatGetRow", PETSC_ERR_ARG_WRONGSTATE, MatGetRow(A, begin, NULL, NULL, NULL));
  Fails("MatEqual", PETSC_ERR_ARG_WRONGSTATE, MatEqual(A, A, &equal));
  Fails("another mode", PETSC_ERR_ARG_WRONGSTATE, MatSetValue(A, begin, 0, 1, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that MatZeroEntries() makes void, and values after it. */
static PetscErrorCode ZeroEntries(Mat A)
{
  PetscFunctionBegin;
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  PetscCall(SetOwn(A, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(MatZeroEntries(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetValues(A, 0, NULL, 0, NULL, NULL, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatDuplicate() and MatCopy() between assemblies: a copy goes its own way. */
static PetscErrorCode Copies(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(AllowNew(B));
  PetscCall(SetBlocks(B, 0, SIZE, ADD_VALUES, 10));
  PetscCall(TestAssemble(B, MAT_FINAL_ASSEMBLY));
  PetscCall(AllowNew(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 5));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAXPY(A, 2, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatCopy(B, A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(AllowNew(A));
  PetscCall(SetBlocks(A, 0, SIZE, ADD_VALUES, 5));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times that a case is told to the same matrix; one that makes a new structure of the matrix only once, as a MATMPIAIJ can be preallocated no more after an assembly. */
static const struct {
  const char *name;
  PetscErrorCode (*run)(Mat);
  int times;
} cases[] = {{"MatSetValue", Single, 3},
             {"MatSetValuesLocal", Local, 3},
             {"MatSetValuesBlocked", Blocked, 3},
             {"MatSetValuesBlockedLocal", BlockedLocal, 3},
             {"MatSetValuesRow", Row, 3},
             {"modes in turn", Flush, 3},
             {"one mode with flushes", FlushSameMode, 3},
             {"options between values", OptionsBetween, 3},
             {"MAT_IGNORE_ZERO_ENTRIES", IgnoreZeros, 3},
             {"new nonzeros forbidden, none come", OnlyExisting, 2},
             {"MAT_NO_OFF_PROC_ENTRIES", NoOffProcess, 3},
             {"MAT_IGNORE_OFF_PROC_ENTRIES", IgnoreOffProcess, 3},
             {"MAT_SUBSET_OFF_PROC_ENTRIES", SubsetOffProcess, 3},
             {"too little preallocated", Preallocated, 1},
             {"MatXAIJSetPreallocation", PreallocatedByBlocks, 1},
             {"MatXXXAIJSetPreallocationCSR", PreallocatedCSR, 1},
             {"MatPreallocatorPreallocate, fill", PreallocatorFilling, 1},
             {"MatPreallocatorPreallocate", PreallocatorNotFilling, 1},
             {"MatResetPreallocation", ResetPreallocation, 1},
             {"MatResetHash", ResetHash, 1},
             {"MatSetPreallocationCOOLocal", List, 2},
             {"access before the assembly", Unassembled, 3},
             {"MatZeroEntries", ZeroEntries, 3},
             {"no values", Nothing, 2},
             {"MatDuplicate, MatCopy, MatAXPY", Copies, 2}};

static PetscErrorCode RunCase(const char type[], size_t which, int seed)
{
  char        what[128];
  PetscMPIInt rank;
  Mat         M[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (int k = 0; k < 2; k++) PetscCall(Create(k ? type : MATAIJ, &M[k]));
  for (int time = 0; time < cases[which].times; time++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, seed %d, time %d", cases[which].name, seed, time));
    for (int k = 0; k < 2; k++) {
      state = (uint64_t)(1000 * seed + 100 * time) + (uint64_t)rank + 1;
      for (int skip = 0; skip < 4; skip++) (void)Random(2);
      if (time > 0) PetscCall(AllowNew(M[k]));
      PetscCall((*cases[which].run)(M[k]));
    }
    PetscCall(TestIsValid(M[1], what));
    PetscCall(TestCompare(M[0], M[1], what));
    if (time == 1)
      for (int k = 0; k < 2; k++) PetscCall(MatZeroEntries(M[k]));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a grid and their neighbours, those outside of it ignored; single values, or blocks when there are several unknowns a point. */
static PetscErrorCode EnterStencil(DM dm, Mat A, PetscInt dof)
{
  PetscInt    xs, ys, xm, ym, n;
  MatStencil  row, columns[3];
  PetscScalar v[3 * 4];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(dm, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(PetscMemzero(columns, sizeof(columns)));
  PetscCall(PetscMemzero(&row, sizeof(row)));
  for (PetscInt y = ys; y < ys + ym; y++)
    for (PetscInt x = xs; x < xs + xm; x++) {
      row.i = x;
      row.j = y;
      for (n = 0; n < 3; n++) {
        columns[n].i = n == 1 ? x - 1 : x;
        columns[n].j = n == 2 ? y - 1 : y;
        columns[n].c = 0;
      }
      RandomValues(3 * dof * dof, v);
      if (dof > 1) PetscCall(MatSetValuesBlockedStencil(A, 1, &row, 3, columns, v, ADD_VALUES));
      row.c = Random(dof);
      for (n = 0; n < 3; n++) columns[n].c = Random(dof);
      PetscCall(MatSetValuesStencil(A, 1, &row, 3, columns, v, ADD_VALUES));
      row.c = 0;
    }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunStencil(const char type[], PetscInt dof)
{
  PetscMPIInt rank;
  DM          dm;
  Mat         M[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 11, 9, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMSetMatrixPreallocateOnly(dm, PETSC_TRUE));
  for (int k = 0; k < 2; k++) {
    PetscCall(DMSetMatType(dm, k ? type : MATAIJ));
    PetscCall(DMCreateMatrix(dm, &M[k]));
    PetscCall(MatSetOption(M[k], MAT_SORTED_FULL, PETSC_FALSE)); /* DMDA may leave it on */
  }
  for (int time = 0; time < 3; time++) {
    for (int k = 0; k < 2; k++) {
      state = (uint64_t)(17 * time + rank) + 1;
      PetscCall(EnterStencil(dm, M[k], dof));
    }
    PetscCall(TestCompare(M[0], M[1], dof > 1 ? "MatSetValuesBlockedStencil" : "MatSetValuesStencil"));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t which = 0; which < PETSC_STATIC_ARRAY_LENGTH(cases); which++)
    for (int seed = 1; seed <= 3; seed++) PetscCall(RunCase(type, which, seed));
  for (PetscInt dof = 1; dof <= 2; dof++) PetscCall(RunStencil(type, dof));
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
         nsize: {{1 3 8}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda
      test:
         suffix: small_stage
         nsize: {{1 3}}
         args: -mat_dcsr_stage_entries 5
      test:
         suffix: segments
         nsize: {{1 3}}
         args: -mat_dcsr_defragment never -mat_dcsr_slack 0.1 -mat_dcsr_max_segments 2
      test:
         suffix: hidden
         nsize: {{1 3}}
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         nsize: {{1 3}}
         args: -mat_dcsr_test_wide_from 20

TEST*/
