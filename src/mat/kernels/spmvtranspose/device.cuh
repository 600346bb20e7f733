#pragma once
/*
  Device functions that the transpose kernels share.
*/
#include "../common/overlap.cuh"
#include "spmvtransposeimpl.h"
#include <cstring>
#include <type_traits>

namespace
{

__device__ inline void AddAtomically(PetscScalar *y, PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  PetscReal *parts = (PetscReal *)y;

  atomicAdd(parts, value.real());
  atomicAdd(parts + 1, value.imag());
#else
  atomicAdd(y, value);
#endif
}

template <bool Conjugate>
__device__ inline PetscScalar Times(PetscScalar a, PetscScalar x)
{
#if PetscDefined(USE_COMPLEX)
  if constexpr (Conjugate) return thrust::conj(a) * x;
#endif
  return a * x;
}

/* Values and indices are read once: they should not push x and y out of the caches. */
__device__ inline PetscScalar LoadStreaming(const PetscScalar *p)
{
#if PetscDefined(USE_COMPLEX)
  const PetscReal *parts = (const PetscReal *)p;

  return PetscScalar(__ldcs(parts), __ldcs(parts + 1));
#else
  return __ldcs(p);
#endif
}

/* Width neighboring values by the widest loads; p is aligned to them, at most 16 bytes. */
template <int Width>
__device__ inline void LoadStreaming(const PetscScalar *p, PetscScalar *values)
{
  if constexpr (Width == 1 || sizeof(PetscScalar) > 8) {
#pragma unroll
    for (int w = 0; w < Width; w++) values[w] = LoadStreaming(p + w);
  } else {
    using Word = std::conditional_t<sizeof(PetscScalar) == 8, uint4, uint2>;
    static_assert(Width == 2, "Two values are one load");
    const Word word = __ldcs((const Word *)p);

    memcpy(values, &word, sizeof(word));
  }
}

__device__ inline PetscScalar ShuffleDown(PetscScalar value, int delta)
{
#if PetscDefined(USE_COMPLEX)
  return PetscScalar(__shfl_down_sync(0xffffffffu, value.real(), delta), __shfl_down_sync(0xffffffffu, value.imag(), delta));
#else
  return __shfl_down_sync(0xffffffffu, value, delta);
#endif
}

/* The row of nonzero k from the mark of its 32 nonzeros; EmptyRows: rows without nonzeros are not counted, nonempty_rows lists the others. */
template <bool EmptyRows>
__device__ inline int32_t RowOfNonzero(SpMVTransposeMark mark, PetscCount k, const int32_t *__restrict__ nonempty_rows)
{
  const uint32_t rank = mark.num_starts + __popc(mark.bits & ((2u << (k & 31)) - 1u)) - 1u;

  if constexpr (EmptyRows) return nonempty_rows[rank];
  return (int32_t)rank;
}

/* The same where the choice is not worth two copies of the code; nonempty_rows is NULL when no row is empty. */
__device__ inline int32_t RowOfNonzero(SpMVTransposeMark mark, PetscCount k, const int32_t *__restrict__ nonempty_rows)
{
  return nonempty_rows ? RowOfNonzero<true>(mark, k, nonempty_rows) : RowOfNonzero<false>(mark, k, NULL);
}

__device__ inline SpMVTransposeMark LoadMark(const SpMVTransposeMark *__restrict__ marks, PetscCount k)
{
  const uint2 mark = __ldg((const uint2 *)marks + (k >> 5));

  return {mark.x, mark.y};
}

} // namespace
