#pragma once
/*
  Device functions that the kernels of Mult share: streaming loads, sums over lanes and thread blocks, and the rows that several thread blocks sum.
*/
#include "spmvimpl.h"
#include "spmvoutput.cuh"
#include "../common/single.cuh"
#include <type_traits>

#define SPMV_WARP      32
#define SPMV_FULL_MASK 0xffffffffu

static_assert(sizeof(SpMVBlock) == 16 && sizeof(SpMVLongRow) == 16, "Loaded by one 16-byte load each");

/* One 16-, 8- or 4-byte load with the cache hint LOAD; see SPMV_LOAD_*. */
template <int LOAD, typename W>
__device__ __forceinline__ W SpMVLoadWord(const W *p)
{
  if constexpr (LOAD == SPMV_LOAD_CACHED) return __ldg(p);
  else if constexpr (LOAD == SPMV_LOAD_STREAM) return __ldcs(p);
  else {
    W             w;
    unsigned long policy;

    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    if constexpr (sizeof(W) == 16) asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p), "l"(policy));
    else if constexpr (sizeof(W) == 8) asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(w.x), "=r"(w.y) : "l"(p), "l"(policy));
    else asm("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(w) : "l"(p), "l"(policy));
    return w;
  }
}

/* N consecutive entries by the widest loads that their size allows; p is aligned to the bytes of N entries, at most 16. */
template <int LOAD, int N, typename T>
__device__ __forceinline__ void SpMVLoad(const T *p, T *v)
{
  constexpr int bytes = N * (int)sizeof(T);

  using W = std::conditional_t<bytes % 16 == 0, uint4, std::conditional_t<bytes % 8 == 0, uint2, unsigned int>>;
  union Pun {
    W             words[bytes / sizeof(W)];
    unsigned char raw[bytes];
  } pun;

#pragma unroll
  for (int i = 0; i < (int)(bytes / sizeof(W)); i++) pun.words[i] = SpMVLoadWord<LOAD>((const W *)p + i);
  memcpy(v, pun.raw, bytes);
}

/* The same into shared memory. */
template <int N, typename T>
__device__ __forceinline__ void SpMVStoreShared(T *p, const T *v)
{
  constexpr int bytes = N * (int)sizeof(T);

  using W = std::conditional_t<bytes % 16 == 0, uint4, std::conditional_t<bytes % 8 == 0, uint2, unsigned int>>;
  union Pun {
    W             words[bytes / sizeof(W)];
    unsigned char raw[bytes];
  } pun;

  memcpy(pun.raw, v, bytes);
#pragma unroll
  for (int i = 0; i < (int)(bytes / sizeof(W)); i++) ((W *)p)[i] = pun.words[i];
}

/* A read of x: through L1, kept as long as it can be. */
__device__ __forceinline__ PetscScalar SpMVGather(const PetscScalar *x, int32_t column)
{
  PetscScalar v;

  SpMVLoad<SPMV_LOAD_CACHED, 1>(x + column, &v);
  return v;
}

/* Where products of values go: to the position of the values themselves, or to another one when these are in single precision. */
__device__ __forceinline__ PetscScalar *SpMVProducts(PetscScalar *values, PetscScalar *)
{
  return values;
}

#if !PetscDefined(USE_REAL_SINGLE)
__device__ __forceinline__ PetscScalar *SpMVProducts(DCSRSingle *, PetscScalar *products)
{
  return products;
}
#endif

/* Lane shuffles for every scalar. */
template <typename F>
__device__ __forceinline__ PetscScalar SpMVShuffle(PetscScalar v, F shuffle)
{
  constexpr int words = (int)(sizeof(PetscScalar) / 4);
  unsigned int  w[words];

  memcpy(w, &v, sizeof(v));
#pragma unroll
  for (int i = 0; i < words; i++) w[i] = shuffle(w[i]);
  memcpy(&v, w, sizeof(v));
  return v;
}

/* Sum over groups of LANES neighboring lanes; every lane gets it. All lanes of the warp take part. */
template <int LANES>
__device__ __forceinline__ PetscScalar SpMVSumLanes(PetscScalar sum)
{
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) sum += SpMVShuffle(sum, [d](unsigned int w) { return __shfl_xor_sync(SPMV_FULL_MASK, w, d); });
  return sum;
}

/* Sum over a thread block in a fixed order; thread 0 gets it. scratch has one entry a warp and may be used again at once. */
template <int THREADS>
__device__ __forceinline__ PetscScalar SpMVSumBlock(PetscScalar sum, PetscScalar *scratch)
{
  const int warp = threadIdx.x / SPMV_WARP;

  sum = SpMVSumLanes<SPMV_WARP>(sum);
  __syncthreads();
  if (threadIdx.x % SPMV_WARP == 0) scratch[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < THREADS / SPMV_WARP; i++) sum += scratch[i];
  return sum;
}

/* What a thread block needs to add its part to a long row. */
template <typename Output>
struct SpMVLongRows {
  const SpMVLongRow *rows;
  PetscScalar       *parts;
  unsigned int      *arrived;
  const int32_t     *row_index;
  Output             output;
};

/*
  Leaves sum as a part of long row k, in its place among all parts, and counts it. Returns whether all parts are there now. The atomic releases the part. Whoever finds all of them reads them past L1
  (SpMVReadPart()), behind a branch on the count. __threadfence() is not used: it empties the L1 of the whole multiprocessor, which holds x for the gathers of all other thread blocks.
*/
template <typename Output>
__device__ __forceinline__ bool SpMVLeavePart(const SpMVLongRows<Output> &lr, int position, int num_parts, int k, PetscScalar sum)
{
  unsigned int before;

  lr.parts[position] = sum;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(lr.arrived + k) : "memory");
  return before == (unsigned int)num_parts - 1;
}

__device__ __forceinline__ PetscScalar SpMVReadPart(const PetscScalar *part)
{
  unsigned int w[sizeof(PetscScalar) / 4];
  PetscScalar  v;

#pragma unroll
  for (int j = 0; j < (int)(sizeof(PetscScalar) / 4); j++) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(w[j]) : "l"((const unsigned int *)part + j) : "memory");
  memcpy(&v, w, sizeof(v));
  return v;
}

/* A long row's sum to y, and its counter back. */
template <typename Output>
__device__ __forceinline__ void SpMVWriteLongRow(const SpMVLongRows<Output> &lr, const SpMVLongRow &row, int k, PetscScalar sum)
{
  const int32_t i = lr.row_index ? lr.row_index[row.row] : row.row;

  lr.output.Write(i, sum);
  lr.arrived[k] = 0;
}

/*
  The thread block leaves sum (of thread 0) as its part of long row k. The last thread block to come adds all parts, writes y and puts the counter back. Parts are added in their order, so that
  the result does not depend on who came last. All threads of the thread block call this.
*/
template <int THREADS, typename Output>
__device__ void SpMVFinishLongRow(const SpMVLongRows<Output> &lr, int k, int block, PetscScalar sum, PetscScalar *scratch)
{
  const SpMVLongRow row = lr.rows[k];
  __shared__ bool   last;

  __syncthreads();
  if (threadIdx.x == 0) last = SpMVLeavePart(lr, row.first_part + block - row.first_block, row.num_parts, k, sum);
  __syncthreads();
  if (!last) return;
  sum = PetscScalar(0.0);
#pragma unroll 1 // a rare path must not take registers from the others
  for (int i = threadIdx.x; i < row.num_parts; i += THREADS) sum += SpMVReadPart(lr.parts + row.first_part + i);
  sum = SpMVSumBlock<THREADS>(sum, scratch);
  if (threadIdx.x == 0) SpMVWriteLongRow(lr, row, k, sum);
}

/* All parts of long row k are there: one warp adds them and writes y. */
template <int UNROLL, typename Output>
__device__ __forceinline__ void SpMVAddPartsByWarp(const SpMVLongRows<Output> &lr, const SpMVLongRow &row, int k)
{
  const int   lane = threadIdx.x % SPMV_WARP;
  PetscScalar sum(0.0);

#pragma unroll UNROLL
  for (int i = lane; i < row.num_parts; i += SPMV_WARP) sum += SpMVReadPart(lr.parts + row.first_part + i);
  sum = SpMVSumLanes<SPMV_WARP>(sum);
  if (lane == 0) SpMVWriteLongRow(lr, row, k, sum);
}

/* SpMVFinishLongRow() by one warp: sum is that of lane 0. */
template <typename Output>
__device__ __forceinline__ void SpMVFinishLongRowByWarp(const SpMVLongRows<Output> &lr, int k, int block, PetscScalar sum)
{
  const SpMVLongRow row  = lr.rows[k];
  bool              last = false;

  if (threadIdx.x % SPMV_WARP == 0) last = SpMVLeavePart(lr, row.first_part + block - row.first_block, row.num_parts, k, sum);
  if (__shfl_sync(SPMV_FULL_MASK, (int)last, 0)) SpMVAddPartsByWarp<4>(lr, row, k);
}

/* What the kernels with thread blocks of consecutive nonzeros read. */
template <typename Offset, typename Output, typename Value>
struct SpMVSplitArgs {
  const Value         *values;
  const int32_t       *columns;
  const Offset        *row_offsets;
  const PetscScalar   *x;
  const SpMVBlock     *blocks;
  const unsigned int  *heads;
  PetscCount           num_nonzeros;
  SpMVLongRows<Output> rows; /* with the row map and the output of all rows */
};

template <typename Offset, typename Output, typename Value>
static inline SpMVSplitArgs<Offset, Output, Value> SpMVSplitGetArgs(DCSRSpMVPlan plan, const DCSRView *view, const Value values[], const PetscScalar x[], const Output &output)
{
  return {values,      view->columns,      (const Offset *)(plan->compressed ? plan->row_offsets : view->row_offsets), x, plan->blocks,
          plan->heads, view->num_nonzeros, {plan->long_rows, plan->parts, plan->arrived, plan->row_index, output}};
}

/* Asks for no more shared memory than the resident thread blocks need, so that the rest is L1. A hint: asked for once a kernel. */
static inline PetscErrorCode SpMVPreferL1(const void *kernel, int threads, bool *asked)
{
  cudaFuncAttributes attributes;
  DCSRDeviceFacts    facts;
  int                percent, blocks;

  PetscFunctionBegin;
  if (*asked) PetscFunctionReturn(PETSC_SUCCESS);
  *asked = true;
  PetscCall(DCSRGetDeviceFacts(&facts));
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  percent = PetscMin(100, (int)((100 * (size_t)blocks * (attributes.sharedSizeBytes + (size_t)facts.reserved_shared_bytes) + (size_t)facts.shared_bytes - 1) / (size_t)facts.shared_bytes));
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
  PetscFunctionReturn(PETSC_SUCCESS);
}
