/*
  Products with masked diagonals of blocks, y = alpha A x + z and y = alpha A^T x + z.

  A warp takes 32 rows of blocks, a quarter of a slice, or 32 columns of blocks for the transpose, and a lane one of them with its b sums. So matrices of few unknowns have enough warps, and a lane few
  sums.
  The segments come to shared memory 32 at a time, those that have blocks in the quarter alone, with what a lane needs of them: the bits of the quarter and where its first block is. Then values and
  parts of x of a batch of segments are loaded, all before the first is used, by predicated loads (diagonals.cuh). A block of many entries is loaded by so many of its rows at a time as registers
  allow.

  There are no column indices and no atomics. Sums are in the order of segments, and in a block in that of its columns, for A^T x of its rows.
*/
#include "../spmv/spmvoutput.cuh"
#include "blockdiagonals.cuh"
#include "../common/overlap.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int SEGMENTS = HISPARSE_WARP; // that a warp fetches at a time
constexpr int THREADS  = 128;           // of a thread block

/*
  Segments of a batch, and rows of a block that are loaded at a time. NVIDIA H200, elast3-80: two segments at a time 225 us and 255 of A^T x, one at a time 230 and 266; the other sizes were not
  measured. A double takes two registers: 24 for a block of 3 x 3 and its part of x. Complex numbers take twice as many, and half the threads stay.
*/
template <int Size>
constexpr int BATCH = Size == 2 ? 3 : (Size == 3 ? 2 : 1);
template <int Size>
constexpr int ROWS = Size == 6 ? 3 : Size;
template <int Size>
constexpr int RESIDENT = BLOCK_DIAGONALS_RESIDENT(Size) / (sizeof(PetscScalar) > sizeof(double) ? 2 : 1);

/* What a kernel reads and writes. */
template <typename Output>
struct MultArguments {
  const HiSparseSlice *slices;            // forward
  const uint32_t      *transposed_slices; // transpose: first segments
  const void          *segments;
  const void          *values; // of the kernel's type
  const PetscScalar   *x;
  Output               output;
  PetscScalar          alpha;
  PetscInt             num_rows; // of blocks, or columns of blocks for the transpose
};

/* A segment in shared memory, and what a lane makes of it: whether it has a block, where the block's values are and how far apart, and its part of x. all 0: no lane has a block. */
template <bool Transpose>
struct Staged;

template <>
struct Staged<false> {
  uint32_t mask;
  int32_t  column;   // of the block of lane 0
  int64_t  position; // of the first block

  __device__ __forceinline__ Staged(const HiSparseSlice &slice, const void *segments, uint32_t k, int w)
  {
    const HiSparseSegment &segment = ((const HiSparseSegment *)segments)[k];

    mask     = segment.mask[w];
    column   = segment.c0 + HISPARSE_WARP * w;
    position = slice.values + segment.values + BitsBefore(segment.mask, w);
  }
  __device__ __forceinline__ bool         HasAny() const { return mask != 0; }
  __device__ __forceinline__ unsigned int Has(int lane) const { return mask >> lane & 1; }
  __device__ __forceinline__ int32_t      X(int lane) const { return column + lane; }
  __device__ __forceinline__ void         GetPosition(int lane, int64_t *first, unsigned int *rank, unsigned int *stride) const
  {
    *first  = position;
    *rank   = (unsigned int)__popc(mask & LowerLanes(lane));
    *stride = (unsigned int)__popc(mask);
  }
};

template <>
struct Staged<true> {
  uint32_t mask[2];
  int64_t  position[2];
  uint32_t columns; // a bit for each
  int32_t  row;     // of the block of lane 0

  __device__ __forceinline__ Staged(const HiSparseSlice &, const void *segments, uint32_t k, int w)
  {
    const BlockDiagonalsTransposedSegment &segment = ((const BlockDiagonalsTransposedSegment *)segments)[k];
    const BlockGroups                      groups(segment, w);

    mask[0]     = groups.mask[0];
    mask[1]     = groups.mask[1];
    position[0] = groups.position[0];
    position[1] = groups.position[1];
    columns     = groups.Columns();
    row         = segment.r0 + HISPARSE_WARP * w;
  }
  __device__ __forceinline__ bool         HasAny() const { return columns != 0; }
  __device__ __forceinline__ unsigned int Has(int lane) const { return columns >> lane & 1; }
  __device__ __forceinline__ int32_t      X(int lane) const { return row + lane; }
  __device__ __forceinline__ void         GetPosition(int lane, int64_t *first, unsigned int *rank, unsigned int *stride) const
  {
    const int      t        = (row & (HISPARSE_WARP - 1)) + lane;
    const bool     second   = t >= HISPARSE_WARP;
    const uint32_t own_mask = second ? mask[1] : mask[0];

    *first  = second ? position[1] : position[0];
    *rank   = (unsigned int)__popc(own_mask & LowerLanes(t & (HISPARSE_WARP - 1)));
    *stride = (unsigned int)__popc(own_mask);
  }
};

/* Shared memory for the segments of a warp; a batch may reach behind the last one, where there are no bits. */
template <bool Transpose, int Batch>
struct Stage {
  static constexpr int length = SEGMENTS + Batch - 1;
  ulonglong2           words[(length * sizeof(Staged<Transpose>) + sizeof(ulonglong2) - 1) / sizeof(ulonglong2)];
};

template <bool Conjugate>
__device__ __forceinline__ PetscScalar Taken(PetscScalar a)
{
#if PetscDefined(USE_COMPLEX)
  if constexpr (Conjugate) return thrust::conj(a);
#endif
  return a;
}

/* A block as a lane uses it. */
template <typename Stored>
struct LaneBlock {
  unsigned int       has, stride;
  const Stored      *values;
  const PetscScalar *x;
};

/* The products of a batch of segments are added to the sums; the loads of so many rows of the blocks come first. */
template <int Size, bool Transpose, bool Conjugate, typename Stored>
__device__ __forceinline__ void AddBatch(const Staged<Transpose> *stage, int lane, const Stored *values, const PetscScalar *all_x, PetscScalar (&sums)[Size])
{
  constexpr int     batch = BATCH<Size>, rows = ROWS<Size>, numbers = Transpose ? rows : Size; // of x for so many rows
  LaneBlock<Stored> block[batch];
  PetscScalar       u[batch][numbers];

#pragma unroll
  for (int b = 0; b < batch; b++) {
    int64_t      first;
    unsigned int rank;

    stage[b].GetPosition(lane, &first, &rank, &block[b].stride);
    block[b].has    = stage[b].Has(lane);
    block[b].values = KnownAddress(values + first * (Size * Size) + rank);
    block[b].x      = KnownAddress(all_x + (int64_t)stage[b].X(lane) * Size);
  }
#pragma unroll
  for (int row = 0; row < Size; row += rows) {
    Stored v[batch][rows][Size];

#pragma unroll
    for (int b = 0; b < batch; b++) {
#pragma unroll
      for (int a = 0; a < rows; a++)
#pragma unroll
        for (int c = 0; c < Size; c++) v[b][a][c] = LoadValueIf(block[b].has, block[b].values + (size_t)block[b].stride * ((row + a) * Size + c));
      if (Transpose || row == 0) {
#pragma unroll
        for (int k = 0; k < numbers; k++) u[b][k] = LoadVectorIf(block[b].has, block[b].x + (Transpose ? row : 0) + k);
      }
    }
#pragma unroll
    for (int b = 0; b < batch; b++)
#pragma unroll
      for (int a = 0; a < rows; a++)
#pragma unroll
        for (int c = 0; c < Size; c++) sums[Transpose ? c : row + a] += Taken<Conjugate>(FromStored(v[b][a][c])) * u[b][Transpose ? a : c];
  }
}

/* Segments k, k + 1 and so on, at most 32, of which n are left, into shared memory: those that the 32 rows have blocks of, in their order, and some without blocks behind them. How many there are. */
template <bool Transpose, int Batch, typename Output>
__device__ __forceinline__ int FetchSegments(const MultArguments<Output> &a, const HiSparseSlice &slice, uint32_t k, uint32_t n, int w, int lane, Staged<Transpose> *stage)
{
  const bool   has = (uint32_t)lane < n;
  unsigned int used;
  int          count;

  __syncwarp(); // the segments before were used
  // a lane without a segment reads the first one
  const Staged<Transpose> mine(slice, a.segments, has ? k + (uint32_t)lane : k, w);
  used  = __ballot_sync(HISPARSE_FULL_MASK, has && mine.HasAny());
  count = __popc(used);
  if (used >> lane & 1) stage[__popc(used & LowerLanes(lane))] = mine;
  if (lane < Batch - 1) memset((void *)(stage + count + lane), 0, sizeof(*stage));
  __syncwarp();
  return count;
}

/* alpha times the sums to the output. */
template <int Size, typename Output>
__device__ __forceinline__ void WriteSums(const MultArguments<Output> &a, PetscCount row, const PetscScalar (&sums)[Size])
{
  using Index = std::conditional_t<std::is_same_v<Output, SpMVAdd>, PetscCount, PetscInt>; // 64-bit numbers of rows would cost an epilogue registers that it does not have
  typename Output::Row read[Size];

  if (row >= a.num_rows) return;
#pragma unroll
  for (int k = 0; k < Size; k++) read[k] = a.output.Load((Index)(row * Size + k));
#pragma unroll
  for (int k = 0; k < Size; k++) a.output.Store((Index)(row * Size + k), a.alpha * sums[k], read[k]);
}

template <typename Output, typename Stored, int Size, bool Transpose, bool Conjugate>
__global__ void __launch_bounds__(THREADS, RESIDENT<Size> / THREADS) MultKernel(const MultArguments<Output> a)
{
  WaitForPreviousKernel();
  constexpr int batch = BATCH<Size>;
  __shared__ Stage<Transpose, batch> stages[THREADS / HISPARSE_WARP];
  const int                          lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscCount                   group = (PetscCount)blockIdx.x * (THREADS / HISPARSE_WARP) + warp;
  const PetscCount                   row = group * HISPARSE_WARP + lane, number = group / HISPARSE_SLICE_WORDS;
  const int                          w          = (int)(group % HISPARSE_SLICE_WORDS);
  Staged<Transpose> *const           stage      = (Staged<Transpose> *)&stages[warp];
  HiSparseSlice                      slice      = {};
  PetscScalar                        sums[Size] = {};

  if (row - lane >= a.num_rows) return; // whole warps
  a.output.Prefetch((row - lane) * Size, (int)PetscMin(HISPARSE_WARP, a.num_rows - (row - lane)) * Size, lane, HISPARSE_WARP);
  if constexpr (Transpose) {
    slice.first_segment = __ldg(a.transposed_slices + number);
    slice.num_segments  = __ldg(a.transposed_slices + number + 1) - slice.first_segment;
  } else slice = a.slices[number];
#pragma unroll 1
  for (uint32_t done = 0; done < slice.num_segments; done += SEGMENTS) {
    const int n = FetchSegments<Transpose, batch>(a, slice, slice.first_segment + done, slice.num_segments - done, w, lane, stage);

#pragma unroll 1
    for (int k = 0; k < n; k += batch) AddBatch<Size, Transpose, Conjugate>(stage + k, lane, (const Stored *)a.values, a.x, sums);
  }
  WriteSums<Size>(a, row, sums);
}

template <typename Stored, int Size, bool Transpose, bool Conjugate, typename Output>
PetscErrorCode Launch(const MultArguments<Output> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRLaunchOverlapping(MultKernel<Output, Stored, Size, Transpose, Conjugate>, DCSRNumBlocks((PetscCount)a.num_rows, THREADS), THREADS, stream, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int Size, bool Transpose, bool Conjugate, typename Output>
PetscErrorCode LaunchOfSize(const HiSparseValues *v, const MultArguments<Output> &a, cudaStream_t stream)
{
  return v->precision == HISPARSE_VALUES_SINGLE ? Launch<StoredSingle, Size, Transpose, Conjugate>(a, stream) : Launch<PetscScalar, Size, Transpose, Conjugate>(a, stream);
}

/* The kernel of the size and of the values. */
template <bool Transpose, bool Conjugate, typename Output>
PetscErrorCode LaunchFor(int size, const HiSparseValues *v, const MultArguments<Output> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (size == 2) PetscCall(LaunchOfSize<2, Transpose, Conjugate>(v, a, stream));
  else if (size == 3) PetscCall(LaunchOfSize<3, Transpose, Conjugate>(v, a, stream));
  else if (size == 4) PetscCall(LaunchOfSize<4, Transpose, Conjugate>(v, a, stream));
  else PetscCall(LaunchOfSize<6, Transpose, Conjugate>(v, a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* BlockDiagonalsMult - y = alpha op(A) x + z: one read of the values, 24 bytes a segment, of the transpose 40, and the vectors */
PetscErrorCode BlockDiagonalsMult(const void *structure, HiSparseValues *v, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                                  cudaStream_t stream)
{
  const HiSparseDiagonals     *d         = (const HiSparseDiagonals *)structure;
  const MultArguments<SpMVAdd> forward   = {d->slices, NULL, d->segments, v->values, x, {z, y}, alpha, d->num_rows};
  const MultArguments<SpMVAdd> transpose = {NULL, d->transposed_slices, d->transposed_blocks, v->values, x, {z, y}, alpha, d->num_columns};

  PetscFunctionBegin;
  if (direction == HISPARSE_FORWARD) PetscCall(LaunchFor<false, false>(d->size, v, forward, stream));
  else PetscCall((direction == HISPARSE_HERMITIAN ? LaunchFor<true, PetscDefined(USE_COMPLEX), SpMVAdd> : LaunchFor<true, false, SpMVAdd>)(d->size, v, transpose, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsMultEpilogue - what an epilogue makes of alpha A x */
PetscErrorCode BlockDiagonalsMultEpilogue(const void *structure, const HiSparseValues *v, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                          cudaStream_t stream)
{
  const HiSparseDiagonals          *d = (const HiSparseDiagonals *)structure;
  const MultArguments<SpMVEpilogue> a = {d->slices, NULL, d->segments, v->values, x, {*epilogue, x, y}, alpha, d->num_rows};

  PetscFunctionBegin;
  PetscCall(LaunchFor<false, false>(d->size, v, a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PRELOADED(size) HiSparsePreloaded(MultKernel<SpMVAdd, PetscScalar, size, false, false>) HiSparsePreloaded(MultKernel<SpMVEpilogue, PetscScalar, size, false, false>)
static DCSRPreloadedKernel preloaded[] = {PRELOADED(2) PRELOADED(3) PRELOADED(4) PRELOADED(6)};
