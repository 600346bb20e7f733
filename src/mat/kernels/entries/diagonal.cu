/*
  Diagonal entries and scaling by diagonal matrices. Compact rows are sorted, so a thread a row finds its diagonal entry by bisection;
  fragmented rows are searched whole.
*/
#include "../common/preload.cuh"
#include "../common/rowloop.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/entries.h>

namespace
{

/* What to do with the diagonal entry of a row: called once a row with its position in the pool, -1 when the row lacks it. */
struct GetDiagonal {
  const PetscScalar *values;
  PetscScalar       *d;

  __device__ void operator()(PetscInt row, PetscCount position) const { d[row] = position < 0 ? PetscScalar(0) : values[position]; }
};

struct CountMissing {
  unsigned long long *count;

  __device__ void operator()(PetscInt, PetscCount position) const
  {
    if (position < 0) atomicAdd(count, 1ull);
  }
};

struct AddDiagonal {
  PetscScalar       *values;
  const PetscScalar *d;
  PetscScalar        scalar;
  bool               insert;

  __device__ void operator()(PetscInt row, PetscCount position) const
  {
    const PetscScalar value = d ? d[row] : scalar;

    if (position < 0) return;
    if (insert) values[position] = value;
    else values[position] += value;
  }
};

/* The same as a reduction over a row of fragmented storage; columns are distinct, so that the largest position is the only one. */
template <typename Action>
struct FindDiagonal {
  using Result = PetscCount;
  const int32_t *columns;
  Action         action;

  __device__ Result Identity() const { return -1; }
  __device__ Result Map(RowEntry e) const { return columns[e.position] == e.row ? e.position : -1; }
  __device__ Result Combine(Result a, Result b) const { return a < b ? b : a; }
  __device__ void   Store(PetscInt row, Result position) const { action(row, position); }
};

template <typename Offset, typename Action>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) FindDiagonalCompactKernel(PetscInt num_rows, const Offset *row_offsets, const int32_t *columns, Action action)
{
  const PetscCount stride = (PetscCount)gridDim.x * ROW_LOOP_THREADS;

  for (PetscCount row = (PetscCount)blockIdx.x * ROW_LOOP_THREADS + threadIdx.x; row < num_rows; row += stride) {
    const Offset end = row_offsets[row + 1], position = PartitionPoint(row_offsets[row], end, [=](Offset k) { return columns[k] < row; });

    action((PetscInt)row, position < end && columns[position] == row ? (PetscCount)position : (PetscCount)-1);
  }
}

template <typename Action>
PetscErrorCode ForEachDiagonal(DCSRView view, PetscInt n, Action action, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  view.num_rows = n;
  if (view.row_offsets == NULL) {
    FindDiagonal<Action> op = {view.columns, action};

    PetscCall(RowLoop(view, op, stream));
  } else if (view.wide) {
    FindDiagonalCompactKernel<<<RowLoopGrid(n), ROW_LOOP_THREADS, 0, stream>>>(n, (const int64_t *)view.row_offsets, view.columns, action);
    PetscCallCUDA(cudaGetLastError());
  } else {
    FindDiagonalCompactKernel<<<RowLoopGrid(n), ROW_LOOP_THREADS, 0, stream>>>(n, (const int32_t *)view.row_offsets, view.columns, action);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct DiagonalScaleEntry {
  using Result = void;
  PetscScalar       *values;
  const int32_t     *columns;
  const PetscScalar *left, *right;

  __device__ void Visit(RowEntry e) const
  {
    PetscScalar value = values[e.position];

    // rows first, then columns: the order of MatDiagonalScale_SeqAIJ(), so that rounding agrees
    if (left) value *= left[e.row];
    if (right) value *= right[columns[e.position]];
    values[e.position] = value;
  }
};

} // namespace

/* DCSRDiagonalScale - A = diag(left) A diag(right), of compact or fragmented storage; left [num_rows] and right [num_columns] are on the device, or NULL. Asynchronous */
PetscErrorCode DCSRDiagonalScale(DCSRView view, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  DiagonalScaleEntry op = {view.values, view.columns, left, right};

  PetscFunctionBegin;
  if (!view.num_nonzeros || (left == NULL && right == NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, no values to scale");
  PetscCall(RowLoop(view, op, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetDiagonal - the diagonal entries d [min(num_rows, num_columns)] (device), 0 where a row has none. Asynchronous Cost: compact, a bisection a row; fragmented, one read of the columns. */
PetscErrorCode DCSRGetDiagonal(DCSRView view, PetscScalar d[], cudaStream_t stream)
{
  GetDiagonal action = {view.values, d};

  PetscFunctionBegin;
  PetscCheck(view.values != NULL || !view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no diagonal values");
  PetscCall(ForEachDiagonal(view, PetscMin(view.num_rows, view.num_columns), action, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCountMissingDiagonal - how many of the first n rows, at most num_rows, lack a diagonal entry; rows from num_columns on count as missing. Values are not read. Synchronizes with the stream */
PetscErrorCode DCSRCountMissingDiagonal(DCSRView view, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  PetscErrorCode      ierr   = PETSC_SUCCESS;
  unsigned long long  result = 0;
  unsigned long long *count  = NULL;

  PetscFunctionBegin;
  *missing = 0;
  PetscCheck(n >= 0 && n <= view.num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Cannot read %" PetscCount_FMT " rows of a matrix that has %" PetscInt_FMT, n, view.num_rows);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "count of missing diagonal entries", stream, &count));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(count, 0, sizeof(*count), stream));
  PetscCallGoto(ierr, cleanup, ForEachDiagonal(view, (PetscInt)n, CountMissing{count}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&result, count, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *missing = (PetscCount)result;
cleanup:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRDiagonalAdd - adds to, or replaces (insert), the diagonal entries that exist. Asynchronous
  d [min(num_rows, num_columns)], device, or NULL to use scalar for all rows. Rows that lack a diagonal entry are left alone; DCSRCountMissingDiagonal() says whether there are any.
*/
PetscErrorCode DCSRDiagonalAdd(DCSRView view, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  AddDiagonal action = {view.values, d, scalar, insert == PETSC_TRUE};

  PetscFunctionBegin;
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, no values to change");
  PetscCall(ForEachDiagonal(view, PetscMin(view.num_rows, view.num_columns), action, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(FindDiagonalCompactKernel<int32_t, GetDiagonal>);
