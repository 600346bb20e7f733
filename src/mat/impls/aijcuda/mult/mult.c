/* Products of sequential matrices with vectors, on the device. Off the device they fall back to the thunk of the same name. */
#include <petscsparsecuda/thunks.h>

static const DeviceArray no_array = {NULL, ARRAY_READ, NULL, NULL, 0};

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
  MULT_FORWARD,
  MULT_TRANSPOSE,
  MULT_HERMITIAN
} MultKind;

/* Whether a product uses the stored transpose: MAT_FORM_EXPLICIT_TRANSPOSE, or bitwise reproducible products. */
static PetscBool UsesExplicitTranspose(Mat A, MultKind kind)
{
  return (PetscBool)(kind == MULT_TRANSPOSE && (A->form_explicit_transpose || MatSeqAIJCUDAGet(A)->deterministic));
}

/*
  Products with fragmented storage after which it is made compact: by then they have lost as much time as that takes, so that whatever comes, no more than twice
  the time of the better choice is spent.
*/
#define MULTS_BEFORE_DEFRAGMENT 8 // measured on an H200: 4 to 5 for stencils, 8 to 13 for R-MAT (spmv-inserted-* of benchmarks/insert)

static PetscErrorCode DefragmentWhenItPays(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->view.row_offsets != NULL || d->view.segments == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->fragmented_mults++ >= MULTS_BEFORE_DEFRAGMENT && d->defragment == DCSR_DEFRAGMENT_AUTO) PetscCall(MatSeqAIJCUDACompact(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes all that a product needs beside its vectors, at the first product after a change; does nothing else. */
static PetscErrorCode PrepareMult(Mat A, MultKind kind, cudaStream_t stream)
{
  Mat_SeqAIJCUDA  *d = MatSeqAIJCUDAGet(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(DefragmentWhenItPays(A));
  if (kind == MULT_FORWARD) {
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
  MatSeqAIJCUDAPrepareMult - Copies and allocates what the next product with A needs, so that it cannot fail for want of device memory.

  Not Collective

  Input Parameters:
+ A         - the matrix, one of ours
- transpose - whether the product is one with its transpose
*/
PetscErrorCode MatSeqAIJCUDAPrepareMult(Mat A, PetscBool transpose)
{
  PetscBool    device;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareMult(A, transpose ? MULT_TRANSPOSE : MULT_FORWARD, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queues y = op(A) x + z; z may be NULL. */
static PetscErrorCode LaunchMult(Mat A, MultKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (kind == MULT_FORWARD) PetscCall(DCSRSpMVApply(d->spmv, d->view, x, z, y, stream));
  else if (UsesExplicitTranspose(A, kind)) PetscCall(DCSRSpMVApply(d->spmv_transpose, d->transpose, x, z, y, stream));
  else PetscCall(DCSRSpMVTransposeApply(d->spmvt, d->view, (PetscBool)(kind == MULT_HERMITIAN), x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z on the device, with vectors of any memory type; z == NULL and z == y are allowed. */
static PetscErrorCode Mult(Mat A, MultKind kind, Vec x, Vec z, Vec y)
{
  Mat_SeqAIJCUDA *d          = MatSeqAIJCUDAGet(A);
  const PetscBool accumulate = (PetscBool)(z == y);
  const PetscInt  nx = kind == MULT_FORWARD ? A->cmap->n : A->rmap->n, ny = kind == MULT_FORWARD ? A->rmap->n : A->cmap->n;
  DeviceArray     xa = no_array, ya = no_array, za = no_array;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareMult(A, kind, stream));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, x, nx, ARRAY_READ, &d->x, stream, &xa));
  if (z != NULL && !accumulate) PetscCallGoto(ierr, restore, GetDeviceArray(A, z, ny, ARRAY_READ, &d->z, stream, &za));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, y, ny, accumulate ? ARRAY_READ_WRITE : ARRAY_WRITE, &d->y, stream, &ya));
  PetscCallGoto(ierr, restore, PetscLogGpuTimeBegin());
  ierr = LaunchMult(A, kind, xa.device, accumulate ? ya.device : za.device, ya.device, stream);
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
  if (device) PetscCall(Mult(A, MULT_FORWARD, x, NULL, y));
  else PetscCall(MatHost_SeqAIJCUDA_mult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Mult(A, MULT_FORWARD, x, z, y));
  else PetscCall(MatHost_SeqAIJCUDA_multadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Mult(A, MULT_TRANSPOSE, x, NULL, y));
  else PetscCall(MatHost_SeqAIJCUDA_multtranspose(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (device) PetscCall(Mult(A, MULT_TRANSPOSE, x, z, y));
  else PetscCall(MatHost_SeqAIJCUDA_multtransposeadd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Off the device: y = conj(A^T conj(x)) + z, with the parent's transpose product. */
static PetscErrorCode HermitianMultOnHost(Mat A, Vec x, Vec z, Vec y)
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
  if (!device) PetscCall(HermitianMultOnHost(A, x, z, y));
  else PetscCall(Mult(A, PetscDefined(USE_COMPLEX) ? MULT_HERMITIAN : MULT_TRANSPOSE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTranspose_SeqAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultHermitianTransposeAdd_SeqAIJCUDA(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDASetMultOps - Puts our products with vectors into a table that has the thunks already.

  Not Collective

  Input Parameter:
. ops - the table of a sequential matrix
*/
PetscErrorCode MatSeqAIJCUDASetMultOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->mult                      = MatMult_SeqAIJCUDA;
  ops->multadd                   = MatMultAdd_SeqAIJCUDA;
  ops->multtranspose             = MatMultTranspose_SeqAIJCUDA;
  ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJCUDA;
  ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
