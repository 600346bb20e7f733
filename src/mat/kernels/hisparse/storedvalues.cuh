#pragma once
/* The types of values that products read: PetscScalar, single precision, FP16. All is computed in PetscScalar: a value is converted after it was loaded. */
#include "../common/single.cuh"
#include "hisparseimpl.h"

namespace
{

using StoredSingle = DCSRSingle;

template <typename Stored>
__device__ __forceinline__ PetscScalar FromStored(Stored value)
{
  return static_cast<PetscScalar>(value);
}

/* FP16 of real numbers; there is none with PETSc in single precision. */
#define HISPARSE_HAS_HALF (!PetscDefined(USE_COMPLEX) && !PetscDefined(USE_REAL_SINGLE))

struct StoredHalf {
  uint16_t bits;
};

#if HISPARSE_HAS_HALF
__device__ __forceinline__ PetscScalar FromStored(StoredHalf value)
{
  float f = 0;

  #if defined(__CUDA_ARCH__)
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(value.bits));
  #endif
  return (PetscScalar)f;
}

__device__ __forceinline__ StoredHalf ToHalf(double value)
{
  StoredHalf half = {0};

  #if defined(__CUDA_ARCH__)
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half.bits) : "d"(value));
  #endif
  return half;
}
#endif

} // namespace
