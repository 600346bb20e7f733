/*
  Device memory that other processes can be given. Open MPI exports a buffer to a process on the same node and copies from there, 10 us for a message. Memory of a stream-ordered pool
  cannot be exported (CUDA IPC has no handle for it), and a message from it takes a millisecond. So what PetscSF or MPI may read and write is cudaMalloc()'s.

  Blocks that are not in use are kept, since cudaMalloc() and cudaFree() wait for the device, and MPI keeps what it has mapped of them. All work of the library is in one order
  (device.c), and is waited for before MPI touches a buffer, so that a block can be handed out again at once.
*/
#include "exportable.h"

/* Blocks that are not in use are kept up to this part of the device's memory, */
#define KEEP_PART 64
/* and at most this many of them. */
#define KEEP_BLOCKS 32
/* Sizes are multiples of this part of the power of two below them, so that buffers of about the same size are the same blocks; */
#define SIZE_PARTS 4
/* the least is */
#define LEAST_BYTES ((size_t)4096)
/* A block serves what is at least this part of it. */
#define FIT_PART 2

typedef struct {
  char      *ptr;
  size_t     bytes; /* of the block, or what was asked for when it is the pool's */
  PetscBool  in_use;
  PetscBool  pooled; /* from the pool, since this MPI gets no device memory */
  PetscInt64 time;   /* when it was returned */
} Block;

static Block     *blocks     = NULL; /* [max_blocks] */
static PetscInt   num_blocks = 0, max_blocks = 0, num_in_use = 0;
static size_t     bytes_in_use = 0, bytes_kept = 0; /* without the pool's */
static size_t     keep_bytes = 0;                   /* that may be kept; 0: the device was not asked yet */
static PetscInt64 clock_now  = 0;

PetscMemType PetscSparseCUDAExportableMemType = PETSC_MEMTYPE_CUDA;

static PetscErrorCode DestroyBlocks(void)
{
  PetscFunctionBegin;
  PetscCall(ExportableGiveBack(0));
  PetscCall(PetscFree(blocks));
  num_blocks   = 0;
  max_blocks   = 0;
  num_in_use   = 0;
  bytes_in_use = 0;
  keep_bytes   = 0;
  clock_now    = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is too large to be kept is as large as it was asked for. */
static size_t RoundUp(size_t bytes)
{
  size_t unit = LEAST_BYTES;

  if (bytes > keep_bytes) return bytes;
  while (unit <= bytes / (2 * SIZE_PARTS)) unit *= 2;
  return (bytes + unit - 1) / unit * unit;
}

static PetscErrorCode Initialize(void)
{
  size_t free_bytes, total_bytes = (size_t)1 << 30;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(PetscSparseCUDAExportableMemType)) PetscCallCUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  keep_bytes = total_bytes / KEEP_PART;
  PetscCall(PetscRegisterFinalize(DestroyBlocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ExportableReserve - Makes room for one more block on the host; comes before ExportableAdd(). */
PetscErrorCode ExportableReserve(void)
{
  PetscFunctionBegin;
  if (keep_bytes == 0) PetscCall(Initialize());
  if (num_blocks < max_blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRealloc((size_t)(2 * max_blocks + 16) * sizeof(*blocks), &blocks));
  max_blocks = 2 * max_blocks + 16;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Use(Block *b)
{
  b->in_use = PETSC_TRUE;
  num_in_use++;
  bytes_in_use += b->bytes;
}

/* ExportableGet - A block of at least so many bytes (not 0) that is kept, or a new one, for work queued from now on; NULL when the device has no memory */
PetscErrorCode ExportableGet(size_t bytes, void **ptr)
{
  Block      *best = NULL;
  size_t      size;
  cudaError_t error;

  PetscFunctionBegin;
  *ptr = NULL;
  PetscCall(ExportableReserve());
  size = RoundUp(bytes);
  for (Block *b = blocks; b < blocks + num_blocks; b++)
    if (!b->in_use && b->bytes >= bytes && b->bytes / FIT_PART <= size && (best == NULL || b->bytes < best->bytes)) best = b;
  if (best != NULL) bytes_kept -= best->bytes;
  else {
    error = PetscMemTypeHost(PetscSparseCUDAExportableMemType) ? ((*ptr = malloc(size)) != NULL ? cudaSuccess : cudaErrorMemoryAllocation) : cudaMalloc(ptr, size);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      *ptr = NULL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCallCUDA(error);
    best  = &blocks[num_blocks++];
    *best = (Block){(char *)*ptr, size, PETSC_FALSE, PETSC_FALSE, 0};
  }
  Use(best);
  *ptr = best->ptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ExportableAdd - Notes memory of the pool that travels, and is copied to the host before MPI gets it. */
void ExportableAdd(void *ptr, size_t bytes)
{
  blocks[num_blocks++] = (Block){(char *)ptr, bytes, PETSC_TRUE, PETSC_TRUE, 0};
  num_in_use++;
}

static void Remove(Block *b)
{
  *b = blocks[--num_blocks];
}

/*
  ExportableReturn - The end of the use of a block, or of any device memory of ours
  found: whether it is a block; when it is not, nothing was done. pooled: whether it is memory of the pool, which the caller frees.
*/
PetscErrorCode ExportableReturn(void *ptr, PetscBool *found, PetscBool *pooled)
{
  PetscFunctionBegin;
  *found = *pooled = PETSC_FALSE;
  if (num_in_use == 0) PetscFunctionReturn(PETSC_SUCCESS); // always, on one process
  for (Block *b = blocks; b < blocks + num_blocks; b++) {
    if (b->ptr != ptr || !b->in_use) continue;
    *found  = PETSC_TRUE;
    *pooled = b->pooled;
    num_in_use--;
    if (b->pooled) Remove(b);
    else {
      b->in_use = PETSC_FALSE;
      b->time   = clock_now++;
      bytes_in_use -= b->bytes;
      bytes_kept += b->bytes;
      PetscCall(ExportableGiveBack(keep_bytes));
    }
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ExportableGiveBack - Gives blocks that are not in use back to the device, those first that were not for the longest time; keep bytes may stay, 0: none
  Cost: cudaFree() waits for the work of the device, so that nobody uses a block any more.
*/
PetscErrorCode ExportableGiveBack(size_t keep)
{
  PetscFunctionBegin;
  while (bytes_kept > keep || num_blocks - num_in_use > KEEP_BLOCKS) {
    Block *oldest = NULL;

    for (Block *b = blocks; b < blocks + num_blocks; b++)
      if (!b->in_use && (oldest == NULL || b->time < oldest->time)) oldest = b;
    if (PetscMemTypeHost(PetscSparseCUDAExportableMemType)) free(oldest->ptr);
    else PetscCallCUDA(cudaFree(oldest->ptr));
    bytes_kept -= oldest->bytes;
    Remove(oldest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ExportableGetBytes - Bytes of blocks in use, and of those that are kept. The pool's are not counted. */
void ExportableGetBytes(size_t *in_use, size_t *kept)
{
  *in_use = bytes_in_use;
  *kept   = bytes_kept;
}

/*
  PetscSparseCUDACheckExportable - Raises PETSC_ERR_PLIB when memory that is about to go to PetscSF or MPI is not what PetscSparseCUDAMallocExportable() gave
  ptr: device memory, where the message begins. what: it is, in the words of the error message.
*/
PetscErrorCode PetscSparseCUDACheckExportable(const void *ptr, const char what[])
{
  PetscFunctionBegin;
  for (const Block *b = blocks; b < blocks + num_blocks; b++)
    if (b->in_use && (const char *)ptr >= b->ptr && (const char *)ptr < b->ptr + b->bytes) PetscFunctionReturn(PETSC_SUCCESS);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB,
          "Device memory of %s goes to other processes and is not memory of PetscSparseCUDAMallocExportable(), which MPI can export: it would travel a hundred times slower", what);
}
