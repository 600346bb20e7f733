/*
  The matrix made anew by sorting; see insertrebuild.h.
*/
#include "insertrebuild.h"
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

static cudaError_t RebuildSort(const InsertRebuild *r, void *work, size_t *bytes, PetscCount n, cudaStream_t stream)
{
  return cub::DeviceRadixSort::SortPairs(work, *bytes, r->keys, r->keys_scratch, r->values, r->values_scratch, (int64_t)n, 0, r->column_bits + r->row_bits, stream);
}

static cudaError_t RebuildReduce(const InsertRebuild *r, void *work, size_t *bytes, PetscCount n, cudaStream_t stream)
{
  return cub::DeviceReduce::ReduceByKey(work, *bytes, r->keys_scratch, r->keys, r->values_scratch, r->values, r->count, AddValues{}, (int64_t)n, stream);
}

/* InsertRebuildCreate - an empty matrix; free it with InsertRebuildDestroy(). A failure ends the benchmark: nothing is freed. */
PetscErrorCode InsertRebuildCreate(PetscInt num_rows, PetscInt num_columns, PetscCount capacity, cudaStream_t stream, InsertRebuild *r)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->num_rows    = num_rows;
  r->num_columns = num_columns;
  r->row_bits    = NumBits(num_rows);
  r->column_bits = NumBits(num_columns);
  r->capacity    = capacity;
  PetscCheck(r->row_bits + r->column_bits <= 64 && capacity <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Matrix too large for the rebuild");
  PetscCall(PetscSparseCUDAMalloc(capacity, "keys of the rebuild", stream, &r->keys));
  PetscCall(PetscSparseCUDAMalloc(capacity, "sorted keys of the rebuild", stream, &r->keys_scratch));
  PetscCall(PetscSparseCUDAMalloc(capacity, "values of the rebuild", stream, &r->values));
  PetscCall(PetscSparseCUDAMalloc(capacity, "sorted values of the rebuild", stream, &r->values_scratch));
  PetscCall(PetscSparseCUDAMalloc(capacity, "columns of the rebuild", stream, &r->columns));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_rows + 1, "row offsets of the rebuild", stream, &r->row_offsets));
  PetscCall(PetscSparseCUDAMalloc(1, "number of entries of the rebuild", stream, &r->count));
  PetscCallCUDA(RebuildSort(r, NULL, &bytes, capacity, stream));
  r->work_bytes = bytes;
  bytes         = 0;
  PetscCallCUDA(RebuildReduce(r, NULL, &bytes, capacity, stream));
  r->work_bytes = PetscMax(r->work_bytes, bytes);
  PetscCall(PetscSparseCUDAMalloc(r->work_bytes, "workspace of the rebuild", stream, &r->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildDestroy - frees all of it */
PetscErrorCode InsertRebuildDestroy(InsertRebuild *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&r->keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->keys_scratch, stream));
  PetscCall(PetscSparseCUDAFree(&r->values, stream));
  PetscCall(PetscSparseCUDAFree(&r->values_scratch, stream));
  PetscCall(PetscSparseCUDAFree(&r->columns, stream));
  PetscCall(PetscSparseCUDAFree(&r->row_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&r->saved_keys, stream));
  PetscCall(PetscSparseCUDAFree(&r->saved_values, stream));
  PetscCall(PetscSparseCUDAFree(&r->count, stream));
  PetscCall(PetscSparseCUDAFree(&r->work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildClear - see insertrebuild.h */
PetscErrorCode InsertRebuildClear(InsertRebuild *r)
{
  PetscFunctionBegin;
  r->num_entries = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertRebuildSave - see insertrebuild.h */
PetscErrorCode InsertRebuildSave(InsertRebuild *r, cudaStream_t stream)
{
  PetscFunctionBegin;
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
  const PetscCount total = r->num_entries + n;
  int64_t          count;

  PetscFunctionBegin;
  PetscCheck(n > 0 && total <= r->capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Rebuild for %" PetscCount_FMT " entries, not %" PetscCount_FMT, r->capacity, total);
  RebuildKeys<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(n, r->column_bits, i, j, r->keys + r->num_entries);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(r->values + r->num_entries, v, (size_t)n * sizeof(*v), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(RebuildSort(r, r->work, &r->work_bytes, total, stream));
  PetscCallCUDA(RebuildReduce(r, r->work, &r->work_bytes, total, stream));
  RebuildRows<<<InsertGrid(total + 1), INSERT_THREADS, 0, stream>>>(r->count, r->column_bits, r->num_rows, r->keys, r->row_offsets, r->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&count, r->count, sizeof(count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  r->num_entries = count;
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
