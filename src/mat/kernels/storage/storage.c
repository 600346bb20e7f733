/* Owning device storage: allocation and release of the arrays behind a DCSRView. */
#include <petscsparsecuda/blocklist.h>

/*
  DCSRViewAllocateStructure - Allocates the structure of compact storage, without values; nothing is initialized.
  wide: 64-bit offsets. view owns its arrays, for work queued on the stream; all NULL after an error.
*/
PetscErrorCode DCSRViewAllocateStructure(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, PetscBool wide, cudaStream_t stream, DCSRView *view)
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
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRViewAllocateValues - Allocates the values of storage of DCSRViewAllocateStructure(), for work queued on the stream; nothing is initialized. view is as it was after an error. */
PetscErrorCode DCSRViewAllocateValues(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(view->num_nonzeros, "values of a matrix", stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRViewAllocateCompact - DCSRViewAllocateStructure() and DCSRViewAllocateValues(). */
PetscErrorCode DCSRViewAllocateCompact(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(num_rows, num_columns, num_nonzeros, wide, stream, view));
  PetscCallGoto(ierr, failed, DCSRViewAllocateValues(view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/*
  DCSRViewTryAllocateSpare - Allocates compact storage with room for spare more entries behind it; nothing is initialized. *done = PETSC_FALSE: the device has no memory for it, all is NULL.
  Rows and columns are those of like, whose offsets are not wider than the new ones. values = PETSC_FALSE: structure alone. view owns its arrays, for work queued on the stream.
  The room never makes offsets wide: without it a matrix of at most DCSR_MAX_NARROW entries has 32-bit ones.
*/
PetscErrorCode DCSRViewTryAllocateSpare(const DCSRView *like, PetscCount num_nonzeros, PetscBool values, PetscCount spare, cudaStream_t stream, DCSRView *view, PetscBool *done)
{
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  wide               = (PetscBool)(wide || like->wide);
  view->num_rows     = like->num_rows;
  view->num_columns  = like->num_columns;
  view->num_nonzeros = num_nonzeros;
  view->used         = num_nonzeros;
  view->wide         = wide;
  view->capacity     = wide ? num_nonzeros + spare : PetscMin(num_nonzeros + spare, (PetscCount)DCSR_MAX_NARROW);
  PetscCallGoto(ierr, failed, PetscSparseCUDATryMalloc_Private((size_t)(view->num_rows + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), stream, &view->row_offsets));
  if (view->row_offsets != NULL && values) PetscCallGoto(ierr, failed, PetscSparseCUDATryMalloc(view->capacity, stream, &view->values));
  if (view->row_offsets != NULL && (view->values != NULL || !values)) PetscCallGoto(ierr, failed, PetscSparseCUDATryMalloc(view->capacity, stream, &view->columns));
  *done = (PetscBool)(view->row_offsets != NULL && (view->columns != NULL || view->capacity == 0));
  if (!*done) PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRViewAllocateSpare - The same without the room when the device has no memory for it; all arrays are NULL after an error. */
PetscErrorCode DCSRViewAllocateSpare(const DCSRView *like, PetscCount num_nonzeros, PetscBool values, PetscCount spare, cudaStream_t stream, DCSRView *view)
{
  PetscBool      done, wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewTryAllocateSpare(like, num_nonzeros, values, spare, stream, view, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(like->num_rows, like->num_columns, num_nonzeros, (PetscBool)(wide || like->wide), stream, view));
  if (values) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRViewFree - Releases the arrays of a view that owns them, after the work queued on the stream so far, and its reference to a list of blocks, and clears it. */
PetscErrorCode DCSRViewFree(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&view->values, stream));
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  PetscCall(PetscSparseCUDAFree(&view->row_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&view->base_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&view->segments, stream));
  PetscCall(PetscSparseCUDAFree(&view->row_sizes, stream));
  PetscCall(DCSRBlockListDestroy(&view->list, stream));
  PetscCall(PetscMemzero(view, sizeof(*view)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRViewKeepBase - compact storage that has got its segments becomes fragmented storage; what it was is its base
  Not with 64-bit offsets, and not where the only segment of a row moves when it grows.
*/
PetscErrorCode DCSRViewKeepBase(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view->wide || view->max_segments == 1) PetscCall(PetscSparseCUDAFree(&view->row_offsets, stream));
  view->base_offsets  = (int32_t *)view->row_offsets;
  view->base_nonzeros = view->num_nonzeros;
  view->row_offsets   = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRViewGetBase - the base of fragmented storage, which has one, as compact storage */
DCSRView DCSRViewGetBase(DCSRView view)
{
  view.row_offsets   = view.base_offsets;
  view.num_nonzeros  = view.base_nonzeros;
  view.used          = view.base_nonzeros;
  view.base_offsets  = NULL;
  view.base_nonzeros = 0;
  view.segments      = NULL;
  view.row_sizes     = NULL;
  view.list          = NULL;
  return view;
}
