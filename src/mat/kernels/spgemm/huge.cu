/*
  Values of rows of C for which rows of A are so long that chunks (chunks.cu) would search too much: each of them looks at every row of B. Here the products are
  written out, a slice at a time, sorted by column, and added up column by column. The sort is stable and slices follow one another, so sums have the order of the
  row of A once more.
*/
#include "table.cuh"
#include "../entries/search.cuh"
#include "../entries/temporary.cuh"
#include <petscsparsecuda/insert.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace
{

constexpr PetscCount PIECE  = 1 << 20; // entries of a row of A whose products are numbered together
constexpr PetscCount SLICE  = 1 << 21; // products that are sorted together: 24 bytes each, twice
constexpr int        BLOCKS = 132 * 8;

/* Work space; owned. */
struct Slices {
  int64_t     *firsts;     // [PIECE + 1] number of the first product of each entry of A
  uint32_t    *columns[2]; // [SLICE] of products, and sorted
  PetscScalar *values[2];  // [SLICE]
};

/* Products of each entry of A in a piece, and nothing after the last. */
template <typename Offset>
__global__ void LengthsKernel(Factors<Offset> f, PetscCount begin, PetscCount n, int64_t *lengths)
{
  for (PetscCount k = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; k <= n; k += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    const int32_t column = k < n ? f.a_columns[begin + k] : 0;

    lengths[k] = k < n ? (int64_t)(f.b_offsets[column + 1] - f.b_offsets[column]) : 0;
  }
}

/* Products first to first + n - 1 of a piece. */
template <typename Offset>
__global__ void ExpandKernel(Factors<Offset> f, PetscCount begin, PetscCount num_entries, const int64_t *firsts, int64_t first, PetscCount n, uint32_t *columns, PetscScalar *values)
{
  for (PetscCount p = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; p < n; p += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    PetscCount low = 0, high = num_entries; // the last entry of A whose first product is not after this one

    while (high - low > 1) {
      const PetscCount middle = low + (high - low) / 2;

      if (firsts[middle] <= first + p) low = middle;
      else high = middle;
    }
    const PetscCount b = (PetscCount)f.b_offsets[f.a_columns[begin + low]] + (PetscCount)(first + p - firsts[low]);

    columns[p] = (uint32_t)f.b_columns[b];
    values[p]  = f.a_values[begin + low] * f.b_values[b];
  }
}

/* Adds sorted products to the row: the first of each column takes all of them. */
__global__ void AddSortedKernel(PetscCount n, const uint32_t *columns, const PetscScalar *values, const int32_t *c_columns, PetscScalar *c_values, PetscCount num_entries)
{
  for (PetscCount p = (PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x; p < n; p += (PetscCount)gridDim.x * SPGEMM_THREADS) {
    const uint32_t column = columns[p];

    if (p > 0 && columns[p - 1] == column) continue;
    const PetscCount place = LowerBound(c_columns, (PetscCount)0, num_entries, (int32_t)column);
    PetscScalar      sum   = c_values[place];

    for (PetscCount k = p; k < n && columns[k] == column; k++) sum += values[k];
    c_values[place] = sum;
  }
}

unsigned int NumBlocks(PetscCount n)
{
  return (unsigned int)PetscMax(PetscMin((n + SPGEMM_THREADS - 1) / SPGEMM_THREADS, (PetscCount)BLOCKS), 1);
}

PetscErrorCode FreeSlices(Slices *s, cudaStream_t stream)
{
  PetscFunctionBegin;
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
  PetscCall(PetscSparseCUDAMalloc(PIECE + 1, "products of a long row", stream, &s->firsts));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMalloc(SLICE, "columns of the products of a long row", stream, &s->columns[k]));
    PetscCall(PetscSparseCUDAMalloc(SLICE, "values of the products of a long row", stream, &s->values[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products of entries begin to begin + n - 1 of A join the row. */
template <typename Offset>
PetscErrorCode AddPiece(DCSRView A, DCSRView B, PetscCount begin, PetscCount n, const int32_t *c_columns, PetscScalar *c_values, PetscCount num_entries, const Slices *s, cudaStream_t stream)
{
  const Factors<Offset> f(A, B);
  const int             bits = PetscMax(1, DCSRKeyBits(B.num_columns));
  int64_t               num_products;

  PetscFunctionBegin;
  LengthsKernel<<<NumBlocks(n + 1), SPGEMM_THREADS, 0, stream>>>(f, begin, n, s->firsts);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRWithTemporary("workspace to number products", stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, s->firsts, s->firsts, n + 1, stream); }));
  PetscCallCUDA(cudaMemcpyAsync(&num_products, s->firsts + n, sizeof(num_products), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (int64_t first = 0; first < num_products; first += SLICE) {
    const PetscCount num = PetscMin(SLICE, (PetscCount)(num_products - first));

    ExpandKernel<<<NumBlocks(num), SPGEMM_THREADS, 0, stream>>>(f, begin, n, s->firsts, first, num, s->columns[0], s->values[0]);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(DCSRWithTemporary("workspace to sort products", stream, [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(storage, bytes, s->columns[0], s->columns[1], s->values[0], s->values[1], num, 0, bits, stream); }));
    AddSortedKernel<<<NumBlocks(num), SPGEMM_THREADS, 0, stream>>>(num, s->columns[1], s->values[1], c_columns, c_values, num_entries);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetRange(DCSRView view, PetscCount row, cudaStream_t stream, PetscCount range[2])
{
  int32_t narrow[2];
  int64_t wide[2];

  PetscFunctionBegin;
  if (view.wide) PetscCallCUDA(cudaMemcpyAsync(wide, (const int64_t *)view.row_offsets + row, sizeof(wide), cudaMemcpyDeviceToHost, stream));
  else PetscCallCUDA(cudaMemcpyAsync(narrow, (const int32_t *)view.row_offsets + row, sizeof(narrow), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (int k = 0; k < 2; k++) range[k] = view.wide ? (PetscCount)wide[k] : (PetscCount)narrow[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AddRow(DCSRView A, DCSRView B, DCSRView C, PetscCount row, const Slices *s, cudaStream_t stream)
{
  PetscCount a[2], c[2];

  PetscFunctionBegin;
  PetscCall(GetRange(A, row, stream, a));
  PetscCall(GetRange(C, row, stream, c));
  PetscCallCUDA(cudaMemsetAsync(C.values + c[0], 0, (size_t)(c[1] - c[0]) * sizeof(*C.values), stream));
  for (PetscCount begin = a[0]; begin < a[1]; begin += PIECE) {
    const PetscCount n = PetscMin(PIECE, a[1] - begin);

    if (B.wide) PetscCall(AddPiece<int64_t>(A, B, begin, n, C.columns + c[0], C.values + c[0], c[1] - c[0], s, stream));
    else PetscCall(AddPiece<int32_t>(A, B, begin, n, C.columns + c[0], C.values + c[0], c[1] - c[0], s, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMNumericHuge - Values of rows of C, one after the other, by sorting their products.

  Input Parameters:
+ A, B   - compact operands
. C      - row offsets and columns are there, values of the rows are written
. n      - rows
. list   - [n] host
- stream - synchronizes for every 1,048,576 entries of a row of A

  Workspace: 60 MiB (88 MiB complex), and what CUB's sort needs for 2,097,152 products.
*/
PetscErrorCode SpGEMMNumericHuge(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  Slices         s;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, AllocateSlices(stream, &s));
  for (PetscCount k = 0; k < n; k++) PetscCallGoto(ierr, cleanup, AddRow(A, B, C, list[k], &s, stream));
cleanup:
  PetscCall(FreeSlices(&s, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
