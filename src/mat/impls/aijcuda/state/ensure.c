/* What makes the CSR of a sequential matrix current on the device, compact, or go. */
#include "state.h"
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

/* Frees what was made of the structure of the device copy: storage beside CSR, plans, explicit transpose, wide index arrays. CSR is current, or not needed any more. */
PetscErrorCode MatSeqAIJCUDADropPlans(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADropStorage(A));
  PetscCall((*d->device.csr->destroy)(A, NULL));
  if (d->plans.wide_i == NULL && d->plans.wide_j == NULL && d->plans.hash == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.hash, stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.wide_i, stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.wide_j, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the device copy; the host copy must be current, or the matrix is about to be destroyed. */
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
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->host.hidden;

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

/* Notes that a device operation changed the values of the CSR view: the host copy's are stale, and those of storage beside it. */
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

/* Structure if it changed, and values, from the host arrays. */
static PetscErrorCode Upload(Mat A, PetscBool current)
{
  PetscFunctionBegin;
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);                     // until all is there
  if (!current || MatSeqAIJCUDAGet(A)->device.view.row_offsets == NULL) { // the order of values on the host is that of compact CSR
    PetscCheck(MatSeqAIJCUDAHasHost(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Neither the host nor the device has the structure of this matrix");
    PetscCheck(!MatSeqAIJCUDAHostHasGaps(A), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "Values were set on the host, or preallocated there, and not assembled: call MatAssemblyBegin() and MatAssemblyEnd() before the matrix is used on the device");
    if (MatSeqAIJCUDAGet(A)->device.nonzerostate != A->nonzerostate) MatSeqAIJCUDANewStructure(A);
    PetscCall(MatSeqAIJCUDADropDevice(A));
    PetscCallReported(REPORT_STRUCTURE, NULL, MatSeqAIJCUDAUploadStructure(A));
  }
  PetscCall(MatSeqAIJCUDAUploadValues(A));
  MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the CSR view current: structure when it changed, values when the host copy's or those of other storage are newer. Cheap when there is nothing to do. */
PetscErrorCode MatSeqAIJCUDACopyToDevice(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       current;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  current = MatSeqAIJCUDADeviceHasStructure(A);
  if (current) PetscCall(MatSeqAIJCUDAGetCSR(A));
  if (current && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A->offloadmask != PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The newest values are on the device, under a structure that is no longer current");
  PetscCall(MatSeqAIJCUDAShowHostArrays(A));
  PetscCall(PetscLogEventBegin(PETSCSPARSECUDA_CopyToDevice, A, 0, 0, 0));
  ierr = Upload(A, current);
  PetscCall(PetscLogEventEnd(PETSCSPARSECUDA_CopyToDevice, A, 0, 0, 0));
  if (d->host.active == 0) PetscCall(MatSeqAIJCUDAHideHostArrays(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room: compact rows keep that of the pool, and *done says whether the device has memory for them beside it. */
static PetscErrorCode Defragment(Mat A, PetscBool room, PetscBool *done)
{
  Mat_SeqAIJCUDA *d    = MatSeqAIJCUDAGet(A);
  DCSRView        like = d->device.view, view;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  like.wide = PETSC_FALSE; // the pool may have been wide, its entries need not be
  *done     = PETSC_TRUE;
  if (room) {
    PetscCall(DCSRViewTryAllocateSpare(&like, like.num_nonzeros, PETSC_TRUE, like.capacity - like.num_nonzeros, stream, &view, done));
    if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = DCSRDefragment(d->device.view, view, stream);
    PetscCall(PetscPopErrorHandler());
    *done = (PetscBool)(ierr != PETSC_ERR_MEM);
  } else {
    PetscCall(DCSROverflowDestroy(&d->plans.overflow, stream)); // memory for another one
    PetscCall(DCSRViewAllocateSpare(&like, like.num_nonzeros, PETSC_TRUE, 0, stream, &view));
    ierr = DCSRDefragment(d->device.view, view, stream);
  }
  if (ierr != PETSC_SUCCESS) goto failed;
  PetscCall(MatSeqAIJCUDADropPlans(A));
  PetscCall(DCSRViewFree(&d->device.view, stream));
  d->device.view = view;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(*done ? ierr : PETSC_SUCCESS);
}

/* Makes compact CSR of what the device has, fragmented CSR or other storage; structure and values stay what they are. */
PetscErrorCode MatSeqAIJCUDACompact(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetCSR(A));
  if (d->device.view.row_offsets == NULL && d->device.view.segments != NULL) PetscCallLogged(PETSCSPARSECUDA_Defragment, A, Defragment(A, PETSC_FALSE, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes fragmented rows compact, for products that do without: the room for the next batch stays. Where the device has no memory for two pools, it is tried again when there were twice as many products. */
PetscErrorCode MatSeqAIJCUDACompactIfRoom(Mat A)
{
  MatPlans *plans = &MatSeqAIJCUDAGet(A)->plans;
  PetscBool done;

  PetscFunctionBegin;
  if (plans->fragmented_mults < plans->compact_from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallLogged(PETSCSPARSECUDA_Defragment, A, Defragment(A, PETSC_TRUE, &done));
  if (!done) plans->compact_from = 2 * plans->fragmented_mults + 24;
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
