/* Bits of keys. */
#include <petscsparsecuda/common.h>

/* DCSRKeyBits - Bits that numbers below n need. */
int DCSRKeyBits(PetscInt n)
{
  return n > 1 ? 64 - __builtin_clzll((unsigned long long)n - 1) : 0; // asked for at every insertion
}
