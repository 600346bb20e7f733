/*
  Masked diagonals: operations on each value by itself, scaling by diagonal matrices, and the diagonal. Those on the overflow are the functions of entries.h.
*/
#include "diagonalsloop.cuh"
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include <petscsparsecuda/entries.h>

namespace
{

#define ENTRIES_THREADS 256

unsigned int EntriesGrid(PetscCount n)
{
  return (unsigned int)((n + ENTRIES_THREADS - 1) / ENTRIES_THREADS);
}

struct Multiply {
  PetscScalar            alpha;
  __device__ PetscScalar operator()(PetscScalar value) const { return value * alpha; }
};

struct Conjugate {
  __device__ PetscScalar operator()(PetscScalar value) const
  {
#if PetscDefined(USE_COMPLEX)
    return thrust::conj(value);
#else
    return value;
#endif
  }
};

struct RealPart {
  __device__ PetscScalar operator()(PetscScalar value) const { return PetscScalar(PetscRealPart(value)); }
};

struct ImaginaryPart {
  __device__ PetscScalar operator()(PetscScalar value) const { return PetscScalar(PetscImaginaryPart(value)); }
};

/* op of a PetscScalar to each value. */
template <typename Stored, typename Op>
struct ChangeValue {
  Stored         *values;
  Op              op;
  __device__ void operator()(PetscCount k) const { values[k] = ToStored<Stored>(op(FromStored(values[k]))); }
};

/* To each value of a piece. */
template <typename Stored, typename Op>
PetscErrorCode ChangeStored(const HiSparseDiagonals *A, HiSparseDiagonalsValues *v, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCallCUDA(DCSRForEach(A->used_values, ChangeValue<Stored, Op>{(Stored *)v->values, op}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
struct ScaleEntry {
  struct Result {};
  Stored            *values;
  const PetscScalar *left, *right;

  __device__ Result Begin() const { return Result(); }
  __device__ void   Visit(PetscInt row, PetscInt column, PetscCount place, Result &) const
  {
    PetscScalar value = FromStored(values[place]);

    // rows first, then columns: the order of DCSRDiagonalScale(), so that rounding agrees
    if (left) value *= left[row];
    if (right) value *= right[column];
    values[place] = ToStored<Stored>(value);
  }
  __device__ void Store(PetscInt, const Result &) const {}
};

/* The factors of the rows that the overflow has. */
__global__ void GatherKernel(PetscCount n, const int32_t *rows, const PetscScalar *from, PetscScalar *to)
{
  const PetscCount k = (PetscCount)blockIdx.x * ENTRIES_THREADS + threadIdx.x;

  if (k < n) to[k] = from[rows[k]];
}

/* What to do with a diagonal entry: called once a row with its place in pieces, -1 when they lack it, and again for the overflow, with the place in it, when that has it. */
template <typename Stored>
struct GetDiagonal {
  const Stored *values;
  PetscScalar   alpha;
  PetscScalar  *diagonal;

  __device__ void operator()(PetscInt row, PetscCount place) const { diagonal[row] = place < 0 ? PetscScalar(0) : alpha * FromStored(values[place]); }
};

template <typename Stored>
struct AddDiagonal {
  Stored            *values;
  const PetscScalar *d;
  PetscScalar        scalar;
  bool               insert;

  __device__ void operator()(PetscInt row, PetscCount place) const
  {
    const PetscScalar value = d ? d[row] : scalar;

    if (place < 0) return;
    values[place] = ToStored<Stored>(insert ? value : FromStored(values[place]) + value);
  }
};

/* Rows that have no diagonal entry in pieces, less those that have it in the overflow. */
struct CountMissing {
  unsigned long long *count;

  __device__ void operator()(PetscInt, PetscCount place) const
  {
    if (place < 0) atomicAdd(count, 1ull);
  }
};

struct CountFound {
  unsigned long long *count;

  __device__ void operator()(PetscInt, PetscCount) const { atomicAdd(count, ~0ull); }
};

/* A thread block a slice; rows [0, n). */
template <typename Action>
__global__ static void __launch_bounds__(HISPARSE_SLICE_ROWS) PiecesDiagonalKernel(PetscInt n, const HiSparseSlice *slices, const HiSparsePiece *pieces, Action action)
{
  const int            bit       = (int)threadIdx.x;
  const PetscCount     slice_row = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS, row = slice_row + bit;
  const HiSparseSlice  slice = slices[blockIdx.x];
  const HiSparsePiece *piece = DiagonalPiece(slice, pieces, slice_row);

  if (row < n) action((PetscInt)row, piece != NULL && PieceHas(piece->mask, bit) ? (PetscCount)slice.values + piece->values + PieceRank(piece->mask, bit) : (PetscCount)-1);
}

/* A thread a row of the overflow. */
template <typename Offset, typename Action>
__global__ static void __launch_bounds__(ENTRIES_THREADS) OverflowDiagonalKernel(PetscInt n, PetscInt num_rows, const int32_t *rows, const Offset *row_offsets, const int32_t *columns, Action action)
{
  const PetscCount k = (PetscCount)blockIdx.x * ENTRIES_THREADS + threadIdx.x;
  int32_t          row;
  Offset           end, place;

  if (k >= num_rows || rows[k] >= n) return;
  row   = rows[k];
  end   = row_offsets[k + 1];
  place = LowerBound(columns, row_offsets[k], end, row);
  if (place < end && columns[place] == row) action((PetscInt)row, (PetscCount)place);
}

/* Pieces first: what the overflow has of a row comes after them. */
template <typename Action, typename OverflowAction>
PetscErrorCode ForEachDiagonal(const HiSparseDiagonals *A, PetscInt n, Action action, OverflowAction overflow_action, cudaStream_t stream)
{
  const HiSparseOverflow *o = &A->overflow;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PiecesDiagonalKernel<<<(unsigned int)(((PetscCount)n + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS), HISPARSE_SLICE_ROWS, 0, stream>>>(n, A->slices, A->pieces, action);
  PetscCallCUDA(cudaGetLastError());
  if (o->view.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (o->view.wide) OverflowDiagonalKernel<<<EntriesGrid(o->view.num_rows), ENTRIES_THREADS, 0, stream>>>(n, o->view.num_rows, o->rows, (const int64_t *)o->view.row_offsets, o->view.columns, overflow_action);
  else OverflowDiagonalKernel<<<EntriesGrid(o->view.num_rows), ENTRIES_THREADS, 0, stream>>>(n, o->view.num_rows, o->rows, (const int32_t *)o->view.row_offsets, o->view.columns, overflow_action);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ScaleStored(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, const PetscScalar *left, const PetscScalar *right, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitRows(A, ScaleEntry<Stored>{(Stored *)v->values, left, right}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode GetStoredDiagonal(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscScalar *diagonal, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ForEachDiagonal(A, PetscMin(A->num_rows, A->num_columns), GetDiagonal<Stored>{(const Stored *)v->values, alpha, diagonal}, GetDiagonal<PetscScalar>{v->overflow_values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode AddStoredDiagonal(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, const PetscScalar *d, PetscScalar scalar, bool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ForEachDiagonal(A, PetscMin(A->num_rows, A->num_columns), AddDiagonal<Stored>{(Stored *)v->values, d, scalar, insert}, AddDiagonal<PetscScalar>{v->overflow_values, d, scalar, insert}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ZeroStored(const HiSparseDiagonals *A, const HiSparseDiagonalsValues *v, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(v->values, 0, (size_t)A->used_values * sizeof(Stored), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* HiSparseDiagonalsScale - multiplies all values by alpha */
PetscErrorCode HiSparseDiagonalsScale(void *structure, void *values, PetscScalar alpha, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStored, A, v, Multiply{alpha}, stream));
  if (v->overflow_values != NULL) PetscCall(DCSRScale(OverflowView(A, v), alpha, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsZero - sets all values to zero, whatever they were */
PetscErrorCode HiSparseDiagonalsZero(void *structure, void *values, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroStored, A, v, stream));
  if (v->overflow_values != NULL) PetscCall(DCSRZero(OverflowView(A, v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsConjugate - replaces all values by their complex conjugates */
PetscErrorCode HiSparseDiagonalsConjugate(void *structure, void *values, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStored, A, v, Conjugate(), stream));
  if (v->overflow_values != NULL) PetscCall(DCSRConjugate(OverflowView(A, v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsRealPart - replaces all values by their real parts */
PetscErrorCode HiSparseDiagonalsRealPart(void *structure, void *values, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStored, A, v, RealPart(), stream));
  if (v->overflow_values != NULL) PetscCall(DCSRRealPart(OverflowView(A, v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsImaginaryPart - replaces all values by their imaginary parts, as real numbers */
PetscErrorCode HiSparseDiagonalsImaginaryPart(void *structure, void *values, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, ChangeStored, A, v, ImaginaryPart(), stream));
  if (v->overflow_values != NULL) PetscCall(DCSRImaginaryPart(OverflowView(A, v), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsDiagonalScale - A = diag(left) A diag(right)

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
. left      - [rows] device, or NULL
. right     - [columns] device, or NULL
- stream    - asynchronous on it

  Errors: PETSC_ERR_MEM, the values are as they were.

  Workspace: a factor for each row of the overflow.
*/
PetscErrorCode HiSparseDiagonalsDiagonalScale(void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  const HiSparseDiagonals *A       = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v       = (HiSparseDiagonalsValues *)values;
  const PetscInt           n       = A->overflow.view.num_rows;
  PetscScalar             *factors = NULL;
  PetscErrorCode           ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (left == NULL && right == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (n > 0 && left != NULL) {
    PetscCall(PetscSparseCUDAMalloc(n, "factors of the rows outside of diagonals", stream, &factors));
    GatherKernel<<<EntriesGrid(n), ENTRIES_THREADS, 0, stream>>>(n, A->overflow.rows, left, factors);
    PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  }
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCallGoto(ierr, cleanup, HISPARSE_WITH_STORED(v, ScaleStored, A, v, left, right, stream));
  if (n > 0) PetscCallGoto(ierr, cleanup, DCSRDiagonalScale(OverflowView(A, v), factors, right, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&factors, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsGetDiagonal - the diagonal entries times alpha, 0 where a row has none

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
. alpha     - the factor
- stream    - asynchronous on it

  Output Parameter:
. diagonal - [min(rows, columns)] device

  Cost: a bisection among the pieces of a slice, and one in each row of the overflow.
*/
PetscErrorCode HiSparseDiagonalsGetDiagonal(void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const HiSparseDiagonals       *A = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v = (const HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, GetStoredDiagonal, A, v, alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsCountMissingDiagonal - how many of the first n rows lack a diagonal entry

  Input Parameters:
+ structure - a HiSparseDiagonals
. n         - rows to look at, at most those of the matrix; rows from the number of columns on count as missing
- stream    - synchronizes with it

  Output Parameter:
. missing - the number, on the host
*/
PetscErrorCode HiSparseDiagonalsCountMissingDiagonal(void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  const HiSparseDiagonals *A          = (const HiSparseDiagonals *)structure;
  const PetscInt           candidates = (PetscInt)PetscMin(n, (PetscCount)A->num_columns);
  PetscErrorCode           ierr       = PETSC_SUCCESS;
  unsigned long long       result     = 0;
  unsigned long long      *count      = NULL;

  PetscFunctionBegin;
  *missing = 0;
  PetscCheck(n >= 0 && n <= A->num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Cannot look at %" PetscCount_FMT " rows of a matrix that has %" PetscInt_FMT, n, A->num_rows);
  PetscCall(PetscSparseCUDAMalloc(1, "count of diagonal entries", stream, &count));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(count, 0, sizeof(*count), stream));
  PetscCallGoto(ierr, cleanup, ForEachDiagonal(A, candidates, CountMissing{count}, CountFound{count}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&result, count, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *missing = n - candidates + (PetscCount)result;
cleanup:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsDiagonalAdd - adds to, or replaces, the diagonal entries that exist

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
. d         - [min(rows, columns)] device, or NULL to use scalar for all rows
. scalar    - used when d is NULL
. insert    - PETSC_TRUE replaces, PETSC_FALSE adds
- stream    - asynchronous on it

  Note: rows that lack a diagonal entry are left alone.
*/
PetscErrorCode HiSparseDiagonalsDiagonalAdd(void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  const HiSparseDiagonals *A = (const HiSparseDiagonals *)structure;
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  v->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(HISPARSE_WITH_STORED(v, AddStoredDiagonal, A, v, d, scalar, (bool)insert, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(PiecesDiagonalKernel<GetDiagonal<PetscScalar>>);
