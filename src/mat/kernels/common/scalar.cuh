#pragma once
/* Functions of single values. */
#include <petscsys.h>
#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
#endif

namespace
{

__device__ inline PetscReal AbsoluteValue(PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  return thrust::abs(value);
#else
  return value < 0 ? -value : value;
#endif
}

__device__ inline PetscReal RealPart(PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  return value.real();
#else
  return value;
#endif
}

__device__ inline PetscReal SquaredValue(PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  return value.real() * value.real() + value.imag() * value.imag();
#else
  return value * value;
#endif
}

} // namespace
