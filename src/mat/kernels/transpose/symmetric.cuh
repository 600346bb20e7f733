#pragma once
/*
  The transpose of a matrix with a symmetric pattern. Its structure is that of the matrix. The entry behind entry (c, r) is found in row r by a search for c.

  Where rows are alike, as on a grid, the entry is as far from the end of its row as its partner is from the beginning of the other. The search begins there, so that most
  entries take one search. The kernel is bound by the cache lines that its gathers touch: begin and end of a row come in one line.

  Other ways, measured on an H200 for the 27-point stencil of 200^3: counting with atomics, scattering and sorting each row took 8.0 ms, most of it in atomics on columns
  that neighboring rows share, and the radix sort took 7.4 ms.
*/
#include "search.cuh"
#include "values.cuh"
#include "../common/foreach.cuh"
#include <petscsparsecuda/transpose.h>

namespace
{

/*
  Threads and rows of a thread block. The partners of neighboring rows lie in the same sectors: these rows should meet in one L1 cache, which the rows under way must not fill. With a warp a row,
  large thread blocks have more neighbors (27-point stencil of 200^3 on an H200: 3.23 ms with 256 threads, 2.86 with 1024). Short rows want small thread blocks (7-point stencil of 256^3: 1.21 and 1.47
  ms).
*/
template <int Lanes>
struct SymmetricShape {
  static constexpr int threads = Lanes == 32 ? 1024 : 256, rows = Lanes == 32 ? 256 : 128;
};

/* Rows that are sampled before all are read. */
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
  A group of Lanes lanes takes a row; rows are row_step apart. *failed becomes 1 when an entry has no partner: what was made is worth nothing then. The lane that finds that goes no further, and thread
  blocks that begin afterwards do nothing.
*/
template <typename Offset, int Lanes, bool Conjugate>
__global__ void __launch_bounds__(SymmetricShape<Lanes>::threads)
  SymmetricKernel(PetscInt num_rows, PetscInt row_step, const RowRange<Offset> *__restrict__ ranges, const int32_t *__restrict__ columns, const PetscScalar *__restrict__ values,
                  SymmetricTarget<Offset> to, volatile int *failed)
{
  constexpr int  groups = SymmetricShape<Lanes>::threads / Lanes, block_rows = SymmetricShape<Lanes>::rows;
  const PetscInt first = (PetscInt)blockIdx.x * block_rows, last = min(first + block_rows, (num_rows + row_step - 1) / row_step);
  const int      lane = (int)threadIdx.x % Lanes;

  if (*failed) return;
  for (PetscInt k = first + (PetscInt)threadIdx.x / Lanes; k < last; k += groups) {
    const PetscInt         row = k * row_step;
    const RowRange<Offset> own = ranges[row];

    if (own.end - own.begin > LONGEST_SEARCHED_ROW) {
      *failed = 1;
      return;
    }
    for (Offset i = own.begin + lane; i < own.end; i += Lanes) {
      const int32_t          column  = columns[i];
      const RowRange<Offset> other   = ranges[column];
      Offset                 partner = max(other.begin, other.end - 1 - (i - own.begin));
      PetscScalar            value;

      if (partner < other.end) { // otherwise the row is empty
        const int32_t found = columns[partner];

        if (to.values) value = values[partner];
        if (found != (int32_t)row) {
          partner = Search(columns, other.begin, other.end, partner, (int32_t)row);
          if (to.values && partner < other.end) value = values[partner];
        }
      }
      if (partner >= other.end) {
        *failed = 1;
        return;
      }
      if (to.values) StoreStreaming(to.values + i, Taken<Conjugate>(value));
      if (to.columns) StoreStreaming(to.columns + i, column);
      if (to.permutation) StoreStreaming(to.permutation + i, partner);
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
  using Shape = SymmetricShape<Lanes>;

  const PetscInt rows = (from.A.num_rows + row_step - 1) / row_step;

  PetscFunctionBegin;
  SymmetricKernel<Offset, Lanes, Conjugate>
    <<<(unsigned)((rows + Shape::rows - 1) / Shape::rows), Shape::threads, 0, stream>>>(from.A.num_rows, row_step, from.ranges, from.A.columns, from.A.values, to, from.failed);
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

/* Whether no entry has failed to find its partner so far. Synchronizes. */
inline PetscErrorCode AllFound(const int *failed, cudaStream_t stream, PetscBool *found)
{
  int host = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&host, failed, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *found = (PetscBool)(host == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sample of the rows, which finds most patterns that are not symmetric, and then all. *symmetric is whether all entries had partners. Synchronizes. */
template <typename Offset>
PetscErrorCode RunSymmetric(const SymmetricSource<Offset> &from, PetscBool conjugate, SymmetricTarget<Offset> to, cudaStream_t stream, PetscBool *symmetric)
{
  const PetscInt                num_rows = from.A.num_rows;
  const SymmetricTarget<Offset> none     = {NULL, NULL, NULL};

  PetscFunctionBegin;
  *symmetric = PETSC_TRUE;
  PetscCallCUDA(cudaMemsetAsync(from.failed, 0, sizeof(*from.failed), stream));
  PetscCallCUDA(DCSRForEach(num_rows, WriteRange<Offset>{(const Offset *)from.A.row_offsets, from.ranges}, stream));
  if (num_rows > 4 * SYMMETRIC_SAMPLE) {
    PetscCall((LaunchSymmetric<Offset, false>(from, num_rows / SYMMETRIC_SAMPLE, none, stream)));
    PetscCall(AllFound(from.failed, stream, symmetric));
  }
  if (!*symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  if (conjugate) PetscCall((LaunchSymmetric<Offset, true>(from, 1, to, stream)));
  else PetscCall((LaunchSymmetric<Offset, false>(from, 1, to, stream)));
  PetscCall(AllFound(from.failed, stream, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
