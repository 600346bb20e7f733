/*
  y = A x and y = A^T x by cuSPARSE; see benchcusparse.h.
*/
#include "benchcusparse.h"

const char *const BenchCusparseNames[BENCH_CUSPARSE_ALGORITHMS] = {"cuSPARSE ALG1", "cuSPARSE ALG2", "cuSPARSE DEFAULT"};

static const cusparseSpMVAlg_t Algorithms[BENCH_CUSPARSE_ALGORITHMS] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMV_ALG_DEFAULT};
static const double            One = 1.0, Zero = 0.0;

/* BenchCusparseCreate - descriptors, buffer and preprocessing of the i-th algorithm; compact storage with 32-bit offsets, real double */
PetscErrorCode BenchCusparseCreate(DCSRView view, cusparseOperation_t operation, PetscInt i, PetscScalar x[], PetscScalar y[], cudaStream_t stream, BenchCusparse *c)
{
  const PetscBool transpose = (PetscBool)(operation == CUSPARSE_OPERATION_TRANSPOSE);
  size_t          bytes     = 0;

  PetscFunctionBegin;
  c->operation = operation;
  c->algorithm = Algorithms[i];
  PetscCallCUSPARSE(cusparseCreate(&c->handle));
  PetscCallCUSPARSE(cusparseSetStream(c->handle, stream));
  PetscCallCUSPARSE(cusparseCreateCsr(&c->matrix, view.num_rows, view.num_columns, view.num_nonzeros, view.row_offsets, view.columns, view.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->x, transpose ? view.num_rows : view.num_columns, x, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseCreateDnVec(&c->y, transpose ? view.num_columns : view.num_rows, y, CUDA_R_64F));
  PetscCallCUSPARSE(cusparseSpMV_bufferSize(c->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, &bytes));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  PetscCallCUSPARSE(cusparseSpMV_preprocess(c->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCusparseDestroy - frees all of it */
PetscErrorCode BenchCusparseDestroy(BenchCusparse *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroySpMat(c->matrix));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->x));
  PetscCallCUSPARSE(cusparseDestroyDnVec(c->y));
  PetscCallCUSPARSE(cusparseDestroy(c->handle));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCusparseRun - one product; a BenchFn */
PetscErrorCode BenchCusparseRun(void *ctx, cudaStream_t stream)
{
  BenchCusparse *c = (BenchCusparse *)ctx;

  PetscFunctionBegin;
  (void)stream;
  PetscCallCUSPARSE(cusparseSpMV(c->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
