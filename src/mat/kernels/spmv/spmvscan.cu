/*
  y = A x + z by strict nonzero splitting where rows are of very different sizes, after Steinberger, Zayer, Seidel: Globally homogeneous, locally adaptive sparse matrix-vector multiplication on the
  GPU (Hola, ICS 2017), section 3. Thread blocks, owners of rows and long rows are those of spmvsplit.cu. Here each thread sums the same number of consecutive terms. A bit a nonzero says where rows
  start. A segmented scan (Blelloch: Prefix sums and their applications, 1990) joins the threads of a warp. The time does not depend on how the thread block's nonzeros are spread over rows.
*/
#include "../common/overlap.cuh"
#include "../common/preload.cuh"
#include "spmvdevice.cuh"

/* Place of the k-th term of a thread block in shared memory: a gap behind each thread's ITEMS, so that a warp's threads read from different banks. */
template <int ITEMS>
__device__ __forceinline__ int SpMVScanPosition(int k)
{
  return k + k / ITEMS;
}

/* Which of its thread block's nonzeros a thread loads as its j-th: consecutive ones by neighboring lanes, all within the part that its warp sums. */
template <int ITEMS, int VEC>
__device__ __forceinline__ int SpMVScanIndex(int j)
{
  const int lane = threadIdx.x % SPMV_WARP;

  return ((int)threadIdx.x - lane) * ITEMS + (j / VEC * SPMV_WARP + lane) * VEC + j % VEC;
}

template <int THREADS, int ITEMS, int VEC, int LOAD, typename Value>
__device__ __forceinline__ void SpMVScanLoad(const Value *values, const int32_t *columns, PetscCount count, int32_t *c, Value *v)
{
  if (count >= THREADS * ITEMS) {
#pragma unroll
    for (int j = 0; j < ITEMS; j += VEC) SpMVLoad<LOAD, VEC>(columns + SpMVScanIndex<ITEMS, VEC>(j), c + j);
#pragma unroll
    for (int j = 0; j < ITEMS; j += VEC) SpMVLoad<LOAD, VEC>(values + SpMVScanIndex<ITEMS, VEC>(j), v + j);
  } else {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int k = SpMVScanIndex<ITEMS, VEC>(j);

      c[j] = k < count ? columns[k] : 0;
      v[j] = k < count ? values[k] : Value(0.0);
    }
  }
}

/*
  Sums within a warp's part. On return the term that ends a row, or the warp's part, is replaced by the sum of that row's terms in the part;
  the return value, in lane 31, is the sum of the row that is open at the end of the part.
*/
template <int ITEMS>
__device__ __forceinline__ PetscScalar SpMVScanWarp(unsigned int heads, PetscScalar *terms)
{
  PetscScalar       *mine  = terms + SpMVScanPosition<ITEMS>((int)threadIdx.x * ITEMS);
  const int          lane  = threadIdx.x % SPMV_WARP;
  const unsigned int upto  = __ballot_sync(SPMV_FULL_MASK, heads != 0) & (SPMV_FULL_MASK >> (SPMV_WARP - 1 - lane));
  const int          start = upto ? SPMV_WARP - 1 - __clz(upto) : 0; /* lane in which the row open at this thread's end starts */
  const unsigned int next  = __shfl_down_sync(SPMV_FULL_MASK, heads, 1);
  const unsigned int ends  = heads >> 1 | (lane == SPMV_WARP - 1 ? 1u : next & 1u) << (ITEMS - 1);
  PetscScalar        sums[ITEMS], open, before;

#pragma unroll
  for (int j = 0; j < ITEMS; j++) sums[j] = mine[j];
#pragma unroll
  for (int j = 1; j < ITEMS; j++)
    if (!(heads >> j & 1u)) sums[j] += sums[j - 1];
  open = sums[ITEMS - 1];
#pragma unroll
  for (int d = 1; d < SPMV_WARP; d *= 2) {
    const PetscScalar other = SpMVShuffle(open, [d](unsigned int w) { return __shfl_up_sync(SPMV_FULL_MASK, w, d); });

    if (lane - d >= start) open += other;
  }
  before = SpMVShuffle(open, [](unsigned int w) { return __shfl_up_sync(SPMV_FULL_MASK, w, 1); });
  if (lane == 0) before = PetscScalar(0.0);
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    if (heads & ((2u << j) - 1u)) before = PetscScalar(0.0);
    if (ends >> j & 1u) mine[j] = sums[j] + before;
  }
  return open;
}

/* Sum of the thread block's terms from begin on and before end: whole parts of warps, then the sum left at the row's end. begin < end. */
template <int ITEMS>
__device__ __forceinline__ PetscScalar SpMVScanRowSum(int begin, int end, const PetscScalar *terms, const PetscScalar *open)
{
  constexpr int part = SPMV_WARP * ITEMS;
  PetscScalar   sum(0.0);

  for (int w = begin / part; w < (end - 1) / part; w++) sum += open[w];
  return sum + terms[SpMVScanPosition<ITEMS>(end - 1)];
}

/* The rows that the thread block finishes alone; begin and end are those of this thread's first row. */
template <int THREADS, int ITEMS, typename Offset, typename Output, typename Value>
__device__ __forceinline__ void SpMVScanWriteRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, int begin, int end, const PetscScalar *terms,
                                                  const PetscScalar *open, const PetscScalar *over)
{
  constexpr int tile = THREADS * ITEMS;

  for (int i = threadIdx.x; i < block.rows; i += THREADS) {
    int32_t     row = block.row + i;
    PetscScalar sum(0.0);

    if (i >= THREADS) {
      begin = (int)(a.row_offsets[row] - base);
      end   = (int)(a.row_offsets[row + 1] - base);
    }
    if (begin < end) sum = SpMVScanRowSum<ITEMS>(begin, end < tile ? end : tile, terms, open);
    for (int k = 0; k * SPMV_WARP < end - tile; k++) sum += over[k];
    if (a.rows.row_index) row = a.rows.row_index[row];
    a.rows.output.Write(row, sum);
  }
}

/* The thread block's parts of the long row it begins in and of the one that starts in it. A warp takes each: the last warps, which have the fewest rows to write. */
template <int THREADS, int ITEMS, typename Offset, typename Output, typename Value>
__device__ __forceinline__ void SpMVScanLongRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, const PetscScalar *terms, const PetscScalar *open)
{
  constexpr int tile  = THREADS * ITEMS;
  const int     warp  = THREADS / SPMV_WARP - 1 - (int)threadIdx.x / SPMV_WARP;
  int           begin = 0;

  if (warp == 0 && (block.part & SPMV_PART_LEADING)) {
    const PetscCount end = (PetscCount)a.row_offsets[block.row] - base;

    SpMVFinishLongRowByWarp(a.rows, block.part >> 2, blockIdx.x, SpMVScanRowSum<ITEMS>(0, end < tile ? (int)end : tile, terms, open));
  }
  if (warp == 1 && (block.part & SPMV_PART_TRAILING)) {
    begin = (int)((PetscCount)a.row_offsets[block.row + block.rows] - base);
    SpMVFinishLongRowByWarp(a.rows, blockIdx.x, blockIdx.x, SpMVScanRowSum<ITEMS>(begin, tile, terms, open));
  }
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) SpMVScanKernel(const SpMVSplitArgs<Offset, Output, Value> a)
{
  WaitForPreviousKernel();
  constexpr int tile = THREADS * ITEMS, warps = THREADS / SPMV_WARP;
  __shared__ __align__(16) unsigned char shared[(tile + THREADS + 2 * warps) * sizeof(PetscScalar)];
  PetscScalar                           *terms = (PetscScalar *)shared, *open = terms + tile + THREADS, *over = open + warps;
  const PetscCount                       base  = (PetscCount)blockIdx.x * tile;
  const int                              t     = threadIdx.x;
  const int4                             word  = __ldg((const int4 *)a.blocks + blockIdx.x);
  const SpMVBlock                        block = {word.x, word.y, word.z, word.w};
  const unsigned int                     heads = __ldg(a.heads + (base + t * ITEMS) / 32) >> (t * ITEMS % 32) & ((1u << ITEMS) - 1u);
  int                                    begin = 0, end   = 0;
  int32_t                                c[ITEMS], over_c = 0;
  Value                                  v[ITEMS], over_value(0.0);
  PetscScalar                            over_v, last;

  static_assert(ITEMS < 32 && 32 % ITEMS == 0 && warps > 1, "Bits of a thread lie in one word, and long rows take two warps");
  SpMVScanLoad<THREADS, ITEMS, VEC, LOAD>(a.values + base, a.columns + base, a.num_nonzeros - base, c, v);
  if (t < block.rows) {
    begin = (int)(a.row_offsets[block.row + t] - base);
    end   = (int)(a.row_offsets[block.row + t + 1] - base);
  }
  if (t < block.over) {
    over_c     = a.columns[base + tile + t];
    over_value = a.values[base + tile + t];
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) terms[SpMVScanPosition<ITEMS>(SpMVScanIndex<ITEMS, VEC>(j))] = PetscScalar(v[j]) * SpMVGather(a.x, c[j]);
  if (t - t % SPMV_WARP < block.over) {
    over_v = SpMVSumLanes<SPMV_WARP>(t < block.over ? PetscScalar(over_value) * SpMVGather(a.x, over_c) : PetscScalar(0.0));
    if (t % SPMV_WARP == 0) over[t / SPMV_WARP] = over_v;
  }
  __syncwarp();
  last = SpMVScanWarp<ITEMS>(heads, terms);
  if (t % SPMV_WARP == SPMV_WARP - 1) open[t / SPMV_WARP] = last;
  __syncthreads();
  if (block.part & (SPMV_PART_LEADING | SPMV_PART_TRAILING)) SpMVScanLongRows<THREADS, ITEMS>(a, block, base, terms, open);
  SpMVScanWriteRows<THREADS, ITEMS>(a, block, base, begin, end, terms, open, over);
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT>
static PetscErrorCode SpMVScanRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  static bool asked = false;

  PetscFunctionBegin;
  PetscCheck((((size_t)values | (size_t)view->columns) & 15) == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "Values and columns must be aligned to 16 bytes for the scan kernel; choose the vector kernel for this storage");
  PetscCall(SpMVPreferL1((const void *)SpMVScanKernel<Value, Offset, Output, THREADS, ITEMS, VEC, LOAD, RESIDENT>, THREADS, &asked));
  PetscCallCUDA(DCSRLaunchOverlapping(SpMVScanKernel<Value, Offset, Output, THREADS, ITEMS, VEC, LOAD, RESIDENT>, plan->num_blocks, THREADS, stream,
                                      SpMVSplitGetArgs<Offset>(plan, view, (const Value *)values, x, output)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Value, typename Offset, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT>
static PetscErrorCode SpMVScanLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVScanRun<Value, Offset, SpMVAdd, THREADS, ITEMS, VEC, LOAD, RESIDENT>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <typename Value, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT>
static PetscErrorCode SpMVScanLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  return SpMVScanRun<Value, int32_t, SpMVEpilogue, THREADS, ITEMS, VEC, LOAD, RESIDENT>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define SPMV_SCAN_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_SCAN, lanes, t, i, v, l, r}, \
   {SpMVScanLaunch<PetscScalar, int32_t, t, i, v, l, r>, SPMV_SINGLE((SpMVScanLaunch<DCSRSingle, int32_t, t, i, v, l, r>))}, \
   {SpMVScanLaunchEpilogue<PetscScalar, t, i, v, l, r>, SPMV_SINGLE((SpMVScanLaunchEpilogue<DCSRSingle, t, i, v, l, r>))}},
#define SPMV_SCAN_WIDE_ENTRY(lanes, t, i, v, l, r)  {{DCSR_SPMV_SCAN, lanes, t, i, v, l, r}, {SpMVScanLaunch<PetscScalar, int64_t, t, i, v, l, r>, NULL}, {NULL, NULL}},
#define SPMV_SCAN_SWEEP_ENTRY(lanes, t, i, v, l, r) {{DCSR_SPMV_SCAN, lanes, t, i, v, l, r}, {SpMVScanLaunch<PetscScalar, int32_t, t, i, v, l, r>, NULL}, {NULL, NULL}},

/* SpMVScanGetEntry - the launchers of a scan configuration for 32- or 64-bit offsets, NULL when it does not exist */
const SpMVEntry *SpMVScanGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_SCAN_CONFIGS(SPMV_SCAN_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_SCAN_CONFIGS(SPMV_SCAN_WIDE_ENTRY)};
  const SpMVEntry       *entry          = wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_SCAN_SWEEP_CONFIGS(SPMV_SCAN_SWEEP_ENTRY)};

  if (entry == NULL && !wide) entry = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return entry;
}

// of coarse levels
#define PRELOADED(lanes, t, i, v, l, r) DCSRPreload(SpMVScanKernel<PetscScalar, int32_t, SpMVAdd, t, i, v, l, r>);
SPMV_SCAN_CONFIGS(PRELOADED)
