#pragma once
/*
  The types that values are stored in. All is computed in PetscScalar: a value is converted after it was loaded, and rounded before it is stored. What is too large for single precision becomes infinite,
  what is too small becomes zero.

  Functions that touch values are templates over the type; HISPARSE_WITH_STORED() calls the right one.
*/
#include "../common/single.cuh"
#include "hisparseimpl.h"

namespace
{

template <HiSparsePrecision>
struct StoredValue {
  using Type = PetscScalar;
};

template <>
struct StoredValue<HISPARSE_VALUES_SINGLE> {
  using Type = DCSRSingle;
};

using StoredSingle = StoredValue<HISPARSE_VALUES_SINGLE>::Type;

template <typename Stored>
__device__ __forceinline__ PetscScalar FromStored(Stored value)
{
  return static_cast<PetscScalar>(value);
}

template <typename Stored>
__device__ __forceinline__ Stored ToStored(PetscScalar value)
{
  return static_cast<Stored>(value);
}

} // namespace

/* Function<Stored>(arguments) for the type that the values v have; its result. */
#define HISPARSE_WITH_STORED(v, Function, ...) ((v)->precision == HISPARSE_VALUES_SINGLE ? Function<StoredSingle>(__VA_ARGS__) : Function<PetscScalar>(__VA_ARGS__))
