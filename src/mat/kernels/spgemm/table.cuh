#pragma once
/*
  Tables of windows in shared memory, and the walk of a group of lanes over the products of a row: one row of B after the other, its entries side by side in the
  lanes. Columns of a row of B are distinct, so lanes never add to the same entry, and sums have the order of the row of A: bitwise reproducible without atomics.
*/
#include "spgemmimpl.h"

namespace
{

constexpr int      SPGEMM_THREADS = 256;
constexpr unsigned FULL_WARP      = 0xffffffffu;

/* Offsets of either width; the branch is the same for all threads. */
struct Offsets {
  const void *offsets;
  bool        wide;

  explicit Offsets(const DCSRView &view) : offsets(view.row_offsets), wide(view.wide) {}
  __device__ PetscCount operator()(PetscCount k) const { return wide ? (PetscCount)((const int64_t *)offsets)[k] : (PetscCount)((const int32_t *)offsets)[k]; }
};

/* A and B as the walk reads them; the width of B's offsets is known at compile time, they are read once a product row. */
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

__device__ inline int WarpMax(int value)
{
  return __reduce_max_sync(FULL_WARP, value);
}

__device__ inline unsigned WindowOf(int32_t column)
{
  return (unsigned)column >> SPGEMM_WINDOW_BITS;
}

__device__ inline unsigned BitOf(int32_t column)
{
  return 1u << (column & 31);
}

/* Open addressing; keys are windows. */
struct WindowTable {
  unsigned *keys;
  int       log2_slots;

  __device__ unsigned FirstSlot(unsigned window) const { return (window * 2654435769u) >> (32 - log2_slots); }
  __device__ unsigned NextSlot(unsigned slot) const { return (slot + 1) & ((1u << log2_slots) - 1); }
  /* The slot of a window that is in the table. */
  __device__ unsigned Find(unsigned window) const
  {
    unsigned slot = FirstSlot(window);

    while (keys[slot] != window) slot = NextSlot(slot);
    return slot;
  }
  /* The slot of a window, which is inserted when it is not there; SPGEMM_NO_WINDOW after so many slots of others. */
  __device__ unsigned Insert(unsigned window, int limit) const
  {
    unsigned slot = FirstSlot(window);

    for (int k = 0; k < limit; k++) {
      unsigned key = *(volatile unsigned *)&keys[slot];

      if (key == SPGEMM_NO_WINDOW) key = atomicCAS(&keys[slot], SPGEMM_NO_WINDOW, window);
      if (key == SPGEMM_NO_WINDOW || key == window) return slot;
      slot = NextSlot(slot);
    }
    return SPGEMM_NO_WINDOW;
  }
};

/* Sets a bit, with an atomic operation only for the first. */
__device__ inline void SetBit(unsigned *mask, unsigned bit)
{
  if (!(*(volatile unsigned *)mask & bit)) atomicOr(mask, bit);
}

/* One step's entries of B in this lane; column < 0: none. */
struct WalkEntry {
  int32_t     column;
  PetscScalar value;
};

/*
  The walk of a group of lanes over the products of one row of A. All groups of a warp walk together: a_length is 0 for a group without a row.
  process(column, product) is called by all lanes of the warp, column < 0 where there is none; it returns whether the group may stop.
*/
template <int Lanes, bool Values, typename Offset, typename Process>
__device__ inline PetscCount WalkProducts(const Factors<Offset> &f, PetscCount a_begin, int a_length, int lane, Process process)
{
  const int  max_length   = WarpMax(a_length);
  PetscCount num_products = 0;

  for (int first = 0; first < max_length; first += Lanes) {
    const int   steps  = max_length - first < Lanes ? max_length - first : Lanes;
    Offset      begin  = 0;
    int         length = 0;
    PetscScalar a      = 0.0;

    if (first + lane < a_length) {
      const int32_t column = f.a_columns[a_begin + first + lane];

      begin  = f.b_offsets[column];
      length = (int)(f.b_offsets[column + 1] - begin);
      if constexpr (Values) a = f.a_values[a_begin + first + lane];
    }
    num_products += length;

    Offset    b     = ShuffleFrom<Lanes>(begin, 0);
    int       left  = ShuffleFrom<Lanes>(length, 0);
    WalkEntry entry = {-1, 0.0};

    if (lane < left) {
      entry.column = f.b_columns[b + lane];
      if constexpr (Values) entry.value = f.b_values[b + lane];
    }
    for (int s = 0; s < steps; s++) {
      const int    next      = s + 1 < Lanes ? s + 1 : 0;
      const Offset b_next    = ShuffleFrom<Lanes>(begin, next);
      const int    left_next = s + 1 < steps ? ShuffleFrom<Lanes>(length, next) : 0;
      PetscScalar  factor    = 0.0;
      WalkEntry    following = {-1, 0.0};

      if constexpr (Values) factor = ShuffleFrom<Lanes>(a, s);
      if (lane < left_next) { // on its way while this step computes
        following.column = f.b_columns[b_next + lane];
        if constexpr (Values) following.value = f.b_values[b_next + lane];
      }
      if (process(entry.column, factor * entry.value)) return num_products;
      for (int k = Lanes; __any_sync(FULL_WARP, k < left); k += Lanes) {
        WalkEntry more = {-1, 0.0};

        if (k + lane < left) {
          more.column = f.b_columns[b + k + lane];
          if constexpr (Values) more.value = f.b_values[b + k + lane];
        }
        if (process(more.column, factor * more.value)) return num_products;
      }
      b     = b_next;
      left  = left_next;
      entry = following;
    }
  }
  return num_products;
}

/* The smallest bin for a row of C. */
__device__ inline int BinOf(const SpGEMMBinLimits &limits, int num_windows, int num_entries)
{
  int bin = num_entries > 0 ? 1 : SPGEMM_BIN_EMPTY;

  while (bin > SPGEMM_BIN_EMPTY && bin < SPGEMM_BIN_LONG && (num_windows > limits.max_windows[bin] || num_entries > limits.max_entries[bin])) bin++;
  return bin;
}

/* What the rows of a block add to the statistics; one set of atomic operations a block. */
struct BlockStats {
  unsigned int bin_rows[SPGEMM_NUM_BINS];

  __device__ void Begin()
  {
    if (threadIdx.x < SPGEMM_NUM_BINS) bin_rows[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void AddRow(int bin) { atomicAdd(&bin_rows[bin], 1u); }
  __device__ void End(SpGEMMStats *stats, unsigned long long num_nonzeros, unsigned long long num_products)
  {
    for (int k = 16; k > 0; k /= 2) {
      num_nonzeros += __shfl_down_sync(FULL_WARP, num_nonzeros, k);
      num_products += __shfl_down_sync(FULL_WARP, num_products, k);
    }
    if (threadIdx.x % 32 == 0 && num_products) {
      atomicAdd(&stats->num_nonzeros, num_nonzeros);
      atomicAdd(&stats->num_products, num_products);
    }
    __syncthreads();
    if (threadIdx.x < SPGEMM_NUM_BINS && bin_rows[threadIdx.x]) atomicAdd(&stats->bin_rows[threadIdx.x], bin_rows[threadIdx.x]);
  }
};

} // namespace
