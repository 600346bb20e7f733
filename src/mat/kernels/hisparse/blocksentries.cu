/*
  Operations entry by entry on blocks, and norms. The place of an entry on the diagonal follows from the number of its block, which is searched for among the columns of its row of blocks. Sums of absolute values are
  products with ones.
*/
#include "../common/foreach.cuh"
#include "../common/reduce.cuh"
#include "../common/scalar.cuh"
#include "blocksimpl.h"
#include <petscsparsecuda/common.h>

namespace
{

#define ENTRIES_THREADS 256
#define ENTRIES_WARPS   (ENTRIES_THREADS / 32)

/* A warp takes a row of blocks. */
template <int Size>
__global__ void __launch_bounds__(ENTRIES_THREADS) DiagonalScaleKernel(PetscInt num_rows, const int32_t *offsets, const int32_t *columns, const PetscScalar *left, const PetscScalar *right, PetscScalar *values)
{
  const int lane = threadIdx.x % 32;

  for (int64_t row = (int64_t)blockIdx.x * ENTRIES_WARPS + threadIdx.x / 32; row < num_rows; row += (int64_t)gridDim.x * ENTRIES_WARPS) {
    const int64_t begin = offsets[row], n = offsets[row + 1] - begin;

#pragma unroll 4
    for (int64_t e = lane; e < n * (Size * Size); e += 32) {
      const int64_t block = e / (Size * Size);
      const int     place = (int)(e - block * (Size * Size));
      PetscScalar   v     = values[begin * (Size * Size) + e];

      if (left) v *= left[row * Size + place / Size];
      if (right) v *= right[(int64_t)columns[begin + block] * Size + place % Size];
      values[begin * (Size * Size) + e] = v;
    }
  }
}

/* Where the entries of the diagonal are. */
struct Diagonal {
  int            size;
  const int32_t *offsets;
  const int32_t *columns;

  /* Place of the entry of a row, -1 when it has none. */
  __device__ int64_t operator()(PetscInt i) const
  {
    const int32_t row = (int32_t)(i / size), end = offsets[row + 1];
    int32_t       low = offsets[row], high = end;

    while (low < high) {
      const int32_t middle = low + (high - low) / 2;

      if (columns[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low < end && columns[low] == row ? (int64_t)low * size * size + (i - row * size) * (size + 1) : -1;
  }
};

struct CopyEntry {
  Diagonal           diagonal;
  const PetscScalar *values;
  PetscScalar        alpha;
  PetscScalar       *to;

  __device__ void operator()(PetscInt i) const
  {
    const int64_t place = diagonal(i);

    to[i] = place < 0 ? PetscScalar(0) : values[place] * alpha;
  }
};

struct AddToEntry {
  Diagonal           diagonal;
  PetscScalar       *values;
  const PetscScalar *d;
  PetscScalar        scalar;
  bool               insert;

  __device__ void operator()(PetscInt i) const
  {
    const int64_t     place = diagonal(i);
    const PetscScalar more  = d ? d[i] : scalar;

    if (place >= 0) values[place] = insert ? more : values[place] + more;
  }
};

/* Counts are below 2^53. */
struct CountMissing {
  Diagonal            diagonal;
  unsigned long long *count;

  __device__ void operator()(PetscInt i) const
  {
    if (diagonal(i) < 0) atomicAdd(count, 1ull);
  }
};

struct RealPartOf {
  __device__ PetscReal operator()(PetscScalar value) const { return PetscRealPart(value); }
};

struct CopyRealPart {
  const PetscScalar *from;
  PetscReal         *to;
  __device__ void    operator()(PetscInt i) const { to[i] = PetscRealPart(from[i]); }
};

Diagonal GetDiagonalOf(const Blocks *blocks)
{
  return {blocks->size, blocks->list.offsets, blocks->list.columns};
}

/* The largest of n sums of absolute values. */
PetscErrorCode LargestSum(Blocks *blocks, PetscBool transpose, const PetscScalar values[], cudaStream_t stream, PetscReal *norm)
{
  const PetscInt n    = transpose ? blocks->num_columns : blocks->num_rows;
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscScalar   *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  if (transpose) PetscCall(BlocksTransposeCreate(blocks, stream));
  PetscCall(PetscSparseCUDAMalloc(n, "sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, BlocksSumAbs(blocks, transpose, values, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, ReduceToHost((PetscCount)n, sums, LargerReal(), RealPartOf(), stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlocksDiagonalScale - multiplies rows and columns by factors

  Input Parameters:
+ blocks - the structure
. values - [b * b * blocks], they change
. left   - [num_rows] device, or NULL
. right  - [num_columns] device, or NULL
- stream - asynchronous on it

  Cost: one read and write of the values.
*/
PetscErrorCode BlocksDiagonalScale(const Blocks *blocks, PetscScalar values[], const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  const BlocksList *list = &blocks->list;
  unsigned int      grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)list->num_rows + ENTRIES_WARPS - 1) / ENTRIES_WARPS, DCSR_LOOP_BLOCKS, &grid));
  switch (blocks->size) {
  case 2:
    DiagonalScaleKernel<2><<<grid, ENTRIES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, left, right, values);
    break;
  case 3:
    DiagonalScaleKernel<3><<<grid, ENTRIES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, left, right, values);
    break;
  case 4:
    DiagonalScaleKernel<4><<<grid, ENTRIES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, left, right, values);
    break;
  default:
    DiagonalScaleKernel<6><<<grid, ENTRIES_THREADS, 0, stream>>>(list->num_rows, list->offsets, list->columns, left, right, values);
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksDiagonalAdd - changes the diagonal entries that are there

  Input Parameters:
+ blocks - the structure
. values - [b * b * blocks], they change
. d      - [min(num_rows, num_columns)] device, or NULL: scalar for all
. scalar - used when d is NULL
. insert - PETSC_TRUE: replaces the entries; otherwise adds
- stream - asynchronous on it
*/
PetscErrorCode BlocksDiagonalAdd(const Blocks *blocks, PetscScalar values[], const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(blocks->num_rows, blocks->num_columns), AddToEntry{GetDiagonalOf(blocks), values, d, scalar, insert == PETSC_TRUE}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksGetDiagonal - alpha times the diagonal, [min(num_rows, num_columns)] on the device; 0 where a row has no such entry */
PetscErrorCode BlocksGetDiagonal(const Blocks *blocks, const PetscScalar values[], PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(blocks->num_rows, blocks->num_columns), CopyEntry{GetDiagonalOf(blocks), values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksCountMissingDiagonal - how many of the first n rows have no diagonal entry

  Input Parameters:
+ blocks - the structure
. n      - rows
- stream - synchronizes it

  Output Parameter:
. missing - on the host
*/
PetscErrorCode BlocksCountMissingDiagonal(const Blocks *blocks, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  unsigned long long *device = NULL, host = 0;
  PetscErrorCode      ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "number of rows without a diagonal entry", stream, &device));
  PetscCallCUDAGoto(ierr, done, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallCUDAGoto(ierr, done, DCSRForEach((PetscInt)n, CountMissing{GetDiagonalOf(blocks), device}, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(&host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
  *missing = (PetscCount)host;
done:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksColumnSumsAbs - alpha times the sum of the absolute values of each column

  Input Parameters:
+ blocks - the structure, which gets the list of A^T x when it has none
. values - [b * b * blocks]
. alpha  - the factor
- stream - asynchronous on it, but for the first time

  Output Parameter:
. sums - [num_columns] device

  Errors: PETSC_ERR_MEM. Workspace: a scalar for each column.
*/
PetscErrorCode BlocksColumnSumsAbs(Blocks *blocks, const PetscScalar values[], PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  PetscScalar   *scalars = NULL;

  PetscFunctionBegin;
  PetscCall(BlocksTransposeCreate(blocks, stream));
  PetscCall(PetscSparseCUDAMalloc(blocks->num_columns, "column sums of absolute values", stream, &scalars));
  PetscCallGoto(ierr, cleanup, BlocksSumAbs(blocks, PETSC_TRUE, values, alpha, scalars, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(blocks->num_columns, CopyRealPart{scalars, sums}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&scalars, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksNormInfinity - the largest row sum of absolute values

  Input Parameters:
+ blocks - the structure
. values - [b * b * blocks]
- stream - synchronizes it

  Output Parameter:
. norm - on the host

  Errors: PETSC_ERR_MEM. Workspace: a scalar for each row.
*/
PetscErrorCode BlocksNormInfinity(Blocks *blocks, const PetscScalar values[], cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(LargestSum(blocks, PETSC_FALSE, values, stream, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksNormOne - the largest column sum of absolute values; as BlocksNormInfinity(), and blocks gets the list of A^T x when it has none */
PetscErrorCode BlocksNormOne(Blocks *blocks, const PetscScalar values[], cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(LargestSum(blocks, PETSC_TRUE, values, stream, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
