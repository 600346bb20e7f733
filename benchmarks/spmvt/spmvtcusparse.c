/*
  The explicit transpose by cuSPARSE; see spmvtcusparse.h.
*/
#include "spmvtcusparse.h"

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
  PetscCallCUSPARSE(cusparseCsr2cscEx2_bufferSize(c->handle, from.num_rows, from.num_columns, (int)from.num_nonzeros, from.values, (int *)from.row_offsets, from.columns, to.values,
                                                  (int *)to.row_offsets, to.columns, CUDA_R_64F, action, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &bytes));
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
  PetscCallCUSPARSE(cusparseCsr2cscEx2(c->handle, c->from.num_rows, c->from.num_columns, (int)c->from.num_nonzeros, c->from.values, (int *)c->from.row_offsets, c->from.columns, c->to.values,
                                       (int *)c->to.row_offsets, c->to.columns, CUDA_R_64F, c->action, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
