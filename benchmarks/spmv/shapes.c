static char help[] = "Judges the launch rules of A x and A^T x on 200 matrices in the shapes of real ones, against the best of cuSPARSE's algorithms, cold.\n\
Matrices with an even number are there to make the rules, those with an odd one judge them.\n\
  -only part       : matrices whose name contains this\n\
  -cases a,b,c     : only these matrices\n\
  -output file     : result records as JSON Lines, appended; when all matrices ran\n\
  -commit id       : for the records\n\
  -samples n       : samples of one measurement at most\n\
  -kernels bool    : also every other kernel of ours (default yes)\n\
  -dry             : makes and checks the matrices on the host and prints their shapes; needs no GPU\n";

#include "../../tests/lib/sweeps.h"
#include "../common/benchproduct.h"
#include "../common/shapematrix.h"

#define CASE        "suitesparse-shapes"
#define MAX_SHAPES  256
#define LOSS        0.97 /* a ratio below this is a loss */
#define MAX_KERNELS 4096 /* characters of the list of kernels with their times */
#define BUDGET_US   6000 /* of one measurement */
#define SAMPLES     21   /* of one measurement */
#define FEW_SAMPLES 5    /* of a plan, which is long */

/* What came out for one direction. Ratios are times of cuSPARSE's best over ours: by the rule, and by our fastest kernel. */
typedef struct {
  PetscReal ratio[MAX_SHAPES], possible[MAX_SHAPES], plan[MAX_SHAPES]; /* plan: its time in products */
  PetscInt  n;
} Outcome;

typedef struct {
  Bench       bench;
  Outcome     outcomes[2][2]; /* [A x, A^T x][even, odd numbers] */
  PetscBool   dry, kernels;
  PetscInt    number; /* of the matrix at work */
  ShapeMatrix host;
  DCSRView    view;
} ShapesBench;

/* One product of ours; plan or transpose is NULL. */
typedef struct {
  DCSRSpMVPlan          plan;
  DCSRSpMVTransposePlan transpose;
  const BenchProduct   *product;
} Product;

/* What was measured of one direction of one matrix, microseconds. */
typedef struct {
  PetscReal   ours, best_kernel, cusparse, plan;
  const char *cusparse_name;
  char        rule[256];            /* what our rule chose */
  char        kernels[MAX_KERNELS]; /* every kernel and its time */
  size_t      length;               /* of kernels */
} Figures;

static const char *const directions[2] = {"n", "t"}, *const halves[2] = {"make", "judge"};

static PetscErrorCode ProductRun(void *ctx, cudaStream_t stream)
{
  const Product      *p    = (const Product *)ctx;
  const BenchProduct *with = p->product;

  PetscFunctionBegin;
  if (with->transpose) PetscCall(DCSRSpMVTransposeApply(p->transpose, with->matrix.view, PETSC_FALSE, with->x, NULL, with->y, stream));
  else PetscCall(DCSRSpMVApply(p->plan, with->matrix.view, with->x, NULL, with->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan by the rule, made and freed. */
static PetscErrorCode PlanRun(void *ctx, cudaStream_t stream)
{
  const BenchProduct   *p = (const BenchProduct *)ctx;
  DCSRSpMVPlan          plan;
  DCSRSpMVTransposePlan transpose;

  PetscFunctionBegin;
  if (p->transpose) {
    PetscCall(DCSRSpMVTransposePlanCreate(p->matrix.view, DCSR_SPMVT_AUTO, stream, &transpose));
    PetscCall(DCSRSpMVTransposePlanDestroy(&transpose, stream));
  } else {
    PetscCall(DCSRSpMVPlanCreate(p->matrix.view, DCSR_SPMV_AUTO, stream, &plan));
    PetscCall(DCSRSpMVPlanDestroy(&plan, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks a product and times it; with a name it goes into the list of kernels, and into the fastest. */
static PetscErrorCode MeasureProduct(Product *p, const char name[], Figures *f, PetscReal *us)
{
  BenchProduct *with = (BenchProduct *)p->product;
  size_t        n;

  PetscFunctionBegin;
  PetscCall(BenchProductCheck(with, name ? name : f->rule, ProductRun, p));
  PetscCall(BenchTimerMeasure(&with->bench->timer, PETSC_TRUE, ProductRun, p, us));
  f->best_kernel = PetscMin(f->best_kernel, *us);
  if (name == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintfCount(f->kernels + f->length, MAX_KERNELS - f->length, "; %s: %.2f", &n, name, (double)*us));
  f->length = PetscMin(f->length + n - 1, MAX_KERNELS - 1); // n counts the zero at the end
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConfigName(const SpMVConfig *c, size_t size, char name[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, size, "%s lanes %d threads %d items %d vec %d resident %d", DCSRSpMVKinds[c->kind], c->lanes, c->threads, c->items, c->vec, c->resident));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x: by the rule, and by every kernel that was compiled. */
static PetscErrorCode MeasureForward(ShapesBench *b, BenchProduct *with, Figures *f)
{
  cudaStream_t stream = b->bench.stream;
  Product      p      = {NULL, NULL, with};
  DCSRFacts    facts;
  SpMVConfig   chosen, c;
  PetscReal    us;
  PetscInt     n;
  char         name[128];

  PetscFunctionBegin;
  PetscCall(DCSRSpMVPlanCreate(b->view, DCSR_SPMV_AUTO, stream, &p.plan));
  PetscCall(DCSRSpMVPlanGetInfo(p.plan, NULL, &facts, NULL, NULL));
  PetscCall(SpMVRuleApply(b->view, &facts, DCSR_SPMV_AUTO, &chosen));
  PetscCall(ConfigName(&chosen, sizeof(f->rule), f->rule));
  PetscCall(MeasureProduct(&p, NULL, f, &f->ours));
  PetscCall(DCSRSpMVPlanDestroy(&p.plan, stream));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  facts: %" PetscCount_FMT " rows with entries, largest %" PetscCount_FMT ", most rows in a block %" PetscCount_FMT "\n", facts.num_nonempty_rows,
                        facts.max_row_size, facts.max_block_rows));
  PetscCall(SpMVConfigGetCount(&n));
  for (PetscInt i = 0; b->kernels && i < n; i++) {
    PetscCall(SpMVConfigGet(i, &c));
    PetscCall(ConfigName(&c, sizeof(name), name));
    PetscCall(DCSRSpMVPlanCreateWithConfig(b->view, &c, stream, &p.plan));
    PetscCall(MeasureProduct(&p, name, f, &us));
    PetscCall(DCSRSpMVPlanDestroy(&p.plan, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of A^T x. */
static PetscErrorCode MeasureTranspose(ShapesBench *b, BenchProduct *with, Figures *f)
{
  cudaStream_t stream = b->bench.stream;
  Product      p      = {NULL, NULL, with};
  PetscReal    us;
  PetscBool    fits;
  size_t       bytes;
  const char  *name;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(b->view, DCSR_SPMVT_AUTO, stream, &p.transpose));
  PetscCall(DCSRSpMVTransposePlanGetInfo(p.transpose, NULL, &bytes, &name));
  PetscCall(PetscSNPrintf(f->rule, sizeof(f->rule), "%s, plan of %.2f bytes a nonzero", name, (double)bytes / (double)PetscMax(b->view.num_nonzeros, 1)));
  PetscCall(MeasureProduct(&p, NULL, f, &f->ours));
  PetscCall(DCSRSpMVTransposePlanDestroy(&p.transpose, stream));
  for (int kernel = 0; b->kernels; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits(kernel, &fits));
    if (!fits) continue;
    PetscCall(DCSRSpMVTransposePlanCreateKernel(b->view, kernel, stream, &p.transpose));
    PetscCall(MeasureProduct(&p, name, f, &us));
    PetscCall(DCSRSpMVTransposePlanDestroy(&p.transpose, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasurePlan(BenchProduct *p, PetscReal *us)
{
  BenchTimer timer = p->bench->timer;

  PetscFunctionBegin;
  timer.samples = FEW_SAMPLES;
  PetscCall(BenchTimerMeasure(&timer, PETSC_TRUE, PlanRun, p, us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDirection(ShapesBench *b, PetscBool transpose)
{
  Outcome     *o = &b->outcomes[transpose][b->number % 2];
  BenchProduct p;
  Figures      f = {.best_kernel = PETSC_MAX_REAL};
  PetscReal    us[2];
  const char  *names[2];

  PetscFunctionBegin;
  PetscCall(BenchProductCreateView(&b->bench, b->host.shape->name, b->view, transpose, &p));
  PetscCall(BenchProductMeasureCusparse(&p, us, names));
  f.cusparse      = us[0];
  f.cusparse_name = names[0];
  if (transpose) PetscCall(MeasureTranspose(b, &p, &f));
  else PetscCall(MeasureForward(b, &p, &f));
  PetscCall(MeasurePlan(&p, &f.plan));
  PetscCall(BenchProductDestroy(&p));
  o->ratio[o->n]    = f.cusparse / f.ours;
  o->possible[o->n] = f.cusparse / f.best_kernel;
  o->plan[o->n]     = f.plan / f.ours;
  o->n++;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %s ratio %.3f possible %.3f; ours %.2f us by %s; %s %.2f us; plan %.1f products%s\n", directions[transpose], halves[b->number % 2],
                        (double)(f.cusparse / f.ours), (double)(f.cusparse / f.best_kernel), (double)f.ours, f.rule, f.cusparse_name, (double)f.cusparse, (double)(f.plan / f.ours), f.kernels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoShape(ShapesBench *b, const Shape *shape)
{
  PetscFunctionBegin;
  PetscCall(ShapeMatrixCreate(shape, &b->host));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%3" PetscInt_FMT " ", b->number));
  PetscCall(ShapeMatrixPrint(&b->host));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  if (b->dry) PetscCall(ShapeMatrixCheck(&b->host));
  else {
    PetscCall(ShapeMatrixCreateView(&b->host, b->bench.stream, &b->view));
    PetscCall(DoDirection(b, PETSC_FALSE));
    PetscCall(DoDirection(b, PETSC_TRUE));
    PetscCall(DCSRViewFree(&b->view, b->bench.stream));
  }
  PetscCall(ShapeMatrixDestroy(&b->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Geometric mean of n numbers */
static PetscReal GeometricMean(PetscInt n, const PetscReal a[])
{
  PetscReal logs = 0;

  for (PetscInt i = 0; i < n; i++) logs += PetscLogReal(a[i]);
  return PetscExpReal(logs / (PetscReal)n);
}

/* A record without a competitor: the rival is in the figure. A line for people alone where record is false. */
static PetscErrorCode Record(ShapesBench *b, PetscBool record, const char direction[], const char what[], const char unit[], PetscReal value)
{
  char metric[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(metric, sizeof(metric), "%s-%s", direction, what));
  if (record) PetscCall(BenchRecord(&b->bench, CASE, metric, unit, value, -1, NULL, -1));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-26s %10.6g %s\n", metric, (double)value, unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One half in one direction; its numbers are sorted here. */
static PetscErrorCode ReportOutcome(ShapesBench *b, const char direction[], PetscBool record, Outcome *o)
{
  PetscInt losses = 0;

  PetscFunctionBegin;
  if (o->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSortReal(o->n, o->ratio));
  PetscCall(PetscSortReal(o->n, o->plan));
  for (PetscInt i = 0; i < o->n; i++) losses += o->ratio[i] < LOSS;
  PetscCall(Record(b, record, direction, "speedup-mean", "times", GeometricMean(o->n, o->ratio)));
  PetscCall(Record(b, record, direction, "speedup-median", "times", o->ratio[o->n / 2]));
  PetscCall(Record(b, record, direction, "speedup-worst", "times", o->ratio[0]));
  PetscCall(Record(b, record, direction, "losses", "matrices", (PetscReal)losses));
  if (b->kernels) PetscCall(Record(b, record, direction, "speedup-best-kernel-mean", "times", GeometricMean(o->n, o->possible)));
  PetscCall(Record(b, record, direction, "plan-median", "products", o->plan[o->n / 2]));
  PetscCall(Record(b, record, direction, "plan-worst", "products", o->plan[o->n - 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both halves; the one that judges is recorded when all matrices ran. */
static PetscErrorCode Report(ShapesBench *b, PetscInt num_shapes)
{
  PetscFunctionBegin;
  for (int half = 0; half < 2; half++) {
    const PetscBool all = (PetscBool)(b->outcomes[0][0].n + b->outcomes[0][1].n == num_shapes);

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "matrices that %s the rules: %" PetscInt_FMT "\n", halves[half], b->outcomes[0][half].n));
    for (int t = 0; t < 2; t++) PetscCall(ReportOutcome(b, directions[t], (PetscBool)(all && half == 1), &b->outcomes[t][half]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static ShapesBench b = {.bench = {.samples = 0}, .kernels = PETSC_TRUE};
  const Shape       *table;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  b.bench.samples   = SAMPLES;
  b.bench.budget_us = BUDGET_US;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Launch rules on many shapes", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b.bench, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-kernels", "Also every other kernel", NULL, b.kernels, &b.kernels, NULL));
  PetscCall(PetscOptionsBool("-dry", "Only make and check the matrices, on the host", NULL, b.dry, &b.dry, NULL));
  PetscOptionsEnd();
  if (!b.dry) PetscCall(BenchOpen(&b.bench, "spmv-shapes"));
  PetscCall(ShapesGet(&n, &table));
  PetscCheck(n <= MAX_SHAPES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many shapes: %" PetscInt_FMT, n);
  for (b.number = 0; b.number < n; b.number++) {
    PetscBool wants;

    PetscCall(BenchWants(&b.bench, table[b.number].name, &wants));
    if (wants) PetscCall(DoShape(&b, table + b.number));
  }
  if (!b.dry) PetscCall(Report(&b, n));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
