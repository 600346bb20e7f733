/*
  Packed rows on their way between processes. Those for one process lie together in the send buffer, and those of one process in the receive buffer, so that two processes have
  one message and no entry has a place that somebody must be told. With a PetscSF of all entries its setup and lists of all rows took two thirds of a Galerkin product on two GPUs.
*/
#include "rowmessages.h"
#include <petscsparsecuda/exportable.h>
#include <petsc/private/petscimpl.h> // use_gpu_aware_mpi

/* The processes that rows go to, and those that rows come from. */
enum {
  SENT,
  RECEIVED
};

/* Other processes and their rows, one side of a PetscSF. */
typedef struct {
  PetscMPIInt        num;
  const PetscMPIInt *ranks;  /* [num] */
  const PetscInt    *starts; /* [num + 1] */
  const PetscInt    *rows;   /* [starts[num]] roots or leaves */
} Neighbors;

/* The leaves of each process are consecutive ones. */
static PetscErrorCode CheckLeaves(const Neighbors *leaves)
{
  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < leaves->num; k++)
    for (PetscInt i = leaves->starts[k] + 1; i < leaves->starts[k + 1]; i++) PetscCheck(leaves->rows[i] == leaves->rows[i - 1] + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows of process %d are not one after the other", leaves->ranks[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The messages of one direction, in rows: where packed rows are leaves in their order, or the rows of process after process. */
static PetscErrorCode SetDirection(const Neighbors *neighbors, PetscBool leaves, int direction, RowMessages *m)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(neighbors->num, &m->ranks[direction], neighbors->num, &m->begins[direction], neighbors->num, &m->counts[direction]));
  m->num[direction] = neighbors->num;
  for (PetscMPIInt k = 0; k < neighbors->num; k++) {
    const PetscInt start = neighbors->starts[k];

    m->ranks[direction][k]  = neighbors->ranks[k];
    m->counts[direction][k] = neighbors->starts[k + 1] - start;
    m->begins[direction][k] = leaves && m->counts[direction][k] > 0 ? neighbors->rows[start] : start;
  }
  m->num_rows[direction] = neighbors->num > 0 ? neighbors->starts[neighbors->num] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesCreate - Messages of one unit a row between the roots and the leaves of a PetscSF

  Collective

  Input Parameters:
+ sf        - roots: rows of their owners; leaves: rows of other processes, in the order of their owners' ranks. It may go afterwards
- to_leaves - rows travel from roots to leaves: they are packed for process after process (RowMessagesGetRoots()), and received in the order of the leaves; otherwise the other way round

  Output Parameter:
. m - to be freed with RowMessagesDestroy(), also after an error
*/
PetscErrorCode RowMessagesCreate(PetscSF sf, PetscBool to_leaves, RowMessages *m)
{
  const int roots_direction = to_leaves ? SENT : RECEIVED;
  Neighbors roots, leaves;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(PetscObjectComm((PetscObject)sf), &m->comm, &m->tag));
  m->created = PETSC_TRUE;
  PetscCall(PetscSFGetLeafRanks(sf, &roots.num, &roots.ranks, &roots.starts, &roots.rows));
  PetscCall(PetscSFGetRootRanks(sf, &leaves.num, &leaves.ranks, &leaves.starts, &leaves.rows, NULL));
  PetscCall(CheckLeaves(&leaves));
  PetscCall(SetDirection(&roots, PETSC_FALSE, roots_direction, m));
  PetscCall(SetDirection(&leaves, PETSC_TRUE, 1 - roots_direction, m));
  PetscCall(PetscMalloc1(m->num[SENT] + m->num[RECEIVED], &m->requests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesGetRoots - The roots of a PetscSF whose rows travel, for process after process: *rows [*n] are borrowed from it. Not collective. */
PetscErrorCode RowMessagesGetRoots(PetscSF sf, PetscInt *n, const PetscInt **rows)
{
  PetscMPIInt     num;
  const PetscInt *starts;

  PetscFunctionBegin;
  PetscCall(PetscSFGetLeafRanks(sf, &num, NULL, &starts, rows));
  *n = num > 0 ? starts[num] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesSetEntries - From now on messages have one unit an entry; [rows + 1] offsets are those of the packed rows that are sent, and that are received. Not collective, once. */
PetscErrorCode RowMessagesSetEntries(RowMessages *m, const PetscInt sent_offsets[], const PetscInt received_offsets[])
{
  PetscFunctionBegin;
  for (int d = SENT; d <= RECEIVED; d++) {
    const PetscInt *offsets = d == SENT ? sent_offsets : received_offsets;

    for (PetscMPIInt k = 0; k < m->num[d]; k++) {
      const PetscInt begin = m->begins[d][k];

      m->begins[d][k] = offsets[begin];
      m->counts[d][k] = offsets[begin + m->counts[d][k]] - offsets[begin];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesExchangeHost - The messages, between arrays that MPI can read and write

  Collective

  Input Parameters:
+ m    - the messages
. unit - what a row or an entry is here
- sent - what is sent

  Output Parameter:
. received - what has come
*/
PetscErrorCode RowMessagesExchangeHost(const RowMessages *m, MPI_Datatype unit, const void *sent, void *received)
{
  MPI_Request *requests = m->requests;
  PetscMPIInt  bytes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_size(unit, &bytes));
  for (PetscMPIInt k = 0; k < m->num[RECEIVED]; k++) PetscCallMPI(MPIU_Irecv((char *)received + (size_t)m->begins[RECEIVED][k] * bytes, m->counts[RECEIVED][k], unit, m->ranks[RECEIVED][k], m->tag, m->comm, requests++));
  for (PetscMPIInt k = 0; k < m->num[SENT]; k++) PetscCallMPI(MPIU_Isend((const char *)sent + (size_t)m->begins[SENT][k] * bytes, m->counts[SENT][k], unit, m->ranks[SENT][k], m->tag, m->comm, requests++));
  PetscCallMPI(MPI_Waitall(m->num[SENT] + m->num[RECEIVED], m->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Units of the packed rows of one direction. */
static size_t CountUnits(const RowMessages *m, int direction)
{
  PetscInt n = 0;

  for (PetscMPIInt k = 0; k < m->num[direction]; k++) n = PetscMax(n, m->begins[direction][k] + m->counts[direction][k]);
  return (size_t)n;
}

/* By way of the host, for an MPI that takes no device memory. */
static PetscErrorCode ExchangeStaged(const RowMessages *m, MPI_Datatype unit, const void *sent, void *received, cudaStream_t stream)
{
  char       *host[2];
  PetscMPIInt bytes;
  size_t      sizes[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_size(unit, &bytes));
  for (int d = SENT; d <= RECEIVED; d++) sizes[d] = CountUnits(m, d) * (size_t)bytes;
  PetscCall(PetscMalloc2(sizes[SENT], &host[SENT], sizes[RECEIVED], &host[RECEIVED]));
  PetscCall(PetscSparseCUDACopyToHost(host[SENT], sent, sizes[SENT], stream));
  PetscCall(RowMessagesExchangeHost(m, unit, host[SENT], host[RECEIVED]));
  PetscCall(PetscSparseCUDACopyToDevice(received, host[RECEIVED], sizes[RECEIVED], stream));
  PetscCall(PetscFree2(host[SENT], host[RECEIVED]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesExchange - The messages, between device arrays

  Collective

  Input Parameters:
+ m      - the messages
. unit   - what a row or an entry is here
. sent   - device, of PetscSparseCUDAMallocExportable(): what is sent
- stream - for the work

  Output Parameter:
. received - device, of PetscSparseCUDAMallocExportable(): set for work queued on the stream from now on

  Errors: PETSC_ERR_PLIB when an array that MPI may get is other memory.
*/
PetscErrorCode RowMessagesExchange(const RowMessages *m, MPI_Datatype unit, const void *sent, void *received, cudaStream_t stream)
{
  const PetscBool device = PetscMemTypeDevice(PetscSparseCUDAExportableMemType()); // for tests without a GPU, exportable memory is the host's

  PetscFunctionBegin;
  if (m->num[SENT] == 0 && m->num[RECEIVED] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (CountUnits(m, SENT) > 0) PetscCall(PetscSparseCUDACheckExportable(sent, "rows for other processes"));
  if (CountUnits(m, RECEIVED) > 0) PetscCall(PetscSparseCUDACheckExportable(received, "rows of other processes"));
  if (device && !use_gpu_aware_mpi) {
    PetscCall(ExchangeStaged(m, unit, sent, received, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (device) PetscCallCUDA(cudaStreamSynchronize(stream)); // what is sent is there, and what the memory was used for before is done
  PetscCall(RowMessagesExchangeHost(m, unit, sent, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesDestroy - Frees them; zero ones are fine, and they are zero afterwards. Collective. */
PetscErrorCode RowMessagesDestroy(RowMessages *m)
{
  PetscFunctionBegin;
  for (int d = SENT; d <= RECEIVED; d++) PetscCall(PetscFree3(m->ranks[d], m->begins[d], m->counts[d]));
  PetscCall(PetscFree(m->requests));
  if (m->created) PetscCall(PetscCommDestroy(&m->comm));
  PetscCall(PetscArrayzero(m, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
