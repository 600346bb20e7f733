/*
  The maximal independent set that PETSc's greedy coarsening finds, in rounds. Greedy in an order means: a vertex is a root when no vertex before it within reach is one.
  So a vertex without decision may become a root as soon as it is the first one within reach that is not out, and it is out as soon as a root is within reach; whatever the
  schedule of such steps, the set is the same (Blelloch, Fineman, Shun: Greedy sequential maximal independent set and matching are parallel on average, SPAA 2012).

  Two hops are two passes over the pattern, which is not squared: the smallest state in each row, then the smallest of these. Lists of vertices without decision, and of
  rows whose minimum may still change, become short soon. The idea of the two lists is that of Kelley and Rajamanickam (Parallel, portable algorithms for distance-2
  maximal independent set and graph coarsening, IPDPS 2022), who draw new priorities in each round, which gives another set.
*/
#include "passes.cuh"
#include "../common/preload.cuh"
#include <petscsparsecuda/exportable.h>

namespace
{

constexpr int ROUNDS     = 2;  // between two looks of the host at the lists
constexpr int PROBE      = 16; // entries of a row that one thread reads for a neighbor with neighbors
constexpr int COUNT_OPEN = 6;  // positions in counts: those of the list of vertices come first
constexpr int COUNT_LATE = 12; // vertices of which it is not known yet whether they are removed
constexpr int COUNT_LONG = 13; // long rows, and their chunks

/* First half of a round with two hops: the smallest state in each row. It is final when it is that of a root, and when all in the row are out. */
struct RowStates {
  static constexpr bool own = true, ghosts = false;
  const uint32_t       *state;
  uint32_t             *minima;

  __device__ bool     Active(PetscInt row) const { return IsUndone(minima[row]); }
  __device__ uint32_t Load(PetscCount vertex) const { return state[vertex]; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    minima[row] = m;
    return IsUndone(m) ? PASS_KEEP : 0;
  }
};

/* Second half. A vertex that is not in its own reach, which the pattern does not give, decides as if it were. */
template <bool Ghosts>
struct DecideVertices {
  static constexpr bool own = true, ghosts = Ghosts;
  const uint32_t       *minima;
  uint32_t             *state;

  __device__ bool     Active(PetscInt row) const { return IsUndone(state[row]); }
  __device__ uint32_t Load(PetscCount vertex) const { return minima[vertex]; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    const uint32_t mine = state[row];

    if (m == DCSR_SET_ROOT) {
      state[row] = DCSR_SET_OUT;
      return 0;
    }
    if (mine == DCSR_SET_INELIGIBLE) return PASS_KEEP;
    if (m < mine) return PASS_KEEP | PASS_LIVE;
    state[row] = DCSR_SET_ROOT;
    return PASS_LIVE;
  }
};

/* The smallest state of the vertices next to each ghost: these are within two hops of each other. */
struct GhostStates {
  const int32_t  *rows, *columns;
  const uint32_t *state;
  uint32_t       *minima; // of ghosts

  __device__ void operator()(PetscCount k) const
  {
    const uint32_t s = state[rows[k]];

    if (s != DCSR_SET_OUT && s < minima[columns[k]]) atomicMin(&minima[columns[k]], s);
  }
};

/* With one hop the states of a round are a copy, renewed for the vertices of the list of the last one. */
struct CopyStates {
  const int32_t  *rows, *count;
  const uint32_t *state;
  uint32_t       *copy;

  __device__ void operator()(PetscCount k) const
  {
    if (k < *count) copy[rows[k]] = state[rows[k]];
  }
};

/* Vertices without neighbors are removed as MatCoarsenApply_MIS() does it: with one hop those with fewer than two entries; with two hops those whose neighbors, they
   themselves included, have no entry but this one. A thread reads few entries; the rare vertices of which it does not know enough then wait for a pass. */
template <int Hops>
struct FirstStates {
  PassGraph      graph;
  const int32_t *position;
  uint32_t      *state;
  int32_t       *late, *num_late;

  __device__ void operator()(PetscCount v) const
  {
    const PassRow where   = GetRow(graph, v);
    bool          removed = where.num_own < 2 && where.num_ghosts == 0;

    if (Hops == 2) {
      removed = true;
      for (PetscInt k = 0; k < where.num_own && k < PROBE && removed; k++) {
        const int32_t c = graph.own_columns[where.own + k];

        removed = graph.OwnSize(c) + graph.GhostSize(c) < 2;
      }
      if (removed && (where.num_own > PROBE || where.num_ghosts > 0)) {
        late[atomicAdd(num_late, 1)] = (int32_t)v;
        removed                      = false;
      }
    }
    state[v] = removed ? DCSR_SET_OUT : (uint32_t)position[v] + 1;
  }
};

/* The pass over those that wait. That ghosts have neighbors is in the second number of their reach. */
struct RemoveVertices {
  static constexpr bool own = true, ghosts = true;
  PassGraph             graph;
  const uint32_t       *reach;
  uint32_t             *state;

  __device__ bool     Active(PetscInt row) const { return IsUndone(state[row]); }
  __device__ uint32_t Load(PetscCount vertex) const
  {
    if (vertex >= graph.num_rows) return reach[2 * vertex + 1];
    return graph.OwnSize(vertex) + graph.GhostSize(vertex) < 2 ? PASS_NONE : 0;
  }
  __device__ int Store(PetscInt row, uint32_t m) const
  {
    if (m == PASS_NONE) state[row] = DCSR_SET_OUT;
    return 0;
  }
};

/* Long rows; their order varies. */
struct ListLongRows {
  PassGraph    graph;
  DCSRLongRows long_rows;
  int32_t     *counts;

  __device__ void operator()(PetscCount row) const
  {
    const PetscCount size = (PetscCount)graph.OwnSize(row) + graph.GhostSize(row);

    if (size > PASS_LONG) {
      const int32_t chunks = (int32_t)((size + PASS_CHUNK - 1) / PASS_CHUNK), q = atomicAdd(counts, 1), first = atomicAdd(counts + 1, chunks);

      long_rows.rows[q]        = (int32_t)row;
      long_rows.first_chunk[q] = first;
      long_rows.minima[q]      = PASS_NONE;
      for (int32_t c = 0; c < chunks; c++) long_rows.chunk_row[first + c] = q;
    }
  }
};

PetscErrorCode CreateWorkList(PetscInt n, int32_t counts[], cudaStream_t stream, DCSRWorkList *list)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAMalloc(n, "lists of vertices without decision", stream, &list->rows[k]));
  list->counts = counts;
  list->bound  = n;
  list->all    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DestroyWorkList(DCSRWorkList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&list->rows[k], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the long rows; how many there are is known when the host has polled. */
PetscErrorCode CreateLongRows(DCSRIndependentSet *set, cudaStream_t stream)
{
  const PetscCount num_nonzeros = set->own.num_nonzeros + (set->num_ghosts > 0 ? set->ghost.num_nonzeros : 0);
  const PetscCount max_rows = num_nonzeros / (PASS_LONG + 1), max_chunks = max_rows > 0 ? num_nonzeros / PASS_CHUNK + max_rows : 0;
  DCSRLongRows    *x = &set->long_rows;

  PetscFunctionBegin;
  if (max_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(3 * max_rows + max_chunks, "list of long rows", stream, &x->memory));
  x->rows        = x->memory;
  x->first_chunk = x->rows + max_rows;
  x->minima      = (uint32_t *)(x->first_chunk + max_rows);
  x->chunk_row   = x->first_chunk + 2 * max_rows;
  PetscCallCUDA(DCSRForEach(set->num_vertices, ListLongRows{GetGraph(set), *x, set->counts + COUNT_LONG}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetCounts(const DCSRIndependentSet *set, cudaStream_t stream, int32_t counts[])
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(counts, set->counts, DCSR_SET_COUNTS * sizeof(*counts), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetFirstStates(DCSRIndependentSet *set, cudaStream_t stream)
{
  const PassGraph graph    = GetGraph(set);
  int32_t *const  num_late = set->counts + COUNT_LATE;

  PetscFunctionBegin;
  if (set->hops == 1) PetscCallCUDA(DCSRForEach(set->num_vertices, FirstStates<1>{graph, set->position, set->state, NULL, num_late}, stream));
  else PetscCallCUDA(DCSRForEach(set->num_vertices, FirstStates<2>{graph, set->position, set->state, set->undone.rows[0], num_late}, stream));          // nobody uses this list yet
  if (set->num_ghosts > 0) PetscCallCUDA(cudaMemsetAsync(set->state + set->num_vertices, 0xfe, (size_t)set->num_ghosts * sizeof(*set->state), stream)); // without decision
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All arrays but those of the order, and what is in them before the first round. */
PetscErrorCode SetUp(DCSRIndependentSet *set, cudaStream_t stream)
{
  const PetscInt n = set->num_vertices, all = n + set->num_ghosts;
  int32_t        counts[DCSR_SET_COUNTS];

  PetscFunctionBegin;
  if (set->ghost.row_offsets != NULL) PetscCall(PetscSparseCUDAMallocExportable(all, "states of vertices", stream, &set->state));
  else PetscCall(PetscSparseCUDAMalloc(all, "states of vertices", stream, &set->state));
  PetscCall(PetscSparseCUDAMalloc(all, "smallest states in rows", stream, &set->minima));
  PetscCall(PetscSparseCUDAMalloc(DCSR_SET_COUNTS, "counts of vertices", stream, &set->counts));
  PetscCallCUDA(cudaMemsetAsync(set->counts, 0, DCSR_SET_COUNTS * sizeof(*set->counts), stream));
  PetscCall(CreateWorkList(n, set->counts, stream, &set->undone));
  if (set->hops == 2) PetscCall(CreateWorkList(n, set->counts + COUNT_OPEN, stream, &set->open));
  if (all > 0) PetscCallCUDA(cudaMemsetAsync(set->minima, 0xfe, (size_t)all * sizeof(*set->minima), stream)); // not final
  PetscCall(SetFirstStates(set, stream));
  PetscCall(CreateLongRows(set, stream));
  PetscCall(GetCounts(set, stream, counts));
  set->long_rows.num_rows   = counts[COUNT_LONG];
  set->long_rows.num_chunks = counts[COUNT_LONG + 1];
  set->num_late             = counts[COUNT_LATE];
  if (set->num_ghosts == 0) PetscCall(DCSRIndependentSetRemove(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One round with two hops. */
PetscErrorCode RoundOfTwoHops(DCSRIndependentSet *set, cudaStream_t stream)
{
  uint32_t *const minima = set->minima + set->num_vertices; // of ghosts

  PetscFunctionBegin;
  PetscCall(RunWork(set, RowStates{set->state, set->minima}, &set->open, stream));
  if (set->num_ghosts > 0) {
    PetscCallCUDA(cudaMemsetAsync(minima, 0xff, (size_t)set->num_ghosts * sizeof(*minima), stream)); // none
    PetscCallCUDA(DCSRForEach(set->ghost.num_nonzeros, GhostStates{set->boundary.entry_rows, set->ghost.columns, set->state, minima}, stream));
    PetscCall(RunWork(set, DecideVertices<true>{set->minima, set->state}, &set->undone, stream));
  } else PetscCall(RunWork(set, DecideVertices<false>{set->minima, set->state}, &set->undone, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Renews the copy of the states for the vertices of a list. */
PetscErrorCode RenewCopy(DCSRIndependentSet *set, PassList list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list.rows == NULL) PetscCallCUDA(cudaMemcpyAsync(set->minima, set->state, (size_t)set->num_vertices * sizeof(*set->state), cudaMemcpyDeviceToDevice, stream));
  else PetscCallCUDA(DCSRForEach(list.bound, CopyStates{list.rows, list.count, set->state, set->minima}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with one hop, which ends on this process: edges to ghosts are the business of the sweeps. */
PetscErrorCode RoundOfOneHop(DCSRIndependentSet *set, cudaStream_t stream)
{
  const PassList list = GetList(&set->undone);

  PetscFunctionBegin;
  PetscCall(RunWork(set, DecideVertices<false>{set->minima, set->state}, &set->undone, stream));
  PetscCall(RenewCopy(set, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRIndependentSetCreate - Creates an independent set, with the random order of its vertices; DCSRIndependentSetBegin() comes next. Asynchronous
  own, compact: pattern of the graph in the columns of this process, as many as rows. ghost, compact: that in ghost columns; without columns on one process. Both are borrowed until
  DCSRIndependentSetDestroy(). hops: 1, or 2 for the squared graph, which is not formed.
  set is to be freed with DCSRIndependentSetDestroy(), also after an error. Cost: that of DCSRGetRandomPermutation(). 8 bytes of memory for a vertex.
*/
PetscErrorCode DCSRIndependentSetCreate(DCSRView own, DCSRView ghost, PetscInt hops, cudaStream_t stream, DCSRIndependentSet *set)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(set, 1));
  PetscCheck(hops == 1 || hops == 2, PETSC_COMM_SELF, PETSC_ERR_SUP, "Independent sets are made with 1 or 2 hops, not %" PetscInt_FMT, hops);
  set->own          = own;
  set->ghost        = ghost;
  set->num_vertices = own.num_rows;
  set->num_ghosts   = ghost.num_columns;
  set->hops         = hops;
  for (set->lanes = 1; set->lanes < 32 && (double)PASS_BATCH * set->lanes * own.num_rows < (double)own.num_nonzeros; set->lanes *= 2)
    ; // a row of the mean length is one batch
  PetscCall(PetscSparseCUDAMalloc(set->num_vertices, "random order of vertices", stream, &set->permutation));
  PetscCall(PetscSparseCUDAMalloc(set->num_vertices, "random order of vertices", stream, &set->position));
  PetscCall(DCSRGetRandomPermutation(set->num_vertices, stream, set->permutation, set->position));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRIndependentSetBegin - Makes the first states of the vertices: those without neighbors are removed, the others have no decision. Synchronizes once
  With ghost columns DCSRBoundaryCreate() comes next. Cost: a pass over row offsets. 16 to 24 bytes of memory for a vertex.
*/
PetscErrorCode DCSRIndependentSetBegin(DCSRIndependentSet *set, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SetUp(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRIndependentSetRemove - Removes the vertices without neighbors of which DCSRIndependentSetBegin() did not know that they are; before the first round. Asynchronous
  With two hops and ghosts the second numbers of boundary.reach of these say whether they have neighbors, 0, or not, PASS_NONE.
*/
PetscErrorCode DCSRIndependentSetRemove(DCSRIndependentSet *set, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (set->num_late > 0)
    PetscCall(RunPass(set, RemoveVertices{GetGraph(set), set->boundary.reach, set->state}, PassList{set->undone.rows[0], NULL, set->num_late}, PassNext{NULL, NULL, NULL}, stream));
  set->num_late = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRIndependentSetDecide - Rounds until nothing can be decided any more: without ineligible vertices until all is decided. Synchronizes with every second round
  set is of DCSRIndependentSetBegin(), on several processes after DCSRSweepBegin(). Cost: with two hops some 8 passes over the columns for stencils, in 16 rounds, which grow like the logarithm of the
  number of vertices. Nothing is allocated.
*/
PetscErrorCode DCSRIndependentSetDecide(DCSRIndependentSet *set, cudaStream_t stream)
{
  int32_t counts[DCSR_SET_COUNTS];

  PetscFunctionBegin;
  if (set->num_vertices > 0 && set->hops == 1) PetscCall(RenewCopy(set, PassList{NULL, NULL, 0}, stream));
  while (set->undone.bound > 0) {
    const int32_t *list;

    for (int k = 0; k < ROUNDS; k++) {
      if (set->hops == 2) PetscCall(RoundOfTwoHops(set, stream));
      else PetscCall(RoundOfOneHop(set, stream));
    }
    PetscCall(GetCounts(set, stream, counts));
    list              = counts + 2 * (set->undone.turn % 3);
    set->undone.bound = list[0];
    set->open.bound   = counts[COUNT_OPEN + 2 * (set->open.turn % 3)];
    if (list[1] == 0) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRIndependentSetDestroy - Frees a set, also one that is not complete; zero afterwards. */
PetscErrorCode DCSRIndependentSetDestroy(DCSRIndependentSet *set, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRBoundaryDestroy(set, stream));
  PetscCall(PetscSparseCUDAFree(&set->permutation, stream));
  PetscCall(PetscSparseCUDAFree(&set->position, stream));
  PetscCall(PetscSparseCUDAFree(&set->state, stream));
  PetscCall(PetscSparseCUDAFree(&set->minima, stream));
  PetscCall(PetscSparseCUDAFree(&set->counts, stream));
  PetscCall(DestroyWorkList(&set->undone, stream));
  PetscCall(DestroyWorkList(&set->open, stream));
  PetscCall(PetscSparseCUDAFree(&set->long_rows.memory, stream));
  PetscCall(PetscArrayzero(set, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DCSRForEachKernel<PetscCount, FirstStates<2>>);
