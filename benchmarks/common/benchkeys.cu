/*
  Lists of keys; see benchkeys.h.
*/
#include "benchkeys.h"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

/* BenchKeysSort - see benchkeys.h */
PetscErrorCode BenchKeysSort(unsigned long long **keys, PetscCount *num, cudaStream_t stream)
{
  unsigned long long *sorted;
  int64_t            *selected, host;
  char               *work;
  size_t              bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(*num, "benchmark keys", stream, &sorted));
  PetscCall(PetscSparseCUDAMalloc(1, "number of benchmark keys", stream, &selected));
  PetscCallCUDA(cub::DeviceRadixSort::SortKeys(NULL, bytes, *keys, sorted, *num, 0, 64, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "benchmark sort", stream, &work));
  PetscCallCUDA(cub::DeviceRadixSort::SortKeys(work, bytes, *keys, sorted, *num, 0, 64, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCallCUDA(cub::DeviceSelect::Unique(NULL, bytes, sorted, *keys, selected, *num, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "benchmark selection", stream, &work));
  PetscCallCUDA(cub::DeviceSelect::Unique(work, bytes, sorted, *keys, selected, *num, stream));
  PetscCallCUDA(cudaMemcpyAsync(&host, selected, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCall(PetscSparseCUDAFree(&sorted, stream));
  PetscCall(PetscSparseCUDAFree(&selected, stream));
  *num = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}
