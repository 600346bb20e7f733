/*
  Batches of entries and dense blocks: where the entries are.
*/
#include "blocksfind.cuh"
#include "../insert/lookup.cuh"

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
  PetscCall(LookupCreate(FindInBlocks(blocks), batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}
