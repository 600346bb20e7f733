/* Tentative prolongators, and the comparison of results. */
#include "spgemmbench.h"
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>

#define AGGREGATE 3 /* points in every direction */

struct Grid {
  PetscInt nx, ny, nz;
};

__global__ void TentativeKernel(Grid g, PetscInt n, int32_t *row_offsets, int32_t *columns, PetscScalar *values)
{
  const PetscCount r  = (PetscCount)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscInt   cx = (g.nx + AGGREGATE - 1) / AGGREGATE, cy = (g.ny + AGGREGATE - 1) / AGGREGATE;

  if (r > n) return;
  row_offsets[r] = (int32_t)r;
  if (r == n) return;
  const PetscInt x = (PetscInt)r % g.nx, y = (PetscInt)r / g.nx % g.ny, z = (PetscInt)r / g.nx / g.ny;

  columns[r] = (int32_t)(x / AGGREGATE + cx * (y / AGGREGATE + cy * (z / AGGREGATE)));
  values[r]  = 1.0;
}

/* SpGEMMBenchTentative - see spgemmbench.h */
PetscErrorCode SpGEMMBenchTentative(PetscInt nx, PetscInt ny, PetscInt nz, cudaStream_t stream, DCSRView *P)
{
  const PetscInt n = nx * ny * nz, coarse = ((nx + AGGREGATE - 1) / AGGREGATE) * ((ny + AGGREGATE - 1) / AGGREGATE) * ((nz + AGGREGATE - 1) / AGGREGATE);

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(n, coarse, n, PETSC_FALSE, stream, P));
  TentativeKernel<<<(unsigned int)(n / 256 + 1), 256, 0, stream>>>(Grid{nx, ny, nz}, n, (int32_t *)P->row_offsets, P->columns, P->values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Difference {
  __device__ PetscReal operator()(PetscScalar a, PetscScalar b) const
  {
    const PetscReal d = PetscAbsScalar(a - b);

    return d == d ? d : PETSC_MAX_REAL;
  }
};

template <typename From, typename To>
static bool SameOffsets(DCSRView C, DCSRView D, cudaStream_t stream)
{
  return thrust::equal(thrust::cuda::par_nosync.on(stream), (const From *)C.row_offsets, (const From *)C.row_offsets + C.num_rows + 1, (const To *)D.row_offsets);
}

/* SpGEMMBenchCompare - see spgemmbench.h */
PetscErrorCode SpGEMMBenchCompare(DCSRView C, DCSRView D, cudaStream_t stream, PetscBool *same, PetscReal *error)
{
  const auto policy = thrust::cuda::par_nosync.on(stream);

  PetscFunctionBegin;
  *error = 0;
  *same  = (PetscBool)(C.num_rows == D.num_rows && C.num_nonzeros == D.num_nonzeros);
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  if (C.wide && D.wide) *same = (PetscBool)SameOffsets<int64_t, int64_t>(C, D, stream);
  else if (C.wide) *same = (PetscBool)SameOffsets<int64_t, int32_t>(C, D, stream);
  else if (D.wide) *same = (PetscBool)SameOffsets<int32_t, int64_t>(C, D, stream);
  else *same = (PetscBool)SameOffsets<int32_t, int32_t>(C, D, stream);
  *same = (PetscBool)(*same && thrust::equal(policy, C.columns, C.columns + C.num_nonzeros, D.columns));
  if (*same && C.values && D.values) *error = thrust::inner_product(policy, C.values, C.values + C.num_nonzeros, D.values, (PetscReal)0.0, thrust::maximum<PetscReal>(), Difference());
  PetscFunctionReturn(PETSC_SUCCESS);
}
