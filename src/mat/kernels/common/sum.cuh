#pragma once
/* Exclusive sums of what an iterator has. */
#include "temporary.cuh"
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>

namespace
{

constexpr int SUM_FEW_THREADS = 512;
constexpr int SUM_FEW_ITEMS   = 8; // of a thread

/* A thread block sums up few numbers, as levels of PCGAMG have them. All are read before one is written. */
template <typename In, typename T>
__global__ static void __launch_bounds__(SUM_FEW_THREADS) SumFewKernel(In counts, int n, T sums[])
{
  using Scan = cub::BlockScan<T, SUM_FEW_THREADS>;
  __shared__ typename Scan::TempStorage storage;
  const int                             first = (int)threadIdx.x * SUM_FEW_ITEMS;
  T                                     items[SUM_FEW_ITEMS];

#pragma unroll
  for (int k = 0; k < SUM_FEW_ITEMS; k++) items[k] = first + k < n ? (T)counts[first + k] : T(0);
  Scan(storage).ExclusiveSum(items, items);
#pragma unroll
  for (int k = 0; k < SUM_FEW_ITEMS; k++)
    if (first + k < n) sums[first + k] = items[k];
}

/*
  DCSRSum - sums [n] (device): of the counts before each, by an iterator, which may be that of sums. Asynchronous
  what: what the workspace is for, for the message of PETSC_ERR_MEM. Few numbers take one launch and no workspace.
*/
template <typename In, typename T>
PetscErrorCode DCSRSum(const char what[], In counts, PetscCount n, T sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n <= SUM_FEW_THREADS * SUM_FEW_ITEMS) {
    SumFewKernel<<<1, SUM_FEW_THREADS, 0, stream>>>(counts, (int)n, sums);
    PetscCallCUDA(cudaGetLastError());
  } else PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, counts, sums, (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
