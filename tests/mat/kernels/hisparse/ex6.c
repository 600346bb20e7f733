static char help[] = "HiSparseIsValid() of diagonals: a matrix with one wrong word is not valid.\n\
  -small : fewer words, for tools that take long\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/diagonalsimpl.h"
#include "../../small.h"

static PetscBool small; /* few words of lists of A^T x, and offsets of one width a matrix */

/* What a case looks like. */
typedef enum {
  OTHERS, /* three diagonals, others that live for some rows, and entries outside of diagonals */
  FULL    /* all entries: many segments in a slice of columns */
} Pattern;

static const struct {
  const char *name;
  PetscInt    m, n;
  Pattern     pattern;
} Patterns[] = {
  {"three diagonals and others", 700, 650, OTHERS},
  {"full and tall", 900, 150, FULL},
};

typedef struct {
  const char  *name;
  HiSparse     A;
  cudaStream_t stream;
} Case;

static PetscBool Has(Pattern pattern, PetscInt r, PetscInt c)
{
  return (PetscBool)(pattern == FULL || PetscAbsInt(r - c) < 2 || (c - r == 70 && r % 200 < 90) || (r % 9 == 4 && c == (37 * r + 11) % 600));
}

static PetscErrorCode Create(size_t k, KernelTestMatrix *A)
{
  const PetscInt m = Patterns[k].m, n = Patterns[k].n;

  PetscFunctionBeginUser;
  A->name = Patterns[k].name;
  A->m    = m;
  A->n    = n;
  A->nz   = 0;
  PetscCall(PetscMalloc1(m + 1, &A->i));
  PetscCall(PetscMalloc2((size_t)m * (size_t)n, &A->j, (size_t)m * (size_t)n, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    for (PetscInt c = 0; c < n; c++)
      if (Has(Patterns[k].pattern, r, c)) A->j[A->nz++] = c;
    A->i[r + 1] = (PetscInt)A->nz;
  }
  for (PetscCount e = 0; e < A->nz; e++) A->a[e] = KernelTestNumber(e, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const Case *c, PetscBool expected, const char what[])
{
  PetscBool   ok;
  const char *why;
  PetscCount  where;

  PetscFunctionBeginUser;
  PetscCall(HiSparseIsValid(c->A, c->stream, &ok, &why, &where));
  PetscCheck(ok == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: %s %" PetscCount_FMT, c->name, what, ok ? "valid, and should not be" : why, ok ? 0 : where);
  PetscCheck(ok == (PetscBool)(why == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: the reason does not fit the result", c->name, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is not valid with this word in the place of a word of the device, and valid again with its own. */
static PetscErrorCode Corrupt(const Case *c, void *device, uint32_t word, const char what[])
{
  uint32_t own;

  PetscFunctionBeginUser;
  PetscCall(KernelTestToHost(sizeof(own), device, c->stream, &own));
  PetscCheck(own != word, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: the word would not change", c->name, what);
  PetscCallCUDA(cudaMemcpyAsync(device, &word, sizeof(word), cudaMemcpyHostToDevice, c->stream));
  PetscCall(Check(c, PETSC_FALSE, what));
  PetscCallCUDA(cudaMemcpyAsync(device, &own, sizeof(own), cudaMemcpyHostToDevice, c->stream));
  PetscCall(Check(c, PETSC_TRUE, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with a sum. */
static PetscErrorCode Shift(const Case *c, void *device, int32_t by, const char what[])
{
  uint32_t own;

  PetscFunctionBeginUser;
  PetscCall(KernelTestToHost(sizeof(own), device, c->stream, &own));
  PetscCall(Corrupt(c, device, own + (uint32_t)by, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words of slices and segments. */
static PetscErrorCode TestSegments(const Case *c, const HiSparseDiagonals *d)
{
  HiSparseSegment first;

  PetscFunctionBeginUser;
  PetscCall(KernelTestToHost(sizeof(first), d->segments, c->stream, &first));
  PetscCall(Shift(c, &d->slices[0].values, 1, "values of the first slice"));
  PetscCall(Shift(c, &d->slices[1].values, -1, "values of the second slice"));
  PetscCall(Shift(c, &d->slices[d->num_slices - 1].values, 1, "values of the last slice"));
  PetscCall(Shift(c, (uint32_t *)&d->slices[0].values + 1, -1, "negative position of values"));
  PetscCall(Shift(c, &d->slices[1].first_segment, 1, "first segment of a slice"));
  PetscCall(Shift(c, &d->slices[1].first_segment, -1, "first segment of a slice"));
  PetscCall(Corrupt(c, &d->slices[1].first_segment, (uint32_t)d->num_segments, "first segment behind the last"));
  PetscCall(Shift(c, &d->slices[0].num_segments, -1, "a segment less"));
  PetscCall(Shift(c, &d->slices[0].num_segments, 1, "a segment more"));
  PetscCall(Corrupt(c, &d->slices[d->num_slices - 1].num_segments, UINT32_MAX, "very many segments"));
  for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) PetscCall(Corrupt(c, &d->segments[0].mask[w], first.mask[w] ^ 1u << 5, "a bit of a mask"));
  PetscCall(Shift(c, &d->segments[0].c0, 1, "number of a diagonal"));
  PetscCall(Corrupt(c, &d->segments[0].c0, (uint32_t)d->num_columns, "a diagonal outside of the matrix"));
  PetscCall(Shift(c, &d->segments[0].values, 1, "values of a segment"));
  PetscCall(Shift(c, &d->segments[1].values, -1, "values of a segment"));
  PetscCall(Shift(c, &d->segments[d->num_segments - 1].values, 1, "values of the last segment"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words of the entries outside of segments, or of their transpose. */
static PetscErrorCode TestOutside(const Case *c, const HiSparseRemainder *o)
{
  PetscFunctionBeginUser;
  if (o->view.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Shift(c, (char *)o->view.row_offsets + (o->view.wide ? sizeof(int64_t) : sizeof(int32_t)), -1, "an empty row outside of diagonals")); // rows have one entry
  PetscCall(Shift(c, o->view.row_offsets, 1, "first row offset outside of diagonals"));
  PetscCall(Corrupt(c, o->view.columns, (uint32_t)o->view.num_columns, "a column outside of diagonals"));
  PetscCall(Corrupt(c, o->view.columns, UINT32_MAX, "a negative column outside of diagonals"));
  PetscCall(Corrupt(c, &o->rows[0], UINT32_MAX, "a negative row outside of diagonals"));
  PetscCall(Shift(c, &o->rows[o->view.num_rows - 1], 100000, "a row outside of the matrix"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words of the lists of A^T x; what a segment does not use may be anything. */
static PetscErrorCode TestTransposed(const Case *c, const HiSparseDiagonals *d)
{
  const PetscInt             n = (PetscInt)PetscMin(d->num_transposed_segments, small ? 2 : 12);
  HiSparseTransposedSegment *segments;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &segments));
  PetscCall(KernelTestToHost(sizeof(*segments) * (size_t)n, d->transposed_segments, c->stream, segments));
  for (PetscInt k = 0; k < n; k++) {
    HiSparseTransposedSegment *p       = &d->transposed_segments[k];
    PetscBool                  used[2] = {PETSC_FALSE, PETSC_FALSE};

    for (int bit = 0; bit < HISPARSE_SLICE_ROWS; bit++)
      if (segments[k].mask[bit / 32] >> bit % 32 & 1) used[(segments[k].r0 + bit) >> 7 != segments[k].r0 >> 7] = PETSC_TRUE;
    if (used[0]) PetscCall(Shift(c, &p->first, 1, "first position of a segment of the transpose"));
    if (used[0]) PetscCall(Corrupt(c, &p->high, segments[k].high ^ 1u << 3, "high bits of the first position"));
    if (used[1]) PetscCall(Shift(c, &p->second, -1, "second position of a segment of the transpose"));
    if (used[1]) PetscCall(Corrupt(c, &p->high, segments[k].high ^ 1u << 19, "high bits of the second position"));
    for (int w = 0; w < HISPARSE_SLICE_WORDS; w++) PetscCall(Corrupt(c, &p->mask[w], segments[k].mask[w] ^ 1u << 9, "a bit of a mask of the transpose"));
    PetscCall(Shift(c, &p->r0, 1, "number of a diagonal of the transpose"));
  }
  PetscCall(Shift(c, &d->transposed_slices[0], 1, "first segment of the transpose"));
  PetscCall(Shift(c, &d->transposed_slices[1], 1, "segments of a slice of columns"));
  PetscCall(Shift(c, &d->transposed_slices[d->num_column_slices], -1, "last segment of the transpose"));
  if (d->num_transposed_parts > 0) {
    PetscCall(Shift(c, &d->transposed_parts[0], 1, "first part"));
    PetscCall(Corrupt(c, &d->transposed_parts[1], UINT32_MAX, "a part"));
    PetscCall(Shift(c, &d->transposed_slice_parts[0], 1, "parts of the first slice of columns"));
    PetscCall(Shift(c, &d->transposed_slice_parts[d->num_column_slices], 1, "parts of the last slice of columns"));
  }
  PetscCall(PetscFree(segments));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiagonals(const Case *c)
{
  HiSparseDiagonals *d = (HiSparseDiagonals *)c->A->structure->data;
  uint32_t           word;

  PetscFunctionBeginUser;
  PetscCall(TestSegments(c, d));
  PetscCall(TestOutside(c, &d->remainder));
  if (d->remainder_slices != NULL) PetscCall(Shift(c, &d->remainder_slices[1], 1, "rows of a slice outside of diagonals"));
  d->num_nonzeros++;
  PetscCall(Check(c, PETSC_FALSE, "number of nonzeros"));
  d->num_nonzeros--;
  PetscCall(HiSparsePrepare(c->A, PETSC_TRUE, c->stream));
  PetscCall(Check(c, PETSC_TRUE, "with lists for the transpose"));
  PetscCall(TestSegments(c, d));
  PetscCall(TestTransposed(c, d));
  PetscCall(TestOutside(c, &d->transposed_remainder));
  if (d->permutation != NULL) {
    PetscCall(KernelTestToHost(sizeof(word), (char *)d->permutation + (d->remainder.view.wide ? sizeof(int64_t) : sizeof(int32_t)), c->stream, &word));
    PetscCall(Corrupt(c, d->permutation, word, "a permutation with one entry twice"));
    PetscCall(Corrupt(c, d->permutation, (uint32_t)d->remainder.view.num_nonzeros, "a permutation that leaves the matrix"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(size_t k, cudaStream_t stream)
{
  Case             c = {Patterns[k].name, NULL, stream};
  KernelTestMatrix A;
  size_t           before, after;

  PetscFunctionBeginUser;
  PetscCall(Create(k, &A));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  for (PetscInt s = 0; s < KernelTestNumStorages; s++) {
    DCSRView view;

    if (KernelTestStorages[s].max_segments > 0 || (small && KernelTestStorages[s].wide != (k % 2 == 1))) continue;
    PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
    PetscCall(HiSparseCreate(view, HISPARSE_DIAGONALS, stream, &c.A));
    PetscCheck(c.A != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the format does not take it", c.name);
    PetscCall(Check(&c, PETSC_TRUE, "new"));
    PetscCall(TestDiagonals(&c));
    PetscCall(HiSparseDestroy(&c.A, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
  }
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory leaked", c.name, after - before);
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Patterns); k++) PetscCall(Test(k, stream));
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
