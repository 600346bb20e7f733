/* The diagonal of masked diagonals. */
#include "diagonals.cuh"
#include "../common/preload.cuh"
#include "../common/search.cuh"

namespace
{

#define ENTRIES_THREADS 256

/* The diagonal's segment of a slice, which is that with c0 = its first row; NULL when there is none. */
__device__ __forceinline__ const HiSparseSegment *DiagonalSegment(const HiSparseSlice &slice, const HiSparseSegment *segments, PetscCount slice_row)
{
  const HiSparseSegment *begin    = segments + slice.first_segment;
  const uint32_t         position = PartitionPoint((uint32_t)0, slice.num_segments, [=](uint32_t p) { return begin[p].c0 < slice_row; });

  return position < slice.num_segments && begin[position].c0 == slice_row ? begin + position : NULL;
}

/* A thread block a slice; rows [0, n). 0 where the segments have no entry. */
__global__ void __launch_bounds__(HISPARSE_SLICE_ROWS)
  SegmentsDiagonalKernel(PetscInt n, const HiSparseSlice *slices, const HiSparseSegment *segments, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal)
{
  const int              bit       = (int)threadIdx.x;
  const PetscCount       slice_row = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS, row = slice_row + bit;
  const HiSparseSlice    slice   = slices[blockIdx.x];
  const HiSparseSegment *segment = DiagonalSegment(slice, segments, slice_row);

  if (row < n) diagonal[row] = segment != NULL && SegmentHas(segment->mask, bit) ? alpha * values[slice.values + segment->values + SegmentRank(segment->mask, bit)] : PetscScalar(0);
}

/* A thread a row of the remainder, where that has the entry. */
template <typename Offset>
__global__ void __launch_bounds__(ENTRIES_THREADS)
  RemainderDiagonalKernel(PetscInt n, PetscInt num_rows, const int32_t *rows, const Offset *row_offsets, const int32_t *columns, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal)
{
  const PetscCount k = (PetscCount)blockIdx.x * ENTRIES_THREADS + threadIdx.x;
  int32_t          row;
  Offset           end, position;

  if (k >= num_rows || rows[k] >= n) return;
  row      = rows[k];
  end      = row_offsets[k + 1];
  position = LowerBound(columns, row_offsets[k], end, row);
  if (position < end && columns[position] == row) diagonal[row] = alpha * values[position];
}

template <typename Offset>
PetscErrorCode GetRemainderDiagonal(const HiSparseRemainder *o, PetscInt n, const PetscScalar *values, PetscScalar alpha, PetscScalar *diagonal, cudaStream_t stream)
{
  PetscFunctionBegin;
  RemainderDiagonalKernel<<<DCSRNumBlocks(o->view.num_rows, ENTRIES_THREADS), ENTRIES_THREADS, 0, stream>>>(n, o->view.num_rows, o->rows, (const Offset *)o->view.row_offsets, o->view.columns, values,
                                                                                                            alpha, diagonal);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* HiSparseDiagonalsGetDiagonal - the diagonal entries times alpha, 0 where a row has none: a bisection among the segments of a slice, and one in each row of the remainder */
PetscErrorCode HiSparseDiagonalsGetDiagonal(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;
  const HiSparseRemainder *o = &d->remainder;
  const PetscInt           n = PetscMin(d->num_rows, d->num_columns);

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  SegmentsDiagonalKernel<<<DCSRNumBlocks(n, HISPARSE_SLICE_ROWS), HISPARSE_SLICE_ROWS, 0, stream>>>(n, d->slices, d->segments, (const PetscScalar *)v->values, alpha, diagonal);
  PetscCallCUDA(cudaGetLastError());
  // what the remainder has of a row comes after the segments
  if (o->view.num_rows > 0) PetscCall((o->view.wide ? GetRemainderDiagonal<int64_t> : GetRemainderDiagonal<int32_t>)(o, n, v->remainder_values, alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(SegmentsDiagonalKernel);
