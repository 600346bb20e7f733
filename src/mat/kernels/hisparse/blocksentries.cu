/*
  Operations entry by entry on blocks, and norms. The place of an entry on the diagonal follows from the number of its block, which is searched for among the columns of its row of blocks. Sums of absolute values are
  products with ones.
*/
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include "../common/reduce.h"
#include "../common/scalar.cuh"
#include "blocksfind.cuh"
#include "storedvalues.cuh"
#include <petscsparsecuda/common.h>

namespace
{

#define ENTRIES_THREADS 256
#define ENTRIES_WARPS   (ENTRIES_THREADS / 32)

/* A warp takes a row of blocks. */
template <int Size, typename Stored>
__global__ void __launch_bounds__(ENTRIES_THREADS) DiagonalScaleKernel(PetscInt num_rows, const int32_t *offsets, const int32_t *columns, const PetscScalar *left, const PetscScalar *right, Stored *values)
{
  const int lane = threadIdx.x % 32;

  for (int64_t row = (int64_t)blockIdx.x * ENTRIES_WARPS + threadIdx.x / 32; row < num_rows; row += (int64_t)gridDim.x * ENTRIES_WARPS) {
    const int64_t begin = offsets[row], n = offsets[row + 1] - begin;

#pragma unroll 4
    for (int64_t e = lane; e < n * (Size * Size); e += 32) {
      const int64_t block = e / (Size * Size);
      const int     place = (int)(e - block * (Size * Size));
      PetscScalar   v     = FromStored(values[begin * (Size * Size) + e]);

      if (left) v *= left[row * Size + place / Size];
      if (right) v *= right[(int64_t)columns[begin + block] * Size + place % Size];
      values[begin * (Size * Size) + e] = ToStored<Stored>(v);
    }
  }
}

template <typename Stored>
struct CopyEntry {
  FindInBlocks  find;
  const Stored *values;
  PetscScalar   alpha;
  PetscScalar  *to;

  __device__ void operator()(PetscInt i) const
  {
    const PetscCount place = find(i, (int32_t)i);

    to[i] = place < 0 ? PetscScalar(0) : FromStored(values[place]) * alpha;
  }
};

template <typename Stored>
struct AddToEntry {
  FindInBlocks       find;
  Stored            *values;
  const PetscScalar *d;
  PetscScalar        scalar;
  bool               insert;

  __device__ void operator()(PetscInt i) const
  {
    const PetscCount  place = find(i, (int32_t)i);
    const PetscScalar more  = d ? d[i] : scalar;

    if (place >= 0) values[place] = ToStored<Stored>(insert ? more : FromStored(values[place]) + more);
  }
};

struct CopyRealPart {
  const PetscScalar *from;
  PetscReal         *to;
  __device__ void    operator()(PetscInt i) const { to[i] = PetscRealPart(from[i]); }
};

template <typename Stored>
PetscErrorCode ScaleStored(const Blocks *blocks, const HiSparseDiagonalsValues *v, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  const BlocksList *list   = &blocks->list;
  Stored           *values = (Stored *)v->values;
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

template <typename Stored>
PetscErrorCode ChangeStoredDiagonal(const Blocks *blocks, const HiSparseDiagonalsValues *v, const PetscScalar d[], PetscScalar scalar, bool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(blocks->num_rows, blocks->num_columns), AddToEntry<Stored>{FindInBlocks(blocks), (Stored *)v->values, d, scalar, insert}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode GetStoredDiagonal(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(blocks->num_rows, blocks->num_columns), CopyEntry<Stored>{FindInBlocks(blocks), (const Stored *)v->values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest of n sums of absolute values. */
PetscErrorCode LargestSum(Blocks *blocks, PetscBool transpose, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm)
{
  const PetscInt n    = transpose ? blocks->num_columns : blocks->num_rows;
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscScalar   *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  if (transpose) PetscCall(BlocksTransposeCreate(blocks, stream));
  PetscCall(PetscSparseCUDAMalloc(n, "sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, BlocksSumAbs(blocks, transpose, v, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMaxRealPart((PetscCount)n, sums, stream, norm));
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
. v      - its values, which change
. left   - [num_rows] device, or NULL
. right  - [num_columns] device, or NULL
- stream - asynchronous on it

  Cost: one read and write of the values.
*/
PetscErrorCode BlocksDiagonalScale(const Blocks *blocks, HiSparseDiagonalsValues *v, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (left == NULL && right == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HISPARSE_WITH_STORED(v, ScaleStored, blocks, v, left, right, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksDiagonalAdd - changes the diagonal entries that are there

  Input Parameters:
+ blocks - the structure
. v      - its values, which change
. d      - [min(num_rows, num_columns)] device, or NULL: scalar for all
. scalar - used when d is NULL
. insert - PETSC_TRUE: replaces the entries; otherwise adds
- stream - asynchronous on it
*/
PetscErrorCode BlocksDiagonalAdd(const Blocks *blocks, HiSparseDiagonalsValues *v, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStoredDiagonal, blocks, v, d, scalar, insert == PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksGetDiagonal - alpha times the diagonal, [min(num_rows, num_columns)] on the device; 0 where a row has no such entry */
PetscErrorCode BlocksGetDiagonal(const Blocks *blocks, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, GetStoredDiagonal, blocks, v, alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlocksColumnSumsAbs - alpha times the sum of the absolute values of each column

  Input Parameters:
+ blocks - the structure, which gets the list of A^T x when it has none
. v      - its values
. alpha  - the factor
- stream - asynchronous on it, but for the first time

  Output Parameter:
. sums - [num_columns] device

  Errors: PETSC_ERR_MEM. Workspace: a scalar for each column.
*/
PetscErrorCode BlocksColumnSumsAbs(Blocks *blocks, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  PetscScalar   *scalars = NULL;

  PetscFunctionBegin;
  PetscCall(BlocksTransposeCreate(blocks, stream));
  PetscCall(PetscSparseCUDAMalloc(blocks->num_columns, "column sums of absolute values", stream, &scalars));
  PetscCallGoto(ierr, cleanup, BlocksSumAbs(blocks, PETSC_TRUE, v, alpha, scalars, stream));
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
. v      - its values
- stream - synchronizes it

  Output Parameter:
. norm - on the host

  Errors: PETSC_ERR_MEM. Workspace: a scalar for each row.
*/
PetscErrorCode BlocksNormInfinity(Blocks *blocks, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(LargestSum(blocks, PETSC_FALSE, v, stream, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksNormOne - the largest column sum of absolute values; as BlocksNormInfinity(), and blocks gets the list of A^T x when it has none */
PetscErrorCode BlocksNormOne(Blocks *blocks, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(LargestSum(blocks, PETSC_TRUE, v, stream, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(DCSRForEachKernel<PetscInt, CopyEntry<PetscScalar>>);
