/*
  MatSetPreallocationCOO() and MatSetValuesCOO() on the device for parallel matrices. The list of a process and what others send it are one list, sorted once for
  the diagonal and once for the off-diagonal block; entries for other processes are gathered on the device, and PetscSF takes them where they belong.
*/
#include <petscsparsecuda/ghosts.h>

/* MatDuplicate() hands a container of this name on to the copy. */
static const char COO_KEY[] = "__PETSc_MatCOOStruct_Device";

typedef struct {
  PetscCount  n;        /* entries of this process's list */
  DCSRList    lists[2]; /* without keys: of the diagonal and of the off-diagonal block; positions from n on are received entries */
  MatExchange exchange;
  PetscCount *order; /* [exchange.num_sent] device, owned: place in the list of each sent entry, -1 for padding */
} COODevice;

static PetscErrorCode Destroy(COODevice *coo)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRListDestroy(&coo->lists[0], stream));
  PetscCall(DCSRListDestroy(&coo->lists[1], stream));
  PetscCall(PetscSparseCUDAFree(&coo->order, stream));
  PetscCall(MatExchangeDestroy(&coo->exchange));
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

/* The entries of other processes, by owner: order, and starts [size + 1]; to be freed, also after an error. */
static PetscErrorCode SortRemote(Mat A, const COODevice *coo, const PetscInt i[], const PetscInt j[], PetscMPIInt size, cudaStream_t stream, PetscCount **order, PetscInt starts[])
{
  PetscCount     num = 0, *where = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!((Mat_MPIAIJ *)A->data)->donotstash) PetscCall(DCSRListRemote(A->rmap->rstart, A->rmap->rend, coo->n, i, j, NULL, stream, &num, &where));
  PetscCallGoto(ierr, cleanup, CheckNumRemote(A, num));
  PetscCallGoto(ierr, cleanup, DCSRSortByOwner(size, A->rmap->range, num, where, i, stream, order, starts));
cleanup:
  PetscCall(PetscSparseCUDAFree(&where, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the entries of other processes, and who they are, after work of this process that ended with ierr. All have an error when one has it before the exchange is made. Collective. */
static PetscErrorCode CreateExchange(PetscErrorCode ierr, Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream)
{
  PetscCount *order = NULL;
  PetscInt   *starts;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscMalloc1(size + 1, &starts));
  if (ierr == PETSC_SUCCESS) ierr = SortRemote(A, coo, i, j, size, stream, &order, starts);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, MatExchangeCreate(A->rmap, starts, &coo->exchange));
  PetscCallGoto(ierr, cleanup, MatExchangeGetSendOrder(&coo->exchange, starts, PETSC_MEMTYPE_CUDA, order, stream, &coo->order));
cleanup:
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(PetscFree(starts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns for other processes in send buffers, and receive buffers; NULL when there are none. All are to be freed, also after an error. */
static PetscErrorCode PackIndices(const COODevice *coo, const PetscInt *const own[2], cudaStream_t stream, PetscInt *sent[2], PetscInt *received[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMalloc(coo->exchange.num_sent, "sent COO indices", stream, &sent[k]));
    PetscCall(PetscSparseCUDAMalloc(coo->exchange.num_received, "received COO indices", stream, &received[k]));
    PetscCall(DCSRGatherIndices(coo->exchange.num_sent, coo->order, own[k], sent[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows and columns that other processes send, to be freed, also after an error, which all have; after work of this process that ended with ierr. Collective. */
static PetscErrorCode ExchangeIndices(PetscErrorCode ierr, Mat A, const COODevice *coo, const PetscInt *const own[2], cudaStream_t stream, PetscInt *received[2])
{
  PetscInt *sent[2] = {NULL, NULL};

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = PackIndices(coo, own, stream, sent, received);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  for (int k = 0; k < 2; k++) {
    if (ierr == PETSC_SUCCESS) ierr = MatExchangeIndices(&coo->exchange, PETSC_MEMTYPE_CUDA, sent[k], PETSC_MEMTYPE_CUDA, received[k]);
    PetscCall(PetscSparseCUDAFree(&sent[k], stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of this process followed by what it receives, for both blocks; after work of this process that ended with ierr. Collective; after the exchange errors are those of this process. */
static PetscErrorCode Pack(PetscErrorCode ierr, Mat A, COODevice *coo, const PetscInt *const own[2], cudaStream_t stream, DCSRListPacker packers[2])
{
  PetscInt *received[2] = {NULL, NULL};

  PetscFunctionBegin;
  ierr = CreateExchange(ierr, A, coo, own[0], own[1], stream);
  PetscCallGoto(ierr, cleanup, ExchangeIndices(ierr, A, coo, own, stream, received));
  for (int k = 0; k < 2; k++) {
    const DCSRWindow window = {A->rmap->N, A->cmap->N, A->rmap->rstart, A->rmap->rend, A->cmap->rstart, A->cmap->rend, (PetscBool)k};

    PetscCallGoto(ierr, cleanup, DCSRListPackerCreate(&window, coo->n + coo->exchange.num_received, stream, &packers[k]));
    PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packers[k], coo->n, own[0], own[1], stream));
    PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packers[k], coo->exchange.num_received, received[0], received[1], stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&received[0], stream));
  PetscCall(PetscSparseCUDAFree(&received[1], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same for arrays anywhere. Host arrays have copies on the device, which are gone afterwards, when the sorts want as much. Whole ones: they are read three times,
  to find the entries of others and for either block, and cross the bus once.
*/
static PetscErrorCode PackCopies(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream, DCSRListPacker packers[2])
{
  const PetscInt *const from[2]   = {i, j};
  const PetscInt       *device[2] = {NULL, NULL};
  void                 *copies[2] = {NULL, NULL};
  PetscErrorCode        ierr      = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) ierr = PetscSparseCUDAGetDeviceCopy(from[k], (size_t)coo->n * sizeof(*i), stream, (const void **)&device[k], &copies[k]);
  ierr = Pack(ierr, A, coo, device, stream, packers);
  PetscCall(PetscSparseCUDAFree(&copies[0], stream));
  PetscCall(PetscSparseCUDAFree(&copies[1], stream));
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
  PetscCallGoto(ierr, cleanup, PackCopies(A, coo, i, j, stream, packers));
  // the off-diagonal block first: most of its keys do not count, and are gone when the large sort begins
  for (int k = 1; k >= 0; k--) PetscCallGoto(ierr, cleanup, DCSRListPackerFinish(&packers[k], stream, &coo->lists[k]));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packers[0], stream));
  PetscCall(DCSRListPackerDestroy(&packers[1], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of one list becomes one of the blocks, with zero values. */
static PetscErrorCode SetBlock(Mat A, int which, DCSRList *list, cudaStream_t stream)
{
  DCSRView view;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDABuildView(which ? ((Mat_MPIAIJ *)A->data)->B : ((Mat_MPIAIJ *)A->data)->A, list, stream, &view));
  PetscCall(MatMPIAIJCUDASetBlock(A, (PetscBool)which, &view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern is to be destroyed, also after an error. All processes have an error when one does. Collective. */
static PetscErrorCode Preallocate(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], MatCOOPattern *pattern)
{
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = CreateLists(A, coo, i, j, stream);
  if (ierr == PETSC_SUCCESS) ierr = MatMPIAIJCUDASetEmpty(A);
  for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) ierr = SetBlock(A, k, &coo->lists[k], stream);
  if (ierr == PETSC_SUCCESS) ierr = MatCOOPatternCreate(A, NULL, pattern);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatMPIAIJCUDASetUpMultiply(A));
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetPreallocationCOO_MPIAIJCUDA_Device - MatSetPreallocationCOO() on the device

  Collective

  Input Parameters:
+ A - a parallel matrix of ours that inserts on the device
. n - entries of this process
. i - [n] global row indices, host or device, left alone; rows of other processes are sent there
- j - [n] global column indices, host or device, left alone
*/
PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA_Device(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  COODevice     *coo;
  MatCOOPattern  pattern = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Remove(A));
  PetscCall(PetscObjectCompose((PetscObject)A, "__PETSc_MatCOOStruct_Host", NULL));
  PetscCall(PetscNew(&coo));
  coo->n = n;
  ierr   = Preallocate(A, coo, i, j, &pattern);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatCOOPatternDestroy(&pattern));
    PetscCall(Destroy(coo));
    PetscCall(ierr);
  }
  PetscCall(PetscObjectContainerCompose((PetscObject)A, COO_KEY, coo, COODeviceDestroy));
  PetscCall(MatCOOPatternAttach(A, COO_KEY, &pattern));
  MatMPIAIJCUDAGet(A)->first_assembly = PETSC_FALSE;
  A->was_assembled                    = PETSC_TRUE; // the scatter of products exists
  A->assembled                        = PETSC_FALSE;
  A->nonzerostate                     = a->A->nonzerostate + a->B->nonzerostate;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &A->nonzerostate, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values for other processes in a send buffer, and a receive buffer; NULL when there are none. Both are to be freed, also after an error. */
static PetscErrorCode PackValues(const COODevice *coo, const PetscScalar v[], cudaStream_t stream, PetscScalar **sent, PetscScalar **received)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(coo->exchange.num_sent, "sent COO values", stream, sent));
  PetscCall(PetscSparseCUDAMalloc(coo->exchange.num_received, "received COO values", stream, received));
  PetscCall(DCSRGatherValues(coo->exchange.num_sent, coo->order, v, *sent, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of entries for other processes leave, those from others come, to be freed, also after an error, which all have; after work of this process that ended with ierr. Collective. */
static PetscErrorCode ExchangeValues(PetscErrorCode ierr, Mat A, const COODevice *coo, const PetscScalar v[], cudaStream_t stream, PetscScalar **received)
{
  PetscScalar *sent = NULL;

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = PackValues(coo, v, stream, &sent, received);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = MatExchangeValues(&coo->exchange, PETSC_MEMTYPE_CUDA, sent, PETSC_MEMTYPE_CUDA, *received);
  PetscCall(PetscSparseCUDAFree(&sent, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetValuesCOO_MPIAIJCUDA_Device - MatSetValuesCOO() with lists on the device; collective

  Input Parameters:
+ A    - a parallel matrix of ours, bound to the CPU or not
. v    - [n] values of the list, host or device
- mode - ADD_VALUES or INSERT_VALUES; repeated entries are added up in both

  Errors: PETSC_ERR_ARG_WRONGSTATE on all processes when the nonzero pattern of one is not that of the list any more, and nothing was changed.
*/
PetscErrorCode MatSetValuesCOO_MPIAIJCUDA_Device(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_MPIAIJ        *a = (Mat_MPIAIJ *)A->data;
  COODevice         *coo;
  PetscContainer     container;
  const PetscScalar *device = NULL;
  PetscScalar       *more   = NULL;
  void              *copy   = NULL;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscObjectQuery((PetscObject)A, COO_KEY, (PetscObject *)&container));
  PetscCall(PetscContainerGetPointer(container, &coo));
  ierr = MatCOODevice_Check(A);
  if (ierr == PETSC_SUCCESS) ierr = PetscSparseCUDAGetDeviceCopy(v, (size_t)coo->n * sizeof(*v), stream, (const void **)&device, &copy);
  ierr = ExchangeValues(ierr, A, coo, device, stream, &more);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDASetListValues(a->A, &coo->lists[0], device, more, coo->n, mode);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDASetListValues(a->B, &coo->lists[1], device, more, coo->n, mode);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr)); // the assembly follows
  PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscCall(PetscSparseCUDAFree(&more, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
