#pragma once
/*
  Where an entry is in the rows of a matrix.
*/
#include "../common/search.cuh"
#include "insertimpl.h"

namespace
{

/* Position of a column in compact storage, or ~position before which it belongs. */
template <typename Offset>
struct FindCompact {
  DCSRView view;

  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const Offset *row_offsets = (const Offset *)view.row_offsets;
    const Offset  end = row_offsets[row + 1], k = LowerBound(view.columns, row_offsets[row], end, column);

    return k < end && view.columns[k] == column ? (PetscCount)k : ~(PetscCount)k;
  }
};

/* The same in the segments of a row, -1 when it is in none. */
template <typename Offset>
struct FindInSegments {
  DCSRView view;

  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    PetscCount left = view.row_sizes[row];

    for (PetscInt s = 0; s < view.max_segments && left > 0; s++) {
      const Offset    *pair  = (const Offset *)view.segments + 2 * (row + s * view.pitch);
      const PetscCount begin = pair[0], length = pair[1] - begin, used = length < left ? length : left;
      const PetscCount k = LowerBound(view.columns, begin, begin + used, column);

      if (k < begin + used && view.columns[k] == column) return k;
      left -= used;
    }
    return -1;
  }
};

} // namespace
