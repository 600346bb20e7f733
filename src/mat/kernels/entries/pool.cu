/*
  Operations on each value of the pool by itself: they run over [0, used), so that one loop serves compact and fragmented storage.
*/
#include "../common/foreach.cuh"
#include "../common/scalar.cuh"
#include <petscsparsecuda/entries.h>

namespace
{

struct ScaleValue {
  PetscScalar    *values;
  PetscScalar     alpha;
  __device__ void operator()(PetscCount k) const { values[k] *= alpha; }
};

struct TakeAbsoluteValue {
  PetscScalar    *values;
  __device__ void operator()(PetscCount k) const { values[k] = PetscScalar(AbsoluteValue(values[k])); }
};

#if PetscDefined(USE_COMPLEX)
struct ConjugateValue {
  PetscScalar    *values;
  __device__ void operator()(PetscCount k) const { values[k] = thrust::conj(values[k]); }
};

struct RealPartValue {
  PetscScalar    *values;
  __device__ void operator()(PetscCount k) const { values[k] = PetscScalar(values[k].real(), 0); }
};

struct ImaginaryPartValue {
  PetscScalar    *values;
  __device__ void operator()(PetscCount k) const { values[k] = PetscScalar(values[k].imag(), 0); }
};
#endif

template <typename Op>
PetscErrorCode ForEachValue(DCSRView view, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!view.used) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, no values to change");
  PetscCallCUDA(DCSRForEach(view.used, op, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRScale - multiplies all values of compact or fragmented storage by a scalar. Asynchronous */
PetscErrorCode DCSRScale(DCSRView view, PetscScalar alpha, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ForEachValue(view, ScaleValue{view.values, alpha}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRZero - sets all values of compact or fragmented storage to zero, the structure stays. Asynchronous */
PetscErrorCode DCSRZero(DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!view.used) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, no values to change");
  PetscCallCUDA(cudaMemsetAsync(view.values, 0, (size_t)view.used * sizeof(*view.values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRConjugate - replaces all values of compact or fragmented storage by their complex conjugates; nothing to do for real scalars. Asynchronous */
PetscErrorCode DCSRConjugate(DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ForEachValue(view, ConjugateValue{view.values}, stream));
#else
  (void)view;
  (void)stream;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRRealPart - replaces all values of compact or fragmented storage by their real parts; nothing to do for real scalars. Asynchronous */
PetscErrorCode DCSRRealPart(DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ForEachValue(view, RealPartValue{view.values}, stream));
#else
  (void)view;
  (void)stream;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRImaginaryPart - replaces all values of compact or fragmented storage by their imaginary parts, as real numbers; zero for real scalars. Asynchronous */
PetscErrorCode DCSRImaginaryPart(DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ForEachValue(view, ImaginaryPartValue{view.values}, stream));
#else
  PetscCall(DCSRZero(view, stream));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAbsolute - replaces all values of compact or fragmented storage by their absolute values. Asynchronous */
PetscErrorCode DCSRAbsolute(DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ForEachValue(view, TakeAbsoluteValue{view.values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
