/*
  Dense blocks: the largest absolute value of each row.
*/
#include "blocksloop.cuh"
#include "storedlargest.cuh"

namespace
{

template <typename Stored>
PetscErrorCode FindLargest(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksVisitRows(blocks, LargestStored<Stored>{(const Stored *)v->values, alpha, largest, indices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlocksRowMaxAbs - alpha times the largest absolute value of each row, and where it is

  Input Parameters:
+ blocks - the structure
. v      - its values
. alpha  - the factor, above 0
- stream - asynchronous on it

  Output Parameters:
+ largest - [num_rows] device, 0 for a row without entries or with zeros alone
- indices - [num_rows] device or NULL: the smallest column that attains it, 0 for such a row

  Cost: one read of the matrix.
*/
PetscErrorCode BlocksRowMaxAbs(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, FindLargest, blocks, v, alpha, largest, indices, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
