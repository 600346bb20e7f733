/* Launch configurations for sweeps and tests; see sweeps.h. */
#include "sweeps.h"
#include "../../src/mat/kernels/spmm/spmmimpl.h"
#include "../../src/mat/kernels/spmv/spmvimpl.h"

#define SPMV_SPLIT_CONFIG(lanes, t, i, v, l, r)  {DCSR_SPMV_SPLIT, lanes, t, i, v, l, r},
#define SPMV_SCAN_CONFIG(lanes, t, i, v, l, r)   {DCSR_SPMV_SCAN, lanes, t, i, v, l, r},
#define SPMV_WARP_CONFIG(lanes, t, i, v, l, r)   {DCSR_SPMV_WARP, lanes, t, i, v, l, r},
#define SPMV_VECTOR_CONFIG(lanes, t, i, v, l, r) {DCSR_SPMV_VECTOR, lanes, t, i, v, l, r},

// clang-format off
static const SpMVConfig SpMVConfigs[] = {
  SPMV_SPLIT_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_CONFIGS(SPMV_SCAN_CONFIG) SPMV_WARP_CONFIGS(SPMV_WARP_CONFIG) SPMV_VECTOR_CONFIGS(SPMV_VECTOR_CONFIG)
#if defined(SPMV_SWEEP)
  SPMV_SPLIT_SWEEP_CONFIGS(SPMV_SPLIT_CONFIG) SPMV_SCAN_SWEEP_CONFIGS(SPMV_SCAN_CONFIG) SPMV_WARP_SWEEP_CONFIGS(SPMV_WARP_CONFIG) SPMV_VECTOR_SWEEP_CONFIGS(SPMV_VECTOR_CONFIG)
#endif
};
// clang-format on

PetscErrorCode SpMVConfigGetCount(PetscInt *n)
{
  PetscFunctionBegin;
  *n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(SpMVConfigs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpMVConfigGet(PetscInt i, SpMVConfig *config)
{
  PetscFunctionBegin;
  *config = SpMVConfigs[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSpMVPlanCreateWithConfig(DCSRView view, const SpMVConfig *config, cudaStream_t stream, DCSRSpMVPlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRSpMVPlan   p;

  PetscFunctionBegin;
  *plan = NULL;
  if (view.num_rows == 0 || view.num_nonzeros == 0) {
    PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, stream, plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&p));
  PetscCallGoto(ierr, fail, SpMVFactsGet(view, stream, &p->facts));
  PetscCallGoto(ierr, fail, SpMVPlanSetConfig(p, view, config, stream));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
fail:
  PetscCall(DCSRSpMVPlanDestroy(&p, stream));
  PetscFunctionReturn(ierr);
}

const char *const DCSRSpMMKinds[] = {"auto", "direct", "staged"};

PetscErrorCode DCSRSpMMPlanSetConfig(DCSRSpMMPlan plan, PetscInt width, PetscInt slots)
{
  PetscFunctionBegin;
  plan->width = width;
  plan->slots = slots;
  PetscFunctionReturn(PETSC_SUCCESS);
}
