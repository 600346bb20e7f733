/* The competitor: cuSPARSE's sparse products. */
#include "spgemmbench.h"

/* What one product of cuSPARSE holds. */
typedef struct {
  const BenchCusparseLibrary *library;
  cusparseSpMatDescr_t        a, b, c;
  cusparseSpGEMMDescr_t       product;
  char                       *buffers[3];
  size_t                      bytes[3];
  float                       chunk; /* fraction, of ALG3 */
} Cusparse;

#define CheckCusparse(...) \
  do { \
    if ((__VA_ARGS__) != CUSPARSE_STATUS_SUCCESS) return PETSC_ERR_GPU; \
  } while (0)

static PetscErrorCode CreateMatrix(const BenchCusparseLibrary *l, DCSRView A, cusparseSpMatDescr_t *matrix)
{
  PetscFunctionBegin;
  PetscCheck(!A.wide, PETSC_COMM_SELF, PETSC_ERR_SUP, "cuSPARSE's products have 32-bit offsets here");
  CheckCusparse(l->CreateCsr(matrix, A.num_rows, A.num_columns, A.num_nonzeros, A.row_offsets, A.columns, A.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateBuffer(char **buffer, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (cudaMallocAsync((void **)buffer, bytes ? bytes : 1, stream) != cudaSuccess) {
    (void)cudaGetLastError();
    *buffer = NULL;
    PetscFunctionReturn(PETSC_ERR_GPU);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeBuffer(char **buffer, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*buffer != NULL) PetscCallCUDA(cudaFreeAsync(*buffer, stream));
  *buffer = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimation and computation, by the algorithm. */
static PetscErrorCode Compute(Cusparse *c, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream)
{
  const BenchCusparseLibrary *l   = c->library;
  const cusparseOperation_t   op  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double                one = 1.0, zero = 0.0;
  PetscErrorCode              ierr;

  PetscFunctionBegin;
  CheckCusparse(l->SpGEMM_workEstimation(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[0], NULL));
  ierr = AllocateBuffer(&c->buffers[0], c->bytes[0], stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(l->SpGEMM_workEstimation(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[0], c->buffers[0]));
  if (algorithm == CUSPARSE_SPGEMM_ALG2 || algorithm == CUSPARSE_SPGEMM_ALG3) {
    CheckCusparse(l->SpGEMM_estimateMemory(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, c->chunk, &c->bytes[2], NULL, NULL));
    ierr = AllocateBuffer(&c->buffers[2], c->bytes[2], stream);
    if (ierr) PetscFunctionReturn(ierr);
    CheckCusparse(l->SpGEMM_estimateMemory(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, c->chunk, &c->bytes[2], c->buffers[2], &c->bytes[1]));
    PetscCall(FreeBuffer(&c->buffers[2], stream));
  } else CheckCusparse(l->SpGEMM_compute(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[1], NULL));
  ierr = AllocateBuffer(&c->buffers[1], c->bytes[1], stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(l->SpGEMM_compute(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[1], c->buffers[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyResult(Cusparse *c, DCSRView A, DCSRView B, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream, DCSRView *C)
{
  const BenchCusparseLibrary *l   = c->library;
  const cusparseOperation_t   op  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double                one = 1.0, zero = 0.0;
  int64_t                     rows, columns, nonzeros;

  PetscFunctionBegin;
  CheckCusparse(l->SpMatGetSize(c->c, &rows, &columns, &nonzeros));
  PetscCall(DCSRViewAllocateCompact(A.num_rows, B.num_columns, (PetscCount)nonzeros, PETSC_FALSE, stream, C));
  CheckCusparse(l->CsrSetPointers(c->c, C->row_offsets, C->columns, C->values));
  CheckCusparse(l->SpGEMM_copy(l->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Cusparse *c, DCSRView A, DCSRView B, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream, DCSRView *C)
{
  const BenchCusparseLibrary *l = c->library;
  PetscErrorCode              ierr;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(c->library, A, &c->a));
  PetscCall(CreateMatrix(c->library, B, &c->b));
  CheckCusparse(l->CreateCsr(&c->c, A.num_rows, B.num_columns, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  CheckCusparse(l->SpGEMM_createDescr(&c->product));
  ierr = Compute(c, algorithm, stream);
  if (ierr) PetscFunctionReturn(ierr);
  PetscFunctionReturn(CopyResult(c, A, B, algorithm, stream, C));
}

/* SpGEMMBenchCusparse - see spgemmbench.h */
PetscErrorCode SpGEMMBenchCusparse(const BenchCusparseLibrary *l, DCSRView A, DCSRView B, PetscInt algorithm, float chunk, cudaStream_t stream, DCSRView *C, size_t *workspace)
{
  const cusparseSpGEMMAlg_t algorithms[] = {CUSPARSE_SPGEMM_ALG1, CUSPARSE_SPGEMM_ALG2, CUSPARSE_SPGEMM_ALG3};
  Cusparse                  c;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCall(PetscMemzero(C, sizeof(*C)));
  c.library = l;
  c.chunk   = chunk;
  ierr      = Multiply(&c, A, B, algorithms[algorithm - 1], stream, C);
  for (int k = 0; k < 3; k++) PetscCall(FreeBuffer(&c.buffers[k], stream));
  if (c.product != NULL) (void)l->SpGEMM_destroyDescr(c.product);
  if (c.a != NULL) (void)l->DestroySpMat(c.a);
  if (c.b != NULL) (void)l->DestroySpMat(c.b);
  if (c.c != NULL) (void)l->DestroySpMat(c.c);
  *workspace = c.bytes[0] + c.bytes[1];
  PetscFunctionReturn(ierr);
}

/* Structure of C, with the buffers that it takes. */
static PetscErrorCode ReuseStructure(SpGEMMReuse *r)
{
  const BenchCusparseLibrary *l  = r->library;
  const cusparseOperation_t   op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t                      bytes[4];
  PetscErrorCode              ierr;

  PetscFunctionBegin;
  CheckCusparse(l->SpGEMMreuse_workEstimation(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes[0], NULL));
  ierr = AllocateBuffer(&r->buffers[0], bytes[0], r->stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(l->SpGEMMreuse_workEstimation(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes[0], r->buffers[0]));
  CheckCusparse(l->SpGEMMreuse_nnz(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes[1], NULL, &bytes[2], NULL, &bytes[3], NULL));
  for (int k = 1; k < 4; k++) {
    ierr = AllocateBuffer(&r->buffers[k], bytes[k], r->stream);
    if (ierr) PetscFunctionReturn(ierr);
  }
  CheckCusparse(l->SpGEMMreuse_nnz(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes[1], r->buffers[1], &bytes[2], r->buffers[2], &bytes[3], r->buffers[3]));
  for (int k = 0; k < 2; k++) PetscCall(FreeBuffer(&r->buffers[k], r->stream));
  r->bytes = bytes[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMReuseCreate - see spgemmbench.h */
PetscErrorCode SpGEMMReuseCreate(const BenchCusparseLibrary *l, DCSRView A, DCSRView B, PetscInt i, cudaStream_t stream, SpGEMMReuse *r)
{
  const cusparseSpGEMMAlg_t algorithms[SPGEMM_REUSE_ALGORITHMS] = {CUSPARSE_SPGEMM_DEFAULT, CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC};
  const cusparseOperation_t op                                  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  int64_t                   rows, columns, nonzeros;
  size_t                    bytes;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->library   = l;
  r->stream    = stream;
  r->algorithm = algorithms[i];
  PetscCall(CreateMatrix(l, A, &r->a));
  PetscCall(CreateMatrix(l, B, &r->b));
  CheckCusparse(l->CreateCsr(&r->c, A.num_rows, B.num_columns, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  CheckCusparse(l->SpGEMM_createDescr(&r->product));
  ierr = ReuseStructure(r);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(l->SpMatGetSize(r->c, &rows, &columns, &nonzeros));
  PetscCall(DCSRViewAllocateCompact(A.num_rows, B.num_columns, (PetscCount)nonzeros, PETSC_FALSE, stream, &r->c_view));
  CheckCusparse(l->CsrSetPointers(r->c, r->c_view.row_offsets, r->c_view.columns, r->c_view.values));
  CheckCusparse(l->SpGEMMreuse_copy(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes, NULL));
  ierr = AllocateBuffer(&r->buffers[4], bytes, stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(l->SpGEMMreuse_copy(l->handle, op, op, r->a, r->b, r->c, r->algorithm, r->product, &bytes, r->buffers[4]));
  PetscCall(FreeBuffer(&r->buffers[2], stream));
  r->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMReuseRun - see spgemmbench.h */
PetscErrorCode SpGEMMReuseRun(SpGEMMReuse *r)
{
  const BenchCusparseLibrary *l   = r->library;
  const cusparseOperation_t   op  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double                one = 1.0, zero = 0.0;

  PetscFunctionBegin;
  CheckCusparse(l->SpGEMMreuse_compute(l->handle, op, op, &one, r->a, r->b, &zero, r->c, CUDA_R_64F, r->algorithm, r->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMReuseDestroy - frees all of it */
PetscErrorCode SpGEMMReuseDestroy(SpGEMMReuse *r)
{
  const BenchCusparseLibrary *l = r->library;

  PetscFunctionBegin;
  for (int k = 0; k < 5; k++) PetscCall(FreeBuffer(&r->buffers[k], r->stream));
  if (r->product != NULL) (void)l->SpGEMM_destroyDescr(r->product);
  if (r->a != NULL) (void)l->DestroySpMat(r->a);
  if (r->b != NULL) (void)l->DestroySpMat(r->b);
  if (r->c != NULL) (void)l->DestroySpMat(r->c);
  PetscCall(DCSRViewFree(&r->c_view, r->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
