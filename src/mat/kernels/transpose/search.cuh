#pragma once
/*
  Looking for the partner (c, r) of an entry (r, c).
*/
#include "../common/search.cuh"

namespace
{

/* Rows longer than this are not left to a single group of lanes. */
constexpr int LONGEST_SEARCHED_ROW = 8192;

/* Finds column among the sorted columns [first, last), of which guess is another one; returns last when it is absent. */
template <typename Offset>
__device__ inline Offset Search(const int32_t *__restrict__ columns, Offset first, Offset last, Offset guess, int32_t column)
{
  const int32_t there = columns[guess];
  const int64_t next  = (int64_t)guess + column - there; // where it is when the columns between are all there
  Offset        low = first, high = last, step = 1;

  if (next >= (int64_t)first && next < (int64_t)last && columns[next] == column) return (Offset)next;
  if (there < column) { // up
    for (low = guess + 1; guess + step < last && columns[guess + step] < column; step *= 2) low = guess + step + 1;
    high = min(last, guess + step + 1);
  } else { // down
    for (high = guess; guess - step >= first && columns[guess - step] > column; step *= 2) high = guess - step;
    low = max(first, guess - step);
  }
  low = LowerBound(columns, low, high, column);
  return low < last && columns[low] == column ? low : last;
}

} // namespace
