/*
  Rows of a parallel matrix on one process. They are a stack as in products: the joined blocks of this process, and below them each row of another process that is
  wanted, once. Who needs which entries is found out when the rows are gathered; afterwards values alone travel.
*/
#include "gatheredrows.h"
#include "submatrix.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

/* Rows of other processes in the index sets, each once, ascending. */
static PetscErrorCode GetWanted(Mat A, PetscInt n, const IS rows[], GatheredRows *x)
{
  const PetscInt  begin = A->rmap->rstart, end = A->rmap->rend;
  PetscInt        size;
  const PetscInt *indices;

  PetscFunctionBegin;
  for (int pass = 0; pass < 2; pass++) {
    x->num_wanted = 0;
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(ISGetLocalSize(rows[k], &size));
      PetscCall(ISGetIndices(rows[k], &indices));
      for (PetscInt i = 0; i < size; i++) {
        PetscCheck(indices[i] >= 0 && indices[i] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                   "Requested row %" PetscInt_FMT " at place %" PetscInt_FMT " of the index set, and the matrix has %" PetscInt_FMT, indices[i], i, A->rmap->N);
        if (indices[i] >= begin && indices[i] < end) continue;
        if (pass == 1) x->wanted[x->num_wanted] = indices[i];
        x->num_wanted++;
      }
      PetscCall(ISRestoreIndices(rows[k], &indices));
    }
    if (pass == 0) PetscCall(PetscMalloc1(x->num_wanted + 1, &x->wanted));
  }
  PetscCall(PetscSortRemoveDupsInt(&x->num_wanted, x->wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsGetBlocks - Device storage of both blocks of A, [2], borrowed until A changes. Collective: an error on one process is one on all. */
PetscErrorCode GatheredRowsGetBlocks(Mat A, GatheredRows *x, cudaStream_t stream, DCSRView blocks[])
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) ierr = MatOperandGet(MatMPIAIJCUDAGetBlock(A, k), &x->operands[k], PETSC_TRUE, stream, &blocks[k]);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GatheredRowsCreate - The structure of this process' rows of A, which uses the device, and of all other rows that are in its [n] index sets. Collective.

  blocks are [2] from GatheredRowsGetBlocks(). rows hold global numbers, in any order and with repeats. x is to be freed with GatheredRowsDestroy(), also after an error.
*/
PetscErrorCode GatheredRowsCreate(Mat A, const DCSRView blocks[], PetscInt n, const IS rows[], cudaStream_t stream, GatheredRows *x)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(x, 1));
  ierr = GetWanted(A, n, rows, x);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(RowStackCreateFetched(A, x->num_wanted, x->wanted, blocks, stream, &x->stack));
  for (int k = 0; k < 2; k++) PetscCall(MatOperandNote(MatMPIAIJCUDAGetBlock(A, k), &x->operands[k], PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsAreCurrent - Whether A has the pattern that its rows were gathered with, on all processes; GatheredRowsGetBlocks() comes first. Collective. */
PetscErrorCode GatheredRowsAreCurrent(Mat A, const GatheredRows *x, PetscBool *current)
{
  PetscFunctionBegin;
  *current = (PetscBool)(MatOperandIsSame(MatMPIAIJCUDAGetBlock(A, 0), &x->operands[0]) && MatOperandIsSame(MatMPIAIJCUDAGetBlock(A, 1), &x->operands[1]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, current, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsFill - Values, from the blocks; GatheredRowsDropValues() follows, also after an error. Collective. */
PetscErrorCode GatheredRowsFill(GatheredRows *x, const DCSRView blocks[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowStackFill(&x->stack, blocks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsDropValues - Frees the values. */
PetscErrorCode GatheredRowsDropValues(GatheredRows *x, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&x->stack.view.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsDestroy - Frees all; zero afterwards. Collective. */
PetscErrorCode GatheredRowsDestroy(GatheredRows *x, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatOperandDestroy(&x->operands[k], stream));
  PetscCall(RowStackDestroy(&x->stack, stream));
  PetscCall(PetscFree(x->wanted));
  PetscCall(PetscArrayzero(x, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GatheredRowsNumColumns - Columns of the gathered rows: the own ones of the matrix, and ghost columns. */
PetscInt GatheredRowsNumColumns(const GatheredRows *x)
{
  return x->stack.columns.device.num_own + x->stack.columns.device.num_ghosts;
}

/* GatheredRowsFindColumn - Which of these a column with this global number is, negative: none of them. */
PetscInt GatheredRowsFindColumn(const GatheredRows *x, PetscInt column)
{
  const DCSRColumns *columns = &x->stack.columns.device;
  const PetscInt    *ghosts  = x->stack.columns.ghosts;
  PetscInt           begin = 0, end = columns->num_ghosts;

  if (column >= columns->begin && column - columns->begin < columns->num_own) return column - columns->begin;
  while (begin < end) {
    const PetscInt middle = begin + (end - begin) / 2;

    if (ghosts[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin < columns->num_ghosts && ghosts[begin] == column ? columns->num_own + begin : -1;
}

/* Places of rows among the gathered ones. */
static PetscErrorCode LocateRows(const GatheredRows *x, Mat A, IS rows, IS *positions)
{
  const PetscInt  begin = A->rmap->rstart, end = A->rmap->rend;
  PetscInt        n, *local;
  const PetscInt *indices;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(rows, &n));
  PetscCall(PetscMalloc1(n, &local));
  PetscCall(ISGetIndices(rows, &indices));
  for (PetscInt k = 0; k < n; k++) {
    if (indices[k] >= begin && indices[k] < end) local[k] = indices[k] - begin;
    else {
      PetscCall(PetscFindInt(indices[k], x->num_wanted, x->wanted, &local[k]));
      PetscCheck(local[k] >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Row %" PetscInt_FMT " was not in the index set when the submatrix was made", indices[k]);
      local[k] += x->stack.num_upper;
    }
  }
  PetscCall(ISRestoreIndices(rows, &indices));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, local, PETSC_OWN_POINTER, positions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether new numbers ascend where there are any. */
static PetscBool Ascend(PetscInt n, const int32_t numbers[])
{
  int32_t last = -1;

  for (PetscInt k = 0; k < n; k++) {
    if (numbers[k] < 0) continue;
    if (numbers[k] < last) return PETSC_FALSE;
    last = numbers[k];
  }
  return PETSC_TRUE;
}

/*
  GatheredRowsSelect - A submatrix of gathered rows of A with values; rows are global numbers. Synchronizes the stream.

  numbers: [columns of the rows] on the host, the new ones, each at most once, or negative: not in the submatrix.
  The view is compact, its arrays belong to the caller; zero after an error.
*/
PetscErrorCode GatheredRowsSelect(const GatheredRows *x, Mat A, IS rows, const int32_t numbers[], PetscInt num_columns, cudaStream_t stream, DCSRView *view)
{
  const PetscInt n         = GatheredRowsNumColumns(x);
  IS             positions = NULL;
  DCSRIndices    indices;
  PetscInt      *memory = NULL;
  int32_t       *map    = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCall(LocateRows(x, A, rows, &positions));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "new numbers of columns", stream, &map));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(map, numbers, (size_t)n * sizeof(*map), stream));
  PetscCallGoto(ierr, cleanup, MatAIJCUDAGetIndices(positions, x->stack.view.num_rows, "row", stream, &indices, &memory));
  PetscCallGoto(ierr, cleanup, DCSRSubmatrixMapped(x->stack.view, &indices, map, Ascend(n, numbers), num_columns, stream, view));
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(ISDestroy(&positions));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
