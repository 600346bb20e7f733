#pragma once
/*
  The two matrices of a sum as kernels see them.
*/
#include "spaddimpl.h"

namespace
{

constexpr int ADD_THREADS = 256;

/* One of the two matrices. */
struct Summand {
  const void        *row_offsets;
  const int32_t     *columns, *map;
  const PetscScalar *values;
  bool               wide;

  __device__ __forceinline__ PetscCount Offset(PetscCount row) const { return wide ? (PetscCount)((const int64_t *)row_offsets)[row] : (PetscCount)((const int32_t *)row_offsets)[row]; }
  __device__ __forceinline__ int32_t    Column(PetscCount k) const
  {
    const int32_t column = columns[k];

    return map ? map[column] : column;
  }
};

inline Summand MakeSummand(DCSRView view, const int32_t map[])
{
  return Summand{view.row_offsets, view.columns, map, view.values, view.wide == PETSC_TRUE};
}

/* alpha a + beta b; a complex factor of one is none, also for infinite numbers. */
struct Weights {
  PetscScalar alpha, beta;
  bool        unit_alpha, unit_beta;

  __device__ __forceinline__ PetscScalar A(PetscScalar a) const { return PetscDefined(USE_COMPLEX) && unit_alpha ? a : alpha * a; }
  __device__ __forceinline__ PetscScalar B(PetscScalar b) const { return PetscDefined(USE_COMPLEX) && unit_beta ? b : beta * b; }
};

inline Weights MakeWeights(PetscScalar alpha, PetscScalar beta)
{
  return Weights{alpha, beta, alpha == PetscScalar(1.0), beta == PetscScalar(1.0)};
}

__device__ __forceinline__ void WriteOffset(const DCSRView &view, PetscCount row, PetscCount offset)
{
  if (view.wide) ((int64_t *)view.row_offsets)[row] = offset;
  else ((int32_t *)view.row_offsets)[row] = (int32_t)offset;
}

} // namespace
