/*
  Masked diagonals of blocks: the largest absolute value of each row.
*/
#include "../common/largest.cuh"
#include "blockdiagonals.cuh"

namespace
{

template <typename Stored>
struct LargestInBlocks {
  struct Result {
    LargestEntry entries[BLOCK_DIAGONALS_MAX_SIZE];
  };
  int           size;
  const Stored *values;
  PetscReal     alpha;
  PetscScalar  *largest;
  PetscInt     *indices;

  __device__ Result Begin() const
  {
    Result r;

    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++) r.entries[a] = LargestEntry::None();
    return r;
  }
  __device__ void Visit(PetscCount, PetscCount column, BlockPlace place, Result &r) const
  {
    // all entries of r have a number that is known, so that they stay in registers
#pragma unroll
    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++)
      for (int c = 0; a < size && c < size; c++) r.entries[a] = LargestEntry::Larger(r.entries[a], LargestEntry::Of(FromStored(values[place.first + (PetscCount)(a * size + c) * place.stride]), (int32_t)(column * size + c)));
  }
  __device__ void Store(PetscCount row, const Result &r) const
  {
#pragma unroll
    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++)
      if (a < size) r.entries[a].Store(row * size + a, alpha, largest, indices);
  }
};

template <typename Stored>
PetscErrorCode FindLargest(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, LargestInBlocks<Stored>{d->size, (const Stored *)v->values, alpha, largest, indices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* BlockDiagonalsRowMaxAbs - alpha times the largest absolute value of each row, and where it is: as HiSparseDiagonalsRowMaxAbs() */
PetscErrorCode BlockDiagonalsRowMaxAbs(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, FindLargest, d, v, alpha, largest, indices, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
