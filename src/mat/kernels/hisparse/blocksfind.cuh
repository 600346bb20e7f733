#pragma once
/*
  Where an entry of dense blocks is: by bisection among the blocks of its row of blocks, and by arithmetic in the block.
*/
#include "../common/search.cuh"
#include "blocksimpl.h"

namespace
{

struct FindInBlocks {
  const int32_t *offsets, *columns;
  int            size;

  FindInBlocks() = default;
  __host__ explicit FindInBlocks(const Blocks *blocks) : offsets(blocks->list.offsets), columns(blocks->list.columns), size(blocks->size) {}

  /* Place of the value of an entry, -1 when there is none. */
  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const PetscInt block_row = row / size;
    const int32_t  end = offsets[block_row + 1], block = LowerBound(columns, offsets[block_row], end, column / size);

    if (block == end || columns[block] != column / size) return -1;
    return ((PetscCount)block * size + row % size) * size + column % size;
  }
};

} // namespace
