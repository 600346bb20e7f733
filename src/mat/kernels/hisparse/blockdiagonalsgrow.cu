/*
  New blocks join masked diagonals of blocks, when the new entries of a batch are whole blocks. Structure and old values move as with single diagonals; then the batch goes to its places, which are searched for in the
  new structure.
*/
#include "blockdiagonals.cuh"
#include "newblocks.cuh"

/*
  BlockDiagonalsGrow - adds or replaces the entries of a batch, of which some are new

  Input Parameters:
+ d      - the structure, which nobody else has
. v      - its values, which nobody else has either
. batch  - sorted distinct entries
. lookup - of BlockDiagonalsLookup(), with its numbers on the host; gets its list of new entries
. mode   - ADD_VALUES, otherwise the values replace
- stream - synchronizes with it twice

  Output Parameter:
. done - PETSC_FALSE: the new entries are no whole blocks, or as in HiSparseDiagonalsGrow(); nothing has changed

  Errors: PETSC_ERR_MEM; structure and values are as they were.

  Cost: searches for each entry of the batch, and what HiSparseDiagonalsGrow() says, of blocks. The numbers of d->all are the caller's business.
*/
PetscErrorCode BlockDiagonalsGrow(BlockDiagonals *d, HiSparseDiagonalsValues *v, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  HiSparseNewEntries fresh = {d->size, 0, NULL, NULL, NULL, batch->column_bits};
  HiSparseNewBlocks  blocks;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCallGoto(ierr, cleanup, HiSparseNewBlocksCreate(d->size, batch, lookup, stream, &blocks));
  if (blocks.n == 0) goto cleanup;
  fresh.n    = blocks.n;
  fresh.keys = blocks.keys;
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsGrowSlices(d->blocks, v, &fresh, NULL, stream, done));
  if (*done) PetscCallGoto(ierr, cleanup, HISPARSE_WITH_STORED(v, HiSparseSetBatch, FindInBlockDiagonals(d), v, batch, lookup, mode, stream));
  if (*done) PetscCallGoto(ierr, cleanup, BlockDiagonalsTransposeDestroy(d, stream));
cleanup:
  PetscCall(HiSparseNewBlocksDestroy(&blocks, stream));
  PetscFunctionReturn(ierr);
}
