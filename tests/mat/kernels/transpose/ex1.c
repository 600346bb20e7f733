static char help[] = "The explicit transpose by all its methods, on all shapes and storages, against the host; out of memory at each allocation.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/transpose.h>

/* Counting sort by columns on the host. */
static PetscErrorCode HostTranspose(const KernelTestMatrix *A, PetscBool conjugate, KernelTestMatrix *T)
{
  PetscInt *next;

  PetscFunctionBegin;
  T->name = A->name;
  T->m    = A->n;
  T->n    = A->m;
  T->nz   = A->nz;
  PetscCall(PetscCalloc1(T->m + 1, &T->i));
  PetscCall(PetscMalloc2(T->nz, &T->j, T->nz, &T->a));
  for (PetscCount k = 0; k < A->nz; k++) T->i[A->j[k] + 1]++;
  for (PetscInt r = 0; r < T->m; r++) T->i[r + 1] += T->i[r];
  PetscCall(PetscMalloc1(T->m + 1, &next));
  PetscCall(PetscArraycpy(next, T->i, T->m + 1));
  for (PetscInt r = 0; r < A->m; r++) {
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      const PetscInt to = next[A->j[k]]++;

      T->j[to] = r;
      T->a[to] = conjugate ? PetscConj(A->a[k]) : A->a[k];
    }
  }
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const methods[] = {"auto", "sort"};

static PetscErrorCode Compare(DCSRView T, const KernelTestMatrix *expected, cudaStream_t stream, const char method[])
{
  KernelTestMatrix got;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(T, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 0.0, method));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays full of what the transpose must not leave there. */
static PetscErrorCode Spoil(DCSRView T, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(T.row_offsets, 0x7f, ((size_t)T.num_rows + 1) * (T.wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  if (T.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(T.columns, 0x7f, (size_t)T.num_nonzeros * sizeof(*T.columns), stream));
  if (T.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(T.values, 0xff, (size_t)T.num_nonzeros * sizeof(*T.values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With and without permutation, values at once and afterwards. */
static PetscErrorCode TestMethod(const KernelTestMatrix *expected, DCSRView view, DCSRTransposeKind kind, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream)
{
  DCSRView structure = T;

  PetscFunctionBegin;
  structure.values = NULL;
  PetscCall(Spoil(T, stream));
  PetscCall(DCSRTransposeWith(view, kind, conjugate, T, NULL, stream));
  PetscCall(Compare(T, expected, stream, methods[kind]));
  PetscCall(Spoil(T, stream));
  PetscCall(DCSRTransposeWith(view, kind, conjugate, T, permutation, stream));
  PetscCall(Compare(T, expected, stream, methods[kind]));
  PetscCall(Spoil(T, stream));
  PetscCall(DCSRTransposeWith(view, kind, conjugate, structure, permutation, stream));
  PetscCall(DCSRTransposeNumeric(view, permutation, conjugate, T.values, stream));
  PetscCall(Compare(T, expected, stream, methods[kind]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One that is kept, with values at once and afterwards. */
static PetscErrorCode TestKept(const KernelTestMatrix *expected, DCSRView view, cudaStream_t stream)
{
  DCSRView T;
  void    *permutation;

  PetscFunctionBegin;
  for (int values = 0; values < 2; values++) {
    PetscCall(DCSRTransposeKeep(view, (PetscBool)values, stream, &T, &permutation));
    if (values) PetscCall(Compare(T, expected, stream, "kept"));
    else PetscCall(DCSRViewAllocateValues(&T, stream));
    if (T.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(T.values, 0xff, (size_t)T.num_nonzeros * sizeof(*T.values), stream));
    PetscCall(DCSRTransposeRenew(view, permutation, T, stream));
    PetscCall(Compare(T, expected, stream, "kept, with values again"));
    PetscCall(DCSRViewFree(&T, stream));
    PetscCall(PetscSparseCUDAFree(&permutation, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails at one allocation after the other until all succeed; what fails leaves nothing behind. */
static PetscErrorCode TestOutOfMemory(const KernelTestMatrix *expected, DCSRView view, cudaStream_t stream)
{
  DCSRView       T;
  PetscErrorCode ierr = PETSC_ERR_MEM;

  PetscFunctionBegin;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    PetscCheck(n < 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s never succeeds", expected->name);
    TestLibCallFailing(n, ierr, DCSRTransposeCreate(view, PETSC_TRUE, PETSC_FALSE, stream, &T));
    PetscCheck(ierr == PETSC_SUCCESS || T.row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there is a transpose after an error", expected->name);
  }
  PetscCall(Compare(T, expected, stream, "after errors"));
  PetscCall(DCSRViewFree(&T, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, PETSC_UNUSED const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  DCSRView         T;
  void            *permutation;
  KernelTestMatrix expected;

  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KernelTestViewAllocate(A->n, A->m, A->nz, view.wide, stream, &T));
  PetscCall(KernelTestToDevice((size_t)A->nz * (view.wide ? sizeof(int64_t) : sizeof(int32_t)), NULL, stream, &permutation));
  for (int conjugate = 0; conjugate < (PetscDefined(USE_COMPLEX) ? 2 : 1); conjugate++) {
    PetscCall(HostTranspose(A, (PetscBool)conjugate, &expected));
    for (int kind = DCSR_TRANSPOSE_AUTO; kind <= DCSR_TRANSPOSE_SORT; kind++) PetscCall(TestMethod(&expected, view, (DCSRTransposeKind)kind, (PetscBool)conjugate, T, permutation, stream));
    PetscCall(TestMethod(A, T, DCSR_TRANSPOSE_AUTO, (PetscBool)conjugate, view, permutation, stream)); // and back
    if (!conjugate) PetscCall(TestKept(&expected, view, stream));
    if (!conjugate) PetscCall(TestOutOfMemory(&expected, view, stream));
    PetscCall(KernelTestMatrixDestroy(&expected));
  }
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscCall(KernelTestViewDestroy(&T, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a symmetric pattern of n rows has (r, c): a band with holes, entries far away, rows that are empty, and a full row and column when dense; one entry is missing when broken. */
static PetscBool IsEntry(PetscInt n, PetscBool dense, PetscBool broken, PetscInt r, PetscInt c)
{
  const PetscInt distance = PetscAbsInt(r - c);

  if (c < 0 || c >= n || r % 10 == 7 || c % 10 == 7) return PETSC_FALSE;
  if (broken && r == 0 && c == n / 2) return PETSC_FALSE;
  return (PetscBool)((dense && (r == n / 3 || c == n / 3)) || distance == 0 || (distance <= 3 && (r + c) % 4099 % 3 != 1) || distance == n / 2);
}

static PetscErrorCode CreateSymmetric(PetscInt n, PetscBool dense, PetscBool broken, KernelTestMatrix *A)
{
  const PetscInt far = n / 2;
  PetscInt       k   = 0;

  PetscFunctionBegin;
  A->name = broken ? "nearly symmetric" : dense ? "symmetric arrow" : "symmetric";
  A->m = A->n = n;
  PetscCall(PetscMalloc1(n + 1, &A->i));
  PetscCall(PetscMalloc2(14 * n, &A->j, 14 * n, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    for (PetscInt c = 0; dense && c < n; c++)
      if (IsEntry(n, dense, broken, r, c)) A->j[k++] = c;
    for (PetscInt d = -far; !dense && d <= far; d += d == -far ? far - 3 : d == 3 ? far - 3 : 1)
      if (IsEntry(n, dense, broken, r, r + d)) A->j[k++] = r + d;
    A->i[r + 1] = k;
  }
  A->nz = k;
  for (k = 0; k < (PetscInt)A->nz; k++) A->a[k] = KernelTestNumber(k, 5);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSymmetric(PetscInt n, PetscBool dense, PetscBool broken)
{
  KernelTestMatrix A;
  DCSRView         view;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(CreateSymmetric(n, dense, broken, &A));
  for (PetscInt s = 0; s < 2; s++) {
    PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
    PetscCall(Test(&A, &KernelTestStorages[s], view, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
  }
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full br x bc blocks: empty and full block rows and columns. Broken: an entry of the last block lies in a block of its own, which no number of entries shows. */
static PetscErrorCode TestBlocks(PetscInt br, PetscInt bc, PetscBool broken)
{
  const PetscInt   rows = 70, columns = 41;
  KernelTestMatrix A = {broken ? "nearly full blocks" : "full blocks", rows * br, columns * bc, 0, NULL, NULL, NULL};
  DCSRView         view;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscCalloc1(A.m + 1, &A.i));
  PetscCall(PetscMalloc2(A.m * A.n, &A.j, A.m * A.n, &A.a));
  for (PetscInt r = 0; r < A.m; r++) {
    const PetscInt row = r / br;

    for (PetscInt c = 0; c < A.n; c++) {
      const PetscInt column = c / bc;

      if (row % 9 != 4 && (row == 20 || (column != 7 && (row * 13 + column * 5) % 11 < 3 && column < columns - 1))) A.j[A.nz++] = c;
    }
    A.i[r + 1] = (PetscInt)A.nz;
  }
  if (broken) A.j[A.nz - 1] = A.n - 1;
  for (PetscCount k = 0; k < A.nz; k++) A.a[k] = KernelTestNumber(k, 3);
  for (PetscInt s = 0; s < 2; s++) {
    PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[s], stream, &view));
    view.row_block    = br;
    view.column_block = bc;
    PetscCall(Test(&A, &KernelTestStorages[s], view, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
  }
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(KernelTestRun(Test));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    for (int broken = 0; broken < 2; broken++) {
      PetscCall(TestBlocks(3, 6, (PetscBool)broken));
      PetscCall(TestBlocks(1, 4, (PetscBool)broken));
    }
    PetscCall(TestBlocks(5, 5, PETSC_FALSE));
    PetscCall(TestSymmetric(50, PETSC_FALSE, PETSC_FALSE));
    PetscCall(TestSymmetric(5001, PETSC_TRUE, PETSC_FALSE));
    PetscCall(TestSymmetric(9001, PETSC_TRUE, PETSC_FALSE)); // the full row is too long to be searched
    PetscCall(TestSymmetric(150001, PETSC_FALSE, PETSC_FALSE));
    PetscCall(TestSymmetric(150001, PETSC_FALSE, PETSC_TRUE)); // which no sample shows
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
