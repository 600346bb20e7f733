/* Operations of MATMPIAIJ called through the mirrors of both blocks, for parallel matrices of ours. */
#include <petscsparsecuda/thunks.h>

#define DEFINE_MPI_THUNK(operation, parameters, arguments, access) \
  PetscErrorCode MatHost_MPIAIJCUDA_##operation parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    PetscCall((*MatMPIAIJCUDAGet(A)->parent.operation)arguments); \
    PetscCall(MatAIJCUDAHostEnd(A, access)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
MPI_THUNKS(DEFINE_MPI_THUNK)
#undef DEFINE_MPI_THUNK

static PetscErrorCode MatHost_MPIAIJCUDA_axpy(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(Y, HOST_WRITE));
  if (X != Y) PetscCall(MatAIJCUDAHostBegin(X, HOST_READ));
  PetscCall((*MatMPIAIJCUDAGet(Y)->parent.axpy)(Y, a, X, str));
  if (X != Y) PetscCall(MatAIJCUDAHostEnd(X, HOST_READ));
  PetscCall(MatAIJCUDAHostEnd(Y, HOST_WRITE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHost_MPIAIJCUDA_transpose(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatAIJCUDAHostBegin(*B, HOST_WRITE));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.transpose)(A, reuse, B));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatAIJCUDAHostEnd(*B, HOST_WRITE));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHost_MPIAIJCUDA_createsubmatrices(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX)
    for (PetscInt k = 0; k < n; k++) PetscCall(MatAIJCUDAHostBegin((*B)[k], HOST_WRITE));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.createsubmatrices)(A, n, rows, columns, reuse, B));
  if (reuse == MAT_REUSE_MATRIX)
    for (PetscInt k = 0; k < n; k++) PetscCall(MatAIJCUDAHostEnd((*B)[k], HOST_WRITE));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHost_MPIAIJCUDA_createsubmatrix(Mat A, IS rows, IS columns, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatAIJCUDAHostBegin(*B, HOST_WRITE));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.createsubmatrix)(A, rows, columns, reuse, B));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatAIJCUDAHostEnd(*B, HOST_WRITE));
  else PetscCall(MatMPIAIJCUDASetBlockTypes(*B)); // the parent leaves MATSEQAIJ blocks
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHost_MPIAIJCUDA_creatempimatconcatenateseqmat(MPI_Comm comm, Mat A, PetscInt n, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.creatempimatconcatenateseqmat)(comm, A, n, reuse, B));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetOps - Puts our thunks into the table of a parallel matrix, wherever the parent has an operation.

  Not Collective

  Input Parameters:
+ A   - the matrix, whose record of the parent's operations is brought up to date
- ops - its table; while the hash of MatSetValues() is active, the saved one

  Note:
  What is absent here (mult, scale, duplicate, getdiagonal, zerorows, ...) the parent does by the operations of the blocks, which are ours.
*/
PetscErrorCode MatMPIAIJCUDASetOps(Mat A, struct _MatOps *ops)
{
  struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent, *installed = &MatMPIAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
#define INSTALL(operation, parameters, arguments, access) INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, operation);
  MPI_THUNKS(INSTALL)
#undef INSTALL
  INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, axpy);
  INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, transpose);
  INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, createsubmatrices);
  INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, createsubmatrix);
  INSTALL_THUNK(ops, parent, installed, MatHost_MPIAIJCUDA_, creatempimatconcatenateseqmat);
  *installed = *ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}
