static char help[] = "Operations entry by entry against the host, on all shapes and storages.\n\n";

#include "kerneltest.h"
#include <petscsparsecuda/entries.h>

typedef struct {
  const KernelTestMatrix *A;
  const char             *storage;
  DCSRView                view;
  cudaStream_t            stream;
  KernelTestMatrix        host; /* what the device should hold */
} Case;

/* Compares the device with the expected host matrix. */
static PetscErrorCode CheckMatrix(const Case *c, const char what[])
{
  KernelTestMatrix got;
  char             where[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", what, c->storage));
  PetscCall(KernelTestMatrixFromView(c->view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &c->host, 20 * PETSC_MACHINE_EPSILON, where));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReal(const Case *c, PetscReal got, PetscReal expected, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(got - expected) <= 2000 * PETSC_MACHINE_EPSILON * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s: %g, not %g", what, c->A->name, c->storage, (double)got,
             (double)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestScaling(Case *c)
{
  KernelTestMatrix *h     = &c->host;
  const PetscScalar alpha = KernelTestNumber(5, 2);
  PetscScalar      *left, *right, *dleft, *dright;

  PetscFunctionBegin;
  PetscCall(DCSRScale(c->view, alpha, c->stream));
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] *= alpha;
  PetscCall(CheckMatrix(c, "DCSRScale()"));
  PetscCall(PetscMalloc2(h->m, &left, h->n, &right));
  for (PetscInt r = 0; r < h->m; r++) left[r] = KernelTestNumber(r, 3);
  for (PetscInt r = 0; r < h->n; r++) right[r] = KernelTestNumber(r, 4);
  PetscCall(KernelTestToDevice((size_t)h->m * sizeof(*left), left, c->stream, (void **)&dleft));
  PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*right), right, c->stream, (void **)&dright));
  for (int side = 0; side < 4; side++) {
    PetscCall(DCSRDiagonalScale(c->view, side & 1 ? dleft : NULL, side & 2 ? dright : NULL, c->stream));
    for (PetscInt r = 0; r < h->m; r++) {
      for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) h->a[k] *= (side & 1 ? left[r] : 1.0) * (side & 2 ? right[h->j[k]] : 1.0);
    }
    PetscCall(CheckMatrix(c, "DCSRDiagonalScale()"));
  }
  PetscCall(PetscSparseCUDAFree(&dleft, c->stream));
  PetscCall(PetscSparseCUDAFree(&dright, c->stream));
  PetscCall(PetscFree2(left, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiagonal(Case *c)
{
  KernelTestMatrix *h = &c->host;
  const PetscInt    n = PetscMin(h->m, h->n);
  PetscScalar      *d, *got, *dd;
  PetscInt         *where;
  PetscCount        missing = 0, counted;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &d, n, &got, h->m, &where));
  for (PetscInt r = 0; r < h->m; r++) {
    where[r] = -1;
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++)
      if (h->j[k] == r) where[r] = k;
    missing += where[r] < 0;
  }
  PetscCall(DCSRCountMissingDiagonal(c->view, h->m, c->stream, &counted));
  PetscCheck(counted == missing, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " missing diagonal entries, not %" PetscCount_FMT, h->name, c->storage, counted, missing);
  for (PetscInt r = 0; r < n; r++) d[r] = 77.0;
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*d), d, c->stream, (void **)&dd));
  PetscCall(DCSRGetDiagonal(c->view, dd, c->stream));
  for (PetscInt r = 0; r < n; r++) d[r] = where[r] < 0 ? 0.0 : h->a[where[r]];
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), dd, c->stream, got));
  PetscCall(KernelTestCompareScalars(n, got, d, NULL, "diagonal", h->name, c->storage));
  for (PetscInt r = 0; r < n; r++) d[r] = KernelTestNumber(r, 6);
  if (n) PetscCallCUDA(cudaMemcpyAsync(dd, d, (size_t)n * sizeof(*d), cudaMemcpyHostToDevice, c->stream));
  for (int variant = 0; variant < 4; variant++) {
    const PetscBool insert = variant & 1 ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(DCSRDiagonalAdd(c->view, variant & 2 ? dd : NULL, 3.5, insert, c->stream));
    for (PetscInt r = 0; r < n; r++)
      if (where[r] >= 0) h->a[where[r]] = (insert ? 0.0 : h->a[where[r]]) + (variant & 2 ? d[r] : 3.5);
    PetscCall(CheckMatrix(c, "DCSRDiagonalAdd()"));
  }
  PetscCall(PetscSparseCUDAFree(&dd, c->stream));
  PetscCall(PetscFree3(d, got, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNorms(Case *c)
{
  const KernelTestMatrix *h = &c->host;
  PetscReal              *sums, *dsums, one = 0, infinity = 0, got, again;
  double                  frobenius = 0; /* sums of a million numbers, one after the other, need more digits than single precision has */
  PetscScalar            *a, *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(h->n, &sums, h->n, &a, h->n, &b));
  PetscCall(PetscArrayzero(sums, h->n));
  for (PetscInt r = 0; r < h->m; r++) {
    double row = 0;

    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      frobenius += (double)PetscRealPart(PetscConj(h->a[k]) * h->a[k]);
      row += PetscAbsScalar(h->a[k]);
      sums[h->j[k]] += PetscAbsScalar(h->a[k]);
    }
    infinity = PetscMax(infinity, (PetscReal)row);
  }
  for (PetscInt r = 0; r < h->n; r++) one = PetscMax(one, sums[r]);
  PetscCall(DCSRNormFrobeniusSquared(c->view, c->stream, &got));
  PetscCall(CheckReal(c, got, (PetscReal)frobenius, "squared Frobenius norm"));
  PetscCall(DCSRNormFrobeniusSquared(c->view, c->stream, &again));
  PetscCheck(got == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: Frobenius norm is not reproducible", h->name, c->storage);
  PetscCall(DCSRNormInfinity(c->view, c->stream, &got));
  PetscCall(CheckReal(c, got, infinity, "infinity norm"));
  PetscCall(DCSRNormInfinity(c->view, c->stream, &again));
  PetscCheck(got == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: infinity norm is not reproducible", h->name, c->storage);
  PetscCall(DCSRNormOne(c->view, c->stream, &got));
  PetscCall(CheckReal(c, got, one, "one-norm"));
  PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*dsums), NULL, c->stream, (void **)&dsums));
  PetscCall(DCSRColumnSumsAbs(c->view, dsums, c->stream));
  for (PetscInt r = 0; r < h->n; r++) a[r] = sums[r];
  PetscCall(KernelTestToHost((size_t)h->n * sizeof(*dsums), dsums, c->stream, sums));
  for (PetscInt r = 0; r < h->n; r++) b[r] = sums[r];
  // sequential sums on the host are the less accurate ones
  for (PetscInt r = 0; r < h->n; r++) sums[r] = 10 * PetscRealPart(a[r]);
  PetscCall(KernelTestCompareScalars(h->n, b, a, sums, "column sums", h->name, c->storage));
  PetscCall(PetscSparseCUDAFree(&dsums, c->stream));
  PetscCall(PetscFree3(sums, a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRows(Case *c)
{
  const KernelTestMatrix *h = &c->host;
  PetscScalar            *largest, *sums, *got, *dgot;
  PetscReal              *scale;
  PetscInt               *index, *got_index, *dindex;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(h->m, &largest, h->m, &sums, h->m, &got, h->m, &scale, h->m, &index, h->m, &got_index));
  for (PetscInt r = 0; r < h->m; r++) {
    largest[r] = 0;
    sums[r]    = 0;
    index[r]   = 0;
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      sums[r] += PetscAbsScalar(h->a[k]);
      if (PetscAbsScalar(largest[r]) < PetscAbsScalar(h->a[k])) {
        largest[r] = PetscAbsScalar(h->a[k]);
        index[r]   = h->j[k];
      }
    }
    scale[r] = 10 * PetscRealPart(sums[r]);
  }
  PetscCall(KernelTestToDevice((size_t)h->m * sizeof(*dgot), NULL, c->stream, (void **)&dgot));
  PetscCall(KernelTestToDevice((size_t)h->m * sizeof(*dindex), NULL, c->stream, (void **)&dindex));
  PetscCall(DCSRRowSumAbs(c->view, dgot, c->stream));
  PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got), dgot, c->stream, got));
  PetscCall(KernelTestCompareScalars(h->m, got, sums, scale, "row sums", h->name, c->storage));
  PetscCall(DCSRRowMaxAbs(c->view, dgot, dindex, c->stream));
  PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got), dgot, c->stream, got));
  PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got_index), dindex, c->stream, got_index));
  PetscCall(KernelTestCompareScalars(h->m, got, largest, scale, "row maxima", h->name, c->storage));
#if !PetscDefined(USE_COMPLEX)
  // absolute values of complex numbers may round differently, which changes the winner among near equals
  for (PetscInt r = 0; r < h->m; r++)
    PetscCheck(got_index[r] == index[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the maximum of row %" PetscInt_FMT " is in column %" PetscInt_FMT ", not %" PetscInt_FMT, h->name, c->storage, r,
               got_index[r], index[r]);
#endif
  PetscCall(DCSRRowMaxAbs(c->view, dgot, NULL, c->stream));
  PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got), dgot, c->stream, got));
  PetscCall(KernelTestCompareScalars(h->m, got, largest, scale, "row maxima without indices", h->name, c->storage));
  PetscCall(PetscSparseCUDAFree(&dgot, c->stream));
  PetscCall(PetscSparseCUDAFree(&dindex, c->stream));
  PetscCall(PetscFree6(largest, sums, got, scale, index, got_index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs last: it destroys the values. */
static PetscErrorCode TestParts(Case *c)
{
  KernelTestMatrix *h = &c->host;

  PetscFunctionBegin;
  PetscCall(DCSRConjugate(c->view, c->stream));
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] = PetscConj(h->a[k]);
  PetscCall(CheckMatrix(c, "DCSRConjugate()"));
#if PetscDefined(USE_COMPLEX)
  PetscCall(DCSRImaginaryPart(c->view, c->stream));
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] = PetscImaginaryPart(h->a[k]);
  PetscCall(CheckMatrix(c, "DCSRImaginaryPart()"));
  PetscCall(DCSRScale(c->view, 1.0 + PETSC_i, c->stream));
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] *= 1.0 + PETSC_i;
#endif
  PetscCall(DCSRRealPart(c->view, c->stream));
  for (PetscCount k = 0; k < h->nz; k++) h->a[k] = PetscRealPart(h->a[k]);
  PetscCall(CheckMatrix(c, "DCSRRealPart()"));
  PetscCall(DCSRZero(c->view, c->stream));
  PetscCall(PetscArrayzero(h->a, h->nz));
  PetscCall(CheckMatrix(c, "DCSRZero()"));
#if !PetscDefined(USE_COMPLEX)
  PetscCall(DCSRDiagonalAdd(c->view, NULL, 2.0, PETSC_TRUE, c->stream));
  PetscCall(DCSRImaginaryPart(c->view, c->stream));
  PetscCall(CheckMatrix(c, "DCSRImaginaryPart()"));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  Case c;

  PetscFunctionBegin;
  c.A       = A;
  c.storage = storage->name;
  c.view    = view;
  c.stream  = stream;
  PetscCall(KernelTestMatrixFromView(view, stream, &c.host));
  PetscCall(KernelTestMatrixCompare(&c.host, A, 0.0, "upload"));
  c.host.name = A->name;
  PetscCall(TestRows(&c));
  PetscCall(TestNorms(&c));
  PetscCall(TestDiagonal(&c));
  PetscCall(TestScaling(&c));
  PetscCall(TestParts(&c));
  PetscCall(KernelTestMatrixDestroy(&c.host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
