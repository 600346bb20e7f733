/* Values in single precision, for products that read less. */
#include "../common/foreach.cuh"
#include "../common/single.cuh"
#include <petscsparsecuda/entries.h>

namespace
{

struct Round {
  const PetscScalar *from;
  DCSRSingle        *to;
  __device__ void    operator()(PetscCount k) const { to[k] = static_cast<DCSRSingle>(from[k]); }
};

} // namespace

/*
  DCSRRoundValues - Rounds n values on the device to single precision, real or complex as PetscScalar is; to: half the size of a double each. Asynchronous
  What is too large for single precision becomes infinite, what is too small becomes zero.
*/
PetscErrorCode DCSRRoundValues(PetscCount n, const PetscScalar from[], void *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Round{from, (DCSRSingle *)to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
