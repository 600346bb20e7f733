/*
  Where the entries of a batch are among 16-bit columns in windows.
*/
#include "../insert/lookup.cuh"
#include "windowsfind.cuh"

/*
  WindowsLookup - finds out which entries of a batch are in a matrix, and where

  Input Parameters:
+ w      - the structure
. batch  - sorted distinct entries, at least one
- stream - asynchronous on it

  Output Parameter:
. lookup - positions among the values; zero after an error, to be freed with DCSRLookupDestroy()

  Errors: PETSC_ERR_MEM.
*/
PetscErrorCode WindowsLookup(Windows w, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(LookupCreate(FindInWindows(w), batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}
