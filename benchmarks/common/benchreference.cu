/*
  Reference products and comparison: a warp a row, or an atomic a nonzero, nothing clever.
*/
#include "benchmatrix.h"

#define BENCH_THREADS 256

static inline unsigned int BenchGrid(PetscCount n)
{
  return (unsigned int)((n + BENCH_THREADS - 1) / BENCH_THREADS);
}

/* Entry p of a row. */
__device__ __forceinline__ PetscCount BenchEntry(const DCSRView &a, PetscInt r, PetscCount p)
{
  return p + (a.wide ? (PetscCount)((const int64_t *)a.row_offsets)[r] : (PetscCount)((const int32_t *)a.row_offsets)[r]);
}

__device__ __forceinline__ PetscCount BenchRowSize(const DCSRView &a, PetscInt r)
{
  return BenchEntry(a, r + 1, 0) - BenchEntry(a, r, 0);
}

__device__ __forceinline__ void BenchAtomicAdd(PetscScalar *y, PetscScalar v)
{
  const int words = (int)(sizeof(PetscScalar) / sizeof(PetscReal));

  for (int i = 0; i < words; i++) atomicAdd((PetscReal *)y + i, ((const PetscReal *)&v)[i]);
}

/* A warp a row, rows with many entries spread over several warps of the y dimension: sums meet by atomics, which is fine within rounding. */
__global__ void BenchReferenceKernel(DCSRView a, bool transpose, const PetscScalar *x, PetscScalar *y, PetscReal *bound)
{
  const PetscCount r    = ((PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x) / 32;
  const int        lane = threadIdx.x % 32;

  if (r >= a.num_rows) return;
  for (PetscCount p = lane + 32 * (PetscCount)blockIdx.y, n = BenchRowSize(a, (PetscInt)r); p < n; p += 32 * (PetscCount)gridDim.y) {
    const PetscCount  k   = BenchEntry(a, (PetscInt)r, p);
    const PetscScalar v   = transpose ? a.values[k] * x[r] : a.values[k] * x[a.columns[k]];
    const PetscCount  row = transpose ? (PetscCount)a.columns[k] : r;

    BenchAtomicAdd(y + row, v);
    atomicAdd(bound + row, PetscAbsScalar(v));
  }
}

__global__ void BenchReferenceStart(PetscCount n, const PetscScalar *z, PetscScalar *y, PetscReal *bound)
{
  const PetscCount i = (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;

  if (i >= n) return;
  y[i]     = z ? z[i] : PetscScalar(0.0);
  bound[i] = z ? PetscAbsScalar(z[i]) : 0.0;
}

/* BenchReferenceMult - see benchmatrix.h; y is neither x nor z */
PetscErrorCode BenchReferenceMult(DCSRView a, PetscBool transpose, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], PetscReal bound[], cudaStream_t stream)
{
  const PetscCount m = transpose ? a.num_columns : a.num_rows;
  const dim3       grid(BenchGrid((PetscCount)a.num_rows * 32), a.num_rows < 100000 ? 64 : 8);

  PetscFunctionBegin;
  if (m > 0) BenchReferenceStart<<<BenchGrid(m), BENCH_THREADS, 0, stream>>>(m, z, y, bound);
  PetscCallCUDA(cudaGetLastError());
  if (a.num_rows > 0) BenchReferenceKernel<<<grid, BENCH_THREADS, 0, stream>>>(a, transpose == PETSC_TRUE, x, y, bound);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relative errors as bits, which order like the numbers; NaN counts as infinity. */
__global__ void BenchCompareKernel(PetscCount n, const PetscScalar *y, const PetscScalar *reference, const PetscReal *bound, unsigned long long *largest)
{
  const PetscCount i = (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;
  double           e = 0.0;

  if (i < n) {
    const double difference = (double)PetscAbsScalar(y[i] - reference[i]);

    if (difference != 0.0) e = difference / (double)bound[i];
    if (!(e < PETSC_INFINITY)) e = PETSC_INFINITY;
  }
  for (int d = 16; d > 0; d /= 2) e = fmax(e, __shfl_xor_sync(0xffffffffu, e, d));
  if (threadIdx.x % 32 == 0 && e > 0.0) atomicMax(largest, (unsigned long long)__double_as_longlong(e));
}

/* BenchCompare - see benchmatrix.h */
PetscErrorCode BenchCompare(PetscCount n, const PetscScalar y[], const PetscScalar reference[], const PetscReal bound[], cudaStream_t stream, PetscReal *error)
{
  unsigned long long *largest;
  double              host = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "largest error", stream, &largest));
  PetscCallCUDA(cudaMemsetAsync(largest, 0, sizeof(*largest), stream));
  if (n > 0) BenchCompareKernel<<<BenchGrid(n), BENCH_THREADS, 0, stream>>>(n, y, reference, bound, largest);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&host, largest, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAFree(&largest, stream));
  *error = (PetscReal)host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks columns that have entries. */
__global__ void BenchMarkColumns(PetscCount num_nonzeros, const int32_t *columns, unsigned char *marks)
{
  const PetscCount k = (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;

  if (k < num_nonzeros) marks[columns[k]] = 1;
}

/* Adds up marks, or without them rows that have entries. */
__global__ void BenchCountKernel(PetscCount n, DCSRView a, const unsigned char *marks, unsigned long long *count)
{
  const PetscCount i   = (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;
  const int        one = i < n && (marks ? marks[i] > 0 : BenchRowSize(a, (PetscInt)i) > 0);
  const int        sum = __syncthreads_count(one);

  if (threadIdx.x == 0 && sum > 0) atomicAdd(count, (unsigned long long)sum);
}

/* BenchCountNonempty - see benchmatrix.h */
PetscErrorCode BenchCountNonempty(DCSRView view, cudaStream_t stream, PetscCount *num_rows, PetscCount *num_columns)
{
  unsigned char      *marks;
  unsigned long long *counts, host[2];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(view.num_columns, "marks of columns", stream, &marks));
  PetscCall(PetscSparseCUDAMalloc(2, "numbers of rows and columns", stream, &counts));
  PetscCallCUDA(cudaMemsetAsync(marks, 0, (size_t)view.num_columns, stream));
  PetscCallCUDA(cudaMemsetAsync(counts, 0, 2 * sizeof(*counts), stream));
  if (view.num_nonzeros > 0) {
    BenchMarkColumns<<<BenchGrid(view.num_nonzeros), BENCH_THREADS, 0, stream>>>(view.num_nonzeros, view.columns, marks);
    PetscCallCUDA(cudaGetLastError());
    BenchCountKernel<<<BenchGrid(view.num_rows), BENCH_THREADS, 0, stream>>>(view.num_rows, view, NULL, counts);
    PetscCallCUDA(cudaGetLastError());
    BenchCountKernel<<<BenchGrid(view.num_columns), BENCH_THREADS, 0, stream>>>(view.num_columns, view, marks, counts + 1);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCallCUDA(cudaMemcpyAsync(host, counts, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAFree(&marks, stream));
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  *num_rows    = (PetscCount)host[0];
  *num_columns = (PetscCount)host[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
