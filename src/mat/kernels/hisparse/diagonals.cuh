#pragma once
/*
  What the kernels of masked diagonals share: loads and stores of scalars, and bits of masks.
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/common.h>
#include <cstring>
#include <type_traits>

#define HISPARSE_WARP      32
#define HISPARSE_FULL_MASK 0xffffffffu

static_assert(sizeof(HiSparsePiece) == 24 && sizeof(HiSparseSlice) == 16 && sizeof(HiSparseTransposedPiece) == 32, "Loaded in words of 8 and 16 bytes");

namespace
{

/* The widest word that a scalar consists of. */
using ScalarWord = std::conditional_t<sizeof(PetscScalar) % 16 == 0, uint4, std::conditional_t<sizeof(PetscScalar) % 8 == 0, uint2, unsigned int>>;

struct ScalarWords {
  ScalarWord words[sizeof(PetscScalar) / sizeof(ScalarWord)];
};

/* A value of the matrix, which is read once: no line in L1, first to leave L2. */
__device__ __forceinline__ PetscScalar LoadValue(const PetscScalar *p)
{
  ScalarWords w;
  PetscScalar v;

#if defined(__CUDA_ARCH__)
  unsigned long policy;

  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  #pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / sizeof(w.words[0])); i++) {
    const ScalarWord *from = (const ScalarWord *)p + i;

    if constexpr (sizeof(ScalarWord) == 16)
      asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(((uint4 *)w.words)[i].x), "=r"(((uint4 *)w.words)[i].y), "=r"(((uint4 *)w.words)[i].z), "=r"(((uint4 *)w.words)[i].w) : "l"(from), "l"(policy));
    else if constexpr (sizeof(ScalarWord) == 8) asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(((uint2 *)w.words)[i].x), "=r"(((uint2 *)w.words)[i].y) : "l"(from), "l"(policy));
    else asm("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(((unsigned int *)w.words)[i]) : "l"(from), "l"(policy));
  }
#else
  memcpy(&w, p, sizeof(w));
#endif
  memcpy(&v, &w, sizeof(v));
  return v;
}

/* An entry of a vector that neighbors read too: through L1. */
__device__ __forceinline__ PetscScalar LoadVector(const PetscScalar *p)
{
  ScalarWords w;
  PetscScalar v;

#pragma unroll
  for (int i = 0; i < (int)(sizeof(w) / sizeof(w.words[0])); i++) w.words[i] = __ldg((const ScalarWord *)p + i);
  memcpy(&v, &w, sizeof(v));
  return v;
}

/* The bits below a lane's own. */
__device__ __forceinline__ unsigned int LowerLanes(int lane)
{
  return (1u << lane) - 1u;
}

/* Values of a piece in rows before those of word w. */
__device__ __forceinline__ unsigned int BitsBefore(const uint32_t mask[HISPARSE_SLICE_WORDS], int w)
{
  unsigned int n = 0;

#pragma unroll
  for (int k = 0; k < HISPARSE_SLICE_WORDS; k++) n += k < w ? __popc(mask[k]) : 0;
  return n;
}

/* n entries into the shared memory of a warp, each read once. The lanes see them after __syncwarp(). */
template <typename T>
__device__ __forceinline__ void CopyToShared(T *to, const T *from, unsigned int n, int lane)
{
  constexpr int batch = 8; // loads under way

  for (unsigned int k = (unsigned int)lane; k < n; k += batch * HISPARSE_WARP) {
    T part[batch];

#pragma unroll
    for (int b = 0; b < batch; b++)
      if (k + b * HISPARSE_WARP < n) part[b] = from[k + b * HISPARSE_WARP];
#pragma unroll
    for (int b = 0; b < batch; b++)
      if (k + b * HISPARSE_WARP < n) to[k + b * HISPARSE_WARP] = part[b];
  }
}

} // namespace
