/*
  Numbers of the device that the host waits for, or asks for later: see message.h.
*/
#include "message.h"
#include "overlap.cuh"
#include <sched.h>

/* A slot is free when it is not used and its last message has come. */
struct _n_DCSRPost {
  DCSRMessage *message; // pinned
  size_t       bytes;
  uint32_t     number; // of the last message that was sent
  bool         used;
};

namespace
{

constexpr int POLLS = 10000; // for a message, between two questions whether the stream has failed or has nothing to do

/* In cache lines of its own. */
struct alignas(128) PinnedMessage {
  DCSRMessage message;
};

PinnedMessage *memory = NULL; // [1 + DCSR_NUM_POSTS] pinned: the one that is awaited, and those of the slots
uint32_t       last   = 0;    // number of the last message that was awaited
_n_DCSRPost    posts[DCSR_NUM_POSTS];

bool IsThere(const DCSRMessage *message, uint32_t number)
{
  return __atomic_load_n(&message->number, __ATOMIC_ACQUIRE) == number;
}

/* Until the numbers are there, whose stream may be gone: any other one shows whether the device has failed. */
PetscErrorCode WaitForPost(const _n_DCSRPost *post)
{
  PetscFunctionBegin;
  while (!IsThere(post->message, post->number)) {
    const cudaError_t error = cudaStreamQuery(cudaStreamLegacy);

    if (error == cudaErrorNotReady) (void)cudaGetLastError(); // a later check must not find this one
    else PetscCallCUDA(error);
    (void)sched_yield(); // processes may share a core
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At PetscFinalize(). The device must not write into memory that is gone: it may still have to write what was given up. */
PetscErrorCode FreeMemory(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < DCSR_NUM_POSTS; k++) PetscCall(WaitForPost(&posts[k]));
  PetscCallCUDA(cudaFreeHost(memory));
  memory = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pinned memory, once; memory stays NULL when there is none. */
PetscErrorCode NeedMemory(void)
{
  PetscFunctionBegin;
  if (memory != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (cudaHostAlloc((void **)&memory, (1 + DCSR_NUM_POSTS) * sizeof(*memory), cudaHostAllocPortable) != cudaSuccess) {
    (void)cudaGetLastError();
    memory = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  memory[0].message.number = last;
  for (int k = 0; k < DCSR_NUM_POSTS; k++) {
    posts[k]                 = {&memory[1 + k].message, 0, 0, false};
    posts[k].message->number = 0;
  }
  PetscCall(PetscRegisterFinalize(FreeMemory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One warp. */
__global__ void SendKernel(const uint32_t *from, int num_words, DCSRMessage *message, uint32_t number)
{
  WaitForPreviousKernel();
  volatile DCSRMessage *to = message;
  const int             k  = (int)threadIdx.x;

  if (k < num_words) to->words[k] = from[k];
  __threadfence_system();
  __syncwarp();
  if (k == 0) to->number = number;
}

/* Whether so many bytes are a message. */
PetscErrorCode CheckBytes(size_t bytes)
{
  PetscFunctionBegin;
  PetscCheck(bytes <= sizeof(DCSRMessage::words) && bytes % sizeof(uint32_t) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are no message", bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Send(const void *device, size_t bytes, cudaStream_t stream, DCSRMessage *message, uint32_t number)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunchOverlapping(SendKernel, 1, 32, stream, (const uint32_t *)device, (int)(bytes / sizeof(uint32_t)), message, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRMessageExpect - see message.h */
PetscErrorCode DCSRMessageExpect(DCSRMessage **message, uint32_t *number)
{
  PetscFunctionBegin;
  PetscCall(NeedMemory());
  *message = memory != NULL ? &memory[0].message : NULL;
  *number  = ++last;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRMessageWait - see message.h */
PetscErrorCode DCSRMessageWait(const DCSRMessage *message, uint32_t number, cudaStream_t stream)
{
  cudaError_t error = cudaErrorNotReady;

  PetscFunctionBegin;
  while (error == cudaErrorNotReady) {
    for (int k = 0; k < POLLS; k++)
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
  PetscCall(CheckBytes(bytes));
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
  if (sent->message != NULL) PetscCall(Send(device, bytes, stream, sent->message, sent->number));
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

/* DCSRPostCreate - see message.h */
PetscErrorCode DCSRPostCreate(DCSRPost *post)
{
  PetscFunctionBegin;
  *post = NULL;
  PetscCall(NeedMemory());
  if (memory == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < DCSR_NUM_POSTS && *post == NULL; k++)
    if (!posts[k].used && IsThere(posts[k].message, posts[k].number)) *post = &posts[k];
  if (*post == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  (*post)->used  = true;
  (*post)->bytes = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRPostSend - see message.h */
PetscErrorCode DCSRPostSend(DCSRPost post, const void *device, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckBytes(bytes));
  PetscCall(Send(device, bytes, stream, post->message, post->number + 1));
  post->number++; // not before: what was not launched never comes
  post->bytes = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRPostIsThere - see message.h */
PetscBool DCSRPostIsThere(DCSRPost post)
{
  return IsThere(post->message, post->number) ? PETSC_TRUE : PETSC_FALSE;
}

/* DCSRPostTake - see message.h */
PetscErrorCode DCSRPostTake(DCSRPost *post, void *host)
{
  PetscFunctionBegin;
  PetscCheck(DCSRPostIsThere(*post), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The numbers have not come yet");
  PetscCall(PetscMemcpy(host, (*post)->message->words, (*post)->bytes));
  DCSRPostDestroy(post);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRPostDestroy - see message.h */
void DCSRPostDestroy(DCSRPost *post)
{
  if (*post != NULL) (*post)->used = false;
  *post = NULL;
}
