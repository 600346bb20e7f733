/*
  Products with a matrix as insertion leaves it, against the same matrix made compact, and what making it compact costs: the numbers for a rule that says when to.
*/
#include "insertbench.h"

#define REPETITIONS 3
#define COMPETITOR  "same matrix, compact"
#define MAX_PERCENT 50
#define TEN         10
#define NOISE       0.01 /* of a time: what is not slower by more is not slower */

static const PetscInt percents[] = {0, 1, 2, 5, 10, 20, MAX_PERCENT}; /* ascending */
#define NUM_PERCENTS ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(percents))

/* What goes into which matrix. */
typedef struct {
  const InsertBase *base;     /* the compact matrix */
  const InsertList *list;     /* the batches one behind the other */
  PetscCount        step;     /* entries of a batch: 1 % of the matrix */
  PetscInt          appended; /* batches that the base's rebuild has */
} Inserted;

/* What is timed; nothing is owned. */
typedef struct {
  Mat A;
  Vec x, y; /* of its columns and rows */
} Product;

static PetscErrorCode RunProduct(void *ctx, PETSC_UNUSED cudaStream_t stream)
{
  Product *p = (Product *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMult(p->A, p->x, p->y)); // on the timer's stream, which is that of PETSc
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTransposed(void *ctx, PETSC_UNUSED cudaStream_t stream)
{
  Product *p = (Product *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMultTranspose(p->A, p->y, p->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* us: with the matrix, and with its transpose */
static PetscErrorCode MeasureProducts(Bench *b, const InsertBase *base, Mat A, PetscReal us[2])
{
  Product p = {A, base->x, base->y};

  PetscFunctionBegin;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_FALSE, RunProduct, &p, &us[0]));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_FALSE, RunTransposed, &p, &us[1]));
  PetscCall(VecSet(base->x, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of the base matrix into which so many batches went. */
static PetscErrorCode InsertPercents(const Inserted *in, PetscInt num, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(InsertBaseCopy(in->base, A));
  for (PetscInt k = 0; k < num; k++) PetscCall(InsertBatch(*A, in->list, k * in->step, in->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median microseconds of the first product after a batch, when there was one before it. */
static PetscErrorCode MeasureFirstProduct(const Inserted *in, PetscInt num, PetscReal *us)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;
  Mat            A;

  PetscFunctionBegin;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(InsertPercents(in, num - 1, &A));
    PetscCall(MatMult(A, in->base->x, in->base->y));
    PetscCall(InsertBatch(A, in->list, (num - 1) * in->step, in->step));
    PetscCall(BenchNow(&begin));
    PetscCall(MatMult(A, in->base->x, in->base->y));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e6 * (end - begin));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median microseconds of the first TEN products after a batch, when there were as many before it, and the library decides when rows become compact. */
static PetscErrorCode MeasureTenProducts(const Inserted *in, PetscInt num, PetscReal *us)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_dcsr_defragment", "auto"));
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(InsertPercents(in, num - 1, &A));
    PetscCall(MatSetFromOptions(A));
    for (int n = 0; n < TEN; n++) PetscCall(MatMult(A, in->base->x, in->base->y));
    PetscCall(InsertBatch(A, in->list, (num - 1) * in->step, in->step));
    PetscCall(BenchNow(&begin));
    for (int n = 0; n < TEN; n++) PetscCall(MatMult(A, in->base->x, in->base->y));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e6 * (end - begin));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscOptionsSetValue(NULL, "-mat_dcsr_defragment", "never"));
  PetscCall(BenchMedian(REPETITIONS, samples + 1, us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median microseconds of making compact what insertion left; the last matrix, which is compact. */
static PetscErrorCode MeasureDefragment(const Inserted *in, PetscInt num, PetscReal *us, Mat *A)
{
  PetscReal      samples[REPETITIONS + 1];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  *A = NULL;
  for (PetscInt k = 0; k <= REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(InsertPercents(in, num, A));
    PetscCall(BenchNow(&begin));
    PetscCall(MatDCSRCUDADefragment(*A));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e6 * (end - begin));
  }
  PetscCall(BenchMedian(REPETITIONS, samples + 1, us)); // the first one warmed up
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Floor of making compact: every entry read once and the matrix written once. What takes less did not move the matrix: it was compact. */
static PetscErrorCode RecordDefragment(Bench *b, const char name[], Mat A, PetscReal us, PetscReal loss_us)
{
  InsertResult defragment = {name, "defragment-time", "us", us, -1, NULL, -1}, products = {name, "break-even-products", "products", us / loss_us, -1, NULL, -1};
  PetscReal    bytes;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(InsertBenchMatrixBytes(A, &bytes));
  defragment.floor = BenchFloor(b, (PetscReal)info.nz_used * (PetscReal)(sizeof(int32_t) + sizeof(PetscScalar)), bytes);
  if (us < defragment.floor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertBenchRecord(b, &defragment));
  if (loss_us > 0) PetscCall(InsertBenchRecord(b, &products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One number of batches, not smaller than those before. */
static PetscErrorCode InsertedCase(Bench *b, const char name[], InsertBase *base, Inserted *in, PetscInt num)
{
  InsertResult r[] = {{name, "mult-time", "us", -1, -1, COMPETITOR, -1},
                      {name, "multtranspose-time", "us", -1, -1, COMPETITOR, -1},
                      {name, "first-mult-time", "us", -1, -1, NULL, -1},
                      {name, "ten-mult-time", "us", -1, -1, COMPETITOR, -1}};
  PetscReal    us, products[2];
  Mat          A, C;

  PetscFunctionBegin;
  if (num > in->appended) PetscCall(InsertBatchRebuild(b, &base->rebuild, in->list, in->appended * in->step, (num - in->appended) * in->step));
  in->appended = num;
  PetscCall(InsertPercents(in, num, &A));
  PetscCall(MeasureProducts(b, base, A, products));
  for (int k = 0; k < 2; k++) r[k].ours = products[k];
  PetscCall(InsertBenchCompareRebuild(b, name, A, &base->rebuild));
  PetscCall(MatDestroy(&A));
  PetscCall(MeasureDefragment(in, num, &us, &C));
  PetscCall(MeasureProducts(b, base, C, products));
  for (int k = 0; k < 2; k++) r[k].best = products[k];
  PetscCall(InsertBenchCompareRebuild(b, name, C, &base->rebuild));
  r[3].best = TEN * products[0];
  if (num > 1) PetscCall(MeasureFirstProduct(in, num, &r[2].ours));
  if (num > 1) PetscCall(MeasureTenProducts(in, num, &r[3].ours));
  for (int k = 0; k < (num > 1 ? 4 : 2); k++) PetscCall(InsertBenchRecord(b, &r[k]));
  PetscCall(RecordDefragment(b, name, C, us, r[0].ours > (1 + NOISE) * r[0].best ? r[0].ours - r[0].best : -1));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  RMAT20,
  HYPERSPARSE,
  STENCIL27,
  TORUS2D,
  TORUS3D
} BaseKind;

static PetscErrorCode CreateBase(Bench *b, BaseKind kind, InsertBase *base)
{
  const PetscInt num_rows = 1 << 24;
  InsertList     list;

  PetscFunctionBegin;
  if (kind == RMAT20) {
    PetscCall(InsertBaseCreateRMAT(b, INSERT_RMAT_ENTRIES / 2, base));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (kind == HYPERSPARSE) PetscCall(InsertListUniform(num_rows, num_rows, 0, num_rows / 8, b->stream, &list));
  else if (kind == STENCIL27) PetscCall(InsertListStencil27(128, b->stream, &list));
  else PetscCall(InsertListTorus(kind == TORUS2D ? 2 : 3, kind == TORUS2D ? 2048 : 128, b->stream, &list));
  PetscCall(InsertBaseCreate(b, &list, list.n / 2, base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All cases of a matrix; the R-MAT stream goes on, or entries are at random positions. */
static PetscErrorCode MatrixCases(Bench *b, const char matrix[], BaseKind kind)
{
  PetscBool  wanted[NUM_PERCENTS], any = PETSC_FALSE;
  char       names[NUM_PERCENTS][64];
  InsertList list;
  InsertBase base;
  Inserted   in = {&base, &list, 0, 0};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < NUM_PERCENTS; k++) {
    PetscCall(PetscSNPrintf(names[k], sizeof(names[k]), "spmv-inserted-%s-%" PetscInt_FMT, matrix, percents[k]));
    PetscCall(BenchWants(b, names[k], &wanted[k]));
    any = (PetscBool)(any || wanted[k]);
  }
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateBase(b, kind, &base));
  in.step = base.num_entries / 100;
  if (kind == RMAT20) PetscCall(InsertListRMAT(INSERT_RMAT_LEVELS, INSERT_RMAT_ENTRIES, MAX_PERCENT * in.step, b->stream, &list));
  else PetscCall(InsertListUniform(base.rebuild.num_rows, base.rebuild.num_columns, kind == HYPERSPARSE ? base.num_entries : 0, MAX_PERCENT * in.step, b->stream, &list));
  for (PetscInt k = 0; k < NUM_PERCENTS; k++) {
    if (wanted[k]) PetscCall(InsertedCase(b, names[k], &base, &in, percents[k]));
  }
  PetscCall(InsertListDestroy(&list, b->stream));
  PetscCall(InsertBaseDestroy(b, &base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchSpMV - spmv-inserted-... */
PetscErrorCode InsertBenchSpMV(Bench *b)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_dcsr_defragment", "never")); // or products would make the matrix compact
  PetscCall(MatrixCases(b, "rmat20", RMAT20));
  PetscCall(MatrixCases(b, "hypersparse", HYPERSPARSE));
  PetscCall(MatrixCases(b, "2d5-2048", TORUS2D));
  PetscCall(MatrixCases(b, "3d7-128", TORUS3D));
  PetscCall(MatrixCases(b, "3d27-128", STENCIL27));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_dcsr_defragment"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
