/* Operations of MATSEQAIJ called through the host copy, for sequential matrices of ours. */
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"

#define DEFINE_SEQ_WRAPPER(operation, parameters, arguments, access) \
  PetscErrorCode MatHost_SeqAIJCUDA_##operation parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    ierr = (*MatSeqAIJCUDAGet(A)->parent.operation)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, access, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
SEQ_WRAPPERS(DEFINE_SEQ_WRAPPER)
#undef DEFINE_SEQ_WRAPPER

/* Operations on two matrices: both host copies are brought up to date. */
static PetscErrorCode MatHost_SeqAIJCUDA_equal(Mat A, Mat B, PetscBool *flag)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ));
  ierr = (*MatSeqAIJCUDAGet(A)->parent.equal)(A, B, flag);
  PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of another kind gets its entries by MatSetValues(). */
PetscErrorCode MatHost_SeqAIJCUDA_copy(Mat A, Mat B, MatStructure str)
{
  PetscBool      alike;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatOperandsAlike(A, B, &alike));
  PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, alike ? B : NULL, HOST_WRITE));
  ierr = (*MatSeqAIJCUDAGet(A)->parent.copy)(A, B, str);
  PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, alike ? B : NULL, HOST_WRITE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factorization in place makes a MATSEQAIJ factor of the matrix itself: the matrix becomes MATSEQAIJ first. */
static PetscErrorCode MatLUFactor_SeqAIJCUDA(Mat A, IS rows, IS columns, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INPLACE_MATRIX, &A));
  PetscUseTypeMethod(A, lufactor, rows, columns, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactor_SeqAIJCUDA(Mat A, IS rows, IS columns, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INPLACE_MATRIX, &A));
  PetscUseTypeMethod(A, ilufactor, rows, columns, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetWrappers - Puts our wrappers into a table of operations, wherever the parent has an operation; A's record of the parent's operations is brought up to date.

  ops: the table of A; while the hash of MatSetValues() is active, the saved one.
  Called again after every parent operation that rewrites the table: assemblyend (inode code) and setoption (MAT_SORTED_FULL).
*/
PetscErrorCode MatSeqAIJCUDASetWrappers(Mat A, struct _MatOps *ops)
{
  struct _MatOps *parent = &MatSeqAIJCUDAGet(A)->parent, *installed = &MatSeqAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
#define INSTALL(operation, parameters, arguments, access) INSTALL_WRAPPER(ops, parent, installed, MatHost_SeqAIJCUDA_, operation);
  SEQ_WRAPPERS(INSTALL)
#undef INSTALL
  INSTALL_WRAPPER(ops, parent, installed, MatHost_SeqAIJCUDA_, equal);
  INSTALL_WRAPPER(ops, parent, installed, MatHost_SeqAIJCUDA_, copy);
  INSTALL_SHARED_WRAPPERS(ops, parent, installed);
  ops->lufactor  = MatLUFactor_SeqAIJCUDA;
  ops->ilufactor = MatILUFactor_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
