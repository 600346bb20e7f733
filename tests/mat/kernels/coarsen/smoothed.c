static char help[] =
  "Prolongators that are smoothed and filtered at once against the host: all shapes that are square, offsets of either width, rows without tentative entry, without diagonal entry, that touch too many aggregates.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/filter.h>
#include <petscsparsecuda/tentative.h>

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOLERANCE 1e-4
#else
  #define TOLERANCE 1e-11
#endif

#define FACTOR    ((PetscReal)-0.7)
#define THRESHOLD ((PetscReal)0.3)
#define FEWEST    128 // coarse numbers that a row may touch at least

/* The aggregate of a vertex; a negative number: it is in none. Vertices that follow each other are mostly in the same one, so that rows of many entries touch few. */
static PetscInt GetNumber(PetscInt vertex, PetscInt num_coarse)
{
  if (vertex % 29 == 17) return -1;
  return vertex % 11 == 5 ? (PetscInt)(((PetscInt64)vertex * 7919) % num_coarse) : vertex / 9 % num_coarse;
}

/* P0 with rows of one entry or none. */
static PetscErrorCode CreateTentative(PetscInt m, PetscInt n, KernelTestMatrix *P0)
{
  PetscFunctionBegin;
  P0->name = "tentative";
  P0->m    = m;
  P0->n    = n;
  P0->nz   = 0;
  PetscCall(PetscMalloc3(m + 1, &P0->i, m, &P0->j, m, &P0->a));
  P0->i[0] = 0;
  for (PetscInt row = 0; row < m; row++) {
    const PetscInt number = GetNumber(row, n);

    if (number >= 0) {
      P0->j[P0->nz]   = number;
      P0->a[P0->nz++] = KernelTestNumber(row, 3) + (PetscReal)1.5;
    }
    P0->i[row + 1] = (PetscInt)P0->nz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of P [num_coarse], and which entries there are; *num: how many, without the filter. */
static PetscErrorCode SmoothRow(const KernelTestMatrix *A, const KernelTestMatrix *P0, PetscInt row, PetscScalar values[], PetscBool there[], PetscInt *num)
{
  PetscScalar inverse = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(values, P0->n));
  PetscCall(PetscArrayzero(there, P0->n));
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt at = P0->i[A->j[k]];

    if (A->j[k] == row && A->a[k] != (PetscScalar)0) inverse = (PetscScalar)1 / A->a[k];
    if (P0->i[A->j[k] + 1] == at) continue;
    values[P0->j[at]] += A->a[k] * P0->a[at];
    there[P0->j[at]] = PETSC_TRUE;
  }
  for (PetscInt c = 0; c < P0->n; c++) values[c] *= FACTOR * inverse;
  if (P0->i[row + 1] > P0->i[row]) {
    values[P0->j[P0->i[row]]] += P0->a[P0->i[row]];
    there[P0->j[P0->i[row]]] = PETSC_TRUE;
  }
  *num = 0;
  for (PetscInt c = 0; c < P0->n; c++) *num += there[c] == PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* near: the decision about an entry, or the scale, hangs on rounding. */
static void FilterRow(PetscInt n, const PetscReal coarse[], PetscScalar values[], PetscBool there[], PetscBool *near)
{
  PetscReal   largest = 0;
  PetscScalar kept = 0, lost = 0;

  *near = PETSC_FALSE;
  for (PetscInt c = 0; c < n; c++)
    if (there[c]) largest = PetscMax(largest, PetscAbsScalar(values[c]));
  for (PetscInt c = 0; c < n; c++) {
    const PetscReal size = PetscAbsScalar(values[c]);

    if (!there[c]) continue;
    *near = (PetscBool)(*near || PetscAbsReal(size - THRESHOLD * largest) <= TOLERANCE * largest || (size > 0 && size <= TOLERANCE));
    if (size < THRESHOLD * largest || size == 0) {
      there[c] = PETSC_FALSE;
      lost += values[c] * coarse[c];
    } else kept += values[c] * coarse[c];
  }
  *near = (PetscBool)(*near || PetscAbsReal(PetscAbsScalar(kept + lost) - (PetscReal)DCSR_FILTER_LARGEST_SCALE * PetscAbsScalar(kept)) <= TOLERANCE * 1e4 || PetscAbsScalar(kept) <= 1e-3 * largest);
  if (PetscAbsScalar(kept + lost) > 0 && (PetscReal)DCSR_FILTER_LARGEST_SCALE * PetscAbsScalar(kept) > PetscAbsScalar(kept + lost))
    for (PetscInt c = 0; c < n; c++) values[c] *= (kept + lost) / kept;
}

static PetscErrorCode CompareRow(const KernelTestMatrix *got, PetscInt row, const PetscScalar values[], const PetscBool there[], const char what[])
{
  PetscInt  k       = got->i[row];
  PetscReal largest = 0;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < got->n; c++) largest = PetscMax(largest, PetscAbsScalar(values[c]));
  for (PetscInt c = 0; c < got->n; c++) {
    if (!there[c]) continue;
    PetscCheck(k < got->i[row + 1] && got->j[k] == c, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has no entry in column %" PetscInt_FMT, what, row, c);
    PetscCheck(PetscAbsScalar(got->a[k] - values[c]) <= TOLERANCE * PetscMax(1, largest), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is %g, not %g", what, row,
               c, (double)PetscRealPart(got->a[k]), (double)PetscRealPart(values[c]));
    k++;
  }
  PetscCheck(k == got->i[row + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has an entry in column %" PetscInt_FMT, what, row, got->j[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the result against the host; *most: coarse numbers of a row, before the filter. got is NULL when nothing was made. */
static PetscErrorCode CompareAll(const KernelTestMatrix *A, const KernelTestMatrix *P0, const PetscReal coarse[], const KernelTestMatrix *got, PetscInt *most, const char what[])
{
  PetscScalar *values;
  PetscBool   *there, near = PETSC_FALSE;
  PetscInt     num;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(P0->n, &values, P0->n, &there));
  *most = 0;
  for (PetscInt row = 0; row < A->m; row++) {
    PetscCall(SmoothRow(A, P0, row, values, there, &num));
    *most = PetscMax(*most, num);
    if (got == NULL) continue;
    if (coarse != NULL) FilterRow(P0->n, coarse, values, there, &near);
    if (!near) PetscCall(CompareRow(got, row, values, there, what));
  }
  PetscCall(PetscFree2(values, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, PetscInt num_coarse, PetscBool filter, cudaStream_t stream)
{
  KernelTestMatrix P0, got;
  DCSRView         p0, to;
  PetscReal       *coarse;
  PetscScalar     *weights;
  int32_t         *numbers;
  void            *device = NULL;
  PetscBool        done;
  PetscInt         most;
  char             what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, %" PetscInt_FMT " aggregates%s", A->name, storage->name, num_coarse, filter ? ", filtered" : ""));
  PetscCall(CreateTentative(A->m, num_coarse, &P0));
  PetscCall(KernelTestViewCreate(&P0, storage, stream, &p0));
  PetscCall(PetscMalloc1(num_coarse, &coarse));
  for (PetscInt c = 0; c < num_coarse; c++) coarse[c] = 1 + PetscRealPart(KernelTestNumber(c, 7)) / 2;
  if (filter) PetscCall(KernelTestToDevice((size_t)num_coarse * sizeof(*coarse), coarse, stream, &device));
  PetscCall(PetscSparseCUDAMalloc(A->m, "numbers", stream, &numbers));
  PetscCall(PetscSparseCUDAMalloc(A->m, "weights", stream, &weights));
  PetscCall(DCSRTentativePack(1, &p0, 0, NULL, numbers, weights, stream));
  PetscCall(DCSRSmoothTentative(1, &view, numbers, weights, FACTOR, THRESHOLD, (const PetscReal *)device, num_coarse, stream, &to, &done));
  PetscCall(PetscSparseCUDAFree(&numbers, stream));
  PetscCall(PetscSparseCUDAFree(&weights, stream));
  if (done && A->m > 0) {
    PetscCall(KernelTestMatrixFromView(to, stream, &got));
    PetscCheck(got.n == num_coarse, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " columns", what, got.n);
    PetscCall(CompareAll(A, &P0, filter ? coarse : NULL, &got, &most, what));
    PetscCall(KernelTestMatrixDestroy(&got));
  } else {
    PetscCall(CompareAll(A, &P0, NULL, NULL, &most, what));
    PetscCheck(A->m == 0 || most > FEWEST, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: nothing was made, and rows touch %" PetscInt_FMT " aggregates at most", what, most);
    PetscCheck(to.row_offsets == NULL && to.columns == NULL && to.values == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: storage without a result", what);
  }
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(KernelTestViewDestroy(&to, stream));
  PetscCall(KernelTestViewDestroy(&p0, stream));
  PetscCall(PetscFree(coarse));
  PetscCall(PetscFree3(P0.i, P0.j, P0.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix with a full first row, which touches more aggregates than the table of short rows takes, and, with 300, than any does. */
static PetscErrorCode TestArrow(const KernelTestStorage *storage, cudaStream_t stream)
{
  const PetscInt   n = 3000;
  KernelTestMatrix A = {.name = "arrow", .m = n, .n = n, .nz = 2 * n - 1};
  DCSRView         view;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &A.i, A.nz, &A.j, A.nz, &A.a));
  A.i[0] = 0;
  for (PetscInt row = 0; row < n; row++) {
    A.i[row + 1] = n + row;
    if (row > 0) A.j[n + row - 1] = row;
    else
      for (PetscInt k = 0; k < n; k++) A.j[k] = k;
  }
  for (PetscCount k = 0; k < A.nz; k++) A.a[k] = KernelTestNumber(k, 13) + (PetscReal)2;
  PetscCall(KernelTestViewCreate(&A, storage, stream, &view));
  PetscCall(TestCase(&A, storage, view, 7, PETSC_TRUE, stream));
  PetscCall(TestCase(&A, storage, view, 100, PETSC_TRUE, stream));
  PetscCall(TestCase(&A, storage, view, 300, PETSC_FALSE, stream));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(PetscFree3(A.i, A.j, A.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  const PetscInt sizes[] = {1, 7, 100, 1500};

  PetscFunctionBegin;
  if (A->m != A->n || storage->max_segments > 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (A->m == 1) PetscCall(TestArrow(storage, stream)); // once
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    for (int filter = 0; filter < 2; filter++) PetscCall(TestCase(A, storage, view, sizes[k], (PetscBool)filter, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
}

/*TEST

  test:
    suffix: 1
    requires: cuda
    output_file: output/empty.out

TEST*/
