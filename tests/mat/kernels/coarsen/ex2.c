static char help[] = "Independent sets of one and two hops, and the roots that take the other vertices, against PETSc's greedy algorithm on the host.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/coarsen.h>

/* Edges of a graph that is being made, each once. */
typedef struct {
  PetscInt  num_vertices, num_edges, max_edges;
  PetscInt *pairs; /* [max_edges][2] */
} Edges;

static PetscErrorCode AddEdge(Edges *edges, PetscInt a, PetscInt b)
{
  PetscFunctionBegin;
  if (edges->num_edges == edges->max_edges) {
    edges->max_edges = 2 * edges->max_edges + 1000;
    PetscCall(PetscRealloc(2 * (size_t)edges->max_edges * sizeof(*edges->pairs), &edges->pairs));
  }
  edges->pairs[2 * edges->num_edges]     = a;
  edges->pairs[2 * edges->num_edges + 1] = b;
  edges->num_edges++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The symmetric pattern with these edges, without values. */
static PetscErrorCode CreatePattern(const Edges *edges, const char name[], KernelTestMatrix *A)
{
  const PetscInt n = edges->num_vertices;
  PetscInt      *next, nz = 0;

  PetscFunctionBegin;
  A->name = name;
  A->m = A->n = n;
  PetscCall(PetscCalloc1(n + 1, &A->i));
  PetscCall(PetscMalloc2(2 * edges->num_edges, &A->j, 2 * edges->num_edges, &A->a));
  PetscCall(PetscCalloc1(n + 1, &next));
  for (PetscInt k = 0; k < edges->num_edges; k++) {
    next[edges->pairs[2 * k] + 1]++;
    if (edges->pairs[2 * k] != edges->pairs[2 * k + 1]) next[edges->pairs[2 * k + 1] + 1]++;
  }
  for (PetscInt v = 0; v < n; v++) next[v + 1] += next[v];
  PetscCall(PetscArraycpy(A->i, next, n + 1));
  for (PetscInt k = 0; k < edges->num_edges; k++) {
    const PetscInt a = edges->pairs[2 * k], b = edges->pairs[2 * k + 1];

    A->j[next[a]++] = b;
    if (a != b) A->j[next[b]++] = a;
  }
  for (PetscInt v = 0, begin = 0; v < n; v++) { // edges may come twice
    PetscInt size = A->i[v + 1] - begin;

    if (size > 0) PetscCall(PetscSortRemoveDupsInt(&size, A->j + begin));
    PetscCall(PetscArraymove(A->j + nz, A->j + begin, size));
    begin   = A->i[v + 1];
    A->i[v] = nz;
    nz += size;
  }
  A->i[n] = nz;
  A->nz   = nz;
  PetscCall(PetscArrayzero(A->a, nz));
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  DIAGONAL_ALL,
  DIAGONAL_SOME,
  DIAGONAL_NONE
} Diagonal;

/* The numbers are those of the shape. */
typedef struct {
  const char *name;
  enum {
    PATH,
    GRID, /* n x n, five points */
    CUBE, /* n x n x n, 27 points */
    STAR, /* the hub is the vertex in the middle */
    CLIQUE,
    RANDOM, /* k edges at each of n vertices but for a tenth without; hubs vertices have an edge to a seventh of the others */
    PAIRS   /* edges that share no vertex */
  } shape;
  PetscInt n, k, hubs;
  Diagonal diagonal;
} Graph;

static const Graph graphs[] = {{"no vertices", PATH, 0, 0, 0, DIAGONAL_ALL},
                               {"one vertex", PATH, 1, 0, 0, DIAGONAL_ALL},
                               {"one vertex, no entry", PATH, 1, 0, 0, DIAGONAL_NONE},
                               {"two vertices", PATH, 2, 0, 0, DIAGONAL_ALL},
                               {"path", PATH, 10001, 0, 0, DIAGONAL_ALL},
                               {"path, some diagonals", PATH, 3001, 0, 0, DIAGONAL_SOME},
                               {"path, no diagonals", PATH, 3001, 0, 0, DIAGONAL_NONE},
                               {"grid", GRID, 150, 0, 0, DIAGONAL_ALL},
                               {"grid, some diagonals", GRID, 60, 0, 0, DIAGONAL_SOME},
                               {"grid, no diagonals", GRID, 60, 0, 0, DIAGONAL_NONE},
                               {"cube", CUBE, 30, 0, 0, DIAGONAL_ALL},
                               {"small star", STAR, 900, 0, 0, DIAGONAL_ALL},
                               {"star", STAR, 130001, 0, 0, DIAGONAL_ALL},
                               {"large star", STAR, 1000001, 0, 0, DIAGONAL_ALL},
                               {"star, some diagonals", STAR, 20001, 0, 0, DIAGONAL_SOME},
                               {"star, no diagonals", STAR, 20001, 0, 0, DIAGONAL_NONE},
                               {"clique", CLIQUE, 1500, 0, 0, DIAGONAL_ALL},
                               {"clique, no diagonals", CLIQUE, 1030, 0, 0, DIAGONAL_NONE},
                               {"random 1", RANDOM, 20000, 1, 0, DIAGONAL_ALL},
                               {"random 3", RANDOM, 20000, 3, 0, DIAGONAL_ALL},
                               {"random 3, some diagonals", RANDOM, 5000, 3, 0, DIAGONAL_SOME},
                               {"random 1, no diagonals", RANDOM, 5000, 1, 0, DIAGONAL_NONE},
                               {"random 40", RANDOM, 4000, 40, 0, DIAGONAL_ALL},
                               {"hubs", RANDOM, 30000, 2, 4, DIAGONAL_ALL},
                               {"hubs, some diagonals", RANDOM, 10000, 1, 2, DIAGONAL_SOME},
                               {"pairs", PAIRS, 1000, 0, 0, DIAGONAL_ALL},
                               {"pairs, some diagonals", PAIRS, 1000, 0, 0, DIAGONAL_SOME},
                               {"pairs, no diagonals", PAIRS, 1000, 0, 0, DIAGONAL_NONE}};

/* A number below n that depends on nothing but the arguments. */
static PetscInt Number(PetscCount index, PetscInt seed, PetscInt n)
{
  return PetscMin((PetscInt)((PetscRealPart(KernelTestNumber(index, seed)) + 1) / 2 * (PetscReal)n), n - 1);
}

static PetscErrorCode AddGrid(Edges *edges, PetscInt nx, PetscInt ny, PetscInt nz, PetscBool corners)
{
  PetscFunctionBegin;
  for (PetscInt v = 0; v < nx * ny * nz; v++) {
    const PetscInt x = v % nx, y = v / nx % ny, z = v / (nx * ny);

    for (PetscInt d = 0; d < 27; d++) {
      const PetscInt dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1, w = v + dx + nx * (dy + ny * dz);

      if (w <= v || x + dx < 0 || x + dx >= nx || y + dy < 0 || y + dy >= ny || z + dz < 0 || z + dz >= nz) continue;
      if (corners || PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz) == 1) PetscCall(AddEdge(edges, v, w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddRandom(Edges *edges, const Graph *graph)
{
  const PetscInt n = graph->n;

  PetscFunctionBegin;
  for (PetscInt v = 0; v < n; v++) {
    for (PetscInt k = 0; k < graph->k; k++) {
      const PetscInt w = Number((PetscCount)v * graph->k + k, 3, n);

      if (v % 10 != 7 && w % 10 != 7 && v != w) PetscCall(AddEdge(edges, v, w));
    }
  }
  for (PetscInt hub = 0; hub < graph->hubs; hub++) {
    for (PetscInt w = hub; w < n; w += 7) {
      if (w % 10 != 7 && w != 101 * hub) PetscCall(AddEdge(edges, 101 * hub, w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGraph(const Graph *graph, KernelTestMatrix *A)
{
  const PetscInt n     = graph->n;
  Edges          edges = {n, 0, 0, NULL};

  PetscFunctionBegin;
  if (graph->shape == GRID) edges.num_vertices = n * n;
  if (graph->shape == CUBE) edges.num_vertices = n * n * n;
  switch (graph->shape) {
  case PATH:
    for (PetscInt v = 1; v < n; v++) PetscCall(AddEdge(&edges, v - 1, v));
    break;
  case GRID:
    PetscCall(AddGrid(&edges, n, n, 1, PETSC_FALSE));
    break;
  case CUBE:
    PetscCall(AddGrid(&edges, n, n, n, PETSC_TRUE));
    break;
  case STAR:
    for (PetscInt v = 0; v < n; v++)
      if (v != n / 2) PetscCall(AddEdge(&edges, n / 2, v));
    break;
  case CLIQUE:
    for (PetscInt v = 0; v < n; v++)
      for (PetscInt w = 0; w < v; w++) PetscCall(AddEdge(&edges, v, w));
    break;
  case RANDOM:
    PetscCall(AddRandom(&edges, graph));
    break;
  case PAIRS:
    for (PetscInt v = 0; v + 1 < n; v += 2) PetscCall(AddEdge(&edges, v, v + 1));
    break;
  }
  for (PetscInt v = 0; v < edges.num_vertices; v++) {
    const PetscBool isolated_without = (PetscBool)(graph->shape == RANDOM && v % 20 == 7); // a row without entries

    if (!isolated_without && (graph->diagonal == DIAGONAL_ALL || (graph->diagonal == DIAGONAL_SOME && Number(v, 4, 3) > 0))) PetscCall(AddEdge(&edges, v, v));
  }
  PetscCall(CreatePattern(&edges, graph->name, A));
  PetscCall(PetscFree(edges.pairs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is expected. */
typedef struct {
  PetscInt num_roots, *parent, *first; /* [vertices] */
} Expected;

#define UNDONE  -2
#define DELETED -1

/* The vertices in the row of v in the graph, or in its square; scratch is [vertices], marks [vertices] are 0 before and after. */
static PetscInt GetReach(const KernelTestMatrix *A, PetscInt hops, PetscInt v, PetscInt marks[], PetscInt scratch[])
{
  PetscInt size = 0;

  for (PetscInt k = A->i[v]; k < A->i[v + 1]; k++) {
    if (hops == 1) scratch[size++] = A->j[k];
    else
      for (PetscInt l = A->i[A->j[k]]; l < A->i[A->j[k] + 1]; l++)
        if (!marks[A->j[l]]) {
          marks[A->j[l]]  = 1;
          scratch[size++] = A->j[l];
        }
  }
  for (PetscInt k = 0; k < size; k++) marks[scratch[k]] = 0;
  return size;
}

/* PETSc's algorithm, MatCoarsenApply_MIS() and fixAggregatesWithSquare(), vertex by vertex. */
static PetscErrorCode Greedy(const KernelTestMatrix *A, PetscInt hops, const int32_t permutation[], Expected *e)
{
  const PetscInt n = A->m;
  PetscInt      *state, *marks, *reach;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &state, n, &marks, n, &reach));
  PetscCall(PetscMalloc2(n, &e->parent, n, &e->first));
  for (PetscInt v = 0; v < n; v++) {
    state[v]    = UNDONE;
    marks[v]    = 0;
    e->first[v] = -1;
  }
  e->num_roots = 0;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt v = permutation[k];
    PetscInt       size;

    if (state[v] != UNDONE) continue;
    size = GetReach(A, hops, v, marks, reach);
    if (size < 2) continue; // removed; a root may still take it
    state[v]    = v;
    e->first[v] = v;
    e->num_roots++;
    for (PetscInt l = 0; l < size; l++) {
      if (state[reach[l]] != UNDONE) continue;
      state[reach[l]]    = DELETED;
      e->first[reach[l]] = v;
    }
  }
  PetscCall(PetscArraycpy(e->parent, e->first, n));
  for (PetscInt v = 0; hops == 2 && v < n; v++) {
    if (state[v] < 0) continue;
    for (PetscInt k = A->i[v]; k < A->i[v + 1]; k++)
      if (state[A->j[k]] < 0) e->parent[A->j[k]] = v;
  }
  PetscCall(PetscFree3(state, marks, reach));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(PetscInt n, const int32_t device[], const PetscInt expected[], cudaStream_t stream, const char what[], const char name[], PetscInt hops)
{
  int32_t *got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &got));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), device, stream, got));
  for (PetscInt v = 0; v < n; v++)
    PetscCheck(got[v] == expected[v], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " hops: %s of vertex %" PetscInt_FMT " is %d, not %" PetscInt_FMT, name, hops, what, v, (int)got[v],
               expected[v]);
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the beginning to the end; lanes 0: those of the rule. */
static PetscErrorCode Coarsen(DCSRView view, PetscInt hops, int lanes, cudaStream_t stream, int32_t parent[], int32_t first[], PetscInt *num_roots)
{
  DCSRIndependentSet set;
  DCSRView           ghost;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ghost, 1));
  PetscCallGoto(ierr, cleanup, DCSRIndependentSetCreate(view, ghost, hops, stream, &set));
  PetscCallGoto(ierr, cleanup, DCSRIndependentSetBegin(&set, stream));
  if (lanes > 0) set.lanes = lanes;
  PetscCallGoto(ierr, cleanup, DCSRIndependentSetDecide(&set, stream));
  PetscCallGoto(ierr, cleanup, DCSRIndependentSetGetParents(&set, stream, parent, first, num_roots));
cleanup:
  PetscCall(DCSRIndependentSetDestroy(&set, stream));
  PetscFunctionReturn(ierr);
}

/* Fails at one allocation after the other until all succeed; what fails leaves nothing behind. */
static PetscErrorCode TestOutOfMemory(DCSRView view, PetscInt hops, cudaStream_t stream, int32_t parent[], int32_t first[])
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  PetscInt       num_roots;
  size_t         before, after;

  PetscFunctionBegin;
  PetscCall(KernelTestMemoryInUse(stream, &before));
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    PetscCheck(n < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "It never succeeds");
    TestLibCallFailing(n, ierr, Coarsen(view, hops, 0, stream, parent, first, &num_roots));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory leaked after an error", after - before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestView(const KernelTestMatrix *A, DCSRView view, PetscInt hops, const Expected *e, cudaStream_t stream)
{
  const int lanes[] = {0, 0, 1, 4, 32}; // the rule twice: the same again
  int32_t  *parent = NULL, *first = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(A->m, "test", stream, &parent));
  if (hops == 2) PetscCall(PetscSparseCUDAMalloc(A->m, "test", stream, &first));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lanes); k++) {
    PetscInt num_roots;

    PetscCall(Coarsen(view, hops, lanes[k], stream, parent, first, &num_roots));
    PetscCheck(num_roots == e->num_roots, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " hops: %" PetscInt_FMT " roots, not %" PetscInt_FMT, A->name, hops, num_roots, e->num_roots);
    PetscCall(Compare(A->m, parent, e->parent, stream, "parent", A->name, hops));
    if (hops == 2) PetscCall(Compare(A->m, first, e->first, stream, "first root", A->name, hops));
  }
  if (A->m > 0 && A->m < 5000) PetscCall(TestOutOfMemory(view, hops, stream, parent, first));
  PetscCall(PetscSparseCUDAFree(&parent, stream));
  PetscCall(PetscSparseCUDAFree(&first, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetPermutation(PetscInt n, cudaStream_t stream, int32_t permutation[])
{
  int32_t *device = NULL, *position = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "test", stream, &device));
  PetscCall(PetscSparseCUDAMalloc(n, "test", stream, &position));
  PetscCall(DCSRGetRandomPermutation(n, stream, device, position));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*permutation), device, stream, permutation));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscSparseCUDAFree(&position, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With offsets of both widths. */
static PetscErrorCode TestGraph(const Graph *graph, cudaStream_t stream)
{
  KernelTestMatrix A;
  int32_t         *permutation;
  size_t           before, after;

  PetscFunctionBegin;
  PetscCall(CreateGraph(graph, &A));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(PetscMalloc1(A.m, &permutation));
  PetscCall(GetPermutation(A.m, stream, permutation));
  for (PetscInt hops = 1; hops <= 2; hops++) {
    Expected e;

    PetscCall(Greedy(&A, hops, permutation, &e));
    for (PetscInt s = 0; s < 2; s++) {
      DCSRView view;

      PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
      PetscCall(TestView(&A, view, hops, &e, stream));
      PetscCall(KernelTestViewDestroy(&view, stream));
    }
    PetscCall(PetscFree2(e.parent, e.first));
  }
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", A.name, after - before);
  PetscCall(PetscFree(permutation));
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  PetscInt     only = -1;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-graph", &only, NULL));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(graphs); k++)
      if (only < 0 || only == k) PetscCall(TestGraph(&graphs[k], stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
