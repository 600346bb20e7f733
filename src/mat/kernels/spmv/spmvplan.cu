/*
  What the plans of Mult cache from structure: facts for the launch rule, the block-to-row table, long rows, the list of nonempty rows. All of it is made on the device.
*/
#include "../common/message.h"
#include "../common/preload.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/select.h"
#include "spmvdevice.cuh"

#define SPMV_PLAN_THREADS 256

/* Device memory that the plan keeps; counts its bytes. */
template <typename T>
static PetscErrorCode SpMVPlanMalloc(DCSRSpMVPlan plan, PetscCount n, const char what[], cudaStream_t stream, T **ptr)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, what, stream, ptr));
  plan->bytes += (size_t)n * sizeof(T);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline unsigned int SpMVPlanGrid(PetscCount n)
{
  return DCSRNumBlocks(n, SPMV_PLAN_THREADS);
}

/* First row r in [0, num_rows] with row_offsets[r] >= entry. */
template <typename Offset>
__device__ __forceinline__ int32_t SpMVFirstRow(const Offset *row_offsets, int32_t num_rows, PetscCount entry)
{
  return PartitionPoint((int32_t)0, num_rows, [=](int32_t r) { return (PetscCount)row_offsets[r] < entry; });
}

/* Rows that start in thread block b. The last thread block also takes the empty rows at the end of the matrix. */
template <typename Offset>
__device__ __forceinline__ void SpMVBlockRows(const Offset *row_offsets, int32_t num_rows, int32_t num_blocks, PetscCount tile, int32_t b, int32_t *begin, int32_t *end)
{
  *begin = b == 0 ? 0 : SpMVFirstRow(row_offsets, num_rows, b * tile);
  *end   = b == num_blocks - 1 ? num_rows : SpMVFirstRow(row_offsets, num_rows, (b + 1) * tile);
}

struct SpMVDeviceFacts {
  unsigned long long num_nonempty_rows, max_row_size, max_block_rows;
};

template <typename Offset>
__global__ void SpMVFactsKernel(const Offset *row_offsets, int32_t num_rows, SpMVDeviceFacts *facts)
{
  unsigned long long nonempty = 0, largest = 0;

  for (PetscCount r = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x; r < num_rows; r += (PetscCount)gridDim.x * SPMV_PLAN_THREADS) {
    const unsigned long long size = row_offsets[r + 1] - row_offsets[r];

    nonempty += size > 0;
    if (size > largest) largest = size;
  }
  for (int d = SPMV_WARP / 2; d > 0; d /= 2) {
    const unsigned long long other = __shfl_xor_sync(SPMV_FULL_MASK, largest, d);

    nonempty += __shfl_xor_sync(SPMV_FULL_MASK, nonempty, d);
    if (other > largest) largest = other;
  }
  if (threadIdx.x % SPMV_WARP == 0) {
    atomicAdd(&facts->num_nonempty_rows, nonempty);
    atomicMax(&facts->max_row_size, largest);
  }
}

template <typename Offset>
__global__ void SpMVBlockRowsKernel(const Offset *row_offsets, int32_t num_rows, int32_t num_blocks, SpMVDeviceFacts *facts)
{
  const PetscCount b = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x;
  int32_t          begin, end;

  if (b >= num_blocks) return;
  SpMVBlockRows(row_offsets, num_rows, num_blocks, SPMV_BLOCK_NONZEROS, (int32_t)b, &begin, &end);
  atomicMax(&facts->max_block_rows, (unsigned long long)(end - begin));
}

template <typename Offset>
static PetscErrorCode SpMVFactsLaunch(DCSRView view, SpMVDeviceFacts *facts, cudaStream_t stream)
{
  const int32_t num_rows = (int32_t)view.num_rows, num_blocks = (int32_t)((view.num_nonzeros + SPMV_BLOCK_NONZEROS - 1) / SPMV_BLOCK_NONZEROS);

  PetscFunctionBegin;
  SpMVFactsKernel<<<PetscMin(SpMVPlanGrid(num_rows), 2048), SPMV_PLAN_THREADS, 0, stream>>>((const Offset *)view.row_offsets, num_rows, facts);
  PetscCallCUDA(cudaGetLastError());
  SpMVBlockRowsKernel<<<SpMVPlanGrid(num_blocks), SPMV_PLAN_THREADS, 0, stream>>>((const Offset *)view.row_offsets, num_rows, num_blocks, facts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVFactsGet - facts about the structure of a matrix with at least one nonzero, by one pass over its row offsets; synchronizes */
PetscErrorCode SpMVFactsGet(DCSRView view, cudaStream_t stream, DCSRFacts *facts)
{
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  SpMVDeviceFacts *device = NULL, host = {0, 0, 0};

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "facts of a matrix", stream, &device));
  PetscCallCUDAGoto(ierr, done, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, done, view.wide ? SpMVFactsLaunch<int64_t>(view, device, stream) : SpMVFactsLaunch<int32_t>(view, device, stream));
  PetscCallGoto(ierr, done, DCSRReadNumbers(&host, device, sizeof(host), stream));
  facts->num_nonempty_rows = (PetscCount)host.num_nonempty_rows;
  facts->max_row_size      = (PetscCount)host.max_row_size;
  facts->max_block_rows    = (PetscCount)host.max_block_rows;
done:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums[i] = counts[0] + ... + counts[i - 1], in place, for i < n; *total = sums[n - 1] on the host. Synchronizes. */
static PetscErrorCode SpMVScan(int32_t counts[], int32_t n, int32_t *total, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRExclusiveSum("scan of counts", counts, n, stream));
  PetscCallCUDA(cudaMemcpyAsync(total, counts + n - 1, sizeof(*total), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
__global__ void SpMVCompressKernel(const Offset *row_offsets, const int32_t *row_index, int32_t num_rows, PetscCount num_nonzeros, Offset *compressed)
{
  const PetscCount r = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x;

  if (r < num_rows) compressed[r] = row_offsets[row_index[r]];
  else if (r == num_rows) compressed[r] = (Offset)num_nonzeros;
}

template <typename Offset>
static PetscErrorCode SpMVPlanCompressRows_Offset(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream)
{
  PetscErrorCode ierr       = PETSC_SUCCESS;
  Offset        *compressed = NULL;
  int32_t       *num        = NULL;
  const int32_t  num_rows   = (int32_t)plan->facts.num_nonempty_rows;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, SpMVPlanMalloc(plan, num_rows, "list of nonempty rows", stream, &plan->row_index));
  PetscCallGoto(ierr, done, SpMVPlanMalloc(plan, (PetscCount)num_rows + 1, "offsets of nonempty rows", stream, &compressed));
  plan->row_offsets = compressed;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "number of nonempty rows", stream, &num));
  PetscCallGoto(ierr, done, DCSRSelectLongRows("selection of rows", (int32_t)view.num_rows, (const Offset *)view.row_offsets, 0, plan->row_index, num, stream));
  SpMVCompressKernel<<<SpMVPlanGrid((PetscCount)num_rows + 1), SPMV_PLAN_THREADS, 0, stream>>>((const Offset *)view.row_offsets, plan->row_index, num_rows, view.num_nonzeros, compressed);
  PetscCallCUDAGoto(ierr, done, cudaGetLastError());
  plan->compressed = PETSC_TRUE;
  plan->num_rows   = num_rows;
done:
  PetscCall(PetscSparseCUDAFree(&num, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVPlanCompressRows - keeps the list of nonempty rows and their offsets, so that the empty ones cost nothing; needs plan->facts */
PetscErrorCode SpMVPlanCompressRows(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.wide) PetscCall(SpMVPlanCompressRows_Offset<int64_t>(plan, view, stream));
  else PetscCall(SpMVPlanCompressRows_Offset<int32_t>(plan, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Thread block that owns the row from begin to end and cannot finish it alone, or -1. */
__device__ __forceinline__ int32_t SpMVLongRowBlock(PetscCount begin, PetscCount end, PetscCount tile, PetscCount over)
{
  const PetscCount b = begin / tile;

  return end > (b + 1) * tile + over ? (int32_t)b : -1;
}

/* Table entries of all thread blocks, and the long rows that start in them, whose counters are set to 0; long_rows and arrived may be NULL when there are none. */
template <typename Offset>
__global__ void SpMVSplitBlocksKernel(const Offset *row_offsets, int32_t num_rows, int32_t num_blocks, PetscCount tile, PetscCount over, SpMVBlock *blocks, SpMVLongRow *long_rows,
                                      unsigned int *arrived)
{
  const PetscCount b     = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x;
  SpMVBlock        block = {0, 0, 0, 0};
  int32_t          end;

  if (b >= num_blocks) return;
  SpMVBlockRows(row_offsets, num_rows, num_blocks, tile, (int32_t)b, &block.row, &end);
  block.rows = end - block.row;
  if (block.row > 0 && (PetscCount)row_offsets[block.row] > b * tile) {
    const int32_t first = SpMVLongRowBlock(row_offsets[block.row - 1], row_offsets[block.row], tile, over);

    if (first >= 0) block.part = 4 * first + SPMV_PART_LEADING;
  }
  if (block.rows > 0) {
    const PetscCount behind = (PetscCount)row_offsets[end] - (b + 1) * tile;

    if (behind > over) {
      block.part |= SPMV_PART_TRAILING;
      block.rows--;
      long_rows[b] = {end - 1, (int32_t)b, 2 * (int32_t)b, (int32_t)(((PetscCount)row_offsets[end] - 1) / tile - b + 1)};
      arrived[b]   = 0;
    } else if (behind > 0) block.over = (int32_t)behind;
  }
  blocks[b] = block;
}

/* Counters are left to those who fill the rest. */
static PetscErrorCode SpMVPlanAllocateLongRows(DCSRSpMVPlan plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpMVPlanMalloc(plan, plan->num_long, "long rows", stream, &plan->long_rows));
  PetscCall(SpMVPlanMalloc(plan, plan->num_parts, "partial sums of long rows", stream, &plan->parts));
  PetscCall(SpMVPlanMalloc(plan, plan->num_long, "counters of long rows", stream, &plan->arrived));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bits where rows start, and behind the last row; empty rows set the bit of the next one. */
template <typename Offset>
__global__ void SpMVHeadsKernel(const Offset *row_offsets, int32_t num_rows, unsigned int *heads)
{
  const PetscCount r = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x;

  if (r <= num_rows) atomicOr(heads + row_offsets[r] / 32, 1u << (row_offsets[r] % 32));
}

/* One bit a nonzero, for the thread blocks of the scan kernel. */
template <typename Offset>
static PetscErrorCode SpMVPlanSetUpHeads(DCSRSpMVPlan plan, const Offset *row_offsets, PetscCount tile, cudaStream_t stream)
{
  const PetscCount words = plan->num_blocks * tile / 32 + 1;

  PetscFunctionBegin;
  PetscCall(SpMVPlanMalloc(plan, words, "starts of rows", stream, &plan->heads));
  PetscCallCUDA(cudaMemsetAsync(plan->heads, 0, sizeof(*plan->heads) * (size_t)words, stream));
  SpMVHeadsKernel<<<SpMVPlanGrid((PetscCount)plan->num_rows + 1), SPMV_PLAN_THREADS, 0, stream>>>(row_offsets, plan->num_rows, plan->heads);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of a thread block, or of a warp of the warp kernel, and how many behind its end it takes to finish its last row. */
static PetscErrorCode SpMVPlanGetTile(DCSRSpMVPlan plan, PetscCount num_nonzeros, PetscCount *tile, PetscCount *over)
{
  const SpMVConfig *c = &plan->config;
  DCSRDeviceFacts   facts;
  PetscCount        warps;

  PetscFunctionBegin;
  *tile = (PetscCount)c->threads * c->items;
  *over = c->threads;
  if (c->kind != DCSR_SPMV_WARP) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetDeviceFacts(&facts));
  warps = (PetscCount)facts.num_multiprocessors * (SPMV_WARP_RESIDENT(c->resident) / SPMV_WARP) * c->vec;
  *tile = PetscMax((PetscCount)c->items, (num_nonzeros + warps * SPMV_WARP - 1) / (warps * SPMV_WARP)) * SPMV_WARP;
  *over = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
static PetscErrorCode SpMVPlanSetUpSplit_Offset(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream)
{
  const Offset *row_offsets = (const Offset *)(plan->compressed ? plan->row_offsets : view.row_offsets);
  PetscCount    tile, over;

  PetscFunctionBegin;
  PetscCall(SpMVPlanGetTile(plan, view.num_nonzeros, &tile, &over));
  PetscCheck((view.num_nonzeros - 1) / tile < PETSC_INT32_MAX / 4 && tile < PETSC_INT32_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscCount_FMT " nonzeros are more than the blocks of one launch can cover", view.num_nonzeros);
  plan->tile       = tile;
  plan->num_blocks = (int32_t)((view.num_nonzeros + tile - 1) / tile);
  PetscCall(SpMVPlanMalloc(plan, plan->num_blocks, "block-to-row table", stream, &plan->blocks));
  if (plan->config.kind == DCSR_SPMV_SCAN) PetscCall(SpMVPlanSetUpHeads(plan, row_offsets, tile, stream));
  if (plan->facts.max_row_size > over) {
    plan->num_long  = plan->num_blocks;
    plan->num_parts = 2 * plan->num_blocks;
    PetscCall(SpMVPlanAllocateLongRows(plan, stream));
  }
  SpMVSplitBlocksKernel<<<SpMVPlanGrid(plan->num_blocks), SPMV_PLAN_THREADS, 0, stream>>>(row_offsets, plan->num_rows, plan->num_blocks, tile, over, plan->blocks, plan->long_rows, plan->arrived);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpMVPlanSetUpSplit - the block-to-row table and the long rows of the split, the scan and the warp kernel, and the bits of the second; needs plan->config, facts and, when compressed, the compressed
  offsets. One launch, two for the scan kernel; asynchronous.
*/
PetscErrorCode SpMVPlanSetUpSplit(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.wide) PetscCall(SpMVPlanSetUpSplit_Offset<int64_t>(plan, view, stream));
  else PetscCall(SpMVPlanSetUpSplit_Offset<int32_t>(plan, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* counts[k] = chunks of long row k, counts[num_long] = 0; *num_long is on the device. */
template <typename Offset>
__global__ void SpMVChunkCountsKernel(const Offset *row_offsets, const int32_t *rows, int32_t num_long, int32_t *counts)
{
  const PetscCount k = (PetscCount)blockIdx.x * SPMV_PLAN_THREADS + threadIdx.x;

  if (k > num_long) return;
  if (k < num_long) {
    const PetscCount size = row_offsets[rows[k] + 1] - row_offsets[rows[k]];

    counts[k] = (int32_t)((size + SPMV_LONG_ROW_CHUNK - 1) / SPMV_LONG_ROW_CHUNK);
  } else counts[k] = 0;
}

/* A thread block takes a long row. */
__global__ void SpMVChunksKernel(const int32_t *rows, const int32_t *first, SpMVLongRow *long_rows, unsigned int *arrived, int32_t *chunk_rows)
{
  const int32_t k = blockIdx.x, begin = first[k], end = first[k + 1];

  if (threadIdx.x == 0) {
    long_rows[k] = {rows[k], begin, begin, end - begin};
    arrived[k]   = 0;
  }
  for (int32_t i = begin + (int32_t)threadIdx.x; i < end; i += SPMV_WARP) chunk_rows[i] = k;
}

/* Long rows and their chunks; num_long rows at most. */
template <typename Offset>
static PetscErrorCode SpMVPlanSetUpChunks(DCSRSpMVPlan plan, DCSRView view, PetscCount max_long, cudaStream_t stream)
{
  const Offset  *row_offsets = (const Offset *)(plan->compressed ? plan->row_offsets : view.row_offsets);
  PetscErrorCode ierr        = PETSC_SUCCESS;
  int32_t       *rows = NULL, *counts = NULL, *num = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(max_long, "list of long rows", stream, &rows));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "number of long rows", stream, &num));
  PetscCallGoto(ierr, done, DCSRSelectLongRows("selection of rows", plan->num_rows, row_offsets, plan->long_limit, rows, num, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(&plan->num_long, num, sizeof(plan->num_long), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
  if (plan->num_long == 0) goto done;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc((PetscCount)plan->num_long + 1, "chunks of long rows", stream, &counts));
  SpMVChunkCountsKernel<<<SpMVPlanGrid((PetscCount)plan->num_long + 1), SPMV_PLAN_THREADS, 0, stream>>>(row_offsets, rows, plan->num_long, counts);
  PetscCallCUDAGoto(ierr, done, cudaGetLastError());
  PetscCallGoto(ierr, done, SpMVScan(counts, plan->num_long + 1, &plan->num_parts, stream));
  PetscCallGoto(ierr, done, SpMVPlanAllocateLongRows(plan, stream));
  PetscCallGoto(ierr, done, SpMVPlanMalloc(plan, plan->num_parts, "long row of each chunk", stream, &plan->chunk_rows));
  SpMVChunksKernel<<<plan->num_long, SPMV_WARP, 0, stream>>>(rows, counts, plan->long_rows, plan->arrived, plan->chunk_rows);
  PetscCallCUDAGoto(ierr, done, cudaGetLastError());
done:
  PetscCall(PetscSparseCUDAFree(&rows, stream));
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscCall(PetscSparseCUDAFree(&num, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVPlanSetUpRows - the grid and the chunks of long rows of the vector kernel; needs plan->config and facts. Synchronizes when there are long rows. */
PetscErrorCode SpMVPlanSetUpRows(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream)
{
  const PetscCount block_rows = plan->config.threads / plan->config.lanes;

  PetscFunctionBegin;
  plan->long_limit = SPMV_LONG_ROW_FACTOR * plan->config.lanes;
  if (plan->facts.max_row_size > plan->long_limit) {
    const PetscCount max_long = PetscMin(view.num_nonzeros / plan->long_limit, (PetscCount)plan->num_rows);

    if (view.wide) PetscCall(SpMVPlanSetUpChunks<int64_t>(plan, view, max_long, stream));
    else PetscCall(SpMVPlanSetUpChunks<int32_t>(plan, view, max_long, stream));
  }
  plan->num_blocks = (int32_t)(plan->num_parts + (plan->num_rows + block_rows - 1) / block_rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(SpMVFactsKernel<int32_t>);
