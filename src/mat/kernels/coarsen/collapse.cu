/*
  The graph of a matrix whose unknowns are blocks, as PETSc's MatCreateGraph() makes it: one edge for a block of bs x bs that has a stored entry, with the sum of absolute values when they are asked
  for. Rows of one node are merged by a group of lanes, each of which traverses a row. Blocks that are dense need no merging: every bs-th entry of a node's first row is an edge.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/preload.cuh"
#include "../common/rowloop.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/graph.h>

namespace
{

constexpr int     THREADS = 256;
constexpr int32_t NONE    = INT32_MAX; // behind the last edge of a node

/* The entries of a matrix as a graph sees them. */
struct Blocks {
  Offsets        offsets;
  const int32_t *columns;
  const int32_t *map;
  int32_t        bs;

  Blocks(const DCSRView &view, const DCSRNodes &nodes) : offsets(view), columns(view.columns), map(nodes.map), bs((int32_t)nodes.bs) {}
  __device__ int32_t NodeOf(PetscCount k) const
  {
    const int32_t column = columns[k];

    return map ? map[column] : column / bs;
  }
};

/* A row must be as long as the first one of its node, and hold whole blocks. */
struct CheckSize {
  Offsets         offsets;
  PetscCount      bs;
  int            *sparse;
  __device__ void operator()(PetscCount row) const
  {
    const PetscCount first = row - row % bs, size = offsets(row + 1) - offsets(row);

    if (size % bs != 0 || size != offsets(first + 1) - offsets(first)) *sparse = 1; // all who write write the same
  }
};

/* An entry must have the column that the first row of its node has at its position, and stand in a block where it stands in the row. */
struct CheckColumn {
  using Result = void;
  Offsets         offsets;
  const int32_t  *columns;
  int32_t         bs;
  int            *sparse;
  __device__ void Visit(RowEntry e) const
  {
    const int32_t column = columns[e.position];

    if (column % bs != e.index % bs || column != columns[offsets(e.row - e.row % bs) + e.index]) *sparse = 1;
  }
};

/* Edges of a node with dense blocks; none behind the last node. */
struct CountDense {
  Offsets         offsets;
  PetscCount      bs, num_nodes;
  int64_t        *counts;
  __device__ void operator()(PetscCount node) const { counts[node] = node < num_nodes ? (int64_t)((offsets(node * bs + 1) - offsets(node * bs)) / bs) : 0; }
};

/* Edges of a graph whose blocks are dense. */
struct WriteDense {
  using Result = void;
  Blocks          from;
  int32_t        *columns;
  __device__ void Visit(RowEntry e) const { columns[e.position] = from.NodeOf(from.offsets((PetscCount)e.row * from.bs) + (PetscCount)e.index * from.bs); }
};

struct SetOffset {
  Offsets         offsets;
  const int64_t  *begins;
  __device__ void operator()(PetscCount row) const { offsets.Set(row, (PetscCount)begins[row]); }
};

/*
  The least node, from bound on, in the rows of one node that belong to a lane. It traverses the first of them, from position, and searches in the others, of which there are none unless bs > lanes.
*/
__device__ inline int32_t NextOfLane(const Blocks &from, PetscCount node, int lane, int lanes, int32_t bound, PetscCount &position, PetscCount end)
{
  int32_t next = NONE;

  while (position < end && (next = from.NodeOf(position)) < bound) position++;
  if (position == end) next = NONE;
  for (int32_t row = lane + lanes; row < from.bs; row += lanes) {
    const PetscCount last     = from.offsets(node * from.bs + row + 1);
    const PetscCount position = PartitionPoint(from.offsets(node * from.bs + row), last, [&](PetscCount k) { return from.NodeOf(k) < bound; });

    if (position < last) next = min(next, from.NodeOf(position));
  }
  return next;
}

/* Merges the rows of nodes, a group of lanes for each; counts edges, or writes them. All lanes of a warp go round together because they shuffle. */
template <bool Write>
__global__ void __launch_bounds__(THREADS) MergeKernel(PetscCount num_nodes, int lanes, Blocks from, int64_t *counts, Offsets to_offsets, int32_t *to_columns)
{
  const int        lane = (int)threadIdx.x % lanes, group = (int)(threadIdx.x % 32) / lanes, groups = 32 / lanes;
  const PetscCount warps = (PetscCount)gridDim.x * (THREADS / 32), warp = (PetscCount)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;

  for (PetscCount first = warp * groups; first < num_nodes; first += warps * groups) {
    const PetscCount node     = first + group;
    const bool       mine     = node < num_nodes;
    PetscCount       position = 0, end = 0, edges = 0;
    int32_t          bound = 0;

    if (mine && lane < from.bs) {
      position = from.offsets(node * from.bs + lane);
      end      = from.offsets(node * from.bs + lane + 1);
    }
    while (true) {
      int32_t next = mine ? NextOfLane(from, node, lane, lanes, bound, position, end) : NONE;

      for (int delta = lanes / 2; delta > 0; delta /= 2) next = min(next, __shfl_xor_sync(0xffffffffu, next, delta));
      if (!__any_sync(0xffffffffu, next != NONE)) break;
      if (next == NONE) continue; // another group of the warp goes on
      if (Write && lane == 0) to_columns[to_offsets(node) + edges] = next;
      edges++;
      bound = next + 1;
    }
    if (!Write && mine && lane == 0) counts[node] = (int64_t)edges;
  }
}

template <bool Write>
PetscErrorCode Merge(PetscCount num_nodes, const Blocks &from, int64_t *counts, Offsets to_offsets, int32_t *to_columns, cudaStream_t stream)
{
  int lanes = 1;

  PetscFunctionBegin;
  if (num_nodes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  while (lanes < 32 && lanes < from.bs) lanes *= 2;
  MergeKernel<Write><<<RowLoopGrid(num_nodes * lanes), THREADS, 0, stream>>>(num_nodes, lanes, from, counts, to_offsets, to_columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the edges of each node begin, begins [num_nodes + 1], and how many there are. Synchronizes. */
PetscErrorCode CountEdges(const DCSRView &view, const DCSRNodes &nodes, PetscCount num_nodes, int64_t begins[], cudaStream_t stream, PetscCount *num_edges)
{
  int64_t host;

  PetscFunctionBegin;
  if (nodes.dense) PetscCallCUDA(DCSRForEach(num_nodes + 1, CountDense{Offsets(view), (PetscCount)nodes.bs, num_nodes, begins}, stream));
  else {
    PetscCallCUDA(cudaMemsetAsync(begins + num_nodes, 0, sizeof(*begins), stream));
    PetscCall(Merge<false>(num_nodes, Blocks(view, nodes), begins, Offsets(), NULL, stream));
  }
  PetscCall(DCSRExclusiveSum("workspace to sum the edges of nodes", begins, num_nodes + 1, stream));
  PetscCall(PetscSparseCUDACopyToHost(&host, begins + num_nodes, sizeof(host), stream));
  *num_edges = (PetscCount)host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of the graph, whose arrays are there. */
PetscErrorCode WriteEdges(const DCSRView &view, const DCSRNodes &nodes, const int64_t begins[], cudaStream_t stream, const DCSRView &graph)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)graph.num_rows + 1, SetOffset{Offsets(graph), begins}, stream));
  if (graph.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (nodes.dense) PetscCall(RowLoop(graph, WriteDense{Blocks(view, nodes), graph.columns}, stream));
  else PetscCall(Merge<true>((PetscCount)graph.num_rows, Blocks(view, nodes), NULL, Offsets(graph), graph.columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__device__ inline PetscReal AbsoluteRealPart(PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  return fabs(value.real());
#else
  return fabs(value);
#endif
}

/* The value of an edge: entries are added in the order of PETSc's loops, rows first, so that rounding agrees. index [n]: only these rows and columns of dense blocks; n == 0: all. */
struct SumBlock {
  using Result = void;
  Blocks             from;
  const PetscScalar *from_values;
  const int32_t     *columns; // of the graph
  PetscScalar       *values;
  bool               dense;
  int32_t            n;
  const int32_t     *index;

  __device__ PetscReal SumDense(PetscCount row, PetscCount first) const
  {
    const int32_t num = n > 0 ? n : from.bs;
    PetscReal     sum = 0;

    for (int32_t i = 0; i < num; i++) {
      const PetscCount begin = from.offsets(row + (n > 0 ? index[i] : i)) + first;

      for (int32_t j = 0; j < num; j++) sum += AbsoluteRealPart(from_values[begin + (n > 0 ? index[j] : j)]);
    }
    return sum;
  }
  __device__ PetscReal SumSparse(PetscCount row, int32_t node) const
  {
    PetscReal sum = 0;

    for (int32_t i = 0; i < from.bs; i++) {
      const PetscCount end = from.offsets(row + i + 1);
      PetscCount       k   = PartitionPoint(from.offsets(row + i), end, [&](PetscCount position) { return from.NodeOf(position) < node; });

      for (; k < end && from.NodeOf(k) == node; k++) sum += AbsoluteRealPart(from_values[k]);
    }
    return sum;
  }
  __device__ void Visit(RowEntry e) const
  {
    const PetscCount row = (PetscCount)e.row * from.bs;

    values[e.position] = dense ? SumDense(row, (PetscCount)e.index * from.bs) : SumSparse(row, columns[e.position]);
  }
};

} // namespace

/*
  DCSRBlocksAreDense - Whether MatCreateGraph() takes the blocks (bs > 1 rows) of compact storage for dense ones: all rows of a node have the same columns, and the k-th column of a row is, modulo bs,
  k This is PETSc's test. Columns 0 and 3 of blocks of two pass it, as one block; PETSc's graph has one edge then, and so has ours. Synchronizes with the stream. Cost: one read of the structure.
*/
PetscErrorCode DCSRBlocksAreDense(DCSRView view, PetscInt bs, cudaStream_t stream, PetscBool *dense)
{
  int           *sparse = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *dense = PETSC_TRUE;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "flag of sparse blocks", stream, &sparse));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(sparse, 0, sizeof(*sparse), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)view.num_rows, CheckSize{Offsets(view), (PetscCount)bs, sparse}, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(&host, sparse, sizeof(host), stream));
  if (host == 0) { // sizes agree: entries are compared
    PetscCallGoto(ierr, cleanup, RowLoop(view, CheckColumn{Offsets(view), view.columns, (int32_t)bs, sparse}, stream));
    PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(&host, sparse, sizeof(host), stream));
  }
  *dense = (PetscBool)(host == 0);
cleanup:
  PetscCall(PetscSparseCUDAFree(&sparse, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCollapse - The structure of the graph of a matrix whose unknowns are blocks; synchronizes with the stream
  view is compact, with a multiple of bs rows. nodes: what becomes of its columns. graph is compact structure without values, owned by the caller; zero after an error. PETSC_ERR_ARG_SIZ when rows do
  not make up whole nodes.
  Cost: dense blocks, one read of every bs-th row; others, two reads of the structure, in which a node takes as many steps as it has edges.
*/
PetscErrorCode DCSRCollapse(DCSRView view, DCSRNodes nodes, cudaStream_t stream, DCSRView *graph)
{
  const PetscCount num_nodes = (PetscCount)view.num_rows / nodes.bs;
  PetscCount       num_edges = 0;
  int64_t         *begins    = NULL;
  PetscBool        wide;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(graph, 1));
  PetscCheck(view.num_rows % nodes.bs == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " rows do not make up blocks of %" PetscInt_FMT, view.num_rows, nodes.bs);
  PetscCall(PetscSparseCUDAMalloc(num_nodes + 1, "edges of nodes", stream, &begins));
  PetscCallGoto(ierr, cleanup, CountEdges(view, nodes, num_nodes, begins, stream, &num_edges));
  PetscCallGoto(ierr, cleanup, DCSRNeedsWide(num_edges, &wide));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateStructure((PetscInt)num_nodes, nodes.num_nodes, num_edges, wide, stream, graph));
  PetscCallGoto(ierr, cleanup, WriteEdges(view, nodes, begins, stream, *graph));
cleanup:
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(graph, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRCollapseValues - The values of such a graph: the sum of the absolute values of the real parts of a block's entries. Asynchronous, with n > 0 it synchronizes
  Of a dense block the n rows and columns of index [n] (host, below bs) count, with n = 0 all; blocks that are not dense count whole. graph is of DCSRCollapse(); its values are allocated by the
  caller.
  Cost: one read of the matrix. A thread sums a block, in the order of PETSc's loops.
*/
PetscErrorCode DCSRCollapseValues(DCSRView view, DCSRNodes nodes, PetscInt n, const PetscInt index[], cudaStream_t stream, DCSRView graph)
{
  int32_t       *device = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (graph.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (!nodes.dense) n = 0;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "rows and columns of a block that count", stream, &device));
  if (n > 0) PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToDevice(n, index, device, stream));
  PetscCallGoto(ierr, cleanup, RowLoop(graph, SumBlock{Blocks(view, nodes), view.values, graph.columns, graph.values, (bool)nodes.dense, (int32_t)n, device}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(MergeKernel<true>);
