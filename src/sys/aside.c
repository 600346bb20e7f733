/*
  Work of the library on another stream than that of the current PetscDeviceContext, whose stream is the legacy one unless the program chose another: whatever waits for the legacy stream, such as the
  copies of a CUDA-aware MPI, then does not wait for that work.
*/
#include <petscsparsecuda/aside.h>

static cudaEvent_t  queued  = NULL; /* of the device that was current at first use */
static cudaStream_t aside   = NULL; /* between PetscSparseCUDAAsideBegin() and PetscSparseCUDAAsideEnd(), else NULL; borrowed */
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
  PetscSparseCUDAAsideBegin - Work that the library queues from now on goes to a stream of its own; it comes after what is queued on the other one by now
  beside: the stream of the current PetscDeviceContext, which waits for nothing until PetscSparseCUDAAsideEnd(). Until then PetscSparseCUDAGetStream() gives the stream of its own. PETSc's own work
  goes on on that of the context: PetscSparseCUDAAsideFollow() waits for it.
*/
PetscErrorCode PetscSparseCUDAAsideBegin(cudaStream_t stream, cudaStream_t beside)
{
  PetscFunctionBegin;
  PetscCheck(aside == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work goes to a stream aside already");
  PetscCall(PetscSparseCUDAFollow(stream, beside));
  aside   = stream;
  context = beside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAAsideFollow - Work that goes aside comes after what PETSc has queued on the stream of the context by now; nothing if none goes aside. */
PetscErrorCode PetscSparseCUDAAsideFollow(void)
{
  PetscFunctionBegin;
  if (aside != NULL) PetscCall(PetscSparseCUDAFollow(aside, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAAsideEnd - Work goes to the stream of the context again, which does not wait for what went aside: that is the caller's, with PetscSparseCUDAFollow(). Nothing if none goes aside. */
PetscErrorCode PetscSparseCUDAAsideEnd(void)
{
  PetscFunctionBegin;
  aside = context = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGetAside - The stream of PetscSparseCUDAAsideBegin(); NULL: no work goes aside. */
cudaStream_t PetscSparseCUDAGetAside(void)
{
  return aside;
}
