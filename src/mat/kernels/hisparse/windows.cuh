#pragma once
/* Device functions that encoding, decoding and products of 16-bit columns share. */
#include "windowsimpl.h"

/* Where the column of nonzero k of a group-aligned range lies, for 2^shift columns a load. */
__device__ __forceinline__ int WindowsPlace(int k, int shift)
{
  const int group = 32 << shift, pair = (k & (group - 1)) >> 1;

  return (k & ~(group - 1)) + ((((pair & 31) << (shift - 1)) + (pair >> 5)) << 1) + (k & 1);
}
