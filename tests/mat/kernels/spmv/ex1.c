static char help[] =
  "Forward product kernels: every configuration, 32- and 64-bit offsets, on shapes that have corners, against a loop on the host; the same with every epilogue. Values in single precision give the bits of rounded ones.\n\n";

#include "../../../lib/sweeps.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/entries.h>

static PetscInt Failures = 0;

/* CSR on the host. */
typedef struct {
  const char  *name;
  PetscInt     m, n;
  PetscInt    *i, *j;
  PetscScalar *a;
} Host;

/* Row sizes of the shapes; columns are spread evenly from a start that depends on the row. */
typedef enum {
  SHAPE_ONE,
  SHAPE_NO_ROWS,
  SHAPE_NO_COLUMNS,
  SHAPE_NO_NONZEROS,
  SHAPE_ONE_COLUMN,
  SHAPE_TALL,
  SHAPE_WIDE,
  SHAPE_TINY_ROWS,
  SHAPE_REGULAR27,
  SHAPE_REGULAR81,
  SHAPE_LONG_ROW,
  SHAPE_LONG_ROWS,
  SHAPE_BORDERS,
  SHAPE_WARP_BORDERS,
  SHAPE_POWER_LAW,
  SHAPE_HYPERSPARSE,
  SHAPE_EMPTY_TAIL,
  SHAPE_EMPTY_HEAD,
  SHAPE_WORDS,
  SHAPE_GAPS,
  NUM_SHAPES
} Shape;

static const struct {
  const char *name;
  PetscInt    m, n;
} Shapes[NUM_SHAPES] = {{"one entry", 1, 1},
                        {"no rows", 0, 5},
                        {"no columns", 5, 0},
                        {"no nonzeros", 100, 100},
                        {"one column", 5000, 1},
                        {"tall", 50000, 7},
                        {"wide", 7, 100000},
                        {"rows of 0 to 3", 3000, 3000},
                        {"rows of 27", 4000, 4000},
                        {"rows of 81", 1000, 3000},
                        {"row of 1 M", 2001, 1100000},
                        {"long rows together", 40, 20000},
                        {"block borders", 120, 4000},
                        {"warp borders", 3000, 4000},
                        {"power law", 20000, 30000},
                        {"hypersparse", 300000, 3000},
                        {"empty tail", 40000, 2000},
                        {"empty head", 40000, 2000},
                        {"rows of whole words", 400, 9000},
                        {"runs of empty rows", 9000, 7000}};

static PetscInt RowSize(Shape shape, PetscInt r)
{
  static const PetscInt warps[]   = {128, 127, 1, 0, 256, 255, 257, 8, 7, 9, 4, 0, 0, 32, 64, 31, 33, 512, 3, 1};
  static const PetscInt words[]   = {32, 64, 32, 128, 1920, 2048, 4096, 2048, 96, 32, 512, 1280, 8192, 2560, 1536};
  static const PetscInt gaps[]    = {1, 40, 300, 3, 128, 2100, 5, 0, 31, 700, 2};
  static const PetscInt borders[] = {1024, 2048, 1280, 1281, 768, 2304, 2305, 1, 0, 255, 256, 257, 3072, 511, 513, 0};

  switch (shape) {
  case SHAPE_ONE:
    return 1;
  case SHAPE_ONE_COLUMN:
    return r % 2;
  case SHAPE_TALL:
  case SHAPE_TINY_ROWS:
    return (r * 7 + r / 5) % 4;
  case SHAPE_WIDE:
    return 20000 + r;
  case SHAPE_REGULAR27:
    return 27;
  case SHAPE_REGULAR81:
    return 81;
  case SHAPE_LONG_ROW:
    return r == 1000 ? 1000000 : 3;
  case SHAPE_LONG_ROWS:
    return r % 4 == 3 ? 2 : 5000 + 100 * r;
  case SHAPE_BORDERS:
    return borders[r % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(borders)];
  case SHAPE_WARP_BORDERS:
    return warps[(r + r / 97) % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(warps)];
  case SHAPE_POWER_LAW:
    return 30000 / (1 + (r * 7919) % 20000);
  case SHAPE_HYPERSPARSE:
    return r % 3000 == 17 ? 2 : 0;
  case SHAPE_EMPTY_TAIL:
    return r < 1024 ? 10 : 0;
  case SHAPE_EMPTY_HEAD:
    return r >= 39000 ? 5 : 0;
  case SHAPE_WORDS:
    return words[r % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(words)];
  case SHAPE_GAPS: /* gaps of 1 to 40 rows, also at both ends */
    return r > 50 && r < 8800 && (r / 40) % 2 == 0 && r % 40 >= r / 40 % 37 ? gaps[r % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(gaps)] : 0;
  default:
    return 0;
  }
}

/* Numbers in (-1, 1), the same everywhere. */
static PetscScalar Value(PetscCount k)
{
  return (PetscScalar)(PetscReal)((double)((k * 7919 + 12345) % 20011) / 10006.0 - 1.0);
}

static PetscErrorCode HostCreate(Shape shape, Host *h)
{
  PetscFunctionBeginUser;
  h->name = Shapes[shape].name;
  h->m    = Shapes[shape].m;
  h->n    = Shapes[shape].n;
  PetscCall(PetscMalloc1(h->m + 1, &h->i));
  h->i[0] = 0;
  for (PetscInt r = 0; r < h->m; r++) h->i[r + 1] = h->i[r] + RowSize(shape, r);
  PetscCall(PetscMalloc2(h->i[h->m], &h->j, h->i[h->m], &h->a));
  for (PetscInt r = 0; r < h->m; r++) {
    const PetscInt size = h->i[r + 1] - h->i[r], step = size ? h->n / size : 1, start = size ? r % (h->n - step * (size - 1)) : 0;

    for (PetscInt k = 0; k < size; k++) {
      h->j[h->i[r] + k] = start + k * step;
      h->a[h->i[r] + k] = Value(h->i[r] + k);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may be wrong with blocks. */
typedef enum {
  FLAW_NONE,
  FLAW_HOLE,    /* a row lacks an entry, and another has one too many, so that their number is right */
  FLAW_SHIFTED, /* one begins in a column that none begins in */
  FLAW_CROOKED, /* two rows of one have other columns */
  FLAW_LONG,    /* a row of blocks is much longer than the others */
  NUM_FLAWS
} Flaw;
static const char *const FlawNames[NUM_FLAWS] = {"full blocks", "blocks with a hole", "a shifted block", "a crooked block", "a long row of blocks"};

/* Blocks in a row of them; the last row has none. */
static PetscInt BlockRowSize(Flaw flaw, PetscInt row, PetscInt num_rows)
{
  if (flaw == FLAW_LONG && row == 20) return 3000;
  return row == num_rows - 1 ? 0 : row == 33 ? 50 : 1 + (row * 7) % 19;
}

/* num_rows rows of blocks of br rows and bc columns. */
static PetscErrorCode HostCreateBlocks(Flaw flaw, PetscInt br, PetscInt bc, PetscInt num_rows, Host *h)
{
  PetscInt num_columns = 3200, row = 0;

  PetscFunctionBeginUser;
  h->name = FlawNames[flaw];
  h->m    = num_rows * br;
  h->n    = num_columns * bc;
  PetscCall(PetscMalloc1(h->m + 1, &h->i));
  h->i[0] = 0;
  for (PetscInt r = 0; r < h->m; r++) h->i[r + 1] = h->i[r] + bc * BlockRowSize(flaw, r / br, num_rows);
  PetscCall(PetscMalloc2(h->i[h->m], &h->j, h->i[h->m], &h->a));
  for (PetscInt r = 0; r < h->m; r++) {
    const PetscInt size = (h->i[r + 1] - h->i[r]) / bc, step = size ? num_columns / size : 1, start = size ? (r / br) % (num_columns - step * (size - 1)) : 0;

    for (PetscInt k = 0; k < size * bc; k++) {
      h->j[h->i[r] + k] = (start + k / bc * step) * bc + k % bc;
      h->a[h->i[r] + k] = Value(h->i[r] + k);
    }
  }
  row = 40 * br;
  if (flaw == FLAW_SHIFTED)
    for (PetscInt r = row; r < row + br; r++)
      for (PetscInt c = 1; c <= bc; c++) h->j[h->i[r + 1] - c]++; // its last block, which lies before the last column
  if (flaw == FLAW_CROOKED) h->j[h->i[row + 2] - 1]++;
  if (flaw == FLAW_HOLE) h->i[row + 1]--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostDestroy(Host *h)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(h->i));
  PetscCall(PetscFree2(h->j, h->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDevice(size_t bytes, const void *host, cudaStream_t stream, void **device)
{
  char *p;

  PetscFunctionBeginUser;
  PetscCall(PetscSparseCUDAMalloc(bytes, "test data", stream, &p));
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(p, host, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *device = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets of either width. */
static PetscErrorCode OffsetsToDevice(PetscCount n, const PetscCount offsets[], PetscBool wide, cudaStream_t stream, void **device)
{
  int64_t *w;
  int32_t *s;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &w, n, &s));
  for (PetscCount k = 0; k < n; k++) {
    w[k] = (int64_t)offsets[k];
    s[k] = (int32_t)offsets[k];
  }
  if (wide) PetscCall(ToDevice(sizeof(*w) * (size_t)n, w, stream, device));
  else PetscCall(ToDevice(sizeof(*s) * (size_t)n, s, stream, device));
  PetscCall(PetscFree2(w, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's entries. */
static PetscErrorCode PoolToDevice(const Host *h, cudaStream_t stream, DCSRView *view)
{
  const size_t n = (size_t)h->i[h->m];
  int32_t     *columns;
  void        *p;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &columns));
  for (size_t k = 0; k < n; k++) columns[k] = (int32_t)h->j[k];
  PetscCall(ToDevice(sizeof(*h->a) * n, h->a, stream, &p));
  view->values = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*columns) * n, columns, stream, &p));
  view->columns = (int32_t *)p;
  PetscCall(PetscFree(columns));
  view->num_rows     = h->m;
  view->num_columns  = h->n;
  view->num_nonzeros = h->i[h->m];
  view->capacity = view->used = h->i[h->m];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompactCreate(const Host *h, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  PetscCount *offsets;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(view, sizeof(*view)));
  view->wide = wide;
  PetscCall(PoolToDevice(h, stream, view));
  PetscCall(PetscMalloc1(h->m + 1, &offsets));
  for (PetscInt r = 0; r <= h->m; r++) offsets[r] = h->i[r];
  PetscCall(OffsetsToDevice((PetscCount)h->m + 1, offsets, wide, stream, &view->row_offsets));
  PetscCall(PetscFree(offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on both sides, and what the product must be with and without z. */
typedef struct {
  const Host  *host;
  cudaStream_t stream;
  PetscScalar *nans, *z, *y, *again; /* host */
  PetscScalar *x, *d, *b, *q;        /* host: of epilogues, d, b and q [m] */
  PetscScalar *device_d, *device_b, *device_q, *device_nans;
  PetscScalar *product;   /* A x on the host */
  PetscReal   *tolerance; /* of product + z */
  PetscScalar *device_x, *device_y, *device_z;
  const void  *single; /* values in single precision, which products read then; NULL: those of the view */
} Vectors;

static PetscErrorCode VectorsCreate(const Host *h, cudaStream_t stream, Vectors *v)
{
  PetscScalar *x;
  void        *p;

  PetscFunctionBeginUser;
  v->host   = h;
  v->stream = stream;
  v->single = NULL;
  PetscCall(PetscMalloc6(h->m, &v->nans, h->m, &v->z, h->m, &v->y, h->m, &v->again, h->m, &v->product, h->m, &v->tolerance));
  PetscCall(PetscMalloc4(h->n, &v->x, h->m, &v->d, h->m, &v->b, h->m, &v->q));
  x = v->x;
  for (PetscInt c = 0; c < h->n; c++) x[c] = Value(3 * (PetscCount)c + 1);
  for (PetscInt r = 0; r < h->m; r++) {
    PetscScalar sum   = 0.0;
    PetscReal   bound = 0.0;

    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      sum += h->a[k] * x[h->j[k]];
      bound += PetscAbsScalar(h->a[k] * x[h->j[k]]);
    }
    v->nans[r]      = (PetscScalar)NAN;
    v->z[r]         = Value(5 * (PetscCount)r + 2);
    v->d[r]         = Value(11 * (PetscCount)r + 3);
    v->b[r]         = Value(13 * (PetscCount)r + 5);
    v->q[r]         = Value(17 * (PetscCount)r + 7);
    v->product[r]   = sum;
    v->tolerance[r] = PETSC_MACHINE_EPSILON * (bound + 1) * (PetscReal)(32 + (h->i[r + 1] - h->i[r]) / 16);
  }
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->n, x, stream, &p));
  v->device_x = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->z, stream, &p));
  v->device_z = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->nans, stream, &p));
  v->device_y = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->d, stream, &p));
  v->device_d = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->b, stream, &p));
  v->device_b = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->q, stream, &p));
  v->device_q = (PetscScalar *)p;
  PetscCall(ToDevice(sizeof(*x) * (size_t)h->m, v->nans, stream, &p));
  v->device_nans = (PetscScalar *)p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorsDestroy(Vectors *v)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree6(v->nans, v->z, v->y, v->again, v->product, v->tolerance));
  PetscCall(PetscFree4(v->x, v->d, v->b, v->q));
  PetscCall(PetscSparseCUDAFree(&v->device_d, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_b, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_q, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_nans, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_x, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_y, v->stream));
  PetscCall(PetscSparseCUDAFree(&v->device_z, v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  Z_NONE,
  Z_OTHER,
  Z_SAME,
  NUM_Z
} WhichZ;

static const char *const ZNames[NUM_Z] = {"no z", "another z", "z == y"};

static PetscErrorCode Apply(DCSRSpMVPlan plan, DCSRView view, Vectors *v, WhichZ which, PetscScalar y[])
{
  const size_t       bytes = sizeof(*y) * (size_t)v->host->m;
  const PetscScalar *z     = which == Z_NONE ? NULL : which == Z_OTHER ? v->device_z : v->device_y;

  PetscFunctionBeginUser;
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(v->device_y, which == Z_SAME ? v->z : v->nans, bytes, cudaMemcpyHostToDevice, v->stream));
  if (v->single) PetscCall(DCSRSpMVApplySingle(plan, view, v->single, v->device_x, z, v->device_y, v->stream));
  else PetscCall(DCSRSpMVApply(plan, view, v->device_x, z, v->device_y, v->stream));
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(y, v->device_y, bytes, cudaMemcpyDeviceToHost, v->stream));
  PetscCallCUDA(cudaStreamSynchronize(v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckPlan(DCSRSpMVPlan plan, DCSRView view, Vectors *v)
{
  const char *info;

  PetscFunctionBeginUser;
  PetscCall(DCSRSpMVPlanGetInfo(plan, NULL, NULL, NULL, &info));
  for (WhichZ which = Z_NONE; which < NUM_Z; which = (WhichZ)(which + 1)) {
    PetscBool same;
    PetscInt  wrong = 0, first = 0;

    PetscCall(Apply(plan, view, v, which, v->y));
    PetscCall(Apply(plan, view, v, which, v->again));
    PetscCall(PetscMemcmp(v->y, v->again, sizeof(*v->y) * (size_t)v->host->m, &same));
    for (PetscInt r = v->host->m - 1; r >= 0; r--) {
      const PetscScalar expected = v->product[r] + (which == Z_NONE ? (PetscScalar)0.0 : v->z[r]);

      if (!(PetscAbsScalar(v->y[r] - expected) <= v->tolerance[r])) {
        wrong++;
        first = r;
      }
    }
    if (wrong || !same) Failures++;
    if (wrong)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %d-bit offsets, %s: %" PetscInt_FMT " wrong rows, the first is %" PetscInt_FMT ": %g instead of %g\n", v->host->name, info, view.wide ? 64 : 32,
                            ZNames[which], wrong, first, (double)PetscRealPart(v->y[first]), (double)PetscRealPart(v->product[first] + (which == Z_NONE ? (PetscScalar)0.0 : v->z[first]))));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %d-bit offsets, %s: not the same again\n", v->host->name, info, view.wide ? 64 : 32, ZNames[which]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a vector of an epilogue comes from. What is not to be read is not a number. */
typedef enum {
  FROM_NOWHERE,
  FROM_VECTOR,
  FROM_Y,
  NUM_FROM
} From;

typedef struct {
  PetscBool d, beta;
  From      b, gamma;
} Form;

/* Of the product alone: which is A x for the first of the two ways to have it. */
static PetscErrorCode ApplyForm(DCSRSpMVPlan plan, DCSRView view, Vectors *v, const Form *f, const PetscScalar product[], PetscScalar y[], PetscBool *done)
{
  const size_t     bytes = sizeof(*y) * (size_t)v->host->m;
  DCSRSpMVEpilogue e;

  PetscFunctionBeginUser;
  e.alpha = 0.75;
  e.d     = f->d ? v->device_d : NULL;
  e.b     = f->b == FROM_NOWHERE ? NULL : f->b == FROM_Y ? v->device_y : v->device_b;
  e.beta  = f->beta ? (PetscReal)-0.5 : (PetscReal)0.0;
  e.gamma = f->gamma == FROM_NOWHERE ? (PetscReal)0.0 : (PetscReal)1.25;
  e.q     = f->gamma == FROM_NOWHERE ? v->device_nans : f->gamma == FROM_Y ? v->device_y : v->device_q;
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(v->device_y, f->b == FROM_VECTOR && f->gamma != FROM_Y ? v->nans : v->z, bytes, cudaMemcpyHostToDevice, v->stream));
  *done = PETSC_TRUE;
  if (plan != NULL && v->single) PetscCall(DCSRSpMVApplyEpilogueSingle(plan, view, v->single, v->device_x, &e, v->device_y, v->stream, done));
  else if (plan != NULL) PetscCall(DCSRSpMVApplyEpilogue(plan, view, v->device_x, &e, v->device_y, v->stream, done));
  else PetscCall(DCSRSpMVEpilogueApply(v->host->m, product, v->device_x, &e, v->device_y, v->stream));
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(y, v->device_y, bytes, cudaMemcpyDeviceToHost, v->stream));
  PetscCallCUDA(cudaStreamSynchronize(v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar ExpectForm(const Vectors *v, const Form *f, PetscScalar product, PetscInt r)
{
  const PetscScalar d = f->d ? v->d[r] : (PetscScalar)1.0, b = f->b == FROM_VECTOR ? v->b[r] : v->z[r];

  if (f->b == FROM_NOWHERE) return v->z[r] - (PetscReal)0.75 * d * product;
  return (PetscReal)0.75 * d * (b - product) + (f->beta ? (PetscReal)-0.5 * v->x[r] : (PetscScalar)0.0) +
         (f->gamma == FROM_NOWHERE ? (PetscScalar)0.0 : (PetscReal)1.25 * (f->gamma == FROM_Y ? v->z[r] : v->q[r]));
}

static PetscErrorCode CheckForm(DCSRSpMVPlan plan, DCSRView view, Vectors *v, const Form *f, const PetscScalar device_product[], PetscBool product, const char info[])
{
  PetscBool done, same;
  PetscInt  wrong = 0, first = 0;

  PetscFunctionBeginUser;
  PetscCall(ApplyForm(plan, view, v, f, device_product, v->y, &done));
  if (!done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ApplyForm(plan, view, v, f, device_product, v->again, &done));
  PetscCall(PetscMemcmp(v->y, v->again, sizeof(*v->y) * (size_t)v->host->m, &same));
  for (PetscInt r = v->host->m - 1; r >= 0; r--) {
    if (!(PetscAbsScalar(v->y[r] - ExpectForm(v, f, product ? v->product[r] : (PetscScalar)0.0, r)) <= 2 * v->tolerance[r])) {
      wrong++;
      first = r;
    }
  }
  if (wrong || !same) Failures++;
  if (wrong)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %d-bit offsets, epilogue with d %d, b %d, beta %d, gamma %d: %" PetscInt_FMT " wrong rows, the first is %" PetscInt_FMT ": %g instead of %g\n",
                          v->host->name, info, view.wide ? 64 : 32, f->d, f->b, f->beta, f->gamma, wrong, first, (double)PetscRealPart(v->y[first]),
                          (double)PetscRealPart(ExpectForm(v, f, product ? v->product[first] : (PetscScalar)0.0, first))));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, epilogue with d %d, b %d, beta %d, gamma %d: not the same again\n", v->host->name, info, f->d, f->b, f->beta, f->gamma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All forms, or a few; with a plan, or of a product that is zero, or an array, which may be y. */
static PetscErrorCode CheckForms(DCSRSpMVPlan plan, DCSRView view, Vectors *v, PetscBool all, const PetscScalar device_product[], const char info[])
{
  const PetscBool square = (PetscBool)(v->host->m <= v->host->n);

  PetscFunctionBeginUser;
  for (int k = 0; k < 4 * NUM_FROM * NUM_FROM; k++) {
    const Form f = {(PetscBool)(k % 2), (PetscBool)(k / 2 % 2), (From)(k / 4 % NUM_FROM), (From)(k / 4 / NUM_FROM)};

    if ((f.b == FROM_NOWHERE && (f.beta || f.gamma != FROM_NOWHERE)) || (f.beta && !square) || (!all && k % 5 != 2 && k != 1)) continue;
    PetscCall(CheckForm(plan, view, v, &f, device_product, (PetscBool)(plan != NULL || device_product != NULL), info));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which plans have a kernel with an epilogue: those of 32-bit offsets that the rule chooses, as lists of blocks have, and those without nonzeros. */
static PetscErrorCode CheckEpilogues(DCSRSpMVPlan plan, DCSRView view, Vectors *v, PetscBool chosen)
{
  const Form   plain = {PETSC_TRUE, PETSC_FALSE, FROM_VECTOR, FROM_NOWHERE};
  DCSRSpMVKind kind;
  const char  *info;
  PetscBool    done;

  PetscFunctionBeginUser;
  PetscCall(DCSRSpMVPlanGetInfo(plan, &kind, NULL, NULL, &info));
  PetscCall(ApplyForm(plan, view, v, &plain, NULL, v->y, &done));
  if (chosen && done != (!view.wide || kind == DCSR_SPMV_BLOCKS || view.num_nonzeros == 0 || v->host->m == 0)) {
    Failures++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %d-bit offsets: %s kernel with an epilogue\n", v->host->name, info, view.wide ? 64 : 32, done ? "a" : "no"));
  }
  PetscCall(CheckForms(plan, view, v, chosen, NULL, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Epilogues of products that are there, or zero. */
static PetscErrorCode CheckEpiloguesAlone(Vectors *v)
{
  PetscScalar *product;
  DCSRView     none = {0};
  void        *p;

  PetscFunctionBeginUser;
  PetscCall(ToDevice(sizeof(*product) * (size_t)v->host->m, v->product, v->stream, &p));
  product = (PetscScalar *)p;
  PetscCall(CheckForms(NULL, none, v, PETSC_TRUE, product, "alone"));
  PetscCall(CheckForms(NULL, none, v, PETSC_TRUE, NULL, "of zero"));
  PetscCall(PetscSparseCUDAFree(&product, v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with its values in single precision, and rounded by the host. */
typedef struct {
  DCSRView rounded; /* only the values are its own */
  DCSRView without; /* the same, but the values are not there */
  void    *values;
} Single;

static PetscErrorCode SingleCreate(DCSRView view, const Vectors *v, Single *single)
{
  const PetscCount n = view.num_nonzeros;
  PetscScalar     *rounded;
  void            *p;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &rounded));
  for (PetscCount k = 0; k < n; k++) rounded[k] = (PetscReal)(float)PetscRealPart(v->host->a[k]);
  PetscCall(ToDevice((size_t)n * sizeof(*rounded), rounded, v->stream, &p));
  PetscCall(PetscFree(rounded));
  single->rounded        = view;
  single->rounded.values = (PetscScalar *)p;
  single->without        = view;
  single->without.values = NULL;
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)n * DCSR_SINGLE_BYTES, "values in single precision", v->stream, &single->values));
  PetscCall(DCSRRoundValues(n, view.values, single->values, v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SingleDestroy(Single *single, cudaStream_t stream)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSparseCUDAFree(&single->rounded.values, stream));
  PetscCall(PetscSparseCUDAFree(&single->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBits(const Vectors *v, const char what[], const char info[])
{
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscMemcmp(v->y, v->again, sizeof(*v->y) * (size_t)v->host->m, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  Failures++;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %s: values in single precision do not give the bits of rounded ones\n", v->host->name, info, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values in single precision against the rounded ones, with every z and with a few epilogues. Which plans have kernels for them: as with epilogues. */
static PetscErrorCode CheckSingle(DCSRSpMVPlan plan, const Single *single, Vectors *v, PetscBool chosen)
{
  static const Form forms[] = {{PETSC_TRUE, PETSC_FALSE, FROM_VECTOR, FROM_NOWHERE},
                               {PETSC_FALSE, PETSC_FALSE, FROM_NOWHERE, FROM_NOWHERE},
                               {PETSC_TRUE, PETSC_FALSE, FROM_Y, FROM_VECTOR},
                               {PETSC_FALSE, PETSC_FALSE, FROM_VECTOR, FROM_Y}};
  const DCSRView    view    = single->rounded;
  const PetscBool   has     = DCSRSpMVPlanHasSingle(plan);
  DCSRSpMVKind      kind;
  const char       *info;
  PetscBool         done;

  PetscFunctionBeginUser;
  PetscCall(DCSRSpMVPlanGetInfo(plan, &kind, NULL, NULL, &info));
  if (chosen && has != (!PetscDefined(USE_REAL_SINGLE) && (!view.wide || kind == DCSR_SPMV_BLOCKS) && view.num_nonzeros > 0 && v->host->m > 0)) {
    Failures++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %d-bit offsets: %s kernel for values in single precision\n", v->host->name, info, view.wide ? 64 : 32, has ? "a" : "no"));
  }
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  for (WhichZ which = Z_NONE; which < NUM_Z; which = (WhichZ)(which + 1)) {
    PetscCall(Apply(plan, view, v, which, v->y));
    v->single = single->values;
    PetscCall(Apply(plan, single->without, v, which, v->again));
    v->single = NULL;
    PetscCall(CheckBits(v, ZNames[which], info));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(forms); k++) {
    PetscCall(ApplyForm(plan, view, v, &forms[k], NULL, v->y, &done));
    v->single = single->values;
    if (done) PetscCall(ApplyForm(plan, single->without, v, &forms[k], NULL, v->again, &done));
    v->single = NULL;
    if (done) PetscCall(CheckBits(v, "epilogue", info));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rule's choice of every kind, then every configuration there is. */
static PetscErrorCode CheckView(DCSRView view, Vectors *v)
{
  DCSRSpMVPlan plan;
  Single       single = {0};
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(SingleCreate(view, v, &single));
  single.rounded.wide = view.wide;
  for (DCSRSpMVKind kind = DCSR_SPMV_AUTO; kind <= DCSR_SPMV_VECTOR; kind = (DCSRSpMVKind)(kind + 1)) {
    PetscCall(DCSRSpMVPlanCreate(view, kind, v->stream, &plan));
    PetscCall(CheckPlan(plan, view, v));
    PetscCall(CheckEpilogues(plan, view, v, PETSC_TRUE));
    PetscCall(CheckSingle(plan, &single, v, PETSC_TRUE));
    PetscCall(DCSRSpMVPlanDestroy(&plan, v->stream));
  }
  PetscCall(SpMVConfigGetCount(&n));
  for (PetscInt i = 0; i < n; i++) {
    SpMVConfig config;

    PetscCall(SpMVConfigGet(i, &config));
    PetscCall(DCSRSpMVPlanCreateWithConfig(view, &config, v->stream, &plan));
    PetscCall(CheckPlan(plan, view, v));
    PetscCall(CheckEpilogues(plan, view, v, PETSC_FALSE));
    PetscCall(CheckSingle(plan, &single, v, PETSC_FALSE));
    PetscCall(DCSRSpMVPlanDestroy(&plan, v->stream));
  }
  PetscCall(SingleDestroy(&single, v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernel of blocks, where there is nothing but full ones and it exists. */
static PetscErrorCode CheckBlocks(Flaw flaw, PetscInt br, PetscInt bc, cudaStream_t stream)
{
  const PetscBool expected = (PetscBool)(flaw == FLAW_NONE && br <= 6);
  Host            host;
  Vectors         vectors;

  PetscFunctionBeginUser;
  PetscCall(HostCreateBlocks(flaw, br, bc, 300, &host));
  PetscCall(VectorsCreate(&host, stream, &vectors));
  for (PetscInt wide = 0; wide < 2; wide++) {
    DCSRView     view;
    DCSRSpMVPlan plan;
    DCSRSpMVKind kind;
    Single       single = {0};

    PetscCall(CompactCreate(&host, (PetscBool)wide, stream, &view));
    view.row_block    = br;
    view.column_block = bc;
    PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, stream, &plan));
    PetscCall(DCSRSpMVPlanGetInfo(plan, &kind, NULL, NULL, NULL));
    if ((kind == DCSR_SPMV_BLOCKS) != expected) {
      Failures++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " x %" PetscInt_FMT ": the plan is %s\n", host.name, br, bc, DCSRSpMVKinds[kind]));
    }
    if (expected) {
      PetscCall(SingleCreate(view, &vectors, &single));
      single.rounded.wide = view.wide;
      PetscCall(CheckPlan(plan, view, &vectors));
      PetscCall(CheckEpilogues(plan, view, &vectors, PETSC_TRUE));
      PetscCall(CheckSingle(plan, &single, &vectors, PETSC_TRUE));
      PetscCall(SingleDestroy(&single, stream));
    }
    PetscCall(DCSRSpMVPlanDestroy(&plan, stream));
    PetscCall(DCSRViewFree(&view, stream));
  }
  PetscCall(VectorsDestroy(&vectors));
  PetscCall(HostDestroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckShape(Shape shape, cudaStream_t stream)
{
  Host    host;
  Vectors vectors;

  PetscFunctionBeginUser;
  PetscCall(HostCreate(shape, &host));
  PetscCall(VectorsCreate(&host, stream, &vectors));
  PetscCall(CheckEpiloguesAlone(&vectors));
  for (PetscInt wide = 0; wide < 2; wide++) {
    DCSRView view;

    PetscCall(CompactCreate(&host, (PetscBool)wide, stream, &view));
    PetscCall(CheckView(view, &vectors));
    PetscCall(DCSRViewFree(&view, stream));
  }
  PetscCall(VectorsDestroy(&vectors));
  PetscCall(HostDestroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the rule chooses for facts on both sides of its borders. Every choice must be a kernel that exists; a matrix of each would take too long. */
static PetscErrorCode CheckRule(void)
{
  static const PetscCount nonzeros[]  = {1, 199999, 200000, 200001, 999999, 1000000, 1000001, 1999999, 2000000, 2000001, 5999999, 6000000, 6000001, 500000000};
  static const PetscCount means[]     = {1, 8, 9, 12, 13, 20, 21, 28, 29, 40, 41, 64, 65, 96, 97, 200, 201, 5000};
  static const PetscCount largest[]   = {48, 49, 128, 129, 384, 385, 1024, 1025};
  static const PetscReal  skews[]     = {1.0, 1.25, 1.3, 1.5, 1.6, 2.0, 8.0, 9.0, 16.0, 64.0, 65.0, 1000.0};
  const PetscInt          num_largest = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(largest), num_skews = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(skews);
  int32_t                 offsets = 0; // only compared with NULL

  PetscFunctionBeginUser;
  for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(nonzeros); n++) {
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(means); m++) {
      for (PetscInt k = 0; k < num_largest + num_skews; k++) {
        for (DCSRSpMVKind kind = DCSR_SPMV_AUTO; kind <= DCSR_SPMV_VECTOR; kind = (DCSRSpMVKind)(kind + 1)) {
          const PetscCount max   = PetscMax(means[m], k < num_largest ? largest[k] : (PetscCount)(skews[k - num_largest] * (PetscReal)means[m]));
          const DCSRFacts  facts = {.num_nonempty_rows = PetscMax(nonzeros[n] / means[m], 1), .max_row_size = PetscMin(max, nonzeros[n])};

          const DCSRView view  = {.num_nonzeros = nonzeros[n], .row_offsets = &offsets};
          PetscBool      found = PETSC_FALSE;
          PetscInt       num;
          SpMVConfig     chosen = {0}, c;

          PetscCall(SpMVRuleApply(view, &facts, kind, &chosen));
          PetscCall(SpMVConfigGetCount(&num));
          for (PetscInt i = 0; i < num && !found; i++) {
            PetscCall(SpMVConfigGet(i, &c));
            found = SpMVConfigSame(&c, &chosen);
          }
          if (found && (kind == DCSR_SPMV_AUTO || kind == chosen.kind)) continue;
          Failures++;
          PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s asked for, %" PetscCount_FMT " nonzeros, %" PetscCount_FMT " a row, largest %" PetscCount_FMT ": the rule names a %s kernel that %s\n",
                                DCSRSpMVKinds[kind], nonzeros[n], means[m], facts.max_row_size, DCSRSpMVKinds[chosen.kind], found ? "was not asked for" : "does not exist"));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt block_sizes[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {2, 3}, {3, 2}, {3, 6}, {6, 3}, {7, 7}};
  PetscBool             usable;
  cudaStream_t          stream;
  size_t                now;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(CheckRule());
    for (Shape shape = SHAPE_ONE; shape < NUM_SHAPES; shape = (Shape)(shape + 1)) PetscCall(CheckShape(shape, stream));
    for (Flaw flaw = FLAW_NONE; flaw < NUM_FLAWS; flaw = (Flaw)(flaw + 1))
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(block_sizes); k++) PetscCall(CheckBlocks(flaw, block_sizes[k][0], block_sizes[k][1], stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&now, NULL));
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
    timeoutfactor: 2
    output_file: output/empty.out

TEST*/
