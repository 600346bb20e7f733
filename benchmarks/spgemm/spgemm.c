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

#include "../common/bench.h"
#include "spgemmbench.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/spgemm.h>

#define TOLERANCE 1e-11 /* of the largest difference of values, which are sums of products of numbers in [-1, 1] */

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

static PetscBool use_cusparse = PETSC_TRUE; /* -cusparse */

static PetscReal Bytes(DCSRView A)
{
  return (PetscReal)A.num_nonzeros * (PetscReal)(sizeof(int32_t) + sizeof(PetscScalar)) + (PetscReal)(A.wide ? sizeof(int64_t) : sizeof(int32_t)) * ((PetscReal)A.num_rows + 1);
}

/* Products anew, with values or the structure alone. */
static PetscErrorCode MeasureProduct(Bench *b, DCSRView A, DCSRView B, PetscBool values, PetscCount *num_nonzeros, PetscReal *us)
{
  PetscReal samples[BENCH_MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, end;
    DCSRView       D;
    DCSRSpGEMM     again;

    PetscCall(BenchNow(&begin));
    PetscCall(DCSRSpGEMMSymbolic(A, B, values, b->stream, &D, &again));
    PetscCall(BenchNow(&end));
    if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
    *num_nonzeros = D.num_nonzeros;
    PetscCall(DCSRSpGEMMDestroy(&again, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  PetscCall(BenchMedian(b->repetitions, samples, us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What it is worth to do the structure of equal rows once. */
static PetscErrorCode RunBlockRows(Bench *b, const MatrixCase *c, DCSRView A)
{
  char       name[64];
  PetscBool  wants;
  PetscReal  once, each;
  PetscCount num_nonzeros;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", c->square, c->name));
  PetscCall(BenchWants(b, name, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureProduct(b, A, A, PETSC_FALSE, &num_nonzeros, &once));
  DCSRSpGEMMUseRepeats = PETSC_FALSE;
  PetscCall(MeasureProduct(b, A, A, PETSC_FALSE, &num_nonzeros, &each));
  DCSRSpGEMMUseRepeats = PETSC_TRUE;
  PetscCall(BenchRecord(b, name, "block-rows", "us", once, each, "each row", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure alone; values again, into arrays full of NaN; whether they are the same bits is for the tests. */
static PetscErrorCode MeasurePhases(Bench *b, DCSRView A, DCSRView B, DCSRView C, DCSRSpGEMM product, PetscReal *symbolic, PetscReal *numeric)
{
  PetscReal samples[2][BENCH_MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, middle, end;
    DCSRView       D;
    DCSRSpGEMM     again;

    PetscCallCUDA(cudaMemsetAsync(C.values, 0xff, (size_t)C.num_nonzeros * sizeof(PetscScalar), b->stream));
    PetscCall(BenchNow(&begin));
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_FALSE, b->stream, &D, &again));
    PetscCall(BenchNow(&middle));
    PetscCall(DCSRSpGEMMNumeric(product, A, B, C, b->stream));
    PetscCall(BenchNow(&end));
    if (r >= 0) {
      samples[0][r] = (PetscReal)(middle - begin) * 1e6;
      samples[1][r] = (PetscReal)(end - middle) * 1e6;
    }
    PetscCall(DCSRSpGEMMDestroy(&again, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  PetscCall(BenchMedian(b->repetitions, samples[0], symbolic));
  PetscCall(BenchMedian(b->repetitions, samples[1], numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuSPARSE's first algorithm, the second where memory does not do for the first; *best < 0 when both fail. */
static PetscErrorCode MeasureCusparse(Bench *b, const char name[], DCSRView A, DCSRView B, DCSRView C, PetscReal *best, const char **which, size_t *workspace)
{
  static const char *const names[] = {"cuSPARSE ALG1", "cuSPARSE ALG2"};
  PetscReal                samples[BENCH_MAX_REPETITIONS], error;
  PetscBool                same;

  PetscFunctionBegin;
  *best  = -1;
  *which = use_cusparse ? names[0] : NULL;
  for (PetscInt algorithm = 1; use_cusparse && algorithm <= 2 && *best < 0; algorithm++) {
    PetscInt r;

    for (r = -1; r < PetscMin(b->repetitions, 5); r++) {
      PetscLogDouble begin, end;
      PetscErrorCode ierr;
      DCSRView       D;

      PetscCall(BenchNow(&begin));
      ierr = SpGEMMBenchCusparse(A, B, algorithm, b->stream, &D, workspace);
      PetscCall(BenchNow(&end));
      if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
      if (ierr == PETSC_SUCCESS && r == -1) {
        PetscCall(SpGEMMBenchCompare(C, D, b->stream, &same, &error));
        if (!same || !(error <= TOLERANCE)) PetscCall(BenchWrong(b, "%s, %s", name, same ? "values differ from cuSPARSE's" : "the structure differs from cuSPARSE's"));
      }
      PetscCall(DCSRViewFree(&D, b->stream));
      if (ierr != PETSC_SUCCESS) break;
    }
    if (r < PetscMin(b->repetitions, 5)) continue;
    PetscCall(BenchMedian(r, samples, best));
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
  PetscBool      wants;
  const char    *which;
  DCSRView       C;
  DCSRSpGEMM     product;
  DCSRSpGEMMInfo info;
  PetscCount     num_nonzeros;
  PetscReal      whole = 0, symbolic = 0, numeric = 0, best = -1, floor;
  size_t         workspace = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", prefix, matrix));
  PetscCall(BenchWants(b, name, &wants));
  if (wants) {
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, &C, &product));
    PetscCall(MeasureProduct(b, A, B, PETSC_TRUE, &num_nonzeros, &whole));
    PetscCall(MeasurePhases(b, A, B, C, product, &symbolic, &numeric));
    PetscCall(MeasureCusparse(b, name, A, B, C, &best, &which, &workspace));
    floor = (Bytes(A) + Bytes(B) + Bytes(C)) / b->bandwidth;
    PetscCall(BenchRecord(b, name, "time", "us", whole, best, which, floor));
    PetscCall(BenchRecord(b, name, "symbolic", "us", symbolic, -1, NULL, -1));
    PetscCall(BenchRecord(b, name, "numeric", "us", numeric, -1, NULL, floor));
    PetscCall(DCSRSpGEMMGetInfo(product, &info));
    PetscCall(BenchRecord(b, name, "workspace", "MB", (PetscReal)info.workspace * 1e-6, best < 0 ? -1 : (PetscReal)workspace * 1e-6, best < 0 ? NULL : which, -1));
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
  PetscCall(BenchCreateTranspose(P, b->stream, &R));
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
  PetscBool  wants;
  PetscReal  us;
  PetscCount num_nonzeros;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "structure-%s", matrix));
  PetscCall(BenchWants(b, name, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureProduct(b, A, A, PETSC_FALSE, &num_nonzeros, &us));
  PetscCall(BenchRecord(b, name, "symbolic", "us", us, -1, NULL, ((PetscReal)A.num_nonzeros + (PetscReal)num_nonzeros) * sizeof(int32_t) / b->bandwidth));
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
    PetscCall(BenchCreateTranspose(A, b->stream, &T));
    PetscCall(RunCase(b, "aat", c->name, A, T, NULL));
    PetscCall(DCSRViewFree(&T, b->stream));
  } else PetscCall(RunCase(b, "aa", c->name, A, A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WantsMatrix(Bench *b, const MatrixCase *c, PetscBool *wants)
{
  const char *prefixes[] = {c->square, "ap", "ap0", "rap"};
  char        name[64];

  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  for (size_t k = 0; k < (c->grid[0] ? PETSC_STATIC_ARRAY_LENGTH(prefixes) : 1) && !*wants; k++) {
    if (prefixes[k] == NULL) continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", prefixes[k], c->name));
    PetscCall(BenchWants(b, name, wants));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMatrix(Bench *b, const MatrixCase *c)
{
  BenchMatrix matrix;
  PetscBool   wants;

  PetscFunctionBegin;
  PetscCall(WantsMatrix(b, c, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BenchMatrixCreate(c->name, b->stream, &matrix));
  PetscCall(RunSquare(b, c, matrix.view));
  if (c->dof > 1) PetscCall(RunBlockRows(b, c, matrix.view));
  if (c->grid[0]) PetscCall(RunGalerkin(b, c, matrix.view));
  PetscCall(BenchMatrixDestroy(&matrix, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench b = {.commit = "unknown", .repetitions = 11};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of sparse products", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b, PetscOptionsObject));
  PetscCall(BenchOptionsRepetitions(&b, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-cusparse", "Also the competitor", NULL, use_cusparse, &use_cusparse, NULL));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b, "spgemm"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(matrix_cases); k++) PetscCall(RunMatrix(&b, &matrix_cases[k]));
  PetscCheck(b.num_cases > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "No case of a name that contains %s", b.only);
  PetscCall(BenchClose(&b));
  PetscCall(PetscFinalize());
  return 0;
}
