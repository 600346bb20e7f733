static char help[] = "Aggregates of a graph on any number of processes, against PETSc's algorithm for all processes on the host.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/coarsen.h>
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include "../../mat/kernels/coarsen/randomorder.h"
#include "../../lib/sys.h"

/* The whole graph; each process has all of it, and the rows of all. */
typedef struct {
  PetscInt    n;
  PetscInt   *i, *j; /* sorted rows */
  PetscMPIInt size;
  PetscInt   *begins; /* [size + 1] first vertex of each process */
} WholeGraph;

/* How the vertices are shared. */
typedef enum {
  SHARES_EVEN,
  SHARES_UNEVEN, /* the second process has none, the first one few */
  SHARES_SLABS   /* planes of a grid: thin ones on many processes */
} Shares;

static PetscErrorCode CreateShares(PetscInt n, Shares shares, PetscInt plane, WholeGraph *g)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &g->size));
  PetscCall(PetscMalloc1(g->size + 1, &g->begins));
  for (PetscMPIInt r = 0; r <= g->size; r++) g->begins[r] = (PetscInt)((PetscInt64)n / plane * r / g->size) * plane;
  if (shares == SHARES_UNEVEN && g->size > 1) {
    g->begins[1] = PetscMin(n / 9, g->begins[1]);
    if (g->size > 2) g->begins[2] = g->begins[1];
  }
  g->begins[g->size] = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number below n, the same on all processes and in every run: the finalizer of splitmix64 (Steele, Lea, Flood 2014). */
static PetscInt Number(PetscInt a, PetscInt b, PetscInt n)
{
  uint64_t h = ((uint64_t)a + 1) * 0x9e3779b97f4a7c15ull + ((uint64_t)b + 1) * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return (PetscInt)((h ^ (h >> 31)) % (uint64_t)n);
}

/* Both directions, and both diagonal entries. */
static void AddEdge(PetscInt a, PetscInt b, PetscInt *n, PetscInt rows[], PetscInt columns[])
{
  rows[*n]        = a;
  columns[(*n)++] = b;
  rows[*n]        = b;
  columns[(*n)++] = a;
  rows[*n]        = a;
  columns[(*n)++] = a;
  rows[*n]        = b;
  columns[(*n)++] = b;
}

/* The pattern of n entries, which may come more than once. */
static PetscErrorCode CreatePattern(PetscInt n, PetscInt rows[], PetscInt columns[], WholeGraph *g)
{
  PetscInt nz = 0;

  PetscFunctionBegin;
  PetscCall(PetscSortIntWithArray(n, rows, columns));
  PetscCall(PetscCalloc1(g->n + 1, &g->i));
  PetscCall(PetscMalloc1(n, &g->j));
  for (PetscInt v = 0, k = 0; v < g->n; v++) {
    PetscInt size = 0;

    while (k + size < n && rows[k + size] == v) size++;
    PetscCall(PetscArraycpy(g->j + nz, columns + k, size));
    k += size;
    if (size > 0) PetscCall(PetscSortRemoveDupsInt(&size, g->j + nz));
    nz += size;
    g->i[v + 1] = nz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Edges between near vertices, or between any; hubs; a twentieth of the vertices has none, and half of these no diagonal entry. */
static PetscErrorCode CreateRandom(PetscInt degree, PetscBool near, PetscInt hubs, WholeGraph *g)
{
  const PetscInt n = g->n, most = 4 * n * (degree + hubs) + n;
  PetscInt       num = 0, *rows, *columns;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(most, &rows, most, &columns));
  for (PetscInt v = 0; v < n; v++) {
    if (v % 40 == 7) AddEdge(v, v, &num, rows, columns);
    if (v % 20 == 7) continue;
    for (PetscInt k = 0; k < degree + hubs; k++) {
      const PetscInt w = k >= degree ? (k - degree) * 37 : near ? (v + Number(v, k, 60)) % n : Number(v, k, n);

      if (w % 20 != 7 && (k < degree || v % 3 == 0)) AddEdge(v, w, &num, rows, columns);
    }
  }
  PetscCall(CreatePattern(num, rows, columns, g));
  PetscCall(PetscFree2(rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid of plane x plane x n, 27 points. */
static PetscErrorCode CreateGrid(PetscInt side, WholeGraph *g)
{
  const PetscInt most = 4 * 14 * g->n, nz = g->n / (side * side);
  PetscInt       num = 0, *rows, *columns;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(most, &rows, most, &columns));
  for (PetscInt v = 0; v < g->n; v++) {
    const PetscInt x = v % side, y = v / side % side, z = v / (side * side);

    for (PetscInt d = 13; d < 27; d++) {
      const PetscInt dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;

      if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side && z + dz >= 0 && z + dz < nz) AddEdge(v, v + dx + side * (dy + side * dz), &num, rows, columns);
    }
  }
  PetscCall(CreatePattern(num, rows, columns, g));
  PetscCall(PetscFree2(rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WholeGraphDestroy(WholeGraph *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(g->i));
  PetscCall(PetscFree(g->j));
  PetscCall(PetscFree(g->begins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* States of vertices that are no roots. */
enum {
  UNDONE,
  DELETED,
  REMOVED,
  ROOT
};

/* What is expected, for all vertices. */
typedef struct {
  int      *state, *seen; /* seen: by other processes, as of the last exchange */
  PetscInt *parent, *first, *marks, *reach;
} Expected;

/* The vertices in the row of v in the graph, or in its square. */
static PetscInt GetReach(const WholeGraph *g, PetscInt hops, PetscInt v, Expected *e)
{
  PetscInt size = 0;

  for (PetscInt k = g->i[v]; k < g->i[v + 1]; k++) {
    const PetscInt w = g->j[k];

    if (hops == 1) e->reach[size++] = w;
    else
      for (PetscInt l = g->i[w]; l < g->i[w + 1]; l++)
        if (!e->marks[g->j[l]]) {
          e->marks[g->j[l]] = 1;
          e->reach[size++]  = g->j[l];
        }
  }
  for (PetscInt k = 0; k < size; k++) e->marks[e->reach[k]] = 0;
  return size;
}

/* A process decides a vertex, unless it has to wait. */
static void Decide(const WholeGraph *g, PetscInt hops, PetscInt v, PetscInt begin, PetscInt end, Expected *e)
{
  const PetscInt size = GetReach(g, hops, v, e);

  for (PetscInt k = 0; k < size; k++)
    if (e->reach[k] >= end && e->seen[e->reach[k]] == UNDONE) return;
  if (size < 2) {
    e->state[v] = REMOVED;
    return;
  }
  e->state[v] = ROOT;
  e->first[v] = v;
  for (PetscInt k = 0; k < size; k++) {
    const PetscInt w = e->reach[k];

    if (w < begin || w >= end || e->state[w] != UNDONE) continue;
    e->state[w] = DELETED;
    e->first[w] = v;
  }
}

/* The smallest root of another process within reach takes the vertex. */
static PetscErrorCode TakeFromOthers(const WholeGraph *g, PetscInt hops, PetscInt begin, PetscInt end, Expected *e)
{
  PetscFunctionBegin;
  for (PetscInt v = begin; v < end; v++) {
    PetscInt size, least = g->n;

    if (e->state[v] != UNDONE) continue;
    size = GetReach(g, hops, v, e);
    for (PetscInt k = 0; k < size; k++) {
      const PetscInt w = e->reach[k];

      if ((w < begin || w >= end) && e->state[w] == ROOT) least = PetscMin(least, w);
    }
    if (least == g->n) continue;
    e->state[v] = DELETED;
    e->first[v] = least;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All processes, one sweep after the other. */
static PetscErrorCode Sweeps(const WholeGraph *g, PetscInt hops, Expected *e)
{
  PetscInt *permutation, left;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(g->n, &permutation));
  do {
    for (PetscMPIInt r = 0; r < g->size; r++) {
      const PetscInt begin = g->begins[r], end = g->begins[r + 1];

      PetscCall(RandomOrder(end - begin, permutation));
      for (PetscInt k = 0; k < end - begin; k++)
        if (e->state[begin + permutation[k]] == UNDONE) Decide(g, hops, begin + permutation[k], begin, end, e);
    }
    PetscCall(PetscArraycpy(e->seen, e->state, g->n));
    for (PetscMPIInt r = 0; r < g->size; r++) PetscCall(TakeFromOthers(g, hops, g->begins[r], g->begins[r + 1], e));
    left = 0;
    for (PetscInt v = 0; v < g->n; v++) left += e->state[v] == UNDONE;
  } while (left > 0);
  PetscCall(PetscFree(permutation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscMPIInt GetOwner(const WholeGraph *g, PetscInt v)
{
  PetscMPIInt r = 0;

  while (v >= g->begins[r + 1]) r++;
  return r;
}

static PetscErrorCode ExpectedCreate(const WholeGraph *g, PetscInt hops, Expected *e)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc6(g->n, &e->state, g->n, &e->seen, g->n, &e->parent, g->n, &e->first, g->n, &e->marks, g->n, &e->reach));
  for (PetscInt v = 0; v < g->n; v++) e->first[v] = -1;
  PetscCall(Sweeps(g, hops, e));
  PetscCall(PetscArraycpy(e->parent, e->first, g->n));
  for (PetscInt v = 0; hops == 2 && v < g->n; v++) { // vertices next to a root
    if (e->state[v] != ROOT) continue;
    for (PetscInt k = g->i[v]; k < g->i[v + 1]; k++) {
      const PetscInt w = g->j[k];

      if (w == v) continue;
      e->parent[w] = v;
      if (GetOwner(g, v) != GetOwner(g, w)) e->first[w] = -1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectedDestroy(Expected *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(e->state, e->seen, e->parent, e->first, e->marks, e->reach));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const WholeGraph *g, Mat *A)
{
  PetscMPIInt rank;
  PetscInt    begin, end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  begin = g->begins[rank];
  end   = g->begins[rank + 1];
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, end - begin, end - begin, g->n, g->n));
  PetscCall(MatSetType(*A, "dcsrcuda"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  for (PetscInt v = begin; v < end; v++)
    for (PetscInt k = g->i[v]; k < g->i[v + 1]; k++) PetscCall(MatSetValue(*A, v, g->j[k], 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(PetscInt n, const int32_t device[], PetscInt begin, const PetscInt expected[], const char what[], const char name[], PetscInt hops)
{
  int32_t     *got;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc1(n, &got));
  PetscCall(PetscSparseCUDACopyToHost(got, device, (size_t)n * sizeof(*got), stream));
  for (PetscInt v = 0; v < n; v++)
    PetscCheck(got[v] == expected[begin + v], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " hops: %s of vertex %" PetscInt_FMT " is %d, not %" PetscInt_FMT, name, hops, what, begin + v,
               (int)got[v], expected[begin + v]);
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareAggregates(const WholeGraph *g, const Expected *e, const GAMGAggregates *a, const char name[], PetscInt hops)
{
  PetscMPIInt rank;
  PetscInt    begin, end, num_roots = 0, num_remote = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  begin = g->begins[rank];
  end   = g->begins[rank + 1];
  for (PetscInt v = begin; v < end; v++) {
    num_roots += e->parent[v] == v;
    num_remote += e->parent[v] >= 0 && (e->parent[v] < begin || e->parent[v] >= end);
  }
  PetscCheck(a->num_vertices == end - begin && a->begin == begin && a->num_roots == num_roots && a->num_remote == num_remote, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s, %" PetscInt_FMT " hops: %" PetscInt_FMT " vertices from %" PetscInt_FMT ", %" PetscInt_FMT " roots, %" PetscInt_FMT " remote, and should be %" PetscInt_FMT ", %" PetscInt_FMT
             ", %" PetscInt_FMT ", %" PetscInt_FMT,
             name, hops, a->num_vertices, a->begin, a->num_roots, a->num_remote, end - begin, begin, num_roots, num_remote);
  PetscCall(Compare(end - begin, a->parent, begin, e->parent, "parent", name, hops));
  if (hops == 2) PetscCall(Compare(end - begin, a->first, begin, e->first, "first root", name, hops));
  else PetscCheck(a->first == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: first roots with one hop", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const WholeGraph *g, const char name[])
{
  Mat    A;
  size_t before, after;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(g, &A));
  for (PetscInt hops = 1; hops <= 2; hops++) {
    Expected e;

    PetscCall(ExpectedCreate(g, hops, &e));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&before, NULL));
    for (int k = 0; k < 2; k++) { // the same again
      GAMGAggregates aggregates;

      PetscCall(GAMGCoarsen(A, (GAMGCoarsening){hops, PETSC_FALSE, PETSC_FALSE}, &aggregates));
      PetscCall(CompareAggregates(g, &e, &aggregates, name, hops));
      PetscCall(GAMGAggregatesDestroy(&aggregates));
    }
    PetscCall(PetscSparseCUDAGetMemoryInUse(&after, NULL));
    PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", name, after - before);
    PetscCall(ExpectedDestroy(&e));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandom(PetscInt n, PetscInt degree, PetscBool near, PetscInt hubs, Shares shares, const char name[])
{
  WholeGraph g;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&g, 1));
  g.n = n;
  PetscCall(CreateShares(n, shares, 1, &g));
  PetscCall(CreateRandom(degree, near, hubs, &g));
  PetscCall(Test(&g, name));
  PetscCall(WholeGraphDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGrid(PetscInt side, PetscInt planes, Shares shares, const char name[])
{
  WholeGraph g;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&g, 1));
  g.n = side * side * planes;
  PetscCall(CreateShares(g.n, shares, shares == SHARES_SLABS ? side * side : 1, &g));
  PetscCall(CreateGrid(side, &g));
  PetscCall(Test(&g, name));
  PetscCall(WholeGraphDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestRandom(3, 1, PETSC_FALSE, 0, SHARES_EVEN, "three vertices"));
  PetscCall(TestRandom(2000, 2, PETSC_TRUE, 0, SHARES_EVEN, "near"));
  PetscCall(TestRandom(2000, 1, PETSC_FALSE, 0, SHARES_EVEN, "far"));
  PetscCall(TestRandom(1500, 4, PETSC_TRUE, 0, SHARES_UNEVEN, "near, uneven"));
  PetscCall(TestRandom(1500, 2, PETSC_FALSE, 0, SHARES_UNEVEN, "far, uneven"));
  PetscCall(TestRandom(12000, 1, PETSC_TRUE, 2, SHARES_EVEN, "hubs"));
  PetscCall(TestGrid(12, 12, SHARES_EVEN, "cube"));
  PetscCall(TestGrid(9, 2 * size, SHARES_SLABS, "slabs of two planes"));
  PetscCall(TestGrid(9, size, SHARES_SLABS, "slabs of one plane"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 2 3 5 8}}
      requires: cuda
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out

TEST*/
