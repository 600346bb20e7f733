/*
  y = A x + z by strict nonzero splitting, after Steinberger, Zayer, Seidel: Globally homogeneous, locally adaptive sparse matrix-vector multiplication on the GPU (Hola, ICS 2017), section 3.
  A thread block multiplies a fixed number of consecutive nonzeros, whatever the rows are. The paper adds rows that cross the border of a thread block to a zeroed y by atomics. Here each row has an
  owner: the thread block in which the row starts finishes it with a few entries of the next thread block. Longer rows are added up in a fixed order by the last thread block that works on them. So y
  is written once, and always bitwise the same.
*/
#include "../common/overlap.cuh"
#include "spmvdevice.cuh"

/* Loads the thread block's own nonzeros into registers, VEC consecutive ones a load. Behind the end of the matrix they are column 0 and value 0, which no row reads. */
template <int THREADS, int ITEMS, int VEC, int LOAD, typename Value>
__device__ __forceinline__ void SpMVSplitLoad(const Value *values, const int32_t *columns, PetscCount count, int32_t *c, Value *v)
{
  if (count >= THREADS * ITEMS) {
#pragma unroll
    for (int j = 0; j < ITEMS / VEC; j++) SpMVLoad<LOAD, VEC>(columns + (j * THREADS + (int)threadIdx.x) * VEC, c + j * VEC);
#pragma unroll
    for (int j = 0; j < ITEMS / VEC; j++) SpMVLoad<LOAD, VEC>(values + (j * THREADS + (int)threadIdx.x) * VEC, v + j * VEC);
  } else {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int k = (j / VEC * THREADS + (int)threadIdx.x) * VEC + j % VEC;

      c[j] = k < count ? columns[k] : 0;
      v[j] = k < count ? values[k] : Value(0.0);
    }
  }
}

/* Sum of terms[begin], terms[begin + STRIDE], ... before end. */
template <int STRIDE>
__device__ __forceinline__ PetscScalar SpMVSplitSum(const PetscScalar *terms, int begin, int end)
{
  PetscScalar sum(0.0);

#pragma unroll 4
  for (int i = begin; i < end; i += STRIDE) sum += terms[i];
  return sum;
}

/* Sums rows [block.row, block.row + block.rows) by LANES lanes each. The whole warp takes rows much longer than that, one after the other. begin and end are those of this lane's first row. */
template <int THREADS, int LANES, typename Offset, typename Output, typename Value>
__device__ __forceinline__ void SpMVSplitSumRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, int begin, int end, const PetscScalar *terms)
{
  constexpr int groups = THREADS / LANES, limit = LANES == SPMV_WARP ? INT_MAX : 32 + 8 * LANES;
  const int     lane = threadIdx.x % SPMV_WARP, sub = threadIdx.x % LANES;
  int           i = threadIdx.x / LANES;

  for (int first = (threadIdx.x / SPMV_WARP) * (SPMV_WARP / LANES); first < block.rows; first += groups, i += groups) {
    const bool   mine = i < block.rows, write = mine && sub == 0;
    const bool   more = i + groups < block.rows;
    int32_t      row  = block.row + i;
    Offset       next_begin(0), next_end(0);
    PetscScalar  sum(0.0);
    unsigned int todo = 0;

    typename Output::Row read{};

    if (more) {
      next_begin = a.row_offsets[row + groups];
      next_end   = a.row_offsets[row + groups + 1];
    }
    if (write) {
      if (a.rows.row_index) row = a.rows.row_index[row];
      read = a.rows.output.Load(row);
    }
    if (end - begin <= limit) sum = SpMVSplitSum<LANES>(terms, begin + sub, end);
    if (LANES < SPMV_WARP) todo = __ballot_sync(SPMV_FULL_MASK, sub == 0 && end - begin > limit);
    while (todo) {
      const int   source = __ffs(todo) - 1;
      const int   b = __shfl_sync(SPMV_FULL_MASK, begin, source), e = __shfl_sync(SPMV_FULL_MASK, end, source);
      PetscScalar s = SpMVSumLanes<SPMV_WARP>(SpMVSplitSum<SPMV_WARP>(terms, b + lane, e));

      if (lane == source) sum = s;
      todo &= todo - 1;
    }
    sum = SpMVSumLanes<LANES>(sum);
    if (write) a.rows.output.Store(row, sum, read);
    begin = more ? (int)(next_begin - base) : 0;
    end   = more ? (int)(next_end - base) : 0;
  }
}

/* The thread block's parts of the long row it begins in and of the one that starts in it. */
template <int THREADS, int TILE, typename Offset, typename Output, typename Value>
__device__ void SpMVSplitLongRows(const SpMVSplitArgs<Offset, Output, Value> &a, const SpMVBlock &block, PetscCount base, const PetscScalar *terms, PetscScalar *scratch)
{
  PetscScalar sum;

  if (block.part & SPMV_PART_LEADING) {
    const PetscCount end = (PetscCount)a.row_offsets[block.row] - base;

    sum = SpMVSumBlock<THREADS>(SpMVSplitSum<THREADS>(terms, threadIdx.x, end < TILE ? (int)end : TILE), scratch);
    SpMVFinishLongRow<THREADS>(a.rows, block.part >> 2, blockIdx.x, sum, scratch);
  }
  if (block.part & SPMV_PART_TRAILING) {
    const int begin = (int)((PetscCount)a.row_offsets[block.row + block.rows] - base);

    sum = SpMVSumBlock<THREADS>(SpMVSplitSum<THREADS>(terms, begin + (int)threadIdx.x, TILE), scratch);
    SpMVFinishLongRow<THREADS>(a.rows, blockIdx.x, blockIdx.x, sum, scratch);
  }
}

/* Complex values in double precision take twice the registers, and an epilogue has three of them at a time: with as many threads on a multiprocessor they would be spilled. */
template <typename Output>
constexpr int SpMVSplitResident(int resident)
{
  return std::is_same_v<Output, SpMVEpilogue> && sizeof(PetscScalar) > sizeof(double) ? resident * 5 / 8 : resident;
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT, int LANES>
__global__ void __launch_bounds__(THREADS, SpMVSplitResident<Output>(RESIDENT) / THREADS) SpMVSplitKernel(const SpMVSplitArgs<Offset, Output, Value> a)
{
  WaitForPreviousKernel();
  constexpr int tile = THREADS * ITEMS;
  __shared__ __align__(16) unsigned char shared[(tile + THREADS) * sizeof(PetscScalar)];
  __shared__ __align__(16) unsigned char scratch[THREADS / SPMV_WARP * sizeof(PetscScalar)];
  PetscScalar                           *terms = (PetscScalar *)shared;
  const PetscCount                       base  = (PetscCount)blockIdx.x * tile;
  const int                              i     = threadIdx.x / LANES;
  const int4                             word  = __ldg((const int4 *)a.blocks + blockIdx.x);
  const SpMVBlock                        block = {word.x, word.y, word.z, word.w};
  int                                    begin = 0, end   = 0;
  int32_t                                c[ITEMS], over_c = 0;
  Value                                  v[ITEMS], over_v(0.0);
  PetscScalar                            converted[ITEMS], *products = SpMVProducts(v, converted);

  SpMVSplitLoad<THREADS, ITEMS, VEC, LOAD>(a.values + base, a.columns + base, a.num_nonzeros - base, c, v);
  if (i < block.rows) {
    begin = (int)(a.row_offsets[block.row + i] - base);
    end   = (int)(a.row_offsets[block.row + i + 1] - base);
  }
  if (a.rows.row_index == NULL) a.rows.output.Prefetch(block.row, block.rows, (int)threadIdx.x, THREADS);
  if ((int)threadIdx.x < block.over) {
    over_c = a.columns[base + tile + threadIdx.x];
    over_v = a.values[base + tile + threadIdx.x];
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) products[j] = PetscScalar(v[j]) * SpMVGather(a.x, c[j]);
#pragma unroll
  for (int j = 0; j < ITEMS / VEC; j++) SpMVStoreShared<VEC>(terms + (j * THREADS + (int)threadIdx.x) * VEC, products + j * VEC);
  if ((int)threadIdx.x < block.over) terms[tile + threadIdx.x] = PetscScalar(over_v) * SpMVGather(a.x, over_c);
  __syncthreads();
  SpMVSplitSumRows<THREADS, LANES>(a, block, base, begin, end, terms);
  if (block.part & (SPMV_PART_LEADING | SPMV_PART_TRAILING)) SpMVSplitLongRows<THREADS, tile>(a, block, base, terms, (PetscScalar *)scratch);
}

template <typename Value, typename Offset, typename Output, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT, int LANES>
static PetscErrorCode SpMVSplitRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  static bool asked = false;

  PetscFunctionBegin;
  PetscCheck((((size_t)values | (size_t)view->columns) & 15) == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "Values and columns must be aligned to 16 bytes for the split kernel; choose the vector kernel for this storage");
  PetscCall(SpMVPreferL1((const void *)SpMVSplitKernel<Value, Offset, Output, THREADS, ITEMS, VEC, LOAD, RESIDENT, LANES>, THREADS, &asked));
  PetscCallCUDA(DCSRLaunchOverlapping(SpMVSplitKernel<Value, Offset, Output, THREADS, ITEMS, VEC, LOAD, RESIDENT, LANES>, plan->num_blocks, THREADS, stream,
                                      SpMVSplitGetArgs<Offset>(plan, view, (const Value *)values, x, output)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Value, typename Offset, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT, int LANES>
static PetscErrorCode SpMVSplitLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVSplitRun<Value, Offset, SpMVAdd, THREADS, ITEMS, VEC, LOAD, RESIDENT, LANES>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <typename Value, int THREADS, int ITEMS, int VEC, int LOAD, int RESIDENT, int LANES>
static PetscErrorCode SpMVSplitLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                              cudaStream_t stream)
{
  return SpMVSplitRun<Value, int32_t, SpMVEpilogue, THREADS, ITEMS, VEC, LOAD, RESIDENT, LANES>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define SPMV_SPLIT_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_SPLIT, lanes, t, i, v, l, r}, \
   {SpMVSplitLaunch<PetscScalar, int32_t, t, i, v, l, r, lanes>, SPMV_SINGLE((SpMVSplitLaunch<DCSRSingle, int32_t, t, i, v, l, r, lanes>))}, \
   {SpMVSplitLaunchEpilogue<PetscScalar, t, i, v, l, r, lanes>, SPMV_SINGLE((SpMVSplitLaunchEpilogue<DCSRSingle, t, i, v, l, r, lanes>))}},
#define SPMV_SPLIT_WIDE_ENTRY(lanes, t, i, v, l, r)  {{DCSR_SPMV_SPLIT, lanes, t, i, v, l, r}, {SpMVSplitLaunch<PetscScalar, int64_t, t, i, v, l, r, lanes>, NULL}, {NULL, NULL}},
#define SPMV_SPLIT_SWEEP_ENTRY(lanes, t, i, v, l, r) {{DCSR_SPMV_SPLIT, lanes, t, i, v, l, r}, {SpMVSplitLaunch<PetscScalar, int32_t, t, i, v, l, r, lanes>, NULL}, {NULL, NULL}},

/* SpMVSplitGetEntry - the launchers of a split configuration for 32- or 64-bit offsets, NULL when it does not exist */
const SpMVEntry *SpMVSplitGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_SPLIT_CONFIGS(SPMV_SPLIT_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_SPLIT_CONFIGS(SPMV_SPLIT_WIDE_ENTRY)};
  const SpMVEntry       *entry          = wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_SPLIT_SWEEP_CONFIGS(SPMV_SPLIT_SWEEP_ENTRY)};

  if (entry == NULL && !wide) entry = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return entry;
}
