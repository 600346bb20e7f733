#pragma once
/*
  Values on their way into a transpose.
*/
#include <petscsparsecuda/sys.h>
#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
#endif

namespace
{

/* The value, or its conjugate. */
template <bool Conjugate>
__device__ inline PetscScalar Taken(PetscScalar a)
{
#if PetscDefined(USE_COMPLEX)
  if constexpr (Conjugate) return thrust::conj(a);
#endif
  return a;
}

/* Stores of results, which are not read soon: they should not push what is read out of L2. */
__device__ inline void StoreStreaming(PetscScalar *p, PetscScalar a)
{
#if PetscDefined(USE_COMPLEX)
  PetscReal *parts = (PetscReal *)p;

  __stcs(parts, a.real());
  __stcs(parts + 1, a.imag());
#else
  __stcs(p, a);
#endif
}

__device__ inline void StoreStreaming(int32_t *p, int32_t a)
{
  __stcs(p, a);
}

__device__ inline void StoreStreaming(int64_t *p, int64_t a)
{
  __stcs((long long *)p, (long long)a);
}

} // namespace
