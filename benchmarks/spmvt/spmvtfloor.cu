/*
  Bounds of the transpose product; see spmvtfloor.h. Double precision, real.
*/
#include "spmvtfloor.h"

namespace
{

template <int Items>
__global__ void SpMVTAtomicBoundKernel(PetscCount n, const PetscScalar *values, const int32_t *columns, PetscScalar *y)
{
  const PetscCount first = (PetscCount)blockIdx.x * blockDim.x * Items + threadIdx.x;
  PetscReal        value[Items];
  int32_t          column[Items];

#pragma unroll
  for (int i = 0; i < Items; i++) {
    const PetscCount k = first + i * (PetscCount)blockDim.x;

    column[i] = k < n ? __ldcs(columns + k) : -1;
    value[i]  = k < n ? __ldcs((const PetscReal *)(values + k)) : 0;
  }
#pragma unroll
  for (int i = 0; i < Items; i++)
    if (column[i] >= 0) atomicAdd((PetscReal *)(y + column[i]), value[i]);
}

struct Shape {
  int threads, items;
};
const Shape SHAPES[] = {{128, 1}, {128, 4}, {256, 1}, {256, 2}, {256, 4}, {256, 8}, {512, 2}, {512, 4}};

struct Run {
  Shape        shape;
  DCSRView     view;
  PetscScalar *y;
};

PetscErrorCode AtomicRun(void *ctx, cudaStream_t stream)
{
  const Run         *r      = (Run *)ctx;
  const PetscCount   n      = r->view.num_nonzeros;
  const unsigned int blocks = (unsigned int)((n + r->shape.threads * r->shape.items - 1) / (r->shape.threads * r->shape.items));

  PetscFunctionBegin;
  switch (r->shape.items) {
  case 1:
    SpMVTAtomicBoundKernel<1><<<blocks, r->shape.threads, 0, stream>>>(n, r->view.values, r->view.columns, r->y);
    break;
  case 2:
    SpMVTAtomicBoundKernel<2><<<blocks, r->shape.threads, 0, stream>>>(n, r->view.values, r->view.columns, r->y);
    break;
  case 4:
    SpMVTAtomicBoundKernel<4><<<blocks, r->shape.threads, 0, stream>>>(n, r->view.values, r->view.columns, r->y);
    break;
  default:
    SpMVTAtomicBoundKernel<8><<<blocks, r->shape.threads, 0, stream>>>(n, r->view.values, r->view.columns, r->y);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpMVTFloorBytes - see spmvtfloor.h */
PetscErrorCode SpMVTFloorBytes(DCSRView view, PetscCount *bytes)
{
  PetscFunctionBegin;
  *bytes = view.num_nonzeros * (PetscCount)(sizeof(PetscScalar) + sizeof(int32_t)) + ((PetscCount)view.num_rows + 1) * 4 + ((PetscCount)view.num_rows + view.num_columns) * (PetscCount)sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTAtomicBound - see spmvtfloor.h */
PetscErrorCode SpMVTAtomicBound(BenchTimer *timer, PetscBool cold, DCSRView view, PetscScalar y[], PetscReal *us)
{
  PetscFunctionBegin;
  *us = PETSC_MAX_REAL;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(SHAPES); i++) {
    Run       r = {SHAPES[i], view, y};
    PetscReal t;

    PetscCall(BenchTimerMeasure(timer, cold, AtomicRun, &r, &t));
    *us = PetscMin(*us, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
