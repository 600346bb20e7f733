static char help[] = "Sums: MatAXPY() and MatAYPX() with patterns of all kinds, MatShift() and MatDiagonalSet() that make diagonal entries, against MATAIJ.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/sys.h"

#define SIZE 90

/* What the second matrix is to the first one. */
typedef enum {
  EQUAL,
  SUBSET,
  SUPERSET,
  OTHER,    /* other entries and, in parallel, other ghost columns */
  DISJOINT, /* no entry in common, few rows */
  EMPTY,
  NUM_KINDS
} Kind;

static const char *const kind_names[] = {"equal", "subset", "superset", "other", "disjoint", "empty"};

/* Entry k of row i, ascending in nothing; the first pattern has k < 6. */
static PetscInt Column(PetscInt i, PetscInt k, PetscInt N)
{
  return (PetscInt)(((PetscInt64)i * 3 + (PetscInt64)k * k * 11 + (k % 3) * i) % N);
}

static PetscErrorCode Enter(Mat A, Kind kind, PetscInt seed)
{
  const PetscInt first = kind == OTHER ? 3 : kind == DISJOINT ? 20 : 0, last = kind == SUBSET ? 3 : kind == SUPERSET ? 9 : kind == OTHER ? 8 : kind == DISJOINT ? 22 : kind == EMPTY ? 0 : 6;
  PetscInt       begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, NULL, &N));
  for (PetscInt i = begin; i < end; i++) {
    if (i % 7 == 3 || (kind == DISJOINT && i % 5)) continue;
    for (PetscInt k = first; k < last; k++) PetscCall(MatSetValue(A, i, Column(i, k, N), 1 + (PetscReal)((i * 13 + k * 7 + seed * 5) % 17) / 8, INSERT_VALUES));
  }
  if (kind == OTHER && begin == 0 && end > 0) // a full row
    for (PetscInt j = 0; j < N; j++) PetscCall(MatSetValue(A, 0, j, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt M, PetscInt N, TestLayout layout, Kind kind, PetscInt seed, Mat *A)
{
  Mat      like;
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(TestCreate(MATAIJ, M, N, layout, 0, 1, &like)); // for its layout
  PetscCall(MatGetLocalSize(like, &m, &n));
  PetscCall(MatDestroy(&like));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(Enter(*A, kind, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATAIJ's and the type's. */
static PetscErrorCode CreatePair(MatType type, PetscInt M, PetscInt N, TestLayout layout, Kind kind, PetscInt seed, Mat A[2])
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, M, N, layout, kind, seed, &A[0]));
  PetscCall(Create(type, M, N, layout, kind, seed, &A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Mat A[2])
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatDestroy(&A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Mat A[2], const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestCompare(A[0], A[1], what));
  PetscCall(TestIsValid(A[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X with both types; the state of the sum increases, which PETSc 3.26 forgets for MATMPIAIJ matrices of the same pattern. */
static PetscErrorCode Add(Mat Y[2], PetscScalar a, Mat X[2], MatStructure str)
{
  PetscObjectState before, after;
  PetscBool        device;

  PetscFunctionBegin;
  PetscCall(TestUsesDevice(Y[1], &device));
  PetscCall(PetscObjectStateGet((PetscObject)Y[1], &before));
  for (int k = 0; k < 2; k++) PetscCall(MatAXPY(Y[k], a, X[k], str));
  PetscCall(PetscObjectStateGet((PetscObject)Y[1], &after));
  PetscCheck(after > before || !device, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "MatAXPY() did not increase the state");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First a new pattern, then what fits into it, which changes no structure on the device; at last X itself. */
static PetscErrorCode TestPair(const char type[], PetscInt M, PetscInt N, TestLayout layout, Kind kind, MatStructure str)
{
  char             what[256];
  Mat              X[2], Y[2];
  PetscObjectState before, after;
  PetscBool        device;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " x %" PetscInt_FMT ", layout %d, X is %s, %s", M, N, (int)layout, kind_names[kind], MatStructures[str]));
  PetscCall(CreatePair(type, M, N, layout, EQUAL, 1, Y));
  PetscCall(CreatePair(type, M, N, layout, kind, 2, X));
  PetscCall(Check(Y, what)); // plans of products are made
  PetscCall(TestUsesDevice(Y[1], &device));
  PetscCall(Add(Y, 0.5, X, str));
  PetscCall(Check(Y, what));
  PetscCall(MatGetNonzeroState(Y[1], &before));
  PetscCall(Add(Y, -1.5, X, str));
  PetscCall(MatGetNonzeroState(Y[1], &after));
  PetscCheck(before == after || !device, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: a sum in place changed the structure", what);
  PetscCall(Check(Y, what));
  for (int k = 0; k < 2; k++) PetscCall(MatAYPX(Y[k], 2, X[k], str));
  if (str != SAME_NONZERO_PATTERN) PetscCall(Add(Y, 1, X, SUBSET_NONZERO_PATTERN));
  PetscCall(Add(Y, 0.25, Y, str));
  PetscCall(Check(Y, what));
  PetscCall(Check(X, what)); // as it was
  PetscCall(DestroyPair(X));
  PetscCall(DestroyPair(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPatterns(const char type[])
{
  PetscFunctionBegin;
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++)
    for (PetscInt wide = 0; wide < 3; wide++)
      for (Kind kind = EQUAL; kind < NUM_KINDS; kind++) {
        const PetscInt M = wide == 2 ? 3 : SIZE, N = wide ? 2 * SIZE : SIZE;

        PetscCall(TestPair(type, M, N, layout, kind, DIFFERENT_NONZERO_PATTERN));
        PetscCall(TestPair(type, M, N, layout, kind, UNKNOWN_NONZERO_PATTERN));
        if (kind == EQUAL) PetscCall(TestPair(type, M, N, layout, kind, SAME_NONZERO_PATTERN));
        if (kind == EQUAL || kind == SUBSET || kind == EMPTY) PetscCall(TestPair(type, M, N, layout, kind, SUBSET_NONZERO_PATTERN));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An empty matrix gets everything. */
static PetscErrorCode TestEmpty(const char type[])
{
  Mat X[2], Y[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, EMPTY, 1, Y));
  PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, OTHER, 2, X));
  PetscCall(Add(Y, 3, X, DIFFERENT_NONZERO_PATTERN));
  PetscCall(Check(Y, "sum with an empty matrix"));
  for (int k = 0; k < 2; k++) PetscCall(MatZeroEntries(Y[k]));
  PetscCall(Add(Y, 1, X, SAME_NONZERO_PATTERN));
  PetscCall(Check(Y, "sum with zeros"));
  PetscCall(DestroyPair(X));
  PetscCall(DestroyPair(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATAIJ's X and our Y, and the other way round. */
static PetscErrorCode TestMixed(const char type[])
{
  static const MatStructure structures[] = {DIFFERENT_NONZERO_PATTERN, UNKNOWN_NONZERO_PATTERN, SUBSET_NONZERO_PATTERN};

  PetscFunctionBegin;
  for (int s = 0; s < 3; s++)
    for (int bound = 0; bound < 2; bound++) {
      Mat X[2], Y[2], swapped[2];

      PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, EQUAL, 1, Y));
      PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, structures[s] == SUBSET_NONZERO_PATTERN ? SUBSET : OTHER, 2, X));
      swapped[0] = X[1];
      swapped[1] = X[0];
      if (bound) PetscCall(MatBindToCPU(X[1], PETSC_TRUE));
      if (bound) PetscCall(Add(Y, 2, X, structures[s]));
      else PetscCall(Add(Y, 2, swapped, structures[s]));
      PetscCall(Check(Y, bound ? "X bound to the CPU" : "X of another type"));
      if (bound) PetscCall(MatBindToCPU(X[1], PETSC_FALSE));
      if (bound) PetscCall(MatBindToCPU(Y[1], PETSC_TRUE));
      PetscCall(Add(Y, -1, X, structures[s]));
      if (bound) PetscCall(MatBindToCPU(Y[1], PETSC_FALSE));
      PetscCall(Check(Y, "X of the same type afterwards"));
      PetscCall(DestroyPair(X));
      PetscCall(DestroyPair(Y));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry, far from the diagonal. */
static PetscErrorCode EnterOne(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (begin == 0 && end > 0) PetscCall(MatSetValue(A, 0, SIZE - 1, 5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage in several segments a row, which little joins and which for more becomes compact. */
static PetscErrorCode TestFragmented(const char type[])
{
  PetscFunctionBegin;
  for (int little = 0; little < 2; little++)
    for (int s = 0; s < 3; s++) {
      const MatStructure str = s == 0 ? DIFFERENT_NONZERO_PATTERN : s == 1 ? UNKNOWN_NONZERO_PATTERN : SAME_NONZERO_PATTERN;
      Mat                X[2], Y[2];

      if (little && str == SAME_NONZERO_PATTERN) continue;
      PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, EQUAL, 1, Y));
      PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, little ? EMPTY : str == SAME_NONZERO_PATTERN ? EQUAL : OTHER, 2, X));
      for (int k = 0; k < 2 && little; k++) {
        PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(EnterOne(X[k]));
      }
      PetscCall(Check(Y, "before"));
      PetscCall(TestFragment(Y[1], 2));
      if (!little) PetscCall(TestFragment(X[1], 2));
      PetscCall(Add(Y, 2, X, str));
      PetscCall(Add(Y, 0.5, X, str));
      PetscCall(Check(Y, "fragmented"));
      PetscCall(DestroyPair(X));
      PetscCall(DestroyPair(Y));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonal entries that are missing, in some rows of all, or everywhere. */
static PetscErrorCode TestDiagonal(const char type[])
{
  PetscFunctionBegin;
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++)
    for (int empty = 0; empty < 2; empty++)
      for (int how = 0; how < 3; how++) {
        Mat A[2];
        Vec d[2];

        PetscCall(CreatePair(type, SIZE, SIZE, layout, empty ? EMPTY : EQUAL, 1, A));
        for (int k = 0; k < 2; k++) PetscCall(MatSetOption(A[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(TestCompareProducts(A[0], A[1], "before its diagonal changes")); // not MatGetRow(), whose buffers MATMPIAIJ does not enlarge
        for (int k = 0; k < 2; k++) PetscCall(MatCreateVecs(A[k], NULL, &d[k]));
        for (int round = 0; round < 2; round++) {
          for (int k = 0; k < 2; k++) {
            PetscCall(TestFill(d[k], 3 + round));
            if (how == 0) PetscCall(MatShift(A[k], 2));
            else PetscCall(MatDiagonalSet(A[k], d[k], how == 1 ? ADD_VALUES : INSERT_VALUES));
          }
          PetscCall(Check(A, how == 0 ? "MatShift" : how == 1 ? "MatDiagonalSet, ADD_VALUES" : "MatDiagonalSet, INSERT_VALUES"));
        }
        for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&d[k]));
        PetscCall(DestroyPair(A));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A promise that is not kept, which an option forbids or forgives, or that nothing forbids. */
static PetscErrorCode TestBrokenPromise(const char type[])
{
  PetscBool device;

  PetscFunctionBegin;
  for (int how = 0; how < 2; how++) {
    const MatOption option = how ? MAT_NEW_NONZERO_LOCATIONS : MAT_NEW_NONZERO_ALLOCATION_ERR;
    Mat             X[2], Y[2];

    PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, EQUAL, 1, Y));
    PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, SUPERSET, 2, X));
    for (int k = 0; k < 2; k++) PetscCall(MatSetOption(Y[k], option, PETSC_FALSE));
    PetscCall(Add(Y, 2, X, SUBSET_NONZERO_PATTERN));
    PetscCall(Check(Y, how ? "new entries are ignored" : "new entries are allowed"));
    PetscCall(DestroyPair(X));
    PetscCall(DestroyPair(Y));
  }
  {
    Mat            X[2], Y[2];
    PetscErrorCode ierr;

    PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, EQUAL, 1, Y));
    PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, SUPERSET, 2, X));
    PetscCall(TestUsesDevice(Y[1], &device));
    PetscCall(MatSetOption(Y[1], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    if (device) {
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = MatAXPY(Y[1], 2, X[1], SUBSET_NONZERO_PATTERN);
      PetscCall(PetscPopErrorHandler());
      PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "New entries are forbidden, and the error is %d", (int)ierr);
      PetscCall(Check(Y, "after an error"));
    }
    PetscCall(DestroyPair(X));
    PetscCall(DestroyPair(Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries and ghost columns that sums have made are there for what comes next. */
static PetscErrorCode TestSequence(const char type[])
{
  Mat X[2], Y[2], Z[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, SUBSET, 1, Y));
  PetscCall(CreatePair(type, SIZE, SIZE, TEST_EVEN, OTHER, 2, X));
  for (int round = 0; round < 3; round++) {
    PetscCall(Add(Y, 1, X, DIFFERENT_NONZERO_PATTERN));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetOption(Y[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(TestEnter(Y[k], 3 + round, round));
      PetscCall(MatScale(Y[k], 0.5));
      PetscCall(MatDuplicate(Y[k], MAT_COPY_VALUES, &Z[k]));
    }
    PetscCall(Check(Y, "sums and insertion in turn"));
    PetscCall(Add(Z, -1, Y, SAME_NONZERO_PATTERN));
    PetscCall(Add(Z, 2, X, SUBSET_NONZERO_PATTERN));
    PetscCall(Check(Z, "sum with a duplicate"));
    PetscCall(DestroyPair(Z));
  }
  PetscCall(DestroyPair(X));
  PetscCall(DestroyPair(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestPatterns(type));
  PetscCall(TestEmpty(type));
  PetscCall(TestMixed(type));
  PetscCall(TestFragmented(type));
  PetscCall(TestDiagonal(type));
  PetscCall(TestBrokenPromise(type));
  PetscCall(TestSequence(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3 4}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         timeoutfactor: 5
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         timeoutfactor: 5
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 300

TEST*/
