#pragma once
/*
  Where an entry of masked diagonals is: by arithmetic and a bisection among the pieces of its slice, or among the entries of its row outside of pieces.
*/
#include "../common/offsets.cuh"
#include "diagonalsloop.cuh"

namespace
{

/* Place of the value of entry (row, column) in pieces, -1 when no piece has it. */
__device__ __forceinline__ PetscCount FindInPieces(const HiSparseSlice *slices, const HiSparsePiece *pieces, PetscInt row, int32_t column)
{
  const HiSparseSlice  slice = slices[row / HISPARSE_SLICE_ROWS];
  const HiSparsePiece *begin = pieces + slice.first_piece;
  const int            bit   = (int)(row % HISPARSE_SLICE_ROWS);
  const int32_t        c0    = column - bit;
  const uint32_t       p     = PartitionPoint((uint32_t)0, slice.num_pieces, [=](uint32_t k) { return begin[k].c0 < c0; });

  if (p == slice.num_pieces || begin[p].c0 != c0 || !PieceHas(begin[p].mask, bit)) return -1;
  return (PetscCount)slice.values + begin[p].values + PieceRank(begin[p].mask, bit);
}

/* The entries outside of pieces. */
struct OutsideEntries {
  Offsets        row_offsets; // [num_rows + 1]
  const int32_t *columns, *rows;
  int32_t        num_rows; // that have any

  OutsideEntries() = default;
  __host__ explicit OutsideEntries(const HiSparseOverflow &overflow) : row_offsets(overflow.view), columns(overflow.view.columns), rows(overflow.rows), num_rows((int32_t)overflow.view.num_rows) {}

  /* Number of entry (row, column) among them, -1 when it is none of them. */
  __device__ __forceinline__ PetscCount Find(PetscInt row, int32_t column) const
  {
    const int32_t k = LowerBound(rows, (int32_t)0, num_rows, (int32_t)row);
    PetscCount    end, place;

    if (k == num_rows || rows[k] != (int32_t)row) return -1;
    end   = row_offsets((PetscCount)k + 1);
    place = LowerBound(columns, row_offsets(k), end, column);
    return place < end && columns[place] == column ? place : -1;
  }
};

/* What a lookup adds to the number of an entry outside of pieces; places in pieces are smaller. */
constexpr PetscCount OUTSIDE = (PetscCount)1 << 62;

struct FindInDiagonals {
  const HiSparseSlice *slices;
  const HiSparsePiece *pieces;
  OutsideEntries       outside;

  FindInDiagonals() = default;
  __host__ explicit FindInDiagonals(const HiSparseDiagonals *d) : slices(d->slices), pieces(d->pieces), outside(d->overflow) {}

  /* Place of the value of an entry, or OUTSIDE and its number outside of pieces, -1 when there is none. */
  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const PetscCount place = FindInPieces(slices, pieces, row, column), number = place < 0 ? outside.Find(row, column) : -1;

    return number < 0 ? place : OUTSIDE + number;
  }
};

} // namespace
