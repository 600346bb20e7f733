/* Conjugates of vectors, for transposed matrices with complex scalars. */
#include "hisparseimpl.h"
#include "../common/foreach.cuh"

namespace
{

struct ConjugateEntry {
  const PetscScalar *x;
  PetscScalar       *y;
  __device__ void    operator()(PetscCount i) const { y[i] = PetscConj(x[i]); }
};

} // namespace

/* HiSparseConjugateVector - y = conj(x) for vectors of n entries, x may be y; asynchronous on stream */
PetscErrorCode HiSparseConjugateVector(PetscCount n, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach(n, ConjugateEntry{x, y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
