/*
  y = A x + z by a group of lanes for each row, of compact storage (vector) and of rows in up to DCSR_MAX_SEGMENTS segments (fragmented; King, Gilray, Kirby, Might: Dynamic-CSR, ISC 2016, section 3).
  Rows much longer than their group are cut into chunks. The first thread blocks of the same launch take a chunk each.
*/
#include "../common/preload.cuh"
#include "spmvdevice.cuh"
#include "spmvsingle.h"

template <typename Offset>
struct SpMVCompactRows {
  const Offset *row_offsets;

  struct Row {
    Offset  begin;
    int32_t size;

    __device__ __forceinline__ Offset At(int32_t p) const { return begin + p; }
  };

  __device__ __forceinline__ Row Get(int32_t r) const
  {
    const Offset begin = row_offsets[r], end = row_offsets[r + 1];

    return {begin, (int32_t)(end - begin)};
  }
};

/*
  A row of n entries in 4 segments must read 4 pairs of 8 bytes and 4 bytes of row size beyond its entries, where compact storage has 4 bytes of offset. Memory sectors of unused entries behind the
  last segment come along. So 5 and 7 entries a row cannot reach more than 0.59 and 0.65 of the compact rate, 27 entries 0.86, 81 entries 0.95. An NVIDIA H200 measured 0.59, 0.84 and 0.86 (5, 27, 81)
  on 2026-11-21.
*/
template <typename Offset>
struct SpMVFragmentedRows {
  const Offset  *segments;
  const int32_t *row_sizes;
  PetscCount     pitch;
  int32_t        max_segments;

  static_assert(DCSR_MAX_SEGMENTS == 4, "Row compares with three borders");

  struct Row {
    Offset  shift[DCSR_MAX_SEGMENTS];      /* pool entry of position p of the row is p + shift of its segment */
    int32_t border[DCSR_MAX_SEGMENTS - 1]; /* first position of segments 1, 2, 3 */
    int32_t size;

    __device__ __forceinline__ Offset At(int32_t p) const { return p + (p < border[0] ? shift[0] : p < border[1] ? shift[1] : p < border[2] ? shift[2] : shift[3]); }
  };

  struct alignas(2 * sizeof(Offset)) Pair {
    Offset begin, end;
  };

  __device__ __forceinline__ Row Get(int32_t r) const
  {
    const Pair *pairs = (const Pair *)segments + r;
    const Pair  first = *pairs;
    Row         row;
    Pair        pair[DCSR_MAX_SEGMENTS - 1];
    int32_t     border = (int32_t)(first.end - first.begin);

    row.size     = row_sizes[r];
    row.shift[0] = first.begin;
#pragma unroll
    for (int s = 1; s < DCSR_MAX_SEGMENTS; s++) pair[s - 1] = row.size > border && s < max_segments ? pairs[s * pitch] : Pair{0, 0};
#pragma unroll
    for (int s = 1; s < DCSR_MAX_SEGMENTS; s++) {
      row.border[s - 1] = border;
      row.shift[s]      = pair[s - 1].begin - border;
      border += (int32_t)(pair[s - 1].end - pair[s - 1].begin);
    }
    return row;
  }
};

template <typename Rows, typename Output, typename Value>
struct SpMVRowsArgs {
  Rows                 rows;
  const Value         *values;
  const int32_t       *columns;
  const PetscScalar   *x;
  const int32_t       *chunk_rows;
  int32_t              num_rows;
  int32_t              num_chunks;
  int32_t              long_limit;
  SpMVLongRows<Output> long_rows; /* with the row map and the output of all rows */
};

/* Sum of the entries at positions p, p + STRIDE, ... before end of a row; UNROLL of a lane are loaded before the first is used. */
template <int STRIDE, int LOAD, int UNROLL, typename Rows, typename Output, typename Value>
__device__ __forceinline__ PetscScalar SpMVRowsSum(const SpMVRowsArgs<Rows, Output, Value> &a, const typename Rows::Row &row, int32_t p, int32_t end)
{
  PetscScalar sum(0.0);

  for (; p < end; p += UNROLL * STRIDE) {
    int32_t     c[UNROLL];
    Value       v[UNROLL];
    PetscScalar converted[UNROLL], *products = SpMVProducts(v, converted);

#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (p + u * STRIDE < end) {
        const auto k = row.At(p + u * STRIDE);

        SpMVLoad<LOAD, 1>(a.columns + k, c + u);
        SpMVLoad<LOAD, 1>(a.values + k, v + u);
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (p + u * STRIDE < end) products[u] = PetscScalar(v[u]) * SpMVGather(a.x, c[u]);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (p + u * STRIDE < end) sum += products[u];
  }
  return sum;
}

/* One chunk of a long row by a thread block. */
template <typename Rows, typename Output, typename Value, int THREADS, int LOAD, int UNROLL>
__device__ void SpMVRowsChunk(const SpMVRowsArgs<Rows, Output, Value> &a, PetscScalar *scratch)
{
  const int                k        = a.chunk_rows[blockIdx.x];
  const SpMVLongRow        long_row = a.long_rows.rows[k];
  const typename Rows::Row row      = a.rows.Get(long_row.row);
  const int32_t            begin    = ((int32_t)blockIdx.x - long_row.first_block) * SPMV_LONG_ROW_CHUNK;
  const int32_t            end      = row.size - begin < SPMV_LONG_ROW_CHUNK ? row.size : begin + SPMV_LONG_ROW_CHUNK;
  PetscScalar              sum      = SpMVRowsSum<THREADS, LOAD, UNROLL>(a, row, begin + (int32_t)threadIdx.x, end);

  sum = SpMVSumBlock<THREADS>(sum, scratch);
  SpMVFinishLongRow<THREADS>(a.long_rows, k, blockIdx.x, sum, scratch);
}

template <typename Rows, typename Output, typename Value, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
__global__ void __launch_bounds__(THREADS, RESIDENT ? RESIDENT / THREADS : 1) SpMVRowsKernel(const SpMVRowsArgs<Rows, Output, Value> a)
{
  __shared__ __align__(16) unsigned char scratch[THREADS / SPMV_WARP * sizeof(PetscScalar)];

  if ((int32_t)blockIdx.x < a.num_chunks) SpMVRowsChunk<Rows, Output, Value, THREADS, LOAD, UNROLL>(a, (PetscScalar *)scratch);
  else {
    const PetscCount   r    = (PetscCount)(blockIdx.x - a.num_chunks) * (THREADS / LANES) + threadIdx.x / LANES;
    const int          sub  = threadIdx.x % LANES;
    const bool         mine = r < a.num_rows;
    typename Rows::Row row  = a.rows.Get(mine ? (int32_t)r : a.num_rows - 1);
    const bool         full = mine && row.size <= a.long_limit;
    int32_t            i    = (int32_t)r;
    PetscScalar        sum;

    typename Output::Row read{};

    if (full && sub == 0) {
      if (a.long_rows.row_index) i = a.long_rows.row_index[i];
      read = a.long_rows.output.Load(i);
    }
    sum = SpMVSumLanes<LANES>(SpMVRowsSum<LANES, LOAD, UNROLL>(a, row, sub, full ? row.size : 0));
    if (full && sub == 0) a.long_rows.output.Store(i, sum, read);
  }
}

template <typename Rows, typename Output, typename Value, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVRowsRun(const Rows &rows, DCSRSpMVPlan plan, const DCSRView *view, const Value values[], const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const SpMVRowsArgs<Rows, Output, Value> args =
    {rows, values, view->columns, x, plan->chunk_rows, plan->num_rows, plan->num_parts, plan->long_limit, {plan->long_rows, plan->parts, plan->arrived, plan->row_index, output}};

  PetscFunctionBegin;
  SpMVRowsKernel<Rows, Output, Value, THREADS, LOAD, UNROLL, RESIDENT, LANES><<<plan->num_blocks, THREADS, 0, stream>>>(args);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Value, typename Offset, typename Output, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVVectorRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const SpMVCompactRows<Offset> rows = {(const Offset *)(plan->compressed ? plan->row_offsets : view->row_offsets)};

  return SpMVRowsRun<SpMVCompactRows<Offset>, Output, Value, THREADS, LOAD, UNROLL, RESIDENT, LANES>(rows, plan, view, (const Value *)values, x, output, stream);
}

template <typename Value, typename Offset, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVVectorLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVVectorRun<Value, Offset, SpMVAdd, THREADS, LOAD, UNROLL, RESIDENT, LANES>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <typename Value, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVVectorLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                               cudaStream_t stream)
{
  return SpMVVectorRun<Value, int32_t, SpMVEpilogue, THREADS, LOAD, UNROLL, RESIDENT, LANES>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

template <typename Offset, typename Output, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVFragmentedRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const SpMVFragmentedRows<Offset> rows = {(const Offset *)view->segments, view->row_sizes, view->pitch, (int32_t)view->max_segments};

  return SpMVRowsRun<SpMVFragmentedRows<Offset>, Output, PetscScalar, THREADS, LOAD, UNROLL, RESIDENT, LANES>(rows, plan, view, (const PetscScalar *)values, x, output, stream);
}

template <typename Offset, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVFragmentedLaunch(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return SpMVFragmentedRun<Offset, SpMVAdd, THREADS, LOAD, UNROLL, RESIDENT, LANES>(plan, view, values, x, SpMVAdd{z, y}, stream);
}

template <int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVFragmentedLaunchEpilogue(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                                   cudaStream_t stream)
{
  return SpMVFragmentedRun<int32_t, SpMVEpilogue, THREADS, LOAD, UNROLL, RESIDENT, LANES>(plan, view, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define SPMV_VECTOR_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, \
   {SpMVVectorLaunch<PetscScalar, int32_t, t, l, i, r, lanes>, SPMV_SINGLE((SpMVVectorLaunch<DCSRSingle, int32_t, t, l, i, r, lanes>))}, \
   {SpMVVectorLaunchEpilogue<PetscScalar, t, l, i, r, lanes>, SPMV_SINGLE((SpMVVectorLaunchEpilogue<DCSRSingle, t, l, i, r, lanes>))}},
#define SPMV_FRAGMENTED_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_FRAGMENTED, lanes, t, i, v, l, r}, {SpMVFragmentedLaunch<int32_t, t, l, i, r, lanes>, NULL}, {SpMVFragmentedLaunchEpilogue<t, l, i, r, lanes>, NULL}},
#define SPMV_VECTOR_WIDE_ENTRY(lanes, t, i, v, l, r)     {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, {SpMVVectorLaunch<PetscScalar, int64_t, t, l, i, r, lanes>, NULL}, {NULL, NULL}},
#define SPMV_FRAGMENTED_WIDE_ENTRY(lanes, t, i, v, l, r) {{DCSR_SPMV_FRAGMENTED, lanes, t, i, v, l, r}, {SpMVFragmentedLaunch<int64_t, t, l, i, r, lanes>, NULL}, {NULL, NULL}},
#define SPMV_VECTOR_SWEEP_ENTRY(lanes, t, i, v, l, r)    {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, {SpMVVectorLaunch<PetscScalar, int32_t, t, l, i, r, lanes>, NULL}, {NULL, NULL}},
#define SPMV_VECTOR_SINGLE_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, \
   {NULL, SPMV_SINGLE((SpMVVectorLaunch<DCSRSingle, int32_t, t, l, i, r, lanes>))}, \
   {NULL, SPMV_SINGLE((SpMVVectorLaunchEpilogue<DCSRSingle, t, l, i, r, lanes>))}},

/* SpMVRowsGetEntry - the launchers of a vector or fragmented configuration for 32- or 64-bit offsets, NULL when it does not exist */
const SpMVEntry *SpMVRowsGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_VECTOR_CONFIGS(SPMV_VECTOR_ENTRY) SPMV_FRAGMENTED_CONFIGS(SPMV_FRAGMENTED_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_VECTOR_CONFIGS(SPMV_VECTOR_WIDE_ENTRY) SPMV_FRAGMENTED_CONFIGS(SPMV_FRAGMENTED_WIDE_ENTRY)};
  const SpMVEntry       *entry          = wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SINGLE_SWEEP)
  static const SpMVEntry single[] = {SPMV_VECTOR_SINGLE_CONFIGS(SPMV_VECTOR_SINGLE_ENTRY) SPMV_VECTOR_SINGLE_SWEEP_CONFIGS(SPMV_VECTOR_SINGLE_ENTRY) SPMV_SINGLE_END};
#else
  static const SpMVEntry single[] = {SPMV_VECTOR_SINGLE_CONFIGS(SPMV_VECTOR_SINGLE_ENTRY) SPMV_SINGLE_END};
#endif

  if (entry == NULL && !wide) entry = SpMVEntryFind(single, PETSC_STATIC_ARRAY_LENGTH(single), config);
#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_VECTOR_SWEEP_CONFIGS(SPMV_VECTOR_SWEEP_ENTRY)};

  if (entry == NULL && !wide) entry = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return entry;
}

// of interpolation on coarse levels
DCSRPreload(SpMVRowsKernel<SpMVCompactRows<int32_t>, SpMVAdd, PetscScalar, 256, SPMV_LOAD_CACHED, 4, 0, 8>);
