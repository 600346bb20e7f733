/*
  The competitor of lists of coordinates on the device; see insertcoo.h.
*/
#include "insertcoo.h"

#define REPETITIONS INSERT_COO_REPETITIONS

const InsertMode InsertRefillModes[2] = {INSERT_VALUES, ADD_VALUES};

/* The list on the device for the rebuild: where it is, or room for a copy of what is on the host. */
static PetscErrorCode CreateDeviceList(Bench *b, const InsertCOOList *list, InsertList *device)
{
  PetscFunctionBegin;
  device->num_rows = device->num_columns = list->num_rows;
  device->n                              = list->n;
  device->i                              = (PetscInt *)list->i;
  device->j                              = (PetscInt *)list->j;
  device->v                              = (PetscScalar *)list->v;
  if (!list->on_host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(list->n, "rows of a list", b->stream, &device->i));
  PetscCall(PetscSparseCUDAMalloc(list->n, "columns of a list", b->stream, &device->j));
  PetscCall(PetscSparseCUDAMalloc(list->n, "values of a list", b->stream, &device->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of the rebuild of a list, with the copies of one on the host, behind one that warms up. */
static PetscErrorCode MeasureRebuild(Bench *b, const InsertCOOList *list, const InsertList *device, InsertRebuild *rebuild, PetscReal *ms)
{
  const size_t   bytes = (size_t)list->n * sizeof(PetscInt);
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(InsertRebuildClear(rebuild));
    PetscCall(BenchNow(&begin));
    if (list->on_host) {
      PetscCallCUDA(cudaMemcpyAsync(device->i, list->i, bytes, cudaMemcpyHostToDevice, b->stream));
      PetscCallCUDA(cudaMemcpyAsync(device->j, list->j, bytes, cudaMemcpyHostToDevice, b->stream));
      PetscCallCUDA(cudaMemcpyAsync(device->v, list->v, (size_t)list->n * sizeof(PetscScalar), cudaMemcpyHostToDevice, b->stream));
    }
    PetscCall(InsertRebuildAppend(rebuild, list->n, device->i, device->j, device->v, b->stream));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e3 * (end - begin));
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of new values by the kept permutation, in one mode, as often as ours are set. */
static PetscErrorCode MeasureRefill(Bench *b, const InsertRefill *refill, const PetscScalar v[], InsertMode mode, InsertRebuild *rebuild, PetscReal *ms)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(BenchNow(&begin));
    PetscCall(InsertRefillValues(refill, v, (PetscBool)(mode == ADD_VALUES), rebuild->values, b->stream));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e3 * (end - begin));
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertListMeasureRebuild - see insertcoo.h */
PetscErrorCode InsertListMeasureRebuild(Bench *b, const char name[], const InsertCOOList *list, Mat A, PetscReal *ms, PetscReal refill_ms[2])
{
  InsertRebuild rebuild;
  InsertRefill  refill;
  InsertList    device;

  PetscFunctionBegin;
  PetscCall(CreateDeviceList(b, list, &device));
  PetscCall(InsertRebuildCreate(list->num_rows, list->num_rows, list->n, list->n, b->stream, &rebuild));
  PetscCall(MeasureRebuild(b, list, &device, &rebuild, ms));
  PetscCall(InsertRebuildFinish(&rebuild));
  if (refill_ms) {
    PetscCall(InsertRefillCreate(&rebuild, list->n, device.i, device.j, b->stream, &refill));
    for (PetscInt k = 0; k < 2; k++) PetscCall(MeasureRefill(b, &refill, device.v, InsertRefillModes[k], &rebuild, refill_ms + k));
    PetscCall(InsertRefillDestroy(&refill, b->stream));
  }
  if (A != NULL) PetscCall(InsertBenchCompareRebuild(b, name, A, &rebuild));
  PetscCall(InsertRebuildDestroy(&rebuild, b->stream));
  if (list->on_host) PetscCall(InsertListDestroy(&device, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
