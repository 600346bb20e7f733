/*
  Columns of the off-diagonal block: which global ones a batch or a structure uses, and their local numbers.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/select.h"
#include "../common/sort.h"
#include <petscsparsecuda/insert.h>

namespace
{

struct ColumnOfKey {
  const uint64_t *keys;
  uint64_t        mask;
  int32_t        *columns;
  __device__ void operator()(PetscCount t) const { columns[t] = (int32_t)(keys[t] & mask); }
};

/* First place of column among n sorted ones. */
__device__ int32_t Place(const int32_t *sorted, int32_t n, int32_t column)
{
  return LowerBound(sorted, (int32_t)0, n, column);
}

struct RenumberKey {
  uint64_t       *keys;
  const int32_t  *sorted;
  int32_t         n;
  int             old_bits, new_bits;
  __device__ void operator()(PetscCount t) const
  {
    const uint64_t key = keys[t];

    keys[t] = (key >> old_bits) << new_bits | (uint64_t)Place(sorted, n, (int32_t)(key & (((uint64_t)1 << old_bits) - 1)));
  }
};

struct RenumberColumn {
  int32_t        *columns;
  const int32_t  *sorted;
  int32_t         n;
  __device__ void operator()(PetscCount k) const { columns[k] = Place(sorted, n, columns[k]); }
};

struct MapColumn {
  int32_t        *columns;
  const int32_t  *map;
  __device__ void operator()(PetscCount k) const { columns[k] = map[columns[k]]; }
};

/* Sorts columns [n], which are overwritten, and hands their distinct values to the host. */
PetscErrorCode Distinct(int32_t *columns, PetscCount n, int bits, cudaStream_t stream, PetscInt *num, int32_t **distinct)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  int32_t       *sorted = NULL;
  PetscCount    *count = NULL, num_distinct = 0;

  PetscFunctionBegin;
  *num      = 0;
  *distinct = NULL;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted columns", stream, &sorted));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of columns", stream, &count));
  PetscCallGoto(ierr, cleanup, DCSRSortKeys32("workspace to sort columns", n, PetscMax(bits, 1), (const uint32_t *)columns, (uint32_t *)sorted, stream));
  PetscCallGoto(ierr, cleanup, DCSRSelectDistinct32("workspace to find distinct columns", n, sorted, columns, count, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&num_distinct, count, sizeof(num_distinct), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(num_distinct, distinct));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(*distinct, columns, (size_t)num_distinct * sizeof(**distinct), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *num = (PetscInt)num_distinct;
cleanup:
  PetscCall(PetscSparseCUDAFree(&sorted, stream));
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRBatchGetColumns - the distinct columns of a batch, ascending

  Output Parameters:
+ num     - how many
- columns - [num] host, to be freed with PetscFree()
*/
PetscErrorCode DCSRBatchGetColumns(const DCSRBatch *batch, cudaStream_t stream, PetscInt *num, int32_t **columns)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  int32_t       *device = NULL;

  PetscFunctionBegin;
  *num     = 0;
  *columns = NULL;
  if (batch->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(batch->num_entries, "columns of a batch", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(batch->num_entries, ColumnOfKey{batch->keys, ((uint64_t)1 << batch->column_bits) - 1, device}, stream));
  PetscCallGoto(ierr, cleanup, Distinct(device, batch->num_entries, batch->column_bits, stream, num, columns));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRViewGetColumns - the same for compact storage, whose columns have so many bits */
PetscErrorCode DCSRViewGetColumns(DCSRView view, int bits, cudaStream_t stream, PetscInt *num, int32_t **columns)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  int32_t       *device = NULL;

  PetscFunctionBegin;
  *num     = 0;
  *columns = NULL;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(view.num_nonzeros, "columns of a matrix", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(device, view.columns, (size_t)view.num_nonzeros * sizeof(*device), cudaMemcpyDeviceToDevice, stream));
  PetscCallGoto(ierr, cleanup, Distinct(device, view.num_nonzeros, bits, stream, num, columns));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBatchRenumber - columns of a batch become their places among n sorted ones [n] on the device, all of which are there; order is kept */
PetscErrorCode DCSRBatchRenumber(DCSRBatch *batch, PetscInt n, const int32_t sorted[], cudaStream_t stream)
{
  const int bits = DCSRKeyBits(n);

  PetscFunctionBegin;
  if (batch->num_entries > 0) PetscCallCUDA(DCSRForEach(batch->num_entries, RenumberKey{batch->keys, sorted, (int32_t)n, batch->column_bits, bits}, stream));
  batch->column_bits = bits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRViewRenumber - the same for the columns of compact storage */
PetscErrorCode DCSRViewRenumber(DCSRView view, PetscInt n, const int32_t sorted[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.num_nonzeros > 0) PetscCallCUDA(DCSRForEach(view.num_nonzeros, RenumberColumn{view.columns, sorted, (int32_t)n}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRViewMapColumns - column c of compact storage becomes map[c], ascending; device */
PetscErrorCode DCSRViewMapColumns(DCSRView view, const int32_t map[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.num_nonzeros > 0) PetscCallCUDA(DCSRForEach(view.num_nonzeros, MapColumn{view.columns, map}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
