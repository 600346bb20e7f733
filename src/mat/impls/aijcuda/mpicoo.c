/*
  MatSetPreallocationCOO() and MatSetValuesCOO() on the device for parallel matrices. The list of a process and what others send it are one list, sorted once for
  the diagonal and once for the off-diagonal block; entries for other processes are gathered on the device, and PetscSF takes them where they belong.
*/
#include <petscsparsecuda/aijcuda.h>

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

/* Finds the entries of other processes, and who they are; collective. */
static PetscErrorCode CreateExchange(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream)
{
  PetscCount     num = 0, *where = NULL, *order = NULL;
  PetscInt      *starts = NULL;
  PetscMPIInt    size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (!((Mat_MPIAIJ *)A->data)->donotstash) PetscCall(DCSRListRemote(A->rmap->rstart, A->rmap->rend, coo->n, i, j, NULL, stream, &num, &where));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(size + 1, &starts));
  PetscCallGoto(ierr, cleanup, CheckNumRemote(A, num));
  PetscCallGoto(ierr, cleanup, DCSRSortByOwner(size, A->rmap->range, num, where, i, stream, &order, starts));
  PetscCallGoto(ierr, cleanup, MatExchangeCreate(A->rmap, starts, &coo->exchange));
  PetscCallGoto(ierr, cleanup, MatExchangeGetSendOrder(&coo->exchange, starts, PETSC_MEMTYPE_CUDA, order, stream, &coo->order));
cleanup:
  PetscCall(PetscSparseCUDAFree(&where, stream));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(PetscFree(starts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows or columns that other processes send; *received is NULL when there are none. Collective. */
static PetscErrorCode ExchangeIndices(const COODevice *coo, const PetscInt own[], cudaStream_t stream, PetscInt **received)
{
  const MatExchange *x    = &coo->exchange;
  PetscInt          *sent = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *received = NULL;
  PetscCall(PetscSparseCUDAMalloc(x->num_sent, "sent COO indices", stream, &sent));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(x->num_received, "received COO indices", stream, received));
  PetscCallGoto(ierr, cleanup, DCSRGatherIndices(x->num_sent, coo->order, own, sent, stream));
  PetscCallGoto(ierr, cleanup, MatExchangeIndices(x, PETSC_MEMTYPE_CUDA, sent, PETSC_MEMTYPE_CUDA, *received));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sent, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of this process followed by what it receives, for both blocks. */
static PetscErrorCode Pack(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream, DCSRListPacker packers[2])
{
  PetscInt      *rows = NULL, *columns = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, CreateExchange(A, coo, i, j, stream));
  PetscCallGoto(ierr, cleanup, ExchangeIndices(coo, i, stream, &rows));
  PetscCallGoto(ierr, cleanup, ExchangeIndices(coo, j, stream, &columns));
  for (int k = 0; k < 2; k++) {
    const DCSRWindow window = {A->rmap->N, A->cmap->N, A->rmap->rstart, A->rmap->rend, A->cmap->rstart, A->cmap->rend, (PetscBool)k};

    PetscCallGoto(ierr, cleanup, DCSRListPackerCreate(&window, coo->n + coo->exchange.num_received, stream, &packers[k]));
    PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packers[k], coo->n, i, j, stream));
    PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packers[k], coo->exchange.num_received, rows, columns, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&rows, stream));
  PetscCall(PetscSparseCUDAFree(&columns, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same for arrays anywhere. Host arrays have copies on the device, which are gone afterwards, when the sorts want as much. Whole ones: they are read three times,
  to find the entries of others and for either block, and cross the bus once.
*/
static PetscErrorCode PackCopies(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[], cudaStream_t stream, DCSRListPacker packers[2])
{
  const PetscInt *i_device = NULL, *j_device = NULL;
  void           *i_copy = NULL, *j_copy = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAGetDeviceCopy(i, (size_t)coo->n * sizeof(*i), stream, (const void **)&i_device, &i_copy));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAGetDeviceCopy(j, (size_t)coo->n * sizeof(*j), stream, (const void **)&j_device, &j_copy));
  PetscCallGoto(ierr, cleanup, Pack(A, coo, i_device, j_device, stream, packers));
cleanup:
  PetscCall(PetscSparseCUDAFree(&i_copy, stream));
  PetscCall(PetscSparseCUDAFree(&j_copy, stream));
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

/* Global columns of the new off-diagonal block become ghost columns. */
static PetscErrorCode SetGhosts(Mat A, DCSRView *view, cudaStream_t stream)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  PetscInt       n;
  int32_t       *columns, *device = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewGetColumns(*view, DCSRKeyBits(A->cmap->N), stream, &n, &columns));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "ghost columns", stream, &device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(device, columns, (size_t)n * sizeof(*columns), stream));
  PetscCallGoto(ierr, cleanup, DCSRViewRenumber(*view, n, device, stream));
  PetscCallGoto(ierr, cleanup, MatMPIAIJCUDAExtendGhosts(A, n, columns)); // the block is empty so far
  view->num_columns = a->B->cmap->n;
cleanup:
  PetscCall(PetscFree(columns));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetBlock - Compact device storage becomes one of the blocks of an empty matrix.

  Not Collective

  Input Parameters:
+ A            - a parallel matrix of ours, after MatMPIAIJCUDASetEmpty(); to be assembled, or to get its scatter, when both blocks are there
. off_diagonal - which block
- view         - columns of the diagonal block in local, those of the off-diagonal block in global numbering; its arrays now belong to A; zero afterwards, also after an error
*/
PetscErrorCode MatMPIAIJCUDASetBlock(Mat A, PetscBool off_diagonal, DCSRView *view)
{
  Mat_MPIAIJ    *a     = (Mat_MPIAIJ *)A->data;
  Mat            block = off_diagonal ? a->B : a->A;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (off_diagonal) PetscCallGoto(ierr, failed, SetGhosts(A, view, stream));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDASetDeviceMatrix(block, view));
  PetscCall(MatAssemblyBegin(block, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(block, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
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

static PetscErrorCode Preallocate(Mat A, COODevice *coo, const PetscInt i[], const PetscInt j[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(CreateLists(A, coo, i, j, stream));
  PetscCall(MatMPIAIJCUDASetEmpty(A));
  for (int k = 0; k < 2; k++) PetscCall(SetBlock(A, k, &coo->lists[k], stream));
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
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Remove(A));
  PetscCall(PetscObjectCompose((PetscObject)A, "__PETSc_MatCOOStruct_Host", NULL));
  PetscCall(PetscNew(&coo));
  coo->n = n;
  ierr   = Preallocate(A, coo, i, j);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(Destroy(coo));
    PetscCall(ierr);
  }
  PetscCall(PetscObjectContainerCompose((PetscObject)A, COO_KEY, coo, COODeviceDestroy));
  MatMPIAIJCUDAGet(A)->first_assembly = PETSC_FALSE;
  A->was_assembled                    = PETSC_TRUE; // the scatter of products exists
  A->assembled                        = PETSC_FALSE;
  A->nonzerostate                     = a->A->nonzerostate + a->B->nonzerostate;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &A->nonzerostate, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of entries for other processes leave, those from others come; *more [exchange.num_received] is NULL when there are none. Collective. */
static PetscErrorCode ExchangeValues(const COODevice *coo, const PetscScalar v[], cudaStream_t stream, PetscScalar **more)
{
  const MatExchange *x    = &coo->exchange;
  PetscScalar       *sent = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *more = NULL;
  PetscCall(PetscSparseCUDAMalloc(x->num_sent, "sent COO values", stream, &sent));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(x->num_received, "received COO values", stream, more));
  PetscCallGoto(ierr, cleanup, DCSRGatherValues(x->num_sent, coo->order, v, sent, stream));
  PetscCallGoto(ierr, cleanup, MatExchangeValues(x, PETSC_MEMTYPE_CUDA, sent, PETSC_MEMTYPE_CUDA, *more));
cleanup:
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
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAGetDeviceCopy(v, (size_t)coo->n * sizeof(*v), stream, (const void **)&device, &copy));
  PetscCallGoto(ierr, cleanup, ExchangeValues(coo, device, stream, &more));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDASetListValues(a->A, &coo->lists[0], device, more, coo->n, mode));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDASetListValues(a->B, &coo->lists[1], device, more, coo->n, mode));
cleanup:
  PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscCall(PetscSparseCUDAFree(&more, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
