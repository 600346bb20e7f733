#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE // open_memstream()
#endif
#include "testmat.h"

static const PetscReal tolerance = (PetscReal)1e3 * PETSC_MACHINE_EPSILON;

static uint64_t TestHash(uint64_t a, uint64_t b, uint64_t c)
{
  uint64_t h = (a + 1) * 0x9E3779B97F4A7C15ULL ^ (b + 1) * 0xC2B2AE3D27D4EB4FULL ^ (c + 1) * 0x165667B19E3779F9ULL;

  h = (h ^ (h >> 31)) * 0xBF58476D1CE4E5B9ULL;
  return h ^ (h >> 29);
}

static PetscScalar TestValue(PetscInt seed, PetscInt i, PetscInt j)
{
  return (PetscScalar)(0.1 + (PetscReal)(TestHash((uint64_t)seed, (uint64_t)i, (uint64_t)j) % 2000) / 1000 - 1);
}

PetscErrorCode TestInitialize(int *argc, char ***argv, const char help[], char **type)
{
  static char name[128] = "dcsrcuda";

  PetscFunctionBegin;
  PetscCall(PetscInitialize(argc, argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", name, sizeof(name), NULL));
  *type = name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestEnter(Mat A, PetscInt per_row, PetscInt seed)
{
  PetscInt begin, end, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &M, &N));
  for (PetscInt i = begin; i < end; i++) {
    if (M == N) PetscCall(MatSetValue(A, i, i, 4, INSERT_VALUES));
    for (PetscInt k = 0; k < per_row && N > 0; k++) {
      const PetscInt j = (PetscInt)(TestHash((uint64_t)i, (uint64_t)k, 77) % (uint64_t)N); /* the pattern does not depend on the seed */

      if (i != j) PetscCall(MatSetValue(A, i, j, TestValue(seed, i, j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLocalSize(TestLayout layout, PetscInt N, PetscInt *n)
{
  PetscMPIInt size, rank, owners;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  owners = (size + 1) / 2;
  *n     = PETSC_DECIDE;
  if (layout == TEST_LAST_RANK) *n = rank == size - 1 ? N : 0;
  else if (layout == TEST_EVERY_OTHER) *n = rank % 2 ? 0 : N / owners + (rank / 2 < N % owners ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCreate(MatType type, PetscInt M, PetscInt N, TestLayout layout, PetscInt per_row, PetscInt seed, Mat *A)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(TestLocalSize(layout, M, &m));
  PetscCall(TestLocalSize(layout, N, &n));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(TestEnter(*A, per_row, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCreatePair(MatType type, PetscInt M, PetscInt N, TestLayout layout, PetscInt per_row, PetscInt seed, Mat *A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(TestCreate(MATAIJ, M, N, layout, per_row, seed, A));
  PetscCall(TestCreate(type, M, N, layout, per_row, seed, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCreatePoisson(MatType type, PetscInt n, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt i = row / n, j = row % n;

    if (i > 0) PetscCall(MatSetValue(*A, row, row - n, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, row, row + n, -1, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(*A, row, row - 1, -1, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(*A, row, row + 1, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, row, row, 4, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestFill(Vec x, PetscInt seed)
{
  PetscInt     begin, end;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &begin, &end));
  PetscCall(VecGetArrayWrite(x, &array));
  for (PetscInt i = begin; i < end; i++) array[i - begin] = TestValue(seed, i, -1);
  PetscCall(VecRestoreArrayWrite(x, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCompareVec(Vec x, Vec y, const char what[])
{
  PetscInt           n;
  PetscReal          norm;
  const PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(a[i] - b[i]) <= tolerance * (1 + norm), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %g and should be %g", what, i, (double)PetscRealPart(b[i]),
               (double)PetscRealPart(a[i]));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCompareMult(Mat A, Mat B, const char what[])
{
  Vec xa, xb, ya, yb;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &xa, &ya));
  PetscCall(MatCreateVecs(B, &xb, &yb));
  PetscCall(TestFill(xa, 5));
  PetscCall(TestFill(xb, 5));
  PetscCall(MatMult(A, xa, ya));
  PetscCall(MatMult(B, xb, yb));
  PetscCall(TestCompareVec(ya, yb, what));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCompareProducts(Mat A, Mat B, const char what[])
{
  Vec       xa, xb, ya, yb;
  MatType   type;
  PetscBool hisparse;

  PetscFunctionBegin;
  PetscCall(MatGetType(B, &type));
  PetscCall(PetscStrendswith(type, MATHISPARSECUDA, &hisparse));
  if (hisparse) PetscCall(MatAutoCUDASetProducts(B, 1000, 1000)); // every structure gets the storage at once, not the first one alone
  PetscCall(MatCreateVecs(A, &xa, &ya));
  PetscCall(MatCreateVecs(B, &xb, &yb));
  PetscCall(TestFill(xa, 5));
  PetscCall(TestFill(xb, 5));
  PetscCall(MatMult(A, xa, ya));
  PetscCall(MatMult(B, xb, yb));
  PetscCall(TestCompareVec(ya, yb, what));
  PetscCall(MatMultTranspose(A, ya, xa));
  PetscCall(MatMultTranspose(B, yb, xb));
  PetscCall(TestCompareVec(xa, xb, what));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCompareRows(Mat A, Mat B, const char what[])
{
  PetscInt           begin, end, na, nb;
  const PetscInt    *ca, *cb;
  const PetscScalar *va, *vb;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatGetRow(A, i, &na, &ca, &va));
    PetscCall(MatGetRow(B, i, &nb, &cb, &vb));
    PetscCheck(na == nb, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " entries and should have %" PetscInt_FMT, what, i, nb, na);
    for (PetscInt k = 0; k < na; k++) {
      PetscCheck(ca[k] == cb[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has column %" PetscInt_FMT " where %" PetscInt_FMT " should be", what, i, cb[k], ca[k]);
      PetscCheck(PetscAbsScalar(va[k] - vb[k]) <= tolerance * (1 + PetscAbsScalar(va[k])), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT ", %" PetscInt_FMT " is %g and should be %g",
                 what, i, ca[k], (double)PetscRealPart(vb[k]), (double)PetscRealPart(va[k]));
    }
    PetscCall(MatRestoreRow(A, i, &na, &ca, &va));
    PetscCall(MatRestoreRow(B, i, &nb, &cb, &vb));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestCompare(Mat A, Mat B, const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestCompareProducts(A, B, what));
  PetscCall(TestCompareRows(A, B, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestHasType(Mat A, const char name[], const char what[])
{
  MatType type;
  char   *found;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrstr(type, name, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: type %s where one of %s should be", what, type, name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

MatType TestRootName(MatType type)
{
  const char *const prefixes[] = {"seq", "mpi", "aij"};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(prefixes); k++) {
    PetscBool begins = PETSC_FALSE;

    (void)PetscStrbeginswith(type, prefixes[k], &begins);
    if (begins) type += 3;
  }
  return type;
}

PetscErrorCode TestBlockHasType(Mat block, PetscInt k, MatType type, const char what[])
{
  PetscBool beside;

  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(TestRootName(type), &beside, MATHISPARSECUDA, MATAUTOCUDA, ""));
  PetscCall(TestHasType(block, k && beside ? MATDCSRCUDA : TestRootName(type), what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestBlocks(Mat A, PetscInt *n, Mat blocks[2])
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  *n        = parallel ? 2 : 1;
  blocks[0] = A;
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestAssemble(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, type));
  PetscCall(MatAssemblyEnd(A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestPreallocateCOO(Mat A, PetscCount n, const PetscInt rows[], const PetscInt columns[])
{
  PetscInt *i, *j;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &i, n, &j));
  PetscCall(PetscArraycpy(i, rows, n));
  PetscCall(PetscArraycpy(j, columns, n));
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestFragment(Mat A, PetscInt slack)
{
  PetscFunctionBegin;
  PetscCall(TestLibFragment(A, 3, slack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestIsValid(Mat A, const char what[])
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(TestLibIsValid(A, &valid));
  PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the storage is not valid", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestUsesDevice(Mat A, PetscBool *device)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestBusyCreate(TestBusy *busy)
{
  const PetscInt   size = 400000, per_row = 16;
  const PetscCount n = (PetscCount)size * per_row;
  PetscInt        *i, *j;
  PetscScalar     *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &i, n, &j, n, &v));
  for (PetscCount k = 0; k < n; k++) {
    i[k] = (PetscInt)(k / per_row);
    j[k] = (PetscInt)((k / per_row + 7919 * (k % per_row)) % size);
    v[k] = 1;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &busy->A));
  PetscCall(MatSetSizes(busy->A, size, size, size, size));
  PetscCall(MatSetType(busy->A, MATDCSRCUDA));
  PetscCall(MatSetPreallocationCOO(busy->A, n, i, j));
  PetscCall(MatSetValuesCOO(busy->A, v, INSERT_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(MatCreateVecs(busy->A, &busy->x, &busy->y));
  PetscCall(VecSet(busy->x, 1));
  PetscCall(MatMult(busy->A, busy->x, busy->y)); // makes the plan
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestBusyRun(const TestBusy *busy, int products)
{
  PetscFunctionBegin;
  for (int k = 0; k < products && busy->A != NULL; k++) PetscCall(MatMult(busy->A, busy->x, busy->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestBusyDestroy(TestBusy *busy)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&busy->A));
  PetscCall(VecDestroy(&busy->x));
  PetscCall(VecDestroy(&busy->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static FILE  *text_file;
static char  *text_written;
static size_t text_size;

PetscErrorCode TestTextOpen(MPI_Comm comm, PetscViewer *viewer)
{
  PetscFunctionBegin;
  text_file = open_memstream(&text_written, &text_size);
  PetscCheck(text_file != NULL, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() has failed");
  PetscCall(PetscViewerASCIIOpenWithFILE(comm, text_file, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestTextClose(PetscViewer *viewer, char **text)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerDestroy(viewer));
  fclose(text_file);
  *text = text_written;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestGetInfo(Mat A, char **text)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(TestTextOpen(PETSC_COMM_SELF, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(TestTextClose(&viewer, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
