#include <petscsparsecuda/info.h>
#include <petscsparsecuda/record.h>
#include <petscsparsecuda/sidestream.h>

static int  usable_device = -1; /* -1: not asked since PetscSparseCUDAInitialize() */
static char obstacle[128];      /* why there is no usable device; empty: there is one, or nobody has asked */

/* PetscSparseCUDADeviceInitialize - The options of this PetscInitialize() say whether there is a device, whatever those of an earlier one said. */
void PetscSparseCUDADeviceInitialize(void)
{
  usable_device = -1;
  obstacle[0]   = 0;
}

/*
  PetscSparseCUDADeviceObstacle - Why no CUDA kernel can run in this process, empty when nothing is known against it. PETSc's device is not initialized.
  why: borrowed until the next PetscSparseCUDADeviceInitialize().
*/
PetscErrorCode PetscSparseCUDADeviceObstacle(const char *why[])
{
  const char *const names[] = {"-device_enable", "-device_enable_cuda"};
  int               count = 0, driver = 0;
  cudaError_t       error;

  PetscFunctionBegin;
  *why = obstacle;
  if (usable_device >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  obstacle[0] = 0;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    char      value[32] = "";
    PetscBool set, none;

    PetscCall(PetscOptionsGetString(NULL, NULL, names[k], value, sizeof(value), &set));
    PetscCall(PetscStrcasecmp(value, "none", &none));
    if (set && none) PetscCall(PetscSNPrintf(obstacle, sizeof(obstacle), "%s none", names[k]));
  }
  if (obstacle[0]) PetscFunctionReturn(PETSC_SUCCESS);
  error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) PetscFunctionReturn(PETSC_SUCCESS);
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  (void)cudaGetLastError(); // a later check must not find this one
  PetscCall(PetscStrncpy(obstacle, driver == 0 ? "no CUDA driver" : cudaGetErrorString(error), sizeof(obstacle)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDADeviceUsable - Says whether CUDA kernels can run in this process, without raising an error when they cannot.
  PETSC_FALSE without a driver, without a device, or when the options forbid one (-device_enable none, -device_enable_cuda none). Asked once between PetscInitialize() and PetscFinalize(); PETSc has no
  public query, and raises an error on first use of a missing device.
*/
PetscErrorCode PetscSparseCUDADeviceUsable(PetscBool *usable)
{
  PetscFunctionBegin;
  if (usable_device < 0) {
    const char *why;

    PetscCall(PetscSparseCUDADeviceObstacle(&why));
    usable_device = *why == 0;
    if (usable_device) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  }
  *usable = usable_device ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The context whose stream was given last, with a reference of ours, so that the stream lives when the program destroys the context; NULL before the first one and when PETSc's device is about to go.
*/
static PetscDeviceContext last_context = NULL;

static PetscErrorCode ReleaseContext(void)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceContextDestroy(&last_context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another context is current: its stream waits for what the library, or anybody, has queued on the stream of the last one. The host does not wait. */
static PetscErrorCode SwitchContext(PetscDeviceContext current)
{
  PetscDeviceType type;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetDeviceType(current, &type));
  PetscCheck(type == PETSC_DEVICE_CUDA, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "The current PetscDeviceContext is of type %s, and this matrix needs one of type %s: call PetscDeviceContextSetCurrentContext() with such a one", PetscDeviceTypes[type],
             PetscDeviceTypes[PETSC_DEVICE_CUDA]);
  if (last_context != NULL) PetscCall(PetscDeviceContextWaitForContext(current, last_context));
  else PetscCall(PetscRegisterFinalize(ReleaseContext)); // not earlier: it has to run before PETSc's device is gone
  PetscCall(PetscObjectReference((PetscObject)current));
  PetscCall(PetscDeviceContextDestroy(&last_context));
  last_context = current;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAGetStream - The stream of the current PetscDeviceContext, which PETSc's own vectors use too. Borrowed; ask again for each operation, the current context may be switched
  All work of the library is in one order: when the current context is another one than the last time, its stream waits for what is queued on the stream of that one by now. So an operation comes after
  all earlier ones, on whichever matrix, memory is released after its last use, and nobody has to remember where a matrix was used. The price is that operations on independent matrices in two contexts
  do not overlap.
  What the program itself does with vectors and device arrays in several contexts is its business, as with all types of PETSc, which orders nothing between them: see
  PetscDeviceContextWaitForContext().
  So is the end of the work on the stream of a context before PetscDeviceContextSetStreamType() gives it another one.
  PETSC_ERR_ARG_WRONG when the current context is not one of CUDA, PETSC_ERR_GPU when it is on another device than the last one. Between PetscSparseCUDARecordBegin() and PetscSparseCUDARecordEnd() it
  is the stream that records, and between PetscSparseCUDASideStreamBegin() and PetscSparseCUDASideStreamEnd() the one that was given there. Cost: an event when the context was switched.
*/
PetscErrorCode PetscSparseCUDAGetStream(cudaStream_t *stream)
{
  PetscDeviceContext current;
  cudaStream_t      *handle;

  PetscFunctionBegin;
  *stream = PetscSparseCUDARecorder();
  if (*stream == NULL) *stream = PetscSparseCUDAGetSideStream();
  if (PetscUnlikely(*stream != NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextGetCurrentContext(&current));
  if (PetscUnlikely(current != last_context)) PetscCall(SwitchContext(current));
  PetscCall(PetscDeviceContextGetStreamHandle(current, (void **)&handle));
  *stream = *handle;
  PetscFunctionReturn(PETSC_SUCCESS);
}
