/* The facts of the device, and grids that are chosen by them. */
#include <petscsparsecuda/tuning.h>

/* DCSRGetDeviceFacts - The facts of the current device, which is asked once. Nothing is waited for. */
PetscErrorCode DCSRGetDeviceFacts(DCSRDeviceFacts *facts)
{
  const PetscSparseCUDATuning *tuning = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  *facts = tuning->device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRGetGrid - The grid of a kernel whose thread blocks take work until there is none left.
  num_blocks: thread blocks that there is work for; PETSC_COUNT_MAX when that is not known. grid: thread blocks to launch, at most multiprocessor_blocks for each multiprocessor; 0 when there is no
  work.
*/
PetscErrorCode DCSRGetGrid(PetscCount num_blocks, int multiprocessor_blocks, unsigned int *grid)
{
  const PetscSparseCUDATuning *tuning = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  *grid = (unsigned int)PetscMin(num_blocks, (PetscCount)tuning->device.num_multiprocessors * multiprocessor_blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}
