#pragma once
/*
  Where the values of masked diagonals of blocks are.
*/
#include "diagonals.cuh"
#include "../common/search.cuh"

namespace
{

constexpr int BLOCK_DIAGONALS_WORD_SHIFT = 5, BLOCK_DIAGONALS_SLICE_SHIFT = 7;
static_assert(1 << BLOCK_DIAGONALS_WORD_SHIFT == HISPARSE_WARP && 1 << BLOCK_DIAGONALS_SLICE_SHIFT == HISPARSE_SLICE_ROWS, "Words and slices are found by shifts");

/* The values of a block: entry (a, c) is at first + (a * b + c) * stride. */
struct BlockPlace {
  PetscCount first; // -1: there is no such block
  int        stride;
};

/* Of the block in a row of a word that has the bits `mask` and begins at block `place`. */
__device__ __forceinline__ BlockPlace BlockPlaceInWord(uint32_t mask, int bit, PetscCount place, int size)
{
  return {place * size * size + __popc(mask & LowerLanes(bit)), __popc(mask)};
}

/* Of the block in row `bit` of a slice. */
__device__ __forceinline__ BlockPlace BlockPlaceInPiece(const HiSparseSlice &slice, const HiSparsePiece *piece, int bit, int size)
{
  const int w = bit >> BLOCK_DIAGONALS_WORD_SHIFT, k = bit & (HISPARSE_WARP - 1);

  if (!(piece->mask[w] >> k & 1)) return {-1, 0};
  return BlockPlaceInWord(piece->mask[w], k, (PetscCount)slice.values + piece->values + BitsBefore(piece->mask, w), size);
}

/* The piece of a slice whose row 0 has its block in column c0, NULL when there is none. */
__device__ __forceinline__ const HiSparsePiece *FindPiece(const HiSparseSlice &slice, const HiSparsePiece *pieces, PetscCount c0)
{
  const HiSparsePiece *begin = pieces + slice.first_piece;
  const uint32_t       k     = PartitionPoint((uint32_t)0, slice.num_pieces, [=](uint32_t p) { return begin[p].c0 < c0; });

  return k < slice.num_pieces && begin[k].c0 == c0 ? begin + k : NULL;
}

/* Of block (row, column). */
__device__ __forceinline__ BlockPlace FindBlock(const HiSparseSlice *slices, const HiSparsePiece *pieces, PetscCount row, PetscCount column, int size)
{
  const HiSparseSlice  slice = slices[row >> BLOCK_DIAGONALS_SLICE_SHIFT];
  const int            bit   = (int)(row & (HISPARSE_SLICE_ROWS - 1));
  const HiSparsePiece *piece = FindPiece(slice, pieces, column - bit);

  if (piece == NULL) return {-1, 0};
  return BlockPlaceInPiece(slice, piece, bit, size);
}

/* The two words of rows that 32 columns have rows in, columns 32 * w and on of the slice of a piece of the transpose. */
struct BlockWords {
  uint32_t   mask[2];
  PetscCount place[2]; // of their first blocks
  int        shift;    // row of the first column, in the first word

  __device__ __forceinline__ BlockWords(const BlockDiagonalsTransposedPiece &piece, int w)
  {
    const int border = HISPARSE_SLICE_WORDS - (piece.r0 >> BLOCK_DIAGONALS_WORD_SHIFT & (HISPARSE_SLICE_WORDS - 1)); // words from here on are in the second slice
    int       before = 0;

    shift = piece.r0 & (HISPARSE_WARP - 1);
#pragma unroll
    for (int q = 0; q < BLOCK_DIAGONALS_WORDS; q++) {
      const PetscCount place_q = (q < border ? piece.place[0] : piece.place[1]) + before;

      if (q == w) {
        mask[0]  = piece.mask[q];
        place[0] = place_q;
      } else if (q == w + 1) {
        mask[1]  = piece.mask[q];
        place[1] = place_q;
      }
      before += __popc(piece.mask[q]);
    }
  }
  /* A bit for each of the 32 columns. */
  __device__ __forceinline__ uint32_t Columns() const
  {
    return __funnelshift_r(mask[0], mask[1], (unsigned int)shift);
  }
};

} // namespace
