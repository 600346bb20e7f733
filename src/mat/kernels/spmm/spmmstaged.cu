/* Sparse times dense with a row-major copy of a tile of X; see spmmrows.cuh. */
#include "spmmrows.cuh"

#define STAGE_ENTRIES 1024 /* of a tile that a thread block transposes */

/* Columns that are not in use become zero. */
template <int WIDTH>
__global__ static void __launch_bounds__(SPMM_THREADS) StageKernel(PetscInt num_rows, int num_columns, const PetscScalar *__restrict__ x, size_t ldx, PetscScalar *__restrict__ to)
{
  constexpr int rows = STAGE_ENTRIES / WIDTH;
  __shared__ __align__(16) unsigned char scratch[sizeof(PetscScalar) * WIDTH * (rows + 1)];
  PetscScalar                           *entries = (PetscScalar *)scratch;
  const PetscInt                         first   = (PetscInt)blockIdx.x * rows;

#pragma unroll
  for (int e = threadIdx.x; e < STAGE_ENTRIES; e += SPMM_THREADS) {
    const int r = e % rows, c = e / rows;

    entries[c * (rows + 1) + r] = r < num_rows - first && c < num_columns ? x[(size_t)c * ldx + first + r] : PetscScalar(0.0);
  }
  __syncthreads();
#pragma unroll
  for (int e = threadIdx.x; e < STAGE_ENTRIES; e += SPMM_THREADS) {
    const int r = e / WIDTH, c = e % WIDTH;

    if (r < num_rows - first) to[(size_t)(first + r) * WIDTH + c] = entries[c * (rows + 1) + r];
  }
}

template <int WIDTH>
static PetscErrorCode Stage(PetscInt num_rows, const SpMMTile *tile, PetscScalar to[], cudaStream_t stream)
{
  constexpr int rows = STAGE_ENTRIES / WIDTH;

  PetscFunctionBegin;
  StageKernel<WIDTH><<<(unsigned int)((num_rows - 1) / rows + 1), SPMM_THREADS, 0, stream>>>(num_rows, tile->columns, tile->x, (size_t)tile->ldx, to);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMMStage - a row-major copy to [num_rows x width] of some columns, tile's x [num_rows x columns], column-major, both on the device. Columns that the tile does not use are zero. Asynchronous */
PetscErrorCode SpMMStage(PetscInt num_rows, const SpMMTile *tile, PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (tile->width == 2) PetscCall(Stage<2>(num_rows, tile, to, stream));
  else if (tile->width == 4) PetscCall(Stage<4>(num_rows, tile, to, stream));
  else if (tile->width == 8) PetscCall(Stage<8>(num_rows, tile, to, stream));
  else if (tile->width == 16) PetscCall(Stage<16>(num_rows, tile, to, stream));
  else PetscCall(Stage<32>(num_rows, tile, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpMMRowsStaged - rows that are not long of a compact matrix with rows, by blocks when the plan has a list; the others become zero. Asynchronous
  tile: x [num_columns x width], row-major, y [num_rows x columns], column-major, device.
*/
PetscErrorCode SpMMRowsStaged(DCSRSpMMPlan plan, DCSRView view, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMMRows<true>(view, plan->list, plan->long_size, tile, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
