/*
  MatSetValues() on the device for parallel matrices. Values are staged twice, for the diagonal and, with global columns, for the off-diagonal block; those of
  other processes wait in a stash of their own until assembly. What joins the off-diagonal block may extend its columns, which needs no communication; the scatter
  of products is made again at assembly when that has happened anywhere.
*/
#include "insert.h"
#include "../core/core.h"
#include "../exchange/exchange.h"
#include "../host/host.h"
#include "../host/wrappers.h"
#include "../parallel/ghosts.h"
#include "../parallel/parallel.h"

/* Whether values for A go to the device; the same answer on all processes. DMCreateMatrix() binds for the time of the first assembly, which goes on as it began. */
PetscErrorCode MatMPIAIJCUDAInsertsOnDevice(Mat A, PetscBool *inserts)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  *inserts = (PetscBool)(!d->no_device && (!A->boundtocpu || d->state == PARALLEL_DEVICE_OPEN) && !A->structure_only && !A->hash_active && !MatAIJCUDAInHostCode() && A->cmap->N <= PETSC_INT32_MAX &&
                         A->rmap->N <= PETSC_INT32_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDATakesValuesOnDevice - Whether values that come now for A, with its structure of now, go to the device: host arrays that have got values in this assembly may have gaps until it ends,
  also when A is not bound to the CPU any more.
*/
PetscErrorCode MatMPIAIJCUDATakesValuesOnDevice(Mat A, PetscBool *takes)
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, takes));
  *takes = (PetscBool)(*takes && MatMPIAIJCUDAGet(A)->state >= PARALLEL_DEVICE_OPEN);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStages(Mat A)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);
  const size_t    n = (size_t)MatSeqAIJCUDAGet(((Mat_MPIAIJ *)A->data)->A)->options.stage_size;

  PetscFunctionBegin;
  if (d->stage[0] == NULL) PetscCall(DCSRStageCreate(n, &d->stage[0]));
  if (d->stage[1] == NULL) PetscCall(DCSRStageCreate(n, &d->stage[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The indices inside a range, -1 in place of the others; *num is how many there are. */
static void SelectIndices(PetscInt n, const PetscInt indices[], PetscInt begin, PetscInt end, PetscBool inside, PetscInt selected[], PetscInt *num)
{
  *num = 0;
  for (PetscInt k = 0; k < n; k++) {
    const PetscBool take = (PetscBool)(indices[k] >= 0 && (PetscBool)(indices[k] >= begin && indices[k] < end) == inside);

    selected[k] = take ? indices[k] : -1;
    *num += take;
  }
}

/* The part of a block that other processes own. */
static PetscErrorCode StageOffProcess(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  Mat_MPIAIJ     *a      = (Mat_MPIAIJ *)A->data;
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  const PetscBool ignore = ((Mat_SeqAIJ *)a->A->data)->ignorezeroentries;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++) {
    if (rows[i] < 0 || (rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend)) continue;
    PetscCheck(!A->nooffprocentries, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Setting off process row %" PetscInt_FMT " even though MatSetOption(,MAT_NO_OFF_PROC_ENTRIES,PETSC_TRUE) was set", rows[i]);
    if (a->donotstash) continue;
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar value = v == NULL ? 0.0 : a->roworiented ? v[i * n + j] : v[i + j * m];

      if (columns[j] < 0 || (ignore && mode == ADD_VALUES && value == 0.0)) continue; // on the diagonal, too, as MATMPIAIJ
      PetscCall(OffProcessStashAppend(&d->off_process, rows[i], columns[j], value));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stages a block's local rows (others are negative) for both blocks of the matrix. */
static PetscErrorCode StageLocal(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], PetscInt buffer[], const PetscScalar v[], InsertMode mode, PetscBool by_columns)
{
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  DCSRStageFormat format = {A->rmap->rstart, 0, 0, PETSC_FALSE, 0};
  PetscInt        num;

  PetscFunctionBegin;
  format.ignore_zeros = (PetscBool)(((Mat_SeqAIJ *)((Mat_MPIAIJ *)A->data)->A->data)->ignorezeroentries && mode == ADD_VALUES);
  format.diagonal     = MatSeqAIJCUDAGet(((Mat_MPIAIJ *)A->data)->A)->staging.diagonal;
  format.column_begin = A->cmap->rstart;
  format.column_bits  = DCSRKeyBits(A->cmap->n);
  SelectIndices(n, columns, A->cmap->rstart, A->cmap->rend, PETSC_TRUE, buffer, &num);
  if (num > 0) PetscCall(MatAIJCUDAStage(d->stage[0], &format, m, rows, n, buffer, v, by_columns));
  if (num == n) PetscFunctionReturn(PETSC_SUCCESS);
  SelectIndices(n, columns, A->cmap->rstart, A->cmap->rend, PETSC_FALSE, buffer, &num);
  format.diagonal     = DCSR_NO_DIAGONAL;
  format.column_begin = 0;
  format.column_bits  = DCSRKeyBits(A->cmap->N);
  if (num > 0) PetscCall(MatAIJCUDAStage(d->stage[1], &format, m, rows, n, buffer, v, by_columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StageBlock(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode, PetscBool by_columns)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);
  PetscInt        num;

  PetscFunctionBegin;
  if (d->num_indices < m + n) {
    PetscCall(PetscFree(d->indices));
    d->num_indices = 2 * (m + n);
    PetscCall(PetscMalloc1(d->num_indices, &d->indices));
  }
  SelectIndices(m, rows, A->rmap->rstart, A->rmap->rend, PETSC_TRUE, d->indices, &num);
  if (num > 0) PetscCall(StageLocal(A, m, d->indices, n, columns, d->indices + m, v, mode, by_columns));
  if (num < m) PetscCall(StageOffProcess(A, m, rows, n, columns, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValues_MPIAIJCUDA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDATakesValuesOnDevice(A, &device));
  if (!device) {
    if (d->state != PARALLEL_HOST) d->state = PARALLEL_HOST_OPEN;
    PetscCall(MatHost_MPIAIJCUDA_setvalues(A, m, rows, n, columns, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDACheckIndices(m, rows, A->rmap->N, "Row"));
  PetscCall(MatAIJCUDACheckIndices(n, columns, A->cmap->N, "Column"));
  PetscCall(CreateStages(A));
  if (d->stage_mode != mode) PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  d->stage_mode = mode;
  PetscCall(StageBlock(A, m, rows, n, columns, v, mode, (PetscBool) !((Mat_MPIAIJ *)A->data)->roworiented));
  for (int k = 0; k < 2; k++) {
    const Mat_SeqAIJCUDA *block = MatSeqAIJCUDAGet(k ? ((Mat_MPIAIJ *)A->data)->B : ((Mat_MPIAIJ *)A->data)->A);

    if (DCSRStageCount(d->stage[k]) >= PetscMax((PetscCount)block->options.stage_entries, block->device.view.num_nonzeros)) PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesLocal_MPIAIJCUDA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDASetValuesLocal(A, m, rows, n, columns, v, mode, MatSetValues_MPIAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the options say when columns are not among the ghost columns. */
static PetscErrorCode CheckNewColumns(Mat A, PetscInt n, const int32_t columns[])
{
  Mat_MPIAIJ    *a     = (Mat_MPIAIJ *)A->data;
  const PetscInt nonew = ((Mat_SeqAIJ *)a->B->data)->nonew;

  PetscFunctionBegin;
  if (!(nonew == -1 || (nonew == -2 && a->B->num_ass > 0))) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < n; k++) {
    PetscInt where;

    PetscCall(PetscFindInt(columns[k], MatMPIAIJCUDANumGhosts(A), a->garray, &where));
    PetscCheck(where >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Inserting a new nonzero in global column %d of the matrix, which MatSetOption(A, %s, PETSC_TRUE) forbids", (int)columns[k],
               nonew == -1 ? "MAT_NEW_NONZERO_LOCATION_ERR" : "MAT_NEW_NONZERO_ALLOCATION_ERR");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local numbers in place of global columns; entries that are not to be made go where there is no ghost column for them. */
static PetscErrorCode RenumberBatch(Mat A, DCSRBatch *batch, cudaStream_t stream)
{
  Mat_MPIAIJ    *a      = (Mat_MPIAIJ *)A->data;
  const PetscInt n      = a->B->cmap->n;
  int32_t       *sorted = NULL, *device = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscMalloc1(n, &sorted));
  for (PetscInt k = 0; k < n; k++) sorted[k] = (int32_t)a->garray[k];
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "ghost columns", stream, &device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(device, sorted, (size_t)n * sizeof(*sorted), stream));
  if (batch->counts != NULL || MatSeqAIJCUDANewEntries(a->B) == DCSR_NEW_IGNORE) PetscCallGoto(ierr, cleanup, DCSRBatchKeepColumns(batch, n, device, stream));
  PetscCallGoto(ierr, cleanup, DCSRBatchRenumber(batch, n, device, stream));
cleanup:
  PetscCall(PetscFree(sorted));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a list with global columns join the off-diagonal block; the list is destroyed. */
static PetscErrorCode InsertOffDiagonal(Mat A, DCSRList *list, const PetscScalar v[], InsertMode mode)
{
  Mat            B = ((Mat_MPIAIJ *)A->data)->B;
  DCSRBatch      batch;
  PetscInt       n       = 0;
  int32_t       *columns = NULL;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = DCSRBatchCreate(list, v, (PetscBool)(mode == INSERT_VALUES), ((Mat_SeqAIJ *)B->data)->ignorezeroentries, DCSR_NO_DIAGONAL, stream, &batch);
  PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACopyToDevice(B));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACompact(B));
  if (MatSeqAIJCUDANewEntries(B) != DCSR_NEW_IGNORE) PetscCallGoto(ierr, cleanup, DCSRBatchGetColumns(&batch, stream, &n, &columns)); // what is not made needs no ghost columns
  PetscCallGoto(ierr, cleanup, CheckNewColumns(A, n, columns));
  PetscCallGoto(ierr, cleanup, MatMPIAIJCUDAExtendGhosts(A, n, columns));
  PetscCallGoto(ierr, cleanup, RenumberBatch(A, &batch, stream));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAInsertBatch(B, &batch, mode));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACheckRowLimits(B));
cleanup:
  PetscCall(PetscFree(columns));
  PetscCall(DCSRBatchDestroy(&batch, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes what is staged for one of the blocks and inserts it. */
static PetscErrorCode InsertStage(Mat A, int which)
{
  Mat_MPIAIJ     *a      = (Mat_MPIAIJ *)A->data;
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  uint64_t       *keys   = NULL;
  PetscScalar    *values = NULL;
  PetscCount      n      = 0;
  DCSRList        list;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, DCSRStageTake(d->stage[which], stream, &n, &keys, &values));
  PetscCallGoto(ierr, cleanup, DCSRListCreateFromKeys(A->rmap->n, DCSRKeyBits(which ? A->cmap->N : A->cmap->n), n, &keys, stream, &list));
  if (which) PetscCallGoto(ierr, cleanup, InsertOffDiagonal(A, &list, values, d->stage_mode));
  else PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAInsertList(a->A, &list, values, d->stage_mode));
cleanup:
  PetscCall(PetscSparseCUDAFree(&keys, stream));
  PetscCall(PetscSparseCUDAFree(&values, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(MatMPIAIJCUDADestroyInsertion(A)); // the next assembly must not insert the other half
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAFinishInsertion - Everything that was staged here for rows of this process is merged into the matrix. */
PetscErrorCode MatMPIAIJCUDAFinishInsertion(Mat A)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++)
    if (DCSRStageCount(d->stage[k]) > 0) PetscCallLogged(PETSCSPARSECUDA_Insert, A, InsertStage(A, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAInsertEntries - Entries in device memory join a matrix that inserts on the device and has nothing staged; those of other processes are left out.

  Indices are global, negative ones are ignored.
*/
PetscErrorCode MatMPIAIJCUDAInsertEntries(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode)
{
  DCSRWindow   window = {A->rmap->N, A->cmap->N, A->rmap->rstart, A->rmap->rend, A->cmap->rstart, A->cmap->rend, PETSC_FALSE};
  DCSRList     list;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRListCreate(&window, n, i, j, stream, &list));
  PetscCall(MatSeqAIJCUDAInsertList(((Mat_MPIAIJ *)A->data)->A, &list, v, mode));
  window.outside = PETSC_TRUE;
  PetscCall(DCSRListCreate(&window, n, i, j, stream, &list));
  PetscCall(InsertOffDiagonal(A, &list, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Entries of this process that others sent go the way of MatSetValues() when they are on the host, and of lists when they are on the device. When some process has
  set values on the host, they join those in the host arrays.
*/
static PetscErrorCode InsertReceived(Mat A, const OffProcessPart *received, InsertMode mode)
{
  Mat_MPIAIJCUDA *d       = MatMPIAIJCUDAGet(A);
  const PetscInt *rows    = received->rows;
  const PetscBool on_host = (PetscBool)(d->flags[FLAG_HOST] != 0);

  PetscFunctionBegin;
  if (PetscMemTypeDevice(received->mtype)) {
    PetscCall(MatMPIAIJCUDAFinishInsertion(A)); // what was set here comes first
    PetscCallLogged(PETSCSPARSECUDA_Insert, A, MatMPIAIJCUDAInsertEntries(A, received->n, rows, received->columns, received->values, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!on_host) PetscCall(CreateStages(A));
  if (on_host || d->stage_mode != mode) PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  d->stage_mode = mode;
  for (PetscCount k = 0, end; k < received->n; k = end) {
    for (end = k + 1; end < received->n && rows[end] == rows[k];) end++;
    if (rows[k] < 0) continue;
    if (!on_host) PetscCall(StageBlock(A, 1, &rows[k], (PetscInt)(end - k), &received->columns[k], &received->values[k], mode, PETSC_FALSE));
    else
      for (PetscCount e = k; e < end; e++) PetscCall(MatHost_MPIAIJCUDA_setvalues(A, 1, &rows[k], 1, &received->columns[e], &received->values[e], mode)); // by rows or by columns is the same
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sends values to the owners of their rows and takes what comes, to be destroyed; zero after an error. Collective. */
static PetscErrorCode ExchangeOffProcess(Mat A, cudaStream_t stream, OffProcessPart *received)
{
  Mat_MPIAIJCUDA    *d     = MatMPIAIJCUDAGet(A);
  const PetscMemType mtype = d->flags[FLAG_DEVICE] && !d->flags[FLAG_HOST] ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(OffProcessStashExchange(&d->off_process, A->rmap, (PetscBool)d->flags[FLAG_NEW_PATTERN], mtype, stream, received));
  if (!A->assembly_subset) PetscCall(RowMessagesDestroy(&d->off_process.messages));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks, when the ghost columns and the scatter are there. */
static PetscErrorCode AssembleBlocks(Mat A)
{
  Mat_MPIAIJ *a         = (Mat_MPIAIJ *)A->data;
  const Mat   blocks[2] = {a->A, a->B};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatAssemblyBegin(blocks[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(blocks[k], MAT_FINAL_ASSEMBLY));
    if (A->boundtocpu) PetscCall(MatBindToCPU(blocks[k], PETSC_TRUE));
  }
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the end of an assembly leaves behind; rebuild: some process has new ghost columns. All processes have an error when one does. Collective. */
static PetscErrorCode FinishAssembly(Mat A, PetscBool rebuild)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  PetscInt64     sums[2]; // state of the blocks, processes that failed
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (rebuild) PetscCall(MatMPIAIJCUDASetUpMultiply(A));
  ierr    = AssembleBlocks(A);
  sums[0] = a->A->nonzerostate + a->B->nonzerostate;
  sums[1] = ierr != PETSC_SUCCESS;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 2, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (sums[1] > 0) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(PetscFree2(a->rowvalues, a->rowindices));
  PetscCall(VecDestroy(&a->diag));
  MatAIJCUDASetNonzeroState(A, sums[0]);
  MatMPIAIJCUDANoteAssembled(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a program, as MatCopyHashToXAIJ() of a MATMPIAIJ, has put entries with global columns into the off-diagonal block itself: the parent knows what to do with them. */
static PetscBool HasForeignColumns(Mat A)
{
  return (PetscBool)(MatMPIAIJCUDAHasGlobalColumns(A) && ((Mat_SeqAIJ *)((Mat_MPIAIJ *)A->data)->B->data)->nz > 0);
}

/* What this process knows about the assembly that begins. */
static PetscErrorCode GetFlags(Mat A, int flags[])
{
  Mat_MPIAIJCUDA  *d       = MatMPIAIJCUDAGet(A);
  OffProcessStash *s       = &d->off_process;
  const PetscBool  travels = (PetscBool)(!A->nooffprocentries && !((Mat_MPIAIJ *)A->data)->donotstash);
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(flags, NUM_ASSEMBLY_FLAGS));
  PetscCall(MatAIJCUDATakeColoringValues(A));
  flags[FLAG_HOST]   = d->state == PARALLEL_HOST_OPEN || HasForeignColumns(A);
  flags[FLAG_INSERT] = A->insertmode == INSERT_VALUES;
  flags[FLAG_ADD]    = A->insertmode == ADD_VALUES;
  if (!A->assembly_subset) PetscCall(RowMessagesDestroy(&s->messages));
  if (!travels) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(OffProcessStashSort(s, A->rmap, stream));
  flags[FLAG_OFF_PROCESS] = OffProcessStashCount(s) > 0;
  flags[FLAG_DEVICE]      = OffProcessStashOnDevice(s);
  flags[FLAG_NEW_PATTERN] = !OffProcessStashFits(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyBegin_MPIAIJCUDA(Mat A, MatAssemblyType mode)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  d->flags[FLAG_INSTALLED] = 0;
  if (d->installed_blocks) {
    PetscCall(PetscArrayzero(d->flags, NUM_ASSEMBLY_FLAGS));
    d->flags[FLAG_INSTALLED] = 1;
    d->installed_blocks      = PETSC_FALSE;
  } else if (d->state != PARALLEL_HOST) {
    PetscErrorCode ierr;

    ierr                 = GetFlags(A, d->flags);
    d->flags[FLAG_ERROR] = (int)ierr;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, d->flags, NUM_ASSEMBLY_FLAGS, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    PetscCall(PetscSparseCUDAErrorOfAll(d->flags[FLAG_ERROR], ierr));
    PetscCheck(!d->flags[FLAG_OFF_PROCESS] || !d->flags[FLAG_INSERT] || !d->flags[FLAG_ADD], PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Some processors inserted others added");
  } else {
    PetscCall(MatAIJCUDATakeColoringValues(A));
    d->flags[FLAG_HOST] = 1;
  }
  if (d->flags[FLAG_HOST] && d->parent.assemblybegin != NULL) PetscCall((*d->parent.assemblybegin)(A, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What came from other processes and what waits here is merged into the matrix; with ghosts the off-diagonal block gets its ghost columns if it had none. */
static PetscErrorCode JoinAll(Mat A, const OffProcessPart *received, PetscBool done, PetscBool ghosts)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  if (received->n > 0) PetscCall(InsertReceived(A, received, d->flags[FLAG_INSERT] ? INSERT_VALUES : ADD_VALUES)); // not A->insertmode: who set nothing does not know it
  PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  PetscCheck(done || !d->columns_changed, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "New off-diagonal columns were inserted on the device, and then other values while the matrix was bound to the CPU: assemble before MatBindToCPU()");
  if (ghosts && MatMPIAIJCUDAHasGlobalColumns(A)) PetscCall(MatMPIAIJCUDAExtendGhosts(A, 0, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange, if some process has values for others, and what is merged into the matrix then. Collective; the error is that of this process, about which all have to agree afterwards. */
static PetscErrorCode ExchangeAndJoin(Mat A, PetscBool done, PetscBool ghosts)
{
  Mat_MPIAIJCUDA *d        = MatMPIAIJCUDAGet(A);
  const PetscBool exchange = (PetscBool)d->flags[FLAG_OFF_PROCESS];
  OffProcessPart  received;
  cudaStream_t    stream = NULL;
  PetscErrorCode  ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&received, 1));
  d->flags[FLAG_OFF_PROCESS] = 0;
  if (exchange) PetscCall(PetscSparseCUDAGetStream(&stream));
  if (exchange) ierr = ExchangeOffProcess(A, stream, &received);
  if (ierr == PETSC_SUCCESS) ierr = JoinAll(A, &received, done, ghosts);
  PetscCall(OffProcessPartDestroy(&received, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAssemblyEndDevice_MPIAIJCUDA - MatAssemblyEnd() for values that were staged; *done: PETSC_FALSE when some process inserted on the host, the parent has to assemble then. Collective.

  Errors, as PETSC_ERR_MEM, or PETSC_ERR_ARG_OUTOFRANGE for an entry that the options forbid, are on all processes when one has it. The values of that process have not joined the matrix then,
  those of the others have; it can be assembled again.
*/
PetscErrorCode MatAssemblyEndDevice_MPIAIJCUDA(Mat A, MatAssemblyType mode, PetscBool *done)
{
  Mat_MPIAIJ     *a      = (Mat_MPIAIJ *)A->data;
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  int             all[2] = {0, 0}; // error code, new ghost columns

  PetscFunctionBegin;
  *done = (PetscBool)(d->state != PARALLEL_HOST && !d->flags[FLAG_HOST]);
  if (d->flags[FLAG_INSTALLED]) all[1] = 1;
  else if (d->state != PARALLEL_HOST) {
    PetscErrorCode ierr;

    ierr   = ExchangeAndJoin(A, *done, (PetscBool)(*done && mode == MAT_FINAL_ASSEMBLY));
    all[0] = (int)ierr;
    all[1] = d->columns_changed || a->Mvctx == NULL;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    PetscCall(PetscSparseCUDAErrorOfAll(all[0], ierr));
  }
  if (mode == MAT_FINAL_ASSEMBLY && d->state != PARALLEL_HOST) d->state = PARALLEL_DEVICE;
  if (*done && mode == MAT_FINAL_ASSEMBLY) PetscCall(FinishAssembly(A, (PetscBool)all[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts what waits for rows of this process. All processes have an error when one does and they are all asked. */
static PetscErrorCode MatGetInfo_MPIAIJCUDA(Mat A, MatInfoType type, MatInfo *info)
{
  PetscErrorCode ierr = MatMPIAIJCUDAFinishInsertion(A);

  PetscFunctionBegin;
  if (type != MAT_LOCAL) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.getinfo)(A, type, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAAgreeBound - Binds a matrix on all processes where it is on one: -mat_bind_below and -dm_bind_below look at local sizes. Before it gets a structure. Collective */
PetscErrorCode MatMPIAIJCUDAAgreeBound(Mat A)
{
  PetscBool bound = A->boundtocpu;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bound, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (bound) PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No preallocation: the device needs none. */
static PetscErrorCode MatSetUp_MPIAIJCUDA(Mat A)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatMPIAIJCUDAAgreeBound(A));
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatMPIAIJCUDASetEmpty(A));
  else {
    PetscCall((*MatMPIAIJCUDAGet(A)->parent.setup)(A));
    PetscCall(MatMPIAIJCUDARaiseSum(A, A->nonzerostate));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that wait for other processes are zeroed like all others, by being dropped; MATMPIAIJ would still add them in the assembly. */
static PetscErrorCode MatZeroEntries_MPIAIJCUDA(Mat A)
{
  OffProcessStash *s      = &MatMPIAIJCUDAGet(A)->off_process;
  cudaStream_t     stream = NULL;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  if (OffProcessStashOnDevice(s)) PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(OffProcessStashClear(s, stream));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.zeroentries)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_MPIAIJCUDA(Mat A, MatOption option, PetscBool flag)
{
  PetscBool changes = PETSC_FALSE;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const Mat block = MatMPIAIJCUDAGetBlock(A, k);
    PetscBool ours;

    PetscCall(MatIsSeqAIJCUDA(block, &ours));
    if (ours && MatSeqAIJCUDAOptionChangesInsertion(block, option, flag)) changes = PETSC_TRUE;
  }
  if (changes) PetscCall(MatMPIAIJCUDAFinishInsertion(A)); // what came before the option does not obey it
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.setoption)(A, option, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetInsertOps - Puts our operations of insertion into a table. */
PetscErrorCode MatMPIAIJCUDASetInsertOps(Mat A, struct _MatOps *ops)
{
  struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent, *installed = &MatMPIAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
  if (ops->assemblybegin != installed->assemblybegin) parent->assemblybegin = ops->assemblybegin;
  if (ops->setup != installed->setup) parent->setup = ops->setup;
  if (ops->zeroentries != installed->zeroentries) parent->zeroentries = ops->zeroentries;
  if (ops->setoption != installed->setoption) parent->setoption = ops->setoption;
  ops->setvalues      = MatSetValues_MPIAIJCUDA;
  ops->setvalueslocal = MatSetValuesLocal_MPIAIJCUDA;
  ops->assemblybegin  = MatAssemblyBegin_MPIAIJCUDA;
  ops->setup          = MatSetUp_MPIAIJCUDA;
  ops->setrandom      = MatSetRandom_MPIAIJCUDA;
  ops->zeroentries    = MatZeroEntries_MPIAIJCUDA;
  ops->setoption      = MatSetOption_MPIAIJCUDA;
  ops->getinfo        = MatGetInfo_MPIAIJCUDA;
  ops->copyhashtoxaij = MatCopyHashToXAIJ_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
