/*
  Values of listed rows and of flagged columns of masked diagonals become zero; the pattern stays.
*/
#include "../common/rowloop.cuh"
#include "diagonals.cuh"
#include "delete.cuh"
#include "diagonalsfind.cuh"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;

/* A warp a listed row, a lane a piece of its slice. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS) ZeroRowsKernel(PetscInt n, const PetscInt *list, const HiSparseSlice *slices, const HiSparsePiece *pieces, const OutsideEntries outside, Stored *values, PetscScalar *outside_values, PetscScalar diag)
{
  const int        lane = (int)threadIdx.x % HISPARSE_WARP;
  const PetscCount q    = (PetscCount)blockIdx.x * WARPS + threadIdx.x / HISPARSE_WARP;

  if (q >= n) return;
  const PetscInt      row = list[q];
  const int           bit = (int)(row % HISPARSE_SLICE_ROWS);
  const HiSparseSlice s   = slices[row / HISPARSE_SLICE_ROWS];
  const int32_t       k   = LowerBound(outside.rows, (int32_t)0, outside.num_rows, (int32_t)row);

  for (uint32_t p = (uint32_t)lane; p < s.num_pieces; p += HISPARSE_WARP) {
    const HiSparsePiece *piece = pieces + s.first_piece + p;

    if (PieceHas(piece->mask, bit)) values[s.values + piece->values + PieceRank(piece->mask, bit)] = ToStored<Stored>(piece->c0 + bit == row ? diag : PetscScalar(0));
  }
  if (k == outside.num_rows || outside.rows[k] != (int32_t)row) return;
  for (PetscCount e = outside.row_offsets(k) + lane; e < outside.row_offsets((PetscCount)k + 1); e += HISPARSE_WARP) outside_values[e] = outside.columns[e] == (int32_t)row ? diag : PetscScalar(0);
}

template <typename Stored>
struct ZeroInPieces {
  struct Result {
    PetscScalar sum;
  };
  Columns columns;
  Stored *values;

  __device__ Result Begin() const { return {PetscScalar(0)}; }
  __device__ void   Visit(PetscInt row, PetscInt column, PetscCount place, Result &r) const { r.sum += columns.Take(row, column, values + place); }
  __device__ void   Store(PetscInt row, const Result &r) const { columns.Subtract(row, r.sum); }
};

struct ZeroOutside {
  using Result = PetscScalar;
  Columns        columns;
  const int32_t *rows, *entry_columns;
  PetscScalar   *values;

  __device__ Result Identity() const { return Result(0); }
  // each entry is mapped once, so that it can be taken away here
  __device__ Result Map(RowEntry e) const { return columns.Take((PetscInt)rows[e.row], (PetscInt)entry_columns[e.position], values + e.position); }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt k, Result sum) const { columns.Subtract((PetscInt)rows[k], sum); }
};

template <typename Stored>
PetscErrorCode ZeroRows(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  ZeroRowsKernel<Stored><<<DCSRNumBlocks((PetscCount)n, WARPS), THREADS, 0, stream>>>(n, rows, d->slices, d->pieces, OutsideEntries(d->overflow), (Stored *)v->values, v->overflow_values, diag);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ZeroColumns(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, const Columns &columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitRows(d, ZeroInPieces<Stored>{columns, (Stored *)v->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsCountWithoutDiagonal - how many listed rows lack the diagonal entry that they could have

  Input Parameters:
+ structure - a HiSparseDiagonals
. n         - length of the list
. rows      - [n] device, may repeat
- stream    - synchronizes with it

  Output Parameter:
. count - the number, repeats included, on the host

  Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparseDiagonalsCountWithoutDiagonal(void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  PetscCall(CountRowsWithoutDiagonal(n, rows, d->num_columns, FindInDiagonals(d), stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsZeroRows - sets the values of listed rows to zero and their diagonal entries to a number

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues, which nobody else has
. n         - length of the list
. rows      - [n] device, may repeat
. diag      - new value of the diagonal entries that are there
- stream    - asynchronous on it

  Cost: a read of the pieces of the rows' slices.
*/
PetscErrorCode HiSparseDiagonalsZeroRows(void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroRows, (const HiSparseDiagonals *)structure, v, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsZeroColumns - sets the values of flagged columns to zero, in all rows but the flagged ones, and subtracts what goes from a right-hand side

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues, which nobody else has
. flags     - [max(rows, columns)] device, of rows and of columns
. x         - [columns] device, read in flagged columns alone; or NULL
- stream    - asynchronous on it

  Input/Output Parameter:
. b - [rows] device, b -= A_flagged x in rows without a flag; NULL together with x

  Errors: PETSC_ERR_MEM when rows have many entries outside of pieces, before anything is changed.

  Cost: a read of the pieces and of the flags of columns, an entry each, and of the values that go.
*/
PetscErrorCode HiSparseDiagonalsZeroColumns(void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  const HiSparseDiagonals *d       = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v       = (HiSparseDiagonalsValues *)values;
  const Columns            columns = {flags, b ? x : NULL, x ? b : NULL};

  PetscFunctionBegin;
  if (d->overflow.view.num_rows > 0) PetscCall(RowLoop(OverflowView(d, v), NULL, ZeroOutside{columns, d->overflow.rows, d->overflow.view.columns, v->overflow_values}, stream));
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroColumns, d, v, columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
