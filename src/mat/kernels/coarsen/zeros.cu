/*
  Zeros of a vector that another number takes the place of, such as those of a diagonal that is divided by.
*/
#include <petscsparsecuda/smooth.h>
#include "../common/foreach.cuh"

namespace
{

struct ReplaceZero {
  PetscScalar     value;
  PetscScalar    *x;
  int            *found; // NULL: not wanted
  __device__ void operator()(PetscCount k) const
  {
    if (x[k] != PetscScalar(0)) return;
    x[k] = value;
    if (found != NULL) *found = 1; // all who write write the same
  }
};

} // namespace

/* DCSRReplaceZeros - Zeros of x [n] (device) become value; synchronizes found: whether there were any; PETSC_FALSE also when there is no memory for one number. Cost: one read of x. */
PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscScalar x[], cudaStream_t stream, PetscBool *found)
{
  int           *flag = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDATryMalloc(1, stream, &flag));
  if (flag != NULL) PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(flag, 0, sizeof(*flag), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)n, ReplaceZero{value, x, flag}, stream));
  if (flag != NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(&host, flag, sizeof(host), stream));
  *found = (PetscBool)(host != 0);
cleanup:
  PetscCall(PetscSparseCUDAFree(&flag, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
