#pragma once
/*
  What the checks of the formats share: the first violation that was found, and the check of a permutation between the entries of a matrix and of its transpose.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/search.cuh"
#include "hisparseimpl.h"
#include <petscsparsecuda/sys.h>

namespace
{

/* The lowest place where something is violated, with its code in the low byte: the same answer in every run. */
struct FirstViolation {
  unsigned long long *first; // [1] device, owned by who made it

  __device__ void Set(PetscCount where, int code) const { atomicMin(first, (unsigned long long)where << 8 | (unsigned long long)code); }
};
constexpr unsigned long long NO_VIOLATION = ~0ull;

inline PetscErrorCode FirstViolationCreate(cudaStream_t stream, FirstViolation *found)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "result of a check", stream, &found->first));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(found->first, 0xff, sizeof(*found->first), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&found->first, stream));
  PetscFunctionReturn(ierr);
}

/* What was found so far; violation->what stays NULL when nothing was. Synchronizes. */
inline PetscErrorCode FirstViolationGet(FirstViolation found, const char *const names[], cudaStream_t stream, HiSparseViolation *violation)
{
  unsigned long long first = NO_VIOLATION;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&first, found.first, sizeof(first), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (first == NO_VIOLATION) PetscFunctionReturn(PETSC_SUCCESS);
  violation->what  = names[first & 255];
  violation->where = (PetscCount)(first >> 8);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A CSR matrix whose row k is row rows[k] of the matrix, or row k when rows is NULL. */
struct RowsOfMatrix {
  Offsets        row_offsets; // [num_rows + 1]
  PetscInt       num_rows;
  const int32_t *rows, *columns;

  /* Row of the matrix that has entry k; row offsets are valid. */
  __device__ PetscInt Row(PetscCount k) const
  {
    const Offsets  offsets = row_offsets;
    const PetscInt row     = PartitionPoint((PetscInt)0, num_rows, [=](PetscInt r) { return offsets((PetscCount)r + 1) <= k; });

    return rows != NULL ? (PetscInt)rows[row] : row;
  }
};

/* Entry k of the transpose, (r, c), is entry permutation[k] of the matrix, (c, r). */
struct CheckPermutation {
  RowsOfMatrix   matrix, transpose;
  Offsets        permutation; // as wide as the row offsets
  PetscCount     num_entries;
  FirstViolation found;
  int            code;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount p = permutation(k);

    if (p < 0 || p >= num_entries || matrix.columns[p] != (int32_t)transpose.Row(k) || matrix.Row(p) != (PetscInt)transpose.columns[k]) found.Set(k, code);
  }
};

} // namespace
