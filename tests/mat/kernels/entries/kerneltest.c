/*
  Shapes that kernels tend to get wrong; see kerneltest.h.
*/
#include "../../../lib/kernels.h"
#include "kerneltest.h"

const KernelTestStorage KernelTestStorages[]  = {{"compact", PETSC_FALSE, 0, 0},        {"compact wide", PETSC_TRUE, 0, 0},        {"fragmented 1+2", PETSC_FALSE, 1, 2},
                                                 {"fragmented 4+3", PETSC_FALSE, 4, 3}, {"fragmented 3+0 wide", PETSC_TRUE, 3, 0}, {"fragmented 4+1 wide", PETSC_TRUE, 4, 1}};
const PetscInt          KernelTestNumStorages = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(KernelTestStorages);

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t Hash(uint64_t i, uint64_t seed)
{
  uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

/* KernelTestNumber - a number that depends on nothing but its arguments */
PetscScalar KernelTestNumber(PetscCount index, PetscInt seed)
{
  const PetscReal re = (PetscReal)((double)(Hash((uint64_t)index, 2 * (uint64_t)seed) >> 11) * 0x1p-52 - 1.0);

#if PetscDefined(USE_COMPLEX)
  return re + PETSC_i * (PetscReal)((double)(Hash((uint64_t)index, 2 * (uint64_t)seed + 1) >> 11) * 0x1p-52 - 1.0);
#else
  return re;
#endif
}

/* KernelTestRound - a number as it is stored in single precision. Without volatile GCC 12 leaves out the rounding of both parts of a complex number. */
PetscScalar KernelTestRound(PetscScalar v)
{
  volatile const float re = (float)PetscRealPart(v);

#if PetscDefined(USE_COMPLEX)
  volatile const float im = (float)PetscImaginaryPart(v);

  return PetscCMPLX(re, im);
#else
  return re;
#endif
}

typedef enum {
  RANDOM,       /* row_size random columns, a third of the rows empty, diagonals missing */
  GRID,         /* five-point stencil, n = m */
  POWER_LAW,    /* row r has row_size / (1 + r) columns */
  LONG_ROW,     /* row m / 2 is full, the others have row_size columns */
  DENSE_COLUMN, /* row_size random columns and the middle one */
  HYPERSPARSE,  /* one row in a thousand is not empty */
  BLOCKS        /* block tridiagonal with full blocks of row_size */
} Pattern;

typedef struct {
  const char *name;
  PetscInt    m, n, row_size;
  Pattern     pattern;
} Shape;

static const Shape shapes[] = {{"1x1", 1, 1, 1, LONG_ROW},
                               {"0x0", 0, 0, 0, RANDOM},
                               {"0x5", 0, 5, 0, RANDOM},
                               {"5x0", 5, 0, 0, RANDOM},
                               {"no entries", 700, 900, 0, RANDOM},
                               {"one column", 3000, 1, 1, RANDOM},
                               {"one row", 1, 3000, 3000, LONG_ROW},
                               {"tall", 20000, 37, 5, RANDOM},
                               {"wide", 37, 20000, 700, RANDOM},
                               {"grid", 32400, 32400, 180, GRID},
                               {"random", 5000, 5000, 40, RANDOM},
                               {"power law", 4000, 6000, 5500, POWER_LAW},
                               {"row of 1 M", 3000, 1000000, 3, LONG_ROW},
                               {"dense column", 150000, 10000, 4, DENSE_COLUMN},
                               {"hypersparse", 300000, 5000, 3, HYPERSPARSE},
                               {"blocks", 9000, 9000, 9, BLOCKS}};

/* Random columns of a row, sorted and distinct; *size is how many there are. */
static PetscErrorCode RandomColumns(PetscInt n, PetscInt wanted, PetscInt row, PetscInt *size, PetscInt columns[])
{
  PetscFunctionBegin;
  *size = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < wanted; k++) columns[k] = (PetscInt)(Hash((uint64_t)k, (uint64_t)row + 17) % (uint64_t)n);
  *size = wanted;
  PetscCall(PetscSortRemoveDupsInt(size, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowColumns(const Shape *s, PetscInt row, PetscInt *size, PetscInt columns[])
{
  PetscInt k = 0;

  PetscFunctionBegin;
  *size = 0;
  switch (s->pattern) {
  case RANDOM:
    if (row % 3 != 1) PetscCall(RandomColumns(s->n, s->row_size, row, size, columns));
    break;
  case GRID:
    if (row >= s->row_size) columns[k++] = row - s->row_size;
    if (row % s->row_size > 0) columns[k++] = row - 1;
    columns[k++] = row;
    if (row % s->row_size < s->row_size - 1) columns[k++] = row + 1;
    if (row < s->m - s->row_size) columns[k++] = row + s->row_size;
    *size = k;
    break;
  case POWER_LAW:
    PetscCall(RandomColumns(s->n, s->row_size / (1 + row), row, size, columns));
    break;
  case LONG_ROW:
    if (row == s->m / 2) {
      for (PetscInt c = 0; c < s->n; c++) columns[c] = c;
      *size = s->n;
    } else PetscCall(RandomColumns(s->n, s->row_size, row, size, columns));
    break;
  case DENSE_COLUMN:
    PetscCall(RandomColumns(s->n, s->row_size, row, size, columns));
    columns[*size] = s->n / 2;
    (*size)++;
    PetscCall(PetscSortRemoveDupsInt(size, columns));
    break;
  case HYPERSPARSE:
    if (row % 1000 == 321) PetscCall(RandomColumns(s->n, s->row_size, row, size, columns));
    break;
  case BLOCKS:
    for (PetscInt b = row / s->row_size - 1; b <= row / s->row_size + 1; b++) {
      if (b < 0 || b >= s->m / s->row_size) continue;
      for (PetscInt d = 0; d < s->row_size; d++) columns[k++] = b * s->row_size + d;
    }
    *size = k;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMatrixCreate - the matrix of a shape; the same in every run */
PetscErrorCode KernelTestMatrixCreate(PetscInt shape, KernelTestMatrix *A, PetscBool *exists)
{
  const Shape *s;
  PetscInt    *columns, size;

  PetscFunctionBegin;
  *exists = shape < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shapes) ? PETSC_TRUE : PETSC_FALSE;
  if (!*exists) PetscFunctionReturn(PETSC_SUCCESS);
  s       = &shapes[shape];
  A->name = s->name;
  A->m    = s->m;
  A->n    = s->n;
  PetscCall(PetscMalloc1(s->m + 1, &A->i));
  PetscCall(PetscMalloc1(s->n + 3 * s->row_size + 8, &columns));
  A->i[0] = 0;
  for (PetscInt r = 0; r < s->m; r++) {
    PetscCall(RowColumns(s, r, &size, columns));
    A->i[r + 1] = A->i[r] + size;
  }
  A->nz = A->i[s->m];
  PetscCall(PetscMalloc2(A->nz, &A->j, A->nz, &A->a));
  for (PetscInt r = 0; r < s->m; r++) {
    PetscCall(RowColumns(s, r, &size, columns));
    PetscCall(PetscArraycpy(PetscSafePointerPlusOffset(A->j, A->i[r]), columns, size));
  }
  // some zeros and some equal absolute values, for the row maxima
  for (PetscCount k = 0; k < A->nz; k++) A->a[k] = k % 11 == 3 ? 0.0 : (k % 7 == 2 ? (k % 2 ? 2.0 : -2.0) : KernelTestNumber(k, 1));
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMatrixDestroy - frees the host arrays */
PetscErrorCode KernelTestMatrixDestroy(KernelTestMatrix *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->i));
  PetscCall(PetscFree2(A->j, A->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestViewAllocate - compact storage with uninitialized arrays */
PetscErrorCode KernelTestViewAllocate(PetscInt m, PetscInt n, PetscCount nz, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  char *offsets = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(view, sizeof(*view)));
  view->num_rows     = m;
  view->num_columns  = n;
  view->num_nonzeros = view->capacity = view->used = nz;
  view->wide                                       = wide;
  PetscCall(PetscSparseCUDAMalloc((size_t)(m + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), "test offsets", stream, &offsets));
  view->row_offsets = offsets;
  PetscCall(PetscSparseCUDAMalloc(nz, "test columns", stream, &view->columns));
  PetscCall(PetscSparseCUDAMalloc(nz, "test values", stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FragmentCreate(DCSRView from, PetscInt max_segments, PetscInt slack, cudaStream_t stream, DCSRView *to)
{
  char *segments = NULL;

  PetscFunctionBegin;
  *to              = from;
  to->row_offsets  = NULL;
  to->max_segments = max_segments;
  to->pitch        = (PetscCount)from.num_rows + 5;
  PetscCall(DCSRFragmentCapacity(from, max_segments, slack, stream, &to->capacity));
  to->capacity += 13;
  PetscCall(PetscSparseCUDAMalloc(2 * (size_t)to->pitch * (size_t)max_segments * (from.wide ? sizeof(int64_t) : sizeof(int32_t)), "test segments", stream, &segments));
  to->segments  = segments;
  to->row_sizes = NULL;
  to->columns   = NULL;
  to->values    = NULL;
  if (!from.wide && max_segments > 1) PetscCall(PetscSparseCUDAMalloc((PetscCount)from.num_rows + 1, "test base", stream, &to->base_offsets));
  PetscCall(PetscSparseCUDAMalloc(from.num_rows, "test row sizes", stream, &to->row_sizes));
  PetscCall(PetscSparseCUDAMalloc(to->capacity, "test columns", stream, &to->columns));
  PetscCall(PetscSparseCUDAMalloc(to->capacity, "test values", stream, &to->values));
  // what nobody may read is not a number and not an index
  PetscCallCUDA(cudaMemsetAsync(to->columns, 0x7f, (size_t)to->capacity * sizeof(*to->columns), stream));
  PetscCallCUDA(cudaMemsetAsync(to->values, 0xff, (size_t)to->capacity * sizeof(*to->values), stream));
  PetscCall(DCSRFragment(from, slack, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestViewCreate - a host matrix in device storage */
PetscErrorCode KernelTestViewCreate(const KernelTestMatrix *A, const KernelTestStorage *storage, cudaStream_t stream, DCSRView *view)
{
  DCSRView compact;

  PetscFunctionBegin;
  PetscCall(KernelTestViewAllocate(A->m, A->n, A->nz, storage->wide, stream, &compact));
  PetscCall(DCSRCopyOffsetsToDevice((PetscCount)A->m + 1, A->i, storage->wide, compact.row_offsets, stream));
  PetscCall(DCSRCopyColumnsToDevice(A->nz, A->j, compact.columns, stream));
  if (A->nz) PetscCallCUDA(cudaMemcpyAsync(compact.values, A->a, (size_t)A->nz * sizeof(*A->a), cudaMemcpyHostToDevice, stream));
  *view = compact;
  if (storage->max_segments) {
    PetscCall(FragmentCreate(compact, storage->max_segments, storage->slack, stream, view));
    PetscCall(KernelTestViewDestroy(&compact, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestViewDestroy - frees the device arrays */
PetscErrorCode KernelTestViewDestroy(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMatrixFromView - through DCSRDefragment(), which the convert test checks by itself */
PetscErrorCode KernelTestMatrixFromView(DCSRView view, cudaStream_t stream, KernelTestMatrix *A)
{
  DCSRView compact;

  PetscFunctionBegin;
  PetscCall(KernelTestViewAllocate(view.num_rows, view.num_columns, view.num_nonzeros, view.wide, stream, &compact));
  PetscCall(DCSRDefragment(view, compact, stream));
  A->name = "from the device";
  A->m    = view.num_rows;
  A->n    = view.num_columns;
  A->nz   = view.num_nonzeros;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(A->nz, &A->j, A->nz, &A->a));
  PetscCall(DCSRCopyOffsetsToHost((PetscCount)A->m + 1, compact.row_offsets, compact.wide, A->i, stream));
  PetscCall(DCSRCopyColumnsToHost(A->nz, compact.columns, A->j, stream));
  PetscCall(KernelTestToHost((size_t)A->nz * sizeof(*A->a), compact.values, stream, A->a));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(KernelTestViewDestroy(&compact, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMatrixCompare - raises an error at the first difference; tol is relative to 1 + |expected| */
PetscErrorCode KernelTestMatrixCompare(const KernelTestMatrix *got, const KernelTestMatrix *expected, PetscReal tol, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(got->m == expected->m && got->n == expected->n && got->nz == expected->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s has another size", what, expected->name);
  for (PetscInt r = 0; r <= expected->m; r++)
    PetscCheck(got->i[r] == expected->i[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: row offset %" PetscInt_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, what, expected->name, r, got->i[r],
               expected->i[r]);
  for (PetscCount k = 0; k < expected->nz; k++) {
    PetscCheck(got->j[k] == expected->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: column of entry %" PetscCount_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, what, expected->name, k, got->j[k],
               expected->j[k]);
    PetscCheck(PetscAbsScalar(got->a[k] - expected->a[k]) <= tol * (1 + PetscAbsScalar(expected->a[k])), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: %s: value of entry %" PetscCount_FMT " is %g + %g i, not %g + %g i", what, expected->name, k, (double)PetscRealPart(got->a[k]), (double)PetscImaginaryPart(got->a[k]),
               (double)PetscRealPart(expected->a[k]), (double)PetscImaginaryPart(expected->a[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestToDevice - a device copy of host bytes; free it with PetscSparseCUDAFree() */
PetscErrorCode KernelTestToDevice(size_t bytes, const void *host, cudaStream_t stream, void **device)
{
  char *copy = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(bytes, "test array", stream, &copy));
  if (bytes && host) PetscCallCUDA(cudaMemcpyAsync(copy, host, bytes, cudaMemcpyHostToDevice, stream));
  *device = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestToHost - device bytes to the host; synchronizes */
PetscErrorCode KernelTestToHost(size_t bytes, const void *device, cudaStream_t stream, void *host)
{
  PetscFunctionBegin;
  if (bytes) PetscCallCUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestCompareScalars - raises an error at the first number that is off by more than rounding, also by being not a number */
PetscErrorCode KernelTestCompareScalars(PetscCount n, const PetscScalar got[], const PetscScalar expected[], const PetscReal scale[], const char what[], const char matrix[], const char storage[])
{
  PetscFunctionBegin;
  for (PetscCount k = 0; k < n; k++) {
    const PetscReal tol = scale ? 200 * PETSC_MACHINE_EPSILON * scale[k] : 0;

    PetscCheck(PetscAbsScalar(got[k] - expected[k]) <= tol, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s: number %" PetscCount_FMT " is %g + %g i, not %g + %g i (tolerance %g)", what, matrix,
               storage, k, (double)PetscRealPart(got[k]), (double)PetscImaginaryPart(got[k]), (double)PetscRealPart(expected[k]), (double)PetscImaginaryPart(expected[k]), (double)tol);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMemoryInUse - see kerneltest.h; synchronizes */
PetscErrorCode KernelTestMemoryInUse(cudaStream_t stream, size_t *now)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAGetMemoryInUse(now, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunShape(const KernelTestMatrix *A, KernelTestFn *test, cudaStream_t stream)
{
  size_t before, after;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < KernelTestNumStorages; s++) {
    DCSRView view;

    PetscCall(KernelTestMemoryInUse(stream, &before));
    PetscCall(KernelTestViewCreate(A, &KernelTestStorages[s], stream, &view));
    PetscCall(test(A, &KernelTestStorages[s], view, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes of device memory leaked", A->name, KernelTestStorages[s].name, after - before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestRun - runs a test on all shapes, in all storages; does nothing without a usable device */
PetscErrorCode KernelTestRun(KernelTestFn *test)
{
  PetscBool        usable, exists = PETSC_TRUE;
  PetscInt         only = -1;
  KernelTestMatrix A;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-shape", &only, NULL));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (PetscInt shape = only < 0 ? 0 : only; exists; shape++) {
    PetscCall(KernelTestMatrixCreate(shape, &A, &exists));
    if (!exists) break;
    PetscCall(RunShape(&A, test, stream));
    PetscCall(KernelTestMatrixDestroy(&A));
    if (only >= 0) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KernelTestMain - KernelTestRun() between PetscInitialize() and PetscFinalize() */
PetscErrorCode KernelTestMain(int argc, char **argv, const char help[], KernelTestFn *test)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(KernelTestRun(test));
  PetscCall(PetscFinalize());
  return PETSC_SUCCESS;
}
