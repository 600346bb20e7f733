/*
  Norms and row reductions. Rows are summed by RowLoop(), vectors of sums by CUB: both in a fixed order, so that norms are bitwise reproducible,
  except where column sums are added up by atomics.
*/
#include "../common/largest.cuh"
#include "../common/preload.cuh"
#include "../common/reduce.h"
#include "../common/rowloop.cuh"
#include "../common/scalar.cuh"
#include <petscsparsecuda/entries.h>

namespace
{

/* Out is PetscReal or PetscScalar. */
template <typename Out>
struct RowSumAbsolute {
  using Result = PetscReal;
  const PetscScalar *values;
  Out               *sums;

  __device__ Result Identity() const { return 0; }
  __device__ Result Map(RowEntry e) const { return AbsoluteValue(values[e.position]); }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt row, Result sum) const { sums[row] = Out(sum); }
};

struct RowSumSquares {
  using Result = PetscReal;
  const PetscScalar *values;
  PetscReal         *sums;

  __device__ Result Identity() const { return 0; }
  __device__ Result Map(RowEntry e) const { return SquaredValue(values[e.position]); }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt row, Result sum) const { sums[row] = sum; }
};

struct RowLargest {
  using Result = LargestEntry;
  const PetscScalar *values;
  const int32_t     *columns;
  PetscScalar       *largest;
  PetscInt          *indices;

  __device__ Result Identity() const { return LargestEntry::None(); }
  __device__ Result Map(RowEntry e) const { return LargestEntry::Of(values[e.position], columns[e.position]); }
  __device__ Result Combine(Result a, Result b) const { return LargestEntry::Larger(a, b); }
  __device__ void   Store(PetscInt row, Result r) const { r.Store(row, 1, largest, indices); }
};

struct AddToColumnSum {
  using Result = void;
  const PetscScalar *values;
  const int32_t     *columns;
  PetscReal         *sums;

  __device__ void Visit(RowEntry e) const { atomicAdd(sums + columns[e.position], AbsoluteValue(values[e.position])); }
};

PetscErrorCode CheckValues(DCSRView view)
{
  PetscFunctionBegin;
  PetscCheck(view.values != NULL || !view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values to measure");
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRNormFrobeniusSquared - the sum of the squared absolute values, the square of the Frobenius norm; synchronizes with the stream
  Bitwise reproducible. Fragmented storage goes by rows, because unused entries hold anything.
*/
PetscErrorCode DCSRNormFrobeniusSquared(DCSRView view, cudaStream_t stream, PetscReal *norm2)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscReal     *sums = NULL;

  PetscFunctionBegin;
  *norm2 = 0;
  PetscCall(CheckValues(view));
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  if (view.row_offsets) {
    PetscCall(DCSRReduceSumSquares(view.num_nonzeros, view.values, stream, norm2));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "row sums of squares", stream, &sums));
  PetscCallGoto(ierr, cleanup, RowLoop(view, RowSumSquares{view.values, sums}, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceSum((PetscCount)view.num_rows, sums, stream, norm2));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRColumnSumsAbs - the sum of the absolute values of each column: sums [num_columns], device. Asynchronous. Added up by atomics, so the last bits vary from run to run. */
PetscErrorCode DCSRColumnSumsAbs(DCSRView view, PetscReal sums[], cudaStream_t stream)
{
  AddToColumnSum op = {view.values, view.columns, sums};

  PetscFunctionBegin;
  PetscCall(CheckValues(view));
  if (view.num_columns) PetscCallCUDA(cudaMemsetAsync(sums, 0, (size_t)view.num_columns * sizeof(*sums), stream));
  if (view.num_nonzeros) PetscCall(RowLoop(view, op, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRNormOne - the largest column sum of absolute values; synchronizes with the stream. Workspace: num_columns reals. The last bits vary from run to run, see DCSRColumnSumsAbs(). */
PetscErrorCode DCSRNormOne(DCSRView view, cudaStream_t stream, PetscReal *norm)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscReal     *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(view.num_columns, "column sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, DCSRColumnSumsAbs(view, sums, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMax((PetscCount)view.num_columns, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRNormInfinity - the largest row sum of absolute values; synchronizes with the stream. Workspace: num_rows reals. Bitwise reproducible. */
PetscErrorCode DCSRNormInfinity(DCSRView view, cudaStream_t stream, PetscReal *norm)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscReal     *sums = NULL;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(CheckValues(view));
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "row sums of absolute values", stream, &sums));
  PetscCallGoto(ierr, cleanup, RowLoop(view, RowSumAbsolute<PetscReal>{view.values, sums}, stream));
  PetscCallGoto(ierr, cleanup, DCSRReduceMax((PetscCount)view.num_rows, sums, stream, norm));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRRowMaxAbs - the largest absolute value of each row and where it is. Asynchronous
  largest and indices [num_rows], device; indices may be NULL: the smallest column that attains it. A row without entries, or with zeros alone, gives 0 and index 0, which is what PETSc's AIJ gives.
  (Index -1 for a matrix without columns is its interface's business.)
*/
PetscErrorCode DCSRRowMaxAbs(DCSRView view, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  RowLargest op = {view.values, view.columns, largest, indices};

  PetscFunctionBegin;
  PetscCall(CheckValues(view));
  PetscCall(RowLoop(view, op, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRRowSumAbs - the sum of the absolute values of each row: sums [num_rows], device. Asynchronous. Bitwise reproducible. */
PetscErrorCode DCSRRowSumAbs(DCSRView view, PetscScalar sums[], cudaStream_t stream)
{
  RowSumAbsolute<PetscScalar> op = {view.values, sums};

  PetscFunctionBegin;
  PetscCall(CheckValues(view));
  PetscCall(RowLoop(view, op, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(RowLoopShortKernel<int32_t, true, AddToColumnSum>);
