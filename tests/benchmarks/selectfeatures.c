static char help[] = "Features of matrices: the counts of the device against plain loops on the host, and what is made of them.\n\n";

#include "mat/kernels/entries/kerneltest.h"
#include "select/selectfeatures.h"
#include <petscsparsecuda/sys.h>

/* A row's runs, up to FEATURES_LONG entries. */
static void CountRow(const PetscInt j[], PetscInt n, SelectFeatureCounts *c)
{
  unsigned long long runs = 0, length = 0;

  for (PetscInt k = 0; k <= n; k++) {
    if (k < n && k > 0 && j[k] == j[k - 1] + 1) {
      length++;
      continue;
    }
    if (length > 0) {
      runs++;
      c->length_squares += length * length;
      c->min_run = PetscMin(c->min_run, length);
      c->max_run = PetscMax(c->max_run, length);
    }
    length = 1;
  }
  c->runs += runs;
  c->run_squares += runs * runs;
  c->min_runs = PetscMin(c->min_runs, runs);
  c->max_runs = PetscMax(c->max_runs, runs);
}

/* Entries of a row that the row before has, too. */
static unsigned long long CountSimilar(const PetscInt j[], PetscInt n, const PetscInt above[], PetscInt num_above)
{
  unsigned long long similar = 0;

  for (PetscInt k = 0; k < n; k++)
    for (PetscInt l = 0; l < num_above; l++) similar += above[l] == j[k];
  return similar;
}

static void CountSlice(const KernelTestMatrix *A, PetscInt first, SelectFeatureCounts *c)
{
  const PetscInt last  = PetscMin(first + FEATURES_SLICE_ROWS, A->m);
  PetscInt       least = PETSC_INT_MAX, most = -1;

  c->slices++;
  for (PetscInt r = first; r < last; r++) {
    const PetscInt *j = A->j + A->i[r], size = A->i[r + 1] - A->i[r], n = PetscMin(size, FEATURES_LONG);

    c->rows++;
    c->entries += (unsigned long long)n;
    CountRow(j, n, c);
    for (PetscInt k = 0; k < n; k++) c->distance += (unsigned long long)PetscAbsInt(j[k] - r);
    if (r > first) {
      c->compared += (unsigned long long)n;
      c->similar += CountSimilar(j, n, A->j + A->i[r - 1], PetscMin(A->i[r] - A->i[r - 1], FEATURES_LONG));
    }
    if (size == 0) continue;
    least = PetscMin(least, j[0]);
    most  = PetscMax(most, j[size - 1]);
  }
  if (most >= 0) c->spread += (unsigned long long)(most - least + 1);
}

static void Count(const KernelTestMatrix *A, SelectFeatureCounts *c)
{
  const PetscInt num_slices = (A->m + FEATURES_SLICE_ROWS - 1) / FEATURES_SLICE_ROWS, n = PetscMin(num_slices, FEATURES_SLICES);

  (void)PetscArrayzero(c, 1);
  c->min_row = c->min_runs = c->min_run = ~0ull;
  for (PetscInt r = 0; r < A->m; r++) {
    const unsigned long long size = (unsigned long long)(A->i[r + 1] - A->i[r]);

    c->min_row = PetscMin(c->min_row, size);
    c->max_row = PetscMax(c->max_row, size);
    c->squares += size * size;
    c->empty += size == 0;
  }
  for (PetscInt k = 0; k < n && A->nz > 0; k++) CountSlice(A, (PetscInt)((PetscCount)k * num_slices / n) * FEATURES_SLICE_ROWS, c);
}

#define COMPARE(field) PetscCheck(got.field == expected.field, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, " #field ": %llu, not %llu", A->name, got.field, expected.field)

static PetscErrorCode CompareCounts(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  SelectFeatureCounts got, expected;

  PetscFunctionBegin;
  if (A->m == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SelectFeaturesCount(view, stream, &got));
  Count(A, &expected);
  COMPARE(min_row);
  COMPARE(max_row);
  COMPARE(squares);
  COMPARE(empty);
  COMPARE(slices);
  COMPARE(rows);
  COMPARE(entries);
  COMPARE(runs);
  COMPARE(run_squares);
  COMPARE(min_runs);
  COMPARE(max_runs);
  COMPARE(min_run);
  COMPARE(max_run);
  COMPARE(length_squares);
  COMPARE(similar);
  COMPARE(compared);
  COMPARE(distance);
  COMPARE(spread);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Near(const double f[], SelectFeature which, double expected, const char name[])
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal((PetscReal)(f[which] - expected)) <= (PetscReal)1e-5 * (1 + PetscAbsReal((PetscReal)expected)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %g, not %g", name,
             SelectFeatureNames[which], f[which], expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every feature is a number, and those of row sizes are what the arrays say. */
static PetscErrorCode CheckFeatures(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  double f[SELECT_NUM_FEATURES], squares = 0, mean = A->m > 0 ? (double)A->nz / (double)A->m : 0;

  PetscFunctionBegin;
  PetscCall(SelectFeaturesGet(view, stream, f));
  for (int k = 0; k < SELECT_NUM_FEATURES; k++) PetscCheck(f[k] >= 0 && f[k] < 1e300, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %g", A->name, SelectFeatureNames[k], f[k]);
  for (PetscInt r = 0; r < A->m; r++) squares += PetscSqr((double)(A->i[r + 1] - A->i[r]) - mean);
  PetscCall(Near(f, SELECT_FEATURE_N_ROWS, (double)A->m, A->name));
  PetscCall(Near(f, SELECT_FEATURE_NNZ_MU, mean, A->name));
  PetscCall(Near(f, SELECT_FEATURE_NNZ_SIG, A->m > 0 ? (double)PetscSqrtReal((PetscReal)(squares / (double)A->m)) : 0, A->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CompareCounts(A, view, stream));
  PetscCall(CheckFeatures(A, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of m rows whose row r has runs of the length r % longest, one column apart, as many as fit into so many columns. */
static PetscErrorCode CreateRuns(PetscInt m, PetscInt n, PetscInt longest, PetscInt most, KernelTestMatrix *A)
{
  PetscFunctionBegin;
  A->name = "runs";
  A->m    = m;
  A->n    = n;
  A->nz   = 0;
  PetscCall(PetscMalloc1(m + 1, &A->i));
  PetscCall(PetscMalloc1((PetscCount)m * most, &A->j));
  PetscCall(PetscMalloc1((PetscCount)m * most, &A->a));
  for (PetscInt r = 0; r < m; r++) {
    const PetscInt length = r % longest;

    A->i[r] = (PetscInt)A->nz;
    for (PetscInt k = 0, column = r % 7; length > 0 && k < most && column < n; k++, column++) {
      if (k > 0 && k % length == 0) column++;
      if (column >= n) break;
      A->a[A->nz]   = 1;
      A->j[A->nz++] = column;
    }
  }
  A->i[m] = (PetscInt)A->nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs of all lengths across chunks of 32 entries, rows above the limit of what is looked at, and more rows than the sample has. */
static PetscErrorCode TestRuns(void)
{
  const PetscInt          sizes[][4] = {{300, 3000, 70, 200}, {40, 3000, 2000, 2500}, {3, 40, 40, 40}, {0, 5, 2, 2}, {140000, 30, 5, 6}, {129, 1, 2, 1}};
  const KernelTestStorage compact    = {"compact", PETSC_FALSE, 0, 0};
  cudaStream_t            stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    KernelTestMatrix A;
    DCSRView         view;

    PetscCall(CreateRuns(sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3], &A));
    PetscCall(KernelTestViewCreate(&A, &compact, stream, &view));
    PetscCall(Test(&A, &compact, view, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
    PetscCall(PetscFree(A.i));
    PetscCall(PetscFree(A.j));
    PetscCall(PetscFree(A.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(KernelTestRun(Test));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(TestRuns());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: cuda
    output_file: output/empty.out
    test:
      suffix: 1

TEST*/
