/* The scatter of products with parallel matrices, and the stream of the current PetscDeviceContext. */
#include "parallel.h"
#include "../core/core.h"
#include "../exchange/exchange.h"

/*
  MatMPIAIJCUDAUseCurrentStream - What is done next with the ghost vector and the scatter of products comes after all that was queued with them, also in another PetscDeviceContext

  Not Collective

  Input Parameter:
. A - a parallel matrix of ours

  Note:
  To be called by operations that leave both to code of PETSc, which knows the stream of the current context only.
*/
PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat A)
{
  Mat_MPIAIJ  *a = (Mat_MPIAIJ *)A->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (MatMPIAIJCUDAGet(A)->no_device || a->Mvctx == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDASetSFStream(a->Mvctx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
