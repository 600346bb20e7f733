/*
  New entries of a batch of any size are appended to the rows they belong to: see append.cuh.
*/
#include "append.cuh"
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

template <typename Offset>
struct NeedsOfRow {
  DCSRView          view;
  NewKeys           keys;
  const PetscCount *num;
  double            slack;

  __device__ Needs operator()(PetscCount q) const
  {
    const NewRows rows{keys, *num};

    if (q >= rows.num || !rows.IsLeader(q)) return Needs{0, 0};
    const RowPlan plan = PlanRow<Offset>(view, keys.Row(q), (int32_t)(rows.End(q) - q), slack);

    return plan.length > 0 ? Needs{plan.length, plan.num_old} : Needs{0, 0};
  }
};

template <typename Offset>
PetscErrorCode Append(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, const DCSRAppendPlan *plan, cudaStream_t stream)
{
  const PetscCount        num = (PetscCount)lookup->numbers.num_new;
  const Appending<Offset> a   = {view, {{batch->keys, lookup->entries, batch->column_bits}, num}, batch->values, (const Needs *)plan->before, plan->slack};

  PetscFunctionBegin;
  if (lookup->numbers.moved) PetscCallCUDA(DCSRForEach(lookup->numbers.moved, MoveOld<Offset>{a}, stream));
  PetscCallCUDA(DCSRForEach(num, PositionNew<Offset>{a}, stream));
  PetscCallCUDA(DCSRForEach(num, CommitRow<Offset>{a}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of what the rows before need; the last one also goes to the numbers of the lookup. */
template <typename Offset>
PetscErrorCode SumNeeds(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, double slack, Needs *before, cudaStream_t stream)
{
  const NeedsOfRow<Offset> needs = {view, {batch->keys, lookup->entries, batch->column_bits}, &lookup->device->num_listed, slack};
  const auto               input = thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), needs);

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary("workspace to plan an insertion", (PetscCount)batch->num_entries + 1, stream, [&](void *storage, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(storage, bytes, input, before, AddNeeds(), Needs{0, 0}, (int64_t)batch->num_entries + 1, stream);
  }));
  PetscCallCUDA(cudaMemcpyAsync(&lookup->device->pool, before + batch->num_entries, sizeof(Needs), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRAppendPlanCreate - finds out what it takes to append the new entries of a batch to fragmented storage. Asynchronous
  lookup is of the batch in the view, with its list; its numbers need not be on the host, and pool and moved are among the device's numbers afterwards. slack: unused entries behind a new segment, as a
  part of the row's entries.
  plan is zero after an error; free it with DCSRAppendPlanDestroy().
*/
PetscErrorCode DCSRAppendPlanCreate(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, PetscReal slack, cudaStream_t stream, DCSRAppendPlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(plan, 1));
  plan->slack = slack;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(2 * (batch->num_entries + 1), "plan of an insertion", stream, &plan->before));
  if (view.wide) PetscCallGoto(ierr, failed, SumNeeds<int64_t>(view, batch, lookup, (double)slack, (Needs *)plan->before, stream));
  else PetscCallGoto(ierr, failed, SumNeeds<int32_t>(view, batch, lookup, (double)slack, (Needs *)plan->before, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRAppendPlanDestroy(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAppendPlanDestroy - frees it; a zero one is fine, and it is zero afterwards */
PetscErrorCode DCSRAppendPlanDestroy(DCSRAppendPlan *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&plan->before, stream));
  PetscCall(PetscArrayzero(plan, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAppendBatch - the new entries of a batch are appended to the rows of fragmented storage, and those that were there get their values: ADD_VALUES, otherwise they are replaced. Asynchronous
  view has at least numbers.pool unused entries in its pool; it keeps its arrays, num_nonzeros and used are set. lookup is of the batch in the view, with its list and its numbers on the host.
*/
PetscErrorCode DCSRAppendBatch(DCSRView *view, const DCSRBatch *batch, const DCSRLookup *lookup, const DCSRAppendPlan *plan, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(lookup->numbers.pool <= view->capacity - view->used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Appending takes %" PetscCount_FMT " pool entries, %" PetscCount_FMT " are left",
             lookup->numbers.pool, view->capacity - view->used);
  PetscCall(DCSRLookupWriteFound(*view, batch, lookup, mode, stream)); // positions are those from before
  if (view->wide) PetscCall(Append<int64_t>(*view, batch, lookup, plan, stream));
  else PetscCall(Append<int32_t>(*view, batch, lookup, plan, stream));
  view->num_nonzeros += (PetscCount)lookup->numbers.num_new;
  view->used += lookup->numbers.pool;
  PetscFunctionReturn(PETSC_SUCCESS);
}
