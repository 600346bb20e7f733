/*
  Batches of entries in device memory that join a matrix, against the matrix made anew by sorting.
*/
#include "insertbench.h"

#define REPETITIONS  5
#define COMPETITOR   "CUB sort and reduce"
#define RMAT_LEVELS  20
#define RMAT_ENTRIES ((PetscCount)16 << RMAT_LEVELS)
#define STEADY_SIZE  1000000 /* entries of a batch */
#define STEADY_STEPS 50
#define STEADY_ROWS  (1 << 22)

/* The same matrix for both. */
typedef struct {
  Mat           A;
  Vec           x, y;
  PetscCount    num_entries;
  InsertRebuild rebuild;
} Base;

/* A matrix of a list, for batches up to so many entries; the list is destroyed. */
static PetscErrorCode BaseCreate(InsertBench *b, InsertList *list, PetscCount max_batch, Base *base)
{
  cudaStream_t stream = b->timer.stream;

  PetscFunctionBegin;
  PetscCall(InsertRebuildCreate(list->num_rows, list->num_columns, list->n + max_batch, stream, &base->rebuild));
  PetscCall(InsertRebuildAppend(&base->rebuild, list->n, list->i, list->j, list->v, stream));
  PetscCall(InsertRebuildSave(&base->rebuild, stream));
  base->num_entries = base->rebuild.num_entries;
  PetscCall(MatCreate(PETSC_COMM_SELF, &base->A));
  PetscCall(MatSetSizes(base->A, list->num_rows, list->num_columns, list->num_rows, list->num_columns));
  PetscCall(MatSetType(base->A, MATDCSRCUDA));
  PetscCall(MatSetPreallocationCOO(base->A, list->n, list->i, list->j));
  PetscCall(MatSetValuesCOO(base->A, list->v, INSERT_VALUES));
  PetscCall(MatCreateVecs(base->A, &base->x, &base->y));
  PetscCall(VecSet(base->x, 1.0));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(InsertListDestroy(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BaseDestroy(InsertBench *b, Base *base)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&base->A));
  PetscCall(VecDestroy(&base->x));
  PetscCall(VecDestroy(&base->y));
  PetscCall(InsertRebuildDestroy(&base->rebuild, b->timer.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertBatch(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCall(MatDCSRCUDASetValuesDevice(A, n, i, j, v, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median seconds of a batch into a copy of the matrix, which was multiplied with before; the last copy. */
static PetscErrorCode MeasureOurs(const Base *base, const InsertList *batch, PetscReal *seconds, Mat *A)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  *A = NULL;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(MatDuplicate(base->A, MAT_COPY_VALUES, A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatMult(*A, base->x, base->y));
    PetscCall(InsertBenchTime(&begin));
    PetscCall(InsertBatch(*A, batch->n, batch->i, batch->j, batch->v));
    PetscCall(InsertBenchTime(&end));
    samples[k] = (PetscReal)(end - begin);
  }
  PetscCall(InsertBenchMedian(REPETITIONS, samples + 1, seconds)); // the first one warmed up
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureRebuild(InsertBench *b, Base *base, const InsertList *batch, PetscReal *seconds)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(InsertRebuildRestore(&base->rebuild, b->timer.stream));
    PetscCall(InsertBenchTime(&begin));
    PetscCall(InsertRebuildAppend(&base->rebuild, batch->n, batch->i, batch->j, batch->v, b->timer.stream));
    PetscCall(InsertBenchTime(&end));
    samples[k] = (PetscReal)(end - begin);
  }
  PetscCall(InsertBenchMedian(REPETITIONS, samples + 1, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One batch into the base matrix, which is destroyed: milliseconds, or entries a second. */
static PetscErrorCode BatchCase(InsertBench *b, const char name[], PetscBool rate, Base *base, InsertList *batch)
{
  InsertResult r = {name, rate ? "rate" : "batch-time", rate ? "entries/s" : "ms", -1, -1, COMPETITOR, -1};
  Mat          A;

  PetscFunctionBegin;
  PetscCall(MeasureOurs(base, batch, &r.ours, &A));
  PetscCall(MeasureRebuild(b, base, batch, &r.best));
  PetscCall(InsertBenchCompareRebuild(b, name, A, &base->rebuild));
  PetscCall(MatDestroy(&A));
  PetscCall(InsertListDestroy(batch, b->timer.stream));
  r.ours = rate ? (PetscReal)batch->n / r.ours : (PetscReal)1e3 * r.ours;
  r.best = rate ? (PetscReal)batch->n / r.best : (PetscReal)1e3 * r.best;
  PetscCall(InsertBenchRecord(b, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RMATBaseCreate(InsertBench *b, PetscCount max_batch, Base *base)
{
  InsertList list;

  PetscFunctionBegin;
  PetscCall(InsertListRMAT(RMAT_LEVELS, 0, RMAT_ENTRIES, b->timer.stream, &list));
  PetscCall(BaseCreate(b, &list, max_batch, base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* add10-rmat20, add02-rmat20: the R-MAT stream goes on behind the matrix's entries, so that some of the batch are in the matrix already. */
static PetscErrorCode AddRMAT(InsertBench *b)
{
  static const char *const names[2]  = {"add10-rmat20", "add02-rmat20"};
  static const PetscCount  shares[2] = {100, 2}; // thousandths
  PetscBool                wanted[2];
  InsertList               batch;
  Base                     base;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) PetscCall(InsertBenchWants(b, names[k], &wanted[k]));
  if (!wanted[0] && !wanted[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RMATBaseCreate(b, RMAT_ENTRIES / 10, &base));
  for (PetscInt k = 0; k < 2; k++) {
    if (!wanted[k]) continue;
    PetscCall(InsertListRMAT(RMAT_LEVELS, RMAT_ENTRIES, base.num_entries * shares[k] / 1000, b->timer.stream, &batch));
    PetscCall(BatchCase(b, names[k], PETSC_FALSE, &base, &batch));
  }
  PetscCall(BaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* add10-3d27-128: entries at random places */
static PetscErrorCode AddStencil(InsertBench *b)
{
  static const char name[] = "add10-3d27-128";
  PetscBool         wanted;
  InsertList        list, batch;
  Base              base;
  PetscInt          num_rows;

  PetscFunctionBegin;
  PetscCall(InsertBenchWants(b, name, &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertListStencil27(128, b->timer.stream, &list));
  num_rows = list.num_rows;
  PetscCall(BaseCreate(b, &list, list.n / 10, &base));
  PetscCall(InsertListUniform(num_rows, num_rows, 0, base.num_entries / 10, b->timer.stream, &batch));
  PetscCall(BatchCase(b, name, PETSC_FALSE, &base, &batch));
  PetscCall(BaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rate-batch-N: N entries, the R-MAT stream going on */
static PetscErrorCode RateBatches(InsertBench *b)
{
  static const PetscCount sizes[] = {10, 100, 1000, 10000, 100000, 1000000, 10000000};
  const PetscInt          n       = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes);
  PetscBool               wanted, created = PETSC_FALSE;
  char                    name[64];
  InsertList              batch;
  Base                    base;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "rate-batch-%" PetscCount_FMT, sizes[k]));
    PetscCall(InsertBenchWants(b, name, &wanted));
    if (!wanted) continue;
    if (!created) PetscCall(RMATBaseCreate(b, sizes[n - 1], &base));
    created = PETSC_TRUE;
    PetscCall(InsertListRMAT(RMAT_LEVELS, RMAT_ENTRIES, sizes[k], b->timer.stream, &batch));
    PetscCall(BatchCase(b, name, PETSC_TRUE, &base, &batch));
  }
  if (created) PetscCall(BaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rate-rowlength-L: a million entries at random places of a matrix of 16 M entries in rows of L */
static PetscErrorCode RateRowLengths(InsertBench *b)
{
  static const PetscInt row_sizes[] = {4, 16, 64, 256, 1024, 65536};
  const PetscInt        num_columns = 1 << 22, batch_size = 1000000;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(row_sizes); k++) {
    const PetscInt num_rows = (1 << 24) / row_sizes[k];
    PetscBool      wanted;
    char           name[64];
    InsertList     list, batch;
    Base           base;

    PetscCall(PetscSNPrintf(name, sizeof(name), "rate-rowlength-%" PetscInt_FMT, row_sizes[k]));
    PetscCall(InsertBenchWants(b, name, &wanted));
    if (!wanted) continue;
    PetscCall(InsertListRows(num_rows, num_columns, row_sizes[k], b->timer.stream, &list));
    PetscCall(BaseCreate(b, &list, batch_size, &base));
    PetscCall(InsertListUniform(num_rows, num_columns, 0, batch_size, b->timer.stream, &batch));
    PetscCall(BatchCase(b, name, PETSC_TRUE, &base, &batch));
    PetscCall(BaseDestroy(b, &base));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of all steps into an empty matrix of ours. */
static PetscErrorCode SteadyOurs(const InsertList *list, PetscReal *seconds, Mat *A)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, list->num_rows, list->num_columns, list->num_rows, list->num_columns));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(InsertBenchTime(&begin));
  for (PetscCount first = 0; first < list->n; first += STEADY_SIZE) PetscCall(InsertBatch(*A, STEADY_SIZE, list->i + first, list->j + first, list->v + first));
  PetscCall(InsertBenchTime(&end));
  *seconds = (PetscReal)(end - begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SteadyRebuild(InsertBench *b, const InsertList *list, InsertRebuild *rebuild, PetscReal *seconds)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(InsertRebuildClear(rebuild));
  PetscCall(InsertBenchTime(&begin));
  for (PetscCount first = 0; first < list->n; first += STEADY_SIZE) PetscCall(InsertRebuildAppend(rebuild, STEADY_SIZE, list->i + first, list->j + first, list->v + first, b->timer.stream));
  PetscCall(InsertBenchTime(&end));
  *seconds = (PetscReal)(end - begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All batches into a matrix that begins empty; the list is destroyed. */
static PetscErrorCode SteadyCase(InsertBench *b, const char name[], InsertList *list)
{
  InsertResult  r = {name, "rate", "entries/s", -1, -1, COMPETITOR, -1};
  InsertRebuild rebuild;
  PetscReal     ours[4], best[4];
  Mat           A = NULL;

  PetscFunctionBegin;
  PetscCall(InsertRebuildCreate(list->num_rows, list->num_columns, list->n, b->timer.stream, &rebuild));
  for (PetscInt k = 0; k < 4; k++) { // the first one warms up
    PetscCall(MatDestroy(&A));
    PetscCall(SteadyOurs(list, ours + k, &A));
    PetscCall(SteadyRebuild(b, list, &rebuild, best + k));
  }
  PetscCall(InsertBenchCompareRebuild(b, name, A, &rebuild));
  PetscCall(MatDestroy(&A));
  PetscCall(InsertRebuildDestroy(&rebuild, b->timer.stream));
  PetscCall(InsertBenchMedian(3, ours + 1, &r.ours));
  PetscCall(InsertBenchMedian(3, best + 1, &r.best));
  r.ours = (PetscReal)list->n / r.ours;
  r.best = (PetscReal)list->n / r.best;
  PetscCall(InsertListDestroy(list, b->timer.stream));
  PetscCall(InsertBenchRecord(b, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steady(InsertBench *b)
{
  const PetscCount n = (PetscCount)STEADY_STEPS * STEADY_SIZE;
  PetscBool        rmat, uniform;
  InsertList       list;

  PetscFunctionBegin;
  PetscCall(InsertBenchWants(b, "steady-1m-rmat", &rmat));
  PetscCall(InsertBenchWants(b, "steady-1m-uniform", &uniform));
  if (rmat) {
    PetscCall(InsertListRMAT(22, 0, n, b->timer.stream, &list));
    PetscCall(SteadyCase(b, "steady-1m-rmat", &list));
  }
  if (uniform) {
    PetscCall(InsertListUniform(STEADY_ROWS, STEADY_ROWS, 0, n, b->timer.stream, &list));
    PetscCall(SteadyCase(b, "steady-1m-uniform", &list));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchBatches - add..., steady... and rate... */
PetscErrorCode InsertBenchBatches(InsertBench *b)
{
  PetscFunctionBegin;
  PetscCall(AddRMAT(b));
  PetscCall(AddStencil(b));
  PetscCall(Steady(b));
  PetscCall(RateBatches(b));
  PetscCall(RateRowLengths(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
