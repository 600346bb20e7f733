/* The competitor: cuSPARSE's sparse products. */
#include "spgemmbench.h"
#include <cusparse.h>

/* What one product of cuSPARSE holds. */
typedef struct {
  cusparseHandle_t      handle;
  cusparseSpMatDescr_t  a, b, c;
  cusparseSpGEMMDescr_t product;
  char                 *buffers[3];
  size_t                bytes[3];
} Cusparse;

#define CheckCusparse(...) \
  do { \
    if ((__VA_ARGS__) != CUSPARSE_STATUS_SUCCESS) return PETSC_ERR_GPU; \
  } while (0)

static PetscErrorCode CreateMatrix(DCSRView A, cusparseSpMatDescr_t *matrix)
{
  PetscFunctionBegin;
  PetscCheck(!A.wide, PETSC_COMM_SELF, PETSC_ERR_SUP, "cuSPARSE's products have 32-bit offsets here");
  CheckCusparse(cusparseCreateCsr(matrix, A.num_rows, A.num_columns, A.num_nonzeros, A.row_offsets, A.columns, A.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateBuffer(Cusparse *c, int k, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (cudaMallocAsync((void **)&c->buffers[k], c->bytes[k] ? c->bytes[k] : 1, stream) != cudaSuccess) {
    (void)cudaGetLastError();
    c->buffers[k] = NULL;
    PetscFunctionReturn(PETSC_ERR_GPU);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimation and computation, by the algorithm. */
static PetscErrorCode Compute(Cusparse *c, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream)
{
  const cusparseOperation_t op  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double              one = 1.0, zero = 0.0;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  CheckCusparse(cusparseSpGEMM_workEstimation(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[0], NULL));
  ierr = AllocateBuffer(c, 0, stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(cusparseSpGEMM_workEstimation(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[0], c->buffers[0]));
  if (algorithm == CUSPARSE_SPGEMM_ALG2 || algorithm == CUSPARSE_SPGEMM_ALG3) {
    CheckCusparse(cusparseSpGEMM_estimateMemory(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, 0.2f, &c->bytes[2], NULL, NULL));
    ierr = AllocateBuffer(c, 2, stream);
    if (ierr) PetscFunctionReturn(ierr);
    CheckCusparse(cusparseSpGEMM_estimateMemory(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, 0.2f, &c->bytes[2], c->buffers[2], &c->bytes[1]));
    PetscCallCUDA(cudaFreeAsync(c->buffers[2], stream));
    c->buffers[2] = NULL;
  } else CheckCusparse(cusparseSpGEMM_compute(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[1], NULL));
  ierr = AllocateBuffer(c, 1, stream);
  if (ierr) PetscFunctionReturn(ierr);
  CheckCusparse(cusparseSpGEMM_compute(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product, &c->bytes[1], c->buffers[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyResult(Cusparse *c, DCSRView A, DCSRView B, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream, DCSRView *C)
{
  const cusparseOperation_t op  = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const double              one = 1.0, zero = 0.0;
  int64_t                   rows, columns, nonzeros;

  PetscFunctionBegin;
  CheckCusparse(cusparseSpMatGetSize(c->c, &rows, &columns, &nonzeros));
  PetscCall(DCSRViewAllocateCompact(A.num_rows, B.num_columns, (PetscCount)nonzeros, PETSC_FALSE, stream, C));
  CheckCusparse(cusparseCsrSetPointers(c->c, C->row_offsets, C->columns, C->values));
  CheckCusparse(cusparseSpGEMM_copy(c->handle, op, op, &one, c->a, c->b, &zero, c->c, CUDA_R_64F, algorithm, c->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Cusparse *c, DCSRView A, DCSRView B, cusparseSpGEMMAlg_t algorithm, cudaStream_t stream, DCSRView *C)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(A, &c->a));
  PetscCall(CreateMatrix(B, &c->b));
  CheckCusparse(cusparseCreateCsr(&c->c, A.num_rows, B.num_columns, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  CheckCusparse(cusparseSpGEMM_createDescr(&c->product));
  ierr = Compute(c, algorithm, stream);
  if (ierr) PetscFunctionReturn(ierr);
  PetscFunctionReturn(CopyResult(c, A, B, algorithm, stream, C));
}

/* SpGEMMBenchCusparse - see spgemmbench.h */
PetscErrorCode SpGEMMBenchCusparse(DCSRView A, DCSRView B, PetscInt algorithm, cudaStream_t stream, DCSRView *C, size_t *workspace)
{
  const cusparseSpGEMMAlg_t algorithms[] = {CUSPARSE_SPGEMM_ALG1, CUSPARSE_SPGEMM_ALG2, CUSPARSE_SPGEMM_ALG3};
  static cusparseHandle_t   handle       = NULL;
  Cusparse                  c;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCall(PetscMemzero(C, sizeof(*C)));
  if (handle == NULL) CheckCusparse(cusparseCreate(&handle));
  CheckCusparse(cusparseSetStream(handle, stream));
  c.handle = handle;
  ierr     = Multiply(&c, A, B, algorithms[algorithm - 1], stream, C);
  for (int k = 0; k < 3; k++)
    if (c.buffers[k] != NULL) PetscCallCUDA(cudaFreeAsync(c.buffers[k], stream));
  if (c.product != NULL) (void)cusparseSpGEMM_destroyDescr(c.product);
  if (c.a != NULL) (void)cusparseDestroySpMat(c.a);
  if (c.b != NULL) (void)cusparseDestroySpMat(c.b);
  if (c.c != NULL) (void)cusparseDestroySpMat(c.c);
  *workspace = c.bytes[0] + c.bytes[1];
  PetscFunctionReturn(ierr);
}
