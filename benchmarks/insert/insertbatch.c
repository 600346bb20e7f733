/*
  One batch of entries in device memory that joins a matrix, against the matrix made anew by a sort of the batch and a merge. Each is measured twice: as the first one after the matrix was
  made compact, and behind another, smaller one, as a matrix gets it that is in use already.
*/
#include "insertbench.h"

#define REPETITIONS 5
#define COMPETITOR  INSERT_REBUILD

/* The batch before that of a matrix in use: as large, but at most 1 % of the matrix, so that it hardly grows. */
static PetscCount OpeningSize(const InsertBase *base, PetscCount n)
{
  return PetscMin(n, PetscMax(base->num_entries / 100, 1));
}

/* Median seconds of the batch of n entries behind the opening ones of the list, which go into the matrix before; the last matrix. */
static PetscErrorCode MeasureOurs(const InsertBase *base, const InsertList *list, PetscCount opening, PetscCount n, PetscReal *seconds, Mat *A)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  *A = NULL;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(InsertBaseCopy(base, A));
    if (opening > 0) {
      PetscCall(InsertBatch(*A, list, 0, opening));
      PetscCall(MatMult(*A, base->x, base->y));
    }
    PetscCall(BenchNow(&begin));
    PetscCall(InsertBatch(*A, list, opening, n));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(end - begin);
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, seconds)); // the first one warmed up
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for the rebuild. */
static PetscErrorCode MeasureRebuild(Bench *b, InsertBase *base, const InsertList *list, PetscCount opening, PetscCount n, PetscReal *seconds)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(InsertRebuildRestore(&base->rebuild, b->stream));
    if (opening > 0) PetscCall(InsertBatchRebuild(b, &base->rebuild, list, 0, opening));
    PetscCall(BenchNow(&begin));
    PetscCall(InsertBatchRebuild(b, &base->rebuild, list, opening, n));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(end - begin);
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One metric of a case: milliseconds, or entries a second. */
static PetscErrorCode BatchMetric(Bench *b, const char name[], const char metric[], PetscBool rate, InsertBase *base, const InsertList *list, PetscCount opening, PetscCount n)
{
  InsertResult r = {name, metric, rate ? "entries/s" : "ms", -1, -1, COMPETITOR, -1};
  Mat          A;

  PetscFunctionBegin;
  PetscCall(MeasureOurs(base, list, opening, n, &r.ours, &A));
  PetscCall(MeasureRebuild(b, base, list, opening, n, &r.best));
  PetscCall(InsertBenchCompareRebuild(b, name, A, &base->rebuild));
  PetscCall(MatDestroy(&A));
  r.ours = rate ? (PetscReal)n / r.ours : (PetscReal)1e3 * r.ours;
  r.best = rate ? (PetscReal)n / r.best : (PetscReal)1e3 * r.best;
  PetscCall(InsertBenchRecord(b, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch of n entries into the base matrix; the list has OpeningSize() more and is destroyed. */
static PetscErrorCode BatchCase(Bench *b, const char name[], PetscBool rate, InsertBase *base, InsertList *list, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(BatchMetric(b, name, rate ? "rate" : "batch-time", rate, base, list, OpeningSize(base, n), n));
  PetscCall(BatchMetric(b, name, rate ? "first-rate" : "first-batch-time", rate, base, list, 0, n));
  PetscCall(InsertListDestroy(list, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The R-MAT stream goes on behind the matrix's entries, so that some of the batch are in the matrix already. */
static PetscErrorCode BatchCaseRMAT(Bench *b, const char name[], PetscBool rate, InsertBase *base, PetscCount n)
{
  InsertList list;

  PetscFunctionBegin;
  PetscCall(InsertListRMAT(INSERT_RMAT_LEVELS, INSERT_RMAT_ENTRIES, OpeningSize(base, n) + n, b->stream, &list));
  PetscCall(BatchCase(b, name, rate, base, &list, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries at random positions. */
static PetscErrorCode BatchCaseUniform(Bench *b, const char name[], PetscBool rate, InsertBase *base, PetscCount n)
{
  InsertList list;

  PetscFunctionBegin;
  PetscCall(InsertListUniform(base->rebuild.num_rows, base->rebuild.num_columns, 0, OpeningSize(base, n) + n, b->stream, &list));
  PetscCall(BatchCase(b, name, rate, base, &list, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* add10-rmat20, add02-rmat20 */
static PetscErrorCode AddRMAT(Bench *b)
{
  static const char *const names[2]  = {"add10-rmat20", "add02-rmat20"};
  static const PetscCount  shares[2] = {100, 2}; // thousandths
  PetscBool                wanted[2];
  InsertBase               base;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) PetscCall(BenchWants(b, names[k], &wanted[k]));
  if (!wanted[0] && !wanted[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertBaseCreateRMAT(b, INSERT_RMAT_ENTRIES / 100 * 12, &base));
  for (PetscInt k = 0; k < 2; k++) {
    if (wanted[k]) PetscCall(BatchCaseRMAT(b, names[k], PETSC_FALSE, &base, base.num_entries * shares[k] / 1000));
  }
  PetscCall(InsertBaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* add10-3d27-128 */
static PetscErrorCode AddStencil(Bench *b)
{
  static const char name[] = "add10-3d27-128";
  PetscBool         wanted;
  InsertList        list;
  InsertBase        base;

  PetscFunctionBegin;
  PetscCall(BenchWants(b, name, &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertListStencil27(128, b->stream, &list));
  PetscCall(InsertBaseCreate(b, &list, list.n / 100 * 12, &base));
  PetscCall(BatchCaseUniform(b, name, PETSC_FALSE, &base, base.num_entries / 10));
  PetscCall(InsertBaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rate-batch-N: N entries, the R-MAT stream going on */
static PetscErrorCode RateBatches(Bench *b)
{
  static const PetscCount sizes[] = {10, 100, 1000, 10000, 100000, 1000000, 10000000};
  const PetscInt          n       = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes);
  PetscBool               wanted, created = PETSC_FALSE;
  char                    name[64];
  InsertBase              base;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "rate-batch-%" PetscCount_FMT, sizes[k]));
    PetscCall(BenchWants(b, name, &wanted));
    if (!wanted) continue;
    if (!created) PetscCall(InsertBaseCreateRMAT(b, sizes[n - 1] + INSERT_RMAT_ENTRIES / 100, &base));
    created = PETSC_TRUE;
    PetscCall(BatchCaseRMAT(b, name, PETSC_TRUE, &base, sizes[k]));
  }
  if (created) PetscCall(InsertBaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rate-rowlength-L: a million entries at random positions of a matrix of 16 M entries in rows of L */
static PetscErrorCode RateRowLengths(Bench *b)
{
  static const PetscInt row_sizes[] = {4, 16, 64, 256, 1024, 65536};
  const PetscInt        num_columns = 1 << 22, batch_size = 1000000;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(row_sizes); k++) {
    const PetscInt num_rows = (1 << 24) / row_sizes[k];
    PetscBool      wanted;
    char           name[64];
    InsertList     list;
    InsertBase     base;

    PetscCall(PetscSNPrintf(name, sizeof(name), "rate-rowlength-%" PetscInt_FMT, row_sizes[k]));
    PetscCall(BenchWants(b, name, &wanted));
    if (!wanted) continue;
    PetscCall(InsertListRows(num_rows, num_columns, row_sizes[k], PETSC_FALSE, b->stream, &list));
    PetscCall(InsertBaseCreate(b, &list, 2 * batch_size, &base));
    PetscCall(BatchCaseUniform(b, name, PETSC_TRUE, &base, batch_size));
    PetscCall(InsertBaseDestroy(b, &base));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchBatches - add... and rate... */
PetscErrorCode InsertBenchBatches(Bench *b)
{
  PetscFunctionBegin;
  PetscCall(AddRMAT(b));
  PetscCall(AddStencil(b));
  PetscCall(RateBatches(b));
  PetscCall(RateRowLengths(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
