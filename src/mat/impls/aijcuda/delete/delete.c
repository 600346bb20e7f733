/*
  Zeroing of rows and columns, and elimination of zeros, on the device. The results are those of MATSEQAIJ; where it would insert a diagonal entry that options
  forbid, or raise an error, the wrapper of the same name does it.

  MatFilter() has no operation of its own: PETSc's goes through MatGetRow() and MatSetValues() on the host (host/rowaccess.c), and ends with MatEliminateZeros().
*/
#include "delete.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include <petscsparsecuda/delete.h>

/* What the operations on listed rows share. */
typedef struct {
  PetscInt     n;
  PetscInt    *rows; /* [n] device */
  PetscScalar  diag;
  PetscBool    fix_b; /* vectors were given: b = diag x in the listed rows */
  DeviceArray  x, b;
  cudaStream_t stream;
} ListedRows;

/* Whether A deletes on the device now: not while host code holds its arrays. */
static PetscErrorCode DeletesOnDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, device));
  *device = (PetscBool)(*device && MatSeqAIJCUDAGet(A)->host.active == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the list to the device and asks the vectors for their arrays. After an error too, ListedRowsEnd() gives back what was taken. */
static PetscErrorCode ListedRowsBegin(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b, ListedRows *list)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  list->n     = n;
  list->diag  = diag;
  list->fix_b = (PetscBool)(x != NULL && b != NULL);
  for (PetscInt k = 0; k < n; k++) PetscCheck(rows[k] >= 0 && rows[k] < A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "row %" PetscInt_FMT " out of range", rows[k]);
  PetscCall(PetscSparseCUDAGetStream(&list->stream));
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAMalloc(n, "list of rows", list->stream, &list->rows));
  PetscCall(PetscSparseCUDACopyToDevice(list->rows, rows, (size_t)n * sizeof(*rows), list->stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)n * sizeof(*rows)));
  if (list->fix_b) {
    PetscCall(GetDeviceArray(A, x, A->cmap->n, ARRAY_READ, &d->x, list->stream, &list->x));
    PetscCall(GetDeviceArray(A, b, A->rmap->n, ARRAY_READ_WRITE, &d->y, list->stream, &list->b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hands on ierr, what the operation returned. */
static PetscErrorCode ListedRowsEnd(ListedRows *list, PetscErrorCode ierr)
{
  PetscErrorCode freed;

  ierr  = RestoreDeviceArray(&list->x, list->stream, ierr);
  ierr  = RestoreDeviceArray(&list->b, list->stream, ierr);
  freed = PetscSparseCUDAFree(&list->rows, list->stream);
  return ierr != PETSC_SUCCESS ? ierr : freed;
}

/* b = diag x in the listed rows, if vectors were given. */
static PetscErrorCode SetRightHandSide(Mat A, const ListedRows *list)
{
  PetscFunctionBegin;
  if (list->fix_b) PetscCall(DCSRSetRightHandSide(list->n, list->rows, A->cmap->n, list->diag, list->x.device, list->b.device, list->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes new compact storage the matrix. A block of a parallel matrix gets its host structure where it is kept. */
static PetscErrorCode TakeView(Mat A, const DCSRView *view, const DCSRDeletion *deletion, cudaStream_t stream)
{
  Mat_SeqAIJ      *a       = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA  *d       = MatSeqAIJCUDAGet(A);
  const PetscCount removed = d->device.view.num_nonzeros - view->num_nonzeros;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADropPlans(A)); // of the old arrays
  PetscCall(DCSRViewFree(&d->device.view, stream));
  d->device.view = *view;
  PetscCall(MatSeqAIJCUDAStructureChanged(A));
  PetscCall(PetscIntCast(deletion->max_row_size, &a->rmax));
  PetscCall(PetscIntCast(deletion->num_nonempty_rows, &a->nonzerorowcnt));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscCall(MatSeqAIJCUDAUpdateBlock(A));
  PetscCall(PetscInfo(A, "%" PetscCount_FMT " entries removed on the device, %" PetscInt_FMT " left\n", removed, a->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether MATSEQAIJ would neither insert a diagonal entry, against its options, nor raise an error; rows are there. Synchronizes. */
static PetscErrorCode CanZeroRows(Mat A, const ListedRows *list, PetscBool *can)
{
  const Mat_SeqAIJ *a       = (Mat_SeqAIJ *)A->data;
  const DCSRView    view    = MatSeqAIJCUDAGet(A)->device.view;
  PetscCount        missing = 0;

  PetscFunctionBegin;
  if (list->diag != 0.0 && a->keepnonzeropattern) PetscCall(DCSRCountRowsWithoutDiagonal(view, list->n, list->rows, list->stream, &missing));
  else if (list->diag != 0.0 && a->nonew != 0) PetscCall(DCSRCountEmptyRows(view, list->n, list->rows, list->stream, &missing));
  *can = (PetscBool)(missing == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows are removed from the pattern, but for their diagonal entries; where they have no others the pattern stays what it is, which MATSEQAIJ counts as a new one. Synchronizes. */
static PetscErrorCode RemoveRows(Mat A, const ListedRows *list)
{
  const DCSRView from = MatSeqAIJCUDAGet(A)->device.view;
  PetscCount     changing;
  DCSRView       view;
  DCSRDeletion   deletion;

  PetscFunctionBegin;
  PetscCall(DCSRCountChangingRows(from, list->n, list->rows, list->diag, list->stream, &changing));
  if (changing > 0) {
    PetscCall(DCSRRemoveRows(from, list->n, list->rows, list->diag, list->stream, &view, &deletion));
    PetscCall(TakeView(A, &view, &deletion, list->stream));
  } else {
    PetscCall(DCSRZeroRows(from, list->n, list->rows, list->diag, list->stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *done: PETSC_FALSE when this is left to the host, and nothing was changed. */
static PetscErrorCode ZeroRows(Mat A, ListedRows *list, PetscBool *done)
{
  const Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!a->keepnonzeropattern && a->nounused == -1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CanZeroRows(A, list, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->keepnonzeropattern) {
    PetscCall(DCSRZeroRows(MatSeqAIJCUDAGet(A)->device.view, list->n, list->rows, list->diag, list->stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(A));
  } else PetscCall(RemoveRows(A, list));
  PetscCall(SetRightHandSide(A, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRows_SeqAIJCUDA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  PetscBool      device;
  PetscErrorCode ierr;
  ListedRows     list;

  PetscFunctionBegin;
  PetscCall(DeletesOnDevice(A, &device));
  if (device && n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (device) {
    ierr = ListedRowsBegin(A, n, rows, diag, x, b, &list);
    if (ierr == PETSC_SUCCESS) ierr = ZeroRows(A, &list, &device);
    PetscCall(ListedRowsEnd(&list, ierr));
  }
  if (!device) PetscCall(MatHost_SeqAIJCUDA_zerorows(A, n, rows, diag, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  flags [max(rows, columns)] device: of rows and, since they have the same numbers, of columns. What may fail for want of memory comes before what changes the matrix. *done: as in ZeroRows().
*/
static PetscErrorCode ZeroFlagged(Mat A, const ListedRows *list, unsigned char flags[], PetscBool *done)
{
  const DCSRView view    = MatSeqAIJCUDAGet(A)->device.view;
  PetscCount     missing = 0;

  PetscFunctionBegin;
  if (list->diag != 0.0) PetscCall(DCSRCountRowsWithoutDiagonal(view, list->n, list->rows, list->stream, &missing));
  *done = (PetscBool)(missing == 0);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRFlagIndices(list->n, list->rows, PetscMax(A->rmap->n, A->cmap->n), flags, list->stream));
  PetscCall(DCSRZeroColumns(view, flags, flags, list->x.device, list->b.device, list->stream));
  PetscCall(DCSRZeroRows(view, list->n, list->rows, list->diag, list->stream));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *done: as in ZeroRows(). */
static PetscErrorCode ZeroRowsColumns(Mat A, ListedRows *list, PetscBool *done)
{
  unsigned char *flags = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(PetscMax(A->rmap->n, A->cmap->n), "flags of rows and columns", list->stream, &flags));
  ierr = ZeroFlagged(A, list, flags, done);
  PetscCall(PetscSparseCUDAFree(&flags, list->stream));
  PetscCall(ierr);
  if (*done) PetscCall(SetRightHandSide(A, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSEQAIJ keeps the pattern here whatever MAT_KEEP_NONZERO_PATTERN says. */
static PetscErrorCode MatZeroRowsColumns_SeqAIJCUDA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  PetscBool      device;
  PetscErrorCode ierr;
  ListedRows     list;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DeletesOnDevice(A, &device));
  if (device) {
    ierr = ListedRowsBegin(A, n, rows, diag, x, b, &list);
    if (ierr == PETSC_SUCCESS) ierr = ZeroRowsColumns(A, &list, &device);
    PetscCall(ListedRowsEnd(&list, ierr));
  }
  if (!device) PetscCall(MatHost_SeqAIJCUDA_zerorowscolumns(A, n, rows, diag, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminateZeros(Mat A, PetscBool keep)
{
  DCSRView     view;
  DCSRDeletion deletion;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSREliminateZeros(MatSeqAIJCUDAGet(A)->device.view, keep, 0, stream, &view, &deletion));
  if (!deletion.changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TakeView(A, &view, &deletion, stream));
  // forgets what was known of symmetry, as with MATSEQAIJ
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatEliminateZeros_SeqAIJCUDA(Mat A, PetscBool keep)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(DeletesOnDevice(A, &device));
  if (device) PetscCall(EliminateZeros(A, keep));
  else PetscCall(MatHost_SeqAIJCUDA_eliminatezeros(A, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetDeletionOps - Puts our operations of deletion into the table of a sequential matrix, which has the wrappers already. */
PetscErrorCode MatSeqAIJCUDASetDeletionOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->zerorows        = MatZeroRows_SeqAIJCUDA;
  ops->zerorowscolumns = MatZeroRowsColumns_SeqAIJCUDA;
  ops->eliminatezeros  = MatEliminateZeros_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
