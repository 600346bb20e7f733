/*
  New entries of a sorted batch are merged into compact storage. One pass moves the old entries to their new places and puts the new ones between them. Both are sorted by
  row and column: the places of the new entries among the old ones ascend, and positions come from counting. Rows play no part, however long, and nothing is sorted again.

  Storage may grow beyond 2^31 entries: the new one has its own offset width.
*/
#include "../common/scan.h"
#include "batch.cuh"
#include "rows.cuh"

namespace
{

constexpr int THREADS    = 256;
constexpr int MERGE_TILE = 2048; // old entries that a thread block moves

/* What is merged: the old entries, and for each new one the old entry before which it belongs, ascending. */
template <typename Offset>
struct MergeArrays {
  DCSRView           from, to;
  const Offset      *before; // [num]
  PetscCount         num;
  NewKeys            keys;
  const PetscScalar *values; // of the batch
  bool               place;  // put the new entries, too

  __device__ void Place(PetscCount q) const
  {
    const PetscCount k = (PetscCount)before[q] + q;

    to.columns[k] = keys.Column(q);
    if (to.values) to.values[k] = values[keys.entries[q]];
  }
};

/*
  A thread block moves a tile of old entries, whatever their rows. Old entry p moves up by the number of new ones that belong at or before it. All threads look that up
  among the few new ones of their tile. Writes are as consecutive as reads.
*/
template <typename Offset>
__global__ void __launch_bounds__(THREADS) MergeKernel(MergeArrays<Offset> m)
{
  __shared__ PetscCount range[2];
  __shared__ Offset     inside[MERGE_TILE];
  const PetscCount      n = m.from.num_nonzeros, begin = (PetscCount)blockIdx.x * MERGE_TILE, end = begin + MERGE_TILE < n ? begin + MERGE_TILE : n;

  if (threadIdx.x < 2) range[threadIdx.x] = threadIdx.x == 1 && end == n ? m.num : CountBelow(m.before, 0, m.num, threadIdx.x ? end : begin);
  __syncthreads();
  const PetscCount first = range[0], num = range[1] - first;
  const bool       fits = num <= MERGE_TILE;

  for (int q = threadIdx.x; fits && q < num; q += THREADS) inside[q] = m.before[first + q];
  __syncthreads();
  for (PetscCount p = begin + threadIdx.x; p < end; p += THREADS) {
    const PetscCount k = p + (fits ? first + CountBelow(inside, 0, num, p + 1) : CountBelow(m.before, first, first + num, p + 1));

    m.to.columns[k] = m.from.columns[p];
    if (m.to.values) m.to.values[k] = m.from.values[p];
  }
  if (m.place)
    for (PetscCount q = threadIdx.x; q < num; q += THREADS) m.Place(first + q);
}

template <typename Offset>
struct PlaceNew {
  MergeArrays<Offset> arrays;
  __device__ void     operator()(PetscCount q) const { arrays.Place(q); }
};

/* Where the new entries belong, without those that are there. */
template <typename Offset>
struct GatherBefore {
  const PetscCount *where, *entries;
  Offset           *before;
  __device__ void   operator()(PetscCount q) const { before[q] = (Offset)~where[entries[q]]; }
};

template <typename Old, typename New>
struct AddOffsets {
  const Old      *old;
  New            *offsets; // added before, the sum afterwards
  __device__ void operator()(PetscCount r) const { offsets[r] += (New)old[r]; }
};

/* The row of a new key ends where its last key says. */
template <typename New>
struct WriteNewRowEnds {
  NewKeys    keys;
  PetscCount num;
  New       *added;

  __device__ void operator()(PetscCount q) const
  {
    const PetscInt row = keys.Row(q);

    if (q + 1 == num || keys.Row(q + 1) != row) added[(PetscCount)row + 1] = (New)(q + 1);
  }
};

template <typename New>
PetscErrorCode CountAdded(PetscInt num_rows, NewKeys keys, PetscCount num, New *added, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(added, 0, ((size_t)num_rows + 1) * sizeof(*added), stream));
  PetscCallCUDA(DCSRForEach(num, WriteNewRowEnds<New>{keys, num, added}, stream));
  PetscCall(DCSRInclusiveMax("workspace to count new entries", added, (int64_t)num_rows + 1, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Old and new entries into the arrays of to. */
template <typename Old>
PetscErrorCode MergeEntries(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, NewKeys keys, cudaStream_t stream)
{
  const PetscCount num = (PetscCount)lookup->numbers.num_new, tiles = (from.num_nonzeros + MERGE_TILE - 1) / MERGE_TILE;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  Old             *before = NULL;
  MergeArrays<Old> arrays;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num, "places of new entries", stream, &before));
  PetscCallGoto(ierr, cleanup, DCSRLookupWriteFound(from, batch, lookup, mode, stream)); // before they move, and when no allocation can fail any more
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(num, GatherBefore<Old>{lookup->where, lookup->entries, before}, stream));
  // many new entries between few old ones would all be work of one thread block
  arrays = MergeArrays<Old>{from, to, before, num, keys, batch->values, num <= 2 * from.num_nonzeros};
  if (tiles > 0) {
    MergeKernel<<<(unsigned int)tiles, THREADS, 0, stream>>>(arrays);
    PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  }
  if (!arrays.place) PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(num, PlaceNew<Old>{arrays}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&before, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to has arrays for old and new entries; its row offsets are how many new ones there are in the rows before, and then where the rows begin. */
template <typename Old, typename New>
PetscErrorCode Merge(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  const NewKeys keys{batch->keys, lookup->entries, batch->column_bits};
  New *const    offsets = (New *)to.row_offsets;

  PetscFunctionBegin;
  PetscCall(CountAdded(to.num_rows, keys, (PetscCount)lookup->numbers.num_new, offsets, stream));
  PetscCall(MergeEntries<Old>(from, to, batch, lookup, mode, keys, stream));
  PetscCallCUDA(DCSRForEach((PetscCount)to.num_rows + 1, AddOffsets<Old, New>{(const Old *)from.row_offsets, offsets}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MergeDispatch(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (from.wide) PetscCall((Merge<int64_t, int64_t>(from, to, batch, lookup, mode, stream)));
  else if (to.wide) PetscCall((Merge<int32_t, int64_t>(from, to, batch, lookup, mode, stream)));
  else PetscCall((Merge<int32_t, int32_t>(from, to, batch, lookup, mode, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRMergeBatch - new compact storage with the new entries of a batch between the old ones

  Input Parameters:
+ view   - compact storage, whose arrays the caller owns; may be empty with NULL columns and values
. batch  - the batch
. lookup - of the batch in the view, with its list and its numbers on the host
. mode   - ADD_VALUES, otherwise values of entries that were there are replaced
. spare  - entries that the pool should have beyond those in use; none when the device is short of memory
- stream - asynchronous on it

  Output Parameter:
. view - the new storage; as it was after an error

  Cost: one read and one write of the matrix.
*/
PetscErrorCode DCSRMergeBatch(DCSRView *view, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, PetscCount spare, cudaStream_t stream)
{
  const PetscBool values = (PetscBool)(view->values || view->num_nonzeros == 0);
  DCSRView        to;
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateSpare(view, view->num_nonzeros + (PetscCount)lookup->numbers.num_new, values, spare, stream, &to));
  PetscCallGoto(ierr, failed, MergeDispatch(*view, to, batch, lookup, mode, stream));
  PetscCall(DCSRViewFree(view, stream));
  *view = to;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&to, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
