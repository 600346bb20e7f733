/*
  The nonzerostate of a matrix, by which everything that was made of its pattern tells whether that is still the same. It grows wherever a pattern may have changed, for as long as the matrix lives,
  and stays where nothing has changed. PETSc counts a parallel matrix by the sum over its blocks on all processes, and new blocks, as new headers, count from the beginning.
*/
#include "state.h"

/* MatAIJCUDASetNonzeroState - Sets the nonzerostate of A, of type AIJ: of a copy, of a sum over blocks, or one less than PETSc is about to make it. */
void MatAIJCUDASetNonzeroState(Mat A, PetscObjectState state)
{
  A->nonzerostate = state;
}

/* Raises the counter of a sequential matrix; a device copy that has its pattern still has it. */
static PetscErrorCode Raise(Mat A, PetscObjectState by)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (ours && MatSeqAIJCUDADeviceHasStructure(A)) MatSeqAIJCUDAGet(A)->device.nonzerostate += by;
  A->nonzerostate += by;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDARaiseSum - Raises the sum over the blocks of a parallel matrix of type AIJ, which its nonzerostate becomes in the next assembly. Logically Collective.

  by is the same on all processes: for new blocks what the nonzerostate of A was before.
*/
PetscErrorCode MatMPIAIJCUDARaiseSum(Mat A, PetscObjectState by)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  if (rank == 0) PetscCall(Raise(((Mat_MPIAIJ *)A->data)->A, by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASumNonzeroState - Makes the nonzerostate of a parallel matrix the sum over its blocks on all processes. Collective. */
PetscErrorCode MatMPIAIJCUDASumNonzeroState(Mat A)
{
  PetscFunctionBegin;
  A->nonzerostate = ((Mat_MPIAIJ *)A->data)->A->nonzerostate + ((Mat_MPIAIJ *)A->data)->B->nonzerostate;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &A->nonzerostate, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDARaiseNonzeroState - Sees that the nonzerostate of A, of type AIJ, is above a number, when its header becomes, or has become, that of a matrix with another pattern. Logically Collective.

  above is what the nonzerostate of the other one was.
*/
PetscErrorCode MatAIJCUDARaiseNonzeroState(Mat A, PetscObjectState above)
{
  const PetscObjectState missing = above + 1 - A->nonzerostate;
  PetscBool              is_mpi;

  PetscFunctionBegin;
  if (missing <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (A->ass_nonzerostate == A->nonzerostate) A->ass_nonzerostate += missing; // the pattern is that of the last assembly, and what was said of it still holds
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
  if (is_mpi) {
    PetscCall(MatMPIAIJCUDARaiseSum(A, missing));
    A->nonzerostate += missing;
  } else PetscCall(Raise(A, missing));
  PetscFunctionReturn(PETSC_SUCCESS);
}
