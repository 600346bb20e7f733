/*
  The graph of a matrix whose unknowns are blocks, on the device: one edge for a block that has a stored entry. Which edges there are, and their values, is as PETSc's MatCreateGraph() has it, which
  takes one of two ways on each process: blocks that it finds dense are read at every bs-th entry, others are merged. Full blocks are dense, and their list is the graph.
*/
#include "graph.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/graph.h>

/* What is collapsed on this process. */
typedef struct {
  Mat             A;
  PetscBool       values;
  PetscInt        num_index; /* rows and columns of a block that count; 0: all */
  const PetscInt *index;     /* [num_index] which */
  cudaStream_t    stream;
} Collapse;

/* Whether PETSc finds the blocks dense, in nodes; and the structure of the graph of full ones, whose columns are whole nodes: zero where there is none. */
static PetscErrorCode FindDense(const Collapse *c, Mat block, DCSRNodes *nodes, DCSRView *view, DCSRView *graph)
{
  DCSRBlockList  list = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetCompact(block, view));
  PetscCall(MatOperandNoteBlockSizes(block, view));
  PetscCall(PetscArrayzero(graph, 1));
  if (view->row_block > 0 && nodes->bs * nodes->num_nodes == view->num_columns) PetscCall(DCSRBlockListGet(*view, nodes->bs, nodes->bs, c->stream, &list));
  nodes->dense = PETSC_TRUE;
  if (list != NULL) ierr = DCSRBlockListExpand(&(struct _n_DCSRBlockList){1, 1, 1, list->view}, c->stream, graph); // a copy: others use the list
  else ierr = DCSRBlocksAreDense(*view, nodes->bs, c->stream, &nodes->dense);
  PetscCall(DCSRBlockListDestroy(&list, c->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph with the values of its blocks, or zeros, which nobody reads; its structure may be there. */
static PetscErrorCode CollapseView(const Collapse *c, DCSRView view, DCSRNodes nodes, DCSRView *graph)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (graph->row_offsets == NULL) PetscCall(DCSRCollapse(view, nodes, c->stream, graph));
  PetscCallGoto(ierr, failed, DCSRViewAllocateValues(graph, c->stream));
  if (c->values) PetscCallGoto(ierr, failed, DCSRCollapseValues(view, nodes, c->num_index, c->index, c->stream, *graph));
  else if (graph->num_nonzeros > 0) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(graph->values, 0, (size_t)graph->num_nonzeros * sizeof(*graph->values), c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(graph, c->stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode CollapseSeq(const Collapse *c, Mat *G)
{
  const PetscInt bs    = c->A->rmap->bs;
  DCSRNodes      nodes = {bs, c->A->cmap->n / bs, NULL, PETSC_FALSE};
  DCSRView       view, graph;

  PetscFunctionBegin;
  PetscCall(FindDense(c, c->A, &nodes, &view, &graph));
  PetscCall(CollapseView(c, view, nodes, &graph));
  PetscCall(MatSeqAIJCUDACreateFromView(c->A, 1, 1, &graph, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nodes of ghost columns: numbers [*n], on the host, and the position of each column's node among them, map [ghosts] on the device. */
static PetscErrorCode GetGhostNodes(Mat A, cudaStream_t stream, PetscInt *n, int32_t **numbers, int32_t **map)
{
  const PetscInt *garray = ((Mat_MPIAIJ *)A->data)->garray, num = ((Mat_MPIAIJ *)A->data)->B->cmap->n, bs = A->rmap->bs;
  int32_t        *positions = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *n       = 0;
  *map     = NULL;
  *numbers = NULL;
  PetscCallGoto(ierr, cleanup, PetscMalloc1(num, numbers));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(num, &positions));
  for (PetscInt k = 0; k < num; k++) {
    const int32_t node = (int32_t)(garray[k] / bs);

    if (*n == 0 || (*numbers)[*n - 1] != node) (*numbers)[(*n)++] = node;
    positions[k] = (int32_t)(*n - 1);
  }
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num, "nodes of ghost columns", stream, map));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(*map, positions, (size_t)num * sizeof(*positions), stream));
cleanup:
  PetscCall(PetscFree(positions));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscFree(*numbers));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both graphs of this process; zero after an error. nodes of the second one are the ghost nodes. */
static PetscErrorCode CollapseViews(const Collapse *c, DCSRNodes nodes[], DCSRView graphs[])
{
  DCSRView       views[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, failed, FindDense(c, MatMPIAIJCUDAGetBlock(c->A, k), &nodes[k], &views[k], &graphs[k]));
  // a process without ghost columns has no list of them in MATMPIAIJ, and merges
  nodes[0].dense = nodes[1].dense = (PetscBool)(nodes[0].dense && nodes[1].dense && views[1].num_columns > 0);
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, failed, CollapseView(c, views[k], nodes[k], &graphs[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&graphs[k], c->stream));
  PetscFunctionReturn(ierr);
}

/* Both graphs, with the ghost nodes [*n] that the second one has, numbers on the host. */
static PetscErrorCode CollapseBlocks(const Collapse *c, DCSRView graphs[], PetscInt *n, int32_t **ghosts)
{
  const PetscInt bs       = c->A->rmap->bs;
  DCSRNodes      nodes[2] = {{bs, c->A->cmap->n / bs, NULL, PETSC_FALSE}, {bs, 0, NULL, PETSC_FALSE}};
  int32_t       *map = NULL, *numbers = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *ghosts = NULL;
  PetscCallGoto(ierr, cleanup, GetGhostNodes(c->A, c->stream, &nodes[1].num_nodes, &numbers, &map));
  nodes[1].map = map;
  PetscCallGoto(ierr, cleanup, CollapseViews(c, nodes, graphs));
  PetscCallGoto(ierr, cleanup, GhostColumnsRenumber(nodes[1].num_nodes, &graphs[1], c->stream, n, ghosts));
  for (PetscInt k = 0; k < *n; k++) (*ghosts)[k] = numbers[(*ghosts)[k]];
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, c->stream));
  PetscCall(PetscFree(numbers));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CollapseMPI(const Collapse *c, Mat *G)
{
  const PetscInt bs     = c->A->rmap->bs;
  MPI_Comm       comm   = PetscObjectComm((PetscObject)c->A);
  PetscInt       n      = 0;
  int32_t       *ghosts = NULL;
  DCSRView       graphs[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *G = NULL;
  PetscCall(PetscArrayzero(graphs, 2));
  ierr = CollapseBlocks(c, graphs, &n, &ghosts);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, MatCreate(comm, G));
  PetscCallGoto(ierr, cleanup, MatSetSizes(*G, c->A->rmap->n / bs, c->A->cmap->n / bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCallGoto(ierr, cleanup, MatSetBlockSizes(*G, 1, 1));
  PetscCallGoto(ierr, cleanup, MatSetType(*G, ((PetscObject)c->A)->type_name));
  PetscCallGoto(ierr, cleanup, MatMPIAIJCUDAInstallBlocks(*G, graphs, n, ghosts));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&graphs[k], c->stream));
  PetscCall(PetscFree(ghosts));
  if (ierr != PETSC_SUCCESS) (void)MatDestroy(G);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACollapse - The graph of a matrix A whose unknowns are blocks, of A's type, with a row for each block; NULL after an error, which is on all processes. Collective.

  The structure of A is on the device, and its rows and columns have the same layout. Without values those of the graph are not computed.
  index: [num_index] host, which rows and columns of a dense block its value is computed from; 0: all.
  Costs a read of the structure for full blocks, two for dense ones, three for others; and one read of the matrix for values. Ghost columns are gone through on the host.
*/
PetscErrorCode MatAIJCUDACollapse(Mat A, PetscBool values, PetscInt num_index, const PetscInt index[], Mat *G)
{
  Collapse  c = {A, values, num_index, index, NULL};
  PetscBool is_mpi;

  PetscFunctionBegin;
  *G = NULL;
  PetscCall(PetscSparseCUDAGetStream(&c.stream));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (is_mpi) PetscCall(CollapseMPI(&c, G));
  else PetscCall(CollapseSeq(&c, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}
