/*
  Y = A X by cuSPARSE; see spmmcusparse.h.
*/
#include "spmmcusparse.h"
#include "../common/benchcusparse.h"

const char *const SpMMCusparseNames[SPMM_CUSPARSE_ALGORITHMS] = {"cuSPARSE DEFAULT", "cuSPARSE ALG1", "cuSPARSE ALG2", "cuSPARSE ALG3"};

static const cusparseSpMMAlg_t Algorithms[SPMM_CUSPARSE_ALGORITHMS] = {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};
static const double            One = 1.0, Zero = 0.0;

/* What every call takes. */
#define PRODUCT(c) (c)->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &One, (c)->matrix, (c)->x, &Zero, (c)->y, CUDA_R_64F, (c)->algorithm

/* SpMMCusparseCreate - see spmmcusparse.h; compact storage with 32-bit offsets, real double */
PetscErrorCode SpMMCusparseCreate(DCSRView view, PetscInt i, PetscInt columns, PetscScalar x[], PetscScalar y[], cudaStream_t stream, PetscBool *exists, SpMMCusparse *c)
{
  size_t           bytes = 0;
  cusparseStatus_t status;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c, 1));
  c->algorithm = Algorithms[i];
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, stream));
  PetscCallCUSPARSE(cusparseCreateCsr(&c->matrix, view.num_rows, view.num_columns, view.num_nonzeros, view.row_offsets, view.columns, view.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnMat(&c->x, view.num_columns, columns, view.num_columns, x, CUDA_R_64F, CUSPARSE_ORDER_COL));
  PetscCallCUSPARSE(cusparseCreateDnMat(&c->y, view.num_rows, columns, view.num_rows, y, CUDA_R_64F, CUSPARSE_ORDER_COL));
  *exists = PETSC_FALSE;
  if (cusparseSpMM_bufferSize(PRODUCT(c), &bytes) != CUSPARSE_STATUS_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  status = cusparseSpMM_preprocess(PRODUCT(c), c->buffer);
  if (status == CUSPARSE_STATUS_SUCCESS) status = cusparseSpMM(PRODUCT(c), c->buffer);
  *exists = (PetscBool)(status == CUSPARSE_STATUS_SUCCESS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMMCusparseDestroy - frees all of it */
PetscErrorCode SpMMCusparseDestroy(SpMMCusparse *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroySpMat(c->matrix));
  PetscCallCUSPARSE(cusparseDestroyDnMat(c->x));
  PetscCallCUSPARSE(cusparseDestroyDnMat(c->y));
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMMCusparseRun - see spmmcusparse.h */
PetscErrorCode SpMMCusparseRun(void *ctx, cudaStream_t stream)
{
  SpMMCusparse *c = (SpMMCusparse *)ctx;

  PetscFunctionBegin;
  (void)stream;
  PetscCallCUSPARSE(cusparseSpMM(PRODUCT(c), c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
