/*
  Products with vectors and what is done with the result, in one kernel: residuals and steps of smoothers. On several processes the diagonal block has the epilogue, while ghost values travel, and the
  off-diagonal block takes what it adds to the product from the result, in rows that have entries there.
*/
#include "mult.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

/* DCSRSpMVEpilogue with vectors. */
typedef struct {
  PetscScalar alpha;
  Vec         d; /* NULL: ones */
  Vec         b; /* NULL: y = y - alpha d A x */
  PetscScalar beta;
  PetscScalar gamma;
  Vec         q; /* not read where gamma is 0 */
} Epilogue;

/* The arrays of a call. Vectors that are the output, too, have none of their own. */
typedef struct {
  DeviceArray   d, b, q, x, y;
  HostVecBuffer d_buffer, q_buffer; /* for vectors that live on the host, which smoothers do not have; the other three are kept with the matrix */
} Arrays;

/* The product goes through an array of its own where y is read. */
static PetscErrorCode MultThenEpilogue(Mat A, const MatDeviceStorageOps *table, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  const PetscBool reads = (PetscBool)(epilogue->b == NULL || epilogue->b == y || (epilogue->gamma != 0.0 && epilogue->q == y));
  PetscScalar    *own   = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (reads) PetscCall(PetscSparseCUDAMalloc(A->rmap->n, "product whose vector is updated", stream, &own));
  PetscCallGoto(ierr, done, (*table->mult)(A, MULT_FORWARD, x, NULL, reads ? own : y, stream));
  PetscCallGoto(ierr, done, DCSRSpMVEpilogueApply(A->rmap->n, reads ? own : y, x, epilogue, y, stream));
done:
  PetscCall(PetscSparseCUDAFree(&own, stream));
  PetscFunctionReturn(ierr);
}

/* x NULL: the vector is zero. */
static PetscErrorCode Launch(Mat A, const MatDeviceStorageOps *table, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (x == NULL) {
    PetscCall(DCSRSpMVEpilogueApply(A->rmap->n, NULL, NULL, epilogue, y, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (table->multepilogue != NULL) PetscCall((*table->multepilogue)(A, x, epilogue, y, stream, &done));
  if (!done) PetscCall(MultThenEpilogue(A, table, x, epilogue, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArrays(Mat A, const Epilogue *e, Vec x, Vec y, cudaStream_t stream, Arrays *arrays)
{
  Mat_SeqAIJCUDA *c    = MatSeqAIJCUDAGet(A);
  const PetscInt  m    = A->rmap->n;
  const PetscBool uses = (PetscBool)(e->gamma != 0.0), reads = (PetscBool)(e->b == NULL || e->b == y || (uses && e->q == y));

  PetscFunctionBegin;
  if (x != NULL) PetscCall(GetDeviceArray(A, x, A->cmap->n, ARRAY_READ, &c->x, stream, &arrays->x));
  if (e->d != NULL) PetscCall(GetDeviceArray(A, e->d, m, ARRAY_READ, &arrays->d_buffer, stream, &arrays->d));
  if (e->b != NULL && e->b != y) PetscCall(GetDeviceArray(A, e->b, m, ARRAY_READ, &c->z, stream, &arrays->b));
  if (uses && e->q != y) PetscCall(GetDeviceArray(A, e->q, m, ARRAY_READ, &arrays->q_buffer, stream, &arrays->q));
  PetscCall(GetDeviceArray(A, y, m, reads ? ARRAY_READ_WRITE : ARRAY_WRITE, &c->y, stream, &arrays->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArrays(Arrays *arrays, cudaStream_t stream, PetscErrorCode ierr)
{
  DeviceArray *all[] = {&arrays->d, &arrays->b, &arrays->q, &arrays->x, &arrays->y};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) ierr = RestoreDeviceArray(all[k], stream, ierr);
  return ierr;
}

/* PETSc's counts: of the product, the difference, the diagonal, and of VecAYPX() or VecAXPBYPCZ(). */
static PetscErrorCode LogFlops(Mat A, const Epilogue *e, PetscBool product)
{
  const PetscLogDouble m     = (PetscLogDouble)A->rmap->n;
  PetscLogDouble       flops = product ? 2.0 * (PetscLogDouble)MatSeqAIJCUDAGet(A)->device.view.num_nonzeros : 0.0;

  PetscFunctionBegin;
  if (e->d != NULL) flops += m;
  if (e->alpha != 1.0) flops += m;
  if (e->beta != 0.0) flops += e->beta == 1.0 ? m : 2.0 * m;
  if (e->gamma != 0.0) flops += 2.0 * m;
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A is sequential and on the device. */
static PetscErrorCode ApplyToBlock(Mat A, const Epilogue *e, Vec x, Vec y)
{
  const MatDeviceStorageOps *table  = NULL;
  Arrays                     arrays = {0};
  DCSRSpMVEpilogue           epilogue;
  cudaStream_t               stream;
  PetscErrorCode             ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (x != NULL) PetscCall(MatSeqAIJCUDAPrepareTable(A, stream, &table));
  PetscCallGoto(ierr, restore, GetArrays(A, e, x, y, stream, &arrays));
  epilogue.alpha = e->alpha;
  epilogue.d     = arrays.d.device;
  epilogue.b     = e->b == y ? arrays.y.device : arrays.b.device;
  epilogue.beta  = e->beta;
  epilogue.gamma = e->gamma;
  epilogue.q     = e->q == y ? arrays.y.device : arrays.q.device;
  if (A->rmap->n == 0) goto restore;
  if (x != NULL) PetscCallGoto(ierr, restore, MatSeqAIJCUDACountMult(A, DEVICE_WORK_EPILOGUE, stream));
  PetscCallGpuTimeGoto(ierr, restore, Launch(A, table, x == NULL ? NULL : arrays.x.device, &epilogue, arrays.y.device, stream));
restore:
  ierr = RestoreArrays(&arrays, stream, ierr);
  PetscCall(PetscSparseCUDAFree(&arrays.d_buffer.array, stream));
  PetscCall(PetscSparseCUDAFree(&arrays.q_buffer.array, stream));
  PetscCall(ierr);
  PetscCall(LogFlops(A, e, (PetscBool)(x != NULL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error does not leave others waiting for messages. */
static PetscErrorCode ApplyToBlocks(Mat A, const Epilogue *e, Vec x, Vec y)
{
  const Mat_MPIAIJ *a    = (const Mat_MPIAIJ *)A->data;
  const Epilogue    rest = {e->alpha, e->d, NULL, 0.0, 0.0, NULL};
  ProductMessages   messages;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAPrepareMult(a->A, PETSC_FALSE));
  PetscCall(MatSeqAIJCUDAPrepareMult(a->B, PETSC_FALSE));
  PetscCall(ProductMessagesBegin(A, x, &messages));
  ierr = ApplyToBlock(a->A, e, x, y);
  PetscCall(ProductMessagesEnd(A, &messages, x, a->lvec, PETSC_FALSE));
  PetscCall(ierr);
  if (a->B->cmap->n > 0) PetscCall(ApplyToBlock(a->B, &rest, a->lvec, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether no product with vectors was replaced, as MatSetOperation() does it. */
static PetscBool AreOwnProducts(const struct _MatOps *ops, const struct _MatOps *installed)
{
  return (PetscBool)(ops->mult == installed->mult && ops->multadd == installed->multadd && ops->multtranspose == installed->multtranspose && ops->multtransposeadd == installed->multtransposeadd &&
                     ops->residual == installed->residual);
}

/*
  MatSeqAIJCUDAMultiplies - Whether A, any sequential matrix, is one of ours that multiplies on the device with the type's own products: what a program has set instead may use other streams than ours.
*/
PetscErrorCode MatSeqAIJCUDAMultiplies(Mat A, PetscBool *can)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, can));
  if (*can) *can = AreOwnProducts(A->ops, &MatSeqAIJCUDAGet(A)->installed);
  if (*can) PetscCall(MatSeqAIJCUDAUseDevice(A, can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACanSmooth - Whether MatAIJCUDASmooth() serves a matrix of any type now: it is one of ours, on the device, and its products are the type's own.

  The answer is that of this process. Those of other processes may differ: the communication of MatAIJCUDASmooth() is that of MatMult().
*/
PetscErrorCode MatAIJCUDACanSmooth(Mat A, PetscBool *can)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (!mpi) {
    PetscCall(MatSeqAIJCUDAMultiplies(A, can));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *can = (PetscBool)(A->assembled && !A->boundtocpu && AreOwnProducts(A->ops, &MatMPIAIJCUDAGet(A)->installed));
  for (int k = 0; k < 2 && *can; k++) PetscCall(MatSeqAIJCUDAMultiplies(MatMPIAIJCUDAGetBlock(A, k), can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDASmooth - y = alpha d (b - A x) + beta x + gamma q, entry by entry: a residual or a step of a smoother. Neighbor-wise Collective, but not where x is NULL.

  MatAIJCUDACanSmooth() says that A can; A is square when beta is not 0. d NULL: ones. x NULL: zero, then beta has to be 0. q is read when gamma is not 0. y may be b or q, not x and not d.
  Costs one kernel; on several processes one a block. Storage without such kernels takes a product and a kernel over the vectors. The product is logged as MatMult().
*/
PetscErrorCode MatAIJCUDASmooth(Mat A, PetscScalar alpha, Vec d, Vec b, PetscScalar beta, Vec x, PetscScalar gamma, Vec q, Vec y)
{
  const Epilogue epilogue = {alpha, d, b, beta, gamma, q};
  PetscBool      mpi;

  PetscFunctionBegin;
  PetscCheck(x != y && d != y, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_IDN,
             "The residual goes into the vector that the matrix is multiplied with, or into the diagonal: use another vector for it");
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (x == NULL) {
    PetscCall(ApplyToBlock(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A, &epilogue, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MAT_Mult, A, x, y, 0));
  if (mpi) PetscCall(ApplyToBlocks(A, &epilogue, x, y));
  else PetscCall(ApplyToBlock(A, &epilogue, x, y));
  PetscCall(PetscLogEventEnd(MAT_Mult, A, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResidual_AIJCUDA - r = b - A x, MATOP_RESIDUAL of all our types; off the device what PETSc does for types without it */
PetscErrorCode MatResidual_AIJCUDA(Mat A, Vec b, Vec x, Vec r)
{
  PetscBool can;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDACanSmooth(A, &can));
  if (can) PetscCall(MatAIJCUDASmooth(A, 1.0, NULL, b, 0.0, x, 0.0, NULL, r));
  else {
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
