/*
  C = alpha A + beta B of compact matrices. One pass counts what A and B have in common, tile by tile (tile.cuh); then it is known how large C is and where each tile
  of it begins, and a second pass writes it: an entry's place is its own place in the tile, and that in the other matrix, less the entries before it that both have.
  Rows play no part in who does what. Bytes: the columns of both twice, the values once, C once.
*/
#include "../entries/temporary.cuh"
#include "spaddimpl.h"
#include "tile.cuh"
#include <cub/device/device_scan.cuh>

namespace
{

constexpr int ADD_WORDS = ADD_TILE / 32;

struct AddPlanArrays {
  Summand       a, b;
  DCSRAddSplit *splits;
  PetscCount   *matched;
  PetscCount    num_tiles, num_rows, num_entries; // of A and B together
};

/* How many of the first k entries of a merged row are A's; A's comes first where both have one. */
__device__ PetscCount MergePath(const Summand &a, const Summand &b, PetscCount a_begin, PetscCount a_size, PetscCount b_begin, PetscCount b_size, PetscCount k)
{
  PetscCount first = k > b_size ? k - b_size : 0, last = k < a_size ? k : a_size;

  while (first < last) {
    const PetscCount middle = first + (last - first) / 2;

    if (a.Column(a_begin + middle) <= b.Column(b_begin + k - 1 - middle)) first = middle + 1;
    else last = middle;
  }
  return first;
}

/* A thread a tile: where it begins. */
__global__ void __launch_bounds__(ADD_THREADS) SplitKernel(AddPlanArrays p)
{
  const PetscCount t = (PetscCount)blockIdx.x * ADD_THREADS + threadIdx.x;
  const PetscCount d = t < p.num_tiles ? t * (ADD_TILE - 1) : p.num_entries;
  PetscCount       first = 0, last = p.num_rows;
  DCSRAddSplit     split;

  if (t > p.num_tiles) return;
  while (first < last) {
    const PetscCount middle = first + (last - first) / 2;

    if (p.a.Offset(middle) + p.b.Offset(middle) < d) first = middle + 1;
    else last = middle;
  }
  split.row = (PetscInt)first;
  split.a   = p.a.Offset(first);
  split.b   = p.b.Offset(first);
  if (split.a + split.b > d) {
    const PetscCount a_begin = p.a.Offset(first - 1), a_size = split.a - a_begin, b_begin = p.b.Offset(first - 1), b_size = split.b - b_begin, k = d - a_begin - b_begin;
    const PetscCount i = MergePath(p.a, p.b, a_begin, a_size, b_begin, b_size, k);
    PetscCount       j = k - i;

    if (i > 0 && j < b_size && p.a.Column(a_begin + i - 1) == p.b.Column(b_begin + j)) j++; // both have it: not in two tiles
    split.a = a_begin + i;
    split.b = b_begin + j;
  }
  p.splits[t] = split;
}

/* How many entries of a tile both matrices have; the fewer ones are looked up among the others. */
__global__ void __launch_bounds__(ADD_THREADS, 8) CountKernel(AddPlanArrays p)
{
  __shared__ TileStorage storage;
  __shared__ int         num_matched;
  Tile                   tile(storage, p.splits);
  const bool             from_a = tile.num_a <= tile.num_b;
  const int              n      = from_a ? tile.num_a : tile.num_b;
  int                    count  = 0;

  if (threadIdx.x == 0) num_matched = 0;
  tile.Load(p.a, p.b);
  for (int k = 0; k < n; k += ADD_THREADS) {
    const int i     = k + (int)threadIdx.x;
    bool      found = false;

    if (i < n && from_a) (void)tile.PlaceInB(i, &found);
    else if (i < n) (void)tile.PlaceInA(i, &found);
    count += __popc(__ballot_sync(0xffffffffu, found));
  }
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(&num_matched, count);
  __syncthreads();
  if (threadIdx.x == 0) p.matched[blockIdx.x] = num_matched;
}

/* Which of a tile's entries both matrices have. */
struct Matches {
  unsigned int a[ADD_WORDS + 1], b[ADD_WORDS + 1];
  int          before[ADD_WORDS + 1]; // bits in the words of a before

  /* Entries that both have among the first i of A. */
  __device__ int CountBefore(int i) const { return before[i / 32] + __popc(a[i / 32] & ((1u << (i % 32)) - 1)); }

  /* One warp: sums over the words before. */
  __device__ void Sum()
  {
    const int lane = (int)threadIdx.x % 32;
    int       carry = 0;

    for (int w = lane; w < ADD_WORDS + 32; w += 32) {
      const int own = w <= ADD_WORDS ? __popc(a[w]) : 0;
      int       sum = own;

      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, sum, step);

        if (lane >= step) sum += other;
      }
      if (w <= ADD_WORDS) before[w] = carry + sum - own;
      carry += __shfl_sync(0xffffffffu, sum, 31);
    }
  }
};

struct FillArrays {
  AddPlanArrays p;
  Weights       w;
  DCSRView      c;
  bool          structure; // write C's structure
};

/* Row offsets of C for the rows that begin in the tile, the last tile's also those behind all entries. */
__device__ void WriteRowOffsets(const FillArrays &f, const Tile &tile, const Matches &matches, PetscCount base)
{
  const PetscCount end = blockIdx.x + 1 == f.p.num_tiles ? f.p.num_rows + 1 : tile.end.row;

  for (PetscCount row = (PetscCount)tile.begin.row + threadIdx.x; row < end; row += ADD_THREADS) {
    const int        i = (int)(f.p.a.Offset(row) - tile.begin.a), j = (int)(f.p.b.Offset(row) - tile.begin.b);
    const PetscCount offset = base + i + j - matches.CountBefore(i);

    if (f.c.wide) ((int64_t *)f.c.row_offsets)[row] = offset;
    else ((int32_t *)f.c.row_offsets)[row] = (int32_t)offset;
  }
}

/* B's entries that A lacks. */
__device__ void WriteOthers(const FillArrays &f, const Tile &tile, const Matches &matches, PetscCount base)
{
  for (int j = threadIdx.x; j < tile.num_b; j += ADD_THREADS) {
    bool       found;
    int        i;
    PetscCount place;

    if (matches.b[j / 32] >> (j % 32) & 1) continue;
    i     = tile.PlaceInA(j, &found);
    place = base + i + j - matches.CountBefore(i);
    if (f.structure) f.c.columns[place] = tile.s.columns[tile.num_a + j];
    if (f.c.values) f.c.values[place] = f.w.B(f.p.b.values[tile.begin.b + j]);
  }
}

__global__ void __launch_bounds__(ADD_THREADS) FillKernel(FillArrays f)
{
  __shared__ TileStorage storage;
  __shared__ Matches     matches;
  Tile                   tile(storage, f.p.splits);
  const PetscCount       base = tile.begin.a + tile.begin.b - f.p.matched[blockIdx.x];
  PetscScalar            value[ADD_ITEMS];
  int                    place[ADD_ITEMS]; // in B; ~place where B has the entry

#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int i = (int)threadIdx.x + k * ADD_THREADS;

    if (f.c.values && i < tile.num_a) value[k] = f.w.A(f.p.a.values[tile.begin.a + i]);
  }
  for (int w = threadIdx.x; w <= ADD_WORDS; w += ADD_THREADS) matches.a[w] = matches.b[w] = 0;
  tile.Load(f.p.a, f.p.b);
#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int    i     = (int)threadIdx.x + k * ADD_THREADS;
    bool         found = false;
    unsigned int word;

    place[k] = i < tile.num_a ? tile.PlaceInB(i, &found) : 0;
    word     = __ballot_sync(0xffffffffu, found);
    if (threadIdx.x % 32 == 0) matches.a[i / 32] = word;
    if (found) {
      atomicOr(&matches.b[place[k] / 32], 1u << (place[k] % 32));
      if (f.c.values) value[k] += f.w.B(f.p.b.values[tile.begin.b + place[k]]);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) matches.Sum();
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ADD_ITEMS; k++) {
    const int i = (int)threadIdx.x + k * ADD_THREADS;

    if (i < tile.num_a) {
      const PetscCount to = base + i + place[k] - matches.CountBefore(i);

      if (f.structure) f.c.columns[to] = tile.s.columns[i];
      if (f.c.values) f.c.values[to] = value[k];
    }
  }
  WriteOthers(f, tile, matches, base);
  if (f.structure) WriteRowOffsets(f, tile, matches, base);
}

/* A += beta B where A has all entries of B. */
__global__ void __launch_bounds__(ADD_THREADS, 8) UpdateKernel(AddPlanArrays p, Weights w, PetscScalar *values)
{
  __shared__ TileStorage storage;
  Tile                   tile(storage, p.splits);

  if (tile.num_b == 0) return;
  tile.Load(p.a, p.b);
  for (int j = threadIdx.x; j < tile.num_b; j += ADD_THREADS) {
    bool      found;
    const int i = tile.PlaceInA(j, &found);

    if (found) values[tile.begin.a + i] += w.B(p.b.values[tile.begin.b + j]);
  }
}

/* A thread a tile, when C has its structure: what matched says follows from where the tile's first entry is in C. */
__global__ void __launch_bounds__(ADD_THREADS) LocateKernel(AddPlanArrays p, Summand c)
{
  const PetscCount t = (PetscCount)blockIdx.x * ADD_THREADS + threadIdx.x;
  DCSRAddSplit     split;
  PetscCount       base;

  if (t >= p.num_tiles) return;
  split = p.splits[t];
  base  = c.Offset(split.row);
  if (split.a < p.a.Offset(split.row) || split.b < p.b.Offset(split.row)) { // inside the row before
    const int32_t at_a = split.a < p.a.Offset(split.row) ? p.a.Column(split.a) : PETSC_INT32_MAX, at_b = split.b < p.b.Offset(split.row) ? p.b.Column(split.b) : PETSC_INT32_MAX;

    base = FirstNotBelow(c.columns, c.Offset((PetscCount)split.row - 1), base, at_a < at_b ? at_a : at_b);
  }
  p.matched[t] = split.a + split.b - base;
}

inline unsigned int ThreadGrid(PetscCount n)
{
  return (unsigned int)((n + ADD_THREADS - 1) / ADD_THREADS);
}

inline AddPlanArrays MakeArrays(const DCSRAddPlan *plan, DCSRView A, DCSRView B)
{
  return AddPlanArrays{MakeSummand(A, plan->map_a), MakeSummand(B, plan->map_b), plan->splits, plan->matched, plan->num_tiles, A.num_rows, A.num_nonzeros + B.num_nonzeros};
}

PetscErrorCode CheckSummands(DCSRView A, DCSRView B)
{
  PetscFunctionBegin;
  PetscCheck(A.num_rows == B.num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Cannot add matrices of %" PetscInt_FMT " and %" PetscInt_FMT " rows", A.num_rows, B.num_rows);
  PetscCheck(A.row_offsets != NULL && B.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Adding needs compact storage");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the entries into tiles; without counts. */
PetscErrorCode CreateTiles(DCSRView A, DCSRView B, const int32_t map_a[], const int32_t map_b[], cudaStream_t stream, DCSRAddPlan *plan)
{
  const PetscCount n    = A.num_nonzeros + B.num_nonzeros;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(plan, 1));
  PetscCall(CheckSummands(A, B));
  plan->map_a        = map_a;
  plan->map_b        = map_b;
  plan->num_nonzeros = n;
  plan->num_tiles    = (n + ADD_TILE - 2) / (ADD_TILE - 1);
  if (plan->num_tiles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(plan->num_tiles < PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot add matrices of %" PetscCount_FMT " entries together", n);
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(plan->num_tiles + 1, "tiles of a sum", stream, &plan->splits));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(plan->num_tiles + 1, "counts of a sum", stream, &plan->matched));
  SplitKernel<<<ThreadGrid(plan->num_tiles + 1), ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B));
  PetscCallCUDAGoto(ierr, failed, cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRAddPlanDestroy(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What both matrices have, summed over the tiles before. */
PetscErrorCode CountMatched(DCSRAddPlan *plan, DCSRView A, DCSRView B, cudaStream_t stream)
{
  PetscCount *matched = plan->matched;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(matched + plan->num_tiles, 0, sizeof(*matched), stream));
  CountKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B));
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRWithTemporary("workspace to sum the counts of a sum", stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, matched, matched, (int64_t)plan->num_tiles + 1, stream); }));
  PetscCallCUDA(cudaMemcpyAsync(&plan->num_matched, matched + plan->num_tiles, sizeof(*matched), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  plan->num_nonzeros -= plan->num_matched;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRAddPlanCreate - counts what two matrices have in common

  Input Parameters:
+ A      - compact storage; values are not read
. B      - compact storage of as many rows
. map_a  - [columns of A] device, ascending: what A's columns are in the sum; NULL: what they are
. map_b  - the same for B
- stream - synchronizes with it

  Output Parameter:
. plan - to be destroyed with DCSRAddPlanDestroy(); empty after an error

  Cost: one read of both structures.

  Reference: O. Green, R. McColl, D. Bader, GPU Merge Path: a GPU merging algorithm, ICS 2012, for the tiles.
*/
PetscErrorCode DCSRAddPlanCreate(DCSRView A, DCSRView B, const int32_t map_a[], const int32_t map_b[], cudaStream_t stream, DCSRAddPlan *plan)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateTiles(A, B, map_a, map_b, stream, plan));
  if (plan->num_tiles == 0 || A.num_nonzeros == 0 || B.num_nonzeros == 0) {
    if (plan->num_tiles > 0) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(plan->matched, 0, (size_t)(plan->num_tiles + 1) * sizeof(*plan->matched), stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, failed, CountMatched(plan, A, B, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRAddPlanDestroy(plan, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRAddPlanDestroy - frees a plan and clears it */
PetscErrorCode DCSRAddPlanDestroy(DCSRAddPlan *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&plan->splits, stream));
  PetscCall(PetscSparseCUDAFree(&plan->matched, stream));
  PetscCall(PetscArrayzero(plan, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddPlanAllocate - the arrays of the sum, not filled

  Input Parameters:
+ plan        - of DCSRAddPlanCreate()
. num_rows    - of the sum
. num_columns - of the sum
. values      - PETSC_FALSE: structure alone
- stream      - the arrays may be used in work queued on it

  Output Parameter:
. C - compact storage, whose arrays the caller owns; all NULL after an error
*/
PetscErrorCode DCSRAddPlanAllocate(const DCSRAddPlan *plan, PetscInt num_rows, PetscInt num_columns, PetscBool values, cudaStream_t stream, DCSRView *C)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(C, 1));
  PetscCall(DCSRNeedsWide(plan->num_nonzeros, &wide));
  if (values) PetscCall(DCSRViewAllocateCompact(num_rows, num_columns, plan->num_nonzeros, wide, stream, C));
  else PetscCall(DCSRViewAllocateStructure(num_rows, num_columns, plan->num_nonzeros, wide, stream, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddFill - structure and values of C = alpha A + beta B

  Input Parameters:
+ plan   - of A and B
. alpha  - factor of A
. A      - compact storage
. beta   - factor of B
. B      - compact storage
. C      - of DCSRAddPlanAllocate(), other arrays than A's and B's; without values, theirs are not read
- stream - asynchronous on it

  Cost: one read of A and B, one write of C.
*/
PetscErrorCode DCSRAddFill(const DCSRAddPlan *plan, PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, DCSRView C, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (plan->num_tiles == 0) {
    PetscCallCUDA(cudaMemsetAsync(C.row_offsets, 0, ((size_t)C.num_rows + 1) * (C.wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  FillKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(FillArrays{MakeArrays(plan, A, B), MakeWeights(alpha, beta), C, true});
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddUpdate - A += beta B in place

  Input Parameters:
+ plan   - of A and B; num_matched is B.num_nonzeros, entries that A lacks are left out
. A      - compact storage
. beta   - factor
. B      - compact storage
- stream - asynchronous on it
*/
PetscErrorCode DCSRAddUpdate(const DCSRAddPlan *plan, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (A.num_nonzeros == 0 || B.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  UpdateKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B), MakeWeights(1.0, beta), A.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddNumeric - the values of C = alpha A + beta B, whose structure is there

  Input Parameters:
+ alpha  - factor of A
. A      - compact storage of the pattern that C was made with
. beta   - factor of B
. B      - the same
. C      - of DCSRAdd(); its values are written
- stream - asynchronous on it

  Cost: one read of A and B, one write of C's values; with equal patterns the columns are not read.
*/
PetscErrorCode DCSRAddNumeric(PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, DCSRView C, cudaStream_t stream)
{
  DCSRAddPlan    plan;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (C.num_nonzeros == A.num_nonzeros && C.num_nonzeros == B.num_nonzeros) { // each has all entries of C
    PetscCall(DCSRAddValues(C.num_nonzeros, alpha, A.values, beta, B.values, C.values, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CreateTiles(A, B, NULL, NULL, stream, &plan));
  LocateKernel<<<ThreadGrid(plan.num_tiles), ADD_THREADS, 0, stream>>>(MakeArrays(&plan, A, B), MakeSummand(C, NULL));
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  FillKernel<<<(unsigned int)plan.num_tiles, ADD_THREADS, 0, stream>>>(FillArrays{MakeArrays(&plan, A, B), MakeWeights(alpha, beta), C, false});
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
cleanup:
  PetscCall(DCSRAddPlanDestroy(&plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAdd - C = alpha A + beta B

  Input Parameters:
+ alpha  - factor of A
. A      - compact storage
. beta   - factor of B
. B      - compact storage of as many rows and columns
- stream - synchronizes with it

  Output Parameter:
. C - compact storage, whose arrays the caller owns; without values when A or B has entries and no values. All NULL after an error

  Cost: equal patterns, one read of A and B and one write of C; others, one more read of the structures.

  Note:
  Matrices of as many nonzeros each are taken for ones of equal patterns until a difference is found.
*/
PetscErrorCode DCSRAdd(PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream, DCSRView *C)
{
  const PetscBool values = (PetscBool)((A.values != NULL || A.num_nonzeros == 0) && (B.values != NULL || B.num_nonzeros == 0));
  DCSRAddPlan     plan;
  PetscBool       done;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(C, 1));
  PetscCall(CheckSummands(A, B));
  PetscCheck(A.num_columns == B.num_columns, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Cannot add matrices of %" PetscInt_FMT " and %" PetscInt_FMT " columns", A.num_columns, B.num_columns);
  PetscCall(DCSRAddEqualPatterns(alpha, A, beta, B, values, stream, C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRAddPlanCreate(A, B, NULL, NULL, stream, &plan));
  PetscCallGoto(ierr, failed, DCSRAddPlanAllocate(&plan, A.num_rows, A.num_columns, values, stream, C));
  PetscCallGoto(ierr, failed, DCSRAddFill(&plan, alpha, A, beta, B, *C, stream));
  PetscCall(DCSRAddPlanDestroy(&plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRAddPlanDestroy(&plan, stream));
  PetscCall(DCSRViewFree(C, stream));
  PetscFunctionReturn(ierr);
}
