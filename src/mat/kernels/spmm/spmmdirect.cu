/* Sparse times dense with the columns of X read where they are; see spmmrows.cuh. */
#include "spmmrows.cuh"

/*
  SpMMRowsDirect - rows that are not long of a compact matrix with rows, by blocks when the plan has a list; the others become zero. Asynchronous
  tile: x [num_columns x columns] and y [num_rows x columns], column-major, device.
*/
PetscErrorCode SpMMRowsDirect(DCSRSpMMPlan plan, DCSRView view, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMMRows<false>(view, plan->list, plan->long_size, tile, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
