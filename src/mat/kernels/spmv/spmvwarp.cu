/*
  y = A x + z where rows are long and few: strict nonzero splitting as in spmvsplit.cu, with a warp in place of a thread block. Each warp has the same number of consecutive nonzeros, its share. All
  warps together are one or a few waves of the device, so that latencies at the beginning and the end of a share, those of its parts of rows among them, are paid once and not for every thread block of
  a long sequence.

  A warp traverses its share in batches. Lanes load neighboring entries, so that their gathers of x fall into as few lines as there are. Terms stay in registers: where a row ends in a batch, each lane
  adds its terms before the end, and shuffles add the lanes. A row in several shares is the sum of their parts in order, by the last warp to come. No shared memory is used, and no warp waits for
  another one.
*/
#include "../common/overlap.cuh"
#include "../common/preload.cuh"
#include "spmvdevice.cuh"

/* The terms of up to ITEMS x 32 entries from p on, in the order of lanes; zeros from end on. */
template <int ITEMS, int LOAD, typename Value>
__device__ __forceinline__ void SpMVWarpTerms(const Value *values, const int32_t *columns, const PetscScalar *x, int p, int end, PetscScalar *terms)
{
  int32_t c[ITEMS];

#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    Value v;

    c[j]     = 0;
    terms[j] = PetscScalar(0.0);
    if (p + j * SPMV_WARP < end) {
      SpMVLoad<LOAD, 1>(columns + p + j * SPMV_WARP, c + j);
      SpMVLoad<LOAD, 1>(values + p + j * SPMV_WARP, &v);
      terms[j] = PetscScalar(v);
    }
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++)
    if (p + j * SPMV_WARP < end) terms[j] *= SpMVGather(x, c[j]);
}

/*
  Rows that end in the share: lane l has what row e / 32 * 32 + l of them became, for the l that are there. The row in which the share begins is counted among them with LEADING, but is not written
  here.
*/
template <typename Output>
__device__ __forceinline__ void SpMVWarpWriteRows(const SpMVLongRows<Output> &lr, int32_t first_row, int first, int leading, int num_ends, PetscScalar sum)
{
  const int e = first + (int)threadIdx.x % SPMV_WARP;
  int32_t   row;

  if (e >= num_ends || e < leading) return;
  row = first_row + e - leading;
  if (lr.row_index) row = lr.row_index[row];
  lr.output.Write(row, sum);
}

/* The parts of the row in which the share begins, from lane 0, and of the one that starts in it and goes on, from lane 1, at the same time. */
template <typename Output>
__device__ __forceinline__ void SpMVWarpLongRows(const SpMVLongRows<Output> &lr, const SpMVBlock &block, int share, PetscScalar leading, PetscScalar trailing)
{
  const int  lane = threadIdx.x % SPMV_WARP, k = lane == 0 ? block.part >> 2 : share;
  const bool mine = lane == 0 ? (block.part & SPMV_PART_LEADING) != 0 : lane == 1 && (block.part & SPMV_PART_TRAILING) != 0;
  bool       last = false;

  if (mine) {
    const int num_parts = lr.rows[k].num_parts;

    last = SpMVLeavePart(lr, k + share, num_parts, k, lane == 0 ? leading : trailing); /* SpMVLongRow.first_part + share - first_block, without waiting for them */
  }
  for (unsigned int todo = __ballot_sync(SPMV_FULL_MASK, last); todo; todo &= todo - 1) {
    const int source = __shfl_sync(SPMV_FULL_MASK, k, __ffs(todo) - 1);

    SpMVAddPartsByWarp<1>(lr, lr.rows[source], source);
  }
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int LOAD, int RESIDENT>
__global__ void __launch_bounds__(THREADS, SPMV_WARP_RESIDENT(RESIDENT) / THREADS) SpMVWarpKernel(const SpMVSplitArgs<Offset, Output, Value> a, int32_t num_shares, int32_t share_size)
{
  WaitForPreviousKernel();
  const int        lane = threadIdx.x % SPMV_WARP;
  const PetscCount at = (PetscCount)blockIdx.x * (THREADS / SPMV_WARP) + threadIdx.x / SPMV_WARP, base = at * share_size;
  SpMVBlock        block;
  int4             word;
  const Offset    *ends;
  int              size, leading, num_ends, e = 0, mine, end; /* entries of the share, and positions in it */
  PetscScalar      sum(0.0), kept(0.0), first(0.0);

  if (at >= num_shares) return; /* the whole warp */
  word  = __ldg((const int4 *)a.blocks + at);
  block = {word.x, word.y, word.z, word.w};
  size  = a.num_nonzeros - base < share_size ? (int)(a.num_nonzeros - base) : share_size;
  if (a.rows.row_index == NULL) a.rows.output.Prefetch(block.row, block.rows, lane, SPMV_WARP);
  /* row ends, with that of the row in which the share begins; lane l keeps one of each 32 */
  leading  = block.part & SPMV_PART_LEADING;
  ends     = a.row_offsets + block.row + 1 - leading;
  num_ends = block.rows + leading;
  mine     = lane < num_ends ? (int)PetscMin((PetscCount)ends[lane] - base, (PetscCount)share_size + 1) : share_size + 1;
  end      = __shfl_sync(SPMV_FULL_MASK, mine, 0);
  for (int p = 0; p < size; p += ITEMS * SPMV_WARP) {
    PetscScalar terms[ITEMS];

    SpMVWarpTerms<ITEMS, LOAD>(a.values + base, a.columns + base, a.x, p + lane, size, terms);
    while (end <= p + ITEMS * SPMV_WARP && end <= size) { /* the same in all lanes */
#pragma unroll
      for (int j = 0; j < ITEMS; j++) {
        if (p + j * SPMV_WARP + lane < end) {
          sum += terms[j];
          terms[j] = PetscScalar(0.0);
        }
      }
      sum = SpMVSumLanes<SPMV_WARP>(sum);
      if (lane == e % SPMV_WARP) kept = sum;
      if (e == 0) first = sum;
      sum = PetscScalar(0.0);
      e++;
      if (e % SPMV_WARP == 0) {
        SpMVWarpWriteRows(a.rows, block.row, e - SPMV_WARP, leading, num_ends, kept);
        mine = e + lane < num_ends ? (int)PetscMin((PetscCount)ends[e + lane] - base, (PetscCount)share_size + 1) : share_size + 1;
      }
      end = __shfl_sync(SPMV_FULL_MASK, mine, e % SPMV_WARP);
    }
#pragma unroll
    for (int j = 0; j < ITEMS; j++) sum += terms[j];
  }
  SpMVWarpWriteRows(a.rows, block.row, e - e % SPMV_WARP, leading, e, kept);
  if (block.part & (SPMV_PART_LEADING | SPMV_PART_TRAILING)) {
    sum = SpMVSumLanes<SPMV_WARP>(sum); /* behind the last row end */
    SpMVWarpLongRows(a.rows, block, (int)at, e == 0 ? sum : first, sum);
  }
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int LOAD, int RESIDENT>
static PetscErrorCode SpMVWarpRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  constexpr int shares = THREADS / SPMV_WARP; /* of a thread block */
  static bool   asked  = false;

  PetscFunctionBegin;
  PetscCall(SpMVPreferL1((const void *)SpMVWarpKernel<Value, Offset, Output, THREADS, ITEMS, LOAD, RESIDENT>, THREADS, &asked));
  PetscCallCUDA(DCSRLaunchOverlapping(SpMVWarpKernel<Value, Offset, Output, THREADS, ITEMS, LOAD, RESIDENT>, (plan->num_blocks + shares - 1) / shares, THREADS, stream,
                                      SpMVSplitGetArgs<Offset>(plan, view, (const Value *)values, x, output), plan->num_blocks, (int32_t)plan->tile));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Value, typename Offset, int THREADS, int ITEMS, int LOAD, int RESIDENT>
static PetscErrorCode SpMVWarpLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVWarpRun<Value, Offset, SpMVAdd, THREADS, ITEMS, LOAD, RESIDENT>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <typename Value, int THREADS, int ITEMS, int LOAD, int RESIDENT>
static PetscErrorCode SpMVWarpLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  return SpMVWarpRun<Value, int32_t, SpMVEpilogue, THREADS, ITEMS, LOAD, RESIDENT>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

/* The waves are the plan's business: the kernel is the same. */
#define SPMV_WARP_ENTRY(lanes, t, i, waves, l, r) \
  {{DCSR_SPMV_WARP, lanes, t, i, waves, l, r}, \
   {SpMVWarpLaunch<PetscScalar, int32_t, t, i, l, r>, SPMV_SINGLE((SpMVWarpLaunch<DCSRSingle, int32_t, t, i, l, r>))}, \
   {SpMVWarpLaunchEpilogue<PetscScalar, t, i, l, r>, SPMV_SINGLE((SpMVWarpLaunchEpilogue<DCSRSingle, t, i, l, r>))}},
#define SPMV_WARP_WIDE_ENTRY(lanes, t, i, waves, l, r)  {{DCSR_SPMV_WARP, lanes, t, i, waves, l, r}, {SpMVWarpLaunch<PetscScalar, int64_t, t, i, l, r>, NULL}, {NULL, NULL}},
#define SPMV_WARP_SWEEP_ENTRY(lanes, t, i, waves, l, r) {{DCSR_SPMV_WARP, lanes, t, i, waves, l, r}, {SpMVWarpLaunch<PetscScalar, int32_t, t, i, l, r>, NULL}, {NULL, NULL}},

/* SpMVWarpGetEntry - the launchers of a configuration of the warp kernel for 32- or 64-bit offsets, NULL when it does not exist */
const SpMVEntry *SpMVWarpGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_WARP_CONFIGS(SPMV_WARP_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_WARP_CONFIGS(SPMV_WARP_WIDE_ENTRY)};
  const SpMVEntry       *entry          = wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_WARP_SWEEP_CONFIGS(SPMV_WARP_SWEEP_ENTRY)};

  if (entry == NULL && !wide) entry = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return entry;
}

// of coarse levels
#define PRELOADED(lanes, t, i, waves, l, r) DCSRPreload(SpMVWarpKernel<PetscScalar, int32_t, SpMVAdd, t, i, l, r>);
SPMV_WARP_CONFIGS(PRELOADED)
