#pragma once
/* Binary searches in sorted sequences. */
#include <petscsys.h>

namespace
{

/* First position in [begin, end) where before() does not hold, end when it holds everywhere; positions where it holds come first. */
template <typename Position, typename Before>
__device__ __forceinline__ Position PartitionPoint(Position begin, Position end, Before before)
{
  while (begin < end) {
    const Position middle = begin + (end - begin) / 2;

    if (before(middle)) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* PartitionPoint() of PetscCounts by all lanes of a warp together: 32 probes at a time wait for memory 4 times where a million positions take 20 halvings. */
template <typename Before>
__device__ __forceinline__ PetscCount PartitionPointByWarp(PetscCount begin, PetscCount end, Before before)
{
  while (begin < end) {
    const PetscCount step = (end - begin + 31) / 32, k = begin + (threadIdx.x % 32 + 1) * step - 1;

    begin += step * __popc(__ballot_sync(0xffffffffu, k < end && before(k)));
    if (begin + step - 1 < end) end = begin + step - 1;
  }
  return begin;
}

/* Last position in [begin, end) where holds() does, which it does at begin; positions where it holds come first. */
template <typename Position, typename Holds>
__device__ __forceinline__ Position LastWhere(Position begin, Position end, Holds holds)
{
  while (end - begin > 1) {
    const Position middle = begin + (end - begin) / 2;

    if (holds(middle)) begin = middle;
    else end = middle;
  }
  return begin;
}

/* First position in [begin, end) whose value is not below value. */
template <typename T, typename Position>
__device__ __forceinline__ Position LowerBound(const T *sorted, Position begin, Position end, T value)
{
  return PartitionPoint(begin, end, [=](Position k) { return sorted[k] < value; });
}

/* First position in [begin, end) whose value is above value. */
template <typename T, typename Position>
__device__ __forceinline__ Position UpperBound(const T *sorted, Position begin, Position end, T value)
{
  return PartitionPoint(begin, end, [=](Position k) { return sorted[k] <= value; });
}

} // namespace
