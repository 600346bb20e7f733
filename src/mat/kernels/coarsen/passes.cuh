#pragma once
/*
  Passes over rows of a graph: each row of a list gets the minimum of a number over its entries, and an operation decides what to do with it. Thread blocks take tiles of
  rows: in a tile groups of lanes first reduce the rows, then each thread has one row, so that what belongs to rows is read and written side by side. Rows with more
  than PASS_LONG entries are cut into chunks for thread blocks.

  An operation is a struct that is passed by value:

    struct Operation {
      static constexpr bool own, ghosts;                             whether the entries in own and in ghost columns count
      __device__ bool     Active(PetscInt row) const;                whether the row has to be read. Long rows are all asked, whichever the list is
      __device__ uint32_t Load(PetscCount vertex) const;             the number of an entry; ghosts follow the vertices of this process
      __device__ int      Store(PetscInt row, uint32_t m) const;     what is to be done with the minimum; bits PASS_KEEP, PASS_LIVE: the row goes to the next list, and counts as live
    };

  Minima do not depend on the order, so results are the same for any launch shape. The order of rows in lists varies, and nothing depends on it.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include <petscsparsecuda/coarsen.h>
#include <petscsparsecuda/common.h>

namespace
{

constexpr int      PASS_THREADS = 256; // of a block; also the rows of a tile
constexpr int      PASS_WARPS   = PASS_THREADS / 32;
constexpr PetscInt PASS_LONG    = 1024;
constexpr int      PASS_CHUNK   = 4096;       // entries of a long row that one thread block takes
constexpr int      PASS_BATCH   = 4;          // loads of a thread at once
constexpr uint32_t PASS_NONE    = UINT32_MAX; // the minimum of a row without entries that count
constexpr int      PASS_KEEP    = 1;
constexpr int      PASS_LIVE    = 2;

/* The graph as kernels see it. */
struct PassGraph {
  PetscInt       num_rows;
  Offsets        own, ghost; // ghost.offsets is NULL without ghosts
  const int32_t *own_columns, *ghost_columns;

  __device__ __forceinline__ PetscInt OwnSize(PetscCount row) const { return (PetscInt)(own(row + 1) - own(row)); }
  __device__ __forceinline__ PetscInt GhostSize(PetscCount row) const { return ghost.offsets != NULL ? (PetscInt)(ghost(row + 1) - ghost(row)) : 0; }
};

inline PassGraph GetGraph(const DCSRIndependentSet *set)
{
  PassGraph graph = {set->num_vertices, Offsets(set->own), Offsets(set->ghost), set->own.columns, set->ghost.columns};

  if (set->num_ghosts == 0) graph.ghost.offsets = NULL;
  return graph;
}

/* The rows of a pass. */
struct PassList {
  const int32_t *rows;  // NULL: all rows of the graph
  const int32_t *count; // device; NULL: there are bound
  PetscInt       bound; // there are no more
};

/* Where the rows go that stay. */
struct PassNext {
  int32_t *rows;  // NULL: nobody wants to know
  int32_t *count; // [2] device: rows, live ones
  int32_t *clear; // [2] device, becomes zero
};

/* Where the entries of a row are. */
struct PassRow {
  PetscCount own, ghost;
  PetscInt   num_own, num_ghosts;
};

__device__ __forceinline__ PassRow GetRow(const PassGraph &graph, PetscCount row)
{
  PassRow where;

  where.own        = graph.own(row);
  where.num_own    = (PetscInt)(graph.own(row + 1) - where.own);
  where.ghost      = graph.ghost.offsets != NULL ? graph.ghost(row) : 0;
  where.num_ghosts = graph.ghost.offsets != NULL ? (PetscInt)(graph.ghost(row + 1) - where.ghost) : 0;
  return where;
}

__device__ __forceinline__ uint32_t Smaller(uint32_t a, uint32_t b)
{
  return b < a ? b : a;
}

/* The minimum over entries [first, end) in steps of stride: a batch of columns is on its way together, then what belongs to them. */
template <typename Load>
__device__ __forceinline__ uint32_t EntriesMinimum(const int32_t *columns, PetscInt first, PetscInt end, int stride, Load load)
{
  uint32_t m = PASS_NONE;

  for (PetscInt k = first; k < end; k += PASS_BATCH * stride) {
    int32_t  column[PASS_BATCH];
    uint32_t number[PASS_BATCH];

#pragma unroll
    for (int j = 0; j < PASS_BATCH; j++) column[j] = j * stride < end - k ? __ldcs(columns + k + j * stride) : -1;
#pragma unroll
    for (int j = 0; j < PASS_BATCH; j++) number[j] = column[j] >= 0 ? load(column[j]) : PASS_NONE;
#pragma unroll
    for (int j = 0; j < PASS_BATCH; j++) m = Smaller(m, number[j]);
  }
  return m;
}

/* The minimum over every stride-th entry of a row from index first on, up to index end; own columns are the first ones. */
template <typename Op>
__device__ __forceinline__ uint32_t RowMinimum(const PassGraph &graph, const Op &op, const PassRow &where, PetscInt first, PetscInt end, int stride)
{
  const PetscInt begin = first < where.num_own ? (where.num_own - first + stride - 1) / stride * stride + first : first; // the first one in a ghost column
  uint32_t       m     = PASS_NONE;

  if (Op::own) m = EntriesMinimum(graph.own_columns + where.own, first, end < where.num_own ? end : where.num_own, stride, [&](int32_t column) { return op.Load(column); });
  if (Op::ghosts) {
    m = Smaller(m, EntriesMinimum(graph.ghost_columns + where.ghost, begin - where.num_own, end - where.num_own, stride, [&](int32_t column) { return op.Load((PetscCount)graph.num_rows + column); }));
  }
  return m;
}

/* Appends the rows of a thread block to the next list; all threads call it. */
__device__ __forceinline__ void AppendRows(const PassNext &next, PetscInt row, int result)
{
  __shared__ int32_t position[PASS_WARPS], base;
  const bool         keep   = (result & PASS_KEEP) != 0;
  const unsigned int ballot = __ballot_sync(0xffffffffu, keep);
  const int          lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  if (lane == 0) position[warp] = __popc(ballot);
  const int live = __syncthreads_count((result & PASS_LIVE) != 0);

  if (threadIdx.x == 0) {
    int32_t sum = 0;

    for (int w = 0; w < PASS_WARPS; w++) {
      const int32_t size = position[w];

      position[w] = sum;
      sum += size;
    }
    base = sum > 0 ? atomicAdd(next.count, sum) : 0;
    if (live > 0) atomicAdd(next.count + 1, live);
  }
  __syncthreads();
  if (keep) next.rows[base + position[warp] + __popc(ballot & ((1u << lane) - 1))] = (int32_t)row;
}

/* Rows that are not long. */
template <typename Op>
__global__ static void __launch_bounds__(PASS_THREADS) PassTileKernel(PassGraph graph, int lanes, PassList list, PassNext next, Op op)
{
  __shared__ PassRow  rows[PASS_THREADS];
  __shared__ uint32_t minima[PASS_THREADS];
  const PetscCount    count = list.count != NULL ? *list.count : list.bound;
  const int           lane = (int)threadIdx.x % lanes, groups = PASS_THREADS / lanes;

  if (next.rows != NULL && blockIdx.x == 0 && threadIdx.x < 2) next.clear[threadIdx.x] = 0;
  for (PetscCount first = (PetscCount)blockIdx.x * PASS_THREADS; first < count; first += (PetscCount)gridDim.x * PASS_THREADS) {
    const PetscCount position = first + threadIdx.x;
    const PetscInt   row      = position < count ? (list.rows != NULL ? (PetscInt)list.rows[position] : (PetscInt)position) : -1;
    bool             active   = row >= 0 && op.Active(row);
    PassRow          mine     = {0, 0, 0, 0};
    int              result   = 0;

    if (active) {
      mine   = GetRow(graph, row);
      active = mine.num_own + mine.num_ghosts <= PASS_LONG;
      if (!active) mine.num_own = mine.num_ghosts = 0;
    }
    rows[threadIdx.x] = mine;
    __syncthreads();
    for (int k = (int)threadIdx.x / lanes; k < PASS_THREADS; k += groups) {
      const PassRow where = rows[k];
      uint32_t      m     = RowMinimum(graph, op, where, lane, where.num_own + where.num_ghosts, lanes);

      for (int delta = lanes / 2; delta > 0; delta /= 2) m = Smaller(m, __shfl_xor_sync(0xffffffffu, m, delta));
      if (lane == 0) minima[k] = m;
    }
    __syncthreads();
    if (active) result = op.Store(row, minima[threadIdx.x]);
    if (next.rows != NULL) AppendRows(next, row, result);
  }
}

/* A thread block takes a chunk of a long row. */
template <typename Op>
__global__ static void __launch_bounds__(PASS_THREADS) PassChunkKernel(PassGraph graph, DCSRLongRows long_rows, Op op)
{
  for (PetscInt chunk = (PetscInt)blockIdx.x; chunk < long_rows.num_chunks; chunk += (PetscInt)gridDim.x) {
    const int32_t  q   = long_rows.chunk_row[chunk];
    const PetscInt row = long_rows.rows[q];

    if (op.Active(row)) {
      const PassRow    where = GetRow(graph, row);
      const PetscCount begin = (PetscCount)(chunk - long_rows.first_chunk[q]) * PASS_CHUNK, size = (PetscCount)where.num_own + where.num_ghosts;
      const PetscInt   end = (PetscInt)(begin + PASS_CHUNK < size ? begin + PASS_CHUNK : size);
      uint32_t         m   = RowMinimum(graph, op, where, (PetscInt)begin + (PetscInt)threadIdx.x, end, PASS_THREADS);

      for (int delta = 16; delta > 0; delta /= 2) m = Smaller(m, __shfl_xor_sync(0xffffffffu, m, delta));
      if (threadIdx.x % 32 == 0 && m != PASS_NONE) atomicMin(&long_rows.minima[q], m);
    }
  }
}

/* What is to be done with the minima of long rows, which are none again afterwards. */
template <typename Op>
__global__ static void __launch_bounds__(PASS_THREADS) PassLongKernel(DCSRLongRows long_rows, PassNext next, Op op)
{
  const PetscInt q = (PetscInt)(blockIdx.x * PASS_THREADS + threadIdx.x);

  if (q < long_rows.num_rows) {
    const PetscInt row    = long_rows.rows[q];
    const uint32_t m      = long_rows.minima[q];
    const int      result = op.Active(row) ? op.Store(row, m) : 0;

    long_rows.minima[q] = PASS_NONE;
    if (next.rows != NULL && (result & PASS_KEEP)) next.rows[atomicAdd(next.count, 1)] = (int32_t)row;
    if (next.rows != NULL && (result & PASS_LIVE)) atomicAdd(next.count + 1, 1);
  }
}

/* RunPass - One pass over the rows of a list; asynchronous. It clears next.clear also when the list is empty. */
template <typename Op>
PetscErrorCode RunPass(const DCSRIndependentSet *set, Op op, PassList list, PassNext next, cudaStream_t stream)
{
  const PassGraph graph = GetGraph(set);
  unsigned int    grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(DCSRNumBlocks(list.bound, PASS_THREADS), DCSR_LOOP_BLOCKS, &grid));
  PassTileKernel<<<PetscMax(grid, 1), PASS_THREADS, 0, stream>>>(graph, set->lanes, list, next, op);
  PetscCallCUDA(cudaGetLastError());
  if (set->long_rows.num_rows > 0) {
    PetscCall(DCSRGetGrid(set->long_rows.num_chunks, DCSR_LOOP_BLOCKS, &grid));
    PassChunkKernel<<<grid, PASS_THREADS, 0, stream>>>(graph, set->long_rows, op);
    PetscCallCUDA(cudaGetLastError());
    PassLongKernel<<<DCSRNumBlocks(set->long_rows.num_rows, PASS_THREADS), PASS_THREADS, 0, stream>>>(set->long_rows, next, op);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a work list, and what comes after it. */
inline PassList GetList(const DCSRWorkList *list)
{
  return list->all ? PassList{NULL, NULL, list->bound} : PassList{list->rows[list->turn % 2], list->counts + 2 * (list->turn % 3), list->bound};
}

inline PassNext GetNext(const DCSRWorkList *list)
{
  return PassNext{list->rows[(list->turn + 1) % 2], list->counts + 2 * ((list->turn + 1) % 3), list->counts + 2 * ((list->turn + 2) % 3)};
}

/* RunWork - One pass over a work list, which becomes that of the rows that stay; asynchronous. */
template <typename Op>
PetscErrorCode RunWork(const DCSRIndependentSet *set, Op op, DCSRWorkList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RunPass(set, op, GetList(list), GetNext(list), stream));
  list->turn++;
  list->all = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RunAll - One pass over all rows; asynchronous. */
template <typename Op>
PetscErrorCode RunAll(const DCSRIndependentSet *set, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (set->num_vertices > 0) PetscCall(RunPass(set, op, PassList{NULL, NULL, set->num_vertices}, PassNext{NULL, NULL, NULL}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds how many threads of a warp have it; all threads of the warp call it. */
__device__ __forceinline__ void CountInWarp(bool has, int32_t *count)
{
  const unsigned int ballot = __ballot_sync(0xffffffffu, has);

  if (threadIdx.x % 32 == 0 && ballot != 0) atomicAdd(count, __popc(ballot));
}

/* Whether nothing was decided about a vertex in this state. */
__host__ __device__ inline bool IsUndone(uint32_t state)
{
  return state != DCSR_SET_ROOT && state != DCSR_SET_OUT;
}

} // namespace
