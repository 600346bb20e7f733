/*
  The stash of values for rows of other processes. What MatSetValues() brings waits on the host, lists in device memory wait on the device, piece by piece in
  program order; at assembly the pieces become one list, on the device when one of them is there.
*/
#include "exchange.h"
#include <petscsparsecuda/insert.h>

#define FIRST_CAPACITY 1024 /* entries of a new piece on the host */

/* OffProcessMalloc_Private - n entries of host or device memory; use the macro OffProcessMalloc(). */
PetscErrorCode OffProcessMalloc_Private(PetscMemType mtype, PetscCount n, size_t size, const char what[], cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscMalloc((size_t)n * size, ptr));
  else PetscCall(PetscSparseCUDAMalloc_Private((size_t)n * size, what, stream, ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for a buffer that goes to PetscSF. */
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

/* OffProcessPartDestroy - Frees a piece; a zero one is fine, and it is zero afterwards. */
PetscErrorCode OffProcessPartDestroy(OffProcessPart *piece, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OffProcessFree(piece->mtype, stream, &piece->rows));
  PetscCall(OffProcessFree(piece->mtype, stream, &piece->columns));
  PetscCall(OffProcessFree(piece->mtype, stream, &piece->values));
  PetscCall(PetscArrayzero(piece, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A piece in which entries wait, or one that goes to PetscSF. */
static PetscErrorCode PieceCreate(PetscMemType mtype, PetscCount capacity, PetscBool travels, cudaStream_t stream, OffProcessPart *piece)
{
  PetscErrorCode (*const allocate)(PetscMemType, PetscCount, size_t, const char[], cudaStream_t, void **) = travels ? OffProcessMallocExportable : OffProcessMalloc_Private;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(piece, 1));
  piece->mtype    = mtype;
  piece->capacity = capacity;
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*piece->rows), "rows of entries of other processes", stream, (void **)&piece->rows));
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*piece->columns), "columns of entries of other processes", stream, (void **)&piece->columns));
  PetscCallGoto(ierr, failed, allocate(mtype, capacity, sizeof(*piece->values), "values of entries of other processes", stream, (void **)&piece->values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(OffProcessPartDestroy(piece, stream));
  PetscFunctionReturn(ierr);
}

/* A zero piece behind the others. */
static PetscErrorCode AddPiece(OffProcessStash *s)
{
  PetscFunctionBegin;
  if (s->num_pieces == s->max_pieces) {
    const PetscInt  max_pieces = PetscMax(2 * s->max_pieces, 4);
    OffProcessPart *pieces;

    PetscCall(PetscCalloc1(max_pieces, &pieces));
    PetscCall(PetscArraycpy(pieces, s->pieces, s->num_pieces));
    PetscCall(PetscFree(s->pieces));
    s->pieces     = pieces;
    s->max_pieces = max_pieces;
  }
  PetscCall(PetscArrayzero(&s->pieces[s->num_pieces++], 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Doubles a piece on the host. */
static PetscErrorCode Grow(OffProcessPart *piece)
{
  OffProcessPart larger;

  PetscFunctionBegin;
  PetscCall(PieceCreate(PETSC_MEMTYPE_HOST, PetscMax(2 * piece->capacity, FIRST_CAPACITY), PETSC_FALSE, NULL, &larger));
  PetscCall(PetscArraycpy(larger.rows, piece->rows, piece->n));
  PetscCall(PetscArraycpy(larger.columns, piece->columns, piece->n));
  PetscCall(PetscArraycpy(larger.values, piece->values, piece->n));
  larger.n = piece->n;
  PetscCall(OffProcessPartDestroy(piece, NULL));
  *piece = larger;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashAppend - Keeps one entry, whose value is on the host; row and column are global, the row of another process. */
PetscErrorCode OffProcessStashAppend(OffProcessStash *s, PetscInt row, PetscInt column, PetscScalar v)
{
  OffProcessPart *last;

  PetscFunctionBegin;
  if (s->num_pieces == 0 || PetscMemTypeDevice(s->pieces[s->num_pieces - 1].mtype)) PetscCall(AddPiece(s));
  last = &s->pieces[s->num_pieces - 1];
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
  PetscCall(AddPiece(s));
  last           = &s->pieces[s->num_pieces - 1];
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

  for (PetscInt p = 0; p < s->num_pieces; p++) n += s->pieces[p].n;
  return n;
}

/* OffProcessStashOnDevice - Whether some of the entries wait on the device. */
PetscBool OffProcessStashOnDevice(const OffProcessStash *s)
{
  for (PetscInt p = 0; p < s->num_pieces; p++)
    if (PetscMemTypeDevice(s->pieces[p].mtype)) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode CopyToDevice(PetscMemType mtype, void *to, const void *from, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(mtype)) PetscCall(PetscSparseCUDACopyToDevice(to, from, bytes, stream));
  else PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One piece in place of several, of which one at least is on the device: entries on the host that follow each other share a piece. */
static PetscErrorCode Join(OffProcessStash *s, cudaStream_t stream)
{
  OffProcessPart all;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (s->num_pieces < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PieceCreate(PETSC_MEMTYPE_CUDA, OffProcessStashCount(s), PETSC_FALSE, stream, &all));
  for (PetscInt p = 0; p < s->num_pieces; p++) {
    const OffProcessPart *piece = &s->pieces[p];

    PetscCallGoto(ierr, failed, CopyToDevice(piece->mtype, all.rows + all.n, piece->rows, (size_t)piece->n * sizeof(*piece->rows), stream));
    PetscCallGoto(ierr, failed, CopyToDevice(piece->mtype, all.columns + all.n, piece->columns, (size_t)piece->n * sizeof(*piece->columns), stream));
    PetscCallGoto(ierr, failed, CopyToDevice(piece->mtype, all.values + all.n, piece->values, (size_t)piece->n * sizeof(*piece->values), stream));
    all.n += piece->n;
  }
  for (PetscInt p = 0; p < s->num_pieces; p++) PetscCall(OffProcessPartDestroy(&s->pieces[p], stream));
  s->pieces[0]  = all;
  s->num_pieces = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(OffProcessPartDestroy(&all, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode ForgetOrder(OffProcessStash *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->order != NULL) PetscCall(OffProcessFree(s->pieces[0].mtype, stream, &s->order));
  PetscCall(PetscFree(s->starts));
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
  if (PetscMemTypeHost(s->pieces[0].mtype)) PetscCall(MatExchangeSortHost(map, n, s->pieces[0].rows, &s->order, s->starts));
  else PetscCall(DCSRSortByOwner(size, map->range, n, NULL, s->pieces[0].rows, stream, &s->order, s->starts));
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

/* Puts a list, zero when this process has nothing to send, into a send buffer, and makes room for what is received. Both are to be freed, also after an error. */
static PetscErrorCode Pack(const MatExchange *x, const PetscInt starts[], const OffProcessPart *list, const PetscCount order[], cudaStream_t stream, PetscMemType mtype, OffProcessPart *sent,
                           OffProcessPart *received)
{
  PetscCount    *send_order = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PieceCreate(mtype, x->num_received, PETSC_TRUE, stream, received));
  PetscCall(PieceCreate(list->mtype, x->num_sent, PETSC_TRUE, stream, sent));
  PetscCallGoto(ierr, cleanup, MatExchangeGetSendOrder(x, starts, list->mtype, order, stream, &send_order));
  PetscCallGoto(ierr, cleanup, GatherIndices(list->mtype, x->num_sent, send_order, list->rows, sent->rows, stream));
  PetscCallGoto(ierr, cleanup, GatherIndices(list->mtype, x->num_sent, send_order, list->columns, sent->columns, stream));
  PetscCallGoto(ierr, cleanup, GatherValues(list->mtype, x->num_sent, send_order, list->values, sent->values, stream));
cleanup:
  PetscCall(OffProcessFree(list->mtype, stream, &send_order));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills what is received with what others send. Collective. */
static PetscErrorCode Travel(const MatExchange *x, const OffProcessPart *sent, OffProcessPart *received)
{
  PetscFunctionBegin;
  PetscCall(MatExchangeIndices(x, sent->mtype, sent->rows, received->mtype, received->rows));
  PetscCall(MatExchangeIndices(x, sent->mtype, sent->columns, received->mtype, received->columns));
  PetscCall(MatExchangeValues(x, sent->mtype, sent->values, received->mtype, received->values));
  received->n = x->num_received;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  OffProcessStashBeginPattern - Begins a pattern when what waits, after OffProcessStashSort(), does not fit that of the last time; *fits: whether it does.

  OffProcessStashExchange() then begins a pattern if another process needs a new one, which is no larger on this process.
  Errors are those of MatExchangeCreateBegin(), for all to agree about before OffProcessStashExchange().
*/
PetscErrorCode OffProcessStashBeginPattern(OffProcessStash *s, PetscLayout map, PetscBool *fits)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  *fits = MatExchangeFits(&s->exchange, size, s->starts);
  if (*fits) PetscFunctionReturn(PETSC_SUCCESS);
  if (OffProcessStashCount(s) > 0) PetscCall(MatExchangeCreateBegin(map, s->starts, &s->exchange));
  else PetscCall(MatExchangeDestroy(&s->exchange)); // takes next to no memory
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  OffProcessStashExchange - Sends what waits, after OffProcessStashSort(), to the owners of its rows; the stash is empty afterwards. Collective on the communicator of the layout of the rows.

  new_pattern, the same on all processes: ends the pattern that OffProcessStashBeginPattern() has begun; PETSC_FALSE: what waits on any process fits the pattern of the last time.
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
    if (s->exchange.begun == NULL) PetscCall(MatExchangeCreateBegin(map, s->starts, &s->exchange));
    ierr = MatExchangeCreateEnd(map, &s->exchange);
  }
  if (ierr == PETSC_SUCCESS) ierr = Pack(&s->exchange, s->starts, s->num_pieces > 0 ? &s->pieces[0] : &nothing, s->order, stream, mtype, &sent, received);
  PetscCall(PetscSparseCUDAAgree(map->comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, Travel(&s->exchange, &sent, received));
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
  for (PetscInt p = 0; p < s->num_pieces; p++) PetscCall(OffProcessPartDestroy(&s->pieces[p], stream));
  s->num_pieces = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* OffProcessStashDestroy - Frees everything; a zero one is fine, and it is zero afterwards. */
PetscErrorCode OffProcessStashDestroy(OffProcessStash *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OffProcessStashClear(s, stream));
  PetscCall(MatExchangeDestroy(&s->exchange));
  PetscCall(PetscFree(s->pieces));
  PetscCall(PetscArrayzero(s, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
