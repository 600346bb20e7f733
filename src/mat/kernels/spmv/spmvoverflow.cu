/*
  The overflow of fragmented storage. Insertion leaves the rows of the base where they are, one behind the other, and puts new entries into segments behind them, a cache line or more for each of its
  few. Products read the base as compact storage, and add those with a sorted copy of the rest: a matrix of the rows that have some. King, Gilray, Kirby, Might: Dynamic-CSR, ISC 2016, traverse the
  segments in their product.

  Tried on an NVIDIA H200 (2026-11-29): the split kernel adds the overflow of its rows itself, through shared memory. A thread block waits for one load more, and takes 1.35 to 1.5 times as long where
  2 % were inserted; the second launch takes 1.06 times as long for R-MAT.
*/
#include "spmvimpl.h"
#include "../common/foreach.cuh"
#include "../common/reduce.h"
#include "../common/reduce.h"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/select.h"
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/spmvtranspose.h>

namespace
{

constexpr int THREADS = 256;
constexpr int TILE    = 2048; // rows and entries of a thread block

struct Segment {
  int32_t begin, end;
};

/* Entries of a row outside of the base. */
struct CountRow {
  DCSRView        view;
  int32_t        *sizes;
  __device__ void operator()(int32_t row) const { sizes[row] = view.row_sizes[row] - (view.base_offsets[row + 1] - view.base_offsets[row]); }
};

/* Offsets of the rows that have some, from those of all rows. */
struct ListOffset {
  const int32_t  *all, *rows;
  int32_t         num_rows, num;
  int32_t        *offsets;
  __device__ void operator()(int32_t k) const { offsets[k] = all[k < num ? rows[k] : num_rows]; }
};

/* Where the overflow of a row begins: of row k of a list, or of all rows, for which it is the difference of the offsets in compact storage and in the base. */
struct Rows {
  int32_t        num;
  const int32_t *list;           // [num]; NULL: all rows
  const int32_t *offsets, *base; // [num + 1] both; base NULL: offsets are those of the overflow

  __device__ int32_t Row(int32_t k) const { return list ? list[k] : k; }
  __device__ int32_t Offset(int32_t k) const { return base ? offsets[k] - base[k] : offsets[k]; }
};

/* Entry i of the overflow of a row that has so many. */
struct Entry {
  int32_t row, i, size;
  int32_t first; // the overflow of this row begins there
};

/* Where an entry lies in the pool, and which one of the sorted overflow it is. */
struct Place {
  int32_t from, column, to;
};

/* Segments of a row are sorted and have no column in common: an entry's rank is its position in its segment and, for each other segment, the number of smaller columns there. */
__device__ __forceinline__ Place FindPlace(const DCSRView &view, const Entry &e)
{
  const Segment *pair = (const Segment *)view.segments + e.row + (view.base_offsets[e.row] < view.base_offsets[e.row + 1] ? view.pitch : 0);
  int32_t        i = e.i, mine = 0, left = e.size;
  Segment        segment = pair[0];
  Place          p;

  for (; i >= segment.end - segment.begin; segment = pair[++mine * view.pitch]) i -= segment.end - segment.begin;
  p.from   = segment.begin + i;
  p.column = view.columns[p.from];
  p.to     = e.first + i;
  if (mine == 0 && segment.end - segment.begin >= left) return p; // one segment, as most rows have
  for (int s = 0; left > 0; s++) {
    const Segment other  = pair[s * view.pitch];
    const int32_t length = min(other.end - other.begin, left);

    if (s != mine) p.to += LowerBound(view.columns, other.begin, other.begin + length, p.column) - other.begin;
    left -= length;
  }
  return p;
}

/* Copies an entry. columns NULL: the structure is there. */
struct CopyEntry {
  DCSRView     view;
  int32_t     *columns;
  PetscScalar *values;

  __device__ void operator()(const Entry &e) const
  {
    const Place p = FindPlace(view, e);

    if (columns) columns[p.to] = p.column;
    values[p.to] = view.values[p.from];
  }
};

/* Lists an entry for a merge with the base: where it lies, and the entry of the base before which it belongs. */
struct ListEntry {
  DCSRView view;
  int32_t *entries, *before;

  __device__ void operator()(const Entry &e) const
  {
    const Place p = FindPlace(view, e);

    entries[p.to] = p.from;
    before[p.to]  = LowerBound(view.columns, view.base_offsets[e.row], view.base_offsets[e.row + 1], p.column);
  }
};

/*
  Visits all entries of the overflow. A thread block has TILE of the rows and entries, in the order of a traversal of all rows: equal work, however rows are filled. Merge path:
  Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication, SC 2016.
*/
template <typename Visit>
__global__ void __launch_bounds__(THREADS) EntriesKernel(Rows rows, PetscCount num_entries, Visit visit)
{
  __shared__ int32_t ends[TILE]; // of the rows that end in the tile
  __shared__ int32_t row_begin[2];
  const PetscCount   all = rows.num + num_entries, begin = (PetscCount)blockIdx.x * TILE, end = begin + TILE < all ? begin + TILE : all;

  if (threadIdx.x < 64) {
    const PetscCount d = threadIdx.x < 32 ? begin : end, row = PartitionPointByWarp(0, rows.num, [&](PetscCount k) { return rows.Offset((int32_t)k + 1) + k + 1 <= d; });

    if (threadIdx.x % 32 == 0) row_begin[threadIdx.x / 32] = (int32_t)row;
  }
  __syncthreads();
  const int32_t first_row = row_begin[0], num_ends = row_begin[1] - first_row, first = (int32_t)(begin - first_row), last = (int32_t)(end - row_begin[1]);

  for (int32_t k = threadIdx.x; k < num_ends; k += THREADS) ends[k] = rows.Offset(first_row + k + 1);
  __syncthreads();
  for (int32_t q = first + (int32_t)threadIdx.x; q < last; q += THREADS) {
    const int32_t k = UpperBound(ends, 0, num_ends, q), row_first = k ? ends[k - 1] : rows.Offset(first_row), row_last = k < num_ends ? ends[k] : rows.Offset(first_row + k + 1);

    visit(Entry{rows.Row(first_row + k), q - row_first, row_last - row_first, row_first});
  }
}

template <typename Visit>
PetscErrorCode VisitEntries(Rows rows, PetscCount num_entries, Visit visit, cudaStream_t stream)
{
  const PetscCount blocks = (rows.num + num_entries + TILE - 1) / TILE;

  PetscFunctionBegin;
  if (num_entries) EntriesKernel<<<(unsigned int)blocks, THREADS, 0, stream>>>(rows, num_entries, visit);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sizes [num_rows], all [num_rows + 1] and num, device, are for this alone. */
PetscErrorCode Fill(DCSROverflow o, DCSRView view, int32_t sizes[], int32_t all[], int32_t *num, cudaStream_t stream)
{
  const int32_t num_rows = (int32_t)view.num_rows;
  DCSRSizeFacts facts;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(num_rows, CountRow{view, sizes}, stream));
  PetscCall(DCSROffsetsFromSizes("workspace to sum new entries of rows", sizes, (PetscCount)num_rows, all, stream));
  PetscCall(DCSRReduceSizes((PetscCount)num_rows, sizes, stream, &facts));
  o->num         = (int32_t)facts.num_nonempty_rows;
  o->num_entries = (PetscCount)facts.num_nonzeros;
  PetscCheck(o->num_entries == view.num_nonzeros - view.base_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries outside of the base, not %" PetscCount_FMT, o->num_entries,
             view.num_nonzeros - view.base_nonzeros);
  PetscCall(PetscSparseCUDAMalloc(o->num, "rows with new entries", stream, &o->rows));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)o->num + 1, "offsets of rows with new entries", stream, &o->offsets));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "columns of new entries", stream, &o->columns));
  PetscCall(PetscSparseCUDAMalloc(o->num_entries, "values of new entries", stream, &o->values));
  PetscCall(DCSRSelectLongRows("selection of rows with new entries", num_rows, all, 0, o->rows, num, stream));
  PetscCallCUDA(DCSRForEach(o->num + 1, ListOffset{all, o->rows, num_rows, o->num, o->offsets}, stream));
  PetscCall(VisitEntries(Rows{o->num, o->rows, o->offsets, NULL}, o->num_entries, CopyEntry{view, o->columns, o->values}, stream));
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

/* A plan of O for y += O x, whose rows stand for those of the matrix. */
PetscErrorCode CreatePlan(DCSROverflow o, cudaStream_t stream)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRSpMVPlan   plan;

  PetscFunctionBegin;
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

} // namespace

/* DCSROverflowIsFor - whether a view is fragmented storage with a base and values; with 64-bit offsets there is no base */
PetscBool DCSROverflowIsFor(DCSRView view)
{
  return (PetscBool)(view.segments != NULL && view.base_offsets != NULL && view.values != NULL);
}

/*
  DCSROverflowCreate - copies the entries of fragmented storage that are not in its base, sorted. DCSROverflowIsFor() the view
  overflow: of this structure, with the values of now; NULL after an error. Free it with DCSROverflowDestroy(). Waits once, for its size.
  Cost: a few passes over row sizes, 8 bytes a row while it lasts, a read of the entries where they lie, a write of 12 bytes each (8 and 20 with other scalars), and 8 bytes a row that has some.
*/
PetscErrorCode DCSROverflowCreate(DCSRView view, cudaStream_t stream, DCSROverflow *overflow)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  int32_t       *sizes = NULL, *all = NULL, *num = NULL;
  DCSROverflow   o;

  PetscFunctionBegin;
  *overflow = NULL;
  PetscCall(PetscNew(&o));
  o->num_columns = view.num_columns;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(view.num_rows, "new entries of rows", stream, &sizes));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc((PetscCount)view.num_rows + 1, "sums of new entries of rows", stream, &all));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "number of rows with new entries", stream, &num));
  PetscCallGoto(ierr, done, Fill(o, view, sizes, all, num, stream));
  *overflow = o;
done:
  PetscCall(PetscSparseCUDAFree(&sizes, stream));
  PetscCall(PetscSparseCUDAFree(&all, stream));
  PetscCall(PetscSparseCUDAFree(&num, stream));
  if (ierr) PetscCall(DCSROverflowDestroy(&o, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowSetValues - copies the values of the view, whose structure is that of the overflow, again. Asynchronous */
PetscErrorCode DCSROverflowSetValues(DCSROverflow o, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitEntries(Rows{o->num, o->rows, o->offsets, NULL}, o->num_entries, CopyEntry{view, NULL, o->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowPlan - makes what products with O, or with its transpose, need, once; synchronizes then. Cost: that of a plan for the rows that have an overflow, and a list of these */
PetscErrorCode DCSROverflowPlan(DCSROverflow o, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (transpose && o->transpose == NULL) PetscCall(DCSRSpMVTransposePlanCreateForRows(GetView(o), o->rows, stream, &o->transpose));
  else if (!transpose && o->plan == NULL) PetscCall(CreatePlan(o, stream));
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

/* DCSROverflowAddTranspose - y += op(O) x with op the transpose or (conjugate) the Hermitian transpose: one atomic an entry, so the last bits vary from run to run. Asynchronous, one launch */
PetscErrorCode DCSROverflowAddTranspose(DCSROverflow o, PetscBool conjugate, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposeApply(o->transpose, GetView(o), conjugate, x, y, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSROverflowMerge - compact storage of the same matrix: its base and its overflow are merged. DCSROverflowIsFor() the view. Asynchronous
  to has the sizes of the view and 32-bit offsets; its row offsets are there, columns and values [num_nonzeros] are allocated, values NULL: the structure alone. done = PETSC_FALSE: the device has no
  memory for it, and nothing was done. Cost: a pass over the rows, a read and a write of the matrix, its columns again, and 8 bytes an entry of the overflow while it lasts.
*/
PetscErrorCode DCSROverflowMerge(DCSRView view, DCSRView to, cudaStream_t stream, PetscBool *done)
{
  const PetscCount num     = view.num_nonzeros - view.base_nonzeros;
  int32_t         *entries = NULL, *before = NULL;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc(num, stream, &entries));
  if (entries || !num) PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc(num, stream, &before));
  *done = (PetscBool)(before || !num);
  if (*done) {
    const Rows rows = {(int32_t)view.num_rows, NULL, (const int32_t *)to.row_offsets, view.base_offsets};

    PetscCallGoto(ierr, cleanup, VisitEntries(rows, num, ListEntry{view, entries, before}, stream));
    PetscCallGoto(ierr, cleanup, DCSRMergeListed(DCSRViewGetBase(view), to, num, entries, before, view.columns, view.values, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&entries, stream));
  PetscCall(PetscSparseCUDAFree(&before, stream));
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
  PetscCall(DCSRSpMVPlanDestroy(&o->plan, stream));
  PetscCall(DCSRSpMVTransposePlanDestroy(&o->transpose, stream));
  PetscCall(PetscFree(*overflow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSROverflowGetBytes - the device memory that it holds */
PetscErrorCode DCSROverflowGetBytes(DCSROverflow o, size_t *bytes)
{
  size_t transpose = 0;

  PetscFunctionBegin;
  if (o->transpose) PetscCall(DCSRSpMVTransposePlanGetInfo(o->transpose, NULL, &transpose, NULL));
  *bytes = (2 * (size_t)o->num + 1) * sizeof(int32_t) + (size_t)o->num_entries * (sizeof(*o->columns) + sizeof(*o->values)) + (o->plan ? o->plan->bytes : 0) + transpose;
  PetscFunctionReturn(PETSC_SUCCESS);
}
