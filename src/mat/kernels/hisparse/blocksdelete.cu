/*
  Values of listed rows and of flagged columns of dense blocks become zero; the pattern stays.
*/
#include "blocksfind.cuh"
#include "blocksloop.cuh"
#include "delete.cuh"

namespace
{

constexpr int DELETE_THREADS = 128, DELETE_WARPS = DELETE_THREADS / BLOCKS_WARP;

/* A warp a listed row, lanes its entries in turn. A row that is listed twice gets the same values twice. */
template <typename Stored>
__global__ void __launch_bounds__(DELETE_THREADS) ZeroRowsKernel(PetscInt n, const PetscInt *list, int size, const int32_t *offsets, const int32_t *columns, Stored *values, PetscScalar diag)
{
  const PetscCount q = (PetscCount)blockIdx.x * DELETE_WARPS + threadIdx.x / BLOCKS_WARP;

  if (q >= n) return;
  const PetscInt row   = list[q];
  const int32_t  begin = offsets[row / size];
  const uint32_t width = (uint32_t)(offsets[row / size + 1] - begin) * (uint32_t)size; // less than 2^31, as columns
  const int      r     = (int)(row % size);

  for (uint32_t e = threadIdx.x % BLOCKS_WARP; e < width; e += BLOCKS_WARP) {
    const uint32_t block = e / (uint32_t)size, c = e - block * (uint32_t)size;
    const PetscInt column = (PetscInt)columns[begin + block] * size + (PetscInt)c;

    values[((PetscCount)begin + block) * (size * size) + r * size + c] = ToStored<Stored>(column == row ? diag : PetscScalar(0));
  }
}

template <typename Stored>
struct ZeroInBlocks {
  struct Result {
    PetscScalar sum;
  };
  Columns columns;
  Stored *values;

  __device__ Result Begin() const { return {PetscScalar(0)}; }
  __device__ void   Visit(PetscInt row, PetscInt column, PetscCount place, Result &r) const { r.sum += columns.Take(row, column, values + place); }
  __device__ Result Combine(Result a, Result b) const { return {a.sum + b.sum}; }
  __device__ void   Store(PetscInt row, const Result &r) const { columns.Subtract(row, r.sum); }
};

template <typename Stored>
PetscErrorCode ZeroRows(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  ZeroRowsKernel<Stored><<<DCSRNumBlocks((PetscCount)n, DELETE_WARPS), DELETE_THREADS, 0, stream>>>(n, rows, blocks->size, blocks->list.offsets, blocks->list.columns, (Stored *)v->values, diag);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ZeroColumns(const Blocks *blocks, const HiSparseDiagonalsValues *v, const Columns &columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksVisitRows(blocks, ZeroInBlocks<Stored>{columns, (Stored *)v->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlocksCountWithoutDiagonal - how many listed rows lack the diagonal entry that they could have

  Input Parameters:
+ blocks - the structure
. n      - length of the list
. rows   - [n] device, may repeat; NULL: the first n rows
- stream - synchronizes with it

  Output Parameter:
. count - the number, repeats included, on the host

  Errors: PETSC_ERR_MEM.

  Cost: a bisection among the blocks of a row of blocks each.
*/
PetscErrorCode BlocksCountWithoutDiagonal(const Blocks *blocks, PetscCount n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCall(CountRowsWithoutDiagonal(n, rows, blocks->num_columns, FindInBlocks(blocks), stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksZeroRows - sets the values of listed rows to zero and their diagonal entries to a number

  Input Parameters:
+ blocks - the structure
. v      - its values, which nobody else has
. n      - length of the list
. rows   - [n] device, may repeat
. diag   - new value of the diagonal entries that are there
- stream - asynchronous on it

  Cost: a write of the rows.
*/
PetscErrorCode BlocksZeroRows(const Blocks *blocks, HiSparseDiagonalsValues *v, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HISPARSE_WITH_STORED(v, ZeroRows, blocks, v, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksZeroColumns - sets the values of flagged columns to zero, in all rows but the flagged ones, and subtracts what goes from a right-hand side

  Input Parameters:
+ blocks - the structure
. v      - its values, which nobody else has
. flags  - [max(num_rows, num_columns)] device, of rows and of columns
. x      - [num_columns] device, read in flagged columns alone; or NULL
- stream - asynchronous on it

  Input/Output Parameter:
. b - [num_rows] device, b -= A_flagged x in rows without a flag; NULL together with x

  Cost: a read of the list and of the flags of columns, an entry each, and of the values that go.
*/
PetscErrorCode BlocksZeroColumns(const Blocks *blocks, HiSparseDiagonalsValues *v, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  const Columns columns = {flags, b ? x : NULL, x ? b : NULL};

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroColumns, blocks, v, columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
