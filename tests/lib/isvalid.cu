/*
  The invariants of DCSR storage, for debug builds and tests. Checks go from what can be read safely to what needs it: a later one runs only when the earlier ones passed.
*/
#include "../../src/mat/kernels/common/foreach.cuh"
#include "../../src/mat/kernels/common/reduce.h"
#include "../../src/mat/kernels/common/rowloop.cuh"
#include "../../src/mat/kernels/common/search.cuh"
#include "../../src/mat/kernels/common/sort.h"
#include "kernels.h"

namespace
{

typedef enum {
  VALID,
  BAD_SEGMENT,
  BAD_ROW_SIZE,
  BAD_OVERLAP,
  BAD_COLUMN,
  BAD_ORDER,
  BAD_SEGMENT_ORDER,
  BAD_DUPLICATE,
  BAD_FIRST_OFFSET,
  BAD_TOTAL,
  BAD_BASE
} Violation;

const char *const VIOLATIONS[] = {"valid",
                                  "a segment ends before it begins, or lies outside of the used part of the pool",
                                  "the row size is negative or larger than the row's segments",
                                  "a segment overlaps the next one in the pool",
                                  "a column index is out of range",
                                  "columns of a compact row are not sorted",
                                  "columns of a segment are not sorted",
                                  "a column occurs twice in a row",
                                  "the first row offset is not zero",
                                  "the row sizes do not add up to the number of nonzeros",
                                  "the row of the base is not the first segment, or lies outside of the base"};

/* The lowest row that violates something, with the violation in the low byte: the same answer in every run. */
struct FirstViolation {
  unsigned long long *first;

  __device__ void Set(PetscCount row, Violation what) const { atomicMin(first, (unsigned long long)row << 8 | (unsigned long long)what); }
};
constexpr unsigned long long NO_VIOLATION = ~0ull;

template <typename Offset>
struct CheckOffsets {
  DCSRView       view;
  FirstViolation found;

  __device__ void operator()(PetscCount row) const
  {
    const Offset *row_offsets = (const Offset *)view.row_offsets;

    if (row == 0 && row_offsets[0] != 0) found.Set(row, BAD_FIRST_OFFSET);
    if (row == view.num_rows) {
      if ((PetscCount)row_offsets[row] != view.num_nonzeros) found.Set(row ? row - 1 : 0, BAD_TOTAL);
    } else if (row_offsets[row] < 0 || row_offsets[row] > row_offsets[row + 1] || (PetscCount)row_offsets[row + 1] > view.used) found.Set(row, BAD_SEGMENT);
  }
};

template <typename Offset>
struct CheckSegments {
  DCSRView       view;
  FirstViolation found;

  __device__ void operator()(PetscCount row) const
  {
    PetscCount sum = 0;

    for (PetscInt s = 0; s < view.max_segments; s++) {
      const Offset *pair = (const Offset *)view.segments + 2 * (row + s * view.pitch);

      if (pair[0] < 0 || pair[0] > pair[1] || (PetscCount)pair[1] > view.used) found.Set(row, BAD_SEGMENT);
      else sum += (PetscCount)(pair[1] - pair[0]);
    }
    if (view.row_sizes[row] < 0 || (PetscCount)view.row_sizes[row] > sum) found.Set(row, BAD_ROW_SIZE);
    if (view.base_offsets) CheckBase(row);
  }
  __device__ void CheckBase(PetscCount row) const
  {
    const Offset *pair  = (const Offset *)view.segments + 2 * row;
    const int32_t begin = view.base_offsets[row], end = view.base_offsets[row + 1];

    if ((row == 0 && begin != 0) || begin > end || (PetscCount)end > view.base_nonzeros || (row == view.num_rows - 1 && (PetscCount)end != view.base_nonzeros)) found.Set(row, BAD_BASE);
    if (begin < end && (pair[0] != begin || pair[1] != end || view.row_sizes[row] < end - begin)) found.Set(row, BAD_BASE);
  }
};

/* Segment index = row + s * num_rows; empty segments sort to the end. */
template <typename Offset>
struct WriteSegmentKeys {
  DCSRView  view;
  uint64_t *keys;
  uint32_t *indices;

  __device__ void operator()(PetscCount index) const
  {
    const Offset *pair = (const Offset *)view.segments + 2 * (index % view.num_rows + index / view.num_rows * view.pitch);

    keys[index]    = pair[0] < pair[1] ? (uint64_t)pair[0] : UINT64_MAX;
    indices[index] = (uint32_t)index;
  }
};

template <typename Offset>
struct CheckNeighbors {
  DCSRView        view;
  const uint64_t *keys;
  const uint32_t *indices;
  FirstViolation  found;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount index = indices[k], row = index % view.num_rows;
    const Offset    *pair = (const Offset *)view.segments + 2 * (row + index / view.num_rows * view.pitch);

    if (keys[k + 1] != UINT64_MAX && (uint64_t)pair[1] > keys[k + 1]) found.Set(row, BAD_OVERLAP);
  }
};

struct CheckColumnRange {
  using Result = void;
  DCSRView       view;
  FirstViolation found;

  __device__ void Visit(RowEntry e) const
  {
    if (view.columns[e.position] < 0 || view.columns[e.position] >= view.num_columns) found.Set(e.row, BAD_COLUMN);
  }
};

/* On compact storage: neighbors in a row must ascend. */
struct CheckColumnOrder {
  using Result = void;
  DCSRView       view;
  FirstViolation found;

  __device__ void Visit(RowEntry e) const
  {
    if (e.index == 0) return;
    if (view.columns[e.position - 1] == view.columns[e.position]) found.Set(e.row, BAD_DUPLICATE);
    else if (view.columns[e.position - 1] > view.columns[e.position]) found.Set(e.row, BAD_ORDER);
  }
};

/* On fragmented storage: neighbors in a segment must ascend, and no other segment of the row may have the column. */
template <typename Offset>
struct CheckSegmentColumns {
  using Result = void;
  DCSRView       view;
  FirstViolation found;

  __device__ bool Has(PetscCount begin, PetscCount end, int32_t column) const
  {
    const PetscCount position = LowerBound(view.columns, begin, end, column);

    return position < end && view.columns[position] == column;
  }
  __device__ void Visit(RowEntry e) const
  {
    const int32_t column = view.columns[e.position];
    PetscCount    left   = e.size;

    for (PetscInt s = 0; s < view.max_segments && left > 0; s++) {
      const Offset    *pair  = (const Offset *)view.segments + 2 * (e.row + s * view.pitch);
      const PetscCount begin = pair[0], length = pair[1] - begin, end = begin + (length < left ? length : left);

      if (e.position < begin || e.position >= end) {
        if (Has(begin, end, column)) found.Set(e.row, BAD_DUPLICATE);
      } else if (e.position > begin && view.columns[e.position - 1] >= column) found.Set(e.row, BAD_SEGMENT_ORDER);
      left -= end - begin;
    }
  }
};

template <typename Offset>
PetscErrorCode CheckOverlap(DCSRView view, FirstViolation found, cudaStream_t stream)
{
  const PetscCount n          = (PetscCount)view.num_rows * view.max_segments;
  PetscErrorCode   ierr       = PETSC_SUCCESS;
  uint64_t        *keys[2]    = {NULL, NULL};
  uint32_t        *indices[2] = {NULL, NULL};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "begins of segments", stream, &keys[i]));
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "indices of segments", stream, &indices[i]));
  }
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, WriteSegmentKeys<Offset>{view, keys[0], indices[0]}, stream));
  PetscCallGoto(ierr, cleanup, DCSRSortBuffers64With32("workspace to sort segments", n, 64, keys, indices, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n - 1, CheckNeighbors<Offset>{view, keys[0], indices[0], found}, stream));
cleanup:
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAFree(&keys[i], stream));
    PetscCall(PetscSparseCUDAFree(&indices[i], stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets, segments and row sizes: afterwards the entries can be visited without reading out of bounds. */
template <typename Offset>
PetscErrorCode CheckRows(DCSRView view, FirstViolation found, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.row_offsets) PetscCallCUDA(DCSRForEach((PetscCount)view.num_rows + 1, CheckOffsets<Offset>{view, found}, stream));
  else if (view.num_rows) PetscCallCUDA(DCSRForEach((PetscCount)view.num_rows, CheckSegments<Offset>{view, found}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetViolation(FirstViolation found, cudaStream_t stream, PetscBool *ok, PetscInt *row, const char **what)
{
  unsigned long long first = NO_VIOLATION;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&first, found.first, sizeof(first), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *ok = first == NO_VIOLATION ? PETSC_TRUE : PETSC_FALSE;
  if (*ok) PetscFunctionReturn(PETSC_SUCCESS);
  if (row) *row = (PetscInt)(first >> 8);
  if (what) *what = VIOLATIONS[first & 255];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the host knows without reading the device. */
const char *CheckNumbers(const DCSRView &view)
{
  const bool compact = view.row_offsets != NULL;

  if (view.num_rows < 0 || view.num_columns < 0 || view.num_nonzeros < 0) return "a size is negative";
  if ((PetscCount)view.num_columns > (PetscCount)INT32_MAX) return "there are more columns than 32-bit indices reach";
  if (view.num_nonzeros > view.used || view.used > view.capacity) return "num_nonzeros <= used <= capacity does not hold";
  if (!view.wide && view.capacity > (PetscCount)DCSR_MAX_NARROW) return "the capacity needs wide offsets";
  if (view.num_nonzeros && view.columns == NULL) return "there are nonzeros but no columns";
  if (compact && view.used != view.num_nonzeros) return "compact storage has unused entries";
  if (compact && (view.segments || view.row_sizes || view.base_offsets)) return "compact storage has segments";
  if (view.base_offsets && (view.wide || view.max_segments < 2)) return "a base needs 32-bit offsets and two segments a row";
  if (!compact && view.num_rows && (view.segments == NULL || view.row_sizes == NULL)) return "fragmented storage lacks segments or row sizes";
  if (!compact && (view.max_segments < 1 || view.max_segments > DCSR_MAX_SEGMENTS)) return "the number of segments a row is out of range";
  if (!compact && view.pitch < (PetscCount)view.num_rows) return "the pitch of the segments is smaller than the number of rows";
  return NULL;
}

} // namespace

/*
  DCSRIsValid - checks the invariants of compact or fragmented storage; synchronizes with the stream
  When ok is PETSC_FALSE, row (may be NULL) is the lowest row found to violate one, 0 when it is the numbers of the view themselves, and what (may be NULL), a static string, says which one.
  begin <= end <= used; segments do not overlap; row_size <= sum of segment lengths; row sizes add up to num_nonzeros; columns in range, distinct in a row and sorted in a segment; num_nonzeros <= used
  <= capacity; rows of the base are first segments, one behind the other. That only the last used segment of a row is partly used needs no check: row_size says it.
  Cost: a few passes and, when fragmented, a sort of the segments; for debug builds and tests.
*/
PetscErrorCode DCSRIsValid(DCSRView view, cudaStream_t stream, PetscBool *ok, PetscInt *row, const char **what)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  const char    *numbers = CheckNumbers(view);
  FirstViolation found   = {NULL};
  DCSRSizeFacts  facts;

  PetscFunctionBegin;
  *ok = numbers ? PETSC_FALSE : PETSC_TRUE;
  if (row) *row = 0;
  if (what) *what = numbers;
  if (numbers) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "result of a check", stream, &found.first));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(found.first, 0xff, sizeof(*found.first), stream));
  if (view.wide) PetscCallGoto(ierr, cleanup, CheckRows<int64_t>(view, found, stream));
  else PetscCallGoto(ierr, cleanup, CheckRows<int32_t>(view, found, stream));
  PetscCallGoto(ierr, cleanup, GetViolation(found, stream, ok, row, what));
  if (!*ok) goto cleanup;
  if (view.row_offsets == NULL && view.num_rows) {
    PetscCallGoto(ierr, cleanup, DCSRReduceSizes((PetscCount)view.num_rows, view.row_sizes, stream, &facts));
    if ((PetscCount)facts.num_nonzeros != view.num_nonzeros) {
      *ok = PETSC_FALSE;
      if (what) *what = VIOLATIONS[BAD_TOTAL];
      goto cleanup;
    }
    if (view.wide) PetscCallGoto(ierr, cleanup, CheckOverlap<int64_t>(view, found, stream));
    else PetscCallGoto(ierr, cleanup, CheckOverlap<int32_t>(view, found, stream));
    PetscCallGoto(ierr, cleanup, GetViolation(found, stream, ok, row, what));
    if (!*ok) goto cleanup;
  }
  if (!view.num_nonzeros) goto cleanup;
  PetscCallGoto(ierr, cleanup, RowLoop(view, CheckColumnRange{view, found}, stream));
  if (view.row_offsets) PetscCallGoto(ierr, cleanup, RowLoop(view, CheckColumnOrder{view, found}, stream));
  else if (view.wide) PetscCallGoto(ierr, cleanup, RowLoop(view, CheckSegmentColumns<int64_t>{view, found}, stream));
  else PetscCallGoto(ierr, cleanup, RowLoop(view, CheckSegmentColumns<int32_t>{view, found}, stream));
  PetscCallGoto(ierr, cleanup, GetViolation(found, stream, ok, row, what));
cleanup:
  PetscCall(PetscSparseCUDAFree(&found.first, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
