/*
  Values of masked diagonals from compact CSR, and compact CSR from masked diagonals.

  A warp takes a quarter of a slice, 32 rows, a lane one of them. The entries of 32 rows lie behind each other in CSR, so that they come to shared memory, or go from it, in loads of consecutive
  entries. The warp traverses the segments of the slice, and each lane whose row has an entry in the segment takes the next one of its row: segments ascend by column. So CSR's columns are not read,
  unless the row has entries outside of segments, which lie between the others. A row with very many such entries is not left to one lane: it skips them, and a thread an entry follows, which counts
  the row's entries in segments before its own.
*/
#include "diagonals.cuh"
#include <cfloat>
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP; // a slice
static_assert(WARPS == HISPARSE_SLICE_WORDS, "A warp takes one 32-row group");

/* Entries of 32 rows in shared memory: at most so many times the mean, so that a few long rows do not take the memory of all. Others are read and written where they are. */
constexpr double STAGED_OVER_MEAN = 2.0;
constexpr int    MIN_STAGED       = 256;

/* Entries outside of segments that one lane takes of a row at most; fewer than a row of any mesh has. */
constexpr PetscCount MAX_OUTSIDE = 3072;

/* Which rows have entries in the CSR remainder. Kernels that ask for long ones take twice the time (2274 us against 1108 for new values of elast3-80, which has none). */
enum Outside {
  OUTSIDE_NONE,
  OUTSIDE_SHORT,
  OUTSIDE_LONG
};

/* The CSR remainder. */
struct RemainderArguments {
  Offsets        offsets; // [num_rows + 1]
  const int32_t *columns, *rows, *slices;
  int32_t        num_rows;
};

/* The diagonals, and the CSR arrays beside them. */
struct ValuesArguments {
  const HiSparseSlice   *slices;
  const HiSparseSegment *segments;
  RemainderArguments     remainder;
  void                  *values; // of segments
  double                *scales; // as in HiSparseValues
  float                 *corrections;
  PetscScalar           *remainder_values;
  PetscScalar            alpha; // of values on their way to CSR
  bool                   scaled;
  PetscInt               num_rows;
  Offsets                row_offsets; // [num_rows + 1] of CSR
  int32_t               *csr_columns;
  PetscScalar           *csr_values;
  unsigned int           staged; // entries that a warp has room for in shared memory
};

/* A value on its way to CSR. */
__device__ __forceinline__ PetscScalar Scaled(const ValuesArguments &a, PetscScalar value)
{
  return a.scaled ? a.alpha * value : value;
}

/* The entries [begin, end) of a row that are in no segment. */
struct RemainderRow {
  PetscCount begin, end;
  bool       is_long; // more than a lane takes
};

/* The same for all lanes when the slice has none. */
__device__ __forceinline__ RemainderRow FindRemainderRow(const RemainderArguments &a, PetscInt slice, PetscInt row)
{
  const int32_t last = a.slices[slice + 1], k = LowerBound(a.rows, a.slices[slice], last, (int32_t)row);

  if (k == last || a.rows[k] != (int32_t)row) return {0, 0, false};
  const PetscCount begin = a.offsets(k), end = a.offsets(k + 1);

  return {begin, end, end - begin > MAX_OUTSIDE};
}

/* What lane k knows of the k-th of up to 32 segments, for 32-row group w: its bits there, the position of their values, the column of the first row. */
struct SegmentGroup {
  uint32_t mask, position;
  int32_t  column;

  __device__ __forceinline__ void Load(const HiSparseSegment *segments, unsigned int k, unsigned int n, int w)
  {
    mask = position = 0;
    column          = 0;
    if (k >= n) return;
    const HiSparseSegment segment = segments[k];

#pragma unroll
    for (int j = 0; j < HISPARSE_SLICE_WORDS; j++)
      if (j == w) mask = segment.mask[j];
    position = segment.values + BitsBefore(segment.mask, w);
    column   = segment.c0 + w * HISPARSE_WARP;
  }
};

/* A warp's rows in CSR. */
struct Quarter {
  PetscInt     slice, row; // row: of this lane, may be behind the last
  int          group, lane;
  PetscCount   first;  // entry of the warp
  PetscCount   n;      // entries of the warp
  unsigned int before; // entries of the warp's rows before this lane's, when they fit shared memory
  PetscCount   begin;  // first entry of the lane's row
};

__device__ __forceinline__ Quarter FindQuarter(const ValuesArguments &a)
{
  Quarter q;

  q.slice              = (PetscInt)blockIdx.x;
  q.group              = (int)threadIdx.x / HISPARSE_WARP;
  q.lane               = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt first = min(q.slice * HISPARSE_SLICE_ROWS + q.group * HISPARSE_WARP, a.num_rows);

  q.row    = first + q.lane;
  q.first  = a.row_offsets(first);
  q.n      = a.row_offsets(min(first + HISPARSE_WARP, a.num_rows)) - q.first;
  q.begin  = a.row_offsets(min(q.row, a.num_rows));
  q.before = (unsigned int)(q.begin - q.first);
  return q;
}

/* The values of segments as they are stored. */
template <typename Stored>
struct Rounder {
  static constexpr bool half = false;

  __device__ __forceinline__ void Begin(const PetscScalar *, PetscCount, int, int) {}
  __device__ __forceinline__ void Put(Stored *to, PetscScalar value, bool) { *to = static_cast<Stored>(value); }
  __device__ __forceinline__ void End(const ValuesArguments &, PetscInt, PetscInt) {}
};

#if HISPARSE_HAS_HALF
/* The largest number of a thread block; NaN counts for nothing. */
__device__ __forceinline__ double LargestOfBlock(double largest)
{
  __shared__ double shared[WARPS];

  for (int d = HISPARSE_WARP / 2; d > 0; d /= 2) largest = fmax(largest, __shfl_xor_sync(HISPARSE_FULL_MASK, largest, d));
  if (threadIdx.x % HISPARSE_WARP == 0) shared[threadIdx.x / HISPARSE_WARP] = largest;
  __syncthreads();
  largest = shared[0];
  for (int w = 1; w < WARPS; w++) largest = fmax(largest, shared[w]);
  __syncthreads();
  return largest;
}

/*
  The same in FP16, for thread blocks with the rows of a slice. The largest value of the slice gets the exponent 14, of 15 that FP16 has: what is 2^28 times as small has still all of its 11 bits. What
  rounding takes from the sum of a row goes to its diagonal entry, so that vectors that are smooth have the product that they had.
*/
template <>
struct Rounder<StoredHalf> {
  static constexpr bool half  = true;
  double                scale = 1, inverse = 1, lost = 0, error = 0, diagonal = 0;

  /* Some values of the slice; all threads have all of them, among values outside of segments. */
  __device__ __forceinline__ void Begin(const PetscScalar *values, PetscCount n, int thread, int threads)
  {
    double largest = 0;

    for (PetscCount k = thread; k < n; k += threads) largest = fmax(largest, fabs(values[k]));
    largest = LargestOfBlock(largest);
    if (largest > 0 && largest <= DBL_MAX) scale = scalbn(1.0, max(ilogb(largest), -1000) - 14);
    inverse = 1 / scale; // both are finite
  }
  __device__ __forceinline__ void Put(StoredHalf *to, PetscScalar value, bool is_diagonal)
  {
    const double     scaled  = inverse * value;
    const StoredHalf rounded = ToHalf(scaled);
    const double     off     = scaled - FromStored(rounded);

    *to = rounded;
    lost += off;
    if (is_diagonal) diagonal = fabs(scaled);
    else error += fabs(off);
  }
  __device__ __forceinline__ void End(const ValuesArguments &a, PetscInt slice, PetscInt row)
  {
    if (row < a.num_rows) a.corrections[row] = (float)lost;
    if (error != 0) error /= diagonal;
    if (!(error <= DBL_MAX)) error = INFINITY;
    error = LargestOfBlock(error);
    if (threadIdx.x != 0) return;
    a.scales[1 + slice] = scale;
    if (error > 0) atomicMax((unsigned long long *)a.scales, (unsigned long long)__double_as_longlong(error)); // numbers that are not negative are in the order of their bits
  }
};
#endif

/* The values of entries of the row outside of segments whose columns are below a column; *next is the next value of the row. */
template <Outside Remainder>
__device__ __forceinline__ void PutOutside(const ValuesArguments &a, RemainderRow *outside, int32_t column, const PetscScalar **next)
{
  if (Remainder == OUTSIDE_LONG && outside->is_long) {
    const PetscCount end = LowerBound(a.remainder.columns, outside->begin, outside->end, column);

    *next += end - outside->begin;
    outside->begin = end;
  }
  for (; outside->begin < outside->end && a.remainder.columns[outside->begin] < column; outside->begin++) a.remainder_values[outside->begin] = *(*next)++;
}

/* The values of the warp's rows to their positions; next: the first one of the lane's row. */
template <Outside Remainder, typename Stored>
__device__ __forceinline__ void WriteValues(const ValuesArguments &a, const Quarter &q, const PetscScalar *next, Rounder<Stored> &rounder)
{
  const HiSparseSlice s       = a.slices[q.slice];
  Stored             *to      = (Stored *)a.values + s.values;
  RemainderRow        outside = {0, 0, false};

  if (Remainder != OUTSIDE_NONE && q.row < a.num_rows) outside = FindRemainderRow(a.remainder, q.slice, q.row);
  for (unsigned int p = 0; p < s.num_segments; p += HISPARSE_WARP) {
    const int    n = (int)min(s.num_segments - p, (unsigned int)HISPARSE_WARP);
    SegmentGroup own;

    own.Load(a.segments + s.first_segment, p + q.lane, s.num_segments, q.group);
#pragma unroll 4
    for (int k = 0; k < n; k++) {
      const uint32_t mask = __shfl_sync(HISPARSE_FULL_MASK, own.mask, k), position = __shfl_sync(HISPARSE_FULL_MASK, own.position, k);
      const int32_t  column = Remainder != OUTSIDE_NONE || Rounder<Stored>::half ? __shfl_sync(HISPARSE_FULL_MASK, own.column, k) + q.lane : 0;

      if (mask >> q.lane & 1u) {
        if (Remainder != OUTSIDE_NONE) PutOutside<Remainder>(a, &outside, column, &next);
        rounder.Put(to + position + __popc(mask & LowerLanes(q.lane)), *next++, column == q.row);
      }
    }
  }
  if (Remainder != OUTSIDE_NONE) PutOutside<Remainder>(a, &outside, INT32_MAX, &next);
}

/* The values of CSR to their positions. */
template <Outside Remainder, typename Stored>
__global__ void __launch_bounds__(THREADS) SetValuesKernel(const ValuesArguments a)
{
  extern __shared__ uint4 shared[];
  const Quarter           q    = FindQuarter(a);
  const PetscScalar      *next = a.csr_values + q.begin;
  Rounder<Stored>         rounder;

  if (q.n <= (PetscCount)a.staged) {
    PetscScalar *staged = (PetscScalar *)shared + (size_t)q.group * a.staged;

    CopyToShared(staged, a.csr_values + q.first, (unsigned int)q.n, q.lane);
    next = staged + q.before;
  }
  __syncwarp();
  rounder.Begin(next - (q.begin - q.first), q.n, q.lane, HISPARSE_WARP);
  WriteValues<Remainder>(a, q, next, rounder);
  rounder.End(a, q.slice, q.row);
}

#if HISPARSE_HAS_HALF
/* Values of segments become FP16; a thread block takes a slice, a thread one of its rows. */
__global__ void __launch_bounds__(THREADS) RoundHalfKernel(const ValuesArguments a, const PetscScalar *all, PetscCount num_values, PetscInt num_slices)
{
  const PetscInt      slice = (PetscInt)blockIdx.x, row = slice * HISPARSE_SLICE_ROWS + (PetscInt)threadIdx.x;
  const int           group = (int)threadIdx.x / HISPARSE_WARP, lane = (int)threadIdx.x % HISPARSE_WARP;
  const HiSparseSlice s    = a.slices[slice];
  const PetscScalar  *from = all + s.values;
  StoredHalf         *to   = (StoredHalf *)a.values + s.values;
  Rounder<StoredHalf> rounder;

  rounder.Begin(from, (slice + 1 < num_slices ? (PetscCount)a.slices[slice + 1].values : num_values) - s.values, (int)threadIdx.x, THREADS);
  for (unsigned int p = 0; p < s.num_segments; p += HISPARSE_WARP) {
    const int    n = (int)min(s.num_segments - p, (unsigned int)HISPARSE_WARP);
    SegmentGroup own;

    own.Load(a.segments + s.first_segment, p + lane, s.num_segments, group);
  #pragma unroll 4
    for (int k = 0; k < n; k++) {
      const uint32_t mask = __shfl_sync(HISPARSE_FULL_MASK, own.mask, k), position = __shfl_sync(HISPARSE_FULL_MASK, own.position, k) + __popc(mask & LowerLanes(lane));
      const int32_t  column = __shfl_sync(HISPARSE_FULL_MASK, own.column, k) + lane;

      if (mask >> lane & 1u) rounder.Put(to + position, from[position], column == row);
    }
  }
  rounder.End(a, slice, row);
}
#endif

/* Entries of each row. */
__global__ void __launch_bounds__(THREADS) RowSizesKernel(const ValuesArguments a)
{
  const PetscInt      slice = (PetscInt)blockIdx.x, row = slice * HISPARSE_SLICE_ROWS + (PetscInt)threadIdx.x;
  const int           group = (int)threadIdx.x / HISPARSE_WARP, lane = (int)threadIdx.x % HISPARSE_WARP;
  const HiSparseSlice s    = a.slices[slice];
  PetscCount          size = 0;

  for (unsigned int p = 0; p < s.num_segments; p += HISPARSE_WARP) {
    const int    n = (int)min(s.num_segments - p, (unsigned int)HISPARSE_WARP);
    SegmentGroup own;

    own.Load(a.segments + s.first_segment, p + lane, s.num_segments, group);
#pragma unroll 4
    for (int k = 0; k < n; k++) size += __shfl_sync(HISPARSE_FULL_MASK, own.mask, k) >> lane & 1u;
  }
  if (row >= a.num_rows) return;
  if (a.remainder.slices != NULL) {
    const RemainderRow outside = FindRemainderRow(a.remainder, slice, row);

    size += outside.end - outside.begin;
  }
  a.row_offsets.Set(row, size);
  if (row == a.num_rows - 1) a.row_offsets.Set(a.num_rows, 0);
}

/* Where the entries of a lane's row go. */
template <bool Columns, bool Values>
struct RowWriter {
  int32_t     *columns;
  PetscScalar *values;

  __device__ __forceinline__ void Add(int32_t column, PetscScalar value)
  {
    if (Columns) *columns++ = column;
    if (Values) *values++ = value;
  }
  __device__ __forceinline__ void Skip(PetscCount n)
  {
    if (Columns) columns += n;
    if (Values) values += n;
  }
};

/* The entries of the row outside of segments whose columns are below a column. */
template <Outside Remainder, bool Columns, bool Values>
__device__ __forceinline__ void AddOutside(const ValuesArguments &a, RemainderRow *outside, int32_t column, RowWriter<Columns, Values> *writer)
{
  if (Remainder == OUTSIDE_LONG && outside->is_long) {
    const PetscCount end = LowerBound(a.remainder.columns, outside->begin, outside->end, column);

    writer->Skip(end - outside->begin);
    outside->begin = end;
  }
  for (; outside->begin < outside->end && a.remainder.columns[outside->begin] < column; outside->begin++)
    writer->Add(a.remainder.columns[outside->begin], Values ? Scaled(a, a.remainder_values[outside->begin]) : PetscScalar(0));
}

/* All entries of the warp's rows, in the order of their columns. */
template <Outside Remainder, bool Columns, bool Values>
__device__ __forceinline__ void WriteRows(const ValuesArguments &a, const Quarter &q, RowWriter<Columns, Values> writer)
{
  constexpr int       batch   = 8; // loads under way
  const HiSparseSlice s       = a.slices[q.slice];
  const PetscScalar  *from    = (const PetscScalar *)a.values + s.values;
  RemainderRow        outside = {0, 0, false};

  if (Remainder != OUTSIDE_NONE && q.row < a.num_rows) outside = FindRemainderRow(a.remainder, q.slice, q.row);
  for (unsigned int p = 0; p < s.num_segments; p += HISPARSE_WARP) {
    const int    n = (int)min(s.num_segments - p, (unsigned int)HISPARSE_WARP);
    SegmentGroup own;

    own.Load(a.segments + s.first_segment, p + q.lane, s.num_segments, q.group);
#pragma unroll 1
    for (int k = 0; k < n; k += batch) { // segments behind the last have no bits
      PetscScalar  value[batch];
      unsigned int has = 0;

#pragma unroll
      for (int b = 0; b < batch; b++) {
        const uint32_t mask = __shfl_sync(HISPARSE_FULL_MASK, own.mask, k + b), position = __shfl_sync(HISPARSE_FULL_MASK, own.position, k + b);
        const bool     mine = mask >> q.lane & 1u;

        has |= (unsigned int)mine << b;
        if (Values) value[b] = LoadValueIf(mine, from + (position + __popc(mask & LowerLanes(q.lane))));
      }
#pragma unroll
      for (int b = 0; b < batch; b++) {
        const int32_t column = Remainder != OUTSIDE_NONE || Columns ? __shfl_sync(HISPARSE_FULL_MASK, own.column, k + b) + q.lane : 0;

        if (has >> b & 1u) {
          if (Remainder != OUTSIDE_NONE) AddOutside<Remainder>(a, &outside, column, &writer);
          writer.Add(column, Values ? Scaled(a, value[b]) : PetscScalar(0));
        }
      }
    }
  }
  if (Remainder != OUTSIDE_NONE) AddOutside<Remainder>(a, &outside, INT32_MAX, &writer);
}

/* n entries from the shared memory of a warp. */
template <typename T>
__device__ __forceinline__ void CopyFromShared(T *to, const T *from, PetscCount n, int lane)
{
  for (unsigned int k = (unsigned int)lane; k < (unsigned int)n; k += HISPARSE_WARP) to[k] = from[k];
}

/* CSR's columns and values, as they are wanted. */
template <Outside Remainder, bool Columns, bool Values>
__global__ void __launch_bounds__(THREADS) GetCSRKernel(const ValuesArguments a)
{
  extern __shared__ uint4 shared[];
  const Quarter           q       = FindQuarter(a);
  PetscScalar            *values  = (PetscScalar *)shared + (size_t)q.group * a.staged;
  int32_t                *columns = (int32_t *)((PetscScalar *)shared + (Values ? (size_t)WARPS * a.staged : 0)) + (size_t)q.group * a.staged;

  if (q.n > (PetscCount)a.staged) {
    WriteRows<Remainder, Columns, Values>(a, q, {a.csr_columns + q.begin, a.csr_values + q.begin});
    return;
  }
  WriteRows<Remainder, Columns, Values>(a, q, {columns + q.before, values + q.before});
  __syncwarp();
  if (Columns) CopyFromShared(a.csr_columns + q.first, columns, q.n, q.lane);
  if (Values) CopyFromShared(a.csr_values + q.first, values, q.n, q.lane);
}

/* An entry outside of segments of a row that has very many: action(a, entry, its position in CSR). */
template <typename Action>
struct LongRowEntry {
  ValuesArguments a;

  __device__ void operator()(PetscCount e) const
  {
    const RemainderArguments &o     = a.remainder;
    const int32_t             k     = PartitionPoint((int32_t)0, o.num_rows, [=](int32_t i) { return o.offsets((PetscCount)i + 1) <= e; });
    const PetscCount          begin = o.offsets(k), end = o.offsets((PetscCount)k + 1);

    if (end - begin <= MAX_OUTSIDE) return;
    const PetscInt         row = (PetscInt)o.rows[k];
    const int32_t          bit = (int32_t)(row % HISPARSE_SLICE_ROWS), c0 = o.columns[e] - bit;
    const HiSparseSlice    s        = a.slices[row / HISPARSE_SLICE_ROWS];
    const HiSparseSegment *segments = a.segments + s.first_segment;
    PetscCount             before   = 0;

    for (uint32_t p = 0; p < s.num_segments && segments[p].c0 < c0; p++) before += segments[p].mask[bit / HISPARSE_WARP] >> bit % HISPARSE_WARP & 1u;
    Action()(a, e, a.row_offsets(row) + (e - begin) + before);
  }
};

struct TakeFromCSR {
  __device__ void operator()(const ValuesArguments &a, PetscCount e, PetscCount position) const { a.remainder_values[e] = a.csr_values[position]; }
};

template <bool Columns, bool Values>
struct GiveToCSR {
  __device__ void operator()(const ValuesArguments &a, PetscCount e, PetscCount position) const
  {
    if (Columns) a.csr_columns[position] = a.remainder.columns[e];
    if (Values) a.csr_values[position] = Scaled(a, a.remainder_values[e]);
  }
};

Outside GetOutside(const HiSparseDiagonals *d)
{
  if (d->remainder_slices == NULL) return OUTSIDE_NONE;
  return d->max_quarter > MAX_OUTSIDE && d->remainder.view.num_nonzeros > MAX_OUTSIDE ? OUTSIDE_LONG : OUTSIDE_SHORT;
}

/* The entries that the kernels of slices skip, if a row may have so many. */
template <typename Action>
PetscErrorCode VisitLongRows(const HiSparseDiagonals *d, const ValuesArguments &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (GetOutside(d) == OUTSIDE_LONG) PetscCallCUDA(DCSRForEach(d->remainder.view.num_nonzeros, LongRowEntry<Action>{a}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef void ValuesKernel(ValuesArguments);

/* A thread block a slice, with shared memory of so many bytes an entry. */
PetscErrorCode Launch(ValuesKernel *kernel, const HiSparseDiagonals *d, size_t entry_bytes, ValuesArguments a, cudaStream_t stream)
{
  const double    limit = STAGED_OVER_MEAN * (double)d->num_nonzeros / ((double)d->num_slices * WARPS) + MIN_STAGED;
  DCSRDeviceFacts facts;
  size_t          most, bytes;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  most     = ((size_t)facts.block_shared_bytes - WARPS * sizeof(double)) / (WARPS * entry_bytes); // but for that of LargestOfBlock()
  most     = limit < (double)most ? (size_t)limit : most;
  a.staged = (unsigned int)PetscMin(most, (size_t)d->max_quarter);
  bytes    = (size_t)a.staged * WARPS * entry_bytes;
  PetscCallCUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned int)d->num_slices, THREADS, bytes, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <Outside Remainder>
PetscErrorCode LaunchGetCSR(const HiSparseDiagonals *d, PetscBool columns, PetscBool values, const ValuesArguments &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  // long rows come after their slices, whose kernels write something in their positions
  if (columns && values) PetscCall(Launch(GetCSRKernel<Remainder, true, true>, d, sizeof(PetscScalar) + sizeof(int32_t), a, stream));
  else if (columns) PetscCall(Launch(GetCSRKernel<Remainder, true, false>, d, sizeof(int32_t), a, stream));
  else if (values) PetscCall(Launch(GetCSRKernel<Remainder, false, true>, d, sizeof(PetscScalar), a, stream));
  if (columns && values) PetscCall((VisitLongRows<GiveToCSR<true, true>>(d, a, stream)));
  else if (columns) PetscCall((VisitLongRows<GiveToCSR<true, false>>(d, a, stream)));
  else if (values) PetscCall((VisitLongRows<GiveToCSR<false, true>>(d, a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

ValuesArguments MakeArguments(const HiSparseDiagonals *d, const HiSparseValues *v, PetscScalar alpha, DCSRView csr)
{
  ValuesArguments a = {};

  a.slices             = d->slices;
  a.segments           = d->segments;
  a.remainder.offsets  = Offsets(d->remainder.view);
  a.remainder.columns  = d->remainder.view.columns;
  a.remainder.rows     = d->remainder.rows;
  a.remainder.slices   = d->remainder_slices;
  a.remainder.num_rows = (int32_t)d->remainder.view.num_rows;
  a.values             = v->values;
  a.scales             = v->scales;
  a.corrections        = v->corrections;
  a.remainder_values   = v->remainder_values;
  a.alpha              = alpha;
  a.scaled             = alpha != PetscScalar(1.0);
  a.num_rows           = d->num_rows;
  a.row_offsets        = Offsets(csr);
  a.csr_columns        = csr.columns;
  a.csr_values         = csr.values;
  return a;
}

template <typename Offset>
PetscErrorCode RowOffsets(const HiSparseDiagonals *d, const ValuesArguments &a, cudaStream_t stream)
{
  Offset *row_offsets = (Offset *)a.row_offsets.offsets;

  PetscFunctionBegin;
  RowSizesKernel<<<(unsigned int)d->num_slices, THREADS, 0, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("row offsets of a matrix", row_offsets, (PetscCount)d->num_rows + 1, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* What FP16 has beside the values; without an error yet. */
static PetscErrorCode PrepareHalf(const HiSparseDiagonals *d, HiSparseValues *v, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (v->scales == NULL) PetscCall(PetscSparseCUDAMalloc((PetscCount)d->num_slices + 1, "scales of values in FP16", stream, &v->scales));
  if (v->corrections == NULL) PetscCall(PetscSparseCUDAMalloc(d->num_rows, "corrections of values in FP16", stream, &v->corrections));
  v->half_bytes = ((size_t)d->num_slices + 1) * sizeof(*v->scales) + (size_t)d->num_rows * sizeof(*v->corrections);
  PetscCallCUDA(cudaMemsetAsync(v->scales, 0, sizeof(*v->scales), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define KERNELS(Stored) \
  { \
    SetValuesKernel<OUTSIDE_NONE, Stored>, SetValuesKernel<OUTSIDE_SHORT, Stored>, SetValuesKernel<OUTSIDE_LONG, Stored> \
  }

/* HiSparseDiagonalsSetValues - the values of compact CSR of the same structure, rounded if they are to be: a read and a write of the values, and a read of the segments */
PetscErrorCode HiSparseDiagonalsSetValues(const void *structure, HiSparseValues *v, DCSRView csr, cudaStream_t stream)
{
  static ValuesKernel *const kernels[][3] =
  { KERNELS(PetscScalar),
    KERNELS(StoredSingle),
#if HISPARSE_HAS_HALF
    KERNELS(StoredHalf),
#endif
  };
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;
  ValuesArguments          a;

  PetscFunctionBegin;
  if (v->precision == HISPARSE_VALUES_HALF) PetscCall(PrepareHalf(d, v, stream));
  a                        = MakeArguments(d, v, 1.0, csr);
  v->transposed_is_current = PETSC_FALSE;
  PetscCall(Launch(kernels[v->precision][GetOutside(d)], d, sizeof(PetscScalar), a, stream));
  PetscCall(VisitLongRows<TakeFromCSR>(d, a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsGetCSR - compact CSR, columns of a row sorted, whose arrays are allocated; without structure csr has it

  Errors: PETSC_ERR_MEM, for a prefix sum. Cost: a read of the values and a write of what is wanted; row offsets take a read of the segments and a prefix sum.
*/
PetscErrorCode HiSparseDiagonalsGetCSR(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;
  const ValuesArguments    a = MakeArguments(d, v, alpha, csr);

  PetscFunctionBegin;
  if (with_structure) PetscCall((csr.wide ? RowOffsets<int64_t> : RowOffsets<int32_t>)(d, a, stream));
  switch (GetOutside(d)) {
  case OUTSIDE_NONE:
    PetscCall(LaunchGetCSR<OUTSIDE_NONE>(d, with_structure, with_values, a, stream));
    break;
  case OUTSIDE_SHORT:
    PetscCall(LaunchGetCSR<OUTSIDE_SHORT>(d, with_structure, with_values, a, stream));
    break;
  case OUTSIDE_LONG:
    PetscCall(LaunchGetCSR<OUTSIDE_LONG>(d, with_structure, with_values, a, stream));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsRoundHalf - values in FP16, with what goes with them. Errors: PETSC_ERR_MEM. Cost: two reads of the values, the second of which finds them in L2 */
PetscErrorCode HiSparseDiagonalsRoundHalf(const void *structure, const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  PetscCall(PrepareHalf(d, to, stream));
#if HISPARSE_HAS_HALF
  RoundHalfKernel<<<(unsigned int)d->num_slices, THREADS, 0, stream>>>(MakeArguments(d, to, 1.0, DCSRView{}), (const PetscScalar *)from->values, to->num_values, d->num_slices);
  PetscCallCUDA(cudaGetLastError());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload((SetValuesKernel<OUTSIDE_NONE, PetscScalar>));
