static char help[] = "Matrix operations through the PETSc API: dcsrcuda against aijcusparse, in one process, on the same matrices.\n\
Writes one record a case and metric as JSON Lines (docs/measuring.md).\n\
  -output (file)       where the records go; standard output without it; -o for short\n\
  -commit (hash)       what the records name as commit\n\
  -case (substring)    only the cases whose name contains it\n\
  -large               also 2d5-4096 and 3d7-256\n\
  -gamg_n (n)          grid of the 27-point problem whose PCGAMG levels are the cases gamg-l1..., gamg-p1...; 0: none\n\
  -competitor (type)   the type to compare with\n\
  -check_only          builds and compares, measures nothing; needs no GPU\n\n";

/*
  Times are medians. "warm" repeats one operation back to back, which is what a Krylov method sees, the host's part included where the device waits for
  it; "cold" is the device's part alone, of one operation whose operands are not in the L2 cache.
*/

#include <petscksp.h>
#include <petsctime.h>
#include <petscsparsecuda.h>
#include "../common/bench.h"

#define MAX_SAMPLES  25
#define CPU_CALLS    32   // calls issued in a row to measure their CPU cost: far below what a launch queue holds
#define BATCH_TIME   0.02 // seconds that one batch of warm repetitions should last
#define MAX_BATCH    2000
#define AGREE_FACTOR 1000 // results agree when they differ by less than this many machine epsilons, relative

// What is done once per call; x has the columns' layout, y the rows'.
typedef PetscErrorCode (*OperationFn)(Mat, Vec, Vec);

typedef enum {
  WARM,
  COLD,
  CPU,
  WALL
} Clock;

typedef struct {
  const char *metric;
  OperationFn operation;
  Clock       clock;
  PetscBool   floor; // the product's bytes are a bound for it
} Metric;

static char      competitor[64] = "aijcusparse"; // -competitor
static PetscBool check_only     = PETSC_FALSE;   // -check_only

static PetscErrorCode Mult(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTranspose(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(A, y, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Twice, so that the values stay what they were.
static PetscErrorCode ScaleTwice(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatScale(A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// With a product, since a copy on the host that is uploaded at its first use is not finished before that.
static PetscErrorCode DuplicateAndMult(Mat A, Vec x, Vec y)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Metric metrics[] = {
  {"mult-time", Mult, WARM, PETSC_TRUE},
  {"mult-time-cold", Mult, COLD, PETSC_TRUE},
  {"mult-cpu", Mult, CPU, PETSC_FALSE},
  {"multtranspose-time", MultTranspose, WARM, PETSC_TRUE},
  {"multtranspose-time-cold", MultTranspose, COLD, PETSC_TRUE},
  {"multtranspose-cpu", MultTranspose, CPU, PETSC_FALSE},
  {"getdiagonal-time", GetDiagonal, WALL, PETSC_FALSE},
  {"scale-twice-time", ScaleTwice, WALL, PETSC_FALSE},
  {"duplicate-mult-time", DuplicateAndMult, WALL, PETSC_FALSE},
};
#define NUM_METRICS ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(metrics))

// Seconds of host time for calls operations, and seconds until the device has finished them.
static PetscErrorCode TimeCalls(Bench *bench, OperationFn operation, PetscInt calls, Mat A, Vec x, Vec y, double *issued, double *finished)
{
  PetscLogDouble begin, end, done;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(bench->stream));
  PetscCall(PetscTime(&begin));
  for (PetscInt i = 0; i < calls; i++) PetscCall(operation(A, x, y));
  PetscCall(PetscTime(&end));
  PetscCallCUDA(cudaStreamSynchronize(bench->stream));
  PetscCall(PetscTime(&done));
  *issued   = end - begin;
  *finished = done - begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Seconds between two events around calls operations.
static PetscErrorCode TimeEvents(Bench *bench, OperationFn operation, PetscInt calls, Mat A, Vec x, Vec y, double *seconds)
{
  float milliseconds;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventRecord(bench->timer.begin, bench->stream));
  for (PetscInt i = 0; i < calls; i++) PetscCall(operation(A, x, y));
  PetscCallCUDA(cudaEventRecord(bench->timer.end, bench->stream));
  PetscCallCUDA(cudaEventSynchronize(bench->timer.end));
  PetscCallCUDA(cudaEventElapsedTime(&milliseconds, bench->timer.begin, bench->timer.end));
  *seconds = 1e-3 * milliseconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  OperationFn operation;
  Mat         A;
  Vec         x, y;
} Operation;

static PetscErrorCode OperationRun(void *ctx, cudaStream_t stream)
{
  Operation *o = (Operation *)ctx;

  PetscFunctionBegin;
  PetscCall((*o->operation)(o->A, o->x, o->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Measure - median seconds of one operation by the metric's clock. The first calls warm everything up and tell how many repetitions make a batch.
*/
static PetscErrorCode Measure(Bench *bench, const Metric *metric, Mat A, Vec x, Vec y, double *seconds)
{
  PetscReal samples[MAX_SAMPLES], median;
  PetscInt  num_samples = metric->clock == WARM ? 7 : metric->clock == WALL ? 11 : MAX_SAMPLES, calls;
  double    issued, finished, elapsed = 0;

  PetscFunctionBegin;
  PetscCall(TimeCalls(bench, metric->operation, 2, A, x, y, &issued, &finished));
  PetscCall(TimeCalls(bench, metric->operation, 3, A, x, y, &issued, &finished));
  if (metric->clock == COLD) {
    Operation operation = {metric->operation, A, x, y};
    PetscReal us;

    PetscCall(BenchTimerMeasure(&bench->timer, PETSC_TRUE, OperationRun, &operation, &us));
    *seconds = 1e-6 * (double)us;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  calls = (PetscInt)PetscClipInterval(BATCH_TIME * 3 / finished, 3.0, (double)MAX_BATCH);
  for (PetscInt i = 0; i < num_samples; i++) {
    switch (metric->clock) {
    case COLD:
    case WARM:
      PetscCall(TimeEvents(bench, metric->operation, calls, A, x, y, &elapsed));
      elapsed /= calls;
      break;
    case CPU:
      PetscCall(TimeCalls(bench, metric->operation, CPU_CALLS, A, x, y, &elapsed, &finished));
      elapsed /= CPU_CALLS;
      break;
    case WALL:
      PetscCall(TimeCalls(bench, metric->operation, 1, A, x, y, &issued, &elapsed));
      break;
    }
    samples[i] = (PetscReal)elapsed;
  }
  PetscCall(BenchMedian(num_samples, samples, &median));
  *seconds = (double)median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyIntoHostVector(Vec from, Vec to)
{
  const PetscScalar *source;
  PetscScalar       *target;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(from, &n));
  PetscCall(VecGetArrayRead(from, &source));
  PetscCall(VecGetArrayWrite(to, &target));
  PetscCall(PetscArraycpy(target, source, n));
  PetscCall(VecRestoreArrayWrite(to, &target));
  PetscCall(VecRestoreArrayRead(from, &source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares with the host's answer.
static PetscErrorCode CheckAgrees(const char name[], const char what[], MatType type, Vec result, Vec reference)
{
  Vec       difference;
  PetscReal error, norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(reference, &difference));
  PetscCall(CopyIntoHostVector(result, difference));
  PetscCall(VecAXPY(difference, -1.0, reference));
  PetscCall(VecNorm(difference, NORM_2, &error));
  PetscCall(VecNorm(reference, NORM_2, &norm));
  PetscCheck(error <= AGREE_FACTOR * PETSC_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %s: %s of %s differs from the host's by %g relative", name, what, type,
             (double)(error / norm));
  PetscCall(VecDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Checks B, a copy of the host matrix A in the type to be measured, operation by operation.
static PetscErrorCode CheckType(const char name[], Mat A, Mat B, Vec x_host, Vec y_host, Vec x, Vec y)
{
  Vec      reference_x, reference_y;
  MatType  type;
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetType(B, &type));
  PetscCall(MatGetSize(B, &m, &n));
  PetscCall(VecDuplicate(x_host, &reference_x));
  PetscCall(VecDuplicate(y_host, &reference_y));
  PetscCall(MatMult(A, x_host, reference_y));
  PetscCall(MatMult(B, x, y));
  PetscCall(CheckAgrees(name, "MatMult()", type, y, reference_y));
  PetscCall(MatMultTranspose(A, y_host, reference_x));
  PetscCall(VecCopy(y_host, y));
  PetscCall(MatMultTranspose(B, y, x));
  PetscCall(CheckAgrees(name, "MatMultTranspose()", type, x, reference_x));
  if (m == n) {
    PetscCall(MatGetDiagonal(A, reference_y));
    PetscCall(MatGetDiagonal(B, y));
    PetscCall(CheckAgrees(name, "MatGetDiagonal()", type, y, reference_y));
  }
  PetscCall(VecDestroy(&reference_x));
  PetscCall(VecDestroy(&reference_y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MeasureType - seconds[NUM_METRICS] of the host matrix A as type; negative where the metric does not apply. Errors out when the results are not the host's.
*/
static PetscErrorCode MeasureType(Bench *bench, const char name[], Mat A, Vec x_host, Vec y_host, MatType type, double seconds[])
{
  Mat      B;
  Vec      x, y;
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetSize(B, &m, &n));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecCopy(x_host, x));
  PetscCall(CheckType(name, A, B, x_host, y_host, x, y));
  for (PetscInt i = 0; i < NUM_METRICS; i++) {
    seconds[i] = -1;
    if (check_only || (metrics[i].operation == GetDiagonal && m != n)) continue;
    // every metric starts from the same vectors
    PetscCall(VecCopy(x_host, x));
    PetscCall(VecCopy(y_host, y));
    PetscCall(Measure(bench, &metrics[i], B, x, y, &seconds[i]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One case: the host matrix A in both types.
static PetscErrorCode RunCase(Bench *bench, const char name[], Mat A)
{
  Vec       x, y;
  MatInfo   info;
  PetscInt  m, n;
  PetscBool wants;
  PetscReal matrix;
  double    ours[PETSC_STATIC_ARRAY_LENGTH(metrics)], best[PETSC_STATIC_ARRAY_LENGTH(metrics)];

  PetscFunctionBegin;
  PetscCall(BenchWants(bench, name, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(y, NULL));
  if (!check_only) PetscCall(MeasureType(bench, name, A, x, y, competitor, best));
  PetscCall(MeasureType(bench, name, A, x, y, MATSEQAIJDCSRCUDA, ours));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  if (check_only) PetscFunctionReturn(PETSC_SUCCESS);

  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  matrix = (PetscReal)info.nz_used * (PetscReal)(sizeof(PetscScalar) + sizeof(int32_t)) + (PetscReal)sizeof(int32_t) * ((PetscReal)m + 1);
  for (PetscInt i = 0; i < NUM_METRICS; i++) {
    const PetscBool transpose = (PetscBool)(metrics[i].operation == MultTranspose);
    const PetscReal read = matrix + (PetscReal)sizeof(PetscScalar) * (PetscReal)(transpose ? m : n), written = (PetscReal)sizeof(PetscScalar) * (PetscReal)(transpose ? n : m);
    PetscReal       bound = -1;

    if (ours[i] < 0) continue;
    if (metrics[i].floor) bound = metrics[i].clock == COLD ? BenchFloor(bench, read, written) : BenchFloorWarm(bench, read, written);
    PetscCall(BenchRecorderAdd(&bench->recorder, name, metrics[i].metric, "us", (PetscReal)(1e6 * ours[i]), (PetscReal)(1e6 * best[i]), competitor, PETSC_FALSE, bound));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  StencilCreate - Poisson's matrix on n^dim points: 2 dim + 1 points a row, or all 3^dim neighbors when full.
*/
static PetscErrorCode StencilCreate(PetscInt dim, PetscBool full, PetscInt n, Mat *A)
{
  const PetscInt nz         = dim == 3 ? n : 1;
  const PetscInt depth      = dim == 3 ? 1 : 0;
  const PetscInt num_rows   = n * n * nz;
  const PetscInt num_in_row = full ? (dim == 3 ? 27 : 9) : 2 * dim + 1;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, num_rows, num_rows, num_rows, num_rows));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, num_in_row, NULL));
  for (PetscInt row = 0; row < num_rows; row++) {
    const PetscInt x = row % n, y = row / n % n, z = row / n / n;
    PetscInt       columns[27], count = 0;
    PetscScalar    values[27];

    for (PetscInt k = PetscMax(z - depth, 0); k <= PetscMin(z + depth, nz - 1); k++)
      for (PetscInt j = PetscMax(y - 1, 0); j <= PetscMin(y + 1, n - 1); j++)
        for (PetscInt i = PetscMax(x - 1, 0); i <= PetscMin(x + 1, n - 1); i++) {
          const PetscInt distance = PetscAbsInt(k - z) + PetscAbsInt(j - y) + PetscAbsInt(i - x);

          if (!full && distance > 1) continue;
          columns[count]  = (k * n + j) * n + i;
          values[count++] = distance == 0 ? (PetscScalar)(num_in_row - 1) : -1.0;
        }
    PetscCall(MatSetValues(*A, 1, &row, count, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunStencil(Bench *bench, PetscInt dim, PetscBool full, PetscInt n)
{
  const PetscInt num_points = full ? (dim == 3 ? 27 : 9) : 2 * dim + 1;
  Mat            A;
  char           name[64], *found;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "d%" PetscInt_FMT "-%" PetscInt_FMT, dim, num_points, n));
  PetscCall(PetscStrstr(name, bench->only, &found));
  if (found == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StencilCreate(dim, full, n, &A));
  PetscCall(RunCase(bench, name, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RunGAMGLevels - the Galerkin operators gamg-l1, gamg-l2, ... (1 is the first below the finest) and the prolongators gamg-p1, ... (1 leads to the finest) that PCGAMG's
  defaults make of the 27-point problem on n^3 points; gamgN-l1 and so on unless n is 200.
*/
static PetscErrorCode RunGAMGLevels(Bench *bench, PetscInt n)
{
  Mat      A, *operators, *prolongators;
  KSP      ksp;
  PC       pc;
  PetscInt num_levels;
  char     prefix[32] = "gamg", name[64], *found;

  PetscFunctionBegin;
  if (n != 200) PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "gamg%" PetscInt_FMT, n));
  // Whether any case of this family was asked for; the names of all levels begin so.
  PetscCall(PetscStrstr(bench->only, "gamg", &found));
  if (found == NULL && bench->only[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StencilCreate(3, PETSC_TRUE, n, &A));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCGetCoarseOperators(pc, &num_levels, &operators));
  PetscCall(PCGetInterpolations(pc, &num_levels, &prolongators));
  // PETSc numbers the levels from the coarsest.
  for (PetscInt level = 1; level < num_levels; level++) {
    const PetscInt l = num_levels - 1 - level;

    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-l%" PetscInt_FMT, prefix, level));
    PetscCall(RunCase(bench, name, operators[l]));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-p%" PetscInt_FMT, prefix, level));
    PetscCall(RunCase(bench, name, prolongators[l]));
  }
  for (PetscInt l = 0; l < num_levels - 1; l++) {
    PetscCall(MatDestroy(&operators[l]));
    PetscCall(MatDestroy(&prolongators[l]));
  }
  PetscCall(PetscFree(operators));
  PetscCall(PetscFree(prolongators));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunAll(Bench *bench, PetscBool large, PetscInt gamg_n)
{
  PetscFunctionBegin;
  if (!check_only) PetscCall(BenchOpen(bench, "matmult"));
  PetscCall(RunStencil(bench, 2, PETSC_FALSE, 1024));
  PetscCall(RunStencil(bench, 3, PETSC_FALSE, 64));
  PetscCall(RunStencil(bench, 3, PETSC_FALSE, 128));
  PetscCall(RunStencil(bench, 3, PETSC_TRUE, 16));
  PetscCall(RunStencil(bench, 3, PETSC_TRUE, 32));
  if (large) {
    PetscCall(RunStencil(bench, 2, PETSC_FALSE, 4096));
    PetscCall(RunStencil(bench, 3, PETSC_FALSE, 256));
  }
  if (gamg_n > 0) PetscCall(RunGAMGLevels(bench, gamg_n));
  if (bench->num_cases == 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "matmult: no case has '%s' in its name\n", bench->only));
  PetscCall(BenchClose(bench));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     bench  = {.quiet = PETSC_TRUE, .output = "/dev/stdout"};
  PetscBool large  = PETSC_FALSE, usable;
  PetscInt  gamg_n = 100;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &bench));
  PetscCall(PetscSparseCUDAInitialize());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Matrix operations through the PETSc API", NULL);
  PetscCall(BenchOptions(&bench, PetscOptionsObject));
  PetscCall(PetscOptionsString("-case", "Only cases whose name contains this", NULL, bench.only, bench.only, sizeof(bench.only), NULL));
  PetscCall(PetscOptionsString("-competitor", "Type to compare with", NULL, competitor, competitor, sizeof(competitor), NULL));
  PetscCall(PetscOptionsString("-o", "The same as -output", NULL, bench.output, bench.output, sizeof(bench.output), NULL));
  PetscCall(PetscOptionsBool("-large", "Also matrices larger than any cache", NULL, large, &large, NULL));
  PetscCall(PetscOptionsBool("-check_only", "Compare with the host, measure nothing", NULL, check_only, &check_only, NULL));
  PetscCall(PetscOptionsInt("-gamg_n", "Grid of the problem whose PCGAMG levels are measured, 0 for none", NULL, gamg_n, &gamg_n, NULL));
  PetscOptionsEnd();

  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (check_only || usable) PetscCall(RunAll(&bench, large, gamg_n));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "matmult: no usable GPU, nothing measured (-check_only compares the results with the host's)\n"));
  PetscCall(PetscFinalize());
  return 0;
}
