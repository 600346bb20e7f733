static char help[] = "HiSparseAXPY(): sums of matrices with diagonals against the host, of all patterns, scaled, shared and transposed, and allocations that fail.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../entries/kerneltest.h"
#include "../../small.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include "../../../lib/sys.h"

#define MAX_DIAGONALS 8

/* Diagonals, by column - row, each with so many of 100 entries, which a seed chooses; fewer of 100 are among those of more. */
typedef struct {
  PetscInt num_diagonals, diagonals[MAX_DIAGONALS], density, seed;
  PetscInt many;   /* so many diagonals instead, from diagonals[0] on, diagonals[1] apart */
  PetscInt others; /* so many entries anywhere in every fifth row */
  PetscInt period; /* rows whose part r / 128 is a multiple of it are empty; 0: none are */
} Pattern;

/* Y += a X: the sizes, the patterns of both, and what must become of it. */
typedef struct {
  const char *name;
  PetscInt    m, n;
  Pattern     y, x;
  HiSparseSum sum;
  PetscBool   small; /* is in the small test */
} Pair;

static const Pair pairs[] = {
  {"one row", 1, 300, {2, {0, 5}, 100}, {2, {0, 7}, 100}, HISPARSE_SUM_GROWN},
  {"one slice", 128, 128, {3, {-1, 0, 1}, 100}, {3, {-1, 0, 1}, 100}, HISPARSE_SUM_SAME, PETSC_TRUE},
  {"a row less", 127, 140, {3, {-1, 0, 1}, 100}, {2, {-20, 0}, 100}, HISPARSE_SUM_GROWN},
  {"a row more", 129, 129, {3, {-1, 0, 1}, 100}, {1, {0}, 100}, HISPARSE_SUM_SUBSET, PETSC_TRUE},
  {"the same", 1000, 1000, {5, {-30, -1, 0, 1, 30}, 80, 3}, {5, {-30, -1, 0, 1, 30}, 80, 3}, HISPARSE_SUM_SAME},
  {"other diagonals", 1000, 1000, {3, {-30, 0, 30}, 90, 3}, {4, {-31, -7, 7, 31}, 90, 4}, HISPARSE_SUM_GROWN},
  {"fewer diagonals", 1000, 1000, {5, {-30, -1, 0, 1, 30}, 100}, {3, {-1, 0, 30}, 70, 5}, HISPARSE_SUM_SUBSET},
  {"more diagonals", 1000, 1000, {3, {-1, 0, 30}, 70, 5}, {5, {-30, -1, 0, 1, 30}, 100}, HISPARSE_SUM_GROWN},
  {"other entries", 1100, 1100, {4, {-130, -1, 0, 129}, 60, 6}, {4, {-130, -1, 0, 129}, 60, 7}, HISPARSE_SUM_GROWN, PETSC_TRUE},
  {"fewer entries", 1100, 1100, {4, {-130, -1, 0, 129}, 80, 6}, {4, {-130, -1, 0, 129}, 50, 6}, HISPARSE_SUM_SUBSET},
  {"empty slices of the first", 1500, 1500, {3, {-2, 0, 2}, 100, 0, 0, 0, 2}, {3, {-2, 0, 2}, 100}, HISPARSE_SUM_GROWN},
  {"empty slices of the second", 1500, 1500, {3, {-2, 0, 2}, 100}, {3, {-2, 0, 2}, 100, 0, 0, 0, 3}, HISPARSE_SUM_SUBSET},
  {"empty slices of both", 1500, 1500, {3, {-2, 0, 2}, 90, 2, 0, 0, 2}, {3, {-3, 0, 2}, 90, 3, 0, 0, 3}, HISPARSE_SUM_GROWN, PETSC_TRUE},
  {"wide", 700, 5000, {4, {0, 127, 128, 4300}, 97, 8}, {4, {-1, 127, 2000, 4900}, 97, 9}, HISPARSE_SUM_GROWN},
  {"tall", 5000, 700, {4, {-4300, -129, -1, 0}, 97, 8}, {4, {-4299, -129, 1, 3}, 97, 9}, HISPARSE_SUM_GROWN},
  {"the same entries anywhere", 1300, 1300, {4, {-40, -1, 0, 1}, 100, 0, 0, 2}, {4, {-40, -1, 0, 1}, 100, 0, 0, 2}, HISPARSE_SUM_SAME, PETSC_TRUE},
  {"other entries anywhere", 1300, 1300, {4, {-40, -1, 0, 1}, 100, 0, 0, 2}, {3, {-1, 0, 1}, 100}, HISPARSE_SUM_NONE},
  {"entries anywhere of the second", 1300, 1300, {3, {-1, 0, 1}, 100}, {4, {-40, -1, 0, 1}, 100, 0, 0, 2}, HISPARSE_SUM_NONE},
  {"full segments of many diagonals", 256, 2000, {2, {0, 2}, 100, 0, 200}, {2, {1, 2}, 100, 0, 200}, HISPARSE_SUM_GROWN},
  {"as many as a slice may have", 128, 2000, {2, {0, 2}, 100, 0, 256}, {2, {1, 2}, 100, 0, 256}, HISPARSE_SUM_GROWN, PETSC_TRUE},
  {"more than a slice may have", 128, 2000, {2, {0, 2}, 100, 0, 257}, {2, {1, 2}, 100, 0, 256}, HISPARSE_SUM_NONE, PETSC_TRUE},
};

static PetscBool Chosen(const Pattern *p, PetscInt r, PetscInt diagonal)
{
  const PetscReal position = 50 + 50 * PetscRealPart(KernelTestNumber((PetscCount)r * 65536 + diagonal + 16384, 11 + p->seed));

  return (PetscBool)(p->density >= 100 || position < p->density);
}

static PetscBool HasEntry(const Pair *pair, const Pattern *p, PetscInt r, PetscInt c)
{
  const PetscInt d = c - r;

  if (p->period > 0 && r / 128 % p->period == 0) return PETSC_FALSE;
  if (p->many > 0) return (PetscBool)(d >= p->diagonals[0] && (d - p->diagonals[0]) % p->diagonals[1] == 0 && (d - p->diagonals[0]) / p->diagonals[1] < p->many);
  for (PetscInt k = 0; k < p->num_diagonals; k++)
    if (d == p->diagonals[k]) return Chosen(p, r, d);
  for (PetscInt k = 0; r % 5 == 0 && k < p->others; k++)
    if (c == (PetscInt)(0.5 * (1 + PetscRealPart(KernelTestNumber((PetscCount)r * 8 + k, 12))) * (PetscReal)pair->n)) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode HostCreate(const Pair *pair, const Pattern *p, PetscInt seed, KernelTestMatrix *A)
{
  PetscCount capacity = 0;

  PetscFunctionBegin;
  A->name = pair->name;
  A->m    = pair->m;
  A->n    = pair->n;
  A->nz   = 0;
  for (PetscInt r = 0; r < A->m; r++)
    for (PetscInt c = 0; c < A->n; c++) capacity += HasEntry(pair, p, r, c);
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(capacity, &A->j, capacity, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < A->m; r++) {
    for (PetscInt c = 0; c < A->n; c++) {
      if (!HasEntry(pair, p, r, c)) continue;
      A->a[A->nz]   = KernelTestNumber(A->nz, seed);
      A->j[A->nz++] = c;
    }
    A->i[r + 1] = (PetscInt)A->nz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S = alpha Y + beta X. */
static PetscErrorCode HostSum(PetscScalar alpha, const KernelTestMatrix *Y, PetscScalar beta, const KernelTestMatrix *X, KernelTestMatrix *S)
{
  PetscFunctionBegin;
  *S    = *Y;
  S->nz = 0;
  PetscCall(PetscMalloc1(S->m + 1, &S->i));
  PetscCall(PetscMalloc2(Y->nz + X->nz, &S->j, Y->nz + X->nz, &S->a));
  S->i[0] = 0;
  for (PetscInt r = 0; r < S->m; r++) {
    PetscInt y = Y->i[r], x = X->i[r];

    while (y < Y->i[r + 1] || x < X->i[r + 1]) {
      const PetscInt cy = y < Y->i[r + 1] ? Y->j[y] : PETSC_INT_MAX, cx = x < X->i[r + 1] ? X->j[x] : PETSC_INT_MAX;

      S->j[S->nz] = PetscMin(cy, cx);
      S->a[S->nz] = (cy <= cx ? alpha * Y->a[y] : 0.0) + (cx <= cy ? beta * X->a[x] : 0.0);
      S->nz++;
      y += cy <= cx;
      x += cx <= cy;
    }
    S->i[r + 1] = (PetscInt)S->nz;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A as CSR; transposed: of its transpose, which is A then. */
static PetscErrorCode CheckMatrix(HiSparse A, const KernelTestMatrix *expected, cudaStream_t stream, const char what[])
{
  HiSparse         plain = NULL;
  DCSRView         view;
  KernelTestMatrix got;
  HiSparseInfo     info;

  PetscFunctionBegin;
  PetscCall(HiSparseGetInfo(A, &info));
  PetscCheck(info.num_nonzeros == expected->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " entries, not %" PetscCount_FMT, what, expected->name, info.num_nonzeros, expected->nz);
  if (info.transposed) PetscCall(HiSparseTranspose(A, stream, &plain));
  PetscCall(KernelTestViewAllocate(expected->m, expected->n, expected->nz, (PetscBool)(expected->nz % 2), stream, &view));
  PetscCall(HiSparseGetCSR(plain != NULL ? plain : A, PETSC_TRUE, PETSC_TRUE, view, stream));
  PetscCall(KernelTestMatrixFromView(view, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 20 * PETSC_MACHINE_EPSILON, what));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(HiSparseDestroy(&plain, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x or A^T x, of the transpose when A is transposed: what is expected is not. */
static PetscErrorCode CheckProduct(HiSparse A, const KernelTestMatrix *h, PetscBool transpose, PetscBool transposed, cudaStream_t stream, const char what[])
{
  const PetscInt nx = transpose ? h->m : h->n, ny = transpose ? h->n : h->m;
  PetscScalar   *x, *expected, *got, *device[2];
  PetscReal     *scale;

  PetscFunctionBegin;
  PetscCall(PetscCalloc4(nx, &x, ny, &expected, ny, &got, ny, &scale));
  for (PetscInt k = 0; k < nx; k++) x[k] = KernelTestNumber(k, 21);
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      const PetscScalar product = h->a[k] * x[transpose ? r : h->j[k]];

      expected[transpose ? h->j[k] : r] += product;
      scale[transpose ? h->j[k] : r] += 10 * PetscAbsScalar(product);
    }
  PetscCall(KernelTestToDevice((size_t)nx * sizeof(*x), x, stream, (void **)&device[0]));
  PetscCall(KernelTestToDevice((size_t)ny * sizeof(*x), NULL, stream, (void **)&device[1]));
  if (transpose != transposed) PetscCall(HiSparseMultTranspose(A, PETSC_FALSE, device[0], NULL, device[1], stream));
  else PetscCall(HiSparseMult(A, device[0], NULL, device[1], stream));
  PetscCall(KernelTestToHost((size_t)ny * sizeof(*got), device[1], stream, got));
  PetscCall(KernelTestCompareScalars(ny, got, expected, scale, transpose ? "A^T x" : "A x", h->name, what));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&device[k], stream));
  PetscCall(PetscFree4(x, expected, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both directions and CSR; h is of the matrix that is not transposed. */
static PetscErrorCode CheckAll(HiSparse A, const KernelTestMatrix *h, cudaStream_t stream, const char what[])
{
  HiSparseInfo info;

  PetscFunctionBegin;
  PetscCall(HiSparseGetInfo(A, &info));
  PetscCall(CheckMatrix(A, h, stream, what));
  PetscCall(CheckProduct(A, h, PETSC_FALSE, info.transposed, stream, what));
  PetscCall(CheckProduct(A, h, PETSC_TRUE, info.transposed, stream, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the tests of one pair need. */
typedef struct {
  const Pair      *pair;
  KernelTestMatrix host[2]; /* of Y, of X */
  DCSRView         views[2];
  cudaStream_t     stream;
} Case;

static PetscErrorCode CaseCreate(const Pair *pair, PetscBool wide, cudaStream_t stream, Case *c)
{
  const KernelTestStorage storage = {"compact", wide, 0, 0};

  PetscFunctionBegin;
  c->pair   = pair;
  c->stream = stream;
  for (int k = 0; k < 2; k++) {
    PetscCall(HostCreate(pair, k ? &pair->x : &pair->y, 31 + k, &c->host[k]));
    PetscCall(KernelTestViewCreate(&c->host[k], &storage, stream, &c->views[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(KernelTestMatrixDestroy(&c->host[k]));
    PetscCall(KernelTestViewDestroy(&c->views[k], c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y or X, perhaps its transpose. */
static PetscErrorCode Create(const Case *c, int k, PetscBool transposed, HiSparse *A)
{
  HiSparse stored;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(c->views[k], HISPARSE_DIAGONALS, c->stream, A));
  PetscCheck(*A != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no diagonals", c->pair->name);
  if (!transposed) PetscFunctionReturn(PETSC_SUCCESS);
  stored = *A;
  PetscCall(HiSparseTranspose(stored, c->stream, A));
  PetscCall(HiSparseDestroy(&stored, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X, once with the values of Y shared, once not; prepared: with the list of the other direction. */
static PetscErrorCode TestSum(const Case *c, PetscBool transposed, PetscBool shared)
{
  const PetscScalar a = KernelTestNumber(3, 41), sy = KernelTestNumber(4, 41), sx = KernelTestNumber(5, 41);
  KernelTestMatrix  expected, before, other;
  HiSparse          Y, X, copy = NULL;
  HiSparseSum       sum;
  char              what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s%s", c->pair->name, transposed ? ", transposed" : "", shared ? ", shared" : ""));
  PetscCall(HostSum(sy, &c->host[0], a * sx, &c->host[1], &expected));
  PetscCall(HostSum(sy, &c->host[0], 0.0, &c->host[0], &before));
  PetscCall(HostSum(sx, &c->host[1], 0.0, &c->host[1], &other));
  PetscCall(Create(c, 0, transposed, &Y));
  PetscCall(Create(c, 1, transposed, &X));
  PetscCall(HiSparseScale(Y, sy, c->stream));
  PetscCall(HiSparseScale(X, sx, c->stream));
  if (shared) PetscCall(HiSparseDuplicate(Y, c->stream, &copy));
  for (int k = 0; k < 2; k++) PetscCall(HiSparsePrepare(Y, (PetscBool)k, c->stream));
  PetscCall(HiSparseAXPY(Y, a, X, PETSC_INT_MAX, c->stream, &sum));
  PetscCheck(sum == c->pair->sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the sum is %d, not %d", what, (int)sum, (int)c->pair->sum);
  PetscCall(CheckAll(Y, sum == HISPARSE_SUM_NONE ? &before : &expected, c->stream, what));
  PetscCall(CheckAll(X, &other, c->stream, "the second term"));
  if (shared) PetscCall(CheckAll(copy, &before, c->stream, "a copy of the first term"));
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(HiSparseDestroy(&X, c->stream));
  PetscCall(HiSparseDestroy(&Y, c->stream));
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscCall(KernelTestMatrixDestroy(&before));
  PetscCall(KernelTestMatrixDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies, itself, a sum that was made of CSR, too few entries allowed, and a transpose beside what is none. */
static PetscErrorCode TestOthers(const Case *c)
{
  KernelTestMatrix expected, twice;
  HiSparse         Y, X, again;
  HiSparseSum      sum;
  DCSRView         view;

  PetscFunctionBegin;
  PetscCall(Create(c, 0, PETSC_FALSE, &Y));
  PetscCall(Create(c, 1, PETSC_FALSE, &X));
  if (c->pair->sum == HISPARSE_SUM_GROWN) {
    PetscCall(HiSparseAXPY(Y, 2.0, X, c->host[0].nz, c->stream, &sum));
    PetscCheck(sum == HISPARSE_SUM_NONE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the sum has more entries than it may have", c->pair->name);
  }
  PetscCall(HiSparseTranspose(X, c->stream, &again));
  PetscCall(HiSparseAXPY(Y, 2.0, again, PETSC_INT_MAX, c->stream, &sum));
  PetscCheck(sum == HISPARSE_SUM_NONE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a sum with a transpose", c->pair->name);
  PetscCall(HiSparseDestroy(&again, c->stream));
  PetscCall(CheckMatrix(Y, &c->host[0], c->stream, "without a sum"));

  PetscCall(HiSparseAXPY(Y, 2.0, X, PETSC_INT_MAX, c->stream, &sum));
  PetscCall(HostSum(1.0, &c->host[0], sum == HISPARSE_SUM_NONE ? 0.0 : 2.0, sum == HISPARSE_SUM_NONE ? &c->host[0] : &c->host[1], &expected));
  PetscCall(KernelTestViewAllocate(expected.m, expected.n, expected.nz, PETSC_FALSE, c->stream, &view));
  PetscCall(HiSparseGetCSR(Y, PETSC_TRUE, PETSC_TRUE, view, c->stream));
  PetscCall(HiSparseCreate(view, HISPARSE_DIAGONALS, c->stream, &again));
  PetscCall(HiSparseAXPY(Y, 0.5, again, expected.nz, c->stream, &sum));
  PetscCheck(sum == HISPARSE_SUM_SAME, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a sum has another structure than that of its rows", c->pair->name);
  PetscCall(HostSum(1.0, &expected, 0.5, &expected, &twice));
  PetscCall(CheckAll(Y, &twice, c->stream, "the same structure, made twice"));
  PetscCall(HiSparseSetValues(Y, view, c->stream));
  PetscCall(CheckAll(Y, &expected, c->stream, "values of CSR"));
  PetscCall(HiSparseDestroy(&again, c->stream));
  PetscCall(HiSparseDuplicate(Y, c->stream, &again));
  PetscCall(HiSparseAXPY(Y, 0.5, again, expected.nz, c->stream, &sum));
  PetscCall(CheckAll(Y, &twice, c->stream, "a copy added"));
  PetscCall(CheckAll(again, &expected, c->stream, "a copy that was added"));
  PetscCall(HiSparseAXPY(again, 0.5, again, expected.nz, c->stream, &sum));
  PetscCall(CheckAll(again, &twice, c->stream, "a matrix added to itself"));
  PetscCall(HiSparseDestroy(&again, c->stream));
  PetscCall(HiSparseDestroy(&X, c->stream));
  PetscCall(HiSparseDestroy(&Y, c->stream));
  PetscCall(KernelTestViewDestroy(&view, c->stream));
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscCall(KernelTestMatrixDestroy(&twice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation fails once: nothing is left behind, and the terms are what they were. */
static PetscErrorCode TestFailures(const Case *c, PetscBool shared)
{
  HiSparse       Y, X, copy = NULL;
  HiSparseSum    sum;
  PetscErrorCode ierr = PETSC_ERR_MEM;

  PetscFunctionBegin;
  PetscCall(Create(c, 0, PETSC_FALSE, &Y));
  PetscCall(Create(c, 1, PETSC_FALSE, &X));
  if (shared) PetscCall(HiSparseDuplicate(Y, c->stream, &copy));
  for (PetscInt site = 1; ierr != PETSC_SUCCESS; site++) {
    size_t before, after;

    PetscCheck(site < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a sum allocates without end", c->pair->name);
    PetscCall(KernelTestMemoryInUse(c->stream, &before));
    PetscCall(PetscSparseCUDATestFailAllocation(site));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = HiSparseAXPY(Y, 2.0, X, PETSC_INT_MAX, c->stream, &sum);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    if (ierr == PETSC_SUCCESS) break;
    PetscCall(KernelTestMemoryInUse(c->stream, &after));
    PetscCheck(ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a sum fails with error %d", c->pair->name, (int)ierr);
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocation %" PetscInt_FMT " of a sum fails, and %zu bytes are left", c->pair->name, site, after - before);
    PetscCall(CheckMatrix(Y, &c->host[0], c->stream, "after an allocation failed"));
    PetscCall(CheckMatrix(X, &c->host[1], c->stream, "after an allocation failed"));
  }
  PetscCall(HiSparseDestroy(&copy, c->stream));
  PetscCall(HiSparseDestroy(&X, c->stream));
  PetscCall(HiSparseDestroy(&Y, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable, small;
  cudaStream_t stream;
  size_t       before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(pairs); k++) {
      const Pair *pair = &pairs[k];
      Case        c;

      if (small && !pair->small) continue;
      PetscCall(KernelTestMemoryInUse(stream, &before));
      PetscCall(CaseCreate(pair, (PetscBool)(k % 2), stream, &c));
      for (int i = 0; i < 4; i += small ? 3 : 1) PetscCall(TestSum(&c, (PetscBool)(i / 2), (PetscBool)(i % 2)));
      PetscCall(TestOthers(&c));
      for (int i = 0; i < 2 && !small; i++) PetscCall(TestFailures(&c, (PetscBool)i));
      PetscCall(CaseDestroy(&c));
      PetscCall(KernelTestMemoryInUse(stream, &after));
      PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", pair->name, after - before);
    }
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
