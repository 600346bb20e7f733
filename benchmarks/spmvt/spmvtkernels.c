static char help[] = "Times the transpose product's kernels and the explicit transpose against cuSPARSE and the floors, on matrices generated on the device.\n\
  -cases a,b,c      : only these\n\
  -output file      : result records as JSON Lines, appended\n\
  -commit id        : for the records\n\
  -sweep            : the time of every instantiation instead of the records; make CFLAGS=-DSPMV_SWEEP CUDAFLAGS=-DSPMV_SWEEP compiles more\n\
  -samples n        : samples of one measurement at most\n\
  -explicit bool    : also the explicit transpose (default yes)\n";

#include "../../tests/lib/sweeps.h"
#include "../common/benchproduct.h"
#include "spmvtcusparse.h"
#include "spmvtfloor.h"
#include <petscsparsecuda/transpose.h>
#include <petscsparsecuda/spmv.h>

/* All that one case needs. */
typedef struct {
  Bench        bench;
  BenchProduct product;
  PetscReal    best[2]; /* of cuSPARSE, cold and warm */
  const char  *best_names[2];
  PetscReal    bytes[2]; /* floors by all bytes, cold and warm; -1: none */
  PetscReal    floor[2]; /* the same, or the scatter bound where that is larger and nobody beats it */
  PetscBool    sweep, explicit_transpose;
} SpMVTBench;

typedef struct {
  DCSRSpMVTransposePlan plan;
  DCSRSpMVPlan          forward; /* instead of plan: the product with the explicit transpose */
  DCSRView              view;
  const PetscScalar    *x;
  PetscScalar          *y;
} Product;

typedef struct {
  DCSRView from, to;
  int32_t *permutation;
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
  Transpose *t         = (Transpose *)ctx;
  DCSRView   structure = t->to;

  PetscFunctionBegin;
  structure.values = NULL;
  PetscCall(DCSRTranspose(t->from, PETSC_FALSE, structure, t->permutation, stream));
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

static PetscErrorCode Record(SpMVTBench *b, const char metric[], PetscReal ours, PetscReal best, const char competitor[], PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(BenchRecord(&b->bench, b->product.matrix.name, metric, "us", ours, best, competitor, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureOurs(SpMVTBench *b, DCSRView view, PetscReal us[2])
{
  Product     p = {NULL, NULL, view, b->product.x, b->product.y};
  const char *description;
  size_t      bytes;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_AUTO, b->bench.stream, &p.plan));
  PetscCall(DCSRSpMVTransposePlanGetInfo(p.plan, NULL, &bytes, &description));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s, plan of %.2f bytes a nonzero\n", description, (double)bytes / (double)PetscMax(view.num_nonzeros, 1)));
  PetscCall(BenchProductCheck(&b->product, description, ProductRun, &p));
  PetscCall(BenchMeasure(&b->bench, ProductRun, &p, us));
  PetscCall(DCSRSpMVTransposePlanDestroy(&p.plan, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The forward product with the same matrix: what the transpose product is held against. */
static PetscErrorCode MeasureForward(SpMVTBench *b, PetscReal us[2])
{
  const DCSRView view = b->product.matrix.view;
  Product        p    = {NULL, NULL, view, NULL, NULL};
  PetscScalar   *x, *y;

  PetscFunctionBegin;
  PetscCall(BenchVectorCreate(view.num_columns, 5, b->bench.stream, &x));
  PetscCall(BenchVectorCreate(view.num_rows, 6, b->bench.stream, &y));
  p.x = x;
  p.y = y;
  PetscCall(BenchPlanCreate(view, b->bench.stream, &p.forward));
  PetscCall(BenchMeasure(&b->bench, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.forward, b->bench.stream));
  PetscCall(PetscSparseCUDAFree(&x, b->bench.stream));
  PetscCall(PetscSparseCUDAFree(&y, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Making and refreshing the explicit transpose, against cuSPARSE, which does both at once. */
static PetscErrorCode RecordTransposing(SpMVTBench *b, Transpose *t)
{
  SpMVTCsr2csc c;
  PetscReal    symbolic, numeric, best[2];

  PetscFunctionBegin;
  PetscCall(SpMVTCsr2cscCreate(t->from, t->to, CUSPARSE_ACTION_SYMBOLIC, b->bench.stream, &c));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, SpMVTCsr2cscRun, &c, best));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->bench.stream));
  PetscCall(SpMVTCsr2cscCreate(t->from, t->to, CUSPARSE_ACTION_NUMERIC, b->bench.stream, &c));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, SpMVTCsr2cscRun, &c, best + 1));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->bench.stream));
  // last, so that the transpose used afterwards is ours
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, SymbolicRun, t, &symbolic));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, NumericRun, t, &numeric));
  PetscCall(Record(b, "explicit-symbolic", symbolic, best[0], "cuSPARSE csr2csc", -1));
  PetscCall(Record(b, "explicit-numeric", numeric, best[1], "cuSPARSE csr2csc", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecordExplicit(SpMVTBench *b)
{
  static const char *const metrics[2] = {"time-explicit-cold", "time-explicit-warm"};
  Product                  p          = {NULL, NULL, b->product.matrix.view, b->product.x, b->product.y};
  Transpose                t;
  PetscReal                us[2];

  PetscFunctionBegin;
  t.from = b->product.matrix.view;
  PetscCall(DCSRViewAllocateCompact(t.from.num_columns, t.from.num_rows, t.from.num_nonzeros, PETSC_FALSE, b->bench.stream, &t.to));
  PetscCall(PetscSparseCUDAMalloc(t.from.num_nonzeros, "permutation", b->bench.stream, &t.permutation));
  PetscCall(RecordTransposing(b, &t));
  p.view            = t.to;
  t.to.row_block    = t.from.column_block;
  t.to.column_block = t.from.row_block;
  PetscCall(BenchPlanCreate(t.to, b->bench.stream, &p.forward));
  PetscCall(BenchProductCheck(&b->product, "explicit transpose", ProductRun, &p));
  PetscCall(BenchMeasure(&b->bench, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.forward, b->bench.stream));
  PetscCall(DCSRViewFree(&t.to, b->bench.stream));
  PetscCall(PetscSparseCUDAFree(&t.permutation, b->bench.stream));
  // a gather: the scatter bound is none for it
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, metrics[k], us[k], b->best[k], b->best_names[k], b->bytes[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the case, and what one atomic a nonzero takes where that was measured. */
static PetscErrorCode MeasureFloors(SpMVTBench *b, PetscReal atomic[2])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscReal us[2];

    b->floor[k] = b->bytes[k];
    if (!b->product.matrix.irregular) continue;
    PetscCall(SpMVTScatterBound(&b->bench.timer, k == 0 ? PETSC_TRUE : PETSC_FALSE, b->product.matrix.view, b->product.y, us));
    atomic[k] = us[0];
    if (b->bytes[k] >= 0) b->floor[k] = PetscMax(b->bytes[k], us[1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRecords(SpMVTBench *b)
{
  static const char *const metrics[2] = {"time-cold", "time-warm"}, *const atomic_metrics[2] = {"time-atomic-bound-cold", "time-atomic-bound-warm"},
                           *const forward_metrics[2] = {"time-forward-cold", "time-forward-warm"}, *const block_metrics[2] = {"time-blocks-cold", "time-blocks-warm"};
  DCSRView  view = b->product.matrix.view;
  PetscReal ours[2], us[2], atomic[2];

  PetscFunctionBegin;
  PetscCall(MeasureFloors(b, atomic));
  PetscCall(MeasureOurs(b, view, ours));
  PetscCall(BenchProductMeasureCusparse(&b->product, b->best, b->best_names));
  for (PetscInt k = 0; k < 2; k++) {
    if (PetscMin(ours[k], b->best[k]) < b->floor[k]) b->floor[k] = b->bytes[k]; // a scatter bound that somebody beats is none
    PetscCall(Record(b, metrics[k], ours[k], b->best[k], b->best_names[k], b->floor[k]));
  }
  for (PetscInt k = 0; b->product.matrix.irregular && k < 2; k++) PetscCall(Record(b, atomic_metrics[k], ours[k], atomic[k], "one atomic a nonzero", -1));
  if (view.row_block > 1) {
    view.row_block = view.column_block = 0;
    PetscCall(MeasureOurs(b, view, us));
    for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, block_metrics[k], ours[k], us[k], "entry by entry", -1));
  }
  PetscCall(MeasureForward(b, us));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Record(b, forward_metrics[k], ours[k], us[k], "our forward product", -1));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, PlanRun, &b->product.matrix.view, us));
  PetscCall(Record(b, "plan", us[0], -1, NULL, -1));
  if (b->explicit_transpose) PetscCall(RecordExplicit(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SweepPlan(SpMVTBench *b, DCSRSpMVTransposePlan plan)
{
  Product     p = {plan, NULL, b->product.matrix.view, b->product.x, b->product.y};
  const char *description;
  PetscReal   us[2];

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &description));
  PetscCall(BenchProductCheck(&b->product, description, ProductRun, &p));
  PetscCall(BenchMeasure(&b->bench, ProductRun, &p, us));
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "sweep %-12s %-50s cold %9.2f warm %9.2f us  of floor %5.3f\n", b->product.matrix.name, description, (double)us[0], (double)us[1], (double)(b->bytes[0] / us[0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names the launch rule's choice and times every instantiation. */
static PetscErrorCode CaseSweep(SpMVTBench *b)
{
  DCSRSpMVTransposePlan plan;
  PetscBool             fits;
  const char           *name;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(b->product.matrix.view, DCSR_SPMVT_AUTO, b->bench.stream, &plan));
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &name));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "sweep %-12s auto is %s\n", b->product.matrix.name, name));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, b->bench.stream));
  for (int kernel = 0;; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits(kernel, &fits));
    if (!fits) continue;
    PetscCall(DCSRSpMVTransposePlanCreateKernel(b->product.matrix.view, kernel, b->bench.stream, &plan));
    PetscCall(SweepPlan(b, plan));
    PetscCall(DCSRSpMVTransposePlanDestroy(&plan, b->bench.stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(SpMVTBench *b, const char name[])
{
  PetscReal read, written;

  PetscFunctionBegin;
  PetscCall(BenchProductCreate(&b->bench, name, PETSC_TRUE, &b->product));
  PetscCall(BenchProductBytes(&b->product, &read, &written));
  b->bytes[0] = BenchFloor(&b->bench, read, written);
  b->bytes[1] = BenchFloorWarm(&b->bench, read, written);
  PetscCall(b->sweep ? CaseSweep(b) : CaseRecords(b));
  PetscCall(BenchProductDestroy(&b->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const *names;
  PetscInt           n;
  SpMVTBench         b = {.explicit_transpose = PETSC_TRUE};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Transpose product benchmark", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-sweep", "Time every instantiation", NULL, b.sweep, &b.sweep, NULL));
  PetscCall(PetscOptionsBool("-explicit", "Also the explicit transpose", NULL, b.explicit_transpose, &b.explicit_transpose, NULL));
  PetscCall(PetscOptionsReal("-budget", "Microseconds of one measurement", NULL, b.bench.budget_us, &b.bench.budget_us, NULL));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b.bench, "spmvt"));
  PetscCall(BenchMatrixGetNames(&n, &names));
  PetscCall(BenchGetCases(&b.bench, &n, &names));
  for (PetscInt i = 0; i < n; i++) PetscCall(Case(&b, names[i]));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
