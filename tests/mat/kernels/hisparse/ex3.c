static char help[] = "HiSparse: factors, the diagonal, copies and transposes against the host, in every format, also transposed, and allocations that fail.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include "../../small.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/record.h>
#include <petscsparsecuda/transpose.h>

static PetscBool small; /* few matrices, some of which are transposed and the others not, and no allocation fails */

typedef struct {
  char             what[128]; /* matrix, storage, format */
  DCSRView         csr;       /* the matrix as it was */
  HiSparseFormat   format;
  PetscBool        transposed; /* A is the transpose of what is stored, */
  DCSRView         stored;     /* which is this; zero otherwise */
  HiSparse         A;
  KernelTestMatrix host;        /* what A should be */
  DCSRView         got;         /* for A as CSR again */
  PetscInt         n;           /* rows with a position on the diagonal */
  PetscScalar     *factors[2];  /* rows, columns, on the host */
  PetscScalar     *dfactors[2]; /* the same on the device */
  PetscScalar     *scalars;     /* [n] device */
  cudaStream_t     stream;
} Case;

/* Factors: beside the values, and such as are too large or too small for that, which change them. */
static const struct {
  const char *name;
  PetscReal   size;
} changes[] = {{"a factor", 1},
               {"a huge factor", (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e20 : 1e150)},
               {"a tiny factor", (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-20 : 1e-150)},
               {"zero", 0}};
#define NUM_CHANGES ((int)PETSC_STATIC_ARRAY_LENGTH(changes))

static PetscScalar Factor(int change)
{
  return changes[change].size * KernelTestNumber(5, 2);
}

/* A as CSR, structure and values. */
static PetscErrorCode CheckMatrix(const Case *c, HiSparse A, const KernelTestMatrix *expected, const char what[])
{
  KernelTestMatrix got;
  char             where[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", what, c->what));
  PetscCall(HiSparseGetCSR(A, PETSC_TRUE, PETSC_TRUE, c->got, c->stream));
  PetscCall(KernelTestMatrixFromView(c->got, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 20 * PETSC_MACHINE_EPSILON, where));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x or A^T x: what is kept for products follows the changes. */
static PetscErrorCode CheckProduct(const Case *c, PetscBool transpose)
{
  const KernelTestMatrix *h = &c->host;
  const PetscInt          n = transpose ? h->n : h->m;
  PetscScalar            *expected, *got, *y;
  PetscReal              *scale;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(n, &expected, n, &got, n, &scale));
  for (PetscInt r = 0; r < h->m; r++) {
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      const PetscScalar x = transpose ? c->factors[0][r] : c->factors[1][h->j[k]], product = h->a[k] * x;

      expected[transpose ? h->j[k] : r] += product;
      scale[transpose ? h->j[k] : r] += 10 * PetscAbsScalar(product);
    }
  }
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*y), NULL, c->stream, (void **)&y));
  if (transpose) PetscCall(HiSparseMultTranspose(c->A, PETSC_FALSE, c->dfactors[0], NULL, y, c->stream));
  else PetscCall(HiSparseMult(c->A, c->dfactors[1], NULL, y, c->stream));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), y, c->stream, got));
  PetscCall(KernelTestCompareScalars(n, got, expected, scale, transpose ? "A^T x" : "A x", h->name, c->what));
  PetscCall(PetscSparseCUDAFree(&y, c->stream));
  PetscCall(PetscFree3(expected, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleHost(PetscScalar alpha, KernelTestMatrix *h)
{
  PetscFunctionBegin;
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] *= alpha;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckDiagonal(const Case *c)
{
  const KernelTestMatrix *h = &c->host;
  PetscScalar            *d, *got;
  PetscReal              *scale;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(c->n, &d, c->n, &got, c->n, &scale));
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      if (h->j[k] != r) continue;
      d[r]     = h->a[k];
      scale[r] = PetscAbsScalar(h->a[k]);
    }
  if (c->n > 0) PetscCallCUDA(cudaMemsetAsync(c->scalars, 0xff, (size_t)c->n * sizeof(*c->scalars), c->stream));
  PetscCall(HiSparseGetDiagonal(c->A, c->scalars, c->stream));
  PetscCall(KernelTestToHost((size_t)c->n * sizeof(*got), c->scalars, c->stream, got));
  PetscCall(KernelTestCompareScalars(c->n, got, d, scale, "diagonal", h->name, c->what));
  PetscCall(PetscFree3(d, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAll(const Case *c, const char what[])
{
  PetscBool   ok;
  const char *why;
  PetscCount  where;

  PetscFunctionBegin;
  PetscCall(CheckMatrix(c, c->A, &c->host, what));
  PetscCall(CheckProduct(c, PETSC_FALSE));
  PetscCall(CheckProduct(c, PETSC_TRUE));
  PetscCall(CheckDiagonal(c));
  PetscCall(HiSparseIsValid(c->A, c->stream, &ok, &why, &where));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: not valid: %s %" PetscCount_FMT, c->what, what, why, where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as it was at first; NULL when it does not fit the format. */
static PetscErrorCode Create(const Case *c, HiSparse *A)
{
  HiSparse stored;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(c->transposed ? c->stored : c->csr, c->format, c->stream, A));
  if (*A == NULL || !c->transposed) PetscFunctionReturn(PETSC_SUCCESS);
  stored = *A;
  PetscCall(HiSparseTranspose(stored, c->stream, A));
  PetscCall(HiSparseDestroy(&stored, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values that the matrix had at first. New values would make a transposed one another. */
static PetscErrorCode Restore(Case *c)
{
  PetscFunctionBegin;
  if (c->transposed) {
    PetscCall(HiSparseDestroy(&c->A, c->stream));
    PetscCall(Create(c, &c->A));
  } else PetscCall(HiSparseSetValues(c->A, c->csr, c->stream));
  PetscCall(KernelTestToHost((size_t)c->host.nz * sizeof(*c->host.a), c->csr.values, c->stream, c->host.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each factor alone, and after another one that is not in the values yet. */
static PetscErrorCode TestFactors(Case *c)
{
  PetscFunctionBegin;
  PetscCall(CheckAll(c, "HiSparseCreate()"));
  for (int i = 0; i < 2 * NUM_CHANGES; i++) {
    if (i >= NUM_CHANGES) {
      PetscCall(HiSparseScale(c->A, 3.0, c->stream));
      PetscCall(ScaleHost(3.0, &c->host));
    }
    PetscCall(HiSparseScale(c->A, Factor(i % NUM_CHANGES), c->stream));
    PetscCall(ScaleHost(Factor(i % NUM_CHANGES), &c->host));
    PetscCall(CheckAll(c, changes[i % NUM_CHANGES].name));
    PetscCall(Restore(c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A change of a copy is none of the matrix, and the other way round. */
static PetscErrorCode TestCopies(Case *c)
{
  KernelTestMatrix changed = c->host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(changed.nz, &changed.a));
  for (int i = 0; i < NUM_CHANGES; i++) {
    HiSparse copy;

    PetscCall(PetscArraycpy(changed.a, c->host.a, changed.nz));
    PetscCall(ScaleHost(Factor(i), &changed));
    PetscCall(HiSparseDuplicate(c->A, c->stream, &copy));
    PetscCall(HiSparseScale(copy, Factor(i), c->stream));
    PetscCall(CheckMatrix(c, copy, &changed, changes[i].name));
    PetscCall(CheckMatrix(c, c->A, &c->host, "change of a copy"));
    PetscCall(HiSparseDestroy(&copy, c->stream));
    PetscCall(HiSparseDuplicate(c->A, c->stream, &copy));
    PetscCall(HiSparseScale(c->A, Factor(i), c->stream));
    PetscCall(CheckMatrix(c, c->A, &changed, changes[i].name));
    PetscCall(CheckMatrix(c, copy, &c->host, "a change of what was copied"));
    PetscCall(HiSparseDestroy(&c->A, c->stream));
    c->A = copy;
  }
  PetscCall(PetscFree(changed.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCopyValues() to itself, to a copy, and to a matrix that was made by itself; not to a transpose. */
static PetscErrorCode TestCopyValues(Case *c)
{
  HiSparse  others[2], T;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(HiSparseDuplicate(c->A, c->stream, &others[0]));
  PetscCall(Create(c, &others[1]));
  PetscCall(HiSparseTranspose(c->A, c->stream, &T));
  PetscCall(HiSparseScale(c->A, Factor(0), c->stream));
  PetscCall(ScaleHost(Factor(0), &c->host));
  PetscCall(HiSparseCopyValues(c->A, c->A, c->stream, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no values for the same matrix", c->what);
  for (int k = 0; k < 2; k++) {
    PetscCall(HiSparseCopyValues(c->A, others[k], c->stream, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no values for matrix %d", c->what, k);
    PetscCall(CheckMatrix(c, others[k], &c->host, "HiSparseCopyValues()"));
  }
  PetscCall(HiSparseCopyValues(c->A, T, c->stream, &done));
  PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the values of a matrix for its transpose", c->what);
  PetscCall(HiSparseSetValues(others[0], c->csr, c->stream));
  PetscCall(CheckMatrix(c, c->A, &c->host, "beside new values"));
  PetscCall(CheckMatrix(c, others[1], &c->host, "beside new values"));
  PetscCall(HiSparseDestroy(&T, c->stream));
  for (int k = 0; k < 2; k++) PetscCall(HiSparseDestroy(&others[k], c->stream));
  PetscCall(Restore(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose on the host. */
static PetscErrorCode HostTranspose(const KernelTestMatrix *h, KernelTestMatrix *t)
{
  PetscInt *next;

  PetscFunctionBegin;
  t->name = h->name;
  t->m    = h->n;
  t->n    = h->m;
  t->nz   = h->nz;
  PetscCall(PetscCalloc1(t->m + 1, &t->i));
  PetscCall(PetscMalloc2(t->nz, &t->j, t->nz, &t->a));
  PetscCall(PetscMalloc1(t->m + 1, &next));
  for (PetscCount k = 0; k < h->nz; k++) t->i[h->j[k] + 1]++;
  for (PetscInt r = 0; r < t->m; r++) t->i[r + 1] += t->i[r];
  PetscCall(PetscArraycpy(next, t->i, t->m + 1));
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      t->j[next[h->j[k]]]   = r;
      t->a[next[h->j[k]]++] = h->a[k];
    }
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B as CSR is the transpose of what A should be. */
static PetscErrorCode CheckTranspose(const Case *c, HiSparse B, const char what[])
{
  Case             t = *c;
  KernelTestMatrix expected;

  PetscFunctionBegin;
  PetscCall(HostTranspose(&c->host, &expected));
  PetscCall(KernelTestViewAllocate(expected.m, expected.n, expected.nz, c->csr.wide, c->stream, &t.got));
  PetscCall(CheckMatrix(&t, B, &expected, what));
  PetscCall(KernelTestViewDestroy(&t.got, c->stream));
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values one after the other, with offsets of either width. */
static PetscErrorCode CheckParts(const Case *c)
{
  Case t = *c;

  PetscFunctionBegin;
  for (int wide = 0; wide < 2; wide++) {
    KernelTestMatrix got;

    PetscCall(KernelTestViewAllocate(c->host.m, c->host.n, c->host.nz, (PetscBool)wide, c->stream, &t.got));
    PetscCall(HiSparseGetCSR(c->A, PETSC_TRUE, PETSC_FALSE, t.got, c->stream));
    PetscCall(HiSparseGetCSR(c->A, PETSC_FALSE, PETSC_TRUE, t.got, c->stream));
    PetscCall(KernelTestMatrixFromView(t.got, c->stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, &c->host, 20 * PETSC_MACHINE_EPSILON, c->what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(KernelTestViewDestroy(&t.got, c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^H x + z with z == NULL, another vector, y. */
static PetscErrorCode CheckHermitian(const Case *c)
{
  const KernelTestMatrix *h = &c->host;
  PetscScalar            *product, *expected, *got, *z, *y;
  PetscReal              *scale;

  PetscFunctionBegin;
  PetscCall(PetscCalloc4(h->n, &product, h->n, &expected, h->n, &got, h->n, &scale));
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      product[h->j[k]] += PetscConj(h->a[k]) * c->factors[0][r];
      scale[h->j[k]] += 10 * PetscAbsScalar(h->a[k] * c->factors[0][r]) + 1;
    }
  for (PetscInt r = 0; r < h->n; r++) scale[r] += 2;
  PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*z), c->factors[1], c->stream, (void **)&z));
  PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*y), c->factors[1], c->stream, (void **)&y));
  for (int which = 0; which < 3; which++) {
    if (which < 2 && h->n > 0) PetscCallCUDA(cudaMemsetAsync(y, 0xff, (size_t)h->n * sizeof(*y), c->stream));
    if (which == 2 && h->n > 0) PetscCallCUDA(cudaMemcpyAsync(y, z, (size_t)h->n * sizeof(*y), cudaMemcpyDeviceToDevice, c->stream));
    PetscCall(HiSparseMultTranspose(c->A, PETSC_TRUE, c->dfactors[0], which == 0 ? NULL : which == 1 ? z : y, y, c->stream));
    PetscCall(KernelTestToHost((size_t)h->n * sizeof(*got), y, c->stream, got));
    for (PetscInt r = 0; r < h->n; r++) expected[r] = product[r] + (which ? c->factors[1][r] : 0.0);
    PetscCall(KernelTestCompareScalars(h->n, got, expected, scale, "A^H x", h->name, c->what));
  }
  PetscCall(PetscSparseCUDAFree(&z, c->stream));
  PetscCall(PetscSparseCUDAFree(&y, c->stream));
  PetscCall(PetscFree4(product, expected, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that was recorded reads the values of A^T, whatever other products were computed since. */
static PetscErrorCode CheckRecorded(const Case *c)
{
  const KernelTestMatrix *h = &c->host;
  cudaGraphExec_t         graph;
  cudaStream_t            recorder;
  size_t                  nodes;
  PetscScalar            *first, *again, *y;
  PetscReal              *scale;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(h->n, &first, h->n, &again, h->n, &scale));
  PetscCall(PetscSparseCUDAMalloc(h->n, "a product", c->stream, &y));
  PetscCall(HiSparseMultTranspose(c->A, PETSC_FALSE, c->dfactors[0], NULL, y, c->stream));
  PetscCall(KernelTestToHost((size_t)h->n * sizeof(*y), y, c->stream, first));
  PetscCall(PetscSparseCUDARecordBegin());
  PetscCall(PetscSparseCUDAGetStream(&recorder));
  PetscCall(HiSparseMultTranspose(c->A, PETSC_FALSE, c->dfactors[0], NULL, y, recorder));
  PetscCall(PetscSparseCUDARecordEnd(&graph, &nodes));
  PetscCall(HiSparseMultTranspose(c->A, PETSC_TRUE, c->dfactors[0], NULL, y, c->stream));
  if (h->n > 0) PetscCallCUDA(cudaMemsetAsync(y, 0xff, (size_t)h->n * sizeof(*y), c->stream));
  PetscCallCUDA(cudaStreamSynchronize(c->stream));
  if (graph != NULL) {
    PetscCall(PetscSparseCUDAGraphLaunch(graph));
    PetscCall(PetscSparseCUDAGraphDestroy(&graph));
    PetscCall(KernelTestToHost((size_t)h->n * sizeof(*y), y, c->stream, again));
    for (PetscInt r = 0; r < h->n; r++) scale[r] = 1 + PetscAbsScalar(first[r]);
    PetscCall(KernelTestCompareScalars(h->n, again, first, scale, "A^T x that was recorded", h->name, c->what));
  }
  PetscCall(PetscSparseCUDAFree(&y, c->stream));
  PetscCall(PetscFree3(first, again, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transpose shares, and changes alone; values come from the matrix again, and from CSR. */
static PetscErrorCode TestTransposes(Case *c)
{
  HiSparse     T, again;
  HiSparseInfo info;
  PetscBool    done;

  PetscFunctionBegin;
  PetscCall(HiSparseScale(c->A, Factor(0), c->stream));
  PetscCall(ScaleHost(Factor(0), &c->host));
  PetscCall(CheckParts(c));
  PetscCall(CheckHermitian(c));
  PetscCall(CheckRecorded(c));
  PetscCall(HiSparseTranspose(c->A, c->stream, &T));
  PetscCall(HiSparseTranspose(T, c->stream, &again));
  PetscCall(HiSparseGetInfo(T, &info));
  PetscCheck(info.transposed == !c->transposed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a transpose has the flag of the matrix", c->what);
  PetscCall(CheckTranspose(c, T, "HiSparseTranspose()"));
  PetscCall(HiSparseScale(T, 0.0, c->stream));
  PetscCall(CheckMatrix(c, again, &c->host, "a transpose of a transpose that changed"));
  PetscCall(CheckMatrix(c, c->A, &c->host, "a change of a transpose"));
  PetscCall(HiSparseTransposeValues(c->A, T, c->stream, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no values for the transpose", c->what);
  PetscCall(CheckTranspose(c, T, "HiSparseTransposeValues()"));
  PetscCall(HiSparseTransposeValues(c->A, again, c->stream, &done));
  PetscCheck(!done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values for what is no transpose", c->what);
  PetscCall(HiSparseScale(c->A, 0.0, c->stream));
  PetscCall(CheckTranspose(c, T, "a change of what was transposed"));
  PetscCall(HiSparseSetValues(again, c->csr, c->stream));
  PetscCall(CheckTranspose(c, T, "a change of a transpose of the transpose"));
  PetscCall(KernelTestToHost((size_t)c->host.nz * sizeof(*c->host.a), c->csr.values, c->stream, c->host.a));
  PetscCall(CheckMatrix(c, again, &c->host, "HiSparseSetValues() of a transpose of a transpose"));
  PetscCall(HiSparseDestroy(&T, c->stream));
  PetscCall(HiSparseDestroy(&c->A, c->stream));
  c->A = again;
  PetscCall(CheckProduct(c, PETSC_FALSE));
  PetscCall(CheckProduct(c, PETSC_TRUE));
  PetscCall(Restore(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What allocates: values of a copy, CSR, and the diagonal, which does not. */
static PetscErrorCode Operate(const Case *c, PetscInt i, HiSparse A)
{
  PetscFunctionBegin;
  if (i == 0) PetscCall(HiSparseScale(A, 0.0, c->stream));
  else if (i == 1) PetscCall(HiSparseSetValues(A, c->csr, c->stream));
  else if (i == 2) PetscCall(HiSparseGetCSR(A, PETSC_TRUE, PETSC_TRUE, c->got, c->stream));
  else PetscCall(HiSparseGetDiagonal(A, c->scalars, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocations of an operation fail one after the other: nothing is left behind, and the matrix is what it was. */
static PetscErrorCode TestFailures(const Case *c)
{
  PetscFunctionBegin;
  // lists and plans that stay
  PetscCall(HiSparsePrepare(c->A, PETSC_FALSE, c->stream));
  PetscCall(HiSparsePrepare(c->A, PETSC_TRUE, c->stream));
  for (PetscInt i = 0; i < 4; i++) {
    PetscErrorCode ierr = PETSC_ERR_MEM;
    HiSparse       copy;

    PetscCall(HiSparseDuplicate(c->A, c->stream, &copy));
    for (PetscInt site = 1; ierr != PETSC_SUCCESS; site++) {
      size_t before, after;

      PetscCheck(site < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: operation %" PetscInt_FMT " allocates without end", c->what, i);
      PetscCall(KernelTestMemoryInUse(c->stream, &before));
      PetscCall(PetscSparseCUDATestFailAllocation(site));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = Operate(c, i, copy);
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscSparseCUDATestFailAllocation(0));
      if (ierr == PETSC_SUCCESS) break;
      PetscCall(KernelTestMemoryInUse(c->stream, &after));
      PetscCheck(ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: operation %" PetscInt_FMT " fails with error %d", c->what, i, (int)ierr);
      PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocation %" PetscInt_FMT " of operation %" PetscInt_FMT " fails, and %zu bytes are left", c->what, site, i, after - before);
      PetscCall(CheckMatrix(c, copy, &c->host, "after an allocation failed"));
    }
    PetscCall(CheckMatrix(c, c->A, &c->host, "after a copy changed"));
    PetscCall(HiSparseDestroy(&copy, c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseCreate(const KernelTestMatrix *A, DCSRView view, Case *c)
{
  const PetscInt sizes[2] = {A->m, A->n};

  PetscFunctionBegin;
  c->n   = PetscMin(A->m, A->n);
  c->csr = view;
  PetscCall(KernelTestMatrixFromView(view, c->stream, &c->host));
  c->host.name = A->name;
  if (c->transposed) PetscCall(DCSRTransposeCreate(view, PETSC_TRUE, PETSC_FALSE, c->stream, &c->stored));
  PetscCall(KernelTestViewAllocate(A->m, A->n, A->nz, view.wide, c->stream, &c->got));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscMalloc1(sizes[k], &c->factors[k]));
    for (PetscInt r = 0; r < sizes[k]; r++) c->factors[k][r] = KernelTestNumber(r, 3 + k);
    PetscCall(KernelTestToDevice((size_t)sizes[k] * sizeof(PetscScalar), c->factors[k], c->stream, (void **)&c->dfactors[k]));
  }
  PetscCall(KernelTestToDevice((size_t)c->n * sizeof(*c->scalars), NULL, c->stream, (void **)&c->scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(HiSparseDestroy(&c->A, c->stream));
  PetscCall(KernelTestMatrixDestroy(&c->host));
  PetscCall(KernelTestViewDestroy(&c->got, c->stream));
  PetscCall(KernelTestViewDestroy(&c->stored, c->stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(c->factors[k]));
    PetscCall(PetscSparseCUDAFree(&c->dfactors[k], c->stream));
  }
  PetscCall(PetscSparseCUDAFree(&c->scalars, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFormat(const KernelTestMatrix *A, const char storage[], DCSRView view, HiSparseFormat format, PetscBool transposed, cudaStream_t stream, PetscBool *made)
{
  Case c = {.stream = stream, .format = format, .transposed = transposed};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(c.what, sizeof(c.what), "%s, %s, %s%s", A->name, storage, HiSparseFormats[format], transposed ? ", transposed" : ""));
  PetscCall(CaseCreate(A, view, &c));
  PetscCall(Create(&c, &c.A));
  *made = (PetscBool)(c.A != NULL);
  if (*made) {
    PetscCall(TestFactors(&c));
    PetscCall(TestCopies(&c));
    PetscCall(TestCopyValues(&c));
    PetscCall(TestTransposes(&c));
    if (!small) PetscCall(TestFailures(&c));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* made: which of the formats from first to last the matrix has. */
static PetscErrorCode TestView(const KernelTestMatrix *A, const char storage[], DCSRView view, HiSparseFormat first, HiSparseFormat last, cudaStream_t stream, PetscBool made[])
{
  PetscBool transposed;

  PetscFunctionBegin;
  for (HiSparseFormat format = first; format <= last; format++) {
    PetscCall(TestFormat(A, storage, view, format, PETSC_FALSE, stream, &made[format]));
    PetscCall(TestFormat(A, storage, view, format, PETSC_TRUE, stream, &transposed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscBool made[HISPARSE_CSR + 1];

  PetscFunctionBegin;
  if (view.row_offsets != NULL) PetscCall(TestView(A, storage->name, view, HISPARSE_DIAGONALS, HISPARSE_BLOCK_DIAGONALS, stream, made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MAX_DIAGONALS 8

/* Diagonals with holes and entries outside of them: column - row of each, how many of 100 positions are taken, random columns in every fifth row, whether the middle row is full. */
typedef struct {
  const char *name;
  PetscInt    m, n, num_diagonals, diagonals[MAX_DIAGONALS], density, others;
  PetscBool   long_row;
  PetscBool   small; /* is in the small test */
} Band;

static const Band bands[] = {{"one slice", 128, 128, 3, {-1, 0, 1}, 100, 0, PETSC_FALSE},
                             {"a row more than a slice", 129, 129, 3, {-1, 0, 1}, 100, 0, PETSC_FALSE},
                             {"a row less than two slices", 255, 255, 5, {-16, -1, 0, 1, 16}, 90, 0, PETSC_FALSE},
                             {"one row of a slice", 1025, 1100, 2, {0, 70}, 100, 0, PETSC_FALSE},
                             {"no diagonal", 1000, 1000, 4, {-200, -7, 3, 500}, 95, 0, PETSC_FALSE},
                             {"half of the diagonal", 2000, 2000, 4, {-130, 0, 1, 129}, 50, 0, PETSC_FALSE},
                             {"diagonal outside of segments", 3000, 3000, 4, {-3, -2, 2, 3}, 100, 2, PETSC_FALSE},
                             {"others", 1500, 1500, 6, {-300, -128, -1, 0, 1, 128}, 80, 3, PETSC_FALSE, PETSC_TRUE},
                             {"long row", 2100, 2100, 5, {-40, -1, 0, 1, 40}, 100, 1, PETSC_TRUE, PETSC_TRUE},
                             {"wide", 700, 5000, 4, {0, 127, 128, 4300}, 97, 1, PETSC_FALSE},
                             {"tall", 5000, 700, 4, {-4300, -129, -1, 0}, 97, 1, PETSC_FALSE}};

static PetscBool BandHas(const Band *b, PetscInt r, PetscInt c)
{
  for (PetscInt k = 0; k < b->num_diagonals; k++)
    if (c - r == b->diagonals[k]) return (PetscBool)(50 + 50 * PetscRealPart(KernelTestNumber((PetscCount)r * MAX_DIAGONALS + k, 11)) < b->density);
  if (b->long_row && r == b->m / 2) return PETSC_TRUE;
  // the diagonal of some rows among the others
  if (b->others > 0 && r % 50 == 7 && c == r) return PETSC_TRUE;
  for (PetscInt k = 0; r % 5 == 0 && k < b->others; k++)
    if (c == (PetscInt)(0.5 * (1 + PetscRealPart(KernelTestNumber((PetscCount)r * 8 + k, 12))) * b->n)) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode BandCreate(const Band *b, KernelTestMatrix *A)
{
  PetscCount capacity = (PetscCount)b->m * (b->num_diagonals + b->others + 1) + b->n;

  PetscFunctionBegin;
  A->name = b->name;
  A->m    = b->m;
  A->n    = b->n;
  A->nz   = 0;
  PetscCall(PetscMalloc1(b->m + 1, &A->i));
  PetscCall(PetscMalloc2(capacity, &A->j, capacity, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < b->m; r++) {
    for (PetscInt c = 0; c < b->n; c++)
      if (BandHas(b, r, c)) A->j[A->nz++] = c;
    A->i[r + 1] = (PetscInt)A->nz;
  }
  for (PetscCount k = 0; k < A->nz; k++) A->a[k] = k % 11 == 3 ? 0.0 : KernelTestNumber(k, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bands have diagonals. */
static PetscErrorCode TestBands(void)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    KernelTestMatrix A;
    size_t           before, after;

    if (small && !bands[k].small) continue;
    PetscCall(BandCreate(&bands[k], &A));
    for (PetscInt s = 0; s < KernelTestNumStorages; s++) {
      PetscBool made[HISPARSE_CSR + 1];
      DCSRView  view;

      if (KernelTestStorages[s].max_segments > 0 || (small && KernelTestStorages[s].wide != bands[k].long_row)) continue;
      PetscCall(KernelTestMemoryInUse(stream, &before));
      PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
      PetscCall(TestView(&A, KernelTestStorages[s].name, view, HISPARSE_DIAGONALS, small ? HISPARSE_DIAGONALS : HISPARSE_BLOCK_DIAGONALS, stream, made));
      PetscCall(KernelTestViewDestroy(&view, stream));
      PetscCall(KernelTestMemoryInUse(stream, &after));
      PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes of device memory leaked", A.name, KernelTestStorages[s].name, after - before);
      PetscCheck(made[HISPARSE_DIAGONALS], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: diagonals do not take a band", A.name, KernelTestStorages[s].name);
    }
    PetscCall(KernelTestMatrixDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Full blocks: size, rows and columns of blocks, distances of their diagonals; every fifth row of blocks is empty. Crossed: a row and a column of blocks are full, so that diagonals of blocks do not
  fit.
*/
typedef struct {
  const char *name;
  PetscInt    size, m, n, distances[3];
  PetscBool   crossed;
} BlockShape;

static const BlockShape block_shapes[] = {{"crossed blocks of 3", 3, 307, 300, {-3, 0, 77}, PETSC_TRUE},
                                          {"diagonal blocks of 2", 2, 301, 290, {-20, 0, 1}, PETSC_FALSE},
                                          {"diagonal blocks of 3", 3, 307, 320, {-3, 0, 77}, PETSC_FALSE},
                                          {"diagonal blocks of 4", 4, 203, 271, {0, 1, 140}, PETSC_FALSE},
                                          {"diagonal blocks of 6", 6, 101, 101, {-1, 2, 9}, PETSC_FALSE}};

static PetscErrorCode BlocksCreate(const BlockShape *b, KernelTestMatrix *A)
{
  PetscCount capacity = (PetscCount)b->size * b->size * (5 * b->m + b->n), k = 0;

  PetscFunctionBegin;
  A->name = b->name;
  A->m    = b->m * b->size;
  A->n    = b->n * b->size;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(capacity, &A->j, capacity, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < A->m; r++) {
    for (PetscInt c = 0; c < A->n; c++) {
      const PetscInt p = r / b->size, q = c / b->size, d = q - p;

      if (p % 5 != 3 && (d == b->distances[0] || d == b->distances[1] || d == b->distances[2] || (b->crossed && (p == 42 || q == 17)))) A->j[k++] = c;
    }
    A->i[r + 1] = (PetscInt)k;
  }
  A->nz = k;
  for (k = 0; k < A->nz; k++) A->a[k] = k % 11 == 3 ? 0.0 : KernelTestNumber(k, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonals of full blocks have their format. */
static PetscErrorCode TestBlocks(void)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(block_shapes); k++) {
    KernelTestMatrix A;

    PetscCall(BlocksCreate(&block_shapes[k], &A));
    for (PetscInt s = 0; s < KernelTestNumStorages; s++) {
      PetscBool made[HISPARSE_CSR + 1];
      DCSRView  view;

      if (KernelTestStorages[s].max_segments > 0 || (small && KernelTestStorages[s].wide != (block_shapes[k].size % 2 == 1))) continue;
      PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
      PetscCall(TestView(&A, KernelTestStorages[s].name, view, small ? HISPARSE_BLOCK_DIAGONALS : HISPARSE_DIAGONALS, HISPARSE_BLOCK_DIAGONALS, stream, made));
      PetscCall(KernelTestViewDestroy(&view, stream));
      PetscCheck(made[HISPARSE_BLOCK_DIAGONALS] == !block_shapes[k].crossed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: diagonals of blocks are %smade", A.name, KernelTestStorages[s].name,
                 made[HISPARSE_BLOCK_DIAGONALS] ? "" : "not ");
    }
    PetscCall(KernelTestMatrixDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(TestIsSmall(&small));
  PetscCall(TestBands());
  PetscCall(TestBlocks());
  if (!small) PetscCall(KernelTestRun(Test));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: cuda
    timeoutfactor: 5
    output_file: output/empty.out
    test:
      suffix: 1
    test:
      suffix: wide
      args: -mat_dcsr_test_wide_from 1000

TEST*/
