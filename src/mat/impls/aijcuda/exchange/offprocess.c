/*
  The stash of values for rows of other processes. What MatSetValues() brings waits on the host, lists in device memory wait on the device, part by part in
  program order; at assembly the parts become one list, on the device when one of them is there.
*/
#include "exchange.h"
#include <petscsparsecuda/insert.h>

#define FIRST_CAPACITY 1024 /* entries of a new part on the host */

/* OffProcessMalloc_Private - n entries of host or device memory; use the macro OffProcessMalloc(). */
PetscErrorCode OffProcessMalloc_Private(PetscMemType mtype, PetscCount n, size_t size, const char what[], cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscMalloc((size_t)n * size, ptr));
  else PetscCall(PetscSparseCUDAMalloc_Private((size_t)n * size, what, stream, ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for a buffer of messages. */
static PetscErrorCode OffProcessMallocExportable(PetscMemType mtype, PetscCount n, size_t size, const char what[], cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscMalloc((size_t)n * size, ptr));
  else PetscCall(PetscSparseCUDAMallocExportable_Private((size_t)n * size, what, stream, ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessFree_Private - Frees host or device memory, NULL is fine, and *ptr is NULL afterwards; use the macro OffProcessFree(). */
PetscErrorCode OffProcessFree_Private(PetscMemType mtype, cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscFree(*ptr));
  else PetscCall(PetscSparseCUDAFree_Private(ptr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessPartDestroy - Frees a part; a zero one is fine, and it is zero afterwards. */
PetscErrorCode OffProcessPartDestroy(OffProcessPart *part, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OffProcessFree(part->mtype, stream, &part->rows));
  PetscCall(OffProcessFree(part->mtype, stream, &part->columns));
  PetscCall(OffProcessFree(part->mtype, stream, &part->values));
  PetscCall(PetscArrayzero(part, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A part in which entries wait, or one that is a buffer of messages. */
static PetscErrorCode PartCreate(PetscMemType mtype, PetscCount capacity, PetscBool travels, cudaStream_t stream, OffProcessPart *part)
{
  PetscErrorCode (*const allocate)(PetscMemType, PetscCount, size_t, const char[], cudaStream_t, void **) = travels ? OffProcessMallocExportable : OffProcessMalloc_Private;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(part, 1));
  part->mtype    = mtype;
  part->capacity = capacity;
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*part->rows), "rows of entries of other processes", stream, (void **)&part->rows));
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*part->columns), "columns of entries of other processes", stream, (void **)&part->columns));
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*part->values), "values of entries of other processes", stream, (void **)&part->values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(OffProcessPartDestroy(part, stream));
  PetscFunctionReturn(ierr);
}

/* A zero part behind the others. */
static PetscErrorCode AddPart(OffProcessStash *s)
{
  PetscFunctionBegin;
  if (s->num_parts == s->max_parts) {
    const PetscInt  max_parts = PetscMax(2 * s->max_parts, 4);
    OffProcessPart *parts;

    PetscCall(PetscCalloc1(max_parts, &parts));
    PetscCall(PetscArraycpy(parts, s->parts, s->num_parts));
    PetscCall(PetscFree(s->parts));
    s->parts     = parts;
    s->max_parts = max_parts;
  }
  PetscCall(PetscArrayzero(&s->parts[s->num_parts++], 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Doubles a part on the host. */
static PetscErrorCode Grow(OffProcessPart *part)
{
  OffProcessPart larger;

  PetscFunctionBegin;
  PetscCall(PartCreate(PETSC_MEMTYPE_HOST, PetscMax(2 * part->capacity, FIRST_CAPACITY), PETSC_FALSE, NULL, &larger));
  PetscCall(PetscArraycpy(larger.rows, part->rows, part->n));
  PetscCall(PetscArraycpy(larger.columns, part->columns, part->n));
  PetscCall(PetscArraycpy(larger.values, part->values, part->n));
  larger.n = part->n;
  PetscCall(OffProcessPartDestroy(part, NULL));
  *part = larger;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashAppend - Keeps one entry, whose value is on the host; row and column are global, the row of another process. */
PetscErrorCode OffProcessStashAppend(OffProcessStash *s, PetscInt row, PetscInt column, PetscScalar v)
{
  OffProcessPart *last;

  PetscFunctionBegin;
  if (s->num_parts == 0 || PetscMemTypeDevice(s->parts[s->num_parts - 1].mtype)) PetscCall(AddPart(s));
  last = &s->parts[s->num_parts - 1];
  if (last->n == last->capacity) PetscCall(Grow(last));
  last->rows[last->n]     = row;
  last->columns[last->n]  = column;
  last->values[last->n++] = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  OffProcessStashAppendDevice - Keeps a list of [n] entries in device memory; indices are global, rows of other processes.

  The stash takes the three arrays over, and the pointers to them are NULL afterwards, unless there is an error.
*/
PetscErrorCode OffProcessStashAppendDevice(OffProcessStash *s, PetscCount n, PetscInt **rows, PetscInt **columns, PetscScalar **values)
{
  OffProcessPart *last;

  PetscFunctionBegin;
  PetscCall(AddPart(s));
  last           = &s->parts[s->num_parts - 1];
  last->mtype    = PETSC_MEMTYPE_CUDA;
  last->n        = n;
  last->capacity = n;
  last->rows     = *rows;
  last->columns  = *columns;
  last->values   = *values;
  *rows          = NULL;
  *columns       = NULL;
  *values        = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashCount - Entries that wait. */
PetscCount OffProcessStashCount(const OffProcessStash *s)
{
  PetscCount n = 0;

  for (PetscInt p = 0; p < s->num_parts; p++) n += s->parts[p].n;
  return n;
}

/* OffProcessStashOnDevice - Whether some of the entries wait on the device. */
PetscBool OffProcessStashOnDevice(const OffProcessStash *s)
{
  for (PetscInt p = 0; p < s->num_parts; p++)
    if (PetscMemTypeDevice(s->parts[p].mtype)) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode CopyToDevice(PetscMemType mtype, void *to, const void *from, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscSparseCUDACopyToDevice(to, from, bytes, stream));
  else PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One part in place of several, of which one at least is on the device: entries on the host that follow each other share a part. */
static PetscErrorCode Join(OffProcessStash *s, cudaStream_t stream)
{
  OffProcessPart all;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (s->num_parts < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PartCreate(PETSC_MEMTYPE_CUDA, OffProcessStashCount(s), PETSC_FALSE, stream, &all));
  for (PetscInt p = 0; p < s->num_parts; p++) {
    const OffProcessPart *part = &s->parts[p];

    PetscCallGoto(ierr, failed, CopyToDevice(part->mtype, all.rows + all.n, part->rows, (size_t)part->n * sizeof(*part->rows), stream));
    PetscCallGoto(ierr, failed, CopyToDevice(part->mtype, all.columns + all.n, part->columns, (size_t)part->n * sizeof(*part->columns), stream));
    PetscCallGoto(ierr, failed, CopyToDevice(part->mtype, all.values + all.n, part->values, (size_t)part->n * sizeof(*part->values), stream));
    all.n += part->n;
  }
  for (PetscInt p = 0; p < s->num_parts; p++) PetscCall(OffProcessPartDestroy(&s->parts[p], stream));
  s->parts[0]  = all;
  s->num_parts = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(OffProcessPartDestroy(&all, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode ForgetOrder(OffProcessStash *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->order != NULL) PetscCall(OffProcessFree(s->parts[0].mtype, stream, &s->order));
  PetscCall(PetscFree(s->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts the entries of a list on the host, whose global rows are given, in the order of their owners, those of one owner in the order of the list; see OffProcessStash. */
static PetscErrorCode SortHost(PetscLayout map, PetscMPIInt size, PetscCount n, const PetscInt rows[], PetscCount **order, PetscInt starts[])
{
  PetscMPIInt *owners;
  PetscInt    *next;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, order));
  PetscCall(PetscMalloc1(n, &owners));
  PetscCall(PetscMalloc1(size, &next));
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

/* OffProcessStashSort - Finds the owners of what waits by the layout of the rows, and puts it in their order. Nothing may be appended until OffProcessStashExchange(). */
PetscErrorCode OffProcessStashSort(OffProcessStash *s, PetscLayout map, cudaStream_t stream)
{
  const PetscCount n = OffProcessStashCount(s);
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCheck(n <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscCount_FMT " entries for other processes are too many: call MatAssemblyBegin() and MatAssemblyEnd() with MAT_FLUSH_ASSEMBLY now and then", n);
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  PetscCall(ForgetOrder(s, stream));
  PetscCall(Join(s, stream));
  PetscCall(PetscCalloc1(size + 1, &s->starts));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(s->parts[0].mtype)) PetscCall(SortHost(map, size, n, s->parts[0].rows, &s->order, s->starts));
  else PetscCall(DCSRSortByOwner(size, map->range, n, NULL, s->parts[0].rows, stream, &s->order, s->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GatherIndices(PetscMemType mtype, PetscInt n, const PetscCount order[], const PetscInt from[], PetscInt to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscMemTypeDevice(mtype)) PetscCall(DCSRGatherIndices(n, order, from, to, stream));
  else
    for (PetscInt k = 0; k < n; k++) to[k] = order[k] < 0 ? -1 : from[order[k]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GatherValues(PetscMemType mtype, PetscInt n, const PetscCount order[], const PetscScalar from[], PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscMemTypeDevice(mtype)) PetscCall(DCSRGatherValues(n, order, from, to, stream));
  else
    for (PetscInt k = 0; k < n; k++) to[k] = order[k] < 0 ? 0.0 : from[order[k]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which entry of a list goes to each position of the send buffer, [num_rows[0]], -1: none. order: positions in the list, by owner, which begin at starts; both orders are where mtype says. */
static PetscErrorCode GetSendOrder(const RowMessages *m, const PetscInt starts[], PetscMemType mtype, const PetscCount order[], cudaStream_t stream, PetscCount **send_order)
{
  PetscFunctionBegin;
  PetscCall(OffProcessMalloc(mtype, m->num_rows[0], "order of entries for other processes", stream, send_order));
  if (PetscMemTypeHost(mtype)) {
    for (PetscInt k = 0; k < m->num_rows[0]; k++) (*send_order)[k] = -1;
  } else if (m->num_rows[0] > 0) PetscCallCUDA(cudaMemsetAsync(*send_order, 0xff, (size_t)m->num_rows[0] * sizeof(**send_order), stream));
  for (PetscMPIInt k = 0; k < m->num[0]; k++) {
    const PetscInt    begin = starts[m->ranks[0][k]], n = starts[m->ranks[0][k] + 1] - begin;
    PetscCount *const part = *send_order + m->begins[0][k];

    if (n == 0) continue;
    if (PetscMemTypeHost(mtype)) PetscCall(PetscArraycpy(part, order + begin, n));
    else PetscCallCUDA(cudaMemcpyAsync(part, order + begin, (size_t)n * sizeof(*order), cudaMemcpyDeviceToDevice, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts a list, zero when this process has nothing to send, into a send buffer, and makes room for what is received. Both are to be freed, also after an error. */
static PetscErrorCode Pack(const RowMessages *m, const PetscInt starts[], const OffProcessPart *list, const PetscCount order[], cudaStream_t stream, PetscMemType mtype, OffProcessPart *sent,
                           OffProcessPart *received)
{
  const PetscInt num_sent   = m->num_rows[0];
  PetscCount    *send_order = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PartCreate(mtype, m->num_rows[1], PETSC_TRUE, stream, received));
  PetscCall(PartCreate(list->mtype, num_sent, PETSC_TRUE, stream, sent));
  PetscCallGoto(ierr, cleanup, GetSendOrder(m, starts, list->mtype, order, stream, &send_order));
  PetscCallGoto(ierr, cleanup, GatherIndices(list->mtype, num_sent, send_order, list->rows, sent->rows, stream));
  PetscCallGoto(ierr, cleanup, GatherIndices(list->mtype, num_sent, send_order, list->columns, sent->columns, stream));
  PetscCallGoto(ierr, cleanup, GatherValues(list->mtype, num_sent, send_order, list->values, sent->values, stream));
cleanup:
  PetscCall(OffProcessFree(list->mtype, stream, &send_order));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills what is received with what others send. Collective. */
static PetscErrorCode Travel(const RowMessages *m, const OffProcessPart *sent, cudaStream_t stream, OffProcessPart *received)
{
  PetscFunctionBegin;
  PetscCall(RowMessagesExchangeWithMemType(m, MPIU_INT, sent->mtype, sent->rows, received->mtype, received->rows, stream));
  PetscCall(RowMessagesExchangeWithMemType(m, MPIU_INT, sent->mtype, sent->columns, received->mtype, received->columns, stream));
  PetscCall(RowMessagesExchangeWithMemType(m, MPIU_SCALAR, sent->mtype, sent->values, received->mtype, received->values, stream));
  received->n = m->num_rows[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashFits - Whether what waits, after OffProcessStashSort(), can travel in the messages of the last time. */
PetscBool OffProcessStashFits(const OffProcessStash *s)
{
  const RowMessages *m = &s->messages;
  PetscCount         n = 0;

  if (!m->created) return PETSC_FALSE;
  for (PetscMPIInt k = 0; k < m->num[0]; k++) {
    const PetscInt num = s->starts[m->ranks[0][k] + 1] - s->starts[m->ranks[0][k]];

    if (num > m->counts[0][k]) return PETSC_FALSE;
    n += num;
  }
  return (PetscBool)(n == OffProcessStashCount(s));
}

/*
  OffProcessStashExchange - Sends what waits, after OffProcessStashSort(), to the owners of its rows; the stash is empty afterwards. Collective on the communicator of the layout of the rows.

  new_pattern, the same on all processes: new messages are made; PETSC_FALSE: what waits on any process fits those of the last time.
  received: entries of the other processes in the order of their ranks, where mtype says, some with row -1, which do not count; to be freed with OffProcessPartDestroy().
  PETSC_ERR_MEM is on all processes when it is one's, and nothing was sent: the stash is as it was. The stream is for work on the device.
*/
PetscErrorCode OffProcessStashExchange(OffProcessStash *s, PetscLayout map, PetscBool new_pattern, PetscMemType mtype, cudaStream_t stream, OffProcessPart *received)
{
  const OffProcessPart nothing = {PETSC_MEMTYPE_HOST, 0, 0, NULL, NULL, NULL};
  OffProcessPart       sent    = nothing;
  PetscErrorCode       ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  *received = nothing;
  if (new_pattern) {
    PetscCall(RowMessagesDestroy(&s->messages));
    ierr = RowMessagesCreateFromStarts(map->comm, s->starts, &s->messages);
    if (ierr != PETSC_SUCCESS) PetscCall(RowMessagesDestroy(&s->messages));
  }
  if (ierr == PETSC_SUCCESS) ierr = Pack(&s->messages, s->starts, s->num_parts > 0 ? &s->parts[0] : &nothing, s->order, stream, mtype, &sent, received);
  PetscCall(PetscSparseCUDAAgree(map->comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, Travel(&s->messages, &sent, stream, received));
  PetscCallGoto(ierr, cleanup, OffProcessStashClear(s, stream));
cleanup:
  PetscCall(OffProcessPartDestroy(&sent, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(OffProcessPartDestroy(received, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashClear - Drops what waits; a pattern that is kept stays. */
PetscErrorCode OffProcessStashClear(OffProcessStash *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ForgetOrder(s, stream));
  for (PetscInt p = 0; p < s->num_parts; p++) PetscCall(OffProcessPartDestroy(&s->parts[p], stream));
  s->num_parts = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashDestroy - Frees everything; a zero one is fine, and it is zero afterwards. */
PetscErrorCode OffProcessStashDestroy(OffProcessStash *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OffProcessStashClear(s, stream));
  PetscCall(RowMessagesDestroy(&s->messages));
  PetscCall(PetscFree(s->parts));
  PetscCall(PetscArrayzero(s, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
