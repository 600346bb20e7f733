#pragma once
/*
  A loop over the entries of dense blocks, by rows: for what wants a result of each row of entries.

  A warp takes a row of blocks, as many blocks at a time as it has lanes for. A lane has the same place in all of its blocks, so that its entries are of one row. At the end the results of the lanes of a row are
  combined, always in the same order.

  A visitor is a struct that is passed by value to the kernel, with

    struct Result {...};                                                          what a row has; its size is a multiple of 4
    __device__ Result Begin() const;                                              before a lane's first entry
    __device__ void   Visit(PetscInt row, PetscInt column, PetscCount place, Result &r) const;
    __device__ Result Combine(Result a, Result b) const;
    __device__ void   Store(PetscInt row, const Result &r) const;                 once a row, also an empty one
*/
#include "blocks.cuh"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int BLOCKS_LOOP_THREADS = 256, BLOCKS_LOOP_WARPS = BLOCKS_LOOP_THREADS / BLOCKS_WARP;

/* The results of `Count` lanes that are `Stride` apart in the first of them, ascending; others get what means nothing. All lanes of the warp call this. */
template <int Count, int Stride, typename Visitor>
__device__ __forceinline__ typename Visitor::Result BlocksCombineLanes(const Visitor &visitor, const typename Visitor::Result &r)
{
  typename Visitor::Result all = r;

#pragma unroll
  for (int k = 1; k < Count; k++) all = visitor.Combine(all, BlocksShuffleDown(r, k * Stride));
  return all;
}

template <int Size, typename Visitor>
__global__ static void __launch_bounds__(BLOCKS_LOOP_THREADS) BlocksLoopKernel(PetscInt num_rows, const int32_t *offsets, const int32_t *columns, const Visitor visitor)
{
  using Shape        = BlocksShape<Size>;
  constexpr int step = Shape::most;

  const BlocksLane<Size, step> lane(threadIdx.x % BLOCKS_WARP);
  int                          entry; // of the row of blocks, that a lane stores

  for (int64_t block_row = (int64_t)blockIdx.x * BLOCKS_LOOP_WARPS + threadIdx.x / BLOCKS_WARP; block_row < num_rows; block_row += (int64_t)gridDim.x * BLOCKS_LOOP_WARPS) {
    const int32_t  end = offsets[block_row + 1];
    const PetscInt row = (PetscInt)(block_row * Size + lane.Row());
    auto           r   = visitor.Begin();

    if (lane.HasGroup()) {
#pragma unroll 4
      for (int32_t k = offsets[block_row] + lane.block; k < end; k += step) {
        const PetscInt   column = (PetscInt)columns[k] * Size + lane.Column();
        const PetscCount place  = (PetscCount)k * (Size * Size) + lane.place;

#pragma unroll
        for (int w = 0; w < Shape::values; w++) visitor.Visit(row, column + w, place + w, r);
      }
    }
    __syncwarp();
    r = BlocksCombineLanes<Shape::across, 1>(visitor, r);
    r = BlocksCombineLanes<step, Shape::lanes>(visitor, r);
    if (BlocksOwns<Size, step, false>(lane, &entry)) visitor.Store((PetscInt)(block_row * Size + entry), r);
  }
}

/* Asynchronous on stream. */
template <typename Visitor>
PetscErrorCode BlocksVisitRows(const Blocks *blocks, const Visitor &visitor, cudaStream_t stream)
{
  const BlocksList *list = &blocks->list;
  unsigned int      grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)list->num_rows + BLOCKS_LOOP_WARPS - 1) / BLOCKS_LOOP_WARPS, DCSR_LOOP_BLOCKS, &grid));
  switch (blocks->size) {
  case 2:
    BlocksLoopKernel<2><<<grid, BLOCKS_LOOP_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, visitor);
    break;
  case 3:
    BlocksLoopKernel<3><<<grid, BLOCKS_LOOP_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, visitor);
    break;
  case 4:
    BlocksLoopKernel<4><<<grid, BLOCKS_LOOP_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, visitor);
    break;
  default:
    BlocksLoopKernel<6><<<grid, BLOCKS_LOOP_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, visitor);
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
