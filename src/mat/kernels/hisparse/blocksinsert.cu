/*
  Batches of entries and dense blocks: where the entries are, and their values.
*/
#include "blocksimpl.h"
#include "storedvalues.cuh"
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../insert/lookup.cuh"

namespace
{

/* Place of the value of an entry: by bisection among the blocks of its row of blocks, and by arithmetic in the block. */
struct FindEntry {
  const int32_t *offsets, *columns;
  int            size;

  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const PetscInt block_row = row / size;
    const int32_t  end = offsets[block_row + 1], block = LowerBound(columns, offsets[block_row], end, column / size);

    if (block == end || columns[block] != column / size) return -1;
    return ((PetscCount)block * size + row % size) * size + column % size;
  }
};

template <bool Add>
struct SetFound {
  const PetscCount  *where;
  const PetscScalar *from;
  PetscScalar       *to;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount k = where[t];

    if (k >= 0) to[k] = Add ? to[k] + from[t] : from[t];
  }
};

} // namespace

/*
  BlocksLookup - finds out which entries of a batch are in the matrix, and where

  Input Parameters:
+ blocks - the structure
. batch  - sorted distinct entries, at least one
- stream - asynchronous on it

  Output Parameter:
. lookup - zero after an error, to be freed with DCSRLookupDestroy()

  Errors: PETSC_ERR_MEM.

  Cost: a bisection among the blocks of a row of blocks an entry.
*/
PetscErrorCode BlocksLookup(const Blocks *blocks, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(LookupCreate(FindEntry{blocks->list.offsets, blocks->list.columns, blocks->size}, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksSetFound - the values of the entries that were there

  Input Parameters:
+ batch  - the batch
. lookup - of BlocksLookup()
. mode   - ADD_VALUES, otherwise the values replace
- stream - asynchronous on it

  Output Parameter:
. values - of the blocks, on the device
*/
PetscErrorCode BlocksSetFound(const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (mode == ADD_VALUES) PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<true>{lookup->where, batch->values, values}, stream));
  else PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<false>{lookup->where, batch->values, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
