#pragma once
/* The visitor of loops over rows (diagonalsloop.cuh, blocksloop.cuh) that finds the largest entry of each. */
#include "../common/largest.cuh"
#include "storedvalues.cuh"

namespace
{

template <typename Stored>
struct LargestStored {
  using Result = LargestEntry;
  const Stored *values;
  PetscReal     alpha;
  PetscScalar  *largest;
  PetscInt     *indices; // or NULL

  __device__ Result Begin() const { return LargestEntry::None(); }
  __device__ void   Visit(PetscInt, PetscInt column, PetscCount place, Result &r) const { r = LargestEntry::Larger(r, LargestEntry::Of(FromStored(values[place]), (int32_t)column)); }
  __device__ Result Combine(Result a, Result b) const { return LargestEntry::Larger(a, b); }
  __device__ void   Store(PetscInt row, const Result &r) const { r.Store(row, alpha, largest, indices); }
};

} // namespace
