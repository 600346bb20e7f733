#pragma once
/*
  Sums over the entries of vectors that stay on the device, each made by one kernel: the thread block that ends last adds up what the blocks have found, in a fixed order. The same bits every time.
*/
#include <petscsparsecuda/smooth.h>
#include "../common/blockreduce.cuh"
#include "../common/overlap.cuh"
#include "../common/scalar.cuh"

namespace
{

constexpr int SUM_THREADS = 256;

/* What a kernel adds up at once. */
template <int N>
struct Sums {
  PetscScalar value[N];
};

struct Add {
  template <int N>
  __device__ Sums<N> operator()(Sums<N> a, const Sums<N> &b) const
  {
#pragma unroll
    for (int k = 0; k < N; k++) a.value[k] += b.value[k];
    return a;
  }
};

/* conj(y) x */
__device__ inline PetscScalar Product(PetscScalar x, PetscScalar y)
{
#if PetscDefined(USE_COMPLEX)
  return thrust::conj(y) * x;
#else
  return y * x;
#endif
}

/* What another thread block has written, past the cache of this multiprocessor. */
template <int N>
__device__ inline Sums<N> ReadSums(const Sums<N> *from)
{
  constexpr int num_words = (int)(sizeof(Sums<N>) / sizeof(PetscReal));
  PetscReal     words[num_words];
  Sums<N>       sums;

#pragma unroll
  for (int k = 0; k < num_words; k++) words[k] = __ldcg((const PetscReal *)from + k);
  memcpy((void *)&sums, words, sizeof(sums));
  return sums;
}

/* to [count]; function: Load() once, and Sums<N> of an entry. work: DCSR_SUM_BYTES; its counter is 0 before and after. */
template <int N, typename Function>
__global__ static void __launch_bounds__(SUM_THREADS) SumKernel(PetscCount n, Function function, int count, void *work, PetscScalar *to)
{
  WaitForPreviousKernel();
  unsigned int   *counter = (unsigned int *)work;
  Sums<N>        *parts   = (Sums<N> *)((char *)work + DCSR_SUM_HEAD);
  Sums<N>         sums    = {};
  __shared__ bool last;

  static_assert(N <= DCSR_SUM_MAX && sizeof(Sums<N>) == N * sizeof(PetscScalar), "DCSR_SUM_BYTES has room for those of all blocks");
  function.Load();
  for (PetscCount i = (PetscCount)blockIdx.x * SUM_THREADS + threadIdx.x; i < n; i += (PetscCount)gridDim.x * SUM_THREADS) sums = Add()(sums, function(i));
  sums = ReduceBlock<SUM_THREADS>(sums, Add());
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sums;
    __threadfence();
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sums = {};
  for (unsigned int k = threadIdx.x; k < gridDim.x; k += SUM_THREADS) sums = Add()(sums, ReadSums(&parts[k]));
  sums = ReduceBlock<SUM_THREADS>(sums, Add());
  if (threadIdx.x == 0) {
#pragma unroll
    for (int k = 0; k < N; k++)
      if (k < count) to[k] = sums.value[k];
    *counter = 0;
  }
}

/* The launch. Without entries sums are 0. */
template <int N, typename Function>
PetscErrorCode Sum(PetscInt n, Function function, int count, void *work, PetscScalar *to, cudaStream_t stream)
{
  const PetscCount blocks = ((PetscCount)n + SUM_THREADS - 1) / SUM_THREADS;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunchOverlapping(SumKernel<N, Function>, PetscMin(PetscMax(blocks, 1), DCSR_SUM_BLOCKS), SUM_THREADS, stream, (PetscCount)n, function, count, work, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
