#pragma once
/*
  Programmatic dependent launch, from compute capability 9.0 on: a kernel is brought to the multiprocessors while the one before it ends. In cycles of small systems, where kernels take 2 to 3 us, that is
  a tenth of the time (benchmarks/results/h200/overlap.txt).
*/
#include <petscsparsecuda/common.h>

namespace
{

/*
  The next kernel of the stream may begin when all thread blocks of this one have come here. In kernels launched normally alone: several would lie on each other. Behind the wait of others it saves 2 %,
  which is less than runs differ by, and x may be read as a constant no more, which takes 7 % (8 million unknowns).
*/
__device__ inline void LetNextKernelStart(void)
{
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/*
  Waits until all that the stream did before is done and seen. Every thread block waits before it ends, since the next kernel waits for this one alone; before declarations, whose initializers load.
  Loads of constants (ld.global.nc) may read what the kernel before has written: all of its thread blocks have ended when those of this one begin.
*/
__device__ inline void WaitForPreviousKernel(void)
{
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/* Whether kernels of this file wait, as they were compiled for the device, and whether graphs may have such launches. */
inline bool CanOverlap(const void *kernel)
{
  static int can = -1;

  if (can < 0) {
    cudaFuncAttributes attributes;
    int                driver;

    can = cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess && cudaDriverGetVersion(&driver) == cudaSuccess && attributes.ptxVersion >= 90 && driver >= 12030;
    (void)cudaGetLastError();
  }
  return can == 1;
}

/* DCSRLaunch - Launches a kernel; overlap: as DCSRLaunchOverlapping() does. Returns an error that no later check finds, for PetscCallCUDA() */
template <typename... Parameters, typename... Arguments>
cudaError_t DCSRLaunch(bool overlap, void (*kernel)(Parameters...), PetscCount blocks, int threads, size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attribute;
  cudaError_t         error;

  config.gridDim          = dim3((unsigned int)blocks);
  config.blockDim         = dim3((unsigned int)threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream           = stream;
  if (overlap && CanOverlap((const void *)kernel)) {
    attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs                                         = &attribute;
    config.numAttrs                                      = 1;
  }
  error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error;
}

/*
  DCSRLaunchOverlapping - Launches a kernel that is brought to the multiprocessors while the one before it ends, and waits for that one
  What it reads before it waits is older than the one before, which must not overlap then.
*/
template <typename... Parameters, typename... Arguments>
cudaError_t DCSRLaunchOverlapping(void (*kernel)(Parameters...), PetscCount blocks, int threads, cudaStream_t stream, Arguments... arguments)
{
  return DCSRLaunch(true, kernel, blocks, threads, 0, stream, arguments...);
}

} // namespace
