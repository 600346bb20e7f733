#pragma once
/*
  Where the values of masked diagonals of blocks are.
*/
#include "diagonals.cuh"
#include "../common/search.cuh"

namespace
{

constexpr int BLOCK_DIAGONALS_WORD_SHIFT = 5, BLOCK_DIAGONALS_SLICE_SHIFT = 7;
static_assert(1 << BLOCK_DIAGONALS_WORD_SHIFT == HISPARSE_WARP && 1 << BLOCK_DIAGONALS_SLICE_SHIFT == HISPARSE_SLICE_ROWS, "Groups and slices are found by shifts");

/* The values of a block: entry (a, c) is at first + (a * b + c) * stride. */
struct BlockPosition {
  PetscCount first; // -1: there is no such block
  int        stride;
};

/* Of the block in a row of a 32-row group that has the bits `mask` and begins at block `position`. */
__device__ __forceinline__ BlockPosition BlockPositionInGroup(uint32_t mask, int bit, PetscCount position, int size)
{
  return {position * size * size + __popc(mask & LowerLanes(bit)), __popc(mask)};
}

/* Of the block in row `bit` of a slice. */
__device__ __forceinline__ BlockPosition BlockPositionInSegment(const HiSparseSlice &slice, const HiSparseSegment *segment, int bit, int size)
{
  const int w = bit >> BLOCK_DIAGONALS_WORD_SHIFT, k = bit & (HISPARSE_WARP - 1);

  if (!(segment->mask[w] >> k & 1)) return {-1, 0};
  return BlockPositionInGroup(segment->mask[w], k, (PetscCount)slice.values + segment->values + BitsBefore(segment->mask, w), size);
}

/* The segment of a slice whose row 0 has its block in column c0, NULL when there is none. */
__device__ __forceinline__ const HiSparseSegment *FindSegment(const HiSparseSlice &slice, const HiSparseSegment *segments, PetscCount c0)
{
  const HiSparseSegment *begin = segments + slice.first_segment;
  const uint32_t         k     = PartitionPoint((uint32_t)0, slice.num_segments, [=](uint32_t p) { return begin[p].c0 < c0; });

  return k < slice.num_segments && begin[k].c0 == c0 ? begin + k : NULL;
}

/* Of block (row, column). */
__device__ __forceinline__ BlockPosition FindBlock(const HiSparseSlice *slices, const HiSparseSegment *segments, PetscCount row, PetscCount column, int size)
{
  const HiSparseSlice    slice   = slices[row >> BLOCK_DIAGONALS_SLICE_SHIFT];
  const int              bit     = (int)(row & (HISPARSE_SLICE_ROWS - 1));
  const HiSparseSegment *segment = FindSegment(slice, segments, column - bit);

  if (segment == NULL) return {-1, 0};
  return BlockPositionInSegment(slice, segment, bit, size);
}

/* The two 32-row groups that 32 columns have rows in, columns 32 * w and on of the slice of a segment of the transpose. */
struct BlockGroups {
  uint32_t   mask[2];
  PetscCount position[2]; // of their first blocks
  int        shift;       // row of the first column, in the first group

  __device__ __forceinline__ BlockGroups(const BlockDiagonalsTransposedSegment &segment, int w)
  {
    const int border = HISPARSE_SLICE_WORDS - (segment.r0 >> BLOCK_DIAGONALS_WORD_SHIFT & (HISPARSE_SLICE_WORDS - 1)); // groups from here on are in the second slice
    int       before = 0;

    shift = segment.r0 & (HISPARSE_WARP - 1);
#pragma unroll
    for (int q = 0; q < BLOCK_DIAGONALS_WORDS; q++) {
      const PetscCount position_q = (q < border ? segment.position[0] : segment.position[1]) + before;

      if (q == w) {
        mask[0]     = segment.mask[q];
        position[0] = position_q;
      } else if (q == w + 1) {
        mask[1]     = segment.mask[q];
        position[1] = position_q;
      }
      before += __popc(segment.mask[q]);
    }
  }
  /* A bit for each of the 32 columns. */
  __device__ __forceinline__ uint32_t Columns() const
  {
    return __funnelshift_r(mask[0], mask[1], (unsigned int)shift);
  }
};

} // namespace
