/*
  Batch after batch into a matrix that begins empty, against the matrix made anew for each, by a sort of the batch and a merge.
*/
#include "insertbench.h"

#define COMPETITOR  INSERT_REBUILD
#define BATCH_SIZE  1000000
#define BATCHES     50
#define PART        10 /* batches at the beginning and at the end whose rate tells how the matrix's size matters */
#define NUM_ROWS    (1 << 22)
#define REPETITIONS 3

/* Seconds of all batches, of the first PART and of the last PART. */
typedef enum {
  ALL,
  FIRST,
  LAST,
  NUM_PARTS
} Part;

/* Notes the time after so many batches when a part begins or ends there. */
static PetscErrorCode Mark(PetscInt batches, PetscLogDouble *begin, PetscReal seconds[NUM_PARTS])
{
  PetscLogDouble now;

  PetscFunctionBegin;
  if (batches != 0 && batches != PART && batches != BATCHES - PART && batches != BATCHES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BenchNow(&now));
  if (batches == 0) *begin = now;
  if (batches == PART) seconds[FIRST] = (PetscReal)(now - *begin);
  if (batches == BATCHES - PART) seconds[LAST] = -(PetscReal)(now - *begin);
  if (batches == BATCHES) {
    seconds[ALL] = (PetscReal)(now - *begin);
    seconds[LAST] += seconds[ALL];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SteadyOurs(const InsertList *list, PetscReal seconds[NUM_PARTS], Mat *A)
{
  PetscLogDouble begin;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, list->num_rows, list->num_columns, list->num_rows, list->num_columns));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Mark(0, &begin, seconds));
  for (PetscInt k = 0; k < BATCHES; k++) {
    PetscCall(InsertBatch(*A, list, (PetscCount)k * BATCH_SIZE, BATCH_SIZE));
    PetscCall(Mark(k + 1, &begin, seconds));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SteadyRebuild(Bench *b, const InsertList *list, InsertRebuild *rebuild, PetscReal seconds[NUM_PARTS])
{
  PetscLogDouble begin;

  PetscFunctionBegin;
  PetscCall(InsertRebuildClear(rebuild));
  PetscCall(Mark(0, &begin, seconds));
  for (PetscInt k = 0; k < BATCHES; k++) {
    PetscCall(InsertBatchRebuild(b, rebuild, list, (PetscCount)k * BATCH_SIZE, BATCH_SIZE));
    PetscCall(Mark(k + 1, &begin, seconds));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries a second in one part, from the repetitions behind the first one, which warmed up. */
static PetscErrorCode Rate(PetscReal seconds[REPETITIONS + 1][NUM_PARTS], Part part, PetscReal *rate)
{
  PetscReal samples[REPETITIONS], median;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < REPETITIONS; k++) samples[k] = seconds[k + 1][part];
  PetscCall(BenchMedian(REPETITIONS, samples, &median));
  *rate = (PetscReal)(part == ALL ? BATCHES : PART) * (PetscReal)BATCH_SIZE / median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All batches; the list is destroyed. */
static PetscErrorCode SteadyCase(Bench *b, const char name[], InsertList *list)
{
  static const char *const metrics[NUM_PARTS] = {"rate", "rate-first-10", "rate-last-10"};
  InsertRebuild            rebuild;
  PetscReal                ours[REPETITIONS + 1][NUM_PARTS], best[REPETITIONS + 1][NUM_PARTS];
  Mat                      A = NULL;

  PetscFunctionBegin;
  PetscCall(InsertRebuildCreate(list->num_rows, list->num_columns, list->n, BATCH_SIZE, b->stream, &rebuild));
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(MatDestroy(&A));
    PetscCall(SteadyOurs(list, ours[k], &A));
    PetscCall(SteadyRebuild(b, list, &rebuild, best[k]));
  }
  PetscCall(InsertBenchCompareRebuild(b, name, A, &rebuild));
  PetscCall(MatDestroy(&A));
  PetscCall(InsertRebuildDestroy(&rebuild, b->stream));
  PetscCall(InsertListDestroy(list, b->stream));
  for (PetscInt part = ALL; part < NUM_PARTS; part++) {
    InsertResult r = {name, metrics[part], "entries/s", -1, -1, COMPETITOR, -1};

    PetscCall(Rate(ours, (Part)part, &r.ours));
    PetscCall(Rate(best, (Part)part, &r.best));
    PetscCall(InsertBenchRecord(b, &r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchSteady - steady-1m-rmat and steady-1m-uniform */
PetscErrorCode InsertBenchSteady(Bench *b)
{
  const PetscCount n = (PetscCount)BATCHES * BATCH_SIZE;
  PetscBool        rmat, uniform;
  InsertList       list;

  PetscFunctionBegin;
  PetscCall(BenchWants(b, "steady-1m-rmat", &rmat));
  PetscCall(BenchWants(b, "steady-1m-uniform", &uniform));
  if (rmat) {
    PetscCall(InsertListRMAT(22, 0, n, b->stream, &list));
    PetscCall(SteadyCase(b, "steady-1m-rmat", &list));
  }
  if (uniform) {
    PetscCall(InsertListUniform(NUM_ROWS, NUM_ROWS, 0, n, b->stream, &list));
    PetscCall(SteadyCase(b, "steady-1m-uniform", &list));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
