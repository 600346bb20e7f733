/*
  Counting, first levels: a group of lanes a row. The windows of a row of C go into a table in shared memory; a row whose table is full is left to the next level.
  No pass over the products comes before: where tables of the first level are too small, that shows after few of them.
*/
#include "table.cuh"

namespace
{

/* A level's table; rows of A longer than this are a block's work. */
struct CountLevel {
  int level, log2_slots, max_length;
};
constexpr CountLevel GROUP_LEVEL = {0, 6, 2048}, WARP_LEVEL = {1, 9, 8192};
constexpr int        MAX_BLOCKS = 132 * 16; // persistent blocks: few atomic operations on the statistics

template <int Lanes>
__device__ inline unsigned GroupMask()
{
  if constexpr (Lanes == 32) return FULL_WARP;
  else return ((1u << Lanes) - 1) << (threadIdx.x % 32 / Lanes * Lanes);
}

template <int Lanes>
__device__ inline int GroupSum(int value)
{
#pragma unroll
  for (int k = Lanes / 2; k > 0; k /= 2) value += __shfl_xor_sync(FULL_WARP, value, k, Lanes);
  return value;
}

/* Puts the columns of a walk into the group's table. */
template <int Lanes>
struct CountProcess {
  WindowTable table;
  unsigned   *masks;
  bool       *full; // of the group: the row goes on to the next level

  __device__ bool operator()(int32_t column, PetscScalar) const
  {
    bool failed = false;

    if (column >= 0 && !*full) {
      const unsigned slot = table.Insert(WindowOf(column), 1 << table.log2_slots);

      failed = slot == SPGEMM_NO_WINDOW;
      if (!failed) SetBit(&masks[slot], BitOf(column));
    }
    const unsigned ballot = __ballot_sync(FULL_WARP, failed);

    if (!ballot) return false;
    *full = *full || (ballot & GroupMask<Lanes>());
    return __all_sync(FULL_WARP, *full);
  }
};

/* Windows and entries of a finished table. */
template <int Lanes>
__device__ inline void CountTable(const unsigned *keys, const unsigned *masks, int num_slots, int lane, int *num_windows, int *num_entries)
{
  int windows = 0, entries = 0;

  for (int slot = lane; slot < num_slots; slot += Lanes) {
    windows += keys[slot] != SPGEMM_NO_WINDOW;
    entries += __popc(masks[slot]);
  }
  *num_windows = GroupSum<Lanes>(windows);
  *num_entries = GroupSum<Lanes>(entries);
}

template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) CountKernel(Factors<Offset> f, PetscInt num_rows, const int32_t *list, int32_t *next, CountLevel level, SpGEMMBinLimits limits, SpGEMMCount count)
{
  extern __shared__ unsigned shared[];
  __shared__ BlockStats      block;
  constexpr int              groups    = SPGEMM_THREADS / Lanes;
  const int                  num_slots = 1 << level.log2_slots, lane = threadIdx.x % Lanes, group = threadIdx.x / Lanes;
  unsigned                  *keys = shared + (size_t)group * 2 * num_slots, *masks = keys + num_slots;
  const PetscCount           n = list ? (PetscCount)count.stats->level_rows[level.level] : (PetscCount)num_rows, stride = (PetscCount)gridDim.x * groups;
  unsigned long long         num_nonzeros = 0, num_products = 0;

  block.Begin();
  for (PetscCount base = (PetscCount)blockIdx.x * groups; base < n; base += stride) { // the same for all groups of a block
    const bool    active = base + group < n;
    const int32_t row    = !active ? -1 : list ? list[base + group] : (int32_t)(base + group);
    PetscCount    begin = 0, length = 0, products;
    bool          full = false;
    int           windows, entries;

    if (active) {
      begin  = f.a_offsets(row);
      length = f.a_offsets(row + 1) - begin;
      full   = length > level.max_length;
    }
    for (int slot = lane; slot < num_slots; slot += Lanes) {
      keys[slot]  = SPGEMM_NO_WINDOW;
      masks[slot] = 0;
    }
    __syncwarp();
    products = WalkProducts<Lanes, false>(f, begin, full ? 0 : (int)length, lane, CountProcess<Lanes>{{keys, level.log2_slots}, masks, &full});
    __syncwarp();
    CountTable<Lanes>(keys, masks, num_slots, lane, &windows, &entries);
    __syncwarp();
    if (active && !full) num_products += products;
    if (active && lane == 0) {
      if (full) next[atomicAdd(&count.stats->level_rows[level.level + 1], 1u)] = row;
      else {
        const int bin = BinOf(limits, windows, entries);

        count.counts[row] = entries;
        count.bins[row]   = (unsigned char)bin;
        num_nonzeros += entries;
        block.AddRow(bin);
      }
    }
  }
  block.End(count.stats, num_nonzeros, num_products);
}

template <int Lanes, typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, const int32_t *list, int32_t *next, CountLevel level, const SpGEMMBinLimits *limits, const SpGEMMCount *count, cudaStream_t stream)
{
  constexpr int      groups = SPGEMM_THREADS / Lanes;
  const size_t       bytes  = (size_t)groups * 2 * sizeof(unsigned) << level.log2_slots;
  const unsigned int blocks = (unsigned int)PetscMin(((PetscCount)A.num_rows + groups - 1) / groups, (PetscCount)MAX_BLOCKS);

  PetscFunctionBegin;
  if (bytes > 48 << 10) PetscCallCUDA(cudaFuncSetAttribute(CountKernel<Lanes, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  CountKernel<Lanes, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), A.num_rows, list, next, level, *limits, *count);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LaunchGroups(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMCount *count, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (lanes <= 4) PetscCall((Launch<4, Offset>(A, B, NULL, count->lists[0], GROUP_LEVEL, limits, count, stream)));
  else if (lanes == 8) PetscCall((Launch<8, Offset>(A, B, NULL, count->lists[0], GROUP_LEVEL, limits, count, stream)));
  else if (lanes == 16) PetscCall((Launch<16, Offset>(A, B, NULL, count->lists[0], GROUP_LEVEL, limits, count, stream)));
  else PetscCall((Launch<32, Offset>(A, B, NULL, count->lists[0], GROUP_LEVEL, limits, count, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMCountGroups - The first level: a group of lanes a row, tables of 64 windows.

  Input Parameters:
+ A, B   - compact operands
. lanes  - of a group: 4, 8, 16 or 32
. limits - of the bins
. count  - statistics are zero
- stream - asynchronous on it
*/
PetscErrorCode SpGEMMCountGroups(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMCount *count, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(LaunchGroups<int64_t>(A, B, lanes, limits, count, stream));
  else PetscCall(LaunchGroups<int32_t>(A, B, lanes, limits, count, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMCountWarps - The second level: a warp a row, tables of 512 windows. */
PetscErrorCode SpGEMMCountWarps(DCSRView A, DCSRView B, const SpGEMMBinLimits *limits, const SpGEMMCount *count, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall((Launch<32, int64_t>(A, B, count->lists[0], count->lists[1], WARP_LEVEL, limits, count, stream)));
  else PetscCall((Launch<32, int32_t>(A, B, count->lists[0], count->lists[1], WARP_LEVEL, limits, count, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
