/* Insertion into MATDCSRCUDA from inside a CUDA kernel: the buffers that kernels append to, and their way into the matrix. */
#include "insert.h"
#include "../core/core.h"

static PetscErrorCode FreeBuffers(MatDCSRCUDAInserter *ins, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&ins->rows, stream));
  PetscCall(PetscSparseCUDAFree(&ins->columns, stream));
  PetscCall(PetscSparseCUDAFree(&ins->values, stream));
  PetscCall(PetscSparseCUDAFree(&ins->count, stream));
  PetscCall(PetscArrayzero(ins, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckType(Mat A)
{
  PetscBool is_seq, is_mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  PetscCheck(is_seq || is_mpi, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Matrix is of type %s, this function is for %s: call MatSetType() first, or MatSetPreallocationCOO(), which all AIJ types have",
             ((PetscObject)A)->type_name == NULL ? "not set" : ((PetscObject)A)->type_name, MATDCSRCUDA);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDCSRCUDAGetInserter - Gives what a CUDA kernel needs to insert entries into a `MATDCSRCUDA` matrix.

  Not Collective

  Input Parameters:
+ A        - the matrix, with type and sizes
. capacity - entries that the kernels of this process may insert until `MatDCSRCUDARestoreInserter()`, repeated ones counted each time
- mode     - `ADD_VALUES` or `INSERT_VALUES`

  Output Parameter:
. ins - the inserter, a parameter of the kernels

  Level: intermediate

  Notes:
  Kernels, in a .cu file that includes petscsparsecuda_device.h, call `MatDCSRCUDAInsert()` for single entries and `MatDCSRCUDAInsertBlock()` for element matrices, with
  global indices of rows and columns of any process; negative ones are ignored. Nothing is preallocated. `MatDCSRCUDARestoreInserter()`, `MatAssemblyBegin()` and
  `MatAssemblyEnd()` follow, before the matrix is used. docs/insertion.md has an example.

  Several kernels may use one inserter, and a matrix may have several inserters, one after the other or at the same time; what they hold is merged into the matrix in
  `MatDCSRCUDARestoreInserter()` alone.

  Kernels are launched on the stream of the current `PetscDeviceContext`, which `PetscGetCurrentCUDAStream()` gives. Another stream has to wait for this one
  before, and this one for the other before `MatDCSRCUDARestoreInserter()`.

  The order in which threads insert is arbitrary. With `ADD_VALUES` the sums of repeated entries may therefore differ in the last bits from run to run; with
  `INSERT_VALUES` any one of them is kept. The COO interface, `MatSetPreallocationCOO()`, gives the same bits in every run.

  Errors: `PETSC_ERR_GPU` when this process has no usable device: `MatSetValues()` and `MatSetValuesCOO()` work there. `PETSC_ERR_MEM` when the buffers do not fit.
  `PETSC_ERR_ARG_WRONG` for a matrix of another type and for another mode, `PETSC_ERR_ARG_OUTOFRANGE` for a negative capacity.

  Cost: capacity times the size of two `PetscInt` and a `PetscScalar` of device memory until `MatDCSRCUDARestoreInserter()`. When that is too much, insert with several
  inserters one after the other.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAInserter`, `MatDCSRCUDARestoreInserter()`, `MatDCSRCUDAInsert()`, `MatDCSRCUDAInsertBlock()`, `MatDCSRCUDASetValuesDevice()`, `MatSetPreallocationCOO()`
@*/
PetscErrorCode MatDCSRCUDAGetInserter(Mat A, PetscCount capacity, InsertMode mode, MatDCSRCUDAInserter *ins)
{
  PetscBool      usable;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(ins, 4);
  PetscCall(PetscArrayzero(ins, 1));
  PetscCall(CheckType(A));
  PetscCheck(capacity >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "capacity %" PetscCount_FMT " is negative", capacity);
  PetscCheck(mode == ADD_VALUES || mode == INSERT_VALUES, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "mode must be ADD_VALUES or INSERT_VALUES");
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCheck(
    usable, PETSC_COMM_SELF, PETSC_ERR_GPU,
    "Inserting from a CUDA kernel needs a device and this process has no usable one: insert with MatSetValues() or MatSetValuesCOO() here, or check nvidia-smi, CUDA_VISIBLE_DEVICES and -device_enable");
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ins->capacity = capacity;
  ins->mode     = mode;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(capacity, "rows of entries that a kernel inserts", stream, &ins->rows));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(capacity, "columns of entries that a kernel inserts", stream, &ins->columns));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(capacity, "values of entries that a kernel inserts", stream, &ins->values));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(1, "the number of entries that a kernel inserts", stream, &ins->count));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(ins->count, 0, sizeof(*ins->count), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeBuffers(ins, stream));
  PetscFunctionReturn(ierr);
}

/* Inserts what is in the buffers, or nothing when something did not fit. */
static PetscErrorCode InsertBuffers(Mat A, const MatDCSRCUDAInserter *ins, cudaStream_t stream)
{
  unsigned long long count;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(&count, ins->count, sizeof(count), stream));
  PetscCheck(count <= (unsigned long long)ins->capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Kernels inserted %llu entries and the capacity of the inserter is %" PetscCount_FMT
             ": none of them was inserted; call MatDCSRCUDAGetInserter() with a capacity of %llu and run the kernels again",
             count, ins->capacity, count);
  PetscCall(MatDCSRCUDASetValuesDevice(A, (PetscCount)count, ins->rows, ins->columns, ins->values, ins->mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDCSRCUDARestoreInserter - Inserts into a `MATDCSRCUDA` matrix what kernels have put into an inserter, and frees it.

  Not Collective (except for the `MatSetUp()` of a matrix that was not set up)

  Input Parameter:
. A - the matrix

  Input/Output Parameter:
. ins - from `MatDCSRCUDAGetInserter()`, with the same matrix; empty afterwards, also after an error

  Level: intermediate

  Notes:
  `MatAssemblyBegin()` and `MatAssemblyEnd()` are still to be called, by all processes; entries of rows of other processes travel there. Waits for the kernels on the
  stream of the current `PetscDeviceContext`.

  Errors: `PETSC_ERR_ARG_OUTOFRANGE` when more entries were inserted than the capacity allows: then none of them is, and the message says which capacity would do.
  `PETSC_ERR_ARG_WRONGSTATE` for an inserter that is empty: never got, or restored already. Other errors are those of `MatDCSRCUDASetValuesDevice()`.

  Cost: that of `MatDCSRCUDASetValuesDevice()`, and one synchronization with the stream.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDASetValuesDevice()`, `MatAssemblyBegin()`
@*/
PetscErrorCode MatDCSRCUDARestoreInserter(Mat A, MatDCSRCUDAInserter *ins)
{
  cudaStream_t   stream;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(ins, 2);
  PetscCheck(ins->count != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The inserter is empty: it was never got, or restored already; call MatDCSRCUDAGetInserter() first");
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr  = InsertBuffers(A, ins, stream);
  freed = FreeBuffers(ins, stream);
  PetscCall(ierr);
  PetscCall(freed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
