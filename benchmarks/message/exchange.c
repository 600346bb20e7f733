static char
  help[] = "The exchange of ghost values between GPUs that stand in a row: PETSc's VecScatter, and a direct one by CUDA IPC; mpiexec -n 2 exchange. Writes records as JSON Lines (docs/measuring.md).\n\
  -cases n200,... : nN: N^2 values for each neighbor\n\
  -output file    : result records, appended\n\
  -commit id      : for the records\n\n";

/*
  A step is an exchange and a kernel that uses what has come. All ways do the same steps from the same values and must end with the same ones. Times are medians until the slowest process is done, and
  for the host until all steps are queued.
*/
#include "direct.h"
#include "common/bench.h"
#include <petscsparsecuda.h>
#include <petsctime.h>
#include <petscvec.h>
#include "../../src/petsc/sys.h"

#define SAMPLES 11
#define STEPS   100                                                 /* of a sample */
#define REALS   (PetscInt)(sizeof(PetscScalar) / sizeof(PetscReal)) /* of a value */

/* The ways, VecScatter first. */
typedef enum {
  SCATTER,
  DIRECT,
  DIRECT_FUSED, /* the kernel waits by itself */
  NUM_WAYS
} Way;

static const char *const WAYS[] = {"vecscatter", "direct", "direct-fused"};

typedef struct {
  PetscInt     n; /* values of a side */
  Vec          x, ghosts;
  VecScatter   scatter;
  Direct       direct;
  PetscScalar *array; /* [2 n] of x: its first values are for the process before, the last ones for the one after */
  PetscMPIInt  rank, size;
  cudaStream_t stream;
} Exchange;

/* The plane behind each end of this process, where there is one. */
static PetscErrorCode CreateScatter(Exchange *e)
{
  const PetscInt n = e->n, before = e->rank > 0 ? n : 0, after = e->rank < e->size - 1 ? n : 0, begin = 2 * n * e->rank;
  IS             parts[2], is;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, before, begin - n, 1, &parts[0]));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, after, begin + 2 * n, 1, &parts[1]));
  PetscCall(ISConcatenate(PETSC_COMM_SELF, 2, parts, &is));
  PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, before + after, &e->ghosts));
  PetscCall(VecScatterCreate(e->x, is, e->ghosts, NULL, &e->scatter));
  PetscCall(ISDestroy(&is));
  for (int k = 0; k < 2; k++) PetscCall(ISDestroy(&parts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt n, Exchange *e)
{
  PetscFunctionBegin;
  e->n = n;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &e->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &e->size));
  PetscCall(PetscSparseCUDAGetStream(&e->stream));
  PetscCall(VecCreateMPICUDA(PETSC_COMM_WORLD, 2 * n, PETSC_DECIDE, &e->x));
  PetscCall(CreateScatter(e));
  PetscCall(DirectCreate(PETSC_COMM_WORLD, REALS * n, &e->direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Exchange *e)
{
  PetscFunctionBegin;
  PetscCall(DirectDestroy(&e->direct));
  PetscCall(VecScatterDestroy(&e->scatter));
  PetscCall(VecDestroy(&e->ghosts));
  PetscCall(VecDestroy(&e->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScatterStep(Exchange *e)
{
  const PetscScalar *ghosts;
  PetscScalar       *x;

  PetscFunctionBegin;
  PetscCall(VecScatterBegin(e->scatter, e->x, e->ghosts, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(e->scatter, e->x, e->ghosts, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecCUDAGetArrayRead(e->ghosts, &ghosts));
  PetscCall(VecCUDAGetArray(e->x, &x));
  {
    const PetscBool        before = (PetscBool)(e->rank > 0), after = (PetscBool)(e->rank < e->size - 1);
    const PetscReal *const from[] = {before ? (const PetscReal *)ghosts : NULL, after ? (const PetscReal *)(ghosts + (before ? e->n : 0)) : NULL};
    PetscReal *const       to[]   = {(PetscReal *)x, (PetscReal *)(x + e->n)};

    PetscCall(ExchangeConsume(REALS * e->n, from, to, e->stream));
  }
  PetscCall(VecCUDARestoreArray(e->x, &x));
  PetscCall(VecCUDARestoreArrayRead(e->ghosts, &ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DirectStep(Exchange *e, PetscBool fused)
{
  PetscReal *first = (PetscReal *)e->array, *last = (PetscReal *)(e->array + e->n);

  PetscFunctionBegin;
  PetscCall(DirectPut(e->direct, first, last, e->stream));
  if (!fused) PetscCall(DirectWait(e->direct, e->stream));
  PetscCall(DirectConsume(e->direct, fused, first, last, e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sample: microseconds of a step until it is done, and until it is queued. */
static PetscErrorCode Steps(Exchange *e, Way way, PetscReal *us, PetscReal *host_us)
{
  PetscLogDouble begin, queued, end;

  PetscFunctionBegin;
  if (way != SCATTER) PetscCall(VecCUDAGetArray(e->x, &e->array));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&begin));
  for (int k = 0; k < STEPS; k++) {
    if (way == SCATTER) PetscCall(ScatterStep(e));
    else PetscCall(DirectStep(e, (PetscBool)(way == DIRECT_FUSED)));
  }
  PetscCall(PetscTime(&queued));
  PetscCall(BenchNow(&end));
  if (way != SCATTER) PetscCall(VecCUDARestoreArray(e->x, &e->array));
  *us      = (PetscReal)((end - begin) * 1e6 / STEPS);
  *host_us = (PetscReal)((queued - begin) * 1e6 / STEPS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, us, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, host_us, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(DirectCheck(e->direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureWay(Exchange *e, Way way, PetscReal *us, PetscReal *host_us)
{
  PetscReal samples[SAMPLES], host_samples[SAMPLES];

  PetscFunctionBegin;
  for (int k = -1; k < SAMPLES; k++) { // the first one warms up
    PetscCall(Steps(e, way, us, host_us));
    if (k < 0) continue;
    samples[k]      = *us;
    host_samples[k] = *host_us;
  }
  PetscCall(BenchMedian(SAMPLES, samples, us));
  PetscCall(BenchMedian(SAMPLES, host_samples, host_us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that all ways begin with. */
static PetscErrorCode Fill(Exchange *e)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetSeed(random, 7));
  PetscCall(PetscRandomSeed(random));
  PetscCall(VecSetRandom(e->x, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few steps, so that values do not vanish: the ends are the same bit for bit. */
static PetscErrorCode Compare(Exchange *e, Bench *bench, const char name[])
{
  PetscBool same;
  Vec       expected;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(e->x, &expected));
  for (int way = 0; way < NUM_WAYS; way++) {
    PetscCall(Fill(e));
    for (int k = 0; k < 9; k++) {
      if (way == SCATTER) PetscCall(ScatterStep(e));
      else {
        PetscCall(VecCUDAGetArray(e->x, &e->array));
        PetscCall(DirectStep(e, (PetscBool)(way == DIRECT_FUSED)));
        PetscCall(VecCUDARestoreArray(e->x, &e->array));
      }
    }
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(DirectCheck(e->direct));
    if (way == SCATTER) PetscCall(VecCopy(e->x, expected));
    PetscCall(VecEqual(e->x, expected, &same));
    if (!same) PetscCall(BenchWrong(bench, "%s: %s differs from VecScatter", name, WAYS[way]));
  }
  PetscCall(VecDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(Bench *bench, const char name[])
{
  const PetscInt edge = (PetscInt)strtol(name + 1, NULL, 10);
  PetscReal      us[NUM_WAYS], host_us[NUM_WAYS];
  Exchange       e;

  PetscFunctionBegin;
  PetscCheck(name[0] == 'n' && edge > 0 && edge <= 4096, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "A case is called nN, with a number N from 1 to 4096, and not %s", name);
  PetscCall(Create(edge * edge, &e));
  PetscCall(Compare(&e, bench, name));
  for (int way = 0; way < NUM_WAYS; way++) PetscCall(MeasureWay(&e, (Way)way, &us[way], &host_us[way]));
  for (int way = DIRECT; way < NUM_WAYS && e.rank == 0; way++) {
    char metric[64];

    PetscCall(PetscSNPrintf(metric, sizeof(metric), "time-%s", WAYS[way]));
    PetscCall(BenchRecord(bench, name, metric, "us", us[way], us[SCATTER], WAYS[SCATTER], -1));
    PetscCall(PetscSNPrintf(metric, sizeof(metric), "host-%s", WAYS[way]));
    PetscCall(BenchRecord(bench, name, metric, "us", host_us[way], host_us[SCATTER], WAYS[SCATTER], -1));
  }
  PetscCall(Destroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *cases[] = {"n32", "n100", "n200", "n320"}; // coarse levels, and the finest ones of scaling
  const char *const *names   = cases;
  PetscInt           n       = PETSC_STATIC_ARRAY_LENGTH(cases);
  PetscMPIInt        rank, size;
  PetscBool          usable;
  Bench              bench = {.recorder = {.benchmark = NULL}};

  PetscFunctionBeginUser;
  PetscCall(BenchInitializeParallel(&argc, &argv, help, &bench));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The exchange of ghost values", NULL);
  PetscCall(BenchOptions(&bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&bench, PetscOptionsObject));
  PetscOptionsEnd();
  if (size < 2 || !usable) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "an exchange needs two processes with GPUs: mpiexec -n 2\n"));
  else {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d processes; MPI is%s given device memory\n", size, use_gpu_aware_mpi ? "" : " not"));
    if (rank == 0) PetscCall(BenchRecorderCreate("exchange", bench.output, bench.commit, &bench.recorder));
    bench.recorder.gpus = size;
    PetscCall(BenchGetCases(&bench, &n, &names));
    for (PetscInt k = 0; k < n; k++) PetscCall(Measure(&bench, names[k]));
    PetscCall(BenchClose(&bench));
  }
  PetscCall(PetscFinalize());
  return 0;
}
