/* Bits of keys. */
#include <petscsparsecuda/common.h>

/* DCSRKeyBits - Bits that numbers below n need. */
int DCSRKeyBits(PetscInt n)
{
  uint64_t largest = n > 0 ? (uint64_t)n - 1 : 0;
  int      bits    = 0;

  for (int step = 32; step > 0; step /= 2) {
    if (largest >> step == 0) continue;
    largest >>= step;
    bits += step;
  }
  return bits + (int)largest;
}
