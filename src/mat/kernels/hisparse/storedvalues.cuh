#pragma once
/* The types of values that products read, PetscScalar or single precision. All is computed in PetscScalar: a value is converted after it was loaded. */
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

} // namespace
