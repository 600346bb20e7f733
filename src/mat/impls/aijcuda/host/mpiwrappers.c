/* Operations of MATMPIAIJ called through the host copies of both blocks, for parallel matrices of ours. */
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

#define DEFINE_MPI_WRAPPER(operation, parameters, arguments, access) \
  PetscErrorCode MatHost_MPIAIJCUDA_##operation parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatMPIAIJCUDAUseCurrentStream(A)); \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    ierr = (*MatMPIAIJCUDAGet(A)->parent.operation)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, access, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
MPI_WRAPPERS(DEFINE_MPI_WRAPPER)
#undef DEFINE_MPI_WRAPPER

PetscErrorCode MatHost_MPIAIJCUDA_createsubmatrix(Mat A, IS rows, IS columns, MatReuse reuse, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, reuse == MAT_REUSE_MATRIX ? *B : NULL, HOST_WRITE));
  ierr = (*MatMPIAIJCUDAGet(A)->parent.createsubmatrix)(A, rows, columns, reuse, B);
  PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, reuse == MAT_REUSE_MATRIX ? *B : NULL, HOST_WRITE, ierr));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(MatMPIAIJCUDASetBlockTypes(*B)); // the parent leaves MATSEQAIJ blocks
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result, a MATMPIAIJ, shares the diagonal block of A, which has its structure on the host at once from then on: nobody could bring it there for MATMPIAIJ's operations. */
PetscErrorCode MatHost_MPIAIJCUDA_getmultiprocblock(Mat A, MPI_Comm comm, MatReuse reuse, Mat *B)
{
  Mat            block = MatMPIAIJCUDAGetBlock(A, 0);
  PetscBool      ours;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*MatMPIAIJCUDAGet(A)->parent.getmultiprocblock)(A, comm, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (ours) PetscCall(MatSeqAIJCUDAKeepStructure(block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetWrappers - Puts our wrappers into the table of a parallel matrix, wherever the parent has an operation; A's record of the parent's operations is brought up to date.

  ops: the table of A; while the hash of MatSetValues() is active, the saved one.
  What is absent here (duplicate, getdiagonal, zerorows, ...) the parent does by the operations of the blocks, which are ours.
*/
PetscErrorCode MatMPIAIJCUDASetWrappers(Mat A, struct _MatOps *ops)
{
  struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent, *installed = &MatMPIAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
#define INSTALL(operation, parameters, arguments, access) INSTALL_WRAPPER(ops, parent, installed, MatHost_MPIAIJCUDA_, operation);
  MPI_WRAPPERS(INSTALL)
#undef INSTALL
  INSTALL_WRAPPER(ops, parent, installed, MatHost_MPIAIJCUDA_, createsubmatrix);
  INSTALL_WRAPPER(ops, parent, installed, MatHost_MPIAIJCUDA_, getmultiprocblock);
  INSTALL_SHARED_WRAPPERS(ops, parent, installed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
