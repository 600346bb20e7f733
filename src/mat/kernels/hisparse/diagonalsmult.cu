/*
  Products with masked diagonals, y = alpha A x + z and y = alpha A^T x + z.

  A warp takes a slice of 128 rows, or columns for the transpose, and a lane four of them, 32 apart. Sums stay in registers. The segments of the slice come to shared memory 32 at a time, from where
  all lanes read the same one. Then the values and the entries of x of a batch of segments are loaded, all before the first is used: 32 lanes read consecutive values, and consecutive entries of x.

  There are no column indices and no atomics, and the order of every sum is that of the segments. Nothing is left to save but the bytes of the values: in single precision they are half, in FP16 a
  quarter, and are converted after all loads of a batch. Vectors and sums are PetscScalar.

  Values and masks are read once, by loads with the streaming hint (.cs): 3d27-200 445 / 453 us, 2d5-4096 226 / 231, elast3-80 243 / 267, 3d7-256 286 / 290.

  Measured on an H200, A x / A^T x in us, threads, batch, resident: 3d27-200 with 128, 2, 896: 457 / 468; 128, 2, 1024: 467 / 479, since 64 registers let 8 of 16 loads wait; 256, 2, 768: 461 / 471;
  128, 3, 640: 481 / 461. 2d5-4096: 236 / 238, 242 / 245, 250 / 252, 272 / 247. A ring of batches, so that the next is loaded before the last is used, was no faster: 457 / 469, 236 / 243. The next
  segments fetched while these are used take 80 registers for 72, six thread blocks for seven on a multiprocessor: 266 / 242.
*/
#include "diagonals.cuh"
#include "../common/foreach.cuh"
#include "../spmv/spmvoutput.cuh"
#include <petscsparsecuda/transpose.h>
#include "../common/preload.cuh"

namespace
{

constexpr int SEGMENTS = HISPARSE_WARP;                       // that a warp fetches at a time
constexpr int ROWS     = HISPARSE_SLICE_ROWS / HISPARSE_WARP; // of a lane
static_assert(ROWS == HISPARSE_SLICE_WORDS, "A lane has one row in each 32-row group");
constexpr int THREADS = 128; // of a thread block; a warp takes a slice

/*
  Segments whose values and parts of x are all loaded before the first is used, and threads that stay on a multiprocessor. A batch of 2 segments of doubles takes 32 registers of 64, as one of complex
  numbers does, which spills then. One of 4 in FP16 has as many bytes of values under way as one of 2 in single precision, and takes 80 registers.
*/
template <typename Stored>
constexpr bool IS_HALF = std::is_same_v<Stored, StoredHalf>;
template <typename Stored>
constexpr int BATCH = IS_HALF<Stored> ? 4 : (PetscDefined(USE_COMPLEX) ? 1 : 2);
template <typename Stored>
constexpr int RESIDENT = IS_HALF<Stored> ? 768 : HISPARSE_RESIDENT;

/* What a kernel reads and writes. */
template <typename Output>
struct MultArguments {
  const HiSparseSlice *slices;            // [num_slices] forward
  const uint32_t      *transposed_slices; // [num_slices + 1] transpose: first segments
  const void          *segments;
  const void          *values; // of the kernel's type
  const PetscScalar   *x;
  Output               output;
  PetscScalar          alpha;
  PetscInt             num_slices;  // of rows, or of columns for the transpose
  PetscInt             num_rows;    // length of the output
  const double        *scales;      // [num_slices] FP16 alone, as the next one: what a slice's values are to be multiplied by
  const float         *corrections; // [num_rows] of diagonal entries, before that
};

/*
  A segment as a lane uses it: bits, the lane's entry of x in the first 32-row group, and where the values are. Addresses are made once a segment, so that an entry of x costs a load with a constant
  offset, and a value one multiply-add beside it.
*/
template <typename Stored, bool Transpose>
struct SegmentView;

template <typename Stored>
struct SegmentView<Stored, false> {
  static constexpr int words = sizeof(HiSparseSegment) / sizeof(uint2);

  uint32_t           mask[HISPARSE_SLICE_WORDS];
  const PetscScalar *x;
  const Stored      *values;

  __device__ __forceinline__ SegmentView(const uint2 *stage, int k, const Stored *slice_values, const PetscScalar *lane_x)
  {
    const uint2 a = stage[words * k], b = stage[words * k + 1], c = stage[words * k + 2];

    mask[0] = a.x;
    mask[1] = a.y;
    mask[2] = b.x;
    mask[3] = b.y;
    x       = lane_x + (int32_t)c.x;
    values  = KnownAddress(slice_values + c.y);
  }
  __device__ __forceinline__ const Stored *Value(int, unsigned int k) const { return values + k; }
};

template <typename Stored>
struct SegmentView<Stored, true> {
  static constexpr int words = sizeof(HiSparseTransposedSegment) / sizeof(uint2);

  uint32_t           mask[HISPARSE_SLICE_WORDS];
  const PetscScalar *x;
  int                border; // columns from here on have their rows in the second of the two slices
  const Stored      *first, *second;

  __device__ __forceinline__ SegmentView(const uint2 *stage, int k, const Stored *all_values, const PetscScalar *lane_x)
  {
    const uint4 a = ((const uint4 *)stage)[2 * k], b = ((const uint4 *)stage)[2 * k + 1];

    mask[0] = a.x;
    mask[1] = a.y;
    mask[2] = a.z;
    mask[3] = a.w;
    x       = lane_x + (int32_t)b.x;
    border  = HISPARSE_SLICE_ROWS - ((int32_t)b.x & (HISPARSE_SLICE_ROWS - 1));
    first   = KnownAddress(all_values + ((uint64_t)(b.w & 0xffffu) << 32 | b.y));
    second  = KnownAddress(all_values + ((uint64_t)(b.w >> 16) << 32 | b.z));
  }
  __device__ __forceinline__ const Stored *Value(int row, unsigned int k) const { return (row < border ? first : second) + k; }
};

/* Up to 32 segments into registers, by loads of consecutive words. */
template <int Words>
__device__ __forceinline__ void FetchSegments(const uint2 *from, unsigned int n, int lane, uint2 (&fetched)[Words])
{
#pragma unroll
  for (int k = 0; k < Words; k++) fetched[k] = (unsigned int)(k * HISPARSE_WARP + lane) < n * Words ? __ldcs(from + k * HISPARSE_WARP + lane) : make_uint2(0, 0);
}

template <bool Conjugate>
__device__ __forceinline__ PetscScalar Taken(PetscScalar a)
{
#if PetscDefined(USE_COMPLEX)
  if constexpr (Conjugate) return thrust::conj(a);
#endif
  return a;
}

/* The products of a batch of segments are added to the sums; all loads come first. */
template <bool Transpose, bool Conjugate, typename Stored>
__device__ __forceinline__ void AddBatch(const uint2 *stage, int first, int lane, const Stored *values, const PetscScalar *lane_x, PetscScalar (&sums)[ROWS])
{
  constexpr int batch = BATCH<Stored>;
  Stored        v[batch][ROWS];
  PetscScalar   u[batch][ROWS];

#pragma unroll
  for (int b = 0; b < batch; b++) {
    const SegmentView<Stored, Transpose> segment(stage, first + b, values, lane_x);
    unsigned int                         before = 0;

#pragma unroll
    for (int w = 0; w < ROWS; w++) {
      const unsigned int has = segment.mask[w] >> lane & 1u;
      const unsigned int k   = before + __popc(segment.mask[w] & LowerLanes(lane));

      before += __popc(segment.mask[w]);
      v[b][w] = LoadValueIf(has, segment.Value(w * HISPARSE_WARP + lane, k));
      u[b][w] = LoadVectorIf(has, segment.x + w * HISPARSE_WARP);
    }
  }
#pragma unroll
  for (int b = 0; b < batch; b++)
#pragma unroll
    for (int w = 0; w < ROWS; w++) sums[w] += Taken<Conjugate>(FromStored(v[b][w])) * u[b][w];
}

/* Sums of FP16 become those of the matrix. */
template <typename Output>
__device__ __forceinline__ void CorrectSums(const MultArguments<Output> &a, PetscInt slice, int lane, PetscScalar (&sums)[ROWS])
{
  const PetscScalar scale = __ldg(a.scales + slice);

#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const PetscInt row = slice * HISPARSE_SLICE_ROWS + w * HISPARSE_WARP + lane;

    if (row < a.num_rows) sums[w] = scale * (sums[w] + PetscScalar(__ldcs(a.corrections + row)) * a.x[row]);
  }
}

/* alpha times the sums to the output. */
template <typename Output>
__device__ __forceinline__ void WriteSums(const MultArguments<Output> &a, PetscInt slice, int lane, const PetscScalar (&sums)[ROWS])
{
  typename Output::Row read[ROWS] = {};

#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const PetscInt row = slice * HISPARSE_SLICE_ROWS + w * HISPARSE_WARP + lane;

    if (row < a.num_rows) read[w] = a.output.Load(row);
  }
#pragma unroll
  for (int w = 0; w < ROWS; w++) {
    const PetscInt row = slice * HISPARSE_SLICE_ROWS + w * HISPARSE_WARP + lane;

    if (row < a.num_rows) a.output.Store(row, a.alpha * sums[w], read[w]);
  }
}

template <typename Output, typename Stored, bool Transpose, bool Conjugate>
__global__ void __launch_bounds__(THREADS, RESIDENT<Stored> / THREADS) MultKernel(const MultArguments<Output> a)
{
  WaitForPreviousKernel();
  constexpr int    words = SegmentView<Stored, Transpose>::words;
  constexpr int    batch = BATCH<Stored>, staged = (SEGMENTS + batch - 1) / batch * batch; // segments behind the last have no bits
  __shared__ uint4 stages[THREADS / HISPARSE_WARP][(staged * words + 1) / 2];
  const int        lane = (int)threadIdx.x % HISPARSE_WARP, warp = (int)threadIdx.x / HISPARSE_WARP;
  const PetscInt   slice = (PetscInt)blockIdx.x * (THREADS / HISPARSE_WARP) + warp;
  uint2 *const     stage = (uint2 *)stages[warp];
  const uint2     *from;
  const Stored    *values;
  unsigned int     left;
  PetscScalar      sums[ROWS] = {};

  if (slice >= a.num_slices) return; // whole warps
  a.output.Prefetch((PetscCount)slice * HISPARSE_SLICE_ROWS, (int)PetscMin(HISPARSE_SLICE_ROWS, a.num_rows - slice * HISPARSE_SLICE_ROWS), lane, HISPARSE_WARP);
  if constexpr (Transpose) {
    const unsigned int begin = __ldg(a.transposed_slices + slice);

    left   = __ldg(a.transposed_slices + slice + 1) - begin;
    from   = (const uint2 *)a.segments + (size_t)begin * words;
    values = (const Stored *)a.values;
  } else {
    const uint4 s = __ldg((const uint4 *)(a.slices + slice));

    left   = s.w;
    from   = (const uint2 *)a.segments + (size_t)s.z * words;
    values = (const Stored *)a.values + (int64_t)((uint64_t)s.y << 32 | s.x);
  }
  for (int k = SEGMENTS * words + lane; k < staged * words; k += HISPARSE_WARP) stage[k] = make_uint2(0, 0);
  while (left > 0) {
    const unsigned int n = left < SEGMENTS ? left : SEGMENTS;
    uint2              fetched[words];

    FetchSegments<words>(from, n, lane, fetched);
    __syncwarp(); // the segments before were used
#pragma unroll
    for (int k = 0; k < words; k++) stage[k * HISPARSE_WARP + lane] = fetched[k];
    __syncwarp();
    left -= n;
    from += SEGMENTS * words;
#pragma unroll 1
    for (int k = 0; k < (int)n; k += batch) AddBatch<Transpose, Conjugate>(stage, k, lane, values, a.x + lane, sums);
  }
#if HISPARSE_HAS_HALF
  if constexpr (IS_HALF<Stored>) CorrectSums(a, slice, lane, sums);
#endif
  WriteSums(a, slice, lane, sums);
}

/* y += the sum, unconditionally. */
struct AddToY {
  PetscScalar *y;

  __device__ __forceinline__ void Write(int32_t i, PetscScalar sum) const { y[i] += sum; }
};

/* The same with conjugates of the sums. */
struct AddConjugateToY {
  PetscScalar *y;

  __device__ __forceinline__ void Write(int32_t i, PetscScalar sum) const { y[i] += PetscConj(sum); }
};

/* alpha times the products of the rows of the remainder, which lie in sums, go to an output that adds them to y. */
template <typename Output>
struct AddRemainder {
  const int32_t     *rows; // [of the remainder]
  const PetscScalar *sums;
  Output             output;
  PetscScalar        alpha;
  __device__ void    operator()(PetscCount k) const { output.Write(rows[k], alpha * sums[k]); }
};

/* The sums of the parts of a slice of columns are added in their order. */
struct AddParts {
  const int32_t     *slice_parts; // [column slices + 1] first part
  const PetscScalar *sums, *z;
  PetscScalar       *y;
  PetscScalar        alpha;

  __device__ void operator()(PetscInt column) const
  {
    const PetscInt slice = column / HISPARSE_SLICE_ROWS;
    PetscScalar    sum   = 0;

    for (int32_t part = slice_parts[slice]; part < slice_parts[slice + 1]; part++) sum += sums[(size_t)part * HISPARSE_SLICE_ROWS + column % HISPARSE_SLICE_ROWS];
    y[column] = alpha * sum + (z != NULL ? z[column] : PetscScalar(0));
  }
};

/* Asks for no more shared memory than the resident thread blocks need, so that the rest is L1, for x. A hint: asked for once a kernel. */
PetscErrorCode PreferL1(const void *kernel, int threads, bool *asked)
{
  cudaFuncAttributes attributes;
  DCSRDeviceFacts    facts;
  int                blocks;

  PetscFunctionBegin;
  if (*asked) PetscFunctionReturn(PETSC_SUCCESS);
  *asked = true;
  PetscCall(DCSRGetDeviceFacts(&facts));
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     PetscMin(100, (int)((100 * (size_t)blocks * (attributes.sharedSizeBytes + (size_t)facts.reserved_shared_bytes) + (size_t)facts.shared_bytes - 1) /
                                                         (size_t)facts.shared_bytes))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored, bool Transpose, bool Conjugate, typename Output>
PetscErrorCode Launch(const MultArguments<Output> &a, cudaStream_t stream)
{
  static bool asked = false;

  PetscFunctionBegin;
  if (a.num_slices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PreferL1((const void *)MultKernel<Output, Stored, Transpose, Conjugate>, THREADS, &asked));
  PetscCallCUDA(DCSRLaunchOverlapping(MultKernel<Output, Stored, Transpose, Conjugate>, DCSRNumBlocks((PetscCount)a.num_slices, THREADS / HISPARSE_WARP), THREADS, stream, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernel of the values; that of FP16 is for A x alone. */
template <bool Transpose, bool Conjugate, typename Output>
PetscErrorCode LaunchFor(const HiSparseValues *v, const MultArguments<Output> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->precision == HISPARSE_VALUES_SCALAR) PetscCall(Launch<PetscScalar, Transpose, Conjugate>(a, stream));
  else if (v->precision == HISPARSE_VALUES_SINGLE) PetscCall(Launch<StoredSingle, Transpose, Conjugate>(a, stream));
#if HISPARSE_HAS_HALF
  else if constexpr (!Transpose) PetscCall(Launch<StoredHalf, Transpose, Conjugate>(a, stream));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What products with A read and write; scales are NULL but of FP16. */
template <typename Output>
MultArguments<Output> GetArguments(const HiSparseDiagonals *d, const HiSparseValues *v, PetscScalar alpha, const PetscScalar *x, const Output &output)
{
  return {d->slices, NULL, d->segments, v->values, x, output, alpha, d->num_slices, d->num_rows, v->scales != NULL ? v->scales + 1 : NULL, v->corrections};
}

/* alpha times the product of the remainder, or its transpose, with x, to an output that adds it to y. */
template <typename Output>
PetscErrorCode AddRemainderProduct(const HiSparseRemainder *remainder, const PetscScalar *values, PetscScalar alpha, const PetscScalar *x, const Output &output, cudaStream_t stream)
{
  DCSRView view = remainder->view;

  PetscFunctionBegin;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  view.values = (PetscScalar *)values;
  PetscCall(DCSRSpMVApply(remainder->plan, view, x, NULL, remainder->sums, stream));
  PetscCallCUDA(DCSRForEach((PetscCount)view.num_rows, AddRemainder<Output>{remainder->rows, remainder->sums, output, alpha}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What AddRemainderProduct() needs beside the values. */
PetscErrorCode PrepareRemainder(HiSparseRemainder *remainder, cudaStream_t stream)
{
  PetscScalar   *sums = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (remainder->view.num_nonzeros == 0 || remainder->plan != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(remainder->view.num_rows, "products of entries outside of diagonals", stream, &sums));
  PetscCallGoto(ierr, failed, DCSRSpMVPlanCreate(remainder->view, DCSR_SPMV_AUTO, stream, &remainder->plan));
  remainder->sums = sums;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&sums, stream));
  PetscFunctionReturn(ierr);
}

/* The values of the transposed remainder, when they are not those of now. */
PetscErrorCode RefreshTransposedRemainder(const HiSparseDiagonals *d, HiSparseValues *v, cudaStream_t stream)
{
  DCSRView view = d->remainder.view;

  PetscFunctionBegin;
  if (view.num_nonzeros == 0 || v->transposed_is_current) PetscFunctionReturn(PETSC_SUCCESS);
  view.values = v->remainder_values;
  PetscCall(DCSRTransposeNumeric(view, d->permutation, PETSC_FALSE, v->transposed_values, stream));
  v->transposed_is_current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += conj(alpha R^T conj(x)), which is conj(alpha) R^H x: values are kept for R^T alone, so that a captured graph that reads them stays right. For complex scalars, x has num_rows entries. */
PetscErrorCode AddHermitianRemainder(const HiSparseDiagonals *d, const HiSparseValues *v, PetscScalar alpha, const PetscScalar *x, PetscScalar *y, cudaStream_t stream)
{
  PetscScalar   *conjugate = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (d->transposed_remainder.view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(d->num_rows, "conjugates of a vector", stream, &conjugate));
  PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(d->num_rows, x, conjugate, stream));
  PetscCallGoto(ierr, cleanup, AddRemainderProduct(&d->transposed_remainder, v->transposed_values, alpha, conjugate, AddConjugateToY{y}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&conjugate, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/*
  HiSparseDiagonalsPrepare - what the products of a direction need beside segments and values, when it is not there

  Synchronizes when there is something to make. Errors: PETSC_ERR_MEM; what was made before stays and serves the next call.

  Cost: transpose: see HiSparseDiagonalsTransposeCreate(). With entries outside of diagonals: a plan for them.
*/
PetscErrorCode HiSparseDiagonalsPrepare(void *structure, HiSparseValues *v, PetscBool transpose, cudaStream_t stream)
{
  HiSparseDiagonals *d = (HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  if (!transpose) {
    PetscCall(PrepareRemainder(&d->remainder, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HiSparseDiagonalsTransposeCreate(d, stream));
  PetscCall(PrepareRemainder(&d->transposed_remainder, stream));
  if (v->num_others > 0 && v->transposed_values == NULL) PetscCall(PetscSparseCUDAMalloc(v->num_others, "transposed values outside of diagonals", stream, &v->transposed_values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultForward(const HiSparseDiagonals *d, const HiSparseValues *v, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(LaunchFor<false, false>(v, GetArguments(d, v, alpha, x, SpMVAdd{z, y}), stream));
  PetscCall(AddRemainderProduct(&d->remainder, v->remainder_values, alpha, x, AddToY{y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTranspose(const HiSparseDiagonals *d, HiSparseValues *v, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                                    cudaStream_t stream)
{
  const MultArguments<SpMVAdd> slices = {NULL, d->transposed_slices, d->transposed_segments, v->values, x, {z, y}, alpha, d->num_column_slices, d->num_columns, NULL, NULL};
  const MultArguments<SpMVAdd> parts =
    {NULL, d->transposed_parts, d->transposed_segments, v->values, x, {NULL, d->part_sums}, 1.0, d->num_transposed_parts, d->num_transposed_parts * HISPARSE_SLICE_ROWS, NULL, NULL};

  PetscFunctionBegin;
  PetscCheck(v->precision != HISPARSE_VALUES_HALF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Values in FP16 are for products with the matrix, not with its transpose");
  PetscCall((conjugate ? LaunchFor<true, PetscDefined(USE_COMPLEX), SpMVAdd> : LaunchFor<true, false, SpMVAdd>)(v, d->num_transposed_parts > 0 ? parts : slices, stream));
  if (d->num_transposed_parts > 0) PetscCallCUDA(DCSRForEach(d->num_columns, AddParts{d->transposed_slice_parts, d->part_sums, z, y, alpha}, stream));
  PetscCall(RefreshTransposedRemainder(d, v, stream));
  if (conjugate) PetscCall(AddHermitianRemainder(d, v, PetscConj(alpha), x, y, stream));
  else PetscCall(AddRemainderProduct(&d->transposed_remainder, v->transposed_values, alpha, x, AddToY{y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsMult - y = alpha op(A) x + z: one read of the values, 24 bytes a segment, of the transpose 32, and the vectors */
PetscErrorCode HiSparseDiagonalsMult(const void *structure, HiSparseValues *v, HiSparseDirection direction, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                                     cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  if (direction == HISPARSE_FORWARD) PetscCall(MultForward(d, v, alpha, x, z, y, stream));
  else PetscCall(MultTranspose(d, v, alpha, (PetscBool)(direction == HISPARSE_HERMITIAN), x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsMultEpilogue - what an epilogue makes of alpha A x */
PetscErrorCode HiSparseDiagonalsMultEpilogue(const void *structure, const HiSparseValues *v, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                             cudaStream_t stream)
{
  const HiSparseDiagonals *d      = (const HiSparseDiagonals *)structure;
  SpMVEpilogue             update = {*epilogue, x, y};

  PetscFunctionBegin;
  PetscCall(LaunchFor<false, false>(v, GetArguments(d, v, alpha, x, update), stream));
  update.e.b = NULL;
  PetscCall(AddRemainderProduct(&d->remainder, v->remainder_values, alpha, x, update, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static DCSRPreloadedKernel preloaded[] = {HiSparsePreloaded(MultKernel<SpMVAdd, PetscScalar, false, false>) HiSparsePreloaded(MultKernel<SpMVEpilogue, PetscScalar, false, false>)};
