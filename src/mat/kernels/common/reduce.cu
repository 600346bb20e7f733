/*
  Reductions of device arrays to numbers on the host: see reduce.h.
*/
#include "preload.cuh"
#include "reduce.h"
#include "scalar.cuh"
#include "temporary.cuh"
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace
{

struct Squared {
  __device__ PetscReal operator()(PetscScalar value) const { return SquaredValue(value); }
};

struct Same {
  __device__ PetscReal operator()(PetscReal value) const { return value; }
};

struct Add {
  __device__ PetscReal operator()(PetscReal a, PetscReal b) const { return a + b; }
};

struct Larger {
  __device__ PetscReal operator()(PetscReal a, PetscReal b) const { return a < b ? b : a; }
};

struct FactsOfSize {
  __device__ DCSRSizeFacts operator()(int32_t size) const { return {size, size > 0, size}; }
};

struct CombineFacts {
  __device__ DCSRSizeFacts operator()(DCSRSizeFacts a, DCSRSizeFacts b) const
  {
    return {a.num_nonzeros + b.num_nonzeros, a.num_nonempty_rows + b.num_nonempty_rows, a.max_row_size < b.max_row_size ? b.max_row_size : a.max_row_size};
  }
};

/* Reduces n device numbers to one on the host, beginning with the one that is there. */
template <typename In, typename Combine, typename Map, typename Out>
PetscErrorCode Reduce(const char what[], PetscCount n, const In in[], Combine combine, Map map, cudaStream_t stream, Out *out)
{
  const Out      first  = *out;
  Out           *device = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, what, stream, &device));
  // The iterator and not TransformReduce(), which CUB of CUDA 12.4 does not have.
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceReduce::Reduce(storage, bytes, thrust::make_transform_iterator(in, map), device, (int64_t)n, combine, first, stream);
                }));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(out, device, sizeof(*out), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRReduceSizes(PetscCount n, const int32_t sizes[], cudaStream_t stream, DCSRSizeFacts *facts)
{
  PetscFunctionBegin;
  *facts = {0, 0, 0};
  PetscCall(Reduce("workspace to sum row sizes", n, sizes, CombineFacts(), FactsOfSize(), stream, facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRReduceSum(PetscCount n, const PetscReal values[], cudaStream_t stream, PetscReal *sum)
{
  PetscFunctionBegin;
  *sum = 0;
  PetscCall(Reduce("workspace of a norm", n, values, Add(), Same(), stream, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRReduceSumSquares(PetscCount n, const PetscScalar values[], cudaStream_t stream, PetscReal *sum)
{
  PetscFunctionBegin;
  *sum = 0;
  PetscCall(Reduce("workspace of a norm", n, values, Add(), Squared(), stream, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRReduceMax(PetscCount n, const PetscReal values[], cudaStream_t stream, PetscReal *largest)
{
  PetscFunctionBegin;
  *largest = 0;
  PetscCall(Reduce("workspace of a norm", n, values, Larger(), Same(), stream, largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreloadCUB();
