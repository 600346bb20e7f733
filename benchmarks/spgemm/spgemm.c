static char help[] = "Times sparse products against cuSPARSE: A A, A P and R (A P) with smoothed prolongators P of aggregates of 3 points in every direction.\n\
  -only name       : only cases whose name contains it\n\
  -output file     : result records as JSON Lines, appended\n\
  -commit id       : for the records\n\
  -repetitions n   : of each measurement\n\
  -cusparse bool   : also the competitor (default yes)\n";

/*
  Times are those of a program: from the call until the device is done, allocation of C included; medians after a repetition that warms up. The floor is the time to
  read A and B and to write C at the bandwidth of a large copy.
*/

#include "../common/benchrecord.h"
#include "../common/benchtime.h"
#include "spgemmbench.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/transpose.h>
#include <petscsparsecuda/spgemm.h>
#include <petsctime.h>

#define MAX_REPETITIONS 101
#define TOLERANCE       1e-11 /* of the largest difference of values, which are sums of products of numbers in [-1, 1] */

typedef struct {
  const char *name;    /* of the matrix */
  PetscInt    grid[3]; /* of its prolongator, 0: none */
  PetscInt    dof;     /* unknowns a point */
  const char *square;  /* prefix of the product with itself: aa, aat with its transpose, structure for that alone; NULL: none */
} MatrixCase;

static const MatrixCase matrix_cases[] = {
  {"2d5-1024", {1024, 1024, 1}, 1, "aa"}, {"2d9-1024", {1024, 1024, 1}, 1, "aa"}, {"3d7-128", {128, 128, 128}, 1, "aa"}, {"3d27-128", {128, 128, 128}, 1, "aa"}, {"3d7-256", {256, 256, 256}, 1, "aa"}, {"3d27-200", {200, 200, 200}, 1, "structure"},
  {"rmat16", {0, 0, 0}, 1, "aa"},         {"uniform500k", {0, 0, 0}, 1, "aa"},    {"3d7-64", {64, 64, 64}, 1, "aa"},     {"3d27-64", {64, 64, 64}, 1, "aa"},     {"3d27-32", {32, 32, 32}, 1, "aa"},    {"3d27-16", {16, 16, 16}, 1, "aa"},
  {"elast3-40", {0, 0, 0}, 3, "aa"},      {"identity", {0, 0, 0}, 1, "aa"},       {"permutation", {0, 0, 0}, 1, "aa"},   {"blockdiagonal", {0, 0, 0}, 1, "aa"},  {"denserows", {0, 0, 0}, 1, "aa"},     {"densecolumns", {0, 0, 0}, 1, "aa"},
  {"skewed", {0, 0, 0}, 1, "aa"},         {"tall20k", {0, 0, 0}, 1, "aat"},       {"shell6-200", {0, 0, 0}, 6, "aa"},    {"elast6-24", {0, 0, 0}, 6, "aa"},
};

/* Times of the best sorted open peer on an H200 (spECK, OpSparse or cuSPARSE), in microseconds: for the printout. */
static const struct {
  const char *name;
  PetscReal   us;
} peers[] = {
  {"ap-2d5-1024", 530},   {"rap-2d5-1024", 520},  {"aa-2d5-1024", 760}, {"aa-2d9-1024", 3170}, {"ap-3d7-128", 1120},   {"rap-3d7-128", 1040},  {"aa-3d7-128", 4380}, {"ap-3d27-128", 7680},
  {"rap-3d27-128", 2210}, {"aa-3d27-128", 32600}, {"ap-3d7-256", 6980}, {"rap-3d7-256", 7820}, {"ap-3d27-200", 29000}, {"rap-3d27-200", 7210}, {"aa-rmat16", 8060},  {"aa-uniform500k", 7650},
};

typedef struct {
  BenchTimer    timer;
  BenchRecorder recorder;
  cudaStream_t  stream;
  PetscReal     bandwidth; /* bytes a microsecond of a copy */
  PetscInt      repetitions, failures, num_cases;
  PetscBool     cusparse;
  char          only[64];
} Bench;

static PetscErrorCode Now(PetscLogDouble *time)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Median(PetscInt n, PetscReal us[])
{
  PetscCallAbort(PETSC_COMM_SELF, PetscSortReal(n, us));
  return us[n / 2];
}

static PetscReal Bytes(DCSRView A)
{
  return (PetscReal)A.num_nonzeros * (PetscReal)(sizeof(int32_t) + sizeof(PetscScalar)) + (PetscReal)(A.wide ? sizeof(int64_t) : sizeof(int32_t)) * ((PetscReal)A.num_rows + 1);
}

static PetscErrorCode Record(Bench *b, const char name[], const char metric[], const char unit[], PetscReal ours, PetscReal best, const char competitor[], PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-16s %-14s ours %10.4g %s", name, metric, (double)ours, unit));
  if (best >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  best %10.4g (%s)  ratio %6.2f", (double)best, competitor, (double)(best / ours)));
  else if (competitor) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed", competitor));
  if (bound >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  floor %9.4g  of floor %5.3f", (double)bound, (double)(bound / ours)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(BenchRecorderAdd(&b->recorder, name, metric, unit, ours, best, competitor, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wrong(Bench *b, const char name[], const char what[])
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG: %s, %s\n", name, what));
  b->failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole products, values included. The first result is kept. */
static PetscErrorCode MeasureWhole(Bench *b, DCSRView A, DCSRView B, DCSRView *C, DCSRSpGEMM *product, PetscReal *us)
{
  PetscReal samples[MAX_REPETITIONS];

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, C, product));
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, end;
    DCSRView       D;
    DCSRSpGEMM     again;

    PetscCall(Now(&begin));
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, &D, &again));
    PetscCall(Now(&end));
    if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
    PetscCall(DCSRSpGEMMDestroy(&again, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  *us = Median(b->repetitions, samples);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure alone. */
static PetscErrorCode MeasureSymbolic(Bench *b, DCSRView A, DCSRView B, PetscCount *num_nonzeros, PetscReal *us)
{
  PetscReal samples[MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, end;
    DCSRView       D;
    DCSRSpGEMM     again;

    PetscCall(Now(&begin));
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_FALSE, b->stream, &D, &again));
    PetscCall(Now(&end));
    if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
    *num_nonzeros = D.num_nonzeros;
    PetscCall(DCSRSpGEMMDestroy(&again, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  *us = Median(b->repetitions, samples);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What it is worth to do the structure of equal rows once. */
static PetscErrorCode RunBlockRows(Bench *b, const MatrixCase *c, DCSRView A)
{
  char       name[64];
  char      *found;
  PetscReal  once, each;
  PetscCount num_nonzeros;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", c->square, c->name));
  PetscCall(PetscStrstr(name, b->only, &found));
  if (found == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureSymbolic(b, A, A, &num_nonzeros, &once));
  DCSRSpGEMMUseRepeats = PETSC_FALSE;
  PetscCall(MeasureSymbolic(b, A, A, &num_nonzeros, &each));
  DCSRSpGEMMUseRepeats = PETSC_TRUE;
  PetscCall(Record(b, name, "block-rows", "us", once, each, "each row", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure alone; values again, into arrays full of NaN; whether they are the same bits is for the tests. */
static PetscErrorCode MeasurePhases(Bench *b, DCSRView A, DCSRView B, DCSRView C, DCSRSpGEMM product, PetscReal *symbolic, PetscReal *numeric)
{
  PetscReal samples[2][MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, middle, end;
    DCSRView       D;
    DCSRSpGEMM     again;

    PetscCallCUDA(cudaMemsetAsync(C.values, 0xff, (size_t)C.num_nonzeros * sizeof(PetscScalar), b->stream));
    PetscCall(Now(&begin));
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_FALSE, b->stream, &D, &again));
    PetscCall(Now(&middle));
    PetscCall(DCSRSpGEMMNumeric(product, A, B, C, b->stream));
    PetscCall(Now(&end));
    if (r >= 0) {
      samples[0][r] = (PetscReal)(middle - begin) * 1e6;
      samples[1][r] = (PetscReal)(end - middle) * 1e6;
    }
    PetscCall(DCSRSpGEMMDestroy(&again, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  *symbolic = Median(b->repetitions, samples[0]);
  *numeric  = Median(b->repetitions, samples[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuSPARSE's first algorithm, the second where memory does not do for the first; *best < 0 when both fail. */
static PetscErrorCode MeasureCusparse(Bench *b, const char name[], DCSRView A, DCSRView B, DCSRView C, PetscReal *best, const char **which, size_t *workspace)
{
  static const char *const names[] = {"cuSPARSE ALG1", "cuSPARSE ALG2"};
  PetscReal                samples[MAX_REPETITIONS], error;
  PetscBool                same;

  PetscFunctionBegin;
  *best  = -1;
  *which = b->cusparse ? names[0] : NULL;
  for (PetscInt algorithm = 1; b->cusparse && algorithm <= 2 && *best < 0; algorithm++) {
    PetscInt r;

    for (r = -1; r < PetscMin(b->repetitions, 5); r++) {
      PetscLogDouble begin, end;
      PetscErrorCode ierr;
      DCSRView       D;

      PetscCall(Now(&begin));
      ierr = SpGEMMBenchCusparse(A, B, algorithm, b->stream, &D, workspace);
      PetscCall(Now(&end));
      if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
      if (ierr == PETSC_SUCCESS && r == -1) {
        PetscCall(SpGEMMBenchCompare(C, D, b->stream, &same, &error));
        if (!same || !(error <= TOLERANCE)) PetscCall(Wrong(b, name, same ? "values differ from cuSPARSE's" : "the structure differs from cuSPARSE's"));
      }
      PetscCall(DCSRViewFree(&D, b->stream));
      if (ierr != PETSC_SUCCESS) break;
    }
    if (r < PetscMin(b->repetitions, 5)) continue;
    *best  = Median(r, samples);
    *which = names[algorithm - 1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintInfo(DCSRSpGEMM product, DCSRView C)
{
  DCSRSpGEMMInfo info;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(product, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %.4g products, %.4g nonzeros, workspace %.3g MiB, bins", (double)info.num_products, (double)C.num_nonzeros, (double)info.workspace / 1048576.0));
  for (PetscInt bin = 0; bin < info.num_bins; bin++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s: %" PetscCount_FMT, info.bin_names[bin], info.bin_rows[bin]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintPeer(const char name[], PetscReal us)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(peers); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(name, peers[k].name, &same));
    if (same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  best sorted peer %.4g us, ours is %.2fx faster\n", (double)peers[k].us, (double)(peers[k].us / us)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product: everything about it. C is kept for the next one when asked for. */
static PetscErrorCode RunCase(Bench *b, const char prefix[], const char matrix[], DCSRView A, DCSRView B, DCSRView *keep)
{
  char           name[64];
  char          *found;
  const char    *which;
  DCSRView       C;
  DCSRSpGEMM     product;
  DCSRSpGEMMInfo info;
  PetscReal      whole = 0, symbolic = 0, numeric = 0, best = -1, floor;
  size_t         workspace = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", prefix, matrix));
  PetscCall(PetscStrstr(name, b->only, &found));
  if (found != NULL) {
    b->num_cases++;
    PetscCall(MeasureWhole(b, A, B, &C, &product, &whole));
    PetscCall(MeasurePhases(b, A, B, C, product, &symbolic, &numeric));
    PetscCall(MeasureCusparse(b, name, A, B, C, &best, &which, &workspace));
    floor = (Bytes(A) + Bytes(B) + Bytes(C)) / b->bandwidth;
    PetscCall(Record(b, name, "time", "us", whole, best, which, floor));
    PetscCall(Record(b, name, "symbolic", "us", symbolic, -1, NULL, -1));
    PetscCall(Record(b, name, "numeric", "us", numeric, -1, NULL, floor));
    PetscCall(DCSRSpGEMMGetInfo(product, &info));
    PetscCall(Record(b, name, "workspace", "MB", (PetscReal)info.workspace * 1e-6, best < 0 ? -1 : (PetscReal)workspace * 1e-6, best < 0 ? NULL : which, -1));
    PetscCall(PrintInfo(product, C));
    PetscCall(PrintPeer(name, whole));
    PetscCall(DCSRSpGEMMDestroy(&product, b->stream));
  } else if (keep != NULL) {
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, &C, &product));
    PetscCall(DCSRSpGEMMDestroy(&product, b->stream));
  } else PetscFunctionReturn(PETSC_SUCCESS);
  if (keep != NULL) *keep = C;
  else PetscCall(DCSRViewFree(&C, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(DCSRView A, cudaStream_t stream, DCSRView *T)
{
  int32_t *permutation;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, T));
  PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation", stream, &permutation));
  PetscCall(DCSRTransposeSymbolic(A, *T, permutation, stream));
  PetscCall(DCSRTransposeNumeric(A, permutation, PETSC_FALSE, T->values, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A P and R (A P); P has the pattern of A P0. */
static PetscErrorCode RunGalerkin(Bench *b, const MatrixCase *c, DCSRView A)
{
  DCSRView   P0, P, R, AP;
  DCSRSpGEMM product;

  PetscFunctionBegin;
  PetscCall(SpGEMMBenchTentative(c->grid[0], c->grid[1], c->grid[2], b->stream, &P0));
  PetscCall(RunCase(b, "ap0", c->name, A, P0, NULL));
  PetscCall(DCSRSpGEMMSymbolic(A, P0, PETSC_TRUE, b->stream, &P, &product));
  PetscCall(DCSRSpGEMMDestroy(&product, b->stream));
  PetscCall(DCSRViewFree(&P0, b->stream));
  PetscCall(RunCase(b, "ap", c->name, A, P, &AP));
  PetscCall(Transpose(P, b->stream, &R));
  PetscCall(RunCase(b, "rap", c->name, R, AP, NULL));
  PetscCall(DCSRViewFree(&P, b->stream));
  PetscCall(DCSRViewFree(&R, b->stream));
  PetscCall(DCSRViewFree(&AP, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of A A alone: what a graph is squared for. */
static PetscErrorCode RunStructure(Bench *b, const char matrix[], DCSRView A)
{
  char       name[64];
  char      *found;
  PetscReal  us;
  PetscCount num_nonzeros;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "structure-%s", matrix));
  PetscCall(PetscStrstr(name, b->only, &found));
  if (found == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  b->num_cases++;
  PetscCall(MeasureSymbolic(b, A, A, &num_nonzeros, &us));
  PetscCall(Record(b, name, "symbolic", "us", us, -1, NULL, ((PetscReal)A.num_nonzeros + (PetscReal)num_nonzeros) * sizeof(int32_t) / b->bandwidth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of a matrix with itself that its case asks for. */
static PetscErrorCode RunSquare(Bench *b, const MatrixCase *c, DCSRView A)
{
  PetscBool structure, transposed;
  DCSRView  T;

  PetscFunctionBegin;
  if (c->square == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(c->square, "structure", &structure));
  PetscCall(PetscStrcmp(c->square, "aat", &transposed));
  if (structure) PetscCall(RunStructure(b, c->name, A));
  else if (transposed) {
    PetscCall(Transpose(A, b->stream, &T));
    PetscCall(RunCase(b, "aat", c->name, A, T, NULL));
    PetscCall(DCSRViewFree(&T, b->stream));
  } else PetscCall(RunCase(b, "aa", c->name, A, A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WantsMatrix(const Bench *b, const MatrixCase *c, PetscBool *wants)
{
  const char *prefixes[] = {c->square, "ap", "ap0", "rap"};
  char        name[64];
  char       *found;

  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  for (size_t k = 0; k < (c->grid[0] ? PETSC_STATIC_ARRAY_LENGTH(prefixes) : 1); k++) {
    if (prefixes[k] == NULL) continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", prefixes[k], c->name));
    PetscCall(PetscStrstr(name, b->only, &found));
    *wants = (PetscBool)(*wants || found != NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     b;
  char      output[PETSC_MAX_PATH_LEN] = "", commit[64] = "unknown";
  PetscBool usable, has_output;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.cusparse    = PETSC_TRUE;
  b.repetitions = 11;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", b.only, sizeof(b.only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", output, sizeof(output), &has_output));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", commit, sizeof(commit), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repetitions", &b.repetitions, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cusparse", &b.cusparse, NULL));
  PetscCheck(b.repetitions > 0 && b.repetitions <= MAX_REPETITIONS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-repetitions must be 1 to %d", MAX_REPETITIONS);
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCheck(usable, PETSC_COMM_SELF, PETSC_ERR_SUP, "This benchmark needs a CUDA device");
  PetscCall(PetscSparseCUDAGetStream(&b.stream));
  PetscCall(BenchTimerCreate(b.stream, &b.timer));
  PetscCall(BenchTimerCopyBandwidth(&b.timer, &b.bandwidth));
  PetscCall(BenchRecorderCreate("spgemm", has_output ? output : NULL, commit, &b.recorder));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(matrix_cases); k++) {
    BenchMatrix matrix;
    PetscBool   wants;

    PetscCall(WantsMatrix(&b, &matrix_cases[k], &wants));
    if (!wants) continue;
    PetscCall(BenchMatrixCreate(matrix_cases[k].name, b.stream, &matrix));
    PetscCall(RunSquare(&b, &matrix_cases[k], matrix.view));
    if (matrix_cases[k].dof > 1) PetscCall(RunBlockRows(&b, &matrix_cases[k], matrix.view));
    if (matrix_cases[k].grid[0]) PetscCall(RunGalerkin(&b, &matrix_cases[k], matrix.view));
    PetscCall(BenchMatrixDestroy(&matrix, b.stream));
  }
  PetscCheck(b.num_cases > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "No case of a name that contains %s", b.only);
  PetscCall(BenchRecorderDestroy(&b.recorder));
  PetscCall(BenchTimerDestroy(&b.timer));
  PetscCheck(b.failures == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " results are wrong", b.failures);
  PetscCall(PetscFinalize());
  return 0;
}
