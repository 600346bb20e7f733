/*
  The blocks of a parallel matrix as one matrix, for products. They are joined, packed for other processes, stacked with what came from there, and split again.

  Packed rows are sorted by global columns: ghosts below the own columns come first, then the own columns, then the ghosts above. In joined and stacked matrices the own
  columns come first.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/rowloop.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include <petscsparsecuda/blocks.h>

namespace
{

/* First of n sorted columns that is not below column. */
__device__ inline PetscCount Position(const int32_t *sorted, PetscCount n, int32_t column)
{
  return LowerBound(sorted, (PetscCount)0, n, column);
}

struct JoinOffsets {
  Offsets         left, right, joined;
  __device__ void operator()(PetscCount row) const { joined.Set(row, left(row) - left(0) + right(row) - right(0)); }
};

/* Entries of one of the matrices on their way into the joined one. */
struct JoinEntry {
  using Result = void;
  DCSRView        from, to;
  Offsets         before, joined; // before: of the left matrix
  bool            behind;         // from is the right matrix
  int32_t         shift;          // columns grow by that
  bool            structure, values;
  __device__ void Visit(RowEntry e) const
  {
    const PetscCount k = joined(e.row) + (behind ? before(e.row + 1) - before(e.row) : 0) + e.index;

    if (structure) to.columns[k] = from.columns[e.position] + shift;
    if (values) to.values[k] = from.values[e.position];
  }
};

/* Row offsets of a part of a matrix, at their position in those of the whole. */
struct PlaceOffsets {
  Offsets         part, whole;
  PetscCount      first_row, first_entry;
  __device__ void operator()(PetscCount row) const { whole.Set(first_row + row, first_entry + part(row)); }
};

struct RowSize {
  Offsets         offsets;
  const int32_t  *rows;
  int32_t        *sizes;
  __device__ void operator()(PetscCount k) const
  {
    const PetscCount row = rows ? (PetscCount)rows[k] : k;

    sizes[k] = (int32_t)(offsets(row + 1) - offsets(row));
  }
};

/* Where an entry of a packed row is in the row of the joined matrix that begins at row. */
__device__ inline PetscCount FromPacked(const DCSRColumns &columns, const int32_t *row, PetscCount size, PetscCount k)
{
  const PetscCount own   = Position(row, size, (int32_t)columns.num_own);
  const PetscCount below = Position(row + own, size - own, (int32_t)(columns.num_own + columns.num_below));

  return k < below ? own + k : k < below + own ? k - below : k;
}

struct PackEntry {
  using Result = void;
  DCSRView        from, packed;
  Offsets         offsets;
  DCSRColumns     columns;
  const int32_t  *rows;
  bool            structure, values;
  __device__ void Visit(RowEntry e) const
  {
    const PetscCount row = rows ? (PetscCount)rows[e.row] : (PetscCount)e.row, begin = offsets(row);
    const PetscCount k      = begin + FromPacked(columns, from.columns + begin, e.size, e.index);
    const int32_t    column = from.columns[k];

    if (structure) packed.columns[e.position] = column < columns.num_own ? column + (int32_t)columns.begin : columns.ghosts[column - columns.num_own];
    if (values) packed.values[e.position] = from.values[k];
  }
};

struct StackOffsets {
  Offsets         upper, lower, stacked;
  PetscCount      num_upper, num_nonzeros; // rows and entries of the upper part
  __device__ void operator()(PetscCount row) const { stacked.Set(row, row < num_upper ? upper(row) : num_nonzeros + lower(row - num_upper)); }
};

struct StackUpper {
  using Result = void;
  DCSRView        from, stacked;
  const int32_t  *map;
  int32_t         num_own;
  __device__ void Visit(RowEntry e) const
  {
    const int32_t column = from.columns[e.position];

    stacked.columns[e.position] = map && column >= num_own ? num_own + map[column - num_own] : column; // the upper rows begin at 0 in both
  }
};

struct StackLower {
  using Result = void;
  DCSRView        packed, stacked;
  Offsets         offsets, stacked_offsets;
  DCSRColumns     columns;
  PetscCount      first; // row
  __device__ void Visit(RowEntry e) const
  {
    const int32_t   *row    = packed.columns + offsets(e.row);
    const PetscCount begin  = Position(row, e.size, (int32_t)columns.begin);
    const PetscCount end    = begin + Position(row + begin, e.size - begin, (int32_t)(columns.begin + columns.num_own));
    const PetscCount k      = e.index < begin ? end - begin + e.index : e.index < end ? e.index - begin : e.index;
    const int32_t    column = packed.columns[e.position];
    const bool       own    = e.index >= begin && e.index < end;

    stacked.columns[stacked_offsets(first + e.row) + k] = own ? column - (int32_t)columns.begin : (int32_t)(columns.num_own + Position(columns.ghosts, columns.num_ghosts, column));
  }
};

struct UnpackEntry {
  using Result = void;
  DCSRView        packed, stacked;
  Offsets         stacked_offsets;
  DCSRColumns     columns;
  PetscCount      first; // row
  __device__ void Visit(RowEntry e) const
  {
    const PetscCount begin = stacked_offsets(first + e.row);

    stacked.values[begin + FromPacked(columns, stacked.columns + begin, e.size, e.index)] = packed.values[e.position];
  }
};

/* Own entries of a row; none behind the last row. */
struct CountOwn {
  DCSRView        view;
  Offsets         offsets;
  int32_t         num_own;
  int64_t        *counts;
  __device__ void operator()(PetscCount row) const { counts[row] = row < view.num_rows ? (int64_t)Position(view.columns + offsets(row), offsets(row + 1) - offsets(row), num_own) : 0; }
};

struct SplitOffsets {
  Offsets         offsets, own, ghost;
  const int64_t  *begins;
  __device__ void operator()(PetscCount row) const
  {
    own.Set(row, (PetscCount)begins[row]);
    ghost.Set(row, offsets(row) - (PetscCount)begins[row]);
  }
};

struct SplitEntry {
  using Result = void;
  DCSRView        view, own, ghost;
  Offsets         own_offsets, ghost_offsets;
  const int32_t  *ghosts;
  int32_t         num_own;
  bool            structure;
  __device__ void Visit(RowEntry e) const
  {
    const PetscCount begin = own_offsets(e.row), size = own_offsets(e.row + 1) - begin;

    if (e.index < size) {
      if (structure) own.columns[begin + e.index] = view.columns[e.position];
      else own.values[begin + e.index] = view.values[e.position];
    } else {
      const PetscCount k = ghost_offsets(e.row) + e.index - size;

      const int32_t c = structure ? view.columns[e.position] - num_own : 0;

      if (structure) ghost.columns[k] = ghosts ? ghosts[c] : c;
      else ghost.values[k] = view.values[e.position];
    }
  }
};

} // namespace

/*
  DCSRJoinColumns - Two matrices with the same rows side by side: the columns of right come behind all of the left one. Asynchronous
  Both may be rows of larger matrices, whose row offsets do not begin at 0.
  write: structure, values or both; the structure must be there when only values are written. The arrays of joined are allocated by the caller for the entries of both. Cost: one read and write of what
  is written.
*/
PetscErrorCode DCSRJoinColumns(DCSRView left, DCSRView right, DCSRWrite write, cudaStream_t stream, DCSRView joined)
{
  const bool structure = write != DCSR_WRITE_VALUES, values = write != DCSR_WRITE_STRUCTURE;

  PetscFunctionBegin;
  if (structure) PetscCallCUDA(DCSRForEach((PetscCount)left.num_rows + 1, JoinOffsets{Offsets(left), Offsets(right), Offsets(joined)}, stream));
  PetscCall(RowLoop(left, JoinEntry{left, joined, Offsets(left), Offsets(joined), false, 0, structure, values}, stream));
  if (right.num_nonzeros > 0) PetscCall(RowLoop(right, JoinEntry{right, joined, Offsets(left), Offsets(joined), true, (int32_t)left.num_columns, structure, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetRowSizes - Entries of some rows, which are compact: rows [n] and sizes [n] on the device; without rows, the first n. Asynchronous on the stream. */
PetscErrorCode DCSRGetRowSizes(DCSRView view, PetscInt n, const int32_t rows[], int32_t sizes[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach((PetscCount)n, RowSize{Offsets(view), rows, sizes}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRPackRows - Rows of a joined or stacked matrix as other processes want them: with global columns, ascending. Asynchronous
  columns are those of view; ghosts may be NULL when only values are written. rows [packed.num_rows], device: which rows; NULL: all. write: structure, values or both; row offsets are set by the caller
  in any case. The arrays of packed are allocated by the caller.
  Cost: reads and writes the rows, with two binary searches an entry.
*/
PetscErrorCode DCSRPackRows(DCSRView view, DCSRColumns columns, const int32_t rows[], DCSRWrite write, cudaStream_t stream, DCSRView packed)
{
  PetscFunctionBegin;
  if (packed.num_nonzeros > 0) PetscCall(RowLoop(packed, PackEntry{view, packed, Offsets(view), columns, rows, write != DCSR_WRITE_VALUES, write != DCSR_WRITE_STRUCTURE}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRStackRows - Structure of a joined matrix with packed rows, which have global columns, below it. Asynchronous
  map [its ghosts], device: their numbers among the new ghosts, ascending; NULL: they are the same. columns: own columns and new ghosts, which are all ghosts of both.
  The structure of stacked is allocated by the caller; values of the upper rows belong at the positions where they are in view.
*/
PetscErrorCode DCSRStackRows(DCSRView view, const int32_t map[], DCSRView packed, DCSRColumns columns, cudaStream_t stream, DCSRView stacked)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)stacked.num_rows + 1, StackOffsets{Offsets(view), Offsets(packed), Offsets(stacked), (PetscCount)view.num_rows, view.num_nonzeros}, stream));
  if (view.num_nonzeros > 0) PetscCall(RowLoop(view, StackUpper{view, stacked, map, (int32_t)columns.num_own}, stream));
  if (packed.num_nonzeros > 0) PetscCall(RowLoop(packed, StackLower{packed, stacked, Offsets(packed), Offsets(stacked), columns, (PetscCount)view.num_rows}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRPlaceRows - The rows of a part of a matrix go to their place in the whole, whose arrays are allocated by the caller. Asynchronous
  part is compact, with values; its columns are those of the whole. Its rows begin at first_row, its entries at first_entry of the whole. Cost: one read and write of the part.
*/
PetscErrorCode DCSRPlaceRows(DCSRView part, PetscCount first_row, PetscCount first_entry, cudaStream_t stream, DCSRView whole)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)part.num_rows + 1, PlaceOffsets{Offsets(part), Offsets(whole), first_row, first_entry}, stream));
  if (part.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(whole.columns + first_entry, part.columns, (size_t)part.num_nonzeros * sizeof(*part.columns), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(whole.values + first_entry, part.values, (size_t)part.num_nonzeros * sizeof(*part.values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRUnpackValues - Values of packed rows, with row offsets, go into the rows of a stacked matrix from first on. columns are of the stacked matrix; ghosts are not read. Asynchronous */
PetscErrorCode DCSRUnpackValues(DCSRView packed, DCSRColumns columns, PetscInt first, cudaStream_t stream, DCSRView stacked)
{
  PetscFunctionBegin;
  if (packed.num_nonzeros > 0) PetscCall(RowLoop(packed, UnpackEntry{packed, stacked, Offsets(stacked), columns, (PetscCount)first}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSplitColumns - Structures of the own and of the ghost columns of a joined matrix, both owned by the caller; synchronizes
  ghost has global columns, and its num_columns is 0. columns.ghosts NULL: the columns of view behind its own ones are num_own and the global number. Nothing stays allocated after an error.
*/
PetscErrorCode DCSRSplitColumns(DCSRView view, DCSRColumns columns, cudaStream_t stream, DCSRView *own, DCSRView *ghost)
{
  const PetscCount n      = (PetscCount)view.num_rows + 1;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  int64_t         *begins = NULL, num_own;
  PetscBool        own_wide, ghost_wide;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(own, 1));
  PetscCall(PetscArrayzero(ghost, 1));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "own entries of rows", stream, &begins));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(n, CountOwn{view, Offsets(view), (int32_t)columns.num_own, begins}, stream));
  PetscCallGoto(ierr, failed, DCSRExclusiveSum("workspace to sum own entries of rows", begins, n, stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(&num_own, begins + n - 1, sizeof(num_own), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, failed, cudaStreamSynchronize(stream));
  PetscCallGoto(ierr, failed, DCSRNeedsWide((PetscCount)num_own, &own_wide));
  PetscCallGoto(ierr, failed, DCSRNeedsWide(view.num_nonzeros - (PetscCount)num_own, &ghost_wide));
  PetscCallGoto(ierr, failed, DCSRViewAllocateStructure(view.num_rows, columns.num_own, (PetscCount)num_own, own_wide, stream, own));
  PetscCallGoto(ierr, failed, DCSRViewAllocateStructure(view.num_rows, 0, view.num_nonzeros - (PetscCount)num_own, ghost_wide, stream, ghost));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(n, SplitOffsets{Offsets(view), Offsets(*own), Offsets(*ghost), begins}, stream));
  if (view.num_nonzeros > 0) PetscCallGoto(ierr, failed, RowLoop(view, SplitEntry{view, *own, *ghost, Offsets(*own), Offsets(*ghost), columns.ghosts, (int32_t)columns.num_own, true}, stream));
failed:
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(own, stream));
    PetscCall(DCSRViewFree(ghost, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSplitValues - Values of a joined matrix go into those of the two that DCSRSplitColumns() made of it; all are allocated by the caller.
*/
PetscErrorCode DCSRSplitValues(DCSRView view, DCSRView own, DCSRView ghost, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.num_nonzeros > 0) PetscCall(RowLoop(view, SplitEntry{view, own, ghost, Offsets(own), Offsets(ghost), NULL, 0, false}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
