static char help[] =
  "Measures what a selection of storage is learnt from: products, conversions and new values of all storages, and features, on very many matrices. One JSON line a matrix; goes on where it was cut off.\n\
  -output file  : result records, appended; matrices that stand there are left out\n\
  -commit id    : for the records\n\
  -only text    : matrices whose name contains it\n\
  -seconds n    : begins no matrix later than that\n\
  -samples n    : samples of one measurement at most\n\
  -kernels      : every kernel of products with CSR, too, as it was compiled (a build for sweeps has more)\n\
  -dry          : prints the names and parameters of the matrices; needs no GPU\n";

#include "../common/bench.h"
#include "../common/benchmatrix.h"
#include "../common/shapematrix.h"
#include "../../tests/lib/sweeps.h"
#include "selectfeatures.h"
#include "selectmatrices.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/spmv.h>
#include <petscsparsecuda/spmvtranspose.h>
#include <petsctime.h>

#define SHAPES_A_ROUND       5 /* of the shapes of real matrices, to as many others as there are families */
#define REPETITIONS          3 /* of what is timed as a program sees it */
#define SAMPLING_REPETITIONS 5
#define SAMPLING_PRODUCTS    12 /* with CSR, with sampling after so many: */
#define SAMPLING_AFTER       4
#define FASTEST              ((PetscReal)50000) /* microseconds of a product; a format that takes longer is not measured further */

/* All that one matrix needs. */
typedef struct {
  Bench                 bench;
  const char           *family;
  char                  name[80];
  DCSRView              csr;
  PetscInt              block; /* the block size that a program would give, 1 for none */
  PetscScalar          *x, *y; /* [the larger of rows and columns] device */
  DCSRSpMVPlan          plan;
  DCSRSpMVTransposePlan transpose;
  HiSparse              hisparse;
  char                 *done; /* records that were there, NULL for none; owned */
  PetscReal             seconds;
  PetscLogDouble        begin;
  PetscInt              measured;
  PetscBool             dry, kernels;
} SelectBench;

static PetscErrorCode RowsMult(void *ctx, cudaStream_t stream)
{
  const SelectBench *b = (const SelectBench *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVApply(b->plan, b->csr, b->x, NULL, b->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowsMultTranspose(void *ctx, cudaStream_t stream)
{
  const SelectBench *b = (const SelectBench *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposeApply(b->transpose, b->csr, PETSC_FALSE, b->x, NULL, b->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HiSparseMultRun(void *ctx, cudaStream_t stream)
{
  const SelectBench *b = (const SelectBench *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseMult(b->hisparse, b->x, NULL, b->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HiSparseMultTransposeRun(void *ctx, cudaStream_t stream)
{
  const SelectBench *b = (const SelectBench *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseMultTranspose(b->hisparse, PETSC_FALSE, b->x, NULL, b->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HiSparseUpdateRun(void *ctx, cudaStream_t stream)
{
  const SelectBench *b = (const SelectBench *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseSetValues(b->hisparse, b->csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A figure, with a comma before it. */
static void Number(const SelectBench *b, const char key[], double value)
{
  fprintf(b->bench.recorder.file, ", \"%s\": %.6g", key, value);
}

/* The plan of products with CSR, as dcsrcuda makes it. */
static PetscErrorCode CreatePlan(SelectBench *b)
{
  DCSRView view = b->csr;

  PetscFunctionBegin;
  view.row_block = view.column_block = b->block;
  PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, b->bench.stream, &b->plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What products with CSR take, cold. */
static PetscErrorCode MeasureRows(SelectBench *b, PetscReal us[2])
{
  cudaStream_t stream = b->bench.stream;

  PetscFunctionBegin;
  PetscCall(CreatePlan(b));
  PetscCall(DCSRSpMVTransposePlanCreate(b->csr, DCSR_SPMVT_AUTO, stream, &b->transpose));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, RowsMult, b, &us[0]));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, RowsMultTranspose, b, &us[1]));
  PetscCall(DCSRSpMVPlanDestroy(&b->plan, stream));
  PetscCall(DCSRSpMVTransposePlanDestroy(&b->transpose, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x with CSR by every kernel: an object of names and microseconds, cold. */
static PetscErrorCode MeasureKernels(SelectBench *b)
{
  FILE      *file = b->bench.recorder.file;
  SpMVConfig c;
  PetscReal  us;
  PetscInt   n;

  PetscFunctionBegin;
  fprintf(file, ", \"kernels_n\": {");
  PetscCall(SpMVConfigGetCount(&n));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(SpMVConfigGet(i, &c));
    PetscCall(DCSRSpMVPlanCreateWithConfig(b->csr, &c, b->bench.stream, &b->plan));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, RowsMult, b, &us));
    PetscCall(DCSRSpMVPlanDestroy(&b->plan, b->bench.stream));
    fprintf(file, "%s\"%s lanes %d threads %d items %d vec %d load %d resident %d\": %.6g", i ? ", " : "", DCSRSpMVKinds[c.kind], c.lanes, c.threads, c.items, c.vec, (int)c.load, c.resident,
            (double)us);
  }
  fprintf(file, "}");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of A^T x. */
static PetscErrorCode MeasureTransposeKernels(SelectBench *b)
{
  FILE       *file  = b->bench.recorder.file;
  PetscBool   first = PETSC_TRUE, fits;
  const char *name;
  PetscReal   us;

  PetscFunctionBegin;
  fprintf(file, ", \"kernels_t\": {");
  for (int kernel = 0;; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits(kernel, &fits));
    if (!fits) continue;
    PetscCall(DCSRSpMVTransposePlanCreateKernel(b->csr, kernel, b->bench.stream, &b->transpose));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, RowsMultTranspose, b, &us));
    PetscCall(DCSRSpMVTransposePlanDestroy(&b->transpose, b->bench.stream));
    fprintf(file, "%s\"%s\": %.6g", first ? "" : ", ", name, (double)us);
    first = PETSC_FALSE;
  }
  fprintf(file, "}");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a program with sampling under way does after a product: asks, and predicts when the counts are there. Blocks that were found are sampled, too. */
static PetscErrorCode GoOn(const SelectBench *b, HiSparseSample samples[2], int *n, HiSparseSampling *sampling)
{
  HiSparseFormat format = HISPARSE_AUTO;
  const int      size   = *n == 0 ? 1 : samples[0].block_size;
  double         ratio;

  PetscFunctionBegin;
  if (*sampling == NULL || !HiSparseSamplingIsThere(*sampling)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseSamplingTake(b->csr, size, sampling, &samples[*n]));
  if (++*n == 1 && samples[0].block_size > 0) PetscCall(HiSparseSamplingQueue(b->csr, samples[0].block_size, b->bench.stream, sampling));
  else PetscCall(HiSparsePredict(b->csr, samples, b->bench.stream, &format, &ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of products with CSR, one after the other, with sampling among them or without. */
static PetscErrorCode TimeProducts(SelectBench *b, PetscBool samples_too, PetscLogDouble *seconds)
{
  HiSparseSample   samples[2];
  HiSparseSampling sampling = NULL;
  PetscLogDouble   begin, end;
  int              n = 0;

  PetscFunctionBegin;
  PetscCall(BenchNow(&begin));
  for (int k = 0; k < SAMPLING_PRODUCTS; k++) {
    PetscCall(RowsMult(b, b->bench.stream));
    if (samples_too && k == SAMPLING_AFTER) PetscCall(HiSparseSamplingQueue(b->csr, 1, b->bench.stream, &sampling));
    else PetscCall(GoOn(b, samples, &n, &sampling));
  }
  PetscCall(BenchNow(&end));                                           // waits for the stream
  while (sampling != NULL) PetscCall(GoOn(b, samples, &n, &sampling)); // long after: products were few
  *seconds = end - begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What sampling costs a program that multiplies and does not wait: by how much products take longer with one among them; medians, microseconds. */
static PetscErrorCode MeasureSampling(SelectBench *b, PetscReal *us)
{
  PetscReal samples[2][SAMPLING_REPETITIONS], medians[2];

  PetscFunctionBegin;
  for (int i = 0; i < SAMPLING_REPETITIONS; i++) {
    for (int k = 0; k < 2; k++) {
      PetscLogDouble seconds = 0;

      PetscCall(TimeProducts(b, (PetscBool)k, &seconds));
      samples[k][i] = (PetscReal)(seconds * 1e6);
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(BenchMedian(SAMPLING_REPETITIONS, samples[k], &medians[k]));
  *us = PetscMax(medians[1] - medians[0], 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Features as a program sees them, and sampling: medians, microseconds. */
static PetscErrorCode MeasureFeatures(SelectBench *b, double features[], PetscReal us[2])
{
  PetscReal samples[REPETITIONS];

  PetscFunctionBegin;
  PetscCall(CreatePlan(b));
  for (int i = 0; i < REPETITIONS; i++) {
    PetscLogDouble t[2];

    PetscCall(BenchNow(&t[0]));
    PetscCall(SelectFeaturesGet(b->csr, b->bench.stream, features));
    PetscCall(BenchNow(&t[1]));
    samples[i] = (PetscReal)((t[1] - t[0]) * 1e6);
  }
  PetscCall(BenchMedian(REPETITIONS, samples, &us[0]));
  PetscCall(MeasureSampling(b, &us[1]));
  PetscCall(DCSRSpMVPlanDestroy(&b->plan, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Making the storage, and what the transpose product needs: medians as a program sees them. The last one stays; NULL: the format does not fit. */
static PetscErrorCode MeasureMaking(SelectBench *b, HiSparseFormat format, PetscReal us[2])
{
  cudaStream_t stream = b->bench.stream;
  PetscReal    samples[2][REPETITIONS];

  PetscFunctionBegin;
  for (int i = 0; i < REPETITIONS; i++) {
    PetscLogDouble t[3];

    PetscCall(HiSparseDestroy(&b->hisparse, stream));
    PetscCall(BenchNow(&t[0]));
    PetscCall(HiSparseCreate(b->csr, format, stream, &b->hisparse));
    if (b->hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(HiSparsePrepare(b->hisparse, PETSC_FALSE, stream));
    PetscCall(BenchNow(&t[1]));
    PetscCall(HiSparsePrepare(b->hisparse, PETSC_TRUE, stream));
    PetscCall(BenchNow(&t[2]));
    for (int k = 0; k < 2; k++) samples[k][i] = (PetscReal)((t[k + 1] - t[k]) * 1e6);
  }
  for (int k = 0; k < 2; k++) PetscCall(BenchMedian(REPETITIONS, samples[k], &us[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All times of a format, when the matrix can have it. */
static PetscErrorCode DoFormat(SelectBench *b, HiSparseFormat format, PetscBool *first)
{
  FILE          *file  = b->bench.recorder.file;
  HiSparseFormat asked = format;
  PetscReal      making[2], us[3];
  double         ratio;

  PetscFunctionBegin;
  PetscCall(MeasureMaking(b, format, making));
  if (b->hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparsePredict(b->csr, NULL, b->bench.stream, &asked, &ratio));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseMultRun, b, &us[0]));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseMultTransposeRun, b, &us[1]));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseUpdateRun, b, &us[2]));
  fprintf(file, "%s\"%s\": {\"n\": %.6g", *first ? "" : ", ", HiSparseFormats[format], (double)us[0]);
  Number(b, "t", (double)us[1]);
  Number(b, "update", (double)us[2]);
  Number(b, "convert", (double)making[0]);
  Number(b, "list", (double)making[1]);
  Number(b, "bytes", ratio);
  fprintf(file, "}");
  *first = PETSC_FALSE;
  PetscCall(HiSparseDestroy(&b->hisparse, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line. */
static PetscErrorCode Measure(SelectBench *b)
{
  const BenchRecorder *r    = &b->bench.recorder;
  FILE                *file = r->file;
  HiSparseFormat       rule = HISPARSE_AUTO;
  PetscReal            rows[2], us[2];
  PetscBool            first = PETSC_TRUE;
  double               features[SELECT_NUM_FEATURES], ratio;

  PetscFunctionBegin;
  PetscCall(MeasureRows(b, rows));
  PetscCall(MeasureFeatures(b, features, us));
  PetscCall(HiSparsePredict(b->csr, NULL, b->bench.stream, &rule, &ratio));
  fprintf(file, "{\"benchmark\": \"select\", \"name\": \"%s\", \"family\": \"%s\", \"gpu\": \"%s\", \"commit\": \"%s\", \"date\": \"%s\"", b->name, b->family, r->gpu, r->commit, r->date);
  fprintf(file, ", \"may_pay\": %s, \"rule\": \"%s\"", HiSparseMayPay(b->csr.num_rows, b->csr.num_nonzeros) ? "true" : "false", HiSparseFormats[rule]);
  Number(b, "rows_n", (double)rows[0]);
  Number(b, "rows_t", (double)rows[1]);
  Number(b, "features_us", (double)us[0]);
  Number(b, "predict_us", (double)us[1]);
  if (b->kernels && rows[0] < FASTEST) {
    PetscCall(MeasureKernels(b));
    PetscCall(MeasureTransposeKernels(b));
  }
  fprintf(file, ", \"features\": {");
  for (int k = 0; k < SELECT_NUM_FEATURES; k++) fprintf(file, "%s\"%s\": %.7g", k ? ", " : "", SelectFeatureNames[k], features[k]);
  fprintf(file, "}, \"formats\": {");
  for (HiSparseFormat f = HISPARSE_DIAGONALS; f < HISPARSE_CSR && rows[0] < FASTEST; f++) PetscCall(DoFormat(b, f, &first));
  fprintf(file, "}}\n");
  PetscCheck(fflush(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results");
  b->measured++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors around the measurements of a matrix that is there, and its end. */
static PetscErrorCode DoView(SelectBench *b)
{
  const PetscInt n = PetscMax(b->csr.num_rows, b->csr.num_columns);

  PetscFunctionBegin;
  b->csr.row_block = b->csr.column_block = b->block;
  PetscCall(BenchVectorCreate(n, 2, b->bench.stream, &b->x));
  PetscCall(BenchVectorCreate(n, 3, b->bench.stream, &b->y));
  if (b->csr.num_nonzeros > 0) PetscCall(Measure(b));
  PetscCall(PetscSparseCUDAFree(&b->x, b->bench.stream));
  PetscCall(PetscSparseCUDAFree(&b->y, b->bench.stream));
  PetscCall(DCSRViewFree(&b->csr, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix with the present name is to be measured now. */
static PetscErrorCode Wants(SelectBench *b, PetscBool *wants)
{
  char           key[128], *found = NULL;
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(BenchWants(&b->bench, b->name, wants));
  PetscCall(PetscSNPrintf(key, sizeof(key), "\"name\": \"%s\"", b->name));
  if (b->done != NULL) PetscCall(PetscStrstr(b->done, key, &found));
  PetscCall(PetscTime(&now));
  *wants = (PetscBool)(*wants && found == NULL && (b->dry || b->seconds <= 0 || now - b->begin < (PetscLogDouble)b->seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoMatrix(SelectBench *b, PetscInt i)
{
  SelectMatrix s;
  PetscBool    wants;

  PetscFunctionBegin;
  SelectGet(i, &s);
  b->family = s.family;
  b->block  = s.dof;
  PetscCall(PetscSNPrintf(b->name, sizeof(b->name), "%s-%" PetscInt_FMT, s.family, s.number));
  PetscCall(Wants(b, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->dry) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-16s %9" PetscInt_FMT " rows %12" PetscCount_FMT " keys, %d x %d x %d, dof %d, row %d, band %d, kept %.2f\n", b->name, SelectRows(&s),
                          s.kind == SELECT_MESH ? (PetscCount)0 : SelectNumKeys(&s), s.n[0], s.n[1], s.n[2], s.dof, s.row_size, s.band, s.kept));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SelectCreate(&s, b->bench.stream, &b->csr));
  PetscCall(DoView(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoShape(SelectBench *b, const Shape *shape)
{
  ShapeMatrix host;
  PetscBool   wants;

  PetscFunctionBegin;
  b->family = "shapes";
  b->block  = 1;
  PetscCall(PetscSNPrintf(b->name, sizeof(b->name), "shape-%s", shape->name));
  PetscCall(Wants(b, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->dry) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", b->name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ShapeMatrixCreate(shape, &host));
  PetscCall(ShapeMatrixCreateView(&host, b->bench.stream, &b->csr));
  PetscCall(ShapeMatrixDestroy(&host));
  PetscCall(DoView(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The records that are there. A last line that was cut off goes. */
static PetscErrorCode ReadDone(SelectBench *b)
{
  FILE  *file = fopen(b->bench.output, "r+");
  long   size;
  size_t length;

  PetscFunctionBegin;
  if (file == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot read %s", b->bench.output);
  rewind(file);
  PetscCall(PetscMalloc1((size_t)size + 1, &b->done));
  length = fread(b->done, 1, (size_t)size, file);
  while (length > 0 && b->done[length - 1] != '\n') length--;
  b->done[length] = 0;
  fclose(file);
  if (length < (size_t)size) {
    file = fopen(b->bench.output, "w");
    PetscCheck(file != NULL && fwrite(b->done, 1, length, file) == length && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", b->bench.output);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All matrices, families and shapes in turn, so that part of them is a share of each. */
static PetscErrorCode DoAll(SelectBench *b)
{
  const PetscInt num = SelectCount();
  const Shape   *shapes;
  PetscInt       num_shapes, shape = 0;

  PetscFunctionBegin;
  PetscCall(ShapesGet(&num_shapes, &shapes));
  for (PetscInt i = 0; i < num; i++) {
    SelectMatrix s;

    SelectGet(i, &s);
    for (; shape < num_shapes && shape < SHAPES_A_ROUND * s.number; shape++) PetscCall(DoShape(b, shapes + shape));
    PetscCall(DoMatrix(b, i));
  }
  for (; shape < num_shapes; shape++) PetscCall(DoShape(b, shapes + shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SelectBench b = {.dry = PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  PetscCall(PetscTime(&b.begin));
  b.bench.samples   = 7;
  b.bench.budget_us = 2000;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of storages on very many matrices", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b.bench, PetscOptionsObject));
  PetscCall(PetscOptionsReal("-seconds", "Begins no matrix later than that; 0: measures all", NULL, b.seconds, &b.seconds, NULL));
  PetscCall(PetscOptionsBool("-kernels", "Times every kernel of products with CSR", NULL, b.kernels, &b.kernels, NULL));
  PetscCall(PetscOptionsBool("-dry", "Only says which matrices there are", NULL, b.dry, &b.dry, NULL));
  PetscOptionsEnd();
  if (!b.dry) {
    PetscCheck(b.bench.output[0] != 0, PETSC_COMM_SELF, PETSC_ERR_USER, "Say with -output where the records go");
    PetscCall(ReadDone(&b));
    PetscCall(BenchOpen(&b.bench, "select"));
  }
  PetscCall(DoAll(&b));
  if (!b.dry) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " matrices measured\n", b.measured));
  PetscCall(PetscFree(b.done));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
