/*
  Listed rows become zero or leave the pattern. What needs their entries goes through the list, a warp a row, so that the cost is that of these rows and not of the matrix.
*/
#include "compact.cuh"
#include "../common/foreach.cuh"

namespace
{

/*
  Op: bool Visit(row, position) is called for each entry of a listed row; Finish(row, size, any) once, with how many there are and whether one of these calls gave true.
*/
template <typename Offset, bool Compact, typename Op>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) ListedRowsKernel(RowLoopRows<Offset, Compact> rows, PetscInt n, const PetscInt *list, Op op)
{
  const PetscCount warps = (PetscCount)gridDim.x * (ROW_LOOP_THREADS / 32);
  const int        lane  = threadIdx.x % 32;

  for (PetscCount q = (PetscCount)blockIdx.x * (ROW_LOOP_THREADS / 32) + threadIdx.x / 32; q < n; q += warps) {
    const PetscInt                    row = list[q];
    const RowLoopRow<Offset, Compact> where(rows, row);
    bool                              any = false;

    for (PetscCount k = lane; k < where.size; k += 32) any |= op.Visit(row, where.Position((int32_t)k));
    any = __any_sync(0xffffffffu, any);
    if (lane == 0) op.Finish(row, where.size, any);
  }
}

template <typename Op>
PetscErrorCode ForListedRows(const DCSRView &view, PetscInt n, const PetscInt list[], Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RowLoopDispatch(view, [&](auto rows) -> PetscErrorCode {
    PetscFunctionBegin;
    ListedRowsKernel<<<RowLoopGrid((PetscCount)n * 32), ROW_LOOP_THREADS, 0, stream>>>(rows, n, list, op);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct ZeroListedRow {
  const int32_t *columns;
  PetscScalar   *values;
  PetscScalar    diagonal;

  __device__ bool Visit(PetscInt row, PetscCount position) const
  {
    values[position] = columns[position] == row ? diagonal : PetscScalar(0);
    return false;
  }
  __device__ void Finish(PetscInt, PetscCount, bool) const {}
};

/* Rows from num_columns on are not counted: they can have no diagonal entry. */
struct CountWithoutDiagonal {
  const int32_t      *columns;
  PetscInt            num_columns;
  unsigned long long *count;

  __device__ bool Visit(PetscInt row, PetscCount position) const { return columns[position] == row; }
  __device__ void Finish(PetscInt row, PetscCount, bool found) const
  {
    if (!found && row < num_columns) atomicAdd(count, 1ull);
  }
};

struct CountEmpty {
  PetscInt            num_columns;
  unsigned long long *count;

  __device__ bool Visit(PetscInt, PetscCount) const { return false; }
  __device__ void Finish(PetscInt row, PetscCount size, bool) const
  {
    if (size == 0 && row < num_columns) atomicAdd(count, 1ull);
  }
};

/* Rows that lose an entry, or are empty and get one: those below num_diagonal are to have a diagonal entry alone, others none. */
struct CountChanging {
  const int32_t      *columns;
  PetscInt            num_diagonal;
  unsigned long long *count;

  __device__ bool Visit(PetscInt row, PetscCount position) const { return columns[position] != row || row >= num_diagonal; }
  __device__ void Finish(PetscInt row, PetscCount size, bool loses) const
  {
    if (loses || (size == 0 && row < num_diagonal)) atomicAdd(count, 1ull);
  }
};

/* Runs an operation that has a counter as its last member, and brings the count to the host. */
template <typename Op>
PetscErrorCode CountListedRows(const DCSRView &view, PetscInt n, const PetscInt list[], Op op, cudaStream_t stream, PetscCount *count)
{
  PetscErrorCode     ierr   = PETSC_SUCCESS;
  unsigned long long result = 0;

  PetscFunctionBegin;
  *count = 0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "count of listed rows", stream, &op.count));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(op.count, 0, sizeof(*op.count), stream));
  PetscCallGoto(ierr, cleanup, ForListedRows(view, n, list, op, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&result, op.count, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *count = (PetscCount)result;
cleanup:
  PetscCall(PetscSparseCUDAFree(&op.count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct SetFlag {
  const PetscInt *indices;
  unsigned char  *flags;
  __device__ void operator()(PetscCount k) const { flags[indices[k]] = 1; }
};

struct SetRightHandSideEntry {
  const PetscInt    *rows;
  PetscInt           num_columns;
  PetscScalar        diagonal;
  const PetscScalar *x;
  PetscScalar       *b;

  __device__ void operator()(PetscCount k) const
  {
    const PetscInt row = rows[k];

    if (row < num_columns) b[row] = diagonal * x[row];
  }
};

/* Flagged rows keep one position for a diagonal entry that they are to have, the others all of theirs. */
template <typename Rows>
struct NewSize {
  Rows                 rows;
  const unsigned char *flags;
  PetscInt             num_diagonal; // rows below this have a diagonal entry afterwards, if they are flagged
  int32_t             *sizes;

  __device__ void operator()(PetscCount k) const
  {
    const PetscInt row = (PetscInt)k;

    sizes[row] = !flags[row] ? rows.Size(row) : row < num_diagonal ? 1 : 0;
  }
};

template <typename Offset>
struct MoveUnflagged {
  using Result = void;
  DCSRView             from, to;
  const unsigned char *flags;

  __device__ void Visit(RowEntry e) const
  {
    PetscCount k;

    if (flags[e.row]) return;
    k             = (PetscCount)((const Offset *)to.row_offsets)[e.row] + e.index;
    to.columns[k] = from.columns[e.position];
    if (to.values) to.values[k] = from.values[e.position];
  }
};

template <typename Offset>
struct FillDiagonal {
  DCSRView        to;
  const PetscInt *rows;
  PetscInt        num_diagonal;
  PetscScalar     diagonal;

  __device__ void operator()(PetscCount q) const
  {
    const PetscInt row = rows[q];
    PetscCount     k;

    if (row >= num_diagonal) return;
    k             = (PetscCount)((const Offset *)to.row_offsets)[row];
    to.columns[k] = (int32_t)row;
    if (to.values) to.values[k] = diagonal;
  }
};

/* What DCSRRemoveRows() is about. */
struct Removal {
  PetscInt        n;
  const PetscInt *rows;
  PetscScalar     diagonal;
  PetscInt        num_diagonal;
  unsigned char  *flags; // [num_rows]
  int32_t        *sizes; // [num_rows] after the removal
};

template <typename Offset>
PetscErrorCode MoveOtherRows(const DCSRView &compact, const Removal &r, const DCSRView &to, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (compact.num_nonzeros) PetscCall(RowLoop(compact, MoveUnflagged<Offset>{compact, to, r.flags}, stream));
  if (r.num_diagonal) PetscCallCUDA(DCSRForEach((PetscCount)r.n, FillDiagonal<Offset>{to, r.rows, r.num_diagonal, r.diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CompactOtherRows(const DCSRView &view, const Removal &r, PetscCount num_nonzeros, cudaStream_t stream, DCSRView *to)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRView       compact, copy;

  PetscFunctionBegin;
  PetscCall(GetCompact(view, stream, &compact, &copy));
  PetscCallGoto(ierr, cleanup, AllocateFromSizes(view, r.sizes, num_nonzeros, stream, to));
  if (to->wide) PetscCallGoto(ierr, cleanup, MoveOtherRows<int64_t>(compact, r, *to, stream));
  else PetscCallGoto(ierr, cleanup, MoveOtherRows<int32_t>(compact, r, *to, stream));
cleanup:
  PetscCall(FreeView(&copy, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(FreeView(to, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindNewSizes(const DCSRView &view, const Removal &r, cudaStream_t stream, DCSRSizeFacts *facts)
{
  PetscFunctionBegin;
  PetscCall(DCSRFlagIndices(r.n, r.rows, view.num_rows, r.flags, stream));
  PetscCall(RowLoopDispatch(view, [&](auto rows) -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCallCUDA(DCSRForEach((PetscCount)view.num_rows, NewSize<decltype(rows)>{rows, r.flags, r.num_diagonal, r.sizes}, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscCall(DCSRReduceSizes(view.num_rows, r.sizes, stream, facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRFlagIndices - flags [size] (device) for a list of indices [n] (device), below size, which may repeat: 1 where listed, 0 elsewhere. Asynchronous */
PetscErrorCode DCSRFlagIndices(PetscInt n, const PetscInt indices[], PetscInt size, unsigned char flags[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (size) PetscCallCUDA(cudaMemsetAsync(flags, 0, (size_t)size * sizeof(*flags), stream));
  if (n) PetscCallCUDA(DCSRForEach((PetscCount)n, SetFlag{indices, flags}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCountRowsWithoutDiagonal - how many listed rows [n] (device), repeats included, lack the diagonal entry that they could have; synchronizes with the stream
  view is compact or fragmented storage; values are not read. Rows from num_columns on are not counted. Cost: one read of the columns of these rows.
*/
PetscErrorCode DCSRCountRowsWithoutDiagonal(DCSRView view, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCall(CountListedRows(view, n, rows, CountWithoutDiagonal{view.columns, view.num_columns, NULL}, stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCountEmptyRows - how many listed rows [n] (device), repeats included, have no entry and could have a diagonal one: those that DCSRRemoveRows() gives a new position in the pattern; synchronizes
  with the stream view is compact or fragmented storage; values are not read. Rows from num_columns on are not counted.
*/
PetscErrorCode DCSRCountEmptyRows(DCSRView view, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCall(CountListedRows(view, n, rows, CountEmpty{view.num_columns, NULL}, stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCountChangingRows - how many listed rows [n] (device), repeats included, have another pattern after DCSRRemoveRows() with the same diagonal; when none, DCSRZeroRows() has the same result
  view is compact or fragmented storage; values are not read. Synchronizes with the stream. Cost: one read of the columns of these rows.
*/
PetscErrorCode DCSRCountChangingRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCall(CountListedRows(view, n, rows, CountChanging{view.columns, diagonal == PetscScalar(0) ? 0 : view.num_columns, NULL}, stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRZeroRows - sets the values of listed rows [n] (device, may repeat) to zero and their diagonal entries to a number; the pattern stays. Asynchronous
  view is compact or fragmented storage; without values there is nothing to do. diagonal is for entries that exist; DCSRCountRowsWithoutDiagonal() says whether some do not. Cost: one read of the
  columns and one write of the values of these rows. Allocates nothing.
*/
PetscErrorCode DCSRZeroRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.values != NULL) PetscCall(ForListedRows(view, n, rows, ZeroListedRow{view.columns, view.values, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSetRightHandSide - b = diagonal x in listed rows [n] (device, may repeat), b and x [num_columns] on the device. Asynchronous
  Rows from num_columns on are left alone, they have no diagonal entry. b has as many entries as there are rows.
*/
PetscErrorCode DCSRSetRightHandSide(PetscInt n, const PetscInt rows[], PetscInt num_columns, PetscScalar diagonal, const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n) PetscCallCUDA(DCSRForEach((PetscCount)n, SetRightHandSideEntry{rows, num_columns, diagonal, x, b}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRRemoveRows - new compact storage in which listed rows [n] (device, may repeat) have their diagonal entry or nothing; synchronizes with the stream
  view is compact or fragmented storage; without values the new one has none either. diagonal = 0: the rows become empty; otherwise each of them that is below num_columns has its diagonal entry of
  this value afterwards, also when it was empty before.
  to owns its arrays, columns sorted; zero when there is nothing to remove. The view is never changed, and nothing stays allocated after PETSC_ERR_MEM.
  Cost: one pass over the row sizes and one move of what stays. Fragmented storage is made compact first, which takes a third copy.
*/
PetscErrorCode DCSRRemoveRows(DCSRView view, PetscInt n, const PetscInt rows[], PetscScalar diagonal, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  Removal        r    = {n, rows, diagonal, diagonal == PetscScalar(0) ? 0 : view.num_columns, NULL, NULL};
  DCSRSizeFacts  facts;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(to, 1));
  PetscCall(PetscArrayzero(deletion, 1));
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(view.num_rows, "flags of listed rows", stream, &r.flags));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(view.num_rows, "row sizes after a deletion", stream, &r.sizes));
  PetscCallGoto(ierr, cleanup, FindNewSizes(view, r, stream, &facts));
  if (r.num_diagonal || facts.num_nonzeros < view.num_nonzeros) {
    PetscCallGoto(ierr, cleanup, CompactOtherRows(view, r, (PetscCount)facts.num_nonzeros, stream, to));
    *deletion = {PETSC_TRUE, (PetscCount)facts.num_nonzeros, (PetscCount)facts.num_nonempty_rows, (PetscCount)facts.max_row_size};
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&r.flags, stream));
  PetscCall(PetscSparseCUDAFree(&r.sizes, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
