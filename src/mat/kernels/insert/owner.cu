/*
  Entries of a list in the order of the processes that own their rows: a binary search an entry, and a stable sort over the few bits that owners need.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/sort.h"
#include <petscsparsecuda/insert.h>

namespace
{

/* Owner of entry k; num_owners when its row lies beyond the last range. */
struct FindOwner {
  PetscInt          num_owners;
  const PetscInt   *ranges; // [num_owners + 1]
  const PetscCount *where;  // NULL: all entries of the list
  const PetscInt   *rows;
  uint32_t         *owners;
  PetscCount       *positions;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount position = where ? where[k] : k;

    // the last range that begins at or before the row; empty ranges before it begin there, too
    owners[k]    = (uint32_t)(UpperBound(ranges, (PetscCount)0, (PetscCount)num_owners + 1, rows[position]) - 1);
    positions[k] = position;
  }
};

/* ends[o] is how many entries have owners up to o. */
struct FindEnds {
  const uint32_t *owners; // [n] ascending
  PetscCount      n;
  PetscInt       *ends;
  __device__ void operator()(PetscInt o) const { ends[o] = (PetscInt)UpperBound(owners, (PetscCount)0, n, (uint32_t)o); }
};

/* Says which row is too large: the first one behind those that have owners. */
PetscErrorCode ReportBadRow(PetscInt num_rows, const PetscInt rows[], const PetscCount *position, cudaStream_t stream)
{
  PetscCount where;
  PetscInt   row;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(&where, position, sizeof(where), stream));
  PetscCall(PetscSparseCUDACopyToHost(&row, rows + where, sizeof(row), stream));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO row index %" PetscInt_FMT " is >= the matrix row size %" PetscInt_FMT, where, row, num_rows);
}

} // namespace

/*
  DCSRSortByOwner - puts entries of a list in the order of their owners, those of one owner in the order of the list; synchronizes with the stream
  ranges [num_owners + 1], host: the rows of each process begin there. n: at most 2^31 - 1. where [n], device: positions of the entries in the list, ascending; NULL: the list has n entries. rows, device:
  of the list, not negative.
  order [n], device: positions in the list; to be freed with PetscSparseCUDAFree(); NULL when n is 0. starts [num_owners + 1], host: where the entries of each owner begin in order.
  PETSC_ERR_ARG_OUTOFRANGE for a row beyond the last range.
  Cost: a radix sort of 12 bytes an entry over the bits of the number of processes. Workspace: 24 bytes an entry.
*/
PetscErrorCode DCSRSortByOwner(PetscInt num_owners, const PetscInt ranges[], PetscCount n, const PetscCount where[], const PetscInt rows[], cudaStream_t stream, PetscCount **order, PetscInt starts[])
{
  PetscInt      *ranges_device = NULL, *ends = NULL;
  uint32_t      *owners = NULL, *sorted = NULL;
  PetscCount    *positions = NULL;
  PetscErrorCode ierr      = PETSC_SUCCESS;

  PetscFunctionBegin;
  *order = NULL;
  PetscCall(PetscArrayzero(starts, num_owners + 1));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_owners + 1, "ranges of rows", stream, &ranges_device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_owners, "numbers of entries for other processes", stream, &ends));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "owners of entries", stream, &owners));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "owners of entries", stream, &sorted));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "positions of entries for other processes", stream, &positions));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "order of entries for other processes", stream, order));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(ranges_device, ranges, ((size_t)num_owners + 1) * sizeof(*ranges), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, FindOwner{num_owners, ranges_device, where, rows, owners, positions}, stream));
  PetscCallGoto(ierr, cleanup, DCSRSortPairs32With64("workspace to sort entries by owner", n, PetscMax(DCSRKeyBits(num_owners + 1), 1), owners, sorted, positions, *order, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(num_owners, FindEnds{sorted, n, ends}, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(starts + 1, ends, (size_t)num_owners * sizeof(*ends), stream));
  if (starts[num_owners] < n) PetscCallGoto(ierr, cleanup, ReportBadRow(ranges[num_owners], rows, *order + starts[num_owners], stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&ranges_device, stream));
  PetscCall(PetscSparseCUDAFree(&ends, stream));
  PetscCall(PetscSparseCUDAFree(&owners, stream));
  PetscCall(PetscSparseCUDAFree(&sorted, stream));
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAFree(order, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
