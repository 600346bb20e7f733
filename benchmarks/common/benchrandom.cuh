#pragma once
/* Random numbers of the benchmarks: the i-th of a seed, without state. */
#include <cstdint>

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014): the i-th random number of a seed. */
__device__ __forceinline__ unsigned long long BenchHash(unsigned long long i, unsigned long long seed)
{
  unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

__device__ __forceinline__ double BenchUniform(unsigned long long i, unsigned long long seed)
{
  return (double)(BenchHash(i, seed) >> 11) * 0x1p-53;
}

/* R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with the usual probabilities 0.57, 0.19, 0.19, 0.05. */
__device__ __forceinline__ void BenchRMAT(unsigned long long e, int levels, int32_t *row, int32_t *column)
{
  *row = *column = 0;
  for (int l = 0; l < levels; l++) {
    const double u = BenchUniform(e, 17 + l);

    *row    = 2 * *row + (u >= 0.76);
    *column = 2 * *column + ((u >= 0.57 && u < 0.76) || u >= 0.95);
  }
}
