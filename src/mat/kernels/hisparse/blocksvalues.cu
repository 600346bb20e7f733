/*
  Values and structure of blocks from CSR and back. The b rows of a row of blocks have their entries in the same range of both arrays, in CSR row by row, in blocks block by block.
*/
#include "../common/offsets.cuh"
#include "blocksimpl.h"
#include <petscsparsecuda/common.h>

namespace
{

#define VALUES_THREADS 256
#define VALUES_WARPS   (VALUES_THREADS / 32)
#define VALUES_MANY    (1 << 20) /* blocks of a row from which on 32 bits might not number its entries */

/* The position in CSR of entry e of the blocks of a row, counted from the row's first; n blocks. */
template <int Size, typename Index>
__device__ __forceinline__ Index PositionInCSR(Index e, Index n)
{
  const Index block = e / (Size * Size), position = e - block * (Size * Size);

  return (position / Size) * (n * Size) + block * Size + position % Size;
}

/* The position in the blocks of a row of entry e of CSR, counted from the row's first; the inverse. */
template <int Size, typename Index>
__device__ __forceinline__ Index PositionInBlocks(Index e, Index n)
{
  const Index r = e / (n * Size), t = e - r * (n * Size), block = t / Size;

  return block * (Size * Size) + r * Size + (t - block * Size);
}

/* A row of blocks of a warp; writes are contiguous. */
template <int Size, bool ToCSR, typename Index>
__device__ __forceinline__ void CopyRow(Index n, int lane, PetscScalar alpha, const PetscScalar *from, PetscScalar *to)
{
#pragma unroll 4
  for (Index e = lane; e < n * (Size * Size); e += 32) {
    const PetscScalar v = from[ToCSR ? PositionInBlocks<Size>(e, n) : PositionInCSR<Size>(e, n)];

    to[e] = ToCSR ? v * alpha : v;
  }
}

/* ToCSR: to[] is CSR. Divisions of 64 bits take several times as long, and only a row of very many blocks needs them. */
template <int Size, bool ToCSR>
__global__ void __launch_bounds__(VALUES_THREADS) ValuesKernel(PetscInt num_rows, const int32_t *offsets, PetscScalar alpha, const PetscScalar *from, PetscScalar *to)
{
  const int lane = threadIdx.x % 32;

  for (int64_t row = (int64_t)blockIdx.x * VALUES_WARPS + threadIdx.x / 32; row < num_rows; row += (int64_t)gridDim.x * VALUES_WARPS) {
    const int64_t first = (int64_t)offsets[row] * (Size * Size), n = offsets[row + 1] - offsets[row];

    if (n < VALUES_MANY) CopyRow<Size, ToCSR>((uint32_t)n, lane, alpha, from + first, to + first);
    else CopyRow<Size, ToCSR>((uint64_t)n, lane, alpha, from + first, to + first);
  }
}

/* Offsets and columns of the rows of CSR. */
template <int Size>
__global__ void __launch_bounds__(VALUES_THREADS) StructureKernel(PetscInt num_rows, const int32_t *offsets, const int32_t *columns, Offsets row_offsets, int32_t *to)
{
  const int lane = threadIdx.x % 32;

  for (int64_t row = (int64_t)blockIdx.x * VALUES_WARPS + threadIdx.x / 32; row < num_rows; row += (int64_t)gridDim.x * VALUES_WARPS) {
    const int64_t  begin = offsets[row], first = begin * (Size * Size), n = offsets[row + 1] - begin;
    const uint32_t width = (uint32_t)n * Size; // less than 2^31, as columns

    if (lane < Size) row_offsets.Set(row * Size + lane, first + lane * n * Size);
    if (row + 1 == num_rows && lane == Size) row_offsets.Set(num_rows * (int64_t)Size, first + n * (Size * Size));
#pragma unroll 4
    for (uint32_t e = lane; e < width; e += 32) {
      const uint32_t block  = e / Size;
      const int32_t  column = columns[begin + block] * Size + (int32_t)(e - block * Size);

#pragma unroll
      for (int r = 0; r < Size; r++) to[first + (int64_t)r * width + e] = column;
    }
  }
}

template <bool ToCSR>
PetscErrorCode Copy(const Blocks *blocks, PetscScalar alpha, const PetscScalar from[], PetscScalar to[], cudaStream_t stream)
{
  const PetscInt n       = blocks->list.num_rows;
  const int32_t *offsets = blocks->list.offsets;
  unsigned int   grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)n + VALUES_WARPS - 1) / VALUES_WARPS, DCSR_LOOP_BLOCKS, &grid));
  switch (blocks->size) {
  case 2:
    ValuesKernel<2, ToCSR><<<grid, VALUES_THREADS, 0, stream>>>(n, offsets, alpha, from, to);
    break;
  case 3:
    ValuesKernel<3, ToCSR><<<grid, VALUES_THREADS, 0, stream>>>(n, offsets, alpha, from, to);
    break;
  case 4:
    ValuesKernel<4, ToCSR><<<grid, VALUES_THREADS, 0, stream>>>(n, offsets, alpha, from, to);
    break;
  default:
    ValuesKernel<6, ToCSR><<<grid, VALUES_THREADS, 0, stream>>>(n, offsets, alpha, from, to);
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* BlocksSetValues - values in the order of CSR become those of blocks: a read and a write */
PetscErrorCode BlocksSetValues(const void *structure, HiSparseValues *v, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Copy<false>((const Blocks *)structure, 1.0, csr.values, (PetscScalar *)v->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksGetStructure - row offsets and columns of CSR, which has room for them, with offsets of either width: a read of the list, a write of the columns */
PetscErrorCode BlocksGetStructure(const Blocks *blocks, DCSRView csr, cudaStream_t stream)
{
  const BlocksList *list = &blocks->list;
  unsigned int      grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)list->num_rows + VALUES_WARPS - 1) / VALUES_WARPS, DCSR_LOOP_BLOCKS, &grid));
  switch (blocks->size) {
  case 2:
    StructureKernel<2><<<grid, VALUES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, Offsets(csr), csr.columns);
    break;
  case 3:
    StructureKernel<3><<<grid, VALUES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, Offsets(csr), csr.columns);
    break;
  case 4:
    StructureKernel<4><<<grid, VALUES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, Offsets(csr), csr.columns);
    break;
  default:
    StructureKernel<6><<<grid, VALUES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, Offsets(csr), csr.columns);
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksGetCSR - compact CSR, whose arrays are allocated; of it what is wanted */
PetscErrorCode BlocksGetCSR(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  const Blocks *blocks = (const Blocks *)structure;

  PetscFunctionBegin;
  if (with_structure) PetscCall(BlocksGetStructure(blocks, csr, stream));
  if (with_values) PetscCall(Copy<true>(blocks, alpha, (const PetscScalar *)v->values, csr.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
