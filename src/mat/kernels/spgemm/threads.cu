/*
  Rows of C by single threads, for products of many short rows of about the same length: stencils, prolongators, finite elements. No lane is idle behind the end of
  a row of B. Nothing is shuffled, and nothing is shared: a thread adds to its own table without atomic operations. The tables of a warp lie in shared memory so that
  each lane has a bank of its own.
*/
#include "../common/preload.cuh"
#include "table.cuh"
#include <utility>

namespace
{

constexpr int THREADS    = 128;
constexpr int SLOT_BITS  = 7; // bits of the slot's number, which stands beside a window while windows are sorted
constexpr int MAX_LENGTH = 1024;

/* The table of a lane: entry s of each array is at [s * 32]. */
template <int Slots>
struct LaneTable {
  unsigned       *windows; /* [Slots] */
  unsigned short *masks;   /* [Slots] */
  int             used;
  bool            full;

  static constexpr int    LIMIT      = Slots - Slots / 8;
  static constexpr size_t WARP_BYTES = (size_t)Slots * 32 * (sizeof(unsigned) + sizeof(unsigned short));

  __device__ LaneTable(char *shared)
  {
    char *warp = shared + threadIdx.x / 32 * WARP_BYTES;

    windows = (unsigned *)warp + threadIdx.x % 32;
    masks   = (unsigned short *)(warp + (size_t)Slots * 32 * sizeof(unsigned)) + threadIdx.x % 32;
  }
  __device__ void Clear()
  {
#pragma unroll
    for (int s = 0; s < Slots; s++) windows[s * 32] = SPGEMM_NO_WINDOW;
    used = 0;
    full = false;
  }
  __device__ void Set(unsigned window, unsigned bits)
  {
    unsigned slot = (window * 2654435769u) / (0x80000000u / (Slots / 2)), key = windows[slot * 32];

    while (key != window && key != SPGEMM_NO_WINDOW) {
      slot = (slot + 1) & (Slots - 1);
      key  = windows[slot * 32];
    }
    if (key == window) masks[slot * 32] |= (unsigned short)bits;
    else if (used < LIMIT) {
      windows[slot * 32] = window;
      masks[slot * 32]   = (unsigned short)bits;
      used++;
    } else full = true;
  }
};

/* What TakeRowRoom() shares. */
struct BlockRoom {
  unsigned           sums[THREADS / 32]; /* of the warps, then of those before */
  unsigned long long start;
};

/* Where terms come from: columns of B one by one, or its rows as windows. */
template <typename Offset>
struct ColumnSource {
  const Offset  *offsets;
  const int32_t *items;
  using Item = int32_t;
  static __device__ unsigned Window(Item item) { return WindowOf(item); }
  static __device__ unsigned Bits(Item item) { return BitOf(item); }
  static __device__ int      Count(Item) { return 1; }
};

template <typename Offset>
struct WindowSource {
  const Offset             *offsets;
  const unsigned long long *items;
  using Item = unsigned long long;
  static __device__ unsigned Window(Item item) { return (unsigned)item; }
  static __device__ unsigned Bits(Item item) { return (unsigned)(item >> 32); }
  static __device__ int      Count(Item item) { return __popc((unsigned)(item >> 32)); }
};

/* Puts the columns of a row of C into the thread's table. Returns its number of terms. */
template <int Slots, typename Source, typename Offset>
__device__ inline unsigned long long Traverse(const Source &source, const int32_t *a_columns, int a_length, LaneTable<Slots> &table)
{
  unsigned long long num_terms = 0;
  Offset             begin = 0, end = 0;

  if (a_length > 0) {
    begin = source.offsets[a_columns[0]];
    end   = source.offsets[a_columns[0] + 1];
  }
  for (int k = 0; k < a_length; k++) {
    const Offset b = begin, stop = end;

    if (k + 1 < a_length) { // on its way while this row of B is used
      const int32_t column = a_columns[k + 1];

      begin = source.offsets[column];
      end   = source.offsets[column + 1];
    }
    for (Offset e = b; e < stop; e += 4) { // four are on their way together; aligned vectors were slower, since rows begin anywhere
      typename Source::Item item[4];

#pragma unroll
      for (int u = 0; u < 4; u++)
        if (e + u < stop) item[u] = source.items[e + u];
#pragma unroll
      for (int u = 0; u < 4; u++) {
        if (e + u < stop) {
          num_terms += Source::Count(item[u]);
          table.Set(Source::Window(item[u]), Source::Bits(item[u]));
        }
      }
      if (table.full) return num_terms;
    }
  }
  return num_terms;
}

/* Batcher's odd-even merge sort of N registers. It consists of templates: registers cannot be addressed, and nested loops are not unrolled reliably. */
template <int P, int K, int N, int... X>
__device__ inline void MergeStep(unsigned (&r)[N], std::integer_sequence<int, X...>)
{
  const auto exchange = [&]<int x>() {
    if constexpr (x >= K % P && (x - K % P) / K % 2 == 0 && x / (2 * P) == (x + K) / (2 * P)) {
      const unsigned low = min(r[x], r[x + K]), high = max(r[x], r[x + K]);

      r[x]     = low;
      r[x + K] = high;
    }
  };

  (exchange.template operator()<X>(), ...);
}

template <int P, int K, int N>
__device__ inline void SortRegisters(unsigned (&r)[N])
{
  MergeStep<P, K>(r, std::make_integer_sequence<int, N - K>());
  if constexpr (K > 1) SortRegisters<P, K / 2>(r);
  else if constexpr (2 * P < N) SortRegisters<2 * P, 2 * P>(r);
}

/* Brings the windows to the front of the table in ascending order, each as window and slot of its mask in one word. Returns the number of columns of the row. */
template <int Slots>
__device__ inline int SortWindows(LaneTable<Slots> &table)
{
  unsigned r[Slots];
  int      entries = 0;

#pragma unroll
  for (int s = 0; s < Slots; s++) {
    const unsigned key   = table.windows[s * 32];
    const int      count = __popc(table.masks[s * 32]);

    r[s] = key == SPGEMM_NO_WINDOW ? SPGEMM_NO_WINDOW : key << SLOT_BITS | s;
    entries += key == SPGEMM_NO_WINDOW ? 0 : count;
  }
  SortRegisters<1, 1>(r);
#pragma unroll
  for (int s = 0; s < LaneTable<Slots>::LIMIT; s++) table.windows[s * 32] = r[s];
  return entries;
}

/* Writes the columns of sorted windows, four at a time. There is room for the next multiple of four. */
template <int Slots>
__device__ inline void WriteColumns(const LaneTable<Slots> &table, int entries, int32_t *columns)
{
  unsigned base = 0, mask = 0;
  int      next = 0;

  for (int e = 0; e < entries; e += 4) {
    int32_t four[4];

#pragma unroll
    for (int u = 0; u < 4; u++) {
      if (mask == 0 && next < table.used) {
        const unsigned word = table.windows[next++ * 32];

        base = word >> SLOT_BITS << SPGEMM_WINDOW_BITS;
        mask = table.masks[(word & ((1u << SLOT_BITS) - 1)) * 32];
      }
      four[u] = (int32_t)(base + __ffs(mask) - 1);
      mask &= mask - 1;
    }
    *(int4 *)(columns + e) = make_int4(four[0], four[1], four[2], four[3]);
  }
}

/* Room in the pool for the rows of a thread block, each at a multiple of four entries. Returns where this thread's row begins. Synchronizes the thread block. */
__device__ inline unsigned long long TakeRowRoom(const SpGEMMPool &pool, BlockRoom *room, int entries)
{
  const unsigned mine = ((unsigned)entries + 3) / 4 * 4, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned       sum = mine;

#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    const unsigned before = __shfl_up_sync(FULL_WARP, sum, k);

    if (lane >= (unsigned)k) sum += before;
  }
  if (lane == 31) room->sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned total = 0;

    for (int w = 0; w < THREADS / 32; w++) {
      const unsigned next = total + room->sums[w];

      room->sums[w] = total;
      total         = next;
    }
    room->start = total ? atomicAdd(&pool.stats->pool_used, (unsigned long long)total) : 0; // one operation for so many rows: all of them meet in one word
  }
  __syncthreads();
  return room->start + room->sums[warp] + sum - mine;
}

/* Counts the rows of a warp's lanes in each bin. */
__device__ inline void AddBins(BlockStats *block, int bin)
{
  const unsigned peers = __match_any_sync(FULL_WARP, bin);

  if (bin >= 0 && bin < SPGEMM_NUM_BINS && (peers & ((1u << threadIdx.x % 32) - 1)) == 0) atomicAdd(&block->bin_rows[bin], (unsigned)__popc(peers));
}

/* What a thread has found of its row. */
__device__ inline void SetRow(const SpGEMMPool &pool, PetscCount row, int bin, int entries, unsigned long long start)
{
  pool.bins[row]   = (unsigned char)bin;
  pool.counts[row] = entries;
  SetStart(pool, row, start);
}

template <int Slots, typename Source, typename Offset>
__global__ void __launch_bounds__(THREADS) SymbolicThreadKernel(Source source, Offsets a_offsets, const int32_t *a_columns, PetscCount num_rows, SpGEMMBinLimits limits, SpGEMMPool pool)
{
  extern __shared__ char shared[];
  __shared__ BlockStats  block;
  __shared__ BlockRoom   room;
  LaneTable<Slots>       table(shared);
  unsigned long long     num_nonzeros = 0, num_terms = 0;

  block.Begin();
  for (PetscCount base = (PetscCount)blockIdx.x * THREADS; base < num_rows; base += (PetscCount)gridDim.x * THREADS) {
    const PetscCount   row   = base + threadIdx.x;
    const bool         mine  = row < num_rows;
    const PetscCount   begin = mine ? a_offsets(row) : 0, length = mine ? a_offsets(row + 1) - begin : 0;
    unsigned long long terms   = 0, start;
    int                entries = 0, bin = -1;

    table.Clear();
    if (length > MAX_LENGTH) table.full = true;
    else terms = Traverse<Slots, Source, Offset>(source, a_columns + begin, (int)length, table);
    if (!table.full) {
      entries = SortWindows(table);
      num_terms += terms;
      num_nonzeros += (unsigned long long)entries;
    }
    start = TakeRowRoom(pool, &room, entries);
    if (mine) bin = table.full ? SPGEMM_BIN_PENDING - 1 : BinOf(limits, table.used, entries);
    if (mine) SetRow(pool, row, bin, entries, start);
    if (table.full) atomicAdd(&pool.stats->level_rows[1], 1u);
    AddBins(&block, bin);
    if (start + (unsigned)entries + 3 > (unsigned long long)pool.capacity) {
      if (entries) pool.stats->no_room = 1; // the host makes a larger pool and begins again
    } else WriteColumns(table, entries, pool.columns + start);
  }
  block.End(pool.stats, num_nonzeros, num_terms);
}

template <int Slots, typename Source, typename Offset>
PetscErrorCode LaunchSymbolic(Source source, DCSRView A, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  const size_t bytes = THREADS / 32 * LaneTable<Slots>::WARP_BYTES;
  unsigned int blocks;
  int          resident;

  PetscFunctionBegin;
  if (bytes > 46 << 10) PetscCallCUDA(cudaFuncSetAttribute(SymbolicThreadKernel<Slots, Source, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, SymbolicThreadKernel<Slots, Source, Offset>, THREADS, bytes));
  PetscCall(DCSRGetGrid(((PetscCount)A.num_rows + THREADS - 1) / THREADS, PetscMax(resident, 1), &blocks));
  SymbolicThreadKernel<Slots, Source, Offset><<<blocks, THREADS, bytes, stream>>>(source, Offsets(A), A.columns, (PetscCount)A.num_rows, *limits, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Source, typename Offset>
PetscErrorCode LaunchSlots(Source source, DCSRView A, int log2_slots, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (log2_slots <= 4) PetscCall((LaunchSymbolic<16, Source, Offset>(source, A, limits, pool, stream)));
  else if (log2_slots == 5) PetscCall((LaunchSymbolic<32, Source, Offset>(source, A, limits, pool, stream)));
  else PetscCall((LaunchSymbolic<64, Source, Offset>(source, A, limits, pool, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode SymbolicThreads(DCSRView A, DCSRView B, const SpGEMMWindows *windows, int log2_slots, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (windows->words != NULL) PetscCall((LaunchSlots<WindowSource<Offset>, Offset>({(const Offset *)windows->offsets, windows->words}, A, log2_slots, limits, pool, stream)));
  else PetscCall((LaunchSlots<ColumnSource<Offset>, Offset>({(const Offset *)B.row_offsets, B.columns}, A, log2_slots, limits, pool, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMSymbolicThreads - The first level, where rows are short and alike: a thread takes a row. A row whose table is full waits for the second level. Asynchronous
  A and B are compact, B.num_columns <= SPGEMM_MAX_THREAD_COLUMNS. windows: the rows of B, or zero. log2_slots of a thread's table: 4 to 6. limits
  are of the bins. The statistics of pool are zero.
  Rows begin at multiples of four entries of the pool.
*/
PetscErrorCode SpGEMMSymbolicThreads(DCSRView A, DCSRView B, const SpGEMMWindows *windows, int log2_slots, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(SymbolicThreads<int64_t>(A, B, windows, log2_slots, limits, pool, stream));
  else PetscCall(SymbolicThreads<int32_t>(A, B, windows, log2_slots, limits, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(SymbolicThreadKernel<16, ColumnSource<int32_t>, int32_t>);
