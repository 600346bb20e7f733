#pragma once
/*
  Entries that stay, of a long array, get their positions in two passes over tiles: the first one counts them in each tile, the second one counts bits inside of a tile. The thread block that ends
  last in the first pass adds the counts up, so that there is no launch between the two.
*/
#include <petscsparsecuda/common.h>

namespace
{

/* Counts the bits before each word of a tile; for the first warp. */
template <int WORDS>
__device__ __forceinline__ void CountBeforeWords(const unsigned int bits[], int before[])
{
  constexpr int PER_LANE = WORDS / 32;
  const int     word     = (int)threadIdx.x * PER_LANE;
  int           counts[PER_LANE], sum = 0, up_to;

  static_assert(WORDS % 32 == 0, "as many words for each lane");
#pragma unroll
  for (int k = 0; k < PER_LANE; k++) {
    counts[k] = sum;
    sum += __popc(bits[word + k]);
  }
  up_to = sum;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, up_to, distance);

    if ((int)threadIdx.x >= distance) up_to += other;
  }
#pragma unroll
  for (int k = 0; k < PER_LANE; k++) before[word + k] = up_to - sum + counts[k];
}

/* The sum over the threads with smaller numbers, all threads of the block. */
template <int THREADS>
__device__ __forceinline__ PetscCount SumOfThreadsBefore(PetscCount value)
{
  __shared__ PetscCount warps[THREADS / 32];
  const int             lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  PetscCount            sum = value;

  for (int distance = 1; distance < 32; distance *= 2) {
    const PetscCount other = __shfl_up_sync(0xffffffffu, sum, distance);

    if (lane >= distance) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  sum -= value;
  for (int w = 0; w < warp; w++) sum += warps[w];
  return sum;
}

/*
  The counts of all tiles become what the tiles before have, and *total what all have. All threads of every thread block call it once, when their counts are written. *num_done is zero before
  the launch. True in one thread, which has written *total.
*/
template <int THREADS>
__device__ __forceinline__ bool SumCountsOfTiles(PetscCount counts[], PetscCount num_tiles, PetscCount *total, unsigned int *num_done)
{
  constexpr int    LOADS = 8;
  __shared__ bool  is_last;
  const PetscCount share = (num_tiles + THREADS - 1) / THREADS, first = threadIdx.x * share, begin = first < num_tiles ? first : num_tiles, end = num_tiles - begin < share ? num_tiles : begin + share;
  PetscCount       sum = 0;

  __threadfence(); // the counts are there before it is said
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(num_done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  // other multiprocessors have written them: past the first cache
  for (PetscCount k = begin; k < end; k++) sum += (PetscCount)__ldcg((const long long *)counts + k);
  sum = SumOfThreadsBefore<THREADS>(sum);
  for (PetscCount first_of_loads = begin; first_of_loads < end; first_of_loads += LOADS) { // loads do not overtake stores: several before each
    PetscCount count[LOADS];

#pragma unroll
    for (int j = 0; j < LOADS; j++) count[j] = (PetscCount)__ldcg((const long long *)counts + (first_of_loads + j < end ? first_of_loads + j : end - 1));
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
      if (first_of_loads + j >= end) break;
      counts[first_of_loads + j] = sum;
      sum += count[j];
    }
  }
  if (threadIdx.x == THREADS - 1) *total = sum;
  return threadIdx.x == THREADS - 1;
}

} // namespace
