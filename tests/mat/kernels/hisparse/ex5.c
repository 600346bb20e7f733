static char help[] = "Batches of entries that join diagonals and windows, and copies of values, against a matrix on the host.\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"

/* A matrix on the host, dense. */
typedef struct {
  PetscInt     m, n;
  PetscScalar *a;   /* [m * n] by rows */
  char        *has; /* [m * n] */
} Dense;

/* Entries of a batch on the host, by row and column, distinct. */
typedef struct {
  PetscCount   n;
  PetscInt    *rows, *columns;
  PetscScalar *values;
} Entries;

/* Which entries a batch has. */
typedef enum {
  OLD,       /* that are there */
  FRESH,     /* that are not there, near diagonals and elsewhere */
  FRESH_FEW, /* three that are not there */
  MIXED,     /* both */
  NUM_KINDS
} Kind;
static const char *const Kinds[] = {"entries that are there", "new entries", "three new entries", "entries of both kinds"};

typedef struct {
  const char    *name;
  PetscInt       m, n, diagonals[6], density, others; /* column - row of diagonals, the last one is repeated; entries of 100 that they have; rows of 100 that have entries elsewhere */
  cudaStream_t   stream;
  HiSparseFormat format;
} Case;

static const Case Cases[] = {
  {"three diagonals",        1000, 1000, {-1, 0, 1, 1, 1, 1},           100, 0 },
  {"one slice",              128,  128,  {-3, 0, 5, 5, 5, 5},           100, 0 },
  {"a row more",             129,  140,  {-3, 0, 5, 11, 11, 11},        90,  4 },
  {"grid with holes",        1500, 1500, {-300, -128, -1, 0, 1, 128},   80,  20},
  {"wide",                   300,  2000, {0, 127, 128, 900, 1650, 1650}, 97,  10},
  {"tall",                   2000, 300,  {-1650, -900, -129, -1, 0, 0}, 97,  10},
};

static PetscBool Has(const Case *c, PetscInt r, PetscInt j)
{
  for (PetscInt k = 0; k < 6; k++)
    if (j - r == c->diagonals[k]) return (PetscBool)(50 + 50 * PetscRealPart(KernelTestNumber((PetscCount)r * 8 + k, 11)) < c->density);
  return (PetscBool)(r % 100 < c->others && j == (r * 37 + 5) % c->n);
}

static PetscErrorCode DenseCreate(const Case *c, Dense *A)
{
  const size_t size = (size_t)c->m * (size_t)c->n;

  PetscFunctionBeginUser;
  A->m = c->m;
  A->n = c->n;
  PetscCall(PetscCalloc2(size, &A->a, size, &A->has));
  for (PetscInt r = 0; r < c->m; r++)
    for (PetscInt j = 0; j < c->n; j++)
      if (Has(c, r, j)) {
        A->has[(size_t)r * (size_t)c->n + (size_t)j] = 1;
        A->a[(size_t)r * (size_t)c->n + (size_t)j]   = KernelTestNumber((PetscCount)r * c->n + j, 1);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as CSR, its values times alpha. */
static PetscErrorCode ToCSR(const Dense *A, PetscScalar alpha, KernelTestMatrix *csr)
{
  PetscCount nz = 0;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < (size_t)A->m * (size_t)A->n; k++) nz += A->has[k];
  csr->name = "expected";
  csr->m    = A->m;
  csr->n    = A->n;
  csr->nz   = nz;
  PetscCall(PetscMalloc1(A->m + 1, &csr->i));
  PetscCall(PetscMalloc2(nz, &csr->j, nz, &csr->a));
  nz = 0;
  for (PetscInt r = 0; r < A->m; r++) {
    csr->i[r] = (PetscInt)nz;
    for (PetscInt j = 0; j < A->n; j++)
      if (A->has[(size_t)r * (size_t)A->n + (size_t)j]) {
        csr->j[nz]   = j;
        csr->a[nz++] = alpha * A->a[(size_t)r * (size_t)A->n + (size_t)j];
      }
  }
  csr->i[A->m] = (PetscInt)nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Valid, and the same as on the host: structure, values, and products in both directions. */
static PetscErrorCode Check(const Case *c, HiSparse A, const Dense *expected, PetscScalar alpha, const char what[])
{
  KernelTestMatrix host, got;
  DCSRView         view;
  PetscBool        ok;
  const char      *why;
  PetscCount       where;
  char             name[256];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s: %s", c->name, HiSparseFormats[c->format], what));
  PetscCall(HiSparseIsValid(A, c->stream, &ok, &why, &where));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not valid: %s %" PetscCount_FMT, name, why, where);
  PetscCall(ToCSR(expected, alpha, &host));
  PetscCheck(A->num_nonzeros == host.nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " nonzeros, not %" PetscCount_FMT, name, A->num_nonzeros, host.nz);
  PetscCall(KernelTestViewAllocate(c->m, c->n, host.nz, PETSC_FALSE, c->stream, &view));
  PetscCall(HiSparseGetCSR(A, PETSC_TRUE, PETSC_TRUE, view, c->stream));
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &host, 8 * PETSC_MACHINE_EPSILON, name));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(KernelTestMatrixDestroy(&host));
  PetscCall(KernelTestViewDestroy(&view, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProducts(const Case *c, HiSparse A, const Dense *expected, PetscScalar alpha, const char what[])
{
  const PetscInt n = PetscMax(c->m, c->n);
  PetscScalar   *x, *y, *got, *device_x, *device_y;
  PetscReal     *scale;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n, &x, n, &y, n, &got, n, &scale));
  for (PetscInt k = 0; k < n; k++) x[k] = KernelTestNumber(k, 5);
  PetscCall(KernelTestToDevice(sizeof(*x) * (size_t)n, x, c->stream, (void **)&device_x));
  PetscCall(KernelTestToDevice(sizeof(*x) * (size_t)n, x, c->stream, (void **)&device_y));
  for (int transpose = 0; transpose < 2; transpose++) {
    const PetscInt ny = transpose ? c->n : c->m;

    PetscCall(PetscArrayzero(y, n));
    PetscCall(PetscArrayzero(scale, n));
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt j = 0; j < c->n; j++) {
        const PetscScalar product = alpha * expected->a[(size_t)r * (size_t)c->n + (size_t)j] * x[transpose ? r : j];

        if (!expected->has[(size_t)r * (size_t)c->n + (size_t)j]) continue;
        y[transpose ? j : r] += product;
        scale[transpose ? j : r] += 1 + PetscAbsScalar(product);
      }
    if (transpose) PetscCall(HiSparseMultTranspose(A, PETSC_FALSE, device_x, NULL, device_y, c->stream));
    else PetscCall(HiSparseMult(A, device_x, NULL, device_y, c->stream));
    PetscCall(KernelTestToHost(sizeof(*got) * (size_t)ny, device_y, c->stream, got));
    PetscCall(KernelTestCompareScalars(ny, got, y, scale, transpose ? "A^T x" : "A x", c->name, what));
  }
  PetscCall(PetscSparseCUDAFree(&device_x, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_y, c->stream));
  PetscCall(PetscFree4(x, y, got, scale));
  PetscCall(Check(c, A, expected, alpha, what)); // with what products have made
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Chosen(const Case *c, const Dense *A, Kind kind, PetscInt r, PetscInt j, PetscInt seed, PetscInt *num_fresh)
{
  const PetscBool  has    = (PetscBool)A->has[(size_t)r * (size_t)c->n + (size_t)j];
  const PetscReal  number = PetscRealPart(KernelTestNumber((PetscCount)r * c->n + j, 100 + seed));
  const PetscCount near   = j - r + c->m;

  if (has) return (PetscBool)((kind == OLD || kind == MIXED) && number > (PetscReal)0.8);
  if (kind == OLD || (kind == FRESH_FEW && (*num_fresh >= 3 || r < c->m / 3 * *num_fresh))) return PETSC_FALSE;
  // anywhere, or in places of a few diagonals
  if (number < (PetscReal)-0.9999 || (number > (PetscReal)0.7 && (near % 97 == 3 * seed || j - r == c->diagonals[1]))) {
    ++*num_fresh;
    return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscErrorCode EntriesCreate(const Case *c, const Dense *A, Kind kind, PetscInt seed, Entries *e)
{
  PetscInt num_fresh;

  PetscFunctionBeginUser;
  for (int pass = 0; pass < 2; pass++) {
    PetscCount n = 0;

    num_fresh = 0;
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt j = 0; j < c->n; j++) {
        if (!Chosen(c, A, kind, r, j, seed, &num_fresh)) continue;
        if (pass) {
          e->rows[n]    = r;
          e->columns[n] = j;
          e->values[n]  = KernelTestNumber((PetscCount)r * c->n + j, 200 + seed);
        }
        n++;
      }
    e->n = n;
    if (pass == 0) PetscCall(PetscMalloc3(n, &e->rows, n, &e->columns, n, &e->values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EntriesDestroy(Entries *e)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(e->rows, e->columns, e->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether entry k counts, with batches that have entries that do not. */
static unsigned char Counts(PetscCount k)
{
  return (unsigned char)(k % 3 != 1);
}

static PetscErrorCode BatchCreate(const Case *c, const Entries *e, PetscBool counts, DCSRBatch *batch)
{
  uint64_t      *keys;
  unsigned char *flags;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(e->n, &keys, e->n, &flags));
  batch->num_entries = e->n;
  batch->column_bits = DCSRKeyBits(c->n);
  batch->counts      = NULL;
  for (PetscCount k = 0; k < e->n; k++) {
    keys[k]  = (uint64_t)e->rows[k] << batch->column_bits | (uint64_t)e->columns[k];
    flags[k] = Counts(k);
  }
  PetscCall(KernelTestToDevice(sizeof(*keys) * (size_t)e->n, keys, c->stream, (void **)&batch->keys));
  PetscCall(KernelTestToDevice(sizeof(*e->values) * (size_t)e->n, e->values, c->stream, (void **)&batch->values));
  if (counts) PetscCall(KernelTestToDevice((size_t)e->n, flags, c->stream, (void **)&batch->counts));
  PetscCall(PetscFree2(keys, flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on the host. */
static void Apply(Dense *A, const Entries *e, InsertMode mode, DCSRNewEntries policy, PetscBool counts)
{
  for (PetscCount k = 0; k < e->n; k++) {
    const size_t place = (size_t)e->rows[k] * (size_t)A->n + (size_t)e->columns[k];

    if (!A->has[place] && (policy != DCSR_NEW_ALLOW || (counts && !Counts(k)))) continue;
    A->a[place]   = A->has[place] && mode == ADD_VALUES ? A->a[place] + e->values[k] : e->values[k];
    A->has[place] = 1;
  }
}

/* New entries of a batch; *first is the first of them. */
static PetscCount CountNew(const Dense *A, const Entries *e, PetscBool counts, PetscCount *first)
{
  PetscCount n = 0;

  for (PetscCount k = e->n - 1; k >= 0; k--)
    if (!A->has[(size_t)e->rows[k] * (size_t)A->n + (size_t)e->columns[k]] && (!counts || Counts(k))) {
      *first = k;
      n++;
    }
  return n;
}

/* A batch joins device and host; *grown counts those that the storage took with new entries. */
static PetscErrorCode Insert(const Case *c, HiSparse A, Dense *host, const Entries *e, InsertMode mode, DCSRNewEntries policy, PetscBool counts, PetscInt *grown)
{
  PetscCount     first = 0, num_new = CountNew(host, e, counts, &first);
  DCSRInsertInfo info;
  DCSRBatch      batch;
  PetscBool      done;

  PetscFunctionBeginUser;
  PetscCall(BatchCreate(c, e, counts, &batch));
  PetscCall(HiSparseInsertBatch(A, &batch, mode, policy, c->stream, &info, &done));
  PetscCall(DCSRBatchDestroy(&batch, c->stream));
  PetscCheck(info.num_new == num_new, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " new entries, not %" PetscCount_FMT, c->name, info.num_new, num_new);
  PetscCheck(done || (num_new > 0 && policy == DCSR_NEW_ALLOW), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entries that are there were refused", c->name);
  PetscCheck(info.structure_grown == (PetscBool)(done && num_new > 0 && policy == DCSR_NEW_ALLOW), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: wrong facts about new entries", c->name);
  if (num_new > 0 && policy == DCSR_NEW_FORBID) {
    PetscCheck(info.row == e->rows[first] && info.column == e->columns[first], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the first new entry is not (%" PetscInt_FMT ", %" PetscInt_FMT ")", c->name, info.row, info.column);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (done) Apply(host, e, mode, policy, counts);
  if (info.structure_grown) ++*grown;
  PetscFunctionReturn(PETSC_SUCCESS);
}
