/*
  Rows of other processes for products and submatrices on several: who needs which entries is found out once, with their columns; afterwards values alone travel.

  Rows are packed for each process that wants them, with global columns. Two kinds: fetched ones, which the ghost columns of the left factor ask for, and returned
  ones, partial sums of a transposed factor's ghost rows that go to the owners of these.
*/
#include "ghosts.h"
#include "parallel.h"

/* The columns of a layout and n ghost columns, garray [n] on the host, ascending; to be freed with JoinedColumnsDestroy(), zero after an error. */
static PetscErrorCode CreateColumns(PetscLayout map, PetscInt n, const PetscInt garray[], cudaStream_t stream, JoinedColumns *columns)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(columns, 1));
  columns->device.begin      = map->rstart;
  columns->device.num_own    = map->n;
  columns->device.num_ghosts = n;
  while (columns->device.num_below < n && garray[columns->device.num_below] < map->rstart) columns->device.num_below++;
  PetscCallGoto(ierr, failed, PetscMalloc1(n, &columns->ghosts));
  PetscCallGoto(ierr, failed, PetscArraycpy(columns->ghosts, garray, n));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "ghost columns", stream, &columns->ghosts_device));
  PetscCallGoto(ierr, failed, DCSRCopyColumnsToDevice(n, garray, columns->ghosts_device, stream));
  columns->device.ghosts = columns->ghosts_device;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(JoinedColumnsDestroy(columns, stream));
  PetscFunctionReturn(ierr);
}

/* JoinedColumnsCreateOf - The columns of the joined blocks of X, a parallel matrix; to be freed with JoinedColumnsDestroy(), zero after an error. */
PetscErrorCode JoinedColumnsCreateOf(Mat X, cudaStream_t stream, JoinedColumns *columns)
{
  PetscFunctionBegin;
  PetscCall(CreateColumns(X->cmap, MatMPIAIJCUDANumGhosts(X), ((Mat_MPIAIJ *)X->data)->garray, stream, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* JoinedColumnsDestroy - Frees both copies; zero afterwards. */
PetscErrorCode JoinedColumnsDestroy(JoinedColumns *columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(columns->ghosts));
  PetscCall(PetscSparseCUDAFree(&columns->ghosts_device, stream));
  PetscCall(PetscArrayzero(columns, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSFSetGraphLayout() looks at indices in a PETSc with debugging alone. */
static PetscErrorCode CheckLayoutIndices(PetscLayout map, PetscInt n, const PetscInt indices[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCheck(indices[k] < map->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Index too large: %" PetscInt_FMT ", maximum is %" PetscInt_FMT, indices[k], map->N - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  LayoutCreateSF - The star forest from the indices of a layout, the roots, to n of them, global numbers on the host; all processes have an error when one has an index that is too large. Collective.
*/
PetscErrorCode LayoutCreateSF(PetscLayout map, PetscInt n, const PetscInt indices[], PetscSF *sf)
{
  PetscErrorCode ierr = CheckLayoutIndices(map, n, indices);

  PetscFunctionBegin;
  *sf = NULL;
  PetscCall(PetscSparseCUDAAgree(map->comm, ierr, &ierr)); // before the graph, whose log event waits for all with -log_sync
  PetscCall(ierr);
  PetscCall(PetscSFCreate(map->comm, sf));
  PetscCallGoto(ierr, failed, PetscSFSetType(*sf, PETSCSFBASIC));
  PetscCallGoto(ierr, failed, PetscSFSetGraphLayout(*sf, map, n, NULL, PETSC_OWN_POINTER, indices));
  PetscCallGoto(ierr, failed, PetscSFSetUp(*sf));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)PetscSFDestroy(sf);
  PetscFunctionReturn(ierr);
}

static PetscErrorCode RowsDestroy(RemoteRows *x, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowMessagesDestroy(&x->messages));
  PetscCall(PetscSparseCUDAFree(&x->rows, stream));
  PetscCall(DCSRViewFree(&x->sent, stream));
  PetscCall(DCSRViewFree(&x->received, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets of packed rows [n + 1] on the device, and what belongs to them. */
static PetscErrorCode SetPackedOffsets(PetscInt n, const PetscInt offsets[], cudaStream_t stream, DCSRView *packed)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(packed, 1));
  packed->num_rows     = n;
  packed->num_nonzeros = packed->capacity = packed->used = offsets[n];
  PetscCall(DCSRNeedsWide(offsets[n], &packed->wide));
  PetscCall(PetscSparseCUDAMalloc_Private(((size_t)n + 1) * (packed->wide ? sizeof(int64_t) : sizeof(int32_t)), "offsets of rows for other processes", stream, &packed->row_offsets));
  PetscCall(DCSRCopyOffsetsToDevice(n + 1, offsets, packed->wide, packed->row_offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prefix sums of sizes [n], in offsets [n + 1]. */
static PetscErrorCode SumSizes(PetscInt n, const PetscInt sizes[], PetscInt offsets[])
{
  PetscCount sum = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    offsets[k] = (PetscInt)sum;
    sum += sizes[k];
    PetscCheck(sum <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "More than %" PetscInt_FMT " entries travel between processes: use more processes or configure PETSc with --with-64-bit-indices", PETSC_INT_MAX);
  }
  offsets[n] = (PetscInt)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets of the packed rows of both directions, from their sizes; from now on the messages are of entries. */
static PetscErrorCode SetOffsets(const PetscInt sent_sizes[], const PetscInt received_sizes[], cudaStream_t stream, RemoteRows *x)
{
  const PetscInt *num = x->messages.num_rows;
  PetscInt       *sent, *received;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(num[0] + 1, &sent, num[1] + 1, &received));
  PetscCallGoto(ierr, cleanup, SumSizes(num[0], sent_sizes, sent));
  PetscCallGoto(ierr, cleanup, SumSizes(num[1], received_sizes, received));
  PetscCallGoto(ierr, cleanup, SetPackedOffsets(num[0], sent, stream, &x->sent));
  PetscCallGoto(ierr, cleanup, SetPackedOffsets(num[1], received, stream, &x->received));
  PetscCallGoto(ierr, cleanup, RowMessagesSetEntries(&x->messages, sent, received));
cleanup:
  PetscCall(PetscFree2(sent, received));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of some rows of a matrix, to the host; without rows, of the first n. */
static PetscErrorCode GetRowSizes(DCSRView view, PetscInt n, const int32_t rows[], cudaStream_t stream, PetscInt sizes[])
{
  int32_t       *device = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "sizes of rows for other processes", stream, &device));
  PetscCallGoto(ierr, cleanup, DCSRGetRowSizes(view, n, rows, device, stream));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(n, device, sizes, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that other processes want, for one after the other: a row may be there several times. */
static PetscErrorCode ChooseRows(cudaStream_t stream, RemoteRows *x)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(x->messages.num_rows[0], "rows for other processes", stream, &x->rows));
  PetscCall(DCSRCopyColumnsToDevice(x->messages.num_rows[0], x->messages.roots, x->rows, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who sends which rows of view to whom: those that others want, or all to their owners. Collective. */
static PetscErrorCode LocateRows(PetscLayout map, PetscInt n, const PetscInt wanted[], PetscBool to_wanters, DCSRView view, cudaStream_t stream, RemoteRows *x)
{
  PetscInt      *sent_sizes = NULL, *received_sizes = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = RowMessagesCreate(map, n, wanted, to_wanters, &x->messages);
  if (ierr == PETSC_SUCCESS) ierr = PetscMalloc2(x->messages.num_rows[0], &sent_sizes, x->messages.num_rows[1], &received_sizes);
  if (ierr == PETSC_SUCCESS && to_wanters) ierr = ChooseRows(stream, x);
  if (ierr == PETSC_SUCCESS) ierr = GetRowSizes(view, x->messages.num_rows[0], x->rows, stream, sent_sizes);
  PetscCall(PetscSparseCUDAAgree(map->comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, RowMessagesExchangeHost(&x->messages, MPIU_INT, sent_sizes, received_sizes));
  ierr = SetOffsets(sent_sizes, received_sizes, stream, x);
  PetscCall(PetscSparseCUDAAgree(map->comm, ierr, &ierr));
cleanup:
  PetscCall(PetscFree2(sent_sizes, received_sizes));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of the matrix of ones that adds received rows to the rows that they belong to: received row k belongs to row roots[k]. */
static PetscErrorCode SortReceived(PetscInt num_rows, PetscInt num_received, const PetscInt roots[], PetscInt offsets[], PetscInt columns[])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(offsets, num_rows + 1));
  for (PetscInt k = 0; k < num_received; k++) offsets[roots[k] + 1]++;
  for (PetscInt row = 0; row < num_rows; row++) offsets[row + 1] += offsets[row];
  for (PetscInt k = 0; k < num_received; k++) columns[offsets[roots[k]]++] = k;
  for (PetscInt row = num_rows; row > 0; row--) offsets[row] = offsets[row - 1]; // where rows end, and now where they begin
  offsets[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That matrix; its columns are in the order of ranks, so that the same input gives the same bits. */
static PetscErrorCode CreateSelection(PetscInt n, const RowMessages *m, cudaStream_t stream, DCSRView *selection)
{
  const PetscInt num_received = m->num_rows[1];
  PetscInt      *offsets, *columns;
  PetscScalar   *ones;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(selection, 1));
  PetscCall(PetscMalloc3(n + 1, &offsets, num_received, &columns, num_received, &ones));
  PetscCallGoto(ierr, cleanup, SortReceived(n, num_received, m->roots, offsets, columns));
  for (PetscInt k = 0; k < num_received; k++) ones[k] = 1.0;
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateCompact(n, num_received, num_received, PETSC_FALSE, stream, selection));
  PetscCallGoto(ierr, cleanup, DCSRCopyOffsetsToDevice(n + 1, offsets, PETSC_FALSE, selection->row_offsets, stream));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToDevice(num_received, columns, selection->columns, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(selection->values, ones, (size_t)num_received * sizeof(*ones), stream));
cleanup:
  PetscCall(PetscFree3(offsets, columns, ones));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(selection, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Packs global columns of rows for others. */
static PetscErrorCode PackColumns(RemoteRows *x, DCSRView source, DCSRColumns columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMallocExportable(x->sent.num_nonzeros, "columns of rows for other processes", stream, &x->sent.columns));
  PetscCall(PetscSparseCUDAMallocExportable(x->received.num_nonzeros, "columns of rows of other processes", stream, &x->received.columns));
  PetscCall(DCSRPackRows(source, columns, x->rows, DCSR_WRITE_STRUCTURE, stream, x->sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Global columns of packed rows travel. Collective. */
static PetscErrorCode ExchangeColumns(RemoteRows *x, DCSRView source, DCSRColumns columns, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PackColumns(x, source, columns, stream);
  PetscCall(PetscSparseCUDAAgree(x->messages.comm, ierr, &ierr));
  PetscCall(ierr);
  PetscCall(RowMessagesExchange(&x->messages, MPI_INT, x->sent.columns, x->received.columns, stream));
  PetscCall(PetscSparseCUDAFree(&x->sent.columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of the stack; *map [ghosts of columns] on the device is where those went, NULL when they stay where they are. */
static PetscErrorCode ExtendColumns(PetscLayout cmap, const JoinedColumns *columns, DCSRView received, cudaStream_t stream, JoinedColumns *extended, int32_t **map)
{
  PetscInt       n, num = 0, num_united, *outside = NULL, *united = NULL;
  int32_t       *distinct;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *map = NULL;
  PetscCall(DCSRViewGetColumns(received, DCSRKeyBits(cmap->N), stream, &n, &distinct));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(n, &outside));
  for (PetscInt k = 0; k < n; k++)
    if (distinct[k] < cmap->rstart || distinct[k] >= cmap->rend) outside[num++] = distinct[k];
  PetscCallGoto(ierr, cleanup, GhostColumnsUnite(columns->device.num_ghosts, columns->ghosts, num, outside, stream, &num_united, &united, map, NULL));
  PetscCallGoto(ierr, cleanup, CreateColumns(cmap, num_united, united, stream, extended));
cleanup:
  PetscCall(PetscFree(distinct));
  PetscCall(PetscFree(outside));
  PetscCall(PetscFree(united));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of the stack, when the columns have come. Nothing is freed after an error. */
static PetscErrorCode StackRows(PetscLayout cmap, DCSRView upper, const JoinedColumns *columns, cudaStream_t stream, RowStack *s)
{
  RemoteRows    *x   = &s->rows;
  int32_t       *map = NULL;
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, ExtendColumns(cmap, columns, x->received, stream, &s->columns, &map));
  PetscCallGoto(ierr, cleanup, DCSRNeedsWide(upper.num_nonzeros + x->received.num_nonzeros, &wide));
  s->num_upper = upper.num_rows;
  PetscCallGoto(ierr, cleanup,
                DCSRViewAllocateStructure(upper.num_rows + x->received.num_rows, cmap->n + s->columns.device.num_ghosts, upper.num_nonzeros + x->received.num_nonzeros, wide, stream, &s->view));
  PetscCallGoto(ierr, cleanup, DCSRStackRows(upper, map, x->received, s->columns.device, stream, s->view));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAFree(&x->received.columns, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of the stack, once it is known who sends what; all processes have it, or an error. Nothing is freed after an error. Collective. */
static PetscErrorCode FillStack(PetscLayout cmap, DCSRView source, DCSRView upper, const JoinedColumns *columns, cudaStream_t stream, RowStack *s)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = ExchangeColumns(&s->rows, source, columns->device, stream);
  if (ierr == PETSC_SUCCESS) ierr = StackRows(cmap, upper, columns, stream, s);
  PetscCall(PetscSparseCUDAAgree(s->rows.messages.comm, ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowStackCreateFetched - Structure of a parallel matrix X with those of its rows below that are on other processes and wanted here. Collective.

  wanted: [n] host, global numbers, ascending, in which order they come below. blocks: [2] the diagonal and the off-diagonal block of X.
  s is to be freed with RowStackDestroy(), also after an error.
*/
PetscErrorCode RowStackCreateFetched(Mat X, PetscInt n, const PetscInt wanted[], const DCSRView blocks[], cudaStream_t stream, RowStack *s)
{
  DCSRView       joined;
  JoinedColumns  columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&joined, 1));
  ierr = JoinedColumnsCreateOf(X, stream, &columns);
  if (ierr == PETSC_SUCCESS) ierr = JoinBlocks(blocks[0], blocks[1], PETSC_FALSE, stream, &joined);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)X), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = LocateRows(X->rmap, n, wanted, PETSC_TRUE, joined, stream, &s->rows);
  if (ierr == PETSC_SUCCESS) ierr = FillStack(X->cmap, joined, joined, &columns, stream, s);
  if (joined.row_offsets != NULL) PetscCall(FreeJoinedBlocks(blocks[0], &joined, stream));
  PetscCall(JoinedColumnsDestroy(&columns, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowStackCreateReturned - Structure of a matrix, upper, with rows below that other processes have for rows of something else of this one. Collective.

  cmap is the layout of the columns, rmap that of those rows of something else. view: the rows that this process returns; rows: [rows of view] host, to which of them these belong, global numbers,
  ascending. columns: of both upper and view.
  s is to be freed with RowStackDestroy(), also after an error. selection: roots x received rows, owned by the caller: ones where a received row belongs to a root.
*/
PetscErrorCode RowStackCreateReturned(PetscLayout cmap, PetscLayout rmap, const PetscInt rows[], DCSRView view, DCSRView upper, const JoinedColumns *columns, cudaStream_t stream, RowStack *s,
                                      DCSRView *selection)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(LocateRows(rmap, view.num_rows, rows, PETSC_FALSE, view, stream, &s->rows));
  ierr = CreateSelection(rmap->n, &s->rows.messages, stream, selection);
  PetscCall(PetscSparseCUDAAgree(rmap->comm, ierr, &ierr));
  PetscCall(ierr);
  PetscCall(FillStack(cmap, view, upper, columns, stream, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowStackPackValues - Values of rows that travel, in a send buffer, and a receive buffer.

  source: the matrix whose rows travel: what was view in RowStackCreateReturned() with values, or the stack itself, whose upper rows are the same; columns are its columns.
  When all processes have agreed that none has failed, RowStackExchangeValues() comes next. RowStackFreeBuffers() is to be called in any case.
*/
PetscErrorCode RowStackPackValues(RowStack *s, DCSRView source, const JoinedColumns *columns, cudaStream_t stream)
{
  RemoteRows *x = &s->rows;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMallocExportable(x->sent.num_nonzeros, "values of rows for other processes", stream, &x->sent.values));
  PetscCall(PetscSparseCUDAMallocExportable(x->received.num_nonzeros, "values of rows of other processes", stream, &x->received.values));
  PetscCall(DCSRPackRows(source, columns->device, x->rows, DCSR_WRITE_VALUES, stream, x->sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowStackExchangeValues - Sends packed values, and puts what comes into the rows of other processes; those of the rows above are set by the caller, who has allocated all. Collective. */
PetscErrorCode RowStackExchangeValues(RowStack *s, cudaStream_t stream)
{
  RemoteRows *x = &s->rows;

  PetscFunctionBegin;
  PetscCall(RowMessagesExchange(&x->messages, MPIU_SCALAR, x->sent.values, x->received.values, stream));
  PetscCall(DCSRUnpackValues(x->received, s->columns.device, s->num_upper, stream, s->view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowStackFreeBuffers - Frees what RowStackPackValues() made. */
PetscErrorCode RowStackFreeBuffers(RowStack *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&s->rows.sent.values, stream));
  PetscCall(PetscSparseCUDAFree(&s->rows.received.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the upper rows of a stack of fetched ones, and of those that others want. */
static PetscErrorCode PrepareFetchedValues(RowStack *s, const DCSRView blocks[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateValues(&s->view, stream));
  PetscCall(DCSRJoinColumns(blocks[0], blocks[1], DCSR_WRITE_VALUES, stream, s->view));
  PetscCall(RowStackPackValues(s, s->view, &s->columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowStackFill - Values of a stack of fetched rows, from the blocks of their matrix; stack.view.values are allocated here, also after an error. Collective. */
PetscErrorCode RowStackFill(RowStack *s, const DCSRView blocks[], cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PrepareFetchedValues(s, blocks, stream);
  PetscCall(PetscSparseCUDAAgree(s->rows.messages.comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = RowStackExchangeValues(s, stream);
  PetscCall(RowStackFreeBuffers(s, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowStackDestroy - Frees a stack, also one that is not complete; zero afterwards. Collective. */
PetscErrorCode RowStackDestroy(RowStack *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowsDestroy(&s->rows, stream));
  PetscCall(JoinedColumnsDestroy(&s->columns, stream));
  PetscCall(DCSRViewFree(&s->view, stream));
  PetscCall(PetscArrayzero(s, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
