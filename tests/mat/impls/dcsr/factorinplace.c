static char help[] = "Submatrices that are factored in place and filled again give the solutions that MATAIJ's give, and nothing of them is left in memory (-malloc_dump).\n\n";

#include "testmat.h"

#define SIZE   60
#define ROUNDS 3

/* ILU(0) of the submatrix of own rows and columns in place, and a solution. */
static PetscErrorCode FactorAndSolve(Mat B, Vec b, Vec x)
{
  MatFactorInfo info;
  IS            rows, columns;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 1;
  PetscCall(MatGetOrdering(B, MATORDERINGNATURAL, &rows, &columns));
  PetscCall(MatILUFactor(B, rows, columns, &info));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatSolve(B, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each round: values that are newest on the device go into submatrices that were factored in place by the last one. single: PETSc knows that each process has one index set. */
static PetscErrorCode Test(const char type[], PetscBool single)
{
  PetscInt begin, end;
  IS       is;
  Vec      b, x[2];
  Mat      A[2], *B[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 5, 1, &A[0], &A[1]));
  PetscCall(MatGetOwnershipRange(A[0], &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, end - begin, begin, 1, &is));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, end - begin, &b));
  PetscCall(TestFill(b, 2));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(MatShift(A[k], 100));
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(MatScale(A[k], 2));
      if (single) PetscCall(MatSetOption(A[k], MAT_SUBMAT_SINGLEIS, PETSC_TRUE));
      if (round) PetscCall(MatSetUnfactored(B[k][0]));
      PetscCall(MatCreateSubMatrices(A[k], 1, &is, &is, round ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &B[k]));
      PetscCall(FactorAndSolve(B[k][0], b, x[k]));
    }
    PetscCall(TestCompareVec(x[0], x[1], single ? "one index set on each process" : "any index sets"));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroySubMatrices(1, &B[k]));
    PetscCall(MatDestroy(&A[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  if (PETSC_VERSION_GE(3, 26, 0)) { // before, a string of each matrix that was factored in place is left
    PetscCall(Test(type, PETSC_FALSE));
    PetscCall(Test(type, PETSC_TRUE));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      nsize: {{1 2 3}}
      args: -malloc_dump -mat_type {{dcsrcuda hisparsecuda}}
      output_file: output/empty.out

TEST*/
