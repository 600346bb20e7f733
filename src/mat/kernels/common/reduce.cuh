#pragma once
/*
  Reductions of device arrays to one number on the host, by CUB in a fixed order: the same bits every time.
*/
#include "temporary.cuh"
#include <cub/device/device_reduce.cuh>

namespace
{

struct SquaredValue {
  __device__ PetscReal operator()(PetscScalar value) const
  {
#if PetscDefined(USE_COMPLEX)
    return value.real() * value.real() + value.imag() * value.imag();
#else
    return value * value;
#endif
  }
};

struct AddReals {
  __device__ PetscReal operator()(PetscReal a, PetscReal b) const { return a + b; }
};

struct LargerReal {
  __device__ PetscReal operator()(PetscReal a, PetscReal b) const { return a < b ? b : a; }
};

struct SameReal {
  __device__ PetscReal operator()(PetscReal a) const { return a; }
};

/* Reduces n device numbers to one host number. */
template <typename In, typename Combine, typename Map>
PetscErrorCode ReduceToHost(PetscCount n, const In *in, Combine combine, Map map, cudaStream_t stream, PetscReal *result)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscReal     *sum  = NULL;

  PetscFunctionBegin;
  *result = 0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "result of a norm", stream, &sum));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace of a norm", stream, [&](void *storage, size_t &bytes) { return cub::DeviceReduce::TransformReduce(storage, bytes, in, sum, n, combine, map, (PetscReal)0, stream); }));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(result, sum, sizeof(*sum), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sum, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
