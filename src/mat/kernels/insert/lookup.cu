/*
  Looks up the entries of a batch: a binary search each in compact storage, unless the batch is large (lookuptiles.cu), one a segment in fragmented storage, whose
  segments are sorted. Rows of any length.
*/
#include "../common/message.h"
#include "batch.cuh"
#include "find.cuh"
#include "lookup.cuh"
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace
{

struct IsNew {
  const PetscCount *where;
  __device__ bool   operator()(PetscCount t) const { return where[t] < 0 && where[t] != DCSR_NOWHERE; }
};

/* An entry that was there gets its value. */
template <bool Add>
struct WriteFound {
  const PetscCount  *where;
  const PetscScalar *from;
  PetscScalar       *to;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount k = where[t];

    if (k >= 0) to[k] = Add ? to[k] + from[t] : from[t];
  }
};

template <typename Offset>
PetscErrorCode LookupCompact(DCSRView view, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscBool      done;

  PetscFunctionBegin;
  PetscCall(LookupAllocate(batch, stream, lookup));
  PetscCallGoto(ierr, failed, DCSRLookupTiles(view, batch, lookup, stream, &done));
  if (!done) PetscCallGoto(ierr, failed, Lookup(FindCompact<Offset>{view}, batch, lookup, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRLookupDestroy(lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRLookupCreate - finds out which of the sorted distinct entries of a batch, at least one, are in compact or fragmented storage, and where. Asynchronous
  lookup has positions and device numbers; it is zero after an error, and to be freed with DCSRLookupDestroy().
*/
PetscErrorCode DCSRLookupCreate(DCSRView view, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  if (view.row_offsets && view.wide) PetscCall(LookupCompact<int64_t>(view, batch, stream, lookup));
  else if (view.row_offsets) PetscCall(LookupCompact<int32_t>(view, batch, stream, lookup));
  else if (view.wide) PetscCall(LookupCreate(FindInSegments<int64_t>{view}, batch, stream, lookup));
  else PetscCall(LookupCreate(FindInSegments<int32_t>{view}, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupListNew - makes the list of new entries; does nothing when that was done; asynchronous */
PetscErrorCode DCSRLookupListNew(DCSRLookup *lookup, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (lookup->entries) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(lookup->num_entries, "list of new entries", stream, &lookup->entries));
  PetscCall(DCSRWithTemporary("workspace to list new entries", (PetscCount)lookup->num_entries, stream, [&](void *storage, size_t &bytes) {
    return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<PetscCount>(0), lookup->entries, &lookup->device->num_listed, (int64_t)lookup->num_entries, IsNew{lookup->where}, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupSend - sends the numbers to the host, for DCSRLookupFinish(), which does not wait for work that is queued in between; asynchronous. Nothing else is sent until then */
PetscErrorCode DCSRLookupSend(DCSRLookup *lookup, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSendNumbers(lookup->device, sizeof(lookup->numbers), stream, &lookup->sent));
  lookup->is_sent = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupFinish - brings the numbers to the host; synchronizes */
PetscErrorCode DCSRLookupFinish(DCSRLookup *lookup, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!lookup->is_sent) PetscCall(DCSRLookupSend(lookup, stream));
  lookup->is_sent = PETSC_FALSE;
  PetscCall(DCSRAwaitNumbers(&lookup->sent, stream, &lookup->numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupDestroy - frees it; a zero one is fine, and it is zero afterwards */
PetscErrorCode DCSRLookupDestroy(DCSRLookup *lookup, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (lookup->is_sent) PetscCall(DCSRLookupFinish(lookup, stream)); // after an error: what is under way must not meet the next one
  PetscCall(PetscSparseCUDAFree(&lookup->where, stream));
  PetscCall(PetscSparseCUDAFree(&lookup->ranks, stream));
  PetscCall(PetscSparseCUDAFree(&lookup->entries, stream));
  PetscCall(PetscArrayzero(lookup, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupWriteFound - the values of the entries that were there: ADD_VALUES, otherwise they replace. Asynchronous view is the storage that was looked up; the numbers of lookup are on the host. */
PetscErrorCode DCSRLookupWriteFound(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.values == NULL || batch->num_entries == (PetscCount)lookup->numbers.num_new) PetscFunctionReturn(PETSC_SUCCESS);
  if (mode == ADD_VALUES) PetscCallCUDA(DCSRForEach(batch->num_entries, WriteFound<true>{lookup->where, batch->values, view.values}, stream));
  else PetscCallCUDA(DCSRForEach(batch->num_entries, WriteFound<false>{lookup->where, batch->values, view.values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
