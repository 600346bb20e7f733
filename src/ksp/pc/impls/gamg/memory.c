/*
  Device memory that the setup of a level takes at once, before its products, which PETSc's code calls for as well. Each number below is that of an allocation, named beside it. What depends on
  the aggregates is taken for a level whose vertices make half as many of them.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/graph/graph.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"

#define INT_SIZE   sizeof(int32_t)
#define REAL_SIZE  sizeof(PetscReal)
#define ENTRY_SIZE (sizeof(PetscScalar) + sizeof(int32_t)) /* of a matrix: value and column */

/* What counts, of this process. */
typedef struct {
  PetscReal rows, vertices, ghosts; /* ghost columns */
  PetscReal nz, ghost_nz;           /* entries of all columns, and of ghost columns */
  PetscReal bs, num_columns;        /* vectors of the near null space */
  PetscReal offset;                 /* bytes of an offset into the entries */
  PetscBool transposes, filters;    /* whether the graph may need the transpose, and has a threshold */
} Level;

static PetscErrorCode GetLevel(PC pc, Mat A, PetscInt level, Level *l)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  PetscBool      mpi, symmetric;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(l, 1));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(MatAIJCUDAIsSymmetricKnown(A, &symmetric));
  l->bs          = (PetscReal)A->rmap->bs;
  l->rows        = (PetscReal)A->rmap->n;
  l->vertices    = l->rows / l->bs;
  l->num_columns = (PetscReal)PetscMax(gamg->data_cell_cols, 1);
  l->filters     = (PetscBool)(gamg->threshold[level] >= 0);
  l->transposes  = (PetscBool)(GAMGGetAggOptions(pc)->graph_symmetrize && !symmetric && (l->filters || A->structurally_symmetric != PETSC_BOOL3_TRUE));
  if (mpi) {
    l->ghosts   = (PetscReal)MatMPIAIJCUDAGetBlock(A, 1)->cmap->n;
    l->ghost_nz = (PetscReal)((Mat_SeqAIJ *)MatMPIAIJCUDAGetBlock(A, 1)->data)->nz;
  }
  l->nz     = l->ghost_nz + (PetscReal)((Mat_SeqAIJ *)(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A)->data)->nz;
  l->offset = l->nz > PETSC_INT32_MAX ? sizeof(int64_t) : sizeof(int32_t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Edges before a transpose is added. Blocks have at least a diagonal; how dense they are is found out when they are read. */
static PetscReal NumEdges(const Level *l)
{
  return l->nz / l->bs;
}

/* The graph, as long as the level is under way: nothing when it is the matrix itself (graph.c). */
static PetscReal GraphBytes(const Level *l)
{
  if (l->bs == 1 && !l->transposes && !l->filters) return 0;
  return ENTRY_SIZE * (l->transposes ? 2 : 1) * NumEdges(l) + l->offset * l->vertices;
}

/* The most while it is made. */
static PetscReal MakingGraphBytes(const Level *l)
{
  const PetscReal edges = NumEdges(l), offsets = l->offset * l->vertices;
  PetscReal       first = 0, sum = 0, strong = 0;

  if (l->bs > 1) first = (ENTRY_SIZE * edges + offsets) + 8 * l->vertices + INT_SIZE * l->ghosts; // collapse.c, collapse.cu: the graph, where the edges of nodes begin, nodes of ghost columns
  else if (l->filters && l->transposes) first = ENTRY_SIZE * edges + offsets;                     // graph.c: a copy of the matrix
  if (l->transposes) {
    const PetscReal transpose = ENTRY_SIZE * edges + offsets;
    const PetscReal sort      = (3 * l->offset + INT_SIZE) * edges;                             // transpose.cu: indices, permutation, and the spare pair of the radix sort
    const PetscReal exchange  = 2 * (2 * sizeof(PetscInt) + sizeof(PetscScalar)) * l->ghost_nz; // mpitranspose.c: entries that go and come
    const PetscReal addition  = ENTRY_SIZE * 2 * edges + edges + offsets;                       // axpy.c, spadd.cu: the sum, and less than a byte an entry for its plan

    sum = transpose + exchange + PetscMax(sort, addition);
  }
  if (l->filters)
    strong = (ENTRY_SIZE + 1) * (l->transposes ? 2 : 1) * edges + offsets + sizeof(PetscScalar) * l->rows; // strong.c, delete/compact.cuh: the strong entries, a flag for each, the scaling
  return PetscMax(first + sum, (l->transposes ? ENTRY_SIZE * 2 * edges + offsets : first) + strong);
}

/* The independent set and the aggregates (coarsen.c). */
static PetscReal CoarseningBytes(const Level *l)
{
  const PetscReal order      = 2 * INT_SIZE;                   // independentset.cu: permutation, position; what makes them is gone before the rest comes (permutation.cu)
  const PetscReal states     = 2 * INT_SIZE;                   // state, minima
  const PetscReal lists      = 4 * INT_SIZE;                   // undone, open: two lists each
  const PetscReal aggregates = 2 * INT_SIZE;                   // coarsen.c: parent, first
  const PetscReal boundary   = (1 + 2 + 2 + 1) * INT_SIZE;     // sweeps.cu: rows, saved, reach, nearest
  const PetscReal ghost      = (2 + 2 + 1 + 1 + 3) * INT_SIZE; // states, reach and nearest of ghosts, their numbers, what the scatter packs

  return (order + states + lists + aggregates + (l->ghosts > 0 ? boundary : 0)) * l->vertices + ghost * l->ghosts + INT_SIZE * l->ghost_nz; // and sweeps.cu: rows of entries
}

/* The tentative prolongator and what it is made of (prolongator.c). */
static PetscReal ProlongatorBytes(const Level *l)
{
  const PetscReal N = l->num_columns, roots = l->vertices / 2, across = l->ghosts / l->bs; // vertices whose roots are elsewhere, and members that others have, are about as many as ghosts
  const PetscReal aggregates = 2 * INT_SIZE * l->vertices;                                 // of the coarsening
  const PetscReal numbers    = (2 + (l->ghosts > 0 ? 1 : 0)) * INT_SIZE * l->vertices;     // prolongator.c, foreignmembers.c: numbers, positions, foreign.positions
  const PetscReal data       = REAL_SIZE * N * l->rows;                                    // data.c or prolongator.c: the near null space
  const PetscReal coarse     = REAL_SIZE * N * N * roots;                                  // prolongator.c: that of the next level
  const PetscReal foreign    = across * (7 * INT_SIZE + l->bs * N * (2 * REAL_SIZE + sizeof(PetscScalar))); // foreignmembers.c, prolongator.c: lists, and rows packed, received, returned
  const PetscReal members    = INT_SIZE * l->vertices + sizeof(int64_t) * roots;                            // aggregates.cu
  const PetscReal sort       = (INT_SIZE + 2 * sizeof(uint64_t)) * l->vertices;                             // aggregates.cu: the spare list and two of keys; gone before the matrix comes
  const PetscReal matrix     = (ENTRY_SIZE * N + (l->ghosts > 0 ? 2 : 1) * sizeof(int64_t)) * l->rows;      // prolongator.c: entries, and offsets of each block
  const PetscReal factors    = REAL_SIZE * N * (l->rows + (N + 1) * roots);                                 // factor.cu: where an aggregate is too large for shared memory

  return aggregates + numbers + data + coarse + foreign + members + PetscMax(sort, matrix + factors);
}

/*
  GAMGGetMemoryNeeded - Bytes of device memory that the setup of a level (0: the finest) takes at once on this process, besides its matrix A, which is one of ours
  An estimate: near null space and aggregates of the level are not there yet. Lists of rows with more than 1024 entries and workspace of scans, below a hundredth of the matrix, are left out.
*/
PetscErrorCode GAMGGetMemoryNeeded(PC pc, Mat A, PetscInt level, PetscReal *bytes)
{
  Level l;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, A, level, &l));
  *bytes = PetscMax(PetscMax(MakingGraphBytes(&l), GraphBytes(&l) + CoarseningBytes(&l)), ProlongatorBytes(&l)); // the graph goes when the aggregates are there
  PetscFunctionReturn(PETSC_SUCCESS);
}
