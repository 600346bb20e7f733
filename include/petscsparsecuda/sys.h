#pragma once
/*
  Layer 1: the device, its stream and memory, our log events. Everything above asks here; nobody calls cudaMalloc() by himself.
*/
#include <petscsys.h>
#if defined(__CUDACC__)
  // petscdevice_cuda.h comes with cuBLAS, cuSPARSE, cuSOLVER and numbers of 16 bits: a third of the compiler's time of most files of device code, which use none of them.
  #include <cuda_runtime.h>
#else
  #include <petscdevice_cuda.h>
#endif

/*
  A PetscScalar as a member of a struct that C and device code share. Complex numbers of device code, thrust::complex, are aligned to their size, those of C to half of it: without this the two would
  look for the member at different offsets.
*/
#if defined(__cplusplus)
  #define AlignedScalar alignas(sizeof(PetscScalar)) PetscScalar
#else
  #define AlignedScalar _Alignas(sizeof(PetscScalar)) PetscScalar
#endif

PETSC_INTERN void           PetscSparseCUDADeviceInitialize(void);
PETSC_INTERN PetscErrorCode PetscSparseCUDADeviceUsable(PetscBool *);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGetStream(cudaStream_t *);
PETSC_INTERN PetscErrorCode PetscSparseCUDAAgree(MPI_Comm, PetscErrorCode, PetscErrorCode *);
PETSC_INTERN PetscErrorCode PetscSparseCUDACompose(PetscObject, const char[], void *, PetscCtxDestroyFn *);
PETSC_INTERN PetscErrorCode PetscSparseCUDAErrorOfAll(int, PetscErrorCode);
PETSC_INTERN PetscErrorCode PetscSparseCUDAMalloc_Private(size_t, const char[], cudaStream_t, void **);
PETSC_INTERN PetscErrorCode PetscSparseCUDATryMalloc_Private(size_t, cudaStream_t, void **);
PETSC_INTERN PetscErrorCode PetscSparseCUDAFree_Private(void **, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGetMemoryAvailable(size_t *);
PETSC_INTERN PetscErrorCode PetscSparseCUDATrimMemory(PetscBool);
PETSC_INTERN                PetscErrorCode (*PetscSparseCUDATestInitialize)(void); /* part of PetscSparseCUDAInitialize(); NULL without the tests' library */
PETSC_INTERN PetscErrorCode PetscSparseCUDACountCores(int *);
PETSC_INTERN PetscErrorCode PetscSparseCUDATransferInitialize(int);
PETSC_INTERN PetscErrorCode PetscSparseCUDACopyToDevice(void *, const void *, size_t, cudaStream_t); /* device, host, bytes */
PETSC_INTERN PetscErrorCode PetscSparseCUDACopyToHost(void *, const void *, size_t, cudaStream_t);   /* host, device, bytes */
/* device or host, pitch, host or device, pitch, width in bytes, height, stream */
PETSC_INTERN PetscErrorCode PetscSparseCUDACopyToDevice2D(void *, size_t, const void *, size_t, size_t, size_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDACopyToHost2D(void *, size_t, const void *, size_t, size_t, size_t, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAAdviseHost(void *, size_t); /* host, bytes */

/*
  PetscSparseCUDAMalloc - stream-ordered allocation of n entries of the type that *ptr points to.

  n == 0 gives NULL. Running out raises PETSC_ERR_MEM with what was asked, what is free and what was asked for; *ptr is NULL then and the caller frees the rest.
*/
#define PetscSparseCUDAMalloc(n, what, stream, ptr) PetscSparseCUDAMalloc_Private((size_t)(n) * sizeof(**(ptr)), what, stream, (void **)(ptr))

/* PetscSparseCUDATryMalloc - the same for memory that is welcome and not necessary: no error when there is none, *ptr is NULL then. */
#define PetscSparseCUDATryMalloc(n, stream, ptr) PetscSparseCUDATryMalloc_Private((size_t)(n) * sizeof(**(ptr)), stream, (void **)(ptr))

/* PetscSparseCUDAFree - stream-ordered release; NULL is fine, and *ptr is NULL afterwards. */
#define PetscSparseCUDAFree(ptr, stream) PetscSparseCUDAFree_Private((void **)(ptr), stream)

/*
  PetscCallGoto - PetscCall() for functions that own something: on an error jumps to label with ierr set, where the owner frees and ends with PetscCall(ierr).
*/
#define PetscCallGoto(ierr, label, ...) \
  do { \
    ierr = __VA_ARGS__; \
    if (PetscUnlikely(ierr != PETSC_SUCCESS)) { \
      ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, ierr, PETSC_ERROR_REPEAT, " "); \
      goto label; \
    } \
  } while (0)

#if defined(__CUDACC__) && !defined(PetscCallCUDA)
  /* PetscCallCUDA - a CUDA runtime call, as petscdevice_cuda.h has it for C. */
  #define PetscCallCUDA(...) \
    do { \
      const cudaError_t cuda_error_ = __VA_ARGS__; \
      PetscCheck(cuda_error_ == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "cuda error %d (%s) : %s", (int)cuda_error_, cudaGetErrorName(cuda_error_), cudaGetErrorString(cuda_error_)); \
    } while (0)
#endif

/* PetscCallCUDAGoto - the same for a CUDA runtime call. */
#define PetscCallCUDAGoto(ierr, label, ...) \
  do { \
    const cudaError_t cuda_error_ = __VA_ARGS__; \
    if (PetscUnlikely(cuda_error_ != cudaSuccess)) { \
      ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_GPU, PETSC_ERROR_INITIAL, "cuda error %d (%s) : %s", (int)cuda_error_, cudaGetErrorName(cuda_error_), \
                        cudaGetErrorString(cuda_error_)); \
      goto label; \
    } \
  } while (0)

/* PetscCallLogged - PetscCall() inside a log event of the object, which is ended also when the call fails. */
#define PetscCallLogged(event, object, ...) \
  do { \
    PetscErrorCode ierr_logged_; \
\
    PetscCall(PetscLogEventBegin(event, object, 0, 0, 0)); \
    ierr_logged_ = __VA_ARGS__; \
    PetscCall(PetscLogEventEnd(event, object, 0, 0, 0)); \
    PetscCall(ierr_logged_); \
  } while (0)

/* Log events of our stages; registered once in src/init/init.c. */
PETSC_INTERN PetscLogEvent PETSCSPARSECUDA_CopyToDevice, PETSCSPARSECUDA_CopyToHost, PETSCSPARSECUDA_SpMVAnalysis, PETSCSPARSECUDA_TransposeAnalysis, PETSCSPARSECUDA_Defragment,
  PETSCSPARSECUDA_Insert;
