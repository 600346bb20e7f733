static char help[] = "Lists that arrive from host memory chunk by chunk, with all that can happen at the border of two chunks, against the same list in device memory as a whole.\n\n";

#include "../../../lib/sys.h"
#include <petscsparsecuda/insert.h>

#define CHUNK      7   /* of the lists whose borders matter */
#define SHORT      10  /* entries of a short row */
#define LONG_BEGIN 190 /* where the long row begins */

/* What is special about a list that is sorted otherwise. */
typedef enum {
  SORTED,
  UNSORTED_BORDER, /* at one border of chunks and nowhere else */
  REPEATED_BORDER, /* likewise */
  IGNORED_BORDERS, /* on both sides of every border */
  IGNORED_BEHIND,  /* the first entry of every chunk */
  IGNORED_CHUNK,   /* a whole chunk */
  IGNORED_ALL,     /* every entry */
  ONE_ENTRY,       /* all the same */
  DESCENDING,      /* strictly */
  BY_ROWS,         /* each row in any order, with repeats */
  ROWS_REVERSED,   /* each row in descending order: its first entry moves as far as it can */
  LONG_ROW,        /* all rows short and reversed but one of n entries, which begins in one chunk of 256 and ends in the next one */
  RANDOM,          /* anywhere, with repeats and ignored ones */
  IGNORED_COLUMNS, /* one row, in which few entries count: ignored ones at the border hide how long it is */
  NUM_KINDS
} Kind;

static const char *const kind_names[] = {"sorted",
                                         "unsorted at a border",
                                         "repeated at a border",
                                         "ignored at borders",
                                         "ignored behind borders",
                                         "ignored chunk",
                                         "ignored",
                                         "one entry",
                                         "descending",
                                         "sorted by rows",
                                         "reversed rows",
                                         "a long row",
                                         "random",
                                         "ignored columns"};

typedef struct {
  PetscInt   m, n;
  PetscCount num;
  PetscInt  *i, *j; /* [num] host, owned */
} Coordinates;

static uint64_t random_state = 1;

static PetscInt Random(PetscInt end)
{
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((random_state >> 33) % (uint64_t)end);
}

/* The position of entry k, by row and column, or -1 when it is ignored. */
static PetscInt PositionOf(Kind kind, PetscInt n, PetscInt num_positions, PetscCount num, PetscCount k)
{
  switch (kind) {
  case UNSORTED_BORDER:
    return (PetscInt)(k < CHUNK ? num + k : k);
  case REPEATED_BORDER:
    return (PetscInt)(k < CHUNK ? k : k - 1);
  case IGNORED_BORDERS:
    return k % CHUNK == 0 || k % CHUNK == CHUNK - 1 ? -1 : (PetscInt)k;
  case IGNORED_BEHIND:
    return k % CHUNK == 0 ? -1 : (PetscInt)k;
  case IGNORED_CHUNK:
    return k / CHUNK == 1 ? -1 : (PetscInt)k;
  case IGNORED_ALL:
    return -1;
  case ONE_ENTRY:
    return 3;
  case DESCENDING:
    return (PetscInt)(num - 1 - k);
  case BY_ROWS:
    return (PetscInt)(k / n * n + Random(n));
  case ROWS_REVERSED:
    return (PetscInt)(k / n * n + n - 1 - k % n);
  case LONG_ROW:
    if (k < LONG_BEGIN) return (PetscInt)(k / SHORT * n + SHORT - 1 - k % SHORT);
    if (k < LONG_BEGIN + n) return (PetscInt)(LONG_BEGIN / SHORT * n + n - 1 - (k - LONG_BEGIN));
    k -= LONG_BEGIN + n;
    return (PetscInt)((LONG_BEGIN / SHORT + 1 + k / SHORT) * n + SHORT - 1 - k % SHORT);
  case RANDOM:
    return Random(5) ? Random(num_positions) : -1;
  case IGNORED_COLUMNS:
    return k == 0 ? 9 : k == DCSR_LIST_ROW - 1 ? 5 : k == DCSR_LIST_ROW + 5 ? 1 : -1;
  default:
    return (PetscInt)k;
  }
}

static PetscErrorCode CoordinatesCreate(Kind kind, PetscInt m, PetscInt n, PetscCount num, Coordinates *c)
{
  PetscFunctionBegin;
  c->m   = m;
  c->n   = n;
  c->num = num;
  PetscCall(PetscMalloc2(num, &c->i, num, &c->j));
  for (PetscCount k = 0; k < num; k++) {
    const PetscInt position = PositionOf(kind, n, m * n, num, k);

    c->i[k] = kind == IGNORED_COLUMNS ? 0 : position < 0 ? -1 - Random(3) : position / n;
    c->j[k] = kind == IGNORED_COLUMNS && position < 0 ? -1 : position < 0 ? Random(n) : position % n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CoordinatesDestroy(Coordinates *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(c->i, c->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Host arrays, so many entries at a time; the first `split` entries are appended by a call of their own. */
static PetscErrorCode CreateInChunks(const DCSRWindow *window, const Coordinates *c, PetscCount split, PetscCount chunk, cudaStream_t stream, DCSRList *list)
{
  DCSRListPacker packer;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRListPackerCreate(window, c->num, stream, &packer));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppendFromHost(&packer, split, c->i, c->j, chunk, stream));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppendFromHost(&packer, c->num - split, c->i + split, c->j + split, chunk, stream));
  PetscCallGoto(ierr, cleanup, DCSRListPackerFinish(&packer, stream, list));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packer, stream));
  PetscFunctionReturn(ierr); // without a traceback: errors are expected too
}

static PetscErrorCode CreateWhole(const DCSRWindow *window, const Coordinates *c, cudaStream_t stream, DCSRList *list)
{
  PetscInt      *i, *j;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(c->num, "rows", stream, &i));
  PetscCall(PetscSparseCUDAMalloc(c->num, "columns", stream, &j));
  PetscCall(PetscSparseCUDACopyToDevice(i, c->i, (size_t)c->num * sizeof(*i), stream));
  PetscCall(PetscSparseCUDACopyToDevice(j, c->j, (size_t)c->num * sizeof(*j), stream));
  ierr = DCSRListCreate(window, c->num, i, j, stream, list);
  if (ierr == PETSC_SUCCESS) ierr = DCSRListFindRuns(list, stream);
  PetscCall(PetscSparseCUDAFree(&i, stream));
  PetscCall(PetscSparseCUDAFree(&j, stream));
  PetscFunctionReturn(ierr);
}

/* Device arrays; both NULL or both with the same bytes. */
static PetscErrorCode CompareArrays(const void *a, const void *b, size_t bytes, cudaStream_t stream, const char array[], const char what[])
{
  char     *host[2];
  PetscBool same;

  PetscFunctionBegin;
  PetscCheck((a == NULL) == (b == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list in chunks has %s %s", what, a == NULL ? "no" : "an array of", array);
  if (a == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(bytes, &host[0], bytes, &host[1]));
  PetscCall(PetscSparseCUDACopyToHost(host[0], a, bytes, stream));
  PetscCall(PetscSparseCUDACopyToHost(host[1], b, bytes, stream));
  PetscCall(PetscMemcmp(host[0], host[1], bytes, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list in chunks has other %s", what, array);
  PetscCall(PetscFree2(host[0], host[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareLists(const DCSRList *a, const DCSRList *b, cudaStream_t stream, const char what[])
{
  const size_t index = a->wide ? sizeof(int64_t) : sizeof(int32_t);

  PetscFunctionBegin;
  PetscCheck(a->num_given == b->num_given && a->column_bits == b->column_bits && a->wide == b->wide, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list in chunks is another one", what);
  PetscCheck(a->num_entries == b->num_entries, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries in chunks, %" PetscCount_FMT " as a whole", what, a->num_entries, b->num_entries);
  PetscCheck(a->num_distinct == b->num_distinct, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " distinct entries in chunks, %" PetscCount_FMT " as a whole", what, a->num_distinct,
             b->num_distinct);
  PetscCheck(a->num_long_runs == b->num_long_runs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " long runs in chunks, %" PetscCount_FMT " as a whole", what, a->num_long_runs,
             b->num_long_runs);
  PetscCall(CompareArrays(a->keys, b->keys, (size_t)a->num_entries * sizeof(uint64_t), stream, "keys", what));
  PetscCall(CompareArrays(a->order, b->order, (size_t)a->num_entries * index, stream, "positions", what));
  PetscCall(CompareArrays(a->shifts, b->shifts, (size_t)a->num_entries, stream, "shifts", what));
  PetscCall(CompareArrays(a->runs, b->runs, (size_t)(a->num_distinct + 1) * index, stream, "runs", what));
  PetscCall(CompareArrays(a->long_runs, b->long_runs, (size_t)a->num_long_runs * index, stream, "long runs", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where entry k of a sorted list comes from; order and shifts on the host. */
static PetscCount SourceOf(const DCSRList *list, const void *order, const int8_t shifts[], PetscCount k)
{
  if (list->shifts != NULL) return k + shifts[k];
  if (list->order == NULL) return k;
  return list->wide ? (PetscCount)((const int64_t *)order)[k] : (PetscCount)((const int32_t *)order)[k];
}

/* The key of an entry of a window; all bits set: it does not count. */
static uint64_t KeyOf(const DCSRWindow *w, int column_bits, PetscInt i, PetscInt j)
{
  const PetscBool inside = (PetscBool)(j >= w->column_begin && j < w->column_end);

  if (i < 0 || j < 0 || i < w->row_begin || i >= w->row_end || inside == w->outside) return ~(uint64_t)0;
  return (uint64_t)(i - w->row_begin) << column_bits | (uint64_t)(inside ? j - w->column_begin : j);
}

/* Keys are those of the entries that they come from, and ascend, equal ones in the order of the list; all entries that count are there. */
static PetscErrorCode CheckSources(const DCSRWindow *w, const Coordinates *c, const DCSRList *list, cudaStream_t stream, const char what[])
{
  const size_t n = (size_t)list->num_entries, index = list->wide ? sizeof(int64_t) : sizeof(int32_t);
  PetscCount   num = 0, before = -1;
  uint64_t    *keys;
  char        *order;
  int8_t      *shifts;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < c->num; k++) num += KeyOf(w, list->column_bits, c->i[k], c->j[k]) != ~(uint64_t)0;
  PetscCheck(list->num_entries == num, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries instead of %" PetscCount_FMT, what, list->num_entries, num);
  PetscCheck(list->order == NULL || list->shifts == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list has an order and shifts", what);
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(n, &keys, n * index, &order, n, &shifts));
  PetscCall(PetscSparseCUDACopyToHost(keys, list->keys, n * sizeof(*keys), stream));
  if (list->order != NULL) PetscCall(PetscSparseCUDACopyToHost(order, list->order, n * index, stream));
  if (list->shifts != NULL) PetscCall(PetscSparseCUDACopyToHost(shifts, list->shifts, n, stream));
  for (PetscCount k = 0; k < list->num_entries; k++) {
    const PetscCount source = SourceOf(list, order, shifts, k);

    PetscCheck(source >= 0 && source < c->num && keys[k] == KeyOf(w, list->column_bits, c->i[source], c->j[source]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: entry %" PetscCount_FMT " comes from position %" PetscCount_FMT, what, k, source);
    PetscCheck(k == 0 || keys[k - 1] < keys[k] || (keys[k - 1] == keys[k] && before < source), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscCount_FMT " is not behind the one before it", what,
               k);
    before = source;
  }
  PetscCall(PetscFree3(keys, order, shifts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What must have been noticed: lists are long enough to have the border. */
static PetscErrorCode CheckFacts(Kind kind, const Coordinates *c, const DCSRList *list, cudaStream_t stream, const char what[])
{
  const PetscBool sorted   = (PetscBool)(kind == SORTED || kind == REPEATED_BORDER || kind == ONE_ENTRY);
  const PetscBool repeated = (PetscBool)(kind == REPEATED_BORDER || kind == ONE_ENTRY);

  PetscFunctionBegin;
  if (c->num <= CHUNK || kind == RANDOM || kind == IGNORED_ALL || kind == IGNORED_COLUMNS) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == BY_ROWS || kind == ROWS_REVERSED || kind == LONG_ROW) {
    if (c->num <= 4 * CHUNK) PetscFunctionReturn(PETSC_SUCCESS); // which may be sorted by chance
    PetscCheck((list->shifts != NULL) == (c->n <= DCSR_LIST_ROW || c->num <= (kind == LONG_ROW ? LONG_BEGIN : 0) + DCSR_LIST_ROW), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: rows of %" PetscInt_FMT " entries were%s sorted by themselves", what, c->n, list->shifts != NULL ? "" : " not");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck((list->order == NULL && list->shifts == NULL) == sorted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list was %s", what, sorted ? "sorted again" : "taken for sorted");
  PetscCheck((list->runs != NULL) == repeated, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the list has %s", what, repeated ? "no repeats" : "repeats");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestList(Kind kind, PetscInt m, PetscInt n, PetscCount num, PetscCount split, PetscCount chunk, cudaStream_t stream)
{
  const DCSRWindow windows[] = {{m, n, 0, m, 0, n, PETSC_FALSE}, {m, n, m / 4, 3 * m / 4, n / 4, 3 * n / 4, PETSC_FALSE}, {m, n, m / 4, 3 * m / 4, n / 4, 3 * n / 4, PETSC_TRUE}};
  char             what[128];
  Coordinates      c;
  DCSRList         a, b;

  PetscFunctionBegin;
  PetscCall(CoordinatesCreate(kind, m, n, num, &c));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(windows); w++) {
    PetscCall(
      PetscSNPrintf(what, sizeof(what), "%s, %" PetscCount_FMT " entries, split at %" PetscCount_FMT ", chunks of %" PetscCount_FMT ", window %d", kind_names[kind], num, split, chunk, (int)w));
    PetscCall(CreateInChunks(&windows[w], &c, split, chunk, stream, &a));
    PetscCall(CreateWhole(&windows[w], &c, stream, &b));
    PetscCall(CompareLists(&a, &b, stream, what));
    PetscCall(CheckSources(&windows[w], &c, &a, stream, what));
    PetscCall(CheckSources(&windows[w], &c, &b, stream, what));
    if (w == 0) PetscCall(CheckFacts(kind, &c, &a, stream, what));
    PetscCall(DCSRListDestroy(&a, stream));
    PetscCall(DCSRListDestroy(&b, stream));
  }
  PetscCall(CoordinatesDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char message[1024]; /* of the first error */

static PetscErrorCode KeepMessage(MPI_Comm comm, int line, const char function[], const char file[], PetscErrorCode n, PetscErrorType p, const char text[], void *ctx)
{
  if (p == PETSC_ERROR_INITIAL) (void)PetscStrncpy(message, text, sizeof(message));
  return n;
}

/* The first of the indices that are too large is reported, with its position in the list, wherever its chunk begins. */
static PetscErrorCode TestBadIndex(PetscBool row, PetscCount where, PetscCount split, PetscBool in_chunks, cudaStream_t stream)
{
  const PetscInt   m = 10, n = 30;
  const DCSRWindow window = {m, n, 0, m, 0, n, PETSC_FALSE};
  char             expected[128];
  Coordinates      c;
  DCSRList         list;
  PetscBool        found;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(CoordinatesCreate(SORTED, m, n, 5 * CHUNK, &c));
  if (row) c.i[where] = m + 2;
  else c.j[where] = n + 3;
  c.i[c.num - 1] = m + 4; // a later one
  PetscCall(PetscSNPrintf(expected, sizeof(expected), "Entry %" PetscCount_FMT " of the list: COO %s index %" PetscInt_FMT " is", where, row ? "row" : "column", row ? m + 2 : n + 3));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(KeepMessage, NULL));
  ierr = in_chunks ? CreateInChunks(&window, &c, split, CHUNK, stream, &list) : CreateWhole(&window, &c, stream, &list);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d instead of one about entry %" PetscCount_FMT, (int)ierr, where);
  PetscCall(PetscStrbeginswith(message, expected, &found));
  PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" and not \"%s\"", message, expected);
  PetscCheck(list.keys == NULL && list.order == NULL && list.shifts == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a list after an error");
  PetscCall(CoordinatesDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscCount nums[]   = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5 * CHUNK + 3, 4000};
  const PetscCount chunks[] = {1, CHUNK, 256, 100000};
  const PetscCount bad[]    = {0, CHUNK - 1, CHUNK, CHUNK + 3, 2 * CHUNK};
  PetscBool        usable;
  size_t           before, now;
  cudaStream_t     stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&before, NULL));
    PetscCall(TestList(IGNORED_COLUMNS, 1, 20, 2 * DCSR_LIST_ROW, 0, DCSR_LIST_ROW, stream));
    for (Kind kind = SORTED; kind < NUM_KINDS; kind++) {
      if (kind == LONG_ROW || kind == IGNORED_COLUMNS) continue;
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(nums); k++)
        for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(chunks); p++)
          if (chunks[p] >= CHUNK || nums[k] < 100) PetscCall(TestList(kind, 90, 97, nums[k], PetscMin(nums[k], (PetscCount)(p % 2) * CHUNK), chunks[p], stream));
    }
    // the transfer engine's threads, and chunks that a grid passes twice
    PetscCall(TestList(RANDOM, 3000, 3000, 9000001, 0, 4400000, stream));
    PetscCall(TestList(UNSORTED_BORDER, 5000, 5000, 9000001, 0, 4400000, stream));
    // on both sides of the length of rows that are sorted by themselves
    for (int k = -1; k < 2; k++) {
      PetscCall(TestList(BY_ROWS, 3000, DCSR_LIST_ROW + k, 3000 * (PetscCount)(DCSR_LIST_ROW + k), 0, 100000, stream));
      PetscCall(TestList(ROWS_REVERSED, 30, DCSR_LIST_ROW + k, 30 * (PetscCount)(DCSR_LIST_ROW + k), 0, 100000, stream));
      PetscCall(TestList(LONG_ROW, 90, DCSR_LIST_ROW + k, 3 * 256, 0, 256, stream));
    }
    // on both sides of the length up to which the order of a list is begun before it is known whether it needs one
    for (int k = 0; k < 2; k++) PetscCall(TestList(DESCENDING, 5000, 5000, ((PetscCount)1 << 24) + k, 0, (PetscCount)1 << 24, stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++)
      for (int row = 0; row < 2; row++) {
        PetscCall(TestBadIndex((PetscBool)row, bad[k], 0, PETSC_TRUE, stream));
        PetscCall(TestBadIndex((PetscBool)row, bad[k], 3, PETSC_TRUE, stream));
        PetscCall(TestBadIndex((PetscBool)row, bad[k], 0, PETSC_FALSE, stream));
      }
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&now, NULL));
    PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory are lost", now - before);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
