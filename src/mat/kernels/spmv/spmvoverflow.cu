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
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/select.h"
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/spmvtranspose.h>

namespace
{

constexpr size_t MERGE_OTHERS = (size_t)1 << 20; // bytes: CUB's workspace, and what arrays are rounded up to

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
    int32_t        i = e - offsets[k], left = offsets[k + 1] - offsets[k], mine = 0, from, column, to;

    for (; i >= pair[mine * view.pitch].end - pair[mine * view.pitch].begin; mine++) i -= pair[mine * view.pitch].end - pair[mine * view.pitch].begin;
    from   = pair[mine * view.pitch].begin + i;
    column = view.columns[from];
    to     = offsets[k] + i;
    for (int s = 0; left > 0; s++) {
      const Segment segment = pair[s * view.pitch];
      const int32_t length  = min(segment.end - segment.begin, left);

      if (s != mine) to += LowerBound(view.columns, segment.begin, segment.begin + length, column) - segment.begin;
      left -= length;
    }
    if (columns) columns[to] = column;
    values[to] = view.values[from];
  }
};

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
  PetscCallCUDA(DCSRForEach((int32_t)o->num_entries, CopyEntry{view, o->num, o->rows, o->offsets, o->columns, o->values}, stream));
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
  PetscCallCUDA(DCSRForEach((int32_t)o->num_entries, CopyEntry{view, o->num, o->rows, o->offsets, NULL, o->values}, stream));
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
  DCSROverflowMerge - compact storage of the same matrix: its base and its overflow are merged. DCSROverflowIsFor() the view
  to has the sizes of the view and 32-bit offsets; its row offsets are there, columns and values [num_nonzeros] are allocated. done = PETSC_FALSE: the device has no memory for it, and nothing was done.
  Waits as DCSROverflowCreate() does; cost: that, 8 bytes an entry of the overflow while it lasts, and a read and a write of the matrix.
*/
PetscErrorCode DCSROverflowMerge(DCSRView view, DCSRView to, cudaStream_t stream, PetscBool *done)
{
  const size_t   entries = (size_t)(view.num_nonzeros - view.base_nonzeros), rows = PetscMin(entries, (size_t)view.num_rows);
  const size_t   bytes = entries * (sizeof(PetscScalar) + 3 * sizeof(int32_t)) + 2 * (rows + (size_t)view.num_rows) * sizeof(int32_t) + MERGE_OTHERS;
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
