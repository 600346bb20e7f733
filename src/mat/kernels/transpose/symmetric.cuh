#pragma once
/*
  The transpose of a matrix with a symmetric pattern: its structure is that of the matrix, and the entry behind entry (c, r) is found in row r by a search for c.

  Where rows are alike, as on a grid, the entry is as far from the end of its row as its partner is from the beginning of the other; the search begins there, so that most
  entries take one look. The kernel is bound by the cache lines that its gathers touch: begin and end of a row come in one. Measured on an H200 for the 27-point stencil of
  200^3, counting with atomics, scattering and sorting each row took 8.0 ms, most of it in atomics on columns that neighboring rows share, and the radix sort 7.4 ms.
*/
#include "search.cuh"
#include "values.cuh"
#include <cub/device/device_for.cuh>
#include <petscsparsecuda/transpose.h>

namespace
{

/* A block has so many threads that neighboring rows, whose partners lie in the same sectors, meet in one L1 cache at the same time. */
constexpr int SYMMETRIC_THREADS = 1024, SYMMETRIC_ROWS = 256;
constexpr int SYMMETRIC_GROUP_ROWS = 1; // rows of a group of lanes whose loads are under way at a time
/* Rows that are looked at before all are. */
constexpr PetscInt SYMMETRIC_SAMPLE = 4096;

/* What is made: each may be NULL. */
template <typename Offset>
struct SymmetricTarget {
  PetscScalar *values;
  int32_t     *columns;
  Offset      *permutation;
};

/* Where a row begins and ends, in one load. */
template <typename Offset>
struct alignas(2 * sizeof(Offset)) RowRange {
  Offset begin, end;
};

template <typename Offset>
struct WriteRange {
  const Offset     *row_offsets;
  RowRange<Offset> *ranges;
  __device__ void   operator()(PetscInt row) const { ranges[row] = {row_offsets[row], row_offsets[row + 1]}; }
};

/*
  A group of Lanes lanes a row, a few rows at a time; rows are row_step apart. *failed becomes 1 when an entry has no partner, or was that before; what was made is worth nothing then, and
  the lane that finds it goes no further.
*/
template <typename Offset, int Lanes, bool Conjugate>
__global__ void __launch_bounds__(SYMMETRIC_THREADS)
  SymmetricKernel(PetscInt num_rows, PetscInt row_step, const RowRange<Offset> *__restrict__ ranges, const int32_t *__restrict__ columns, const PetscScalar *__restrict__ values, SymmetricTarget<Offset> to, volatile int *failed)
{
  constexpr int  groups = SYMMETRIC_THREADS / Lanes, Rows = SYMMETRIC_GROUP_ROWS;
  const PetscInt first = (PetscInt)blockIdx.x * SYMMETRIC_ROWS, last = min(first + SYMMETRIC_ROWS, (num_rows + row_step - 1) / row_step);
  const int      lane = (int)threadIdx.x % Lanes;

  if (*failed) return;
  for (PetscInt k = first + (PetscInt)threadIdx.x / Lanes; k < last; k += Rows * groups) {
    RowRange<Offset> own[Rows], other[Rows];
    Offset           longest = 0, partner[Rows];
    int32_t          column[Rows], found[Rows];
    PetscScalar      value[Rows];

#pragma unroll
    for (int r = 0; r < Rows; r++) {
      own[r]  = k + r * groups < last ? ranges[(k + r * groups) * row_step] : RowRange<Offset>{0, 0};
      longest = max(longest, own[r].end - own[r].begin);
    }
    if (longest > LONGEST_SEARCHED_ROW) {
      *failed = 1;
      return;
    }
    for (Offset i = lane; i < longest; i += Lanes) {
#pragma unroll
      for (int r = 0; r < Rows; r++) column[r] = own[r].begin + i < own[r].end ? columns[own[r].begin + i] : -1;
#pragma unroll
      for (int r = 0; r < Rows; r++) other[r] = column[r] >= 0 ? ranges[column[r]] : RowRange<Offset>{0, 0};
#pragma unroll
      for (int r = 0; r < Rows; r++) {
        partner[r] = max(other[r].begin, other[r].end - 1 - i);
        found[r]   = -1;
        if (partner[r] < other[r].end) { // otherwise the row is empty
          found[r] = columns[partner[r]];
          if (to.values) value[r] = values[partner[r]];
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; r++) {
        const int32_t row = (int32_t)((k + r * groups) * row_step);

        if (column[r] < 0) continue;
        if (found[r] >= 0 && found[r] != row) {
          partner[r] = Search(columns, other[r].begin, other[r].end, partner[r], row);
          if (to.values && partner[r] < other[r].end) value[r] = values[partner[r]];
        }
        if (partner[r] >= other[r].end) {
          *failed = 1;
          return;
        }
        if (to.values) StoreStreaming(to.values + own[r].begin + i, Taken<Conjugate>(value[r]));
        if (to.columns) StoreStreaming(to.columns + own[r].begin + i, column[r]);
        if (to.permutation) StoreStreaming(to.permutation + own[r].begin + i, partner[r]);
      }
    }
  }
}

/* What the kernel reads, with memory that is freed afterwards. */
template <typename Offset>
struct SymmetricSource {
  DCSRView          A;
  RowRange<Offset> *ranges; // [num_rows]
  int              *failed;
};

template <typename Offset, int Lanes, bool Conjugate>
PetscErrorCode LaunchSymmetric(const SymmetricSource<Offset> &from, PetscInt row_step, SymmetricTarget<Offset> to, cudaStream_t stream)
{
  const PetscInt rows = (from.A.num_rows + row_step - 1) / row_step;

  PetscFunctionBegin;
  SymmetricKernel<Offset, Lanes, Conjugate><<<(unsigned)((rows + SYMMETRIC_ROWS - 1) / SYMMETRIC_ROWS), SYMMETRIC_THREADS, 0, stream>>>(from.A.num_rows, row_step, from.ranges, from.A.columns, from.A.values, to, from.failed);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, bool Conjugate>
PetscErrorCode LaunchSymmetric(const SymmetricSource<Offset> &from, PetscInt row_step, SymmetricTarget<Offset> to, cudaStream_t stream)
{
  const PetscCount mean = (from.A.num_nonzeros + from.A.num_rows - 1) / from.A.num_rows;

  PetscFunctionBegin;
  if (mean <= 4) PetscCall((LaunchSymmetric<Offset, 4, Conjugate>(from, row_step, to, stream)));
  else if (mean <= 8) PetscCall((LaunchSymmetric<Offset, 8, Conjugate>(from, row_step, to, stream)));
  else if (mean <= 16) PetscCall((LaunchSymmetric<Offset, 16, Conjugate>(from, row_step, to, stream)));
  else PetscCall((LaunchSymmetric<Offset, 32, Conjugate>(from, row_step, to, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sample of the rows, and then all; after a sample that fails the blocks of the latter end as they begin. *symmetric is whether all entries had partners. Synchronizes. */
template <typename Offset>
PetscErrorCode RunSymmetric(const SymmetricSource<Offset> &from, PetscBool conjugate, SymmetricTarget<Offset> to, cudaStream_t stream, PetscBool *symmetric)
{
  const PetscInt                num_rows = from.A.num_rows;
  const SymmetricTarget<Offset> none     = {NULL, NULL, NULL};
  int                           host     = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(from.failed, 0, sizeof(*from.failed), stream));
  PetscCallCUDA(cub::DeviceFor::Bulk(num_rows, WriteRange<Offset>{(const Offset *)from.A.row_offsets, from.ranges}, stream));
  if (num_rows > 4 * SYMMETRIC_SAMPLE) PetscCall((LaunchSymmetric<Offset, false>(from, num_rows / SYMMETRIC_SAMPLE, none, stream)));
  if (conjugate) PetscCall((LaunchSymmetric<Offset, true>(from, 1, to, stream)));
  else PetscCall((LaunchSymmetric<Offset, false>(from, 1, to, stream)));
  PetscCallCUDA(cudaMemcpyAsync(&host, from.failed, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *symmetric = (PetscBool)(host == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
