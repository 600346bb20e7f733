static char help[] = "Graphs of matrices with blocks and with thresholds, against the host.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/graph.h>

typedef enum {
  DENSE,   /* whole blocks */
  SPARSE,  /* a third of the entries of blocks */
  SHIFTED, /* whole blocks that begin one column late */
  TWISTED, /* columns that PETSc takes for dense blocks: each in another block */
  HUB,     /* SPARSE, and one node has all columns */
  NUM_KINDS
} Kind;
static const char *const kinds[NUM_KINDS] = {"dense", "sparse", "shifted", "twisted", "hub"};

/* Entry (row, column) of a matrix of so many nodes. */
static PetscBool IsEntry(Kind kind, PetscInt num_nodes, PetscInt bs, PetscInt row, PetscInt column)
{
  const PetscInt node = row / bs, other = column / bs, distance = PetscAbsInt(node - other);

  switch (kind) {
  case DENSE:
    return (PetscBool)(node % 7 != 5 && (distance <= 1 || distance == 5));
  case SPARSE:
    return (PetscBool)(node % 7 != 5 && (distance <= 2 || distance == 9) && (row * 31 + column * 17) % 3 == 0);
  case SHIFTED:
    return (PetscBool)(column > 0 && column <= bs * (num_nodes - 1) && PetscAbsInt(node - (column - 1) / bs) <= 1);
  case TWISTED:
    return (PetscBool)(other < num_nodes / bs * bs && column % bs == other % bs && (node + other / bs) % 3 != 1);
  default:
    return (PetscBool)(node == num_nodes / 2 ? (row + column) % 2 == 0 : distance == 0 && (row + column) % 3 != 1);
  }
}

static PetscErrorCode Create(Kind kind, PetscInt num_nodes, PetscInt bs, KernelTestMatrix *A)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  A->name = kinds[kind];
  A->m = A->n = num_nodes * bs;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt c = 0; c < A->n; c++) n += IsEntry(kind, num_nodes, bs, r, c) ? 1 : 0;
  PetscCall(PetscMalloc2(n, &A->j, n, &A->a));
  A->nz = 0;
  for (PetscInt r = 0; r < A->m; r++) {
    A->i[r] = (PetscInt)A->nz;
    for (PetscInt c = 0; c < A->n; c++) {
      if (!IsEntry(kind, num_nodes, bs, r, c)) continue;
      A->a[A->nz]   = KernelTestNumber(A->nz, 7);
      A->j[A->nz++] = c;
    }
  }
  A->i[A->m] = (PetscInt)A->nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsDense(const KernelTestMatrix *A, PetscInt bs)
{
  for (PetscInt r = 0; r < A->m; r++) {
    const PetscInt first = A->i[r - r % bs], size = A->i[r + 1] - A->i[r];

    if (size % bs || size != A->i[r - r % bs + 1] - first) return PETSC_FALSE;
    for (PetscInt k = 0; k < size; k++)
      if (A->j[A->i[r] + k] != A->j[first + k] || A->j[first + k] % bs != k % bs) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Edges and values as MatCreateGraph() computes them. */
static PetscErrorCode HostCollapse(const KernelTestMatrix *A, PetscInt bs, const PetscInt map[], PetscInt num_nodes, PetscInt n, const PetscInt index[], KernelTestMatrix *G)
{
  const PetscBool dense = IsDense(A, bs);
  PetscReal      *sums;
  PetscBool      *there;

  PetscFunctionBegin;
  G->name = A->name;
  G->m    = A->m / bs;
  G->n    = num_nodes;
  G->nz   = 0;
  PetscCall(PetscMalloc1(G->m + 1, &G->i));
  PetscCall(PetscMalloc2(A->nz, &G->j, A->nz, &G->a));
  PetscCall(PetscMalloc2(num_nodes, &sums, num_nodes, &there));
  for (PetscInt v = 0; v < G->m; v++) {
    G->i[v] = (PetscInt)G->nz;
    PetscCall(PetscArrayzero(sums, num_nodes));
    PetscCall(PetscArrayzero(there, num_nodes));
    for (PetscInt r = v * bs; r < (v + 1) * bs; r++) {
      for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
        const PetscInt position = k - A->i[r], column = A->j[dense ? k - position % bs : k], node = map ? map[column] : column / bs;
        PetscBool      row_counts = (PetscBool)(n == 0 || !dense), column_counts = row_counts;

        for (PetscInt x = 0; x < n; x++) {
          if (index[x] == r % bs) row_counts = PETSC_TRUE;
          if (index[x] == position % bs) column_counts = PETSC_TRUE;
        }
        there[node] = PETSC_TRUE;
        if (row_counts && column_counts) sums[node] += PetscAbsReal(PetscRealPart(A->a[k]));
      }
    }
    for (PetscInt c = 0; c < num_nodes; c++) {
      if (!there[c]) continue;
      G->a[G->nz]   = sums[c];
      G->j[G->nz++] = c;
    }
  }
  G->i[G->m] = (PetscInt)G->nz;
  PetscCall(PetscFree2(sums, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCollapse(const KernelTestMatrix *A, DCSRView view, PetscInt bs, const PetscInt map[], PetscInt num_nodes, PetscInt n, cudaStream_t stream)
{
  const PetscInt   index[] = {0, bs - 1};
  DCSRNodes        nodes   = {bs, num_nodes, NULL, PETSC_FALSE};
  int32_t         *device  = NULL;
  DCSRView         graph;
  KernelTestMatrix got, expected;

  PetscFunctionBegin;
  PetscCall(HostCollapse(A, bs, map, num_nodes, n, index, &expected));
  if (map) {
    PetscCall(PetscSparseCUDAMalloc(A->n, "map", stream, &device));
    PetscCall(DCSRCopyColumnsToDevice(A->n, map, device, stream));
    nodes.map = device;
  }
  PetscCall(DCSRBlocksAreDense(view, bs, stream, &nodes.dense));
  PetscCheck(nodes.dense == IsDense(A, bs), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s blocks of %" PetscInt_FMT ": %s", A->name, bs, nodes.dense ? "dense" : "not dense");
  PetscCall(DCSRCollapse(view, nodes, stream, &graph));
  PetscCall(DCSRViewAllocateValues(&graph, stream));
  PetscCall(DCSRCollapseValues(view, nodes, n, index, stream, graph));
  PetscCall(KernelTestMatrixFromView(graph, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &expected, 0, map ? "graph with a map" : "graph"));
  PetscCall(DCSRViewFree(&graph, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nodes of ghost columns: groups of 1 to bs of them. */
static PetscErrorCode CreateMap(PetscInt n, PetscInt bs, PetscInt map[], PetscInt *num_nodes)
{
  PetscInt node = 0, size = 0;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < n; c++, size++) {
    if (size > (c * 7) % bs) {
      node++;
      size = 0;
    }
    map[c] = node;
  }
  *num_nodes = node + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlocks(Kind kind, PetscInt num_nodes, PetscInt bs, const KernelTestStorage *storage, cudaStream_t stream)
{
  KernelTestMatrix A;
  DCSRView         view;
  PetscInt        *map, mapped;
  size_t           before, after;

  PetscFunctionBegin;
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(Create(kind, num_nodes, bs, &A));
  PetscCall(KernelTestViewCreate(&A, storage, stream, &view));
  PetscCall(PetscMalloc1(A.n, &map));
  PetscCall(CreateMap(A.n, bs, map, &mapped));
  PetscCall(TestCollapse(&A, view, bs, NULL, num_nodes, 0, stream));
  PetscCall(TestCollapse(&A, view, bs, NULL, num_nodes, 1, stream));
  PetscCall(TestCollapse(&A, view, bs, NULL, num_nodes, 2, stream));
  // a map that puts several blocks of a row into one node cannot be that of dense blocks
  if (!IsDense(&A, bs)) PetscCall(TestCollapse(&A, view, bs, map, mapped, 0, stream));
  PetscCall(PetscFree(map));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s blocks of %" PetscInt_FMT ": %zu bytes of device memory leaked", kinds[kind], bs, after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries above the threshold, scaled in PETSc's order; a row in five has no diagonal or a zero there. */
static PetscErrorCode HostStrong(const KernelTestMatrix *A, const PetscScalar left[], const PetscScalar right[], PetscReal threshold, DCSRWeak weak, KernelTestMatrix *S)
{
  PetscFunctionBegin;
  S->name = A->name;
  S->m    = A->m;
  S->n    = A->n;
  S->nz   = 0;
  PetscCall(PetscMalloc1(A->m + 1, &S->i));
  PetscCall(PetscMalloc2(A->nz, &S->j, A->nz, &S->a));
  for (PetscInt r = 0; r < A->m; r++) {
    S->i[r] = (PetscInt)S->nz;
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      PetscReal value = PetscAbsScalar(A->a[k]);

      if ((!weak.diagonal || A->j[k] != r) && weak.sign * PetscRealPart(A->a[k]) > 0) value = 0;
      value *= PetscRealPart(left[r]);
      value *= PetscRealPart(right[A->j[k]]);
      if (!(value > threshold)) continue;
      S->a[S->nz]   = A->a[k];
      S->j[S->nz++] = A->j[k];
    }
  }
  S->i[A->m] = (PetscInt)S->nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStrong(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  const PetscReal  thresholds[] = {0, 0.25, 0.5, 100};
  const PetscInt   n            = PetscMax(A->m, A->n);
  PetscScalar     *host;
  void            *scaling;
  DCSRView         strong;
  DCSRDeletion     deletion;
  KernelTestMatrix got, expected;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &host));
  for (PetscInt k = 0; k < n; k++) host[k] = k % 5 == 2 ? 0.0 : (k % 3 ? 0.25 : KernelTestNumber(k, 9)); // ties
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*host), host, stream, &scaling));
  PetscCall(DCSRGetStrengthScaling(n, (PetscScalar *)scaling, stream));
  for (PetscInt k = 0; k < n; k++) host[k] = host[k] == (PetscScalar)0 ? 0 : PetscSqrtReal(1 / PetscAbsScalar(host[k]));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(thresholds); t++)
    for (int sign = -1; sign <= 1; sign++) {
      const DCSRWeak weak = {sign, (PetscBool)(t % 2)};

      PetscCall(HostStrong(A, host, host, thresholds[t], weak, &expected));
      PetscCall(DCSRGetStrong(view, (PetscScalar *)scaling, (PetscScalar *)scaling, thresholds[t], weak, stream, &strong, &deletion));
      PetscCall(KernelTestMatrixFromView(deletion.changed ? strong : view, stream, &got));
      PetscCall(KernelTestMatrixCompare(&got, &expected, 0, "strong entries"));
      PetscCall(DCSRViewFree(&strong, stream));
      PetscCall(KernelTestMatrixDestroy(&got));
      PetscCall(KernelTestMatrixDestroy(&expected));
    }
  PetscCall(PetscSparseCUDAFree(&scaling, stream));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!PetscDefined(USE_COMPLEX)) PetscCall(TestStrong(A, view, stream)); // absolute values of complex numbers are rounded otherwise
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {2, 3, 4, 5, 6, 7, 17, 32, 33, 40, 70}, nodes[] = {0, 1, 2, 37, 90};
  PetscBool      usable;
  cudaStream_t   stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (int kind = 0; kind < NUM_KINDS; kind++)
      for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
        for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(nodes); n++)
          for (PetscInt wide = 0; wide < 2; wide++) PetscCall(TestBlocks((Kind)kind, sizes[s] > 10 ? nodes[n] / 3 : nodes[n], sizes[s], &KernelTestStorages[wide], stream));
  }
  PetscCall(KernelTestRun(Test));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      requires: cuda
      output_file: output/empty.out

TEST*/
