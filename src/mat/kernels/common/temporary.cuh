#pragma once
/*
  CUB's two-step protocol (ask for bytes, then run) as one call, with memory from layer 1.
*/
#include <petscsparsecuda/sys.h>
#include <cub/version.cuh>

namespace
{

/* DCSRCheckItems - that CUB takes so many items: scans and selections of CUB before 2.8 (CUDA 12.9) have counts of type int, to which larger ones would be cut without a word */
inline PetscErrorCode DCSRCheckItems(const char what[], PetscCount n)
{
  PetscFunctionBegin;
  PetscCheck(CUB_VERSION >= 200800 || n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " items are more than CUB counts (%s): build petscsparsecuda with CUDA 12.9 or newer", n,
             what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRWithTemporary - runs a CUB device algorithm for n items with the temporary storage it asks for, which is released on the stream of the algorithm
  what: what the storage is for, for the message of PETSC_ERR_MEM. call: callable (void *storage, size_t &bytes) -> cudaError_t, called twice. PETSC_ERR_GPU when the algorithm fails; nothing stays
  allocated after an error.
*/
template <typename Call>
PetscErrorCode DCSRWithTemporary(const char what[], PetscCount n, cudaStream_t stream, Call call)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  char          *storage = NULL;
  size_t         bytes   = 0;

  PetscFunctionBegin;
  PetscCall(DCSRCheckItems(what, n));
  PetscCallCUDA(call((void *)NULL, bytes));
  // a NULL pointer would mean the question again, so ask for one byte at least
  PetscCall(PetscSparseCUDAMalloc(bytes ? bytes : 1, what, stream, &storage));
  PetscCallCUDAGoto(ierr, cleanup, call((void *)storage, bytes));
cleanup:
  PetscCall(PetscSparseCUDAFree(&storage, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
