/* Device storage becomes the blocks of a parallel matrix. */
#include "parallel.h"
#include "../core/core.h"

/*
  GhostColumnsRenumber - Drops ghost columns that an off-diagonal block does not use

  Not Collective

  Input Parameters:
+ num    - its columns' numbers are below that
- stream - for the work

  Input/Output Parameter:
. ghost - compact; its columns are renumbered

  Output Parameters:
+ n       - how many it uses
- columns - [n] host, to be freed with PetscFree(): their old numbers, ascending; NULL after an error
*/
PetscErrorCode GhostColumnsRenumber(PetscInt num, DCSRView *ghost, cudaStream_t stream, PetscInt *n, int32_t **columns)
{
  int32_t       *device = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewGetColumns(*ghost, DCSRKeyBits(num), stream, n, columns));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*n, "ghost columns", stream, &device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(device, *columns, (size_t)*n * sizeof(**columns), stream));
  PetscCallGoto(ierr, cleanup, DCSRViewRenumber(*ghost, *n, device, stream));
  ghost->num_columns = *n;
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscFree(*columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAInstallBlocks - Makes views the blocks of a parallel matrix of ours, with sizes and type set, and assembles it

  Collective

  Input Parameters:
+ C       - the matrix
. blocks  - [2] diagonal and off-diagonal; zero afterwards unless there was an error
. n       - ghost columns
- columns - [n] host, ascending: their global numbers
*/
PetscErrorCode MatMPIAIJCUDAInstallBlocks(Mat C, DCSRView blocks[], PetscInt n, const int32_t columns[])
{
  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(C->rmap));
  PetscCall(PetscLayoutSetUp(C->cmap));
  PetscCall(MatMPIAIJCUDASetBlocks(C, blocks, n, columns));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
