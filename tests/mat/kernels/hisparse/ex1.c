static char help[] =
  "Masked diagonals, also with rounded values: products in both directions with every launch configuration, values and structure to and from CSR, copies that share, and what happens without memory.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../../../../src/mat/kernels/hisparse/diagonalsimpl.h"
#include "../../small.h"

typedef enum {
  STENCIL,      /* nx x ny x nz grid, points in a 3 x 3 x 3 box when box, otherwise on the axes; unknowns each */
  BAND,         /* percent of the entries of a band of 2 * nx + 1 diagonals */
  BLOCKS,       /* full blocks of nx on the diagonal */
  EMPTY_ROWS,   /* three diagonals, two rows of three empty */
  EMPTY_SLICES, /* three diagonals, but none in every second 150 rows */
  SCATTERED,    /* three diagonals, and in every nx-th row a few entries anywhere */
  LONG_ROW,     /* three diagonals, and row nx is full */
  FULL,         /* all entries */
  SHIFTED,      /* diagonals at multiples of nx, all of them inside of the matrix */
  RANDOM        /* nx entries of a row, anywhere */
} Pattern;

typedef enum {
  FITS,
  DOES_NOT_FIT
} Outcome;

typedef struct {
  const char *name;
  PetscInt    m, n;
  Pattern     pattern;
  PetscInt    nx, ny, nz, unknowns, percent;
  PetscBool   box;
  Outcome     outcome;
  PetscBool   small; /* is in the small test */
} Shape;

static PetscBool small; /* few matrices, and none of them without memory */

static const Shape Shapes[] = {
  {"1 x 1", 1, 1, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"1 x 300", 1, 300, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"300 x 1", 300, 1, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, DOES_NOT_FIT}, // one entry of each diagonal
  {"3 x 5", 3, 5, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"127 x 127", 127, 127, STENCIL, 127, 1, 1, 1, 0, PETSC_FALSE, FITS},
  {"128 x 128", 128, 128, STENCIL, 128, 1, 1, 1, 0, PETSC_FALSE, FITS},
  {"129 x 129", 129, 129, STENCIL, 129, 1, 1, 1, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"3-point stencil", 1000, 1000, STENCIL, 1000, 1, 1, 1, 0, PETSC_FALSE, FITS},
  {"5-point stencil", 1739, 1739, STENCIL, 37, 47, 1, 1, 0, PETSC_FALSE, FITS},
  {"9-point stencil", 1517, 1517, STENCIL, 41, 37, 1, 1, 0, PETSC_TRUE, FITS},
  {"7-point stencil", 1716, 1716, STENCIL, 11, 12, 13, 1, 0, PETSC_FALSE, FITS},
  {"27-point stencil", 990, 990, STENCIL, 9, 10, 11, 1, 0, PETSC_TRUE, FITS},
  {"elasticity", 756, 756, STENCIL, 6, 7, 6, 3, 0, PETSC_TRUE, FITS, PETSC_TRUE},
  {"two unknowns", 1170, 1170, STENCIL, 45, 13, 1, 2, 0, PETSC_FALSE, FITS},
  {"band, nine of ten", 700, 700, BAND, 7, 0, 0, 0, 90, PETSC_FALSE, FITS},
  {"band, a third", 900, 900, BAND, 40, 0, 0, 0, 34, PETSC_FALSE, FITS}, // about the limit of a segment
  {"band, a quarter", 600, 600, BAND, 25, 0, 0, 0, 27, PETSC_FALSE, FITS},
  {"band, one of ten", 700, 700, BAND, 30, 0, 0, 0, 10, PETSC_FALSE, DOES_NOT_FIT},
  {"blocks of 40", 800, 800, BLOCKS, 40, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"blocks of 5", 640, 640, BLOCKS, 5, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"empty rows", 900, 900, EMPTY_ROWS, 0, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"empty slices", 1400, 1400, EMPTY_SLICES, 0, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"some entries anywhere", 1300, 1300, SCATTERED, 10, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"many entries anywhere", 1300, 1300, SCATTERED, 2, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"few entries anywhere", 1300, 1300, SCATTERED, 500, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"three entries anywhere", 5000, 5000, SCATTERED, 5000, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE}, // so few become segments,
  {"twelve entries anywhere", 5000, 5000, SCATTERED, 1250, 0, 0, 0, 0, PETSC_FALSE, FITS},            // and so many do not
  {"a full row", 700, 2000, LONG_ROW, 300, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"a full row of some", 3000, 3000, LONG_ROW, 300, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"full segments", 640, 3200, SHIFTED, 128, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"full segments over borders", 640, 3200, SHIFTED, 77, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"full", 300, 300, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS},
  {"full and wide", 150, 900, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS}, // more segments than a slice may have
  {"full and tall", 900, 150, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, FITS, PETSC_TRUE},
  {"no rows", 0, 50, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, DOES_NOT_FIT, PETSC_TRUE},
  {"no columns", 50, 0, FULL, 0, 0, 0, 0, 0, PETSC_FALSE, DOES_NOT_FIT},
  {"no entries", 500, 400, BAND, 3, 0, 0, 0, 0, PETSC_FALSE, DOES_NOT_FIT},
  {"random", 600, 800, RANDOM, 9, 0, 0, 0, 0, PETSC_FALSE, DOES_NOT_FIT, PETSC_TRUE},
};

static PetscInt Failures = 0;

/* Numbers that depend on nothing but their arguments (finalizer of splitmix64, Steele, Lea, Flood 2014). */
static uint64_t Hash(uint64_t i, uint64_t seed)
{
  uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

static PetscScalar Number(PetscCount i, PetscInt seed)
{
  const PetscReal re = (PetscReal)((double)(Hash((uint64_t)i, 2 * (uint64_t)seed) >> 11) * 0x1p-52 - 1.0);

#if PetscDefined(USE_COMPLEX)
  return re + PETSC_i * (PetscReal)((double)(Hash((uint64_t)i, 2 * (uint64_t)seed + 1) >> 11) * 0x1p-52 - 1.0);
#else
  return re;
#endif
}

/* Columns of a stencil that a grid point has. */
static PetscInt StencilColumns(const Shape *s, PetscInt row, PetscInt columns[])
{
  const PetscInt point = row / s->unknowns, x = point % s->nx, y = point / s->nx % s->ny, z = point / s->nx / s->ny;
  PetscInt       k = 0;

  for (PetscInt dz = -1; dz <= 1; dz++)
    for (PetscInt dy = -1; dy <= 1; dy++)
      for (PetscInt dx = -1; dx <= 1; dx++) {
        if (!s->box && dx * dx + dy * dy + dz * dz > 1) continue;
        if (x + dx < 0 || x + dx >= s->nx || y + dy < 0 || y + dy >= s->ny || z + dz < 0 || z + dz >= s->nz) continue;
        for (PetscInt u = 0; u < s->unknowns; u++) columns[k++] = (point + dx + s->nx * (dy + s->ny * dz)) * s->unknowns + u;
      }
  return k;
}

static PetscInt ThreeDiagonals(const Shape *s, PetscInt row, PetscInt columns[])
{
  PetscInt k = 0;

  for (PetscInt c = row - 1; c <= row + 1; c++)
    if (c >= 0 && c < s->n) columns[k++] = c;
  return k;
}

/* The columns of a row, perhaps out of order and more than once; returns how many. */
static PetscInt RowColumns(const Shape *s, PetscInt row, PetscInt columns[])
{
  PetscInt k = 0;

  switch (s->pattern) {
  case STENCIL:
    return StencilColumns(s, row, columns);
  case BAND:
    for (PetscInt c = row - s->nx; c <= row + s->nx; c++)
      if (c >= 0 && c < s->n && (PetscInt)(Hash((uint64_t)c, (uint64_t)row) % 100) < s->percent) columns[k++] = c;
    return k;
  case BLOCKS:
    for (PetscInt c = row / s->nx * s->nx; c < row / s->nx * s->nx + s->nx; c++) columns[k++] = c;
    return k;
  case EMPTY_ROWS:
    return row % 3 == 1 ? ThreeDiagonals(s, row, columns) : 0;
  case EMPTY_SLICES:
    return row / 150 % 2 == 1 ? ThreeDiagonals(s, row, columns) : 0;
  case SCATTERED:
    k = ThreeDiagonals(s, row, columns);
    if (row % s->nx == 0)
      for (PetscInt i = 0; i < 3; i++) columns[k++] = (PetscInt)(Hash((uint64_t)i, (uint64_t)row) % (uint64_t)s->n);
    return k;
  case LONG_ROW:
    if (row != s->nx) return ThreeDiagonals(s, row, columns);
    for (PetscInt c = 0; c < s->n; c++) columns[k++] = c;
    return k;
  case FULL:
    for (PetscInt c = 0; c < s->n; c++) columns[k++] = c;
    return k;
  case SHIFTED:
    for (PetscInt c = row; c < s->n; c += s->nx)
      if (c - row <= s->n - s->m) columns[k++] = c;
    return k;
  case RANDOM:
    for (PetscInt i = 0; i < s->nx; i++) columns[k++] = (PetscInt)(Hash((uint64_t)i, (uint64_t)row) % (uint64_t)s->n);
    return k;
  }
  return k;
}

static int CompareColumns(const void *a, const void *b)
{
  const PetscInt x = *(const PetscInt *)a, y = *(const PetscInt *)b;

  return x < y ? -1 : x > y;
}

static PetscInt SortedColumns(const Shape *s, PetscInt row, PetscInt columns[])
{
  const PetscInt n = RowColumns(s, row, columns);
  PetscInt       k = 0;

  qsort(columns, (size_t)n, sizeof(*columns), CompareColumns);
  for (PetscInt i = 0; i < n; i++)
    if (i == 0 || columns[i] != columns[i - 1]) columns[k++] = columns[i];
  return k;
}

/* A matrix and vectors on the host, and the vectors on the device. Index 0: A x; 1: A^T x; 2: A^H x. */
typedef struct {
  const Shape *shape;
  PetscInt     m, n;
  PetscCount   nz;
  PetscCount  *i;
  int32_t     *j;
  PetscScalar *a, *other; /* two sets of values */
  PetscScalar *x, *z, *nans, *y, *again;
  PetscInt     longest; /* of m and n */
  PetscScalar *device_x, *device_y, *device_z;
  cudaStream_t stream;

  PetscBool single; /* the values of diagonals are rounded to single precision */
} Host;

/* What a number may become when it is stored. */
static PetscReal StoredError(const Host *h)
{
  return h->single && !PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-6 : 0;
}

static PetscErrorCode ToDevice(size_t bytes, const void *host, cudaStream_t stream, void *device)
{
  char *p;

  PetscFunctionBeginUser;
  PetscCall(PetscSparseCUDAMalloc(bytes, "test data", stream, &p));
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(p, host, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *(void **)device = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostCreateVectors(Host *h)
{
  const PetscInt n = PetscMax(h->m, h->n);

  PetscFunctionBeginUser;
  h->longest = n;
  PetscCall(PetscMalloc1(n, &h->x));
  PetscCall(PetscMalloc1(n, &h->z));
  PetscCall(PetscMalloc1(n, &h->nans));
  PetscCall(PetscMalloc1(n, &h->y));
  PetscCall(PetscMalloc1(n, &h->again));
  for (PetscInt k = 0; k < n; k++) {
    h->x[k]    = Number(k, 3);
    h->z[k]    = Number(k, 4);
    h->nans[k] = (PetscScalar)NAN;
  }
  PetscCall(ToDevice(sizeof(*h->x) * (size_t)n, h->x, h->stream, &h->device_x));
  PetscCall(ToDevice(sizeof(*h->x) * (size_t)n, h->z, h->stream, &h->device_z));
  PetscCall(ToDevice(sizeof(*h->x) * (size_t)n, h->nans, h->stream, &h->device_y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostCreate(const Shape *shape, cudaStream_t stream, Host *h)
{
  PetscInt *columns;

  PetscFunctionBeginUser;
  h->shape  = shape;
  h->m      = shape->m;
  h->n      = shape->n;
  h->stream = stream;
  PetscCall(PetscMalloc1(h->m + 1, &h->i));
  PetscCall(PetscMalloc1(2 * h->n + 100, &columns));
  h->i[0] = 0;
  for (PetscInt r = 0; r < h->m; r++) h->i[r + 1] = h->i[r] + SortedColumns(shape, r, columns);
  h->nz = h->i[h->m];
  PetscCall(PetscMalloc1(h->nz, &h->j));
  PetscCall(PetscMalloc1(h->nz, &h->a));
  PetscCall(PetscMalloc1(h->nz, &h->other));
  for (PetscInt r = 0; r < h->m; r++) {
    (void)SortedColumns(shape, r, columns);
    for (PetscCount k = h->i[r]; k < h->i[r + 1]; k++) h->j[k] = (int32_t)columns[k - h->i[r]];
  }
  for (PetscCount k = 0; k < h->nz; k++) {
    h->a[k]     = Number(k, 1);
    h->other[k] = Number(k, 2);
  }
  PetscCall(PetscFree(columns));
  PetscCall(HostCreateVectors(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostDestroy(Host *h)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(h->i));
  PetscCall(PetscFree(h->j));
  PetscCall(PetscFree(h->a));
  PetscCall(PetscFree(h->other));
  PetscCall(PetscFree(h->x));
  PetscCall(PetscFree(h->z));
  PetscCall(PetscFree(h->nans));
  PetscCall(PetscFree(h->y));
  PetscCall(PetscFree(h->again));
  PetscCall(PetscSparseCUDAFree(&h->device_x, h->stream));
  PetscCall(PetscSparseCUDAFree(&h->device_y, h->stream));
  PetscCall(PetscSparseCUDAFree(&h->device_z, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compact CSR on the device. filled: as on the host, with these values; otherwise all bits set. */
static PetscErrorCode ViewCreate(const Host *h, PetscBool wide, PetscBool filled, const PetscScalar values[], DCSRView *view)
{
  const size_t rows = (size_t)h->m + 1, nz = (size_t)h->nz;
  int64_t     *w;
  int32_t     *s;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(view, sizeof(*view)));
  view->num_rows     = h->m;
  view->num_columns  = h->n;
  view->num_nonzeros = view->capacity = view->used = h->nz;
  view->wide                                       = wide;
  PetscCall(PetscMalloc1(rows, &w));
  PetscCall(PetscMalloc1(rows, &s));
  for (size_t r = 0; r < rows; r++) {
    w[r] = (int64_t)h->i[r];
    s[r] = (int32_t)h->i[r];
  }
  if (wide) PetscCall(ToDevice(sizeof(*w) * rows, w, h->stream, &view->row_offsets));
  else PetscCall(ToDevice(sizeof(*s) * rows, s, h->stream, &view->row_offsets));
  PetscCall(ToDevice(sizeof(*view->columns) * nz, h->j, h->stream, &view->columns));
  PetscCall(ToDevice(sizeof(*view->values) * nz, values, h->stream, &view->values));
  PetscCall(PetscFree(w));
  PetscCall(PetscFree(s));
  if (!filled) {
    PetscCallCUDA(cudaMemsetAsync(view->row_offsets, 0xff, (wide ? sizeof(*w) : sizeof(*s)) * rows, h->stream));
    if (nz) PetscCallCUDA(cudaMemsetAsync(view->columns, 0xff, sizeof(*view->columns) * nz, h->stream));
    if (nz) PetscCallCUDA(cudaMemsetAsync(view->values, 0xff, sizeof(*view->values) * nz, h->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Failed(const Host *h, const char what[], const char where[])
{
  PetscFunctionBeginUser;
  Failures++;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s%s: %s %s\n", h->shape->name, h->single ? ", rounded values" : "", what, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the product must be, and the rounding errors it may have. */
static PetscErrorCode Expected(const Host *h, PetscInt direction, const PetscScalar values[], PetscScalar scale, PetscScalar y[], PetscReal tolerance[])
{
  const PetscInt ny = direction ? h->n : h->m;

  PetscFunctionBeginUser;
  for (PetscInt r = 0; r < ny; r++) {
    y[r]         = 0.0;
    tolerance[r] = 1.0;
  }
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscCount k = h->i[r]; k < h->i[r + 1]; k++) {
      const PetscScalar a = direction == 2 ? PetscConj(scale * values[k]) : scale * values[k], product = a * h->x[direction ? r : h->j[k]];

      y[direction ? h->j[k] : r] += product;
      tolerance[direction ? h->j[k] : r] += PetscAbsScalar(product);
    }
  for (PetscInt r = 0; r < ny; r++) tolerance[r] *= 64 * PETSC_MACHINE_EPSILON + StoredError(h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  Z_NONE,
  Z_OTHER,
  Z_SAME,
  NUM_Z
} WhichZ;

static const char *const ZNames[NUM_Z] = {"no z", "another z", "z == y"};

static PetscErrorCode Apply(HiSparse A, Host *h, PetscInt direction, WhichZ which, PetscScalar y[])
{
  const size_t       bytes = sizeof(*y) * (size_t)(direction ? h->n : h->m);
  const PetscScalar *z     = which == Z_NONE ? NULL : which == Z_OTHER ? h->device_z : h->device_y;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMemcpyAsync(h->device_y, which == Z_SAME ? h->z : h->nans, bytes, cudaMemcpyHostToDevice, h->stream));
  if (direction) PetscCall(HiSparseMultTranspose(A, (PetscBool)(direction == 2), h->device_x, z, h->device_y, h->stream));
  else PetscCall(HiSparseMult(A, h->device_x, z, h->device_y, h->stream));
  PetscCallCUDA(cudaMemcpyAsync(y, h->device_y, bytes, cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckValid(HiSparse A, const Host *h, const char what[])
{
  PetscBool   ok;
  const char *why;
  PetscCount  where;

  PetscFunctionBeginUser;
  PetscCall(HiSparseIsValid(A, h->stream, &ok, &why, &where));
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Failed(h, what, "not valid"));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %" PetscCount_FMT "\n", why, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All three products with a matrix of scale times these values, which is valid. */
static PetscErrorCode CheckProducts(HiSparse A, Host *h, const PetscScalar values[], PetscScalar scale, const char what[])
{
  static const char *const names[] = {"A x", "A^T x", "A^H x"};
  PetscScalar             *expected;
  PetscReal               *tolerance;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(h->longest, &expected));
  PetscCall(PetscMalloc1(h->longest, &tolerance));
  for (PetscInt direction = 0; direction < 3; direction++) {
    const PetscInt ny = direction ? h->n : h->m;

    PetscCall(Expected(h, direction, values, scale, expected, tolerance));
    for (WhichZ which = Z_NONE; which < NUM_Z; which = (WhichZ)(which + 1)) {
      PetscInt  wrong = 0, first = 0;
      PetscBool same;

      PetscCall(Apply(A, h, direction, which, h->y));
      PetscCall(Apply(A, h, direction, which, h->again));
      PetscCall(PetscMemcmp(h->y, h->again, sizeof(*h->y) * (size_t)ny, &same));
      if (!same) PetscCall(Failed(h, what, "not the same again"));
      for (PetscInt r = ny - 1; r >= 0; r--) {
        if (PetscAbsScalar(h->y[r] - expected[r] - (which == Z_NONE ? (PetscScalar)0.0 : h->z[r])) <= 2 * tolerance[r]) continue;
        wrong++;
        first = r;
      }
      if (wrong == 0) continue;
      PetscCall(Failed(h, what, names[direction]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s: %" PetscInt_FMT " wrong rows, the first is %" PetscInt_FMT ": %g instead of %g\n", ZNames[which], wrong, first, (double)PetscRealPart(h->y[first]),
                            (double)PetscRealPart(expected[first] + (which == Z_NONE ? (PetscScalar)0.0 : h->z[first]))));
    }
  }
  PetscCall(PetscFree(expected));
  PetscCall(PetscFree(tolerance));
  PetscCall(CheckValid(A, h, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A device array against the host's, exactly. */
static PetscErrorCode CheckArray(const Host *h, const void *device, const void *host, size_t bytes, const char what[], const char where[])
{
  char     *copy;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(bytes, &copy));
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(copy, device, bytes, cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCall(PetscMemcmp(copy, host, bytes, &same));
  if (!same) PetscCall(Failed(h, what, where));
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values of a matrix of scale, a power of 2, times these values. */
static PetscErrorCode CheckCSR(HiSparse A, const Host *h, PetscBool wide, const PetscScalar values[], PetscReal scale, const char what[])
{
  const size_t offsets = ((size_t)h->m + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), columns = (size_t)h->nz * sizeof(int32_t), values_bytes = (size_t)h->nz * sizeof(PetscScalar);
  PetscScalar *scaled;
  char        *row_offsets;
  DCSRView     like, view;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(h->nz, &scaled));
  PetscCall(PetscMalloc1(offsets, &row_offsets));
  for (PetscCount k = 0; k < h->nz; k++) scaled[k] = scale * values[k];
  PetscCall(ViewCreate(h, wide, PETSC_TRUE, values == h->a ? h->other : h->a, &like)); // other values, which are replaced
  PetscCallCUDA(cudaMemcpyAsync(row_offsets, like.row_offsets, offsets, cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCall(HiSparseGetCSR(A, PETSC_FALSE, PETSC_TRUE, like, h->stream));
  PetscCall(CheckArray(h, like.values, scaled, values_bytes, what, "values alone"));
  for (PetscInt with = 0; with < 2; with++) {
    PetscCall(ViewCreate(h, wide, PETSC_FALSE, h->a, &view));
    PetscCall(HiSparseGetCSR(A, PETSC_TRUE, (PetscBool)with, view, h->stream));
    PetscCall(CheckArray(h, view.row_offsets, row_offsets, offsets, what, "row offsets"));
    PetscCall(CheckArray(h, view.columns, h->j, columns, what, "columns"));
    if (with) PetscCall(CheckArray(h, view.values, scaled, values_bytes, what, "values"));
    PetscCall(DCSRViewFree(&view, h->stream));
  }
  PetscCall(DCSRViewFree(&like, h->stream));
  PetscCall(PetscFree(scaled));
  PetscCall(PetscFree(row_offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies share until one changes; each has a scale factor of its own. */
static PetscErrorCode CheckCopies(HiSparse *A, Host *h, PetscBool wide)
{
  HiSparse copy, third;
  DCSRView other;

  PetscFunctionBeginUser;
  PetscCall(ViewCreate(h, wide, PETSC_TRUE, h->other, &other));
  PetscCall(HiSparseDuplicate(*A, h->stream, &copy));
  PetscCall(HiSparseScale(copy, -2.0, h->stream));
  PetscCall(HiSparseScale(copy, 0.25, h->stream));
  PetscCall(CheckProducts(copy, h, h->a, -0.5, "a scaled copy:"));
  PetscCall(CheckCSR(copy, h, wide, h->a, -0.5, "a scaled copy:"));
  PetscCall(CheckProducts(*A, h, h->a, 1.0, "beside a scaled copy:"));
  PetscCall(HiSparseDuplicate(copy, h->stream, &third));
  PetscCall(HiSparseSetValues(copy, other, h->stream));
  PetscCall(CheckProducts(copy, h, h->other, 1.0, "a copy with new values:"));
  PetscCall(CheckCSR(copy, h, wide, h->other, 1.0, "a copy with new values:"));
  PetscCall(CheckProducts(*A, h, h->a, 1.0, "beside a copy with new values:"));
  PetscCall(CheckCSR(third, h, wide, h->a, -0.5, "a copy of a scaled copy:"));
  PetscCall(HiSparseDestroy(A, h->stream));
  PetscCall(CheckProducts(third, h, h->a, -0.5, "a copy that is left alone:"));
  PetscCall(HiSparseSetValues(third, other, h->stream));
  PetscCall(CheckProducts(third, h, h->other, 1.0, "new values in place:"));
  PetscCall(HiSparseDestroy(&copy, h->stream));
  PetscCall(HiSparseDestroy(&third, h->stream));
  PetscCall(DCSRViewFree(&other, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step of a life, of which an allocation may fail. */
typedef PetscErrorCode StepFn(HiSparse *, DCSRView, DCSRView, Host *);

static PetscErrorCode StepCreate(HiSparse *A, DCSRView view, PETSC_UNUSED DCSRView empty, Host *h)
{
  return HiSparseCreate(view, HISPARSE_DIAGONALS, h->stream, A);
}

static PetscErrorCode StepMult(HiSparse *A, PETSC_UNUSED DCSRView view, PETSC_UNUSED DCSRView empty, Host *h)
{
  return HiSparseMult(*A, h->device_x, NULL, h->device_y, h->stream);
}

static PetscErrorCode StepMultTranspose(HiSparse *A, PETSC_UNUSED DCSRView view, PETSC_UNUSED DCSRView empty, Host *h)
{
  return HiSparseMultTranspose(*A, PETSC_FALSE, h->device_x, NULL, h->device_y, h->stream);
}

static PetscErrorCode StepGetCSR(HiSparse *A, PETSC_UNUSED DCSRView view, DCSRView empty, Host *h)
{
  return HiSparseGetCSR(*A, PETSC_TRUE, PETSC_TRUE, empty, h->stream);
}

static PetscErrorCode StepSetValues(HiSparse *A, DCSRView view, PETSC_UNUSED DCSRView empty, Host *h)
{
  return HiSparseSetValues(*A, view, h->stream);
}

/* Every allocation of a step fails once, until the step succeeds. A step that fails leaves no memory but what later calls use, and a matrix that is whole. */
static PetscErrorCode CheckStep(StepFn *step, HiSparse *A, DCSRView view, DCSRView empty, Host *h, const char what[])
{
  PetscErrorCode ierr  = PETSC_ERR_MEM;
  const HiSparse given = *A;

  PetscFunctionBeginUser;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    size_t before, after, peak;

    PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
    PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = step(A, view, empty, h);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&after, &peak));
    if (ierr == PETSC_SUCCESS) break;
    if (ierr != PETSC_ERR_MEM) PetscCall(Failed(h, what, "another error than the allocation's"));
    if (*A != given) PetscCall(Failed(h, what, "the matrix is another after an error"));
    if (given == NULL && after != before) PetscCall(Failed(h, what, "memory is left after an error"));
    if (given != NULL && n == 1) PetscCall(CheckCSR(*A, h, view.wide, h->a, 1.0, what));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAllocations(DCSRView view, Host *h)
{
  HiSparse A = NULL, copy;
  DCSRView empty;

  PetscFunctionBeginUser;
  PetscCall(ViewCreate(h, view.wide, PETSC_FALSE, h->a, &empty));
  PetscCall(CheckStep(StepCreate, &A, view, empty, h, "creation:"));
  PetscCall(CheckStep(StepMult, &A, view, empty, h, "first product:"));
  PetscCall(CheckStep(StepMultTranspose, &A, view, empty, h, "first product with the transpose:"));
  PetscCall(CheckStep(StepGetCSR, &A, view, empty, h, "back to CSR:"));
  PetscCall(HiSparseDuplicate(A, h->stream, &copy));
  PetscCall(CheckStep(StepSetValues, &copy, view, empty, h, "new values of a copy:"));
  PetscCall(CheckProducts(copy, h, h->a, 1.0, "after failed allocations:"));
  PetscCall(CheckProducts(A, h, h->a, 1.0, "after failed allocations:"));
  PetscCall(HiSparseDestroy(&copy, h->stream));
  PetscCall(HiSparseDestroy(&A, h->stream));
  PetscCall(DCSRViewFree(&empty, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries on diagonals that a slice has too few of, and segments; -1 when a slice may have more diagonals than segments. */
static PetscErrorCode CountOthers(const Host *h, PetscCount *others, PetscCount *segments)
{
  PetscInt *count;

  PetscFunctionBeginUser;
  *others   = 0;
  *segments = 0;
  PetscCall(PetscCalloc1((size_t)h->m + (size_t)h->n, &count)); // by column - row + number of rows
  for (PetscInt first = 0; first < h->m; first += HISPARSE_SLICE_ROWS) {
    const PetscInt last = PetscMin(first + HISPARSE_SLICE_ROWS, h->m), least = (last - first + HISPARSE_MIN_PART - 1) / HISPARSE_MIN_PART;
    PetscInt       diagonals = 0;

    for (PetscInt r = first; r < last; r++)
      for (PetscCount k = h->i[r]; k < h->i[r + 1]; k++) diagonals += count[h->j[k] - r + h->m]++ == 0;
    for (PetscInt r = first; r < last; r++)
      for (PetscCount k = h->i[r]; k < h->i[r + 1]; k++) {
        const PetscInt n = count[h->j[k] - r + h->m];

        count[h->j[k] - r + h->m] = 0;
        if (n >= least) ++*segments;
        else *others += n;
      }
    if (diagonals > 512) *others = -1;
    if (*others < 0) break;
  }
  PetscCall(PetscFree(count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few entries outside of diagonals are segments, and many are not. */
static PetscErrorCode CheckOthers(const HiSparseInfo *info, const Host *h)
{
  PetscCount others, segments;

  PetscFunctionBeginUser;
  PetscCall(CountOthers(h, &others, &segments));
  if (others < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (others <= segments / 16) {
    if (info->num_others != 0 || info->num_segments < segments || info->num_segments > segments + others) PetscCall(Failed(h, "few entries outside of diagonals", "are no segments"));
  } else if (info->num_others != others || info->num_segments != segments) PetscCall(Failed(h, "entries outside of diagonals", "are others than expected"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInfo(HiSparse A, const Host *h)
{
  HiSparseInfo info, after;

  PetscFunctionBeginUser;
  PetscCall(HiSparseGetInfo(A, &info));
  if (info.precision != HISPARSE_VALUES_SCALAR) PetscCall(Failed(h, "precision", "after creation"));
  if (info.format != HISPARSE_DIAGONALS || info.num_segments <= 0 || info.num_others < 0 || info.num_others > h->nz / 2 || info.transpose_bytes != 0) PetscCall(Failed(h, "facts", "after creation"));
  PetscCall(CheckOthers(&info, h));
  if (info.bytes < (size_t)h->nz * sizeof(PetscScalar)) PetscCall(Failed(h, "bytes", "after creation"));
  PetscCall(HiSparsePrepare(A, PETSC_TRUE, h->stream));
  PetscCall(HiSparseGetInfo(A, &after));
  if (after.transpose_bytes == 0 || after.bytes != info.bytes + after.transpose_bytes) PetscCall(Failed(h, "bytes", "with what the transpose needs"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded values beside the matrix: half of the bytes of the values on diagonals, and the same products but for rounding. They are for products alone. */
static PetscErrorCode CheckRounded(HiSparse A, DCSRView view, Host *h)
{
  HiSparse       single = NULL;
  HiSparseInfo   info[2];
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  h->single = PETSC_TRUE;
  PetscCall(HiSparseRound(A, HISPARSE_VALUES_SINGLE, h->stream, &single));
  PetscCall(HiSparseGetInfo(A, &info[0]));
  PetscCall(HiSparseGetInfo(single, &info[1]));
  if (info[1].precision != HISPARSE_VALUES_SINGLE) PetscCall(Failed(h, "precision", "of rounded values"));
  if (info[0].bytes - info[1].bytes != (size_t)(h->nz - info[0].num_others) * (PetscDefined(USE_REAL_SINGLE) ? 0 : sizeof(PetscScalar) / 2)) PetscCall(Failed(h, "bytes", "of the two precisions"));
  PetscCall(CheckProducts(single, h, h->a, 1.0, "rounded:"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = HiSparseSetValues(single, view, h->stream);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_ERR_ARG_WRONGSTATE) PetscCall(Failed(h, "new values", "for rounded ones"));
  PetscCall(HiSparseDestroy(&single, h->stream));
  h->single = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckShape(const Shape *shape, cudaStream_t stream)
{
  Host host;

  PetscFunctionBeginUser;
  PetscCall(HostCreate(shape, stream, &host));
  host.single = PETSC_FALSE;
  for (PetscInt wide = 0; wide < 2; wide++) {
    DCSRView view;
    HiSparse A;

    if (small && wide == shape->m % 2) continue; // products and conversions are alike with the other width
    PetscCall(ViewCreate(&host, (PetscBool)wide, PETSC_TRUE, host.a, &view));
    PetscCall(HiSparseCreate(view, HISPARSE_DIAGONALS, stream, &A));
    if ((A != NULL) != (shape->outcome == FITS)) PetscCall(Failed(&host, "creation:", A != NULL ? "diagonals fit" : "diagonals do not fit"));
    if (A != NULL) {
      PetscCall(CheckValid(A, &host, "creation:"));
      if (!wide || small) PetscCall(CheckRounded(A, view, &host));
      PetscCall(HiSparseDestroy(&A, stream));
      PetscCall(HiSparseCreate(view, HISPARSE_DIAGONALS, stream, &A));
      PetscCall(CheckInfo(A, &host));
      if (!wide || small) PetscCall(CheckProducts(A, &host, host.a, 1.0, "a new one:"));
      PetscCall(CheckCSR(A, &host, (PetscBool)wide, host.a, 1.0, "back to CSR:"));
      PetscCall(CheckCopies(&A, &host, (PetscBool)wide));
      if (!wide && !small) PetscCall(CheckAllocations(view, &host));
    }
    PetscCall(DCSRViewFree(&view, stream));
  }
  PetscCall(HostDestroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;
  size_t       now, peak;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(Shapes); i++)
      if (!small || Shapes[i].small) PetscCall(CheckShape(&Shapes[i], stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
    if (now != 0) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%zu bytes of device memory are left\n", now));
      Failures++;
    }
  }
  PetscCall(PetscFinalize());
  return Failures ? 1 : 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
