static char help[] = "PETSc's other subclasses of MATAIJ beside ours: with -mat_seqaij_type they stay what they are, also after conversions, and host code finds its values.\n\n";

#include "testmat.h"

/* The sequential names, as MatSeqAIJSetType() takes them; the last one needs a GPU. */
static const MatType others[]     = {MATAIJPERM, MATAIJSELL, MATAIJCRL, MATAIJCUSPARSE};
static const MatType sequential[] = {MATSEQAIJ, MATSEQAIJPERM, MATSEQAIJSELL, MATSEQAIJCRL, MATSEQAIJDCSRCUDA, MATSEQAIJHISPARSECUDA, MATSEQAIJCUSPARSE};

static PetscErrorCode Create(MatType type, PetscInt seed, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(TestCreate(type, 33, 33, TEST_EVEN, 5, seed, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product and the entries; MatMultTranspose() of MATAIJSELL is wrong in PETSc 3.26. */
static PetscErrorCode Compare(Mat A, Mat B, const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestCompareMult(A, B, what));
  PetscCall(TestCompareRows(A, B, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, then room for new ones, then no room: each time other values. MatResetHash() of MATAIJCUSPARSE leaves blocks on the host. */
static PetscErrorCode EnterAgain(Mat A, const char what[])
{
  MatType   type;
  char      name[64];
  PetscBool cusparse;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrncpy(name, type, sizeof(name)));
  PetscCall(PetscStrcmpAny(type, &cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  for (PetscInt k = 2; k < (cusparse ? 4 : 5); k++) {
    if (k == 3) {
      PetscCall(MatSeqAIJSetPreallocation(A, 6, NULL));
      PetscCall(MatMPIAIJSetPreallocation(A, 6, NULL, 6, NULL));
    }
    if (k == 4) PetscCall(MatResetHash(A));
    PetscCall(TestEnter(A, 5, k));
    PetscCall(Create(MATAIJ, k, &B));
    PetscCall(TestHasType(A, name, what));
    PetscCall(Compare(B, A, what));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Made as what they are, and converted from MATAIJ, whose sequential matrices the option makes ours, with values that were changed on the device. */
static PetscErrorCode MakeOthers(MatType type)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(Create(type, 1, &A));
  PetscCall(TestHasType(A, type, "made by its name"));
  PetscCall(Create(MATAIJ, 1, &B));
  PetscCall(Compare(B, A, type));
  PetscCall(EnterAgain(A, type));
  PetscCall(MatDestroy(&A));

  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(MatScale(A, -2));
  PetscCall(MatScale(B, -2));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestHasType(C, type, "converted from MATAIJ"));
  PetscCall(Compare(B, C, type));
  PetscCall(EnterAgain(C, type));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(TestHasType(A, type, "converted in place from MATAIJ"));
  PetscCall(Compare(B, A, type));
  PetscCall(EnterAgain(A, type));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices become ours with blocks of whatever type the option gave them. */
static PetscErrorCode MakeOurs(MatType type)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(Create(type, 1, &B));
  PetscCall(Compare(A, B, "ours"));
  PetscCall(EnterAgain(B, "ours"));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &C));
  PetscCall(Compare(A, C, "converted to ours"));
  PetscCall(EnterAgain(C, "converted to ours"));
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(TestHasType(A, type, "converted to ours in place"));
  PetscCall(EnterAgain(A, "converted to ours in place"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJSetType() between all of them; the assembled matrix keeps its entries. */
static PetscErrorCode SetTypes(size_t n)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(MatScale(A, 3));
  for (size_t from = 0; from < n; from++) {
    for (size_t to = 1; to < n; to++) {
      PetscCall(Create(sequential[from], 1, &B));
      PetscCall(MatScale(B, 3));
      PetscCall(MatSeqAIJSetType(B, sequential[to]));
      PetscCall(TestHasType(B, sequential[to], sequential[from]));
      PetscCall(TestCompareRows(A, B, sequential[to]));
      PetscCall(MatDestroy(&B));
    }
  }
  /* ours become another one before values come, and the other way round */
  PetscCall(MatDestroy(&A));
  PetscCall(Create(MATAIJ, 1, &A));
  for (size_t to = 1; to < n; to++) {
    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetSizes(B, 33, 33, 33, 33));
    PetscCall(MatSetType(B, MATSEQAIJDCSRCUDA));
    PetscCall(MatSeqAIJSetType(B, sequential[to]));
    PetscCall(TestEnter(B, 5, 1));
    PetscCall(TestHasType(B, sequential[to], "MatSeqAIJSetType() of a matrix without entries"));
    PetscCall(Compare(A, B, sequential[to]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetType() of an assembled matrix of ours to a type that is no subclass of ours keeps the entries, too. */
static PetscErrorCode ChangeType(MatType type)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(Create(MATDCSRCUDA, 1, &B));
  PetscCall(PetscObjectSetName((PetscObject)B, "matrix"));
  PetscCall(MatSetOptionsPrefix(B, "prefix_"));
  PetscCall(MatScale(A, 3));
  PetscCall(MatScale(B, 3));
  PetscCall(MatSetType(B, type));
  PetscCall(TestHasType(B, type, "MatSetType() from ours"));
  PetscCall(Compare(A, B, type));
  PetscCall(EnterAgain(B, type));
  PetscCall(MatDestroy(&B));
  /* what has been another type meanwhile starts anew */
  PetscCall(Create(MATDCSRCUDA, 1, &B));
  PetscCall(MatSetType(B, MATDENSE));
  PetscCall(MatSetUp(B));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetType(B, type));
  PetscCall(EnterAgain(B, type));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix on every process, and a part of it; used again after the values changed on the device. */
static PetscErrorCode RenewSubmatrices(void)
{
  Mat A, *whole[2], *part[2];
  IS  all, some;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 33, 0, 1, &all));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 11, 2, 2, &some));
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &whole[0]));
  PetscCall(MatCreateSubMatrices(A, 1, &some, &some, MAT_INITIAL_MATRIX, &part[0]));
  for (PetscInt k = 1; k < 4; k++) {
    PetscCall(MatScale(whole[0][0], 5)); /* the newest values are on the device */
    PetscCall(MatScale(part[0][0], 5));
    PetscCall(MatScale(A, -2));
    PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_REUSE_MATRIX, &whole[0]));
    PetscCall(MatCreateSubMatrices(A, 1, &some, &some, MAT_REUSE_MATRIX, &part[0]));
    PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &whole[1]));
    PetscCall(MatCreateSubMatrices(A, 1, &some, &some, MAT_INITIAL_MATRIX, &part[1]));
    PetscCall(TestCompare(whole[1][0], whole[0][0], "the whole matrix, renewed"));
    PetscCall(TestCompare(part[1][0], part[0][0], "a submatrix, renewed"));
    PetscCall(MatDestroySubMatrices(1, &whole[1]));
    PetscCall(MatDestroySubMatrices(1, &part[1]));
  }
  PetscCall(MatDestroySubMatrices(1, &whole[0]));
  PetscCall(MatDestroySubMatrices(1, &part[0]));
  PetscCall(MatDestroy(&A));
  PetscCall(ISDestroy(&all));
  PetscCall(ISDestroy(&some));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix on the user's arrays. */
static PetscErrorCode UseArrays(void)
{
  PetscInt    i[] = {0, 2, 3, 5, 6}, j[] = {0, 2, 1, 0, 2, 3};
  PetscScalar a[] = {4, 1, 3, -1, 5, 2};
  Mat         A, B, C, D;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 4, 4, i, j, a, &A));
  PetscCall(MatCreate(PETSC_COMM_SELF, &B));
  PetscCall(MatSetOptionsPrefix(B, "plain_"));
  PetscCall(MatSetSizes(B, 4, 4, 4, 4));
  PetscCall(MatSetType(B, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(B, i, j, a));
  PetscCall(TestCompare(B, A, "MatCreateSeqAIJWithArrays()"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(MatShift(A, 1));
  PetscCall(MatShift(B, 1));
  PetscCall(TestCompare(B, A, "MatCreateSeqAIJWithArrays(), scaled and shifted"));
  PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(B, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(TestCompare(D, C, "MatCreateSeqAIJWithArrays(), squared"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscBool   gpu = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others) - (gpu ? 0 : 1); k++) {
    PetscCall(MakeOthers(others[k]));
    PetscCall(ChangeType(others[k]));
  }
  PetscCall(MakeOurs(MATDCSRCUDA));
  PetscCall(MakeOurs(MATHISPARSECUDA));
  PetscCall(ChangeType(size > 1 ? MATMPIAIJHISPARSECUDA : MATSEQAIJHISPARSECUDA));
  if (size == 1) PetscCall(SetTypes(PETSC_STATIC_ARRAY_LENGTH(sequential) - (gpu ? 0 : 1)));
  PetscCall(RenewSubmatrices());
  PetscCall(UseArrays());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
         args: -mat_seqaij_type {{dcsrcuda seqaijdcsrcuda hisparsecuda}}
      test:
         suffix: none
      test:
         suffix: hidden
         args: -mat_seqaij_type dcsrcuda -mat_dcsr_test_hide_host
      test:
         suffix: perm
         args: -mat_seqaij_type seqaijperm
      test:
         suffix: gpu
         requires: cuda
         args: -mat_seqaij_type dcsrcuda -gpu

TEST*/
