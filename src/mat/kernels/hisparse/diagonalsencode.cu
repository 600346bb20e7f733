/*
  Masked diagonals from compact CSR.

  A warp takes a slice of 128 rows, a lane four of them, 32 apart. The rows are merged by the numbers of their diagonals, column - row: each step takes the smallest number that is left, one reduction over the
  warp, and the lanes whose next entry has it are the bits of the mask, one ballot a word. So diagonals come sorted, without a table, after as many steps as the slice has diagonals. The columns wait in shared memory.

  A diagonal that has enough entries becomes a piece, at a place that the row offsets tell, since every piece has so many entries at least. Prefix sums of what slices have say where the pieces belong, and a copy takes them there.
  Values are not touched here: that is diagonalsvalues.cu. Entries that are in no piece are found by a second merge, of the slices that have such.
*/
#include "diagonals.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;
constexpr int ROWS = HISPARSE_SLICE_WORDS; // of a lane

/* Pieces that a slice may have, since one warp takes them all; further entries go to the overflow. */
constexpr unsigned int MAX_SLICE_PIECES = 512;
/* More entries outside of pieces than one in MAX_OVERFLOW_PART, and the format does not fit. */
constexpr PetscCount MAX_OVERFLOW_PART = 2;
/*
  Entries outside of pieces take two kernels of their own in every product, 5 to 6 us on an NVIDIA H200, however few they are. Not more of them than one for so many pieces become pieces as well, which are then too few to be
  noticed. Larger matrices do not notice two kernels; the workspace of the second look would be 24 bytes an entry.
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
  int            min_part; // a diagonal with fewer entries in a slice than one in so many of its rows is no piece

  HiSparsePiece      *pieces;         // pieces of a slice from place (first entry of the slice) / (fewest entries of a piece) on
  PetscCount         *num_values;     // [num_slices + 1] of a slice; afterwards of the slices before
  PetscCount         *num_pieces;     // [num_slices + 1] the same
  int32_t            *overflow_sizes; // [num_rows + 1] entries of a row that are in no piece
  unsigned long long *max_quarter;    // most entries in 32 rows
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

/* Rows of a slice, and the entries that become a piece. */
__device__ __forceinline__ unsigned int MinPiece(const EncodeArguments &a, PetscInt slice)
{
  const PetscInt rows = min((PetscInt)HISPARSE_SLICE_ROWS, a.num_rows - slice * HISPARSE_SLICE_ROWS);

  return (unsigned int)((rows + a.min_part - 1) / a.min_part);
}

/* Calls visit(c0, mask, number) for every diagonal of the slice, ascending; number counts pieces, visit returns it. Whole warps. */
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

/* Whether a diagonal with so many entries becomes a piece of a slice that has so many pieces. */
__device__ __forceinline__ bool IsPiece(unsigned int entries, unsigned int min_piece, unsigned int num_pieces)
{
  return entries >= min_piece && num_pieces < MAX_SLICE_PIECES;
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

/* The pieces of all slices, and how many entries of each row are in none. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) FindPiecesKernel(const EncodeArguments a)
{
  extern __shared__ int32_t staged[];
  const int                 lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscInt            slice = (PetscInt)blockIdx.x * WARPS + warp, first = slice * HISPARSE_SLICE_ROWS;
  unsigned int              num_pieces = 0, num_values = 0;
  int32_t                   outside[ROWS] = {};
  HiSparsePiece            *pieces;

  if (slice >= a.num_slices) return; // whole warps
  const unsigned int min_piece = MinPiece(a, slice);

  pieces = a.pieces + ((const Offset *)a.row_offsets)[first] / (HISPARSE_SLICE_ROWS / a.min_part);
  ForEachDiagonal<Offset>(a, slice, lane, staged + (size_t)warp * a.staged, [&](int32_t c0, const uint32_t(&mask)[ROWS]) {
    const unsigned int entries = BitsBefore(mask, ROWS);

    if (IsPiece(entries, min_piece, num_pieces)) {
      if (lane == 0) pieces[num_pieces] = {{mask[0], mask[1], mask[2], mask[3]}, c0, num_values};
      num_pieces++;
      num_values += entries;
    } else {
#pragma unroll
      for (int w = 0; w < ROWS; w++) outside[w] += mask[w] >> lane & 1u;
    }
  });
#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const PetscInt row = first + w * HISPARSE_WARP + lane;

    if (row < a.num_rows) a.overflow_sizes[row] = outside[w];
  }
  if (lane == 0) {
    a.num_pieces[slice] = (PetscCount)num_pieces;
    a.num_values[slice] = (PetscCount)num_values;
  }
  if (slice == a.num_slices - 1 && lane == 0) {
    a.num_pieces[a.num_slices]   = 0;
    a.num_values[a.num_slices]   = 0;
    a.overflow_sizes[a.num_rows] = 0;
  }
  NoteQuarters<Offset>(a, slice, lane);
}

/* Slices, and the pieces without gaps. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) GatherPiecesKernel(const EncodeArguments a, HiSparseSlice *slices, HiSparsePiece *pieces)
{
  constexpr unsigned int words = sizeof(HiSparsePiece) / sizeof(uint2);
  const int              lane  = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt         slice = (PetscInt)blockIdx.x * WARPS + (PetscInt)threadIdx.x / HISPARSE_WARP;

  if (slice >= a.num_slices) return;
  const PetscCount   begin = a.num_pieces[slice];
  const unsigned int n     = (unsigned int)(a.num_pieces[slice + 1] - begin);
  const uint2       *from  = (const uint2 *)(a.pieces + ((const Offset *)a.row_offsets)[slice * HISPARSE_SLICE_ROWS] / (HISPARSE_SLICE_ROWS / a.min_part));

  for (unsigned int k = (unsigned int)lane; k < n * words; k += HISPARSE_WARP) ((uint2 *)(pieces + begin))[k] = from[k];
  if (lane == 0) slices[slice] = {(int64_t)a.num_values[slice], (uint32_t)begin, n};
}

/* The columns of the entries in no piece, to the rows of a CSR matrix. */
template <typename Offset, typename OverflowOffset>
__global__ void __launch_bounds__(THREADS) FillOverflowKernel(const EncodeArguments a, const OverflowOffset *overflow_offsets, int32_t *columns)
{
  extern __shared__ int32_t staged[];
  const int                 lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscInt            slice = (PetscInt)blockIdx.x * WARPS + warp, first = slice * HISPARSE_SLICE_ROWS;
  unsigned int              num_pieces = 0;
  int32_t                  *next[ROWS];

  if (slice >= a.num_slices || overflow_offsets[first] == overflow_offsets[min(first + HISPARSE_SLICE_ROWS, a.num_rows)]) return; // whole warps
  const unsigned int min_piece = MinPiece(a, slice);

#pragma unroll
  for (int w = 0; w < ROWS; w++) next[w] = columns + overflow_offsets[min(first + w * HISPARSE_WARP + lane, a.num_rows)];
  ForEachDiagonal<Offset>(a, slice, lane, staged + (size_t)warp * a.staged, [&](int32_t c0, const uint32_t(&mask)[ROWS]) {
    if (IsPiece(BitsBefore(mask, ROWS), min_piece, num_pieces)) num_pieces++;
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

/* Pieces in their first places, and what slices have. The host learns how much that is. */
template <typename Offset>
PetscErrorCode FindPieces(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  unsigned long long max_quarter;
  size_t             bytes;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(csr.num_nonzeros / (HISPARSE_SLICE_ROWS / a->min_part) + MAX_SLICE_PIECES, "pieces of diagonals in their first places", stream, &a->pieces));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_slices + 1, "values of slices", stream, &a->num_values));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_slices + 1, "pieces of slices", stream, &a->num_pieces));
  PetscCall(PetscSparseCUDAMalloc((size_t)a->num_rows + 1, "entries of rows outside of diagonals", stream, &a->overflow_sizes));
  PetscCall(PetscSparseCUDAMalloc(1, "largest quarter of a slice", stream, &a->max_quarter));
  PetscCallCUDA(cudaMemsetAsync(a->max_quarter, 0, sizeof(*a->max_quarter), stream));
  PetscCall(SetStaged(FindPiecesKernel<Offset>, csr, a, &bytes));
  FindPiecesKernel<Offset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, bytes, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PrefixSum(a->num_values, (PetscCount)a->num_slices + 1, stream));
  PetscCall(PrefixSum(a->num_pieces, (PetscCount)a->num_slices + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&d->num_piece_values, a->num_values + a->num_slices, sizeof(d->num_piece_values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&d->num_pieces, a->num_pieces + a->num_slices, sizeof(d->num_pieces), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&max_quarter, a->max_quarter, sizeof(max_quarter), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  d->max_quarter = (PetscCount)max_quarter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode GatherPieces(EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(a->num_slices, "slices of diagonals", stream, &d->slices));
  PetscCall(PetscSparseCUDAMalloc(d->num_pieces, "pieces of diagonals", stream, &d->pieces));
  GatherPiecesKernel<Offset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, 0, stream>>>(*a, d->slices, d->pieces);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&a->pieces, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, typename OverflowOffset>
PetscErrorCode FillOverflow(DCSRView csr, EncodeArguments *a, DCSRView view, cudaStream_t stream)
{
  OverflowOffset *offsets = (OverflowOffset *)view.row_offsets;
  size_t          bytes;

  PetscFunctionBegin;
  PetscCall(DCSROffsetsFromSizes("row offsets outside of diagonals", a->overflow_sizes, (PetscCount)a->num_rows, offsets, stream));
  PetscCall(SetStaged((FillOverflowKernel<Offset, OverflowOffset>), csr, a, &bytes));
  FillOverflowKernel<Offset, OverflowOffset><<<DCSRNumBlocks((PetscCount)a->num_slices, WARPS), THREADS, bytes, stream>>>(*a, offsets, view.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode EncodeOverflow(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  const PetscCount n = csr.num_nonzeros - d->num_piece_values;
  PetscBool        wide;
  DCSRView         view;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateStructure(csr.num_rows, csr.num_columns, n, wide, stream, &view));
  if (wide) PetscCallGoto(ierr, cleanup, (FillOverflow<Offset, int64_t>(csr, a, view, stream)));
  else PetscCallGoto(ierr, cleanup, (FillOverflow<Offset, int32_t>(csr, a, view, stream)));
  PetscCallGoto(ierr, cleanup, HiSparseOverflowCreate(view, stream, &d->overflow));
  view.columns = NULL; // the overflow's now
  PetscCallGoto(ierr, cleanup, HiSparseOverflowFindSlices(&d->overflow, d->num_slices, stream, &d->overflow_slices));
cleanup:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

PetscErrorCode FreeFound(EncodeArguments *a, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&a->pieces, stream));
  PetscCall(PetscSparseCUDAFree(&a->num_values, stream));
  PetscCall(PetscSparseCUDAFree(&a->num_pieces, stream));
  PetscCall(PetscSparseCUDAFree(&a->overflow_sizes, stream));
  PetscCall(PetscSparseCUDAFree(&a->max_quarter, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few entries outside of pieces become pieces, too. */
template <typename Offset>
PetscErrorCode FindPiecesForFew(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d)
{
  const PetscCount outside = csr.num_nonzeros - d->num_piece_values;

  PetscFunctionBegin;
  if (outside == 0 || outside > d->num_pieces / FEW_OUTSIDE_PART || csr.num_nonzeros > FEW_OUTSIDE_NONZEROS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FreeFound(a, stream));
  a->min_part = HISPARSE_SLICE_ROWS;
  PetscCall(FindPieces<Offset>(csr, a, stream, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Encode(DCSRView csr, EncodeArguments *a, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits)
{
  PetscFunctionBegin;
  PetscCall(FindPieces<Offset>(csr, a, stream, d));
  PetscCall(FindPiecesForFew<Offset>(csr, a, stream, d));
  *fits = (PetscBool)(csr.num_nonzeros - d->num_piece_values <= csr.num_nonzeros / MAX_OVERFLOW_PART && 2 * d->num_pieces < (PetscCount)UINT32_MAX); // parts of pieces in the transpose are counted in 32 bits
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GatherPieces<Offset>(a, stream, d));
  if (d->num_piece_values < csr.num_nonzeros) PetscCall(EncodeOverflow<Offset>(csr, a, stream, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsEncode - the structure of compact CSR as masked diagonals, but for what the transpose needs

  Values of csr are not read. A diagonal with fewer entries in a slice than one in min_part of its rows, a power of 2 up to 128, is no piece, unless there are very few such entries. d is 0 but for what the caller set, and
  the caller frees it also after an error. fits PETSC_FALSE: more than half of the entries are on diagonals with too few entries, or there are more than 2^31 rows or pieces. Synchronizes. Errors: PETSC_ERR_MEM.

  Cost: a read of the columns, and a step of a warp for each diagonal of each slice; the same once more where few entries are in no piece, and another read where many are. Workspace: 4 bytes a row, and an entry 24 bytes
  over the fewest entries of a piece in a slice of 128 rows, which is one where few entries are in no piece.
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

HiSparsePreload(FindPiecesKernel<int32_t>);
HiSparsePreload(GatherPiecesKernel<int32_t>);
