/*
  What the rows of a matrix look like: how many windows a few of them have, and which rows repeat the row before. Rows are the same where an unknown of a grid has
  several components, and where nodes of finite elements have the same neighbors (inodes, as PETSc's MATAIJ calls them). The symbolic phase is done once for them.
*/
#include "table.cuh"
#include "../common/preload.cuh"
#include "../common/select.h"

namespace
{

constexpr int MAX_SAMPLED = 512; // entries of a row that are sampled; one warp has the row
constexpr int ROW_LANES   = 8;   // lanes that compare a row with the one before
constexpr int MAX_ALIKE   = 32;  // equal rows that a thread answers for

/* Adds up what scattered rows have, a warp a row. */
__global__ void __launch_bounds__(SPGEMM_THREADS) ShapeKernel(PetscCount num_rows, PetscCount num_samples, Offsets offsets, const int32_t *columns, SpGEMMShape *shape)
{
  const int          lane        = threadIdx.x % 32;
  const PetscCount   stride      = num_rows / num_samples;
  unsigned long long num_windows = 0, num_entries = 0, num_repeats = 0, num = 0;

  for (PetscCount k = (PetscCount)blockIdx.x * (SPGEMM_THREADS / 32) + threadIdx.x / 32; k < num_samples; k += (PetscCount)gridDim.x * (SPGEMM_THREADS / 32)) {
    const PetscCount row   = k * stride + ((unsigned)k * 2654435769u >> 8) % (unsigned)stride;
    const PetscCount begin = offsets(row), length = offsets(row + 1) - begin, before = row > 0 ? begin - offsets(row - 1) : -1;
    const int        num_sampled = length < MAX_SAMPLED ? (int)length : MAX_SAMPLED;
    bool             same        = length == before;

    for (int e = lane; e < num_sampled; e += 32) {
      num_windows += BeginsWindow(columns + begin, e);
      same = same && columns[begin + e] == columns[begin - length + e];
    }
    num_repeats += __all_sync(FULL_WARP, same) != 0;
    num_entries += (unsigned long long)num_sampled;
    num++;
  }
  for (int k = 16; k > 0; k /= 2) num_windows += __shfl_down_sync(FULL_WARP, num_windows, k);
  if (lane == 0 && num) {
    atomicAdd(&shape->num_rows, num);
    atomicAdd(&shape->num_entries, num_entries);
    atomicAdd(&shape->num_windows, num_windows);
    atomicAdd(&shape->num_repeats, num_repeats);
  }
}

/* Whether each row has the columns of the row before; or whether it is a leader, which answers for itself and the equal rows behind it. */
__global__ void __launch_bounds__(SPGEMM_THREADS) RepeatsKernel(PetscCount num_rows, Offsets offsets, const int32_t *columns, bool leaders, unsigned char *flags)
{
  const PetscCount row  = ((PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x) / ROW_LANES;
  const int        lane = threadIdx.x % ROW_LANES, shift = threadIdx.x % 32 / ROW_LANES * ROW_LANES;
  const bool       first = row == 0 || row >= num_rows;
  const PetscCount begin = first ? 0 : offsets(row), length = first ? 0 : offsets(row + 1) - begin;
  bool             same = !first && length == begin - offsets(row - 1);

  for (PetscCount e = lane; same && e < length; e += ROW_LANES) same = columns[begin + e] == columns[begin - length + e];
  const bool repeats = (__ballot_sync(FULL_WARP, same) >> shift & ((1u << ROW_LANES) - 1)) == (1u << ROW_LANES) - 1;

  if (lane == 0 && row < num_rows) flags[row] = leaders ? row % MAX_ALIKE == 0 || !repeats : repeats;
}

PetscErrorCode MarkRepeats(DCSRView view, bool leaders, cudaStream_t stream, unsigned char **flags)
{
  const unsigned int blocks = DCSRNumBlocks((PetscCount)view.num_rows * ROW_LANES, SPGEMM_THREADS);

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "repeated rows of a factor", stream, flags));
  RepeatsKernel<<<blocks, SPGEMM_THREADS, 0, stream>>>((PetscCount)view.num_rows, Offsets(view), view.columns, leaders, *flags);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
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

/*
  SpGEMMFindRepeats - Which rows of both factors, compact with sorted rows, repeat the row before; both have rows. Asynchronous
  repeats are to be freed with SpGEMMFreeRepeats(), after an error, too. Memory: 4 bytes a row of A and one a row of B; one a row of A and CUB's storage for a while.
*/
PetscErrorCode SpGEMMFindRepeats(DCSRView A, DCSRView B, cudaStream_t stream, SpGEMMRepeats *repeats)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  unsigned char *a    = NULL;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(repeats, 1));
  PetscCallGoto(ierr, cleanup, MarkRepeats(A, true, stream, &a));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(A.num_rows, "first rows of equal rows of a factor", stream, &repeats->leaders));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "number of first rows of equal rows", stream, &repeats->num_leaders));
  PetscCallGoto(ierr, cleanup, DCSRSelectFlaggedPositions32("workspace to list equal rows", (int32_t)A.num_rows, a, repeats->leaders, repeats->num_leaders, stream));
  PetscCallGoto(ierr, cleanup, MarkRepeats(B, false, stream, &repeats->b));
cleanup:
  PetscCall(PetscSparseCUDAFree(&a, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMFreeRepeats - Frees what SpGEMMFindRepeats() made; it is zero afterwards. */
PetscErrorCode SpGEMMFreeRepeats(SpGEMMRepeats *repeats, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&repeats->b, stream));
  PetscCall(PetscSparseCUDAFree(&repeats->leaders, stream));
  PetscCall(PetscSparseCUDAFree(&repeats->num_leaders, stream));
  PetscCall(PetscArrayzero(repeats, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(ShapeKernel);
