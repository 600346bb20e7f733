static char help[] = "Times the forward product's kernels against cuSPARSE and the floors, on matrices generated on the device.\n\
  -cases a,b,c      : only these\n\
  -output file      : result records as JSON Lines, appended\n\
  -commit id        : for the records\n\
  -sweep            : the time of every launch configuration instead of the records; make CFLAGS=-DSPMV_SWEEP CUDAFLAGS=-DSPMV_SWEEP compiles more\n\
  -carveout n       : percentage of shared memory that kernels ask for; -1: what they need, -2: the driver's choice\n\
  -samples n        : samples of one measurement at most\n\
  -fragmented bool  : also the same matrix in 4 segments a row (default yes)\n";

#include "../../src/mat/kernels/spmv/spmvrule.h"
#include "../common/benchcusparse.h"
#include "../common/benchmatrix.h"
#include "../common/benchrecord.h"
#include "../common/benchtime.h"
#include "spmvfloor.h"
#include <petscsparsecuda/convert.h>

#define FRAGMENTED_SEGMENTS 4
#define FRAGMENTED_SLACK    2
#define TOLERANCE           1e-12 /* of the sum of absolute values of a row */

/* All that one case needs. */
typedef struct {
  BenchMatrix   matrix;
  BenchTimer    timer;
  BenchRecorder recorder;
  cudaStream_t  stream;
  PetscReal     bandwidth; /* bytes a microsecond of a copy */
  PetscScalar  *x, *y, *reference;
  PetscReal    *bound;
  PetscInt      failures;
} Bench;

typedef struct {
  DCSRSpMVPlan       plan;
  DCSRView           view;
  const PetscScalar *x;
  PetscScalar       *y;
} Product;

static PetscErrorCode ProductRun(void *ctx, cudaStream_t stream)
{
  Product *p = (Product *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVApply(p->plan, p->view, p->x, NULL, p->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One call into a y full of NaN, compared with the reference. */
static PetscErrorCode Check(Bench *b, const char what[], BenchFn *fn, void *ctx)
{
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(BenchVectorSet(b->matrix.view.num_rows, (PetscScalar)NAN, b->y, b->stream));
  PetscCall((*fn)(ctx, b->stream));
  PetscCall(BenchCompare(b->matrix.view.num_rows, b->y, b->reference, b->bound, b->stream, &error));
  if (error > TOLERANCE) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG: %s on %s, relative error %g\n", what, b->matrix.name, (double)error));
    b->failures++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* us[0] cold, us[1] warm */
static PetscErrorCode Measure(Bench *b, BenchFn *fn, void *ctx, PetscReal us[2])
{
  PetscFunctionBegin;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, fn, ctx, us));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_FALSE, fn, ctx, us + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureOurs(Bench *b, DCSRView view, PetscReal us[2])
{
  Product     p = {NULL, view, b->x, b->y};
  const char *info;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, b->stream, &p.plan));
  PetscCall(DCSRSpMVPlanGetInfo(p.plan, NULL, NULL, NULL, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", info));
  PetscCall(Check(b, info, ProductRun, &p));
  PetscCall(Measure(b, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.plan, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best algorithm of cuSPARSE, cold and warm separately. */
static PetscErrorCode MeasureCusparse(Bench *b, PetscReal us[2], const char *names[2])
{
  PetscFunctionBegin;
  us[0] = us[1] = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < BENCH_CUSPARSE_ALGORITHMS; i++) {
    BenchCusparse c;
    PetscReal     t[2];

    PetscCall(BenchCusparseCreate(b->matrix.view, CUSPARSE_OPERATION_NON_TRANSPOSE, i, b->x, b->y, b->stream, &c));
    PetscCall(Check(b, BenchCusparseNames[i], BenchCusparseRun, &c));
    PetscCall(Measure(b, BenchCusparseRun, &c, t));
    PetscCall(BenchCusparseDestroy(&c, b->stream));
    for (PetscInt k = 0; k < 2; k++) {
      if (t[k] >= us[k]) continue;
      us[k]    = t[k];
      names[k] = BenchCusparseNames[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureFloor(Bench *b, PetscReal us[2])
{
  PetscCount matrix, rest;

  PetscFunctionBegin;
  PetscCall(SpMVFloorBytes(b->matrix.view, &matrix, &rest));
  for (PetscInt k = 0; k < 2; k++) {
    us[k] = (PetscReal)matrix / b->bandwidth;
    if (b->matrix.irregular) PetscCall(SpMVFloorGather(&b->timer, k == 0 ? PETSC_TRUE : PETSC_FALSE, b->matrix.view, b->x, us + k));
    us[k] += (PetscReal)rest / b->bandwidth;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in pieces: view and its arrays. */
static PetscErrorCode FragmentedCreate(Bench *b, DCSRView *view)
{
  const DCSRView *from = &b->matrix.view;
  int32_t        *segments;

  PetscFunctionBegin;
  *view              = *from;
  view->row_offsets  = NULL;
  view->max_segments = FRAGMENTED_SEGMENTS;
  view->pitch        = (from->num_rows + 31) / 32 * 32;
  PetscCall(DCSRFragmentCapacity(*from, FRAGMENTED_SEGMENTS, FRAGMENTED_SLACK, b->stream, &view->capacity));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented values", b->stream, &view->values));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented columns", b->stream, &view->columns));
  PetscCall(PetscSparseCUDAMalloc(from->num_rows, "fragmented row sizes", b->stream, &view->row_sizes));
  PetscCall(PetscSparseCUDAMalloc(2 * view->pitch * FRAGMENTED_SEGMENTS, "fragmented segments", b->stream, &segments));
  view->segments = segments;
  PetscCall(DCSRFragment(*from, FRAGMENTED_SLACK, view, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FragmentedDestroy(Bench *b, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&view->values, b->stream));
  PetscCall(PetscSparseCUDAFree(&view->columns, b->stream));
  PetscCall(PetscSparseCUDAFree(&view->row_sizes, b->stream));
  PetscCall(PetscSparseCUDAFree(&view->segments, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRecords(Bench *b, PetscBool fragmented)
{
  static const char *const metrics[2] = {"time-cold", "time-warm"};
  const char              *names[2]   = {NULL, NULL};
  PetscReal                ours[2], best[2], bound[2];

  PetscFunctionBegin;
  PetscCall(MeasureOurs(b, b->matrix.view, ours));
  PetscCall(MeasureCusparse(b, best, names));
  PetscCall(MeasureFloor(b, bound));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-12s %-22s ours %9.2f us  best %9.2f us (%s)  floor %9.2f us  ratio %5.2f  of floor %5.3f\n", b->matrix.name, metrics[k], (double)ours[k], (double)best[k], names[k], (double)bound[k],
                          (double)(best[k] / ours[k]), (double)(bound[k] / ours[k])));
    PetscCall(BenchRecorderAdd(&b->recorder, b->matrix.name, metrics[k], "us", ours[k], best[k], names[k], bound[k]));
  }
  if (fragmented) {
    static const char *const fragmented_metrics[2] = {"time-fragmented-cold", "time-fragmented-warm"};
    DCSRView                 view;
    PetscReal                us[2];

    PetscCall(FragmentedCreate(b, &view));
    PetscCall(MeasureOurs(b, view, us));
    PetscCall(FragmentedDestroy(b, &view));
    for (PetscInt k = 0; k < 2; k++) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-12s %-22s ours %9.2f us  of the compact rate %5.3f\n", b->matrix.name, fragmented_metrics[k], (double)us[k], (double)(ours[k] / us[k])));
      PetscCall(BenchRecorderAdd(&b->recorder, b->matrix.name, fragmented_metrics[k], "us", us[k], ours[k], "compact", bound[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every configuration of a view: a line each for the sweep's reader. Those far behind are not measured warm. */
static PetscErrorCode CaseSweepView(Bench *b, DCSRView view, PetscReal bound)
{
  const PetscBool compact = view.row_offsets ? PETSC_TRUE : PETSC_FALSE;
  PetscReal       best    = PETSC_MAX_REAL;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(SpMVConfigGetCount(compact, &n));
  for (PetscInt i = 0; i < n; i++) {
    Product    p = {NULL, view, b->x, b->y};
    SpMVConfig c;
    PetscReal  us[2] = {0, 0};

    PetscCall(SpMVConfigGet(compact, i, &c));
    PetscCall(DCSRSpMVPlanCreateWithConfig(view, &c, b->stream, &p.plan));
    PetscCall(Check(b, DCSRSpMVKinds[c.kind], ProductRun, &p));
    PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, ProductRun, &p, us));
    best = PetscMin(best, us[0]);
    if (us[0] < 1.3 * best) PetscCall(BenchTimerMeasure(&b->timer, PETSC_FALSE, ProductRun, &p, us + 1));
    PetscCall(DCSRSpMVPlanDestroy(&p.plan, b->stream));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "sweep %-12s %-10s lanes %2d threads %3d items %2d vec %d load %d resident %4d  cold %9.2f warm %9.2f us  of floor %5.3f\n", b->matrix.name, DCSRSpMVKinds[c.kind], c.lanes, c.threads, c.items, c.vec, c.load,
                          c.resident, (double)us[0], (double)us[1], (double)(bound / us[0])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseSweep(Bench *b, PetscBool fragmented)
{
  PetscCount matrix, rest;
  PetscReal  bound;

  PetscFunctionBegin;
  PetscCall(SpMVFloorBytes(b->matrix.view, &matrix, &rest));
  bound = (PetscReal)(matrix + rest) / b->bandwidth;
  PetscCall(CaseSweepView(b, b->matrix.view, bound));
  if (fragmented) {
    DCSRView view;

    PetscCall(FragmentedCreate(b, &view));
    PetscCall(CaseSweepView(b, view, bound));
    PetscCall(FragmentedDestroy(b, &view));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(Bench *b, const char name[], PetscBool sweep, PetscBool fragmented)
{
  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(name, b->stream, &b->matrix));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s; %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros\n", b->matrix.name, b->matrix.what, b->matrix.view.num_rows, b->matrix.view.num_columns, b->matrix.view.num_nonzeros));
  PetscCall(BenchVectorCreate(b->matrix.view.num_columns, 2, b->stream, &b->x));
  PetscCall(BenchVectorCreate(b->matrix.view.num_rows, 3, b->stream, &b->y));
  PetscCall(PetscSparseCUDAMalloc(b->matrix.view.num_rows, "reference", b->stream, &b->reference));
  PetscCall(PetscSparseCUDAMalloc(b->matrix.view.num_rows, "rounding bound", b->stream, &b->bound));
  PetscCall(BenchReferenceMult(b->matrix.view, PETSC_FALSE, b->x, NULL, b->reference, b->bound, b->stream));
  if (sweep) PetscCall(CaseSweep(b, fragmented));
  else PetscCall(CaseRecords(b, fragmented));
  PetscCall(PetscSparseCUDAFree(&b->x, b->stream));
  PetscCall(PetscSparseCUDAFree(&b->y, b->stream));
  PetscCall(PetscSparseCUDAFree(&b->reference, b->stream));
  PetscCall(PetscSparseCUDAFree(&b->bound, b->stream));
  PetscCall(BenchMatrixDestroy(&b->matrix, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  char               output[PETSC_MAX_PATH_LEN] = "", commit[64] = "";
  char              *chosen[64];
  const char *const *names;
  PetscInt           n, carveout = SpMVCarveout, num_chosen = PETSC_STATIC_ARRAY_LENGTH(chosen);
  PetscBool          sweep = PETSC_FALSE, fragmented = PETSC_TRUE, cases;
  Bench              b;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscSparseCUDAGetStream(&b.stream));
  PetscCall(BenchTimerCreate(b.stream, &b.timer));
  PetscCall(BenchMatrixGetNames(&n, &names));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Forward product benchmark", NULL);
  PetscCall(PetscOptionsString("-output", "File of result records", NULL, output, output, sizeof(output), NULL));
  PetscCall(PetscOptionsString("-commit", "Commit for the records", NULL, commit, commit, sizeof(commit), NULL));
  PetscCall(PetscOptionsBool("-sweep", "Time every launch configuration", NULL, sweep, &sweep, NULL));
  PetscCall(PetscOptionsBool("-fragmented", "Also fragmented storage", NULL, fragmented, &fragmented, NULL));
  PetscCall(PetscOptionsInt("-carveout", "Percentage of shared memory", NULL, carveout, &carveout, NULL));
  PetscCall(PetscOptionsInt("-samples", "Samples of one measurement at most", NULL, b.timer.samples, &b.timer.samples, NULL));
  PetscCall(PetscOptionsReal("-budget", "Microseconds of one measurement", NULL, b.timer.budget_us, &b.timer.budget_us, NULL));
  PetscCall(PetscOptionsStringArray("-cases", "Cases", NULL, chosen, &num_chosen, &cases));
  PetscOptionsEnd();
  SpMVCarveout = (int)carveout;
  PetscCall(BenchRecorderCreate("spmv", output, commit, &b.recorder));
  PetscCall(BenchTimerCopyBandwidth(&b.timer, &b.bandwidth));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, driver %s, CUDA %s, copy bandwidth %.3f TB/s\n", b.recorder.gpu, b.recorder.driver, b.recorder.cuda, (double)b.bandwidth * 1e-6));
  for (PetscInt i = 0; i < (cases ? num_chosen : n); i++) PetscCall(Case(&b, cases ? chosen[i] : names[i], sweep, fragmented));
  for (PetscInt i = 0; cases && i < num_chosen; i++) PetscCall(PetscFree(chosen[i]));
  PetscCall(BenchRecorderDestroy(&b.recorder));
  PetscCall(BenchTimerDestroy(&b.timer));
  PetscCheck(b.failures == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " wrong results", b.failures);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Run());
  PetscCall(PetscFinalize());
  return 0;
}
