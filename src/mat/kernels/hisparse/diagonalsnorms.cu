/*
  Masked diagonals: norms, and sums of absolute values of rows and columns. Sums have a fixed order, those of columns by the lists of A^T x: the same bits every time.
*/
#include "../common/reduce.h"
#include "../common/scalar.cuh"
#include "diagonalsloop.cuh"
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/transpose.h>

namespace
{

#define NORMS_THREADS 256

/* The sum of absolute values of a row or of a column. Out is PetscReal or PetscScalar. */
template <typename Stored, typename Out>
struct SumAbsolute {
  using Result = PetscReal;
  const Stored *values;
  PetscReal     alpha;
  Out          *sums;

  __device__ Result Begin() const { return 0; }
  __device__ void   Visit(PetscInt, PetscInt, PetscCount place, Result &sum) const { sum += AbsoluteValue(FromStored(values[place])); }
  __device__ void   Store(PetscInt k, Result sum) const { sums[k] = Out(alpha * sum); }
};

/* Adds what the overflow's rows have: sums[rows[k]] += alpha * more[k]. Rows are distinct. */
template <typename Out>
__global__ static void __launch_bounds__(NORMS_THREADS) AddSumsKernel(PetscCount n, const int32_t *rows, PetscReal alpha, const PetscScalar *more, Out *sums)
{
  const PetscCount k = (PetscCount)blockIdx.x * NORMS_THREADS + threadIdx.x;

  if (k < n) sums[rows[k]] += Out(alpha * PetscRealPart(more[k]));
}

/* Adds the row sums of the overflow or of its transpose. */
template <typename Out>
PetscErrorCode AddOverflow(DCSRView view, const int32_t *rows, PetscReal alpha, Out *sums, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscScalar   *more = NULL;

  PetscFunctionBegin;
  if (view.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "sums outside of diagonals", stream, &more));
  PetscCallGoto(ierr, cleanup, DCSRRowSumAbs(view, more, stream));
  AddSumsKernel<<<(unsigned int)(((PetscCount)view.num_rows + NORMS_THREADS - 1) / NORMS_THREADS), NORMS_THREADS, 0, stream>>>(view.num_rows, rows, alpha, more, sums);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
cleanup:
  PetscCall(PetscSparseCUDAFree(&more, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the column sums of the overflow: its transpose gets its values for the time being. */
PetscErrorCode AddTransposedOverflow(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *values, PetscReal alpha, PetscReal *sums, cudaStream_t stream)
{
  DCSRView       view = A->transposed_overflow.view;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (view.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  view.values = NULL;
  PetscCall(PetscSparseCUDAMalloc(view.num_nonzeros, "transposed values outside of diagonals", stream, &view.values));
  PetscCallGoto(ierr, cleanup, DCSRTransposeNumeric(OverflowView(A, values), A->permutation, PETSC_FALSE, view.values, stream));
  PetscCallGoto(ierr, cleanup, AddOverflow(view, A->transposed_overflow.rows, alpha, sums, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&view.values, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Over the pieces: the sums of rows, those of columns, and of all squares, on the host. */
template <typename Stored>
PetscErrorCode SumRows(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar *sums, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitRows(A, SumAbsolute<Stored, PetscScalar>{(const Stored *)v->values, alpha, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode SumColumns(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscReal *sums, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitColumns(A, SumAbsolute<Stored, PetscReal>{(const Stored *)v->values, alpha, sums}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsRowSumAbs - alpha times the sum of the absolute values of each row

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
. alpha     - the factor
- stream    - asynchronous on it

  Output Parameter:
. sums - [rows] device

  Errors: PETSC_ERR_MEM, the contents of sums are undefined then.

  Cost: one read of the matrix. Workspace: a sum for each row of the overflow.
*/
PetscErrorCode HiSparseDiagonalsRowSumAbs(void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream)
{
  const HiSparseDiagonals       *A = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v = (const HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, SumRows, A, v, alpha, sums, stream));
  PetscCall(AddOverflow(OverflowView(A, v), A->overflow.rows, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsColumnSumsAbs - alpha times the sum of the absolute values of each column

  Input Parameters:
+ structure - a HiSparseDiagonals, which gets the lists of A^T x when it has none
. values    - its HiSparseDiagonalsValues
. alpha     - the factor
- stream    - asynchronous on it, but for the first time

  Output Parameter:
. sums - [columns] device

  Errors: PETSC_ERR_MEM, the contents of sums are undefined then.

  Cost: one read of the matrix. Workspace: the values of the overflow, and a sum for each of its columns.
*/
PetscErrorCode HiSparseDiagonalsColumnSumsAbs(void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  HiSparseDiagonals             *A = (HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v = (const HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HiSparseDiagonalsTransposeCreate(A, stream));
  PetscCall(HISPARSE_WITH_STORED(v, SumColumns, A, v, alpha, sums, stream));
  PetscCall(AddTransposedOverflow(A, v, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsNormFrobeniusSquared - the sum of the squared absolute values

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
- stream    - synchronizes with it

  Output Parameter:
. norm2 - the square of the Frobenius norm, on the host
*/
PetscErrorCode HiSparseDiagonalsNormFrobeniusSquared(void *structure, void *values, cudaStream_t stream, PetscReal *norm2)
{
  const HiSparseDiagonals       *A    = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v    = (const HiSparseDiagonalsValues *)values;
  PetscReal                      more = 0;

  PetscFunctionBegin;
  if (v->precision == HISPARSE_VALUES_SINGLE) PetscCall(DCSRReduceSumSquaresSingle(A->used_values, (const float *)v->values, stream, norm2));
  else PetscCall(DCSRReduceSumSquares(A->used_values, (const PetscScalar *)v->values, stream, norm2));
  if (A->overflow.view.num_rows > 0) PetscCall(DCSRNormFrobeniusSquared(OverflowView(A, v), stream, &more));
  *norm2 += more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsNormInfinity - the largest row sum of absolute values

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
- stream    - synchronizes with it

  Output Parameter:
. norm - on the host

  Workspace: a scalar for each row.
*/
PetscErrorCode HiSparseDiagonalsNormInfinity(void *structure, void *values, cudaStream_t stream, PetscReal *norm)
{
  const PetscInt num_rows = ((const HiSparseDiagonals *)structure)->num_rows;
  PetscErrorCode ierr     = PETSC_SUCCESS;
  PetscScalar   *sums     = NULL;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(PetscSparseCUDAMalloc(num_rows, "row sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsRowSumAbs(structure, values, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMaxRealPart((PetscCount)num_rows, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsNormOne - the largest column sum of absolute values

  Input Parameters:
+ structure - a HiSparseDiagonals, which gets the lists of A^T x when it has none
. values    - its HiSparseDiagonalsValues
- stream    - synchronizes with it

  Output Parameter:
. norm - on the host

  Workspace: a real for each column.
*/
PetscErrorCode HiSparseDiagonalsNormOne(void *structure, void *values, cudaStream_t stream, PetscReal *norm)
{
  const PetscInt num_columns = ((const HiSparseDiagonals *)structure)->num_columns;
  PetscErrorCode ierr        = PETSC_SUCCESS;
  PetscReal     *sums        = NULL;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(PetscSparseCUDAMalloc(num_columns, "column sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsColumnSumsAbs(structure, values, 1.0, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMax((PetscCount)num_columns, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
