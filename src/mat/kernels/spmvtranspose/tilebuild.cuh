#pragma once
/*
  How the order of a tile is made, once a structure: where each nonzero goes in the order of columns, and the list of distinct columns. Nothing is sorted. A window of columns is a field of bits in
  shared memory. Each nonzero sets that of its column. A prefix sum over the words numbers the distinct columns, an atomic counts the nonzeros of each of them and gives every one its position among
  these, and a second prefix sum over the counts is where columns begin. A tile of neighboring rows has one window in nearly all matrices. Windows start with the smallest column that is left, but the
  second one is about the median of these, so that a band among scattered nonzeros is in it: without that, the band of band4 was left over in a third of the tiles, and its product took 158 instead of
  137 us.

  All is one pass over the columns: a tile takes its place in the lists from a counter.
*/
#include "device.cuh"
#include <cub/block/block_scan.cuh>

namespace
{

constexpr int TILE_BUILD_ITEMS   = 16; // nonzeros of a thread
constexpr int TILE_BUILD_WINDOWS = 8;  // then each nonzero that is left is in the list by itself, in no order: atomics combine equal columns

/* What is known of rows; the larger one holds. */
enum SpMVTransposeRows {
  SPMVT_ROWS_FULL  = 0, // none is empty
  SPMVT_ROWS_EMPTY = 1, // some are
  SPMVT_ROWS_FAR   = 2  // so many are that marks are made another way (planmarks.cuh)
};

/* What building finds out, in device memory that is 0 before. */
struct SpMVTransposeFound {
  unsigned long long list_size;   // of all tiles
  unsigned int       heavy_tiles; // with a column of more than SPMVT_MAX_RUN nonzeros
  unsigned int       rows;        // SpMVTransposeRows
};

/* Where the lists go. */
struct TileListOutput {
  int32_t   *columns; // [capacity]
  uint16_t  *begins;  // [capacity]
  PetscCount capacity;
};

template <int Nonzeros>
struct TileBuild {
  static constexpr int      threads = Nonzeros / TILE_BUILD_ITEMS;
  static constexpr int      words   = Nonzeros; // of 32 columns each: as many as there are counts, so that threads have equal parts of both
  static constexpr uint32_t none    = 0xffffffffu;

  using Scan = cub::BlockScan<uint32_t, threads>;

  struct Storage {
    typename Scan::TempStorage scan;
    uint32_t                   smallest;   // column that is left
    uint32_t                   median;     // about the median of the columns that are left, or 0 when one window has nearly all
    uint32_t                   num_single; // nonzeros in the list by themselves
    unsigned long long         list_begin;
    uint32_t                   bits[words + words / 32];
    uint32_t                   counts[Nonzeros + Nonzeros / 32]; // nonzeros of a distinct column; then its first position and, in the upper half, its first place in the list
    uint16_t                   bases[words + words / 32];        // distinct columns before a word
  };

  /* Place of an entry of an array: a thread's 16 are neighbors, and all threads of a warp read from different banks. */
  static __device__ __forceinline__ int At(int i) { return i + i / 32; }

  static __device__ __forceinline__ void Clear(uint32_t *array)
  {
    for (int i = threadIdx.x; i < Nonzeros + Nonzeros / 32; i += threads) array[i] = 0;
  }

  /* The smallest column that is left, none when there is none; all threads meet, and the bits are 0. */
  static __device__ uint32_t StartWindow(Storage &storage, const uint32_t *columns, uint32_t left)
  {
    uint32_t smallest = none;

    Clear(storage.bits);
    if (threadIdx.x == 0) storage.smallest = none;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE_BUILD_ITEMS; i++)
      if (left >> i & 1u && columns[i] < smallest) smallest = columns[i];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
      const uint32_t other = __shfl_xor_sync(0xffffffffu, smallest, d);

      if (other < smallest) smallest = other;
    }
    if (threadIdx.x % 32 == 0 && smallest != none) atomicMin(&storage.smallest, smallest);
    __syncthreads();
    return storage.smallest;
  }

  /*
    Where the second window starts: smallest is that of the columns that are left. When one window from there on does not have nearly all of them, it is put about their median. The first warp looks at
    two nonzeros of each sixteenth of the tile. All threads meet.
  */
  static __device__ uint32_t SecondWindow(Storage &storage, const uint32_t *columns, uint32_t left, uint32_t smallest)
  {
    const int      lane = threadIdx.x % 32;
    const uint32_t half = 16u * words;

    if (threadIdx.x < 32) {
      uint32_t mine = none, most = 0;
      int      rank = 0, valid;

#pragma unroll
      for (int i = 0; i < TILE_BUILD_ITEMS; i++)
        if (lane % TILE_BUILD_ITEMS == i && left >> i & 1u) mine = columns[i];
      valid = __popc(__ballot_sync(0xffffffffu, mine != none));
      for (int l = 0; l < 32; l++) {
        const uint32_t other = __shfl_sync(0xffffffffu, mine, l);

        rank += other < mine || (other == mine && l < lane);
        if (other > most && other != none) most = other;
      }
      if (valid == 0 || most - smallest < 2 * half) {
        if (lane == 0) storage.median = 0;
      } else if (rank == valid / 2) storage.median = mine;
    }
    __syncthreads();
    return storage.median > half && storage.median - half > smallest ? storage.median - half : smallest;
  }

  /* Numbers the columns of the window that starts at base, from distinct on, which grows. Nonzeros in it leave left and get number and rank: rank * 65536 + number. */
  static __device__ void NumberWindow(Storage &storage, const uint32_t *columns, uint32_t base, uint32_t &left, uint32_t *ranks, uint32_t &distinct)
  {
    const int first = threadIdx.x * TILE_BUILD_ITEMS;
    uint32_t  sum   = 0, before, total;

#pragma unroll
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const uint32_t c = columns[i] - base;

      if (left >> i & 1u && c < 32u * words) atomicOr(&storage.bits[At(c / 32)], 1u << c % 32);
    }
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) sum += __popc(storage.bits[At(first + i)]);
    Scan(storage.scan).ExclusiveSum(sum, before, total);
    before += distinct;
#pragma unroll 4
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      storage.bases[At(first + i)] = (uint16_t)before;
      before += __popc(storage.bits[At(first + i)]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const uint32_t c = columns[i] - base;

      if (left >> i & 1u && c < 32u * words) {
        const uint32_t number = storage.bases[At(c / 32)] + __popc(storage.bits[At(c / 32)] & ((1u << c % 32) - 1u));

        ranks[i] = atomicAdd(&storage.counts[At(number)], 1u) << 16 | number;
        left &= ~(1u << i);
      }
    }
    distinct += total;
    __syncthreads();
  }

  /* The nonzeros that are left, each as a column of its own. */
  static __device__ void NumberSingles(Storage &storage, uint32_t left, uint32_t *ranks, uint32_t distinct)
  {
#pragma unroll
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      if (left >> i & 1u) {
        const uint32_t number = distinct + atomicAdd(&storage.num_single, 1u);

        storage.counts[At(number)] = 1;
        ranks[i]                   = number;
      }
    }
    __syncthreads();
  }

  /* Counts become first positions and positions in the list. Returns its size; heavy: this thread has seen a column that is in it several times. */
  static __device__ uint32_t PlaceColumns(Storage &storage, bool &heavy)
  {
    const int first = threadIdx.x * TILE_BUILD_ITEMS;
    uint32_t  sum   = 0, before, total;

    heavy = false;
#pragma unroll 4
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const uint32_t count = storage.counts[At(first + i)];

      sum += count + ((count + SPMVT_MAX_RUN - 1) / SPMVT_MAX_RUN << 16);
      heavy = heavy || count > SPMVT_MAX_RUN;
    }
    Scan(storage.scan).ExclusiveSum(sum, before, total);
#pragma unroll 4
    for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
      const uint32_t count = storage.counts[At(first + i)];

      storage.counts[At(first + i)] = before;
      before += count + ((count + SPMVT_MAX_RUN - 1) / SPMVT_MAX_RUN << 16);
    }
    return total >> 16;
  }
};

/*
  Builds tile blockIdx.x * stride: tiles, positions and lists. tiles == NULL: only counts, for a sample. A list that finds no room is counted and not written.
*/
template <int Nonzeros>
__global__ static void __launch_bounds__(TileBuild<Nonzeros>::threads, 16384 / Nonzeros)
  TileBuildKernel(PetscCount num_nonzeros, const int32_t *__restrict__ all_columns, PetscCount stride, SpMVTransposeTile *tiles, uint16_t *positions, TileListOutput list, SpMVTransposeFound *found)
{
  using Build = TileBuild<Nonzeros>;
  extern __shared__ __align__(16) char shared[];
  typename Build::Storage             &storage = *(typename Build::Storage *)shared;
  const PetscCount                     first   = (PetscCount)blockIdx.x * stride * Nonzeros;
  const int                            count   = (int)(num_nonzeros - first < Nonzeros ? num_nonzeros - first : Nonzeros);
  uint32_t                             columns[TILE_BUILD_ITEMS], ranks[TILE_BUILD_ITEMS], left = 0, valid, distinct = 0, base, size;
  bool                                 heavy;

#pragma unroll
  for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
    const int k = i * Build::threads + (int)threadIdx.x;

    columns[i] = Build::none;
    ranks[i]   = 0;
    if (k < count) {
      columns[i] = (uint32_t)__ldcs(all_columns + first + k);
      left |= 1u << i;
    }
  }
  valid = left;
  Build::Clear(storage.counts);
  if (threadIdx.x == 0) storage.num_single = 0;
  base = Build::StartWindow(storage, columns, left);
  for (int window = 0; window < TILE_BUILD_WINDOWS && base != Build::none; window++) {
    Build::NumberWindow(storage, columns, base, left, ranks, distinct);
    base = Build::StartWindow(storage, columns, left);
    if (window == 0 && base != Build::none) base = Build::SecondWindow(storage, columns, left, base);
  }
  if (base != Build::none) Build::NumberSingles(storage, left, ranks, distinct);
  size  = Build::PlaceColumns(storage, heavy);
  heavy = __syncthreads_or(heavy);
  if (threadIdx.x == 0) {
    storage.list_begin = atomicAdd(&found->list_size, (unsigned long long)size);
    if (heavy) atomicAdd(&found->heavy_tiles, 1u);
    if (tiles) tiles[blockIdx.x] = {(int64_t)storage.list_begin, (int32_t)size, heavy};
  }
  __syncthreads();
  if (tiles == NULL) return;
  const PetscCount list_begin = (PetscCount)storage.list_begin;
  const bool       fits       = list_begin + (PetscCount)size <= list.capacity;
#pragma unroll
  for (int i = 0; i < TILE_BUILD_ITEMS; i++) {
    if (valid >> i & 1u) {
      const uint32_t rank = ranks[i] >> 16, begin = storage.counts[Build::At(ranks[i] & 0xffffu)], position = (begin & 0xffffu) + rank;

      positions[first + i * Build::threads + (int)threadIdx.x] = (uint16_t)position;
      if (fits && rank % SPMVT_MAX_RUN == 0) {
        const PetscCount at = list_begin + (begin >> 16) + rank / SPMVT_MAX_RUN;

        list.columns[at] = (int32_t)columns[i];
        list.begins[at]  = (uint16_t)position;
      }
    }
  }
}

} // namespace
