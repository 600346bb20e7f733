/*
  A sorted batch is inserted into a matrix: values in place, new entries by appending them to their rows or by merging them with all entries, whichever moves less.
*/
#include "insertimpl.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/tuning.h>

/*
  Appending pays for small batches only: a merge moves 24 bytes for every entry of the matrix; appending does several random accesses for every entry of the batch,
  and leaves a slower move to later.
*/
static PetscBool WantsAppend(const DCSRView *view, PetscCount num_entries, const DCSRAppendRule *rule)
{
  const PetscSparseCUDATuning *tuning = NULL;

  if (rule == NULL || rule->max_segments <= 1 || view->num_rows == 0 || view->num_nonzeros == 0 || PetscSparseCUDAGetTuning(&tuning) != PETSC_SUCCESS) return PETSC_FALSE;
  return (PetscBool)(num_entries <= view->num_nonzeros / tuning->append_part);
}

/* Pool entries that appending may take at most when every row has one segment: the entries, and slack for as many rows or for all of them. */
static PetscCount AppendBound(const DCSRView *view, PetscCount num_new, const DCSRAppendRule *rule)
{
  const PetscCount all_rows = num_new + (PetscCount)(rule->slack * (PetscReal)(view->num_nonzeros + num_new));

  return num_new + PetscMin((DCSR_MAX_SLACK + 1) * num_new, all_rows);
}

/* What a pool gets beyond its entries when it is made anew for appending: room for a batch such as this one, and for the slack of all rows twice. */
static PetscCount SpareOf(const DCSRView *view, const DCSRBatch *batch, const DCSRAppendRule *rule)
{
  return WantsAppend(view, batch->num_entries, rule) ? AppendBound(view, batch->num_entries, rule) + (PetscCount)(2 * rule->slack * (PetscReal)view->num_nonzeros) : 0;
}

/* Defragments into a pool with room for more. */
static PetscErrorCode MakeCompact(DCSRView *view, PetscCount spare, cudaStream_t stream)
{
  DCSRView       narrow = *view, to;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  narrow.wide = PETSC_FALSE; // the pool may have been wide, its entries need not be
  PetscCall(DCSRViewAllocateSpare(&narrow, view->num_nonzeros, (PetscBool)(view->values != NULL), spare, stream, &to));
  PetscCallGoto(ierr, failed, DCSRDefragment(*view, to, stream));
  PetscCall(DCSRViewFree(view, stream));
  *view = to;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&to, stream));
  PetscFunctionReturn(ierr);
}

/* What the policy says about new entries of a matrix with so many nonzeros, once their number is known; *grow when they are to be inserted, an error when there would be too many. */
static PetscErrorCode ApplyPolicy(PetscCount num_nonzeros, const DCSRBatch *batch, const DCSRLookup *lookup, DCSRNewEntries policy, cudaStream_t stream, DCSRInsertInfo *info, PetscBool *grow)
{
  uint64_t key;

  PetscFunctionBegin;
  info->num_new = (PetscCount)lookup->numbers.num_new;
  *grow         = (PetscBool)(info->num_new > 0 && policy == DCSR_NEW_ALLOW);
  if (*grow) PetscCall(DCSRCheckNonzeros(num_nonzeros + info->num_new));
  if (info->num_new > 0 && policy == DCSR_NEW_FORBID) {
    PetscCallCUDA(cudaMemcpyAsync(&key, batch->keys + (batch->num_entries - (PetscCount)lookup->numbers.before_end), sizeof(key), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    info->row    = (PetscInt)(key >> batch->column_bits);
    info->column = (PetscInt)(key & (((uint64_t)1 << batch->column_bits) - 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is inserted: values of entries that are there, unless new ones are errors. */
static PetscErrorCode WriteValues(DCSRView *view, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, DCSRNewEntries policy, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (policy != DCSR_NEW_FORBID || lookup->numbers.num_new == 0) PetscCall(DCSRLookupWriteFound(*view, batch, lookup, mode, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into fragmented storage; *full when new entries find no room in the pool: nothing has changed then. */
static PetscErrorCode InsertFragmented(DCSRView *view, const DCSRBatch *batch, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info,
                                       PetscBool *full)
{
  const PetscBool append = (PetscBool)(policy == DCSR_NEW_ALLOW && WantsAppend(view, batch->num_entries, rule));
  DCSRAppendPlan  plan   = {NULL, 0};
  DCSRLookup      lookup;
  PetscBool       grow;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *full = PETSC_FALSE;
  PetscCall(DCSRLookupCreate(*view, batch, stream, &lookup));
  if (append) {
    PetscCallGoto(ierr, cleanup, DCSRLookupListNew(&lookup, stream));
    PetscCallGoto(ierr, cleanup, DCSRAppendPlanCreate(*view, batch, &lookup, rule->slack, stream, &plan));
  }
  PetscCallGoto(ierr, cleanup, DCSRLookupFinish(&lookup, stream));
  PetscCallGoto(ierr, cleanup, ApplyPolicy(view->num_nonzeros, batch, &lookup, policy, stream, info, &grow));
  if (!grow) PetscCallGoto(ierr, cleanup, WriteValues(view, batch, &lookup, mode, policy, stream));
  else if (append && lookup.numbers.pool <= view->capacity - view->used) {
    PetscCallGoto(ierr, cleanup, DCSRAppendBatch(view, batch, &lookup, &plan, mode, stream));
    info->structure_grown = PETSC_TRUE;
    info->appended        = PETSC_TRUE;
  } else *full = PETSC_TRUE;
cleanup:
  PetscCall(DCSRAppendPlanDestroy(&plan, stream));
  PetscCall(DCSRLookupDestroy(&lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries are appended to compact storage with room for them, which becomes fragmented; what was looked up stays where it is. */
static PetscErrorCode AppendToCompact(DCSRView *view, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info)
{
  DCSRAppendPlan plan = {NULL, 0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRLookupListNew(lookup, stream));
  PetscCall(DCSRViewSetSegments(view, rule->max_segments, stream));
  info->storage_changed = PETSC_TRUE; // also when something fails from here on
  PetscCallGoto(ierr, cleanup, DCSRAppendPlanCreate(*view, batch, lookup, rule->slack, stream, &plan));
  PetscCallGoto(ierr, cleanup, DCSRLookupFinish(lookup, stream));
  PetscCallGoto(ierr, cleanup, DCSRAppendBatch(view, batch, lookup, &plan, mode, stream));
  info->structure_grown = PETSC_TRUE;
  info->appended        = PETSC_TRUE;
cleanup:
  PetscCall(DCSRAppendPlanDestroy(&plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into compact storage. */
static PetscErrorCode InsertCompact(DCSRView *view, const DCSRBatch *batch, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info)
{
  const PetscCount room   = view->capacity - view->used;
  const PetscBool  append = WantsAppend(view, batch->num_entries, rule);
  DCSRLookup       lookup;
  PetscBool        grow;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(DCSRLookupCreate(*view, batch, stream, &lookup));
  PetscCallGoto(ierr, cleanup, DCSRLookupSend(&lookup, stream));
  // before the wait, during which the device would have nothing to do: what appending or merging needs, whichever it will be if all entries are new
  if (policy == DCSR_NEW_ALLOW) PetscCallGoto(ierr, cleanup, append && AppendBound(view, batch->num_entries, rule) <= room ? DCSRLookupListNew(&lookup, stream) : DCSRLookupRankNew(&lookup, stream));
  PetscCallGoto(ierr, cleanup, DCSRLookupFinish(&lookup, stream));
  PetscCallGoto(ierr, cleanup, ApplyPolicy(view->num_nonzeros, batch, &lookup, policy, stream, info, &grow));
  if (!grow) PetscCallGoto(ierr, cleanup, WriteValues(view, batch, &lookup, mode, policy, stream));
  else if (append && AppendBound(view, info->num_new, rule) <= room) PetscCallGoto(ierr, cleanup, AppendToCompact(view, batch, &lookup, mode, rule, stream, info));
  else {
    PetscCallGoto(ierr, cleanup, DCSRLookupRankNew(&lookup, stream));
    PetscCallGoto(ierr, cleanup, DCSRMergeBatch(view, batch, &lookup, mode, SpareOf(view, batch, rule), stream));
    info->structure_grown = PETSC_TRUE;
  }
cleanup:
  PetscCall(DCSRLookupDestroy(&lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRInsertBatch - adds (ADD_VALUES) or replaces the sorted distinct entries of a batch, making room for new ones
  view is compact or fragmented storage, whose arrays the caller owns; may be empty with NULL columns and values. It has the same arrays with new values, or other storage when info->storage_changed.
  policy: what happens to entries that are not there. rule: how new entries may be appended; NULL: storage becomes compact when there are any. info is set also when there is an error.
  A batch is appended when it has at most a 64th of the matrix's entries and the pool has room, and merged otherwise. Fragmented storage is defragmented when its pool is full and before a merge. Pools
  made anew for a batch of this size have room for more, when the device has.
  Synchronizes once, up to three times when storage changes its kind. Cost: a few binary searches an entry of the batch; for new entries the work of the rows they belong to, or one read and write of
  the matrix.
  PETSC_ERR_MEM, PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than a matrix may have; the matrix is as it was then, in compact or fragmented storage.
*/
PetscErrorCode DCSRInsertBatch(DCSRView *view, const DCSRBatch *batch, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info)
{
  PetscBool full, moved = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(info, 1));
  if (batch->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (view->row_offsets == NULL) {
    PetscCall(InsertFragmented(view, batch, mode, policy, rule, stream, info, &full));
    if (!full) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MakeCompact(view, SpareOf(view, batch, rule), stream));
    info->storage_changed = PETSC_TRUE;
    moved                 = PETSC_TRUE;
  }
  PetscCall(InsertCompact(view, batch, mode, policy, rule, stream, info));
  if (moved) info->appended = PETSC_FALSE;
  info->storage_changed = (PetscBool)(info->storage_changed || info->structure_grown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether entries of a short list may be appended, whichever of them are new; to gets arrays for segments where the storage is compact and has room for all of them. */
static PetscErrorCode PrepareAppending(const DCSRView *view, PetscCount n, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRView *to, PetscBool *append)
{
  PetscCount most;

  PetscFunctionBegin;
  PetscCall(DCSRGetMaxNonzeros(&most));
  *append = (PetscBool)(policy == DCSR_NEW_ALLOW && WantsAppend(view, n, rule) && view->num_nonzeros + n <= most);
  if (!*append || view->row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *append = (PetscBool)(AppendBound(view, n, rule) <= view->capacity - view->used);
  if (*append) PetscCall(DCSRViewTrySegments(to, rule->max_segments, stream, append));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the batch that a short list becomes when it finds none in the storage; no keys when the device has no memory for it. */
static PetscErrorCode PrepareBatch(const DCSRSmallList *list, cudaStream_t stream, DCSRBatch *batch)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc(list->n, stream, &batch->values));
  if (batch->values != NULL && list->ignore_zeros) PetscCall(PetscSparseCUDATryMalloc(list->n, stream, &batch->counts));
  if (batch->values != NULL && (batch->counts != NULL || !list->ignore_zeros)) PetscCall(PetscSparseCUDATryMalloc(list->n, stream, &batch->keys));
  if (batch->keys == NULL) PetscCall(DCSRBatchDestroy(batch, stream));
  batch->column_bits = list->column_bits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRInsertSmall - a short list, at most DCSR_SMALL_LIST entries, is inserted into a matrix by one launch, when its storage has room for it. Waits until it is known what happens, not for the end of
  the work view is compact or fragmented storage with values and at least one entry. It keeps its arrays, with segments in place of row offsets when entries were appended to compact storage. mode and
  policy are as for DCSRInsertBatch(). rule: how new entries may be appended; NULL: they may not.
  info: what happened, when done. batch: when the storage has no room, what the list has become, for DCSRInsertBatch(); otherwise zero.
  done = PETSC_FALSE: nothing has changed, and DCSRInsertBatch() has to do it. An index is too large, or new entries are forbidden, find no room or move many old ones, or an entry is repeated more
  than 512 times.
  What is inserted has the same bits, in the same positions, as with DCSRInsertBatch().
*/
PetscErrorCode DCSRInsertSmall(DCSRView *view, const DCSRSmallList *list, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info,
                               DCSRBatch *batch, PetscBool *done)
{
  DCSRView       to    = *view;
  PetscCount     pool  = 0;
  PetscBool      grown = PETSC_FALSE, append;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscArrayzero(info, 1));
  PetscCall(PetscArrayzero(batch, 1));
  PetscCall(PrepareAppending(view, list->n, policy, rule, stream, &to, &append));
  if (policy == DCSR_NEW_ALLOW && !append) PetscCall(PrepareBatch(list, stream, batch));
  ierr = DCSRSmallBatch(to, list, mode, policy, append, append ? rule->slack : 0, batch, stream, &info->num_new, &pool, &grown, done);
  if (ierr != PETSC_SUCCESS || batch->num_entries == 0) PetscCall(DCSRBatchDestroy(batch, stream));
  // rows have offsets or segments, not both
  if (grown && to.row_offsets != NULL) PetscCall(DCSRViewKeepBase(&to, stream));
  else if (!grown && view->segments == NULL) {
    PetscCall(PetscSparseCUDAFree(&to.segments, stream));
    PetscCall(PetscSparseCUDAFree(&to.row_sizes, stream));
  }
  PetscCall(ierr);
  if (!grown) PetscFunctionReturn(PETSC_SUCCESS);
  *view = to;
  view->num_nonzeros += info->num_new;
  view->used += pool;
  info->structure_grown = PETSC_TRUE;
  info->storage_changed = PETSC_TRUE;
  info->appended        = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
