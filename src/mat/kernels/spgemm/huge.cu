/*
  Values of rows of C whose rows of A are so long that chunks (chunks.cu) would search too much: each chunk reads every row of B. Here the terms are written out,
  a slice at a time, sorted by column, and added up column by column. The sort is stable and slices follow one another: sums have the order of the row of A once more.
*/
#include "table.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/sort.h"
#include <petscsparsecuda/insert.h>

namespace
{

constexpr PetscCount CHUNK        = 1 << 20; // entries of rows of A whose terms are numbered together
constexpr PetscCount SLICE        = 1 << 21; // terms that are sorted together: 24 bytes each, twice
constexpr int        MAX_SEGMENTS = 1024;    // rows that are sorted together

/* A row, or a chunk of one. */
struct Segment {
  PetscCount first;             // number of its first entry of A among those of all segments
  PetscCount a_begin, a_length; // of A
  PetscCount c_begin, c_length; // of the row of C
};

/* Rows whose terms are sorted together, by segment and column. */
struct Batch {
  int            num, column_bits; // of a sort key, above them the number of the segment
  const Segment *segments;         // [num]
  PetscCount     num_entries;      // of A

  __device__ const Segment &SegmentOf(PetscCount entry) const
  {
    return segments[LastWhere(0, num, [&](int k) { return segments[k].first <= entry; })];
  }
};

/* Work space; owned. */
struct Slices {
  Segment     *segments;   // [MAX_SEGMENTS]
  int64_t     *firsts;     // [CHUNK + 1] number of the first term of each entry of A
  uint32_t    *columns[2]; // [SLICE] sort keys of terms, as they are written out and sorted
  PetscScalar *values[2];  // [SLICE]
};

/* The number of terms of each entry of A, and 0 behind the last. */
template <typename Offset>
__global__ void LengthsKernel(Factors<Offset> f, Batch batch, int64_t *lengths)
{
  for (PetscCount k = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; k <= batch.num_entries; k += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    int64_t length = 0;

    if (k < batch.num_entries) {
      const Segment &segment = batch.SegmentOf(k);
      const int32_t  column  = f.a_columns[segment.a_begin + (k - segment.first)];

      length = (int64_t)(f.b_offsets[column + 1] - f.b_offsets[column]);
    }
    lengths[k] = length;
  }
}

/* Terms first to first + n - 1 of a batch. */
template <typename Offset>
__global__ void ExpandKernel(Factors<Offset> f, Batch batch, const int64_t *firsts, int64_t first, PetscCount n, uint32_t *columns, PetscScalar *values)
{
  for (PetscCount p = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; p < n; p += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    const PetscCount entry   = LastWhere((PetscCount)0, batch.num_entries, [&](PetscCount k) { return firsts[k] <= first + p; });
    const Segment   &segment = batch.SegmentOf(entry);
    const PetscCount a = segment.a_begin + (entry - segment.first), b = (PetscCount)f.b_offsets[f.a_columns[a]] + (PetscCount)(first + p - firsts[entry]);

    columns[p] = (uint32_t)f.b_columns[b] | (uint32_t)((unsigned long long)(&segment - batch.segments) << batch.column_bits);
    values[p]  = f.a_values[a] * f.b_values[b];
  }
}

/* Sums begin at zero: gridDim.x thread blocks take a row. */
__global__ void ZeroKernel(Batch batch, PetscScalar *c_values)
{
  const Segment &segment = batch.segments[blockIdx.y];

  for (PetscCount k = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; k < segment.c_length; k += (PetscCount)gridDim.x * SPGEMM_THREADS) c_values[segment.c_begin + k] = 0.0;
}

/* Adds sorted terms to the rows. The thread of a column's first term adds all of them. */
__global__ void AddSortedKernel(Batch batch, PetscCount n, const uint32_t *columns, const PetscScalar *values, const int32_t *c_columns, PetscScalar *c_values)
{
  for (PetscCount p = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; p < n; p += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    const uint32_t key = columns[p];

    if (p > 0 && columns[p - 1] == key) continue;
    const Segment   &segment  = batch.segments[key >> batch.column_bits];
    const PetscCount position = LowerBound(c_columns, segment.c_begin, segment.c_begin + segment.c_length, (int32_t)(key & ((1u << batch.column_bits) - 1)));
    PetscScalar      sum      = c_values[position];

    for (PetscCount k = p; k < n && columns[k] == key; k++) sum += values[k];
    c_values[position] = sum;
  }
}

/* Thread blocks of a loop over n entries, at least one. */
PetscErrorCode GetGrid(PetscCount n, unsigned int *grid)
{
  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(PetscMax((n + SPGEMM_THREADS - 1) / SPGEMM_THREADS, 1), SPGEMM_BLOCKS, grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FreeSlices(Slices *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&s->segments, stream));
  PetscCall(PetscSparseCUDAFree(&s->firsts, stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&s->columns[k], stream));
    PetscCall(PetscSparseCUDAFree(&s->values[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AllocateSlices(cudaStream_t stream, Slices *s)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  PetscCall(PetscSparseCUDAMalloc(MAX_SEGMENTS, "long rows", stream, &s->segments));
  PetscCall(PetscSparseCUDAMalloc(CHUNK + 1, "products of a long row", stream, &s->firsts));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMalloc(SLICE, "columns of the products of a long row", stream, &s->columns[k]));
    PetscCall(PetscSparseCUDAMalloc(SLICE, "values of the products of a long row", stream, &s->values[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers the terms of a batch. num_terms < 0: their number is not known; this synchronizes. */
template <typename Offset>
PetscErrorCode NumberTerms(const Factors<Offset> &f, const Batch &batch, const Slices *s, cudaStream_t stream, int64_t *num_terms)
{
  const PetscCount n = batch.num_entries;
  unsigned int     grid;

  PetscFunctionBegin;
  PetscCall(GetGrid(n + 1, &grid));
  LengthsKernel<<<grid, SPGEMM_THREADS, 0, stream>>>(f, batch, s->firsts);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("workspace to number products", s->firsts, n + 1, stream));
  if (*num_terms >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(num_terms, s->firsts + n, sizeof(*num_terms), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The terms of a batch are merged into their rows. */
template <typename Offset>
PetscErrorCode AddBatch(DCSRView A, DCSRView B, DCSRView C, const Batch &batch, int64_t num_terms, const Slices *s, cudaStream_t stream)
{
  const Factors<Offset> f(A, B);
  const int             bits = batch.column_bits + DCSRKeyBits(batch.num);

  PetscFunctionBegin;
  PetscCall(NumberTerms(f, batch, s, stream, &num_terms));
  for (int64_t first = 0; first < num_terms; first += SLICE) {
    const PetscCount num = PetscMin(SLICE, (PetscCount)(num_terms - first));
    unsigned int     grid;

    PetscCall(GetGrid(num, &grid));
    ExpandKernel<<<grid, SPGEMM_THREADS, 0, stream>>>(f, batch, s->firsts, first, num, s->columns[0], s->values[0]);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(DCSRSortPairs32WithScalars("workspace to sort products", num, bits, s->columns[0], s->columns[1], s->values[0], s->values[1], stream));
    AddSortedKernel<<<grid, SPGEMM_THREADS, 0, stream>>>(batch, num, s->columns[1], s->values[1], C.columns, C.values);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the terms of a batch, whose segments are on the host. clear: their sums begin. */
PetscErrorCode DoBatch(DCSRView A, DCSRView B, DCSRView C, const Segment segments[], int num, PetscBool clear, int64_t num_terms, const Slices *s, cudaStream_t stream)
{
  const Batch batch = {num, PetscMax(1, DCSRKeyBits(B.num_columns)), s->segments, segments[num - 1].first + segments[num - 1].a_length};

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToDevice(s->segments, segments, (size_t)num * sizeof(*segments), stream));
  if (clear) {
    ZeroKernel<<<dim3(32, (unsigned int)num), SPGEMM_THREADS, 0, stream>>>(batch, C.values);
    PetscCallCUDA(cudaGetLastError());
  }
  if (B.wide) PetscCall(AddBatch<int64_t>(A, B, C, batch, num_terms, s, stream));
  else PetscCall(AddBatch<int32_t>(A, B, C, batch, num_terms, s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the terms of a row of A that is too long for a batch, chunk by chunk. */
PetscErrorCode AddChunks(DCSRView A, DCSRView B, DCSRView C, const SpGEMMHugeRow *row, const Slices *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscCount begin = 0; begin < row->a_length; begin += CHUNK) {
    const Segment segment = {0, row->a_begin + begin, PetscMin(CHUNK, row->a_length - begin), row->c_begin, row->c_length};

    PetscCall(DoBatch(A, B, C, &segment, 1, (PetscBool)(begin == 0), -1, s, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the terms of as many of n rows as fit into a batch. *done: how many these are. */
PetscErrorCode AddRows(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const SpGEMMHugeRow rows[], const Slices *s, cudaStream_t stream, PetscCount *done)
{
  const int  spare_bits = 32 - PetscMax(1, DCSRKeyBits(B.num_columns)), max_segments = spare_bits >= 10 ? MAX_SEGMENTS : 1 << spare_bits;
  Segment    segments[MAX_SEGMENTS];
  PetscCount num_entries = 0;
  int64_t    num_terms   = 0;
  int        num         = 0;

  PetscFunctionBegin;
  while (num < n && num < max_segments && num_entries + rows[num].a_length <= CHUNK) {
    segments[num] = {num_entries, rows[num].a_begin, rows[num].a_length, rows[num].c_begin, rows[num].c_length};
    num_entries += rows[num].a_length;
    num_terms += (int64_t)rows[num++].terms;
  }
  *done = num;
  PetscCall(DoBatch(A, B, C, segments, num, PETSC_TRUE, num_terms, s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMNumericHuge - Values of rows of C, rows [n] on the host, by sorting their terms; row offsets and columns are there
  A and B are compact. Synchronizes for every 1,048,576 entries of a longer row of A. Workspace: 60 MiB (88 MiB complex), and what CUB's sort needs for 2,097,152 terms.
*/
PetscErrorCode SpGEMMNumericHuge(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const SpGEMMHugeRow rows[], cudaStream_t stream)
{
  Slices         s;
  PetscErrorCode ierr;
  PetscCount     done;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, AllocateSlices(stream, &s));
  for (PetscCount k = 0; k < n; k += done) {
    done = 1;
    if (rows[k].a_length > CHUNK) PetscCallGoto(ierr, cleanup, AddChunks(A, B, C, &rows[k], &s, stream));
    else PetscCallGoto(ierr, cleanup, AddRows(A, B, C, n - k, rows + k, &s, stream, &done));
  }
cleanup:
  PetscCall(FreeSlices(&s, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
