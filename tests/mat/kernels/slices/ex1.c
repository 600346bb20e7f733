static char help[] = "Slices of all shapes: bounds, renumbered columns, rows put together again; out of memory at each allocation.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/slices.h>

static const PetscInt slice_numbers[] = {1, 2, 3, 7, 100};

/* Slices cover all rows, and none but those that end in a long row have many more entries than others. */
static PetscErrorCode CheckBounds(const KernelTestMatrix *A, PetscInt n, const PetscInt rows[], const PetscCount entries[])
{
  PetscFunctionBegin;
  PetscCheck(rows[0] == 0 && entries[0] == 0 && rows[n] == A->m && entries[n] == A->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " slices do not cover the matrix", A->name, n);
  for (PetscInt s = 0; s < n; s++) {
    PetscCheck(rows[s] <= rows[s + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: slice %" PetscInt_FMT " of %" PetscInt_FMT " ends before it begins", A->name, s, n);
    PetscCheck(entries[s] == A->i[rows[s]], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: slice %" PetscInt_FMT " of %" PetscInt_FMT " has the wrong first entry", A->name, s, n);
    if (s > 0 && rows[s] > 0)
      PetscCheck(A->i[rows[s] - 1] * n < (PetscCount)A->nz * s, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: slice %" PetscInt_FMT " of %" PetscInt_FMT " begins too late", A->name, s, n);
    PetscCheck(entries[s] * n >= (PetscCount)A->nz * s - n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: slice %" PetscInt_FMT " of %" PetscInt_FMT " begins too early", A->name, s, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of a slice are those that occur, and its entries lead back to the matrix. */
static PetscErrorCode CheckSlice(const KernelTestMatrix *A, const PetscInt rows[], const DCSRSlice *slice, cudaStream_t stream, PetscInt occurs[])
{
  const PetscInt   first = A->i[rows[0]];
  KernelTestMatrix S;
  PetscInt        *columns, n = 0;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(slice->view, stream, &S));
  PetscCall(PetscMalloc1(S.n, &columns));
  PetscCall(KernelTestToHost((size_t)S.n * sizeof(PetscInt), slice->columns, stream, columns));
  PetscCall(PetscArrayzero(occurs, A->n));
  for (PetscInt k = first; k < A->i[rows[1]]; k++) occurs[A->j[k]] = 1;
  for (PetscInt c = 0; c < A->n; c++) {
    if (!occurs[c]) continue;
    PetscCheck(n < S.n && columns[n] == c, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: column %" PetscInt_FMT " is not in its place", A->name, c);
    n++;
  }
  PetscCheck(n == S.n && S.m == rows[1] - rows[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the slice is %" PetscInt_FMT " x %" PetscInt_FMT, A->name, S.m, S.n);
  for (PetscInt r = 0; r <= S.m; r++) PetscCheck(S.i[r] == A->i[rows[0] + r] - first, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " of the slice begins elsewhere", A->name, r);
  for (PetscInt k = 0; k < S.nz; k++)
    PetscCheck(columns[S.j[k]] == A->j[first + k] && S.a[k] == A->a[first + k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of the slice is another one", A->name, k);
  PetscCall(PetscFree(columns));
  PetscCall(KernelTestMatrixDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails at one allocation after the other until all succeed. */
static PetscErrorCode SliceFailing(DCSRView view, const PetscInt rows[], const PetscCount entries[], int32_t number, const DCSRSliceMarks *marks, cudaStream_t stream, DCSRSlice *slice)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;

  PetscFunctionBegin;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    PetscCheck(n < 50, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Never succeeds");
    TestLibCallFailing(n, ierr, DCSRSliceCreate(view, rows, entries, number, marks, stream, slice));
    PetscCheck(ierr == PETSC_SUCCESS || (slice->view.row_offsets == NULL && slice->columns == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is a slice after an error");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All slices, whose rows with the columns they had are put together again. */
static PetscErrorCode TestSlices(const KernelTestMatrix *A, DCSRView view, PetscInt n, cudaStream_t stream)
{
  PetscInt        *rows, *occurs, num, expected = 0;
  PetscCount      *entries;
  DCSRView         again;
  DCSRSliceMarks   marks;
  KernelTestMatrix got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &rows, n + 1, &entries, A->n, &occurs));
  PetscCall(DCSRGetSliceBounds(view, NULL, n, rows, entries, NULL, stream));
  PetscCall(CheckBounds(A, n, rows, entries));
  PetscCall(DCSRSliceMarksCreate(view.num_columns, stream, &marks));
  PetscCall(DCSRViewAllocateCompact(A->m, A->n, A->nz, view.wide ? PETSC_FALSE : PETSC_TRUE, stream, &again));
  for (PetscInt s = 0; s < n; s++) {
    DCSRSlice slice;
    DCSRView  chunk;

    if (n == 3) PetscCall(SliceFailing(view, rows + s, entries + s, (int32_t)s + 1, &marks, stream, &slice));
    else PetscCall(DCSRSliceCreate(view, rows + s, entries + s, (int32_t)s + 1, &marks, stream, &slice));
    PetscCall(CheckSlice(A, rows + s, &slice, stream, occurs));
    chunk         = slice.view;
    chunk.columns = view.columns + entries[s];
    PetscCall(DCSRCopyRows(chunk, rows[s], entries[s], DCSR_WRITE_STRUCTURE, stream, again));
    PetscCall(DCSRCopyRows(chunk, rows[s], entries[s], DCSR_WRITE_VALUES, stream, again));
    PetscCall(DCSRSliceDestroy(&slice, stream));
  }
  PetscCall(KernelTestMatrixFromView(again, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, A, 0.0, "slices put together again"));
  PetscCall(DCSRSliceMarksCount(A->n, &marks, stream, &num));
  PetscCall(PetscArrayzero(occurs, A->n));
  for (PetscInt k = 0; k < A->nz; k++) expected += occurs[A->j[k]]++ == 0;
  PetscCheck(num == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " columns counted in place of %" PetscInt_FMT, A->name, num, expected);
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(DCSRSliceMarksDestroy(&marks, stream));
  PetscCall(DCSRViewFree(&again, stream));
  PetscCall(PetscFree3(rows, entries, occurs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(slice_numbers); k++) PetscCall(TestSlices(A, view, slice_numbers[k], stream));
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
