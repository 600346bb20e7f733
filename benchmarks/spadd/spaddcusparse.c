/*
  Sums by cuSPARSE; see spaddcusparse.h.
*/
#include "spaddcusparse.h"
#include "../common/benchcusparse.h"

/* What every call takes. */
#define SUMMANDS(s) \
  (s)->handle, (s)->a.num_rows, (s)->a.num_columns, &(s)->alpha, (s)->descr, (int)(s)->a.num_nonzeros, (s)->a.values, (const int *)(s)->a.row_offsets, (s)->a.columns, &(s)->beta, (s)->descr, \
    (int)(s)->b.num_nonzeros, (s)->b.values, (const int *)(s)->b.row_offsets, (s)->b.columns, (s)->descr

static PetscErrorCode AllocateBuffer(SpAddCusparse *s, cudaStream_t stream)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDcsrgeam2_bufferSizeExt(SUMMANDS(s), s->c.values, (const int *)s->c.row_offsets, s->c.columns, &bytes));
  PetscCall(PetscSparseCUDAFree(&s->buffer, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &s->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseRun - see spaddcusparse.h; a BenchFn */
PetscErrorCode SpAddCusparseRun(void *ctx, cudaStream_t stream)
{
  SpAddCusparse *s = (SpAddCusparse *)ctx;
  int32_t       *row_offsets;
  int            n = 0;

  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&s->c, stream));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)s->a.num_rows + 1, "row offsets", stream, &row_offsets));
  s->c.num_rows    = s->a.num_rows;
  s->c.num_columns = s->a.num_columns;
  s->c.row_offsets = row_offsets;
  PetscCall(AllocateBuffer(s, stream));
  PetscCallCUSPARSE(cusparseXcsrgeam2Nnz(s->handle, s->a.num_rows, s->a.num_columns, s->descr, (int)s->a.num_nonzeros, (const int *)s->a.row_offsets, s->a.columns, s->descr, (int)s->b.num_nonzeros,
                                         (const int *)s->b.row_offsets, s->b.columns, s->descr, row_offsets, &n, s->buffer));
  s->c.num_nonzeros = s->c.capacity = s->c.used = n;
  PetscCall(PetscSparseCUDAMalloc(n, "columns", stream, &s->c.columns));
  PetscCall(PetscSparseCUDAMalloc(n, "values", stream, &s->c.values));
  PetscCallCUSPARSE(cusparseDcsrgeam2(SUMMANDS(s), s->c.values, (int *)s->c.row_offsets, s->c.columns, s->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseCreate - see spaddcusparse.h */
PetscErrorCode SpAddCusparseCreate(PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream, SpAddCusparse *s)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  s->alpha = alpha;
  s->beta  = beta;
  s->a     = A;
  s->b     = B;
  PetscCallCUSPARSE(cusparseCreate(&s->handle));
  PetscCallCUSPARSE(cusparseSetStream(s->handle, stream));
  PetscCallCUSPARSE(cusparseSetPointerMode(s->handle, CUSPARSE_POINTER_MODE_HOST));
  PetscCallCUSPARSE(cusparseCreateMatDescr(&s->descr));
  PetscCall(SpAddCusparseRun(s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseDestroy - frees all of it */
PetscErrorCode SpAddCusparseDestroy(SpAddCusparse *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseDestroyMatDescr(s->descr));
  PetscCallCUSPARSE(cusparseDestroy(s->handle));
  PetscCall(PetscSparseCUDAFree(&s->buffer, stream));
  PetscCall(DCSRViewFree(&s->c, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
