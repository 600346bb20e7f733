#pragma once
/*
  How the products of a thread block of consecutive nonzeros, which lie in shared memory, become sums of rows. The split kernel and that of 16-bit columns (hisparse) share it.
*/
#include "spmvdevice.cuh"

/* Sum of terms[begin], terms[begin + STRIDE], ... before end. */
template <int STRIDE>
__device__ __forceinline__ PetscScalar SpMVSplitSum(const PetscScalar *terms, int begin, int end)
{
  PetscScalar sum(0.0);

#pragma unroll 4
  for (int i = begin; i < end; i += STRIDE) sum += terms[i];
  return sum;
}

/* What happens to the sum of a row, or to a part of it, before it goes to the output: nothing here. */
struct SpMVSplitFinish {
  __device__ __forceinline__ PetscScalar operator()(PetscScalar sum) const { return sum; }
};

/* Sums rows [block.row, block.row + block.rows) by LANES lanes each. The whole warp takes rows much longer than that, one after the other. begin and end are those of this lane's first row. */
template <int THREADS, int LANES, typename Offset, typename Output, typename Value, typename Finish = SpMVSplitFinish>
__device__ __forceinline__ void SpMVSplitSumRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, int begin, int end, const PetscScalar *terms, Finish finish = Finish())
{
  constexpr int groups = THREADS / LANES, limit = LANES == SPMV_WARP ? INT_MAX : 32 + 8 * LANES;
  const int     lane = threadIdx.x % SPMV_WARP, sub = threadIdx.x % LANES;
  int           i = threadIdx.x / LANES;

  for (int first = (threadIdx.x / SPMV_WARP) * (SPMV_WARP / LANES); first < block.rows; first += groups, i += groups) {
    const bool   mine = i < block.rows, write = mine && sub == 0;
    const bool   more = i + groups < block.rows;
    int32_t      row  = block.row + i;
    Offset       next_begin(0), next_end(0);
    PetscScalar  sum(0.0);
    unsigned int todo = 0;

    typename Output::Row read{};

    if (more) {
      next_begin = a.row_offsets[row + groups];
      next_end   = a.row_offsets[row + groups + 1];
    }
    if (write) {
      if (a.rows.row_index) row = a.rows.row_index[row];
      read = a.rows.output.Load(row);
    }
    if (end - begin <= limit) sum = SpMVSplitSum<LANES>(terms, begin + sub, end);
    if (LANES < SPMV_WARP) todo = __ballot_sync(SPMV_FULL_MASK, sub == 0 && end - begin > limit);
    while (todo) {
      const int   source = __ffs(todo) - 1;
      const int   b = __shfl_sync(SPMV_FULL_MASK, begin, source), e = __shfl_sync(SPMV_FULL_MASK, end, source);
      PetscScalar s = SpMVSumLanes<SPMV_WARP>(SpMVSplitSum<SPMV_WARP>(terms, b + lane, e));

      if (lane == source) sum = s;
      todo &= todo - 1;
    }
    sum = SpMVSumLanes<LANES>(sum);
    if (write) a.rows.output.Store(row, finish(sum), read);
    begin = more ? (int)(next_begin - base) : 0;
    end   = more ? (int)(next_end - base) : 0;
  }
}

/* The thread block's parts of the long row it begins in and of the one that starts in it. */
template <int THREADS, int TILE, typename Offset, typename Output, typename Value, typename Finish = SpMVSplitFinish>
__device__ void SpMVSplitLongRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, const PetscScalar *terms, PetscScalar *scratch, Finish finish = Finish())
{
  PetscScalar sum;

  if (block.part & SPMV_PART_LEADING) {
    const PetscCount end = (PetscCount)a.row_offsets[block.row] - base;

    sum = SpMVSumBlock<THREADS>(SpMVSplitSum<THREADS>(terms, threadIdx.x, end < TILE ? (int)end : TILE), scratch);
    SpMVFinishLongRow<THREADS>(a.rows, block.part >> 2, blockIdx.x, finish(sum), scratch);
  }
  if (block.part & SPMV_PART_TRAILING) {
    const int begin = (int)((PetscCount)a.row_offsets[block.row + block.rows] - base);

    sum = SpMVSumBlock<THREADS>(SpMVSplitSum<THREADS>(terms, begin + (int)threadIdx.x, TILE), scratch);
    SpMVFinishLongRow<THREADS>(a.rows, blockIdx.x, blockIdx.x, finish(sum), scratch);
  }
}
