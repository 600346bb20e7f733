#include <petscsparsecuda/info.h>
#include "testing.h"
#include "../petsc/sys.h"

#define TRY_SIZE 100000 /* entries of the vector that cuBLAS is tried with: what is launched depends on the size */

#define NUM_GROUPS PETSCSPARSECUDA_PRELOAD_NUM_GROUPS

PreloadGroup PreloadGroups[NUM_GROUPS];

static PetscBool          wanted = PETSC_FALSE; /* by the options, and there is a core for it */
static PetscBool          begun  = PETSC_FALSE; /* the device is in use */
static volatile PetscBool stop   = PETSC_FALSE; /* PetscFinalize() has begun */
static int                thread_device;        /* that is current in the process */

/* PetscSparseCUDAPreloadAdd - Names a kernel that is worth it; no PETSc function is called. kernel stays where it is until the process ends */
void PetscSparseCUDAPreloadAdd(PetscSparseCUDAPreloadGroup group, PetscSparseCUDAKernel *kernel)
{
  kernel->next                 = PreloadGroups[group].kernels;
  PreloadGroups[group].kernels = kernel;
}

/* PetscSparseCUDAPreloadTry - What CUDA says when a kernel is loaded on the current device: why none can run there, if not cudaSuccess, which it also is when no kernel is linked */
cudaError_t PetscSparseCUDAPreloadTry(void)
{
  const PetscSparseCUDAKernel *kernel = PreloadGroups[PETSCSPARSECUDA_PRELOAD_SETUP].kernels;
  struct cudaFuncAttributes    attributes;
  const cudaError_t            error = kernel != NULL ? cudaFuncGetAttributes(&attributes, kernel->function) : cudaSuccess;

  (void)cudaGetLastError(); // a later check must not find this one
  return error;
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

static void *PreloadInThread(void *data)
{
  PreloadGroup             *group = (PreloadGroup *)data;
  struct cudaFuncAttributes attributes;

  if (cudaSetDevice(thread_device) != cudaSuccess) return NULL; // a new thread begins with device 0
  for (const PetscSparseCUDAKernel *kernel = group->kernels; kernel != NULL && !stop; kernel = kernel->next) {
    (void)cudaFuncGetAttributes(&attributes, kernel->function);
  }
  if (!stop && group == PreloadGroups + PETSCSPARSECUDA_PRELOAD_SETUP) TryCUBLAS();
  return NULL;
}

static void Join(PreloadGroup *group)
{
  if (group->running) (void)pthread_join(group->thread, NULL);
  group->running = PETSC_FALSE;
}

static PetscErrorCode PreloadEnd(void)
{
  PetscFunctionBegin;
  stop  = PETSC_TRUE;
  begun = PETSC_FALSE;
  for (int g = 0; g < NUM_GROUPS; g++) Join(PreloadGroups + g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Once the device is in use, the threads of groups that are asked for. */
static void Start(void)
{
  for (PreloadGroup *group = PreloadGroups; begun && group < PreloadGroups + NUM_GROUPS; group++) {
    if (!group->asked || group->started) continue;
    group->started = PETSC_TRUE;
    group->running = (PetscBool)(pthread_create(&group->thread, NULL, PreloadInThread, group) == 0);
  }
}

/* PetscSparseCUDAPreloadInitialize - Decides whether kernels are loaded beforehand: -mat_dcsr_preload, by default with two cores at least that this process has to itself */
PetscErrorCode PetscSparseCUDAPreloadInitialize(int cores)
{
  PetscFunctionBegin;
  wanted = cores > 1 ? PETSC_TRUE : PETSC_FALSE;
  stop   = PETSC_FALSE;
  for (int g = 0; g < NUM_GROUPS; g++) {
    PreloadGroups[g].asked   = (PetscBool)(g == PETSCSPARSECUDA_PRELOAD_SETUP);
    PreloadGroups[g].started = PETSC_FALSE;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_dcsr_preload", &wanted, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAPreloadBegin - Loads kernels that a setup of PCGAMG will want, and those that were asked for, and makes cuBLAS load its own, in threads
  To be called when the device is used for the first time. PetscFinalize() waits for the threads. Without one, or after an error in it, kernels are loaded at their first launch. Cost: 10 to 20 ms of
  another core for each group.
*/
PetscErrorCode PetscSparseCUDAPreloadBegin(void)
{
  PetscFunctionBegin;
  if (!wanted || begun) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaGetDevice(&thread_device));
  PetscCall(PetscRegisterFinalize(PreloadEnd));
  begun = PETSC_TRUE;
  Start();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAPreloadAsk - Says that kernels of a group will be wanted: it is loaded when the device is used for the first time, or now */
PetscErrorCode PetscSparseCUDAPreloadAsk(PetscSparseCUDAPreloadGroup group)
{
  PetscFunctionBegin;
  PreloadGroups[group].asked = PETSC_TRUE;
  Start();
  PetscFunctionReturn(PETSC_SUCCESS);
}
