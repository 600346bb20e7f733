/*
  Deletion from parallel matrices: MATMPIAIJ maps rows to their owners, the blocks delete. MatZeroRowsColumns(), which MATMPIAIJ does on host arrays of the off-diagonal block, is in zerorowscolumns.c.
*/
#include "delete.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

static PetscInt LocalNonzeros(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  return ((Mat_SeqAIJ *)a->A->data)->nz + ((Mat_SeqAIJ *)a->B->data)->nz;
}

/* The list of MatSetPreallocationCOO() has positions in the blocks' arrays; those beyond the end of shorter arrays must not be written to. Collective. */
static PetscErrorCode ForgetCoordinates(Mat A, PetscInt nonzeros_before)
{
  PetscBool   shrunk = (PetscBool)(LocalNonzeros(A) < nonzeros_before);
  PetscObject coordinates;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, "__PETSc_MatCOOStruct_Host", &coordinates));
  if (coordinates == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &shrunk, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (shrunk) PetscCall(PetscObjectCompose((PetscObject)A, "__PETSc_MatCOOStruct_Host", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copies to the device, which are most of what may fail for want of memory, before any block is changed. */
static PetscErrorCode CopyBlocksToDevice(Mat A)
{
  Mat_MPIAIJ *a         = (Mat_MPIAIJ *)A->data;
  Mat         blocks[2] = {a->A, a->B};
  PetscBool   ours, device;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &ours));
    if (!ours) continue;
    PetscCall(MatSeqAIJCUDAUseDevice(blocks[k], &device));
    if (device) PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatZeroRows_MPIAIJCUDA - MatZeroRows() of a parallel matrix; see there for the parameters.

  The parent assembles at the end, although the blocks have done that. When no value can be under way to another process it gets to know: then the assembly
  leaves the values on the device.

  Where layouts are not congruent the parent inserts diagonal entries, and allows new ones in the blocks for as long as it calls MatSetValues(). Ours are merged into the matrix in the assembly that follows.
*/
static PetscErrorCode MatZeroRows_MPIAIJCUDA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  const PetscBool no_off_process = A->nooffprocentries;
  const PetscInt  nonzeros       = LocalNonzeros(A);
  Mat_MPIAIJ     *a              = (Mat_MPIAIJ *)A->data;
  Mat_SeqAIJ     *blocks[2]      = {(Mat_SeqAIJ *)a->A->data, (Mat_SeqAIJ *)a->B->data};
  PetscInt        nonew[2]       = {blocks[0]->nonew, blocks[1]->nonew};
  PetscBool       congruent;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatHasCongruentLayouts(A, &congruent));
  ierr = CopyBlocksToDevice(A);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  if (diag == 0.0 || congruent) A->nooffprocentries = PETSC_TRUE; // otherwise the parent inserts diagonal entries
  if (A->offloadmask == PETSC_OFFLOAD_CPU) MatMPIAIJCUDANoteAssembled(A);
  for (int k = 0; k < 2; k++)
    if (diag != 0.0 && !congruent && !blocks[k]->keepnonzeropattern) blocks[k]->nonew = 0;
  ierr                = (*MatMPIAIJCUDAGet(A)->parent.zerorows)(A, n, rows, diag, x, b);
  A->nooffprocentries = no_off_process;
  blocks[0]           = (Mat_SeqAIJ *)a->A->data; // the off-diagonal block may be another matrix now
  blocks[1]           = (Mat_SeqAIJ *)a->B->data;
  for (int k = 0; k < 2; k++) blocks[k]->nonew = nonew[k];
  PetscCall(ierr);
  PetscCall(ForgetCoordinates(A, nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatEliminateZeros_MPIAIJCUDA - MatEliminateZeros() of a parallel matrix: of both blocks, and the diagonal is in the diagonal block alone. */
static PetscErrorCode MatEliminateZeros_MPIAIJCUDA(Mat A, PetscBool keep)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  PetscInt       nonzeros;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Cannot eliminate zeros for unassembled matrix");
  nonzeros = LocalNonzeros(A);
  ierr     = MatEliminateZeros(a->A, keep);
  if (ierr == PETSC_SUCCESS) ierr = MatEliminateZeros(a->B, PETSC_FALSE);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatMPIAIJCUDASumNonzeroState(A)); // MATMPIAIJ forgets it
  PetscCall(ForgetCoordinates(A, nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetDeletionOps - Puts our operations of deletion into the table of a parallel matrix. */
PetscErrorCode MatMPIAIJCUDASetDeletionOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->zerorows        = MatZeroRows_MPIAIJCUDA;
  ops->zerorowscolumns = MatZeroRowsColumns_MPIAIJCUDA;
  ops->eliminatezeros  = MatEliminateZeros_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
