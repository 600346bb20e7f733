/*
  Slices: columns that occur are marked, numbered by a scan over all columns, and the entries get the numbers of theirs. Numbers ascend with the columns, so rows stay
  sorted and sums of products keep their order.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include <petscsparsecuda/slices.h>

namespace
{

/* First row of slice s, whose entries are the s-th n-th of all, and its first entry in each of the matrices. */
struct FindBound {
  Offsets    offsets, right;
  bool       has_right;
  PetscInt   num_rows, n, block; // block: rows that stay together
  PetscCount num_nonzeros;       // of both
  int64_t   *bounds;             // [3 (n + 1)] rows, then entries, then those of right

  __device__ int64_t Right(PetscInt row) const { return has_right ? right(row) : 0; }
  __device__ void    operator()(PetscInt s) const
  {
    const int64_t  target = num_nonzeros / n * s + num_nonzeros % n * s / n;
    const PetscInt row    = PartitionPoint((PetscInt)0, num_rows, [&](PetscInt k) { return offsets(k) + Right(k) < target; });
    const PetscInt begin  = s < n ? row - row % block : num_rows;

    bounds[s]               = begin;
    bounds[n + 1 + s]       = offsets(begin);
    bounds[2 * (n + 1) + s] = Right(begin);
  }
};

struct MarkColumn {
  const int32_t *columns;
  int32_t       *marks, number;

  __device__ void operator()(PetscCount k) const
  {
    int32_t *mark = marks + columns[k];

    if (*mark != number) *mark = number; // all threads write the same
  }
};

/* 1 where a column is marked, 0 elsewhere and behind the last column. number 0: with any number. */
struct FlagMarked {
  const int32_t *marks;
  int32_t        number;
  PetscInt       n;
  int32_t       *flags; // [n + 1]

  __device__ void operator()(PetscCount column) const { flags[column] = column < n && (number ? marks[column] == number : marks[column] != 0) ? 1 : 0; }
};

struct ListColumn {
  const int32_t *marks, *numbers;
  int32_t        number;
  PetscInt      *columns;

  __device__ void operator()(PetscInt column) const
  {
    if (marks[column] == number) columns[numbers[column]] = column;
  }
};

struct RenumberColumn {
  const int32_t *columns, *numbers;
  int32_t       *to;

  __device__ void operator()(PetscCount k) const { to[k] = numbers[columns[k]]; }
};

/* Offset of row first + r, counted from another origin, becomes that of row target + r. */
struct MoveOffset {
  Offsets  offsets;
  PetscInt first, target;
  int64_t  shift;
  Offsets  to;

  __device__ void operator()(PetscInt r) const { to.Set((PetscCount)target + r, offsets((PetscCount)first + r) + shift); }
};

/* Row r of an identity matrix, and what is behind the last one. */
struct SetIdentity {
  PetscInt     n;
  Offsets      offsets;
  int32_t     *columns;
  PetscScalar *values;

  __device__ void operator()(PetscInt r) const
  {
    offsets.Set(r, r);
    if (r == n) return;
    columns[r] = (int32_t)r;
    values[r]  = 1.0;
  }
};

/* Numbers the columns marked with a number, or with any if that is 0; *n: how many there are. */
PetscErrorCode NumberColumns(PetscInt num_columns, int32_t number, const DCSRSliceMarks *marks, cudaStream_t stream, PetscInt *n)
{
  int32_t host;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)num_columns + 1, FlagMarked{marks->marks, number, num_columns, marks->numbers}, stream));
  PetscCall(DCSRExclusiveSum("workspace to number the columns of a slice", marks->numbers, (PetscCount)num_columns + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&host, marks->numbers + num_columns, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *n = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRGetSliceBounds - n slices, at least 1, of a compact matrix of about equal numbers of entries; synchronizes the stream
  right: a matrix with as many rows that stands to the right of A, whose entries count, too; NULL: there is none.
  rows [n + 1], host: slice s has the rows from rows[s] to before rows[s + 1]; none where a row is longer than a slice should be. entries [n + 1], host: the same for A's entries. right_entries [n + 1],
  host: the same for those of right; NULL without it.
*/
PetscErrorCode DCSRGetSliceBounds(DCSRView A, const DCSRView *right, PetscInt n, PetscInt rows[], PetscCount entries[], PetscCount right_entries[], cudaStream_t stream)
{
  const size_t   num  = 3 * ((size_t)n + 1);
  FindBound      find = {Offsets(A), Offsets(right != NULL ? *right : A), right != NULL, A.num_rows, n, PetscMax(A.row_block, 1), A.num_nonzeros + (right != NULL ? right->num_nonzeros : 0), NULL};
  int64_t       *host = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(num, &host));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num, "bounds of slices", stream, &find.bounds));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n + 1, find, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(host, find.bounds, num * sizeof(*host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  for (PetscInt s = 0; s <= n; s++) {
    rows[s]    = (PetscInt)host[s];
    entries[s] = (PetscCount)host[n + 1 + s];
    if (right != NULL) right_entries[s] = (PetscCount)host[2 * (n + 1) + s];
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&find.bounds, stream));
  PetscCall(PetscFree(host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSliceMarksCreate - Marks for the slices of a matrix of so many columns; none is marked. Errors: PETSC_ERR_MEM, and the marks are zero then. */
PetscErrorCode DCSRSliceMarksCreate(PetscInt num_columns, cudaStream_t stream, DCSRSliceMarks *marks)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  marks->marks = marks->numbers = NULL;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_columns, "marks of the columns of slices", stream, &marks->marks));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc((PetscCount)num_columns + 1, "numbers of the columns of slices", stream, &marks->numbers));
  if (num_columns > 0) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(marks->marks, 0, (size_t)num_columns * sizeof(*marks->marks), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSliceMarksDestroy(marks, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRSliceMarksCount - How many different columns the slices made so far have; synchronizes. Errors: PETSC_ERR_MEM. */
PetscErrorCode DCSRSliceMarksCount(PetscInt num_columns, const DCSRSliceMarks *marks, cudaStream_t stream, PetscInt *n)
{
  PetscFunctionBegin;
  PetscCall(NumberColumns(num_columns, 0, marks, stream, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSliceMarksDestroy - Frees the marks, which are zero afterwards. */
PetscErrorCode DCSRSliceMarksDestroy(DCSRSliceMarks *marks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&marks->marks, stream));
  PetscCall(PetscSparseCUDAFree(&marks->numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSliceCreate - Consecutive rows of a compact matrix, with or without values, with the columns that occur in them; synchronizes the stream
  rows [2], host: the first row, and the one behind the last. entries [2], host: the same for the entries. number of the slice, from 1; no other slice that uses the marks has it. marks are of A's
  columns. slice is zero after an error; DCSRSliceDestroy() frees it.
  Cost: three reads of the slice's columns and one write, 36 bytes a column of A.
*/
PetscErrorCode DCSRSliceCreate(DCSRView A, const PetscInt rows[], const PetscCount entries[], int32_t number, const DCSRSliceMarks *marks, cudaStream_t stream, DCSRSlice *slice)
{
  const PetscInt   num_rows = rows[1] - rows[0];
  const PetscCount num      = entries[1] - entries[0];
  const int32_t   *columns  = num > 0 ? A.columns + entries[0] : NULL;
  DCSRView        *view     = &slice->view;
  PetscInt         n;
  PetscBool        wide;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(slice, 1));
  PetscCallCUDA(DCSRForEach(num, MarkColumn{columns, marks->marks, number}, stream));
  PetscCall(NumberColumns(A.num_columns, number, marks, stream, &n));
  PetscCall(DCSRNeedsWide(num, &wide));
  PetscCall(DCSRViewAllocateStructure(num_rows, n, num, wide, stream, view));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "columns of a slice", stream, &slice->columns));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(A.num_columns, ListColumn{marks->marks, marks->numbers, number, slice->columns}, stream));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(num, RenumberColumn{columns, marks->numbers, view->columns}, stream));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(num_rows + 1, MoveOffset{Offsets(A), rows[0], 0, -(int64_t)entries[0], Offsets(*view)}, stream));
  if (A.values != NULL && num > 0) view->values = A.values + entries[0];
  view->row_block    = A.row_block; // full blocks keep all of their columns
  view->column_block = A.column_block;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSliceDestroy(slice, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRSliceDestroy - Frees a slice, which is zero afterwards. */
PetscErrorCode DCSRSliceDestroy(DCSRSlice *slice, cudaStream_t stream)
{
  PetscFunctionBegin;
  slice->view.values = NULL; // the matrix's
  PetscCall(DCSRViewFree(&slice->view, stream));
  PetscCall(PetscSparseCUDAFree(&slice->columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCopyRows - Puts the rows of a compact chunk into a compact matrix, whose arrays are written: at first_row, its entries at first_entry. Asynchronous
  what: structure: row offsets, the one behind the last row, too, and columns.
*/
PetscErrorCode DCSRCopyRows(DCSRView chunk, PetscInt first_row, PetscCount first_entry, DCSRWrite what, cudaStream_t stream, DCSRView to)
{
  const size_t num = (size_t)chunk.num_nonzeros;

  PetscFunctionBegin;
  if (what != DCSR_WRITE_VALUES) {
    PetscCallCUDA(DCSRForEach(chunk.num_rows + 1, MoveOffset{Offsets(chunk), 0, first_row, (int64_t)first_entry, Offsets(to)}, stream));
    if (num > 0) PetscCallCUDA(cudaMemcpyAsync(to.columns + first_entry, chunk.columns, num * sizeof(*to.columns), cudaMemcpyDeviceToDevice, stream));
  }
  if (what != DCSR_WRITE_STRUCTURE && num > 0) PetscCallCUDA(cudaMemcpyAsync(to.values + first_entry, chunk.values, num * sizeof(*to.values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRIdentityCreate - The identity matrix of n rows; the caller owns its arrays, which are NULL after an error. Asynchronous on the stream. Errors: PETSC_ERR_MEM. */
PetscErrorCode DCSRIdentityCreate(PetscInt n, cudaStream_t stream, DCSRView *view)
{
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateCompact(n, n, n, wide, stream, view));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(n + 1, SetIdentity{n, Offsets(*view), view->columns, view->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}
