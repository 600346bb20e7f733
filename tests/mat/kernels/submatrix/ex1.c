static char help[] = "Submatrices with index sets of all kinds, on all shapes, against the host; sorting of rows; comparison of structures; out of memory at each allocation.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/submatrix.h>

/* Index sets; those of columns have no index twice but the last. */
typedef enum {
  NONE,
  ALL,
  ODD,
  DESCENDING,
  LISTED, /* two thirds, ascending */
  MIXED,  /* all, in another order */
  REPEATED,
  NUM_SETS
} Set;

static const char *const set_names[] = {"none", "all", "odd", "descending", "listed", "mixed", "repeated"};

/* A stride when it is one, otherwise host indices [n], to be freed. */
static PetscErrorCode CreateSet(Set which, PetscInt size, DCSRIndices *set, PetscInt **host)
{
  PetscInt multiplier = 1;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(set, 1));
  set->step   = which == ODD ? 2 : which == DESCENDING ? -1 : 1;
  set->first  = which == ODD ? 1 : which == DESCENDING ? size - 1 : 0;
  set->sorted = (PetscBool)(which != DESCENDING && which != MIXED && which != REPEATED);
  set->n      = which == NONE ? 0 : which == ODD ? size / 2 : which == LISTED ? size - size / 3 : which == REPEATED ? size / 2 + PetscMin(size, 9) : size;
  PetscCall(PetscMalloc1(set->n, host));
  for (PetscInt k = 7; k < size; k += 2) { // no divisor in common with size
    PetscInt a = k, b = size;

    while (b != 0) {
      const PetscInt r = a % b;

      a = b;
      b = r;
    }
    if (a == 1) {
      multiplier = k;
      break;
    }
  }
  for (PetscInt k = 0; k < set->n; k++) {
    if (which == LISTED) (*host)[k] = k + k / 2;
    else if (which == MIXED) (*host)[k] = (PetscInt)((PetscInt64)k * multiplier % size);
    else if (which == REPEATED) (*host)[k] = (PetscInt)(((PetscInt64)(k % (size / 2 + 1))) * 2 % size);
    else (*host)[k] = set->first + k * set->step;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a column that is listed more than once the last position counts. */
static PetscErrorCode HostSubmatrix(const KernelTestMatrix *A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], KernelTestMatrix *B)
{
  PetscInt *map;

  PetscFunctionBegin;
  B->name = A->name;
  B->m    = m;
  B->n    = n;
  PetscCall(PetscMalloc1(A->n, &map));
  for (PetscInt c = 0; c < A->n; c++) map[c] = -1;
  for (PetscInt c = 0; c < n; c++) map[columns[c]] = c;
  PetscCall(PetscMalloc1(m + 1, &B->i));
  B->i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    B->i[r + 1] = B->i[r];
    for (PetscInt k = A->i[rows[r]]; k < A->i[rows[r] + 1]; k++) B->i[r + 1] += map[A->j[k]] >= 0;
  }
  B->nz = B->i[m];
  PetscCall(PetscMalloc2(B->nz, &B->j, B->nz, &B->a));
  for (PetscInt r = 0; r < m; r++) {
    PetscInt to = B->i[r];

    for (PetscInt k = A->i[rows[r]]; k < A->i[rows[r] + 1]; k++) {
      if (map[A->j[k]] < 0) continue;
      B->j[to]   = map[A->j[k]];
      B->a[to++] = A->a[k];
    }
    PetscCall(PetscSortIntWithScalarArray(to - B->i[r], PetscSafePointerPlusOffset(B->j, B->i[r]), PetscSafePointerPlusOffset(B->a, B->i[r])));
  }
  PetscCall(PetscFree(map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails at one allocation after the other until all succeed; what fails leaves nothing behind. */
static PetscErrorCode SubmatrixFailing(DCSRView view, const DCSRIndices *rows, const DCSRIndices *columns, cudaStream_t stream, DCSRView *B)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;

  PetscFunctionBegin;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    PetscCheck(n < 200, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Never succeeds");
    TestLibCallFailing(n, ierr, DCSRSubmatrix(view, rows, columns, stream, B));
    PetscCheck(ierr == PETSC_SUCCESS || B->row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is a submatrix after an error");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(DCSRView A, DCSRView B, PetscBool expected, cudaStream_t stream, const char what[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(DCSRHaveSameStructure(A, B, stream, &same));
  PetscCheck(same == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: structures count as %s", what, same ? "the same" : "different");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSets(const KernelTestMatrix *A, DCSRView view, Set i, Set j, cudaStream_t stream)
{
  DCSRIndices      rows, columns;
  PetscInt        *host_rows, *host_columns;
  void            *device_rows, *device_columns;
  KernelTestMatrix expected, got;
  DCSRView         B;
  char             what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "rows %s, columns %s", set_names[i], set_names[j]));
  PetscCall(CreateSet(i, A->m, &rows, &host_rows));
  PetscCall(CreateSet(j, A->n, &columns, &host_columns));
  PetscCall(KernelTestToDevice((size_t)rows.n * sizeof(PetscInt), host_rows, stream, &device_rows));
  PetscCall(KernelTestToDevice((size_t)columns.n * sizeof(PetscInt), host_columns, stream, &device_columns));
  if (i >= LISTED) rows.indices = (const PetscInt *)device_rows;
  if (j >= LISTED) columns.indices = (const PetscInt *)device_columns;
  PetscCall(HostSubmatrix(A, rows.n, host_rows, columns.n, host_columns, &expected));
  if (i == MIXED) PetscCall(SubmatrixFailing(view, &rows, &columns, stream, &B));
  else PetscCall(DCSRSubmatrix(view, &rows, &columns, stream, &B));
  PetscCall(KernelTestMatrixFromView(B, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, &expected, 0.0, what));
  PetscCall(CheckSame(B, B, PETSC_TRUE, stream, what));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(KernelTestMatrixDestroy(&expected));
  PetscCall(DCSRViewFree(&B, stream));
  PetscCall(PetscSparseCUDAFree(&device_rows, stream));
  PetscCall(PetscSparseCUDAFree(&device_columns, stream));
  PetscCall(PetscFree(host_rows));
  PetscCall(PetscFree(host_columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same without values, by a map, and structures that differ in one column. */
static PetscErrorCode TestStructure(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  const DCSRIndices all = {A->m, NULL, 0, 1, PETSC_TRUE};
  DCSRView          B;
  int32_t           column = -5;

  PetscFunctionBegin;
  view.values = NULL;
  PetscCall(DCSRSubmatrixMapped(view, &all, NULL, PETSC_TRUE, A->n, stream, &B));
  PetscCheck(B.values == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: values from nowhere", A->name);
  if (view.wide == B.wide) {
    PetscCall(CheckSame(view, B, PETSC_TRUE, stream, A->name));
    if (A->nz > 0) {
      PetscCallCUDA(cudaMemcpyAsync(B.columns + A->nz / 2, &column, sizeof(column), cudaMemcpyHostToDevice, stream));
      PetscCall(CheckSame(view, B, PETSC_FALSE, stream, A->name));
    }
  }
  PetscCall(DCSRViewFree(&B, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (Set i = NONE; i < NUM_SETS; i++)
    for (Set j = NONE; j < NUM_SETS; j++)
      if ((i == j || i == ALL || i == MIXED || j == ALL) && (i < LISTED || A->m > 0) && (j < LISTED || A->n > 0)) PetscCall(TestSets(A, view, i, j, stream));
  PetscCall(TestStructure(A, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
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
