/* Sparse times dense with the columns of X read where they are; see spmmrows.cuh. */
#include "spmmrows.cuh"

/*
  SpMMRowsDirect - rows that are not long; the others become zero

  Input Parameters:
+ view      - the matrix, compact, with rows
. long_size - entries above which a row is long
. tile      - x [num_columns x columns] and y [num_rows x columns], column-major, device
- stream    - asynchronous on it
*/
PetscErrorCode SpMMRowsDirect(DCSRView view, PetscCount long_size, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMMRows<false>(view, long_size, tile, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
