/* Entries on their way to the processes that own their rows: who receives how much is found once, then indices and values travel the same way. */
#include <petscsparsecuda/exchange.h>

/* Entries are counted by owner and put into the send order, which keeps the order of the list for each receiver. */
static PetscErrorCode SortByOwner(PetscLayout map, PetscInt n, const PetscInt rows[], MatExchange *x)
{
  PetscMPIInt size, *owners;
  PetscInt   *counts;
  PetscMPIInt k = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(x->comm, &size));
  PetscCall(PetscMalloc1(n, &owners));
  PetscCall(PetscCalloc1(size, &counts));
  for (PetscInt e = 0; e < n; e++) {
    if (e > 0 && rows[e] == rows[e - 1]) owners[e] = owners[e - 1];
    else PetscCall(PetscLayoutFindOwner(map, rows[e], &owners[e]));
    counts[owners[e]]++;
  }
  for (PetscMPIInt r = 0; r < size; r++) x->num_to += counts[r] > 0;
  PetscCall(PetscMalloc4(x->num_to, &x->to, x->num_to, &x->to_counts, x->num_to + 1, &x->to_starts, n, &x->order));
  x->to_starts[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (counts[r] == 0) continue;
    x->to[k]            = r;
    x->to_counts[k]     = counts[r];
    x->to_starts[k + 1] = x->to_starts[k] + counts[r];
    counts[r]           = x->to_starts[k++]; // from now on where the next one goes
  }
  for (PetscInt e = 0; e < n; e++) x->order[counts[owners[e]]++] = e;
  x->num_sent = n;
  PetscCall(PetscFree(owners));
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeCreate - Finds out who sends how much to whom.

  Collective on the communicator of the layout

  Input Parameters:
+ map  - layout of the rows
. n    - entries for other processes
- rows - [n] host, global rows

  Output Parameter:
. x - to be freed with MatExchangeDestroy()
*/
PetscErrorCode MatExchangeCreate(PetscLayout map, PetscInt n, const PetscInt rows[], MatExchange *x)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(x, 1));
  x->comm = map->comm;
  PetscCall(SortByOwner(map, n, rows, x));
  PetscCall(PetscCommBuildTwoSided(x->comm, 1, MPIU_INT, x->num_to, x->to, x->to_counts, &x->num_from, &x->from, &x->from_counts));
  // in the order of ranks, so that the same input gives the same bits
  PetscCall(PetscSortMPIIntWithIntArray(x->num_from, x->from, x->from_counts));
  for (PetscMPIInt k = 0; k < x->num_from; k++) x->num_received += x->from_counts[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Exchange(const MatExchange *x, MPI_Datatype type, size_t size, const char send[], char received[])
{
  MPI_Request *requests;
  PetscMPIInt  tag, count, k = 0;
  PetscInt     start = 0;
  MPI_Comm     comm;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(x->comm, &comm, &tag));
  PetscCall(PetscMalloc1(x->num_to + x->num_from, &requests));
  for (PetscMPIInt f = 0; f < x->num_from; f++) {
    PetscCall(PetscMPIIntCast(x->from_counts[f], &count));
    PetscCallMPI(MPI_Irecv(received + (size_t)start * size, count, type, x->from[f], tag, comm, &requests[k++]));
    start += x->from_counts[f];
  }
  for (PetscMPIInt t = 0; t < x->num_to; t++) {
    PetscCall(PetscMPIIntCast(x->to_counts[t], &count));
    PetscCallMPI(MPI_Isend(send + (size_t)x->to_starts[t] * size, count, type, x->to[t], tag, comm, &requests[k++]));
  }
  PetscCallMPI(MPI_Waitall(k, requests, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(requests));
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatExchangeIndices - Sends one index an entry.

  Collective

  Input Parameters:
+ x       - who sends what
- indices - [num_sent] host, in the order of the list

  Output Parameter:
. received - [num_received] host
*/
PetscErrorCode MatExchangeIndices(const MatExchange *x, const PetscInt indices[], PetscInt received[])
{
  PetscInt *send;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(x->num_sent, &send));
  for (PetscInt k = 0; k < x->num_sent; k++) send[k] = indices[x->order[k]];
  PetscCall(Exchange(x, MPIU_INT, sizeof(PetscInt), (const char *)send, (char *)received));
  PetscCall(PetscFree(send));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatExchangeValues - The same for one value an entry. */
PetscErrorCode MatExchangeValues(const MatExchange *x, const PetscScalar values[], PetscScalar received[])
{
  PetscScalar *send;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(x->num_sent, &send));
  for (PetscInt k = 0; k < x->num_sent; k++) send[k] = values[x->order[k]];
  PetscCall(Exchange(x, MPIU_SCALAR, sizeof(PetscScalar), (const char *)send, (char *)received));
  PetscCall(PetscFree(send));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatExchangeDestroy - Frees it; a zero one is fine. */
PetscErrorCode MatExchangeDestroy(MatExchange *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(x->to, x->to_counts, x->to_starts, x->order));
  PetscCall(PetscFree(x->from));
  PetscCall(PetscFree(x->from_counts));
  PetscCall(PetscArrayzero(x, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
