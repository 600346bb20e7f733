#pragma once
/*
  The tile form of y += A^T x. A tile is a fixed number of consecutive nonzeros. When the plan is made, the nonzeros of a tile are brought into the order of columns on chip (tilebuild.cuh). The plan
  keeps where each nonzero goes (2 bytes that replace its column index) and the tile's distinct columns with their first position (6 bytes each). MultTranspose then reads values and positions in
  order, puts the terms in column order into shared memory, sums each run, and adds it to y with one atomic per distinct column of the tile. Neighboring lanes have neighboring columns.

  The idea that equal columns of a thread block must be combined before they meet in memory is of Steinberger, Zayer, Seidel: Globally homogeneous, locally adaptive sparse matrix-vector
  multiplication on the GPU (ICS 2017), section 3.4. They sort at each call. Finding the order when the plan is made, and keeping the order instead of the column indices, is ours.
*/
#include "device.cuh"

namespace
{

struct TileLists {
  const SpMVTransposeTile *tiles;     // [num_tiles]
  const uint16_t          *positions; // [num_nonzeros] position in the tile's column order
  const int32_t           *columns;   // [list size] distinct columns, ascending in a tile but for those that building has left by themselves
  const uint16_t          *begins;    // [list size] first position of the column; it ends where the next begins
};

/* One line of 128 bytes a thread into L2. */
template <typename T>
__device__ inline void PrefetchList(const T *p, int n)
{
  const int stride = 128 / (int)sizeof(T);

  for (int i = threadIdx.x * stride; i < n; i += blockDim.x * stride) asm volatile("prefetch.global.L2 [%0];" ::"l"(p + i));
}

/* An entry of a tile's list: terms begin ... end - 1 are of column; -1 and none past the list. */
struct TileColumn {
  int column, begin, end;
};

__device__ inline TileColumn LoadTileColumn(const int32_t *columns, const uint16_t *begins, int list_size, int count, int j)
{
  if (j >= list_size) return {-1, 0, 0};
  return {__ldcs(columns + j), __ldcs(begins + j), j + 1 < list_size ? __ldcs(begins + j + 1) : count};
}

/*
  Sums each group of neighbors with equal columns to its first lane, where column stays. A column that building has left by itself may come again after others in the same warp: that is another group,
  and the atomics of both add up.
*/
__device__ inline void CombineHeavy(int &column, PetscScalar &sum)
{
  const int      lane = threadIdx.x & 31, before = __shfl_up_sync(0xffffffffu, column, 1);
  const uint32_t firsts = __ballot_sync(0xffffffffu, lane == 0 || before != column); // lanes that begin a group
  const int      next = __ffs((int)(firsts & 0xfffffffeu << lane)), end = next ? next - 1 : 32;

#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const PetscScalar other = ShuffleDown(sum, delta);

    if (lane + delta < end) sum += other;
  }
  if (!(firsts >> lane & 1u)) column = -1;
}

/* Puts the terms of a full tile into column order; meanwhile() runs while the first values are on their way. */
template <int Nonzeros, int Threads, int MinBlocks, int Width, bool Conjugate, bool EmptyRows, typename Meanwhile>
__device__ inline void MultiplyTile(const PetscScalar *__restrict__ values, const uint16_t *__restrict__ positions, const SpMVTransposeMark *__restrict__ marks,
                                    const int32_t *__restrict__ nonempty_rows, const PetscScalar *__restrict__ x, PetscScalar *terms, Meanwhile meanwhile)
{
  // loads in flight a thread, as its registers allow
  constexpr int loads = Nonzeros / Threads / Width;
  constexpr int limit = (Width == 1 ? (EmptyRows ? 4 : 8) : (Threads * MinBlocks < 2048 ? 4 : 2)) / (sizeof(PetscScalar) > 8 ? 2 : 1);
  constexpr int batch = loads < limit ? loads : limit;

#pragma unroll 1
  for (int k0 = threadIdx.x * Width; k0 < Nonzeros; k0 += batch * Threads * Width) {
    PetscScalar value[batch][Width];
    uint32_t    position[batch]; // Width of them, 16 bits each
    int32_t     row[batch][Width];

#pragma unroll
    for (int b = 0; b < batch; b++) {
      const int               k    = k0 + b * Threads * Width;
      const SpMVTransposeMark mark = LoadMark(marks, k);

      LoadStreaming<Width>(values + k, value[b]);
      if constexpr (Width == 2) position[b] = __ldcs((const uint32_t *)(positions + k));
      else position[b] = __ldcs(positions + k);
#pragma unroll
      for (int w = 0; w < Width; w++) row[b][w] = RowOfNonzero<EmptyRows>(mark, k + w, nonempty_rows);
    }
    if (k0 < batch * Threads * Width) meanwhile();
#pragma unroll
    for (int b = 0; b < batch; b++) {
#pragma unroll
      for (int w = 0; w < Width; w++) terms[position[b] >> (16 * w) & 0xffffu] = Times<Conjugate>(value[b][w], x[row[b][w]]);
    }
  }
}

/*
  Ahead: the lists are brought into L2 while the terms are made, and the first entries are loaded before the thread block meets.
*/
template <int Nonzeros, int Threads, int MinBlocks, int Width, bool Ahead, bool Conjugate>
__global__ static void __launch_bounds__(Threads, MinBlocks) TileKernel(PetscCount num_nonzeros, const PetscScalar *__restrict__ values, const SpMVTransposeMark *__restrict__ marks,
                                                                        const int32_t *__restrict__ nonempty_rows, TileLists lists, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  extern __shared__ __align__(16) char storage[];
  PetscScalar *const                   terms     = (PetscScalar *)storage;
  const SpMVTransposeTile              tile      = lists.tiles[blockIdx.x];
  const PetscCount                     first     = (PetscCount)blockIdx.x * Nonzeros;
  const int                            count     = (int)(num_nonzeros - first < Nonzeros ? num_nonzeros - first : Nonzeros);
  const uint16_t *const                positions = lists.positions + first;
  const int32_t *const                 columns   = lists.columns + tile.list_begin;
  const uint16_t *const                begins    = lists.begins + tile.list_begin;
  TileColumn                           next;
  const auto                           prefetch = [&]() {
    if constexpr (Ahead) {
      PrefetchList(columns, tile.list_size);
      PrefetchList(begins, tile.list_size);
    }
  };

  values += first;
  marks += first / 32;
  if (count < Nonzeros)
    for (int k = threadIdx.x; k < count; k += Threads) terms[positions[k]] = Times<Conjugate>(values[k], x[RowOfNonzero(LoadMark(marks, k), k, nonempty_rows)]);
  else if (nonempty_rows) MultiplyTile<Nonzeros, Threads, MinBlocks, Width, Conjugate, true>(values, positions, marks, nonempty_rows, x, terms, prefetch);
  else MultiplyTile<Nonzeros, Threads, MinBlocks, Width, Conjugate, false>(values, positions, marks, nonempty_rows, x, terms, prefetch);
  if constexpr (Ahead) next = LoadTileColumn(columns, begins, tile.list_size, count, threadIdx.x);
  __syncthreads();
  WaitForPreviousKernel();

  // sums of equal columns; all lanes of a warp go round together because heavy columns shuffle
  for (int j0 = threadIdx.x & ~31; j0 < tile.list_size; j0 += Threads) {
    const int   j       = j0 + (threadIdx.x & 31);
    TileColumn  current = Ahead ? next : LoadTileColumn(columns, begins, tile.list_size, count, j);
    PetscScalar sum     = 0;

    if constexpr (Ahead) next = LoadTileColumn(columns, begins, tile.list_size, count, j + Threads);
    for (int p = current.begin; p < current.end; p++) sum += terms[p];
    if (tile.has_heavy) CombineHeavy(current.column, sum);
    if (current.column >= 0) AddAtomically(y + current.column, sum);
  }
}

} // namespace
