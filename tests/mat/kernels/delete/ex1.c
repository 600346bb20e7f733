static char help[] = "Deletion of rows, columns and zeros against the host, on all shapes and storages.\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include <petscsparsecuda/delete.h>
#include <math.h>

#define MAX_ROWS  70
#define MAX_SITES 200 /* more allocations than a deletion makes */

typedef struct {
  const char      *storage;
  DCSRView         view;
  cudaStream_t     stream;
  KernelTestMatrix host; /* what the device should hold */
  PetscInt         n;    /* listed rows, with repeats */
  PetscInt         rows[MAX_ROWS];
  PetscInt        *device_rows;
  unsigned char   *listed; /* [m] */
} Case;

static PetscErrorCode Where(const Case *c, const char what[], size_t size, char where[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, size, "%s, %s", what, c->storage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device against a host matrix: validity, structure, values. */
static PetscErrorCode CheckView(const Case *c, DCSRView view, const KernelTestMatrix *expected, const char what[])
{
  KernelTestMatrix got;
  char             where[256];
  const char      *violation;
  PetscBool        ok;
  PetscInt         row;

  PetscFunctionBegin;
  PetscCall(Where(c, what, sizeof(where), where));
  PetscCall(DCSRIsValid(view, c->stream, &ok, &row, &violation));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s is not valid, row %" PetscInt_FMT ": %s", where, expected->name, row, violation);
  PetscCall(KernelTestMatrixFromView(view, c->stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 0.0, where));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some rows with repeats, the longest and the last among them. */
static PetscErrorCode CreateList(const KernelTestMatrix *A, cudaStream_t stream, Case *c)
{
  PetscInt longest = 0;

  PetscFunctionBegin;
  c->n = 0;
  if (A->m > 0) {
    for (PetscInt r = 0; r < A->m; r++)
      if (A->i[r + 1] - A->i[r] > A->i[longest + 1] - A->i[longest]) longest = r;
    for (PetscInt k = 0; k < MAX_ROWS - 3; k++) c->rows[c->n++] = (PetscInt)(((PetscCount)k * 7919 + 5) % PetscMin(A->m, k % 2 ? 300 : A->m));
    c->rows[c->n++] = longest;
    c->rows[c->n++] = A->m - 1;
    c->rows[c->n++] = A->m - 1;
  }
  PetscCall(KernelTestToDevice((size_t)c->n * sizeof(*c->rows), c->rows, stream, (void **)&c->device_rows));
  PetscCall(PetscCalloc1(A->m, &c->listed));
  for (PetscInt k = 0; k < c->n; k++) c->listed[c->rows[k]] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCounts(Case *c)
{
  const KernelTestMatrix *h       = &c->host;
  PetscCount              missing = 0, empty = 0, removed = 0, changing = 0, got_missing, got_empty, got_removed, got_changing;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < c->n; q++) {
    const PetscInt row   = c->rows[q];
    PetscBool      found = PETSC_FALSE;

    for (PetscInt k = h->i[row]; k < h->i[row + 1]; k++) found = (PetscBool)(found || h->j[k] == row);
    if (row < h->n && !found) missing++;
    if (row < h->n && h->i[row + 1] == h->i[row]) empty++;
    if (h->i[row + 1] > h->i[row]) removed++;
    if (row < h->n ? !found || h->i[row + 1] - h->i[row] > 1 : h->i[row + 1] > h->i[row]) changing++;
  }
  PetscCall(DCSRCountRowsWithoutDiagonal(c->view, c->n, c->device_rows, c->stream, &got_missing));
  PetscCall(DCSRCountEmptyRows(c->view, c->n, c->device_rows, c->stream, &got_empty));
  PetscCall(DCSRCountChangingRows(c->view, c->n, c->device_rows, 0.0, c->stream, &got_removed));
  PetscCall(DCSRCountChangingRows(c->view, c->n, c->device_rows, 2.0, c->stream, &got_changing));
  PetscCheck(got_missing == missing, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " listed rows without diagonal entry, not %" PetscCount_FMT, h->name, c->storage, got_missing,
             missing);
  PetscCheck(got_empty == empty, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " listed rows are empty, not %" PetscCount_FMT, h->name, c->storage, got_empty, empty);
  PetscCheck(got_removed == removed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " listed rows have entries, not %" PetscCount_FMT, h->name, c->storage, got_removed, removed);
  PetscCheck(got_changing == changing, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscCount_FMT " listed rows have more or less than a diagonal entry, not %" PetscCount_FMT, h->name, c->storage,
             got_changing, changing);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's matrix with a subset of its entries; flags say which, and each listed row gets a diagonal entry unless diagonal is zero. */
static PetscErrorCode HostRemove(const Case *c, const unsigned char keep[], PetscScalar diagonal, KernelTestMatrix *R)
{
  const KernelTestMatrix *h  = &c->host;
  PetscInt                nz = 0;

  PetscFunctionBegin;
  R->name = h->name;
  R->m    = h->m;
  R->n    = h->n;
  PetscCall(PetscMalloc1(h->m + 1, &R->i));
  PetscCall(PetscMalloc2(h->nz + c->n, &R->j, h->nz + c->n, &R->a));
  R->i[0] = 0;
  for (PetscInt r = 0; r < h->m; r++) {
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) {
      if (!keep[k]) continue;
      R->j[nz]   = h->j[k];
      R->a[nz++] = h->a[k];
    }
    if (diagonal != 0.0 && c->listed[r] && r < h->n) {
      R->j[nz]   = r;
      R->a[nz++] = diagonal;
    }
    R->i[r + 1] = nz;
  }
  R->nz = nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckDeletion(const Case *c, const DCSRDeletion *deletion, const KernelTestMatrix *expected, const char what[])
{
  PetscCount longest = 0, nonempty = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < expected->m; r++) {
    longest = PetscMax(longest, expected->i[r + 1] - expected->i[r]);
    nonempty += expected->i[r + 1] > expected->i[r];
  }
  PetscCheck(deletion->max_row_size == longest && deletion->num_nonempty_rows == nonempty, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s of %s, %s: longest row %" PetscCount_FMT " and %" PetscCount_FMT " rows that are not empty, not %" PetscCount_FMT " and %" PetscCount_FMT, what, expected->name, c->storage,
             deletion->max_row_size, deletion->num_nonempty_rows, longest, nonempty);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure without values. */
static PetscErrorCode CheckStructure(const Case *c, DCSRView to, const KernelTestMatrix *expected)
{
  PetscInt *i, *j;

  PetscFunctionBegin;
  PetscCheck(to.values == NULL && to.num_nonzeros == expected->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: structure of %" PetscCount_FMT " entries, not %" PetscCount_FMT, expected->name,
             c->storage, to.num_nonzeros, expected->nz);
  PetscCall(PetscMalloc2(expected->m + 1, &i, expected->nz, &j));
  PetscCall(DCSRCopyOffsetsToHost((PetscCount)expected->m + 1, to.row_offsets, to.wide, i, c->stream));
  PetscCall(DCSRCopyColumnsToHost(expected->nz, to.columns, j, c->stream));
  PetscCallCUDA(cudaStreamSynchronize(c->stream));
  for (PetscInt r = 0; r <= expected->m; r++) PetscCheck(i[r] == expected->i[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: structure: row offset %" PetscInt_FMT, expected->name, c->storage, r);
  for (PetscCount k = 0; k < expected->nz; k++)
    PetscCheck(j[k] == expected->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: structure: column of entry %" PetscCount_FMT, expected->name, c->storage, k);
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRemoveRows(Case *c)
{
  const KernelTestMatrix *h = &c->host;
  KernelTestMatrix        expected;
  unsigned char          *keep;
  DCSRView                to, structure = c->view;
  DCSRDeletion            deletion;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(h->nz, &keep));
  for (PetscInt r = 0; r < h->m; r++)
    for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) keep[k] = !c->listed[r];
  structure.values = NULL;
  for (int with_diagonal = 0; with_diagonal < 2; with_diagonal++) {
    const PetscScalar diagonal = with_diagonal ? KernelTestNumber(3, 9) : 0.0;
    PetscBool         changes;

    PetscCall(HostRemove(c, keep, diagonal, &expected));
    changes = (PetscBool)(expected.nz < h->nz || (with_diagonal && c->n > 0 && h->n > 0));
    PetscCall(DCSRRemoveRows(c->view, c->n, c->device_rows, diagonal, c->stream, &to, &deletion));
    PetscCheck(deletion.changed == changes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: DCSRRemoveRows() says that it %s", h->name, c->storage, changes ? "changed nothing" : "made new storage");
    if (changes) {
      PetscCall(CheckView(c, to, &expected, "DCSRRemoveRows()"));
      PetscCall(CheckDeletion(c, &deletion, &expected, "DCSRRemoveRows()"));
    }
    PetscCall(KernelTestViewDestroy(&to, c->stream));
    PetscCall(DCSRRemoveRows(structure, c->n, c->device_rows, diagonal, c->stream, &to, &deletion));
    if (changes && h->nz > 0) PetscCall(CheckStructure(c, to, &expected)); // without entries nobody can tell whether there are values
    PetscCall(KernelTestViewDestroy(&to, c->stream));
    PetscCall(KernelTestMatrixDestroy(&expected));
  }
  PetscCall(DCSRRemoveRows(c->view, 0, NULL, 1.0, c->stream, &to, &deletion));
  PetscCheck(!deletion.changed && to.row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: an empty list removes rows", h->name, c->storage);
  PetscCall(PetscFree(keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEliminate(Case *c)
{
  const KernelTestMatrix *h            = &c->host;
  const PetscReal         tolerances[] = {0.0, 0.4, 100.0};
  unsigned char          *keep;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(h->nz, &keep));
  for (int keep_diagonal = 0; keep_diagonal < 2; keep_diagonal++)
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tolerances); t++) {
      KernelTestMatrix expected;
      DCSRView         to, again;
      DCSRDeletion     deletion;

      for (PetscInt r = 0; r < h->m; r++)
        for (PetscInt k = h->i[r]; k < h->i[r + 1]; k++) keep[k] = (unsigned char)((keep_diagonal && h->j[k] == r) || PetscAbsScalar(h->a[k]) > tolerances[t]);
      PetscCall(HostRemove(c, keep, 0.0, &expected));
      PetscCall(DCSREliminateZeros(c->view, keep_diagonal ? PETSC_TRUE : PETSC_FALSE, tolerances[t], c->stream, &to, &deletion));
      PetscCheck(deletion.changed == (expected.nz < h->nz ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: DCSREliminateZeros() says that it %s", h->name, c->storage,
                 deletion.changed ? "made new storage" : "changed nothing");
      if (deletion.changed) {
        PetscCall(CheckView(c, to, &expected, "DCSREliminateZeros()"));
        PetscCall(CheckDeletion(c, &deletion, &expected, "DCSREliminateZeros()"));
        PetscCall(DCSREliminateZeros(to, keep_diagonal ? PETSC_TRUE : PETSC_FALSE, tolerances[t], c->stream, &again, &deletion));
        PetscCheck(!deletion.changed && again.row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: zeros are found where they were eliminated", h->name, c->storage);
      }
      PetscCall(KernelTestViewDestroy(&to, c->stream));
      PetscCall(KernelTestMatrixDestroy(&expected));
    }
  PetscCall(PetscFree(keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocations fail one after the other: nothing is left behind, and the storage is what it was. */
static PetscErrorCode TestOutOfMemory(Case *c)
{
  PetscFunctionBegin;
  if (c->host.nz > 100000) PetscFunctionReturn(PETSC_SUCCESS);
  for (int which = 0; which < 2; which++) {
    PetscErrorCode ierr = PETSC_ERR_MEM;

    for (PetscInt site = 1; ierr != PETSC_SUCCESS; site++) {
      DCSRView     to;
      DCSRDeletion deletion;
      size_t       before, after;

      PetscCheck(site < MAX_SITES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A deletion allocates without end");
      PetscCall(KernelTestMemoryInUse(c->stream, &before));
      TestLibCallFailing(site, ierr, which ? DCSREliminateZeros(c->view, PETSC_FALSE, 0.4, c->stream, &to, &deletion) : DCSRRemoveRows(c->view, c->n, c->device_rows, 2.0, c->stream, &to, &deletion));
      PetscCheck(ierr == PETSC_SUCCESS || (to.row_offsets == NULL && to.columns == NULL && to.values == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, %s: an error leaves a view behind, allocation %" PetscInt_FMT, c->host.name, c->storage, site);
      PetscCall(KernelTestViewDestroy(&to, c->stream));
      PetscCall(KernelTestMemoryInUse(c->stream, &after));
      PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes were in use before and %zu are afterwards, allocation %" PetscInt_FMT, c->host.name, c->storage, before, after,
                 site);
    }
  }
  PetscCall(CheckView(c, c->view, &c->host, "after errors"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some columns, a dense one among them, with and without a right-hand side; listed rows are left alone. */
static PetscErrorCode TestZeroColumns(Case *c)
{
  KernelTestMatrix *h = &c->host;
  unsigned char    *flags, *dflags, *dlisted;
  PetscScalar      *x, *b, *got, *dx, *db;
  PetscReal        *scale;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(h->n, &flags, h->n, &x, h->m, &b, h->m, &got, h->m, &scale));
  PetscCall(KernelTestToDevice((size_t)h->m, c->listed, c->stream, (void **)&dlisted));
  for (int with_b = 0; with_b < 2; with_b++) {
    for (PetscInt k = 0; k < h->n; k++) {
      flags[k] = (unsigned char)(k == h->n / 2 || k % (with_b ? 3 : 7) == 1);
      x[k]     = flags[k] ? KernelTestNumber(k, 11) : (PetscScalar)NAN; // nobody may read the others
    }
    for (PetscInt r = 0; r < h->m; r++) {
      b[r]     = KernelTestNumber(r, 12);
      scale[r] = 1;
    }
    PetscCall(KernelTestToDevice((size_t)h->n, flags, c->stream, (void **)&dflags));
    PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*x), x, c->stream, (void **)&dx));
    PetscCall(KernelTestToDevice((size_t)h->m * sizeof(*b), b, c->stream, (void **)&db));
    PetscCall(DCSRZeroColumns(c->view, dlisted, dflags, with_b ? dx : NULL, with_b ? db : NULL, c->stream));
    for (PetscInt r = 0; r < h->m; r++) {
      for (PetscInt k = h->i[r]; k < h->i[r + 1] && !c->listed[r]; k++) {
        if (!flags[h->j[k]]) continue;
        if (with_b) b[r] -= h->a[k] * x[h->j[k]];
        if (with_b) scale[r] += PetscAbsScalar(h->a[k] * x[h->j[k]]);
        h->a[k] = 0;
      }
    }
    PetscCall(CheckView(c, c->view, h, "DCSRZeroColumns()"));
    PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got), db, c->stream, got));
    PetscCall(KernelTestCompareScalars(h->m, got, b, scale, "right-hand side", h->name, c->storage));
    PetscCall(PetscSparseCUDAFree(&dflags, c->stream));
    PetscCall(PetscSparseCUDAFree(&dx, c->stream));
    PetscCall(PetscSparseCUDAFree(&db, c->stream));
  }
  PetscCall(PetscSparseCUDAFree(&dlisted, c->stream));
  PetscCall(PetscFree5(flags, x, b, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestZeroRows(Case *c)
{
  KernelTestMatrix *h         = &c->host;
  DCSRView          structure = c->view;

  PetscFunctionBegin;
  structure.values = NULL;
  PetscCall(DCSRZeroRows(structure, c->n, c->device_rows, 1.0, c->stream));
  PetscCall(CheckView(c, c->view, h, "DCSRZeroRows() without values"));
  for (int with_diagonal = 1; with_diagonal >= 0; with_diagonal--) {
    const PetscScalar diagonal = with_diagonal ? KernelTestNumber(4, 9) : 0.0;

    PetscCall(DCSRZeroRows(c->view, c->n, c->device_rows, diagonal, c->stream));
    for (PetscInt r = 0; r < h->m; r++)
      for (PetscInt k = h->i[r]; k < h->i[r + 1] && c->listed[r]; k++) h->a[k] = h->j[k] == r ? diagonal : 0.0;
    PetscCall(CheckView(c, c->view, h, "DCSRZeroRows()"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestVectors(Case *c)
{
  const KernelTestMatrix *h        = &c->host;
  const PetscScalar       diagonal = KernelTestNumber(6, 9);
  PetscScalar            *x, *b, *got, *dx, *db;
  PetscReal              *scale;
  unsigned char          *flags, *dflags;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(h->n, &x, h->m, &b, h->m, &got, h->m, &scale, h->m, &flags));
  for (PetscInt k = 0; k < h->n; k++) x[k] = KernelTestNumber(k, 13);
  for (PetscInt r = 0; r < h->m; r++) {
    b[r]     = KernelTestNumber(r, 14);
    scale[r] = 1;
  }
  PetscCall(KernelTestToDevice((size_t)h->n * sizeof(*x), x, c->stream, (void **)&dx));
  PetscCall(KernelTestToDevice((size_t)h->m * sizeof(*b), b, c->stream, (void **)&db));
  PetscCall(KernelTestToDevice((size_t)h->m, NULL, c->stream, (void **)&dflags));
  PetscCall(DCSRSetRightHandSide(c->n, c->device_rows, h->n, diagonal, dx, db, c->stream));
  for (PetscInt r = 0; r < h->m; r++)
    if (c->listed[r] && r < h->n) b[r] = diagonal * x[r];
  PetscCall(KernelTestToHost((size_t)h->m * sizeof(*got), db, c->stream, got));
  PetscCall(KernelTestCompareScalars(h->m, got, b, scale, "right-hand side of listed rows", h->name, c->storage));
  PetscCall(DCSRFlagIndices(c->n, c->device_rows, h->m, dflags, c->stream));
  PetscCall(KernelTestToHost((size_t)h->m, dflags, c->stream, flags));
  for (PetscInt r = 0; r < h->m; r++) PetscCheck(flags[r] == c->listed[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: flag of row %" PetscInt_FMT, h->name, c->storage, r);
  PetscCall(PetscSparseCUDAFree(&dx, c->stream));
  PetscCall(PetscSparseCUDAFree(&db, c->stream));
  PetscCall(PetscSparseCUDAFree(&dflags, c->stream));
  PetscCall(PetscFree5(x, b, got, scale, flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  Case c;

  PetscFunctionBegin;
  c.storage = storage->name;
  c.view    = view;
  c.stream  = stream;
  PetscCall(KernelTestMatrixFromView(view, stream, &c.host));
  c.host.name = A->name;
  PetscCall(CreateList(A, stream, &c));
  PetscCall(TestCounts(&c));
  PetscCall(TestRemoveRows(&c));
  PetscCall(TestEliminate(&c));
  PetscCall(TestOutOfMemory(&c));
  PetscCall(CheckView(&c, view, A, "storage that was only read"));
  PetscCall(TestVectors(&c));
  PetscCall(TestZeroColumns(&c));
  PetscCall(TestZeroRows(&c));
  PetscCall(PetscSparseCUDAFree(&c.device_rows, stream));
  PetscCall(PetscFree(c.listed));
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
