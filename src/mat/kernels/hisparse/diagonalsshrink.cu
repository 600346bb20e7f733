/*
  Entries leave masked diagonals: only the slices that lose some are made again.

  A slice that loses entries clears their bits, and packs its values and pieces where they are; pieces without entries go. What a slice gives up stays unused behind it, its values 0, until that is more than a quarter of the
  pieces or values: then all slices move to new arrays, without gaps and with room for as many as an eighth of them. Entries outside of pieces are a CSR matrix, which is made again when it loses some.
*/
#include "../delete/compact.cuh"
#include "../common/foreach.cuh"
#include "diagonalsfind.cuh"
#include "diagonalsslices.cuh"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;
static_assert(THREADS == HISPARSE_SLICE_ROWS && WARPS == HISPARSE_SLICE_WORDS, "A thread block takes a slice, a thread a row, a warp a word of the masks");

/* Places that slices have given up, as a part of all: with more, slices move. */
constexpr PetscCount MAX_WASTE_PART = 4;
/* Entries outside of pieces, as a part of all: with more, the structure is made again, as it would not be made of such a matrix. */
constexpr PetscCount MAX_OUTSIDE_PART = 2;

/* Entries that stay: all but those of flagged rows, or of value zero. Touches(): whether a row may lose some. */
struct KeepOtherRows {
  const unsigned char *flags; // [num_rows]
  bool                 keep_diagonal;

  __device__ bool Touches(PetscInt row) const { return flags[row] != 0; }
  __device__ bool operator()(PetscInt row, PetscInt column, PetscScalar) const { return flags[row] == 0 || (keep_diagonal && row == column); }
};

struct KeepNonzeros {
  bool keep_diagonal;

  __device__ bool Touches(PetscInt) const { return true; }
  // a value that is not a number is not zero
  __device__ bool operator()(PetscInt row, PetscInt column, PetscScalar value) const { return !(value == PetscScalar(0)) || (keep_diagonal && row == column); }
};

/* The same for the entries outside of pieces. */
template <typename Keep>
struct KeepOutside {
  Keep           keep;
  const int32_t *rows;

  __device__ bool operator()(const DCSRView &view, RowEntry e) const { return keep((PetscInt)rows[e.row], (PetscInt)view.columns[e.position], view.values[e.position]); }
};

/* What pieces lose together. */
struct Totals {
  unsigned long long pieces, values;
  long long          thin; // thin pieces there will be more
};

/* What the kernels read. */
struct ShrinkArguments {
  const HiSparseSlice *slices;
  const HiSparsePiece *pieces;
  PetscInt             num_rows, num_slices;
  PetscCount          *piece_places, *value_places; // [num_slices + 1] that each slice will have; afterwards of those before it
  unsigned char       *touched;                     // [num_slices] whether a slice loses entries
  int32_t             *sizes;                       // [num_rows] entries that each row will have in pieces
  Totals              *totals;                      // [1]
};

/* A thread block a slice: what it will have. */
template <typename Stored, typename Keep>
__global__ void __launch_bounds__(THREADS) CountKernel(const ShrinkArguments a, const Stored *values, Keep keep)
{
  const PetscInt      slice      = (PetscInt)blockIdx.x;
  const int           bit        = (int)threadIdx.x;
  const PetscCount    row        = (PetscCount)slice * HISPARSE_SLICE_ROWS + bit;
  const HiSparseSlice s          = a.slices[slice];
  const PetscCount    min        = MinPiece(a.num_rows, slice);
  const bool          touches    = __syncthreads_or(row < a.num_rows && keep.Touches((PetscInt)row));
  PetscCount          num_pieces = 0, num_values = 0, old_values = 0;
  long long           thin = 0;
  int32_t             size = 0;

  for (uint32_t p = 0; p < s.num_pieces; p++) { // the same for all threads
    const HiSparsePiece piece = a.pieces[s.first_piece + p];
    const PetscCount    old   = BitsBefore(piece.mask, HISPARSE_SLICE_WORDS);
    bool                stays = PieceHas(piece.mask, bit);
    PetscCount          n     = old;

    if (touches) {
      stays = stays && keep((PetscInt)row, (PetscInt)(piece.c0 + bit), FromStored(values[s.values + piece.values + PieceRank(piece.mask, bit)]));
      n     = __syncthreads_count(stays);
    }
    size += stays;
    num_pieces += n > 0;
    num_values += n;
    old_values += old;
    thin += (long long)(n > 0 && n < min) - (long long)(old < min);
  }
  if (row < a.num_rows) a.sizes[row] = size;
  if (bit > 0) return;
  a.piece_places[slice] = num_pieces;
  a.value_places[slice] = num_values;
  a.touched[slice]      = num_values < old_values;
  if (slice == a.num_slices - 1) a.piece_places[a.num_slices] = a.value_places[a.num_slices] = 0;
  if (num_values == old_values) return;
  atomicAdd(&a.totals->pieces, (unsigned long long)s.num_pieces - (unsigned long long)num_pieces);
  atomicAdd(&a.totals->values, (unsigned long long)(old_values - num_values));
  atomicAdd((unsigned long long *)&a.totals->thin, (unsigned long long)thin);
}

/*
  A thread block a slice: what stays goes to its place, which is the old one (in_place, for slices that lose something) or one in other arrays. In place, a value moves down, so that it is written behind what
  is still to be read only when all have read the piece.
*/
template <typename Stored, typename Keep>
__global__ void __launch_bounds__(THREADS) ShrinkKernel(const ShrinkArguments a, const Stored *values, bool in_place, HiSparseSlice *to_slices, HiSparsePiece *to_pieces, Stored *to_values, Keep keep)
{
  __shared__ uint32_t shared[HISPARSE_SLICE_WORDS];
  const PetscInt      slice   = (PetscInt)blockIdx.x;
  const int           bit     = (int)threadIdx.x;
  const PetscInt      row     = slice * HISPARSE_SLICE_ROWS + bit;
  const HiSparseSlice s       = a.slices[slice];
  const bool          touched = a.touched[slice] != 0;
  HiSparseSlice       to      = s;
  uint32_t            n = 0, kept = 0, old = 0;

  if (in_place && !touched) return;
  if (!in_place) {
    to.values      = (int64_t)a.value_places[slice];
    to.first_piece = (uint32_t)a.piece_places[slice];
  }
  for (uint32_t p = 0; p < s.num_pieces; p++) { // the same for all threads
    const HiSparsePiece piece = a.pieces[s.first_piece + p];
    HiSparsePiece       whole;
    bool                stays = PieceHas(piece.mask, bit);
    Stored              value = ToStored<Stored>(PetscScalar(0));
    unsigned int        num;

    if (stays) value = values[s.values + piece.values + PieceRank(piece.mask, bit)];
    if (touched) stays = stays && keep(row, (PetscInt)(piece.c0 + bit), FromStored(value));
    const uint32_t word = __ballot_sync(HISPARSE_FULL_MASK, stays);

    if (bit % HISPARSE_WARP == 0) shared[bit / HISPARSE_WARP] = word;
    __syncthreads(); // and all have read the piece and its values
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) whole.mask[w] = shared[w];
    whole.c0     = piece.c0;
    whole.values = kept;
    num          = BitsBefore(whole.mask, HISPARSE_SLICE_WORDS);
    if (stays) to_values[to.values + kept + PieceRank(whole.mask, bit)] = value;
    if (bit == 0 && num > 0) to_pieces[to.first_piece + n] = whole;
    n += num > 0;
    kept += num;
    old += BitsBefore(piece.mask, HISPARSE_SLICE_WORDS);
    __syncthreads(); // shared is written again
  }
  if (in_place)
    for (uint32_t i = kept + (uint32_t)bit; i < old; i += THREADS) to_values[to.values + i] = ToStored<Stored>(PetscScalar(0));
  to.num_pieces = n;
  if (bit == 0) to_slices[slice] = to;
}

/* What the rows of the overflow add to the sizes; those of the new overflow have the numbers of the old one still. */
struct AddSizes {
  Offsets        offsets;
  const int32_t *rows;
  int32_t       *sizes;

  __device__ void operator()(PetscInt k) const { sizes[rows[k]] += (int32_t)(offsets((PetscCount)k + 1) - offsets(k)); }
};

/* Numbers of rows of the old overflow become rows of the matrix. */
struct MapRow {
  const int32_t *old_rows;
  int32_t       *rows;

  __device__ void operator()(PetscInt k) const { rows[k] = old_rows[rows[k]]; }
};

/* Arrays that exist while entries leave; what is not used is NULL. */
struct Work {
  unsigned char *flags;        // [num_rows] of listed rows
  PetscCount    *piece_places; // [num_slices + 1]
  PetscCount    *value_places; // [num_slices + 1]
  unsigned char *touched;      // [num_slices]
  int32_t       *sizes;        // [num_rows]
  Totals        *totals;       // [1]
  /* New arrays, until they have become those of the matrix, and the old ones afterwards */
  HiSparseSlice   *slices;
  HiSparsePiece   *pieces;
  void            *values;
  DCSRView         outside; // with values; columns go to the overflow
  HiSparseOverflow overflow;
  int32_t         *overflow_slices;
  PetscScalar     *transposed_values; // of the old overflow
};

PetscErrorCode WorkDestroy(Work *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&work->flags, stream));
  PetscCall(PetscSparseCUDAFree(&work->piece_places, stream));
  PetscCall(PetscSparseCUDAFree(&work->value_places, stream));
  PetscCall(PetscSparseCUDAFree(&work->touched, stream));
  PetscCall(PetscSparseCUDAFree(&work->sizes, stream));
  PetscCall(PetscSparseCUDAFree(&work->totals, stream));
  PetscCall(PetscSparseCUDAFree(&work->slices, stream));
  PetscCall(PetscSparseCUDAFree(&work->pieces, stream));
  PetscCall(PetscSparseCUDAFree(&work->values, stream));
  PetscCall(DCSRViewFree(&work->outside, stream));
  PetscCall(HiSparseOverflowDestroy(&work->overflow, stream));
  PetscCall(PetscSparseCUDAFree(&work->overflow_slices, stream));
  PetscCall(PetscSparseCUDAFree(&work->transposed_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode WorkCreate(const HiSparseDiagonals *d, cudaStream_t stream, Work *work, ShrinkArguments *a)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(d->num_slices + 1, "places of pieces", stream, &work->piece_places));
  PetscCall(PetscSparseCUDAMalloc(d->num_slices + 1, "places of values", stream, &work->value_places));
  PetscCall(PetscSparseCUDAMalloc(d->num_slices, "marks of slices", stream, &work->touched));
  PetscCall(PetscSparseCUDAMalloc(d->num_rows, "row sizes after a deletion", stream, &work->sizes));
  PetscCall(PetscSparseCUDAMalloc(1, "totals of a deletion", stream, &work->totals));
  PetscCallCUDA(cudaMemsetAsync(work->totals, 0, sizeof(*work->totals), stream));
  *a = {d->slices, d->pieces, d->num_rows, d->num_slices, work->piece_places, work->value_places, work->touched, work->sizes, work->totals};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stays of the overflow, in rows that are numbered as those of the old one; *changed PETSC_FALSE: all of it. */
template <typename Keep>
PetscErrorCode FilterOutside(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, Keep keep, Work *work, cudaStream_t stream, PetscBool *changed)
{
  const HiSparseOverflow *o        = &d->overflow;
  DCSRDeletion            deletion = {};

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  if (o->view.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRCompactIf(OverflowView(d, v), KeepOutside<Keep>{keep, o->rows}, stream, &work->outside, &deletion));
  *changed = deletion.changed;
  PetscCallCUDA(DCSRForEach(o->view.num_rows, AddSizes{Offsets(*changed ? work->outside : o->view), o->rows, work->sizes}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new overflow of these rows, if any entries are left. */
PetscErrorCode CreateOutside(const HiSparseDiagonals *d, Work *work, cudaStream_t stream)
{
  DCSRView view = work->outside;

  PetscFunctionBegin;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  view.values = NULL;
  PetscCall(HiSparseOverflowCreate(view, stream, &work->overflow));
  work->outside.columns = NULL; // the overflow's now
  PetscCallCUDA(DCSRForEach(work->overflow.view.num_rows, MapRow{d->overflow.rows, work->overflow.rows}, stream));
  PetscCall(HiSparseOverflowFindSlices(&work->overflow, d->num_slices, stream, &work->overflow_slices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new overflow becomes the matrix's, and *work gets the old one. */
void SwapOutside(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, Work *work)
{
  const HiSparseOverflow overflow        = d->overflow;
  int32_t *const         overflow_slices = d->overflow_slices;
  PetscScalar *const     values          = v->overflow_values;

  d->overflow             = work->overflow;
  d->overflow_slices      = work->overflow_slices;
  v->overflow_values      = work->outside.values;
  work->overflow          = overflow;
  work->overflow_slices   = overflow_slices;
  work->outside.values    = values;
  work->transposed_values = v->transposed_values; // as many as there were entries
  v->transposed_values    = NULL;
}

/* Exclusive prefix sums in place. */
PetscErrorCode PrefixSum(PetscCount *sums, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRExclusiveSum("prefix sums of slices", sums, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Capacities of new arrays, for so many pieces and values. */
struct Room {
  PetscCount num_pieces, num_values, pieces_capacity, values_capacity;
};

/* New arrays, when too much would be unused in the old ones. */
PetscErrorCode MakeRoom(const HiSparseDiagonals *d, Room *room, Work *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (d->used_pieces - room->num_pieces <= d->used_pieces / MAX_WASTE_PART && d->used_values - room->num_values <= d->used_values / MAX_WASTE_PART) PetscFunctionReturn(PETSC_SUCCESS);
  room->pieces_capacity = room->num_pieces + room->num_pieces / ROOM_PART;
  room->values_capacity = room->num_values + room->num_values / ROOM_PART;
  PetscCall(PetscSparseCUDAMalloc(room->pieces_capacity, "pieces of diagonals", stream, &work->pieces));
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)room->values_capacity * HiSparseDiagonalsValueBytes(d), "values of diagonals", stream, &work->values));
  PetscCall(PrefixSum(work->piece_places, d->num_slices + 1, stream));
  PetscCall(PrefixSum(work->value_places, d->num_slices + 1, stream));
  PetscCall(PetscSparseCUDAMalloc(d->num_slices, "slices of diagonals", stream, &work->slices)); // the last: slices move when it is there
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pieces that are left; all memory is there. */
template <typename Stored, typename Keep>
PetscErrorCode ShrinkPieces(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, const ShrinkArguments &a, Keep keep, const Room &room, Work *work, cudaStream_t stream)
{
  const Work    fresh = *work;
  const bool    moves = fresh.slices != NULL;
  Stored *const from = (Stored *)v->values, *const to = moves ? (Stored *)fresh.values : from;
  HiSparseSlice *slices = moves ? fresh.slices : d->slices;
  HiSparsePiece *pieces = moves ? fresh.pieces : d->pieces;

  PetscFunctionBegin;
  ShrinkKernel<Stored><<<(unsigned int)d->num_slices, THREADS, 0, stream>>>(a, from, !moves, slices, pieces, to, keep);
  PetscCallCUDA(cudaGetLastError());
  d->num_pieces       = room.num_pieces;
  d->num_piece_values = room.num_values;
  if (!moves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(to + room.num_values, 0, (size_t)(room.values_capacity - room.num_values) * sizeof(*to), stream));
  work->slices       = d->slices;
  work->pieces       = d->pieces;
  work->values       = v->values;
  d->slices          = slices;
  d->pieces          = pieces;
  v->values          = to;
  d->used_pieces     = room.num_pieces;
  d->used_values     = room.num_values;
  d->pieces_capacity = room.pieces_capacity;
  d->values_capacity = room.values_capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored, typename Keep>
PetscErrorCode CountPieces(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, const ShrinkArguments &a, Keep keep, cudaStream_t stream)
{
  PetscFunctionBegin;
  CountKernel<Stored><<<(unsigned int)d->num_slices, THREADS, 0, stream>>>(a, (const Stored *)v->values, keep);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What will be left: the host learns it. */
template <typename Keep>
PetscErrorCode Count(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, const ShrinkArguments &a, Keep keep, Work *work, cudaStream_t stream, PetscBool *outside_changed, Totals *totals, DCSRDeletion *deletion)
{
  DCSRSizeFacts facts;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, CountPieces, d, v, a, keep, stream));
  PetscCall(FilterOutside(d, v, keep, work, stream, outside_changed));
  PetscCallCUDA(cudaMemcpyAsync(totals, work->totals, sizeof(*totals), cudaMemcpyDeviceToHost, stream));
  PetscCall(DCSRReduceSizes(d->num_rows, work->sizes, stream, &facts)); // synchronizes
  *deletion = {(PetscBool)((PetscCount)facts.num_nonzeros < d->num_nonzeros), (PetscCount)facts.num_nonzeros, (PetscCount)facts.num_nonempty_rows, (PetscCount)facts.max_row_size};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the structure stays one that would be made of the matrix, and that products like. */
bool IsWorthIt(const HiSparseDiagonals *d, const Room &room, const Totals &totals, const DCSRDeletion &deletion)
{
  return room.num_values > 0 && deletion.num_nonzeros - room.num_values <= deletion.num_nonzeros / MAX_OUTSIDE_PART && d->num_thin_pieces + (PetscCount)totals.thin <= room.num_pieces / MAX_THIN_PART + MAX_THIN;
}

template <typename Keep>
PetscErrorCode Shrink(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, Keep keep, Work *work, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  ShrinkArguments a;
  Totals          totals;
  Room            room = {};
  PetscBool       outside_changed;

  PetscFunctionBegin;
  PetscCall(WorkCreate(d, stream, work, &a));
  PetscCall(Count(d, v, a, keep, work, stream, &outside_changed, &totals, deletion));
  if (!deletion->changed) PetscFunctionReturn(PETSC_SUCCESS);
  room.num_pieces = d->num_pieces - (PetscCount)totals.pieces;
  room.num_values = d->num_piece_values - (PetscCount)totals.values;
  *done           = (PetscBool)IsWorthIt(d, room, totals, *deletion);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (outside_changed) PetscCall(CreateOutside(d, work, stream));
  PetscCall(MakeRoom(d, &room, work, stream));
  // all memory is there: from here on nothing fails for want of it
  PetscCall(HISPARSE_WITH_STORED(v, ShrinkPieces, d, v, a, keep, room, work, stream));
  if (outside_changed) SwapOutside(d, v, work);
  d->num_nonzeros     = deletion->num_nonzeros;
  d->num_thin_pieces  = PetscMax(d->num_thin_pieces + (PetscCount)totals.thin, 0);
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with the flags of listed rows. */
PetscErrorCode ShrinkRows(HiSparseDiagonals *d, HiSparseDiagonalsValues *v, const HiSparseRemoval *removal, Work *work, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(d->num_rows, "flags of listed rows", stream, &work->flags));
  PetscCall(DCSRFlagIndices(removal->n, removal->rows, d->num_rows, work->flags, stream));
  PetscCall(Shrink(d, v, KeepOtherRows{work->flags, removal->keep_diagonal == PETSC_TRUE}, work, stream, deletion, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsShrink - entries leave the pattern

  Input Parameters:
+ structure - a HiSparseDiagonals that nobody else has
. values    - its HiSparseDiagonalsValues, which nobody else has either
. removal   - which ones
- stream    - synchronizes with it

  Output Parameters:
+ deletion - what was done
- done     - PETSC_FALSE: what would be left is no matrix for diagonals, or has too many pieces with few entries; nothing has changed

  Errors: PETSC_ERR_MEM; structure and values are as they were.

  Cost: a read of the pieces, and of the values or of a flag a row, and a read and a write of the slices that lose entries; when more than a quarter of the places would be unused, a read and a write of everything, and the
  memory of a second copy meanwhile. Workspace: 5 bytes a row.
*/
PetscErrorCode HiSparseDiagonalsShrink(void *structure, void *values, const HiSparseRemoval *removal, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  HiSparseDiagonals       *d    = (HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v    = (HiSparseDiagonalsValues *)values;
  Work                     work = {};
  PetscErrorCode           ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_TRUE;
  if (removal->zeros) PetscCallGoto(ierr, cleanup, Shrink(d, v, KeepNonzeros{removal->keep_diagonal == PETSC_TRUE}, &work, stream, deletion, done));
  else PetscCallGoto(ierr, cleanup, ShrinkRows(d, v, removal, &work, stream, deletion, done));
cleanup:
  PetscCall(WorkDestroy(&work, stream));
  PetscFunctionReturn(ierr);
}
