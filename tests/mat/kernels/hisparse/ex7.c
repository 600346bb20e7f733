static char help[] =
  "HiSparse with diagonals of dense blocks: products in both directions with every launch configuration, values and structure to and from CSR, rounded values, what does not fit, the rule, and allocations that fail.\n\
  -only k : the shape of this number alone\n\
  -small : few shapes, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../../../lib/sweeps.h"
#include "../../../../src/mat/kernels/hisparse/diagonalsimpl.h"
#include "../../small.h"
#include "../entries/kerneltest.h"
#include <petscsparsecuda/hisparse.h>

#define GUARD 64 /* scalars behind a result that nobody writes */

/* Which blocks there are. */
typedef enum {
  FULL,        /* all of them */
  BAND,        /* five diagonals of blocks */
  EMPTY_ROWS,  /* three blocks in every third row, none in the others */
  ONE,         /* one block in each row, anywhere */
  RANDOM,      /* from none to 40 blocks in a row, anywhere */
  LONG_ROW,    /* the diagonal, and all of the middle row */
  LONG_COLUMN, /* the diagonal, and all of the middle column */
  MASKED       /* ten diagonals of blocks, a quarter of whose blocks are missing */
} Pattern;

typedef struct {
  const char *name;
  Pattern     pattern;
  PetscInt    m, n; /* in blocks */
  PetscBool   fits;
  PetscBool   small; /* is in the small test */
} Shape;

static PetscBool small; /* few shapes, offsets of one width for most, and no allocation fails */

static const Shape shapes[] = {{"one block", FULL, 1, 1, PETSC_TRUE},
                               {"one row", FULL, 1, 701, PETSC_FALSE, PETSC_TRUE},
                               {"one column", FULL, 701, 1, PETSC_FALSE, PETSC_TRUE},
                               {"full", FULL, 41, 53, PETSC_TRUE},
                               {"band", BAND, 331, 331, PETSC_TRUE},
                               {"wide band", BAND, 129, 1001, PETSC_TRUE},
                               {"tall band", BAND, 1001, 127, PETSC_TRUE},
                               {"empty rows", EMPTY_ROWS, 403, 397, PETSC_TRUE, PETSC_TRUE},
                               {"a block in each row", ONE, 517, 301, PETSC_FALSE},
                               {"random", RANDOM, 613, 701, PETSC_FALSE},
                               {"many diagonals", FULL, 7, 257, PETSC_TRUE},
                               {"long row", LONG_ROW, 101, 10007, PETSC_FALSE},
                               {"long column", LONG_COLUMN, 10007, 101, PETSC_FALSE},
                               {"masked diagonals", MASKED, 1003, 991, PETSC_TRUE}};

static const int sizes[] = {2, 3, 4, 6};

typedef struct {
  const KernelTestMatrix *A;
  char                    what[128];
  int                     size;
  HiSparse                hisparse;
  cudaStream_t            stream;
} Case;

/* A number from 0 to n - 1. */
static PetscInt Number(PetscInt n, PetscCount i, PetscInt seed)
{
  return PetscMin(n - 1, (PetscInt)(0.5 * (1 + (double)PetscRealPart(KernelTestNumber(i, seed))) * (double)n));
}

/* A value that single precision has. */
static PetscScalar Value(PetscCount k, PetscInt seed)
{
  return KernelTestRound(KernelTestNumber(k, seed));
}

static PetscBool IsMasked(const Shape *s, PetscInt i, PetscInt j)
{
  static const PetscInt distances[] = {-500, -129, -127, -33, -1, 0, 31, 64, 130, 480};
  PetscBool             on          = PETSC_FALSE;

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(distances); k++) on = (PetscBool)(on || j - i == distances[k]);
  return (PetscBool)(on && Number(4, (PetscCount)i * s->n + j, 24) > 0);
}

static PetscBool HasBlock(const Shape *s, PetscInt i, PetscInt j)
{
  switch (s->pattern) {
  case FULL:
    return PETSC_TRUE;
  case BAND:
    return (PetscBool)(PetscAbsInt(i - j) <= 1 || PetscAbsInt(i - j) == 17);
  case EMPTY_ROWS:
    return (PetscBool)(i % 3 == 1 && PetscAbsInt(i - j) <= 1);
  case ONE:
    return (PetscBool)(j == Number(s->n, i, 21));
  case RANDOM:
    return (PetscBool)(Number(s->n, (PetscCount)i * s->n + j, 22) < Number(41, i, 23));
  case LONG_ROW:
    return (PetscBool)(i == j || i == s->m / 2);
  case MASKED:
    return IsMasked(s, i, j);
  default:
    return (PetscBool)(i == j || j == s->n / 2);
  }
}

/* The matrix of a shape with blocks of a size. */
static PetscErrorCode ShapeCreate(const Shape *s, int size, KernelTestMatrix *A)
{
  PetscInt  *columns; // of blocks of a row
  PetscCount num_blocks = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < s->m; i++)
    for (PetscInt j = 0; j < s->n; j++) num_blocks += HasBlock(s, i, j);
  A->name = s->name;
  A->m    = s->m * size;
  A->n    = s->n * size;
  A->nz   = num_blocks * size * size;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(A->nz, &A->j, A->nz, &A->a));
  PetscCall(PetscMalloc1(s->n, &columns));
  A->i[0] = 0;
  for (PetscInt i = 0, k = 0; i < s->m; i++) {
    PetscInt n = 0;

    for (PetscInt j = 0; j < s->n; j++)
      if (HasBlock(s, i, j)) columns[n++] = j;
    for (int r = 0; r < size; r++) {
      for (PetscInt t = 0; t < n; t++)
        for (int c = 0; c < size; c++) A->j[k++] = columns[t] * size + c;
      A->i[i * size + r + 1] = k;
    }
  }
  for (PetscCount k = 0; k < A->nz; k++) A->a[k] = Value(k, 1);
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha op(A) x + z on the host, and the scale of its rounding errors; z NULL for none. */
static PetscErrorCode HostProduct(const KernelTestMatrix *A, PetscScalar alpha, PetscBool transpose, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[],
                                  PetscReal scale[])
{
  const PetscInt n = transpose ? A->n : A->m;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    y[i]     = z ? z[i] : 0.0;
    scale[i] = 100 * PetscAbsScalar(y[i]);
  }
  for (PetscInt i = 0; i < A->m; i++) {
    for (PetscInt k = A->i[i]; k < A->i[i + 1]; k++) {
      const PetscScalar a = alpha * A->a[k], product = (conjugate ? PetscConj(a) : a) * x[transpose ? i : A->j[k]];
      const PetscInt    to = transpose ? A->j[k] : i;

      y[to] += product;
      scale[to] += 100 * PetscAbsScalar(product);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One product, twice: the result, what lies behind it, and the same bits again. */
static PetscErrorCode CheckProduct(const Case *c, PetscScalar alpha, PetscBool transpose, PetscBool conjugate, int with_z, const char config[])
{
  const PetscInt nx = transpose ? c->A->m : c->A->n, ny = transpose ? c->A->n : c->A->m;
  PetscScalar   *x, *z, *expected, *got, *dx, *dz, *dy;
  PetscReal     *scale;
  char           what[64];

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(nx, &x, ny, &z, ny, &expected, 2 * (ny + GUARD), &got, ny, &scale));
  for (PetscInt i = 0; i < nx; i++) x[i] = KernelTestNumber(i, 3);
  for (PetscInt i = 0; i < ny; i++) z[i] = KernelTestNumber(i, 4);
  PetscCall(HostProduct(c->A, alpha, transpose, conjugate, x, with_z ? z : NULL, expected, scale));
  PetscCall(KernelTestToDevice((size_t)nx * sizeof(*x), x, c->stream, (void **)&dx));
  PetscCall(KernelTestToDevice((size_t)ny * sizeof(*z), z, c->stream, (void **)&dz));
  PetscCall(KernelTestToDevice((size_t)(ny + GUARD) * sizeof(*dy), NULL, c->stream, (void **)&dy));
  for (int again = 0; again < 2; again++) {
    const PetscScalar *added = with_z == 0 ? NULL : with_z == 1 ? dz : dy;

    PetscCallCUDA(cudaMemsetAsync(dy, 0xff, (size_t)(ny + GUARD) * sizeof(*dy), c->stream)); // NaN
    if (with_z == 2) PetscCallCUDA(cudaMemcpyAsync(dy, dz, (size_t)ny * sizeof(*dy), cudaMemcpyDeviceToDevice, c->stream));
    if (transpose) PetscCall(HiSparseMultTranspose(c->hisparse, conjugate, dx, added, dy, c->stream));
    else PetscCall(HiSparseMult(c->hisparse, dx, added, dy, c->stream));
    PetscCall(KernelTestToHost((size_t)(ny + GUARD) * sizeof(*got), dy, c->stream, got + again * (ny + GUARD)));
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, z %d", !transpose ? "A x" : conjugate ? "A^H x" : "A^T x", with_z));
  PetscCall(KernelTestCompareScalars(ny, got, expected, scale, what, c->what, config));
  PetscCheck(!memcmp(got, got + ny + GUARD, (size_t)ny * sizeof(*got)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: not the same bits again", what, c->what, config);
  for (size_t i = 0; i < GUARD * sizeof(*got); i++)
    PetscCheck(((unsigned char *)(got + ny))[i] == 0xff, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: writes behind the result", what, c->what, config);
  PetscCall(PetscSparseCUDAFree(&dx, c->stream));
  PetscCall(PetscSparseCUDAFree(&dz, c->stream));
  PetscCall(PetscSparseCUDAFree(&dy, c->stream));
  PetscCall(PetscFree5(x, z, expected, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProducts(const Case *c, PetscScalar alpha, const char config[])
{
  PetscFunctionBegin;
  for (int with_z = 0; with_z < 3; with_z++) {
    PetscCall(CheckProduct(c, alpha, PETSC_FALSE, PETSC_FALSE, with_z, config));
    PetscCall(CheckProduct(c, alpha, PETSC_TRUE, PETSC_FALSE, with_z, config));
    PetscCall(CheckProduct(c, alpha, PETSC_TRUE, PETSC_TRUE, with_z, config));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As created, and with a scale factor. */
static PetscErrorCode TestProducts(const Case *c)
{
  const PetscScalar alpha = KernelTestNumber(5, 2);
  HiSparse          scaled;
  Case              d = *c;

  PetscFunctionBegin;
  PetscCall(CheckProducts(c, 1.0, "created"));
  PetscCall(HiSparseDuplicate(c->hisparse, c->stream, &scaled));
  PetscCall(HiSparseScale(scaled, alpha, c->stream));
  d.hisparse = scaled;
  PetscCall(CheckProducts(&d, alpha, "scaled"));
  PetscCall(HiSparseDestroy(&scaled, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back to CSR with offsets of either width, and with other values; every bit. */
static PetscErrorCode TestTransfers(const Case *c, DCSRView view)
{
  KernelTestMatrix other   = *c->A, got;
  DCSRView         changed = view;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(other.nz, &other.a));
  for (PetscCount k = 0; k < other.nz; k++) other.a[k] = Value(k, 9);
  PetscCall(KernelTestToDevice((size_t)other.nz * sizeof(*other.a), other.a, c->stream, (void **)&changed.values));
  for (int wide = 0; wide < 2; wide++) {
    DCSRView back;

    PetscCall(KernelTestViewAllocate(other.m, other.n, other.nz, (PetscBool)wide, c->stream, &back));
    PetscCall(HiSparseGetCSR(c->hisparse, PETSC_TRUE, PETSC_TRUE, back, c->stream));
    PetscCall(KernelTestMatrixFromView(back, c->stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, c->A, 0, c->what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(HiSparseSetValues(c->hisparse, changed, c->stream));
    PetscCall(HiSparseGetCSR(c->hisparse, PETSC_FALSE, PETSC_TRUE, back, c->stream));
    PetscCall(KernelTestMatrixFromView(back, c->stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, &other, 0, c->what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(HiSparseSetValues(c->hisparse, view, c->stream));
    PetscCall(KernelTestViewDestroy(&back, c->stream));
  }
  PetscCall(PetscSparseCUDAFree(&changed.values, c->stream));
  PetscCall(PetscFree(other.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInfo(const Case *c, PetscBool transposed)
{
  const PetscCount num_blocks = c->A->nz / (c->size * c->size);
  HiSparseInfo     info;

  PetscFunctionBegin;
  PetscCall(HiSparseGetInfo(c->hisparse, &info));
  PetscCheck(info.format == HISPARSE_BLOCK_DIAGONALS && info.block_size == c->size && info.num_segments > 0 && info.num_segments <= num_blocks && info.num_others == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %s, %" PetscCount_FMT " blocks of %" PetscInt_FMT ", %" PetscCount_FMT " others", c->what, HiSparseFormats[info.format], info.num_segments, info.block_size, info.num_others);
  PetscCheck((info.transpose_bytes > 0) == (transposed == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes for the transpose", c->what, info.transpose_bytes);
  PetscCheck(info.bytes >= (size_t)c->A->nz * sizeof(PetscScalar) + (size_t)info.num_segments * sizeof(HiSparseSegment) + info.transpose_bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes",
             c->what, info.bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckValid(const Case *c)
{
  PetscBool   ok;
  const char *what;
  PetscCount  where;

  PetscFunctionBegin;
  PetscCall(HiSparseIsValid(c->hisparse, c->stream, &ok, &what, &where));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s %" PetscCount_FMT, c->what, what, where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocations of creation and of the list of A^T x fail one after the other: an error, or without a list of blocks the matrix stays in CSR. */
static PetscErrorCode TestFailures(const Case *c, DCSRView view)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt site = 1; !done; site++) {
    HiSparse       A = NULL;
    size_t         before, after;
    PetscErrorCode ierr;

    PetscCheck(site < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocates without end", c->what);
    PetscCall(KernelTestMemoryInUse(c->stream, &before));
    PetscCall(PetscSparseCUDATestFailAllocation(site));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = HiSparseCreate(view, HISPARSE_BLOCK_DIAGONALS, c->stream, &A);
    if (ierr == PETSC_SUCCESS && A != NULL) ierr = HiSparsePrepare(A, PETSC_TRUE, c->stream);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    done = (PetscBool)(ierr == PETSC_SUCCESS && A != NULL);
    PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocation %" PetscInt_FMT " fails with error %d", c->what, site, (int)ierr);
    if (A != NULL) {
      Case d = *c;

      d.hisparse = A;
      PetscCall(CheckProduct(&d, 1.0, PETSC_TRUE, PETSC_FALSE, 0, "after an allocation failed"));
    }
    PetscCall(HiSparseDestroy(&A, c->stream));
    PetscCall(KernelTestMemoryInUse(c->stream, &after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocation %" PetscInt_FMT " fails, and %zu bytes are left", c->what, site, after - before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are rounded to single precision, which has them all. */
static PetscErrorCode TestRounded(const Case *c)
{
  Case d = *c;

  PetscFunctionBegin;
  d.hisparse = NULL;
  PetscCall(PetscSNPrintf(d.what, sizeof(d.what), "rounded values, %s", c->what));
  PetscCall(HiSparseRound(c->hisparse, HISPARSE_VALUES_SINGLE, c->stream, &d.hisparse));
  PetscCall(TestProducts(&d));
  PetscCall(HiSparseDestroy(&d.hisparse, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestShape(const Shape *shape, int size, PetscInt storage, cudaStream_t stream)
{
  KernelTestMatrix A;
  DCSRView         view;
  Case             c = {.A = &A, .size = size, .stream = stream};
  size_t           before, after;

  PetscFunctionBegin;
  PetscCall(ShapeCreate(shape, size, &A));
  PetscCall(PetscSNPrintf(c.what, sizeof(c.what), "%s of %d, %s", shape->name, size, KernelTestStorages[storage].name));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[storage], stream, &view));
  PetscCall(HiSparseCreate(view, HISPARSE_BLOCK_DIAGONALS, stream, &c.hisparse));
  PetscCheck((c.hisparse != NULL) == (shape->fits == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: is %smade", c.what, c.hisparse != NULL ? "" : "not ");
  if (c.hisparse != NULL) {
    PetscCall(CheckInfo(&c, PETSC_FALSE));
    PetscCall(CheckValid(&c));
    PetscCall(TestTransfers(&c, view));
    PetscCall(TestProducts(&c));
    PetscCall(CheckInfo(&c, PETSC_TRUE));
    PetscCall(CheckValid(&c));
    if (storage == 0) PetscCall(TestRounded(&c)); // does not depend on the storage of CSR
    if (!small) PetscCall(TestFailures(&c, view));
  }
  PetscCall(HiSparseDestroy(&c.hisparse, stream));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", c.what, after - before);
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What spoils a matrix with blocks. */
typedef enum {
  MISSING_ENTRY, /* one less, in the middle row */
  OTHER_COLUMN,  /* an entry of the last row in another column than those above it */
  SHIFTED,       /* all columns one higher */
  ODD_ROW,       /* a row more */
  NUM_FLAWS
} Flaw;

static PetscErrorCode Spoil(Flaw flaw, KernelTestMatrix *A)
{
  const PetscInt row = A->m / 2, gone = A->i[row];

  PetscFunctionBegin;
  switch (flaw) {
  case MISSING_ENTRY:
    PetscCall(PetscArraymove(A->j + gone, A->j + gone + 1, A->nz - gone - 1));
    A->nz--;
    for (PetscInt r = row + 1; r <= A->m; r++) A->i[r]--;
    break;
  case OTHER_COLUMN:
    A->j[A->i[A->m - 1]]--; // band: the first block of the last row is not the first of the matrix, nor next to another one
    break;
  case SHIFTED:
    for (PetscCount k = 0; k < A->nz; k++) A->j[k]++;
    A->n += 6;
    break;
  default:
    A->m++;
    PetscCall(PetscRealloc((A->m + 1) * sizeof(*A->i), &A->i));
    A->i[A->m] = A->i[A->m - 1];
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that has no full blocks stays CSR. */
static PetscErrorCode TestFlaws(cudaStream_t stream)
{
  const Shape shape = {"flawed", BAND, 331, 331, PETSC_TRUE};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    for (Flaw flaw = MISSING_ENTRY; flaw < NUM_FLAWS; flaw++) {
      KernelTestMatrix A;
      DCSRView         view;
      HiSparse         hisparse;
      HiSparseInfo     info;

      PetscCall(ShapeCreate(&shape, sizes[s], &A));
      PetscCall(Spoil(flaw, &A));
      PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &view));
      PetscCall(HiSparseCreate(view, HISPARSE_BLOCK_DIAGONALS, stream, &hisparse));
      if (hisparse) PetscCall(HiSparseGetInfo(hisparse, &info));
      PetscCheck(hisparse == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "flaw %d: blocks of %" PetscInt_FMT " are made of a matrix that has none of %d", (int)flaw, info.block_size, sizes[s]);
      PetscCall(KernelTestViewDestroy(&view, stream));
      PetscCall(KernelTestMatrixDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices for the rule: points with three unknowns each, their neighbors on the axes of a cube of points or anywhere. */
typedef struct {
  const char    *name;
  PetscInt       edge; /* of the cube */
  PetscBool      anywhere;
  PetscBool      flawed; /* an entry is missing outside of the sample */
  HiSparseFormat format; /* that the rule must take; HISPARSE_AUTO: any but that of blocks */
} RuleCase;

static const RuleCase rule_cases[] = {{"grid", 36, PETSC_FALSE, PETSC_FALSE, HISPARSE_BLOCK_DIAGONALS},
                                      {"graph", 36, PETSC_TRUE, PETSC_FALSE, HISPARSE_CSR},
                                      {"flawed grid", 36, PETSC_FALSE, PETSC_TRUE, HISPARSE_AUTO},
                                      {"a small grid", 10, PETSC_FALSE, PETSC_FALSE, HISPARSE_CSR}};

/* Blocks of a point, sorted; returns how many. */
static PetscInt RuleBlocks(const RuleCase *rule, PetscInt p, PetscInt columns[])
{
  const PetscInt e = rule->edge, x[3] = {p % e, p / e % e, p / (e * e)}, strides[3] = {1, e, e * e};
  PetscInt       n = 0;

  columns[n++] = p;
  for (int d = 0; d < 3; d++) {
    if (x[d] > 0) columns[n++] = p - strides[d];
    if (x[d] + 1 < e) columns[n++] = p + strides[d];
  }
  if (rule->anywhere)
    for (PetscInt i = 1; i < n; i++) columns[i] = Number(e * e * e, (PetscCount)p * 8 + i, 31);
  PetscCallAbort(PETSC_COMM_SELF, PetscSortRemoveDupsInt(&n, columns));
  return n;
}

static PetscErrorCode RuleCreate(const RuleCase *rule, KernelTestMatrix *A)
{
  const PetscInt points = rule->edge * rule->edge * rule->edge;
  PetscInt       columns[8], k = 0;

  PetscFunctionBegin;
  A->name = rule->name;
  A->m = A->n = 3 * points;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(63 * points, &A->j, 63 * points, &A->a));
  A->i[0] = 0;
  for (PetscInt p = 0; p < points; p++) {
    const PetscInt n = RuleBlocks(rule, p, columns);

    for (int r = 0; r < 3; r++) {
      for (PetscInt t = 0; t < 3 * n; t++) A->j[k++] = columns[t / 3] * 3 + t % 3;
      if (rule->flawed && p == points - 2 && r == 0) k -= 9; // as many entries as a block has
      A->i[3 * p + r + 1] = k;
    }
  }
  A->nz = k;
  for (PetscCount t = 0; t < A->nz; t++) A->a[t] = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CSR of blocks of three is cheaper where these are looked for: when the layouts have their size, and not when they have another one. */
static PetscErrorCode TestIndexEntries(DCSRView view, cudaStream_t stream)
{
  static const PetscInt sizes[] = {3, 0, 1, 2, 6};
  double                ratios[PETSC_STATIC_ARRAY_LENGTH(sizes)];

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    HiSparseFormat format = HISPARSE_BLOCK_DIAGONALS;

    view.row_block = view.column_block = sizes[k];
    PetscCall(HiSparsePredict(view, NULL, stream, &format, &ratios[k]));
    PetscCheck(k == 0 || (ratios[k] == ratios[PetscMin(k, 1)] && ratios[k] < ratios[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Blocks of %" PetscInt_FMT ": ratio %g, blocks of 3: %g", sizes[k], ratios[k],
               ratios[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRule(const RuleCase *rule, cudaStream_t stream)
{
  KernelTestMatrix A;
  DCSRView         view;
  HiSparseFormat   format;

  PetscFunctionBegin;
  PetscCall(RuleCreate(rule, &A));
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &view));
  if (rule->format == HISPARSE_BLOCK_DIAGONALS) PetscCall(TestIndexEntries(view, stream));
  view.row_block = view.column_block = 3;
  PetscCall(HiSparseRuleApply(view, stream, &format));
  if (rule->format == HISPARSE_AUTO) PetscCheck(format != HISPARSE_BLOCK_DIAGONALS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the rule takes blocks, and some are not full", rule->name);
  else
    PetscCheck(PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) || format == rule->format, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the rule takes %s, not %s", rule->name,
               HiSparseFormats[format], HiSparseFormats[rule->format]);
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt     only = -1;
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(TestIsSmall(&small));
  PetscCheck(only < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shapes), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "There is no shape %" PetscInt_FMT, only);
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t s = only >= 0 ? (size_t)only : 0; s < (only >= 0 ? (size_t)only + 1 : PETSC_STATIC_ARRAY_LENGTH(shapes)); s++)
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(sizes) && (!small || shapes[s].small); b++)
        for (PetscInt k = 0; k < (small && sizes[b] > 2 ? 1 : KernelTestNumStorages); k++)
          if (KernelTestStorages[k].max_segments == 0) PetscCall(TestShape(&shapes[s], sizes[b], k, stream));
    if (only < 0) PetscCall(TestFlaws(stream));
    for (size_t k = 0; only < 0 && k < PETSC_STATIC_ARRAY_LENGTH(rule_cases); k++)
      if (!small || rule_cases[k].edge < 30) PetscCall(TestRule(&rule_cases[k], stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
