#pragma once
/* What the products with blocks are made of: loads, the lanes of a block, sums over lanes. */
#include "../spmv/spmvoutput.cuh"
#include "blocksimpl.h"
#include "storedvalues.cuh"
#include <cstring>

#define BLOCKS_WARP      32
#define BLOCKS_FULL_MASK 0xffffffffu

namespace
{

/*
  Loads under a condition, 0 without it; predicated, so that all loads of a batch are under way together (diagonals.cuh has what a choice in C++ costs).
  Values go through L1, where they are the first to leave: a sector at the border of two blocks is loaded for the first and met again by the second.
*/
template <int Bytes>
struct BlocksLoad;

#define DEFINE_BLOCKS_LOAD(bytes, type, suffix, constraint) \
  template <> \
  struct BlocksLoad<bytes> { \
    using Word = type; \
    static __device__ __forceinline__ Word Once(unsigned int has, const void *p) \
    { \
      unsigned long policy; \
      Word          word; \
\
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy)); \
      asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov." suffix " %0, 0; @p ld.global.nc.L1::evict_first.L2::cache_hint." suffix " %0, [%2], %3; }" \
          : "=" constraint(word) \
          : "r"(has), "l"(p), "l"(policy)); \
      return word; \
    } \
    static __device__ __forceinline__ Word Cached(unsigned int has, const void *p) \
    { \
      Word word; \
\
      asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov." suffix " %0, 0; @p ld.global.nc." suffix " %0, [%2]; }" : "=" constraint(word) : "r"(has), "l"(p)); \
      return word; \
    } \
  };
#if defined(__CUDA_ARCH__)
DEFINE_BLOCKS_LOAD(4, uint32_t, "b32", "r")
DEFINE_BLOCKS_LOAD(8, unsigned long long, "b64", "l")
#endif
#undef DEFINE_BLOCKS_LOAD

template <bool Once, typename T>
__device__ __forceinline__ T BlocksLoadIf(bool has, const T *p)
{
  T v;

#if defined(__CUDA_ARCH__)
  using Load = BlocksLoad<sizeof(T) % 8 == 0 ? 8 : 4>;
  typename Load::Word words[sizeof(T) / sizeof(typename Load::Word)];

  #pragma unroll
  for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++) words[i] = Once ? Load::Once(has, (const typename Load::Word *)p + i) : Load::Cached(has, (const typename Load::Word *)p + i);
  memcpy(&v, words, sizeof(v));
#else
  v = has ? *p : T(0);
#endif
  return v;
}

/* The lanes of a block: each has `values` neighboring entries of a row of it. */
template <int Size>
struct BlocksShape {
  static constexpr int values = Size == 6 ? 3 : 1;
  static constexpr int across = Size / values;       // lanes of a row
  static constexpr int lanes  = Size * across;       // of a block
  static constexpr int most   = BLOCKS_WARP / lanes; // blocks that a warp has lanes for
};

/* Where a lane stands in a group of `step` blocks; lanes behind the last group that fits into a warp have none. */
template <int Size, int Step>
struct BlocksLane {
  static constexpr int group_lanes = BlocksShape<Size>::lanes * Step;
  static constexpr int groups      = BLOCKS_WARP / group_lanes; // of a warp

  int group;    // in the warp; groups for lanes that have none
  int block;    // of the step
  int position; // of the lane's first entry, in the block

  __device__ __forceinline__ explicit BlocksLane(int lane)
  {
    const int l = lane % group_lanes;

    group    = lane / group_lanes;
    block    = l / BlocksShape<Size>::lanes;
    position = l % BlocksShape<Size>::lanes * BlocksShape<Size>::values;
  }
  __device__ __forceinline__ bool HasGroup() const { return group < groups; }
  __device__ __forceinline__ int  Row() const { return position / Size; }
  __device__ __forceinline__ int  Column() const { return position % Size; }
};

/* The value of the lane that is `delta` lanes behind; all lanes of the warp call this. Its size is a multiple of 4. */
template <typename T>
__device__ __forceinline__ T BlocksShuffleDown(T v, int delta)
{
  constexpr int words = (int)(sizeof(T) / 4);
  unsigned int  w[words];

  memcpy(w, &v, sizeof(v));
#pragma unroll
  for (int i = 0; i < words; i++) w[i] = __shfl_down_sync(BLOCKS_FULL_MASK, w[i], delta);
  memcpy(&v, w, sizeof(v));
  return v;
}

/* The sum over `count` lanes that are `stride` apart, in the first of them, in ascending order; others get what means nothing. */
template <int Count, int Stride>
__device__ __forceinline__ PetscScalar BlocksSumLanes(PetscScalar v)
{
  PetscScalar sum = v;

#pragma unroll
  for (int k = 1; k < Count; k++) sum += BlocksShuffleDown(v, k * Stride);
  return sum;
}

/* Values as a product takes them. */
struct BlocksPlain {
  bool conjugate;

  __device__ __forceinline__ PetscScalar operator()(PetscScalar v) const
  {
#if PetscDefined(USE_COMPLEX)
    if (conjugate) v = thrust::conj(v);
#endif
    return v;
  }
};

/*
  A product with a list. In a kernel the values have their type: as a void pointer, converted where it is read, it costs A x with b = 3 six registers and 4 % of its time. On the host Stored is void.
*/
template <typename Stored, typename Output>
struct BlocksArgs {
  PetscInt           num_rows; // of blocks
  const int32_t     *offsets;
  const int32_t     *columns;
  const int32_t     *positions;
  const Stored      *values;
  const PetscScalar *x;
  Output             output;
  PetscScalar        scale;
};

/* Columns and numbers of the blocks k, k + step and so on of a batch that are before end. */
template <int Batch, bool Transpose, typename Args>
__device__ __forceinline__ void BlocksLoadList(const Args &a, int32_t k, int32_t end, int step, int32_t columns[Batch], int32_t blocks[Batch])
{
#pragma unroll
  for (int i = 0; i < Batch; i++) {
    const bool has = i * step < end - k;

    blocks[i]  = Transpose ? BlocksLoadIf<false>(has, a.positions + k + i * step) : k + i * step;
    columns[i] = BlocksLoadIf<false>(has, a.columns + k + i * step);
  }
}

/*
  Adds up what a lane has of blocks begin, begin + step and so on, before end. sums has one number for A x; for A^T x one for each of the lane's columns.
  The blocks of a batch are loaded together. Ahead: the list of the next batch is loaded with them, so that loads of x, and of values for A^T x, do not wait for it.
*/
template <typename Stored, int Size, int Batch, bool Ahead, bool Transpose, typename Output>
__device__ __forceinline__ void BlocksAddUp(const BlocksArgs<Stored, Output> &a, int32_t begin, int32_t end, int step, int position, BlocksPlain map, PetscScalar *sums)
{
  constexpr int values = BlocksShape<Size>::values, numbers = Transpose ? 1 : values; // of x for a block
  const int     first = Transpose ? position / Size : position % Size;                // of them in the part of x
  int32_t       columns[Batch], blocks[Batch];

  if (Ahead) BlocksLoadList<Batch, Transpose>(a, begin, end, step, columns, blocks);
  for (int32_t k = begin; k < end; k += Batch * step) {
    Stored      v[Batch][values];
    PetscScalar x[Batch][numbers];

    if (!Ahead) BlocksLoadList<Batch, Transpose>(a, k, end, step, columns, blocks);
#pragma unroll
    for (int i = 0; i < Batch; i++)
#pragma unroll
      for (int w = 0; w < values; w++) v[i][w] = BlocksLoadIf<true>(i * step < end - k, a.values + (int64_t)blocks[i] * (Size * Size) + position + w);
#pragma unroll
    for (int i = 0; i < Batch; i++)
#pragma unroll
      for (int w = 0; w < numbers; w++) x[i][w] = BlocksLoadIf<false>(i * step < end - k, a.x + (int64_t)columns[i] * Size + first + w);
    if (Ahead) BlocksLoadList<Batch, Transpose>(a, k + Batch * step, end, step, columns, blocks);
#pragma unroll
    for (int i = 0; i < Batch; i++)
#pragma unroll
      for (int w = 0; w < values; w++) sums[Transpose ? w : 0] += map(FromStored(v[i][w])) * x[i][numbers == 1 ? 0 : w];
  }
}

/* Sums of a group's lanes over the blocks of a step and across the blocks: entry k of the row of blocks is in sums[k % numbers] of the lane of the first block that BlocksOwner() names. */
template <int Size, int Step, bool Transpose>
__device__ __forceinline__ void BlocksSumGroup(PetscScalar *sums)
{
  using Shape = BlocksShape<Size>;

#pragma unroll
  for (int w = 0; w < (Transpose ? Shape::values : 1); w++) {
    sums[w] = Transpose ? BlocksSumLanes<Size, Shape::across>(sums[w]) : BlocksSumLanes<Shape::across, 1>(sums[w]);
    sums[w] = BlocksSumLanes<Step, Shape::lanes>(sums[w]);
  }
}

/* Whether a lane has sums of its group after BlocksSumGroup(), and the first entry of the row of blocks that they are of. */
template <int Size, int Step, bool Transpose>
__device__ __forceinline__ bool BlocksOwns(const BlocksLane<Size, Step> &lane, int *entry)
{
  *entry = Transpose ? lane.Column() : lane.Row();
  return lane.HasGroup() && lane.block == 0 && (Transpose ? lane.Row() : lane.Column()) == 0;
}

} // namespace
