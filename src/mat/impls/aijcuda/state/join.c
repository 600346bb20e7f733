/*
  Entries that come to the device are merged into a sequential matrix: sorted batches, lists, short lists, and what MatSetValues() has staged. With them goes what options and a preallocation by the
  user forbid.
*/
#include "state.h"

/* Whether no assembly has ended since A was set up, preallocated or reset. */
static PetscBool InFirstAssembly(Mat A)
{
  return (PetscBool)(!A->assembled && !A->was_assembled);
}

/* The first row with more entries than its limit, -1 when there is none. */
static PetscInt FirstRowOverLimit(PetscInt m, PetscBool wide, const void *offsets, const PetscInt limits[])
{
  for (PetscInt row = 0; row < m; row++) {
    const int64_t size = wide ? ((const int64_t *)offsets)[row + 1] - ((const int64_t *)offsets)[row] : ((const int32_t *)offsets)[row + 1] - ((const int32_t *)offsets)[row];

    if (size > limits[row]) return row;
  }
  return -1;
}

/* The first row of A on the device with more entries than its limit, -1 when there is none. */
static PetscErrorCode FindRowOverLimit(Mat A, const PetscInt limits[], PetscInt *row)
{
  const DCSRView *view = &MatSeqAIJCUDAGet(A)->device.view;
  char           *offsets;
  size_t          bytes;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *row = -1;
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  bytes = ((size_t)A->rmap->n + 1) * (view->wide ? sizeof(int64_t) : sizeof(int32_t));
  PetscCall(PetscMalloc(bytes, &offsets));
  ierr = PetscSparseCUDACopyToHost(offsets, view->row_offsets, bytes, stream);
  if (ierr == PETSC_SUCCESS) *row = FirstRowOverLimit(A->rmap->n, view->wide, offsets, limits);
  PetscCall(PetscFree(offsets));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDACheckRowLimits - After entries have joined A, which has a device, in its first assembly: raises PETSC_ERR_ARG_OUTOFRANGE when a row has more than were preallocated and the options
  forbid it.

  What joined the matrix stays in it. Costs nothing without MAT_NEW_NONZERO_ALLOCATION_ERR; with it defragmented storage, and a copy of the row offsets to the host.
*/
PetscErrorCode MatSeqAIJCUDACheckRowLimits(Mat A)
{
  const PetscInt *limits;
  PetscInt        row;

  PetscFunctionBegin;
  if (((Mat_SeqAIJ *)A->data)->nonew != -2 || !InFirstAssembly(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (limits == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FindRowOverLimit(A, limits, &row));
  PetscCheck(row < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Local row %" PetscInt_FMT " has got more than the %" PetscInt_FMT
             " nonzeros that were preallocated. Use MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE) to turn off this check",
             row, limits[row]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAFillsPreallocation - Whether all rows of an assembled matrix, set up for the device, have the entries that were preallocated, no fewer and no more.

  PETSC_TRUE also when nothing was preallocated: MATAIJ takes the first values for the preallocation then.
  When the numbers of all entries are equal it costs defragmented storage and a copy of the row offsets to the host.
*/
PetscErrorCode MatSeqAIJCUDAFillsPreallocation(Mat A, PetscBool *fills)
{
  const PetscInt *limits;
  PetscInt        row = -1;
  PetscInt64      sum = 0;

  PetscFunctionBegin;
  *fills = PETSC_TRUE;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A)); // of a flush assembly
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (limits == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < A->rmap->n; i++) sum += limits[i];
  *fills = (PetscBool)(sum == ((Mat_SeqAIJ *)A->data)->nz);
  if (!*fills || sum == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(FindRowOverLimit(A, limits, &row));
  *fills = (PetscBool)(row < 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACheckUnused - At the end of an assembly: raises PETSC_ERR_PLIB, as MATSEQAIJ does, when room that was preallocated is unused and the options forbid it. */
PetscErrorCode MatSeqAIJCUDACheckUnused(Mat A)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCheck(a->nounused != -1 || !MatSeqAIJCUDAGet(A)->staging.device_assembly || !InFirstAssembly(A) || a->maxnz == a->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Unused space detected in matrix: %" PetscInt_FMT " X %" PetscInt_FMT ", %" PetscInt_FMT
             " unneeded. Use MatSetOption(A, MAT_UNUSED_NONZERO_LOCATION_ERR, PETSC_FALSE) to turn off this check",
             A->rmap->n, A->cmap->n, a->maxnz - a->nz);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDANewEntries - What the matrix's options say about entries that are not there. */
DCSRNewEntries MatSeqAIJCUDANewEntries(Mat A)
{
  const PetscInt nonew = ((Mat_SeqAIJ *)A->data)->nonew;

  if (nonew == 1) return DCSR_NEW_IGNORE;
  // after the first assembly every new entry would be an allocation of MATAIJ's; for the first one see MatSeqAIJCUDACheckRowLimits()
  if (nonew == -1 || (nonew == -2 && !InFirstAssembly(A))) return DCSR_NEW_FORBID;
  return DCSR_NEW_ALLOW;
}

/* Whether A has compact rows all the time, of which a host structure can be made: blocks of parallel matrices, and those that keep one. */
static PetscBool HasHostStructure(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAGet(A)->host.role == ROLE_BLOCK || MatSeqAIJCUDAKeepsStructure(A));
}

/* Whether new entries may be appended to rows. */
static PetscBool MayAppend(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAGet(A)->options.defragment != DCSR_DEFRAGMENT_ALWAYS && (A->num_ass > 0 || A->was_assembled) && !HasHostStructure(A));
}

static PetscErrorCode InsertIntoCSR(Mat A, const DCSRBatch *batch, InsertMode mode, DCSRInsertInfo *info)
{
  Mat_SeqAIJCUDA      *d    = MatSeqAIJCUDAGet(A);
  const DCSRAppendRule rule = {d->options.slack, d->options.max_segments};
  cudaStream_t         stream;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  ierr = DCSRInsertBatch(&d->device.view, batch, mode, MatSeqAIJCUDANewEntries(A), MayAppend(A) ? &rule : NULL, stream, info);
  if (info->storage_changed && !info->appended) PetscCall(MatSeqAIJCUDADropPlans(A)); // also when the batch failed afterwards
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure has changed; plans of compact storage, or of the base, are those of the base that is there now. */
static PetscErrorCode StructureAppended(Mat A)
{
  Mat_SeqAIJCUDA       *d     = MatSeqAIJCUDAGet(A);
  DCSRSpMVPlan          spmv  = d->plans.spmv;
  DCSRSpMVTransposePlan spmvt = d->plans.spmvt;
  const PetscCount      mults = d->plans.transpose_mults;
  PetscErrorCode        ierr;

  PetscFunctionBegin;
  d->plans.spmv            = NULL;
  d->plans.spmvt           = NULL;
  ierr                     = MatSeqAIJCUDAStructureChanged(A);
  d->plans.spmv            = spmv;
  d->plans.spmvt           = spmvt;
  d->plans.transpose_mults = mults;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a matrix notes when entries have joined it, or an error when they were not to. */
static PetscErrorCode HasJoined(Mat A, const DCSRInsertInfo *info)
{
  PetscFunctionBegin;
  PetscCheck(MatSeqAIJCUDANewEntries(A) != DCSR_NEW_FORBID || info->num_new == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Inserting a new nonzero at (%" PetscInt_FMT ",%" PetscInt_FMT ") in the matrix (one of %" PetscCount_FMT "), which MatSetOption(A, %s, PETSC_TRUE) forbids", info->row, info->column,
             info->num_new, ((Mat_SeqAIJ *)A->data)->nonew == -1 ? "MAT_NEW_NONZERO_LOCATION_ERR" : "MAT_NEW_NONZERO_ALLOCATION_ERR");
  if (info->appended && DCSROverflowIsFor(MatSeqAIJCUDAGet(A)->device.view)) PetscCall(StructureAppended(A));
  else if (info->structure_grown) PetscCall(MatSeqAIJCUDAStructureChanged(A));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAInsertBatch - A sorted batch, in local numbering, joins a matrix with a device.

  PETSC_ERR_ARG_OUTOFRANGE: the options forbid a new nonzero, and the matrix is as it was before the batch.
*/
PetscErrorCode MatSeqAIJCUDAInsertBatch(Mat A, const DCSRBatch *batch, InsertMode mode)
{
  DCSRInsertInfo info;

  PetscFunctionBegin;
  PetscCall(InsertIntoCSR(A, batch, mode, &info));
  PetscCall(HasJoined(A, &info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAInsertList - The entries of a sorted list, with values of the unsorted one in device memory, are merged into the matrix; the list is destroyed. */
PetscErrorCode MatSeqAIJCUDAInsertList(Mat A, DCSRList *list, const PetscScalar v[], InsertMode mode)
{
  DCSRBatch      batch;
  cudaStream_t   stream;
  PetscErrorCode ierr, destroyed;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr      = DCSRBatchCreate(list, v, (PetscBool)(mode == INSERT_VALUES), ((Mat_SeqAIJ *)A->data)->ignorezeroentries, MatSeqAIJCUDAGet(A)->staging.diagonal, stream, &batch);
  destroyed = DCSRListDestroy(list, stream);
  PetscCall(ierr);
  PetscCall(destroyed);
  ierr = MatSeqAIJCUDAInsertBatch(A, &batch, mode);
  PetscCall(DCSRBatchDestroy(&batch, stream));
  PetscCall(ierr);
  PetscCall(MatSeqAIJCUDACheckRowLimits(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAInsertSmall - The entries of a short list join the rows: by one launch where these can take them as they are, otherwise as the batch that it made of them.

  A has a device. Of the list n, and keys or rows and columns, and values are set, in local numbering.
  *done: PETSC_FALSE when the list is too long, or the rows cannot take it; the matrix is as it was, and the list has to be sorted.
  PETSC_ERR_ARG_OUTOFRANGE as in MatSeqAIJCUDACheckRowLimits(). Forbidden entries are refused, and are errors on the general way.
*/
PetscErrorCode MatSeqAIJCUDAInsertSmall(Mat A, DCSRSmallList *list, InsertMode mode, PetscBool *done)
{
  Mat_SeqAIJCUDA      *d    = MatSeqAIJCUDAGet(A);
  const DCSRAppendRule rule = {d->options.slack, d->options.max_segments};
  DCSRInsertInfo       info;
  DCSRBatch            batch;
  cudaStream_t         stream;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  *done              = PETSC_FALSE;
  list->window       = (DCSRWindow){A->rmap->n, A->cmap->n, 0, A->rmap->n, 0, A->cmap->n, PETSC_FALSE};
  list->column_bits  = DCSRKeyBits(A->cmap->n);
  list->key_bits     = list->column_bits + DCSRKeyBits(A->rmap->n);
  list->ignore_zeros = ((Mat_SeqAIJ *)A->data)->ignorezeroentries;
  list->diagonal     = d->staging.diagonal;
  if (list->n > DCSR_SMALL_LIST || list->key_bits > 63 || d->device.view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  if (d->device.view.values == NULL || d->device.view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRInsertSmall(&d->device.view, list, mode, MatSeqAIJCUDANewEntries(A), MayAppend(A) ? &rule : NULL, stream, &info, &batch, done));
  if (*done) PetscCall(HasJoined(A, &info));
  else if (batch.num_entries > 0) {
    ierr = MatSeqAIJCUDAInsertBatch(A, &batch, mode);
    PetscCall(DCSRBatchDestroy(&batch, stream));
    PetscCall(ierr);
    *done = PETSC_TRUE;
  }
  if (*done) PetscCall(MatSeqAIJCUDACheckRowLimits(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes what is staged and inserts it. */
static PetscErrorCode InsertStage(Mat A)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  uint64_t       *keys   = NULL;
  PetscScalar    *values = NULL;
  PetscCount      n      = 0;
  DCSRSmallList   small  = {0};
  PetscBool       done   = PETSC_FALSE;
  DCSRList        list;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, DCSRStageTake(d->staging.stage, stream, &n, &keys, &values));
  small.n      = n;
  small.keys   = keys;
  small.values = values;
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAInsertSmall(A, &small, d->staging.mode, &done));
  if (done) goto cleanup;
  PetscCallGoto(ierr, cleanup, DCSRListCreateFromKeys(A->rmap->n, DCSRKeyBits(A->cmap->n), n, &keys, stream, &list));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAInsertList(A, &list, values, d->staging.mode));
cleanup:
  PetscCall(PetscSparseCUDAFree(&keys, stream));
  PetscCall(PetscSparseCUDAFree(&values, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRStageDestroy(&d->staging.stage, stream)); // all or nothing: the matrix is what it was
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAFinishInsertion - Everything that was staged is merged into the matrix; does nothing when nothing was. */
PetscErrorCode MatSeqAIJCUDAFinishInsertion(Mat A)
{
  PetscFunctionBegin;
  if (DCSRStageCount(MatSeqAIJCUDAGet(A)->staging.stage) > 0) PetscCallLogged(PETSCSPARSECUDA_Insert, A, InsertStage(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
