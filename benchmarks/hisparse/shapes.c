static char help[] = "Times HiSparse, as its rule chooses, against our own CSR on 200 matrices in the shapes of real ones.\n\
  -only part       : matrices whose name contains this\n\
  -cases a,b,c     : only these matrices\n\
  -output file     : result records as JSON Lines, appended; when all matrices ran\n\
  -commit id       : for the records\n\
  -samples n       : samples of one measurement at most\n\
  -dry             : makes and checks the matrices on the host and prints their shapes; needs no GPU\n";

#include "../common/bench.h"
#include "../common/benchmatrix.h"
#include "../common/shapematrix.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/spmv.h>

#define TOLERANCE 1e-12 /* of the sum of absolute values of a row */
#define CASE      "suitesparse-shapes"

/* All that one matrix needs, and what came out for those before it. */
typedef struct {
  Bench        bench;
  ShapeMatrix  host;  /* structure */
  DCSRView     csr;   /* on the device */
  PetscScalar *x;     /* [columns] on the device */
  PetscScalar *y[2];  /* [rows] on the device: of CSR, of HiSparse */
  PetscReal   *bound; /* [rows] on the device: sums of absolute values */
  DCSRSpMVPlan plan;
  HiSparse     hisparse;                     /* NULL: the matrix stays in CSR */
  PetscInt     num_ratios;                   /* matrices that were measured */
  PetscReal   *ratios;                       /* [num_ratios] time of CSR over that of HiSparse, 1 in CSR */
  PetscInt     num_chosen[HISPARSE_CSR + 1]; /* matrices by format */
  PetscBool    dry;
} ShapesBench;

static PetscErrorCode CSRRun(void *ctx, cudaStream_t stream)
{
  const ShapesBench *b = (const ShapesBench *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVApply(b->plan, b->csr, b->x, NULL, b->y[0], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HiSparseRun(void *ctx, cudaStream_t stream)
{
  const ShapesBench *b = (const ShapesBench *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseMult(b->hisparse, b->x, NULL, b->y[1], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix on the device, with random values, and its vectors. What of y is not written is not a number. */
static PetscErrorCode CreateOperands(ShapesBench *b)
{
  const Shape *s      = b->host.shape;
  cudaStream_t stream = b->bench.stream;

  PetscFunctionBegin;
  PetscCall(ShapeMatrixCreateView(&b->host, stream, &b->csr));
  PetscCall(BenchVectorCreate(s->columns, 2, stream, &b->x));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMalloc(s->rows, "result", stream, &b->y[k]));
    PetscCall(BenchVectorSet(s->rows, (PetscScalar)NAN, b->y[k], stream));
  }
  PetscCall(PetscSparseCUDAMalloc(s->rows, "rounding bound", stream, &b->bound));
  PetscCall(DCSRSpMVPlanCreate(b->csr, DCSR_SPMV_AUTO, stream, &b->plan));
  PetscCall(HiSparseCreate(b->csr, HISPARSE_AUTO, stream, &b->hisparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyOperands(ShapesBench *b)
{
  cudaStream_t stream = b->bench.stream;

  PetscFunctionBegin;
  PetscCall(HiSparseDestroy(&b->hisparse, stream));
  PetscCall(DCSRSpMVPlanDestroy(&b->plan, stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&b->y[k], stream));
  PetscCall(PetscSparseCUDAFree(&b->bound, stream));
  PetscCall(PetscSparseCUDAFree(&b->x, stream));
  PetscCall(DCSRViewFree(&b->csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two products, one against the other. The plain product goes where that of HiSparse comes later: its sums of absolute values are what is wanted. */
static PetscErrorCode CheckProducts(ShapesBench *b)
{
  const PetscCount n      = b->csr.num_rows;
  cudaStream_t     stream = b->bench.stream;
  PetscReal        error;

  PetscFunctionBegin;
  PetscCall(BenchReferenceMult(b->csr, PETSC_FALSE, b->x, NULL, b->y[1], b->bound, stream));
  PetscCall(BenchVectorSet(n, (PetscScalar)NAN, b->y[1], stream));
  PetscCall(CSRRun(b, stream));
  PetscCall(HiSparseRun(b, stream));
  PetscCall(BenchCompare(n, b->y[1], b->y[0], b->bound, stream, &error));
  if (error > TOLERANCE) PetscCall(BenchWrong(&b->bench, "%s, HiSparse against CSR, relative error %g", b->host.shape->name, (double)error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both times of one matrix. One that stays in CSR has the time of CSR. */
static PetscErrorCode Measure(ShapesBench *b)
{
  HiSparseFormat format = HISPARSE_CSR;
  PetscReal      us[2];

  PetscFunctionBegin;
  PetscCall(CreateOperands(b));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, CSRRun, b, us));
  us[1] = us[0];
  if (b->hisparse != NULL) {
    HiSparseInfo info;

    PetscCall(HiSparsePrepare(b->hisparse, PETSC_FALSE, b->bench.stream));
    PetscCall(HiSparseGetInfo(b->hisparse, &info));
    format = info.format;
    PetscCall(CheckProducts(b));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseRun, b, us + 1));
  }
  PetscCall(DestroyOperands(b));
  b->num_chosen[format]++;
  b->ratios[b->num_ratios++] = us[0] / us[1];
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-9s dcsrcuda %8.2f us  HiSparse %8.2f us  ratio %5.3f", format == HISPARSE_CSR ? "rows" : HiSparseFormats[format], (double)us[0], (double)us[1],
                        (double)(us[0] / us[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoShape(ShapesBench *b, const Shape *shape)
{
  PetscFunctionBegin;
  PetscCall(ShapeMatrixCreate(shape, &b->host));
  PetscCall(ShapeMatrixPrint(&b->host));
  if (b->dry) PetscCall(ShapeMatrixCheck(&b->host));
  else PetscCall(Measure(b));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(ShapeMatrixDestroy(&b->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A record without a competitor: the rival is in the figure. A line for people alone unless all matrices ran. */
static PetscErrorCode Record(ShapesBench *b, const char metric[], const char unit[], PetscReal value)
{
  const Shape *table;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(ShapesGet(&n, &table));
  if (b->num_ratios < n) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-26s %10.6g %s\n", metric, (double)value, unit));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BenchRecord(&b->bench, CASE, metric, unit, value, -1, NULL, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the ratios are like, which are sorted here. */
static PetscErrorCode ReportRatios(ShapesBench *b)
{
  const PetscInt n    = b->num_ratios;
  PetscReal      logs = 0;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSortReal(n, b->ratios));
  for (PetscInt i = 0; i < n; i++) logs += PetscLogReal(b->ratios[i]);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "ratios of %" PetscInt_FMT " matrices, at tenths of them:", n));
  for (PetscInt i = 0; i <= 10; i++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %5.3f", (double)b->ratios[i * (n - 1) / 10]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(Record(b, "speedup-mean", "times", PetscExpReal(logs / (PetscReal)n)));
  PetscCall(Record(b, "speedup-worst", "times", b->ratios[0]));
  PetscCall(Record(b, "speedup-median", "times", b->ratios[n / 2]));
  PetscCall(Record(b, "matrices-rows", "matrices", (PetscReal)b->num_chosen[HISPARSE_CSR]));
  for (HiSparseFormat f = HISPARSE_DIAGONALS; f < HISPARSE_CSR; f++) {
    char metric[64];

    PetscCall(PetscSNPrintf(metric, sizeof(metric), "matrices-%s", HiSparseFormats[f]));
    PetscCall(Record(b, metric, "matrices", (PetscReal)b->num_chosen[f]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Shape *table;
  PetscInt     n;
  ShapesBench  b = {.dry = PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of HiSparse on many shapes", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b.bench, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-dry", "Only make and check the matrices, on the host", NULL, b.dry, &b.dry, NULL));
  PetscOptionsEnd();
  if (!b.dry) PetscCall(BenchOpen(&b.bench, "hisparse-shapes"));
  PetscCall(ShapesGet(&n, &table));
  PetscCall(PetscMalloc1(n, &b.ratios));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool wants;

    PetscCall(BenchWants(&b.bench, table[i].name, &wants));
    if (wants) PetscCall(DoShape(&b, table + i));
  }
  PetscCall(ReportRatios(&b));
  PetscCall(PetscFree(b.ratios));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
