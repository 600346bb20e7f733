/* The hooks behind MatSeqAIJGetArray() and its relatives, for foreign code that reads or writes the values directly. */
#include <petscsparsecuda/aijcuda.h>

static PetscErrorCode MatSeqAIJGetArray_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_WRITE));
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArray_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostEnd(A, HOST_WRITE));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJGetArrayRead_SeqAIJCUDA(Mat A, const PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArrayRead_SeqAIJCUDA(Mat A, const PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every value will be written: no copy to the mirror. */
static PetscErrorCode MatSeqAIJGetArrayWrite_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  if (A->offloadmask != PETSC_OFFLOAD_UNALLOCATED) A->offloadmask = PETSC_OFFLOAD_CPU;
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArrayWrite_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE | HOST_WRITE_VALUES));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscInt copies of the structure for foreign device code; with 32-bit PetscInt the device arrays are handed out themselves. */
static PetscErrorCode GetDeviceIndices(Mat A, const PetscInt *i[], const PetscInt *j[])
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
#if PetscDefined(USE_64BIT_INDICES)
  cudaStream_t stream;

  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (d->wide_i == NULL) {
    PetscCall(PetscSparseCUDAMalloc(d->view.num_rows + 1, "row offsets as 64-bit PetscInt", stream, &d->wide_i));
    PetscCall(DCSRWidenOffsets(d->view.num_rows + 1, d->view.row_offsets, d->view.wide, d->wide_i, stream));
  }
  if (d->wide_j == NULL && d->view.num_nonzeros > 0) {
    PetscCall(PetscSparseCUDAMalloc(d->view.num_nonzeros, "column indices as 64-bit PetscInt", stream, &d->wide_j));
    PetscCall(DCSRWidenColumns(d->view.num_nonzeros, d->view.columns, d->wide_j, stream));
  }
  if (i != NULL) *i = d->wide_i;
  if (j != NULL) *j = d->wide_j;
#else
  if (i != NULL) *i = (const PetscInt *)d->view.row_offsets;
  if (j != NULL) *j = (const PetscInt *)d->view.columns;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJGetCSRAndMemType_SeqAIJCUDA(Mat A, const PetscInt *i[], const PetscInt *j[], PetscScalar *values[], PetscMemType *mtype)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;
  PetscBool   device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) {
    PetscCall(MatSeqAIJCUDACopyToDevice(A));
    PetscCall(MatSeqAIJCUDACompact(A));
    PetscCall(GetDeviceIndices(A, i, j));
    if (values != NULL) *values = MatSeqAIJCUDAGet(A)->view.values;
    if (mtype != NULL) *mtype = PETSC_MEMTYPE_CUDA;
  } else {
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
    if (i != NULL) *i = a->i;
    if (j != NULL) *j = a->j;
    if (values != NULL) *values = a->a;
    if (mtype != NULL) *mtype = PETSC_MEMTYPE_HOST;
    PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetArrayHooks - Sets the array hooks of a sequential matrix of ours, whose own were saved in parent_arrays.
*/
PetscErrorCode MatSeqAIJCUDASetArrayHooks(Mat A)
{
  Mat_SeqAIJOps *ops = ((Mat_SeqAIJ *)A->data)->ops;

  PetscFunctionBegin;
  ops->getarray          = MatSeqAIJGetArray_SeqAIJCUDA;
  ops->restorearray      = MatSeqAIJRestoreArray_SeqAIJCUDA;
  ops->getarrayread      = MatSeqAIJGetArrayRead_SeqAIJCUDA;
  ops->restorearrayread  = MatSeqAIJRestoreArrayRead_SeqAIJCUDA;
  ops->getarraywrite     = MatSeqAIJGetArrayWrite_SeqAIJCUDA;
  ops->restorearraywrite = MatSeqAIJRestoreArrayWrite_SeqAIJCUDA;
  ops->getcsrandmemtype  = MatSeqAIJGetCSRAndMemType_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
