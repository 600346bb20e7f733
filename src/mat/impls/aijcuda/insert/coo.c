/*
  MatSetPreallocationCOO() and MatSetValuesCOO() on the device: the list is sorted there once, and what was learned about its order serves every set of values.
*/
#include "insert.h"
#include "../core/core.h"
#include <petscsparsecuda/report.h>

/* MatDuplicate() hands a container of this name on to the copy. */
static const char COO_KEY[] = "__PETSc_MatCOOStruct_Device";

/* What MatSetPreallocationCOO() leaves for MatSetValuesCOO(). */
typedef struct {
  DCSRList list; /* without keys */
} COODevice;

static PetscErrorCode COODeviceDestroy(PetscCtxRt data)
{
  COODevice   *coo = *(COODevice **)data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRListDestroy(&coo->list, stream));
  PetscCall(PetscFree(coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCOODevice(Mat A, COODevice **coo)
{
  PetscContainer container;

  PetscFunctionBegin;
  *coo = NULL;
  PetscCall(PetscObjectQuery((PetscObject)A, COO_KEY, (PetscObject *)&container));
  if (container != NULL) PetscCall(PetscContainerGetPointer(container, coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCOODevice_Has - Whether the list of A's last MatSetPreallocationCOO() is on the device. */
PetscErrorCode MatCOODevice_Has(Mat A, PetscBool *has)
{
  COODevice *coo;

  PetscFunctionBegin;
  PetscCall(GetCOODevice(A, &coo));
  *has = (PetscBool)(coo != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCOODevice_Check - Raises an error when A does not have the pattern of that list any more, or when the list is not ours; see MatCOOPatternCheck(). */
PetscErrorCode MatCOODevice_Check(Mat A)
{
  PetscBool known;

  PetscFunctionBegin;
  PetscCall(MatCOOPatternCheck(A, COO_KEY, &known));
  PetscCheck(known, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The list of MatSetPreallocationCOO() was made when the matrix had another type: call it again before MatSetValuesCOO()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCOODevice_Remove - Forgets that list. */
PetscErrorCode MatCOODevice_Remove(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)A, COO_KEY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAGetDeviceCopy - An array of this many bytes in device memory, wherever it is, for work queued on the stream.

  *device is the array itself or the copy. *copy is to be freed with PetscSparseCUDAFree(); NULL: there is none.
*/
PetscErrorCode PetscSparseCUDAGetDeviceCopy(const void *array, size_t bytes, cudaStream_t stream, const void **device, void **copy)
{
  PetscMemType   mtype;
  PetscErrorCode ierr;

  PetscSparseCUDAReportScope outer;

  PetscFunctionBegin;
  *copy   = NULL;
  *device = array;
  if (array == NULL || bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetMemType(array, &mtype));
  if (PetscMemTypeDevice(mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc_Private(bytes, "device copy of an array of the caller", stream, copy));
  outer = PetscSparseCUDAReportEnter(REPORT_INSERTION, NULL);
  ierr  = PetscSparseCUDACopyToDevice(*copy, array, bytes, stream);
  PetscSparseCUDAReportLeave(outer);
  PetscCallGoto(ierr, failed, ierr);
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  *device = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(copy, stream));
  PetscFunctionReturn(ierr);
}

/* All entries of a list; copies of host arrays on the device are gone afterwards. */
static PetscErrorCode Pack(DCSRListPacker *packer, PetscCount n, const PetscInt i[], const PetscInt j[], cudaStream_t stream)
{
  const PetscInt *i_device, *j_device;
  void           *i_copy = NULL, *j_copy = NULL;
  PetscMemType    i_type, j_type;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscGetMemType(i, &i_type));
  PetscCall(PetscGetMemType(j, &j_type));
  if (PetscMemTypeHost(i_type) && PetscMemTypeHost(j_type)) {
    PetscCallReported(REPORT_INSERTION, NULL, DCSRListPackerAppendFromHost(packer, n, i, j, DCSR_LIST_CHUNK, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAGetDeviceCopy(i, (size_t)n * sizeof(*i), stream, (const void **)&i_device, &i_copy));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAGetDeviceCopy(j, (size_t)n * sizeof(*j), stream, (const void **)&j_device, &j_copy));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(packer, n, i_device, j_device, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&i_copy, stream));
  PetscCall(PetscSparseCUDAFree(&j_copy, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateList(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], cudaStream_t stream, DCSRList *list)
{
  const DCSRWindow window = {A->rmap->N, A->cmap->N, 0, A->rmap->N, 0, A->cmap->N, PETSC_FALSE};
  DCSRListPacker   packer;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(DCSRListPackerCreate(&window, n, stream, &packer));
  PetscCallGoto(ierr, cleanup, Pack(&packer, n, i, j, stream));
  PetscCallGoto(ierr, cleanup, DCSRListPackerFinish(&packer, stream, list));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packer, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDABuildView - Structure of a list, and zeros, for A; the list's keys are gone afterwards. */
PetscErrorCode MatSeqAIJCUDABuildView(Mat A, DCSRList *list, cudaStream_t stream, DCSRView *view)
{
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRCheckNonzeros(list->num_distinct));
  PetscCall(DCSRNeedsWide(list->num_distinct, &wide));
  PetscCall(DCSRViewAllocateStructure(A->rmap->n, A->cmap->n, list->num_distinct, wide, stream, view));
  PetscCallGoto(ierr, failed, DCSRListBuild(list, *view, stream));
  PetscCallGoto(ierr, failed, DCSRListForgetKeys(list, stream));
  PetscCallGoto(ierr, failed, DCSRViewAllocateValues(view, stream)); // not earlier: keys and values are never there at the same time
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(view->values, 0, (size_t)list->num_distinct * sizeof(PetscScalar), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* MatSetPreallocationCOO_SeqAIJCUDA_Device - MatSetPreallocationCOO() of a matrix that inserts on the device; i and j, on the host or the device, are left alone. */
PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA_Device(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  COODevice        *coo     = NULL;
  MatAIJCUDAPattern pattern = NULL;
  DCSRView          view;
  cudaStream_t      stream;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatCOODevice_Remove(A));
  PetscCall(PetscNew(&coo));
  PetscCallGoto(ierr, failed, CreateList(A, n, i, j, stream, &coo->list));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDABuildView(A, &coo->list, stream, &view));
  ierr = MatAIJCUDAPatternCreate(A, &view, &pattern);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDASetDeviceMatrix(A, &view);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(&view, stream));
    goto failed;
  }
  PetscCall(PetscSparseCUDACompose((PetscObject)A, COO_KEY, coo, COODeviceDestroy));
  PetscCall(MatCOOPatternAttach(A, COO_KEY, &pattern));
  PetscCall(PetscObjectCompose((PetscObject)A, "__PETSc_MatCOOStruct_Host", NULL));
  ((Mat_SeqAIJ *)A->data)->nonew           = 0;
  A->assembled                             = PETSC_TRUE; // as MATSEQAIJ leaves it
  A->was_assembled                         = PETSC_FALSE;
  MatSeqAIJCUDAGet(A)->device.nonzerostate = A->nonzerostate + 1; // MatSetPreallocationCOO() adds one behind us
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatAIJCUDAPatternDestroy(&pattern));
  PetscCall(DCSRListDestroy(&coo->list, stream));
  PetscCall(PetscFree(coo));
  PetscFunctionReturn(ierr);
}

/* Values of the distinct entries where the host copy is the matrix. */
static PetscErrorCode SetListValuesOnHost(Mat A, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, InsertMode mode, cudaStream_t stream)
{
  PetscScalar   *device = NULL, *host = NULL, *a;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscMalloc1(list->num_distinct, &host));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_distinct, "values of COO entries", stream, &device));
  PetscCallGoto(ierr, cleanup, DCSRListReduce(list, v, more, split, PETSC_FALSE, PETSC_FALSE, device, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(host, device, (size_t)list->num_distinct * sizeof(*host), stream));
  PetscCallGoto(ierr, cleanup, MatSeqAIJGetArray(A, &a));
  for (PetscCount k = 0; k < list->num_distinct; k++) a[k] = mode == ADD_VALUES ? a[k] + host[k] : host[k];
  PetscCallGoto(ierr, cleanup, MatSeqAIJRestoreArray(A, &a));
cleanup:
  PetscCall(PetscFree(host));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetListValues - Values of a list go into the sequential matrix or block that was built from it.

  MatCOODevice_Check() has found that A has the pattern of the list. v: the first [split] values of the list, on the device; more: [num_given - split] the rest, on the device, NULL when there are
  none.
*/
PetscErrorCode MatSeqAIJCUDASetListValues(Mat A, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, InsertMode mode)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (A->boundtocpu) {
    PetscCall(SetListValuesOnHost(A, list, v, more, split, mode, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCallGpuTime(DCSRListReduce(list, v, more, split, PETSC_FALSE, (PetscBool)(mode == ADD_VALUES), d->device.view.values, stream));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether values in the order of CSR can be copied into it as they are: no repeated and no ignored entries (each has a position of its own, so there are no runs). */
static PetscBool CopiesIntoCSR(Mat A, const DCSRList *list, InsertMode mode)
{
  const PetscBool in_order = (PetscBool)(list->order == NULL && list->shifts == NULL && list->num_distinct == list->num_given);

  return (PetscBool)(mode == INSERT_VALUES && in_order && !A->boundtocpu);
}

/* Values in host memory, in the order of the matrix, replace those of the matrix without a copy of them on the device. */
static PetscErrorCode CopyListValues(Mat A, const DCSRList *list, const PetscScalar v[], cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d     = MatSeqAIJCUDAGet(A);
  const size_t    bytes = (size_t)list->num_given * sizeof(*v);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCallReported(REPORT_INSERTION, NULL, PetscSparseCUDACopyToDevice(d->device.view.values, v, bytes, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetValuesCOO_SeqAIJCUDA_Device - MatSetValuesCOO() with a list on the device; the matrix is bound to the CPU or not, v is on the host or the device.

  Repeated entries are added up in both modes. PETSC_ERR_ARG_WRONGSTATE: the nonzero pattern is not that of the list any more, and nothing was changed.
*/
PetscErrorCode MatSetValuesCOO_SeqAIJCUDA_Device(Mat A, const PetscScalar v[], InsertMode mode)
{
  COODevice         *coo;
  const PetscScalar *device;
  void              *copy;
  PetscMemType       mtype;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Check(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GetCOODevice(A, &coo));
  PetscCall(PetscGetMemType(v, &mtype));
  if (PetscMemTypeHost(mtype) && CopiesIntoCSR(A, &coo->list, mode)) {
    PetscCall(CopyListValues(A, &coo->list, v, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetDeviceCopy(v, (size_t)coo->list.num_given * sizeof(*v), stream, (const void **)&device, &copy));
  ierr = MatSeqAIJCUDASetListValues(A, &coo->list, device, NULL, coo->list.num_given, mode);
  PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
