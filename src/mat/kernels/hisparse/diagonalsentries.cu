/* The diagonal of masked diagonals. */
#include "diagonals.cuh"
#include "../common/preload.cuh"
#include "../common/search.cuh"

namespace
{

#define ENTRIES_THREADS 256

/* The diagonal's piece of a slice, which is that with c0 = its first row; NULL when there is none. */
__device__ __forceinline__ const HiSparsePiece *DiagonalPiece(const HiSparseSlice &slice, const HiSparsePiece *pieces, PetscCount slice_row)
{
  const HiSparsePiece *begin = pieces + slice.first_piece;
  const uint32_t       place = PartitionPoint((uint32_t)0, slice.num_pieces, [=](uint32_t p) { return begin[p].c0 < slice_row; });

  return place < slice.num_pieces && begin[place].c0 == slice_row ? begin + place : NULL;
}

/* A thread block a slice; rows [0, n). 0 where the pieces have no entry. */
__global__ void __launch_bounds__(HISPARSE_SLICE_ROWS) PiecesDiagonalKernel(PetscInt n, const HiSparseSlice *slices, const HiSparsePiece *pieces, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal)
{
  const int            bit       = (int)threadIdx.x;
  const PetscCount     slice_row = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS, row = slice_row + bit;
  const HiSparseSlice  slice = slices[blockIdx.x];
  const HiSparsePiece *piece = DiagonalPiece(slice, pieces, slice_row);

  if (row < n) diagonal[row] = piece != NULL && PieceHas(piece->mask, bit) ? alpha * values[slice.values + piece->values + PieceRank(piece->mask, bit)] : PetscScalar(0);
}

/* A thread a row of the overflow, where that has the entry. */
template <typename Offset>
__global__ void __launch_bounds__(ENTRIES_THREADS) OverflowDiagonalKernel(PetscInt n, PetscInt num_rows, const int32_t *rows, const Offset *row_offsets, const int32_t *columns, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal)
{
  const PetscCount k = (PetscCount)blockIdx.x * ENTRIES_THREADS + threadIdx.x;
  int32_t          row;
  Offset           end, place;

  if (k >= num_rows || rows[k] >= n) return;
  row   = rows[k];
  end   = row_offsets[k + 1];
  place = LowerBound(columns, row_offsets[k], end, row);
  if (place < end && columns[place] == row) diagonal[row] = alpha * values[place];
}

template <typename Offset>
PetscErrorCode GetOverflowDiagonal(const HiSparseOverflow *o, PetscInt n, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal, cudaStream_t stream)
{
  PetscFunctionBegin;
  OverflowDiagonalKernel<<<DCSRNumBlocks(o->view.num_rows, ENTRIES_THREADS), ENTRIES_THREADS, 0, stream>>>(n, o->view.num_rows, o->rows, (const Offset *)o->view.row_offsets, o->view.columns, values, alpha, diagonal);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* HiSparseDiagonalsGetDiagonal - the diagonal entries times alpha, 0 where a row has none: a bisection among the pieces of a slice, and one in each row of the overflow */
PetscErrorCode HiSparseDiagonalsGetDiagonal(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;
  const HiSparseOverflow  *o = &d->overflow;
  const PetscInt           n = PetscMin(d->num_rows, d->num_columns);

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PiecesDiagonalKernel<<<DCSRNumBlocks(n, HISPARSE_SLICE_ROWS), HISPARSE_SLICE_ROWS, 0, stream>>>(n, d->slices, d->pieces, (const PetscScalar *)v->values, alpha, diagonal);
  PetscCallCUDA(cudaGetLastError());
  // what the overflow has of a row comes after the pieces
  if (o->view.num_rows > 0) PetscCall((o->view.wide ? GetOverflowDiagonal<int64_t> : GetOverflowDiagonal<int32_t>)(o, n, v->overflow_values, alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(PiecesDiagonalKernel);
