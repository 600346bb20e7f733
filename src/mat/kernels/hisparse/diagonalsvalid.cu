/*
  The invariants of masked diagonals, for tests and debugging. Checks go from what can be read safely to what needs it: a later one runs only when the earlier ones passed.
*/
#include "diagonalsfind.cuh"
#include "valid.cuh"
#include "../common/temporary.cuh"
#include <petscsparsecuda/convert.h>
#include <cub/device/device_radix_sort.cuh>

namespace
{

typedef enum {
  BAD_SLICE,
  BAD_EMPTY,
  BAD_ORDER,
  BAD_PLACE,
  BAD_BIT,
  BAD_VALUES,
  BAD_PIECES_OVERLAP,
  BAD_VALUES_OVERLAP,
  BAD_OUTSIDE_ROW,
  BAD_TWICE,
  BAD_OUTSIDE_SLICE,
  BAD_TRANSPOSED_SLICE,
  BAD_TRANSPOSED_ORDER,
  BAD_TRANSPOSED_BIT,
  BAD_TRANSPOSED_PLACE,
  BAD_TRANSPOSED_PART,
  BAD_TRANSPOSED_ROW,
  BAD_PERMUTATION
} Violation;

const char *const VIOLATIONS[] = {"pieces outside of the array of pieces, slice",
                                  "a piece without entries, slice",
                                  "pieces that do not ascend, slice",
                                  "values of a piece that do not follow those of the piece before it, slice",
                                  "a bit outside of the matrix, slice",
                                  "values outside of the array of values, slice",
                                  "pieces that belong to another slice too, slice",
                                  "values that belong to another slice too, slice",
                                  "rows outside of diagonals that do not ascend, are not in the matrix, or have no entries, the number among them is",
                                  "an entry that is in a diagonal and outside of diagonals, the number of its row among those is",
                                  "rows outside of diagonals that are not those of the slice, slice",
                                  "pieces of the transpose outside of their array, slice of columns",
                                  "pieces of the transpose that do not ascend or have no entries, slice of columns",
                                  "a bit of the transpose outside of the matrix, column",
                                  "an entry of the transpose whose value is not that of the matrix, column",
                                  "parts of a slice of the transpose that are not its pieces, slice of columns",
                                  "rows of the transpose outside of diagonals that do not ascend, are not in it, or have no entries, the number among them is",
                                  "an entry outside of diagonals that the transpose does not have, its number there is"};

struct Totals {
  unsigned long long pieces, values, transposed;
};

/* What the checks read, and what they leave for later ones. */
struct Check {
  const HiSparseSlice *slices;
  const HiSparsePiece *pieces;
  PetscInt             num_rows, num_columns;
  PetscCount           num_pieces, num_values; // places of the two arrays
  FirstViolation       found;
  int64_t             *ends;   // [num_slices] behind the last value of a slice
  Totals              *totals; // [1]
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
    if (s.values < 0 || (PetscCount)s.first_piece + (PetscCount)s.num_pieces > a.num_pieces) {
      a.found.Set(slice, BAD_SLICE);
      return;
    }
    for (uint32_t p = 0; p < s.num_pieces; p++) {
      const HiSparsePiece piece   = a.pieces[s.first_piece + p];
      const unsigned int  entries = BitsBefore(piece.mask, HISPARSE_SLICE_WORDS);

      if (entries == 0) a.found.Set(slice, BAD_EMPTY);
      if (p > 0 && piece.c0 <= last) a.found.Set(slice, BAD_ORDER);
      if ((uint64_t)piece.values != values) a.found.Set(slice, BAD_PLACE);
      if (HasBitsOutside(piece.mask, -(int64_t)piece.c0, min((int64_t)a.num_rows - first_row, (int64_t)a.num_columns - piece.c0))) a.found.Set(slice, BAD_BIT);
      values += entries;
      last = piece.c0;
    }
    a.ends[slice] = s.values + (int64_t)values;
    if (a.ends[slice] > (int64_t)a.num_values) a.found.Set(slice, BAD_VALUES);
    atomicAdd(&a.totals->pieces, (unsigned long long)s.num_pieces);
    atomicAdd(&a.totals->values, (unsigned long long)values);
  }
};

/* Where the pieces, or values, of slices begin; slices without any come last. */
struct WriteBegins {
  Check    a;
  bool     values;
  int64_t *begins;
  int64_t *numbers;

  __device__ void operator()(PetscInt slice) const
  {
    const HiSparseSlice s = a.slices[slice];

    begins[slice]  = s.num_pieces == 0 ? INT64_MAX : values ? s.values : (int64_t)s.first_piece;
    numbers[slice] = slice;
  }
};

/* Slices in the order of their begins: each ends before the next one begins. */
struct CheckOverlap {
  Check          a;
  bool           values;
  const int64_t *begins, *numbers;

  __device__ void operator()(PetscInt k) const
  {
    const PetscInt      slice = (PetscInt)numbers[k];
    const HiSparseSlice s     = a.slices[slice];
    const int64_t       end   = values ? a.ends[slice] : (int64_t)s.first_piece + (int64_t)s.num_pieces;

    if (s.num_pieces > 0 && end > begins[k + 1]) a.found.Set(slice, values ? BAD_VALUES_OVERLAP : BAD_PIECES_OVERLAP);
  }
};

/* A thread a row of the overflow, or of its transpose, whose pieces are not looked at. */
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
      if (FindInPieces(a.slices, a.pieces, row, outside.columns[e]) >= 0) a.found.Set(k, BAD_TWICE);
  }
};

struct CheckOutsideSlice {
  Check          a;
  OutsideEntries outside;
  const int32_t *overflow_slices;

  __device__ void operator()(PetscInt slice) const
  {
    if (overflow_slices[slice] != LowerBound(outside.rows, (int32_t)0, outside.num_rows, (int32_t)min((PetscCount)slice * HISPARSE_SLICE_ROWS, (PetscCount)INT32_MAX))) a.found.Set(slice, BAD_OUTSIDE_SLICE);
  }
};

/* The lists of A^T x. */
struct CheckTransposedSlice {
  Check                          a;
  const uint32_t                *slices;
  const HiSparseTransposedPiece *pieces;
  PetscInt                       num_slices;
  PetscCount                     num_pieces;

  __device__ void operator()(PetscInt slice) const
  {
    const uint32_t     begin  = slices[slice], end = slices[slice + 1];
    unsigned long long values = 0;

    if (begin > end || (PetscCount)end > num_pieces || (slice == 0 && begin != 0) || (slice == num_slices - 1 && (PetscCount)end != num_pieces)) {
      a.found.Set(slice, BAD_TRANSPOSED_SLICE);
      return;
    }
    for (uint32_t p = begin; p < end; p++) {
      const unsigned int entries = BitsBefore(pieces[p].mask, HISPARSE_SLICE_WORDS);

      if (entries == 0 || (p > begin && pieces[p].r0 <= pieces[p - 1].r0)) a.found.Set(slice, BAD_TRANSPOSED_ORDER);
      values += entries;
    }
    atomicAdd(&a.totals->transposed, values);
  }
};

/* Each entry of the lists has the place that the pieces of rows give it. */
struct CheckTransposedPlace {
  struct Result {};
  Check a;

  __device__ Result Begin() const { return Result(); }
  __device__ void   Visit(PetscInt row, PetscInt column, PetscCount place, Result &) const
  {
    if (row < 0 || row >= a.num_rows || column >= a.num_columns) a.found.Set(column, BAD_TRANSPOSED_BIT);
    else if (FindInPieces(a.slices, a.pieces, row, (int32_t)column) != place) a.found.Set(column, BAD_TRANSPOSED_PLACE);
  }
  __device__ void Store(PetscInt, const Result &) const {}
};

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

/* What the host knows without looking at the device. */
const char *CheckNumbers(const HiSparseDiagonals *d)
{
  const PetscCount outside = d->num_nonzeros - d->num_piece_values;

  if (d->num_rows < 0 || d->num_columns < 0 || d->num_pieces < 0 || d->num_piece_values < 0 || outside < 0) return "a size is negative, number";
  if ((PetscCount)d->num_slices != ((PetscCount)d->num_rows + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS) return "the number of slices is not that of the rows, number";
  if ((PetscCount)d->num_column_slices != ((PetscCount)d->num_columns + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS) return "the number of slices of columns is not that of the columns, number";
  if (d->overflow_begin < d->num_piece_values || d->overflow_begin % 4 != 0 || d->num_values != d->overflow_begin + outside) return "the values of the pieces and those outside of diagonals do not fit the array of values, number";
  if (d->overflow.view.num_nonzeros != outside || (outside > 0) != (d->overflow_slices != NULL) || (outside > 0) != (d->overflow.view.num_rows > 0)) return "the entries outside of diagonals are not as many as the matrix has, number";
  if (d->slices == NULL || (d->num_pieces > 0 && d->pieces == NULL)) return "slices or pieces are missing, number";
  return NULL;
}
