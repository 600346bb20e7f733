#pragma once
/*
  What the checks of the formats share: the first violation that was found.
*/
#include "../../src/mat/kernels/common/foreach.cuh"
#include "../../src/mat/kernels/common/offsets.cuh"
#include "../../src/mat/kernels/common/search.cuh"
#include "kernels.h"
#include <petscsparsecuda/sys.h>

namespace
{

/* The lowest position where something is violated, with its code in the low byte: the same answer in every run. */
struct FirstViolation {
  unsigned long long *first; // [1] device, owned by who made it

  __device__ void Set(PetscCount where, int code) const { atomicMin(first, (unsigned long long)where << 8 | (unsigned long long)code); }
};
constexpr unsigned long long NO_VIOLATION = ~0ull;

inline PetscErrorCode FirstViolationCreate(cudaStream_t stream, FirstViolation *found)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "result of a check", stream, &found->first));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(found->first, 0xff, sizeof(*found->first), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&found->first, stream));
  PetscFunctionReturn(ierr);
}

/* What was found so far; violation->what stays NULL when nothing was. Synchronizes. */
inline PetscErrorCode FirstViolationGet(FirstViolation found, const char *const names[], cudaStream_t stream, HiSparseViolation *violation)
{
  unsigned long long first = NO_VIOLATION;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&first, found.first, sizeof(first), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (first == NO_VIOLATION) PetscFunctionReturn(PETSC_SUCCESS);
  violation->what  = names[first & 255];
  violation->where = (PetscCount)(first >> 8);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
