static char help[] = "Appending to rows in place: many small batches, few and many segments, slack, full pools, long rows, against a dense model on the host.\n\n";

#include "../../../lib/kernels.h"
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/convert.h>

/* What the matrix should be: dense, with a flag for positions in use. */
typedef struct {
  PetscInt     m, n;
  PetscScalar *v;
  PetscBool   *used;
} Dense;

/* Where the entries of a batch lie. */
typedef enum {
  ANYWHERE,
  FEW_ROWS, /* the same few again and again: they run out of segments */
  ONE_ROW,  /* many new entries in a row */
  DIAGONAL, /* one a row, all rows */
  NUM_POSITIONS
} Position;

static const char *const position_names[] = {"anywhere", "few rows", "one row", "one a row"};

static uint64_t random_state = 1;

static PetscInt Random(PetscInt end)
{
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((random_state >> 33) % (uint64_t)end);
}

/* One batch from host arrays. */
static PetscErrorCode InsertOnDevice(DCSRView *view, PetscCount num, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule,
                                     cudaStream_t stream, DCSRInsertInfo *info)
{
  const DCSRWindow window = {view->num_rows, view->num_columns, 0, view->num_rows, 0, view->num_columns, PETSC_FALSE};
  PetscInt        *rows, *columns;
  PetscScalar     *values;
  DCSRList         list;
  DCSRBatch        batch;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num, "rows", stream, &rows));
  PetscCall(PetscSparseCUDAMalloc(num, "columns", stream, &columns));
  PetscCall(PetscSparseCUDAMalloc(num, "values", stream, &values));
  PetscCall(PetscSparseCUDACopyToDevice(rows, i, (size_t)num * sizeof(*i), stream));
  PetscCall(PetscSparseCUDACopyToDevice(columns, j, (size_t)num * sizeof(*j), stream));
  PetscCall(PetscSparseCUDACopyToDevice(values, v, (size_t)num * sizeof(*v), stream));
  PetscCall(DCSRListCreate(&window, num, rows, columns, stream, &list));
  PetscCall(DCSRBatchCreate(&list, values, (PetscBool)(mode == INSERT_VALUES), PETSC_TRUE, 0, stream, &batch));
  PetscCall(DCSRInsertBatch(view, &batch, mode, policy, rule, stream, info));
  PetscCall(DCSRBatchDestroy(&batch, stream));
  PetscCall(DCSRListDestroy(&list, stream));
  PetscCall(PetscSparseCUDAFree(&rows, stream));
  PetscCall(PetscSparseCUDAFree(&columns, stream));
  PetscCall(PetscSparseCUDAFree(&values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same in the model, with zeros ignored where they would be new, and with the policy. */
static PetscErrorCode InsertInModel(Dense d, PetscCount num, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode, DCSRNewEntries policy)
{
  PetscFunctionBegin;
  for (PetscCount k = 0; k < num; k++) {
    const PetscInt p = i[k] * d.n + j[k];

    if (!d.used[p] && ((v[k] == (PetscScalar)0 && i[k] != j[k]) || policy == DCSR_NEW_IGNORE)) continue;
    d.v[p]    = mode == ADD_VALUES && d.used[p] ? d.v[p] + v[k] : v[k];
    d.used[p] = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeBatch(Dense d, Position position, PetscCount num, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscFunctionBegin;
  for (PetscCount k = 0; k < num; k++) {
    i[k] = position == ANYWHERE ? Random(d.m) : position == FEW_ROWS ? Random(5) * (d.m - 1) / 4 : position == ONE_ROW ? d.m / 2 : (PetscInt)k % d.m;
    j[k] = Random(d.n);
    v[k] = (PetscScalar)(Random(9) ? 1 + Random(1000) : 0) / 8; // sums are exact, whatever their order
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compact storage of the same matrix against the model. */
static PetscErrorCode Compare(DCSRView view, Dense d, cudaStream_t stream, const char what[])
{
  DCSRView     compact;
  PetscInt    *offsets, *columns, row;
  PetscScalar *values;
  PetscCount   num = 0;
  PetscBool    ok;
  const char  *violation;

  PetscFunctionBegin;
  PetscCall(DCSRIsValid(view, stream, &ok, &row, &violation));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, row %" PetscInt_FMT, what, violation, row);
  PetscCall(DCSRViewAllocateCompact(view.num_rows, view.num_columns, view.num_nonzeros, view.wide, stream, &compact));
  PetscCall(DCSRDefragment(view, compact, stream));
  PetscCall(PetscMalloc3(view.num_rows + 1, &offsets, view.num_nonzeros, &columns, view.num_nonzeros, &values));
  PetscCall(DCSRCopyOffsetsToHost(view.num_rows + 1, compact.row_offsets, compact.wide, offsets, stream));
  PetscCall(DCSRCopyColumnsToHost(view.num_nonzeros, compact.columns, columns, stream));
  PetscCall(PetscSparseCUDACopyToHost(values, compact.values, (size_t)view.num_nonzeros * sizeof(*values), stream));
  for (PetscInt i = 0; i < d.m; i++) {
    PetscCheck(offsets[i] == num, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " begins at %" PetscInt_FMT " and should begin at %" PetscCount_FMT, what, i, offsets[i], num);
    for (PetscInt j = 0; j < d.n; j++) {
      if (!d.used[i * d.n + j]) continue;
      PetscCheck(num < view.num_nonzeros && columns[num] == j, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") is not at %" PetscCount_FMT, what, i, j, num);
      PetscCheck(values[num] == d.v[i * d.n + j], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") is %g and should be %g", what, i, j,
                 (double)PetscRealPart(values[num]), (double)PetscRealPart(d.v[i * d.n + j]));
      num++;
    }
  }
  PetscCheck(num == view.num_nonzeros && offsets[d.m] == num, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries and should have %" PetscCount_FMT, what, view.num_nonzeros, num);
  PetscCall(PetscFree3(offsets, columns, values));
  PetscCall(DCSRViewFree(&compact, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch into both, and what they have afterwards. */
static PetscErrorCode Step(DCSRView *view, Dense d, Position position, PetscCount num, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, const char what[])
{
  DCSRInsertInfo info;
  PetscInt      *i, *j;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(num, &i, num, &j, num, &v));
  PetscCall(MakeBatch(d, position, num, i, j, v));
  PetscCall(InsertInModel(d, num, i, j, v, mode, policy));
  PetscCall(InsertOnDevice(view, num, i, j, v, mode, policy, rule, stream, &info));
  PetscCall(Compare(*view, d, stream, what));
  // all of it is there now, but for zeros
  for (PetscCount k = 0; k < num; k++)
    if (!d.used[i[k] * d.n + j[k]]) i[k] = -1;
  PetscCall(InsertOnDevice(view, num, i, j, v, INSERT_VALUES, DCSR_NEW_FORBID, rule, stream, &info));
  for (PetscCount k = 0; k < num; k++)
    if (i[k] >= 0) d.v[i[k] * d.n + j[k]] = v[k];
  PetscCheck(info.num_new == 0 && !info.storage_changed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " entries are new the second time", what, info.num_new);
  PetscCall(Compare(*view, d, stream, what));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSequence(PetscInt m, PetscInt n, PetscBool wide, Position position, const DCSRAppendRule *rule, cudaStream_t stream, PetscInt *num_fragmented)
{
  const PetscCount area = (PetscCount)m * n;
  char             what[160];
  Dense            d;
  DCSRView         view;

  PetscFunctionBegin;
  d.m = m;
  d.n = n;
  PetscCall(PetscCalloc2(area, &d.v, area, &d.used));
  PetscCall(DCSRViewAllocateCompact(m, n, 0, wide, stream, &view));
  PetscCallCUDA(cudaMemsetAsync(view.row_offsets, 0, (size_t)(m + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  for (PetscInt step = 0; step < 25; step++) {
    const PetscCount     num    = step == 0 ? area / 4 : step == 17 ? area / 8 : 1 + Random((PetscInt)(view.num_nonzeros / 64));
    const DCSRNewEntries policy = step == 11 ? DCSR_NEW_IGNORE : DCSR_NEW_ALLOW;
    const Position       here   = step == 0 ? ANYWHERE : position;

    PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " x %" PetscInt_FMT ", %s, %s offsets, %" PetscInt_FMT " segments, slack %g, step %" PetscInt_FMT, m, n, position_names[position],
                            wide ? "wide" : "narrow", rule->max_segments, (double)rule->slack, step));
    PetscCall(Step(&view, d, here, num, step % 3 ? ADD_VALUES : INSERT_VALUES, policy, step == 0 || step == 14 ? NULL : rule, stream, what));
    *num_fragmented += view.row_offsets == NULL;
  }
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(PetscFree2(d.v, d.used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt  sizes[][2] = {{150, 200}, {700, 60}, {5, 6000}};
  const PetscReal slacks[]   = {0.0, 0.25, 3.0};
  PetscBool       usable;
  PetscInt        num_fragmented = 0;
  cudaStream_t    stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
      for (Position position = ANYWHERE; position < NUM_POSITIONS; position++)
        for (PetscInt max_segments = 2; max_segments <= DCSR_MAX_SEGMENTS; max_segments++)
          for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(slacks); k++) {
            const DCSRAppendRule rule = {slacks[k], max_segments};

            PetscCall(TestSequence(sizes[s][0], sizes[s][1], (PetscBool)((max_segments + k) % 2), position, &rule, stream, &num_fragmented));
          }
    PetscCheck(num_fragmented >= 1000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Storage was fragmented %" PetscInt_FMT " times only, so hardly anything was tested", num_fragmented);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
