/* The structure of 16-bit columns as an object: creation, release, and the product, whose kernel is in windowsmult.cu. */
#include "windowsimpl.h"

static PetscErrorCode WindowsSetUp(Windows w, DCSRView csr, const SpMVConfig *config, cudaStream_t stream)
{
  const size_t offset_bytes = (size_t)(csr.num_rows + 1) * (csr.wide ? sizeof(int64_t) : sizeof(int32_t));
  size_t       plan_bytes;
  DCSRFacts    facts;

  PetscFunctionBegin;
  PetscCall(SpMVFactsGet(csr, stream, &facts));
  if (config) w->config = *config;
  else PetscCall(WindowsRuleApply(csr.num_nonzeros, &facts, &w->config));
  w->entry = WindowsGetEntry(&w->config, csr.wide);
  PetscCheck(w->entry, PETSC_COMM_SELF, PETSC_ERR_SUP, "No kernel for 16-bit columns with %d lanes, %d threads, %d items, vector length %d", w->config.lanes, w->config.threads, w->config.items, w->config.vec);
  PetscCall(PetscSparseCUDAMalloc_Private(offset_bytes, "row offsets of a matrix with 16-bit columns", stream, &w->row_offsets));
  PetscCallCUDA(cudaMemcpyAsync(w->row_offsets, csr.row_offsets, offset_bytes, cudaMemcpyDeviceToDevice, stream));
  PetscCall(WindowsEncode(w, csr.columns, stream));
  PetscCall(SpMVPlanCreateTables(csr, &facts, &w->config, stream, &w->plan));
  PetscCall(DCSRSpMVPlanGetInfo(w->plan, NULL, NULL, &plan_bytes, NULL));
  w->bytes += offset_bytes + plan_bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsCreate - the structure of a matrix with 16-bit columns

  Input Parameters:
+ csr    - compact storage with at least one nonzero; columns of a row need no order, values are not looked at
. config - the launch configuration of the product, or NULL for the rule's choice
- stream - the stream; synchronizes

  Output Parameter:
. windows - the structure, NULL after an error; free it with WindowsDestroy()

  Cost: one pass over the structure. Errors: PETSC_ERR_MEM, nothing stays allocated then; PETSC_ERR_SUP for a configuration that does not exist, and for more rows or nonzeros than one launch covers.
*/
PetscErrorCode WindowsCreate(DCSRView csr, const SpMVConfig *config, cudaStream_t stream, Windows *windows)
{
  PetscErrorCode ierr;
  Windows        w;

  PetscFunctionBegin;
  *windows = NULL;
  PetscCall(PetscNew(&w));
  w->num_rows     = csr.num_rows;
  w->num_columns  = csr.num_columns;
  w->num_nonzeros = csr.num_nonzeros;
  w->wide         = csr.wide;
  PetscCallGoto(ierr, failed, WindowsSetUp(w, csr, config, stream));
  *windows = w;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(WindowsDestroy(&w, stream));
  PetscFunctionReturn(ierr);
}

/* WindowsDestroy - frees a structure; NULL is fine, and *windows is NULL afterwards */
PetscErrorCode WindowsDestroy(Windows *windows, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*windows == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&(*windows)->row_offsets, stream));
  PetscCall(PetscSparseCUDAFree(&(*windows)->columns, stream));
  PetscCall(PetscSparseCUDAFree(&(*windows)->windows, stream));
  PetscCall(PetscSparseCUDAFree(&(*windows)->upper, stream));
  PetscCall(DCSRSpMVPlanDestroy(&(*windows)->plan, stream));
  PetscCall(PetscFree(*windows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsMult - y = alpha A x + z on the device, bitwise the same every time

  Input Parameters:
+ w      - the structure
. values - the values, and what happens to them on the way; aligned to 16 bytes
. x      - [num_columns], device
. z      - [num_rows], device; NULL for none, y itself is allowed
- stream - asynchronous on it

  Output Parameter:
. y - [num_rows], device

  Cost: one launch; reads each value once and 2 bytes a nonzero beside it.
*/
PetscErrorCode WindowsMult(Windows w, const WindowsValues *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (w->plan->compressed) PetscCall(SpMVSetEmptyRows(w->num_rows, z, y, stream));
  PetscCall((*w->entry->launch)(w, values, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsMultEpilogue - what an epilogue makes of alpha A x, bitwise the same every time

  Input Parameters:
+ w        - the structure
. values   - the values, and what happens to them on the way; aligned to 16 bytes
. x        - [num_columns], device
. epilogue - see DCSRSpMVEpilogue
- stream   - asynchronous on it

  Input/Output Parameter:
. y - [num_rows], device; may be b or q

  Output Parameter:
. done - PETSC_FALSE: there is no such kernel for 64-bit offsets and for configurations of sweeps, nothing was done

  Cost: as WindowsMult(), and d, b and q; two launches when empty rows are skipped.
*/
PetscErrorCode WindowsMultEpilogue(Windows w, const WindowsValues *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  DCSRSpMVEpilogue left = *epilogue;

  PetscFunctionBegin;
  *done = (PetscBool)(w->entry->launch_epilogue != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (w->plan->compressed) PetscCall(SpMVEpilogueOfZero(w->num_rows, x, &left, y, stream));
  PetscCall((*w->entry->launch_epilogue)(w, values, x, &left, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
