/*
  The value blocks of MatSetValues() as they were staged become one key and one value an entry.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/insert.h>

namespace
{

constexpr uint64_t NO_KEY = ~(uint64_t)0; // of an entry that does not count

__device__ uint64_t KeyOf(const DCSRStageFormat &format, PetscInt row, PetscInt column, PetscScalar v)
{
  if (row < 0 || column < 0 ||
      (format.ignore_zeros && v == PetscScalar(0.0) && (format.diagonal == DCSR_NO_DIAGONAL || (int64_t)(column - format.column_begin) - (int64_t)(row - format.row_begin) != format.diagonal)))
    return NO_KEY;
  return (uint64_t)(row - format.row_begin) << format.column_bits | (uint64_t)(column - format.column_begin);
}

struct ExpandBlock {
  DCSRStageFormat       format;
  const DCSRValueBlock *blocks;
  PetscCount            num_blocks;
  const PetscScalar    *words;
  uint64_t             *keys;
  PetscScalar          *values;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount     begin = LastWhere((PetscCount)0, num_blocks, [&](PetscCount k) { return blocks[num_blocks - 1 - k].first_value <= t; });
    const DCSRValueBlock block = blocks[num_blocks - 1 - begin];
    const int32_t        m = block.num_rows < 0 ? -block.num_rows : block.num_rows, n = block.num_columns, k = (int32_t)(t - block.first_value);
    const int32_t        i = block.num_rows < 0 ? k % m : k / n, j = block.num_rows < 0 ? k / m : k % n;
    const PetscInt      *indices = (const PetscInt *)(words + block.word);
    const PetscCount     skip    = (PetscCount)(((size_t)(m + n) * sizeof(PetscInt) + sizeof(PetscScalar) - 1) / sizeof(PetscScalar));
    const PetscScalar    v       = words[block.word + skip + k];

    keys[t]   = KeyOf(format, indices[i], indices[m + j], v);
    values[t] = v;
  }
};

} // namespace

/*
  DCSRExpandValueBlocks - keys [n] and values [n] of value blocks as they were staged, n values in all of them. Asynchronous
  All arrays are on the device. blocks [num_blocks], at least one, the last one first. words: indices and values of the value blocks. All bits of a key are set where an entry does not count.
*/
PetscErrorCode DCSRExpandValueBlocks(const DCSRStageFormat *format, const DCSRValueBlock blocks[], PetscCount num_blocks, PetscCount n, const PetscScalar words[], uint64_t keys[],
                                     PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, ExpandBlock{*format, blocks, num_blocks, words, keys, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
