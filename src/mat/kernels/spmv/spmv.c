/*
  Mult, y = A x + z: plans and their application. The kernels are in spmvsplit.cu, spmvscan.cu, spmvwarp.cu, spmvrows.cu and spmvblocks.cu. spmvplan.cu makes what is cached from structure. spmvrule.c chooses.
*/
#include "spmvimpl.h"
#include <petscsparsecuda/spmvsingle.h>

const char *const DCSRSpMVKinds[] = {"auto", "split", "scan", "warp", "vector", "blocks", "DCSRSpMVKind", "DCSR_SPMV_", NULL};

static PetscErrorCode SpMVPlanDescribe(DCSRSpMVPlan plan)
{
  const SpMVConfig *c       = &plan->config;
  const char       *skipped = plan->compressed ? ", empty rows skipped" : "";

  PetscFunctionBegin;
  if (plan->entry == NULL) PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "none: no nonzeros"));
  else if (c->kind == DCSR_SPMV_SPLIT) PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "split, %d x %d nonzeros a block, %d lanes a row%s", c->threads, c->items, c->lanes, skipped));
  else if (c->kind == DCSR_SPMV_SCAN) PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "scan, %d x %d nonzeros a block%s", c->threads, c->items, skipped));
  else if (c->kind == DCSR_SPMV_BLOCKS) PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "blocks of %d x %d, %d lanes a row of blocks", c->items, c->vec, c->lanes));
  else if (c->kind == DCSR_SPMV_WARP) PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "warp, %d warps of %" PetscCount_FMT " nonzeros%s", (int)plan->num_blocks, plan->tile, skipped));
  else PetscCall(PetscSNPrintf(plan->info, sizeof(plan->info), "%s, %d threads a block, %d lanes a row%s, %d long rows", DCSRSpMVKinds[c->kind], c->threads, c->lanes, skipped, (int)plan->num_long));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernels of the plan's configuration. */
static PetscErrorCode SpMVPlanGetEntry(DCSRSpMVPlan plan, PetscBool wide)
{
  const SpMVEntry *entry = NULL;

  PetscFunctionBegin;
  switch (plan->config.kind) {
  case DCSR_SPMV_SPLIT:
    entry = SpMVSplitGetEntry(&plan->config, wide);
    break;
  case DCSR_SPMV_SCAN:
    entry = SpMVScanGetEntry(&plan->config, wide);
    break;
  case DCSR_SPMV_WARP:
    entry = SpMVWarpGetEntry(&plan->config, wide);
    break;
  case DCSR_SPMV_BLOCKS:
    entry = SpMVBlocksGetEntry(&plan->config);
    break;
  default:
    entry = SpMVRowsGetEntry(&plan->config, wide);
  }
  PetscCheck(entry, PETSC_COMM_SELF, PETSC_ERR_SUP, "No %s kernel with %d lanes, %d threads, %d items, vector length %d, load %d", DCSRSpMVKinds[plan->config.kind], plan->config.lanes,
             plan->config.threads, plan->config.items, plan->config.vec, plan->config.load);
  plan->entry = entry;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVPlanSetConfig - Gives a new plan, whose facts are there, a configuration, and makes its tables */
PetscErrorCode SpMVPlanSetConfig(DCSRSpMVPlan plan, DCSRView view, const SpMVConfig *config, cudaStream_t stream)
{
  PetscFunctionBegin;
  plan->config = *config;
  PetscCall(SpMVPlanGetEntry(plan, view.wide));
  plan->num_rows = (int32_t)view.num_rows;
  if (SpMVRuleCompressRows(view, &plan->facts)) PetscCall(SpMVPlanCompressRows(plan, view, stream));
  if (plan->config.kind == DCSR_SPMV_SCAN || plan->config.kind == DCSR_SPMV_SPLIT || plan->config.kind == DCSR_SPMV_WARP) PetscCall(SpMVPlanSetUpSplit(plan, view, stream));
  else PetscCall(SpMVPlanSetUpRows(plan, view, stream));
  PetscCall(SpMVPlanDescribe(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a new plan, whose facts are there, the kernel for blocks, if the structure is one of full blocks of the sizes that view says, and the rule is for it. */
static PetscErrorCode SpMVPlanTryBlocks(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  if (!SpMVRuleBlocks(view, &plan->facts, (int)view.row_block, (int)view.column_block, &plan->config)) PetscFunctionReturn(PETSC_SUCCESS);
  plan->entry = SpMVBlocksGetEntry(&plan->config);
  if (plan->entry == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpMVPlanSetUpBlocks(plan, view, stream, done));
  if (*done) PetscCall(SpMVPlanDescribe(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rule chooses, within kind. */
static PetscErrorCode SpMVPlanFill(DCSRSpMVPlan plan, DCSRView view, DCSRSpMVKind kind, cudaStream_t stream)
{
  SpMVConfig config;
  PetscBool  done = PETSC_FALSE;

  PetscFunctionBegin;
  if (view.num_rows > 0 && view.num_nonzeros > 0) {
    PetscCheck(view.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Products with vectors need compact storage, or a base and its overflow");
    PetscCheck(view.num_rows < PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscInt_FMT " local rows: the device product holds at most %d; use more ranks", view.num_rows,
               PETSC_INT32_MAX - 1);
    PetscCall(SpMVFactsGet(view, stream, &plan->facts));
    if (kind == DCSR_SPMV_AUTO || kind == DCSR_SPMV_BLOCKS) PetscCall(SpMVPlanTryBlocks(plan, view, stream, &done));
    if (done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(SpMVRuleApply(view, &plan->facts, kind == DCSR_SPMV_BLOCKS ? DCSR_SPMV_AUTO : kind, &config));
    PetscCall(SpMVPlanSetConfig(plan, view, &config, stream));
  } else {
    plan->config.kind = DCSR_SPMV_VECTOR;
    PetscCall(SpMVPlanDescribe(plan));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVPlanCreate - reads the structure of a matrix and caches what Mult needs
  view is compact storage. Values are not read and may change, the structure may not. Values and columns must be aligned to 16 bytes. kind: DCSR_SPMV_AUTO for the launch rule's choice, blocks for
  structures of full blocks of the sizes that view says; DCSR_SPMV_BLOCKS is the same. plan is NULL on an error; free it with DCSRSpMVPlanDestroy().
  By blocks, 4 bytes of index a block are read in place of 4 a nonzero; costs what DCSRBlockListGet() does. Otherwise costs one pass over the row offsets, one synchronization, and another pass or two, with another synchronization for the vector kernel, when there are long or many empty rows.
  A plan has partial sums of its own for rows that several thread blocks sum: it must not be used at the same time on different streams.
*/
PetscErrorCode DCSRSpMVPlanCreate(DCSRView view, DCSRSpMVKind kind, cudaStream_t stream, DCSRSpMVPlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  DCSRSpMVPlan   p;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCall(PetscNew(&p));
  PetscCallGoto(ierr, fail, SpMVPlanFill(p, view, kind, stream));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
fail:
  PetscCall(DCSRSpMVPlanDestroy(&p, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVPlanCreateSingle - a plan for values in single precision, where the launch rule has another configuration for them; plan is of DCSRSpMVPlanCreate() for the same structure, with the rule's
  choice single is for products with values in single precision alone; NULL on an error, and when plan serves them; free it with DCSRSpMVPlanDestroy(). Cost: as DCSRSpMVPlanCreate(), without the pass
  for the facts.
*/
PetscErrorCode DCSRSpMVPlanCreateSingle(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, DCSRSpMVPlan *single)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  SpMVConfig     config;
  DCSRSpMVPlan   p;

  PetscFunctionBegin;
  *single = NULL;
  if (!DCSRSpMVPlanHasSingle(plan) || plan->config.kind == DCSR_SPMV_BLOCKS || !SpMVRuleSingle(view, &plan->facts, &config) || SpMVConfigSame(&config, &plan->config))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&p));
  p->facts = plan->facts;
  PetscCallGoto(ierr, fail, SpMVPlanSetConfig(p, view, &config, stream));
  *single = p;
  PetscFunctionReturn(PETSC_SUCCESS);
fail:
  PetscCall(DCSRSpMVPlanDestroy(&p, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVPlanDestroy - frees a plan; NULL is fine, and *plan is NULL afterwards */
PetscErrorCode DCSRSpMVPlanDestroy(DCSRSpMVPlan *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*plan == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&(*plan)->row_index, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->row_offsets, stream));
  PetscCall(DCSRBlockListDestroy(&(*plan)->list, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->blocks, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->heads, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->long_rows, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->chunk_rows, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->parts, stream));
  PetscCall(PetscSparseCUDAFree(&(*plan)->arrived, stream));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVPlanGetInfo - the kernel taken, the facts it was chosen by, the device memory held and a line for people; every output may be NULL, the line lives as long as the plan */
PetscErrorCode DCSRSpMVPlanGetInfo(DCSRSpMVPlan plan, DCSRSpMVKind *kind, DCSRFacts *facts, size_t *bytes, const char **info)
{
  PetscFunctionBegin;
  if (kind) *kind = plan->config.kind;
  if (facts) *facts = plan->facts;
  if (bytes) *bytes = plan->bytes;
  if (info) *info = plan->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = z or 0 before a kernel that skips empty rows, or when there is none; z == y needs nothing. y and z [num_rows], device */
static PetscErrorCode SpMVSetEmptyRows(PetscInt num_rows, const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const size_t bytes = sizeof(*y) * (size_t)num_rows;

  PetscFunctionBegin;
  if (z == y || bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (z) PetscCallCUDA(cudaMemcpyAsync(y, z, bytes, cudaMemcpyDeviceToDevice, stream));
  else PetscCallCUDA(cudaMemsetAsync(y, 0, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z with values of one of the precisions of spmvimpl.h. */
static PetscErrorCode SpMVApply(DCSRSpMVPlan plan, const DCSRView *view, int precision, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (plan->compressed || plan->entry == NULL) PetscCall(SpMVSetEmptyRows(view->num_rows, z, y, stream));
  if (plan->entry) PetscCall((*plan->entry->launch[precision])(plan, view, values, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVApply - y = A x + z on the device, asynchronous, bitwise the same every time; the plan was made from the same structure
  x [num_columns], z and y [num_rows], device. z is NULL for y = A x, and y itself for y += A x. Every entry of y is written, or with empty rows skipped and z == y only those of nonempty rows.
  One launch, no synchronization, no allocation. When empty rows are skipped and z is not y, y is set by a copy of z or zeros first.
*/
PetscErrorCode DCSRSpMVApply(DCSRSpMVPlan plan, DCSRView view, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMVApply(plan, &view, SPMV_VALUES_SCALAR, view.values, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVPlanHasSingle - Whether products can have values in single precision: not with 64-bit offsets, unless by blocks, and PETSc in single precision */
PetscBool DCSRSpMVPlanHasSingle(DCSRSpMVPlan plan)
{
  return (PetscBool)(plan->entry != NULL && plan->entry->launch[SPMV_VALUES_SINGLE] != NULL);
}

/*
  DCSRSpMVApplySingle - DCSRSpMVApply() with values in single precision, which are converted when they have been loaded; sums are PetscScalar
  DCSRSpMVPlanHasSingle() for the plan. The values of view are not read; values [num_nonzeros], device, aligned to 16 bytes, are as DCSRRoundValues() makes them. The bits are those of DCSRSpMVApply()
  with the rounded values.
*/
PetscErrorCode DCSRSpMVApplySingle(DCSRSpMVPlan plan, DCSRView view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMVApply(plan, &view, SPMV_VALUES_SINGLE, values, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y as if A were zero, before a kernel that skips empty rows or when there is none, and what is left to do then, that without b; nothing where y is only updated. One launch. */
static PetscErrorCode SpMVEpilogueOfZero(PetscInt num_rows, const PetscScalar x[], DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMVEpilogueApply(num_rows, NULL, x, epilogue, y, stream));
  epilogue->b = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with an epilogue. */
static PetscErrorCode SpMVApplyEpilogue(DCSRSpMVPlan plan, const DCSRView *view, int precision, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                        cudaStream_t stream, PetscBool *done)
{
  DCSRSpMVEpilogue left = *epilogue;

  PetscFunctionBegin;
  *done = (PetscBool)(plan->entry == NULL || plan->entry->launch_epilogue[precision] != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (plan->compressed || plan->entry == NULL) PetscCall(SpMVEpilogueOfZero(view->num_rows, x, &left, y, stream));
  if (plan->entry) PetscCall((*plan->entry->launch_epilogue[precision])(plan, view, values, x, &left, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVApplyEpilogue - y = alpha d (b - A x) + beta x + gamma q or y = y - alpha d A x on the device, entry by entry, asynchronous, bitwise the same every time
  x [num_columns] and y [num_rows], device; y may be q or b. done = PETSC_FALSE: this plan has no kernel for it, and nothing was done; DCSRSpMVApply() and DCSRSpMVEpilogueApply() do it.
  One launch, no synchronization, no allocation; two when empty rows are skipped and b is given, since y of these depends on b: all rows as if A were 0, then what A has.
*/
PetscErrorCode DCSRSpMVApplyEpilogue(DCSRSpMVPlan plan, DCSRView view, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(SpMVApplyEpilogue(plan, &view, SPMV_VALUES_SCALAR, view.values, x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVApplyEpilogueSingle - DCSRSpMVApplyEpilogue() with values as in DCSRSpMVApplySingle() */
PetscErrorCode DCSRSpMVApplyEpilogueSingle(DCSRSpMVPlan plan, DCSRView view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream,
                                           PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(SpMVApplyEpilogue(plan, &view, SPMV_VALUES_SINGLE, values, x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
