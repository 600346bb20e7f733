/* Vectors of transposed matrices with complex scalars: conjugates, and real numbers as scalars and back. */
#include "hisparseimpl.h"
#include "../common/foreach.cuh"

namespace
{

struct ConjugateEntry {
  const PetscScalar *x;
  PetscScalar       *y;
  __device__ void    operator()(PetscCount i) const { y[i] = PetscConj(x[i]); }
};

struct ScalarFromReal {
  const PetscReal *x;
  PetscScalar     *y;
  __device__ void  operator()(PetscCount i) const { y[i] = PetscScalar(x[i]); }
};

struct RealFromScalar {
  const PetscScalar *x;
  PetscReal         *y;
  __device__ void    operator()(PetscCount i) const { y[i] = PetscRealPart(x[i]); }
};

} // namespace

/* HiSparseConjugateVector - y = conj(x) for vectors of n entries, x may be y; asynchronous on stream */
PetscErrorCode HiSparseConjugateVector(PetscCount n, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach(n, ConjugateEntry{x, y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseScalarsFromReals - y = x for n numbers; asynchronous on stream */
PetscErrorCode HiSparseScalarsFromReals(PetscCount n, const PetscReal x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach(n, ScalarFromReal{x, y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseRealsFromScalars - y = real(x) for n numbers; asynchronous on stream */
PetscErrorCode HiSparseRealsFromScalars(PetscCount n, const PetscScalar x[], PetscReal y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach(n, RealFromScalar{x, y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
