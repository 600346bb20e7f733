static char help[] = "Times the forward product's kernels against cuSPARSE and the floors, on matrices generated on the device.\n\
  -cases a,b,c      : only these\n\
  -output file      : result records as JSON Lines, appended\n\
  -commit id        : for the records\n\
  -sweep            : the time of every launch configuration instead of the records; make CFLAGS=-DSPMV_SWEEP CUDAFLAGS=-DSPMV_SWEEP compiles more\n\
  -levels n         : with -sweep: the matrices that a cycle of PCGAMG multiplies with, for the 27-point problem on n^3 points, in place of the cases\n\
  -single bool      : with -levels: values in single precision\n\
  -samples n        : samples of one measurement at most\n";

#include "../../tests/lib/sweeps.h"
#include "../common/benchproduct.h"
#include "levels.h"
#include "spmvfloor.h"

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

static PetscErrorCode MeasureOurs(BenchProduct *b, DCSRView view, PetscReal us[2])
{
  Product     p = {NULL, view, b->x, b->y};
  const char *info;

  PetscFunctionBegin;
  PetscCall(BenchPlanCreate(view, b->bench->stream, &p.plan));
  PetscCall(DCSRSpMVPlanGetInfo(p.plan, NULL, NULL, NULL, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", info));
  PetscCall(BenchProductCheck(b, info, ProductRun, &p));
  PetscCall(BenchMeasure(b->bench, ProductRun, &p, us));
  PetscCall(DCSRSpMVPlanDestroy(&p.plan, b->bench->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cold and warm: all bytes, of full blocks with one column each, or the gather bound where that is larger. */
static PetscErrorCode MeasureFloor(BenchProduct *b, PetscReal us[2])
{
  PetscReal read, written, gather;

  PetscFunctionBegin;
  PetscCall(BenchProductBytes(b, &read, &written));
  us[0] = BenchFloor(b->bench, read, written);
  us[1] = BenchFloorWarm(b->bench, read, written);
  for (PetscInt k = 0; k < 2; k++) {
    if (!b->matrix.irregular || us[k] < 0) continue;
    PetscCall(SpMVFloorGather(&b->bench->timer, k == 0 ? PETSC_TRUE : PETSC_FALSE, b->matrix.view, b->x, &gather));
    us[k] = PetscMax(us[k], gather);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlanRun(void *ctx, cudaStream_t stream)
{
  DCSRSpMVPlan plan;

  PetscFunctionBegin;
  PetscCall(BenchPlanCreate(*(const DCSRView *)ctx, stream, &plan));
  PetscCall(DCSRSpMVPlanDestroy(&plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRecords(BenchProduct *b)
{
  static const char *const metrics[2] = {"time-cold", "time-warm"};
  const char              *names[2]   = {NULL, NULL};
  PetscReal                ours[2], best[2], bound[2], plan;

  PetscFunctionBegin;
  PetscCall(MeasureOurs(b, b->matrix.view, ours));
  PetscCall(BenchProductMeasureCusparse(b, best, names));
  PetscCall(MeasureFloor(b, bound));
  for (PetscInt k = 0; k < 2; k++) PetscCall(BenchRecord(b->bench, b->matrix.name, metrics[k], "us", ours[k], best[k], names[k], bound[k]));
  PetscCall(BenchTimerMeasure(&b->bench->timer, PETSC_TRUE, PlanRun, &b->matrix.view, &plan));
  PetscCall(BenchRecord(b->bench, b->matrix.name, "plan", "us", plan, -1, NULL, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every configuration: a line each for the sweep's reader. Those far behind are not measured warm. */
static PetscErrorCode CaseSweep(BenchProduct *b)
{
  const DCSRView view = b->matrix.view;
  PetscReal      best = PETSC_MAX_REAL, read, written, bound;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(BenchProductBytes(b, &read, &written));
  bound = BenchFloor(b->bench, read, written);
  PetscCall(SpMVConfigGetCount(&n));
  for (PetscInt i = 0; i < n; i++) {
    Product    p = {NULL, view, b->x, b->y};
    SpMVConfig c;
    PetscReal  us[2] = {0, 0};

    PetscCall(SpMVConfigGet(i, &c));
    PetscCall(DCSRSpMVPlanCreateWithConfig(view, &c, b->bench->stream, &p.plan));
    PetscCall(BenchProductCheck(b, DCSRSpMVKinds[c.kind], ProductRun, &p));
    PetscCall(BenchTimerMeasure(&b->bench->timer, PETSC_TRUE, ProductRun, &p, us));
    best = PetscMin(best, us[0]);
    if (us[0] < 1.3 * best) PetscCall(BenchTimerMeasure(&b->bench->timer, PETSC_FALSE, ProductRun, &p, us + 1));
    PetscCall(DCSRSpMVPlanDestroy(&p.plan, b->bench->stream));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "sweep %-12s %-10s lanes %2d threads %3d items %2d vec %d load %d resident %4d  cold %9.2f warm %9.2f us  of floor %5.3f\n", b->matrix.name,
                          DCSRSpMVKinds[c.kind], c.lanes, c.threads, c.items, c.vec, c.load, c.resident, (double)us[0], (double)us[1], (double)(bound / us[0])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const *names;
  PetscInt           n, levels = 0;
  PetscBool          sweep = PETSC_FALSE, single = PETSC_FALSE;
  Bench              b = {.commit = ""};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Forward product benchmark", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-sweep", "Time every launch configuration", NULL, sweep, &sweep, NULL));
  PetscCall(PetscOptionsInt("-levels", "Points in a direction of the problem whose levels are measured", NULL, levels, &levels, NULL));
  PetscCall(PetscOptionsBool("-single", "Values in single precision", NULL, single, &single, NULL));
  PetscCall(PetscOptionsReal("-budget", "Microseconds of one measurement", NULL, b.budget_us, &b.budget_us, NULL));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b, "spmv"));
  PetscCall(BenchMatrixGetNames(&n, &names));
  PetscCall(BenchGetCases(&b, &n, &names));
  if (sweep && levels > 0) {
    PetscCall(LevelsSweep(&b, levels, single));
    n = 0;
  }
  for (PetscInt i = 0; i < n; i++) {
    BenchProduct product;

    PetscCall(BenchProductCreate(&b, names[i], PETSC_FALSE, &product));
    PetscCall(sweep ? CaseSweep(&product) : CaseRecords(&product));
    PetscCall(BenchProductDestroy(&product));
  }
  PetscCall(BenchClose(&b));
  PetscCall(PetscFinalize());
  return 0;
}
