static char help[] = "Rows and columns that become zero, rows and zeros that leave the pattern, and values of lists, in the storage of each format, against a matrix on the host.\n\
  -only k : the case of this number alone, those of blocks from 100 on\n\
  -small : few cases and changes, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include "../../small.h"

static PetscBool small; /* few cases, each format in one precision; every change once, and no allocation fails */

/* A matrix on the host, dense. */
typedef struct {
  PetscScalar *a;   /* [m * n] by rows */
  char        *has; /* [m * n] */
} Dense;

typedef struct {
  const char    *name;
  PetscInt       m, n, diagonals[6], density, others; /* column - row of diagonals, the last one is repeated; entries of 100 that they have; rows of 100 that have entries elsewhere */
  PetscInt       block;                               /* size of full blocks, which m, n and what follows count; 1 for none */
  PetscBool      small;                               /* is in the small test */
  cudaStream_t   stream;
  HiSparseFormat format;
  PetscBool      single; /* values in single precision */
} Case;

static const Case Cases[] = {
  {"one row", 1, 1, {0, 0, 0, 0, 0, 0}, 100, 0, 1},
  {"three diagonals", 1000, 1000, {-1, 0, 1, 1, 1, 1}, 100, 0, 1},
  {"one slice", 128, 128, {-3, 0, 5, 5, 5, 5}, 100, 0, 1},
  {"a row more", 129, 140, {-3, 0, 5, 11, 11, 11}, 90, 4, 1, PETSC_TRUE},
  {"grid with holes", 1500, 1500, {-300, -128, -1, 0, 1, 128}, 80, 20, 1},
  {"wide", 300, 2000, {0, 127, 128, 900, 1650, 1650}, 97, 10, 1},
  {"a long row", 800, 4000, {-1, 0, 1, 2, 3, 3}, 100, 0, 1, PETSC_TRUE},
  {"tall", 2000, 300, {-1650, -900, -129, -1, 0, 0}, 97, 10, 1},
};

static const Case BlockCases[] = {
  {"one block", 1, 1, {0, 0, 0, 0, 0, 0}, 100, 0, 4},
  {"three diagonals of 6 x 6 blocks", 130, 140, {-1, 0, 1, 1, 1, 1}, 100, 0, 6, PETSC_TRUE},
  {"diagonals of 2 x 2 blocks with holes", 300, 310, {-130, -1, 0, 5, 33, 64}, 60, 0, 2, PETSC_TRUE},
  {"tall with 3 x 3 blocks", 400, 70, {-300, -129, -1, 0, 31, 31}, 80, 0, 3, PETSC_TRUE},
  {"wide with 4 x 4 blocks", 65, 300, {-2, 0, 127, 128, 200, 200}, 90, 0, 4, PETSC_TRUE},
};

/* What is done to a matrix. */
typedef enum {
  ZERO_ROWS,
  ZERO_ROWS_COLUMNS,
  REMOVE_ROWS,
  REMOVE_ZEROS,
  REMOVE_ZEROS_KEEP, /* but for those on the diagonal */
  SET_LIST,
  ADD_LIST,
  NUM_CHANGES
} Change;
static const char *const Changes[] = {"zero rows", "zero rows and columns", "remove rows", "remove zeros", "remove zeros off the diagonal", "values of a list", "values of a list are added"};

/* How often each change was done in the storage, and how often entries left it. */
typedef struct {
  PetscInt done[NUM_CHANGES], shrunk;
} Statistics;

static size_t Place(const Case *c, PetscInt r, PetscInt j)
{
  return (size_t)r * (size_t)c->n + (size_t)j;
}

static HiSparsePrecision Precision(const Case *c)
{
  return c->single ? HISPARSE_VALUES_SINGLE : HISPARSE_VALUES_SCALAR;
}

static PetscBool Has(const Case *c, PetscInt row, PetscInt column)
{
  const PetscInt r = row / c->block, j = column / c->block;

  if (c->n == 4000 && r == 500 && j % 5 != 2) return PETSC_TRUE; // more than a thread takes
  for (PetscInt k = 0; k < 6; k++)
    if (j - r == c->diagonals[k]) return (PetscBool)(j == r || 50 + 50 * PetscRealPart(KernelTestNumber((PetscCount)r * 8 + k, 11)) < c->density);
  return (PetscBool)(r % 100 < c->others && (j == (r * 37 + 5) % c->n || j == (r * 17 + 9) % c->n));
}

/* Every seventh value is zero, and some are larger than all others, and the same. */
static PetscErrorCode DenseCreate(const Case *c, Dense *A)
{
  const size_t size = (size_t)c->m * (size_t)c->n;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(size, &A->a, size, &A->has));
  for (PetscInt r = 0; r < c->m; r++)
    for (PetscInt j = 0; j < c->n; j++)
      if (Has(c, r, j)) {
        A->has[Place(c, r, j)] = 1;
        A->a[Place(c, r, j)]   = (r * 3 + j) % 7 == 2 ? 0.0 : (r + j) % 5 == 1 ? (j % 2 ? 2.0 : -2.0) : KernelTestNumber((PetscCount)r * c->n + j, 1);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseCopy(const Case *c, const Dense *A, Dense *B)
{
  const size_t size = (size_t)c->m * (size_t)c->n;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(size, &B->a, size, &B->has));
  PetscCall(PetscArraycpy(B->a, A->a, size));
  PetscCall(PetscArraycpy(B->has, A->has, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseDestroy(Dense *A)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree2(A->a, A->has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToCSR(const Case *c, const Dense *A, KernelTestMatrix *csr)
{
  PetscCount nz = 0;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < (size_t)c->m * (size_t)c->n; k++) nz += A->has[k];
  csr->name = c->name;
  csr->m    = c->m;
  csr->n    = c->n;
  csr->nz   = nz;
  PetscCall(PetscMalloc1(c->m + 1, &csr->i));
  PetscCall(PetscMalloc2(nz, &csr->j, nz, &csr->a));
  nz = 0;
  for (PetscInt r = 0; r < c->m; r++) {
    csr->i[r] = (PetscInt)nz;
    for (PetscInt j = 0; j < c->n; j++)
      if (A->has[Place(c, r, j)]) {
        csr->j[nz]   = j;
        csr->a[nz++] = A->a[Place(c, r, j)];
      }
  }
  csr->i[c->m] = (PetscInt)nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values. */
static PetscErrorCode CheckEntries(const Case *c, HiSparse A, const Dense *expected, const char what[])
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
  PetscCall(ToCSR(c, expected, &host));
  PetscCheck(A->num_nonzeros == host.nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " nonzeros, not %" PetscCount_FMT, name, A->num_nonzeros, host.nz);
  PetscCall(KernelTestViewAllocate(c->m, c->n, host.nz, PETSC_FALSE, c->stream, &view));
  PetscCall(HiSparseGetCSR(A, PETSC_TRUE, PETSC_TRUE, view, c->stream));
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &host, c->single ? (PetscReal)1e-5 : 64 * PETSC_MACHINE_EPSILON, name));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(KernelTestMatrixDestroy(&host));
  PetscCall(KernelTestViewDestroy(&view, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest absolute values of rows, of the matrix or its transpose. */
static PetscErrorCode CheckLargest(const Case *c, HiSparse A, PetscBool transpose, const Dense *expected, const char what[])
{
  const PetscInt m = transpose ? c->n : c->m, n = transpose ? c->m : c->n;
  PetscScalar   *largest, *device_largest;
  PetscInt      *indices, *device_indices;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(m, &largest, m, &indices));
  PetscCall(PetscSparseCUDAMalloc(m, "largest values", c->stream, &device_largest));
  PetscCall(PetscSparseCUDAMalloc(m, "columns of largest values", c->stream, &device_indices));
  PetscCallCUDA(cudaMemsetAsync(device_largest, 0xff, sizeof(*device_largest) * (size_t)m, c->stream)); // NaN
  PetscCallCUDA(cudaMemsetAsync(device_indices, 0xff, sizeof(*device_indices) * (size_t)m, c->stream));
  PetscCall(HiSparseRowMaxAbs(A, device_largest, device_indices, c->stream));
  PetscCall(KernelTestToHost(sizeof(*largest) * (size_t)m, device_largest, c->stream, largest));
  PetscCall(KernelTestToHost(sizeof(*indices) * (size_t)m, device_indices, c->stream, indices));
  for (PetscInt r = 0; r < m; r++) {
    const PetscReal tolerance = c->single ? (PetscReal)1e-5 : 64 * PETSC_MACHINE_EPSILON; // of numbers up to 4 that were added, and may cancel
    PetscReal       value     = 0;

    for (PetscInt j = 0; j < n; j++) {
      const size_t k = transpose ? Place(c, j, r) : Place(c, r, j);

      if (expected->has[k]) value = PetscMax(value, PetscAbsScalar(expected->a[k]));
    }
    PetscCheck(PetscAbsScalar(largest[r] - value) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the largest value of row %" PetscInt_FMT " is %g, not %g", c->name, what, r, (double)PetscRealPart(largest[r]), (double)value);
    PetscCheck(indices[r] >= 0 && indices[r] < n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the largest value of row %" PetscInt_FMT " is in column %" PetscInt_FMT, c->name, what, r, indices[r]);
    for (PetscInt j = 0; j < indices[r]; j++) {
      const size_t k = transpose ? Place(c, j, r) : Place(c, r, j), last = transpose ? Place(c, indices[r], r) : Place(c, r, indices[r]);

      PetscCheck(!expected->has[k] || PetscAbsScalar(expected->a[k]) != PetscAbsScalar(expected->a[last]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, %s: row %" PetscInt_FMT " has the same value in column %" PetscInt_FMT ", which is before %" PetscInt_FMT, c->name, what, r, j, indices[r]);
    }
    if (value > 0)
      PetscCheck(PetscAbsReal(PetscAbsScalar(expected->a[transpose ? Place(c, indices[r], r) : Place(c, r, indices[r])]) - value) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, %s: column %" PetscInt_FMT " has not the largest value of row %" PetscInt_FMT, c->name, what, indices[r], r);
    else PetscCheck(indices[r] == 0 || largest[r] != (PetscScalar)0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: row %" PetscInt_FMT " has no largest value, but column %" PetscInt_FMT, c->name, what, r, indices[r]);
  }
  PetscCall(PetscSparseCUDAFree(&device_largest, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_indices, c->stream));
  PetscCall(PetscFree2(largest, indices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, largest values, products in both directions, and the entries again with what products have made. */
static PetscErrorCode Check(const Case *c, HiSparse A, const Dense *expected, const char what[])
{
  const PetscInt n = PetscMax(c->m, c->n);
  PetscScalar   *x, *y, *got, *device_x, *device_y;
  PetscReal     *scale;

  PetscFunctionBeginUser;
  PetscCall(CheckEntries(c, A, expected, what));
  PetscCall(CheckLargest(c, A, PETSC_FALSE, expected, what));
  PetscCall(PetscMalloc4(n, &x, n, &y, n, &got, n, &scale));
  for (PetscInt k = 0; k < n; k++) x[k] = KernelTestNumber(k, 5);
  PetscCall(KernelTestToDevice(sizeof(*x) * (size_t)n, x, c->stream, (void **)&device_x));
  PetscCall(KernelTestToDevice(sizeof(*x) * (size_t)n, x, c->stream, (void **)&device_y));
  for (int transpose = 0; transpose < 2; transpose++) {
    const PetscInt ny = transpose ? c->n : c->m;

    PetscCall(PetscArrayzero(y, n));
    for (PetscInt k = 0; k < n; k++) scale[k] = c->single ? (PetscReal)1e7 : 1; // sums of numbers up to 1 that cancel keep their rounding
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt j = 0; j < c->n; j++) {
        const PetscScalar product = expected->has[Place(c, r, j)] ? expected->a[Place(c, r, j)] * x[transpose ? r : j] : 0.0;

        y[transpose ? j : r] += product;
        scale[transpose ? j : r] += (PetscReal)(c->single ? 1e8 : 10) * PetscAbsScalar(product);
      }
    PetscCallCUDA(cudaMemsetAsync(device_y, 0xff, sizeof(*device_y) * (size_t)n, c->stream)); // NaN
    if (transpose) PetscCall(HiSparseMultTranspose(A, PETSC_FALSE, device_x, NULL, device_y, c->stream));
    else PetscCall(HiSparseMult(A, device_x, NULL, device_y, c->stream));
    PetscCall(KernelTestToHost(sizeof(*got) * (size_t)ny, device_y, c->stream, got));
    PetscCall(KernelTestCompareScalars(ny, got, y, scale, transpose ? "A^T x" : "A x", c->name, what));
  }
  PetscCall(PetscSparseCUDAFree(&device_x, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_y, c->stream));
  PetscCall(PetscFree4(x, y, got, scale));
  PetscCall(CheckEntries(c, A, expected, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arguments of a change. */
typedef struct {
  PetscInt       n, *rows, *device_rows;
  unsigned char *flags, *device_flags; /* [max(m, n)] */
  PetscScalar    diag, *x, *b, *device_x, *device_b;
} Arguments;

/* Some rows of every part of the matrix, one of them twice; with diag != 0 mostly such that have a diagonal entry. */
static PetscErrorCode ArgumentsCreate(const Case *c, const Dense *A, PetscInt seed, Arguments *arguments)
{
  const PetscInt max = PetscMax(c->m, c->n);

  PetscFunctionBeginUser;
  arguments->n    = 0;
  arguments->diag = seed % 3 == 0 ? 0.0 : KernelTestNumber(seed, 77);
  PetscCall(PetscMalloc4(c->m + 1, &arguments->rows, max, &arguments->flags, max, &arguments->x, max, &arguments->b));
  PetscCall(PetscArrayzero(arguments->flags, max));
  for (PetscInt k = 0; k < max; k++) {
    arguments->x[k] = KernelTestNumber(k, 8 + seed);
    arguments->b[k] = KernelTestNumber(k, 9 + seed);
  }
  for (PetscInt r = c->m - 1; r >= 0; r--) {
    const PetscBool has = (PetscBool)(r < c->n && A->has[Place(c, r, r)]);

    if ((r * 5 + seed) % 11 >= 2 + seed % 3 && r != c->m - 1) continue;
    if (arguments->diag != (PetscScalar)0.0 && !has && seed % 5) continue;
    arguments->flags[r]               = 1;
    arguments->rows[(arguments->n)++] = r;
  }
  if (arguments->n > 0) arguments->rows[arguments->n] = arguments->rows[arguments->n / 2];
  arguments->n += arguments->n > 0;
  PetscCall(KernelTestToDevice(sizeof(PetscInt) * (size_t)(c->m + 1), arguments->rows, c->stream, (void **)&arguments->device_rows));
  PetscCall(KernelTestToDevice((size_t)max, arguments->flags, c->stream, (void **)&arguments->device_flags));
  PetscCall(KernelTestToDevice(sizeof(PetscScalar) * (size_t)max, arguments->x, c->stream, (void **)&arguments->device_x));
  PetscCall(KernelTestToDevice(sizeof(PetscScalar) * (size_t)max, arguments->b, c->stream, (void **)&arguments->device_b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArgumentsDestroy(const Case *c, Arguments *arguments)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSparseCUDAFree(&arguments->device_rows, c->stream));
  PetscCall(PetscSparseCUDAFree(&arguments->device_flags, c->stream));
  PetscCall(PetscSparseCUDAFree(&arguments->device_x, c->stream));
  PetscCall(PetscSparseCUDAFree(&arguments->device_b, c->stream));
  PetscCall(PetscFree4(arguments->rows, arguments->flags, arguments->x, arguments->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often an entry is in a list: every third of them twice, and one of some lists more often than a thread adds up. */
static PetscInt Times(const Case *c, PetscInt r, PetscInt j, PetscInt seed)
{
  if (seed % 2 && r == c->m / 2 && j == r + c->diagonals[1] * c->block) return 1500;
  return (r + j) % 3 ? 1 : 2;
}

/* A list of all entries, by columns, and its values. */
static PetscErrorCode ListCreate(const Case *c, const Dense *A, PetscInt seed, DCSRList *list, PetscScalar **device_values, PetscScalar sums[])
{
  const size_t size = (size_t)c->m * (size_t)c->n;
  PetscCount   n    = 0;
  PetscInt    *rows, *columns, *device_rows, *device_columns;
  PetscScalar *values;
  DCSRWindow   window = {c->m, c->n, 0, c->m, 0, c->n, PETSC_FALSE};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < size; k++) n += A->has[k];
  PetscCall(PetscMalloc3(2 * n + 1500, &rows, 2 * n + 1500, &columns, 2 * n + 1500, &values));
  n = 0;
  for (PetscInt j = 0; j < c->n; j++)
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt times = 0; A->has[Place(c, r, j)] && times < Times(c, r, j, seed); times++) {
        rows[n]    = r;
        columns[n] = j;
        values[n]  = Times(c, r, j, seed) > 2 ? (PetscScalar)(times % 7 - 3) / 4 : KernelTestNumber((PetscCount)r * c->n + j, 300 + seed + times); // long sums are exact in any order
        if (times) sums[Place(c, r, j)] += values[n];
        else sums[Place(c, r, j)] = values[n];
        n++;
      }
  PetscCall(KernelTestToDevice(sizeof(*rows) * (size_t)n, rows, c->stream, (void **)&device_rows));
  PetscCall(KernelTestToDevice(sizeof(*columns) * (size_t)n, columns, c->stream, (void **)&device_columns));
  PetscCall(KernelTestToDevice(sizeof(*values) * (size_t)n, values, c->stream, (void **)device_values));
  PetscCall(DCSRListCreate(&window, n, device_rows, device_columns, c->stream, list));
  PetscCall(DCSRListFindRuns(list, c->stream));
  PetscCall(DCSRListForgetKeys(list, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_rows, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_columns, c->stream));
  PetscCall(PetscFree3(rows, columns, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A change by a list; its second half of values is in an array of its own. */
static PetscErrorCode ApplyList(const Case *c, HiSparse A, Dense *host, Change change, PetscInt seed, PetscInt fail, PetscErrorCode *ierr, PetscBool *done)
{
  const size_t size = (size_t)c->m * (size_t)c->n;
  DCSRList     list;
  PetscScalar *values, *sums;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(size, &sums));
  PetscCall(ListCreate(c, host, seed, &list, &values, sums));
  PetscCall(PetscSparseCUDATestFailAllocation(fail));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = HiSparseSetList(A, &list, values, values + list.num_given / 2, list.num_given / 2, change == ADD_LIST ? ADD_VALUES : INSERT_VALUES, c->stream, done);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDATestFailAllocation(0));
  if (*ierr == PETSC_SUCCESS && *done)
    for (size_t k = 0; k < size; k++)
      if (host->has[k]) host->a[k] = change == ADD_LIST ? host->a[k] + sums[k] : sums[k];
  PetscCall(PetscSparseCUDAFree(&values, c->stream));
  PetscCall(DCSRListDestroy(&list, c->stream));
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on the host. */
static void ApplyOnHost(const Case *c, Dense *A, Change change, Arguments *s)
{
  for (PetscInt r = 0; r < c->m; r++)
    for (PetscInt j = 0; j < c->n; j++) {
      const size_t k = Place(c, r, j);

      if (!A->has[k]) continue;
      if (change == REMOVE_ZEROS || change == REMOVE_ZEROS_KEEP) {
        if (A->a[k] == (PetscScalar)0.0 && (change == REMOVE_ZEROS || r != j)) A->has[k] = 0;
      } else if (s->flags[r]) {
        if (change == REMOVE_ROWS && (r != j || s->diag == (PetscScalar)0.0)) A->has[k] = 0;
        A->a[k] = r == j ? s->diag : 0.0;
      } else if (change == ZERO_ROWS_COLUMNS && s->flags[j]) {
        s->b[r] -= A->a[k] * s->x[j];
        A->a[k] = 0.0;
      }
    }
}

/* Whether a row that is listed lacks the diagonal entry that it is to have. */
static PetscBool LacksDiagonal(const Case *c, const Dense *A, const Arguments *s)
{
  if (s->diag == (PetscScalar)0.0) return PETSC_FALSE;
  for (PetscInt r = 0; r < PetscMin(c->m, c->n); r++)
    if (s->flags[r] && !A->has[Place(c, r, r)]) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* The facts about what is left. */
static PetscErrorCode CheckDeletion(const Case *c, const Dense *A, const DCSRDeletion *deletion, PetscCount before, PetscInt *shrunk)
{
  PetscCount nz = 0, nonempty = 0, max = 0;

  PetscFunctionBeginUser;
  for (PetscInt r = 0; r < c->m; r++) {
    PetscCount size = 0;

    for (PetscInt j = 0; j < c->n; j++) size += A->has[Place(c, r, j)];
    nz += size;
    nonempty += size > 0;
    max = PetscMax(max, size);
  }
  PetscCheck(deletion->changed == (PetscBool)(nz < before), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: wrong fact about a change", c->name);
  if (!deletion->changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(deletion->num_nonzeros == nz && deletion->num_nonempty_rows == nonempty && deletion->max_row_size == max, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscCount_FMT " entries, %" PetscCount_FMT " rows, %" PetscCount_FMT " in the longest, not %" PetscCount_FMT ", %" PetscCount_FMT ", %" PetscCount_FMT, c->name, deletion->num_nonzeros, deletion->num_nonempty_rows,
             deletion->max_row_size, nz, nonempty, max);
  ++*shrunk;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deletions in the storage; allocation fail fails. */
static PetscErrorCode Delete(const Case *c, HiSparse A, Change change, const Arguments *s, PetscInt fail, DCSRDeletion *deletion, PetscErrorCode *ierr, PetscBool *done)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSparseCUDATestFailAllocation(fail));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (change == ZERO_ROWS) *ierr = HiSparseZeroRows(A, s->n, s->device_rows, s->diag, c->stream, done);
  else if (change == ZERO_ROWS_COLUMNS) *ierr = HiSparseZeroRowsColumns(A, s->n, s->device_rows, s->device_flags, s->diag, s->device_x, s->device_b, c->stream, done);
  else if (change == REMOVE_ROWS) *ierr = HiSparseRemoveRows(A, s->n, s->device_rows, s->diag, c->stream, deletion, done);
  else *ierr = HiSparseRemoveZeros(A, (PetscBool)(change == REMOVE_ZEROS_KEEP), c->stream, deletion, done);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDATestFailAllocation(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyDeletion(const Case *c, HiSparse A, Dense *host, Change change, PetscInt seed, PetscInt fail, PetscErrorCode *ierr, PetscBool *done, PetscInt *shrunk)
{
  const PetscCount before = A->num_nonzeros;
  Arguments        s;
  DCSRDeletion     deletion;
  PetscScalar     *b;

  PetscFunctionBeginUser;
  PetscCall(ArgumentsCreate(c, host, seed, &s));
  PetscCall(Delete(c, A, change, &s, fail, &deletion, ierr, done));
  if (*ierr == PETSC_SUCCESS && *done) {
    PetscCheck(change > REMOVE_ROWS || !LacksDiagonal(c, host, &s), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a row without a diagonal entry", c->name);
    ApplyOnHost(c, host, change, &s);
    if (change >= REMOVE_ROWS) PetscCall(CheckDeletion(c, host, &deletion, before, shrunk));
  } else if (*ierr == PETSC_SUCCESS) PetscCheck(change >= REMOVE_ROWS || LacksDiagonal(c, host, &s), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s was refused", c->name, Changes[change]);
  PetscCall(PetscMalloc1(c->m, &b));
  PetscCall(KernelTestToHost(sizeof(*b) * (size_t)c->m, s.device_b, c->stream, b));
  for (PetscInt r = 0; r < c->m; r++)
    PetscCheck(PetscAbsScalar(b[r] - s.b[r]) <= (PetscReal)(c->single ? 1e-5 : 1e4 * PETSC_MACHINE_EPSILON), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: b[%" PetscInt_FMT "] is %g, not %g", c->name, Changes[change], r, (double)PetscRealPart(b[r]),
               (double)PetscRealPart(s.b[r]));
  PetscCall(PetscFree(b));
  PetscCall(ArgumentsDestroy(c, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(const Case *c, HiSparse A, Dense *host, Change change, PetscInt seed, PetscInt fail, PetscErrorCode *ierr, Statistics *statistics)
{
  PetscBool done;

  PetscFunctionBeginUser;
  if (change >= SET_LIST) PetscCall(ApplyList(c, A, host, change, seed, fail, ierr, &done));
  else PetscCall(ApplyDeletion(c, A, host, change, seed, fail, ierr, &done, &statistics->shrunk));
  if (*ierr == PETSC_SUCCESS && done) statistics->done[change]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes one after the other, beside a copy and a transpose that must not see them. */
static PetscErrorCode TestChanges(const Case *c, HiSparse A, Dense *host, Statistics *statistics)
{
  // each change once, then again
  static const Change order[] = {SET_LIST, REMOVE_ZEROS_KEEP, ZERO_ROWS, ADD_LIST, REMOVE_ZEROS, REMOVE_ROWS, ZERO_ROWS_COLUMNS, REMOVE_ZEROS_KEEP, ADD_LIST, REMOVE_ROWS, REMOVE_ROWS, SET_LIST, REMOVE_ROWS, ZERO_ROWS_COLUMNS, REMOVE_ZEROS};

  PetscFunctionBeginUser;
  for (PetscInt step = 0; step < (small ? NUM_CHANGES : (PetscInt)PETSC_STATIC_ARRAY_LENGTH(order)); step++) {
    HiSparse       copy = NULL, transpose = NULL;
    Dense          before;
    PetscErrorCode ierr;
    PetscBool      done = PETSC_TRUE;

    PetscCall(DenseCopy(c, host, &before));
    if (step % 3 == 1) {
      PetscCall(HiSparseDuplicate(A, c->stream, &copy));
      PetscCall(HiSparseTranspose(A, c->stream, &transpose));
    }
    if (step % 4 == 2) {
      PetscCall(HiSparseScale(A, -2.0, c->stream));
      for (size_t k = 0; k < (size_t)c->m * (size_t)c->n; k++) host->a[k] *= -2.0;
    }
    PetscCall(Apply(c, A, host, order[step], step, 0, &ierr, statistics));
    PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, ierr, "%s: %s failed", c->name, Changes[order[step]]);
    PetscCall(Check(c, A, host, Changes[order[step]]));
    if (copy != NULL) {
      PetscCall(Check(c, copy, &before, "a copy that was left alone"));
      PetscCall(CheckLargest(c, transpose, PETSC_TRUE, &before, "a transpose"));
      PetscCall(HiSparseZeroRows(transpose, 0, NULL, 0.0, c->stream, &done));
      PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a transpose has other rows than what is stored", c->name);
    }
    PetscCall(HiSparseDestroy(&transpose, c->stream));
    PetscCall(HiSparseDestroy(&copy, c->stream));
    PetscCall(DenseDestroy(&before));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation of a change fails once; the matrix is what it was, and nothing is left behind but what it has for itself when it shared before. */
static PetscErrorCode TestFailures(const Case *c, HiSparse A, Dense *host, Change change, PetscBool shared, Statistics *statistics)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  HiSparse       copy = NULL;
  Dense          before;

  PetscFunctionBeginUser;
  PetscCall(DenseCopy(c, host, &before));
  if (shared) PetscCall(HiSparseDuplicate(A, c->stream, &copy));
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    size_t start, end;

    PetscCall(KernelTestMemoryInUse(c->stream, &start));
    PetscCall(Apply(c, A, host, change, 6, n, &ierr, statistics));
    PetscCall(KernelTestMemoryInUse(c->stream, &end));
    PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another error than that of an allocation", c->name);
    PetscCheck(ierr == PETSC_SUCCESS || shared || start == end, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes are left after an error", c->name, Changes[change], end - start);
    PetscCall(CheckEntries(c, A, host, "after a failed allocation"));
    PetscCheck(n < 1000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocations go on failing", c->name);
  }
  PetscCall(Check(c, A, host, "after failed allocations"));
  if (copy != NULL) PetscCall(Check(c, copy, &before, "a copy beside failed allocations"));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(DenseDestroy(&before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix, also as the host has it. */
static PetscErrorCode Create(const Case *c, Dense *host, HiSparse *A)
{
  KernelTestMatrix csr;
  DCSRView         view;

  PetscFunctionBeginUser;
  PetscCall(DenseCreate(c, host));
  PetscCall(ToCSR(c, host, &csr));
  PetscCall(KernelTestViewCreate(&csr, &KernelTestStorages[0], c->stream, &view));
  PetscCall(HiSparseCreate(view, c->format, Precision(c), c->stream, A));
  PetscCheck(*A != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the format does not take it", c->name);
  PetscCall(KernelTestViewDestroy(&view, c->stream));
  PetscCall(KernelTestMatrixDestroy(&csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const Case *shape, HiSparseFormat format, PetscBool single, cudaStream_t stream, Statistics *statistics)
{
  Case     c = *shape;
  Dense    host;
  HiSparse A;
  size_t   before, after;

  PetscFunctionBeginUser;
  c.m *= c.block;
  c.n *= c.block;
  c.stream = stream;
  c.format = format;
  c.single = single;
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(Create(&c, &host, &A));
  PetscCall(TestChanges(&c, A, &host, statistics));
  PetscCall(HiSparseDestroy(&A, stream));
  PetscCall(DenseDestroy(&host));
  for (Change change = ZERO_ROWS; change < NUM_CHANGES && !small; change++) {
    for (int shared = 0; shared < 2; shared++) {
      PetscCall(Create(&c, &host, &A));
      PetscCall(TestFailures(&c, A, &host, change, (PetscBool)shared, statistics));
      PetscCall(HiSparseDestroy(&A, stream));
      PetscCall(DenseDestroy(&host));
    }
  }
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", c.name, after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a case runs in a format and precision, which are f / 2 and f % 2: in the small test each format has one precision, in turn. */
static PetscBool IsTested(const Case *c, PetscInt number, int f, PetscInt only)
{
  if (only >= 0 && only != number) return PETSC_FALSE;
  return (PetscBool)(!small || (c->small && f % 2 == (f / 2 + (int)number) % 2));
}

int main(int argc, char **argv)
{
  PetscInt     only = -1;
  PetscBool    usable;
  Statistics   statistics = {{0}, 0};
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Cases); k++)
      for (int f = 0; f < 2; f++)
        if (IsTested(&Cases[k], (PetscInt)k, f, only)) PetscCall(Test(&Cases[k], HISPARSE_DIAGONALS, (PetscBool)f, stream, &statistics));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(BlockCases); k++)
      for (int f = 0; f < 4; f++)
        if (IsTested(&BlockCases[k], 100 + (PetscInt)k, f, only)) PetscCall(Test(&BlockCases[k], f < 2 ? HISPARSE_BLOCK_DIAGONALS : HISPARSE_BLOCKS, (PetscBool)(f % 2), stream, &statistics));
    for (int change = 0; only < 0 && !small && change < NUM_CHANGES; change++) PetscCheck(statistics.done[change] > 10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was done %" PetscInt_FMT " times", Changes[change], statistics.done[change]);
    PetscCheck(only >= 0 || small || statistics.shrunk > 20, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Only %" PetscInt_FMT " times entries left the storage", statistics.shrunk);
  }
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
