/*
  Matrices by CUB; see insertrebuild.h.
*/
#include "insertrebuild.h"
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#define INSERT_THREADS 256

static inline unsigned int InsertGrid(PetscCount n)
{
  return (unsigned int)((n + INSERT_THREADS - 1) / INSERT_THREADS);
}

struct AddValues {
  __host__ __device__ PetscScalar operator()(const PetscScalar &a, const PetscScalar &b) const { return a + b; }
};

/* Bits of the numbers below n. */
static int NumBits(PetscInt n)
{
  int bits = 1;

  while (bits < 63 && ((int64_t)1 << bits) < (int64_t)n) bits++;
  return bits;
}

/* Numbers of entries are int, with which CUB is fastest: InsertRebuildCreate() has checked the capacity. */

/* The batch by itself, from the user's values. */
static cudaError_t RebuildSort(const InsertRebuild *r, void *work, size_t *bytes, PetscCount n, const PetscScalar v[], cudaStream_t stream)
{
  return cub::DeviceRadixSort::SortPairs(work, *bytes, r->batch_keys[0], r->batch_keys[1], v, r->batch_values, (int)n, 0, r->column_bits + r->row_bits, stream);
}

static cudaError_t RebuildMerge(const InsertRebuild *r, void *work, size_t *bytes, PetscCount num_entries, PetscCount n, cudaStream_t stream)
{
  return cub::DeviceMerge::MergePairs(work, *bytes, r->keys, r->values, (int64_t)num_entries, r->batch_keys[1], r->batch_values, (int64_t)n, r->merged_keys, r->merged_values,
                                      ::cuda::std::less<uint64_t>{}, stream);
}

static cudaError_t RebuildReduce(const InsertRebuild *r, void *work, size_t *bytes, const uint64_t keys[], const PetscScalar values[], PetscCount n, cudaStream_t stream)
{
  return cub::DeviceReduce::ReduceByKey(work, *bytes, keys, r->keys, values, r->values, r->count, AddValues{}, (int)n, stream);
}

static PetscErrorCode AllocateWork(InsertRebuild *r, cudaStream_t stream)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  PetscCallCUDA(RebuildSort(r, NULL, &r->work_bytes, r->batch_capacity, NULL, stream));
  PetscCallCUDA(RebuildMerge(r, NULL, &bytes, r->capacity - r->batch_capacity, r->batch_capacity, stream));
  r->work_bytes = PetscMax(r->work_bytes, bytes);
  bytes         = 0;
  PetscCallCUDA(RebuildReduce(r, NULL, &bytes, r->merged_keys, r->merged_values, r->capacity, stream));
  r->work_bytes = PetscMax(r->work_bytes, bytes);
  PetscCall(PetscSparseCUDAMalloc(r->work_bytes, "workspace of the rebuild", stream, &r->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildCreate - an empty matrix; free it with InsertRebuildDestroy(). A failure ends the benchmark: nothing is freed. */
PetscErrorCode InsertRebuildCreate(PetscInt num_rows, PetscInt num_columns, PetscCount capacity, PetscCount batch_capacity, cudaStream_t stream, InsertRebuild *r)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->num_rows       = num_rows;
  r->num_columns    = num_columns;
  r->row_bits       = NumBits(num_rows);
  r->column_bits    = NumBits(num_columns);
  r->capacity       = capacity;
  r->batch_capacity = batch_capacity;
  PetscCheck(r->row_bits + r->column_bits <= 64 && capacity <= PETSC_INT32_MAX && batch_capacity <= capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Matrix too large for the rebuild");
  PetscCall(PetscSparseCUDAMalloc(capacity, "keys of the rebuild", stream, &r->keys));
  PetscCall(PetscSparseCUDAMalloc(capacity, "merged keys of the rebuild", stream, &r->merged_keys));
  PetscCall(PetscSparseCUDAMalloc(capacity, "values of the rebuild", stream, &r->values));
  PetscCall(PetscSparseCUDAMalloc(capacity, "merged values of the rebuild", stream, &r->merged_values));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAMalloc(batch_capacity, "keys of a batch of the rebuild", stream, &r->batch_keys[k]));
  PetscCall(PetscSparseCUDAMalloc(batch_capacity, "values of a batch of the rebuild", stream, &r->batch_values));
  PetscCall(PetscSparseCUDAMalloc(capacity, "columns of the rebuild", stream, &r->columns));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_rows + 1, "row offsets of the rebuild", stream, &r->row_offsets));
  PetscCall(PetscSparseCUDAMalloc(1, "number of entries of the rebuild", stream, &r->count));
  PetscCallCUDA(cudaMallocHost((void **)&r->host_count, sizeof(*r->host_count)));
  PetscCallCUDA(cudaEventCreateWithFlags(&r->counted, cudaEventDisableTiming));
  PetscCall(AllocateWork(r, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildDestroy - frees all of it */
PetscErrorCode InsertRebuildDestroy(InsertRebuild *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(InsertRebuildFinish(r));
  PetscCall(PetscSparseCUDAFree(&r->keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->merged_keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->values, stream));
  PetscCall(PetscSparseCUDAFree(&r->merged_values, stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&r->batch_keys[k], stream));
  PetscCall(PetscSparseCUDAFree(&r->batch_values, stream));
  PetscCall(PetscSparseCUDAFree(&r->columns, stream));
  PetscCall(PetscSparseCUDAFree(&r->row_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&r->saved_keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->saved_values, stream));
  PetscCall(PetscSparseCUDAFree(&r->count, stream));
  PetscCall(PetscSparseCUDAFree(&r->work, stream));
  PetscCallCUDA(cudaFreeHost(r->host_count));
  PetscCallCUDA(cudaEventDestroy(r->counted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildFinish - see insertrebuild.h */
PetscErrorCode InsertRebuildFinish(InsertRebuild *r)
{
  PetscFunctionBegin;
  if (!r->counting) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaEventSynchronize(r->counted));
  r->num_entries = *r->host_count;
  r->counting    = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildClear - see insertrebuild.h */
PetscErrorCode InsertRebuildClear(InsertRebuild *r)
{
  PetscFunctionBegin;
  PetscCall(InsertRebuildFinish(r));
  r->num_entries = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildSave - see insertrebuild.h */
PetscErrorCode InsertRebuildSave(InsertRebuild *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(InsertRebuildFinish(r));
  PetscCall(PetscSparseCUDAFree(&r->saved_keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->saved_values, stream));
  r->num_saved = r->num_entries;
  PetscCall(PetscSparseCUDAMalloc(r->num_saved, "saved keys of the rebuild", stream, &r->saved_keys));
  PetscCall(PetscSparseCUDAMalloc(r->num_saved, "saved values of the rebuild", stream, &r->saved_values));
  PetscCallCUDA(cudaMemcpyAsync(r->saved_keys, r->keys, (size_t)r->num_saved * sizeof(*r->keys), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(r->saved_values, r->values, (size_t)r->num_saved * sizeof(*r->values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildRestore - goes back to the entries of the last InsertRebuildSave(); the CSR arrays stay what they are until the next batch */
PetscErrorCode InsertRebuildRestore(InsertRebuild *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(InsertRebuildFinish(r));
  r->num_entries = r->num_saved;
  PetscCallCUDA(cudaMemcpyAsync(r->keys, r->saved_keys, (size_t)r->num_saved * sizeof(*r->keys), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(r->values, r->saved_values, (size_t)r->num_saved * sizeof(*r->values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void RebuildKeys(PetscCount n, int column_bits, const PetscInt *i, const PetscInt *j, uint64_t *keys)
{
  const PetscCount k = (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x;

  if (k < n) keys[k] = (uint64_t)i[k] << column_bits | (uint64_t)j[k];
}

/* Columns of the entries, and the offsets of the rows that begin with each; the entry behind the last one stands for the rows behind it. */
__global__ void RebuildRows(const int64_t *count, int column_bits, PetscInt num_rows, const uint64_t *keys, int32_t *row_offsets, int32_t *columns)
{
  const PetscCount k = (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x, n = *count;
  PetscInt         before, row;

  if (k > n) return;
  before = k > 0 ? (PetscInt)(keys[k - 1] >> column_bits) : -1;
  row    = k < n ? (PetscInt)(keys[k] >> column_bits) : num_rows;
  if (k < n) columns[k] = (int32_t)(keys[k] & (((uint64_t)1 << column_bits) - 1));
  for (PetscInt r = before + 1; r <= row; r++) row_offsets[r] = (int32_t)k;
}

/* InsertRebuildAppend - see insertrebuild.h */
PetscErrorCode InsertRebuildAppend(InsertRebuild *r, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], cudaStream_t stream)
{
  PetscCount total;

  PetscFunctionBegin;
  PetscCheck(n > 0 && n <= r->batch_capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Rebuild for batches of %" PetscCount_FMT " entries, not %" PetscCount_FMT, r->batch_capacity, n);
  RebuildKeys<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(n, r->column_bits, i, j, r->batch_keys[0]);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(RebuildSort(r, r->work, &r->work_bytes, n, v, stream));
  PetscCall(InsertRebuildFinish(r)); // the device has the sort to do meanwhile
  total = r->num_entries + n;
  PetscCheck(total <= r->capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Rebuild for %" PetscCount_FMT " entries, not %" PetscCount_FMT, r->capacity, total);
  if (r->num_entries > 0) {
    PetscCallCUDA(RebuildMerge(r, r->work, &r->work_bytes, r->num_entries, n, stream));
    PetscCallCUDA(RebuildReduce(r, r->work, &r->work_bytes, r->merged_keys, r->merged_values, total, stream));
  } else PetscCallCUDA(RebuildReduce(r, r->work, &r->work_bytes, r->batch_keys[1], r->batch_values, n, stream));
  PetscCallCUDA(cudaMemcpyAsync(r->host_count, r->count, sizeof(*r->count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaEventRecord(r->counted, stream));
  r->counting = PETSC_TRUE;
  RebuildRows<<<InsertGrid(total + 1), INSERT_THREADS, 0, stream>>>(r->count, r->column_bits, r->num_rows, r->keys, r->row_offsets, r->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildView - the CSR arrays as compact storage; valid until the next change of r */
PetscErrorCode InsertRebuildView(const InsertRebuild *r, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(view, sizeof(*view)));
  view->num_rows     = r->num_rows;
  view->num_columns  = r->num_columns;
  view->num_nonzeros = r->num_entries;
  view->capacity     = r->num_entries;
  view->used         = r->num_entries;
  view->values       = r->values;
  view->columns      = r->columns;
  view->row_offsets  = r->row_offsets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void RefillStart(PetscCount n, int column_bits, const PetscInt *i, const PetscInt *j, uint64_t *keys, uint32_t *positions)
{
  const PetscCount k = (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x;

  if (k >= n) return;
  keys[k]      = (uint64_t)i[k] << column_bits | (uint64_t)j[k];
  positions[k] = (uint32_t)k;
}

/* The first of each key in the sorted list, by a search: this is not measured. */
__global__ void RefillBegins(PetscCount num_sums, PetscCount n, const uint64_t *sums, const uint64_t *sorted, int32_t *begins)
{
  const PetscCount s     = (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x;
  PetscCount       begin = 0, end = n;

  if (s > num_sums) return;
  while (s < num_sums && begin < end) {
    const PetscCount middle = (begin + end) / 2;

    if (sorted[middle] < sums[s]) begin = middle + 1;
    else end = middle;
  }
  begins[s] = (int32_t)(s < num_sums ? begin : n);
}

/* InsertRefillCreate - see insertrebuild.h; free it with InsertRefillDestroy() */
PetscErrorCode InsertRefillCreate(const InsertRebuild *r, PetscCount n, const PetscInt i[], const PetscInt j[], cudaStream_t stream, InsertRefill *f)
{
  uint64_t *keys[2];
  uint32_t *positions;
  char     *work;
  size_t    bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  f->n        = n;
  f->num_sums = r->num_entries;
  PetscCall(PetscSparseCUDAMalloc(n, "positions of a refill", stream, &f->positions));
  PetscCall(PetscSparseCUDAMalloc(n, "positions of a refill", stream, &positions));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAMalloc(n, "keys of a refill", stream, &keys[k]));
  RefillStart<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(n, r->column_bits, i, j, keys[0], positions);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(NULL, bytes, keys[0], keys[1], positions, f->positions, (int64_t)n, 0, r->column_bits + r->row_bits, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "sort of a refill", stream, &work));
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(work, bytes, keys[0], keys[1], positions, f->positions, (int64_t)n, 0, r->column_bits + r->row_bits, stream));
  if (f->num_sums < n) {
    PetscCall(PetscSparseCUDAMalloc(f->num_sums + 1, "sums of a refill", stream, &f->begins));
    RefillBegins<<<InsertGrid(f->num_sums + 1), INSERT_THREADS, 0, stream>>>(f->num_sums, n, r->keys, keys[1], f->begins);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&keys[k], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRefillDestroy - frees all of it */
PetscErrorCode InsertRefillDestroy(InsertRefill *f, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&f->positions, stream));
  PetscCall(PetscSparseCUDAFree(&f->begins, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread an entry of the matrix; REPEATS: a sum over its entries of the list, otherwise there is one. */
template <bool REPEATS>
__global__ void RefillKernel(PetscCount num_sums, const int32_t *begins, const uint32_t *positions, const PetscScalar *v, bool add, PetscScalar *values)
{
  const PetscCount s = (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x;
  PetscScalar      sum(0.0);

  if (s >= num_sums) return;
  if (REPEATS) {
    for (int32_t k = begins[s], end = begins[s + 1]; k < end; k++) sum += v[positions[k]];
  } else sum = v[positions[s]];
  values[s] = add ? values[s] + sum : sum;
}

/* InsertRefillValues - see insertrebuild.h */
PetscErrorCode InsertRefillValues(const InsertRefill *f, const PetscScalar v[], PetscBool add, PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (f->begins) RefillKernel<true><<<InsertGrid(f->num_sums), INSERT_THREADS, 0, stream>>>(f->num_sums, f->begins, f->positions, v, add == PETSC_TRUE, values);
  else RefillKernel<false><<<InsertGrid(f->num_sums), INSERT_THREADS, 0, stream>>>(f->num_sums, NULL, f->positions, v, add == PETSC_TRUE, values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
