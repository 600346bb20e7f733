#pragma once
/*
  Device pieces that looking up, merging and appending share: sorted searches, and the keys of the new entries of a batch.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/temporary.cuh"
#include "insertimpl.h"

namespace
{

/* How many of sorted[begin, end) are below bound, added to begin. */
template <typename Value>
__device__ PetscCount CountBelow(const Value *sorted, PetscCount begin, PetscCount end, PetscCount bound)
{
  return PartitionPoint(begin, end, [=](PetscCount k) { return (PetscCount)sorted[k] < bound; });
}

/* The new entries of a batch, by their rank among the new ones. */
struct NewKeys {
  const uint64_t   *keys;
  const PetscCount *entries; // [number of new entries]; NULL: all are new
  int               column_bits;

  __device__ PetscCount Entry(PetscCount q) const { return entries ? entries[q] : q; }
  __device__ uint64_t   Key(PetscCount q) const { return keys[Entry(q)]; }
  __device__ PetscInt   Row(PetscCount q) const { return (PetscInt)(Key(q) >> column_bits); }
  __device__ int32_t    Column(PetscCount q) const { return (int32_t)Key(q) & LowMask(); }

  /* A column has at most 31 bits: it is in the half of a key that comes first in memory, which kernels load like a column. */
  __device__ const int32_t *LowHalf(PetscCount entry) const { return (const int32_t *)(keys + entry); }
  __device__ int32_t        LowMask() const { return (int32_t)(((uint32_t)1 << column_bits) - 1); }
};

} // namespace
