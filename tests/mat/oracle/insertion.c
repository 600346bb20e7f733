#include "oracle.h"
#include <petscsparsecuda.h>
#include <petscdevice_cuda.h>

/* Insertion: what new storage, appended storage and storage with holes have to take, with nothing in between that would tidy up. */

/* How the entries of a batch come. */
typedef enum {
  ANYWHERE, /* with repeats, some to be ignored */
  ONE_ROW,
  ONE_ENTRY,
  DESCENDING,
  EVERY_ROW, /* one entry each */
  CORNERS,   /* first and last rows and columns */
  NUM_ORDERS
} Order;

typedef struct {
  PetscInt     n;
  PetscInt    *i, *j;
  PetscScalar *v;
  InsertMode   mode;
} Batch;

/* Sums travel between ranks, insertions stay at home: two ranks might insert different values. */
static PetscErrorCode BatchCreate(Oracle o, PetscInt n, Order order, InsertMode mode, Batch *batch)
{
  PetscInt M, N, begin, end;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  if (mode == ADD_VALUES) {
    begin = 0;
    end   = M;
  }
  if (order == EVERY_ROW) n = end - begin;
  if (begin == end || N == 0) n = 0;
  batch->n    = n;
  batch->mode = mode;
  PetscCall(PetscMalloc3(n, &batch->i, n, &batch->j, n, &batch->v));
  for (PetscInt k = 0; k < n; k++) {
    const uint64_t h   = OracleHash(o->fill, (uint64_t)o->rank, order == ONE_ENTRY ? 0 : (uint64_t)k);
    PetscInt       row = begin + (PetscInt)(h % (uint64_t)(end - begin)), column = (PetscInt)((h >> 24) % (uint64_t)N);

    if (order == ONE_ROW) row = begin + (PetscInt)(OracleHash(o->fill, (uint64_t)o->rank, 1) % (uint64_t)(end - begin));
    if (order == EVERY_ROW) row = begin + k;
    if (order == CORNERS) {
      row    = h & 1 ? begin : end - 1;
      column = h & 2 ? 0 : N - 1;
    }
    if (order == DESCENDING) {
      const PetscCount positions = (PetscCount)(end - begin) * N, position = positions - 1 - (k * PetscMax(1, positions / n)) % positions;

      row    = begin + (PetscInt)(position / N);
      column = (PetscInt)(position % N);
    }
    if (order == ANYWHERE && h % 13 == 0) row = -1;
    if (order == ANYWHERE && h % 17 == 0) column = -1;
    batch->i[k] = row;
    batch->j[k] = column;
    batch->v[k] = h % 11 == 0 ? 0 : OracleReal(o->fill, (uint64_t)o->rank, (uint64_t)k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BatchDestroy(Batch *batch)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(batch->i, batch->j, batch->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix under test takes lists in device memory just now: it says so when it gets an empty one. */
static PetscErrorCode TakesDeviceLists(Oracle o, InsertMode mode, PetscBool *takes)
{
  PetscErrorCode ierr;
  PetscBool      ours = PETSC_FALSE;

  PetscFunctionBegin;
  *takes = PETSC_FALSE;
  PetscCall(OracleIsOurs(o, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatDCSRCUDASetValuesDevice(o->B, 0, NULL, NULL, NULL, mode);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d from an empty list", o->operation, (int)ierr);
  *takes = (PetscBool)(ierr == PETSC_SUCCESS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertFromDevice(Mat X, const Batch *batch)
{
  const size_t n = (size_t)batch->n;
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&i, (n + 1) * sizeof(*i)));
  PetscCallCUDA(cudaMalloc((void **)&j, (n + 1) * sizeof(*j)));
  PetscCallCUDA(cudaMalloc((void **)&v, (n + 1) * sizeof(*v)));
  PetscCallCUDA(cudaMemcpy(i, batch->i, n * sizeof(*i), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(j, batch->j, n * sizeof(*j), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(v, batch->v, n * sizeof(*v), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaDeviceSynchronize()); /* PETSc's stream waits for no other */
  PetscCall(MatDCSRCUDASetValuesDevice(X, batch->n, i, j, v, batch->mode));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaFree(i));
  PetscCallCUDA(cudaFree(j));
  PetscCallCUDA(cudaFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs of a row in one call. */
static PetscErrorCode InsertFromHost(Mat X, const Batch *batch)
{
  PetscFunctionBegin;
  for (PetscInt k = 0, end; k < batch->n; k = end) {
    for (end = k + 1; end < batch->n && batch->i[end] == batch->i[k];) end++;
    PetscCall(MatSetValues(X, 1, &batch->i[k], end - k, &batch->j[k], &batch->v[k], batch->mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One batch for both matrices; device: as a list in device memory where the matrix under test takes one. Not assembled afterwards. */
static PetscErrorCode Insert(Oracle o, PetscInt n, Order order, InsertMode mode, PetscBool device)
{
  PetscBool takes = PETSC_FALSE;
  Batch     batch;

  PetscFunctionBegin;
  PetscCall(BatchCreate(o, n, order, mode, &batch));
  if (device) PetscCall(TakesDeviceLists(o, mode, &takes));
  PetscCall(InsertFromHost(o->A, &batch));
  if (takes) PetscCall(InsertFromDevice(o->B, &batch));
  else PetscCall(InsertFromHost(o->B, &batch));
  PetscCall(BatchDestroy(&batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few entries at a time and assembled, again and again: some rows run out of room and others do not. */
static PetscErrorCode SmallBatches(Oracle o)
{
  const PetscInt  rounds = 2 + OracleShared(o, 25), most = 1 + OracleShared(o, 12);
  const PetscBool same = OracleFlip(o, 3), check = OracleFlip(o, 2);
  const Order     order = (Order)OracleShared(o, NUM_ORDERS);

  PetscFunctionBegin;
  for (PetscInt r = 0; r < rounds; r++) {
    const InsertMode mode   = OracleFlip(o, 3) ? INSERT_VALUES : ADD_VALUES;
    const PetscBool  device = OracleFlip(o, 2);
    const PetscInt   n      = OracleShared(o, most + 1);

    PetscCall(Insert(o, n, same ? order : (Order)OracleShared(o, EVERY_ROW), mode, device));
    PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
    if (check) PetscCall(OracleCheckValid(o));
  }
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with or without transposition, with and without addition. */
static PetscErrorCode CompareProduct(Oracle o, PetscInt which)
{
  const PetscBool transpose = (PetscBool)(which % 2 != 0);
  Vec             x[2], y[2], z[2];

  PetscFunctionBegin;
  PetscCall(OracleUpdateNorm(o));
  PetscCall(OracleCreateVec(o, o->B, transpose, &x[0], &x[1]));
  PetscCall(OracleCreateVec(o, o->B, (PetscBool)!transpose, &y[0], &y[1]));
  PetscCall(OracleCreateVec(o, o->B, (PetscBool)!transpose, &z[0], &z[1]));
  for (int k = 0; k < 2; k++) {
    const Mat M = k ? o->B : o->A;

    if (which == 0) PetscCall(MatMult(M, x[k], y[k]));
    if (which == 1) PetscCall(MatMultTranspose(M, x[k], y[k]));
    if (which == 2) PetscCall(MatMultAdd(M, x[k], z[k], y[k]));
    if (which == 3) PetscCall(MatMultTransposeAdd(M, x[k], z[k], y[k]));
  }
  PetscCall(OracleCompareVec(o, y[0], y[1], o->norm));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
    PetscCall(VecDestroy(&z[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Something that reads or changes the matrix between two batches. */
static PetscErrorCode Between(Oracle o, PetscInt which)
{
  PetscInt begin, end, n = 0, rows[2];
  Mat      X[2];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  for (; begin < end && n < 2; n++) rows[n] = begin + (PetscInt)(OracleHash(o->fill, (uint64_t)o->rank, (uint64_t)n + 40) % (uint64_t)(end - begin));
  if (which < 4) PetscCall(CompareProduct(o, which));
  else if (which == 4) OracleBoth(MatScale(o->A, -1), MatScale(o->B, -1));
  else if (which == 5) {
    PetscCall(OracleSetOption(o, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE)); /* which MATMPIAIJ forgets for the off-diagonal block when that gets new columns */
    OracleBoth(MatZeroRows(o->A, n, rows, 0, NULL, NULL), MatZeroRows(o->B, n, rows, 0, NULL, NULL));
  } else if (which == 6) OracleBoth(MatEliminateZeros(o->A, PETSC_TRUE), MatEliminateZeros(o->B, PETSC_TRUE));
  else if (which == 7) OracleBoth(MatFilter(o->A, 0.0123456789, PETSC_TRUE, PETSC_FALSE), MatFilter(o->B, 0.0123456789, PETSC_TRUE, PETSC_FALSE));
  else if (which < 11) {
    OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &X[0]), MatDuplicate(o->B, MAT_COPY_VALUES, &X[1]));
    if (which == 8) PetscCall(OracleReplace(o, X[0], X[1]));
    if (which == 9) OracleBoth(MatScale(X[0], 2), MatScale(X[1], 2));
    if (which == 9) OracleBoth(MatCopy(X[0], o->A, SAME_NONZERO_PATTERN), MatCopy(X[1], o->B, SAME_NONZERO_PATTERN));
    if (which == 10) OracleBoth(MatAXPY(o->A, 0.5, X[0], SAME_NONZERO_PATTERN), MatAXPY(o->B, 0.5, X[1], SAME_NONZERO_PATTERN));
    for (int k = 0; which != 8 && k < 2; k++) PetscCall(MatDestroy(&X[k]));
  } else if (which == 11) OracleBoth(MatZeroEntries(o->A), MatZeroEntries(o->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small batches and other operations in turn. */
static PetscErrorCode Interleaved(Oracle o)
{
  const PetscInt rounds = 2 + OracleShared(o, 8);

  PetscFunctionBegin;
  OracleBoth(MatSetOption(o->A, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_FALSE), MatSetOption(o->B, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_FALSE));
  for (PetscInt r = 0; r < rounds; r++) {
    const InsertMode mode   = OracleFlip(o, 3) ? INSERT_VALUES : ADD_VALUES;
    const PetscBool  device = OracleFlip(o, 2);

    PetscCall(OracleSetOption(o, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* a duplicate forgets */
    PetscCall(Insert(o, OracleShared(o, 9), (Order)OracleShared(o, EVERY_ROW), mode, device));
    PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
    PetscCall(OracleCheckValid(o));
    PetscCall(Between(o, OracleShared(o, 16)));
    PetscCall(OracleCheckValid(o));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many entries as there are, or more. */
static PetscErrorCode LargeBatch(Oracle o)
{
  const InsertMode mode   = OracleFlip(o, 3) ? INSERT_VALUES : ADD_VALUES;
  const PetscBool  device = (PetscBool)!OracleFlip(o, 3);
  const PetscInt   n      = 1 + OracleShared(o, 600);

  PetscFunctionBegin;
  PetscCall(Insert(o, n, (Order)OracleShared(o, NUM_ORDERS), mode, device));
  if (OracleFlip(o, 3)) PetscCall(Insert(o, n, (Order)OracleShared(o, NUM_ORDERS), mode, (PetscBool)!device)); /* the two kinds in one assembly */
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both modes in one assembly, a flush between them. */
static PetscErrorCode Flush(Oracle o)
{
  const PetscInt rounds = 2 + OracleShared(o, 4);

  PetscFunctionBegin;
  for (PetscInt r = 0; r < rounds; r++) {
    const PetscBool device = OracleFlip(o, 3);
    const PetscInt  n      = OracleShared(o, 40);

    PetscCall(Insert(o, n, (Order)OracleShared(o, NUM_ORDERS), OracleFlip(o, 2) ? INSERT_VALUES : ADD_VALUES, device));
    PetscCall(OracleAssemble(o, r == rounds - 1 ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
  }
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each value obeys the options that hold when it comes. */
static PetscErrorCode Options(Oracle o)
{
  const MatOption options[] = {MAT_ROW_ORIENTED, MAT_IGNORE_ZERO_ENTRIES, MAT_NEW_NONZERO_LOCATIONS, MAT_IGNORE_OFF_PROC_ENTRIES};
  const PetscBool usual[]   = {PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE};
  const PetscBool device    = OracleFlip(o, 3);
  const PetscInt  rounds    = 1 + OracleShared(o, 6);

  PetscFunctionBegin;
  for (PetscInt r = 0; r < rounds; r++) {
    const PetscInt  which = OracleShared(o, 4);
    const PetscBool flag  = OracleFlip(o, 2);

    if (which == 2 && o->size > 1) continue; /* entries of other ranks obey the options of the assembly */
    PetscCall(OracleSetOption(o, options[which], flag));
    PetscCall(Insert(o, OracleShared(o, 20), (Order)OracleShared(o, NUM_ORDERS), ADD_VALUES, device));
  }
  for (int k = 0; k < 4; k++) PetscCall(OracleSetOption(o, options[k], usual[k]));
  PetscCall(OracleSetOption(o, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Insert(o, OracleShared(o, 5), ANYWHERE, ADD_VALUES, device));
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A position of the first row of this rank that is not in the matrix, and one that is; -1 when there is none. */
static PetscErrorCode FindPositions(Oracle o, PetscInt *row, PetscInt *missing, PetscInt *present)
{
  PetscInt        begin, end, N, n;
  const PetscInt *columns;

  PetscFunctionBegin;
  *missing = *present = -1;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetSize(o->A, NULL, &N));
  *row = begin;
  if (begin == end) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetRow(o->A, begin, &n, &columns, NULL));
  if (n > 0) *present = columns[n - 1];
  for (PetscInt k = 0; k <= n && *missing < 0; k++) {
    const PetscInt next = k ? columns[k - 1] + 1 : 0;

    if (next < N && (k == n || columns[k] != next)) *missing = next;
  }
  PetscCall(MatRestoreRow(o->A, begin, &n, &columns, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that exist may be set where new ones are errors or ignored, and after an error all is as it was. */
static PetscErrorCode Forbidden(Oracle o)
{
  const MatOption options[] = {MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_ALLOCATION_ERR};
  const MatOption option    = options[OracleShared(o, 2)];
  PetscInt        row = -1, missing = -1, present = -1;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(FindPositions(o, &row, &missing, &present));
  PetscCall(OracleSetOption(o, option, PETSC_TRUE));
  if (missing >= 0 && option == MAT_NEW_NONZERO_LOCATION_ERR) { /* MATAIJ may have room left, which the other option does not forbid */
    for (int k = 0; k < 2; k++) {
      const Mat X = k ? o->B : o->A;

      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = MatSetValue(X, row, missing, 1, ADD_VALUES);
      if (ierr == PETSC_SUCCESS) ierr = MatSetOption(X, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE); /* what waits is merged into the matrix first */
      PetscCall(PetscPopErrorHandler());
      PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d of %s", o->operation, (int)ierr, k ? o->type : MATAIJ);
    }
  }
  if (present >= 0) OracleBoth(MatSetValue(o->A, row, present, 0.5, ADD_VALUES), MatSetValue(o->B, row, present, 0.5, ADD_VALUES));
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleSetOption(o, option, PETSC_FALSE));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New storage of another pattern, refilled between products; values of other kinds may follow. */
static PetscErrorCode Refill(Oracle o)
{
  const PetscInt n = OracleFlip(o, 8) ? 0 : 1 + OracleShared(o, 200), times = 1 + OracleShared(o, 4);
  Batch          batch;
  PetscInt      *i, *j;

  PetscFunctionBegin;
  PetscCall(BatchCreate(o, n, (Order)OracleShared(o, EVERY_ROW), ADD_VALUES, &batch));
  PetscCall(PetscMalloc2(batch.n, &i, batch.n, &j));
  for (int k = 0; k < 2; k++) { /* MATAIJ changes the lists that it gets */
    PetscCall(PetscArraycpy(i, batch.i, batch.n));
    PetscCall(PetscArraycpy(j, batch.j, batch.n));
    PetscCall(MatSetPreallocationCOO(k ? o->B : o->A, batch.n, i, j));
  }
  PetscCall(PetscFree2(i, j));
  for (PetscInt t = 0; t < times; t++) {
    const InsertMode mode = t && OracleFlip(o, 2) ? ADD_VALUES : INSERT_VALUES;

    for (PetscInt k = 0; k < batch.n; k++) batch.v[k] = OracleReal(o->fill, (uint64_t)o->rank, (uint64_t)(k + 1000 * t));
    OracleBoth(MatSetValuesCOO(o->A, batch.v, mode), MatSetValuesCOO(o->B, batch.v, mode));
    if (OracleFlip(o, 2)) PetscCall(CompareProduct(o, OracleShared(o, 4)));
  }
  PetscCall(BatchDestroy(&batch));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries go, and others come. */
static PetscErrorCode Reset(Oracle o)
{
  PetscFunctionBegin;
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY)); /* a matrix that was never assembled is left alone */
  OracleBoth(MatResetHash(o->A), MatResetHash(o->B));
  PetscCall(Insert(o, 1 + OracleShared(o, 200), (Order)OracleShared(o, NUM_ORDERS), ADD_VALUES, PETSC_FALSE));
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage changes, the matrix does not. */
static PetscErrorCode Defragment(Oracle o)
{
  const PetscInt  segments = 1 + OracleShared(o, 4), slack = OracleShared(o, 3);
  const PetscBool both = OracleFlip(o, 2);
  PetscBool       ours;

  PetscFunctionBegin;
  PetscCall(TestLibIsOurs(o->B, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  if (both) PetscCall(TestLibFragment(o->B, segments, slack));
  PetscCall(OracleCheckValid(o));
  PetscCall(MatDCSRCUDADefragment(o->B));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small batches into storage that others have fragmented, with and without room behind the rows. */
static PetscErrorCode IntoFragmented(Oracle o)
{
  const PetscInt segments = 1 + OracleShared(o, 4), slack = OracleShared(o, 3);
  PetscBool      ours;

  PetscFunctionBegin;
  PetscCall(TestLibIsOurs(o->B, &ours));
  if (ours) PetscCall(TestLibFragment(o->B, segments, slack));
  PetscCall(SmallBatches(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleInsertionOperations[] = {{"insertion of small batches", 6, SmallBatches, PETSC_FALSE, 0},
                                                     {"insertion of small batches into fragmented storage", 4, IntoFragmented, PETSC_FALSE, 0},
                                                     {"insertion and other operations in turn", 6, Interleaved, PETSC_FALSE, 0},
                                                     {"insertion of a large batch", 4, LargeBatch, PETSC_FALSE, 0},
                                                     {"insertion with flushes", 4, Flush, PETSC_FALSE, 0},
                                                     {"insertion with options", 4, Options, PETSC_FALSE, 0},
                                                     {"insertion of forbidden entries", 3, Forbidden, PETSC_FALSE, 0},
                                                     {"insertion by lists, refilled", 2, Refill, PETSC_FALSE, 0},
                                                     {"insertion after MatResetHash", 1, Reset, PETSC_FALSE, 0},
                                                     {"insertion storage made compact", 3, Defragment, PETSC_FALSE, 0},
                                                     {NULL, 0, NULL, PETSC_FALSE, 0}};
