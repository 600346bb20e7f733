/*
  The nonzero pattern that a matrix had at some time, by which it is told whether it still, or again, has it. The nonzerostate alone does not tell: a pattern may come back, MATAIJ counts a deletion
  that removes nothing, and copies and new blocks have a nonzerostate of their own.
*/
#include "core.h"

/* MatAIJCUDAGetBlocks - The sequential matrices that A, of type AIJ, consists of on this process; the second one is NULL unless A is parallel. */
PetscErrorCode MatAIJCUDAGetBlocks(Mat A, Mat blocks[2])
{
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
  blocks[0] = is_mpi ? ((Mat_MPIAIJ *)A->data)->A : A;
  blocks[1] = is_mpi ? ((Mat_MPIAIJ *)A->data)->B : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern of a block, from where its structure is current. */
static PetscErrorCode GetBlockPattern(Mat block, DCSRPattern *pattern)
{
  PetscBool      ours;
  DCSRView       view;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (ours && MatSeqAIJCUDADeviceHasStructure(block)) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(MatSeqAIJCUDAGetStructure(block, &view));
    ierr = DCSRPatternGet(view, stream, pattern);
    PetscCall(MatSeqAIJCUDARestoreStructure(block, &view));
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDAHostBegin(block, HOST_READ_STRUCTURE));
  ierr = DCSRPatternGetHost(block->rmap->n, ((Mat_SeqAIJ *)block->data)->i, ((Mat_SeqAIJ *)block->data)->j, pattern);
  PetscCall(MatAIJCUDAHostFinish(block, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAPatternDestroy - Frees a pattern; NULL is fine. */
PetscErrorCode MatAIJCUDAPatternDestroy(MatAIJCUDAPattern *pattern)
{
  PetscFunctionBegin;
  if (*pattern != NULL) PetscCall(PetscFree((*pattern)->ghosts));
  PetscCall(PetscFree(*pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAPatternCreate - The nonzero pattern of a matrix of ours; to be destroyed with MatAIJCUDAPatternDestroy(), NULL after an error. One pass over the structure, where it is.

  view: compact storage that is about to become the sequential matrix A; NULL: A has its structure already.
*/
PetscErrorCode MatAIJCUDAPatternCreate(Mat A, const DCSRView *view, MatAIJCUDAPattern *pattern)
{
  MatAIJCUDAPattern p;
  cudaStream_t      stream;
  Mat               blocks[2];
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *pattern = NULL;
  PetscCall(PetscNew(&p));
  PetscCallGoto(ierr, failed, MatAIJCUDAGetBlocks(A, blocks));
  if (view != NULL) {
    PetscCallGoto(ierr, failed, PetscSparseCUDAGetStream(&stream));
    PetscCallGoto(ierr, failed, DCSRPatternGet(*view, stream, &p->blocks[0]));
  } else
    for (int k = 0; k < 2 && blocks[k] != NULL; k++) PetscCallGoto(ierr, failed, GetBlockPattern(blocks[k], &p->blocks[k]));
  p->num_ghosts = blocks[1] != NULL ? MatMPIAIJCUDANumGhosts(A) : 0;
  PetscCallGoto(ierr, failed, PetscMalloc1(p->num_ghosts, &p->ghosts));
  if (p->num_ghosts > 0) PetscCallGoto(ierr, failed, PetscArraycpy(p->ghosts, ((Mat_MPIAIJ *)A->data)->garray, p->num_ghosts));
  *pattern = p;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatAIJCUDAPatternDestroy(&p));
  PetscFunctionReturn(ierr);
}

/*
  MatAIJCUDAHasPattern - Whether a block of A has the pattern that it had when MatAIJCUDAPatternCreate() saw A, or another matrix of the same sizes.

  k is 0 for the diagonal block, or a sequential matrix itself, and 1 for the off-diagonal block, with its ghost columns.
  The answer is by a hash of 128 bits (DCSRPatternHash() says how safe that is). One pass over the structure, and a synchronization when it is on the device.
*/
PetscErrorCode MatAIJCUDAHasPattern(Mat A, int k, MatAIJCUDAPattern pattern, PetscBool *has)
{
  Mat         blocks[2];
  DCSRPattern now;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  PetscCall(GetBlockPattern(blocks[k], &now));
  *has = DCSRPatternEqual(&now, &pattern->blocks[k]);
  if (k == 0 || !*has) PetscFunctionReturn(PETSC_SUCCESS);
  *has = (PetscBool)(MatMPIAIJCUDANumGhosts(A) == pattern->num_ghosts);
  if (*has) PetscCall(PetscArraycmp(((Mat_MPIAIJ *)A->data)->garray, pattern->ghosts, pattern->num_ghosts, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}
