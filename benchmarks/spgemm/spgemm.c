static char help[] = "Times sparse products against cuSPARSE: A A, A P and R (A P) with smoothed prolongators P of aggregates of 3 points in every direction.\n\
  -only name       : only cases whose name contains it\n\
  -output file     : result records as JSON Lines, appended\n\
  -commit id       : for the records\n\
  -repetitions n   : of each measurement\n\
  -cusparse bool   : also the competitor (default yes)\n";

/*
  Times are those of a program: from the call until the device is done, allocation of C included; medians after a repetition that warms up. The floor is the time to
  read A and B, once where they are one matrix, and to write C.
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
  {"2d5-1024", {1024, 1024, 1}, 1, "aa"}, {"2d9-1024", {1024, 1024, 1}, 1, "aa"}, {"3d7-128", {128, 128, 128}, 1, "aa"},
  {"3d27-128", {128, 128, 128}, 1, "aa"}, {"3d7-256", {256, 256, 256}, 1, "aa"},  {"3d27-200", {200, 200, 200}, 1, "structure"},
  {"rmat16", {0, 0, 0}, 1, "aa"},         {"uniform500k", {0, 0, 0}, 1, "aa"},    {"3d7-64", {64, 64, 64}, 1, "aa"},
  {"3d27-64", {64, 64, 64}, 1, "aa"},     {"3d27-32", {32, 32, 32}, 1, "aa"},     {"3d27-16", {16, 16, 16}, 1, "aa"},
  {"elast3-40", {0, 0, 0}, 3, "aa"},      {"identity", {0, 0, 0}, 1, "aa"},       {"permutation", {0, 0, 0}, 1, "aa"},
  {"blockdiagonal", {0, 0, 0}, 1, "aa"},  {"denserows", {0, 0, 0}, 1, "aa"},      {"densecolumns", {0, 0, 0}, 1, "aa"},
  {"skewed", {0, 0, 0}, 1, "aa"},         {"tall20k", {0, 0, 0}, 1, "aat"},       {"shell6-200", {0, 0, 0}, 6, "aa"},
  {"elast6-24", {0, 0, 0}, 6, "aa"},
};

/* Times of the best open peer that sorts the columns of C, measured earlier on PEERS_GPU, minimum of 5 calls with the allocation of C, in microseconds. */
#define PEERS_GPU "H200"
static const struct {
  const char *name, *peer;
  PetscReal   us;
} peers[] = {
  {"ap-2d5-1024", "OpSparse", 530}, {"rap-2d5-1024", "spECK", 520},  {"aa-2d5-1024", "OpSparse", 760}, {"aa-2d9-1024", "spECK", 3470},
  {"ap-3d7-128", "OpSparse", 1120}, {"rap-3d7-128", "spECK", 1040},  {"aa-3d7-128", "spECK", 6000},    {"ap-3d27-128", "spECK", 9590},
  {"rap-3d27-128", "spECK", 2210},  {"aa-3d27-128", "spECK", 32600}, {"ap-3d7-256", "OpSparse", 6980}, {"rap-3d7-256", "spECK", 7820},
  {"ap-3d27-200", "spECK", 35600},  {"rap-3d27-200", "spECK", 7210}, {"aa-rmat16", "spECK", 8060},     {"aa-uniform500k", "OpSparse", 7650},
};

/* What of cuSPARSE is tried. The chunk fraction is that of ALG3: intermediate products at a time, of all. */
static const struct {
  const char *name;
  PetscInt    algorithm;
  float       chunk;
} variants[] = {{"ALG1", 1, 1.0f}, {"ALG2", 2, 1.0f}, {"ALG3, chunk fraction 0.2", 3, 0.2f}, {"ALG3, chunk fraction 1", 3, 1.0f}};
#define CUSPARSE_REPETITIONS 5
#define HOPELESS             1.5 /* times the best so far: one call is enough to know */

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

/* What it is worth to find the structure by blocks. */
static PetscErrorCode RunBlockRows(Bench *b, const MatrixCase *c, DCSRView A)
{
  char       name[64];
  PetscBool  wants;
  PetscReal  blocks, entries;
  PetscCount num_nonzeros;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", c->square, c->name));
  PetscCall(BenchWants(b, name, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureProduct(b, A, A, PETSC_FALSE, &num_nonzeros, &blocks));
  A.row_block = 0;
  PetscCall(MeasureProduct(b, A, A, PETSC_FALSE, &num_nonzeros, &entries));
  PetscCall(BenchRecord(b, name, "block-rows", "us", blocks, entries, "entry by entry", -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values for the second time, when positions are made. */
static PetscErrorCode MeasureSecond(Bench *b, DCSRView A, DCSRView B, PetscReal *us)
{
  PetscReal samples[BENCH_MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscLogDouble begin, end;
    DCSRView       D;
    DCSRSpGEMM     product;

    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, &D, &product));
    PetscCall(BenchNow(&begin));
    PetscCall(DCSRSpGEMMNumeric(product, A, B, D, b->stream));
    PetscCall(BenchNow(&end));
    if (r >= 0) samples[r] = (PetscReal)(end - begin) * 1e6;
    PetscCall(DCSRSpGEMMDestroy(&product, b->stream));
    PetscCall(DCSRViewFree(&D, b->stream));
  }
  PetscCall(BenchMedian(b->repetitions, samples, us));
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

/* One product by cuSPARSE and the microseconds that it took; compared with C when asked for. *done PETSC_FALSE: it failed, for lack of memory for instance. */
static PetscErrorCode CallCusparse(Bench *b, const char name[], const BenchCusparseLibrary *l, size_t v, DCSRView A, DCSRView B, const DCSRView *C, PetscBool *done, PetscReal *us, size_t *workspace)
{
  PetscLogDouble begin, end;
  PetscErrorCode ierr;
  DCSRView       D;

  PetscFunctionBegin;
  PetscCall(BenchNow(&begin));
  ierr = SpGEMMBenchCusparse(l, A, B, variants[v].algorithm, variants[v].chunk, b->stream, &D, workspace);
  PetscCall(BenchNow(&end));
  *us   = (PetscReal)(end - begin) * 1e6;
  *done = (PetscBool)(ierr == PETSC_SUCCESS);
  if (*done && C) {
    PetscReal error;
    PetscBool same;

    PetscCall(SpGEMMBenchCompare(*C, D, b->stream, &same, &error));
    if (!same || !(error <= TOLERANCE)) PetscCall(BenchWrong(b, "%s, %s %s", name, same ? "values differ from those of cuSPARSE" : "the structure differs from that of cuSPARSE", variants[v].name));
  }
  PetscCall(DCSRViewFree(&D, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best of the algorithms of one library and of what was measured before; *best < 0 when all failed. The first call warms up and is compared; what is far behind in the second is not called again. */
static PetscErrorCode MeasureLibrary(Bench *b, const char name[], const BenchCusparseLibrary *l, DCSRView A, DCSRView B, DCSRView C, PetscReal *best, const char **which, size_t *workspace)
{
  PetscFunctionBegin;
  for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(variants); v++) {
    PetscReal   samples[CUSPARSE_REPETITIONS], us;
    PetscInt    n = 0;
    PetscBool   done;
    size_t      bytes;
    const char *variant;

    PetscCall(BenchCusparseName(l, variants[v].name, &variant));
    PetscCall(CallCusparse(b, name, l, v, A, B, &C, &done, &us, &bytes));
    while (done && n < CUSPARSE_REPETITIONS && (n == 0 || *best < 0 || samples[0] <= HOPELESS * *best)) PetscCall(CallCusparse(b, name, l, v, A, B, NULL, &done, samples + n++, &bytes));
    if (!done) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed\n", variant));
    if (*which == NULL) *which = variant;
    if (!done) continue;
    PetscCall(BenchMedian(n, samples, &us));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %.4g us\n", variant, (double)us));
    if (n < CUSPARSE_REPETITIONS || (*best >= 0 && us >= *best)) continue;
    *best      = us;
    *which     = variant;
    *workspace = bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureCusparse(Bench *b, const char name[], DCSRView A, DCSRView B, DCSRView C, PetscReal *best, const char **which, size_t *workspace)
{
  const BenchCusparseLibrary *l;
  PetscInt                    n = 0;

  PetscFunctionBegin;
  *best  = -1;
  *which = NULL;
  if (use_cusparse) PetscCall(BenchCusparseGetLibraries(b->stream, &n, &l));
  for (; n > 0; n--, l++) PetscCall(MeasureLibrary(b, name, l, A, B, C, best, which, workspace));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values again by one algorithm of cuSPARSE, into the structure that it made; *us < 0 when that fails. Where it leaves columns unsorted, values are not compared. */
static PetscErrorCode MeasureReuse(Bench *b, const char name[], const char algorithm[], const BenchCusparseLibrary *l, PetscInt i, DCSRView A, DCSRView B, DCSRView C, PetscReal *us, size_t *bytes)
{
  PetscReal      samples[CUSPARSE_REPETITIONS], error;
  PetscBool      same;
  SpGEMMReuse    reuse;
  PetscErrorCode ierr = SpGEMMReuseCreate(l, A, B, i, b->stream, &reuse);

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = SpGEMMReuseRun(&reuse);
  if (ierr == PETSC_SUCCESS) {
    PetscCall(SpGEMMBenchCompare(C, reuse.c_view, b->stream, &same, &error));
    if (same && !(error <= TOLERANCE)) PetscCall(BenchWrong(b, "%s, values differ from those of %s", name, algorithm));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s has another order of columns: values not compared\n", algorithm));
  }
  for (PetscInt r = 0; ierr == PETSC_SUCCESS && r < CUSPARSE_REPETITIONS; r++) {
    PetscLogDouble begin, end;

    PetscCall(BenchNow(&begin));
    ierr = SpGEMMReuseRun(&reuse);
    PetscCall(BenchNow(&end));
    samples[r] = (PetscReal)(end - begin) * 1e6;
  }
  *bytes = reuse.bytes;
  *us    = -1;
  PetscCall(SpGEMMReuseDestroy(&reuse));
  if (ierr == PETSC_SUCCESS) PetscCall(BenchMedian(CUSPARSE_REPETITIONS, samples, us));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed\n", algorithm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best of them; *best < 0 when all fail. */
static PetscErrorCode MeasureReuses(Bench *b, const char name[], DCSRView A, DCSRView B, DCSRView C, PetscReal *best, const char **which, size_t *bytes)
{
  const char *const           names[SPGEMM_REUSE_ALGORITHMS] = {"SpGEMMreuse", "SpGEMMreuse, nondeterministic"};
  const BenchCusparseLibrary *l;
  PetscInt                    n = 0;

  PetscFunctionBegin;
  *best  = -1;
  *which = NULL;
  if (use_cusparse) PetscCall(BenchCusparseGetLibraries(b->stream, &n, &l));
  for (; n > 0; n--, l++) {
    for (PetscInt i = 0; i < SPGEMM_REUSE_ALGORITHMS; i++) {
      const char *algorithm;
      PetscReal   us;
      size_t      kept;

      PetscCall(BenchCusparseName(l, names[i], &algorithm));
      PetscCall(MeasureReuse(b, name, algorithm, l, i, A, B, C, &us, &kept));
      if (us < 0 || (*best >= 0 && us >= *best)) continue;
      *best  = us;
      *which = algorithm;
      *bytes = kept;
    }
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

/* The better one of cuSPARSE in this run and the best open peer, which was measured earlier on the same GPU model. */
static PetscErrorCode ComparePeer(Bench *b, const char name[], PetscReal *best, const char **which, PetscBool *earlier)
{
  char *model;

  PetscFunctionBegin;
  *earlier = PETSC_FALSE;
  PetscCall(PetscStrstr(b->recorder.gpu, PEERS_GPU, &model));
  if (model == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(peers); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(name, peers[k].name, &same));
    if (!same || (*best >= 0 && *best <= peers[k].us)) continue;
    *best    = peers[k].us;
    *which   = peers[k].peer;
    *earlier = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The records of one product. */
static PetscErrorCode Records(Bench *b, const char name[], DCSRView A, DCSRView B, DCSRView C, DCSRSpGEMM product)
{
  const PetscReal floor = BenchFloor(b, Bytes(A) + (A.values == B.values ? 0 : Bytes(B)), Bytes(C));
  const char     *which, *reuse_name;
  DCSRSpGEMMInfo  info;
  PetscCount      num_nonzeros;
  PetscReal       whole, symbolic, second, numeric, best, reuse;
  size_t          workspace = 0, reuse_bytes = 0;
  PetscBool       earlier;

  PetscFunctionBegin;
  PetscCall(MeasureProduct(b, A, B, PETSC_TRUE, &num_nonzeros, &whole));
  PetscCall(MeasurePhases(b, A, B, C, product, &symbolic, &numeric));
  PetscCall(MeasureCusparse(b, name, A, B, C, &best, &which, &workspace));
  PetscCall(MeasureSecond(b, A, B, &second));
  PetscCall(MeasureReuses(b, name, A, B, C, &reuse, &reuse_name, &reuse_bytes));
  PetscCall(DCSRSpGEMMGetInfo(product, &info));
  PetscCall(BenchRecord(b, name, "workspace", "MB", (PetscReal)info.workspace * 1e-6, best < 0 ? -1 : (PetscReal)workspace * 1e-6, best < 0 ? NULL : which, -1));
  PetscCall(ComparePeer(b, name, &best, &which, &earlier));
  PetscCall(BenchRecordBest(b, name, "time", "us", whole, best, which, earlier, floor));
  PetscCall(BenchRecord(b, name, "symbolic", "us", symbolic, -1, NULL, -1));
  PetscCall(BenchRecord(b, name, "numeric", "us", numeric, reuse, reuse_name, floor));
  PetscCall(BenchRecord(b, name, "numeric-second", "us", second, -1, NULL, floor));
  PetscCall(BenchRecord(b, name, "positions", "MB", (PetscReal)info.positions * 1e-6, reuse < 0 ? -1 : (PetscReal)reuse_bytes * 1e-6, reuse_name, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product: everything about it. C is kept for the next one when asked for. */
static PetscErrorCode RunCase(Bench *b, const char prefix[], const char matrix[], DCSRView A, DCSRView B, DCSRView *keep)
{
  char       name[64];
  PetscBool  wants;
  DCSRView   C;
  DCSRSpGEMM product;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%s", prefix, matrix));
  PetscCall(BenchWants(b, name, &wants));
  if (!wants && keep == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, b->stream, &C, &product));
  if (wants) {
    PetscCall(Records(b, name, A, B, C, product));
    PetscCall(PrintInfo(product, C));
  }
  PetscCall(DCSRSpGEMMDestroy(&product, b->stream));
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
  PetscCall(BenchRecord(b, name, "symbolic", "us", us, -1, NULL, BenchFloor(b, (PetscReal)A.num_nonzeros * sizeof(int32_t), (PetscReal)num_nonzeros * sizeof(int32_t))));
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
  matrix.view.row_block = matrix.view.column_block = matrix.block;
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
