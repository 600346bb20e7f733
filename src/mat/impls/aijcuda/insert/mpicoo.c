/*
  MatSetPreallocationCOO() and MatSetValuesCOO() on the device for parallel matrices. The list of a process and what others send it are one list, sorted
  for the diagonal block; what is not in that is a second, short one; entries for other processes are gathered on the device, and messages take them where they belong.
*/
#include "insert.h"
#include "../core/core.h"
#include "../exchange/exchange.h"
#include "../parallel/ghosts.h"
#include "../parallel/parallel.h"

/* MatDuplicate() hands a container of this name on to the copy. */
static const char COO_KEY[] = "__PETSc_MatCOOStruct_Device";

typedef struct {
  PetscCount  n;        /* entries of this process's list */
  DCSRList    lists[2]; /* without keys: of the diagonal and of the off-diagonal block; positions from n on are received entries */
  RowMessages messages;
  PetscCount *order; /* [messages.num_rows[0]] device, owned: position in the list of each sent entry */
} COODevice;

static PetscErrorCode Destroy(COODevice *coo)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRListDestroy(&coo->lists[0], stream));
  PetscCall(DCSRListDestroy(&coo->lists[1], stream));
  PetscCall(PetscSparseCUDAFree(&coo->order, stream));
  PetscCall(RowMessagesDestroy(&coo->messages));
  PetscCall(PetscFree(coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode COODeviceDestroy(PetscCtxRt data)
{
  PetscFunctionBegin;
  PetscCall(Destroy(*(COODevice **)data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNumRemote(Mat A, PetscCount num)
{
  PetscFunctionBegin;
  PetscCheck(num == 0 || !A->nooffprocentries, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "MAT_NO_OFF_PROC_ENTRIES is set but insert to remote rows");
  PetscCheck(num <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " entries for other processes are too many: distribute the list better", num);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the list of this process needs to become keys together with what others send. */
typedef struct {
  const PetscInt *own[2];      /* device: rows and columns of the list */
  void           *copies[2];   /* owned: the same, when they were given in host memory */
  PetscInt       *starts;      /* [size + 1] owned: where the entries for each process begin */
  PetscInt       *sent[2];     /* device, owned: their rows and columns; NULL when there are none */
  PetscInt       *received[2]; /* the same of the entries that other processes send */
} COOTravel;

static PetscErrorCode TravelDestroy(COOTravel *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&t->copies[k], stream));
    PetscCall(PetscSparseCUDAFree(&t->sent[k], stream));
    PetscCall(PetscSparseCUDAFree(&t->received[k], stream));
  }
  PetscCall(PetscFree(t->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the entries of other processes, and sorts them by owner. */
static PetscErrorCode SortRemote(Mat A, COODevice *coo, cudaStream_t stream, COOTravel *t)
{
  PetscCount     num = 0, *where = NULL;
  PetscMPIInt    size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscMalloc1(size + 1, &t->starts));
  if (!((Mat_MPIAIJ *)A->data)->donotstash) PetscCall(DCSRListRemote(A->rmap->rstart, A->rmap->rend, coo->n, t->own[0], t->own[1], NULL, stream, &num, &where));
  PetscCallGoto(ierr, cleanup, CheckNumRemote(A, num));
  PetscCallGoto(ierr, cleanup, DCSRSortByOwner(size, A->rmap->range, num, where, t->own[0], stream, &coo->order, t->starts));
cleanup:
  PetscCall(PetscSparseCUDAFree(&where, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes host arrays device arrays, and finds the entries of other processes. Arrays are copied whole: they are read twice, to find the entries of others and for the blocks, and cross
  the bus once.
*/
static PetscErrorCode FindRemote(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream, COOTravel *t)
{
  const PetscInt *const from[2] = {i, j};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAGetDeviceCopy(from[k], (size_t)coo->n * sizeof(*i), stream, (const void **)&t->own[k], &t->copies[k]));
  PetscCall(SortRemote(A, coo, stream, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns for other processes go to send buffers, and receive buffers are made. */
static PetscErrorCode PackIndices(COODevice *coo, cudaStream_t stream, COOTravel *t)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMallocExportable(coo->messages.num_rows[0], "sent COO indices", stream, &t->sent[k]));
    PetscCall(PetscSparseCUDAMallocExportable(coo->messages.num_rows[1], "received COO indices", stream, &t->received[k]));
    PetscCall(DCSRGatherIndices(coo->messages.num_rows[0], coo->order, t->own[k], t->sent[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns travel. Collective. */
static PetscErrorCode ExchangeIndices(const COODevice *coo, cudaStream_t stream, COOTravel *t)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(RowMessagesExchange(&coo->messages, MPIU_INT, t->sent[k], t->received[k], stream));
    PetscCall(PetscSparseCUDAFree(&t->sent[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of this process followed by what it has received becomes keys: those of the diagonal block, and of the few entries that are not in it those of the off-diagonal one. */
static PetscErrorCode PackKeys(Mat A, const COODevice *coo, const COOTravel *t, cudaStream_t stream, DCSRListPacker packers[2])
{
  const PetscInt *const rows[2] = {t->own[0], t->received[0]}, *const columns[2] = {t->own[1], t->received[1]};
  DCSRWindow window = {A->rmap->N, A->cmap->N, A->rmap->rstart, A->rmap->rend, A->cmap->rstart, A->cmap->rend, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(DCSRListPackerCreate(&window, coo->n + coo->messages.num_rows[1], stream, &packers[0]));
  PetscCall(DCSRListPackerAppend(&packers[0], coo->n, rows[0], columns[0], stream));
  PetscCall(DCSRListPackerAppend(&packers[0], coo->messages.num_rows[1], rows[1], columns[1], stream));
  window.outside = PETSC_TRUE;
  PetscCall(DCSRListPackerSplit(&packers[0], &window, rows, columns, coo->n, stream, &packers[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The joint list as keys. Copies and buffers are gone afterwards, when the sorts want as much. Collective; after the exchange errors are those of this process. */
static PetscErrorCode PackList(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream, DCSRListPacker packers[2])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  COOTravel      t;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&t, 1));
  ierr = FindRemote(A, coo, i, j, stream, &t);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  ierr = RowMessagesCreateFromStarts(comm, t.starts, &coo->messages);
  if (ierr == PETSC_SUCCESS) ierr = PackIndices(coo, stream, &t);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, ExchangeIndices(coo, stream, &t));
  PetscCallGoto(ierr, cleanup, PackKeys(A, coo, &t, stream, packers));
cleanup:
  PetscCall(TravelDestroy(&t, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts the joint list for both blocks. */
static PetscErrorCode CreateLists(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream)
{
  DCSRListPacker packers[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(packers, 2));
  PetscCallGoto(ierr, cleanup, PackList(A, coo, i, j, stream, packers));
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, DCSRListPackerFinish(&packers[k], stream, &coo->lists[k]));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packers[0], stream));
  PetscCall(DCSRListPackerDestroy(&packers[1], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of one list becomes one of the blocks, with zero values. */
static PetscErrorCode SetBlock(Mat A, int which, DCSRList *list, cudaStream_t stream)
{
  Mat      block = MatMPIAIJCUDAGetBlock(A, which);
  DCSRView view;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDABuildView(block, list, stream, &view));
  PetscCall(MatMPIAIJCUDASetBlock(A, (PetscBool)which, &view));
  PetscCall(MatAssemblyBegin(block, MAT_FINAL_ASSEMBLY)); // there is no assembly of A
  PetscCall(MatAssemblyEnd(block, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern is to be destroyed, also after an error. All processes have an error when one does. Collective. */
static PetscErrorCode Preallocate(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], MatAIJCUDAPattern *pattern)
{
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = CreateLists(A, coo, i, j, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatMPIAIJCUDASetEmpty(A));
  for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) ierr = SetBlock(A, k, &coo->lists[k], stream);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDAPatternCreate(A, NULL, pattern);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatMPIAIJCUDASetUpMultiply(A));
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetPreallocationCOO_MPIAIJCUDA_Device - MatSetPreallocationCOO() of a matrix that inserts on the device. Collective.

  i and j are global, on the host or the device, and left alone. Entries in rows of other processes are sent there.
*/
PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA_Device(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  COODevice        *coo;
  MatAIJCUDAPattern pattern = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Remove(A));
  PetscCall(PetscObjectCompose((PetscObject)A, "__PETSc_MatCOOStruct_Host", NULL));
  PetscCall(PetscNew(&coo));
  coo->n = n;
  ierr   = Preallocate(A, coo, i, j, &pattern);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatAIJCUDAPatternDestroy(&pattern));
    PetscCall(Destroy(coo));
    PetscCall(ierr);
  }
  PetscCall(PetscSparseCUDACompose((PetscObject)A, COO_KEY, coo, COODeviceDestroy));
  PetscCall(MatCOOPatternAttach(A, COO_KEY, &pattern));
  if (MatMPIAIJCUDAGet(A)->state == PARALLEL_DEVICE_OPEN) MatMPIAIJCUDAGet(A)->state = PARALLEL_DEVICE;
  A->was_assembled = PETSC_TRUE; // the scatter of products exists
  A->assembled     = PETSC_FALSE;
  PetscCall(MatMPIAIJCUDASumNonzeroState(A));
  MatAIJCUDASetNonzeroState(A, A->nonzerostate - 1); // MatSetPreallocationCOO() adds one behind us, and the next assembly takes the sum
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the list, and those that travel. */
typedef struct {
  const PetscScalar *own;  /* [n] device */
  void              *copy; /* owned: the same, when they were given in host memory */
  PetscScalar       *sent; /* device, owned; NULL when there are none */
  PetscScalar       *received;
} COOValues;

/* Values of entries for other processes go to a send buffer, and a receive buffer is made, if the pattern is still that of the list. */
static PetscErrorCode PackValues(Mat A, const COODevice *coo, const PetscScalar v[], cudaStream_t stream, COOValues *values)
{
  PetscFunctionBegin;
  PetscCall(MatCOODevice_Check(A));
  PetscCall(PetscSparseCUDAGetDeviceCopy(v, (size_t)coo->n * sizeof(*v), stream, (const void **)&values->own, &values->copy));
  PetscCall(PetscSparseCUDAMallocExportable(coo->messages.num_rows[0], "sent COO values", stream, &values->sent));
  PetscCall(PetscSparseCUDAMallocExportable(coo->messages.num_rows[1], "received COO values", stream, &values->received));
  PetscCall(DCSRGatherValues(coo->messages.num_rows[0], coo->order, values->own, values->sent, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of this process and of others go to both blocks. */
static PetscErrorCode SetBlockValues(Mat A, const COODevice *coo, const COOValues *values, InsertMode mode)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDASetListValues(a->A, &coo->lists[0], values->own, values->received, coo->n, mode));
  PetscCall(MatSeqAIJCUDASetListValues(a->B, &coo->lists[1], values->own, values->received, coo->n, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetValuesCOO_MPIAIJCUDA_Device - MatSetValuesCOO() with lists on the device; the matrix is bound to the CPU or not, v is on the host or the device. Collective.

  Repeated entries are added up in both modes. PETSC_ERR_ARG_WRONGSTATE on all processes: the nonzero pattern of one is not that of the list any more, and nothing was changed.
*/
PetscErrorCode MatSetValuesCOO_MPIAIJCUDA_Device(Mat A, const PetscScalar v[], InsertMode mode)
{
  const MPI_Comm comm   = PetscObjectComm((PetscObject)A);
  COOValues      values = {NULL, NULL, NULL, NULL};
  COODevice     *coo;
  PetscContainer container;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscObjectQuery((PetscObject)A, COO_KEY, (PetscObject *)&container));
  PetscCall(PetscContainerGetPointer(container, &coo));
  ierr = PackValues(A, coo, v, stream, &values);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  ierr = RowMessagesExchange(&coo->messages, MPIU_SCALAR, values.sent, values.received, stream);
  PetscCall(PetscSparseCUDAFree(&values.sent, stream));
  if (ierr == PETSC_SUCCESS) ierr = SetBlockValues(A, coo, &values, mode);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr)); // the assembly follows
cleanup:
  PetscCall(PetscSparseCUDAFree(&values.sent, stream));
  PetscCall(PetscSparseCUDAFree(&values.copy, stream));
  PetscCall(PetscSparseCUDAFree(&values.received, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
