/*
  Products with blocks. A group of lanes takes a row of blocks, a lane the same entries of each of its blocks: values of a block are contiguous, x has a contiguous part for it, and sums stay in
  registers until the row is done. For A^T x the list by columns of blocks names the blocks; only what is added up over the lanes differs. Sums have a fixed order, there are no atomics.

  A row of many blocks is a thread block's, in a launch of its own, so that the others do not wait for one group.

  Values are PetscScalar or in single precision; sums and results are PetscScalar.
*/
#include "../spmv/spmvrule.h"
#include "blocks.cuh"
#include <petscsparsecuda/common.h>
#include "../common/preload.cuh"

namespace
{

#define LONG_THREADS 256

/* Complex values in double precision take twice the registers. */
constexpr int BLOCKS_RESIDENT_PART = sizeof(PetscScalar) > sizeof(double) ? 4 : 8; // of 8

template <typename Output, typename Stored, int Size, int Step, int Batch, bool Ahead, int Threads, int Resident, bool Transpose>
__global__ void __launch_bounds__(Threads, Resident *BLOCKS_RESIDENT_PART / 8 / Threads) MultKernel(const BlocksArgs<Stored, Output> a, const BlocksPlain map)
{
  using Lane            = BlocksLane<Size, Step>;
  constexpr int numbers = Transpose ? BlocksShape<Size>::values : 1;
  const Lane    lane(threadIdx.x % BLOCKS_WARP);
  const int64_t row   = ((int64_t)blockIdx.x * (Threads / BLOCKS_WARP) + threadIdx.x / BLOCKS_WARP) * Lane::groups + lane.group;
  const bool    has   = lane.HasGroup() && row < a.num_rows;
  const int32_t begin = BlocksLoadIf<false>(has, a.offsets + row), end = BlocksLoadIf<false>(has, a.offsets + row + 1);
  const bool    is_short = end - begin <= BLOCKS_LONG;
  PetscScalar   sums[numbers];
  int           entry;

#pragma unroll
  for (int w = 0; w < numbers; w++) sums[w] = 0.0;
  if (has && is_short && BlocksOwns<Size, Step, Transpose>(lane, &entry)) a.output.Prefetch(row * Size + entry, 1, 0, 1);
  if (is_short) BlocksAddUp<Stored, Size, Batch, Ahead, Transpose>(a, begin + lane.block, end, Step, lane.position, map, sums);
  __syncwarp();
  BlocksSumGroup<Size, Step, Transpose>(sums);
  if (has && is_short && BlocksOwns<Size, Step, Transpose>(lane, &entry)) {
#pragma unroll
    for (int w = 0; w < numbers; w++) a.output.Write(row * Size + entry + w, sums[w] * a.scale);
  }
}

/* A thread block takes row rows[blockIdx.x]. */
template <typename Output, typename Stored, int Size, bool Transpose>
__global__ void __launch_bounds__(LONG_THREADS) LongKernel(const BlocksArgs<Stored, Output> a, const int32_t *rows, const BlocksPlain map)
{
  constexpr int step = BlocksShape<Size>::most, warps = LONG_THREADS / BLOCKS_WARP, numbers = Transpose ? BlocksShape<Size>::values : 1, warp_sums = warps * Size;
  __shared__ __align__(16) unsigned char shared[warp_sums * sizeof(PetscScalar)];
  PetscScalar                           *of_warps = (PetscScalar *)shared;
  const int                              warp     = threadIdx.x / BLOCKS_WARP;
  const BlocksLane<Size, step>           lane(threadIdx.x % BLOCKS_WARP);
  const int32_t                          row = rows[blockIdx.x], begin = a.offsets[row], end = a.offsets[row + 1];
  PetscScalar                            sums[numbers];
  int                                    entry;

#pragma unroll
  for (int w = 0; w < numbers; w++) sums[w] = 0.0;
  if (lane.HasGroup()) BlocksAddUp<Stored, Size, 4, false, Transpose>(a, begin + warp * step + lane.block, end, warps * step, lane.position, map, sums);
  __syncwarp();
  BlocksSumGroup<Size, step, Transpose>(sums);
  if (BlocksOwns<Size, step, Transpose>(lane, &entry)) {
#pragma unroll
    for (int w = 0; w < numbers; w++) of_warps[warp * Size + entry + w] = sums[w];
  }
  __syncthreads();
  if (threadIdx.x < Size) {
    PetscScalar sum = of_warps[threadIdx.x];

    for (int k = 1; k < warps; k++) sum += of_warps[k * Size + threadIdx.x];
    a.output.Write((int64_t)row * Size + threadIdx.x, sum * a.scale);
  }
}

template <typename Output, typename Stored, int Size, int Step, int Batch, bool Ahead, int Threads, int Resident, bool Transpose>
PetscErrorCode Launch(const BlocksList *list, const BlocksArgs<void, Output> *any, BlocksPlain map, cudaStream_t stream)
{
  constexpr int                    rows = Threads / BLOCKS_WARP * BlocksLane<Size, Step>::groups; // of a thread block
  const BlocksArgs<Stored, Output> a    = {any->num_rows, any->offsets, any->columns, any->positions, (const Stored *)any->values, any->x, any->output, any->scale};

  PetscFunctionBegin;
  MultKernel<Output, Stored, Size, Step, Batch, Ahead, Threads, Resident, Transpose><<<DCSRNumBlocks(a.num_rows, rows), Threads, 0, stream>>>(a, map);
  PetscCallCUDA(cudaGetLastError());
  if (list->num_long == 0) PetscFunctionReturn(PETSC_SUCCESS);
  LongKernel<Output, Stored, Size, Transpose><<<(unsigned int)list->num_long, LONG_THREADS, 0, stream>>>(a, list->long_rows, map);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode LaunchFn(const BlocksList *, const BlocksArgs<void, SpMVAdd> *, BlocksPlain, cudaStream_t);
typedef PetscErrorCode LaunchEpilogueFn(const BlocksList *, const BlocksArgs<void, SpMVEpilogue> *, BlocksPlain, cudaStream_t);

typedef struct {
  BlocksConfig      config;
  LaunchFn         *launch[2][2];       /* A x, A^T x; with values that are PetscScalar, and in single precision */
  LaunchEpilogueFn *launch_epilogue[2]; /* A x with an epilogue */
} Entry;

#define BLOCKS_LAUNCHES(output, transpose, ...) \
  { \
    Launch<output, PetscScalar, __VA_ARGS__, transpose>, Launch<output, StoredSingle, __VA_ARGS__, transpose> \
  }
#define BLOCKS_ENTRY(...) {{__VA_ARGS__}, {BLOCKS_LAUNCHES(SpMVAdd, false, __VA_ARGS__), BLOCKS_LAUNCHES(SpMVAdd, true, __VA_ARGS__)}, BLOCKS_LAUNCHES(SpMVEpilogue, false, __VA_ARGS__)},

const Entry Entries[] = {BLOCKS_CONFIGS(BLOCKS_ENTRY)
#if defined(SPMV_SWEEP)
                           BLOCKS_SWEEP_CONFIGS(BLOCKS_ENTRY)
#endif
};
static_assert(HISPARSE_VALUES_SCALAR == 0 && HISPARSE_VALUES_SINGLE == 1, "Launchers are in this order");

/* The entry of a configuration. */
PetscErrorCode FindEntry(const BlocksConfig *config, const Entry **entry)
{
  PetscFunctionBegin;
  *entry = NULL;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(Entries); i++) {
    const BlocksConfig *c = &Entries[i].config;

    if (c->size == config->size && c->step == config->step && c->batch == config->batch && c->ahead == config->ahead && c->threads == config->threads && c->resident == config->resident)
      *entry = &Entries[i];
  }
  PetscCheck(*entry != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "No kernel for blocks of %d with steps of %d, batches of %d, ahead %d, %d threads, %d resident; see BLOCKS_CONFIGS", config->size,
             config->step, config->batch, config->ahead, config->threads, config->resident);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Output>
BlocksArgs<void, Output> GetArgs(const BlocksList *list, const HiSparseValues *v, PetscScalar scale, const PetscScalar *x, const Output &output)
{
  return {list->num_rows, list->offsets, list->columns, list->positions, v->values, x, output, scale};
}

} // namespace

/*
  BlocksMult - y = alpha op(A) x + z

  Cost: one launch, two when there are rows with more than BLOCKS_LONG blocks; reads each value once, and 4 bytes a block, 8 for the transpose, whose blocks are read one by one.
*/
PetscErrorCode BlocksMult(const void *structure, HiSparseValues *v, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const Blocks                   *blocks    = (const Blocks *)structure;
  const int                       transpose = direction != HISPARSE_FORWARD;
  const BlocksList               *list      = transpose ? &blocks->transpose : &blocks->list;
  const BlocksArgs<void, SpMVAdd> args      = GetArgs(list, v, alpha, x, SpMVAdd{z, y});
  const Entry                    *entry;

  PetscFunctionBegin;
  PetscCall(FindEntry(&blocks->config[transpose], &entry));
  PetscCall((*entry->launch[transpose][v->precision])(list, &args, BlocksPlain{direction == HISPARSE_HERMITIAN}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksMultEpilogue - what an epilogue makes of alpha A x */
PetscErrorCode BlocksMultEpilogue(const void *structure, const HiSparseValues *v, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  const Blocks                        *blocks = (const Blocks *)structure;
  const BlocksArgs<void, SpMVEpilogue> args   = GetArgs(&blocks->list, v, alpha, x, SpMVEpilogue{*epilogue, x, y});
  const Entry                         *entry;

  PetscFunctionBegin;
  PetscCall(FindEntry(&blocks->config[0], &entry));
  PetscCall((*entry->launch_epilogue[v->precision])(&blocks->list, &args, BlocksPlain{false}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseSetBlocksConfig - the launch configuration of the products of a matrix, and of all copies that share its structure, for sweeps and tests; nothing happens to a matrix of another format or
  size
*/
PetscErrorCode HiSparseSetBlocksConfig(HiSparse hisparse, const BlocksConfig *config)
{
  const Entry *entry;

  PetscFunctionBegin;
  PetscCall(FindEntry(config, &entry));
  if (hisparse->format == HISPARSE_BLOCKS) {
    Blocks *blocks = (Blocks *)hisparse->structure->data;

    if (blocks->size == config->size) blocks->config[0] = blocks->config[1] = *config;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PRELOADED(...) HiSparsePreloaded(MultKernel<SpMVAdd, PetscScalar, __VA_ARGS__, false>) HiSparsePreloaded(MultKernel<SpMVEpilogue, PetscScalar, __VA_ARGS__, false>)
static DCSRPreloadedKernel preloaded[] = {BLOCKS_CONFIGS(PRELOADED)};
