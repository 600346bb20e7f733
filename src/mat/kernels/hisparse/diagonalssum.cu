/*
  Sums of masked diagonals: the union of two structures without entries outside of segments.

  The segments of a slice ascend by diagonal in both terms, so that one traversal of both lists meets each diagonal of the sum once. Its mask has the bits of both; the value of a row is found in each
  of the three packed lists by counting bits below it. A warp takes a slice, a lane four rows, 32 apart. The first traversal counts, prefix sums say where segments and values go, and the second one
  writes them. A diagonal of the sum has at least as many entries as one of the terms, so that it stays a segment.
*/
#include "diagonals.cuh"
#include "../common/scan.h"

namespace
{

constexpr int THREADS = 128, WARPS = THREADS / HISPARSE_WARP;

constexpr int32_t NO_SEGMENT = INT32_MAX; // columns are smaller

/* A slice of a sum with more segments is left to CSR, which has its limit in diagonalsencode.cu. */
constexpr unsigned long long MAX_SLICE_SEGMENTS = 512;

/* One of the two structures, with its values. */
struct Term {
  const HiSparseSlice   *slices;
  const HiSparseSegment *segments;
  const PetscScalar     *values;
  PetscScalar            factor;
};

/* The most of something in all slices. */
struct Largest {
  unsigned long long quarter;  // entries in 32 rows
  unsigned long long segments; // of a slice
};

struct UnionArguments {
  Term        terms[2];
  PetscInt    num_slices;
  PetscCount *num_segments; // [num_slices + 1] of a slice; afterwards of the slices before
  PetscCount *num_values;   // [num_slices + 1] the same
  Largest    *largest;
};

/* A term's next segment in a traversal of a slice; c0 is NO_SEGMENT behind the last, and the mask means nothing then. */
struct Cursor {
  const HiSparseSegment *next, *last;
  HiSparseSegment        head;

  __device__ __forceinline__ void Advance()
  {
    if (next < last) head = *next++;
    else head.c0 = NO_SEGMENT;
  }
};

/* Calls visit(c0, mask, cursors, has) for every diagonal of the sum in the slice, ascending; has[k]: term k has it, as the head of its cursor. Whole warps, whose lanes do the same. */
template <typename Visit>
__device__ __forceinline__ void ForEachDiagonal(const UnionArguments &a, PetscInt slice, Visit visit)
{
  Cursor cursors[2];

#pragma unroll
  for (int k = 0; k < 2; k++) {
    const HiSparseSlice s = a.terms[k].slices[slice];

    cursors[k].next = a.terms[k].segments + s.first_segment;
    cursors[k].last = cursors[k].next + s.num_segments;
    cursors[k].Advance();
  }
  for (;;) {
    const int32_t c0 = min(cursors[0].head.c0, cursors[1].head.c0);
    bool          has[2];
    uint32_t      mask[HISPARSE_SLICE_WORDS];

    if (c0 == NO_SEGMENT) break;
#pragma unroll
    for (int k = 0; k < 2; k++) has[k] = cursors[k].head.c0 == c0;
#pragma unroll
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) mask[w] = (has[0] ? cursors[0].head.mask[w] : 0u) | (has[1] ? cursors[1].head.mask[w] : 0u);
    visit(c0, mask, cursors, has);
#pragma unroll
    for (int k = 0; k < 2; k++)
      if (has[k]) cursors[k].Advance();
  }
}

/* One lane; most slices find a number that is large enough. */
__device__ __forceinline__ void NoteLargest(unsigned long long *largest, unsigned long long n)
{
  if (n > *(volatile unsigned long long *)largest) atomicMax(largest, n);
}

/* Segments and values that the slices of the sum have. */
__global__ void __launch_bounds__(THREADS) CountKernel(const UnionArguments a)
{
  const int      lane         = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt slice        = (PetscInt)blockIdx.x * WARPS + (PetscInt)threadIdx.x / HISPARSE_WARP;
  unsigned int   num_segments = 0, entries[HISPARSE_SLICE_WORDS] = {}; // entries: of 32 rows each

  if (slice >= a.num_slices) return; // whole warps
  ForEachDiagonal(a, slice, [&](int32_t, const uint32_t(&mask)[HISPARSE_SLICE_WORDS], const Cursor(&)[2], const bool(&)[2]) {
    num_segments++;
#pragma unroll
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) entries[w] += __popc(mask[w]);
  });
  if (lane != 0) return;
  a.num_segments[slice] = (PetscCount)num_segments;
  a.num_values[slice]   = (PetscCount)entries[0] + entries[1] + entries[2] + entries[3];
  NoteLargest(&a.largest->quarter, max(max(entries[0], entries[1]), max(entries[2], entries[3])));
  NoteLargest(&a.largest->segments, num_segments);
  if (slice == a.num_slices - 1) {
    a.num_segments[a.num_slices] = 0;
    a.num_values[a.num_slices]   = 0;
  }
}
static_assert(HISPARSE_SLICE_WORDS == 4, "CountKernel() adds four numbers");

/* What a term has in the lane's row of 32-row group w of its segment, times its factor. values: of the slice. */
__device__ __forceinline__ PetscScalar TermValue(const Term &term, const PetscScalar *values, const HiSparseSegment &segment, int w, int lane)
{
  if (!(segment.mask[w] >> lane & 1u)) return PetscScalar(0);
  return term.factor * values[segment.values + BitsBefore(segment.mask, w) + __popc(segment.mask[w] & LowerLanes(lane))];
}

/*
  The values of the sum, and with Structure its slices and segments. Without, the structure is that of the first term, whose values may be the sum: each is read by the lane that writes it.
*/
template <bool Structure>
__global__ void __launch_bounds__(THREADS) FillKernel(const UnionArguments a, HiSparseSlice *slices, HiSparseSegment *segments, PetscScalar *sum)
{
  const int      lane         = (int)threadIdx.x % HISPARSE_WARP;
  const PetscInt slice        = (PetscInt)blockIdx.x * WARPS + (PetscInt)threadIdx.x / HISPARSE_WARP;
  unsigned int   num_segments = 0, num_values = 0;

  if (slice >= a.num_slices) return; // whole warps
  const PetscScalar *values[2] = {a.terms[0].values + a.terms[0].slices[slice].values, a.terms[1].values + a.terms[1].slices[slice].values};
  const int64_t      first     = Structure ? (int64_t)a.num_values[slice] : a.terms[0].slices[slice].values;
  const PetscCount   begin     = Structure ? a.num_segments[slice] : 0;

  ForEachDiagonal(a, slice, [&](int32_t c0, const uint32_t(&mask)[HISPARSE_SLICE_WORDS], const Cursor(&cursors)[2], const bool(&has)[2]) {
    if (Structure && lane == 0) segments[begin + num_segments] = {{mask[0], mask[1], mask[2], mask[3]}, c0, num_values};
#pragma unroll
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) {
      PetscScalar v = 0.0;

      if (!(mask[w] >> lane & 1u)) continue;
      if (has[0]) v = TermValue(a.terms[0], values[0], cursors[0].head, w, lane);
      if (has[1]) v += TermValue(a.terms[1], values[1], cursors[1].head, w, lane);
      sum[first + (num_values + BitsBefore(mask, w) + __popc(mask[w] & LowerLanes(lane)))] = v;
    }
    num_segments++;
    num_values += BitsBefore(mask, HISPARSE_SLICE_WORDS);
  });
  if (Structure && lane == 0) slices[slice] = {first, (uint32_t)begin, num_segments};
}

/* The sum on its way; arrays of the arguments and what has been made of the results are owned. */
struct Union {
  UnionArguments     a;
  Largest            largest;
  PetscCount         num_segments, num_values;
  HiSparseDiagonals *structure; // new, or NULL
  HiSparseValues    *values;    // new, or NULL
};

/* What the union has; synchronizes. */
PetscErrorCode Count(Union *u, cudaStream_t stream)
{
  const PetscCount n = (PetscCount)u->a.num_slices + 1;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "segments of slices of a sum", stream, &u->a.num_segments));
  PetscCall(PetscSparseCUDAMalloc(n, "values of slices of a sum", stream, &u->a.num_values));
  PetscCall(PetscSparseCUDAMalloc(1, "largest slice of a sum", stream, &u->a.largest));
  PetscCallCUDA(cudaMemsetAsync(u->a.largest, 0, sizeof(*u->a.largest), stream));
  CountKernel<<<DCSRNumBlocks((PetscCount)u->a.num_slices, WARPS), THREADS, 0, stream>>>(u->a);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("prefix sums of slices", u->a.num_segments, n, stream));
  PetscCall(DCSRExclusiveSum("prefix sums of slices", u->a.num_values, n, stream));
  PetscCallCUDA(cudaMemcpyAsync(&u->num_segments, u->a.num_segments + n - 1, sizeof(u->num_segments), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&u->num_values, u->a.num_values + n - 1, sizeof(u->num_values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(&u->largest, u->a.largest, sizeof(u->largest), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new structure like d, for the segments of the union, which FillKernel() writes. */
PetscErrorCode CreateStructure(Union *u, const HiSparseDiagonals *d, cudaStream_t stream)
{
  HiSparseDiagonals *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  u->structure          = s;
  s->num_rows           = d->num_rows;
  s->num_columns        = d->num_columns;
  s->num_nonzeros       = u->num_values;
  s->num_segment_values = u->num_values;
  s->size               = d->size;
  s->num_slices         = d->num_slices;
  s->num_column_slices  = d->num_column_slices;
  s->num_segments       = u->num_segments;
  s->max_quarter        = (PetscCount)u->largest.quarter;
  PetscCall(PetscSparseCUDAMalloc(s->num_slices, "slices of diagonals", stream, &s->slices));
  PetscCall(PetscSparseCUDAMalloc(s->num_segments, "segments of diagonals", stream, &s->segments));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts, and, when the union has at most max_nonzeros entries, makes the structure, unless it is d, and new values, unless those of d may be overwritten. */
PetscErrorCode Unite(Union *u, HiSparseDiagonals *d, HiSparseValues *v, PetscCount max_nonzeros, PetscBool overwrite, cudaStream_t stream, PetscBool *done)
{
  const unsigned int blocks = DCSRNumBlocks((PetscCount)u->a.num_slices, WARPS);
  PetscScalar       *sum    = (PetscScalar *)v->values;

  PetscFunctionBegin;
  PetscCall(Count(u, stream));
  *done = (PetscBool)(u->num_values <= max_nonzeros && u->largest.segments <= MAX_SLICE_SEGMENTS && 2 * u->num_segments < (PetscCount)UINT32_MAX); // as in diagonalsencode.cu
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (u->num_values > d->num_nonzeros) PetscCall(CreateStructure(u, d, stream));
  if (u->structure != NULL || !overwrite) {
    PetscCall(HiSparseValuesCreate(u->num_values, 0, HISPARSE_VALUES_SCALAR, stream, &u->values));
    sum = (PetscScalar *)u->values->values;
  } else v->transposed_is_current = PETSC_FALSE;
  if (u->structure != NULL) FillKernel<true><<<blocks, THREADS, 0, stream>>>(u->a, u->structure->slices, u->structure->segments, sum);
  else FillKernel<false><<<blocks, THREADS, 0, stream>>>(u->a, NULL, NULL, sum);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsUnite - alpha A + beta B for matrices of the same size and any patterns

  sum_structure is that of A when the sum has no other entries, and sum_values are its values then, with overwrite; otherwise they are new. num_nonzeros -1: the sum has more than max_nonzeros, or
  entries lie outside of segments, or a slice would have too many segments; both are NULL, and nothing was done. Synchronizes. Errors: PETSC_ERR_MEM; both terms are as they were.

  Cost: reads of the values and two of the segments, and a write of the sum. Workspace: 16 bytes a slice.
*/
PetscErrorCode HiSparseDiagonalsUnite(void *structure, HiSparseValues *v, PetscScalar alpha, const void *other, const HiSparseValues *other_values, PetscScalar beta, PetscCount max_nonzeros,
                                      PetscBool overwrite, cudaStream_t stream, void **sum_structure, HiSparseValues **sum_values, PetscCount *num_nonzeros)
{
  HiSparseDiagonals       *d = (HiSparseDiagonals *)structure;
  const HiSparseDiagonals *o = (const HiSparseDiagonals *)other;
  Union                    u = {};
  PetscBool                done;
  void                    *new_structure;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  *sum_structure = NULL;
  *sum_values    = NULL;
  *num_nonzeros  = -1;
  if (d->remainder_slices != NULL || o->remainder_slices != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  u.a.terms[0]   = {d->slices, d->segments, (const PetscScalar *)v->values, alpha};
  u.a.terms[1]   = {o->slices, o->segments, (const PetscScalar *)other_values->values, beta};
  u.a.num_slices = d->num_slices;
  ierr           = Unite(&u, d, v, max_nonzeros, overwrite, stream, &done);
  PetscCall(PetscSparseCUDAFree(&u.a.num_segments, stream));
  PetscCall(PetscSparseCUDAFree(&u.a.num_values, stream));
  PetscCall(PetscSparseCUDAFree(&u.a.largest, stream));
  if (ierr != PETSC_SUCCESS) {
    new_structure = u.structure;
    PetscCall(HiSparseValuesDestroy(&u.values, stream));
    PetscCall(HiSparseDiagonalsDestroy(&new_structure, stream));
  }
  PetscCall(ierr);
  if (!done) PetscFunctionReturn(PETSC_SUCCESS);
  *sum_structure = u.structure != NULL ? u.structure : structure;
  *sum_values    = u.values != NULL ? u.values : v;
  *num_nonzeros  = u.num_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}
