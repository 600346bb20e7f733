/*
  Operations of sequential matrices that go entry by entry, with diagonals, norms and copies: on the device, without a host copy of the matrix. Off the device they fall back to the wrapper
  of the same name.
*/
#include "entries.h"
#include "../core/core.h"
#include "../host/host.h"
#include "../host/wrappers.h"
#include "../insert/insert.h"
#include "../sum/sum.h"

static const DeviceArray no_array = {NULL, ARRAY_READ, NULL, NULL, 0};

/* The device copy as CSR, current. */
static PetscErrorCode GetView(Mat A, DCSRView *view, cudaStream_t *stream)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(PetscSparseCUDAGetStream(stream));
  *view = MatSeqAIJCUDAGet(A)->device.view;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation that changes all values. */
#define DEFINE_ENTRYWISE(operation, Name) \
  static PetscErrorCode Mat##Name##_SeqAIJCUDA(Mat A) \
  { \
    DCSRView     view; \
    cudaStream_t stream; \
    PetscBool    device; \
\
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDAUseDevice(A, &device)); \
    if (device) { \
      PetscCall(GetView(A, &view, &stream)); \
      PetscCallGpuTime(DCSR##Name(view, stream)); \
      PetscCall(MatSeqAIJCUDADeviceChanged(A)); \
    } else PetscCall(MatHost_SeqAIJCUDA_##operation(A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_ENTRYWISE(conjugate, Conjugate)
DEFINE_ENTRYWISE(realpart, RealPart)
DEFINE_ENTRYWISE(imaginarypart, ImaginaryPart)

/* Zero on both sides where both exist: the next MatSetValues() then needs no copy from the device. */
static PetscErrorCode MatZeroEntries_SeqAIJCUDA(Mat A)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || !MatSeqAIJCUDADeviceHasStructure(A)) {
    PetscCall(MatHost_SeqAIJCUDA_zeroentries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAGetCSR(A));
  PetscCall(DCSRZero(d->device.view, stream));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  if (MatSeqAIJCUDAHasHostArrays(A)) {
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
    PetscCall(PetscArrayzero(a->a, d->device.view.num_nonzeros));
    MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_HOST);
    PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By zero, all entries become zeros, also those that are not finite, as the BLAS of MATSEQAIJ makes them. */
static PetscErrorCode MatScale_SeqAIJCUDA(Mat A, PetscScalar s)
{
  const MatDeviceStorageOps *table;
  cudaStream_t               stream;
  PetscBool                  device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device && s == (PetscScalar)0.0) PetscCall(MatZeroEntries_SeqAIJCUDA(A));
  else if (device) {
    PetscCall(MatSeqAIJCUDAUseCurrent(A, &table));
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCallGpuTime((*table->scale)(A, s, stream));
    PetscCall(PetscLogGpuFlops((PetscLogDouble)MatSeqAIJCUDAGet(A)->device.view.num_nonzeros));
    PetscCall(MatSeqAIJCUDAStorageChanged(A, table));
  } else PetscCall(MatHost_SeqAIJCUDA_scale(A, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqAIJCUDA(Mat A, Vec left, Vec right)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     l = no_array, r = no_array;
  DCSRView        view;
  cudaStream_t    stream;
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_diagonalscale(A, left, right));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetView(A, &view, &stream));
  if (left != NULL) PetscCallGoto(ierr, restore, GetDeviceArray(A, left, A->rmap->n, ARRAY_READ, &d->y, stream, &l));
  if (right != NULL) PetscCallGoto(ierr, restore, GetDeviceArray(A, right, A->cmap->n, ARRAY_READ, &d->x, stream, &r));
  PetscCallGpuTimeGoto(ierr, restore, DCSRDiagonalScale(view, l.device, r.device, stream));
restore:
  ierr = RestoreDeviceArray(&l, stream, ierr);
  ierr = RestoreDeviceArray(&r, stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(((left != NULL) + (right != NULL)) * (PetscLogDouble)view.num_nonzeros));
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACountMissingDiagonal - How many rows of A, which uses the device, with a position on the diagonal have no entry there. Synchronizes. */
PetscErrorCode MatSeqAIJCUDACountMissingDiagonal(Mat A, PetscCount *missing)
{
  DCSRView     view;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(GetView(A, &view, &stream));
  PetscCall(DCSRCountMissingDiagonal(view, PetscMin(A->rmap->n, A->cmap->n), stream, missing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Readies the device copy for a change of the diagonal: entries that are missing are made, zero. *device: PETSC_FALSE when that is left to the host, which knows what
  options say about new entries and about rows without a diagonal; *grown when there were some. Synchronizes.
*/
static PetscErrorCode PrepareDiagonal(Mat A, PetscBool obey, PetscBool *device, PetscBool *grown)
{
  PetscCount missing;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACountMissingDiagonal(A, &missing));
  *grown = (PetscBool)(missing > 0);
  if (*grown && (MatSeqAIJCUDAGet(A)->host.active > 0 || (obey && (A->rmap->n > A->cmap->n || ((Mat_SeqAIJ *)A->data)->nonew != 0)))) *device = PETSC_FALSE;
  if (*grown && *device) {
    PetscCall(MatSeqAIJCUDACompleteDiagonal(A));
    PetscCall(MatSeqAIJCUDACopyToDevice(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a change of the diagonal: with new entries it was an assembly, unless A is a block, whose matrix is assembled then. */
static PetscErrorCode FinishDiagonal(Mat A, PetscBool grown)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADeviceChanged(A));
  if (!grown || MatSeqAIJCUDAGet(A)->host.role == ROLE_BLOCK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_SeqAIJCUDA(Mat A, PetscScalar s)
{
  DCSRView     view;
  cudaStream_t stream;
  PetscBool    device, grown;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(PrepareDiagonal(A, PETSC_FALSE, &device, &grown));
  if (device) {
    PetscCall(GetView(A, &view, &stream));
    PetscCall(DCSRDiagonalAdd(view, NULL, s, PETSC_FALSE, stream));
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
  if (!A->assembled) { // the parent sets values, and touches no array
    PetscCall((*d->parent.diagonalset)(A, diagonal, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || (mode != INSERT_VALUES && mode != ADD_VALUES)) {
    PetscCall(MatHost_SeqAIJCUDA_diagonalset(A, diagonal, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = GetDeviceArray(A, diagonal, A->rmap->n, ARRAY_READ, &d->y, stream, &a); // before anything changes
  if (ierr == PETSC_SUCCESS) ierr = PrepareDiagonal(A, PETSC_TRUE, &device, &grown);
  if (ierr == PETSC_SUCCESS && device) ierr = DCSRDiagonalAdd(d->device.view, a.device, 0.0, (PetscBool)(mode != ADD_VALUES), stream);
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
  DCSRView     view;
  cudaStream_t stream;
  PetscBool    device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device || (type != NORM_FROBENIUS && type != NORM_1 && type != NORM_INFINITY)) {
    PetscCall(MatHost_SeqAIJCUDA_norm(A, type, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetView(A, &view, &stream));
  PetscCallGpuTime(Norm(view, type, stream, norm));
  PetscCall(PetscLogGpuFlops((type == NORM_FROBENIUS ? 2.0 : 1.0) * (PetscLogDouble)view.num_nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAShowRowSums - Makes the host copy of a vector current, for PETSc 3.26's PCJACOBI of type rowl1: it changes some entries under VecGetArrayWrite() and expects the others to be there. */
PetscErrorCode MatAIJCUDAShowRowSums(Vec v)
{
  const PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(v, &array));
  PetscCall(VecRestoreArrayRead(v, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal; rows below it have none. */
static PetscErrorCode GetDiagonal(Mat A, const MatDeviceStorageOps *table, PetscScalar diagonal[], cudaStream_t stream)
{
  const PetscInt missing = A->rmap->n - A->cmap->n;

  PetscFunctionBegin;
  if (missing > 0) PetscCallCUDA(cudaMemsetAsync(diagonal + A->cmap->n, 0, (size_t)missing * sizeof(PetscScalar), stream));
  PetscCall((*table->getdiagonal)(A, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entries of the rows, and, unless idx is NULL, the first columns where they are. */
static PetscErrorCode GetRowMaxAbs(Mat A, DCSRView view, PetscScalar largest[], PetscInt idx[], cudaStream_t stream)
{
  PetscInt      *device_idx = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (idx != NULL) PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(A->rmap->n, "column indices of row maxima", stream, &device_idx));
  PetscCallGoto(ierr, done, DCSRRowMaxAbs(view, largest, device_idx, stream));
  if (device_idx != NULL) PetscCallGoto(ierr, done, PetscSparseCUDACopyToHost(idx, device_idx, (size_t)A->rmap->n * sizeof(PetscInt), stream));
done:
  PetscCall(PetscSparseCUDAFree(&device_idx, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation with a result for each row in the vector v; prepare is what comes before it, done what comes after. */
#define DEFINE_ROWWISE(host, Name, parameters, arguments, type, prepare, call, done) \
  static PetscErrorCode Mat##Name##_SeqAIJCUDA parameters \
  { \
    DeviceArray    a = no_array; \
    type           from; \
    cudaStream_t   stream; \
    PetscBool      device; \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDAUseDevice(A, &device)); \
    if (device) { \
      PetscCall(prepare); \
      PetscCall(PetscSparseCUDAGetStream(&stream)); \
      PetscCallGoto(ierr, restore, GetDeviceArray(A, v, A->rmap->n, ARRAY_WRITE, &MatSeqAIJCUDAGet(A)->y, stream, &a)); \
      PetscCallGpuTimeGoto(ierr, restore, call); \
    restore: \
      PetscCall(RestoreDeviceArray(&a, stream, ierr)); \
      PetscCall(done); \
    } else PetscCall(MatHost_SeqAIJCUDA_##host arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_ROWWISE(getdiagonal, GetDiagonal, (Mat A, Vec v), (A, v), const MatDeviceStorageOps *, MatSeqAIJCUDAUseCurrent(A, &from), GetDiagonal(A, from, a.device, stream), PETSC_SUCCESS)
// the first of several largest entries is the one with the smallest column, which compact CSR says
DEFINE_ROWWISE(getrowmaxabs, GetRowMaxAbs, (Mat A, Vec v, PetscInt idx[]), (A, v, idx), DCSRView, MatSeqAIJCUDAGetCompact(A, &from), GetRowMaxAbs(A, from, a.device, idx, stream), PETSC_SUCCESS)
DEFINE_ROWWISE(getrowsumabs, GetRowSumAbs, (Mat A, Vec v), (A, v), DCSRView, GetView(A, &from, &stream), DCSRRowSumAbs(from, a.device, stream), MatAIJCUDAShowRowSums(v))

/*
  MatColumnSumsAbs_SeqAIJCUDA - Sums of absolute values of the columns, for the one-norm of parallel matrices; real scalars only.

  A uses the device. v has as many local entries as A has columns.
*/
PetscErrorCode MatColumnSumsAbs_SeqAIJCUDA(Mat A, Vec v)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DeviceArray     a = no_array;
  DCSRView        view;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_COMPLEX), PETSC_COMM_SELF, PETSC_ERR_SUP, "Not for complex scalars");
  PetscCall(GetView(A, &view, &stream));
  ierr = GetDeviceArray(A, v, A->cmap->n, ARRAY_WRITE, &d->x, stream, &a);
  if (ierr == PETSC_SUCCESS) ierr = DCSRColumnSumsAbs(view, (PetscReal *)a.device, stream);
  PetscCall(RestoreDeviceArray(&a, stream, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Same pattern: the values of the storage beside CSR, or one copy of the values in CSR. */
static PetscErrorCode MatCopy_SeqAIJCUDA(Mat A, Mat B, MatStructure str)
{
  PetscBool    ours, device_a, device_b, done;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(B, &ours));
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device_a));
  if (ours) PetscCall(MatSeqAIJCUDAUseDevice(B, &device_b));
  if (str == SAME_NONZERO_PATTERN && ours && device_a && device_b && A->offloadmask != PETSC_OFFLOAD_CPU && A->offloadmask != PETSC_OFFLOAD_UNALLOCATED) {
    const DCSRView *a = &MatSeqAIJCUDAGet(A)->device.view, *b = &MatSeqAIJCUDAGet(B)->device.view;

    PetscCall(MatSeqAIJCUDAShareStorageValues(A, B, PETSC_FALSE, &done));
    if (done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatSeqAIJCUDACopyToDevice(A));
    PetscCall(MatSeqAIJCUDACopyToDevice(B));
    PetscCall(MatSeqAIJCUDACompact(A));
    PetscCall(MatSeqAIJCUDACompact(B));
    PetscCheck(a->num_nonzeros == b->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Number of nonzeros in two matrices are different %" PetscCount_FMT " != %" PetscCount_FMT, a->num_nonzeros,
               b->num_nonzeros);
    PetscCall(PetscSparseCUDAGetStream(&stream));
    if (a->num_nonzeros > 0) PetscCallCUDA(cudaMemcpyAsync(b->values, a->values, (size_t)a->num_nonzeros * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(B));
  } else PetscCall(MatHost_SeqAIJCUDA_copy(A, B, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix whose first assembly is under way on the device can be assembled there, with the preallocation of that. */
static PetscErrorCode CopyPreallocation(Mat A, Mat B)
{
  const PetscInt *limits;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDABuildsOnDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  B->assembled                                 = PETSC_FALSE;
  MatSeqAIJCUDAGet(B)->staging.device_assembly = PETSC_TRUE;
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (limits != NULL) PetscCall(MatSeqAIJCUDASetRowLimits(B, 0, limits));
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
  MatAIJCUDASetNonzeroState(B, A->nonzerostate);

  MatSeqAIJCUDAInheritKept(A, B);
  MatSeqAIJCUDAGet(B)->staging.coo_list         = MatSeqAIJCUDAGet(A)->staging.coo_list; // the copy gets the list of coordinates, and has its pattern
  MatSeqAIJCUDAGet(B)->staging.coo_nonzerostate = MatSeqAIJCUDAGet(A)->staging.coo_nonzerostate;
  PetscCall(PetscFunctionListDuplicate(((PetscObject)A)->qlist, &((PetscObject)B)->qlist));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of B, whose structure is that of A. */
static PetscErrorCode DuplicateValues(Mat A, MatDuplicateOption option, Mat B, cudaStream_t stream)
{
  const DCSRView *a = &MatSeqAIJCUDAGet(A)->device.view, *b = &MatSeqAIJCUDAGet(B)->device.view;
  const size_t    bytes = (size_t)a->num_nonzeros * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (option == MAT_COPY_VALUES) PetscCallCUDA(cudaMemcpyAsync(b->values, a->values, bytes, cudaMemcpyDeviceToDevice, stream));
  else PetscCallCUDA(cudaMemsetAsync(b->values, 0, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without values storage that has replaced the CSR of A gives the structure, and the CSR of A stays released. */
static PetscErrorCode DuplicateCSR(Mat A, MatDuplicateOption option, Mat B)
{
  Mat_SeqAIJCUDA *b = MatSeqAIJCUDAGet(B);
  DCSRView        a;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (option == MAT_COPY_VALUES) PetscCall(MatSeqAIJCUDAGetCompact(A, &a));
  else PetscCall(MatSeqAIJCUDAGetStructure(A, &a));
  PetscCallGoto(ierr, restore, DCSRViewAllocateCompact(a.num_rows, a.num_columns, a.num_nonzeros, a.wide, stream, &b->device.view));
  PetscCallCUDAGoto(ierr, restore,
                    cudaMemcpyAsync(b->device.view.row_offsets, a.row_offsets, (size_t)(a.num_rows + 1) * (a.wide ? sizeof(int64_t) : sizeof(int32_t)), cudaMemcpyDeviceToDevice, stream));
  if (a.num_nonzeros > 0) PetscCallCUDAGoto(ierr, restore, cudaMemcpyAsync(b->device.view.columns, a.columns, (size_t)a.num_nonzeros * sizeof(int32_t), cudaMemcpyDeviceToDevice, stream));
  PetscCallGoto(ierr, restore, DuplicateValues(A, option, B, stream));
restore:
  if (option != MAT_COPY_VALUES) PetscCall(MatSeqAIJCUDARestoreStructure(A, &a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device copy of A as the device copy of B, whose host copy stays absent until somebody asks. */
static PetscErrorCode DuplicateDevice(Mat A, MatDuplicateOption option, Mat B)
{
  Mat_SeqAIJCUDA *b    = MatSeqAIJCUDAGet(B);
  PetscBool       done = PETSC_FALSE;

  PetscFunctionBegin;
  if (option == MAT_COPY_VALUES) PetscCall(MatSeqAIJCUDAShareStorage(A, B, &done));
  if (!done) {
    PetscCall(DuplicateCSR(A, option, B));
    MatSeqAIJCUDANoteValues(B, VALUES_WRITTEN_IN_CSR);
  }
  b->device.nonzerostate = B->nonzerostate;
  if (MatSeqAIJCUDABlockKeepsStructure(A) || MatSeqAIJCUDAKeepsStructure(A)) PetscCall(MatSeqAIJCUDADuplicateHostStructure(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy has no prefix, and keeps what the options of A say of the storage: that which it shares with A is made again as it was. */
static void CopyStorageOptions(Mat A, Mat B)
{
  const Mat_SeqAIJCUDA *a = MatSeqAIJCUDAGet(A);
  Mat_SeqAIJCUDA       *b = MatSeqAIJCUDAGet(B);

  if (a->device.storage != b->device.storage) return;
  b->options.storage_format   = a->options.storage_format;
  b->options.storage_products = a->options.storage_products;
}

static PetscErrorCode MatDuplicate_SeqAIJCUDA(Mat A, MatDuplicateOption option, Mat *B)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (MatSeqAIJCUDABuildsOnDevice(A)) device = PETSC_TRUE; // the host knows nothing of the preallocation
  if (!device || !MatSeqAIJCUDADeviceHasStructure(A)) {    // the host copy is the matrix: duplicate that
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
    ierr = (*d->parent.duplicate)(A, option, B);
    PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
    MatSeqAIJCUDAInheritKept(A, *B);
    CopyStorageOptions(A, *B);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCallGoto(ierr, failed, MatSetLayouts(*B, A->rmap, A->cmap));
  PetscCallGoto(ierr, failed, MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCallGoto(ierr, failed, CopySettings(A, *B));
  CopyStorageOptions(A, *B);
  PetscCallGoto(ierr, failed, DuplicateDevice(A, option, *B));
  PetscCallGoto(ierr, failed, CopyPreallocation(A, *B));
  PetscCallGoto(ierr, failed, MatSeqAIJCUDAUpdateKept(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(B);
  PetscFunctionReturn(ierr);
}

/* MatSeqAIJCUDASetEntriesOps - Puts our operations entry by entry into the table of a sequential matrix, which has the wrappers already. */
PetscErrorCode MatSeqAIJCUDASetEntriesOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->getdiagonal   = MatGetDiagonal_SeqAIJCUDA;
  ops->scale         = MatScale_SeqAIJCUDA;
  ops->shift         = MatShift_SeqAIJCUDA;
  ops->diagonalset   = MatDiagonalSet_SeqAIJCUDA;
  ops->diagonalscale = MatDiagonalScale_SeqAIJCUDA;
  ops->zeroentries   = MatZeroEntries_SeqAIJCUDA;
  ops->norm          = MatNorm_SeqAIJCUDA;
  ops->getrowmaxabs  = MatGetRowMaxAbs_SeqAIJCUDA;
  ops->getrowsumabs  = MatGetRowSumAbs_SeqAIJCUDA;
  ops->conjugate     = MatConjugate_SeqAIJCUDA;
  ops->realpart      = MatRealPart_SeqAIJCUDA;
  ops->imaginarypart = MatImaginaryPart_SeqAIJCUDA;
  ops->copy          = MatCopy_SeqAIJCUDA;
  ops->duplicate     = MatDuplicate_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
