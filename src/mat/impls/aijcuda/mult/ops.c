/* Operations of sequential matrices that run on the device, without a host copy of the matrix. Off the device they fall back to the thunk of the same name. */
#include <petscsparsecuda/thunks.h>

static const DeviceArray no_array = {NULL, ARRAY_READ, NULL, NULL, 0};

/* PetscLogGpuTimeEnd() after a call that returned ierr, which is handed on. */
static PetscErrorCode EndGpuTime(PetscErrorCode ierr)
{
  const PetscErrorCode ended = PetscLogGpuTimeEnd();

  return ierr != PETSC_SUCCESS ? ierr : ended;
}

static PetscErrorCode ReserveHostVecBuffer(HostVecBuffer *buffer, PetscInt n, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (buffer->n < n) {
    PetscCall(PetscSparseCUDAFree(&buffer->array, stream));
    buffer->n = 0;
    PetscCall(PetscSparseCUDAMalloc(n, "a vector that lives on the host", stream, &buffer->array));
    buffer->n = n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Moves the entries of a vector on the host into the buffer, or leaves them out when they are only written. Host arrays of VECCUDA are pinned, and the program may change
  them when the operation returns: the copy is waited for here.
*/
static PetscErrorCode StageHostArray(HostVecBuffer *buffer, cudaStream_t stream, DeviceArray *array)
{
  PetscFunctionBegin;
  PetscCall(ReserveHostVecBuffer(buffer, array->n, stream));
  array->host   = array->device;
  array->device = buffer->array;
  if (array->access != ARRAY_WRITE && array->n > 0) {
    PetscCall(PetscSparseCUDACopyToDevice(array->device, array->host, (size_t)array->n * sizeof(PetscScalar), stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)array->n * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks a vector, which must have n local entries, for its array on the device. After an error too, RestoreDeviceArray() gives back what was taken. */
PetscErrorCode GetDeviceArray(Mat A, Vec v, PetscInt n, ArrayAccess access, HostVecBuffer *buffer, cudaStream_t stream, DeviceArray *array)
{
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &array->n));
  PetscCheck(array->n == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A vector of %" PetscInt_FMT " entries where this operation on a %" PetscInt_FMT " x %" PetscInt_FMT " matrix needs %" PetscInt_FMT, array->n, A->rmap->n, A->cmap->n, n);
  array->access = access;
  array->host   = NULL;
  if (access == ARRAY_READ) PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&array->device, &mtype));
  else if (access == ARRAY_WRITE) PetscCall(VecGetArrayWriteAndMemType(v, &array->device, &mtype));
  else PetscCall(VecGetArrayAndMemType(v, &array->device, &mtype));
  array->v = v;
  if (PetscMemTypeHost(mtype)) PetscCall(StageHostArray(buffer, stream, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of a vector that lives on the host. */
static PetscErrorCode CopyResultToHost(DeviceArray *array, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (array->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDACopyToHost(array->host, array->device, (size_t)array->n * sizeof(PetscScalar), stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)array->n * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArray(DeviceArray *array)
{
  PetscScalar *a = array->host != NULL ? array->host : array->device;

  PetscFunctionBegin;
  if (array->access == ARRAY_READ) PetscCall(VecRestoreArrayReadAndMemType(array->v, (const PetscScalar **)&a));
  else if (array->access == ARRAY_WRITE) PetscCall(VecRestoreArrayWriteAndMemType(array->v, &a));
  else PetscCall(VecRestoreArrayAndMemType(array->v, &a));
  array->v = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back what GetDeviceArray() took, after an operation that returned ierr, which is handed on; results of one that failed are not copied. */
PetscErrorCode RestoreDeviceArray(DeviceArray *array, cudaStream_t stream, PetscErrorCode ierr)
{
  PetscErrorCode restored;

  if (array->v == NULL) return ierr;
  if (ierr == PETSC_SUCCESS && array->host != NULL && array->access != ARRAY_READ) ierr = CopyResultToHost(array, stream);
  restored = RestoreArray(array);
  return ierr != PETSC_SUCCESS ? ierr : restored;
}

/* Makes the explicit transpose and its plan. */
static PetscErrorCode BuildExplicitTranspose(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d           = MatSeqAIJCUDAGet(A);
  void           *permutation = NULL;
  DCSRView        transpose;
  DCSRSpMVPlan    plan = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(DCSRViewAllocateCompact(d->view.num_columns, d->view.num_rows, d->view.num_nonzeros, d->view.wide, stream, &transpose));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)d->view.num_nonzeros * (d->view.wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of an explicit transpose", stream, &permutation));
  PetscCallGoto(ierr, failed, DCSRTranspose(d->view, PETSC_FALSE, transpose, permutation, stream));
  PetscCallGoto(ierr, failed, DCSRSpMVPlanCreate(transpose, d->spmv_kind, stream, &plan));
  d->transpose      = transpose;
  d->permutation    = permutation;
  d->spmv_transpose = plan;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&transpose, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode RefreshExplicitTranspose(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->spmv_transpose == NULL) PetscCall(BuildExplicitTranspose(A, stream));
  else PetscCall(DCSRTransposeNumeric(d->view, d->permutation, PETSC_FALSE, d->transpose.values, stream));
  PetscCall(PetscObjectStateGet((PetscObject)A, &d->transpose_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  PRODUCT_FORWARD,
  PRODUCT_TRANSPOSE,
  PRODUCT_HERMITIAN
} ProductKind;

/* Whether a product uses the stored transpose: MAT_FORM_EXPLICIT_TRANSPOSE, or bitwise reproducible products. */
static PetscBool UsesExplicitTranspose(Mat A, ProductKind kind)
{
  return (PetscBool)(kind == PRODUCT_TRANSPOSE && (A->form_explicit_transpose || MatSeqAIJCUDAGet(A)->deterministic));
}

/*
  Products with fragmented storage after which it is made compact: by then they have lost as much time as that takes, so that whatever comes, no more than twice
  the time of the better choice is spent.
*/
#define PRODUCTS_BEFORE_DEFRAGMENT 8 // measured on an H200: 4 to 5 for stencils, 8 to 13 for R-MAT (spmv-inserted-* of benchmarks/insert)

static PetscErrorCode DefragmentWhenItPays(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->view.row_offsets != NULL || d->view.segments == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->fragmented_products++ >= PRODUCTS_BEFORE_DEFRAGMENT && d->defragment == DCSR_DEFRAGMENT_AUTO) PetscCall(MatSeqAIJCUDACompact(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes all that a product needs beside its vectors, at the first product after a change; does nothing else. */
static PetscErrorCode PrepareProduct(Mat A, ProductKind kind, cudaStream_t stream)
{
  Mat_SeqAIJCUDA  *d = MatSeqAIJCUDAGet(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(DefragmentWhenItPays(A));
  if (kind == PRODUCT_FORWARD) {
    if (d->spmv == NULL) PetscCallLogged(PETSCSPARSECUDA_SpMVAnalysis, A, DCSRSpMVPlanCreate(d->view, d->view.row_offsets != NULL ? d->spmv_kind : DCSR_SPMV_FRAGMENTED, stream, &d->spmv));
  } else if (UsesExplicitTranspose(A, kind)) {
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (d->spmv_transpose == NULL || d->transpose_state != state) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, A, RefreshExplicitTranspose(A, stream));
  } else {
    if (d->spmvt == NULL) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, A, DCSRSpMVTransposePlanCreate(d->view, d->spmvt_kind, stream, &d->spmvt));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAPrepareProduct - Copies and allocates what the next product with A needs, so that it cannot fail for want of device memory.

  Not Collective

  Input Parameters:
+ A         - the matrix, one of ours
- transpose - whether the product is one with its transpose
*/
PetscErrorCode MatSeqAIJCUDAPrepareProduct(Mat A, PetscBool transpose)
{
  PetscBool    device;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareProduct(A, transpose ? PRODUCT_TRANSPOSE : PRODUCT_FORWARD, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queues y = op(A) x + z; z may be NULL. */
static PetscErrorCode LaunchProduct(Mat A, ProductKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (kind == PRODUCT_FORWARD) PetscCall(DCSRSpMVApply(d->spmv, d->view, x, z, y, stream));
  else if (UsesExplicitTranspose(A, kind)) PetscCall(DCSRSpMVApply(d->spmv_transpose, d->transpose, x, z, y, stream));
  else PetscCall(DCSRSpMVTransposeApply(d->spmvt, d->view, (PetscBool)(kind == PRODUCT_HERMITIAN), x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z on the device, with vectors of any memory type; z == NULL and z == y are allowed. */
static PetscErrorCode Product(Mat A, ProductKind kind, Vec x, Vec z, Vec y)
{
  Mat_SeqAIJCUDA *d          = MatSeqAIJCUDAGet(A);
  const PetscBool accumulate = (PetscBool)(z == y);
  const PetscInt  nx = kind == PRODUCT_FORWARD ? A->cmap->n : A->rmap->n, ny = kind == PRODUCT_FORWARD ? A->rmap->n : A->cmap->n;
  DeviceArray     xa = no_array, ya = no_array, za = no_array;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareProduct(A, kind, stream));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, x, nx, ARRAY_READ, &d->x, stream, &xa));
  if (z != NULL && !accumulate) PetscCallGoto(ierr, restore, GetDeviceArray(A, z, ny, ARRAY_READ, &d->z, stream, &za));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, y, ny, accumulate ? ARRAY_READ_WRITE : ARRAY_WRITE, &d->y, stream, &ya));
  PetscCallGoto(ierr, restore, PetscLogGpuTimeBegin());
  ierr = LaunchProduct(A, kind, xa.device, accumulate ? ya.device : za.device, ya.device, stream);
  ierr = EndGpuTime(ierr);
restore:
  ierr = RestoreDeviceArray(&xa, stream, ierr);
  ierr = RestoreDeviceArray(&za, stream, ierr);
  ierr = RestoreDeviceArray(&ya, stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)d->view.num_nonzeros - (z == NULL ? (PetscLogDouble)ny : 0.0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Product(A, PRODUCT_FORWARD, x, NULL, y));
  else PetscCall(MatHost_SeqAIJCUDA_mult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Product(A, PRODUCT_FORWARD, x, z, y));
  else PetscCall(MatHost_SeqAIJCUDA_multadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Product(A, PRODUCT_TRANSPOSE, x, NULL, y));
  else PetscCall(MatHost_SeqAIJCUDA_multtranspose(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Product(A, PRODUCT_TRANSPOSE, x, z, y));
  else PetscCall(MatHost_SeqAIJCUDA_multtransposeadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Off the device: y = conj(A^T conj(x)) + z, with the parent's transpose product. */
static PetscErrorCode HermitianProductOnHost(Mat A, Vec x, Vec z, Vec y)
{
  Vec            w = NULL, t = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, VecDuplicate(x, &w));
  PetscCallGoto(ierr, done, VecDuplicate(y, &t));
  PetscCallGoto(ierr, done, VecCopy(x, w));
  PetscCallGoto(ierr, done, VecConjugate(w));
  PetscCallGoto(ierr, done, MatHost_SeqAIJCUDA_multtranspose(A, w, t));
  PetscCallGoto(ierr, done, VecConjugate(t));
  if (z == NULL) PetscCallGoto(ierr, done, VecCopy(t, y));
  else if (z == y) PetscCallGoto(ierr, done, VecAXPY(y, 1.0, t));
  else PetscCallGoto(ierr, done, VecWAXPY(y, 1.0, t, z));
done:
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&t));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTransposeAdd_SeqAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscCall(HermitianProductOnHost(A, x, z, y));
  else PetscCall(Product(A, PetscDefined(USE_COMPLEX) ? PRODUCT_HERMITIAN : PRODUCT_TRANSPOSE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTranspose_SeqAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultHermitianTransposeAdd_SeqAIJCUDA(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal(Mat A, DeviceArray *a, cudaStream_t stream)
{
  const PetscInt missing = a->n - A->cmap->n; // rows below the diagonal have none

  PetscFunctionBegin;
  if (missing > 0) PetscCallCUDA(cudaMemsetAsync(a->device + A->cmap->n, 0, (size_t)missing * sizeof(PetscScalar), stream));
  PetscCall(DCSRGetDiagonal(MatSeqAIJCUDAGet(A)->view, a->device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_SeqAIJCUDA(Mat A, Vec diagonal)
{
  DeviceArray    a = no_array;
  cudaStream_t   stream;
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_getdiagonal(A, diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, diagonal, A->rmap->n, ARRAY_WRITE, &MatSeqAIJCUDAGet(A)->y, stream, &a));
  PetscCallGoto(ierr, restore, PetscLogGpuTimeBegin());
  ierr = GetDiagonal(A, &a, stream);
  ierr = EndGpuTime(ierr);
restore:
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry-wise operation on the device copy: f(view, stream). */
#define DEFINE_ENTRYWISE(operation, Name, parameters, arguments, call, flops_per_nonzero) \
  static PetscErrorCode Mat##Name##_SeqAIJCUDA parameters \
  { \
    Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A); \
    cudaStream_t    stream; \
    PetscBool       device; \
    PetscErrorCode  ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDAUseDevice(A, &device)); \
    if (device) { \
      PetscCall(MatSeqAIJCUDACopyToDevice(A)); \
      PetscCall(PetscSparseCUDAGetStream(&stream)); \
      PetscCall(PetscLogGpuTimeBegin()); \
      ierr = call; \
      PetscCall(EndGpuTime(ierr)); \
      PetscCall(PetscLogGpuFlops(flops_per_nonzero *(PetscLogDouble)d->view.num_nonzeros)); \
      PetscCall(MatSeqAIJCUDADeviceChanged(A)); \
    } else PetscCall(MatHost_SeqAIJCUDA_##operation arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_ENTRYWISE(scale, Scale, (Mat A, PetscScalar s), (A, s), DCSRScale(d->view, s, stream), 1.0)
DEFINE_ENTRYWISE(conjugate, Conjugate, (Mat A), (A), DCSRConjugate(d->view, stream), 0.0)
DEFINE_ENTRYWISE(realpart, RealPart, (Mat A), (A), DCSRRealPart(d->view, stream), 0.0)
DEFINE_ENTRYWISE(imaginarypart, ImaginaryPart, (Mat A), (A), DCSRImaginaryPart(d->view, stream), 0.0)

/* Zero on both sides where both exist: the next MatSetValues() then needs no copy from the device. */
static PetscErrorCode MatZeroEntries_SeqAIJCUDA(Mat A)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || !d->device_structure || d->device_nonzerostate != A->nonzerostate) {
    PetscCall(MatHost_SeqAIJCUDA_zeroentries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRZero(d->view, stream));
  d->device_values = PETSC_TRUE;
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  if (d->host_structure) {
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
    PetscCall(PetscArrayzero(a->a, d->view.num_nonzeros));
    A->offloadmask = PETSC_OFFLOAD_BOTH;
    PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqAIJCUDA(Mat A, Vec left, Vec right)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     l = no_array, r = no_array;
  cudaStream_t    stream;
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_diagonalscale(A, left, right));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (left != NULL) PetscCallGoto(ierr, restore, GetDeviceArray(A, left, A->rmap->n, ARRAY_READ, &d->y, stream, &l));
  if (right != NULL) PetscCallGoto(ierr, restore, GetDeviceArray(A, right, A->cmap->n, ARRAY_READ, &d->x, stream, &r));
  PetscCallGoto(ierr, restore, PetscLogGpuTimeBegin());
  ierr = DCSRDiagonalScale(d->view, l.device, r.device, stream);
  ierr = EndGpuTime(ierr);
restore:
  ierr = RestoreDeviceArray(&l, stream, ierr);
  ierr = RestoreDeviceArray(&r, stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(((left != NULL) + (right != NULL)) * (PetscLogDouble)d->view.num_nonzeros));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Readies the device copy for a change of the diagonal: entries that are missing are made, zero. *device: PETSC_FALSE when that is left to the host, which knows what
  options say about new entries and about rows without a diagonal; *grown when there were some. Synchronizes.
*/
static PetscErrorCode PrepareDiagonal(Mat A, PetscBool obey, PetscBool *device, PetscBool *grown)
{
  PetscCount   missing;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRCountMissingDiagonal(MatSeqAIJCUDAGet(A)->view, PetscMin(A->rmap->n, A->cmap->n), stream, &missing));
  *grown = (PetscBool)(missing > 0);
  if (*grown && (MatSeqAIJCUDAGet(A)->host_active > 0 || (obey && (A->rmap->n > A->cmap->n || ((Mat_SeqAIJ *)A->data)->nonew != 0)))) *device = PETSC_FALSE;
  if (*grown && *device) PetscCall(MatSeqAIJCUDACompleteDiagonal(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a change of the diagonal: with new entries it was an assembly, unless A is a block, whose matrix is assembled then. */
static PetscErrorCode FinishDiagonal(Mat A, PetscBool grown)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  if (!grown || MatSeqAIJCUDAGet(A)->is_block) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_SeqAIJCUDA(Mat A, PetscScalar s)
{
  cudaStream_t stream;
  PetscBool    device, grown;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(PrepareDiagonal(A, PETSC_FALSE, &device, &grown));
  if (device) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(DCSRDiagonalAdd(MatSeqAIJCUDAGet(A)->view, NULL, s, PETSC_FALSE, stream));
    PetscCall(PetscLogGpuFlops(A->rmap->n));
    PetscCall(FinishDiagonal(A, grown));
  } else PetscCall(MatHost_SeqAIJCUDA_shift(A, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalSet_SeqAIJCUDA(Mat A, Vec diagonal, InsertMode mode)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     a = no_array;
  cudaStream_t    stream;
  PetscBool       device, grown = PETSC_FALSE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || (mode != INSERT_VALUES && mode != ADD_VALUES)) {
    PetscCall(MatHost_SeqAIJCUDA_diagonalset(A, diagonal, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = GetDeviceArray(A, diagonal, A->rmap->n, ARRAY_READ, &d->y, stream, &a); // before anything changes
  if (ierr == PETSC_SUCCESS) ierr = PrepareDiagonal(A, PETSC_TRUE, &device, &grown);
  if (ierr == PETSC_SUCCESS && device) ierr = DCSRDiagonalAdd(d->view, a.device, 0.0, (PetscBool)(mode != ADD_VALUES), stream);
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  if (device) PetscCall(FinishDiagonal(A, grown));
  else PetscCall(MatHost_SeqAIJCUDA_diagonalset(A, diagonal, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Norm(DCSRView view, NormType type, cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_FROBENIUS) {
    PetscCall(DCSRNormFrobeniusSquared(view, stream, norm));
    *norm = PetscSqrtReal(*norm);
  } else if (type == NORM_1) PetscCall(DCSRNormOne(view, stream, norm));
  else PetscCall(DCSRNormInfinity(view, stream, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_SeqAIJCUDA(Mat A, NormType type, PetscReal *norm)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || (type != NORM_FROBENIUS && type != NORM_1 && type != NORM_INFINITY)) {
    PetscCall(MatHost_SeqAIJCUDA_norm(A, type, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  ierr = Norm(d->view, type, stream, norm);
  PetscCall(EndGpuTime(ierr));
  PetscCall(PetscLogGpuFlops((type == NORM_FROBENIUS ? 2.0 : 1.0) * (PetscLogDouble)d->view.num_nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* largest [num_rows] device, idx [num_rows] host or NULL */
static PetscErrorCode RowMaxAbs(DCSRView view, PetscScalar largest[], PetscInt idx[], cudaStream_t stream)
{
  PetscInt      *device_idx = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (idx != NULL) PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(view.num_rows, "column indices of row maxima", stream, &device_idx));
  PetscCallGoto(ierr, done, DCSRRowMaxAbs(view, largest, device_idx, stream));
  if (device_idx != NULL) PetscCallGoto(ierr, done, PetscSparseCUDACopyToHost(idx, device_idx, (size_t)view.num_rows * sizeof(PetscInt), stream));
done:
  PetscCall(PetscSparseCUDAFree(&device_idx, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowMaxAbs_SeqAIJCUDA(Mat A, Vec v, PetscInt idx[])
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     a = no_array;
  cudaStream_t    stream;
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_getrowmaxabs(A, v, idx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A)); // the first of several largest entries is the one with the smallest column
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = GetDeviceArray(A, v, A->rmap->n, ARRAY_WRITE, &d->y, stream, &a);
  if (ierr == PETSC_SUCCESS) ierr = RowMaxAbs(d->view, a.device, idx, stream);
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAShowRowSums - Makes the host copy of a vector current, for PETSc 3.26's PCJACOBI of type rowl1: it changes some entries under VecGetArrayWrite() and expects the others to be there.
*/
PetscErrorCode MatAIJCUDAShowRowSums(Vec v)
{
  const PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(v, &array));
  PetscCall(VecRestoreArrayRead(v, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowSumAbs_SeqAIJCUDA(Mat A, Vec v)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     a = no_array;
  cudaStream_t    stream;
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_getrowsumabs(A, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = GetDeviceArray(A, v, A->rmap->n, ARRAY_WRITE, &d->y, stream, &a);
  if (ierr == PETSC_SUCCESS) ierr = DCSRRowSumAbs(d->view, a.device, stream);
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  PetscCall(MatAIJCUDAShowRowSums(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatColumnSumsAbs_SeqAIJCUDA - Sums of absolute values of the columns, for the one-norm of parallel matrices; real scalars only.

  Not Collective

  Input Parameters:
+ A - a sequential matrix of ours that uses the device
- v - a vector of as many local entries as A has columns
*/
PetscErrorCode MatColumnSumsAbs_SeqAIJCUDA(Mat A, Vec v)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     a = no_array;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_COMPLEX), PETSC_COMM_SELF, PETSC_ERR_SUP, "Not for complex scalars");
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = GetDeviceArray(A, v, A->cmap->n, ARRAY_WRITE, &d->x, stream, &a);
  if (ierr == PETSC_SUCCESS) ierr = DCSRColumnSumsAbs(d->view, (PetscReal *)a.device, stream);
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Same pattern: one copy of the values on the device. */
static PetscErrorCode MatCopy_SeqAIJCUDA(Mat A, Mat B, MatStructure str)
{
  PetscBool    ours, device_a, device_b;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(B, &ours));
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device_a));
  if (ours) PetscCall(MatSeqAIJCUDAUseDevice(B, &device_b));
  if (str == SAME_NONZERO_PATTERN && ours && device_a && device_b && A->offloadmask != PETSC_OFFLOAD_CPU && A->offloadmask != PETSC_OFFLOAD_UNALLOCATED) {
    const DCSRView *a = &MatSeqAIJCUDAGet(A)->view, *b = &MatSeqAIJCUDAGet(B)->view;

    PetscCall(MatSeqAIJCUDACopyToDevice(A));
    PetscCall(MatSeqAIJCUDACopyToDevice(B));
    PetscCall(MatSeqAIJCUDACompact(A));
    PetscCall(MatSeqAIJCUDACompact(B));
    PetscCheck(a->num_nonzeros == b->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Number of nonzeros in two matrices are different %" PetscCount_FMT " != %" PetscCount_FMT, a->num_nonzeros, b->num_nonzeros);
    PetscCall(PetscSparseCUDAGetStream(&stream));
    if (a->num_nonzeros > 0) PetscCallCUDA(cudaMemcpyAsync(b->values, a->values, (size_t)a->num_nonzeros * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(B));
  } else PetscCall(MatHost_SeqAIJCUDA_copy(A, B, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MATSEQAIJ keeps beside the arrays, copied to a matrix of the same structure. */
static PetscErrorCode CopySettings(Mat A, Mat B)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data, *b = (Mat_SeqAIJ *)B->data;

  PetscFunctionBegin;
  b->ignorezeroentries  = a->ignorezeroentries;
  b->roworiented        = a->roworiented;
  b->nonew              = a->nonew;
  b->keepnonzeropattern = a->keepnonzeropattern;
  b->rmax               = a->rmax;
  b->nz                 = a->nz;
  b->maxnz              = a->nz;
  b->nonzerorowcnt      = a->nonzerorowcnt;
  B->assembled          = PETSC_TRUE;
  B->preallocated       = PETSC_TRUE;
  B->nonzerostate       = A->nonzerostate;

  MatSeqAIJCUDAGet(B)->keeps_structure = MatSeqAIJCUDAGet(A)->keeps_structure;
  PetscCall(PetscFunctionListDuplicate(((PetscObject)A)->qlist, &((PetscObject)B)->qlist));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device copy of A as the device copy of B, whose mirror stays absent until somebody asks. */
static PetscErrorCode DuplicateDevice(Mat A, MatDuplicateOption option, Mat B)
{
  Mat_SeqAIJCUDA *a = MatSeqAIJCUDAGet(A), *b = MatSeqAIJCUDAGet(B);
  const size_t    offset_size = a->view.wide ? sizeof(int64_t) : sizeof(int32_t), nnz = (size_t)a->view.num_nonzeros;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRViewAllocateCompact(a->view.num_rows, a->view.num_columns, a->view.num_nonzeros, a->view.wide, stream, &b->view));
  b->device_structure    = PETSC_TRUE;
  b->device_values       = PETSC_TRUE;
  b->device_nonzerostate = B->nonzerostate;
  b->host_structure      = PETSC_FALSE;
  B->offloadmask         = PETSC_OFFLOAD_GPU;
  PetscCallCUDA(cudaMemcpyAsync(b->view.row_offsets, a->view.row_offsets, (size_t)(a->view.num_rows + 1) * offset_size, cudaMemcpyDeviceToDevice, stream));
  if (nnz > 0) {
    PetscCallCUDA(cudaMemcpyAsync(b->view.columns, a->view.columns, nnz * sizeof(int32_t), cudaMemcpyDeviceToDevice, stream));
    if (option == MAT_COPY_VALUES) PetscCallCUDA(cudaMemcpyAsync(b->view.values, a->view.values, nnz * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
    else PetscCallCUDA(cudaMemsetAsync(b->view.values, 0, nnz * sizeof(PetscScalar), stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_SeqAIJCUDA(Mat A, MatDuplicateOption option, Mat *B)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || !d->device_structure || d->device_nonzerostate != A->nonzerostate) { // the mirror is the matrix: duplicate that
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
    ierr = (*d->parent.duplicate)(A, option, B);
    PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
    MatSeqAIJCUDAGet(*B)->keeps_structure = d->keeps_structure;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCallGoto(ierr, failed, MatSetLayouts(*B, A->rmap, A->cmap));
  PetscCallGoto(ierr, failed, MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, CopySettings(A, *B));
  PetscCallGoto(ierr, failed, DuplicateDevice(A, option, *B));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDAUpdateKept(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(B);
  PetscFunctionReturn(ierr);
}

/*
  MatSeqAIJCUDASetDeviceOps - Puts our device operations into a table that has the thunks already.

  Not Collective

  Input Parameter:
. ops - the table of a sequential matrix
*/
PetscErrorCode MatSeqAIJCUDASetDeviceOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->mult                      = MatMult_SeqAIJCUDA;
  ops->multadd                   = MatMultAdd_SeqAIJCUDA;
  ops->multtranspose             = MatMultTranspose_SeqAIJCUDA;
  ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJCUDA;
  ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJCUDA;
  ops->getdiagonal               = MatGetDiagonal_SeqAIJCUDA;
  ops->scale                     = MatScale_SeqAIJCUDA;
  ops->shift                     = MatShift_SeqAIJCUDA;
  ops->diagonalset               = MatDiagonalSet_SeqAIJCUDA;
  ops->diagonalscale             = MatDiagonalScale_SeqAIJCUDA;
  ops->zeroentries               = MatZeroEntries_SeqAIJCUDA;
  ops->norm                      = MatNorm_SeqAIJCUDA;
  ops->getrowmaxabs              = MatGetRowMaxAbs_SeqAIJCUDA;
  ops->getrowsumabs              = MatGetRowSumAbs_SeqAIJCUDA;
  ops->conjugate                 = MatConjugate_SeqAIJCUDA;
  ops->realpart                  = MatRealPart_SeqAIJCUDA;
  ops->imaginarypart             = MatImaginaryPart_SeqAIJCUDA;
  ops->copy                      = MatCopy_SeqAIJCUDA;
  ops->axpy                      = MatAXPY_SeqAIJCUDA;
  ops->duplicate                 = MatDuplicate_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
