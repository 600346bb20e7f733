static char help[] = "Sums of compact matrices against a merge on the host: many pairs of patterns, offsets of both widths, in one call, by plan, in place, values alone, out of memory.\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include <petscsparsecuda/spadd.h>

#define TOLERANCE (16 * PETSC_MACHINE_EPSILON)

/* What the second summand is, given the first. */
typedef enum {
  EQUAL,
  SUBSET,
  DISJOINT,
  OTHER, /* some entries of the first one, and some beside them */
  DIAGONAL,
  EMPTY,
  LONG_ROW, /* one full row, and a subset */
  SHIFTED,  /* as many entries in each row, another pattern from the middle on */
  NUM_PATTERNS
} Pattern;

static const char *const pattern_names[] = {"equal", "subset", "disjoint", "other", "diagonal", "empty", "long row", "shifted"};

typedef struct {
  const KernelTestMatrix *A;
  KernelTestMatrix        B, C; /* C = alpha A + beta B */
  DCSRView                a, b;
  PetscScalar             alpha, beta;
  cudaStream_t            stream;
  char                    what[256];
} Case;

static PetscBool Has(const KernelTestMatrix *A, PetscInt row, PetscInt k, PetscInt column)
{
  for (; k < A->i[row + 1] && A->j[k] <= column; k++)
    if (A->j[k] == column) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Columns of a row of B, ascending; columns NULL: their number alone. */
static PetscInt FillRow(const KernelTestMatrix *A, Pattern pattern, PetscInt row, PetscInt columns[])
{
  PetscInt n = 0;

  if (pattern == DIAGONAL || (pattern == LONG_ROW && row == A->m / 3)) {
    const PetscInt begin = pattern == DIAGONAL ? row : 0, end = pattern == DIAGONAL ? PetscMin(row + 1, A->n) : A->n;

    for (PetscInt c = begin; c < end; c++, n++)
      if (columns != NULL) columns[n] = c;
    return n;
  }
  for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const PetscInt  c     = A->j[k];
    const PetscBool moved = (PetscBool)((pattern == DISJOINT || (pattern == OTHER && k % 5 == 1) || (pattern == SHIFTED && 2 * row > A->m && k + 1 == A->i[row + 1])) && c + 1 < A->n &&
                                        !Has(A, row, k, c + 1));
    const PetscBool kept  = (PetscBool)(pattern == EQUAL || pattern == SHIFTED || ((pattern == SUBSET || pattern == OTHER || pattern == LONG_ROW) && (k * 7 + row) % 3 != 0));

    if (!moved && !kept) continue;
    if (columns != NULL) columns[n] = c + moved;
    n++;
  }
  return n;
}

static PetscErrorCode Allocate(const KernelTestMatrix *like, PetscCount nz, KernelTestMatrix *B)
{
  PetscFunctionBegin;
  B->name = like->name;
  B->m    = like->m;
  B->n    = like->n;
  B->nz   = nz;
  PetscCall(PetscCalloc1(B->m + 1, &B->i));
  PetscCall(PetscMalloc2(nz, &B->j, nz, &B->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSecond(const KernelTestMatrix *A, Pattern pattern, KernelTestMatrix *B)
{
  PetscCount nz = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < A->m && pattern != EMPTY; r++) nz += FillRow(A, pattern, r, NULL);
  PetscCall(Allocate(A, nz, B));
  for (PetscInt r = 0; r < A->m && pattern != EMPTY; r++) B->i[r + 1] = B->i[r] + FillRow(A, pattern, r, PetscSafePointerPlusOffset(B->j, B->i[r]));
  for (PetscCount k = 0; k < nz; k++) B->a[k] = KernelTestNumber(k, 91);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum on the host; column c of A is column fa c of the sum, column c of B is fb c + db. */
static PetscErrorCode CreateSum(const KernelTestMatrix *A, PetscScalar alpha, PetscInt fa, const KernelTestMatrix *B, PetscScalar beta, PetscInt fb, PetscInt db, KernelTestMatrix *C)
{
  PetscCount k = 0;

  PetscFunctionBegin;
  PetscCall(Allocate(A, A->nz + B->nz, C));
  for (PetscInt r = 0; r < A->m; r++) {
    PetscInt p = A->i[r], q = B->i[r];

    while (p < A->i[r + 1] || q < B->i[r + 1]) {
      const PetscInt ca = p < A->i[r + 1] ? fa * A->j[p] : PETSC_INT_MAX, cb = q < B->i[r + 1] ? fb * B->j[q] + db : PETSC_INT_MAX;

      C->j[k] = PetscMin(ca, cb);
      C->a[k] = (ca <= cb ? alpha * A->a[p] : 0) + (cb <= ca ? beta * B->a[q] : 0);
      p += ca <= cb;
      q += cb <= ca;
      k++;
    }
    C->i[r + 1] = (PetscInt)k;
  }
  C->nz = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure, values unless there are none, validity and width. */
static PetscErrorCode Check(const Case *c, DCSRView view, const KernelTestMatrix *expected, const char call[])
{
  char             what[512];
  KernelTestMatrix got;
  PetscBool        ok, wide;
  PetscInt         row;
  const char      *why;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s", c->what, call));
  PetscCall(DCSRNeedsWide(expected->nz, &wide));
  PetscCheck(view.wide == wide, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: offsets have the wrong width", what);
  PetscCall(DCSRIsValid(view, c->stream, &ok, &row, &why));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not valid at row %" PetscInt_FMT ": %s", what, row, why);
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, TOLERANCE, what));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bits of a sum that was made again. */
static PetscErrorCode CheckSameBits(const Case *c, DCSRView x, DCSRView y)
{
  KernelTestMatrix a, b;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(x, c->stream, &a));
  PetscCall(KernelTestMatrixFromView(y, c->stream, &b));
  PetscCall(PetscArraycmp(a.i, b.i, a.m + 1, &same));
  if (same) PetscCall(PetscArraycmp(a.j, b.j, a.nz, &same));
  if (same) PetscCall(PetscArraycmp(a.a, b.a, a.nz, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: two sums differ", c->what);
  PetscCall(KernelTestMatrixDestroy(&a));
  PetscCall(KernelTestMatrixDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole sum; C is empty after an error. */
static PetscErrorCode Add(const Case *c, DCSRView *C)
{
  DCSRAddPlan    plan;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(C, 1));
  PetscCall(DCSRAddPlanCreate(c->a, c->b, NULL, NULL, c->stream, &plan));
  PetscCallGoto(ierr, cleanup, DCSRAddPlanAllocate(&plan, c->A->m, c->A->n, c->stream, C));
  PetscCallGoto(ierr, cleanup, DCSRAddFill(&plan, c->alpha, c->a, c->beta, c->b, *C, c->stream));
cleanup:
  PetscCall(DCSRAddPlanDestroy(&plan, c->stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode TestSum(const Case *c)
{
  DCSRView C, again;

  PetscFunctionBegin;
  PetscCall(Add(c, &C));
  PetscCall(Check(c, C, &c->C, "sum"));
  PetscCall(Add(c, &again));
  PetscCall(CheckSameBits(c, C, again));
  PetscCall(DCSRViewFree(&again, c->stream));
  PetscCall(DCSRViewFree(&C, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A += beta B, whose entries A has all. */
static PetscErrorCode TestUpdate(const Case *c, const DCSRAddPlan *plan, PetscBool same)
{
  const KernelTestStorage storage = {"compact", c->a.wide, 0, 0};
  KernelTestMatrix        expected, got;
  DCSRView                updated;

  PetscFunctionBegin;
  PetscCall(CreateSum(c->A, 1, 1, &c->B, c->beta, 1, 0, &expected));
  for (int how = 0; how < (same ? 2 : 1); how++) {
    PetscCall(KernelTestViewCreate(c->A, &storage, c->stream, &updated));
    if (how) PetscCall(DCSRAXPYValues(updated.num_nonzeros, c->beta, c->b.values, updated.values, c->stream));
    else PetscCall(DCSRAddUpdate(plan, updated, c->beta, c->b, c->stream));
    PetscCall(KernelTestMatrixFromView(updated, c->stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, &expected, TOLERANCE, c->what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(KernelTestViewDestroy(&updated, c->stream));
  }
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a plan says, and updates in place. */
static PetscErrorCode TestPlan(const Case *c)
{
  DCSRAddPlan plan;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(DCSRAddPlanCreate(c->a, c->b, NULL, NULL, c->stream, &plan));
  PetscCheck(plan.num_nonzeros == c->C.nz && plan.num_matched == c->A->nz + c->B.nz - c->C.nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the plan has %" PetscCount_FMT " nonzeros, not %" PetscCount_FMT,
             c->what, plan.num_nonzeros, c->C.nz);
  PetscCall(DCSRSamePattern(c->a, c->b, c->stream, &same));
  PetscCheck(same == (PetscBool)(c->C.nz == c->A->nz && c->C.nz == c->B.nz), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: DCSRSamePattern()", c->what);
  if (plan.num_matched == c->B.nz) PetscCall(TestUpdate(c, &plan, same));
  PetscCall(DCSRAddPlanDestroy(&plan, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A's columns become the even ones, B's the odd ones, or the even ones, too. */
static PetscErrorCode TestMaps(const Case *c, PetscInt odd)
{
  const PetscInt   n = c->A->n;
  int32_t         *map[2], *device[2];
  DCSRAddPlan      plan;
  DCSRView         C;
  KernelTestMatrix expected;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &map[0], n, &map[1]));
  for (PetscInt k = 0; k < n; k++) {
    map[0][k] = (int32_t)(2 * k);
    map[1][k] = (int32_t)(2 * k + odd);
  }
  for (int k = 0; k < 2; k++) PetscCall(KernelTestToDevice((size_t)n * sizeof(int32_t), map[k], c->stream, (void **)&device[k]));
  PetscCall(CreateSum(c->A, c->alpha, 2, &c->B, c->beta, 2, odd, &expected));
  expected.n = 2 * n;
  PetscCall(DCSRAddPlanCreate(c->a, c->b, device[0], device[1], c->stream, &plan));
  PetscCall(DCSRAddPlanAllocate(&plan, c->A->m, 2 * n, c->stream, &C));
  PetscCall(DCSRAddFill(&plan, c->alpha, c->a, c->beta, c->b, C, c->stream));
  PetscCall(Check(c, C, &expected, "with maps of columns"));
  PetscCall(DCSRViewFree(&C, c->stream));
  PetscCall(DCSRAddPlanDestroy(&plan, c->stream));
  PetscCall(KernelTestMatrixDestroy(&expected));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&device[k], c->stream));
  PetscCall(PetscFree2(map[0], map[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each allocation fails in turn: nothing is left, and the next sum is right. */
static PetscErrorCode TestOutOfMemory(const Case *c)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  size_t         before, after;
  DCSRView       C;

  PetscFunctionBegin;
  for (PetscInt site = 1; ierr != PETSC_SUCCESS; site++) {
    PetscCheck(site < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocates without end", c->what);
    PetscCall(KernelTestMemoryInUse(c->stream, &before));
    TestLibCallFailing(site, ierr, Add(c, &C));
    if (ierr == PETSC_SUCCESS) break;
    PetscCall(KernelTestMemoryInUse(c->stream, &after));
    PetscCheck(ierr == PETSC_ERR_MEM && C.columns == NULL && C.values == NULL && C.row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, or a view that is not empty", c->what,
               (int)ierr);
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocation %" PetscInt_FMT " fails, and %zu bytes are left", c->what, site, after - before);
  }
  PetscCall(Check(c, C, &c->C, "after failures"));
  PetscCall(DCSRViewFree(&C, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiagonal(const KernelTestMatrix *A, cudaStream_t stream)
{
  const PetscInt   n = PetscMin(A->m, A->n);
  DCSRView         D;
  KernelTestMatrix got;

  PetscFunctionBegin;
  PetscCall(DCSRViewCreateDiagonal(A->m, A->n, NULL, 3.0, stream, &D));
  PetscCall(KernelTestMatrixFromView(D, stream, &got));
  PetscCheck(got.nz == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a diagonal matrix of %" PetscCount_FMT " entries", A->name, got.nz);
  for (PetscInt r = 0; r < n; r++)
    PetscCheck(got.i[r] == r && got.i[r + 1] == r + 1 && got.j[r] == r && got.a[r] == (PetscScalar)3.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " of a diagonal matrix", A->name, r);
  PetscCheck(got.i[A->m] == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: last offset of a diagonal matrix", A->name);
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(DCSRViewFree(&D, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(Case *c, PetscBool maps)
{
  PetscFunctionBegin;
  PetscCall(CreateSum(c->A, c->alpha, 1, &c->B, c->beta, 1, 0, &c->C));
  PetscCall(TestSum(c));
  PetscCall(TestPlan(c));
  if (maps) PetscCall(TestMaps(c, 0));
  if (maps) PetscCall(TestMaps(c, 1));
  if (c->A->m < 100) PetscCall(TestOutOfMemory(c));
  PetscCall(KernelTestMatrixDestroy(&c->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both orders: the first one has more or fewer entries. */
static PetscErrorCode TestPair(const KernelTestMatrix *A, DCSRView a, Pattern pattern, PetscBool wide, cudaStream_t stream)
{
  const KernelTestStorage storage = {wide ? "compact wide" : "compact", wide, 0, 0};
  KernelTestMatrix        B;
  DCSRView                b;
  Case                    c;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&c, 1));
  PetscCall(CreateSecond(A, pattern, &B));
  PetscCall(KernelTestViewCreate(&B, &storage, stream, &b));
  c.stream = stream;
  c.alpha  = pattern % 2 ? 1.0 : 0.5;
  c.beta   = -2.0;
  for (int order = 0; order < 2; order++) {
    PetscCall(
      PetscSNPrintf(c.what, sizeof(c.what), "%s, %s and %s, %s, %s", A->name, a.wide ? "wide" : "narrow", wide ? "wide" : "narrow", pattern_names[pattern], order ? "turned round" : "as it is"));
    c.A = order ? &B : A;
    c.B = order ? *A : B;
    c.a = order ? b : a;
    c.b = order ? a : b;
    PetscCall(TestCase(&c, (PetscBool)(a.wide == wide)));
  }
  PetscCall(KernelTestViewDestroy(&b, stream));
  PetscCall(KernelTestMatrixDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestDiagonal(A, stream));
  for (Pattern pattern = EQUAL; pattern < NUM_PATTERNS; pattern++)
    for (int wide = 0; wide < 2; wide++) PetscCall(TestPair(A, view, pattern, (PetscBool)wide, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
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
