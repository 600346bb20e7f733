/* Bits of keys. */
#include <petscsparsecuda/common.h>

/* DCSRKeyBits - Bits that numbers below n need. */
int DCSRKeyBits(PetscInt n)
{
  int bits = 0;

  while (bits < 63 && ((uint64_t)1 << bits) < (uint64_t)n) bits++;
  return bits;
}
