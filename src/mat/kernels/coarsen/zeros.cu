/*
  Zeros of a vector that another number takes the place of, such as those of a diagonal that is divided by, and reciprocals of the others. Those of PETSc load all kernels of its vectors, 2 ms of a
  first setup.
*/
#include <petscsparsecuda/smooth.h>
#include "../common/foreach.cuh"

namespace
{

struct ReplaceZero {
  PetscScalar     value;
  bool            reciprocals;
  PetscScalar    *x;
  int            *found; // NULL: not wanted
  __device__ void operator()(PetscCount k) const
  {
    PetscScalar number = x[k];

    if (reciprocals && number != PetscScalar(0)) x[k] = number = PetscScalar(1) / number; // zero where it was infinite
    if (number != PetscScalar(0)) return;
    x[k] = value;
    if (found != NULL) *found = 1; // all who write write the same
  }
};

} // namespace

/*
  DCSRReplaceZeros - Numbers of x [n] (device) but zero become their reciprocals, if wanted, and then zeros value; synchronizes unless found is NULL
  found: whether there were zeros; PETSC_FALSE also when there is no memory for one number. Cost: one read of x, and a write of reciprocals.
*/
PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscBool reciprocals, PetscScalar x[], cudaStream_t stream, PetscBool *found)
{
  int           *flag = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (found != NULL) *found = PETSC_FALSE;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (found != NULL) PetscCall(PetscSparseCUDATryMalloc(1, stream, &flag));
  if (flag != NULL) PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(flag, 0, sizeof(*flag), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)n, ReplaceZero{value, (bool)reciprocals, x, flag}, stream));
  if (flag != NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(&host, flag, sizeof(host), stream));
  if (found != NULL) *found = (PetscBool)(host != 0);
cleanup:
  PetscCall(PetscSparseCUDAFree(&flag, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
