/*
  New entries join masked diagonals: only the slices that get some are made again.

  The new entries of a batch are sorted by slice and diagonal. A slice that gets some is merged with them, piece by piece in the order of the diagonals: a piece that is there gets further bits, a diagonal that is not there
  becomes a piece, whatever the number of its entries. The pieces and values of such a slice are written behind all others, and its handle changes. Its old places stay unused, their values 0, until the arrays have no room:
  then all slices move to new arrays, without gaps and with room for as many as an eighth of them.
*/
#include "diagonals.cuh"
#include "diagonalsfind.cuh"
#include "../common/temporary.cuh"
#include <cub/device/device_for.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;
static_assert(THREADS == HISPARSE_SLICE_ROWS, "A thread block takes a slice, a thread a row");

/* A piece with fewer entries than one in THIN_PART of the rows of a slice is thin. */
constexpr int THIN_PART = 8;
/* Thin pieces that insertion may leave: as one in MAX_THIN_PART of all pieces, and MAX_THIN. With more, the structure is made again. */
constexpr PetscCount MAX_THIN_PART = 8, MAX_THIN = 64;
/* Pieces of a slice, which one warp takes in products; with more, the structure is made again. */
constexpr unsigned int MAX_SLICE_PIECES = 1024;
/* New entries, as a part of all: with more, the structure is made again, since its rule may choose otherwise. */
constexpr PetscCount MAX_NEW_PART = 4;
/* Room that new arrays have, as a part of what is in them. */
constexpr PetscCount ROOM_PART = 8;

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
  PetscScalar       *values;
  const uint64_t    *keys;    // [num_new] slice and diagonal of the new entries, ascending; those of a diagonal by row
  const PetscCount  *entries; // [num_new] entry of the batch behind each key
  const PetscCount  *heads;   // [touched slices] first key of each
  const PetscCount  *num_touched;
  const uint64_t    *batch_keys;
  const PetscScalar *batch_values;
  PetscCount         num_new, *piece_places, *value_places; // [num_new + 1] of each touched slice; afterwards of those before it
  PetscInt           num_rows;
  int                column_bits, c0_bits;
  Totals            *totals;

  __device__ __forceinline__ PetscInt Slice(PetscCount k) const { return (PetscInt)(keys[k] >> c0_bits); }
  __device__ __forceinline__ int32_t  C0(PetscCount k) const { return (int32_t)(keys[k] & ((1ull << c0_bits) - 1)) - (HISPARSE_SLICE_ROWS - 1); }
  __device__ __forceinline__ int      Bit(PetscCount k) const { return (int)((batch_keys[entries[k]] >> column_bits) % HISPARSE_SLICE_ROWS); }
};

/* Key of a new entry: its slice and the number of its diagonal there, which is -127 at least. */
struct MakeKey {
  const PetscCount *list; // [num_new] new entries of the batch
  const uint64_t   *batch_keys;
  int               column_bits, c0_bits;
  uint64_t         *keys;
  PetscCount       *entries;

  __device__ void operator()(PetscCount q) const
  {
    const PetscCount t   = list[q];
    const uint64_t   row = batch_keys[t] >> column_bits, column = batch_keys[t] & ((1ull << column_bits) - 1);

    keys[q]    = (row / HISPARSE_SLICE_ROWS) << c0_bits | (column + (HISPARSE_SLICE_ROWS - 1) - row % HISPARSE_SLICE_ROWS);
    entries[q] = t;
  }
};

/* Whether a key is the first of its slice. */
struct IsHead {
  const uint64_t *keys;
  int             c0_bits;
  __device__ bool operator()(PetscCount k) const { return k == 0 || keys[k - 1] >> c0_bits != keys[k] >> c0_bits; }
};

/* Values of a slice. */
__device__ __forceinline__ PetscCount SliceValues(const HiSparseSlice &slice, const HiSparsePiece *pieces)
{
  if (slice.num_pieces == 0) return 0;
  const HiSparsePiece *last = pieces + slice.first_piece + (slice.num_pieces - 1);

  return (PetscCount)last->values + BitsBefore(last->mask, HISPARSE_SLICE_WORDS);
}

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
  const PetscInt      rows      = min((PetscInt)HISPARSE_SLICE_ROWS, a.num_rows - slice * HISPARSE_SLICE_ROWS);
  const PetscCount    min_piece = (rows + THIN_PART - 1) / THIN_PART;

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

/* A thread block a touched slice: the old pieces merged with the new entries, to places from these on. */
__global__ void __launch_bounds__(THREADS) MergeKernel(const GrowArguments a, PetscCount first_piece, PetscCount first_value)
{
  __shared__ uint32_t shared[HISPARSE_SLICE_WORDS];
  const int           bit    = (int)threadIdx.x;
  const PetscCount    number = (PetscCount)blockIdx.x, head = a.heads[number], end = number + 1 < (PetscCount)gridDim.x ? a.heads[number + 1] : a.num_new;
  const PetscInt      slice = a.Slice(head);
  const HiSparseSlice old   = a.slices[slice];
  const PetscScalar  *from  = a.values + old.values;
  PetscScalar        *to    = a.values + first_value + a.value_places[number];
  HiSparsePiece      *out   = a.pieces + first_piece + a.piece_places[number];
  PetscCount          k     = head;
  uint32_t            p = 0, n = 0, values = 0;

  while (p < old.num_pieces || k < end) { // the same for all threads
    const int32_t c0_old = p < old.num_pieces ? a.pieces[old.first_piece + p].c0 : INT32_MAX, c0_new = k < end ? a.C0(k) : INT32_MAX, c0 = min(c0_old, c0_new);
    HiSparsePiece piece = {{0, 0, 0, 0}, c0, 0}, whole;
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
    if (PieceHas(piece.mask, bit)) to[values + PieceRank(whole.mask, bit)] = from[piece.values + PieceRank(piece.mask, bit)];
    else if (PieceHas(fresh, bit)) to[values + PieceRank(whole.mask, bit)] = a.batch_values[a.entries[k + PieceRank(fresh, bit)]];
    if (bit == 0) out[n] = whole;
    values += BitsBefore(whole.mask, HISPARSE_SLICE_WORDS);
    k += BitsBefore(fresh, HISPARSE_SLICE_WORDS);
    p += c0_old == c0;
    n++;
  }
  __syncthreads(); // all have read the old values
  for (PetscCount i = bit; i < (PetscCount)values - (end - head); i += THREADS) a.values[old.values + i] = 0.0;
  if (bit == 0) a.slices[slice] = {(int64_t)(first_value + a.value_places[number]), (uint32_t)(first_piece + a.piece_places[number]), n};
}
