/* ELLPACK, a thread a row: as short as can be, no measure of anything. */
#include "ell.h"
#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
#endif

namespace
{

const int THREADS = 128;

struct Offsets {
  const void *offsets;
  bool        wide;

  __device__ int64_t operator()(PetscInt row) const { return wide ? static_cast<const int64_t *>(offsets)[row] : static_cast<const int32_t *>(offsets)[row]; }
};

__device__ inline PetscInt Row()
{
  return static_cast<PetscInt>(blockIdx.x) * THREADS + threadIdx.x;
}

inline unsigned Blocks(PetscInt num_rows)
{
  return static_cast<unsigned>((num_rows + THREADS - 1) / THREADS);
}

__device__ inline size_t Slot(const ELLView &ell, PetscInt row, PetscInt slot)
{
  return static_cast<size_t>(row) + static_cast<size_t>(slot) * static_cast<size_t>(ell.num_rows);
}

__device__ inline PetscScalar Conjugate(PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  return thrust::conj(value);
#else
  return value;
#endif
}

__device__ inline void AtomicAdd(PetscScalar *sum, PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  PetscReal *parts = reinterpret_cast<PetscReal *>(sum);

  atomicAdd(parts, value.real());
  atomicAdd(parts + 1, value.imag());
#else
  atomicAdd(sum, value);
#endif
}

__global__ void FromCSRKernel(ELLView ell, bool structure, Offsets offsets, const int32_t *columns, const PetscScalar *values)
{
  const PetscInt row = Row();

  if (row >= ell.num_rows) return;
  const int64_t begin = offsets(row), n = offsets(row + 1) - begin;
  for (PetscInt s = 0; s < ell.width; s++) {
    if (structure) ell.columns[Slot(ell, row, s)] = s < n ? columns[begin + s] : -1;
    ell.values[Slot(ell, row, s)] = s < n ? values[begin + s] : PetscScalar(0);
  }
}

__global__ void ToCSRKernel(ELLView ell, bool structure, Offsets offsets, int32_t *columns, PetscScalar *values)
{
  const PetscInt row = Row();

  if (row >= ell.num_rows) return;
  const int64_t begin = offsets(row), n = offsets(row + 1) - begin;
  for (PetscInt s = 0; s < n; s++) {
    if (structure) columns[begin + s] = ell.columns[Slot(ell, row, s)];
    if (values) values[begin + s] = ell.values[Slot(ell, row, s)];
  }
}

__global__ void MultKernel(ELLView ell, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const PetscInt row = Row();
  PetscScalar    sum = 0;

  if (row >= ell.num_rows) return;
  for (PetscInt s = 0; s < ell.width && ell.columns[Slot(ell, row, s)] >= 0; s++) sum += ell.values[Slot(ell, row, s)] * x[ell.columns[Slot(ell, row, s)]];
  y[row] = z ? z[row] + sum : sum;
}

__global__ void MultTransposeKernel(ELLView ell, bool conjugate, const PetscScalar *x, PetscScalar *y)
{
  const PetscInt row = Row();

  if (row >= ell.num_rows) return;
  for (PetscInt s = 0; s < ell.width && ell.columns[Slot(ell, row, s)] >= 0; s++) {
    const PetscScalar value = ell.values[Slot(ell, row, s)];

    AtomicAdd(&y[ell.columns[Slot(ell, row, s)]], (conjugate ? Conjugate(value) : value) * x[row]);
  }
}

__global__ void ScaleKernel(ELLView ell, PetscScalar factor)
{
  const PetscInt row = Row();

  if (row >= ell.num_rows) return;
  for (PetscInt s = 0; s < ell.width && ell.columns[Slot(ell, row, s)] >= 0; s++) ell.values[Slot(ell, row, s)] *= factor;
}

__global__ void GetDiagonalKernel(ELLView ell, PetscScalar *diagonal)
{
  const PetscInt row  = Row();
  PetscScalar    find = 0;

  if (row >= ell.num_rows || row >= ell.num_columns) return;
  for (PetscInt s = 0; s < ell.width; s++)
    if (ell.columns[Slot(ell, row, s)] == row) find = ell.values[Slot(ell, row, s)];
  diagonal[row] = find;
}

} // namespace

PetscErrorCode ELLFromCSR(ELLView ell, PetscBool structure, DCSRView csr, cudaStream_t stream)
{
  const Offsets offsets = {csr.row_offsets, csr.wide == PETSC_TRUE};

  PetscFunctionBegin;
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  FromCSRKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, structure == PETSC_TRUE, offsets, csr.columns, csr.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLToCSR(ELLView ell, PetscBool structure, DCSRView csr, cudaStream_t stream)
{
  const Offsets offsets = {csr.row_offsets, csr.wide == PETSC_TRUE};

  PetscFunctionBegin;
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  ToCSRKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, structure == PETSC_TRUE, offsets, csr.columns, csr.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLMult(ELLView ell, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  MultKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, x, z, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLMultTranspose(ELLView ell, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const size_t bytes = static_cast<size_t>(ell.num_columns) * sizeof(*y);

  PetscFunctionBegin;
  if (ell.num_columns == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (!z) PetscCallCUDA(cudaMemsetAsync(y, 0, bytes, stream));
  else if (z != y) PetscCallCUDA(cudaMemcpyAsync(y, z, bytes, cudaMemcpyDeviceToDevice, stream));
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  MultTransposeKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, conjugate == PETSC_TRUE, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLScale(ELLView ell, PetscScalar factor, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  ScaleKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, factor);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLGetDiagonal(ELLView ell, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ell.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  GetDiagonalKernel<<<Blocks(ell.num_rows), THREADS, 0, stream>>>(ell, diagonal);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
