#pragma once
/*
  Names the kernels of a file that petscsparsecuda/preload.h describes. One of a file loads what all of its kernels share.
*/
#include <petscsparsecuda/preload.h>

namespace
{

struct DCSRPreloadedKernel {
  PetscSparseCUDAKernel kernel;

  DCSRPreloadedKernel(PetscSparseCUDAPreloadGroup group, const void *function)
  {
    kernel.function = function;
    PetscSparseCUDAPreloadAdd(group, &kernel);
  }
  DCSRPreloadedKernel(const DCSRPreloadedKernel &) = delete; // it stays in the list where it is
};

} // namespace

#define DCSR_PRELOAD_NAME_(line) preloaded##line
#define DCSR_PRELOAD_NAME(line)  DCSR_PRELOAD_NAME_(line)

/* DCSRPreload - the kernel with its template's arguments, at the end of a file, once a line */
#define DCSRPreload(...) static DCSRPreloadedKernel DCSR_PRELOAD_NAME(__LINE__)(PETSCSPARSECUDA_PRELOAD_SETUP, (const void *)(__VA_ARGS__))

/* DCSRPreloadCUB - the same for a file that has no kernel but CUB's, which cannot be named: an empty one loads what they share */
#define DCSRPreloadCUB() \
  __global__ static void PreloadedKernel(void) {} \
  DCSRPreload(PreloadedKernel)

/* HiSparsePreload - the same for storage HiSparse */
#define HiSparsePreload(...) static DCSRPreloadedKernel DCSR_PRELOAD_NAME(__LINE__)(PETSCSPARSECUDA_PRELOAD_HISPARSE, (const void *)(__VA_ARGS__))

/* HiSparsePreloaded - an element of an array of DCSRPreloadedKernel, where a list has the arguments of templates */
#define HiSparsePreloaded(...) DCSRPreloadedKernel(PETSCSPARSECUDA_PRELOAD_HISPARSE, (const void *)(__VA_ARGS__)),
