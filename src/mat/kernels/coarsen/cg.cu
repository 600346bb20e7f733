/*
  Conjugate gradients with a diagonal preconditioner, or one that others apply: with a solution, or for estimates of eigenvalues, which need residuals and directions alone. All sums stay on the device,
  where the next kernel reads them.
*/
#include "sums.cuh"
#include "../common/foreach.cuh"
#include "../common/message.h"
#include "../common/preload.cuh"

namespace
{

/* The sums of a residual: with z = D r, and the square of z or, when residual says so, of r. */
__device__ inline Sums<2> SumsOf(PetscScalar r, PetscScalar z, bool residual)
{
  return {{Product(z, r), PetscScalar(SquaredValue(residual ? r : z))}};
}

/* r = b and p = D r; without D, r alone */
struct Start {
  const PetscScalar *d, *b;
  PetscScalar       *r, *p;
  bool               residual;

  __device__ void Load() {}
  __device__ Sums<2> operator()(PetscCount i) const
  {
    const PetscScalar value = b[i], z = d ? d[i] * value : PetscScalar(0);

    r[i] = value;
    if (d) p[i] = z;
    return SumsOf(value, z, residual);
  }
};

/* w^H p */
struct Multiply {
  const PetscScalar *p, *w;

  __device__ void Load() {}
  __device__ Sums<1> operator()(PetscCount i) const { return {{Product(p[i], w[i])}}; }
};

/* The sums of a residual whose z others have made. */
struct Dots {
  const PetscScalar *z, *r;

  __device__ void Load() {}
  __device__ Sums<2> operator()(PetscCount i) const { return SumsOf(r[i], z[i], false); }
};

/* Whether a number can be divided by. */
__device__ inline bool IsUsual(PetscScalar x)
{
  const PetscReal size = AbsoluteValue(x);

  return size > 0 && size <= PETSC_MAX_REAL;
}

/*
  r = r - alpha w and, where it is wanted, x = x + alpha p. With x nothing is done in a step that is none: r^H z or p^H A p is 0, no number, or of another sign than the one before.
*/
struct Update {
  const PetscScalar *d, *p, *w;
  PetscScalar       *r, *x;  // x NULL: not wanted
  const PetscScalar *sums;   // [3] of the step
  const PetscScalar *before; // [3] of the step before; NULL: this is the first, or x is not wanted
  bool               residual;
  PetscScalar        alpha;
  bool               is_step;

  __device__ void Load()
  {
    alpha   = sums[0] / sums[2];
    is_step = !x || (IsUsual(sums[0]) && IsUsual(sums[2]));
    if (before && is_step) is_step = RealPart(sums[2]) * (RealPart(before[2]) < 0 ? -1 : RealPart(before[2]) > 0) >= 0;
    if (before && is_step && !PetscDefined(USE_COMPLEX)) is_step = !(RealPart(sums[0]) * RealPart(before[0]) < 0); // as PETSc says it
  }
  __device__ Sums<2> operator()(PetscCount i) const
  {
    PetscScalar value = r[i];

    if (is_step) {
      value -= alpha * w[i];
      r[i] = value;
      if (x) x[i] += alpha * p[i];
    }
    return SumsOf(value, d ? d[i] * value : PetscScalar(0), residual);
  }
};

/* p = z + beta p */
struct Turn {
  const PetscScalar *d, *r; // z = D r; d NULL: r is z
  PetscScalar       *p;
  const PetscScalar *before, *now; // r^H z; before NULL: beta is 0

  __device__ void operator()(PetscCount i) const
  {
    const PetscScalar z = d ? d[i] * r[i] : r[i];

    p[i] = before ? z + *now / *before * p[i] : z;
  }
};

} // namespace

/* DCSRCGStart - see smooth.h */
PetscErrorCode DCSRCGStart(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscBool residual, PetscScalar r[], PetscScalar p[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(work, 0, DCSR_SUM_HEAD, stream));
  PetscCall(Sum<2>(n, Start{d, b, r, p, (bool)residual}, 2, work, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCGMultiply - see smooth.h */
PetscErrorCode DCSRCGMultiply(PetscInt n, const PetscScalar p[], const PetscScalar w[], void *work, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<1>(n, Multiply{p, w}, 1, work, sums + 2, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCGUpdate - see smooth.h */
PetscErrorCode DCSRCGUpdate(PetscInt n, const PetscScalar d[], const PetscScalar p[], const PetscScalar w[], PetscBool residual, const PetscScalar before[], const PetscScalar sums[], PetscScalar r[],
                            PetscScalar x[], void *work, PetscScalar next[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<2>(n, Update{d, p, w, r, x, sums, before, (bool)residual, 0, true}, 2, work, next, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCGTurn - see smooth.h */
PetscErrorCode DCSRCGTurn(PetscInt n, const PetscScalar d[], const PetscScalar r[], const PetscScalar sums[], const PetscScalar next[], PetscScalar p[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n, Turn{d, r, p, sums, next}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCGDots - see smooth.h */
PetscErrorCode DCSRCGDots(PetscInt n, const PetscScalar z[], const PetscScalar r[], PetscBool residual, void *work, PetscScalar next[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum<2>(n, Dots{z, r}, residual ? 1 : 2, work, next, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCGGet - see smooth.h */
PetscErrorCode DCSRCGGet(const PetscScalar sums[], cudaStream_t stream, PetscScalar host[])
{
  constexpr size_t bytes = DCSR_CG_SUMS * sizeof(*sums);

  PetscFunctionBegin;
  static_assert(bytes <= 4 * DCSR_MESSAGE_WORDS, "the sums of a step fit into a message");
  if (2 * bytes <= 4 * DCSR_MESSAGE_WORDS) PetscCall(DCSRReadNumbers(host, sums, 2 * bytes, stream));
  else
    for (int k = 0; k < 2; k++) PetscCall(DCSRReadNumbers(host + k * DCSR_CG_SUMS, sums + k * DCSR_CG_SUMS, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of setups of PCGAMG with matrices that are said to be SPD
DCSRPreload(SumKernel<2, Start>);
DCSRPreload(SumKernel<1, Multiply>);
DCSRPreload(SumKernel<2, Update>);
DCSRPreload(DCSRForEachKernel<PetscCount, Turn>);
