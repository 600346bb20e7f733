/* Temporary: a slow SpGEMM to test its callers with. */
#include "../entries/temporary.cuh"
#include <petscsparsecuda/spgemm.h>
#include <cub/device/device_for.cuh>
#include <cub/device/device_scan.cuh>

struct _n_DCSRSpGEMM {
  PetscCount num_products;
  PetscInt   num_rows;
};

namespace
{
__device__ int64_t At(const void *p, PetscBool wide, PetscCount i)
{
  return wide ? ((const int64_t *)p)[i] : (int64_t)((const int32_t *)p)[i];
}

struct Count {
  DCSRView A, B;
  int64_t *counts;
  __device__ void operator()(PetscCount row) const
  {
    int64_t n = 0;
    if (row < A.num_rows)
      for (int64_t k = At(A.row_offsets, A.wide, row); k < At(A.row_offsets, A.wide, row + 1); k++) n += At(B.row_offsets, B.wide, A.columns[k] + 1) - At(B.row_offsets, B.wide, A.columns[k]);
    counts[row] = n;
  }
};

struct Fill {
  DCSRView A, B;
  int64_t *begins, *sizes;
  int32_t *columns;
  __device__ void operator()(PetscCount row) const
  {
    int64_t n = 0;
    if (row < A.num_rows) {
      int32_t *c = columns + begins[row];
      for (int64_t k = At(A.row_offsets, A.wide, row); k < At(A.row_offsets, A.wide, row + 1); k++) {
        for (int64_t l = At(B.row_offsets, B.wide, A.columns[k]); l < At(B.row_offsets, B.wide, A.columns[k] + 1); l++) {
          int64_t j = n;
          while (j > 0 && c[j - 1] > B.columns[l]) j--;
          if (j > 0 && c[j - 1] == B.columns[l]) continue;
          for (int64_t q = n; q > j; q--) c[q] = c[q - 1];
          c[j] = B.columns[l];
          n++;
        }
      }
    }
    sizes[row] = n;
  }
};

struct Copy {
  DCSRView C;
  int64_t *begins, *offsets;
  int32_t *columns;
  __device__ void operator()(PetscCount row) const
  {
    if (C.wide) ((int64_t *)C.row_offsets)[row] = offsets[row];
    else ((int32_t *)C.row_offsets)[row] = (int32_t)offsets[row];
    if (row < C.num_rows)
      for (int64_t k = offsets[row]; k < offsets[row + 1]; k++) C.columns[k] = columns[begins[row] + k - offsets[row]];
  }
};

struct Multiply {
  DCSRView A, B, C;
  __device__ void operator()(PetscCount row) const
  {
    const int64_t begin = At(C.row_offsets, C.wide, row), end = At(C.row_offsets, C.wide, row + 1);
    for (int64_t k = begin; k < end; k++) {
      PetscScalar sum   = 0.0;
      int32_t     found = 0;
      for (int64_t a = At(A.row_offsets, A.wide, row); a < At(A.row_offsets, A.wide, row + 1); a++) {
        int64_t b = At(B.row_offsets, B.wide, A.columns[a]), e = At(B.row_offsets, B.wide, A.columns[a] + 1);
        const int64_t last = e;
        while (b < e) {
          const int64_t m = b + (e - b) / 2;
          if (B.columns[m] < C.columns[k]) b = m + 1;
          else e = m;
        }
        if (b < last && B.columns[b] == C.columns[k]) {
          sum = sum + A.values[a] * B.values[b];
          found = 1;
        }
      }
      C.values[k] = found ? sum : PetscScalar(sqrt(-1.0)); // a pattern that is not the product's shows
    }
  }
};

PetscErrorCode Scan(int64_t *a, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary("scan", stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, a, a, n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
} // namespace

PetscErrorCode DCSRSpGEMMSymbolic(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product)
{
  int64_t       *begins = NULL, *sizes = NULL, n = 0, nnz = 0;
  int32_t       *columns = NULL;
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *product = NULL;
  PetscCall(PetscMemzero(C, sizeof(*C)));
  PetscCheck(A.num_columns == B.num_rows && (A.row_offsets || !A.num_rows) && (B.row_offsets || !B.num_rows), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Operands %d x %d, %d x %d", (int)A.num_rows, (int)A.num_columns, (int)B.num_rows, (int)B.num_columns);
  PetscCheck(!values || ((A.values || !A.num_nonzeros) && (B.values || !B.num_nonzeros)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "No values");
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(A.num_rows + 1, "begins", stream, &begins));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(A.num_rows + 1, "sizes", stream, &sizes));
  PetscCallCUDAGoto(ierr, failed, cub::DeviceFor::Bulk((PetscCount)A.num_rows + 1, Count{A, B, begins}, stream));
  PetscCallGoto(ierr, failed, Scan(begins, A.num_rows + 1, stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(&n, begins + A.num_rows, sizeof(n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, failed, cudaStreamSynchronize(stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "products", stream, &columns));
  PetscCallCUDAGoto(ierr, failed, cub::DeviceFor::Bulk((PetscCount)A.num_rows + 1, Fill{A, B, begins, sizes, columns}, stream));
  PetscCallGoto(ierr, failed, Scan(sizes, A.num_rows + 1, stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(&nnz, sizes + A.num_rows, sizeof(nnz), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, failed, cudaStreamSynchronize(stream));
  PetscCallGoto(ierr, failed, DCSRNeedsWide((PetscCount)nnz, &wide));
  PetscCallGoto(ierr, failed, DCSRViewAllocateStructure(A.num_rows, B.num_columns, (PetscCount)nnz, wide, stream, C));
  PetscCallCUDAGoto(ierr, failed, cub::DeviceFor::Bulk((PetscCount)A.num_rows + 1, Copy{*C, begins, sizes, columns}, stream));
  if (values) {
    PetscCallGoto(ierr, failed, DCSRViewAllocateValues(C, stream));
    PetscCallGoto(ierr, failed, DCSRSpGEMMNumeric(NULL, A, B, *C, stream));
  }
  PetscCallGoto(ierr, failed, PetscNew(product));
  (*product)->num_products = (PetscCount)n;
  (*product)->num_rows     = A.num_rows;
failed:
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(C, stream));
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  PetscCall(PetscSparseCUDAFree(&sizes, stream));
  PetscCall(PetscSparseCUDAFree(&columns, stream));
  PetscFunctionReturn(ierr);
}

PetscErrorCode DCSRSpGEMMNumeric(DCSRSpGEMM, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (C.num_rows > 0) PetscCallCUDA(cub::DeviceFor::Bulk((PetscCount)C.num_rows, Multiply{A, B, C}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSpGEMMGetInfo(DCSRSpGEMM product, DCSRSpGEMMInfo *info)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->num_products = product->num_products;
  info->num_bins     = 1;
  info->bin_names[0] = "all";
  info->bin_rows[0]  = product->num_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSpGEMMDestroy(DCSRSpGEMM *product, cudaStream_t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*product));
  PetscFunctionReturn(PETSC_SUCCESS);
}
