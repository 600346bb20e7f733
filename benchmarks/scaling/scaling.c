static char help[] = "Whole solves with PCGAMG and their parts on several GPUs, one process each: mpiexec -n 2 scaling. Writes records as JSON Lines (docs/measuring.md).\n\
  -cases n200,...          : nN: N^3 points; nN-per-gpu: N x N x (N times the number of processes) points\n\
  -competitor type         : aijcusparse; none\n\
  -competitor_cases n200,. : the cases that it runs, once each\n\
  -repetitions n           : of assembly, setup, refresh, solve and Galerkin product\n\
  -levels no               : without the table of where the time of a cycle goes\n\
  -phases no               : the same of a setup\n\
  -output file             : result records, appended\n\
  -commit id               : for the records\n\n";

/*
  The problem is that of PETSc's bench_kspsolve: 27 points, solution of ones, KSPCG. Entries are listed on the device. Times are medians, of the slowest process. Our records of all cases are written
  before the competitor runs, and again with its figures afterwards: those that come later count. It runs on the host without a GPU, to see that it works.
*/
#include "scaling.h"
#include <petscsparsecuda.h>

#define COMPETITOR_REPETITIONS 1
#define MAX_CASES              16

typedef struct {
  const char *metric, *unit;
  double      scale; /* of seconds or bytes */
} Column;

static const Column columns[SCALING_NUM_METRICS] = {
  {"assembly", "s", 1}, {"mult", "us", 1e6},    {"multtranspose", "us", 1e6}, {"setup-first", "s", 1},     {"setup", "s", 1},           {"refresh", "s", 1},
  {"solve", "s", 1},    {"iterations", "1", 1}, {"ptap", "ms", 1e3},          {"ptap-numeric", "ms", 1e3}, {"peak_memory", "GB", 1e-9},
};

/* What programs with PCGAMG on GPUs say, unless the options do. */
static const char *const defaults[][2] = {
  {"-mg_levels_ksp_type", "chebyshev"},
  {"-mg_levels_pc_type", "jacobi"},
};

static const char *default_cases[] = {"n200", "n200-per-gpu", "n320"};

/* Options. */
static char     competitor[64] = "aijcusparse";
static char    *competitor_cases[MAX_CASES];
static PetscInt num_competitor_cases = MAX_CASES;

/* The box of a case by its name. */
static PetscErrorCode ParseCase(const Scaling *s, const char name[], ScalingGrid *grid)
{
  char *end;
  long  n = name[0] == 'n' ? strtol(name + 1, &end, 10) : 0;

  PetscFunctionBegin;
  PetscCheck(n > 1 && n <= 1290 && (!strcmp(end, "") || !strcmp(end, "-per-gpu")), s->comm, PETSC_ERR_ARG_WRONG, "A case is called nN or nN-per-gpu, with a number N, and not %s", name);
  grid->nx = grid->ny = grid->nz = (PetscInt)n;
  if (end[0]) grid->nz *= s->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecordCase(Scaling *s, const char name[], const PetscReal ours[], const PetscReal best[], const char *who)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < SCALING_NUM_METRICS && s->rank == 0; k++) {
    if (ours[k] < 0) continue;
    PetscCall(BenchRecord(s->bench, name, columns[k].metric, columns[k].unit, (PetscReal)columns[k].scale * ours[k], best[k] >= 0 ? (PetscReal)columns[k].scale * best[k] : -1, who, -1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the competitor runs a case. By default it is the first one: it needs minutes and much memory for the others. */
static PetscErrorCode Competes(const char name[], PetscBool *competes)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(competitor, "none", competes));
  *competes = (PetscBool) !*competes;
  if (!*competes) PetscFunctionReturn(PETSC_SUCCESS);
  *competes = PETSC_FALSE;
  for (PetscInt k = 0; k < num_competitor_cases && !*competes; k++) PetscCall(PetscStrcmp(competitor_cases[k], name, competes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It may run out of memory, or fail on several processes. One failure, and it does not run again: what is left of it may not even be destroyed. */
static PetscErrorCode RunCompetitor(Scaling *s, const char name[], const ScalingGrid *grid, PetscReal values[])
{
  PetscErrorCode ierr;
  PetscMPIInt    failed;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = ScalingMeasureType(s, grid, competitor, COMPETITOR_REPETITIONS, NULL, values);
  PetscCall(PetscPopErrorHandler());
  failed = ierr != PETSC_SUCCESS;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, s->comm));
  if (!failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->device) (void)cudaGetLastError();
  PetscCall(PetscPrintf(s->comm, "%s: %s failed with error %d\n", name, competitor, (int)ierr));
  num_competitor_cases = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a case gave. */
typedef struct {
  const char *name;
  ScalingGrid grid;
  PetscReal   ours[SCALING_NUM_METRICS];
} Case;

static PetscErrorCode RunOurs(Scaling *s, Case *c)
{
  PetscReal best[SCALING_NUM_METRICS];

  PetscFunctionBegin;
  PetscCall(ParseCase(s, c->name, &c->grid));
  for (PetscInt k = 0; k < SCALING_NUM_METRICS; k++) c->ours[k] = best[k] = -1;
  PetscCall(
    PetscPrintf(s->comm, "%s: %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " points, %d process%s\n", c->name, c->grid.nx, c->grid.ny, c->grid.nz, s->size, s->size == 1 ? "" : "es"));
  PetscCall(ScalingMeasureType(s, &c->grid, MATDCSRCUDA, s->bench->repetitions, c->name, c->ours));
  PetscCall(RecordCase(s, c->name, c->ours, best, NULL));
  if (s->device) PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTheirs(Scaling *s, const Case *c)
{
  PetscReal best[SCALING_NUM_METRICS];
  PetscBool competes;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < SCALING_NUM_METRICS; k++) best[k] = -1;
  PetscCall(Competes(c->name, &competes));
  if (!competes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RunCompetitor(s, c->name, &c->grid, best));
  PetscCall(RecordCase(s, c->name, c->ours, best, competitor));
  if (best[SCALING_ITERATIONS] >= 0 && PetscAbsReal(best[SCALING_ITERATIONS] - c->ours[SCALING_ITERATIONS]) > 1 && s->rank == 0) PetscCall(BenchWrong(s->bench, "%s: iterations differ", c->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The recorder of the first process, and the timer of kernels. */
static PetscErrorCode Open(Scaling *s, BenchTimer *timer)
{
  cudaStream_t stream;
  PetscReal    unused;

  PetscFunctionBegin;
  if (!s->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(BenchTimerCreate(stream, timer));
  s->timer = timer;
  PetscCall(BenchMemoryBegin()); // what is in use now does not count
  PetscCall(BenchMemoryEnd(s->comm, &unused));
  if (s->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BenchRecorderCreate("scaling", s->bench->output, s->bench->commit, &s->bench->recorder));
  s->bench->recorder.gpus = s->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Scaling *s)
{
  const char *const *names = (const char *const *)default_cases;
  PetscInt           n     = PETSC_STATIC_ARRAY_LENGTH(default_cases);
  BenchTimer         timer;
  Case               cases[MAX_CASES];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&s->device));
  if (!s->device) PetscCall(PetscPrintf(s->comm, "scaling: no usable GPU, everything runs on the host and nothing is recorded\n"));
  PetscCall(Open(s, &timer));
  PetscCall(BenchGetCases(s->bench, &n, &names));
  PetscCheck(n <= MAX_CASES, s->comm, PETSC_ERR_ARG_OUTOFRANGE, "At most %d cases", MAX_CASES);
  for (PetscInt k = 0; k < n; k++) {
    cases[k].name = names[k];
    PetscCall(RunOurs(s, &cases[k]));
  }
  for (PetscInt k = 0; k < n; k++) PetscCall(RunTheirs(s, &cases[k])); // last: one that fails keeps its memory
  if (s->timer != NULL) PetscCall(BenchTimerDestroy(s->timer));
  PetscCall(BenchClose(s->bench));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Scaling *s, Bench *bench)
{
  PetscBool given;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(defaults); k++) {
    PetscCall(PetscOptionsHasName(NULL, NULL, defaults[k][0], &given));
    if (!given) PetscCall(PetscOptionsSetValue(NULL, defaults[k][0], defaults[k][1]));
  }
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Solves on several GPUs", NULL);
  PetscCall(BenchOptions(bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(bench, PetscOptionsObject));
  PetscCall(BenchOptionsRepetitions(bench, PetscOptionsObject));
  PetscCall(PetscOptionsString("-competitor", "Type to compare with", NULL, competitor, competitor, sizeof(competitor), NULL));
  PetscCall(PetscOptionsStringArray("-competitor_cases", "Cases that it runs", NULL, competitor_cases, &num_competitor_cases, &given));
  PetscCall(PetscOptionsBool("-levels", "Table of where the time of a cycle goes", NULL, s->levels, &s->levels, NULL));
  PetscCall(PetscOptionsBool("-phases", "Table of where the time of a setup goes", NULL, s->phases, &s->phases, NULL));
  PetscOptionsEnd();
  if (!given) {
    num_competitor_cases = 1;
    PetscCall(PetscStrallocpy(default_cases[0], &competitor_cases[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench   bench = {.repetitions = 3};
  Scaling s     = {.bench = &bench, .comm = MPI_COMM_NULL, .size = 1, .levels = PETSC_TRUE, .phases = PETSC_TRUE};

  PetscFunctionBeginUser;
  PetscCall(BenchInitializeParallel(&argc, &argv, help, &bench));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ReadOptions(&s, &bench));
  s.comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_rank(s.comm, &s.rank));
  PetscCallMPI(MPI_Comm_size(s.comm, &s.size));
  PetscCall(Run(&s));
  for (PetscInt k = 0; k < MAX_CASES; k++) PetscCall(PetscFree(competitor_cases[k]));
  PetscCall(PetscFinalize());
  return 0;
}
