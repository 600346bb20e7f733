#pragma once
/*
  Names the kernels of a file that petscsparsecuda/preload.h tells of: those of nearly every setup of PCGAMG. One of a file loads what all of its kernels share.
*/
#include <petscsparsecuda/preload.h>

namespace
{

struct DCSRPreloadedKernel {
  PetscSparseCUDAKernel kernel;

  explicit DCSRPreloadedKernel(const void *function)
  {
    kernel.function = function;
    PetscSparseCUDAPreloadAdd(&kernel);
  }
};

} // namespace

#define DCSR_PRELOAD_NAME_(line) preloaded##line
#define DCSR_PRELOAD_NAME(line)  DCSR_PRELOAD_NAME_(line)

/* DCSRPreload - the kernel with its template's arguments, at the end of a file, once a line */
#define DCSRPreload(...) static DCSRPreloadedKernel DCSR_PRELOAD_NAME(__LINE__)((const void *)(__VA_ARGS__))
