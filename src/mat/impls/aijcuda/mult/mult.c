/* Products of sequential matrices with vectors, on the device. Off the device they fall back to the wrapper of the same name. */
#include "mult.h"
#include "../core/core.h"
#include "../host/wrappers.h"

static const DeviceArray no_array = {NULL, ARRAY_READ, NULL, NULL, 0};

/* Makes all that a product needs beside its vectors, at the first product after a change; does nothing else. *table has the functions of the product. */
static PetscErrorCode PrepareMult(Mat A, MultKind kind, cudaStream_t stream, const MatDeviceStorageOps **table)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseStorage(A, table));
  if ((*table)->prepare != NULL) PetscCall((*(*table)->prepare)(A, kind, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAPrepareMult - Copies and allocates what the next product with A, or its transpose, needs, so that it cannot fail for want of device memory. */
PetscErrorCode MatSeqAIJCUDAPrepareMult(Mat A, PetscBool transpose)
{
  const MatDeviceStorageOps *table;
  PetscBool                  device;
  cudaStream_t               stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareMult(A, transpose ? MULT_TRANSPOSE : MULT_FORWARD, stream, &table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAPrepareTable - As MatSeqAIJCUDAPrepareMult(), for the product with A, which uses the device, that comes next on the stream; *table has the functions of that product. */
PetscErrorCode MatSeqAIJCUDAPrepareTable(Mat A, cudaStream_t stream, const MatDeviceStorageOps **table)
{
  PetscFunctionBegin;
  PetscCall(PrepareMult(A, MULT_FORWARD, stream, table));
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

  const MatDeviceStorageOps *table;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PrepareMult(A, kind, stream, &table));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, x, nx, ARRAY_READ, &d->x, stream, &xa));
  if (z != NULL && !accumulate) PetscCallGoto(ierr, restore, GetDeviceArray(A, z, ny, ARRAY_READ, &d->z, stream, &za));
  PetscCallGoto(ierr, restore, GetDeviceArray(A, y, ny, accumulate ? ARRAY_READ_WRITE : ARRAY_WRITE, &d->y, stream, &ya));
  PetscCallGoto(ierr, restore, MatSeqAIJCUDACountMult(A, kind == MULT_FORWARD ? DEVICE_WORK_FORWARD : DEVICE_WORK_TRANSPOSE, stream));
  PetscCallGpuTimeGoto(ierr, restore, (*table->mult)(A, kind, xa.device, accumulate ? ya.device : za.device, ya.device, stream));
restore:
  ierr = RestoreDeviceArray(&xa, stream, ierr);
  ierr = RestoreDeviceArray(&za, stream, ierr);
  ierr = RestoreDeviceArray(&ya, stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)d->device.view.num_nonzeros - (z == NULL ? (PetscLogDouble)ny : 0.0)));
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

/* y = x + z, of the entries of this process; z may be NULL or y. */
static PetscErrorCode AddLocally(Vec x, Vec z, Vec y)
{
  const PetscScalar *from, *added = NULL;
  PetscScalar       *to;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(x, &from));
  if (z != NULL && z != y) PetscCall(VecGetArrayRead(z, &added));
  if (z == y) PetscCall(VecGetArray(y, &to));
  else PetscCall(VecGetArrayWrite(y, &to));
  for (PetscInt i = 0; i < n; i++) to[i] = from[i] + (z == y ? to[i] : added != NULL ? added[i] : (PetscScalar)0.0);
  if (z == y) PetscCall(VecRestoreArray(y, &to));
  else PetscCall(VecRestoreArrayWrite(y, &to));
  if (z != NULL && z != y) PetscCall(VecRestoreArrayRead(z, &added));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Off the device: y = conj(A^T conj(x)) + z, with the parent's transpose product
  The vectors of a block may be parallel, and other processes may have theirs on the device: nothing here is collective.
*/
static PetscErrorCode HermitianMultOnHost(Mat A, Vec x, Vec z, Vec y)
{
  Vec            w = NULL, t = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, VecCreateSeq(PETSC_COMM_SELF, A->rmap->n, &w));
  PetscCallGoto(ierr, done, VecCreateSeq(PETSC_COMM_SELF, A->cmap->n, &t));
  PetscCallGoto(ierr, done, AddLocally(x, NULL, w));
  PetscCallGoto(ierr, done, VecConjugate(w));
  PetscCallGoto(ierr, done, MatHost_SeqAIJCUDA_multtranspose(A, w, t));
  PetscCallGoto(ierr, done, VecConjugate(t));
  PetscCallGoto(ierr, done, AddLocally(t, z, y));
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

/* MatSeqAIJCUDASetMultOps - Puts our products with vectors into the table of a sequential matrix, which has the wrappers already. */
PetscErrorCode MatSeqAIJCUDASetMultOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->mult                      = MatMult_SeqAIJCUDA;
  ops->multadd                   = MatMultAdd_SeqAIJCUDA;
  ops->residual                  = MatResidual_AIJCUDA;
  ops->multtranspose             = MatMultTranspose_SeqAIJCUDA;
  ops->multtransposeadd          = MatMultTransposeAdd_SeqAIJCUDA;
  ops->multhermitiantranspose    = MatMultHermitianTranspose_SeqAIJCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(operation): products with vectors, which MATSEQAIJ and MATMPIAIJ never set anew in a table. */
#define PRODUCTS(X) X(mult) X(multadd) X(residual) X(multtranspose) X(multtransposeadd) X(multhermitiantranspose) X(multhermitiantransposeadd)

/*
  MatAIJCUDATakeProducts - Takes products with vectors that the program has set, as MatSetOperation() does it, out of a table that is filled anew; otherwise they would pass for the parent's, or be
  lost.

  installed: the table as it was filled the last time; empty: there are none of the program. ops has what was installed afterwards.
  program: the products of the program, for MatAIJCUDAPutProducts(); NULL where there is none.
*/
void MatAIJCUDATakeProducts(struct _MatOps *ops, const struct _MatOps *installed, struct _MatOps *program)
{
#define TAKE(operation) \
  program->operation = installed->operation != NULL && ops->operation != installed->operation ? ops->operation : NULL; \
  if (program->operation != NULL) ops->operation = installed->operation;
  PRODUCTS(TAKE)
#undef TAKE
}

/* MatAIJCUDAPutProducts - Puts the products back that MatAIJCUDATakeProducts() took. */
void MatAIJCUDAPutProducts(struct _MatOps *ops, const struct _MatOps *program)
{
#define PUT(operation) \
  if (program->operation != NULL) ops->operation = program->operation;
  PRODUCTS(PUT)
#undef PUT
}
