/*
  New blocks for a parallel matrix: what insertion, transposes and products begin or end with.
*/
#include "ghosts.h"
#include "parallel.h"
#include "../core/core.h"
#include "../exchange/exchange.h"

/* MatMPIAIJCUDAStructureOnDevice - Whether an operation that makes a new structure from that of A runs on the device, on all processes. Collective. */
PetscErrorCode MatMPIAIJCUDAStructureOnDevice(Mat A, PetscBool *device)
{
  Mat_MPIAIJ *a         = (Mat_MPIAIJ *)A->data;
  const Mat   blocks[2] = {a->A, a->B};
  PetscBool   use;

  PetscFunctionBegin;
  *device = (PetscBool)(A->assembled && a->Mvctx != NULL && !A->boundtocpu && !MatMPIAIJCUDAGet(A)->no_device && MatMPIAIJCUDAGet(A)->state != PARALLEL_HOST && A->rmap->N <= PETSC_INT32_MAX &&
                        A->cmap->N <= PETSC_INT32_MAX);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &use));
    if (use) PetscCall(MatSeqAIJCUDAStructureOnDevice(blocks[k], &use));
    *device = (PetscBool)(*device && use);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDADestroyInsertion - Frees what insertion holds, and with it the values that have not joined the matrix. */
PetscErrorCode MatMPIAIJCUDADestroyInsertion(Mat A)
{
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  cudaStream_t    stream = NULL;

  PetscFunctionBegin;
  if (d->stage[0] != NULL || d->stage[1] != NULL || OffProcessStashOnDevice(&d->off_process)) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(DCSRStageDestroy(&d->stage[0], stream));
    PetscCall(DCSRStageDestroy(&d->stage[1], stream));
  }
  PetscCall(OffProcessStashDestroy(&d->off_process, stream));
  PetscCall(PetscFree(d->indices));
  d->num_indices = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeEmptyBlocks(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAParentSetPreallocation(A, MAT_SKIP_ALLOCATION, NULL, MAT_SKIP_ALLOCATION, NULL)); // makes the blocks, without host arrays of the length of a column
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  for (int k = 0; k < 2; k++) {
    const Mat block = k ? a->B : a->A;

    PetscCall(MatSeqAIJCUDASetEmpty(block));
    ((Mat_SeqAIJ *)block->data)->nonew = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetEmpty - Makes A, which inserts on the device, a matrix without entries, ready for values from anywhere. Collective.

  After an error, which all processes have when one does, A is one that was not set up.
*/
PetscErrorCode MatMPIAIJCUDASetEmpty(Mat A)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  ierr = MatMPIAIJCUDADestroyInsertion(A);
  if (ierr == PETSC_SUCCESS) ierr = MakeEmptyBlocks(A);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto failed;
  d->state           = PARALLEL_DEVICE_OPEN;
  d->columns_changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  A->preallocated = PETSC_FALSE; // the parent says otherwise by now, and the next insertion would go to host arrays without room
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetBlocks - Makes compact device storage the blocks of a matrix, whatever it was before, ready to be assembled. Allocates no device memory. Collective.

  blocks: diagonal and off-diagonal, the latter with n columns; their arrays belong to A, and they are zero afterwards. columns: [n] host, global numbers of the ghost columns, ascending.
*/
PetscErrorCode MatMPIAIJCUDASetBlocks(Mat A, DCSRView blocks[], PetscInt n, const int32_t columns[])
{
  Mat_MPIAIJ     *a = (Mat_MPIAIJ *)A->data;
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);
  PetscInt       *garray;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDADestroyInsertion(A));
  PetscCall(MatMPIAIJCUDAParentSetPreallocation(A, MAT_SKIP_ALLOCATION, NULL, MAT_SKIP_ALLOCATION, NULL)); // makes the blocks, without ghost columns
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  for (int k = 0; k < 2; k++) {
    const Mat block = k ? a->B : a->A;

    PetscCall(MatSeqAIJCUDASetDeviceMatrix(block, &blocks[k]));
    ((Mat_SeqAIJ *)block->data)->nonew = 0;
  }
  PetscCall(PetscMalloc1(n + 1, &garray)); // never NULL
  for (PetscInt k = 0; k < n; k++) garray[k] = columns[k];
  PetscCall(MatMPIAIJCUDASetGhosts(A, n, &garray));
  d->state = PARALLEL_DEVICE_OPEN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Global columns of the new off-diagonal block become ghost columns. */
static PetscErrorCode SetGhosts(Mat A, DCSRView *view, cudaStream_t stream)
{
  PetscInt       n;
  int32_t       *columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GhostColumnsRenumber(A->cmap->N, view, stream, &n, &columns));
  ierr = MatMPIAIJCUDAExtendGhosts(A, n, columns); // the block is empty so far
  PetscCall(PetscFree(columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetBlock - Compact device storage becomes one of the blocks of an empty matrix, after MatMPIAIJCUDASetEmpty(); to be assembled, or to get its scatter, when both blocks are there.

  The columns of the diagonal block are in local, those of the off-diagonal block in global numbering. The arrays of the view belong to A; it is zero afterwards, also after an error.
  The assembly of A assembles the block. -mat_view would show a block that is assembled by itself.
*/
PetscErrorCode MatMPIAIJCUDASetBlock(Mat A, PetscBool off_diagonal, DCSRView *view)
{
  Mat_MPIAIJ    *a     = (Mat_MPIAIJ *)A->data;
  Mat            block = off_diagonal ? a->B : a->A;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (off_diagonal) PetscCallGoto(ierr, failed, SetGhosts(A, view, stream));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDASetDeviceMatrix(block, view));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}
