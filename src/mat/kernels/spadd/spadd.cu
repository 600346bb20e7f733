/*
  C = alpha A + beta B of compact matrices. One pass finds the merged order of the entries, tile by tile (tile.cuh, count.cuh), and notes it in two bits an entry. Then it is known how
  large C is and where each of its tiles begins. A second pass streams the entries in merged order to their positions, which are counts of bits. Rows play no part in who does what.
  Bytes: the columns of both twice, the values once, C once.
*/
#include "../common/preload.cuh"
#include "../common/scan.h"
#include "count.cuh"

namespace
{

constexpr int ADD_BATCH = 4; // entries that a thread has under way

/* 32 entries of the merged order of a tile. */
struct __align__(16) OrderWord
{
  uint32_t     a;       // A's entries
  uint32_t     dropped; // B's entries that A has, too
  uint32_t     next;    // the same of the next 32
  unsigned int before;  // number of A's entries before these 32, and 2^16 times the number of the others

  __device__ __forceinline__ int ABefore(uint32_t below) const
  {
    return (int)(before & 0xffff) + __popc(a & below);
  }
  __device__ __forceinline__ int DroppedBefore(uint32_t below) const
  {
    return (int)(before >> 16) + __popc(dropped & below);
  }
};

static_assert(ADD_WORDS == 64, "a lane has two words");

/* The first warp: the words of a tile, and one behind them. */
__device__ __forceinline__ void LoadOrder(const uint32_t bits[], OrderWord order[])
{
  const int    lane = (int)threadIdx.x % 32;
  const uint2  a = ((const uint2 *)bits)[lane], dropped = ((const uint2 *)(bits + ADD_WORDS))[lane];
  uint32_t     next  = __shfl_down_sync(0xffffffffu, dropped.x, 1);
  unsigned int first = (unsigned int)__popc(a.x) | (unsigned int)__popc(dropped.x) << 16, both = first + ((unsigned int)__popc(a.y) | (unsigned int)__popc(dropped.y) << 16), sum = both;

  if (lane == 31) next = 0;
  for (int step = 1; step < 32; step *= 2) {
    const unsigned int other = __shfl_up_sync(0xffffffffu, sum, step);

    if (lane >= step) sum += other;
  }
  order[2 * lane]     = OrderWord{a.x, dropped.x, dropped.y, sum - both};
  order[2 * lane + 1] = OrderWord{a.y, dropped.y, next, sum - both + first};
  if (lane == 31) order[ADD_WORDS] = OrderWord{0, 0, 0, sum};
}

struct FillArrays {
  AddPlanArrays p;
  Weights       w;
  DCSRView      c;
};

/* Row offsets of C for the rows that begin in the tile, the last tile's also that behind all entries. */
__device__ __forceinline__ void WriteRowOffsets(const FillArrays &f, const Tile &tile, const OrderWord order[], PetscCount base)
{
  const PetscCount end = blockIdx.x + 1 == f.p.num_tiles ? f.p.num_rows + 1 : tile.end.row;

  for (PetscCount row = (PetscCount)tile.begin.row + threadIdx.x; row < end; row += ADD_THREADS) {
    const int m = (int)(f.p.a.Offset(row) - tile.begin.a + f.p.b.Offset(row) - tile.begin.b);

    Offsets(f.c).Set(row, base + m - order[m / 32].DroppedBefore((1u << (m % 32)) - 1));
  }
}

/* The entries of a tile: all loads of a batch come before its stores. */
__device__ __forceinline__ void FillEntries(const FillArrays &f, const Tile &tile, const OrderWord order[], PetscCount base)
{
  const int            lane      = (int)threadIdx.x % 32;
  const uint32_t       below     = (1u << lane) - 1;
  const int32_t *const a_columns = f.p.a.columns + tile.begin.a, *const b_columns = f.p.b.columns + tile.begin.b;
  const PetscScalar *const a_values = f.p.a.values + tile.begin.a, *const b_values = f.p.b.values + tile.begin.b;
  int32_t *const     columns = f.c.columns + base;
  PetscScalar *const values  = f.c.values + base;

#pragma unroll 1
  for (int begin = 0; begin < tile.num; begin += ADD_BATCH * ADD_THREADS) {
    int32_t     column[ADD_BATCH];
    PetscScalar a[ADD_BATCH], b[ADD_BATCH];
    int         to[ADD_BATCH]; // negative: nowhere
    bool        in_a[ADD_BATCH], in_b[ADD_BATCH];

#pragma unroll
    for (int k = 0; k < ADD_BATCH; k++) {
      const int       m = begin + k * ADD_THREADS + (int)threadIdx.x;
      const OrderWord w = order[m / 32];
      const int       i = w.ABefore(below), j = m - i;

      to[k]   = m < tile.num && !(w.dropped >> lane & 1) ? m - w.DroppedBefore(below) : -1;
      in_a[k] = w.a >> lane & 1;
      in_b[k] = !in_a[k] || (__funnelshift_rc(w.dropped, w.next, lane + 1) & 1);
      if (to[k] >= 0) column[k] = in_a[k] ? a_columns[i] : b_columns[j];
      if (to[k] >= 0 && in_a[k]) a[k] = a_values[i];
      if (to[k] >= 0 && in_b[k]) b[k] = b_values[j];
    }
    if (f.p.a.map || f.p.b.map) {
#pragma unroll
      for (int k = 0; k < ADD_BATCH; k++) {
        const int32_t *const map = in_a[k] ? f.p.a.map : f.p.b.map;

        if (to[k] >= 0 && map) column[k] = map[column[k]];
      }
    }
#pragma unroll
    for (int k = 0; k < ADD_BATCH; k++) {
      if (to[k] < 0) continue;
      columns[to[k]] = column[k];
      values[to[k]]  = !in_a[k] ? f.w.B(b[k]) : in_b[k] ? f.w.A(a[k]) + f.w.B(b[k]) : f.w.A(a[k]);
    }
  }
}

__global__ void __launch_bounds__(ADD_THREADS, 5) FillKernel(FillArrays f)
{
  __shared__ OrderWord order[ADD_WORDS + 1];
  const Tile           tile(f.p.splits);
  const PetscCount     base = tile.begin.a + tile.begin.b - f.p.matched[blockIdx.x];

  if (threadIdx.x < 32) LoadOrder(f.p.bits + 2 * ADD_WORDS * (PetscCount)blockIdx.x, order);
  __syncthreads();
  FillEntries(f, tile, order, base);
  WriteRowOffsets(f, tile, order, base);
}

/* A += beta B where A has all entries of B. */
__global__ void __launch_bounds__(ADD_THREADS, 6) UpdateKernel(AddPlanArrays p, Weights w, PetscScalar *all_values)
{
  __shared__ OrderWord     order[ADD_WORDS + 1];
  const Tile               tile(p.splits);
  const int                lane   = (int)threadIdx.x % 32;
  PetscScalar *const       values = all_values + tile.begin.a;
  const PetscScalar *const others = p.b.values + tile.begin.b;

  if (tile.num_a == 0 || tile.num_b == 0) return;
  if (threadIdx.x < 32) LoadOrder(p.bits + 2 * ADD_WORDS * (PetscCount)blockIdx.x, order);
  __syncthreads();
#pragma unroll 1
  for (int begin = 0; begin < tile.num; begin += ADD_BATCH * ADD_THREADS) {
    PetscScalar a[ADD_BATCH], b[ADD_BATCH];
    int         to[ADD_BATCH]; // negative: nowhere

#pragma unroll
    for (int k = 0; k < ADD_BATCH; k++) {
      const int       m    = begin + k * ADD_THREADS + (int)threadIdx.x;
      const OrderWord word = order[m / 32];
      const int       i    = word.ABefore((1u << lane) - 1);

      to[k] = word.dropped >> lane & 1 ? i - 1 : -1; // the entry before it is A's
      if (to[k] >= 0) {
        a[k] = values[to[k]];
        b[k] = others[m - i];
      }
    }
#pragma unroll
    for (int k = 0; k < ADD_BATCH; k++)
      if (to[k] >= 0) values[to[k]] = a[k] + w.B(b[k]);
  }
}

PetscErrorCode CheckSummands(DCSRView A, DCSRView B)
{
  PetscFunctionBegin;
  PetscCheck(A.num_rows == B.num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Cannot add matrices of %" PetscInt_FMT " and %" PetscInt_FMT " rows", A.num_rows, B.num_rows);
  PetscCheck(A.row_offsets != NULL && B.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Adding needs compact storage");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AllocatePlan(DCSRView A, DCSRView B, cudaStream_t stream, DCSRAddPlan *plan)
{
  const PetscCount n = A.num_nonzeros + B.num_nonzeros + A.num_rows;

  PetscFunctionBegin;
  plan->num_tiles = (n + ADD_TILE - 2) / (ADD_TILE - 1);
  PetscCheck(plan->num_tiles < PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot add matrices of %" PetscCount_FMT " rows and entries together", n);
  PetscCall(PetscSparseCUDAMalloc(plan->num_tiles + 1, "tiles of a sum", stream, &plan->splits));
  PetscCall(PetscSparseCUDAMalloc(plan->num_tiles + 1, "counts of a sum", stream, &plan->matched));
  PetscCall(PetscSparseCUDAMalloc(2 * ADD_WORDS * plan->num_tiles, "order of a sum", stream, &plan->bits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the entries into tiles, finds their order, and sums what both matrices have over the tiles before. */
PetscErrorCode OrderTiles(const DCSRAddPlan *plan, DCSRView A, DCSRView B, cudaStream_t stream)
{
  PetscCount *matched = plan->matched;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(matched + plan->num_tiles, 0, sizeof(*matched), stream));
  SplitKernel<<<DCSRNumBlocks(plan->num_tiles + 1, ADD_THREADS), ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B));
  PetscCallCUDA(cudaGetLastError());
  CountKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B));
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRExclusiveSum("workspace to sum the counts of a sum", matched, (int64_t)plan->num_tiles + 1, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All but the numbers on the host. */
PetscErrorCode CreatePlan(DCSRView A, DCSRView B, const int32_t map_a[], const int32_t map_b[], cudaStream_t stream, DCSRAddPlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(plan, 1));
  PetscCall(CheckSummands(A, B));
  plan->map_a = map_a;
  plan->map_b = map_b;
  if (A.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, AllocatePlan(A, B, stream, plan));
  PetscCallGoto(ierr, failed, OrderTiles(plan, A, B, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRAddPlanDestroy(plan, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/*
  DCSRAddPlanCreate - counts what two compact matrices with as many rows have in common; values are not read. Synchronizes with the stream
  map_a [columns of A], device, ascending: what A's columns are in the sum; NULL: what they are. map_b: the same for B. plan is to be destroyed with DCSRAddPlanDestroy(); empty after an error. Cost:
  one read of both structures.
  References: O. Green, R. McColl, D. Bader, GPU Merge Path: a GPU merging algorithm, ICS 2012; D. Merrill, M. Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016.
*/
PetscErrorCode DCSRAddPlanCreate(DCSRView A, DCSRView B, const int32_t map_a[], const int32_t map_b[], cudaStream_t stream, DCSRAddPlan *plan)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreatePlan(A, B, map_a, map_b, stream, plan));
  if (plan->num_tiles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(&plan->num_matched, plan->matched + plan->num_tiles, sizeof(plan->num_matched), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, failed, cudaStreamSynchronize(stream));
  plan->num_nonzeros = A.num_nonzeros + B.num_nonzeros - plan->num_matched;
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
  PetscCall(PetscSparseCUDAFree(&plan->bits, stream));
  PetscCall(PetscArrayzero(plan, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddPlanAllocate - the arrays of the sum, not filled, for work queued on the stream; num_rows and num_columns are the sum's
  C is compact, its arrays are the caller's; all NULL after an error.
*/
PetscErrorCode DCSRAddPlanAllocate(const DCSRAddPlan *plan, PetscInt num_rows, PetscInt num_columns, cudaStream_t stream, DCSRView *C)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(C, 1));
  PetscCall(DCSRNeedsWide(plan->num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateCompact(num_rows, num_columns, plan->num_nonzeros, wide, stream, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAddFill - structure and values of C = alpha A + beta B; A and B are compact. Asynchronous
  C is of DCSRAddPlanAllocate(), other arrays than A's and B's. Cost: one read of A and B, one write of C.
*/
PetscErrorCode DCSRAddFill(const DCSRAddPlan *plan, PetscScalar alpha, DCSRView A, PetscScalar beta, DCSRView B, DCSRView C, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (plan->num_tiles == 0) {
    PetscCallCUDA(cudaMemsetAsync(C.row_offsets, 0, C.wide ? sizeof(int64_t) : sizeof(int32_t), stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  FillKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(FillArrays{MakeArrays(plan, A, B), MakeWeights(alpha, beta), C});
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAddUpdate - A += beta B in place, both compact; plan->num_matched is B.num_nonzeros, entries that A lacks are left out. Asynchronous */
PetscErrorCode DCSRAddUpdate(const DCSRAddPlan *plan, DCSRView A, PetscScalar beta, DCSRView B, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (A.num_nonzeros == 0 || B.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  UpdateKernel<<<(unsigned int)plan->num_tiles, ADD_THREADS, 0, stream>>>(MakeArrays(plan, A, B), MakeWeights(1.0, beta), A.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(UpdateKernel);
