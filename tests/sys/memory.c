static char help[] = "What the pool of device memory keeps, and what it gives back when it is trimmed.\n\n";

#include "../lib/sys.h"
#include <petscsparsecuda/sys.h>
#include <petscsparsecuda.h>

#define NUM_BLOCKS  8
#define BLOCK_BYTES ((size_t)64 << 20)

/* What the pool has is within bounds. */
static PetscErrorCode Check(const char what[], size_t least, size_t most)
{
  size_t held;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATestGetMemoryHeld(&held));
  PetscCheck(held >= least && held <= most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the pool has %zu bytes, not %zu to %zu", what, held, least, most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block stays, the others go. */
static PetscErrorCode TestTrim(void)
{
  char        *blocks[NUM_BLOCKS], *kept;
  cudaStream_t stream;
  size_t       free_bytes, total_bytes, before;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE)); // nothing was allocated yet
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc(BLOCK_BYTES, "a test", stream, &kept));
  PetscCallCUDA(cudaMemsetAsync(kept, 0x5a, BLOCK_BYTES, stream));
  PetscCall(PetscSparseCUDATestGetMemoryHeld(&before));
  for (int k = 0; k < NUM_BLOCKS; k++) PetscCall(PetscSparseCUDAMalloc(BLOCK_BYTES, "a test", stream, &blocks[k]));
  PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
  PetscCall(Check("All blocks are in use", (NUM_BLOCKS + 1) * BLOCK_BYTES, SIZE_MAX));
  for (int k = 0; k < NUM_BLOCKS; k++) PetscCall(PetscSparseCUDAFree(&blocks[k], stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(Check("Nothing was trimmed", (NUM_BLOCKS + 1) * BLOCK_BYTES, SIZE_MAX));
  PetscCallCUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  PetscCall(PetscSparseCUDATrimMemory(PETSC_FALSE));
  if (free_bytes > total_bytes / 2) PetscCall(Check("Half of the device is free", (NUM_BLOCKS + 1) * BLOCK_BYTES, SIZE_MAX));
  PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
  PetscCall(Check("Trimmed", BLOCK_BYTES, before + BLOCK_BYTES));
  for (int k = 0; k < 2; k++) { // what is in use stays what it is, and memory can be had again
    unsigned char first, last;

    PetscCall(PetscSparseCUDAMalloc(BLOCK_BYTES, "a test", stream, &blocks[k]));
    PetscCallCUDA(cudaMemsetAsync(blocks[k], 0xa5, BLOCK_BYTES, stream));
    PetscCall(PetscSparseCUDACopyToHost(&first, kept, 1, stream));
    PetscCall(PetscSparseCUDACopyToHost(&last, kept + BLOCK_BYTES - 1, 1, stream));
    PetscCheck(first == 0x5a && last == 0x5a, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory in use was changed: 0x%x and 0x%x", first, last);
  }
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&blocks[k], stream));
  PetscCall(PetscSparseCUDAFree(&kept, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(TestTrim());
  else PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out
  test:
    suffix: default
    args: -device_enable none
    output_file: output/empty.out

TEST*/
