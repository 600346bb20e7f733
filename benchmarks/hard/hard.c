static char help
  [] = "Systems on which multigrid with its defaults converges badly or not at all: ours, PETSc's and hypre's, in one process on the same systems. Writes records as JSON Lines (docs/measuring.md).\n\
  -list                     : names the systems and ends\n\
  -cases name,...           : systems; all that are not held out\n\
  -held                     : those that are held out, into records of hard-held\n\
  -configurations name,...  : solvers; all that are for a system. given: with the options of the command line alone\n\
  -grid                     : also all settings of a grid, the best of which those of ours are compared with\n\
  -mat_type type            : of all matrices, in place of those of the configurations\n\
  -unknowns n               : about so many in each system; full size\n\
  -repetitions n            : of each time\n\
  -max_cycles n             : of a solve\n\
  -max_seconds s            : of a setup and solve\n\
  -output file              : result records, appended\n\
  -commit id                : for the records\n\n";

/*
  A record is of one system and one configuration of ours, beside the best rival: that of HARD_WHOLE and that of HARD_STEP are the fastest there, what else is compared is that of the fastest
  HARD_WHOLE. With -grid one more says how long HARD_SOLVES systems take, beside the best of the grid.
  It runs on the host without a GPU, to see that it works, and records nothing then.
*/
#include "hardgrid.h"
#include "hardsolve.h"
#include "../common/bench.h"
#include "../common/benchmemory.h"
#include <petscsparsecuda.h>

#define MAX_CONFIGURATIONS 32
#define WARM_UP_UNKNOWNS   20000

#define GAMG   "-pc_type gamg -pc_gamg_max_complexity 10"
#define FILTER GAMG " -pc_gamg_threshold 0.05 -pc_gamg_prolongator_filter 0.1"
#define ROBUST GAMG " -pc_gamg_preset robust"
#define HYPRE  "-pc_type hypre -pc_hypre_type boomeramg -pc_mg_galerkin_mat_product_algorithm hypre"
#define PMIS   HYPRE " -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i -pc_hypre_boomeramg_relax_type_all l1scaled-Jacobi -pc_hypre_boomeramg_P_max 4"

/* Those of one type of matrix follow each other, so that it is made once. A matrix of type hypre is made of the same list, before times begin. */
static const HardConfiguration configurations[] = {
  {"defaults", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, GAMG},
  {"filter", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, FILTER},
  {"robust", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, ROBUST},
  {"tuned", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, GAMG " -pc_gamg_tune 100", PETSC_TRUE},
  {"tuned-10", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, GAMG " -pc_gamg_tune 10", PETSC_TRUE},
  {"hisparse-defaults", MATHISPARSECUDA, HARD_ANY, PETSC_FALSE, GAMG},
  {"hisparse-filter", MATHISPARSECUDA, HARD_ANY, PETSC_FALSE, FILTER},
  {"hisparse-robust", MATHISPARSECUDA, HARD_ANY, PETSC_FALSE, ROBUST},
  {"aijcusparse", MATAIJCUSPARSE, HARD_ANY, PETSC_TRUE, GAMG},
#if defined(PETSC_HAVE_HYPRE) // not for blocks: docs/measuring.md says why
  {"hypre", MATHYPRE, HARD_SCALAR | HARD_UNSYMMETRIC, PETSC_TRUE, HYPRE},
  {"hypre-pmis", MATHYPRE, HARD_SCALAR | HARD_UNSYMMETRIC, PETSC_TRUE, PMIS},
  {"hypre-pmis-aggressive", MATHYPRE, HARD_SCALAR, PETSC_TRUE, PMIS " -pc_hypre_boomeramg_agg_nl 1"},
  {"hypre-pmis-0.5", MATHYPRE, HARD_SCALAR | HARD_UNSYMMETRIC, PETSC_TRUE, PMIS " -pc_hypre_boomeramg_strong_threshold 0.5"},
#endif
};
#define NUM_CONFIGURATIONS ((int)PETSC_STATIC_ARRAY_LENGTH(configurations))

static const HardConfiguration given = {"given", MATDCSRCUDA, HARD_ANY, PETSC_FALSE, ""};

static const struct {
  const char *metric, *unit;
  double      scale; /* of seconds or bytes */
} columns[HARD_NUM_METRICS] = {
  {"whole", "ms", 1e3}, {"step", "ms", 1e3}, {"iterations", "1", 1}, {"complexity", "1", 1}, {"memory", "GB", 1e-9}, {"search", "ms", 1e3},
};

/* A configuration that runs, and what it gave. */
typedef struct {
  HardConfiguration configuration;
  HardResult        result;
} Entry;

/* The setting of a grid that takes least for HARD_SOLVES systems. */
typedef struct {
  char      options[512]; /* empty: there is none */
  PetscReal seconds;
} Best;

/* Options. */
static PetscBool  list, held, grid;
static char      *chosen[MAX_CONFIGURATIONS], mat_type[64];
static PetscInt   num_chosen, unknowns;
static HardLimits limits = {PETSC_FALSE, {3, 3}, 500, 30};

/* Those that are for a system and that the options let run. */
static PetscErrorCode ChooseConfigurations(const HardSystem *system, int *n, Entry entries[])
{
  PetscFunctionBegin;
  *n = 0;
  for (int k = 0; k <= NUM_CONFIGURATIONS; k++) {
    const HardConfiguration *c     = k < NUM_CONFIGURATIONS ? &configurations[k] : &given;
    PetscBool                wants = (PetscBool)(num_chosen == 0 && c != &given);

    for (PetscInt j = 0; j < num_chosen && !wants; j++) PetscCall(PetscStrcmp(chosen[j], c->name, &wants));
    if (!wants || !(c->where & HardSystemWhere(system))) continue;
    entries[*n] = (Entry){.configuration = *c};
    if (mat_type[0]) entries[*n].configuration.type = mat_type;
    ++*n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintEntry(const Entry *e)
{
  const HardResult *r = &e->result;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-26s %-13s ", e->configuration.name, e->configuration.type));
  if (r->failed[0]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "failed: %s\n", r->failed));
  else {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "cycles %4.0f  whole %9.2f ms (last %.2f + %.2f)  step %9.2f ms (last %.2f + %.2f)", (double)r->value[HARD_ITERATIONS], 1e3 * (double)r->value[HARD_WHOLE],
                          1e3 * (double)r->setup[0], 1e3 * (double)r->solve[0], 1e3 * (double)r->value[HARD_STEP], 1e3 * (double)r->setup[1], 1e3 * (double)r->solve[1]));
    if (r->value[HARD_COMPLEXITY] >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  complexity %.2f", (double)r->value[HARD_COMPLEXITY]));
    if (r->value[HARD_MEMORY] >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %.2f GB", 1e-9 * (double)r->value[HARD_MEMORY]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  residual %.1e\n", (double)r->residual));
  }
  if (r->value[HARD_SEARCH] >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "    searched %.2f ms: %s\n", 1e3 * (double)r->value[HARD_SEARCH], r->tuned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rival with the smallest value that worked, or NULL. */
static const Entry *FindBest(int n, const Entry entries[], HardMetric metric)
{
  const Entry *best = NULL;

  for (int k = 0; k < n; k++) {
    const Entry *e = &entries[k];

    if (!e->configuration.rival || e->result.failed[0] || e->result.value[metric] < 0) continue;
    if (best == NULL || e->result.value[metric] < best->result.value[metric]) best = e;
  }
  return best;
}

/* Who the best is, and in what state: hypre's matrix is its own; and whether there was hypre at all. Left alone when no rival ran. */
static PetscErrorCode NameRival(int n, const Entry entries[], const Entry *best, size_t size, char name[], const char **named)
{
  PetscBool any = PETSC_FALSE, hypre = PETSC_FALSE;

  PetscFunctionBegin;
  for (int k = 0; k < n; k++) any = (PetscBool)(any || entries[k].configuration.rival);
  if (best != NULL) PetscCall(PetscStrcmp(best->configuration.type, "hypre", &hypre));
  PetscCall(
    PetscSNPrintf(name, size, "%s%s%s", best != NULL ? best->configuration.name : "all rivals", hypre ? ", matrix of type hypre" : "", PetscDefined(HAVE_HYPRE) ? "" : ", PETSc without hypre"));
  if (any) *named = name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of HARD_SOLVES systems with one pattern, or -1. */
static PetscReal GetTotal(const HardResult *r)
{
  return r->failed[0] ? -1 : r->value[HARD_WHOLE] + (HARD_SOLVES - 1) * r->value[HARD_STEP];
}

static PetscErrorCode RecordEntry(Bench *bench, const HardSystem *system, int n, const Entry entries[], const Best *best_of_grid, const Entry *ours)
{
  const Entry *fastest = FindBest(n, entries, HARD_WHOLE);
  char         name[128], competitor[128];
  const char  *named = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%s", system->name, ours->configuration.name));
  bench->recorder.benchmark = system->held ? "hard-held" : "hard";
  bench->recorder.failed    = ours->result.failed[0] ? ours->result.failed : NULL;
  for (int m = 0; m < HARD_NUM_METRICS; m++) {
    const Entry    *best  = m == HARD_STEP ? FindBest(n, entries, HARD_STEP) : fastest;
    const PetscReal scale = (PetscReal)columns[m].scale, value = ours->result.failed[0] ? -1 : ours->result.value[m], other = best != NULL ? best->result.value[m] : -1;

    if (value < 0 && !ours->result.failed[0]) continue;
    PetscCall(NameRival(n, entries, best, sizeof(competitor), competitor, &named));
    PetscCall(BenchRecorderAdd(&bench->recorder, name, columns[m].metric, columns[m].unit, value < 0 ? -1 : scale * value, other < 0 ? -1 : scale * other, named, PETSC_FALSE, -1));
  }
  if (best_of_grid->options[0]) {
    const PetscReal total = GetTotal(&ours->result);

    PetscCall(BenchRecorderAdd(&bench->recorder, name, "total", "ms", total < 0 ? -1 : (PetscReal)1e3 * total, (PetscReal)1e3 * best_of_grid->seconds, best_of_grid->options, PETSC_FALSE, -1));
  }
  bench->recorder.failed = NULL;
  if (bench->recorder.file) PetscCheck(fflush(bench->recorder.file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measures one with the matrix of its type, unless that could not be made; those before are done. */
static PetscErrorCode RunEntry(const HardProblem *problem, const HardProblem *small, Mat A, Entry entries[], int k)
{
  Entry *e = &entries[k];

  PetscFunctionBegin;
  if (A == NULL) PetscCall(PetscSNPrintf(e->result.failed, sizeof(e->result.failed), "the matrix cannot be made"));
  else PetscCall(HardMeasure(&limits, problem, small, A, &e->configuration, &e->result));
  PetscCall(PrintEntry(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All configurations of one type of matrix; returns how many. A type that cannot be made is a result, too. */
static PetscErrorCode RunType(const HardProblem *problem, const HardProblem *small, int n, Entry entries[], int first, int *count)
{
  const MatType  type = entries[first].configuration.type;
  Mat            A    = NULL;
  PetscErrorCode ierr;
  PetscBool      same = PETSC_TRUE;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  if (limits.device) {
    PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
    PetscCall(BenchMemoryMark());
  }
  PetscCall(PetscTime(&begin));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = HardProblemCreateMat(problem, type, &A);
  PetscCall(PetscPopErrorHandler());
  if (limits.device) (void)cudaDeviceSynchronize();
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-26s %-13s %9.2f ms\n", "assembly", type, 1e3 * (end - begin)));
  for (*count = 0; first + *count < n && same; ++*count) {
    PetscCall(PetscStrcmp(entries[first + *count].configuration.type, type, &same));
    if (!same) break;
    PetscCall(RunEntry(problem, small, ierr ? NULL : A, entries, first + *count));
  }
  if (!ierr) PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All settings of the grid, in a matrix of their own, with one first setup each; what fails is no best one. */
static PetscErrorCode RunGrid(const HardProblem *problem, Best *best)
{
  const HardWhere where = HardSystemWhere(problem->system);
  char            options[sizeof(best->options)], all[sizeof(best->options) + sizeof(GAMG) + 1];
  Entry           e    = {.configuration = {.name = "grid", .type = MATDCSRCUDA, .where = where, .options = all}};
  HardLimits      once = limits;
  Mat             A;

  PetscFunctionBegin;
  once.repetitions[HARD_WHOLE] = 1;
  PetscCall(HardProblemCreateMat(problem, MATDCSRCUDA, &A));
  for (int k = 0; k < HardGridSize(where); k++) {
    PetscReal total;

    PetscCall(HardGridGet(where, k, sizeof(options), options));
    PetscCall(PetscSNPrintf(all, sizeof(all), "%s %s", GAMG, options));
    PetscCall(HardMeasure(&once, problem, NULL, A, &e.configuration, &e.result));
    total = GetTotal(&e.result);
    if (total < 0 || (best->options[0] && total >= best->seconds)) continue;
    PetscCall(PetscStrncpy(best->options, options, sizeof(best->options)));
    best->seconds = total;
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  grid of %d: best %s, %d systems in %.2f ms\n", HardGridSize(where), best->options, HARD_SOLVES, 1e3 * (double)best->seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSystem(Bench *bench, const HardSystem *system)
{
  HardProblem problem, small;
  Entry       entries[MAX_CONFIGURATIONS];
  Best        best = {.options = ""};
  int         n, count = 0;

  PetscFunctionBegin;
  PetscCall(ChooseConfigurations(system, &n, entries));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HardProblemCreate(PETSC_COMM_SELF, system, unknowns, &problem));
  PetscCall(HardProblemCreate(PETSC_COMM_SELF, system, PetscMin(WARM_UP_UNKNOWNS, problem.block_size * problem.num_points), &small));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " unknowns, %" PetscCount_FMT " nonzeros\n", system->name, problem.block_size * problem.num_points, problem.num_entries));
  for (int k = 0; k < n; k += count) PetscCall(RunType(&problem, &small, n, entries, k, &count));
  if (grid) PetscCall(RunGrid(&problem, &best));
  for (int k = 0; k < n && limits.device; k++) {
    if (!entries[k].configuration.rival) PetscCall(RecordEntry(bench, system, n, entries, &best, &entries[k]));
  }
  PetscCall(HardProblemDestroy(&problem));
  PetscCall(HardProblemDestroy(&small));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of -cases, in its order, or all of one set. */
static PetscErrorCode Run(Bench *bench)
{
  const HardSystem  *all, *system;
  const char *const *names = NULL;
  PetscInt           n, num_named = 0;

  PetscFunctionBegin;
  PetscCall(HardSystemGetAll(&n, &all));
  for (PetscInt k = 0; k < n && list; k++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s%s\n", all[k].name, all[k].held ? " (held out)" : ""));
  if (list) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDADeviceUsable(&limits.device));
  if (limits.device) PetscCall(BenchRecorderCreate("hard", bench->output, bench->commit, &bench->recorder));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "hard: no usable GPU, everything runs on the host and nothing is recorded\n"));
  PetscCall(BenchGetCases(bench, &num_named, &names));
  for (PetscInt k = 0; k < num_named; k++) {
    PetscCall(HardSystemFind(names[k], &system));
    PetscCall(RunSystem(bench, system));
  }
  for (PetscInt k = 0; k < n && num_named == 0; k++) {
    if (all[k].held == held) PetscCall(RunSystem(bench, &all[k]));
  }
  PetscCall(BenchClose(bench));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *bench)
{
  PetscFunctionBegin;
  num_chosen = MAX_CONFIGURATIONS;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Hard systems", NULL);
  PetscCall(BenchOptions(bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(bench, PetscOptionsObject));
  PetscCall(BenchOptionsRepetitions(bench, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-list", "Names the systems", NULL, list, &list, NULL));
  PetscCall(PetscOptionsBool("-held", "Systems that are held out", NULL, held, &held, NULL));
  PetscCall(PetscOptionsBool("-grid", "Compares with a grid of settings", NULL, grid, &grid, NULL));
  PetscCall(PetscOptionsStringArray("-configurations", "Solvers", NULL, chosen, &num_chosen, NULL));
  PetscCall(PetscOptionsString("-mat_type", "Type of all matrices", NULL, mat_type, mat_type, sizeof(mat_type), NULL));
  PetscCall(PetscOptionsInt("-unknowns", "In each system, about", NULL, unknowns, &unknowns, NULL));
  PetscCall(PetscOptionsInt("-max_cycles", "Of a solve", NULL, limits.max_cycles, &limits.max_cycles, NULL));
  PetscCall(PetscOptionsReal("-max_seconds", "Of a setup and solve", NULL, limits.max_seconds, &limits.max_seconds, NULL));
  PetscOptionsEnd();
  limits.repetitions[HARD_WHOLE] = limits.repetitions[HARD_STEP] = bench->repetitions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench bench = {.repetitions = 3};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &bench));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ReadOptions(&bench));
  PetscCall(Run(&bench));
  for (PetscInt k = 0; k < num_chosen; k++) PetscCall(PetscFree(chosen[k]));
  PetscCall(PetscFinalize());
  return 0;
}
