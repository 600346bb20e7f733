#pragma once
/*
  The keys of the new entries of a batch, as appending reads them.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/temporary.cuh"
#include "insertimpl.h"

namespace
{

/* The new entries of a batch, by their rank among the new ones. */
struct NewKeys {
  const uint64_t   *keys;
  const PetscCount *entries; // [number of new entries]; NULL: all are new
  int               column_bits;

  __device__ PetscCount Entry(PetscCount q) const { return entries ? entries[q] : q; }
  __device__ uint64_t   Key(PetscCount q) const { return keys[Entry(q)]; }
  __device__ PetscInt   Row(PetscCount q) const { return (PetscInt)(Key(q) >> column_bits); }
  __device__ int32_t    Column(PetscCount q) const { return (int32_t)Key(q) & (int32_t)(((uint32_t)1 << column_bits) - 1); }
};

} // namespace
