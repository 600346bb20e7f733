#pragma once
/*
  Numbers of the device that the host waits for, or asks for later. The device writes them into pinned memory, where the host polls for them: a copy and the end of a wait for the stream
  take longer together than many a kernel.
*/
#include <petscsparsecuda/sys.h>

#define DCSR_MESSAGE_WORDS 16

/* In pinned memory. Of those that are awaited there is one at a time: whoever asks for it waits before somebody else does. */
typedef struct {
  uint32_t words[DCSR_MESSAGE_WORDS]; /* aligned for any number */
  uint32_t number;                    /* of the message that is there, written last */
} DCSRMessage;

/* Memory that work on the device may write to, and the number of the message; *message is NULL when there is no pinned memory. */
PETSC_INTERN PetscErrorCode DCSRMessageExpect(DCSRMessage **message, uint32_t *number);
/* Until the message of this number is there, whose writing is queued on the stream. */
PETSC_INTERN PetscErrorCode DCSRMessageWait(const DCSRMessage *message, uint32_t number, cudaStream_t stream);

/* Numbers that are on their way to the host. */
typedef struct {
  const void  *device;
  size_t       bytes;
  DCSRMessage *message; /* NULL: nothing is on its way, they are copied when they are awaited */
  uint32_t     number;
} DCSRNumbersSent;

/*
  DCSRSendNumbers   - sends a few numbers to the host, when the work queued on the stream so far is done
  DCSRExpectNumbers - the same for numbers that a kernel sends that is queued next, which saves a launch: it writes words and then number of the message, unless that is NULL
  DCSRAwaitNumbers  - waits for them, not for work that was queued after them
  device memory is unchanged until they have been awaited. bytes: a multiple of 4, at most 4 DCSR_MESSAGE_WORDS. The stream is the same one for both. sent is between the two; nothing else is sent
  meanwhile.
*/
PETSC_INTERN PetscErrorCode DCSRSendNumbers(const void *device, size_t bytes, cudaStream_t stream, DCSRNumbersSent *sent);
PETSC_INTERN PetscErrorCode DCSRExpectNumbers(const void *device, size_t bytes, DCSRNumbersSent *sent);
PETSC_INTERN PetscErrorCode DCSRAwaitNumbers(const DCSRNumbersSent *sent, cudaStream_t stream, void *host);

/* DCSRReadNumbers - both in one call; waits for the stream. bytes: a multiple of 4, at most 4 DCSR_MESSAGE_WORDS */
PETSC_INTERN PetscErrorCode DCSRReadNumbers(void *host, const void *device, size_t bytes, cudaStream_t stream);

/* A slot in pinned memory for numbers that nobody waits for. There are DCSR_NUM_POSTS of them. */
typedef struct _n_DCSRPost *DCSRPost;

#define DCSR_NUM_POSTS 16

/*
  DCSRPostCreate  - gets a slot
  DCSRPostSend    - sends a few numbers of the device into it, when the work queued on the stream so far is done; once
  DCSRPostIsThere - whether they are there
  DCSRPostTake    - takes them, which must be there, and gives the slot back
  DCSRPostDestroy - gives the slot back, whether they are there or not; NULL is fine
  device memory is unchanged until the work on the stream that follows: it may be freed in stream order at once. bytes: a multiple of 4, at most 4 DCSR_MESSAGE_WORDS. Asynchronous. Whoever asks needs
  no stream: the host reads pinned memory. host gets as many bytes as were sent.
  post is created NULL when none is free or there is no pinned memory, and NULL when it was given back. A slot that was given back before its numbers came is free again when they have come, so that
  the device never writes into what is somebody else's.
*/
PETSC_INTERN PetscErrorCode DCSRPostCreate(DCSRPost *post);
PETSC_INTERN PetscErrorCode DCSRPostSend(DCSRPost post, const void *device, size_t bytes, cudaStream_t stream);
PETSC_INTERN PetscBool      DCSRPostIsThere(DCSRPost post);
PETSC_INTERN PetscErrorCode DCSRPostTake(DCSRPost *post, void *host);
PETSC_INTERN void           DCSRPostDestroy(DCSRPost *post);
