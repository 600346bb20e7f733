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

} // namespace
