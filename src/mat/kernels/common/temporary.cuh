#pragma once
/*
  CUB's two-step protocol (ask for bytes, then run) as one call, with memory from layer 1.
*/
#include <petscsparsecuda/sys.h>

namespace
{

/*
  DCSRWithTemporary - runs a CUB device algorithm with the temporary storage it asks for, which is released on the stream of the algorithm
  what: what the storage is for, for the message of PETSC_ERR_MEM. call: callable (void *storage, size_t &bytes) -> cudaError_t, called twice. PETSC_ERR_GPU when the algorithm fails; nothing stays
  allocated after an error.
*/
template <typename Call>
PetscErrorCode DCSRWithTemporary(const char what[], cudaStream_t stream, Call call)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  char          *storage = NULL;
  size_t         bytes   = 0;

  PetscFunctionBegin;
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
