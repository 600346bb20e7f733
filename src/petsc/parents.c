/* Captures the composed functions of the parent types. */
#include <petscsparsecuda/disabled.h>
#include "parents.h"

MatAIJCUDAParentSeqFunctions MatAIJCUDAParentSeq;
MatAIJCUDAParentMPIFunctions MatAIJCUDAParentMPI;

/* A scratch matrix of a parent type, with an options prefix of its own, or -mat_seqaij_type would make it ours. */
static PetscErrorCode CreateParent(MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetOptionsPrefix(*A, "petscsparsecuda_parent_"));
  PetscCall(MatSetSizes(*A, 0, 0, 0, 0));
  PetscCall(MatSetType(*A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDACaptureParents - Asks scratch matrices of the parent types for their composed functions, and for how they are destroyed. */
PetscErrorCode MatAIJCUDACaptureParents(void)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(CreateParent(MATSEQAIJ, &A));
#define QUERY(name, field, parameters) \
  PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &MatAIJCUDAParentSeq.field)); \
  if (MatAIJCUDAParentSeq.field == NULL) PetscCall(PetscSparseCUDADisabled(name " of MATSEQAIJ: PETSc has no such function"));
  PARENT_SEQ_FUNCTIONS(QUERY)
#undef QUERY
  MatAIJCUDAParentSeq.destroy = A->ops->destroy;
  PetscCall(MatDestroy(&A));
  PetscCall(CreateParent(MATMPIAIJ, &A));
#define QUERY(name, field, parameters) \
  PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &MatAIJCUDAParentMPI.field)); \
  if (MatAIJCUDAParentMPI.field == NULL) PetscCall(PetscSparseCUDADisabled(name " of MATMPIAIJ: PETSc has no such function"));
  PARENT_MPI_FUNCTIONS(QUERY)
#undef QUERY
  MatAIJCUDAParentMPI.destroy = A->ops->destroy;
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
