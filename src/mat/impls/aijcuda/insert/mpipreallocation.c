/* Preallocation of parallel matrices. The parent makes MATSEQAIJ blocks; ours take their place while they are empty. */
#include "insert.h"
#include "preallocation.h"
#include "../core/core.h"
#include "../../../../petsc/parents.h"
#include "../parallel/parallel.h"

/*
  MatMPIAIJSetPreallocation_MPIAIJCUDA - MatMPIAIJSetPreallocation(). On the device room is made when the entries come: nothing is preallocated, and nothing forbids more, unless an option is set
  afterwards.
*/
PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJCUDA(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatMPIAIJCUDAAgreeBound(A));
  if (A->hash_active) device = PETSC_FALSE;
  else PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device && d_nz != MAT_SKIP_ALLOCATION && o_nz != MAT_SKIP_ALLOCATION) {
    ierr = MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->n, d_nz, d_nnz);
    if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->N, o_nz, o_nnz);
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
    PetscCall(ierr);
    PetscCall(MatMPIAIJCUDASetEmpty(A));
    PetscCall(MatSeqAIJCUDASetRowLimits(((Mat_MPIAIJ *)A->data)->A, d_nz, d_nnz));
    PetscCall(MatSeqAIJCUDASetRowLimits(((Mat_MPIAIJ *)A->data)->B, o_nz, o_nnz));
  } else {
    PetscCall(MatMPIAIJCUDADestroyInsertion(A));
    MatMPIAIJCUDAGet(A)->state = PARALLEL_HOST;
    PetscCall(MatMPIAIJCUDAParentSetPreallocation(A, d_nz, d_nnz, o_nz, o_nnz));
    PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJSetPreallocationCSR_MPIAIJCUDA - MatMPIAIJSetPreallocationCSR() */
PetscErrorCode MatMPIAIJSetPreallocationCSR_MPIAIJCUDA(Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAAgreeBound(A));
  PetscCall(MatMPIAIJCUDADestroyInsertion(A));
  MatMPIAIJCUDAGet(A)->state = PARALLEL_HOST;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_BUILD));
  ierr = (*MatAIJCUDAParentMPI.setpreallocationcsr)(A, i, j, v);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_BUILD, ierr));
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResetHash_MPIAIJCUDA - MatResetHash() */
PetscErrorCode MatResetHash_MPIAIJCUDA(Mat A)
{
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device && MatMPIAIJCUDAGet(A)->state != PARALLEL_HOST) {
    PetscCall(MatMPIAIJCUDASetEmpty(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMPIAIJCUDADestroyInsertion(A));
  MatMPIAIJCUDAGet(A)->state = PARALLEL_HOST;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_BUILD));
  ierr = (*MatAIJCUDAParentMPI.resethash)(A);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_BUILD, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
