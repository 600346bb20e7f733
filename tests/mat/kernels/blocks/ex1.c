static char help[] = "Blocks of parallel matrices joined, packed, stacked and split, against plain loops on the host.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/blocks.h>
#include <petscsparsecuda/convert.h>

#define MAX_SIDE    400
#define MAX_ENTRIES (MAX_SIDE * MAX_SIDE)

/* A matrix on the host; columns of a row ascend. */
typedef struct {
  PetscInt    m, n, i[MAX_SIDE + 1], j[MAX_ENTRIES];
  PetscScalar a[MAX_ENTRIES];
} Matrix;

static Matrix A, B, left, right, joined, rows, stacked, own, ghost, got; /* too large for a stack */

static uint64_t state;

static PetscInt Random(PetscInt n)
{
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (PetscInt)((state >> 33) % (uint64_t)n);
}

/* Every fifth row is empty, one is full. */
static void Fill(PetscInt m, PetscInt n, PetscInt mean, Matrix *M)
{
  M->m    = m;
  M->n    = n;
  M->i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    PetscInt k = M->i[r];

    for (PetscInt c = 0; c < n; c++) {
      if (r % 5 == 4 || (r != m / 2 && Random(n) >= mean)) continue;
      M->j[k]   = c;
      M->a[k++] = (PetscScalar)(1 + Random(1000));
    }
    M->i[r + 1] = k;
  }
}

static void Append(Matrix *M, PetscInt *k, PetscInt column, PetscScalar value)
{
  M->j[*k]     = column;
  M->a[(*k)++] = value;
}

static PetscInt PositionOf(PetscInt n, const PetscInt sorted[], PetscInt column)
{
  PetscInt k = 0;

  while (k < n && sorted[k] < column) k++;
  return k;
}

/* Own columns first, then ghosts. */
static void Join(const Matrix *M, PetscInt begin, PetscInt num_own, PetscInt n, const PetscInt ghosts[], Matrix *J)
{
  PetscInt k = J->i[J->m];

  for (PetscInt r = 0; r < M->m; r++) {
    for (PetscInt e = M->i[r]; e < M->i[r + 1]; e++)
      if (M->j[e] >= begin && M->j[e] < begin + num_own) Append(J, &k, M->j[e] - begin, M->a[e]);
    for (PetscInt e = M->i[r]; e < M->i[r + 1]; e++)
      if (M->j[e] < begin || M->j[e] >= begin + num_own) Append(J, &k, num_own + PositionOf(n, ghosts, M->j[e]), M->a[e]);
    J->i[++J->m] = k;
  }
  J->n = num_own + n;
}

/* The columns from first to last of a joined matrix, counted from first, or by their global numbers. */
static void Take(const Matrix *J, PetscInt first, PetscInt last, const PetscInt global[], Matrix *T)
{
  PetscInt k = 0;

  T->m    = J->m;
  T->n    = last - first;
  T->i[0] = 0;
  for (PetscInt r = 0; r < J->m; r++) {
    for (PetscInt e = J->i[r]; e < J->i[r + 1]; e++)
      if (J->j[e] >= first && J->j[e] < last) Append(T, &k, global != NULL ? global[J->j[e] - first] : J->j[e] - first, J->a[e]);
    T->i[r + 1] = k;
  }
}

static PetscErrorCode Upload(const Matrix *M, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  const PetscInt nnz = M->i[M->m];

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(M->m, M->n, nnz, wide, stream, view));
  PetscCall(DCSRCopyOffsetsToDevice(M->m + 1, M->i, wide, view->row_offsets, stream));
  PetscCall(DCSRCopyColumnsToDevice(nnz, M->j, view->columns, stream));
  PetscCall(PetscSparseCUDACopyToDevice(view->values, M->a, (size_t)nnz * sizeof(*M->a), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for what M is, with its offsets. */
static PetscErrorCode Allocate(const Matrix *M, PetscBool wide, cudaStream_t stream, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(Upload(M, wide, stream, view));
  PetscCallCUDA(cudaMemsetAsync(view->columns, 0xff, (size_t)view->num_nonzeros * sizeof(*view->columns), stream));
  PetscCallCUDA(cudaMemsetAsync(view->values, 0xff, (size_t)view->num_nonzeros * sizeof(*view->values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Matrix *M, DCSRView view, PetscBool values, const char what[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(view.num_rows == M->m && view.num_nonzeros == M->i[M->m], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " rows and %" PetscCount_FMT " nonzeros", what, view.num_rows,
             view.num_nonzeros);
  PetscCall(DCSRCopyOffsetsToHost(M->m + 1, view.row_offsets, view.wide, got.i, stream));
  PetscCall(DCSRCopyColumnsToHost(view.num_nonzeros, view.columns, got.j, stream));
  if (values) PetscCall(PetscSparseCUDACopyToHost(got.a, view.values, (size_t)view.num_nonzeros * sizeof(*got.a), stream));
  for (PetscInt r = 0; r < M->m; r++) {
    PetscCheck(got.i[r + 1] == M->i[r + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " ends at %" PetscInt_FMT " and should at %" PetscInt_FMT, what, r, got.i[r + 1], M->i[r + 1]);
    for (PetscInt k = M->i[r]; k < M->i[r + 1]; k++) {
      PetscCheck(got.j[k] == M->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has column %" PetscInt_FMT " where %" PetscInt_FMT " should be", what, r, got.j[k], M->j[k]);
      PetscCheck(!values || got.a[k] == M->a[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another value in row %" PetscInt_FMT ", column %" PetscInt_FMT, what, r, M->j[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of M outside of the own ones, and those of others [n] that come first; ascending. */
static PetscErrorCode GhostsOf(const Matrix *M, PetscInt begin, PetscInt num_own, PetscInt *n, PetscInt ghosts[])
{
  PetscBool used[MAX_SIDE];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(used, MAX_SIDE));
  for (PetscInt k = 0; k < *n; k++) used[ghosts[k]] = PETSC_TRUE;
  for (PetscInt k = 0; k < M->i[M->m]; k++) used[M->j[k]] = PETSC_TRUE;
  *n = 0;
  for (PetscInt c = 0; c < M->n; c++)
    if (used[c] && (c < begin || c >= begin + num_own)) ghosts[(*n)++] = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetColumns(PetscInt begin, PetscInt num_own, PetscInt n, const PetscInt ghosts[], cudaStream_t stream, int32_t **device, DCSRColumns *columns)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "a test's ghosts", stream, device));
  PetscCall(DCSRCopyColumnsToDevice(n, ghosts, *device, stream));
  columns->begin      = begin;
  columns->num_own    = num_own;
  columns->num_ghosts = n;
  columns->num_below  = PositionOf(n, ghosts, begin);
  columns->ghosts     = *device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestJoin(PetscInt num_own, PetscBool wide, cudaStream_t stream)
{
  DCSRView l, r, j;

  PetscFunctionBegin;
  Take(&joined, 0, num_own, NULL, &left);
  Take(&joined, num_own, joined.n, NULL, &right);
  PetscCall(Upload(&left, wide, stream, &l));
  PetscCall(Upload(&right, PETSC_FALSE, stream, &r));
  PetscCall(Allocate(&joined, wide, stream, &j));
  PetscCall(DCSRJoinColumns(l, r, DCSR_WRITE_STRUCTURE, stream, j));
  PetscCall(Compare(&joined, j, PETSC_FALSE, "joined structure", stream));
  PetscCall(DCSRJoinColumns(l, r, DCSR_WRITE_VALUES, stream, j));
  PetscCall(Compare(&joined, j, PETSC_TRUE, "joined values", stream));
  PetscCall(DCSRViewFree(&l, stream));
  PetscCall(DCSRViewFree(&r, stream));
  PetscCall(DCSRViewFree(&j, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every third row. */
static PetscErrorCode TestPack(DCSRView view, DCSRColumns columns, PetscBool wide, cudaStream_t stream)
{
  PetscInt list[MAX_SIDE], sizes[MAX_SIDE], k = 0;
  int32_t *device, *device_sizes;
  DCSRView packed;

  PetscFunctionBegin;
  rows.m    = 0;
  rows.n    = A.n;
  rows.i[0] = 0;
  for (PetscInt r = 1; r < A.m; r += 3) {
    for (PetscInt e = A.i[r]; e < A.i[r + 1]; e++) Append(&rows, &k, A.j[e], A.a[e]);
    list[rows.m]     = r;
    rows.i[++rows.m] = k;
  }
  PetscCall(PetscSparseCUDAMalloc(rows.m, "a test's rows", stream, &device));
  PetscCall(PetscSparseCUDAMalloc(rows.m, "a test's sizes", stream, &device_sizes));
  PetscCall(DCSRCopyColumnsToDevice(rows.m, list, device, stream));
  PetscCall(DCSRGetRowSizes(view, rows.m, device, device_sizes, stream));
  PetscCall(DCSRCopyColumnsToHost(rows.m, device_sizes, sizes, stream));
  for (PetscInt r = 0; r < rows.m; r++) PetscCheck(sizes[r] == rows.i[r + 1] - rows.i[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "size %" PetscInt_FMT " of row %" PetscInt_FMT, sizes[r], list[r]);
  PetscCall(Allocate(&rows, wide, stream, &packed));
  PetscCall(DCSRPackRows(view, columns, device, DCSR_WRITE_ALL, stream, packed));
  PetscCall(Compare(&rows, packed, PETSC_TRUE, "packed rows", stream));
  PetscCall(DCSRViewFree(&packed, stream));
  PetscCall(Allocate(&A, wide, stream, &packed));
  PetscCall(DCSRPackRows(view, columns, NULL, DCSR_WRITE_STRUCTURE, stream, packed));
  PetscCall(DCSRPackRows(view, columns, NULL, DCSR_WRITE_VALUES, stream, packed));
  PetscCall(Compare(&A, packed, PETSC_TRUE, "all rows packed", stream));
  PetscCall(DCSRViewFree(&packed, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscSparseCUDAFree(&device_sizes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSplit(DCSRView view, DCSRColumns columns, PetscInt num_own, const PetscInt ghosts[], cudaStream_t stream)
{
  DCSRView o, g;

  PetscFunctionBegin;
  Take(&stacked, 0, num_own, NULL, &own);
  Take(&stacked, num_own, stacked.n, ghosts, &ghost);
  PetscCall(DCSRSplitColumns(view, columns, stream, &o, &g));
  PetscCall(DCSRViewAllocateValues(&o, stream));
  PetscCall(DCSRViewAllocateValues(&g, stream));
  PetscCall(DCSRSplitValues(view, o, g, stream));
  PetscCall(Compare(&own, o, PETSC_TRUE, "own columns", stream));
  PetscCall(Compare(&ghost, g, PETSC_TRUE, "ghost columns", stream));
  PetscCall(DCSRViewFree(&o, stream));
  PetscCall(DCSRViewFree(&g, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B's rows come below A's. */
static PetscErrorCode TestStack(PetscInt begin, PetscInt num_own, PetscInt num_old, const PetscInt old[], PetscBool wide, cudaStream_t stream)
{
  PetscInt    n = num_old, ghosts[MAX_SIDE], map[MAX_SIDE];
  int32_t    *map_device, *device, *old_device;
  DCSRView    view, packed, s;
  DCSRColumns columns, old_columns;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(ghosts, old, num_old));
  PetscCall(GhostsOf(&B, begin, num_own, &n, ghosts));
  for (PetscInt k = 0; k < num_old; k++) map[k] = PositionOf(n, ghosts, old[k]);
  PetscCall(SetColumns(begin, num_own, num_old, old, stream, &old_device, &old_columns));
  PetscCall(SetColumns(begin, num_own, n, ghosts, stream, &device, &columns));
  PetscCall(PetscSparseCUDAMalloc(num_old, "a test's map", stream, &map_device));
  PetscCall(DCSRCopyColumnsToDevice(num_old, map, map_device, stream));
  stacked.m    = 0;
  stacked.i[0] = 0;
  Join(&A, begin, num_own, n, ghosts, &stacked);
  Join(&B, begin, num_own, n, ghosts, &stacked);
  PetscCall(Upload(&joined, PETSC_FALSE, stream, &view));
  PetscCall(Upload(&B, wide, stream, &packed));
  PetscCall(Allocate(&stacked, wide, stream, &s));
  PetscCall(DCSRStackRows(view, map_device, packed, columns, stream, s));
  PetscCall(Compare(&stacked, s, PETSC_FALSE, "stacked structure", stream));
  if (view.num_nonzeros > 0) PetscCallCUDA(cudaMemcpyAsync(s.values, view.values, (size_t)view.num_nonzeros * sizeof(*view.values), cudaMemcpyDeviceToDevice, stream));
  PetscCall(DCSRUnpackValues(packed, columns, A.m, stream, s));
  PetscCall(Compare(&stacked, s, PETSC_TRUE, "stacked values", stream));
  PetscCall(TestPack(view, old_columns, wide, stream));
  PetscCall(TestSplit(s, columns, num_own, ghosts, stream));
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(DCSRViewFree(&packed, stream));
  PetscCall(DCSRViewFree(&s, stream));
  PetscCall(PetscSparseCUDAFree(&map_device, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscSparseCUDAFree(&old_device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A's rows and B's, which have the same columns, become one matrix part by part. */
static PetscErrorCode TestPosition(PetscBool wide, cudaStream_t stream)
{
  DCSRView upper, lower, whole;
  PetscInt num = 0;

  PetscFunctionBegin;
  stacked.m    = A.m + B.m;
  stacked.n    = A.n;
  stacked.i[0] = 0;
  for (PetscInt r = 0; r < stacked.m; r++) {
    const Matrix  *M  = r < A.m ? &A : &B;
    const PetscInt of = r < A.m ? r : r - A.m;

    for (PetscInt k = M->i[of]; k < M->i[of + 1]; k++) Append(&stacked, &num, M->j[k], M->a[k]);
    stacked.i[r + 1] = num;
  }
  PetscCall(Upload(&A, PETSC_FALSE, stream, &upper));
  PetscCall(Upload(&B, wide, stream, &lower));
  PetscCall(Allocate(&stacked, wide, stream, &whole));
  PetscCallCUDA(cudaMemsetAsync(whole.row_offsets, 0xff, (size_t)(whole.num_rows + 1) * (whole.wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  PetscCall(DCSRPlaceRows(lower, A.m, upper.num_nonzeros, stream, whole));
  PetscCall(DCSRPlaceRows(upper, 0, 0, stream, whole));
  PetscCall(Compare(&stacked, whole, PETSC_TRUE, "rows at their place", stream));
  PetscCall(DCSRViewFree(&upper, stream));
  PetscCall(DCSRViewFree(&lower, stream));
  PetscCall(DCSRViewFree(&whole, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(PetscInt m, PetscInt below, PetscInt n, PetscInt mean, PetscInt begin, PetscInt num_own, PetscBool wide, cudaStream_t stream)
{
  PetscInt num_ghosts = 0, ghosts[MAX_SIDE];

  PetscFunctionBegin;
  Fill(m, n, mean, &A);
  Fill(below, n, mean, &B);
  PetscCall(GhostsOf(&A, begin, num_own, &num_ghosts, ghosts));
  joined.m    = 0;
  joined.i[0] = 0;
  Join(&A, begin, num_own, num_ghosts, ghosts, &joined);
  PetscCall(TestJoin(num_own, wide, stream));
  PetscCall(TestStack(begin, num_own, num_ghosts, ghosts, wide, stream));
  PetscCall(TestPosition(wide, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  cudaStream_t stream;
  PetscBool    usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (int wide = 0; wide < 2; wide++) {
      PetscCall(TestCase(100, 40, 200, 5, 50, 80, (PetscBool)wide, stream));
      PetscCall(TestCase(100, 40, 200, 60, 0, 80, (PetscBool)wide, stream));    /* no ghosts below */
      PetscCall(TestCase(33, 70, 200, 3, 150, 50, (PetscBool)wide, stream));    /* none above */
      PetscCall(TestCase(60, 30, 90, 4, 0, 90, (PetscBool)wide, stream));       /* none */
      PetscCall(TestCase(60, 30, 90, 4, 40, 0, (PetscBool)wide, stream));       /* nothing else */
      PetscCall(TestCase(50, 0, 300, 8, 100, 50, (PetscBool)wide, stream));     /* nothing below */
      PetscCall(TestCase(0, 50, 300, 8, 100, 50, (PetscBool)wide, stream));     /* nothing above */
      PetscCall(TestCase(200, 150, 400, 100, 7, 333, (PetscBool)wide, stream)); /* full rows */
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
