/* The facts of the device, and what is chosen by them: grids and tables of launch rules. */
#include <petscsparsecuda/common.h>

#define MAX_DEVICES 128 /* devices with higher numbers are asked every time */

static DCSRDeviceFacts known[MAX_DEVICES]; /* by the number of the device; capability is 0 until it was asked */

static PetscErrorCode AskDevice(int device, DCSRDeviceFacts *facts)
{
  int major, minor;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->num_multiprocessors, cudaDevAttrMultiProcessorCount, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->max_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->l2_bytes, cudaDevAttrL2CacheSize, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->block_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->reserved_shared_bytes, cudaDevAttrReservedSharedMemoryPerBlock, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  facts->capability = 10 * major + minor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetDeviceFacts - The facts of the current device. Each device is asked once. Nothing is waited for. */
PetscErrorCode DCSRGetDeviceFacts(DCSRDeviceFacts *facts)
{
  int device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  if (device >= MAX_DEVICES) PetscCall(AskDevice(device, facts));
  else {
    if (known[device].capability == 0) PetscCall(AskDevice(device, &known[device]));
    *facts = known[device];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRGetRules - The table of launch rules for the current device: the one that was measured on the nearest compute capability.
  tables [n], at least one, the default first: of two that are as near, the first is taken. rules are of that table.
*/
PetscErrorCode DCSRGetRules(size_t n, const DCSRRuleTable tables[], const void **rules)
{
  size_t          nearest = 0;
  DCSRDeviceFacts facts;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  for (size_t k = 1; k < n; k++)
    if (PetscAbsInt(tables[k].capability - facts.capability) < PetscAbsInt(tables[nearest].capability - facts.capability)) nearest = k;
  *rules = tables[nearest].rules;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRGetGrid - The grid of a kernel whose thread blocks take work until there is none left.
  num_blocks: thread blocks that there is work for; PETSC_COUNT_MAX when that is not known. grid: thread blocks to launch, at most multiprocessor_blocks for each multiprocessor; 0 when there is no work.
*/
PetscErrorCode DCSRGetGrid(PetscCount num_blocks, int multiprocessor_blocks, unsigned int *grid)
{
  DCSRDeviceFacts facts;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  *grid = (unsigned int)PetscMin(num_blocks, (PetscCount)facts.num_multiprocessors * multiprocessor_blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}
