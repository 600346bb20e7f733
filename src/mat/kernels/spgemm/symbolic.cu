/*
  The first levels of the symbolic phase: a group of lanes takes a row of C. Its parts take rows of B, whose columns set bits in the group's table in any order. The
  windows are sorted, and the row's columns go into the pool. No pass over the terms comes before: a table that is too small shows it after few of them.
*/
#include "table.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int COUNTING_WINDOWS = 64;   // A row of more windows is sorted by a bitonic network. In others a window's position is the number of smaller windows.
constexpr int WARP_SLOTS       = 9;    // log2 of the slots of a warp's table
constexpr int WARP_LENGTH      = 8192; // Warps take rows of A of at most so many entries.
constexpr int STEPS            = 4;    // rows of B that a part of a group loads together
constexpr int MAX_PROBES       = 48;   // A table counts as full when a window has met so many slots of others: it is slow close to that.

/* The parameters of both levels. */
struct Level {
  int        level, next, log2_slots, max_length; // A row whose row of A is longer, or whose table is full, waits for the next level.
  PetscCount num_rows, stride;
  int        ahead; // of a PoolCursor
};

template <int Lanes>
__device__ inline unsigned GroupBits(unsigned ballot)
{
  return Lanes == 32 ? ballot : ballot >> (threadIdx.x % 32 / Lanes * Lanes) & ((1u << Lanes % 32) - 1);
}

template <int Lanes>
__device__ inline int GroupSum(int value)
{
#pragma unroll
  for (int k = Lanes / 2; k > 0; k /= 2) value += __shfl_xor_sync(FULL_WARP, value, k, Lanes);
  return value;
}

/*
  Puts the columns of a row of C into the group's table. All groups of a warp traverse together; a_length is 0 for a group without a row. Returns the terms that this
  lane has seen. *full: the table is full, or cannot hold one of the rows of B. *too_long: a warp's table cannot hold it either.
*/
template <int Lanes, int Part, typename Offset>
__device__ inline PetscCount FillTable(const Factors<Offset> &f, PetscCount a_begin, int a_length, int lane, const WindowTable &table, bool *full, bool *too_long)
{
  constexpr int parts      = Lanes / Part;
  const int     max_length = __reduce_max_sync(FULL_WARP, a_length), part = lane / Part, position = lane % Part;
  PetscCount    num_terms = 0;

  for (int first = 0; first < max_length; first += Lanes) {
    const int steps  = ((max_length - first < Lanes ? max_length - first : Lanes) + parts - 1) / parts;
    Offset    begin  = 0;
    int       length = 0;

    if (first + lane < a_length && !*full) {
      const int32_t column = f.a_columns[a_begin + first + lane];

      begin  = f.b_offsets[column];
      length = (int)(f.b_offsets[column + 1] - begin);
    }
    num_terms += length;
    const unsigned no_room = __ballot_sync(FULL_WARP, length > 1 << SPGEMM_WINDOW_BITS << table.log2_slots), no_warp = __ballot_sync(FULL_WARP, length > 1 << SPGEMM_WINDOW_BITS << WARP_SLOTS);

    *full     = *full || GroupBits<Lanes>(no_room);
    *too_long = *too_long || GroupBits<Lanes>(no_warp);
    if (__all_sync(FULL_WARP, *full)) return num_terms;

    for (int s = 0; s < steps; s += STEPS) {
      Offset  b[STEPS];
      int     left[STEPS], most = 0;
      int32_t column[STEPS];
      bool    failed = false;

#pragma unroll
      for (int u = 0; u < STEPS; u++) {
        const int from = ((s + u) * parts + part) % Lanes;

        b[u]    = ShuffleFrom<Lanes>(begin, from);
        left[u] = s + u < steps ? ShuffleFrom<Lanes>(length, from) : 0;
        most    = left[u] > most ? left[u] : most;
      }
      for (int k = position; k < most && !failed && !*full; k += Part) {
#pragma unroll
        for (int u = 0; u < STEPS; u++) // on their way together
          if (k < left[u]) column[u] = f.b_columns[b[u] + k];
#pragma unroll
        for (int u = 0; u < STEPS; u++)
          if (k < left[u] && !failed) failed = !table.Set(WindowOf(column[u]), BitOf(column[u]), MAX_PROBES);
      }
      const unsigned ballot = __ballot_sync(FULL_WARP, failed);

      if (ballot) {
        *full = *full || GroupBits<Lanes>(ballot);
        if (__all_sync(FULL_WARP, *full)) return num_terms;
      }
    }
  }
  return num_terms;
}

/* Moves the windows to the front of the table, a round of slots at a time, as {window, mask, number of columns}. Returns how many there are; *num_entries: columns. */
template <int Lanes>
__device__ inline int CompactTable(const WindowTable &table, int lane, int *num_entries)
{
  int num = 0, entries = 0;

  for (int first = 0; first < 1 << table.log2_slots; first += Lanes) {
    const unsigned long long word   = first + lane < 1 << table.log2_slots ? table.slots[first + lane] : WindowTable::EMPTY;
    const bool               used   = (unsigned)word != SPGEMM_NO_WINDOW;
    const unsigned           ballot = GroupBits<Lanes>(__ballot_sync(FULL_WARP, used)), n = __popc((unsigned)(word >> 32));

    __syncwarp();
    if (used) {
      table.slots[num + __popc(ballot & ((1u << lane) - 1))] = word | (unsigned long long)n << 48;
      entries += (int)n;
    }
    num += __popc(ballot);
    __syncwarp();
  }
  *num_entries = GroupSum<Lanes>(entries);
  return num;
}

__device__ inline void WriteWindow(unsigned long long word, int32_t *columns)
{
  for (unsigned mask = (unsigned)(word >> 32) & 0xffff; mask; mask &= mask - 1) *columns++ = (int32_t)((unsigned)word << SPGEMM_WINDOW_BITS | (__ffs(mask) - 1));
}

/* Columns in order. A window's position is the number of entries of smaller windows. */
template <int Lanes>
__device__ inline void WriteByCounting(const unsigned long long *windows, int num, int lane, int32_t *columns)
{
  for (int k = lane; k < num; k += Lanes) {
    const unsigned long long mine = windows[k];
    unsigned                 base = 0;

    for (int j = 0; j < num; j++) {
      const unsigned long long other = windows[j];

      if ((unsigned)other < (unsigned)mine) base += (unsigned)(other >> 48);
    }
    WriteWindow(mine, columns + base);
  }
}

/* Columns in order, by a warp that sorts the windows. The table has room for the next power of two. */
__device__ inline void WriteBySorting(unsigned long long *windows, int num, int lane, int32_t *columns)
{
  int      padded = 64;
  unsigned base   = 0;

  while (padded < num) padded *= 2;
  for (int k = num + lane; k < padded; k += 32) windows[k] = WindowTable::EMPTY;
  __syncwarp();
  for (int size = 2; size <= padded; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int k = lane; k < padded / 2; k += 32) {
        const int                i = 2 * k - (k & (stride - 1)), j = i + stride;
        const unsigned long long x = windows[i], y = windows[j];

        if (((unsigned)x > (unsigned)y) == ((i & size) == 0)) {
          windows[i] = y;
          windows[j] = x;
        }
      }
      __syncwarp();
    }
  for (int first = 0; first < num; first += 32) {
    const unsigned long long mine = first + lane < num ? windows[first + lane] : 0;
    unsigned                 sum  = (unsigned)(mine >> 48);

    for (int k = 1; k < 32; k *= 2) {
      const unsigned before = __shfl_up_sync(FULL_WARP, sum, k);

      if (lane >= k) sum += before;
    }
    WriteWindow(mine, columns + base + sum - (unsigned)(mine >> 48));
    base += __shfl_sync(FULL_WARP, sum, 31);
  }
}

/* Room in the pool for the rows of a warp's groups. Returns where this group's row begins. */
template <int Lanes>
__device__ inline unsigned long long TakeRoom(const SpGEMMPool &pool, PoolCursor *cursor, int num_entries, int lane)
{
  unsigned sum = (unsigned)num_entries;

#pragma unroll
  for (int k = Lanes; k < 32; k *= 2) {
    const unsigned before = __shfl_up_sync(FULL_WARP, sum, k);

    if (threadIdx.x % 32 >= k) sum += before;
  }
  return cursor->Take(pool, __shfl_sync(FULL_WARP, sum, 31)) + sum - (unsigned)num_entries;
}

/* The number of terms of a row, by a group of lanes. That of a long row is an estimate from about 512 of its entries. */
template <int Lanes, typename Offset>
__device__ inline unsigned long long CountTerms(const Factors<Offset> &f, PetscCount begin, PetscCount length, int lane)
{
  const PetscCount   step = length / 512 + 1;
  unsigned long long sum  = 0;

  for (PetscCount k = lane * step; k < length; k += Lanes * step) sum += (unsigned long long)(f.b_offsets[f.a_columns[begin + k] + 1] - f.b_offsets[f.a_columns[begin + k]]);
#pragma unroll
  for (int k = Lanes / 2; k > 0; k /= 2) sum += __shfl_xor_sync(FULL_WARP, sum, k, Lanes);
  return sum * (unsigned long long)step;
}

/* The row of a finished table is counted, kept in the pool, or left to the next level. Returns its entries. */
template <int Lanes>
__device__ inline int FinishRow(int next, const SpGEMMBinLimits &limits, const SpGEMMPool &pool, const WindowTable &table, int32_t row, bool full, int lane, PoolCursor *cursor, BlockStats *block,
                                int *num_windows)
{
  int                entries;
  const int          windows = CompactTable<Lanes>(table, lane, &entries);
  const bool         keep    = row >= 0 && !full;
  unsigned long long start;

  *num_windows = windows;
  if (row >= 0 && lane == 0) {
    const int bin = full ? SPGEMM_BIN_PENDING - next : BinOf(limits, windows, entries);

    if (pool.bins) pool.bins[row] = (unsigned char)bin;
    if (pool.counts) pool.counts[row] = full ? 0 : entries;
    if (full) AddWaiting(pool, next, row);
    else block->AddRow(bin);
  }
  if (!keep) entries = 0;
  if (pool.columns == NULL) return entries;
  start = TakeRoom<Lanes>(pool, cursor, entries, lane);
  if (keep && lane == 0) SetStart(pool, row, start);
  if (cursor->next > (unsigned long long)pool.capacity) { // the host makes a larger pool and begins again
    if (lane == 0) pool.stats->no_room = 1;
    return entries;
  }
  if (Lanes == 32 && windows > COUNTING_WINDOWS) {
    if (keep) WriteBySorting(table.slots, windows, lane, pool.columns + start);
  } else if (keep) WriteByCounting<Lanes>(table.slots, windows, lane, pool.columns + start);
  return entries;
}

/* One row a group; row < 0: none. Returns the entries, and adds up the terms of finished rows. */
template <int Lanes, int Part, typename Offset>
__device__ inline int DoRow(const Factors<Offset> &f, const Level &level, const SpGEMMBinLimits &limits, const SpGEMMPool &pool, const WindowTable &table, int32_t row, int lane, PoolCursor *cursor,
                            BlockStats *block, unsigned long long *num_terms)
{
  const PetscCount begin = row < 0 ? 0 : f.a_offsets(row), length = row < 0 ? 0 : f.a_offsets(row + 1) - begin;
  bool             full = length > level.max_length, too_long = length > WARP_LENGTH;
  PetscCount       terms;
  int              entries, windows;

  for (int slot = lane; slot < 1 << level.log2_slots; slot += Lanes) table.slots[slot] = WindowTable::EMPTY;
  __syncwarp();
  terms = FillTable<Lanes, Part>(f, begin, full ? 0 : (int)length, lane, table, &full, &too_long);
  __syncwarp();
  entries = FinishRow<Lanes>(too_long ? 2 : level.next, limits, pool, table, row, full, lane, cursor, block, &windows);
  __syncwarp();
  if (!full) *num_terms += terms;
  if (pool.columns == NULL) { // a sample
    const unsigned long long all = CountTerms<Lanes>(f, begin, length, lane);

    if (row >= 0 && lane == 0) block->AddSample(windows, entries, (unsigned long long)length, all, full);
  }
  return lane == 0 ? entries : 0;
}

/* Row k of the rows to do. The rows of a sample are scattered: rows at equal distances may all lie on the boundary of a grid. */
__device__ inline int32_t SampleRow(const Level &level, PetscCount k)
{
  return (int32_t)(k * level.stride + (level.stride > 1 ? ((unsigned)k * 2654435769u >> 8) % (unsigned)level.stride : 0));
}

/* The first level: every row, or a sample of them. */
template <int Lanes, int Part, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, 5) GroupKernel(Factors<Offset> f, Level level, SpGEMMBinLimits limits, SpGEMMPool pool)
{
  extern __shared__ unsigned long long shared[];
  __shared__ BlockStats                block;
  constexpr int                        groups = SPGEMM_THREADS / Lanes;
  const int                            lane = threadIdx.x % Lanes, group = threadIdx.x / Lanes;
  const WindowTable                    table = {shared + group * GroupPitch<Lanes>(sizeof(*shared) << level.log2_slots) / sizeof(*shared), level.log2_slots};
  PoolCursor                           cursor(level.ahead);
  unsigned long long                   num_nonzeros = 0, num_terms = 0;

  block.Begin();
  for (PetscCount base = (PetscCount)blockIdx.x * groups; base < level.num_rows; base += (PetscCount)gridDim.x * groups) { // the same for all groups of a thread block
    const int32_t row = base + group < level.num_rows ? SampleRow(level, base + group) : -1;

    num_nonzeros += DoRow<Lanes, Part>(f, level, limits, pool, table, row, lane, &cursor, &block, &num_terms);
  }
  block.End(pool.stats, num_nonzeros, num_terms);
}

/* The second level: a warp takes a row of those that wait. */
template <int Part, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) WarpKernel(Factors<Offset> f, Level level, int tile, SpGEMMBinLimits limits, SpGEMMPool pool)
{
  extern __shared__ unsigned long long shared[];
  __shared__ BlockStats                block;
  constexpr int                        warps = SPGEMM_THREADS / 32;
  const int                            lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const WindowTable                    table = {shared + ((size_t)warp << level.log2_slots), level.log2_slots};
  PoolCursor                           cursor(level.ahead);
  unsigned long long                   num_nonzeros = 0, num_terms = 0;

  if (pool.stats->level_rows[1] == 0) return;
  block.Begin();
  for (PetscCount base = ((PetscCount)blockIdx.x * warps + warp) * tile; base < level.num_rows; base += (PetscCount)gridDim.x * warps * tile) {
    const bool waits = lane < tile && base + lane < level.num_rows && pool.bins[base + lane] == SPGEMM_BIN_PENDING - 1;

    for (unsigned waiting = __ballot_sync(FULL_WARP, waits); waiting; waiting &= waiting - 1) {
      num_nonzeros += DoRow<32, Part>(f, level, limits, pool, table, (int32_t)(base + __ffs(waiting) - 1), lane, &cursor, &block, &num_terms);
    }
  }
  block.End(pool.stats, num_nonzeros, num_terms);
}

template <int Lanes, int Part, typename Offset>
PetscErrorCode LaunchGroups(DCSRView A, DCSRView B, Level level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  constexpr int groups = SPGEMM_THREADS / Lanes;
  const size_t  bytes  = groups * GroupPitch<Lanes>(sizeof(unsigned long long) << level.log2_slots);
  unsigned int  blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((level.num_rows + groups - 1) / groups, SPGEMM_BLOCKS, &blocks));
  if (bytes > 48 << 10) PetscCallCUDA(cudaFuncSetAttribute(GroupKernel<Lanes, Part, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  GroupKernel<Lanes, Part, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), level, *limits, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int Part, typename Offset>
PetscErrorCode LaunchWarps(DCSRView A, DCSRView B, Level level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  const size_t bytes = (size_t)(SPGEMM_THREADS / 32) * sizeof(unsigned long long) << level.log2_slots;
  unsigned int blocks;
  PetscCount   max_warps;
  int          tile; // rows that a warp reads together: not too many wait for one warp

  PetscFunctionBegin;
  PetscCall(SpGEMMGetMaxWarps(&max_warps));
  tile = (int)PetscMax(1, PetscMin(level.num_rows / (4 * max_warps), 32));
  PetscCall(DCSRGetGrid((level.num_rows + tile - 1) / tile, SPGEMM_BLOCKS, &blocks));
  WarpKernel<Part, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), level, tile, *limits, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Groups(DCSRView A, DCSRView B, const SpGEMMLevel *l, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  Level      level = {0, l->log2_slots < WARP_SLOTS ? 1 : 2, l->log2_slots, l->lanes == 32 ? WARP_LENGTH : 2048, l->num_rows, l->stride, 1};
  PetscCount max_warps;

  PetscFunctionBegin;
  PetscCall(SpGEMMGetMaxWarps(&max_warps));
  if (l->num_rows * l->lanes / 32 / max_warps >= SPGEMM_POOL_STEPS) level.ahead = SPGEMM_POOL_AHEAD;
  if (l->lanes == 4) PetscCall((LaunchGroups<4, 4, Offset>(A, B, level, limits, pool, stream)));
  else if (l->lanes == 8) PetscCall((LaunchGroups<8, 8, Offset>(A, B, level, limits, pool, stream)));
  else if (l->lanes == 16) PetscCall((LaunchGroups<16, 16, Offset>(A, B, level, limits, pool, stream)));
  else if (l->part_lanes == 4) PetscCall((LaunchGroups<32, 4, Offset>(A, B, level, limits, pool, stream)));
  else if (l->part_lanes == 8) PetscCall((LaunchGroups<32, 8, Offset>(A, B, level, limits, pool, stream)));
  else if (l->part_lanes == 16) PetscCall((LaunchGroups<32, 16, Offset>(A, B, level, limits, pool, stream)));
  else PetscCall((LaunchGroups<32, 32, Offset>(A, B, level, limits, pool, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Warps(DCSRView A, DCSRView B, int part_lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  const Level level = {1, 2, WARP_SLOTS, WARP_LENGTH, (PetscCount)A.num_rows, 1, 1};

  PetscFunctionBegin;
  if (part_lanes == 4) PetscCall((LaunchWarps<4, Offset>(A, B, level, limits, pool, stream)));
  else if (part_lanes == 8) PetscCall((LaunchWarps<8, Offset>(A, B, level, limits, pool, stream)));
  else if (part_lanes == 16) PetscCall((LaunchWarps<16, Offset>(A, B, level, limits, pool, stream)));
  else PetscCall((LaunchWarps<32, Offset>(A, B, level, limits, pool, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMSymbolicGroups - The first level: a group of lanes takes a row; level says how, and which rows. Asynchronous
  A and B are compact. limits are of the bins. The statistics of pool are zero; bins, counts and columns may be NULL for a sample.
*/
PetscErrorCode SpGEMMSymbolicGroups(DCSRView A, DCSRView B, const SpGEMMLevel *level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(Groups<int64_t>(A, B, level, limits, pool, stream));
  else PetscCall(Groups<int32_t>(A, B, level, limits, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMSymbolicWarps - The second level: a warp takes a row, in parts of part_lanes lanes, with a table of 512 windows. See SpGEMMSymbolicGroups(). */
PetscErrorCode SpGEMMSymbolicWarps(DCSRView A, DCSRView B, int part_lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(Warps<int64_t>(A, B, part_lanes, limits, pool, stream));
  else PetscCall(Warps<int32_t>(A, B, part_lanes, limits, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(GroupKernel<32, 4, int32_t>);
