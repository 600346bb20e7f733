#pragma once
/*
  The values of a batch whose new entries are whole blocks (newblocks.cu), when these are in the structure.
*/
#include "../common/foreach.cuh"
#include "hisparseimpl.h"
#include "storedvalues.cuh"

namespace
{

/* Entries of the batch to their places; all of them are there, but for those that are not to be. What new ones find there is never read. */
template <typename Stored, typename Find>
struct SetEntries {
  const PetscCount  *where; // of the lookup, before the new blocks joined
  const uint64_t    *keys;
  int                column_bits;
  const PetscScalar *from;
  Find               find; // find(row, column): the place of a value
  Stored            *values;
  bool               add;

  __device__ void operator()(PetscCount t) const
  {
    if (where[t] == DCSR_NOWHERE) return;
    Stored *value = values + find((PetscInt)(keys[t] >> column_bits), (int32_t)(keys[t] & ((1ull << column_bits) - 1)));

    *value = ToStored<Stored>(add && where[t] >= 0 ? FromStored(*value) + from[t] : from[t]);
  }
};

/* Asynchronous on stream. */
template <typename Stored, typename Find>
PetscErrorCode HiSparseSetBatch(Find find, HiSparseDiagonalsValues *v, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(batch->num_entries, SetEntries<Stored, Find>{lookup->where, batch->keys, batch->column_bits, batch->values, find, (Stored *)v->values, mode == ADD_VALUES}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
