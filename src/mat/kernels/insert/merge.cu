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

constexpr int THREADS     = 256;
constexpr int MERGE_ITEMS = sizeof(PetscScalar) > 8 ? 4 : 8; // entries of a thread: their loads are under way together, and its registers hold them
constexpr int MERGE_TILE  = THREADS * MERGE_ITEMS;           // entries of the new storage that a thread block writes
constexpr int MERGE_WORDS = MERGE_TILE / 32;

/* What is merged: the old entries, and for each new one the old entry before which it belongs, ascending. */
template <typename Offset>
struct MergeArrays {
  DCSRView           from, to;
  const Offset      *before; // [num]
  PetscCount         num;
  NewKeys            keys;
  const PetscScalar *values; // of the batch

  /* How many new entries are among the first entries of the new storage, counted by all lanes of a warp. */
  __device__ PetscCount CountNew(PetscCount first) const
  {
    return PartitionPointByWarp(first > from.num_nonzeros ? first - from.num_nonzeros : 0, first < num ? first : num, [=, this](PetscCount q) { return (PetscCount)before[q] + q < first; });
  }
};

/* Which entries of a tile are new. */
struct MergeTile {
  PetscCount num_new[2];              // new entries before the tile, and before its end
  unsigned   is_new[MERGE_WORDS];     // a bit for each entry
  int        new_before[MERGE_WORDS]; // new ones before the entries of a word
};

/* Counts the new entries before each word of a tile; for the first warp. */
__device__ __forceinline__ void CountInWords(MergeTile &tile)
{
  constexpr int PER_LANE = MERGE_WORDS / 32;
  const int     word     = threadIdx.x * PER_LANE;
  int           counts[PER_LANE], sum = 0;

#pragma unroll
  for (int k = 0; k < PER_LANE; k++) {
    counts[k] = sum;
    sum += __popc(tile.is_new[word + k]);
  }
  int up_to = sum;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, up_to, distance);

    if ((int)threadIdx.x >= distance) up_to += other;
  }
#pragma unroll
  for (int k = 0; k < PER_LANE; k++) tile.new_before[word + k] = up_to - sum + counts[k];
}

/* Finds out which entries of the tile that begins at entry begin are new; all threads of the block. */
template <typename Offset>
__device__ __forceinline__ void FindNew(const MergeArrays<Offset> &m, PetscCount begin, PetscCount end, MergeTile &tile)
{
  for (int w = threadIdx.x; w < MERGE_WORDS; w += THREADS) {
    tile.is_new[w]     = 0;
    tile.new_before[w] = 0;
  }
  if (threadIdx.x < 64) {
    const PetscCount count = m.CountNew(threadIdx.x < 32 ? begin : end);

    if (threadIdx.x % 32 == 0) tile.num_new[threadIdx.x / 32] = count;
  }
  __syncthreads();
  if (tile.num_new[0] == tile.num_new[1]) return; // old entries move together
  for (PetscCount q = tile.num_new[0] + threadIdx.x; q < tile.num_new[1]; q += THREADS) {
    const int k = (int)((PetscCount)m.before[q] + q - begin);

    atomicOr(&tile.is_new[k / 32], 1u << k % 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) CountInWords(tile);
  __syncthreads();
}

/*
  A thread block writes a tile of the new storage, whatever the rows: equal work for each, however old and new entries are mixed. Where an entry comes from is a count of bits.
  The kernel lives from loads in flight: a thread loads all of its entries before it stores the first, without branches, which the compiler would put between loads.
*/
template <typename Offset, bool VALUES>
__global__ void __launch_bounds__(THREADS, 4) MergeKernel(MergeArrays<Offset> m)
{
  __shared__ MergeTile tile;
  const PetscCount     n = m.from.num_nonzeros + m.num, begin = (PetscCount)blockIdx.x * MERGE_TILE;
  const int            size = n - begin < MERGE_TILE ? (int)(n - begin) : MERGE_TILE;
  PetscCount           source[MERGE_ITEMS]; // among the old entries, or of the batch
  int32_t              columns[MERGE_ITEMS];
  PetscScalar          values[MERGE_ITEMS];
  unsigned             is_new = 0;

  FindNew(m, begin, begin + size, tile);
  if (tile.num_new[0] == tile.num_new[1]) {
#pragma unroll
    for (int j = 0; j < MERGE_ITEMS; j++) source[j] = begin - tile.num_new[0] + min(j * THREADS + (int)threadIdx.x, size - 1); // past the end the last entry is loaded again
  } else {
#pragma unroll
    for (int j = 0; j < MERGE_ITEMS; j++) {
      const int        i = min(j * THREADS + (int)threadIdx.x, size - 1), bit = i % 32;
      const unsigned   word  = tile.is_new[i / 32];
      const int        rank  = tile.new_before[i / 32] + __popc(word & ((1u << bit) - 1));
      const bool       fresh = word >> bit & 1;
      const PetscCount entry = m.keys.entries[fresh ? tile.num_new[0] + rank : 0];

      is_new |= (unsigned)fresh << j;
      source[j] = fresh ? entry : begin - tile.num_new[0] + (i - rank);
    }
  }
#pragma unroll
  for (int j = 0; j < MERGE_ITEMS; j++) {
    const int32_t *from = is_new >> j & 1 ? m.keys.LowHalf(source[j]) : m.from.columns + source[j];

    columns[j] = *from;
    if (VALUES) values[j] = (is_new >> j & 1 ? m.values : m.from.values)[source[j]];
  }
#pragma unroll
  for (int j = 0; j < MERGE_ITEMS; j++) {
    const int i = j * THREADS + threadIdx.x;

    if (i < size) {
      m.to.columns[begin + i] = is_new >> j & 1 ? columns[j] & m.keys.LowMask() : columns[j];
      if (VALUES) m.to.values[begin + i] = values[j];
    }
  }
}

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
  const PetscCount num = (PetscCount)lookup->numbers.num_new, tiles = (from.num_nonzeros + num + MERGE_TILE - 1) / MERGE_TILE;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  Old             *before = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num, "places of new entries", stream, &before));
  PetscCallGoto(ierr, cleanup, DCSRLookupWriteFound(from, batch, lookup, mode, stream)); // before they move, and when no allocation can fail any more
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(num, GatherBefore<Old>{lookup->where, lookup->entries, before}, stream));
  if (to.values) MergeKernel<Old, true><<<(unsigned int)tiles, THREADS, 0, stream>>>(MergeArrays<Old>{from, to, before, num, keys, batch->values});
  else MergeKernel<Old, false><<<(unsigned int)tiles, THREADS, 0, stream>>>(MergeArrays<Old>{from, to, before, num, keys, NULL});
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
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
