#pragma once
/* Numbers that look random, made of others. */
#include <petscsparsecuda/pattern.h>

namespace
{

/* Two sums of such numbers, modulo 2^64. */
struct Hash {
  uint64_t word[DCSR_PATTERN_WORDS];
};

struct AddHash {
  __host__ __device__ Hash operator()(const Hash &a, const Hash &b) const { return Hash{{a.word[0] + b.word[0], a.word[1] + b.word[1]}}; }
};

/* Bijections of 64-bit numbers in which a bit of the argument changes half of the bits of the result: the last steps of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) and of MurmurHash3 (Appleby). */
__host__ __device__ inline uint64_t MixFirst(uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__host__ __device__ inline uint64_t MixSecond(uint64_t x)
{
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

} // namespace
