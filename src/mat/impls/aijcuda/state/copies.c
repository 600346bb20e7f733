/*
  Copies of one sequential matrix between the host arrays of its Mat_SeqAIJ and compact CSR on the device, and what makes and frees the host arrays. Who has the newest values is not known here
  (ensure.c).
*/
#include "state.h"
#include <petscsparsecuda/blocks.h>
#include <petscsparsecuda/report.h>

/*
  MatSeqAIJCUDAShowHostArrays - Puts the host arrays back where host code looks for them.

  MatSeqAIJCUDAHideHostArrays - Takes them away again, so that a test sees every direct read outside our wrappers as a crash. Does nothing without the test hook.
*/
PetscErrorCode MatSeqAIJCUDAShowHostArrays(Mat A)
{
  Mat_SeqAIJ      *a      = (Mat_SeqAIJ *)A->data;
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->host.hidden;

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

PetscErrorCode MatSeqAIJCUDAHideHostArrays(Mat A)
{
  Mat_SeqAIJ      *a      = (Mat_SeqAIJ *)A->data;
  MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->host.hidden;

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

/*
  MatSeqAIJCUDADiscardHostArrays - Frees the host arrays of a sequential matrix of ours; the device has another structure, or is about to get it.

  Arrays that belong to the user are let go. MATSEQAIJ's longest row is not known meanwhile: MatSeqAIJGetMaxRowNonzeros() gives -1.
*/
PetscErrorCode MatSeqAIJCUDADiscardHostArrays(Mat A)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAShowHostArrays(A));
  PetscCall(MatSeqAIJCUDATakeRowLimits(A));
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
  PetscCall(MatSeqAIJMarkDiagonal(A, h->i, h->j)); // first: it may lack memory, and then the arrays stay the caller's
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

/* The arrays, whose values are not filled, become those of the matrix. */
static PetscErrorCode InstallHostArrays(Mat A, HostArrays *h)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(ReplaceHostArrays(A, h));
  PetscCall(PetscArrayzero(h, 1));                                                                 // they belong to A now
  PetscCall(MatCheckCompressedRow(A, a->nonzerorowcnt, &a->compressedrow, a->i, A->rmap->n, 0.6)); // the ratio MATSEQAIJ uses
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDADownloadStructure - Makes i, j, ilen, imax and room for values on the host from compact CSR; after PETSC_ERR_MEM of their allocation A is as it was. */
PetscErrorCode MatSeqAIJCUDADownloadStructure(Mat A, DCSRView view)
{
  HostArrays     h = {NULL, NULL, NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, AllocateHostArrays(A->rmap->n, view.num_nonzeros, &h));
  PetscCallGoto(ierr, failed, FillHostStructure(view, &h));
  PetscCallGoto(ierr, failed, InstallHostArrays(A, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeHostArrays(&h));
  PetscFunctionReturn(ierr);
}

/* MatSeqAIJCUDACopyHostStructure - Gives B the host structure of A, without values; after PETSC_ERR_MEM of their allocation B is as it was. */
PetscErrorCode MatSeqAIJCUDACopyHostStructure(Mat A, Mat B)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;
  const PetscInt    m = A->rmap->n;
  HostArrays        h = {NULL, NULL, NULL, NULL, NULL};
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, AllocateHostArrays(m, a->i[m], &h));
  PetscCallGoto(ierr, failed, PetscArraycpy(h.i, a->i, m + 1));
  PetscCallGoto(ierr, failed, PetscArraycpy(h.j, a->j, a->i[m]));
  SizeRows(m, &h);
  PetscCallGoto(ierr, failed, InstallHostArrays(B, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeHostArrays(&h));
  PetscFunctionReturn(ierr);
}

/* MatSeqAIJCUDADownloadValues - Values of compact CSR to the host arrays, whose positions are the same. */
PetscErrorCode MatSeqAIJCUDADownloadValues(Mat A)
{
  const DCSRView *view  = &MatSeqAIJCUDAGet(A)->device.view;
  const size_t    bytes = (size_t)view->num_nonzeros * sizeof(PetscScalar);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallReported(REPORT_VALUES, NULL, PetscSparseCUDACopyToHost(((Mat_SeqAIJ *)A->data)->a, view->values, bytes, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAUploadStructure - Compact CSR of the host structure, without values, becomes the device copy of a matrix that has none. */
PetscErrorCode MatSeqAIJCUDAUploadStructure(Mat A)
{
  Mat_SeqAIJ      *a   = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA  *d   = MatSeqAIJCUDAGet(A);
  const PetscInt   m   = A->rmap->n;
  const PetscCount nnz = a->i != NULL ? (PetscCount)a->i[m] : 0;
  DCSRView         view;
  PetscBool        wide;
  cudaStream_t     stream;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
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

/* MatSeqAIJCUDAUploadValues - Values of the host arrays to compact CSR, whose positions are the same. */
PetscErrorCode MatSeqAIJCUDAUploadValues(Mat A)
{
  const DCSRView *view = &MatSeqAIJCUDAGet(A)->device.view;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallReported(REPORT_VALUES, NULL, PetscSparseCUDACopyToDevice(view->values, ((Mat_SeqAIJ *)A->data)->a, (size_t)view->num_nonzeros * sizeof(PetscScalar), stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)view->num_nonzeros * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
