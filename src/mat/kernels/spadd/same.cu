/*
  Whether two matrices have equal patterns, and sums of values then.
*/
#include "summand.cuh"

namespace
{

constexpr int SAME_ITEMS = 4; // entries that a thread has under way

/* What one pass compares. */
struct SameArrays {
  Summand    a, b;
  PetscCount num_rows, num_nonzeros;
  int       *differ;
};

/* PETSC_FALSE once any thread has found a difference. */
__device__ __forceinline__ bool StillSame(const SameArrays &s)
{
  return *(volatile const int *)s.differ == 0;
}

__device__ __forceinline__ void SameRow(const SameArrays &s, PetscCount row)
{
  if (s.a.Offset(row) != s.b.Offset(row)) *s.differ = 1;
}

/* Entries k, k + ADD_THREADS, ... of one chunk; all loads come before what is done with them. */
__device__ __forceinline__ void SameEntries(const SameArrays &s, PetscCount k)
{
  int32_t a[SAME_ITEMS], b[SAME_ITEMS];

#pragma unroll
  for (int i = 0; i < SAME_ITEMS; i++) {
    const PetscCount e = k + i * ADD_THREADS;

    if (e < s.num_nonzeros) {
      a[i] = s.a.columns[e];
      b[i] = s.b.columns[e];
    }
  }
#pragma unroll
  for (int i = 0; i < SAME_ITEMS; i++) {
    const PetscCount e = k + i * ADD_THREADS;

    if (e < s.num_nonzeros && a[i] != b[i]) *s.differ = 1;
  }
}

/* Ends soon once a difference is found. */
__global__ void __launch_bounds__(ADD_THREADS) SameKernel(SameArrays s)
{
  const PetscCount chunk = (PetscCount)blockIdx.x * ADD_THREADS;

  if (!StillSame(s)) return;
  for (PetscCount row = chunk + threadIdx.x; row <= s.num_rows; row += (PetscCount)gridDim.x * ADD_THREADS) SameRow(s, row);
  SameEntries(s, chunk * SAME_ITEMS + threadIdx.x);
}

__global__ void __launch_bounds__(ADD_THREADS) AddValuesKernel(PetscCount n, Weights w, const PetscScalar *a, const PetscScalar *b, PetscScalar *c)
{
  const PetscCount begin = (PetscCount)blockIdx.x * ADD_THREADS * SAME_ITEMS + threadIdx.x;
  PetscScalar      x[SAME_ITEMS], y[SAME_ITEMS];

#pragma unroll
  for (int i = 0; i < SAME_ITEMS; i++) {
    const PetscCount e = begin + i * ADD_THREADS;

    if (e < n) {
      x[i] = a[e];
      y[i] = b[e];
    }
  }
#pragma unroll
  for (int i = 0; i < SAME_ITEMS; i++) {
    const PetscCount e = begin + i * ADD_THREADS;

    if (e < n) c[e] = w.A(x[i]) + w.B(y[i]);
  }
}

inline unsigned int SameGrid(PetscCount n)
{
  return DCSRNumBlocks(n, ADD_THREADS * SAME_ITEMS);
}

/* Patterns of as many rows and nonzeros each. Synchronizes. */
PetscErrorCode ComparePatterns(DCSRView A, DCSRView B, cudaStream_t stream, PetscBool *same)
{
  int           *differ = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "flag of a comparison", stream, &differ));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(differ, 0, sizeof(*differ), stream));
  SameKernel<<<PetscMax(SameGrid(A.num_nonzeros), 1u), ADD_THREADS, 0, stream>>>(SameArrays{MakeSummand(A, NULL), MakeSummand(B, NULL), A.num_rows, A.num_nonzeros, differ});
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&host, differ, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *same = (PetscBool)!host;
cleanup:
  PetscCall(PetscSparseCUDAFree(&differ, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRSamePattern - whether two compact matrices have equal rows of columns; synchronizes with the stream. Cost: one read of both structures, up to the first difference. */
PetscErrorCode DCSRSamePattern(DCSRView A, DCSRView B, cudaStream_t stream, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(A.num_rows == B.num_rows && A.num_nonzeros == B.num_nonzeros);
  if (!*same || A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ComparePatterns(A, B, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAddValues - c = alpha a + beta b, of [n] on the device; c may be a or b. Asynchronous */
PetscErrorCode DCSRAddValues(PetscCount n, PetscScalar alpha, const PetscScalar a[], PetscScalar beta, const PetscScalar b[], PetscScalar c[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  AddValuesKernel<<<SameGrid(n), ADD_THREADS, 0, stream>>>(n, MakeWeights(alpha, beta), a, b, c);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAXPYValues - y += alpha x; device arrays [n], asynchronous on the stream */
PetscErrorCode DCSRAXPYValues(PetscCount n, PetscScalar alpha, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRAddValues(n, 1.0, y, alpha, x, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
