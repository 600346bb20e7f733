/*
  Conjugate gradients with a diagonal preconditioner for their estimates of eigenvalues: residuals and directions without a solution. All sums stay on the device, where the next step reads them, so
  that the host waits for none.
*/
#include "sums.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"

namespace
{

/* r = b and p = D r; r^H D r and the square of D r. */
struct Start {
  const PetscScalar *d, *b;
  PetscScalar       *r, *p;

  __device__ void Load() {}
  __device__ Sums<2> operator()(PetscCount i) const
  {
    const PetscScalar residual = b[i], z = d[i] * residual;

    r[i] = residual;
    p[i] = z;
    return {{Product(z, residual), PetscScalar(SquaredValue(z))}};
  }
};

/* w^H p */
struct Multiply {
  const PetscScalar *p, *w;

  __device__ void Load() {}
  __device__ Sums<1> operator()(PetscCount i) const { return {{Product(p[i], w[i])}}; }
};

/* r = r - alpha w; the same sums as at the start. */
struct Update {
  const PetscScalar *d, *w;
  PetscScalar       *r;
  const PetscScalar *sums; // [3] of the step
  PetscScalar        alpha;

  __device__ void Load() { alpha = sums[0] / sums[2]; }
  __device__ Sums<2> operator()(PetscCount i) const
  {
    const PetscScalar residual = r[i] - alpha * w[i], z = d[i] * residual;

    r[i] = residual;
    return {{Product(z, residual), PetscScalar(SquaredValue(z))}};
  }
};

/* p = D r + beta p */
struct Turn {
  const PetscScalar *d, *r;
  PetscScalar       *p;
  const PetscScalar *sums; // [4] from the step before on

  __device__ void operator()(PetscCount i) const { p[i] = d[i] * r[i] + sums[3] / sums[0] * p[i]; }
};

} // namespace

/* DCSRLanczosStart - see smooth.h */
PetscErrorCode DCSRLanczosStart(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscScalar r[], PetscScalar p[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(work, 0, DCSR_SUM_HEAD, stream));
  PetscCall(Sum<2>(n, Start{d, b, r, p}, 2, work, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosMultiply - see smooth.h */
PetscErrorCode DCSRLanczosMultiply(PetscInt n, const PetscScalar p[], const PetscScalar w[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<1>(n, Multiply{p, w}, 1, work, sums + 2, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosUpdate - see smooth.h */
PetscErrorCode DCSRLanczosUpdate(PetscInt n, const PetscScalar d[], const PetscScalar w[], PetscScalar r[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<2>(n, Update{d, w, r, sums, 0}, 2, work, sums + 3, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLanczosTurn - see smooth.h */
PetscErrorCode DCSRLanczosTurn(PetscInt n, const PetscScalar d[], const PetscScalar r[], PetscScalar p[], const PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n, Turn{d, r, p, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of setups of PCGAMG with matrices that are said to be SPD
DCSRPreload(SumKernel<2, Start>);
DCSRPreload(SumKernel<1, Multiply>);
DCSRPreload(SumKernel<2, Update>);
DCSRPreload(DCSRForEachKernel<PetscCount, Turn>);
