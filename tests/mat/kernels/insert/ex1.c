static char help[] = "Insertion kernels: lists in every order, reduction of repeats, first assembly and merging, against a plain loop on the host.\n\n";

#include <petscsparsecuda/insert.h>

/* How the entries of a list come. */
typedef enum {
  SORTED,     /* by row and column, all different */
  REPEATED,   /* sorted, every entry three times */
  RANDOM,     /* anywhere, with repeats */
  DESCENDING, /* strictly */
  ONE_ROW,    /* all in one row */
  ONE_ENTRY,  /* all the same */
  NEGATIVE,   /* random, a third of them ignored */
  NUM_ORDERS
} Order;

static const char *const order_names[] = {"sorted", "repeated", "random", "descending", "one row", "one entry", "negative"};

typedef struct {
  PetscInt     m, n;
  PetscCount   num;
  PetscInt    *i, *j;
  PetscScalar *v;
} Triples;

/* What the matrix should be: dense, with a flag for positions in use. */
typedef struct {
  PetscScalar *v;
  PetscBool   *used;
} Dense;

static uint64_t random_state = 1;

static PetscInt Random(PetscInt end)
{
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((random_state >> 33) % (uint64_t)end);
}

static PetscErrorCode TriplesCreate(Order order, PetscInt m, PetscInt n, PetscCount num, Triples *t)
{
  PetscFunctionBegin;
  t->m   = m;
  t->n   = n;
  t->num = num;
  PetscCall(PetscMalloc3(num, &t->i, num, &t->j, num, &t->v));
  for (PetscCount k = 0; k < num; k++) {
    const PetscInt position = order == SORTED ? (PetscInt)k : order == REPEATED ? (PetscInt)(k / 3) : order == DESCENDING ? (PetscInt)(num - 1 - k) : order == ONE_ENTRY ? 7 : Random(m * n);

    t->i[k] = order == ONE_ROW ? m / 2 : position / n;
    t->j[k] = position % n;
    t->v[k] = (PetscScalar)(1 + Random(1000)) / 8; // sums are exact, whatever their order
    if (order == NEGATIVE && k % 3 == 0) *(k % 2 ? &t->i[k] : &t->j[k]) = -1 - Random(5);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriplesDestroy(Triples *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->i, t->j, t->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The batch's own result, then what it does to the matrix. */
static PetscErrorCode Apply(const Triples *t, InsertMode mode, Dense d)
{
  PetscFunctionBegin;
  for (PetscCount k = 0; k < t->num; k++) {
    PetscInt p;

    if (t->i[k] < 0 || t->j[k] < 0) continue;
    p         = t->i[k] * t->n + t->j[k];
    d.v[p]    = mode == ADD_VALUES && d.used[p] ? d.v[p] + t->v[k] : t->v[k];
    d.used[p] = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(DCSRView view, PetscInt n, Dense d, cudaStream_t stream, const char what[])
{
  int32_t     *offsets, *columns;
  PetscScalar *values;
  PetscCount   num = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(view.num_rows + 1, &offsets, view.num_nonzeros, &columns, view.num_nonzeros, &values));
  PetscCallCUDA(cudaMemcpyAsync(offsets, view.row_offsets, (size_t)(view.num_rows + 1) * sizeof(*offsets), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(columns, view.columns, (size_t)view.num_nonzeros * sizeof(*columns), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(values, view.values, (size_t)view.num_nonzeros * sizeof(*values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt i = 0; i < view.num_rows; i++) {
    PetscCheck(offsets[i] == num, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " begins at %d and should begin at %" PetscCount_FMT, what, i, (int)offsets[i], num);
    for (PetscInt j = 0; j < n; j++) {
      if (!d.used[i * n + j]) continue;
      PetscCheck(num < view.num_nonzeros && columns[num] == j, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") is not at %" PetscCount_FMT, what, i, j, num);
      PetscCheck(values[num] == d.v[i * n + j], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") is %g and should be %g", what, i, j,
                 (double)PetscRealPart(values[num]), (double)PetscRealPart(d.v[i * n + j]));
      num++;
    }
  }
  PetscCheck(num == view.num_nonzeros && offsets[view.num_rows] == num, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries and should have %" PetscCount_FMT, what, view.num_nonzeros,
             num);
  PetscCall(PetscFree3(offsets, columns, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDevice(const Triples *t, cudaStream_t stream, PetscInt **i, PetscInt **j, PetscScalar **v)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(t->num, "rows", stream, i));
  PetscCall(PetscSparseCUDAMalloc(t->num, "columns", stream, j));
  PetscCall(PetscSparseCUDAMalloc(t->num, "values", stream, v));
  PetscCallCUDA(cudaMemcpyAsync(*i, t->i, (size_t)t->num * sizeof(**i), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(*j, t->j, (size_t)t->num * sizeof(**j), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(*v, t->v, (size_t)t->num * sizeof(**v), cudaMemcpyHostToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Insert(DCSRView *view, const Triples *t, InsertMode mode, DCSRNewEntries policy, cudaStream_t stream, DCSRInsertInfo *info)
{
  const DCSRWindow window = {t->m, t->n, 0, t->m, 0, t->n, PETSC_FALSE};
  PetscInt        *i, *j;
  PetscScalar     *v;
  DCSRList         list;
  DCSRBatch        batch;

  PetscFunctionBegin;
  PetscCall(ToDevice(t, stream, &i, &j, &v));
  PetscCall(DCSRListCreate(&window, t->num, i, j, stream, &list));
  PetscCall(DCSRBatchCreate(&list, v, (PetscBool)(mode == INSERT_VALUES), PETSC_FALSE, 0, stream, &batch));
  PetscCall(DCSRInsertBatch(view, &batch, mode, policy, NULL, stream, info));
  PetscCall(DCSRBatchDestroy(&batch, stream));
  PetscCall(DCSRListDestroy(&list, stream));
  PetscCall(PetscSparseCUDAFree(&i, stream));
  PetscCall(PetscSparseCUDAFree(&j, stream));
  PetscCall(PetscSparseCUDAFree(&v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A first batch of one order, then one of every other. */
static PetscErrorCode TestMerge(PetscInt m, PetscInt n, Order first, PetscCount num, cudaStream_t stream)
{
  char           what[128];
  Dense          d;
  DCSRView       view;
  DCSRInsertInfo info;
  Triples        t;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(m * n, &d.v, m * n, &d.used));
  PetscCall(PetscArrayzero(&view, 1));
  view.num_rows    = m;
  view.num_columns = n;
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)(m + 1) * sizeof(int32_t), "row offsets", stream, &view.row_offsets));
  PetscCallCUDA(cudaMemsetAsync(view.row_offsets, 0, (size_t)(m + 1) * sizeof(int32_t), stream));
  for (int round = 0; round <= NUM_ORDERS; round++) {
    const Order      order = round == 0 ? first : (Order)(round - 1);
    const InsertMode mode  = round % 2 ? ADD_VALUES : INSERT_VALUES;

    PetscCall(TriplesCreate(order, m, n, PetscMin(num, (PetscCount)m * n), &t));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " x %" PetscInt_FMT ", %s first, round %d: %s of %s", m, n, order_names[first], round, mode == ADD_VALUES ? "ADD" : "INSERT",
                            order_names[order]));
    PetscCall(Apply(&t, mode, d));
    PetscCall(Insert(&view, &t, mode, DCSR_NEW_ALLOW, stream, &info));
    PetscCall(Compare(view, n, d, stream, what));
    // all of it is there now
    PetscCall(Apply(&t, mode, d));
    PetscCall(Insert(&view, &t, mode, DCSR_NEW_FORBID, stream, &info));
    PetscCheck(info.num_new == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries are new the second time", what, info.num_new);
    PetscCall(Compare(view, n, d, stream, what));
    PetscCall(TriplesDestroy(&t));
  }
  PetscCall(PetscSparseCUDAFree(&view.values, stream));
  PetscCall(PetscSparseCUDAFree(&view.columns, stream));
  PetscCall(PetscSparseCUDAFree(&view.row_offsets, stream));
  PetscCall(PetscFree2(d.v, d.used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt   sizes[][2] = {{1, 8}, {9, 1}, {3, 5}, {40, 70}, {300, 200}};
  const PetscCount nums[]     = {1, 5, 33, 2000, 30000};
  PetscBool        usable;
  cudaStream_t     stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
      for (Order order = SORTED; order < NUM_ORDERS; order++)
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(nums); k++)
          if (nums[k] < 2 * sizes[s][0] * sizes[s][1]) PetscCall(TestMerge(sizes[s][0], sizes[s][1], order, nums[k], stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
