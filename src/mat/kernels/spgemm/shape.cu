/* What the rows of a matrix look like: how many windows a few of them have. */
#include "table.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int MAX_SAMPLED = 512; // entries of a row that are sampled; one warp has the row

/* Adds up what scattered rows have, a warp a row. */
__global__ void __launch_bounds__(SPGEMM_THREADS) ShapeKernel(PetscCount num_rows, PetscCount num_samples, Offsets offsets, const int32_t *columns, SpGEMMShape *shape)
{
  const int          lane        = threadIdx.x % 32;
  const PetscCount   stride      = num_rows / num_samples;
  unsigned long long num_windows = 0, num_entries = 0;

  for (PetscCount k = (PetscCount)blockIdx.x * (SPGEMM_THREADS / 32) + threadIdx.x / 32; k < num_samples; k += (PetscCount)gridDim.x * (SPGEMM_THREADS / 32)) {
    const PetscCount row   = k * stride + ((unsigned)k * 2654435769u >> 8) % (unsigned)stride;
    const PetscCount begin = offsets(row), length = offsets(row + 1) - begin;
    const int        num_sampled = length < MAX_SAMPLED ? (int)length : MAX_SAMPLED;

    for (int e = lane; e < num_sampled; e += 32) num_windows += BeginsWindow(columns + begin, e);
    num_entries += (unsigned long long)num_sampled;
  }
  for (int k = 16; k > 0; k /= 2) num_windows += __shfl_down_sync(FULL_WARP, num_windows, k);
  if (lane == 0 && num_entries) {
    atomicAdd(&shape->num_entries, num_entries);
    atomicAdd(&shape->num_windows, num_windows);
  }
}

} // namespace

/* SpGEMMSampleShape - Samples num_samples (at most view.num_rows) rows of a compact matrix with sorted rows; shape is on the device, and was zero. Asynchronous */
PetscErrorCode SpGEMMSampleShape(DCSRView view, PetscCount num_samples, SpGEMMShape *shape, cudaStream_t stream)
{
  unsigned int blocks;

  PetscFunctionBegin;
  if (num_samples == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetGrid(PETSC_COUNT_MAX, 1, &blocks));
  ShapeKernel<<<blocks, SPGEMM_THREADS, 0, stream>>>((PetscCount)view.num_rows, num_samples, Offsets(view), view.columns, shape);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(ShapeKernel);
