/* Owning device storage: allocation and release of the arrays behind a DCSRView. */
#include <petscsparsecuda/aijcuda.h>

/*
  DCSRViewAllocateCompact - Allocates compact storage; nothing is initialized.

  Not Collective

  Input Parameters:
+ num_rows     - local rows
. num_columns  - local columns
. num_nonzeros - entries
. wide         - 64-bit offsets
- stream       - the arrays may be used in work queued on this stream

  Output Parameter:
. view - owns its arrays; all NULL after an error
*/
PetscErrorCode DCSRViewAllocateCompact(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  const size_t   offset_size = wide ? sizeof(int64_t) : sizeof(int32_t);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(view, sizeof(*view)));
  view->num_rows     = num_rows;
  view->num_columns  = num_columns;
  view->num_nonzeros = num_nonzeros;
  view->capacity     = num_nonzeros;
  view->used         = num_nonzeros;
  view->wide         = wide;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)(num_rows + 1) * offset_size, "row offsets of a matrix", stream, &view->row_offsets));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_nonzeros, "column indices of a matrix", stream, &view->columns));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_nonzeros, "values of a matrix", stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/*
  DCSRViewFree - Releases the arrays of a view and clears it.

  Not Collective

  Input Parameters:
+ view   - a view that owns its arrays
- stream - the arrays are released after the work queued on it so far
*/
PetscErrorCode DCSRViewFree(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&view->values, stream));
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  PetscCall(PetscSparseCUDAFree(&view->row_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&view->segments, stream));
  PetscCall(PetscSparseCUDAFree(&view->row_sizes, stream));
  PetscCall(PetscMemzero(view, sizeof(*view)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
