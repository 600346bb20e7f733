/*
  Packed rows, or entries, on their way between processes. Those for one process lie together in the send buffer, and those of one process in the receive buffer, so that two processes have
  one message and no entry has a position that somebody must be told. With star forests of rows and of entries, and lists of all rows, the Galerkin product of 33 million unknowns took 230 ms on two H200,
  and takes 65 (benchmark scaling, n320).
*/
#include "exchange.h"
#include <petscsparsecuda/exportable.h>
#include "../../../../petsc/sys.h"

/* The processes that rows go to, and those that rows come from. */
enum {
  SENT,
  RECEIVED
};

/* RowMessagesExchangeHost - The messages, between arrays that MPI can read and write; the unit is what a row or an entry is here. Collective. */
PetscErrorCode RowMessagesExchangeHost(const RowMessages *m, MPI_Datatype unit, const void *sent, void *received)
{
  MPI_Request *requests = m->requests;
  PetscMPIInt  bytes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_size(unit, &bytes));
  for (PetscMPIInt k = 0; k < m->num[RECEIVED]; k++)
    PetscCallMPI(MPIU_Irecv((char *)received + (size_t)m->begins[RECEIVED][k] * bytes, m->counts[RECEIVED][k], unit, m->ranks[RECEIVED][k], m->tag, m->comm, requests++));
  for (PetscMPIInt k = 0; k < m->num[SENT]; k++)
    PetscCallMPI(MPIU_Isend((const char *)sent + (size_t)m->begins[SENT][k] * bytes, m->counts[SENT][k], unit, m->ranks[SENT][k], m->tag, m->comm, requests++));
  PetscCallMPI(MPI_Waitall(m->num[SENT] + m->num[RECEIVED], m->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the messages with num processes in one direction. */
static PetscErrorCode AllocateDirection(RowMessages *m, int direction, PetscMPIInt num)
{
  PetscFunctionBegin;
  m->num[direction] = num;
  PetscCall(PetscMalloc3(num, &m->ranks[direction], num, &m->begins[direction], num, &m->counts[direction]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owners of wanted rows, which are in the order of owners. */
static PetscErrorCode FindOwners(PetscLayout map, PetscInt n, const PetscInt wanted[], int direction, RowMessages *m)
{
  PetscMPIInt num;

  PetscFunctionBegin;
  for (int pass = 0; pass < 2; pass++) {
    PetscInt    begin = 0, end;
    PetscMPIInt rank  = 0;

    for (num = 0; begin < n; num++, begin = end) {
      while (wanted[begin] >= map->range[rank + 1]) rank++;
      for (end = begin + 1; end < n && wanted[end] < map->range[rank + 1];) end++;
      if (pass == 0) continue;
      m->ranks[direction][num]  = rank;
      m->begins[direction][num] = begin;
      m->counts[direction][num] = end - begin;
    }
    if (pass == 0) PetscCall(AllocateDirection(m, direction, num));
  }
  m->num_rows[direction] = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The processes that want rows of this one, in the order of their ranks. Collective. */
static PetscErrorCode FindWanters(int owners, RowMessages *m)
{
  const int      wanters = 1 - owners;
  PetscMPIInt    num, *ranks;
  PetscInt      *counts;
  PetscCount     sum = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCommBuildTwoSided(m->comm, 1, MPIU_INT, m->num[owners], m->ranks[owners], m->counts[owners], &num, &ranks, &counts));
  PetscCallGoto(ierr, cleanup, PetscSortMPIIntWithIntArray(num, ranks, counts));
  PetscCallGoto(ierr, cleanup, AllocateDirection(m, wanters, num));
  for (PetscMPIInt k = 0; k < num; k++) {
    m->ranks[wanters][k]  = ranks[k];
    m->begins[wanters][k] = (PetscInt)sum;
    m->counts[wanters][k] = counts[k];
    sum += counts[k];
  }
  PetscCallGoto(ierr, cleanup, PetscIntCast(sum, &m->num_rows[wanters]));
cleanup:
  PetscCall(PetscFree(ranks));
  PetscCall(PetscFree(counts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesReversed - The same messages against their direction, borrowed. */
RowMessages RowMessagesReversed(const RowMessages *m)
{
  RowMessages back = *m;

  for (int d = SENT; d <= RECEIVED; d++) {
    back.num_rows[d] = m->num_rows[1 - d];
    back.num[d]      = m->num[1 - d];
    back.ranks[d]    = m->ranks[1 - d];
    back.begins[d]   = m->begins[1 - d];
    back.counts[d]   = m->counts[1 - d];
  }
  return back;
}

/* Owners learn which of their rows are wanted. Collective. */
static PetscErrorCode ExchangeWanted(PetscLayout map, const PetscInt wanted[], int owners, RowMessages *m)
{
  const RowMessages to_owners = owners == SENT ? *m : RowMessagesReversed(m);

  PetscFunctionBegin;
  PetscCall(RowMessagesExchangeHost(&to_owners, MPIU_INT, wanted, m->roots));
  for (PetscInt k = 0; k < m->num_rows[1 - owners]; k++) m->roots[k] -= map->rstart;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesCreate - Messages of one unit a row between owners of rows, by their layout, and those who want them. Collective.

  wanted: [n] host, global numbers of rows of other processes, in the order of their owners. m is to be freed with RowMessagesDestroy(), also after an error.
  With to_wanters rows travel to those who want them: they are packed in the order of roots, for process after process, and received in the order of wanted; otherwise the other way round.
*/
PetscErrorCode RowMessagesCreate(PetscLayout map, PetscInt n, const PetscInt wanted[], PetscBool to_wanters, RowMessages *m)
{
  const int owners = to_wanters ? RECEIVED : SENT;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(map->comm, &m->comm, &m->tag));
  m->created = PETSC_TRUE;
  PetscCall(FindOwners(map, n, wanted, owners, m));
  PetscCall(FindWanters(owners, m));
  PetscCall(PetscMalloc1(m->num_rows[1 - owners], &m->roots));
  PetscCall(PetscMalloc1(m->num[SENT] + m->num[RECEIVED], &m->requests));
  PetscCall(ExchangeWanted(map, wanted, owners, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The messages that this process sends, starts[r + 1] - starts[r] units to process r. */
static PetscErrorCode SetSent(const PetscInt starts[], RowMessages *m)
{
  PetscMPIInt size, num = 0, k = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(m->comm, &size));
  for (PetscMPIInt r = 0; r < size; r++) num += starts[r + 1] > starts[r];
  PetscCall(AllocateDirection(m, SENT, num));
  for (PetscMPIInt r = 0; r < size; r++) {
    if (starts[r + 1] == starts[r]) continue;
    m->ranks[SENT][k]    = r;
    m->begins[SENT][k]   = starts[r];
    m->counts[SENT][k++] = starts[r + 1] - starts[r];
  }
  m->num_rows[SENT] = starts[size];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesCreateFromStarts - Messages of the units that each process has for others, which arrive one after the other in the order of ranks. Collective.

  starts: [processes + 1] where those for each process begin in the send buffer. m is zero before, and to be freed with RowMessagesDestroy(), also after an error.
  What fails before the last message fails on all processes. Errors of this process are found after it, so that the callers may agree later: PETSC_ERR_ARG_OUTOFRANGE, its receive buffer is longer
  than PetscInt can tell, and PETSC_ERR_MEM.
*/
PetscErrorCode RowMessagesCreateFromStarts(MPI_Comm comm, const PetscInt starts[], RowMessages *m)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(comm, &m->comm, &m->tag));
  m->created = PETSC_TRUE;
  ierr       = SetSent(starts, m);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCall(ierr);
  PetscCall(FindWanters(SENT, m));
  PetscCall(PetscMalloc1(m->num[SENT] + m->num[RECEIVED], &m->requests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesCreateToFirst - Messages of counts [processes] units from each process but the first one, which receives them one after the other in the order of ranks. Collective.

  m is zero before, and to be freed with RowMessagesDestroy(), also after an error.
*/
PetscErrorCode RowMessagesCreateToFirst(MPI_Comm comm, const PetscInt counts[], RowMessages *m)
{
  PetscMPIInt rank, size;
  PetscInt    begin = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscCommDuplicate(comm, &m->comm, &m->tag));
  m->created = PETSC_TRUE;
  PetscCall(AllocateDirection(m, SENT, rank > 0));
  PetscCall(AllocateDirection(m, RECEIVED, rank > 0 ? 0 : size - 1));
  PetscCall(PetscMalloc1(size, &m->requests));
  for (PetscMPIInt k = 0; k < size - 1; k++) {
    const int d = rank > 0 ? SENT : RECEIVED;

    if (k == m->num[d]) break;
    m->ranks[d][k]  = rank > 0 ? 0 : k + 1;
    m->begins[d][k] = begin;
    m->counts[d][k] = counts[rank > 0 ? rank : k + 1];
    begin += m->counts[d][k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesSetEntries - From now on messages have one unit an entry; [rows + 1] offsets are those of the packed rows that are sent, and that are received. Once. */
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

/* Units of the packed rows of one direction. */
static size_t CountUnits(const RowMessages *m, int direction)
{
  PetscInt n = 0;

  for (PetscMPIInt k = 0; k < m->num[direction]; k++) n = PetscMax(n, m->begins[direction][k] + m->counts[direction][k]);
  return (size_t)n;
}

/* By way of the host, for an MPI that takes no device memory; device: [2] which of the arrays have to. All processes have an error before the messages when one has. Collective. */
static PetscErrorCode ExchangeStaged(const RowMessages *m, MPI_Datatype unit, const PetscBool device[], const void *sent, void *received, cudaStream_t stream)
{
  char          *host[2] = {NULL, NULL};
  PetscMPIInt    bytes;
  size_t         sizes[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_size(unit, &bytes));
  for (int d = SENT; d <= RECEIVED; d++) sizes[d] = device[d] ? CountUnits(m, d) * (size_t)bytes : 0;
  ierr = PetscMalloc2(sizes[SENT], &host[SENT], sizes[RECEIVED], &host[RECEIVED]);
  if (ierr == PETSC_SUCCESS) ierr = PetscSparseCUDACopyToHost(host[SENT], sent, sizes[SENT], stream);
  PetscCall(PetscSparseCUDAAgree(m->comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) {
    PetscCall(RowMessagesExchangeHost(m, unit, device[SENT] ? host[SENT] : sent, device[RECEIVED] ? host[RECEIVED] : received));
    ierr = PetscSparseCUDACopyToDevice(received, host[RECEIVED], sizes[RECEIVED], stream);
  }
  PetscCall(PetscFree2(host[SENT], host[RECEIVED]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowMessagesExchangeWithMemType - The messages, between arrays that are each where its mtype says for this process, of PetscSparseCUDAMallocExportable() when that is the device; the unit is what a row or
  an entry is here. Collective.

  What is received on the device is set for work queued on the stream from now on. PETSC_ERR_PLIB: a device array that MPI may get is other memory.
*/
PetscErrorCode RowMessagesExchangeWithMemType(const RowMessages *m, MPI_Datatype unit, PetscMemType sent_mtype, const void *sent, PetscMemType received_mtype, void *received, cudaStream_t stream)
{
  PetscBool device[2] = {(PetscBool)(PetscMemTypeDevice(sent_mtype) && CountUnits(m, SENT) > 0), (PetscBool)(PetscMemTypeDevice(received_mtype) && CountUnits(m, RECEIVED) > 0)};

  PetscFunctionBegin;
  if (device[SENT]) PetscCall(PetscSparseCUDACheckExportable(sent, "what is sent"));
  if (device[RECEIVED]) PetscCall(PetscSparseCUDACheckExportable(received, "what is received"));
  if (PetscMemTypeHost(PetscSparseCUDAExportableMemType)) device[SENT] = device[RECEIVED] = PETSC_FALSE; // in tests without a GPU
  if (!use_gpu_aware_mpi) {
    PetscCall(ExchangeStaged(m, unit, device, sent, received, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (device[SENT] || device[RECEIVED]) PetscCallCUDA(cudaStreamSynchronize(stream)); // what is sent is there, and what the memory was used for before is done
  PetscCall(RowMessagesExchangeHost(m, unit, sent, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesExchange - The same between device arrays. */
PetscErrorCode RowMessagesExchange(const RowMessages *m, MPI_Datatype unit, const void *sent, void *received, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowMessagesExchangeWithMemType(m, unit, PETSC_MEMTYPE_CUDA, sent, PETSC_MEMTYPE_CUDA, received, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowMessagesDestroy - Frees them; zero ones are fine, and they are zero afterwards. Collective. */
PetscErrorCode RowMessagesDestroy(RowMessages *m)
{
  PetscFunctionBegin;
  for (int d = SENT; d <= RECEIVED; d++) PetscCall(PetscFree3(m->ranks[d], m->begins[d], m->counts[d]));
  PetscCall(PetscFree(m->roots));
  PetscCall(PetscFree(m->requests));
  if (m->created) PetscCall(PetscCommDestroy(&m->comm));
  PetscCall(PetscArrayzero(m, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
