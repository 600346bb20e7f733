/*
  New entries of a sorted batch are merged into compact storage. One pass over the batch lists the new entries with their positions among the old ones, another one moves the old entries to their
  new positions and puts the new ones between them. Both are sorted by row and column: the positions of the new entries among the old ones ascend, and positions come from counting. Rows play no part,
  however long, and nothing is sorted again.

  Storage may grow beyond 2^31 entries: the new one has its own offset width.
*/
#include "../common/foreach.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "insertimpl.h"
#include "tiles.cuh"

namespace
{

constexpr int THREADS     = 256;
constexpr int CHUNK_ITEMS = DCSR_RANK_CHUNK / THREADS; // entries of the batch that a thread puts in their positions
constexpr int CHUNK_WORDS = DCSR_RANK_CHUNK / 32;
constexpr int MERGE_ITEMS = sizeof(PetscScalar) > 8 ? 4 : 8; // entries of a thread: their loads are under way together, and its registers hold them
constexpr int MERGE_TILE  = THREADS * MERGE_ITEMS;           // entries of the new storage that a thread block writes
constexpr int MERGE_WORDS = MERGE_TILE / 32;

/* Counts the new entries of the chunks of a batch, a warp each; then they are those of the chunks before. */
__global__ void __launch_bounds__(THREADS) RankKernel(const uint32_t *is_new, PetscCount num_words, PetscCount num_chunks, PetscCount *ranks, DCSRLookupNumbers *numbers)
{
  const PetscCount chunk = (PetscCount)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  int              num   = 0;

#pragma unroll
  for (int k = 0; k < CHUNK_WORDS; k += 32) {
    const PetscCount word = chunk * CHUNK_WORDS + k + threadIdx.x % 32;

    if (word < num_words) num += __popc(is_new[word]);
  }
  for (int distance = 16; distance > 0; distance /= 2) num += __shfl_down_sync(0xffffffffu, num, distance);
  if (threadIdx.x % 32 == 0 && chunk < num_chunks) ranks[chunk] = num;
  SumCountsOfTiles<THREADS>(ranks, num_chunks, &numbers->num_ranked, &numbers->num_done);
}

/* A batch that was looked up, and what becomes of its new entries. */
template <typename Index>
struct Placing {
  const PetscCount  *where, *ranks;
  const uint32_t    *is_new;
  const uint64_t    *keys;
  const PetscScalar *values;
  int                column_bits;
  PetscCount         n;
  PetscScalar       *old_values; // NULL: structure alone
  Index             *entries;    // by their rank among the new ones: which entry of the batch
  Index             *before;     // the old entry before which it belongs
};

/*
  Lists the new entries, and gives those that were there their values. The last entry of a row in the batch notes how many are new up to it: row_ends [number of rows + 1] is zero before.
*/
template <typename Index, typename Offset, bool ADD>
__global__ void __launch_bounds__(THREADS) PositionKernel(Placing<Index> p, Offset *row_ends)
{
  __shared__ unsigned int bits[CHUNK_WORDS];
  __shared__ int          new_before[CHUNK_WORDS];
  const PetscCount        begin = (PetscCount)blockIdx.x * DCSR_RANK_CHUNK, rank_of_chunk = p.ranks[blockIdx.x];
  const unsigned int      lane = threadIdx.x % 32;
  PetscCount              where[CHUNK_ITEMS];
  uint64_t                row[CHUNK_ITEMS], next_row[CHUNK_ITEMS];

#pragma unroll
  for (int j = 0; j < CHUNK_ITEMS; j++) {
    const PetscCount i = begin + j * THREADS + threadIdx.x, k = i < p.n ? i : p.n - 1;

    where[j]    = p.where[k];
    row[j]      = p.keys[k] >> p.column_bits;
    next_row[j] = p.keys[k + 1 < p.n ? k + 1 : k] >> p.column_bits;
  }
  if (threadIdx.x < CHUNK_WORDS) bits[threadIdx.x] = begin + 32 * (PetscCount)threadIdx.x < p.n ? p.is_new[begin / 32 + threadIdx.x] : 0;
  __syncthreads();
  if (threadIdx.x < 32) CountBeforeWords<CHUNK_WORDS>(bits, new_before);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < CHUNK_ITEMS; j++) {
    const int          i     = j * THREADS + (int)threadIdx.x;
    const PetscCount   k     = begin + i;
    const unsigned int word  = bits[i / 32];
    const bool         fresh = word >> lane & 1;
    const PetscCount   rank  = rank_of_chunk + new_before[i / 32] + __popc(word & ((1u << lane) - 1));

    if (k >= p.n) continue;
    if (fresh) {
      p.entries[rank] = (Index)k;
      p.before[rank]  = (Index)~where[j];
    } else if (where[j] >= 0 && p.old_values) p.old_values[where[j]] = ADD ? p.old_values[where[j]] + p.values[k] : p.values[k];
    if (k + 1 == p.n || row[j] != next_row[j]) row_ends[row[j] + 1] = (Offset)(rank + fresh);
  }
}

/* What is merged: the old entries, and for each new one the old entry before which it belongs, ascending. */
template <typename Index>
struct MergeArrays {
  DCSRView           from, to;
  const Index       *before, *entries; // [num]
  PetscCount         num;
  const int32_t     *columns; // of new ones, stride apart, to be masked
  int                stride;
  const PetscScalar *values;
  int32_t            column_mask;

  /* How many new entries are among the first entries of the new storage, counted by all lanes of a warp. */
  __device__ PetscCount CountNew(PetscCount first) const
  {
    return PartitionPointByWarp(first > from.num_nonzeros ? first - from.num_nonzeros : 0, first < num ? first : num,
                                [before = before, first](PetscCount q) { return (PetscCount)before[q] + q < first; });
  }
};

/* Which entries of a tile are new. */
struct MergeTile {
  PetscCount num_new[2];              // new entries before the tile, and before its end
  unsigned   is_new[MERGE_WORDS];     // a bit for each entry
  int        new_before[MERGE_WORDS]; // new ones before the entries of a word
};

/* Finds out which entries of the tile that begins at entry begin are new; all threads of the block. */
template <typename Index>
__device__ __forceinline__ void FindNew(const MergeArrays<Index> &m, PetscCount begin, PetscCount end, MergeTile &tile)
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
  if (threadIdx.x < 32) CountBeforeWords<MERGE_WORDS>(tile.is_new, tile.new_before);
  __syncthreads();
}

/*
  A thread block writes a tile of the new storage, whatever the rows: equal work for each, however old and new entries are mixed. Where an entry comes from is a count of bits.
  The kernel lives from loads in flight: a thread loads all of its entries before it stores the first, without branches, which the compiler would put between loads.
*/
template <typename Index, bool VALUES>
__global__ void __launch_bounds__(THREADS, 4) MergeKernel(MergeArrays<Index> m)
{
  __shared__ MergeTile tile;
  const PetscCount     n = m.from.num_nonzeros + m.num, begin = (PetscCount)blockIdx.x * MERGE_TILE;
  const int            size = n - begin < MERGE_TILE ? (int)(n - begin) : MERGE_TILE;
  Index                source[MERGE_ITEMS]; // among the old entries, or of the batch
  int32_t              columns[MERGE_ITEMS];
  PetscScalar          values[MERGE_ITEMS];
  unsigned             is_new = 0;

  FindNew(m, begin, begin + size, tile);
  if (tile.num_new[0] == tile.num_new[1]) {
#pragma unroll
    for (int j = 0; j < MERGE_ITEMS; j++) source[j] = (Index)(begin - tile.num_new[0] + min(j * THREADS + (int)threadIdx.x, size - 1)); // past the end the last entry is loaded again
  } else {
#pragma unroll
    for (int j = 0; j < MERGE_ITEMS; j++) {
      const int      i = min(j * THREADS + (int)threadIdx.x, size - 1), bit = i % 32;
      const unsigned word  = tile.is_new[i / 32];
      const int      rank  = tile.new_before[i / 32] + __popc(word & ((1u << bit) - 1));
      const bool     fresh = word >> bit & 1;
      const Index    entry = m.entries[fresh ? tile.num_new[0] + rank : 0];

      is_new |= (unsigned)fresh << j;
      source[j] = fresh ? entry : (Index)(begin - tile.num_new[0] + (i - rank));
    }
  }
#pragma unroll
  for (int j = 0; j < MERGE_ITEMS; j++) {
    const int32_t *from = is_new >> j & 1 ? m.columns + (PetscCount)source[j] * m.stride : m.from.columns + source[j];

    columns[j] = *from;
    if (VALUES) values[j] = (is_new >> j & 1 ? m.values : m.from.values)[source[j]];
  }
#pragma unroll
  for (int j = 0; j < MERGE_ITEMS; j++) {
    const int i = j * THREADS + threadIdx.x;

    if (i < size) {
      m.to.columns[begin + i] = is_new >> j & 1 ? columns[j] & m.column_mask : columns[j];
      if (VALUES) m.to.values[begin + i] = values[j];
    }
  }
}

template <typename Old, typename New>
struct AddOffsets {
  const Old      *old;
  New            *offsets; // added before, the sum afterwards
  __device__ void operator()(PetscCount r) const { offsets[r] += (New)old[r]; }
};

/* What a merge needs besides the new storage. */
template <typename Index>
struct MergeWork {
  Index *entries, *before; // of the new entries
  char  *scan;
  size_t scan_bytes;
};

template <typename Index>
PetscErrorCode FreeWork(MergeWork<Index> *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&work->entries, stream));
  PetscCall(PetscSparseCUDAFree(&work->before, stream));
  PetscCall(PetscSparseCUDAFree(&work->scan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index, typename New>
PetscErrorCode AllocateWork(PetscCount num, PetscInt num_rows, cudaStream_t stream, MergeWork<Index> *work)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *work = {NULL, NULL, NULL, 0};
  PetscCall(DCSRInclusiveMaxBytes<New>((PetscCount)num_rows + 1, &work->scan_bytes));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num, "new entries of a batch", stream, &work->entries));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num, "positions of new entries", stream, &work->before));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(work->scan_bytes, "workspace to count new entries", stream, &work->scan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeWork(work, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries are listed, old ones get their values, and the row offsets of to are how many new entries there are in the rows before. */
template <typename Index, typename New>
PetscErrorCode Position(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, const MergeWork<Index> *work, cudaStream_t stream)
{
  const PetscCount     n       = batch->num_entries;
  New *const           offsets = (New *)to.row_offsets;
  const Placing<Index> p       = {lookup->where, lookup->ranks, lookup->is_new, batch->keys, batch->values, batch->column_bits, n, from.values, work->entries, work->before};
  const unsigned int   blocks  = (unsigned int)((n + DCSR_RANK_CHUNK - 1) / DCSR_RANK_CHUNK);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(offsets, 0, ((size_t)to.num_rows + 1) * sizeof(*offsets), stream));
  if (mode == ADD_VALUES) PositionKernel<Index, New, true><<<blocks, THREADS, 0, stream>>>(p, offsets);
  else PositionKernel<Index, New, false><<<blocks, THREADS, 0, stream>>>(p, offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRInclusiveMaxIn(work->scan, work->scan_bytes, offsets, (PetscCount)to.num_rows + 1, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Old and new entries into the arrays of to. */
template <typename Index>
PetscErrorCode MergeEntries(const MergeArrays<Index> &arrays, cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)((arrays.from.num_nonzeros + arrays.num + MERGE_TILE - 1) / MERGE_TILE);

  PetscFunctionBegin;
  if (arrays.to.values) MergeKernel<Index, true><<<blocks, THREADS, 0, stream>>>(arrays);
  else MergeKernel<Index, false><<<blocks, THREADS, 0, stream>>>(arrays);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the rows begin: with the old entries before them, and the new ones. */
template <typename Old, typename New>
PetscErrorCode AddOldOffsets(DCSRView from, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)to.num_rows + 1, AddOffsets<Old, New>{(const Old *)from.row_offsets, (New *)to.row_offsets}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to has arrays for old and new entries. Index: of entries of the old storage and of the batch; New: of to's row offsets. */
template <typename Index, typename New>
PetscErrorCode Merge(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  const PetscCount num  = (PetscCount)lookup->numbers.num_new;
  PetscErrorCode   ierr = PETSC_SUCCESS;
  MergeWork<Index> work;

  PetscFunctionBegin;
  PetscCall((AllocateWork<Index, New>(num, to.num_rows, stream, &work)));
  PetscCallGoto(ierr, cleanup, (Position<Index, New>(from, to, batch, lookup, mode, &work, stream))); // no allocation can fail any more
  if (from.wide) PetscCallGoto(ierr, cleanup, (AddOldOffsets<int64_t, New>(from, to, stream)));
  else PetscCallGoto(ierr, cleanup, (AddOldOffsets<int32_t, New>(from, to, stream)));
  // a column has at most 31 bits: it is in the half of a key that comes first in memory, which is loaded like a column
  PetscCallGoto(ierr, cleanup,
                MergeEntries(MergeArrays<Index>{from, to, work.before, work.entries, num, (const int32_t *)batch->keys, 2, batch->values, (int32_t)(((uint32_t)1 << batch->column_bits) - 1)}, stream));
cleanup:
  PetscCall(FreeWork(&work, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MergeDispatch(DCSRView from, DCSRView to, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(PetscMax(from.num_nonzeros, batch->num_entries), &wide));
  if (to.wide && wide) PetscCall((Merge<int64_t, int64_t>(from, to, batch, lookup, mode, stream)));
  else if (to.wide) PetscCall((Merge<int32_t, int64_t>(from, to, batch, lookup, mode, stream)));
  else if (wide) PetscCall((Merge<int64_t, int32_t>(from, to, batch, lookup, mode, stream)));
  else PetscCall((Merge<int32_t, int32_t>(from, to, batch, lookup, mode, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRMergeListed - compact storage and further entries become other compact storage. Asynchronous
  from and to have 32-bit offsets, and to has its row offsets; values of to NULL: the structure alone. Entry q of the num new ones, in the order of rows and columns, is entries[q] of columns and
  values, and belongs before entry before[q] of from; all on the device. Cost: one read and one write of the matrix.
*/
PetscErrorCode DCSRMergeListed(DCSRView from, DCSRView to, PetscCount num, const int32_t entries[], const int32_t before[], const int32_t columns[], const PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(MergeEntries(MergeArrays<int32_t>{from, to, before, entries, num, columns, 1, values, -1}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupRankNew - counts the new entries in chunks of the batch; does nothing when that was done; asynchronous */
PetscErrorCode DCSRLookupRankNew(DCSRLookup *lookup, cudaStream_t stream)
{
  constexpr int    WARPS      = THREADS / 32;
  const PetscCount num_chunks = (lookup->num_entries + DCSR_RANK_CHUNK - 1) / DCSR_RANK_CHUNK, num_words = (lookup->num_entries + 31) / 32;

  PetscFunctionBegin;
  if (lookup->ranks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(num_chunks, "new entries in chunks of a batch", stream, &lookup->ranks));
  RankKernel<<<(unsigned int)((num_chunks + WARPS - 1) / WARPS), THREADS, 0, stream>>>(lookup->is_new, num_words, num_chunks, lookup->ranks, lookup->device);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRMergeBatch - new compact storage with the new entries of a batch between the old ones; ADD_VALUES, otherwise values of entries that were there are replaced. Asynchronous
  view is compact storage, whose arrays the caller owns; may be empty with NULL columns and values. It is the new storage afterwards, and as it was after an error. lookup is of the batch in the view,
  with its ranks, and its numbers on the host.
  spare: entries that the pool should have beyond those in use; none when the device is short of memory. Cost: one read and one write of the matrix.
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
