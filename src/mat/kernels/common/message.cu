/*
  Numbers of the device that the host waits for: see message.h.
*/
#include "message.h"
#include <sched.h>

namespace
{

constexpr int LOOKS = 10000; // for a message, between two questions whether the stream has failed or has nothing to do

DCSRMessage *memory = NULL; // pinned
uint32_t     last   = 0;    // number of the last message

PetscErrorCode FreeMemory(void)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFreeHost(memory));
  memory = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool IsThere(const DCSRMessage *message, uint32_t number)
{
  return __atomic_load_n(&message->number, __ATOMIC_ACQUIRE) == number;
}

/* One warp. */
__global__ void SendKernel(const uint32_t *from, int num_words, DCSRMessage *message, uint32_t number)
{
  volatile DCSRMessage *to = message;
  const int             k  = (int)threadIdx.x;

  if (k < num_words) to->words[k] = from[k];
  __threadfence_system();
  __syncwarp();
  if (k == 0) to->number = number;
}

} // namespace

/* DCSRMessageExpect - see message.h */
PetscErrorCode DCSRMessageExpect(DCSRMessage **message, uint32_t *number)
{
  PetscFunctionBegin;
  if (memory == NULL) {
    if (cudaHostAlloc((void **)&memory, sizeof(*memory), cudaHostAllocPortable) == cudaSuccess) {
      memory->number = last;
      PetscCall(PetscRegisterFinalize(FreeMemory));
    } else {
      (void)cudaGetLastError();
      memory = NULL;
    }
  }
  *message = memory;
  *number  = ++last;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRMessageWait - see message.h */
PetscErrorCode DCSRMessageWait(const DCSRMessage *message, uint32_t number, cudaStream_t stream)
{
  cudaError_t error = cudaErrorNotReady;

  PetscFunctionBegin;
  while (error == cudaErrorNotReady) {
    for (int k = 0; k < LOOKS; k++)
      if (IsThere(message, number)) PetscFunctionReturn(PETSC_SUCCESS);
    error = cudaStreamQuery(stream);
    if (error == cudaErrorNotReady) {
      (void)cudaGetLastError(); // a later check must not find this one
      (void)sched_yield();      // processes may share a core
    }
  }
  PetscCallCUDA(error);
  PetscCheck(IsThere(message, number), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A kernel ended without its message");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRExpectNumbers - see message.h */
PetscErrorCode DCSRExpectNumbers(const void *device, size_t bytes, DCSRNumbersSent *sent)
{
  PetscFunctionBegin;
  PetscCheck(bytes <= sizeof(sent->message->words) && bytes % sizeof(sent->message->words[0]) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are no message", bytes);
  sent->device = device;
  sent->bytes  = bytes;
  PetscCall(DCSRMessageExpect(&sent->message, &sent->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSendNumbers - see message.h */
PetscErrorCode DCSRSendNumbers(const void *device, size_t bytes, cudaStream_t stream, DCSRNumbersSent *sent)
{
  PetscFunctionBegin;
  PetscCall(DCSRExpectNumbers(device, bytes, sent));
  if (sent->message == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  SendKernel<<<1, 32, 0, stream>>>((const uint32_t *)device, (int)(bytes / sizeof(sent->message->words[0])), sent->message, sent->number);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAwaitNumbers - see message.h */
PetscErrorCode DCSRAwaitNumbers(const DCSRNumbersSent *sent, cudaStream_t stream, void *host)
{
  PetscFunctionBegin;
  if (sent->message == NULL) {
    PetscCallCUDA(cudaMemcpyAsync(host, sent->device, sent->bytes, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  } else {
    PetscCall(DCSRMessageWait(sent->message, sent->number, stream));
    PetscCall(PetscMemcpy(host, sent->message->words, sent->bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRReadNumbers - see message.h */
PetscErrorCode DCSRReadNumbers(void *host, const void *device, size_t bytes, cudaStream_t stream)
{
  DCSRNumbersSent sent;

  PetscFunctionBegin;
  PetscCall(DCSRSendNumbers(device, bytes, stream, &sent));
  PetscCall(DCSRAwaitNumbers(&sent, stream, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}
