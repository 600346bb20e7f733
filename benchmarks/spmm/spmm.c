static char help[] = "Times products of sparse and column-major dense matrices against cuSPARSE SpMM and the floor, on matrices generated on the device.\n\
  -cases a,b,c   : only these\n\
  -columns a,b,c : columns of the dense matrices\n\
  -sweep         : prints times of both kinds with tiles and slots of all sizes, too\n\
  -output file   : result records as JSON Lines, appended\n\
  -commit id     : for the records\n\
  -samples n     : samples of one measurement at most\n";

#include "../common/bench.h"
#include "../common/benchmatrix.h"
#include "../../src/mat/kernels/spmm/spmmimpl.h"
#include "../../tests/lib/sweeps.h"
#include "spmmcusparse.h"

#define TOLERANCE   1e-12
#define MAX_COLUMNS 16 /* numbers of columns that can be given */

static const char *const cases[] = {"3d27-200", "3d7-256", "2d5-4096", "rmat20", "uniform4m", "elast3-100"};

typedef struct {
  PetscInt n, columns[MAX_COLUMNS];
} Columns;

typedef struct {
  const char  *name;
  DCSRView     view;
  PetscInt     columns;
  PetscCount   num_columns; /* of the matrix that have entries */
  DCSRSpMMPlan plan;
  PetscScalar *x, *y;
} Product;

static PetscErrorCode ProductRun(void *ctx, cudaStream_t stream)
{
  Product *p = (Product *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRSpMMApply(p->plan, p->view, p->columns, p->x, p->view.num_columns, p->y, p->view.num_rows, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first column, the last and one between against the plainest kernel. */
static PetscErrorCode Check(Bench *b, const Product *p, const char what[])
{
  const PetscInt columns[] = {0, p->columns / 2, p->columns - 1};
  PetscScalar   *reference, *bound;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(p->view.num_rows, "reference", b->stream, &reference));
  PetscCall(PetscSparseCUDAMalloc(p->view.num_rows, "bound", b->stream, &bound));
  for (int k = 0; k < 3; k++) {
    PetscReal error;

    PetscCall(BenchReferenceMult(p->view, PETSC_FALSE, p->x + (size_t)columns[k] * (size_t)p->view.num_columns, NULL, reference, (PetscReal *)bound, b->stream));
    PetscCall(BenchCompare(p->view.num_rows, p->y + (size_t)columns[k] * (size_t)p->view.num_rows, reference, (PetscReal *)bound, b->stream, &error));
    if (!(error <= TOLERANCE)) PetscCall(BenchWrong(b, "%s, %d columns, %s: column %d is off by %g", p->name, (int)p->columns, what, (int)columns[k], (double)error));
  }
  PetscCall(PetscSparseCUDAFree(&reference, b->stream));
  PetscCall(PetscSparseCUDAFree(&bound, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fastest of cuSPARSE's algorithms. */
static PetscErrorCode MeasureCusparse(Bench *b, const Product *p, PetscReal *best, const char **competitor)
{
  PetscFunctionBegin;
  *best       = -1;
  *competitor = NULL;
  for (PetscInt i = 0; i < SPMM_CUSPARSE_ALGORITHMS; i++) {
    SpMMCusparse c;
    PetscBool    exists;
    PetscReal    us;

    PetscCall(SpMMCusparseCreate(p->view, i, p->columns, p->x, p->y, b->stream, &exists, &c));
    if (exists) {
      PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SpMMCusparseRun, &c, &us));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %.2f us", SpMMCusparseNames[i], (double)us));
      if (*best < 0 || us < *best) {
        *best       = us;
        *competitor = SpMMCusparseNames[i];
      }
    }
    PetscCall(SpMMCusparseDestroy(&c, b->stream));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our product with one configuration; 0 is the rule's choice. */
static PetscErrorCode MeasureOurs(Bench *b, Product *p, DCSRSpMMKind kind, PetscInt width, PetscInt slots, PetscReal *us)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMMPlanCreate(p->view, kind, b->stream, &p->plan));
  PetscCall(DCSRSpMMPlanSetConfig(p->plan, width, slots));
  PetscCall(BenchVectorSet((PetscCount)p->view.num_rows * p->columns, (PetscScalar)NAN, p->y, b->stream));
  PetscCall(ProductRun(p, b->stream));
  PetscCall(Check(b, p, DCSRSpMMKinds[kind]));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, ProductRun, p, us));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s, tiles of %d, %d slots: %.2f us\n", DCSRSpMMKinds[p->plan->kind], (int)width, (int)slots, (double)*us));
  PetscCall(DCSRSpMMPlanDestroy(&p->plan, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweep(Bench *b, Product *p)
{
  PetscReal us;

  PetscFunctionBegin;
  for (DCSRSpMMKind kind = DCSR_SPMM_DIRECT; kind <= DCSR_SPMM_STAGED; kind = (DCSRSpMMKind)(kind + 1)) {
    const PetscInt most = PetscMin(p->columns, kind == DCSR_SPMM_STAGED ? 32 : 16);

    for (PetscInt width = PetscMin(most, 8); width <= most; width *= 2)
      for (PetscInt slots = 1; slots <= 4; slots *= 2) PetscCall(MeasureOurs(b, p, kind, width, slots, &us));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A, with a column for a full block, and X read, Y written. */
static PetscReal Floor(const Bench *b, const Product *p)
{
  const PetscReal column = (PetscReal)sizeof(int32_t) / (PetscReal)(p->view.row_block * p->view.column_block);
  const PetscReal matrix = (PetscReal)p->view.num_nonzeros * ((PetscReal)sizeof(PetscScalar) + column) + (PetscReal)p->view.num_rows * sizeof(int32_t);
  const PetscReal row    = (PetscReal)p->columns * (PetscReal)sizeof(PetscScalar); // of X and Y

  return BenchFloor(b, matrix + row * (PetscReal)p->num_columns, row * (PetscReal)p->view.num_rows);
}

/* By blocks against row by row. */
static PetscErrorCode RecordBlocks(Bench *b, const Product *p, PetscReal ours)
{
  Product   rows = *p;
  char      metric[32];
  PetscReal us;

  PetscFunctionBegin;
  rows.view.row_block = rows.view.column_block = 0;
  PetscCall(PetscSNPrintf(metric, sizeof(metric), "blocks-%" PetscInt_FMT, p->columns));
  PetscCall(MeasureOurs(b, &rows, DCSR_SPMM_AUTO, 0, 0, &us));
  PetscCall(BenchRecord(b, p->name, metric, "us", ours, us, "row by row", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunColumns(Bench *b, Product *p, PetscBool sweep)
{
  const PetscReal bound = Floor(b, p);
  const char     *competitor;
  char            metric[32];
  PetscReal       ours, best;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(metric, sizeof(metric), "time-%" PetscInt_FMT, p->columns));
  PetscCall(BenchVectorCreate((PetscCount)p->view.num_columns * p->columns, 7, b->stream, &p->x));
  PetscCall(BenchVectorCreate((PetscCount)p->view.num_rows * p->columns, 8, b->stream, &p->y));
  PetscCall(MeasureCusparse(b, p, &best, &competitor));
  PetscCall(MeasureOurs(b, p, DCSR_SPMM_AUTO, 0, 0, &ours));
  PetscCall(BenchRecord(b, p->name, metric, "us", ours, best, competitor, bound));
  if (p->view.row_block > 1) PetscCall(RecordBlocks(b, p, ours));
  if (sweep && p->columns > 1) PetscCall(Sweep(b, p));
  PetscCall(PetscSparseCUDAFree(&p->x, b->stream));
  PetscCall(PetscSparseCUDAFree(&p->y, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const char name[], const Columns *columns, PetscBool sweep)
{
  BenchMatrix matrix;
  Product     p = {.name = name};
  PetscCount  num_rows;

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(name, b->stream, &matrix));
  p.view           = matrix.view;
  p.view.row_block = p.view.column_block = matrix.block;
  PetscCall(BenchCountNonempty(p.view, b->stream, &num_rows, &p.num_columns));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s, %" PetscCount_FMT " nonzeros\n", name, matrix.what, p.view.num_nonzeros));
  for (PetscInt k = 0; k < columns->n; k++) {
    p.columns = columns->columns[k];
    PetscCall(RunColumns(b, &p, sweep));
  }
  PetscCall(BenchMatrixDestroy(&matrix, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     b       = {.commit = "unknown"};
  Columns   columns = {.n = MAX_COLUMNS};
  PetscBool set, sweep = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of products with dense matrices", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-sweep", "Other configurations, too", NULL, sweep, &sweep, NULL));
  PetscCall(PetscOptionsIntArray("-columns", "Columns of the dense matrices", NULL, columns.columns, &columns.n, &set));
  PetscOptionsEnd();
  if (!set)
    for (columns.n = 0; columns.n < 7; columns.n++) columns.columns[columns.n] = (PetscInt)1 << columns.n;
  PetscCall(BenchOpen(&b, "spmm"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscBool wants;

    PetscCall(BenchWants(&b, cases[k], &wants));
    if (wants) PetscCall(RunCase(&b, cases[k], &columns, sweep));
  }
  PetscCall(BenchClose(&b));
  PetscCall(PetscFinalize());
  return 0;
}
