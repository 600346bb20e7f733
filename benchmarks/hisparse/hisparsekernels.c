static char help[] = "Times HiSparse, its products and conversions, against our own CSR, cuSPARSE and the floors, on matrices generated on the device.\n\
  -cases a,b,c     : only these\n\
  -formats a,b     : only these: auto, diagonals, blockdiagonals\n\
  -output file     : result records as JSON Lines, appended\n\
  -commit id       : for the records\n\
  -single          : values in single precision, too\n\
  -samples n       : samples of one measurement at most\n\
  -repetitions n   : of what is timed as a program sees it\n";

#include "../../src/mat/kernels/hisparse/diagonalsimpl.h"
#include "../common/benchproduct.h"
#include "../transpose/transposecheck.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/spadd.h>
#include <petscsparsecuda/spmv.h>
#include <petscsparsecuda/spmvtranspose.h>

/* Cases beside those of the products with CSR. */
static const char *const extra_cases[] = {"3d27-128", "mort27-128", "perm27-128", "rgg15-2M", "rgg15x3"};

#define MAX_CASES        64
#define SINGLE_TOLERANCE ((PetscReal)1e-6) /* of products with values that are rounded */
#define HALF_TOLERANCE   ((PetscReal)4e-3) /* the same in FP16: seven entries of 2^-12, and as much on the diagonal */

/* All that one case needs. Arrays of 2: A x and A^T x. */
typedef struct {
  Bench          bench;
  BenchProduct   product[2];
  DCSRView       csr;
  PetscReal      csr_bytes;     /* of the matrix in memory */
  PetscReal      value_bytes;   /* of the values alone */
  PetscReal      dcsr[2];       /* our own products with CSR, cold */
  PetscReal      dcsr_bytes[2]; /* of the matrix and what that product keeps for it */
  PetscReal      best[2];       /* of cuSPARSE, cold */
  const char    *best_names[2];
  HiSparseFormat format; /* that is measured */
  HiSparse       hisparse;
  PetscBool      wanted[HISPARSE_CSR];
  PetscBool      single;
} HiSparseBench;

static const char *const directions[2]   = {"n", "t"};
static const PetscBool   transposes[2]   = {PETSC_FALSE, PETSC_TRUE};
static const char *const dcsr_competitor = "dcsrcuda";

/* Our products with CSR. */
typedef struct {
  DCSRSpMVPlan          plan;
  DCSRSpMVTransposePlan transpose;
  const BenchProduct   *product;
} CSRProduct;

typedef struct {
  HiSparse            hisparse;
  const BenchProduct *product;
} HiSparseProduct;

/* What reads or writes CSR. */
typedef struct {
  HiSparse hisparse;
  DCSRView csr;
} CSRTransfer;

static PetscErrorCode CSRProductRun(void *ctx, cudaStream_t stream)
{
  const CSRProduct   *c = (const CSRProduct *)ctx;
  const BenchProduct *p = c->product;

  PetscFunctionBegin;
  if (p->transpose) PetscCall(DCSRSpMVTransposeApply(c->transpose, p->matrix.view, PETSC_FALSE, p->x, NULL, p->y, stream));
  else PetscCall(DCSRSpMVApply(c->plan, p->matrix.view, p->x, NULL, p->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HiSparseProductRun(void *ctx, cudaStream_t stream)
{
  const HiSparseProduct *h = (const HiSparseProduct *)ctx;
  const BenchProduct    *p = h->product;

  PetscFunctionBegin;
  if (p->transpose) PetscCall(HiSparseMultTranspose(h->hisparse, PETSC_FALSE, p->x, NULL, p->y, stream));
  else PetscCall(HiSparseMult(h->hisparse, p->x, NULL, p->y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesRun(void *ctx, cudaStream_t stream)
{
  CSRTransfer *t = (CSRTransfer *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseSetValues(t->hisparse, t->csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCSRRun(void *ctx, cudaStream_t stream)
{
  CSRTransfer *t = (CSRTransfer *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseGetCSR(t->hisparse, PETSC_TRUE, PETSC_TRUE, t->csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our own CSR, of full blocks with one column each: times of both directions, and what lies in memory for them. */
static PetscErrorCode MeasureCSR(HiSparseBench *b)
{
  cudaStream_t stream = b->bench.stream;
  CSRProduct   c;
  size_t       bytes[2];

  PetscFunctionBegin;
  PetscCall(BenchPlanCreate(b->csr, stream, &c.plan));
  PetscCall(DCSRSpMVTransposePlanCreate(b->csr, DCSR_SPMVT_AUTO, stream, &c.transpose));
  PetscCall(DCSRSpMVPlanGetInfo(c.plan, NULL, NULL, bytes, NULL));
  PetscCall(DCSRSpMVTransposePlanGetInfo(c.transpose, NULL, bytes + 1, NULL));
  for (PetscInt k = 0; k < 2; k++) {
    c.product = &b->product[k];
    PetscCall(BenchProductCheck(&b->product[k], dcsr_competitor, CSRProductRun, &c));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, CSRProductRun, &c, &b->dcsr[k]));
  }
  b->dcsr_bytes[0] = b->csr_bytes + (PetscReal)bytes[0];
  b->dcsr_bytes[1] = b->dcsr_bytes[0] + (PetscReal)bytes[1];
  PetscCall(DCSRSpMVPlanDestroy(&c.plan, stream));
  PetscCall(DCSRSpMVTransposePlanDestroy(&c.transpose, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureCusparse(HiSparseBench *b)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscReal   us[2];
    const char *names[2];

    PetscCall(BenchProductMeasureCusparse(&b->product[k], us, names));
    b->best[k]       = us[0];
    b->best_names[k] = names[0];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A record of what the rule chooses, a line for people of the other formats. */
static PetscErrorCode Report(HiSparseBench *b, const char metric[], const char unit[], PetscReal ours, PetscReal best, const char competitor[], PetscReal bound)
{
  const char *name = b->product[0].matrix.name;

  PetscFunctionBegin;
  if (b->format == HISPARSE_AUTO) {
    PetscCall(BenchRecord(&b->bench, name, metric, unit, ours, best, competitor, bound));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-24s %-30s %10.6g %s", HiSparseFormats[b->format], metric, (double)ours, unit));
  if (best >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %10.6g  ratio %6.2f", competitor, (double)best, (double)(best / ours)));
  if (bound >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  floor %10.6g  of floor %5.3f", (double)bound, (double)(bound / ours)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of a product with a format, or with CSR without info, microseconds: what lies in memory for A x, and the vectors. A^T x has lists of its own, or none, and what of the rest it reads differs from
  format to format:
  its values alone are counted.
*/
static PetscErrorCode ProductFloor(HiSparseBench *b, PetscInt k, const HiSparseInfo *info, PetscReal *us)
{
  const BenchProduct *p    = &b->product[k];
  const size_t        size = info && info->precision == HISPARSE_VALUES_SINGLE ? sizeof(PetscScalar) / 2 : sizeof(PetscScalar);
  PetscReal           read, written;

  PetscFunctionBegin;
  PetscCall(BenchProductBytes(p, &read, &written));
  if (info) {
    read = (PetscReal)sizeof(PetscScalar) * (PetscReal)(k ? p->num_rows : p->num_columns);
    read += k ? (PetscReal)size * (PetscReal)info->num_nonzeros : (PetscReal)(info->bytes - info->transpose_bytes);
  }
  *us = BenchFloor(&b->bench, read, written);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The times of both directions, against cuSPARSE where the rule chose, and against our own CSR. */
static PetscErrorCode ReportProducts(HiSparseBench *b, const HiSparseInfo *info, const PetscReal us[2])
{
  char      metric[64];
  PetscReal bound;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(ProductFloor(b, k, info, &bound));
    if (b->format == HISPARSE_AUTO) {
      PetscCall(PetscSNPrintf(metric, sizeof(metric), "time-%s-cold", directions[k]));
      PetscCall(Report(b, metric, "us", us[k], b->best[k], b->best_names[k], bound));
    }
    PetscCall(PetscSNPrintf(metric, sizeof(metric), "time-%s-cold-%s", directions[k], b->format == HISPARSE_AUTO ? dcsr_competitor : HiSparseFormats[b->format]));
    PetscCall(BenchRecord(&b->bench, b->product[0].matrix.name, metric, "us", us[k], b->dcsr[k], dcsr_competitor, bound));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of another matrix go in and come back, and then those of this one with its structure: every bit as it was. Leaves the values of this one behind. */
static PetscErrorCode CheckTransfers(HiSparseBench *b)
{
  const DCSRView csr    = b->csr;
  cudaStream_t   stream = b->bench.stream;
  DCSRView       got, other = csr, back = csr; // back: values for a structure that is there
  PetscCount     values, offsets, columns;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(csr.num_rows, csr.num_columns, csr.num_nonzeros, csr.wide, stream, &got));
  PetscCall(BenchVectorCreate(csr.num_nonzeros, 7, stream, &other.values));
  PetscCall(HiSparseSetValues(b->hisparse, other, stream));
  back.values = got.values;
  PetscCall(HiSparseGetCSR(b->hisparse, PETSC_FALSE, PETSC_TRUE, back, stream));
  PetscCall(TransposeCountDifferences(got.values, other.values, (size_t)csr.num_nonzeros * sizeof(PetscScalar), stream, &values));
  if (values > 0) PetscCall(BenchWrong(&b->bench, "%s, new values, %s: %" PetscCount_FMT " words", HiSparseFormats[b->format], b->product[0].matrix.name, values));
  PetscCall(HiSparseSetValues(b->hisparse, csr, stream));
  PetscCall(HiSparseGetCSR(b->hisparse, PETSC_TRUE, PETSC_TRUE, got, stream));
  PetscCall(TransposeCountDifferences(got.row_offsets, csr.row_offsets, ((size_t)csr.num_rows + 1) * (csr.wide ? sizeof(int64_t) : sizeof(int32_t)), stream, &offsets));
  PetscCall(TransposeCountDifferences(got.columns, csr.columns, (size_t)csr.num_nonzeros * sizeof(int32_t), stream, &columns));
  PetscCall(TransposeCountDifferences(got.values, csr.values, (size_t)csr.num_nonzeros * sizeof(PetscScalar), stream, &values));
  if (offsets + columns + values > 0)
    PetscCall(BenchWrong(&b->bench, "%s back to CSR, %s: %" PetscCount_FMT " row offsets, %" PetscCount_FMT " columns, %" PetscCount_FMT " words of values", HiSparseFormats[b->format],
                         b->product[0].matrix.name, offsets, columns, values));
  PetscCall(PetscSparseCUDAFree(&other.values, stream));
  PetscCall(DCSRViewFree(&got, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, and CSR again. The floors: values read once and written once; both forms of the matrix read and written once. */
static PetscErrorCode MeasureTransfers(HiSparseBench *b, PetscReal bytes)
{
  CSRTransfer t = {b->hisparse, b->csr};
  PetscReal   us;

  PetscFunctionBegin;
  PetscCall(CheckTransfers(b));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, SetValuesRun, &t, &us));
  PetscCall(Report(b, "update", "us", us, -1, NULL, BenchFloor(&b->bench, b->value_bytes, b->value_bytes)));
  PetscCall(DCSRViewAllocateCompact(b->csr.num_rows, b->csr.num_columns, b->csr.num_nonzeros, b->csr.wide, b->bench.stream, &t.csr));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, GetCSRRun, &t, &us));
  PetscCall(Report(b, "tocsr", "us", us, -1, NULL, BenchFloor(&b->bench, bytes, b->csr_bytes)));
  PetscCall(DCSRViewFree(&t.csr, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two terms of a sum. */
typedef struct {
  HiSparse    y, x;
  HiSparseSum sum; /* of the last one */
} Sum;

static PetscErrorCode AXPYRun(void *ctx, cudaStream_t stream)
{
  Sum *s = (Sum *)ctx;

  PetscFunctionBegin;
  PetscCall(HiSparseAXPY(s->y, 1.0, s->x, PETSC_INT_MAX, stream, &s->sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y + x of the values of csr and of others: every bit is that of a sum of CSR's values. */
static PetscErrorCode CheckSum(HiSparseBench *b, Sum *s, const PetscScalar others[])
{
  cudaStream_t stream = b->bench.stream;
  DCSRView     got    = b->csr;
  PetscScalar *expected;
  PetscCount   values;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(b->csr.num_nonzeros, "values of a sum", stream, &expected));
  PetscCall(PetscSparseCUDAMalloc(b->csr.num_nonzeros, "values of a sum", stream, &got.values));
  PetscCall(DCSRAddValues(b->csr.num_nonzeros, 1.0, b->csr.values, 1.0, others, expected, stream));
  PetscCall(AXPYRun(s, stream));
  if (s->sum != HISPARSE_SUM_NONE) {
    PetscCall(HiSparseGetCSR(s->y, PETSC_FALSE, PETSC_TRUE, got, stream));
    PetscCall(TransposeCountDifferences(got.values, expected, (size_t)b->csr.num_nonzeros * sizeof(PetscScalar), stream, &values));
    if (values > 0) PetscCall(BenchWrong(&b->bench, "%s, sum, %s: %" PetscCount_FMT " words", HiSparseFormats[b->format], b->product[0].matrix.name, values));
  }
  PetscCall(PetscSparseCUDAFree(&got.values, stream));
  PetscCall(PetscSparseCUDAFree(&expected, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += X, with one structure, and with two that are the same. The floor: values read twice and written once. Formats that leave sums to CSR have no record. */
static PetscErrorCode MeasureSums(HiSparseBench *b)
{
  static const char *const metrics[2] = {"axpy", "axpy-compared"};
  const PetscReal          bound      = BenchFloor(&b->bench, 2 * b->value_bytes, b->value_bytes);
  cudaStream_t             stream     = b->bench.stream;
  DCSRView                 other      = b->csr;
  PetscReal                us;

  PetscFunctionBegin;
  PetscCall(BenchVectorCreate(b->csr.num_nonzeros, 9, stream, &other.values));
  for (PetscInt k = 0; k < 2; k++) {
    Sum s = {NULL, NULL, HISPARSE_SUM_NONE};

    PetscCall(HiSparseCreate(b->csr, b->format, stream, &s.y));
    if (k == 0) {
      PetscCall(HiSparseDuplicate(s.y, stream, &s.x));
      PetscCall(HiSparseSetValues(s.x, other, stream));
    } else PetscCall(HiSparseCreate(other, b->format, stream, &s.x));
    PetscCall(CheckSum(b, &s, other.values));
    if (s.sum != HISPARSE_SUM_NONE) {
      PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, AXPYRun, &s, &us));
      PetscCall(Report(b, metrics[k], "us", us, -1, NULL, bound));
    }
    PetscCall(HiSparseDestroy(&s.x, stream));
    PetscCall(HiSparseDestroy(&s.y, stream));
  }
  PetscCall(PetscSparseCUDAFree(&other.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a program waits for: making it, making the list for A^T, a copy, a transpose. Medians, microseconds, with all allocations. */
static PetscErrorCode MeasureMaking(HiSparseBench *b, PetscReal bytes)
{
  static const char *const metrics[4] = {"convert", "transpose-list", "duplicate", "transpose"};
  const PetscReal          bound[4]   = {BenchFloor(&b->bench, b->csr_bytes, bytes), -1, -1, -1};
  cudaStream_t             stream     = b->bench.stream;
  PetscReal                samples[4][BENCH_MAX_REPETITIONS], us;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < b->bench.repetitions; i++) {
    PetscLogDouble t[5];
    HiSparse       made, copy, transpose;

    PetscCall(BenchNow(t));
    PetscCall(HiSparseCreate(b->csr, b->format, stream, &made));
    PetscCall(BenchNow(t + 1));
    PetscCall(HiSparsePrepare(made, PETSC_TRUE, stream));
    PetscCall(BenchNow(t + 2));
    PetscCall(HiSparseDuplicate(made, stream, &copy));
    PetscCall(BenchNow(t + 3));
    PetscCall(HiSparseTranspose(made, stream, &transpose));
    PetscCall(BenchNow(t + 4));
    PetscCall(HiSparseDestroy(&made, stream));
    PetscCall(HiSparseDestroy(&copy, stream));
    PetscCall(HiSparseDestroy(&transpose, stream));
    for (PetscInt k = 0; k < 4; k++) samples[k][i] = (PetscReal)(1e6 * (t[k + 1] - t[k]));
  }
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(BenchMedian(b->bench.repetitions, samples[k], &us));
    PetscCall(Report(b, metrics[k], "us", us, -1, NULL, bound[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a nonzero, for A x alone and with what A^T x needs, against our CSR with what it keeps for the same. */
static PetscErrorCode ReportBytes(HiSparseBench *b, const HiSparseInfo *info)
{
  static const char *const metrics[2] = {"bytes", "bytes-both"};
  const PetscReal          nz         = (PetscReal)PetscMax(b->csr.num_nonzeros, 1);
  const PetscReal          bytes[2]   = {(PetscReal)(info->bytes - info->transpose_bytes), (PetscReal)info->bytes};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) PetscCall(Report(b, metrics[k], "bytes a nonzero", bytes[k] / nz, b->dcsr_bytes[k] / nz, dcsr_competitor, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that stays CSR multiplies as CSR does. */
static PetscErrorCode FormatIsCSR(HiSparseBench *b)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s: stays CSR\n", HiSparseFormats[b->format]));
  if (b->format == HISPARSE_AUTO) PetscCall(ReportProducts(b, NULL, b->dcsr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormatRecords(HiSparseBench *b)
{
  HiSparseInfo info;
  PetscReal    us[2];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) PetscCall(HiSparsePrepare(b->hisparse, transposes[k], b->bench.stream));
  PetscCall(HiSparseGetInfo(b->hisparse, &info));
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "  %s: %s, %" PetscCount_FMT " segments, %" PetscCount_FMT " others\n", HiSparseFormats[b->format], HiSparseFormats[info.format], info.num_segments, info.num_others));
  for (PetscInt k = 0; k < 2; k++) {
    HiSparseProduct h = {b->hisparse, &b->product[k]};

    PetscCall(BenchProductCheck(&b->product[k], HiSparseFormats[info.format], HiSparseProductRun, &h));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseProductRun, &h, us + k));
  }
  PetscCall(ReportProducts(b, &info, us));
  PetscCall(ReportBytes(b, &info));
  PetscCall(MeasureTransfers(b, (PetscReal)(info.bytes - info.transpose_bytes)));
  PetscCall(MeasureSums(b));
  PetscCall(MeasureMaking(b, (PetscReal)(info.bytes - info.transpose_bytes)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseFormats(HiSparseBench *b)
{
  PetscFunctionBegin;
  for (HiSparseFormat format = HISPARSE_AUTO; format < HISPARSE_CSR; format++) {
    if (!b->wanted[format]) continue;
    b->format = format;
    PetscCall(HiSparseCreate(b->csr, format, b->bench.stream, &b->hisparse));
    if (b->hisparse == NULL) PetscCall(FormatIsCSR(b));
    else PetscCall(FormatRecords(b));
    PetscCall(HiSparseDestroy(&b->hisparse, b->bench.stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the values of now are rounded to; NULL: it is no format of the matrix, or has none of this precision. */
static PetscErrorCode CreateRounded(HiSparseBench *b, HiSparseFormat format, HiSparsePrecision precision, const char what[], HiSparse *rounded)
{
  HiSparse     hisparse;
  HiSparseInfo info = {0};

  PetscFunctionBegin;
  *rounded = NULL;
  PetscCall(HiSparseCreate(b->csr, format, b->bench.stream, &hisparse));
  if (hisparse == NULL) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s: stays CSR\n", what));
  else {
    PetscCall(HiSparseRound(hisparse, precision, b->bench.stream, rounded));
    PetscCall(HiSparseDestroy(&hisparse, b->bench.stream));
    PetscCall(HiSparseGetInfo(*rounded, &info));
  }
  if (info.precision != precision) PetscCall(HiSparseDestroy(rounded, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with a format whose values are rounded, against our own CSR, and their bytes for A x. The vectors are as they were, and so are the sums. */
static PetscErrorCode RoundedRecords(HiSparseBench *b, HiSparseFormat format, HiSparsePrecision precision)
{
  const PetscBool is_half = (PetscBool)(precision == HISPARSE_VALUES_HALF); // for products with the matrix alone
  const PetscReal nz      = (PetscReal)PetscMax(b->csr.num_nonzeros, 1);
  const char     *name    = b->product[0].matrix.name;
  HiSparseInfo    info;
  HiSparse        single;
  char            what[32], metric[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), format == HISPARSE_DIAGONALS ? "%s" : "%s-%s", is_half ? "half" : "single", HiSparseFormats[format]));
  PetscCall(CreateRounded(b, format, precision, what, &single));
  if (single == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < (is_half ? 1 : 2); k++) {
    HiSparseProduct h = {single, &b->product[k]};
    PetscReal       us, bound;

    PetscCall(HiSparsePrepare(single, transposes[k], b->bench.stream));
    PetscCall(HiSparseGetInfo(single, &info));
    PetscCall(ProductFloor(b, k, &info, &bound));
    PetscCall(BenchProductCheckTo(&b->product[k], what, is_half ? HALF_TOLERANCE : SINGLE_TOLERANCE, HiSparseProductRun, &h));
    PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, HiSparseProductRun, &h, &us));
    PetscCall(PetscSNPrintf(metric, sizeof(metric), "time-%s-cold-%s", directions[k], what));
    PetscCall(BenchRecord(&b->bench, name, metric, "us", us, b->dcsr[k], dcsr_competitor, bound));
  }
  PetscCall(PetscSNPrintf(metric, sizeof(metric), "bytes-%s", what));
  PetscCall(BenchRecord(&b->bench, name, metric, "bytes a nonzero", (PetscReal)(info.bytes - info.transpose_bytes) / nz, b->dcsr_bytes[0] / nz, dcsr_competitor, -1));
  PetscCall(HiSparseDestroy(&single, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(HiSparseBench *b, const char name[])
{
  PetscFunctionBegin;
  PetscCall(BenchProductCreate(&b->bench, name, PETSC_FALSE, b->product));
  PetscCall(BenchProductCreateOther(b->product, b->product + 1));
  b->csr         = b->product[0].matrix.view;
  b->csr_bytes   = (PetscReal)(b->csr.num_nonzeros * (PetscCount)(sizeof(PetscScalar) + sizeof(int32_t)) + ((PetscCount)b->csr.num_rows + 1) * (b->csr.wide ? 8 : 4));
  b->value_bytes = (PetscReal)(b->csr.num_nonzeros * (PetscCount)sizeof(PetscScalar));
  PetscCall(MeasureCSR(b));
  PetscCall(MeasureCusparse(b));
  PetscCall(CaseFormats(b));
  if (b->single) {
    for (HiSparseFormat format = HISPARSE_DIAGONALS; format < HISPARSE_CSR; format++) PetscCall(RoundedRecords(b, format, HISPARSE_VALUES_SINGLE));
    PetscCall(RoundedRecords(b, HISPARSE_DIAGONALS, HISPARSE_VALUES_HALF));
  }
  PetscCall(BenchProductDestroy(b->product + 1));
  PetscCall(BenchProductDestroy(b->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which formats -formats names; all when it is not there. */
static PetscErrorCode ReadFormats(HiSparseBench *b, PetscOptionItems PetscOptionsObject)
{
  HiSparseFormat formats[HISPARSE_CSR] = {HISPARSE_AUTO, HISPARSE_DIAGONALS, HISPARSE_BLOCK_DIAGONALS};
  PetscInt       n                     = HISPARSE_CSR;
  PetscBool      some;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnumArray("-formats", "Formats", NULL, HiSparseFormats, (PetscEnum *)formats, &n, &some));
  for (HiSparseFormat f = HISPARSE_AUTO; f < HISPARSE_CSR; f++) b->wanted[f] = (PetscBool)!some;
  for (PetscInt i = 0; some && i < n; i++) {
    PetscCheck(formats[i] != HISPARSE_CSR, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "CSR is what the formats are compared with: -formats takes auto, diagonals, blockdiagonals");
    b->wanted[formats[i]] = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const *names;
  const char        *all[MAX_CASES];
  PetscInt           n;
  HiSparseBench      b = {.bench.repetitions = 9};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "HiSparse benchmark", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsRepetitions(&b.bench, PetscOptionsObject));
  PetscCall(ReadFormats(&b, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-single", "Time values in single precision, too", NULL, b.single, &b.single, NULL));
  PetscCall(PetscOptionsReal("-budget", "Microseconds of one measurement", NULL, b.bench.budget_us, &b.bench.budget_us, NULL));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b.bench, "hisparse"));
  PetscCall(BenchMatrixGetNames(&n, &names));
  for (PetscInt i = 0; i < n; i++) all[i] = names[i];
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(extra_cases); i++) all[n++] = extra_cases[i];
  names = all;
  PetscCall(BenchGetCases(&b.bench, &n, &names));
  for (PetscInt i = 0; i < n; i++) PetscCall(Case(&b, names[i]));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
