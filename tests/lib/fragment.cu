/*
  Compact -> fragmented, for tests: what a matrix may look like after many insertions, without doing them.
*/
#include "../../src/mat/kernels/common/foreach.cuh"
#include "../../src/mat/kernels/common/rowloop.cuh"
#include "../../src/mat/kernels/common/scan.h"
#include "kernels.h"

namespace
{

/* Part s of a row of n entries has entries s, s + parts, s + 2 parts, ...: parts are sorted, their concatenation is not, as after insertions. */
__device__ inline int32_t NumParts(int32_t n, int32_t max_segments)
{
  return n < max_segments ? (n > 0 ? n : 1) : max_segments;
}

__device__ inline int32_t PartSize(int32_t n, int32_t parts, int32_t s)
{
  return s < parts ? (n - s + parts - 1) / parts : 0;
}

/* Length of segment s of row r, for index s * num_rows + r; 0 behind the last. */
template <typename Offset>
struct SegmentLength {
  const Offset *row_offsets;
  PetscInt      num_rows;
  int32_t       max_segments, slack;
  bool          base; // the first parts lie one behind the other

  __device__ Offset operator()(PetscCount index) const
  {
    const int32_t  s     = (int32_t)(index / num_rows);
    const PetscInt row   = (PetscInt)(index % num_rows);
    const int32_t  n     = (int32_t)(row_offsets[row + 1] - row_offsets[row]);
    const int32_t  parts = NumParts(n, max_segments);

    return (Offset)PartSize(n, parts, s) + (s == parts - 1 && !(base && s == 0) ? slack : 0);
  }
};

template <typename Offset>
struct WriteLength {
  SegmentLength<Offset> length;
  Offset               *lengths;
  __device__ void       operator()(PetscCount index) const { lengths[index] = length(index); }
};

/* Writes the pairs of a row; begins is the running sum of SegmentLength. */
template <typename Offset>
struct WriteSegments {
  SegmentLength<Offset> length;
  const Offset         *begins;
  Offset               *segments;
  int32_t              *row_sizes;
  PetscCount            pitch;

  __device__ void operator()(PetscCount row) const
  {
    row_sizes[row] = (int32_t)(length.row_offsets[row + 1] - length.row_offsets[row]);
    for (int32_t s = 0; s < length.max_segments; s++) {
      const PetscCount index = s * (PetscCount)length.num_rows + row;
      const Offset     n     = length(index);

      segments[2 * (row + s * pitch)]     = n ? begins[index] : 0;
      segments[2 * (row + s * pitch) + 1] = n ? begins[index] + n : 0;
    }
  }
};

template <typename Offset>
struct ScatterEntry {
  using Result = void;
  DCSRView from, to;

  __device__ void Visit(RowEntry e) const
  {
    const int32_t    parts = NumParts(e.size, (int32_t)to.max_segments);
    const PetscCount k     = (PetscCount)((const Offset *)to.segments)[2 * (e.row + (e.index % parts) * to.pitch)] + e.index / parts;

    to.columns[k] = from.columns[e.position];
    if (to.values) to.values[k] = from.values[e.position];
  }
};

/* The base is what lies before the second part of row 0. */
template <typename Offset>
struct WriteBase {
  const Offset   *begins;
  int32_t        *base_offsets;
  __device__ void operator()(PetscCount row) const { base_offsets[row] = (int32_t)begins[row]; }
};

template <typename Offset>
PetscErrorCode Fragment(DCSRView from, int32_t slack, DCSRView to, cudaStream_t stream)
{
  const SegmentLength<Offset> length = {(const Offset *)from.row_offsets, from.num_rows, (int32_t)to.max_segments, slack, to.base_offsets != NULL};
  const PetscCount            n      = (PetscCount)from.num_rows * to.max_segments;
  PetscErrorCode              ierr   = PETSC_SUCCESS;
  Offset                     *begins = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "begins of segments", stream, &begins));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, WriteLength<Offset>{length, begins}, stream));
  PetscCallGoto(ierr, cleanup, DCSRExclusiveSum("workspace to place segments", begins, n, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)from.num_rows, WriteSegments<Offset>{length, begins, (Offset *)to.segments, to.row_sizes, to.pitch}, stream));
  PetscCallGoto(ierr, cleanup, RowLoop(from, ScatterEntry<Offset>{from, to}, stream));
  if (to.base_offsets) PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)from.num_rows + 1, WriteBase<Offset>{begins, to.base_offsets}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRFragmentCapacity - how many pool entries DCSRFragment() needs

  Input Parameters:
+ from         - compact storage
. max_segments - segments a row, 1 to DCSR_MAX_SEGMENTS
. slack        - unused entries behind the last part of each row
- stream       - not used: nothing has to be read

  Output Parameter:
. capacity - entries
*/
PetscErrorCode DCSRFragmentCapacity(DCSRView from, PetscInt max_segments, PetscInt slack, cudaStream_t stream, PetscCount *capacity)
{
  PetscFunctionBegin;
  (void)stream;
  PetscCheck(max_segments >= 1 && max_segments <= DCSR_MAX_SEGMENTS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A row has 1 to %d segments, not %" PetscInt_FMT, DCSR_MAX_SEGMENTS, max_segments);
  PetscCheck(slack >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Slack cannot be negative: %" PetscInt_FMT, slack);
  *capacity = from.num_nonzeros + (PetscCount)from.num_rows * slack;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRFragment - fragmented storage of the same matrix

  Input Parameters:
+ from   - compact storage
. slack  - unused entries behind the last part of each row, with a base only if that is not the first one
. to     - num_rows, num_columns, wide (as from), capacity, pitch and max_segments are set; segments [2 * pitch * max_segments], row_sizes [num_rows], columns and values
           [capacity] are allocated; values may be NULL; base_offsets [num_rows + 1], or NULL for storage without a base; with one max_segments is at least 2, and offsets are not wide
- stream - synchronized when there is a base

  Output Parameter:
. to - the arrays are filled, num_nonzeros and used are set

  Note: part s of all rows lies in region s of the pool; the entries of a row are dealt out to its parts in turn, so that columns are sorted in a segment and not across segments. Unused entries are
  zero.
*/
PetscErrorCode DCSRFragment(DCSRView from, PetscInt slack, DCSRView *to, cudaStream_t stream)
{
  PetscCount needed;

  PetscFunctionBegin;
  PetscCheck(from.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be fragmented");
  PetscCall(DCSRFragmentCapacity(from, to->max_segments, slack, stream, &needed));
  PetscCheck(to->num_rows == from.num_rows && to->pitch >= from.num_rows && to->wide == from.wide, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The target has other rows, a short pitch or another offset width");
  PetscCheck(to->capacity >= needed, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The target's pool holds %" PetscCount_FMT " entries and needs %" PetscCount_FMT, to->capacity, needed);
  PetscCheck(to->wide || needed <= DCSR_MAX_NARROW, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscCount_FMT " pool entries need wide offsets", needed);
  PetscCheck(to->values == NULL || from.values != NULL || !from.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The target wants values, the matrix has structure only");
  PetscCheck(to->base_offsets == NULL || (!to->wide && to->max_segments > 1), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "A base needs two segments a row and 32-bit offsets");
  to->num_nonzeros = from.num_nonzeros;
  to->used         = needed;
  if (needed) PetscCallCUDA(cudaMemsetAsync(to->columns, 0, (size_t)needed * sizeof(*to->columns), stream));
  if (needed && to->values) PetscCallCUDA(cudaMemsetAsync(to->values, 0, (size_t)needed * sizeof(*to->values), stream));
  if (!from.num_rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(to->segments, 0, 2 * (size_t)to->pitch * to->max_segments * (to->wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  if (to->wide) PetscCall(Fragment<int64_t>(from, (int32_t)slack, *to, stream));
  else PetscCall(Fragment<int32_t>(from, (int32_t)slack, *to, stream));
  if (to->base_offsets) {
    int32_t end;

    PetscCallCUDA(cudaMemcpyAsync(&end, to->base_offsets + from.num_rows, sizeof(end), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    to->base_nonzeros = end;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
