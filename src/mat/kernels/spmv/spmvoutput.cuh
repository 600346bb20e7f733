#pragma once
/*
  Where the sums of rows go: y = A x + z, or what DCSRSpMVEpilogue says. Kernels have it as a template parameter, with

    Row                    what a row reads beside its sum
    Prefetch(first, rows, thread, threads)
                           brings what consecutive rows read to L2, long before their sums are there; all threads that share the work call it
    Load(i)                what row i reads, as long before its sum is there as registers allow
    Store(i, sum, row)     with what Load() gave
    Write(i, sum)          both at once, of rare rows
*/
#include <petscsparsecuda/spmv.h>

/* y = A x + z */
struct SpMVAdd {
  const PetscScalar *z; /* NULL: nothing is added */
  PetscScalar       *y;

  using Row = PetscScalar;

  __device__ __forceinline__ void Prefetch(PetscCount, int, int, int) const {}

  template <typename Index>
  __device__ __forceinline__ Row Load(Index i) const
  {
    Row row(0.0);

    if (z) row = z[i];
    return row;
  }
  template <typename Index>
  __device__ __forceinline__ void Store(Index i, PetscScalar sum, const Row &row) const
  {
    y[i] = sum + row;
  }
  template <typename Index>
  __device__ __forceinline__ void Write(Index i, PetscScalar sum) const
  {
    y[i] = z ? z[i] + sum : sum;
  }
};

/* Brings a memory sector to L2. Unlike a load it has no register to wait for. */
static __device__ __forceinline__ void SpMVPrefetch(const PetscScalar *p)
{
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

/* a b. Of a complex product the compiler may contract either sum with either of its terms, and in another way in each function that it is inlined into; long rows are finished in one of several. */
__device__ __forceinline__ PetscScalar SpMVTimes(PetscScalar a, PetscScalar b)
{
#if PetscDefined(USE_COMPLEX) && defined(__CUDA_ARCH__)
  #if PetscDefined(USE_REAL_SINGLE)
  return PetscScalar(__fmaf_rn(-a.imag(), b.imag(), __fmul_rn(a.real(), b.real())), __fmaf_rn(a.imag(), b.real(), __fmul_rn(a.real(), b.imag())));
  #else
  return PetscScalar(__fma_rn(-a.imag(), b.imag(), __dmul_rn(a.real(), b.real())), __fma_rn(a.imag(), b.real(), __dmul_rn(a.real(), b.imag())));
  #endif
#else
  return a * b;
#endif
}

/* The epilogue of a product. x is that of the product, whose entries the gathers of the row bring to L1. */
struct SpMVEpilogue {
  DCSRSpMVEpilogue   e;
  const PetscScalar *x;
  PetscScalar       *y;

  struct Row {
    PetscScalar factor; /* alpha d */
    PetscScalar b;
    PetscScalar add; /* beta x + gamma q, or the y of before */
  };

  /* A sector of 32 bytes a thread. The last row is among them wherever sectors begin. */
  __device__ __forceinline__ void Prefetch(PetscCount first, int rows, int thread, int threads) const
  {
    constexpr int sector = 32 / (int)sizeof(PetscScalar);

    if (rows <= 0) return; // a thread block in the middle of a long row
    for (int k = thread * sector; k < rows + sector - 1; k += threads * sector) {
      const PetscCount i = first + (k < rows ? k : rows - 1);

      if (e.d) SpMVPrefetch(e.d + i);
      SpMVPrefetch((e.b ? e.b : y) + i);
      if (e.b && e.gamma != PetscScalar(0.0)) SpMVPrefetch(e.q + i);
    }
  }

  template <typename Index>
  __device__ __forceinline__ Row Load(Index i) const
  {
    Row row = {e.alpha, PetscScalar(0.0), PetscScalar(0.0)};

    if (e.d) row.factor = SpMVTimes(row.factor, e.d[i]);
    if (e.b) {
      row.b = e.b[i];
      if (e.beta != PetscScalar(0.0)) row.add = SpMVTimes(e.beta, x[i]);
      if (e.gamma != PetscScalar(0.0)) row.add += SpMVTimes(e.gamma, e.q[i]);
    } else row.add = y[i];
    return row;
  }
  template <typename Index>
  __device__ __forceinline__ void Store(Index i, PetscScalar sum, const Row &row) const
  {
    y[i] = SpMVTimes(row.factor, row.b - sum) + row.add;
  }
  template <typename Index>
  __device__ __forceinline__ void Write(Index i, PetscScalar sum) const
  {
    Store(i, sum, Load(i));
  }
};
