/* Sparse times dense with the columns of X read where they are; see spmmrows.cuh. */
#include "spmmrows.cuh"

/*
  SpMMRowsDirect - rows that are not long (at most long_size entries) of a compact matrix with rows; the others become zero. Asynchronous
  tile: x [num_columns x columns] and y [num_rows x columns], column-major, device.
*/
PetscErrorCode SpMMRowsDirect(DCSRView view, PetscCount long_size, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMMRows<false>(view, long_size, tile, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
