/*
  The Arnoldi process for D A with classical Gram-Schmidt, for its estimates of eigenvalues. The Hessenberg matrix stays on the device, where the next step reads of it what it needs, so that the host
  waits for no part of it.
*/
#include "sums.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"

namespace
{

/* w = D b; its square. */
struct Start {
  const PetscScalar *d, *b;
  PetscScalar       *w;

  __device__ void Load() {}
  __device__ Sums<1> operator()(PetscCount i) const
  {
    const PetscScalar value = d[i] * b[i];

    w[i] = value;
    return {{PetscScalar(SquaredValue(value))}};
  }
};

/* v = x = w / |w| */
struct Normalize {
  const PetscScalar *square, *w; // square [1]
  PetscScalar       *v, *x;

  __device__ void operator()(PetscCount i) const
  {
#if PetscDefined(USE_COMPLEX)
    const PetscReal norm = sqrt(square[0].real());
#else
    const PetscReal norm = sqrt(square[0]);
#endif
    const PetscScalar value = w[i] * PetscScalar(PetscReal(1) / norm);

    v[i] = value;
    x[i] = value;
  }
};

/* Inner products with vectors of the basis, of D w where d is given, which w becomes. */
struct Project {
  const PetscScalar *d;     // NULL: w is D w already
  const PetscScalar *basis; // [count][n]
  PetscCount         n;
  int                count;
  PetscScalar       *w;

  __device__ void Load() {}
  __device__ Sums<DCSR_SUM_MAX> operator()(PetscCount i) const
  {
    Sums<DCSR_SUM_MAX> sums  = {};
    PetscScalar        value = w[i];

    if (d != NULL) {
      value = d[i] * value;
      w[i]  = value;
    }
#pragma unroll
    for (int k = 0; k < DCSR_SUM_MAX; k++)
      if (k < count) sums.value[k] = Product(value, basis[k * n + i]);
    return sums;
  }
};

/* w without its parts in the basis; the square of what is left. */
struct Subtract {
  const PetscScalar *h;     // [count]
  const PetscScalar *basis; // [count][n]
  PetscCount         n;
  int                count;
  PetscScalar       *w;

  __device__ void Load() {}
  __device__ Sums<1> operator()(PetscCount i) const
  {
    PetscScalar value = w[i];

    for (int k = 0; k < count; k++) value -= h[k] * basis[k * n + i];
    w[i] = value;
    return {{PetscScalar(SquaredValue(value))}};
  }
};

} // namespace

/* DCSRArnoldiStart - see smooth.h */
PetscErrorCode DCSRArnoldiStart(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscScalar w[], void *work, PetscScalar square[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(work, 0, DCSR_SUM_HEAD, stream));
  PetscCall(Sum<1>(n, Start{d, b, w}, 1, work, square, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRArnoldiNormalize - see smooth.h */
PetscErrorCode DCSRArnoldiNormalize(PetscInt n, const PetscScalar square[], const PetscScalar w[], PetscScalar v[], PetscScalar x[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n, Normalize{square, w, v, x}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRArnoldiProject - see smooth.h */
PetscErrorCode DCSRArnoldiProject(PetscInt n, const PetscScalar d[], PetscInt count, const PetscScalar basis[], PetscScalar w[], void *work, PetscScalar h[], cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k += DCSR_SUM_MAX) {
    const int part = (int)PetscMin(count - k, DCSR_SUM_MAX);

    PetscCall(Sum<DCSR_SUM_MAX>(n, Project{k == 0 ? d : NULL, basis + (PetscCount)k * n, (PetscCount)n, part, w}, part, work, h + k, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRArnoldiSubtract - see smooth.h */
PetscErrorCode DCSRArnoldiSubtract(PetscInt n, PetscInt count, const PetscScalar basis[], PetscScalar w[], void *work, PetscScalar h[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<1>(n, Subtract{h, basis, (PetscCount)n, (int)count, w}, 1, work, h + count, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of setups of PCGAMG with matrices that nothing is said of
DCSRPreload(SumKernel<1, Start>);
DCSRPreload(DCSRForEachKernel<PetscCount, Normalize>);
DCSRPreload(SumKernel<DCSR_SUM_MAX, Project>);
DCSRPreload(SumKernel<1, Subtract>);
