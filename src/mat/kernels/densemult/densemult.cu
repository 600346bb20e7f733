/* Products of small dense matrices with vectors. cuBLAS has them, too; a kernel of ours can be captured without its handle and workspace, and sums in the same order every time. */
#include "../common/blockreduce.cuh"
#include "../common/overlap.cuh"
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/densemult.h>

namespace
{

constexpr int warp = 32, threads = 256;

struct Add {
  __device__ PetscScalar operator()(PetscScalar a, PetscScalar b) const { return a + b; }
};

/* A warp a row. All lanes of a warp have the same row, so that all take part in the sum. */
__global__ void __launch_bounds__(threads) DenseMult(PetscInt m, PetscInt n, const PetscScalar *B, const PetscScalar *x, PetscScalar *y)
{
  WaitForPreviousKernel();
  const PetscCount row  = (PetscCount)blockIdx.x * (threads / warp) + threadIdx.x / warp;
  const int        lane = threadIdx.x % warp;
  PetscScalar      sum(0.0);

  if (row >= m) return;
  for (PetscInt j = lane; j < n; j += warp) sum += B[row * n + j] * x[j];
  sum = ReduceLanes(sum, warp, Add());
  if (lane == 0) y[row] = sum;
}

} // namespace

/*
  DCSRDenseMult - y = B x on the device, asynchronous, bitwise the same every time; for matrices that one wave of the device holds: a warp sums a row
  B [m][n], row by row; n = 0: y becomes zero. y is not x.
*/
PetscErrorCode DCSRDenseMult(PetscInt m, PetscInt n, const PetscScalar B[], const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (m == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRLaunchOverlapping(DenseMult, DCSRNumBlocks(m, threads / warp), threads, stream, m, n, B, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
