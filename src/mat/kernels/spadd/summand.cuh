#pragma once
/*
  The two matrices of a sum as kernels see them.
*/
#include "../common/offsets.cuh"
#include <petscsparsecuda/spadd.h>

namespace
{

constexpr int ADD_THREADS = 256;

/* One of the two matrices. */
struct Summand {
  Offsets            offsets;
  const int32_t     *columns, *map;
  const PetscScalar *values;

  __device__ __forceinline__ PetscCount Offset(PetscCount row) const { return offsets(row); }
  __device__ __forceinline__ int32_t    Column(PetscCount k) const
  {
    const int32_t column = columns[k];

    return map ? map[column] : column;
  }
};

inline Summand MakeSummand(DCSRView view, const int32_t map[])
{
  return Summand{Offsets(view), view.columns, map, view.values};
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

} // namespace
