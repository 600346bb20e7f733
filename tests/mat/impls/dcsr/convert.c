static char help[] = "MatConvert() from and to our type, in all reuse modes, by all its names; MatSetType() on an assembled matrix.\n\n";

#include "testmat.h"

/* There and back under one name of ours. */
static PetscErrorCode ConvertAs(Mat A, const char name[], const char ours[])
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, name, MAT_INITIAL_MATRIX, &B));
  PetscCall(TestHasType(B, ours, name));
  PetscCall(TestCompare(A, B, "MatConvert to ours, initial"));
  PetscCall(MatScale(B, -3));
  PetscCall(MatConvert(A, name, MAT_REUSE_MATRIX, &B));
  PetscCall(TestCompare(A, B, "MatConvert to ours, reuse"));

  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestCompare(A, C, "MatConvert to MATAIJ, initial"));
  PetscCall(MatScale(C, 2));
  PetscCall(MatScale(B, 0.5));
  PetscCall(MatConvert(B, MATAIJ, MAT_REUSE_MATRIX, &C));
  PetscCall(TestCompare(C, B, "MatConvert to MATAIJ, reuse"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatScale(B, 2));

  PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  PetscCall(TestCompare(A, B, "MatConvert to MATAIJ, in place"));
  PetscCall(MatConvert(B, name, MAT_INPLACE_MATRIX, &B));
  PetscCall(TestHasType(B, ours, name));
  PetscCall(TestCompare(A, B, "MatConvert to ours, in place"));
  PetscCall(MatConvert(B, MATSAME, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestCompare(A, C, "MatConvert to MATSAME"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));

  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetType(B, name));
  PetscCall(TestHasType(B, ours, "MatSetType on an assembled matrix"));
  PetscCall(TestCompare(A, B, "MatSetType on an assembled matrix"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Through types that know nothing of ours. */
static PetscErrorCode ConvertThrough(Mat A, MatType other, const char name[])
{
  Mat B, C, D;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, name, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(B, other, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatConvert(C, name, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestCompareProducts(A, D, other)); /* MATDENSE gives an entry for every zero */
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The local matrices of a MATIS are those that MATAIJ gives it: other ones with the same product have other rows. */
static PetscErrorCode ConvertToIS(Mat A, const char name[])
{
  Mat B, IA, IB, LA, LB;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, name, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(A, MATIS, MAT_INITIAL_MATRIX, &IA));
  PetscCall(MatConvert(B, MATIS, MAT_INITIAL_MATRIX, &IB));
  PetscCall(TestCompareProducts(IA, IB, "conversion to MATIS"));
  PetscCall(MatISGetLocalMat(IA, &LA));
  PetscCall(MatISGetLocalMat(IB, &LB));
  PetscCall(TestCompareRows(LA, LB, "local matrix of a MATIS"));
  PetscCall(MatISRestoreLocalMat(IA, &LA));
  PetscCall(MatISRestoreLocalMat(IB, &LB));
  PetscCall(MatConvert(B, MATIS, MAT_INPLACE_MATRIX, &B));
  PetscCall(TestCompareProducts(IA, B, "conversion to MATIS in place"));
  PetscCall(MatDestroy(&IA));
  PetscCall(MatDestroy(&IB));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  const char *names[] = {"dcsrcuda", "aijdcsrcuda", NULL}, *ours = "dcsrcuda";
  PetscBool   standin;
  PetscMPIInt size;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  names[2] = size > 1 ? "mpiaijdcsrcuda" : "seqaijdcsrcuda";
  PetscCall(PetscStrcmp(type, ours, &standin));
  standin = (PetscBool)!standin;
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreate(MATAIJ, 37, layout == TEST_EVEN ? 23 : 37, layout, 4, 1, &A));
    PetscCall(ConvertToIS(A, type)); /* first, when no matrix of ours has been destroyed yet */
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) PetscCall(ConvertAs(A, standin ? type : names[k], standin ? type : ours));
    PetscCall(ConvertThrough(A, MATDENSE, type));
    PetscCall(ConvertThrough(A, MATBAIJ, type));
    PetscCall(MatDestroy(&A));
  }
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
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
