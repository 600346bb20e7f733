#pragma once
/*
  Tiles of y += A^T x of a matrix that consists of full blocks (blocklist.h): tiles, marks and lists are those of its list of blocks. A lane has a column of a block, and sums the terms of its rows in a
  register, so that br bc values come with 2 bytes of position and a bit of mark, and one term in br goes to shared memory.
*/
#include "tile.cuh"

namespace
{

constexpr int TILE_BLOCKS = 2048; // of a tile; one of TILE_INSTANCES builds those of so many entries

typedef void (*TileBlocksFn)(PetscCount, const int32_t *, const PetscScalar *, const SpMVTransposeMark *, const int32_t *, TileLists, const PetscScalar *, PetscScalar *);

struct TileBlocksInstance {
  int          rows, columns, threads; // of a block; of a thread block
  TileBlocksFn apply[2];               // transpose, Hermitian transpose
};

/* Rows and columns of blocks. The terms of large ones leave room for few thread blocks on a multiprocessor. */
#define SPMVT_BLOCK_SIZES(X) X(2, 2) X(2, 3) X(3, 2) X(3, 3) X(3, 6) X(6, 3) X(4, 4) X(5, 5) X(6, 6)

template <int BC>
constexpr int TileBlocksThreads = BC <= 3 ? 256 : 512;

/* The terms of a tile, in the order of columns: term k of column c of a block is at k BC + c. Behind the last one it is made again: no load waits behind a branch. */
template <int BR, int BC, bool Conjugate>
__device__ inline void MultiplyBlocks(PetscCount first, int count, const int32_t *__restrict__ offsets, const PetscScalar *__restrict__ values, const SpMVTransposeMark *__restrict__ marks,
                                      const int32_t *__restrict__ nonempty_rows, const uint16_t *__restrict__ positions, const PetscScalar *__restrict__ x, PetscScalar *terms)
{
  constexpr int threads = TileBlocksThreads<BC>, batch = BR <= 3 ? 4 : 2;
  const int     all = count * BC;

#pragma unroll 1
  for (int t0 = threadIdx.x; t0 < all; t0 += batch * threads) {
    SpMVTransposeMark mark[batch];
    PetscScalar       value[batch][BR];
    int32_t           row[batch], begin[batch], end[batch];
    int               block[batch], at[batch]; // in the tile, and where the term goes

    // all loads of a kind before what waits for them
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const int t = min(t0 + b * threads, all - 1);

      block[b] = t / BC;
      mark[b]  = LoadMark(marks, first + block[b]);
      at[b]    = positions[block[b]] * BC + t % BC;
    }
#pragma unroll
    for (int b = 0; b < batch; b++) row[b] = RowOfNonzero(mark[b], first + block[b], nonempty_rows);
#pragma unroll
    for (int b = 0; b < batch; b++) {
      begin[b] = __ldg(offsets + row[b]);
      end[b]   = __ldg(offsets + row[b] + 1);
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const PetscScalar *from = values + (PetscCount)begin[b] * (BR * BC) + (first + block[b] - begin[b]) * BC + at[b] % BC;

#pragma unroll
      for (int r = 0; r < BR; r++) value[b][r] = LoadStreaming(from + r * (PetscCount)(end[b] - begin[b]) * BC);
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      PetscScalar sum = 0;

#pragma unroll
      for (int r = 0; r < BR; r++) sum += Times<Conjugate>(value[b][r], x[(PetscCount)row[b] * BR + r]);
      terms[at[b]] = sum;
    }
  }
}

/* A thread block takes a tile, and a multiprocessor holds several, so that some load while others sum. A column with very many terms is in the list several times; atomics add these up. */
template <int BR, int BC, bool Conjugate>
__global__ static void __launch_bounds__(TileBlocksThreads<BC>, BC <= 3 ? 4 : 2)
  TileBlocksKernel(PetscCount num_blocks, const int32_t *__restrict__ offsets, const PetscScalar *__restrict__ values, const SpMVTransposeMark *__restrict__ marks,
                   const int32_t *__restrict__ nonempty_rows, TileLists lists, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  extern __shared__ __align__(16) char storage[];
  PetscScalar *const                   terms   = (PetscScalar *)storage;
  const SpMVTransposeTile              tile    = lists.tiles[blockIdx.x];
  const PetscCount                     first   = (PetscCount)blockIdx.x * TILE_BLOCKS;
  const int                            count   = (int)(num_blocks - first < TILE_BLOCKS ? num_blocks - first : TILE_BLOCKS);
  const int32_t *const                 columns = lists.columns + tile.list_begin;
  const uint16_t *const                begins  = lists.begins + tile.list_begin;

  MultiplyBlocks<BR, BC, Conjugate>(first, count, offsets, values, marks, nonempty_rows, lists.positions + first, x, terms);
  __syncthreads();
  WaitForPreviousKernel();
  for (int j = threadIdx.x; j < tile.list_size * BC; j += TileBlocksThreads<BC>) {
    const int        entry = j / BC, c = j - entry * BC;
    const TileColumn current = LoadTileColumn(columns, begins, tile.list_size, count, entry);
    PetscScalar      sum     = 0;

    for (int p = current.begin; p < current.end; p++) sum += terms[p * BC + c];
    AddAtomically(y + (PetscCount)current.column * BC + c, sum);
  }
}

size_t TileBlocksBytes(const TileBlocksInstance *instance)
{
  return (size_t)TILE_BLOCKS * (size_t)instance->columns * sizeof(PetscScalar);
}

/* The kernel for blocks of these sizes; NULL: there is none, or the device does not hold a thread block. */
const TileBlocksInstance *TileBlocksFind(const PetscSparseCUDATuning *tuning, PetscInt rows, PetscInt columns)
{
#define SPMVT_BLOCKS_INSTANCE(BR, BC) {BR, BC, TileBlocksThreads<BC>, {TileBlocksKernel<BR, BC, false>, TileBlocksKernel<BR, BC, bool(PetscDefined(USE_COMPLEX))>}},
  static const TileBlocksInstance all[] = {SPMVT_BLOCK_SIZES(SPMVT_BLOCKS_INSTANCE)};
#undef SPMVT_BLOCKS_INSTANCE

  for (const TileBlocksInstance &instance : all)
    if (instance.rows == rows && instance.columns == columns && PetscSparseCUDATuningHolds(tuning, instance.threads, TileBlocksBytes(&instance), 1)) return &instance;
  return NULL;
}

} // namespace
