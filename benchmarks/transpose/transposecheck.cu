/*
  Comparison of device arrays; see transposecheck.h.
*/
#include "transposecheck.h"

__global__ void CountDifferencesKernel(const uint32_t *a, const uint32_t *b, size_t n, unsigned long long *count)
{
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    if (a[i] != b[i]) atomicAdd(count, 1ull);
}

/* TransposeCountDifferences - see transposecheck.h */
PetscErrorCode TransposeCountDifferences(const void *a, const void *b, size_t bytes, cudaStream_t stream, PetscCount *count)
{
  unsigned long long *device, host = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "count of differences", stream, &device));
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  CountDifferencesKernel<<<1024, 256, 0, stream>>>((const uint32_t *)a, (const uint32_t *)b, bytes / 4, device);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  *count = (PetscCount)host;
  PetscFunctionReturn(PETSC_SUCCESS);
}
