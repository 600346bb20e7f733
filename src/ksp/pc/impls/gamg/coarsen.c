/*
  The aggregates of a level: the maximal independent set of the graph, or of its square, and the root that takes each vertex, as PETSc's coarsenings MATCOARSENMIS and
  MATCOARSENMISK find them. Kernels do the work of a process (include/petscsparsecuda/coarsen.h). On several processes this file goes through the sweeps, in which what is
  at the boundary travels along the scatter of products.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/exchange/exchange.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsf.h>
#include <petscsparsecuda/coarsen.h>

static PetscErrorCode CreateAggregates(Mat G, PetscInt hops, PetscBool by_number, cudaStream_t stream, GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  aggregates->num_vertices = G->rmap->n;
  aggregates->begin        = G->rmap->rstart;
  aggregates->by_number    = by_number;
  PetscCall(PetscSparseCUDAMalloc(aggregates->num_vertices, "aggregates", stream, &aggregates->parent));
  if (hops == 2) PetscCall(PetscSparseCUDAMalloc(aggregates->num_vertices, "aggregates", stream, &aggregates->first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one process. */
static PetscErrorCode DecideAlone(DCSRIndependentSet *set, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRIndependentSetBegin(set, stream));
  PetscCall(DCSRIndependentSetDecide(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the entries of each row of compact storage, which has n of them. */
static PetscErrorCode AddRowSizes(DCSRView view, PetscInt n, cudaStream_t stream, PetscInt sizes[])
{
  const size_t size = view.wide ? sizeof(int64_t) : sizeof(int32_t);
  char        *offsets;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(((size_t)n + 1) * size, &offsets));
  PetscCall(PetscSparseCUDACopyToHost(offsets, view.row_offsets, ((size_t)n + 1) * size, stream));
  for (PetscInt v = 0; v < n; v++) sizes[v] += view.wide ? (PetscInt)(((int64_t *)offsets)[v + 1] - ((int64_t *)offsets)[v]) : ((int32_t *)offsets)[v + 1] - ((int32_t *)offsets)[v];
  PetscCall(PetscFree(offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vertices with few neighbors come first. PETSc sorts the random order by them, not stably: the order of equals is that of its sort, on the host. */
static PetscErrorCode OrderByDegree(DCSRIndependentSet *set, cudaStream_t stream)
{
  const PetscInt n = set->num_vertices;
  PetscInt      *sizes, *degree, *permute;
  int32_t       *order;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(n, &sizes));
  PetscCall(PetscMalloc3(n, &degree, n, &permute, n, &order));
  PetscCall(AddRowSizes(set->own, n, stream, sizes));
  if (set->num_ghosts > 0) PetscCall(AddRowSizes(set->ghost, n, stream, sizes));
  PetscCall(PetscSparseCUDACopyToHost(order, set->permutation, (size_t)n * sizeof(*order), stream));
  for (PetscInt k = 0; k < n; k++) {
    permute[k] = order[k];
    degree[k]  = sizes[order[k]];
  }
  PetscCall(PetscSortIntWithArray(n, degree, permute));
  for (PetscInt k = 0; k < n; k++) order[k] = (int32_t)permute[k];
  PetscCall(PetscSparseCUDACopyToDevice(set->permutation, order, (size_t)n * sizeof(*order), stream));
  for (PetscInt k = 0; k < n; k++) order[permute[k]] = (int32_t)k;
  PetscCall(PetscSparseCUDACopyToDevice(set->position, order, (size_t)n * sizeof(*order), stream));
  PetscCall(PetscFree3(degree, permute, order));
  PetscCall(PetscFree(sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A set whose order is the random one, or that by degrees. */
static PetscErrorCode CreateSet(DCSRView own, DCSRView ghost, PetscInt hops, PetscBool by_degree, cudaStream_t stream, DCSRIndependentSet *set)
{
  PetscFunctionBegin;
  PetscCall(DCSRIndependentSetCreate(own, ghost, hops, stream, set));
  if (by_degree) PetscCall(OrderByDegree(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetParentsAlone(Mat G, PetscBool by_number, DCSRIndependentSet *set, cudaStream_t stream, GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  PetscCall(CreateAggregates(G, set->hops, by_number, stream, aggregates));
  PetscCall(DCSRIndependentSetGetParents(set, stream, aggregates->parent, aggregates->first, &aggregates->num_roots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The three stages, each with its log event. */
static PetscErrorCode RunAlone(Mat G, DCSRView own, DCSRView ghost, GAMGCoarsening c, cudaStream_t stream, DCSRIndependentSet *set, GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  PetscCallLogged(PETSCSPARSECUDA_GAMGPermutation, G, CreateSet(own, ghost, c.hops, c.by_degree, stream, set));
  PetscCallLogged(PETSCSPARSECUDA_GAMGIndependentSet, G, DecideAlone(set, stream));
  PetscCallLogged(PETSCSPARSECUDA_GAMGAggregates, G, GetParentsAlone(G, c.by_number, set, stream, aggregates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block that has all columns. */
static PetscErrorCode CoarsenAlone(Mat block, GAMGCoarsening c, cudaStream_t stream, GAMGAggregates *aggregates)
{
  DCSRView           own, ghost;
  DCSRIndependentSet set;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ghost, 1));
  PetscCall(PetscArrayzero(&set, 1));
  PetscCall(MatSeqAIJCUDAGetCompact(block, &own));
  ierr = RunAlone(block, own, ghost, c, stream, &set, aggregates);
  PetscCall(DCSRIndependentSetDestroy(&set, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first process has the whole graph. */
static PetscErrorCode CoarsenOnFirst(Mat G, GAMGCoarsening c, cudaStream_t stream, GAMGAggregates *aggregates)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = G->rmap->n > 0 ? CoarsenAlone(MatMPIAIJCUDAGetBlock(G, 0), c, stream, aggregates) : CreateAggregates(G, c.hops, c.by_number, stream, aggregates);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)G), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that may fail for want of memory. */
static PetscErrorCode PrepareSweeps(Mat G, GAMGCoarsening c, cudaStream_t stream, JoinedColumns *columns, DCSRIndependentSet *set, GAMGAggregates *aggregates)
{
  DCSRView blocks[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatSeqAIJCUDAGetCompact(MatMPIAIJCUDAGetBlock(G, k), &blocks[k]));
  PetscCall(MatMPIAIJCUDAUseCurrentStream(G));
  PetscCall(JoinedColumnsCreateOf(G, stream, columns));
  PetscCall(CreateAggregates(G, c.hops, c.by_number, stream, aggregates));
  PetscCallLogged(PETSCSPARSECUDA_GAMGPermutation, G, CreateSet(blocks[0], blocks[1], c.hops, c.by_degree, stream, set));
  PetscCall(DCSRIndependentSetBegin(set, stream));
  PetscCall(DCSRBoundaryCreate(set, aggregates->begin, columns->device.ghosts, c.hops == 2 ? aggregates->first : aggregates->parent, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of the vertices of this process, so many for each, travel to their ghosts, which follow them in the array. Collective. */
static PetscErrorCode UpdateGhosts(PetscSF sf, PetscInt num_vertices, int size, uint32_t array[], cudaStream_t stream)
{
  const MPI_Datatype type   = size == 2 ? MPI_2INT : MPI_INT;
  uint32_t *const    ghosts = array != NULL ? array + (size_t)size * (size_t)num_vertices : NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDASFBcast(sf, type, array, ghosts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of a sweep before anything travels. */
static PetscErrorCode BeginSweep(DCSRIndependentSet *set, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (set->hops == 2 && set->boundary.num_sweeps == 0) PetscCall(DCSRIndependentSetRemove(set, stream));
  PetscCall(DCSRSweepBegin(set, stream));
  PetscCall(DCSRIndependentSetDecide(set, stream));
  PetscCall(DCSRSweepTake(set, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps until no process has a vertex without decision. An error of one process ends the sweep for all. Collective. */
static PetscErrorCode Sweep(MPI_Comm comm, PetscSF sf, DCSRIndependentSet *set, cudaStream_t stream)
{
  const PetscInt n = set->num_vertices;
  int            facts[2]; // error code; whether a vertex is left

  PetscFunctionBegin;
  if (set->hops == 2) PetscCall(UpdateGhosts(sf, n, 2, set->boundary.reach, stream));
  do {
    PetscInt       left = 0;
    PetscErrorCode ierr;

    ierr = BeginSweep(set, stream);
    PetscCall(UpdateGhosts(sf, n, 1, set->state, stream));
    if (set->hops == 2) {
      if (ierr == PETSC_SUCCESS) ierr = DCSRSweepReach(set, stream);
      PetscCall(UpdateGhosts(sf, n, 2, set->boundary.reach, stream));
    }
    if (ierr == PETSC_SUCCESS) ierr = DCSRSweepEnd(set, stream, &left);
    facts[0] = (int)ierr;
    facts[1] = left > 0;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, facts, 2, MPI_INT, MPI_MAX, comm));
    PetscCall(PetscSparseCUDAErrorOfAll(facts[0], ierr));
  } while (facts[1] > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTogether(Mat G, PetscSF sf, cudaStream_t stream, DCSRIndependentSet *set, GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  PetscCallLogged(PETSCSPARSECUDA_GAMGIndependentSet, G, Sweep(PetscObjectComm((PetscObject)G), sf, set, stream));
  PetscCallLogged(PETSCSPARSECUDA_GAMGAggregates, G, DCSRSweepsGetParents(set, stream, aggregates->parent, &aggregates->num_roots, &aggregates->num_remote));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoarsenTogether(Mat G, GAMGCoarsening c, cudaStream_t stream, GAMGAggregates *aggregates)
{
  const MPI_Comm     comm = PetscObjectComm((PetscObject)G);
  const PetscSF      sf   = ((Mat_MPIAIJ *)G->data)->Mvctx;
  JoinedColumns      columns;
  DCSRIndependentSet set;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&columns, 1));
  PetscCall(PetscArrayzero(&set, 1));
  ierr = PrepareSweeps(G, c, stream, &columns, &set, aggregates);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = RunTogether(G, sf, stream, &set, aggregates);
  PetscCall(DCSRIndependentSetDestroy(&set, stream));
  PetscCall(JoinedColumnsDestroy(&columns, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCoarsen - The aggregates of a graph, those of PETSc's coarsening bit for bit. Collective
  G is a matrix of ours on the device, whose pattern is the graph: symmetric, square, with block size 1. c is what PETSc's coarsening would be.
  aggregates are to be freed with GAMGAggregatesDestroy(); they are zero after an error. PETSC_ERR_ARG_OUTOFRANGE with too many vertices. On several processes all fail when one does.
  Cost: the random order of vertices, some 10 passes over the column indices with two hops, 13 with one, but for small lists. On several processes two exchanges with neighbors and one reduction for
  each sweep, of which there are few, and as many as processes when their parts of the graph are thin; one reduction where the first process has the whole graph. 40 bytes of device memory for a vertex,
  64 on several processes, and 8 for an aggregate that stays. With by_degree the order is made on the host, 0.1 s for a million vertices.
*/
PetscErrorCode GAMGCoarsen(Mat G, GAMGCoarsening c, GAMGAggregates *aggregates)
{
  PetscMPIInt    size;
  PetscBool      is_mpi;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(aggregates, 1));
  PetscCheck(G->rmap->N < PETSC_INT32_MAX - 2, PetscObjectComm((PetscObject)G), PETSC_ERR_ARG_OUTOFRANGE,
             "A graph with %" PetscInt_FMT " vertices is too large for the device; use -pc_gamg_device_setup 0", G->rmap->N);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)G), &size));
  PetscCall(MatIsMPIAIJCUDA(G, &is_mpi));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (size == 1) ierr = CoarsenAlone(is_mpi ? MatMPIAIJCUDAGetBlock(G, 0) : G, c, stream, aggregates);
  else if (GAMGIsOnFirst(G)) ierr = CoarsenOnFirst(G, c, stream, aggregates);
  else ierr = CoarsenTogether(G, c, stream, aggregates);
  if (ierr != PETSC_SUCCESS) PetscCall(GAMGAggregatesDestroy(aggregates));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGAggregatesDestroy - Frees aggregates, also those that are not complete; zero afterwards. */
PetscErrorCode GAMGAggregatesDestroy(GAMGAggregates *aggregates)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (aggregates->parent != NULL || aggregates->first != NULL) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(PetscSparseCUDAFree(&aggregates->parent, stream));
    PetscCall(PetscSparseCUDAFree(&aggregates->first, stream));
  }
  PetscCall(PetscArrayzero(aggregates, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
