/*
  Transposes of parallel matrices on the device: each process transposes its diagonal block; the entries of its off-diagonal block belong to others afterwards, and travel as values that were
  set for other processes do.
*/
#include "transpose.h"
#include "../core/core.h"
#include "../exchange/exchange.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"

/* The off-diagonal block as a list of entries of the transpose, device arrays; all NULL after an error. */
typedef struct {
  PetscCount   n;
  PetscInt    *i, *j;
  PetscScalar *v;
} EntryList;

static PetscErrorCode EntryListDestroy(EntryList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&list->i, stream));
  PetscCall(PetscSparseCUDAFree(&list->j, stream));
  PetscCall(PetscSparseCUDAFree(&list->v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EntryListCreate(Mat A, EntryList *list, cudaStream_t stream)
{
  Mat_MPIAIJ    *a      = (Mat_MPIAIJ *)A->data;
  const DCSRView view   = MatSeqAIJCUDAGet(a->B)->device.view;
  PetscInt      *ghosts = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  list->n = view.num_nonzeros;
  if (list->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(a->B->cmap->n, "ghost columns", stream, &ghosts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(ghosts, a->garray, (size_t)a->B->cmap->n * sizeof(*ghosts), stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->n, "rows of entries for other processes", stream, &list->i));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->n, "columns of entries for other processes", stream, &list->j));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->n, "values for other processes", stream, &list->v));
  PetscCallGoto(ierr, cleanup, DCSRGetTransposedCoordinates(view, A->rmap->rstart, ghosts, list->i, list->j, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(list->v, view.values, (size_t)list->n * sizeof(*list->v), cudaMemcpyDeviceToDevice, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&ghosts, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(EntryListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this process has of the transpose; zero after an error. */
static PetscErrorCode TransposeOwnBlocks(Mat A, DCSRView *diagonal, EntryList *list, cudaStream_t stream)
{
  Mat_MPIAIJ    *a         = (Mat_MPIAIJ *)A->data;
  const Mat      blocks[2] = {a->A, a->B};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
    PetscCall(MatSeqAIJCUDACompact(blocks[k]));
  }
  PetscCall(DCSRTransposeCreate(MatSeqAIJCUDAGet(a->A)->device.view, PETSC_TRUE, PETSC_FALSE, stream, diagonal));
  ierr = EntryListCreate(A, list, stream);
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(diagonal, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes, or an error on all. Collective. */
static PetscErrorCode TransposeBlocks(Mat A, DCSRView *diagonal, EntryList *list, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(diagonal, 1));
  PetscCall(PetscArrayzero(list, 1));
  ierr = TransposeOwnBlocks(A, diagonal, list, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(diagonal, stream));
    PetscCall(EntryListDestroy(list, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of other processes come and go. Collective. */
static PetscErrorCode AssembleWithEntries(Mat T, EntryList *list)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (list->n > 0) ierr = OffProcessStashAppendDevice(&MatMPIAIJCUDAGet(T)->off_process, list->n, &list->i, &list->j, &list->v);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)T), ierr, &ierr));
  PetscCall(ierr);
  if (T->assembled) { // as MatSetValues() leaves it
    T->was_assembled = PETSC_TRUE;
    T->assembled     = PETSC_FALSE;
  }
  T->insertmode = INSERT_VALUES;
  PetscCall(MatAssemblyBegin(T, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(T, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateTranspose(Mat A, Mat *T)
{
  DCSRView       diagonal;
  EntryList      list;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *T = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(TransposeBlocks(A, &diagonal, &list, stream));
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)A), T));
  PetscCallGoto(ierr, failed, MatSetSizes(*T, A->cmap->n, A->rmap->n, A->cmap->N, A->rmap->N));
  PetscCallGoto(ierr, failed, MatSetBlockSizes(*T, A->cmap->bs, A->rmap->bs));
  PetscCallGoto(ierr, failed, MatSetType(*T, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, PetscLayoutSetUp((*T)->rmap));
  PetscCallGoto(ierr, failed, PetscLayoutSetUp((*T)->cmap));
  ierr = MatMPIAIJCUDASetEmpty(*T);
  if (ierr == PETSC_SUCCESS) ierr = MatMPIAIJCUDASetBlock(*T, PETSC_FALSE, &diagonal);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto failed;
  PetscCallGoto(ierr, failed, AssembleWithEntries(*T, &list));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)DCSRViewFree(&diagonal, stream);
  (void)EntryListDestroy(&list, stream);
  (void)MatDestroy(T);
  PetscFunctionReturn(ierr);
}

/* MATMPIAIJ's rule: the transpose of this matrix, whose pattern has not changed since. */
static PetscErrorCode CheckNonzeroState(Mat A, Mat B)
{
  PetscContainer container;
  MatState      *parent;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)B, "MatTransposeParent", (PetscObject *)&container));
  PetscCheck(container != NULL, PetscObjectComm((PetscObject)B), PETSC_ERR_ARG_WRONG, "Reuse matrix used was not generated from call to MatTranspose()");
  PetscCall(PetscContainerGetPointer(container, &parent));
  PetscCheck(parent->id == ((PetscObject)A)->id, PetscObjectComm((PetscObject)B), PETSC_ERR_ARG_WRONG, "Reuse matrix used was not generated from input matrix");
  PetscCheck(parent->nonzerostate == A->nonzerostate, PetscObjectComm((PetscObject)B), PETSC_ERR_ARG_WRONGSTATE, "Reuse matrix has changed nonzero structure");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReuseTranspose(Mat A, Mat T)
{
  DCSRView       diagonal;
  EntryList      list;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CheckNonzeroState(A, T));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(TransposeBlocks(A, &diagonal, &list, stream));
  ierr = MatSeqAIJCUDAReuseView(((Mat_MPIAIJ *)T->data)->A, PETSC_FALSE, &diagonal);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, AssembleWithEntries(T, &list));
cleanup:
  PetscCall(DCSRViewFree(&diagonal, stream));
  PetscCall(EntryListDestroy(&list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_MPIAIJCUDA(Mat A, MatReuse reuse, Mat *B)
{
  PetscBool ours = PETSC_TRUE, device, device_b = PETSC_TRUE;
  Mat       T;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAStructureOnDevice(A, &device));
  if (device && reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatIsMPIAIJCUDA(*B, &ours));
    if (ours) PetscCall(MatMPIAIJCUDAStructureOnDevice(*B, &device_b));
    device = (PetscBool)(ours && device_b);
  }
  if (!device) PetscCall(MatHost_AIJCUDA_transpose(A, reuse, B));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(ReuseTranspose(A, *B));
  else if (reuse == MAT_INITIAL_MATRIX) PetscCall(CreateTranspose(A, B));
  else {
    PetscCall(CreateTranspose(A, &T));
    PetscCall(MatAIJCUDARaiseNonzeroState(T, A->nonzerostate));
    PetscCall(MatHeaderMerge(A, &T));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetTransposeOps - Puts our transpose into a table that has the wrappers already. */
PetscErrorCode MatMPIAIJCUDASetTransposeOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->transpose = MatTranspose_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
