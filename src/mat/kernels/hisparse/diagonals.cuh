#pragma once
/*
  What the kernels of masked diagonals share: loads and stores of scalars, and bits of masks.
*/
#include "diagonalsimpl.h"
#include "storedvalues.cuh"
#include <petscsparsecuda/common.h>
#include <cstring>
#include <type_traits>

#define HISPARSE_WARP      32
#define HISPARSE_FULL_MASK 0xffffffffu

static_assert(sizeof(HiSparseSegment) == 24 && sizeof(HiSparseSlice) == 16 && sizeof(HiSparseTransposedSegment) == 32, "Loaded in words of 8 and 16 bytes");

namespace
{

/*
  Loads under a condition, 0 without it. As a choice between a load and 0 in C++ the compiler copies each value after its load, and waits for it before it issues the next loads of a batch. Measured on
  an H200, A x of a 27-point stencil of 200^3: 574 us so, 457 us with loads that are predicated.
*/
template <int Bytes>
struct ConditionalLoad;

#define DEFINE_CONDITIONAL_LOAD(bytes, type, suffix, constraint) \
  template <> \
  struct ConditionalLoad<bytes> { \
    using Word = type; \
    /* what is read once: first to leave the caches, so that they are for x */ \
    static __device__ __forceinline__ Word Once(unsigned int has, const void *p) \
    { \
      Word word; \
\
      asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov." suffix " %0, 0; @p ld.global.cs." suffix " %0, [%2]; }" : "=" constraint(word) : "r"(has), "l"(p)); \
      return word; \
    } \
    /* what neighbors read too: through L1 */ \
    static __device__ __forceinline__ Word Cached(unsigned int has, const void *p) \
    { \
      Word word; \
\
      asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov." suffix " %0, 0; @p ld.global.nc." suffix " %0, [%2]; }" : "=" constraint(word) : "r"(has), "l"(p)); \
      return word; \
    } \
  };
#if defined(__CUDA_ARCH__)
DEFINE_CONDITIONAL_LOAD(2, uint16_t, "b16", "h")
DEFINE_CONDITIONAL_LOAD(4, uint32_t, "b32", "r")
DEFINE_CONDITIONAL_LOAD(8, unsigned long long, "b64", "l")
#endif
#undef DEFINE_CONDITIONAL_LOAD

template <bool Once, typename T>
__device__ __forceinline__ T LoadIf(unsigned int has, const T *p)
{
  T v;

#if defined(__CUDA_ARCH__)
  using Load = ConditionalLoad<sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : 2>;
  typename Load::Word words[sizeof(T) / sizeof(typename Load::Word)];

  #pragma unroll
  for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++) words[i] = Once ? Load::Once(has, (const typename Load::Word *)p + i) : Load::Cached(has, (const typename Load::Word *)p + i);
  memcpy(&v, words, sizeof(v));
#else
  v = has ? *p : T{};
#endif
  return v;
}

/* A value of the matrix, and an entry of a vector; 0 when has is 0. */
template <typename Stored>
__device__ __forceinline__ Stored LoadValueIf(unsigned int has, const Stored *p)
{
  return LoadIf<true>(has, p);
}
__device__ __forceinline__ PetscScalar LoadVectorIf(unsigned int has, const PetscScalar *p)
{
  return LoadIf<false>(has, p);
}

/* An address that the compiler takes as it is: what is added to it costs one instruction. */
template <typename T>
__device__ __forceinline__ const T *KnownAddress(const T *p)
{
#if defined(__CUDA_ARCH__)
  asm("" : "+l"(p));
#endif
  return p;
}

/* The bits below a lane's own. */
__device__ __forceinline__ unsigned int LowerLanes(int lane)
{
  return (1u << lane) - 1u;
}

/* Values of a segment in rows before those of 32-row group w. */
__device__ __forceinline__ unsigned int BitsBefore(const uint32_t mask[HISPARSE_SLICE_WORDS], int w)
{
  unsigned int n = 0;

#pragma unroll
  for (int k = 0; k < HISPARSE_SLICE_WORDS; k++) n += k < w ? __popc(mask[k]) : 0;
  return n;
}

__device__ __forceinline__ bool SegmentHas(const uint32_t *mask, int bit)
{
  return mask[bit / 32] >> bit % 32 & 1;
}

/* How many bits below are set. */
__device__ __forceinline__ int SegmentRank(const uint32_t *mask, int bit)
{
  int rank = __popc(mask[bit / 32] & ((1u << bit % 32) - 1));

  for (int word = 0; word < bit / 32; word++) rank += __popc(mask[word]);
  return rank;
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
