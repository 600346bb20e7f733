/*
  Values without CSR: a sorted batch joins a matrix where its format can take it, and the values of a list replace those of a matrix or are added to them.
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

/* New entries join, unless the structure has to be made again; the matrix has structure and values of its own then. */
static PetscErrorCode Grow(HiSparse h, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, DCSRInsertInfo *info, PetscBool *done)
{
  PetscFunctionBegin;
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

  Errors: PETSC_ERR_MEM, PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than a matrix may have; the matrix is as it was.

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
  PetscCallGoto(ierr, cleanup, DCSRLookupApplyPolicy(hisparse->num_nonzeros, batch, &lookup, policy, stream, info, &grow));
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

/* A list with its values. */
typedef struct {
  const DCSRList    *list;
  const PetscScalar *v, *more;
  PetscCount         split;
  DCSRView           csr; /* what else is read of CSR; owned */
} ListedValues;

/* Compact CSR with what setvalues() reads beside values; *csr owns what was made, also after an error. */
static PetscErrorCode CreateForValues(HiSparse h, cudaStream_t stream, DCSRView *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(csr, 1));
  PetscCall(DCSRNeedsWide(h->num_nonzeros, &csr->wide));
  csr->num_rows     = h->num_rows;
  csr->num_columns  = h->num_columns;
  csr->num_nonzeros = csr->capacity = csr->used = h->num_nonzeros;
  if (h->ops->rowoffsets != NULL) {
    PetscCall(PetscSparseCUDAMalloc_Private(((size_t)h->num_rows + 1) * (csr->wide ? sizeof(int64_t) : sizeof(int32_t)), "row offsets of a matrix", stream, &csr->row_offsets));
    PetscCall(h->ops->rowoffsets(h->structure->data, *csr, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteList(HiSparse h, void *values, const void *from, cudaStream_t stream)
{
  const ListedValues *l = (const ListedValues *)from;

  PetscFunctionBegin;
  PetscCall(h->ops->setlist(h->structure->data, values, l->csr, l->list, l->v, l->more, l->split, PETSC_FALSE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The format writes, or adds, them where they belong. */
static PetscErrorCode SetListDirectly(HiSparse h, const ListedValues *l, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (mode == ADD_VALUES) {
    PetscCall(HiSparseChangeScaledValues(h, stream));
    PetscCall(h->ops->setlist(h->structure->data, h->values->data, l->csr, l->list, l->v, l->more, l->split, PETSC_TRUE, stream));
  } else PetscCall(HiSparseWriteValues(h, WriteList, l, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By way of an array in the order of CSR, which the matrix then has the values of. */
static PetscErrorCode SetListInOrder(HiSparse h, ListedValues *l, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateValues(&l->csr, stream));
  if (mode == ADD_VALUES) PetscCall(h->ops->getcsr(h->structure->data, h->values->data, h->scale, PETSC_FALSE, PETSC_TRUE, l->csr, stream));
  PetscCall(DCSRListReduce(l->list, l->v, l->more, l->split, PETSC_FALSE, (PetscBool)(mode == ADD_VALUES), l->csr.values, stream));
  PetscCall(HiSparseSetValues(h, l->csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseSetList - the values of a list that has the entries of a matrix

  Input Parameters:
+ hisparse - the matrix
. list     - a sorted list of its entries; keys are not needed
. v        - [split] values of the unsorted list, device
. more     - [num_given - split] its further values, device; NULL when split is num_given
. split    - as above
. mode     - ADD_VALUES, otherwise the values replace; repeated entries are added up in both
- stream   - asynchronous on it

  Output Parameter:
. done - PETSC_FALSE: the matrix is transposed by its flag, or has not as many entries; nothing has changed

  Errors: PETSC_ERR_MEM; the matrix is as it was.

  Cost: a read of the list and its values, and a write of the values; those that are replaced are not read, nor copied when they were shared. Workspace: row offsets, where the format reads them; the values, for formats
  that take them in the order of CSR alone, and for lists that repeat an entry very often.
*/
PetscErrorCode HiSparseSetList(HiSparse hisparse, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  const PetscBool direct = (PetscBool)(hisparse->ops->setlist != NULL && list->num_long_runs == 0);
  ListedValues    l      = {list, v, more, split};
  PetscErrorCode  ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = (PetscBool)(!hisparse->transposed && list->num_distinct == hisparse->num_nonzeros);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, CreateForValues(hisparse, stream, &l.csr));
  if (direct) PetscCallGoto(ierr, cleanup, SetListDirectly(hisparse, &l, mode, stream));
  else PetscCallGoto(ierr, cleanup, SetListInOrder(hisparse, &l, mode, stream));
cleanup:
  PetscCall(DCSRViewFree(&l.csr, stream));
  PetscFunctionReturn(ierr);
}
