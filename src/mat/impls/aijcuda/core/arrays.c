/* The hooks behind MatSeqAIJGetArray() and its relatives, for code that reads or writes the values directly. */
#include "core.h"

static PetscErrorCode MatSeqAIJGetArray_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayBegin(A, HOST_WRITE));
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArray_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayEnd(A, HOST_WRITE));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJGetArrayRead_SeqAIJCUDA(Mat A, const PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayBegin(A, HOST_READ));
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArrayRead_SeqAIJCUDA(Mat A, const PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayEnd(A, HOST_READ));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every value will be written: no copy to the host. */
static PetscErrorCode MatSeqAIJGetArrayWrite_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayBegin(A, HOST_READ_STRUCTURE));
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
  *array = ((Mat_SeqAIJ *)A->data)->a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJRestoreArrayWrite_SeqAIJCUDA(Mat A, PetscScalar *array[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAArrayEnd(A, HOST_READ_STRUCTURE | HOST_WRITE_VALUES));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure for device code of programs: the device's own arrays where they are arrays of PetscInt, otherwise copies. */
static PetscErrorCode GetDeviceIndices(Mat A, const PetscInt *i[], const PetscInt *j[])
{
  Mat_SeqAIJCUDA *d            = MatSeqAIJCUDAGet(A);
  const PetscBool same_offsets = (PetscBool)(sizeof(PetscInt) == (d->device.view.wide ? sizeof(int64_t) : sizeof(int32_t)));
  const PetscBool same_columns = (PetscBool)(sizeof(PetscInt) == sizeof(int32_t));
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (!same_offsets && d->plans.wide_i == NULL) {
    PetscCall(PetscSparseCUDAMalloc(d->device.view.num_rows + 1, "row offsets as PetscInt", stream, &d->plans.wide_i));
    PetscCall(DCSRWidenOffsets(d->device.view.num_rows + 1, d->device.view.row_offsets, d->device.view.wide, d->plans.wide_i, stream));
  }
  if (!same_columns && d->plans.wide_j == NULL && d->device.view.num_nonzeros > 0) {
    PetscCall(PetscSparseCUDAMalloc(d->device.view.num_nonzeros, "column indices as PetscInt", stream, &d->plans.wide_j));
    PetscCall(DCSRWidenColumns(d->device.view.num_nonzeros, d->device.view.columns, d->plans.wide_j, stream));
  }
  if (i != NULL) *i = same_offsets ? (const PetscInt *)d->device.view.row_offsets : d->plans.wide_i;
  if (j != NULL) *j = same_columns ? (const PetscInt *)(void *)d->device.view.columns : d->plans.wide_j;
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
    if (values != NULL) *values = MatSeqAIJCUDAGet(A)->device.view.values;
    if (MatSeqAIJCUDAGet(A)->device.csr_use == CSR_MAY_GO) MatSeqAIJCUDAGet(A)->device.csr_use = CSR_STAYS;
    if (values != NULL) PetscCall(MatSeqAIJCUDANoteBorrowed(A));
    if (mtype != NULL) *mtype = PETSC_MEMTYPE_CUDA;
  } else {
    PetscCall(MatAIJCUDAArrayBegin(A, HOST_READ));
    if (i != NULL) *i = a->i;
    if (j != NULL) *j = a->j;
    if (values != NULL) *values = a->a;
    if (mtype != NULL) *mtype = PETSC_MEMTYPE_HOST;
    PetscCall(MatAIJCUDAArrayEnd(A, HOST_READ));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetArrayHooks - Sets the array hooks of a sequential matrix of ours, whose own were saved in parent_arrays. */
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
