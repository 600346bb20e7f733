static char help[] = "Conversions of DCSR storage and the check of its invariants, on all shapes and storages.\n\n";

#include "../../../lib/kernels.h"
#include "../entries/kerneltest.h"

static PetscErrorCode CheckValid(DCSRView view, cudaStream_t stream, const char matrix[], const char storage[])
{
  PetscBool   ok;
  PetscInt    row;
  const char *what;

  PetscFunctionBegin;
  PetscCall(DCSRIsValid(view, stream, &ok, &row, &what));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s is called invalid at row %" PetscInt_FMT ": %s", matrix, storage, row, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Corruptions: the array, the position and the number to put there; the row that must be blamed is known. */
static PetscErrorCode CheckInvalid(DCSRView view, PetscInt blamed, cudaStream_t stream, const char corruption[], const char matrix[], const char storage[])
{
  PetscBool   ok;
  PetscInt    row;
  const char *what = NULL;

  PetscFunctionBegin;
  PetscCall(DCSRIsValid(view, stream, &ok, &row, &what));
  PetscCheck(!ok && what != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %s is not noticed", matrix, storage, corruption);
  PetscCheck(blamed < 0 || row == blamed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %s in row %" PetscInt_FMT " is blamed on row %" PetscInt_FMT " (%s)", matrix, storage, corruption, blamed, row,
             what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOffset(const void *array, PetscCount k, PetscBool wide, cudaStream_t stream, int64_t *value)
{
  int32_t narrow;

  PetscFunctionBegin;
  if (wide) PetscCall(KernelTestToHost(sizeof(*value), (const int64_t *)array + k, stream, value));
  else {
    PetscCall(KernelTestToHost(sizeof(narrow), (const int32_t *)array + k, stream, &narrow));
    *value = narrow;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PutOffset(void *array, PetscCount k, PetscBool wide, cudaStream_t stream, int64_t value)
{
  const int32_t narrow = (int32_t)value;

  PetscFunctionBegin;
  if (wide) PetscCallCUDA(cudaMemcpyAsync((int64_t *)array + k, &value, sizeof(value), cudaMemcpyHostToDevice, stream));
  else PetscCallCUDA(cudaMemcpyAsync((int32_t *)array + k, &narrow, sizeof(narrow), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts a number into an array of offsets or columns, sees that the check finds it, and puts the old one back. */
static PetscErrorCode Corrupt(DCSRView view, void *array, PetscCount k, PetscBool wide, int64_t value, PetscInt blamed, cudaStream_t stream, const char corruption[], const char matrix[],
                              const char storage[])
{
  int64_t old;

  PetscFunctionBegin;
  PetscCall(GetOffset(array, k, wide, stream, &old));
  PetscCall(PutOffset(array, k, wide, stream, value));
  PetscCall(CheckInvalid(view, blamed, stream, corruption, matrix, storage));
  PetscCall(PutOffset(array, k, wide, stream, old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestInvalid(const KernelTestMatrix *A, const char storage[], DCSRView view, cudaStream_t stream)
{
  DCSRView broken = view;
  PetscInt row    = 0;
  int64_t  first, second, begin, end;

  PetscFunctionBegin;
  broken.used = view.capacity + 1;
  PetscCall(CheckInvalid(broken, 0, stream, "more used than capacity", A->name, storage));
  while (row < A->m && A->i[row + 1] - A->i[row] < 2) row++;
  if (row == A->m) PetscFunctionReturn(PETSC_SUCCESS);
  if (view.row_offsets) {
    PetscCall(GetOffset(view.columns, A->i[row], PETSC_FALSE, stream, &first));
    PetscCall(GetOffset(view.columns, A->i[row] + 1, PETSC_FALSE, stream, &second));
    PetscCall(Corrupt(view, view.columns, A->i[row], PETSC_FALSE, second, row, stream, "a column that occurs twice", A->name, storage));
    PetscCall(Corrupt(view, view.columns, A->i[row], PETSC_FALSE, A->n, row, stream, "a column out of range", A->name, storage));
    PetscCall(Corrupt(view, view.columns, A->i[row], PETSC_FALSE, -1, row, stream, "a negative column", A->name, storage));
    PetscCall(Corrupt(view, view.columns, A->i[row] + 1, PETSC_FALSE, first > 0 ? first - 1 : first, row, stream, "unsorted columns", A->name, storage));
    PetscCall(Corrupt(view, view.row_offsets, row + 1, view.wide, (int64_t)A->nz + 1, row, stream, "an offset out of the pool", A->name, storage));
    PetscCall(Corrupt(view, view.row_offsets, row + 1, view.wide, (int64_t)A->i[row] - 1, row, stream, "a decreasing offset", A->name, storage));
    PetscCall(Corrupt(view, view.row_offsets, 0, view.wide, -1, 0, stream, "a negative first offset", A->name, storage));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetOffset(view.segments, 2 * row, view.wide, stream, &begin));
  PetscCall(GetOffset(view.segments, 2 * row + 1, view.wide, stream, &end));
  PetscCall(Corrupt(view, view.segments, 2 * row, view.wide, end + 1, row, stream, "a segment that ends before it begins", A->name, storage));
  PetscCall(Corrupt(view, view.segments, 2 * row + 1, view.wide, (int64_t)view.used + 1, row, stream, "a segment out of the pool", A->name, storage));
  PetscCall(Corrupt(view, view.row_sizes, row, PETSC_FALSE, -1, row, stream, "a negative row size", A->name, storage));
  PetscCall(Corrupt(view, view.row_sizes, row, PETSC_FALSE, (int64_t)view.used + 1, row, stream, "a row larger than its segments", A->name, storage));
  PetscCall(Corrupt(view, view.row_sizes, row, PETSC_FALSE, A->i[row + 1] - A->i[row] - 1, -1, stream, "an entry that is lost", A->name, storage));
  if (end < (int64_t)view.used) PetscCall(Corrupt(view, view.segments, 2 * row + 1, view.wide, end + 1, row, stream, "a segment that overlaps the next", A->name, storage));
  PetscCall(Corrupt(view, view.columns, begin, PETSC_FALSE, A->n, row, stream, "a column out of range", A->name, storage));
  PetscCall(Corrupt(view, view.columns, begin, PETSC_FALSE, A->j[A->i[row] + 1], row, stream, "a column that occurs twice", A->name, storage));
  broken       = view;
  broken.pitch = 0;
  PetscCall(CheckInvalid(broken, 0, stream, "a pitch that is too small", A->name, storage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure alone, without values, through the same conversion. */
static PetscErrorCode TestStructureOnly(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  DCSRView     compact, structure = view;
  PetscScalar *values;
  PetscInt    *j;

  PetscFunctionBegin;
  structure.values = NULL;
  PetscCall(KernelTestViewAllocate(A->m, A->n, A->nz, view.wide, stream, &compact));
  values         = compact.values;
  compact.values = NULL;
  PetscCall(DCSRDefragment(structure, compact, stream));
  PetscCall(PetscMalloc1(A->nz, &j));
  PetscCall(DCSRCopyColumnsToHost(A->nz, compact.columns, j, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscCount k = 0; k < A->nz; k++)
    PetscCheck(j[k] == A->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s without values: column of entry %" PetscCount_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, A->name, k, j[k], A->j[k]);
  PetscCall(PetscFree(j));
  compact.values = values;
  PetscCall(KernelTestViewDestroy(&compact, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscInt arrays on the device for other code. */
static PetscErrorCode TestWiden(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  PetscInt *di, *dj, *i, *j;

  PetscFunctionBegin;
  PetscCall(KernelTestToDevice((size_t)(A->m + 1) * sizeof(*di), NULL, stream, (void **)&di));
  PetscCall(KernelTestToDevice((size_t)A->nz * sizeof(*dj), NULL, stream, (void **)&dj));
  PetscCall(PetscMalloc2(A->m + 1, &i, A->nz, &j));
  PetscCall(DCSRWidenOffsets((PetscCount)A->m + 1, view.row_offsets, view.wide, di, stream));
  PetscCall(DCSRWidenColumns(A->nz, view.columns, dj, stream));
  PetscCall(KernelTestToHost((size_t)(A->m + 1) * sizeof(*i), di, stream, i));
  PetscCall(KernelTestToHost((size_t)A->nz * sizeof(*j), dj, stream, j));
  for (PetscInt r = 0; r <= A->m; r++)
    PetscCheck(i[r] == A->i[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: widened offset %" PetscInt_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, A->name, r, i[r], A->i[r]);
  for (PetscCount k = 0; k < A->nz; k++)
    PetscCheck(j[k] == A->j[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: widened column %" PetscCount_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, A->name, k, j[k], A->j[k]);
  PetscCall(PetscFree2(i, j));
  PetscCall(PetscSparseCUDAFree(&di, stream));
  PetscCall(PetscSparseCUDAFree(&dj, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal entry of each row and the first one change places; with columns and without. */
static PetscErrorCode TestDiagonalFirst(const KernelTestMatrix *A, DCSRView view, PetscBool structure, cudaStream_t stream)
{
  int32_t     *dj, *j;
  PetscScalar *da, *a;

  PetscFunctionBegin;
  PetscCall(KernelTestToDevice((size_t)A->nz * sizeof(*dj), NULL, stream, (void **)&dj));
  PetscCall(KernelTestToDevice((size_t)A->nz * sizeof(*da), NULL, stream, (void **)&da));
  PetscCall(PetscMalloc2(A->nz, &j, A->nz, &a));
  PetscCall(DCSRCopyDiagonalFirst(view, structure ? dj : NULL, da, stream));
  PetscCall(KernelTestToHost((size_t)A->nz * sizeof(*j), dj, stream, j));
  PetscCall(KernelTestToHost((size_t)A->nz * sizeof(*a), da, stream, a));
  for (PetscInt row = 0; row < A->m; row++) {
    PetscInt diagonal = A->i[row];

    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++)
      if (A->j[k] == row) diagonal = k;
    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const PetscInt from = k == diagonal ? A->i[row] : k == A->i[row] ? diagonal : k;

      PetscCheck((!structure || j[k] == A->j[from]) && a[k] == A->a[from], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s with the diagonal in front: entry %" PetscInt_FMT " of row %" PetscInt_FMT " is not that of column %" PetscInt_FMT, A->name, k - A->i[row], row, A->j[from]);
    }
  }
  PetscCall(PetscFree2(j, a));
  PetscCall(PetscSparseCUDAFree(&dj, stream));
  PetscCall(PetscSparseCUDAFree(&da, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  KernelTestMatrix back;

  PetscFunctionBegin;
  PetscCall(CheckValid(view, stream, A->name, storage->name));
  PetscCall(KernelTestMatrixFromView(view, stream, &back));
  PetscCall(KernelTestMatrixCompare(&back, A, 0.0, storage->name));
  PetscCall(KernelTestMatrixDestroy(&back));
  PetscCall(TestStructureOnly(A, view, stream));
  PetscCall(TestInvalid(A, storage->name, view, stream));
  PetscCall(CheckValid(view, stream, A->name, "repaired"));
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestWiden(A, view, stream));
  PetscCall(TestDiagonalFirst(A, view, PETSC_TRUE, stream));
  PetscCall(TestDiagonalFirst(A, view, PETSC_FALSE, stream));
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
