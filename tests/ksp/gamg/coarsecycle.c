static char help[] = "-pc_gamg_coarse_cycle: cycles as a graph or as launches of ours are PETSc's, whatever changes between them; what is not plain is left to PETSc.\n\
  -problem, -near_null, -n: see problem.c; -type of the matrix\n\
  -graph: on the device there are graphs, and they are launched\n\
  -changes: those of changes.c, each after a setup\n\
  -recordings: of the graph during the first cycles, at most\n\n";

#include "changes.h"
#include "problem.h"
#include "../../../src/ksp/pc/impls/gamg/coarse.h"

/* The ways that are compared; PETSc's is the reference. */
#define NUM_WAYS 3

/* Cycles, of which the last one is a graph; more with MATAUTOCUDA, whose finest matrix may change its storage meanwhile, by times that it measures. */
#define NUM_CYCLES      4
#define NUM_CYCLES_AUTO 16

typedef struct {
  char      type[64];
  PetscBool graph;
  PetscBool changes;
  PetscInt  recordings;
} Expected;

/* One matrix, and a solver for each way. */
typedef struct {
  const char *name;
  Mat         A;
  KSP         ksp[NUM_WAYS];
  Vec         b, x[NUM_WAYS];
  PetscBool   graph;      /* expected now, */
  PetscBool   any;        /* or nothing */
  PetscBool   singular;   /* nearly: there is none when the setup says so, which rounding decides */
  int         num_cycles; /* at most, until one is a graph */
} Case;

static PetscErrorCode CaseCreate(const ProblemOptions *o, const Expected *e, Case *c)
{
  PetscFunctionBegin;
  c->name       = Problems[o->problem];
  c->num_cycles = strstr(e->type, MATAUTOCUDA) != NULL ? NUM_CYCLES_AUTO : NUM_CYCLES;
  c->graph      = e->graph;
  c->any        = PETSC_FALSE;
  /* In single precision the coarsest matrix of elasticity is nearly too badly conditioned for a product with its inverse. */
  c->singular = (PetscBool)(e->graph && PetscDefined(USE_REAL_SINGLE) && o->problem == PROBLEM_ELASTICITY);
  PetscCall(ProblemCreate(o, e->type, &c->A));
  PetscCall(MatCreateVecs(c->A, NULL, &c->b));
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(VecDuplicate(c->b, &c->x[k]));
    PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_coarse_cycle", GAMGCoarseCycles[k]));
    PetscCall(ProblemCreateKSP(o, c->A, &c->ksp[k]));
    PetscCall(KSPSetUp(c->ksp[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(KSPDestroy(&c->ksp[k]));
    PetscCall(VecDestroy(&c->x[k]));
  }
  PetscCall(VecDestroy(&c->b));
  PetscCall(MatDestroy(&c->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept for cycles below the finest level; NULL: all cycles are PETSc's. */
static PetscErrorCode GetCoarse(Case *c, int k, GAMGCoarse *coarse)
{
  GAMGContext *context;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(c->ksp[k], &pc));
  PetscCall(GAMGGetContext(pc, &context));
  *coarse = context->coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Launches of graphs since the last setup, -1 when all cycles are PETSc's, and why the last cycle was PETSc's. */
static PetscErrorCode GetLaunches(Case *c, int k, PetscInt64 *launches, const char **why)
{
  GAMGCoarse coarse;

  PetscFunctionBegin;
  PetscCall(GetCoarse(c, k, &coarse));
  *launches = coarse != NULL ? coarse->launches : -1;
  *why      = coarse != NULL && coarse->state == COARSE_PETSC ? coarse->said : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some cycles with other right-hand sides each. The last one is a graph where one is expected. */
static PetscErrorCode CheckCycles(Case *c, const char what[])
{
  const PetscReal tolerance = 1e5 * PETSC_MACHINE_EPSILON; // the inverse of the coarsest matrix rounds otherwise than its factors
  PetscInt64      before = 0, after = 0;
  const char     *why = NULL;
  PetscReal       norm, size;
  PetscBool       graph;
  PetscRandom     random;
  PC              pc;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  for (int cycle = 0; cycle < NUM_CYCLES || (c->graph && after == before && cycle < c->num_cycles); cycle++) {
    PetscCall(VecSetRandom(c->b, random));
    PetscCall(GetLaunches(c, GAMG_COARSE_GRAPH, &before, &why));
    for (int k = 0; k < NUM_WAYS; k++) {
      PetscCall(KSPGetPC(c->ksp[k], &pc));
      PetscCall(PCApply(pc, c->b, c->x[k]));
    }
    PetscCall(GetLaunches(c, GAMG_COARSE_GRAPH, &after, &why));
    PetscCall(VecNorm(c->x[0], NORM_2, &size));
    for (int k = 1; k < NUM_WAYS; k++) {
      PetscCall(VecAXPY(c->x[k], -1.0, c->x[0]));
      PetscCall(VecNorm(c->x[k], NORM_2, &norm));
      PetscCheck(norm <= tolerance * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s, cycle %d: %s differs from PETSc's by %g of %g", c->name, what, cycle, GAMGCoarseCycles[k], (double)norm,
                 (double)size);
    }
  }
  graph = (PetscBool)(c->graph && !(c->singular && why != NULL && strstr(why, "nearly singular") != NULL));
  PetscCheck(c->any || !graph || after > before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: the last cycle was no graph", c->name, what);
  PetscCheck(c->any || graph || after == before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: the last cycle was a graph", c->name, what);
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of levels below the finest stays when the finest matrix changes its storage. */
static PetscErrorCode CheckRecordings(Case *c, PetscInt most)
{
  GAMGCoarse coarse;

  PetscFunctionBegin;
  PetscCall(GetCoarse(c, GAMG_COARSE_GRAPH, &coarse));
  PetscCheck(coarse == NULL || coarse->recordings <= most, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt64_FMT " recordings", c->name, coarse->recordings);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetLevel(Case *c, int k, PetscInt level, KSP *smoother, PetscInt *num_levels)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(c->ksp[k], &pc));
  PetscCall(PCMGGetLevels(pc, num_levels));
  PetscCall(PCMGGetSmoother(pc, PetscMin(level, *num_levels - 1), smoother));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoMonitor(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt n, PETSC_UNUSED PetscReal norm, PETSC_UNUSED void *ctx)
{
  return PETSC_SUCCESS;
}

/* More steps of a smoother; other eigenvalues; a monitor, with which the cycle is PETSc's, and none again. */
static PetscErrorCode CheckSmoothers(Case *c)
{
  const PetscBool graph = c->graph;
  PetscBool       chebyshev;
  PetscInt        num_levels;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(GetLevel(c, 0, 1, &ksp, &num_levels));
  if (num_levels < 3) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(GetLevel(c, k, 1, &ksp, &num_levels));
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  }
  PetscCall(CheckCycles(c, "more steps"));
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(GetLevel(c, k, 1, &ksp, &num_levels));
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, &chebyshev));
    if (chebyshev) PetscCall(KSPChebyshevSetEigenvalues(ksp, 2.5, 0.25));
  }
  PetscCall(CheckCycles(c, "other eigenvalues"));
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(GetLevel(c, k, 1, &ksp, &num_levels));
    PetscCall(KSPMonitorSet(ksp, NoMonitor, NULL, NULL));
  }
  c->graph = PETSC_FALSE;
  PetscCall(CheckCycles(c, "a monitor"));
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(GetLevel(c, k, 1, &ksp, &num_levels));
    PetscCall(KSPMonitorCancel(ksp));
  }
  c->graph = graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of a level that the program wrote on the host, and memory that comes and goes. */
static PetscErrorCode CheckVectors(Case *c)
{
  PetscScalar *array;
  PetscInt     num_levels, n;
  KSP          ksp;
  PC           pc;
  Vec          v;
  Mat          B;

  PetscFunctionBegin;
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(GetLevel(c, k, 0, &ksp, &num_levels));
    if (num_levels < 2) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(KSPGetPC(c->ksp[k], &pc));
    for (PetscInt l = 0; l < num_levels - 1; l++) {
      v = ((PC_MG *)pc->data)->levels[l]->x;
      PetscCall(VecGetLocalSize(v, &n));
      PetscCall(VecGetArray(v, &array));
      for (PetscInt i = 0; i < PetscMin(3, n); i++) array[i] = 7.0;
      PetscCall(VecRestoreArray(v, &array));
    }
  }
  PetscCall(MatDuplicate(c->A, MAT_COPY_VALUES, &B));
  PetscCall(MatMult(B, c->b, c->x[0]));
  PetscCall(MatDestroy(&B));
  PetscCall(CheckCycles(c, "vectors written on the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, with a setup and without. */
static PetscErrorCode CheckValues(Case *c)
{
  PetscFunctionBegin;
  PetscCall(MatScale(c->A, 1.3));
  for (int k = 0; k < NUM_WAYS; k++) PetscCall(KSPSetReusePreconditioner(c->ksp[k], PETSC_TRUE));
  for (int k = 0; k < NUM_WAYS; k++) PetscCall(KSPSetUp(c->ksp[k]));
  PetscCall(CheckCycles(c, "values without a setup"));
  for (int k = 0; k < NUM_WAYS; k++) PetscCall(KSPSetReusePreconditioner(c->ksp[k], PETSC_FALSE));
  for (int k = 0; k < NUM_WAYS; k++) PetscCall(KSPSetUp(c->ksp[k]));
  PetscCall(CheckCycles(c, "values with a setup"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations are the same. */
static PetscErrorCode CheckSolves(Case *c)
{
  PetscInt its[NUM_WAYS];

  PetscFunctionBegin;
  PetscCall(VecSet(c->b, 1.0));
  for (int k = 0; k < NUM_WAYS; k++) {
    PetscCall(KSPSolve(c->ksp[k], c->b, c->x[k]));
    PetscCall(KSPGetIterationNumber(c->ksp[k], &its[k]));
    PetscCheck(its[k] == its[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " iterations with %s, %" PetscInt_FMT " with PETSc's cycle", c->name, its[k], GAMGCoarseCycles[k], its[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a change is for the smoothers that there are. */
static PetscErrorCode Applies(Case *c, const Change *change, PetscBool *applies)
{
  PetscInt    num_levels;
  PetscMPIInt size;
  KSP         ksp;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GetLevel(c, 0, 1, &ksp, &num_levels));
  PetscCheck(num_levels > 2, PETSC_COMM_WORLD, PETSC_ERR_USER, "%s: there is no level between the coarsest and the finest", c->name);
  *applies = (PetscBool)(size == 1 || !change->sequential);
  if (*applies && change->smoother != NULL) PetscCall(PetscObjectTypeCompare((PetscObject)ksp, change->smoother, applies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One change; on one process the key of the cycles shows it. */
static PetscErrorCode DoChange(PC pc, const Change *change)
{
  PC_MG_Levels **levels     = ((PC_MG *)pc->data)->levels;
  const PetscInt num_levels = levels[0]->levels - 1;
  GAMGCoarseKey  before, after;
  PetscBool      same;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) {
    PetscCall((*change->change)(pc, 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GAMGCoarseKeyCreate(num_levels, &before));
  PetscCall(GAMGCoarseKeyCreate(num_levels, &after));
  PetscCall(GAMGCoarseKeyGet(levels, num_levels, before));
  PetscCall((*change->change)(pc, 1));
  PetscCall(GAMGCoarseKeyGet(levels, num_levels, after));
  PetscCall(GAMGCoarseKeyCompare(num_levels, before, after, &same));
  PetscCheck(!same || !change->noticed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not noticed", change->name);
  PetscCall(PetscFree(before));
  PetscCall(PetscFree(after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cycles after a change are PETSc's, too. */
static PetscErrorCode TestChange(const ProblemOptions *o, const Expected *e, const Change *change)
{
  PetscBool applies;
  Case      c;
  PC        pc;

  PetscFunctionBegin;
  PetscCall(CaseCreate(o, e, &c));
  PetscCall(Applies(&c, change, &applies));
  if (applies) {
    PetscCall(CheckCycles(&c, "before a change"));
    for (int k = 0; k < NUM_WAYS; k++) {
      PetscCall(KSPGetPC(c.ksp[k], &pc));
      PetscCall(DoChange(pc, change));
    }
    c.graph = (PetscBool)(e->graph && change->after == CYCLES_GRAPH);
    c.any   = (PetscBool)(change->after == CYCLES_ANY);
    PetscCall(CheckCycles(&c, change->name));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *context)
{
  const Expected *e = (const Expected *)context;
  Case            c;

  PetscFunctionBegin;
  if (e->changes) {
    for (PetscInt k = 0; k < NumChanges; k++) PetscCall(TestChange(o, e, &Changes[k]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CaseCreate(o, e, &c));
  PetscCall(CheckCycles(&c, "first"));
  PetscCall(CheckRecordings(&c, e->recordings));
  PetscCall(CheckSolves(&c));
  PetscCall(CheckVectors(&c));
  PetscCall(CheckValues(&c));
  PetscCall(CheckSmoothers(&c));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Expected expected = {MATAIJDCSRCUDA, PETSC_FALSE, PETSC_FALSE, PETSC_INT_MAX};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", expected.type, sizeof(expected.type), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &expected.graph, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-changes", &expected.changes, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-recordings", &expected.recordings, NULL));
  PetscCall(ProblemsTest(TestProblem, &expected));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c changes.c

   # On the host all ways are PETSc's.
   testset:
      args: -malloc_dump -checkfunctionlist -pc_gamg_aggressive_coarsening 0 -pc_gamg_coarse_eq_limit 20
      output_file: output/empty.out
      test:
         suffix: host
         nsize: {{1 2}}
         args: -n 7 -problem 5point,27point,elasticity -device_enable none
      test:
         suffix: host_changes
         nsize: {{1 2}}
         args: -changes -device_enable none

   testset:
      requires: cuda
      args: -malloc_dump -checkfunctionlist -use_gpu_aware_mpi 0 -pc_gamg_aggressive_coarsening 0 -pc_gamg_coarse_eq_limit 20
      output_file: output/empty.out
      test:
         suffix: device
         args: -graph -problem 5point,7point,27point,elasticity,unsymmetric
      test:
         suffix: device_single
         args: -graph -problem 7point,27point -pc_gamg_level_values single
      test:
         suffix: device_hisparse
         args: -graph -type aijhisparsecuda -mat_hisparse_format {{diagonals blockdiagonals}} -problem 27point,elasticity
      test:
         suffix: device_hisparse_single
         args: -graph -type aijhisparsecuda -problem 27point,elasticity -n 20 -pc_gamg_level_values single
      test:
         suffix: device_auto
         args: -graph -type aijautocuda -problem 7point,27point,elasticity
      test:
         suffix: device_auto_chooses
         args: -graph -type aijautocuda -mat_hisparse_format diagonals -problem 7point,27point -n 20
      test:
         suffix: device_auto_switch
         args: -graph -recordings 1 -type aijautocuda -mat_hisparse_format diagonals -mat_auto_test_switch 7 -problem 7point,27point -n 20
      test:
         suffix: device_kernels
         args: -graph -problem 27point,elasticity -mat_dcsr_spmv {{split scan warp vector}}
      test:
         suffix: device_richardson
         args: -graph -problem 27point -mg_levels_ksp_type richardson -mg_levels_ksp_richardson_scale 0.5
      test:
         suffix: device_steps
         args: -graph -problem 27point -mg_levels_ksp_max_it {{1 3}}
      test:
         suffix: device_richardson_step
         args: -graph -problem 27point -mg_levels_ksp_type richardson -mg_levels_ksp_richardson_scale 0.5 -mg_levels_ksp_max_it 1
      test:
         suffix: device_gmrespoly
         args: -graph -problem 27point,elasticity,unsymmetric -mg_levels_ksp_type gmrespoly -mg_levels_ksp_max_it {{1 3 4}}
      test:
         suffix: device_restriction
         args: -graph -problem 7point,unsymmetric -pc_gamg_restriction tentative -mg_levels_ksp_type gmrespoly -pc_gamg_level_values {{double single}} -type {{aijdcsrcuda aijautocuda}}
      test:
         suffix: device_new_interpolations
         args: -graph -problem 27point -pc_gamg_reuse_interpolation 0
      # Changes between cycles
      test:
         suffix: device_changes
         args: -graph -changes -type {{aijdcsrcuda aijhisparsecuda aijautocuda}}
      test:
         suffix: device_changes_formats
         args: -graph -changes -problem 27point -type aijhisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: device_changes_single
         args: -graph -changes -pc_gamg_level_values single
      test:
         suffix: device_changes_richardson
         args: -graph -changes -mg_levels_ksp_type richardson -mg_levels_ksp_richardson_scale 0.5
      test:
         suffix: device_changes_ranks
         nsize: 2
         args: -changes -type {{aijdcsrcuda aijhisparsecuda aijautocuda}}
      # Left to PETSc
      test:
         suffix: device_not
         args: -problem 27point -mg_levels_pc_type {{sor none}}
      test:
         suffix: device_not_coarse
         args: -problem 27point -mg_coarse_pc_type jacobi
      test:
         suffix: device_not_cycles
         args: -problem 27point -pc_mg_cycle_type w
      test:
         suffix: device_not_fused
         args: -problem 27point -ksp_fused 0
      test:
         suffix: device_ranks
         nsize: {{2 3}}
         args: -problem 27point,elasticity

TEST*/
