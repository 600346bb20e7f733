/*
  Scans of device arrays: see scan.h.
*/
#include "scan.h"
#include "sum.cuh"
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

struct LargerOf {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const
  {
    return a < b ? b : a;
  }
};

struct Widened {
  __host__ __device__ int64_t operator()(int32_t count) const { return (int64_t)count; }
};

/* Nothing comes behind the last size. */
template <typename T>
struct SizeOrNone {
  const int32_t        *sizes;
  PetscCount            n;
  __host__ __device__ T operator()(PetscCount k) const { return k < n ? (T)sizes[k] : 0; }
};

template <typename T>
PetscErrorCode SumSizes(const char what[], const int32_t sizes[], PetscCount n, T offsets[], cudaStream_t stream)
{
  const auto all = thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), SizeOrNone<T>{sizes, n});

  PetscFunctionBegin;
  PetscCall(DCSRSum(what, all, n + 1, offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without work: how many bytes it takes. */
template <typename T>
PetscErrorCode MaxIn(void *work, size_t *bytes, T values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRCheckItems("the largest of numbers", n));
  PetscCallCUDA(cub::DeviceScan::InclusiveScan(work, *bytes, values, values, LargerOf(), (int64_t)n, stream));
  if (*bytes == 0) *bytes = 1; // a NULL pointer would mean the question again
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Max(const char what[], T values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::InclusiveScan(storage, bytes, values, values, LargerOf(), (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRExclusiveSum32(const char what[], int32_t sums[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSum(what, (const int32_t *)sums, n, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRExclusiveSum64(const char what[], int64_t sums[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSum(what, (const int64_t *)sums, n, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMax32(const char what[], int32_t values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Max(what, values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMax64(const char what[], int64_t values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Max(what, values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMaxBytes32(PetscCount n, size_t *bytes)
{
  PetscFunctionBegin;
  PetscCall(MaxIn(NULL, bytes, (int32_t *)NULL, n, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMaxBytes64(PetscCount n, size_t *bytes)
{
  PetscFunctionBegin;
  PetscCall(MaxIn(NULL, bytes, (int64_t *)NULL, n, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMaxIn32(void *work, size_t bytes, int32_t values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(MaxIn(work, &bytes, values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRInclusiveMaxIn64(void *work, size_t bytes, int64_t values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(MaxIn(work, &bytes, values, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRExclusiveSumTo32(const char what[], const int32_t counts[], PetscCount n, int32_t sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSum(what, counts, n, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRExclusiveSumTo64(const char what[], const int32_t counts[], PetscCount n, int64_t sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSum(what, thrust::make_transform_iterator(counts, Widened()), n, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSROffsetsFromSizes32(const char what[], const int32_t sizes[], PetscCount n, int32_t offsets[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SumSizes(what, sizes, n, offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSROffsetsFromSizes64(const char what[], const int32_t sizes[], PetscCount n, int64_t offsets[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SumSizes(what, sizes, n, offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
