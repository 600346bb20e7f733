/*
  Operations on masked diagonals of blocks that know where entries are: single entries, the diagonal, factors of rows and columns, and sums of absolute values. What treats all values alike is that of masked diagonals.
*/
#include "blockdiagonals.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include "../common/reduce.h"
#include "../common/scalar.cuh"
#include "../insert/lookup.cuh"

namespace
{

template <typename Stored>
struct ScaleBlocks {
  struct Result {};
  int                size;
  Stored            *values;
  const PetscScalar *left, *right;

  __device__ Result Begin() const { return Result(); }
  __device__ void   Visit(PetscCount row, PetscCount column, BlockPlace place, Result &) const
  {
    for (int a = 0; a < size; a++)
      for (int c = 0; c < size; c++) {
        Stored *const value = values + place.first + (PetscCount)(a * size + c) * place.stride;
        PetscScalar   v     = FromStored(*value);

        // rows first, then columns: the order of DCSRDiagonalScale(), so that rounding agrees
        if (left) v *= left[row * size + a];
        if (right) v *= right[column * size + c];
        *value = ToStored<Stored>(v);
      }
  }
  __device__ void Store(PetscCount, const Result &) const {}
};

template <typename Stored>
struct CopyDiagonal {
  FindInBlockDiagonals find;
  const Stored        *values;
  PetscScalar          alpha;
  PetscScalar         *diagonal;

  __device__ void operator()(PetscInt i) const
  {
    const PetscCount place = find(i, (int32_t)i);

    diagonal[i] = place < 0 ? PetscScalar(0) : alpha * FromStored(values[place]);
  }
};

template <typename Stored>
struct ChangeDiagonal {
  FindInBlockDiagonals find;
  Stored              *values;
  const PetscScalar   *d;
  PetscScalar          scalar;
  bool                 insert;

  __device__ void operator()(PetscInt i) const
  {
    const PetscCount  place = find(i, (int32_t)i);
    const PetscScalar value = d ? d[i] : scalar;

    if (place >= 0) values[place] = ToStored<Stored>(insert ? value : FromStored(values[place]) + value);
  }
};

/* Sums of absolute values of the rows, or of the columns, of blocks. Out is PetscReal or PetscScalar. */
template <typename Stored, typename Out, bool Columns>
struct SumBlocks {
  struct Result {
    PetscReal sums[BLOCK_DIAGONALS_MAX_SIZE];
  };
  int           size;
  const Stored *values;
  PetscReal     alpha;
  Out          *sums;

  __device__ Result Begin() const { return Result(); }
  __device__ void   Visit(PetscCount, PetscCount, BlockPlace place, Result &result) const
  {
    // all sums have a number that is known, so that they stay in registers
#pragma unroll
    for (int i = 0; i < BLOCK_DIAGONALS_MAX_SIZE; i++)
      for (int j = 0; i < size && j < size; j++) result.sums[i] += AbsoluteValue(FromStored(values[place.first + (PetscCount)(Columns ? j * size + i : i * size + j) * place.stride]));
  }
  __device__ void Store(PetscCount row, const Result &result) const
  {
#pragma unroll
    for (int i = 0; i < BLOCK_DIAGONALS_MAX_SIZE; i++)
      if (i < size) sums[row * size + i] = Out(alpha * result.sums[i]);
  }
};

template <typename Stored>
PetscErrorCode ScaleStored(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, ScaleBlocks<Stored>{d->size, (Stored *)v->values, left, right}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode GetStoredDiagonal(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(d->all.num_rows, d->all.num_columns), CopyDiagonal<Stored>{FindInBlockDiagonals(d), (const Stored *)v->values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ChangeStoredDiagonal(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const PetscScalar diagonal[], PetscScalar scalar, bool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(d->all.num_rows, d->all.num_columns), ChangeDiagonal<Stored>{FindInBlockDiagonals(d), (Stored *)v->values, diagonal, scalar, insert}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode SumStoredRows(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, SumBlocks<Stored, PetscScalar, false>{d->size, (const Stored *)v->values, alpha, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode SumStoredColumns(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockColumns(d, SumBlocks<Stored, PetscReal, true>{d->size, (const Stored *)v->values, alpha, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlockDiagonalsLookup - finds out which entries of a batch are in the matrix, and where

  Input Parameters:
+ d      - the structure
. batch  - sorted distinct entries, at least one
- stream - asynchronous on it

  Output Parameter:
. lookup - places in the values; zero after an error, to be freed with DCSRLookupDestroy()

  Errors: PETSC_ERR_MEM.

  Cost: a bisection among the pieces of a slice an entry.
*/
PetscErrorCode BlockDiagonalsLookup(const BlockDiagonals *d, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(LookupCreate(FindInBlockDiagonals(d), batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsDiagonalScale - A = diag(left) A diag(right); left [rows] and right [columns] are on the device, or NULL */
PetscErrorCode BlockDiagonalsDiagonalScale(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (left == NULL && right == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HISPARSE_WITH_STORED(v, ScaleStored, d, v, left, right, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsDiagonalAdd - adds to, or replaces, the diagonal entries that exist; as HiSparseDiagonalsDiagonalAdd() */
PetscErrorCode BlockDiagonalsDiagonalAdd(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const PetscScalar diagonal[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStoredDiagonal, d, v, diagonal, scalar, insert == PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsGetDiagonal - alpha times the diagonal, [min(rows, columns)] on the device; 0 where a row has no such entry */
PetscErrorCode BlockDiagonalsGetDiagonal(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, GetStoredDiagonal, d, v, alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsRowSumAbs - alpha times the sum of the absolute values of each row, [rows] on the device */
PetscErrorCode BlockDiagonalsRowSumAbs(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, SumStoredRows, d, v, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsColumnSumsAbs - the same for columns, [columns] on the device; d gets the list of A^T x when it has none */
PetscErrorCode BlockDiagonalsColumnSumsAbs(BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlockDiagonalsTransposeCreate(d, stream));
  PetscCall(HISPARSE_WITH_STORED(v, SumStoredColumns, d, v, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsNormInfinity - the largest row sum of absolute values

  Input Parameters:
+ d      - the structure
. v      - its values
- stream - synchronizes it

  Output Parameter:
. norm - on the host

  Errors: PETSC_ERR_MEM. Workspace: a scalar for each row.
*/
PetscErrorCode BlockDiagonalsNormInfinity(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscScalar   *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(PetscSparseCUDAMalloc(d->all.num_rows, "row sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, BlockDiagonalsRowSumAbs(d, v, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMaxRealPart((PetscCount)d->all.num_rows, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsNormOne - the largest column sum of absolute values; as BlockDiagonalsNormInfinity(), and d gets the list of A^T x when it has none */
PetscErrorCode BlockDiagonalsNormOne(BlockDiagonals *d, const HiSparseDiagonalsValues *v, cudaStream_t stream, PetscReal *norm)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscReal     *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(PetscSparseCUDAMalloc(d->all.num_columns, "column sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, BlockDiagonalsColumnSumsAbs(d, v, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMax((PetscCount)d->all.num_columns, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(DCSRForEachKernel<PetscInt, CopyDiagonal<PetscScalar>>);
