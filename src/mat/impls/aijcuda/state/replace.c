/*
  New device storage, a new structure or new values for a sequential matrix: what insertion, transposes, submatrices and products end with; and the limits of rows that a
  preallocation notes, which are gone when the storage is replaced.
*/
#include "state.h"
#include "../../../../petsc/parents.h"

/* Composed with a matrix whose rows have limits, [m] PetscInt on the host. */
static const char ROW_LIMITS_KEY[] = "MatSeqAIJCUDA_RowLimits";

/* MatSeqAIJCUDAStructureOnDevice - Whether an operation that makes a new structure from that of A, a sequential matrix of ours, runs on the device now. */
PetscErrorCode MatSeqAIJCUDAStructureOnDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, device));
  *device = (PetscBool)(*device && MatSeqAIJCUDAGet(A)->host.active == 0 && !MatAIJCUDAInHostCode());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDADiscardStaged - Values of MatSetValues() that have not joined A, a sequential matrix of ours, are dropped: its entries are about to be replaced, and MATAIJ forgets what has not been
  assembled.
*/
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

  The arrays of the view belong to A, and it is zero afterwards. PETSC_ERR_ARG_OUTOFRANGE: more nonzeros than a matrix may have; A and view are as they were.
  The matrix is preallocated and not assembled then. A block of a parallel matrix gets its host structure where it is kept.
*/
PetscErrorCode MatSeqAIJCUDASetDeviceMatrix(Mat A, DCSRView *view)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(DCSRCheckNonzeros(view->num_nonzeros));
  PetscCall(MatSeqAIJCUDADiscardStaged(A));
  MatSeqAIJCUDANewStructure(A);
  PetscCall(MatSeqAIJCUDADiscardHostArrays(A));
  PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscCall(PetscObjectCompose((PetscObject)A, ROW_LIMITS_KEY, NULL));
  PetscCall((*MatAIJCUDAParentSeq.setpreallocation)(A, MAT_SKIP_ALLOCATION, NULL)); // ends the hash phase, bumps the state
  a->compressedrow.use       = PETSC_FALSE;
  d->device.view             = *view;
  d->plans.list              = view->list;
  d->device.view.list        = NULL;
  d->device.nonzerostate     = A->nonzerostate;
  d->staging.device_assembly = PETSC_TRUE;
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_IN_CSR);
  PetscCall(PetscIntCast(view->num_nonzeros, &a->nz));
  a->maxnz            = a->nz;
  A->info.nz_unneeded = 0;
  PetscCall(PetscArrayzero(view, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDATakeStorage - The compact storage of a matrix that nobody else has; *A is destroyed, and NULL, also after an error. view: owned by the caller; zero after an error. */
PetscErrorCode MatSeqAIJCUDATakeStorage(Mat *A, DCSRView *view)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACopyToDevice(*A));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACompact(*A));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDADropPlans(*A));
  *view = MatSeqAIJCUDAGet(*A)->device.view;
  PetscCall(PetscArrayzero(&MatSeqAIJCUDAGet(*A)->device.view, 1));
cleanup:
  PetscCall(MatDestroy(A));
  PetscCall(ierr);
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
  MatSeqAIJCUDANewStructure(A);
  PetscCall(MatSeqAIJCUDADropPlans(A));
  A->nonzerostate++;
  d->device.nonzerostate    = A->nonzerostate;
  d->plans.fragmented_mults = 0;
  d->plans.compact_from     = 0;
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_IN_CSR);
  if (MatSeqAIJCUDAHasHostArrays(A)) PetscCall(MatSeqAIJCUDADiscardHostArrays(A));
  PetscCall(PetscIntCast(d->device.view.num_nonzeros, &a->nz));
  a->maxnz = PetscMax(a->maxnz, a->nz); // what was preallocated counts as allocated, as in MATSEQAIJ
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDACreateFromView - A new assembled matrix of the type of A with compact device storage; NULL after an error. Collective.

  Block sizes of rows and columns that are not positive are not set. The arrays of the view belong to B; it is zero afterwards, also after an error.
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
  ((Mat_SeqAIJ *)(*B)->data)->nonew = 0;
  MatSeqAIJCUDAInheritKept(A, *B);
  PetscCallGoto(ierr, failed, MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, failed, MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDAUpdateKept(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)DCSRViewFree(view, stream);
  (void)MatDestroy(B);
  PetscFunctionReturn(ierr);
}

/* MatSeqAIJCUDATakeValues - The values of compact storage of the same structure, which loses them, become those of B, compact and current on the device. */
PetscErrorCode MatSeqAIJCUDATakeValues(Mat B, DCSRView *view)
{
  Mat_SeqAIJCUDA *b      = MatSeqAIJCUDAGet(B);
  PetscScalar    *values = b->device.view.values;

  PetscFunctionBegin;
  b->device.view.values   = view->values;
  b->device.view.capacity = b->device.view.num_nonzeros; // room behind the entries went with the old values
  view->values            = values;
  PetscCall(MatSeqAIJCUDADeviceChanged(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAReuseView - New storage, of the size of B and freed here, gives its values to B, which uses the device and has its structure already; for MAT_REUSE_MATRIX.

  With replace a matrix of another structure gets that of the storage, too. Without it other structures are PETSC_ERR_ARG_SIZ, and B is as it was.
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
  MatSeqAIJCUDASetRowLimits - Notes a preallocation by the user in an empty matrix: for MatGetInfo(), which reports it as MATSEQAIJ does, and for MAT_NEW_NONZERO_ALLOCATION_ERR and
  MAT_UNUSED_NONZERO_LOCATION_ERR in the first assembly.

  A negative nz is MATSEQAIJ's default. nnz is [m], or NULL.
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
  PetscCall(PetscFree(((Mat_SeqAIJ *)A->data)->ipre));
  PetscCall(PetscSparseCUDACompose((PetscObject)A, ROW_LIMITS_KEY, limits, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDATakeRowLimits - What MATSEQAIJ has noted of a preallocation is noted by us: PETSc's code takes its own note for the room in the host arrays, and these go. */
PetscErrorCode MatSeqAIJCUDATakeRowLimits(Mat A)
{
  Mat_SeqAIJ *a     = (Mat_SeqAIJ *)A->data;
  PetscInt   *noted = NULL;

  PetscFunctionBegin;
  if (a->ipre == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectContainerQuery((PetscObject)A, ROW_LIMITS_KEY, &noted));
  if (noted == NULL) PetscCall(PetscSparseCUDACompose((PetscObject)A, ROW_LIMITS_KEY, a->ipre, PetscCtxDestroyDefault));
  else PetscCall(PetscFree(a->ipre));
  a->ipre = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAGetRowLimits - The preallocation that we or MATSEQAIJ have noted: [m] borrowed from A; NULL when there is none. */
PetscErrorCode MatSeqAIJCUDAGetRowLimits(Mat A, const PetscInt *limits[])
{
  PetscInt *noted = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)A, ROW_LIMITS_KEY, &noted));
  *limits = noted != NULL ? noted : ((const Mat_SeqAIJ *)A->data)->ipre;
  PetscFunctionReturn(PETSC_SUCCESS);
}
