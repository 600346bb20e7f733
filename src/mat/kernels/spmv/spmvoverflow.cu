/*
  The overflow of fragmented storage. Insertion leaves the rows of the base where they are, one behind the other, and puts new entries into segments behind them, a cache line or more for each of its
  few. Products read the base as compact storage, and add those with a sorted copy of the rest: a matrix of the rows that have some. King, Gilray, Kirby, Might: Dynamic-CSR, ISC 2016, traverse the
  segments in their product.

  Tried on an NVIDIA H200 (2026-11-29): the split kernel adds the overflow of its rows itself, through shared memory. A thread block waits for one load more, and takes 1.35 to 1.5 times as long where
  2 % were inserted; the second launch takes 1.06 times as long for R-MAT.
*/
#include "spmvdevice.cuh"
#include "../common/foreach.cuh"
#include "../common/message.h"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/select.h"
#include "../spmvtranspose/device.cuh"
#include <petscsparsecuda/insert.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / SPMV_WARP;

constexpr size_t MERGE_OTHERS = (size_t)1 << 20; // bytes: CUB's workspace, and what arrays are rounded up to

/* The transpose: rows with more entries have a thread block of their own, others a few threads. */
constexpr int LONG_ROW = 128, LONG_THREADS = 512, TRANSPOSE_LANES = 4;

/* What is known of an overflow after it was counted. */
struct Found {
  int64_t  sums;    // 2^32 rows + entries
  int32_t  longest; // row
  uint32_t unused;
};

struct Segment {
  int32_t begin, end;
};

/* Entries of a row outside of the base. */
__device__ __forceinline__ int32_t OverflowSize(const DCSRView &view, PetscCount row)
{
  return view.row_sizes[row] - (view.base_offsets[row + 1] - view.base_offsets[row]);
}

__device__ __forceinline__ int32_t InclusiveSumOfLanes(int32_t n)
{
#pragma unroll
  for (int d = 1; d < SPMV_WARP; d *= 2) {
    const int32_t before = __shfl_up_sync(SPMV_FULL_MASK, n, d);

    if ((int)(threadIdx.x % SPMV_WARP) >= d) n += before;
  }
  return n;
}

/* A warp counts the overflow of 32 rows, in sums: its rows, times 2^32, and entries. One warp more than there are such parts sets the last of sums to 0. */
__global__ void __launch_bounds__(THREADS) CountKernel(const DCSRView view, int32_t num_parts, int64_t *sums, Found *found)
{
  const int32_t      w       = (int32_t)(((PetscCount)blockIdx.x * THREADS + threadIdx.x) / SPMV_WARP);
  const PetscCount   row     = (PetscCount)w * SPMV_WARP + threadIdx.x % SPMV_WARP;
  const int32_t      n       = row < view.num_rows ? OverflowSize(view, row) : 0;
  const unsigned int bits    = __ballot_sync(SPMV_FULL_MASK, n > 0);
  const int32_t      sum     = InclusiveSumOfLanes(n);
  int32_t            longest = n;

  for (int d = SPMV_WARP / 2; d > 0; d /= 2) longest = max(longest, __shfl_xor_sync(SPMV_FULL_MASK, longest, d));
  if (w > num_parts || threadIdx.x % SPMV_WARP != SPMV_WARP - 1) return;
  sums[w] = ((int64_t)__popc(bits) << 32) + sum;
  if (longest > LONG_ROW) atomicMax(&found->longest, longest);
}

/* Lists the rows that have some, and where their entries begin; sums: of the parts before. */
__global__ void __launch_bounds__(THREADS) ListKernel(const DCSRView view, int32_t num_parts, const int64_t *sums, int32_t *rows, int32_t *offsets)
{
  const int32_t      w    = (int32_t)(((PetscCount)blockIdx.x * THREADS + threadIdx.x) / SPMV_WARP);
  const int          lane = threadIdx.x % SPMV_WARP;
  const PetscCount   row  = (PetscCount)w * SPMV_WARP + lane;
  const int32_t      n    = row < view.num_rows ? OverflowSize(view, row) : 0;
  const unsigned int bits = __ballot_sync(SPMV_FULL_MASK, n > 0);
  const int32_t      sum  = InclusiveSumOfLanes(n);

  if (w > num_parts) return;
  if (w == num_parts && lane == 0) offsets[sums[w] >> 32] = (int32_t)(sums[w] & 0xffffffff);
  if (n == 0) return;
  const int32_t k = (int32_t)(sums[w] >> 32) + __popc(bits & ((1u << lane) - 1u));

  rows[k]    = (int32_t)row;
  offsets[k] = (int32_t)(sums[w] & 0xffffffff) + sum - n;
}

/* Copies entry e, in the order of rows and segments, to its position in the sorted row: segments of a row are sorted and have no column in common. columns NULL: the structure is there. */
struct CopyEntry {
  DCSRView       view;
  int32_t        num;
  const int32_t *rows, *offsets;
  int32_t       *columns;
  PetscScalar   *values;

  __device__ void operator()(int32_t e) const
  {
    const int32_t  k = PartitionPoint(0, num - 1, [&](int32_t i) { return offsets[i + 1] <= e; }), row = rows[k];
    const Segment *pair = (const Segment *)view.segments + row + (view.base_offsets[row] < view.base_offsets[row + 1] ? view.pitch : 0);
    int32_t        left = offsets[k + 1] - offsets[k], i = e - offsets[k], mine = -1, from = 0, column = 0, rank = i;

    for (int s = 0; left > 0; s++) { // which one it is in
      const Segment segment = pair[s * view.pitch];
      const int32_t length  = min(segment.end - segment.begin, left);

      if (mine < 0 && i < length) {
        mine   = s;
        from   = segment.begin + i;
        column = view.columns[from];
        rank   = i;
        if (s == 0 && length == left) break; // one segment, as most rows have
      } else if (mine < 0) i -= length;
      left -= length;
    }
    left = left > 0 ? 0 : offsets[k + 1] - offsets[k];
    for (int s = 0; left > 0; s++) {
      const Segment segment = pair[s * view.pitch];
      const int32_t length  = min(segment.end - segment.begin, left);

      if (s != mine) rank += LowerBound(view.columns, segment.begin, segment.begin + length, column) - segment.begin;
      left -= length;
    }
    if (columns) columns[offsets[k] + rank] = column;
    values[offsets[k] + rank] = view.values[from];
  }
};

/* Which rows are long. Waits for their number. */
PetscErrorCode ListLongRows(DCSROverflow o, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  int32_t       *num  = NULL;

  PetscFunctionBegin;
  o->max_long = (int32_t)PetscMin((PetscCount)o->num, o->num_entries / LONG_ROW);
  PetscCall(PetscSparseCUDAMalloc(o->max_long, "list of rows with many new entries", stream, &o->long_rows));
  PetscCall(PetscSparseCUDAMalloc(1, "number of rows with many new entries", stream, &num));
  PetscCallGoto(ierr, done, DCSRSelectLongRows("selection of rows", o->num, o->offsets, LONG_ROW, o->long_rows, num, stream));
  PetscCallGoto(ierr, done, DCSRReadNumbers(&o->num_long, num, sizeof(*num), stream));
done:
  PetscCall(PetscSparseCUDAFree(&num, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums [num_parts + 1] and found, device, are for this alone. */
PetscErrorCode Fill(DCSROverflow o, DCSRView view, int32_t num_parts, int64_t *sums, Found *found, cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)((num_parts + WARPS) / WARPS);
  Found              host;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(found, 0, sizeof(*found), stream));
  CountKernel<<<blocks, THREADS, 0, stream>>>(view, num_parts, sums, found);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("workspace to sum rows with new entries", sums, (PetscCount)num_parts + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&found->sums, sums + num_parts, sizeof(found->sums), cudaMemcpyDeviceToDevice, stream));
  PetscCall(DCSRReadNumbers(&host, found, sizeof(host), stream));
  o->num         = (int32_t)(host.sums >> 32);
  o->num_entries = (PetscCount)(host.sums & 0xffffffff);
  PetscCheck(o->num_entries == view.num_nonzeros - view.base_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries outside of the base, not %" PetscCount_FMT, o->num_entries,
             view.num_nonzeros - view.base_nonzeros);
  PetscCall(PetscSparseCUDAMalloc(o->num, "rows with new entries", stream, &o->rows));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)o->num + 1, "offsets of rows with new entries", stream, &o->offsets));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "columns of new entries", stream, &o->columns));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "values of new entries", stream, &o->values));
  ListKernel<<<blocks, THREADS, 0, stream>>>(view, num_parts, sums, o->rows, o->offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(DCSRForEach((int32_t)o->num_entries, CopyEntry{view, o->num, o->rows, o->offsets, o->columns, o->values}, stream));
  if (host.longest > LONG_ROW) PetscCall(ListLongRows(o, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that have an overflow as a compact matrix; borrowed. */
DCSRView GetView(DCSROverflow o)
{
  DCSRView view = {0};

  view.num_rows     = (PetscInt)o->num;
  view.num_columns  = o->num_columns;
  view.num_nonzeros = view.capacity = view.used = o->num_entries;
  view.row_offsets                              = o->offsets;
  view.columns                                  = o->columns;
  view.values                                   = o->values;
  return view;
}

/* y += op(O) x, row by row, by the threads of a row of O. */
template <bool CONJUGATE>
struct AddTransposed {
  const int32_t     *rows, *offsets, *columns, *long_rows;
  const PetscScalar *values, *x;
  PetscScalar       *y;

  __device__ __forceinline__ void AddRow(int32_t k, int first, int step) const
  {
    const int32_t     end   = offsets[k + 1];
    const PetscScalar value = x[rows[k]];

    for (int32_t i = offsets[k] + first; i < end; i += step) AddAtomically(y + columns[i], Times<CONJUGATE>(values[i], value));
  }
  __device__ void operator()(PetscCount t) const
  {
    const int32_t k = (int32_t)(t / TRANSPOSE_LANES);

    if (offsets[k + 1] - offsets[k] <= LONG_ROW) AddRow(k, (int)(t % TRANSPOSE_LANES), TRANSPOSE_LANES);
  }
};

template <bool CONJUGATE>
__global__ void __launch_bounds__(LONG_THREADS) AddLongRowsKernel(const AddTransposed<CONJUGATE> add)
{
  add.AddRow(add.long_rows[blockIdx.x], (int)threadIdx.x, LONG_THREADS);
}

template <bool CONJUGATE>
PetscErrorCode AddTranspose(DCSROverflow o, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  const AddTransposed<CONJUGATE> add = {o->rows, o->offsets, o->columns, o->long_rows, o->values, x, y};

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)o->num * TRANSPOSE_LANES, add, stream));
  if (o->num_long) {
    AddLongRowsKernel<CONJUGATE><<<(unsigned int)o->num_long, LONG_THREADS, 0, stream>>>(add);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSROverflowIsFor - whether a view is fragmented storage with a base and values; with 64-bit offsets there is no base */
PetscBool DCSROverflowIsFor(DCSRView view)
{
  return (PetscBool)(view.segments != NULL && view.base_offsets != NULL && view.values != NULL);
}

/*
  DCSROverflowCreate - copies the entries of fragmented storage that are not in its base, sorted. DCSROverflowIsFor() the view
  overflow: of this structure, with the values of now; NULL after an error. Free it with DCSROverflowDestroy(). Waits once for its size, and again where a row has very many new entries.
  Cost: two passes over row sizes and base offsets, a read of the entries where they lie, a write of 12 bytes each (8 and 20 with other scalars), and 8 bytes a row that has some.
*/
PetscErrorCode DCSROverflowCreate(DCSRView view, cudaStream_t stream, DCSROverflow *overflow)
{
  const int32_t  num_parts = (int32_t)(((PetscCount)view.num_rows + SPMV_WARP - 1) / SPMV_WARP);
  PetscErrorCode ierr      = PETSC_SUCCESS;
  int64_t       *sums      = NULL;
  Found         *found     = NULL;
  DCSROverflow   o;

  PetscFunctionBegin;
  *overflow = NULL;
  PetscCall(PetscNew(&o));
  o->num_columns = view.num_columns;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc((PetscCount)num_parts + 1, "sums of rows with new entries", stream, &sums));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "facts of new entries", stream, &found));
  PetscCallGoto(ierr, done, Fill(o, view, num_parts, sums, found, stream));
  *overflow = o;
done:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(PetscSparseCUDAFree(&found, stream));
  if (ierr) PetscCall(DCSROverflowDestroy(&o, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowSetValues - copies the values of the view, whose structure is that of the overflow, again. Asynchronous */
PetscErrorCode DCSROverflowSetValues(DCSROverflow o, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((int32_t)o->num_entries, CopyEntry{view, o->num, o->rows, o->offsets, NULL, o->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowPlan - makes what products need, once; synchronizes then. DCSRSpMVPlanCreate() for the rows that have an overflow, and a list of these. */
PetscErrorCode DCSROverflowPlan(DCSROverflow o, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRSpMVPlan   plan;

  PetscFunctionBegin;
  if (o->plan != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpMVPlanCreate(GetView(o), DCSR_SPMV_AUTO, stream, &plan));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(o->num, "rows with new entries of a plan", stream, &plan->row_index));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(plan->row_index, o->rows, (size_t)o->num * sizeof(*o->rows), cudaMemcpyDeviceToDevice, stream));
  plan->bytes += (size_t)o->num * sizeof(*o->rows);
  o->plan = plan;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSpMVPlanDestroy(&plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowAdd - y += O x, after DCSROverflowPlan(): bitwise the same every time. Asynchronous, one launch */
PetscErrorCode DCSROverflowAdd(DCSROverflow o, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMVApply(o->plan, GetView(o), x, y, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowAddEpilogue - the same after a product with the base that had this epilogue: y = y - alpha d O x */
PetscErrorCode DCSROverflowAddEpilogue(DCSROverflow o, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  DCSRSpMVEpilogue left = *epilogue;
  PetscBool        done;

  PetscFunctionBegin;
  left.b = NULL;
  PetscCall(DCSRSpMVApplyEpilogue(o->plan, GetView(o), x, &left, y, stream, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The product with new entries has no epilogue");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowAddTranspose - y += op(O) x with op the transpose or (conjugate) the Hermitian transpose: one atomic an entry, so the last bits vary from run to run. Asynchronous */
PetscErrorCode DCSROverflowAddTranspose(DCSROverflow o, PetscBool conjugate, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX) && conjugate) PetscCall(AddTranspose<true>(o, x, y, stream));
  else PetscCall(AddTranspose<false>(o, x, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSROverflowMerge - compact storage of the same matrix: its base and its overflow are merged. DCSROverflowIsFor() the view
  to has the sizes of the view and 32-bit offsets; its row offsets are there, columns and values [num_nonzeros] are allocated. done = PETSC_FALSE: the device has no memory for it, and nothing was done.
  Waits as DCSROverflowCreate() does; cost: that, 8 bytes an entry of the overflow while it lasts, and a read and a write of the matrix.
*/
PetscErrorCode DCSROverflowMerge(DCSRView view, DCSRView to, cudaStream_t stream, PetscBool *done)
{
  const size_t   entries = (size_t)(view.num_nonzeros - view.base_nonzeros), rows = PetscMin(entries, (size_t)view.num_rows);
  const size_t   bytes = entries * (sizeof(PetscScalar) + 3 * sizeof(int32_t)) + (2 * rows + (size_t)view.num_rows / 4) * sizeof(int32_t) + MERGE_OTHERS;
  char          *room  = NULL;
  PetscErrorCode ierr;
  DCSROverflow   o;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc(bytes, stream, &room)); // stays in the pool for what follows
  *done = (PetscBool)(room != NULL);
  PetscCall(PetscSparseCUDAFree(&room, stream));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSROverflowCreate(view, stream, &o));
  ierr = DCSRMergeRows(DCSRViewGetBase(view), to, o->num, o->rows, o->offsets, o->columns, o->values, stream);
  PetscCall(DCSROverflowDestroy(&o, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowDestroy - frees an overflow; NULL is fine, and it is NULL afterwards */
PetscErrorCode DCSROverflowDestroy(DCSROverflow *overflow, cudaStream_t stream)
{
  DCSROverflow o = *overflow;

  PetscFunctionBegin;
  if (o == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&o->rows, stream));
  PetscCall(PetscSparseCUDAFree(&o->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&o->columns, stream));
  PetscCall(PetscSparseCUDAFree(&o->values, stream));
  PetscCall(PetscSparseCUDAFree(&o->long_rows, stream));
  PetscCall(DCSRSpMVPlanDestroy(&o->plan, stream));
  PetscCall(PetscFree(*overflow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowBytes - the device memory that it holds */
size_t DCSROverflowBytes(DCSROverflow o)
{
  return (2 * (size_t)o->num + 1 + (size_t)o->max_long) * sizeof(int32_t) + (size_t)o->num_entries * (sizeof(*o->columns) + sizeof(*o->values)) + (o->plan ? o->plan->bytes : 0);
}
