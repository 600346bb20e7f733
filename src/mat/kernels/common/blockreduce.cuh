#pragma once
/*
  Reductions inside of a warp and of a thread block, in a fixed order: the same bits every time.
*/
#include <cstring>

namespace
{

template <typename T>
__device__ inline T ShuffleDown(T value, int delta, int width)
{
  constexpr int num_words = (int)((sizeof(T) + sizeof(int) - 1) / sizeof(int));
  int           words[num_words];

  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int w = 0; w < num_words; w++) words[w] = __shfl_down_sync(0xffffffffu, words[w], delta, width);
  memcpy(&value, words, sizeof(T));
  return value;
}

/* The first lane of each group of lanes gets what the group reduces to; all lanes of the warp take part. */
template <typename T, typename Combine>
__device__ inline T ReduceLanes(T value, int lanes, Combine combine)
{
  for (int delta = lanes / 2; delta > 0; delta /= 2) value = combine(value, ShuffleDown(value, delta, lanes));
  return value;
}

/* All lanes of each group get what the group reduces to, where combine(a, b) is combine(b, a); all lanes of the warp take part. */
template <typename T, typename Combine>
__device__ inline T AllReduceLanes(T value, int lanes, Combine combine)
{
  constexpr int num_words = (int)((sizeof(T) + sizeof(int) - 1) / sizeof(int));

  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    int words[num_words];
    T   other;

    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int w = 0; w < num_words; w++) words[w] = __shfl_xor_sync(0xffffffffu, words[w], mask);
    memcpy(&other, words, sizeof(T));
    value = combine(value, other);
  }
  return value;
}

/* The first thread of a thread block of so many threads gets what they reduce to. __syncthreads() must stand between two calls. */
template <int Threads, typename T, typename Combine>
__device__ inline T ReduceBlock(T value, Combine combine)
{
  __shared__ __align__(alignof(T)) char storage[Threads / 32 * sizeof(T)];
  T *const                              parts = (T *)storage;

  static_assert(Threads % 32 == 0, "whole warps");
  value = ReduceLanes(value, 32, combine);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < Threads / 32; w++) value = combine(value, parts[w]);
  return value;
}

} // namespace
