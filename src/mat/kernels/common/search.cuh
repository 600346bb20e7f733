#pragma once
/* Binary searches in sorted arrays. */
#include <petscsys.h>

namespace
{

/* First position in [begin, end) whose column is not below column. */
template <typename Position>
__device__ inline Position LowerBound(const int32_t *columns, Position begin, Position end, int32_t column)
{
  while (begin < end) {
    const Position middle = begin + (end - begin) / 2;

    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

} // namespace
