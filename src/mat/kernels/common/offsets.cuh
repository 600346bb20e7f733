#pragma once
/* Row offsets whose width is known at run time. */
#include <petscsparsecuda/dcsr.h>

namespace
{

/* Row offsets of either width; the branch is the same for all threads. */
struct Offsets {
  void *offsets;
  bool  wide;

  Offsets() = default;
  __host__                              __device__ explicit Offsets(const DCSRView &view) : offsets(view.row_offsets), wide(view.wide) {}
  __device__ __forceinline__ PetscCount operator()(PetscCount row) const { return wide ? (PetscCount)((const int64_t *)offsets)[row] : (PetscCount)((const int32_t *)offsets)[row]; }
  __device__ __forceinline__ void       Set(PetscCount row, PetscCount offset) const
  {
    if (wide) ((int64_t *)offsets)[row] = (int64_t)offset;
    else ((int32_t *)offsets)[row] = (int32_t)offset;
  }
};

} // namespace
