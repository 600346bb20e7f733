#pragma once
/*
  Loops over the entries of masked diagonals, a thread a row or a column: neighbor threads have neighbor entries of each piece, so that accesses of values are coalesced. An entry has its place in the array of
  values, its row and its column. Entries of the overflow are not visited.
*/
#include "../common/search.cuh"
#include "storedvalues.cuh"

namespace
{

__device__ __forceinline__ bool PieceHas(const uint32_t *mask, int bit)
{
  return mask[bit / 32] >> bit % 32 & 1;
}

/* How many bits below are set. */
__device__ __forceinline__ int PieceRank(const uint32_t *mask, int bit)
{
  int rank = __popc(mask[bit / 32] & ((1u << bit % 32) - 1));

  for (int word = 0; word < bit / 32; word++) rank += __popc(mask[word]);
  return rank;
}

/* A place of 48 bits with its sign. */
__device__ __forceinline__ int64_t TransposedPlace(uint32_t low, uint32_t high)
{
  return (int64_t)((uint64_t)high << 48 | (uint64_t)low << 16) >> 16;
}

/*
  A thread block a slice of rows. op has a type Result, and:
    Result Begin()                                                     before the first entry of a row
    void   Visit(row, column, place, Result &result)                   each entry, by ascending column
    void   Store(row, const Result &result)                            after the last one; rows of the matrix only
*/
template <typename Op>
__global__ static void __launch_bounds__(HISPARSE_SLICE_ROWS) VisitRowsKernel(PetscInt num_rows, const HiSparseSlice *slices, const HiSparsePiece *pieces, Op op)
{
  const int           bit    = (int)threadIdx.x;
  const PetscCount    row    = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS + bit;
  const HiSparseSlice slice  = slices[blockIdx.x];
  typename Op::Result result = op.Begin();

  for (uint32_t p = 0; p < slice.num_pieces; p++) {
    const HiSparsePiece *piece = pieces + slice.first_piece + p;

    if (PieceHas(piece->mask, bit)) op.Visit((PetscInt)row, piece->c0 + bit, (PetscCount)slice.values + piece->values + PieceRank(piece->mask, bit), result);
  }
  if (row < num_rows) op.Store((PetscInt)row, result);
}

/* The same by columns, with the lists of A^T x: a thread block a slice of columns, entries by ascending row. */
template <typename Op>
__global__ static void __launch_bounds__(HISPARSE_SLICE_ROWS) VisitColumnsKernel(PetscInt num_columns, const uint32_t *slices, const HiSparseTransposedPiece *pieces, Op op)
{
  const int           bit    = (int)threadIdx.x;
  const PetscCount    column = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS + bit;
  typename Op::Result result = op.Begin();

  for (uint32_t p = slices[blockIdx.x]; p < slices[blockIdx.x + 1]; p++) {
    const HiSparseTransposedPiece *piece = pieces + p;
    // rows before 0 are in a slice of their own, so the quotient is rounded down
    const bool in_first = (piece->r0 + bit) >> 7 == piece->r0 >> 7;

    if (PieceHas(piece->mask, bit)) op.Visit(piece->r0 + bit, (PetscInt)column, (PetscCount)(in_first ? TransposedPlace(piece->first, piece->high & 0xffff) : TransposedPlace(piece->second, piece->high >> 16)) + PieceRank(piece->mask, bit), result);
  }
  if (column < num_columns) op.Store((PetscInt)column, result);
}
static_assert(HISPARSE_SLICE_ROWS == 1 << 7, "VisitColumnsKernel() divides by the rows of a slice");

template <typename Op>
PetscErrorCode VisitRows(const HiSparseDiagonals *A, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (A->num_slices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  VisitRowsKernel<<<(unsigned int)A->num_slices, HISPARSE_SLICE_ROWS, 0, stream>>>(A->num_rows, A->slices, A->pieces, op);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Op>
PetscErrorCode VisitColumns(const HiSparseDiagonals *A, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (A->num_column_slices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  VisitColumnsKernel<<<(unsigned int)A->num_column_slices, HISPARSE_SLICE_ROWS, 0, stream>>>(A->num_columns, A->transposed_slices, A->transposed_pieces, op);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal's piece of a slice, which is that with c0 = its first row; NULL when there is none. */
__device__ __forceinline__ const HiSparsePiece *DiagonalPiece(const HiSparseSlice &slice, const HiSparsePiece *pieces, PetscCount slice_row)
{
  const HiSparsePiece *begin = pieces + slice.first_piece;
  const uint32_t       place = PartitionPoint((uint32_t)0, slice.num_pieces, [=](uint32_t p) { return begin[p].c0 < slice_row; });

  return place < slice.num_pieces && begin[place].c0 == slice_row ? begin + place : NULL;
}

/* The overflow with its values. */
inline DCSRView OverflowView(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *values)
{
  DCSRView view = A->overflow.view;

  view.values = values->overflow_values;
  return view;
}

} // namespace
