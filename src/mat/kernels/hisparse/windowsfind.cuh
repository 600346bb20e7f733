#pragma once
/*
  Single entries of 16-bit columns in windows: the column of one, and where one is, by a bisection in its row that decodes the columns it looks at.
*/
#include "../common/offsets.cuh"
#include "../common/search.cuh"
#include "windows.cuh"

namespace
{

struct FindInWindows {
  Offsets         row_offsets;
  const uint16_t *columns, *upper;
  const int32_t  *windows;
  int             shift; // 2^shift columns a load

  FindInWindows() = default;
  __host__ explicit FindInWindows(Windows w) : columns(w->columns), upper(w->upper), windows(w->windows), shift(w->config.vec == 2 ? 1 : w->config.vec == 4 ? 2 : 3)
  {
    row_offsets.offsets = w->row_offsets;
    row_offsets.wide    = w->wide;
  }

  /* That of entry k. */
  __device__ __forceinline__ int32_t Column(PetscCount k) const
  {
    const PetscCount   block = k / WINDOWS_BLOCK;
    const int          place = WindowsPlace((int)(k % WINDOWS_BLOCK), shift);
    const unsigned int code  = columns[block * WINDOWS_BLOCK + place];
    const int32_t      first = windows[block * WINDOWS_COUNT];

    if (first < 0) return (int32_t)(code | (unsigned int)upper[(PetscCount)(-1 - first) * WINDOWS_BLOCK + place] << 16);
    return windows[block * WINDOWS_COUNT + (code >> WINDOWS_BITS)] + (int32_t)code;
  }

  /* Number of entry (row, column), -1 when there is none. */
  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const FindInWindows find = *this;
    const PetscCount    end = row_offsets((PetscCount)row + 1), k = PartitionPoint(row_offsets(row), end, [=](PetscCount e) { return find.Column(e) < column; });

    return k < end && Column(k) == column ? k : -1;
  }
};

} // namespace
