/*
  The overflow of fragmented storage. Insertion leaves the rows of the base where they are, one behind the other, and puts new entries into segments behind them, a cache line or more for each of its
  few. Products read the base as compact storage, with its kernels, and a sorted copy of the rest, of which a row has no bytes but its entries, an offset and a bit.
  King, Gilray, Kirby, Might: Dynamic-CSR, ISC 2016, traverse the segments in their product.
*/
#include "spmvoverflow.cuh"
#include "../common/foreach.cuh"
#include "../common/message.h"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/select.h"
#include "../spmvtranspose/device.cuh"
#include <petscsparsecuda/insert.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / SPMV_WARP, LONG_THREADS = 512, TRANSPOSE_LANES = 4;

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
  const int32_t *base = view.base_offsets + row;

  return view.row_sizes[row] - (base[1] - base[0]);
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

/* A warp counts the overflow of 32 rows: the bits of their mark, and in sums its rows, times 2^32, and entries. One warp more than there are marks sets the last of sums to 0. */
__global__ void __launch_bounds__(THREADS) CountKernel(const DCSRView view, int32_t num_marks, SpMVOverflowMark *marks, int64_t *sums, Found *found)
{
  const int32_t      w       = (int32_t)(((PetscCount)blockIdx.x * THREADS + threadIdx.x) / SPMV_WARP);
  const PetscCount   row     = (PetscCount)w * SPMV_WARP + threadIdx.x % SPMV_WARP;
  const int32_t      n       = row < view.num_rows ? OverflowSize(view, row) : 0;
  const unsigned int bits    = __ballot_sync(SPMV_FULL_MASK, n > 0);
  const int32_t      entries = InclusiveSumOfLanes(n);
  int32_t            longest = n;

  for (int d = SPMV_WARP / 2; d > 0; d /= 2) longest = max(longest, __shfl_xor_sync(SPMV_FULL_MASK, longest, d));
  if (w > num_marks || threadIdx.x % SPMV_WARP != SPMV_WARP - 1) return;
  if (w < num_marks) marks[w].bits = bits;
  sums[w] = ((int64_t)__popc(bits) << 32) + entries;
  if (longest > 1) atomicMax(&found->longest, longest);
}

/* What a copy is made from and goes to. sums: of the rows before each mark; NULL: the structure is there, values are copied alone. */
struct CopyArguments {
  DCSRView          view;
  int32_t           num_marks;
  const int64_t    *sums;
  SpMVOverflowMark *marks;
  int32_t          *rows, *offsets, *columns;
  PetscScalar      *values;
};

/* The overflow of 32 rows where it lies. Unused segments are empty. */
struct WarpSegments {
  int32_t before[SPMV_WARP + 1]; // entries of the rows before each one
  int32_t begin[DCSR_MAX_SEGMENTS][SPMV_WARP], length[DCSR_MAX_SEGMENTS][SPMV_WARP];

  /* One row a lane, which has n entries. */
  __device__ __forceinline__ void Load(const DCSRView &view, PetscCount row, int32_t n)
  {
    const int      lane = threadIdx.x % SPMV_WARP;
    const int32_t *base = view.base_offsets + row;
    const Segment *pair = (const Segment *)view.segments + row;

    before[lane + 1] = InclusiveSumOfLanes(n);
    if (lane == 0) before[0] = 0;
    if (n > 0 && base[0] < base[1]) pair += view.pitch;
#pragma unroll
    for (int s = 0; s < DCSR_MAX_SEGMENTS; s++) {
      Segment segment = {0, 0};

      if (n > 0) segment = pair[s * view.pitch];
      begin[s][lane]  = segment.begin;
      length[s][lane] = min(segment.end - segment.begin, n);
      n -= length[s][lane];
    }
    __syncwarp();
  }
  /* Entry e of all: where it lies, and its position in the sorted rows. Segments of a row are sorted and have no column in common. */
  __device__ __forceinline__ void Find(const int32_t *columns, int32_t e, int32_t *from, int32_t *to) const
  {
    const int row = (int)PartitionPoint(1, SPMV_WARP, [&](int k) { return before[k] <= e; }) - 1;
    int32_t   i = e - before[row], mine = 0;

    while (mine < DCSR_MAX_SEGMENTS - 1 && i >= length[mine][row]) i -= length[mine++][row];
    *from = begin[mine][row] + i;
    *to   = before[row] + i;
    if (length[0][row] == before[row + 1] - before[row]) return;
#pragma unroll
    for (int s = 0; s < DCSR_MAX_SEGMENTS; s++) {
      const int32_t first = begin[s][row];

      if (s != mine && length[s][row] > 0) *to += LowerBound(columns, first, first + length[s][row], columns[*from]) - first;
    }
  }
};

/* A warp takes 32 rows; the entries of all of them go to its lanes in turn. */
template <bool STRUCTURE>
__global__ void __launch_bounds__(THREADS) CopyKernel(const CopyArguments a)
{
  __shared__ WarpSegments segments_of_warps[WARPS];
  WarpSegments           &segments = segments_of_warps[threadIdx.x / SPMV_WARP];
  const int32_t           w        = (int32_t)(((PetscCount)blockIdx.x * THREADS + threadIdx.x) / SPMV_WARP);
  const int               lane     = threadIdx.x % SPMV_WARP;
  const PetscCount        row      = (PetscCount)w * SPMV_WARP + lane;

  if (w >= a.num_marks) return;
  const unsigned int bits = a.marks[w].bits, mine = bits & (1u << lane), rank = __popc(bits & ((1u << lane) - 1u));
  int32_t            first, to; // overflow row and entry of the warp

  if (STRUCTURE) {
    first = (int32_t)(a.sums[w] >> 32);
    to    = (int32_t)(a.sums[w] & 0xffffffff);
    if (lane == 0) a.marks[w].first = first;
    if (w == a.num_marks - 1 && lane == 0) a.offsets[a.sums[a.num_marks] >> 32] = (int32_t)(a.sums[a.num_marks] & 0xffffffff);
  } else {
    first = a.marks[w].first;
    to    = a.offsets[first];
  }
  if (bits == 0) return;
  segments.Load(a.view, row, mine ? OverflowSize(a.view, row) : 0);
  if (STRUCTURE && mine) {
    a.rows[first + rank]    = (int32_t)row;
    a.offsets[first + rank] = to + segments.before[lane];
  }
  for (int32_t e = lane; e < segments.before[SPMV_WARP]; e += SPMV_WARP) {
    int32_t from, k;

    segments.Find(a.view.columns, e, &from, &k);
    if (STRUCTURE) a.columns[to + k] = a.view.columns[from];
    a.values[to + k] = a.view.values[from];
  }
}

PetscErrorCode Copy(DCSROverflow o, DCSRView view, int32_t num_marks, const int64_t *sums, cudaStream_t stream)
{
  const CopyArguments a      = {view, num_marks, sums, o->marks, o->rows, o->offsets, o->columns, o->values};
  const unsigned int  blocks = (unsigned int)((num_marks + WARPS - 1) / WARPS);

  PetscFunctionBegin;
  if (sums) CopyKernel<true><<<blocks, THREADS, 0, stream>>>(a);
  else CopyKernel<false><<<blocks, THREADS, 0, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int32_t NumMarks(DCSRView view)
{
  return (int32_t)(((PetscCount)view.num_rows + SPMV_WARP - 1) / SPMV_WARP);
}

/* Which rows are long. Waits for their number. */
PetscErrorCode ListLongRows(DCSROverflow o, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  int32_t       *num  = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(PetscMin((PetscCount)o->num, o->num_entries / SPMV_OVERFLOW_ROW), "list of rows with many new entries", stream, &o->long_rows));
  PetscCall(PetscSparseCUDAMalloc(1, "number of rows with many new entries", stream, &num));
  PetscCallGoto(ierr, done, DCSRSelectLongRows("selection of rows", o->num, o->offsets, NULL, SPMV_OVERFLOW_ROW, o->long_rows, num, stream));
  PetscCallGoto(ierr, done, DCSRReadNumbers(&o->num_long, num, sizeof(*num), stream));
done:
  PetscCall(PetscSparseCUDAFree(&num, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums [num_marks + 1] and found, device, are for this alone. */
PetscErrorCode Fill(DCSROverflow o, DCSRView view, int32_t num_marks, int64_t *sums, Found *found, cudaStream_t stream)
{
  Found host;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(found, 0, sizeof(*found), stream));
  CountKernel<<<(unsigned int)((num_marks + WARPS) / WARPS), THREADS, 0, stream>>>(view, num_marks, o->marks, sums, found);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("workspace to sum rows with new entries", sums, (PetscCount)num_marks + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&found->sums, sums + num_marks, sizeof(found->sums), cudaMemcpyDeviceToDevice, stream));
  PetscCall(DCSRReadNumbers(&host, found, sizeof(host), stream));
  o->num         = (int32_t)(host.sums >> 32);
  o->num_entries = (PetscCount)(host.sums & 0xffffffff);
  o->longest     = host.longest;
  PetscCheck(o->num_entries == view.num_nonzeros - view.base_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries outside of the base, not %" PetscCount_FMT, o->num_entries,
             view.num_nonzeros - view.base_nonzeros);
  PetscCall(PetscSparseCUDAMalloc(o->num, "rows with new entries", stream, &o->rows));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)o->num + 1, "offsets of rows with new entries", stream, &o->offsets));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "columns of new entries", stream, &o->columns));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "values of new entries", stream, &o->values));
  PetscCall(Copy(o, view, num_marks, sums, stream));
  if (o->longest > SPMV_OVERFLOW_ROW) PetscCall(ListLongRows(o, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The overflow of the rows that a thread block of the split kernel finishes. */
struct BlockRange {
  const SpMVBlock        *plan;
  int32_t                 num_rows, num;
  const SpMVOverflowMark *marks;
  const int32_t          *offsets;
  int2                   *blocks;

  __device__ int32_t OffsetOfRow(int32_t row) const
  {
    const SpMVOverflowMark mark = row < num_rows ? marks[row / SPMV_WARP] : SpMVOverflowMark{0, num};

    return offsets[mark.first + __popc(mark.bits & ((1u << (row % SPMV_WARP)) - 1u))];
  }
  __device__ void operator()(int32_t b) const { blocks[b] = make_int2(OffsetOfRow(plan[b].row), OffsetOfRow(plan[b].row + plan[b].rows)); }
};

/* The plan of a launch that adds O x to y: that of O, with a list of its rows. */
PetscErrorCode CreatePlan(DCSROverflow o, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRSpMVPlan   plan;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVPlanCreate(SpMVOverflowView(o), DCSR_SPMV_AUTO, stream, &plan));
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

/* y += op(O) x for the short rows, TRANSPOSE_LANES threads each. */
template <bool CONJUGATE>
__device__ __forceinline__ void AddTransposedRow(const SpMVOverflowRows &o, int32_t k, int first, int step, const PetscScalar *x, PetscScalar *y)
{
  const int32_t     end   = o.offsets[k + 1];
  const PetscScalar value = x[o.rows[k]];

  for (int32_t i = o.offsets[k] + first; i < end; i += step) AddAtomically(y + o.columns[i], Times<CONJUGATE>(o.values[i], value));
}

template <bool CONJUGATE>
struct AddShortTransposed {
  SpMVOverflowRows   o;
  const PetscScalar *x;
  PetscScalar       *y;

  __device__ void operator()(PetscCount t) const
  {
    const int32_t k = (int32_t)(t / TRANSPOSE_LANES);

    if (o.offsets[k + 1] - o.offsets[k] <= SPMV_OVERFLOW_ROW) AddTransposedRow<CONJUGATE>(o, k, (int)(t % TRANSPOSE_LANES), TRANSPOSE_LANES, x, y);
  }
};

template <bool CONJUGATE>
__global__ void __launch_bounds__(LONG_THREADS) AddLongTransposedKernel(const SpMVOverflowRows o, const int32_t *long_rows, const PetscScalar *x, PetscScalar *y)
{
  AddTransposedRow<CONJUGATE>(o, long_rows[blockIdx.x], (int)threadIdx.x, LONG_THREADS, x, y);
}

template <bool CONJUGATE>
PetscErrorCode AddTranspose(DCSROverflow overflow, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  const SpMVOverflowRows o = SpMVOverflowGetRows(overflow);

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)overflow->num * TRANSPOSE_LANES, AddShortTransposed<CONJUGATE>{o, x, y}, stream));
  if (overflow->num_long) {
    AddLongTransposedKernel<CONJUGATE><<<(unsigned int)overflow->num_long, LONG_THREADS, 0, stream>>>(o, overflow->long_rows, x, y);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpMVOverflowView - the rows that have an overflow as a compact matrix; borrowed */
DCSRView SpMVOverflowView(DCSROverflow o)
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

/* DCSROverflowIsFor - whether a view is fragmented storage with a base, values and 32-bit offsets */
PetscBool DCSROverflowIsFor(DCSRView view)
{
  return (PetscBool)(view.segments != NULL && view.base_offsets != NULL && !view.wide && view.values != NULL);
}

/*
  DCSROverflowCreate - copies the entries of fragmented storage that are not in its base, sorted. DCSROverflowIsFor() the view
  overflow: of this structure, with the values of now; NULL after an error. Free it with DCSROverflowDestroy(). Waits once for its size, and again where a row has more than SPMV_OVERFLOW_ROW entries.
  Cost: one pass over row sizes and base offsets, a read of the entries where they lie, a write of 12 bytes each (16 with complex numbers, 20 with those in double precision), 8 bytes a row that has some, and 1/4 a row.
*/
PetscErrorCode DCSROverflowCreate(DCSRView view, cudaStream_t stream, DCSROverflow *overflow)
{
  const int32_t  num_marks = NumMarks(view);
  PetscErrorCode ierr      = PETSC_SUCCESS;
  int64_t       *sums      = NULL;
  Found         *found     = NULL;
  DCSROverflow   o;

  PetscFunctionBegin;
  *overflow = NULL;
  PetscCall(PetscNew(&o));
  o->num_rows    = view.num_rows;
  o->num_columns = view.num_columns;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(num_marks, "marks of rows with new entries", stream, &o->marks));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc((PetscCount)num_marks + 1, "sums of rows with new entries", stream, &sums));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "facts of new entries", stream, &found));
  PetscCallGoto(ierr, done, Fill(o, view, num_marks, sums, found, stream));
  *overflow = o;
done:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscCall(PetscSparseCUDAFree(&found, stream));
  if (ierr) PetscCall(DCSROverflowDestroy(&o, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowSetValues - copies the values of the view, whose structure is that of the overflow, again. Asynchronous */
PetscErrorCode DCSROverflowSetValues(DCSROverflow overflow, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Copy(overflow, view, NumMarks(view), NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSROverflowMerge - compact storage of the same matrix: its base and its overflow are merged. DCSROverflowIsFor() the view
  to has the sizes of the view and 32-bit offsets; its row offsets are there, columns and values [num_nonzeros] are allocated. Waits as DCSROverflowCreate() does; cost: that, and a read and a write of the matrix.
*/
PetscErrorCode DCSROverflowMerge(DCSRView view, DCSRView to, cudaStream_t stream)
{
  PetscErrorCode ierr;
  DCSROverflow   o;

  PetscFunctionBegin;
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
  PetscCall(PetscSparseCUDAFree(&o->marks, stream));
  PetscCall(PetscSparseCUDAFree(&o->rows, stream));
  PetscCall(PetscSparseCUDAFree(&o->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&o->columns, stream));
  PetscCall(PetscSparseCUDAFree(&o->values, stream));
  PetscCall(PetscSparseCUDAFree(&o->long_rows, stream));
  PetscCall(PetscSparseCUDAFree(&o->blocks, stream));
  PetscCall(DCSRSpMVPlanDestroy(&o->plan, stream));
  PetscCall(PetscFree(*overflow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowBytes - the device memory that it holds */
size_t DCSROverflowBytes(DCSROverflow o)
{
  return ((size_t)o->num_rows + SPMV_WARP - 1) / SPMV_WARP * sizeof(*o->marks) + (2 * (size_t)o->num + 1 + (size_t)o->num_long + 2 * (size_t)o->num_blocks) * sizeof(int32_t) +
         (size_t)o->num_entries * (sizeof(*o->columns) + sizeof(*o->values)) + (o->plan ? o->plan->bytes : 0);
}

/*
  DCSROverflowSetPlan - what products need, with the plan of the base; done once
  The split kernel adds the overflow itself, unless a row has very many new entries or empty rows are skipped; others leave it to a launch of its own. Asynchronous in the first case; cost: 8 bytes a thread block.
*/
PetscErrorCode DCSROverflowSetPlan(DCSROverflow o, DCSRSpMVPlan plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (o->blocks != NULL || o->plan != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (plan->entry == NULL || plan->entry->launch_overflow == NULL || plan->compressed || o->longest > SPMV_OVERFLOW_ROW) PetscCall(CreatePlan(o, stream));
  else {
    PetscCall(PetscSparseCUDAMalloc(2 * (PetscCount)plan->num_blocks, "new entries of thread blocks", stream, &o->blocks));
    PetscCallCUDA(DCSRForEach(plan->num_blocks, BlockRange{plan->blocks, (int32_t)o->num_rows, o->num, o->marks, o->offsets, (int2 *)o->blocks}, stream));
    o->num_blocks = plan->num_blocks;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowAddTranspose - y += op(O) x with op the transpose or (conjugate) the Hermitian transpose: one atomic an entry, so the last bits vary from run to run. Asynchronous */
PetscErrorCode DCSROverflowAddTranspose(DCSROverflow overflow, PetscBool conjugate, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX) && conjugate) PetscCall(AddTranspose<true>(overflow, x, y, stream));
  else PetscCall(AddTranspose<false>(overflow, x, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
