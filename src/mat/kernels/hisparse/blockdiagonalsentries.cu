/* The diagonal of masked diagonals of blocks. */
#include "blockdiagonals.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"

namespace
{

struct CopyDiagonal {
  int                    size;
  const HiSparseSlice   *slices;
  const HiSparseSegment *segments;
  const PetscScalar     *values;
  PetscScalar            alpha;
  PetscScalar           *diagonal;

  __device__ void operator()(PetscInt i) const
  {
    const BlockPosition position = FindBlock(slices, segments, i / size, i / size, size);

    diagonal[i] = position.first < 0 ? PetscScalar(0) : alpha * values[position.first + (PetscCount)(i % size * (size + 1)) * position.stride];
  }
};

} // namespace

/* BlockDiagonalsGetDiagonal - alpha times the diagonal, [min(rows, columns)] on the device; 0 where a row has no such entry */
PetscErrorCode BlockDiagonalsGetDiagonal(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(d->num_rows, d->num_columns) * d->size, CopyDiagonal{d->size, d->slices, d->segments, (const PetscScalar *)v->values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(DCSRForEachKernel<PetscInt, CopyDiagonal>);
