/* The diagonal of blocks: the position of an entry follows from the number of its block, which is searched for among the columns of its row of blocks. */
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include "../common/search.cuh"
#include "blocksimpl.h"

namespace
{

struct CopyDiagonal {
  const int32_t     *offsets, *columns;
  int                size;
  const PetscScalar *values;
  PetscScalar        alpha;
  PetscScalar       *to;

  __device__ void operator()(PetscInt i) const
  {
    const PetscInt block_row = i / size, k = i % size;
    const int32_t  end = offsets[block_row + 1], block = LowerBound(columns, offsets[block_row], end, (int32_t)block_row);

    to[i] = block == end || columns[block] != block_row ? PetscScalar(0) : values[((PetscCount)block * size + k) * size + k] * alpha;
  }
};

} // namespace

/* BlocksGetDiagonal - alpha times the diagonal, [min(num_rows, num_columns)] on the device; 0 where a row has no such entry */
PetscErrorCode BlocksGetDiagonal(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const Blocks *blocks = (const Blocks *)structure;

  PetscFunctionBegin;
  PetscCallCUDA(
    DCSRForEach(PetscMin(blocks->num_rows, blocks->num_columns), CopyDiagonal{blocks->list.offsets, blocks->list.columns, blocks->size, (const PetscScalar *)v->values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(DCSRForEachKernel<PetscInt, CopyDiagonal>);
