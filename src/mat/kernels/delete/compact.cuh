#pragma once
/*
  New compact storage with some entries of the old one: row sizes are reduced and scanned, and what stays moves. The old storage is only read.
*/
#include "../common/rowloop.cuh"
#include "../common/temporary.cuh"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/delete.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/* What one reduction of the new row sizes tells. */
struct SizeFacts {
  long long num_nonzeros, num_nonempty_rows, max_row_size;
};

struct FactsOfSize {
  __device__ SizeFacts operator()(int32_t size) const { return {size, size > 0, size}; }
};

struct CombineSizeFacts {
  __device__ SizeFacts operator()(SizeFacts a, SizeFacts b) const { return {a.num_nonzeros + b.num_nonzeros, a.num_nonempty_rows + b.num_nonempty_rows, a.max_row_size < b.max_row_size ? b.max_row_size : a.max_row_size}; }
};

/* Row sizes as a sequence of num_rows + 1 offsets wants them: nothing after the last. */
template <typename Offset>
struct NewSizeOfRow {
  const int32_t    *sizes;
  PetscInt          num_rows;
  __device__ Offset operator()(PetscCount row) const { return row < num_rows ? (Offset)sizes[row] : 0; }
};

/* Synchronizes. */
inline PetscErrorCode ReduceSizes(PetscInt num_rows, const int32_t sizes[], cudaStream_t stream, SizeFacts *facts)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  SizeFacts     *device = NULL;

  PetscFunctionBegin;
  *facts = {0, 0, 0};
  if (!num_rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "facts about new row sizes", stream, &device));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sum new row sizes", stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceReduce::TransformReduce(storage, bytes, sizes, device, (int64_t)num_rows, CombineSizeFacts(), FactsOfSize(), SizeFacts{0, 0, 0}, stream);
                }));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(facts, device, sizeof(*facts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

template <typename Offset>
PetscErrorCode ScanSizes(PetscInt num_rows, const int32_t sizes[], Offset row_offsets[], cudaStream_t stream)
{
  auto in = thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), NewSizeOfRow<Offset>{sizes, num_rows});

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary("workspace to scan new row sizes", stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, in, row_offsets, (int64_t)num_rows + 1, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AllocateCompact() with the row offsets that belong to row sizes [num_rows], which add up to num_nonzeros. */
inline PetscErrorCode AllocateFromSizes(const DCSRView &from, const int32_t sizes[], PetscCount num_nonzeros, cudaStream_t stream, DCSRView *to)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AllocateCompact(from, num_nonzeros, stream, to));
  if (to->wide) ierr = ScanSizes(to->num_rows, sizes, (int64_t *)to->row_offsets, stream);
  else ierr = ScanSizes(to->num_rows, sizes, (int32_t *)to->row_offsets, stream);
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

template <typename T>
PetscErrorCode SelectFlagged(PetscCount n, const T from[], const unsigned char flags[], T to[], cudaStream_t stream)
{
  PetscErrorCode ierr         = PETSC_SUCCESS;
  int64_t       *num_selected = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "count of kept entries", stream, &num_selected));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to select entries", stream, [&](void *storage, size_t &bytes) { return cub::DeviceSelect::Flagged(storage, bytes, from, flags, to, num_selected, (int64_t)n, stream); }));
cleanup:
  PetscCall(PetscSparseCUDAFree(&num_selected, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Moves what the predicate keeps; compact storage is in row order, so that one selection over all entries leaves every row sorted and in its place. */
template <typename Keep>
PetscErrorCode MoveKept(const DCSRView &compact, Keep keep, const DCSRView &to, cudaStream_t stream)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  unsigned char *flags = NULL;

  PetscFunctionBegin;
  if (!to.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(compact.num_nonzeros, "flags of kept entries", stream, &flags));
  PetscCallGoto(ierr, cleanup, RowLoop(compact, NULL, FlagKept<Keep>{compact, keep, flags}, stream));
  PetscCallGoto(ierr, cleanup, SelectFlagged(compact.num_nonzeros, compact.columns, flags, to.columns, stream));
  if (to.values) PetscCallGoto(ierr, cleanup, SelectFlagged(compact.num_nonzeros, compact.values, flags, to.values, stream));
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
  DCSRCompactIf - new compact storage of the entries that a predicate keeps

  Input Parameters:
+ view   - compact or fragmented storage
. keep   - callable (const DCSRView &view, RowEntry e) -> bool on the device; called several times an entry, with this view or a compact copy of it
- stream - synchronizes with it

  Output Parameters:
+ to       - owns its arrays; zero when all entries stay
- deletion - what was done

  Cost: one read of the entries to count; when entries go, another one to flag them, one byte an entry of workspace, and one move. Fragmented storage is made compact
  first when entries go, which takes a third copy.

  Errors: PETSC_ERR_MEM; the view is never changed and nothing stays allocated.
*/
template <typename Keep>
PetscErrorCode DCSRCompactIf(DCSRView view, Keep keep, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  int32_t       *sizes = NULL;
  SizeFacts      facts;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(to, 1));
  PetscCall(PetscArrayzero(deletion, 1));
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(view.num_rows, "row sizes after a deletion", stream, &sizes));
  PetscCallGoto(ierr, cleanup, RowLoop(view, NULL, CountKept<Keep>{view, keep, sizes}, stream));
  PetscCallGoto(ierr, cleanup, ReduceSizes(view.num_rows, sizes, stream, &facts));
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
