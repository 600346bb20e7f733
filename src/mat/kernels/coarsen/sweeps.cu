/*
  The independent set on several processes: the sweeps of MatCoarsenApply_MIS() (mis.c) and MatCoarsenApply_MISK() in PETSc, reproduced.

  In a sweep each process decides what it may: a vertex may become a root when no vertex of a later process within reach was undecided at the last exchange. Two hops, of
  this process alone, may go through a ghost. Then states travel, and what is within reach of a root of another process is out. What was decided after the exchange is not
  known to others in their next sweep; it has to be like that for the result of PETSc.

  With two hops a second exchange gives what is next to a vertex: two numbers, the largest undecided vertex and the smallest root in its row, by global numbers. Only rows
  with ghost columns need them, since all vertices in other rows belong to this process.
*/
#include "passes.cuh"
#include "../common/search.cuh"
#include "../common/select.h"
#include <petscsparsecuda/exportable.h>

namespace
{

constexpr int COUNT_ROOTS = 14; // positions in counts: roots, and vertices whose root belongs to another process. They are those of long rows, which are not needed any more

/* Minima are of numbers without sign: a larger vertex has a smaller code. */
__host__ __device__ inline uint32_t LargestFirst(PetscInt vertex)
{
  return 0x7fffffffu - (uint32_t)vertex;
}

/* Global numbers. */
struct Numbers {
  PetscInt       num_vertices, begin;
  const int32_t *ghosts;

  __device__ __forceinline__ PetscInt operator()(PetscCount vertex) const { return vertex < num_vertices ? begin + (PetscInt)vertex : (PetscInt)ghosts[vertex - num_vertices]; }
};

inline Numbers GetNumbers(const DCSRIndependentSet *set)
{
  return Numbers{set->num_vertices, set->boundary.begin, set->boundary.ghosts};
}

/* The row of each entry in ghost columns. */
struct EntryRows {
  PassGraph graph;
  int32_t  *rows;

  __device__ void operator()(PetscCount k) const
  {
    const Offsets offsets = graph.ghost;

    rows[k] = (int32_t)LastWhere((PetscInt)0, graph.num_rows, [=](PetscInt row) { return offsets(row) <= k; });
  }
};

/* In place of roots, before the first sweep: whether a vertex has neighbors. */
struct HasNeighbors {
  PassGraph      graph;
  const int32_t *rows;
  uint32_t      *reach;

  __device__ void operator()(PetscCount k) const
  {
    const int32_t row = rows[k];

    reach[2 * (PetscCount)row + 1] = graph.OwnSize(row) + graph.GhostSize(row) < 2 ? PASS_NONE : 0;
  }
};

/* A minimum of each row with ghost columns, one of the two numbers of a row. */
template <int Which>
struct BoundaryRows {
  static constexpr bool own = true, ghosts = true;
  PassGraph             graph;
  Numbers               numbers;
  const uint32_t       *state;
  uint32_t             *reach;

  __device__ bool Active(PetscInt row) const { return graph.GhostSize(row) > 0; }
  __device__ int  Store(PetscInt row, uint32_t m) const
  {
    reach[2 * (PetscCount)row + Which] = m;
    return 0;
  }
};

/* The largest undecided vertex in a row. */
struct LargestUndone : BoundaryRows<0> {
  __device__ uint32_t Load(PetscCount vertex) const { return IsUndone(state[vertex]) ? LargestFirst(numbers(vertex)) : PASS_NONE; }
};

/* The smallest root in a row. */
struct SmallestRoot : BoundaryRows<1> {
  __device__ uint32_t Load(PetscCount vertex) const { return state[vertex] == DCSR_SET_ROOT ? (uint32_t)numbers(vertex) : PASS_NONE; }
};

/* Which vertices may become roots. */
template <int Hops>
struct EligibleVertices {
  static constexpr bool own = Hops == 2, ghosts = true;
  const int32_t        *position, *ghost_numbers;
  PetscInt              num_vertices, end;
  const uint32_t       *reach;
  uint32_t             *state;

  __device__ bool     Active(PetscInt row) const { return IsUndone(state[row]); }
  __device__ uint32_t Load(PetscCount vertex) const
  {
    if (Hops == 2) return reach[2 * vertex];
    return IsUndone(state[vertex]) ? LargestFirst(ghost_numbers[vertex - num_vertices]) : PASS_NONE;
  }
  __device__ int Store(PetscInt row, uint32_t m) const
  {
    state[row] = m <= LargestFirst(end) ? DCSR_SET_INELIGIBLE : (uint32_t)position[row] + 1;
    return 0;
  }
};

/* The smallest position of a root of this process in a row. */
struct NearestRoots {
  static constexpr bool own = true, ghosts = false;
  const int32_t        *position;
  const uint32_t       *state;
  uint32_t             *nearest;

  __device__ bool     Active(PetscInt) const { return true; }
  __device__ uint32_t Load(PetscCount vertex) const { return state[vertex] == DCSR_SET_ROOT ? (uint32_t)position[vertex] : PASS_NONE; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    nearest[row] = m;
    return 0;
  }
};

/* The same next to ghosts. */
struct NearestRootsOfGhosts {
  const int32_t  *rows, *columns, *position;
  const uint32_t *state;
  uint32_t       *nearest; // of ghosts

  __device__ void operator()(PetscCount k) const
  {
    if (state[rows[k]] == DCSR_SET_ROOT) atomicMin(&nearest[columns[k]], (uint32_t)position[rows[k]]);
  }
};

/* The first root within reach takes what went out in this sweep. */
template <int Hops>
struct TakeVertices {
  static constexpr bool own = true, ghosts = Hops == 2;
  const int32_t        *position, *permutation;
  const uint32_t       *state, *nearest;
  PetscInt              begin;
  int32_t              *taken;

  __device__ bool     Active(PetscInt row) const { return state[row] == DCSR_SET_OUT && taken[row] < 0; }
  __device__ uint32_t Load(PetscCount vertex) const
  {
    if (Hops == 2) return nearest[vertex];
    return state[vertex] == DCSR_SET_ROOT ? (uint32_t)position[vertex] : PASS_NONE;
  }
  __device__ int Store(PetscInt row, uint32_t m) const
  {
    if (m != PASS_NONE) taken[row] = (int32_t)(begin + permutation[m]);
    return 0;
  }
};

/* What is within reach of a root of another process goes out. */
template <int Hops>
struct DeleteVertices {
  static constexpr bool own = Hops == 2, ghosts = true;
  Numbers               numbers;
  const uint32_t       *reach;
  uint32_t             *state;
  int32_t              *taken;

  __device__ bool     Active(PetscInt row) const { return IsUndone(state[row]); }
  __device__ uint32_t Load(PetscCount vertex) const
  {
    if (Hops == 2) return reach[2 * vertex + 1];
    return state[vertex] == DCSR_SET_ROOT ? (uint32_t)numbers(vertex) : PASS_NONE;
  }
  __device__ int Store(PetscInt row, uint32_t m) const
  {
    if (m == PASS_NONE) return PASS_KEEP;
    state[row] = DCSR_SET_OUT;
    taken[row] = (int32_t)m;
    return 0;
  }
};

/* Before those next to roots go to these. */
struct FirstParents {
  PetscInt        begin;
  const uint32_t *state;
  int32_t        *taken, *parent;

  __device__ void operator()(PetscCount v) const
  {
    if (state[v] == DCSR_SET_ROOT) taken[v] = (int32_t)(begin + v);
    parent[v] = taken[v];
  }
};

/* A vertex next to a root goes to it, also when it was removed: without diagonal entries there are such. */
struct StealVertices {
  static constexpr bool own = true, ghosts = true;
  Numbers               numbers;
  const uint32_t       *state;
  int32_t              *taken, *parent;

  __device__ bool     Active(PetscInt row) const { return state[row] == DCSR_SET_OUT; }
  __device__ uint32_t Load(PetscCount vertex) const { return state[vertex] == DCSR_SET_ROOT ? (uint32_t)numbers(vertex) : PASS_NONE; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    if (m == PASS_NONE) return 0;
    parent[row] = (int32_t)m;
    if ((PetscInt)m < numbers.begin || (PetscInt)m >= numbers.begin + numbers.num_vertices) taken[row] = -1; // PETSc puts it at the end of the list in any case
    return 0;
  }
};

__global__ static void __launch_bounds__(PASS_THREADS) CountParentsKernel(PetscInt n, PetscInt begin, const int32_t parent[], int32_t counts[])
{
  const PetscCount v      = (PetscCount)blockIdx.x * PASS_THREADS + threadIdx.x;
  const PetscInt   number = v < n ? parent[v] : -1;

  CountInWarp(number >= 0 && number == begin + v, counts);
  CountInWarp(number >= 0 && (number < begin || number >= begin + n), counts + 1);
}

PetscErrorCode CreateRows(DCSRIndependentSet *set, cudaStream_t stream)
{
  DCSRBoundary    *b     = &set->boundary;
  const PassGraph  graph = GetGraph(set);
  const PetscCount most  = PetscMin((PetscCount)set->num_vertices, set->ghost.num_nonzeros);
  int32_t         *count = set->counts + COUNT_ROOTS, host;

  PetscFunctionBegin;
  if (most == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(most, "rows with ghost columns", stream, &b->rows));
  PetscCall(PetscSparseCUDAMalloc(set->ghost.num_nonzeros, "rows of entries in ghost columns", stream, &b->entry_rows));
  PetscCallCUDA(DCSRForEach(set->ghost.num_nonzeros, EntryRows{graph, b->entry_rows}, stream));
  if (set->ghost.wide) PetscCall(DCSRSelectLongRows("workspace to find rows with ghost columns", (int32_t)set->num_vertices, (const int64_t *)set->ghost.row_offsets, 0, b->rows, count, stream));
  else PetscCall(DCSRSelectLongRows("workspace to find rows with ghost columns", (int32_t)set->num_vertices, (const int32_t *)set->ghost.row_offsets, 0, b->rows, count, stream));
  PetscCall(PetscSparseCUDACopyToHost(&host, count, sizeof(host), stream));
  b->num_rows = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What two hops need. */
PetscErrorCode CreateReach(DCSRIndependentSet *set, cudaStream_t stream)
{
  DCSRBoundary    *b   = &set->boundary;
  const PetscCount all = (PetscCount)set->num_vertices + set->num_ghosts;

  PetscFunctionBegin;
  if (all == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMallocExportable(2 * all, "what is next to vertices", stream, &b->reach));
  PetscCall(PetscSparseCUDAMalloc(all, "roots next to vertices", stream, &b->nearest));
  PetscCallCUDA(cudaMemsetAsync(b->reach, 0xff, (size_t)(2 * all) * sizeof(*b->reach), stream)); // PASS_NONE
  PetscCallCUDA(cudaMemsetAsync(b->nearest, 0xff, (size_t)all * sizeof(*b->nearest), stream));
  PetscCall(RunPass(set, LargestUndone{{GetGraph(set), GetNumbers(set), set->state, b->reach}}, PassList{b->rows, NULL, b->num_rows}, PassNext{NULL, NULL, NULL}, stream));
  PetscCallCUDA(DCSRForEach(b->num_rows, HasNeighbors{GetGraph(set), b->rows, b->reach}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps a list as it is when a sweep begins. */
PetscErrorCode SaveList(const DCSRWorkList *list, cudaStream_t stream, int32_t saved[], PetscInt *n)
{
  PetscFunctionBegin;
  *n = list->bound;
  if (*n > 0) PetscCallCUDA(cudaMemcpyAsync(saved, list->rows[list->turn % 2], (size_t)*n * sizeof(*saved), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list with which the sweep began. */
PassList GetSaved(const DCSRIndependentSet *set, int k)
{
  if (set->boundary.num_sweeps == 1) return PassList{NULL, NULL, set->num_vertices};
  return PassList{set->boundary.saved[k], NULL, set->boundary.num_saved[k]};
}

} // namespace

/*
  DCSRBoundaryCreate - What an independent set of DCSRIndependentSetBegin() needs on several processes, and what travels first. Synchronizes once
  begin: global number of the first vertex of this process. ghosts [num_ghosts], device: global numbers of ghosts, ascending. taken [num_vertices], device: becomes the root that takes each vertex
  first.
  Both are borrowed until DCSRBoundaryDestroy(). With one hop DCSRSweepsGetParents() may get the array taken, too.
  What was allocated before an error is freed by DCSRIndependentSetDestroy(). The steps of a sweep allocate nothing.
  With two hops boundary.reach is to travel to the ghosts next, then comes DCSRIndependentSetRemove(), and then a sweep. Each sweep is DCSRSweepBegin(), DCSRIndependentSetDecide(), DCSRSweepTake(),
  the exchange of state, with two hops DCSRSweepReach() and the exchange of boundary.reach, DCSRSweepEnd().
*/
PetscErrorCode DCSRBoundaryCreate(DCSRIndependentSet *set, PetscInt begin, const int32_t ghosts[], int32_t taken[], cudaStream_t stream)
{
  DCSRBoundary *b = &set->boundary;

  PetscFunctionBegin;
  b->begin  = begin;
  b->end    = begin + set->num_vertices;
  b->ghosts = ghosts;
  b->taken  = taken;
  if (set->num_vertices > 0) PetscCallCUDA(cudaMemsetAsync(taken, 0xff, (size_t)set->num_vertices * sizeof(*taken), stream)); // -1
  PetscCall(CreateRows(set, stream));
  for (int k = 0; k < set->hops; k++) PetscCall(PetscSparseCUDAMalloc(set->num_vertices, "lists of vertices without decision", stream, &b->saved[k]));
  if (set->hops == 2) PetscCall(CreateReach(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSweepBegin - Notes which vertices may become roots in this sweep. Asynchronous. */
PetscErrorCode DCSRSweepBegin(DCSRIndependentSet *set, cudaStream_t stream)
{
  DCSRBoundary  *b    = &set->boundary;
  const PassList list = GetList(&set->undone);

  PetscFunctionBegin;
  b->num_sweeps++;
  if (b->num_sweeps > 1) {
    PetscCall(SaveList(&set->undone, stream, b->saved[0], &b->num_saved[0]));
    if (set->hops == 2) PetscCall(SaveList(&set->open, stream, b->saved[1], &b->num_saved[1]));
  }
  if (list.bound == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (set->hops == 2) PetscCall(RunPass(set, EligibleVertices<2>{set->position, b->ghosts, set->num_vertices, b->end, b->reach, set->state}, list, PassNext{NULL, NULL, NULL}, stream));
  else PetscCall(RunPass(set, EligibleVertices<1>{set->position, b->ghosts, set->num_vertices, b->end, NULL, set->state}, list, PassNext{NULL, NULL, NULL}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSweepTake - Notes which root of this process took what went out in this sweep. Asynchronous. */
PetscErrorCode DCSRSweepTake(DCSRIndependentSet *set, cudaStream_t stream)
{
  DCSRBoundary   *b       = &set->boundary;
  const PassList  list    = GetSaved(set, 0);
  const PassNext  nothing = {NULL, NULL, NULL};
  uint32_t *const nearest = b->nearest != NULL ? b->nearest + set->num_vertices : NULL; // of ghosts

  PetscFunctionBegin;
  if (list.bound == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (set->hops == 1) {
    PetscCall(RunPass(set, TakeVertices<1>{set->position, set->permutation, set->state, NULL, b->begin, b->taken}, list, nothing, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(RunPass(set, NearestRoots{set->position, set->state, b->nearest}, GetSaved(set, 1), nothing, stream));
  if (set->num_ghosts > 0) {
    PetscCallCUDA(cudaMemsetAsync(nearest, 0xff, (size_t)set->num_ghosts * sizeof(*nearest), stream)); // PASS_NONE
    PetscCallCUDA(DCSRForEach(set->ghost.num_nonzeros, NearestRootsOfGhosts{b->entry_rows, set->ghost.columns, set->position, set->state, nearest}, stream));
  }
  PetscCall(RunPass(set, TakeVertices<2>{set->position, set->permutation, set->state, b->nearest, b->begin, b->taken}, list, nothing, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSweepReach - With two hops, when the states of ghosts have come: what is next to vertices, in boundary.reach. Asynchronous. */
PetscErrorCode DCSRSweepReach(DCSRIndependentSet *set, cudaStream_t stream)
{
  const DCSRBoundary *b       = &set->boundary;
  const PassList      list    = {b->rows, NULL, b->num_rows};
  const PassNext      nothing = {NULL, NULL, NULL};

  PetscFunctionBegin;
  if (b->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RunPass(set, LargestUndone{{GetGraph(set), GetNumbers(set), set->state, b->reach}}, list, nothing, stream));
  PetscCall(RunPass(set, SmallestRoot{{GetGraph(set), GetNumbers(set), set->state, b->reach}}, list, nothing, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSweepEnd - What is within reach of roots of other processes goes out; left is how many vertices of this process have no decision then. Synchronizes. */
PetscErrorCode DCSRSweepEnd(DCSRIndependentSet *set, cudaStream_t stream, PetscInt *left)
{
  const DCSRBoundary *b = &set->boundary;
  int32_t             count;

  PetscFunctionBegin;
  *left = 0;
  if (set->undone.bound == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (set->hops == 2) PetscCall(RunWork(set, DeleteVertices<2>{GetNumbers(set), b->reach, set->state, b->taken}, &set->undone, stream));
  else PetscCall(RunWork(set, DeleteVertices<1>{GetNumbers(set), NULL, set->state, b->taken}, &set->undone, stream));
  PetscCall(PetscSparseCUDACopyToHost(&count, set->undone.counts + 2 * (set->undone.turn % 3), sizeof(count), stream));
  set->undone.bound = count;
  *left             = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSweepsGetParents - The root that takes each vertex, on several processes, when all is decided, after the last sweep. Synchronizes once
  parent [num_vertices], device: global number of the root of the aggregate of each vertex, itself for a root; -1: in none. With one hop it may be taken. num_roots: of this process. num_remote:
  vertices whose root belongs to another process.
  taken is complete then: the root that took the vertex before one next to it could. It is never parent where a root of another process is next to the vertex: that one appends it to its list, also
  when it is the same.
  Cost: with two hops a pass over the columns.
*/
PetscErrorCode DCSRSweepsGetParents(DCSRIndependentSet *set, cudaStream_t stream, int32_t parent[], PetscInt *num_roots, PetscInt *num_remote)
{
  const DCSRBoundary *b      = &set->boundary;
  const PetscInt      n      = set->num_vertices;
  int32_t *const      device = set->counts + COUNT_ROOTS;
  int32_t             host[2];

  PetscFunctionBegin;
  *num_roots = *num_remote = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(host), stream));
  PetscCallCUDA(DCSRForEach(n, FirstParents{b->begin, set->state, b->taken, parent}, stream));
  if (set->hops == 2) PetscCall(RunAll(set, StealVertices{GetNumbers(set), set->state, b->taken, parent}, stream));
  CountParentsKernel<<<DCSRNumBlocks(n, PASS_THREADS), PASS_THREADS, 0, stream>>>(n, b->begin, parent, device);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDACopyToHost(host, device, sizeof(host), stream));
  *num_roots  = host[0];
  *num_remote = host[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBoundaryDestroy - Frees what belongs to other processes; zero afterwards. */
PetscErrorCode DCSRBoundaryDestroy(DCSRIndependentSet *set, cudaStream_t stream)
{
  DCSRBoundary *b = &set->boundary;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&b->rows, stream));
  PetscCall(PetscSparseCUDAFree(&b->entry_rows, stream));
  PetscCall(PetscSparseCUDAFree(&b->reach, stream));
  PetscCall(PetscSparseCUDAFree(&b->nearest, stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&b->saved[k], stream));
  PetscCall(PetscArrayzero(b, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
