#pragma once
/*
  One call of a function object for each of 0 to n - 1, in any order.

  CUB has DeviceFor::Bulk() for that. Its header takes 5 s of the compiler in each of the files that want it, and its first launch in a module asks for attributes and occupancy.
*/
#include "overlap.cuh"
#include <petscsparsecuda/common.h>

namespace
{

#define FOR_EACH_THREADS 256
#define FOR_EACH_ITEMS   2 /* a thread; their loads are under way together */

template <typename Index, typename Function>
__global__ static void __launch_bounds__(FOR_EACH_THREADS) DCSRForEachKernel(Index n, Function function)
{
  WaitForPreviousKernel();
  const unsigned long long first = (unsigned long long)blockIdx.x * (FOR_EACH_THREADS * FOR_EACH_ITEMS) + threadIdx.x;

  if (first + (FOR_EACH_ITEMS - 1) * FOR_EACH_THREADS < (unsigned long long)n) {
#pragma unroll
    for (int k = 0; k < FOR_EACH_ITEMS; k++) function((Index)(first + k * FOR_EACH_THREADS));
  } else {
    for (int k = 0; k < FOR_EACH_ITEMS; k++)
      if (first + k * FOR_EACH_THREADS < (unsigned long long)n) function((Index)(first + k * FOR_EACH_THREADS));
  }
}

/*
  DCSRForEach - Calls function(i) on the device for all i of [0, n), in any order; function is copied to the device. Asynchronous
  Function gets the signed integer type of n; nothing is launched unless n is positive. Returns the error of the launch, for PetscCallCUDA().
*/
template <typename Index, typename Function>
cudaError_t DCSRForEach(Index n, Function function, cudaStream_t stream)
{
  const unsigned long long tile = FOR_EACH_THREADS * FOR_EACH_ITEMS;

  if (n <= 0) return cudaSuccess;
  return DCSRLaunchOverlapping(DCSRForEachKernel<Index, Function>, ((unsigned long long)n + tile - 1) / tile, FOR_EACH_THREADS, stream, n, function);
}

} // namespace
