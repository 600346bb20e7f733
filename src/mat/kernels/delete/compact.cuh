#pragma once
/*
  New compact storage with some entries of the old one: row sizes are reduced and scanned, and what stays moves. The old storage is only read.
*/
#include "../common/reduce.h"
#include "../common/rowloop.cuh"
#include "../common/scan.h"
#include "../common/select.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/delete.h>

namespace
{

inline PetscErrorCode FreeView(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&view->values, stream));
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  PetscCall(PetscSparseCUDAFree(&view->row_offsets, stream));
  PetscCall(PetscArrayzero(view, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compact storage for num_nonzeros entries of a matrix like from, without values if from has structure only; nothing is filled. */
inline PetscErrorCode AllocateCompact(const DCSRView &from, PetscCount num_nonzeros, cudaStream_t stream, DCSRView *to)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(to, 1));
  to->num_rows     = from.num_rows;
  to->num_columns  = from.num_columns;
  to->num_nonzeros = to->capacity = to->used = num_nonzeros;
  PetscCall(DCSRNeedsWide(num_nonzeros, &to->wide));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private(((size_t)from.num_rows + 1) * (to->wide ? sizeof(int64_t) : sizeof(int32_t)), "row offsets after a deletion", stream, &to->row_offsets));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_nonzeros, "column indices after a deletion", stream, &to->columns));
  // a matrix without entries has no array of values either
  if (from.values || !from.num_nonzeros) PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_nonzeros, "values after a deletion", stream, &to->values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeView(to, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AllocateCompact() with the row offsets that belong to row sizes [num_rows], which add up to num_nonzeros. */
inline PetscErrorCode AllocateFromSizes(const DCSRView &from, const int32_t sizes[], PetscCount num_nonzeros, cudaStream_t stream, DCSRView *to)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AllocateCompact(from, num_nonzeros, stream, to));
  if (to->wide) ierr = DCSROffsetsFromSizes("workspace to scan new row sizes", sizes, to->num_rows, (int64_t *)to->row_offsets, stream);
  else ierr = DCSROffsetsFromSizes("workspace to scan new row sizes", sizes, to->num_rows, (int32_t *)to->row_offsets, stream);
  if (ierr != PETSC_SUCCESS) PetscCall(FreeView(to, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage itself when it is compact, otherwise a compact copy; *copy owns the copy, and is zero without one. */
inline PetscErrorCode GetCompact(const DCSRView &view, cudaStream_t stream, DCSRView *compact, DCSRView *copy)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(copy, 1));
  *compact = view;
  if (view.row_offsets) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AllocateCompact(view, view.num_nonzeros, stream, copy));
  ierr = DCSRDefragment(view, *copy, stream);
  if (ierr != PETSC_SUCCESS) PetscCall(FreeView(copy, stream));
  PetscCall(ierr);
  *compact = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Keep>
struct CountKept {
  using Result = int32_t;
  DCSRView view;
  Keep     keep;
  int32_t *sizes;

  __device__ Result Identity() const { return 0; }
  __device__ Result Map(RowEntry e) const { return keep(view, e) ? 1 : 0; }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt row, Result size) const { sizes[row] = size; }
};

template <typename Keep>
struct FlagKept {
  using Result = void;
  DCSRView       view;
  Keep           keep;
  unsigned char *flags;

  __device__ void Visit(RowEntry e) const { flags[e.position] = keep(view, e) ? 1 : 0; }
};

/* Columns, and values where there are any, of the entries with a flag. */
inline PetscErrorCode SelectFlagged(const DCSRView &from, const unsigned char flags[], const DCSRView &to, cudaStream_t stream)
{
  PetscErrorCode ierr         = PETSC_SUCCESS;
  PetscCount    *num_selected = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "count of kept entries", stream, &num_selected));
  PetscCallGoto(ierr, cleanup, DCSRSelectFlagged32("workspace to select entries", from.num_nonzeros, from.columns, flags, to.columns, num_selected, stream));
  if (to.values) PetscCallGoto(ierr, cleanup, DCSRSelectFlaggedScalars("workspace to select entries", from.num_nonzeros, from.values, flags, to.values, num_selected, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&num_selected, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Moves what the predicate keeps; compact storage is in row order, so that one selection over all entries leaves every row sorted and in its position. */
template <typename Keep>
PetscErrorCode MoveKept(const DCSRView &compact, Keep keep, const DCSRView &to, cudaStream_t stream)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  unsigned char *flags = NULL;

  PetscFunctionBegin;
  if (!to.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(compact.num_nonzeros, "flags of kept entries", stream, &flags));
  PetscCallGoto(ierr, cleanup, RowLoop(compact, FlagKept<Keep>{compact, keep, flags}, stream));
  PetscCallGoto(ierr, cleanup, SelectFlagged(compact, flags, to, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&flags, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new storage of DCSRCompactIf() once it is known what stays. */
template <typename Keep>
PetscErrorCode CompactKept(const DCSRView &view, Keep keep, const int32_t sizes[], PetscCount num_nonzeros, cudaStream_t stream, DCSRView *to)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRView       compact, copy;

  PetscFunctionBegin;
  PetscCall(GetCompact(view, stream, &compact, &copy));
  PetscCallGoto(ierr, cleanup, AllocateFromSizes(view, sizes, num_nonzeros, stream, to));
  PetscCallGoto(ierr, cleanup, MoveKept(compact, keep, *to, stream));
cleanup:
  PetscCall(FreeView(&copy, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(FreeView(to, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCompactIf - new compact storage of the entries that a predicate keeps; synchronizes with the stream
  keep: callable (const DCSRView &view, RowEntry e) -> bool on the device; called several times an entry, with this view (compact or fragmented storage) or a compact copy of it.
  to owns its arrays; zero when all entries stay. deletion: what was done. The view is never changed, and nothing stays allocated after PETSC_ERR_MEM.
  Cost: one read of the entries to count; when entries go, another one to flag them, one byte an entry of workspace, and one move. Fragmented storage is made compact first when entries go, which takes
  a third copy.
*/
template <typename Keep>
PetscErrorCode DCSRCompactIf(DCSRView view, Keep keep, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  int32_t       *sizes = NULL;
  DCSRSizeFacts  facts;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(to, 1));
  PetscCall(PetscArrayzero(deletion, 1));
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(view.num_rows, "row sizes after a deletion", stream, &sizes));
  PetscCallGoto(ierr, cleanup, RowLoop(view, CountKept<Keep>{view, keep, sizes}, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceSizes(view.num_rows, sizes, stream, &facts));
  if (facts.num_nonzeros < view.num_nonzeros) {
    PetscCallGoto(ierr, cleanup, CompactKept(view, keep, sizes, (PetscCount)facts.num_nonzeros, stream, to));
    *deletion = {PETSC_TRUE, (PetscCount)facts.num_nonzeros, (PetscCount)facts.num_nonempty_rows, (PetscCount)facts.max_row_size};
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&sizes, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
