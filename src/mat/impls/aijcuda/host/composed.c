/*
  Composed functions of MATSEQAIJ and MATMPIAIJ ("..._C") that use the host arrays directly, called through the mirror.
*/
#include "composed.h"
#include "host.h"
#include "../core/core.h"
#include "../core/parents.h"

/* MatAIJCUDAHostReplaced - A matrix got new host arrays: the mirror is the matrix, the device copy is void. */
PetscErrorCode MatAIJCUDAHostReplaced(Mat A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    MatSeqAIJCUDAGet(A)->mirror.structure = PETSC_TRUE;
    A->offloadmask                        = PETSC_OFFLOAD_CPU;
    ((Mat_SeqAIJ *)A->data)->inode.use    = PETSC_FALSE; // MatResetHash() turns it on again
    PetscCall(MatSeqAIJCUDADropDevice(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thunk around a parent function that discards the old entries: no copy to the mirror first. */
#define DEFINE_REPLACE(name, function, parameters, arguments) \
  PetscErrorCode name parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDAShowMirror(A)); \
    PetscCall((*function)arguments); \
    PetscCall(MatAIJCUDAHostReplaced(A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* A thunk around a parent function that uses the old entries. */
#define DEFINE_COMPOSED(name, function, parameters, arguments, access) \
  PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, access, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* The same with a second matrix that is read. */
#define DEFINE_COMPOSED_TWO(name, function, parameters, arguments) \
  PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

DEFINE_REPLACE(MatHost_SeqAIJCUDA_SetPreallocation, MatAIJCUDAParentSeq.setpreallocation, (Mat A, PetscInt nz, const PetscInt nnz[]), (A, nz, nnz))
DEFINE_REPLACE(MatHost_SeqAIJCUDA_ResetHash, MatAIJCUDAParentSeq.resethash, (Mat A), (A))
DEFINE_COMPOSED(MatSeqAIJSetPreallocationCSR_SeqAIJCUDA, MatAIJCUDAParentSeq.setpreallocationcsr, (Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[]), (A, i, j, v), HOST_BUILD)
DEFINE_COMPOSED(MatHost_SeqAIJCUDA_SetColumnIndices, MatAIJCUDAParentSeq.setcolumnindices, (Mat A, PetscInt *j), (A, j), HOST_BUILD)
DEFINE_COMPOSED(MatStoreValues_SeqAIJCUDA, MatAIJCUDAParentSeq.storevalues, (Mat A), (A), HOST_READ)
DEFINE_COMPOSED(MatRetrieveValues_SeqAIJCUDA, MatAIJCUDAParentSeq.retrievevalues, (Mat A), (A), HOST_WRITE)
DEFINE_COMPOSED(MatHost_SeqAIJCUDA_ResetPreallocation, MatAIJCUDAParentSeq.resetpreallocation, (Mat A), (A), HOST_BUILD)
DEFINE_COMPOSED(MatReorderForNonzeroDiagonal_SeqAIJCUDA, MatAIJCUDAParentSeq.reorder, (Mat A, PetscReal atol, IS rows, IS columns), (A, atol, rows, columns), HOST_READ)
DEFINE_COMPOSED_TWO(MatHost_SeqAIJCUDA_IsTranspose, MatAIJCUDAParentSeq.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(MatHost_SeqAIJCUDA_IsHermitianTranspose, MatAIJCUDAParentSeq.ishermitiantranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(MatIsTranspose_MPIAIJCUDA, MatAIJCUDAParentMPI.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED(MatHost_MPIAIJCUDA_ResetPreallocation, MatAIJCUDAParentMPI.resetpreallocation, (Mat A), (A), HOST_BUILD)

/* MatSeqAIJKron() */
PetscErrorCode MatSeqAIJKron_SeqAIJCUDA(Mat A, Mat B, MatReuse reuse, Mat *C)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostBegin(*C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) {
    ierr = (*MatAIJCUDAParentSeq.kron)(A, B, reuse, C);
    if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostFinish(*C, HOST_WRITE, ierr);
  }
  PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_AIJCUDA_IS - MatConvert() to MATIS by the parent's function; without it PETSc would take a general one that gives MATIS other local matrices.

  Collective

  See MatConvert() for the parameters.
*/
PetscErrorCode MatConvert_AIJCUDA_IS(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_seqaij_is_C", &convert));
  if (convert == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_mpiaij_is_C", &convert));
  PetscCheck(convert != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "MATAIJ of this PETSc has no conversion to MATIS");
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*convert)(A, type, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAComposeAlias - Composes a function that PETSc looks for under a type name, under a name of ours, too, or removes that.

  Not Collective

  Input Parameters:
+ A       - a matrix of ours
. parent  - name under which the parent type has the function, which reads no array of A itself; nothing happens when it has none
. name    - the same with our type
- compose - PETSC_FALSE removes it
*/
PetscErrorCode MatAIJCUDAComposeAlias(Mat A, const char parent[], const char name[], PetscBool compose)
{
  PetscErrorCodeFn *f = NULL;

  PetscFunctionBegin;
  if (compose) PetscCall(PetscObjectQueryFunction((PetscObject)A, parent, &f));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAComposeTripleProducts - Composes the function that chooses the code of A B C under the names of all mixtures of a type of ours and its parent's, or removes it.

  Not Collective

  Input Parameters:
+ A       - a matrix of ours
. type    - its type
. parent  - the parent type
- product - the function; NULL removes it
*/
PetscErrorCode MatAIJCUDAComposeTripleProducts(Mat A, const char type[], const char parent[], PetscErrorCode (*product)(Mat))
{
  char name[256];

  PetscFunctionBegin;
  for (int ours = 1; ours < 7; ours++) { // bits: which operands are ours; PETSc needs no name when all are
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_%s_%s_%s_C", ours & 4 ? type : parent, ours & 2 ? type : parent, ours & 1 ? type : parent));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, product));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
