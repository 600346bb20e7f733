#pragma once
/*
  What deletion that keeps the pattern shares in all formats: rows without a diagonal entry, and flagged columns that become zero.
*/
#include "../common/foreach.cuh"
#include "storedvalues.cuh"
#include <petscsparsecuda/common.h>

namespace
{

/* Find(row, column) is negative where there is no such entry. Rows from num_columns on are not counted: they can have no diagonal entry. */
template <typename Find>
struct CountWithoutDiagonal {
  const PetscInt     *list; // NULL: all rows
  PetscInt            num_columns;
  Find                find;
  unsigned long long *count;

  __device__ void operator()(PetscCount q) const
  {
    const PetscInt row = list ? list[q] : (PetscInt)q;

    if (row < num_columns && find(row, (int32_t)row) < 0) atomicAdd(count, 1ull);
  }
};

/* How many of n listed rows, on the device, lack the diagonal entry that they could have, repeats included; list NULL: of the first n rows. Synchronizes. */
template <typename Find>
PetscErrorCode CountRowsWithoutDiagonal(PetscCount n, const PetscInt list[], PetscInt num_columns, Find find, cudaStream_t stream, PetscCount *count)
{
  unsigned long long *device = NULL, result = 0;
  PetscErrorCode      ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *count = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "number of rows without a diagonal entry", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, CountWithoutDiagonal<Find>{list, num_columns, find, device}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&result, device, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *count = (PetscCount)result;
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscFunctionReturn(ierr);
}

/* Entries of flagged columns in other rows become zero, and what each row loses is subtracted from the right-hand side, if there is one. */
struct Columns {
  const unsigned char *flags;
  const PetscScalar   *x;
  PetscScalar         *b;

  template <typename Stored>
  __device__ __forceinline__ PetscScalar Take(PetscInt row, PetscInt column, Stored *value) const
  {
    PetscScalar old;

    if (!flags[column] || flags[row]) return PetscScalar(0);
    old    = FromStored(*value);
    *value = ToStored<Stored>(PetscScalar(0));
    return x ? old * x[column] : PetscScalar(0);
  }
  __device__ __forceinline__ void Subtract(PetscInt row, PetscScalar sum) const
  {
    if (b && !flags[row]) b[row] -= sum;
  }
};

} // namespace
