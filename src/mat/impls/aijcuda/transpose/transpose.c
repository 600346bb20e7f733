/*
  Transposes of sequential matrices on the device. Off the device, and in the midst of host code, which may read the arrays of the result directly, the wrapper of the same name
  does it.
*/
#include "transpose.h"
#include "../core/core.h"
#include "../parallel/parallel.h"
#include "../host/wrappers.h"

/* The transpose of A as CSR, with zero values when there are to be none of A's. */
static PetscErrorCode TransposeView(Mat A, PetscBool with_values, DCSRView *view, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCallGpuTime(DCSRTransposeCreate(MatSeqAIJCUDAGet(A)->device.view, with_values, PETSC_FALSE, stream, view));
  if (with_values || view->num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, DCSRViewAllocateValues(view, stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(view->values, 0, (size_t)view->num_nonzeros * sizeof(*view->values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* By CSR. */
static PetscErrorCode CreateTransposeOfCSR(Mat A, PetscBool with_values, Mat *B)
{
  DCSRView     view;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(TransposeView(A, with_values, &view, stream));
  PetscCall(MatSeqAIJCUDACreateFromView(A, A->cmap->bs, A->rmap->bs, &view, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the storage beside CSR is current and makes its transpose itself. */
static PetscErrorCode TransposesStorage(Mat A, PetscBool *transposes)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  *transposes = (PetscBool)(MatSeqAIJCUDAStorageIsCurrent(A) && MatSeqAIJCUDAGet(A)->device.storage->share != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By storage, which is current: no entry moves. */
static PetscErrorCode CreateTransposeOfStorage(Mat A, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCallGoto(ierr, failed, MatSetSizes(*B, A->cmap->n, A->rmap->n, A->cmap->n, A->rmap->n));
  PetscCallGoto(ierr, failed, MatSetBlockSizes(*B, A->cmap->bs, A->rmap->bs));
  PetscCallGoto(ierr, failed, MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDATransposeStorage(A, *B));
  ((Mat_SeqAIJ *)(*B)->data)->nonew = 0;
  MatSeqAIJCUDAInheritKept(A, *B);
  PetscCallGoto(ierr, failed, MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, failed, MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(B);
  PetscFunctionReturn(ierr);
}

/* The transpose, with zero values when there are to be none of A's. */
static PetscErrorCode CreateTranspose(Mat A, PetscBool with_values, Mat *B)
{
  PetscBool storage = PETSC_FALSE;

  PetscFunctionBegin;
  *B = NULL;
  if (with_values) PetscCall(TransposesStorage(A, &storage));
  if (storage) PetscCall(CreateTransposeOfStorage(A, B));
  else PetscCall(CreateTransposeOfCSR(A, with_values, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the pattern of A is that of the last time. */
static PetscErrorCode SameNonzeroState(Mat A, Mat B, PetscBool *same)
{
  PetscContainer container;
  MatState      *parent;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)B, "MatTransposeParent", (PetscObject *)&container));
  PetscCheck(container != NULL, PetscObjectComm((PetscObject)B), PETSC_ERR_ARG_WRONG, "Reuse matrix used was not generated from call to MatTranspose()");
  PetscCall(PetscContainerGetPointer(container, &parent));
  *same = (PetscBool)(parent->nonzerostate == A->nonzerostate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether B can be given the transpose of A: the pattern is that of the last time, and B still has it. */
static PetscErrorCode SamePattern(Mat A, Mat B, DCSRView transpose, cudaStream_t stream, PetscBool *same)
{
  PetscFunctionBegin;
  PetscCall(SameNonzeroState(A, B, same));
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACopyToDevice(B));
  PetscCall(MatSeqAIJCUDACompact(B));
  PetscCall(DCSRHaveSameStructure(transpose, MatSeqAIJCUDAGet(B)->device.view, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By storage: the values of A, or its new structure as well. *done PETSC_FALSE: left to CSR. */
static PetscErrorCode ReuseTransposeOfStorage(Mat A, Mat B, PetscBool *done)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(TransposesStorage(A, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SameNonzeroState(A, B, &same));
  if (same) {
    PetscCall(MatSeqAIJCUDAShareStorageValues(A, B, PETSC_TRUE, done));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *done = (PetscBool)(MatSeqAIJCUDAGet(A)->device.storage == MatSeqAIJCUDAGet(B)->device.storage);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDATransposeStorage(A, B));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatTransposeSetPrecursor(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values alone, or another structure as well when that of A has changed. */
static PetscErrorCode ReuseTranspose(Mat A, Mat B)
{
  PetscBool      same, done;
  DCSRView       view;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ReuseTransposeOfStorage(A, B, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(TransposeView(A, PETSC_TRUE, &view, stream));
  PetscCallGoto(ierr, cleanup, SamePattern(A, B, view, stream, &same));
  if (same) PetscCallGoto(ierr, cleanup, MatSeqAIJCUDATakeValues(B, &view));
  else {
    PetscCallGoto(ierr, cleanup, MatSeqAIJCUDASetDeviceMatrix(B, &view));
    PetscCallGoto(ierr, cleanup, MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCallGoto(ierr, cleanup, MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCallGoto(ierr, cleanup, MatTransposeSetPrecursor(A, B));
  }
cleanup:
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_SeqAIJCUDA(Mat A, MatReuse reuse, Mat *B)
{
  PetscBool ours = PETSC_TRUE, device, device_b = PETSC_TRUE;
  Mat       T;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAStructureOnDevice(A, &device));
  if (device && reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatIsSeqAIJCUDA(*B, &ours));
    if (ours) PetscCall(MatSeqAIJCUDAStructureOnDevice(*B, &device_b));
    device = (PetscBool)(ours && device_b && (*B)->rmap->n == A->cmap->n && (*B)->cmap->n == A->rmap->n);
  }
  if (!device || A->rmap->n > PETSC_INT32_MAX) PetscCall(MatHost_AIJCUDA_transpose(A, reuse, B));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(ReuseTranspose(A, *B));
  else if (reuse == MAT_INITIAL_MATRIX) PetscCall(CreateTranspose(A, PETSC_TRUE, B));
  else {
    PetscCall(CreateTranspose(A, PETSC_TRUE, &T));
    PetscCall(MatAIJCUDARaiseNonzeroState(T, A->nonzerostate));
    PetscCall(MatHeaderMerge(A, &T));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of the parent type give the transpose the type of another operand: a MATSEQAIJ becomes any subclass, ours would lose its data. */
static PetscErrorCode MatTransposeSymbolic_SeqAIJCUDA(Mat A, Mat *B)
{
  const PetscBool in_host_code = MatAIJCUDAInHostCode();
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAStructureOnDevice(A, &device));
  if (device && A->rmap->n <= PETSC_INT32_MAX) PetscCall(CreateTranspose(A, PETSC_FALSE, B));
  else PetscCall(MatHost_SeqAIJCUDA_transposesymbolic(A, B));
  if (in_host_code) PetscCall(MatConvert(*B, MATSEQAIJ, MAT_INPLACE_MATRIX, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatIsTransposeDevice_SeqAIJCUDA - MatIsTranspose(), or with conjugate MatIsHermitianTranspose(), on the device; B is any matrix, may be A, tol the largest difference of two entries.

  *done: PETSC_FALSE when there is no answer, the host has to find it.
*/
PetscErrorCode MatIsTransposeDevice_SeqAIJCUDA(Mat A, Mat B, PetscReal tol, PetscBool conjugate, PetscBool *is, PetscBool *done)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(B, done));
  if (*done) PetscCall(MatSeqAIJCUDAUseDevice(A, done));
  if (*done) PetscCall(MatSeqAIJCUDAUseDevice(B, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(MatSeqAIJCUDACopyToDevice(B));
  PetscCall(MatSeqAIJCUDACompact(B));
  PetscCall(DCSRIsTranspose(MatSeqAIJCUDAGet(A)->device.view, MatSeqAIJCUDAGet(B)->device.view, tol, conjugate, stream, done, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetTransposeOps - Puts our transposes into a table that has the wrappers already. */
PetscErrorCode MatSeqAIJCUDASetTransposeOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->transpose         = MatTranspose_SeqAIJCUDA;
  ops->transposesymbolic = MatTransposeSymbolic_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
