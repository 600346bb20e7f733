/*
  The invariants of masked diagonals, for tests and debugging. Checks go from what can be read safely to what needs it: a later one runs only when the earlier ones passed.
*/
#include "../../src/mat/kernels/hisparse/diagonals.cuh"
#include "valid.cuh"
#include "../../src/mat/kernels/common/sort.h"
#include "kernels.h"

namespace
{

typedef enum {
  BAD_SLICE,
  BAD_EMPTY,
  BAD_ORDER,
  BAD_POSITION,
  BAD_BIT,
  BAD_VALUES,
  BAD_SEGMENTS_OVERLAP,
  BAD_VALUES_OVERLAP,
  BAD_OUTSIDE_ROW,
  BAD_TWICE,
  BAD_OUTSIDE_SLICE,
  BAD_TRANSPOSED_SLICE,
  BAD_TRANSPOSED_ORDER,
  BAD_TRANSPOSED_BIT,
  BAD_TRANSPOSED_POSITION,
  BAD_TRANSPOSED_PART,
  BAD_TRANSPOSED_ROW,
  BAD_PERMUTATION
} Violation;

const char *const VIOLATIONS[] = {"segments outside of the array of segments, slice",
                                  "a segment without entries, slice",
                                  "segments that do not ascend, slice",
                                  "values of a segment that do not follow those of the segment before it, slice",
                                  "a bit outside of the matrix, slice",
                                  "values outside of the array of values, slice",
                                  "segments that belong to another slice too, slice",
                                  "values that belong to another slice too, slice",
                                  "rows outside of diagonals that do not ascend, are not in the matrix, or have no entries, the number among them is",
                                  "an entry that is in a diagonal and outside of diagonals, the number of its row among those is",
                                  "rows outside of diagonals that are not those of the slice, slice",
                                  "segments of the transpose outside of their array, slice of columns",
                                  "segments of the transpose that do not ascend or have no entries, slice of columns",
                                  "a bit of the transpose outside of the matrix, column",
                                  "an entry of the transpose whose value is not that of the matrix, column",
                                  "parts of a slice of the transpose that are not its segments, slice of columns",
                                  "rows of the transpose outside of diagonals that do not ascend, are not in it, or have no entries, the number among them is",
                                  "an entry outside of diagonals that the transpose does not have, its number there is"};

struct Totals {
  unsigned long long segments, values, transposed;
};

/* The entries outside of segments. */
struct OutsideEntries {
  Offsets        row_offsets; // [num_rows + 1]
  const int32_t *columns, *rows;
  int32_t        num_rows; // that have any

  OutsideEntries() = default;
  __host__ explicit OutsideEntries(const HiSparseRemainder &remainder) : row_offsets(remainder.view), columns(remainder.view.columns), rows(remainder.rows), num_rows((int32_t)remainder.view.num_rows)
  {}
};

/* Position of the value of entry (row, column) in segments, -1 when no segment has it. */
__device__ __forceinline__ PetscCount FindInSegments(const HiSparseSlice *slices, const HiSparseSegment *segments, PetscInt row, int32_t column)
{
  const HiSparseSlice    slice = slices[row / HISPARSE_SLICE_ROWS];
  const HiSparseSegment *begin = segments + slice.first_segment;
  const int              bit   = (int)(row % HISPARSE_SLICE_ROWS);
  const int32_t          c0    = column - bit;
  const uint32_t         p     = PartitionPoint((uint32_t)0, slice.num_segments, [=](uint32_t k) { return begin[k].c0 < c0; });

  if (p == slice.num_segments || begin[p].c0 != c0 || !SegmentHas(begin[p].mask, bit)) return -1;
  return (PetscCount)slice.values + begin[p].values + SegmentRank(begin[p].mask, bit);
}

/* What the checks read, and what they leave for later ones. */
struct Check {
  const HiSparseSlice   *slices;
  const HiSparseSegment *segments;
  PetscInt               num_rows, num_columns;
  PetscCount             num_segments, num_values;
  FirstViolation         found;
  int64_t               *ends;   // [num_slices] behind the last value of a slice
  Totals                *totals; // [1]
};

/* Bits [0, n) of a word. */
__device__ __forceinline__ uint32_t LowerBits(int64_t n)
{
  return n <= 0 ? 0 : n >= HISPARSE_WARP ? ~(uint32_t)0 : ((uint32_t)1 << n) - 1;
}

/* Whether a mask has bits outside of [begin, end). */
__device__ __forceinline__ bool HasBitsOutside(const uint32_t mask[HISPARSE_SLICE_WORDS], int64_t begin, int64_t end)
{
  bool outside = false;

  for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) outside |= (mask[w] & ~(LowerBits(end - HISPARSE_WARP * w) & ~LowerBits(begin - HISPARSE_WARP * w))) != 0;
  return outside;
}

/* A thread a slice. */
struct CheckSlice {
  Check a;

  __device__ void operator()(PetscInt slice) const
  {
    const HiSparseSlice s         = a.slices[slice];
    const int64_t       first_row = (int64_t)slice * HISPARSE_SLICE_ROWS;
    uint64_t            values    = 0;
    int32_t             last      = 0;

    a.ends[slice] = s.values;
    if (s.values < 0 || (PetscCount)s.first_segment + (PetscCount)s.num_segments > a.num_segments) {
      a.found.Set(slice, BAD_SLICE);
      return;
    }
    for (uint32_t p = 0; p < s.num_segments; p++) {
      const HiSparseSegment segment = a.segments[s.first_segment + p];
      const unsigned int    entries = BitsBefore(segment.mask, HISPARSE_SLICE_WORDS);

      if (entries == 0) a.found.Set(slice, BAD_EMPTY);
      if (p > 0 && segment.c0 <= last) a.found.Set(slice, BAD_ORDER);
      if ((uint64_t)segment.values != values) a.found.Set(slice, BAD_POSITION);
      if (HasBitsOutside(segment.mask, -(int64_t)segment.c0, min((int64_t)a.num_rows - first_row, (int64_t)a.num_columns - segment.c0))) a.found.Set(slice, BAD_BIT);
      values += entries;
      last = segment.c0;
    }
    a.ends[slice] = s.values + (int64_t)values;
    if (a.ends[slice] > (int64_t)a.num_values) a.found.Set(slice, BAD_VALUES);
    atomicAdd(&a.totals->segments, (unsigned long long)s.num_segments);
    atomicAdd(&a.totals->values, (unsigned long long)values);
  }
};

/* Where the segments, or values, of slices begin; slices without any come last. */
struct WriteBegins {
  Check     a;
  bool      values;
  uint64_t *begins;
  uint32_t *numbers;

  __device__ void operator()(PetscInt slice) const
  {
    const HiSparseSlice s = a.slices[slice];

    begins[slice]  = s.num_segments == 0 ? UINT64_MAX : values ? (uint64_t)s.values : (uint64_t)s.first_segment;
    numbers[slice] = (uint32_t)slice;
  }
};

/* Slices in the order of their begins: each ends before the next one begins. */
struct CheckOverlap {
  Check           a;
  bool            values;
  const uint64_t *begins;
  const uint32_t *numbers;

  __device__ void operator()(PetscInt k) const
  {
    const PetscInt      slice = (PetscInt)numbers[k];
    const HiSparseSlice s     = a.slices[slice];
    const int64_t       end   = values ? a.ends[slice] : (int64_t)s.first_segment + (int64_t)s.num_segments;

    if (s.num_segments > 0 && (uint64_t)end > begins[k + 1]) a.found.Set(slice, values ? BAD_VALUES_OVERLAP : BAD_SEGMENTS_OVERLAP);
  }
};

/* A thread a row of the remainder, or of its transpose, whose segments are not read. */
struct CheckOutsideRow {
  Check          a;
  OutsideEntries outside;
  PetscInt       end; // of the rows of the matrix
  bool           transpose;

  __device__ void operator()(PetscInt k) const
  {
    const int32_t    row   = outside.rows[k];
    const PetscCount first = outside.row_offsets(k), last = outside.row_offsets((PetscCount)k + 1);

    if (row < 0 || row >= end || (k > 0 && outside.rows[k - 1] >= row) || first >= last) {
      a.found.Set(k, transpose ? BAD_TRANSPOSED_ROW : BAD_OUTSIDE_ROW);
      return;
    }
    for (PetscCount e = first; e < last && !transpose; e++)
      if (FindInSegments(a.slices, a.segments, row, outside.columns[e]) >= 0) a.found.Set(k, BAD_TWICE);
  }
};

struct CheckOutsideSlice {
  Check          a;
  OutsideEntries outside;
  const int32_t *remainder_slices;

  __device__ void operator()(PetscInt slice) const
  {
    if (remainder_slices[slice] != LowerBound(outside.rows, (int32_t)0, outside.num_rows, (int32_t)min((PetscCount)slice * HISPARSE_SLICE_ROWS, (PetscCount)INT32_MAX)))
      a.found.Set(slice, BAD_OUTSIDE_SLICE);
  }
};

/* The lists of A^T x. */
struct CheckTransposedSlice {
  Check                            a;
  const uint32_t                  *slices;
  const HiSparseTransposedSegment *segments;
  PetscInt                         num_slices;
  PetscCount                       num_segments;

  __device__ void operator()(PetscInt slice) const
  {
    const uint32_t     begin = slices[slice], end = slices[slice + 1];
    unsigned long long values = 0;

    if (begin > end || (PetscCount)end > num_segments || (slice == 0 && begin != 0) || (slice == num_slices - 1 && (PetscCount)end != num_segments)) {
      a.found.Set(slice, BAD_TRANSPOSED_SLICE);
      return;
    }
    for (uint32_t p = begin; p < end; p++) {
      const unsigned int entries = BitsBefore(segments[p].mask, HISPARSE_SLICE_WORDS);

      if (entries == 0 || (p > begin && segments[p].r0 <= segments[p - 1].r0)) a.found.Set(slice, BAD_TRANSPOSED_ORDER);
      values += entries;
    }
    atomicAdd(&a.totals->transposed, values);
  }
};

/* A position of 48 bits with its sign. */
__device__ __forceinline__ int64_t TransposedPosition(uint32_t low, uint32_t high)
{
  return (int64_t)((uint64_t)high << 48 | (uint64_t)low << 16) >> 16;
}

/* Each entry of the lists has the position that the segments of rows give it: a thread block a slice of columns, a thread a column. */
__global__ void __launch_bounds__(HISPARSE_SLICE_ROWS) CheckTransposedKernel(const Check a, const uint32_t *slices, const HiSparseTransposedSegment *segments)
{
  const int        bit    = (int)threadIdx.x;
  const PetscCount column = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS + bit;

  for (uint32_t p = slices[blockIdx.x]; p < slices[blockIdx.x + 1]; p++) {
    const HiSparseTransposedSegment *segment = segments + p;
    const PetscInt                   row     = segment->r0 + bit;
    // rows before 0 are in a slice of their own, so the quotient is rounded down
    const bool    in_first = (segment->r0 + bit) >> 7 == segment->r0 >> 7;
    const int64_t first    = in_first ? TransposedPosition(segment->first, segment->high & 0xffff) : TransposedPosition(segment->second, segment->high >> 16);

    if (!SegmentHas(segment->mask, bit)) continue;
    if (row < 0 || row >= a.num_rows || column >= a.num_columns) a.found.Set(column, BAD_TRANSPOSED_BIT);
    else if (FindInSegments(a.slices, a.segments, row, (int32_t)column) != (PetscCount)first + SegmentRank(segment->mask, bit)) a.found.Set(column, BAD_TRANSPOSED_POSITION);
  }
}
static_assert(HISPARSE_SLICE_ROWS == 1 << 7, "CheckTransposedKernel() divides by the rows of a slice");

/* Parts of a slice of columns: they begin and end where the slice does, and those between ascend. */
struct CheckParts {
  Check           a;
  const uint32_t *slices, *parts;
  const int32_t  *slice_parts;
  PetscInt        num_slices;
  int32_t         num_parts;

  __device__ void operator()(PetscInt slice) const
  {
    const int32_t begin = slice_parts[slice], end = slice_parts[slice + 1];
    bool          valid = begin >= 0 && begin < end && end <= num_parts && (slice > 0 || begin == 0) && (slice < num_slices - 1 || end == num_parts);

    valid = valid && parts[begin] == slices[slice] && parts[end] == slices[slice + 1];
    for (int32_t part = begin; part < end && valid; part++) valid = parts[part] <= parts[part + 1];
    if (!valid) a.found.Set(slice, BAD_TRANSPOSED_PART);
  }
};

/* Violation of something that the host knows. */
void SetViolation(const char what[], HiSparseViolation *violation)
{
  violation->what  = what;
  violation->where = 0;
}

/* What the host knows without reading the device. */
const char *CheckNumbers(const HiSparseDiagonals *d)
{
  const PetscCount outside = d->num_nonzeros - d->num_segment_values;

  if (d->num_rows < 0 || d->num_columns < 0 || d->num_segments < 0 || d->num_segment_values < 0 || outside < 0) return "a size is negative, number";
  if ((PetscCount)d->num_slices != ((PetscCount)d->num_rows + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS) return "the number of slices is not that of the rows, number";
  if ((PetscCount)d->num_column_slices != ((PetscCount)d->num_columns + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS) return "the number of slices of columns is not that of the columns, number";
  if (d->remainder.view.num_nonzeros != outside || (outside > 0) != (d->remainder_slices != NULL) || (outside > 0) != (d->remainder.view.num_rows > 0))
    return "the entries outside of diagonals are not as many as the matrix has, number";
  if (d->slices == NULL || (d->num_segments > 0 && d->segments == NULL)) return "slices or segments are missing, number";
  return NULL;
}

/* A check of CSR storage becomes one of ours. */
PetscErrorCode CheckView(DCSRView view, const char what[], cudaStream_t stream, HiSparseViolation *violation)
{
  PetscBool ok;
  PetscInt  row;

  PetscFunctionBegin;
  PetscCall(DCSRIsValid(view, stream, &ok, &row, NULL));
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  violation->what  = what;
  violation->where = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That no segment, or value, belongs to two slices. */
PetscErrorCode CheckSlicesApart(const Check &a, PetscInt n, bool values, cudaStream_t stream)
{
  uint64_t      *begins[2]  = {NULL, NULL};
  uint32_t      *numbers[2] = {NULL, NULL};
  PetscErrorCode ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "begins of slices", stream, &begins[i]));
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "numbers of slices", stream, &numbers[i]));
  }
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, WriteBegins{a, values, begins[0], numbers[0]}, stream));
  PetscCallGoto(ierr, cleanup, DCSRSortBuffers64With32("workspace to sort slices", n, 64, begins, numbers, stream));
  if (n > 1) PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscInt)(n - 1), CheckOverlap{a, values, begins[0], numbers[0]}, stream));
cleanup:
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAFree(&begins[i], stream));
    PetscCall(PetscSparseCUDAFree(&numbers[i], stream));
  }
  PetscFunctionReturn(ierr);
}

/* The numbers that slices add up to. */
PetscErrorCode CheckTotals(const HiSparseDiagonals *d, const Check &a, bool transposed, cudaStream_t stream, HiSparseViolation *violation)
{
  Totals totals;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&totals, a.totals, sizeof(totals), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if ((PetscCount)totals.segments != d->num_segments) SetViolation("slices have not as many segments as the matrix, number", violation);
  else if ((PetscCount)totals.values != d->num_segment_values) SetViolation("segments have not as many entries as the matrix, number", violation);
  else if (transposed && (PetscCount)totals.transposed != d->num_segment_values) SetViolation("segments of the transpose have not as many entries as the matrix, number", violation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckSlices(const HiSparseDiagonals *d, const Check &a, cudaStream_t stream, HiSparseViolation *violation)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(d->num_slices, CheckSlice{a}, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  if (violation->what == NULL) PetscCall(CheckTotals(d, a, false, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckSlicesApart(a, d->num_slices, false, stream));
  PetscCall(CheckSlicesApart(a, d->num_slices, true, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckOutside(const HiSparseDiagonals *d, const Check &a, cudaStream_t stream, HiSparseViolation *violation)
{
  const OutsideEntries outside(d->remainder);

  PetscFunctionBegin;
  if (outside.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckView(d->remainder.view, "CSR of the entries outside of diagonals, the number of the row among those is", stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach((PetscInt)outside.num_rows, CheckOutsideRow{a, outside, d->num_rows, false}, stream));
  PetscCallCUDA(DCSRForEach((PetscInt)(d->num_slices + 1), CheckOutsideSlice{a, outside, d->remainder_slices}, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lists of A^T x. */
PetscErrorCode CheckTransposedSegments(const HiSparseDiagonals *d, const Check &a, cudaStream_t stream, HiSparseViolation *violation)
{
  const PetscInt n = d->num_column_slices;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, CheckTransposedSlice{a, d->transposed_slices, d->transposed_segments, n, d->num_transposed_segments}, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  if (violation->what == NULL) PetscCall(CheckTotals(d, a, true, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (n > 0) CheckTransposedKernel<<<(unsigned int)n, HISPARSE_SLICE_ROWS, 0, stream>>>(a, d->transposed_slices, d->transposed_segments);
  PetscCallCUDA(cudaGetLastError());
  if (d->num_transposed_parts > 0) PetscCallCUDA(DCSRForEach(n, CheckParts{a, d->transposed_slices, d->transposed_parts, d->transposed_slice_parts, n, (int32_t)d->num_transposed_parts}, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A CSR matrix whose row k is row rows[k] of the matrix. */
struct RowsOfMatrix {
  Offsets        row_offsets; // [num_rows + 1]
  PetscInt       num_rows;
  const int32_t *rows, *columns;

  /* Row of the matrix that has entry k; row offsets are valid. */
  __device__ PetscInt Row(PetscCount k) const
  {
    const Offsets  offsets = row_offsets;
    const PetscInt row     = PartitionPoint((PetscInt)0, num_rows, [=](PetscInt r) { return offsets((PetscCount)r + 1) <= k; });

    return (PetscInt)rows[row];
  }
};

/* Entry k of the transpose, (r, c), is entry permutation[k] of the matrix, (c, r). */
struct CheckPermutation {
  RowsOfMatrix   matrix, transpose;
  Offsets        permutation; // as wide as the row offsets
  PetscCount     num_entries;
  FirstViolation found;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount p = permutation(k);

    if (p < 0 || p >= num_entries || matrix.columns[p] != (int32_t)transpose.Row(k) || matrix.Row(p) != (PetscInt)transpose.columns[k]) found.Set(k, BAD_PERMUTATION);
  }
};

/* The transpose of the entries outside of diagonals. */
PetscErrorCode CheckTransposedOutside(const HiSparseDiagonals *d, const Check &a, cudaStream_t stream, HiSparseViolation *violation)
{
  const HiSparseRemainder *o = &d->remainder, *t = &d->transposed_remainder;
  CheckPermutation         check = {{Offsets(o->view), o->view.num_rows, o->rows, o->view.columns},
                                    {Offsets(t->view), t->view.num_rows, t->rows, t->view.columns},
                                    Offsets(o->view),
                                    o->view.num_nonzeros,
                                    a.found};

  PetscFunctionBegin;
  if (t->view.num_nonzeros != o->view.num_nonzeros || t->view.wide != o->view.wide || (o->view.num_nonzeros > 0) != (d->permutation != NULL))
    SetViolation("the transpose has not as many entries outside of diagonals as the matrix, number", violation);
  if (violation->what != NULL || t->view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckView(t->view, "CSR of the transposed entries outside of diagonals, the number of the row among those is", stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  check.permutation.offsets = d->permutation;
  PetscCallCUDA(DCSRForEach(t->view.num_rows, CheckOutsideRow{a, OutsideEntries(*t), d->num_columns, true}, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(t->view.num_nonzeros, check, stream));
  PetscCall(FirstViolationGet(a.found, VIOLATIONS, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckAll(const HiSparseDiagonals *d, const Check &a, cudaStream_t stream, HiSparseViolation *violation)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(a.totals, 0, sizeof(*a.totals), stream));
  PetscCall(CheckSlices(d, a, stream, violation));
  if (violation->what == NULL) PetscCall(CheckOutside(d, a, stream, violation));
  if (violation->what == NULL && d->transposed_segments != NULL) PetscCall(CheckTransposedSegments(d, a, stream, violation));
  if (violation->what == NULL && d->transposed_segments != NULL) PetscCall(CheckTransposedOutside(d, a, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsIsValid - checks the invariants of the structure

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - not read
- stream    - synchronizes with it

  Output Parameter:
. violation - the first one that was found; as it was, which is NULL, when there is none

  Errors: PETSC_ERR_MEM.

  Notes:
  Segments of a slice lie in the array, ascend, have entries, and only such as are in the matrix; their values follow each other in the array of values; no two slices have a segment or a value in
  common. Entries outside of segments are a valid CSR matrix, in no segment, and found by the slice of their row. Each entry of the lists of A^T x, when these are there, has the position of its value,
  and there are as many as in the segments.

  Cost: a few passes over the segments, two sorts of the slices, and with the lists of A^T x a bisection an entry.
*/
PetscErrorCode HiSparseDiagonalsIsValid(const void *structure, cudaStream_t stream, HiSparseViolation *violation)
{
  const HiSparseDiagonals *d    = (const HiSparseDiagonals *)structure;
  Check                    a    = {};
  PetscErrorCode           ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  violation->what = CheckNumbers(d);
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  a.slices       = d->slices;
  a.segments     = d->segments;
  a.num_rows     = d->num_rows;
  a.num_columns  = d->num_columns;
  a.num_segments = d->num_segments;
  a.num_values   = d->num_segment_values;
  PetscCall(FirstViolationCreate(stream, &a.found));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(d->num_slices, "ends of slices", stream, &a.ends));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "totals of slices", stream, &a.totals));
  PetscCallGoto(ierr, cleanup, CheckAll(d, a, stream, violation));
cleanup:
  PetscCall(PetscSparseCUDAFree(&a.found.first, stream));
  PetscCall(PetscSparseCUDAFree(&a.ends, stream));
  PetscCall(PetscSparseCUDAFree(&a.totals, stream));
  PetscFunctionReturn(ierr);
}
