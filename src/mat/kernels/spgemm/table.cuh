#pragma once
/* Tables of windows in shared memory, and what the kernels of both phases share. */
#include "../common/offsets.cuh"
#include "spgemmimpl.h"

namespace
{

constexpr unsigned FULL_WARP = 0xffffffffu;

/* A and B as the traversals read them. The width of B's offsets is known at compile time, since they are read for each entry of A. */
template <typename Offset>
struct Factors {
  Offsets            a_offsets;
  const int32_t     *a_columns;
  const PetscScalar *a_values;
  const Offset      *b_offsets;
  const int32_t     *b_columns;
  const PetscScalar *b_values;

  Factors(const DCSRView &A, const DCSRView &B) : a_offsets(A), a_columns(A.columns), a_values(A.values), b_offsets((const Offset *)B.row_offsets), b_columns(B.columns), b_values(B.values) {}
};

template <int Lanes, typename T>
__device__ inline T ShuffleFrom(T value, int lane)
{
  if constexpr (sizeof(T) == sizeof(int)) {
    int word;

    memcpy(&word, &value, sizeof(word));
    word = __shfl_sync(FULL_WARP, word, lane, Lanes);
    memcpy(&value, &word, sizeof(word));
  } else {
    int words[sizeof(T) / sizeof(int)];

    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (size_t k = 0; k < sizeof(T) / sizeof(int); k++) words[k] = __shfl_sync(FULL_WARP, words[k], lane, Lanes);
    memcpy(&value, words, sizeof(T));
  }
  return value;
}

__device__ inline unsigned WindowOf(int32_t column)
{
  return (unsigned)column >> SPGEMM_WINDOW_BITS;
}

__device__ inline unsigned BitOf(int32_t column)
{
  return 1u << (column & ((1 << SPGEMM_WINDOW_BITS) - 1));
}

/* Whether entry k of a row is the first of its window. */
__device__ inline bool BeginsWindow(const int32_t *columns, PetscCount k)
{
  return k == 0 || WindowOf(columns[k - 1]) != WindowOf(columns[k]);
}

/*
  Open addressing. A slot is one 64-bit word, read at once. The window is its lower half. The upper half has a mask of the window's columns and above it the position of
  its first entry in the row (numeric phase) or the number of its columns (sorting).
*/
struct WindowTable {
  unsigned long long *slots;
  int                 log2_slots;

  static constexpr unsigned long long EMPTY = SPGEMM_NO_WINDOW;

  __device__ unsigned FirstSlot(unsigned window) const { return (window * 2654435769u) >> (32 - log2_slots); }
  __device__ unsigned NextSlot(unsigned slot) const { return (slot + 1) & ((1u << log2_slots) - 1); }
  /* Sets bits of a window's word, which is inserted when it is not there. Returns false when limit slots belong to others. */
  __device__ bool Set(unsigned window, unsigned bits, int limit) const
  {
    unsigned           slot = FirstSlot(window);
    unsigned long long word = *(volatile unsigned long long *)&slots[slot];

    for (int k = 0; (unsigned)word != window; k++) {
      if ((unsigned)word == SPGEMM_NO_WINDOW) {
        const unsigned key = atomicCAS((unsigned *)&slots[slot], SPGEMM_NO_WINDOW, window);

        if (key == SPGEMM_NO_WINDOW || key == window) break;
      }
      if (k >= limit) return false;
      slot = NextSlot(slot);
      word = *(volatile unsigned long long *)&slots[slot];
    }
    if (bits & ~(unsigned)(word >> 32)) atomicOr((unsigned *)&slots[slot] + 1, bits); // most terms of a long row of A meet a bit that is set, many lanes the same word
    return true;
  }
  /* The word of a window that is in the table. */
  __device__ unsigned Get(unsigned window) const
  {
    unsigned           slot = FirstSlot(window);
    unsigned long long word = slots[slot];

    while ((unsigned)word != window) {
      slot = NextSlot(slot);
      word = slots[slot];
    }
    return (unsigned)(word >> 32);
  }
  /* Place in the row of a column that is in the table. */
  __device__ int Position(int32_t column) const
  {
    const unsigned word = Get(WindowOf(column));

    return (int)(word >> 16) + __popc(word & (BitOf(column) - 1));
  }
};

/* Makes the table of n columns of a row of C, by a group of lanes. Starts with an empty table and ends synchronized. */
template <int Lanes>
__device__ inline void BuildTable(const WindowTable &table, const int32_t *columns, int n, int lane)
{
  for (int k = lane; k < n; k += Lanes) {
    const int32_t  column = columns[k];
    const unsigned window = WindowOf(column);
    const bool     first  = k == 0 || WindowOf(columns[k - 1]) != window;

    table.Set(window, BitOf(column) | (first ? (unsigned)k << 16 : 0), 1 << table.log2_slots);
  }
  __syncwarp();
}

/* The smallest bin for a row of C. */
__device__ inline int BinOf(const SpGEMMBinLimits &limits, int num_windows, int num_entries)
{
  int bin = num_entries > 0 ? 1 : SPGEMM_BIN_EMPTY;

  while (bin > SPGEMM_BIN_EMPTY && bin < SPGEMM_BIN_LONG && (num_windows > limits.max_windows[bin] || num_entries > limits.max_entries[bin])) bin++;
  return bin;
}

/* Bytes from a group's part of shared memory to the next. Groups of a warp that use the same positions of their parts use different banks. */
template <int Lanes>
__host__ __device__ inline size_t GroupPitch(size_t bytes)
{
  if constexpr (Lanes == 1) return bytes + sizeof(PetscScalar);
  return (bytes + 127) / 128 * 128 + (Lanes < 16 ? Lanes * 8 : 0);
}

__device__ inline void SetStart(const SpGEMMPool &pool, PetscCount row, unsigned long long start)
{
  if (pool.wide) ((uint64_t *)pool.starts)[row] = start;
  else ((uint32_t *)pool.starts)[row] = (uint32_t)start;
}

/* A row waits for a level. */
__device__ inline void AddWaiting(const SpGEMMPool &pool, int level, int32_t row)
{
  const unsigned position = atomicAdd(&pool.stats->level_rows[level], 1u);

  if (level != 2 || !pool.waiting) return;
  if (position < pool.max_waiting) pool.waiting[position] = row;
  else pool.stats->no_room = 1; // the host makes a longer list and begins again
}

/* A warp's chunk of the pool. */
struct PoolCursor {
  unsigned long long next = 0, end = 0;
  unsigned           ahead; // A chunk is room for so many rows like this one. It is 1 where a warp takes few rows, and would leave much of its last chunk unused.

  __device__ PoolCursor(int times) : ahead((unsigned)times) {}

  /* Where total entries go, the same for all lanes. A warp takes larger chunks from the pool, so that few atomic operations meet. */
  __device__ unsigned long long Take(const SpGEMMPool &pool, unsigned total)
  {
    if (next + total > end) {
      const unsigned long long chunk = total * SPGEMM_POOL_AHEAD > SPGEMM_POOL_CHUNK ? (unsigned long long)total * ahead : SPGEMM_POOL_CHUNK;

      if (threadIdx.x % 32 == 0) next = atomicAdd(&pool.stats->pool_used, chunk);
      next = __shfl_sync(FULL_WARP, next, 0);
      end  = next + chunk;
    }
    next += total;
    return next - total;
  }
};

/* The class of a row of a sample. Tables of threads take up to 14, 28 and 56 windows, those of groups 12, 24, 48 and 96. */
__device__ inline int SizeOf(int num_windows)
{
  return num_windows <= 24 ? (num_windows <= 12 ? 0 : num_windows <= 14 ? 1 : 2) : num_windows <= 48 ? (num_windows <= 28 ? 3 : 4) : num_windows <= 56 ? 5 : num_windows <= 96 ? 6 : 7;
}

/* What the rows of a thread block add to the statistics. A thread block does one set of atomic operations. */
struct BlockStats {
  unsigned int       bin_rows[SPGEMM_NUM_BINS], window_rows[SPGEMM_NUM_SIZES];
  unsigned long long num_factors, num_unknown, num_squares, num_padded;

  __device__ void Begin()
  {
    if (threadIdx.x < SPGEMM_NUM_BINS) bin_rows[threadIdx.x] = 0;
    if (threadIdx.x < SPGEMM_NUM_SIZES) window_rows[threadIdx.x] = 0;
    if (threadIdx.x == 0) num_factors = num_unknown = num_squares = num_padded = 0;
    __syncthreads();
  }
  __device__ void AddRow(int bin) { atomicAdd(&bin_rows[bin], 1u); }
  /* A row of a sample: its windows and entries, entries of A, terms, and whether its table was full. */
  __device__ void AddSample(int num_windows, int entries, unsigned long long factors, unsigned long long terms, bool full)
  {
    const unsigned long long bounded = terms < 1048576 ? terms : 1048576;

    atomicAdd(&window_rows[full ? SPGEMM_NUM_SIZES - 1 : SizeOf(num_windows)], 1u);
    atomicAdd(&num_factors, factors);
    atomicAdd(&num_squares, bounded * bounded);
    atomicAdd(&num_padded, (unsigned long long)(entries + 3) / 4 * 4);
    if (full) atomicAdd(&num_unknown, terms);
  }
  __device__ void End(SpGEMMStats *stats, unsigned long long num_nonzeros, unsigned long long num_terms)
  {
    for (int k = 16; k > 0; k /= 2) {
      num_nonzeros += __shfl_down_sync(FULL_WARP, num_nonzeros, k);
      num_terms += __shfl_down_sync(FULL_WARP, num_terms, k);
    }
    if (threadIdx.x % 32 == 0 && (num_terms || num_nonzeros)) {
      atomicAdd(&stats->num_nonzeros, num_nonzeros);
      atomicAdd(&stats->num_terms, num_terms);
    }
    __syncthreads();
    if (threadIdx.x < SPGEMM_NUM_BINS && bin_rows[threadIdx.x]) atomicAdd(&stats->bin_rows[threadIdx.x], bin_rows[threadIdx.x]);
    if (threadIdx.x == 0 && num_factors) atomicAdd(&stats->num_factors, num_factors);
    if (threadIdx.x == 0 && num_unknown) atomicAdd(&stats->num_unknown, num_unknown);
    if (threadIdx.x == 0 && num_squares) atomicAdd(&stats->num_squares, num_squares);
    if (threadIdx.x == 0 && num_padded) atomicAdd(&stats->num_padded, num_padded);
    if (threadIdx.x < SPGEMM_NUM_SIZES && window_rows[threadIdx.x]) atomicAdd(&stats->window_rows[threadIdx.x], window_rows[threadIdx.x]);
  }
};

} // namespace
