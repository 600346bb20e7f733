/*
  y = A x + z where A consists of full blocks of a few rows and columns, as systems with several unknowns a point have them. A list of the blocks (blocklist.h) stands beside the storage, so that br bc
  values come with 4 bytes of index, and an entry of x serves br of them.
*/
#include "../common/overlap.cuh"
#include "../common/preload.cuh"
#include "spmvdevice.cuh"

#define SPMV_BLOCKS_THREADS 256

/*
  Block sizes, rows and columns, that there are kernels for, and lanes of a row of blocks, no fewer than a block has rows: square ones of systems, and those of prolongators and restrictions with rigid
  body modes.
*/
#define SPMV_BLOCK_SIZES(X) \
  X(2, 2, 4) \
  X(2, 2, 8) \
  X(2, 2, 32) \
  X(3, 3, 4) \
  X(3, 3, 8) \
  X(3, 3, 32) \
  X(4, 4, 4) \
  X(4, 4, 8) \
  X(4, 4, 32) \
  X(5, 5, 8) \
  X(5, 5, 32) \
  X(6, 6, 8) \
  X(6, 6, 32) \
  X(2, 3, 4) \
  X(2, 3, 8) \
  X(2, 3, 32) \
  X(3, 2, 4) \
  X(3, 2, 8) \
  X(3, 2, 32) \
  X(3, 6, 4) \
  X(3, 6, 8) \
  X(3, 6, 32) \
  X(6, 3, 8) \
  X(6, 3, 32)

template <typename Output, typename Value>
struct SpMVBlocksArgs {
  const int32_t     *block_offsets;
  const int32_t     *block_columns;
  const Value       *values;
  const PetscScalar *x;
  int32_t            num_block_rows;
  Output             output;
};

/* The sums of a lane: entries lane, lane + LANES, ... of the rows of a block row, UNROLL of which are loaded before the first is used. Behind the end the last one is loaded and not added: no load waits
   behind a branch. */
template <int BR, int BC, int LANES, int UNROLL, typename Value>
__device__ __forceinline__ void SpMVBlocksAddUp(const int32_t *block_columns, const Value *values, const PetscScalar *x, int32_t n, int lane, PetscScalar sums[BR])
{
  for (int32_t p = lane; p < n; p += UNROLL * LANES) {
    int32_t     column[UNROLL], q[UNROLL];
    Value       v[UNROLL][BR];
    PetscScalar xs[UNROLL];

#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      q[u] = p + u * LANES < n ? p + u * LANES : n - 1;
      SpMVLoad<SPMV_LOAD_CACHED, 1>(block_columns + q[u] / BC, column + u);
#pragma unroll
      for (int r = 0; r < BR; r++) SpMVLoad<SPMV_LOAD_CACHED, 1>(values + (PetscCount)r * n + q[u], &v[u][r]);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) xs[u] = SpMVGather(x, column[u] * BC + q[u] % BC);
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      const bool in = p + u * LANES < n;

#pragma unroll
      for (int r = 0; r < BR; r++) sums[r] = in ? sums[r] + PetscScalar(v[u][r]) * xs[u] : sums[r];
    }
  }
}

/*
  LANES lanes take a block row; lane r writes its row r. 27 blocks of 3x3 a row, 80^3 rows, H200: 8 lanes take 270 us where each loads 4 entries of each row at a time, 306 with 2; 16 and 32 lanes 301
  and 357 at best.
*/
template <int BR, int BC, int LANES, typename Output, typename Value>
__global__ void __launch_bounds__(SPMV_BLOCKS_THREADS, 1) SpMVBlocksKernel(const SpMVBlocksArgs<Output, Value> a)
{
  WaitForPreviousKernel();
  constexpr int    unroll = BR <= 3 ? 4 : BR == 4 ? 2 : 1;
  const PetscCount row    = (PetscCount)blockIdx.x * (SPMV_BLOCKS_THREADS / LANES) + threadIdx.x / LANES;
  const int        lane   = (int)threadIdx.x % LANES;
  const bool       mine = row < a.num_block_rows, writes = mine && lane < BR;
  const int32_t    begin = mine ? a.block_offsets[row] : 0;
  const int32_t    n     = mine ? (a.block_offsets[row + 1] - begin) * BC : 0;
  PetscScalar      sums[BR], sum;

  typename Output::Row read{};

  if (writes) read = a.output.Load(row * BR + lane);
#pragma unroll
  for (int r = 0; r < BR; r++) sums[r] = PetscScalar(0.0);
  SpMVBlocksAddUp<BR, BC, LANES, unroll>(a.block_columns + begin, a.values + (PetscCount)begin * (BR * BC), a.x, n, lane, sums);
#pragma unroll
  for (int r = 0; r < BR; r++) sums[r] = SpMVSumLanes<LANES>(sums[r]);
  sum = sums[0];
#pragma unroll
  for (int r = 1; r < BR; r++)
    if (lane == r) sum = sums[r];
  if (writes) a.output.Store(row * BR + lane, sum, read);
}

template <int BR, int BC, int LANES, typename Output, typename Value>
static PetscErrorCode SpMVBlocksRun(DCSRSpMVPlan plan, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const DCSRView                      list = plan->list->view;
  const SpMVBlocksArgs<Output, Value> args = {(const int32_t *)list.row_offsets, list.columns, (const Value *)values, x, (int32_t)list.num_rows, output};

  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunchOverlapping(SpMVBlocksKernel<BR, BC, LANES, Output, Value>, plan->num_blocks, SPMV_BLOCKS_THREADS, stream, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int BR, int BC, int LANES, typename Value>
static PetscErrorCode SpMVBlocksLaunch(DCSRSpMVPlan plan, const DCSRView *, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVBlocksRun<BR, BC, LANES, SpMVAdd, Value>(plan, values, x, SpMVAdd{z, y}, stream);
}

template <int BR, int BC, int LANES, typename Value>
static PetscErrorCode SpMVBlocksLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  return SpMVBlocksRun<BR, BC, LANES, SpMVEpilogue, Value>(plan, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define SPMV_BLOCKS_CONFIG(br, bc, lanes) \
  { \
    DCSR_SPMV_BLOCKS, lanes, SPMV_BLOCKS_THREADS, br, bc, SPMV_LOAD_CACHED, 0 \
  }
#define SPMV_BLOCKS_ENTRY(br, bc, lanes) \
  {SPMV_BLOCKS_CONFIG(br, bc, lanes), \
   {SpMVBlocksLaunch<br, bc, lanes, PetscScalar>, SPMV_SINGLE((SpMVBlocksLaunch<br, bc, lanes, DCSRSingle>))}, \
   {SpMVBlocksLaunchEpilogue<br, bc, lanes, PetscScalar>, SPMV_SINGLE((SpMVBlocksLaunchEpilogue<br, bc, lanes, DCSRSingle>))}},

/* SpMVBlocksGetEntry - the launchers for blocks of items rows and vec columns; NULL when there are none. A list has 32-bit offsets, whatever the matrix has. */
const SpMVEntry *SpMVBlocksGetEntry(const SpMVConfig *config)
{
  static const SpMVEntry entries[] = {SPMV_BLOCK_SIZES(SPMV_BLOCKS_ENTRY)};

  return SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);
}

/* SpMVPlanSetUpBlocks - the list of blocks and the grid; needs plan->config with its entry. *full: PETSC_FALSE when some block is not full, and the plan cannot be used. Synchronizes. */
PetscErrorCode SpMVPlanSetUpBlocks(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, PetscBool *full)
{
  const int group = SPMV_BLOCKS_THREADS / plan->config.lanes;

  PetscFunctionBegin;
  PetscCall(DCSRBlockListGet(view, plan->config.items, plan->config.vec, stream, &plan->list));
  *full = (PetscBool)(plan->list != NULL);
  if (*full) plan->bytes += ((size_t)plan->list->view.num_nonzeros + (size_t)plan->list->view.num_rows + 1) * sizeof(int32_t);
  plan->num_rows   = (int32_t)view.num_rows;
  plan->num_blocks = (plan->num_rows / plan->config.items + group - 1) / group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG with several unknowns a point
DCSRPreload(SpMVBlocksKernel<3, 3, 8, SpMVAdd, PetscScalar>);
