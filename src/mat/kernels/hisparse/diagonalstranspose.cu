/*
  The lists that products with the transpose read: segments of diagonals by slices of columns.

  A segment of a slice of rows lies in one or two slices of columns. Each part becomes a key of slice of columns, number of the diagonal in it (row - column), and slice of rows. One sort brings parts
  with the same diagonal of the same slice of columns together, at most two, and they are one segment of the transpose. The values stay where they are: a segment of the transpose knows the positions
  of both parts.
*/
#include "diagonals.cuh"
#include "../common/foreach.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/sort.h"
#include <petscsparsecuda/transpose.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / HISPARSE_WARP;
constexpr int SLICE_SHIFT = 7;
static_assert(1 << SLICE_SHIFT == HISPARSE_SLICE_ROWS, "Slices are found by shifts");

/* Keys: slice of columns, r0 + 127, and 1 when the rows lie in the second of the two slices that the segment of the transpose has rows in. */
struct Keys {
  int r0_bits, slice_bits;

  __host__ __device__ uint64_t Make(uint64_t slice, int32_t r0, unsigned int second) const { return (slice << r0_bits | (uint64_t)(r0 + (HISPARSE_SLICE_ROWS - 1))) << 1 | second; }
  __device__ int32_t           R0(uint64_t key) const { return (int32_t)(key >> 1 & ((1ull << r0_bits) - 1)) - (HISPARSE_SLICE_ROWS - 1); }
  __device__ PetscInt          RowSlice(uint64_t key) const { return (PetscInt)(R0(key) >> SLICE_SHIFT) + (PetscInt)(key & 1); }
};

/* Bits of a mask that are below border, 0 to 128. */
__device__ __forceinline__ unsigned int CountBelow(const uint32_t mask[HISPARSE_SLICE_WORDS], int border)
{
  unsigned int n = 0;

#pragma unroll
  for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) {
    const int bits = border - 32 * w;

    n += __popc(bits >= 32 ? mask[w] : bits > 0 ? mask[w] & ((1u << bits) - 1u) : 0);
  }
  return n;
}

/* Word w of a mask shifted up by shift, -127 to 127. */
__device__ __forceinline__ uint32_t ShiftedWord(const uint32_t mask[HISPARSE_SLICE_WORDS], int w, int shift)
{
  const int words = shift >> 5, bits = shift & 31, k = w - words; // shift == 32 * words + bits
  uint32_t  low = 0, high = 0;

#pragma unroll
  for (int j = 0; j < HISPARSE_SLICE_WORDS; j++) {
    if (j == k) high = mask[j];
    if (j == k - 1) low = mask[j];
  }
  return bits == 0 ? high : high << bits | low >> (32 - bits);
}

/* A warp writes the keys of a slice's segments; a part without entries has the largest key there is. */
__global__ void __launch_bounds__(THREADS) MakeKeysKernel(PetscInt num_slices, const HiSparseSlice *slices, const HiSparseSegment *segments, Keys keys, uint64_t *out, uint32_t *numbers)
{
  const int      lane  = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt slice = (PetscInt)blockIdx.x * WARPS + (PetscInt)threadIdx.x / HISPARSE_WARP;

  if (slice >= num_slices) return;
  const HiSparseSlice s = slices[slice];

  for (uint32_t k = s.first_segment + (uint32_t)lane; k < s.first_segment + s.num_segments; k += HISPARSE_WARP) {
    const HiSparseSegment segment      = segments[k];
    const PetscInt        column_slice = segment.c0 >> SLICE_SHIFT; // -1: before the first
    const int             offset       = segment.c0 & (HISPARSE_SLICE_ROWS - 1);
    const unsigned int    all = BitsBefore(segment.mask, HISPARSE_SLICE_WORDS), first = CountBelow(segment.mask, HISPARSE_SLICE_ROWS - offset);
    const int32_t         r0 = (int32_t)(slice * HISPARSE_SLICE_ROWS) - offset;

    out[2 * (size_t)k]         = first > 0 ? keys.Make((uint64_t)column_slice, r0, offset > 0) : UINT64_MAX;
    out[2 * (size_t)k + 1]     = first < all ? keys.Make((uint64_t)(column_slice + 1), r0 + HISPARSE_SLICE_ROWS, 0) : UINT64_MAX;
    numbers[2 * (size_t)k]     = k;
    numbers[2 * (size_t)k + 1] = k;
  }
}

/* 1 for the first part of a segment of the transpose. */
struct MarkHead {
  const uint64_t *keys;
  uint32_t       *heads; // [parts + 1]
  PetscCount      parts; // that have entries
  __device__ void operator()(PetscCount k) const { heads[k] = k < parts && (k == 0 || keys[k - 1] >> 1 != keys[k] >> 1); }
};

/* A segment of the transpose of its first part, and of its second if there is one. */
struct WriteSegments {
  Keys                       keys;
  const uint64_t            *sorted;
  const uint32_t            *numbers, *positions; // [parts]; [parts + 1] segments before each part
  PetscCount                 parts;
  const HiSparseSlice       *slices;
  const HiSparseSegment     *segments;
  HiSparseTransposedSegment *transposed;

  /* Adds the bits of a part, and says where its values begin. */
  __device__ uint64_t AddPart(PetscCount k, uint32_t mask[HISPARSE_SLICE_WORDS]) const
  {
    const HiSparseSegment segment   = segments[numbers[k]];
    const PetscInt        row_slice = keys.RowSlice(sorted[k]);
    const int             shift     = (int)((int64_t)row_slice * HISPARSE_SLICE_ROWS - keys.R0(sorted[k])); // column in its slice - row in its slice

#pragma unroll
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) mask[w] |= ShiftedWord(segment.mask, w, shift);
    return (uint64_t)slices[row_slice].values + segment.values + CountBelow(segment.mask, -shift); // rows whose columns are before the slice come first
  }

  __device__ void operator()(PetscCount k) const
  {
    uint32_t mask[HISPARSE_SLICE_WORDS] = {};
    uint64_t position[2]                = {0, 0}, start;
    uint32_t before                     = 0;

    if (positions[k] == positions[k + 1]) return; // the second part
    for (PetscCount part = k; part <= k + 1 && part < parts && sorted[part] >> 1 == sorted[k] >> 1; part++) {
      start                      = AddPart(part, mask);
      position[sorted[part] & 1] = start - before;
      before                     = BitsBefore(mask, HISPARSE_SLICE_WORDS);
    }
    transposed[positions[k]] = {{mask[0], mask[1], mask[2], mask[3]},
                                keys.R0(sorted[k]),
                                (uint32_t)position[0],
                                (uint32_t)position[1],
                                (uint32_t)(position[0] >> 32) | (uint32_t)(position[1] >> 32) << 16};
  }
};

/* The first segment of each slice of columns. */
struct FindSlice {
  Keys            keys;
  const uint64_t *sorted;
  const uint32_t *positions;
  PetscCount      parts;
  uint32_t       *slices;

  __device__ void operator()(PetscInt slice) const { slices[slice] = positions[LowerBound(sorted, (PetscCount)0, parts, keys.Make((uint64_t)slice, -(HISPARSE_SLICE_ROWS - 1), 0))]; }
};

/* What is made, as in HiSparseDiagonals. */
struct TransposedList {
  HiSparseTransposedSegment *segments;
  uint32_t                  *slices, *parts;
  int32_t                   *slice_parts;
  PetscScalar               *part_sums;
  PetscCount                 num_segments;
  PetscInt                   num_parts;
};

PetscErrorCode DestroyList(TransposedList *l, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&l->segments, stream));
  PetscCall(PetscSparseCUDAFree(&l->slices, stream));
  PetscCall(PetscSparseCUDAFree(&l->parts, stream));
  PetscCall(PetscSparseCUDAFree(&l->slice_parts, stream));
  PetscCall(PetscSparseCUDAFree(&l->part_sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that exist while the list is made. */
struct Work {
  uint64_t  *keys[2];    // [2 * segments]
  uint32_t  *numbers[2]; // [2 * segments] segment of each part
  uint32_t  *positions;  // [parts + 1]
  PetscCount parts;
};

/* Counts the keys that are not the largest there is. */
struct CountParts {
  const uint64_t *sorted;
  PetscCount      n;
  PetscCount     *parts;
  __device__ void operator()(int) const { *parts = LowerBound(sorted, (PetscCount)0, n, (uint64_t)UINT64_MAX); }
};

PetscErrorCode SortParts(const HiSparseDiagonals *d, Keys keys, Work *work, cudaStream_t stream)
{
  const PetscCount n = 2 * d->num_segments;
  PetscCount      *parts;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAMalloc(n, "keys of transposed segments", stream, &work->keys[i]));
    PetscCall(PetscSparseCUDAMalloc(n, "numbers of transposed segments", stream, &work->numbers[i]));
  }
  MakeKeysKernel<<<DCSRNumBlocks((PetscCount)d->num_slices, WARPS), THREADS, 0, stream>>>(d->num_slices, d->slices, d->segments, keys, work->keys[0], work->numbers[0]);
  PetscCallCUDA(cudaGetLastError());
  // the largest key has a bit above all others, so that it comes last
  PetscCall(DCSRSortBuffers64With32("sort of transposed segments", n, keys.r0_bits + keys.slice_bits + 2, work->keys, work->numbers, stream));
  parts = (PetscCount *)work->keys[1];
  PetscCallCUDA(DCSRForEach(1, CountParts{work->keys[0], n, parts}, stream));
  PetscCallCUDA(cudaMemcpyAsync(&work->parts, parts, sizeof(work->parts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAFree(&work->keys[1], stream));
  PetscCall(PetscSparseCUDAFree(&work->numbers[1], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of work's parts by slices of columns; *l owns what is made, also after an error. */
PetscErrorCode WriteList(const HiSparseDiagonals *d, Keys keys, Work *work, cudaStream_t stream, TransposedList *l)
{
  const PetscCount n = work->parts + 1;
  uint32_t         total;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "positions of transposed segments", stream, &work->positions));
  PetscCallCUDA(DCSRForEach(n, MarkHead{work->keys[0], work->positions, work->parts}, stream));
  PetscCall(DCSRExclusiveSum("positions of transposed segments", work->positions, n, stream));
  PetscCallCUDA(cudaMemcpyAsync(&total, work->positions + work->parts, sizeof(total), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  l->num_segments = (PetscCount)total;
  PetscCall(PetscSparseCUDAMalloc(total, "segments of diagonals of the transpose", stream, &l->segments));
  PetscCall(PetscSparseCUDAMalloc((size_t)d->num_column_slices + 1, "slices of diagonals of the transpose", stream, &l->slices));
  PetscCallCUDA(DCSRForEach(work->parts, WriteSegments{keys, work->keys[0], work->numbers[0], work->positions, work->parts, d->slices, d->segments, l->segments}, stream));
  PetscCallCUDA(DCSRForEach((PetscInt)(d->num_column_slices + 1), FindSlice{keys, work->keys[0], work->positions, work->parts, l->slices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BitsOf(PetscCount n, int *bits)
{
  PetscFunctionBegin;
  *bits = 1;
  while (n >> *bits > 0) (*bits)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateList(const HiSparseDiagonals *d, cudaStream_t stream, TransposedList *l)
{
  Work           work = {};
  Keys           keys;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BitsOf((PetscCount)d->num_rows + HISPARSE_SLICE_ROWS, &keys.r0_bits));
  PetscCall(BitsOf((PetscCount)d->num_column_slices, &keys.slice_bits));
  PetscCallGoto(ierr, cleanup, SortParts(d, keys, &work, stream));
  PetscCallGoto(ierr, cleanup, WriteList(d, keys, &work, stream, l));
cleanup:
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscSparseCUDAFree(&work.keys[i], stream));
    PetscCall(PetscSparseCUDAFree(&work.numbers[i], stream));
  }
  PetscCall(PetscSparseCUDAFree(&work.positions, stream));
  PetscFunctionReturn(ierr);
}

/* Segments that one warp sums, when a slice of columns has more. */
constexpr uint32_t MAX_PART_SEGMENTS = 512;

/* How many parts a slice of columns has. */
struct CountSliceParts {
  const uint32_t *slices; // [num_slices + 1] first segment
  PetscInt        num_slices;
  int32_t        *parts; // [num_slices + 1]
  __device__ void operator()(PetscInt slice) const { parts[slice] = slice < num_slices ? (int32_t)max((slices[slice + 1] - slices[slice] + MAX_PART_SEGMENTS - 1) / MAX_PART_SEGMENTS, 1u) : 0; }
};

/* The first segments of the parts of a slice, and the end. */
struct WriteParts {
  const uint32_t *slices;
  PetscInt        num_slices;
  const int32_t  *first_parts; // [num_slices + 1]
  uint32_t       *parts;

  __device__ void operator()(PetscInt slice) const
  {
    if (slice == num_slices) parts[first_parts[slice]] = slices[slice];
    else
      for (int32_t part = first_parts[slice]; part < first_parts[slice + 1]; part++) parts[part] = slices[slice] + (uint32_t)(part - first_parts[slice]) * MAX_PART_SEGMENTS;
  }
};

/* Parts of slices of columns, when some have very many segments. *l owns what is made, also after an error. */
PetscErrorCode SplitSlices(const HiSparseDiagonals *d, cudaStream_t stream, TransposedList *l)
{
  const PetscInt n = d->num_column_slices + 1;
  int32_t        num_parts;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "parts of slices of the transpose", stream, &l->slice_parts));
  PetscCallCUDA(DCSRForEach(n, CountSliceParts{l->slices, d->num_column_slices, l->slice_parts}, stream));
  PetscCall(DCSRExclusiveSum("parts of slices of the transpose", l->slice_parts, (PetscCount)n, stream));
  PetscCallCUDA(cudaMemcpyAsync(&num_parts, l->slice_parts + d->num_column_slices, sizeof(num_parts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (num_parts == d->num_column_slices || (PetscCount)num_parts * HISPARSE_SLICE_ROWS > (PetscCount)INT32_MAX) { // sums are counted in PetscInt
    PetscCall(PetscSparseCUDAFree(&l->slice_parts, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  l->num_parts = num_parts;
  PetscCall(PetscSparseCUDAMalloc((size_t)num_parts + 1, "first segments of parts of the transpose", stream, &l->parts));
  PetscCall(PetscSparseCUDAMalloc((size_t)num_parts * HISPARSE_SLICE_ROWS, "sums of parts of slices of the transpose", stream, &l->part_sums));
  PetscCallCUDA(DCSRForEach(n, WriteParts{l->slices, d->num_column_slices, l->slice_parts, l->parts}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the remainder become rows of the matrix. */
struct MapColumns {
  int32_t        *columns;
  const int32_t  *rows;
  __device__ void operator()(PetscCount k) const { columns[k] = rows[columns[k]]; }
};

/* The transpose of the remainder, *remainder and *permutation are 0 before and after an error. */
PetscErrorCode TransposeRemainder(const HiSparseDiagonals *d, cudaStream_t stream, HiSparseRemainder *remainder, void **permutation)
{
  const DCSRView view = d->remainder.view;
  DCSRView       transpose;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRViewAllocateStructure(view.num_columns, view.num_rows, view.num_nonzeros, view.wide, stream, &transpose));
  PetscCallGoto(ierr, failed,
                PetscSparseCUDAMalloc_Private((size_t)view.num_nonzeros * (view.wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of entries outside of diagonals", stream, permutation));
  PetscCallGoto(ierr, failed, DCSRTranspose(view, PETSC_FALSE, transpose, *permutation, stream));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(view.num_nonzeros, MapColumns{transpose.columns, d->remainder.rows}, stream));
  transpose.num_columns = d->num_rows;
  PetscCallGoto(ierr, failed, HiSparseRemainderCreate(transpose, stream, remainder));
  transpose.columns = NULL; // the remainder's now
  PetscCall(DCSRViewFree(&transpose, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&transpose, stream));
  PetscCall(PetscSparseCUDAFree(permutation, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/*
  HiSparseDiagonalsTransposeCreate - what products with the transpose read, when it is not there

  Synchronizes when there is something to make. Errors: PETSC_ERR_MEM; the structure is as it was.

  Cost: a radix sort of two keys a segment; workspace: 48 bytes a segment. With entries outside of diagonals the explicit transpose of these.
*/
PetscErrorCode HiSparseDiagonalsTransposeCreate(HiSparseDiagonals *d, cudaStream_t stream)
{
  TransposedList    list        = {};
  HiSparseRemainder remainder   = {};
  void             *permutation = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  if (d->transposed_slices != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, CreateList(d, stream, &list));
  PetscCallGoto(ierr, failed, SplitSlices(d, stream, &list));
  PetscCallGoto(ierr, failed, TransposeRemainder(d, stream, &remainder, &permutation));
  d->transposed_segments     = list.segments;
  d->num_transposed_segments = list.num_segments;
  d->transposed_slices       = list.slices;
  d->num_transposed_parts    = list.num_parts;
  d->transposed_parts        = list.parts;
  d->transposed_slice_parts  = list.slice_parts;
  d->part_sums               = list.part_sums;
  d->transposed_remainder    = remainder;
  d->permutation             = permutation;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DestroyList(&list, stream));
  PetscFunctionReturn(ierr);
}
