/*
  Which levels are set up on the device: those for which it gives what PETSc gives. One answer a level, the same on all processes, told by -info.
*/
#include "gamg.h"
#include <petscsparsecuda/report.h>
#include "../../../../mat/impls/aijcuda/graph/graph.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"

/* Why a level is PETSc's; the later ones are found out when the earlier ones do not hold. */
typedef enum {
  SUPPORTED,
  REFUSED_OPTION,
  REFUSED_TYPE,
  REFUSED_ASM,
  REFUSED_SYMMETRY,
  REFUSED_VIEW,
  REFUSED_BLOCKS,
  REFUSED_SIZE,
  REFUSED_COLUMNS,
  REFUSED_HOST,
  REFUSED_MEMORY,
  REFUSED_COARSENING,
  REFUSED_DISTANCE,
  REFUSED_INDEX,
  REFUSED_PATTERN,
  NUM_REFUSALS
} Refusal;

static const char *const reasons[NUM_REFUSALS] = {
  "",
  "-pc_gamg_device_setup is false",
  "the matrix has another type",
  "aggregates for PCASM",
  "the graph is not symmetrized and not known to be symmetric",
  "the graph is to be viewed",
  "rows and columns have different blocks",
  "too many vertices",
  "the prolongator may have too many columns",
  "the matrix is not on the device on some process",
  "too little device memory on some process",
  "the coarsening is neither MIS nor MIS-k",
  "the distance of MIS-k is not 1",
  "an index of the strength of connection is out of range",
  "the graph is not symmetric, although the matrix is said to be",
};

/* Local vertices have numbers below this, the global ones fit into int32_t. */
#define MAX_VERTICES (PETSC_INT32_MAX - 3)

static PetscErrorCode IsOurs(Mat A, PetscBool *seq, PetscBool *mpi)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, seq));
  PetscCall(MatIsMPIAIJCUDA(A, mpi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a threshold, edges are dropped by their values, which only a symmetric matrix has on both sides. */
static PetscErrorCode SymmetryFits(PC pc, Mat A, PetscReal threshold, PetscBool *fits)
{
  PetscBool set, known;

  PetscFunctionBegin;
  *fits = GAMGGetAggOptions(pc)->graph_symmetrize;
  if (*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(A, &set, &known));
  *fits = (PetscBool)(set && known);
  if (*fits || threshold >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsStructurallySymmetricKnown(A, &set, &known));
  *fits = (PetscBool)(set && known);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsViewed(PetscBool *viewed)
{
  static const char *const options[] = {"-mat_graph_view", "-mat_filter_graph_view", "-misk_aggregation_view"};

  PetscFunctionBegin;
  *viewed = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options) && !*viewed; k++) PetscCall(PetscOptionsHasName(NULL, NULL, options[k], viewed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all processes know alike of options and sizes. */
static PetscErrorCode RefusedByAll(PC pc, Mat A, PetscInt level, const GAMGContext *context, Refusal *refusal)
{
  const PC_GAMG  *gamg      = GAMGGet(pc);
  const PetscReal threshold = gamg->threshold[level];
  PetscBool       seq, mpi, symmetry, viewed;
  PetscInt        bs[2];

  PetscFunctionBegin;
  *refusal = SUPPORTED;
  PetscCall(IsOurs(A, &seq, &mpi));
  PetscCall(SymmetryFits(pc, A, threshold, &symmetry));
  PetscCall(IsViewed(&viewed));
  PetscCall(MatGetBlockSizes(A, &bs[0], &bs[1]));
  if (!context->device_setup) *refusal = REFUSED_OPTION;
  else if (!seq && !mpi) *refusal = REFUSED_TYPE;
  else if (gamg->use_aggs_in_asm || gamg->asm_hem_aggs) *refusal = REFUSED_ASM;
  else if (!symmetry) *refusal = REFUSED_SYMMETRY;
  else if (viewed) *refusal = REFUSED_VIEW;
  else if (bs[0] != bs[1] || A->rmap->N != A->cmap->N) *refusal = REFUSED_BLOCKS;
  else if (A->rmap->N / bs[0] >= MAX_VERTICES) *refusal = REFUSED_SIZE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device has 32 bits for a column. There are no more aggregates than vertices. */
static PetscBool HasTooManyColumns(PC pc, Mat A)
{
  return (PetscBool)((PetscInt64)(A->rmap->N / A->rmap->bs) * GAMGGet(pc)->data_cell_cols > PETSC_INT32_MAX);
}

/* What a process finds out for itself, and then all know. Collective. */
static PetscErrorCode RefusedByOne(PC pc, Mat A, PetscInt level, Refusal *refusal)
{
  PetscBool seq, mpi, device;
  PetscReal needed;
  size_t    available;
  int       most = SUPPORTED;

  PetscFunctionBegin;
  PetscCall(IsOurs(A, &seq, &mpi));
  if (mpi) PetscCall(MatMPIAIJCUDAStructureOnDevice(A, &device));
  else PetscCall(MatSeqAIJCUDAStructureOnDevice(A, &device));
  if (A->rmap->n != A->cmap->n || A->rmap->n % A->rmap->bs) most = REFUSED_BLOCKS;
  else if (HasTooManyColumns(pc, A)) most = REFUSED_COLUMNS;
  else if (!device) most = REFUSED_HOST;
  else {
    PetscCall(GAMGGetMemoryNeeded(pc, A, level, &needed));
    PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
    if (needed > (PetscReal)available) most = REFUSED_MEMORY;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  *refusal = (Refusal)most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All but the way of coarsening. */
static PetscErrorCode Refuse(PC pc, Mat A, PetscInt level, const GAMGContext *context, Refusal *refusal)
{
  PetscFunctionBegin;
  PetscCall(RefusedByAll(pc, A, level, context, refusal));
  if (*refusal == SUPPORTED) PetscCall(RefusedByOne(pc, A, level, refusal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarsening of a level as PETSc makes it for the graph. PETSc views it afterwards. */
static PetscErrorCode CreateCoarsening(PC pc)
{
  MatCoarsen *crs = &GAMGGetAggOptions(pc)->crs;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(MatCoarsenDestroy(crs));
  PetscCall(MatCoarsenCreate(PetscObjectComm((PetscObject)pc), crs));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)pc, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)*crs, prefix));
  PetscCall(PetscObjectAppendOptionsPrefix((PetscObject)*crs, "pc_gamg_"));
  PetscCall(MatCoarsenSetFromOptions(*crs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a level is coarsened aggressively, with two hops or a larger distance; on_square: PETSc squares the graph there, which it always does for MATCOARSENMIS. */
static void IsAggressive(PC pc, PetscBool is_mis, PetscBool *aggressive, PetscBool *on_square)
{
  const GAMGAggOptions *options = GAMGGetAggOptions(pc);

  *aggressive = (PetscBool)(GAMGGet(pc)->current_level < options->aggressive_coarsening_levels);
  *on_square  = (PetscBool)(options->use_aggressive_square_graph || (is_mis && options->aggressive_coarsening_levels));
}

/* After aggressive levels PETSc asks the options again, without "pc_gamg_" before their names: what they will say. */
static PetscErrorCode AskOptionsAgain(PC pc, size_t length, char type[], PetscInt *distance)
{
  const PetscObject  o       = (PetscObject)pc;
  const PetscOptions options = ((PetscObject)GAMGGetAggOptions(pc)->crs)->options; // those that the coarsening asks

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(options, o->prefix, "-mat_coarsen_type", type, length, NULL));
  PetscCall(PetscOptionsGetInt(options, o->prefix, "-mat_coarsen_misk_distance", distance, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hops and order of the members; or a refusal. */
static PetscErrorCode ChooseHops(PC pc, GAMGContext *context, Refusal *refusal)
{
  GAMGAggOptions *options = GAMGGetAggOptions(pc);
  char            type[256];
  PetscInt        distance;
  PetscBool       is_mis, is_misk, aggressive, on_square;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(type, ((PetscObject)options->crs)->type_name, sizeof(type)));
  PetscCall(PetscStrcmp(type, MATCOARSENMIS, &is_mis));
  PetscCall(PetscStrcmp(type, MATCOARSENMISK, &is_misk));
  if (!is_mis && !is_misk) {
    *refusal = REFUSED_COARSENING;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  IsAggressive(pc, is_mis, &aggressive, &on_square);
  context->coarsening = (GAMGCoarsening){2, PETSC_FALSE, options->use_minimum_degree_ordering};
  if (aggressive && on_square) PetscFunctionReturn(PETSC_SUCCESS);
  context->coarsening.hops = 1;
  distance                 = 1;
  if (is_misk) PetscCall(MatCoarsenMISKGetDistance(options->crs, &distance));
  if (aggressive) distance = options->aggressive_mis_k;
  else if (on_square && options->aggressive_coarsening_levels > 0) PetscCall(AskOptionsAgain(pc, sizeof(type), type, &distance));
  PetscCall(PetscStrcmp(type, MATCOARSENMIS, &is_mis));
  PetscCall(PetscStrcmp(type, MATCOARSENMISK, &is_misk));
  if (!is_mis && !is_misk) *refusal = REFUSED_COARSENING;
  else if (is_misk && distance != 1) *refusal = REFUSED_DISTANCE;
  context->coarsening.by_number = is_misk;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc raises an error then. */
static PetscBool IndexOutOfRange(PC pc, Mat A)
{
  const MatCoarsen crs = GAMGGetAggOptions(pc)->crs;

  for (PetscInt k = 0; k < crs->strength_index_size; k++)
    if (crs->strength_index[k] < 0 || crs->strength_index[k] >= A->rmap->bs) return PETSC_TRUE;
  return PETSC_FALSE;
}

/*
  The graph; or a refusal: PETSc's coarsenings take one that is not symmetric, too, on one process. On several ones those of PETSc 3.26 do not end then, and it is made symmetric, as if nothing had
  been said of A.
*/
static PetscErrorCode CreateGraph(PC pc, Mat A, Refusal *refusal, Mat *G)
{
  Mat            graph;
  PetscMPIInt    size;
  PetscBool      symmetric;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(GAMGCreateGraph(pc, A, &graph, &symmetric));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (symmetric) {
    *G = graph;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (size == 1) *refusal = REFUSED_PATTERN;
  else {
    PetscCall(PetscInfo(pc, "The graph is not symmetric, although the matrix is said to be: it is made so\n"));
    ierr = MatAIJCUDACreateSymmetricPattern(graph, G);
  }
  PetscCall(MatDestroy(&graph));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's code does besides on a level that is supported: it remembers that MATCOARSENMIS squares, and asks for options of the square, which are used then. */
static PetscErrorCode NoteSquare(PC pc, const GAMGContext *context)
{
  GAMGAggOptions *options = GAMGGetAggOptions(pc);
  const PC_GAMG  *gamg    = GAMGGet(pc);
  char            prefix[256];
  PetscBool       is_mis, set;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)options->crs, MATCOARSENMIS, &is_mis));
  if (is_mis && options->aggressive_coarsening_levels && !options->use_aggressive_square_graph) {
    PetscCall(PetscInfo(pc, "MIS and aggressive coarsening and no square graph: force square graph\n"));
    options->use_aggressive_square_graph = PETSC_TRUE;
  }
  if (context->coarsening.hops == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%spc_gamg_square_%" PetscInt_FMT "_", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", gamg->current_level));
  PetscCall(PetscOptionsHasName(NULL, prefix, "-mat_product_algorithm", &set));
  if (set) PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": no square of the graph is formed, -%smat_product_algorithm has no effect\n", gamg->current_level, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGSupportsData - Whether the near null space of the finest level is made on the device, before a setup: the level may be supported, as far as that is known before its graph, and no process has the near
  null space already. Collective The answer is the same on all processes; GAMGSupports() may still refuse the level. Cost: two reductions of an integer.
*/
PetscErrorCode GAMGSupportsData(PC pc, Mat A, PetscBool *device)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  GAMGContext   *context;
  Refusal        refusal;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  *device = PETSC_FALSE;
  if (gamg->injection_index_size > 0) PetscFunctionReturn(PETSC_SUCCESS); // PETSc looks for the near null space then
  PetscCall(Refuse(pc, A, 0, context, &refusal));
  if (refusal != SUPPORTED) PetscFunctionReturn(PETSC_SUCCESS);
  *device = (PetscBool)(A->rmap->n == 0 || (gamg->data == NULL && gamg->orig_data == NULL)); // without rows there may be neither, whatever the others have
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGSupports - Decides whether the level under way is set up on the device, and makes its graph then; -info says what was decided, and why not. Collective
  G is the graph (GAMGCreateGraph()); NULL: the level is PETSc's.
  context has the answer, the number of hops and the order of the members afterwards. When the level is supported the coarsening of PETSc's options is there, with its type as it is for the graph;
  GAMGSwitchCoarsening() gives it the type that PETSc coarsens with.
  Cost: two reductions of an integer, the options of a MatCoarsen, and the graph.
*/
PetscErrorCode GAMGSupports(PC pc, Mat A, GAMGContext *context, Mat *G)
{
  const PetscInt level = GAMGGet(pc)->current_level;
  Refusal        refusal;
  const char    *prefix, *how;

  PetscFunctionBegin;
  *G                 = NULL;
  context->supported = PETSC_FALSE;
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)pc, &prefix));
  PetscCall(Refuse(pc, A, level, context, &refusal));
  if (refusal == SUPPORTED) {
    PetscCallLogged(petsc_gamg_setup_events[GAMG_COARSEN], 0, CreateCoarsening(pc));
    PetscCall(ChooseHops(pc, context, &refusal));
    if (refusal == SUPPORTED && IndexOutOfRange(pc, A)) refusal = REFUSED_INDEX;
    if (refusal == SUPPORTED) PetscCallLogged(petsc_gamg_setup_events[GAMG_GRAPH], 0, CreateGraph(pc, A, &refusal, G));
  }
  if (refusal != SUPPORTED) {
    PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": set up by PETSc, %s\n", level, reasons[refusal]));
    PetscCall(PetscSparseCUDAReportLine("PCGAMG %s%slevel %" PetscInt_FMT ", %" PetscInt_FMT " rows: set up by PETSc on the host, %s", prefix != NULL ? prefix : "", prefix != NULL ? ": " : "", level,
                                        A->rmap->N, reasons[refusal]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  context->supported = PETSC_TRUE;
  PetscCall(NoteSquare(pc, context));
  how = context->coarsening.hops == 2 ? "independent set of two hops" : context->coarsening.by_number ? "independent set of one hop, members by number" : "independent set of one hop";
  PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": set up on the device, %s\n", level, how));
  PetscCall(PetscSparseCUDAReportLine("PCGAMG %s%slevel %" PetscInt_FMT ", %" PetscInt_FMT " rows: set up on the device, %s", prefix != NULL ? prefix : "", prefix != NULL ? ": " : "", level,
                                      A->rmap->N, how));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGSwitchCoarsening - Gives the coarsening of a level that is supported the type and options that PETSc coarsens with, and views afterwards. Collective */
PetscErrorCode GAMGSwitchCoarsening(PC pc)
{
  GAMGAggOptions *options = GAMGGetAggOptions(pc);
  const char     *prefix;

  PetscFunctionBegin;
  if (GAMGGet(pc)->current_level < options->aggressive_coarsening_levels) {
    if (options->use_aggressive_square_graph) PetscCall(MatCoarsenSetType(options->crs, MATCOARSENMIS));
    else PetscCall(MatCoarsenMISKSetDistance(options->crs, options->aggressive_mis_k));
  } else if (options->use_aggressive_square_graph && options->aggressive_coarsening_levels > 0) {
    PetscCall(PetscObjectGetOptionsPrefix((PetscObject)pc, &prefix));
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)options->crs, prefix));
    PetscCall(MatCoarsenSetFromOptions(options->crs));
  }
  PetscCall(MatCoarsenSetStrictAggs(options->crs, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
