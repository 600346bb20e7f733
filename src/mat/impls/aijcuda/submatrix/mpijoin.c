/*
  All columns, or all rows and columns, of a parallel matrix go to the first process; numbers stay as they are. Structure and values travel from device to device: a process sends its rows in one
  message for each of their arrays.
*/
#include "join.h"
#include "../exchange/exchange.h"
#include "../parallel/parallel.h"

/* Rows and nonzeros of a process. */
typedef struct {
  PetscInt64 rows, nonzeros;
  PetscInt64 wide; /* whether its offsets have 64 bits */
} Part;

/* Compact storage without entries; zero after an error. */
static PetscErrorCode CreateEmpty(PetscInt num_rows, PetscInt num_columns, cudaStream_t stream, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(num_rows, num_columns, 0, PETSC_FALSE, stream, view));
  PetscCallCUDA(cudaMemsetAsync(view->row_offsets, 0, ((size_t)num_rows + 1) * sizeof(int32_t), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of both blocks as rows of one matrix with global columns, compact; zero after an error. */
static PetscErrorCode PackBlocks(Mat A, cudaStream_t stream, DCSRView *packed)
{
  DCSRView       joined, blocks[2];
  JoinedColumns  columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(packed, 1));
  PetscCall(PetscArrayzero(&joined, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSeqAIJCUDACopyToDevice(MatMPIAIJCUDAGetBlock(A, k)));
    PetscCall(MatSeqAIJCUDACompact(MatMPIAIJCUDAGetBlock(A, k)));
  }
  for (int k = 0; k < 2; k++) blocks[k] = MatSeqAIJCUDAGet(MatMPIAIJCUDAGetBlock(A, k))->device.view;
  PetscCall(JoinedColumnsCreateOf(A, stream, &columns));
  PetscCallGoto(ierr, cleanup, JoinBlocks(blocks[0], blocks[1], PETSC_TRUE, stream, &joined));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateCompact(joined.num_rows, A->cmap->N, joined.num_nonzeros, joined.wide, stream, packed));
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

/* Blocks [2] with all columns in the first one on the first process, and in the second one on others. */
static PetscErrorCode GetBlocksOfJoinedColumns(Mat A, PetscBool first, cudaStream_t stream, DCSRView views[], PetscInt *num_ghosts, int32_t **ghosts)
{
  DCSRView *full = &views[first ? 0 : 1], *empty = &views[first ? 1 : 0];

  PetscFunctionBegin;
  PetscCall(PackBlocks(A, stream, full));
  PetscCall(CreateEmpty(A->rmap->n, 0, stream, empty));
  if (!first) PetscCall(GhostColumnsRenumber(A->cmap->N, full, stream, num_ghosts, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAJoinColumns - A new matrix, the same as A with all columns on the first process; NULL after an error. Collective.

  The structure of A is on the device on all processes. Costs three passes over the entries; no messages with entries.
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

/* Arrays on their way to the first process: n entries of this one, one after the other, with what the exchange wants behind them. */
typedef struct {
  MatExchange exchange;
  PetscCount *begins; /* [processes] host, owned: where those of each process begin on the first one */
} Way;

/* What each process sends: n of them are its rows and one, or its nonzeros. Collective. */
static PetscErrorCode WayCreate(Mat A, const PetscInt64 counts[], Way *way)
{
  PetscMPIInt    rank, size;
  PetscInt      *starts;
  PetscCount     begin = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(A->rmap->comm, &rank));
  PetscCallMPI(MPI_Comm_size(A->rmap->comm, &size));
  PetscCall(PetscArrayzero(way, 1));
  PetscCall(PetscMalloc1(size, &way->begins));
  PetscCall(PetscMalloc1(size + 1, &starts));
  starts[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    starts[r + 1]  = rank == 0 ? 0 : (PetscInt)counts[rank];
    way->begins[r] = begin;
    if (r > 0) begin += (PetscCount)(counts[r] + MAT_EXCHANGE_BLOCK - 1) / MAT_EXCHANGE_BLOCK * MAT_EXCHANGE_BLOCK;
  }
  ierr = MatExchangeCreateBegin(A->rmap, starts, &way->exchange);
  PetscCall(PetscSparseCUDAAgree(A->rmap->comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = MatExchangeCreateEnd(A->rmap, &way->exchange);
  PetscCall(PetscFree(starts));
  PetscCall(PetscSparseCUDAAgree(A->rmap->comm, ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WayDestroy(Way *way)
{
  PetscFunctionBegin;
  PetscCall(MatExchangeDestroy(&way->exchange));
  PetscCall(PetscFree(way->begins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A send buffer with n entries of an array in front, and a receive buffer; *sent and *received are NULL after an error, or freed by the caller. */
static PetscErrorCode FillBuffers(const Way *way, const void *array, PetscCount n, size_t size, cudaStream_t stream, char **sent, char **received)
{
  const size_t bytes = (size_t)way->exchange.num_sent * size;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMallocExportable(bytes, "rows for another process", stream, sent));
  PetscCall(PetscSparseCUDAMallocExportable((size_t)way->exchange.num_received * size, "rows of other processes", stream, received));
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(*sent, array, (size_t)n * size, cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaMemsetAsync(*sent + (size_t)n * size, 0, bytes - (size_t)n * size, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array of each process to the first one: *received, to be freed, also after an error. Collective. */
static PetscErrorCode Send(Mat A, const Way *way, PetscBool scalars, const void *array, PetscCount n, cudaStream_t stream, char **received)
{
  const size_t   size = scalars ? sizeof(PetscScalar) : sizeof(int32_t);
  char          *sent = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = FillBuffers(way, array, n, size, stream, &sent, received);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) {
    if (scalars) ierr = MatExchangeValues(&way->exchange, PETSC_MEMTYPE_CUDA, (const PetscScalar *)sent, PETSC_MEMTYPE_CUDA, (PetscScalar *)*received);
    else ierr = MatExchangeColumns(&way->exchange, PETSC_MEMTYPE_CUDA, (const int32_t *)sent, PETSC_MEMTYPE_CUDA, (int32_t *)*received);
  }
  PetscCall(PetscSparseCUDAFree(&sent, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has come, by array. */
typedef struct {
  char *offsets, *columns, *values;
} Received;

/* On the first process: own rows, and below them those of others, in the order of ranks; zero after an error. */
static PetscErrorCode Stack(Mat A, DCSRView own, PetscMPIInt size, const Part parts[], const Way *rows, const Way *entries, const Received *received, cudaStream_t stream, DCSRView *whole)
{
  PetscCount     first_row = 0, first_entry = 0, total = 0;
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < size; r++) total += (PetscCount)parts[r].nonzeros;
  PetscCall(DCSRNeedsWide(total, &wide));
  PetscCall(DCSRViewAllocateCompact(A->rmap->N, A->cmap->N, total, wide, stream, whole));
  for (PetscMPIInt r = 0; r < size; r++) {
    DCSRView part = own;

    if (r > 0) {
      PetscCall(PetscArrayzero(&part, 1));
      part.num_rows     = (PetscInt)parts[r].rows;
      part.num_nonzeros = (PetscCount)parts[r].nonzeros;
      part.row_offsets  = (int32_t *)received->offsets + rows->begins[r];
      part.columns      = (int32_t *)received->columns + entries->begins[r];
      part.values       = (PetscScalar *)received->values + entries->begins[r];
    }
    PetscCallGoto(ierr, failed, DCSRPlaceRows(part, first_row, first_entry, stream, *whole));
    first_row += (PetscCount)parts[r].rows;
    first_entry += (PetscCount)parts[r].nonzeros;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(whole, stream));
  PetscFunctionReturn(ierr);
}

/* Packed rows of all processes become blocks [2] of the new matrix. Collective. */
static PetscErrorCode Gather(Mat A, DCSRView packed, PetscMPIInt rank, PetscMPIInt size, const Part parts[], const Way *rows, const Way *entries, cudaStream_t stream, DCSRView views[])
{
  Received       received = {NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Send(A, rows, PETSC_FALSE, packed.row_offsets, (PetscCount)packed.num_rows + 1, stream, &received.offsets);
  if (ierr == PETSC_SUCCESS) ierr = Send(A, entries, PETSC_FALSE, packed.columns, packed.num_nonzeros, stream, &received.columns);
  if (ierr == PETSC_SUCCESS) ierr = Send(A, entries, PETSC_TRUE, packed.values, packed.num_nonzeros, stream, &received.values);
  if (ierr == PETSC_SUCCESS) {
    if (rank == 0) ierr = Stack(A, packed, size, parts, rows, entries, &received, stream, &views[0]);
    else ierr = CreateEmpty(0, 0, stream, &views[0]);
    if (ierr == PETSC_SUCCESS) ierr = CreateEmpty(rank == 0 ? A->rmap->N : 0, 0, stream, &views[1]);
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  }
  PetscCall(PetscSparseCUDAFree(&received.offsets, stream));
  PetscCall(PetscSparseCUDAFree(&received.columns, stream));
  PetscCall(PetscSparseCUDAFree(&received.values, stream));
  PetscFunctionReturn(ierr);
}

/* Who has how much, and the ways to the first process. *can: offsets and buffers have 32-bit lengths, the same answer on all. Collective. */
static PetscErrorCode CreateWays(Mat A, const DCSRView *packed, PetscMPIInt size, Part parts[], PetscBool *can, Way *rows, Way *entries)
{
  const Part  mine = {packed->num_rows, packed->num_nonzeros, packed->wide ? 1 : 0};
  PetscInt64 *counts, total = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allgather(&mine, 3, MPIU_INT64, parts, 3, MPIU_INT64, PetscObjectComm((PetscObject)A)));
  *can = PETSC_TRUE;
  for (PetscMPIInt r = 0; r < size; r++) {
    total += parts[r].nonzeros + MAT_EXCHANGE_BLOCK;
    if (parts[r].wide != 0) *can = PETSC_FALSE;
  }
  if (total > PETSC_INT32_MAX) *can = PETSC_FALSE;
  if (!*can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(size, &counts));
  for (PetscMPIInt r = 0; r < size; r++) counts[r] = parts[r].rows + 1;
  PetscCall(WayCreate(A, counts, rows));
  for (PetscMPIInt r = 0; r < size; r++) counts[r] = parts[r].nonzeros;
  PetscCall(WayCreate(A, counts, entries));
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAJoinRows - A new matrix, the same as A with all rows and columns on the first process, and with what is known of the symmetry of A. Collective.

  NULL: it is too large for one process, or after an error. The structure of A is on the device on all processes.
  Costs three messages from each process, with its row offsets, columns and values; four passes over the entries.
*/
PetscErrorCode MatMPIAIJCUDAJoinRows(Mat A, Mat *C)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  DCSRView       packed, views[2];
  Way            rows, entries;
  Part          *parts;
  PetscMPIInt    rank, size;
  PetscBool      can;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscArrayzero(&rows, 1));
  PetscCall(PetscArrayzero(&entries, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &parts));
  ierr = PackBlocks(A, stream, &packed);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCallGoto(ierr, cleanup, ierr);
  PetscCallGoto(ierr, cleanup, CreateWays(A, &packed, size, parts, &can, &rows, &entries));
  if (!can) goto cleanup;
  PetscCallGoto(ierr, cleanup, Gather(A, packed, rank, size, parts, &rows, &entries, stream, views));
  PetscCallGoto(ierr, cleanup, CreateFromBlocks(A, rank == 0 ? A->rmap->N : 0, rank == 0 ? A->cmap->N : 0, views, 0, NULL, stream, C));
  PetscCallGoto(ierr, cleanup, MatPropagateSymmetryOptions(A, *C));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(DCSRViewFree(&packed, stream));
  PetscCall(WayDestroy(&rows));
  PetscCall(WayDestroy(&entries));
  PetscCall(PetscFree(parts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
