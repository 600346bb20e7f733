/*
  Values of listed rows and of flagged columns of masked diagonals of blocks become zero; the pattern stays.
*/
#include "blockdiagonals.cuh"
#include "delete.cuh"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;

/* A warp a listed row, a lane a piece of its slice. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS) ZeroRowsKernel(PetscInt n, const PetscInt *list, int size, const HiSparseSlice *slices, const HiSparsePiece *pieces, Stored *values, PetscScalar diag)
{
  const int        lane = (int)threadIdx.x % HISPARSE_WARP;
  const PetscCount q    = (PetscCount)blockIdx.x * WARPS + threadIdx.x / HISPARSE_WARP;

  if (q >= n) return;
  const PetscCount    row = list[q] / size;
  const int           a = (int)(list[q] % size), bit = (int)(row % HISPARSE_SLICE_ROWS);
  const HiSparseSlice slice = slices[row / HISPARSE_SLICE_ROWS];

  for (uint32_t p = (uint32_t)lane; p < slice.num_pieces; p += HISPARSE_WARP) {
    const HiSparsePiece *piece = pieces + slice.first_piece + p;
    const BlockPlace     place = BlockPlaceInPiece(slice, piece, bit, size);

    if (place.first < 0) continue;
    for (int c = 0; c < size; c++) values[place.first + (PetscCount)(a * size + c) * place.stride] = ToStored<Stored>(piece->c0 + bit == row && a == c ? diag : PetscScalar(0));
  }
}

template <typename Stored>
struct ZeroInBlocks {
  struct Result {
    PetscScalar sums[BLOCK_DIAGONALS_MAX_SIZE];
  };
  Columns columns;
  int     size;
  Stored *values;

  __device__ Result Begin() const
  {
    Result r;

    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++) r.sums[a] = PetscScalar(0);
    return r;
  }
  __device__ void Visit(PetscCount row, PetscCount column, BlockPlace place, Result &r) const
  {
    // all sums have a number that is known, so that they stay in registers
#pragma unroll
    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++)
      for (int c = 0; a < size && c < size; c++) r.sums[a] += columns.Take((PetscInt)(row * size + a), (PetscInt)(column * size + c), values + place.first + (PetscCount)(a * size + c) * place.stride);
  }
  __device__ void Store(PetscCount row, const Result &r) const
  {
#pragma unroll
    for (int a = 0; a < BLOCK_DIAGONALS_MAX_SIZE; a++)
      if (a < size) columns.Subtract((PetscInt)(row * size + a), r.sums[a]);
  }
};

template <typename Stored>
PetscErrorCode ZeroRows(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  ZeroRowsKernel<Stored><<<DCSRNumBlocks((PetscCount)n, WARPS), THREADS, 0, stream>>>(n, rows, d->size, d->blocks->slices, d->blocks->pieces, (Stored *)v->values, diag);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ZeroColumns(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, const Columns &columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, ZeroInBlocks<Stored>{columns, d->size, (Stored *)v->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlockDiagonalsCountWithoutDiagonal - how many listed rows lack the diagonal entry that they could have

  Input Parameters:
+ d      - the structure
. n      - length of the list
. rows   - [n] device, may repeat
- stream - synchronizes with it

  Output Parameter:
. count - the number, repeats included, on the host

  Errors: PETSC_ERR_MEM.
*/
PetscErrorCode BlockDiagonalsCountWithoutDiagonal(const BlockDiagonals *d, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCall(CountRowsWithoutDiagonal(n, rows, d->all.num_columns, FindInBlockDiagonals(d), stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsZeroRows - sets the values of listed rows to zero and their diagonal entries to a number

  Input Parameters:
+ d      - the structure
. v      - its values, which nobody else has
. n      - length of the list
. rows   - [n] device, may repeat
. diag   - new value of the diagonal entries that are there
- stream - asynchronous on it

  Cost: a read of the pieces of the rows' slices.
*/
PetscErrorCode BlockDiagonalsZeroRows(const BlockDiagonals *d, HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCall(HISPARSE_WITH_STORED(v, ZeroRows, d, v, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsZeroColumns - sets the values of flagged columns to zero, in all rows but the flagged ones, and subtracts what goes from a right-hand side

  Input Parameters:
+ d      - the structure
. v      - its values, which nobody else has
. flags  - [max(rows, columns)] device, of rows and of columns
. x      - [columns] device, read in flagged columns alone; or NULL
- stream - asynchronous on it

  Input/Output Parameter:
. b - [rows] device, b -= A_flagged x in rows without a flag; NULL together with x

  Cost: a read of the pieces, of the flags of columns for each block, and of the values that go.
*/
PetscErrorCode BlockDiagonalsZeroColumns(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  const Columns columns = {flags, b ? x : NULL, x ? b : NULL};

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroColumns, d, v, columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
