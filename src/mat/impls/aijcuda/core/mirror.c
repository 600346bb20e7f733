/*
  The host mirror and the device copy of one sequential matrix: who is current, and the copies between them.

  Values: A->offloadmask, as in PETSc's own device types (CPU, GPU or BOTH current; UNALLOCATED counts as CPU).
  Structure: on the host current when mirror.structure; on the device when device.structure and device.nonzerostate == A->nonzerostate.
*/
#include "core.h"
#include <petscsparsecuda/blocks.h>
#include <petscsparsecuda/report.h>

/* MatIsSeqAIJCUDA - Whether A is a sequential matrix of one of our types, with its data in place. */
PetscErrorCode MatIsSeqAIJCUDA(Mat A, PetscBool *is)
{
  MatType type = NULL;

  PetscFunctionBegin;
  if (A != NULL && A->spptr != NULL) PetscCall(MatDeviceStorageFind(((PetscObject)A)->type_name, &type));
  *is = (PetscBool)(type != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatIsMPIAIJCUDA - Whether A is a parallel matrix of one of our types, with its data in place. */
PetscErrorCode MatIsMPIAIJCUDA(Mat A, PetscBool *is)
{
  const MatAIJCUDATypes *types = NULL;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (A != NULL && A->data != NULL) PetscCall(MatAIJCUDATypesFindParallel(((PetscObject)A)->type_name, &types));
  *is = (PetscBool)(types != NULL && MatMPIAIJCUDAGet(A) != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAShowMirror - Puts the host arrays back where host code looks for them.

  MatSeqAIJCUDAHideMirror - Takes them away again, so that a test sees every direct read outside our thunks as a crash. Does nothing without the test hook.
*/
PetscErrorCode MatSeqAIJCUDAShowMirror(Mat A)
{
  Mat_SeqAIJ      *a      = (Mat_SeqAIJ *)A->data;
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->mirror.hidden;

  PetscFunctionBegin;
  if (hidden == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (hidden->i != NULL) a->i = hidden->i;
  if (hidden->j != NULL) a->j = hidden->j;
  if (hidden->a != NULL) a->a = hidden->a;
  hidden->i = NULL;
  hidden->j = NULL;
  hidden->a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJCUDAHideMirror(Mat A)
{
  Mat_SeqAIJ      *a      = (Mat_SeqAIJ *)A->data;
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->mirror.hidden;

  PetscFunctionBegin;
  if (hidden == NULL || !hidden->computed || !A->assembled || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  hidden->a = a->a;
  a->a      = NULL;
  if (!MatSeqAIJCUDABlockKeepsStructure(A) && !MatSeqAIJCUDAKeepsStructure(A)) {
    hidden->i = a->i;
    hidden->j = a->j;
    a->i      = NULL;
    a->j      = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what was made of the structure of the device copy: storage beside CSR, plans, explicit transpose, wide index arrays. CSR is current, or not needed any more. */
PetscErrorCode MatSeqAIJCUDADropPlans(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (d->device.data != NULL) d->device.waits = PETSC_TRUE;
  PetscCall(MatSeqAIJCUDADropStorage(A));
  PetscCall((*d->device.csr->destroy)(A, NULL));
  PetscCall(PetscArrayzero(d->plans.products, DEVICE_NUM_WORKS));
  if (d->plans.wide_i == NULL && d->plans.wide_j == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.wide_i, stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.wide_j, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the device copy; the host mirror must be current, or the matrix is about to be destroyed. */
PetscErrorCode MatSeqAIJCUDADropDevice(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDADropPlans(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRViewFree(&d->device.view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products and entry-wise operations of A run on the device now. */
PetscErrorCode MatSeqAIJCUDAUseDevice(Mat A, PetscBool *use)
{
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->mirror.hidden;

  PetscFunctionBegin;
  if (hidden != NULL) hidden->computed = PETSC_TRUE;
  *use = (PetscBool)(!A->boundtocpu && A->assembled && !A->structure_only && !A->hash_active && A->factortype == MAT_FACTOR_NONE && A->cmap->n <= PETSC_INT32_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device has the newest structure and values, in CSR or in other storage. */
PetscBool MatSeqAIJCUDADeviceIsCurrent(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDADeviceHasStructure(A) && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH));
}

/* Notes that a device operation changed the values of the CSR view: the mirror's are stale, and those of storage beside it. */
PetscErrorCode MatSeqAIJCUDADeviceChanged(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAValuesChanged(A, VALUES_WRITTEN_IN_CSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes that a device operation wrote values, in CSR or in storage. */
PetscErrorCode MatSeqAIJCUDAValuesChanged(Mat A, MatValuesChange change)
{
  PetscFunctionBegin;
  MatSeqAIJCUDANoteValues(A, change);
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(MatSeqAIJCUDAUpdateKept(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure from the mirror to the device, into a view that replaces the old one when all went well. */
static PetscErrorCode CopyStructureToDevice(Mat A)
{
  Mat_SeqAIJ     *a   = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d   = MatSeqAIJCUDAGet(A);
  PetscInt        m   = A->rmap->n;
  PetscCount      nnz = a->i != NULL ? (PetscCount)a->i[m] : 0;
  DCSRView        view;
  PetscBool       wide;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCheck(MatSeqAIJCUDAHasHost(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Neither the host nor the device has the structure of this matrix");
  PetscCheck(!MatSeqAIJCUDAHostHasGaps(A), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Values were set on the host, or preallocated there, and not assembled: call MatAssemblyBegin() and MatAssemblyEnd() before the matrix is used on the device");
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscCall(DCSRNeedsWide(nnz, &wide));
  PetscCall(DCSRViewAllocateCompact(m, A->cmap->n, nnz, wide, stream, &view));
  if (a->i != NULL) {
    PetscCallGoto(ierr, failed, DCSRCopyOffsetsToDevice(m + 1, a->i, view.wide, view.row_offsets, stream));
    PetscCallGoto(ierr, failed, DCSRCopyColumnsToDevice(nnz, a->j, view.columns, stream));
  } else PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(view.row_offsets, 0, (size_t)(m + 1) * sizeof(int32_t), stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)((m + 1) * sizeof(PetscInt) + (size_t)nnz * sizeof(PetscInt))));
  d->device.view         = view;
  d->device.nonzerostate = A->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

/* Structure if it changed, and values, from the mirror, which is shown. */
static PetscErrorCode CopyMirrorToDevice(Mat A, PetscBool current)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);                                                                      // until all is there
  if (!current || d->device.view.row_offsets == NULL) PetscCallReported(REPORT_STRUCTURE, NULL, CopyStructureToDevice(A)); // the mirror's value order is the compact one
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallReported(REPORT_VALUES, NULL, PetscSparseCUDACopyToDevice(d->device.view.values, a->a, (size_t)d->device.view.num_nonzeros * sizeof(PetscScalar), stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)d->device.view.num_nonzeros * sizeof(PetscScalar)));
  MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the CSR view current: structure when it changed, values when the mirror's or those of other storage are newer. Cheap when there is nothing to do. */
PetscErrorCode MatSeqAIJCUDACopyToDevice(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       current;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall((*MatAIJCUDAHook.finish_insertion_seq)(A));
  current = MatSeqAIJCUDADeviceHasStructure(A);
  if (current) PetscCall(MatSeqAIJCUDAGetCSR(A));
  if (current && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A->offloadmask != PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The newest values are on the device, under a structure that is no longer current");
  PetscCall(MatSeqAIJCUDAShowMirror(A));
  PetscCall(PetscLogEventBegin(PETSCSPARSECUDA_CopyToDevice, A, 0, 0, 0));
  ierr = CopyMirrorToDevice(A, current);
  PetscCall(PetscLogEventEnd(PETSCSPARSECUDA_CopyToDevice, A, 0, 0, 0));
  if (d->mirror.active == 0) PetscCall(MatSeqAIJCUDAHideMirror(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Defragment(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DCSRView        view;
  PetscBool       wide;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRNeedsWide(d->device.view.num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateCompact(d->device.view.num_rows, d->device.view.num_columns, d->device.view.num_nonzeros, wide, stream, &view));
  PetscCallGoto(ierr, failed, DCSRDefragment(d->device.view, view, stream));
  PetscCall(MatSeqAIJCUDADropPlans(A));
  PetscCall(DCSRViewFree(&d->device.view, stream));
  d->device.view = view;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

/* Makes compact CSR of what the device has, fragmented CSR or other storage; structure and values stay what they are. */
PetscErrorCode MatSeqAIJCUDACompact(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetCSR(A));
  if (d->device.view.row_offsets == NULL && d->device.view.segments != NULL) PetscCallLogged(PETSCSPARSECUDA_Defragment, A, Defragment(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAGetCompact - Borrows the compact CSR of a sequential matrix of ours, current on the device, until it changes. */
PetscErrorCode MatSeqAIJCUDAGetCompact(Mat A, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  *view = MatSeqAIJCUDAGet(A)->device.view;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDADiscardMirror - Frees the host arrays of a sequential matrix of ours; the device has another structure, or is about to get it.

  Arrays that belong to the user are let go. MATSEQAIJ's longest row is not known meanwhile: MatSeqAIJGetMaxRowNonzeros() gives -1.
*/
PetscErrorCode MatSeqAIJCUDADiscardMirror(Mat A)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAShowMirror(A));
  PetscCall(MatSeqXAIJFreeAIJ(A, &a->a, &a->j, &a->i));
  PetscCall(PetscFree(a->imax));
  PetscCall(PetscFree(a->ilen));
  PetscCall(MatSeqAIJForgetDiagonal(a));
  a->a    = NULL;
  a->j    = NULL;
  a->i    = NULL;
  a->rmax = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MIN_ROWS_SIZED_ON_DEVICE 500000

/* Arrays of a MATSEQAIJ on their way to it. */
typedef struct {
  PetscInt    *i, *j, *imax, *ilen;
  PetscScalar *a;
} HostArrays;

static PetscErrorCode AllocateHostArrays(PetscInt m, PetscCount nnz, HostArrays *h)
{
  PetscFunctionBegin;
  PetscCall(PetscShmgetAllocateArray(m + 1, sizeof(PetscInt), (void **)&h->i));
  PetscCall(PetscShmgetAllocateArray(nnz, sizeof(PetscInt), (void **)&h->j));
  PetscCall(PetscShmgetAllocateArray(nnz, sizeof(PetscScalar), (void **)&h->a));
  PetscCall(PetscSparseCUDAAdviseHost(h->j, (size_t)nnz * sizeof(PetscInt)));
  PetscCall(PetscSparseCUDAAdviseHost(h->a, (size_t)nnz * sizeof(PetscScalar)));
  PetscCall(PetscMalloc1(m, &h->imax));
  PetscCall(PetscMalloc1(m, &h->ilen));
  PetscCall(PetscSparseCUDAAdviseHost(h->i, (size_t)(m + 1) * sizeof(PetscInt)));
  PetscCall(PetscSparseCUDAAdviseHost(h->imax, (size_t)m * sizeof(PetscInt)));
  PetscCall(PetscSparseCUDAAdviseHost(h->ilen, (size_t)m * sizeof(PetscInt)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeHostArrays(HostArrays *h)
{
  PetscFunctionBegin;
  if (h->i != NULL) PetscCall(PetscShmgetDeallocateArray((void **)&h->i));
  if (h->j != NULL) PetscCall(PetscShmgetDeallocateArray((void **)&h->j));
  if (h->a != NULL) PetscCall(PetscShmgetDeallocateArray((void **)&h->a));
  PetscCall(PetscFree(h->imax));
  PetscCall(PetscFree(h->ilen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of each row, from the offsets on the host. */
static void SizeRows(PetscInt m, HostArrays *h)
{
  for (PetscInt row = 0; row < m; row++) h->imax[row] = h->ilen[row] = h->i[row + 1] - h->i[row];
}

/* The same from the device, when there are so many rows that first writes to pages of the host, which the threads that copy share, take longer than the copies. */
static PetscErrorCode SizeRowsOnDevice(DCSRView view, cudaStream_t stream, HostArrays *h, PetscBool *done)
{
  int32_t       *sizes;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (view.num_rows < MIN_ROWS_SIZED_ON_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDATryMalloc(view.num_rows, stream, &sizes));
  if (sizes == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, DCSRGetRowSizes(view, view.num_rows, NULL, sizes, stream));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(view.num_rows, sizes, h->ilen, stream));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(view.num_rows, sizes, h->imax, stream));
  *done = PETSC_TRUE;
cleanup:
  PetscCall(PetscSparseCUDAFree(&sizes, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillHostStructure(DCSRView view, HostArrays *h)
{
  PetscBool    sized;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallReported(REPORT_STRUCTURE, NULL, DCSRCopyOffsetsToHost(view.num_rows + 1, view.row_offsets, view.wide, h->i, stream));
  PetscCallReported(REPORT_STRUCTURE, NULL, DCSRCopyColumnsToHost(view.num_nonzeros, view.columns, h->j, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)((view.num_rows + 1) * sizeof(PetscInt) + (size_t)view.num_nonzeros * sizeof(PetscInt))));
  PetscCallReported(REPORT_STRUCTURE, NULL, SizeRowsOnDevice(view, stream, h, &sized));
  if (!sized) SizeRows(view.num_rows, h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hands the arrays to the matrix in place of those it had. */
static PetscErrorCode ReplaceHostArrays(Mat A, const HostArrays *h)
{
  Mat_SeqAIJ *a       = (Mat_SeqAIJ *)A->data;
  PetscInt    m       = A->rmap->n;
  PetscInt    nonzero = 0, largest = 0;

  PetscFunctionBegin;
  PetscCall(MatSeqXAIJFreeAIJ(A, &a->a, &a->j, &a->i));
  PetscCall(PetscFree(a->imax));
  PetscCall(PetscFree(a->ilen));
  a->i              = h->i;
  a->j              = h->j;
  a->a              = h->a;
  a->imax           = h->imax;
  a->ilen           = h->ilen;
  a->free_a         = PETSC_TRUE;
  a->free_ij        = PETSC_TRUE;
  a->free_imax_ilen = PETSC_TRUE;
  a->nz             = h->i[m];
  a->maxnz          = PetscMax(a->maxnz, a->nz); // MatGetInfo() reports what was preallocated
  for (PetscInt row = 0; row < m; row++) {
    nonzero += h->ilen[row] > 0;
    largest = PetscMax(largest, h->ilen[row]);
  }
  a->nonzerorowcnt = nonzero;
  a->rmax          = largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays, whose values are not filled, become the mirror. */
static PetscErrorCode InstallHostStructure(Mat A, const HostArrays *h)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(ReplaceHostArrays(A, h));
  if (A->offloadmask == PETSC_OFFLOAD_BOTH) MatSeqAIJCUDANoteValues(A, VALUES_GONE_FROM_HOST);
  PetscCall(MatCheckCompressedRow(A, a->nonzerorowcnt, &a->compressedrow, a->i, A->rmap->n, 0.6)); // the ratio MATSEQAIJ uses
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of a matrix whose structure is on the device, values not filled; what was made stays after an error, too. */
static PetscErrorCode MakeHostStructure(Mat A, HostArrays *h)
{
  DCSRView       view;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetStructure(A, &view));
  ierr = AllocateHostArrays(A->rmap->n, view.num_nonzeros, h);
  if (ierr == PETSC_SUCCESS) ierr = FillHostStructure(view, h);
  PetscCall(MatSeqAIJCUDARestoreStructure(A, &view));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes i, j, ilen, imax and room for a of the mirror from the device copy. */
static PetscErrorCode CopyStructureToHost(Mat A)
{
  HostArrays     h = {NULL, NULL, NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, MakeHostStructure(A, &h));
  PetscCallGoto(ierr, failed, InstallHostStructure(A, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeHostArrays(&h));
  PetscFunctionReturn(ierr);
}

/*
  MatSeqAIJCUDADuplicateHostStructure - Gives B, a duplicate of A that has the device copy, the structure on the host, without values, from that of A: no copy from the device, and no CSR made for one.

  Nothing is done when A has no structure on the host. For matrices whose structure on the host is there all the time, such as blocks of parallel ones.
*/
PetscErrorCode MatSeqAIJCUDADuplicateHostStructure(Mat A, Mat B)
{
  Mat_SeqAIJ    *a = (Mat_SeqAIJ *)A->data;
  const PetscInt m = A->rmap->n;
  HostArrays     h = {NULL, NULL, NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasHostArrays(A) || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  ierr = AllocateHostArrays(m, a->i[m], &h);
  if (ierr == PETSC_SUCCESS) ierr = PetscArraycpy(h.i, a->i, m + 1);
  if (ierr == PETSC_SUCCESS) ierr = PetscArraycpy(h.j, a->j, a->i[m]);
  if (ierr == PETSC_SUCCESS) SizeRows(m, &h);
  ierr = MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr);
  if (ierr == PETSC_SUCCESS) ierr = InstallHostStructure(B, &h);
  else PetscCall(FreeHostArrays(&h));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values to the mirror, whose positions are those of compact storage.

  Host code that changes the structure counts as having written the values, too: while the newest values are on the device, so is their structure, whatever the
  nonzerostate says. MatCreateMPIAIJWithSeqAIJ() raises it before it asks for the values of a block that it is about to renumber.
*/
static PetscErrorCode CopyValuesToHost(Mat A)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  size_t          bytes;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCheck(MatSeqAIJCUDAHasDevice(A) && d->device.view.num_nonzeros == a->i[A->rmap->n], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The newest values are on the device, under a structure that is no longer current");
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  bytes = (size_t)d->device.view.num_nonzeros * sizeof(PetscScalar);
  PetscCallReported(REPORT_VALUES, NULL, PetscSparseCUDACopyToHost(a->a, d->device.view.values, bytes, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the mirror up to date. */
static PetscErrorCode UpdateMirror(Mat A, int access)
{
  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasHost(A)) PetscCallLogged(PETSCSPARSECUDA_CopyToHost, A, CopyStructureToHost(A));
  if ((access & HOST_READ_VALUES) && A->offloadmask == PETSC_OFFLOAD_GPU) PetscCallLogged(PETSCSPARSECUDA_CopyToHost, A, CopyValuesToHost(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostBegin() for a sequential matrix that is known to be ours. */
static PetscErrorCode HostBegin_Seq(Mat A, int access)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall((*MatAIJCUDAHook.finish_insertion_seq)(A));
  if (d->mirror.active == 0) PetscCall(MatSeqAIJCUDAShowMirror(A));
  ierr = UpdateMirror(A, access);
  if (ierr != PETSC_SUCCESS && d->mirror.active == 0) PetscCall(MatSeqAIJCUDAHideMirror(A));
  PetscCall(ierr);
  d->mirror.active++;
  // what is about to be written counts as written, so that device operations inside the host operation see it
  if ((access & (HOST_WRITE_VALUES | HOST_WRITE_STRUCTURE)) && A->offloadmask == PETSC_OFFLOAD_BOTH) MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostEnd() for a sequential matrix that is known to be ours. */
static PetscErrorCode HostEnd_Seq(Mat A, int access)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A); // asked for again: the operation may have merged another matrix into A

  PetscFunctionBegin;
  if (d->mirror.active > 0) d->mirror.active--;
  if (d->mirror.active == 0) PetscCall(MatSeqAIJCUDAHideMirror(A));
  if ((access & (HOST_WRITE_VALUES | HOST_WRITE_STRUCTURE)) && A->offloadmask != PETSC_OFFLOAD_GPU) {
    MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
    PetscCall(PetscObjectStateIncrease((PetscObject)A)); // parallel operations write into blocks without a word to them
  }
  if ((access & HOST_WRITE_STRUCTURE) && A->offloadmask != PETSC_OFFLOAD_GPU) PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAInHostCode - Whether an operation of the parent types is running: what it builds, it writes into host arrays directly.

  Arrays that somebody holds do not count: parent operations do not give them back when they end with an error, and processes must agree on where values go.
*/
PetscBool MatAIJCUDAInHostCode(void)
{
  return (PetscBool)(MatAIJCUDAScope.host > 0);
}

static PetscErrorCode HostEnd(Mat A, int access)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    PetscCall(HostEnd_Seq(A, access));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

    PetscCall(HostEnd(a->A, access));
    PetscCall(HostEnd(a->B, access));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostBegin(Mat A, int access)
{
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    PetscCall(HostBegin_Seq(A, access));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

    PetscCall((*MatAIJCUDAHook.finish_insertion_mpi)(A));
    PetscCall(HostBegin(a->A, access));
    ierr = HostBegin(a->B, access);
    if (ierr != PETSC_SUCCESS) PetscCall(HostEnd(a->A, access));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAHostBegin - Brings the host mirror of a matrix up to date for host code that is about to use it directly; access is a sum of HostAccess.

  A is any matrix or NULL; others than ours are left alone, parallel ones are treated block by block.
  Every call that succeeds is followed by MatAIJCUDAHostEnd() or MatAIJCUDAHostFinish() with the same access.
*/
PetscErrorCode(MatAIJCUDAHostBegin)(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, for the function who. */
PetscErrorCode MatAIJCUDAHostBegin_Private(Mat A, int access, const char who[])
{
  PetscFunctionBegin;
  PetscCallReported(REPORT_OTHER, who, HostBegin(A, access));
  MatAIJCUDAScope.host++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostEnd - Notes what host code did to the mirror since MatAIJCUDAHostBegin() with the same access; the data of A may have been replaced meanwhile. */
PetscErrorCode MatAIJCUDAHostEnd(Mat A, int access)
{
  PetscFunctionBegin;
  MatAIJCUDAScope.host--;
  PetscCall(HostEnd(A, access));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAArrayBegin - MatAIJCUDAHostBegin() for an array that leaves our hands until MatAIJCUDAArrayEnd(). */
PetscErrorCode MatAIJCUDAArrayBegin(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCallReported(REPORT_OTHER, "MatSeqAIJGetArray() and the like", HostBegin(A, access));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAArrayEnd - The array has come back. */
PetscErrorCode MatAIJCUDAArrayEnd(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCall(HostEnd(A, access));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAShowToReader - Brings the mirror up to date for host code that reads it without MatAIJCUDAHostBegin(), right after this call; access is HOST_READ_STRUCTURE or HOST_READ.

  A is any matrix or NULL; others than ours are left alone, parallel ones are treated block by block. The test hook hides the arrays again after the next access.
*/
PetscErrorCode MatAIJCUDAShowToReader(Mat A, int access)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access, "host code that does not ask"));
  PetscCall(MatAIJCUDAHostEnd(A, access));
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) PetscCall(MatSeqAIJCUDAShowMirror(A));
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    PetscCall(MatAIJCUDAShowToReader(((Mat_MPIAIJ *)A->data)->A, access));
    PetscCall(MatAIJCUDAShowToReader(((Mat_MPIAIJ *)A->data)->B, access));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAKeepStructure - Host code that reads the structure of an assembled matrix directly was met: the structure is made, and from now on at once after every change.

  Costs a copy of the structure to the host whenever it has changed; insertion no longer appends to rows.
*/
PetscErrorCode MatSeqAIJCUDAKeepStructure(Mat A)
{
  PetscFunctionBegin;
  MatSeqAIJCUDAGet(A)->mirror.at_once = PETSC_TRUE;
  PetscCall(MatAIJCUDAShowToReader(A, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAInheritKept - B, which something made of A, has its structure on the host at once where A has it as a matrix that stands alone. */
void MatSeqAIJCUDAInheritKept(Mat A, Mat B)
{
  const MatHostMirror *a = &MatSeqAIJCUDAGet(A)->mirror;

  if (a->role != ROLE_BLOCK && a->at_once) MatSeqAIJCUDAGet(B)->mirror.at_once = PETSC_TRUE;
}

/* MatSeqAIJCUDAUpdateKept - Makes the structure on the host after a change, where it is kept. */
PetscErrorCode MatSeqAIJCUDAUpdateKept(Mat A)
{
  PetscFunctionBegin;
  if (!MatSeqAIJCUDAKeepsStructure(A) || MatSeqAIJCUDAHasHost(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin_Private(A, HOST_READ_STRUCTURE, "a change of a kept structure"));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the accesses to a matrix, or to its blocks, only the one that is about to end is left. */
static PetscErrorCode ForgetArrays(Mat A)
{
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    MatSeqAIJCUDAGet(A)->mirror.active = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    PetscCall(ForgetArrays(((Mat_MPIAIJ *)A->data)->A));
    PetscCall(ForgetArrays(((Mat_MPIAIJ *)A->data)->B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAHostFinish - MatAIJCUDAHostEnd() after host code that may have failed: ierr is what it returned, and is handed on.

  After an error the mirror stays where the host code left it: what it had leave to write counts as written. Arrays that it holds do not come back.
*/
PetscErrorCode MatAIJCUDAHostFinish(Mat A, int access, PetscErrorCode ierr)
{
  PetscErrorCode ended;

  if (ierr != PETSC_SUCCESS) (void)ForgetArrays(A);
  ended = MatAIJCUDAHostEnd(A, access);
  return ierr != PETSC_SUCCESS ? ierr : ended;
}

/* MatAIJCUDAHostBeginTwo - MatAIJCUDAHostBegin() for two matrices, each of which may be NULL, or for neither when it fails. */
PetscErrorCode MatAIJCUDAHostBeginTwo_Private(Mat A, int access_a, Mat B, int access_b, const char who[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access_a, who));
  ierr = MatAIJCUDAHostBegin_Private(B, access_b, who);
  if (ierr != PETSC_SUCCESS) PetscCall(MatAIJCUDAHostFinish(A, access_a, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostFinishTwo - MatAIJCUDAHostFinish() for two matrices. */
PetscErrorCode MatAIJCUDAHostFinishTwo(Mat A, int access_a, Mat B, int access_b, PetscErrorCode ierr)
{
  return MatAIJCUDAHostFinish(A, access_a, MatAIJCUDAHostFinish(B, access_b, ierr));
}
