/*
  y = A x + z by a group of lanes for each row.
  Rows much longer than their group are cut into chunks. The first thread blocks of the same launch take a chunk each.
*/
#include "../common/overlap.cuh"
#include "../common/preload.cuh"
#include "spmvdevice.cuh"

template <typename Offset>
struct SpMVRow {
  Offset  begin;
  int32_t size;
};

template <typename Offset>
__device__ __forceinline__ SpMVRow<Offset> SpMVGetRow(const Offset *row_offsets, int32_t r)
{
  const Offset begin = row_offsets[r], end = row_offsets[r + 1];

  return {begin, (int32_t)(end - begin)};
}

template <typename Offset, typename Output, typename Value>
struct SpMVRowsArgs {
  const Offset        *row_offsets;
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
template <int STRIDE, int LOAD, int UNROLL, typename Offset, typename Output, typename Value>
__device__ __forceinline__ PetscScalar SpMVRowsSum(const SpMVRowsArgs<Offset, Output, Value> &a, const SpMVRow<Offset> &row, int32_t p, int32_t end)
{
  PetscScalar sum(0.0);

  for (; p < end; p += UNROLL * STRIDE) {
    int32_t     c[UNROLL];
    Value       v[UNROLL];
    PetscScalar converted[UNROLL], *products = SpMVProducts(v, converted);

#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (p + u * STRIDE < end) {
        const Offset k = row.begin + p + u * STRIDE;

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
template <typename Offset, typename Output, typename Value, int THREADS, int LOAD, int UNROLL>
__device__ void SpMVRowsChunk(const SpMVRowsArgs<Offset, Output, Value> &a, PetscScalar *scratch)
{
  const int             k        = a.chunk_rows[blockIdx.x];
  const SpMVLongRow     long_row = a.long_rows.rows[k];
  const SpMVRow<Offset> row      = SpMVGetRow(a.row_offsets, long_row.row);
  const int32_t         begin    = ((int32_t)blockIdx.x - long_row.first_block) * SPMV_LONG_ROW_CHUNK;
  const int32_t         end      = row.size - begin < SPMV_LONG_ROW_CHUNK ? row.size : begin + SPMV_LONG_ROW_CHUNK;
  PetscScalar           sum      = SpMVRowsSum<THREADS, LOAD, UNROLL>(a, row, begin + (int32_t)threadIdx.x, end);

  sum = SpMVSumBlock<THREADS>(sum, scratch);
  SpMVFinishLongRow<THREADS>(a.long_rows, k, blockIdx.x, sum, scratch);
}

template <typename Offset, typename Output, typename Value, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
__global__ void __launch_bounds__(THREADS, RESIDENT ? RESIDENT / THREADS : 1) SpMVRowsKernel(const SpMVRowsArgs<Offset, Output, Value> a)
{
  WaitForPreviousKernel();
  __shared__ __align__(16) unsigned char scratch[THREADS / SPMV_WARP * sizeof(PetscScalar)];

  if ((int32_t)blockIdx.x < a.num_chunks) SpMVRowsChunk<Offset, Output, Value, THREADS, LOAD, UNROLL>(a, (PetscScalar *)scratch);
  else {
    const PetscCount      r    = (PetscCount)(blockIdx.x - a.num_chunks) * (THREADS / LANES) + threadIdx.x / LANES;
    const int             sub  = threadIdx.x % LANES;
    const bool            mine = r < a.num_rows;
    const SpMVRow<Offset> row  = SpMVGetRow(a.row_offsets, mine ? (int32_t)r : a.num_rows - 1);
    const bool            full = mine && row.size <= a.long_limit;
    int32_t               i    = (int32_t)r;
    PetscScalar           sum;

    typename Output::Row read{};

    if (full && sub == 0) {
      if (a.long_rows.row_index) i = a.long_rows.row_index[i];
      read = a.long_rows.output.Load(i);
    }
    sum = SpMVSumLanes<LANES>(SpMVRowsSum<LANES, LOAD, UNROLL>(a, row, sub, full ? row.size : 0));
    if (full && sub == 0) a.long_rows.output.Store(i, sum, read);
  }
}

template <typename Value, typename Offset, typename Output, int THREADS, int LOAD, int UNROLL, int RESIDENT, int LANES>
static PetscErrorCode SpMVVectorRun(DCSRSpMVPlan plan, const DCSRView *view, const void *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  const SpMVRowsArgs<Offset, Output, Value> args =
    {(const Offset *)(plan->compressed ? plan->row_offsets : view->row_offsets), (const Value *)values, view->columns, x, plan->chunk_rows, plan->num_rows, plan->num_parts, plan->long_limit,
     {plan->long_rows, plan->parts, plan->arrived, plan->row_index, output}};

  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunchOverlapping(SpMVRowsKernel<Offset, Output, Value, THREADS, LOAD, UNROLL, RESIDENT, LANES>, plan->num_blocks, THREADS, stream, args));
  PetscFunctionReturn(PETSC_SUCCESS);
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

#define SPMV_VECTOR_ENTRY(lanes, t, i, v, l, r) \
  {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, \
   {SpMVVectorLaunch<PetscScalar, int32_t, t, l, i, r, lanes>, SPMV_SINGLE((SpMVVectorLaunch<DCSRSingle, int32_t, t, l, i, r, lanes>))}, \
   {SpMVVectorLaunchEpilogue<PetscScalar, t, l, i, r, lanes>, SPMV_SINGLE((SpMVVectorLaunchEpilogue<DCSRSingle, t, l, i, r, lanes>))}},
#define SPMV_VECTOR_WIDE_ENTRY(lanes, t, i, v, l, r)  {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, {SpMVVectorLaunch<PetscScalar, int64_t, t, l, i, r, lanes>, NULL}, {NULL, NULL}},
#define SPMV_VECTOR_SWEEP_ENTRY(lanes, t, i, v, l, r) {{DCSR_SPMV_VECTOR, lanes, t, i, v, l, r}, {SpMVVectorLaunch<PetscScalar, int32_t, t, l, i, r, lanes>, NULL}, {NULL, NULL}},

/* SpMVRowsGetEntry - the launchers of a vector configuration for 32- or 64-bit offsets, NULL when it does not exist */
const SpMVEntry *SpMVRowsGetEntry(const SpMVConfig *config, PetscBool wide)
{
  static const SpMVEntry entries[]      = {SPMV_VECTOR_CONFIGS(SPMV_VECTOR_ENTRY)};
  static const SpMVEntry wide_entries[] = {SPMV_VECTOR_CONFIGS(SPMV_VECTOR_WIDE_ENTRY)};
  const SpMVEntry       *entry          = wide ? SpMVEntryFind(wide_entries, PETSC_STATIC_ARRAY_LENGTH(wide_entries), config) : SpMVEntryFind(entries, PETSC_STATIC_ARRAY_LENGTH(entries), config);

#if defined(SPMV_SWEEP)
  static const SpMVEntry sweep[] = {SPMV_VECTOR_SWEEP_CONFIGS(SPMV_VECTOR_SWEEP_ENTRY)};

  if (entry == NULL && !wide) entry = SpMVEntryFind(sweep, PETSC_STATIC_ARRAY_LENGTH(sweep), config);
#endif
  return entry;
}

// of interpolation on coarse levels
DCSRPreload(SpMVRowsKernel<int32_t, SpMVAdd, PetscScalar, 256, SPMV_LOAD_CACHED, 4, 0, 8>);
