/*
  The state of a sequential matrix of ours: which of host arrays, device CSR and storage are there, and who has the newest structure and values.

  PETSc's own code writes offloadmask and nonzerostate of our matrices, too, so the state is read off these two, off the pointers, and off device.newest: nothing is noted twice. Of our code this folder
  alone writes them (conf/lint), and this file alone offloadmask and device.newest.
*/
#include "state.h"

MatAIJCUDAScopes MatAIJCUDAScope;
PetscInt         MatAIJCUDASmallBlock = 100000; /* a test makes it smaller */

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
  if (changes[change].mask == PETSC_OFFLOAD_CPU || changes[change].mask == PETSC_OFFLOAD_GPU) MatSeqAIJForgetInverses((Mat_SeqAIJ *)A->data);
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

const char *const MatSeqAIJCUDAStates[] = {
  [STATE_NEW]           = "new",
  [STATE_HOST_OPEN]     = "assembly on the host",
  [STATE_DEVICE_OPEN]   = "assembly on the device",
  [STATE_HOST]          = "on the host",
  [STATE_HOST_NEWER]    = "newer on the host",
  [STATE_EQUAL]         = "on the host and in CSR",
  [STATE_EQUAL_STORAGE] = "on the host and in storage",
  [STATE_CSR]           = "in CSR",
  [STATE_CSR_STORAGE]   = "in CSR and in storage",
  [STATE_STORAGE]       = "in storage",
};

/* MatSeqAIJCUDAGetState - The state of a sequential matrix of ours. */
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
