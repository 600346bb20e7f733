/*
  Operations of MATMPIAIJ that work on both blocks or communicate between them: whatever may fail for want of device memory is done for both blocks first,
  so that an error finds no scatter under way and no block changed.
*/
#include "mult.h"
#include "../core/core.h"
#include "../host/thunks.h"
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
  if (kind == PREPARE_SCALE) PetscCall(MatSeqAIJCUDAUseForEntries(A, scale, &table));
  else PetscCall(MatSeqAIJCUDAUseForEntries(A, diagonalscale, &table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAPrepareMult - Makes what products with A need, so that they do not fail for want of device memory on one process while others go on

  Collective

  Input Parameters:
+ A         - of any type; parallel and sequential ones of ours are prepared
- transpose - for products with its transpose

  Errors: PETSC_ERR_MEM, on all processes.

  Cost: that of the first product after a change, and a reduction.
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
  X(mult, (Mat A, Vec x, Vec y), (A, x, y), PREPARE_MULT) \
  X(multadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y), PREPARE_MULT) \
  X(multtranspose, (Mat A, Vec x, Vec y), (A, x, y), PREPARE_MULT_TRANSPOSE) \
  X(multtransposeadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y), PREPARE_MULT_TRANSPOSE) \
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

#if PetscDefined(USE_COMPLEX)
static PetscErrorCode MatMultHermitianTransposeAdd_MPIAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscUseTypeMethod(a->B, multhermitiantranspose, x, a->lvec);
  if (z == NULL) PetscUseTypeMethod(a->A, multhermitiantranspose, x, y);
  else PetscUseTypeMethod(a->A, multhermitiantransposeadd, x, z, y);
  PetscCall(VecScatterBegin(a->Mvctx, a->lvec, y, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(a->Mvctx, a->lvec, y, ADD_VALUES, SCATTER_REVERSE));
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
#define INSTALL(operation, parameters, arguments, kind) INSTALL_THUNK(ops, parent, installed, MatPrepared_MPIAIJCUDA_, operation);
  PREPARED_OPERATIONS(INSTALL)
#undef INSTALL
  ops->residual = MatResidual_AIJCUDA;
#if PetscDefined(USE_COMPLEX)
  ops->multhermitiantranspose    = MatMultHermitianTranspose_MPIAIJCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_MPIAIJCUDA;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
