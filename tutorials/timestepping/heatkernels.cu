/* What is computed for all rows, by kernels. */
#include "heat.h"
#include <petscdevice_cuda.h>

#define THREADS 256

static __global__ void __launch_bounds__(THREADS) RowsKernel(HeatGrid grid, PetscReal t, PetscReal shift, PetscScalar values[])
{
  const PetscCount row = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  PetscScalar      v[HEAT_POINTS];

  if (row >= grid.num_rows) return;
  HeatRow(grid.n, grid.first + (PetscInt)row, t, shift, v);
  for (int b = 0; b < HEAT_POINTS; b++) values[b * (PetscCount)grid.num_rows + row] = v[b];
}

static __global__ void __launch_bounds__(THREADS) SourceKernel(HeatGrid grid, PetscReal t, PetscScalar source[])
{
  const PetscCount row = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (row < grid.num_rows) source[row] = HeatSource(grid.n, grid.first + (PetscInt)row, t);
}

static unsigned int NumBlocks(const HeatGrid *grid)
{
  return (unsigned int)(((PetscCount)grid->num_rows + THREADS - 1) / THREADS);
}

PetscErrorCode HeatRowsOnDevice(const HeatGrid *grid, PetscReal t, PetscReal shift, PetscScalar values[])
{
  cudaStream_t stream;

  PetscFunctionBeginUser;
  if (grid->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  RowsKernel<<<NumBlocks(grid), THREADS, 0, stream>>>(*grid, t, shift, values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatSourceOnDevice(const HeatGrid *grid, PetscReal t, PetscScalar source[])
{
  cudaStream_t stream;

  PetscFunctionBeginUser;
  if (grid->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  SourceKernel<<<NumBlocks(grid), THREADS, 0, stream>>>(*grid, t, source);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From cudaMalloc(): MPI may get it. */
PetscErrorCode HeatAllocate(size_t bytes, PetscScalar **values)
{
  PetscFunctionBeginUser;
  *values = NULL;
  if (bytes > 0) PetscCallCUDA(cudaMalloc((void **)values, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HeatFree(PetscScalar **values)
{
  PetscFunctionBeginUser;
  if (*values != NULL) PetscCallCUDA(cudaFree(*values));
  *values = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
