/*
  Matrices in the shapes of real ones; see shapematrix.h.
*/
#include "shapematrix.h"
#include "benchmatrix.h"
#include "shapetable.h"

#define SEED         UINT64_C(17)
#define SHORT_ROW    24 /* entries up to which insertion sorts a row */
#define NUM_NEAREST  4  /* points of a grid to each side that a stencil may reach */
#define MAX_DIAGONAL 27
#define MIN_NONZEROS 300000 /* of a matrix; one with diagonals loses some at the ends */
#define MAX_NONZEROS 8000000
#define FAR_EVERY    8 /* SHAPE_MIXED: one in so many entries lies anywhere */

const char *const ShapeKinds[] = {"diagonals", "blocks", "local", "mixed", "power", "uniform"};

/* 64 random bits that depend on all of the arguments: the finalizer of splitmix64 */
static inline uint64_t Hash(uint64_t row, uint64_t k)
{
  uint64_t z = (row + (SEED << 40)) * UINT64_C(0x9e3779b97f4a7c15) + k * UINT64_C(0xd1b54a32d192ed03);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* From the hash to [0, 1) */
static inline double Uniform(uint64_t row, uint64_t k)
{
  return (double)(Hash(row, k) >> 11) * 0x1p-53;
}

static int64_t Divisor(int64_t a, int64_t b)
{
  while (b != 0) {
    const int64_t c = a % b;

    a = b;
    b = c;
  }
  return a;
}

/* ShapesGet - see shapematrix.h */
PetscErrorCode ShapesGet(PetscInt *n, const Shape **table)
{
  PetscFunctionBegin;
  *n     = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shapes);
  *table = shapes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Exponents for the sizes below the lower quartile, q1 - (q1 - smallest) (1 - t)^p[0], and above the upper one, q3 + (largest - q3) t^p[1], t from 0 to 1, with which the mean of all sizes is that of
  the shape. Below it is a straight line where sizes above can give the mean.
*/
static void GetExponents(const Shape *s, double p[2])
{
  const int32_t *q      = s->sizes;
  const double   middle = 0.5 * (q[1] + q[2]) + 0.5 * (q[2] + q[3]), below = q[1] - q[0], above = q[4] - q[3];
  const double   excess = 4 * s->mean - middle - q[1] - q[3]; // of the parts below and above together, four times what it is in the mean
  double         tail = PetscMin(PetscMax(excess + 0.5 * below, 0), above), lack = tail - excess;

  p[0] = lack > 0 ? PetscMax(below / lack - 1, 0) : 1e6;
  p[1] = tail > 0 ? above / tail - 1 : 1e6;
}

/* The size of the row at u of all rows in ascending order, u in (0, 1): straight lines between quartiles, powers outside of them */
static double SizeAt(const Shape *s, const double p[2], double u)
{
  const int32_t *q       = s->sizes;
  const int      quarter = PetscMin((int)(4 * u), 3);
  const double   t       = 4 * u - quarter;

  if (quarter == 0) return q[1] - (q[1] - q[0]) * pow(1 - t, p[0]);
  return q[quarter] + (q[quarter + 1] - q[quarter]) * (quarter < 3 ? t : pow(t, p[1]));
}

/* Sizes into offsets[1], ...; all positions of the distribution once, in a scattered order. Rows of a block have one size. */
static PetscErrorCode CountRows(const Shape *s, int32_t offsets[])
{
  const int32_t block = PetscMax(s->block, 1);
  const int64_t n     = s->rows / block;
  int64_t       step = (int64_t)(0.6180339887 * (double)n) + 1, total = 0;
  double        exponents[2];

  PetscFunctionBegin;
  GetExponents(s, exponents);
  while (Divisor(step, n) != 1) step++;
  offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    const double  u    = ((double)(i * step % n) + 0.5) / (double)n;
    const int32_t size = PetscMin(block * (int32_t)(SizeAt(s, exponents, u) / block + 0.5), s->columns);

    for (int32_t k = 0; k < block; k++) {
      total += size;
      PetscCheck(total <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s has too many nonzeros", s->name);
      offsets[i * block + k + 1] = (int32_t)total;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SortRow(int32_t n, int32_t columns[])
{
  PetscFunctionBegin;
  if (n > SHORT_ROW) {
    PetscCall(PetscSortMPIInt(n, columns));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int32_t i = 1; i < n; i++) {
    const int32_t column = columns[i];
    int32_t       k      = i;

    for (; k > 0 && columns[k - 1] > column; k--) columns[k] = columns[k - 1];
    columns[k] = column;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorted columns become distinct: an equal one moves up to the next position, and what leaves the matrix at its end moves down. n <= width */
static void Separate(int32_t n, int32_t width, int32_t columns[])
{
  for (int32_t i = 1; i < n; i++) columns[i] = PetscMax(columns[i], columns[i - 1] + 1);
  for (int32_t i = n - 1; i >= 0 && columns[i] > width - n + i; i--) columns[i] = width - n + i;
}

/* A column for the entry k of n of a row, in a matrix of rows x width; not distinct yet */
static int32_t DrawColumn(ShapeKind kind, int64_t row, int64_t rows, int32_t width, int32_t n, int32_t k)
{
  const double  u      = Uniform((uint64_t)row, (uint64_t)k);
  const int64_t center = row * width / rows;
  int64_t       band   = PetscMax((int64_t)cbrt((double)width * (double)width), 2 * (int64_t)n), column;

  switch (kind) {
  case SHAPE_POWER:
    column = (int64_t)((double)width * u * u * u * u);
    break;
  case SHAPE_UNIFORM:
    column = (int64_t)((double)width * u);
    break;
  default:
    if (kind == SHAPE_MIXED && k % FAR_EVERY == FAR_EVERY - 1) column = (int64_t)((double)width * u);
    else if (k < (n + 1) / 2) column = center - n / 4 + k;
    else column = center + (int64_t)(2 * (double)band * u) - band;
  }
  return (int32_t)PetscMin(PetscMax(column, 0), width - 1);
}

/* Columns of the rows of one block, or of one row where blocks have one */
static PetscErrorCode FillRows(const Shape *s, int64_t row, ShapeMatrix *m)
{
  const int32_t block = PetscMax(s->block, 1), size = m->offsets[row + 1] - m->offsets[row], n = size / block;
  int32_t      *first = PetscSafePointerPlusOffset(m->columns, m->offsets[row]);

  PetscFunctionBegin;
  for (int32_t k = 0; k < n; k++) first[k] = DrawColumn(s->kind, row / block, s->rows / block, s->columns / block, n, k);
  PetscCall(SortRow(n, first));
  Separate(n, s->columns / block, first);
  // columns of blocks become those of entries, from the last on: they are in the same array
  for (int32_t k = size - 1; k >= 0; k--) first[k] = first[k / block] * block + k % block;
  for (int32_t r = 1; r < block; r++) PetscCall(PetscArraycpy(m->columns + m->offsets[row + r], first, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nearest points of a grid, the center first, as distances in rows of the matrix, ascending. On a grid of three dimensions where the stencil has seven points or more than nine. */
static PetscErrorCode Stencil(const Shape *s, int32_t n, int32_t offsets[])
{
  const PetscBool volume = (PetscBool)(n == 7 || n > 9);
  const int32_t   nx     = (int32_t)PetscMax(volume ? cbrt((double)s->rows) : PetscSqrtReal((PetscReal)s->rows), 2 * NUM_NEAREST + 1);
  int32_t         found  = 0;

  PetscFunctionBegin;
  for (int32_t distance = 0; distance <= 3 * NUM_NEAREST * NUM_NEAREST && found < n; distance++) {
    for (int32_t z = volume ? -NUM_NEAREST : 0; z <= (volume ? NUM_NEAREST : 0); z++)
      for (int32_t y = -NUM_NEAREST; y <= NUM_NEAREST; y++)
        for (int32_t x = -NUM_NEAREST; x <= NUM_NEAREST; x++)
          if (x * x + y * y + z * z == distance && found < n) offsets[found++] = x + nx * (y + nx * z);
  }
  PetscCheck(found == n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: no stencil has %d points", s->name, n);
  PetscCall(SortRow(n, offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stencil of as many points as the largest row has; what lies outside of the matrix is left out. */
static PetscErrorCode CreateDiagonals(ShapeMatrix *m)
{
  const Shape  *s = m->shape;
  const int32_t n = s->sizes[4];
  int32_t       distances[MAX_DIAGONAL], k = 0;

  PetscFunctionBegin;
  PetscCheck(n <= MAX_DIAGONAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s has rows too long for diagonals", s->name);
  PetscCall(Stencil(s, n, distances));
  PetscCall(PetscMalloc1((size_t)n * (size_t)s->rows, &m->columns));
  m->offsets[0] = 0;
  for (int32_t r = 0; r < s->rows; r++) {
    for (int32_t i = 0; i < n; i++)
      if (r + distances[i] >= 0 && r + distances[i] < s->columns) m->columns[k++] = r + distances[i];
    m->offsets[r + 1] = k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ShapeMatrixCreate - see shapematrix.h */
PetscErrorCode ShapeMatrixCreate(const Shape *s, ShapeMatrix *m)
{
  PetscFunctionBegin;
  m->shape   = s;
  m->columns = NULL;
  PetscCall(PetscMalloc1((size_t)s->rows + 1, &m->offsets));
  if (s->kind == SHAPE_DIAGONALS) {
    PetscCall(CreateDiagonals(m));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CountRows(s, m->offsets));
  PetscCall(PetscMalloc1(m->offsets[s->rows], &m->columns));
  for (int32_t r = 0; r < s->rows; r += PetscMax(s->block, 1)) PetscCall(FillRows(s, r, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ShapeMatrixDestroy - frees all of it */
PetscErrorCode ShapeMatrixDestroy(ShapeMatrix *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(m->columns));
  PetscCall(PetscFree(m->offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ShapeMatrixCheck - see shapematrix.h */
PetscErrorCode ShapeMatrixCheck(const ShapeMatrix *m)
{
  const Shape *s = m->shape;

  PetscFunctionBegin;
  PetscCheck(m->offsets[s->rows] >= MIN_NONZEROS && m->offsets[s->rows] <= MAX_NONZEROS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has %d nonzeros", s->name, m->offsets[s->rows]);
  PetscCheck(m->offsets[0] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row 0 does not begin at 0", s->name);
  for (int32_t r = 0; r < s->rows; r++) {
    PetscCheck(m->offsets[r] <= m->offsets[r + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %d has a negative size", s->name, r);
    for (int32_t k = m->offsets[r]; k < m->offsets[r + 1]; k++) {
      const int32_t least = k > m->offsets[r] ? m->columns[k - 1] + 1 : 0;

      PetscCheck(m->columns[k] >= least && m->columns[k] < s->columns, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %d of row %d has column %d", s->name, k - m->offsets[r], r, m->columns[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ShapeMatrixPrint - see shapematrix.h */
PetscErrorCode ShapeMatrixPrint(const ShapeMatrix *m)
{
  const Shape *s = m->shape;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-28s %8d x %8d %8d nonzeros, rows %5d to %7d, %-9s", s->name, s->rows, s->columns, m->offsets[s->rows], s->sizes[0], s->sizes[4], ShapeKinds[s->kind]));
  if (s->block > 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, " of %d", s->block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ShapeMatrixCreateView - see shapematrix.h */
PetscErrorCode ShapeMatrixCreateView(const ShapeMatrix *m, cudaStream_t stream, DCSRView *view)
{
  const Shape     *s  = m->shape;
  const PetscCount nz = m->offsets[s->rows];

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(s->rows, s->columns, nz, PETSC_FALSE, stream, view));
  PetscCall(PetscSparseCUDACopyToDevice(view->row_offsets, m->offsets, ((size_t)s->rows + 1) * sizeof(int32_t), stream));
  PetscCall(PetscSparseCUDACopyToDevice(view->columns, m->columns, (size_t)nz * sizeof(int32_t), stream));
  PetscCall(BenchVectorCreate(nz, 1, stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
