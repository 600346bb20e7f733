/*
  The root that takes each vertex, on one process.

  Greedy coarsening gives a vertex to the first root within reach. On the squared graph PETSc afterwards gives vertices next to a root, in the graph itself, to that one
  (fixAggregatesWithSquare() in agg.c); there is one such root at most. Both come of the positions of roots: the smallest in each row, and the smallest of these.
*/
#include "passes.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int COUNT_ROOTS = 15; // position in counts

/* Roots are their own parents, the others have none yet; states become positions of roots. */
__global__ static void __launch_bounds__(PASS_THREADS) RootsKernel(PetscInt n, const int32_t position[], uint32_t state[], int32_t parent[], int32_t first[], int32_t *num_roots)
{
  const PetscCount v    = (PetscCount)blockIdx.x * PASS_THREADS + threadIdx.x;
  const bool       root = v < n && state[v] == DCSR_SET_ROOT;

  if (v < n) {
    state[v]  = root ? (uint32_t)position[v] : PASS_NONE;
    parent[v] = root ? (int32_t)v : -1;
    if (first != NULL) first[v] = parent[v];
  }
  CountInWarp(root, num_roots);
}

/* With two hops: the smallest position of a root in each row. */
struct NearestRoots {
  static constexpr bool own = true, ghosts = false;
  const uint32_t       *roots;
  uint32_t             *nearest;

  __device__ bool     Active(PetscInt) const { return true; }
  __device__ uint32_t Load(PetscCount vertex) const { return roots[vertex]; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    nearest[row] = m;
    return 0;
  }
};

/* The smallest of these within reach, and the one in the row itself if there is one, which also takes a vertex that was removed: without diagonal entries there are such. */
struct ParentsOfTwoHops {
  static constexpr bool own = true, ghosts = false;
  const uint32_t       *roots, *nearest;
  const int32_t        *permutation;
  int32_t              *parent, *first;

  __device__ bool     Active(PetscInt row) const { return roots[row] == PASS_NONE; }
  __device__ uint32_t Load(PetscCount vertex) const { return nearest[vertex]; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    const uint32_t next = nearest[row];

    if (m != PASS_NONE) first[row] = permutation[m];
    if (next != PASS_NONE) parent[row] = permutation[next];
    else if (m != PASS_NONE) parent[row] = permutation[m];
    return 0;
  }
};

struct ParentsOfOneHop {
  static constexpr bool own = true, ghosts = false;
  const uint32_t       *roots;
  const int32_t        *permutation;
  int32_t              *parent;

  __device__ bool     Active(PetscInt row) const { return roots[row] == PASS_NONE; }
  __device__ uint32_t Load(PetscCount vertex) const { return roots[vertex]; }
  __device__ int      Store(PetscInt row, uint32_t m) const
  {
    if (m != PASS_NONE) parent[row] = permutation[m];
    return 0;
  }
};

} // namespace

/*
  DCSRIndependentSetGetParents - The root that takes each vertex, on one process. Synchronizes once
  set is decided, without ghosts; its states and minima are of no use afterwards.
  parent [num_vertices], device: root of the aggregate of each vertex, itself for a root; -1: the vertex was removed and is in none.
  first [num_vertices], device: the first root within two hops in the random order, which is parent unless another root is next to the vertex; -1: none. NULL with one hop.
  Cost: with two hops two passes over the columns, with one hop one. Nothing is allocated.
*/
PetscErrorCode DCSRIndependentSetGetParents(DCSRIndependentSet *set, cudaStream_t stream, int32_t parent[], int32_t first[], PetscInt *num_roots)
{
  int32_t *const device = set->counts + COUNT_ROOTS;
  int32_t        host;

  PetscFunctionBegin;
  *num_roots = 0;
  if (set->num_vertices == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  RootsKernel<<<DCSRNumBlocks(set->num_vertices, PASS_THREADS), PASS_THREADS, 0, stream>>>(set->num_vertices, set->position, set->state, parent, first, device);
  PetscCallCUDA(cudaGetLastError());
  if (set->hops == 2) {
    PetscCall(RunAll(set, NearestRoots{set->state, set->minima}, stream));
    PetscCall(RunAll(set, ParentsOfTwoHops{set->state, set->minima, set->permutation, parent, first}, stream));
  } else PetscCall(RunAll(set, ParentsOfOneHop{set->state, set->permutation, parent}, stream));
  PetscCall(PetscSparseCUDACopyToHost(&host, device, sizeof(host), stream));
  *num_roots = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(RootsKernel);
