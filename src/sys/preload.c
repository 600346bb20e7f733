#include <petscsparsecuda/preload.h>
#include <petscsparsecuda/sys.h>
#include <petsc/private/petsclegacycupmblas.h>
#include <pthread.h>

#define TRY_SIZE 100000 /* entries of the vector that cuBLAS is tried with: what is launched depends on the size */

static PetscSparseCUDAKernel *kernels = NULL;        /* all that are worth it, of the files that are linked */
static PetscBool              wanted  = PETSC_FALSE; /* by the options, and there is a core for it */
static PetscBool              running = PETSC_FALSE; /* the thread is to be joined */
static volatile PetscBool     stop    = PETSC_FALSE; /* PetscFinalize() has begun */
static pthread_t              thread;
static int                    thread_device;  /* that is current in the process */
static PetscInt               loaded, failed; /* kernels; written by the thread */

/*
  PetscSparseCUDAPreloadAdd - Names a kernel that is worth it

  Not Collective, no PETSc function is called

  Input Parameter:
. kernel - stays where it is until the process ends
*/
void PetscSparseCUDAPreloadAdd(PetscSparseCUDAKernel *kernel)
{
  kernel->next = kernels;
  kernels      = kernel;
}

/* What Krylov methods call, on a vector of zeros and a stream of its own. A function that fails here fails again where it is wanted, and is reported there. */
static void TryCUBLAS(void)
{
  const PetscScalar one = 1.0;
  PetscScalar      *x   = NULL, dot;
  PetscReal         norm;
  cublasHandle_t    handle = NULL;
  cudaStream_t      stream = NULL;

  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess && cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS && cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS &&
      cudaMalloc((void **)&x, TRY_SIZE * sizeof(*x)) == cudaSuccess && cudaMemsetAsync(x, 0, TRY_SIZE * sizeof(*x), stream) == cudaSuccess) {
    (void)cublasXdot(handle, TRY_SIZE, x, 1, x, 1, &dot);
    (void)cublasXnrm2(handle, TRY_SIZE, x, 1, &norm);
    (void)cublasXaxpy(handle, TRY_SIZE, &one, x, 1, x, 1);
    (void)cublasXscal(handle, TRY_SIZE, &one, x, 1);
    (void)cudaStreamSynchronize(stream);
  }
  (void)cudaFree(x);
  if (handle != NULL) (void)cublasDestroy(handle);
  if (stream != NULL) (void)cudaStreamDestroy(stream);
}

static void *PreloadInThread(void *unused)
{
  struct cudaFuncAttributes attributes;

  (void)unused;
  if (cudaSetDevice(thread_device) != cudaSuccess) return NULL; // a new thread begins with device 0
  for (const PetscSparseCUDAKernel *kernel = kernels; kernel != NULL && !stop; kernel = kernel->next) {
    if (cudaFuncGetAttributes(&attributes, kernel->function) == cudaSuccess) loaded++;
    else failed++;
  }
  if (!stop) TryCUBLAS();
  return NULL;
}

static PetscErrorCode PreloadEnd(void)
{
  PetscFunctionBegin;
  stop = PETSC_TRUE;
  if (running) (void)pthread_join(thread, NULL);
  running = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAPreloadInitialize - Decides whether kernels are loaded beforehand

  Not Collective

  Input Parameter:
. cores - that this process has to itself

  Options Database Key:
. -mat_dcsr_preload <bool> - default: with two cores at least
*/
PetscErrorCode PetscSparseCUDAPreloadInitialize(int cores)
{
  PetscFunctionBegin;
  wanted = cores > 1 ? PETSC_TRUE : PETSC_FALSE;
  stop   = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_dcsr_preload", &wanted, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAPreloadBegin - Loads kernels that a setup of PCGAMG will want, and makes cuBLAS load its own, in a thread

  Not Collective

  Notes:
  To be called when the device is used for the first time. PetscFinalize() waits for the thread. Without a thread, or after an error in it, kernels are loaded at their first launch.

  Cost: 10 to 20 ms of another core.
*/
PetscErrorCode PetscSparseCUDAPreloadBegin(void)
{
  PetscFunctionBegin;
  if (!wanted || running) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaGetDevice(&thread_device));
  loaded = failed = 0;
  if (pthread_create(&thread, NULL, PreloadInThread, NULL) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  running = PETSC_TRUE;
  PetscCall(PetscRegisterFinalize(PreloadEnd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDATestPreloadWait - For tests: waits for the thread

  Not Collective

  Output Parameters:
+ num_loaded - kernels that it has loaded since it was started; 0 when there was none
- num_failed - kernels that could not be loaded
*/
PetscErrorCode PetscSparseCUDATestPreloadWait(PetscInt *num_loaded, PetscInt *num_failed)
{
  PetscFunctionBegin;
  if (running) (void)pthread_join(thread, NULL);
  running     = PETSC_FALSE;
  *num_loaded = loaded;
  *num_failed = failed;
  PetscFunctionReturn(PETSC_SUCCESS);
}
