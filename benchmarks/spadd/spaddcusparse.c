/*
  Sums by cuSPARSE; see spaddcusparse.h.
*/
#include "spaddcusparse.h"

/* What every call takes. */
#define SUMMANDS(s) \
  (s)->library->handle, (s)->a.num_rows, (s)->a.num_columns, &(s)->alpha, (s)->descr, (int)(s)->a.num_nonzeros, (s)->a.values, (const int *)(s)->a.row_offsets, (s)->a.columns, &(s)->beta, \
    (s)->descr, (int)(s)->b.num_nonzeros, (s)->b.values, (const int *)(s)->b.row_offsets, (s)->b.columns, (s)->descr
#define SUM(s, C) (s)->library->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &(s)->alpha, (s)->summands[0], &(s)->beta, (s)->summands[1], C, CUDA_R_64F, 0, (s)->sum

static PetscErrorCode AllocateBuffer(SpAddCusparse *s, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&s->buffer, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &s->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateEntries(SpAddCusparse *s, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  s->c.num_nonzeros = s->c.capacity = s->c.used = n;
  PetscCall(PetscSparseCUDAMalloc(n, "columns", stream, &s->c.columns));
  PetscCall(PetscSparseCUDAMalloc(n, "values", stream, &s->c.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunGeam2(SpAddCusparse *s, int32_t row_offsets[], cudaStream_t stream)
{
  const BenchCusparseLibrary *l     = s->library;
  size_t                      bytes = 0;
  int                         n     = 0;

  PetscFunctionBegin;
  PetscCallCUSPARSE(l->Dcsrgeam2_bufferSizeExt(SUMMANDS(s), s->c.values, row_offsets, s->c.columns, &bytes));
  PetscCall(AllocateBuffer(s, bytes, stream));
  PetscCallCUSPARSE(l->Xcsrgeam2Nnz(l->handle, s->a.num_rows, s->a.num_columns, s->descr, (int)s->a.num_nonzeros, (const int *)s->a.row_offsets, s->a.columns, s->descr, (int)s->b.num_nonzeros,
                                    (const int *)s->b.row_offsets, s->b.columns, s->descr, row_offsets, &n, s->buffer));
  PetscCall(AllocateEntries(s, n, stream));
  PetscCallCUSPARSE(l->Dcsrgeam2(SUMMANDS(s), s->c.values, row_offsets, s->c.columns, s->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSpGEAM(SpAddCusparse *s, int32_t row_offsets[], cudaStream_t stream)
{
  const BenchCusparseLibrary *l     = s->library;
  size_t                      bytes = 0;
  int64_t                     rows, columns, n = 0;
  cusparseSpMatDescr_t        c;

  PetscFunctionBegin;
  PetscCallCUSPARSE(l->CreateCsr(&c, s->a.num_rows, s->a.num_columns, 0, row_offsets, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscCallCUSPARSE(l->SpGEAM_bufferSize(SUM(s, c), &bytes));
  PetscCall(AllocateBuffer(s, bytes, stream));
  PetscCallCUSPARSE(l->SpGEAM_nnz(SUM(s, c), s->buffer));
  PetscCallCUSPARSE(l->SpMatGetSize(c, &rows, &columns, &n));
  PetscCall(AllocateEntries(s, (PetscCount)n, stream));
  PetscCallCUSPARSE(l->CsrSetPointers(c, row_offsets, s->c.columns, s->c.values));
  PetscCallCUSPARSE(l->SpGEAM(SUM(s, c), s->buffer));
  PetscCallCUSPARSE(l->DestroySpMat(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseRun - see spaddcusparse.h; a BenchFn */
PetscErrorCode SpAddCusparseRun(void *ctx, cudaStream_t stream)
{
  SpAddCusparse *s = (SpAddCusparse *)ctx;
  int32_t       *row_offsets;

  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&s->c, stream));
  PetscCall(PetscSparseCUDAMalloc((PetscCount)s->a.num_rows + 1, "row offsets", stream, &row_offsets));
  s->c.num_rows    = s->a.num_rows;
  s->c.num_columns = s->a.num_columns;
  s->c.row_offsets = row_offsets;
  if (s->sum) PetscCall(RunSpGEAM(s, row_offsets, stream));
  else PetscCall(RunGeam2(s, row_offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseCreate - see spaddcusparse.h */
PetscErrorCode SpAddCusparseCreate(const BenchCusparseLibrary *l, PetscBool spgeam, PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream, SpAddCusparse *s)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  s->library = l;
  s->alpha   = alpha;
  s->beta    = beta;
  s->a       = A;
  s->b       = B;
  if (spgeam) {
    PetscCallCUSPARSE(l->SpGEAM_createDescr(&s->sum));
    for (int k = 0; k < 2; k++) {
      DCSRView v = k ? B : A;

      PetscCallCUSPARSE(
        l->CreateCsr(&s->summands[k], v.num_rows, v.num_columns, v.num_nonzeros, v.row_offsets, v.columns, v.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    }
  } else PetscCallCUSPARSE(l->CreateMatDescr(&s->descr));
  PetscCall(SpAddCusparseRun(s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpAddCusparseDestroy - frees all of it */
PetscErrorCode SpAddCusparseDestroy(SpAddCusparse *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->descr) PetscCallCUSPARSE(s->library->DestroyMatDescr(s->descr));
  if (s->sum) PetscCallCUSPARSE(s->library->SpGEAM_destroyDescr(s->sum));
  for (int k = 0; k < 2; k++)
    if (s->summands[k]) PetscCallCUSPARSE(s->library->DestroySpMat(s->summands[k]));
  PetscCall(PetscSparseCUDAFree(&s->buffer, stream));
  PetscCall(DCSRViewFree(&s->c, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
