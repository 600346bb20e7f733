/*
  Operations of MATMPIAIJ that work on both blocks or communicate between them: whatever may fail for want of device memory is done for both blocks first,
  so that an error finds no scatter under way and no block changed.
*/
#include "mult.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"

typedef enum {
  PREPARE_SCALE,
  PREPARE_DIAGONAL_SCALE,
  PREPARE_MULT,
  PREPARE_MULT_TRANSPOSE
} PrepareKind;

static PetscErrorCode PrepareBlock(Mat A, PrepareKind kind)
{
  const MatDeviceStorageOps *table;
  PetscBool                  ours, device;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == PREPARE_MULT || kind == PREPARE_MULT_TRANSPOSE) {
    PetscCall(MatSeqAIJCUDAPrepareMult(A, (PetscBool)(kind == PREPARE_MULT_TRANSPOSE)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == PREPARE_SCALE) PetscCall(MatSeqAIJCUDAUseCurrent(A, &table));
  else PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAPrepareMult - Makes what products with A, of any type, or its transpose need, so that they do not fail for want of device memory on one process while others go on. Collective.

  Parallel and sequential ones of ours are prepared. PETSC_ERR_MEM is on all processes. Costs what the first product after a change does, and a reduction.
*/
PetscErrorCode MatAIJCUDAPrepareMult(Mat A, PetscBool transpose)
{
  const PrepareKind kind = transpose ? PREPARE_MULT_TRANSPOSE : PREPARE_MULT;
  PetscBool         is_mpi;
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (!is_mpi) PetscCall(PrepareBlock(A, kind));
  else {
    for (int k = 0; k < 2 && ierr == PETSC_SUCCESS; k++) ierr = PrepareBlock(MatMPIAIJCUDAGetBlock(A, k), kind);
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(operation, parameters, arguments, what it needs of both blocks) */
#define PREPARED_OPERATIONS(X) \
  X(scale, (Mat A, PetscScalar s), (A, s), PREPARE_SCALE) \
  X(diagonalscale, (Mat A, Vec l, Vec r), (A, l, r), PREPARE_DIAGONAL_SCALE)

#define DEFINE_PREPARED_OPERATION(operation, parameters, arguments, kind) \
  static PetscErrorCode MatPrepared_MPIAIJCUDA_##operation parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(PrepareBlock(((Mat_MPIAIJ *)A->data)->A, kind)); \
    PetscCall(PrepareBlock(((Mat_MPIAIJ *)A->data)->B, kind)); \
    PetscCall(MatMPIAIJCUDAUseCurrentStream(A)); \
    PetscCall((*MatMPIAIJCUDAGet(A)->parent.operation)arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PREPARED_OPERATIONS(DEFINE_PREPARED_OPERATION)
#undef DEFINE_PREPARED_OPERATION

/* Whether both blocks multiply on the device by themselves, and the vectors fit: otherwise the parent's product says what is wrong, or calls what there is, in the order of the context's stream. */
static PetscErrorCode IsOnDevice(Mat A, Vec x, PetscInt n, Vec y, PetscBool *device)
{
  PetscInt local;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &local));
  *device = (PetscBool)(local == n && x != y);
  for (int k = 0; k < 2 && *device; k++) PetscCall(MatSeqAIJCUDAMultiplies(MatMPIAIJCUDAGetBlock(A, k), device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z; z NULL: zero. An error does not leave others waiting for messages. */
static PetscErrorCode MultOnDevice(Mat A, Vec x, Vec z, Vec y)
{
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)A->data;
  ProductMessages   messages;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(ProductMessagesBegin(A, x, &messages));
  if (z == NULL) ierr = (*a->A->ops->mult)(a->A, x, y);
  else ierr = (*a->A->ops->multadd)(a->A, x, z, y);
  PetscCall(ProductMessagesEnd(A, &messages, x, a->lvec, PETSC_FALSE));
  PetscCall(ierr);
  if (a->B->cmap->n > 0) PetscUseTypeMethod(a->B, multadd, a->lvec, y, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z, likewise. */
static PetscErrorCode MultTransposeOnDevice(Mat A, Vec x, Vec z, Vec y)
{
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)A->data;
  ProductMessages   messages;
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (a->B->cmap->n > 0) ierr = (*a->B->ops->multtranspose)(a->B, x, a->lvec);
  PetscCall(ProductMessagesBegin(A, a->lvec, &messages));
  if (ierr == PETSC_SUCCESS && z == NULL) ierr = (*a->A->ops->multtranspose)(a->A, x, y);
  else if (ierr == PETSC_SUCCESS) ierr = (*a->A->ops->multtransposeadd)(a->A, x, z, y);
  PetscCall(ProductMessagesEnd(A, &messages, a->lvec, y, PETSC_TRUE));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product; where it cannot be ours, all processes see that at the messages, which are the same. */
static PetscErrorCode Mult(Mat A, PetscBool transpose, Vec x, Vec z, Vec y, PetscBool *done)
{
  const PrepareKind kind = transpose ? PREPARE_MULT_TRANSPOSE : PREPARE_MULT;

  PetscFunctionBegin;
  PetscCall(PrepareBlock(((Mat_MPIAIJ *)A->data)->A, kind));
  PetscCall(PrepareBlock(((Mat_MPIAIJ *)A->data)->B, kind));
  PetscCall(IsOnDevice(A, x, transpose ? A->rmap->n : A->cmap->n, y, done));
  if (!*done) PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  else if (transpose) PetscCall(MultTransposeOnDevice(A, x, z, y));
  else PetscCall(MultOnDevice(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(operation, parameters, arguments, whether it is transposed, the vector that is added) */
#define PRODUCTS(X) \
  X(mult, (Mat A, Vec x, Vec y), (A, x, y), PETSC_FALSE, NULL) \
  X(multadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y), PETSC_FALSE, z) \
  X(multtranspose, (Mat A, Vec x, Vec y), (A, x, y), PETSC_TRUE, NULL) \
  X(multtransposeadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y), PETSC_TRUE, z)

#define DEFINE_PRODUCT(operation, parameters, arguments, transpose, added) \
  static PetscErrorCode MatPrepared_MPIAIJCUDA_##operation parameters \
  { \
    PetscBool done; \
\
    PetscFunctionBegin; \
    PetscCall(Mult(A, transpose, x, added, y, &done)); \
    if (!done) PetscCall((*MatMPIAIJCUDAGet(A)->parent.operation)arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PRODUCTS(DEFINE_PRODUCT)
#undef DEFINE_PRODUCT

#if PetscDefined(USE_COMPLEX)
static PetscErrorCode MatMultHermitianTransposeAdd_MPIAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A)); // the ghost vector may be in use in another context
  PetscUseTypeMethod(a->B, multhermitiantranspose, x, a->lvec);
  if (z == NULL) PetscUseTypeMethod(a->A, multhermitiantranspose, x, y);
  else PetscUseTypeMethod(a->A, multhermitiantransposeadd, x, z, y);
  PetscCall(MatMPIAIJCUDAScatter(A, a->lvec, y, ADD_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTranspose_MPIAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultHermitianTransposeAdd_MPIAIJCUDA(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* MatMPIAIJCUDASetMultOps - Puts the operations above into the table of a parallel matrix. */
PetscErrorCode MatMPIAIJCUDASetMultOps(Mat A, struct _MatOps *ops)
{
  struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent, *installed = &MatMPIAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
#define INSTALL(operation, parameters, arguments, kind) INSTALL_WRAPPER(ops, parent, installed, MatPrepared_MPIAIJCUDA_, operation);
  PREPARED_OPERATIONS(INSTALL)
#undef INSTALL
#define INSTALL(operation, parameters, arguments, transpose, added) INSTALL_WRAPPER(ops, parent, installed, MatPrepared_MPIAIJCUDA_, operation);
  PRODUCTS(INSTALL)
#undef INSTALL
  ops->residual = MatResidual_AIJCUDA;
#if PetscDefined(USE_COMPLEX)
  ops->multhermitiantranspose    = MatMultHermitianTranspose_MPIAIJCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_MPIAIJCUDA;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
