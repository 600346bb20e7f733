/* Memory, copies, and kernels that are loaded beforehand, as tests see them. */
#include "sys.h"
#include "../../src/mat/impls/aijcuda/state/state.h"
#include "../../src/mat/kernels/storage/width.h"
#include "../../src/sys/exportable.h"
#include "../../src/sys/testing.h"

PetscErrorCode PetscSparseCUDAGetMemoryInUse(size_t *now, size_t *peak)
{
  uint64_t used = 0, most = 0;
  size_t   in_use, kept;

  PetscFunctionBegin;
  if (MemoryPool != NULL) {
    PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrUsedMemCurrent, &used));
    PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrUsedMemHigh, &most));
  }
  ExportableGetBytes(&in_use, &kept);
  *now = (size_t)used + in_use;
  if (peak != NULL) *peak = (size_t)most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestLibMemoryInUse(size_t *now)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAGetMemoryInUse(now, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSparseCUDATestResetPeak(void)
{
  uint64_t zero = 0;

  PetscFunctionBegin;
  if (MemoryPool != NULL) PetscCallCUDA(cudaMemPoolSetAttribute(MemoryPool, cudaMemPoolAttrUsedMemHigh, &zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSparseCUDATestGetMemoryHeld(size_t *held)
{
  uint64_t value = 0;

  PetscFunctionBegin;
  if (MemoryPool != NULL) PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrReservedMemCurrent, &value));
  *held = (size_t)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSparseCUDATestFailAllocation(PetscInt n)
{
  PetscFunctionBegin;
  MemoryTestFail = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSparseCUDATestSetMemoryAvailable(size_t bytes)
{
  PetscFunctionBegin;
  MemoryTestAvailable = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool PetscSparseCUDATestFailurePending(void)
{
  return (PetscBool)(MemoryTestFail > 0);
}

PetscErrorCode PetscSparseCUDATestPreloadWait(PetscInt *num_loaded, PetscInt *num_failed)
{
  struct cudaFuncAttributes attributes;

  PetscFunctionBegin;
  *num_loaded = 0;
  *num_failed = 0;
  for (PreloadGroup *group = PreloadGroups; group < PreloadGroups + PETSCSPARSECUDA_PRELOAD_NUM_GROUPS; group++) {
    if (group->running) PetscCheck(pthread_join(group->thread, NULL) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "A thread cannot be waited for");
    group->running = PETSC_FALSE;
    if (!group->started) continue;
    for (const PetscSparseCUDAKernel *kernel = group->kernels; kernel != NULL; kernel = kernel->next) {
      if (cudaFuncGetAttributes(&attributes, kernel->function) == cudaSuccess) (*num_loaded)++;
      else (*num_failed)++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PetscSparseCUDATestGetReport(PetscSparseCUDACause cause, PetscBool to_host, PetscInt64 *count, PetscLogDouble *bytes)
{
  *count = 0;
  *bytes = 0;
  for (const ReportRow *row = ReportRows; row < ReportRows + ReportNumRows; row++) {
    if (row->cause != (int)cause || row->to_host != (to_host ? 1 : 0)) continue;
    *count += (PetscInt64)row->count;
    *bytes += row->bytes;
  }
}

PetscErrorCode TestLibSetFromOptions(void)
{
  PetscInt available = 0, from = DCSR_MAX_NARROW, most = PETSC_INT_MAX, small = MatAIJCUDASmallBlock;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-petscsparsecuda_test_available_memory", &available, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_wide_from", &from, NULL));
  PetscCheck(from >= 0 && from <= DCSR_MAX_NARROW, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_dcsr_test_wide_from %" PetscInt_FMT " must be 0 to %d", from, DCSR_MAX_NARROW);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_max_nonzeros", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_small_block", &small, NULL));
  MatAIJCUDASmallBlock = small;
  MemoryTestAvailable  = (size_t)available;
  DCSRMaxNarrow        = from;
  DCSRMaxNonzeros      = most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

__attribute__((constructor)) static void Install(void)
{
  PetscSparseCUDATestInitialize = TestLibSetFromOptions;
}
