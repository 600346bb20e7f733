/*
  y = A^T x and the explicit transpose by cuSPARSE; see spmvtcusparse.h.
*/
#include "spmvtcusparse.h"

const char *const SpMVTCusparseNames[SPMVT_CUSPARSE_ALGORITHMS] = {"cuSPARSE ALG1", "cuSPARSE ALG2", "cuSPARSE DEFAULT"};

static const cusparseSpMVAlg_t Algorithms[SPMVT_CUSPARSE_ALGORITHMS] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMV_ALG_DEFAULT};
static const double            One = 1.0, Zero = 0.0;

/* SpMVTCusparseCreate - descriptors, buffer and preprocessing of the i-th algorithm; compact storage with 32-bit offsets, real double */
PetscErrorCode SpMVTCusparseCreate(DCSRView view, PetscInt i, PetscScalar x[], PetscScalar y[], cudaStream_t stream, SpMVTCusparse *c)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  c->algorithm = Algorithms[i];
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, stream));
  PetscCallCUSPARSE(cusparseCreateCsr(&c->matrix, view.num_rows, view.num_columns, view.num_nonzeros, view.row_offsets, view.columns, view.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->x, view.num_rows, x, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->y, view.num_columns, y, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseSpMV_bufferSize(c->handle, CUSPARSE_OPERATION_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, &bytes));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  PetscCallCUSPARSE(cusparseSpMV_preprocess(c->handle, CUSPARSE_OPERATION_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTCusparseDestroy - frees all of it */
PetscErrorCode SpMVTCusparseDestroy(SpMVTCusparse *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroySpMat(c->matrix));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->x));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->y));
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTCusparseRun - one product; a BenchFn */
PetscErrorCode SpMVTCusparseRun(void *ctx, cudaStream_t stream)
{
  SpMVTCusparse *c = (SpMVTCusparse *)ctx;

  PetscFunctionBegin;
  (void)stream;
  PetscCallCUSPARSE(cusparseSpMV(c->handle, CUSPARSE_OPERATION_TRANSPOSE, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTCsr2cscCreate - buffer of an explicit transpose; the arrays of to are written by each run */
PetscErrorCode SpMVTCsr2cscCreate(DCSRView from, DCSRView to, cusparseAction_t action, cudaStream_t stream, SpMVTCsr2csc *c)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  c->action = action;
  c->from   = from;
  c->to     = to;
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, stream));
  PetscCallCUSPARSE(cusparseCsr2cscEx2_bufferSize(c->handle, from.num_rows, from.num_columns, (int)from.num_nonzeros, from.values, (int *)from.row_offsets, from.columns, to.values, (int *)to.row_offsets, to.columns, CUDA_R_64F, action,
                                                  CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &bytes));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTCsr2cscDestroy - frees all of it */
PetscErrorCode SpMVTCsr2cscDestroy(SpMVTCsr2csc *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTCsr2cscRun - one transpose; a BenchFn */
PetscErrorCode SpMVTCsr2cscRun(void *ctx, cudaStream_t stream)
{
  SpMVTCsr2csc *c = (SpMVTCsr2csc *)ctx;

  PetscFunctionBegin;
  (void)stream;
  PetscCallCUSPARSE(cusparseCsr2cscEx2(c->handle, c->from.num_rows, c->from.num_columns, (int)c->from.num_nonzeros, c->from.values, (int *)c->from.row_offsets, c->from.columns, c->to.values, (int *)c->to.row_offsets, c->to.columns, CUDA_R_64F,
                                       c->action, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
