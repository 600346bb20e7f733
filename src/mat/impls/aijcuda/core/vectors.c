/* Vectors of any memory type as device arrays. */
#include "core.h"
#include <petscsparsecuda/sidestream.h>
#include <petscsparsecuda/report.h>
#include "../../../../petsc/vec.h"

/* MatAIJCUDAHasDeviceVectors - Whether vectors of A, a matrix of any type, are VECCUDA, and A is one of ours. The same on all processes. */
PetscErrorCode MatAIJCUDAHasDeviceVectors(Mat A, PetscBool *has)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(PetscStrcmpAny(A->defaultvectype, has, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  *has = (PetscBool)(*has && !A->boundtocpu && ((seq && !MatSeqAIJCUDAGet(A)->no_device) || (mpi && !MatMPIAIJCUDAGet(A)->no_device)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReserveHostVecBuffer(HostVecBuffer *buffer, PetscInt n, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (buffer->n < n) {
    PetscCall(PetscSparseCUDAFree(&buffer->array, stream));
    buffer->n = 0;
    PetscCall(PetscSparseCUDAMalloc(n, "a vector that lives on the host", stream, &buffer->array));
    buffer->n = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Moves the entries of a vector on the host into the buffer, or leaves them out when they are only written. Host arrays of VECCUDA are pinned, and the program may change
  them when the operation returns: the copy is waited for here.
*/
static PetscErrorCode StageHostArray(HostVecBuffer *buffer, cudaStream_t stream, DeviceArray *array)
{
  PetscFunctionBegin;
  PetscCall(ReserveHostVecBuffer(buffer, array->n, stream));
  array->host   = array->device;
  array->device = buffer->array;
  if (array->access != ARRAY_WRITE && array->n > 0) {
    PetscCallReported(REPORT_VECTOR, NULL, PetscSparseCUDACopyToDevice(array->device, array->host, (size_t)array->n * sizeof(PetscScalar), stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)array->n * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program whose vectors live on the host by mistake spends nearly all of its time in copies. */
static PetscErrorCode TellOfHostVectors(Mat A)
{
  PetscBool often;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAReportHostVector(&often));
  if (often) PetscCall(PetscInfo(A, "Vectors on the host are multiplied again and again, and each is copied: -vec_type cuda, -dm_vec_type cuda or MatCreateVecs() puts them on the device\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks a vector, which must have n local entries, for its array on the device. After an error too, RestoreDeviceArray() gives back what was taken. */
PetscErrorCode GetDeviceArray(Mat A, Vec v, PetscInt n, ArrayAccess access, HostVecBuffer *buffer, cudaStream_t stream, DeviceArray *array)
{
  const PetscBool there = (PetscBool)(v->offloadmask == PETSC_OFFLOAD_GPU || v->offloadmask == PETSC_OFFLOAD_BOTH); // neither memory nor a copy is asked for
  PetscMemType    mtype;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &array->n));
  PetscCheck(array->n == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A vector of %" PetscInt_FMT " entries where this operation on a %" PetscInt_FMT " x %" PetscInt_FMT " matrix needs %" PetscInt_FMT,
             array->n, A->rmap->n, A->cmap->n, n);
  array->access = access;
  array->host   = NULL;
  if (access == ARRAY_READ) PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&array->device, &mtype));
  else if (access == ARRAY_WRITE) PetscCall(VecGetArrayWriteAndMemType(v, &array->device, &mtype));
  else PetscCall(VecGetArrayAndMemType(v, &array->device, &mtype));
  array->v = v;
  if (!there) PetscCall(PetscSparseCUDASideStreamFollow());
  if (PetscMemTypeHost(mtype)) {
    PetscCall(StageHostArray(buffer, stream, array));
    PetscCall(TellOfHostVectors(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of a vector that lives on the host. */
static PetscErrorCode CopyResultToHost(DeviceArray *array, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (array->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallReported(REPORT_VECTOR, NULL, PetscSparseCUDACopyToHost(array->host, array->device, (size_t)array->n * sizeof(PetscScalar), stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)array->n * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArray(DeviceArray *array)
{
  PetscScalar *a = array->host != NULL ? array->host : array->device;

  PetscFunctionBegin;
  if (array->access == ARRAY_READ) PetscCall(VecRestoreArrayReadAndMemType(array->v, (const PetscScalar **)&a));
  else if (array->access == ARRAY_WRITE) PetscCall(VecRestoreArrayWriteAndMemType(array->v, &a));
  else PetscCall(VecRestoreArrayAndMemType(array->v, &a));
  array->v = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back what GetDeviceArray() took, after an operation that returned ierr, which is handed on; results of one that failed are not copied. */
PetscErrorCode RestoreDeviceArray(DeviceArray *array, cudaStream_t stream, PetscErrorCode ierr)
{
  PetscErrorCode restored;

  if (array->v == NULL) return ierr;
  if (ierr == PETSC_SUCCESS && array->host != NULL && array->access != ARRAY_READ) ierr = CopyResultToHost(array, stream);
  restored = RestoreArray(array);
  return ierr != PETSC_SUCCESS ? ierr : restored;
}
