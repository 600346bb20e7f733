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

/* First position of column among n sorted ones. */
__device__ int32_t Position(const int32_t *sorted, int32_t n, int32_t column)
{
  return LowerBound(sorted, (int32_t)0, n, column);
}

/* Whether the column of a key is among sorted ones. */
struct FlagAmong {
  const uint64_t *keys;
  uint64_t        mask;
  const int32_t  *sorted;
  int32_t         n;
  unsigned char  *flags;
  __device__ void operator()(PetscCount t) const
  {
    const int32_t column = (int32_t)(keys[t] & mask), position = Position(sorted, n, column);

    flags[t] = position < n && sorted[position] == column;
  }
};

struct RenumberKey {
  uint64_t       *keys;
  const int32_t  *sorted;
  int32_t         n;
  int             old_bits, new_bits;
  __device__ void operator()(PetscCount t) const
  {
    const uint64_t key = keys[t];

    keys[t] = (key >> old_bits) << new_bits | (uint64_t)Position(sorted, n, (int32_t)(key & (((uint64_t)1 << old_bits) - 1)));
  }
};

struct RenumberColumn {
  int32_t        *columns;
  const int32_t  *sorted;
  int32_t         n;
  __device__ void operator()(PetscCount k) const { columns[k] = Position(sorted, n, columns[k]); }
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

/* How many entries a selection has. */
PetscErrorCode GetCount(const PetscCount *device, cudaStream_t stream, PetscCount *count)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(count, device, sizeof(*count), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Drops the columns [*n] of entries that are not to be made. */
PetscErrorCode SelectCounting(const unsigned char counts[], cudaStream_t stream, PetscCount *n, int32_t **columns)
{
  PetscErrorCode ierr     = PETSC_SUCCESS;
  int32_t       *selected = NULL;
  PetscCount    *count    = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*n, "columns of entries that count", stream, &selected));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of entries that count", stream, &count));
  PetscCallGoto(ierr, cleanup, DCSRSelectFlagged32("workspace to find entries that count", *n, *columns, counts, selected, count, stream));
  PetscCallGoto(ierr, cleanup, GetCount(count, stream, n));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAFree(columns, stream));
  *columns = selected;
  selected = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&selected, stream));
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a batch with a flag; kept is to be freed, also after an error. */
PetscErrorCode SelectEntries(const DCSRBatch *batch, const unsigned char flags[], PetscCount *count, cudaStream_t stream, DCSRBatch *kept)
{
  const char *const what = "workspace to select entries of a batch";
  const PetscCount  n    = batch->num_entries;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "keys of selected entries", stream, &kept->keys));
  PetscCall(PetscSparseCUDAMalloc(n, "values of selected entries", stream, &kept->values));
  PetscCall(DCSRSelectFlagged64(what, n, (const int64_t *)batch->keys, flags, (int64_t *)kept->keys, count, stream));
  PetscCall(DCSRSelectFlaggedScalars(what, n, batch->values, flags, kept->values, count, stream));
  if (batch->counts) {
    PetscCall(PetscSparseCUDAMalloc(n, "flags of selected entries", stream, &kept->counts));
    PetscCall(DCSRSelectFlagged8(what, n, batch->counts, flags, kept->counts, count, stream));
  }
  PetscCall(GetCount(count, stream, &kept->num_entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRBatchGetColumns - the distinct columns of the entries of a batch that are to be made, ascending: columns [num] on the host, to be freed with PetscFree() */
PetscErrorCode DCSRBatchGetColumns(const DCSRBatch *batch, cudaStream_t stream, PetscInt *num, int32_t **columns)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  PetscCount     n      = batch->num_entries;
  int32_t       *device = NULL;

  PetscFunctionBegin;
  *num     = 0;
  *columns = NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(n, "columns of a batch", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, ColumnOfKey{batch->keys, ((uint64_t)1 << batch->column_bits) - 1, device}, stream));
  if (batch->counts) PetscCallGoto(ierr, cleanup, SelectCounting(batch->counts, stream, &n, &device));
  if (n > 0) PetscCallGoto(ierr, cleanup, Distinct(device, n, batch->column_bits, stream, num, columns));
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

/* DCSRBatchKeepColumns - drops the entries of a batch whose columns are not among sorted [n] (device, ascending); synchronizes with the stream. The batch is as it was after an error */
PetscErrorCode DCSRBatchKeepColumns(DCSRBatch *batch, PetscInt n, const int32_t sorted[], cudaStream_t stream)
{
  DCSRBatch      kept  = {0, batch->column_bits, NULL, NULL, NULL};
  unsigned char *flags = NULL;
  PetscCount    *count = NULL;
  PetscErrorCode ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (batch->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(batch->num_entries, "flags of columns", stream, &flags));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of entries", stream, &count));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(batch->num_entries, FlagAmong{batch->keys, ((uint64_t)1 << batch->column_bits) - 1, sorted, (int32_t)n, flags}, stream));
  PetscCallGoto(ierr, cleanup, SelectEntries(batch, flags, count, stream, &kept));
  PetscCallGoto(ierr, cleanup, DCSRBatchDestroy(batch, stream));
  *batch = kept;
  PetscCallGoto(ierr, cleanup, PetscArrayzero(&kept, 1));
cleanup:
  PetscCall(DCSRBatchDestroy(&kept, stream));
  PetscCall(PetscSparseCUDAFree(&flags, stream));
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBatchRenumber - columns of a batch become their positions among n sorted ones [n] on the device, all of which are there; order is kept */
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
