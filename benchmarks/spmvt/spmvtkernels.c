static char help[] = "Times the transpose product's kernels and the explicit transpose against cuSPARSE and the floors, on matrices generated on the device.\n\
  -cases a,b,c      : only these\n\
  -output file      : result records as JSON Lines, appended\n\
  -commit id        : for the records\n\
  -sweep            : the time of every instantiation instead of the records; make CFLAGS=-DSPMV_SWEEP CUDAFLAGS=-DSPMV_SWEEP compiles more\n\
  -samples n        : samples of one measurement at most\n\
  -fragmented bool  : also the same matrix in 4 segments a row (default yes)\n\
  -explicit bool    : also the explicit transpose (default yes)\n";

#include "../../src/mat/kernels/spmvtranspose/spmvtransposeimpl.h"
#include "../common/benchcusparse.h"
#include "../common/benchmatrix.h"
#include "../common/benchrecord.h"
#include "../common/benchtime.h"
#include "spmvtcusparse.h"
#include "spmvtfloor.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/transpose.h>
#include <petscsparsecuda/spmv.h>

#define FRAGMENTED_SEGMENTS 4
#define FRAGMENTED_SLACK    2
#define TOLERANCE           1e-12 /* of the sum of absolute values of a column */

/* All that one case needs. */
typedef struct {
  BenchMatrix   matrix;
  BenchTimer    timer;
  BenchRecorder recorder;
  cudaStream_t  stream;
  PetscReal     bandwidth; /* bytes a microsecond of a copy */
  PetscScalar  *x, *y, *reference;
  PetscReal    *bound;
  PetscReal     best[2]; /* of cuSPARSE, cold and warm */
  const char   *best_names[2];
  PetscReal     floor;
  PetscBool     sweep, fragmented, explicit_transpose;
  PetscInt      failures;
} Bench;

typedef struct {
  DCSRSpMVTransposePlan plan;
  DCSRSpMVPlan          forward; /* instead of plan: the product with the explicit transpose */
  DCSRView              view;
  const PetscScalar    *x;
  PetscScalar          *y;
} Product;

typedef struct {
  DCSRView from, to;
  void    *permutation;
} Transpose;

static PetscErrorCode ProductRun(void *ctx, cudaStream_t stream)
{
  Product *p = (Product *)ctx;

  PetscFunctionBegin;
  if (p->forward) PetscCall(DCSRSpMVApply(p->forward, p->view, p->x, NULL, p->y, stream));
  else PetscCall(DCSRSpMVTransposeApply(p->plan, p->view, PETSC_FALSE, p->x, NULL, p->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SymbolicRun(void *ctx, cudaStream_t stream)
{
  Transpose *t = (Transpose *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRTransposeSymbolic(t->from, t->to, t->permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NumericRun(void *ctx, cudaStream_t stream)
{
  Transpose *t = (Transpose *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRTransposeNumeric(t->from, t->permutation, PETSC_FALSE, t->to.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlanRun(void *ctx, cudaStream_t stream)
{
  DCSRView             *view = (DCSRView *)ctx;
  DCSRSpMVTransposePlan plan;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(*view, DCSR_SPMVT_AUTO, stream, &plan));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One call into a y full of NaN, compared with the reference. */
static PetscErrorCode Check(Bench *b, const char what[], BenchFn *fn, void *ctx)
{
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(BenchVectorSet(b->matrix.view.num_columns, (PetscScalar)NAN, b->y, b->stream));
  PetscCall((*fn)(ctx, b->stream));
  PetscCall(BenchCompare(b->matrix.view.num_columns, b->y, b->reference, b->bound, b->stream, &error));
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

/* Prints and records one metric; best < 0: there is no competitor. */
static PetscErrorCode Record(Bench *b, const char metric[], PetscReal ours, PetscReal best, const char competitor[], PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-12s %-22s ours %9.2f us", b->matrix.name, metric, (double)ours));
  if (best >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  best %9.2f us (%s)  ratio %5.2f", (double)best, competitor, (double)(best / ours)));
  if (bound >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  floor %9.2f us  of floor %5.3f", (double)bound, (double)(bound / ours)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(BenchRecorderAdd(&b->recorder, b->matrix.name, metric, "us", ours, best, competitor, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best algorithm of cuSPARSE, cold and warm separately. */
static PetscErrorCode MeasureCusparse(Bench *b)
{
  PetscFunctionBegin;
  b->best[0] = b->best[1] = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < BENCH_CUSPARSE_ALGORITHMS; i++) {
    BenchCusparse c;
    PetscReal     t[2];

    PetscCall(BenchCusparseCreate(b->matrix.view, CUSPARSE_OPERATION_TRANSPOSE, i, b->x, b->y, b->stream, &c));
    PetscCall(Check(b, BenchCusparseNames[i], BenchCusparseRun, &c));
    PetscCall(Measure(b, BenchCusparseRun, &c, t));
    PetscCall(BenchCusparseDestroy(&c, b->stream));
    for (PetscInt k = 0; k < 2; k++) {
      if (t[k] >= b->best[k]) continue;
      b->best[k]       = t[k];
      b->best_names[k] = BenchCusparseNames[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureOurs(Bench *b, DCSRView view, PetscReal us[2])
{
  Product     p = {NULL, NULL, view, b->x, b->y};
  const char *description;
  size_t      bytes;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_AUTO, b->stream, &p.plan));
  PetscCall(DCSRSpMVTransposePlanGetInfo(p.plan, NULL, &bytes, &description));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s, plan of %.2f bytes a nonzero\n", description, (double)bytes / (double)PetscMax(view.num_nonzeros, 1)));
  PetscCall(Check(b, description, ProductRun, &p));
  PetscCall(Measure(b, ProductRun, &p, us));
  PetscCall(DCSRSpMVTransposePlanDestroy(&p.plan, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The forward product with the same matrix: what the transpose product is held against. */
static PetscErrorCode MeasureForward(Bench *b, PetscReal us[2])
{
  const DCSRView view = b->matrix.view;
  Product        p    = {NULL, NULL, view, NULL, NULL};
  PetscScalar   *x, *y;

  PetscFunctionBegin;
  PetscCall(BenchVectorCreate(view.num_columns, 5, b->stream, &x));
  PetscCall(BenchVectorCreate(view.num_rows, 6, b->stream, &y));
  p.x = x;
  p.y = y;
  PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, b->stream, &p.forward));
  PetscCall(Measure(b, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.forward, b->stream));
  PetscCall(PetscSparseCUDAFree(&x, b->stream));
  PetscCall(PetscSparseCUDAFree(&y, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeCreate(Bench *b, Transpose *t)
{
  const DCSRView from = b->matrix.view;
  int32_t       *row_offsets, *permutation;

  PetscFunctionBegin;
  t->from           = from;
  t->to             = from;
  t->to.num_rows    = from.num_columns;
  t->to.num_columns = from.num_rows;
  PetscCall(PetscSparseCUDAMalloc((PetscCount)t->to.num_rows + 1, "transpose row offsets", b->stream, &row_offsets));
  PetscCall(PetscSparseCUDAMalloc(from.num_nonzeros, "transpose columns", b->stream, &t->to.columns));
  PetscCall(PetscSparseCUDAMalloc(from.num_nonzeros, "transpose values", b->stream, &t->to.values));
  PetscCall(PetscSparseCUDAMalloc(from.num_nonzeros, "permutation", b->stream, &permutation));
  t->to.row_offsets = row_offsets;
  t->permutation    = permutation;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeDestroy(Bench *b, Transpose *t)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&t->to.row_offsets, b->stream));
  PetscCall(PetscSparseCUDAFree(&t->to.columns, b->stream));
  PetscCall(PetscSparseCUDAFree(&t->to.values, b->stream));
  PetscCall(PetscSparseCUDAFree(&t->permutation, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Making and refreshing the explicit transpose, against cuSPARSE, which does both at once. */
static PetscErrorCode RecordTransposing(Bench *b, Transpose *t)
{
  SpMVTCsr2csc c;
  PetscReal    symbolic, numeric, best[2];

  PetscFunctionBegin;
  PetscCall(SpMVTCsr2cscCreate(t->from, t->to, CUSPARSE_ACTION_SYMBOLIC, b->stream, &c));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SpMVTCsr2cscRun, &c, best));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->stream));
  PetscCall(SpMVTCsr2cscCreate(t->from, t->to, CUSPARSE_ACTION_NUMERIC, b->stream, &c));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SpMVTCsr2cscRun, &c, best + 1));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->stream));
  // last, so that the transpose used afterwards is ours
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SymbolicRun, t, &symbolic));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, NumericRun, t, &numeric));
  PetscCall(Record(b, "explicit-symbolic", symbolic, best[0], "cuSPARSE csr2csc", -1));
  PetscCall(Record(b, "explicit-numeric", numeric, best[1], "cuSPARSE csr2csc", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecordExplicit(Bench *b)
{
  static const char *const metrics[2] = {"time-explicit-cold", "time-explicit-warm"};
  Product                  p          = {NULL, NULL, b->matrix.view, b->x, b->y};
  Transpose                t;
  PetscReal                us[2];

  PetscFunctionBegin;
  PetscCall(TransposeCreate(b, &t));
  PetscCall(RecordTransposing(b, &t));
  p.view = t.to;
  PetscCall(DCSRSpMVPlanCreate(t.to, DCSR_SPMV_AUTO, b->stream, &p.forward));
  PetscCall(Check(b, "explicit transpose", ProductRun, &p));
  PetscCall(Measure(b, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.forward, b->stream));
  PetscCall(TransposeDestroy(b, &t));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, metrics[k], us[k], b->best[k], b->best_names[k], b->floor));
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
  view->pitch        = ((PetscCount)from->num_rows + 31) / 32 * 32;
  PetscCall(DCSRFragmentCapacity(*from, FRAGMENTED_SEGMENTS, FRAGMENTED_SLACK, b->stream, &view->capacity));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented values", b->stream, &view->values));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented columns", b->stream, &view->columns));
  PetscCall(PetscSparseCUDAMalloc(from->num_rows, "fragmented row sizes", b->stream, &view->row_sizes));
  PetscCall(PetscSparseCUDAMalloc(2 * view->pitch * FRAGMENTED_SEGMENTS, "fragmented segments", b->stream, &segments));
  view->segments = segments;
  PetscCall(DCSRFragment(*from, FRAGMENTED_SLACK, view, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecordFragmented(Bench *b, const PetscReal compact[2])
{
  static const char *const metrics[2] = {"time-fragmented-cold", "time-fragmented-warm"};
  DCSRView                 view;
  PetscReal                us[2];

  PetscFunctionBegin;
  PetscCall(FragmentedCreate(b, &view));
  PetscCall(MeasureOurs(b, view, us));
  PetscCall(PetscSparseCUDAFree(&view.values, b->stream));
  PetscCall(PetscSparseCUDAFree(&view.columns, b->stream));
  PetscCall(PetscSparseCUDAFree(&view.row_sizes, b->stream));
  PetscCall(PetscSparseCUDAFree(&view.segments, b->stream));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, metrics[k], us[k], compact[k], "compact", b->floor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRecords(Bench *b)
{
  static const char *const metrics[2] = {"time-cold", "time-warm"}, *const atomic_metrics[2] = {"time-atomic-bound-cold", "time-atomic-bound-warm"}, *const forward_metrics[2] = {"time-forward-cold", "time-forward-warm"};
  PetscReal ours[2], us[2];

  PetscFunctionBegin;
  PetscCall(MeasureOurs(b, b->matrix.view, ours));
  PetscCall(MeasureCusparse(b));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, metrics[k], ours[k], b->best[k], b->best_names[k], b->floor));
  if (b->matrix.irregular) {
    for (PetscInt k = 0; k < 2; k++) {
      PetscCall(SpMVTAtomicBound(&b->timer, k == 0 ? PETSC_TRUE : PETSC_FALSE, b->matrix.view, b->y, us));
      PetscCall(Record(b, atomic_metrics[k], ours[k], us[0], "one atomic a nonzero", b->floor));
    }
  }
  PetscCall(MeasureForward(b, us));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, forward_metrics[k], ours[k], us[k], "our forward product", b->floor));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, PlanRun, &b->matrix.view, us));
  PetscCall(Record(b, "plan", us[0], -1, NULL, -1));
  if (b->explicit_transpose) PetscCall(RecordExplicit(b));
  if (b->fragmented) PetscCall(RecordFragmented(b, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SweepPlan(Bench *b, DCSRSpMVTransposePlan plan)
{
  Product     p = {plan, NULL, b->matrix.view, b->x, b->y};
  const char *description;
  PetscReal   us[2];

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &description));
  PetscCall(Check(b, description, ProductRun, &p));
  PetscCall(Measure(b, ProductRun, &p, us));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "sweep %-12s %-50s cold %9.2f warm %9.2f us  of floor %5.3f\n", b->matrix.name, description, (double)us[0], (double)us[1], (double)(b->floor / us[0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names the launch rule's choice and times every instantiation. */
static PetscErrorCode CaseSweep(Bench *b)
{
  DCSRSpMVTransposePlan plan;
  PetscBool             fits;
  const char           *name;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(b->matrix.view, DCSR_SPMVT_AUTO, b->stream, &plan));
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &name));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "sweep %-12s auto is %s\n", b->matrix.name, name));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, b->stream));
  for (int kernel = 0;; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel_Private(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits_Private(kernel, &fits));
    if (!fits) continue;
    PetscCall(DCSRSpMVTransposePlanCreateKernel_Private(b->matrix.view, kernel, b->stream, &plan));
    PetscCall(SweepPlan(b, plan));
    PetscCall(DCSRSpMVTransposePlanDestroy(&plan, b->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(Bench *b, const char name[])
{
  PetscCount bytes;

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(name, b->stream, &b->matrix));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s; %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros\n", b->matrix.name, b->matrix.what, b->matrix.view.num_rows, b->matrix.view.num_columns, b->matrix.view.num_nonzeros));
  PetscCall(SpMVTFloorBytes(b->matrix.view, &bytes));
  b->floor = (PetscReal)bytes / b->bandwidth;
  PetscCall(BenchVectorCreate(b->matrix.view.num_rows, 2, b->stream, &b->x));
  PetscCall(BenchVectorCreate(b->matrix.view.num_columns, 3, b->stream, &b->y));
  PetscCall(PetscSparseCUDAMalloc(b->matrix.view.num_columns, "reference", b->stream, &b->reference));
  PetscCall(PetscSparseCUDAMalloc(b->matrix.view.num_columns, "rounding bound", b->stream, &b->bound));
  PetscCall(BenchReferenceMult(b->matrix.view, PETSC_TRUE, b->x, NULL, b->reference, b->bound, b->stream));
  if (b->sweep) PetscCall(CaseSweep(b));
  else PetscCall(CaseRecords(b));
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
  PetscInt           n, num_chosen = PETSC_STATIC_ARRAY_LENGTH(chosen);
  PetscBool          cases;
  Bench              b;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.fragmented = b.explicit_transpose = PETSC_TRUE;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscSparseCUDAGetStream(&b.stream));
  PetscCall(BenchTimerCreate(b.stream, &b.timer));
  PetscCall(BenchMatrixGetNames(&n, &names));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Transpose product benchmark", NULL);
  PetscCall(PetscOptionsString("-output", "File of result records", NULL, output, output, sizeof(output), NULL));
  PetscCall(PetscOptionsString("-commit", "Commit for the records", NULL, commit, commit, sizeof(commit), NULL));
  PetscCall(PetscOptionsBool("-sweep", "Time every instantiation", NULL, b.sweep, &b.sweep, NULL));
  PetscCall(PetscOptionsBool("-fragmented", "Also fragmented storage", NULL, b.fragmented, &b.fragmented, NULL));
  PetscCall(PetscOptionsBool("-explicit", "Also the explicit transpose", NULL, b.explicit_transpose, &b.explicit_transpose, NULL));
  PetscCall(PetscOptionsInt("-samples", "Samples of one measurement at most", NULL, b.timer.samples, &b.timer.samples, NULL));
  PetscCall(PetscOptionsReal("-budget", "Microseconds of one measurement", NULL, b.timer.budget_us, &b.timer.budget_us, NULL));
  PetscCall(PetscOptionsStringArray("-cases", "Cases", NULL, chosen, &num_chosen, &cases));
  PetscOptionsEnd();
  PetscCall(BenchRecorderCreate("spmvt", output, commit, &b.recorder));
  PetscCall(BenchTimerCopyBandwidth(&b.timer, &b.bandwidth));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, driver %s, CUDA %s, copy bandwidth %.3f TB/s\n", b.recorder.gpu, b.recorder.driver, b.recorder.cuda, (double)b.bandwidth * 1e-6));
  for (PetscInt i = 0; i < (cases ? num_chosen : n); i++) PetscCall(Case(&b, cases ? chosen[i] : names[i]));
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
