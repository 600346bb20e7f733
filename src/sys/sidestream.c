/*
  Work of the library on another stream than that of the current PetscDeviceContext, whose stream is the legacy one unless the program chose another: whatever waits for the legacy stream, such as the
  copies of a CUDA-aware MPI, then does not wait for that work.
*/
#include <petscsparsecuda/sidestream.h>

static cudaEvent_t  queued  = NULL; /* of the device that was current at first use */
static cudaStream_t side    = NULL; /* between PetscSparseCUDASideStreamBegin() and PetscSparseCUDASideStreamEnd(), else NULL; borrowed */
static cudaStream_t context = NULL; /* the stream beside which it is; borrowed */

static PetscErrorCode DestroyEvent(void)
{
  PetscFunctionBegin;
  if (queued != NULL) PetscCallCUDA(cudaEventDestroy(queued));
  queued = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAFollow - What is queued on one stream (after) from now on comes after what is queued on the other one (before) by now. Cost: an event; the host does not wait. */
PetscErrorCode PetscSparseCUDAFollow(cudaStream_t after, cudaStream_t before)
{
  PetscFunctionBegin;
  if (queued == NULL) {
    PetscCallCUDA(cudaEventCreateWithFlags(&queued, cudaEventDisableTiming));
    PetscCall(PetscRegisterFinalize(DestroyEvent));
  }
  PetscCallCUDA(cudaEventRecord(queued, before));
  PetscCallCUDA(cudaStreamWaitEvent(after, queued, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDASideStreamBegin - Work that the library queues from now on goes to a stream of its own; it comes after what is queued on the other one by now
  beside: the stream of the current PetscDeviceContext, which waits for nothing until PetscSparseCUDASideStreamEnd(). Until then PetscSparseCUDAGetStream() gives the stream of its own. PETSc's own work
  goes on on that of the context: PetscSparseCUDASideStreamFollow() waits for it.
*/
PetscErrorCode PetscSparseCUDASideStreamBegin(cudaStream_t stream, cudaStream_t beside)
{
  PetscFunctionBegin;
  PetscCheck(side == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work goes to a side stream already");
  PetscCall(PetscSparseCUDAFollow(stream, beside));
  side    = stream;
  context = beside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDASideStreamFollow - Work on the side stream comes after what PETSc has queued on the stream of the context by now; nothing if none goes to one. */
PetscErrorCode PetscSparseCUDASideStreamFollow(void)
{
  PetscFunctionBegin;
  if (side != NULL) PetscCall(PetscSparseCUDAFollow(side, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDASideStreamEnd - Work goes to the stream of the context again, which does not wait for the side stream: that is the caller's, with PetscSparseCUDAFollow(). Nothing if none goes to one. */
PetscErrorCode PetscSparseCUDASideStreamEnd(void)
{
  PetscFunctionBegin;
  side = context = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGetSideStream - The stream of PetscSparseCUDASideStreamBegin(); NULL: no work goes to one. */
cudaStream_t PetscSparseCUDAGetSideStream(void)
{
  return side;
}
