/*
  Which tuning a device gets: that of its compute capability, so that devices of one capability share one; else that of the nearest capability below, for which the code of newer GPUs was made, else
  the nearest. Times that come from bytes scale with the bandwidth of the memory.
*/
#include <petscsparsecuda/info.h>

extern const PetscSparseCUDATuning PetscSparseCUDATuningSM90;

/* The first is for processes without a device. */
const PetscSparseCUDATuning *const PetscSparseCUDATunings[] = {&PetscSparseCUDATuningSM90, NULL};

#define MAX_DEVICES 128 /* PETSc uses no more */

static PetscSparseCUDATuning chosen[MAX_DEVICES]; /* by the number of the device; name is NULL until it was asked */

static PetscErrorCode AskDevice(int device, DCSRDeviceFacts *facts)
{
  int major, minor, clock, width;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->num_multiprocessors, cudaDevAttrMultiProcessorCount, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->max_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->max_block_threads, cudaDevAttrMaxThreadsPerBlock, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->l2_bytes, cudaDevAttrL2CacheSize, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->block_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&facts->reserved_shared_bytes, cudaDevAttrReservedSharedMemoryPerBlock, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, device));      // kHz
  PetscCallCUDA(cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, device)); // bits
  facts->capability = 10 * major + minor;
  facts->bandwidth  = (double)clock * (double)width / 4000; // two transfers a cycle
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDATuningFind - The one of a list, which ends with NULL, for a compute capability. */
const PetscSparseCUDATuning *PetscSparseCUDATuningFind(const PetscSparseCUDATuning *const tunings[], int capability)
{
  const PetscSparseCUDATuning *below = NULL, *above = NULL;

  for (size_t k = 0; tunings[k] != NULL; k++) {
    const int own = tunings[k]->device.capability;

    if (own <= capability && (below == NULL || own > below->device.capability)) below = tunings[k];
    if (own > capability && (above == NULL || own < above->device.capability)) above = tunings[k];
  }
  return below != NULL ? below : above;
}

/* PetscSparseCUDATuningSetDevice - Makes a tuning that of another device, whose bandwidth may not be known (0): what scales stays as it is then. */
void PetscSparseCUDATuningSetDevice(const DCSRDeviceFacts *device, PetscSparseCUDATuning *tuning)
{
  const double ratio = device->bandwidth > 0 ? device->bandwidth / tuning->device.bandwidth : 1; // times as fast
  double       own   = tuning->device.bandwidth;

  tuning->join.product *= ratio;
  for (int format = 0; format < HISPARSE_CSR; format++)
    for (int target = 0; target < AUTO_NUM_TARGETS; target++)
      for (int term = AUTO_TERM_VECTORS; term < AUTO_NUM_TERMS; term++) tuning->costs.factors[format][target][term] /= ratio;
  if (device->bandwidth > 0) own = device->bandwidth;
  tuning->device           = *device;
  tuning->device.bandwidth = own;
}

/* PetscSparseCUDATuningOfDevice - The facts of a device, by its number, and the tuning that was measured and that it gets, which is not scaled. No context is made on the device. */
PetscErrorCode PetscSparseCUDATuningOfDevice(int device, DCSRDeviceFacts *facts, const PetscSparseCUDATuning **measured)
{
  PetscFunctionBegin;
  PetscCall(AskDevice(device, facts));
  *measured = PetscSparseCUDATuningFind(PetscSparseCUDATunings, facts->capability);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAGetTuning - The tuning for the current device, or without a usable device the first one. tuning stays as it is until the process ends.
  Each device is asked once, and -info says then what it got. Nothing is waited for.
*/
PetscErrorCode PetscSparseCUDAGetTuning(const PetscSparseCUDATuning **tuning)
{
  const PetscSparseCUDATuning *measured;
  PetscSparseCUDATuning       *known;
  DCSRDeviceFacts              facts;
  PetscBool                    usable;
  int                          device;

  PetscFunctionBegin;
  *tuning = PetscSparseCUDATunings[0];
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCheck(device < MAX_DEVICES, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The current device has number %d; PETSc uses the first %d of a process at most (CUDA_VISIBLE_DEVICES)", device, MAX_DEVICES);
  known = &chosen[device];
  if (known->name == NULL) {
    PetscCall(PetscSparseCUDATuningOfDevice(device, &facts, &measured));
    *known = *measured;
    PetscCall(PetscInfo(NULL, "Device %d, compute capability %d.%d, %.2f TB/s: launch rules and costs are those of %s, compute capability %d.%d, %.2f TB/s\n", device, facts.capability / 10,
                        facts.capability % 10, facts.bandwidth * 1e-6, known->name, known->device.capability / 10, known->device.capability % 10, known->device.bandwidth * 1e-6));
    PetscSparseCUDATuningSetDevice(&facts, known);
  }
  *tuning = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDATuningHolds - Whether a multiprocessor of its device holds so many thread blocks with so many threads and so much shared memory each. */
PetscBool PetscSparseCUDATuningHolds(const PetscSparseCUDATuning *tuning, int threads, size_t shared_bytes, int blocks)
{
  const DCSRDeviceFacts *device = &tuning->device;

  if (threads > device->max_block_threads || blocks * threads > device->max_threads) return PETSC_FALSE;
  return (PetscBool)(shared_bytes <= (size_t)device->block_shared_bytes && (size_t)blocks * (shared_bytes + (size_t)device->reserved_shared_bytes) <= (size_t)device->shared_bytes);
}
