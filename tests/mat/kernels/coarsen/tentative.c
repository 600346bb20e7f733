static char help[] =
  "The tentative prolongator against LAPACK: structure, constants, factorizations in shared and in global memory, more columns than rows, zero columns, squares that underflow or overflow, aggregates of 10^5 rows; the same bits twice.\n\n";

#include "../entries/kerneltest.h"
#include "aggregation.h"
#include <petscblaslapack.h>

#define TOLERANCE    ((PetscReal)1e6 * PETSC_MACHINE_EPSILON)                                 // of thousands of random matrices some have condition numbers of that order
#define FAR_FROM_ONE (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)0x1p55 : (PetscReal)0x1p500) // sums of its squares, and of its inverse's, need scaling

/* What one case works with; host arrays but for the last ones. */
typedef struct {
  TestAggregation *t;
  PetscInt         row_block, num_columns, num_rows;
  PetscReal       *data, *foreign;          /* [num_columns][num_rows], [slots][row_block][num_columns] */
  PetscReal        scale;                   /* that they are multiplied with once Q and R are known, a power of two */
  PetscScalar     *values, *foreign_values; /* expected Q, by position and by slot */
  PetscReal       *coarse;                  /* expected R, over scale */
  PetscInt         num_positions;
  int32_t         *host_positions, *numbers, *positions;
  cudaStream_t     stream;
} Case;

/* Entries of the near null space: no aggregate is near to deficient rank, but some vectors are zero on some vertices, and one on all of some aggregates. */
static PetscReal Entry(PetscCount row, PetscInt column, PetscInt n)
{
  if (column > 0 && column == n / 2 && row % 5 < 3) return 0;
  return PetscRealPart(KernelTestNumber(row * 7 + column, 13)) + (row % n == column ? 2 : 0);
}

static PetscErrorCode CreateData(Case *c)
{
  const PetscInt n = c->num_columns, slots = c->t->foreign.num;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((PetscCount)n * c->num_rows, &c->data, (PetscCount)slots * c->row_block * n, &c->foreign));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt r = 0; r < c->num_rows; r++) c->data[(PetscCount)j * c->num_rows + r] = Entry(r, j, n);
  for (PetscInt r = 0; r < slots * c->row_block; r++)
    for (PetscInt j = 0; j < n; j++) c->foreign[r * n + j] = Entry(r + 3, j, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of a member: in the near null space, and in Q. */
static PetscReal *DataAt(const Case *c, uint32_t member, PetscInt row, PetscInt column)
{
  const PetscInt v = (PetscInt)member;

  if (v < c->t->a.num_vertices) return &c->data[(PetscCount)column * c->num_rows + v * c->row_block + row];
  return &c->foreign[((PetscCount)(v - c->t->a.num_vertices) * c->row_block + row) * c->num_columns + column];
}

static PetscScalar *ValueAt(const Case *c, uint32_t member, PetscInt row, PetscInt column)
{
  const PetscInt v = (PetscInt)member;

  if (v < c->t->a.num_vertices) return &c->values[((PetscCount)c->host_positions[v] * c->row_block + row) * c->num_columns + column];
  return &c->foreign_values[((PetscCount)(v - c->t->a.num_vertices) * c->row_block + row) * c->num_columns + column];
}

/* One aggregate by LAPACK, as PETSc calls it. */
static PetscErrorCode Factor(Case *c, PetscInt k, PetscScalar q[], PetscScalar tau[], PetscScalar work[])
{
  const uint32_t *members = c->t->members + c->t->offsets[k];
  const PetscInt  n = c->num_columns, bs = c->row_block, m = (PetscInt)(c->t->offsets[k + 1] - c->t->offsets[k]) * bs, stride = c->t->a.num_roots * n;
  PetscBLASInt    ld, N, lwork, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(PetscMax(m, n), &ld));
  PetscCall(PetscBLASIntCast(n, &N));
  PetscCall(PetscBLASIntCast(64 * n, &lwork));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt r = 0; r < ld; r++) q[(PetscCount)j * ld + r] = r < m ? *DataAt(c, members[r / bs], r % bs, j) : 0;
  LAPACKgeqrf_(&ld, &N, q, &ld, tau, work, &lwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "geqrf of LAPACK gives %d", (int)info);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) c->coarse[(PetscCount)j * stride + k * n + i] = i <= j ? PetscRealPart(q[(PetscCount)j * ld + i]) : 0;
  LAPACKorgqr_(&ld, &N, &N, q, &ld, tau, work, &lwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "orgqr of LAPACK gives %d", (int)info);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt r = 0; r < m; r++) *ValueAt(c, members[r / bs], r % bs, j) = q[(PetscCount)j * ld + r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorAll(Case *c)
{
  const PetscInt n = c->num_columns, num = c->t->a.num_roots;
  PetscScalar   *q, *tau, *work;
  PetscCount     most = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3((PetscCount)c->num_positions * c->row_block * n, &c->values, (PetscCount)c->t->foreign.num * c->row_block * n, &c->foreign_values, (PetscCount)num * n * n, &c->coarse));
  for (PetscInt k = 0; k < num; k++) most = PetscMax(most, (PetscCount)(c->t->offsets[k + 1] - c->t->offsets[k]));
  PetscCall(PetscMalloc3((most * c->row_block + n) * n, &q, n, &tau, 64 * n, &work));
  for (PetscInt k = 0; k < num; k++) PetscCall(Factor(c, k, q, tau, work));
  PetscCall(PetscFree3(q, tau, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareReals(PetscCount n, const PetscReal got[], const PetscReal expected[], const char what[])
{
  PetscReal scale = 1;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < n; k++) scale = PetscMax(scale, PetscAbsReal(expected[k]));
  for (PetscCount k = 0; k < n; k++)
    PetscCheck(PetscAbsReal(got[k] - expected[k]) <= TOLERANCE * scale, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscCount_FMT " is %g, not %g", what, k, (double)got[k], (double)expected[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareScalars(PetscCount n, const PetscScalar *device, const PetscScalar expected[], cudaStream_t stream, const char what[])
{
  PetscScalar *got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &got));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), device, stream, got));
  for (PetscCount k = 0; k < n; k++)
    PetscCheck(PetscAbsScalar(got[k] - expected[k]) <= TOLERANCE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscCount_FMT " is %g, not %g", what, k, (double)PetscRealPart(got[k]),
               (double)PetscRealPart(expected[k]));
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets and columns of the diagonal block. */
static PetscErrorCode CheckStructure(const Case *c, DCSRView view)
{
  KernelTestMatrix got;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  for (PetscInt row = 0; row < c->num_rows; row++) {
    const PetscInt v = row / c->row_block, root = c->t->parent[v] - c->t->a.begin, size = got.i[row + 1] - got.i[row];
    const PetscInt expected = c->t->parent[v] >= 0 && root >= 0 && root < c->t->a.num_vertices ? c->num_columns : 0;

    PetscCheck(size == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT " has %" PetscInt_FMT " entries", row, size);
    for (PetscInt k = 0; k < size; k++)
      PetscCheck(got.j[got.i[row] + k] == c->t->numbers[root] * c->num_columns + k, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT " has column %" PetscInt_FMT, row, got.j[got.i[row] + k]);
  }
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q and R on the device; first [entries of R + 1] has the bits of R from the second time on, which the last entry says. */
static PetscErrorCode CheckFactors(const Case *c, DCSRMembers *m, DCSRView view, PetscReal *first)
{
  const PetscInt   n          = c->num_columns;
  const PetscCount num_coarse = (PetscCount)c->t->a.num_roots * n * n, num_foreign = (PetscCount)c->t->foreign.num * c->row_block * n;
  void            *data, *foreign;
  PetscScalar     *foreign_values = NULL;
  PetscReal       *coarse         = NULL, *got;

  PetscFunctionBegin;
  PetscCall(KernelTestToDevice((size_t)n * (size_t)c->num_rows * sizeof(PetscReal), c->data, c->stream, &data));
  PetscCall(KernelTestToDevice((size_t)num_foreign * sizeof(PetscReal), c->foreign, c->stream, &foreign));
  PetscCall(PetscSparseCUDAMalloc(num_foreign, "values", c->stream, &foreign_values));
  PetscCall(PetscSparseCUDAMalloc(num_coarse, "coarse", c->stream, &coarse));
  PetscCall(
    DCSRTentativeFactor((DCSRTentative){c->t->a.num_vertices, c->row_block, n, (const PetscReal *)data, (const PetscReal *)foreign, c->positions, view.values, foreign_values, coarse}, m, c->stream));
  PetscCall(CompareScalars(view.num_nonzeros, view.values, c->values, c->stream, "Q"));
  PetscCall(CompareScalars(num_foreign, foreign_values, c->foreign_values, c->stream, "Q of others"));
  PetscCall(PetscMalloc1(num_coarse, &got));
  PetscCall(KernelTestToHost((size_t)num_coarse * sizeof(*got), coarse, c->stream, got));
  for (PetscCount k = 0; k < num_coarse; k++) got[k] /= c->scale;
  PetscCall(CompareReals(num_coarse, got, c->coarse, "R"));
  if (first[num_coarse] != 0) PetscCheck(memcmp(first, got, (size_t)num_coarse * sizeof(*got)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Other bits the second time");
  PetscCall(PetscArraycpy(first, got, num_coarse));
  first[num_coarse] = 1;
  PetscCall(PetscFree(got));
  PetscCall(PetscSparseCUDAFree(&data, c->stream));
  PetscCall(PetscSparseCUDAFree(&foreign, c->stream));
  PetscCall(PetscSparseCUDAFree(&foreign_values, c->stream));
  PetscCall(PetscSparseCUDAFree(&coarse, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vector of ones of single unknowns, against LAPACK on the same vector. */
static PetscErrorCode CheckConstant(const Case *c, DCSRView view)
{
  int32_t   *counts = NULL, *sizes;
  PetscReal *coarse = NULL, *got;
  void      *device;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(c->t->a.num_roots, &sizes, c->t->a.num_roots, &got));
  for (PetscInt k = 0; k < c->t->a.num_roots; k++) sizes[k] = (int32_t)(c->t->offsets[k + 1] - c->t->offsets[k]);
  PetscCall(KernelTestToDevice((size_t)c->t->a.num_roots * sizeof(*sizes), sizes, c->stream, &device));
  counts = (int32_t *)device;
  PetscCall(PetscSparseCUDAMalloc(c->t->a.num_roots, "coarse", c->stream, &coarse));
  PetscCall(DCSRTentativeConstant(c->t->a, DCSR_ROOT_OWN, c->positions, c->numbers, counts, view.values, c->stream));
  PetscCall(DCSRTentativeConstantCoarse(c->t->a.num_roots, counts, coarse, c->stream));
  PetscCall(CompareScalars(view.num_nonzeros, view.values, c->values, c->stream, "constant Q"));
  PetscCall(KernelTestToHost((size_t)c->t->a.num_roots * sizeof(*got), coarse, c->stream, got));
  PetscCall(CompareReals(c->t->a.num_roots, got, c->coarse, "constant R"));
  PetscCall(PetscFree2(sizes, got));
  PetscCall(PetscSparseCUDAFree(&counts, c->stream));
  PetscCall(PetscSparseCUDAFree(&coarse, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows for others, and constant components. */
static PetscErrorCode CheckData(const Case *c)
{
  const PetscInt n = PetscMin(c->t->a.num_vertices, 50), N = c->num_columns, bs = c->row_block;
  int32_t        vertices[50];
  void          *data, *list;
  PetscReal     *device = NULL, *packed, *expected;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) vertices[k] = (int32_t)(c->t->a.num_vertices - 1 - k);
  PetscCall(KernelTestToDevice((size_t)N * (size_t)c->num_rows * sizeof(PetscReal), c->data, c->stream, &data));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*vertices), vertices, c->stream, &list));
  PetscCall(PetscMalloc2((PetscCount)(n * N + c->num_rows) * bs, &packed, (PetscCount)(n * N + c->num_rows) * bs, &expected));
  PetscCall(PetscSparseCUDAMalloc((size_t)(n * N + c->num_rows) * (size_t)bs, "data", c->stream, &device));
  PetscCall(DCSRTentativePackData(n, (const int32_t *)list, c->num_rows, bs, N, (const PetscReal *)data, device, c->stream));
  PetscCall(KernelTestToHost((size_t)(n * N * bs) * sizeof(*packed), device, c->stream, packed));
  for (PetscInt k = 0; k < n * bs; k++)
    for (PetscInt j = 0; j < N; j++) expected[k * N + j] = *DataAt(c, (uint32_t)vertices[k / bs], k % bs, j);
  PetscCall(CompareReals((PetscCount)n * N * bs, packed, expected, "packed rows"));
  PetscCall(DCSRTentativeSetComponents(c->num_rows, bs, device, c->stream));
  PetscCall(KernelTestToHost((size_t)c->num_rows * (size_t)bs * sizeof(*packed), device, c->stream, packed));
  for (PetscInt j = 0; j < bs; j++)
    for (PetscInt r = 0; r < c->num_rows; r++) expected[(PetscCount)j * c->num_rows + r] = r % bs == j;
  PetscCall(CompareReals((PetscCount)c->num_rows * bs, packed, expected, "components"));
  PetscCall(PetscFree2(packed, expected));
  PetscCall(PetscSparseCUDAFree(&device, c->stream));
  PetscCall(PetscSparseCUDAFree(&data, c->stream));
  PetscCall(PetscSparseCUDAFree(&list, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCase(TestAggregation *t, PetscInt row_block, PetscInt num_columns, cudaStream_t stream, Case *c)
{
  const PetscInt n = t->a.num_vertices;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c, 1));
  c->t           = t;
  c->row_block   = row_block;
  c->num_columns = num_columns;
  c->num_rows    = n * row_block;
  c->stream      = stream;
  c->scale       = 1;
  PetscCall(PetscSparseCUDAMalloc(n, "numbers", stream, &c->numbers));
  PetscCall(PetscSparseCUDAMalloc((size_t)n + 1, "places", stream, &c->positions));
  PetscCall(DCSRAggregatesNumber(t->a, c->numbers, stream));
  PetscCall(DCSRAggregatesPositions(t->a, DCSR_ROOT_OWN, c->positions, stream));
  PetscCall(TestToHost((size_t)n + 1, c->positions, stream, &c->host_positions));
  c->num_positions = c->host_positions[n];
  PetscCall(CreateData(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyCase(Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(c->data, c->foreign));
  PetscCall(PetscFree3(c->values, c->foreign_values, c->coarse));
  PetscCall(PetscFree(c->host_positions));
  PetscCall(PetscSparseCUDAFree(&c->numbers, c->stream));
  PetscCall(PetscSparseCUDAFree(&c->positions, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q stays as it is, and R is multiplied with it, too. */
static void Scale(Case *c, PetscReal scale)
{
  c->scale = scale;
  for (PetscCount k = 0; k < (PetscCount)c->num_columns * c->num_rows; k++) c->data[k] *= scale;
  for (PetscCount k = 0; k < (PetscCount)c->t->foreign.num * c->row_block * c->num_columns; k++) c->foreign[k] *= scale;
}

static PetscErrorCode Test(TestAggregation *t, PetscInt row_block, PetscInt num_columns, PetscBool constant, PetscReal scale, cudaStream_t stream)
{
  Case        c;
  DCSRView    view;
  DCSRMembers m;
  PetscReal  *first;

  PetscFunctionBegin;
  PetscCall(CreateCase(t, row_block, num_columns, stream, &c));
  for (PetscCount k = 0; constant && k < c.num_rows; k++) c.data[k] = 1;
  for (PetscCount k = 0; constant && k < t->foreign.num; k++) c.foreign[k] = 1;
  PetscCall(FactorAll(&c));
  Scale(&c, scale);
  PetscCall(DCSRAggregatesSort(t->a, c.numbers, t->foreign, stream, &m));
  PetscCall(DCSRViewAllocateCompact(c.num_rows, t->a.num_roots * num_columns, (PetscCount)c.num_positions * row_block * num_columns, PETSC_FALSE, stream, &view));
  PetscCall(DCSRTentativeStructure(t->a, DCSR_ROOT_OWN, c.positions, c.numbers, row_block, num_columns, stream, view));
  PetscCall(PetscCalloc1((PetscCount)t->a.num_roots * num_columns * num_columns + 1, &first));
  for (int k = 0; k < 2; k++) PetscCall(CheckFactors(&c, &m, view, first));
  if (constant) PetscCall(CheckConstant(&c, view));
  PetscCall(CheckStructure(&c, view));
  PetscCall(CheckData(&c));
  PetscCall(PetscFree(first));
  PetscCall(DCSRMembersDestroy(&m, stream));
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(DestroyCase(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt shapes[][2] = {{1, 1}, {1, 2}, {2, 3}, {3, 6}, {3, 1}, {4, 4}, {1, 60}, {2, 170}}; // the last ones need more memory than a warp, or a thread block, has for a vertex
  cudaStream_t          stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (PetscInt k = 0; k < TestAggregationNumKinds; k++) {
    TestAggregation t;

    PetscCall(TestAggregationCreate(&TestAggregationKinds[k], stream, &t));
    PetscCall(Test(&t, 1, 1, PETSC_TRUE, 1, stream));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++)
      if (shapes[s][1] < 10 || t.a.num_vertices <= 60) PetscCall(Test(&t, shapes[s][0], shapes[s][1], PETSC_FALSE, 1, stream));
    PetscCall(Test(&t, 3, 6, PETSC_FALSE, 1 / FAR_FROM_ONE, stream));
    PetscCall(Test(&t, 3, 6, PETSC_FALSE, FAR_FROM_ONE, stream));
    PetscCall(TestAggregationDestroy(&t, stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
