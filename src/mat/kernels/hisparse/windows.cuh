#pragma once
/* Device functions that encoding, decoding and products of 16-bit columns share. */
#include "windowsimpl.h"

/* Where the column of nonzero k of a group-aligned range lies, for 2^shift columns a load. */
__device__ __forceinline__ int WindowsPlace(int k, int shift)
{
  const int group = 32 << shift, pair = (k & (group - 1)) >> 1;

  return (k & ~(group - 1)) + ((((pair & 31) << (shift - 1)) + (pair >> 5)) << 1) + (k & 1);
}

#define WINDOWS_THREADS 256 /* that find the windows of a block */
#define WINDOWS_ITEMS   (WINDOWS_BLOCK / WINDOWS_THREADS)
#define WINDOWS_WARPS   (WINDOWS_THREADS / 32)
#define WINDOWS_NONE    0xffffffffu /* no column */

/* The columns of a block, item i of a thread is nonzero i * WINDOWS_THREADS + threadIdx.x; WINDOWS_NONE from count on. */
__device__ __forceinline__ void WindowsLoadBlock(const int32_t *columns, PetscCount count, unsigned int column[WINDOWS_ITEMS])
{
#pragma unroll
  for (int i = 0; i < WINDOWS_ITEMS; i++) {
    const int k = i * WINDOWS_THREADS + (int)threadIdx.x;

    column[i] = k < count ? (unsigned int)columns[k] : WINDOWS_NONE;
  }
}

/* The smallest of the columns of all threads from limit on; minima has two times one number a warp, used in turn, so that one barrier a call is enough. */
__device__ __forceinline__ unsigned int WindowsNextColumn(const unsigned int column[WINDOWS_ITEMS], unsigned int limit, unsigned int minima[WINDOWS_WARPS])
{
  unsigned int next = WINDOWS_NONE;

#pragma unroll
  for (int i = 0; i < WINDOWS_ITEMS; i++)
    if (column[i] >= limit && column[i] < next) next = column[i];
  next = __reduce_min_sync(0xffffffffu, next);
  if (threadIdx.x % 32 == 0) minima[threadIdx.x / 32] = next;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < WINDOWS_WARPS; w++) next = minima[w] < next ? minima[w] : next;
  return next;
}

/*
  The windows of a block: each begins at the smallest column that none before it covers. Returns whether WINDOWS_COUNT of them are enough. code is the number of the window and the place in it, mine the first column
  of window number threadIdx.x; 0 where there is none.
*/
__device__ __forceinline__ bool WindowsFind(const unsigned int column[WINDOWS_ITEMS], unsigned int code[WINDOWS_ITEMS], int32_t *mine, unsigned int minima[2][WINDOWS_WARPS])
{
  unsigned int limit = 0;

  *mine = 0;
#pragma unroll
  for (int i = 0; i < WINDOWS_ITEMS; i++) code[i] = 0;
  for (int window = 0;; window++) {
    const unsigned int first = WindowsNextColumn(column, limit, minima[window % 2]);

    if (first == WINDOWS_NONE) return true;
    if (window == WINDOWS_COUNT) return false;
    limit = first + WINDOWS_WIDTH;
    if ((int)threadIdx.x == window) *mine = (int32_t)first;
#pragma unroll
    for (int i = 0; i < WINDOWS_ITEMS; i++)
      if (column[i] >= first && column[i] < limit) code[i] = (unsigned int)window << WINDOWS_BITS | (column[i] - first);
  }
}
