#pragma once
/*
  Scans of device arrays, by CUB, which is compiled for them once: its headers take longer than most of our files.
*/
#include <petscsparsecuda/sys.h>

/*
  DCSRExclusiveSum - sums[i] = sums[0] + ... + sums[i - 1], in place
  DCSRInclusiveMax - values[i] = max(values[0], ..., values[i]), in place
  The arrays are [n], device. Sums are modulo 2^32 for 32-bit numbers, so that they may be unsigned. Asynchronous. The string says what the workspace is for, in the message of PETSC_ERR_MEM; nothing
  stays allocated then.
*/
PETSC_INTERN PetscErrorCode DCSRExclusiveSum32(const char[], int32_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRExclusiveSum64(const char[], int64_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRInclusiveMax32(const char[], int32_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRInclusiveMax64(const char[], int64_t[], PetscCount, cudaStream_t);

/*
  DCSRInclusiveMaxBytes - bytes of workspace for DCSRInclusiveMaxIn(), at least 1
  DCSRInclusiveMaxIn    - DCSRInclusiveMax() that allocates nothing: values [n] and workspace are on the device. Asynchronous
*/
PETSC_INTERN PetscErrorCode DCSRInclusiveMaxBytes32(PetscCount, size_t *);
PETSC_INTERN PetscErrorCode DCSRInclusiveMaxBytes64(PetscCount, size_t *);
PETSC_INTERN PetscErrorCode DCSRInclusiveMaxIn32(void *, size_t, int32_t[], PetscCount, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRInclusiveMaxIn64(void *, size_t, int64_t[], PetscCount, cudaStream_t);

/*
  DCSRExclusiveSumTo    - sums[i] = counts[0] + ... + counts[i - 1] for i < n
  DCSROffsetsFromSizes  - offsets[i] = sizes[0] + ... + sizes[i - 1] for i <= n
  All on the device: counts, sizes and sums [n]; offsets [n + 1], the last is the sum of all. Asynchronous. The string says what the workspace is for, in the message of PETSC_ERR_MEM; nothing stays
  allocated then.
*/
PETSC_INTERN PetscErrorCode DCSRExclusiveSumTo32(const char[], const int32_t[], PetscCount, int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRExclusiveSumTo64(const char[], const int32_t[], PetscCount, int64_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSROffsetsFromSizes32(const char[], const int32_t[], PetscCount, int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSROffsetsFromSizes64(const char[], const int32_t[], PetscCount, int64_t[], cudaStream_t);

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

template <typename T>
inline PetscErrorCode DCSRInclusiveMaxBytes(PetscCount n, size_t *bytes)
{
  static_assert((T)-1 < (T)0 && (sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t)), "32 or 64 bits with sign");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSRInclusiveMaxBytes32(n, bytes));
  else PetscCall(DCSRInclusiveMaxBytes64(n, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
inline PetscErrorCode DCSRInclusiveMaxIn(void *work, size_t bytes, T values[], PetscCount n, cudaStream_t stream)
{
  static_assert((T)-1 < (T)0 && (sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t)), "32 or 64 bits with sign");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSRInclusiveMaxIn32(work, bytes, (int32_t *)values, n, stream));
  else PetscCall(DCSRInclusiveMaxIn64(work, bytes, (int64_t *)values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
inline PetscErrorCode DCSRExclusiveSumTo(const char what[], const int32_t counts[], PetscCount n, T sums[], cudaStream_t stream)
{
  static_assert(sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t), "32 or 64 bits");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSRExclusiveSumTo32(what, counts, n, (int32_t *)sums, stream));
  else PetscCall(DCSRExclusiveSumTo64(what, counts, n, (int64_t *)sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
inline PetscErrorCode DCSROffsetsFromSizes(const char what[], const int32_t sizes[], PetscCount n, T offsets[], cudaStream_t stream)
{
  static_assert(sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t), "32 or 64 bits");
  PetscFunctionBegin;
  if constexpr (sizeof(T) == sizeof(int32_t)) PetscCall(DCSROffsetsFromSizes32(what, sizes, n, (int32_t *)offsets, stream));
  else PetscCall(DCSROffsetsFromSizes64(what, sizes, n, (int64_t *)offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
