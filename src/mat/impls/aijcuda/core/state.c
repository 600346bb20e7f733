/*
  The state of a sequential matrix of ours: which of host arrays, device CSR and storage are there, and who has the newest structure and values.

  PETSc's own code writes offloadmask and nonzerostate of our matrices, too, so the state is read off these two, off the pointers, and off device.newest: nothing is noted twice. Of our code this file alone writes offloadmask and
  device.newest, and nonzerostate.c and replace.c, with the callers that conf/lint names, write nonzerostate.
*/
#include "core.h"

MatAIJCUDAScopes MatAIJCUDAScope;

/* What a change leaves; -1: as it was. */
static const struct {
  int mask, newest;
} changes[] = {
  [VALUES_NONE]               = {PETSC_OFFLOAD_UNALLOCATED, DEVICE_VALUES_CSR},
  [VALUES_WRITTEN_ON_HOST]    = {PETSC_OFFLOAD_CPU, -1},
  [VALUES_WRITTEN_IN_CSR]     = {PETSC_OFFLOAD_GPU, DEVICE_VALUES_CSR},
  [VALUES_WRITTEN_IN_STORAGE] = {PETSC_OFFLOAD_GPU, DEVICE_VALUES_STORAGE},
  [VALUES_COPIED_TO_HOST]     = {PETSC_OFFLOAD_BOTH, -1},
  [VALUES_COPIED_TO_DEVICE]   = {PETSC_OFFLOAD_BOTH, DEVICE_VALUES_CSR},
  [VALUES_COPIED_TO_CSR]      = {-1, DEVICE_VALUES_BOTH},
  [VALUES_COPIED_TO_STORAGE]  = {-1, DEVICE_VALUES_BOTH},
  [VALUES_GONE_FROM_HOST]     = {PETSC_OFFLOAD_GPU, -1},
  [VALUES_GONE_FROM_STORAGE]  = {-1, DEVICE_VALUES_CSR},
};

/* MatSeqAIJCUDANoteValues - Notes a change of who has the newest values of A, a sequential matrix of ours. */
void MatSeqAIJCUDANoteValues(Mat A, MatValuesChange change)
{
  if (changes[change].mask >= 0) A->offloadmask = (PetscOffloadMask)changes[change].mask;
  if (changes[change].newest >= 0) MatSeqAIJCUDAGet(A)->device.newest = (MatDeviceValues)changes[change].newest;
}

/* MatSeqAIJCUDAUnnoteValues - PETSc's code has noted values as written that were not: the offloadmask is that of before. */
void MatSeqAIJCUDAUnnoteValues(Mat A, PetscOffloadMask before)
{
  A->offloadmask = before;
}

/* MatMPIAIJCUDANoteAssembled - The blocks of a parallel matrix know where their values are, and MATMPIAIJ's code is not to overrule them. */
void MatMPIAIJCUDANoteAssembled(Mat A)
{
  A->offloadmask = PETSC_OFFLOAD_BOTH;
}

/* MatSeqAIJCUDAGetState - The state of a sequential matrix of ours, for viewers and tests. */
MatSeqAIJCUDAState MatSeqAIJCUDAGetState(Mat A)
{
  const MatDeviceCopy *device  = &MatSeqAIJCUDAGet(A)->device;
  const PetscBool      on_host = (PetscBool)(A->offloadmask == PETSC_OFFLOAD_CPU || A->offloadmask == PETSC_OFFLOAD_UNALLOCATED);
  const PetscBool      storage = (PetscBool)(device->data != NULL && device->newest != DEVICE_VALUES_CSR);

  if (!MatSeqAIJCUDADeviceHasStructure(A)) return A->assembled ? STATE_HOST : MatSeqAIJCUDAHasHostArrays(A) ? STATE_HOST_OPEN : STATE_NEW;
  if (!A->assembled) return on_host || MatSeqAIJCUDAHostHasGaps(A) ? STATE_HOST_OPEN : STATE_DEVICE_OPEN;
  if (on_host) return STATE_HOST_NEWER;
  if (A->offloadmask == PETSC_OFFLOAD_BOTH) return storage ? STATE_EQUAL_STORAGE : STATE_EQUAL;
  if (!storage) return STATE_CSR;
  return device->newest == DEVICE_VALUES_BOTH ? STATE_CSR_STORAGE : STATE_STORAGE;
}

/* What each state promises. */
static const struct {
  const char *name;
  PetscBool   host;    /* there are host arrays */
  PetscBool   csr;     /* there is CSR on the device */
  PetscBool   storage; /* there is storage beside it */
  PetscBool   staged;  /* values may wait to be inserted */
} promises[] = {
  [STATE_NEW]           = {"new", PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  [STATE_HOST_OPEN]     = {"assembled on host", PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  [STATE_DEVICE_OPEN]   = {"assembled on device", PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
  [STATE_HOST]          = {"host", PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  [STATE_HOST_NEWER]    = {"host is newer", PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  [STATE_EQUAL]         = {"equal", PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
  [STATE_EQUAL_STORAGE] = {"equal, storage", PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  [STATE_CSR]           = {"CSR", PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
  [STATE_CSR_STORAGE]   = {"CSR, storage", PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  [STATE_STORAGE]       = {"storage", PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
};

/* MatSeqAIJCUDACheckState - Raises PETSC_ERR_PLIB when a sequential matrix of ours breaks what its state promises; *name is that of the state, to be printed. */
PetscErrorCode MatSeqAIJCUDACheckState(Mat A, const char *name[])
{
  const Mat_SeqAIJCUDA    *d     = MatSeqAIJCUDAGet(A);
  const MatSeqAIJCUDAState state = MatSeqAIJCUDAGetState(A);
  const PetscBool          csr   = (PetscBool)(d->device.view.row_offsets != NULL || d->device.view.segments != NULL);

  PetscFunctionBegin;
  *name = promises[state].name;
  PetscCheck(!promises[state].host || MatSeqAIJCUDAHasHostArrays(A) || A->rmap->n == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without host arrays", *name);
  PetscCheck(!promises[state].csr || csr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without CSR on the device", *name);
  PetscCheck(!promises[state].storage || d->device.data != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without storage", *name);
  PetscCheck(promises[state].staged || DCSRStageCount(d->staging.stage) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" with values that wait to be inserted", *name);
  PetscCheck(A->offloadmask != PETSC_OFFLOAD_GPU || MatSeqAIJCUDADeviceHasStructure(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The newest values are on the device, under another structure than that of now");
  PetscFunctionReturn(PETSC_SUCCESS);
}
