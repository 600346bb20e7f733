#pragma once
/*
  The transpose of a matrix with a symmetric pattern: its structure is that of the matrix, and the entry behind entry (c, r) is found in row r by a search for c.

  Where rows are alike, as on a grid, the entry is as far from the end of its row as its partner is from the beginning of the other; the search begins there, so that most
  entries take one look. Measured on an H200 against counting with atomics (scatter, then sort each row) and a radix sort: 27-point stencil of 200^3: 8.0 and 7.4 ms for
  those, most of it atomics on columns that neighboring rows share, and passes over 8 bytes an entry.
*/
#include "search.cuh"
#include "values.cuh"
#include <petscsparsecuda/transpose.h>

namespace
{

constexpr int SYMMETRIC_THREADS = 256;
/* Rows of a block: so many that neighbors, whose partners lie in the same sectors, meet in one L1 cache. */
constexpr int SYMMETRIC_ROWS = 128;
/* Rows that are looked at before all are. */
constexpr PetscInt SYMMETRIC_SAMPLE = 16384;

/* What is made: each may be NULL. */
template <typename Offset>
struct SymmetricTarget {
  PetscScalar *values;
  int32_t     *columns;
  Offset      *permutation;
};

/* A group of Lanes lanes a row; rows are row_step apart. *failed becomes 1 when an entry has no partner; what was made is worth nothing then. */
template <typename Offset, int Lanes, bool Conjugate>
__global__ void __launch_bounds__(SYMMETRIC_THREADS)
  SymmetricKernel(PetscInt num_rows, PetscInt row_step, const Offset *__restrict__ row_offsets, const int32_t *__restrict__ columns, const PetscScalar *__restrict__ values, SymmetricTarget<Offset> to, volatile int *failed)
{
  const PetscInt first = (PetscInt)blockIdx.x * SYMMETRIC_ROWS, last = min(first + SYMMETRIC_ROWS, (num_rows + row_step - 1) / row_step);
  const int      lane = (int)threadIdx.x % Lanes;

  if (*failed) return;
  for (PetscInt k = first + (PetscInt)threadIdx.x / Lanes; k < last; k += SYMMETRIC_THREADS / Lanes) {
    const PetscInt row   = k * row_step;
    const Offset   begin = row_offsets[row], end = row_offsets[row + 1];

    if (end - begin > LONGEST_SEARCHED_ROW) *failed = 1;
    else
      for (Offset i = begin + lane; i < end; i += Lanes) {
        const int32_t column      = columns[i];
        const Offset  other_begin = row_offsets[column], other_end = row_offsets[column + 1];
        Offset        partner = max(other_begin, other_end - 1 - (i - begin));
        PetscScalar   value;

        if (partner >= other_end) { // an empty row
          *failed = 1;
          continue;
        }
        if (to.values) value = values[partner];
        if (columns[partner] != (int32_t)row) {
          partner = Search(columns, other_begin, other_end, partner, (int32_t)row);
          if (partner == other_end) {
            *failed = 1;
            continue;
          }
          if (to.values) value = values[partner];
        }
        if (to.values) to.values[i] = Taken<Conjugate>(value);
        if (to.columns) to.columns[i] = column;
        if (to.permutation) to.permutation[i] = partner;
      }
  }
}

template <typename Offset, int Lanes, bool Conjugate>
PetscErrorCode LaunchSymmetric(DCSRView A, PetscInt row_step, SymmetricTarget<Offset> to, int *failed, cudaStream_t stream)
{
  const PetscInt rows = (A.num_rows + row_step - 1) / row_step;

  PetscFunctionBegin;
  SymmetricKernel<Offset, Lanes, Conjugate><<<(unsigned)((rows + SYMMETRIC_ROWS - 1) / SYMMETRIC_ROWS), SYMMETRIC_THREADS, 0, stream>>>(A.num_rows, row_step, (const Offset *)A.row_offsets, A.columns, A.values, to, failed);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, bool Conjugate>
PetscErrorCode LaunchSymmetric(DCSRView A, PetscInt row_step, SymmetricTarget<Offset> to, int *failed, cudaStream_t stream)
{
  const PetscCount mean = (A.num_nonzeros + A.num_rows - 1) / A.num_rows;

  PetscFunctionBegin;
  if (mean <= 4) PetscCall((LaunchSymmetric<Offset, 4, Conjugate>(A, row_step, to, failed, stream)));
  else if (mean <= 8) PetscCall((LaunchSymmetric<Offset, 8, Conjugate>(A, row_step, to, failed, stream)));
  else if (mean <= 16) PetscCall((LaunchSymmetric<Offset, 16, Conjugate>(A, row_step, to, failed, stream)));
  else PetscCall((LaunchSymmetric<Offset, 32, Conjugate>(A, row_step, to, failed, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs over one row in row_step; *symmetric is whether all entries had partners. Synchronizes. */
template <typename Offset>
PetscErrorCode RunSymmetric(DCSRView A, PetscInt row_step, PetscBool conjugate, SymmetricTarget<Offset> to, int *failed, cudaStream_t stream, PetscBool *symmetric)
{
  int host = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(failed, 0, sizeof(*failed), stream));
  if (conjugate) PetscCall((LaunchSymmetric<Offset, true>(A, row_step, to, failed, stream)));
  else PetscCall((LaunchSymmetric<Offset, false>(A, row_step, to, failed, stream)));
  PetscCallCUDA(cudaMemcpyAsync(&host, failed, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *symmetric = (PetscBool)(host == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
