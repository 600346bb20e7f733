/*
  Sorted lists become structure, and batches: the structure together with its values.
*/
#include "rows.cuh"

namespace
{

template <typename Index>
PetscErrorCode Build(const DCSRList *list, DCSRView to, cudaStream_t stream)
{
  const DistinctKeys<Index> keys{list->keys, (const Index *)list->runs};

  PetscFunctionBegin;
  if (to.wide) PetscCall(RowsOfKeys(to.num_rows, keys, list->num_distinct, list->column_bits, (int64_t *)to.row_offsets, to.columns, stream));
  else PetscCall(RowsOfKeys(to.num_rows, keys, list->num_distinct, list->column_bits, (int32_t *)to.row_offsets, to.columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
struct GatherDistinct {
  DistinctKeys<Index> keys;
  uint64_t           *to;
  __device__ void     operator()(PetscCount t) const { to[t] = keys[t]; }
};

/* Distinct keys in place of all. */
template <typename Index>
PetscErrorCode TakeKeys(DCSRList *list, cudaStream_t stream, uint64_t **keys)
{
  PetscFunctionBegin;
  if (list->runs == NULL) {
    *keys      = list->keys;
    list->keys = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(list->num_distinct, "distinct keys of a batch", stream, keys));
  PetscCallCUDA(DCSRForEach(list->num_distinct, GatherDistinct<Index>{{list->keys, (const Index *)list->runs}, *keys}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRListBuild - compact structure of the distinct entries of a list

  Input Parameters:
+ list   - the sorted list with its keys
. to     - num_rows and wide are set; row_offsets [num_rows + 1] and columns [num_distinct] are allocated
- stream - asynchronous on it
*/
PetscErrorCode DCSRListBuild(const DCSRList *list, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->wide) PetscCall(Build<int64_t>(list, to, stream));
  else PetscCall(Build<int32_t>(list, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRBatchCreate - the distinct entries of a list with their values

  Input Parameters:
+ list   - the sorted list; loses its keys
. v      - [num_given] values of the unsorted list, device
. last   - take the last of repeated entries, otherwise their sum
. ignore_zeros - entries that were given zeros alone do not count, unless they are on the diagonal
. diagonal - column of the diagonal entry of row 0, DCSR_NO_DIAGONAL when there is no diagonal
- stream - asynchronous on it

  Output Parameter:
. batch - zero after an error; free it with DCSRBatchDestroy()
*/
PetscErrorCode DCSRBatchCreate(DCSRList *list, const PetscScalar v[], PetscBool last, PetscBool ignore_zeros, PetscInt diagonal, cudaStream_t stream, DCSRBatch *batch)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(batch, 1));
  batch->num_entries = list->num_distinct;
  batch->column_bits = list->column_bits;
  if (batch->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->wide) PetscCallGoto(ierr, failed, TakeKeys<int64_t>(list, stream, &batch->keys));
  else PetscCallGoto(ierr, failed, TakeKeys<int32_t>(list, stream, &batch->keys));
  PetscCallGoto(ierr, failed, DCSRListForgetKeys(list, stream)); // not later: no more memory than the sort took
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(batch->num_entries, "values of a batch", stream, &batch->values));
  PetscCallGoto(ierr, failed, DCSRListReduce(list, v, NULL, list->num_given, last, PETSC_FALSE, batch->values, stream));
  if (ignore_zeros) {
    PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(batch->num_entries, "flags of a batch", stream, &batch->counts));
    PetscCallGoto(ierr, failed, DCSRListFlagNonzeros(list, v, batch->keys, diagonal, batch->counts, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRBatchDestroy(batch, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBatchDestroy - frees a batch; a zero one is fine, and it is zero afterwards */
PetscErrorCode DCSRBatchDestroy(DCSRBatch *batch, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&batch->keys, stream));
  PetscCall(PetscSparseCUDAFree(&batch->values, stream));
  PetscCall(PetscSparseCUDAFree(&batch->counts, stream));
  PetscCall(PetscArrayzero(batch, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
