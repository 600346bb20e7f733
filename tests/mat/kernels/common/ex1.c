static char help[] = "Facts of the device, its tuning, grids, bits of keys.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/tuning.h>

/* The facts are those that the CUDA runtime gives, twice. */
static PetscErrorCode TestFacts(DCSRDeviceFacts *facts)
{
  struct cudaDeviceProp properties;
  int                   device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&properties, device));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscMemzero(facts, sizeof(*facts)));
    PetscCall(DCSRGetDeviceFacts(facts));
    PetscCheck(facts->capability == 10 * properties.major + properties.minor, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Compute capability %d", facts->capability);
    PetscCheck(facts->num_multiprocessors == properties.multiProcessorCount && facts->max_threads == properties.maxThreadsPerMultiProcessor, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%d multiprocessors of %d threads", facts->num_multiprocessors, facts->max_threads);
    PetscCheck(facts->max_block_threads == properties.maxThreadsPerBlock, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Thread blocks of %d threads", facts->max_block_threads);
    PetscCheck(facts->bandwidth >= 0 && facts->bandwidth < 1e9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes a microsecond", facts->bandwidth);
    PetscCheck(facts->l2_bytes == properties.l2CacheSize, PETSC_COMM_SELF, PETSC_ERR_PLIB, "L2 cache of %d bytes", facts->l2_bytes);
    PetscCheck((size_t)facts->shared_bytes == properties.sharedMemPerMultiprocessor && (size_t)facts->block_shared_bytes == properties.sharedMemPerBlockOptin &&
                 (size_t)facts->reserved_shared_bytes == properties.reservedSharedMemPerBlock,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "Shared memory of %d, %d and %d bytes", facts->shared_bytes, facts->block_shared_bytes, facts->reserved_shared_bytes);
  }
  // the launch configurations that were measured
  if (facts->capability == 90)
    PetscCheck(facts->shared_bytes == 228 << 10 && facts->reserved_shared_bytes == 1 << 10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Shared memory of %d and %d bytes", facts->shared_bytes,
               facts->reserved_shared_bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGrid(const DCSRDeviceFacts *facts)
{
  const struct {
    PetscCount   num_blocks;
    int          multiprocessor_blocks;
    unsigned int grid;
  } cases[] = {{0, 8, 0}, {1, 8, 1}, {PETSC_COUNT_MAX, 1, (unsigned int)facts->num_multiprocessors}, {PETSC_COUNT_MAX, 64, (unsigned int)facts->num_multiprocessors * 64}};
  unsigned int grid;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(DCSRGetGrid(cases[k].num_blocks, cases[k].multiprocessor_blocks, &grid));
    PetscCheck(grid == cases[k].grid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %d: %u thread blocks, not %u", (int)k, grid, cases[k].grid);
  }
  PetscCheck(DCSRNumBlocks(0, 256) == 0 && DCSRNumBlocks(1, 256) == 1 && DCSRNumBlocks(256, 256) == 1 && DCSRNumBlocks(257, 256) == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Wrong number of thread blocks");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tuning is the same one each time, for this device. */
static PetscErrorCode TestTuning(const DCSRDeviceFacts *facts)
{
  const PetscSparseCUDATuning *tuning = NULL, *again = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  PetscCall(PetscSparseCUDAGetTuning(&again));
  PetscCheck(tuning == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A device has two tunings");
  PetscCheck(tuning->device.capability == facts->capability && tuning->device.bandwidth == facts->bandwidth, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The tuning is for capability %d",
             tuning->device.capability);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKeyBits(void)
{
  const struct {
    PetscInt n;
    int      bits;
  } cases[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {PETSC_INT32_MAX, 31}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    PetscCheck(DCSRKeyBits(cases[k].n) == cases[k].bits, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d bits for numbers below %" PetscInt_FMT, DCSRKeyBits(cases[k].n), cases[k].n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DCSRDeviceFacts facts;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestKeyBits());
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(TestFacts(&facts));
  PetscCall(TestGrid(&facts));
  PetscCall(TestTuning(&facts));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

   test:
      suffix: info
      requires: cuda defined(PETSC_USE_INFO)
      args: -info
      filter: grep -c "launch rules and costs are those of"

TEST*/
