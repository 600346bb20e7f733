#pragma once
/*
  Numbers of the device that the host waits for. The device writes them into pinned memory, where the host looks for them: a copy and the end of a wait for the stream
  take longer together than many a kernel.
*/
#include <petscsparsecuda/sys.h>

#define DCSR_MESSAGE_WORDS 16

/* In pinned memory. There is one at a time: whoever asks for it waits before somebody else does. */
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

  Input Parameters:
+ device - in device memory, unchanged until they have been awaited
. bytes  - a multiple of 4, at most 4 DCSR_MESSAGE_WORDS
- stream - the same one for both

  Input/Output Parameter:
. sent - between the two. Nothing else is sent meanwhile

  Output Parameter:
. host - the numbers

  Errors: PETSC_ERR_GPU.
*/
PETSC_INTERN PetscErrorCode DCSRSendNumbers(const void *device, size_t bytes, cudaStream_t stream, DCSRNumbersSent *sent);
PETSC_INTERN PetscErrorCode DCSRExpectNumbers(const void *device, size_t bytes, DCSRNumbersSent *sent);
PETSC_INTERN PetscErrorCode DCSRAwaitNumbers(const DCSRNumbersSent *sent, cudaStream_t stream, void *host);

/*
  DCSRReadNumbers - both in one call

  Input Parameters:
+ device - in device memory
. bytes  - a multiple of 4, at most 4 DCSR_MESSAGE_WORDS
- stream - waits for it

  Output Parameter:
. host - the numbers

  Errors: PETSC_ERR_GPU.
*/
PETSC_INTERN PetscErrorCode DCSRReadNumbers(void *host, const void *device, size_t bytes, cudaStream_t stream);
