/* Entries on their way to the processes that own their rows: who receives how much is found once, then indices and values travel the same way, from and to host or device memory. */
#include "exchange.h"

/*
  MatExchangeSortHost - Puts the entries of a list on the host in the order of their owners, those of one owner in the order of the list.

  Not Collective

  Input Parameters:
+ map  - layout of the rows
. n    - entries
- rows - [n] global rows

  Output Parameters:
+ order  - [n] places in the list, to be freed with PetscFree()
- starts - [number of processes + 1] where the entries of each owner begin in order
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

/* Where the parts go in the receive buffers, in blocks: senders come in the order of ranks, so that the same input gives the same bits. */
static PetscErrorCode GetOffsets(MPI_Comm comm, const MatExchange *x, PetscInt offsets[], PetscInt *num_received)
{
  PetscSF      sf;
  PetscSFNode *remote;
  PetscInt    *blocks;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(x->num_to, &remote));
  PetscCall(PetscMalloc1(x->num_to, &blocks));
  for (PetscMPIInt k = 0; k < x->num_to; k++) {
    remote[k].rank  = x->to[k];
    remote[k].index = 0;
    blocks[k]       = (x->to_starts[k + 1] - x->to_starts[k]) / MAT_EXCHANGE_BLOCK;
  }
  *num_received = 0;
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetType(sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraph(sf, 1, x->num_to, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFFetchAndOpWithMemTypeBegin(sf, MPIU_INT, PETSC_MEMTYPE_HOST, num_received, PETSC_MEMTYPE_HOST, blocks, PETSC_MEMTYPE_HOST, offsets, MPI_SUM));
  PetscCall(PetscSFFetchAndOpEnd(sf, MPIU_INT, num_received, blocks, offsets, MPI_SUM));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscFree(blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeCreate - Finds out who sends how much to whom.

  Collective on the communicator of the layout

  Input Parameters:
+ map    - layout of the rows
- starts - [number of processes + 1] where the entries for each process begin in the list of this one, which is sorted by owner

  Output Parameter:
. x - to be freed with MatExchangeDestroy()
*/
PetscErrorCode MatExchangeCreate(PetscLayout map, const PetscInt starts[], MatExchange *x)
{
  PetscMPIInt  size;
  PetscInt    *offsets, num_received;
  PetscSFNode *remote;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(x, 1));
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  PetscCall(SetParts(size, starts, x));
  PetscCall(PetscMalloc1(x->num_to, &offsets));
  PetscCall(GetOffsets(map->comm, x, offsets, &num_received));
  PetscCall(PetscIntCast((PetscCount)num_received * MAT_EXCHANGE_BLOCK, &x->num_received));
  PetscCall(PetscMalloc1(x->num_sent / MAT_EXCHANGE_BLOCK, &remote));
  for (PetscMPIInt k = 0; k < x->num_to; k++) {
    const PetscInt begin = x->to_starts[k] / MAT_EXCHANGE_BLOCK, end = x->to_starts[k + 1] / MAT_EXCHANGE_BLOCK;

    for (PetscInt b = begin; b < end; b++) {
      remote[b].rank  = x->to[k];
      remote[b].index = offsets[k] + b - begin;
    }
  }
  PetscCall(PetscFree(offsets));
  PetscCall(PetscSFCreate(map->comm, &x->sf));
  PetscCall(PetscSFSetType(x->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraph(x->sf, num_received, x->num_sent / MAT_EXCHANGE_BLOCK, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(x->sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeFits - Whether the entries of another list can travel in the same way.

  Not Collective

  Input Parameters:
+ x      - an exchange, or a zero one, which nothing fits
. size   - number of processes
- starts - [size + 1] where the entries for each process begin in that list, which is sorted by owner
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
  MatExchangeGetSendOrder - Which entry of a list goes to each place of the send buffer.

  Not Collective

  Input Parameters:
+ x      - an exchange that the list fits
. starts - [number of processes + 1] where the entries for each process begin in order
. mtype  - where the orders are
. order  - places in the list, by owner
- stream - for device memory

  Output Parameter:
. send_order - [num_sent], -1 for padding; to be freed with OffProcessFree()
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
  cudaStream_t stream;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(send_mtype) || PetscMemTypeDevice(received_mtype)) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(PetscSparseCUDASetSFStream(x->sf, stream));
  }
  PetscCallMPI(MPI_Type_contiguous(MAT_EXCHANGE_BLOCK, type, &block));
  PetscCallMPI(MPI_Type_commit(&block));
  PetscCall(PetscSFReduceWithMemTypeBegin(x->sf, block, send_mtype, send, received_mtype, received, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(x->sf, block, send, received, MPI_REPLACE));
  PetscCallMPI(MPI_Type_free(&block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeIndices - Sends one index an entry.

  Collective

  Input Parameters:
+ x              - who sends what
. send_mtype     - where the send buffer of this process is
. send           - [num_sent] by owner, padded
- received_mtype - where the receive buffer of this process is

  Output Parameter:
. received - [num_received]; in device memory for work queued on the stream of the current PetscDeviceContext
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

/* MatExchangeDestroy - Frees it; a zero one is fine, and it is zero afterwards. */
PetscErrorCode MatExchangeDestroy(MatExchange *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(x->to));
  PetscCall(PetscFree(x->to_starts));
  PetscCall(PetscSFDestroy(&x->sf));
  PetscCall(PetscArrayzero(x, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
