/*
  y = A x by cuSPARSE; see spmvcusparse.h.
*/
#include "spmvcusparse.h"

const char *const SpMVCusparseNames[SPMV_CUSPARSE_ALGORITHMS] = {"cuSPARSE ALG1", "cuSPARSE ALG2", "cuSPARSE DEFAULT"};

static const cusparseSpMVAlg_t Algorithms[SPMV_CUSPARSE_ALGORITHMS] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMV_ALG_DEFAULT};
static const double            One = 1.0, Zero = 0.0;

/* SpMVCusparseCreate - descriptors, buffer and preprocessing of the i-th algorithm; compact storage with 32-bit offsets, real double */
PetscErrorCode SpMVCusparseCreate(DCSRView view, PetscInt i, PetscScalar x[], PetscScalar y[], cudaStream_t stream, SpMVCusparse *c)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  c->algorithm = Algorithms[i];
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, stream));
  PetscCallCUSPARSE(cusparseCreateCsr(&c->matrix, view.num_rows, view.num_columns, view.num_nonzeros, view.row_offsets, view.columns, view.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->x, view.num_columns, x, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->y, view.num_rows, y, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseSpMV_bufferSize(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, &bytes));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  PetscCallCUSPARSE(cusparseSpMV_preprocess(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVCusparseDestroy - frees all of it */
PetscErrorCode SpMVCusparseDestroy(SpMVCusparse *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroySpMat(c->matrix));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->x));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->y));
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVCusparseRun - one product; a BenchFn */
PetscErrorCode SpMVCusparseRun(void *ctx, cudaStream_t stream)
{
  SpMVCusparse *c = (SpMVCusparse *)ctx;

  PetscFunctionBegin;
  (void)stream;
  PetscCallCUSPARSE(cusparseSpMV(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
