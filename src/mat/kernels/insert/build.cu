/*
  Sorted lists become structure, and batches: the structure together with its values.
*/
#include "listimpl.h"
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
  DCSRListBuild - compact structure of the distinct entries of a sorted list with its keys. Asynchronous
  Of to num_rows and wide are set; row_offsets [num_rows + 1] and columns [num_distinct] are allocated.
*/
PetscErrorCode DCSRListBuild(const DCSRList *list, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->wide) PetscCall(Build<int64_t>(list, to, stream));
  else PetscCall(Build<int32_t>(list, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a batch from a list whose runs are known, and which of them are to be made. */
static PetscErrorCode ReduceRuns(DCSRList *list, const PetscScalar v[], PetscBool last, PetscBool ignore_zeros, PetscInt diagonal, cudaStream_t stream, DCSRBatch *batch)
{
  PetscFunctionBegin;
  batch->num_entries = list->num_distinct;
  if (list->wide) PetscCall(TakeKeys<int64_t>(list, stream, &batch->keys));
  else PetscCall(TakeKeys<int32_t>(list, stream, &batch->keys));
  PetscCall(DCSRListForgetKeys(list, stream)); // not later: no more memory than the sort took
  PetscCall(PetscSparseCUDAMalloc(batch->num_entries, "values of a batch", stream, &batch->values));
  PetscCall(DCSRListReduce(list, v, NULL, list->num_given, last, PETSC_FALSE, batch->values, stream));
  if (ignore_zeros) {
    PetscCall(PetscSparseCUDAMalloc(batch->num_entries, "flags of a batch", stream, &batch->counts));
    PetscCall(DCSRListFlagNonzeros(list, v, batch->keys, diagonal, batch->counts, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRBatchCreate - the distinct entries of a sorted list, which loses its keys, with their values; waits for the number of distinct entries when it is not known
  v [num_given], device: values of the unsorted list. last: take the last of repeated entries, otherwise their sum. ignore_zeros: entries that were given zeros alone do not count, unless they are on
  the diagonal. diagonal: column of the diagonal entry of row 0, DCSR_NO_DIAGONAL when there is no diagonal.
  batch is zero after an error; free it with DCSRBatchDestroy().
*/
PetscErrorCode DCSRBatchCreate(DCSRList *list, const PetscScalar v[], PetscBool last, PetscBool ignore_zeros, PetscInt diagonal, cudaStream_t stream, DCSRBatch *batch)
{
  PetscBool      done = PETSC_FALSE;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(batch, 1));
  batch->column_bits = list->column_bits;
  if (list->num_distinct == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->may_repeat && !ignore_zeros) {
    PetscCallGoto(ierr, failed, DCSRListTakeDistinct(list, v, last, stream, batch, &done));
    PetscCallGoto(ierr, failed, done ? DCSRListForgetKeys(list, stream) : DCSRBatchDestroy(batch, stream));
    if (done) PetscFunctionReturn(PETSC_SUCCESS);
    batch->column_bits = list->column_bits;
  }
  PetscCallGoto(ierr, failed, DCSRListFindRuns(list, stream));
  PetscCallGoto(ierr, failed, ReduceRuns(list, v, last, ignore_zeros, diagonal, stream, batch));
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
