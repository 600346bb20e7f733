static char help[] = "Products with an epilogue, of every format, against the product and a loop on the host; values in single precision and in FP16 beside the matrix.\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/diagonalsimpl.h"

#define GUARD 64

/* A grid of so many points a line with full blocks of unknowns. Some rows of blocks are empty, some have a block far away, one is long; sparse: few rows have any. */
typedef struct {
  const char *name;
  PetscInt    num_rows; /* of blocks */
  PetscInt    line;
  int         size;
  PetscBool   sparse, longer, far;
} Shape;

static const Shape shapes[] = {
  {"one entry", 1, 1, 1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"grid", 3001, 53, 1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"grid and others", 3001, 53, 1, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
  {"grid and a long row", 5003, 53, 1, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  {"few rows", 200000, 53, 1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
  {"one block", 1, 1, 3, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"grid, blocks of 2", 1033, 31, 2, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  {"grid, blocks of 3", 1033, 31, 3, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  {"grid, blocks of 4", 1033, 31, 4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"grid, blocks of 6", 517, 31, 6, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  {"small grid, blocks of 6", 40, 7, 6, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
};

/* Columns of the blocks of a row of blocks, ascending; how many. */
static PetscInt GetBlocks(const Shape *s, PetscInt i, PetscInt columns[])
{
  const PetscInt offsets[] = {-s->line, -1, 0, 1, s->line}, other = (7 * i + 3) % s->num_rows;
  PetscInt       n = 0;

  if (s->num_rows == 1) {
    columns[0] = 0;
    return 1;
  }
  if (i % 37 == 5 || (s->sparse && i % 1000 != 17)) return 0;
  if (s->longer && i == s->num_rows / 2) {
    for (PetscInt j = 0; j < s->num_rows; j++) columns[n++] = j;
    return n;
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(offsets); k++) {
    const PetscInt j = i + offsets[k];

    if (j >= 0 && j < s->num_rows) columns[n++] = j;
  }
  if (s->far && i % 11 == 0) {
    PetscBool has = PETSC_FALSE;

    for (PetscInt k = 0; k < n; k++) has = (PetscBool)(has || columns[k] == other);
    if (!has) {
      PetscInt k = n++;

      for (; k > 0 && columns[k - 1] > other; k--) columns[k] = columns[k - 1];
      columns[k] = other;
    }
  }
  return n;
}

static PetscErrorCode ShapeCreate(const Shape *s, KernelTestMatrix *A)
{
  PetscInt *columns, k = 0;

  PetscFunctionBegin;
  A->name = s->name;
  A->m = A->n = s->num_rows * s->size;
  A->nz       = 0;
  PetscCall(PetscMalloc1(s->num_rows, &columns));
  for (PetscInt i = 0; i < s->num_rows; i++) A->nz += (PetscCount)GetBlocks(s, i, columns) * s->size * s->size;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(A->nz, &A->j, A->nz, &A->a));
  A->i[0] = 0;
  for (PetscInt i = 0; i < s->num_rows; i++) {
    const PetscInt n = GetBlocks(s, i, columns);

    for (int r = 0; r < s->size; r++) {
      for (PetscInt t = 0; t < n; t++)
        for (int c = 0; c < s->size; c++) A->j[k++] = columns[t] * s->size + c;
      A->i[i * s->size + r + 1] = k;
    }
  }
  for (PetscCount e = 0; e < A->nz; e++) A->a[e] = KernelTestRound(KernelTestNumber(e, 1)); // which single precision has
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors, five of n: x, d, b, q, and what y is before; the product. */
enum {
  X,
  D,
  B,
  Q,
  Y,
  NUM_VECTORS
};

typedef struct {
  HiSparse     hisparse;
  PetscInt     n;
  cudaStream_t stream;
  const char  *what, *storage;
  PetscScalar *host[NUM_VECTORS], *product, *expected, *got;
  PetscReal   *scale;
  PetscScalar *device[NUM_VECTORS], *y; /* y has GUARD entries behind it */
} Case;

static PetscErrorCode VectorsCreate(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < NUM_VECTORS; k++) {
    PetscCall(PetscMalloc1(c->n, &c->host[k]));
    for (PetscInt i = 0; i < c->n; i++) c->host[k][i] = KernelTestNumber(i, 3 + k);
    PetscCall(KernelTestToDevice((size_t)c->n * sizeof(PetscScalar), c->host[k], c->stream, (void **)&c->device[k]));
  }
  PetscCall(PetscMalloc4(c->n, &c->product, c->n, &c->expected, 2 * (c->n + GUARD), &c->got, c->n, &c->scale));
  PetscCall(KernelTestToDevice((size_t)(c->n + GUARD) * sizeof(*c->y), NULL, c->stream, (void **)&c->y));
  PetscCall(HiSparseMult(c->hisparse, c->device[X], NULL, c->y, c->stream));
  PetscCall(KernelTestToHost((size_t)c->n * sizeof(*c->product), c->y, c->stream, c->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorsDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < NUM_VECTORS; k++) {
    PetscCall(PetscFree(c->host[k]));
    PetscCall(PetscSparseCUDAFree(&c->device[k], c->stream));
  }
  PetscCall(PetscFree4(c->product, c->expected, c->got, c->scale));
  PetscCall(PetscSparseCUDAFree(&c->y, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One form, twice: the result, what lies behind it, and the same bits again. b and q: 0 not there, 1 vectors of their own, 2 y. */
static PetscErrorCode CheckForm(Case *c, PetscBool d, int b, PetscBool beta, int q)
{
  const size_t     bytes = (size_t)(c->n + GUARD) * sizeof(*c->y);
  DCSRSpMVEpilogue e     = {0};
  PetscBool        done;
  char             what[64];

  PetscFunctionBegin;
  e.alpha = 0.75;
  e.d     = d ? c->device[D] : NULL;
  e.b     = b == 0 ? NULL : b == 1 ? c->device[B] : c->y;
  e.beta  = beta ? (PetscReal)-0.5 : (PetscReal)0.0;
  e.gamma = q ? (PetscReal)1.25 : (PetscReal)0.0;
  e.q     = q == 2 ? c->y : q == 1 ? c->device[Q] : NULL;
  for (PetscInt i = 0; i < c->n; i++) {
    const PetscScalar factor = (PetscReal)0.75 * (d ? c->host[D][i] : (PetscScalar)1.0), right = b == 1 ? c->host[B][i] : c->host[Y][i], before = q == 2 ? c->host[Y][i] : c->host[Q][i];

    if (b == 0) c->expected[i] = c->host[Y][i] - factor * c->product[i];
    else c->expected[i] = factor * (right - c->product[i]) + e.beta * c->host[X][i] + e.gamma * before;
    c->scale[i] = 20 * (4 + PetscAbsScalar(c->product[i]));
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "epilogue with d %d, b %d, beta %d, q %d", d, b, beta, q));
  for (int again = 0; again < 2; again++) {
    PetscCallCUDA(cudaMemsetAsync(c->y, 0xff, bytes, c->stream)); // NaN
    if (b != 1 || q == 2) PetscCallCUDA(cudaMemcpyAsync(c->y, c->device[Y], (size_t)c->n * sizeof(*c->y), cudaMemcpyDeviceToDevice, c->stream));
    PetscCall(HiSparseMultEpilogue(c->hisparse, c->device[X], &e, c->y, c->stream, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: no kernel", what, c->what, c->storage);
    PetscCall(KernelTestToHost(bytes, c->y, c->stream, c->got + again * (c->n + GUARD)));
  }
  PetscCall(KernelTestCompareScalars(c->n, c->got, c->expected, c->scale, what, c->what, c->storage));
  PetscCheck(!memcmp(c->got, c->got + c->n + GUARD, (size_t)c->n * sizeof(*c->got)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: not the same bits again", what, c->what, c->storage);
  for (size_t i = 0; i < GUARD * sizeof(*c->got); i++)
    PetscCheck(((unsigned char *)(c->got + c->n))[i] == 0xff, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: writes behind the result", what, c->what, c->storage);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckForms(Case *c)
{
  PetscFunctionBegin;
  PetscCall(VectorsCreate(c));
  for (int d = 0; d < 2; d++) {
    PetscCall(CheckForm(c, (PetscBool)d, 0, PETSC_FALSE, 0));
    for (int b = 1; b < 3; b++)
      for (int beta = 0; beta < 2; beta++)
        for (int q = 0; q < 3; q++) PetscCall(CheckForm(c, (PetscBool)d, b, (PetscBool)beta, q));
  }
  PetscCall(VectorsDestroy(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposed matrices are left to the product. */
static PetscErrorCode CheckTransposed(HiSparse hisparse, cudaStream_t stream)
{
  DCSRSpMVEpilogue e = {0};
  HiSparse         transposed;
  PetscBool        done;

  PetscFunctionBegin;
  PetscCall(HiSparseTranspose(hisparse, stream, &transposed));
  PetscCall(HiSparseMultEpilogue(transposed, NULL, &e, NULL, stream, &done));
  PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A transposed matrix has a kernel with an epilogue");
  PetscCall(HiSparseDestroy(&transposed, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product in some direction, to the host. */
static PetscErrorCode Product(HiSparse hisparse, PetscBool transpose, const PetscScalar x[], PetscScalar y[], PetscInt n, cudaStream_t stream, PetscScalar host[])
{
  PetscFunctionBegin;
  PetscCall(HiSparsePrepare(hisparse, transpose, stream));
  if (transpose) PetscCall(HiSparseMultTranspose(hisparse, PETSC_FALSE, x, NULL, y, stream));
  else PetscCall(HiSparseMult(hisparse, x, NULL, y, stream));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*host), y, stream, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix with its values rounded beside it, which single precision has all, gives the same products. */
static PetscErrorCode CheckSameProducts(HiSparse single, HiSparse hisparse, PetscInt n, const char what[], cudaStream_t stream)
{
  PetscScalar *x, *y, *host[2];
  PetscReal   *scale;
  void        *p;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &host[0], n, &host[1], n, &scale));
  for (PetscInt i = 0; i < n; i++) {
    host[0][i] = KernelTestNumber(i, 3);
    scale[i]   = 1000;
  }
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*x), host[0], stream, &p));
  x = (PetscScalar *)p;
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*y), host[0], stream, &p));
  y = (PetscScalar *)p;
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscCall(Product(single, (PetscBool)transpose, x, y, n, stream, host[0]));
    PetscCall(Product(hisparse, (PetscBool)transpose, x, y, n, stream, host[1]));
    PetscCall(KernelTestCompareScalars(n, host[0], host[1], scale, transpose ? "A^T x with rounded values" : "A x with rounded values", what, "storage"));
  }
  PetscCall(PetscSparseCUDAFree(&x, stream));
  PetscCall(PetscSparseCUDAFree(&y, stream));
  PetscCall(PetscFree3(host[0], host[1], scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values in single precision beside the matrix: made, made again of scaled values, of new ones, of a transpose, and with the matrix gone. other: another matrix of the structure. */
static PetscErrorCode CheckRound(DCSRView view, DCSRView other, HiSparseFormat format, const char what[], cudaStream_t stream)
{
  HiSparse     hisparse, single = NULL, copy;
  HiSparseInfo info, info_single;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(view, format, stream, &hisparse));
  if (hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseRound(hisparse, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCall(HiSparseGetInfo(hisparse, &info));
  PetscCall(HiSparseGetInfo(single, &info_single));
  PetscCheck(info_single.precision == HISPARSE_VALUES_SINGLE && info_single.values_bytes < info.values_bytes && info_single.values_bytes > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %zu bytes of values, rounded %zu", what, info.values_bytes, info_single.values_bytes);
  PetscCall(CheckSameProducts(single, hisparse, view.num_rows, what, stream));
  PetscCall(HiSparseScale(hisparse, 2.5, stream));
  PetscCall(HiSparseRound(hisparse, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCall(CheckSameProducts(single, hisparse, view.num_rows, what, stream));
  PetscCall(HiSparseSetValues(hisparse, other, stream));
  PetscCall(HiSparseRound(hisparse, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCall(CheckSameProducts(single, hisparse, view.num_rows, what, stream));
  PetscCall(HiSparseTranspose(hisparse, stream, &copy));
  PetscCall(HiSparseRound(copy, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCall(CheckSameProducts(single, copy, view.num_rows, what, stream));
  PetscCall(HiSparseDestroy(&hisparse, stream)); // before what shares its structure
  PetscCall(CheckSameProducts(single, copy, view.num_rows, what, stream));
  PetscCall(HiSparseDestroy(&copy, stream));
  PetscCall(HiSparseDestroy(&single, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x with x of ones, or of numbers, to the host. */
static PetscErrorCode ProductWith(HiSparse hisparse, PetscBool ones, PetscInt n, cudaStream_t stream, PetscScalar host[])
{
  PetscScalar *x, *y;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) host[i] = ones ? (PetscScalar)1 : KernelTestNumber(i, 3);
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*x), host, stream, (void **)&x));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*y), host, stream, (void **)&y));
  PetscCall(Product(hisparse, PETSC_FALSE, x, y, n, stream, host));
  PetscCall(PetscSparseCUDAFree(&x, stream));
  PetscCall(PetscSparseCUDAFree(&y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding to FP16 may change: nothing but rounding errors of single precision for a constant, 2^-11 of each term for other vectors, and a row by as much of its diagonal entry. */
static PetscErrorCode CheckHalfProducts(const KernelTestMatrix *A, HiSparse hisparse, HiSparse half, cudaStream_t stream)
{
  PetscReal    error, most = 0, *scale;
  PetscScalar *host[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(A->m, &host[0], A->m, &host[1], A->m, &scale));
  for (PetscInt i = 0; i < A->m; i++) {
    PetscReal others = 0, diagonal = 0;

    for (PetscInt k = A->i[i]; k < A->i[i + 1]; k++) {
      if (A->j[k] == i) diagonal = PetscAbsScalar(A->a[k]);
      else others += PetscAbsScalar(A->a[k]);
    }
    if (others > 0) most = PetscMax(most, diagonal > 0 ? others / diagonal : PETSC_INFINITY);
    scale[i] = 2 * (others + diagonal) / 2048 / PETSC_MACHINE_EPSILON; // x is at most 1
  }
  PetscCall(HiSparseGetRounding(half, stream, &error));
  PetscCheck(error >= 0 && error <= most / 2048, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: rows change by %g of their diagonal entries in FP16, more than %g", A->name, (double)error,
             (double)(most / 2048));
  for (int ones = 0; ones < 2; ones++) {
    PetscCall(ProductWith(half, (PetscBool)ones, A->m, stream, host[0]));
    PetscCall(ProductWith(hisparse, (PetscBool)ones, A->m, stream, host[1]));
    PetscCall(KernelTestCompareScalars(A->m, host[0], host[1], scale, ones ? "A 1 in FP16" : "A x in FP16", A->name, "diagonals"));
    for (PetscInt i = 0; i < A->m; i++) scale[i] *= 1e-4;
  }
  PetscCall(PetscFree3(host[0], host[1], scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two that all values have more, also one beyond the range of single precision, changes no other bit of products. */
static PetscErrorCode CheckHalfScaled(KernelTestMatrix *A, HiSparse half, int exponent, cudaStream_t stream)
{
  PetscScalar *host[2];
  DCSRView     view;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(A->m, &host[0], A->m, &host[1]));
  PetscCall(ProductWith(half, PETSC_FALSE, A->m, stream, host[0]));
  for (PetscCount e = 0; e < A->nz; e++) A->a[e] *= PetscPowReal(2.0, exponent);
  PetscCall(KernelTestViewCreate(A, &KernelTestStorages[0], stream, &view));
  PetscCall(HiSparseSetRounded(half, view, stream));
  PetscCall(ProductWith(half, PETSC_FALSE, A->m, stream, host[1]));
  for (PetscInt i = 0; i < A->m; i++) host[0][i] *= PetscPowReal(2.0, exponent);
  PetscCheck(!memcmp(host[0], host[1], (size_t)A->m * sizeof(*host[0])), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other bits with 2^%d in all values", A->name, exponent);
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(PetscFree2(host[0], host[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values in FP16, where there are some. A is changed. */
static PetscErrorCode CheckHalf(KernelTestMatrix *A, cudaStream_t stream)
{
  HiSparse       hisparse, half = NULL, single, made;
  HiSparseInfo   info;
  DCSRView       view;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (PetscCount e = 0; e < A->nz; e++) A->a[e] = KernelTestNumber(e, 1);
  PetscCall(KernelTestViewCreate(A, &KernelTestStorages[0], stream, &view));
  PetscCall(HiSparseCreate(view, HISPARSE_DIAGONALS, stream, &hisparse));
  PetscCall(HiSparseCreateRounded(view, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCall(HiSparseCreateRounded(view, HISPARSE_VALUES_HALF, stream, &made));
  PetscCall(KernelTestViewDestroy(&view, stream));
  if (hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseRound(hisparse, HISPARSE_VALUES_SINGLE, stream, &half));
  PetscCall(CheckSameProducts(single, half, A->m, A->name, stream));
  PetscCall(HiSparseDestroy(&single, stream));
  PetscCall(HiSparseRound(hisparse, HISPARSE_VALUES_HALF, stream, &half));
  PetscCall(HiSparseGetInfo(half, &info));
  PetscCheck(info.precision == (PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) ? HISPARSE_VALUES_SINGLE : HISPARSE_VALUES_HALF), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: precision %d",
             A->name, (int)info.precision);
  if (info.precision == HISPARSE_VALUES_HALF) {
    PetscCall(CheckHalfProducts(A, hisparse, half, stream));
    PetscCall(CheckHalfProducts(A, hisparse, made, stream));
    PetscCall(HiSparseDestroy(&hisparse, stream)); // before what shares its structure
    PetscCall(CheckHalfScaled(A, made, 500, stream));
    PetscCall(CheckHalfScaled(A, made, -1000, stream));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = HiSparseMultTranspose(half, PETSC_FALSE, NULL, NULL, NULL, stream);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_PLIB, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a product with the transpose in FP16 ends with error %d", A->name, (int)ierr);
  }
  PetscCall(HiSparseDestroy(&hisparse, stream));
  PetscCall(HiSparseDestroy(&half, stream));
  PetscCall(HiSparseDestroy(&made, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every form with the matrix, and with its rounded values. */
static PetscErrorCode CheckFormat(const Shape *s, PetscInt n, DCSRView view, HiSparseFormat format, int num[], cudaStream_t stream)
{
  Case         c          = {.n = n, .stream = stream, .what = s->name, .storage = HiSparseFormats[format]};
  HiSparse     rounded[3] = {NULL};
  HiSparseInfo info;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(view, format, stream, &c.hisparse));
  if (c.hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseGetInfo(c.hisparse, &info));
  num[info.format]++;
  rounded[HISPARSE_VALUES_SCALAR] = c.hisparse;
  for (HiSparsePrecision k = HISPARSE_VALUES_SINGLE; k <= HISPARSE_VALUES_HALF; k++) PetscCall(HiSparseRound(c.hisparse, k, stream, &rounded[k]));
  for (HiSparsePrecision k = HISPARSE_VALUES_SCALAR; k <= HISPARSE_VALUES_HALF; k++) {
    c.hisparse = rounded[k];
    PetscCall(CheckForms(&c));
    PetscCall(HiSparseScale(c.hisparse, -1.5, stream));
    PetscCall(CheckForms(&c));
    PetscCall(CheckTransposed(c.hisparse, stream));
    PetscCall(HiSparseDestroy(&c.hisparse, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestShape(const Shape *s, int num[], cudaStream_t stream)
{
  KernelTestMatrix A;
  DCSRView         view, other;

  PetscFunctionBegin;
  PetscCall(ShapeCreate(s, &A));
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &view));
  for (PetscCount e = 0; e < A.nz; e++) A.a[e] = KernelTestRound(KernelTestNumber(e, 2));
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &other));
  for (HiSparseFormat format = HISPARSE_DIAGONALS; format <= HISPARSE_BLOCK_DIAGONALS; format++) {
    PetscCall(CheckFormat(s, A.m, view, format, num, stream));
    if (!PetscDefined(USE_REAL_SINGLE)) PetscCall(CheckRound(view, other, format, s->name, stream));
  }
  PetscCall(KernelTestViewDestroy(&other, stream));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(CheckHalf(&A, stream));
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int          num[HISPARSE_CSR + 1] = {0};
  PetscBool    usable;
  cudaStream_t stream;
  size_t       left;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCheck(KernelTestStorages[0].max_segments == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The first storage is not compact");
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) PetscCall(TestShape(&shapes[k], num, stream));
    for (int format = HISPARSE_DIAGONALS; format <= HISPARSE_BLOCK_DIAGONALS; format++)
      PetscCheck(num[format] > 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Only %d matrices had %s", num[format], HiSparseFormats[format]);
    PetscCall(KernelTestMemoryInUse(stream, &left));
    PetscCheck(left == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory are left", left);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
