/*
  The scatter of products with parallel matrices, and the streams that it works on.

  A product queues the kernel of the diagonal block first. What the messages need, packing, copies and unpacking, goes to a stream of its own with a higher priority, which waits for the vector and not for that kernel. So the
  host waits for what is sent alone, while the device multiplies, and the device has work while the host is in MPI.
*/
#include "parallel.h"
#include "../core/core.h"
#include "../exchange/exchange.h"

/*
  MatMPIAIJCUDAUseCurrentStream - What is done next with the ghost vector and the scatter of products comes after all that was queued with them, also in another PetscDeviceContext

  Not Collective

  Input Parameter:
. A - a parallel matrix of ours

  Note:
  To be called by operations that leave both to code of PETSc, which knows the stream of the current context only.
*/
PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat A)
{
  Mat_MPIAIJ  *a = (Mat_MPIAIJ *)A->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (MatMPIAIJCUDAGet(A)->no_device || a->Mvctx == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDASetSFStream(a->Mvctx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream of messages, and an event that tells one stream what another one has queued; of the device that was current at first use. */
static cudaStream_t message_stream = NULL;
static cudaEvent_t  queued         = NULL;

static PetscErrorCode DestroyMessageStream(void)
{
  PetscFunctionBegin;
  if (queued != NULL) PetscCallCUDA(cudaEventDestroy(queued));
  if (message_stream != NULL) PetscCallCUDA(cudaStreamDestroy(message_stream));
  queued         = NULL;
  message_stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMessageStream(void)
{
  int least, greatest;

  PetscFunctionBegin;
  if (queued != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (message_stream == NULL) {
    PetscCall(PetscRegisterFinalize(DestroyMessageStream));
    PetscCallCUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    PetscCallCUDA(cudaStreamCreateWithPriority(&message_stream, cudaStreamNonBlocking, greatest)); // a blocking one would wait for the legacy stream, which PETSc's default streams are
  }
  PetscCallCUDA(cudaEventCreateWithFlags(&queued, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is queued on one stream from now on comes after what is queued on the other one by now. */
static PetscErrorCode Follow(cudaStream_t after, cudaStream_t before)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventRecord(queued, before));
  PetscCallCUDA(cudaStreamWaitEvent(after, queued, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductMessagesBegin - What is sent has been queued, and what hides the exchange comes next

  Not Collective

  Input Parameters:
+ A    - a parallel matrix of ours whose blocks are on the device
- from - the vector that is sent

  Output Parameter:
. m - for ProductMessagesEnd()

  Cost: an event.
*/
PetscErrorCode ProductMessagesBegin(Mat A, Vec from, ProductMessages *m)
{
  const PetscScalar *array;
  PetscMemType       mtype;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&m->stream));
  PetscCall(CreateMessageStream());
  PetscCall(VecGetArrayReadAndMemType(from, &array, &mtype)); // a copy to the device, if it takes one, is queued before the event
  PetscCall(VecRestoreArrayReadAndMemType(from, &array));
  PetscCall(Follow(message_stream, m->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductMessagesEnd - The exchange of a product: ghost values, or with reverse sums for the owners of ghost columns

  Collective

  Input Parameters:
+ A       - the matrix
. m       - of ProductMessagesBegin()
. from    - the vector that is sent
- reverse - from is the ghost vector, whose entries are added to those of to, which work queued since the beginning may write

  Output Parameter:
. to - where the values go, for work on the stream of the current context

  Note:
  The host waits as PetscSF does: for what is sent, and for the messages. Processes that have neither come here, too: the log event of VecScatterEnd() may be a barrier.
*/
PetscErrorCode ProductMessagesEnd(Mat A, const ProductMessages *m, Vec from, Vec to, PetscBool reverse)
{
  const VecScatter  scatter = ((Mat_MPIAIJ *)A->data)->Mvctx;
  const ScatterMode mode    = reverse ? SCATTER_REVERSE : SCATTER_FORWARD;
  const InsertMode  insert  = reverse ? ADD_VALUES : INSERT_VALUES;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDASetSFStream(scatter, message_stream));
  PetscCall(VecScatterBegin(scatter, from, to, insert, mode));
  if (reverse) PetscCall(Follow(message_stream, m->stream));
  PetscCall(VecScatterEnd(scatter, from, to, insert, mode));
  PetscCall(PetscSparseCUDASetSFStream(scatter, m->stream));
  PetscCall(Follow(m->stream, message_stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
