#pragma once
/*
  Scans of device arrays in place, by CUB, which is compiled for them once.
*/
#include <petscsparsecuda/sys.h>

/*
  DCSRExclusiveSum - sums[i] = sums[0] + ... + sums[i - 1], in place
  DCSRInclusiveMax - values[i] = max(values[0], ..., values[i]), in place

  Input Parameters:
+ what   - what the workspace is for, for the out-of-memory message
. n      - how many
- stream - asynchronous on it

  Input/Output Parameter:
. sums   - [n] device; modulo 2^32 for 32-bit numbers, so that they may be unsigned

  Errors: PETSC_ERR_MEM when the workspace cannot be had; nothing stays allocated.
*/
PETSC_INTERN PetscErrorCode DCSRExclusiveSum32(const char[], int32_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRExclusiveSum64(const char[], int64_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRInclusiveMax32(const char[], int32_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRInclusiveMax64(const char[], int64_t[], PetscCount, cudaStream_t);

#if defined(__cplusplus)
/* By the width of the numbers. */
template <typename T>
inline PetscErrorCode DCSRExclusiveSum(const char what[], T sums[], PetscCount n, cudaStream_t stream)
{
  static_assert(sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t), "32 or 64 bits");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSRExclusiveSum32(what, (int32_t *)sums, n, stream));
  else PetscCall(DCSRExclusiveSum64(what, (int64_t *)sums, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
inline PetscErrorCode DCSRInclusiveMax(const char what[], T values[], PetscCount n, cudaStream_t stream)
{
  static_assert((T)-1 < (T)0 && (sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t)), "32 or 64 bits with sign");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSRInclusiveMax32(what, (int32_t *)values, n, stream));
  else PetscCall(DCSRInclusiveMax64(what, (int64_t *)values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
