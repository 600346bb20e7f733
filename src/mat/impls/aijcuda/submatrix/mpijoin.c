/*
  All columns, or all rows and columns, of a parallel matrix go to the first process; numbers stay as they are. Structure and values travel from device to device: a process sends its rows in one
  message for each of their arrays.
*/
#include "join.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/exportable.h>

/* Rows and nonzeros of a process, whether its offsets have 64 bits, and what it has failed with. */
typedef struct {
  PetscInt64 rows, nonzeros, wide, error;
} Part;

/* Compact storage without entries; zero after an error. */
static PetscErrorCode CreateEmpty(PetscInt num_rows, PetscInt num_columns, cudaStream_t stream, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(num_rows, num_columns, 0, PETSC_FALSE, stream, view));
  PetscCallCUDA(cudaMemsetAsync(view->row_offsets, 0, ((size_t)num_rows + 1) * sizeof(int32_t), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compact storage in memory that can be sent; nothing is freed after an error. */
static PetscErrorCode AllocateExportable(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros, cudaStream_t stream, DCSRView *view)
{
  int32_t *offsets;

  PetscFunctionBegin;
  view->num_rows     = num_rows;
  view->num_columns  = num_columns;
  view->num_nonzeros = view->capacity = view->used = num_nonzeros;
  PetscCall(PetscSparseCUDAMallocExportable((size_t)num_rows + 1, "offsets of rows for another process", stream, &offsets));
  view->row_offsets = offsets;
  PetscCall(PetscSparseCUDAMallocExportable(num_nonzeros, "columns of rows for another process", stream, &view->columns));
  PetscCall(PetscSparseCUDAMallocExportable(num_nonzeros, "values of rows for another process", stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of both blocks as rows of one matrix with global columns, compact; sent: in memory that can be sent when the offsets have 32 bits. Zero after an error. */
static PetscErrorCode PackBlocks(Mat A, PetscBool sent, cudaStream_t stream, DCSRView *packed)
{
  DCSRView       joined, blocks[2];
  JoinedColumns  columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(packed, 1));
  PetscCall(PetscArrayzero(&joined, 1));
  for (int k = 0; k < 2; k++) PetscCall(MatSeqAIJCUDAGetCompact(MatMPIAIJCUDAGetBlock(A, k), &blocks[k]));
  PetscCall(JoinedColumnsCreateOf(A, stream, &columns));
  PetscCallGoto(ierr, cleanup, JoinBlocks(blocks[0], blocks[1], PETSC_TRUE, stream, &joined));
  if (sent && !joined.wide) PetscCallGoto(ierr, cleanup, AllocateExportable(joined.num_rows, A->cmap->N, joined.num_nonzeros, stream, packed));
  else PetscCallGoto(ierr, cleanup, DCSRViewAllocateCompact(joined.num_rows, A->cmap->N, joined.num_nonzeros, joined.wide, stream, packed));
  PetscCallCUDAGoto(ierr, cleanup,
                    cudaMemcpyAsync(packed->row_offsets, joined.row_offsets, ((size_t)joined.num_rows + 1) * (joined.wide ? sizeof(int64_t) : sizeof(int32_t)), cudaMemcpyDeviceToDevice, stream));
  PetscCallGoto(ierr, cleanup, DCSRPackRows(joined, columns.device, NULL, DCSR_WRITE_ALL, stream, *packed));
cleanup:
  if (joined.row_offsets != NULL) PetscCall(FreeJoinedBlocks(blocks[0], &joined, stream));
  PetscCall(JoinedColumnsDestroy(&columns, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(packed, stream));
  PetscFunctionReturn(ierr);
}

/* Views become the blocks of a new matrix of the type and block sizes of A, with m rows and n columns of this process; freed after an error. Collective. */
static PetscErrorCode CreateFromBlocks(Mat A, PetscInt m, PetscInt n, DCSRView views[], PetscInt num_ghosts, const int32_t ghosts[], cudaStream_t stream, Mat *C)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)A), C));
  PetscCallGoto(ierr, failed, MatSetSizes(*C, m, n, A->rmap->N, A->cmap->N));
  PetscCallGoto(ierr, failed, MatSetBlockSizes(*C, PetscAbs(A->rmap->bs), PetscAbs(A->cmap->bs)));
  PetscCallGoto(ierr, failed, MatSetType(*C, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, MatMPIAIJCUDAInstallBlocks(*C, views, num_ghosts, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  (void)MatDestroy(C);
  PetscFunctionReturn(ierr);
}

/*
  The columns that this process reads, own and ghost ones, which become its ghosts; to be freed with PetscFree(). Where others between them are few these are there, too, without entries: star forests of
  a range need no list, and with two processes no search for duplicates in it.
*/
static PetscErrorCode ListColumns(Mat A, PetscInt *n, int32_t **columns)
{
  const PetscLayout cmap   = A->cmap;
  const PetscInt    num    = MatMPIAIJCUDANumGhosts(A);
  const PetscInt   *ghosts = ((Mat_MPIAIJ *)A->data)->garray;
  PetscInt          begin = cmap->rstart, end = cmap->rend, k = 0;

  PetscFunctionBegin;
  if (num > 0) {
    begin = cmap->n > 0 ? PetscMin(begin, ghosts[0]) : ghosts[0];
    end   = cmap->n > 0 ? PetscMax(end, ghosts[num - 1] + 1) : ghosts[num - 1] + 1;
  }
  *n = end - begin - (num + cmap->n) <= (num + cmap->n) / 8 ? end - begin : num + cmap->n;
  PetscCall(PetscMalloc1(*n, columns));
  if (*n == end - begin) {
    for (PetscInt c = begin; c < end; c++) (*columns)[k++] = (int32_t)c;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt g = 0; g < num && ghosts[g] < cmap->rstart; g++) (*columns)[k++] = (int32_t)ghosts[g];
  for (PetscInt c = cmap->rstart; c < cmap->rend; c++) (*columns)[k++] = (int32_t)c;
  for (PetscInt g = k - cmap->n; g < num; g++) (*columns)[k++] = (int32_t)ghosts[g];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks [2] with all columns in the first one on the first process, and in the second one on others. */
static PetscErrorCode GetBlocksOfJoinedColumns(Mat A, PetscBool first, cudaStream_t stream, DCSRView views[], PetscInt *num_ghosts, int32_t **ghosts)
{
  DCSRView *full = &views[first ? 0 : 1], *empty = &views[first ? 1 : 0];

  PetscFunctionBegin;
  PetscCall(PackBlocks(A, PETSC_FALSE, stream, full));
  PetscCall(CreateEmpty(A->rmap->n, 0, stream, empty));
  if (first) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ListColumns(A, num_ghosts, ghosts));
  PetscCall(GhostColumnsRenumberTo(full, *num_ghosts, *ghosts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAJoinColumns - A new matrix, the same as A with all columns on the first process; NULL after an error. Collective.

  The structure of A is on the device on all processes, and its ghost columns ascend. Costs three passes over the entries; no messages with entries.
*/
PetscErrorCode MatMPIAIJCUDAJoinColumns(Mat A, Mat *C)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  DCSRView       views[2];
  PetscInt       num_ghosts = 0;
  int32_t       *ghosts     = NULL;
  PetscMPIInt    rank;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  ierr = GetBlocksOfJoinedColumns(A, (PetscBool)(rank == 0), stream, views, &num_ghosts, &ghosts);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = CreateFromBlocks(A, A->rmap->n, rank == 0 ? A->cmap->N : 0, views, num_ghosts, ghosts, stream, C);
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(PetscFree(ghosts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has come is stacked below own rows, in the order of ranks. */
static PetscErrorCode Stack(DCSRView own, DCSRView received, PetscMPIInt size, const Part parts[], cudaStream_t stream, DCSRView whole)
{
  PetscCount row = 0, entry = 0;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < size; r++) {
    DCSRView part = own;

    if (r > 0) {
      part              = received;
      part.num_rows     = (PetscInt)parts[r].rows;
      part.num_nonzeros = part.capacity = part.used = (PetscCount)parts[r].nonzeros;
      part.row_offsets                              = (int32_t *)received.row_offsets + (row - parts[0].rows + r - 1);
      part.columns                                  = PetscSafePointerPlusOffset(received.columns, entry - parts[0].nonzeros);
      part.values                                   = PetscSafePointerPlusOffset(received.values, entry - parts[0].nonzeros);
    }
    PetscCall(DCSRPlaceRows(part, row, entry, stream, whole));
    row += (PetscCount)parts[r].rows;
    entry += (PetscCount)parts[r].nonzeros;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks [2] of the new matrix, without entries yet, and on the first process room for what comes, whose offsets have one more a process; nothing is freed after an error. */
static PetscErrorCode AllocateJoined(Mat A, PetscMPIInt rank, PetscMPIInt size, const Part parts[], cudaStream_t stream, DCSRView *received, DCSRView views[])
{
  PetscCount total = 0;
  PetscBool  wide;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < size; r++) total += (PetscCount)parts[r].nonzeros;
  if (rank == 0) {
    PetscCall(DCSRNeedsWide(total, &wide));
    PetscCall(DCSRViewAllocateCompact(A->rmap->N, A->cmap->N, total, wide, stream, &views[0]));
    PetscCall(AllocateExportable(A->rmap->N - (PetscInt)parts[0].rows + size - 2, A->cmap->N, total - (PetscCount)parts[0].nonzeros, stream, received));
  } else PetscCall(CreateEmpty(0, 0, stream, &views[0]));
  PetscCall(CreateEmpty(rank == 0 ? A->rmap->N : 0, 0, stream, &views[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of packed rows travel. Collective. */
static PetscErrorCode Send(MPI_Comm comm, PetscMPIInt size, const Part parts[], DCSRView packed, DCSRView received, cudaStream_t stream)
{
  PetscInt      *counts;
  RowMessages    offsets, entries;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&offsets, 1));
  PetscCall(PetscArrayzero(&entries, 1));
  PetscCall(PetscMalloc1(size, &counts));
  for (PetscMPIInt r = 0; r < size; r++) counts[r] = (PetscInt)parts[r].rows + 1;
  PetscCallGoto(ierr, cleanup, RowMessagesCreateToFirst(comm, counts, &offsets));
  for (PetscMPIInt r = 0; r < size; r++) counts[r] = (PetscInt)parts[r].nonzeros;
  PetscCallGoto(ierr, cleanup, RowMessagesCreateToFirst(comm, counts, &entries));
  PetscCallGoto(ierr, cleanup, RowMessagesExchange(&offsets, MPI_INT, packed.row_offsets, received.row_offsets, stream));
  PetscCallGoto(ierr, cleanup, RowMessagesExchange(&entries, MPI_INT, packed.columns, received.columns, stream));
  PetscCallGoto(ierr, cleanup, RowMessagesExchange(&entries, MPIU_SCALAR, packed.values, received.values, stream));
cleanup:
  PetscCall(PetscFree(counts));
  PetscCall(RowMessagesDestroy(&offsets));
  PetscCall(RowMessagesDestroy(&entries));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who has how much, after making packed rows has ended with ierr. *can: offsets and buffers have 32-bit lengths, the same answer on all. All processes have an error when one has. Collective. */
static PetscErrorCode GetParts(Mat A, PetscErrorCode ierr, const DCSRView *packed, PetscMPIInt size, Part parts[], PetscBool *can)
{
  const Part mine  = {packed->num_rows, packed->num_nonzeros, packed->wide, (PetscInt64)ierr};
  PetscInt64 total = 0;
  int        most  = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allgather(&mine, 4, MPIU_INT64, parts, 4, MPIU_INT64, PetscObjectComm((PetscObject)A)));
  *can = PETSC_TRUE;
  for (PetscMPIInt r = 0; r < size; r++) {
    most = PetscMax(most, (int)parts[r].error);
    total += parts[r].nonzeros;
    if (parts[r].wide != 0) *can = PETSC_FALSE;
  }
  if (total > PETSC_INT32_MAX) *can = PETSC_FALSE;
  PetscCall(PetscSparseCUDAErrorOfAll(most, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAJoinRows - A new matrix, the same as A with all rows and columns on the first process, and with what is known of the symmetry of A. Collective.

  NULL: it is too large for one process, or after an error. The structure of A is on the device on all processes.
  Costs three messages from each process, with its row offsets, columns and values, and three reductions; four passes over the entries.
*/
PetscErrorCode MatMPIAIJCUDAJoinRows(Mat A, Mat *C)
{
  const MPI_Comm comm   = PetscObjectComm((PetscObject)A);
  DCSRView       packed = {0}, received = {0}, views[2] = {{0}, {0}};
  Part          *parts = NULL;
  PetscMPIInt    rank, size;
  PetscBool      can = PETSC_FALSE;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &parts));
  ierr = PackBlocks(A, (PetscBool)(rank > 0), stream, &packed);
  PetscCallGoto(ierr, cleanup, GetParts(A, ierr, &packed, size, parts, &can));
  if (!can) goto cleanup;
  ierr = AllocateJoined(A, rank, size, parts, stream, &received, views);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCallGoto(ierr, cleanup, ierr);
  ierr = Send(comm, size, parts, packed, received, stream);
  if (ierr == PETSC_SUCCESS && rank == 0) ierr = Stack(packed, received, size, parts, stream, views[0]);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCallGoto(ierr, cleanup, ierr);
  PetscCallGoto(ierr, cleanup, CreateFromBlocks(A, rank == 0 ? A->rmap->N : 0, rank == 0 ? A->cmap->N : 0, views, 0, NULL, stream, C));
  PetscCallGoto(ierr, cleanup, MatPropagateSymmetryOptions(A, *C));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(DCSRViewFree(&packed, stream));
  PetscCall(DCSRViewFree(&received, stream));
  PetscCall(PetscFree(parts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
