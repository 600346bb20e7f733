static char help[] = "Families of types, dcsrcuda, hisparsecuda and autocuda: names, blocks, conversions between them, and the types of results.\n\
  -small : fewer conversions, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"

/* All names of a family; what a matrix is on one process and on several. */
typedef struct {
  MatType names[3], seq, mpi;
} Family;

static const Family families[] = {
  {{MATDCSRCUDA, MATAIJDCSRCUDA, NULL}, MATSEQAIJDCSRCUDA, MATMPIAIJDCSRCUDA},
  {{MATHISPARSECUDA, MATAIJHISPARSECUDA, NULL}, MATSEQAIJHISPARSECUDA, MATMPIAIJHISPARSECUDA},
  {{MATAUTOCUDA, MATAIJAUTOCUDA, NULL}, MATSEQAIJAUTOCUDA, MATMPIAIJAUTOCUDA},
};
#define NUM_FAMILIES PETSC_STATIC_ARRAY_LENGTH(families)

static PetscMPIInt size;

/* The k-th name that makes a matrix of a family. */
static MatType Name(const Family *f, int k)
{
  if (k < 2) return f->names[k];
  return size > 1 ? f->mpi : f->seq;
}

/* Type and types of the blocks. */
static PetscErrorCode CheckType(Mat A, MatType type, const char what[])
{
  PetscInt  n;
  Mat       blocks[2];
  PetscBool same;
  MatType   found;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &found));
  PetscCall(PetscStrcmp(found, type, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: type %s where %s should be", what, found, type);
  PetscCall(TestBlocks(A, &n, blocks));
  for (PetscInt k = 0; k < n; k++) PetscCall(TestBlockHasType(blocks[k], k, type, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFamily(Mat A, const Family *f, const char what[])
{
  PetscFunctionBegin;
  PetscCall(CheckType(A, size > 1 ? f->mpi : f->seq, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pair of a family, whose newest values are where products have them. */
static PetscErrorCode CreatePair(const Family *f, PetscInt M, PetscInt N, PetscInt seed, Mat *A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(TestCreatePair(f->names[0], M, N, TEST_EVEN, 5, seed, A, B));
  PetscCall(TestCompareProducts(*A, *B, "new"));
  PetscCall(MatScale(*A, -2));
  PetscCall(MatScale(*B, -2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNames(const Family *f)
{
  Mat A, B;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(TestCreatePair(Name(f, k), 40, 31, TEST_EVEN, 4, 1, &A, &B));
    PetscCall(CheckFamily(B, f, Name(f, k)));
    PetscCall(TestCompare(A, B, Name(f, k)));
    PetscCall(MatDestroy(&B));
    PetscCall(MatConvert(A, Name(f, k), MAT_INITIAL_MATRIX, &B));
    PetscCall(CheckFamily(B, f, Name(f, k)));
    PetscCall(TestCompare(A, B, Name(f, k)));
    PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
    PetscCall(TestCompare(A, B, "back to MATAIJ"));
    PetscCall(MatConvert(B, Name(f, k), MAT_INPLACE_MATRIX, &B));
    PetscCall(CheckFamily(B, f, Name(f, k)));
    PetscCall(TestCompare(A, B, Name(f, k)));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From one family to another one or to itself, with the newest values on the device; then values and entries change. */
static PetscErrorCode TestConversions(const Family *from, const Family *to, MatType name, PetscInt N)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(CreatePair(from, 45, N, 1, &A, &B));
  PetscCall(MatConvert(B, name, MAT_INITIAL_MATRIX, &C));
  PetscCall(CheckFamily(C, to, "MAT_INITIAL_MATRIX"));
  PetscCall(CheckFamily(B, from, "what was converted"));
  PetscCall(TestCompareMult(A, C, "MAT_INITIAL_MATRIX"));
  PetscCall(MatScale(A, 3));
  PetscCall(MatScale(B, 3));
  PetscCall(MatConvert(B, name, MAT_REUSE_MATRIX, &C));
  PetscCall(CheckFamily(C, to, "MAT_REUSE_MATRIX"));
  PetscCall(TestCompare(A, C, "MAT_REUSE_MATRIX"));
  PetscCall(MatScale(B, 2));
  PetscCall(MatConvert(B, name, MAT_INPLACE_MATRIX, &B));
  PetscCall(CheckFamily(B, to, "MAT_INPLACE_MATRIX"));
  PetscCall(MatScale(B, 0.5));
  PetscCall(TestCompareProducts(A, B, "MAT_INPLACE_MATRIX"));
  PetscCall(MatConvert(B, Name(from, 2), MAT_INPLACE_MATRIX, &B));
  PetscCall(CheckFamily(B, from, "MAT_INPLACE_MATRIX back"));
  PetscCall(TestCompare(A, B, "MAT_INPLACE_MATRIX back"));
  PetscCall(MatDestroy(&C));
  /* what came from elsewhere is like others */
  PetscCall(MatConvert(B, name, MAT_INPLACE_MATRIX, &B));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(k ? B : A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(k ? B : A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(TestEnter(k ? B : A, 8, 7));
  }
  PetscCall(TestCompare(A, B, "new entries"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(CheckFamily(C, to, "MatDuplicate()"));
  PetscCall(TestCompare(A, C, "MatDuplicate()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetType() of a matrix with entries, and of one without. */
static PetscErrorCode TestSetType(const Family *from, const Family *to)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(CreatePair(from, 45, 45, 2, &A, &B));
  PetscCall(MatSetType(B, to->names[0]));
  PetscCall(CheckFamily(B, to, "MatSetType()"));
  PetscCall(TestCompare(A, B, "MatSetType()"));
  PetscCall(TestEnter(A, 5, 3));
  PetscCall(TestEnter(B, 5, 3));
  PetscCall(TestCompare(A, B, "values after MatSetType()"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, 45, 45));
  PetscCall(MatSetType(B, from->names[0]));
  PetscCall(MatSetType(B, to->names[0]));
  PetscCall(TestEnter(B, 5, 3));
  PetscCall(CheckFamily(B, to, "MatSetType() before entries"));
  PetscCall(TestCompare(A, B, "MatSetType() before entries"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareProduct(MatProductType product, const Mat a[2], const Mat b[2], const Family *f)
{
  Mat C[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const Mat *m = k ? b : a;

    PetscCall(MatProductCreate(m[0], m[1], NULL, &C[k]));
    PetscCall(MatProductSetType(C[k], product));
    PetscCall(MatProductSetFromOptions(C[k]));
    PetscCall(MatProductSymbolic(C[k]));
    PetscCall(MatProductNumeric(C[k]));
  }
  PetscCall(CheckFamily(C[1], f, MatProductTypes[product]));
  PetscCall(TestCompare(C[0], C[1], MatProductTypes[product]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(k ? b[0] : a[0], 2));
    PetscCall(MatProductNumeric(C[k]));
  }
  PetscCall(TestCompare(C[0], C[1], MatProductTypes[product]));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&C[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands of two families: the result is of the first one. */
static PetscErrorCode TestMixed(const Family *f, const Family *g)
{
  const MatProductType products[] = {MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_ABt, MATPRODUCT_PtAP};
  Mat                  a[2], b[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(f, 40, 40, 1, &a[0], &b[0]));
  PetscCall(CreatePair(g, 40, 40, 2, &a[1], &b[1]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(products); k++) PetscCall(CompareProduct(products[k], a, b, f));
  for (int same = 0; same < 2; same++) {
    for (int k = 0; k < 2; k++) {
      const Mat *m = k ? b : a;

      PetscCall(MatAXPY(m[0], 0.5, m[1], same ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN));
    }
    PetscCall(TestCompare(a[0], b[0], "MatAXPY()"));
    PetscCall(CheckFamily(b[0], f, "MatAXPY()"));
  }
  PetscCall(MatCopy(a[1], a[0], SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(b[1], b[0], SAME_NONZERO_PATTERN));
  PetscCall(TestCompare(a[0], b[0], "MatCopy()"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&a[k]));
    PetscCall(MatDestroy(&b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareAndDestroy(Mat *A, Mat *B, const Family *f, const char what[])
{
  PetscFunctionBegin;
  PetscCall(CheckFamily(*B, f, what));
  PetscCall(TestCompare(*A, *B, what));
  PetscCall(MatDestroy(A));
  PetscCall(MatDestroy(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of operations with one matrix. */
static PetscErrorCode TestResults(const Family *f)
{
  Mat      A, B, C, D;
  IS       rows;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(CreatePair(f, 40, 40, 1, &A, &B));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(CompareAndDestroy(&C, &D, f, "MatTranspose()"));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(CompareAndDestroy(&C, &D, f, "MatDuplicate()"));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / 2, begin, 2, &rows));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, rows, MAT_INITIAL_MATRIX, &D));
  PetscCall(CompareAndDestroy(&C, &D, f, "MatCreateSubMatrix()"));
  PetscCall(ISDestroy(&rows));
  for (int k = 0; k < 2; k++) {
    const PetscInt row[] = {3, 17, 38};

    PetscCall(MatZeroRows(k ? B : A, 3, row, 2, NULL, NULL));
  }
  PetscCall(CompareAndDestroy(&A, &B, f, "MatZeroRows()"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool small;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestIsSmall(&small));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < NUM_FAMILIES; i++) {
    PetscCall(TestNames(&families[i]));
    PetscCall(TestResults(&families[i]));
    for (size_t j = 0; j < NUM_FAMILIES; j++) {
      for (int k = small ? (int)(i + j) : 0; k < (small ? (int)(i + j) + 1 : 3); k++) PetscCall(TestConversions(&families[i], &families[j], Name(&families[j], k), k ? 45 : 33));
      PetscCall(TestMixed(&families[i], &families[j]));
      if (i != j) PetscCall(TestSetType(&families[i], &families[j]));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
         args: -mat_hisparse_format {{auto diagonals blockdiagonals}}
      test:
         suffix: auto
         args: -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host -mat_hisparse_format diagonals
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager -mat_hisparse_format diagonals
      test:
         suffix: host
         args: -device_enable none

TEST*/
