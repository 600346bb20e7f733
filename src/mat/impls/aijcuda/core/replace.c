/*
  New device storage, a new structure or new values for a sequential matrix: what insertion, transposes, submatrices and products end with; and the limits of rows that a
  preallocation notes, which are gone when the storage is replaced.
*/
#include "core.h"
#include "../../../../petsc/parents.h"

/* Composed with a matrix whose rows have limits, [m] PetscInt on the host. */
static const char ROW_LIMITS_KEY[] = "MatSeqAIJCUDA_RowLimits";

/* MatSeqAIJCUDAStructureOnDevice - Whether an operation that makes a new structure from that of A, a sequential matrix of ours, runs on the device now. */
PetscErrorCode MatSeqAIJCUDAStructureOnDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, device));
  *device = (PetscBool)(*device && MatSeqAIJCUDAGet(A)->mirror.active == 0 && !MatAIJCUDAInHostCode());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDADiscardStaged - Values of MatSetValues() that have not joined A, a sequential matrix of ours, are dropped: its entries are about to be replaced, and MATAIJ forgets what has not been assembled. */
PetscErrorCode MatSeqAIJCUDADiscardStaged(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (d->staging.stage == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRStageDestroy(&d->staging.stage, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetDeviceMatrix - Makes compact device storage the matrix; what it was before is discarded, with values that wait to be inserted.

  Not Collective

  Input Parameters:
+ A    - a sequential matrix of ours
- view - its arrays now belong to A; zero afterwards

  Errors: PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than a matrix may have; A and view are as they were.

  Note:
  The matrix is preallocated and not assembled then. A block of a parallel matrix gets its host structure at once.
*/
PetscErrorCode MatSeqAIJCUDASetDeviceMatrix(Mat A, DCSRView *view)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(DCSRCheckNonzeros(view->num_nonzeros));
  PetscCall(MatSeqAIJCUDADiscardStaged(A));
  PetscCall(MatSeqAIJCUDADiscardMirror(A));
  PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscCall(PetscObjectCompose((PetscObject)A, ROW_LIMITS_KEY, NULL));
  PetscCall((*MatAIJCUDAParentSeq.setpreallocation)(A, MAT_SKIP_ALLOCATION, NULL)); // ends the hash phase, bumps the state
  a->compressedrow.use       = PETSC_FALSE;
  d->device.view             = *view;
  d->device.structure        = PETSC_TRUE;
  d->device.has_values       = PETSC_TRUE;
  d->device.nonzerostate     = A->nonzerostate;
  d->staging.device_assembly = PETSC_TRUE;
  A->offloadmask             = PETSC_OFFLOAD_GPU;
  PetscCall(PetscIntCast(view->num_nonzeros, &a->nz));
  a->maxnz            = a->nz;
  A->info.nz_unneeded = 0;
  PetscCall(PetscArrayzero(view, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetEmpty - Makes A a matrix without entries, ready for values from anywhere. */
PetscErrorCode MatSeqAIJCUDASetEmpty(Mat A)
{
  DCSRView     view;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRViewAllocateCompact(A->rmap->n, A->cmap->n, 0, PETSC_FALSE, stream, &view));
  PetscCallCUDA(cudaMemsetAsync(view.row_offsets, 0, (size_t)(A->rmap->n + 1) * sizeof(int32_t), stream));
  PetscCall(MatSeqAIJCUDASetDeviceMatrix(A, &view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAStructureChanged - Notes that the device has a new structure, and that nothing else has it. */
PetscErrorCode MatSeqAIJCUDAStructureChanged(Mat A)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADropPlans(A));
  A->nonzerostate++;
  d->device.nonzerostate    = A->nonzerostate;
  d->plans.fragmented_mults = 0;
  A->offloadmask            = PETSC_OFFLOAD_GPU;
  if (d->mirror.structure) PetscCall(MatSeqAIJCUDADiscardMirror(A));
  PetscCall(PetscIntCast(d->device.view.num_nonzeros, &a->nz));
  a->maxnz = PetscMax(a->maxnz, a->nz); // what was preallocated counts as allocated, as in MATSEQAIJ
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDACreateFromView - A new matrix of the type of A with compact device storage.

  Collective

  Input Parameters:
+ A    - a sequential matrix of ours
. rbs  - block size of the rows, or not positive
. cbs  - block size of the columns, or not positive
- view - its arrays now belong to B; zero afterwards, also after an error

  Output Parameter:
. B - the assembled matrix; NULL after an error
*/
PetscErrorCode MatSeqAIJCUDACreateFromView(Mat A, PetscInt rbs, PetscInt cbs, DCSRView *view, Mat *B)
{
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *B = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCallGoto(ierr, failed, MatSetSizes(*B, view->num_rows, view->num_columns, view->num_rows, view->num_columns));
  PetscCallGoto(ierr, failed, MatSetBlockSizes(*B, rbs, cbs));
  PetscCallGoto(ierr, failed, MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDASetDeviceMatrix(*B, view));
  ((Mat_SeqAIJ *)(*B)->data)->nonew            = 0;
  MatSeqAIJCUDAGet(*B)->mirror.keeps_structure = MatSeqAIJCUDAGet(A)->mirror.keeps_structure;
  PetscCallGoto(ierr, failed, MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, failed, MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDAUpdateKept(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)DCSRViewFree(view, stream);
  (void)MatDestroy(B);
  PetscFunctionReturn(ierr);
}

/*
  MatSeqAIJCUDATakeValues - The values of compact storage of the same structure become those of the matrix.

  Not Collective

  Input Parameters:
+ B    - a sequential matrix of ours, compact and current on the device
- view - loses its values
*/
PetscErrorCode MatSeqAIJCUDATakeValues(Mat B, DCSRView *view)
{
  Mat_SeqAIJCUDA *b      = MatSeqAIJCUDAGet(B);
  PetscScalar    *values = b->device.view.values;

  PetscFunctionBegin;
  b->device.view.values   = view->values;
  b->device.view.capacity = b->device.view.num_nonzeros; // room behind the entries went with the old values
  view->values            = values;
  b->device.has_values    = PETSC_TRUE;
  PetscCall(MatSeqAIJCUDADeviceChanged(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAReuseView - New storage gives its values to a matrix that has its structure already; for MAT_REUSE_MATRIX.

  Not Collective

  Input Parameters:
+ B       - a sequential matrix of ours that uses the device
. replace - a matrix of another structure gets that of the storage, too
- view    - of the size of B; freed

  Errors: PETSC_ERR_ARG_SIZ when the structures differ, without replace; B is as it was.
*/
PetscErrorCode MatSeqAIJCUDAReuseView(Mat B, PetscBool replace, DCSRView *view)
{
  PetscBool      same = PETSC_FALSE;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACopyToDevice(B));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACompact(B));
  PetscCallGoto(ierr, cleanup, DCSRHaveSameStructure(*view, MatSeqAIJCUDAGet(B)->device.view, stream, &same));
  if (same) PetscCallGoto(ierr, cleanup, MatSeqAIJCUDATakeValues(B, view));
  else if (replace) {
    PetscCallGoto(ierr, cleanup, MatSeqAIJCUDASetDeviceMatrix(B, view));
    PetscCallGoto(ierr, cleanup, MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCallGoto(ierr, cleanup, MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  }
cleanup:
  PetscCall(DCSRViewFree(view, stream));
  PetscCall(ierr);
  PetscCheck(same || replace, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Cannot reuse matrix. wrong number of nonzeros, or others");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetRowLimits - Notes a preallocation by the user: for MatGetInfo(), which reports it as MATSEQAIJ does, and for MAT_NEW_NONZERO_ALLOCATION_ERR and
  MAT_UNUSED_NONZERO_LOCATION_ERR in the first assembly.

  Not Collective

  Input Parameters:
+ A   - an empty sequential matrix of ours
. nz  - entries a row; negative: MATSEQAIJ's default
- nnz - [m] entries of each row, or NULL
*/
PetscErrorCode MatSeqAIJCUDASetRowLimits(Mat A, PetscInt nz, const PetscInt nnz[])
{
  const PetscInt same = PetscMin(nz < 0 ? 5 : nz, A->cmap->n);
  PetscInt64     sum  = 0;
  PetscInt      *limits;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(A->rmap->n + 1, &limits)); // never NULL
  for (PetscInt row = 0; row < A->rmap->n; row++) {
    limits[row] = nnz != NULL ? nnz[row] : same;
    sum += limits[row];
  }
  ((Mat_SeqAIJ *)A->data)->maxnz = (PetscInt)PetscMin(sum, (PetscInt64)PETSC_INT_MAX);
  PetscCall(PetscObjectContainerCompose((PetscObject)A, ROW_LIMITS_KEY, limits, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAGetRowLimits - The preallocation that MatSeqAIJCUDASetRowLimits() noted.

  Not Collective

  Input Parameter:
. A - a sequential matrix of ours

  Output Parameter:
. limits - [m] borrowed from A; NULL when there is none
*/
PetscErrorCode MatSeqAIJCUDAGetRowLimits(Mat A, const PetscInt *limits[])
{
  PetscInt *noted = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)A, ROW_LIMITS_KEY, &noted));
  *limits = noted;
  PetscFunctionReturn(PETSC_SUCCESS);
}
