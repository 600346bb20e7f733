#pragma once
/*
  What insertion into masked diagonals and deletion from them share: sizes of slices, and when the structure is better made again.
*/
#include "diagonals.cuh"

namespace
{

/* A piece with fewer entries than one in THIN_PART of the rows of a slice is thin. */
constexpr int THIN_PART = 8;
/* Thin pieces that insertion and deletion may leave: as one in MAX_THIN_PART of all pieces, and MAX_THIN. With more, the structure is made again. */
constexpr PetscCount MAX_THIN_PART = 8, MAX_THIN = 64;
/* Room that new arrays have, as a part of what is in them. */
constexpr PetscCount ROOM_PART = 8;

/* Entries that a piece of a slice has when it is not thin. */
__device__ __forceinline__ PetscCount MinPiece(PetscInt num_rows, PetscInt slice)
{
  const PetscInt rows = min((PetscInt)HISPARSE_SLICE_ROWS, num_rows - slice * HISPARSE_SLICE_ROWS);

  return (rows + THIN_PART - 1) / THIN_PART;
}

/* Values of a slice. */
__device__ __forceinline__ PetscCount SliceValues(const HiSparseSlice &slice, const HiSparsePiece *pieces)
{
  if (slice.num_pieces == 0) return 0;
  const HiSparsePiece *last = pieces + slice.first_piece + (slice.num_pieces - 1);

  return (PetscCount)last->values + BitsBefore(last->mask, HISPARSE_SLICE_WORDS);
}

} // namespace
