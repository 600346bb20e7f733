#pragma once
/*
  Row offsets of ascending keys: the last key of each row writes where the row ends, and a running maximum fills the rows between.
*/
#include "../common/foreach.cuh"
#include "../common/scan.h"
#include <petscsparsecuda/insert.h>

namespace
{

/* Key t of num: keys[t], or keys[runs[t]] where entries repeat. */
template <typename Index>
struct DistinctKeys {
  const uint64_t     *keys;
  const Index        *runs;
  __device__ uint64_t operator[](PetscCount t) const { return keys[runs ? (PetscCount)runs[t] : t]; }
};

template <typename Offset, typename Index>
struct WriteRowEnds {
  DistinctKeys<Index> keys;
  PetscCount          num;
  int                 column_bits;
  Offset             *row_offsets;
  int32_t            *columns; // NULL: offsets alone

  __device__ void operator()(PetscCount t) const
  {
    const uint64_t key = keys[t], row = key >> column_bits;

    if (columns) columns[t] = (int32_t)(key & (((uint64_t)1 << column_bits) - 1));
    if (t + 1 == num || (keys[t + 1] >> column_bits) != row) row_offsets[row + 1] = (Offset)(t + 1);
  }
};

/* row_offsets [num_rows + 1] of num ascending keys, and their columns [num] unless NULL. */
template <typename Offset, typename Index>
PetscErrorCode RowsOfKeys(PetscInt num_rows, DistinctKeys<Index> keys, PetscCount num, int column_bits, Offset *row_offsets, int32_t *columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(row_offsets, 0, ((size_t)num_rows + 1) * sizeof(*row_offsets), stream));
  if (num == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(num, WriteRowEnds<Offset, Index>{keys, num, column_bits, row_offsets, columns}, stream));
  PetscCall(DCSRInclusiveMax("workspace to fill row offsets", row_offsets, (int64_t)num_rows + 1, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
