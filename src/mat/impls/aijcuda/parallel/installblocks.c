/* Device storage becomes the blocks of a parallel matrix, or a new matrix. */
#include "parallel.h"
#include "../core/core.h"

/*
  GhostColumnsRenumberTo - The columns of an off-diagonal block, compact, become places in a list that has them all.

  columns: [n] host, ascending.
*/
PetscErrorCode GhostColumnsRenumberTo(DCSRView *ghost, PetscInt n, const int32_t columns[], cudaStream_t stream)
{
  int32_t       *device = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "ghost columns", stream, &device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(device, columns, (size_t)n * sizeof(*columns), stream));
  PetscCallGoto(ierr, cleanup, DCSRBlockListDestroy(&ghost->list, stream)); // of the old columns
  PetscCallGoto(ierr, cleanup, DCSRViewRenumber(*ghost, n, device, stream));
  ghost->num_columns = n;
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GhostColumnsRenumber - Drops ghost columns that an off-diagonal block, compact and with columns below num, does not use; its columns are renumbered.

  *columns: [n] host, the old numbers of those that it uses, ascending, to be freed with PetscFree(); NULL after an error.
*/
PetscErrorCode GhostColumnsRenumber(PetscInt num, DCSRView *ghost, cudaStream_t stream, PetscInt *n, int32_t **columns)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewGetColumns(*ghost, DCSRKeyBits(num), stream, n, columns));
  ierr = GhostColumnsRenumberTo(ghost, *n, *columns, stream);
  if (ierr != PETSC_SUCCESS) PetscCall(PetscFree(*columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAInstallBlocks - Makes views the blocks of a parallel matrix of ours, with sizes and type set, and assembles it. Collective.

  blocks: [2] diagonal and off-diagonal; zero afterwards unless there was an error. columns: [n] host, global numbers of the ghost columns, ascending.
*/
PetscErrorCode MatMPIAIJCUDAInstallBlocks(Mat C, DCSRView blocks[], PetscInt n, const int32_t columns[])
{
  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(C->rmap));
  PetscCall(PetscLayoutSetUp(C->cmap));
  PetscCall(MatMPIAIJCUDASetBlocks(C, blocks, n, columns));
  MatMPIAIJCUDAGet(C)->installed_blocks = PETSC_TRUE;
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of compact storage, owned by the caller. */
static PetscErrorCode CopyView(DCSRView from, cudaStream_t stream, DCSRView *to)
{
  const size_t   offset = from.wide ? sizeof(int64_t) : sizeof(int32_t), nz = (size_t)from.num_nonzeros;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(from.num_rows, from.num_columns, from.num_nonzeros, from.wide, stream, to));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(to->row_offsets, from.row_offsets, ((size_t)from.num_rows + 1) * offset, cudaMemcpyDeviceToDevice, stream));
  if (nz > 0) PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(to->columns, from.columns, nz * sizeof(*to->columns), cudaMemcpyDeviceToDevice, stream));
  if (nz > 0) PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(to->values, from.values, nz * sizeof(*to->values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(to, stream));
  PetscFunctionReturn(ierr);
}

/* Copies of the blocks from which nothing was removed; the ghost columns [*n] that are left, on the host. */
static PetscErrorCode CompleteBlocks(Mat A, PetscBool mpi, DCSRView blocks[], cudaStream_t stream, PetscInt *n, int32_t **ghosts)
{
  DCSRView view;

  PetscFunctionBegin;
  for (int k = 0; k < (mpi ? 2 : 1); k++) {
    if (blocks[k].row_offsets != NULL) continue;
    PetscCall(MatSeqAIJCUDAGetCompact(mpi ? MatMPIAIJCUDAGetBlock(A, k) : A, &view));
    PetscCall(CopyView(view, stream, &blocks[k]));
  }
  if (!mpi) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GhostColumnsRenumber(MatMPIAIJCUDANumGhosts(A), &blocks[1], stream, n, ghosts));
  for (PetscInt k = 0; k < *n; k++) (*ghosts)[k] = (int32_t)((Mat_MPIAIJ *)A->data)->garray[(*ghosts)[k]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDACreateLike - A matrix with the layouts, the block sizes and the type of A, which is parallel, and other blocks, assembled. Collective.

  blocks: [2] diagonal and off-diagonal; zero afterwards unless there was an error. ghosts: [n] host, global numbers of the ghost columns, ascending. C is NULL after an error.
*/
PetscErrorCode MatMPIAIJCUDACreateLike(Mat A, DCSRView blocks[], PetscInt n, const int32_t ghosts[], Mat *C)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)A), C));
  PetscCallGoto(ierr, failed, PetscLayoutReference(A->rmap, &(*C)->rmap));
  PetscCallGoto(ierr, failed, PetscLayoutReference(A->cmap, &(*C)->cmap));
  PetscCallGoto(ierr, failed, MatSetType(*C, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, MatMPIAIJCUDAInstallBlocks(*C, blocks, n, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(C);
  PetscFunctionReturn(ierr);
}

/*
  MatAIJCUDACreateReduced - A matrix with some of the entries of A, whose structure is on the device, in the columns of the blocks of A. Collective.

  blocks: what is left of A, or [2] of its diagonal and off-diagonal block, as DCSRCompactIf() makes it: zero where nothing was removed; zero afterwards, also after an error.
  ierr: what making them ended with on this process. All processes have an error when one has.
  C has A's type, sizes and block sizes, with the ghost columns that are left; NULL after an error.
*/
PetscErrorCode MatAIJCUDACreateReduced(Mat A, DCSRView blocks[], PetscErrorCode ierr, Mat *C)
{
  PetscInt     n      = 0;
  int32_t     *ghosts = NULL;
  PetscBool    mpi;
  cudaStream_t stream;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (ierr == PETSC_SUCCESS) ierr = CompleteBlocks(A, mpi, blocks, stream, &n, &ghosts);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = mpi ? MatMPIAIJCUDACreateLike(A, blocks, n, ghosts, C) : MatSeqAIJCUDACreateFromView(A, A->rmap->bs, A->cmap->bs, &blocks[0], C);
  for (int k = 0; k < (mpi ? 2 : 1); k++) PetscCall(DCSRViewFree(&blocks[k], stream));
  PetscCall(PetscFree(ghosts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
