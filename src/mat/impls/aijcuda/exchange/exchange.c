/* Entries on their way to the processes that own their rows: who receives how much is found once, then indices and values travel the same way, from and to host or device memory. */
#include "exchange.h"

/*
  MatExchangeSortHost - Puts the entries of a list on the host, whose global rows are given, in the order of their owners by the layout, those of one owner in the order of the list.

  order: [n] positions in the list, to be freed with PetscFree(). starts: [number of processes + 1] where the entries of each owner begin in order.
*/
PetscErrorCode MatExchangeSortHost(PetscLayout map, PetscCount n, const PetscInt rows[], PetscCount **order, PetscInt starts[])
{
  PetscMPIInt size, *owners;
  PetscInt   *next;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  PetscCall(PetscMalloc1(n, order));
  PetscCall(PetscMalloc1(n, &owners));
  PetscCall(PetscMalloc1(size, &next));
  PetscCall(PetscArrayzero(starts, size + 1));
  for (PetscCount e = 0; e < n; e++) {
    if (e > 0 && rows[e] == rows[e - 1]) owners[e] = owners[e - 1];
    else PetscCall(PetscLayoutFindOwner(map, rows[e], &owners[e]));
    starts[owners[e] + 1]++;
  }
  for (PetscMPIInt r = 0; r < size; r++) {
    next[r] = starts[r];
    starts[r + 1] += starts[r];
  }
  for (PetscCount e = 0; e < n; e++) (*order)[next[owners[e]]++] = e;
  PetscCall(PetscFree(next));
  PetscCall(PetscFree(owners));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The receivers, and what each has of the send buffer. */
static PetscErrorCode SetParts(PetscMPIInt size, const PetscInt starts[], MatExchange *x)
{
  PetscCount  end = 0;
  PetscMPIInt k   = 0;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < size; r++) x->num_to += starts[r + 1] > starts[r];
  PetscCall(PetscMalloc1(x->num_to, &x->to));
  PetscCall(PetscMalloc1(x->num_to + 1, &x->to_starts));
  x->to_starts[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (starts[r + 1] == starts[r]) continue;
    end += ((PetscCount)(starts[r + 1] - starts[r]) + MAT_EXCHANGE_BLOCK - 1) / MAT_EXCHANGE_BLOCK * MAT_EXCHANGE_BLOCK;
    x->to[k] = r;
    PetscCall(PetscIntCast(end, &x->to_starts[++k]));
  }
  x->num_sent = x->to_starts[x->num_to];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this process tells the receivers, and all memory that the pattern takes until PetscSF has it. */
static PetscErrorCode SetBegun(MatExchange *x)
{
  MatExchangeBegun *begun;

  PetscFunctionBegin;
  PetscCall(PetscNew(&x->begun));
  begun = x->begun;
  PetscCall(PetscMalloc1(x->num_to, &begun->receivers));
  PetscCall(PetscMalloc1(x->num_to, &begun->counts));
  PetscCall(PetscMalloc1(x->num_to, &begun->offsets));
  PetscCall(PetscMalloc1(x->num_sent / MAT_EXCHANGE_BLOCK, &begun->positions));
  for (PetscMPIInt k = 0; k < x->num_to; k++) {
    begun->receivers[k].rank  = x->to[k];
    begun->receivers[k].index = 0;
    begun->counts[k]          = (x->to_starts[k + 1] - x->to_starts[k]) / MAT_EXCHANGE_BLOCK;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BegunDestroy(MatExchangeBegun **begun)
{
  PetscFunctionBegin;
  if (*begun == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree((*begun)->receivers));
  PetscCall(PetscFree((*begun)->counts));
  PetscCall(PetscFree((*begun)->offsets));
  PetscCall(PetscFree((*begun)->positions));
  PetscCall(PetscFree(*begun));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeCreateBegin - Begins a pattern: what this process knows alone of who sends how much to whom, by the layout of the rows.

  starts: [number of processes + 1] where the entries for each process begin in the list of this one, which is sorted by owner.
  x is to be freed with MatExchangeDestroy(); what it was before is. Zero after an error.
  PETSC_ERR_ARG_OUTOFRANGE: the padded send buffer is longer than PetscInt can tell. The processes agree about errors before MatExchangeCreateEnd().
*/
PetscErrorCode MatExchangeCreateBegin(PetscLayout map, const PetscInt starts[], MatExchange *x)
{
  PetscMPIInt    size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatExchangeDestroy(x));
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  PetscCallGoto(ierr, failed, SetParts(size, starts, x));
  PetscCallGoto(ierr, failed, SetBegun(x));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatExchangeDestroy(x));
  PetscFunctionReturn(ierr);
}

/* Where the parts go in the receive buffers, in blocks: senders come in the order of ranks, so that the same input gives the same bits. */
static PetscErrorCode GetOffsets(MPI_Comm comm, MatExchange *x, PetscInt *num_received)
{
  MatExchangeBegun *begun = x->begun;
  PetscSF           sf;

  PetscFunctionBegin;
  *num_received = 0;
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetType(sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraph(sf, 1, x->num_to, NULL, PETSC_OWN_POINTER, begun->receivers, PETSC_OWN_POINTER));
  begun->receivers = NULL;
  PetscCall(PetscSFFetchAndOpWithMemTypeBegin(sf, MPIU_INT, PETSC_MEMTYPE_HOST, num_received, PETSC_MEMTYPE_HOST, begun->counts, PETSC_MEMTYPE_HOST, begun->offsets, MPI_SUM));
  PetscCall(PetscSFFetchAndOpEnd(sf, MPIU_INT, num_received, begun->counts, begun->offsets, MPI_SUM));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeCreateEnd - Ends a pattern, after MatExchangeCreateBegin() on all processes: who sends how much to whom. Collective on the communicator of the layout of the rows.

  PETSC_ERR_ARG_OUTOFRANGE: the receive buffer of this process is longer than PetscInt can tell. It is found after the last message, so that the callers may agree later; x is zero then.
*/
PetscErrorCode MatExchangeCreateEnd(PetscLayout map, MatExchange *x)
{
  MatExchangeBegun *begun = x->begun;
  PetscInt          num_received;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(GetOffsets(map->comm, x, &num_received));
  for (PetscMPIInt k = 0; k < x->num_to; k++) {
    const PetscInt first = x->to_starts[k] / MAT_EXCHANGE_BLOCK;

    for (PetscInt b = 0; b < begun->counts[k]; b++) {
      begun->positions[first + b].rank  = x->to[k];
      begun->positions[first + b].index = begun->offsets[k] + b;
    }
  }
  PetscCall(PetscSFCreate(map->comm, &x->sf));
  PetscCall(PetscSFSetType(x->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraph(x->sf, num_received, x->num_sent / MAT_EXCHANGE_BLOCK, NULL, PETSC_OWN_POINTER, begun->positions, PETSC_OWN_POINTER));
  begun->positions = NULL;
  PetscCall(PetscSFSetUp(x->sf));
  PetscCall(BegunDestroy(&x->begun));
  PetscCallGoto(ierr, failed, PetscIntCast((PetscCount)num_received * MAT_EXCHANGE_BLOCK, &x->num_received));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatExchangeDestroy(x));
  PetscFunctionReturn(ierr);
}

/*
  MatExchangeFits - Whether the entries of another list, sorted by owner, can travel in the same way; [size + 1] starts say where those for each process begin. Nothing fits an exchange that is zero.
*/
PetscBool MatExchangeFits(const MatExchange *x, PetscMPIInt size, const PetscInt starts[])
{
  PetscMPIInt k = 0;

  if (x->sf == NULL) return PETSC_FALSE;
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt n = starts[r + 1] - starts[r];

    while (k < x->num_to && x->to[k] < r) k++;
    if (n > 0 && (k == x->num_to || x->to[k] != r || n > x->to_starts[k + 1] - x->to_starts[k])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/*
  MatExchangeGetSendOrder - Which entry of a list that the exchange fits goes to each position of the send buffer.

  order: positions in the list, by owner; starts: [number of processes + 1] where the entries for each process begin in order; mtype: where the orders are. The stream is for device memory.
  send_order: [num_sent], -1 for padding; to be freed with OffProcessFree().
*/
PetscErrorCode MatExchangeGetSendOrder(const MatExchange *x, const PetscInt starts[], PetscMemType mtype, const PetscCount order[], cudaStream_t stream, PetscCount **send_order)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(OffProcessMalloc(mtype, x->num_sent, "order of entries for other processes", stream, send_order));
  if (PetscMemTypeHost(mtype)) {
    for (PetscInt k = 0; k < x->num_sent; k++) (*send_order)[k] = -1;
  } else if (x->num_sent > 0) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(*send_order, 0xff, (size_t)x->num_sent * sizeof(**send_order), stream));
  for (PetscMPIInt k = 0; k < x->num_to; k++) {
    const PetscInt    begin = starts[x->to[k]], n = starts[x->to[k] + 1] - begin;
    PetscCount *const part = *send_order + x->to_starts[k];

    if (n == 0) continue;
    if (PetscMemTypeHost(mtype)) PetscCall(PetscArraycpy(part, order + begin, n));
    else PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(part, order + begin, (size_t)n * sizeof(*order), cudaMemcpyDeviceToDevice, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(OffProcessFree(mtype, stream, send_order));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Exchange(const MatExchange *x, MPI_Datatype type, PetscMemType send_mtype, const void *send, PetscMemType received_mtype, void *received)
{
  MPI_Datatype block;
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(send_mtype) || PetscMemTypeDevice(received_mtype)) PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallMPI(MPI_Type_contiguous(MAT_EXCHANGE_BLOCK, type, &block));
  PetscCallMPI(MPI_Type_commit(&block));
  PetscCall(PetscSparseCUDASFReduce(x->sf, block, send_mtype, send, received_mtype, received, stream));
  PetscCallMPI(MPI_Type_free(&block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeIndices - Sends one index an entry. Collective.

  send: [num_sent] by owner, padded; received: [num_received]. Each is where its mtype says for this process; in device memory received is for work queued on the stream of the current
  PetscDeviceContext.
*/
PetscErrorCode MatExchangeIndices(const MatExchange *x, PetscMemType send_mtype, const PetscInt send[], PetscMemType received_mtype, PetscInt received[])
{
  PetscFunctionBegin;
  PetscCall(Exchange(x, MPIU_INT, send_mtype, send, received_mtype, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatExchangeValues - The same for one value an entry. */
PetscErrorCode MatExchangeValues(const MatExchange *x, PetscMemType send_mtype, const PetscScalar send[], PetscMemType received_mtype, PetscScalar received[])
{
  PetscFunctionBegin;
  PetscCall(Exchange(x, MPIU_SCALAR, send_mtype, send, received_mtype, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatExchangeColumns - The same for one 32-bit column, or row offset, an entry. */
PetscErrorCode MatExchangeColumns(const MatExchange *x, PetscMemType send_mtype, const int32_t send[], PetscMemType received_mtype, int32_t received[])
{
  PetscFunctionBegin;
  PetscCall(Exchange(x, MPI_INT, send_mtype, send, received_mtype, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatExchangeDestroy - Frees it; a zero one is fine, and it is zero afterwards. */
PetscErrorCode MatExchangeDestroy(MatExchange *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(x->to));
  PetscCall(PetscFree(x->to_starts));
  PetscCall(PetscSFDestroy(&x->sf));
  PetscCall(BegunDestroy(&x->begun));
  PetscCall(PetscArrayzero(x, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
