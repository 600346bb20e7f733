/*
  Checks of the tests' library (-pc_gamg_device_check): a level that was set up on the device is compared with what PETSc's own operations make of a MATAIJ copy of its matrix.

  The pattern of the graph, the members of every aggregate and their order, and the pattern of the tentative prolongator are equal. Its values and the near null space of the
  coarse level agree up to rounding. PETSc's operations run with options and coarsening of their own, so that the setup goes on as if nobody had looked.
*/
#include "../../src/ksp/pc/impls/gamg/gamg.h"
#include "../../src/mat/impls/aijcuda/host/host.h"

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOLERANCE 1e-5
#else
  #define TOLERANCE 1e-12
#endif

/* A column whose near null space depends on those before it up to this part of its norm is noise, and so are all behind it. */
#define DEPENDENT (10 * PETSC_SQRT_MACHINE_EPSILON)

/* Order of the members of an aggregate: first the root, ... */
enum {
  GROUP_ROOT,
  GROUP_OWN,     /* then those that took it at once, of its process */
  GROUP_OTHERS,  /* and of others, */
  GROUP_STOLEN,  /* then those that are next to it and came from other roots, of its process, */
  GROUP_TO_ROOT, /* and all of other processes that are next to it */
  NUM_GROUPS
};

/* Where something is wrong. */
typedef struct {
  PetscInt    level;
  PetscMPIInt rank;
} Position;

#define POSITION_FORMAT    "Level %" PetscInt_FMT ", process %d: "
#define POSITION(position) (position).level, (int)(position).rank

static PetscErrorCode GetPosition(PC pc, Position *position)
{
  PetscFunctionBegin;
  position->level = GAMGGet(pc)->current_level;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &position->rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's own code makes of the level under way. */
typedef struct {
  Mat               graph; /* MATAIJ, owned; NULL until the graph of a level */
  MatCoarsen        crs;   /* of PETSc's coarsening, owned; NULL when that is done */
  PetscCoarsenData *lists; /* its aggregates, owned; NULL until then */
  PetscReal        *data;  /* [size], owned: near null space of the level; NULL until the prolongator, and without rows */
  PetscInt          size;
} Check;

/* That of a PC, made when it is asked for the first time in a level. Not collective. */
static PetscErrorCode GetCheck(PC pc, Check **check)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (context->check == NULL) {
    PetscCall(PetscNew(check));
    context->check = *check;
  }
  *check = (Check *)context->check;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what a check has kept. Collective. */
static PetscErrorCode Reset(void **context)
{
  Check *check = (Check *)*context;
  Mat    mat   = NULL;

  PetscFunctionBegin;
  if (check->lists != NULL) {
    PetscCall(PetscCDGetMat(check->lists, &mat));
    if (mat != NULL && mat == check->graph) PetscCall(PetscCDClearMat(check->lists));
    PetscCall(PetscCDDestroy(check->lists));
  }
  PetscCall(MatDestroy(&check->graph));
  PetscCall(MatCoarsenDestroy(&check->crs));
  PetscCall(PetscFree(check->data));
  PetscCall(PetscFree(*context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATAIJ copy of a matrix of ours; a copy of another matrix. */
static PetscErrorCode CreatePlain(Mat A, Mat *plain)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (seq || mpi) PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INITIAL_MATRIX, plain));
  else PetscCall(MatDuplicate(A, MAT_COPY_VALUES, plain));
  PetscCall(MatPropagateSymmetryOptions(A, *plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row of two matrices; values when compared (others are NULL). */
static PetscErrorCode CompareRow(Position position, PetscInt row, PetscInt n, const PetscInt columns[], const PetscScalar values[], PetscInt their_n, const PetscInt their_columns[],
                                 const PetscScalar their_values[], const char what[])
{
  PetscFunctionBegin;
  PetscCheck(n == their_n, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "row %" PetscInt_FMT " of the %s has %" PetscInt_FMT " entries, PETSc's has %" PetscInt_FMT, POSITION(position), row, what,
             n, their_n);
  for (PetscInt k = 0; k < n; k++) {
    PetscCheck(columns[k] == their_columns[k], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               POSITION_FORMAT "entry %" PetscInt_FMT " of row %" PetscInt_FMT " of the %s is in column %" PetscInt_FMT ", PETSc's in %" PetscInt_FMT, POSITION(position), k, row, what, columns[k],
               their_columns[k]);
    if (values == NULL) continue;
    PetscCheck(PetscAbsScalar(values[k] - their_values[k]) <= TOLERANCE, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               POSITION_FORMAT "entry (%" PetscInt_FMT ", %" PetscInt_FMT ") of the %s is %.16g, PETSc's is %.16g (scaled)", POSITION(position), row, columns[k], what,
               (double)PetscRealPart(values[k]), (double)PetscRealPart(their_values[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local rows of two MATAIJ of one layout; not collective. */
static PetscErrorCode CompareRows(Position position, Mat A, Mat B, PetscBool with_values, const char what[])
{
  PetscInt begin, end, n, m;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    const PetscInt    *columns, *copy;
    const PetscScalar *values, *their_values;

    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    PetscCall(MatGetRow(B, r, &m, &copy, &their_values));
    PetscCall(CompareRow(position, r, n, columns, with_values ? values : NULL, m, copy, their_values, what));
    PetscCall(MatRestoreRow(B, r, &m, &copy, &their_values));
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes first, for the layouts; collective. */
static PetscErrorCode CompareMatrices(PC pc, Mat A, Mat B, PetscBool with_values, const char what[])
{
  PetscErrorCode ierr;
  PetscInt       mine[4], theirs[4];
  Position       position;

  PetscFunctionBegin;
  PetscCall(GetPosition(pc, &position));
  for (int k = 0; k < 2; k++) {
    const Mat M    = k ? B : A;
    PetscInt *info = k ? theirs : mine;

    PetscCall(MatGetLocalSize(M, &info[0], &info[1]));
    PetscCall(MatGetBlockSizes(M, &info[2], &info[3]));
  }
  for (int k = 0; k < 4; k++)
    PetscCheck(mine[k] == theirs[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "the %s has %" PetscInt_FMT " %s, PETSc's has %" PetscInt_FMT, POSITION(position), what, mine[k],
               k == 0   ? "local rows"
               : k == 1 ? "local columns"
               : k == 2 ? "rows a block"
                        : "columns a block",
               theirs[k]);
  ierr = CompareRows(position, A, B, with_values, what);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr)); // a level on one process has sequential ones there
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  CheckGraph - Compares the pattern of the graph of the level under way with that of PETSc's graph, which is kept for CheckAggregates()

  Collective

  Input Parameters:
+ pc - of type PCGAMG
. A  - matrix of the level
- G  - our graph
*/
static PetscErrorCode CheckGraph(PC pc, Mat A, Mat G)
{
  Check               *check;
  GAMGAggOptions      *options = GAMGGetAggOptions(pc);
  const GAMGAggOptions saved   = *options;
  GAMGContext         *context;
  Mat                  plain, ours;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(GetCheck(pc, &check));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(CreatePlain(A, &plain));
  options->crs = NULL;
  ierr         = GAMGCreateGraphByPETSc(pc, plain, &check->graph);
  check->crs   = options->crs;
  *options     = saved;
  PetscCall(ierr);
  PetscCall(MatDestroy(&plain));
  PetscCall(CreatePlain(G, &ours));
  PetscCall(CompareMatrices(pc, ours, check->graph, PETSC_FALSE, "graph"));
  PetscCall(MatDestroy(&ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our aggregates on the host: of each own vertex its root and its group, two numbers. */
static PetscErrorCode GetGroups(const GAMGAggregates *a, PetscInt info[])
{
  const PetscInt n = a->num_vertices, begin = a->begin;
  int32_t       *parent, *first;
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(n, &parent, n, &first));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToHost(parent, a->parent, n * sizeof(int32_t), stream));
  PetscCall(PetscSparseCUDACopyToHost(first, a->first != NULL ? a->first : a->parent, n * sizeof(int32_t), stream));
  for (PetscInt v = 0; v < n; v++) {
    const PetscInt root = parent[v];
    PetscInt       group;

    if (a->by_number || root < 0 || root == begin + v) group = GROUP_ROOT;
    else if (root >= begin && root < begin + n) group = first[v] == root ? GROUP_OWN : GROUP_STOLEN;
    else group = first[v] == root ? GROUP_OTHERS : GROUP_TO_ROOT;
    info[2 * v]     = root;
    info[2 * v + 1] = group;
  }
  PetscCall(PetscFree2(parent, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Roots and groups of the vertices of all processes, on each; [2 * N], to be freed. */
static PetscErrorCode GatherGroups(Mat G, const PetscInt info[], PetscInt **all)
{
  const PetscInt *ranges;
  PetscMPIInt     size, count, *counts, *begins;
  MPI_Comm        comm;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)G, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(G, &ranges));
  PetscCall(PetscMalloc2(size, &counts, size, &begins));
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscCall(PetscMPIIntCast(2 * (ranges[r + 1] - ranges[r]), &counts[r]));
    PetscCall(PetscMPIIntCast(2 * ranges[r], &begins[r]));
  }
  PetscCall(PetscMPIIntCast(2 * G->rmap->n, &count));
  PetscCall(PetscMalloc1(2 * G->rmap->N, all));
  PetscCallMPI(MPI_Allgatherv(info, count, MPIU_INT, *all, counts, begins, MPIU_INT, comm));
  PetscCall(PetscFree2(counts, begins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Members of the aggregates of own vertices, in order: of v they are members[begins[v * NUM_GROUPS]] to members[begins[(v + 1) * NUM_GROUPS]]; both to be freed. */
static PetscErrorCode SortMembers(PetscInt begin, PetscInt n, PetscInt N, const PetscInt all[], PetscInt **begins, PetscInt **members)
{
  PetscInt *next;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n * NUM_GROUPS + 1, begins));
  for (PetscInt v = 0; v < N; v++)
    if (all[2 * v] >= begin && all[2 * v] < begin + n) (*begins)[(all[2 * v] - begin) * NUM_GROUPS + all[2 * v + 1] + 1]++;
  for (PetscInt k = 0; k < n * NUM_GROUPS; k++) (*begins)[k + 1] += (*begins)[k];
  PetscCall(PetscMalloc1((*begins)[n * NUM_GROUPS], members));
  PetscCall(PetscMalloc1(n * NUM_GROUPS, &next));
  PetscCall(PetscArraycpy(next, *begins, n * NUM_GROUPS));
  for (PetscInt v = 0; v < N; v++)
    if (all[2 * v] >= begin && all[2 * v] < begin + n) (*members)[next[(all[2 * v] - begin) * NUM_GROUPS + all[2 * v + 1]]++] = v;
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One list of PETSc's. */
static PetscErrorCode CompareList(Position position, PetscInt root, PetscInt n, const PetscInt members[], const PetscCoarsenData *lists, PetscInt list)
{
  PetscCDIntNd *node;
  PetscInt      number, count = 0;

  PetscFunctionBegin;
  PetscCall(PetscCDGetHeadPos(lists, list, &node));
  for (; node != NULL; count++) {
    PetscCall(PetscCDIntNdGetID(node, &number));
    PetscCheck(count < n, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "the aggregate of vertex %" PetscInt_FMT " has %" PetscInt_FMT " members, PETSc's has more, such as vertex %" PetscInt_FMT,
               POSITION(position), root, n, number);
    PetscCheck(number == members[count], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               POSITION_FORMAT "member %" PetscInt_FMT " of the aggregate of vertex %" PetscInt_FMT " is vertex %" PetscInt_FMT ", PETSc's is %" PetscInt_FMT, POSITION(position), count, root,
               members[count], number);
    PetscCall(PetscCDGetNextPos(lists, list, &node));
  }
  PetscCheck(count == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "vertex %" PetscInt_FMT " is in the aggregate of vertex %" PetscInt_FMT ", not in PETSc's", POSITION(position),
             members[count], root);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All lists of this process: those of MATCOARSENMISK are numbered, others stand at the position of their root. Not collective. */
static PetscErrorCode CompareLists(Position position, const GAMGAggregates *a, const PetscInt all[], const PetscInt begins[], const PetscInt members[], const PetscCoarsenData *lists)
{
  PetscInt  list = 0, num_roots = 0;
  PetscBool empty;

  PetscFunctionBegin;
  for (PetscInt v = 0; v < a->num_vertices; v++) {
    const PetscInt from = begins[v * NUM_GROUPS], n = begins[(v + 1) * NUM_GROUPS] - from, root = a->begin + v;

    if (all[2 * root] != root) {
      PetscCheck(n == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "vertex %" PetscInt_FMT " has an aggregate and is no root", POSITION(position), root);
      if (a->by_number) continue;
      PetscCall(PetscCDIsEmptyAt(lists, v, &empty));
      PetscCheck(empty, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "vertex %" PetscInt_FMT " is a root for PETSc alone", POSITION(position), root);
      continue;
    }
    num_roots++;
    PetscCall(CompareList(position, root, n, &members[from], lists, a->by_number ? list++ : v));
  }
  PetscCheck(num_roots == a->num_roots, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "%" PetscInt_FMT " roots, but %" PetscInt_FMT " were counted", POSITION(position), num_roots, a->num_roots);
  for (; a->by_number && list < a->num_vertices; list++) {
    PetscCall(PetscCDIsEmptyAt(lists, list, &empty));
    PetscCheck(empty, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "PETSc has more aggregates than ours, %" PetscInt_FMT, POSITION(position), num_roots);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vertices whose root is on another process. */
static PetscErrorCode CompareRemote(Position position, const GAMGAggregates *a, const PetscInt info[])
{
  PetscInt n = 0;

  PetscFunctionBegin;
  for (PetscInt v = 0; v < a->num_vertices; v++)
    if (info[2 * v] >= 0 && (info[2 * v] < a->begin || info[2 * v] >= a->begin + a->num_vertices)) n++;
  PetscCheck(n == a->num_remote, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "%" PetscInt_FMT " vertices have a root on another process, but %" PetscInt_FMT " were counted", POSITION(position),
             n, a->num_remote);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's coarsening of PETSc's graph. */
static PetscErrorCode CoarsenByPETSc(PC pc, GAMGContext *context)
{
  Check               *check;
  GAMGAggOptions      *options = GAMGGetAggOptions(pc);
  const GAMGAggOptions saved   = *options;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(GetCheck(pc, &check));
  options->crs = check->crs;
  ierr         = (*context->parent.coarsen)(pc, &check->graph, &check->lists);
  check->crs   = options->crs;
  *options     = saved;
  PetscCall(ierr);
  PetscCall(MatCoarsenDestroy(&check->crs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  CheckAggregates - Compares our aggregates with those that PETSc makes of the graph that CheckGraph() has kept: members and their order. PETSc's are kept for
  CheckProlongator().

  Collective

  Input Parameters:
+ pc         - of type PCGAMG
- aggregates - ours

  Cost: every process gets two integers for each vertex of all processes.
*/
static PetscErrorCode CheckAggregates(PC pc, const GAMGAggregates *aggregates)
{
  Check         *check;
  const PetscInt n = aggregates->num_vertices;
  PetscInt      *info, *all, *begins, *members;
  GAMGContext   *context;
  Mat            G;
  Position       position;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetCheck(pc, &check));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GetPosition(pc, &position));
  G = check->graph;
  PetscCheck(n == G->rmap->n && aggregates->begin == G->rmap->rstart && aggregates->by_number == context->coarsening.by_number, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             POSITION_FORMAT "aggregates of vertices %" PetscInt_FMT " to %" PetscInt_FMT ", the graph has %" PetscInt_FMT " to %" PetscInt_FMT, POSITION(position), aggregates->begin,
             aggregates->begin + n, G->rmap->rstart, G->rmap->rend);
  PetscCall(PetscMalloc1(2 * n, &info));
  PetscCall(GetGroups(aggregates, info));
  PetscCall(GatherGroups(G, info, &all));
  PetscCall(SortMembers(aggregates->begin, n, G->rmap->N, all, &begins, &members));
  PetscCall(CoarsenByPETSc(pc, context));
  ierr = CompareRemote(position, aggregates, info);
  if (ierr == PETSC_SUCCESS) ierr = CompareLists(position, aggregates, all, begins, members, check->lists);
  PetscCall(PetscFree(info));
  PetscCall(PetscFree(all));
  PetscCall(PetscFree(begins));
  PetscCall(PetscFree(members));
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)pc), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of the near null space that pc has, on the host or on the device; to be freed with PetscFree(). */
static PetscErrorCode CopyData(PC pc, PetscReal **data)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  GAMGContext   *context;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc1(gamg->data_sz, data));
  if (context->data != NULL) PetscCall(PetscSparseCUDACopyToHost(*data, context->data, (size_t)gamg->data_sz * sizeof(**data), stream));
  else PetscCall(PetscArraycpy(*data, gamg->data, gamg->data_sz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KeepData - Keeps the near null space of the level as PETSc has or makes it, before our prolongator replaces it

  Collective

  Input Parameters:
+ pc - of type PCGAMG
- A  - matrix of the level
*/
static PetscErrorCode KeepData(PC pc, Mat A)
{
  Check         *check;
  PC_GAMG       *gamg = GAMGGet(pc);
  const PetscInt size = gamg->data_sz, num_rows = gamg->data_cell_rows, num_columns = gamg->data_cell_cols;
  GAMGContext   *context;

  PetscFunctionBegin;
  PetscCall(GetCheck(pc, &check));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(PetscFree(check->data));
  if (gamg->data != NULL || gamg->current_level > 0 || A->rmap->n == 0) {
    check->size = size;
    PetscCall(CopyData(pc, &check->data));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*context->parent.createdefaultdata)(pc, A));
  check->data   = gamg->data;
  check->size   = gamg->data_sz;
  gamg->data    = NULL;
  gamg->data_sz = size;
  PetscCheck(gamg->data_cell_rows == num_rows && gamg->data_cell_cols == num_columns, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The near null space has %" PetscInt_FMT " vectors, PETSc's has %" PetscInt_FMT,
             num_columns, gamg->data_cell_cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATAIJ with the layout of A and no entries, for PETSc's prolongator to read. */
static PetscErrorCode CreateLike(Mat A, Mat *like)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), like));
  PetscCall(MatSetSizes(*like, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*like, A, A));
  PetscCall(MatSetType(*like, MATAIJ));
  PetscCall(MatSetUp(*like));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's tentative prolongator of PETSc's aggregates, and the near null space of the coarse level that it makes. */
static PetscErrorCode CreateProlongatorByPETSc(PC pc, Mat A, GAMGContext *context, Mat *P, PetscReal **data, PetscInt *size)
{
  Check         *check;
  PC_GAMG       *gamg = GAMGGet(pc);
  PetscReal     *our_data;
  const PetscInt our_size = gamg->data_sz, our_rows = gamg->data_cell_rows;
  Mat            like, mat;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetCheck(pc, &check));
  PetscCall(CreateLike(A, &like));
  PetscCall(PetscCDGetMat(check->lists, &mat));
  if (mat == NULL) PetscCall(PetscCDSetMat(check->lists, check->graph));
  our_data             = gamg->data;
  gamg->data           = check->data;
  gamg->data_sz        = check->size;
  check->data          = NULL;
  ierr                 = (*context->parent.prolongator)(pc, like, check->lists, P);
  *data                = gamg->data;
  *size                = gamg->data_sz;
  gamg->data           = our_data;
  gamg->data_sz        = our_size;
  gamg->data_cell_rows = our_rows;
  PetscCall(MatDestroy(&like));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How well the columns of an aggregate are determined: the part of the j-th vector that does not depend on those before it, at most 1, and the smallest of all so far; 0 when
  it is noise. R is upper triangular, one N x N block an aggregate.
*/
static void GetWeights(PetscInt N, PetscInt stride, const PetscReal R[], PetscReal weights[])
{
  PetscReal weight = 1;

  for (PetscInt j = 0; j < N; j++) {
    PetscReal norm2 = 0;

    for (PetscInt i = 0; i <= j; i++) norm2 += PetscSqr(R[j * stride + i]);
    if (norm2 > 0) weight = PetscMin(weight, PetscAbsReal(R[j * stride + j]) / PetscSqrtReal(norm2));
    if (weight < DEPENDENT) weight = 0;
    weights[j] = weight;
  }
}

/*
  Whether a column of Q, and with it a row of R, is compared with the other sign. The sign is that of a number which earlier columns leave, and which may be zero but for
  rounding, where the vectors are rotations about the middle of an aggregate. Nothing comes before the first column: its sign is certain.
*/
static PetscReal GetSign(PetscInt j, PetscReal ours, PetscReal theirs)
{
  return j > 0 && ours * theirs < 0 ? -1 : 1;
}

/* The near null spaces of the coarse level, of num_roots aggregates with N vectors; not collective. The columns of our prolongator and of PETSc's are compared with these weights. */
static PetscErrorCode CompareData(Position position, PetscInt num_roots, PetscInt N, const PetscReal ours[], const PetscReal theirs[], PetscScalar our_weights[], PetscScalar weights[])
{
  const PetscInt stride = num_roots * N;
  PetscReal     *w;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(N, &w));
  for (PetscInt k = 0; k < num_roots; k++) {
    const PetscReal *A = &ours[k * N], *B = &theirs[k * N];

    GetWeights(N, stride, B, w);
    for (PetscInt j = 0; j < N; j++) {
      PetscReal norm2 = 0;

      weights[k * N + j]     = w[j];
      our_weights[k * N + j] = w[j] * GetSign(j, A[j * stride + j], B[j * stride + j]);
      for (PetscInt i = 0; i <= j; i++) norm2 += PetscSqr(B[j * stride + i]);
      for (PetscInt i = 0; i < N; i++)
        PetscCheck(w[i] * PetscAbsReal(GetSign(i, A[i * stride + i], B[i * stride + i]) * A[j * stride + i] - B[j * stride + i]) <= TOLERANCE * PetscSqrtReal(norm2), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   POSITION_FORMAT "entry %" PetscInt_FMT " of vector %" PetscInt_FMT " of local aggregate %" PetscInt_FMT " in the coarse near null space is %.16g, PETSc's is %.16g",
                   POSITION(position), i, j, k, (double)A[j * stride + i], (double)B[j * stride + i]);
    }
  }
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values and near null spaces; columns count as far as they are determined, and signs where they are. */
static PetscErrorCode CompareProlongators(PC pc, Position position, Mat ours, Mat theirs, const PetscReal their_data[], PetscInt their_size)
{
  PC_GAMG       *gamg = GAMGGet(pc);
  const PetscInt N    = gamg->data_cell_cols;
  Vec            our_weights, weights;
  PetscScalar   *w[2];
  PetscReal     *data;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(gamg->data_sz == their_size && gamg->data_cell_rows == N && their_size == theirs->cmap->n * N, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             POSITION_FORMAT "the coarse near null space has %" PetscInt_FMT " entries, PETSc's has %" PetscInt_FMT, POSITION(position), gamg->data_sz, their_size);
  PetscCall(MatCreateVecs(theirs, &weights, NULL));
  PetscCall(VecDuplicate(weights, &our_weights));
  PetscCall(VecGetArrayWrite(our_weights, &w[0]));
  PetscCall(VecGetArrayWrite(weights, &w[1]));
  PetscCall(CopyData(pc, &data));
  ierr = CompareData(position, theirs->cmap->n / N, N, data, their_data, w[0], w[1]);
  PetscCall(PetscFree(data));
  PetscCall(VecRestoreArrayWrite(our_weights, &w[0]));
  PetscCall(VecRestoreArrayWrite(weights, &w[1]));
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)pc), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatDiagonalScale(ours, NULL, our_weights));
  PetscCall(MatDiagonalScale(theirs, NULL, weights));
  PetscCall(VecDestroy(&our_weights));
  PetscCall(VecDestroy(&weights));
  PetscCall(CompareMatrices(pc, ours, theirs, PETSC_TRUE, "tentative prolongator"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  CheckProlongator - Compares the tentative prolongator and the coarse near null space of the level under way with what PETSc makes of the same aggregates; what a check
  of the level has kept goes

  Collective

  Input Parameters:
+ pc - of type PCGAMG
. A  - matrix of the level
- P  - our prolongator, NULL when there are no aggregates
*/
static PetscErrorCode CheckProlongator(PC pc, Mat A, Mat P)
{
  GAMGContext *context;
  Mat          ours, theirs;
  PetscReal   *data = NULL;
  PetscInt     size = 0;
  PetscBool    same;
  Position     position;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GetPosition(pc, &position));
  PetscCall(CreateProlongatorByPETSc(pc, A, context, &theirs, &data, &size));
  PetscCheck((P == NULL) == (theirs == NULL), PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, POSITION_FORMAT "%s prolongator, PETSc has %s", POSITION(position), P == NULL ? "no" : "a",
             theirs == NULL ? "none" : "one");
  if (P != NULL) {
    PetscCall(PetscStrcmp(((PetscObject)P)->type_name, ((PetscObject)A)->type_name, &same));
    PetscCheck(same, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, POSITION_FORMAT "the prolongator is %s, the matrix %s", POSITION(position), ((PetscObject)P)->type_name,
               ((PetscObject)A)->type_name);
    PetscCall(CreatePlain(P, &ours));
    PetscCall(CompareProlongators(pc, position, ours, theirs, data, size));
    PetscCall(MatDestroy(&ours));
    PetscCall(MatDestroy(&theirs));
    PetscCall(PetscFree(data));
  } else PetscCall(PetscFree(data));
  PetscCall(Reset(&context->check));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CompareSmoothed - Compares a prolongator that was smoothed at once with the one of the steps that PETSc takes. Collective. */
static PetscErrorCode CompareSmoothed(PC pc, Mat P, Mat steps)
{
  Mat ours, theirs;

  PetscFunctionBegin;
  PetscCall(CreatePlain(P, &ours));
  PetscCall(CreatePlain(steps, &theirs));
  PetscCall(CompareMatrices(pc, ours, theirs, PETSC_TRUE, "prolongator that was smoothed at once"));
  PetscCall(MatDestroy(&ours));
  PetscCall(MatDestroy(&theirs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KeepProlongator - A MATAIJ copy of a prolongator, to be given to CheckFilter(). Collective. */
static PetscErrorCode KeepProlongator(Mat P, Mat *copy)
{
  PetscFunctionBegin;
  PetscCall(CreatePlain(P, copy));
  PetscCall(MatSetBlockSizesFromMats(*copy, P, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of num_vectors products with the near null space of the coarse level, [num_vectors] with [local rows] each, to be freed with PetscFree(). Collective. */
static PetscErrorCode MultiplyData(PC pc, Mat P, PetscInt num_vectors, PetscScalar **products)
{
  PetscReal         *data;
  const PetscScalar *y;
  PetscScalar       *x;
  Vec                right, left;

  PetscFunctionBegin;
  PetscCall(CopyData(pc, &data));
  PetscCall(PetscMalloc1(num_vectors * P->rmap->n, products));
  PetscCall(MatCreateVecs(P, &right, &left));
  for (PetscInt k = 0; k < num_vectors; k++) {
    PetscCall(VecGetArrayWrite(right, &x));
    for (PetscInt c = 0; c < P->cmap->n; c++) x[c] = data[k * P->cmap->n + c];
    PetscCall(VecRestoreArrayWrite(right, &x));
    PetscCall(MatMult(P, right, left));
    PetscCall(VecGetArrayRead(left, &y));
    PetscCall(PetscArraycpy(&(*products)[k * P->rmap->n], y, P->rmap->n));
    PetscCall(VecRestoreArrayRead(left, &y));
  }
  PetscCall(PetscFree(data));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of which the correction is badly conditioned has other values, and gives the near null space as well. */
static PetscErrorCode CompareReproduction(Position position, PetscInt row, PetscInt k, PetscScalar before, PetscScalar after, PetscReal size)
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsScalar(after - before) <= 1e3 * TOLERANCE * size, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             POSITION_FORMAT "row %" PetscInt_FMT " of the filtered prolongator differs from PETSc's, and gives %.16g for vector %" PetscInt_FMT ", before the filter %.16g", POSITION(position), row,
             (double)PetscRealPart(after), k, (double)PetscRealPart(before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a row has an entry in a column that PETSc's filter leaves empty, norms [columns]; ours spares it. */
static PetscBool IsSpared(PetscInt n, const PetscInt columns[], const PetscReal norms[])
{
  for (PetscInt k = 0; k < n; k++)
    if (norms[columns[k]] == 0) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Whether a local row of B has all columns that the row of A has. Not collective. */
static PetscErrorCode HasAllColumns(Mat B, Mat A, PetscInt row, PetscBool *has)
{
  const PetscInt *columns, *others;
  PetscInt        n, m, position;

  PetscFunctionBegin;
  PetscCall(MatGetRow(A, row, &n, &columns, NULL));
  PetscCall(MatGetRow(B, row, &m, &others, NULL));
  *has = PETSC_TRUE;
  for (PetscInt k = 0; k < n && *has; k++) {
    PetscCall(PetscFindInt(columns[k], m, others, &position));
    *has = (PetscBool)(position >= 0);
  }
  PetscCall(MatRestoreRow(B, row, &m, &others, NULL));
  PetscCall(MatRestoreRow(A, row, &n, &columns, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The one of PETSc's two results that has a row of ours; NULL: it has all entries of the row with fewer, and none that the other lacks. Not collective. */
static PetscErrorCode FindAlike(Mat ours, const Mat both[], PetscInt row, Mat *alike)
{
  PetscBool more, all, fewer, within;

  PetscFunctionBegin;
  PetscCall(HasAllColumns(both[0], ours, row, &within));
  PetscCall(HasAllColumns(ours, both[0], row, &all));
  PetscCall(HasAllColumns(ours, both[1], row, &more));
  PetscCall(HasAllColumns(both[1], ours, row, &fewer));
  *alike = more && fewer ? both[1] : within && more && !all ? NULL : both[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Local rows; before and after [num_vectors][local rows] are products with the near null space, norms [columns] those of PETSc's columns. both [2] have thresholds below and above ours: rounding
  decides about what lies between. Not collective.
*/
static PetscErrorCode CompareFiltered(Position position, Mat ours, const Mat both[], PetscInt num_vectors, const PetscScalar before[], const PetscScalar after[], const PetscReal norms[])
{
  const PetscInt num_rows = ours->rmap->n, begin = ours->rmap->rstart;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < num_rows; r++) {
    const PetscInt    *columns, *their_columns;
    const PetscScalar *values, *their_values;
    PetscReal          size = 0, difference = 0, product = 0;
    PetscInt           n, m;
    Mat                alike = NULL, theirs;

    PetscCall(FindAlike(ours, both, begin + r, &alike));
    theirs = alike != NULL ? alike : both[0];
    PetscCall(MatGetRow(ours, begin + r, &n, &columns, &values));
    PetscCall(MatGetRow(theirs, begin + r, &m, &their_columns, &their_values));
    if (IsSpared(n, columns, norms)) n = 0;
    else if (alike != NULL) PetscCall(CompareRow(position, begin + r, n, columns, NULL, m, their_columns, NULL, "filtered prolongator"));
    for (PetscInt k = 0; k < n && alike != NULL; k++) {
      size       = PetscMax(size, PetscAbsScalar(their_values[k]));
      difference = PetscMax(difference, PetscAbsScalar(values[k] - their_values[k]));
    }
    PetscCall(MatRestoreRow(theirs, begin + r, &m, &their_columns, &their_values));
    PetscCall(MatRestoreRow(ours, begin + r, &n, &columns, &values));
    if (alike != NULL && difference <= TOLERANCE * size) continue;
    for (PetscInt k = 0; k < num_vectors; k++) product = PetscMax(product, PetscAbsScalar(before[k * num_rows + r]));
    for (PetscInt k = 0; k < num_vectors; k++) PetscCall(CompareReproduction(position, begin + r, k, before[k * num_rows + r], after[k * num_rows + r], product));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  CheckFilter - Compares a filtered prolongator with what PETSc's filter makes of the same one: pattern, but for what rounding decides, and values, or where these are badly conditioned what they have
  to give

  Collective

  Input Parameters:
+ pc - of type PCGAMG, with the near null space of the coarse level
- P  - our prolongator, filtered

  Input/Output Parameter:
. copy - of KeepProlongator(), before the filter; destroyed
*/
static PetscErrorCode CheckFilter(PC pc, Mat P, Mat *copy)
{
  PC_GAMG        *gamg        = GAMGGet(pc);
  const PetscInt  num_vectors = gamg->data_cell_rows;
  const PetscReal threshold   = GAMGGetFilter(gamg, 0);
  PetscScalar    *before, *after;
  PetscReal      *norms;
  Mat             ours, theirs[2];
  Position        position;
  PetscBool       info;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(GetPosition(pc, &position));
  PetscCall(PetscInfoGetInfo(&info, NULL, NULL, NULL, NULL));
  PetscCall(CreatePlain(P, &ours));
  PetscCall(MultiplyData(pc, *copy, num_vectors, &before));
  PetscCall(MultiplyData(pc, ours, num_vectors, &after));
  theirs[0] = *copy;
  *copy     = NULL;
  PetscCall(MatDuplicate(theirs[0], MAT_COPY_VALUES, &theirs[1]));
  for (int k = 0; k < 2; k++) {
    GAMGSetFilter(gamg, threshold * (k ? 1 + TOLERANCE : 1 - TOLERANCE));
    PetscCall(PetscInfoAllow(PETSC_FALSE)); // PETSc's tests count the lines
    ierr = GAMGFilterByPETSc(pc, &theirs[k]);
    PetscCall(PetscInfoAllow(info));
    GAMGSetFilter(gamg, threshold);
    PetscCall(ierr);
  }
  PetscCall(PetscMalloc1(theirs[0]->cmap->N, &norms));
  PetscCall(MatGetColumnNorms(theirs[0], NORM_1, norms));
  ierr = CompareFiltered(position, ours, theirs, num_vectors, before, after, norms);
  PetscCall(PetscFree(norms));
  PetscCall(PetscFree(before));
  PetscCall(PetscFree(after));
  PetscCall(MatDestroy(&ours));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&theirs[k]));
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)P), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares what was done at once with PETSc's steps: without the filter, and what it is with the filter with PETSc's filter of that, which allows for rows that are badly conditioned. */
static PetscErrorCode CheckSteps(PC pc, Mat A, PetscReal emax, PetscReal filter, Mat P0, Mat P)
{
  Mat            once = P0, steps = P0, copy = NULL;
  PetscBool      done = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)once));
  PetscCall(PetscObjectReference((PetscObject)steps));
  PetscCallGoto(ierr, cleanup, GAMGSmoothAtOnce(pc, A, emax, 0, &once, &done));
  PetscCallGoto(ierr, cleanup, GAMGSmoothBySteps(pc, A, 1, emax, &steps));
  PetscCallGoto(ierr, cleanup, CompareSmoothed(pc, once, steps));
  if (filter > 0) {
    PetscCallGoto(ierr, cleanup, KeepProlongator(once, &copy));
    PetscCallGoto(ierr, cleanup, CheckFilter(pc, P, &copy));
  }
cleanup:
  PetscCall(MatDestroy(&once));
  PetscCall(MatDestroy(&steps));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const GAMGChecks checks = {CheckGraph, CheckAggregates, KeepData, CheckProlongator, CheckSteps, KeepProlongator, CheckFilter, Reset};

/* The library of the tests has them from the beginning. */
__attribute__((constructor)) static void Install(void)
{
  GAMGTestChecks = &checks;
}
