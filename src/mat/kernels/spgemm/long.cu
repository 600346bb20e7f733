/*
  Rows of C with more windows than a warp's table holds. A thread block puts the windows of a row into a larger table and sorts them. Longer rows are done slice by
  slice of their columns, with one bit in shared memory for each column of the slice: any row fits, however long.
*/
#include "../common/preload.cuh"
#include "table.cuh"
#include "../common/search.cuh"
#include "../common/scan.h"
#include <petscsparsecuda/insert.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

namespace
{

constexpr int SLICE_THREADS = 512;
constexpr int SLICE_COLUMNS = SPGEMM_SLICE_WORDS * 32;
constexpr int BLOCK_SLOTS   = 1 << SPGEMM_BLOCK_SLOTS;
constexpr int SORT_ITEMS    = SPGEMM_BLOCK_WINDOWS / SPGEMM_THREADS;
constexpr int MAX_PROBES    = 256; // A thread block's table counts as full when a window has met so many slots of others.
constexpr int MANY_BITS     = 128; // A warp writes the columns of 32 words word by word when they have more bits.
constexpr int AHEAD         = 4;   // terms of a thread whose columns are loaded together

/* Rows that many thread blocks share. A row of A is cut into parts, and the terms of a part into shares, one for each thread block. */
constexpr int        SHARED_ENTRIES   = 1024;           // A row is shared when its row of A has more entries.
constexpr int        SHARED_TERMS     = 16384;          // A row is shared when its first round has more terms.
constexpr int        MAX_SHARED       = 128;            // So many rows are shared at most.
constexpr PetscCount MAX_SHARED_WORDS = 1 << 21;        // Their bitmaps take at most so many words (8 MiB).
constexpr int        PART_ENTRIES     = SPGEMM_THREADS; // entries of a part, unless the row would have more than MAX_PARTS
constexpr int        MAX_PARTS        = 16384;          // parts of a row at most
constexpr int        SHARE_TERMS      = 4096;           // terms of a part for each share
constexpr int        MAX_SHARES       = 64;             // shares of a part at most

/* A thread block reads rows of B by groups of so many threads, each of which takes a row of B. */
inline int BlockLanes(const DCSRView &B)
{
  const PetscCount mean  = B.num_nonzeros / PetscMax(B.num_rows, 1);
  int              lanes = 4;

  while (lanes < 32 && lanes < mean) lanes *= 2;
  return lanes;
}

/* What the threads of a thread block do together: they take some entries of a row of A, and cut their terms into units. A unit has as many terms as a group has lanes. */
template <typename Offset, int Threads>
struct Round {
  using Scan = cub::BlockScan<unsigned long long, Threads>;

  typename Scan::TempStorage temporary;
  Offset                     begins[Threads];    // of the rows of B that are not empty
  int                        lengths[Threads];   // of these rows
  int                        units[Threads + 1]; // first unit of each of these rows, at last the number of units
  int                        num;                // number of these rows

  /*
    Takes the entries [k, end) of A, at most as many as threads, with the columns [first, last) of their rows of B. Returns the number of units; *length: terms
    of this thread's entry. Starts in any state of the thread block and ends synchronized.
  */
  __device__ int Load(const Factors<Offset> &f, PetscCount k, PetscCount end, int lanes, PetscCount first, PetscCount last, int *length)
  {
    Offset             b = 0;
    unsigned long long mine, before, total;

    *length = 0;
    k += threadIdx.x;
    if (k < end) {
      const int32_t column = f.a_columns[k];
      Offset        b_end  = f.b_offsets[column + 1];

      b = f.b_offsets[column];
      if (first > 0) b = LowerBound(f.b_columns, b, b_end, (int32_t)first);
      if (last <= (PetscCount)INT32_MAX) b_end = LowerBound(f.b_columns, b, b_end, (int32_t)last);
      *length = (int)(b_end - b);
    }
    mine = (unsigned long long)(((*length < SLICE_COLUMNS ? *length : SLICE_COLUMNS) + lanes - 1) / lanes) | (*length ? 1ull << 32 : 0);
    __syncthreads();
    Scan(temporary).ExclusiveSum(mine, before, total);
    if (*length) {
      const int position = (int)(before >> 32);

      begins[position]  = b;
      lengths[position] = *length;
      units[position]   = (int)(unsigned)before;
    }
    if (threadIdx.x == 0) {
      num                = (int)(total >> 32);
      units[total >> 32] = (int)(unsigned)total;
    }
    __syncthreads();
    return (int)(unsigned)total;
  }
  /* The last row whose first unit is not after this one. */
  __device__ int RowOf(int unit) const
  {
    return LastWhere(0, num, [&](int k) { return units[k] <= unit; });
  }
  /*
    Calls visit(columns, is_there) for the terms, a few of them a call and thread, in no order. Every group of lanes takes as many units as the others, whatever the lengths of
    the rows. num_shares thread blocks may share the round; this one does share number share.
  */
  template <typename Visit>
  __device__ void Traverse(const Factors<Offset> &f, int lanes, int share, int num_shares, Visit visit) const
  {
    const int total = units[num], groups = Threads / lanes, lane = threadIdx.x % lanes;
    const int each = (total + groups * num_shares - 1) / (groups * num_shares);
    int       unit = (share * groups + (int)threadIdx.x / lanes) * each;
    const int end  = unit + each < total ? unit + each : total;
    int       row  = unit < end ? RowOf(unit) : 0;

    for (; unit < end; unit += AHEAD) {
      int32_t columns[AHEAD];
      bool    is_there[AHEAD];

#pragma unroll
      for (int u = 0; u < AHEAD; u++) { // on their way together
        if (unit + u < end && unit + u == units[row + 1]) row++;
        const int k = (unit + u - units[row]) * lanes + lane;

        is_there[u] = unit + u < end && k < lengths[row];
        if (is_there[u]) columns[u] = f.b_columns[begins[row] + k];
      }
      visit(columns, is_there);
    }
  }
};

/* Calls visit() of Round::Traverse() for the columns [first, last) of the terms of a row, by all threads of the thread block. */
template <typename Offset, int Threads, typename Visit>
__device__ inline void VisitTerms(Round<Offset, Threads> &round, const Factors<Offset> &f, int32_t row, int lanes, PetscCount first, PetscCount last, Visit visit)
{
  const PetscCount end = f.a_offsets(row + 1);
  int              length;

  for (PetscCount k = f.a_offsets(row); k < end; k += Threads) {
    round.Load(f, k, end, lanes, first, last, &length);
    round.Traverse(f, lanes, 0, 1, visit);
  }
}

/* Sets the bits of columns, counted from first, in a bitmap in shared memory; most of them may be set already. */
__device__ inline void SetBits(unsigned *bitmap, int32_t first, const int32_t (&columns)[AHEAD], const bool (&is_there)[AHEAD])
{
#pragma unroll
  for (int u = 0; u < AHEAD; u++) {
    if (is_there[u]) {
      const unsigned column = (unsigned)(columns[u] - first), bit = 1u << column % 32;

      if (!(*(volatile unsigned *)&bitmap[column / 32] & bit)) atomicOr(&bitmap[column / 32], bit);
    }
  }
}

template <typename Offset>
__device__ inline unsigned long long CountTerms(const Factors<Offset> &f, int32_t row)
{
  const PetscCount   end = f.a_offsets(row + 1);
  unsigned long long sum = 0;

  for (PetscCount k = f.a_offsets(row) + threadIdx.x; k < end; k += blockDim.x) sum += f.b_offsets[f.a_columns[k] + 1] - f.b_offsets[f.a_columns[k]];
  return sum;
}

/* Fills the table of a thread block with a row. Returns whether it was large enough, and stops soon when it is not. Starts and ends synchronized. */
template <typename Offset>
__device__ inline bool FillBlockTable(Round<Offset, SPGEMM_THREADS> &round, const Factors<Offset> &f, int32_t row, int lanes, const WindowTable &table)
{
  const PetscCount end  = f.a_offsets(row + 1);
  bool             full = false;

  __syncthreads();
  for (int slot = threadIdx.x; slot < BLOCK_SLOTS; slot += SPGEMM_THREADS) table.slots[slot] = WindowTable::EMPTY;
  for (PetscCount k = f.a_offsets(row); k < end; k += SPGEMM_THREADS) {
    int length;

    round.Load(f, k, end, lanes, 0, (PetscCount)INT32_MAX + 1, &length);
    if (__syncthreads_or(length > BLOCK_SLOTS << SPGEMM_WINDOW_BITS)) return false;
    round.Traverse(f, lanes, 0, 1, [&](const int32_t(&columns)[AHEAD], const bool(&is_there)[AHEAD]) {
#pragma unroll
      for (int u = 0; u < AHEAD; u++) full = full || (is_there[u] && !table.Set(WindowOf(columns[u]), BitOf(columns[u]), MAX_PROBES));
    });
    if (__syncthreads_or(full)) return false;
  }
  return true;
}

/* Moves the windows to the front of the table, a round of slots at a time: a slot is read before its position can be written. Starts and ends synchronized. */
__device__ inline void CompactBlockTable(unsigned long long *slots, int *num)
{
  if (threadIdx.x == 0) *num = 0;
  for (int first = 0; first < BLOCK_SLOTS; first += SPGEMM_THREADS) {
    const unsigned long long word = slots[first + threadIdx.x];

    __syncthreads();
    if ((unsigned)word != SPGEMM_NO_WINDOW) slots[atomicAdd(num, 1)] = word;
  }
  __syncthreads();
}

/* The next of the rows that wait for the third level, -1 after the last. A thread block takes the next row when it is free, since some rows cost far more than others. Starts and ends synchronized. */
__device__ inline int32_t NextRow(const SpGEMMPool &pool, int32_t *row)
{
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned k = atomicAdd(&pool.stats->taken, 1u);

    *row = k < pool.stats->level_rows[2] && k < pool.max_waiting ? pool.waiting[k] : -1;
  }
  __syncthreads();
  return *row;
}

/* Room in the pool for a row. Starts in any state of the thread block, ends synchronized. */
__device__ inline unsigned long long TakeBlockRoom(unsigned long long *start, const SpGEMMPool &pool, int32_t row, int total)
{
  if (threadIdx.x == 0) {
    *start = atomicAdd(&pool.stats->pool_used, (unsigned long long)total);
    SetStart(pool, row, *start);
    if (*start + total > (unsigned long long)pool.capacity) pool.stats->no_room = 1;
  }
  __syncthreads();
  return *start;
}

/* The consecutive words of a bitmap that this thread's warp reads, a word a lane and round. */
template <int Threads>
struct BitmapPart {
  int begin, end;

  __device__ explicit BitmapPart(int num_words)
  {
    const int share = (num_words + Threads - 1) / Threads * 32;

    begin = (int)threadIdx.x / 32 * share;
    end   = begin + share < num_words ? begin + share : num_words;
  }
  /* Bits in the words of this lane. */
  __device__ int Count(const unsigned *bitmap) const
  {
    int sum = 0;

    for (int k = begin + threadIdx.x % 32; k < end; k += 32) sum += __popc(bitmap[k]);
    return sum;
  }
  /* Writes the columns, the first bit is column first; before: bits that all threads before this one have counted. */
  __device__ void Write(const unsigned *bitmap, int32_t first, int before, int32_t *columns) const
  {
    const int lane = threadIdx.x % 32;

    columns += __shfl_sync(FULL_WARP, before, 0);
    for (int k = begin; k < end; k += 32) {
      const unsigned mask  = k + lane < end ? bitmap[k + lane] : 0;
      int            after = __popc(mask); // bits up to this lane's

      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(FULL_WARP, after, step);

        if (lane >= step) after += other;
      }
      const int total = __shfl_sync(FULL_WARP, after, 31);

      if (total > MANY_BITS) WriteWords(mask, first + k * 32, after - __popc(mask), columns);
      else WriteWord(mask, first + (k + lane) * 32, columns + after - __popc(mask));
      columns += total;
    }
  }
  /* A lane writes its word. */
  static __device__ void WriteWord(unsigned mask, int32_t first, int32_t *columns)
  {
    for (; mask; mask &= mask - 1) *columns++ = first + __ffs(mask) - 1;
  }
  /* The warp writes the words of all lanes, one after the other, a bit a lane: neighbors in memory. */
  static __device__ void WriteWords(unsigned mask, int32_t first, int before, int32_t *columns)
  {
    const int lane = threadIdx.x % 32;

#pragma unroll 4
    for (int k = 0; k < 32; k++) {
      const unsigned word = __shfl_sync(FULL_WARP, mask, k);
      const int      base = __shfl_sync(FULL_WARP, before, k);

      if (word >> lane & 1) columns[base + __popc(word & ((1u << lane) - 1))] = first + k * 32 + lane;
    }
  }
};

/* Shared memory of a thread block that finds a row by a bit for each column. The bitmap comes after it. */
template <typename Offset>
struct DenseShared {
  using Scan = cub::BlockScan<int, SPGEMM_THREADS>;

  Round<Offset, SPGEMM_THREADS> round;
  typename Scan::TempStorage    scan;
  BlockStats                    stats;
  int32_t                       row;
  unsigned                      slot;
  int                           items[MAX_SHARED + 1]; // SharedKernel: first item of each row
  unsigned long long            start;

  __device__ unsigned *Bitmap() { return (unsigned *)(this + 1); }
};

/* The row of a bitmap of so many words: its columns into the pool, its count and bin. Returns the entries to thread 0. Starts and ends synchronized. */
template <typename Offset>
__device__ inline int KeepBitmap(DenseShared<Offset> &s, int num_words, const SpGEMMPool &pool, int32_t row)
{
  const BitmapPart<SPGEMM_THREADS> part(num_words);
  int                              before, total;

  typename DenseShared<Offset>::Scan(s.scan).ExclusiveSum(part.Count(s.Bitmap()), before, total);
  if (TakeBlockRoom(&s.start, pool, row, total) + total <= (unsigned long long)pool.capacity) part.Write(s.Bitmap(), 0, before, pool.columns + s.start);
  if (threadIdx.x == 0) {
    pool.bins[row]   = SPGEMM_BIN_BLOCK;
    pool.counts[row] = total;
    s.stats.AddRow(SPGEMM_BIN_BLOCK);
  }
  __syncthreads();
  return threadIdx.x == 0 ? total : 0;
}

/* A row that many thread blocks share. Each sets bits of one bitmap in global memory. */
struct SharedRow {
  int32_t    row;
  int        parts, shares; // parts of the row of A, and shares of each part
  unsigned   done;          // of these parts * shares items
  PetscCount entries;       // of A in a part
};

/* Such rows, on the device. */
struct SharedRows {
  int        max_rows; // 0: there are none
  SharedRow *rows;     // [max_rows]
  unsigned  *bitmaps;  // [max_rows * words of a bitmap]
};

/*
  Whether a row is left to many thread blocks. length: entries of its row of A. terms: those of its first round, which is a part. A row has to be longer when many other rows
  wait, which keep all thread blocks busy.
*/
template <typename Offset>
__device__ inline bool Share(DenseShared<Offset> &s, PetscCount length, long long terms, int num_words, const SpGEMMPool &pool, const SharedRows &shared, int32_t row)
{
  const int        scale   = pool.stats->level_rows[2] > 4 * gridDim.x ? 16 : 1;
  const PetscCount entries = length <= (PetscCount)MAX_PARTS * PART_ENTRIES ? PART_ENTRIES : (length + MAX_PARTS - 1) / MAX_PARTS;

  if (shared.max_rows == 0 || (length <= SHARED_ENTRIES * scale && terms <= (long long)SHARED_TERMS * scale)) return false;
  if (threadIdx.x == 0) s.slot = atomicAdd(&pool.stats->shared_rows, 1u);
  __syncthreads();
  if (s.slot >= (unsigned)shared.max_rows) return false;
  for (int k = threadIdx.x; k < num_words; k += SPGEMM_THREADS) shared.bitmaps[(size_t)s.slot * num_words + k] = 0;
  if (threadIdx.x == 0) shared.rows[s.slot] = {row, (int)((length + entries - 1) / entries), (int)(terms / SHARE_TERMS < MAX_SHARES ? terms / SHARE_TERMS + 1 : MAX_SHARES), 0, entries};
  return true;
}

/* One row of the third level, or its first round when many thread blocks will share it. Returns its entries to thread 0, and adds up terms. */
template <typename Offset>
__device__ inline int DoDenseRow(DenseShared<Offset> &s, const Factors<Offset> &f, int32_t row, int lanes, int num_words, const SpGEMMPool &pool, const SharedRows &shared,
                                 unsigned long long *num_terms)
{
  const PetscCount begin = f.a_offsets(row), end = f.a_offsets(row + 1);
  unsigned        *bitmap = s.Bitmap();
  int              length;

  for (int k = threadIdx.x; k < num_words; k += SPGEMM_THREADS) bitmap[k] = 0;
  for (PetscCount k = begin; k < end; k += SPGEMM_THREADS) {
    const int units = s.round.Load(f, k, end, lanes, 0, (PetscCount)INT32_MAX + 1, &length);

    if (k == begin && Share(s, end - begin, (long long)units * lanes, num_words, pool, shared, row)) return 0;
    *num_terms += length;
    s.round.Traverse(f, lanes, 0, 1, [&](const int32_t(&columns)[AHEAD], const bool(&is_there)[AHEAD]) { SetBits(bitmap, 0, columns, is_there); });
  }
  __syncthreads();
  return KeepBitmap(s, num_words, pool, row);
}

/* The third level of a product with few columns: each column has a bit, and nothing is sorted. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, 5) DenseKernel(Factors<Offset> f, int lanes, int num_words, SpGEMMPool pool, SharedRows shared_rows)
{
  extern __shared__ char shared[];
  DenseShared<Offset>   &s            = *(DenseShared<Offset> *)shared;
  unsigned long long     num_nonzeros = 0, num_terms = 0;

  if (pool.stats->level_rows[2] == 0) return;
  s.stats.Begin();
  for (int32_t row = NextRow(pool, &s.row); row >= 0; row = NextRow(pool, &s.row)) num_nonzeros += DoDenseRow(s, f, row, lanes, num_words, pool, shared_rows, &num_terms);
  s.stats.End(pool.stats, num_nonzeros, num_terms);
}

/* The first item of each shared row; returns how many items there are. Ends synchronized. */
template <typename Offset>
__device__ inline int NumberItems(DenseShared<Offset> &s, const SharedRows &shared, int n)
{
  const int mine = (int)threadIdx.x < n ? shared.rows[threadIdx.x].parts * shared.rows[threadIdx.x].shares : 0;
  int       before, total;

  typename DenseShared<Offset>::Scan(s.scan).ExclusiveSum(mine, before, total);
  if ((int)threadIdx.x < n) s.items[threadIdx.x] = before;
  if (threadIdx.x == 0) s.items[n] = total;
  __syncthreads();
  return total;
}

/* Item k of a shared row: a share of a part of its row of A, whose bits join those of the other items. Returns whether it was the last of all: the bitmap is complete then. Adds up terms. */
template <typename Offset>
__device__ inline bool DoItem(DenseShared<Offset> &s, const Factors<Offset> &f, int k, int lanes, int num_words, SharedRow *shared, unsigned *joined, unsigned long long *num_terms)
{
  const int        part = k / shared->shares, share = k % shared->shares;
  const PetscCount row_end = f.a_offsets(shared->row + 1), begin = f.a_offsets(shared->row) + part * shared->entries, end = begin + shared->entries < row_end ? begin + shared->entries : row_end;
  unsigned        *bitmap = s.Bitmap();
  int              length;

  for (int w = threadIdx.x; w < num_words; w += SPGEMM_THREADS) bitmap[w] = 0;
  for (PetscCount base = begin; base < end; base += SPGEMM_THREADS) {
    s.round.Load(f, base, end, lanes, 0, (PetscCount)INT32_MAX + 1, &length);
    if (share == 0) *num_terms += length;
    s.round.Traverse(f, lanes, share, shared->shares, [&](const int32_t(&columns)[AHEAD], const bool(&is_there)[AHEAD]) { SetBits(bitmap, 0, columns, is_there); });
  }
  __syncthreads();
  for (int w = threadIdx.x; w < num_words; w += SPGEMM_THREADS)
    if (bitmap[w]) atomicOr(&joined[w], bitmap[w]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) s.slot = atomicAdd(&shared->done, 1u) + 1;
  __syncthreads();
  __threadfence();
  return s.slot == (unsigned)(shared->parts * shared->shares);
}

/* The rows that DenseKernel() has left to many thread blocks. The thread block that does the last item of a row keeps the row. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, 5) SharedKernel(Factors<Offset> f, int lanes, int num_words, SpGEMMPool pool, SharedRows shared_rows)
{
  extern __shared__ char shared[];
  DenseShared<Offset>   &s            = *(DenseShared<Offset> *)shared;
  unsigned long long     num_nonzeros = 0, num_terms = 0;
  const unsigned         wanted = pool.stats->shared_rows;
  const int              n      = wanted < (unsigned)shared_rows.max_rows ? (int)wanted : shared_rows.max_rows;

  if (n == 0) return;
  s.stats.Begin();
  const int num_items = NumberItems(s, shared_rows, n);

  for (int item = blockIdx.x, slot = 0; item < num_items; item += gridDim.x) {
    while (s.items[slot + 1] <= item) slot++;
    SharedRow *mine   = &shared_rows.rows[slot];
    unsigned  *joined = shared_rows.bitmaps + (size_t)slot * num_words;

    if (!DoItem(s, f, item - s.items[slot], lanes, num_words, mine, joined, &num_terms)) continue;
#pragma unroll 4
    for (int k = threadIdx.x; k < num_words; k += SPGEMM_THREADS) s.Bitmap()[k] = __ldcg(&joined[k]);
    __syncthreads();
    num_nonzeros += KeepBitmap(s, num_words, pool, mine->row);
  }
  s.stats.End(pool.stats, num_nonzeros, num_terms);
}

/* Shared memory of a thread block that takes a row. */
template <typename Offset>
struct BlockShared {
  using Sort = cub::BlockRadixSort<unsigned, SPGEMM_THREADS, SORT_ITEMS, unsigned>;
  using Scan = cub::BlockScan<int, SPGEMM_THREADS>;

  union {
    typename Sort::TempStorage    sort;
    typename Scan::TempStorage    scan;
    Round<Offset, SPGEMM_THREADS> round;
  } temporary;
  BlockStats         stats;
  int32_t            row;
  int                num_windows;
  unsigned long long start;
  unsigned long long slots[BLOCK_SLOTS];
};

/* Sorts the windows at the front of the table, puts the row's columns into the pool; returns how many there are. */
template <typename Offset>
__device__ inline int SortBlockRow(BlockShared<Offset> &s, int window_bits, const SpGEMMPool &pool, int32_t row)
{
  unsigned window[SORT_ITEMS], mask[SORT_ITEMS];
  int      sum = 0, before, total;

  for (int k = 0; k < SORT_ITEMS; k++) {
    const int                position = threadIdx.x * SORT_ITEMS + k;
    const unsigned long long word     = position < s.num_windows ? s.slots[position] : WindowTable::EMPTY;

    window[k] = (unsigned)word;
    mask[k]   = (unsigned)(word >> 32);
  }
  typename BlockShared<Offset>::Sort(s.temporary.sort).Sort(window, mask, 0, window_bits);
  for (int k = 0; k < SORT_ITEMS; k++) sum += __popc(mask[k]);
  __syncthreads();
  typename BlockShared<Offset>::Scan(s.temporary.scan).ExclusiveSum(sum, before, total);
  if (TakeBlockRoom(&s.start, pool, row, total) + total > (unsigned long long)pool.capacity) return total;
  int32_t *columns = pool.columns + s.start + before;

  for (int k = 0; k < SORT_ITEMS; k++)
    for (; mask[k]; mask[k] &= mask[k] - 1) *columns++ = (int32_t)(window[k] << SPGEMM_WINDOW_BITS | (__ffs(mask[k]) - 1));
  return total;
}

/* One row; returns its entries to thread 0. */
template <typename Offset>
__device__ inline int DoBlockRow(const Factors<Offset> &f, int32_t row, int lanes, int window_bits, const SpGEMMBinLimits &limits, const SpGEMMPool &pool, BlockShared<Offset> &s)
{
  const bool fits    = FillBlockTable(s.temporary.round, f, row, lanes, {s.slots, SPGEMM_BLOCK_SLOTS});
  int        entries = 0, bin = SPGEMM_BIN_LONG;

  CompactBlockTable(s.slots, &s.num_windows);
  if (fits && s.num_windows <= SPGEMM_BLOCK_WINDOWS) {
    entries = SortBlockRow(s, window_bits, pool, row);
    bin     = BinOf(limits, s.num_windows, entries);
  }
  if (threadIdx.x == 0) {
    pool.bins[row]   = (unsigned char)bin;
    pool.counts[row] = entries;
    s.stats.AddRow(bin);
    if (bin == SPGEMM_BIN_LONG) pool.long_rows[atomicAdd(&pool.stats->level_rows[3], 1u)] = row;
  }
  return threadIdx.x == 0 ? entries : 0;
}

/* The third level: a thread block takes a row of those that wait. */
template <typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) BlockKernel(Factors<Offset> f, int lanes, int window_bits, SpGEMMBinLimits limits, SpGEMMPool pool)
{
  extern __shared__ char shared[];
  BlockShared<Offset>   &s            = *(BlockShared<Offset> *)shared;
  unsigned long long     num_nonzeros = 0, num_terms = 0;

  if (pool.stats->level_rows[2] == 0) return;
  s.stats.Begin();
  for (int32_t row = NextRow(pool, &s.row); row >= 0; row = NextRow(pool, &s.row)) {
    num_nonzeros += DoBlockRow(f, row, lanes, window_bits, limits, pool, s);
    num_terms += CountTerms(f, row);
  }
  s.stats.End(pool.stats, num_nonzeros, num_terms);
}

/* Shared memory of a thread block that takes a slice of the columns of a row. A bitmap of SPGEMM_SLICE_WORDS comes after it. */
template <typename Offset>
struct SliceShared {
  using Scan = cub::BlockScan<int, SLICE_THREADS>;

  Round<Offset, SLICE_THREADS> round;
  typename Scan::TempStorage   scan;

  __device__ unsigned             *Bitmap() { return (unsigned *)(this + 1); }
  static constexpr __host__ size_t Bytes() { return sizeof(SliceShared) + SPGEMM_SLICE_WORDS * sizeof(unsigned); }
};

/* The bitmap of a slice of the columns of a row. Starts and ends synchronized. */
template <typename Offset>
__device__ inline void FillBitmap(SliceShared<Offset> &s, const Factors<Offset> &f, int32_t row, int lanes, PetscCount first)
{
  unsigned *bitmap = s.Bitmap();

  __syncthreads();
  for (int k = threadIdx.x; k < SPGEMM_SLICE_WORDS; k += SLICE_THREADS) bitmap[k] = 0;
  VisitTerms(s.round, f, row, lanes, first, first + SLICE_COLUMNS, [&](const int32_t(&columns)[AHEAD], const bool(&is_there)[AHEAD]) { SetBits(bitmap, (int32_t)first, columns, is_there); });
  __syncthreads();
}

/* One item: a slice of a row. slice_counts == NULL: the counts of the rows; otherwise those of the slices. */
template <typename Offset>
__global__ void __launch_bounds__(SLICE_THREADS)
  CountSliceKernel(Factors<Offset> f, int lanes, PetscCount num_slices, const unsigned int *n, const int32_t *list, int32_t *counts, unsigned long long *num_nonzeros, int32_t *slice_counts)
{
  extern __shared__ char shared[];
  SliceShared<Offset>   &s = *(SliceShared<Offset> *)shared;

  for (PetscCount item = blockIdx.x; item < (PetscCount)*n * num_slices; item += gridDim.x) {
    const int32_t row = list[item / num_slices];
    int           before, sum;

    FillBitmap(s, f, row, lanes, item % num_slices * SLICE_COLUMNS);
    typename SliceShared<Offset>::Scan(s.scan).ExclusiveSum(BitmapPart<SLICE_THREADS>(SPGEMM_SLICE_WORDS).Count(s.Bitmap()), before, sum);
    if (threadIdx.x == 0 && slice_counts) slice_counts[item] = sum;
    if (threadIdx.x == 0 && !slice_counts && sum) {
      atomicAdd(&counts[row], sum);
      atomicAdd(num_nonzeros, (unsigned long long)sum);
    }
  }
}

template <typename Offset>
__global__ void __launch_bounds__(SLICE_THREADS)
  FillSliceKernel(Factors<Offset> f, int lanes, PetscCount num_slices, PetscCount num_items, const int32_t *list, const PetscCount *positions, Offsets c_offsets, int32_t *c_columns)
{
  extern __shared__ char          shared[];
  SliceShared<Offset>            &s = *(SliceShared<Offset> *)shared;
  const BitmapPart<SLICE_THREADS> part(SPGEMM_SLICE_WORDS);

  for (PetscCount item = blockIdx.x; item < num_items; item += gridDim.x) {
    const int32_t    row   = list[item / num_slices];
    const PetscCount first = item % num_slices * SLICE_COLUMNS;
    int              before;

    FillBitmap(s, f, row, lanes, first);
    typename SliceShared<Offset>::Scan(s.scan).ExclusiveSum(part.Count(s.Bitmap()), before);
    part.Write(s.Bitmap(), (int32_t)first, before, c_columns + c_offsets(row) + (positions[item] - positions[item - item % num_slices]));
  }
}

PetscCount NumSlices(const DCSRView &B)
{
  return PetscMax(((PetscCount)B.num_columns + SLICE_COLUMNS - 1) / SLICE_COLUMNS, 1);
}

/* How many rows thread blocks may share: none where no row of C can be long enough. */
int NumShared(const DCSRView &A, const DCSRView &B, int num_words)
{
  if (B.num_nonzeros <= SHARED_TERMS && PetscMin((PetscCount)A.num_columns, A.num_nonzeros) <= SHARED_ENTRIES) return 0;
  return (int)PetscMin((PetscCount)MAX_SHARED, MAX_SHARED_WORDS / num_words);
}

/* The third level of a product with few columns. */
template <typename Offset>
PetscErrorCode SymbolicDense(DCSRView A, DCSRView B, int lanes, const SpGEMMPool *pool, cudaStream_t stream)
{
  const int      num_words = (int)((B.num_columns + 31) / 32), num_shared = NumShared(A, B, num_words);
  const size_t   bytes  = sizeof(DenseShared<Offset>) + (size_t)num_words * sizeof(unsigned);
  SharedRows     shared = {num_shared, NULL, NULL};
  unsigned int   blocks, all_blocks;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((PetscCount)A.num_rows, SPGEMM_BLOCKS, &blocks));
  PetscCall(DCSRGetGrid(PETSC_COUNT_MAX, SPGEMM_BLOCKS, &all_blocks));
  if (num_shared) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_shared, "rows that blocks share", stream, &shared.rows));
  if (num_shared) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc((PetscCount)num_shared * num_words, "bitmaps of rows that blocks share", stream, &shared.bitmaps));
  PetscCallCUDAGoto(ierr, cleanup, cudaFuncSetAttribute(DenseKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  DenseKernel<Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), lanes, num_words, *pool, shared);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  if (num_shared) {
    PetscCallCUDAGoto(ierr, cleanup, cudaFuncSetAttribute(SharedKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    SharedKernel<Offset><<<all_blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), lanes, num_words, *pool, shared);
    PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&shared.rows, stream));
  PetscCall(PetscSparseCUDAFree(&shared.bitmaps, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode SymbolicBlocks(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  const size_t bytes = sizeof(BlockShared<Offset>);
  unsigned int blocks;

  PetscFunctionBegin;
  if (B.num_columns <= SLICE_COLUMNS) { // all columns in one bitmap
    PetscCall(SymbolicDense<Offset>(A, B, lanes, pool, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DCSRGetGrid((PetscCount)A.num_rows, SPGEMM_BLOCKS, &blocks));
  PetscCallCUDA(cudaFuncSetAttribute(BlockKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  // one number more than there are windows: the bits of SPGEMM_NO_WINDOW, which comes last in the sort
  BlockKernel<Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(Factors<Offset>(A, B), lanes, DCSRKeyBits((B.num_columns >> SPGEMM_WINDOW_BITS) + 2), *limits, *pool);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode CountSlices(DCSRView A, DCSRView B, PetscCount max_items, const unsigned int *n, const int32_t *list, int32_t *counts, unsigned long long *num_nonzeros, int32_t *slice_counts,
                           cudaStream_t stream)
{
  const size_t bytes = SliceShared<Offset>::Bytes();
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(PetscMax(max_items, 1), SPGEMM_BLOCKS, &blocks));
  PetscCallCUDA(cudaFuncSetAttribute(CountSliceKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  CountSliceKernel<Offset><<<blocks, SLICE_THREADS, bytes, stream>>>(Factors<Offset>(A, B), BlockLanes(B), NumSlices(B), n, list, counts, num_nonzeros, slice_counts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode FillSlices(DCSRView A, DCSRView B, DCSRView C, PetscCount num_items, const int32_t *list, const PetscCount *positions, cudaStream_t stream)
{
  const size_t bytes = SliceShared<Offset>::Bytes();
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(num_items, SPGEMM_BLOCKS, &blocks));
  PetscCallCUDA(cudaFuncSetAttribute(FillSliceKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  FillSliceKernel<Offset><<<blocks, SLICE_THREADS, bytes, stream>>>(Factors<Offset>(A, B), BlockLanes(B), NumSlices(B), num_items, list, positions, Offsets(C), C.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpGEMMSymbolicBlocks - The third level: a thread block a row, tables of 4096 windows. See SpGEMMSymbolicGroups(). */
PetscErrorCode SpGEMMSymbolicBlocks(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.wide) PetscCall(SymbolicBlocks<int64_t>(A, B, lanes, limits, pool, stream));
  else PetscCall(SymbolicBlocks<int32_t>(A, B, lanes, limits, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMCountSlices - The last level, which only counts: a thread block takes a slice of the columns of a row, with a bit for each of them. See SpGEMMSymbolicGroups(). */
PetscErrorCode SpGEMMCountSlices(DCSRView A, DCSRView B, const SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (B.num_columns <= SLICE_COLUMNS) PetscFunctionReturn(PETSC_SUCCESS); // the third level finishes every row
  if (B.wide) PetscCall(CountSlices<int64_t>(A, B, PETSC_COUNT_MAX, &pool->stats->level_rows[3], pool->long_rows, pool->counts, &pool->stats->num_nonzeros, NULL, stream));
  else PetscCall(CountSlices<int32_t>(A, B, PETSC_COUNT_MAX, &pool->stats->level_rows[3], pool->long_rows, pool->counts, &pool->stats->num_nonzeros, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMFillSlices - Columns of n rows of any length.

  Workspace: 12 bytes for each slice of 524,288 columns of each row.
*/
PetscErrorCode SpGEMMFillSlices(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  const PetscCount   num_items = n * NumSlices(B);
  const unsigned int num       = (unsigned int)n;
  PetscErrorCode     ierr      = PETSC_SUCCESS;
  int32_t           *counts    = NULL;
  PetscCount        *positions = NULL;
  unsigned int      *device_n  = NULL;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_items, "entries of slices of long rows", stream, &counts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_items, "positions of slices of long rows", stream, &positions));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "number of long rows", stream, &device_n));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(device_n, &num, sizeof(num), stream));
  if (B.wide) PetscCallGoto(ierr, cleanup, CountSlices<int64_t>(A, B, num_items, device_n, list, NULL, NULL, counts, stream));
  else PetscCallGoto(ierr, cleanup, CountSlices<int32_t>(A, B, num_items, device_n, list, NULL, NULL, counts, stream));
  PetscCallGoto(ierr, cleanup, DCSRExclusiveSumTo("workspace to sum slices of long rows", counts, num_items, positions, stream));
  if (B.wide) PetscCallGoto(ierr, cleanup, FillSlices<int64_t>(A, B, C, num_items, list, positions, stream));
  else PetscCallGoto(ierr, cleanup, FillSlices<int32_t>(A, B, C, num_items, list, positions, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  PetscCall(PetscSparseCUDAFree(&device_n, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DenseKernel<int32_t>);
