#pragma once
/*
  Row marks of a plan, by one pass over the row offsets: a thread block makes the marks of as many nonzeros as it has marks for threads. It looks up which rows start there, and passes over long runs
  of empty ones.

  Rows without nonzeros are not counted by marks. When there are some, nonempty_rows says which row a count stands for. Each thread block has a chunk of that array, at its first row plus its own
  number, as many entries as rows start in it and one: the first one is for the row that is open where it begins.

  A thread block that would traverse more than MARK_ROWS rows makes no marks. It says so, and marks.cuh makes them: 25 thread blocks that traverse 16 million rows with 200,000 nonzeros take
  milliseconds.
*/
#include "../common/search.cuh"
#include "device.cuh"
#include "tilebuild.cuh"

namespace
{

constexpr int        MARK_THREADS  = 256; // and marks of a thread block
constexpr PetscCount MARK_NONZEROS = 32 * MARK_THREADS;
constexpr PetscCount MARK_ROWS     = 64 * MARK_THREADS; // steps of a thread block, each about a microsecond

inline PetscCount NumMarkBlocks(PetscCount num_nonzeros)
{
  return (num_nonzeros + MARK_NONZEROS - 1) / MARK_NONZEROS;
}

/* Calls visit(row, begin, end) for rows first to last - 1, but not for all of the empty ones. All threads call it. Returns whether it met an empty row. */
template <typename Offset, typename Visit>
__device__ __forceinline__ bool VisitRows(const Offset *__restrict__ row_offsets, PetscCount first, PetscCount last, Visit visit)
{
  bool empty = false;

  for (PetscCount r = first; r < last;) {
    const PetscCount next = r + MARK_THREADS < last ? r + MARK_THREADS : last, row = r + threadIdx.x;
    const Offset     at = row_offsets[r];

    if (row_offsets[next] == at) { // all of them are empty
      empty = true;
      r     = PartitionPointByWarp(next, last, [=](PetscCount k) { return row_offsets[k + 1] == at; });
    } else {
      if (row < next) {
        const Offset begin = row_offsets[row], end = row_offsets[row + 1];

        if (begin < end) visit(row, (PetscCount)begin);
        else empty = true;
      }
      r = next;
    }
  }
  return empty;
}

/* Marks for matrices without empty rows, and what was found of rows; or with nonempty_rows, for those that have empty ones and no far traversals. */
template <typename Offset, bool EmptyRows>
__global__ static void __launch_bounds__(MARK_THREADS) MarkKernel(const Offset *__restrict__ row_offsets, PetscCount num_rows, PetscCount num_nonzeros, SpMVTransposeMark *__restrict__ marks,
                                                                  int32_t *__restrict__ nonempty_rows, SpMVTransposeFound *found)
{
  using Scan = cub::BlockScan<uint32_t, MARK_THREADS>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ uint32_t                   bits[MARK_THREADS], counts[MARK_THREADS];
  __shared__ PetscCount                 borders[2];
  const PetscCount                      first = (PetscCount)blockIdx.x * MARK_NONZEROS, mark = (PetscCount)blockIdx.x * MARK_THREADS + threadIdx.x;
  const int                             warp = threadIdx.x / 32;
  PetscCount                            begin, end;
  uint32_t                              before;
  bool                                  empty;

  bits[threadIdx.x] = 0;
  if (warp < 2) {
    const PetscCount entry = first + warp * MARK_NONZEROS;
    const PetscCount row   = entry >= num_nonzeros ? num_rows : PartitionPointByWarp((PetscCount)0, num_rows, [=](PetscCount k) { return (PetscCount)row_offsets[k] < entry; });

    if (threadIdx.x % 32 == 0) borders[warp] = row;
  }
  __syncthreads();
  begin = borders[0];
  end   = borders[1];
  if (!EmptyRows && end - begin > MARK_ROWS) {
    if (threadIdx.x == 0) atomicMax(&found->rows, (unsigned int)SPMVT_ROWS_FAR);
    return;
  }
  empty = VisitRows(row_offsets, begin, end, [=](PetscCount, PetscCount k) { atomicOr(&bits[(k - first) / 32], 1u << (k - first) % 32); });
  __syncthreads();
  Scan(scan).ExclusiveSum((uint32_t)__popc(bits[threadIdx.x]), before);
  before += (uint32_t)(EmptyRows ? begin + blockIdx.x + 1 : begin);
  if (32 * mark < num_nonzeros) marks[mark] = {bits[threadIdx.x], before};
  if constexpr (EmptyRows) {
    counts[threadIdx.x] = before;
    __syncthreads();
    if (threadIdx.x == 0 && begin > 0) nonempty_rows[begin + blockIdx.x] = (int32_t)(begin - 1);
    (void)VisitRows(row_offsets, begin, end, [=](PetscCount row, PetscCount k) {
      const int in = (int)(k - first);

      nonempty_rows[counts[in / 32] + __popc(bits[in / 32] & ((1u << in % 32) - 1u))] = (int32_t)row;
    });
  } else if (empty) atomicMax(&found->rows, (unsigned int)SPMVT_ROWS_EMPTY);
}

} // namespace
