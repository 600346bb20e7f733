/*
  Scans of device arrays in place: see scan.h.
*/
#include "scan.h"
#include "temporary.cuh"
#include <cub/device/device_scan.cuh>

namespace
{

struct LargerOf {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const
  {
    return a < b ? b : a;
  }
};

template <typename T>
PetscErrorCode Sum(const char what[], T sums[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, sums, sums, (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Max(const char what[], T values[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::InclusiveScan(storage, bytes, values, values, LargerOf(), (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRExclusiveSum32(const char what[], int32_t sums[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum(what, sums, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRExclusiveSum64(const char what[], int64_t sums[], PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Sum(what, sums, n, stream));
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
