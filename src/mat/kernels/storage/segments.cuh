#pragma once
/*
  The first segments of rows, where storage becomes fragmented without moving an entry.
*/
#include <petscsparsecuda/dcsr.h>

namespace
{

/* As it lies in a view. */
template <typename Offset>
struct alignas(2 * sizeof(Offset)) Segment {
  Offset begin, end;
};

/* All segments of a row of a view that has row offsets, too, and its size. */
template <typename Offset>
__device__ void MakeSegments(const DCSRView &view, PetscCount row)
{
  const Offset    *row_offsets = (const Offset *)view.row_offsets;
  const Offset     begin = row_offsets[row], end = row_offsets[row + 1];
  Segment<Offset> *segments = (Segment<Offset> *)view.segments + row;

  segments[0] = begin < end ? Segment<Offset>{begin, end} : Segment<Offset>{0, 0};
  for (PetscInt s = 1; s < view.max_segments; s++) segments[s * view.pitch] = Segment<Offset>{0, 0};
  view.row_sizes[row] = (int32_t)(end - begin);
}

} // namespace
