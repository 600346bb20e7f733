/*
  The vector with which PETSc estimates eigenvalues, made where it is used.
*/
#include <petscsparsecuda/smooth.h>
#include "../common/foreach.cuh"
#include "../common/preload.cuh"

namespace
{

/* The integer hash of KSPNoisyHash_Private(): bits of the number are mixed twice, and the result lies about zero, scaled to -1.07 to 1.07. */
__host__ __device__ inline double NoiseOf(PetscInt number)
{
  constexpr uint32_t factor = 0x45d9f3b;
  uint32_t           x      = (uint32_t)number;

  x = ((x >> 16) ^ x) * factor;
  x = ((x >> 16) ^ x) * factor;
  x = (x >> 16) ^ x;
  return (double)((int64_t)x - 2147483648LL) * 5.e-10;
}

struct SetNoise {
  PetscInt        begin;
  PetscScalar    *x;
  __device__ void operator()(PetscCount k) const { x[k] = (PetscReal)NoiseOf(begin + (PetscInt)k); }
};

} // namespace

/* DCSRSetNoise - Entries x [n] (device) that look random and depend on their numbers alone, from begin on, the same bits as those of KSPSetNoisy_Private(). Asynchronous */
PetscErrorCode DCSRSetNoise(PetscInt n, PetscInt begin, PetscScalar x[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach((PetscCount)n, SetNoise{begin, x}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DCSRForEachKernel<PetscCount, SetNoise>);
