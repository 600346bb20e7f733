/*
  Conjugate gradients with a diagonal preconditioner for what they tell of eigenvalues: residuals and directions without a solution. All sums stay on the device, where the next step reads them, so that the host waits for none.

  Each sum is made by one kernel: the thread block that ends last adds up what the blocks have found, in a fixed order. The same bits every time.
*/
#include <petscsparsecuda/smooth.h>
#include "../common/blockreduce.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include "../common/scalar.cuh"

namespace
{

constexpr int THREADS = 256;

/* What a kernel adds up: an inner product, and the square of a norm. */
struct Sums {
  PetscScalar product;
  PetscReal   square;
};
static_assert(sizeof(Sums) <= 2 * sizeof(PetscScalar) && sizeof(Sums) % sizeof(PetscReal) == 0, "DCSR_LANCZOS_BYTES has room for those of all blocks");
static_assert(DCSR_LANCZOS_HEAD % alignof(Sums) == 0, "they lie behind the counter");

struct Add {
  __device__ Sums operator()(Sums a, Sums b) const { return {a.product + b.product, a.square + b.square}; }
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

/* r = b and p = D r, with what DCSRLanczosStart() adds up. */
struct Start {
  const PetscScalar *d, *b;
  PetscScalar       *r, *p;

  __device__ void Load() {}
  __device__ Sums operator()(PetscCount i) const
  {
    const PetscScalar residual = b[i], z = d[i] * residual;

    r[i] = residual;
    p[i] = z;
    return {Product(z, residual), SquaredValue(z)};
  }
};

/* Of p and w alone. */
struct Multiply {
  const PetscScalar *p, *w;

  __device__ void Load() {}
  __device__ Sums operator()(PetscCount i) const { return {Product(p[i], w[i]), 0}; }
};

/* r = r - alpha w */
struct Update {
  const PetscScalar *d, *w;
  PetscScalar       *r;
  const PetscScalar *sums; // [3] of the step
  PetscScalar        alpha;

  __device__ void Load() { alpha = sums[0] / sums[2]; }
  __device__ Sums operator()(PetscCount i) const
  {
    const PetscScalar residual = r[i] - alpha * w[i], z = d[i] * residual;

    r[i] = residual;
    return {Product(z, residual), SquaredValue(z)};
  }
};

/* p = D r + beta p */
struct Turn {
  const PetscScalar *d, *r;
  PetscScalar       *p;
  const PetscScalar *sums; // [4] from the step before on

  __device__ void operator()(PetscCount i) const { p[i] = d[i] * r[i] + sums[3] / sums[0] * p[i]; }
};

/* What another thread block has written, past the cache of this multiprocessor. */
__device__ inline Sums Read(const Sums *from)
{
  constexpr int num_words = (int)(sizeof(Sums) / sizeof(PetscReal));
  PetscReal     words[num_words];
  Sums          sums;

#pragma unroll
  for (int k = 0; k < num_words; k++) words[k] = __ldcg((const PetscReal *)from + k);
  memcpy((void *)&sums, words, sizeof(sums));
  return sums;
}

/* to [1], or [2] with the square. work: DCSR_LANCZOS_BYTES; its counter is 0 before and after. */
template <typename Function>
__global__ static void __launch_bounds__(THREADS) SumKernel(PetscCount n, Function function, bool square, void *work, PetscScalar *to)
{
  unsigned int   *counter = (unsigned int *)work;
  Sums           *parts   = (Sums *)((char *)work + DCSR_LANCZOS_HEAD);
  Sums            sums    = {0, 0};
  __shared__ bool last;

  function.Load();
  for (PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x; i < n; i += (PetscCount)gridDim.x * THREADS) sums = Add()(sums, function(i));
  sums = ReduceBlock<THREADS>(sums, Add());
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sums;
    __threadfence();
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sums = {0, 0};
  for (unsigned int k = threadIdx.x; k < gridDim.x; k += THREADS) sums = Add()(sums, Read(&parts[k]));
  sums = ReduceBlock<THREADS>(sums, Add());
  if (threadIdx.x == 0) {
    to[0] = sums.product;
    if (square) to[1] = sums.square;
    *counter = 0;
  }
}

template <typename Function>
PetscErrorCode Sum(PetscInt n, Function function, bool square, void *work, PetscScalar *to, cudaStream_t stream)
{
  const PetscCount blocks = ((PetscCount)n + THREADS - 1) / THREADS;

  PetscFunctionBegin;
  SumKernel<<<(unsigned int)(blocks < 1 ? 1 : blocks > DCSR_LANCZOS_BLOCKS ? DCSR_LANCZOS_BLOCKS : blocks), THREADS, 0, stream>>>((PetscCount)n, function, square, work, to); // sums without entries are 0
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRLanczosStart - see smooth.h */
PetscErrorCode DCSRLanczosStart(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscScalar r[], PetscScalar p[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(work, 0, DCSR_LANCZOS_HEAD, stream));
  PetscCall(Sum(n, Start{d, b, r, p}, true, work, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosMultiply - see smooth.h */
PetscErrorCode DCSRLanczosMultiply(PetscInt n, const PetscScalar p[], const PetscScalar w[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum(n, Multiply{p, w}, false, work, sums + 2, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosUpdate - see smooth.h */
PetscErrorCode DCSRLanczosUpdate(PetscInt n, const PetscScalar d[], const PetscScalar w[], PetscScalar r[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum(n, Update{d, w, r, sums, 0}, true, work, sums + 3, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosTurn - see smooth.h */
PetscErrorCode DCSRLanczosTurn(PetscInt n, const PetscScalar d[], const PetscScalar r[], PetscScalar p[], const PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n, Turn{d, r, p, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of setups of PCGAMG with matrices that are said to be SPD
DCSRPreload(SumKernel<Start>);
DCSRPreload(SumKernel<Multiply>);
DCSRPreload(SumKernel<Update>);
DCSRPreload(DCSRForEachKernel<PetscCount, Turn>);
