/*
  Entries by single values, without CSR: a sorted batch joins a matrix where its format can take it.
*/
#include "hisparseimpl.h"

/* The entries that are there get their values; the matrix has values of its own then. */
static PetscErrorCode SetFound(HiSparse h, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseChangeScaledValues(h, stream));
  PetscCall(h->ops->setfound(h->structure->data, h->values->data, batch, lookup, mode, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries join, where the format can take them; the matrix has structure and values of its own then. */
static PetscErrorCode Grow(HiSparse h, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, DCSRInsertInfo *info, PetscBool *done)
{
  PetscFunctionBegin;
  *done = (PetscBool)(h->ops->grow != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseChangeStructure(h, stream));
  PetscCall(HiSparseChangeScaledValues(h, stream));
  PetscCall(h->ops->grow(h->structure->data, h->values->data, batch, lookup, mode, stream, done));
  if (*done) h->num_nonzeros += info->num_new;
  info->structure_grown = info->storage_changed = *done;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseInsertBatch - adds or replaces the entries of a batch

  Input Parameters:
+ hisparse - the matrix
. batch    - sorted distinct entries with values
. mode     - ADD_VALUES, otherwise the values replace
. policy   - what happens to entries that are not there
. may_grow - PETSC_FALSE: new entries that the policy allows are refused
- stream   - synchronizes with it

  Output Parameters:
+ info - what happened, set also when there is an error
- done - PETSC_FALSE: new entries are to join, which this storage cannot or may not take, or the matrix is transposed by its flag; nothing has changed

  Errors: PETSC_ERR_MEM; the matrix is as it was.

  Cost: a few searches an entry of the batch; all values once when they were shared or had a scale factor. New entries: see HiSparseDiagonalsGrow(), and the structure once when it was shared.
*/
PetscErrorCode HiSparseInsertBatch(HiSparse hisparse, const DCSRBatch *batch, InsertMode mode, DCSRNewEntries policy, PetscBool may_grow, cudaStream_t stream, DCSRInsertInfo *info, PetscBool *done)
{
  DCSRLookup     lookup;
  PetscBool      grow;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(info, 1));
  *done = PETSC_TRUE;
  if (batch->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (hisparse->transposed) { // a batch is sorted by rows
    *done = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(hisparse->ops->lookup(hisparse->structure->data, batch, stream, &lookup));
  PetscCallGoto(ierr, cleanup, DCSRLookupFinish(&lookup, stream));
  PetscCallGoto(ierr, cleanup, DCSRLookupApplyPolicy(batch, &lookup, policy, stream, info, &grow));
  if (grow && !may_grow) *done = PETSC_FALSE;
  else if (grow) PetscCallGoto(ierr, cleanup, Grow(hisparse, batch, &lookup, mode, stream, info, done));
  else if (policy != DCSR_NEW_FORBID || info->num_new == 0) PetscCallGoto(ierr, cleanup, SetFound(hisparse, batch, &lookup, mode, stream));
cleanup:
  PetscCall(DCSRLookupDestroy(&lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseCopyValues - makes a matrix the same as another one of the same structure, with which it shares everything then

  Input Parameters:
+ from   - the matrix
- stream - synchronizes with it when the two do not share their structure yet

  Output Parameters:
+ to   - the copy
- done - PETSC_FALSE: the two are stored in different ways; nothing has changed

  Errors: PETSC_ERR_MEM.

  Cost: nothing when they share their structure, otherwise a comparison of the two.
*/
PetscErrorCode HiSparseCopyValues(HiSparse from, HiSparse to, cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  *done = (PetscBool)(from->ops == to->ops && from->precision == to->precision && from->transposed == to->transposed && from->num_rows == to->num_rows && from->num_columns == to->num_columns && from->num_nonzeros == to->num_nonzeros);
  if (*done && from->structure != to->structure) PetscCall(from->ops->samestructure(from->structure->data, to->structure->data, stream, done));
  if (*done) PetscCall(HiSparseShare(from, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
