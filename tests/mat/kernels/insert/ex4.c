static char help[] = "Batches that insertion kernels dislike: long rows, one entry only, descending lists, batch after batch into the same storage; 32- and 64-bit offsets.\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"
#include <petscsparsecuda/insert.h>
#include <stdlib.h>

#define TOLERANCE (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : 0) /* sums of 70,000 values are exact in double precision alone */

/* What the storage should hold: entries sorted by row and column. */
typedef struct {
  PetscInt     m, n;
  PetscCount   num;
  uint64_t    *positions; /* [num] row * n + column */
  PetscScalar *values;    /* [num] */
  PetscBool   *counts;    /* [num] of a batch: one of the values given for the entry is not zero; NULL in a matrix */
} Reference;

/* A batch as it is given, and its entries sorted by position, equal ones in the order of the list. */
typedef struct {
  uint64_t   position;
  PetscCount k;
} Entry;

typedef struct {
  PetscCount   num;
  PetscInt    *i, *j;
  PetscScalar *v;
} Triples;

/* One storage under test. */
typedef struct {
  const char  *what;
  DCSRView     view;
  Reference    expected;
  cudaStream_t stream;
  PetscInt     round;     /* batches so far */
  PetscInt     num_short; /* those that were inserted in one launch */
} Test;

static uint64_t  random_state = 1;
static PetscBool append       = PETSC_FALSE; /* small batches are appended */
static PetscReal slack        = 0.25;        /* behind a new segment, as a part of its row */
static PetscBool one_launch   = PETSC_FALSE; /* short lists are inserted in one launch, where they can */

static PetscInt Random(PetscInt end)
{
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((random_state >> 33) % (uint64_t)end);
}

static int CompareEntries(const void *a, const void *b)
{
  const Entry *x = (const Entry *)a, *y = (const Entry *)b;

  if (x->position != y->position) return x->position < y->position ? -1 : 1;
  return x->k < y->k ? -1 : 1;
}

static PetscErrorCode TriplesCreate(PetscCount num, Triples *t)
{
  PetscFunctionBegin;
  t->num = num;
  PetscCall(PetscMalloc3(num, &t->i, num, &t->j, num, &t->v));
  for (PetscCount k = 0; k < num; k++) t->v[k] = (PetscScalar)(1 + Random(1000)) / 8; // sums are exact, whatever their order
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriplesDestroy(Triples *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->i, t->j, t->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The distinct entries of a batch, sorted, with their sums or last values. */
static PetscErrorCode Reduce(const Triples *t, PetscInt n, InsertMode mode, Reference *r)
{
  Entry *entries;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->num, &entries));
  PetscCall(PetscMalloc2(t->num, &r->positions, t->num, &r->values));
  PetscCall(PetscMalloc1(t->num, &r->counts));
  for (PetscCount k = 0; k < t->num; k++) {
    entries[k].position = (uint64_t)t->i[k] * (uint64_t)n + (uint64_t)t->j[k];
    entries[k].k        = k;
  }
  qsort(entries, (size_t)t->num, sizeof(*entries), CompareEntries);
  r->num = 0;
  for (PetscCount k = 0; k < t->num; k++) {
    const PetscScalar v = t->v[entries[k].k];

    if (k > 0 && entries[k].position == entries[k - 1].position) {
      r->values[r->num - 1] = mode == ADD_VALUES ? r->values[r->num - 1] + v : v;
      r->counts[r->num - 1] = (PetscBool)(r->counts[r->num - 1] || v != 0.0);
    } else {
      r->positions[r->num] = entries[k].position;
      r->counts[r->num]    = (PetscBool)(v != 0.0);
      r->values[r->num++]  = v;
    }
  }
  PetscCall(PetscFree(entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the insertion should do to the reference; *num_new and *first of the entries that were not there. */
static PetscErrorCode Apply(Reference *r, const Triples *t, InsertMode mode, DCSRNewEntries policy, PetscBool ignore_zeros, PetscCount *num_new, uint64_t *first)
{
  Reference  batch, merged;
  PetscCount a = 0, b = 0;

  PetscFunctionBegin;
  *num_new = 0;
  *first   = 0;
  PetscCall(Reduce(t, r->n, mode, &batch));
  merged        = *r;
  merged.counts = NULL;
  PetscCall(PetscMalloc2(r->num + batch.num, &merged.positions, r->num + batch.num, &merged.values));
  for (merged.num = 0; a < r->num || b < batch.num;) {
    const PetscBool old   = (PetscBool)(a < r->num && (b == batch.num || r->positions[a] <= batch.positions[b])),
                    given = (PetscBool)(b < batch.num && (a == r->num || batch.positions[b] <= r->positions[a]));

    if (old) {
      merged.positions[merged.num] = r->positions[a];
      merged.values[merged.num++]  = !given ? r->values[a] : mode == ADD_VALUES ? r->values[a] + batch.values[b] : batch.values[b];
    } else if (!ignore_zeros || batch.counts[b] || batch.positions[b] / (uint64_t)r->n == batch.positions[b] % (uint64_t)r->n) {
      if ((*num_new)++ == 0) *first = batch.positions[b];
      if (policy == DCSR_NEW_ALLOW) {
        merged.positions[merged.num] = batch.positions[b];
        merged.values[merged.num++]  = batch.values[b];
      }
    }
    a += old;
    b += given;
  }
  PetscCall(PetscFree2(batch.positions, batch.values));
  PetscCall(PetscFree(batch.counts));
  if (policy == DCSR_NEW_FORBID && *num_new > 0) PetscCall(PetscFree2(merged.positions, merged.values));
  else {
    PetscCall(PetscFree2(r->positions, r->values));
    *r = merged;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list on the device by the general way. */
static PetscErrorCode InsertSorted(Test *test, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode, DCSRNewEntries policy, PetscBool ignore_zeros,
                                   const DCSRAppendRule *rule, DCSRInsertInfo *info)
{
  const DCSRWindow window = {test->expected.m, test->expected.n, 0, test->expected.m, 0, test->expected.n, PETSC_FALSE};
  DCSRList         list;
  DCSRBatch        batch;

  PetscFunctionBegin;
  PetscCall(DCSRListCreate(&window, n, i, j, test->stream, &list));
  PetscCall(DCSRBatchCreate(&list, v, (PetscBool)(mode == INSERT_VALUES), ignore_zeros, 0, test->stream, &batch));
  PetscCall(DCSRInsertBatch(&test->view, &batch, mode, policy, rule, test->stream, info));
  PetscCall(DCSRBatchDestroy(&batch, test->stream));
  PetscCall(DCSRListDestroy(&list, test->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list on the device in one launch, or as the batch that it becomes; *done when it was inserted. */
static PetscErrorCode InsertShort(Test *test, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode, DCSRNewEntries policy, PetscBool ignore_zeros,
                                  const DCSRAppendRule *rule, DCSRInsertInfo *info, PetscBool *done)
{
  const DCSRWindow    window      = {test->expected.m, test->expected.n, 0, test->expected.m, 0, test->expected.n, PETSC_FALSE};
  const int           column_bits = DCSRKeyBits(test->expected.n);
  const DCSRSmallList list        = {n, NULL, window, i, j, v, column_bits, column_bits + DCSRKeyBits(test->expected.m), ignore_zeros, 0};
  DCSRBatch           batch;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!one_launch || n > DCSR_SMALL_LIST || test->view.values == NULL || test->view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRInsertSmall(&test->view, &list, mode, policy, rule, test->stream, info, &batch, done));
  test->num_short += *done;
  if (*done || batch.num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRInsertBatch(&test->view, &batch, mode, policy, rule, test->stream, info));
  PetscCall(DCSRBatchDestroy(&batch, test->stream));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertOnDevice(Test *test, const Triples *t, InsertMode mode, DCSRNewEntries policy, PetscBool ignore_zeros, DCSRInsertInfo *info)
{
  const DCSRAppendRule rule = {slack, DCSR_MAX_SEGMENTS}, *may_append = append ? &rule : NULL;
  void                *i, *j, *v;
  PetscBool            done;

  PetscFunctionBegin;
  PetscCall(KernelTestToDevice((size_t)t->num * sizeof(*t->i), t->i, test->stream, &i));
  PetscCall(KernelTestToDevice((size_t)t->num * sizeof(*t->j), t->j, test->stream, &j));
  PetscCall(KernelTestToDevice((size_t)t->num * sizeof(*t->v), t->v, test->stream, &v));
  PetscCall(InsertShort(test, t->num, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)v, mode, policy, ignore_zeros, may_append, info, &done));
  if (!done) PetscCall(InsertSorted(test, t->num, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)v, mode, policy, ignore_zeros, may_append, info));
  PetscCall(PetscSparseCUDAFree(&i, test->stream));
  PetscCall(PetscSparseCUDAFree(&j, test->stream));
  PetscCall(PetscSparseCUDAFree(&v, test->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage against the reference. */
static PetscErrorCode Check(const Test *test)
{
  const Reference *r = &test->expected;
  char             what[128];
  const char      *violation;
  PetscBool        ok;
  PetscInt         row;
  KernelTestMatrix got, expected;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, batch %" PetscInt_FMT "%s", test->what, test->round, test->view.wide ? ", wide" : ""));
  PetscCall(DCSRIsValid(test->view, test->stream, &ok, &row, &violation));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not valid, row %" PetscInt_FMT ": %s", what, row, violation);
  PetscCall(KernelTestMatrixFromView(test->view, test->stream, &got));
  expected.name = "the reference";
  expected.m    = r->m;
  expected.n    = r->n;
  expected.nz   = r->num;
  expected.a    = r->values;
  PetscCall(PetscCalloc1(r->m + 1, &expected.i));
  PetscCall(PetscMalloc1(r->num, &expected.j));
  for (PetscCount k = 0; k < r->num; k++) {
    expected.j[k] = (PetscInt)(r->positions[k] % (uint64_t)r->n);
    expected.i[r->positions[k] / (uint64_t)r->n + 1]++;
  }
  for (row = 0; row < r->m; row++) expected.i[row + 1] += expected.i[row];
  PetscCall(KernelTestMatrixCompare(&got, &expected, TOLERANCE, what));
  PetscCall(PetscFree(expected.i));
  PetscCall(PetscFree(expected.j));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inserts a batch, checks what became of the storage and what the insertion said of it; the batch is destroyed. */
static PetscErrorCode Insert(Test *test, Triples *t, InsertMode mode, DCSRNewEntries policy, PetscBool ignore_zeros)
{
  PetscCount     num_new = 0;
  uint64_t       first   = 0;
  DCSRInsertInfo info;

  PetscFunctionBegin;
  test->round++;
  PetscCall(Apply(&test->expected, t, mode, policy, ignore_zeros, &num_new, &first));
  PetscCall(InsertOnDevice(test, t, mode, policy, ignore_zeros, &info));
  PetscCheck(info.num_new == num_new, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, batch %" PetscInt_FMT ": %" PetscCount_FMT " entries are new and should be %" PetscCount_FMT, test->what, test->round,
             info.num_new, num_new);
  if (policy == DCSR_NEW_FORBID && num_new > 0)
    PetscCheck((uint64_t)info.row * (uint64_t)test->expected.n + (uint64_t)info.column == first, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s, batch %" PetscInt_FMT ": (%" PetscInt_FMT ",%" PetscInt_FMT ") is not the first new entry", test->what, test->round, info.row, info.column);
  PetscCall(Check(test));
  PetscCall(TriplesDestroy(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBegin(const char what[], PetscInt m, PetscInt n, PetscBool wide, cudaStream_t stream, Test *test)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(test, 1));
  test->what   = what;
  test->stream = stream;
  PetscCall(KernelTestViewAllocate(m, n, 0, wide, stream, &test->view));
  PetscCallCUDA(cudaMemsetAsync(test->view.row_offsets, 0, (size_t)(m + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  test->expected.m = m;
  test->expected.n = n;
  PetscCall(PetscMalloc2(0, &test->expected.positions, 0, &test->expected.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEnd(Test *test)
{
  PetscFunctionBegin;
  PetscCall(KernelTestViewDestroy(&test->view, test->stream));
  PetscCall(PetscFree2(test->expected.positions, test->expected.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* num entries anywhere. */
static PetscErrorCode InsertRandom(Test *test, PetscCount num, InsertMode mode)
{
  Triples t;

  PetscFunctionBegin;
  PetscCall(TriplesCreate(num, &t));
  for (PetscCount k = 0; k < num; k++) {
    t.i[k] = Random(test->expected.m);
    t.j[k] = Random(test->expected.n);
  }
  PetscCall(Insert(test, &t, mode, DCSR_NEW_ALLOW, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of a million gets another million, again and again, and single entries between. */
static PetscErrorCode OneRow(PetscBool wide, cudaStream_t stream)
{
  const PetscInt num = 1000000, rounds = 4;
  Test           test;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(TestBegin("one row", 100, rounds * num + 1, wide, stream, &test));
  PetscCall(InsertRandom(&test, 300, ADD_VALUES));
  for (PetscInt r = 0; r < rounds; r++) {
    PetscCall(TriplesCreate(num, &t));
    for (PetscInt k = 0; k < num; k++) {
      t.i[k] = 57;
      t.j[k] = rounds * k + r;
    }
    PetscCall(Insert(&test, &t, r % 2 ? ADD_VALUES : INSERT_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
    PetscCall(TriplesCreate(1, &t));
    t.i[0] = r % 2 ? 57 : 56;
    t.j[0] = r ? rounds * num : 0;
    PetscCall(Insert(&test, &t, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same entry all over, into an empty matrix and into a full one; then no entries, and one. */
static PetscErrorCode OneEntry(PetscBool wide, cudaStream_t stream)
{
  const PetscCount nums[] = {70000, 0, 1, 300, 0, 70000, 1};
  Test             test;
  Triples          t;

  PetscFunctionBegin;
  PetscCall(TestBegin("one entry", 40, 50, wide, stream, &test));
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(nums); r++) {
    PetscCall(TriplesCreate(nums[r], &t));
    for (PetscCount k = 0; k < nums[r]; k++) {
      t.i[k] = r < 4 ? 39 : 0;
      t.j[k] = r < 3 ? 49 : (PetscInt)r;
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
    if (r == 4) PetscCall(InsertRandom(&test, 4000, ADD_VALUES));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the last entry to the first, between and before those that are there. */
static PetscErrorCode Descending(PetscBool wide, cudaStream_t stream)
{
  const PetscInt m = 300, n = 700, steps[] = {17, 5, 3, 2, 1};
  Test           test;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(TestBegin("descending", m, n, wide, stream, &test));
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(steps); r++) {
    PetscCall(TriplesCreate((m * n) / steps[r], &t));
    for (PetscCount k = 0; k < t.num; k++) {
      const PetscInt position = m * n - 1 - (PetscInt)k * steps[r];

      t.i[k] = position / n;
      t.j[k] = position % n;
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each row gets one entry a batch: in front, at the end, in between. */
static PetscErrorCode EveryRow(PetscBool wide, cudaStream_t stream)
{
  const PetscInt m = 5000, n = 5000, columns[] = {2500, 0, 4999, 1, 4998, 2499, 2501, 4997, 2, 1250, 3750, 2500};
  Test           test;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(TestBegin("every row", m, n, wide, stream, &test));
  PetscCall(InsertRandom(&test, 60000, ADD_VALUES)); // few enough a batch that rows may be extended in place
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(columns); r++) {
    PetscCall(TriplesCreate(m, &t));
    for (PetscInt k = 0; k < m; k++) {
      t.i[k] = r % 3 ? k : m - 1 - k;
      t.j[k] = (columns[r] + (r > 5 ? k : 0)) % n;
    }
    PetscCall(Insert(&test, &t, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First and last rows, first and last columns, and rows that were empty. */
static PetscErrorCode Corners(PetscInt m, PetscInt n, PetscBool wide, cudaStream_t stream)
{
  Test    test;
  Triples t;

  PetscFunctionBegin;
  PetscCall(TestBegin("corners", m, n, wide, stream, &test));
  for (int r = 0; r < 12; r++) {
    PetscCall(TriplesCreate(1 + r % 4, &t));
    for (PetscCount k = 0; k < t.num; k++) {
      t.i[k] = (k + r) % 2 ? m - 1 : 0;
      t.j[k] = (k / 2 + r / 2) % 2 ? PetscMax(n - 1 - r / 4, 0) : PetscMin(r / 4, n - 1);
    }
    PetscCall(Insert(&test, &t, r % 5 == 4 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
    if (r == 5) PetscCall(InsertRandom(&test, 300, ADD_VALUES));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few entries at a time into the same few rows, which run out of room, with repeats and with what exists; then batches that may not or must not make new ones. */
static PetscErrorCode SmallBatches(PetscBool wide, cudaStream_t stream)
{
  Test    test;
  Triples t;

  PetscFunctionBegin;
  PetscCall(TestBegin("small batches", 2000, 3000, wide, stream, &test));
  PetscCall(InsertRandom(&test, 20000, ADD_VALUES));
  for (int r = 0; r < 60; r++) {
    PetscCall(TriplesCreate(1 + Random(12), &t));
    for (PetscCount k = 0; k < t.num; k++) {
      t.i[k] = r % 10 == 9 ? Random(2000) : (700 * Random(3) + 599) % 2000;
      t.j[k] = k % 4 == 3 ? t.j[k - 1] : Random(r % 2 ? 3000 : 40);
    }
    PetscCall(Insert(&test, &t, r % 3 ? ADD_VALUES : INSERT_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  }
  for (int r = 0; r < 6; r++) {
    const DCSRNewEntries policy = r % 3 == 0 ? DCSR_NEW_FORBID : r % 3 == 1 ? DCSR_NEW_IGNORE : DCSR_NEW_ALLOW;

    PetscCall(TriplesCreate(3000, &t)); // existing ones, the last with repeats
    for (PetscCount k = 0; k < t.num; k++) {
      const uint64_t position = test.expected.positions[k % 10 == 9 ? test.expected.num - 1 : Random((PetscInt)test.expected.num)];

      t.i[k] = (PetscInt)(position / 3000);
      t.j[k] = (PetscInt)(position % 3000);
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_FORBID, PETSC_FALSE));
    PetscCall(TriplesCreate(40, &t)); // new ones among existing ones
    for (PetscCount k = 0; k < t.num; k++) {
      const uint64_t position = test.expected.positions[Random((PetscInt)test.expected.num)];

      t.i[k] = (PetscInt)(position / 3000);
      t.j[k] = k % 2 ? Random(3000) : (PetscInt)(position % 3000);
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, policy, PETSC_FALSE));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch of so many entries that exist, and a few anywhere. */
static PetscErrorCode InsertMixed(Test *test, PetscCount num_old, PetscCount num_random)
{
  const uint64_t n = (uint64_t)test->expected.n;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(TriplesCreate(num_old + num_random, &t));
  for (PetscCount k = 0; k < t.num; k++) {
    const uint64_t position = k < num_old ? test->expected.positions[Random((PetscInt)test->expected.num)] : (uint64_t)Random(test->expected.m) * n + (uint64_t)Random(test->expected.n);

    t.i[k] = (PetscInt)(position / n);
    t.j[k] = (PetscInt)(position % n);
  }
  PetscCall(Insert(test, &t, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into compact storage that has room for few entries: batches with room for all of theirs, none of which is new; with room for the few that are new, not for all; then with too many new ones. */
static PetscErrorCode LittleRoom(PetscBool wide, cudaStream_t stream)
{
  Test test;

  PetscFunctionBegin;
  slack = 0; // of which there would be much
  PetscCall(TestBegin("little room", 200, 3000, wide, stream, &test));
  PetscCall(InsertRandom(&test, 20000, ADD_VALUES));
  PetscCall(InsertMixed(&test, 0, 10)); // where they may be appended, storage gets room for twice as many
  PetscCall(InsertMixed(&test, 5, 0));
  PetscCheck(test.view.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "values alone have fragmented the storage");
  PetscCall(InsertMixed(&test, 200, 5));
  PetscCheck((test.view.row_offsets == NULL) == append, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a few new entries were %s", append ? "merged" : "appended");
  PetscCall(InsertMixed(&test, 200, 100));
  PetscCall(TestEnd(&test));
  slack = 0.25;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros that count and zeros that do not: new ones on and off the diagonal, existing ones. */
static PetscErrorCode Zeros(PetscBool wide, cudaStream_t stream)
{
  Test    test;
  Triples t;

  PetscFunctionBegin;
  PetscCall(TestBegin("zeros", 300, 300, wide, stream, &test));
  PetscCall(InsertRandom(&test, 3000, ADD_VALUES));
  for (int r = 0; r < 20; r++) {
    PetscCall(TriplesCreate(10 + r, &t));
    for (PetscCount k = 0; k < t.num; k++) {
      const uint64_t position = test.expected.positions[Random((PetscInt)test.expected.num)];

      t.i[k] = k % 3 == 0 ? (PetscInt)(position / 300) : Random(300);
      t.j[k] = k % 3 == 0 ? (PetscInt)(position % 300) : k % 3 == 1 ? t.i[k] : Random(300);
      if (Random(3)) t.v[k] = 0;
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, r % 5 == 4 ? DCSR_NEW_IGNORE : DCSR_NEW_ALLOW, (PetscBool)(r % 4 != 3)));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list of 0 to 1,025 entries: in one row, in three, or anywhere; some exist, some are repeated; sums have roundoff. */
static PetscErrorCode ShortListCreate(const Test *test, PetscInt round, Triples *t)
{
  const PetscCount sizes[] = {1024, 1024, 1, 2, 0, 127, 128, 129, 1023, 1025, 1024, 300};

  PetscFunctionBegin;
  PetscCall(TriplesCreate(sizes[round % (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes)], t));
  for (PetscCount k = 0; k < t->num; k++) {
    const uint64_t position = test->expected.positions[Random((PetscInt)test->expected.num)];
    const PetscInt m = test->expected.m, n = test->expected.n;

    t->i[k] = round % 5 == 0 ? m / 3 : round % 5 == 1 ? (m / 3 * Random(3) + round) % m : Random(m);
    t->j[k] = Random(n);
    t->v[k] = (PetscScalar)1 / (PetscScalar)(1 + Random(1000));
    if (k % 7 == 3) {
      t->i[k] = (PetscInt)(position / (uint64_t)n);
      t->j[k] = (PetscInt)(position % (uint64_t)n);
    }
    if (k % 5 == 4) {
      t->i[k] = t->i[k / 2];
      t->j[k] = t->j[k / 2];
    }
    if (round % 6 == 5 && k % 3) t->v[k] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists that a thread block may take, into rows that run out of segments and a pool that runs full. */
static PetscErrorCode ShortLists(PetscInt m, PetscBool wide, cudaStream_t stream)
{
  const PetscInt rounds = 48;
  Test           test;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(TestBegin("short lists", m, 3000, wide, stream, &test));
  PetscCall(InsertRandom(&test, 100000, ADD_VALUES)); // 64 times as many as a list has
  for (PetscInt r = 0; r < rounds; r++) {
    PetscCall(ShortListCreate(&test, r, &t));
    PetscCall(Insert(&test, &t, r % 3 ? ADD_VALUES : INSERT_VALUES, r % 11 == 10 ? DCSR_NEW_FORBID : r % 11 == 9 ? DCSR_NEW_IGNORE : DCSR_NEW_ALLOW, (PetscBool)(r % 6 == 5)));
  }
  PetscCheck(test.num_short >= (one_launch && append ? rounds / 2 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "only %" PetscInt_FMT " of %" PetscInt_FMT " short lists inserted in one launch",
             test.num_short, rounds);
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of entries that exist, in compact storage without room: 512 repeats are added up in one launch, one more are not. */
static PetscErrorCode ManyRepeats(PetscBool wide, cudaStream_t stream)
{
  Test    test;
  Triples t;

  PetscFunctionBegin;
  PetscCall(TestBegin("many repeats", 60, 70, wide, stream, &test));
  PetscCall(InsertRandom(&test, 900, ADD_VALUES));
  for (PetscCount num = 511; num <= 514; num++) {
    const PetscInt before = test.num_short;
    PetscBool      inserted;

    PetscCall(TriplesCreate(num, &t));
    for (PetscCount k = 0; k < num; k++) {
      t.i[k] = (PetscInt)(test.expected.positions[17] / 70);
      t.j[k] = (PetscInt)(test.expected.positions[17] % 70);
    }
    PetscCall(Insert(&test, &t, num == 514 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_FORBID, PETSC_FALSE));
    inserted = (PetscBool)(test.num_short > before);
    PetscCheck(inserted == (PetscBool)(one_launch && num != 513), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " repeats: %s in one launch", num, inserted ? "inserted" : "not inserted");
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every entry as often as any other, in turns, and a few single ones that come first when the list is sorted; on both sides of the repeats that one thread adds up, and of a tile. */
static PetscErrorCode Repeats(PetscBool wide, cudaStream_t stream)
{
  const PetscCount repeats[] = {2, 3, 257, 511, 512, 513, 514, 2047, 2048, 2049};
  const PetscInt   entries   = 8;
  Test             test;
  Triples          t;

  PetscFunctionBegin;
  PetscCall(TestBegin("repeats", 60, 70, wide, stream, &test));
  for (size_t r = 0; r < 2 * PETSC_STATIC_ARRAY_LENGTH(repeats); r++) {
    const PetscCount times = repeats[r / 2], singles = 1020 + 7 * (PetscCount)r;

    PetscCall(TriplesCreate(singles + entries * times, &t));
    for (PetscCount k = 0; k < t.num; k++) {
      const PetscInt position = k < singles ? Random(30 * 70) : 70 * (59 - (PetscInt)(k % entries)) + (PetscInt)r;

      t.i[k] = position / 70;
      t.j[k] = position % 70;
      if (times <= 512) t.v[k] = (PetscScalar)1 / (PetscScalar)(1 + Random(1000)); // their order shows in the last bits
    }
    PetscCall(Insert(&test, &t, r % 2 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Lists on both sides of the length up to which distinct entries have room before they are counted, and from which on the runs of equal entries, which lists without new zeros need, are copied to
  where they fit; with a run that is long, and then without one.
*/
static PetscErrorCode LongLists(PetscBool wide, cudaStream_t stream)
{
  Test    test;
  Triples t;

  PetscFunctionBegin;
  PetscCall(TestBegin("long lists", 2000, 3000, wide, stream, &test));
  for (int r = 0; r < 8; r++) {
    PetscCall(TriplesCreate(((PetscCount)1 << 20) + r / 2 % 2, &t));
    for (PetscCount k = 0; k < t.num; k++) {
      t.i[k] = r % 2 == 0 && k % 1000 == 0 ? 1234 : Random(2000);
      t.j[k] = r % 2 == 0 && k % 1000 == 0 ? 567 : Random(3000);
    }
    PetscCall(Insert(&test, &t, r % 4 == 1 ? INSERT_VALUES : ADD_VALUES, DCSR_NEW_ALLOW, (PetscBool)(r / 4)));
  }
  PetscCall(TestEnd(&test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries at every second position from begin on, in rows of 1,000. */
static PetscErrorCode InsertEverySecond(Test *test, PetscInt begin, PetscCount num)
{
  Triples t;

  PetscFunctionBegin;
  PetscCall(TriplesCreate(num, &t));
  for (PetscCount k = 0; k < num; k++) {
    t.i[k] = (begin + 2 * (PetscInt)k) / 1000;
    t.j[k] = (begin + 2 * (PetscInt)k) % 1000;
  }
  PetscCall(Insert(test, &t, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many old and new entries as tiles of kernels have, one more or less: new ones before all old ones, among the first, among the last, behind all, and again what is there. */
static PetscErrorCode Tiles(PetscBool wide, cudaStream_t stream)
{
  const PetscCount sizes[] = {0, 1, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 6145};
  const PetscInt   old = 20000, starts[] = {1, old + 1, old - 5001, 2 * old, old};
  Test             test;

  PetscFunctionBegin;
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
    for (size_t b = 1; b < PETSC_STATIC_ARRAY_LENGTH(sizes); b++) {
      PetscCall(TestBegin("tiles", 60, 1000, wide, stream, &test));
      PetscCall(InsertEverySecond(&test, old, sizes[a]));
      PetscCall(InsertEverySecond(&test, starts[(a + b) % PETSC_STATIC_ARRAY_LENGTH(starts)], sizes[b]));
      PetscCall(TestEnd(&test));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch whose first entry comes before all old ones and whose others are behind them, or are the old ones, about as many as a thread block that looks up a tile has room for. */
static PetscErrorCode UnevenTiles(PetscBool wide, cudaStream_t stream)
{
  const PetscInt sizes[] = {6142, 6143, 6144, 6145, 9000}, num = 1000;
  Test           test;
  Triples        t;

  PetscFunctionBegin;
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
    PetscCall(TestBegin("uneven tiles", 60, 1000, wide, stream, &test));
    PetscCall(InsertEverySecond(&test, 2, sizes[a]));
    for (int r = 0; r < 3; r++) {
      PetscCall(TriplesCreate(num, &t));
      for (PetscInt k = 0; k < num; k++) {
        const PetscInt position = k == 0 ? r % 2 : r == 0 ? 59999 - k : 2 * sizes[a] - r * k;

        t.i[k] = position / 1000;
        t.j[k] = position % 1000;
      }
      PetscCall(Insert(&test, &t, ADD_VALUES, DCSR_NEW_ALLOW, PETSC_FALSE));
    }
    PetscCall(TestEnd(&test));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (int k = 0; k < 8; k++) {
      const int wide = k % 2;

      append     = (PetscBool)(k / 2 % 2);
      one_launch = (PetscBool)(k / 4);
      PetscCall(OneEntry((PetscBool)wide, stream));
      PetscCall(Descending((PetscBool)wide, stream));
      PetscCall(EveryRow((PetscBool)wide, stream));
      PetscCall(Corners(1000, 800, (PetscBool)wide, stream));
      PetscCall(Corners(1, 2000, (PetscBool)wide, stream));
      PetscCall(Corners(2000, 1, (PetscBool)wide, stream));
      PetscCall(SmallBatches((PetscBool)wide, stream));
      if (!one_launch) PetscCall(LittleRoom((PetscBool)wide, stream));
      PetscCall(Zeros((PetscBool)wide, stream));
      PetscCall(ShortLists(50, (PetscBool)wide, stream));
      if (append) PetscCall(ShortLists(300000, (PetscBool)wide, stream));
      PetscCall(ManyRepeats((PetscBool)wide, stream));
      if (!one_launch) PetscCall(OneRow((PetscBool)wide, stream));
      if (k < 4) PetscCall(Repeats((PetscBool)wide, stream));
      if (k == 0) PetscCall(LongLists((PetscBool)wide, stream));
      if (k < 2) PetscCall(Tiles((PetscBool)wide, stream));
      if (k < 2) PetscCall(UnevenTiles((PetscBool)wide, stream));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      timeoutfactor: 3
      output_file: output/empty.out
      args: -mat_dcsr_test_wide_from {{2146435071 0 1500}}

TEST*/
