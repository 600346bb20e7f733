/*
  y = A x + z where A consists of full blocks of a few rows and columns, as systems with several unknowns a point have them. Values stay where compact storage has them; beside it stands a list with one
  column a block, so that br bc values come with 4 bytes of index, and an entry of x serves br of them.

  Only full blocks count: then the blocks of a block row fill the same range of the arrays as its rows, and the list needs no offsets of its own. Entry (r, c) of block k, in a block row that begins at
  f with n entries a row, is at f + r n + k bc + c.
*/
#include "../common/message.h"
#include "../common/preload.cuh"
#include "spmvdevice.cuh"
#include "spmvsingle.h"

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

/* A warp looks at a block row. What is no list of full blocks is noted, and nothing is written outside of [num_nonzeros / (br bc)]. */
template <typename Offset>
__global__ void __launch_bounds__(SPMV_BLOCKS_THREADS)
  SpMVBlockColumnsKernel(const Offset *row_offsets, const int32_t *columns, int32_t num_block_rows, int br, int bc, int32_t *block_columns, int *failed)
{
  const PetscCount row  = (PetscCount)blockIdx.x * (SPMV_BLOCKS_THREADS / SPMV_WARP) + threadIdx.x / SPMV_WARP;
  const int        lane = (int)threadIdx.x % SPMV_WARP;

  if (row >= num_block_rows || *(volatile int *)failed) return;
  const Offset  f  = row_offsets[row * br];
  const int32_t n  = (int32_t)(row_offsets[row * br + 1] - f);
  bool          ok = n % bc == 0 && f % (br * bc) == 0;

  for (int r = 1; r < br; r++) ok = ok && row_offsets[row * br + r + 1] - row_offsets[row * br + r] == n;
  for (int32_t p = lane; p < n && ok; p += SPMV_WARP) {
    const int32_t c = p % bc, first = columns[f + p - c];

    ok = first % bc == 0;
    for (int r = 0; r < br; r++) ok = ok && columns[f + (Offset)r * n + p] == first + c;
    if (c == 0) block_columns[f / (br * bc) + p / bc] = first / bc;
  }
  if (!ok) *failed = 1;
}

template <typename Offset, typename Output, typename Value>
struct SpMVBlocksArgs {
  const Offset      *row_offsets;
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
template <int BR, int BC, int LANES, typename Offset, typename Output, typename Value>
__global__ void __launch_bounds__(SPMV_BLOCKS_THREADS, 1) SpMVBlocksKernel(const SpMVBlocksArgs<Offset, Output, Value> a)
{
  constexpr int    unroll = BR <= 3 ? 4 : BR == 4 ? 2 : 1;
  const PetscCount row    = (PetscCount)blockIdx.x * (SPMV_BLOCKS_THREADS / LANES) + threadIdx.x / LANES;
  const int        lane   = (int)threadIdx.x % LANES;
  const bool       mine = row < a.num_block_rows, writes = mine && lane < BR;
  const Offset     begin = mine ? a.row_offsets[row * BR] : 0;
  const int32_t    n     = mine ? (int32_t)(a.row_offsets[row * BR + 1] - begin) : 0;
  PetscScalar      sums[BR], sum;

  typename Output::Row read{};

  if (writes) read = a.output.Load(row * BR + lane);
#pragma unroll
  for (int r = 0; r < BR; r++) sums[r] = PetscScalar(0.0);
  SpMVBlocksAddUp<BR, BC, LANES, unroll>(a.block_columns + begin / (BR * BC), a.values + begin, a.x, n, lane, sums);
#pragma unroll
  for (int r = 0; r < BR; r++) sums[r] = SpMVSumLanes<LANES>(sums[r]);
  sum = sums[0];
#pragma unroll
  for (int r = 1; r < BR; r++)
    if (lane == r) sum = sums[r];
  if (writes) a.output.Store(row * BR + lane, sum, read);
}

template <int BR, int BC, int LANES, typename Offset, typename Output, typename Value>
static PetscErrorCode SpMVBlocksRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const SpMVBlocksArgs<Offset, Output, Value> args = {(const Offset *)view->row_offsets, plan->block_columns, (const Value *)values, x, plan->num_rows / BR, output};

  PetscFunctionBegin;
  SpMVBlocksKernel<BR, BC, LANES><<<plan->num_blocks, SPMV_BLOCKS_THREADS, 0, stream>>>(args);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int BR, int BC, int LANES, typename Offset, typename Value>
static PetscErrorCode SpMVBlocksLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVBlocksRun<BR, BC, LANES, Offset, SpMVAdd, Value>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <int BR, int BC, int LANES, typename Value>
static PetscErrorCode SpMVBlocksLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                               cudaStream_t stream)
{
  return SpMVBlocksRun<BR, BC, LANES, int32_t, SpMVEpilogue, Value>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define SPMV_BLOCKS_CONFIG(br, bc, lanes) \
  { \
    DCSR_SPMV_BLOCKS, lanes, SPMV_BLOCKS_THREADS, br, bc, SPMV_LOAD_CACHED, 0 \
  }
#define SPMV_BLOCKS_ENTRY(br, bc, lanes) \
  {SPMV_BLOCKS_CONFIG(br, bc, lanes), \
   {SpMVBlocksLaunch<br, bc, lanes, int32_t, PetscScalar>, SPMV_SINGLE((SpMVBlocksLaunch<br, bc, lanes, int32_t, DCSRSingle>))}, \
   {SpMVBlocksLaunchEpilogue<br, bc, lanes, PetscScalar>, SPMV_SINGLE((SpMVBlocksLaunchEpilogue<br, bc, lanes, DCSRSingle>))}},
#define SPMV_BLOCKS_WIDE_ENTRY(br, bc, lanes) {SPMV_BLOCKS_CONFIG(br, bc, lanes), {SpMVBlocksLaunch<br, bc, lanes, int64_t, PetscScalar>, NULL}, {NULL, NULL}},

/* SpMVBlocksGetEntry - the launchers for blocks of items rows and vec columns, with 32- or 64-bit offsets; NULL when there are none */
const SpMVEntry *SpMVBlocksGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_BLOCK_SIZES(SPMV_BLOCKS_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_BLOCK_SIZES(SPMV_BLOCKS_WIDE_ENTRY)};

  return wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);
}

/* Columns of the blocks; *full: there is nothing but full blocks. */
static PetscErrorCode SpMVPlanFindBlocks(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, PetscBool *full)
{
  const int          br = plan->config.items, bc = plan->config.vec;
  const int32_t      num_block_rows = (int32_t)view.num_rows / br;
  const PetscCount   num            = view.num_nonzeros / (br * bc);
  const unsigned int grid           = (unsigned int)(((PetscCount)num_block_rows * SPMV_WARP + SPMV_BLOCKS_THREADS - 1) / SPMV_BLOCKS_THREADS);
  int               *device = NULL, failed = 1;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *full = PETSC_FALSE;
  PetscCall(PetscSparseCUDATryMalloc(num, stream, &plan->block_columns)); // without them products go as ever
  if (plan->block_columns == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  plan->bytes += (size_t)num * sizeof(*plan->block_columns);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "whether blocks are full", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  if (view.wide) SpMVBlockColumnsKernel<<<grid, SPMV_BLOCKS_THREADS, 0, stream>>>((const int64_t *)view.row_offsets, view.columns, num_block_rows, br, bc, plan->block_columns, device);
  else SpMVBlockColumnsKernel<<<grid, SPMV_BLOCKS_THREADS, 0, stream>>>((const int32_t *)view.row_offsets, view.columns, num_block_rows, br, bc, plan->block_columns, device);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  PetscCallGoto(ierr, cleanup, DCSRReadNumbers(&failed, device, sizeof(failed), stream));
  *full = (PetscBool)!failed;
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVPlanSetUpBlocks - the list of blocks and the grid; needs plan->config with its entry. *full: PETSC_FALSE when some block is not full, and the plan cannot be used. Synchronizes. */
PetscErrorCode SpMVPlanSetUpBlocks(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, PetscBool *full)
{
  const int group = SPMV_BLOCKS_THREADS / plan->config.lanes;

  PetscFunctionBegin;
  PetscCall(SpMVPlanFindBlocks(plan, view, stream, full));
  plan->num_rows   = (int32_t)view.num_rows;
  plan->num_blocks = (plan->num_rows / plan->config.items + group - 1) / group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG with several unknowns a point
DCSRPreload(SpMVBlocksKernel<3, 3, 8, int32_t, SpMVAdd, PetscScalar>);
