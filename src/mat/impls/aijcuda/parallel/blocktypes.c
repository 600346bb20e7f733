/* The types of the blocks of a parallel matrix, and of its ghost vector. */
#include "parallel.h"
#include "../core/core.h"
#include "../../../../petsc/parents.h"
#include "../../../../petsc/vec.h"

/* MatMPIAIJCUDAUpdateGhostVector - Makes the ghost vector one that lives on the device, when products run there and the parent made another one. */
PetscErrorCode MatMPIAIJCUDAUpdateGhostVector(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  if (a->lvec == NULL || A->boundtocpu || VecIsOnDevice(a->lvec)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(&a->lvec));
  PetscCall(MatCreateVecs(a->B, &a->lvec, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a block is MATSEQAIJ; assembled ones of other subclasses, which -mat_seqaij_type made, become that. */
static PetscErrorCode MakeSeqAIJ(Mat *block, PetscBool *is)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)*block, MATSEQAIJ, is));
  if (*is || !(*block)->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = MatConvert(*block, MATSEQAIJ, MAT_INPLACE_MATRIX, block);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  *is = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a block one of ours. Options are read for it then: those with the prefix of the matrix, which the block has for so long. */
static PetscErrorCode ConvertBlock(Mat A, MatType type, Mat *block)
{
  const PetscOptions options = ((PetscObject)*block)->options;
  char              *prefix;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscStrallocpy(((PetscObject)*block)->prefix, &prefix));
  PetscCallGoto(ierr, cleanup, PetscObjectSetOptionsPrefix((PetscObject)*block, ((PetscObject)A)->prefix));
  ((PetscObject)*block)->options = ((PetscObject)A)->options;
  PetscCallGoto(ierr, cleanup, (*MatAIJCUDAHook.from_seqaij)(*block, type, MAT_INPLACE_MATRIX, block));
cleanup:
  ((PetscObject)*block)->options = options;
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)*block, prefix));
  PetscCall(PetscFree(prefix));
  PetscFunctionReturn(ierr);
}

/* Gives a block its type where that is possible; *changed when it was none of ours before. */
static PetscErrorCode MakeOurs(Mat A, MatType type, Mat *block, PetscBool *ours, PetscBool *changed)
{
  PetscBool same, plain;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(*block, ours));
  if (*ours) {
    PetscCall(PetscObjectTypeCompare((PetscObject)*block, type, &same));
    if (!same) PetscCall(ConvertBlock(A, type, block));
  }
  if (*ours || (*block)->hash_active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeSeqAIJ(block, &plain));
  if (!plain) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ConvertBlock(A, type, block));
  if (A->boundtocpu) PetscCall(MatBindToCPU(*block, PETSC_TRUE));
  *ours    = PETSC_TRUE;
  *changed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether PETSc's functions that read the structure of the blocks of A on the host without asking are announced to us (host/events.c), so that it is there in time. MatUpdateMPIAIJWithArrays() is not,
  which is for matrices that have ld; nor is MatMPIAIJGetLocalMat() on one process.
*/
static PetscErrorCode ReadersAreAnnounced(Mat A, PetscBool *announced)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  *announced = (PetscBool)(size > 1 && ((Mat_MPIAIJ *)A->data)->ld == NULL && (*MatAIJCUDAHook.listens)());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes that a matrix of ours is a block. */
static void MakeBlock(Mat block, PetscInt diagonal, PetscBool on_demand)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(block);

  if (d->host.role != ROLE_BLOCK || !on_demand) d->host.at_once = (PetscBool)!on_demand;
  d->host.role        = ROLE_BLOCK;
  d->staging.diagonal = diagonal;
}

/*
  MatMPIAIJCUDASetBlockTypes - Gives the blocks of a parallel matrix of ours the types that its family says, and it a ghost vector of their type. Others than ours are left alone.

  The blocks get their host structure, if they do not have it and keep it: small ones, and all where PETSc's public functions on parallel matrices may read it unannounced.

  Several parent operations (the hash of MatSetValues(), MatCreateSubMatrix(), MatCreateMPIAIJWithSeqAIJ()) leave MATSEQAIJ blocks behind. A block that is
  still in its hash phase is left for the next call.
*/
PetscErrorCode MatMPIAIJCUDASetBlockTypes(Mat A)
{
  Mat_MPIAIJ *a;
  Mat        *blocks[2];
  PetscBool   ours, on_demand, changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ReadersAreAnnounced(A, &on_demand));
  a         = (Mat_MPIAIJ *)A->data;
  blocks[0] = &a->A;
  blocks[1] = &a->B;
  for (int k = 0; k < 2; k++) {
    if (*blocks[k] == NULL) continue;
    PetscCall(MakeOurs(A, k ? MatMPIAIJCUDAGet(A)->types->off_diagonal : MatMPIAIJCUDAGet(A)->types->seq, blocks[k], &ours, &changed));
    if (!ours) continue;
    MakeBlock(*blocks[k], k ? DCSR_NO_DIAGONAL : A->rmap->rstart - A->cmap->rstart, on_demand);
    if ((*blocks[k])->assembled) PetscCall(MatSeqAIJCUDAUpdateBlock(*blocks[k]));
  }
  if (changed) PetscCall(MatMPIAIJCUDAUpdateGhostVector(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAParentSetPreallocation - MATMPIAIJ's MatMPIAIJSetPreallocation(): new blocks, which go on with the nonzerostate of A */
PetscErrorCode MatMPIAIJCUDAParentSetPreallocation(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));     // the ghost vector goes
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // -mat_seqaij_type is not for the blocks
  ierr = (*MatAIJCUDAParentMPI.setpreallocation)(A, d_nz, d_nnz, o_nz, o_nnz);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscCall(MatMPIAIJCUDARaiseSum(A, A->nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}
