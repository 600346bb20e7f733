/*
  y = A x + z by strict nonzero splitting where rows are of very different sizes and gathers want L1: the scan of spmvscan.cu without products in shared memory. A warp takes 32 x ITEMS consecutive nonzeros, lane by
  lane, and sums each 32 of them by a segmented scan of shuffles (Sengupta, Harris, Zhang, Owens: Scan primitives for GPU computing, 2007), with the sum that is open carried on to the next 32. Where rows start is a
  bit a nonzero, and the n-th bit is the n-th nonempty row: row offsets are not read. Blocks, owners of rows and long rows are those of spmvsplit.cu.
*/
#include "spmvdevice.cuh"

/* The row offsets in here are not read, so their width does not matter. */
typedef SpMVSplitArgs<int32_t> SpMVWarpScanArgs;

/* What a block's warps leave for each other; an entry a warp. */
template <int WARPS>
struct SpMVWarpScanShared {
  PetscScalar *lead; /* sum of the row that began earlier and ends in the warp's part */
  PetscScalar *open; /* sum of the row that is open at the end of the part */
  PetscScalar *over; /* sum of entries behind the block's end */
  int         *state;

  static constexpr int bytes = WARPS * (int)(3 * sizeof(PetscScalar) + sizeof(int));

  __device__ __forceinline__ SpMVWarpScanShared(unsigned char *raw) : lead((PetscScalar *)raw), open(lead + WARPS), over(open + WARPS), state((int *)(over + WARPS)) {}
};
#define SPMV_STATE_HEAD 1 /* a row starts in the warp's part */
#define SPMV_STATE_LEAD 2 /* one that began earlier ends in it */

__device__ __forceinline__ void SpMVWarpScanWrite(const SpMVWarpScanArgs &a, int32_t row, PetscScalar sum)
{
  if (a.rows.z) sum += a.rows.z[row];
  a.rows.y[row] = sum;
}

/* Columns and values of the warp's part, 32 neighbors a load; behind the end of the matrix column 0 and value 0, which no row gets. */
template <int ITEMS, int LOAD>
__device__ __forceinline__ void SpMVWarpScanLoad(const PetscScalar *values, const int32_t *columns, PetscCount count, int32_t *c, PetscScalar *v)
{
  const int lane = threadIdx.x % SPMV_WARP;

  if (count >= SPMV_WARP * ITEMS) {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) SpMVLoad<LOAD, 1>(columns + j * SPMV_WARP + lane, c + j);
#pragma unroll
    for (int j = 0; j < ITEMS; j++) SpMVLoad<LOAD, 1>(values + j * SPMV_WARP + lane, v + j);
  } else {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int k = j * SPMV_WARP + lane;

      c[j] = k < count ? columns[k] : 0;
      v[j] = k < count ? values[k] : PetscScalar(0.0);
    }
  }
}

/* The j-th 32 bits of the warp: starts of rows, and whether this lane's nonzero ends one. Lane i holds the i-th word. */
__device__ __forceinline__ unsigned int SpMVWarpScanHeads(unsigned int word, int j, bool *end)
{
  const unsigned int heads = __shfl_sync(SPMV_FULL_MASK, word, j), next = __shfl_sync(SPMV_FULL_MASK, word, j + 1);

  *end = ((heads >> 1 | next << 31) >> (threadIdx.x % SPMV_WARP) & 1u) != 0;
  return heads;
}

/* Positions in y of the rows that end at this lane's nonzeros. */
template <int ITEMS>
__device__ __forceinline__ void SpMVWarpScanRows(const SpMVWarpScanArgs &a, unsigned int word, int32_t rank, int32_t *rows)
{
  const unsigned int upto = SPMV_FULL_MASK >> (SPMV_WARP - 1 - threadIdx.x % SPMV_WARP);

#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    bool               end;
    const unsigned int heads = SpMVWarpScanHeads(word, j, &end);

    rows[j] = rank + __popc(heads & upto);
    if (a.rows.row_index && end) rows[j] = __ldg(a.rows.row_index + rows[j]);
    rank += __popc(heads);
  }
}

/* Sums within the warp's part: writes the rows that lie in it, leaves the others' sums to the block. */
template <int ITEMS, int WARPS>
__device__ __forceinline__ void SpMVWarpScanSum(const SpMVWarpScanArgs &a, unsigned int word, const int32_t *rows, const PetscScalar *products, const SpMVWarpScanShared<WARPS> &shared)
{
  const int   lane = threadIdx.x % SPMV_WARP, warp = threadIdx.x / SPMV_WARP;
  bool        seen = false, lead = false;
  PetscScalar carry(0.0);

#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    bool               end;
    const unsigned int heads = SpMVWarpScanHeads(word, j, &end), upto = heads & (SPMV_FULL_MASK >> (SPMV_WARP - 1 - lane));
    const int          start = upto ? SPMV_WARP - 1 - __clz(upto) : 0; /* lane of the first product of this lane's row */
    PetscScalar        sum   = products[j];

#pragma unroll
    for (int d = 1; d < SPMV_WARP; d *= 2) {
      const PetscScalar other = SpMVShuffle(sum, [d](unsigned int w) { return __shfl_up_sync(SPMV_FULL_MASK, w, d); });

      if (lane - d >= start) sum += other;
    }
    if (!upto) sum += carry;
    carry = SpMVShuffle(sum, [](unsigned int w) { return __shfl_sync(SPMV_FULL_MASK, w, SPMV_WARP - 1); });
    if (end && (upto || seen)) SpMVWarpScanWrite(a, rows[j], sum);
    else if (end) {
      shared.lead[warp] = sum;
      lead              = true;
    }
    seen = seen || heads;
  }
  lead = __any_sync(SPMV_FULL_MASK, lead);
  if (lane == 0) {
    shared.open[warp]  = carry;
    shared.state[warp] = (seen ? SPMV_STATE_HEAD : 0) | (lead ? SPMV_STATE_LEAD : 0);
  }
}

/* Rows [begin, end) of each lane that has some, by the whole warp. */
__device__ __forceinline__ void SpMVWarpScanFillRows(const SpMVWarpScanArgs &a, int32_t begin, int32_t end)
{
  for (unsigned int todo = __ballot_sync(SPMV_FULL_MASK, begin < end); todo; todo &= todo - 1) {
    const int     source = __ffs(todo) - 1;
    const int32_t b = __shfl_sync(SPMV_FULL_MASK, begin, source), e = __shfl_sync(SPMV_FULL_MASK, end, source);

    for (int32_t r = b + (int32_t)threadIdx.x % SPMV_WARP; r < e; r += SPMV_WARP) SpMVWarpScanWrite(a, r, PetscScalar(0.0));
  }
}

/* The empty rows behind those that end in the warp's part, and those before the first row. */
template <int ITEMS>
__device__ __forceinline__ void SpMVWarpScanFill(const SpMVWarpScanArgs &a, unsigned int word, int32_t rank)
{
  const int lane = threadIdx.x % SPMV_WARP;

  if (blockIdx.x == 0 && threadIdx.x / SPMV_WARP == 0) SpMVWarpScanFillRows(a, 0, lane == 0 ? a.rows.row_index[0] : 0);
#pragma unroll 1
  for (int j = 0; j < ITEMS; j++) {
    bool               end;
    const unsigned int heads = SpMVWarpScanHeads(word, j, &end);
    const int32_t      r     = rank + __popc(heads & (SPMV_FULL_MASK >> (SPMV_WARP - 1 - lane)));

    SpMVWarpScanFillRows(a, end ? __ldg(a.rows.row_index + r) + 1 : 0, end ? __ldg(a.rows.row_index + r + 1) : 0);
    rank += __popc(heads);
  }
}

/* Sum of what warps [begin, end) have open. */
template <int WARPS>
__device__ __forceinline__ PetscScalar SpMVWarpScanOpen(const SpMVWarpScanShared<WARPS> &shared, int begin, int end)
{
  PetscScalar sum(0.0);

  for (int w = begin; w < end; w++) sum += shared.open[w];
  return sum;
}

/* Rows that cross warps, a lane each, and the end of the row that the block begins in, when that is long. By one warp. */
template <int WARPS>
__device__ __forceinline__ void SpMVWarpScanLeads(const SpMVWarpScanArgs &a, const SpMVWarpScanShared<WARPS> &shared)
{
  const int          long_part = __ldg(&a.blocks[blockIdx.x].part);
  const int          lane = threadIdx.x % SPMV_WARP, state = lane < WARPS ? shared.state[lane] : 0;
  const unsigned int heads = __ballot_sync(SPMV_FULL_MASK, state & SPMV_STATE_HEAD), leads = __ballot_sync(SPMV_FULL_MASK, state & SPMV_STATE_LEAD);
  const unsigned int before = heads & ((1u << lane) - 1u);

  if ((state & SPMV_STATE_LEAD) && before) {
    const int32_t     r   = a.ranks[(PetscCount)blockIdx.x * WARPS + lane];
    const PetscScalar sum = SpMVWarpScanOpen<WARPS>(shared, SPMV_WARP - 1 - __clz(before), lane) + shared.lead[lane];

    SpMVWarpScanWrite(a, a.rows.row_index ? a.rows.row_index[r] : r, sum);
  }
  if (long_part & SPMV_PART_LEADING) {
    const int   end    = leads ? __ffs(leads) - 1 : WARPS;
    const bool  inside = end < WARPS && !(heads & ((1u << end) - 1u)); /* does the row end in this block? */
    PetscScalar sum    = SpMVWarpScanOpen<WARPS>(shared, 0, inside ? end : WARPS);

    if (inside) sum += shared.lead[end];
    SpMVFinishLongRowByWarp(a.rows, long_part >> 2, blockIdx.x, sum);
  }
}

/* The row that starts in the block and ends behind it. By one warp. */
template <int WARPS>
__device__ __forceinline__ void SpMVWarpScanTrail(const SpMVWarpScanArgs &a, const SpMVWarpScanShared<WARPS> &shared)
{
  const int4         word  = __ldg((const int4 *)a.blocks + blockIdx.x);
  const SpMVBlock    block = {word.x, word.y, word.z, word.w};
  const int          lane = threadIdx.x % SPMV_WARP, state = lane < WARPS ? shared.state[lane] : 0;
  const unsigned int heads = __ballot_sync(SPMV_FULL_MASK, state & SPMV_STATE_HEAD);
  PetscScalar        sum(0.0);

  if (block.over == 0 && !(block.part & SPMV_PART_TRAILING)) return;
  sum = SpMVWarpScanOpen<WARPS>(shared, SPMV_WARP - 1 - __clz(heads), WARPS);
  if (block.part & SPMV_PART_TRAILING) SpMVFinishLongRowByWarp(a.rows, (block.part >> 2) + (block.part & SPMV_PART_LEADING ? 1 : 0), blockIdx.x, sum);
  else if (lane == 0) {
    const int32_t r = block.row + block.rows - 1;

    for (int k = 0; k * SPMV_WARP < block.over; k++) sum += shared.over[k];
    SpMVWarpScanWrite(a, a.rows.row_index ? a.rows.row_index[r] : r, sum);
  }
}

template <int THREADS, int ITEMS, int LOAD, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) SpMVWarpScanKernel(const SpMVWarpScanArgs a)
{
  constexpr int warps = THREADS / SPMV_WARP, tile = THREADS * ITEMS;
  __shared__ __align__(16) unsigned char raw[SpMVWarpScanShared<warps>::bytes];
  const SpMVWarpScanShared<warps>        shared(raw);
  const int                              t = threadIdx.x, warp = t / SPMV_WARP, lane = t % SPMV_WARP;
  const PetscCount                       part = (PetscCount)blockIdx.x * warps + warp, base = part * (SPMV_WARP * ITEMS), behind = ((PetscCount)blockIdx.x + 1) * tile;
  const unsigned int                     word     = lane <= ITEMS ? __ldg(a.heads + part * ITEMS + lane) : 0;
  const int32_t                          rank     = __ldg(a.ranks + part);
  const int32_t                          num_over = __ldg(&a.blocks[blockIdx.x].over);
  int32_t                                c[ITEMS], rows[ITEMS], over_c = 0;
  PetscScalar                            v[ITEMS], over_v(0.0);

  static_assert(ITEMS < SPMV_WARP && warps > 1 && warps <= SPMV_WARP, "A lane a word and one more, a lane a warp, and long rows take two warps");
  SpMVWarpScanLoad<ITEMS, LOAD>(a.values + base, a.columns + base, a.num_nonzeros - base, c, v);
  if (t < num_over) {
    over_c = a.columns[behind + t];
    over_v = a.values[behind + t];
  }
  SpMVWarpScanRows<ITEMS>(a, word, rank, rows);
#pragma unroll
  for (int j = 0; j < ITEMS; j++) v[j] *= SpMVGather(a.x, c[j]);
  if (t - lane < num_over) {
    over_v = SpMVSumLanes<SPMV_WARP>(t < num_over ? over_v * SpMVGather(a.x, over_c) : PetscScalar(0.0));
    if (lane == 0) shared.over[warp] = over_v;
  }
  SpMVWarpScanSum<ITEMS, warps>(a, word, rows, v, shared);
  if (a.fill) SpMVWarpScanFill<ITEMS>(a, word, rank);
  __syncthreads();
  if (warp == 0) SpMVWarpScanLeads<warps>(a, shared);
  if (warp == 1) SpMVWarpScanTrail<warps>(a, shared);
}

template <int THREADS, int ITEMS, int LOAD, int RESIDENT>
static PetscErrorCode SpMVWarpScanLaunch(DCSRSpMVPlan plan, const DCSRView *view, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  static bool asked = false;

  PetscFunctionBegin;
  PetscCall(SpMVPreferL1((const void *)SpMVWarpScanKernel<THREADS, ITEMS, LOAD, RESIDENT>, THREADS, &asked));
  SpMVWarpScanKernel<THREADS, ITEMS, LOAD, RESIDENT><<<plan->num_blocks, THREADS, 0, stream>>>(SpMVSplitGetArgs<int32_t>(plan, view, x, z, y));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SPMV_WARP_SCAN_ENTRY(lanes, t, i, v, l, r) {{DCSR_SPMV_SCAN, lanes, t, i, v, l, r}, SpMVWarpScanLaunch<t, i, l, r>},

/* SpMVWarpScanGetLaunch - the launcher of a configuration of the scan in registers, NULL when it does not exist; offsets of any width */
SpMVLaunchFn *SpMVWarpScanGetLaunch(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[] = {SPMV_WARP_SCAN_CONFIGS(SPMV_WARP_SCAN_ENTRY)};
  SpMVLaunchFn          *launch    = SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_WARP_SCAN_SWEEP_CONFIGS(SPMV_WARP_SCAN_ENTRY)};

  if (launch == NULL) launch = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return launch;
}
