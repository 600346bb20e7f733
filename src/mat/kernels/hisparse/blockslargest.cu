/*
  Dense blocks: the largest absolute value of each row.
*/
#include "../common/largest.cuh"
#include "blocksloop.cuh"

namespace
{

template <typename Stored>
struct LargestInBlocks {
  using Result = LargestEntry;
  const Stored *values;
  PetscReal     alpha;
  PetscScalar  *largest;
  PetscInt     *indices;

  __device__ Result Begin() const { return LargestEntry::None(); }
  __device__ void   Visit(PetscInt, PetscInt column, PetscCount place, Result &r) const { r = LargestEntry::Larger(r, LargestEntry::Of(FromStored(values[place]), (int32_t)column)); }
  __device__ Result Combine(Result a, Result b) const { return LargestEntry::Larger(a, b); }
  __device__ void   Store(PetscInt row, const Result &r) const { r.Store(row, alpha, largest, indices); }
};

template <typename Stored>
PetscErrorCode FindLargest(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksVisitRows(blocks, LargestInBlocks<Stored>{(const Stored *)v->values, alpha, largest, indices}, stream));
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
