#pragma once
/*
  Values between masked diagonals of blocks and what has the order of CSR.

  A thread block takes a 32-row group of a slice, rows of blocks, and traverses the segments, a chunk of them at a time. The entries that a row of the matrix has in a chunk lie behind each other in
  CSR: its next ones, since segments ascend by column. They are one access of a group of lanes. In the values of the storage neighboring lanes have neighboring rows of blocks. Between the two orders
  is a tile in shared memory. So every access of global memory is one of consecutive values: a thread a row of blocks takes 2.1 ms where this has to move 0.98 GB twice.
*/
#include "blockdiagonals.cuh"
#include "../common/offsets.cuh"

namespace
{

constexpr int COPY_THREADS = 256, COPY_WARPS = COPY_THREADS / HISPARSE_WARP;

template <int Size>
struct CopyShape {
  static constexpr int chunk  = HISPARSE_WARP / Size / (sizeof(PetscScalar) > 8 ? 2 : 1); // segments
  static constexpr int run    = chunk * Size;                                             // entries that a row of the matrix has in a chunk at most
  static constexpr int lanes  = run > HISPARSE_WARP / 2 ? HISPARSE_WARP : HISPARSE_WARP / 2;
  static constexpr int groups = COPY_THREADS / lanes;
  static constexpr int pitch  = Size * run | 1; // of a row of blocks in the tile; odd, so that 32 of them are in different banks
  static constexpr int tile   = HISPARSE_WARP * pitch;
  static constexpr int batch  = Size == 2 || Size == 4 ? 4 : 6; // accesses of CSR under way; divides those that a group has
  static_assert(HISPARSE_WARP * Size % (groups * batch) == 0, "Groups have whole batches");
};

/* What a thread block knows of its rows of blocks and of a chunk. */
template <int Size>
struct CopyGroup {
  uint32_t   masks[CopyShape<Size>::chunk];     // of the segments; 0 behind the last
  PetscCount positions[CopyShape<Size>::chunk]; // of their values in the group
  PetscCount next[HISPARSE_WARP];               // first entry of a row of blocks in CSR that is of the chunk
  PetscCount length[HISPARSE_WARP];             // entries of each of its rows of the matrix
  uint32_t   segments[HISPARSE_WARP];           // a bit for each segment of the chunk that the row of blocks is in
};

/* Loads segments p and on; all threads call this. */
template <int Size>
__device__ __forceinline__ void CopyLoadChunk(CopyGroup<Size> *group, const HiSparseSlice &slice, const HiSparseSegment *segments, uint32_t p, int w)
{
  constexpr int chunk = CopyShape<Size>::chunk;
  const int     t     = (int)threadIdx.x;

  if (t < chunk) {
    const bool             has     = p + t < slice.num_segments;
    const HiSparseSegment *segment = segments + slice.first_segment + p + t;

    group->masks[t]     = has ? segment->mask[w] : 0;
    group->positions[t] = has ? ((PetscCount)slice.values + segment->values + BitsBefore(segment->mask, w)) * (Size * Size) : 0;
  }
  __syncthreads();
  if (t < HISPARSE_WARP) {
    uint32_t mine = 0;

    if (p > 0) group->next[t] += (PetscCount)__popc(group->segments[t]) * Size;
#pragma unroll
    for (int c = 0; c < chunk; c++) mine |= (group->masks[c] >> t & 1u) << c;
    group->segments[t] = mine;
  }
  __syncthreads();
}

/* The entries of the chunk between CSR and the tile: a group of lanes takes what a row of the matrix has. */
template <int Size, typename Order>
__device__ __forceinline__ void CopyRuns(const CopyGroup<Size> *group, PetscScalar *tile, const Order &order)
{
  using Shape    = CopyShape<Size>;
  const int lane = (int)threadIdx.x % Shape::lanes;

#pragma unroll 1
  for (int first = (int)threadIdx.x / Shape::lanes; first < HISPARSE_WARP * Size; first += Shape::groups * Shape::batch) {
    PetscScalar part[Shape::batch];

#pragma unroll
    for (int i = 0; i < Shape::batch; i++) {
      const int        r = first + i * Shape::groups, row = r / Size, a = r % Size;
      const bool       has   = lane < __popc(group->segments[row]) * Size;
      const PetscCount entry = group->next[row] + a * group->length[row] + lane;

      if constexpr (!Order::to_order) part[i] = order.Load(has, entry);
      else if (has) order.Store(entry, tile[row * Shape::pitch + a * Shape::run + lane]);
    }
    if constexpr (!Order::to_order) {
#pragma unroll
      for (int i = 0; i < Shape::batch; i++) {
        const int r = first + i * Shape::groups, row = r / Size, a = r % Size;

        if (lane < Shape::run) tile[row * Shape::pitch + a * Shape::run + lane] = part[i];
      }
    }
  }
}

/* The entries of the chunk between the tile and the storage: a warp has a row of the blocks of a group, a lane its row of blocks. */
template <int Size, typename Order>
__device__ __forceinline__ void CopyPlanes(const CopyGroup<Size> *group, PetscScalar *tile, PetscScalar *values)
{
  using Shape         = CopyShape<Size>;
  const int      lane = (int)threadIdx.x % HISPARSE_WARP;
  const uint32_t mine = group->segments[lane];

#pragma unroll 1
  for (int i = (int)threadIdx.x / HISPARSE_WARP; i < Shape::chunk * Size; i += COPY_WARPS) {
    const int      c = i / Size, a = i % Size;
    const uint32_t mask = group->masks[c];
    const int      n    = __popc(mask);

    if (!(mask >> lane & 1)) continue;
    PetscScalar *stored = values + group->positions[c] + (PetscCount)(a * Size * n + __popc(mask & LowerLanes(lane)));
    PetscScalar *staged = tile + lane * Shape::pitch + a * Shape::run + __popc(mine & ((1u << c) - 1u)) * Size;

    if (Order::to_order) {
      PetscScalar part[Size];

#pragma unroll
      for (int k = 0; k < Size; k++) part[k] = stored[k * n];
#pragma unroll
      for (int k = 0; k < Size; k++) staged[k] = part[k];
    } else {
#pragma unroll
      for (int k = 0; k < Size; k++) stored[k * n] = staged[k];
    }
  }
}

/*
  A thread block a group. Order is what has the order of CSR:
    static constexpr bool to_order                       values go there; otherwise they come from there
    Offsets     row_offsets                              of CSR
    PetscScalar Load(bool has, PetscCount e)             value of an entry, when has is true; all lanes call it; only where values come from there
    void        Store(PetscCount e, PetscScalar value)   only where they go there
*/
template <int Size, typename Order>
__global__ static void __launch_bounds__(COPY_THREADS) CopyBlocksKernel(PetscInt num_rows, const HiSparseSlice *slices, const HiSparseSegment *segments, PetscScalar *values, const Order order)
{
  __shared__ uint4 memory[(CopyShape<Size>::tile * sizeof(PetscScalar) + sizeof(uint4) - 1) / sizeof(uint4)];
  __shared__ CopyGroup<Size> group;
  PetscScalar *const         tile = (PetscScalar *)memory;
  const int                  w = (int)(blockIdx.x % HISPARSE_SLICE_WORDS), t = (int)threadIdx.x;
  const PetscCount           first = (PetscCount)(blockIdx.x / HISPARSE_SLICE_WORDS) * HISPARSE_SLICE_ROWS + w * HISPARSE_WARP;
  const HiSparseSlice        slice = slices[blockIdx.x / HISPARSE_SLICE_WORDS];

  if (first >= num_rows) return;
  if (t < HISPARSE_WARP) {
    const bool has = first + t < num_rows;

    group.next[t]   = has ? order.row_offsets((first + t) * Size) : 0;
    group.length[t] = has ? order.row_offsets((first + t) * Size + 1) - group.next[t] : 0;
  }
  for (uint32_t p = 0; p < slice.num_segments; p += CopyShape<Size>::chunk) {
    CopyLoadChunk(&group, slice, segments, p, w);
    if (Order::to_order) CopyPlanes<Size, Order>(&group, tile, values);
    else CopyRuns(&group, tile, order);
    __syncthreads();
    if (Order::to_order) CopyRuns(&group, tile, order);
    else CopyPlanes<Size, Order>(&group, tile, values);
    __syncthreads();
  }
}

template <int Size, typename Order>
PetscErrorCode CopyBlocksOfSize(const HiSparseDiagonals *d, PetscScalar *values, const Order &order, cudaStream_t stream)
{
  PetscFunctionBegin;
  CopyBlocksKernel<Size><<<(unsigned int)d->num_slices * HISPARSE_SLICE_WORDS, COPY_THREADS, 0, stream>>>(d->num_rows, d->slices, d->segments, values, order);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values between the storage and what has the order of CSR. */
template <typename Order>
PetscErrorCode CopyBlocks(const HiSparseDiagonals *d, PetscScalar *values, const Order &order, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (d->num_slices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  switch (d->size) {
  case 2:
    PetscCall(CopyBlocksOfSize<2>(d, values, order, stream));
    break;
  case 3:
    PetscCall(CopyBlocksOfSize<3>(d, values, order, stream));
    break;
  case 4:
    PetscCall(CopyBlocksOfSize<4>(d, values, order, stream));
    break;
  default:
    PetscCall(CopyBlocksOfSize<6>(d, values, order, stream));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
