static char help[] = "Batches of entries that join each format, and copies of values, against a matrix on the host.\n\
  -only k : the case of this number alone\n\
  -small : few cases and batches, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include "../../small.h"

static PetscBool small; /* few cases, each format in one precision; every kind of batch once, beside a copy; and no allocation fails */

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
  PetscInt       block;                               /* all of these are full blocks of so many rows and columns; 0: entries */
  PetscBool      small;                               /* is in the small test */
  cudaStream_t   stream;
  HiSparseFormat format;
  PetscBool      single; /* values in single precision */
} Case;

static HiSparsePrecision Precision(const Case *c)
{
  return c->single ? HISPARSE_VALUES_SINGLE : HISPARSE_VALUES_SCALAR;
}

static const Case Cases[] = {
  {"three diagonals", 1000, 1000, {-1, 0, 1, 1, 1, 1}, 100, 0},
  {"one slice", 128, 128, {-3, 0, 5, 5, 5, 5}, 100, 0, 0, PETSC_TRUE},
  {"a row more", 129, 140, {-3, 0, 5, 11, 11, 11}, 90, 4, 0, PETSC_TRUE},
  {"grid with holes", 1500, 1500, {-300, -128, -1, 0, 1, 128}, 80, 20},
  {"wide", 300, 2000, {0, 127, 128, 900, 1650, 1650}, 97, 10},
  {"tall", 2000, 300, {-1650, -900, -129, -1, 0, 0}, 97, 10},
  {"blocks of 2", 402, 600, {-3, 0, 1, 70, 70, 70}, 90, 2, 2, PETSC_TRUE},
  {"blocks of 3", 399, 399, {-40, -1, 0, 1, 40, 40}, 80, 2, 3, PETSC_TRUE},
  {"blocks of 4", 800, 240, {-140, -3, 0, 1, 1, 1}, 97, 0, 4, PETSC_TRUE},
  {"blocks of 6", 300, 606, {-1, 0, 2, 55, 55, 55}, 85, 3, 6, PETSC_TRUE},
  {"empty rows of blocks", 399, 402, {-40, -7, 0, 0, 0, 0}, 40, 0, 3, PETSC_TRUE},
};

static PetscBool Has(const Case *c, PetscInt row, PetscInt column)
{
  const PetscInt size = PetscMax(c->block, 1), r = row / size, j = column / size;

  for (PetscInt k = 0; k < 6; k++)
    if (j - r == c->diagonals[k]) return (PetscBool)(50 + 50 * PetscRealPart(KernelTestNumber((PetscCount)r * 8 + k, 11)) < c->density);
  return (PetscBool)(r % 100 < c->others && j == (r * 37 + 5) % (c->n / size));
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
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s%s: %s", c->name, HiSparseFormats[c->format], c->single ? " in single precision" : "", what));
  PetscCall(HiSparseIsValid(A, c->stream, &ok, &why, &where));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not valid: %s %" PetscCount_FMT, name, why, where);
  PetscCall(ToCSR(expected, alpha, &host));
  PetscCheck(A->num_nonzeros == host.nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " nonzeros, not %" PetscCount_FMT, name, A->num_nonzeros, host.nz);
  PetscCall(KernelTestViewAllocate(c->m, c->n, host.nz, PETSC_FALSE, c->stream, &view));
  PetscCall(HiSparseGetCSR(A, PETSC_TRUE, PETSC_TRUE, view, c->stream));
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &host, c->single ? (PetscReal)1e-5 : 8 * PETSC_MACHINE_EPSILON, name));
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
        scale[transpose ? j : r] += (PetscReal)(c->single ? 1e8 : 1) * (1 + PetscAbsScalar(product));
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

/* Whether a new entry is in a batch, where new blocks are chosen as a whole. */
static PetscBool ChosenInBlock(const Case *c, Kind kind, PetscInt r, PetscInt j, PetscInt seed)
{
  const PetscInt  row = r / c->block, column = j / c->block;
  const PetscReal number = PetscRealPart(KernelTestNumber((PetscCount)row * c->n + column, 100 + seed));

  if (kind == OLD) return PETSC_FALSE;
  if (kind == FRESH_FEW) return (PetscBool)(column - row == c->diagonals[0] + 2 * seed + 20 && row % 40 == 7);
  return (PetscBool)((column - row == c->diagonals[1] && number > (PetscReal)0.3) || (column - row == c->diagonals[0] + 2 * seed + 20 && number > (PetscReal)0.4) || number < (PetscReal)-0.9998);
}

/* Whether an entry is in a batch. */
static PetscBool Chosen(const Case *c, const Dense *A, Kind kind, PetscInt r, PetscInt j, PetscInt seed, PetscInt *num_fresh)
{
  const PetscBool has    = (PetscBool)A->has[(size_t)r * (size_t)c->n + (size_t)j];
  const PetscReal number = PetscRealPart(KernelTestNumber((PetscCount)r * c->n + j, 100 + seed));

  if (has) return (PetscBool)((kind == OLD || kind == MIXED) && number > (PetscReal)0.8);
  if (c->block > 0) return ChosenInBlock(c, kind, r, j, seed);
  if (kind == OLD || (kind == FRESH_FEW && (*num_fresh >= 3 || r < c->m / 3 * *num_fresh))) return PETSC_FALSE;
  // in holes of a diagonal, in a new one, and anywhere
  if ((j - r == c->diagonals[1] && number > (PetscReal)0.3) || (j - r == c->diagonals[0] + 2 * seed + 20 && number > (PetscReal)-0.5) || number < (PetscReal)-0.99998) {
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
  PetscCall(HiSparseInsertBatch(A, &batch, mode, policy, PETSC_TRUE, c->stream, &info, &done));
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

/* One batch after another, alone and beside a copy that must not see them. */
static PetscErrorCode TestBatches(const Case *c, HiSparse *A, Dense *host, PetscInt *grown)
{
  PetscScalar alpha = 1.0;
  PetscInt    seed  = 0;
  char        what[128];

  PetscFunctionBeginUser;
  for (PetscInt step = small ? 2 * NUM_KINDS : 0; step < 3 * NUM_KINDS; step++) {
    const Kind           kind       = (Kind)(step % NUM_KINDS);
    const InsertMode     mode       = step % 2 ? ADD_VALUES : INSERT_VALUES;
    const DCSRNewEntries policies[] = {DCSR_NEW_FORBID, DCSR_NEW_IGNORE, DCSR_NEW_ALLOW};
    const PetscBool      counts     = (PetscBool)(step >= NUM_KINDS && kind == MIXED);
    HiSparse             copy       = NULL;
    Dense                before     = *host;
    const size_t         size       = (size_t)c->m * (size_t)c->n;

    if (step >= 2 * NUM_KINDS) PetscCall(HiSparsePrepare(*A, PETSC_TRUE, c->stream));
    if (step >= NUM_KINDS) {
      PetscCall(HiSparseDuplicate(*A, c->stream, &copy));
      PetscCall(PetscMalloc2(size, &before.a, size, &before.has));
      PetscCall(PetscArraycpy(before.a, host->a, size));
      PetscCall(PetscArraycpy(before.has, host->has, size));
    }
    if (step % 3 == 1) {
      PetscCall(HiSparseScale(*A, 0.5, c->stream));
      for (size_t k = 0; k < size; k++) host->a[k] *= 0.5;
    }
    for (size_t p = small ? 2 : 0; p < PETSC_STATIC_ARRAY_LENGTH(policies); p++) {
      Entries e;

      PetscCall(EntriesCreate(c, host, kind, ++seed % 7, &e));
      PetscCall(Insert(c, *A, host, &e, mode, policies[p], counts, grown));
      PetscCall(PetscSNPrintf(what, sizeof(what), "step %d, %s, policy %d", (int)step, Kinds[kind], (int)policies[p]));
      PetscCall(Check(c, *A, host, alpha, what));
      PetscCall(EntriesDestroy(&e));
    }
    PetscCall(CheckProducts(c, *A, host, alpha, what));
    if (copy == NULL) continue;
    PetscCall(CheckProducts(c, copy, &before, alpha, "a copy that was left alone"));
    PetscCall(HiSparseDestroy(&copy, c->stream));
    PetscCall(PetscFree2(before.a, before.has));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where whole new blocks are. */
typedef enum {
  FIRST_ROW,   /* some of the first row of blocks */
  LAST_ROW,    /* of the last one */
  EMPTY_ROW,   /* all of the first row of blocks that has none, or of the second one */
  LAST_COLUMN, /* in every fourth row of blocks */
  BESIDE_OLD,  /* in every third row of blocks, and with them those that are there */
  NUM_PLACES
} BlockPlace;
static const char *const BlockPlaces[] = {"first row", "last row", "empty row", "last column", "beside old ones"};

static PetscBool BlockIsThere(const Case *c, const Dense *A, PetscInt row, PetscInt column)
{
  return (PetscBool)A->has[(size_t)row * (size_t)c->block * (size_t)c->n + (size_t)column * (size_t)c->block];
}

/* The first row of blocks without any, otherwise the second one. */
static PetscInt FindEmptyRow(const Case *c, const Dense *A)
{
  for (PetscInt row = 0; row < c->m / c->block; row++) {
    PetscInt column = 0;

    while (column < c->n / c->block && !BlockIsThere(c, A, row, column)) column++;
    if (column == c->n / c->block) return row;
  }
  return 1;
}

static PetscBool IsInPlace(const Case *c, const Dense *A, BlockPlace place, PetscInt empty_row, PetscInt row, PetscInt column)
{
  switch (place) {
  case FIRST_ROW:
    return (PetscBool)(row == 0 && column % 5 == 0);
  case LAST_ROW:
    return (PetscBool)(row == c->m / c->block - 1 && column % 5 == 1);
  case EMPTY_ROW:
    return (PetscBool)(row == empty_row && column < 40);
  case LAST_COLUMN:
    return (PetscBool)(column == c->n / c->block - 1 && row % 4 == 1);
  default:
    return (PetscBool)(row % 3 == 0 && (BlockIsThere(c, A, row, column) || column == (row * 7 + 3) % (c->n / c->block)));
  }
}

/* All entries of the blocks of a place. */
static PetscErrorCode BlocksCreate(const Case *c, const Dense *A, BlockPlace place, Entries *e)
{
  const PetscInt empty_row = FindEmptyRow(c, A);

  PetscFunctionBeginUser;
  e->n = 0;
  PetscCall(PetscMalloc3((size_t)c->m * (size_t)c->n, &e->rows, (size_t)c->m * (size_t)c->n, &e->columns, (size_t)c->m * (size_t)c->n, &e->values));
  for (PetscInt r = 0; r < c->m; r++)
    for (PetscInt j = 0; j < c->n; j++) {
      if (!IsInPlace(c, A, place, empty_row, r / c->block, j / c->block)) continue;
      e->rows[e->n]     = r;
      e->columns[e->n]  = j;
      e->values[e->n++] = KernelTestNumber((PetscCount)r * c->n + j, 300 + (PetscInt)place);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch that is refused, and changes nothing. */
static PetscErrorCode Refused(const Case *c, HiSparse A, const Dense *host, DCSRBatch *batch, const char what[])
{
  DCSRInsertInfo info;
  PetscBool      done;

  PetscFunctionBeginUser;
  PetscCall(HiSparseInsertBatch(A, batch, INSERT_VALUES, DCSR_NEW_ALLOW, PETSC_TRUE, c->stream, &info, &done));
  PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s was taken", c->name, what);
  PetscCall(Check(c, A, host, 1.0, what));
  PetscCall(DCSRBatchDestroy(batch, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One new block lacks its last entry. */
static PetscErrorCode TestMissingEntry(const Case *c, HiSparse A, const Dense *host)
{
  Entries   e;
  DCSRBatch batch;

  PetscFunctionBeginUser;
  PetscCall(BlocksCreate(c, host, LAST_COLUMN, &e));
  e.n--;
  PetscCall(BatchCreate(c, &e, PETSC_FALSE, &batch));
  PetscCall(Refused(c, A, host, &batch, "a block without its last entry"));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many new entries as a block has, of which one is the first of its block: all of one block but the first, which does not count, and the first one of another block. */
static PetscErrorCode TestOtherFirstEntry(const Case *c, HiSparse A, const Dense *host)
{
  const PetscInt column = c->n / c->block - 1;
  unsigned char *flags;
  Entries        e;
  PetscCount     n = 0;
  DCSRBatch      batch;

  PetscFunctionBeginUser;
  if (c->m / c->block <= 5 || BlockIsThere(c, host, 1, column) || BlockIsThere(c, host, 5, column)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BlocksCreate(c, host, LAST_COLUMN, &e));
  for (PetscCount k = 0; k < e.n; k++) {
    if (e.rows[k] / c->block != 1 && (e.rows[k] != 5 * c->block || e.columns[k] != column * c->block)) continue;
    e.rows[n]    = e.rows[k];
    e.columns[n] = e.columns[k];
    n++;
  }
  e.n = n;
  PetscCall(PetscMalloc1(n, &flags));
  for (PetscCount k = 0; k < n; k++) flags[k] = k > 0;
  PetscCall(BatchCreate(c, &e, PETSC_FALSE, &batch));
  PetscCall(KernelTestToDevice((size_t)n, flags, c->stream, (void **)&batch.counts));
  PetscCall(Refused(c, A, host, &batch, "a block without its first entry, and the first entry of another one"));
  PetscCall(PetscFree(flags));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole new blocks, at the ends of the matrix and of rows, in empty rows, and beside such as are there. Dense blocks take them all. */
static PetscErrorCode TestNewBlocks(const Case *c, HiSparse A, Dense *host, PetscInt *grown)
{
  PetscFunctionBeginUser;
  if (c->block == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestMissingEntry(c, A, host));
  PetscCall(TestOtherFirstEntry(c, A, host));
  for (BlockPlace place = FIRST_ROW; place < NUM_PLACES; place++) {
    const PetscInt before = *grown;
    PetscCount     num_new, first;
    Entries        e;

    PetscCall(BlocksCreate(c, host, place, &e));
    num_new = CountNew(host, &e, PETSC_FALSE, &first);
    PetscCall(Insert(c, A, host, &e, place % 2 ? ADD_VALUES : INSERT_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE, grown));
    PetscCheck(num_new > 0 && (c->format != HISPARSE_BLOCKS || *grown > before), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " new entries, %s, were refused", c->name, num_new, BlockPlaces[place]);
    PetscCall(CheckProducts(c, A, host, 1.0, BlockPlaces[place]));
    PetscCall(EntriesDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of values between matrices that share their structure, that have the same one, and that have not. */
static PetscErrorCode TestCopies(const Case *c, DCSRView view, HiSparse A, const Dense *host)
{
  HiSparse  B, C;
  PetscBool done;

  PetscFunctionBeginUser;
  PetscCall(HiSparseCreate(view, c->format, Precision(c), c->stream, &B));
  PetscCall(HiSparseDuplicate(A, c->stream, &C));
  PetscCall(HiSparseZero(B, c->stream));
  PetscCall(HiSparseZero(C, c->stream));
  PetscCall(HiSparseScale(A, 2.0, c->stream));
  PetscCall(HiSparseCopyValues(A, C, c->stream, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values were not copied to a duplicate", c->name);
  PetscCall(HiSparseCopyValues(A, B, c->stream, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values were not copied to a matrix of the same structure", c->name);
  PetscCall(HiSparseScale(A, 0.5, c->stream));
  PetscCall(HiSparseScale(B, -1.0, c->stream));
  PetscCall(Check(c, A, host, 1.0, "what was copied"));
  PetscCall(Check(c, B, host, -2.0, "a copy of values"));
  PetscCall(Check(c, C, host, 2.0, "a copy of values to a duplicate"));
  PetscCall(HiSparseZero(C, c->stream));
  PetscCall(CheckProducts(c, B, host, -2.0, "a copy of values, later"));
  PetscCall(HiSparseDestroy(&B, c->stream));
  PetscCall(HiSparseDestroy(&C, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two matrices of the same sizes, of which one has an entry elsewhere, share nothing. */
static PetscErrorCode TestOtherStructure(const Case *c, HiSparse A, const Dense *host)
{
  const PetscInt   n = c->n;
  KernelTestMatrix csr;
  DCSRView         view;
  HiSparse         B;
  PetscBool        done;
  PetscInt         moved = -1;

  PetscFunctionBeginUser;
  PetscCall(ToCSR(host, 1.0, &csr));
  for (PetscInt k = 0; k < csr.i[c->m]; k++) {
    PetscInt row = 0;

    while (csr.i[row + 1] <= k) row++;
    if (csr.j[k] + 1 < n && (k + 1 == csr.i[row + 1] || csr.j[k + 1] > csr.j[k] + 1)) moved = k;
  }
  if (moved >= 0) csr.j[moved]++;
  PetscCall(KernelTestViewCreate(&csr, &KernelTestStorages[0], c->stream, &view));
  PetscCall(HiSparseCreate(view, c->format, Precision(c), c->stream, &B));
  if (moved >= 0 && B != NULL) {
    PetscCall(HiSparseCopyValues(A, B, c->stream, &done));
    PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values were copied to a matrix of another structure", c->name);
  }
  PetscCall(HiSparseDestroy(&B, c->stream));
  PetscCall(KernelTestViewDestroy(&view, c->stream));
  PetscCall(KernelTestMatrixDestroy(&csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation of an insertion fails once; the matrix is what it was, and nothing is left behind but what it has for itself when it shared before. */
static PetscErrorCode TestFailures(const Case *c, HiSparse A, Dense *host, PetscBool shared, PetscInt seed)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  HiSparse       copy = NULL;
  size_t         before, after;
  Entries        e;

  PetscFunctionBeginUser;
  PetscCall(EntriesCreate(c, host, MIXED, seed, &e));
  if (shared) PetscCall(HiSparseDuplicate(A, c->stream, &copy));
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    DCSRInsertInfo info;
    DCSRBatch      batch;
    PetscBool      done;

    PetscCall(BatchCreate(c, &e, PETSC_FALSE, &batch));
    PetscCall(KernelTestMemoryInUse(c->stream, &before));
    PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = HiSparseInsertBatch(A, &batch, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_TRUE, c->stream, &info, &done);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    PetscCall(KernelTestMemoryInUse(c->stream, &after));
    PetscCall(DCSRBatchDestroy(&batch, c->stream));
    PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another error than that of an allocation", c->name);
    PetscCheck(ierr == PETSC_SUCCESS || shared || after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes are left after an error", c->name, after - before);
    if (ierr == PETSC_SUCCESS && done) Apply(host, &e, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE);
    PetscCall(Check(c, A, host, 1.0, "after a failed allocation"));
    PetscCheck(n < 1000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocations go on failing", c->name);
  }
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(CheckProducts(c, A, host, 1.0, "after failed allocations"));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const Case *shape, HiSparseFormat format, PetscBool single, cudaStream_t stream, PetscInt *grown)
{
  Case             c = *shape;
  KernelTestMatrix csr;
  Dense            host;
  HiSparse         A;
  DCSRView         view;
  size_t           before, after;

  PetscFunctionBeginUser;
  c.stream = stream;
  c.format = format;
  c.single = single;
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(DenseCreate(&c, &host));
  PetscCall(ToCSR(&host, 1.0, &csr));
  PetscCall(KernelTestViewCreate(&csr, &KernelTestStorages[0], stream, &view));
  PetscCall(HiSparseCreate(view, format, Precision(&c), stream, &A));
  PetscCheck(A != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the format does not take it", c.name);
  PetscCall(Check(&c, A, &host, 1.0, "new"));
  PetscCall(TestCopies(&c, view, A, &host));
  PetscCall(TestOtherStructure(&c, A, &host));
  PetscCall(TestNewBlocks(&c, A, &host, grown));
  PetscCall(TestBatches(&c, &A, &host, grown));
  for (int shared = 0; shared < 2 && !small; shared++) PetscCall(TestFailures(&c, A, &host, (PetscBool)shared, 8 + shared));
  PetscCall(HiSparseDestroy(&A, stream));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(KernelTestMatrixDestroy(&csr));
  PetscCall(PetscFree2(host.a, host.has));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", c.name, after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  PetscInt     only  = -1;
  PetscInt     grown = 0;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Cases); k++) {
      if ((only >= 0 && only != (PetscInt)k) || (small && !Cases[k].small)) continue;
      const HiSparseFormat formats[] = {Cases[k].block > 0 ? HISPARSE_BLOCKS : HISPARSE_DIAGONALS, HISPARSE_BLOCK_DIAGONALS};

      for (int f = 0; f < (Cases[k].block > 0 ? 4 : 2); f++)
        if (!small || f % 2 == (f / 2 + (int)k) % 2) PetscCall(Test(&Cases[k], formats[f / 2], (PetscBool)(f % 2), stream, &grown));
    }
  }
  PetscCheck(!usable || only >= 0 || small || grown > 20, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Only %" PetscInt_FMT " batches with new entries were taken", grown);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: cuda
    output_file: output/empty.out
    test:
      suffix: 1
    test:
      suffix: wide
      args: -mat_dcsr_test_wide_from 1000

TEST*/
