/*
  Masked diagonals from compact CSR.

  A warp takes a slice of 128 rows, a lane four of them, 32 apart. The rows are merged by the numbers of their diagonals, column - row: each step takes the smallest number that is left, one reduction
  over the warp, and the lanes whose next entry has it are the bits of the mask, one ballot a 32-row group. So diagonals come sorted, without a table, after as many steps as the slice has diagonals.
  The columns wait in shared memory.

  A diagonal that has enough entries becomes a segment, at a position that follows from the row offsets, since every segment has so many entries at least. Prefix sums of what slices have say where the
  segments belong, and a copy takes them there.
  Values are not touched here: that is diagonalsvalues.cu. Entries that are in no segment are found by a second merge, of the slices that have such.
*/
#include "diagonals.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;
constexpr int ROWS = HISPARSE_SLICE_WORDS; // of a lane

/* Segments that a slice may have, since one warp takes them all; further entries go to the remainder. */
constexpr unsigned int MAX_SLICE_SEGMENTS = 512;
/* More entries outside of segments than one in MAX_REMAINDER_PART, and the format does not fit. */
constexpr PetscCount MAX_REMAINDER_PART = 2;
/*
  Entries outside of segments take two kernels of their own in every product, 5 to 6 us on an NVIDIA H200, however few they are. Not more of them than one for so many segments become segments as well,
  which are then too few to be noticed. Larger matrices do not notice two kernels; the workspace of the second pass would be 24 bytes an entry.
*/
constexpr PetscCount FEW_OUTSIDE_PART = 16, FEW_OUTSIDE_NONZEROS = 32000000;
/* Columns of a slice in shared memory: so many at least, so many times the mean at least, and so many bytes at most for a thread block. Slices with more are read from where they are. */
constexpr int    MIN_STAGED       = 1024;
constexpr double STAGED_OVER_MEAN = 1.25;

constexpr int32_t NO_DIAGONAL = INT32_MAX; // columns are smaller

/* What the kernels read, and where they leave what they find. */
struct EncodeArguments {
  const void    *row_offsets;
  const int32_t *columns;
  PetscInt       num_rows, num_slices;
  unsigned int   staged;   // columns that a warp has room for in shared memory
  int            min_part; // a diagonal with fewer entries in a slice than one in so many of its rows is no segment

  HiSparseSegment    *segments;        // segments of a slice from position (first entry of the slice) / (fewest entries of a segment) on
  PetscCount         *num_values;      // [num_slices + 1] of a slice; afterwards of the slices before
  PetscCount         *num_segments;    // [num_slices + 1] the same
  int32_t            *remainder_sizes; // [num_rows + 1] entries of a row that are in no segment
  unsigned long long *max_quarter;     // most entries in 32 rows
};

__device__ __forceinline__ int32_t WarpMin(int32_t v)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_min_sync(HISPARSE_FULL_MASK, v);
#else
  for (int d = HISPARSE_WARP / 2; d > 0; d /= 2) v = min(v, __shfl_xor_sync(HISPARSE_FULL_MASK, v, d));
  return v;
#endif
}

/* Rows of a slice, and the entries that become a segment. */
__device__ __forceinline__ unsigned int MinSegment(const EncodeArguments &a, PetscInt slice)
{
  const PetscInt rows = min((PetscInt)HISPARSE_SLICE_ROWS, a.num_rows - slice * HISPARSE_SLICE_ROWS);

  return (unsigned int)((rows + a.min_part - 1) / a.min_part);
}

/* Calls visit(c0, mask, number) for every diagonal of the slice, ascending; number counts segments, visit returns it. Whole warps. */
template <typename Offset, typename Visit>
__device__ __forceinline__ void ForEachDiagonal(const EncodeArguments &a, PetscInt slice, int lane, int32_t *staged, Visit visit)
{
  const Offset  *row_offsets = (const Offset *)a.row_offsets;
  const PetscInt first       = slice * HISPARSE_SLICE_ROWS;
  const Offset   begin = row_offsets[first], end = row_offsets[min(first + HISPARSE_SLICE_ROWS, a.num_rows)];
  const int32_t *columns = a.columns + begin;
  const int32_t *next[ROWS], *last[ROWS];
  int32_t        head[ROWS], after[ROWS]; // of each row, the numbers of its next two diagonals

  if ((PetscCount)(end - begin) <= (PetscCount)a.staged) {
    CopyToShared(staged, columns, (unsigned int)(end - begin), lane);
    columns = staged;
  }
  __syncwarp();
#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const int      i   = w * HISPARSE_WARP + lane;
    const PetscInt row = min(first + i, a.num_rows);

    next[w]  = columns + (row_offsets[row] - begin);
    last[w]  = columns + (row_offsets[min(row + 1, a.num_rows)] - begin);
    head[w]  = next[w] < last[w] ? *next[w]++ - i : NO_DIAGONAL;
    after[w] = next[w] < last[w] ? *next[w]++ - i : NO_DIAGONAL;
  }
  for (;;) {
    const int32_t c0 = WarpMin(min(min(head[0], head[1]), min(head[2], head[3])));
    uint32_t      mask[ROWS];

    if (c0 == NO_DIAGONAL) break;
#pragma unroll
    for (int w = 0; w < ROWS; w++) mask[w] = __ballot_sync(HISPARSE_FULL_MASK, head[w] == c0);
    visit(c0, mask);
#pragma unroll
    for (int w = 0; w < ROWS; w++) {
      if (head[w] != c0) continue;
      head[w]  = after[w];
      after[w] = next[w] < last[w] ? *next[w]++ - (w * HISPARSE_WARP + lane) : NO_DIAGONAL;
    }
  }
}

/* Whether a diagonal with so many entries becomes a segment of a slice that has so many segments. */
__device__ __forceinline__ bool IsSegment(unsigned int entries, unsigned int min_segment, unsigned int num_segments)
{
  return entries >= min_segment && num_segments < MAX_SLICE_SEGMENTS;
}

/* The most entries of 32 rows of the slice. */
template <typename Offset>
__device__ __forceinline__ void NoteQuarters(const EncodeArguments &a, PetscInt slice, int lane)
{
  if (lane < HISPARSE_SLICE_WORDS) {
    const PetscInt     first = min(slice * HISPARSE_SLICE_ROWS + lane * HISPARSE_WARP, a.num_rows), last = min(first + HISPARSE_WARP, a.num_rows);
    unsigned long long entries = (unsigned long long)(((const Offset *)a.row_offsets)[last] - ((const Offset *)a.row_offsets)[first]);

    if (entries > *(volatile unsigned long long *)a.max_quarter) atomicMax(a.max_quarter, entries);
  }
}

/* The segments of all slices, and how many entries of each row are in none. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) FindSegmentsKernel(const EncodeArguments a)
{
  extern __shared__ int32_t staged[];
  const int                 lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscInt            slice = (PetscInt)blockIdx.x * WARPS + warp, first = slice * HISPARSE_SLICE_ROWS;
  unsigned int              num_segments = 0, num_values = 0;
  int32_t                   outside[ROWS] = {};
  HiSparseSegment          *segments;

  if (slice >= a.num_slices) return; // whole warps
  const unsigned int min_segment = MinSegment(a, slice);

  segments = a.segments + ((const Offset *)a.row_offsets)[first] / (HISPARSE_SLICE_ROWS / a.min_part);
  ForEachDiagonal<Offset>(a, slice, lane, staged + (size_t)warp * a.staged, [&](int32_t c0, const uint32_t(&mask)[ROWS]) {
    const unsigned int entries = BitsBefore(mask, ROWS);

    if (IsSegment(entries, min_segment, num_segments)) {
      if (lane == 0) segments[num_segments] = {{mask[0], mask[1], mask[2], mask[3]}, c0, num_values};
      num_segments++;
      num_values += entries;
    } else {
#pragma unroll
      for (int w = 0; w < ROWS; w++) outside[w] += mask[w] >> lane & 1u;
    }
  });
#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const PetscInt row = first + w * HISPARSE_WARP + lane;

    if (row < a.num_rows) a.remainder_sizes[row] = outside[w];
  }
  if (lane == 0) {
    a.num_segments[slice] = (PetscCount)num_segments;
    a.num_values[slice]   = (PetscCount)num_values;
  }
  if (slice == a.num_slices - 1 && lane == 0) {
    a.num_segments[a.num_slices]  = 0;
    a.num_values[a.num_slices]    = 0;
    a.remainder_sizes[a.num_rows] = 0;
  }
  NoteQuarters<Offset>(a, slice, lane);
}

/* Slices, and the segments without gaps. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) GatherSegmentsKernel(const EncodeArguments a, HiSparseSlice *slices, HiSparseSegment *segments)
{
  constexpr unsigned int words = sizeof(HiSparseSegment) / sizeof(uint2);
  const int              lane  = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt         slice = (PetscInt)blockIdx.x * WARPS + (PetscInt)threadIdx.x / HISPARSE_WARP;

  if (slice >= a.num_slices) return;
  const PetscCount   begin = a.num_segments[slice];
  const unsigned int n     = (unsigned int)(a.num_segments[slice + 1] - begin);
  const uint2       *from  = (const uint2 *)(a.segments + ((const Offset *)a.row_offsets)[slice * HISPARSE_SLICE_ROWS] / (HISPARSE_SLICE_ROWS / a.min_part));

  for (unsigned int k = (unsigned int)lane; k < n * words; k += HISPARSE_WARP) ((uint2 *)(segments + begin))[k] = from[k];
  if (lane == 0) slices[slice] = {(int64_t)a.num_values[slice], (uint32_t)begin, n};
}

/* The columns of the entries in no segment, to the rows of a CSR matrix. */
template <typename Offset, typename RemainderOffset>
__global__ void __launch_bounds__(THREADS) FillRemainderKernel(const EncodeArguments a, const RemainderOffset *remainder_offsets, int32_t *columns)
{
  extern __shared__ int32_t staged[];
  const int                 lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscInt            slice = (PetscInt)blockIdx.x * WARPS + warp, first = slice * HISPARSE_SLICE_ROWS;
  unsigned int              num_segments = 0;
  int32_t                  *next[ROWS];

  if (slice >= a.num_slices || remainder_offsets[first] == remainder_offsets[min(first + HISPARSE_SLICE_ROWS, a.num_rows)]) return; // whole warps
  const unsigned int min_segment = MinSegment(a, slice);

#pragma unroll
  for (int w = 0; w < ROWS; w++) next[w] = columns + remainder_offsets[min(first + w * HISPARSE_WARP + lane, a.num_rows)];
  ForEachDiagonal<Offset>(a, slice, lane, staged + (size_t)warp * a.staged, [&](int32_t c0, const uint32_t(&mask)[ROWS]) {
    if (IsSegment(BitsBefore(mask, ROWS), min_segment, num_segments)) num_segments++;
    else {
#pragma unroll
      for (int w = 0; w < ROWS; w++)
        if (mask[w] >> lane & 1u) *next[w]++ = c0 + w * HISPARSE_WARP + lane;
    }
  });
}

/* Shared memory of a thread block, and what a warp may put there. */
template <typename Kernel>
PetscErrorCode SetStaged(Kernel kernel, DCSRView csr, EncodeArguments *a, size_t *bytes)
{
  DCSRDeviceFacts facts;
  const double    mean = STAGED_OVER_MEAN * (double)csr.num_nonzeros / (double)a->num_slices;
  size_t          most;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  most      = (size_t)facts.block_shared_bytes / (WARPS * sizeof(int32_t));
  a->staged = mean > (double)most ? (unsigned int)most : (unsigned int)PetscMin(most, (size_t)mean + MIN_STAGED);
  *bytes    = (size_t)a->staged * WARPS * sizeof(int32_t);
  PetscCallCUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)*bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exclusive prefix sums in place. */
template <typename T>
PetscErrorCode PrefixSum(T *sums, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRExclusiveSum("prefix sums of slices", sums, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Segments in their first positions, and what slices have. The host learns how much that is. */
template <typename Offset>
PetscErrorCode FindSegments(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  unsigned long long max_quarter;
  size_t             bytes;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(csr.num_nonzeros / (HISPARSE_SLICE_ROWS / a->min_part) + MAX_SLICE_SEGMENTS, "segments of diagonals in their first positions", stream, &a->segments));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_slices + 1, "values of slices", stream, &a->num_values));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_slices + 1, "segments of slices", stream, &a->num_segments));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_rows + 1, "entries of rows outside of diagonals", stream, &a->remainder_sizes));
  PetscCall(PetscSparseCUDAMalloc(1, "largest quarter of a slice", stream, &a->max_quarter));
  PetscCallCUDA(cudaMemsetAsync(a->max_quarter, 0, sizeof(*a->max_quarter), stream));
  PetscCall(SetStaged(FindSegmentsKernel<Offset>, csr, a, &bytes));
  FindSegmentsKernel<Offset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, bytes, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PrefixSum(a->num_values, (PetscCount)a->num_slices + 1, stream));
  PetscCall(PrefixSum(a->num_segments, (PetscCount)a->num_slices + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&d->num_segment_values, a->num_values + a->num_slices, sizeof(d->num_segment_values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&d->num_segments, a->num_segments + a->num_slices, sizeof(d->num_segments), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&max_quarter, a->max_quarter, sizeof(max_quarter), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  d->max_quarter = (PetscCount)max_quarter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode GatherSegments(EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(a->num_slices, "slices of diagonals", stream, &d->slices));
  PetscCall(PetscSparseCUDAMalloc(d->num_segments, "segments of diagonals", stream, &d->segments));
  GatherSegmentsKernel<Offset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, 0, stream>>>(*a, d->slices, d->segments);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&a->segments, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, typename RemainderOffset>
PetscErrorCode FillRemainder(DCSRView csr, EncodeArguments *a, DCSRView view, cudaStream_t stream)
{
  RemainderOffset *offsets = (RemainderOffset *)view.row_offsets;
  size_t           bytes;

  PetscFunctionBegin;
  PetscCall(DCSROffsetsFromSizes("row offsets outside of diagonals", a->remainder_sizes, (PetscCount)a->num_rows, offsets, stream));
  PetscCall(SetStaged((FillRemainderKernel<Offset, RemainderOffset>), csr, a, &bytes));
  FillRemainderKernel<Offset, RemainderOffset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, bytes, stream>>>(*a, offsets, view.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode EncodeRemainder(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  const PetscCount n = csr.num_nonzeros - d->num_segment_values;
  PetscBool        wide;
  DCSRView         view;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateStructure(csr.num_rows, csr.num_columns, n, wide, stream, &view));
  if (wide) PetscCallGoto(ierr, cleanup, (FillRemainder<Offset, int64_t>(csr, a, view, stream)));
  else PetscCallGoto(ierr, cleanup, (FillRemainder<Offset, int32_t>(csr, a, view, stream)));
  PetscCallGoto(ierr, cleanup, HiSparseRemainderCreate(view, stream, &d->remainder));
  view.columns = NULL; // the remainder's now
  PetscCallGoto(ierr, cleanup, HiSparseRemainderFindSlices(&d->remainder, d->num_slices, stream, &d->remainder_slices));
cleanup:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

PetscErrorCode FreeFound(EncodeArguments *a, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&a->segments, stream));
  PetscCall(PetscSparseCUDAFree(&a->num_values, stream));
  PetscCall(PetscSparseCUDAFree(&a->num_segments, stream));
  PetscCall(PetscSparseCUDAFree(&a->remainder_sizes, stream));
  PetscCall(PetscSparseCUDAFree(&a->max_quarter, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few entries outside of segments become segments, too. */
template <typename Offset>
PetscErrorCode FindSegmentsForFew(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  const PetscCount outside = csr.num_nonzeros - d->num_segment_values;

  PetscFunctionBegin;
  if (outside == 0 || outside > d->num_segments / FEW_OUTSIDE_PART || csr.num_nonzeros > FEW_OUTSIDE_NONZEROS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FreeFound(a, stream));
  a->min_part = HISPARSE_SLICE_ROWS;
  PetscCall(FindSegments<Offset>(csr, a, stream, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Encode(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits)
{
  PetscFunctionBegin;
  PetscCall(FindSegments<Offset>(csr, a, stream, d));
  PetscCall(FindSegmentsForFew<Offset>(csr, a, stream, d));
  *fits = (PetscBool)(csr.num_nonzeros - d->num_segment_values <= csr.num_nonzeros / MAX_REMAINDER_PART &&
                      2 * d->num_segments < (PetscCount)UINT32_MAX); // parts of segments in the transpose are counted in 32 bits
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GatherSegments<Offset>(a, stream, d));
  if (d->num_segment_values < csr.num_nonzeros) PetscCall(EncodeRemainder<Offset>(csr, a, stream, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsEncode - the structure of compact CSR as masked diagonals, but for what the transpose needs

  Values of csr are not read. A diagonal with fewer entries in a slice than one in min_part of its rows, a power of 2 up to 128, is no segment, unless there are very few such entries. d is 0 but for
  what the caller set, and the caller frees it also after an error. fits PETSC_FALSE: more than half of the entries are on diagonals with too few entries, or there are more than 2^31 rows or segments.
  Synchronizes. Errors:
  PETSC_ERR_MEM.

  Cost: a read of the columns, and a step of a warp for each diagonal of each slice; the same once more where few entries are in no segment, and another read where many are. Workspace: 4 bytes a row,
  and an entry 24 bytes over the fewest entries of a segment in a slice of 128 rows, which is one where few entries are in no segment.
*/
PetscErrorCode HiSparseDiagonalsEncode(DCSRView csr, int min_part, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits)
{
  EncodeArguments a = {};
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if ((PetscCount)csr.num_rows >= (PetscCount)PETSC_INT32_MAX) PetscFunctionReturn(PETSC_SUCCESS); // rows are 32 bits wide in the transpose
  d->num_rows          = csr.num_rows;
  d->num_columns       = csr.num_columns;
  d->num_nonzeros      = csr.num_nonzeros;
  d->num_slices        = (csr.num_rows + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS;
  d->num_column_slices = (csr.num_columns + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS;
  a.row_offsets        = csr.row_offsets;
  a.columns            = csr.columns;
  a.num_rows           = csr.num_rows;
  a.num_slices         = d->num_slices;
  a.min_part           = min_part;
  if (csr.wide) PetscCallGoto(ierr, cleanup, Encode<int64_t>(csr, &a, stream, d, fits));
  else PetscCallGoto(ierr, cleanup, Encode<int32_t>(csr, &a, stream, d, fits));
cleanup:
  PetscCall(FreeFound(&a, stream));
  PetscFunctionReturn(ierr);
}

HiSparsePreload(FindSegmentsKernel<int32_t>);
HiSparsePreload(GatherSegmentsKernel<int32_t>);
