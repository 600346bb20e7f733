/*
  Looks up the entries of a batch that is large against a compact matrix: a thread block takes a tile of the sorted batch, and the entries of the matrix between its
  first and its last one, which it reads once, into shared memory. A search for each entry in device memory would read most of them several times.
*/
#include "../common/search.cuh"
#include "lookup.cuh"

namespace
{

constexpr int THREADS   = 256;
constexpr int ROOM      = 6144; // columns in shared memory, so that 8 thread blocks share a multiprocessor
constexpr int LOADS     = 8;    // that a thread has under way for them
constexpr int MAX_ITEMS = 8;    // entries of the batch that a thread looks up; more make the two searches of a tile no cheaper
constexpr int ENOUGH    = 1024; // thread blocks that fill a device: tiles are not larger before there are as many

template <typename Offset>
struct TileLookup {
  DCSRView             view;
  const uint64_t      *keys;
  const unsigned char *counts;
  int                  column_bits;
  PetscCount           n;
  int                  tile; // entries of the batch that a thread block takes
  PetscCount          *where;
  uint32_t            *is_new;
  DCSRLookupNumbers   *numbers;

  __device__ int32_t  Column(uint64_t key) const { return (int32_t)(key & (((uint64_t)1 << column_bits) - 1)); }
  __device__ PetscInt Row(uint64_t key) const { return (PetscInt)(key >> column_bits); }

  /* Where entry t of the batch belongs; all lanes of a warp call it. */
  __device__ PetscCount Border(PetscCount t) const
  {
    const uint64_t key     = keys[t];
    const Offset  *offsets = (const Offset *)view.row_offsets + Row(key);
    const int32_t  column  = Column(key);

    return PartitionPointByWarp((PetscCount)offsets[0], (PetscCount)offsets[1], [columns = view.columns, column](PetscCount k) { return columns[k] < column; });
  }

  /* The position of a key between those of two keys around it, or ~position before which it belongs. window has the columns from first to last where num > 0. */
  __device__ PetscCount Find(uint64_t key, PetscCount first, PetscCount last, const int32_t *window, int num) const
  {
    const Offset    *offsets = (const Offset *)view.row_offsets + Row(key);
    const PetscCount row_end = offsets[1], begin = offsets[0] > first ? offsets[0] : first, end = row_end < last ? row_end : last;
    const int32_t    column = Column(key);
    const PetscCount k      = num > 0 ? first + LowerBound(window, (int)(begin - first), (int)(end - first), column) : LowerBound(view.columns, begin, end, column);

    return k < row_end && (num > 0 ? window[k - first] : view.columns[k]) == column ? k : ~k;
  }
};

/* Columns into shared memory. */
__device__ __forceinline__ void LoadWindow(const int32_t *columns, int num, int32_t *window)
{
  for (int begin = threadIdx.x; begin < num; begin += LOADS * THREADS) {
    int32_t loaded[LOADS];

#pragma unroll
    for (int j = 0; j < LOADS; j++) loaded[j] = columns[min(begin + j * THREADS, num - 1)];
#pragma unroll
    for (int j = 0; j < LOADS; j++)
      if (begin + j * THREADS < num) window[begin + j * THREADS] = loaded[j];
  }
}

/* What a thread block knows of its tile. */
struct TileNumbers {
  PetscCount border[2]; // where its first and its last entry belong
  unsigned   num_new, first_new;
};

template <typename Offset>
__global__ void __launch_bounds__(THREADS) LookupTilesKernel(TileLookup<Offset> l)
{
  __shared__ int32_t     window[ROOM];
  __shared__ TileNumbers tile;
  const PetscCount       begin = (PetscCount)blockIdx.x * l.tile;
  const int              size  = l.n - begin < l.tile ? (int)(l.n - begin) : l.tile;

  if (threadIdx.x == 0) {
    tile.num_new   = 0;
    tile.first_new = l.tile;
  }
  if (threadIdx.x < 64) {
    const PetscCount border = l.Border(threadIdx.x < 32 ? begin : begin + size - 1);

    if (threadIdx.x % 32 == 0) tile.border[threadIdx.x / 32] = border;
  }
  __syncthreads();
  const PetscCount first = tile.border[0], last = tile.border[1], span = (last < l.view.num_nonzeros ? last + 1 : last) - first;
  const int        num = span <= ROOM ? (int)span : 0;

  LoadWindow(l.view.columns + first, num, window);
  __syncthreads();
  for (int i = threadIdx.x; i < l.tile; i += THREADS) { // the tile is a multiple of THREADS: warps stay together
    const PetscCount t      = begin + i;
    bool             is_new = false;

    if (i < size) {
      const PetscCount k = l.Find(l.keys[t], first, last, window, num);

      is_new     = k < 0 && (!l.counts || l.counts[t]);
      l.where[t] = k < 0 && !is_new ? DCSR_NOWHERE : k;
    }
    const unsigned ballot = __ballot_sync(0xffffffffu, is_new);

    if (threadIdx.x % 32 == 0 && i < size) l.is_new[t / 32] = ballot;
    if (ballot && threadIdx.x % 32 == 0) {
      atomicAdd(&tile.num_new, (unsigned)__popc(ballot));
      atomicMin(&tile.first_new, (unsigned)(i + __ffs(ballot) - 1));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && tile.num_new) NoteNew(l.numbers, tile.num_new, l.n - (begin + tile.first_new));
}

template <typename Offset>
PetscErrorCode LookupTiles(DCSRView view, const DCSRBatch *batch, int items, DCSRLookup *lookup, cudaStream_t stream)
{
  const PetscCount n = batch->num_entries, tile = items * THREADS;

  PetscFunctionBegin;
  LookupTilesKernel<<<(unsigned int)((n + tile - 1) / tile), THREADS, 0, stream>>>(
    TileLookup<Offset>{view, batch->keys, batch->counts, batch->column_bits, n, (int)tile, lookup->where, lookup->is_new, lookup->device});
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRLookupTiles - looks up a batch (sorted distinct entries, at least one) in compact storage by tiles, when it is large enough. Asynchronous
  The arrays of lookup are there, its numbers are zero. done = PETSC_FALSE: a tile of the smallest size would meet more entries of the matrix than a thread block has room for, a quarter left for those
  that differ.
*/
PetscErrorCode DCSRLookupTiles(DCSRView view, const DCSRBatch *batch, DCSRLookup *lookup, cudaStream_t stream, PetscBool *done)
{
  const double     per_entry = (double)view.num_nonzeros / (double)batch->num_entries, most = 0.75 * ROOM / THREADS; // entries of the matrix for each of a thread's
  const PetscCount filling = batch->num_entries / (ENOUGH * THREADS);
  int              items   = filling < 1 ? 1 : filling > MAX_ITEMS ? MAX_ITEMS : (int)filling;

  PetscFunctionBegin;
  *done = (PetscBool)(per_entry <= most);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  while (items > 1 && items * per_entry > most) items--;
  if (view.wide) PetscCall(LookupTiles<int64_t>(view, batch, items, lookup, stream));
  else PetscCall(LookupTiles<int32_t>(view, batch, items, lookup, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
