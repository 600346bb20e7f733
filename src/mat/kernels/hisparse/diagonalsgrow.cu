/*
  New entries join masked diagonals: only the slices that get some are made again.

  The new entries of a batch are sorted by slice and diagonal. A slice that gets some is merged with them, piece by piece in the order of the diagonals: a piece that is there gets further bits, a diagonal that is not there
  becomes a piece, whatever the number of its entries. The pieces and values of such a slice are written behind all others, and its handle changes. Its old places stay unused, their values 0, until the arrays have no room:
  then all slices move to new arrays, without gaps and with room for as many as an eighth of them.

  Diagonals of blocks grow by the same kernels: structure is that of the matrix of blocks, and a place is that of size * size values. A word of a piece has its values in planes, one for each entry of a block; with a size
  of 1 that is the order of single diagonals.
*/
#include "../common/foreach.cuh"
#include "diagonalsfind.cuh"
#include "diagonalsslices.cuh"
#include "../common/scan.h"
#include "../common/select.h"
#include "../common/sort.h"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;
static_assert(THREADS == HISPARSE_SLICE_ROWS, "A thread block takes a slice, a thread a row");

/* Pieces of a slice, which one warp takes in products; with more, the structure is made again. */
constexpr unsigned int MAX_SLICE_PIECES = 1024;

/* What the slices with new entries take and give up together. */
struct Totals {
  unsigned long long pieces, values;         // of these slices with the new entries,
  unsigned long long old_pieces, old_values; // and without
  unsigned long long thin;                   // of the new pieces
  unsigned int       max_pieces;             // most pieces of a slice
  PetscCount         num_slices;
};

/* What the kernels read. A touched slice is one that gets new entries. */
struct GrowArguments {
  HiSparseSlice     *slices;
  HiSparsePiece     *pieces;
  const uint64_t    *keys;    // [num_new] slice and diagonal of the new entries, ascending; those of a diagonal by row
  const PetscCount  *entries; // [num_new] entry of the batch behind each key
  const PetscCount  *heads;   // [touched slices] first key of each
  const PetscCount  *num_touched;
  const uint64_t    *batch_keys;
  const PetscScalar *batch_values;
  PetscCount         num_new, *piece_places, *value_places; // [num_new + 1] of each touched slice; afterwards of those before it
  PetscInt           num_rows;
  int                column_bits, c0_bits;
  int                square; // values of an entry: 1, or those of a block
  Totals            *totals;

  __device__ __forceinline__ PetscInt Slice(PetscCount k) const { return (PetscInt)(keys[k] >> c0_bits); }
  __device__ __forceinline__ int32_t  C0(PetscCount k) const { return (int32_t)(keys[k] & ((1ull << c0_bits) - 1)) - (HISPARSE_SLICE_ROWS - 1); }
  __device__ __forceinline__ int      Bit(PetscCount k) const { return (int)((batch_keys[entries[k]] >> column_bits) % HISPARSE_SLICE_ROWS); }
};

/* Key of a new entry: its slice and the number of its diagonal there, which is -127 at least. */
struct MakeKey {
  const PetscCount *list; // [num_new] new entries of the batch; NULL: all
  const uint64_t   *batch_keys;
  int               column_bits, c0_bits;
  uint64_t         *keys;
  PetscCount       *entries;

  __device__ void operator()(PetscCount q) const
  {
    const PetscCount t   = list ? list[q] : q;
    const uint64_t   row = batch_keys[t] >> column_bits, column = batch_keys[t] & ((1ull << column_bits) - 1);

    keys[q]    = (row / HISPARSE_SLICE_ROWS) << c0_bits | (column + (HISPARSE_SLICE_ROWS - 1) - row % HISPARSE_SLICE_ROWS);
    entries[q] = t;
  }
};

/* A warp a touched slice: how many pieces and values it will have. */
__global__ void __launch_bounds__(THREADS) CountKernel(const GrowArguments a)
{
  const int        lane        = (int)threadIdx.x % HISPARSE_WARP;
  const PetscCount number      = (PetscCount)blockIdx.x * WARPS + threadIdx.x / HISPARSE_WARP;
  const PetscCount num_touched = *a.num_touched;
  unsigned int     fresh = 0, thin = 0;

  if (number >= num_touched) return; // whole warps
  const PetscCount    head = a.heads[number], end = number + 1 < num_touched ? a.heads[number + 1] : a.num_new;
  const PetscInt      slice     = a.Slice(head);
  const HiSparseSlice s         = a.slices[slice];
  const PetscCount    min_piece = MinPiece(a.num_rows, slice);

  for (PetscCount k = head + lane; k < end; k += HISPARSE_WARP) {
    if (k > head && a.keys[k - 1] == a.keys[k]) continue; // not the first of its diagonal
    const HiSparsePiece *begin = a.pieces + s.first_piece;
    const int32_t        c0    = a.C0(k);
    const uint32_t       p     = PartitionPoint((uint32_t)0, s.num_pieces, [=](uint32_t i) { return begin[i].c0 < c0; });

    if (p < s.num_pieces && begin[p].c0 == c0) continue;
    fresh++;
    if (k + min_piece > end || a.keys[k + min_piece - 1] != a.keys[k]) thin++;
  }
  for (int d = HISPARSE_WARP / 2; d > 0; d /= 2) {
    fresh += __shfl_xor_sync(HISPARSE_FULL_MASK, fresh, d);
    thin += __shfl_xor_sync(HISPARSE_FULL_MASK, thin, d);
  }
  if (lane > 0) return;
  const PetscCount old_values = SliceValues(s, a.pieces);

  a.piece_places[number] = (PetscCount)s.num_pieces + fresh;
  a.value_places[number] = old_values + (end - head);
  atomicAdd(&a.totals->pieces, (unsigned long long)s.num_pieces + fresh);
  atomicAdd(&a.totals->values, (unsigned long long)(old_values + (end - head)));
  atomicAdd(&a.totals->old_pieces, (unsigned long long)s.num_pieces);
  atomicAdd(&a.totals->old_values, (unsigned long long)old_values);
  atomicAdd(&a.totals->thin, (unsigned long long)thin);
  atomicMax(&a.totals->max_pieces, s.num_pieces + fresh);
  if (number == 0) a.totals->num_slices = num_touched;
}

/* The values of an entry, or of a block: from a word of its piece to another one, or 0 where it is new. */
template <typename Stored, bool Blocks>
__device__ __forceinline__ void MergeEntry(const GrowArguments &a, int bit, const HiSparsePiece &piece, const Stored *from, const HiSparsePiece &whole, Stored *to)
{
  const int        w = bit / HISPARSE_WARP, lane = bit % HISPARSE_WARP, old_stride = __popc(piece.mask[w]), stride = __popc(whole.mask[w]), square = Blocks ? a.square : 1;
  const PetscCount old_place = ((PetscCount)piece.values + BitsBefore(piece.mask, w)) * square + __popc(piece.mask[w] & LowerLanes(lane));
  const PetscCount place     = ((PetscCount)whole.values + BitsBefore(whole.mask, w)) * square + __popc(whole.mask[w] & LowerLanes(lane));

  for (int e = 0; e < square; e++) to[place + e * stride] = PieceHas(piece.mask, bit) ? from[old_place + e * old_stride] : ToStored<Stored>(0);
}

/* A thread block a touched slice: the old pieces merged with the new entries, to places from these on. New blocks have no values yet. */
template <typename Stored, bool Blocks>
__global__ void __launch_bounds__(THREADS) MergeKernel(const GrowArguments a, Stored *all_values, PetscCount first_piece, PetscCount first_value)
{
  __shared__ uint32_t shared[HISPARSE_SLICE_WORDS];
  const int           bit    = (int)threadIdx.x;
  const PetscCount    number = (PetscCount)blockIdx.x, head = a.heads[number], end = number + 1 < (PetscCount)gridDim.x ? a.heads[number + 1] : a.num_new;
  const PetscInt      slice  = a.Slice(head);
  const HiSparseSlice old    = a.slices[slice];
  const int           square = Blocks ? a.square : 1;
  const Stored       *from   = all_values + old.values * square;
  Stored             *to     = all_values + (first_value + a.value_places[number]) * square;
  HiSparsePiece      *out    = a.pieces + first_piece + a.piece_places[number];
  PetscCount          k      = head;
  uint32_t            p = 0, n = 0, values = 0;

  while (p < old.num_pieces || k < end) { // the same for all threads
    const int32_t c0_old = p < old.num_pieces ? a.pieces[old.first_piece + p].c0 : INT32_MAX, c0_new = k < end ? a.C0(k) : INT32_MAX, c0 = min(c0_old, c0_new);
    HiSparsePiece piece                       = {{0, 0, 0, 0}, c0, 0}, whole;
    uint32_t      fresh[HISPARSE_SLICE_WORDS] = {};

    if (c0_old == c0) piece = a.pieces[old.first_piece + p];
    if (c0_new == c0) {
      __syncthreads();
      if (bit < HISPARSE_SLICE_WORDS) shared[bit] = 0;
      __syncthreads();
      if (k + bit < end && a.keys[k + bit] == a.keys[k]) atomicOr(&shared[a.Bit(k + bit) / HISPARSE_WARP], 1u << a.Bit(k + bit) % HISPARSE_WARP);
      __syncthreads();
      for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) fresh[w] = shared[w];
    }
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) whole.mask[w] = piece.mask[w] | fresh[w];
    whole.c0     = c0;
    whole.values = values;
    if (PieceHas(whole.mask, bit) && (Blocks || PieceHas(piece.mask, bit))) MergeEntry<Stored, Blocks>(a, bit, piece, from, whole, to);
    else if (PieceHas(fresh, bit)) to[values + PieceRank(whole.mask, bit)] = ToStored<Stored>(a.batch_values[a.entries[k + PieceRank(fresh, bit)]]);
    if (bit == 0) out[n] = whole;
    values += BitsBefore(whole.mask, HISPARSE_SLICE_WORDS);
    k += BitsBefore(fresh, HISPARSE_SLICE_WORDS);
    p += c0_old == c0;
    n++;
  }
  __syncthreads(); // all have read the old values
  for (PetscCount i = bit; i < ((PetscCount)values - (end - head)) * square; i += THREADS) all_values[old.values * square + i] = ToStored<Stored>(0);
  if (bit == 0) a.slices[slice] = {(int64_t)(first_value + a.value_places[number]), (uint32_t)(first_piece + a.piece_places[number]), n};
}

/* Pieces and values of all slices, and 0 at the end. */
struct CountSlice {
  const HiSparseSlice *slices;
  const HiSparsePiece *pieces;
  PetscInt             num_slices;
  PetscCount          *piece_places, *value_places; // [num_slices + 1]

  __device__ void operator()(PetscInt slice) const
  {
    piece_places[slice] = slice < num_slices ? (PetscCount)slices[slice].num_pieces : 0;
    value_places[slice] = slice < num_slices ? SliceValues(slices[slice], pieces) : 0;
  }
};

/* A thread block a slice: its pieces and values to other arrays, where these places are its own. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS) MoveKernel(int square, const HiSparseSlice *__restrict__ slices, const HiSparsePiece *__restrict__ pieces, const Stored *__restrict__ values, const PetscCount *piece_places, const PetscCount *value_places,
                                                      HiSparseSlice *__restrict__ new_slices, HiSparsePiece *__restrict__ new_pieces, Stored *__restrict__ new_values)
{
  constexpr unsigned int words = sizeof(HiSparsePiece) / sizeof(uint2);
  const PetscInt         slice = (PetscInt)blockIdx.x;
  const HiSparseSlice    s     = slices[slice];
  const PetscCount       n = SliceValues(s, pieces), first_piece = piece_places[slice], first_value = value_places[slice];
  const uint2           *from_pieces = (const uint2 *)(pieces + s.first_piece);
  uint2                 *to_pieces   = (uint2 *)(new_pieces + first_piece);
  const Stored          *from        = values + s.values * square;
  Stored                *to          = new_values + first_value * square;

  for (unsigned int k = threadIdx.x; k < s.num_pieces * words; k += THREADS) to_pieces[k] = from_pieces[k];
#pragma unroll 4
  for (PetscCount k = threadIdx.x; k < n * square; k += THREADS) to[k] = from[k];
  if (threadIdx.x == 0) new_slices[slice] = {(int64_t)first_value, (uint32_t)first_piece, s.num_pieces};
}

/* Exclusive prefix sums in place. */
PetscErrorCode PrefixSum(PetscCount *sums, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRExclusiveSum("prefix sums of slices", sums, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New arrays for all slices. */
struct Room {
  HiSparseSlice *slices;
  HiSparsePiece *pieces;
  void          *values;                      // as wide as those that are there
  PetscCount    *piece_places, *value_places; // [num_slices + 1] of the slices there
  PetscCount     pieces_capacity, values_capacity;
};

PetscErrorCode RoomDestroy(Room *room, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&room->slices, stream));
  PetscCall(PetscSparseCUDAFree(&room->pieces, stream));
  PetscCall(PetscSparseCUDAFree(&room->values, stream));
  PetscCall(PetscSparseCUDAFree(&room->piece_places, stream));
  PetscCall(PetscSparseCUDAFree(&room->value_places, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays, of the capacity that is set, and where slices will be in them; *room owns what was made, also after an error. */
PetscErrorCode RoomCreate(const HiSparseDiagonals *d, int square, cudaStream_t stream, Room *room)
{
  const PetscInt n = d->num_slices + 1;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(d->num_slices, "slices of diagonals", stream, &room->slices));
  PetscCall(PetscSparseCUDAMalloc(room->pieces_capacity, "pieces of diagonals", stream, &room->pieces));
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)room->values_capacity * (size_t)square * HiSparseDiagonalsValueBytes(d), "values of diagonals", stream, &room->values));
  PetscCall(PetscSparseCUDAMalloc(n, "places of pieces", stream, &room->piece_places));
  PetscCall(PetscSparseCUDAMalloc(n, "places of values", stream, &room->value_places));
  PetscCallCUDA(DCSRForEach(n, CountSlice{d->slices, d->pieces, d->num_slices, room->piece_places, room->value_places}, stream));
  PetscCall(PrefixSum(room->piece_places, n, stream));
  PetscCall(PrefixSum(room->value_places, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All slices move in; *room gets the old arrays. */
template <typename Stored>
PetscErrorCode RoomUse(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, int square, Room *room, cudaStream_t stream)
{
  const Room old    = *room;
  Stored    *values = (Stored *)room->values;

  PetscFunctionBegin;
  MoveKernel<<<(unsigned int)d->num_slices, THREADS, 0, stream>>>(square, d->slices, d->pieces, (const Stored *)v->values, room->piece_places, room->value_places, room->slices, room->pieces, values);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemsetAsync(values + d->num_piece_values * square, 0, (size_t)((room->values_capacity - d->num_piece_values) * square) * sizeof(*values), stream));
  room->slices       = d->slices;
  room->pieces       = d->pieces;
  room->values       = v->values;
  d->slices          = old.slices;
  d->pieces          = old.pieces;
  v->values          = old.values;
  d->used_pieces     = d->num_pieces;
  d->used_values     = d->num_piece_values;
  d->pieces_capacity = old.pieces_capacity;
  d->values_capacity = old.values_capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that exist while a batch joins. */
struct Work {
  uint64_t   *keys[2];      // [num_new]
  PetscCount *entries[2];   // [num_new]
  PetscCount *heads;        // [touched slices]
  PetscCount *num_touched;  // [1]
  PetscCount *piece_places; // [touched slices + 1]
  PetscCount *value_places; // the same
  Totals     *totals;       // [1]
};

PetscErrorCode WorkDestroy(Work *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAFree(&work->keys[i], stream));
    PetscCall(PetscSparseCUDAFree(&work->entries[i], stream));
  }
  PetscCall(PetscSparseCUDAFree(&work->heads, stream));
  PetscCall(PetscSparseCUDAFree(&work->num_touched, stream));
  PetscCall(PetscSparseCUDAFree(&work->piece_places, stream));
  PetscCall(PetscSparseCUDAFree(&work->value_places, stream));
  PetscCall(PetscSparseCUDAFree(&work->totals, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int BitsOf(PetscCount n)
{
  int bits = 1;

  while (n >> bits > 0) bits++;
  return bits;
}

/* The new entries by slice and diagonal. */
PetscErrorCode SortEntries(const HiSparseDiagonals *d, const PetscCount *list, Work *work, GrowArguments *a, cudaStream_t stream)
{
  const PetscCount n = a->num_new;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAMalloc(n, "keys of new entries", stream, &work->keys[i]));
    PetscCall(PetscSparseCUDAMalloc(n, "numbers of new entries", stream, &work->entries[i]));
  }
  PetscCallCUDA(DCSRForEach(n, MakeKey{list, a->batch_keys, a->column_bits, a->c0_bits, work->keys[0], work->entries[0]}, stream));
  PetscCall(DCSRSortBuffers64With64("sort of new entries", n, a->c0_bits + BitsOf(d->num_slices), work->keys, work->entries, stream));
  a->keys    = work->keys[0];
  a->entries = work->entries[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which slices get entries, and what they will have; the host learns how much that is. */
PetscErrorCode CountTouched(const HiSparseDiagonals *d, Work *work, GrowArguments *a, cudaStream_t stream, Totals *totals)
{
  const PetscCount most = PetscMin(a->num_new, (PetscCount)d->num_slices), bytes = (most + 1) * (PetscCount)sizeof(PetscCount);

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(most, "slices with new entries", stream, &work->heads));
  PetscCall(PetscSparseCUDAMalloc(1, "number of slices with new entries", stream, &work->num_touched));
  PetscCall(PetscSparseCUDAMalloc(most + 1, "places of pieces", stream, &work->piece_places));
  PetscCall(PetscSparseCUDAMalloc(most + 1, "places of values", stream, &work->value_places));
  PetscCall(PetscSparseCUDAMalloc(1, "totals of slices with new entries", stream, &work->totals));
  PetscCallCUDA(cudaMemsetAsync(work->piece_places, 0, (size_t)bytes, stream));
  PetscCallCUDA(cudaMemsetAsync(work->value_places, 0, (size_t)bytes, stream));
  PetscCallCUDA(cudaMemsetAsync(work->totals, 0, sizeof(*work->totals), stream));
  PetscCall(DCSRSelectStarts64("list of slices with new entries", a->num_new, a->keys, a->c0_bits, work->heads, work->num_touched, stream));
  a->heads        = work->heads;
  a->num_touched  = work->num_touched;
  a->piece_places = work->piece_places;
  a->value_places = work->value_places;
  a->totals       = work->totals;
  CountKernel<<<DCSRNumBlocks(most, WARPS), THREADS, 0, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PrefixSum(work->piece_places, most + 1, stream));
  PetscCall(PrefixSum(work->value_places, most + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(totals, work->totals, sizeof(*totals), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the structure stays one that products like. */
bool IsWorthIt(const HiSparseDiagonals *d, const Totals &totals)
{
  return totals.max_pieces <= MAX_SLICE_PIECES && d->num_thin_pieces + (PetscCount)totals.thin <= d->num_pieces / MAX_THIN_PART + MAX_THIN;
}

/* The merged slices take their places, which are there; the numbers follow. */
template <typename Stored>
PetscErrorCode Merge(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, GrowArguments *a, const Totals &totals, cudaStream_t stream)
{
  PetscFunctionBegin;
  a->slices = d->slices;
  a->pieces = d->pieces;
  if (a->square == 1) MergeKernel<Stored, false><<<(unsigned int)totals.num_slices, THREADS, 0, stream>>>(*a, (Stored *)v->values, d->used_pieces, d->used_values);
  else MergeKernel<Stored, true><<<(unsigned int)totals.num_slices, THREADS, 0, stream>>>(*a, (Stored *)v->values, d->used_pieces, d->used_values);
  PetscCallCUDA(cudaGetLastError());
  d->used_pieces += (PetscCount)totals.pieces;
  d->used_values += (PetscCount)totals.values;
  d->num_pieces += (PetscCount)(totals.pieces - totals.old_pieces);
  d->num_thin_pieces += (PetscCount)totals.thin;
  d->num_piece_values += a->num_new;
  d->num_nonzeros += a->num_new;
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arguments and places of new entries; *done as in HiSparseDiagonalsGrow(). found: what gets its value before entries move; NULL for nothing. */
PetscErrorCode Grow(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, const HiSparseNewEntries *fresh, const HiSparseFoundEntries *found, Work *work, Room *room, cudaStream_t stream, PetscBool *done)
{
  GrowArguments a = {};
  Totals        totals;

  PetscFunctionBegin;
  a.slices       = d->slices;
  a.pieces       = d->pieces;
  a.batch_keys   = fresh->keys;
  a.batch_values = fresh->values;
  a.num_new      = fresh->n;
  a.num_rows     = d->num_rows;
  a.column_bits  = fresh->column_bits;
  a.c0_bits      = BitsOf((PetscCount)d->num_columns + HISPARSE_SLICE_ROWS);
  a.square       = fresh->size * fresh->size;
  PetscCall(SortEntries(d, fresh->list, work, &a, stream));
  PetscCall(CountTouched(d, work, &a, stream, &totals));
  room->pieces_capacity = d->num_pieces + (PetscCount)totals.pieces + d->num_pieces / ROOM_PART;
  room->values_capacity = d->num_piece_values + (PetscCount)totals.values + d->num_piece_values / ROOM_PART;
  *done                 = (PetscBool)(IsWorthIt(d, totals) && 2 * room->pieces_capacity < (PetscCount)UINT32_MAX); // parts of pieces in the transpose are counted in 32 bits
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->used_pieces + (PetscCount)totals.pieces > d->pieces_capacity || d->used_values + (PetscCount)totals.values > d->values_capacity) PetscCall(RoomCreate(d, a.square, stream, room));
  // all memory is there: from here on nothing fails for want of it
  if (found != NULL) PetscCall(HiSparseDiagonalsSetFound(d, v, found->batch, found->lookup, found->mode, stream));
  if (room->slices != NULL) PetscCall(HISPARSE_WITH_STORED(v, RoomUse, d, v, a.square, room, stream));
  PetscCall(HISPARSE_WITH_STORED(v, Merge, d, v, &a, totals, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsGrowSlices - new entries, or new blocks, join diagonals, or diagonals of blocks

  Input Parameters:
+ d      - the structure, of blocks that of the collapsed matrix, which nobody else has
. v      - values, which nobody else has either
. fresh  - what is new
. found  - entries of single diagonals that get their values before; NULL for none, and for blocks
- stream - synchronizes with it once

  Output Parameter:
. done - as in HiSparseDiagonalsGrow(), which has errors and cost, too

  Note: the values of new blocks are 0.
*/
PetscErrorCode HiSparseDiagonalsGrowSlices(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, const HiSparseNewEntries *fresh, const HiSparseFoundEntries *found, cudaStream_t stream, PetscBool *done)
{
  Work           work = {};
  Room           room = {};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (fresh->n > d->num_nonzeros / HISPARSE_MAX_NEW_PART) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, Grow(d, v, fresh, found, &work, &room, stream, done));
cleanup:
  PetscCall(WorkDestroy(&work, stream));
  PetscCall(RoomDestroy(&room, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseDiagonalsGrow - adds or replaces the entries of a batch, of which some are new

  Input Parameters:
+ structure - a HiSparseDiagonals that nobody else has
. values    - its HiSparseDiagonalsValues, which nobody else has either
. batch     - sorted distinct entries
. lookup    - of HiSparseDiagonalsLookup(), with its numbers on the host; gets its list of new entries
. mode      - ADD_VALUES, otherwise the values replace
- stream    - synchronizes with it once

  Output Parameter:
. done - PETSC_FALSE: there are too many new entries, or too many of their diagonals have few; nothing has changed

  Errors: PETSC_ERR_MEM; structure and values are as they were.

  Cost: a sort of the new entries, and a read and a write of the slices that get some. When the arrays have no room, a read and a write of everything, and the memory of a second copy meanwhile; that is so for the first batch, and
  then whenever an eighth has been taken.
*/
PetscErrorCode HiSparseDiagonalsGrow(void *structure, void *values, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  const HiSparseFoundEntries found = {batch, lookup, mode};
  HiSparseNewEntries         fresh = {1, (PetscCount)lookup->numbers.num_new, NULL, batch->keys, batch->values, batch->column_bits};

  PetscFunctionBegin;
  PetscCall(DCSRLookupListNew(lookup, stream));
  fresh.list = lookup->entries;
  PetscCall(HiSparseDiagonalsGrowSlices((HiSparseDiagonals *)structure, (HiSparseDiagonalsValues *)values, &fresh, &found, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
