static char help[] = "MatTranspose() of all kinds, MatTransposeSymbolic(), MatIsTranspose(), MatIsSymmetric(), MatPermute(), against MATAIJ.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/sys.h"

/* Both matrices get the same new values. */
static PetscErrorCode Change(Mat A, Mat B, PetscScalar s)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, s));
  PetscCall(MatScale(B, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Initial, used again with the same values, with new ones, and after changes of its own. */
static PetscErrorCode TestReuse(Mat A, Mat B, const char type[])
{
  Mat S, T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
  PetscCall(TestHasType(T, type, "MatTranspose"));
  PetscCall(TestCompare(S, T, "MatTranspose, initial"));
  for (PetscInt k = 0; k < 3; k++) {
    if (k > 0) PetscCall(Change(A, B, -0.5));
    if (k > 1) PetscCall(Change(S, T, 7));
    PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &S));
    PetscCall(MatTranspose(B, MAT_REUSE_MATRIX, &T));
    PetscCall(TestCompare(S, T, "MatTranspose, reuse"));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose gets other entries as well; the one that it is made of, too, which MATMPIAIJ does not take. */
static PetscErrorCode TestNewPattern(Mat A, Mat B)
{
  Mat       S, T, matrices[2];
  PetscInt  begin, end, M, N;
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  PetscCall(MatGetSize(A, &M, &N));
  if (parallel || M == 0 || N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
  matrices[0] = A;
  matrices[1] = B;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetOwnershipRange(matrices[k], &begin, &end));
    PetscCall(MatSetOption(matrices[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt i = begin; i < end; i += 3) PetscCall(MatSetValue(matrices[k], i, (5 * i + 1) % N, 1.5, ADD_VALUES));
    PetscCall(MatAssemblyBegin(matrices[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrices[k], MAT_FINAL_ASSEMBLY));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &S));
    PetscCall(MatTranspose(B, MAT_REUSE_MATRIX, &T));
    PetscCall(TestCompare(S, T, "MatTranspose, reuse with a new pattern"));
    PetscCall(Change(A, B, 3));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place, there and back, and what can be done with the matrix afterwards. */
static PetscErrorCode TestInPlace(Mat A, Mat B, const char type[])
{
  Mat C, D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(C, MAT_INPLACE_MATRIX, &C));
    PetscCall(MatTranspose(D, MAT_INPLACE_MATRIX, &D));
    PetscCall(TestHasType(D, type, "MatTranspose in place"));
    PetscCall(TestCompare(C, D, "MatTranspose, in place"));
    PetscCall(Change(C, D, 1.25));
    PetscCall(TestCompare(C, D, "MatScale after MatTranspose in place"));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestHermitian(Mat A, Mat B)
{
  Mat S, T;

  PetscFunctionBegin;
  PetscCall(MatHermitianTranspose(A, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatHermitianTranspose(B, MAT_INITIAL_MATRIX, &T));
  PetscCall(TestCompare(S, T, "MatHermitianTranspose, initial"));
  PetscCall(Change(A, B, 2));
  PetscCall(MatHermitianTranspose(A, MAT_REUSE_MATRIX, &S));
  PetscCall(MatHermitianTranspose(B, MAT_REUSE_MATRIX, &T));
  PetscCall(TestCompare(S, T, "MatHermitianTranspose, reuse"));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComparePatterns(Mat A, Mat B, const char what[])
{
  PetscInt        m, n;
  const PetscInt *ia, *ja, *ib, *jb;
  PetscBool       done_a, done_b;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &ia, &ja, &done_a));
  PetscCall(MatGetRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &ib, &jb, &done_b));
  PetscCheck(done_a && done_b && m == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " rows, not %" PetscInt_FMT, what, n, m);
  for (PetscInt i = 0; i <= m; i++) PetscCheck(ia[i] == ib[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " begins elsewhere", what, i);
  for (PetscInt k = 0; k < ia[m]; k++) PetscCheck(ja[k] == jb[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " has another column", what, k);
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &ia, &ja, &done_a));
  PetscCall(MatRestoreRowIJ(B, 0, PETSC_FALSE, PETSC_FALSE, &n, &ib, &jb, &done_b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure first, values afterwards; sequential matrices alone have it, and MATSEQAIJ of PETSc 3.26 has no array for the values then. */
static PetscErrorCode TestSymbolic(Mat A, Mat B)
{
  PetscBool    parallel;
  PetscMemType mtype;
  Mat          S, T;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatTransposeSymbolic(B, &T));
  PetscCall(ComparePatterns(S, T, "MatTransposeSymbolic"));
  PetscCall(MatGetCurrentMemType(B, &mtype));
  if (PetscMemTypeDevice(mtype)) {
    PetscCall(PetscObjectStateIncrease((PetscObject)B)); // or the transpose would count as current
    PetscCall(MatTranspose(B, MAT_REUSE_MATRIX, &T));
    PetscCall(TestCompare(S, T, "MatTransposeSymbolic and reuse"));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIsTranspose(Mat A, Mat B, PetscReal tol, PetscBool hermitian, PetscBool expected, const char what[])
{
  PetscBool is;

  PetscFunctionBegin;
  if (hermitian) PetscCall(MatIsHermitianTranspose(A, B, tol, &is));
  else PetscCall(MatIsTranspose(A, B, tol, &is));
  PetscCheck(is == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the answer is %s", what, is ? "yes" : "no");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestIsTranspose(Mat B)
{
  PetscBool parallel, symmetric;
  PetscInt  begin, end, M, N;
  Mat       T, S;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATMPIAIJ, &parallel));
  PetscCall(MatGetSize(B, &M, &N));
  if (M != N) PetscFunctionReturn(PETSC_SUCCESS); // PETSc 3.26 takes row numbers for column numbers
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &T));
  PetscCall(CheckIsTranspose(B, T, 0, PETSC_FALSE, PETSC_TRUE, "MatIsTranspose"));
  PetscCall(CheckIsTranspose(T, B, 0, PETSC_FALSE, PETSC_TRUE, "MatIsTranspose, turned"));
  PetscCall(CheckIsTranspose(B, B, 0, PETSC_FALSE, PETSC_FALSE, "MatIsTranspose of one that is not symmetric"));
  if (!parallel && !PetscDefined(USE_COMPLEX)) PetscCall(CheckIsTranspose(B, T, 0, PETSC_TRUE, PETSC_TRUE, "MatIsHermitianTranspose"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &S));
  PetscCall(MatAXPY(S, 1, T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatIsSymmetric(S, 0, &symmetric));
  PetscCheck(symmetric, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A + A^T is not symmetric");
  PetscCall(MatGetOwnershipRange(T, &begin, &end));
  if (begin == 0 && end > 0) PetscCall(MatSetValue(T, 0, 0, 0.125, ADD_VALUES));
  PetscCall(MatAssemblyBegin(T, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(T, MAT_FINAL_ASSEMBLY));
  PetscCall(CheckIsTranspose(B, T, 0.1, PETSC_FALSE, PETSC_FALSE, "MatIsTranspose with another value"));
  PetscCall(CheckIsTranspose(B, T, 0.2, PETSC_FALSE, PETSC_TRUE, "MatIsTranspose within the tolerance"));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every process keeps its rows and columns in another order; the same on all processes for MATAIJ and ours. */
static PetscErrorCode TestPermute(Mat A, Mat B)
{
  PetscInt begin[2], end[2], *indices;
  IS       is[2];
  Mat      C, D;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin[0], &end[0]));
  PetscCall(MatGetOwnershipRangeColumn(A, &begin[1], &end[1]));
  for (int k = 0; k < 2; k++) {
    const PetscInt n = end[k] - begin[k];

    PetscCall(PetscMalloc1(n, &indices));
    for (PetscInt i = 0; i < n; i++) indices[i] = begin[k] + (i + (k ? n / 3 : n / 2)) % n;
    for (PetscInt i = 0; i + 4 < n; i += 5) {
      const PetscInt t = indices[i];

      indices[i]     = indices[i + 3];
      indices[i + 3] = t;
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, n, indices, PETSC_OWN_POINTER, &is[k]));
    PetscCall(ISSetPermutation(is[k]));
  }
  PetscCall(MatPermute(A, is[0], is[1], &C));
  PetscCall(MatPermute(B, is[0], is[1], &D));
  PetscCall(TestCompare(C, D, "MatPermute"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  for (int k = 0; k < 2; k++) PetscCall(ISDestroy(&is[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPair(const char type[], PetscInt M, PetscInt N, TestLayout layout, PetscInt per_row)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, M, N, layout, per_row, 1, &A, &B));
  PetscCall(TestReuse(A, B, type));
  PetscCall(TestHermitian(A, B));
  PetscCall(TestSymbolic(A, B));
  PetscCall(TestInPlace(A, B, type));
  if (per_row > 0 && M > 2) PetscCall(TestIsTranspose(B));
  PetscCall(TestPermute(A, B));
  PetscCall(TestNewPattern(A, B));
  PetscCall(TestReuse(A, B, type)); // appended entries leave fragmented storage
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestPair(type, 61, 61, layout, 6));
    PetscCall(TestPair(type, 90, 23, layout, 5));
    PetscCall(TestPair(type, 23, 90, layout, 9));
    PetscCall(TestPair(type, 40, 40, layout, 0));
    PetscCall(TestPair(type, 30, 50, layout, 0));
    PetscCall(TestPair(type, 1, 1, layout, 1));
  }
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
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 100

TEST*/
