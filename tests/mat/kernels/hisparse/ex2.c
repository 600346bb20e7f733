static char help[] = "16-bit columns in windows, every configuration, and the choice of a format, on shapes that have corners, against loops on the host.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include "../../../../src/mat/kernels/hisparse/windowsimpl.h"
#include "../../small.h"
#include <petscsparsecuda/entries.h>

static PetscBool small; /* few matrices, each in one precision and most with offsets of one width, and none of them without memory */

typedef struct {
  const KernelTestMatrix *A;
  const char             *storage;
  DCSRView                view;
  cudaStream_t            stream;
  HiSparsePrecision       precision; /* A has the values of view as they are stored */
} Case;

/* A value as it is stored. */
static PetscScalar Stored(HiSparsePrecision precision, PetscScalar value)
{
  return precision == HISPARSE_VALUES_SCALAR ? value : KernelTestRound(value);
}

/* Shapes of blocks of nonzeros. Row r has its columns around a place that depends on it, or all over the matrix. */
typedef enum {
  SHAPE_BAND,         /* rows of 27 near the diagonal */
  SHAPE_SPREAD,       /* rows of 27 all over the matrix: no block has 4 windows */
  SHAPE_MIXED,        /* runs of both, of 150 rows */
  SHAPE_FOUR,         /* 4 windows in two of three blocks, 5 in the others */
  SHAPE_BORDERS,      /* rows that end at borders of blocks of all sizes, or one off */
  SHAPE_LONG_ROWS,    /* rows over many blocks of both kinds, and short ones between */
  SHAPE_HYPERSPARSE,  /* few rows have entries */
  SHAPE_LAST_COLUMNS, /* the largest columns there are; no vector is that long */
  NUM_SHAPES
} Shape;

static const struct {
  const char *name;
  PetscInt    m, n, small_m, small_n; /* small: of the small test */
} Shapes[NUM_SHAPES] = {{"band", 4000, 4000, 400, 400},     {"spread", 1000, 2000000, 100, 200000}, {"mixed", 3000, 1500000, 600, 150000},     {"4 and 5 windows", 4000, 100000, 1600, 100000},
                        {"borders", 150, 90000, 46, 90000}, {"long rows", 60, 300000, 8, 60000},    {"few rows", 200000, 100000, 4600, 10000}, {"last columns", 700, PETSC_INT32_MAX, 100, PETSC_INT32_MAX}};

static PetscInt RowSize(Shape shape, PetscInt r)
{
  static const PetscInt borders[] = {512, 1024, 2048, 511, 1, 1, 513, 510, 1024, 1, 0, 2047, 2049, 0, 255, 257, 4096, 128, 127, 1, 0, 64, 3840};

  switch (shape) {
  case SHAPE_FOUR:
    return r / 512 % 3 == 2 ? 5 : 4;
  case SHAPE_BORDERS:
    return borders[r % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(borders)];
  case SHAPE_LONG_ROWS:
    return r % 5 == 2 ? 3000 + 1777 * r : r % 7;
  case SHAPE_HYPERSPARSE:
    return r % 1500 == 17 ? 40 : 0;
  default:
    return 27;
  }
}

/* Column of entry k of size in row r; ascends with k. */
static PetscInt Column(Shape shape, PetscInt r, PetscInt k, PetscInt size, PetscInt n)
{
  const PetscInt spread = k * (n / (size + 1)) + (r * 7919) % (n / (size + 1)), band = PetscMin(PetscMax(0, (PetscInt)((PetscCount)r * n / 5000) - size), n - 3 * size - 3) + 3 * k + r % 3;

  switch (shape) {
  case SHAPE_SPREAD:
    return spread;
  case SHAPE_MIXED:
    return r / 150 % 2 ? spread : band;
  case SHAPE_FOUR:
    return 20000 * k + r * 31 % 16384;
  case SHAPE_LONG_ROWS:
    return r % 2 ? spread : band;
  case SHAPE_LAST_COLUMNS:
    return k % 2 || r % 5 == 4 ? n - 4 * (size - k) - r % 4 : 4 * k + r % 3;
  default:
    return band;
  }
}

static PetscErrorCode ShapeCreate(Shape shape, KernelTestMatrix *A)
{
  PetscFunctionBeginUser;
  A->name = Shapes[shape].name;
  A->m    = small ? Shapes[shape].small_m : Shapes[shape].m;
  A->n    = small ? Shapes[shape].small_n : Shapes[shape].n;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  A->i[0] = 0;
  for (PetscInt r = 0; r < A->m; r++) A->i[r + 1] = A->i[r] + RowSize(shape, r);
  A->nz = A->i[A->m];
  PetscCall(PetscMalloc2(A->nz, &A->j, A->nz, &A->a));
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt k = 0; k < RowSize(shape, r); k++) A->j[A->i[r] + k] = Column(shape, r, k, RowSize(shape, r), A->n);
  if (shape == SHAPE_LAST_COLUMNS)
    for (PetscInt r = 0; r < A->m; r++) PetscCall(PetscSortInt(A->i[r + 1] - A->i[r], A->j + A->i[r]));
  for (PetscCount k = 0; k < A->nz; k++) A->a[k] = KernelTestNumber(k, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  FORWARD,
  TRANSPOSE,
  HERMITIAN
} Direction;

static const char *const DirectionNames[] = {"A x", "A^T x", "A^H x"};

/* One of the products of the test: of the kernel itself, or of a HiSparse. */
typedef struct {
  Windows           windows;
  void             *values; /* device */
  HiSparsePrecision precision;
  HiSparse          hisparse;
} Product;

static PetscErrorCode Apply(const Product *p, Direction d, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBeginUser;
  if (p->hisparse == NULL) {
    const WindowsValues values = {p->values, alpha, (PetscBool)(d == HERMITIAN), p->precision};

    PetscCall(WindowsMult(p->windows, &values, x, z, y, stream));
  } else if (d == FORWARD) PetscCall(HiSparseMult(p->hisparse, x, z, y, stream));
  else PetscCall(HiSparseMultTranspose(p->hisparse, (PetscBool)(d == HERMITIAN), x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of a product on the host, and what it must give; scale bounds the terms of each sum. */
typedef struct {
  PetscInt     num_x, num_y;
  PetscScalar *x, *z, *y, *again, *expected;
  PetscReal   *scale;
  PetscScalar *device_x, *device_y, *device_z;
} Vectors;

static PetscErrorCode VectorsCreate(const KernelTestMatrix *A, const PetscScalar a[], PetscScalar alpha, Direction d, cudaStream_t stream, Vectors *v)
{
  PetscFunctionBeginUser;
  v->num_x = d == FORWARD ? A->n : A->m;
  v->num_y = d == FORWARD ? A->m : A->n;
  PetscCall(PetscMalloc6(v->num_x, &v->x, v->num_y, &v->z, v->num_y, &v->y, v->num_y, &v->again, v->num_y, &v->expected, v->num_y, &v->scale));
  for (PetscInt i = 0; i < v->num_x; i++) v->x[i] = KernelTestNumber(i, 2);
  for (PetscInt i = 0; i < v->num_y; i++) {
    v->z[i]        = KernelTestNumber(i, 3);
    v->expected[i] = 0.0;
    v->scale[i]    = 1;
  }
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      const PetscScalar term = alpha * (d == HERMITIAN ? PetscConj(a[k]) : a[k]) * v->x[d == FORWARD ? A->j[k] : r];

      v->expected[d == FORWARD ? r : A->j[k]] += term;
      v->scale[d == FORWARD ? r : A->j[k]] += PetscAbsScalar(term);
    }
  PetscCall(KernelTestToDevice(sizeof(*v->x) * (size_t)v->num_x, v->x, stream, (void **)&v->device_x));
  PetscCall(KernelTestToDevice(sizeof(*v->z) * (size_t)v->num_y, v->z, stream, (void **)&v->device_z));
  PetscCall(KernelTestToDevice(sizeof(*v->y) * (size_t)v->num_y, NULL, stream, (void **)&v->device_y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorsDestroy(Vectors *v, cudaStream_t stream)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree6(v->x, v->z, v->y, v->again, v->expected, v->scale));
  PetscCall(PetscSparseCUDAFree(&v->device_x, stream));
  PetscCall(PetscSparseCUDAFree(&v->device_y, stream));
  PetscCall(PetscSparseCUDAFree(&v->device_z, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z NULL, another vector, y; y is not a number before, unless it is z. */
static PetscErrorCode ApplyOnce(const Product *p, Direction d, PetscScalar alpha, Vectors *v, int which, PetscScalar y[], cudaStream_t stream)
{
  const size_t bytes = sizeof(*y) * (size_t)v->num_y;

  PetscFunctionBeginUser;
  if (bytes && which == 2) PetscCallCUDA(cudaMemcpyAsync(v->device_y, v->z, bytes, cudaMemcpyHostToDevice, stream));
  else if (bytes) PetscCallCUDA(cudaMemsetAsync(v->device_y, 0xff, bytes, stream));
  PetscCall(Apply(p, d, alpha, v->device_x, which == 0 ? NULL : which == 1 ? v->device_z : v->device_y, v->device_y, stream));
  PetscCall(KernelTestToHost(bytes, v->device_y, stream, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks alpha op(A) x + z for A with the values a. */
static PetscErrorCode CheckProduct(const Case *c, const Product *p, const PetscScalar a[], PetscScalar alpha, Direction d, const char what[])
{
  Vectors v;
  char    name[256];

  PetscFunctionBeginUser;
  PetscCall(VectorsCreate(c->A, a, alpha, d, c->stream, &v));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s", what, DirectionNames[d]));
  for (int which = 0; which < 3; which++) {
    PetscBool same;

    PetscCall(ApplyOnce(p, d, alpha, &v, which, v.y, c->stream));
    PetscCall(ApplyOnce(p, d, alpha, &v, which, v.again, c->stream));
    PetscCall(PetscMemcmp(v.y, v.again, sizeof(*v.y) * (size_t)v.num_y, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s: not the same again", name, c->A->name, c->storage);
    if (which == 1)
      for (PetscInt i = 0; i < v.num_y; i++) v.expected[i] += v.z[i];
    PetscCall(KernelTestCompareScalars(v.num_y, v.y, v.expected, v.scale, name, c->A->name, c->storage));
  }
  PetscCall(VectorsDestroy(&v, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckValid(const Case *c, HiSparse hisparse, const char what[])
{
  PetscBool   ok;
  const char *why;
  PetscCount  where;

  PetscFunctionBeginUser;
  PetscCall(HiSparseIsValid(hisparse, c->stream, &ok, &why, &where));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: not valid: %s %" PetscCount_FMT, c->A->name, c->storage, what, why, where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProducts(const Case *c, HiSparse hisparse, const PetscScalar a[], PetscScalar alpha, const char what[])
{
  const Product p = {.hisparse = hisparse};

  PetscFunctionBeginUser;
  PetscCall(CheckValid(c, hisparse, what));
  for (int d = FORWARD; d <= (PetscDefined(USE_COMPLEX) ? HERMITIAN : TRANSPOSE); d++) PetscCall(CheckProduct(c, &p, a, d == HERMITIAN ? PetscConj(alpha) : alpha, (Direction)d, what));
  PetscCall(CheckValid(c, hisparse, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns come back, whatever the order they lie in. */
static PetscErrorCode CheckColumns(const Case *c, Windows windows)
{
  int32_t *device, *columns;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(c->A->nz, &columns));
  PetscCall(KernelTestToDevice((size_t)c->A->nz * sizeof(*device), NULL, c->stream, (void **)&device));
  PetscCall(WindowsDecode(windows, device, c->stream));
  PetscCall(KernelTestToHost((size_t)c->A->nz * sizeof(*device), device, c->stream, columns));
  for (PetscCount k = 0; k < c->A->nz; k++) PetscCheck(columns[k] == c->A->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: column of entry %" PetscCount_FMT " is %d, not %" PetscInt_FMT, c->A->name, c->storage, k, columns[k], c->A->j[k]);
  PetscCall(PetscSparseCUDAFree(&device, c->stream));
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Windows that a block needs, counted with a loop. */
static PetscErrorCode CheckNumWide(const Case *c, Windows windows)
{
  PetscInt  *sorted, wide = 0;
  PetscCount n;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(WINDOWS_BLOCK, &sorted));
  for (PetscCount begin = 0; begin < c->A->nz; begin += n) {
    PetscCount end   = 0;
    PetscInt   count = 0;

    n = PetscMin(WINDOWS_BLOCK, c->A->nz - begin);
    PetscCall(PetscArraycpy(sorted, c->A->j + begin, n));
    PetscCall(PetscSortInt((PetscInt)n, sorted));
    for (PetscCount k = 0; k < n; k++)
      if (sorted[k] >= end) {
        end = (PetscCount)sorted[k] + WINDOWS_WIDTH;
        count++;
      }
    wide += count > WINDOWS_COUNT;
  }
  PetscCall(PetscFree(sorted));
  PetscCheck(windows->num_wide == wide, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %d blocks with 32-bit columns, not %d", c->A->name, c->storage, (int)windows->num_wide, (int)wide);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernel in every configuration, with values that are read as they are stored. */
static PetscErrorCode TestConfigs(const Case *c, PetscBool product)
{
  const size_t value = c->precision == HISPARSE_VALUES_SINGLE ? sizeof(PetscScalar) / sizeof(PetscReal) * sizeof(float) : sizeof(PetscScalar), bytes = (size_t)c->A->nz * value;
  char        *values; // with room for an even number of them
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(KernelTestToDevice(bytes + value, NULL, c->stream, (void **)&values));
  PetscCallCUDA(cudaMemsetAsync(values, 0xff, bytes + value, c->stream));
  if (c->precision == HISPARSE_VALUES_SINGLE) PetscCall(DCSRRoundValues(c->A->nz, c->view.values, values, c->stream));
  else PetscCallCUDA(cudaMemcpyAsync(values, c->view.values, bytes, cudaMemcpyDeviceToDevice, c->stream));
  PetscCall(WindowsConfigGetCount(&n));
  for (PetscInt i = 0; i < n; i++) {
    Product    p = {.values = values, .precision = c->precision};
    SpMVConfig config;
    char       what[128];

    PetscCall(WindowsConfigGet(i, &config));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%d lanes, %d threads, %d items, %d columns a load, %s", config.lanes, config.threads, config.items, config.vec, HiSparsePrecisions[c->precision]));
    PetscCall(WindowsCreate(c->view, &config, c->stream, &p.windows));
    PetscCall(CheckColumns(c, p.windows));
    PetscCall(CheckNumWide(c, p.windows));
    if (product) PetscCall(CheckProduct(c, &p, c->A->a, i % 2 ? (PetscScalar)0.75 : (PetscScalar)1.0, FORWARD, what));
    PetscCall(WindowsDestroy(&p.windows, c->stream));
  }
  PetscCall(PetscSparseCUDAFree(&values, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values that come back are alpha times a; offsets of both widths. */
static PetscErrorCode CheckCSR(const Case *c, HiSparse hisparse, const PetscScalar a[], PetscScalar alpha, const char what[])
{
  KernelTestMatrix expected = *c->A, got;
  DCSRView         back;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(c->A->nz, &expected.a));
  for (PetscCount k = 0; k < c->A->nz; k++) expected.a[k] = alpha * a[k];
  for (int wide = 0; wide < 2; wide++) {
    PetscCall(KernelTestViewAllocate(c->A->m, c->A->n, c->A->nz, (PetscBool)wide, c->stream, &back));
    PetscCall(HiSparseGetCSR(hisparse, PETSC_TRUE, PETSC_FALSE, back, c->stream));
    PetscCall(HiSparseGetCSR(hisparse, PETSC_FALSE, PETSC_TRUE, back, c->stream));
    PetscCall(KernelTestMatrixFromView(back, c->stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, &expected, alpha == (PetscScalar)1.0 ? 0 : 4 * PETSC_MACHINE_EPSILON, what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(KernelTestViewDestroy(&back, c->stream));
  }
  PetscCall(PetscFree(expected.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetNewValues(const Case *c, HiSparse hisparse, PetscInt seed, PetscScalar a[])
{
  DCSRView view = c->view;

  PetscFunctionBeginUser;
  for (PetscCount k = 0; k < c->A->nz; k++) a[k] = KernelTestNumber(k, seed);
  PetscCall(KernelTestToDevice((size_t)c->A->nz * sizeof(*a), a, c->stream, (void **)&view.values));
  for (PetscCount k = 0; k < c->A->nz; k++) a[k] = Stored(c->precision, a[k]);
  PetscCall(HiSparseSetValues(hisparse, view, c->stream));
  PetscCall(PetscSparseCUDAFree(&view.values, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, copies that share, the scale factor. a [nonzeros] has the values of hisparse at the end. */
static PetscErrorCode TestValues(const Case *c, HiSparse hisparse, PetscScalar a[])
{
  HiSparse copy;

  PetscFunctionBeginUser;
  PetscCall(HiSparseDuplicate(hisparse, c->stream, &copy));
  PetscCall(HiSparseScale(hisparse, 3.0, c->stream));
  PetscCall(CheckProducts(c, hisparse, c->A->a, 3.0, "scaled"));
  PetscCall(CheckCSR(c, hisparse, c->A->a, 3.0, "scaled"));
  PetscCall(SetNewValues(c, hisparse, 7, a));
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "new values"));
  PetscCall(CheckProducts(c, copy, c->A->a, 1.0, "copy"));
  PetscCall(CheckCSR(c, hisparse, a, 1.0, "new values"));
  PetscCall(CheckCSR(c, copy, c->A->a, 1.0, "copy"));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(SetNewValues(c, hisparse, 8, a)); // in place: nobody else has the values any more
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "new values in place"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row and column sums and norms of a matrix with the values a. */
static PetscErrorCode TestSums(const Case *c, HiSparse hisparse, const PetscScalar a[])
{
  const KernelTestMatrix *A = c->A;
  const PetscInt          n = PetscMax(A->m, A->n);
  PetscScalar            *rows, *columns, *got, *device_rows;
  PetscReal              *scale, *sums, *device_columns, norm, one = 0, infinity = 0;
  long double             frobenius = 0; // a million squares of numbers in single precision, added up one after the other, lose three digits

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(n, &rows, n, &columns, n, &got, n, &scale, n, &sums));
  for (PetscInt r = 0; r < n; r++) rows[r] = columns[r] = 0.0;
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      rows[r] += PetscAbsScalar(a[k]);
      columns[A->j[k]] += PetscAbsScalar(a[k]);
      frobenius += (long double)PetscRealPart(a[k]) * PetscRealPart(a[k]) + (long double)PetscImaginaryPart(a[k]) * PetscImaginaryPart(a[k]);
    }
  for (PetscInt r = 0; r < A->m; r++) infinity = PetscMax(infinity, PetscRealPart(rows[r]));
  for (PetscInt r = 0; r < A->n; r++) one = PetscMax(one, PetscRealPart(columns[r]));
  PetscCall(HiSparseNormFrobeniusSquared(hisparse, c->stream, &norm));
  PetscCheck(PetscAbsReal(norm - (PetscReal)frobenius) <= 1000 * PETSC_MACHINE_EPSILON * (PetscReal)frobenius, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: Frobenius norm", A->name);
  PetscCall(HiSparseNormOne(hisparse, c->stream, &norm));
  PetscCheck(PetscAbsReal(norm - one) <= 1000 * PETSC_MACHINE_EPSILON * one, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: one-norm", A->name);
  PetscCall(HiSparseNormInfinity(hisparse, c->stream, &norm));
  PetscCheck(PetscAbsReal(norm - infinity) <= 1000 * PETSC_MACHINE_EPSILON * infinity, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: infinity norm", A->name);
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*device_rows), NULL, c->stream, (void **)&device_rows));
  PetscCall(KernelTestToDevice((size_t)A->n * sizeof(*device_columns), NULL, c->stream, (void **)&device_columns));
  PetscCall(HiSparseRowSumAbs(hisparse, device_rows, c->stream));
  PetscCall(HiSparseColumnSumsAbs(hisparse, device_columns, c->stream));
  PetscCall(KernelTestToHost((size_t)A->m * sizeof(*got), device_rows, c->stream, got));
  for (PetscInt r = 0; r < A->m; r++) scale[r] = 10 * PetscRealPart(rows[r]);
  PetscCall(KernelTestCompareScalars(A->m, got, rows, scale, "row sums", A->name, c->storage));
  PetscCall(KernelTestToHost((size_t)A->n * sizeof(*sums), device_columns, c->stream, sums));
  for (PetscInt r = 0; r < A->n; r++) {
    got[r]   = sums[r];
    scale[r] = 10 * PetscRealPart(columns[r]);
  }
  PetscCall(KernelTestCompareScalars(A->n, got, columns, scale, "column sums", A->name, c->storage));
  PetscCall(PetscSparseCUDAFree(&device_rows, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_columns, c->stream));
  PetscCall(PetscFree5(rows, columns, got, scale, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entries of rows, with a scale factor. */
static PetscErrorCode TestLargest(const Case *c, HiSparse hisparse, const PetscScalar a[])
{
  const KernelTestMatrix *A = c->A;
  PetscScalar            *expected, *got, *device;
  PetscReal              *scale;
  PetscInt               *index, *got_index, *device_index;
  HiSparse                copy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(A->m, &expected, A->m, &got, A->m, &scale, A->m, &index, A->m, &got_index));
  for (PetscInt r = 0; r < A->m; r++) {
    PetscReal largest = 0;

    index[r] = 0;
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++)
      if (PetscAbsScalar(a[k]) > largest) {
        largest  = PetscAbsScalar(a[k]);
        index[r] = A->j[k];
      }
    expected[r] = 3 * largest;
    scale[r]    = 3 * largest;
  }
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*device), NULL, c->stream, (void **)&device));
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*device_index), NULL, c->stream, (void **)&device_index));
  PetscCall(HiSparseDuplicate(hisparse, c->stream, &copy));
  PetscCall(HiSparseScale(copy, -3.0, c->stream));
  for (int indices = 0; indices < 2; indices++) {
    if (A->m > 0) PetscCallCUDA(cudaMemsetAsync(device, 0xff, (size_t)A->m * sizeof(*device), c->stream));
    PetscCall(HiSparseRowMaxAbs(copy, device, indices ? device_index : NULL, c->stream));
    PetscCall(KernelTestToHost((size_t)A->m * sizeof(*got), device, c->stream, got));
    PetscCall(KernelTestCompareScalars(A->m, got, expected, scale, "row maxima", A->name, c->storage));
  }
  PetscCall(KernelTestToHost((size_t)A->m * sizeof(*got_index), device_index, c->stream, got_index));
  // absolute values of complex numbers may round differently, which changes the winner among near equals
  for (PetscInt r = 0; r < A->m && !PetscDefined(USE_COMPLEX); r++)
    PetscCheck(got_index[r] == index[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the maximum of row %" PetscInt_FMT " is in column %" PetscInt_FMT ", not %" PetscInt_FMT, A->name, c->storage, r, got_index[r], index[r]);
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(PetscSparseCUDAFree(&device, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_index, c->stream));
  PetscCall(PetscFree5(expected, got, scale, index, got_index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HasDiagonal(const KernelTestMatrix *A, PetscInt r)
{
  PetscInt place;

  if (A->i[r] == A->i[r + 1]) return PETSC_FALSE;
  PetscCallAbort(PETSC_COMM_SELF, PetscFindInt(r, A->i[r + 1] - A->i[r], A->j + A->i[r], &place));
  return (PetscBool)(place >= 0);
}

/* Some rows, one of them twice, and flags of them and of columns that have no row. all: also those that lack a diagonal entry. *lacks: one of them does. */
static void ListRows(const KernelTestMatrix *A, PetscInt seed, PetscBool all, PetscInt *n, PetscInt rows[], unsigned char flags[], PetscBool *lacks)
{
  *n     = 0;
  *lacks = PETSC_FALSE;
  for (PetscInt r = A->m; r < A->n; r++) flags[r] = r % 3 == 1;
  for (PetscInt r = A->m - 1; r >= 0; r--) {
    const PetscBool has = HasDiagonal(A, r), lists = (PetscBool)((r * 5 + seed) % 7 < 2 && (all || has || r >= A->n));

    flags[r] = lists == PETSC_TRUE;
    if (lists) rows[(*n)++] = r;
    if (lists && !has && r < A->n) *lacks = PETSC_TRUE;
  }
  if (*n > 0) {
    rows[*n] = rows[*n / 2];
    (*n)++;
  }
}

/* The same on the host; b NULL: rows alone. */
static void ZeroOnHost(const Case *c, const unsigned char flags[], PetscScalar diag, PetscBool columns, const PetscScalar x[], PetscScalar a[], PetscScalar b[])
{
  const KernelTestMatrix *A = c->A;

  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      if (flags[r]) a[k] = A->j[k] == r ? Stored(c->precision, diag) : 0.0;
      else if (columns && flags[A->j[k]]) {
        b[r] -= a[k] * x[A->j[k]];
        a[k] = 0.0;
      }
    }
}

/* Rows, or rows and columns with or without a right-hand side, become zero; a follows. */
static PetscErrorCode ZeroRows(const Case *c, HiSparse hisparse, PetscInt seed, PetscBool columns, PetscBool vectors, PetscScalar diag, PetscBool all, PetscScalar a[])
{
  const KernelTestMatrix *A   = c->A;
  const PetscInt          max = PetscMax(A->m, A->n);
  PetscInt                n, *rows, *device_rows;
  unsigned char          *flags, *device_flags;
  PetscScalar            *x, *b, *got, *device_x, *device_b;
  PetscReal              *scale;
  PetscBool               lacks, done;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(A->m + 1, &rows, max, &flags, A->n, &x, A->m, &b, A->m, &got, A->m, &scale));
  ListRows(A, seed, all, &n, rows, flags, &lacks);
  for (PetscInt k = 0; k < A->n; k++) x[k] = KernelTestNumber(k, 40 + seed);
  for (PetscInt r = 0; r < A->m; r++) {
    b[r]     = KernelTestNumber(r, 50 + seed);
    scale[r] = 10;
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) scale[r] += 10 * PetscAbsScalar(a[k] * x[A->j[k]]);
  }
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*rows), rows, c->stream, (void **)&device_rows));
  PetscCall(KernelTestToDevice((size_t)max, flags, c->stream, (void **)&device_flags));
  PetscCall(KernelTestToDevice((size_t)A->n * sizeof(*x), x, c->stream, (void **)&device_x));
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*b), b, c->stream, (void **)&device_b));
  if (columns) PetscCall(HiSparseZeroRowsColumns(hisparse, n, device_rows, device_flags, diag, vectors ? device_x : NULL, vectors ? device_b : NULL, c->stream, &done));
  else PetscCall(HiSparseZeroRows(hisparse, n, device_rows, diag, c->stream, &done));
  PetscCheck(done == (diag == (PetscScalar)0.0 || !lacks), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: rows were %smade zero", A->name, c->storage, done ? "" : "not ");
  PetscCall(KernelTestToHost((size_t)A->m * sizeof(*got), device_b, c->stream, got));
  if (done && columns && !vectors) { // b has nothing to do with it
    PetscCall(KernelTestCompareScalars(A->m, got, b, NULL, "another vector", A->name, c->storage));
    ZeroOnHost(c, flags, diag, columns, x, a, b);
  } else {
    if (done) ZeroOnHost(c, flags, diag, columns, x, a, b);
    PetscCall(KernelTestCompareScalars(A->m, got, b, scale, "a right-hand side", A->name, c->storage));
  }
  PetscCall(PetscSparseCUDAFree(&device_rows, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_flags, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_x, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_b, c->stream));
  PetscCall(PetscFree6(rows, flags, x, b, got, scale));
  PetscCall(CheckCSR(c, hisparse, a, 1.0, "rows became zero"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns that become zero, beside a copy that does not see it. */
static PetscErrorCode TestZeroRows(const Case *c, HiSparse hisparse)
{
  PetscScalar *a;
  HiSparse     copy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(c->A->nz, &a));
  PetscCall(PetscArraycpy(a, c->A->a, c->A->nz));
  PetscCall(HiSparseDuplicate(hisparse, c->stream, &copy));
  PetscCall(ZeroRows(c, copy, 1, PETSC_FALSE, PETSC_FALSE, 1.0 / 3.0, PETSC_TRUE, a)); // refused when one has no diagonal entry
  PetscCall(ZeroRows(c, copy, 2, PETSC_FALSE, PETSC_FALSE, 1.0 / 3.0, PETSC_FALSE, a));
  PetscCall(CheckProducts(c, copy, a, 1.0, "rows became zero"));
  PetscCall(ZeroRows(c, copy, 3, PETSC_FALSE, PETSC_FALSE, 0.0, PETSC_TRUE, a));
  PetscCall(CheckProducts(c, copy, a, 1.0, "other rows became zero"));
  PetscCall(ZeroRows(c, copy, 4, PETSC_TRUE, PETSC_TRUE, 2.5, PETSC_FALSE, a));
  PetscCall(CheckProducts(c, copy, a, 1.0, "rows and columns became zero"));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(HiSparseDuplicate(hisparse, c->stream, &copy));
  PetscCall(PetscArraycpy(a, c->A->a, c->A->nz));
  PetscCall(ZeroRows(c, copy, 5, PETSC_TRUE, PETSC_TRUE, 0.0, PETSC_TRUE, a));
  PetscCall(ZeroRows(c, copy, 6, PETSC_TRUE, PETSC_FALSE, 0.0, PETSC_TRUE, a));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(CheckCSR(c, hisparse, c->A->a, 1.0, "beside rows that became zero"));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonals: read, counted, added to, and products afterwards. */
static PetscErrorCode TestDiagonal(const Case *c, HiSparse hisparse, PetscScalar a[])
{
  const KernelTestMatrix *A = c->A;
  const PetscInt          n = PetscMin(A->m, A->n);
  PetscScalar            *expected, *got, *device;
  PetscCount              missing, expected_missing = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &expected, n, &got));
  for (PetscInt r = 0; r < n; r++) {
    PetscBool found = PETSC_FALSE;

    expected[r] = 0.0;
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++)
      if (A->j[k] == r) {
        found       = PETSC_TRUE;
        expected[r] = a[k];
        a[k]        = Stored(c->precision, a[k] + (PetscScalar)2.5);
      }
    if (!found) expected_missing++;
  }
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*device), NULL, c->stream, (void **)&device));
  PetscCall(HiSparseGetDiagonal(hisparse, device, c->stream));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), device, c->stream, got));
  PetscCall(KernelTestCompareScalars(n, got, expected, NULL, "diagonal", A->name, c->storage));
  PetscCall(HiSparseCountMissingDiagonal(hisparse, n, c->stream, &missing));
  PetscCheck(missing == expected_missing, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d missing diagonal entries, not %d", A->name, (int)missing, (int)expected_missing);
  PetscCall(HiSparseDiagonalAdd(hisparse, NULL, 2.5, PETSC_FALSE, c->stream));
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "after an addition to the diagonal"));
  PetscCall(PetscSparseCUDAFree(&device, c->stream));
  PetscCall(PetscFree2(expected, got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs after TestSums(): changes the values. */
static PetscErrorCode TestWrites(const Case *c, HiSparse hisparse, PetscScalar a[])
{
  const KernelTestMatrix *A = c->A;
  PetscScalar            *left, *right, *device_left, *device_right;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(A->m, &left, A->n, &right));
  for (PetscInt r = 0; r < A->m; r++) left[r] = (PetscScalar)(1 << r % 3);
  for (PetscInt r = 0; r < A->n; r++) right[r] = (PetscScalar)(1 << r % 4);
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*left), left, c->stream, (void **)&device_left));
  PetscCall(KernelTestToDevice((size_t)A->n * sizeof(*right), right, c->stream, (void **)&device_right));
  PetscCall(HiSparseDiagonalScale(hisparse, device_left, device_right, c->stream));
  PetscCall(HiSparseDiagonalScale(hisparse, device_left, NULL, c->stream));
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) a[k] *= left[r] * left[r] * right[A->j[k]];
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "after a diagonal scale"));
  PetscCall(CheckCSR(c, hisparse, a, 1.0, "after a diagonal scale"));
#if PetscDefined(USE_COMPLEX)
  PetscCall(HiSparseConjugate(hisparse, c->stream));
  for (PetscCount k = 0; k < A->nz; k++) a[k] = PetscConj(a[k]);
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "conjugated"));
#endif
  PetscCall(HiSparseRealPart(hisparse, c->stream));
  for (PetscCount k = 0; k < A->nz; k++) a[k] = PetscRealPart(a[k]);
  PetscCall(CheckCSR(c, hisparse, a, 1.0, "real part"));
  PetscCall(HiSparseZero(hisparse, c->stream));
  PetscCall(PetscArrayzero(a, A->nz));
  PetscCall(CheckProducts(c, hisparse, a, 1.0, "zeroed"));
  PetscCall(PetscSparseCUDAFree(&device_left, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_right, c->stream));
  PetscCall(PetscFree2(left, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is tried with each allocation failing, one after the other. */
typedef enum {
  TRY_CREATE,
  TRY_PREPARE,
  TRY_SET_VALUES,
  TRY_DIAGONAL_SCALE,
  NUM_TRIES
} Try;

static PetscErrorCode RunTry(const Case *c, Try what, HiSparse *hisparse, const PetscScalar right[])
{
  PetscFunctionBegin;
  switch (what) {
  case TRY_CREATE:
    PetscCall(HiSparseCreate(c->view, HISPARSE_WINDOWS, c->precision, c->stream, hisparse));
    break;
  case TRY_PREPARE:
    PetscCall(HiSparsePrepare(*hisparse, PETSC_TRUE, c->stream));
    break;
  case TRY_SET_VALUES:
    PetscCall(HiSparseSetValues(*hisparse, c->view, c->stream));
    break;
  default:
    PetscCall(HiSparseDiagonalScale(*hisparse, NULL, right, c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOutOfMemory(const Case *c)
{
  HiSparse     hisparse = NULL, copy = NULL;
  PetscScalar *ones, *right;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(c->A->n, &ones));
  for (PetscInt k = 0; k < c->A->n; k++) ones[k] = 1.0;
  PetscCall(KernelTestToDevice((size_t)c->A->n * sizeof(*ones), ones, c->stream, (void **)&right));
  for (int what = TRY_CREATE; what < NUM_TRIES; what++) {
    PetscErrorCode ierr = PETSC_ERR_MEM;

    if (what == TRY_SET_VALUES) PetscCall(HiSparseDuplicate(hisparse, c->stream, &copy)); // so that values of its own are needed
    for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
      size_t before, after;

      PetscCheck(n < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: try %d never succeeds", c->A->name, what);
      PetscCall(KernelTestMemoryInUse(c->stream, &before));
      PetscCall(PetscSparseCUDATestFailAllocation(n));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = RunTry(c, (Try)what, &hisparse, right);
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscSparseCUDATestFailAllocation(0));
      PetscCall(KernelTestMemoryInUse(c->stream, &after));
      PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d in place of out of memory", c->A->name, (int)ierr);
      if (ierr == PETSC_SUCCESS) continue;
      if (what == TRY_CREATE) PetscCheck(hisparse == NULL && before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: something is left after an error", c->A->name);
      else {
        const Product p = {.hisparse = hisparse};

        PetscCall(CheckProduct(c, &p, c->A->a, 1.0, FORWARD, "after an error"));
      }
    }
  }
  PetscCall(CheckProducts(c, hisparse, c->A->a, 1.0, "after errors"));
  PetscCall(CheckProducts(c, copy, c->A->a, 1.0, "copy after errors"));
  PetscCall(HiSparseDestroy(&hisparse, c->stream));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(PetscSparseCUDAFree(&right, c->stream));
  PetscCall(PetscFree(ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that a HiSparse of this format does; *bytes is its memory after products in both directions. */
static PetscErrorCode TestHiSparse(const Case *c, size_t *bytes)
{
  HiSparse     hisparse;
  HiSparseInfo info;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(HiSparseCreate(c->view, HISPARSE_WINDOWS, c->precision, c->stream, &hisparse));
  PetscCheck((hisparse == NULL) == (c->A->nz == 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the format is%s there", c->A->name, hisparse ? "" : " not");
  *bytes = 0;
  if (hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(c->A->nz, &a));
  PetscCall(CheckProducts(c, hisparse, c->A->a, 1.0, "windows"));
  PetscCall(CheckCSR(c, hisparse, c->A->a, 1.0, "windows"));
  PetscCall(HiSparseGetInfo(hisparse, &info));
  PetscCheck(info.format == HISPARSE_WINDOWS && info.num_pieces + info.num_others == (c->A->nz + WINDOWS_BLOCK - 1) / WINDOWS_BLOCK && info.transpose_bytes > 0 && info.bytes > info.transpose_bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: wrong facts about the format", c->A->name);
  PetscCheck(info.precision == c->precision, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values are %s", c->A->name, HiSparsePrecisions[info.precision]);
  *bytes = info.bytes;
  if (c->A->n < 1000000) PetscCall(TestZeroRows(c, hisparse)); // which compares vectors of all columns again and again
  PetscCall(TestValues(c, hisparse, a));
  PetscCall(TestSums(c, hisparse, a));
  PetscCall(TestLargest(c, hisparse, a));
  PetscCall(TestDiagonal(c, hisparse, a));
  PetscCall(TestWrites(c, hisparse, a));
  PetscCall(HiSparseDestroy(&hisparse, c->stream));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPrecision(const Case *c, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  if (c->A->nz) PetscCall(TestConfigs(c, (PetscBool)(c->A->n < 10000000)));
  if (c->A->n >= 10000000) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestHiSparse(c, bytes));
  if (c->A->nz && c->A->nz < 100000 && !c->view.wide && !small) PetscCall(TestOutOfMemory(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values as they are, and in single precision: half of the bytes in both directions, and products as exact as those of the rounded matrix are. */
static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  static PetscInt  turn    = 0;
  KernelTestMatrix rounded = *A;
  Case             c       = {A, storage->name, view, stream, HISPARSE_VALUES_SCALAR};
  const PetscBool  other   = (PetscBool)(storage != &KernelTestStorages[0]);
  size_t           bytes   = 0, single;

  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (!other) turn++; // the other storage of a matrix comes after it
  if (small && other && turn % 4 != 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!small || other || turn % 2 == 0 || PetscDefined(USE_REAL_SINGLE)) PetscCall(TestPrecision(&c, &bytes));
  if (PetscDefined(USE_REAL_SINGLE) || other || (small && turn % 2 == 0)) PetscFunctionReturn(PETSC_SUCCESS); // the storage of CSR makes no difference to single precision
  PetscCall(PetscMalloc1(A->nz, &rounded.a));
  for (PetscCount k = 0; k < A->nz; k++) rounded.a[k] = Stored(HISPARSE_VALUES_SINGLE, A->a[k]);
  c.A         = &rounded;
  c.precision = HISPARSE_VALUES_SINGLE;
  PetscCall(TestPrecision(&c, &single));
  PetscCheck(bytes == 0 || bytes - single == 2 * (size_t)A->nz * (sizeof(PetscScalar) - sizeof(PetscScalar) / sizeof(PetscReal) * sizeof(float)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes, and %zu with values in single precision", A->name,
             storage->name, bytes, single);
  PetscCall(PetscFree(rounded.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestShapes(cudaStream_t stream)
{
  KernelTestMatrix A;
  DCSRView         view;
  size_t           before, after;

  PetscFunctionBegin;
  for (int shape = 0; shape < NUM_SHAPES; shape++) {
    PetscCall(ShapeCreate((Shape)shape, &A));
    for (int s = 0; s < 2; s++) {
      PetscCall(KernelTestMemoryInUse(stream, &before));
      PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
      PetscCall(Test(&A, &KernelTestStorages[s], view, stream));
      PetscCall(KernelTestViewDestroy(&view, stream));
      PetscCall(KernelTestMemoryInUse(stream, &after));
      PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", A.name, after - before);
    }
    PetscCall(KernelTestMatrixDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices for the rule: stencils on a cube of points, whose numbers may be permuted within groups of 64, and rows of random columns. */
typedef struct {
  const char    *name;
  PetscInt       edge;    /* of the cube; 0: none */
  PetscInt       reach;   /* neighbors with at most so many different coordinates: 1 star, 3 cube */
  PetscBool      permute; /* points */
  PetscInt       random;  /* of 100 rows, so many have random columns in place of the stencil's */
  HiSparseFormat format;  /* that the rule must take */
} RuleCase;

static const RuleCase RuleCases[] = {{"7-point stencil", 52, 1, PETSC_FALSE, 0, HISPARSE_DIAGONALS}, {"27-point stencil", 52, 3, PETSC_FALSE, 0, HISPARSE_DIAGONALS},   {"27-point stencil, few slices", 40, 3, PETSC_FALSE, 0, HISPARSE_CSR},
                                     {"small 7-point stencil", 20, 1, PETSC_FALSE, 0, HISPARSE_CSR}, {"permuted 27-point stencil", 52, 3, PETSC_TRUE, 0, HISPARSE_CSR}, {"permuted, small", 30, 3, PETSC_TRUE, 0, HISPARSE_CSR},
                                     {"random columns", 52, 3, PETSC_FALSE, 100, HISPARSE_CSR},      {"half of the rows random", 52, 3, PETSC_FALSE, 50, HISPARSE_CSR}, {"permuted, some random columns", 52, 3, PETSC_TRUE, 2, HISPARSE_CSR}};

static PetscInt Permuted(const RuleCase *rule, PetscInt p, PetscInt n)
{
  return rule->permute && p / 64 < n / 64 ? p / 64 * 64 + (p % 64 * 37 + p / 64 * 11) % 64 : p;
}

/* Columns of a row, sorted by the caller. */
static PetscInt RuleRow(const RuleCase *rule, PetscInt p, PetscInt columns[])
{
  const PetscInt e = rule->edge, n = e * e * e, x = p % e, y = p / e % e, z = p / (e * e);
  PetscInt       size = 0;

  for (PetscInt k = 0; k < 27; k++) {
    const PetscInt dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;

    if (PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz) > rule->reach || x + dx < 0 || x + dx >= e || y + dy < 0 || y + dy >= e || z + dz < 0 || z + dz >= e) continue;
    if ((p * 61 + 7) % 100 < rule->random) columns[size++] = (PetscInt)(((PetscCount)p * 7919 + (PetscCount)k * (n / 27) + (PetscCount)k * p % 1000) % n);
    else columns[size++] = Permuted(rule, p + dx + e * (dy + e * dz), n);
  }
  return size;
}

static PetscErrorCode TestRule(const RuleCase *rule, cudaStream_t stream)
{
  const PetscInt   n = rule->edge * rule->edge * rule->edge;
  KernelTestMatrix A;
  PetscInt        *inverse, columns[27];
  DCSRView         view;
  HiSparseFormat   format, again, single;

  PetscFunctionBegin;
  A.name = rule->name;
  A.m = A.n = n;
  PetscCall(PetscMalloc2(n + 1, &A.i, n, &inverse));
  for (PetscInt p = 0; p < n; p++) inverse[Permuted(rule, p, n)] = p;
  A.i[0] = 0;
  for (PetscInt r = 0; r < n; r++) A.i[r + 1] = A.i[r] + RuleRow(rule, inverse[r], columns);
  A.nz = A.i[n];
  PetscCall(PetscMalloc2(A.nz, &A.j, A.nz, &A.a));
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt size = RuleRow(rule, inverse[r], A.j + A.i[r]);

    PetscCall(PetscSortInt(size, A.j + A.i[r]));
  }
  for (PetscCount k = 0; k < A.nz; k++) A.a[k] = 1.0;
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &view));
  PetscCall(HiSparseRuleApply(view, HISPARSE_VALUES_SCALAR, stream, &format));
  PetscCall(HiSparseRuleApply(view, HISPARSE_VALUES_SCALAR, stream, &again));
  PetscCall(HiSparseRuleApply(view, HISPARSE_VALUES_SINGLE, stream, &single));
  PetscCheck(single == format || single == HISPARSE_DIAGONALS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, and with values in single precision %s", rule->name, HiSparseFormats[format], HiSparseFormats[single]);
  PetscCheck(format == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, and then %s", rule->name, HiSparseFormats[format], HiSparseFormats[again]);
  PetscCheck(PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) || format == rule->format, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the rule takes %s, not %s", rule->name, HiSparseFormats[format], HiSparseFormats[rule->format]);
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(PetscFree2(A.j, A.a));
  PetscCall(PetscFree2(A.i, inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 132 multiprocessors with 896 threads hold 3,696 slices. */
static PetscErrorCode TestWaves(void)
{
  static const struct {
    PetscCount num_slices;
    double     factor;
  } cases[] = {{1, 1}, {3696, 1}, {3697, 1 + 0.125 * (2 * 3696.0 / 3697 - 1)}, {4504, 1 + 0.125 * (2 * 3696.0 / 4504 - 1)}, {7391, 1 + 0.125 * (2 * 3696.0 / 7391 - 1)}, {7392, 1}, {8192, 1}, {(PetscCount)1 << 31, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const double factor = HiSparseRuleWaves(cases[k].num_slices, 132, 896);

    PetscCheck(PetscAbsReal((PetscReal)(factor - cases[k].factor)) < 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " slices: %g in place of %g", cases[k].num_slices, factor, cases[k].factor);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestIsSmall(&small));
  PetscCall(TestWaves());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(RuleCases); k++)
      if (!small || RuleCases[k].edge < 30) PetscCall(TestRule(&RuleCases[k], stream));
    PetscCall(TestShapes(stream));
    PetscCall(KernelTestRunUpTo(small ? 1000 : PETSC_COUNT_MAX, Test));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out
  test:
    suffix: host
    args: -device_enable none
    output_file: output/empty.out

TEST*/
