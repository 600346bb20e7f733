/*
  Batches of entries and masked diagonals: where the entries are, and values of those that are there.
*/
#include "diagonalsfind.cuh"
#include "../insert/lookup.cuh"
#include "../common/foreach.cuh"

namespace
{

/* An entry that is there gets its value. */
template <typename Stored, bool Add>
struct SetFound {
  const PetscCount  *where;
  const PetscScalar *from;
  Stored            *values;
  PetscScalar       *outside_values;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount k = where[t];

    if (k >= OUTSIDE) outside_values[k - OUTSIDE] = Add ? outside_values[k - OUTSIDE] + from[t] : from[t];
    else if (k >= 0) values[k] = ToStored<Stored>(Add ? FromStored(values[k]) + from[t] : from[t]);
  }
};

template <typename Stored>
PetscErrorCode SetStored(HiSparseDiagonalsValues *v, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  Stored *values = (Stored *)v->values;

  PetscFunctionBegin;
  if (mode == ADD_VALUES) PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<Stored, true>{lookup->where, batch->values, values, v->overflow_values}, stream));
  else PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<Stored, false>{lookup->where, batch->values, values, v->overflow_values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsLookup - finds out which entries of a batch are in the matrix, and where

  Input Parameters:
+ structure - a HiSparseDiagonals
. batch     - sorted distinct entries, at least one
- stream    - asynchronous on it

  Output Parameter:
. lookup - zero after an error, to be freed with DCSRLookupDestroy()

  Errors: PETSC_ERR_MEM.

  Cost: a bisection among the pieces of a slice an entry, and for those in no piece one among the rows outside of pieces and one in the row.
*/
PetscErrorCode HiSparseDiagonalsLookup(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  PetscCall(LookupCreate(FindInDiagonals(d), batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsSetFound - the values of the entries that were there

  Input Parameters:
+ structure - not looked at
. values    - a HiSparseDiagonalsValues
. batch     - the batch
. lookup    - of HiSparseDiagonalsLookup()
. mode      - ADD_VALUES, otherwise the values replace
- stream    - asynchronous on it
*/
PetscErrorCode HiSparseDiagonalsSetFound(PETSC_UNUSED void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HISPARSE_WITH_STORED(v, SetStored, v, batch, lookup, mode, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
