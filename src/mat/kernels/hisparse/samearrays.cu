/*
  Whether two structures are the same, array by array.
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 256;

/* Sets *differ when two arrays of n words are not the same. */
__global__ void __launch_bounds__(THREADS) CompareKernel(size_t n, const uint16_t *a, const uint16_t *b, int *differ)
{
  bool different = false;

  for (size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x; k < n; k += (size_t)gridDim.x * THREADS) different |= a[k] != b[k];
  if (different) *differ = 1;
}

PetscErrorCode Compare(int num, const HiSparseArrays arrays[], int *differ, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int i = 0; i < num; i++) {
    const size_t n = arrays[i].bytes / sizeof(uint16_t);
    unsigned int blocks;

    if (n == 0 || arrays[i].a == arrays[i].b) continue;
    PetscCall(DCSRGetGrid((PetscCount)((n + THREADS - 1) / THREADS), DCSR_LOOP_BLOCKS, &blocks));
    CompareKernel<<<blocks, THREADS, 0, stream>>>(n, (const uint16_t *)arrays[i].a, (const uint16_t *)arrays[i].b, differ);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* HiSparseSameArrays - whether all pairs of arrays on the device are equal; a length is a multiple of 2 bytes, and may be 0. Synchronizes. Errors: PETSC_ERR_MEM */
PetscErrorCode HiSparseSameArrays(int num, const HiSparseArrays arrays[], cudaStream_t stream, PetscBool *same)
{
  int           *device = NULL, differ = 1;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "result of a comparison", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, cleanup, Compare(num, arrays, device, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&differ, device, sizeof(differ), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *same = (PetscBool)(differ == 0);
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscFunctionReturn(ierr);
}
